# 040_joins.pl: random joins over two to six tables (JoinRounds.pm): what heap tables answer
# is what gpucol tables must answer.
#
# Every round makes its tables and runs its queries in one session of each kind.  GPUCOL_SEED
# repeats a run, GPUCOL_ROUNDS (times GPUCOL_STEPS queries) lengthens it: 500 times 200 is a
# hunt.  GPUCOL_KEEP names a folder that keeps the scripts and what they printed.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use JoinRounds;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 3;
my $STEPS = $ENV{GPUCOL_STEPS} || 100;
my $keep = $ENV{GPUCOL_KEEP} || PostgreSQL::Test::Utils::tempdir();
my $seed = seed_random(40);
my $node = new_server('joins', "datestyle = 'ISO'", 'extra_float_digits = -4', "lc_messages = 'C'", 'shared_buffers = 256MB',
	'max_wal_size = 2GB', 'autovacuum = off', 'jit = off');

for my $round (1 .. $ROUNDS)
{
	my $of_round = $seed * 100_003 + $round;
	my ($settings, $asked, @problems) = join_round($node, $keep, $of_round, $STEPS);

	is(scalar @problems, 0, "round $round: $asked queries equal with $settings");
	diag(join "\n", "GPUCOL_SEED=$seed, round $round, " . $_->[0], $_->[1]) for @problems;
}

my ($counted, $states) = joins_counted();
my %count = %$counted;
my $queries = $ROUNDS * $STEPS - $count{left_out};
note(join ', ', map { "$_ $count{$_}" } sort keys %count);
note('errors by SQLSTATE: ' . join(', ', map { "$_ $states->{$_}" } sort keys %$states));
note(sprintf '%d of %d queries (%.0f %%) joined in gpucol', $count{joined}, $queries, 100 * $count{joined} / ($queries || 1));
cmp_ok($count{joined}, '>=', 0.3 * $count{joinable}, 'gpucol joins in three of ten queries or more');
cmp_ok($queries, '>', $ROUNDS * $STEPS / 2, 'most queries are compared');
is(join(' ', grep { /^42/ } sort keys %$states), '', 'no query is wrong SQL');
cmp_ok($count{empty}, '<', $queries / 2, 'most have answers');
cmp_ok($count{errors}, '<', $queries / 5, 'few of them raise an error');

# A subquery that a join reads is in the plan twice, there and in what the join falls back to.
# EXPLAIN looks the members of a UNION ALL up by their numbers, which must be of the plan.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed USING gpucol AS SELECT i % 10 AS k FROM generate_series(1, 3000) i;
CREATE TABLE few AS SELECT i AS k FROM generate_series(1, 40) i;
ANALYZE packed, few;
SQL
my (undef, $explained, $printed) = $node->psql('postgres', <<'SQL');
SET gpucol.pushdown = require;
SET debug_print_plan = on;
SET client_min_messages = log;
EXPLAIN SELECT count(*) FROM (SELECT DISTINCT k FROM (SELECT k FROM few UNION ALL SELECT k + 2 FROM few) q) z, packed x WHERE x.k = z.k;
SQL
my $relations = () = $printed =~ /\{(?:RTE|RANGETBLENTRY)\b/g;
like($explained, qr/GpucolAgg.*rows of plan 1/s, 'a join reads a subquery');
cmp_ok($relations, '>', 8, 'which is in the plan twice');
is(join(' ', grep { $_ > $relations } $printed =~ /:(?:parent|child)_relid (\d+)/g), '', 'with numbers of its relations');
$node->stop;
done_testing();
