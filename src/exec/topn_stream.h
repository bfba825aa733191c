/*-------------------------------------------------------------------------
 *
 * topn_stream.h
 *	  ORDER BY ... LIMIT k over rows that come once: which of a batch can be among the first
 *	  k of all.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPN_STREAM_H
#define GPUCOL_EXEC_TOPN_STREAM_H

#include "exec/topn_orders.h"
#include "exec/topn_probe.h"

/*
 * The first sort keys: as many as sort like int64, or one column of byte strings.  They are
 * columns of a batch behind those that leave the node.
 */
typedef struct GpucolTopnStream
{
	int64		k;				/* rows wanted; 0: those that come first among the ones made of
								 * the same flowing row, which the engine knows alone */
	int			nkeys;
	GpucolTopnKey keys[GPUCOL_SHAPE_MAX_KEYS];

	/* how the engine delivers them, set when they are lowered */
	int			nused;			/* 0: any row may matter */
	bool		clamped;		/* the last is a mantissa that may exceed int64 */

	/* what has been seen */
	bool		open;
	bool		too_much;		/* the best values take too much memory */
	GpucolTopBound bound;		/* for the engine: of the first key, unless it is of byte strings */
	GpucolTopnOrders orders;
	GpucolTopnBest best;		/* of byte strings */
	int64		nulls;			/* beside them */
	Size		reserved;
	GpucolBudget *budget;
	MemoryContext context;

	/* the rows that are picked of a batch */
	MemoryContext batch;
	GpucolResultColumn *columns;
	GpucolResultColumn key_columns[GPUCOL_SHAPE_MAX_KEYS];
} GpucolTopnStream;

/* Read the keys (of Expr) and a plan's GpucolTopnPrivate, from GPUCOL_TOPN_PRIVATE_LIMIT on; NIL: none. */
extern void gpucol_topn_stream_init(GpucolTopnStream *stream, List *keys, List *limit);

/* A key has been lowered, the n-th, as a batch's output number `output`.  False: no more are looked at. */
extern bool gpucol_topn_stream_key(GpucolTopnStream *stream, int n, int output, const GpucolValue *value);

/* Which rows the engine may leave out, NULL if it cannot know: for a run. */
extern GpucolTopBound *gpucol_topn_stream_bound(GpucolTopnStream *stream);

/*
 * Leave in a batch, of whose columns the first n leave the node, only rows that can be
 * among the first k; until the next call.
 */
extern void gpucol_topn_stream_pick(GpucolTopnStream *stream, GpucolBudget *budget, int n,
									GpucolResult *result);

/* Forget the rows seen. */
extern void gpucol_topn_stream_reset(GpucolTopnStream *stream);

#endif							/* GPUCOL_EXEC_TOPN_STREAM_H */
