# 056_failover.pl: a standby takes over with the slots that it has synchronized (failover slots, 17 and later).  What the
# subscriber had not got from the old primary, packed rows too, it gets from the new one: each change once.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
plan skip_all => 'failover slots come with 17' if $primary->pg_version < 17;

my @TABLES = qw(keyed whole indexed loose);

# Run statements over each of the tables and their heap twins; T is the table.
sub each_table
{
	my ($node, $sql, @tables) = @_;

	$node->safe_psql('postgres', join("\n", map { my $table = $_; $sql =~ s/\bT(?=\b|_)/$table/gr } map { ($_, "twin_$_") } @tables));
	return;
}

sub define_tables
{
	my ($node) = @_;

	$node->safe_psql('postgres', "CREATE EXTENSION gpucol;\n" .
		join("\n", map { my $table = $_; map { "CREATE TABLE $$_[0]$table (id int PRIMARY KEY, u int NOT NULL UNIQUE, n numeric(10,2), t text) USING $$_[1];" } [ '', 'gpucol' ], [ 'twin_', 'heap' ] } @TABLES));
	each_table($node, 'ALTER TABLE T REPLICA IDENTITY FULL;', 'whole');
	each_table($node, 'ALTER TABLE T REPLICA IDENTITY USING INDEX T_u_key;', 'indexed');
	each_table($node, 'ALTER TABLE T REPLICA IDENTITY NOTHING;', 'loose');
	return;
}

$primary->init(allows_streaming => 'logical', extra => $primary->pg_version >= 18 ? ['--no-data-checksums'] : []);
$primary->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nwal_keep_size = 2GB\n");
$primary->start;
define_tables($primary);
each_table($primary, "INSERT INTO T SELECT i, -i, i / 4.0, 'first ' || i FROM generate_series(1, 5000) i;", @TABLES);
$primary->safe_psql('postgres', <<'SQL');
CREATE PUBLICATION p FOR TABLE keyed, twin_keyed, whole, twin_whole, indexed, twin_indexed;
CREATE PUBLICATION loads FOR TABLE loose, twin_loose WITH (publish = 'insert');
SELECT pg_create_physical_replication_slot('standby');
SQL
$primary->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
my $conninfo = $primary->connstr . ' dbname=postgres';
$standby->append_conf('postgresql.conf', <<"CONF");
primary_conninfo = '$conninfo'
primary_slot_name = 'standby'
hot_standby_feedback = on
wal_receiver_status_interval = 1
sync_replication_slots = on
CONF
$standby->start;
$primary->append_conf('postgresql.conf', "synchronized_standby_slots = 'standby'\n");
$primary->reload;

my $subscriber = PostgreSQL::Test::Cluster->new('subscriber');
$subscriber->init(allows_streaming => 'logical');
$subscriber->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$subscriber->start;
define_tables($subscriber);
my $publisher = $primary->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "CREATE SUBSCRIPTION s CONNECTION '$publisher' PUBLICATION p, loads WITH (failover = true)");
$subscriber->wait_for_subscription_sync($primary, 's');

# The subscriber has what a server has; each packed table the rows of its twin.
sub compare
{
	my ($node, $what) = @_;

	$node->wait_for_catchup('s');
	for my $table (@TABLES)
	{
		my ($packed, $twin) = map { "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x" } $table, "twin_$table";

		is($subscriber->safe_psql('postgres', $packed), $subscriber->safe_psql('postgres', $twin), "$what: the subscriber's $table is as its twin");
		next if $table eq 'loose';
		is($subscriber->safe_psql('postgres', $packed), $node->safe_psql('postgres', $packed), "$what: and as the publisher's");
	}
	return;
}

sub wait_for_slot
{
	my ($behind) = @_;
	my $lsn = $primary->safe_psql('postgres', "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = 's'");

	ok($standby->poll_query_until('postgres',
		"SELECT synced AND NOT temporary AND invalidation_reason IS NULL AND confirmed_flush_lsn >= '$lsn' FROM pg_replication_slots WHERE slot_name = 's'"),
		"the standby has the slot, $behind");
	return;
}

compare($primary, 'first copy');
# the standby's copy of the slot lasts once something has been decoded behind its beginning
each_table($primary, "UPDATE T SET n = n + 1 WHERE id <= 10;", qw(keyed whole indexed));
compare($primary, 'before');
wait_for_slot('as the subscriber does');

# What comes now stays behind on the old primary: the subscriber sleeps.
$subscriber->safe_psql('postgres', 'ALTER SUBSCRIPTION s DISABLE');
$subscriber->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_subscription WHERE subname = 's' AND pid IS NOT NULL") or die 'it does not end';
each_table($primary, "INSERT INTO T SELECT i, -i, i, 'second ' || i FROM generate_series(10001, 16000) i;", @TABLES);
each_table($primary, <<'SQL', qw(keyed whole indexed));
UPDATE T SET t = t || 'x' WHERE id % 7 = 0;
UPDATE T SET id = id + 100000 WHERE id % 501 = 0;
UPDATE T SET u = u - 100000 WHERE id % 502 = 0;
DELETE FROM T WHERE id % 11 = 0;
INSERT INTO T VALUES (5, 5, 5, 'five') ON CONFLICT (id) DO UPDATE SET t = excluded.t;
BEGIN; UPDATE T SET n = 0; SAVEPOINT a; DELETE FROM T WHERE id < 100; ROLLBACK TO a; ROLLBACK;
SQL
isnt($primary->safe_psql('postgres', "SELECT gpucol.merge('$_')"), '0', "$_: a merge packs rows") for qw(keyed whole indexed);
$primary->safe_psql('postgres', 'VACUUM keyed, whole, indexed');
each_table($primary, "UPDATE T SET n = n * 2 WHERE id % 9 = 0; DELETE FROM T WHERE id % 13 = 0;", qw(keyed whole indexed));
$primary->wait_for_catchup($standby, 'replay');
my %digest = map { $_ => $primary->safe_psql('postgres', "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x") } @TABLES;

kill_server($primary);
$standby->promote;
is($standby->safe_psql('postgres', "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x"), $digest{$_}, "the new primary has all of $_") for @TABLES;
each_table($standby, "INSERT INTO T SELECT i, -i, i, 'third ' || i FROM generate_series(20001, 23000) i;", @TABLES);
each_table($standby, "UPDATE T SET n = n + 5 WHERE id % 17 = 0; DELETE FROM T WHERE id % 19 = 0;", qw(keyed whole indexed));
$publisher = $standby->connstr . ' dbname=postgres';
$subscriber->safe_psql('postgres', "ALTER SUBSCRIPTION s CONNECTION '$publisher'; ALTER SUBSCRIPTION s ENABLE");
compare($standby, 'behind the failover');

$standby->safe_psql('postgres', "SELECT gpucol.merge('keyed')");
each_table($standby, "UPDATE T SET n = n - 3 WHERE id % 23 = 0; DELETE FROM T WHERE id % 29 = 0;", qw(keyed whole indexed));
compare($standby, 'and later');
is($standby->safe_psql('postgres', "SELECT * FROM gpucol.verify('$_')"), '', "$_ is sound") for @TABLES;
$_->stop for $subscriber, $standby;
done_testing();
