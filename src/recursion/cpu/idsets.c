/*-------------------------------------------------------------------------
 *
 * idsets.c
 *	  Many small sets of ids, and lists of ids, that threads fill side by side.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/idsets.h"

#define LEAST_BITS		4		/* sixteen slots, a cache line */
#define CACHE_LINE		64
#define LEAST_BLOCK		((size_t) 256 << 10)
#define MOST_BLOCK		((size_t) 32 << 20)

struct GpucolRecBlock
{
	GpucolRecBlock *next;
	size_t		size;
};

static char *
align_line(char *at)
{
	return (char *) (((uintptr_t) at + CACHE_LINE - 1) & ~(uintptr_t) (CACHE_LINE - 1));
}

/* A block with room for `room` bytes, or a larger one, zeroed. */
static GpucolRecBlock *
make_block(GpucolRecPool *pool, size_t room)
{
	size_t		size = pool->held / 4;
	GpucolRecBlock *block;

	size = size < LEAST_BLOCK ? LEAST_BLOCK : size > MOST_BLOCK ? MOST_BLOCK : size;
	room += sizeof(GpucolRecBlock) + CACHE_LINE;
	block = room < size ? gpucol_budget_alloc_zeroed(pool->memory, size) : NULL;
	if (block == NULL)
		block = gpucol_budget_alloc_zeroed(pool->memory, size = room);
	if (block == NULL)
		return NULL;
	pool->held += size;
	block->size = size;
	return block;
}

static void
free_blocks(GpucolRecPool *pool, GpucolRecBlock *block)
{
	while (block != NULL)
	{
		GpucolRecBlock *next = block->next;

		pool->held -= block->size;
		gpucol_budget_free(pool->memory, block, block->size);
		block = next;
	}
}

void
gpucol_rec_pool_init(GpucolRecPool *pool, GpucolBudget *memory)
{
	memset(pool, 0, sizeof(*pool));
	pool->memory = memory;
}

void
gpucol_rec_pool_free(GpucolRecPool *pool)
{
	free_blocks(pool, pool->blocks);
	gpucol_rec_pool_init(pool, pool->memory);
}

/* ---- lists ---- */

/* Take a spare block with room for n ids; NULL: there is none. */
static GpucolRecBlock *
take_spare(GpucolRecIds *ids, uint64_t n)
{
	GpucolRecBlock **link;

	for (link = &ids->spare; *link != NULL; link = &(*link)->next)
	{
		GpucolRecBlock *block = *link;

		if ((block->size - sizeof(*block)) / sizeof(uint32_t) < n)
			continue;
		*link = block->next;
		return block;
	}
	return NULL;
}

bool
gpucol_rec_ids_reserve(GpucolRecPool *pool, GpucolRecIds *ids, uint64_t n)
{
	GpucolRecBlock *block;

	if (n <= (uint64_t) (ids->end - ids->at))
		return true;
	block = take_spare(ids, n);
	if (block == NULL)
		block = make_block(pool, n * sizeof(uint32_t));
	if (block == NULL)
		return false;
	block->next = ids->used;
	ids->used = block;
	ids->at = (uint32_t *) (block + 1);
	ids->end = ids->at + (block->size - sizeof(*block)) / sizeof(uint32_t);
	return true;
}

void
gpucol_rec_ids_reset(GpucolRecIds *ids)
{
	while (ids->used != NULL)
	{
		GpucolRecBlock *block = ids->used;

		ids->used = block->next;
		block->next = ids->spare;
		ids->spare = block;
	}
	ids->at = ids->end = NULL;
}

void
gpucol_rec_ids_free(GpucolRecPool *pool, GpucolRecIds *ids)
{
	gpucol_rec_ids_reset(ids);
	free_blocks(pool, ids->spare);
	ids->spare = NULL;
}

/* ---- sets ---- */

/* Zeroed slots; NULL: out of memory. */
static uint32_t *
take_slots(GpucolRecPool *pool, uint32_t bits)
{
	size_t		size = sizeof(uint32_t) << bits;
	uint32_t   *slots = pool->free[bits];

	if (slots != NULL)
	{
		memcpy(&pool->free[bits], slots, sizeof(slots));
		memset(slots, 0, size);
		return slots;
	}
	if ((size_t) (pool->end - pool->at) < size)
	{
		GpucolRecBlock *block = make_block(pool, size);

		if (block == NULL)
			return NULL;
		block->next = pool->blocks;
		pool->blocks = block;
		pool->at = align_line((char *) (block + 1));
		pool->end = (char *) block + block->size;
	}
	slots = (uint32_t *) pool->at;
	pool->at += size;
	return slots;
}

/* Give the slots of a set back. */
static void
release(GpucolRecPool *pool, GpucolRecIdSet *set)
{
	if (set->bits == 0)
		return;
	memcpy(set->slots, &pool->free[set->bits], sizeof(set->slots));
	pool->free[set->bits] = set->slots;
	memset(set, 0, sizeof(*set));
}

bool
gpucol_rec_idset_grow(GpucolRecPool *pool, GpucolRecIdSet *set)
{
	GpucolRecIdSet larger = {.n = set->n,.bits = set->bits == 0 ? LEAST_BITS : set->bits + 1};
	uint64_t	i;

	larger.slots = larger.bits < 32 ? take_slots(pool, larger.bits) : NULL;
	if (larger.slots == NULL)
		return false;
	for (i = 0; set->bits != 0 && i < UINT64_C(1) << set->bits; i++)
		if (set->slots[i] != 0)
			*gpucol_rec_idset_find(&larger, set->slots[i] - 1) = set->slots[i];
	release(pool, set);
	*set = larger;
	return true;
}
