/*-------------------------------------------------------------------------
 *
 * group_strings.c
 *	  Byte strings of a vector, and memory of strings that groups keep.
 *
 * Groups and sets know strings by their numbers (strings.h).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/group.h"

#define CHUNK_BYTES 65536

/* Memory of the arena. */
char *
gpucol_cpu_group_space(GpucolCpuGroups *groups, size_t size)
{
	char	   *space;

	if (groups->chunk == NULL || groups->chunk_size - groups->chunk_used < size)
	{
		size_t		all = size + sizeof(char *) > CHUNK_BYTES ?
			size + sizeof(char *) : CHUNK_BYTES;
		char	   *chunk = gpucol_cpu_alloc(groups->run, all);

		if (chunk == NULL)
			return NULL;
		*(char **) chunk = groups->chunk;
		groups->chunk = chunk;
		groups->chunk_used = sizeof(char *);
		groups->chunk_size = all;
	}
	space = groups->chunk + groups->chunk_used;
	groups->chunk_used += size;
	return space;
}

/* A byte for each row: is its string to be looked up?  Returns how many are empty of the others. */
GPUCOL_CPU_CLONES static uint32_t
tell_full(const GpucolBytes *values, const uint8_t *skip, uint32_t n, uint8_t *full)
{
	uint32_t	nempty = 0;

	for (uint32_t j = 0; j < n; j++)
		full[j] = values[j].len > 0;
	if (skip != NULL)
		for (uint32_t j = 0; j < n; j++)
		{
			nempty += !full[j] && !skip[j];
			full[j] = full[j] && !skip[j];
		}
	else
		for (uint32_t j = 0; j < n; j++)
			nempty += !full[j];
	return nempty;
}

/*
 * List the rows that hold a string to be looked up: the string of no bytes, which may be that
 * of most rows, is numbered here.
 */
static GpucolStatus
number_empty(GpucolRun *run, const GpucolBytes *values, const uint8_t *skip, uint32_t n,
			 uint64_t *numbers, GpucolCpuFull *full)
{
	uint8_t		is_full[GPUCOL_VECTOR_VALUES];

	full->n = 0;
	full->nempty = tell_full(values, skip, n, is_full);
	full->empty = 0;
	if (full->nempty > 0 && gpucol_cpu_strings_empty(run, &full->empty) != GPUCOL_OK)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < n; j++)
	{
		full->rows[full->n] = (uint16_t) j;
		full->n += is_full[j];
	}
	for (uint32_t j = 0; j < n; j++)
		numbers[j] = skip != NULL && skip[j] ? 0 : full->empty;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_group_strings(GpucolRun *run, const GpucolBytes *values, const uint8_t *skip, uint32_t n,
						 uint64_t *hashes, uint64_t *numbers, GpucolCpuFull *full)
{
	GpucolStatus status = number_empty(run, values, skip, n, numbers, full);

	return status == GPUCOL_OK ?
		gpucol_cpu_strings_find(run, values, full->rows, full->n, hashes, numbers) : status;
}
