/*-------------------------------------------------------------------------
 *
 * harmless_check.h
 *	  One question of harmless_query.c, for its file and harmless_bounds.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_CHECK_H
#define GPUCOL_LOWER_HARMLESS_CHECK_H

#include "postgres.h"

#include "nodes/parsenodes.h"

#include "lower/lower.h"

typedef struct GpucolHarmlessCheck
{
	GpucolLower *l;				/* takes the reasons */
	Query	   *scope;			/* whose columns they are, or NULL: not known */
	Query	   *level;			/* not NULL: columns are of this query, and lazy */
	Query	   *around;			/* its WITH queries may be read, or NULL */
	const char *known;			/* a WITH query whose rows are there, or NULL, */
	int			known_up;		/* of so many levels above the query that is asked about, and one */
	int			depth;			/* of queries below the one that is asked about */
	List	   *nonzero;		/* expressions that are not 0 where we are: conditions of CASE have seen to that */
	bool		collects;		/* aggregates of the query that is asked about may collect values */
	bool		failed;
} GpucolHarmlessCheck;

/* harmless_query.c: is an expression, a column, an aggregate harmless?  Else the reason is noted. */
extern bool gpucol_harmless_check_expr(GpucolHarmlessCheck *c, Node *expr);
extern bool gpucol_harmless_check_column(GpucolHarmlessCheck *c, const Var *var);
extern bool gpucol_harmless_check_aggregate(GpucolHarmlessCheck *c, const Aggref *agg);

/* harmless_bounds.c: digits that the values of a numeric expression have at most, or -1: not known */
extern int	gpucol_harmless_digits(GpucolHarmlessCheck *c, Node *node);

/* ... of a column of this type modifier */
extern int	gpucol_harmless_declared_digits(int32 typmod);

/* Is it a numeric, of as many digits as a double has room for, as one? */
extern bool gpucol_harmless_is_near_float(GpucolHarmlessCheck *c, Node *node);

/* Is it a date or time that is not far, or a sum of one and short intervals?  `depth`: 0. */
extern bool gpucol_harmless_is_near_time(GpucolHarmlessCheck *c, Node *node, int depth);

/* An int4 that is computed of constants without an error; false if it is none. */
extern bool gpucol_harmless_constant_integer(Node *node, int64 *value);

#endif							/* GPUCOL_LOWER_HARMLESS_CHECK_H */
