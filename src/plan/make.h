/*-------------------------------------------------------------------------
 *
 * make.h
 *	  Nodes that PostgreSQL's makefuncs.h has no function for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_MAKE_H
#define GPUCOL_PLAN_MAKE_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* A bigint. */
extern Expr *gpucol_make_int8(int64 value);

/* expr IS NULL, or IS NOT NULL; the expression becomes a part of it. */
extern Expr *gpucol_make_null_test(Expr *expr, NullTestType type);

/* CASE WHEN condition THEN result ELSE otherwise END, of the latter's type; they become parts of it. */
extern Expr *gpucol_make_choice(Expr *condition, Expr *result, Expr *otherwise);

/* COALESCE(value, otherwise), of the value's type; they become parts of it. */
extern Expr *gpucol_make_coalesce(Expr *value, Const *otherwise);

/* An entry of a range table, with these names of columns. */
extern RangeTblEntry *gpucol_make_entry(RTEKind kind, const char *name, List *columns);

/* ... for a subquery, with its columns' names. */
extern RangeTblEntry *gpucol_make_subquery_entry(Query *subquery, const char *name);

/* An aggregate of a value, which is copied, or of rows. */
extern Aggref *gpucol_make_aggregate(Oid function, Oid type, Expr *value);

#endif							/* GPUCOL_PLAN_MAKE_H */
