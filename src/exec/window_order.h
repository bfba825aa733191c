/*-------------------------------------------------------------------------
 *
 * window_order.h
 *	  Rows sorted by the codes of several columns, and where partitions and peers begin.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_ORDER_H
#define GPUCOL_EXEC_WINDOW_ORDER_H

#include "postgres.h"

#include "base/radix.h"
#include "exec/window_codes.h"

/* A column to sort by. */
typedef struct GpucolWindowKey
{
	int			input;
	Oid			sortop;
	Oid			collation;
	bool		nulls_first;
	bool		unordered;		/* rows of equal values are to be together, in any order of values */
	const GpucolWindowCodes *codes;
	int			word;			/* where its lowest bit lies among the packed keys */
	int			shift;
} GpucolWindowKey;

typedef struct GpucolWindowOrder
{
	int			nkeys;
	GpucolWindowKey *keys;
	int			nwords;
	uint64	  **words;			/* packed keys, by row */
	GpucolRadixItem *items;		/* sorted; the first word as their key */
} GpucolWindowOrder;

/* What begins at a row. */
#define GPUCOL_WINDOW_PARTITION	1
#define GPUCOL_WINDOW_PEERS		2

/* Sort all rows; keys have their codes.  False where memory does not suffice. */
extern bool gpucol_window_order_sort(GpucolWindowRows *rows, GpucolWindowOrder *order);

/* Does a list of keys begin with another? */
extern bool gpucol_window_keys_begin(const GpucolWindowKey *keys, int nkeys,
									 const GpucolWindowKey *others, int nothers);

/*
 * What begins where, by place in the order: partitions have the first `npartition` of the
 * first `nkeys` keys in common, peers all of these.
 */
extern void gpucol_window_order_mark(const GpucolWindowRows *rows, const GpucolWindowOrder *order,
									 int npartition, int nkeys, uint8 *begins);

extern void gpucol_window_order_free(GpucolWindowOrder *order);

#endif							/* GPUCOL_EXEC_WINDOW_ORDER_H */
