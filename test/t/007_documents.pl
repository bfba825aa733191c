# 007_documents.pl: the SQL of README.md and of docs/*.md runs as it stands, page by
# page, and prints what the comments beside it say.
#
# A comment line of two spaces is a line of the output (of EXPLAIN), one of a word in
# capitals an error; behind a statement, {…} or a number is a result.  What needs a
# device may say that there is none.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROOT = "$FindBin::Bin/../..";
my $node = PostgreSQL::Test::Cluster->new('documents');

# The tables that pages speak of: that of the demo, and one of events.
my $flights = <<'SQL';
CREATE TABLE flights (month int, day int, dep_delay int, carrier text, origin text, dest text) USING gpucol;
CREATE TABLE events (user_id int, amount int) USING gpucol;
INSERT INTO flights SELECT 1 + i % 12, 1 + i % 28, i % 90 - 10, (ARRAY['AA', 'AS', 'UA', 'B6'])[1 + i % 4], (ARRAY['JFK', 'LGA', 'EWR'])[1 + i % 3],
	chr(65 + i % 26) || 'XX' FROM generate_series(1, 20000) i;
VACUUM ANALYZE flights;
SQL

# What a block's comments say that it prints.
sub promises
{
	my ($block) = @_;

	return ($block =~ /^--\s\s+(\S.*?)\s*$/mg, $block =~ /^-- ([A-Z]+:  .*?)\s*$/mg, $block =~ /\S.*-- (\{[^}]*\}|\d+\.\d+)/g);
}

sub squeeze { return $_[0] =~ s/\s+/ /gr; }

$node->init;
$node->start;
my $all = '';
for my $page ('README.md', map { s{^\Q$ROOT\E/}{}r } sort glob "$ROOT/docs/*.md")
{
	my @blocks = slurp_file("$ROOT/$page") =~ /^```sql\n(.*?)^```$/msg;
	my $database = 'page_' . lc($page =~ s/\W/_/gr);

	$all .= join '', @blocks;
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION gpucol') if $page ne 'README.md';
	$node->safe_psql($database, $flights) if $page =~ /pushdown|gpu/;
	for my $block (@blocks)
	{
		my ($status, $out, $error) = $node->psql($database, "SET lc_messages = 'C';\n$block", on_error_stop => 0);
		my $printed = squeeze("$out\n$error");
		my @unkept = grep { index($printed, squeeze($_)) < 0 } promises($block);
		my $what = "$page: " . (split /\n/, $block)[0];

		$error =~ s/^psql:\S+ ERROR:  CUDA engine is not available\nDETAIL:.*\n?//mg;
		$error = '' if $block =~ /^-- ERROR:/m;
		ok($status == 0 && $error !~ /ERROR/, "runs: $what") || diag($error);
		ok(!@unkept, "prints what it says: $what") || diag("not printed: $_") for @unkept;
	}
}

# Everything public has an example.
my @public = split /\n/, $node->safe_psql('page_readme_md', <<'SQL');
SELECT DISTINCT proname FROM pg_proc WHERE pronamespace = 'gpucol'::regnamespace AND proname !~ '_(transition|final|combine|serialize|deserialize|handler|list)$'
UNION SELECT relname FROM pg_class WHERE relnamespace = 'gpucol'::regnamespace AND relkind = 'v'
SQL
my @without = grep { $all !~ /\bgpucol\.\Q$_\E\b/ } @public;
is("@without", '', 'every public function and view has an example');

# The defaults that docs/reference.md gives are those of the settings.
my %default = slurp_file("$ROOT/docs/reference.md") =~ /^\| `(gpucol\.\w+)` \| (\S+) \|/mg;
my %boot = map { split /\|/ } split /\n/, $node->safe_psql('page_readme_md', "LOAD 'gpucol'; SELECT name, boot_val FROM pg_settings WHERE name LIKE 'gpucol.%'");
is_deeply(\%default, \%boot, 'docs/reference.md has every setting with its default');
$node->stop;
done_testing();
