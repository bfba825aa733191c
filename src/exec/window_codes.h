/*-------------------------------------------------------------------------
 *
 * window_codes.h
 *	  The values of a column as integers in the order of a sort operator.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_CODES_H
#define GPUCOL_EXEC_WINDOW_CODES_H

#include "postgres.h"

#include "columnar/typemap.h"
#include "exec/window_rows.h"

typedef struct GpucolWindowCodes
{
	int			input;
	Oid			sortop;
	Oid			collation;
	uint64	   *codes;			/* by row: equal values have equal codes, others others, and what sorts
								 * before has a smaller one; 0 where there is no value */
	uint64		greatest;
	bool		has_null;
	bool		unordered;		/* only equal values have equal codes: their bytes are theirs */
} GpucolWindowCodes;

/* How many digits a numeric shows after the point; -1 for NaN and infinities. */
static inline int
gpucol_window_scale(Datum value)
{
	GpucolNumericDigits counted;

	gpucol_typemap_numeric_digits(value, &counted);
	return counted.finite ? counted.shown : -1;
}

/* The greatest scale of a column of numerics; -1 where one is none of an integer's. */
extern int	gpucol_window_greatest_scale(const GpucolWindowRows *rows, const GpucolWindowInput *in,
										 bool *varies);

/* Which of a type's two own orders is it: 1 ascending, -1 descending, 0 another? */
extern int	gpucol_window_own_order(Oid type, Oid sortop);

/* Is a type's own order that of its bytes? */
extern bool gpucol_window_orders_by_bytes(Oid type, Oid collation);

/*
 * The codes of n values of a type that is an integer or a float, in its ascending order, 0 where there is none;
 * false for all other types.
 */
extern bool gpucol_window_plain_codes(Oid type, const Datum *values, const bool *isnull, uint32 n, uint64 *codes);

/* The code of a numeric among those at a scale; false where it is none of these in 64 bits. */
extern bool gpucol_window_numeric_code(Datum value, int scale, uint64 *code);

/* Make the codes of an input; false where memory does not suffice. */
extern bool gpucol_window_codes_make(GpucolWindowRows *rows, GpucolWindowCodes *codes);

#endif							/* GPUCOL_EXEC_WINDOW_CODES_H */
