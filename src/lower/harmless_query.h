/*-------------------------------------------------------------------------
 *
 * harmless_query.h
 *	  Which subqueries may be computed for rows that the statement never asks for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_QUERY_H
#define GPUCOL_LOWER_HARMLESS_QUERY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * Is a query (rewritten by rules, not planned) harmless: does computing it, over whatever
 * its tables hold, raise no error and no notice, and run nobody's code?  References to
 * queries around it count as values.  It may read WITH queries of `around`, the query that it
 * stands in (NULL: none).  With `collects` its own aggregates may be those of gpucol_harmless_collects(), of any
 * arguments.  Returns NULL, or the reason why it is not.
 */
extern const char *gpucol_harmless_query(Query *query, Query *around, bool collects);

/*
 * The same of a query that reads a WITH query whose rows are there, of so many levels above the query that it
 * stands in.
 */
extern const char *gpucol_harmless_reader(Query *query, const char *cte, int up);

/* A query's own WITH query of this name, or NULL. */
extern CommonTableExpr *gpucol_harmless_find_cte(const Query *query, const char *name);

/*
 * Is an aggregate percentile_cont of floats, percentile_disc or mode, of a constant share?  It gives NULL of no rows,
 * and raises no error but those of its arguments and of their order.
 */
extern bool gpucol_harmless_ordered(const Aggref *agg);

/* The same of an expression over the columns of `query`, which are values. */
extern const char *gpucol_harmless_expr(Query *query, Expr *expr);

/*
 * The same of an expression over the columns of `level`, where it is to be computed for
 * all rows of its FROM clause: a column of a subquery that PostgreSQL merges with `level`
 * is the expression behind it.
 */
extern const char *gpucol_harmless_column(Query *level, Expr *expr);

/*
 * Is it an aggregate that collects values, as many as fit, and is NULL of no rows?
 *
 * Does no step of an aggregate raise an error, as far as is known here?  *counts says
 * which value it has of no rows: 0, or else NULL.
 */
extern bool gpucol_harmless_collects(Oid aggfnoid);
extern bool gpucol_harmless_aggregate(Oid aggfnoid, bool *counts);

#endif							/* GPUCOL_LOWER_HARMLESS_QUERY_H */
