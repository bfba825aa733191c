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

/* The first sort key and the limit. */
typedef struct GpucolTopkProbe
{
	Expr	   *key;
	int64		k;				/* rows wanted, OFFSET included */
	bool		descending;
	bool		nulls_first;
	Oid			opno;			/* >= for a descending order, <= for an ascending one */

	/* set by gpucol_topk_probe_run */
	bool		done;
	Expr	   *condition;		/* what a row must meet; NULL: any row may matter */
	int64		seen;			/* rows that passed the scan's conditions */
} GpucolTopkProbe;

/*
 * Run a scan that delivers the key as its only output and find the condition.
 * The scan's fallback is no error: then any row may matter.
 */
extern void gpucol_topk_probe_run(GpucolTopkProbe *probe, GpucolExec *scan,
								  const GpucolValue *value);

#endif							/* GPUCOL_EXEC_TOPK_PROBE_H */
