/*-------------------------------------------------------------------------
 *
 * equality.h
 *	  One 64-bit value for all values that a type holds equal.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_EQUALITY_H
#define GPUCOL_RECURSION_FRONT_EQUALITY_H

#include "postgres.h"

#include "recursion/front/symbols.h"

struct GpucolRecColumn;

typedef struct GpucolEquality GpucolEquality;

/*
 * The equality of a type that can be hashed, under a collation; lives in the
 * current memory context.
 */
extern GpucolEquality *gpucol_equality_create(Oid type, Oid collation);

/* The first of the values seen so far that equals this value of the column. */
extern int64 gpucol_equality_first(GpucolEquality *equality,
								   const struct GpucolRecColumn *column,
								   const GpucolSymbols *symbols, int64 value);

/* Has it made values the same that look different? */
extern bool gpucol_equality_lost_forms(const GpucolEquality *equality);

#endif							/* GPUCOL_RECURSION_FRONT_EQUALITY_H */
