# 011_dump_decode.pl: pg_dump and restore bring back access methods and rows;
# with a logical slot and a publication, loads and changes of segment rows are decoded.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('dump', 'autovacuum = off', 'wal_level = logical', 'max_replication_slots = 5');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE packed (id int PRIMARY KEY, k int, n numeric(12,2), t text, a int[]) USING gpucol;
INSERT INTO packed SELECT i, i % 10, i / 7.0, 'text ' || i, ARRAY[i, NULL] FROM generate_series(1, 20000) i;
UPDATE packed SET t = repeat('long', 3000) WHERE id % 5000 = 0;
DELETE FROM packed WHERE id % 11 = 0;
CREATE TABLE plain (id int) USING heap;
CREATE MATERIALIZED VIEW grouped USING gpucol AS SELECT k, count(*) AS n FROM packed GROUP BY k;
CREATE TABLE parts (id int, k int) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (10000) USING gpucol;
INSERT INTO parts SELECT i, i FROM generate_series(1, 9999) i;
SQL

# dump in each format and restore into a database of its own
for my $format ('plain', 'custom')
{
	my $file = PostgreSQL::Test::Utils::tempdir_short() . "/$format";

	$node->command_ok([ 'pg_dump', '-d', $node->connstr('postgres'), '-F', $format, '-f', $file ], "pg_dump, $format");
	$node->safe_psql('postgres', "CREATE DATABASE restored_$format");
	$node->command_ok($format eq 'plain'
		? [ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', $node->connstr("restored_$format"), '-f', $file ]
		: [ 'pg_restore', '-d', $node->connstr("restored_$format"), $file ], "restore, $format");
	for my $query (
		'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM packed x',
		'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM grouped x',
		'SELECT count(*), sum(k) FROM parts',
		"SELECT relname, amname FROM pg_class c JOIN pg_am a ON a.oid = relam WHERE relname IN ('packed', 'plain', 'grouped', 'parts_1') ORDER BY 1")
	{
		is($node->safe_psql("restored_$format", $query), $node->safe_psql('postgres', $query), "$format: $query");
	}
	is($node->safe_psql("restored_$format", "SELECT count(*) > 0 FROM gpucol.segments('packed')"), 't', "$format: it is packed");
}

# logical decoding: what is loaded while a slot exists is decoded
$node->safe_psql('postgres', "CREATE PUBLICATION p FOR TABLE packed; SELECT pg_create_logical_replication_slot('s', 'test_decoding')");
$node->safe_psql('postgres', "INSERT INTO packed SELECT i, 0, 0, 'slot' FROM generate_series(100001, 103000) i");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_logical_slot_get_changes('s', NULL, NULL) WHERE data ~ 'table public.packed: INSERT'"), '3000', 'a load is decoded');
$node->safe_psql('postgres', "UPDATE packed SET k = -1 WHERE id > 102998; DELETE FROM packed WHERE id IN (100001, 5002); UPDATE packed SET k = -1 WHERE id = 5003");
is($node->safe_psql('postgres', "SELECT string_agg(DISTINCT substr(data, 1, 28), ',') || count(*) FROM pg_logical_slot_get_changes('s', NULL, NULL) WHERE data ~ 'table public.packed: (UPDATE|DELETE)'"), 'table public.packed: DELETE:,table public.packed: UPDATE:5', 'changes of packed rows are decoded');
$node->safe_psql('postgres', "SELECT gpucol.merge('packed')");
is($node->safe_psql('postgres', "SELECT count(*) FROM pg_logical_slot_get_changes('s', NULL, NULL) WHERE data ~ 'table' AND data !~ 'no-tuple-data'"), '0', 'a merge changes nothing');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('s')");

# a slot of pgoutput wants what is published
my $inserted = 0;
sub wal_of
{
	my $from = $node->safe_psql('postgres', 'SELECT pg_current_wal_insert_lsn()');

	$inserted += 20000;
	$node->safe_psql('postgres', "INSERT INTO packed SELECT 200000 + $inserted + i FROM generate_series(1, 20000) i");
	return $node->safe_psql('postgres', "SELECT pg_current_wal_insert_lsn() - '$from'");
}
$node->safe_psql('postgres', "ALTER TABLE packed DROP CONSTRAINT packed_pkey; SELECT pg_create_logical_replication_slot('o', 'pgoutput')");
my $published = wal_of();
$node->safe_psql('postgres', 'DROP PUBLICATION p');
cmp_ok(wal_of() * 2, '<', $published, 'rows are in WAL of a published table only');
$node->safe_psql('postgres', "SELECT pg_drop_replication_slot('o')");
$node->stop;
done_testing();
