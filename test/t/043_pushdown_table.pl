# 043_pushdown_table.pl: docs/pushdown.md has a table of functions by type, and one of
# aggregates.  EXPLAIN proves each entry: what stands in the engine's place is the engine's in
# conditions and in keys, what stands in PostgreSQL's is a key or an aggregate of GpucolAgg.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('pushdown_table', 'gpucol.pushdown = require');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE types (s smallint, i integer, b bigint, p numeric(12,2), n numeric, r real, f double precision, m money, d date,
	ts timestamp, tz timestamptz, tm time, iv interval, bo boolean, t text, v varchar(20), c char(5), u uuid, by bytea, j jsonb, a int[], e inet)
	USING gpucol;
INSERT INTO types SELECT x % 100, x, x, x, x, x, x, x::int::money, date '2020-01-01' + x, timestamp '2020-01-01' + x * interval '1 min',
	timestamptz '2020-01-01' + x * interval '1 min', time '00:00' + x * interval '1 s', x * interval '1 h', x % 2 = 0, 't' || x, 'v' || x,
	'c' || x % 100, gen_random_uuid(), 'x', jsonb_build_object('k', x), ARRAY[x], '10.0.0.1' FROM generate_series(1, 2000) x;
ANALYZE types;
SQL

# Plans of several queries at once.
sub plans
{
	my $out = $node->safe_psql('postgres', join '', map { "\\echo =====\nEXPLAIN (COSTS OFF) $_;\n" } @_);

	return (split /^=====\n/m, $out)[1 .. scalar @_];
}

# The code in a cell of a table.
sub entries { return map { s/\\\|/|/gr } $_[0] =~ /`([^`]*)`/g; }

# Every query has a plan of which this is true.
sub prove
{
	my ($what, $test, @queries) = @_;
	my @plans = plans(@queries);
	my @wrong = grep { !$test->($plans[$_]) } 0 .. $#queries;

	ok(@queries > 0 && !@wrong, "$what: " . @queries . ' plans') ||
		diag(join "\n", map { "$queries[$_]\n$plans[$_]" } @wrong);
}

my $agg = sub { return $_[0] =~ /Custom Scan \(GpucolAgg\)/; };
my $engine = sub { return $agg->($_[0]) && $_[0] !~ /Evaluated Once Per|fed by rows/; };
my $filter = sub { return $engine->($_[0]) && $_[0] =~ /Pushed Filter/ && $_[0] !~ /^\s*Filter:/m; };
my ($section) = slurp_file("$FindBin::Bin/../../docs/pushdown.md") =~ /^## Functions by type\n(.*?)^## /msg;
my $rows = 0;

# a server may have been built without libxml
my ($without_xml) = $node->psql('postgres', 'SELECT xmlelement(name x)');

for my $line (grep { /^\| / && /`/ } split /\n/, $section)
{
	my ($what, @cells) = grep { length } split /(?<!\\)\|/, $line;
	my @own = grep { !$without_xml || !/^xml/ } entries($cells[0]);

	$rows++;
	$what =~ s/^\s+|\s+$//g;
	if (@cells == 1)
	{
		prove($what, $what =~ /engine/ ? $engine : $agg, map { "SELECT $_ FROM types" } @own);
		next;
	}
	prove("$what, as keys", $engine, map { "SELECT $_ AS k, count(*) FROM types GROUP BY 1" } @own);
	prove("$what, as conditions", $filter, map { "SELECT count(*) FROM types WHERE ($_) IS NOT NULL AND i > 0" } @own);
	prove("$what, as keys by PostgreSQL", $agg, map { "SELECT $_ AS k, count(*) FROM types GROUP BY 1" } entries($cells[1]))
		if entries($cells[1]);
}
cmp_ok($rows, '>=', 15, 'rows of the tables');
$node->stop;
done_testing();
