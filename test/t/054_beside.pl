# 054_beside.pl: another extension whose hook of paths counts on its planner hook having been called
# before, as TimescaleDB's and Citus's do: however often a statement is planned, and whichever library
# was loaded first, no path is made outside of it, and answers are heap's.
#
# The other extension is compiled here, with the compiler that gpucol was compiled with.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Gpucol;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $OTHER = <<'C';
#include "postgres.h"
#include "fmgr.h"
#include "optimizer/paths.h"
#include "optimizer/planner.h"

PG_MODULE_MAGIC;

static planner_hook_type next_planner;
static create_upper_paths_hook_type next_upper;
static set_rel_pathlist_hook_type next_base;
static int depth = 0;

void _PG_init(void);

static PlannedStmt *
plan(Query *parse, const char *string, int options, ParamListInfo params)
{
	PlannedStmt *volatile stmt = NULL;

	depth++;
	PG_TRY();
	{
		stmt = (next_planner ? next_planner : standard_planner) (parse, string, options, params);
	}
	PG_FINALLY();
	{
		depth--;
	}
	PG_END_TRY();
	return stmt;
}

static void
look(void)
{
	if (depth == 0)
		elog(ERROR, "paths are made outside of the planner hook");
}

static void
upper(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input, RelOptInfo *output, void *extra)
{
	look();
	if (next_upper)
		next_upper(root, stage, input, output, extra);
}

static void
base(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	look();
	if (next_base)
		next_base(root, rel, rti, rte);
}

void
_PG_init(void)
{
	next_planner = planner_hook;
	planner_hook = plan;
	next_upper = create_upper_paths_hook;
	create_upper_paths_hook = upper;
	next_base = set_rel_pathlist_hook;
	set_rel_pathlist_hook = base;
}
C

my $dir = PostgreSQL::Test::Utils::tempdir_short();
my $include = `pg_config --includedir-server`;
chomp $include;
append_to_file("$dir/beside.c", $OTHER);
plan skip_all => 'nothing can be compiled here'
	if system("cc -shared -fPIC -I '$include' -o '$dir/beside.so' '$dir/beside.c' >'$dir/log' 2>&1") != 0;

my $node = new_server('beside');
$node->safe_psql('postgres', q{
	CREATE TABLE h_part AS SELECT i AS id, i % 7 AS kind, (i * 37 % 1009) / 4.0 AS cost FROM generate_series(1, 3000) i;
	CREATE TABLE h_sale AS SELECT i AS id, nullif(i * 31 % 3001, 9) AS part, i % 50 AS qty FROM generate_series(1, 9000) i;
	CREATE TABLE g_part USING gpucol AS TABLE h_part;
	CREATE TABLE g_sale USING gpucol AS TABLE h_sale;
	ANALYZE});

# Subqueries that are planned both ways, one by one and as joins; others beside them.
my @queries = (
	'SELECT count(*), sum(qty) FROM @_sale s WHERE qty > (SELECT avg(qty) FROM @_sale x WHERE x.part = s.part)',
	'SELECT p.kind, min(p.cost) FROM @_part p WHERE p.cost = (SELECT min(cost) FROM @_part x WHERE x.kind = p.kind) GROUP BY 1 ORDER BY 1',
	'SELECT count(*) FROM @_part p WHERE EXISTS (SELECT FROM @_sale s WHERE s.part = p.id AND s.qty > 40)',
	'SELECT count(*) FROM @_part p WHERE id NOT IN (SELECT part FROM @_sale WHERE part IS NOT NULL)',
	'SELECT count(l.qty), sum(l.qty) FROM @_part p LEFT JOIN LATERAL (SELECT qty FROM @_sale s WHERE s.part = p.id ORDER BY id LIMIT 1) l ON true',
	'WITH w AS (SELECT part, sum(qty) AS q FROM @_sale GROUP BY 1) SELECT count(*), max(a.q) FROM w a JOIN w b ON a.part = b.part',
	'SELECT kind, count(*), rank() OVER (ORDER BY sum(cost)) FROM @_part GROUP BY 1 ORDER BY 1');

foreach my $order ([ "'$dir/beside'", "'gpucol'" ], [ "'gpucol'", "'$dir/beside'" ])
{
	my $name = $order->[0] =~ /gpucol'/ ? 'gpucol loaded first' : 'the other one loaded first';

	foreach my $query (@queries)
	{
		my %answer;

		foreach my $tables ('h', 'g')
		{
			my $statement = $query =~ s/@/$tables/gr;
			my ($status, $out, $err) = $node->psql('postgres', join('', map { "LOAD $_;" } @$order) .
				"SET max_parallel_workers_per_gather = 0; $statement; PREPARE s AS $statement; EXECUTE s");

			$answer{$tables} = "$status $out $err";
		}
		is($answer{g}, $answer{h}, "$name: $query");
	}
}
$node->stop;
done_testing();
