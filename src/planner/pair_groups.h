/*-------------------------------------------------------------------------
 *
 * pair_groups.h
 *	  Keys of which a table has rows of different values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PAIR_GROUPS_H
#define GPUCOL_PLANNER_PAIR_GROUPS_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/parsenodes.h"

/*
 * A copy of a query that joins a table with itself, where rows of the same keys have different values, as groups of
 * these keys, of which the numbers of columns that are read are among `columns`; each row is there once.  NULL: it is
 * another query, or others of its columns are read.
 */
extern Query *gpucol_pair_groups(Query *query, const Bitmapset *columns);

/* The statement, in which such queries below IN are groups.  Changes `parse`. */
extern Query *gpucol_pair_tests(Query *parse);

#endif							/* GPUCOL_PLANNER_PAIR_GROUPS_H */
