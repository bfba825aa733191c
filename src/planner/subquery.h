/*-------------------------------------------------------------------------
 *
 * subquery.h
 *	  What the files that rewrite subqueries share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_SUBQUERY_H
#define GPUCOL_PLANNER_SUBQUERY_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/* Which columns something refers to, as seen from the query that it stands in. */
typedef struct GpucolReferences
{
	bool		own;			/* that query's */
	bool		outer;			/* those of the query around it */
	bool		farther;		/* those of a query around that, or its aggregates */
} GpucolReferences;

/* subquery.c */
extern GpucolReferences gpucol_subquery_references(Node *node);
extern Oid	gpucol_subquery_table(Query *query);
extern Oid	gpucol_subquery_packed_part(RangeTblEntry *rte);
extern List *gpucol_subquery_conditions(Node *node);

/*
 * subquery_scalar.c: the expression that takes the place of a scalar subquery in
 * `query`, to whose FROM clause the grouped subquery is joined; or NULL, and a reason is
 * noted where there is something to say.
 */
extern Node *gpucol_subquery_join_scalar(Query *query, SubLink *sublink);

/*
 * subquery_unique.c: does a query of one table give one row at most where `equalities`
 * (OpExprs) compare its columns with one value each?
 */
extern bool gpucol_subquery_is_unique(Query *query, List *equalities);

/*
 * subquery_not_in.c: the NOT EXISTS that takes the place of a condition of `query` that
 * is a NOT IN, or NULL: it is none, or stays.
 */
extern Node *gpucol_subquery_not_exists(Query *query, Node *condition);

/*
 * A key that a subquery is grouped by, and what it equals in the outer query: `equality`
 * has the operator, and the key on its left or its right.
 */
typedef struct GpucolAsked
{
	OpExpr	   *equality;
	Node	   *key;
	Node	   *column;
	bool		key_is_left;
} GpucolAsked;

/*
 * subquery_restrict.c: leave out groups of `inner` that no row of `outer` asks for, as far
 * as conditions on one of its tables tell.
 */
extern void gpucol_subquery_restrict(Query *outer, Query *inner, List *asked);

/* Note why a correlated subquery over a gpucol table stays; another is none to speak of. */
extern void gpucol_subquery_stays(SubLink *sublink, const char *reason);

#endif							/* GPUCOL_PLANNER_SUBQUERY_H */
