/*-------------------------------------------------------------------------
 *
 * path_agg_groups.c
 *	  How many groups an engine delivers where the executor joins them (path_agg.c).
 *
 * PostgreSQL takes it that several columns of a table rarely have more than a tenth as many
 * combinations of values as there are rows.  Where rows can be fed instead of groups, which costs
 * little more at worst, the truth is sought between that and all combinations.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_statistic.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"
#include "utils/timestamp.h"

#include "lower/coarse.h"
#include "planner/path_agg.h"
#include "planner/path_join.h"

/* What a share of groups by several columns weighs beside one of a single column. */
#define SEVERAL_WEIGHT	1.7
/* So few combinations are joined soon. */
#define FEW_COMBINATIONS	10000

/*
 * How many units a timestamp's values lie in, by the ends of its histogram; as many as
 * there are where nobody knows.
 */
static double
count_units(PlannerInfo *root, Var *var, int64 unit, double most)
{
	VariableStatData data;
	AttStatsSlot slot;

	most = Min(most, gpucol_coarse_most(unit));
	examine_variable(root, (Node *) var, 0, &data);
	if (HeapTupleIsValid(data.statsTuple) &&
		get_attstatsslot(&slot, data.statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
						 ATTSTATSSLOT_VALUES))
	{
		int64		first = DatumGetTimestamp(slot.values[0]);
		int64		last = DatumGetTimestamp(slot.values[slot.nvalues - 1]);

		most = Min(most, ((double) last - (double) first) / unit + 1);
		free_attstatsslot(&slot);
	}
	ReleaseVariableStats(data);
	return most;
}

/* A column that the engine groups by, as the query has it. */
static Var *
base_var(const GpucolJoinPipe *pipe, Index rti, AttrNumber attnum, Form_pg_attribute att)
{
	ListCell   *lc;

	if (pipe != NULL && attnum > pipe->pipe->nsource)
	{
		foreach(lc, pipe->pipe->steps)
		{
			GpucolPipeStep *step = lfirst(lc);

			if (attnum < step->first + list_length(step->payload))
				return list_nth(step->payload, attnum - step->first);
		}
	}
	if (pipe != NULL && pipe->pipe->rti == 0)
		return list_nth(pipe->pipe->outputs, attnum - 1);
	return makeVar(pipe != NULL ? pipe->pipe->rti : rti, attnum, att->atttypid,
				   att->atttypmod, att->attcollation, 0);
}

/* All combinations of values of several expressions. */
static double
count_combinations(PlannerInfo *root, List *exprs, double rows)
{
	double		n = 1;
	ListCell   *lc;

	foreach(lc, exprs)
		n *= estimate_num_groups(root, list_make1(lfirst(lc)), rows, NULL, NULL);
	return n;
}

double
gpucol_path_agg_groups(PlannerInfo *root, const GpucolGroupPlan *plan, List *keys,
					   const GpucolJoinPipe *pipe, TupleDesc desc, Index rti, double rows, double *share)
{
	List	   *exprs = NIL;
	double		units = 1;
	double		groups;
	double		most;

	for (int i = 0; i < plan->nkeys; i++)
	{
		if (plan->keys[i].output >= 0)
			exprs = lappend(exprs, list_nth(keys, i));
	}
	for (int i = 0; i < plan->nbase; i++)
	{
		AttrNumber	attnum = plan->base[i].attnum;
		Var		   *var = base_var(pipe, rti, attnum, TupleDescAttr(desc, attnum - 1));

		if (plan->base[i].unit == 0)
			exprs = list_append_unique(exprs, var);
		else
			units *= count_units(root, var, plan->base[i].unit,
								 estimate_num_groups(root, list_make1(var), rows, NULL, NULL));
	}
	groups = exprs == NIL ? units : units * estimate_num_groups(root, exprs, rows, NULL, NULL);
	groups = Min(groups, rows);
	*share = groups / rows;
	most = Min(units * count_combinations(root, exprs, rows), rows);
	if (list_length(exprs) > 1 && pipe == NULL && most > FEW_COMBINATIONS)
		*share = Max(*share, SEVERAL_WEIGHT * sqrt(*share * most / rows));
	return groups;
}

double
gpucol_path_agg_others(PlannerInfo *root, const GpucolGroupPlan *plan, List *keys, const GpucolJoinPipe *pipe,
					   TupleDesc desc, Index rti, double rows)
{
	List	   *columns = pull_var_clause((Node *) keys, PVC_RECURSE_PLACEHOLDERS);
	double		values = 1;

	for (int i = 0; i < plan->nbase; i++)
	{
		AttrNumber	attnum = plan->base[i].attnum;
		Var		   *var = base_var(pipe, rti, attnum, TupleDescAttr(desc, attnum - 1));

		if (plan->base[i].unit == 0 && !list_member(columns, var))
			values *= estimate_num_groups(root, list_make1(var), rows, NULL, NULL);
	}
	return values;
}
