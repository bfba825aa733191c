/*-------------------------------------------------------------------------
 *
 * topk_probe.h
 *	  ORDER BY ... LIMIT k: which rows of a scan can be among the first k.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_TOPK_PROBE_H
#define GPUCOL_EXEC_TOPK_PROBE_H

#include "exec/run.h"
#include "kernel/float_order.h"

/* The first sort key and the limit. */
typedef struct GpucolTopkProbe
{
	Expr	   *key;
	int64		k;				/* rows wanted, OFFSET included */
	bool		descending;
	bool		nulls_first;
	bool		all_ties;		/* rows that tie with the k-th all matter */
	Oid			opno;			/* >= for a descending order, <= for an ascending one */

	/* the scan that looks: rows it may leave out, and how the key comes out */
	Expr	   *narrow;			/* condition on the key, or NULL */
	GpucolValue value;

	/* what it found */
	Expr	   *condition;		/* what a row must meet; NULL: any row may matter */
	int64		seen;			/* rows that it looked at */
} GpucolTopkProbe;

/*
 * Find the condition.  `scan` delivers the key as its only output, of rows that
 * meet probe->narrow besides the scan's own conditions, and sets probe->value
 * when it is lowered; it is run once or twice.  `all_rows`: it has no conditions
 * of its own.  Its fallback is no error: then any row may matter.
 */
extern void gpucol_topk_probe_run(GpucolTopkProbe *probe, GpucolExec *scan,
								  bool all_rows);

/*
 * topk_zones.c: a bound that at least k rows of the column reach, in the order
 * of its zone maps; greatest first if descending.  False if there is none.
 */
extern bool gpucol_topk_zone_bound(Relation rel, Snapshot snapshot,
								   AttrNumber attnum, int64 k, bool descending,
								   int64 *bound, GpucolValue *value);

/* The k best of int64 values: a min-heap. */
typedef struct GpucolTopkBest
{
	int64	   *heap;			/* [k] */
	int64		k;
	int64		filled;
	bool		descending;
} GpucolTopkBest;

extern void gpucol_topk_best_init(GpucolTopkBest *best, int64 k, bool descending);
extern void gpucol_topk_best_replace(GpucolTopkBest *best, int64 directed);

/* Values that are greater first in the wanted order, and back. */
static inline int64
gpucol_topk_directed(const GpucolTopkBest *best, int64 v)
{
	return best->descending ? v : ~v;
}

static inline void
gpucol_topk_best_add(GpucolTopkBest *best, int64 v)
{
	v = gpucol_topk_directed(best, v);
	if (best->filled < best->k || v > best->heap[0])
		gpucol_topk_best_replace(best, v);
}

/* The order of value i of a column. */
static inline int64
gpucol_topk_order(const GpucolResultColumn *column, uint32 i)
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

#endif							/* GPUCOL_EXEC_TOPK_PROBE_H */
