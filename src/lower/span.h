/*-------------------------------------------------------------------------
 *
 * span.h
 *	  Intervals as three registers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_SPAN_H
#define GPUCOL_LOWER_SPAN_H

#include "lower/agg.h"

/* An interval: integer registers, all NULL or none. */
typedef struct GpucolSpanValue
{
	uint16		months;
	uint16		days;
	uint16		usecs;
	uint16		total;			/* of a difference of timestamps, which has no months, and of
								 * some constants, all of it in microseconds; GPUCOL_NO_REG:
								 * it may exceed an int64 */
	bool		plain;			/* a difference of timestamps: `total` says how it looks */
} GpucolSpanValue;

/*
 * Lower an expression of type interval.  What exceeds PostgreSQL's range makes the statement
 * fall back, so this is for aggregations only.
 */
extern bool gpucol_lower_span(GpucolLower *l, Expr *expr, GpucolSpanValue *out);

/* Change the sign. */
extern void gpucol_span_negate(GpucolLower *l, GpucolSpanValue *v);

/*
 * Lower a function of intervals whose result is none: comparisons, fields, times shifted by
 * them.  *matched tells whether the function is one.
 */
extern bool gpucol_lower_span_function(GpucolLower *l, Oid funcid, List *args,
									   bool *matched, GpucolValue *out);

/* Add the states of an aggregate of intervals; *matched tells whether it is one. */
extern bool gpucol_lower_span_agg(GpucolLower *l, Aggref *agg, bool *matched, GpucolFinal *final);

#endif							/* GPUCOL_LOWER_SPAN_H */
