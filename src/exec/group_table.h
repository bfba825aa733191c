/*-------------------------------------------------------------------------
 *
 * group_table.h
 *	  The groups of a query's keys that the executor makes, found by the values of these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_GROUP_TABLE_H
#define GPUCOL_EXEC_GROUP_TABLE_H

#include "postgres.h"

#include "common/hashfn.h"

#include "exec/domain.h"
#include "exec/item_table.h"
#include "kernel/program.h"

/* No number of a group. */
#define GPUCOL_NO_GROUP	UINT32_MAX

/* Groups that are looked for at a time. */
#define GPUCOL_GROUPS_AHEAD	64

/* The values of a key, each once. */
typedef struct GpucolKeptValues
{
	GpucolItemTable items;
	Datum	   *values;			/* by item */
	uint64		asked;			/* values that were looked for */
	bool		given_up;		/* nearly all differ: groups have copies of their own */
} GpucolKeptValues;

/* Keys that were looked for lately, as words, and their groups: each where its hash says. */
typedef struct GpucolRecentGroups
{
	int			nwords;			/* of a row's keys */
	uint64	   *words;
	uint32	   *groups;			/* GPUCOL_NO_GROUP: there is none */
	uint32		asked;			/* rows since it was last looked whether it is worth it, */
	uint32		found;			/* and those that were found */
	bool		given_up;
} GpucolRecentGroups;

/* All zero but for nkeys, nstates, wanted and domains is an empty table. */
typedef struct GpucolGroupTable
{
	int			nkeys;
	int			nstates;
	uint32		wanted;			/* groups to be made at most; 0: all */
	GpucolDomain *domains;		/* by key */
	GpucolItemTable items;
	uint32	   *sets;			/* grouping sets that they are of */
	Datum	   *keys;			/* nkeys each, copies, */
	GpucolKeptValues *kept;		/* by key: those that groups share */
	bool	   *isnull;
	GpucolAggState *states;		/* nstates each, zero at first */
	GpucolRecentGroups recent;
} GpucolGroupTable;

/* The hash of keys in a set, by the hashes of those that are not NULL. */
static inline uint64
gpucol_group_table_hash(const GpucolGroupTable *t, uint32 set, const uint32 *hashes, const bool *isnull)
{
	uint32		combined = set;

	for (int i = 0; i < t->nkeys; i++)
		combined = hash_combine(combined, isnull[i] ? 0 : hashes[i]);
	return (uint64) combined << 32;
}

/*
 * The group of a set with these keys, of this hash, added in the current context if there is none;
 * GPUCOL_NO_GROUP where that is not wanted.
 */
extern uint32 gpucol_group_table_find(GpucolGroupTable *t, uint32 set, uint64 hash, const Datum *values,
									  const bool *isnull);

/* A column of keys by row. */
typedef struct GpucolKeyColumn
{
	Datum	   *values;
	bool	   *isnull;
} GpucolKeyColumn;

/*
 * The groups of n rows, up to GPUCOL_GROUPS_AHEAD, from `first` on in each of nsets sets, of whose keys
 * (at most INDEX_MAX_KEYS) left_out says, by set and key, which are none: groups[set * n + row].
 */
extern void gpucol_group_table_find_rows(GpucolGroupTable *t, const GpucolKeyColumn *keys, const bool *left_out,
										 uint32 nsets, uint32 first, uint32 n, uint32 *groups);

/* Bytes that the table grows by before it holds n groups more, `beside` for each kept elsewhere. */
extern Size gpucol_group_table_growth(const GpucolGroupTable *t, uint64 n, Size beside);

#endif							/* GPUCOL_EXEC_GROUP_TABLE_H */
