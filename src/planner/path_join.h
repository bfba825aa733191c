/*-------------------------------------------------------------------------
 *
 * path_join.h
 *	  Pipes of relations, for what is planned above joins.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_H
#define GPUCOL_PLANNER_PATH_JOIN_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"
#include "nodes/primnodes.h"

#include "lower/pipe.h"

/* The pipe of a relation and its costs, without those of forming rows. */
typedef struct GpucolJoinPipe
{
	GpucolPipe *pipe;			/* NULL: none, */
	const char *reason;			/* and why */
	bool		packed;			/* of a base relation: there is a gpucol table in it; */
	bool		unsteady;		/* its rows are made by volatile functions */
	List	   *host;			/* of Expr: conditions that PostgreSQL tests of its rows: what
								 * reads these reads the path's; */
	double		joined;			/* their number before */
	bool		spares;			/* keys that PostgreSQL computes would spare conditions of pairs */
	int			nsteps;			/* its own and those below */
	double		rows;
	Cost		build;			/* of all tables, */
	Cost		flow;			/* and of the rows that flow */
	Cost		total;			/* of the path that was made of it; 0: none was */
	Path	   *fallback;		/* the relation's ordinary path; NULL: there is none */
} GpucolJoinPipe;

extern GpucolJoinPipe *gpucol_join_pipe(PlannerInfo *root, RelOptInfo *rel);

/*
 * The rows of a relation's cheapest path as a pipe, where there is a gpucol table in `whole`,
 * a relation that it is in; else NULL.
 */
extern GpucolJoinPipe *gpucol_join_rows_pipe(PlannerInfo *root, RelOptInfo *rel,
											 const RelOptInfo *whole);

/* path_join_base.c: the pipe of a base relation */
extern GpucolJoinPipe *gpucol_join_base_pipe(PlannerInfo *root, RelOptInfo *rel);

/* ... may PostgreSQL be asked for the value of a subquery when rows of a pipe are out? */
extern bool gpucol_join_has_subplan(const GpucolPipe *pipe);

/*
 * ... the path of a relation's rows: the cheapest, but below what it computes for the node above (a group's key), which
 * a pipe computes itself; NULL where it has other than columns, and placeholders, for which the executor gets marks
 * (gpucol_pipe_mark).
 */
extern Path *gpucol_join_rows_path(const RelOptInfo *rel);

/* ... have all parts, which `desc` describes as one, the columns that the query needs of the whole? */
extern bool gpucol_join_has_needed(RelOptInfo *rel, TupleDesc desc);

/* A gpucol table that the rows of a base relation are made of, or InvalidOid. */
extern Oid	gpucol_join_packed_table(PlannerInfo *root, const RelOptInfo *rel);

/* Is a base relation one with steps: has it conditions that are joins? */
extern bool gpucol_join_has_steps(PlannerInfo *root, RelOptInfo *rel);

/*
 * The path of a pipe among these, perhaps below a projection, or NULL; its pipe, and the columns
 * that its node delivers (of Expr); and a copy of it that delivers about so many rows, those
 * that can be among the first by sort keys (of Expr), `limit` being their GpucolTopnPrivate from
 * GPUCOL_TOPN_PRIVATE_LIMIT on.
 */
extern Path *gpucol_join_find_path(List *paths);
extern GpucolJoinPipe *gpucol_join_path_pipe(Path *path, List **columns);
extern CustomPath *gpucol_join_limited(Path *path, List *keys, List *limit, double rows);

/*
 * The paths below a node with a pipe: what it falls back to, and those that the pipe reads,
 * which get their numbers.
 */
extern List *gpucol_join_paths(PlannerInfo *root, GpucolPipe *pipe, Path *fallback);

/*
 * Have a plan carry a pipe and what is computed of its rows (of Expr), of which it returns
 * what belongs into custom_private; and the parameters in its expressions.
 */
extern List *gpucol_join_add_pipe(CustomScan *cscan, GpucolPipe *pipe, List *above);
extern List *gpucol_join_params(List *exprs);

/* cost.c: a relation for the costs of reading it, `parts` being its GpucolParts, if any */
extern RelOptInfo *gpucol_cost_parts(RelOptInfo *rel, const List *parts);

/* ... reading a table's rows, without handing them on */
extern Cost gpucol_cost_flow(RelOptInfo *rel, int ncolumns, List *conditions);

/* ... all rows of a path, as engines take them */
extern Cost gpucol_cost_rows_of(PlannerInfo *root, const Path *path);

/* ... inserting rows into a built table; looking `rows` up in one of `table_rows` */
extern Cost gpucol_cost_insert(double rows);
extern Cost gpucol_cost_pair_texts(double pairs);
extern Cost gpucol_cost_probe(double rows, double table_rows, int nkeys, int nresidual,
							  double joined);

/* ... up to which a join by the engine is preferred to a path that may prove far dearer; 0: never */
extern Cost gpucol_cost_preferred(const Path *path);

/* ... a join that hands its rows to PostgreSQL; path->rows is set */
extern void gpucol_cost_join(Path *path, Cost build, Cost flow, int ncolumns);

/* ... what is to be added to that in a query that is run for each row of another */
extern Cost gpucol_cost_repeated(const PlannerInfo *root);

/* ... the rows that an aggregation reads whose path is costed but for them */
extern void gpucol_cost_agg_joined(Path *path, Cost build, Cost flow);

/* ... such an aggregation beside one of this cost, of the same rows by PostgreSQL */
extern void gpucol_cost_agg_preferred(Path *path, Cost other);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_H */
