/*-------------------------------------------------------------------------
 *
 * delta.c
 *	  The delta rows of a run on the device, as columns of packed 64-bit vectors.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"

/*
 * Make room for n more delta rows.  What does not fit the run's limit is not asked for: a
 * table that was written to for long may have any number of them.
 */
static GpucolStatus
grow_delta(GpucolGpuRun *run, uint32_t n)
{
	GpucolGpuDelta *d = &run->delta;
	uint64_t	space = d->space == 0 ? GPUCOL_VECTOR_VALUES : d->space;
	void	   *p;

	while (space < d->nrows + n)
		space *= 2;
	if (!gpucol_gpu_run_fits(run, (space - d->space) * 8 * (uint64_t) (run->ncolumns + 1)))
		return GPUCOL_OUT_OF_MEMORY;
	if (space == d->space)
		return GPUCOL_OK;
	if ((p = realloc(d->tids, sizeof(uint64_t) * space)) == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	d->tids = p;
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		if ((p = realloc(d->codes[c], space * 8)) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		d->codes[c] = p;
		memset((char *) p + d->space * 8, 0, (space - d->space) * 8);
		if ((p = realloc(d->nulls[c], space / 8)) == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		d->nulls[c] = p;
		memset((char *) p + d->space / 8, 0, (space - d->space) / 8);
	}
	d->space = space;
	return GPUCOL_OK;
}

/* Append one batch.  A vector of width 64 is its low words, then its high. */
static GpucolStatus
append_delta(GpucolGpuRun *run, const GpucolDelta *batch)
{
	GpucolGpuDelta *d = &run->delta;
	GpucolStatus status = grow_delta(run, batch->nrows);

	if (status != GPUCOL_OK)
		return status;
	for (uint32_t i = 0; i < batch->nrows; i++)
		d->tids[d->nrows + i] = batch->tids != NULL ? batch->tids[i] : 0;
	for (int c = 0; c < run->program->ncolumns; c++)
	{
		const GpucolDeltaColumn *column = &batch->columns[c];

		for (uint32_t i = 0; i < batch->nrows; i++)
		{
			uint64_t	row = d->nrows + i;
			uint32_t   *vector = d->codes[c] + row / 1024 * 2048;
			uint64_t	x = 0;

			if (column->nulls != NULL && (column->nulls[i / 32] >> (i % 32) & 1))
			{
				d->nulls[c][row / 32] |= UINT32_C(1) << (row % 32);
				d->has_nulls[c] = true;
				continue;
			}
			if (run->bytes[c] == GPUCOL_BYTES_UNUSED)
				x = (uint64_t) column->values[i];
			else if (run->bytes[c] == GPUCOL_BYTES_NUMBERS)
			{
				uint32_t	number;

				if (!gpucol_gpu_dictionary_number(run->manifest->dictionaries[c], column->bytes[i].data,
												  column->bytes[i].len, &number))
					return GPUCOL_OUT_OF_MEMORY;
				x = number;
			}
			vector[row % 1024] = (uint32_t) x;
			vector[1024 + row % 1024] = (uint32_t) (x >> 32);
		}
	}
	d->nrows += batch->nrows;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_delta_read(GpucolGpuRun *run)
{
	GpucolDelta batch;
	GpucolStatus status;

	while ((status = run->source->ops->next_delta(run->source, &batch)) == GPUCOL_OK)
	{
		status = append_delta(run, &batch);
		if (status != GPUCOL_OK)
			return status;
	}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

void
gpucol_gpu_delta_free(GpucolGpuRun *run)
{
	GpucolGpuDelta *d = &run->delta;

	for (int c = 0; c < run->ncolumns; c++)
	{
		if (d->codes != NULL)
			free(d->codes[c]);
		if (d->nulls != NULL)
			free(d->nulls[c]);
	}
	free(d->tids);
	free(d->codes);
	free(d->nulls);
	free(d->has_nulls);
}
