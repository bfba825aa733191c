# 044_functions.pl: random expressions and aggregates over a gpucol table and its heap twin:
# numbers, dates, times and texts with extremes, NULL, NaN and infinities, in segments and in
# the delta, some rows deleted and updated, groups without rows.
#
# The answers must be equal, floats to eleven digits.  Where heap raises an error, an engine may
# have excluded the row by another condition first; the opposite is a failure.  GPUCOL_SEED
# repeats a run, GPUCOL_QUERIES lengthens it, GPUCOL_SECONDS goes on for so long.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Functions;
use Gpucol;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $QUERIES = $ENV{GPUCOL_QUERIES} || 120;
my $SECONDS = $ENV{GPUCOL_SECONDS} || 0;

seed_random();
my $node = new_server('functions', 'extra_float_digits = -4', 'max_parallel_workers_per_gather = 0', 'gpucol.segment_rows = 1024');

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE seen (query text, pushed bool, error text);

CREATE FUNCTION answer(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('gpucol.pushdown', mode, true);
	EXECUTE 'SELECT count(*) || '' '' || coalesce(string_agg(r, E''\n'' ORDER BY r COLLATE "C"), '''')'
		' FROM (SELECT x::text AS r FROM (' || query || ') x) y' INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE ~ '^(42|XX)' THEN 'unexpected ' ELSE 'error ' END || SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	expected text := answer(replace(query, '@', 'heap'), 'forbid');
	got text := answer(replace(query, '@', 'packed'), 'require');
	line text;
	pushed bool := false;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'require', true);
	IF expected !~ '^(unexpected|error)' THEN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || replace(query, '@', 'packed') LOOP
			pushed := pushed OR line LIKE '%GpucolAgg%';
		END LOOP;
	END IF;
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	INSERT INTO seen VALUES (query, pushed, CASE WHEN expected LIKE 'error%' THEN substr(expected, 7, 5) END);
	RETURN CASE WHEN expected LIKE 'unexpected%' OR (expected NOT LIKE 'error%' AND expected <> got)
		THEN format(E'%s\nheap: %s\ngpucol: %s', query, left(expected, 400), left(got, 400)) END;
END $$;
SQL

# A table and its twin, of several batches of rows.
sub tables
{
	my @lines = ('SET client_min_messages = warning;', 'DROP TABLE IF EXISTS heap, packed;',
		'CREATE OR REPLACE FUNCTION pg_temp.r(i bigint, salt int, n int) RETURNS int LANGUAGE sql IMMUTABLE AS $$ SELECT (abs(hashint8(i * 1000003 + salt)::int8) % n)::int $$;',
		'CREATE TABLE heap (id int, s int2, i int, b int8, p numeric(10,2), q numeric(8,3), n numeric, f float8, g real, bo bool, t text COLLATE "C", c varchar(9),',
		'	d date, ts timestamp, tz timestamptz, iv interval, tm time, m money);', 'CREATE TABLE packed (LIKE heap) USING gpucol;');

	for my $batch (0 .. between(0, 3))
	{
		push @lines, 'INSERT INTO heap SELECT ' . random_rows() . "\nFROM generate_series(" . 2000 * $batch . ', ' . (2000 * $batch + between(1, 1990)) . ') i;';
	}
	push @lines, 'INSERT INTO packed SELECT * FROM heap ORDER BY id;';
	push @lines, 'DELETE FROM @ WHERE id % ' . between(3, 60) . ' = 1;' if rand() < 0.6;
	push @lines, 'UPDATE @ SET i = s, f = -f WHERE id % ' . between(20, 90) . ' = 2;' if rand() < 0.4;
	push @lines, 'INSERT INTO @ (id) VALUES (20000);', 'INSERT INTO @ VALUES (20001, -32768, -2147483648, -9223372036854775808, -99999999.99, -99999.999, \'-Infinity\', \'-1e308\', \'-3e38\', true, \'\', \'\',',
		"	'4713-01-01 BC', '4713-01-01 BC', '1900-01-01Z', '-1 month', '24:00', '-9');" if rand() < 0.5;
	push @lines, 'ANALYZE heap, packed;';
	return map { my $line = $_; /@/ ? map { $line =~ s/@/$_/r } qw(heap packed) : $line } statements(@lines);
}

# Statements of several lines in one.
sub statements
{
	my @out = ('');

	for my $line (@_)
	{
		$out[-1] .= "$line\n";
		push @out, '' if $line =~ /;$/;
	}
	return grep { length } @out;
}

my $begin = time;
my ($round, $done) = (0, 0);
while ($done < $QUERIES || time - $begin < $SECONDS)
{
	my $script = join '', tables();
	my $n = between(20, 60);

	for (1 .. $n)
	{
		my $query = random_query() =~ s/'/''/gr;

		$script .= "SELECT d FROM compare('$query') d WHERE d IS NOT NULL;\n";
	}
	$done += $n;
	$round++;
	my ($status, $output, $error) = $node->psql('postgres', $script);
	is("$output$error", '', "table $round: equal answers");
}

my ($total, $pushed, $errors) = split /\|/, $node->safe_psql('postgres', 'SELECT count(*), count(*) FILTER (WHERE pushed), count(error) FROM seen');
note("$total queries, $pushed aggregated by the engine, $errors errors");
cmp_ok($pushed, '>', $total / 4, 'many aggregations are pushed down');
cmp_ok($errors, '<', $total * 0.6, 'many queries have an answer');
$node->stop;
done_testing();
