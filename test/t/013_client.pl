# The bytes of rows that a client receives are the same whether a node of ours has
# delivered them, which writes some types into the messages itself, or PostgreSQL's own
# plan: in the simple and in the extended protocol, in text and in binary, in every
# client encoding, and in portions.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IO::Socket::UNIX;
use Test::More;

my $node = new_server('client');
my $socket;

# The messages of an answer in an order that does not depend on that of the rows.
sub unordered
{
	my $answer = shift;
	my @messages;

	for (my $at = 0; $at < length $answer; $at += length $messages[-1])
	{
		push @messages, substr($answer, $at, 1 + unpack('N', substr($answer, $at + 1, 4)));
	}
	return join('', sort @messages);
}

# A message to the server: type and payload.
sub say_to { $socket->syswrite($_[0] . pack('N', 4 + length $_[1]) . $_[1]) }

sub receive
{
	my $n = shift;
	my $bytes = '';

	while (length $bytes < $n)
	{
		$socket->sysread($bytes, $n - length $bytes, length $bytes) or die 'server has left';
	}
	return $bytes;
}

# All messages until the server is ready, but for settings and descriptions of columns,
# which tell of tables.  A message is given as type, length and payload.
sub answers
{
	my $all = '';

	for (;;)
	{
		my ($type, $length) = unpack('a N', receive(5));
		my $payload = receive($length - 4);

		$all .= $type . pack('N', $length) . $payload unless $type =~ /[ST]/;
		return $all if $type eq 'Z';
	}
}

sub simple { say_to('Q', "$_[0]\0"); return answers(); }

# In the extended protocol, $portion rows at a time (0: all), in these formats.
sub extended
{
	my ($query, $portion, $rows, @formats) = @_;

	say_to('P', "\0$query\0" . pack('n', 0));
	say_to('B', "\0\0" . pack('n n n', 0, 0, scalar @formats) . pack('n*', @formats));
	for (my $n = 0; $n <= $rows; $n += $portion || $rows + 1)
	{
		say_to('E', "\0" . pack('N', $portion));
	}
	say_to('S', '');
	return answers();
}

$socket = IO::Socket::UNIX->new($node->host . '/.s.PGSQL.' . $node->port) or die "no server: $!";
my $start = pack('N', 196608) . "user\0" . getpwuid($<) . "\0database\0postgres\0\0";
$socket->syswrite(pack('N', 4 + length $start) . $start);
answers();

simple($_) foreach (
	'CREATE DOMAIN small AS int2 CHECK (VALUE > -40000)',
	'CREATE TABLE plain (id int, a int2, b int4, c int8, d bool, e text, f varchar(9), g char(7), h small,
		i numeric, j float8, k date, l timestamptz, m int[], n bytea, o "char", p name, q oid)',
	q{INSERT INTO plain SELECT i, i * 31 - 32768, i * 1931 - 2147483648, i * 93142857142857 - 9223372036854775807 - 1,
		i % 3 = 0, 'naïve ' || i || repeat(' Ünï', i % 90), substr('αβγ', i % 4), chr(192 + i % 60), i % 100,
		i / 7.0, i / 3.0, date '1990-01-01' + i, timestamptz '2001-02-03 04:05:06+00' + i * interval '1 hour',
		ARRAY[i, NULL, -i], convert_to('x' || i, 'UTF8'), 'o', 'p' || i, i
	  FROM generate_series(0, 2000) i},
	'INSERT INTO plain (id) VALUES (9000)',
	q{INSERT INTO plain (id, c, e) VALUES (9001, 9223372036854775807, repeat('long é', 60000))},
	'CREATE TABLE packed (LIKE plain) USING gpucol',
	'INSERT INTO packed SELECT * FROM plain',
	'ANALYZE plain, packed');

my %queries = (
	scan => 'SELECT * FROM TABLE ORDER BY id',
	groups => 'SELECT a / 3 AS x, count(*), sum(b), sum(c), min(id), bool_or(d), max(k), avg(b) FROM TABLE GROUP BY 1 ORDER BY 1',
	rankings => 'SELECT a / 300 AS x, gpucol.u_topk(b, c, 0.5::float8, 40), gpucol.u_kranks(c, b, 0.5::float8, 3), gpucol.u_topk(a, b, 0.5::float8, 2) FROM TABLE GROUP BY 1 ORDER BY 1',
	arrays => q{SELECT id, ARRAY[id, b], ARRAY[c, id], '{}'::int[], '[2:3]={1,-2}'::int8[], '{{1,2},{3,4}}'::int[], ARRAY[id, NULL, 3] FROM TABLE ORDER BY id},
	texts => 'SELECT e, count(*) FROM TABLE GROUP BY e ORDER BY e COLLATE "C"',
	nothing => 'SELECT FROM TABLE WHERE id < 5',
	none => 'SELECT id, e FROM TABLE WHERE id < 0',
	one => 'SELECT count(*), sum(a), min(b), max(c) FROM TABLE',
);

my %columns = (scan => 18, groups => 8, rankings => 4, arrays => 7, texts => 2, nothing => 0, none => 2, one => 4);

foreach my $encoding ('UTF8', 'LATIN1', 'WIN1253', 'SQL_ASCII', 'GB18030')
{
	simple("SET client_encoding = $encoding");
	foreach my $name (sort keys %queries)
	{
		my %got;

		foreach my $table ('plain', 'packed')
		{
			my $query = $queries{$name} =~ s/TABLE/$table/r;

			simple('SET gpucol.pushdown = ' . ($table eq 'packed' ? 'require' : 'allow'));
			$got{$table} = [
				simple($query), extended($query, 0, 0),
				extended($query, 700, 2100), extended($query, 0, 0, 0), extended($query, 0, 0, 1),
				extended($query, 300, 2100, (1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1)[0 .. $columns{$name} - 1])];
		}
		foreach my $way (0 .. 5)
		{
			my ($plain, $packed) = ($got{plain}[$way], $got{packed}[$way]);

			ok($plain eq $packed, "$name in $encoding, way $way: " . length($packed) . ' bytes')
			  or diag(substr($plain, 0, 200), "\n", substr($packed, 0, 200));
		}
	}
}

# Tables in parts: below an Append the descriptor of rows changes with the table, below a
# MergeAppend with the row.  One part has its columns in another order and a dropped one.
simple($_) foreach (
	'SET client_encoding = UTF8',
	'CREATE TABLE packs (LIKE plain) PARTITION BY RANGE (id)',
	'CREATE TABLE packs0 PARTITION OF packs FOR VALUES FROM (0) TO (700) USING gpucol',
	'CREATE TABLE packs1 (q oid, gone text, p name, o "char", n bytea, m int[], l timestamptz, k date, j float8, i numeric, h small,
		g char(7), f varchar(9), e text, d bool, c int8, b int4, a int2, id int) USING gpucol',
	'ALTER TABLE packs1 DROP COLUMN gone',
	'ALTER TABLE packs ATTACH PARTITION packs1 FOR VALUES FROM (700) TO (1900)',
	'CREATE TABLE packs2 PARTITION OF packs DEFAULT USING gpucol',
	(map { "INSERT INTO packs SELECT * FROM plain WHERE id BETWEEN $_ AND $_ + 499 ORDER BY id" } 0, 500, 1000, 1500, 2000, 9000),
	'CREATE TABLE even (LIKE plain) USING gpucol',
	'CREATE TABLE odd (LIKE plain) USING gpucol',
	'INSERT INTO even SELECT * FROM plain WHERE id % 2 = 0 ORDER BY id',
	'INSERT INTO odd SELECT * FROM plain WHERE id % 2 = 1 ORDER BY id',
	q{SELECT gpucol.merge(r) FROM unnest(ARRAY['packs0', 'packs1', 'even']::regclass[]) r},
	'ANALYZE packs', 'ANALYZE even, odd');

my @parts = (
	['Append', 18, 'SELECT * FROM plain ORDER BY id', 'SELECT * FROM packs'],
	['Append', 4, 'SELECT e, i, 1.5::float8 * id, c FROM plain WHERE id >= 0 ORDER BY id', 'SELECT e, i, 1.5::float8 * id, c FROM packs WHERE id >= 0'],
	['Merge Append', 18, 'SELECT * FROM plain ORDER BY id',
		'(SELECT * FROM even ORDER BY id LIMIT 3000) UNION ALL (SELECT * FROM odd ORDER BY id LIMIT 3000) ORDER BY id'],
	['Append', 2, q{SELECT id, e FROM plain UNION ALL SELECT 1, 'ü'}, q{SELECT id, e FROM packed UNION ALL SELECT 1, 'ü'}]);

foreach my $encoding ('UTF8', 'WIN1253')
{
	foreach my $part (@parts)
	{
		my ($node, $n, @queries) = @$part;
		my @got;

		simple("SET client_encoding = $encoding");
		foreach my $query (@queries)
		{
			my @formats = (1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 1, 0, 1, 1, 0)[0 .. $n - 1];

			simple('SET gpucol.pushdown = ' . ($query eq $queries[1] ? 'require' : 'forbid'));
			push @got, unordered(join('', simple($query), extended($query, 300, 2100), extended($query, 0, 0, 1),
				extended($query, 0, 0, @formats)));
		}
		ok($got[0] eq $got[1], "$node of $n columns in $encoding: " . length($got[1]) . ' bytes');
		simple('SET client_encoding = UTF8');
		like(simple("EXPLAIN (COSTS OFF) $queries[1]"), qr/^D.{10}\Q$node\E/s, "a plan of $node");
	}
}

# A FETCH of another format than its cursor, and two cursors in turn.
simple('SET client_encoding = UTF8');
simple('SET gpucol.pushdown = require');
simple('BEGIN; DECLARE a CURSOR FOR SELECT id, e FROM packed ORDER BY id; DECLARE b BINARY CURSOR FOR SELECT id, e FROM packed ORDER BY id');
like(simple('FETCH 2 FROM a'), qr/D.{4}\0\x02\0\0\0\x010\0\0\0.*D.{4}\0\x02\0\0\0\x011/s, 'text from a cursor');
like(simple('FETCH 2 FROM b'), qr/D.{4}\0\x02\0\0\0\x04\0\0\0\0\0.*D.{4}\0\x02\0\0\0\x04\0\0\0\x01/s, 'binary from a binary cursor');
like(extended('FETCH 1 FROM a', 0, 0, 1), qr/D.{4}\0\x02\0\0\0\x04\0\0\0\x02/s, 'binary from a cursor');
like(extended('FETCH 1 FROM b', 0, 0, 0), qr/D.{4}\0\x02\0\0\0\x012/s, 'text from a binary cursor');
simple('COMMIT');

# An error among the rows, and what comes after.
like(simple('SELECT 10 / (id - 50) AS x FROM packed'), qr/D.{4}\0\x01.*E.*division by zero/s, 'an error after rows');
simple('RESET gpucol.pushdown');
is(simple('SELECT count(*) FROM packed'), simple('SELECT count(*) FROM plain'), 'the next statement');

$socket->close;
$node->stop;
done_testing();
