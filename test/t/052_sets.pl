# 052_sets.pl: random groups over set-returning functions, over heap tables and over gpucol tables: words of
# texts, elements of arrays, series; in FROM, behind LEFT JOIN, in subqueries and lists; with other tables beside.
#
# Every answer is compared by EXCEPT ALL in both directions.  Where columns have few values rows are grouped
# before functions are called (planner/set_groups.c); where they have many the engine makes the rows
# (planner/path_join_set.c): most statements must be one or the other.
# GPUCOL_SEED repeats a run, GPUCOL_STEPS is its length, or GPUCOL_SECONDS.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Twins;

seed_random();
my $node = new_server('sets', 'max_parallel_workers_per_gather = 0', 'statement_timeout = 20s', 'shared_buffers = 128MB');

$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE missing bigint; extra bigint; first bool := false; made bool := false; line text;
BEGIN
	EXECUTE 'CREATE TEMP TABLE packed AS ' || replace(query, '@', 'packed');
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'packed') LOOP
		first := (first OR line ~ '->.*GpucolAgg') AND line !~ 'Rows: of plan';
		made := made OR line ~ 'Join: .*lateral ';
	END LOOP;
	EXECUTE 'CREATE TEMP TABLE plain AS ' || replace(query, '@', 'heap');
	SELECT count(*) INTO missing FROM (SELECT x::text FROM plain x EXCEPT ALL SELECT x::text FROM packed x) q;
	SELECT count(*) INTO extra FROM (SELECT x::text FROM packed x EXCEPT ALL SELECT x::text FROM plain x) q;
	DROP TABLE packed, plain;
	RETURN concat_ws('|', missing, extra, first, made);
END $$;
CREATE TABLE t_heap (id int, t text, tags text[], r int[], n numeric(6,2), k smallint, d date, b bool, v varchar(10));
INSERT INTO t_heap SELECT i, CASE WHEN i % 11 > 0 THEN 'a b ' || i % 5 || ' c' || i % 3 END,
	CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN '{}' ELSE ARRAY['t' || i % 4, NULL, 't' || i % 3] END,
	CASE WHEN i % 5 > 0 THEN ARRAY[i % 3, i % 4, -1] END, i % 6 / 4.0, CASE WHEN i % 17 > 0 THEN i % 6 END, date '2024-01-01' + i % 5,
	CASE WHEN i % 9 > 0 THEN i % 2 = 0 END, 'v' || i % 4
FROM generate_series(1, 4000) i;
CREATE TABLE t_packed (LIKE t_heap) USING gpucol;
INSERT INTO t_packed SELECT * FROM t_heap;
VACUUM ANALYZE t_packed;
INSERT INTO t_packed SELECT * FROM t_heap WHERE id % 400 = 3;
INSERT INTO t_heap SELECT * FROM t_heap WHERE id % 400 = 3;
DELETE FROM t_packed WHERE id % 50 = 1;
DELETE FROM t_heap WHERE id % 50 = 1;
CREATE TABLE d_heap (id int, t text, tags text[], r int[], n numeric(6,2), k smallint, d date, b bool, v varchar(10), f float8[], days date[], w varchar(5)[]);
INSERT INTO d_heap SELECT i, CASE WHEN i % 11 > 0 THEN 'a b ' || i || ' c' || i % 3 || CASE WHEN i % 4 = 0 THEN '  é' ELSE ' ' END ELSE nullif('', chr(32 + i % 2)) END,
	CASE WHEN i % 13 = 0 THEN NULL WHEN i % 7 = 0 THEN '{}' WHEN i % 17 = 0 AND i < 1000 THEN ARRAY[['t' || i, NULL], ['', 't1']] ELSE ARRAY['t' || i % 4, NULL, 't' || i] END,
	CASE WHEN i % 101 = 0 THEN (SELECT array_agg(k % 7 + i) FROM generate_series(1, 3000) k) WHEN i % 5 > 0 THEN ARRAY[i % 3, i, -1, NULL] END, i % 6 / 4.0,
	CASE WHEN i % 17 > 0 THEN i % 6 END, date '2024-01-01' + i % 5, CASE WHEN i % 9 > 0 THEN i % 2 = 0 END, 'v' || i,
	ARRAY[i / 3.0, NULL, 'NaN'], ARRAY[date '2024-01-01' + i, CASE WHEN i < 1000 THEN 'infinity' ELSE date '2024-01-01' - i END], CASE WHEN i % 3 > 0 THEN ARRAY['x' || i % 9999, 'y'] END
FROM generate_series(1, 4000) i;
CREATE TABLE d_packed (LIKE d_heap) USING gpucol;
SET gpucol.segment_rows = 1024;
INSERT INTO d_packed SELECT * FROM d_heap;
VACUUM ANALYZE d_packed;
INSERT INTO d_packed SELECT * FROM d_heap WHERE id % 400 = 3;
INSERT INTO d_heap SELECT * FROM d_heap WHERE id % 400 = 3;
DELETE FROM d_packed WHERE id % 50 = 1;
DELETE FROM d_heap WHERE id % 50 = 1;
CREATE TABLE w_heap AS SELECT i AS x, 't' || i AS w FROM generate_series(0, 3) i;
CREATE TABLE w_packed USING gpucol AS SELECT * FROM w_heap;
ANALYZE w_heap, w_packed;
SQL

# A function, and whether it returns numbers, or (2) dates; of columns with many values those that the engine knows.
sub set_function
{
	my ($table) = @_;

	return @{ pick(["string_to_table(s.t, ' ')", 0], ["string_to_table(s.t, 'b ')", 0], ["unnest(string_to_array(s.t, ' '))", 0], ["unnest(regexp_split_to_array(s.t, '[ab]+'))", 0], ["regexp_split_to_table(s.t, ' +')", 0], ["regexp_split_to_table(s.t, '\\s+')", 0],
			["regexp_split_to_table(s.t, '[^a-c]+')", 0], ["regexp_split_to_table(s.t, '\\W+')", 0], ["regexp_split_to_table(s.t, '[[:space:]b]')", 0], ["regexp_split_to_table(s.t, '[ c]')", 0], ['unnest(s.tags)', 0], ['unnest(s.w)', 0], ['unnest(s.r)', 1],
			['unnest(s.r)', 1], ['unnest(s.days)', 2]) } if $table eq 'd_@';
	return @{ pick(["string_to_table(s.t, ' ')", 0], ["regexp_split_to_table(s.t, '[ab]')", 0], ['unnest(s.tags)', 0], ['unnest(s.r)', 1],
			['generate_series(1, s.k)', 1], ["unnest(string_to_array(s.v, 'v'))", 0], ['unnest(array_cat(s.r, ARRAY[s.k::int]))', 1],
			['generate_subscripts(s.tags, 1)', 1]) };
}

sub aggregate
{
	my ($number) = @_;
	my @of_result = $number == 2 ? ('min(u.x)', 'max(u.x)', 'count(DISTINCT u.x + 1)') : $number ? ('sum(u.x)', 'avg(u.x)', 'sum(u.x::bigint)', 'avg(u.x::numeric)', 'sum(u.x * s.k) FILTER (WHERE s.b)', 'sum(u.x / 3.0)')
	  : ('sum(length(u.x))', 'avg(length(u.x))');

	return pick('count(*)', 'count(u.x)', 'count(DISTINCT u.x)', 'min(u.x)', 'max(u.x)', 'count(*) FILTER (WHERE s.k > 2)', 'sum(s.k)', 'avg(s.k)', 'bool_or(s.b)',
		'max(s.d)', "string_agg(DISTINCT u.x::text, ',')", 'sum(s.k * 2)', 'count(s.b)', 'min(s.k)', @of_result, @of_result);
}

sub table_condition
{
	return pick('s.k > 2', 's.b', "s.v <> 'v1'", "s.d > '2024-01-02'", 's.id % 3 = 0', "s.t LIKE '%c1%'", 's.k IS NULL', 's.n > 0.5');
}

sub result_condition { return pick('u.x IS NOT NULL', "u.x::text <> 't1'", 'length(u.x::text) > 1 OR s.k > 3'); }

sub where { return @_ ? ' WHERE ' . join(' AND ', @_) : ''; }

# FROM and WHERE.
sub source
{
	my ($function, $table) = @_;
	my @of_table = map { table_condition() } 1 .. pick(0, 0, 1, 2);
	my @of_result = rand() < 0.4 ? result_condition() : ();
	my $on = pick('true', 'u.x IS NOT NULL', 's.k > 1');

	return "(SELECT s.*, $function AS x FROM $table s" . where(@of_table) . ') s CROSS JOIN LATERAL (SELECT s.x) u' . where(@of_result) if rand() < 0.15;
	return pick("$table s, $function u(x)", "$table s CROSS JOIN LATERAL $function u(x)", "$table s LEFT JOIN LATERAL $function u(x) ON $on",
		"$table s JOIN LATERAL (SELECT y AS x FROM $function y) u ON true", "$table s, $function u(x) LEFT JOIN w_@ z ON z.w = u.x::text",
		"(SELECT * FROM $table s WHERE s.k <> 4) s, $function u(x)") . where(@of_table, @of_result);
}

sub statement
{
	my $table = pick('t_@', 'd_@');
	my ($function, $number) = set_function($table);
	my @keys = @{ pick(['u.x'], ['u.x', 's.k'], ['u.x', pick('s.b', 's.d', 's.v', 's.n')], [pick('s.k', 's.t', 's.tags')], [], ['length(u.x::text)']) };
	my $column = 0;
	my @list = map { "$_ AS c" . ++$column } @keys, map { aggregate($number) } 1 .. between(1, 3);
	my $sql = 'SELECT ' . join(', ', @list) . ' FROM ' . source($function, $table);

	return $sql unless @keys;
	return $sql =~ s/SELECT .*? FROM/'SELECT DISTINCT ' . join(', ', @list[0 .. $#keys]) . ' FROM'/er if rand() < 0.1;
	return $sql . ' GROUP BY ' . pick('', '', 'ROLLUP ') . '(' . join(', ', @keys) . ')' . pick('', ' HAVING count(*) > 30');
}

my ($first, $made) = (0, 0);
my ($steps, $wrong) = compare_queries($node, steps => 120, query => \&statement, count => sub {
	my (undef, $grouped, $by_engine) = @_;

	$first += $grouped eq 't';
	$made += $by_engine eq 't';
});

ok($wrong == 0, "$steps statements answered alike, $first with rows grouped first, $made with rows made by the engine");
cmp_ok($first, '>', $steps / 6, 'in many rows were grouped before functions were called');
cmp_ok($made, '>', $steps / 6, 'in many the engine made the rows');
$node->stop;
done_testing();
