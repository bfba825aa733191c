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

my $node = new_server('memory', 'restart_after_crash = on', 'gpucol.max_cpu_threads = 3', 'max_parallel_workers_per_gather = 0', 'jit = off', 'statement_timeout = 120s', 'shared_buffers = 32MB');

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

	# idle threads end within a second or so, which a busy machine may take for less than this
	my $found;
	for (1 .. 20)
	{
		$found = join ', ', threads_of_query($first), threads($first), threads_of_query($second);
		last if $found eq '4, 4, 1';
	}
	is($found, '4, 4, 1', 'three threads and the session, which stay for the next query; another session finds none left');
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
	my $start = $node->safe_psql('postgres', 'SELECT backend_start FROM pg_stat_activity WHERE backend_type = $$checkpointer$$');
	kill 'KILL', $kept->{pid};
	# the server has restarted once it has another checkpointer
	$node->poll_query_until('postgres', "SELECT backend_start::text <> '$start' FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
	is(threads_of_query(session(['gpucol.cpu_threads = 4'])), 4, 'and all after a crash');

	my $clerk = 'SET ROLE clerk; SET gpucol.max_cpu_threads = 100; SELECT count(*) FROM g; SHOW gpucol.max_cpu_threads;';
	my ($status, $out, $error) = $node->psql('postgres', "$clerk SET gpucol.max_cpu_threads = 100", on_error_stop => 0);
	like($out, qr/^3$/m, 'the administrator\'s limit holds before the library is there');
	like($error, qr/permission denied to set parameter "gpucol.max_cpu_threads"/, 'and then');
}

#
# Memory
#

# Kilobytes of a process by the kernel: VmHWM, RssAnon, ...
sub figure
{
	my ($session, $name) = @_;
	open my $file, '<', "/proc/$session->{pid}/status" or return 0;
	return (join('', <$file>) =~ /^$name:\s+(\d+)/m)[0];
}

# What a statement has taken at most, in MB: what was touched of shared memory and of
# files does not count.  Also what it said.
sub peak
{
	my ($session, $sql) = @_;
	my $before = figure($session, 'RssAnon');
	my ($answer, $peak);

	open my $file, '>', "/proc/$session->{pid}/clear_refs" or return (0, 'no clear_refs');
	print $file "5\n";
	close $file;
	$session->{psql}->{stderr} = '';
	$answer = $session->{psql}->query($sql);
	$peak = figure($session, 'VmHWM') - figure($session, 'RssShmem') - figure($session, 'RssFile') - $before;
	return ($peak / 1024, $answer, $session->{psql}->{stderr});
}

# A statement in a session of its own, after one like it that is small: it takes no more
# than the limit and a tenth, and what any backend takes for plans and catalogs.
sub keeps
{
	my ($what, $limit, $settings, $small, $sql, $like) = @_;
	my $session = session([@$settings]);
	my ($peak, $answer, $said);

	$session->{psql}->query($small);
	($peak, $answer, $said) = peak($session, $sql);
	cmp_ok($peak, '<=', $limit * 1.1 + 4, sprintf('%s: %.1f of %d MB', $what, $peak, $limit));
	like("$answer\n$said", $like, "$what: ends as it should");
	$session->{psql}->quit;
	return;
}

$node->safe_psql('postgres', <<SQL);
CREATE TABLE u (k int8, s text, p float8);
INSERT INTO u SELECT i, md5(i::text), (i % 1000) / 1000.0 FROM generate_series(1, 600000) i;
CREATE TABLE edges (a int8, b int8) USING gpucol;
INSERT INTO edges SELECT i, i * 7 % 1000003 FROM generate_series(1, 1000000) i;
CREATE TABLE few USING gpucol AS SELECT * FROM edges WHERE a < 10;
ANALYZE;
SQL
my $values = join ', ', map { "i * $_ % 1000003 AS c$_" } 1 .. 150;

my @ranking = ("gpucol.ranking_memory_limit = '20MB'");
keeps('a ranking of one group by PostgreSQL', 20, \@ranking,
	'SELECT gpucol.expected_rank_topk(s, k, p, 3) FROM u WHERE k < 10', 'SELECT gpucol.expected_rank_topk(s, k, p, 3) FROM u',
	qr/a ranking needs more memory than it may use/);
keeps('a window of uncertain rows', 20, \@ranking,
	'SELECT sum(x) FROM (SELECT gpucol.topk_probability(k, p, 3) OVER () x FROM u WHERE k < 10) q',
	'SELECT sum(x) FROM (SELECT gpucol.topk_probability(k, p, 3) OVER () x FROM u) q',
	qr/a ranking needs more memory than it may use/);
keeps('a ranking that is cut while it is collected', 20, \@ranking,
	'SELECT array_length(gpucol.u_topk(s, k, p, 3), 1) FROM u WHERE k < 1000', 'SELECT array_length(gpucol.u_topk(s, k, p, 3), 1) FROM u', qr/^3$/m);

my @recursion = ("gpucol.recursive_memory_limit = '40MB'");
my $reached = sub {
	my ($table) = @_;
	return "WITH RECURSIVE r(x, y) AS (SELECT a, b FROM $table UNION SELECT r.x, e.b FROM r JOIN $table e ON r.y = e.a) SELECT count(*) FROM r";
};
keeps('inputs of a recursion', 40, [@recursion, 'gpucol.pushdown = require'], $reached->('few'), $reached->('edges'), qr/recursion needs more memory than it may use/);
my $datalog = sub {
	my ($atoms) = @_;
	my $body = join ', ', map { "e(x$_, x" . ($_ + 1) . ')' } 0 .. $atoms - 1;
	return "SELECT * FROM gpucol.datalog('.decl e(a:number, b:number) e(1, 1). .decl o(a:number) .output o o(x0) :- $body.', 'o') AS t(a int)";
};
keeps('a clause of many atoms', 40, \@recursion, $datalog->(3), $datalog->(8000), qr/recursion needs more memory than it may use/);
my $nested = sub {
	my ($depth) = @_;
	my $body = 'e(x, y)';
	$body = "n$_ = count : { e(x, z$_), $body }" for 1 .. $depth;
	return "SELECT * FROM gpucol.datalog('.decl e(a:number, b:number) e(1, 1). .decl o(a:number) .output o o(x) :- e(x, _), $body.', 'o') AS t(a int)";
};
keeps('nested aggregates', 40, \@recursion, $nested->(2), $nested->(500), qr/recursion needs more memory than it may use/);

keeps('groups', 20, ["gpucol.memory_limit = '20MB'", "work_mem = '1MB'"],
	'SELECT count(*) FROM (SELECT k, count(*) FROM g WHERE k < 10 GROUP BY k) q', 'SELECT count(*) FROM (SELECT k, count(*) FROM g GROUP BY k) q', qr/^1000000$/m);
# subqueries that become joins of groups, which together exceed the limit
$node->safe_psql('postgres', <<SQL);
CREATE TABLE xs AS SELECT i::text AS s, (i % 1000)::int8 AS a, i * 1.5 AS p FROM generate_series(1, 150000) i;
CREATE TABLE ys USING gpucol AS SELECT i::text AS s, (i % 977)::int8 AS b, i * 1.5 AS p FROM generate_series(1, 150000) i;
ANALYZE;
SQL
my @joined = ("gpucol.memory_limit = '20MB'", "work_mem = '1MB'", 'gpucol.cpu_threads = 1');
keeps('ALL over numerics', 20, \@joined, 'SELECT count(*) FROM xs x WHERE x.a < 3 AND x.a > ALL (SELECT y.b FROM ys y WHERE y.p = x.p)',
	'SELECT count(*) FROM xs x WHERE x.a > ALL (SELECT y.b FROM ys y WHERE y.p = x.p)', qr/^\d+$/m);
my $grouped = 'SELECT count(*) FROM (SELECT x.a, x.s, count(*), sum(p.n) FROM xs x JOIN (SELECT s, count(*) n FROM ys GROUP BY s) p ON p.s = x.s GROUP BY x.a, x.s) q';
keeps('groups of rows joined with groups', 20, \@joined, $grouped =~ s/ON p/ON x.a < 3 AND p/r, $grouped, qr/^150000$/m);
# rows that have all been read hold nothing while the groups above are made: in four parts, not seven
like($node->safe_psql('postgres', join('; ', map { "SET $_" } @joined) . "; EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $grouped"),
	qr/in each of [2-5] parts/, 'groups that have been read make room');

# groups of texts that are numbered once for all threads, groups that are complete with their vector, tables of
# keys that threads number, rows of WITH queries, the nearest of rows
$node->safe_psql('postgres', <<SQL);
CREATE TABLE texts USING gpucol AS SELECT i AS k, md5(i::text) AS t, i % 1000 AS few FROM generate_series(1, 600000) i;
CREATE TABLE ranged (LIKE texts) USING gpucol;
CREATE INDEX ON ranged USING brin (k, t) WITH (pages_per_range = 4);
ANALYZE;
SQL
for my $threads (1, 3)
{
	my @set = ("gpucol.memory_limit = '20MB'", "work_mem = '1MB'", "gpucol.cpu_threads = $threads", 'gpucol.pushdown = require');
	my $asked = sub {
		my ($what, $sql, $like) = @_;
		keeps("$what, $threads threads", 20, \@set, $sql =~ s/\btexts\b(?= x\b)/(SELECT * FROM texts WHERE k < 10)/r, $sql, $like);
	};

	$asked->('groups of texts', 'SELECT count(*) FROM (SELECT t, count(*) FROM texts x GROUP BY t) q', qr/^600000$/m);
	$asked->('different texts', 'SELECT count(DISTINCT t), count(*) FROM texts x', qr/^600000\|600000$/m);
	$asked->('texts in groups', 'SELECT sum(c) FROM (SELECT few, count(DISTINCT t) AS c, min(t) FROM texts x GROUP BY few) q', qr/^600000$/m);
	$asked->('groups in the order of rows', q(SELECT max(c), count(*) FROM (SELECT k, count(*) AS c, max(t) FROM texts x GROUP BY k HAVING max(t) > '0') q), qr/^1\|600000$/m);
	$asked->('the first of many groups', 'SELECT count(*) FROM (SELECT k, sum(few) AS s FROM texts x GROUP BY k ORDER BY s DESC, k LIMIT 50000) q', qr/^50000$/m);
	$asked->('a table of keys', 'SELECT count(*), count(y.few) FROM texts x JOIN texts y ON x.k = y.k', qr/^600000\|600000$/m);
	$asked->('a WITH query', 'WITH w AS MATERIALIZED (SELECT x.few, y.few AS o FROM texts x JOIN texts y ON x.few = y.few AND x.k <> y.k AND y.k < 3000) SELECT count(*) FROM texts z WHERE z.few IN (SELECT few FROM w) AND z.few IN (SELECT o FROM w)', qr/^600000$/m);
	$asked->('the nearest of rows', 'SELECT count(*), max(z.k) FROM (SELECT k FROM texts x WHERE k <= 300) x, LATERAL (SELECT y.k FROM texts y WHERE y.few < 40 ORDER BY abs(y.k - x.k), y.k LIMIT 400) z', qr/^120000\|\d+$/m);
}
keeps('a load beside BRIN', 64, ["gpucol.max_memory = '64MB'"], 'INSERT INTO ranged SELECT * FROM texts WHERE k < 10', 'INSERT INTO ranged SELECT * FROM texts', qr/^$/);
keeps('a search by BRIN', 20, ["gpucol.memory_limit = '20MB'", "work_mem = '1MB'", 'enable_seqscan = off'], 'SELECT count(*) FROM ranged WHERE k < 10', 'SELECT count(*), max(length(t)) FROM ranged WHERE k > 100', qr/^599900\|32$/m);

keeps('a wide load', 64, ["gpucol.max_memory = '64MB'"], "CREATE TABLE w1 USING gpucol AS SELECT $values FROM generate_series(1, 3) i",
	"CREATE TABLE w USING gpucol AS SELECT $values FROM generate_series(1, 60000) i", qr/^$/);
is($node->safe_psql('postgres', 'SELECT count(*), sum(c1), sum(c150) FROM w'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(i * 1 % 1000003), sum(i * 150 % 1000003) FROM generate_series(1, 60000) i'), 'its rows');
keeps('a wide copy', 64, ["gpucol.max_memory = '64MB'"], 'CREATE TABLE w2 USING gpucol AS SELECT * FROM w LIMIT 1',
	'CREATE TABLE w3 USING gpucol AS SELECT * FROM w', qr/^$/);
is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE w EXCEPT ALL TABLE w3) x'), '0', 'the same rows');

my $many = join ', ', map { "i * $_ % 1000003 AS c$_" } 1 .. 200;
$node->safe_psql('postgres', <<SQL);
CREATE TABLE w4 USING gpucol AS SELECT $many FROM generate_series(1, 3) i;
CREATE TABLE long (id int, t text) USING gpucol;
ALTER TABLE long ALTER t SET STORAGE EXTERNAL;
CREATE TABLE long_delta (LIKE long INCLUDING STORAGE) USING gpucol;
INSERT INTO long SELECT i, repeat(md5(i::text), 1000) FROM generate_series(1, 5000) i;
DO 'BEGIN FOR n IN 1 .. 5000 LOOP INSERT INTO long_delta VALUES (n, repeat(md5(n::text), 1000)); END LOOP; END';
SQL
my @limit = ("gpucol.max_memory = '64MB'");
keeps('INSERT … SELECT of 200 columns', 64, \@limit, "INSERT INTO w4 SELECT $many FROM generate_series(1, 3) i",
	"INSERT INTO w4 SELECT $many FROM generate_series(1, 40000) i", qr/^$/);
keeps("long values in $_", 64, \@limit, "SELECT count(*), sum(length(t)) FROM $_ WHERE id < 3", "SELECT count(*), sum(length(t)) FROM $_", qr/^5000\|160000000$/m)
  for 'long', 'long_delta';

# what a session keeps of deleted rows for its next statement
$node->safe_psql('postgres', <<SQL);
CREATE TABLE thinned (k int) USING gpucol;
INSERT INTO thinned SELECT generate_series(1, 4000000);
DELETE FROM thinned WHERE k % 40000 = 0;
SQL
for my $limit (64, 1)
{
	my $session = session(["gpucol.max_memory = '${limit}MB'"]);
	my $kept = 'SELECT coalesce(sum(used_bytes), 0) FROM pg_backend_memory_contexts WHERE name = $$gpucol view$$';

	is($session->{psql}->query('SELECT count(*), sum(k::int8) FROM thinned'), '3999900|7999800000000', 'rows that are left') for 1, 2;
	cmp_ok($session->{psql}->query($kept), $limit > 1 ? '>' : '<', $limit > 1 ? 500000 : 200000, "bitmaps of deleted rows that are kept, of $limit MB");
	$session->{psql}->quit;
}

done_testing();
