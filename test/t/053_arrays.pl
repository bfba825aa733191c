# 053_arrays.pl: random conditions on columns of arrays, arguments and keys made of them, over heap tables and over
# gpucol tables: sizes, subscripts, ANY and ALL, @>, <@, &&, array_position(); elements that are NULL, arrays
# that are empty, of several dimensions, with other lower bounds, long ones that are compressed or kept outside.
# What is not of one dimension from 1 on is in the first of three segments, so that arrays are there as bytes,
# and as lengths and elements.
#
# Then subqueries over the elements of each row: aggregates, EXISTS, IN, behind LATERAL.
#
# Every answer is compared by EXCEPT ALL in both directions.  All statements but those that group by arrays themselves
# must be one node of gpucol's.
# GPUCOL_SEED repeats a run, GPUCOL_STEPS is its length, or GPUCOL_SECONDS.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Arrays;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Twins;

seed_random();
my $node = new_server('arrays', 'max_parallel_workers_per_gather = 0', 'statement_timeout = 20s', 'shared_buffers = 128MB',
	'gpucol.engine = cpu', 'timezone = UTC');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE missing bigint; extra bigint; pushed bool := false; line text; lines int := 0; refused text; told text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, 't_both', 't_packed') LOOP
		pushed := CASE WHEN lines = 0 THEN line ~ 'Gpucol' ELSE pushed AND line !~ '  Filter: ' END;
		lines := lines + 1;
	END LOOP;
	BEGIN
		EXECUTE 'CREATE TEMP TABLE plain AS ' || replace(query, 't_both', 't_heap');
	EXCEPTION WHEN OTHERS THEN refused := SQLSTATE;
	END;
	BEGIN
		EXECUTE 'CREATE TEMP TABLE packed AS ' || replace(query, 't_both', 't_packed');
	EXCEPTION WHEN OTHERS THEN told := SQLSTATE;
	END;
	IF refused IS NULL AND told IS NULL THEN
		SELECT count(*) INTO missing FROM (SELECT x::text FROM plain x EXCEPT ALL SELECT x::text FROM packed x) q;
		SELECT count(*) INTO extra FROM (SELECT x::text FROM packed x EXCEPT ALL SELECT x::text FROM plain x) q;
	ELSE
		missing := (refused IS DISTINCT FROM told)::int;
		extra := 0;
	END IF;
	DROP TABLE IF EXISTS packed, plain;
	RETURN concat_ws('|', missing, extra, pushed, refused);
END $$;
CREATE TABLE t_heap (id int, s int2[], i int4[], b int8[], r float4[], f float8[], t text[], v varchar(9)[], d date[], ts timestamp[], n numeric[],
	few int4[], x int4, y int8, z float8, w text, day date);
INSERT INTO t_heap SELECT i,
	CASE WHEN i % 19 > 0 THEN ARRAY[i % 5, NULL, -i % 7, i]::int2[] END,
	CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN '{}' WHEN i % 11 = 0 AND i < 1000 THEN ARRAY[[i, 2], [3, i % 4]]
		WHEN i % 17 = 0 AND i < 1000 THEN ('[' || i % 3 - 1 || ':' || i % 3 + 1 || ']={1,' || i % 10 || ',NULL}')::int4[]
		WHEN i % 101 = 0 THEN (SELECT array_agg(hashint4(k) % 1000 + i) FROM generate_series(1, CASE WHEN i % 505 = 0 THEN 20000 ELSE 500 END) k)
		ELSE ARRAY[i, i % 5, NULL, i % 9] END,
	CASE WHEN i % 5 = 0 THEN NULL WHEN i < 1000 THEN ARRAY[i % 6, 5000000000 + i, 2147483647, -9223372036854775808]
		ELSE ARRAY[i % 6, 5000000000 + i, 5000000000 - abs(hashint4(i)), hashint4(i + 1), hashint4(i + 2), 2147483647] END,
	CASE WHEN i < 1000 THEN ARRAY[i % 8 / 2.0, 'NaN', -0.0, 0] ELSE ARRAY[i % 8 / 2.0, hashint4(i), 1e9 / i, hashint4(i + 1)] || CASE WHEN i % 6 = 0 THEN ARRAY['NaN', -0.0]::float4[] ELSE '{}' END END::float4[],
	CASE WHEN i % 6 = 0 THEN '{}' WHEN i < 1000 THEN ARRAY[i / 3.0, CASE WHEN i % 4 > 0 THEN i % 4 / 2.0 END, '-Infinity', 'NaN']
		ELSE ARRAY[hashint4(i) / 3.0, CASE WHEN i % 4 > 0 THEN i % 4 / 2.0 END, sqrt(i), hashint4(i + 2) / 1e5] || CASE WHEN i % 8 = 1 THEN ARRAY['-Infinity', 'NaN']::float8[] ELSE '{}' END END,
	CASE WHEN i > 2500 THEN ARRAY['t' || i % 4, NULL, 'w' || i % 7, 'é' || hashint4(i) % 30] WHEN i % 3 = 0 THEN ARRAY['t' || i % 4, NULL, 'w' || i, repeat('x', i % 300)] WHEN i % 3 = 1 THEN ARRAY['', 'é' || i % 6, 'T1']
		WHEN i % 97 = 5 THEN (SELECT array_agg(md5(k::text)) FROM generate_series(1, 300) k) END,
	CASE WHEN i % 4 > 0 THEN ARRAY['v' || i % 4, NULL, 'u' || abs(hashint4(i)) % 500, 't' || abs(hashint4(i + 1)) % 50]::varchar(9)[] END,
	CASE WHEN i % 4 > 0 THEN ARRAY[date '2024-01-01' + i % 9, CASE WHEN i % 50 = 1 AND i < 1000 THEN 'infinity' ELSE date '2024-01-01' - abs(hashint4(i)) % 10000 END, date '2024-01-01' + i] END,
	ARRAY[timestamp '2024-01-01' + i % 9 * interval '1 day', CASE WHEN i < 1000 THEN '-infinity' ELSE timestamp '2024-01-01' + i * interval '1 minute' END],
	CASE WHEN i % 9 > 0 THEN ARRAY[i % 5 / 4.0, 1.00, i * 1e10, 'NaN'] ELSE ARRAY[i::numeric] END,
	CASE WHEN i % 8 > 0 THEN ARRAY[i % 4, 7] ELSE '{}' END,
	CASE WHEN i % 12 > 0 THEN i % 5 END, i % 6, CASE WHEN i % 10 > 0 THEN i % 4 / 2.0 ELSE 'NaN' END, CASE WHEN i % 9 > 0 THEN 't' || i % 5 END,
	date '2024-01-01' + i % 11
FROM generate_series(1, 3072) i;
CREATE TABLE t_packed (LIKE t_heap) USING gpucol;
SET gpucol.segment_rows = 1024;
INSERT INTO t_packed SELECT * FROM t_heap;
VACUUM ANALYZE t_packed;
INSERT INTO t_packed SELECT * FROM t_heap WHERE id % 400 = 3;
INSERT INTO t_heap SELECT * FROM t_heap WHERE id % 400 = 3;
DELETE FROM t_packed WHERE id % 50 = 1;
DELETE FROM t_heap WHERE id % 50 = 1;
ANALYZE t_heap, t_packed;
SQL

is($node->safe_psql('postgres', q{SELECT count(DISTINCT column_name) FILTER (WHERE coding = 'lengths and elements') > 5 AND bool_or(coding = 'lengths and dictionary') AND bool_or(coding ~ 'raw') FROM gpucol.columns('t_packed')}), 't', 'arrays are packed in each way');
my ($pushed, $refused, @others) = (0, 0);
my ($steps, $wrong) = compare_queries($node, steps => 250, query => \&array_statement, count => sub {
	my ($query, $ours, $error) = @_;

	$pushed += $ours eq 't';
	$refused += defined $error;
	push @others, $query if $ours ne 't' && $ENV{GPUCOL_VERBOSE};
});

my ($folded, $folds) = (0, 0);
my (undef, $unlike) = compare_queries($node, steps => 150, query => \&fold_statement, count => sub {
	my ($query, $ours) = @_;

	$folds++;
	$folded += $ours eq 't';
	push @others, $query if $ours ne 't' && $ENV{GPUCOL_VERBOSE};
});

diag($_) for @others;
ok($unlike == 0, "$folds statements over elements of each row answered alike, $folded pushed down");
cmp_ok($folded, '>', $folds * 0.5, 'most of them were pushed down');
ok($wrong == 0, "$steps statements answered alike, $pushed pushed down, $refused refused alike");
cmp_ok($pushed, '>', $steps * 0.8, 'most were pushed down');
$node->stop;
done_testing();
