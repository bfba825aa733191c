# 055_serializable.pl: serializable transactions update packed rows, and leave the columns of all indexes alone,
# beside merges and VACUUM, until the server is killed.  Replay checks each page of an index against the one that
# was written; afterwards every index leads to the rows of a heap twin.
#
# Before that, transactions read two neighbouring rows by their index and change one of them, so that their sum
# becomes 1 if it was 0, and 0 if it was 1.  Two at a time that miss each other make another one of it.
#
# GPUCOL_ROUNDS and GPUCOL_SECONDS lengthen it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

my $ROUNDS = $ENV{GPUCOL_ROUNDS} || 2;
my $SECONDS = $ENV{GPUCOL_SECONDS} || 4;
my $ROWS = 20000;
my $node = new_server('serializable', 'autovacuum = off', 'wal_consistency_checking = btree', 'enable_seqscan = off');
my %SCRIPTS = (
	update => <<'SQL',
\set id random(1, 20000)
\set rows random(0, 9)
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE packed SET v = v + 1, w = repeat('w', v % 50) WHERE id BETWEEN :id AND :id + :rows;
UPDATE twin SET v = v + 1, w = repeat('w', v % 50) WHERE id BETWEEN :id AND :id + :rows;
COMMIT;
SQL
	key => <<'SQL',
\set id random(1, 20000)
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE packed SET class = class + 1, v = v + 1 WHERE id = :id;
UPDATE twin SET class = class + 1, v = v + 1 WHERE id = :id;
COMMIT;
SQL
	undo => <<'SQL',
\set id random(1, 20000)
BEGIN ISOLATION LEVEL SERIALIZABLE;
UPDATE packed SET v = 0 WHERE id BETWEEN :id AND :id + 20;
ROLLBACK;
SQL
	skew => <<'SQL',
\set pair random(0, 20)
\set side random(0, 1)
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT sum(v) AS sum FROM skew WHERE id BETWEEN 2 * :pair AND 2 * :pair + 1 \gset
\if :sum > 0
UPDATE skew SET v = v - 1 WHERE id = 2 * :pair + :side;
\else
UPDATE skew SET v = v + 1 WHERE id = 2 * :pair + :side;
\endif
COMMIT;
SQL
	pack => "SELECT gpucol.merge('skew');\n\\sleep 20 ms\n",
	upkeep => "SELECT gpucol.merge('packed');\n\\sleep 150 ms\nVACUUM (INDEX_CLEANUP on) packed;\n\\sleep 150 ms\n");

$node->safe_psql('postgres', <<"SQL");
CREATE EXTENSION amcheck;
CREATE TABLE packed (id int PRIMARY KEY, class int, tag text, v int, w text) USING gpucol;
INSERT INTO packed SELECT i, i % 10, 'tag ' || i % 3000, i, 'w' FROM generate_series(1, $ROWS) i;
CREATE INDEX packed_class ON packed (class);
CREATE UNIQUE INDEX packed_class_id ON packed (class, id) INCLUDE (tag);
CREATE INDEX packed_tag ON packed (tag COLLATE "C" DESC NULLS FIRST) WHERE id % 3 = 0;
CREATE INDEX packed_upper ON packed (upper(tag));
CREATE INDEX packed_hash ON packed USING hash (tag);
CREATE TABLE twin (id int PRIMARY KEY, class int, tag text, v int, w text) USING heap;
INSERT INTO twin SELECT * FROM packed;
CREATE TABLE skew (id int PRIMARY KEY, v int) USING gpucol;
INSERT INTO skew SELECT i, 0 FROM generate_series(0, 2000) i;
VACUUM ANALYZE skew;
SQL

# Start pgbench with a script and further arguments; returns its handle.
sub start_bench
{
	my ($script, $out, @arguments) = @_;
	my $file = $node->basedir . "/$script.sql";

	unlink $file;
	append_to_file($file, $SCRIPTS{$script});
	return IPC::Run::start([ 'pgbench', '-n', @arguments, '-h', $node->host, '-p', $node->port, '-f', $file, 'postgres' ],
		'>', $out, '2>&1');
}

# One result: what an index finds under a condition is what the twin has.
sub found_by
{
	my ($index, $condition, $what) = @_;
	my ($plan, $one, $two) = map { $node->safe_psql('postgres', "SET gpucol.pushdown = forbid; SET enable_bitmapscan = off; SET enable_sort = off; $_") }
		("EXPLAIN SELECT * FROM packed WHERE $condition",
		map { "SELECT count(*), sum(hashtextextended(x::text, 0)) FROM $_ x WHERE $condition" } qw(packed twin));

	like($plan, qr/\Q$index\E/, "$what: $index is asked");
	return is($one, $two, "$what: the rows of the twin by $index");
}

sub check
{
	my ($what) = @_;

	same_rows($node, 'packed', 'twin', "$what: the rows of the heap twin");
	found_by('packed_pkey', 'id > 0', $what);
	found_by('packed_tag', 'id % 3 = 0 AND tag COLLATE "C" > \'tag\'', $what);
	found_by('packed_upper', "upper(tag) LIKE 'TAG 1%' AND upper(tag) > 'TAG 1'", $what);
	found_by('packed_hash', "tag = 'tag 77'", $what);
	for my $index (qw(packed_pkey packed_class packed_class_id packed_tag packed_upper))
	{
		is($node->safe_psql('postgres', "SELECT bt_index_check('$index', true)"), '', "$what: amcheck finds every row in $index");
	}
	return is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), 0, "$what: segments and indexes are sound");
}

{
	my ($changed, $packed) = ('', '');
	my $pack = start_bench('pack', \$packed, '-T', $SECONDS);

	ok(start_bench('skew', \$changed, '-T', $SECONDS, '-c', 8, '--max-tries=100')->finish, 'transactions that read and change the same rows') || diag($changed);
	ok($pack->finish, 'beside merges') || diag($packed);
	like($changed, qr/transactions retried: [1-9]/, 'some were to be repeated');
	is($node->safe_psql('postgres', 'SELECT string_agg(DISTINCT sum::text, \' \' ORDER BY sum::text) FROM (SELECT sum(v) FROM skew GROUP BY id / 2) x'),
		'0 1', 'none has missed another one');
	is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('skew')"), 0, 'and their table is sound');
}

for my $round (1 .. $ROUNDS)
{
	my @scripts = qw(key undo update upkeep);
	my %out = map { $_ => '' } @scripts;
	my @bench = map { start_bench($_, \$out{$_}, '-T', 600, '-c', $_ eq 'update' ? 3 : 1, $_ eq 'upkeep' ? () : '--max-tries=100') } @scripts;

	sleep($SECONDS);
	kill_server($node);
	$_->finish for @bench;
	$node->start;
	check("round $round");
}
cmp_ok($node->safe_psql('postgres', 'SELECT count(*) FROM packed WHERE v <> id'), '>', 100, 'rows were updated');
cmp_ok($node->safe_psql('postgres', "SELECT sum(rows) FROM gpucol.segments('packed')"), '>', $ROWS, 'and packed again');
$node->stop;
done_testing();
