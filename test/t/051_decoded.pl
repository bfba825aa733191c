# 051_decoded.pl: logical decoding of packed rows.  The same statements run over a gpucol table and
# over a heap table: what a slot decodes of both is the same, for each REPLICA IDENTITY, and
# merges and packing add nothing that a subscriber gets.  A subscriber is equal to its publisher after random
# changes, merges and a crash; so is a standby that has replayed them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

seed_random(51);
my $node = new_server('decoded', 'wal_level = logical', 'autovacuum = off', 'max_wal_senders = 5', 'gpucol.automerge = off', "wal_consistency_checking = 'heap,heap2'",
	# transactions are spilled, and streamed to the subscriber before they end
	'logical_decoding_work_mem = 64kB', 'max_prepared_transactions = 5');

sub sql { return $node->safe_psql('postgres', $_[0]); }

# ---- what is decoded ----
my $columns = '(id int PRIMARY KEY, u text NOT NULL UNIQUE, k int, gone int, n numeric(12,2), t text, a int[], g int GENERATED ALWAYS AS (k * 2) STORED)';

sql("CREATE TABLE g $columns USING gpucol; CREATE TABLE h $columns USING heap;");
sql("ALTER TABLE $_ DROP gone; ALTER TABLE $_ ADD more text DEFAULT 'more'") for 'g', 'h';
my $rows = q{SELECT i, 'u' || i, i % 7, i / 8.0, CASE WHEN i % 400 = 0 THEN repeat('long', 30000) WHEN i % 3 > 0 THEN 't' || i END, ARRAY[i, NULL], NULL FROM generate_series(%d, %d) i};
my $target = 'INSERT INTO TABLE_NAME (id, u, k, n, t, a, more)';

sub load { return "$target " . sprintf($rows, @_); }

# Run statements over both tables.
sub both
{
	my ($sql) = @_;
	for my $table ('g', 'h')
	{
		(my $one = $sql) =~ s/TABLE_NAME/$table/g;
		sql($one);
	}
}

# Decode what has come since the last time; the lines of each table.
sub decode
{
	my %lines = (g => [], h => []);
	my $all = sql("SELECT data FROM pg_logical_slot_get_changes('s', NULL, NULL, 'include-xids', '0', 'skip-empty-xacts', '1')");
	for (split /\n/, $all)
	{
		push @{ $lines{$1} }, $_ if s/^table public\.([gh]): //;
	}
	return \%lines;
}

sub same
{
	my ($what) = @_;
	my $lines = decode();
	my ($g, $h) = map { join "\n", @{ $lines->{$_} } } 'g', 'h';
	ok($h ne '', "$what: something is decoded");
	ok($g eq $h, "$what: " . scalar(@{ $lines->{h} }) . ' changes') or do
	{
		for my $i (0 .. $#{ $lines->{h} })
		{
			next if ($lines->{g}[$i] // '') eq $lines->{h}[$i];
			diag(substr($lines->{g}[$i] // 'nothing', 0, 300) . "\nnot\n" . substr($lines->{h}[$i], 0, 300));
			last;
		}
	};
}

both(load(1, 4000));
sql("SELECT pg_create_logical_replication_slot('s', 'test_decoding')");
my $before = sql("SELECT count(*) FROM gpucol.segments('g')");
both(load(4001, 7000));
cmp_ok(sql("SELECT count(*) FROM gpucol.segments('g')"), '>', $before, 'a load is packed while a slot is there');
same('a load');
{
	my $file = PostgreSQL::Test::Utils::tempdir_short() . '/rows';
	sql("COPY (SELECT 10000 + i, 'c' || i, i, i, repeat('x', i % 300), '{}', 'y' FROM generate_series(1, 3000) i) TO '$file'");
	both("COPY TABLE_NAME (id, u, k, n, t, a, more) FROM '$file'");
	same('COPY');
}
# batches of columns go another way
for my $table ('g', 'h')
{
	sql("CREATE TABLE into_$table (id int, n numeric(12,2), t text) USING " . ($table eq 'g' ? 'gpucol' : 'heap'));
	sql("INSERT INTO into_$table SELECT id, n, t FROM g WHERE id <= 7000");
}
{
	my $all = sql("SELECT string_agg(replace(data, 'into_g', 'into_h'), E'\\n') FROM (SELECT * FROM pg_logical_slot_get_changes('s', NULL, NULL)) x WHERE data ~ '^table' GROUP BY substr(data, 14, 6)");
	my @two = map { join "\n", sort split /\n/ } split /\n(?=table public.into_h: INSERT: id\[integer\]:1 )/, $all;
	is(scalar(@two), 2, 'INSERT of batches of columns is decoded of both');
	ok($two[0] eq $two[1], 'and is the same');
}
for my $identity ('DEFAULT', 'USING INDEX TABLE_NAME_u_key', 'FULL', 'NOTHING')
{
	both("ALTER TABLE TABLE_NAME REPLICA IDENTITY $identity");
	my $i = { D => 1, U => 2, F => 3, N => 4 }->{ substr($identity, 0, 1) };
	both("UPDATE TABLE_NAME SET k = k + 1, t = 'short' WHERE id = 100 + $i");
	both("UPDATE TABLE_NAME SET id = -id, t = 'moved' WHERE id = 200 + $i");
	both("UPDATE TABLE_NAME SET u = u || 'x', more = NULL WHERE id = 300 + $i");
	both("UPDATE TABLE_NAME SET t = t || t WHERE id = 400 * $i");
	both("DELETE FROM TABLE_NAME WHERE id IN (500 + $i, 2000 + 400 * $i)");
	both("INSERT INTO TABLE_NAME (id, u) VALUES (600 + $i, 'new') ON CONFLICT (id) DO UPDATE SET u = excluded.u || TABLE_NAME.u, t = 'conflict'");
	both("BEGIN; UPDATE TABLE_NAME SET t = 'a' WHERE id = 700 + $i; SAVEPOINT a; DELETE FROM TABLE_NAME WHERE id < 50; ROLLBACK TO a; UPDATE TABLE_NAME SET t = 'b' WHERE id = 700 + $i; DELETE FROM TABLE_NAME WHERE id = 800 + $i; COMMIT");
	both("BEGIN; " . load(20000 * $i, 20000 * $i + 1500) . "; UPDATE TABLE_NAME SET t = 'again' WHERE id = 20001 * $i; DELETE FROM TABLE_NAME WHERE id = 20000 * $i; COMMIT");
	both("MERGE INTO TABLE_NAME x USING (VALUES (900 + $i), (990 + $i), (-990 - $i)) v (id) ON x.id = v.id WHEN MATCHED AND v.id < 950 THEN DELETE WHEN MATCHED THEN UPDATE SET t = 'merged' WHEN NOT MATCHED THEN INSERT (id, u) VALUES (v.id, 'i' || v.id)");
	same("REPLICA IDENTITY $identity");
	sql("SELECT gpucol.merge('g'); VACUUM g");
	is(join(',', grep { !/^DELETE: \(no-tuple-data\)$/ } @{ decode()->{g} }), '', "$identity: merges and VACUUM change nothing");
}
both('BEGIN; ' . load(200000, 203000) . '; ROLLBACK');
is(scalar(@{ decode()->{g} }), 0, 'a load that is rolled back is not decoded');
is(sql("SELECT * FROM gpucol.verify('g')"), '', 'the table is verified');
sql("SELECT pg_drop_replication_slot('s')");
both(load(300000, 302000));

# ---- a subscriber, and a standby ----
sql('ALTER TABLE g REPLICA IDENTITY DEFAULT; CREATE TABLE full_g (id int, t text) USING gpucol; ALTER TABLE full_g REPLICA IDENTITY FULL; INSERT INTO full_g SELECT i, i::text FROM generate_series(1, 3000) i');
sql('CREATE PUBLICATION p FOR TABLE g (id, u, k, n, t, a, more), full_g; CREATE DATABASE target');
sql("SELECT pg_create_logical_replication_slot('o', 'pgoutput')");
my $connection = $node->connstr('postgres');
(my $there = $columns) =~ s/, g int GENERATED.*?STORED//;
$there =~ s/gone int, //;
$there =~ s/\)$/, more text)/;
$node->safe_psql('target', "CREATE EXTENSION gpucol; CREATE TABLE g $there USING gpucol; CREATE TABLE full_g (id int, t text) USING heap; CREATE SUBSCRIPTION s CONNECTION \$\$$connection\$\$ PUBLICATION p WITH (create_slot = false, slot_name = 'o', streaming = on)");
$node->poll_query_until('target', "SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'") or die 'the first copy does not end';
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('decoded_standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_logical_replication_workers = 0\nhot_standby = on\n");
$standby->start;

my %sums = (
	g => "SELECT count(*), sum(hashtextextended(row(id, u, k, n, t, a, more)::text, 0)) FROM g",
	full_g => 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM full_g x');

sub compare
{
	my ($what) = @_;
	my $lsn = sql('SELECT pg_current_wal_insert_lsn()');
	ok($node->poll_query_until('postgres', "SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 'o'"), "$what: replicated");
	$node->wait_for_catchup($standby, 'replay', $lsn);
	for my $table (sort keys %sums)
	{
		my $here = sql($sums{$table});
		is($node->safe_psql('target', $sums{$table}), $here, "$what: $table at the subscriber");
		is($standby->safe_psql('postgres', $sums{$table}), $here, "$what: $table on the standby");
	}
}

# One of many changes.
sub change
{
	my $id = int(rand(7000));
	my $to = $id + int(rand(100));
	my $new = 1000000 + int(rand(1e8)) * 10;
	my @changes = (
		"UPDATE g SET k = k + 1, t = 'r$new' WHERE id BETWEEN $id AND $to",
		"DELETE FROM g WHERE id BETWEEN $id AND $id + 10",
		"INSERT INTO g (id, u) SELECT $new + i, '$new-' || i FROM generate_series(0, 5) i",
		"INSERT INTO g (id, u, t) SELECT -$new - i, 'b$new-' || i, repeat('z', i * 37 % 5000) FROM generate_series(0, 1100) i",
		"UPDATE full_g SET t = t || 'f' WHERE id BETWEEN $id AND $to",
		"DELETE FROM full_g WHERE id = $id",
		"INSERT INTO full_g SELECT $new, i::text FROM generate_series(1, 1200) i",
		"BEGIN; UPDATE g SET n = 0 WHERE id = $id; SAVEPOINT a; DELETE FROM g WHERE id = $to; ROLLBACK TO a; DELETE FROM full_g WHERE id = $to; COMMIT",
		"BEGIN; UPDATE g SET n = 1, t = repeat('p', 100) WHERE id BETWEEN $id AND $to; DELETE FROM full_g WHERE id = $to; PREPARE TRANSACTION 'p'; " . pick('COMMIT', 'ROLLBACK') . " PREPARED 'p'",
		"SELECT gpucol.merge('g')", "SELECT gpucol.merge('full_g')", 'VACUUM g, full_g');
	sql($changes[int(rand(@changes))]);
}

compare('the first copy');
for my $round (1 .. $ENV{GPUCOL_ROUNDS} // 3)
{
	change() for 1 .. 40;
	if ($round % 2 == 0)
	{
		$node->stop('immediate');
		$node->start;
		$node->poll_query_until('postgres', "SELECT active FROM pg_replication_slots WHERE slot_name = 'o'") or die 'the subscriber does not come back';
	}
	compare("round $round");
}
sql("VACUUM g; INSERT INTO g (id, u) SELECT -i, 'v' || i FROM generate_series(1, 30) i");
is(sql("SELECT * FROM gpucol.verify('$_')"), '', "$_ is verified") for 'g', 'full_g';
$standby->promote;
is($standby->safe_psql('postgres', "INSERT INTO g (id, u) SELECT -500000 - i, 'p' || i FROM generate_series(1, 3000) i; SELECT * FROM gpucol.verify('g')"), '', 'a standby goes on');
unlike(PostgreSQL::Test::Utils::slurp_file($_->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash') for $node, $standby;
$node->safe_psql('target', 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');
done_testing();
