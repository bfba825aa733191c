/*-------------------------------------------------------------------------
 *
 * agg_state.h
 *	  The state of a GpucolAgg, shared by its files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_AGG_STATE_H
#define GPUCOL_EXEC_AGG_STATE_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/extensible.h"

#include "compat.h"
#include "exec/batch_compute.h"
#include "exec/first.h"
#include "exec/group_rows.h"
#include "exec/having.h"
#include "exec/ranked.h"
#include "exec/regroup.h"
#include "exec/replay.h"
#include "exec/run.h"

typedef struct GpucolAggExecState
{
	CustomScanState css;
	GpucolExec	exec;
	int			eflags;
	List	   *pushed;			/* conditions of the table, */
	List	   *tests;			/* and those that PostgreSQL tests on groups or rows */
	int			nkeys;
	int			naggs;
	GpucolGroupSets sets;
	int			nvalues;		/* keys, aggregates and calls of GROUPING() */
	Expr	  **exprs;			/* these, then the junk columns */
	Expr	  **computed;		/* these as the engine has them: over the columns of a pipe */
	List	   *children;		/* states of the plans whose rows are joined */
	GpucolOutput *keys;
	GpucolGroupPlan grouping;	/* in the run's memory, as are */
	GpucolFinal *finals;
	List	   *wanted;			/* GPUCOL_AGG_PRIVATE_FIRST */
	GpucolFirst first;			/* which groups the engine is asked for */
	List	   *elements;		/* GPUCOL_AGG_PRIVATE_ELEMENTS */

	/* keys or arguments that PostgreSQL evaluates: all groups, joined */
	MemoryContext regroup_context;
	GpucolRegroup *regroup;

	/* rankings instead of finals */
	bool		ranking;
	GpucolRankings *rankings;
	MemoryContext rank_context;
	GpucolRankNode *ranks;

	/* by aggregate: its number among the rankings, or -1 - number in finals */
	int		   *numbers;
	int			nordinary;		/* finals beside rankings */
	GpucolGroupPlan ordinary_grouping;
	GpucolExec	ordinary_exec;
	GpucolOrdinaryAggs *ordinary;

	/* current groups */
	bool		ahead;			/* the next ones are these */
	GpucolStatus ahead_status;
	GpucolResult ahead_result;
	bool		anew;			/* the run has been begun anew without forms of numerics */
	GpucolGroupRows rows;
	uint32		next;			/* of those formed */
	MemoryContext row_context;	/* of one joined group */

	GpucolHaving having;		/* where `tested`, the groups that are formed have met it */

	/* the result tuple: its columns' places among keys and aggregates, or GPUCOL_GROUP_ROWS_CONSTANT */
	TupleTableSlot *direct;		/* NULL: PostgreSQL projects the scan tuple */
	int			ndirect;
	int		   *places;

	/* batches instead of tuples */
	GpucolTypeMap *maps;		/* by column; NULL: nobody has asked for them yet */
	GpucolBatchCompute *compute;	/* the columns of the target list, where tuples are not direct, */
	GpucolBatch formed;			/* of keys and aggregates */

	PlanState  *fallback;		/* ordinary plan, once needed */
	bool		done;			/* all groups have been delivered, and let go */
	GpucolReplay replay;
} GpucolAggExecState;

/* The number in an entry of the plan. */
static inline int
gpucol_agg_private(const GpucolAggExecState *state, int entry)
{
	return intVal(list_nth(((const CustomScan *) state->css.ss.ps.plan)->custom_private, entry));
}

/* explain_agg.c */
extern void gpucol_explain_agg(GpucolAggExecState *state, List *ancestors, ExplainState *es);

#endif							/* GPUCOL_EXEC_AGG_STATE_H */
