/*-------------------------------------------------------------------------
 *
 * nodes.h
 *	  The nodes of pushed-down WITH RECURSIVE.
 *
 * GpucolRecursive takes the place of a RecursiveUnion.  Its first child is the
 * plan of the non-recursive term, which is not run where the recursion plan has
 * a rule for it (its last), unless conditions are tested on its rows; its second, GpucolInputs (below a
 * SubqueryScan, which the planner may remove), only holds the plans of the
 * relations that the recursive term joins with; the third, there only if values
 * that are equal may look different or indexes may make it fast, is the RecursiveUnion, for
 * the case that some do or to be tried first (recursion/exec/fallback.c).  The terms themselves are
 * a recursion plan: relation 0 is the result, relation 1 + i is input i,
 * constant i is expression i of GpucolInputs (custom_exprs), which belongs to the
 * recursive term's planner run and so may use the results of its subqueries.  Behind
 * the constants follow the expressions that only PostgreSQL computes
 * (GPUCOL_REC_HOST), their operands being parameters from
 * GPUCOL_RECURSIVE_OPERAND on, whose types (and names, for EXPLAIN) are those of
 * the custom_scan_tlist of GpucolInputs.  The expressions of GpucolRecursive itself are
 * conditions that are tested on the non-recursive term.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_PLAN_NODES_H
#define GPUCOL_RECURSION_PLAN_NODES_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "recursion/engine.h"
#include "kernel/program.h"

/* Operand i of a host expression: external parameter i + this. */
#define GPUCOL_RECURSIVE_OPERAND	100000000

/* custom_private of a GpucolRecursive plan. */
typedef enum GpucolRecursivePrivate
{
	GPUCOL_RECURSIVE_PLAN,		/* Const: packed recursion plan */
	GPUCOL_RECURSIVE_TYPES,		/* OidList: types of the result's columns */
	GPUCOL_RECURSIVE_INPUTS,	/* List of OidList: types of each input */
	GPUCOL_RECURSIVE_ALL,		/* Boolean: UNION ALL */
	GPUCOL_RECURSIVE_BASE,		/* Boolean: the plan's last rule is the
								 * non-recursive term */
	GPUCOL_RECURSIVE_COLLATIONS,	/* OidList: of the result's columns */
	GPUCOL_RECURSIVE_INPUT_COLLATIONS,	/* List of OidList */
	GPUCOL_RECURSIVE_HOSTS,		/* List of IntList: operands of each host
								 * expression */
	GPUCOL_RECURSIVE_MATCHES,	/* List, by host expression: NIL, or what makes it
								 * the test for a match in an input: the input's
								 * number, whether there must be none, its columns
								 * and their operands, operands that equal columns
								 * and these columns (IntLists); or what makes it
								 * a function that returns rows: RangeTblFunction
								 * (without it), whether there is an ordinality,
								 * and a row of nulls for no rows, the columns
								 * (IntList) and their collations (OidList) */
	GPUCOL_RECURSIVE_EQUALITIES,	/* List of OidList (type, collation, and the type
								 * again or InvalidOid): values that are equal are
								 * made the same, or keep their forms where only
								 * rows of the result are compared */
	GPUCOL_RECURSIVE_TRIAL,		/* Integer: microseconds for which PostgreSQL's plan
								 * is tried first, or one of those below */
	GPUCOL_RECURSIVE_FUNCTIONS,	/* OidList: what the two terms call, and UNION */
	GPUCOL_RECURSIVE_PUSHED		/* List of Expr: conditions on the CTE that are
								 * tested on the non-recursive term, as the
								 * query has them; at run time they are
								 * custom_exprs */
} GpucolRecursivePrivate;

#define GPUCOL_RECURSIVE_NO_TRIAL	0	/* it is not tried */
#define GPUCOL_RECURSIVE_LIMITED	(-1)	/* it runs: the query wants few rows */

/* One aggregate of a GpucolRecursiveAgg. */
typedef struct GpucolRecursiveAggregate
{
	int			function;		/* GpucolRecFunction; DIV stands for avg */
	int			column;			/* of the recursion; -1 = none */
	Oid			type;			/* of the result */
} GpucolRecursiveAggregate;

extern const CustomPathMethods gpucol_recursive_path_methods;
extern const CustomPathMethods gpucol_inputs_path_methods;
extern const CustomPathMethods gpucol_recursive_agg_path_methods;
extern const CustomPathMethods gpucol_recursive_scan_path_methods;

/* Also known by name to what makes its plan (recursion/plan/path_scan.c). */
extern const CustomScanMethods gpucol_recursive_scan_scan_methods;

/* The scan of gpucol.datalog (recursion/plan/path_datalog.c, recursion/exec/datalog.c). */
extern const CustomScanMethods gpucol_datalog_scan_methods;

/* gpucol_recursive_summarise of a GpucolDatalog, of the rows that pass its conditions. */
extern uint64 gpucol_datalog_node_summarise(PlanState *state, const bool *want,
											GpucolRecSummary *columns);

/* The same as of a GpucolRecursive below; is a value that of its column's type as it is? */
extern bool gpucol_datalog_is_state(const PlanState *state);
extern void gpucol_datalog_node_restart(PlanState *state);
extern bool gpucol_datalog_node_fetch(PlanState *state, GpucolRecBatch *batch);
extern Datum gpucol_datalog_node_datum(const PlanState *state, int column, int64 value);
extern bool gpucol_datalog_node_in_place(const PlanState *state, int column);

/* Make the nodes known, for plans that are read from text. */
extern void gpucol_recursive_register(void);

/* Is this plan a GpucolRecursive?  Is this state the state of one? */
extern bool gpucol_recursive_is_plan(const Plan *plan);
extern bool gpucol_recursive_is_state(const PlanState *state);

/*
 * Run a GpucolRecursive that nothing has been read from to the end, and return
 * its number of rows and a summary of each column with want[i].
 */
extern uint64 gpucol_recursive_summarise(PlanState *state, const bool *want,
										 GpucolRecSummary *columns);

/*
 * Read a GpucolRecursive without forming rows: make it start anew if it has been
 * read from or its parameters have changed; its next rows (false at the end); the
 * value of a column (from 0), palloc'd where it is by reference.
 */
extern void gpucol_recursive_restart(PlanState *state);
extern bool gpucol_recursive_fetch(PlanState *state, GpucolRecBatch *batch);
extern Datum gpucol_recursive_datum(const PlanState *state, int column,
									int64 value);

/* The bytes of one by reference, as long as its batch; they may be written to `room`, of GPUCOL_NUMERIC_BYTES. */
extern GpucolBytes gpucol_recursive_bytes(const PlanState *state, int column, int64 value, char *room);

/* Is this the state of a GpucolRecursiveScan, and so a GpucolRowScan? */
extern bool gpucol_recursive_scan_is_state(const PlanState *state);

/*
 * recursion/exec/source.c: the rows of a GpucolRecursive or a GpucolDatalog (GpucolOpenRows);
 * have either start anew.
 */
extern void gpucol_recursive_source_restart(PlanState *recursion);
extern GpucolSource *gpucol_recursive_source_open(PlanState *recursion,
												  TupleDesc desc,
												  const GpucolProgramColumn *columns,
												  int ncolumns);

/* For who reads all of them: those of small rounds come together. */
extern GpucolSource *gpucol_recursive_source_open_all(PlanState *recursion, TupleDesc desc,
													  const GpucolProgramColumn *columns,
													  int ncolumns);

#endif							/* GPUCOL_RECURSION_PLAN_NODES_H */
