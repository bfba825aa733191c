/*-------------------------------------------------------------------------
 *
 * match_value.h
 *	  What of a column's value a condition on bytes is about: all of it, or a part.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_VALUE_H
#define GPUCOL_LOWER_MATCH_VALUE_H

#include "postgres.h"

#include "lower/lower.h"

/* One step from a value to its part. */
typedef struct GpucolMatchStep
{
	const struct GpucolMatchStep *before;	/* or NULL: the first */
	bool		unpadded;		/* without the blanks at its end; */
	bool		item;			/* the element of an array; */
	int64		subscript;
	GpucolTextPart part;		/* or else this part of it */
} GpucolMatchStep;

/*
 * Is an expression a column, or a part of one that is known from the bytes?  *steps are
 * made in the current memory context; NULL: the column itself.
 */
extern bool gpucol_match_is_value(Node *node, const GpucolMatchStep **steps);

/* One more step: without the blanks at the end, as values of type character compare. */
extern const GpucolMatchStep *gpucol_match_unpadded(const GpucolMatchStep *before);

/* May there be no part of a value, as no element of an array? */
extern bool gpucol_match_may_be_null(const GpucolMatchStep *steps);

/* Contents of a varlena, detoasted. */
extern GpucolBytes gpucol_match_contents(Datum value);

/* The part of a value; its data is NULL where there is none. */
extern GpucolBytes gpucol_match_take(const GpucolMatchStep *steps, GpucolBytes value);

/*
 * Is the part the beginning of the value, of so many characters?  *characters are those
 * that `item` has of them.
 */
extern bool gpucol_match_is_beginning(const GpucolMatchStep *steps, GpucolBytes item,
									  int64 *characters);

#endif							/* GPUCOL_LOWER_MATCH_VALUE_H */
