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
	int64		k;				/* rows wanted; 0: all */
	int			nkeys;
	GpucolTopnKey keys[GPUCOL_SHAPE_MAX_KEYS];

	/* how the engine delivers them, set when they are lowered */
	int			nused;			/* 0: any row may matter */

	/* what has been seen */
	bool		open;
	bool		too_much;		/* the best values take too much memory */
	GpucolTopnOrders orders;
	GpucolTopnBest best;		/* of byte strings */
	int64		nulls;			/* beside them */
	Size		reserved;
	GpucolBudget *budget;
	MemoryContext context;

	/* the rows that are picked of a batch */
	MemoryContext batch;
	GpucolResultColumn *columns;
} GpucolTopnStream;

/* Read the keys (of Expr) and a plan's GpucolTopnPrivate, from GPUCOL_TOPN_PRIVATE_LIMIT on; NIL: none. */
extern void gpucol_topn_stream_init(GpucolTopnStream *stream, List *keys, List *limit);

/*
 * A key has been lowered, the n-th.  False if rows cannot be compared by it: it and those after
 * it are not looked at.
 */
extern bool gpucol_topn_stream_key(GpucolTopnStream *stream, int n, const GpucolValue *value);

/*
 * Leave in a batch, of whose columns the first n leave the node, only rows that can be
 * among the first k; until the next call.
 */
extern void gpucol_topn_stream_pick(GpucolTopnStream *stream, GpucolBudget *budget, int n,
									GpucolResult *result);

/* Forget the rows seen. */
extern void gpucol_topn_stream_reset(GpucolTopnStream *stream);

#endif							/* GPUCOL_EXEC_TOPN_STREAM_H */
