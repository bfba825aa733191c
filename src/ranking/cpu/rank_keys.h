/*-------------------------------------------------------------------------
 *
 * rank_keys.h
 *	  Group keys and byte strings numbered from 0, for rows that are collected in
 *	  threads: each thread has tables of its own, which are merged at the end.
 *
 * All memory is malloc'ed and counted in a budget: also the maps of merges, until the
 * budget is closed.  Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RANKING_CPU_RANK_KEYS_H
#define GPUCOL_RANKING_CPU_RANK_KEYS_H

#include "base/budget.h"
#include "engine/engine.h"

/* Byte strings, numbered in order of appearance. */
typedef struct GpucolNames GpucolNames;

/* NULL beyond the limit. */
extern GpucolNames *gpucol_names_create(GpucolBudget *memory);
extern void gpucol_names_destroy(GpucolNames *names);

/* Number of a string, which is copied if it is new; false beyond the limit. */
extern bool gpucol_names_number(GpucolNames *names, GpucolBytes bytes,
								uint32_t *number);
extern uint32_t gpucol_names_count(const GpucolNames *names);
extern GpucolBytes gpucol_names_get(const GpucolNames *names, uint32_t number);

/* Numbers in `to` of all strings of `from`, for the caller to free; or NULL. */
extern uint32_t *gpucol_names_merge(GpucolNames *to, const GpucolNames *from);

/* Group keys: values of these classes, NULL equal to NULL, as GROUP BY does. */
typedef struct GpucolKeys GpucolKeys;

/* At most 64 keys.  NULL beyond the limit. */
extern GpucolKeys *gpucol_keys_create(GpucolBudget *memory, int nkeys,
									  const uint8_t *classes);
extern void gpucol_keys_destroy(GpucolKeys *keys);

/*
 * Numbers of the groups of n rows; new keys get the next number.  `first` stands
 * for the place of row 0 in the scan and is greater at every call.
 */
extern bool gpucol_keys_lookup(GpucolKeys *keys, const GpucolResultColumn *columns,
							   uint32_t n, uint64_t first, uint32_t *groups);
extern uint32_t gpucol_keys_count(const GpucolKeys *keys);

/*
 * Merge tables into one that is empty; with many keys by as many threads as there are
 * tables.  maps[t] receives the numbers of the keys of
 * from[t], for the caller to free: they depend on the keys and their first rows only,
 * and on the number of tables.  GPUCOL_OUT_OF_MEMORY, or GPUCOL_CANCELLED if
 * cancelled(arg) says so.
 */
extern GpucolStatus gpucol_keys_merge(GpucolKeys *to, GpucolKeys *const *from, int n,
									  bool (*cancelled) (void *arg), void *arg,
									  uint32_t **maps);

/*
 * Append a single integer key that is not there, and get its number; lookups do not
 * find it.  False beyond the limit.
 */
extern bool gpucol_keys_append(GpucolKeys *keys, int64_t value, uint32_t *group);

/*
 * Key c of groups [from, from + n): nulls[n], and data[n] of 16 bytes each for D
 * and S and of 8 for the others.  Strings are those of the table.
 */
extern void gpucol_keys_column(const GpucolKeys *keys, int c, uint32_t from,
							   uint32_t n, uint8_t *nulls, void *data);

#endif							/* GPUCOL_RANKING_CPU_RANK_KEYS_H */
