/*-------------------------------------------------------------------------
 *
 * final_zones.h
 *	  Zones of vectors, and what of each no other contains (final_zones.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_FINAL_ZONES_H
#define GPUCOL_ENGINE_CPU_FINAL_ZONES_H

#include "engine/cpu/cpu.h"

/* A zone, and then what of it no other zone contains; lo > hi: nothing. */
typedef struct GpucolSpan
{
	int64_t		lo;
	int64_t		hi;
	uint32_t	number;			/* of the vector */
} GpucolSpan;

/*
 * Make n zones, none of them empty, what of each no other contains: what lies behind the
 * greatest value of those that begin before it, and before the next one begins.  They come out
 * in the order of their least values.
 */
extern void gpucol_cpu_spans_own(GpucolSpan *spans, uint32_t n);

/*
 * Put those that reach over the beginnings of many others behind the rest, if they are few.
 * Returns how many the rest is: n where there are none of them, or too many.
 */
extern uint32_t gpucol_cpu_spans_part(GpucolSpan *spans, uint32_t n);

/* Bring spans into the order of their vectors. */
extern void gpucol_cpu_spans_number(GpucolSpan *spans, uint32_t n);

#endif							/* GPUCOL_ENGINE_CPU_FINAL_ZONES_H */
