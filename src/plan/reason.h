/*-------------------------------------------------------------------------
 *
 * reason.h
 *	  Why something was not pushed down: collected while one statement is
 *	  planned, shown by EXPLAIN (VERBOSE) and by gpucol.pushdown = require.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLAN_REASON_H
#define GPUCOL_PLAN_REASON_H

#include "postgres.h"

#include "nodes/pg_list.h"

typedef struct GpucolReason
{
	Oid			relid;			/* table it is about; InvalidOid = none */
	const char *what;			/* "scan", "aggregation": a static string */
	char	   *text;
} GpucolReason;

/*
 * Planner runs nest (a function evaluated while another query is planned):
 * begin returns the outer run's list, which end takes back.
 */
extern List *gpucol_reason_begin(void);
extern void gpucol_reason_end(List *outer);

/* Put another list (of GpucolReason) in the place of the current one, which is returned. */
extern List *gpucol_reason_swap(List *other);

/* Does anyone ask for reasons?  If not, none are noted. */
extern bool gpucol_reason_is_wanted(void);

/* Note a reason in the current planner run; repeated ones are kept once. */
extern void gpucol_reason_add(Oid relid, const char *what,
							  const char *fmt,...) pg_attribute_printf(3, 4);

/* The reason noted for a table, scans first, or NULL. */
extern const char *gpucol_reason_find(Oid relid);

/*
 * Have the next outermost planner run leave its reasons, as lines for the user
 * (List of char *) in the memory context that it is called in.
 */
extern void gpucol_reason_collect(bool on);
extern List *gpucol_reason_collected(void);

#endif							/* GPUCOL_PLAN_REASON_H */
