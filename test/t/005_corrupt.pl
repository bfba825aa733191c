# 005_corrupt.pl: a byte flipped in a segment page of a stopped server is found,
# whatever reads it: ERRCODE_DATA_CORRUPTED that names table, segment and column, never a
# crash, never a wrong answer.
#
# Every round flips one random byte of one random segment page in each of many
# tables.  A flip in bytes that carry nothing (page header, padding) may stay
# unnoticed as long as the answers are right.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $TABLES = 20;
my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 3;
my $PAGE = 8192;
my $TRAILER = 24 + 63 * 128;	# where a segment page's magic number is
my $MAGIC = 0x50434732;

seed_random();
my $node = new_server('corrupt', 'autovacuum = off', "log_error_verbosity = verbose");

my $columns = q{i AS id, i % 7 AS few, (i * 7919) % 100003 AS many, i::bigint * 1000000007 AS big,
	(i % 1000) / 8.0::float8 AS f, (i / 100.0)::numeric(12,2) AS n, 'label ' || i % 20 AS label,
	md5(i::text) AS hash, CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS gaps, date '2020-01-01' + i % 365 AS d};

for my $number (1 .. $TABLES)
{
	$node->safe_psql('postgres',
		"CREATE TABLE packed$number USING gpucol AS SELECT $columns FROM generate_series(1, 20000) i");
}

# Each reads some columns in its own way.
my @queries = (
	'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM %s x',
	'SELECT count(*) FROM %s WHERE many < 50000 AND gaps IS NOT NULL',
	'SELECT sum(big), avg(f), max(hash) FROM %s WHERE few = 3',
	'SELECT label, count(*), sum(n), min(d) FROM %s GROUP BY label ORDER BY label');
my @right = map { $node->safe_psql('postgres', sprintf $_, 'packed1') } @queries;

# Numbers of the segment pages of a relation file.
sub segment_pages
{
	my ($path) = @_;
	my @pages;

	open my $in, '<:raw', $path or die "$path: $!";
	for (my $block = 0; read($in, my $page, $PAGE) == $PAGE; $block++)
	{
		push @pages, $block if unpack('L', substr $page, $TRAILER, 4) == $MAGIC;
	}
	return @pages;
}

# Flip bits of one byte of a file.
sub flip
{
	my ($path, $offset, $bits) = @_;

	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $offset, 0;
	read $file, my $byte, 1;
	seek $file, $offset, 0;
	print $file chr(ord($byte) ^ $bits);
	close $file;
	return;
}

# Number of a page in its segment; page 0 holds the header and the descriptors.
sub ordinal
{
	my ($path, $block) = @_;

	open my $file, '<:raw', $path or die "$path: $!";
	seek $file, $block * $PAGE + $TRAILER + 24, 0;
	read $file, my $bytes, 4;
	return unpack 'L', $bytes;
}

my ($found, $unnoticed, $named) = (0, 0, 0);

# Ask every query of a table; what it says, and whether it noticed.  Of a page that
# holds columns' values only, an error must name the column.
sub ask
{
	my ($table, $where, $of_columns) = @_;
	my $noticed = 0;

	for my $number (0 .. $#queries)
	{
		my ($status, $out, $error) = $node->psql('postgres', sprintf($queries[$number], $table),
			extra_params => [ '-v', 'VERBOSITY=verbose' ]);
		if ($status == 0)
		{
			is($out, $right[$number], "$table: right answer despite $where") if $out ne $right[$number];
			next;
		}
		$noticed = 1;
		$named++ if $error =~ /column "\w+"/;
		next if $error =~ /ERROR:  XX001: .*\Q$table\E/s && $error =~ /segment/i && (!$of_columns || $error =~ /column "\w+"/);
		fail("$table: a clear error about $where");
		diag($error);
	}
	return $noticed;
}

for my $round (1 .. $ROUNDS)
{
	my @flips;

	for my $number (1 .. $TABLES)
	{
		my $path = $node->data_dir . '/' . $node->safe_psql('postgres', "CHECKPOINT; SELECT pg_relation_filepath('packed$number')");
		push @flips, [ "packed$number", $path ];
	}
	$node->stop;
	for my $flip (@flips)
	{
		my @pages = segment_pages($flip->[1]);
		BAIL_OUT("$flip->[0] has no segment pages") unless @pages;
		my $page = pick(@pages);
		# one in the page header, which PostgreSQL itself finds when it reads the page
		my ($byte, $bits) = $flip->[0] eq 'packed1' && $round == 1 ? (13, 0x08) : (between(0, $PAGE - 1), 1 << between(0, 7));
		push @$flip, $page * $PAGE + $byte, $bits, ordinal($flip->[1], $page) > 0;
		flip(@$flip[ 1 .. 3 ]);
	}
	$node->start;
	for my $flip (@flips)
	{
		my $where = sprintf 'bits 0x%02x at byte %d of page %d', $flip->[3], $flip->[2] % $PAGE, $flip->[2] / $PAGE;
		ask($flip->[0], $where, $flip->[4]) ? $found++ : $unnoticed++;
	}
	$node->stop;
	flip(@$_[ 1 .. 3 ]) for @flips;
	$node->start;
}
cmp_ok($found, '>', $unnoticed * 5, "$found flips found, $unnoticed in bytes that carry nothing");
cmp_ok($named, '>', 0, "$named errors named the column");
ok($node->log_contains('XX001'), 'the log has the error code');
ok(!$node->log_contains('terminated by signal'), 'no process crashed');
is($node->safe_psql('postgres', sprintf $queries[0], "packed$_"), $right[0], "packed$_ is whole again") for 1 .. $TABLES;
$node->stop;
done_testing();
