/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  The tables that a run reads as one: opened and closed; which columns a node reads.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "executor/executor.h"
#include "optimizer/optimizer.h"
#include "utils/rel.h"

#include "exec/run.h"
#include "plan/parts.h"

/* The columns of a UNION ALL, which is no table. */
static TupleDesc
union_desc(const GpucolExec *exec)
{
	TupleDesc  *tables = palloc(exec->nparts * sizeof(TupleDesc));
	List	  **attnums = palloc(exec->nparts * sizeof(List *));

	for (int i = 0; i < exec->nparts; i++)
	{
		tables[i] = RelationGetDescr(exec->parts[i].rel);
		attnums[i] = exec->parts[i].attnums;
	}
	return gpucol_parts_desc(exec->nparts, tables, attnums);
}

/*
 * Open parts.  Not by ExecOpenScanRelation: the ordinary plan to fall back to may have
 * pruned some of them at executor start, which hides them from it.
 */
void
gpucol_run_open_parts(GpucolExec *exec, const List *rtis, const List *attnums)
{
	EState	   *estate = exec->node->ss.ps.state;

	exec->nparts = list_length(rtis);
	exec->parts = palloc(Max(exec->nparts, 1) * sizeof(GpucolExecPart));
	for (int i = 0; i < exec->nparts; i++)
	{
		RangeTblEntry *rte = exec_rt_fetch(list_nth_int(rtis, i), estate);

		exec->parts[i].rel = table_open(rte->relid, AccessShareLock);
		exec->parts[i].attnums = list_nth(attnums, i);
	}
	if (exec->desc == NULL)
		exec->desc = union_desc(exec);
}

/*
 * Where a part keeps columns of the whole.
 */
Bitmapset *
gpucol_run_part_columns(const GpucolExecPart *part, const Bitmapset *attnums)
{
	Bitmapset  *result = NULL;
	int			attnum = -1;

	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
		result = bms_add_member(result, list_nth_int(part->attnums, attnum - 1));
	return result;
}

/*
 * Close them.
 */
void
gpucol_run_close_parts(GpucolExec *exec)
{
	for (int i = 0; i < exec->nparts; i++)
		table_close(exec->parts[i].rel, NoLock);
	exec->nparts = 0;
}

/*
 * The columns of the table that the node's scan tuple is computed of.
 */
Bitmapset *
gpucol_run_read_columns(const GpucolExec *exec)
{
	CustomScan *cscan = castNode(CustomScan, exec->node->ss.ps.plan);
	Bitmapset  *attnos = NULL;
	Bitmapset  *result = NULL;
	int			member = -1;

	pull_varattnos((Node *) cscan->custom_scan_tlist, exec->varno, &attnos);
	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		if (member + FirstLowInvalidHeapAttributeNumber > 0)
			result = bms_add_member(result,
									member + FirstLowInvalidHeapAttributeNumber);
	}
	return result;
}

void
gpucol_run_name_tables(const GpucolExec *exec, GpucolLower *l)
{
	if (exec->rows_of != NULL || exec->joins != NULL)
		return;
	if (exec->nparts == 0 && exec->rel != NULL)
		l->tables = list_make1_oid(RelationGetRelid(exec->rel));
	for (int i = 0; i < exec->nparts; i++)
	{
		l->tables = lappend_oid(l->tables, RelationGetRelid(exec->parts[i].rel));
		l->table_attnums = lappend(l->table_attnums, exec->parts[i].attnums);
	}
}
