/*-------------------------------------------------------------------------
 *
 * set_groups.h
 *	  Groups over the results of set-returning functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_SET_GROUPS_H
#define GPUCOL_PLANNER_SET_GROUPS_H

#include "postgres.h"

#include "nodes/parsenodes.h"

/*
 * A statement in which set-returning functions below groups are called once for equal rows: a
 * copy, or `parse` itself where there is nothing to gain.  Notes reasons.
 */
extern Query *gpucol_set_groups(Query *parse);

/*
 * The columns of a table that a query reads, Vars, each once; false where they are not known, or none, or equal
 * values of one could be told from each other.
 */
extern bool gpucol_set_exact_columns(Query *query, Index rti, List **columns);

/* Of tables of fewer rows it hardly matters how they are read. */
#define GPUCOL_SET_LEAST_ROWS	10000

/* Have columns of a table few combinations, as far as is known? */
extern bool gpucol_set_are_few(const RangeTblEntry *rte, List *columns);

/* Make a column of a query a key of its groups. */
extern void gpucol_set_add_key(Query *query, TargetEntry *tle);

/* The query of WITH that a table is if nobody else reads it and it is plain, as a subquery; or NULL. */
extern Query *gpucol_set_take_with(const Query *query, const RangeTblEntry *rte);

/* The table of a WITH query becomes the subquery `below` that it is. */
extern void gpucol_set_inline_with(Query *query, RangeTblEntry *rte, Query *below);

/* Is a query nothing but rows of its FROM clause, with an expression for each column? */
extern bool gpucol_set_is_plain(const Query *query);

/*
 * set_from.c: one in which such functions that are keys of groups, or below these, stand in FROM; a copy,
 * or `parse` itself.
 */
extern Query *gpucol_set_from(Query *parse);

/*
 * set_weights.c: why an aggregate cannot be told from distinct rows and how often each is there, or
 * NULL.
 */
extern const char *gpucol_set_weights_decline(const Aggref *agg);

/* ... does an aggregate give the same however often each value is there? */
extern bool gpucol_set_weights_is_blind(const Aggref *agg);

/*
 * ... the expression of the aggregate over distinct rows, each of which counts `weight` (bigint) times.
 */
extern Node *gpucol_set_weights_apply(Aggref *agg, Var *weight);

/*
 * ... aggregates that rows can be grouped by in parts with, such that gpucol_set_weights_fold() makes
 * the aggregate of these (Vars, in their order), and of it with DISTINCT of its argument.
 */
extern List *gpucol_set_weights_parts(Aggref *agg);
extern Node *gpucol_set_weights_fold(Aggref *agg, List *parts);

/* Is a table of a FROM clause on no side of an outer join that may be NULL? */
extern bool gpucol_set_keeps_rows(Node *node, Index rti);

/* Rows of a table, 0 where nobody knows, and its pages; how many values a column has, and NULL, infinite then. */
extern double gpucol_set_count_rows(Oid relid);
extern BlockNumber gpucol_set_count_pages(Oid relid);
extern double gpucol_set_count_values(Oid relid, bool inherits, AttrNumber attno, double rows);

#endif							/* GPUCOL_PLANNER_SET_GROUPS_H */
