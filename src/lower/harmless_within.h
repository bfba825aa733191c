/*-------------------------------------------------------------------------
 *
 * harmless_within.h
 *	  Sums with a constant, of values that are not near the ends of their type.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_WITHIN_H
#define GPUCOL_LOWER_HARMLESS_WITHIN_H

#include "postgres.h"

#include "nodes/primnodes.h"

/*
 * A sum of something and a constant, of integers, dates or times, a cast among dates and timestamps, date_trunc() or
 * extract() of one, other arithmetic of integers, a quotient by a column, arithmetic of floats or a text as a number,
 * as a CASE that is NULL of values of which it might be an error; *beyond is the condition that it is.  NULL: it is no
 * such expression.  Nothing of `expr` is used for them.
 */
extern Expr *gpucol_harmless_within(const Expr *expr, Expr **beyond);

/* What such a sum or cast is computed of, if it is no other arithmetic: that, too, must raise no error. */
extern const Expr *gpucol_harmless_within_value(const Expr *expr);

/* The condition of such a CASE, which raises no error where the condition does not; NULL: another CASE. */
extern Node *gpucol_harmless_within_test(const CaseExpr *node);

/* A comparison of a value with a constant by its type's order: `strategy` of B-trees. */
extern OpExpr *gpucol_harmless_compare_const(Expr *value, Oid type, int strategy, Const *with);

/* The same with a number, for types of such sums. */
extern OpExpr *gpucol_harmless_compare(Expr *value, Oid type, int strategy, int64 with);

#endif							/* GPUCOL_LOWER_HARMLESS_WITHIN_H */
