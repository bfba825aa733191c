/*-------------------------------------------------------------------------
 *
 * lowering.h
 *	  What the files that lower the terms of WITH RECURSIVE share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_PLAN_LOWERING_H
#define GPUCOL_RECURSION_PLAN_LOWERING_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "recursion/front/builder.h"
#include "recursion/plan/lower.h"

/* How a relation takes part in its term. */
typedef enum GpucolRecSourceMode
{
	GPUCOL_SOURCE_INNER,
	GPUCOL_SOURCE_PRESENT,		/* EXISTS, where duplicates count */
	GPUCOL_SOURCE_ABSENT,		/* NOT EXISTS */
	GPUCOL_SOURCE_OPTIONAL		/* right side of a LEFT JOIN */
} GpucolRecSourceMode;

/* A relation of the term. */
typedef struct GpucolRecSource
{
	Relids		relids;			/* more than one: an inner join, right of a join
								 * that is none */
	Index		rti;			/* the only one, or 0 */
	GpucolRecSourceMode mode;
	bool		padded;			/* OPTIONAL, in a rule for rows without match */
	const RangeTblEntry *rte;	/* NULL for a join */
	RelOptInfo *rel;			/* NULL for the self-reference */
	RangeTblFunction *function; /* LATERAL: its rows are made of those of others */
	bool		ordinality;		/* of the function */
	bool		outer;			/* of the function: a row of nulls where it has none */
	int			relation;		/* of the plan */
	List	   *columns;		/* Var of each column */
	bool		done;			/* its atom has been planned */
	int		   *registers;		/* by column; -1 = not needed or not done */
} GpucolRecSource;

/* A condition of the term. */
typedef struct GpucolRecQual
{
	Node	   *clause;
	GpucolRecSource *on;		/* the relation whose join it decides, NULL: an
								 * inner join or WHERE */
	bool		done;
} GpucolRecQual;

typedef struct GpucolRecLowering
{
	GpucolLoweredRecursion *result;
	GpucolRecBuilder builder;
	List	   *types;			/* of the result's columns */
	List	   *collations;
	bool		all;
	List	   *inputs;			/* the GpucolRecSource that each input was made
								 * for */

	/* the term that is being lowered */
	PlannerInfo *subroot;
	bool		recursive;
	List	   *sources;		/* GpucolRecSource; the self-reference first */
	List	   *quals;			/* GpucolRecQual */
	GpucolRecSource *target_function;	/* of the select list, or NULL */
	List	   *subplan_params; /* what subqueries hand to their tests */
	const GpucolRecOperand *mask;	/* true for the rows that take the branch at hand; NULL: there is none */
} GpucolRecLowering;

/* ---- recursion/plan/terms.c ---- */

/* Note why the term cannot be pushed down; returns false. */
extern bool gpucol_rec_lower_decline(GpucolRecLowering *lowering, const char *reason);

/*
 * The set-returning functions of the select list as a relation of the term, and the
 * list with its columns in their place; NIL after a gpucol_rec_lower_decline.
 */
extern List *gpucol_rec_lower_target_function(GpucolRecLowering *lowering, List *tlist,
											  GpucolRecSource **source);

/* Gather what a term that `subroot` has planned consists of. */
extern bool gpucol_rec_lower_open(GpucolRecLowering *lowering, PlannerInfo *subroot,
								  bool recursive);

/* ---- recursion/plan/arms.c ---- */

/* Is a condition an OR each arm of which serves for a join: with the relation whose outer join it is of, if any? */
extern bool gpucol_rec_lower_has_arms(const GpucolRecLowering *lowering, const GpucolRecQual *qual);

/* The parts of an arm, of which all must hold. */
extern List *gpucol_rec_lower_parts(Node *arm);

/* A condition of the join with a relation; NULL: of WHERE. */
extern GpucolRecQual *gpucol_rec_lower_make_qual(Node *clause, GpucolRecSource *on);

/* The conditions of each rule for rows padded as the sources say: a list of lists of GpucolRecQual. */
extern List *gpucol_rec_lower_arms(const GpucolRecLowering *lowering);

/* ---- recursion/plan/exprs.c ---- */

/* The source and column that a Var names, or NULL. */
extern GpucolRecSource *gpucol_rec_lower_column(const GpucolRecLowering *lowering,
												const Var *var, int *column);

/* The expression below casts that change nothing. */
extern Node *gpucol_rec_lower_strip(Node *node);

/*
 * The comparison that an operator is, if it is one that the engine does: of
 * integers, of one ordered type, or (equality) of one comparable type.
 */
extern bool gpucol_rec_lower_comparison(const OpExpr *op, GpucolRecFunction *function);

/* Have equal values of a type made the same, if they may look different. */
extern void gpucol_rec_lower_note_equality(GpucolRecLowering *lowering, Oid type,
										   Oid collation);

/* Does the engine have all that an expression consists of? */
extern bool gpucol_rec_lower_is_native(const GpucolRecLowering *lowering, Node *node);

/* And of all of these? */
extern bool gpucol_rec_lower_are_native(const GpucolRecLowering *lowering, List *nodes);

/* The operand of a column that is known. */
extern bool gpucol_rec_lower_var(GpucolRecLowering *lowering, Var *var,
								 GpucolRecOperand *out);

/* Steps that compute a whole expression, or test it, by the engine or by PostgreSQL. */
extern bool gpucol_rec_lower_value(GpucolRecLowering *lowering, Node *node,
								   GpucolRecOperand *out);
extern bool gpucol_rec_lower_test(GpucolRecLowering *lowering, Node *clause);

/* Steps that compute an expression that gpucol_rec_lower_is_native; its operand. */
extern bool gpucol_rec_lower_native(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out);

/* Steps that compute whether the arguments of an operator, or of NULLIF, are equal. */
extern bool gpucol_rec_lower_equal(GpucolRecLowering *lowering, const OpExpr *op, GpucolRecOperand *out);

/* ---- recursion/plan/branches.c ---- */

/* Is an expression CASE, COALESCE, NULLIF, GREATEST or LEAST that the engine computes?  Its steps. */
extern bool gpucol_rec_branches_are_native(const GpucolRecLowering *lowering, Node *node);
extern bool gpucol_rec_lower_branches(GpucolRecLowering *lowering, Node *node, GpucolRecOperand *out);

/* The operand of what may raise an error: NULL for the rows that do not take the branch at hand. */
extern GpucolRecOperand gpucol_rec_lower_masked(GpucolRecLowering *lowering, GpucolRecOperand operand);

/* ---- recursion/plan/hosts.c ---- */

/* Has an expression, or a subquery that it runs for rows, a volatile function? */
extern bool gpucol_rec_lower_is_volatile(const GpucolRecLowering *lowering,
										 Node *node);

/* Is a Param of the query known when the node is (re)started? */
extern bool gpucol_rec_lower_knows_param(const GpucolRecLowering *lowering,
										 const Param *param);

/* A step (COMPUTE or TEST) that PostgreSQL computes. */
extern bool gpucol_rec_lower_host(GpucolRecLowering *lowering, Node *node,
								  GpucolRecStepKind kind, GpucolRecOperand *out);

/*
 * A test that PostgreSQL computes: has a source a row for which these conditions
 * (on it and on what is known) hold; or none, unless it is PRESENT.
 */
extern bool gpucol_rec_lower_match(GpucolRecLowering *lowering,
								   const GpucolRecSource *source, List *clauses);

/* A step that has PostgreSQL make the rows of a function; its columns become known. */
extern bool gpucol_rec_lower_expand(GpucolRecLowering *lowering, GpucolRecSource *source);

#endif							/* GPUCOL_RECURSION_PLAN_LOWERING_H */
