/*-------------------------------------------------------------------------
 *
 * set.h
 *	  The hash set of a relation: shared by recursion/cpu/relation.c, which adds
 *	  rows one after another, and recursion/cpu/buffers.c, where threads do.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_SET_H
#define GPUCOL_RECURSION_CPU_SET_H

#include "recursion/cpu/engine.h"

/* Numbers beyond are those of candidates in buffers. */
#define GPUCOL_REC_MAX_ROWS	UINT64_C(0xff000000)

/* Hash tables of this many slots have a region for each partition. */
#define GPUCOL_REC_REGIONS_FROM	65536
#define GPUCOL_REC_PARTITIONS	64
#define GPUCOL_REC_PARTITION_SHIFT	58
#define GPUCOL_REC_PARTITION(hash)	((hash) >> GPUCOL_REC_PARTITION_SHIFT)
#define GPUCOL_REC_WITHOUT_PARTITION(hash)	((hash) & ((UINT64_C(1) << GPUCOL_REC_PARTITION_SHIFT) - 1))

/* A pair of ids as an entry; 0 is none. */
static inline uint64_t
gpucol_rec_set_pair(uint32_t a, uint32_t b)
{
	return ((uint64_t) a << 32 | b) + 1;
}

/* Hash of a row of a table some of whose columns have equal values of several forms. */
extern uint64_t gpucol_rec_set_hash_forms(const GpucolRecTable *table, const uint32_t *tuple);

/* Are two rows of such a table equal? */
extern bool gpucol_rec_set_same_forms(const GpucolRecTable *table, const uint32_t *a, const uint32_t *b);

/* Hash of a row without its merge column. */
static inline uint64_t
gpucol_rec_set_hash(const GpucolRecTable *table, const uint32_t *tuple)
{
	uint64_t	h = 0;
	int			c;

	if (table->forms != 0)
		return gpucol_rec_set_hash_forms(table, tuple);
	for (c = 0; c < table->arity; c++)
		if (table->decl->merge == GPUCOL_REC_MERGE_NONE ||
			c != table->decl->merge_column)
			h = gpucol_rec_mix(h) + tuple[c];
	return gpucol_rec_mix(h);
}

/* Do two rows agree on all columns but the merge column? */
static inline bool
gpucol_rec_set_same(const GpucolRecTable *table, const uint32_t *a, const uint32_t *b)
{
	int			c;

	if (table->forms != 0)
		return gpucol_rec_set_same_forms(table, a, b);
	for (c = 0; c < table->arity; c++)
		if (a[c] != b[c] &&
			(table->decl->merge == GPUCOL_REC_MERGE_NONE ||
			 c != table->decl->merge_column))
			return false;
	return true;
}

/* Regions of at most so many slots are entered by the upper half of a hash alone, which a slot has. */
#define GPUCOL_REC_TAGGED_REGION	(UINT64_C(1) << 26)

/*
 * Where the probing for a hash starts.  A large table has a region of slots for
 * each partition of the hashes, which threads can fill side by side.  In one of twice
 * as many slots what followed one another does so still, in two places: a table
 * grows without a look at its rows, and from one end to the other.
 */
static inline uint64_t
gpucol_rec_set_home(const GpucolRecTable *table, uint64_t hash)
{
	uint64_t	home = (table->region <= GPUCOL_REC_TAGGED_REGION ? hash >> 32 : hash) & (table->region - 1);

	return table->region == table->nslots ? home :
		GPUCOL_REC_PARTITION(hash) * table->region + home;
}

/* Let AT be the first slot, from HOME on within its region, at which STOP holds. */
#define GPUCOL_REC_SET_PROBE(AT, HOME, TABLE, STOP) \
	GPUCOL_PROBE_REGION(AT, HOME, (TABLE)->region, STOP)

/* Do a slot and a hash have the same upper half? */
static inline bool
gpucol_rec_set_tagged(uint64_t slot, uint64_t hash)
{
	return (slot ^ hash) >> 32 == 0;
}

/* Let a slot name another row. */
static inline void
gpucol_rec_set_point(uint64_t *slot, uint32_t row_number)
{
	*slot = (*slot & ~UINT64_C(0xffffffff)) | row_number;
}

/* Do both tables have a region for each partition? */
static inline bool
gpucol_rec_set_regions(const GpucolRecTable *table)
{
	return table->old_region < table->nold;
}

/* Make room for n more rows in the array of tuples. */
extern GpucolStatus gpucol_rec_set_reserve_rows(GpucolRecRun *run, GpucolRecTable *table,
												uint64_t n);

/*
 * Make room in the hash table for n more entries.  If it must grow, the old slots stay in
 * table->old until gpucol_rec_set_move has emptied them and gpucol_rec_set_close frees them.
 */
extern GpucolStatus gpucol_rec_set_open(GpucolRecRun *run, GpucolRecTable *table,
										uint64_t n);

/* Move old slots [from, to); false if a cancel came, which only `polls` looks for. */
extern bool gpucol_rec_set_move(const GpucolRecRun *run, GpucolRecTable *table,
								uint64_t from, uint64_t to, bool polls);
extern void gpucol_rec_set_close(GpucolRecRun *run, GpucolRecTable *table);

/*
 * A row with the key of an existing one: keep the better value.  A row of this
 * round is overwritten; true if an older one is to be superseded by a new row.
 */
extern bool gpucol_rec_set_merge(const GpucolRecRun *run, const GpucolRecTable *table,
								 uint32_t *old, bool is_old, const uint32_t *tuple);

/*
 * A row was met again.  Where its values have another form now, which of the two rows came first is told only
 * if an earlier round had one of them; `number` is that of the one that is there.
 */
extern void gpucol_rec_set_meet(const GpucolRecTable *table, const uint32_t *old, uint32_t number,
								const uint32_t *tuple);

#endif							/* GPUCOL_RECURSION_CPU_SET_H */
