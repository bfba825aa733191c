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

/*
 * Is a key a sum or an average that a subquery in FROM computes for its groups?  PostgreSQL takes it to have 200
 * values, but hardly two groups have the same.
 */
extern bool gpucol_key_is_sum(PlannerInfo *root, Node *key);

#endif							/* GPUCOL_PLANNER_KEY_VALUES_H */
