/*-------------------------------------------------------------------------
 *
 * state.h
 *	  What the files of the recursion nodes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_EXEC_STATE_H
#define GPUCOL_RECURSION_EXEC_STATE_H

#include "postgres.h"

#include "recursion/front/values.h"
#include "recursion/plan/nodes.h"

extern const CustomScanMethods gpucol_recursive_scan_methods;
extern const CustomScanMethods gpucol_inputs_scan_methods;
extern const CustomScanMethods gpucol_recursive_agg_scan_methods;

/* recursion/exec/inputs.c: have the plans of custom_ps begin again. */
extern void gpucol_recursive_rescan_children(CustomScanState *node);

/*
 * recursion/exec/host.c: an expression over values of a recursion that PostgreSQL
 * computes, in the name of the GpucolInputs; `operands` are the numbers of its
 * operands (GPUCOL_RECURSIVE_OPERAND) among all; match as in
 * GPUCOL_RECURSIVE_MATCHES, or NIL.
 */
typedef struct GpucolRecursiveHost GpucolRecursiveHost;

extern GpucolRecursiveHost *gpucol_recursive_host_create(Expr *expr, List *operands,
														 List *match,
														 PlanState *inputs);

/*
 * recursion/exec/match.c: a host expression that tests whether an input has a row (or
 * none) for which it holds, `how` being what GPUCOL_RECURSIVE_MATCHES says of it.
 */
typedef struct GpucolRecursiveMatch GpucolRecursiveMatch;

extern GpucolRecursiveMatch *gpucol_recursive_match_create(List *how, List *operands,
														   TupleDesc desc);

/* Forget the rows, or take rows of the input over, into the current context. */
extern void gpucol_recursive_match_reset(GpucolRecursiveMatch *match,
										 GpucolRecursionMemory *memory);
extern void gpucol_recursive_match_load(GpucolRecursiveMatch *match, uint32 n,
										const int64 *const *values,
										const uint8 *const *nulls);
extern int	gpucol_recursive_match_input(const GpucolRecursiveMatch *match);

/*
 * Try the rows that may match operands (as the engine has them, at `row`): the
 * expression reads the slot, which has all other operands.  Is the test passed?
 */
extern bool gpucol_recursive_match_test(GpucolRecursiveMatch *match,
										const int64 *const *values,
										const uint8 *const *nulls, uint32 row,
										const GpucolSymbols *symbols,
										ExprState *expr, ExprContext *econtext,
										TupleTableSlot *slot);

/*
 * recursion/exec/expand.c: a host expression that is a function that returns rows, `how` as
 * in GPUCOL_RECURSIVE_MATCHES.  It is called for the operands in the tuple of its context,
 * then its rows are fetched into places [from, to) of columns (the end of what is filled is
 * returned); fewer: it has no more.
 */
typedef struct GpucolRecursiveExpansion GpucolRecursiveExpansion;

extern GpucolRecursiveExpansion *gpucol_recursive_expansion_create(List *how, Expr *call,
																   ExprContext *econtext,
																   PlanState *inputs);
extern void gpucol_recursive_expansion_open(GpucolRecursiveExpansion *expansion);
extern bool gpucol_recursive_expansion_is_open(const GpucolRecursiveExpansion *expansion);
extern uint32 gpucol_recursive_expansion_fetch(GpucolRecursiveExpansion *expansion,
											   GpucolSymbols *symbols, uint32 from, uint32 to,
											   int64 *const *columns, uint8 *const *nulls);

/* Release the rows of the last call, if there are any. */
extern void gpucol_recursive_expansion_close(GpucolRecursiveExpansion *expansion);

/* How a column (from 0) travels, and its collation; NULL: there are no more. */
extern GpucolRecColumn *gpucol_recursive_expansion_column(GpucolRecursiveExpansion *expansion,
														  int column, Oid *collation);

/* Before a run: note which subqueries of the expression have other parameters now. */
extern void gpucol_recursive_host_refresh(GpucolRecursiveHost *host);

/* The match that a host expression is, or NULL. */
extern GpucolRecursiveMatch *gpucol_recursive_host_match(GpucolRecursiveHost *host);

/* The function that returns rows that it is, or NULL. */
extern GpucolRecursiveExpansion *gpucol_recursive_host_expansion(GpucolRecursiveHost *host);

/* Make rows of n rows (recursion/engine.h, GpucolRecExpand). */
extern uint32 gpucol_recursive_host_expand(GpucolRecursiveHost *host, GpucolSymbols *symbols,
										   uint32 n, const int64 *const *values,
										   const uint8 *const *nulls, uint32 capacity,
										   uint32 *origins, int64 *const *columns,
										   uint8 *const *column_nulls);

/* Is it a formula (formula.h)?  How many rows has that left to PostgreSQL? */
extern bool gpucol_recursive_host_is_formula(const GpucolRecursiveHost *host);
extern uint64 gpucol_recursive_host_left(const GpucolRecursiveHost *host);

/* How its result travels; valid as long as the host. */
extern GpucolRecColumn *gpucol_recursive_host_result(GpucolRecursiveHost *host);

/* Compute it for n rows (recursion/engine.h, GpucolRecHost). */
extern void gpucol_recursive_host_compute(GpucolRecursiveHost *host,
										  GpucolSymbols *symbols, uint32 n,
										  const int64 *const *values,
										  const uint8 *const *nulls,
										  int64 *result, uint8 *result_nulls);

/* The same in any thread (GpucolRecHostApart). */
extern bool gpucol_recursive_host_compute_apart(const GpucolRecursiveHost *host, const GpucolSymbols *symbols,
												uint32 n, const int64 *const *values, const uint8 *const *nulls,
												int64 *result, uint8 *result_nulls);

/*
 * recursion/exec/carried.c: which columns and results of hosts are never compared, allocated; `matches`
 * says of each host whether it looks for matches, `matched` of each relation whether one does so in it.
 * Columns lie by relation, GPUCOL_REC_MAX_ARITY of each.
 */
extern void gpucol_recursive_find_carried(const GpucolRecPlan *plan, int nhosts, const bool *matches,
										  const bool *matched, bool **columns, bool **hosts);

/*
 * recursion/exec/equalities.c: of the pairs of GPUCOL_RECURSIVE_EQUALITIES, for one run, in the current memory
 * context; have a column of values with a collation know its own; have values been made the same that look
 * different; columns whose values keep their forms, as bits.
 */
typedef struct GpucolRecursiveEqualities GpucolRecursiveEqualities;

extern GpucolRecursiveEqualities *gpucol_recursive_equalities_create(List *pairs);
extern void gpucol_recursive_equalities_set(const GpucolRecursiveEqualities *all, GpucolRecColumn *column,
											Oid collation);
extern bool gpucol_recursive_equalities_lost(const GpucolRecursiveEqualities *all);
extern uint32 gpucol_recursive_equalities_forms(const GpucolRecColumn *columns, int ncolumns);

/*
 * recursion/exec/load.c: all rows of a plan that pass the filter (NULL: all), tested in econtext, as
 * columns of 64-bit values, a piece at a time: *take is called for each, the last time for
 * what is left, which may be no row.  The plan has given no rows yet.
 */
typedef void (*GpucolRecursiveTake) (void *context, uint32 n, const int64 *const *values, const uint8 *const *nulls);

extern void gpucol_recursive_load(PlanState *plan, const GpucolRecColumn *columns, int ncolumns,
								  GpucolSymbols *symbols, ExprState *filter, ExprContext *econtext,
								  GpucolRecursiveTake take, void *context);

/*
 * recursion/exec/fallback.c: batches of rows of PostgreSQL's RecursiveUnion that pass
 * the filter (NULL: all) but for the first `skip`, in the current memory context; `columns`
 * say how values travel, but each keeps its own form.  Codes of a batch are of its symbols.
 */
typedef struct GpucolRecursiveFallback GpucolRecursiveFallback;

extern GpucolRecursiveFallback *gpucol_recursive_fallback_create(PlanState *plan,
																 ExprState *filter,
																 ExprContext *econtext,
																 int ncolumns,
																 const GpucolRecColumn *columns,
																 uint64 skip);

/*
 * Run it to its end and hold its rows, before any has been read; false: it has not ended in
 * about this time, and is to be started again.
 */
extern bool gpucol_recursive_fallback_try(GpucolRecursiveFallback *fallback,
										  double microseconds);

/* Release what its memory context does not. */
extern void gpucol_recursive_fallback_end(GpucolRecursiveFallback *fallback);

extern bool gpucol_recursive_fallback_next(GpucolRecursiveFallback *fallback,
										   GpucolRecBatch *batch);
extern GpucolSymbols *gpucol_recursive_fallback_symbols(const GpucolRecursiveFallback *fallback);

/* Read all and aggregate, as the summarise of an engine does. */
extern uint64 gpucol_recursive_fallback_summarise(GpucolRecursiveFallback *fallback,
												  const bool *want,
												  GpucolRecSummary *columns);

/*
 * recursion/exec/inputs.c: the GpucolInputs, below a SubqueryScan or not; the input plan
 * states that it holds; have them start anew if parameters have changed.
 */
extern PlanState *gpucol_inputs_find(PlanState *state);
extern List *gpucol_inputs_states(PlanState *state);
extern void gpucol_inputs_refresh(PlanState *state);

#endif							/* GPUCOL_RECURSION_EXEC_STATE_H */
