/*-------------------------------------------------------------------------
 *
 * first_rows.h
 *	  Ordinary plans that read an index until they have found enough rows, beside what
 *	  an engine takes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_FIRST_ROWS_H
#define GPUCOL_PLANNER_FIRST_ROWS_H

#include "nodes/pathnodes.h"

/*
 * `paths` without those that read min and max from an index and may well cost more than
 * `cost`, which is what an engine takes whatever the data are like.
 */
extern List *gpucol_first_rows_prune_minmax(List *paths, Cost cost);

/* The same for paths of which the first `limit` rows are wanted. */
extern List *gpucol_first_rows_prune(PlannerInfo *root, List *paths, double limit,
									 Cost cost);

#endif							/* GPUCOL_PLANNER_FIRST_ROWS_H */
