# 050_tombstones.pl: new sessions read the tombstones of a segment page by page, and others keep its bitmaps, while others delete
# rows here and there, so that pages of the directory's index are split, roll back, and VACUUM and automatic merges fold.
# Every snapshot sees the same rows as in a heap table whose rows go in the same transactions.
#
# GPUCOL_SECONDS lengthens it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my $SECONDS = $ENV{GPUCOL_SECONDS} || 4;
my $ROWS = 20000;
my $node = new_server('tombstones', 'autovacuum = off', "shared_preload_libraries = 'gpucol'", 'gpucol.automerge_naptime = 1s',
	'gpucol.automerge_threshold = 100', 'gpucol.automerge_scale_factor = 0');
my %SCRIPTS = (
	delete => <<'SQL',
\set id random(1, 20000)
BEGIN;
DELETE FROM twin WHERE id = :id;
DELETE FROM packed WHERE id = :id;
COMMIT;
SQL
	undo => <<'SQL',
\set id random(1, 20000)
BEGIN;
DELETE FROM packed WHERE id % 100 = :id % 100;
ROLLBACK;
SQL
	read => <<'SQL',
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT 1 / ((SELECT (count(*), sum(v)) FROM packed) = (SELECT (count(*), sum(v)) FROM twin))::int;
COMMIT;
SQL
	vacuum => "VACUUM (INDEX_CLEANUP on) packed;\n\\sleep 300 ms\n");

# Start pgbench with a script and further arguments; returns its handle.
sub start_bench
{
	my ($script, $out, @arguments) = @_;
	my $file = $node->basedir . "/$script.sql";

	append_to_file($file, $SCRIPTS{$script}) unless -e $file;
	return IPC::Run::start([ 'pgbench', '-n', '-T', $SECONDS, @arguments, '-h', $node->host, '-p', $node->port, '-f', $file, 'postgres' ],
		'>', $out, '2>&1');
}

$node->safe_psql('postgres', <<"SQL");
CREATE TABLE packed (id int PRIMARY KEY, v int) USING gpucol;
INSERT INTO packed SELECT i, i FROM generate_series(1, $ROWS) i;
CREATE TABLE twin (id int PRIMARY KEY, v int) USING heap;
INSERT INTO twin SELECT * FROM packed;
SQL
is($node->safe_psql('postgres', "SELECT sum(rows) FROM gpucol.segments('packed')"), $ROWS, 'all rows are packed');

my %out;
my %bench = (
	delete => start_bench('delete', \$out{delete}, '-c', 3),
	undo => start_bench('undo', \$out{undo}, '-c', 1),
	read => start_bench('read', \$out{read}, '-c', 3, '-C'),
	stay => start_bench('read', \$out{stay}, '-c', 2),
	vacuum => start_bench('vacuum', \$out{vacuum}, '-c', 1));

foreach my $script (sort keys %bench)
{
	ok($bench{$script}->finish, "$script: pgbench ends well") || diag($out{$script});
	is($out{$script} =~ /ERROR[^\n]*/ ? $& : '', '', "$script: no statement fails");
}
$node->safe_psql('postgres', "DELETE FROM packed WHERE id % 40 = 7; DELETE FROM twin WHERE id % 40 = 7");
ok($node->poll_query_until('postgres', "SELECT count(*) FROM gpucol.waiting('packed') WHERE work = 'deletions to fold'", '0'),
	'deletions are folded automatically');
is($node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE packed EXCEPT ALL TABLE twin) x') . '|' .
	$node->safe_psql('postgres', 'SELECT count(*) FROM (TABLE twin EXCEPT ALL TABLE packed) x'), '0|0', 'both tables have the same rows');
is($node->safe_psql('postgres', "SELECT count(*) FROM gpucol.verify('packed')"), 0, 'segments and indexes are sound');
$node->stop;
done_testing();
