# 017_subscriber.pl: a gpucol table as the target of logical replication. Its first
# copy is packed; changes find packed rows by primary key, or, without one, by a scan
# of the table that sees what transactions in progress do.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('subscriber', 'wal_level = logical', 'max_wal_senders = 5', 'autovacuum = off', 'log_min_messages = debug1');
my $publisher = 'postgres';
my $subscriber = 'target';

$node->safe_psql($publisher, 'CREATE DATABASE target');
$node->safe_psql($publisher, <<'SQL');
CREATE TABLE keyed (id int PRIMARY KEY, n numeric(10,2), t text, big text);
CREATE TABLE whole (id int, n float8, t text);
ALTER TABLE whole REPLICA IDENTITY FULL;
INSERT INTO keyed SELECT i, i / 4.0, 't' || i % 50, CASE WHEN i % 500 = 0 THEN repeat(md5(i::text), 400) END FROM generate_series(1, 4000) i;
INSERT INTO whole SELECT i, i / 8.0, 't' || i % 50 FROM generate_series(1, 3000) i;
INSERT INTO whole SELECT i % 10, 0, 'same' FROM generate_series(1, 100) i;
CREATE PUBLICATION p FOR ALL TABLES;
SELECT pg_create_logical_replication_slot('s', 'pgoutput');
SQL
my $connection = $node->connstr($publisher);
$node->safe_psql($subscriber, <<"SQL");
CREATE EXTENSION gpucol;
CREATE TABLE keyed (id int PRIMARY KEY, n numeric(10,2), t text, big text) USING gpucol;
CREATE TABLE whole (id int, n float8, t text) USING gpucol;
CREATE SUBSCRIPTION s CONNECTION \$\$$connection\$\$ PUBLICATION p WITH (create_slot = false, slot_name = 's');
SQL
$node->poll_query_until($subscriber, "SELECT count(*) = 2 FROM pg_subscription_rel WHERE srsubstate = 'r'") or die 'the first copy does not end';

# Wait until the subscriber has all that was committed, and compare.
sub compare
{
	my ($what) = @_;
	my $lsn = $node->safe_psql($publisher, 'SELECT pg_current_wal_insert_lsn()');

	ok($node->poll_query_until($publisher, "SELECT confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 's'"), "$what: replicated");
	for my $table ('keyed', 'whole')
	{
		my $query = "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $table x";

		is($node->safe_psql($subscriber, $query), $node->safe_psql($publisher, $query), "$what: $table");
	}
}

for my $table ('keyed', 'whole')
{
	is($node->safe_psql($subscriber, "SELECT count(*) > 0 FROM gpucol.segments('$table')"), 't', "the first copy of $table is packed");
}
compare('first copy');

$node->safe_psql($publisher, <<'SQL');
UPDATE keyed SET n = n + 1, t = t || 'x' WHERE id % 7 = 0;
DELETE FROM keyed WHERE id % 11 = 0;
UPDATE keyed SET id = id + 100000 WHERE id % 13 = 0;
UPDATE keyed SET big = big || 'y' WHERE id % 1000 = 0;
UPDATE whole SET n = n + 1 WHERE id % 117 = 0;
DELETE FROM whole WHERE id % 119 = 0;
UPDATE whole SET t = 'other' WHERE t = 'same' AND id = 3;
DELETE FROM whole WHERE t = 'same' AND id = 4;
BEGIN;
UPDATE whole SET t = 'a' WHERE id < 30;
SAVEPOINT a;
DELETE FROM whole WHERE id < 20;
ROLLBACK TO a;
UPDATE whole SET t = t || 'b' WHERE id < 10;
COMMIT;
SQL
compare('changes of packed rows');

# A session of the subscriber is deleting the row that a change looks for: the change waits.
for my $end ('ROLLBACK', 'COMMIT')
{
	my $id = $end eq 'COMMIT' ? 901 : 900;
	my $session = $node->background_psql($subscriber);

	$session->query_safe("BEGIN; DELETE FROM whole WHERE id = $id");
	$node->safe_psql($publisher, "UPDATE whole SET t = 'waited' WHERE id = $id");
	ok($node->poll_query_until($subscriber, "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_subscription USING (pid) WHERE NOT granted)"), "$end: the change waits");
	$session->query_safe($end);
	$session->quit;
	$node->safe_psql($publisher, "DELETE FROM whole WHERE id = $id") if $end eq 'COMMIT';
	compare("after $end");
}

$node->safe_psql($publisher, 'DELETE FROM whole WHERE id BETWEEN 1000 AND 2800; DELETE FROM keyed WHERE id > 3000');
compare('deletions');
is($node->safe_psql($subscriber, "SELECT * FROM gpucol.verify('$_')"), '', "$_ is verified") for 'keyed', 'whole';
unlike(PostgreSQL::Test::Utils::slurp_file($node->logfile), qr/PANIC|TRAP|terminated by signal/, 'no crash');

$node->safe_psql($subscriber, 'ALTER SUBSCRIPTION s DISABLE; ALTER SUBSCRIPTION s SET (slot_name = NONE); DROP SUBSCRIPTION s');
done_testing();
