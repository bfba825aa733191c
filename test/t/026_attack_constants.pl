# 026_attack_constants.pl: expressions that have one value for a whole scan, written by
# a role that would be another.  They reach code of its own and of others' (functions
# and views of a definer, casts, operators, domains) and raise errors, before rows that
# are excluded, in branches that are left out and where there is nothing to scan.
#
# Each statement runs over a heap table and over gpucol tables, packed and not, on
# parallel workers and off them.  Whatever happens must be the same: rows, errors,
# notices, who the session is afterwards, and what was written.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use List::Util 'min';
use PostgreSQL::Test::Utils;
use Test::More;

my $node = new_server('attack_constants', 'min_parallel_table_scan_size = 0', 'parallel_setup_cost = 0', 'parallel_tuple_cost = 0');

# What is not the attacker's.
$node->safe_psql('postgres', <<'SQL');
CREATE ROLE low;
CREATE TABLE written (who name DEFAULT current_user);
CREATE FUNCTION fails(int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER AS
	'BEGIN PERFORM 1 / $1; RETURN 1; END';
CREATE FUNCTION writes(int) RETURNS int LANGUAGE plpgsql VOLATILE SECURITY DEFINER AS
	'BEGIN INSERT INTO public.written DEFAULT VALUES; PERFORM 1 / $1; RETURN 1; END';
CREATE VIEW failing AS SELECT fails(0);
CREATE VIEW writing AS SELECT writes(0);
CREATE VIEW working AS SELECT fails(1);
GRANT SELECT ON failing, writing, working, written TO low;
SQL

# The same schema for each method, made by the attacker.
sub make_schema
{
	my ($schema, $method) = @_;

	$node->safe_psql('postgres', <<~SQL);
		CREATE SCHEMA $schema AUTHORIZATION low;
		SET ROLE low;
		SET search_path = $schema, public;
		SET default_table_access_method = $method;
		CREATE TABLE g (x int, c bool, t text, n numeric(8,2), d date, ts timestamptz);
		INSERT INTO g SELECT i, i % 2 = 0, 'k' || i % 5, i / 4.0, date '2020-01-01' + i, timestamptz '2020-01-01 00:00Z' + i * interval '1 hour'
		FROM generate_series(1, 5000) i;
		CREATE TABLE nothing (LIKE g);
		CREATE FUNCTION shout(int) RETURNS int LANGUAGE plpgsql STABLE PARALLEL SAFE AS
			'BEGIN RAISE NOTICE ''called''; RETURN 1 / \$1; END';
		CREATE DOMAIN word AS text CHECK (length(value) < 100);
		CREATE DOMAIN odd AS int CHECK (shout(value % 2) = 1);
		CREATE TYPE pair AS (a odd, b text);
		CREATE TYPE level AS ENUM ('low', 'high');
		CREATE FUNCTION level_int(level) RETURNS int LANGUAGE sql STABLE AS 'SELECT shout(0)';
		CREATE CAST (level AS int) WITH FUNCTION level_int(level);
		CREATE CAST (pair AS text) WITH INOUT;
		CREATE FUNCTION planted(int, text) RETURNS int LANGUAGE sql STABLE AS 'SELECT shout(0)';
		CREATE TYPE rise AS ENUM ('up');
		CREATE TYPE slope AS ENUM ('flat', 'steep');
		CREATE FUNCTION rise_slope(rise) RETURNS slope LANGUAGE sql IMMUTABLE AS 'SELECT CASE shout(0) WHEN 1 THEN ''flat'' ELSE ''steep'' END::slope';
		CREATE CAST (rise AS slope) WITH FUNCTION rise_slope(rise) AS IMPLICIT;
		CREATE OPERATOR <-> (LEFTARG = int, RIGHTARG = text, FUNCTION = planted);
		SQL
	return;
}

# Expressions of int that raise errors or run code, each with one value for a scan.
my @expressions = (
	"length(table_to_xml('failing', false, false, '')::text)",
	"length(table_to_xml('writing', false, false, '')::text)",
	"length(table_to_xml('working', false, false, '')::text)",
	"length(query_to_xml('select * from writing', false, false, '')::text)",
	"length(query_to_xml_and_xmlschema('select * from failing', false, false, '')::text)",
	"length(cursor_to_xml('none', 1, false, false, '')::text)",
	"(xpath('/table/row/fails/text()', table_to_xml('working', false, false, '')))[1]::text::int",
	"length(ts_rewrite('a'::tsquery, 'select ''a''::tsquery, ''b''::tsquery from writing')::text)",
	"fails(0)", "fails(1)", "shout(0)", "shout(1)", "writes(0)",
	"('zz'::word)::int", "('7'::word)::int", "(2::odd)::int", "current_setting('x.y')::int",
	"(('(2,x)'::text)::pair).a", "(('{1,' || current_setting('server_version_num') || ',x}')::int[])[1]",
	"(('{\"(2,a)\"}' || left(current_user, 0))::pair[])[1].a",
	"(jsonb_populate_record(null::pair, ('{\"a\": 2' || left(current_user, 0) || '}')::jsonb)).a",
	"(json_populate_record(null::pair, ('{\"a\": 3' || left(current_user, 0) || '}')::json)).a",
	"('high' || left(current_user, 0))::level::int", "('none' || left(current_user, 0))::level::int",
	"('now' || current_setting('server_version'))::regclass::oid::int",
	"(1 <-> current_user::text)", "has_table_privilege('none' || current_user, 'select')::int",
	"lower(('[1,' || current_setting('work_mem') || ')')::int4range)", "1 / (SELECT 0)", "(SELECT fails(0))", "(SELECT shout(0) LIMIT 1)",
	"(SELECT 1 / count(*)::int FROM written)", "extract(year FROM ('x' || current_user)::date)::int",
	"extract(year FROM now() - current_setting('statement_timeout')::interval * 1e9)::int",
	"date_part('none' || current_user, now())::int", "to_number('x' || current_user, '9')::int", "length(pg_get_viewdef('none' || current_user))",
	"current_user::text::int", "length(lpad(current_user::text, 1073741820, 'x') || current_user)", "length(repeat(current_user::text, 1073741820))");

# What surrounds them: PostgreSQL evaluates them for some rows, or for none.
my @statements = (
	'SELECT sum(x + E) FROM g WHERE x < 0', 'SELECT count(*) FROM g WHERE x < 0 AND x = E', 'SELECT count(*) FROM g WHERE x > 4990 AND x <> E',
	'SELECT x FROM g WHERE x < 0 AND x + 1 > E', 'SELECT x FROM nothing WHERE x = E', 'SELECT sum(x * E) FROM nothing', 'SELECT x FROM g WHERE x = E LIMIT 0',
	'SELECT x FROM g WHERE false AND x = E', 'SELECT count(*) FROM g WHERE x < 0 AND t LIKE (E)::text', "SELECT count(*) FROM g WHERE x < 0 AND t ~ (E)::text",
	'SELECT count(*) FROM g WHERE x < 0 AND x IN (3, E, 5)', 'SELECT max(coalesce(x, E)) FROM g', 'SELECT sum(CASE WHEN x < 0 THEN x + E ELSE 1 END) FROM g',
	'SELECT sum(x + E) FILTER (WHERE x < 0) FROM g', 'SELECT x % 3 + E AS k, count(*) FROM g WHERE x < 0 GROUP BY 1', 'SELECT x FROM g WHERE x < 0 AND x > E ORDER BY x LIMIT 3',
	'SELECT count(*) FROM g WHERE x < 3 AND (c IS NULL AND x = E)', 'SELECT count(*) FROM g WHERE x < 0 AND n > E', 'SELECT count(*) FROM g WHERE x < 0 AND d > date \'2020-01-01\' + E',
	'SELECT avg(E) FROM g WHERE c < false', 'SELECT min(t) FROM g WHERE x < 0 AND t > (E)::text', "SELECT count(*) FROM g WHERE x < 0 AND E = 1",
	map { "WITH RECURSIVE r (k) AS (SELECT x FROM g WHERE x < $_ UNION SELECT g.x FROM r JOIN g ON g.x = r.k + 1 WHERE r.k < (SELECT E)) SELECT count(*) FROM r" } 0, 3);
my @once = (
	"WITH RECURSIVE r (s, k) AS (SELECT 'flat'::slope, x FROM g WHERE x < 0 UNION ALL SELECT 'up'::rise, g.x FROM r JOIN g ON g.x = r.k + 1) SELECT count(*) FROM r",
	"WITH RECURSIVE r (s, k) AS (SELECT 'flat'::slope, x FROM g WHERE x < 3 UNION ALL SELECT 'up'::rise, g.x FROM r JOIN g ON g.x = r.k + 1) SELECT count(*) FROM r",
	"SELECT avg(('zz'::word)::int) FROM g WHERE c < false", 'EXPLAIN (COSTS OFF) SELECT 1 FROM nothing WHERE fails(0) = 1 AND false', "SELECT count(*) FROM g WHERE x < 0 AND t LIKE 'a\\' || left(current_user, 0)",
	"SELECT count(*) FROM g WHERE x > 0 AND t LIKE 'a\\' || left(current_user, 0)", "SELECT count(*) FROM g WHERE x < 0 AND t ~ ('(' || left(current_user, 0))", "SELECT count(*) FROM g WHERE t ~ ('(' || left(current_user, 0))",
	"SELECT count(*) FROM nothing WHERE t ~ '('", "SELECT count(*) FROM g WHERE x < 0 AND t ~ '('", "SELECT count(*) FROM g WHERE x < 0 AND t LIKE 'a\\'", "SELECT count(*) FROM g WHERE t LIKE 'a\\'");

# Everything in one session of the attacker's; what it printed.
sub run_script
{
	my ($schema, $settings, @sql) = @_;
	my $script = "\\set VERBOSITY terse\nSET search_path = $schema, public;\n$settings\nSET ROLE low;\n";

	$script .= "\\echo -- $_\n$_;\nSELECT current_user, count(*) FROM written;\n" for map { s/\n/ /gr } @sql;
	my $out = '';
	IPC::Run::run([ 'psql', '-X', '-A', '-t', '-q', '-d', $node->connstr('postgres') ], '<', \$script, '>', \$out, '2>&1');
	$out =~ s/^psql:[^ ]* //mg;
	return $out;
}

# A stable function with one value is called once, where PostgreSQL calls it for each row.
sub without_repeats
{
	my ($text) = @_;

	1 while $text =~ s/(NOTICE:  called\n)\1/$1/g;
	return $text;
}

# A statement's lines, from its text to who the session was then.
sub statements { return split /^(?=-- )/m, without_repeats($_[0]); }

# Nothing may differ from the first outcome, and nobody may have become somebody.
sub same_outcome
{
	my ($name, $outcome, $expected) = @_;
	my @outcome = statements($outcome);
	my @expected = statements($expected);
	my @different = grep { $expected[$_] ne ($outcome[$_] // '') } 0 .. $#expected;

	is(scalar @different, 0, "$name: statements like those over heap");
	diag("$expected[$_]instead:\n$outcome[$_]") for @different[ 0 .. min(4, $#different) ];
	is(scalar(grep { !/^low\|0$/m } @outcome), 0, "$name: the role is the attacker's, and nothing was written");
	return;
}

my @all = (@once, map { my $statement = $_; map { $statement =~ s/\bE\b/$_/gr } @expressions } @statements);
my $serial = 'SET max_parallel_workers_per_gather = 0;';
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET gpucol.enable_agg = off;';

make_schema('plain', 'heap');
make_schema('packed', 'gpucol');
make_schema('delta', 'gpucol');
$node->safe_psql('postgres', "SELECT gpucol.merge('packed.g')");
my $expected = run_script('plain', $serial, @all);
cmp_ok(scalar(statements($expected)), '>', 800, 'statements of the attacker ran');
same_outcome('packed', run_script('packed', $serial, @all), $expected);
same_outcome('delta', run_script('delta', $serial, @all), $expected);
my @prepared = map { s/\(0\)/(\$1)/gr } grep { !/^EXPLAIN/ } @all;
my $generic = "$serial SET plan_cache_mode = force_generic_plan;";
$_ = "PREPARE s (int) AS $_; EXECUTE s (0); DEALLOCATE s" for @prepared;
same_outcome('generic plans', run_script('packed', $generic, @prepared), run_script('plain', $generic, @prepared));
# a Gather evaluates subqueries before it starts workers
my @alone = grep { !/\(SELECT/ } @all;
same_outcome('parallel', run_script('packed', $parallel, @alone), run_script('plain', $parallel, @alone));

my $explained = $node->safe_psql('postgres', "EXPLAIN SELECT sum(x + fails(0)) FROM packed.g WHERE x < 0");
like($explained, qr/GpucolAgg/, 'such statements are pushed down');
unlike(slurp_file($node->logfile), qr/WARNING|PANIC|TRAP/, 'nothing leaked');
$node->stop;
done_testing();
