# 016_device.pl: a host without a device: gpucol.engine, the views of the device, and a
# daemon that speaks nonsense.
#
# Where the host has a device, only the nonsense is tested, in a daemon's place.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IO::Socket::UNIX;
use POSIX;
use Test::More;
use Time::HiRes qw(sleep);

my $node = new_server('device');
my ($MAGIC, $VERSION, $WELCOME, $ROWS, $EVICTED) = (0x44475047, 11, 64, 70, 71);

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
	like(error_of('SET gpucol.engine = auto', "SELECT gpucol.prefetch('t')"), qr/ERROR:  55000: CUDA engine is not available/, 'nothing to prefetch to');
	is($node->safe_psql('postgres', 'SET gpucol.engine = auto; SELECT count(*) FROM t WHERE a > 5'), 49995, 'auto is the CPU engine');
	like($node->safe_psql('postgres', 'EXPLAIN ANALYZE SELECT count(*) FROM t WHERE a > 5'), qr/Engine: cpu/, 'and EXPLAIN says so');
	is($node->safe_psql('postgres', "SELECT gpucol.evict('t'), gpucol.evict()"), '0|0', 'nothing to evict');
	is($node->safe_psql('postgres', 'SELECT count(*) FROM gpucol.devices UNION ALL SELECT count(*) FROM gpucol.cache UNION ALL SELECT count(*) FROM gpucol.activity'),
		"0\n0\n0", 'the views are empty');
}

foreach my $sql ('SELECT gpucol.evict()', 'SELECT * FROM gpucol.cache_list()', 'SELECT * FROM gpucol.activity_list()')
{
	like(error_of('SET ROLE plain', $sql), qr/permission denied/, "not for everyone: $sql");
}

# ---- a daemon's place ----

sub message { my ($type, $payload, $length) = @_; return pack('LSSL', $MAGIC, $VERSION, $type, $length // length $payload) . $payload; }

# What the imitation answers after its greeting, by number of the connection.
my $welcome = message($WELCOME, pack('llQ', $$, 1, 1 << 30));
my $device = pack('a64llQ8L4a96', 'a device', 0, 100, (1 .. 8), (3, 4, 5, 0), '');
my $named = pack('a64llQ8L4a96', 'x' x 64, 0, 100, (1 .. 8), (3, 4, 5, 0), 'y' x 96);
my @answers = (
	[ 'a device', message($ROWS, $device) ],
	[ 'two devices', message($ROWS, $device . $device) ],
	[ 'names without an end', message($ROWS, $named) ],
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

	kill 'TERM', $pid;
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
foreach my $answer (@answers)
{
	my ($code, $rows, $error) = $node->psql('postgres', 'SELECT device, name, memory, requests, compiler FROM gpucol.devices');

	is("$code$error", '0', "$answer->[0]: no error");
	is($rows, "0|a device|1|8|ready", 'its row') if $answer->[0] eq 'a device';
	is($rows, "0|a device|1|8|ready\n0|a device|1|8|ready", 'its rows') if $answer->[0] eq 'two devices';
	is($rows, '0|' . 'x' x 63 . '|1|8|' . 'y' x 95, 'names are cut') if $answer->[0] eq 'names without an end';
	is($rows, '', 'no rows') if $answer->[0] =~ /^(part|a length|less|another|noise|nothing)/;
}
end_imitation($pid);

# One that says nothing is left when the statement is cancelled.
$pid = imitate(sub { sleep 100 });
like(error_of("SET statement_timeout = '300ms'", 'SELECT * FROM gpucol.devices'), qr/57014: canceling statement due to statement timeout/, 'a mute daemon');
end_imitation($pid);
is($node->safe_psql('postgres', 'SELECT count(*) FROM t'), 50000, 'the server goes on');
$node->stop;
done_testing();
