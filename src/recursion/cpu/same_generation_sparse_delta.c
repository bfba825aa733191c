/*-------------------------------------------------------------------------
 *
 * same_generation_sparse_delta.c
 *	  Rows that the same-generation kernel over sets of ids has found, as its next delta.
 *
 * The lanes' slices are collected into one array.  Where (x,y) stands for (y,x) too,
 * the mirror images of all of them are sorted by their row: counted, then put into the
 * places that the counts give them.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_sparse.h"

/* ---- slices ---- */

bool
gpucol_rec_sparse_add_slice(GpucolRecLane *lane, uint32_t row, GpucolRecIds *ids, uint64_t n)
{
	GpucolRecSlices *found = &lane->found;
	GpucolRecSlice *slice;

	if (!gpucol_budget_array(lane->pool.memory, &found->items, &found->allocated,
							 found->n + 1, sizeof(GpucolRecSlice)))
		return false;
	slice = &found->items[found->n++];
	slice->row = row;
	slice->n = (uint32_t) n;
	slice->ids = ids->at;
	ids->at += n;
	return true;
}

GpucolStatus
gpucol_rec_sparse_collect(GpucolRecSparse *sparse, GpucolRecSlices *to)
{
	uint64_t	total = 0;

	for (int i = 0; i < sparse->nlanes; i++)
		total += sparse->lanes[i].found.n;
	GPUCOL_REC_TRY(gpucol_rec_reserve(&sparse->run->memory, (void **) &to->items,
									  &to->allocated, total, sizeof(GpucolRecSlice)));
	to->n = 0;
	for (int i = 0; i < sparse->nlanes; i++)
	{
		GpucolRecSlices *found = &sparse->lanes[i].found;

		if (found->n > 0)
			memcpy(to->items + to->n, found->items, found->n * sizeof(GpucolRecSlice));
		to->n += found->n;
		found->n = 0;
	}
	return GPUCOL_OK;
}

/* ---- the delta ---- */

/* The place of a row in work, made if it has none. */
static inline uint32_t
work_place(GpucolRecSparse *sparse, uint32_t row)
{
	GpucolRecDeltaRow *work;

	if (sparse->work_of[row] != 0)
		return sparse->work_of[row] - 1;
	work = &sparse->work[sparse->nwork++];
	memset(work, 0, sizeof(*work));
	work->own.row = work->mirrored.row = row;
	sparse->work_of[row] = (uint32_t) sparse->nwork;
	return (uint32_t) sparse->nwork - 1;
}

/* Make room for the rows of the delta, of n pairs, and for their mirror images. */
static GpucolStatus
reserve_work(GpucolRecSparse *sparse, uint64_t n)
{
	uint64_t	rows = sparse->delta.n + (sparse->mirrored ? n : 0);

	rows = rows < sparse->domain ? rows : sparse->domain;
	return gpucol_rec_reserve(&sparse->run->memory, (void **) &sparse->work,
							  &sparse->work_allocated, rows, sizeof(GpucolRecDeltaRow));
}

/* Count the mirror images of the delta, by row, and all together. */
static GpucolStatus
count_mirrored(GpucolRecSparse *sparse, uint64_t *total)
{
	*total = 0;
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const GpucolRecSlice *slice = &sparse->delta.items[i];

		if (gpucol_rec_sparse_stopped(sparse, slice))
			return GPUCOL_CANCELLED;
		for (uint32_t k = 0; k < slice->n; k++)
			if (slice->ids[k] != slice->row)
			{
				sparse->work[work_place(sparse, slice->ids[k])].mirrored.n++;
				++*total;
			}
	}
	return GPUCOL_OK;
}

/* Give each row the place of its mirror images, which have not come yet. */
static void
place_mirrored(GpucolRecSparse *sparse)
{
	uint32_t   *ids = sparse->mirror_ids;

	for (uint64_t i = 0; i < sparse->nwork; i++)
	{
		GpucolRecSlice *slice = &sparse->work[i].mirrored;

		slice->ids = ids;
		ids += slice->n;
		slice->n = 0;
	}
}

/* Put them there. */
static GpucolStatus
write_mirrored(GpucolRecSparse *sparse)
{
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		const GpucolRecSlice *slice = &sparse->delta.items[i];

		if (gpucol_rec_sparse_stopped(sparse, slice))
			return GPUCOL_CANCELLED;
		for (uint32_t k = 0; k < slice->n; k++)
			if (slice->ids[k] != slice->row)
			{
				GpucolRecSlice *to =
					&sparse->work[work_place(sparse, slice->ids[k])].mirrored;

				to->ids[to->n++] = slice->row;
			}
	}
	return GPUCOL_OK;
}

/* Mirror the delta; how many pairs that adds. */
static GpucolStatus
mirror_delta(GpucolRecSparse *sparse, uint64_t *added)
{
	GPUCOL_REC_TRY(count_mirrored(sparse, added));
	GPUCOL_REC_TRY(gpucol_rec_reserve(&sparse->run->memory, (void **) &sparse->mirror_ids,
									  &sparse->mirror_allocated, *added,
									  sizeof(uint32_t)));
	place_mirrored(sparse);
	return write_mirrored(sparse);
}

GpucolStatus
gpucol_rec_sparse_set_delta(GpucolRecSparse *sparse)
{
	uint64_t	mirrored = 0;
	uint64_t	n = 0;

	GPUCOL_REC_TRY(gpucol_rec_sparse_collect(sparse, &sparse->delta));
	for (uint64_t i = 0; i < sparse->delta.n; i++)
		n += sparse->delta.items[i].n;
	GPUCOL_REC_TRY(reserve_work(sparse, n));
	sparse->nwork = 0;
	for (uint64_t i = 0; i < sparse->delta.n; i++)
	{
		uint32_t	place = work_place(sparse, sparse->delta.items[i].row);

		sparse->work[place].own = sparse->delta.items[i];
	}
	if (sparse->mirrored)
		GPUCOL_REC_TRY(mirror_delta(sparse, &mirrored));
	for (uint64_t i = 0; i < sparse->nwork; i++)
		sparse->work_of[sparse->work[i].own.row] = 0;
	sparse->run->progress.delta = n + mirrored;
	return GPUCOL_OK;
}
