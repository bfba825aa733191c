/*-------------------------------------------------------------------------
 *
 * shape.h
 *	  What an engine makes of the rows of a SCAN before they leave it: only those
 *	  that can be among the first k, or rankings of their groups.
 *
 * A shape goes with a program to an engine that knows it; the others deliver
 * all rows.  Output numbers are those of the program (its keys[]).
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_SHAPE_H
#define GPUCOL_KERNEL_SHAPE_H

#include <stdint.h>

#define GPUCOL_SHAPE_MAX_RANKINGS 16
#define GPUCOL_SHAPE_MAX_SETS 8
#define GPUCOL_SHAPE_MAX_KEYS 4

/* Rankings of uncertain rows; ranking/semantics/rank.h says what each one means. */
typedef enum GpucolRanking
{
	GPUCOL_RANK_U_TOPK = 1,
	GPUCOL_RANK_U_KRANKS,
	GPUCOL_RANK_PT_K,
	GPUCOL_RANK_GLOBAL_TOPK,
	GPUCOL_RANK_EXPECTED
} GpucolRanking;

typedef enum GpucolShapeKind
{
	GPUCOL_SHAPE_ROWS = 0,		/* all rows, as they are */

	/*
	 * TOP: rows that can be among the first k by the first of nkeys sort keys, and
	 * perhaps some more: some that come after the k-th, and all that tie with it, or
	 * enough of them.  Further keys make them fewer: an engine may use them.
	 */
	GPUCOL_SHAPE_TOP,

	/*
	 * RANKED: groups by the first nkeys outputs, and for each of them the answers
	 * of the rankings (ranking/semantics/rank.h), each over its rows whose filter is true and
	 * whose score, probability and label are not NULL.
	 */
	GPUCOL_SHAPE_RANKED
} GpucolShapeKind;

/* What is wanted of a ranking: its labels, and the probability of U-Topk's set. */
#define GPUCOL_WANTED_LABELS		1
#define GPUCOL_WANTED_PROBABILITY	2

typedef struct GpucolShapeRanking
{
	uint32_t	ranking;		/* GpucolRanking */
	int32_t		k;				/* where k_key is negative */
	int32_t		k_key;			/* number of the group key that is k, or -1 */
	uint32_t	wanted;			/* GPUCOL_WANTED_xxx */
	uint32_t	set;			/* the rows that it ranks */
	uint32_t	unused;
	double		threshold;		/* PT-k */
} GpucolShapeRanking;

/* A set of rows that are ranked: output numbers, -1 where absent. */
typedef struct GpucolShapeSet
{
	int32_t		filter;
	int32_t		score;
	int32_t		probability;
	int32_t		label;
	int32_t		x;				/* x-tuple: rows of a group with equal values are
								 * alternatives; NULL for none */
	uint32_t	unused;
	double		divisor;		/* of probabilities of class D */
} GpucolShapeSet;

/* A sort key. */
typedef struct GpucolShapeKey
{
	int32_t		output;
	uint32_t	descending;
	uint32_t	nulls_first;
	uint32_t	unused;
} GpucolShapeKey;

typedef struct GpucolRowShape
{
	uint32_t	kind;			/* GpucolShapeKind */
	uint32_t	nkeys;			/* TOP: sort keys; RANKED: group keys */

	/* TOP */
	GpucolShapeKey keys[GPUCOL_SHAPE_MAX_KEYS];
	int64_t		k;
	uint32_t	all_ties;		/* rows that tie with the k-th by all keys all matter */

	/* RANKED */
	uint32_t	nsets;
	uint32_t	nrankings;
	uint32_t	unused;
	GpucolShapeSet sets[GPUCOL_SHAPE_MAX_SETS];
	GpucolShapeRanking rankings[GPUCOL_SHAPE_MAX_RANKINGS];
} GpucolRowShape;

#endif							/* GPUCOL_KERNEL_SHAPE_H */
