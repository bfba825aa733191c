/*-------------------------------------------------------------------------
 *
 * parts.c
 *	  The tables that a run reads as one: opened and closed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "executor/executor.h"
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
 * Close them.
 */
void
gpucol_run_close_parts(GpucolExec *exec)
{
	for (int i = 0; i < exec->nparts; i++)
		table_close(exec->parts[i].rel, NoLock);
	exec->nparts = 0;
}
