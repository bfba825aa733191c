# damage.pl SECONDS SEED FOLDER: bytes of packed tables change on the disk of a stopped
# server: in segments' pages, and in what the directory keeps in the table's TOAST
# relation.
#
# Whatever reads them answers right or raises ERRCODE_DATA_CORRUPTED; no process
# crashes.  (Pages of the delta and headers of tuples are PostgreSQL's own, whose
# checksums see to them; nothing here touches those.)
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../t", $FindBin::Bin;
use Fuzz;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my $TABLES = 12;
my $PAGE = 8192;
my $TRAILER = 24 + 63 * 128;	# where a segment page's magic number is
my $MAGIC = 0x50434731;

start_part('damage', @ARGV);
my $node = new_server('fuzz_damage', server_lines('autovacuum = off', 'log_error_verbosity = verbose', "statement_timeout = '60s'"));
my $columns = q{i AS id, i % 7 AS few, (i * 7919) % 100003 AS many, i::bigint * 1000000007 AS big, (i % 1000) / 8.0::float8 AS f, (i / 100.0)::numeric(12,2) AS n, 'label ' || i % 20 AS label, md5(i::text) AS hash, CASE WHEN i % 3 = 0 THEN NULL ELSE i END AS gaps, date '2020-01-01' + i % 365 AS d, repeat('long ', i % 90) AS long};

for my $number (1 .. $TABLES)
{
	# several segments, some rows of which are deleted, by tombstones and in bitmaps
	$node->safe_psql('postgres', "SET gpucol.segment_rows = 2048; CREATE TABLE packed$number USING gpucol AS SELECT $columns FROM generate_series(1, 8000) i; CREATE INDEX ON packed$number (id); DELETE FROM packed$number WHERE id % 13 = 5; VACUUM packed$number; DELETE FROM packed$number WHERE id % 97 = 3");
}

my @questions = ('SELECT count(*), sum(hashtextextended(x::text, 0)) FROM %s x', 'SELECT count(*) FROM %s WHERE many < 50000 AND gaps IS NOT NULL', 'SELECT sum(big), avg(f), max(hash) FROM %s WHERE few = 3', 'SELECT label, count(*), sum(n), min(d) FROM %s GROUP BY label ORDER BY label',
	'SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(many) FROM %s WHERE id BETWEEN 100 AND 3000', 'SELECT id, hash FROM %s ORDER BY hash LIMIT 5', 'SELECT length(long), count(*) FROM %s GROUP BY 1 ORDER BY 1 LIMIT 5');
my @changes = ('DELETE FROM %s WHERE id = 77', 'UPDATE %s SET few = 3 WHERE id BETWEEN 500 AND 520', "SELECT gpucol.merge('%s')", 'VACUUM %s', "SELECT count(*) FROM gpucol.verify('%s')", 'ANALYZE %s', "SELECT * FROM gpucol.segments('%s')", "SELECT * FROM gpucol.columns('%s')", 'REINDEX TABLE %s', 'CLUSTER %s USING %s_id_idx', 'SELECT count(*) FROM %s TABLESAMPLE SYSTEM (50)');
my @right = map { $node->safe_psql('postgres', sprintf $_, 'packed1') } @questions;

# Bytes of the file of a segment page that are gpucol's, as [offset, length].
sub segment_places
{
	my ($path) = @_;
	my @places;

	open my $in, '<:raw', $path or die "$path: $!";
	for (my $block = 0; (read($in, my $page, $PAGE) // 0) == $PAGE; $block++)
	{
		push @places, [ $block * $PAGE + 24, $PAGE - 24 ] if unpack('L', substr $page, $TRAILER, 4) == $MAGIC;
	}
	return @places;
}

# Data of the live values of a TOAST relation's pages: what follows header, chunk_id and
# chunk_seq of each tuple.
sub directory_places
{
	my ($path) = @_;
	my @places;

	open my $in, '<:raw', $path or return;
	for (my $block = 0; (read($in, my $page, $PAGE) // 0) == $PAGE; $block++)
	{
		my $lower = unpack 'S', substr $page, 12, 2;
		for (my $at = 24; $at + 4 <= $lower && $lower <= $PAGE; $at += 4)
		{
			my $item = unpack 'L', substr $page, $at, 4;
			my ($offset, $flags, $length) = ($item & 0x7fff, $item >> 15 & 3, $item >> 17);
			next if $flags != 1 || $length < 40;
			my $header = unpack 'C', substr $page, $offset + 22, 1;
			my $start = $header + 8 + 4;	# the length of the value stays
			push @places, [ $block * $PAGE + $offset + $start, $length - $start ] if $length > $start;
		}
	}
	return @places;
}

# Change bytes at a place; returns what was there.
sub spoil
{
	my ($path, $place) = @_;
	my ($offset, $length) = @$place;
	my $at = $offset + int rand pick($length, $length < 64 ? $length : 64);
	my $count = pick(1, 1, 1, 4, 8, 60);
	$count = $offset + $length - $at if $at + $count > $offset + $length;

	open my $file, '+<:raw', $path or die "$path: $!";
	seek $file, $at, 0;
	read $file, (my $was), $count;
	my $new = pick($was ^ (chr(1 << int rand 8) . "\0" x ($count - 1)), "\0" x $count, "\xff" x $count, join('', map { chr int rand 256 } 1 .. $count), $was ^ ("\x01" x $count));
	seek $file, $at, 0;
	print $file $new;
	close $file;
	return [ $path, $at, $was, $new ];
}

my ($noticed, $unnoticed) = (0, 0);

# Ask all of a table: a wrong answer or an error other than of corruption is a finding.
sub ask
{
	my ($table, $what) = @_;
	my $found = 0;
	my $script = join '', map { "\\echo <<< $_\nBEGIN;\n" . sprintf($questions[$_], $table) . ";\nROLLBACK;\n\\echo >>>\n" } 0 .. $#questions;
	my @more = map { pick(@changes) } 1 .. 3;

	$script .= join '', map { my $n = @questions + $_; "\\echo <<< $n\n" . ($more[$_] =~ /VACUUM/ ? '' : "BEGIN;\n") . $more[$_] =~ s/%s/$table/gr . ";\n" . ($more[$_] =~ /VACUUM/ ? '' : "ROLLBACK;\n") . "\\echo >>>\n" } 0 .. $#more;
	my ($ran, $output, @told) = script_results($node, $script, 400);
	counted(scalar @told);
	if (!$ran || @told < @questions + @more)
	{
		finding("$table does not answer with $what", substr $output, -3000);
		wait_for_server($node);
	}
	for my $i (0 .. $#told)
	{
		my $said = $told[$i] // '';
		my $asked = $i < @questions ? $questions[$i] : $more[ $i - @questions ];

		$found = 1 if $said =~ /ERROR:  XX001/;
		next if $said =~ /ERROR:  (?:XX001|XX002)/;
		finding("$table with $what: an error of another kind", "$asked\n$said") if $said =~ /(?:ERROR|FATAL|PANIC):/;
		finding("$table with $what: a wrong answer", "$asked\n$said\nnot\n$right[$i]") if $i < @questions && $said !~ /ERROR:/ && $said ne "$right[$i]\n";
	}
	$found ? $noticed++ : $unnoticed++;
	return;
}

while (going(10))
{
	my $seed = round_seed();
	my %path;

	$node->safe_psql('postgres', 'CHECKPOINT');
	for my $number (1 .. $TABLES)
	{
		$path{"packed$number"} = [ map { $node->data_dir . "/$_" } split /\|/, $node->safe_psql('postgres', "SELECT pg_relation_filepath(oid), pg_relation_filepath(reltoastrelid) FROM pg_class WHERE oid = 'packed$number'::regclass") ];
	}
	$node->stop;
	my %saved;
	for my $table (sort keys %path)
	{
		my $directory = rand() < 0.6;
		my $path = $path{$table}[$directory];
		my @places = $directory ? directory_places($path) : segment_places($path);
		next unless @places;
		system "cp '$_' '$_.saved'" for @{ $path{$table} };
		$saved{$table} = [ $directory ? 'directory' : 'segment', map { spoil($path, pick(@places)) } 1 .. pick(1, 1, 2) ];
	}
	$node->start;
	for my $table (sort keys %saved)
	{
		my ($of, @spoiled) = @{ $saved{$table} };
		ask($table, "a spoiled $of (seed $seed: " . join('; ', map { "$_->[1]: " . unpack('H*', $_->[2]) . ' to ' . unpack 'H*', $_->[3] } @spoiled) . ')');
	}
	watch_log($node, '(?!)');
	# tables that were changed meanwhile are made again, in place of repairs
	$node->safe_psql('postgres', "SET gpucol.segment_rows = 2048; DROP TABLE $_; CREATE TABLE $_ USING gpucol AS SELECT $columns FROM generate_series(1, 8000) i; CREATE INDEX ON $_ (id); DELETE FROM $_ WHERE id % 13 = 5; VACUUM $_; DELETE FROM $_ WHERE id % 97 = 3") for sort keys %saved;
}
say_now("$noticed damaged tables were noticed, $unnoticed not, with right answers");
$node->stop;
end_part();
