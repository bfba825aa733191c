# 028_memory.pl: what the work of sessions may take of the server, threads and memory,
# is taken and no more; what exceeds it falls back to PostgreSQL's executor or ends in an
# error.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('memory', 'restart_after_crash = on', 'gpucol.max_cpu_threads = 3', 'max_parallel_workers_per_gather = 0', 'jit = off', 'shared_buffers = 32MB');

$node->safe_psql('postgres', <<SQL);
CREATE TABLE g (k int8, v int8, f float8) USING gpucol;
INSERT INTO g SELECT i, i % 1000, i * 0.5 FROM generate_series(1, 1000000) i;
CREATE ROLE clerk;
GRANT SELECT ON g TO clerk;
SQL

# A session, and the process that serves it.
sub session
{
	my ($settings) = @_;
	my $psql = $node->background_psql('postgres', on_error_stop => 0);

	$psql->query("SET $_") for @$settings;
	return { psql => $psql, pid => scalar $psql->query('SELECT pg_backend_pid()') };
}

# Threads of a process, its own included.
sub threads
{
	my ($session) = @_;
	my @tasks = glob "/proc/$session->{pid}/task/[0-9]*";

	return scalar @tasks;
}

# Threads that an aggregation says it has had.
sub threads_of_query
{
	my ($session) = @_;
	my $plan = $session->{psql}->query('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT v, sum(k) FROM g GROUP BY v');

	return $plan =~ /Custom Scan \(GpucolAgg\).*Threads: (\d+)/s ? $1 : $plan;
}

sub becomes
{
	my ($session, $threads) = @_;

	for (1 .. 300)
	{
		return 1 if threads($session) == $threads;
		sleep 0.1;
	}
	return 0;
}

#
# Threads
#
{
	my $first = session(['gpucol.cpu_threads = 4']);
	my $second = session(['gpucol.cpu_threads = 4']);
	my $kept = session(['gpucol.cpu_threads = 2']);

	is(threads_of_query($first), 4, 'three threads and the session');
	is(threads($first), 4, 'which stay for the next query');
	is(threads_of_query($second), 1, 'another session finds none left');
	ok(becomes($first, 1), 'threads without work end');
	is(threads_of_query($kept), 2, 'one thread');
	threads_of_query($second);
	cmp_ok(threads($kept) + threads($second), '<=', 2 + 3, 'no more than the server may have');
	$second->{psql}->quit;
	ok(becomes($kept, 1), 'of all, none has work');
	is(threads_of_query($first), 4, 'a session that ends gives back its threads');
	$node->safe_psql('postgres', "SELECT pg_terminate_backend($first->{pid})");
	$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $first->{pid}");
	$kept->{psql}->query('SET gpucol.cpu_threads = 4');
	is(threads_of_query($kept), 4, 'so does one that is terminated');
	kill 'KILL', $kept->{pid};
	$node->poll_query_until('postgres', 'SELECT true');
	is(threads_of_query(session(['gpucol.cpu_threads = 4'])), 4, 'and all after a crash');

	my $clerk = 'SET ROLE clerk; SET gpucol.max_cpu_threads = 100; SELECT count(*) FROM g; SHOW gpucol.max_cpu_threads;';
	my ($status, $out, $error) = $node->psql('postgres', "$clerk SET gpucol.max_cpu_threads = 100; SET gpucol.max_memory = '1TB'", on_error_stop => 0);
	like($out, qr/^3$/m, 'the administrator\'s limit holds before the library is there');
	like($error, qr/permission denied to set parameter "gpucol.max_cpu_threads"/, 'and then');
	like($error, qr/permission denied to set parameter "gpucol.max_memory"/, 'of memory, too');
}

#
# Memory
#
# What a session takes is measured as its peak since a moment before the statement,
# without the shared memory that it has touched meanwhile.  The limit holds within a tenth
# and SLAB: what PostgreSQL itself needs (work_mem is 1 MB), a batch of rows that comes from
# it, and the step by which a memory context grows; and a MB more for each thread, which has
# a heap of its own.
#
my $SLAB = 4;

$node->safe_psql('postgres', <<SQL);
ALTER SYSTEM SET work_mem = '1MB';
ALTER SYSTEM SET gpucol.max_cpu_threads = 0;
SELECT pg_reload_conf();
CREATE TABLE e AS SELECT i::int8 AS a, i::int8 + 1 AS b FROM generate_series(1, 1000000) i;
CREATE TABLE s AS SELECT md5(i::text) AS a, i AS b FROM generate_series(1, 400000) i;
CREATE TABLE t (s text, v int, r text) USING gpucol;
INSERT INTO t SELECT md5((i % 200000)::text), i % 1000, md5(i::text) || repeat('x', i % 100) FROM generate_series(1, 400000) i;
SQL

# kB of a line of a process's status.
sub status
{
	my ($pid, $what) = @_;
	my $text = slurp_file("/proc/$pid/status");

	return $text =~ /^$what:\s+(\d+) kB/m ? $1 : die "no $what";
}

# Peak of a statement in MB, beyond what its session held before, and what it printed.
sub peak
{
	my ($settings, $statement) = @_;
	my $session = session($settings);
	my $pid = $session->{pid};
	my ($before, $after);

	$session->{psql}->query($_) for 'SELECT sum(v), max(f) FROM g', 'SELECT max(v), count(r) FROM t', 'SELECT sum(a) FROM e',
	  'SELECT count(b) FROM s', 'SELECT count(*) FROM pg_class, pg_attribute', "SELECT 1 FROM gpucol.datalog('.decl a(x:number) a(1). .output a', 'a') AS a(x int8)";
	append_to_file("/proc/$pid/clear_refs", '5');
	$before = status($pid, 'VmHWM') - status($pid, 'RssShmem');
	my $printed = $session->{psql}->query($statement);
	$after = status($pid, 'VmHWM') - status($pid, 'RssShmem');
	$printed .= $session->{psql}->{stderr};
	$session->{psql}->quit;
	return (($after - $before) / 1024, $printed);
}

# A statement holds no more than a limit, prints this, and took a good part of it.
sub holds
{
	my ($what, $setting, $limit, $statement, $prints, @more) = @_;
	my ($peak, $printed) = peak([ "$setting = '${limit}MB'", @more ], $statement);

	note(sprintf '%s: %.1f MB of %d', $what, $peak, $limit);
	my $threads = join(' ', @more) =~ /cpu_threads = (\d+)/ ? $1 : 1;

	cmp_ok($peak, '<=', 1.1 * $limit + $SLAB + $threads, "$what: peak of memory");
	like($printed, $prints, "$what: result");
}

my $exceeded = qr/ERROR:  recursion needs more memory than it may use/;
my $recursion = 'gpucol.recursive_memory_limit';

# Datalog: programs, inputs and strings
{
	my $atoms = 2500;
	my $chain = join ', ', map { "p(x$_, x" . ($_ + 1) . ')' } 0 .. $atoms - 1;
	my $counts = join ', ', map { "s$_ = count : { e(_) }" } 0 .. 1500;
	my $clauses = join ' ', map { "p$_(x) :- e(x), x > $_." } 0 .. 1000;
	my $declared = join ' ', map { ".decl p$_(x:number)" } 0 .. 1000;

	holds('a clause of 2,500 recursive atoms', $recursion, 32,
		"SELECT count(*) FROM gpucol.datalog('.decl e(a:number, b:number) .decl p(a:number, b:number) p(x, y) :- e(x, y). p(x0, x$atoms) :- $chain. e(1, 2). .output p', 'p') AS p(a int8, b int8)",
		qr/^1$|$exceeded/m);
	holds('a clause of 1,500 aggregates', $recursion, 32,
		"SELECT count(*) FROM gpucol.datalog('.decl e(a:number) .decl p(a:number) p(s) :- e(s), $counts. e(1). .output p', 'p') AS p(a int8)",
		qr/^1$|$exceeded/m);
	holds('1,000 clauses', $recursion, 32,
		"SELECT count(*) FROM gpucol.datalog('.decl e(a:number) $declared $clauses e(1). .output p7', 'p7') AS p(a int8)", qr/^0$/m);
	holds('alternatives of many literals', $recursion, 32,
		"SELECT count(*) FROM gpucol.datalog('.decl e(a:number) .decl p(a:number) p(x) :- " . join(', ', ('e(x)') x 2000) .
		', (x = 1; x = 2; x = 3; x = 4; x = 5)' x 4 . ". e(1). .output p', 'p') AS p(a int8)", $exceeded);
	holds('rows of an input', $recursion, 16,
		"SELECT count(*) FROM gpucol.datalog('.decl e(a:number, b:number) .input e .decl p(a:number, b:number) p(x, y) :- e(x, y), y < 10. .output p', 'p') AS p(a int8, b int8)",
		$exceeded);
	holds('strings of an input', $recursion, 32,
		"SELECT count(*) FROM gpucol.datalog('.decl s(a:symbol, b:number) .input s .decl p(a:symbol) p(x) :- s(x, y), y < 10. .output p', 'p') AS p(a text)",
		$exceeded);
}

# WITH RECURSIVE
holds('rows of a relation', $recursion, 16,
	'WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e WHERE a < 10 UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b WHERE r.b < 10) SELECT count(*) FROM r',
	$exceeded);
holds('strings of a relation', $recursion, 32,
	'WITH RECURSIVE r(a, b) AS (SELECT a, b FROM s WHERE b = 1 UNION SELECT s.a, s.b FROM r JOIN s ON s.a = r.a) SELECT count(*) FROM r',
	$exceeded);

# Groups and sort keys
my $queries = 'gpucol.memory_limit';
my $analyze = 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF)';

for my $threads (1, 4)
{
	my $with = "gpucol.cpu_threads = $threads";

	holds("groups, $threads threads", $queries, 32, "$analyze SELECT k, sum(v) FROM g GROUP BY k", qr/Fallback: engine ran out of memory/, $with);
	holds("groups of texts, $threads threads", $queries, 16, "$analyze SELECT s, sum(v) FROM t GROUP BY s", qr/Fallback: engine ran out of memory/, $with);
	holds("greatest texts, $threads threads", $queries, 32, "$analyze SELECT s, max(r) FROM t GROUP BY s", qr/Fallback: engine ran out of memory/, $with);
	holds("distinct values, $threads threads", $queries, 32, "$analyze SELECT count(DISTINCT k) FROM g", qr/Fallback: engine ran out of memory/, $with);
}
holds('groups by an expression', $queries, 48, "$analyze SELECT md5(k::text), sum(f) FROM g WHERE k < 200000 GROUP BY 1",
	qr/Fallback: groups need more memory than gpucol.memory_limit allows/, 'gpucol.cpu_threads = 1');
holds('grouping sets', $queries, 48, "$analyze SELECT k, v, sum(f) FROM g WHERE k < 200000 GROUP BY GROUPING SETS ((k), (v), (k, v))",
	qr/Fallback: groups need more memory than gpucol.memory_limit allows/, 'gpucol.cpu_threads = 1');
holds('first texts', $queries, 16, "$analyze SELECT v FROM t ORDER BY r DESC LIMIT 250000", qr/Top Rows Not Sought|Sort Method: external/);
holds('two aggregations of a statement', $queries, 48,
	"$analyze SELECT * FROM (SELECT k, sum(v) FROM g GROUP BY k) a FULL JOIN (SELECT v, sum(k) FROM g GROUP BY v) b ON a.k = b.v", qr/GpucolAgg/, 'enable_hashjoin = off');

# The administrator's limit is over all of them
holds('what a superuser allows', 'gpucol.max_memory', 32, "$analyze SELECT k, sum(v) FROM g GROUP BY k", qr/Fallback: engine ran out of memory/);
holds('what a superuser allows a recursion', 'gpucol.max_memory', 16,
	'WITH RECURSIVE r(a, b) AS (SELECT a, b FROM e WHERE a < 10 UNION SELECT r.a, e.b FROM r JOIN e ON e.a = r.b WHERE r.b < 10) SELECT count(*) FROM r',
	qr/HINT:  Increase gpucol.max_memory/);

done_testing();
