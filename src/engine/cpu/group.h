/*-------------------------------------------------------------------------
 *
 * group.h
 *	  Tables of the CPU engine's aggregation: groups and sets of distinct values.  Each table
 *	  belongs to one thread at a time.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_GROUP_H
#define GPUCOL_ENGINE_CPU_GROUP_H

#include "engine/cpu/strings.h"

#define GPUCOL_CPU_CACHED_SLOTS 4096	/* tables up to this are in the processor's cache */
#define GPUCOL_CPU_DEALT_GROUPS 4096	/* so many groups keep all threads busy with their sets */
#define GPUCOL_CPU_LINE_WORDS	8		/* of a line of it */

/* Rows of a vector whose strings are not empty, and how many of those that count are. */
typedef struct GpucolCpuFull
{
	uint32_t	n;
	uint32_t	nempty;
	uint64_t	empty;			/* number of the string of no bytes, if any are */
	uint16_t	rows[GPUCOL_VECTOR_VALUES + 1];
} GpucolCpuFull;

/* Set of (group, value) pairs. */
typedef struct GpucolCpuSet
{
	uint64_t	n;
	uint64_t	nslots;
	uint64_t   *slots;			/* pairs: group + 1, value; the first n of a list */

	/* numbers of strings in the only group: a bit each */
	uint64_t   *bits;
	uint64_t	nbits;			/* a multiple of 64 */

	/* other values in the only group: slots, of which 0 is free */
	uint64_t   *values;
	uint64_t	nvalues;		/* slots: a power of two, or 0 */
	bool		has_zero;
} GpucolCpuSet;

/* A row that the main thread is to look at: code, or place in the window or batch. */
typedef struct GpucolCpuCandidate
{
	uint32_t	group;
	uint32_t	value;
} GpucolCpuCandidate;

/* What one MIN_S or MAX_S has in hand, see engine/cpu/extreme.c. */
typedef struct GpucolCpuExtreme
{
	uint32_t   *touched;		/* groups with a score in this segment */
	uint32_t	ntouched;
	uint32_t	touched_room;
	uint32_t	ncandidates;
	uint32_t	candidates_room;
	GpucolCpuCandidate *candidates;
} GpucolCpuExtreme;

/* Pairs of (group, code) of the current segment that a set has: a bit each. */
typedef struct GpucolCpuSeen
{
	uint64_t	serial;			/* segment */
	uint64_t   *bits;
	uint32_t	ncodes;			/* bits a group, a multiple of 64 */
	uint32_t	ngroups;		/* with bits */
} GpucolCpuSeen;

/* Values of a key that a segment can have: n places, of which 0 is that of NULL. */
typedef struct GpucolCpuNearKey
{
	int64_t		first;			/* the value of place 1 */
	uint64_t	n;
} GpucolCpuNearKey;

#define GPUCOL_CPU_NEAR_KEYS	8

/* Groups by the places of their keys' values, see engine/cpu/group_near.c. */
typedef struct GpucolCpuNear
{
	uint64_t	serial;			/* segment */
	bool		off;			/* not in this one */
	bool		valid;			/* groups are those of these keys: */
	GpucolCpuNearKey keys[GPUCOL_CPU_NEAR_KEYS];
	uint32_t   *groups;			/* + 1; 0: unknown */
	uint32_t   *places;			/* of a vector's rows, */
	bool		placed;			/* for which groups are wanted */
	uint32_t	tried;			/* vectors of the segment, */
	uint32_t	missed;			/* and those with unknown groups */
} GpucolCpuNear;

/*
 * Groups, numbered from 0.  A key is run->agg.key_words words: the null bits, then
 * one word a key (two for D): S as string number, F as bit pattern with one
 * NaN, where -0 and 0 are equal and the first seen stays.
 */
struct GpucolCpuGroups
{
	GpucolRun  *run;
	uint32_t	n;
	uint32_t	capacity;
	uint64_t   *keys;			/* run->agg.group_words each: key, states */
	uint64_t   *states;			/* those of group 0 */
	GpucolHashTable table;		/* their numbers */
	uint32_t	nhashed;		/* groups that are in the table; later ones were appended */

	/* a single integer key */
	uint32_t	top;			/* group + 1 of the greatest that is not NULL */
	uint32_t	rising;			/* groups from the first on whose keys ascend */
	uint32_t	sorted;			/* of these, those that are searched for, and not in the table */
	uint32_t	searches;		/* so far */

	/* the last look-up by hash: places of rows whose key is not that of the row before; and the end */
	uint32_t	nruns;			/* 0: unknown */
	uint16_t	runs[GPUCOL_VECTOR_VALUES + 1];

	/* one key: groups + 1 of the values from direct_base on, and of NULL */
	uint32_t   *direct;
	int64_t		direct_base;
	uint32_t	direct_null;
	uint32_t	direct_size;
	uint32_t	ndirect;		/* keys that are strings: groups that are there */
	bool		by_hash;		/* numbers are not looked up so */
	uint32_t	wide;			/* vectors whose numbers could not be */

	GpucolCpuNear near;			/* several keys */

	char	   *chunk;			/* memory of strings: each chunk starts with a link */
	size_t		chunk_used;
	size_t		chunk_size;
	GpucolCpuSet *sets;
	bool		lists;			/* pairs of sets are listed, without a look whether they are there */
	GpucolCpuSeen *seen;		/* by set */
	GpucolCpuExtreme *extremes;

	/* slots of engine/cpu/dense.c */
	uint64_t   *channels;
	uint32_t   *slot_groups;	/* group + 1 of each slot, 0 unknown */
	uint64_t	slot_rows;		/* rows since the last flush */
	uint64_t	only_layout;	/* the layout that every group comes from, or 0 */
	uint64_t	layout;			/* run->agg.dense_layout of slot_groups, 0: there are none */
	uint64_t	meaning;		/* run->agg.dense_meaning of channels */
};

extern GpucolCpuGroups *gpucol_cpu_group_create(GpucolRun *run);
extern void gpucol_cpu_group_destroy(GpucolCpuGroups *groups);

/* Make a table empty, but for channels that are not flushed. */
extern void gpucol_cpu_group_clear(GpucolCpuGroups *groups);

/* Have an empty table list the pairs of its sets, or tell them apart. */
extern void gpucol_cpu_group_set_lists(GpucolCpuGroups *groups, bool lists);

/* Bytes of a table: groups, what finds them, strings and sets. */
extern uint64_t gpucol_cpu_group_bytes(const GpucolCpuGroups *groups);

/* Groups of a table, and pairs of its sets where there are groups enough to deal. */
static inline uint64_t
gpucol_cpu_group_items(const GpucolCpuGroups *groups)
{
	uint64_t	n = groups->n;

	for (int s = 0; s < groups->run->agg.ndistinct && groups->n >= GPUCOL_CPU_DEALT_GROUPS; s++)
		n += groups->sets[s].n;
	return n;
}

/* Has the worker's table so many that it is to be drained (agg_drain.c)? */
static inline bool
gpucol_cpu_agg_is_full(const GpucolCpuWorker *worker)
{
	const GpucolCpuAggregation *agg = &worker->run->agg;

	return agg->room > 0 && gpucol_cpu_group_items(agg->parts[worker->index]) >= agg->room;
}

/* Make room in a table for n items. */
extern GpucolStatus gpucol_cpu_group_grow(GpucolRun *run, GpucolHashTable *table, uint64_t n);

/* A float key's bit pattern with -0 as 0, for hashing. */
GPUCOL_CPU_INLINE uint64_t
gpucol_cpu_group_float_word(uint64_t bits)
{
	return bits << 1 == 0 ? 0 : bits;
}

/* The hash of a key. */
extern uint64_t gpucol_cpu_group_hash(const GpucolRun *run, const uint64_t *key);

/* Are two keys the same? */
extern bool gpucol_cpu_group_same(const GpucolRun *run, const uint64_t *a, const uint64_t *b);

/*
 * Find the groups of the worker's rows, of several keys, by the places of their values: into
 * worker->ids.  False where some are not known so; then note them once they are looked up.
 */
extern bool gpucol_cpu_group_near(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const GpucolCpuVector *vector);
extern void gpucol_cpu_group_note_near(const GpucolCpuWorker *worker, GpucolCpuGroups *groups);

/*
 * Find or add the groups of n rows, whose key word k of row j is
 * keys[k * stride + j].  hashes is scratch for n.  ids receives the numbers.
 */
extern GpucolStatus gpucol_cpu_group_lookup(GpucolCpuGroups *groups,
											const uint64_t *keys, size_t stride,
											uint32_t n, uint64_t *hashes,
											uint32_t *ids);

/*
 * Add the groups of n rows, known to be distinct and new, or to be merged in the end.  They
 * are entered in the hash table only when a lookup needs it.
 */
extern GpucolStatus gpucol_cpu_group_append(GpucolCpuGroups *groups,
											const uint64_t *keys, size_t stride,
											uint32_t n, uint32_t *ids);

/* Add the groups of n of the rows, known to be distinct and new; of a single key they ascend. */
extern GpucolStatus gpucol_cpu_group_append_rows(GpucolCpuGroups *groups, const uint64_t *keys, size_t stride,
												 const uint16_t *rows, uint32_t n);

/* Memory that the groups own for as long as they are there; NULL beyond the limit. */
extern char *gpucol_cpu_group_space(GpucolCpuGroups *groups, size_t size);

/*
 * Numbers of the byte strings of n rows, at most 1,024; rows with a byte in `skip` (NULL = none)
 * get 0.  hashes is scratch for n.  *full lists the other rows of strings that have bytes.
 */
extern GpucolStatus gpucol_cpu_group_strings(GpucolRun *run, const GpucolBytes *values,
											 const uint8_t *skip, uint32_t n,
											 uint64_t *hashes, uint64_t *numbers, GpucolCpuFull *full);

/*
 * Bits of the pairs (group, code) of the current segment for a set, or NULL beyond
 * the limit of memory.
 */
extern GpucolCpuSeen *gpucol_cpu_group_seen(GpucolCpuGroups *groups, uint32_t set,
											const GpucolCpuColumn *column);

/*
 * Add n pairs of group and value, at most 1,024, to a set; those that are new are counted in word
 * `offset` of the group's state.
 */
extern GpucolStatus gpucol_cpu_group_add_pairs(GpucolCpuGroups *groups, uint32_t set, const uint32_t *ids,
											   const uint64_t *values, uint32_t n, uint32_t offset);

/* Add n values, at most 1,024, to the set of the only group; *added is how many were new. */
extern GpucolStatus gpucol_cpu_group_add_values(GpucolCpuGroups *groups, GpucolCpuSet *set,
												const uint64_t *values, uint32_t n, uint32_t *added);

/* Of the only group's sets of values in all tables: how many different ones are there? */
extern void gpucol_cpu_group_count_values(GpucolRun *run, uint32_t set, uint64_t *total);

/* The same for the number of a string in the only group: such a set has no other pairs. */
extern GpucolStatus gpucol_cpu_group_add_number(GpucolCpuGroups *groups, GpucolCpuSet *set,
												uint64_t number, bool *added);

#endif							/* GPUCOL_ENGINE_CPU_GROUP_H */
