/*-------------------------------------------------------------------------
 *
 * idsets.h
 *	  Many small sets of ids, and lists of ids, that threads fill side by side.
 *
 * Each thread has a pool of its own for the slots of sets and the ids of lists,
 * so that it allocates in large blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_IDSETS_H
#define GPUCOL_RECURSION_CPU_IDSETS_H

#include "recursion/cpu/engine.h"

typedef struct GpucolRecBlock GpucolRecBlock;

/* Slots for the sets of one thread. */
typedef struct GpucolRecPool
{
	GpucolBudget *memory;
	GpucolRecBlock *blocks;
	size_t		held;			/* bytes of blocks */
	char	   *at;				/* what is left of the newest, zeroed */
	char	   *end;
	uint32_t   *free[32];		/* slots given back, by logarithm of their number */
} GpucolRecPool;

/* A hash set of ids below 2^32 - 1: open addressing, at most half full. */
typedef struct GpucolRecIdSet
{
	uint32_t   *slots;			/* id + 1; 0 = free */
	uint32_t	n;
	uint32_t	bits;			/* logarithm of the number of slots; 0 = no slots */
} GpucolRecIdSet;

/* Ids of many lists, one after another. */
typedef struct GpucolRecIds
{
	GpucolRecBlock *used;		/* newest first */
	GpucolRecBlock *spare;
	uint32_t   *at;				/* room of the newest */
	uint32_t   *end;
} GpucolRecIds;

extern void gpucol_rec_pool_init(GpucolRecPool *pool, GpucolBudget *memory);
extern void gpucol_rec_pool_free(GpucolRecPool *pool);

/* Room for n more ids at ids->at; false: out of memory. */
extern bool gpucol_rec_ids_reserve(GpucolRecPool *pool, GpucolRecIds *ids, uint64_t n);

/* Forget the ids, keep the room. */
extern void gpucol_rec_ids_reset(GpucolRecIds *ids);
extern void gpucol_rec_ids_free(GpucolRecPool *pool, GpucolRecIds *ids);

/* Double the slots of a set; false: out of memory. */
extern bool gpucol_rec_idset_grow(GpucolRecPool *pool, GpucolRecIdSet *set);

static inline bool
gpucol_rec_idset_is_full(const GpucolRecIdSet *set)
{
	return set->bits == 0 || set->n >= UINT32_C(1) << (set->bits - 1);
}

/* Where the probing for an id starts; the set has slots. */
static inline uint32_t *
gpucol_rec_idset_probe(const GpucolRecIdSet *set, uint32_t id)
{
	return set->slots + (id * UINT32_C(0x9E3779B1) >> (32 - set->bits));
}

/* The slot that has the id, or is free for it. */
static inline uint32_t *
gpucol_rec_idset_find(const GpucolRecIdSet *set, uint32_t id)
{
	uint64_t	at;

	GPUCOL_PROBE(at, id * UINT32_C(0x9E3779B1) >> (32 - set->bits), UINT64_C(1) << set->bits,
				 set->slots[at] == 0 || set->slots[at] == id + 1);
	return &set->slots[at];
}

#endif							/* GPUCOL_RECURSION_CPU_IDSETS_H */
