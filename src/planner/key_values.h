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

#include "nodes/pg_list.h"

/*
 * How many groups keys can make at most, judged by the functions that compute them and not by
 * statistics; infinite where one of them says nothing.
 */
extern double gpucol_key_values(List *keys);

#endif							/* GPUCOL_PLANNER_KEY_VALUES_H */
