/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  A partitioned table, an inheritance tree or a UNION ALL of tables as the
 *	  tables whose rows it has.
 *
 * The planner keeps one AppendRelInfo for each child, with a Var of the child for
 * each column of its parent.  Followed down to the leaves they say where each
 * table keeps each column; names and order may differ between tables, types may
 * not.  A UNION ALL whose branches are plain selects from tables looks the same to
 * the planner, but for columns that a branch computes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "optimizer/pathnode.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "columnar/am.h"
#include "plan/parts.h"

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
		if (rte->rtekind != RTE_RELATION || !gpucol_am_is_gpucol(rte->relid))
		{
			context->reason = "one of its parts is no gpucol table";
			return;
		}
		if (rte->securityQuals != NIL)
		{
			context->reason = "one of its parts has row security of its own";
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

/* Is a column of a table like one of the whole? */
static bool
same_type(TupleDesc table, int attnum, Form_pg_attribute whole)
{
	Form_pg_attribute att;

	if (attnum <= 0)
		return false;
	att = TupleDescAttr(table, attnum - 1);
	return att->atttypid == whole->atttypid && att->atttypmod == whole->atttypmod &&
		att->attcollation == whole->attcollation;
}

/* The first column of the whole that a table lacks or has with another type, or 0. */
static int
first_difference(TupleDesc table, List *attnums, TupleDesc whole)
{
	for (int i = 0; i < whole->natts; i++)
	{
		if (!TupleDescAttr(whole, i)->attisdropped &&
			!same_type(table, list_nth_int(attnums, i), TupleDescAttr(whole, i)))
			return i + 1;
	}
	return 0;
}

/*
 * The columns of a UNION ALL.
 */
TupleDesc
gpucol_parts_desc(int n, const TupleDesc *tables, List *const *attnums)
{
	int			natts = list_length(attnums[0]);
	TupleDesc	desc = CreateTemplateTupleDesc(natts);

	for (int i = 1; i <= natts; i++)
	{
		int			attnum = list_nth_int(attnums[0], i - 1);

		if (attnum > 0)
			TupleDescCopyEntry(desc, i, tables[0], attnum);
		else
			TupleDescInitEntry(desc, i, "", INT4OID, -1, 0);
		TupleDescAttr(desc, i - 1)->attisdropped = attnum <= 0;
	}
	for (int part = 1; part < n; part++)
	{
		int			different;

		while ((different = first_difference(tables[part], attnums[part], desc)) > 0)
			TupleDescAttr(desc, different - 1)->attisdropped = true;
	}
	return desc;
}

/*
 * The columns of a table.
 */
TupleDesc
gpucol_parts_table_desc(Oid relid)
{
	Relation	table = table_open(relid, NoLock);
	TupleDesc	desc = CreateTupleDescCopy(RelationGetDescr(table));

	table_close(table, NoLock);
	return desc;
}

/* Descriptors and columns of all parts, as arrays. */
static TupleDesc
union_desc(List *parts)
{
	int			n = list_length(parts);
	TupleDesc  *tables = palloc(n * sizeof(TupleDesc));
	List	  **attnums = palloc(n * sizeof(List *));
	ListCell   *lc;

	foreach(lc, parts)
	{
		GpucolPart *part = lfirst(lc);

		tables[foreach_current_index(lc)] = gpucol_parts_table_desc(part->relid);
		attnums[foreach_current_index(lc)] = part->attnums;
	}
	return gpucol_parts_desc(n, tables, attnums);
}

/* Have all parts the columns of their parent table? */
static bool
all_alike(List *parts, TupleDesc whole)
{
	bool		same = true;
	ListCell   *lc;

	foreach(lc, parts)
	{
		GpucolPart *part = lfirst(lc);
		Relation	table = table_open(part->relid, NoLock);

		same = same && first_difference(RelationGetDescr(table), part->attnums, whole) == 0;
		table_close(table, NoLock);
	}
	return same;
}

/*
 * The tables of a relation that has children.
 */
List *
gpucol_parts_collect(PlannerInfo *root, RelOptInfo *whole, TupleDesc *desc,
					 const char **reason)
{
	PartsContext context = {.root = root};
	RangeTblEntry *rte = planner_rt_fetch(whole->relid, root);
	bool		is_table = rte->rtekind == RTE_RELATION;
	List	   *attnums = NIL;
	int			natts;

	*desc = is_table ? gpucol_parts_table_desc(rte->relid) : NULL;
	natts = is_table ? (*desc)->natts : list_length(rte->eref->colnames);
	for (int i = 1; i <= natts; i++)
		attnums = lappend_int(attnums, i);
	collect_children(&context, whole, attnums);
	if (context.parts != NIL && context.reason == NULL)
	{
		if (!is_table)
			*desc = union_desc(context.parts);
		else if (!all_alike(context.parts, *desc))
			context.reason = "its partitions have columns of different types";
	}
	*reason = context.reason;
	return context.reason == NULL ? context.parts : NIL;
}
