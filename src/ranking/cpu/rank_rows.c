/*-------------------------------------------------------------------------
 *
 * rank_rows.c
 *	  Label-confidence rows in the order of the scan, and by group.
 *
 * Rows are kept as they come with their group numbers, in blocks that never move
 * and lie on huge pages where the system has them (gathering a group is random
 * access); each thread that collects has its own.  Pieces, one for each call, tell
 * the order of the scan.  Row numbers are ordered by group in a stable counting
 * sort whose passes over ranges of pieces are dealt to threads, so that rows of a
 * group are in the order of the scan however they were collected.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/pool.h"
#include "ranking/cpu/rank_rows.h"

/* Rows of a block: 2 MB of them. */
#define BLOCK_BITS 16
#define BLOCK_ROWS (1 << BLOCK_BITS)
#define BLOCK_BYTES (BLOCK_ROWS * sizeof(GpucolBatchRow))

/* Passes of the counting sort look whether to stop after so many rows. */
#define CANCEL_ROWS (1 << 20)

/* Rows that came in one call. */
typedef struct Piece
{
	uint64_t	ordinal;
	uint32_t	store;
	uint32_t	first;			/* row of the store */
	uint32_t	n;
} Piece;

/* The rows of one collecting thread. */
typedef struct Store
{
	GpucolBatchRow **blocks;	/* [nblocks] of BLOCK_ROWS rows */
	uint32_t  **groups;			/* [nblocks] their group numbers */
	size_t		nblocks;
	size_t		blocks_size;
	int64_t		nrows;
	Piece	   *pieces;
	size_t		npieces;
	size_t		pieces_size;
	uint32_t	first_block;	/* among those of all stores */
} __attribute__((aligned(128))) Store;

struct GpucolRankRows
{
	GpucolBudget *memory;
	int			nstores;
	Store	   *stores;

	/* since they are ordered */
	const GpucolRankOrder *how;
	uint32_t	ngroups;
	GpucolBatchRow **blocks;	/* of all stores */
	Piece	   *pieces;			/* of all stores, in the order of the scan */
	size_t		npieces;
	int64_t		nrows;
	int			nranges;		/* of pieces, for the counting sort */
	uint32_t   *counts;			/* [nranges * ngroups] rows, then places */
	int			nparts;			/* of groups, whose places a thread each makes */
	uint32_t   *part_rows;		/* [nparts + 1] of the parts before */
	int64_t    *starts;			/* [ngroups + 1] */
	uint32_t   *order;			/* row numbers by group */
};

static bool
is_cancelled(const GpucolRankRows *r)
{
	return r->how->cancelled != NULL && r->how->cancelled(r->how->arg);
}

/* Grow *block from `old` to `new` bytes, keeping its contents. */
static bool
grow(GpucolRankRows *r, void *block, size_t old, size_t new)
{
	return gpucol_budget_grow(r->memory, block, old, new);
}

/*-------------------------------------------------------------------------
 * Collecting
 *-------------------------------------------------------------------------
 */

GpucolRankRows *
gpucol_rank_rows_create(GpucolBudget *memory, int nstores)
{
	GpucolRankRows *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->memory = memory;
	r->nstores = nstores < 1 ? 1 : nstores;
	r->stores = aligned_alloc(_Alignof(Store), sizeof(Store) * (size_t) r->nstores);
	if (r->stores == NULL)
	{
		free(r);
		return NULL;
	}
	memset(r->stores, 0, sizeof(Store) * (size_t) r->nstores);
	return r;
}

/* One more block of rows. */
static bool
add_block(GpucolRankRows *r, Store *s)
{
	size_t		n = s->nblocks;
	void	   *rows = NULL;
	uint32_t   *groups = NULL;

	if (n == s->blocks_size)
	{
		size_t		size = n == 0 ? 64 : 2 * n;

		if (!grow(r, &s->blocks, sizeof(void *) * n, sizeof(void *) * size) ||
			!grow(r, &s->groups, sizeof(void *) * n, sizeof(void *) * size))
			return false;
		s->blocks_size = size;
	}
	if (!grow(r, &groups, 0, sizeof(uint32_t) * BLOCK_ROWS))
		return false;
	if (!gpucol_budget_reserve(r->memory, BLOCK_BYTES) ||
		posix_memalign(&rows, BLOCK_BYTES, BLOCK_BYTES) != 0)
	{
		free(groups);
		return false;
	}
	if (n > 0)
		madvise(rows, BLOCK_BYTES, MADV_HUGEPAGE);
	s->blocks[n] = rows;
	s->groups[n] = groups;
	s->nblocks++;
	return true;
}

/* Note which rows come now. */
static bool
add_piece(GpucolRankRows *r, int store, uint64_t ordinal, uint32_t n)
{
	Store	   *s = &r->stores[store];

	if (s->npieces == s->pieces_size)
	{
		size_t		size = s->npieces == 0 ? 64 : 2 * s->npieces;

		if (!grow(r, &s->pieces, sizeof(Piece) * s->npieces, sizeof(Piece) * size))
			return false;
		s->pieces_size = size;
	}
	s->pieces[s->npieces++] = (Piece) {ordinal, (uint32_t) store, (uint32_t) s->nrows, n};
	return true;
}

GpucolStatus
gpucol_rank_rows_add(GpucolRankRows *r, int store, uint64_t ordinal, uint32_t n,
					 const uint32_t *groups, const GpucolBatchRow *rows)
{
	Store	   *s = &r->stores[store];

	if (n == 0)
		return GPUCOL_OK;
	if (s->nrows + n >= INT32_MAX)
		return GPUCOL_UNSUPPORTED;
	if (!add_piece(r, store, ordinal, n))
		return GPUCOL_OUT_OF_MEMORY;
	while (n > 0)
	{
		size_t		block = (size_t) (s->nrows >> BLOCK_BITS);
		uint32_t	at = (uint32_t) s->nrows & (BLOCK_ROWS - 1);
		uint32_t	take = BLOCK_ROWS - at < n ? BLOCK_ROWS - at : n;

		if (block == s->nblocks && !add_block(r, s))
			return GPUCOL_OUT_OF_MEMORY;
		memcpy(s->blocks[block] + at, rows, sizeof(GpucolBatchRow) * take);
		memcpy(s->groups[block] + at, groups, sizeof(uint32_t) * take);
		s->nrows += take;
		rows += take;
		groups += take;
		n -= take;
	}
	return GPUCOL_OK;
}

/*-------------------------------------------------------------------------
 * Groups
 *-------------------------------------------------------------------------
 */

/* First piece of a range: each has about as many rows. */
static size_t
range_start(const GpucolRankRows *r, int range)
{
	return r->npieces * (size_t) range / (size_t) r->nranges;
}

/* Turn the numbers of names in a store into those of all stores. */
static void
translate_x(GpucolBatchRow *rows, uint32_t n, const uint32_t *map)
{
	for (uint32_t i = 0; i < n; i++)
		if (rows[i].x >= GPUCOL_BATCH_X_NAME)
			rows[i].x = GPUCOL_BATCH_X_NAME + map[rows[i].x - GPUCOL_BATCH_X_NAME];
}

/* Count the rows of one stretch of a block by group. */
static void
count_rows(GpucolRankRows *r, const Piece *piece, uint32_t *counts, size_t block,
		   uint32_t at, uint32_t n)
{
	const Store *s = &r->stores[piece->store];
	uint32_t   *groups = s->groups[block] + at;

	if (r->how->x_maps != NULL)
		translate_x(s->blocks[block] + at, n, r->how->x_maps[piece->store]);
	if (r->how->group_maps != NULL)
	{
		const uint32_t *map = r->how->group_maps[piece->store];

		for (uint32_t i = 0; i < n; i++)
			groups[i] = map[groups[i]];
	}
	for (uint32_t i = 0; i < n; i++)
		counts[groups[i]]++;
}

/* Put the row numbers of one stretch of a block into their places. */
static void
order_rows(GpucolRankRows *r, const Piece *piece, uint32_t *counts, size_t block,
		   uint32_t at, uint32_t n)
{
	const Store *s = &r->stores[piece->store];
	const uint32_t *groups = s->groups[block] + at;
	uint32_t	number = (uint32_t) (((s->first_block + block) << BLOCK_BITS) + at);

	for (uint32_t i = 0; i < n; i++)
		r->order[counts[groups[i]]++] = number + i;
}

/* Do one of these for all rows of a range, piece by piece. */
static void
walk_range(GpucolRankRows *r, int range,
		   void (*rows) (GpucolRankRows *r, const Piece *piece, uint32_t *counts,
						 size_t block, uint32_t at, uint32_t n))
{
	uint32_t   *counts = r->counts + (size_t) range * r->ngroups;
	int64_t		since = 0;

	for (size_t i = range_start(r, range); i < range_start(r, range + 1); i++)
	{
		Piece		piece = r->pieces[i];

		since += piece.n;
		if (since >= CANCEL_ROWS && is_cancelled(r))
			return;
		since %= CANCEL_ROWS;
		while (piece.n > 0)
		{
			uint32_t	at = piece.first & (BLOCK_ROWS - 1);
			uint32_t	n = BLOCK_ROWS - at < piece.n ? BLOCK_ROWS - at : piece.n;

			rows(r, &piece, counts, piece.first >> BLOCK_BITS, at, n);
			piece.first += n;
			piece.n -= n;
		}
	}
}

static void
count_range(void *arg, int index)
{
	GpucolRankRows *r = (GpucolRankRows *) arg;

	memset(r->counts + (size_t) index * r->ngroups, 0, sizeof(uint32_t) * r->ngroups);
	walk_range(r, index, count_rows);
}

static void
order_range(void *arg, int index)
{
	walk_range((GpucolRankRows *) arg, index, order_rows);
}

/* First group of a part. */
static uint32_t
part_start(const GpucolRankRows *r, int part)
{
	return (uint32_t) ((uint64_t) r->ngroups * (uint64_t) part / (uint64_t) r->nparts);
}

/* Count the rows of a part of the groups. */
static void
count_part(void *arg, int index)
{
	GpucolRankRows *r = (GpucolRankRows *) arg;
	uint32_t	rows = 0;

	for (int i = 0; i < r->nranges; i++)
		for (uint32_t g = part_start(r, index); g < part_start(r, index + 1); g++)
			rows += r->counts[(size_t) i * r->ngroups + g];
	r->part_rows[index + 1] = rows;
}

/* From rows by range and group to places, groups one behind another, of a part of these. */
static void
place_part(void *arg, int index)
{
	GpucolRankRows *r = (GpucolRankRows *) arg;
	uint32_t	place = r->part_rows[index];

	for (uint32_t g = part_start(r, index); g < part_start(r, index + 1); g++)
	{
		r->starts[g] = place;
		for (int i = 0; i < r->nranges; i++)
		{
			uint32_t   *at = &r->counts[(size_t) i * r->ngroups + g];
			uint32_t	n = *at;

			*at = place;
			place += n;
		}
	}
}

/* The same of all groups. */
static bool
make_places(GpucolRankRows *r)
{
	r->nparts = r->nstores;
	r->part_rows = calloc((size_t) r->nparts + 1, sizeof(uint32_t));
	if (r->part_rows == NULL)
		return false;
	gpucol_pool_run(r->nparts, count_part, r);
	for (int i = 0; i < r->nparts; i++)
		r->part_rows[i + 1] += r->part_rows[i];
	gpucol_pool_run(r->nparts, place_part, r);
	r->starts[r->ngroups] = r->part_rows[r->nparts];
	free(r->part_rows);
	r->part_rows = NULL;
	return true;
}

/* The store whose next piece comes first, or -1. */
static int
next_store(const GpucolRankRows *r, const size_t *next)
{
	int			best = -1;

	for (int t = 0; t < r->nstores; t++)
		if (next[t] < r->stores[t].npieces &&
			(best < 0 || r->stores[t].pieces[next[t]].ordinal <
			 r->stores[best].pieces[next[best]].ordinal))
			best = t;
	return best;
}

/* Join the stores: their blocks, and their pieces in the order of the scan. */
static GpucolStatus
join_stores(GpucolRankRows *r)
{
	size_t		nblocks = 0;
	size_t	   *next = calloc((size_t) r->nstores, sizeof(size_t));
	int			t;

	for (t = 0; t < r->nstores; t++)
	{
		r->stores[t].first_block = (uint32_t) nblocks;
		nblocks += r->stores[t].nblocks;
		r->npieces += r->stores[t].npieces;
		r->nrows += r->stores[t].nrows;
	}
	if (next == NULL ||
		!grow(r, &r->blocks, 0, sizeof(void *) * nblocks) ||
		!grow(r, &r->pieces, 0, sizeof(Piece) * r->npieces))
	{
		free(next);
		return GPUCOL_OUT_OF_MEMORY;
	}
	for (t = 0; t < r->nstores; t++)
		if (r->stores[t].nblocks > 0)
			memcpy(r->blocks + r->stores[t].first_block, r->stores[t].blocks,
				   sizeof(void *) * r->stores[t].nblocks);
	for (size_t i = 0; (t = next_store(r, next)) >= 0; i++)
		r->pieces[i] = r->stores[t].pieces[next[t]++];
	free(next);
	return r->nrows >= INT32_MAX ? GPUCOL_UNSUPPORTED : GPUCOL_OK;
}

/* Order row numbers by group. */
static GpucolStatus
order_groups(GpucolRankRows *r)
{
	/* no more places than rows, or they would cost more than the threads save */
	int64_t		most = r->ngroups == 0 ? 1 : 1 + r->nrows / r->ngroups;
	size_t		bytes;

	r->nranges = most < r->nstores ? (int) most : r->nstores;
	bytes = sizeof(uint32_t) * (size_t) r->nranges * r->ngroups;
	if (!grow(r, &r->counts, 0, bytes) ||
		!grow(r, &r->starts, 0, sizeof(int64_t) * ((size_t) r->ngroups + 1)) ||
		!grow(r, &r->order, 0, sizeof(uint32_t) * (size_t) r->nrows))
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_pool_run(r->nranges, count_range, r);
	if (is_cancelled(r))
		return GPUCOL_CANCELLED;
	if (!make_places(r))
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_pool_run(r->nranges, order_range, r);
	gpucol_budget_free(r->memory, r->counts, bytes);
	r->counts = NULL;
	return is_cancelled(r) ? GPUCOL_CANCELLED : GPUCOL_OK;
}

GpucolStatus
gpucol_rank_rows_order(GpucolRankRows *r, uint32_t ngroups, const GpucolRankOrder *how)
{
	GpucolStatus status;

	r->ngroups = ngroups;
	r->how = how;
	status = join_stores(r);
	if (status == GPUCOL_OK)
		status = order_groups(r);
	r->how = NULL;
	return status;
}

int64_t
gpucol_rank_rows_before(const GpucolRankRows *r, uint32_t group)
{
	return r->starts[group];
}

void
gpucol_rank_rows_gather(const GpucolRankRows *r, uint32_t group, GpucolBatchRow *to)
{
	const uint32_t *order = r->order + r->starts[group];
	int64_t		n = r->starts[group + 1] - r->starts[group];

	for (int64_t i = 0; i < n; i++)
		to[i] = r->blocks[order[i] >> BLOCK_BITS][order[i] & (BLOCK_ROWS - 1)];
}

void
gpucol_rank_rows_destroy(GpucolRankRows *r)
{
	if (r == NULL)
		return;
	for (int t = 0; t < r->nstores; t++)
	{
		Store	   *s = &r->stores[t];

		for (size_t i = 0; i < s->nblocks; i++)
		{
			free(s->blocks[i]);
			free(s->groups[i]);
		}
		free(s->blocks);
		free(s->groups);
		free(s->pieces);
	}
	free(r->stores);
	free(r->blocks);
	free(r->pieces);
	free(r->counts);
	free(r->starts);
	free(r->order);
	free(r);
}
