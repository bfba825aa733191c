/*-------------------------------------------------------------------------
 *
 * twins.h
 *	  Items of several tables that are the same, found by all threads.
 *
 * The items of a table differ from one another; what is asked is which of them an earlier
 * table has, too.  They are dealt to partitions by hash, so many that the slots of one
 * fit the cache of a processor, and each thread searches whole partitions.  Items stay
 * where they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_TWINS_H
#define GPUCOL_ENGINE_CPU_TWINS_H

#include "engine/cpu/cpu.h"

/* An item of a table. */
typedef struct GpucolCpuItem
{
	int			table;
	uint64_t	number;
} GpucolCpuItem;

typedef struct GpucolCpuTwins
{
	GpucolRun  *run;
	int			ntables;
	const uint64_t *nitems;		/* by table; fewer than UINT32_MAX of all */
	void	   *of;				/* what the functions get */

	/* the hash of an item; false if there is none of this number */
	bool		(*hash) (void *of, GpucolCpuItem item, uint64_t *hash);
	void		(*fetch) (void *of, GpucolCpuItem item);
	bool		(*same) (void *of, GpucolCpuItem a, GpucolCpuItem b);

	/*
	 * an item, and its twin in the first table that has one, or (table -1) none.  Those of a
	 * twin come one after another, in the order of their tables.
	 */
	GpucolStatus (*found) (void *of, GpucolCpuItem item, GpucolCpuItem twin);
} GpucolCpuTwins;

/* Tables' items that share a partition are told to `found` by one thread. */
extern GpucolStatus gpucol_cpu_twins_find(const GpucolCpuTwins *twins);

#endif							/* GPUCOL_ENGINE_CPU_TWINS_H */
