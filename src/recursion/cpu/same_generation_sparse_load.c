/*-------------------------------------------------------------------------
 *
 * same_generation_sparse_load.c
 *	  Where the same-generation kernel over sets of ids takes over the rows of a relation.
 *
 * Rows that do not lie below the diagonal come first: those below are then looked for
 * as their mirror images, and only if one of them has none do they become sets of
 * their own.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_sparse.h"

/* ---- sets ---- */

static GpucolStatus
add_row(GpucolRecSparse *sparse, uint32_t x, uint32_t y)
{
	GpucolRecIdSet *row = &sparse->rows[x];

	if (gpucol_rec_idset_is_full(row) &&
		!gpucol_rec_idset_grow(&sparse->lanes[0].pool, row))
		return GPUCOL_OUT_OF_MEMORY;
	*gpucol_rec_idset_find(row, y) = y + 1;
	row->n++;
	return GPUCOL_OK;
}

/* Add rows [from, to) of a table that lie below the diagonal, or those that do not. */
static GpucolStatus
add_rows(GpucolRecSparse *sparse, const GpucolRecTable *table, uint64_t from, uint64_t to,
		 bool below)
{
	for (uint64_t row = from; row < to; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		if ((pair[0] > pair[1]) == below)
			GPUCOL_REC_TRY(add_row(sparse, pair[0], pair[1]));
	}
	return GPUCOL_OK;
}

/* Is a pair in the sets? */
static bool
holds_pair(const GpucolRecSparse *sparse, uint32_t x, uint32_t y)
{
	const GpucolRecIdSet *row = &sparse->rows[x];

	return row->bits != 0 && *gpucol_rec_idset_find(row, y) != 0;
}

/*
 * Have all rows [from, to) of a table their mirror images among them?  If not, the kernel
 * is not mirrored.  Those that do not lie below the diagonal are in the sets, and rows
 * before `from` have theirs.
 */
static GpucolStatus
check_mirrored(GpucolRecSparse *sparse, const GpucolRecTable *table, uint64_t from,
			   uint64_t to)
{
	uint64_t	below = 0;
	uint64_t	above = 0;

	for (uint64_t row = from; row < to && sparse->mirrored; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		above += pair[0] < pair[1];
		if (pair[0] <= pair[1])
			continue;
		below++;
		sparse->mirrored = holds_pair(sparse, pair[1], pair[0]);
	}
	sparse->mirrored &= below == above;
	return GPUCOL_OK;
}

/* Make sets of the table's rows. */
static GpucolStatus
load_sets(GpucolRecSparse *sparse, const GpucolRecTable *table)
{
	GPUCOL_REC_TRY(add_rows(sparse, table, 0, table->delta, false));
	GPUCOL_REC_TRY(check_mirrored(sparse, table, 0, table->delta));
	GPUCOL_REC_TRY(add_rows(sparse, table, table->delta, table->committed, false));
	GPUCOL_REC_TRY(check_mirrored(sparse, table, table->delta, table->committed));
	if (sparse->mirrored)
		return GPUCOL_OK;
	return add_rows(sparse, table, 0, table->committed, true);
}

/* ---- the delta ---- */

/* Does the kernel keep this pair itself, and not its mirror image? */
static bool
is_kept(const GpucolRecSparse *sparse, const uint32_t *pair)
{
	return !sparse->mirrored || pair[0] <= pair[1];
}

/* By row: where its ids begin in the delta, which is to be sorted by row. */
static GpucolStatus
place_delta(GpucolRecSparse *sparse, const GpucolRecTable *table, uint32_t *place)
{
	uint64_t	n = 0;

	for (uint64_t row = table->delta; row < table->committed; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		place[pair[0]] += is_kept(sparse, pair);
	}
	for (uint64_t x = 0; x < sparse->domain; x++)
	{
		n += place[x];
		place[x] = (uint32_t) n - place[x];
	}
	return GPUCOL_OK;
}

/* Make slices of the table's delta. */
static GpucolStatus
load_delta(GpucolRecSparse *sparse, const GpucolRecTable *table)
{
	GpucolRecLane *lane = &sparse->lanes[0];
	GpucolRecIds *ids = &lane->row_ids[0];
	uint32_t   *place = sparse->targets;
	uint32_t   *start;

	if (!gpucol_rec_ids_reserve(&lane->pool, ids, table->committed - table->delta))
		return GPUCOL_OUT_OF_MEMORY;
	start = ids->at;
	GPUCOL_REC_TRY(place_delta(sparse, table, place));
	/* the scatter leaves the place where each row ends */
	for (uint64_t row = table->delta; row < table->committed; row++)
	{
		const uint32_t *pair = table->tuples + row * 2;

		if (gpucol_rec_poll(sparse->run, row))
			return GPUCOL_CANCELLED;
		if (is_kept(sparse, pair))
			start[place[pair[0]]++] = pair[1];
	}
	for (uint64_t x = 0, first = 0; x < sparse->domain; first = place[x++])
		if (place[x] > first &&
			!gpucol_rec_sparse_add_slice(lane, (uint32_t) x, ids, place[x] - first))
			return GPUCOL_OUT_OF_MEMORY;
	return gpucol_rec_sparse_set_delta(sparse);
}

GpucolStatus
gpucol_rec_sparse_load(GpucolRecSparse *sparse, const GpucolRecTable *table)
{
	GPUCOL_REC_TRY(load_sets(sparse, table));
	return load_delta(sparse, table);
}
