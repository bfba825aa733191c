/*-------------------------------------------------------------------------
 *
 * window.h
 *	  Window functions that GpucolWindow computes, and what its plan carries of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_WINDOW_H
#define GPUCOL_PLAN_WINDOW_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/parsenodes.h"
#include "nodes/primnodes.h"

typedef enum GpucolWindowKind
{
	GPUCOL_WINDOW_NONE,			/* PostgreSQL's */
	GPUCOL_WINDOW_ROW_NUMBER,
	GPUCOL_WINDOW_RANK,
	GPUCOL_WINDOW_DENSE_RANK,
	GPUCOL_WINDOW_PERCENT_RANK,
	GPUCOL_WINDOW_CUME_DIST,
	GPUCOL_WINDOW_NTILE,
	GPUCOL_WINDOW_LAG,
	GPUCOL_WINDOW_LEAD,
	GPUCOL_WINDOW_FIRST,
	GPUCOL_WINDOW_LAST,
	GPUCOL_WINDOW_NTH,
	/* aggregates from here on */
	GPUCOL_WINDOW_COUNT,
	GPUCOL_WINDOW_SUM,			/* of integers and money, as a 64-bit integer */
	GPUCOL_WINDOW_SUM_NUMERIC,	/* of int8 and numeric */
	GPUCOL_WINDOW_AVG_NUMERIC,	/* of integers and numeric */
	GPUCOL_WINDOW_VAR_NUMERIC,	/* and these: variances, and their roots */
	GPUCOL_WINDOW_SUM_FLOAT,	/* one row after another, as PostgreSQL adds */
	GPUCOL_WINDOW_AVG_FLOAT,
	GPUCOL_WINDOW_VAR_FLOAT,
	GPUCOL_WINDOW_EXTREME,		/* min, max: the row whose value is first in an order */
	GPUCOL_WINDOW_ALL,			/* bool_and, every */
	GPUCOL_WINDOW_ANY,			/* bool_or */
	GPUCOL_WINDOW_FED			/* any other, by PostgreSQL's own transition function */
} GpucolWindowKind;

/*
 * What a window function is to GpucolWindow; NONE with *why set where it is
 * PostgreSQL's.
 */
extern GpucolWindowKind gpucol_window_kind(const WindowFunc *func, const char **why);

/* Is the result a numeric that is formed when its row is delivered? */
static inline bool
gpucol_window_is_formed(GpucolWindowKind kind)
{
	return kind >= GPUCOL_WINDOW_SUM_NUMERIC && kind <= GPUCOL_WINDOW_VAR_NUMERIC;
}

/* Is a function a variance of a sample, and is the root of one taken? */
extern void gpucol_window_variance(Oid function, bool *sample, bool *root);

/* Has a FED one an inverse transition function, for frames that leave rows behind? */
extern bool gpucol_window_has_inverse(const WindowFunc *func);

/* The order in which the result of an EXTREME is first. */
extern Oid	gpucol_window_extreme_order(const WindowFunc *func);

/* The order of a comparison of a row's number or rank with a bound that it may not pass. */
typedef struct GpucolWindowLimit
{
	const WindowFunc *func;
	Expr	   *bound;			/* int2, int4 or int8 */
	bool		strict;			/* less than the bound */
} GpucolWindowLimit;

/* Is a condition on rows such a comparison?  Its function may be any. */
extern bool gpucol_window_bound(Expr *condition, GpucolWindowLimit *limit);

/*
 * Does a function need, of its partition, only the rows before its row and those that
 * are its peers?
 */
extern bool gpucol_window_looks_back(const WindowFunc *func, int frame_options);

/* custom_private of GpucolWindow */
typedef enum GpucolWindowPrivate
{
	GPUCOL_WINDOW_PRIVATE_CLAUSES,	/* List, each as below */
	GPUCOL_WINDOW_PRIVATE_FUNCTIONS,	/* IntList: the clause of each function */
	GPUCOL_WINDOW_PRIVATE_COLUMNS,	/* Integer: columns of the child */
	GPUCOL_WINDOW_PRIVATE_LAST,		/* Integer: the clause in whose order rows come */
	GPUCOL_WINDOW_PRIVATE_LIMIT,	/* IntList: function by whose bound few rows of each
									 * partition matter, is the bound itself too much?; or NIL */
	GPUCOL_WINDOW_PRIVATE_ORDERED,	/* Integer: is the order of partitions that of their keys? */
	GPUCOL_WINDOW_PRIVATE_NODES,	/* List of WindowFunc */
	GPUCOL_WINDOW_PRIVATE_COUNT
} GpucolWindowPrivate;

/* a clause there */
typedef enum GpucolWindowClause
{
	GPUCOL_WINDOW_CLAUSE_COLUMNS,	/* IntList: columns of the child to partition by, then
									 * those to order by */
	GPUCOL_WINDOW_CLAUSE_OPERATORS,	/* OidList: their orders */
	GPUCOL_WINDOW_CLAUSE_COLLATIONS,	/* OidList */
	GPUCOL_WINDOW_CLAUSE_NULLS_FIRST,	/* IntList: bool */
	GPUCOL_WINDOW_CLAUSE_OPTIONS,	/* IntList: columns to partition by, frame options, and of a
									 * range: ascending, NULLs first */
	GPUCOL_WINDOW_CLAUSE_RANGE,	/* OidList: in_range functions of start and end, collation */
	GPUCOL_WINDOW_CLAUSE_COUNT
} GpucolWindowClause;

extern const CustomScanMethods gpucol_window_methods;

#endif							/* GPUCOL_PLAN_WINDOW_H */
