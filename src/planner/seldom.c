/*-------------------------------------------------------------------------
 *
 * seldom.c
 *	  Subqueries that are executed for no row, as far as can be told.
 *
 * What is computed in another way may have to be computed as it was written for a few rows
 * (subquery_scalar.c).  PostgreSQL takes it that every branch of a CASE is evaluated for every
 * row.  So the subquery there is marked, and its paths cost nothing, or a little (lower.h).  By that an engine
 * knows it, too, and leaves the statement to PostgreSQL where a row asks for it after all
 * (lower/plain.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"

#include "lower/lower.h"
#include "planner/planner.h"
#include "planner/subquery.h"

/* In the identifier of a query that is no statement, which nobody reads. */
#define SELDOM	0x7367

void
gpucol_seldom_mark(Query *query)
{
	query->queryId = SELDOM;
}

bool
gpucol_seldom_is(const Query *query)
{
	return query->queryId == SELDOM;
}

/*
 * Have the paths of a marked query cost nothing; below LIMIT so much that it is executed for the rows that are left.
 */
void
gpucol_seldom_set_costs(const PlannerInfo *root, RelOptInfo *output_rel)
{
	const Query *around;
	ListCell   *lc;

	if (root->query_level < 2 || !gpucol_seldom_is(root->parse))
		return;
	around = root->parent_root->parse;
	foreach(lc, output_rel->pathlist)
	{
		Path	   *path = lfirst(lc);

		path->startup_cost = 0;
		path->total_cost = around->limitCount != NULL && around->sortClause != NIL ? GPUCOL_SELDOM_COST : 0;
	}
}
