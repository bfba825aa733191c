# 027_attack_hidden.pl: statements that tell by an error or a notice what they were
# shown, written by a role that may not see every row.
#
# Two schemas hold the same rows for that role; those that row-level security or a
# security barrier hides from it, and those that were deleted, have harmless values in
# one and values in the other for which nearly everything raises an error.  Every
# statement must print the same in both, and the same as over a heap table.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use List::Util 'min';
use PostgreSQL::Test::Utils;
use Test::More;

# which of the rows that are seen are looked at depends on plans, and those on when autovacuum looks at a table
my $node = new_server('attack_hidden', 'max_parallel_workers_per_gather = 0', 'autovacuum = off');

# Values that no statement should be shown, and those of the rows it is shown.
my $nasty = <<'SQL';
	(ARRAY['', 'salary 4000', '(', '[a', 'a\', '%', 'x', repeat('xy', 150000), 'Straße', '日本', '-5', '2147483648', '{"a":', 'ab c d'])[1 + k % 14],
	(ARRAY['NaN', '9e131071', '-9e131071', '1e-16000', '0', '99999999999', 'Infinity'])[1 + k % 7]::numeric, (ARRAY[0, 99999999.99, -99999999.99, -1])[1 + k % 4],
	(ARRAY[0, -1, 2147483647, -2147483648, 70000])[1 + k % 5], (ARRAY['infinity', '-infinity', '5874897-12-31', '4713-01-01 BC', '294277-01-01'])[1 + k % 5]::date,
	(ARRAY['infinity', '-infinity', '294276-12-31 23:59:59', '4713-01-01 00:00 BC'])[1 + k % 4]::timestamp,
	(ARRAY['[]', '{"a": 1e1000}', '{"a": "x"}', '"text"', repeat('[', 1500) || repeat(']', 1500), 'null'])[1 + k % 6]::jsonb,
	(ARRAY['NaN', 'Infinity', '1e308', '-1e308', '1e-307', '0'])[1 + k % 6]::float8, (ARRAY['{}', '{0,0}', '{NULL}', '{{1,2},{3,0}}'])[1 + k % 4]::int[]
SQL
my $plain = <<'SQL';
	'word ' || 10 + k % 7, 1 + k % 5, 1.25 + k % 9, 1 + k % 4, date '2020-01-01' + k % 30, timestamp '2020-01-01' + k % 30 * interval '1 hour',
	'{"a": 5}'::jsonb, 1.5 + k % 3, ARRAY[1, 2, 3]
SQL

$node->safe_psql('postgres', 'CREATE ROLE low; CREATE ROLE other');

# Rows of `low`, which all schemas share, those of `other` that are hidden, and some of
# `low` that are deleted when they have been packed.
sub make_schema
{
	my ($schema, $method, $hidden, $packed) = @_;
	my $load = "INSERT INTO secret SELECT k, 'low', $plain FROM generate_series(1, 600) k WHERE k % 3 = 0; INSERT INTO secret SELECT k, o, $hidden FROM generate_series(1, 600) k, (VALUES ('other')) o (o) WHERE k % 3 = 1;" .
	  "INSERT INTO secret SELECT 100000 + k, 'low', $hidden FROM generate_series(1, 300) k;";

	$node->safe_psql('postgres', <<~SQL);
		CREATE SCHEMA $schema;
		GRANT ALL ON SCHEMA $schema TO low;
		SET search_path = $schema, public;
		SET default_table_access_method = $method;
		CREATE TABLE secret (id int, owner text, t text, n numeric, m numeric(10,2), i int, d date, ts timestamp, j jsonb, f float8, a int[]);
		$load
		ALTER TABLE secret ENABLE ROW LEVEL SECURITY;
		CREATE INDEX ON secret USING brin (i, d, n) WITH (pages_per_range = 1);
		CREATE INDEX ON secret USING brin (t) WITH (pages_per_range = 2);
		CREATE POLICY own ON secret USING (owner = 'low');
		CREATE VIEW barred WITH (security_barrier) AS SELECT * FROM secret WHERE owner = 'low';
		GRANT SELECT ON secret, barred TO low;
		SET ROLE low;
		CREATE FUNCTION noisy(text) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.0001 AS 'BEGIN RAISE NOTICE ''%'', left(\$1, 20); RETURN true; END';
		CREATE FUNCTION picky(int) RETURNS bool LANGUAGE plpgsql STABLE COST 0.0001 AS 'BEGIN IF \$1 NOT BETWEEN 1 AND 4 THEN RAISE ''%'', \$1; END IF; RETURN true; END';
		CREATE FUNCTION likewise(text, text) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT noisy(\$1)';
		CREATE FUNCTION fussy(int8) RETURNS int8 LANGUAGE plpgsql STABLE AS 'BEGIN IF \$1 NOT BETWEEN 1 AND 5 THEN RAISE ''%'', \$1; END IF; RETURN \$1; END';
		CREATE FUNCTION loud(text) RETURNS text LANGUAGE plpgsql STABLE AS 'BEGIN RAISE NOTICE ''%'', left(\$1, 20); RETURN \$1; END';
		CREATE OPERATOR ~~ (LEFTARG = text, RIGHTARG = text, FUNCTION = likewise);
		CREATE OPERATOR < (LEFTARG = text, RIGHTARG = text, FUNCTION = likewise);
		CREATE FUNCTION int_is(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT picky(\$1)';
		CREATE DOMAIN word AS text CHECK (length(value) = 7);
		CREATE DOMAIN seen AS int CHECK (picky(value));
		SQL
	$node->safe_psql('postgres', "SELECT gpucol.merge('$schema.secret')") if $packed;
	$node->safe_psql('postgres', "DELETE FROM $schema.secret WHERE id > 100000");
	return;
}

# Conditions that raise an error or a notice for some values, but for none that is seen.
my @conditions = split /\n/, <<'SQL';
'' ~ CASE WHEN t ~ '^salary [4-9]' THEN '(' ELSE '' END
'' LIKE CASE WHEN t ~ '^salary [4-9]' THEN '\' ELSE '' END
'x' !~ t
'x' ~* lower(t)
t NOT LIKE t || '\'
t ILIKE t
t SIMILAR TO 'w%'
t LIKE 'word\_%' OR t LIKE '%1_'
t ~ '(1|2)$'
t ~ '^(.)(.).*\2\1' OR t > ''
t::int IS NULL OR t > 'w'
length(t) > 3 AND t > 'w'
left(t, -length(t)) = ''
length(replace(replace(t, 'x', repeat('y', 1000)), 'y', repeat('z', 100000))) = 7
length(repeat(t, 3000)) > 1
length(replace(t, left(t, 1), repeat(t, 30))) > 10
length(t || repeat(t, 100) || repeat(t, 4000)) > 7
substr(t, 1, length(t) - 3) = 'word'
substring(t FROM 1 FOR length(t) - 7) = ''
chr(length(t)) <> 'a'
to_date(t, '"word" DD') IS NOT NULL
convert_to(t, 'LATIN1') <> 'a'
convert_to(t, 'SQL_ASCII') <> 'a'
split_part(t, ' ', length(t) - 6) = 'word'
regexp_replace(t, t, '') = ''
1 / length(t) >= 0
100 % (length(t) - 12) > 0
strpos(t, 'w') / length(t) = 0
overlay(t placing 'x' from length(t) - 6) <> ''
lpad(t, length(t) * 5000) <> 'x'
get_byte(t::bytea, 6) > 0
ascii(t) / (ascii(t) - 40) = 1
t::word = t
t IS NOT DISTINCT FROM t::word::text
nullif(t, '')::word > 'a'
coalesce(t, t::int::text) > 'a'
noisy(t)
t OPERATOR(S.~~) 'x'
t OPERATOR(S.<) 'x'
t < 'x'
t LIKE 'w%'
t = ANY (ARRAY['word 10', t::word])
(t || '1')::text ~ t
concat(t, 1) ~ t
to_tsquery('simple', quote_literal(t)) IS NOT NULL
t::regclass IS NULL OR t > 'a'
json_typeof(('[' || quote_ident(t) || ']')::json) = 'array'
format(t || '%s', 1) > ''
xmlparse(content t) IS NOT NULL
CASE WHEN t = '(' THEN 1 / 0 > 0 ELSE t > 'a' END
translate(t, 'w', 'v') ~ t
1 / i >= 0
10 % i >= 0
i + 1 > 0
i - 2147483647 < 0
i * i > 0
-i < 0
abs(i) > 0
i::int2 > 0
sqrt(i) > 0
ln(i) >= 0
chr(i) <> 'x'
make_date(2020, i, 1) > '2000-01-01'
upper(int4range(1, i + 1)) > 1
(ARRAY[1, 2, 3, 4])[i] / (ARRAY[1, 2, 3, 4])[i] = 1
date '2020-01-01' + i > '2020-01-01'
picky(i)
int_is(i)
i::seen > 0
repeat('x', i) > ''
bit_length(repeat('x', i)) > 0
nullif(i, 0) / i = 1
width_bucket(i, 0, 10, i) > 0
to_char(i, '9') > ''
i << i > 0
1 / m > 0
m * 1000000 < 1e9
m::int2 > 0
ln(m) > 0
m::numeric(4,2) > 0
(m * m)::numeric(6,4) > 0
n * n > 0
n + n > 0
n * 1e131070 > 0
n::int > 0
n::int8 % n::int8 = 0
sqrt(n) > 0
exp(n) > 0
power(n, 100) > 0
10 ^ n > 0
n::numeric(8,2) > 0
n::float8 > 0
trim_scale(n) > 0
factorial(n::int8) > 0
div(10, n) > 0
f * f > 0
1 / f > 0
exp(f * 400) >= 0 OR f < 2
f::int > 0
f::numeric > 0
f::float4 > 0
acos(1 / f) >= 0
d + 100000 > '2000-01-01'
d::timestamp > '2000-01-01'
d - interval '3000 years' < '2000-01-01'
d::timestamptz > '2000-01-01'
date_trunc('century', d) IS NOT NULL
extract(day FROM d) > 0
d - date '2020-01-01' >= 0
ts + interval '3000 years' > '2000-01-01'
ts - interval '6000 years' < '2000-01-01'
ts::date > '2000-01-01'
(ts - timestamp '2020-01-01') < '1 year'
ts::timestamptz > '2000-01-01'
age(ts, '2000-01-01') > '1 year'
to_char(ts, 'YYYY') > '1'
date_bin('1 day', ts, '2020-01-01') > '2000-01-01'
extract(year FROM ts)::int / extract(day FROM ts)::int > 0
(j ->> 'a')::int > 1
(j -> 'a')::int > 1
jsonb_array_length(j -> 'a') > 0 OR true
jsonb_array_length(jsonb_build_array(j)) > 0
j #>> '{a}' = '5'
j @> '{"a": 5}'
j - 'a' = '{}'
(j || '[1]') IS NOT NULL
length(j::text) = 8
a[1] / a[2] = 0
array_length(a, 1) / array_length(a, 1) = 1
(a || ARRAY[1])[1] = 1
array_cat(a, ARRAY[[1, 2]]) IS NOT NULL
1 / cardinality(a) = 0
i / a[1] > 0
a[i] / a[i] = 1
a @> ARRAY[1 / a[1]]
1 / a[2] >= 0 AND 2 = ANY (a)
a && ARRAY[i, 10 / i]
3 > ALL (a) OR 1 / a[3] = 0
(string_to_array(t, ' '))[2]::int > 9
string_to_array(t, ' ')::text[] @> ARRAY['word'] AND length(array_to_string(a, t)) / length(t) < 9
array_position(a, i) / array_position(a, i) = 1
array_remove(a, i) <> a
trim_array(a, i - 1) IS NOT NULL
a[1:i] = trim_array(a, 4 - i)
(SELECT sum(10 / x) FROM unnest(a) x) > 0
(SELECT count(w::int) FROM string_to_table(substr(t, 6), ' ') w) = 1
CASE WHEN id % 3 = 0 THEN 10 / i > 0 ELSE t::int > 0 END
CASE WHEN a[1] = 1 THEN 10 / a[1] > 0 WHEN i > 0 THEN t::int > 0 END
coalesce(nullif(i, i), 10 / i) > 1
SQL

# What surrounds a condition.
my @shapes = (
	'SELECT count(*) FROM T WHERE C', 'SELECT id FROM T WHERE C ORDER BY id LIMIT 3', 'SELECT count(*) FROM T WHERE id < 500 AND C', 'SELECT i % 3 AS k, count(*) FROM T WHERE C GROUP BY 1 ORDER BY 1', 'SELECT count(*) FILTER (WHERE C) FROM T', 'SELECT (C) AS k, count(*) FROM T GROUP BY 1 ORDER BY 1',
	'SELECT id FROM T ORDER BY (C), id LIMIT 2', 'SELECT bool_and(C), max((C)::int) FROM T', 'SELECT CASE WHEN C THEN t END AS k, count(*) FROM T GROUP BY 1 ORDER BY 1', 'SELECT count(*) FROM T WHERE NOT (C) OR (C)');
# subqueries that become joins, where all groups are computed; the condition's columns are those of the inner table
my @joined = (
	'SELECT count(*) FROM T x WHERE x.id % 7 = 1 OR EXISTS (SELECT FROM T y WHERE y.id = x.id AND C)', 'SELECT count(*) FILTER (WHERE NOT (x.i IN (SELECT y.i FROM T y WHERE C) AND x.id > 3)) FROM T x',
	'SELECT sum(id), count((SELECT (C) FROM T y WHERE y.id = x.id ORDER BY y.d, y.id LIMIT 1)) FROM T x', 'SELECT sum(k) FROM (SELECT (SELECT count(*) FROM T y WHERE y.i = x.i AND C) AS k FROM T x) q',
	'SELECT count(*), sum(x.id) FROM T x WHERE CASE WHEN EXISTS (SELECT FROM T y WHERE y.id = x.id + 3) THEN C ELSE x.i NOT IN (SELECT z.i FROM T z WHERE z.i < 2) END',
	'SELECT x.i, count(*) FROM T x GROUP BY x.i HAVING EXISTS (SELECT FROM T y WHERE y.i = x.i AND C) ORDER BY 1');
# set operations, the groups of their branches, rows that are multiplied, windows, rows of plans, branches; a third of the conditions
my @newer = (
	'SELECT id FROM T WHERE C UNION SELECT i FROM T WHERE id > 300 ORDER BY 1 LIMIT 5', 'SELECT (C) AS k FROM T UNION SELECT i > 2 FROM T ORDER BY 1', 'SELECT i FROM T WHERE C INTERSECT ALL SELECT i FROM T WHERE id < 400 ORDER BY 1', 'SELECT id % 5 FROM T EXCEPT SELECT id % 4 FROM T WHERE C ORDER BY 1',
	'SELECT k, count(*), sum(n) FROM (SELECT (C) AS k, 1 AS n FROM T UNION ALL SELECT i > 3, i FROM T WHERE C) q GROUP BY k ORDER BY k', 'SELECT count(*), max(id) FROM (SELECT id, (C) FROM T UNION ALL SELECT id, true FROM T) q',
	'SELECT x, count(*) FROM T, unnest(a) x WHERE C GROUP BY x ORDER BY x', 'SELECT count(*) FILTER (WHERE C) FROM T, unnest(a) x WHERE x > 1', "SELECT w, count(*) FROM T, string_to_table(t, ' ') w WHERE C GROUP BY w ORDER BY w",
	'SELECT sum(s) FROM (SELECT sum(i) OVER (ORDER BY id) AS s FROM T WHERE C) q', 'SELECT id, lag((C)) OVER (ORDER BY id), count(*) FILTER (WHERE C) OVER (PARTITION BY i) FROM T ORDER BY id LIMIT 4', 'SELECT id, rank() OVER (ORDER BY (C), id) FROM T ORDER BY 2 LIMIT 3',
	'SELECT count(*) FROM (SELECT id AS k FROM T OFFSET 0) x JOIN T y ON y.id = x.k WHERE C', 'SELECT count(y.id) FROM (SELECT id AS k FROM T) x LEFT JOIN (SELECT * FROM T OFFSET 0) y ON y.id = x.k AND C',
	'SELECT sum(CASE WHEN id % 2 = 0 THEN (C)::int END), max(CASE WHEN i = 1 THEN NULL WHEN C THEN id END) FROM T');
# WITH queries whose readers do not ask how often a row is there, or restrict it in different ways; first rows of an
# order that compares with the row around; groups that HAVING or a LIMIT leaves out early; texts that are numbered once
my @latest = (
	'WITH w AS MATERIALIZED (SELECT i, t, id FROM T WHERE C) SELECT count(*) FROM T x WHERE x.i IN (SELECT i FROM w) AND EXISTS (SELECT FROM w WHERE w.t = x.t)', 'WITH w AS MATERIALIZED (SELECT i, (C) AS c, 1 / i AS z, t::word AS v FROM T) SELECT DISTINCT x.i FROM T x, w WHERE w.i = x.i AND x.i IN (SELECT i FROM w WHERE c) ORDER BY 1',
	'WITH w AS (SELECT x.i, y.id, x.t FROM T x JOIN T y ON x.i = y.i AND x.id <> y.id AND x.id < 99 JOIN (SELECT id AS j FROM T WHERE C) z ON z.j = y.id) SELECT count(*) FROM T WHERE i IN (SELECT i FROM w) AND EXISTS (SELECT FROM w WHERE w.i = T.i AND w.t > T.t)',
	'WITH w AS (SELECT i, id % 5 AS r, count(*) AS c, sum(n) AS s FROM T WHERE C GROUP BY 1, 2) SELECT a.i, a.c, b.c FROM w a JOIN w b ON a.i = b.i WHERE a.r = 1 AND b.r = 2 ORDER BY 1, 2, 3', 'WITH w AS (SELECT i, id % 5 AS r, bool_and(C) AS c FROM T GROUP BY 1, 2) SELECT a.i, a.c, b.c FROM w a JOIN w b USING (i) WHERE a.r = 1 AND b.r = 3 ORDER BY 1, 2, 3',
	'WITH w AS (SELECT i, t, id % 5 AS r, count(*) AS c FROM T GROUP BY 1, 2, 3) SELECT count(*), sum(a.c) FROM w a JOIN w b USING (t) WHERE a.r = 1 AND b.r = 2 AND length(a.t) / (length(b.t) - 6) > 3',
	'SELECT x.id, y.id FROM T x, LATERAL (SELECT y.id FROM T y WHERE y.id <> x.id AND C ORDER BY abs(y.id - x.id), y.id LIMIT 1) y WHERE x.id < 60 ORDER BY 1', 'SELECT x.id, (SELECT y.id FROM T y WHERE y.i > x.i AND C ORDER BY abs(y.id - x.id), y.id LIMIT 1) FROM T x WHERE x.id < 60 ORDER BY 1',
	'SELECT x.id, y.k FROM T x, LATERAL (SELECT (C) AS k FROM T y ORDER BY abs(y.m - x.m), y.id LIMIT 2) y WHERE x.id < 30 ORDER BY 1, 2', 'SELECT id, sum(i) FROM T WHERE C GROUP BY id HAVING sum(i) > 2 ORDER BY 1 LIMIT 4', 'SELECT id, count(*) FILTER (WHERE C), max(t) FROM T GROUP BY id HAVING count(*) > 0 ORDER BY max(m) DESC, id LIMIT 3',
	'SELECT id, sum(CASE WHEN C THEN i END) FROM T GROUP BY id HAVING sum(i) BETWEEN 1 AND 3 ORDER BY 2, 1 LIMIT 5', 'SELECT t, count(DISTINCT t), max(i) FROM T WHERE C GROUP BY t HAVING min(i) > 0 ORDER BY 1 LIMIT 3', 'SELECT i, count(DISTINCT t) FILTER (WHERE C), count(DISTINCT (C)) FROM T GROUP BY i ORDER BY 1',
	'WITH w AS (SELECT * FROM T) SELECT count(*) FROM w a JOIN w b USING (id) WHERE a.id < 300 AND b.i > 1 AND b.id IN (SELECT id FROM T WHERE C)', 'WITH w AS MATERIALIZED (SELECT i, max(t) AS t, count(*) AS c FROM T GROUP BY i HAVING bool_and(C)) SELECT count(*) FROM T x WHERE i IN (SELECT i FROM w) AND EXISTS (SELECT FROM w WHERE w.t > x.t)',
	'SELECT x.id, z.id AS j FROM T x LEFT JOIN LATERAL (SELECT id FROM T y WHERE y.i = x.i AND y.id <> x.id ORDER BY (C), abs(y.id - x.id), y.id LIMIT 1) z ON true WHERE x.id < 40 ORDER BY 1', 'SELECT i, count(*) FROM T GROUP BY i HAVING bool_or(C) AND count(*) > 1 ORDER BY count(*) DESC, i LIMIT 2',
	'SELECT t, max(i) FROM (SELECT t, i FROM T WHERE C UNION ALL SELECT t, id FROM T) q GROUP BY t HAVING max(i) > 3 ORDER BY 2 DESC, 1 LIMIT 3', 'SELECT (SELECT max(y.id) FROM T y WHERE y.i = x.i AND C), count(*) FROM T x GROUP BY 1 ORDER BY 1',
	'SELECT count(*) FROM T a JOIN T b ON a.i = b.i JOIN T c ON b.id = c.id AND c.id < 100 WHERE a.id < 60 AND (a.m < b.m OR a.id IN (SELECT id FROM T WHERE C))');
# conditions for which BRIN is asked, whose ranges have hidden rows too
my @ranges = ('i BETWEEN 2 AND 3 AND C', 'd < \'2020-01-09\' AND C', 't > \'word 12\' AND C', 'C AND (i = 1 OR n > 7)');
my @once = (
	'SELECT min(t), max(t), min(a), max(a), min(n), max(d) FROM T', 'SELECT t, count(*) FROM T GROUP BY t ORDER BY 1', 'SELECT DISTINCT i FROM T ORDER BY 1', 'SELECT id, t FROM T', 'SELECT t COLLATE "C" AS k, count(DISTINCT n) FROM T GROUP BY 1 ORDER BY 1', 'SELECT id FROM T ORDER BY t, id LIMIT 5', 'SELECT id FROM T ORDER BY n DESC, id LIMIT 5',
	'SELECT sum(i), sum(n), sum(m), avg(f), stddev(i), sum(f) FROM T', 'SELECT sum(i * i), sum(1 / i), sum(m / i), max(d + 100000) FROM T', q(SELECT to_char(ts, 'YYYY-MM-DD') AS k, count(*), sum(100 / i) FROM T GROUP BY 1 ORDER BY 1), "SELECT count(*) FROM T WHERE t ~ '('", "SELECT count(*) FROM T WHERE t ~ '(' AND id < 0", "SELECT count(*) FROM T WHERE id % 3 = 1 AND t ~ '('", "SELECT count(*) FROM T WHERE id % 3 = 1 AND t LIKE 'a\\'",
	"SELECT count(*) FROM T WHERE t = 'salary 4000' AND t ~ '('", 'SELECT count(*) FROM T WHERE id > 100000 AND 1 / i > 0',
	'SELECT x, count(*) FROM T, generate_series(1, i) x GROUP BY x ORDER BY x', 'SELECT sum(10 / x) FROM T, unnest(a) x', 'SELECT 6 / x AS k, count(*) FROM T, unnest(a) x GROUP BY 1 ORDER BY 1', q(SELECT w::int, count(*) FROM T, string_to_table(substr(t, 6), ' ') w GROUP BY 1 ORDER BY 1),
	q(SELECT w, count(*) FROM T, regexp_split_to_table(t, left(t, 1)) w GROUP BY w ORDER BY w), q(SELECT k, count(*) FROM T, jsonb_object_keys(j) k GROUP BY k), 'SELECT x, y, count(*) FROM T, unnest(a) x, generate_series(1, 6 / x) y WHERE 12 / x > 3 GROUP BY 1, 2 ORDER BY 1, 2',
	'SELECT 10 / i FROM T UNION SELECT 100 / i FROM T ORDER BY 1', 'SELECT t::word, d + 100000 FROM T INTERSECT SELECT t, d + 100000 FROM T WHERE i > 2 ORDER BY 1, 2 LIMIT 5', 'SELECT m / i FROM T EXCEPT ALL SELECT m / 2 FROM T ORDER BY 1 LIMIT 5', 'SELECT k, sum(v) FROM (SELECT i AS k, 10 / i AS v FROM T UNION ALL SELECT a[1], 10 / a[1] FROM T) q GROUP BY k ORDER BY k',
	'SELECT id, sum(i) FROM T GROUP BY id HAVING 1 / sum(i) >= 0 ORDER BY 1 LIMIT 3', q(SELECT i, max(t), count(*) FROM T GROUP BY i HAVING max(t)::word > '' ORDER BY 1), 'SELECT t, max(n * n) FROM T GROUP BY t HAVING sum(n * n) > 0 ORDER BY 2 DESC, 1 LIMIT 2', 'SELECT x.id, (SELECT y.id FROM T y ORDER BY abs(y.n * y.n - x.n), y.id LIMIT 1) FROM T x WHERE x.id < 40 ORDER BY 1',
	'SELECT id, ntile(i) OVER (ORDER BY id) FROM T ORDER BY 1 LIMIT 5', 'SELECT id, nth_value(id, i) OVER (PARTITION BY i ORDER BY id) FROM T ORDER BY 1 LIMIT 5', q(SELECT id, lead(t, i, '') OVER (ORDER BY id), lag(1 / i) OVER (ORDER BY id) FROM T ORDER BY 1 LIMIT 5), 'SELECT max(s) FROM (SELECT sum(1 / i) OVER (ORDER BY id) AS s FROM T) q',
	'SELECT max(s), min(z) FROM (SELECT sum(n * n) OVER w AS s, sum(f * f) OVER w AS z FROM T WINDOW w AS (PARTITION BY i ORDER BY id ROWS 2 PRECEDING)) q', 'SELECT sum(s) FROM (SELECT sum(i) OVER (ORDER BY i RANGE BETWEEN 2 PRECEDING AND 2147483647 FOLLOWING) AS s FROM T) q',
	(map { "SELECT sum(s) FROM (SELECT count(*) OVER (ORDER BY $_ RANGE BETWEEN interval '5000 years' PRECEDING AND interval '290000 years' FOLLOWING) AS s FROM T) q" } 'd', 'ts'), 'SELECT i, count(*), max(r) FROM (SELECT i, t, row_number() OVER (PARTITION BY 10 / i ORDER BY t::word, id) AS r FROM T) q GROUP BY i ORDER BY i',
	(map { "SELECT count(*), max(k) FROM gpucol.datalog('.decl T(id:number, t:symbol, i:number) .input T .functor fussy(x:number):number .functor loud(x:symbol):symbol .decl o(x:number) $_ .output o', 'o') AS r (k int8)" }
		'o(10 / i) :- T(_, _, i).', 'o(id) :- T(id, _, i), 10 / i > 3.', 'o(to_number(substr(t, 5, 2))) :- T(_, t, _).', 'o(x) :- T(id, t, i), id < 300, x = i * 4000000000 / i.', 'o(@fussy(i)) :- T(_, _, i).', 'o(strlen(@loud(t))) :- T(_, t, _).', 'o(id) :- T(id, t, i), @fussy(i) > 2, T(_, t, i).',
		'o(x) :- x = sum 10 / i : { T(_, _, i) }.', 'o(x) :- T(_, _, i), x = range(1, i + 1).'),
	'WITH RECURSIVE r (k) AS (SELECT id FROM T WHERE id < 10 UNION SELECT x.id FROM r JOIN T x ON x.id = r.k + 3 WHERE 1 / x.i >= 0 AND noisy(x.t)) SELECT count(*) FROM r');

# What the attacker sees of all statements over a table.
sub run_script
{
	my ($schema, $table) = @_;
	my @statements = map { s/\bT\b/$table/gr } @once, map { my $shape = $_; map { my $c = $_; $shape =~ s/\bC\b/$c/gr } @conditions } @shapes;
	push @statements, map { my $n = $_; map { $joined[$_] =~ s/\bT\b/$table/gr =~ s/\bC\b/$conditions[$n]/gr } grep { ($_ + $n) % 3 == 0 } 0 .. $#joined } 0 .. $#conditions;
	push @statements, map { my $n = $_; map { $newer[$_] =~ s/\bT\b/$table/gr =~ s/\bC\b/$conditions[$n]/gr } grep { ($_ + $n) % 3 == 0 } 0 .. $#newer } 0 .. $#conditions;
	push @statements, map { my $n = $_; map { $latest[$_] =~ s/\bT\b/$table/gr =~ s/\bC\b/$conditions[$n]/gr } grep { ($_ + $n) % 3 == 0 } 0 .. $#latest } 0 .. $#conditions;
	push @statements, map { my $n = $_; map { "SET enable_seqscan = off; SELECT count(*), sum(id) FROM $table WHERE " . $ranges[$_] =~ s/\bC\b/($conditions[$n])/gr . '; RESET enable_seqscan' } grep { ($_ + $n) % 3 == 0 } 0 .. $#ranges } 0 .. $#conditions;
	my $script = "\\set VERBOSITY terse\nSET search_path = $schema, public;\nSET extra_float_digits = -3;\nSET ROLE low;\n" . join('', map { "\\echo -- $_\n" . s/\bS\./$schema./gr . ";\n" } @statements);
	my $out = '';

	IPC::Run::run([ 'psql', '-X', '-A', '-t', '-q', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$out, '2>&1');
	$out =~ s/^psql:[^ ]* //mg;
	return [ map { without_order($_) } split /^(?=-- )/m, $out ];
}

# The notices of a statement without order and repetition: a function is called for each
# row or for each group, as the plan goes.
sub without_order
{
	my ($text) = @_;
	my %notices = map { $_ => 1 } $text =~ /^(NOTICE:.*)$/mg;

	# nor does it matter which of the rows that are seen raises the error
	return join("\n", sort keys %notices) . "\n" . $text =~ s/^NOTICE:.*\n//mgr =~ s/^(ERROR:.*"word) \d+"/$1/mgr;
}

sub same_outcome
{
	my ($name, $one, $two) = @_;
	my @different = grep { $one->[$_] ne ($two->[$_] // '') } 0 .. $#$one;

	is(scalar @different, 0, $name);
	diag("$one->[$_]instead:\n$two->[$_]") for @different[ 0 .. min(7, $#different) ];
	return;
}

make_schema('heap_nasty', 'heap', $nasty, 0);
make_schema('packed_nasty', 'gpucol', $nasty, 1);
make_schema('packed_plain', 'gpucol', $plain, 1);
make_schema('delta_nasty', 'gpucol', $nasty, 0);
for my $table ('secret', 'barred')
{
	my $packed = run_script('packed_nasty', $table);

	cmp_ok(scalar @$packed, '>', 1000, "$table: statements ran");
	same_outcome("$table: what is hidden or deleted makes no difference", run_script('packed_plain', $table), $packed);
	next if $table eq 'barred';
	my $expected = run_script('heap_nasty', $table);
	same_outcome("$table: as over heap, packed", $expected, $packed);
	same_outcome("$table: as over heap, in the delta", $expected, run_script('delta_nasty', $table));
}

# the statements are pushed down all the same, where that is harmless
for my $pushed (q(t ~ '(1|2)$'), q(t LIKE 'word\_%' OR t LIKE '%1_'), q(j @> '{"a": 5}'), q(i + 1 > 0), q(1 / i >= 0), q(owner = current_user), q(owner = current_setting('search_path')))
{
	like($node->safe_psql('postgres', "SET search_path = packed_nasty; SET ROLE low; EXPLAIN (COSTS OFF) SELECT count(*) FROM secret WHERE $pushed"), qr/GpucolAgg/, "pushed down: $pushed");
}
#
# A hidden value that is so long that results would exceed what PostgreSQL can hold, in a
# segment and in the delta, and a short one instead.
#
my $longer = 'length(' . join(' || ', ('X') x 8) . ') = 48';

for my $schema ('long', 'short')
{
	my $value = $schema eq 'long' ? "repeat('x', 140000000)" : "'word 1'";

	$node->safe_psql('postgres', <<~SQL);
		CREATE SCHEMA $schema;
		GRANT ALL ON SCHEMA $schema TO low;
		SET search_path = $schema, public;
		CREATE TABLE packed (id int, owner text, t text) USING gpucol;
		INSERT INTO packed SELECT k, CASE WHEN k % 4 = 0 THEN 'other' ELSE 'low' END, 'word ' || k % 7 FROM generate_series(1, 2000) k;
		CREATE TABLE delta (LIKE packed) USING gpucol;
		INSERT INTO delta SELECT * FROM packed WHERE id <= 400;
		INSERT INTO packed VALUES (5000, 'other', $value);
		INSERT INTO delta VALUES (5000, 'other', $value);
		SELECT gpucol.merge('packed');
		CREATE POLICY own ON packed USING (owner = 'low');
		CREATE POLICY own ON delta USING (owner = 'low');
		ALTER TABLE packed ENABLE ROW LEVEL SECURITY;
		ALTER TABLE delta ENABLE ROW LEVEL SECURITY;
		CREATE VIEW joined WITH (security_barrier) AS SELECT p.id, p.t, d.t AS u FROM packed p JOIN delta d USING (id) WHERE d.id % 2 = 1;
		GRANT SELECT ON packed, delta, joined TO low;
		SQL
}
my @long = map { my $c = $_; map { my $table = $_; map { s/\bT\b/$table/r =~ s/\bC\b/$c/r }
		  'SELECT count(*) FROM T WHERE C', 'SELECT id FROM T WHERE C ORDER BY id LIMIT 3', 'SELECT id FROM T WHERE C AND id > 1990', 'SELECT count(*) FILTER (WHERE C) FROM T',
		  'SELECT id, rank() OVER (ORDER BY id) FROM T WHERE C ORDER BY 1 LIMIT 3' } 'packed', 'delta' } $longer =~ s/X/t/gr;
push @long, map {; my $c = $longer =~ s|X|$_.t|gr; ("SELECT count(*), min(p.id) FROM packed p JOIN delta d USING (id) WHERE $c", "SELECT p.id FROM packed p JOIN delta d USING (id) WHERE $c ORDER BY 1 LIMIT 3") } "p", "d";
push @long, map {; "SELECT count(*) FROM joined WHERE " . $longer =~ s|X|$_|gr } "t", "u";
push @long, "SET min_parallel_table_scan_size = 0; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET max_parallel_workers_per_gather = 2; SELECT count(*) FROM (SELECT id FROM packed WHERE " . ($longer =~ s/X/t/gr) . " OFFSET 1) x";
for my $role ('low', 'postgres')
{
	my %told;

	for my $schema ('long', 'short')
	{
		my (undef, $out, $error) = $node->psql('postgres', "SET search_path = $schema, public; SET ROLE $role; " . join(';', $role eq 'low' ? @long : $long[0]), on_error_stop => 0);
		$told{$schema} = "$out\n$error";
	}
	is($told{long}, $told{short}, 'the length of a hidden value makes no difference') if $role eq 'low';
	like($told{long}, qr/invalid memory alloc request size|out of memory/, 'whoever sees it has its error') if $role ne 'low';
}

for my $pushed (map { $joined[$_] =~ s/\bT\b/secret/gr =~ s/\bC\b/t LIKE 'w%'/gr } 0, 5)
{
	like($node->safe_psql('postgres', "SET search_path = packed_nasty; SET enable_nestloop = off; SET ROLE low; EXPLAIN (COSTS OFF) $pushed"), qr/GpucolJoin|GpucolAgg.*Join|Join.*GpucolAgg/s, "joined: $pushed");
}

my %plans = (2 => qr/CTE w\n *->  Custom Scan \(GpucolAgg\)/, 3 => qr/^(?!.*CTE w\b).*Subquery Scan on a/s, 6 => qr/of each row the first 1 by/, 7 => qr/of each row the first 1 by/);
$plans{ 'SET enable_seqscan = off; ' . $_ } = qr/Bitmap Index Scan on secret_/ for map { "SELECT sum(id) FROM T WHERE $_" } @ranges[ 0 .. 2 ];
for my $asked (sort keys %plans)
{
	my $statement = ($latest[ $asked =~ /^\d/ ? $asked : @latest ] // $asked) =~ s/\bT\b/secret/gr =~ s/\bC\b/t LIKE 'w%'/gr;

	like($node->safe_psql('postgres', "SET search_path = packed_nasty; SET ROLE low; " . $statement =~ s/(?=\b(?:SELECT|WITH)\b)/EXPLAIN (COSTS OFF) /r), $plans{$asked}, "planned so: $statement");
}

unlike(slurp_file($node->logfile), qr/WARNING|PANIC|TRAP/, 'nothing leaked');
$node->stop;
done_testing();
