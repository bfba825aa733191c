# 048_function_rights.pl: what a role may not call is not computed for it either.
#
# The right to call one built-in function after another is taken from everybody.  Every
# statement over a gpucol table must then say what it says over its heap twin, also where it
# was planned before.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Test::More;

my $node = new_server('function_rights', 'max_parallel_workers_per_gather = 0');

$node->safe_psql('postgres', <<SQL);
CREATE ROLE low;
CREATE SCHEMA heap_twin;
CREATE SCHEMA packed;
CREATE TABLE heap_twin.x (id int, i int, t text, d date, n numeric(10,2));
INSERT INTO heap_twin.x SELECT k, k % 7, 'w' || k % 5, date '2020-01-01' + k % 50, k FROM generate_series(1, 3000) k;
CREATE TABLE packed.x (LIKE heap_twin.x) USING gpucol;
INSERT INTO packed.x SELECT * FROM heap_twin.x;
GRANT USAGE ON SCHEMA heap_twin, packed TO low;
GRANT SELECT ON heap_twin.x, packed.x TO low;
ANALYZE;
SQL

# Functions, and statements that call them.
my @cases = (
	[ 'sum(int)', 'SELECT sum(i) FROM x', 'SELECT sum(i) OVER (ORDER BY id) FROM x LIMIT 1', 'SELECT i, sum(i) FROM x GROUP BY ROLLUP (i) ORDER BY 1 LIMIT 1' ],
	[ 'count()', 'SELECT count(*) FROM x', 'SELECT count(*) FROM x a JOIN x b USING (id)', 'SELECT i, count(*) FROM x GROUP BY i ORDER BY 1' ],
	[ 'upper(text)', q(SELECT count(*) FROM x WHERE upper(t) = 'W1'), 'SELECT upper(t), count(*) FROM x GROUP BY 1 ORDER BY 1', 'SELECT max(upper(t)) FROM x', 'SELECT id FROM x ORDER BY upper(t), id LIMIT 1' ],
	[ 'int4mul(int, int)', 'SELECT sum(i * 2) FROM x', 'SELECT id FROM x WHERE i * 2 = 8 ORDER BY 1 LIMIT 1', 'SELECT a.i * 2 FROM x a JOIN x b USING (id) ORDER BY 1 LIMIT 1', 'SELECT i * 2, count(*) FROM x GROUP BY 1 ORDER BY 1' ],
	[ 'int4gt(int, int)', 'SELECT sum(n) FILTER (WHERE i > 3) FROM x', 'SELECT count(*) FROM x WHERE i > 3', 'SELECT count(*) FROM x a JOIN x b ON a.id = b.id AND a.i > b.i', 'SELECT i FROM x GROUP BY i HAVING max(id) > 2998 ORDER BY 1' ],
	[ 'int4eq(int, int)', 'SELECT count(*) FROM x a JOIN x b ON a.id = b.id', 'SELECT count(*) FROM x WHERE i = 3', 'SELECT a.id FROM x a JOIN x b ON a.id = b.i ORDER BY 1 LIMIT 1', 'SELECT count(*) FROM x WHERE i = ANY (ARRAY[1, 2])' ],
	[ 'int4eq(int, int)', 'SELECT i, count(*) FROM x GROUP BY i ORDER BY 1', 'SELECT DISTINCT i FROM x ORDER BY 1', 'SELECT rank() OVER (PARTITION BY i ORDER BY d) FROM x LIMIT 1', 'SELECT rank() OVER (PARTITION BY d ORDER BY i) FROM x LIMIT 1' ],
	[ 'texteq(text, text)', 'SELECT t, count(*) FROM x GROUP BY t ORDER BY 1', 'SELECT DISTINCT t FROM x ORDER BY 1', 'SELECT count(*) FROM x GROUP BY GROUPING SETS ((t), (i)) ORDER BY 1 LIMIT 1' ],
	[ 'int8eq(bigint, bigint)', 'WITH RECURSIVE r (k) AS (SELECT id::bigint FROM x UNION SELECT k + 1 FROM r WHERE k < 4000) SELECT count(*) FROM r', 'WITH RECURSIVE r (k) AS (SELECT id::bigint FROM x UNION SELECT y.id::bigint FROM x y JOIN r ON r.k = y.i WHERE y.id < 50) SELECT * FROM r ORDER BY 1 LIMIT 1' ],
	[ 'min(int)', 'WITH RECURSIVE r (k) AS (SELECT i FROM x UNION SELECT a.i FROM r JOIN x a ON a.id = r.k) SELECT min(k) FROM r', 'SELECT min(i) FROM x' ],
	[ 'int4lt(int, int)', 'WITH RECURSIVE r (k) AS (SELECT i FROM x UNION SELECT a.i FROM r JOIN x a ON a.id = r.k) SELECT * FROM r WHERE k < 3 ORDER BY 1', 'WITH RECURSIVE r (k) AS (SELECT i FROM x WHERE i < 3 UNION SELECT a.i FROM r JOIN x a ON a.id = r.k WHERE a.i < 5) SELECT count(*) FROM r' ],
	[ 'rank()', 'SELECT rank() OVER (ORDER BY id) FROM x LIMIT 1' ],
	[ 'length(text)', 'SELECT count(*) FROM x WHERE length(t) = 2', 'SELECT avg(length(t)) FROM x' ],
	[ 'string_agg(text, text)', q(SELECT length(string_agg(t, ',')) FROM x) ],
	[ 'pg_catalog."extract"(text, date)', 'SELECT extract(month FROM d), count(*) FROM x GROUP BY 1 ORDER BY 1' ],
	[ 'int4pl(int, int)', 'WITH RECURSIVE r (k) AS (SELECT i FROM x UNION SELECT a.i + 1 FROM r JOIN x a ON a.id = r.k) SELECT count(*) FROM r', 'SELECT sum(i + 1) OVER () FROM x LIMIT 1' ],
);

sub told
{
	my ($schema, $function, $right, @statements) = @_;
	my $n = 0;
	my $script = "SET search_path = $schema; SET ROLE low; SET plan_cache_mode = force_generic_plan;\n" .
	  join('', map { "PREPARE p" . $n++ . " AS $_;\n" } @statements) . join('', map { "EXECUTE p$_;\n" } 0 .. $#statements) .
	  "RESET ROLE;\n$right;\nSET ROLE low;\n" . join('', map { "EXECUTE p$_;\n$statements[$_];\nEXPLAIN (COSTS OFF) $statements[$_] \\g /dev/null\n" } 0 .. $#statements) .
	  "RESET ROLE; GRANT EXECUTE ON FUNCTION $function TO PUBLIC;\n";
	my (undef, $out, $error) = $node->psql('postgres', $script, on_error_stop => 0);

	$error =~ s/^psql:<stdin>:\d+: //mg;
	return "$out\n$error";
}

for my $case (@cases)
{
	my ($function, @statements) = @$case;
	my $right = "REVOKE EXECUTE ON FUNCTION $function FROM PUBLIC";
	my $expected = told('heap_twin', $function, $right, @statements);
	my $refused = () = $expected =~ /permission denied/g;

	# EXPLAIN makes no hash table, of which the keys must be told apart
	cmp_ok($refused, '>=', 2 * @statements, "$function: heap refuses");
	is(told('packed', $function, $right, @statements), $expected, "$function: so does gpucol");
}

# A subquery that becomes a join calls nothing that the statement does not.
for my $case ([ 'int4eq(int, int)', 'SELECT sum((SELECT count(*) FROM x y WHERE y.i = x.id::bigint)) FROM x' ], [ 'min(int)', 'SELECT count(*) FROM x WHERE EXISTS (SELECT FROM x y WHERE y.i < x.id)' ],
	[ 'min(int)', 'SELECT count(*) FROM x WHERE id > ALL (SELECT y.i FROM x y WHERE y.t = x.t)' ], [ 'count("any")', 'SELECT sum(id) FROM x WHERE id > 2 OR i NOT IN (SELECT y.i FROM x y WHERE y.t = x.t)' ])
{
	my ($function, $statement) = @$case;
	my %answer = map { $_ => $node->safe_psql('postgres', "REVOKE EXECUTE ON FUNCTION $function FROM PUBLIC; SET search_path = $_; SET ROLE low; $statement") } 'heap_twin', 'packed';

	is($answer{packed}, $answer{heap_twin}, "$function is not needed: $statement");
	$node->safe_psql('postgres', "GRANT EXECUTE ON FUNCTION $function TO PUBLIC");
}

# Views and functions of another owner, with policies and security barriers, over tables that the
# role may not read, or of which it may read some columns: their subqueries become joins.  A
# function of the role raises an error for each row that it should not be shown.
$node->safe_psql('postgres', 'CREATE ROLE vown');

sub views
{
	my ($method) = @_;
	my $script = <<'SQL' =~ s/AM\b/$method/gr;
CREATE SCHEMA vs_AM;
SET search_path = vs_AM, public;
SET default_table_access_method = AM;
CREATE TABLE a(id int, k int, v text, secret int); CREATE TABLE b(id int, k int, v text, secret int);
INSERT INTO a SELECT i,i%50,'w'||i%9,i FROM generate_series(1,4000) i; INSERT INTO b SELECT i,i%70,'w'||i%11,i FROM generate_series(1,6000) i;
ALTER TABLE a OWNER TO vown; ALTER TABLE b OWNER TO vown; ANALYZE a; ANALYZE b;
ALTER TABLE b ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON b USING (k%3 <> 1 OR current_user='vown' AND k%5=2); ALTER TABLE b FORCE ROW LEVEL SECURITY;
GRANT USAGE, CREATE ON SCHEMA vs_AM TO low, vown;
SET ROLE vown;
CREATE VIEW v1 AS SELECT a.id,a.k,a.v FROM a WHERE EXISTS(SELECT FROM b WHERE b.k=a.k AND b.id<60) OR a.id<10;
CREATE VIEW v2 WITH (security_barrier) AS SELECT a.id,a.k,a.v,(SELECT max(b.id) FROM b WHERE b.k=a.k) m FROM a WHERE a.k IN (SELECT b.k FROM b WHERE b.id%7=1) OR a.id=4;
CREATE VIEW v3 WITH (security_barrier) AS SELECT a.id,a.k,a.v, (SELECT b.v FROM b WHERE b.k=a.id ORDER BY b.id DESC LIMIT 1) f FROM a WHERE a.secret%3=0;
CREATE VIEW v4 WITH (security_invoker) AS SELECT a.id,a.k FROM a WHERE a.id<50 OR EXISTS(SELECT FROM b WHERE b.k=a.k AND b.id<9);
CREATE FUNCTION sd() RETURNS TABLE(n bigint,u text) LANGUAGE sql SECURITY DEFINER AS 'select count(*), current_user::text FROM vs_AM.a WHERE EXISTS(SELECT FROM vs_AM.b WHERE b.k=a.k AND b.id<60) OR a.id<10';
GRANT SELECT ON v1,v2,v3,v4 TO low;
RESET ROLE;
SET ROLE low;
CREATE FUNCTION leak(x int) RETURNS bool LANGUAGE plpgsql IMMUTABLE COST 0.00001 AS 'begin IF x%3=0 THEN RETURN true; END IF; RAISE ''leak %'', x; END';
SELECT count(*),sum(id) FROM v1; SELECT count(*),sum(id),sum(m) FROM v2; SELECT count(*),count(f),min(f) FROM v3; SELECT count(*) FROM v4;
SELECT count(*) FROM a; SELECT count(*) FROM b; SELECT * FROM sd();
SELECT count(*) FROM v3 WHERE leak(id);
SELECT count(*) FROM v3 x WHERE leak(x.id) OR EXISTS(SELECT FROM v2 y WHERE y.id=x.id);
SELECT count(*) FROM v3 x WHERE EXISTS(SELECT FROM v1 y WHERE y.id=x.id AND y.v='w1') OR leak(x.id);
SELECT count(*) FROM v3 x WHERE (x.id IN (SELECT y.id FROM v3 y WHERE leak(y.id)) OR x.k=3) AND leak(x.id);
SELECT count(*) FROM v3 x WHERE NOT (x.k IN (SELECT y.k FROM v2 y) AND leak(x.id));
SELECT count(*), count(*) FILTER (WHERE EXISTS(SELECT FROM v3 y WHERE y.id=x.k AND leak(y.id))) FROM v3 x;
SELECT x.k%3, count(*) FROM v3 x WHERE EXISTS(SELECT FROM v3 y WHERE y.k=x.k AND leak(y.id)) OR x.id<9 GROUP BY 1 ORDER BY 1;
SELECT x.id,(SELECT y.f FROM v3 y WHERE y.id=x.id AND leak(y.id) ORDER BY y.id LIMIT 1) FROM v3 x WHERE x.id<40 ORDER BY 1;
SELECT x.id, z.* FROM v3 x LEFT JOIN LATERAL (SELECT y.f,y.id j FROM v3 y WHERE y.k=x.k AND leak(y.id) ORDER BY y.id LIMIT 1) z ON true WHERE x.id<30 ORDER BY 1;
RESET ROLE; GRANT SELECT(id,k) ON a TO low; GRANT SELECT (id,k) ON b TO low; SET ROLE low;
SELECT count(*) FROM v4;
SELECT count(*) FROM a WHERE EXISTS(SELECT FROM b WHERE b.k=a.k AND b.id<9) OR a.id=3;
SELECT count(*) FROM a WHERE EXISTS(SELECT FROM b WHERE b.k=a.k AND b.secret<9) OR a.id=3;
SELECT count(*) FROM a WHERE EXISTS(SELECT secret FROM b WHERE b.k=a.k AND b.id<9) OR a.id=3;
SELECT count(*) FROM a WHERE a.secret=2 OR EXISTS(SELECT FROM b WHERE b.k=a.k AND b.id<9);
SELECT count(*),sum((SELECT max(id) FROM b WHERE b.k=a.k)) FROM a;
SELECT count(*),min((SELECT v FROM b WHERE b.k=a.k ORDER BY id LIMIT 1)) FROM a;
SELECT count(*) FROM a WHERE k NOT IN (SELECT k FROM b) OR id<4;
SELECT count(*) FROM a WHERE id < 900 AND k*2 < (SELECT avg(b.k) FROM b WHERE b.k = a.id);
PREPARE q AS SELECT count(*) FROM a WHERE EXISTS(SELECT FROM b WHERE b.k=a.k AND b.id<30) OR a.id=3;
EXECUTE q; EXECUTE q; RESET ROLE; EXECUTE q; SET ROLE vown; EXECUTE q; RESET ROLE; SET ROLE low; EXECUTE q;
SQL
	my (undef, $out, $error) = $node->psql('postgres', $script, on_error_stop => 0);

	$error =~ s/^psql:<stdin>:\d+: //mg;
	return "$out\n$error";
}

my $views = views('heap');
unlike($views, qr/leak \d/, 'heap shows no hidden row to the function');
my $denied = () = $views =~ /permission denied for table/g;
cmp_ok($denied, '==', 7, 'heap refuses tables and columns');
is(views('gpucol'), $views, 'so does gpucol, and has the same rows');
like($node->safe_psql('postgres', 'SET search_path = vs_gpucol; SET ROLE low; EXPLAIN (COSTS OFF) SELECT count(*) FROM v1'), qr/GpucolJoin|Left Join|GpucolAgg.*Join/s, 'a subquery has become a join');
$node->stop;
done_testing();
