# 031_stopped.pl: a load and a VACUUM that a debugger stops between two of their steps,
# while others load: no row, no index entry and no page is lost, whichever steps they are.
#
# A schedule: one load stops at some place, then VACUUM at another, unless it ends or has to
# wait for the load; a second load begins before or after the first goes on, which commits, or
# is rolled back, wholly or to a savepoint, or cancelled; a third load follows, VACUUM goes on.
# GPUCOL_SCHEDULES says how many of them are drawn; GPUCOL_SEED repeats a draw.
#
# Before that, a statement that makes a directory row which belongs to no transaction is cut off
# before the row's index entry, by an error and by a crash: no row is left that no index leads to.
#
# Without gdb, or where it may not attach, the test is skipped.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Sessions;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'no gdb is installed, which stops sessions between two of their steps' if system('gdb --version >/dev/null 2>&1') != 0;

my $SCHEDULES = $ENV{GPUCOL_SCHEDULES} || 3;

# Places to stop at: a function, how often it is passed before, and whether behind it.
my @LOAD_STOPS = ([ 'gpucol_directory_reserve', 0, 0 ], [ 'gpucol_directory_reserve', 0, 1 ],
	[ 'gpucol_directory_reserve', 1, 1 ], [ 'gpucol_directory_insert', 0, 1 ], [ 'gpucol_directory_overwrite', 1, 1 ],
	[ 'gpucol_space_claim', 0, 0 ], [ 'gpucol_directory_overwrite', 3, 1 ], [ 'gpucol_space_claim', 0, 1 ],
	[ 'gpucol_page_write', 0, 0 ], [ 'gpucol_page_write', 0, 1 ], [ 'gpucol_directory_unreserve', 0, 0 ],
	[ 'gpucol_directory_unreserve', 0, 1 ], [ 'gpucol_directory_overwrite', 5, 1 ]);
my @VACUUM_STOPS = (undef, [ 'gpucol_coverage_read', 0, 0 ], [ 'gpucol_coverage_read', 0, 1 ],
	[ 'index_bulk_delete', 0, 0 ], [ 'gpucol_fold', 0, 0 ], [ 'gpucol_space_reclaim', 0, 0 ],
	[ 'gpucol_space_log_conflict', 1, 0 ], [ 'gpucol_space_reclaim', 0, 1 ]);
my @ENDS = ('commit', 'rollback', 'savepoint', 'cancel');

my $node = new_server('stopped', 'autovacuum = off', 'restart_after_crash = on');
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $stops = 0;
$node->safe_psql('postgres', 'CREATE EXTENSION amcheck');

sub session { return Sessions->new($node->host, $node->port, scalar getpwuid($<), shift, 'SET client_min_messages = warning'); }
my $monitor = session('monitor');

# A load of some rows from an id on, all of them to a segment.
sub load { my ($first, $rows) = @_; return "COPY packed FROM PROGRAM 'seq $first " . ($first + $rows - 1) . "'"; }

# ------------------------------------------------------------------------
# Stopping
# ------------------------------------------------------------------------

# Have gdb stop a session at a place; returns the stop.  Let go, the session does what the last
# commands say, or goes on.
sub stop_at
{
	my ($session, $place, @last) = @_;
	my ($function, $passes, $behind) = @$place;
	my $file = "$dir/stop" . ++$stops;
	my %stop = (file => $file, output => '', session => $session);
	my @commands = ('set pagination off', 'set confirm off', 'set breakpoint pending on',
		'handle SIGUSR1 SIGALRM SIGURG nostop noprint pass', "tbreak $function", "ignore 1 $passes", "shell touch $file.ready",
		'continue', ($behind ? 'finish' : ()), "shell touch $file.there; while [ ! -e $file.go ]; do sleep 0.02; done", @last, 'detach');

	# the library is there before, so that the function is known
	$session->run("LOAD 'gpucol'");
	$stop{handle} = IPC::Run::start([ 'gdb', '-nx', '-batch', '-p', $session->{pid}, map { ('-ex', $_) } @commands ],
		'<', \undef, '>', \$stop{output}, '2>&1', IPC::Run::timeout(180));
	for (1 .. 3000)
	{
		return \%stop if -e "$file.ready";
		last if !$stop{handle}->pumpable;
		$stop{handle}->pump_nb;
		sleep 0.02;
	}
	plan skip_all => "gdb cannot attach: $stop{output}" if !Test::More->builder->current_test;
	die "gdb cannot attach any more: $stop{output}";
}

# What a busy session has come to: the end ("done"), a lock that it waits for ("lock"), or
# the place where it is to stop ("there").
sub come_to
{
	my ($session, $stop) = @_;

	for (1 .. 3000)
	{
		return 'there' if $stop && -e "$stop->{file}.there";
		Sessions::poll(0.02, $session);
		return 'done' if !$session->{busy};
		my ($waits) = $monitor->rows("SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $session->{pid}");
		return 'lock' if $waits eq 't';
	}
	die "$session->{name} comes to no end" . ($stop ? ": $stop->{output}" : '');
}

# Let a stopped session go on; one that has not come there is let alone.
sub go
{
	my ($stop) = @_;

	return if !$stop;
	open my $file, '>', "$stop->{file}.go" or die "$stop->{file}.go: $!";
	close $file;
	$stop->{handle}->signal('INT') if !-e "$stop->{file}.there";
	$stop->{handle}->finish;
	return;
}

# ------------------------------------------------------------------------
# Tables
# ------------------------------------------------------------------------

# A table of 9,900 rows, with pages that are free, others that are lost, index entries of lost
# row numbers and rows that VACUUM has yet to remove.
sub begin_table
{
	$monitor->rows($_) foreach 'CREATE TABLE packed (id bigint PRIMARY KEY) USING gpucol', load(0, 10000),
	  load(100000, 5000), 'DELETE FROM packed WHERE id >= 100000', 'VACUUM (INDEX_CLEANUP ON) packed', 'VACUUM packed',
	  'BEGIN; ' . load(200000, 3000) . '; ROLLBACK', 'DELETE FROM packed WHERE id >= 9900';
	return;
}

# One result: a scan, the primary key, amcheck and gpucol.verify agree about the rows.
sub is_whole
{
	my ($rows, $what) = @_;
	my @found = ($monitor->run('SELECT count(*), count(DISTINCT id) FROM packed'),
		$monitor->run('SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off; SELECT count(*) FROM packed WHERE id >= 0; RESET ALL'),
		$monitor->run("SELECT bt_index_check('packed_pkey', true)"), $monitor->run("SELECT * FROM gpucol.verify('packed')"));
	my $text = join(' ', @found) =~ s/\n(SELECT \d+|RESET|SET)//gr =~ s/SET\n//gr;

	return is($text, "$rows|$rows $rows  SELECT 0", $what);
}

sub end_table
{
	$monitor->rows('DROP TABLE packed');
	return;
}

# ------------------------------------------------------------------------
# Schedules
# ------------------------------------------------------------------------

# What the first load does.
sub first_load
{
	my ($end) = @_;

	return 'BEGIN; ' . load(10000, 5000) . '; ROLLBACK' if $end eq 'rollback';
	return 'BEGIN; SAVEPOINT s; ' . load(10000, 5000) . '; ROLLBACK TO s; ' . load(15000, 2000) . '; COMMIT' if $end eq 'savepoint';
	return load(10000, 5000);
}

# The rows of it that stay.
sub rows_of
{
	my ($end, $answer) = @_;

	return 0 if $answer =~ /^ERROR/m || $end eq 'rollback';
	return $end eq 'savepoint' ? 2000 : 5000;
}

sub place { my ($place) = @_; return defined $place ? join(' ', $place->[0], $place->[1], $place->[2] ? 'end' : 'begin') : 'none'; }

sub run_schedule
{
	my ($load_stop, $vacuum_stop, $end, $early) = @_;
	my ($one, $two, $vacuum) = map { session($_) } 'one', 'two', 'vacuum';
	my $what = join ', ', 'load: ' . place($load_stop), 'VACUUM: ' . place($vacuum_stop), $end, $early ? 'early' : 'late';

	begin_table();
	my $loading = stop_at($one, $load_stop);
	my $cleaning = $vacuum_stop && stop_at($vacuum, $vacuum_stop);
	$one->send(first_load($end));
	my @met = come_to($one, $loading);
	$vacuum->send('VACUUM (INDEX_CLEANUP ON) packed');
	push @met, come_to($vacuum, $cleaning);
	$two->send(load(20000, 3000)) if $early;
	push @met, come_to($two) if $early;
	$monitor->rows("SELECT pg_cancel_backend($one->{pid})") if $end eq 'cancel';
	go($loading);
	push @met, come_to($one);
	push @met, come_to($vacuum, $cleaning);
	$two->send(load(20000, 3000)) if !$early;
	$two->wait;
	$two->run(load(23000, 3000));
	go($cleaning);
	$_->wait foreach $one, $vacuum;
	$two->run(load(26000, 3000));
	note("$what: @met");
	my $rows = 9900 + 9000 + rows_of($end, join("\n", @{ $one->{answer} }));
	my $good = is_whole($rows, $what);
	$monitor->rows('VACUUM (INDEX_CLEANUP ON) packed');
	$monitor->rows(load(40000, 3000));
	is_whole($rows + 3000, "$what, then VACUUM and a load") if $good;
	end_table();
	return;
}

# ------------------------------------------------------------------------
# Rows of no transaction
# ------------------------------------------------------------------------

# The server once it has restarted.
sub restarted
{
	my ($start) = @_;

	$node->poll_query_until('postgres', "SELECT backend_start::text <> '$start' FROM pg_stat_activity WHERE backend_type = 'checkpointer'")
	  or die 'the server does not restart';
	return session('monitor');
}

# What gpucol.verify says of a table, and its rows.
sub state_of
{
	my ($table) = @_;

	return join ' ', $monitor->rows("SELECT * FROM gpucol.verify('$table')"), 'rows', $monitor->rows("SELECT count(*) FROM $table");
}

# A statement is cut off before the entry into the directory's index of the first row that it
# makes, by an error or a crash; then it is run again.
sub cut_off
{
	my ($what, $how, $statement, @before) = @_;
	my $one = session('one');
	my $error = $how eq 'an error';
	my ($rows, $start);

	$monitor->rows($_) foreach 'CREATE TABLE fresh (id bigint) USING gpucol', @before;
	$rows = state_of('fresh');
	# as if the function that enters it had looked for a cancel
	my $stop = stop_at($one, [ '*gpucol_index_enter', 0, 0 ], $error ? ('set var {int} &QueryCancelPending = 1', 'set $pc = (long) &ProcessInterrupts') : ());
	($start) = $monitor->rows("SELECT backend_start FROM pg_stat_activity WHERE backend_type = 'checkpointer'");
	$one->send($statement);
	is(come_to($one, $stop), 'there', "$what: there is a row to be entered");
	$monitor->rows('CHECKPOINT') if !$error;	# it is on disk
	kill 'KILL', $one->{pid} if !$error;
	go($stop);
	$monitor = restarted($start) if !$error;
	is($one->wait, 'ERROR 57014 canceling statement due to user request', "$what: the error") if $error;
	is(state_of('fresh'), $rows, "$what, cut off by $how: nothing is left");
	$one = session('one') if !$error;
	$one->rows($statement);
	like(state_of('fresh'), qr/^rows \d+$/, "$what, after $how: made again");
	$monitor->rows('DROP TABLE fresh');
	return;
}

foreach my $how ('an error', 'a crash')
{
	my $load = "COPY fresh FROM PROGRAM 'seq 1 5000'";

	cut_off('the row counter', $how, $load);
	cut_off('the upkeep record', $how, 'VACUUM fresh', $load, "BEGIN; $load; ROLLBACK");
	cut_off('a lock record', $how, 'SELECT id FROM fresh WHERE id = 7 FOR UPDATE', $load);
}

# ------------------------------------------------------------------------
# Loads and VACUUM
# ------------------------------------------------------------------------

# A load gives back row numbers that it has reserved in vain.  VACUUM reads what segments
# have just then, and goes on when another load has got the numbers.
run_schedule([ 'gpucol_directory_unreserve', 0, 0 ], [ 'index_bulk_delete', 0, 0 ], 'commit', 0);

# The same, but the second load has written its pages and not yet said which: VACUUM
# must not list them as free, for a third load to overwrite.
{
	my ($one, $two, $three, $vacuum) = map { session($_) } 'one', 'two', 'three', 'vacuum';

	begin_table();
	my $loading = stop_at($one, [ 'gpucol_directory_unreserve', 0, 0 ]);
	my $cleaning = stop_at($vacuum, [ 'index_bulk_delete', 0, 0 ]);
	my $writing = stop_at($two, [ 'gpucol_page_write', 0, 1 ]);
	$one->send(load(10000, 5000));
	come_to($one, $loading);
	$vacuum->send('VACUUM (INDEX_CLEANUP ON) packed');
	come_to($vacuum, $cleaning);
	go($loading);
	$one->wait;
	come_to($vacuum, $cleaning);
	$two->send(load(20000, 3000));
	come_to($two, $writing);
	go($cleaning);
	$vacuum->wait;
	$three->run(load(23000, 30000));
	go($writing);
	$two->wait;
	is_whole(9900 + 5000 + 3000 + 30000, 'pages of a load in progress');
	end_table();
}

# SP-GiST leaves marks where it moves entries, which VACUUM follows if they are as young as itself
# and else removes: those that came while it was stopped must be there when it comes to them.
{
	my ($one, $vacuum) = map { session($_) } 'one', 'vacuum';
	# words of many letters, which inner tuples come to have nodes of
	my $more = sub { "INSERT INTO words SELECT (SELECT string_agg(chr(33 + (hashint4(i * 10 + j) & 2147483647) % 200), '') FROM generate_series(1, 8) j) FROM generate_series($_[0], $_[1]) i" };

	$monitor->rows($_) foreach 'CREATE TABLE words (w text) USING gpucol', 'CREATE INDEX ON words USING spgist (w)', $more->(1, 3000), 'DELETE FROM words WHERE ascii(w) % 3 = 0';
	my $cleaning = stop_at($vacuum, [ 'index_bulk_delete', 0, 0 ]);
	$vacuum->send('VACUUM (INDEX_CLEANUP ON) words');
	come_to($vacuum, $cleaning);
	$one->rows($more->($_ * 5000, ($_ + 1) * 5000)) foreach 1 .. 4;
	go($cleaning);
	is($vacuum->wait, 'VACUUM', 'entries of SP-GiST that are moved while VACUUM cleans');
	is($monitor->run("SELECT count(*) FROM gpucol.verify('words')"), "0\nSELECT 1", 'none is lost');
	$monitor->rows('DROP TABLE words');
}

seed_random();
run_schedule(pick(@LOAD_STOPS), pick(@VACUUM_STOPS), pick(@ENDS), between(0, 1)) for 1 .. $SCHEDULES;

$node->stop;
done_testing();
