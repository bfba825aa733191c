/*-------------------------------------------------------------------------
 *
 * match_kinds.h
 *	  Conditions that are decided on bytes, as match.c makes and decides them and match_cuts.c
 *	  cuts the order of values by them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_MATCH_KINDS_H
#define GPUCOL_LOWER_MATCH_KINDS_H

#include "postgres.h"

#include "base/hash_table.h"
#include "lower/match.h"
#include "lower/match_array.h"
#include "lower/match_number.h"
#include "lower/match_value.h"
#include "lower/regex.h"

typedef enum MatchKind
{
	MATCH_EQUAL,
	MATCH_IN,
	MATCH_ORDER,
	MATCH_LIKE,
	MATCH_AUTOMATON,
	MATCH_LENGTH,
	MATCH_ARRAY,
	MATCH_NUMERIC,
	MATCH_AND,
	MATCH_OR,
	MATCH_NOT,
	MATCH_IS_NULL
} MatchKind;

/* Order with a constant, from the value's side. */
typedef enum MatchOrder
{
	ORDER_LT,
	ORDER_LE,
	ORDER_GT,
	ORDER_GE
} MatchOrder;

struct GpucolMatch
{
	MatchKind	kind;
	bool		negate;			/* EQUAL, IN, LIKE, AUTOMATON, LENGTH, IS_NULL */
	const GpucolMatchStep *steps;	/* the part that is compared, or NULL: all */

	/* EQUAL, ORDER: the constant; IN: the list; LIKE: the pieces */
	GpucolBytes *bytes;
	int			nbytes;
	MatchOrder	order;

	/* IN: numbers of items + 1, open addressing */
	GpucolHashTable table;
	uint64		lengths;		/* bit len % 64 set = some item may have the length */
	bool		has_null;

	/* LIKE */
	bool		starts;			/* the first piece is where the value starts, */
	bool		ends;			/* and the last where it ends */
	bool		whole;			/* no "%": the value is the piece */
	size_t		least;			/* length of all pieces */

	GpucolAutomaton *automaton; /* AUTOMATON */
	GpucolMatchNumber number;	/* LENGTH */
	GpucolArrayTest *array;	/* ARRAY */
	GpucolCuts *turns;			/* NUMERIC */

	/* AND, OR, NOT */
	GpucolMatch **args;
	int			nargs;
};

#endif							/* GPUCOL_LOWER_MATCH_KINDS_H */
