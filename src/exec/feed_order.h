/*-------------------------------------------------------------------------
 *
 * feed_order.h
 *	  Rows of aggregates, sorted by group and by the aggregate's own order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_ORDER_H
#define GPUCOL_EXEC_FEED_ORDER_H

#include "postgres.h"

#include "service/memory.h"

/* A column that rows are sorted by. */
typedef struct GpucolFeedColumn
{
	Oid			type;
	int16		typlen;
	bool		typbyval;
	Oid			sortop;
	Oid			collation;
	bool		nulls_first;
	Datum	   *values;
	bool	   *isnull;
} GpucolFeedColumn;

/* The rows to be sorted. */
typedef struct GpucolFeedSort
{
	uint32		n;
	const uint32 *groups;		/* by row */
	uint32		ngroups;
	int			ncolumns;
	GpucolFeedColumn *columns;
} GpucolFeedSort;

/*
 * Put the numbers of the rows in their order, by group, then by columns, then as they came; and
 * for each place whether its row differs in group or columns from the one before.  False where
 * memory, which `meter` counts, does not suffice.
 */
extern bool gpucol_feed_order(const GpucolFeedSort *sort, GpucolMeter *meter, uint32 *order,
							  uint8 *differs);

#endif							/* GPUCOL_EXEC_FEED_ORDER_H */
