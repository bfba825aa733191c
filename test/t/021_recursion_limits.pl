# 021_recursion_limits.pl: a recursion that runs is seen in gpucol.activity, ends
# when it is cancelled, when it has used up its rounds and when it would use more
# memory than it may; the server lives.
#
# Each long recursion below would go on for hours; a cancelled one must end within
# the patience of this test, which is a thousand times what is promised.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $PATIENCE = 100;

my $node = new_server('limits', 'shared_preload_libraries = gpucol', 'gpucol.recursive_memory_limit = 1GB');

# Closures of 80 billion and 3.6 billion pairs (the latter one component), and 4.5 million in 3,000 rounds.
$node->safe_psql('postgres', <<SQL);
CREATE TABLE long AS SELECT i AS src, i + step AS dst FROM generate_series(1, 400000) i, (VALUES (1), (7)) v(step);
CREATE TABLE ring AS SELECT i AS src, (i + 1) % 60000 AS dst FROM generate_series(0, 59999) i;
CREATE TABLE string AS SELECT i AS src, i + 1 AS dst FROM generate_series(1, 3000) i;
CREATE TABLE tree AS SELECT i / 3 AS src, i AS dst FROM generate_series(1, 3000) i;
CREATE TABLE wide AS SELECT i / 40 AS src, i AS dst FROM generate_series(1, 60000) i;
SQL

sub closure
{
	my ($table, $what) = @_;
	return "WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM $table UNION SELECT r.x, e.dst FROM r JOIN $table e ON e.src = r.y) SELECT $what FROM r";
}

sub same_generation
{
	my ($table) = @_;
	return "WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM $table a JOIN $table b USING (src)
		UNION SELECT a.dst, b.dst FROM r JOIN $table a ON a.src = r.x JOIN $table b ON b.src = r.y) SELECT count(*) FROM r";
}

my $unlimited = 'SET gpucol.recursive_memory_limit = 0;';

# Run a query in the background, look at gpucol.activity while it runs, cancel it.
sub cancelled
{
	my ($what, $settings, $query, $column) = @_;
	my ($out, $err) = ('', '');
	my $psql = IPC::Run::start(['psql', '-XAtq', '-d', $node->connstr('postgres'), '-c', "$settings $query"], '<', \undef, '>', \$out, '2>', \$err,
		IPC::Run::timeout($PATIENCE * 3));
	my $seen = $node->poll_query_until('postgres',
		"SELECT count(*) = 1 FROM gpucol.activity WHERE state LIKE 'recursion on cpu: %' AND state NOT LIKE '%loading' AND $column > 1000");
	my $start = time;

	ok($seen, "$what: seen in gpucol.activity");
	sleep 0.5;
	$node->safe_psql('postgres', 'SELECT pg_cancel_backend(pid) FROM gpucol.activity WHERE state LIKE \'recursion%\'');
	eval { IPC::Run::finish($psql); };
	like($err, qr/canceling statement due to user request/, "$what: cancelled");
	cmp_ok(time - $start, '<', $PATIENCE, "$what: ends");
	is($node->safe_psql('postgres', 'SELECT count(*) FROM gpucol.activity'), '0', "$what: gone from gpucol.activity");
	return;
}

my $endless = 'WITH RECURSIVE r(i) AS (SELECT 1::bigint UNION ALL SELECT i + 1 FROM r) SELECT count(*) FROM r';

cancelled('endless', '', $endless, 'round');
cancelled('endless, grouped', '', 'WITH RECURSIVE r(i) AS (SELECT 1::bigint UNION ALL SELECT i + 1 FROM r) SELECT i % 3, count(*) FROM r GROUP BY 1', 'round');
cancelled('endless, computed by PostgreSQL', '', 'WITH RECURSIVE r(i) AS (SELECT 1::numeric UNION ALL SELECT (i + 1) % 1000 FROM r) SELECT count(*) FROM r', 'round');
cancelled('closure', $unlimited, closure('long', 'count(*)'), 'full_rows');
cancelled('closure, grouped', $unlimited, closure('long', 'y, count(*)') . ' GROUP BY y', 'full_rows');
cancelled('closure by HISA', "$unlimited SET gpucol.recursive_strategy = hisa;", closure('long', 'count(*)'), 'full_rows');
cancelled('datalog', $unlimited, q{SELECT count(*) FROM gpucol.datalog('.decl long(a:number, b:number) .decl p(a:number, b:number)
	p(x, y) :- long(x, y). p(x, z) :- p(x, y), p(y, z).', 'p') AS t(a int, b int)}, 'full_rows');

# Rounds.
for my $strategy (qw(auto hisa bitmap))
{
	for my $query (closure('string', 'count(*)'), closure('string', 'x, count(*)') . ' GROUP BY x', closure('string', '*'))
	{
		my ($ret, $out, $err) = $node->psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET gpucol.max_recursion_rounds = 100; $query");
		like($err, qr/recursion did not end within 100 rounds/, "rounds: $strategy");
	}
	is($node->safe_psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET gpucol.max_recursion_rounds = 3000; " . closure('string', 'count(*)')),
		'4501500', "enough rounds: $strategy");
	my ($ret, $out, $err) = $node->psql('postgres', "SET gpucol.recursive_strategy = $strategy; SET gpucol.max_recursion_rounds = 1; " . same_generation('tree'));
	like($err, qr/recursion did not end within 1 rounds/, "rounds of same generation: $strategy");
}

# Memory.
for my $query (closure('ring', 'count(*), sum(x)'), same_generation('wide'), closure('ring', 'count(*)') . ' WHERE x % 2 = 0')
{
	my ($ret, $out, $err) = $node->psql('postgres', "SET gpucol.recursive_strategy = hisa; SET gpucol.recursive_memory_limit = '64MB'; $query");
	like($err, qr/recursion needs more memory than it may use/, 'memory');
}
is($node->safe_psql('postgres', closure('string', 'count(*)')), '4501500', 'the server lives');

$node->stop;
done_testing();
