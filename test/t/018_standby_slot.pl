# 018_standby_slot.pl: a logical slot on a standby (16 and later) decodes every change
# of gpucol tables, packed rows too.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
plan skip_all => 'standbys decode from 16 on' if $primary->pg_version < 16;

$primary->init(allows_streaming => 'logical');
$primary->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nwal_keep_size = 2GB\n");
$primary->start;
$primary->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE TABLE published (id int PRIMARY KEY, t text) USING gpucol;
CREATE TABLE private (id int PRIMARY KEY, t text) USING gpucol;
INSERT INTO published SELECT -i, 'packed' FROM generate_series(1, 20000) i;
CREATE PUBLICATION p FOR TABLE published;
SELECT pg_create_physical_replication_slot('standby');
SQL
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf',
	"primary_slot_name = 'standby'\nhot_standby_feedback = on\nwal_receiver_status_interval = 1\n");
$standby->start;

sub packed
{
	my ($table) = @_;
	return $primary->safe_psql('postgres', "SELECT count(*) FROM gpucol.segments('$table')");
}

sub wait_for_feedback
{
	my ($condition) = @_;
	$primary->poll_query_until('postgres',
		"SELECT catalog_xmin $condition FROM pg_replication_slots WHERE slot_name = 'standby'")
	  or die "the standby's catalog_xmin never $condition";
}

# Making the slot waits for the primary to log which transactions run.
sub make_slot
{
	my $sql = "SELECT pg_create_logical_replication_slot('s', 'pgoutput')";
	my $handle = IPC::Run::start([ 'psql', '-X', '-q', '-d', $standby->connstr('postgres'), '-c', $sql ],
		'>', \my $output, '2>&1');

	for (1 .. 600)
	{
		$primary->safe_psql('postgres', 'SELECT pg_log_standby_snapshot()');
		last if $standby->safe_psql('postgres', 'SELECT count(*) FROM pg_replication_slots WHERE confirmed_flush_lsn IS NOT NULL') eq '1';
		sleep 0.1;
	}
	$handle->finish or die $output;
}

# Changes of one kind that the standby's slot decodes.
sub decoded
{
	my ($kind) = @_;

	return $standby->safe_psql('postgres', <<~SQL);
		SELECT count(*) FROM pg_logical_slot_peek_binary_changes('s', NULL, NULL, 'proto_version', '1', 'publication_names', 'p')
		WHERE get_byte(data, 0) = ascii('$kind')
		SQL
}

isnt(packed('published'), '0', 'without a slot a load is packed');
make_slot();
wait_for_feedback('IS NOT NULL');
my $before = packed('published');
$primary->safe_psql('postgres', <<'SQL');
INSERT INTO published SELECT i, 'text ' || i FROM generate_series(1, 20000) i;
UPDATE published SET t = 'changed' WHERE id BETWEEN 1 AND 300;
DELETE FROM published WHERE id > 19000;
INSERT INTO private SELECT i, 'text' FROM generate_series(1, 20000) i;
SQL
cmp_ok(packed('published'), '>', $before, 'a load is packed beside a slot of the standby');
isnt($primary->safe_psql('postgres', "UPDATE published SET t = NULL WHERE id = -15000; SELECT gpucol.merge('published')"), '0', 'so is the delta');
$primary->wait_for_catchup($standby, 'replay');
is(decoded('I'), '20000', 'inserts are decoded on the standby');
is(decoded('U'), '301', 'updates are');
is(decoded('D'), '1000', 'deletes are');

SKIP:
{
	skip 'failover slots come with 17', 1 if $primary->pg_version < 17;
	$primary->safe_psql('postgres', <<'SQL');
	CREATE DATABASE elsewhere;
	\c elsewhere
	SELECT pg_create_logical_replication_slot('f', 'pgoutput', false, false, true);
	\c postgres
	INSERT INTO private SELECT i, 'text' FROM generate_series(20001, 40000) i;
	INSERT INTO published SELECT i, 'text' FROM generate_series(20001, 40000) i;
SQL
	$primary->wait_for_catchup($standby, 'replay');
	is(decoded('I'), '40000', 'beside failover slots published rows are decoded on the standby');
	$primary->safe_psql('postgres', "SELECT pg_drop_replication_slot('f')");
}

$standby->safe_psql('postgres', "SELECT pg_drop_replication_slot('s')");
done_testing();
