# 037_foreign_partitions.pl: a partitioned table whose partitions are gpucol tables, one here and
# one on a postgres_fdw server, as docs/scale-out.md has it: answers as heap's, and what each
# server computes itself.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;

my $here = new_server('here');
my $north = new_server('north');

plan skip_all => 'postgres_fdw is not installed'
	if $here->safe_psql('postgres', "SELECT count(*) FROM pg_available_extensions WHERE name = 'postgres_fdw'") == 0;

my $rows = "SELECT %d AS region, i AS id, i %% 50 AS product, (i / 8.0)::numeric(10, 2) AS amount, date '2024-01-01' + i %% 100 AS day FROM generate_series(1, 20000) i";

$north->safe_psql('postgres', 'CREATE TABLE sale USING gpucol AS ' . sprintf($rows, 1));
my ($host, $port) = ($north->host, $north->port);
$here->safe_psql('postgres', <<SQL);
CREATE EXTENSION postgres_fdw;
CREATE SERVER north FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres', async_capable 'true', use_remote_estimate 'true');
CREATE USER MAPPING FOR CURRENT_USER SERVER north;
CREATE TABLE sale (region int, id int, product int, amount numeric(10, 2), day date) PARTITION BY LIST (region);
CREATE FOREIGN TABLE sale_north PARTITION OF sale FOR VALUES IN (1) SERVER north OPTIONS (table_name 'sale');
CREATE TABLE sale_here PARTITION OF sale FOR VALUES IN (2) USING gpucol;
INSERT INTO sale ${\sprintf($rows, 2)};
CREATE TABLE sale_heap AS ${\sprintf($rows, 1)} UNION ALL ${\sprintf($rows, 2)};
ANALYZE;
SQL

sub same
{
	my ($query, $what, $settings) = @_;

	is($here->safe_psql('postgres', ($settings // '') . $query), $here->safe_psql('postgres', $query =~ s/FROM sale/FROM sale_heap/r), $what);
}

my $partitions = 'SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on; ';
my $by_key = 'SELECT region, count(*), sum(amount), min(day) FROM sale WHERE day < \'2024-03-01\' GROUP BY region ORDER BY region';

same($by_key, 'groups by the partition key', $partitions);
same('SELECT product, count(*), sum(amount) FROM sale GROUP BY product ORDER BY product', 'groups by another column', $partitions);
same('SELECT region, id, amount FROM sale ORDER BY amount DESC, region, id LIMIT 7', 'the first rows', $partitions);
same('SELECT count(*) FROM sale WHERE product = 7 AND region = 1', 'one partition');
like($here->safe_psql('postgres', "${partitions}EXPLAIN (VERBOSE, COSTS OFF) $by_key"), qr/Remote SQL: SELECT region, count\(\*\), sum\(amount\).* GROUP BY/, 'the other server groups its rows');
like($here->safe_psql('postgres', "${partitions}EXPLAIN (VERBOSE, COSTS OFF) $by_key"), qr/GpucolAgg/, 'and this one its own, in the engine');

# the other server's engine does it: there, all else is an error
$north->safe_psql('postgres', 'ALTER DATABASE postgres SET gpucol.pushdown = require');
same($by_key, 'in the engine of the other server', $partitions);

$here->safe_psql('postgres', "UPDATE sale SET amount = amount + 1 WHERE id % 10 = 0; DELETE FROM sale WHERE id % 7 = 0; INSERT INTO sale VALUES (1, 0, 1, 2, '2024-02-01');
	UPDATE sale_heap SET amount = amount + 1 WHERE id % 10 = 0; DELETE FROM sale_heap WHERE id % 7 = 0; INSERT INTO sale_heap VALUES (1, 0, 1, 2, '2024-02-01');");
same($by_key, 'after changes', $partitions);
done_testing();
