/*-------------------------------------------------------------------------
 *
 * harmless.h
 *	  What may be evaluated for values that no row of the statement asks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_H
#define GPUCOL_LOWER_HARMLESS_H

#include "postgres.h"

#include "lower/lower.h"

/*
 * Is a condition over one column harmless: does evaluating it, for whatever value, raise
 * no error and no notice, and run nobody's code?  Else l->reason says what is not.  May
 * evaluate parameters and patterns, as gpucol_lower_eval() does.
 */
extern bool gpucol_harmless_condition(GpucolLower *l, Expr *expr);

/*
 * To most of them any value is harmless, but where results or what is needed on the way
 * grow with the value only those of up to so many bytes: a longer one may raise the error
 * that PostgreSQL has for sizes beyond 1 GB.
 */
#define GPUCOL_HARMLESS_BYTES	((Size) 64 * 1024 * 1024)

/* Does an expression, or a list of them, call a function in which something grows? */
extern bool gpucol_harmless_grows(Node *node);

/* Is a function harmless for whatever arguments that are not NULL? */
extern bool gpucol_harmless_function(Oid funcid);

/* ... a comparison of values of a type, of arrays too? */
extern bool gpucol_harmless_comparison(Oid funcid, Oid type);

/*
 * Is this node of a planned expression one that raises no error and runs nobody's code: a column, a constant, logic, or
 * such a function?  Nodes below are not looked at.
 */
extern bool gpucol_harmless_node(Node *node);

/*
 * Is an operator of a type's order harmless for this type and collation?
 */
extern bool gpucol_harmless_order(Oid operator, Oid type, Oid collation);

/*
 * Is there stack for what harmless functions need?  Some descend into values, but not
 * far; where a statement has used up most of the stack, even that might be too far, and
 * the error would tell of the value.
 */
extern bool gpucol_harmless_stack(void);

#endif							/* GPUCOL_LOWER_HARMLESS_H */
