/*-------------------------------------------------------------------------
 *
 * join_build.h
 *	  The tables that a node's pipe is joined with: their runs, and what became of
 *	  them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_JOIN_BUILD_H
#define GPUCOL_EXEC_JOIN_BUILD_H

#include "postgres.h"

#include "commands/explain.h"

#include "exec/run.h"
#include "lower/pipe.h"

/* The making of one table. */
typedef struct GpucolBuild
{
	GpucolExec	exec;
	GpucolPipeStep *step;

	/* a table in parts (exec/join_part.c) */
	GpucolTablePart *parts;
	bool		whole;			/* that is made has all rows */
	bool		by_keys;		/* dealt by keys as far as that goes */
	uint64		fitted;			/* size of the largest first of them that fitted; 0 = not known */
	uint32		counted;		/* parts whose rows the figures have, */
	uint64		counted_to;		/* and where the last of these ends */

	/* for EXPLAIN ANALYZE: of the last table, and sums of its probes */
	GpucolLookupFigures figures;
	GpucolProbeFigures probed;
	bool		wanted;			/* some row may be looked up */
} GpucolBuild;

/* The joins of a pipe. */
typedef struct GpucolJoins
{
	GpucolPipe *pipe;
	int			nsteps;
	GpucolBuild *builds;		/* by step, */
	GpucolLookup **lookups;		/* and the tables, once they are built, */
	const GpucolEngine **engines;	/* which built each of them */
	GpucolTurn *turns;			/* how far the run is with each */
	bool		parted;			/* some have parts */
	GpucolProbeOrder *orders;	/* by step, or NULL: no step has one */
	const char *fallback;		/* why one cannot be built */
} GpucolJoins;

/*
 * Prepare a run over a pipe for a node, as gpucol_run_init does over a table: opens the
 * tables, and lays the pipe out for computing `above` of its rows.  `children` are the
 * states of the node's plans by number (the fallback's place counts).
 */
extern void gpucol_joins_init(GpucolExec *exec, CustomScanState *node, GpucolPipe *pipe,
							  List *above, List *children, int eflags,
							  GpucolProgramKind kind, GpucolLowerNode lower_node);

/*
 * Is the first row looked for before the tables are made, since they are not needed without
 * one?  As in PostgreSQL's hash join not where a plan (`rows_of`, or NULL: a table) costs more
 * until its first row than the first table: that may be empty, and then the plan does not run.
 */
extern bool gpucol_joins_want_row(const GpucolJoins *joins, const PlanState *rows_of);

/*
 * Build all tables; those are empty that no row gets as far as, if pipe->dry says that none
 * flows, which it says in the end where they let none through.  A fallback status, with
 * joins->fallback, or GPUCOL_OK.
 */
extern GpucolStatus gpucol_joins_build(GpucolExec *exec);

/*
 * Give a run the tables; the CPU engine has those that a device has built built again.  A
 * fallback status, with *why, or GPUCOL_OK.
 */
extern GpucolStatus gpucol_joins_give(GpucolExec *exec, const GpucolEngine *engine,
									  GpucolRunOptions *options, const char **why);

/* Add the figures of the run in progress. */
extern void gpucol_joins_figures(GpucolExec *exec);

/* Let the tables of a run go. */
extern void gpucol_joins_end(GpucolExec *exec);

/*
 * join_part.c: make a table, or the part of it that is its turn, in as many parts as memory
 * asks for; a fallback status with the build's reason.  `wanted`: is it looked up in at all?
 */
extern GpucolStatus gpucol_join_part_build(GpucolExec *exec, int i, bool wanted);

/* The same: have the rows of plans that a run and the makings of its tables read be kept, for other runs of it. */
extern void gpucol_join_keep_rows(GpucolExec *exec);

/* Begin with the first turn again. */
extern GpucolStatus gpucol_joins_first_turn(GpucolExec *exec);

/* The GpucolNextTurn of a run, whose GpucolExec is `arg`. */
extern GpucolStatus gpucol_joins_next_turn(void *arg, int *changed);

/* Close what the run reads, and those of its tables: the node ends. */
extern void gpucol_joins_close(GpucolExec *exec);

/* A source without rows. */
extern GpucolSource *gpucol_source_of_nothing(void);

/*
 * join_plan.c: the children of a node that begin behind its fallback: initialised, scanned
 * again, told that nobody asks for rows of theirs any more, ended; the pipe of a plan whose scan
 * tuple has `row` as its junk column, and what is computed above it.
 */
extern List *gpucol_join_children_init(CustomScanState *node, EState *estate, int eflags);
extern void gpucol_join_children_rescan(CustomScanState *node, List *children);
extern void gpucol_join_children_release(List *children);
extern void gpucol_join_children_end(List *children);
extern GpucolPipe *gpucol_join_load(List *saved, TargetEntry *row, List **above);

/* explain_join.c: the joins, as properties of the node */
extern void gpucol_explain_joins(GpucolExec *exec, List *ancestors, ExplainState *es);

/* A column of the joined rows, as EXPLAIN shows it; in the current context. */
extern char *gpucol_explain_joined_column(const GpucolExec *exec, AttrNumber attnum, List *ancestors, ExplainState *es);

#endif							/* GPUCOL_EXEC_JOIN_BUILD_H */
