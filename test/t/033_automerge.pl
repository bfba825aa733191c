# 033_automerge.pl: tables are merged by themselves where the library is preloaded, by their
# options, as their owner; writers at READ COMMITTED notice nothing, nobody waits for it,
# no database is kept from being dropped, and a killed server loses nothing.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 3;

seed_random();
my $node = PostgreSQL::Test::Cluster->new('automerge');
$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', <<'CONF');
fsync = off
timezone = 'UTC'
shared_preload_libraries = 'gpucol'
gpucol.automerge_naptime = 1s
gpucol.automerge_threshold = 500
gpucol.automerge_scale_factor = 0
autovacuum_naptime = 1s
log_min_messages = debug1
CONF
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE EXTENSION amcheck;
CREATE PROCEDURE fill(target regclass, first int, last int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN first .. last LOOP
		EXECUTE format('INSERT INTO %s VALUES ($1, $1 %% 7, $2)', target) USING i, 'row ' || i;
	END LOOP;
END $$;
SQL

# Wait until so many rows of a table are packed, at least.
sub wait_packed
{
	my ($table, $rows, $what) = @_;

	return ok($node->poll_query_until('postgres',
		"SELECT coalesce(sum(rows), 0) >= $rows FROM gpucol.segments('$table')"), $what);
}

sub packed_rows { return $node->safe_psql('postgres', "SELECT coalesce(sum(rows), 0) FROM gpucol.segments('$_[0]')"); }

# Wait until the worker has looked at all tables once more, and one time to be sure.
my $sentinels = 0;

sub wait_visits
{
	for (1 .. 2)
	{
		my $table = 'sentinel' . ++$sentinels;

		$node->safe_psql('postgres', "CREATE TABLE $table (a int, b int, c text) USING gpucol; CALL fill('$table', 1, 600)");
		$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM gpucol.segments('$table')") or die 'no merge';
	}
	return;
}

sub sound
{
	my ($table, $what) = @_;

	return is($node->safe_psql('postgres', "SELECT * FROM gpucol.verify('$table')"), '', "$what: segments and indexes are sound");
}

# Rows that come one by one are packed.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (a int PRIMARY KEY, b int, c text) USING gpucol;
CREATE INDEX ON t (b);
CREATE TABLE twin (LIKE t) USING heap;
CALL fill('t', 1, 3000);
CALL fill('twin', 1, 3000);
SQL
wait_packed('t', 3000, 'rows that come one by one are packed');
same_rows($node, 't', 'twin', 'packed: the rows of the heap twin');
sound('t', 'packed');
is($node->safe_psql('postgres', "SELECT bt_index_check('t_pkey', true)"), '', 'amcheck');

# Segments that are small, or have lost many rows, are packed together, as VACUUM does.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE small (a int PRIMARY KEY, b int, c text) USING gpucol;
CREATE INDEX ON small (b);
CREATE TABLE large (LIKE small) USING heap;
DO $$ BEGIN FOR i IN 0 .. 9 LOOP
	INSERT INTO small SELECT g, g % 7, 'row ' || g FROM generate_series(i * 2000, i * 2000 + 1999) g;
	COMMIT;
END LOOP; END $$;
INSERT INTO large SELECT * FROM small;
SQL
ok($node->poll_query_until('postgres', "SELECT count(*) < 8 FROM gpucol.segments('small')"), 'small segments are packed together');
same_rows($node, 'small', 'large', 'the rows of the heap twin');
$node->safe_psql('postgres', 'DELETE FROM small WHERE a % 2 = 0; DELETE FROM large WHERE a % 2 = 0');
ok($node->poll_query_until('postgres', "SELECT sum(deleted) < 1000 FROM gpucol.segments('small')"), 'and those that have lost many rows');
same_rows($node, 'small', 'large', 'the rows of the heap twin again');
sound('small', 'packed together');
is($node->safe_psql('postgres', "SELECT bt_index_check('small_pkey', true)"), '', 'amcheck again');
$node->safe_psql('postgres', 'DROP TABLE small, large');

# So are those of a table that is written to all the time: rows that are deleted meanwhile are deleted in their new
# places, and who looks whether a key is taken does not wait.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION slowly(a int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(0.0002); RETURN a % 100; END';
CREATE TABLE busy (a int PRIMARY KEY, b int, c text) USING gpucol;
CREATE TABLE idle (LIKE busy INCLUDING INDEXES) USING heap;
SECURITY LABEL FOR gpucol ON TABLE busy IS 'automerge_enabled = off';
DO $$ BEGIN FOR i IN 0 .. 9 LOOP
	INSERT INTO busy SELECT g, g % 7, 'row ' || g FROM generate_series(i * 1000, i * 1000 + 999) g;
	COMMIT;
END LOOP; END $$;
INSERT INTO idle SELECT * FROM busy;
CREATE INDEX ON busy (slowly(a));
SECURITY LABEL FOR gpucol ON TABLE busy IS NULL;
SQL
my $left = 10;
my $end = time + $PostgreSQL::Test::Utils::timeout_default;

for (my $i = 1; time < $end; $i++)
{
	my $row = $i * 7919 % 10000;
	my $key = $i * 7907 % 10000;

	for my $table (qw(busy idle))
	{
		$node->safe_psql('postgres', "DELETE FROM $table WHERE a = $row; UPDATE $table SET b = b + 1 WHERE a = $key; " .
			"INSERT INTO $table VALUES ($key, 0, '') ON CONFLICT (a) DO UPDATE SET b = $table.b + 1");
	}
	$left = $node->safe_psql('postgres', "SELECT count(*) FROM gpucol.segments('busy')");
	last if $left < 8 && $i >= 30;
}
ok($left < 8, 'small segments are packed together beside writers');
same_rows($node, 'busy', 'idle', 'packed beside writers: the rows of the heap twin');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(b) FROM busy WHERE slowly(a) BETWEEN 0 AND 99'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(b) FROM idle'), 'an index leads to each row once');
sound('busy', 'packed beside writers');
is($node->safe_psql('postgres', "SELECT bt_index_check('busy_pkey', true)"), '', 'amcheck beside writers');
$node->safe_psql('postgres', 'DROP TABLE busy, idle');

# Rows that are packed again and again do not fill their indexes with entries of the places that they had, though no VACUUM comes.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE again (a int, b int) USING gpucol WITH (autovacuum_vacuum_threshold = 1000000000, autovacuum_vacuum_insert_threshold = -1);
CREATE UNIQUE INDEX again_a ON again (a) WITH (deduplicate_items = off);
INSERT INTO again SELECT g, g FROM generate_series(1, 40000) g;
SQL
my $bytes = $node->safe_psql('postgres', "SELECT pg_relation_size('again_a')");

for my $round (1 .. 5)
{
	$node->safe_psql('postgres', "DELETE FROM again WHERE hashint8(a + $round) % 4 = 0");
	$node->poll_query_until('postgres', "SELECT sum(deleted) < 100 FROM gpucol.segments('again')") or die 'not packed';
}
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('again_a')"), '<', 2.6 * $bytes, 'an index forgets places that rows had before');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(b) FROM again WHERE a BETWEEN 1 AND 40000'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(b) FROM again'), 'and has the rows');
sound('again', 'packed again and again');
is($node->safe_psql('postgres', "SELECT bt_index_check('again_a', true)"), '', 'amcheck of that index');
$node->safe_psql('postgres', 'DROP TABLE again');

# Deletions here and there are folded, and VACUUM finds the index entries of their rows later.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE holed (a int PRIMARY KEY, b int, c text) USING gpucol;
CREATE INDEX ON holed (b);
INSERT INTO holed SELECT g, g % 7, 'row ' || g FROM generate_series(1, 20000) g;
CREATE TABLE whole (LIKE holed) USING heap;
INSERT INTO whole SELECT * FROM holed;
SQL
sub to_fold { return "SELECT count(*) FROM gpucol.waiting('holed') WHERE work = 'deletions to fold'"; }

my $reader = $node->background_psql('postgres');
$reader->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM holed');
$node->safe_psql('postgres', "DELETE FROM $_ WHERE a % 20 = 0") for qw(holed whole);
wait_visits();
is($node->safe_psql('postgres', to_fold()), 1, 'deletions that a snapshot needs are not folded');
is($reader->query_safe('SELECT count(*) FROM holed'), 20000, 'and it sees the rows');
$reader->quit;
ok($node->poll_query_until('postgres', to_fold(), '0'), 'deletions are folded');
same_rows($node, 'holed', 'whole', 'folded: the rows of the heap twin');
is($node->safe_psql('postgres', 'SET enable_seqscan = off; SET gpucol.pushdown = forbid; SELECT count(*), sum(a) FROM holed WHERE b = 3'),
	$node->safe_psql('postgres', 'SELECT count(*), sum(a) FROM whole WHERE b = 3'), 'an index leads to no folded row');
sound('holed', 'folded');
$node->safe_psql('postgres', "INSERT INTO $_ SELECT g, g % 7, 'again ' || g FROM generate_series(20, 400, 20) g") for qw(holed whole);
$node->stop('immediate');
$node->start;
same_rows($node, 'holed', 'whole', 'folded, keys again, killed: the rows of the heap twin');
my $toast = $node->safe_psql('postgres', "SELECT reltoastrelid::regclass FROM pg_class WHERE oid = 'holed'::regclass");
sub last_deleter { return $node->safe_psql('postgres', "SELECT encode(substr(chunk_data, 21, 4), 'hex') FROM $toast WHERE chunk_id = 3"); }
isnt(last_deleter(), '00000000', 'the last transaction that deleted a folded row is kept');
$node->safe_psql('postgres', "VACUUM (FREEZE) $toast; VACUUM (INDEX_CLEANUP off) holed");
is(last_deleter(), '00000000', 'until the directory is frozen beyond it');
sub vacuum_holed
{
	my (undef, undef, $said) = $node->psql('postgres', 'VACUUM (VERBOSE, INDEX_CLEANUP on) holed');

	return $said =~ /segments of table "holed": .*?(\d+) index entries removed/ ? $1 : $said;
}
cmp_ok(vacuum_holed(), '>=', 1000, 'VACUUM deletes the index entries of folded rows');
is(vacuum_holed(), 0, 'once');
sound('holed', 'vacuumed');
is($node->safe_psql('postgres', "SELECT bt_index_check('holed_pkey', true)"), '', 'amcheck of the vacuumed');
same_rows($node, 'holed', 'whole', 'vacuumed: the rows of the heap twin');
$node->safe_psql('postgres', 'DROP TABLE holed, whole');

# Where there is no index there are no entries to be deleted: nothing for autovacuum.
$node->safe_psql('postgres', 'CREATE TABLE bare (a int) USING gpucol; INSERT INTO bare SELECT generate_series(1, 20000); DELETE FROM bare WHERE a % 20 = 0');
ok($node->poll_query_until('postgres', to_fold() =~ s/holed/bare/r, '0'), 'deletions in a table without indexes are folded');
$node->safe_psql('postgres', 'VACUUM bare');
is($node->safe_psql('postgres', "SELECT n_dead_tup FROM pg_stat_all_tables WHERE relname = 'bare'"), 0, 'VACUUM leaves none for later');
$node->safe_psql('postgres', 'DROP TABLE bare');

# Options of a table.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE off (a int, b int, c text) USING gpucol;
CREATE TABLE vacuum_off (LIKE off) USING gpucol WITH (autovacuum_enabled = off);
CREATE TABLE much (LIKE off) USING gpucol;
CREATE TABLE little (LIKE off) USING gpucol;
CREATE TABLE bound (LIKE off, EXCLUDE USING btree (a WITH =)) USING gpucol;
SECURITY LABEL FOR gpucol ON TABLE off IS 'automerge_enabled = off';
SECURITY LABEL FOR gpucol ON TABLE much IS 'automerge_threshold=900,automerge_scale_factor=0.5';
SECURITY LABEL FOR gpucol ON TABLE little IS 'automerge_threshold = 5';
CALL fill('off', 1, 1000); CALL fill('vacuum_off', 1, 1000); CALL fill('much', 1, 1000); CALL fill('little', 1, 6);
CALL fill('bound', 1, 1000);
SQL
wait_visits();
is(join(' ', map { packed_rows($_) } qw(off vacuum_off much little bound)), '0 0 0 6 0', 'the options of tables are kept');
$node->safe_psql('postgres', 'SECURITY LABEL FOR gpucol ON TABLE off IS NULL');
wait_packed('off', 1000, 'without its label a table is merged');
for ("TABLE off IS 'automerge_enabled = 3'", "TABLE off IS 'automerge = on'", "TABLE off IS 'x'", "TABLE off IS 'automerge_threshold = -1'",
	"COLUMN off.a IS 'automerge_enabled = off'", "INDEX t_pkey IS 'automerge_enabled = off'")
{
	my ($status) = $node->psql('postgres', "SECURITY LABEL FOR gpucol ON $_");
	isnt($status, 0, "refused: $_");
}
$node->command_like([ 'pg_dump', '-t', 'much', $node->connstr('postgres') ],
	qr/SECURITY LABEL FOR gpucol ON TABLE public.much IS 'automerge_threshold=900/, 'options are dumped');

# What indexes call runs as the owner.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE owner;
CREATE FUNCTION as_owner(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	IF current_user <> 'owner' THEN RAISE 'called by %', current_user; END IF;
	RETURN $1;
END $$;
CREATE TABLE owned (a int, b int, c text) USING gpucol;
GRANT CREATE ON SCHEMA public TO owner;
ALTER TABLE owned OWNER TO owner;
SET ROLE owner;
CREATE INDEX ON owned (public.as_owner(a));
CALL fill('owned', 1, 1000);
SQL
wait_packed('owned', 1000, 'what indexes call runs as the owner');

# A transaction that has written stays open: its table is left alone, and nobody waits.
{
	my $writer = $node->background_psql('postgres', on_error_stop => 1);

	$node->safe_psql('postgres', "CREATE TABLE busy (a int PRIMARY KEY, b int, c text) USING gpucol; INSERT INTO busy VALUES (0, 0, '')");
	$writer->query_safe("BEGIN; UPDATE busy SET b = 1 WHERE a = 0");
	$node->safe_psql('postgres', "CALL fill('busy', 1, 1000)");
	wait_visits();
	is(packed_rows('busy'), 0, 'a table that a transaction has written to is left alone while that is open');
	$writer->query_safe("UPDATE busy SET b = 2 WHERE a = 0; COMMIT");
	$writer->quit;
	wait_packed('busy', 1000, 'and merged afterwards');
}

# Writers at READ COMMITTED get no error, and lose no change.
my $sums = PostgreSQL::Test::Utils::tempdir() . '/update.sql';
append_to_file($sums, <<'SQL');
\set from random(1, 30000)
\set to random(1, 30000)
\set new random(1, 1000000000)
BEGIN;
UPDATE account SET balance = balance - 1 WHERE id = least(:from, :to);
UPDATE account SET balance = balance + 1 WHERE id = greatest(:from, :to);
INSERT INTO journal VALUES (:new, 1);
END;
SELECT balance FROM account WHERE id = :from FOR UPDATE;
SQL
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE account (id int PRIMARY KEY, balance int) USING gpucol;
CREATE TABLE journal (id int, n int) USING gpucol;
INSERT INTO account SELECT i, 0 FROM generate_series(1, 900) i;
INSERT INTO account SELECT i, 0 FROM generate_series(901, 30000) i;
SECURITY LABEL FOR gpucol ON TABLE account IS 'automerge_threshold = 20';
SECURITY LABEL FOR gpucol ON TABLE journal IS 'automerge_threshold = 20';
SQL
{
	my $offset = -s $node->logfile;
	my $log;
	my $merges = 0;

	# As often as it takes: rows that change within a nap stay where they are, and how many
	# do is a matter of the machine.
	for my $round (1 .. 20)
	{
		$node->command_checks_all([ 'pgbench', '-n', '-c', '4', '-T', ($ENV{GPUCOL_SECONDS} || 12), '-f', $sums, $node->connstr('postgres') ],
			0, [ qr/number of transactions actually processed: [1-9]/ ], [ qr/^(?!.*(aborted|ERROR))/s ], "no writer fails, round $round");
		$log = slurp_file($node->logfile, $offset);
		$merges = () = $log =~ /automatic merge of table "account": [1-9]\d* rows/g;
		last if $merges > 1;
	}
	ok($merges > 1, "while merges run: $merges of the accounts");
	unlike($log, qr/could not serialize|deadlock/, 'no serialization error, no deadlock');
}
is($node->safe_psql('postgres', 'SELECT count(*), sum(balance) FROM account'), '30000|0', 'no change is lost');
sound('account', 'after the writers');

# A merge that takes long, for who wants the table, the database, or the server's end.  Nothing else is to be merged so slowly,
# since the launcher waits for all workers of a round.
$node->safe_psql('postgres', 'DROP TABLE account, journal');
$node->append_conf('postgresql.conf', "gpucol.automerge_cost_delay = 100ms\ngpucol.automerge_cost_limit = 1\ngpucol.automerge_max_workers = 3");
$node->reload;

# Wait until a table's slow merge is under way.
sub wait_slowly
{
	my ($database, $table) = @_;

	$node->poll_query_until('postgres', "SELECT count(*) > 0 FROM gpucol.activity w JOIN pg_stat_activity s ON s.pid = w.pid WHERE w.state = 'merge' AND datname = '$database' AND query = 'automerge public.$table'")
		or die "no merge of $table in $database";
	return;
}

# Begin such a merge, of a new table.  A worker that has given way comes back to the table soon, with its writers excluded and
# without a pause, so what waits for a slow merge must not wait for one of a table that somebody has wanted.
sub begin_slowly
{
	my ($database, $table) = @_;

	$node->safe_psql($database, "CREATE TABLE $table (a int, b int, c text) USING gpucol; INSERT INTO $table SELECT i, i, repeat('x', 500) FROM generate_series(1, 999) i");
	wait_slowly($database, $table);
	return;
}

for my $database (qw(wanted model))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, 'CREATE EXTENSION gpucol');
}
begin_slowly('wanted', 'locked');
$node->safe_psql('wanted', 'BEGIN; LOCK locked; COMMIT');
pass('who wants the table gets it');
begin_slowly('wanted', 'vacuumed');
$node->safe_psql('wanted', 'VACUUM vacuumed');
pass('so does VACUUM');
begin_slowly('wanted', 'dropped');
$node->safe_psql('postgres', 'DROP DATABASE wanted');
pass('who drops the database does');
begin_slowly('model', 'large');
$node->safe_psql('postgres', 'CREATE DATABASE copied TEMPLATE model');
pass('who copies the database does');
wait_slowly('model', 'large');
$node->stop('fast');
$node->start;
pass('the server stops');
is($node->safe_psql('model', 'SELECT count(*) FROM large'), 999, 'an interrupted merge has done nothing');
$node->safe_psql('postgres', 'DROP DATABASE model; DROP DATABASE copied');

# Turned off.
$node->append_conf('postgresql.conf', "gpucol.automerge = off\ngpucol.automerge_cost_delay = 0");
$node->reload;
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'gpucol automerge worker'");
$node->safe_psql('postgres', "CREATE TABLE killed (a int PRIMARY KEY, b int, c text) USING gpucol; CREATE TABLE spared (LIKE killed) USING heap; CALL fill('killed', 1, 1000); CALL fill('spared', 1, 1000)");
is(packed_rows('killed'), 0, 'off: not merged');
$node->append_conf('postgresql.conf', 'gpucol.automerge = on');
$node->reload;

# Kills with merges at work.
for my $round (1 .. $ROUNDS)
{
	my $sql = '';
	my $first = $round * 100_000;

	for (1 .. 60)
	{
		my ($id, $last) = (between(1, 1000), $first + 30);

		$sql .= "BEGIN;\n" . join('', map {
			"CALL fill('$_', $first, $last);\nUPDATE $_ SET b = b + 1 WHERE a % 50 = $id % 50;\nDELETE FROM $_ WHERE a = $id;\n"
		} qw(killed spared)) . "COMMIT;\n";
		$first += 31;
	}
	$sql .= "SELECT pg_sleep(3);\n";
	kill_during($node, $sql, 5);
	same_rows($node, 'killed', 'spared', "round $round, killed: the rows of the heap twin");
	sound('killed', "round $round");
}
wait_packed('killed', 500, 'merged after all');
same_rows($node, 'killed', 'spared', 'merged: the rows of the heap twin');

# A standby merges nothing before it is promoted.
my $workers = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'gpucol automerge launcher'";
$node->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->start;
is($standby->safe_psql('postgres', $workers), 0, 'no launcher on a standby');
is($node->safe_psql('postgres', $workers), 1, 'one on its primary');
$standby->promote;
ok($standby->poll_query_until('postgres', "SELECT ($workers) = 1"), 'one after its promotion');
$standby->stop;
$node->stop;
done_testing();
