# 006_standby.pl: a hot standby answers as its primary after loads, changes,
# merges, row locks and VACUUM, with every replayed page compared,
# and goes on after promotion.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $primary = PostgreSQL::Test::Cluster->new('primary');
$primary->init(allows_streaming => 1);
$primary->append_conf('postgresql.conf', "fsync = off\nwal_consistency_checking = 'all'\nautovacuum = off\nwal_keep_size = 2GB\n" .
	"shared_preload_libraries = 'gpucol'\ngpucol.automerge = off\ngpucol.automerge_naptime = 1s\ngpucol.automerge_threshold = 100\ngpucol.automerge_scale_factor = 0\n");
$primary->start;
$primary->safe_psql('postgres', 'CREATE EXTENSION gpucol');
$primary->backup('base');
my $standby = PostgreSQL::Test::Cluster->new('standby');
$standby->init_from_backup($primary, 'base', has_streaming => 1);
$standby->start;

my $digest = 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM packed x';
my $grouped = 'SELECT k, count(*), sum(n) FROM packed WHERE id > 100 GROUP BY k ORDER BY k';

# Run SQL on the primary; one result: the standby then answers the same.
sub replays
{
	my ($what, $sql) = @_;

	$primary->safe_psql('postgres', $sql);
	$primary->wait_for_catchup($standby, 'replay');
	for my $query ($digest, $grouped)
	{
		is($standby->safe_psql('postgres', $query), $primary->safe_psql('postgres', $query), "standby after $what");
	}
	is($standby->safe_psql('postgres', "SELECT * FROM gpucol.verify('packed')"), '', "$what: segments and indexes are sound");
	return;
}

replays('a bulk load', <<'SQL');
CREATE TABLE packed (id int PRIMARY KEY, k int, n numeric(10,2), t text) USING gpucol;
INSERT INTO packed SELECT i, i % 10, i / 7.0, 'text ' || i FROM generate_series(1, 50000) i;
SQL
replays('small inserts', "INSERT INTO packed VALUES (-1, 1, 1, 'a'), (-2, 2, 2, repeat('b', 9000))");
replays('updates and deletes', 'UPDATE packed SET n = n + 1 WHERE id % 50 = 0; DELETE FROM packed WHERE id % 70 = 0');
replays('a rollback', "BEGIN; INSERT INTO packed SELECT -i, 0, 0, '' FROM generate_series(100, 9000) i; ROLLBACK");
replays('a merge', "SELECT gpucol.merge('packed')");
replays('VACUUM', 'VACUUM packed');
replays('row locks', 'BEGIN; SELECT count(*) FROM (SELECT 1 FROM packed WHERE id BETWEEN 1001 AND 3000 FOR KEY SHARE) x; SAVEPOINT a; UPDATE packed SET n = n + 1 WHERE id IN (1001, 1002); COMMIT');
replays('a failed load', "BEGIN; INSERT INTO packed SELECT -i, 0, 0, md5(i::text) FROM generate_series(100, 30000) i; SELECT count(*) FROM packed; ROLLBACK; VACUUM packed");
replays('a load into its pages', "INSERT INTO packed SELECT 100000 + i, i % 10, 0, 'reused ' || i FROM generate_series(1, 20000) i");
replays('a fold of all rows of a segment', 'DELETE FROM packed WHERE id > 100000; VACUUM packed');
replays('the pages of a dead segment', "VACUUM packed; INSERT INTO packed SELECT 200000 + i, i % 10, 0, 'again ' || i FROM generate_series(1, 20000) i");
replays('CLUSTER', 'CLUSTER packed USING packed_pkey');
replays('an added column', "ALTER TABLE packed ADD COLUMN extra int DEFAULT 7; UPDATE packed SET extra = 8 WHERE id = 5");
replays('a rewrite', 'ALTER TABLE packed ALTER COLUMN k TYPE bigint');

# A reader of the standby asks the same before and after the primary removes what its
# snapshot sees: the old answer, or a conflict, nothing else.
sub old_reader
{
	my ($what, $query, $sql) = @_;
	my $go = PostgreSQL::Test::Utils::tempdir_short() . '/go';
	my ($output, $errors) = ('', '');
	my $script = "BEGIN ISOLATION LEVEL REPEATABLE READ;\n$query;\n\\! while [ ! -e $go ]; do sleep 0.1; done\n$query;\nCOMMIT;\n";
	my $reader = IPC::Run::start(
		[ 'psql', '-X', '-q', '-A', '-t', '-d', $standby->connstr('postgres') ],
		'<', \$script, '>', \$output, '2>', \$errors);

	$reader->pump until $output =~ /\n/;
	ref $sql ? $sql->() : $primary->safe_psql('postgres', $sql);
	$primary->wait_for_catchup($standby, 'replay');
	open my $file, '>', $go or die "$go: $!";
	close $file;
	eval { $reader->finish };
	my @answers = split /\n/, $output;
	ok((@answers == 2 && $answers[0] eq $answers[1]) || $errors =~ /conflict with recovery|terminating connection/,
		"$what: an old snapshot sees the old rows or conflicts") or diag("$output$errors");
	return;
}
$standby->append_conf('postgresql.conf', 'max_standby_streaming_delay = 500ms');
$standby->reload;
# without rows in the delta, and the TOAST relation left alone, whose ends heap would log
$primary->safe_psql('postgres', "CREATE TABLE pure (id int PRIMARY KEY) USING gpucol; COPY pure FROM PROGRAM 'seq 30000'");
$primary->wait_for_catchup($standby, 'replay');
old_reader('index entries of deleted rows', "SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off; SELECT count(*) FROM pure WHERE id > 0",
	'DELETE FROM pure WHERE id % 3 = 0; VACUUM (INDEX_CLEANUP ON, PROCESS_TOAST OFF) pure');
$primary->safe_psql('postgres', 'CREATE TABLE small (id int PRIMARY KEY) USING gpucol; ' .
	join(' ', map { "COPY small FROM PROGRAM 'seq $_ @{[$_ + 1999]}';" } map { $_ * 2000 } 0 .. 7));
$primary->wait_for_catchup($standby, 'replay');
old_reader('index entries of rows that were packed elsewhere', "SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off; SELECT count(*) FROM small WHERE id > 0",
	'VACUUM (PROCESS_TOAST OFF) small; VACUUM (PROCESS_TOAST OFF) small');
is($primary->safe_psql('postgres', "SELECT count(*) FROM gpucol.segments('small')"), 1, 'the segments were packed together');

# Automatic merges fold and pack, and VACUUM deletes the index entries of the rows later.
sub automerge
{
	my ($on) = @_;

	$primary->append_conf('postgresql.conf', "gpucol.automerge = $on");
	$primary->reload;
	return;
}
my $to_fold = "SELECT count(*) FROM gpucol.waiting('holed') WHERE work = 'deletions to fold'";
my $by_index = "SET enable_seqscan = off; SET enable_bitmapscan = off; SET gpucol.enabled = off; SELECT count(*), sum(id) FROM holed WHERE id > 0";
$primary->safe_psql('postgres', "CREATE TABLE holed (id int PRIMARY KEY) USING gpucol; COPY holed FROM PROGRAM 'seq 30000'");
$primary->wait_for_catchup($standby, 'replay');
automerge('on');
for my $round (1 .. 2)
{
	for my $query ('SELECT count(*), sum(id) FROM holed', $by_index)
	{
		my $gone = 2 * $round + ($query eq $by_index);

		old_reader("rows that automatic merges have folded, $round", $query,
			"DELETE FROM holed WHERE id % 20 = $gone; DO \$\$ BEGIN WHILE ($to_fold) > 0 LOOP PERFORM pg_sleep(0.1); COMMIT; END LOOP; END \$\$");
		is($standby->safe_psql('postgres', "SELECT count(*) FROM holed WHERE id % 20 = $gone"), 0, 'a new one sees that they are gone');
		is($standby->safe_psql('postgres', "$by_index AND id % 20 = $gone"), '0|', 'by the index, too');
	}
	old_reader("index entries of folded rows, $round", $by_index, 'VACUUM (INDEX_CLEANUP ON, PROCESS_TOAST OFF) holed');
}
is($standby->safe_psql('postgres', "SELECT * FROM gpucol.verify('holed')"), '', 'segments and indexes of the folded table are sound');

# Segments that automatic merges have emptied, while a snapshot keeps the TOAST relation's VACUUM away; then their index
# entries go as a page of the index gets full, or by VACUUM.
sub empty_segments
{
	my ($table, $after) = @_;
	my $holder = $primary->background_psql('postgres');

	automerge('off');
	$primary->safe_psql('postgres', "SELECT pg_sleep(1.5); DELETE FROM $table");
	$primary->safe_psql('postgres', "SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_indexonlyscan = off; SET gpucol.enabled = off; SELECT count(*) FROM $table WHERE id > 0");
	$holder->query_safe('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
	automerge('on');
	ok($primary->poll_query_until('postgres', "SELECT count(*) FROM gpucol.segments('$table')", '0'), "$table: all segments have gone");
	automerge('off');
	$after->($holder);
	$holder->quit;
	return;
}
$primary->safe_psql('postgres', "CREATE TABLE $_ (id int PRIMARY KEY) USING gpucol; COPY $_ FROM PROGRAM 'seq 30000'") for qw(filled emptied);
$primary->wait_for_catchup($standby, 'replay');
old_reader('index entries of emptied segments on full pages', $by_index =~ s/holed/filled/r,
	sub { empty_segments('filled', sub { $primary->safe_psql('postgres', 'INSERT INTO filled SELECT generate_series(15000, 15999)') }) });
sub removed_entries
{
	my ($options) = @_;

	return ($primary->psql('postgres', "VACUUM (VERBOSE, INDEX_CLEANUP ON$options) emptied"))[2] =~ / (\d+) index entries removed/ ? $1 : undef;
}
old_reader('index entries of emptied segments, by VACUUM', $by_index =~ s/holed/emptied/r, sub {
	empty_segments('emptied', sub {
		$_[0]->query_safe('COMMIT');
		is(removed_entries(', PROCESS_TOAST OFF'), 0, 'VACUUM leaves the entries until standbys have been told');
	});
});
is(removed_entries('') + removed_entries(''), 30000, 'then it removes them');
is(removed_entries(''), 0, 'once');
is($primary->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('emptied')"), 0, 'the index of the emptied table is sound');
old_reader('pages of a dead segment, used again', $digest, <<'SQL');
DELETE FROM packed;
VACUUM packed;
VACUUM packed;
INSERT INTO packed SELECT i, 0, i, 'other ' || i FROM generate_series(1, 30000) i;
SQL
replays('TRUNCATE and a new load', "TRUNCATE packed; INSERT INTO packed SELECT i, i % 3, i, 'again' FROM generate_series(1, 20000) i");

my ($status, undef, $error) = $standby->psql('postgres', "SELECT gpucol.merge('packed')");
like($error, qr/recovery|read-only/, 'a standby refuses to merge');
my $before = $primary->safe_psql('postgres', $digest);
$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', $digest), $before, 'the promoted standby has every row');
$standby->safe_psql('postgres', "INSERT INTO packed SELECT -i, 0, 0, 'new' FROM generate_series(1, 5000) i; SELECT gpucol.merge('packed')");
is($standby->safe_psql('postgres', 'SELECT count(*) FROM packed'), '25000', 'and takes more');
ok(!$standby->log_contains('inconsistent page found'), 'no page differed in replay');
$standby->stop;
done_testing();
