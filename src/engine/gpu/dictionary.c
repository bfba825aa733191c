/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *	  Numbers for the distinct byte strings of one column.
 *
 * A string is copied into a block that never moves.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"
#include "engine/gpu/dictionary.h"
#include "kernel/hash.h"

#define BLOCK_SIZE	((size_t) 1 << 20)

typedef struct Block
{
	struct Block *next;
	char		data[];
} Block;

struct GpucolGpuDictionary
{
	uint32_t	users;
	GpucolBytes *strings;
	uint32_t	n;
	uint32_t	space;
	GpucolHashTable table;
	uint32_t   *sorted;			/* [nsorted]: an order of the first numbers */
	uint32_t	nsorted;
	Block	   *blocks;
	size_t		held;			/* bytes of all blocks */
	size_t		free;			/* bytes left in the first block */
	char	   *next;
};

GpucolGpuDictionary *
gpucol_gpu_dictionary_create(void)
{
	GpucolGpuDictionary *d = calloc(1, sizeof(GpucolGpuDictionary));

	if (d != NULL)
		d->users = 1;
	return d;
}

GpucolGpuDictionary *
gpucol_gpu_dictionary_share(GpucolGpuDictionary *d)
{
	if (d != NULL)
		d->users++;
	return d;
}

void
gpucol_gpu_dictionary_free(GpucolGpuDictionary *d)
{
	if (d == NULL || --d->users > 0)
		return;
	while (d->blocks != NULL)
	{
		Block	   *block = d->blocks;

		d->blocks = block->next;
		free(block);
	}
	free(d->strings);
	free(d->table.slots);
	free(d->sorted);
	free(d);
}

/* Twice the space; false if there is no memory. */
static bool
grow(GpucolGpuDictionary *d)
{
	uint32_t	space = d->space == 0 ? 1024 : d->space * 2;
	uint64_t	nslots = gpucol_hash_slots(d->table.nslots, space);
	GpucolBytes *strings = realloc(d->strings, sizeof(GpucolBytes) * space);
	uint64_t   *slots;

	if (strings == NULL)
		return false;
	d->strings = strings;
	slots = calloc(nslots, sizeof(uint64_t));
	if (slots == NULL)
		return false;
	free(gpucol_hash_move(&d->table, slots, nslots));
	d->space = space;
	return true;
}

/* A copy of a string that stays where it is; NULL if there is no memory. */
static char *
keep(GpucolGpuDictionary *d, const char *data, size_t len)
{
	char	   *to;

	if (d->blocks == NULL || len > d->free)
	{
		size_t		size = len > BLOCK_SIZE ? len : BLOCK_SIZE;
		Block	   *block = malloc(sizeof(Block) + size);

		if (block == NULL)
			return NULL;
		d->held += size;
		block->next = d->blocks;
		d->blocks = block;
		d->next = block->data;
		d->free = size;
	}
	to = d->next;
	memcpy(to, data, len);
	d->next += len;
	d->free -= len;
	return to;
}

bool
gpucol_gpu_dictionary_number(GpucolGpuDictionary *d, const char *data, size_t len,
							 uint32_t *number)
{
	uint64_t	hash = gpucol_hash_bytes(data, len);
	uint64_t	at;
	char	   *copy;

	if (d->n == d->space && !grow(d))
		return false;
	at = gpucol_hash_home(&d->table, hash);
	while (gpucol_hash_next(&d->table, hash, &at, number))
		if (d->strings[*number].len == len &&
			(len == 0 || memcmp(d->strings[*number].data, data, len) == 0))
			return true;
	copy = keep(d, data, len);
	if (copy == NULL || d->n == UINT32_MAX / 4)
		return false;
	d->strings[d->n].data = copy;
	d->strings[d->n].len = len;
	gpucol_hash_put(&d->table, at, hash, d->n);
	*number = d->n++;
	return true;
}

const GpucolBytes *
gpucol_gpu_dictionary_strings(const GpucolGpuDictionary *d, uint32_t *n)
{
	*n = d->n;
	return d->strings;
}

void
gpucol_gpu_dictionary_sorted(const GpucolGpuDictionary *d, uint32_t *numbers)
{
	if (d->nsorted > 0)
		memcpy(numbers, d->sorted, sizeof(uint32_t) * d->nsorted);
	for (uint32_t i = d->nsorted; i < d->n; i++)
		numbers[i] = i;
}

void
gpucol_gpu_dictionary_set_sorted(GpucolGpuDictionary *d, const uint32_t *numbers, uint32_t n)
{
	uint32_t   *sorted = realloc(d->sorted, sizeof(uint32_t) * ((size_t) n + 1));

	if (sorted == NULL)
		return;
	memcpy(sorted, numbers, sizeof(uint32_t) * n);
	d->sorted = sorted;
	d->nsorted = n;
}

size_t
gpucol_gpu_dictionary_bytes(const GpucolGpuDictionary *d)
{
	return d->held + d->nsorted * sizeof(uint32_t) +
		d->space * (sizeof(GpucolBytes) + sizeof(uint64_t) + 2 * sizeof(uint32_t));
}
