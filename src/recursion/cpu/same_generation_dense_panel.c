/*-------------------------------------------------------------------------
 *
 * same_generation_dense_panel.c
 *	  512 rows of the delta of the same-generation kernel over bitmaps, gathered together.
 *
 * The rows of a panel are turned round, 64 times 64 bits at a time: each b gets a vector
 * that says which of the rows have it.  Each edge of f hands the vector of its b on to
 * its y, by one instruction of 512 bits; what the y have is turned round again, and is
 * the gathered rows.  Whatever the rows hold, that costs the edges of f and two passes
 * over the rows, where one by one each of their pairs costs the edges of its b.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/same_generation_dense.h"

#define ROWS	GPUCOL_REC_PANEL_ROWS
#define WORDS	GPUCOL_REC_PANEL_WORDS

/* Costs in edges that a row by itself follows: an edge of f, and an id, of a panel. */
#define EDGE_COST	1
#define ID_COST		16

/* Bytes of a vector for each id. */
static size_t
panel_size(const GpucolRecDense *dense)
{
	return dense->domain * WORDS * sizeof(uint64_t);
}

void
gpucol_rec_dense_free_panels(GpucolRecDense *dense)
{
	GpucolBudget *memory = &dense->share.run->memory;

	for (int i = 0; i < dense->ngathers; i++)
	{
		GpucolRecGather *gather = &dense->gathers[i];

		gpucol_budget_free(memory, gather->from, panel_size(dense));
		gpucol_budget_free(memory, gather->to, panel_size(dense));
		gather->from = gather->to = NULL;
	}
}

/* ---- turning rows round ---- */

/* Turn 64 times 64 bits round: bit j of word i becomes bit i of word j. */
static GPUCOL_REC_INLINE void
turn_block(uint64_t block[64])
{
	uint64_t	mask = UINT64_C(0x00000000ffffffff);

	for (int j = 32; j != 0; j >>= 1, mask ^= mask << j)
		for (int k = 0; k < 64; k += 2 * j)
			for (int i = k; i < k + j; i++)
			{
				uint64_t	swap = (block[i] >> j ^ block[i + j]) & mask;

				block[i + j] ^= swap;
				block[i] ^= swap << j;
			}
}

/* Rows of the delta to vectors: word w of 64 rows, whose place in the panel is g * 64. */
static GPUCOL_REC_INLINE void
turn_rows(const GpucolRecDense *dense, const uint32_t *rows, uint64_t nrows, uint64_t g,
		  uint64_t w, uint64_t *vectors)
{
	uint64_t	block[64] = {0};
	uint64_t	n = nrows <= g * 64 ? 0 : nrows - g * 64 < 64 ? nrows - g * 64 : 64;
	uint64_t	any = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		block[i] = dense->delta[rows[g * 64 + i] * dense->nwords + w];
		any |= block[i];
	}
	if (any != 0)
		turn_block(block);
	for (uint64_t i = 0; i < 64; i++)
		vectors[(w * 64 + i) * WORDS + g] = block[i];
}

/* Vectors to rows of the panel: the reverse. */
static GPUCOL_REC_INLINE void
turn_vectors(const GpucolRecDense *dense, const uint64_t *vectors, uint64_t nrows, uint64_t g,
			 uint64_t w, uint64_t *rows)
{
	uint64_t	block[64];
	uint64_t	n = nrows <= g * 64 ? 0 : nrows - g * 64 < 64 ? nrows - g * 64 : 64;
	uint64_t	any = 0;

	for (uint64_t i = 0; i < 64; i++)
	{
		block[i] = vectors[(w * 64 + i) * WORDS + g];
		any |= block[i];
	}
	if (any != 0)
		turn_block(block);
	for (uint64_t i = 0; i < n; i++)
		rows[(g * 64 + i) * dense->nwords + w] = block[i];
}

/* ---- one panel ---- */

/* Hand each b's vector on to its y; false if the work is to end. */
static GPUCOL_REC_INLINE bool
follow_edges(GpucolRecDense *dense, int worker)
{
	const GpucolRecAdjacency *right = &dense->graphs.right;
	const uint64_t *from = dense->gathers[worker].from;
	uint64_t   *to = dense->gathers[worker].to;

	memset(to, 0, panel_size(dense));
	for (uint64_t b = 0; b < dense->nids; b++)
	{
		const uint64_t *vector = from + b * WORDS;
		uint64_t	any = 0;

		for (int k = 0; k < WORDS; k++)
			any |= vector[k];
		if (gpucol_rec_share_stopped(&dense->share, worker,
									 1 + right->start[b + 1] - right->start[b]))
			return false;
		for (uint64_t e = right->start[b]; any != 0 && e < right->start[b + 1]; e++)
		{
			uint64_t   *into = to + (uint64_t) right->to[e] * WORDS;

			for (int k = 0; k < WORDS; k++)
				into[k] |= vector[k];
		}
	}
	return true;
}

/* Add the gathered rows of a panel to those that e leads to. */
static void
spread_rows(GpucolRecDense *dense, int worker, const uint32_t *rows, uint64_t nrows)
{
	GpucolRecGather *gather = &dense->gathers[worker];

	for (uint64_t i = 0; i < nrows; i++)
	{
		const uint64_t *bits = gather->from + i * dense->nwords;

		for (uint64_t w = 0; w < dense->nwords; w++)
			gather->summary[w / 64] |= (uint64_t) (bits[w] != 0) << (w % 64);
		gpucol_rec_dense_spread(dense, worker, rows[i], bits, gather->summary);
		memset(gather->summary, 0, dense->nsums * sizeof(uint64_t));
	}
}

/* An item: one panel. */
GPUCOL_REC_CLONES
static void
panel_item(void *context, int worker, uint64_t item)
{
	GpucolRecDense *dense = context;
	GpucolRecGather *gather = &dense->gathers[worker];
	const uint32_t *rows = dense->in_panel + item * ROWS;
	uint64_t	nrows = dense->nin_panel - item * ROWS < ROWS ?
		dense->nin_panel - item * ROWS : ROWS;

	for (uint64_t w = 0; w < dense->nwords; w++)
		for (uint64_t g = 0; g < WORDS; g++)
			turn_rows(dense, rows, nrows, g, w, gather->from);
	if (!follow_edges(dense, worker))
		return;
	/* the vectors of b are not needed any more, and as large as the rows */
	for (uint64_t w = 0; w < dense->nwords; w++)
		for (uint64_t g = 0; g < WORDS; g++)
			turn_vectors(dense, gather->to, nrows, g, w, gather->from);
	spread_rows(dense, worker, rows, nrows);
}

/* ---- choosing rows ---- */

/* Give so many threads what they need; false: there is no memory. */
static bool
open_panels(GpucolRecDense *dense, int nthreads)
{
	GpucolBudget *memory = &dense->share.run->memory;

	for (int i = 0; i < nthreads; i++)
	{
		GpucolRecGather *gather = &dense->gathers[i];

		if (gather->from == NULL)
			gather->from = gpucol_budget_alloc_zeroed(memory, panel_size(dense));
		if (gather->to == NULL)
			gather->to = gpucol_budget_alloc_zeroed(memory, panel_size(dense));
		if (gather->from == NULL || gather->to == NULL)
			return false;
	}
	return true;
}

/*
 * Choose the rows that are dearer by themselves than their share of a panel, and as many
 * of them as the last panel pays for.
 */
static void
choose_rows(GpucolRecDense *dense)
{
	const GpucolRecAdjacency *left = &dense->graphs.left;
	double		degree = (double) dense->graphs.right.nedges / (double) dense->domain;
	double		cost = EDGE_COST * (double) dense->graphs.right.nedges +
		ID_COST * (double) dense->domain;
	double		last = 0;

	memset(dense->is_in_panel, 0, dense->domain);
	dense->nin_panel = 0;
	for (uint64_t a = 0; a < dense->nids; a++)
	{
		double		alone = dense->delta_pairs[a] * degree;

		if (alone * ROWS <= cost || left->start[a] == left->start[a + 1])
			continue;
		last = dense->nin_panel % ROWS == 0 ? alone : last + alone;
		dense->in_panel[dense->nin_panel++] = (uint32_t) a;
	}
	if (last <= cost)
		dense->nin_panel -= dense->nin_panel % ROWS;
	for (uint64_t i = 0; i < dense->nin_panel; i++)
		dense->is_in_panel[dense->in_panel[i]] = 1;
}

GpucolStatus
gpucol_rec_dense_run_panels(GpucolRecDense *dense)
{
	uint64_t	npanels;
	int			threads;

	choose_rows(dense);
	npanels = (dense->nin_panel + ROWS - 1) / ROWS;
	if (npanels == 0)
		return GPUCOL_OK;
	threads = (uint64_t) dense->ngathers < npanels ? dense->ngathers : (int) npanels;
	if (!open_panels(dense, threads))
	{
		gpucol_rec_dense_free_panels(dense);
		memset(dense->is_in_panel, 0, dense->domain);
		return GPUCOL_OK;
	}
	return gpucol_rec_share_run(&dense->share, threads, npanels, 1, panel_item, dense);
}
