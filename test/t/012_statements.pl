# 012_statements.pl: random scripts of SQL, run over heap tables and again over
# gpucol tables; every statement must print the same, errors included.
#
# GPUCOL_SEED repeats a run, GPUCOL_SCRIPTS and GPUCOL_STEPS lengthen it;
# GPUCOL_KEEP names a folder that keeps the scripts and what they printed.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Statements;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $SCRIPTS = $ENV{GPUCOL_SCRIPTS} || 3;
my $STEPS = $ENV{GPUCOL_STEPS} || 250;
my $KEEP = $ENV{GPUCOL_KEEP} || PostgreSQL::Test::Utils::tempdir();

my $seed = seed_random();
my $node = new_server('statements', 'max_prepared_transactions = 5', 'max_parallel_workers = 4',
	"datestyle = 'ISO'", 'extra_float_digits = -4', "lc_messages = 'C'", 'autovacuum_naptime = 1s');

$node->safe_psql('postgres', preparations());

# Ways in which a session over gpucol tables may be set up.
my @WAYS = (
	"SET gpucol.pushdown = allow", "SET gpucol.pushdown = forbid",
	"SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET gpucol.cpu_threads = 1",
	"SET gpucol.segment_rows = 1024", "SET enable_hashjoin = off; SET enable_nestloop = off", "SET enable_mergejoin = off; SET enable_hashagg = off",
	"SET enable_indexscan = off; SET enable_indexonlyscan = off", "SET enable_bitmapscan = off; SET enable_seqscan = off", "SET work_mem = '64kB'",
	"SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on", "SET gpucol.cpu_threads = 3",
	"SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('debug_parallel_query', 'force_parallel_mode')", "SET jit_above_cost = 0; SET jit_inline_above_cost = 0", "SET plan_cache_mode = force_generic_plan");

# What a script prints by statement, run in a schema over tables of an access method.
sub results
{
	my ($script, $method, $file, @settings) = @_;
	my $output = '';

	open my $out, '>', $file or die "$file: $!";
	print $out "\\set VERBOSITY verbose\n\\set ON_ERROR_ROLLBACK on\nSET client_min_messages = warning;\nDROP SCHEMA IF EXISTS work CASCADE;\nDROP OWNED BY reader;\nDEALLOCATE ALL;\n",
	  "CREATE SCHEMA work;\nGRANT ALL ON SCHEMA work TO reader;\nSET search_path = work, public;\nSET default_table_access_method = $method;\n", map({ "$_;\n" } @settings), $script;
	close $out;
	IPC::Run::run([ 'psql', '-X', '-q', '-A', '-t', '-f', $file, '-d', $node->connstr('postgres') ], '>', \$output, '2>&1');
	PostgreSQL::Test::Utils::append_to_file("$file.out", $output);
	my @found;
	$found[$1] = plain($2) while $output =~ /^<<< (\d+)\n(.*?)^>>>$/msg;
	return ($output =~ /^finished$/m ? 1 : 0, $output, @found);
}

# A statement's output without what may differ: places in files, which of several
# wrong values an error of the data (class 22 and 23) met first, and whether an
# indeterminate collation was noticed comparing or hashing (42P22).
sub plain
{
	my ($text) = @_;

	$text =~ s/^psql:\S+: //mg;
	$text =~ s/^(?:LOCATION|CONTEXT|SCHEMA NAME|TABLE NAME|CONSTRAINT NAME):.*\n//mg;
	$text =~ s/^(ERROR:  (?:2[23]...|42P22)).*/$1/ms;
	return $text;
}

sub statement
{
	my ($script, $step) = @_;

	return $script =~ /^\\echo <<< $step\n(.*?)\n\\echo >>>/ms ? $1 : '?';
}

for my $round (1 .. $SCRIPTS)
{
	srand($seed + $round);
	my $script = random_script($STEPS);
	my @settings = map { pick(@WAYS) } 1 .. between(0, 3);
	my ($heap_ran, $heap_output, @heap) = results($script, 'heap', "$KEEP/heap$round");
	my ($ran, $output, @packed) = results($script, 'gpucol', "$KEEP/gpucol$round", @settings);
	my $errors = grep { defined && /^ERROR/ } @heap;
	my $wrong = 0;

	ok($heap_ran && $ran, "script $round ran to its end") || diag(substr($ran ? $heap_output : $output, -1000));
	for my $step (1 .. $#heap)
	{
		my ($one, $two) = map { $_ // 'nothing' } $heap[$step], $packed[$step];

		next if $one eq $two;
		# an engine may exclude a row by another condition before it could raise an error
		next if $one =~ /^ERROR:  22/ && $two !~ /^ERROR/ && statement($script, $step) =~ /^(?:SELECT|EXECUTE)/;
		next if ++$wrong > 3;
		diag(join("\n", "script $round (GPUCOL_SEED=$seed), step $step:", substr(statement($script, $step), 0, 3000), 'heap: ' . substr($one, 0, 700), 'gpucol: ' . substr($two, 0, 700)));
	}
	is($wrong, 0, "script $round: $#heap statements, $errors errors, equal with " . (join('; ', @settings) || 'no settings'));
}
$node->stop;
done_testing();
