# 024_incremental.pl: incremental backups (17 and later) hold every page of gpucol tables
# that loads, changes, merges, VACUUM and reuse of pages have written since the last one.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('source');
plan skip_all => 'incremental backups come with 17' if $node->pg_version < 17;

$node->init(allows_streaming => 1, extra => ['--data-checksums']);
$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\nsummarize_wal = on\n");
$node->start;
my $folder = $node->backup_dir;

$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE TABLE changed (id int PRIMARY KEY, k int, t text) USING gpucol;
INSERT INTO changed SELECT i, i % 10, repeat(md5(i::text), i % 5) FROM generate_series(1, 40000) i;
CREATE TABLE reused (id int, t text) USING gpucol;
INSERT INTO reused SELECT i, 'first' || i FROM generate_series(1, 30000) i;
CREATE TABLE merged (id int, t text) USING gpucol;
CREATE TABLE emptied (id int) USING gpucol;
INSERT INTO emptied SELECT generate_series(1, 20000);
CREATE TABLE still (id int, t text) USING gpucol;
INSERT INTO still SELECT i, 's' || i FROM generate_series(1, 20000) i;
SQL
$node->backup('full');
$node->safe_psql('postgres', <<'SQL');
DELETE FROM changed WHERE id % 60 = 0;
UPDATE changed SET k = k + 5 WHERE id % 71 = 0;
VACUUM changed;
INSERT INTO changed SELECT i, 1, 'more' FROM generate_series(100001, 120000) i;
DELETE FROM reused;
VACUUM reused;
INSERT INTO merged SELECT i, 'w' || i % 9 FROM generate_series(1, 900) i;
SELECT gpucol.merge('merged');
TRUNCATE emptied;
SQL
$node->backup('second', backup_options => [ '--incremental', "$folder/full/backup_manifest" ]);
$node->safe_psql('postgres', <<'SQL');
VACUUM reused;
INSERT INTO reused SELECT i, 'second' || i FROM generate_series(1, 25000) i;
BEGIN;
INSERT INTO changed SELECT i, 1, 'rolled back' FROM generate_series(200001, 220000) i;
ROLLBACK;
VACUUM changed;
INSERT INTO changed SELECT i, 1, 'there instead' FROM generate_series(300001, 315000) i;
SELECT count(*) FROM (SELECT 1 FROM merged WHERE id < 50 FOR UPDATE) x;
INSERT INTO emptied SELECT generate_series(1, 300);
CREATE TABLE late (id int) USING gpucol;
INSERT INTO late SELECT generate_series(1, 20000);
CLUSTER changed USING changed_pkey;
SQL
$node->backup('third', backup_options => [ '--incremental', "$folder/second/backup_manifest" ]);

my @tables = qw(changed reused merged emptied still late);
my $digests = join ' UNION ALL ', map { "SELECT '$_', count(*), sum(hashtextextended(x::text, 0)) FROM $_ x" } @tables;
my $verify = join ' UNION ALL ', map { "SELECT '$_', v::text FROM gpucol.verify('$_') v" } @tables;
my $before = $node->safe_psql('postgres', $digests);
$node->stop;
my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'third', combine_with_prior => [ 'full', 'second' ], standby => 0);
$restored->command_ok([ 'pg_verifybackup', '-i', 'postgresql.conf', $restored->data_dir ], 'every file is what its sum says');
$restored->start;
is($restored->safe_psql('postgres', $digests), $before, 'the combined backup has the rows of the server');
is($restored->safe_psql('postgres', $verify), '', 'and nothing to complain of');
$restored->safe_psql('postgres', <<'SQL');
DELETE FROM changed WHERE id % 50 = 0;
VACUUM changed;
INSERT INTO changed SELECT i, 3, 'again' FROM generate_series(400001, 420000) i;
INSERT INTO reused SELECT i, 'third' FROM generate_series(1, 20000) i;
SQL
is($restored->safe_psql('postgres', $verify), '', 'nor when it is changed');
is($restored->safe_psql('postgres', "SELECT count(*) FROM reused WHERE t = 'third'"), '20000', 'with the rows written since');

# A backup that was not changed since is small: packed pages are copied once.
sub size { my ($name) = @_; my $path = "$folder/$name/base"; my ($bytes) = `du -sk "$path"` =~ /^(\d+)/; return $bytes; }

$node->start;
$node->backup('fourth', backup_options => [ '--incremental', "$folder/third/backup_manifest" ]);
cmp_ok(size('fourth'), '<', size('third'), 'what was not written is not copied');
done_testing();
