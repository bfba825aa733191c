/*-------------------------------------------------------------------------
 *
 * key_values.h
 *	  How many values a computed key of GROUP BY can have at most.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_KEY_VALUES_H
#define GPUCOL_PLANNER_KEY_VALUES_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * How many groups keys of so many rows make at most, judged by the functions that compute them
 * and by how far apart values of columns lie; infinite where a key that is a column says nothing.
 */
extern double gpucol_key_values(PlannerInfo *root, List *keys, double rows);

#endif							/* GPUCOL_PLANNER_KEY_VALUES_H */
