/*-------------------------------------------------------------------------
 *
 * same_generation_sparse_bitmaps.c
 *	  Where the same-generation kernel over sets of ids goes over to bitmaps.
 *
 * Dense relations are better served by these: once their words would hold several
 * pairs of most middles, recursion/cpu/same_generation_dense.c takes over, between the two phases
 * of a round, which it begins anew.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_sparse.h"

/* Bitmaps of up to this size are cheap to use: what is read of them stays in a cache. */
#define CACHED_BITMAP	((uint64_t) 64 << 20)

/*
 * They are the better way where a word holds several pairs of a middle, and the round is
 * large beside the bitmaps.
 */
bool
gpucol_rec_sparse_is_dense(const GpucolRecSparse *sparse, uint64_t candidates,
						   uint64_t words)
{
	uint64_t	bytes = sparse->domain * sparse->domain / 8;
	uint64_t	cost = 2;		/* of a word, in candidates */

	for (uint64_t cached = CACHED_BITMAP; cached < bytes; cached *= 2)
		cost++;
	return sparse->run->options.strategy == GPUCOL_REC_AUTO &&
		candidates > words * cost &&
		(candidates - words * cost) * 32 > bytes &&
		gpucol_rec_samegen_dense_fits(sparse->run);
}

/* Set the bits of one row, and of its mirror image if there is one. */
static void
fill_row(const GpucolRecSparse *sparse, uint64_t *full, uint64_t nwords, uint64_t x)
{
	const GpucolRecIdSet *row = &sparse->rows[x];

	for (uint64_t i = 0; i < UINT64_C(1) << row->bits; i++)
	{
		uint64_t	y = (uint64_t) row->slots[i] - 1;

		if (row->slots[i] == 0)
			continue;
		full[x * nwords + y / 64] |= UINT64_C(1) << (y % 64);
		if (sparse->mirrored)
			full[y * nwords + x / 64] |= UINT64_C(1) << (x % 64);
	}
}

/* Set the bits of all rows. */
static GpucolStatus
fill_bitmap(GpucolRecSparse *sparse, uint64_t *full)
{
	uint64_t	nwords = gpucol_rec_samegen_domain(sparse->run) / 64;

	for (uint64_t x = 0; x < sparse->domain; x++)
	{
		uint32_t	bits = sparse->rows[x].bits;

		if (gpucol_rec_share_stopped(&sparse->share, 0, UINT64_C(1) << bits))
			return GPUCOL_CANCELLED;
		if (bits != 0)
			fill_row(sparse, full, nwords, x);
	}
	return GPUCOL_OK;
}

static void
add_slice(GpucolRecKernel *dense, const GpucolRecSlice *slice)
{
	for (uint32_t i = 0; i < slice->n; i++)
		gpucol_rec_samegen_dense_add(dense, slice->row, slice->ids[i]);
}

/* Hand the delta over. */
static GpucolStatus
add_delta(GpucolRecSparse *sparse)
{
	for (uint64_t i = 0; i < sparse->nwork; i++)
	{
		const GpucolRecDeltaRow *row = &sparse->work[i];

		if (gpucol_rec_sparse_stopped(sparse, &row->own) ||
			gpucol_rec_sparse_stopped(sparse, &row->mirrored))
			return GPUCOL_CANCELLED;
		add_slice(sparse->dense, &row->own);
		add_slice(sparse->dense, &row->mirrored);
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_sparse_go_dense(GpucolRecSparse *sparse)
{
	GpucolRecRun *run = sparse->run;
	uint64_t	domain = gpucol_rec_samegen_domain(run);
	uint64_t   *full = gpucol_budget_alloc_zeroed(&run->memory, domain * domain / 8);
	GpucolRecKernel *dense;
	GpucolStatus status;

	if (full == NULL)
		return GPUCOL_OK;
	dense = gpucol_rec_samegen_dense_new(run, domain, &sparse->graphs);
	if (dense == NULL)
	{
		gpucol_budget_free(&run->memory, full, domain * domain / 8);
		return GPUCOL_OK;
	}
	gpucol_rec_samegen_dense_set_full(dense, full);
	dense->rounds = sparse->kernel.rounds;
	sparse->dense = dense;
	status = fill_bitmap(sparse, full);
	if (status == GPUCOL_OK)
		status = add_delta(sparse);
	gpucol_rec_sparse_free_sets(sparse);
	run->progress.method = "bit-parallel pairs";
	return status;
}
