/*-------------------------------------------------------------------------
 *
 * set_operations.h
 *	  Set operations as groups, and groups over a UNION ALL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_SET_OPERATIONS_H
#define GPUCOL_PLANNER_SET_OPERATIONS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * A statement whose set operations are groups where that is right and a gpucol table is read, and whose
 * groups over a UNION ALL are groups of its branches' groups: a copy, or `parse` itself where there is
 * nothing to do.
 */
extern Query *gpucol_set_operations(Query *parse);

/*
 * set_keys.c: the statement, in which columns that subqueries in FROM compute are spelled out below grouping sets.
 * Changes `statement`.
 */
extern Query *gpucol_set_keys(Query *statement);

/*
 * with_inline.c: the statement, in which WITH queries are computed where they are read if each reader wants
 * rows of one value of a column.  Changes `parse`.
 */
extern Query *gpucol_with_inline(Query *parse);

/* ... may a query have other rows each time, though no function in it is volatile?  A walker without context. */
extern bool gpucol_with_has_choice(Node *node, void *context);

/*
 * with_distinct.c: the statement, in which WITH queries have each row once if no reader asks how often it is
 * there.  Changes `parse`.
 */
extern Query *gpucol_with_distinct(Query *parse);

/*
 * Queries, each as it stands one level below the caller's query, as the branches of one set
 * operation, which stands there.  `like` has the types of the first columns, the first query
 * those of others; NULL: of all.
 */
extern Query *gpucol_set_operation(SetOperation op, bool all, const SetOperationStmt *like, List *queries);

/*
 * Is a branch nothing but columns of one gpucol table, as far as a query reads it?  The engine reads several such as
 * one table.  `used` are the columns that the query reads, numbered as by pull_varattnos(); NULL: all.
 */
extern bool gpucol_set_is_table(const Query *query, const Bitmapset *used);

/* Has a branch rows that an engine could group, and that are not grouped yet? */
extern bool gpucol_set_has_rows(Query *query);

/*
 * The branches (Queries) of a query that is nothing but a tree of UNION ALL, or NIL.  A view's has other
 * entries in its range table.
 */
extern List *gpucol_set_union_branches(const Query *query);

/*
 * set_joins.c: the rows of `left` that INTERSECT or EXCEPT gives, not grouped yet, by a join with `right`; NULL
 * if groups are better, or it is none.  Rows with NULLs are not among them: *left and *right have these now, or
 * are NULL where there can be none.
 */
extern Query *gpucol_set_join(const SetOperationStmt *node, Query **left, Query **right);

/*
 * union_groups.c: have a query that groups the rows of a UNION ALL group those of each branch first; false if
 * it stays as it is.
 */
extern bool gpucol_union_groups(Query *query);

/* union_types.c: a statement in which branches of UNION ALL have the types of its columns. */
extern Query *gpucol_union_types(Query *parse);

/* values_fold.c: a statement in which aggregates over VALUES and unnest() of a row's columns are expressions. */
extern Query *gpucol_values_fold(Query *parse);

/*
 * values_union.c: the rows of VALUES, unnest() of arrays or UNION ALL in a range table, as a List of List of Expr as
 * its query sees them, or NIL; a statement in which columns that LATERAL VALUES make rows of are a UNION ALL.
 */
extern List *gpucol_values_rows(const RangeTblEntry *rte);
extern Query *gpucol_values_union(Query *parse);

#endif							/* GPUCOL_PLANNER_SET_OPERATIONS_H */
