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

	cmp_ok($refused, '==', 3 * @statements, "$function: heap refuses");
	is(told('packed', $function, $right, @statements), $expected, "$function: so does gpucol");
}
$node->stop;
done_testing();
