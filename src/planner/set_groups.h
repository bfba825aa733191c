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

/* Rows of a table, 0 where nobody knows. */
extern double gpucol_set_count_rows(Oid relid);

#endif							/* GPUCOL_PLANNER_SET_GROUPS_H */
