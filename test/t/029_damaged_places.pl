# 029_damaged_places.pl: damage of one kind at a place of our choice, of which the server must say
# what it found: a line pointer of the delta that leads out of its page, a directory of
# another format, two pages of its index in each other's place.  (026_damage.pl damages at random.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $PAGE = 8192;
my $node = new_server('places', 'autovacuum = off', 'restart_after_crash = on');

# Rows that stay in the delta, more pages of them than a small bitmap can tell apart; rows
# that are packed.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE kept (k int, pad text) USING gpucol;
ALTER TABLE kept ALTER pad SET STORAGE plain;
ALTER TABLE kept ADD EXCLUDE USING btree (k WITH =);
CREATE INDEX by_k ON kept (k);
INSERT INTO kept SELECT i, repeat('x', 3900) FROM generate_series(1, 4000) i;
VACUUM ANALYZE kept;
CREATE TABLE placed (k int, n numeric, pad text) USING gpucol WITH (autovacuum_enabled = off);
CREATE INDEX ON placed (k);
INSERT INTO placed SELECT i, i, repeat('x', 300) FROM generate_series(1, 200) i;
CREATE TABLE headed (LIKE placed INCLUDING ALL) USING gpucol;
CREATE TABLE widened (LIKE placed INCLUDING ALL) USING gpucol;
CREATE TABLE lengthened (LIKE placed INCLUDING ALL) USING gpucol;
CREATE TABLE redirected (LIKE placed INCLUDING ALL) USING gpucol;
INSERT INTO headed SELECT * FROM placed LIMIT 200;
INSERT INTO widened SELECT * FROM placed LIMIT 200;
INSERT INTO lengthened SELECT * FROM placed LIMIT 200;
INSERT INTO redirected SELECT * FROM placed LIMIT 200;
CREATE TABLE newer USING gpucol AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 5000) i;
CREATE TABLE first (id int PRIMARY KEY, k int) USING gpucol;
INSERT INTO first SELECT i, i % 7 FROM generate_series(1, 5000) i;
CREATE TABLE swapped (id int PRIMARY KEY, k int) USING gpucol;
INSERT INTO swapped SELECT i, i % 7 FROM generate_series(1, 5000) i;
DELETE FROM swapped WHERE id > 1000;
CREATE TABLE good USING gpucol AS SELECT i AS id, i % 7 AS k FROM generate_series(1, 5000) i;
SQL

my $by_bitmap = 'SET enable_seqscan = off; SET enable_indexscan = off; SET gpucol.enabled = off;';
my $lossy = "$by_bitmap SET work_mem = '64kB'; SELECT count(*) FROM kept WHERE k > 0";

is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.segments('kept')"), 0, 'rows of the delta');
like($node->safe_psql('postgres', "$by_bitmap EXPLAIN SELECT count(*) FROM kept WHERE k > 0"), qr/Bitmap Heap Scan on kept/, 'a bitmap scan');
is($node->safe_psql('postgres', $lossy), 4000, 'its rows');

my %HARM = (
	placed => [ 'is none', sub { my ($bytes, $line) = @_; substr($$bytes, $line, 4) = pack 'L', 8000 | 1 << 15 | 1000 << 17; } ],
	redirected => [ 'leads to no other', sub { my ($bytes, $line) = @_; substr($$bytes, $line, 4) = pack 'L', 5000 | 2 << 15; } ],
	headed => [ 'has a header of another length', sub { my ($bytes, undef, $tuple) = @_; substr($$bytes, $tuple + 22, 1) = pack 'C', 250; } ],
	widened => [ 'has more columns than its table', sub { my ($bytes, undef, $tuple) = @_; substr($$bytes, $tuple + 18, 2) = pack 'S', 1500; } ],
	lengthened => [ 'has values behind its end', sub { my ($bytes, undef, $tuple) = @_; substr($$bytes, $tuple + 28, 1) = "\xff"; } ]);
my %path = map { $_ => $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath('$_'::regclass)") } 'kept', keys %HARM;
$path{$_} = $node->data_dir . '/' . $node->safe_psql('postgres', "SELECT pg_relation_filepath(reltoastrelid) FROM pg_class WHERE oid = '$_'::regclass") foreach 'newer', 'first';
$path{swapped} = $node->data_dir . '/' . $node->safe_psql('postgres',
	"SELECT pg_relation_filepath(indexrelid) FROM pg_index JOIN pg_class c ON indrelid = reltoastrelid WHERE c.oid = 'swapped'::regclass");
$node->stop;

# Change bytes of a file.
sub change
{
	my ($file, $how) = @_;

	open my $in, '<:raw', $file or die "$file: $!";
	my $bytes = do { local $/; <$in> };
	$how->(\$bytes);
	open my $out, '>:raw', $file or die "$file: $!";
	print $out $bytes;
	close $out;
	return;
}

sub crc32c
{
	my $crc = 0xffffffff;

	foreach my $byte (unpack 'C*', $_[0])
	{
		$crc ^= $byte;
		$crc = $crc & 1 ? $crc >> 1 ^ 0x82f63b78 : $crc >> 1 for 1 .. 8;
	}
	return $crc ^ 0xffffffff;
}

# Where the counter of a directory lies in its file: its line pointer, its key.
sub counter
{
	my ($bytes) = @_;

	for (my $page = 0; $page < length $$bytes; $page += $PAGE)
	{
		my @items = unpack 'L*', substr $$bytes, $page + 24, unpack('S', substr $$bytes, $page + 12, 2) - 24;

		for my $i (0 .. $#items)
		{
			my $key = $page + ($items[$i] & 0x7fff) + 24;

			return ($page + 24 + 4 * $i, $key) if ($items[$i] >> 15 & 3) == 1 && unpack('LL', substr $$bytes, $key, 8) == 0 + 1;
		}
	}
	die 'no counter';
}

my ($of_key, $of_data, $identity, $version, $seal) = (0, 12, 16, 24, 32);

# The second tuple of a page lies behind the page's end.
change($path{kept}, sub { my ($bytes) = @_; substr($$bytes, 3 * $PAGE + 28, 4) = pack 'L', 8000 | 1 << 15 | 3928 << 17; });
# The fifth tuple of the second page, in one way in each of some tables.
foreach my $table (keys %HARM)
{
	change($path{$table}, sub {
		my ($bytes) = @_;
		my $line = $PAGE + 24 + 4 * 4;

		$HARM{$table}[1]->($bytes, $line, $PAGE + (unpack('L', substr $$bytes, $line, 4) & 0x7fff));
	});
}
# The counter names the version before, and its checksum is right.
change($path{newer}, sub {
	my ($bytes) = @_;
	my ($item, $key) = counter($bytes);
	my $data = $key + $of_data;
	my $sealed = sub { crc32c(substr($$bytes, $data + $identity, 8) . substr($$bytes, $key, 8) . substr $$bytes, $data, $seal) };

	is(unpack('L', substr $$bytes, $data + $seal, 4), $sealed->(), 'the checksum is the one that this test computes');
	substr($$bytes, $data + $version, 4) = pack 'L', unpack('L', substr $$bytes, $data + $version, 4) + 1;
	substr($$bytes, $data + $seal, 4) = pack 'L', $sealed->();
});
# The first version had no checksum.
change($path{first}, sub {
	my ($bytes) = @_;
	my ($item, $key) = counter($bytes);

	substr($$bytes, $key + 8, 4) = pack 'L', ($seal + 4) << 2;
	substr($$bytes, $item, 4) = pack 'L', (unpack('L', substr $$bytes, $item, 4) & 0x1ffff) | ((24 + $of_data + $seal) << 17);
});
# The last leaf page of an index and the one to the left of it are swapped: that one's right sibling
# is itself then, and keys from the last page's first on are looked for there.
change($path{swapped}, sub {
	my ($bytes) = @_;
	my @pages = unpack "(a$PAGE)*", $$bytes;
	my ($last) = grep { my (undef, $next, $level, $flags) = unpack 'LLLS', substr $pages[$_], -16; $_ > 0 && $next == 0 && $level == 0 && $flags == 1 } 0 .. $#pages;
	my ($left) = unpack 'L', substr $pages[$last], -16;

	@pages[ $last, $left ] = @pages[ $left, $last ];
	$$bytes = join '', @pages;
});
$node->start;

sub error_of
{
	my (undef, undef, $error) = $node->psql('postgres', "\\set VERBOSITY verbose\n$_[0]");

	return $error;
}

like(error_of($lossy), qr/ERROR:  XX001: table "kept" has a corrupt page\nDETAIL:  Tuple 2 of block 3 is none/, 'a line pointer that leads out of its page');
foreach my $table (sort keys %HARM)
{
	my $problem = $HARM{$table}[0];

	is($node->safe_psql('postgres', "SELECT problem FROM gpucol.verify('$table')"), "tuple 5 of block 1, outside the segments, $problem", "$table: gpucol.verify");
	foreach my $sql ("SET gpucol.pushdown = forbid; SELECT max(n), max(pad) FROM $table", "SET enable_seqscan = off; SET gpucol.enabled = off; SELECT max(n), max(pad) FROM $table WHERE k < 100",
		"$by_bitmap SELECT max(n), max(pad) FROM $table WHERE k < 100", "COPY $table TO '/dev/null'", "SELECT gpucol.merge('$table')", "ANALYZE $table", "VACUUM $table", "VACUUM FULL $table",
		"CREATE INDEX ON $table (n)", "SELECT * FROM $table WHERE ctid = '(1,5)'", "SELECT * FROM $table TABLESAMPLE SYSTEM (100)", "SET gpucol.enabled = off; SELECT * FROM $table WHERE ctid > '(1,0)'")
	{
		like(error_of($sql), qr/ERROR:  XX001: table "$table" has a corrupt page\nDETAIL:  Tuple 5 of block 1 $problem/, "$table: $sql");
	}
}
foreach my $table ('newer', 'first')
{
	foreach my $sql ("SELECT count(*) FROM $table", "SELECT * FROM $table WHERE id = 7", "INSERT INTO $table SELECT i, i FROM generate_series(9000, 14000) i",
		"UPDATE $table SET k = 0 WHERE id = 7", "DELETE FROM $table WHERE id = 7", "SELECT 1 FROM $table WHERE id = 7 FOR UPDATE", "SELECT gpucol.merge('$table')",
		"SELECT * FROM gpucol.verify('$table')", "VACUUM $table", "VACUUM FULL $table", "CREATE INDEX ON $table (k)")
	{
		like(error_of($sql), qr/ERROR:  55000: table "$table" was packed by another version of gpucol\nDETAIL:  Its format has version \d+; this is a library for version \d+/,
			"another version: $sql");
	}
	is(error_of("DROP TABLE $table"), '', "another version: DROP TABLE $table");
}
like(error_of('SELECT count(*) FROM swapped'), qr/ERROR:  XX002: segment directory of table "swapped" is corrupt/, 'swapped pages of an index: its rows');
like(error_of("SET gpucol.pushdown = forbid; SET enable_seqscan = off; DO 'BEGIN FOR i IN 1 .. 5000 LOOP PERFORM FROM swapped WHERE id = i; END LOOP; END'"),
	qr/ERROR:  XX002: segment directory of table "swapped" is corrupt/, 'swapped pages of an index: each row');
cmp_ok($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('swapped')"), '>', 0, 'swapped pages of an index: gpucol.verify');
is($node->safe_psql('postgres', "SELECT count(*) FROM good; SELECT count(*) FROM gpucol.verify('good')"), "5000\n0", 'another table is as it was');
$node->stop;
done_testing();
