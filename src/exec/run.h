/*-------------------------------------------------------------------------
 *
 * run.h
 *	  One execution of a kernel description for a plan node: lowering with the
 *	  values of parameters, source, engine, figures, and the reason where no
 *	  engine can do it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RUN_H
#define GPUCOL_EXEC_RUN_H

#include "postgres.h"

#include "access/parallel.h"
#include "access/relscan.h"
#include "nodes/execnodes.h"
#include "storage/spin.h"
#include "utils/rel.h"

#include "base/budget.h"
#include "engine/engine.h"
#include "lower/lower.h"
#include "plan/wing.h"

typedef struct GpucolExec GpucolExec;

/*
 * The node's part of the lowering: conjuncts, then outputs or aggregates.
 * False with l->reason set where a parameter's value cannot be lowered.
 */
typedef bool (*GpucolLowerNode) (GpucolExec *exec, GpucolLower *l);

/*
 * What the node would have the device make of the rows, asked after the
 * lowering.  False with *why set where that is nothing that a device does: the
 * CPU engine then delivers rows.
 */
typedef bool (*GpucolMakeShape) (GpucolExec *exec, GpucolRowShape *shape,
								 const char **why);

/*
 * What takes the rows in the CPU engine's `threads` (GpucolTakeRows), asked after the
 * lowering, and *arg; NULL: the run delivers them.
 */
typedef GpucolTakeRows (*GpucolMakeTake) (GpucolExec *exec, int threads, void **arg);

/* What the workers of a parallel scan did. */
typedef struct GpucolFigures
{
	GpucolRunStats stats;		/* sums; threads that took part */
	char		engine[16];		/* of the last that had one */
	char		fallback[112];	/* a reason, if any fell back */
} GpucolFigures;

/* What the participants of a parallel scan share. */
typedef struct GpucolParallel
{
	slock_t		lock;			/* on figures */
	GpucolFigures figures;
	int			nparticipants;	/* planned, the leader included */
	bool		row_scan;		/* all do the table's row scan: some value has no
								 * form that engines compute with */
	char		source[FLEXIBLE_ARRAY_MEMBER] pg_attribute_aligned(MAXIMUM_ALIGNOF);
} GpucolParallel;

/* One of several tables that are read as one. */
typedef struct GpucolExecPart
{
	Relation	rel;
	List	   *attnums;		/* IntList: its column for each of the whole's */
} GpucolExecPart;

/* The leader's copy of the figures; see parallel.c. */
typedef struct GpucolGathered
{
	GpucolParallel *shared;		/* NULL once copied */
	GpucolFigures figures;
} GpucolGathered;

struct GpucolExec
{
	/* set by gpucol_run_init */
	CustomScanState *node;
	Relation	rel;			/* the table, or NULL */
	PlanState  *rows_of;		/* or the node whose rows are read: by the CPU engine, */
	GpucolOpenRows open_rows;	/* in one thread, from the source that this opens */
	TupleDesc	desc;			/* of what is read */
	Index		varno;			/* in Vars of the node's expressions */
	Index		rti;			/* of the scan of that node's rows */
	GpucolProgramKind kind;
	GpucolLowerNode lower_node;
	GpucolParallel *parallel;	/* in shared memory, or NULL */
	GpucolGathered *gathered;	/* in the leader */
	bool		withholds;		/* the node hands nothing on before the run has
								 * ended, so it may fall back until then */
	bool		in_place;		/* the node is done with a batch of groups before it
								 * does anything else (GpucolRunOptions) */
	bool		large_batches;	/* whoever reads the node's groups takes as many as there are */
	bool		delivered;		/* a batch has been, without tuples (exec/batches.h) */
	bool		checked;		/* every value is known to fit its column */
	GpucolExecPart *parts;		/* the tables to read instead of rel, */
	int			nparts;			/* whose descriptor they share; 0 = rel itself */
	struct GpucolJoins *joins;	/* of the pipe that is read (exec/join_build.h), or NULL */
	GpucolFirst *first;			/* which groups are wanted, or NULL */
	GpucolTopBound *top;		/* joined rows that are not wanted, or NULL */
	GpucolMakeShape make_shape; /* NULL: rows as they are */
	GpucolMakeTake make_take;	/* NULL: the run delivers all rows */
	bool		cpu_only;		/* the device has had its chance */
	GpucolBudget *budget;		/* of what the node holds; NULL before it is asked for */

	/* the run in progress; everything lives in `context` */
	MemoryContext context;
	GpucolLower *lower;
	GpucolProgram *program;
	GpucolSource *source;
	GpucolHost	host;
	const GpucolEngine *engine;
	GpucolRun  *run;
	GpucolRowShape shape;			/* of the device's rows */
	bool		started;
	bool		fell_back;		/* no engine runs it; exec->fallback says why */
	bool		never;			/* no row can pass: nothing is run */
	struct GpucolPlanReader *begun;	/* of the plan whose rows are read: none has been used; or NULL */
	struct GpucolKeptRows *kept;	/* all of them, or NULL */
	bool		keeps;			/* they outlast the run, until gpucol_run_forget_rows */
	const GpucolTablePart *part;	/* BUILD, AGG: of the table or the groups, what to make;
									 * NULL: all */
	struct GpucolGroupParts *groups;	/* parts of the groups (group_part.c); NULL: one */
	Size		most;			/* BUILD: bytes that it may take; 0 = what is left of the budget */
	bool		unlimited;		/* it must be made, whatever it takes of the session's memory */
	bool		misformed;		/* the one that fell back last went by forms of numerics, which are refused now */
	bool		emitted;		/* a batch was handed out */

	/* for EXPLAIN ANALYZE: finished runs, and what went wrong in one of them */
	GpucolRunStats stats;
	const char *engine_name;
	int			ngroup_parts;	/* in which groups were made */
	const char *fallback;
	const char *declined;		/* why the device left the query to the CPU */
};

/* Prepare; nothing is opened or evaluated yet. */
extern void gpucol_run_init(GpucolExec *exec, CustomScanState *node,
							Relation rel, Index varno, GpucolProgramKind kind,
							GpucolLowerNode lower_node);

/* The same for what reads the rows of another node of ours, which `open_rows` opens. */
extern void gpucol_run_init_rows(GpucolExec *exec, CustomScanState *node,
								 PlanState *rows_of, GpucolOpenRows open_rows,
								 Index rti, Index varno, GpucolProgramKind kind,
								 GpucolLowerNode lower_node);

/*
 * Lower and start, unless that is done.  GPUCOL_OK or a fallback status, as below.
 */
extern GpucolStatus gpucol_run_start(GpucolExec *exec);

/*
 * Next batch.  GPUCOL_OK, GPUCOL_END, or a fallback status: then the node must
 * fall back, for exec->fallback's reason.  Every other status is raised.
 */
extern GpucolStatus gpucol_run_next(GpucolExec *exec, GpucolResult *result);

/*
 * A whole run that builds a table, which is then the caller's (engine.h).  GPUCOL_OK or a
 * fallback status, as above.
 */
extern GpucolStatus gpucol_run_build(GpucolExec *exec, GpucolLookup **lookup);

/*
 * Start on the device, with the shape that the node wants.  False: nothing runs,
 * for exec->declined's reason or because the device is not asked for, and later
 * runs are the CPU engine's.
 */
extern bool gpucol_run_on_device(GpucolExec *exec);

/*
 * Do all values that the snapshot sees in these columns have their column's
 * kind?  (numeric(p,s) may hold NaN.)  A scan must know before its first row; that
 * segments have the columns' types (`old_types`), and that values are not too long for
 * its conditions, a run finds out itself, but not the participants of a parallel scan,
 * who draw segments for good.
 */
extern bool gpucol_run_check_values(GpucolExec *exec, Bitmapset *attnums,
									bool old_types);

/* Those of the table's columns in which the snapshot sees no NULL for certain. */
extern Bitmapset *gpucol_run_filled_columns(GpucolExec *exec, Bitmapset *attnums);

/* Let the engine go, keeping the figures of its run: another may be started. */
extern void gpucol_run_finish(GpucolExec *exec);

/*
 * group_part.c: what an AGG run has to say is *status: is the engine to be started again, for
 * the next part of the groups, or a smaller one since memory did not do?
 */
extern bool gpucol_group_part_begins(GpucolExec *exec, GpucolStatus *status);

/* End the run in progress, keeping its figures; the next call starts anew. */
extern void gpucol_run_end(GpucolExec *exec);

/*
 * join_part.c: let the rows go that a run has kept of a plan; and those that were kept for
 * several runs of it (exec->keeps), also by the makings of its tables.
 */
extern void gpucol_run_end_rows(GpucolExec *exec);
extern void gpucol_run_forget_rows(GpucolExec *exec);

/*
 * parts.c: have the run read the tables of these range table indexes as one, and close them
 * when the node ends.  Without a table of their own, exec->desc becomes what they have in
 * common.
 */
extern void gpucol_run_open_parts(GpucolExec *exec, const List *rtis, const List *attnums);

/* Tell what is lowered which tables the node reads, if it reads any itself. */
extern void gpucol_run_name_tables(const GpucolExec *exec, GpucolLower *l);

/* parts.c: where one of the tables keeps columns of the whole. */
extern Bitmapset *gpucol_run_part_columns(const GpucolExecPart *part, const Bitmapset *attnums);
extern void gpucol_run_close_parts(GpucolExec *exec);

/*
 * Open exec->program's source as exec->source, and close it if it is open: what a run
 * does itself, and reach.c before it.
 */
extern void gpucol_run_open(GpucolExec *exec);
extern void gpucol_run_close(GpucolExec *exec);

/*
 * parts.c: the columns of the table that a node without scanrelid reads: those in its scan tuple's
 * expressions.
 */
extern Bitmapset *gpucol_run_read_columns(const GpucolExec *exec);

/* Have the ordinary plan of such a node, if it is in use, begin again. */
extern void gpucol_run_rescan_fallback(CustomScanState *node, PlanState *fallback);

/* The table to name in an error, or NULL. */
extern Relation gpucol_run_table(const GpucolExec *exec);

/*
 * reach.c: a run's GpucolReaches; `exec` is its GpucolExec.  Does a row of the table get to
 * the first join of the run's pipe (true if that is not known)?
 */
extern GpucolReached gpucol_reach(void *exec, const GpucolLower *l);
extern bool gpucol_reach_joins(GpucolExec *exec);

/* Is a device what the settings ask for, and is there one? */
extern bool gpucol_run_wants_device(void);

/* Is there a device for the run, and is the choice ours (gpucol.engine = auto)? */
extern bool gpucol_run_may_choose(GpucolExec *exec);

/*
 * What the node and its runs may hold, together with the session's other queries; of a
 * parallel scan, a participant's share.
 */
extern GpucolBudget *gpucol_run_budget(GpucolExec *exec);

/* Threads that work on the node's behalf may use. */
extern int	gpucol_run_threads(GpucolExec *exec);

/*
 * parallel.c: prepare the shared state in the leader; add a worker's figures at its
 * end; add those of all workers to the leader's.
 */
extern void gpucol_parallel_init(GpucolExec *exec, GpucolParallel *parallel,
								 ParallelContext *pcxt);
extern void gpucol_parallel_report(GpucolExec *exec);
extern void gpucol_parallel_gather(GpucolExec *exec);

/* error.c: raise the error that a status stands for (does not return) */
extern _Noreturn void gpucol_status_raise(GpucolStatus status, Relation rel);

#endif							/* GPUCOL_EXEC_RUN_H */
