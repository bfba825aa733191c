/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  A partitioned table or an inheritance tree as the tables whose rows it has.
 *
 * The planner keeps one AppendRelInfo for each child, with a Var of the child for
 * each column of its parent.  Followed down to the leaves they say where each
 * table keeps each column; names and order may differ between tables, types may
 * not.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "planner/parts.h"
#include "planner/planner.h"

typedef struct PartsContext
{
	PlannerInfo *root;
	List	   *parts;			/* of GpucolPart * */
	const char *reason;
} PartsContext;

/* Where a child keeps the whole's columns, given where its parent does. */
static List *
child_attnums(const AppendRelInfo *info, List *parent_attnums)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, parent_attnums)
	{
		int			attnum = lfirst_int(lc);
		Var		   *var = NULL;

		if (attnum > 0 && attnum <= list_length(info->translated_vars))
			var = list_nth(info->translated_vars, attnum - 1);
		result = lappend_int(result, var != NULL && IsA(var, Var) ? var->varattno : 0);
	}
	return result;
}

static void
collect_children(PartsContext *context, RelOptInfo *parent, List *attnums)
{
	ListCell   *lc;

	foreach(lc, context->root->append_rel_list)
	{
		AppendRelInfo *info = lfirst_node(AppendRelInfo, lc);
		RelOptInfo *child;
		RangeTblEntry *rte;
		GpucolPart *part;

		if (info->parent_relid != parent->relid || context->reason != NULL)
			continue;
		child = context->root->simple_rel_array[info->child_relid];
		if (child == NULL || IS_DUMMY_REL(child))
			continue;
		rte = planner_rt_fetch(info->child_relid, context->root);
		if (rte->rtekind == RTE_RELATION && rte->inh)
		{
			collect_children(context, child, child_attnums(info, attnums));
			continue;
		}
		if (rte->rtekind != RTE_RELATION || !gpucol_planner_is_gpucol(rte->relid))
		{
			context->reason = "one of its partitions is no gpucol table";
			return;
		}
		if (rte->securityQuals != NIL)
		{
			context->reason = "one of its partitions has row security of its own";
			return;
		}
		part = palloc(sizeof(GpucolPart));
		part->varno = info->child_relid;
		part->relid = rte->relid;
		part->rel = child;
		part->attnums = child_attnums(info, attnums);
		context->parts = lappend(context->parts, part);
	}
}

/* Has the table these columns with the whole's types? */
static bool
same_types(const GpucolPart *part, TupleDesc whole)
{
	Relation	table = table_open(part->relid, NoLock);
	bool		same = true;

	for (int i = 0; i < whole->natts && same; i++)
	{
		Form_pg_attribute mine = TupleDescAttr(whole, i);
		int			attnum = list_nth_int(part->attnums, i);
		Form_pg_attribute its;

		if (mine->attisdropped)
			continue;
		same = attnum > 0;
		if (!same)
			break;
		its = TupleDescAttr(RelationGetDescr(table), attnum - 1);
		same = its->atttypid == mine->atttypid && its->atttypmod == mine->atttypmod &&
			its->attcollation == mine->attcollation;
	}
	table_close(table, NoLock);
	return same;
}

/*
 * The tables of a partitioned table or an inheritance tree.
 */
List *
gpucol_parts_collect(PlannerInfo *root, RelOptInfo *whole, const char **reason)
{
	PartsContext context = {.root = root};
	Relation	table = table_open(planner_rt_fetch(whole->relid, root)->relid, NoLock);
	TupleDesc	desc = RelationGetDescr(table);
	List	   *attnums = NIL;
	ListCell   *lc;

	for (int i = 1; i <= desc->natts; i++)
		attnums = lappend_int(attnums, i);
	collect_children(&context, whole, attnums);
	foreach(lc, context.parts)
	{
		if (context.reason == NULL && !same_types(lfirst(lc), desc))
			context.reason = "its partitions have columns of different types";
	}
	table_close(table, NoLock);
	*reason = context.reason;
	return context.reason == NULL ? context.parts : NIL;
}
