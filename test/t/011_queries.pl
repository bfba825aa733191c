# 011_queries.pl: random queries over random tables, with pushdown forbidden,
# allowed, and required (which takes gpucol's nodes where PostgreSQL's would be
# cheaper); the results must be equal, or both must be errors.
#
# Where PostgreSQL raises an error, an engine may have excluded the row by another
# condition first; the opposite is a failure.  GPUCOL_SEED repeats a run,
# GPUCOL_QUERIES lengthens it.
use strict;
use warnings;
use utf8;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use Queries;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $QUERIES = $ENV{GPUCOL_QUERIES} || 200;
my $TABLES = 3;

seed_random();
my $node = new_server('queries', 'extra_float_digits = -4', 'max_parallel_workers_per_gather = 0');

# compare(query): NULL if both ways agree, else what is wrong.  Every query leaves
# a row in seen: whether it was an aggregation in the engine, and an error.
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE seen (query text, pushed bool, error bool);

CREATE FUNCTION answer(query text, mode text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE result text;
BEGIN
	PERFORM set_config('gpucol.pushdown', mode, true);
	EXECUTE 'SELECT count(*) || '' '' || coalesce(string_agg(r, E''\n'' ORDER BY r COLLATE "C"), '''')'
		' FROM (SELECT x::text AS r FROM (' || query || ') x) y' INTO result;
	RETURN result;
EXCEPTION WHEN OTHERS THEN
	RETURN CASE WHEN SQLSTATE ~ '^(42|XX)' THEN 'unexpected ' || SQLSTATE || ' ' || SQLERRM
		WHEN SQLERRM LIKE '%is not pushed down' THEN 'refused' ELSE 'error' END;
END $$;

CREATE FUNCTION compare(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	forbidden text := answer(query, 'forbid');
	allowed text := answer(query, 'allow');
	required text := answer(query, 'require');
	line text;
	pushed bool := false;
BEGIN
	PERFORM set_config('gpucol.pushdown', 'allow', true);
	IF forbidden NOT LIKE 'unexpected%' AND forbidden <> 'error' THEN
		FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
			pushed := pushed OR line LIKE '%GpucolAgg%';
		END LOOP;
	END IF;
	INSERT INTO seen VALUES (query, pushed, forbidden = 'error');
	IF forbidden NOT LIKE 'unexpected%' AND (forbidden = 'error' OR forbidden = allowed AND required IN (forbidden, 'refused')) THEN
		RETURN NULL;
	END IF;
	RETURN format(E'%s\nforbid: %s\nallow: %s\nrequire: %s', query, left(forbidden, 300), left(allowed, 300), left(required, 300));
END $$;
SQL

for my $round (1 .. $TABLES)
{
	my $script = random_table();

	for (1 .. $QUERIES / $TABLES)
	{
		my $query = random_query() =~ s/'/''/gr;

		$script .= "SELECT d FROM compare('$query') d WHERE d IS NOT NULL;\n";
	}
	my ($status, $output, $error) = $node->psql('postgres', $script);
	is("$output$error", '', "table $round: equal answers");
}

my ($total, $pushed, $errors) = split /\|/, $node->safe_psql('postgres',
	'SELECT count(*), count(*) FILTER (WHERE pushed), count(*) FILTER (WHERE error) FROM seen');
note("$total queries, $pushed aggregated by the engine, $errors errors");
cmp_ok($pushed, '>', $total / 4, 'most aggregations are pushed down');
cmp_ok($errors, '<', $total / 2, 'most queries have an answer');

done_testing();
