/*-------------------------------------------------------------------------
 *
 * key_spread.h
 *	  How far apart the values of an expression lie, by statistics.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_KEY_SPREAD_H
#define GPUCOL_PLANNER_KEY_SPREAD_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Greatest less least value of an expression over numbers, dates or timestamps, in units of
 * the number or in seconds; infinite where nobody knows.
 */
extern double gpucol_key_spread(PlannerInfo *root, Node *expr);

/* The number in a constant; infinite where it is none. */
extern double gpucol_key_number(Node *expr);

#endif							/* GPUCOL_PLANNER_KEY_SPREAD_H */
