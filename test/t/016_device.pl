# 016_device.pl: a host without a device: gpucol.engine, the views of the device, a
# daemon that speaks nonsense, and a device that comes later.
#
# Where the host has a device, only the nonsense and the late device are tested, in a
# daemon's place.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IO::Socket::UNIX;
use POSIX;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('device');
my $protocol = slurp_file("$FindBin::Bin/../../src/service/protocol.h");
my ($MAGIC) = map { hex } $protocol =~ /GPUCOL_WIRE_MAGIC\s+(0x\w+)/ or die 'no magic number';
my ($VERSION) = $protocol =~ /GPUCOL_WIRE_VERSION\s+(\d+)/ or die 'no version';
my ($WELCOME, $ROWS, $EVICTED) = (64, 70, 71);

$node->safe_psql('postgres', <<SQL);
CREATE TABLE t USING gpucol AS SELECT i AS a, i % 7 AS b FROM generate_series(1, 50000) i;
CREATE TABLE arc USING gpucol AS SELECT i AS src, i + 1 AS dst FROM generate_series(1, 100) i;
ANALYZE t, arc;
CREATE ROLE plain;
SQL

# A statement's error: SQLSTATE, message, detail, hint.
sub error_of
{
	my ($settings, $sql) = @_;
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$settings;\n$sql");

	return $error;
}

SKIP:
{
	skip 'this host has a device', 1 if -e '/dev/nvidiactl' || -e '/dev/dxg';

	foreach my $sql ('SELECT count(*) FROM t WHERE a > 5', 'SELECT b, sum(a) FROM t GROUP BY b', 'SELECT a FROM t WHERE b = 3',
		'SELECT a FROM t ORDER BY a LIMIT 5', 'SELECT gpucol.u_topk(a, b, 0.5::float8, 3) FROM t',
		'WITH RECURSIVE r AS (SELECT src, dst FROM arc UNION SELECT r.src, arc.dst FROM r JOIN arc ON arc.src = r.dst) SELECT count(*) FROM r')
	{
		my $error = error_of('SET gpucol.engine = cuda', $sql);

		like($error, qr/ERROR:  55000: CUDA engine is not available/, "cuda without a device: $sql");
		like($error, qr/DETAIL:  Reason: (gpucol_gpud is not installed|this host has no NVIDIA device)/, 'it says what is missing');
		like($error, qr/HINT:  Set gpucol.engine to auto or cpu/, 'and what to do');
	}
	my $prefetched = error_of('SET gpucol.engine = auto', "SELECT gpucol.prefetch('t')");

	like($prefetched, qr/ERROR:  55000: CUDA engine is not available/, 'nothing to prefetch to');
	like($prefetched, qr/DETAIL:  Reason: (gpucol_gpud is not installed|this host has no NVIDIA device)/, 'it says what is missing');
	like($prefetched, qr/HINT:  Queries run on the CPU engine/, 'and what to do');
	is($node->safe_psql('postgres', 'SET gpucol.engine = auto; SELECT count(*) FROM t WHERE a > 5'), 49995, 'auto is the CPU engine');
	like($node->safe_psql('postgres', 'EXPLAIN ANALYZE SELECT count(*) FROM t WHERE a > 5'), qr/Engine: cpu/, 'and EXPLAIN says so');
	is($node->safe_psql('postgres', "SELECT gpucol.evict('t'), gpucol.evict()"), '0|0', 'nothing to evict');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM gpucol.cache UNION ALL SELECT count(*) FROM gpucol.activity'),
		"0\n0", 'the views are empty');
	my $none = $node->safe_psql('postgres', 'SET ROLE plain; SELECT count(*) OVER (), num_nonnulls(d.*), unused_because FROM gpucol.devices d');
	like($none, qr/^1\|1\|(gpucol_gpud is not installed|this host has no NVIDIA device|this host's NVIDIA device has no driver)/,
		'but for why there is none, which everyone may know');
}

foreach my $sql ('SELECT gpucol.evict()', 'SELECT * FROM gpucol.cache_list()', 'SELECT * FROM gpucol.activity_list()')
{
	like(error_of('SET ROLE plain', $sql), qr/permission denied/, "not for everyone: $sql");
}

# ---- a daemon's place ----

sub message { my ($type, $payload, $length) = @_; return pack('LSSL', $MAGIC, $VERSION, $type, $length // length $payload) . $payload; }

# What the imitation answers after its greeting, by number of the connection.
my $welcome = message($WELCOME, pack('llQ', $$, 1, 1 << 30));
my $layout = 'a64llQ8L4a96a16a16a128';
my $device = pack($layout, 'a device', 0, 100, (1 .. 8), (3, 4, 5, 0), '', '8.6', 'sm_80', '');
my $unused = pack($layout, 'an old device', -1, 20, (1 .. 8), (3, 4, 5, 0), '', '7.0', '', 'compute capability 7.0 is too old');
my $named = pack($layout, 'x' x 64, 0, 100, (1 .. 8), (3, 4, 5, 0), 'y' x 96, 'z' x 16, 'c' x 16, 'w' x 128);
my @answers = (
	[ 'a device', message($ROWS, $device) ],
	[ 'two devices', message($ROWS, $device . $device) ],
	[ 'names without an end', message($ROWS, $named) ],
	[ 'one that is not used', message($ROWS, $device . $unused) ],
	[ 'part of a row', message($ROWS, substr($device, 0, 100)) ],
	[ 'a length beyond everything', message($ROWS, $device, 0xffffffff) ],
	[ 'less than it says', message($ROWS, $device, 100000) ],
	[ 'another magic', pack('LSSL', 1, $VERSION, $ROWS, 0) ],
	[ 'another version', pack('LSSL', $MAGIC, $VERSION + 1, $ROWS, 0) ],
	[ 'another type', message($EVICTED, 'x' x 16) ],
	[ 'noise', join('', map { chr(int rand 256) } 1 .. 5000) ],
	[ 'nothing', '' ]);

# A message of 8 bytes, as HELLO and STATUS are.
sub hear { my ($client, $bytes) = (shift, ''); 1 while length $bytes < 20 && $client->sysread($bytes, 20 - length $bytes, length $bytes); }

# Do something with each client of the daemon's socket, in a process of its own.
sub imitate
{
	my @serve = @_;
	my $pid = fork;

	if (!$pid)
	{
		chdir $node->data_dir or POSIX::_exit(1);
		my $listener = IO::Socket::UNIX->new(Local => 'gpucol_gpud.sock', Listen => 5) or POSIX::_exit(1);

		foreach my $serve (@serve)
		{
			my $client = $listener->accept or POSIX::_exit(1);

			hear($client);
			$serve->($client);
		}
		POSIX::_exit(0);
	}
	for (1 .. 200)
	{
		last if -S $node->data_dir . '/gpucol_gpud.sock';
		sleep 0.05;
	}
	return $pid;
}

# Its place is free again.
sub end_imitation
{
	my $pid = shift;

	kill 'KILL', $pid;	# it has Cluster.pm's own way to end by TERM
	waitpid($pid, 0);
	unlink $node->data_dir . '/gpucol_gpud.sock';
}

my $pid = imitate(map {
	my $answer = $_->[1];
	sub {
		my $client = shift;

		$client->syswrite($welcome);
		hear($client);
		$client->syswrite($answer) if length $answer;
	}
} @answers);
my $row = '0|a device|1|8|ready|8.6|sm_80|';
foreach my $answer (@answers)
{
	my ($code, $rows, $error) = $node->psql('postgres', 'SELECT device, name, memory, requests, compiler, architecture, code, unused_because FROM gpucol.devices WHERE name IS NOT NULL');

	is("$code$error", '0', "$answer->[0]: no error");
	is($rows, $row, 'its row') if $answer->[0] eq 'a device';
	is($rows, "$row\n$row", 'its rows') if $answer->[0] eq 'two devices';
	is($rows, join('|', 0, 'x' x 63, 1, 8, 'y' x 95, 'z' x 15, 'c' x 15, ''), 'names are cut') if $answer->[0] eq 'names without an end';
	is($rows, "$row\n|an old device|1|||7.0||compute capability 7.0 is too old", 'why it is not, and what it is') if $answer->[0] eq 'one that is not used';
	is($rows, '', 'no rows') if $answer->[0] =~ /^(part|a length|less|another|noise|nothing)/;
}
end_imitation($pid);

# One that says nothing is left when the statement is cancelled.
$pid = imitate(sub { sleep 100 });
like(error_of("SET statement_timeout = '300ms'", 'SELECT * FROM gpucol.devices'), qr/57014: canceling statement due to statement timeout/, 'a mute daemon');
end_imitation($pid);
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 50000, 'the server goes on');

# One that is stuck, with as many clients waiting as its socket holds, keeps nobody.
$pid = fork;
if (!$pid)
{
	my @waiting;

	chdir $node->data_dir or POSIX::_exit(1);
	my $listener = IO::Socket::UNIX->new(Local => 'full.sock', Listen => 1) or POSIX::_exit(1);

	push @waiting, $_ while $_ = IO::Socket::UNIX->new(Peer => 'full.sock', Blocking => 0);
	rename 'full.sock', 'gpucol_gpud.sock';
	sleep 100;
	POSIX::_exit(0);
}
for (1 .. 200)
{
	last if -S $node->data_dir . '/gpucol_gpud.sock';
	sleep 0.05;
}
my ($code, $rows) = $node->psql('postgres', "SET statement_timeout = '5s'; SELECT count(name) FROM gpucol.devices", timeout => 30, timed_out => \my $stuck);
ok(!$stuck && $rows eq '0', 'a stuck daemon is not waited for');
end_imitation($pid);
$node->stop;

# ---- a device that comes, goes and comes back ----

# In the daemon's place: a program that finds a device where there is a file of that name in
# the data directory, and then tells of it until the file is gone.
my $late = PostgreSQL::Test::Cluster->new('late');

$late->init;
my $program = $late->data_dir . '/imitation';
open my $file, '>', $program or die "$program: $!";
print $file <<'PERL';
#!/usr/bin/perl
use strict;
use warnings;
use IO::Socket::UNIX;

open my $log, '>>', 'imitation.log';
print $log "@ARGV\n";
close $log;
print "CUDA device 0 cannot be used: compute capability 7.0 is too old\nand \x{e4}\n" unless -e 'device';
exit 4 unless -e 'device';
unlink 'gpucol_gpud.sock';
my $listener = IO::Socket::UNIX->new(Local => 'gpucol_gpud.sock', Listen => 5) or exit 2;
my ($welcome, $rows) = map { open my $f, '<:raw', $_; local $/; <$f> } 'welcome', 'rows';
$SIG{ALRM} = sub { return if -e 'device'; unlink 'gpucol_gpud.sock'; exit 3 };
$SIG{PIPE} = 'IGNORE';
while (1)
{
	alarm 1;
	my $client = $listener->accept or next;
	foreach my $answer ($welcome, $rows)
	{
		my $bytes = '';
		while (length $bytes < 20) { $client->sysread($bytes, 20 - length $bytes, length $bytes) or last }
		$client->syswrite($answer);
	}
}
PERL
close $file;
chmod 0755, $program;
foreach my $put ([ 'welcome', $welcome ], [ 'rows', message($ROWS, $device) ])
{
	open $file, '>:raw', $late->data_dir . "/$put->[0]" or die $!;
	print $file $put->[1];
	close $file;
}
{
	local $ENV{GPUCOL_GPUD_PROGRAM} = $program;
	$late->append_conf('postgresql.conf', "shared_preload_libraries = 'gpucol'\nfsync = off\n");
	$late->start;
}
$late->safe_psql('postgres', 'CREATE EXTENSION gpucol; CREATE TABLE t USING gpucol AS SELECT generate_series(1, 1000) a');

# Does the server's log say this so often, within a few seconds?
sub logged
{
	my ($what, $times, $what_for) = @_;
	my $n = 0;

	for (1 .. 300)
	{
		$n = () = slurp_file($late->logfile) =~ /$what/g;
		last if $n >= $times;
		sleep 0.1;
	}
	return is($n, $times, $what_for);
}

sub set_device { my $path = $late->data_dir . '/device'; return $_[0] ? append_to_file($path, "x") : unlink $path; }

sub devices { return $late->safe_psql('postgres', 'SELECT string_agg(name, $$,$$) FROM gpucol.devices'); }

my $cuda = "SET gpucol.engine = cuda; SELECT count(*) FROM t WHERE a > 5";

logged('gpucol runs without a device', 1, 'no device when the server starts');
is(devices(), '', 'none is shown');
my $said = 'gpucol_gpud found no device that it can use: CUDA device 0 cannot be used: compute capability 7.0 is too old';
is($late->safe_psql('postgres', 'SELECT unused_because FROM gpucol.devices'), $said, 'but why');
my (undef, undef, $refused) = $late->psql('postgres', $cuda);
like($refused, qr/CUDA engine is not available\nDETAIL:  Reason: \Q$said\E/, 'a query for the device says so');
is($late->safe_psql('postgres', 'SELECT count(*) FROM t WHERE a > 5'), 995, 'others are answered');
$late->reload;
for (1 .. 100)
{
	last if -s $late->data_dir . '/imitation.log' && slurp_file($late->data_dir . '/imitation.log') =~ /--again/;
	sleep 0.1;
}
like(slurp_file($late->data_dir . '/imitation.log'), qr/--again/, 'looked for again, quietly');
set_device(1);
$late->reload;
logged('gpucol found a device', 1, 'found');
is(devices(), 'a device', 'and shown');
set_device(0);
logged('gpucol runs without a device', 2, 'it is gone');
is(devices(), '', 'and no longer shown');
is($late->safe_psql('postgres', 'SELECT count(*) FROM t WHERE a > 5'), 995, 'queries are answered still');
set_device(1);
$late->reload;
logged('gpucol found a device', 2, 'it is back');
is(devices(), 'a device', 'and shown');
$late->stop;
done_testing();
