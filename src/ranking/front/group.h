/*-------------------------------------------------------------------------
 *
 * group.h
 *	  The uncertain tuples of one group as PostgreSQL hands them over: collected
 *	  row by row, put into ranking order, and turned into the plain arrays that
 *	  rank.h works on.  Serves the aggregates and the window function.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_FRONT_GROUP_H
#define GPUCOL_RANKING_FRONT_GROUP_H

#include "postgres.h"

#include "fmgr.h"

#include "base/budget.h"
#include "ranking/semantics/rank.h"

/* How values of a type are compared: as an int64, or by its own function. */
typedef enum GpucolKeyKind
{
	GPUCOL_KEY_NONE,			/* only by the type's comparison function */
	GPUCOL_KEY_INT2,
	GPUCOL_KEY_INT4,
	GPUCOL_KEY_INT8,
	GPUCOL_KEY_FLOAT4,
	GPUCOL_KEY_FLOAT8
} GpucolKeyKind;

typedef struct GpucolOrderedType
{
	Oid			type;			/* InvalidOid: the column is absent */
	int16		typlen;
	bool		typbyval;
	char		typalign;
	GpucolKeyKind key;
	FmgrInfo	cmp;			/* where key is NONE */
} GpucolOrderedType;

/*
 * Types of the columns, and the layout of a row: 8-byte words, of which word 0
 * is the score's key (0 where it has none) and word 1 the probability.
 */
typedef struct GpucolGroupTypes
{
	GpucolOrderedType label;
	GpucolOrderedType score;
	GpucolOrderedType x;
	int			at_label;		/* word numbers; 0 = absent */
	int			at_score;		/* the datum, where the score has no key */
	int			at_x;			/* the datum; the word behind it is 1 for NULL */
	int			width;			/* words a row */
} GpucolGroupTypes;

/* Which ranking a group may be cut for while it is collected. */
typedef enum GpucolGroupCut
{
	GPUCOL_CUT_NONE,
	GPUCOL_CUT_U_TOPK,
	GPUCOL_CUT_PT_K
} GpucolGroupCut;

typedef struct GpucolGroup
{
	MemoryContext context;		/* of the group and all that it points to */
	const GpucolGroupTypes *types;	/* outlives the group */
	Oid			collation;
	int32		k;
	double		threshold;		/* PT-k; else 0 */
	GpucolGroupCut cut;
	int32		nrows;
	int32		capacity;
	int32		cut_at;			/* rows at which to look for a horizon */
	uint64	   *rows;			/* nrows * types->width words */
	uint64	   *last;			/* row behind which nothing matters, or NULL */
	bool		sorted;			/* rows are in ranking order */
	GpucolBudget *budget;		/* that the group is counted in, until the context goes */
} GpucolGroup;

/* One row's values; x is NULL-able, the others have been checked. */
typedef struct GpucolGroupRow
{
	Datum		label;
	Datum		score;
	double		probability;
	Datum		x;
	bool		x_isnull;
} GpucolGroupRow;

/*
 * Describe the columns; label or x may be InvalidOid.  Raises an error for a
 * type without an order.  Function lookups live in the current context.
 */
extern void gpucol_group_types_init(GpucolGroupTypes *types, Oid label,
									Oid score, Oid x);

/* A new, empty group in `context`. */
extern GpucolGroup *gpucol_group_create(MemoryContext context,
										const GpucolGroupTypes *types,
										Oid collation, int32 k,
										double threshold, GpucolGroupCut cut);

/* Errors for a k, probability or threshold out of range. */
extern void gpucol_group_check_k(int32 k);
extern void gpucol_group_check_probability(double probability);
extern void gpucol_group_check_threshold(double threshold);

/* The error of an x-tuple (as text) whose probabilities exceed 1. */
extern _Noreturn void gpucol_group_report_mass(const char *x_tuple, double mass);

/* Errors if the group has another k or threshold. */
extern void gpucol_group_check_same(const GpucolGroup *group, int32 k,
									double threshold);

/* Add a row (values are copied), unless it provably cannot matter. */
extern void gpucol_group_add(GpucolGroup *group, const GpucolGroupRow *row);

/* Add all rows of another group of the same types. */
extern void gpucol_group_append(GpucolGroup *group, const GpucolGroup *other);

/*
 * Put the rows into ranking order and make the input of rank.h and scratch
 * memory for every ranking, all in the current context.  Raises an error if
 * the probabilities of an x-tuple exceed 1.
 */
extern void gpucol_group_rank(GpucolGroup *group, GpucolRankInput *in,
							  GpucolRankWork *work);

/* Raise the error of a status that a ranking function returned. */
extern void gpucol_group_check_status(GpucolStatus status);

static inline uint64 *
gpucol_group_row(const GpucolGroup *group, int32 i)
{
	return group->rows + (size_t) i * group->types->width;
}

static inline double
gpucol_group_probability(const uint64 *row)
{
	double		p;

	memcpy(&p, &row[1], sizeof(p));
	return p;
}

/* Raw storage for `n` more rows; used when a group is put together at once. */
extern void gpucol_group_reserve(GpucolGroup *group, int64 n);

/* Count so many bytes that the group holds beside; an error beyond the limit. */
extern void gpucol_group_count(GpucolGroup *group, Size bytes);

/* An error where so many bytes that ranking the group takes for a while exceed the limit. */
extern void gpucol_group_check_room(const GpucolGroup *group, Size bytes);

#endif							/* GPUCOL_RANKING_FRONT_GROUP_H */
