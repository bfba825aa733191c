/*-------------------------------------------------------------------------
 *
 * topn_probe.h
 *	  ORDER BY ... LIMIT k: which rows of a scan can be among the first k.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPN_PROBE_H
#define GPUCOL_EXEC_TOPN_PROBE_H

#include "exec/run.h"
#include "exec/topn_best.h"
#include "kernel/float_order.h"
#include "lower/order.h"
#include "plan/plan.h"

/* A sort key, and how the probe finds it in a batch. */
typedef struct GpucolTopnKey
{
	GpucolSortKey sort;

	/* set by gpucol_topn_probe_init */
	AttrNumber	attnum;			/* the column that it is, or 0 */
	GpucolOrder *order;			/* of a BYTES column or a made text; NULL: the key sorts like int64 */
	bool		alone;			/* no engine compares its values: no conditions, but the rows themselves */
} GpucolTopnKey;

/* The first sort keys and the limit. */
typedef struct GpucolTopnProbe
{
	int			nkeys;
	GpucolTopnKey *keys;
	int64		k;				/* rows wanted, OFFSET included */
	bool		all_ties;		/* rows that tie with the k-th all matter */

	/* the scan that looks: rows it may leave out, and how the key comes out */
	int			at;				/* the key that it delivers */
	List	   *narrow;			/* conditions, the n-th on the n-th key, or NIL */
	GpucolValue value;

	/* what it found */
	List	   *condition;		/* what a row must meet, the n-th about the first n
								 * keys; NIL: any row may matter */
	int64		ties;			/* if not 0: rows that are wanted of those that meet */
	List	   *at_place;		/* these, the n-th on the n-th key, */
	List	   *before;			/* and all that meet these instead; NIL: none do */
	uint64	   *rows;			/* TIDs of the first k rows; NULL: not known, or too many */
	int64		nrows;
	int64		seen;			/* rows that it looked at */
	bool		too_much;		/* it gave up: the best values took too much memory */
	MemoryContext context;		/* of these expressions */
} GpucolTopnProbe;

/*
 * Prepare: k, all_ties and keys over columns of `desc` are set; in the current memory
 * context.
 */
extern void gpucol_topn_probe_init(GpucolTopnProbe *probe, TupleDesc desc);

/* Forget what it found. */
extern void gpucol_topn_probe_reset(GpucolTopnProbe *probe);

/*
 * Find the condition.  `scan` delivers key number probe->at as its only output, of
 * rows that meet probe->narrow besides the scan's own conditions, and sets
 * probe->value when it is lowered; it is run several times.  `all_rows`: it has no
 * conditions of its own.  Its fallback is no error: then any row may matter.
 */
extern void gpucol_topn_probe_run(GpucolTopnProbe *probe, GpucolExec *scan,
								  bool all_rows);

/* Are the conditions on the first n keys conditions on columns alone? */
extern bool gpucol_topn_keys_are_columns(const GpucolTopnProbe *probe, int n);

/*
 * exec/topn_zones.c: a bound that at least k rows of the column reach, in the order
 * of its zone maps; greatest first if descending.  False if there is none.
 */
extern bool gpucol_topn_zone_bound(Relation rel, Snapshot snapshot,
								   AttrNumber attnum, int64 k, bool descending,
								   GpucolBudget *budget, int64 *bound, GpucolValue *value);

/* The order of value i of a column, not of class S. */
static inline int64
gpucol_topn_order(const GpucolResultColumn *column, uint32 i)
{
	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			return (int64) column->d[i];
		case GPUCOL_CLASS_F:
			return gpucol_float_order(column->f[i]);
		default:
			return column->i[i];
	}
}

#endif							/* GPUCOL_EXEC_TOPN_PROBE_H */
