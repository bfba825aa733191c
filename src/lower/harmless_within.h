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
 * A sum of something and a constant, of integers, dates or times, as a CASE that is NULL of values so near their
 * type's ends that it might be an error; *beyond is the condition that it is.  NULL: it is no such sum.  Nothing of
 * `sum` is used for them.
 */
extern Expr *gpucol_harmless_within(const Expr *sum, Expr **beyond);

/* Of what such a CASE, which raises no error where this does not, is the sum; NULL: another CASE. */
extern Node *gpucol_harmless_within_value(const CaseExpr *node);

/* A comparison of a value with a constant by its type's order: `strategy` of B-trees; for types of such sums. */
extern OpExpr *gpucol_harmless_compare(Expr *value, Oid type, int strategy, int64 with);

#endif							/* GPUCOL_LOWER_HARMLESS_WITHIN_H */
