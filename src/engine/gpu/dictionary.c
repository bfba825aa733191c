/*-------------------------------------------------------------------------
 *
 * dictionary.c
 *	  Numbers for the distinct byte strings of one column.
 *
 * A string is copied into a block that never moves; an open-addressing table
 * finds its number by hash.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

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
	GpucolBytes *strings;
	uint64_t   *hashes;			/* of each string */
	uint32_t	n;
	uint32_t	space;
	uint32_t   *table;			/* number + 1, 0 = empty */
	uint32_t	mask;
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
	return calloc(1, sizeof(GpucolGpuDictionary));
}

void
gpucol_gpu_dictionary_free(GpucolGpuDictionary *d)
{
	if (d == NULL)
		return;
	while (d->blocks != NULL)
	{
		Block	   *block = d->blocks;

		d->blocks = block->next;
		free(block);
	}
	free(d->strings);
	free(d->hashes);
	free(d->table);
	free(d->sorted);
	free(d);
}

/* Twice the space; false if there is no memory. */
static bool
grow(GpucolGpuDictionary *d)
{
	uint32_t	space = d->space == 0 ? 1024 : d->space * 2;
	uint32_t	slots = space * 2;
	GpucolBytes *strings = realloc(d->strings, sizeof(GpucolBytes) * space);
	uint64_t   *hashes;
	uint32_t   *table;

	if (strings == NULL)
		return false;
	d->strings = strings;
	hashes = realloc(d->hashes, sizeof(uint64_t) * space);
	if (hashes == NULL)
		return false;
	d->hashes = hashes;
	table = calloc(slots, sizeof(uint32_t));
	if (table == NULL)
		return false;
	free(d->table);
	d->table = table;
	d->mask = slots - 1;
	d->space = space;
	for (uint32_t i = 0; i < d->n; i++)
	{
		uint32_t	at = (uint32_t) d->hashes[i] & d->mask;

		while (table[at] != 0)
			at = (at + 1) & d->mask;
		table[at] = i + 1;
	}
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
	uint32_t	at;
	char	   *copy;

	if (d->n == d->space && !grow(d))
		return false;
	for (at = (uint32_t) hash & d->mask; d->table[at] != 0; at = (at + 1) & d->mask)
	{
		uint32_t	i = d->table[at] - 1;

		if (d->hashes[i] == hash && d->strings[i].len == len &&
			(len == 0 || memcmp(d->strings[i].data, data, len) == 0))
		{
			*number = i;
			return true;
		}
	}
	copy = keep(d, data, len);
	if (copy == NULL || d->n == UINT32_MAX / 4)
		return false;
	d->strings[d->n].data = copy;
	d->strings[d->n].len = len;
	d->hashes[d->n] = hash;
	d->table[at] = d->n + 1;
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
