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
#include "exec/topk_best.h"
#include "kernel/float_order.h"

/* A sort key. */
typedef struct GpucolTopkKey
{
	Expr	   *expr;
	bool		descending;
	bool		nulls_first;
	Oid			not_after;		/* <= in an ascending order, >= in a descending one */
	Oid			before;			/* < or > */
	Oid			equal;

	/* set by gpucol_topk_probe_init */
	AttrNumber	attnum;			/* the column that it is, or 0 */
	GpucolOrder *order;			/* of a BYTES column; NULL: the key sorts like int64 */
} GpucolTopkKey;

/* The first sort keys and the limit. */
typedef struct GpucolTopkProbe
{
	int			nkeys;
	GpucolTopkKey *keys;
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
	int64		seen;			/* rows that it looked at */
	bool		too_long;		/* it gave up: the best strings took too much memory */
	MemoryContext context;		/* of these expressions */
} GpucolTopkProbe;

/*
 * Prepare: k, all_ties and keys over columns of `desc` are set; in the current memory
 * context.
 */
extern void gpucol_topk_probe_init(GpucolTopkProbe *probe, TupleDesc desc);

/* Forget what it found. */
extern void gpucol_topk_probe_reset(GpucolTopkProbe *probe);

/*
 * Find the condition.  `scan` delivers key number probe->at as its only output, of
 * rows that meet probe->narrow besides the scan's own conditions, and sets
 * probe->value when it is lowered; it is run several times.  `all_rows`: it has no
 * conditions of its own.  Its fallback is no error: then any row may matter.
 */
extern void gpucol_topk_probe_run(GpucolTopkProbe *probe, GpucolExec *scan,
								  bool all_rows);

/* Are the conditions on the first n keys conditions on columns alone? */
extern bool gpucol_topk_keys_are_columns(const GpucolTopkProbe *probe, int n);

/*
 * topk_zones.c: a bound that at least k rows of the column reach, in the order
 * of its zone maps; greatest first if descending.  False if there is none.
 */
extern bool gpucol_topk_zone_bound(Relation rel, Snapshot snapshot,
								   AttrNumber attnum, int64 k, bool descending,
								   int64 *bound, GpucolValue *value);

/* The column of BYTES that a sort key is, perhaps by another name of its type, or NULL. */
extern const Var *gpucol_topk_key_bytes(const Expr *expr, TupleDesc desc);

/* The order of value i of a column, not of class S. */
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
