# Gpucol.pm: what the TAP tests share: a server with the extension, random
# numbers that a seed repeats, and comparison of a gpucol table with its twin.
package Gpucol;

use strict;
use warnings;
use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

our @EXPORT = qw(new_server seed_random pick between same_rows kill_server kill_during);

# A started server with the extension; further arguments are lines of
# postgresql.conf.
sub new_server
{
	my ($name, @lines) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	# 18 has checksums unless told; damage is to be found by gpucol
	$node->init(extra => $node->pg_version >= 18 ? ['--no-data-checksums'] : []);
	$node->append_conf('postgresql.conf',
		join("\n", "fsync = off", "timezone = 'UTC'", @lines) . "\n");
	$node->start;
	$node->safe_psql('postgres', 'CREATE EXTENSION gpucol');
	return $node;
}

# Seed the generator with GPUCOL_SEED, or with the argument, so that a run is what the last one
# was; with the time where GPUCOL_SEED is "new".  Say so.
sub seed_random
{
	my $seed = $ENV{GPUCOL_SEED} || shift || 1;

	$seed = int time if $seed eq 'new';

	srand($seed);
	note("GPUCOL_SEED=$seed repeats this run");
	return $seed;
}

sub pick { return $_[ int rand @_ ]; }
sub between { my ($low, $high) = @_; return $low + int rand($high - $low + 1); }

# One result: two tables hold the same rows; a difference is shown.
sub same_rows
{
	my ($node, $left, $right, $what) = @_;
	my ($one, $two) = map {
		$node->safe_psql('postgres',
			"SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x")
	} $left, $right;

	return is($one, $two, $what) || diag(difference($node, $left, $right));
}

# Up to ten rows that only one of two tables holds.
sub difference
{
	my ($node, $left, $right) = @_;

	return $node->safe_psql('postgres', <<~SQL);
		(SELECT 'only in $left', x::text FROM
			(SELECT x::text FROM $left x EXCEPT ALL SELECT x::text FROM $right x) x LIMIT 5)
		UNION ALL
		(SELECT 'only in $right', x::text FROM
			(SELECT x::text FROM $right x EXCEPT ALL SELECT x::text FROM $left x) x LIMIT 5)
		SQL
}

# The state of a process as one letter; a zombie's where there is none.
sub state_of
{
	open my $file, '<', "/proc/$_[0]/stat" or return 'Z';
	return (<$file> // '') =~ /^\d+ \(.*\) (\w)/ ? $1 : 'Z';
}

# Threads that end later than the first one still hold what the process held.
sub is_alive
{
	my @threads = glob "/proc/$_[0]/task/*";

	return state_of($_[0]) ne 'Z' || @threads > 1;
}

# Every process of the server dies at once, as in a loss of power.
sub kill_server
{
	my ($node) = @_;
	open my $in, '<', $node->data_dir . '/postmaster.pid' or die "no postmaster.pid: $!";
	my $postmaster = 0 + <$in>;
	my @children;

	kill 'STOP', $postmaster;
	# until then it may start another
	sleep 0.001 while state_of($postmaster) !~ /[TZ]/;
	for my $stat (glob '/proc/[0-9]*/stat')
	{
		open my $file, '<', $stat or next;
		my $line = <$file> // next;
		push @children, $1 if $line =~ /^(\d+) \(.*\) \S (\d+)/ && $2 == $postmaster;
	}
	kill 'KILL', $postmaster, @children;
	$node->kill9;	# Cluster.pm forgets the process
	for (1 .. 100)
	{
		last unless grep { is_alive($_) } $postmaster, @children;
		sleep 0.1;
	}
	# Until something reaps the dead postmaster its number looks taken.
	unlink $node->data_dir . '/postmaster.pid',
	  $node->host . '/.s.PGSQL.' . $node->port . '.lock';
	return;
}

# Start a psql script in the background; returns its handle and a reference to
# its output.
sub start_script
{
	my ($node, $sql) = @_;
	my ($output, $error) = ('', '');
	my @command = ('psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr('postgres'));

	return (IPC::Run::start(\@command, '<', \$sql, '>', \$output, '2>', \$error), \$output);
}

# Run a script and kill the server at a random moment within that many seconds,
# or as soon as its output matches; start the server again.  Returns the output.
sub kill_during
{
	my ($node, $sql, $longest, $until) = @_;
	my ($handle, $output) = start_script($node, $sql);
	my $start = time;
	my $deadline = $start + ($until ? 60 : rand $longest);

	while (time < $deadline && !($until && $$output =~ $until))
	{
		$handle->pump_nb;
		sleep 0.002;
	}
	note(sprintf 'killing the server after %.2f s', time - $start);
	kill_server($node);
	eval { $handle->finish };
	$node->start;
	return $$output;
}

1;
