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

/*
 * Each value keeps its form, and `first` gives it back; what stands for all that equal it is
 * gpucol_equality_form then, of any value that `first` has seen.
 */
extern GpucolEquality *gpucol_equality_create_of_forms(Oid type, Oid collation);

/* May be called by several threads beside one another, but not beside `first`. */
extern int64 gpucol_equality_form(const GpucolEquality *equality, int64 value);

/* Does each value keep its form? */
extern bool gpucol_equality_keeps_forms(const GpucolEquality *equality);

/* The first of the values seen so far that equals this value of the column. */
extern int64 gpucol_equality_first(GpucolEquality *equality,
								   const struct GpucolRecColumn *column,
								   GpucolSymbols *symbols, int64 value);

/* Has it made values the same that look different? */
extern bool gpucol_equality_lost_forms(const GpucolEquality *equality);

#endif							/* GPUCOL_RECURSION_FRONT_EQUALITY_H */
