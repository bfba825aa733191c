# storm.pl SECONDS SEED FOLDER: sessions that load, change, merge, vacuum and ask while
# others cancel, terminate and kill them, and while the whole server dies.
#
# Each session changes rows of its own in a gpucol table and, in the same transaction,
# in its twin of heap, the ledger.  After each storm both hold the same rows, the
# indexes show them, and gpucol.verify and amcheck find nothing.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Fuzz;
use Gpucol;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $SESSIONS = 4;
my $STORM = 8;		# seconds
my $DONE = '<done>';	# printed after each statement, whatever became of it

start_part('storm', @ARGV);
my $node = new_server('fuzz_storm', server_lines('autovacuum_naptime = 1s', 'autovacuum_vacuum_threshold = 500', 'autovacuum_vacuum_scale_factor = 0.01', 'max_wal_size = 1GB', 'checkpoint_timeout = 30s', 'deadlock_timeout = 100ms', "log_error_verbosity = verbose", 'max_prepared_transactions = 5'));

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (s int, id int, k int, n numeric(12,2), v text, at timestamp, PRIMARY KEY (s, id)) USING gpucol;
CREATE INDEX ON packed (k);
CREATE INDEX ON packed USING hash (v);
CREATE TABLE twin (LIKE packed INCLUDING ALL) USING heap;
SQL

sub both { my ($sql) = @_; return map { sprintf "$sql;\n", $_ } qw(packed twin); }

# One transaction of a session's script.
my %next;
sub step
{
	my ($s) = @_;
	my $first = $next{$s} //= 1;
	my $rows = pick(1, 5, 40, 1200, 5000);
	my $some = 's = ' . $s . ' AND ' . pick('id % 97 = ' . between(0, 96), 'id BETWEEN ' . between(1, $first) . ' AND ' . between(1, $first), 'k = ' . between(0, 50));
	my $rowset = sub { my ($from, $count) = @_; "SELECT $s, i, i % 50, i / 7.0, 'v' || i % 30, timestamp '2024-01-01' + i * interval '1 minute' FROM generate_series($from, " . ($from + $count - 1) . ') i' };
	my $dice = rand;
	my @change;

	if ($dice < 0.35) { @change = both("INSERT INTO %s " . $rowset->($first, $rows)); $next{$s} += $rows; }
	elsif ($dice < 0.45) { @change = (both("INSERT INTO %s " . $rowset->($first, 900)), "SAVEPOINT a;\n", both("INSERT INTO %s " . $rowset->($first + 900, $rows)), "ROLLBACK TO a;\n", both("INSERT INTO %s " . $rowset->($first + 900, 20))); $next{$s} += 920; }
	elsif ($dice < 0.6) { @change = both("UPDATE %s SET n = n + 1, v = v || '!' WHERE $some"); }
	elsif ($dice < 0.66) { @change = both("UPDATE %s SET k = k + 1 WHERE $some"); }
	elsif ($dice < 0.78) { @change = both("DELETE FROM %s WHERE $some"); }
	elsif ($dice < 0.84) { @change = (both("DELETE FROM %s WHERE $some"), both("INSERT INTO %s " . $rowset->($first, $rows) . ' ON CONFLICT DO NOTHING')); $next{$s} += $rows; }
	elsif ($dice < 0.88) { return pick("SELECT gpucol.merge('packed');\n", "VACUUM packed;\n", "VACUUM (INDEX_CLEANUP ON) packed;\n", "VACUUM FREEZE packed;\n", "REINDEX INDEX CONCURRENTLY packed_k_idx;\n"); }
	elsif ($dice < 0.96) { return pick("SELECT k, count(*), sum(n) FROM packed GROUP BY k ORDER BY k LIMIT 1;\n", "SELECT count(*) FROM packed x JOIN packed y USING (s, id) WHERE x.v > y.v;\n", "SET enable_seqscan = off; SELECT count(v) FROM packed WHERE k = 3; RESET enable_seqscan;\n", "SELECT max(v) FROM packed WHERE $some;\n", "SELECT id FROM packed ORDER BY v DESC, n LIMIT 3;\n", "BEGIN; SELECT count(*) FROM (SELECT 1 FROM packed WHERE $some FOR UPDATE) q; COMMIT;\n", "BEGIN; DECLARE c CURSOR FOR SELECT * FROM packed; MOVE 100 FROM c; COMMIT;\n"); }
	elsif ($dice < 0.965) { return pick("CLUSTER packed USING packed_pkey;\n", "VACUUM FULL packed;\n"); }
	else { my $name = "p${s}_$first"; return join '', "BEGIN;\n", both("INSERT INTO %s " . $rowset->($first, ($next{$s} += 50) && 50)), "PREPARE TRANSACTION '$name';\n", pick('COMMIT', 'ROLLBACK'), " PREPARED '$name';\n"; }
	return join '', "BEGIN;\n", @change, pick(('COMMIT') x 5, 'ROLLBACK'), ";\n";
}

my @running;

sub start_session
{
	my ($s) = @_;
	my $script = join '', "SET client_min_messages = error; SET lock_timeout = '5s';\n", map { step($s) =~ s/;(?=\s)/;\n\\echo $DONE\n/gr } 1 .. 60;
	my $output = '';
	my $handle = IPC::Run::start([ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$output, '2>&1');

	$running[$s] = [ $handle, \$output ];
	return;
}

sub end_session
{
	my ($s) = @_;

	return unless $running[$s];
	eval { $running[$s][0]->finish };
	counted(scalar(() = ${ $running[$s][1] } =~ /^$DONE$/mg));
	$running[$s] = undef;
	return;
}

# Numbers of the server's processes of some kinds.
sub processes
{
	my ($of) = @_;

	open my $file, '<', $node->data_dir . '/postmaster.pid' or return;
	my $postmaster = 0 + (<$file> // 0);
	return grep { -r "/proc/$_/cmdline" && (eval { slurp_file("/proc/$_/cmdline") } // '') =~ $of } split ' ', slurp_file("/proc/$postmaster/task/$postmaster/children");
}

sub ask_server { my ($sql) = @_; my ($status, $out) = eval { $node->psql('postgres', $sql, timeout => 20) }; return $out; }

my %did;
sub strike
{
	my ($hard) = @_;
	my $victim = pick("backend_type = 'client backend' AND pid <> pg_backend_pid()", "backend_type = 'autovacuum worker'", "query ~ 'merge|VACUUM|INSERT' AND pid <> pg_backend_pid()");
	my $dice = rand;

	if ($dice < $hard)
	{
		my $pid = pick(processes(qr/postgres: (?:.*(?:INSERT|UPDATE|DELETE|COPY|VACUUM|SELECT)|autovacuum worker|parallel worker)/));
		return unless $pid;
		kill 'KILL', $pid;
		$did{'kill -9'}++;
		return 'crash';
	}
	my $how = pick('cancel', 'cancel', 'terminate');
	ask_server("SELECT pg_${how}_backend(pid) FROM pg_stat_activity WHERE $victim ORDER BY random() LIMIT 1");
	$did{$how}++;
	return;
}

sub compare
{
	my ($when) = @_;
	my @questions = ("SELECT count(*), sum(hashtextextended(x::text, 0)) FROM %s x", "SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(n), max(v) FROM %s WHERE s BETWEEN 0 AND 100", "SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(id) FROM %s WHERE k >= 0",
		"SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(id) FROM %s WHERE v = 'v7'");

	for my $question (@questions)
	{
		my ($one, $two) = map { ($node->psql('postgres', sprintf $question, $_))[1] } qw(packed twin);
		next if $one eq $two;
		finding("packed differs from its twin $when", "$question\npacked: $one\ntwin: $two\n" . ($node->psql('postgres', "SELECT * FROM (SELECT * FROM packed EXCEPT ALL SELECT * FROM twin LIMIT 5) q UNION ALL SELECT -1, 0, 0, 0, 'only in twin', NULL UNION ALL SELECT * FROM (SELECT * FROM twin EXCEPT ALL SELECT * FROM packed LIMIT 5) q"))[1]);
		return 0;
	}
	return sound_table($node, 'packed', $when);
}

my ($storms, $internal) = (0, qr/ERROR:  XX/);
while (going($STORM + 8))
{
	my $seed = round_seed();
	my $end = time + $STORM;
	my $hard = pick(0, 0.03, 0.15);

	$storms++;
	start_session($_) for 1 .. $SESSIONS;
	while (time < $end)
	{
		sleep rand pick(0.05, 0.3, 1);
		my $crash = strike($hard) // '';
		$_ && eval { $_->[0]->pump_nb } for @running;
		last if $crash && !wait_for_server($node);
		for my $s (1 .. $SESSIONS)
		{
			next if $running[$s] && eval { $running[$s][0]->pumpable };
			end_session($s);
			start_session($s);
		}
	}
	if (rand() < 0.3)
	{
		$did{'whole server'}++;
		kill_server($node);
		end_session($_) for 1 .. $SESSIONS;
		$node->start;
	}
	ask_server("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()");
	end_session($_) for 1 .. $SESSIONS;
	ask_server("SELECT 1");
	for my $name (split /\n/, ask_server("SELECT gid FROM pg_prepared_xacts") // '') { ask_server(pick('COMMIT', 'ROLLBACK') . " PREPARED '$name'"); }
	my $good = compare("after storm $storms (seed $seed)");
	watch_log($node, $internal);
	if (!$good || ask_server("SELECT count(*) FROM twin") > 150000)
	{
		$node->psql('postgres', 'TRUNCATE packed; TRUNCATE twin');
		%next = ();
	}
}
say_now("$storms storms: " . join ', ', map { "$did{$_} $_" } sort keys %did);
$node->stop;
end_part();
