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

done_testing();
