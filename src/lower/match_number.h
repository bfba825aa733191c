/*-------------------------------------------------------------------------
 *
 * match_number.h
 *	  Conditions on a number that a text has: its length, or the place of another text in it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_NUMBER_H
#define GPUCOL_LOWER_MATCH_NUMBER_H

#include "postgres.h"

#include "lower/lower.h"
#include "lower/match_value.h"

typedef struct GpucolMatchNumber
{
	bool		is_length;		/* else: is `found` in the text? */
	bool		negate;
	const GpucolMatchStep *steps;	/* the part of the value that it is about */

	/* of a length, from and to */
	bool		bytes;			/* else characters */
	int64		least;
	int64		most;

	GpucolBytes found;
} GpucolMatchNumber;

/* Is a comparison one of such a number with a constant that is known? */
extern bool gpucol_match_number(GpucolLower *l, const OpExpr *expr, GpucolMatchNumber *number);

/* Is a text's length one of those (before negation)? */
extern bool gpucol_match_has_length(const GpucolMatchNumber *number, GpucolBytes value);

#endif							/* GPUCOL_LOWER_MATCH_NUMBER_H */
