# 022_recursion_graph.pl: recursion over the graph of the demo, which is part of the
# tree, and over generated ones gives the known counts and checksums.
# (020_recursion_data.pl does so for all graphs where their folder is.)
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('graph', 'shared_preload_libraries = gpucol');
my $rows;

gunzip("$FindBin::Bin/../../demo/p2p-Gnutella09.tsv.gz" => \$rows) or die $GunzipError;
$node->safe_psql('postgres', "CREATE TABLE host (src int, dst int) USING gpucol;\nCOPY host FROM STDIN;\n$rows\\.\n");
# A string of 9,990 steps, and a grid of 60 by 60.
$node->safe_psql('postgres', <<SQL);
CREATE TABLE string AS SELECT i AS src, i + 1 AS dst FROM generate_series(1, 9990) i;
CREATE TABLE grid AS SELECT i AS src, i + step AS dst FROM generate_series(0, 3599) i, (VALUES (1), (60)) v(step)
	WHERE CASE step WHEN 1 THEN i % 60 < 59 ELSE i < 3540 END;
SQL

sub closure
{
	my ($table, $what) = @_;
	return "WITH RECURSIVE r(x, y) AS (SELECT src, dst FROM $table UNION SELECT r.x, e.dst FROM r JOIN $table e ON e.src = r.y) SELECT $what FROM r";
}

sub same_generation
{
	my ($table, $what) = @_;
	return "WITH RECURSIVE r(x, y) AS (SELECT a.dst, b.dst FROM $table a JOIN $table b USING (src) WHERE a.dst <> b.dst UNION
		SELECT a.dst, b.dst FROM r JOIN $table a ON a.src = r.x JOIN $table b ON b.src = r.y) SELECT $what FROM r";
}

sub check
{
	my ($what, $query, $wanted) = @_;
	like($node->safe_psql('postgres', "EXPLAIN $query"), qr/GpucolRecursive/, "$what: plan");
	is($node->safe_psql('postgres', $query), $wanted, $what);
	return;
}

my $sums = 'count(*), sum(x), sum(y), sum(x::bigint * y)';

check('closure', closure('host', $sums), '21402960|80458116320|88419369213|332390264772604');
check('closure, summarised', closure('host', 'count(*), sum(x), sum(y)'), '21402960|80458116320|88419369213');
check('closure, grouped', 'SELECT sum(n), sum(n * y) FROM (' . closure('host', 'y, count(*) AS n') . ' GROUP BY y) t', '21402960|88419369213');
check('same generation', same_generation('host', 'count(*), sum(x), sum(x::bigint * y)'), '62056583|256355267445|1059026092589780');
check('closure of a string', closure('string', 'count(*), sum(x), sum(y)'), '49905045|166217069880|332434139760');
# a node reaches all to its right and below, but for itself
check('closure of a grid', closure('grid', 'count(*)'), 60 * 61 / 2 * 60 * 61 / 2 - 3600);
is($node->safe_psql('postgres', <<SQL), '6', 'components');
CREATE VIEW both_ways AS SELECT src, dst FROM host UNION ALL SELECT dst, src FROM host;
SELECT count(DISTINCT c) FROM gpucol.datalog('
.decl both_ways(a:number, b:number)
.decl component(a:number, c:number)
component(x, x) :- both_ways(x, _).
component(y, c) :- component(x, c), both_ways(x, y).
component(x, a) <= component(x, b) :- b < a.', 'component') AS t(x int, c int);
SQL
$node->stop;
done_testing();
