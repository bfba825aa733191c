/*-------------------------------------------------------------------------
 *
 * agg.h
 *	  PostgreSQL's aggregates as engine states, and how a state becomes the
 *	  aggregate's result again.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_AGG_H
#define GPUCOL_PLANNER_AGG_H

#include "planner/lower.h"

/* The final step from a state to a datum. */
typedef enum GpucolFinalKind
{
	GPUCOL_FINAL_COUNT,			/* int8 number of rows */
	GPUCOL_FINAL_DISTINCT,		/* int8 number of distinct values */
	GPUCOL_FINAL_SUM_INT8,		/* int8 sum of int2 or int4 */
	GPUCOL_FINAL_SUM_NUMERIC,
	GPUCOL_FINAL_SUM_FLOAT8,
	GPUCOL_FINAL_AVG_NUMERIC,
	GPUCOL_FINAL_AVG_FLOAT8,
	GPUCOL_FINAL_VALUE,			/* min, max: a value of the argument's class */
	GPUCOL_FINAL_BOOL,
	GPUCOL_FINAL_VAR_NUMERIC,
	GPUCOL_FINAL_VAR_FLOAT8
} GpucolFinalKind;

typedef struct GpucolFinal
{
	GpucolFinalKind kind;
	GpucolClass cls;			/* of the argument */
	bool		sample;			/* variance over n - 1 */
	bool		root;			/* standard deviation */
	int			state;			/* number of the state */
	int			scale;			/* D: scale of the state */
	int			scale_state;	/* D: state of the greatest display scale of a
								 * row, or -1: `scale` */
	Oid			type;			/* result type */
} GpucolFinal;

/* lower_agg.c: add the states of one aggregate */
extern bool gpucol_lower_aggref(GpucolLower *l, Aggref *agg, GpucolFinal *final);

#endif							/* GPUCOL_PLANNER_AGG_H */
