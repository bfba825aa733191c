# 019_upgrade.pl: pg_upgrade carries gpucol tables over, by copies and by links. The old
# server is the one that GPUCOL_OLD_BIN names (the bin folder of an older PostgreSQL
# with the extension), else one of the same major.
use strict;
use warnings;
use File::Basename;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $old_bin = $ENV{GPUCOL_OLD_BIN};
my @old_path = $old_bin ? (install_path => dirname($old_bin)) : ();

sub new_cluster
{
	my ($name, @options) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name, @options);

	# 18 has checksums unless told
	$node->init(extra => $old_bin && $node->pg_version >= 18 ? ['--no-data-checksums'] : []);
	$node->append_conf('postgresql.conf', "fsync = off\nautovacuum = off\ntimezone = 'UTC'\n");
	return $node;
}

my $old = new_cluster('old', @old_path);
$old->start;
$old->safe_psql('postgres', <<'SQL');
CREATE EXTENSION gpucol;
CREATE TYPE mood AS ENUM ('sad', 'ok');
CREATE TABLE mixed (id int PRIMARY KEY, k int, n numeric(12,3), t text, d date, m mood, j jsonb, f float8) USING gpucol;
INSERT INTO mixed SELECT i, i % 10, i / 7.0, repeat(md5(i::text), i % 5), date '2020-01-01' + i % 900,
	(ARRAY['sad', 'ok'])[1 + i % 2]::mood, jsonb_build_object('k', i % 7), i / 3.0 FROM generate_series(1, 40000) i;
CREATE INDEX ON mixed (k, d);
DELETE FROM mixed WHERE id % 97 = 0;
UPDATE mixed SET n = n + 1 WHERE id % 501 = 0;
INSERT INTO mixed SELECT i, 1, 2, repeat('long ', 5000) FROM generate_series(100001, 100050) i;
CREATE TABLE delta_only (id int, v text) USING gpucol;
INSERT INTO delta_only VALUES (1, 'a row in a heap page');
BEGIN;
INSERT INTO delta_only SELECT i, 'rolled back' FROM generate_series(1, 20000) i;
ROLLBACK;
CREATE TABLE no_row (id int) USING gpucol;
CREATE TABLE altered (a int, b text, c int) USING gpucol;
INSERT INTO altered SELECT i, 'x' || i, i * 2 FROM generate_series(1, 20000) i;
ALTER TABLE altered DROP COLUMN b;
ALTER TABLE altered ADD COLUMN d int DEFAULT 9;
INSERT INTO altered SELECT i, i, i FROM generate_series(1, 20000) i;
CREATE TABLE parts (id int, v int) PARTITION BY RANGE (id);
CREATE TABLE parts1 PARTITION OF parts FOR VALUES FROM (0) TO (10000) USING gpucol;
CREATE TABLE parts2 PARTITION OF parts FOR VALUES FROM (10000) TO (100000) USING gpucol;
INSERT INTO parts SELECT i, i % 13 FROM generate_series(1, 30000) i;
CREATE TABLE merged (id int, v text) USING gpucol;
INSERT INTO merged SELECT i, 'v' || i % 9 FROM generate_series(1, 900) i;
SELECT gpucol.merge('merged');
CREATE MATERIALIZED VIEW counts USING gpucol AS SELECT k, count(*) AS c FROM mixed GROUP BY k;
CREATE VIEW ranked AS SELECT gpucol.u_topk(k, c, 0.4, 2) AS best FROM counts;
SQL
# PostgreSQL 15.20 marks columns with an option that releases before it refuse.
$old->safe_psql('postgres', 'UPDATE pg_attribute SET attoptions = NULL WHERE attoptions IS NOT NULL') if $old_bin;

my @tables = qw(mixed delta_only no_row altered parts1 parts2 merged counts);
my $segments = join ' UNION ALL ', map { "SELECT '$_', count(*)::text, sum(rows)::text FROM gpucol.segments('$_')" } @tables;
my $digests = join(' UNION ALL ', map { "SELECT '$_', count(*)::text, sum(hashtextextended(x::text, 0))::text FROM $_ x" } (@tables, 'parts', 'ranked')) . ' ORDER BY 1';
my $verify = join ' UNION ALL ', map { "SELECT '$_', v::text FROM gpucol.verify('$_') v" } @tables;
my $grouped = 'SELECT k, count(*), sum(n), min(d), max(f) FROM mixed WHERE id > 50 GROUP BY k ORDER BY k';
my $indexed = "SET gpucol.pushdown = forbid; SET enable_seqscan = off; SELECT id, n, d FROM mixed WHERE id IN (77, 97, 501, 100001) OR k = 3 AND d = '2020-01-14' ORDER BY id";
my @queries = ($segments, $digests, $grouped, $indexed);
my @before = map { $old->safe_psql('postgres', $_) } @queries;
$old->stop;

# Upgrade the old cluster in one way, which that way makes useless if it is by links.
for my $way ('--copy', '--link')
{
	my $new = new_cluster("new$way");
	my $bin = $new->config_data('--bindir');

	command_ok([ "$bin/pg_upgrade", '--no-sync', '-d', $old->data_dir, '-D', $new->data_dir, '-b', $old_bin || $bin, '-B', $bin,
			'-s', $new->host, '-p', $old->port, '-P', $new->port, $new->pg_version < 18 && $way eq '--copy' ? () : $way ], "pg_upgrade $way");
	$new->start;
	is($new->safe_psql('postgres', $queries[$_]), $before[$_], "query $_ after $way") for 0 .. $#queries;
	is($new->safe_psql('postgres', $verify), '', "nothing to complain of after $way");
	$new->safe_psql('postgres', <<'SQL');
	DELETE FROM mixed WHERE id % 50 = 0;
	VACUUM (FREEZE) mixed;
	INSERT INTO mixed SELECT i, 3 FROM generate_series(200001, 220000) i;
	INSERT INTO no_row SELECT generate_series(1, 20000);
	SELECT gpucol.merge('delta_only');
	REFRESH MATERIALIZED VIEW counts;
	VACUUM FULL altered;
SQL
	is($new->safe_psql('postgres', 'SELECT sum(c) = (SELECT count(*) FROM mixed) FROM counts'), 't', "life goes on after $way");
	is($new->safe_psql('postgres', $verify), '', 'and still nothing to complain of');
	$new->stop;
}
done_testing();
