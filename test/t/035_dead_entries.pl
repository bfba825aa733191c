# 035_dead_entries.pl: index entries of versions that were packed and are gone are used up by the
# indexes, as heap's are, without VACUUM; a standby's query that sees such a version is
# cancelled or gets it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $ROUNDS = 60;
my $node = PostgreSQL::Test::Cluster->new('dead_entries');

$node->init(allows_streaming => 1);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\n");
$node->start;
$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE TABLE packed (id int PRIMARY KEY, h int, v int) USING gpucol;
CREATE INDEX packed_h ON packed USING hash (h);
CREATE TABLE twin (id int PRIMARY KEY, h int, v int);
INSERT INTO packed SELECT i, i, 0 FROM generate_series(1, 200) i;
INSERT INTO twin SELECT * FROM packed;
SELECT gpucol.merge('packed');
SQL
$node->backup('base');

my $standby = PostgreSQL::Test::Cluster->new('dead_entries_standby');

$standby->init_from_backup($node, 'base', has_streaming => 1);
$standby->append_conf('postgresql.conf', "max_standby_streaming_delay = 0\nhot_standby_feedback = off\n");
$standby->start;

# A reader of the standby that keeps its snapshot.
my $reader = $standby->background_psql('postgres', on_error_stop => 0);
my $LOOK = "SET LOCAL enable_seqscan = off; SET LOCAL gpucol.pushdown = forbid;";

$node->wait_for_catchup($standby);
$reader->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.pushdown = forbid;");
like($reader->query_safe("SELECT v FROM packed WHERE id = 77"), qr/^0$/m, 'the standby reads by key');

# Each round packs all rows anew, and comes by each index to what the last round left.
for my $round (1 .. $ROUNDS)
{
	$node->safe_psql('postgres', <<"SQL");
UPDATE packed SET v = v + 1;
UPDATE twin SET v = v + 1;
SELECT gpucol.merge('packed');
DO \$\$
BEGIN
	$LOOK SET LOCAL enable_bitmapscan = off;
	FOR i IN 1 .. 200 LOOP
		PERFORM v FROM packed WHERE id = i;
		PERFORM v FROM packed WHERE h = i;
	END LOOP;
END \$\$;
SQL
}
same_rows($node, 'packed', 'twin', 'rows are right');
my $entries = 200 * 2 * $ROUNDS;

# 24,000 entries need some 65 pages or more
cmp_ok($node->safe_psql('postgres', "SELECT pg_relation_size('packed_pkey') / 8192"), '<', 40, "the key's index has used up its $entries entries");
is($node->safe_psql('postgres', "BEGIN; $LOOK SELECT count(*) FROM generate_series(1, 200) i, LATERAL (SELECT FROM packed WHERE id = i OFFSET 0) p, LATERAL (SELECT FROM packed WHERE h = i OFFSET 0) q; COMMIT"),
	200, 'each row is found by each index');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), 0, 'segments and indexes are sound');

$node->wait_for_catchup($standby);
my $seen = eval { $reader->query("SELECT v FROM packed WHERE id = 77") };

ok(!defined $seen || $seen =~ /^0$/m || $reader->{stderr} =~ /conflict with recovery|terminating connection|server closed/,
	'the standby gets what its snapshot saw, or is cancelled') || diag("got $seen and $reader->{stderr}");
eval { $reader->quit };

# Entries of places that rows were packed away from, marked by a session for which every snapshot sees the packing, and
# deleted by one that last looked when one did not.  A transaction that stays open keeps that one from looking again.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE moved (id int PRIMARY KEY, v int) USING gpucol;
SECURITY LABEL FOR gpucol ON TABLE moved IS 'automerge_threshold = 1';
DO $$
BEGIN
	FOR i IN 1 .. 10 LOOP
		INSERT INTO moved SELECT j, j FROM generate_series(100 * i - 99, 100 * i) j;
		PERFORM gpucol.merge('moved');
	END LOOP;
END $$;
SQL
my %session = map { $_ => $node->background_psql('postgres') } qw(oldest open late marker);
my $BY_KEY = 'SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.pushdown = forbid;';
my $ALL_BY_KEY = "$BY_KEY SELECT count(v) FROM moved WHERE id > 0;";

$node->wait_for_catchup($standby);
$reader = $standby->background_psql('postgres', on_error_stop => 0);
$reader->query_safe("BEGIN ISOLATION LEVEL REPEATABLE READ; $BY_KEY");
like($reader->query_safe('SELECT v FROM moved WHERE id = 999'), qr/^999$/m, 'the standby reads by key before the packing');
$session{oldest}->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1;');
$node->safe_psql('postgres', 'VACUUM moved');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.segments('moved')"), 1, 'the segments are packed');
$session{marker}->query_safe($ALL_BY_KEY);
$node->safe_psql('postgres', 'SELECT pg_current_xact_id()');
$session{open}->query_safe('BEGIN; SELECT pg_current_xact_id();');
$session{late}->query_safe("$BY_KEY BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT v FROM moved WHERE id = 999;");
$session{oldest}->query_safe('COMMIT;');
$session{marker}->query_safe($ALL_BY_KEY);
$session{late}->query_safe('INSERT INTO moved SELECT i, i FROM generate_series(1001, 1400) i; COMMIT;');
$session{open}->query_safe('COMMIT;');
$_->quit for values %session;

$node->wait_for_catchup($standby);
$seen = eval { $reader->query('SELECT v FROM moved WHERE id = 999') };
ok(!defined $seen || $seen =~ /^999$/m || $reader->{stderr} =~ /conflict with recovery|terminating connection|server closed/,
	'the standby gets what its snapshot saw before the packing, or is cancelled') || diag("got $seen and $reader->{stderr}");
eval { $reader->quit };
$standby->stop;
$node->stop;
done_testing();
