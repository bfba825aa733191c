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
	bool		clock;			/* no months and no days, which are 0 even if usecs is NULL */
	bool		endless;		/* the parts of a column, which may be infinite from PostgreSQL 17 on */
} GpucolSpanValue;

/*
 * Lower an expression of type interval.  Outside of an aggregation one that is finite: what exceeds PostgreSQL's
 * range is its error.  Others make the statement fall back.
 */
extern bool gpucol_lower_span(GpucolLower *l, Expr *expr, GpucolSpanValue *out);

/* The same of what a date or timestamp is shifted by: the parts of a column may be infinite, GPUCOL_SHIFT_ENDLESS. */
extern bool gpucol_lower_span_of_shift(GpucolLower *l, Expr *expr, GpucolSpanValue *out);

/*
 * Lower a function of intervals whose result is none: comparisons, fields, times shifted by
 * them.  *matched tells whether the function is one.
 */
extern bool gpucol_lower_span_function(GpucolLower *l, Oid funcid, List *args,
									   bool *matched, GpucolValue *out);

/* Add the states of an aggregate of intervals; *matched tells whether it is one. */
extern bool gpucol_lower_span_agg(GpucolLower *l, Aggref *agg, bool *matched, GpucolFinal *final);

#endif							/* GPUCOL_LOWER_SPAN_H */
