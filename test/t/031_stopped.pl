# 031_stopped.pl: sessions that a debugger stops between two steps of a load or of
# VACUUM, while others do what they can: no index entry and no page is lost.
#
# Without gdb, or where it may not attach, the test is skipped.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'there is no gdb' if system('gdb --version >/dev/null 2>&1') != 0;

my $node = new_server('stopped', 'autovacuum = off', 'logging_collector = off');
my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $stops = 0;

# A session with a gpucol table open, by its name.
sub session
{
	my ($name) = @_;
	my %session = (name => $name, input => '', output => '', error => '');

	$session{handle} = IPC::Run::start(
		[ 'psql', '-X', '-q', '-A', '-t', '-d', $node->connstr('postgres') . " application_name=$name" ],
		'<', \$session{input}, '>', \$session{output}, '2>', \$session{error}, IPC::Run::timeout(180));
	($session{pid}) = ask(\%session, 'SELECT count(*) * 0 + pg_backend_pid() FROM packed') =~ /(\d+)/;
	return \%session;
}

# Have a session begin a statement.
sub begin
{
	my ($session, $sql) = @_;
	$session->{output} = '';
	$session->{input} .= "$sql;\n\\echo done\n";
	$session->{handle}->pump_nb;
	return;
}

# Wait for the end of what a session has begun; returns what it printed.
sub answer
{
	my ($session) = @_;
	$session->{handle}->pump until $session->{output} =~ /done\n/;
	return $session->{output} =~ s/done\n//r;
}

sub ask { my ($session, $sql) = @_; begin($session, $sql); return answer($session); }

# Have gdb stop a session in a function, or where `finish` is set behind it; returns the stop.
sub stop_in
{
	my ($session, $function, $finish) = @_;
	my $file = "$dir/stop" . ++$stops;
	my %stop = (file => $file, output => '');
	my @commands = ('set pagination off', 'set confirm off', 'set breakpoint pending on',
		'handle SIGUSR1 SIGALRM SIGURG nostop noprint pass', "tbreak $function", "shell touch $file.ready", 'continue',
		($finish ? 'finish' : ()), "shell touch $file.there; while [ ! -e $file.go ]; do sleep 0.05; done", 'detach');

	$stop{handle} = IPC::Run::start([ 'gdb', '-nx', '-batch', '-p', $session->{pid}, map { ('-ex', $_) } @commands ],
		'<', \undef, '>', \$stop{output}, '2>&1', IPC::Run::timeout(180));
	wait_for(\%stop, 'ready') or plan skip_all => "gdb cannot attach: $stop{output}";
	return \%stop;
}

# Wait for a file of a stop, or for a session that waits for a lock; returns which.
sub wait_for
{
	my ($stop, $what, $session) = @_;

	for (1 .. 1200)
	{
		return $what if -e "$stop->{file}.$what";
		return if !$stop->{handle}->pumpable;
		$stop->{handle}->pump_nb;
		return 'lock' if $session && $node->safe_psql('postgres',
			"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $session->{pid}") eq 't';
		sleep 0.05;
	}
	die "gdb did not come $what: $stop->{output}";
}

# Let a stopped session go on.
sub go
{
	my ($stop) = @_;
	open my $file, '>', "$stop->{file}.go" or die "$stop->{file}.go: $!";
	close $file;
	$stop->{handle}->finish;
	return;
}

# Results: a scan, the primary key and amcheck agree about the rows.
sub is_whole
{
	my ($rows, $what) = @_;
	my (undef, $scanned, $error) = $node->psql('postgres', 'SELECT count(*), count(DISTINCT id) FROM packed');

	is($scanned . $error, "$rows|$rows", "$what: every row is there");
	is($node->safe_psql('postgres', <<~'SQL'), $rows, "$what: the primary key has it");
		SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off;
		SELECT count(*) FROM packed WHERE id >= 0
		SQL
	(undef, undef, $error) = $node->psql('postgres', "SELECT bt_index_check('packed_pkey', true)");
	is($error, '', "$what: amcheck finds it");
	is($node->safe_psql('postgres', "SELECT * FROM gpucol.verify('packed')"), '', "$what: gpucol.verify has no complaint");
	return;
}

# A load of some rows from id `first` on, all of them to a segment.
sub load { my ($first, $rows) = @_; return "COPY packed FROM PROGRAM 'seq $first " . ($first + $rows - 1) . "'"; }

# A table of 10,000 rows; VACUUM has index entries to delete.
sub begin_table
{
	$node->safe_psql('postgres', 'CREATE TABLE packed (id bigint PRIMARY KEY) USING gpucol');
	$node->safe_psql('postgres', load(0, 10100));
	$node->safe_psql('postgres', 'DELETE FROM packed WHERE id >= 10000');
	return map { session($_) } 'one', 'vacuum', 'two', 'three';
}

sub end_table
{
	for my $session (@_)
	{
		$session->{input} .= "\\q\n";
		$session->{handle}->finish;
	}
	$node->safe_psql('postgres', 'DROP TABLE packed');
	return;
}

$node->safe_psql('postgres', 'CREATE EXTENSION amcheck');

# A load gives back row numbers that it has reserved in vain.  VACUUM reads what segments
# have just then, and goes on when another load has got the numbers.
{
	my ($one, $vacuum, $two, $three) = begin_table();
	my $loading = stop_in($one, 'gpucol_directory_unreserve');
	begin($one, load(10000, 5000));
	wait_for($loading, 'there');

	my $cleaning = stop_in($vacuum, 'index_bulk_delete');
	begin($vacuum, 'VACUUM (INDEX_CLEANUP ON) packed');
	my $met = wait_for($cleaning, 'there', $vacuum);
	note("VACUUM has come to: $met");
	go($loading);
	answer($one);
	wait_for($cleaning, 'there');
	ask($two, load(15000, 3000));
	go($cleaning);
	answer($vacuum);
	is_whole(18000, 'numbers given back');
	end_table($one, $vacuum, $two, $three);
}

# The same, but the second load has written its pages and not yet said which: VACUUM
# must not list them as free, for a third load to overwrite.
{
	my ($one, $vacuum, $two, $three) = begin_table();
	my $loading = stop_in($one, 'gpucol_directory_unreserve');
	begin($one, load(10000, 5000));
	wait_for($loading, 'there');

	my $cleaning = stop_in($vacuum, 'index_bulk_delete');
	begin($vacuum, 'VACUUM (INDEX_CLEANUP ON) packed');
	wait_for($cleaning, 'there', $vacuum);
	go($loading);
	answer($one);
	wait_for($cleaning, 'there');
	my $writing = stop_in($two, 'gpucol_page_write', 1);
	begin($two, load(15000, 3000));
	wait_for($writing, 'there');
	go($cleaning);
	answer($vacuum);
	ask($three, load(18000, 3000));
	go($writing);
	answer($two);
	is_whole(21000, 'pages of a load in progress');
	end_table($one, $vacuum, $two, $three);
}

$node->stop;
done_testing();
