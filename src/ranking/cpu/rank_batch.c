/*-------------------------------------------------------------------------
 *
 * rank_batch.c
 *	  Many groups ranked together over threads.
 *
 * A thread takes a group, gathers its rows, and sorts them only as far as the
 * rankings need: a ranking is tried on the best rows first (select, then sort
 * them) and tried again on four times as many until it says that its answer is
 * settled.
 *
 *-------------------------------------------------------------------------
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hash_table.h"
#include "engine/cpu/cpu.h"
#include "ranking/cpu/rank_batch.h"

/* A thread's private state. */
typedef struct Worker
{
	GpucolStatus status;
	GpucolBatchRow *rows;		/* of the group at hand */
	int64_t		rows_size;
	double	   *p;
	int32_t    *x;				/* x-tuple numbers within the group */
	int32_t    *picks;			/* tuples that a ranking chose */
	int64_t		tuples_size;	/* of p, x and picks */
	uint64_t   *table;			/* hash table of number_x() */
	size_t		table_size;
	void	   *work;
	size_t		work_size;
	GpucolArena arena;		/* of answers */
	int64_t		bad_x;
	double		bad_mass;
} Worker;

struct GpucolBatch
{
	GpucolBudget *memory;
	GpucolRankRows *rows;
	GpucolBatchOptions options;
	GpucolBatchRanking *rankings;
	const int32_t **group_k;	/* by ranking: k of each group, or NULL */

	uint32_t	ngroups;
	GpucolBatchAnswer *answers; /* [ngroups * nrankings] */

	bool		alone;			/* rank in one thread */
	_Atomic bool order_needed;	/* that only one thread may ask for */

	int			nworkers;
	Worker	   *workers;
	uint32_t	done;
	_Atomic uint32_t next;		/* group of the current step */
	uint32_t	until;
};

/* Grow *block from `old` to `new` bytes, keeping its contents. */
static bool
grow(GpucolBatch *b, void *block, size_t old, size_t new)
{
	return gpucol_budget_grow(b->memory, block, old, new);
}

/*-------------------------------------------------------------------------
 * Preparation
 *-------------------------------------------------------------------------
 */

GpucolBatch *
gpucol_batch_create(GpucolBudget *memory, GpucolRankRows *rows,
					const GpucolBatchOptions *options)
{
	GpucolBatch *b = calloc(1, sizeof(*b));
	size_t		bytes = sizeof(GpucolBatchRanking) * (size_t) options->nrankings;

	if (b == NULL)
		return NULL;
	b->memory = memory;
	b->rows = rows;
	b->options = *options;
	b->nworkers = options->threads < 1 ? 1 : options->threads;
	if (b->nworkers > GPUCOL_CPU_MAX_THREADS)
		b->nworkers = GPUCOL_CPU_MAX_THREADS;
	b->rankings = malloc(bytes + 1);
	b->group_k = calloc((size_t) options->nrankings + 1, sizeof(int32_t *));
	b->workers = calloc((size_t) b->nworkers, sizeof(Worker));
	if (b->rankings == NULL || b->group_k == NULL || b->workers == NULL)
	{
		gpucol_batch_destroy(b);
		return NULL;
	}
	memcpy(b->rankings, options->rankings, bytes);
	return b;
}

GpucolStatus
gpucol_batch_prepare(GpucolBatch *b, uint32_t ngroups, uint32_t *const *group_maps,
					 uint32_t *const *x_maps)
{
	GpucolRankOrder how = {.group_maps = group_maps,.x_maps = x_maps,
	.cancelled = b->options.cancelled,.arg = b->options.cancelled_arg};

	b->ngroups = ngroups;
	if (!grow(b, &b->answers, 0, sizeof(GpucolBatchAnswer) * (size_t) ngroups *
			  (size_t) b->options.nrankings))
		return GPUCOL_OUT_OF_MEMORY;
	b->nworkers = gpucol_pool_ready(b->nworkers);
	return gpucol_rank_rows_order(b->rows, ngroups, &how);
}

void
gpucol_batch_set_k(GpucolBatch *b, int r, const int32_t *k)
{
	b->group_k[r] = k;
}

int64_t
gpucol_batch_group_rows(const GpucolBatch *b, uint32_t group)
{
	return gpucol_rank_rows_before(b->rows, group + 1) -
		gpucol_rank_rows_before(b->rows, group);
}

/*-------------------------------------------------------------------------
 * Sorting as far as needed
 *-------------------------------------------------------------------------
 */

/* An order is needed that only one thread may ask for; any will do, since the step is done again. */
static bool
any_order(GpucolBatch *b, int64_t l, int64_t r)
{
	atomic_store_explicit(&b->order_needed, true, memory_order_relaxed);
	return l < r;
}

/* The order of rows that differ in x only; those without x-tuple come last. */
static bool
x_before(GpucolBatch *b, int64_t l, int64_t r)
{
	if (l == r || l < 0 || r < 0 || b->options.x_cmp == NULL ||
		(l < GPUCOL_BATCH_X_NAME && r < GPUCOL_BATCH_X_NAME))
		return (uint64_t) l < (uint64_t) r;
	if (!b->alone)
		return any_order(b, l, r);
	return b->options.x_cmp(b->options.cmp_arg, l, r) < 0;
}

/* Does row a rank before row b? */
GPUCOL_CPU_INLINE bool
ranks_before(GpucolBatch *b, const GpucolBatchRow *l, const GpucolBatchRow *r)
{
	if (l->score != r->score)
		return l->score > r->score;
	if (l->p != r->p)
		return l->p > r->p;
	if (l->label != r->label)
	{
		int			c;

		if (b->options.label_cmp == NULL)
			return l->label < r->label;
		if (b->options.label_alone && !b->alone)
			return any_order(b, l->label, r->label);
		c = b->options.label_cmp(b->options.cmp_arg, l->label, r->label);
		if (c != 0)
			return c < 0;
	}
	return x_before(b, l->x, r->x);
}

GPUCOL_CPU_INLINE void
swap_rows(GpucolBatchRow *l, GpucolBatchRow *r)
{
	GpucolBatchRow t = *l;

	*l = *r;
	*r = t;
}

static void
insertion_sort(GpucolBatch *b, GpucolBatchRow *rows, int64_t n)
{
	for (int64_t i = 1; i < n; i++)
	{
		GpucolBatchRow row = rows[i];
		int64_t		j = i;

		for (; j > 0 && ranks_before(b, &row, &rows[j - 1]); j--)
			rows[j] = rows[j - 1];
		rows[j] = row;
	}
}

/* The median of three rows of the range, taken from pseudo-random places. */
static GpucolBatchRow
choose_pivot(GpucolBatch *b, const GpucolBatchRow *rows, int64_t n)
{
	uint64_t	h = (uint64_t) n * UINT64_C(0x9e3779b97f4a7c15);
	const GpucolBatchRow *l = &rows[(h >> 33) % (uint64_t) n];
	const GpucolBatchRow *m = &rows[n / 2];
	const GpucolBatchRow *r = &rows[(h >> 13) % (uint64_t) n];

	if (ranks_before(b, m, l))
	{
		const GpucolBatchRow *t = l;

		l = m;
		m = t;
	}
	if (ranks_before(b, r, m))
		m = ranks_before(b, r, l) ? l : r;
	return *m;
}

/*
 * Bring the best `m` of `n` rows to the front and sort them.  Quicksort (Hoare's
 * partition) that leaves alone what lies behind m.
 */
static void
sort_best(GpucolBatch *b, GpucolBatchRow *rows, int64_t n, int64_t m)
{
	while (n > 24 && m > 0)
	{
		GpucolBatchRow pivot = choose_pivot(b, rows, n);
		int64_t		i = -1;
		int64_t		j = n;

		for (;;)
		{
			do
				i++;
			while (ranks_before(b, &rows[i], &pivot));
			do
				j--;
			while (ranks_before(b, &pivot, &rows[j]));
			if (i >= j)
				break;
			swap_rows(&rows[i], &rows[j]);
		}
		j += j < n - 1;			/* [0, j) rank no later than [j, n), neither empty */
		if (m <= j)
			n = j;
		else if (j <= n - j)
		{
			sort_best(b, rows, j, j);
			rows += j;
			n -= j;
			m -= j;
		}
		else
		{
			sort_best(b, rows + j, n - j, m - j);
			n = m = j;
		}
	}
	if (m > 0)
		insertion_sort(b, rows, n);
}

/*-------------------------------------------------------------------------
 * One group
 *-------------------------------------------------------------------------
 */

/* The group whose rankings are being computed. */
typedef struct Group
{
	GpucolBatchRow *rows;
	int64_t		n;
	int64_t		sorted;			/* rows in ranking order so far */
	GpucolRankInput in;			/* of those */
} Group;

static bool
reserve_tuples(GpucolBatch *b, Worker *w, int64_t n)
{
	int64_t		size = w->tuples_size;

	if (n <= size)
		return true;
	if (n < 2 * size)
		n = 2 * size;
	if (!grow(b, &w->p, sizeof(double) * (size_t) size, sizeof(double) * (size_t) n) ||
		!grow(b, &w->x, sizeof(int32_t) * (size_t) size, sizeof(int32_t) * (size_t) n) ||
		!grow(b, &w->picks, sizeof(int32_t) * (size_t) size, sizeof(int32_t) * (size_t) n))
		return false;
	w->tuples_size = n;
	return true;
}

/* Number the x-tuples of the group densely into w->x. */
static bool
number_x(GpucolBatch *b, Worker *w, Group *g)
{
	size_t		slots = 16;
	int32_t		nx = 0;

	while (slots < 2 * (size_t) g->n)
		slots *= 2;
	if (slots > w->table_size)
	{
		if (!grow(b, &w->table, 16 * w->table_size, 16 * slots))
			return false;
		w->table_size = slots;
	}
	memset(w->table, 0xff, 16 * slots);
	for (int64_t i = 0; i < g->n; i++)
	{
		int64_t		x = g->rows[i].x;
		size_t		at;

		if (x < 0)
		{
			w->x[i] = nx++;
			continue;
		}
		GPUCOL_PROBE(at, (uint64_t) x * UINT64_C(0x9e3779b97f4a7c15) >> 20, slots,
					 w->table[2 * at + 1] == UINT64_MAX || w->table[2 * at] == (uint64_t) x);
		if (w->table[2 * at + 1] == UINT64_MAX)
		{
			w->table[2 * at] = (uint64_t) x;
			w->table[2 * at + 1] = (uint64_t) nx++;
		}
		w->x[i] = (int32_t) w->table[2 * at + 1];
	}
	g->in.x = w->x;
	g->in.nx = nx;
	return true;
}

/* Have the best `m` rows of the group in order. */
static GpucolStatus
sort_group(GpucolBatch *b, Worker *w, Group *g, int64_t m)
{
	if (m > g->n || b->options.has_x)
		m = g->n;
	if (m <= g->sorted)
		return GPUCOL_OK;
	if (!reserve_tuples(b, w, m))
		return GPUCOL_OUT_OF_MEMORY;
	sort_best(b, g->rows + g->sorted, g->n - g->sorted, m - g->sorted);
	for (int64_t i = g->sorted; i < m; i++)
		w->p[i] = g->rows[i].p;
	g->sorted = m;
	g->in.n = (int32_t) m;
	g->in.p = w->p;
	if (b->options.has_x && !number_x(b, w, g))
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

/* Lay the picked labels into the answer. */
static GpucolStatus
keep_answer(GpucolBatch *b, Worker *w, const Group *g, int32_t count,
			GpucolBatchAnswer *answer)
{
	int64_t    *labels;
	uint8_t    *nulls = NULL;

	answer->count = count;
	answer->labels = NULL;
	answer->nulls = NULL;
	if (count <= 0)
		return GPUCOL_OK;
	labels = gpucol_arena_take(&w->arena, b->memory, sizeof(int64_t) * (size_t) count);
	if (labels == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int32_t i = 0; i < count; i++)
	{
		bool		none = w->picks[i] < 0;

		if (none && nulls == NULL)
		{
			nulls = gpucol_arena_take(&w->arena, b->memory, (size_t) count);
			if (nulls == NULL)
				return GPUCOL_OUT_OF_MEMORY;
			memset(nulls, 0, (size_t) count);
		}
		if (none)
			nulls[i] = 1;
		labels[i] = none ? 0 : g->rows[w->picks[i]].label;
	}
	answer->labels = labels;
	answer->nulls = nulls;
	return GPUCOL_OK;
}

/* Compute one ranking over the rows sorted so far. */
static GpucolStatus
rank_once(GpucolBatch *b, Worker *w, Group *g, const GpucolBatchRanking *r,
		  GpucolRankWork *work, int32_t *count, double *probability)
{
	size_t		need = gpucol_rank_workspace(&g->in, r->k);

	if (need > w->work_size)
	{
		if (!grow(b, &w->work, w->work_size, need))
			return GPUCOL_OUT_OF_MEMORY;
		w->work_size = need;
	}
	work->memory = w->work;
	work->size = w->work_size;
	if (r->ranking == GPUCOL_RANK_EXPECTED && g->sorted < g->n)
	{
		work->settled = false;
		return GPUCOL_OK;
	}
	return gpucol_rank_choose(&g->in, r->ranking, r->k, r->threshold, work,
							  w->picks, count, probability);
}

/* One ranking of the group, over as many of its best rows as it takes. */
static GpucolStatus
rank_group(GpucolBatch *b, Worker *w, Group *g, const GpucolBatchRanking *r,
		   GpucolBatchAnswer *answer)
{
	GpucolRankWork work = {.cancelled = b->options.cancelled,
	.arg = b->options.cancelled_arg};
	int64_t		want = r->ranking == GPUCOL_RANK_EXPECTED ? g->n :
		3 * (int64_t) r->k + 32;
	int32_t		count = 0;
	GpucolStatus status;

	if (want > g->n / 2)
		want = g->n;
	for (;; want *= 4)
	{
		status = sort_group(b, w, g, want);
		if (status == GPUCOL_OK)
			status = rank_once(b, w, g, r, &work, &count, &answer->probability);
		if (status != GPUCOL_OK)
			return status;
		if (work.settled || g->sorted == g->n)
			return keep_answer(b, w, g, count, answer);
		if (want < g->sorted)
			want = g->sorted;
	}
}

/* Copy the group's rows together. */
static GpucolStatus
gather_group(GpucolBatch *b, Worker *w, uint32_t group, Group *g)
{
	memset(g, 0, sizeof(*g));
	g->n = gpucol_batch_group_rows(b, group);
	if (g->n > w->rows_size)
	{
		int64_t		size = g->n > 2 * w->rows_size ? g->n : 2 * w->rows_size;

		if (!grow(b, &w->rows, sizeof(GpucolBatchRow) * (size_t) w->rows_size,
				  sizeof(GpucolBatchRow) * (size_t) size))
			return GPUCOL_OUT_OF_MEMORY;
		w->rows_size = size;
	}
	g->rows = w->rows;
	gpucol_rank_rows_gather(b->rows, group, g->rows);
	return GPUCOL_OK;
}

/* No x-tuple's probabilities may exceed 1. */
static GpucolStatus
check_mass(GpucolBatch *b, Worker *w, Group *g)
{
	GpucolRankWork work = {0};
	size_t		need;
	int32_t		bad;
	GpucolStatus status = sort_group(b, w, g, g->n);

	if (status != GPUCOL_OK)
		return status;
	need = gpucol_rank_workspace(&g->in, 1);
	if (need > w->work_size)
	{
		if (!grow(b, &w->work, w->work_size, need))
			return GPUCOL_OUT_OF_MEMORY;
		w->work_size = need;
	}
	work.memory = w->work;
	work.size = w->work_size;
	if (gpucol_rank_mass_ok(&g->in, &work, &bad, &w->bad_mass))
		return GPUCOL_OK;
	for (int64_t i = 0; i < g->n; i++)
		if (w->x[i] == bad)
			w->bad_x = g->rows[i].x;
	return GPUCOL_CORRUPT;
}

static GpucolStatus
work_on_group(GpucolBatch *b, Worker *w, uint32_t group)
{
	Group		g;
	GpucolStatus status = gather_group(b, w, group, &g);

	if (status == GPUCOL_OK && b->options.has_x)
		status = check_mass(b, w, &g);
	for (int r = 0; r < b->options.nrankings && status == GPUCOL_OK; r++)
	{
		GpucolBatchRanking ranking = b->rankings[r];

		if (b->group_k[r] != NULL)
			ranking.k = b->group_k[r][group];
		status = rank_group(b, w, &g, &ranking,
							&b->answers[(size_t) group * (size_t) b->options.nrankings + (size_t) r]);
	}
	return status;
}

/* Take groups until the step's are dealt out. */
static void
work_share(void *arg, int index)
{
	GpucolBatch *b = (GpucolBatch *) arg;
	Worker	   *w = &b->workers[index];

	w->status = GPUCOL_OK;
	while (w->status == GPUCOL_OK)
	{
		uint32_t	from = atomic_fetch_add(&b->next, 16);

		if (from >= b->until)
			break;
		for (uint32_t g = from; g < from + 16 && g < b->until && w->status == GPUCOL_OK; g++)
			if (gpucol_batch_group_rows(b, g) > 0)
				w->status = work_on_group(b, w, g);
	}
}

/*-------------------------------------------------------------------------
 * Steps and answers
 *-------------------------------------------------------------------------
 */

GpucolStatus
gpucol_batch_step(GpucolBatch *b, int64_t rows)
{
	int64_t		end;

	if (b->done >= b->ngroups)
		return GPUCOL_END;
	end = gpucol_rank_rows_before(b->rows, b->done) + rows;
	b->until = b->done + 1;
	while (b->until < b->ngroups && gpucol_rank_rows_before(b->rows, b->until + 1) <= end)
		b->until++;
	atomic_store(&b->next, b->done);
	gpucol_pool_run(b->alone ? 1 : b->nworkers, work_share, b);
	for (int i = 0; i < (b->alone ? 1 : b->nworkers); i++)
		if (b->workers[i].status != GPUCOL_OK)
			return b->workers[i].status;
	if (!b->alone && atomic_load(&b->order_needed))
		return GPUCOL_UNSUPPORTED;
	b->done = b->until;
	return GPUCOL_OK;
}

void
gpucol_batch_rank_alone(GpucolBatch *b)
{
	b->alone = true;
}

uint32_t
gpucol_batch_done(const GpucolBatch *b)
{
	return b->done;
}

const GpucolBatchAnswer *
gpucol_batch_answer(const GpucolBatch *b, uint32_t group, int r)
{
	return &b->answers[(size_t) group * (size_t) b->options.nrankings + (size_t) r];
}

void
gpucol_batch_bad_mass(const GpucolBatch *b, int64_t *x, double *mass)
{
	for (int i = 0; i < b->nworkers; i++)
		if (b->workers[i].status == GPUCOL_CORRUPT)
		{
			*x = b->workers[i].bad_x;
			*mass = b->workers[i].bad_mass;
		}
}

void
gpucol_batch_destroy(GpucolBatch *b)
{
	if (b == NULL)
		return;
	for (int i = 0; b->workers != NULL && i < b->nworkers; i++)
	{
		Worker	   *w = &b->workers[i];

		gpucol_arena_free(&w->arena, b->memory);
		free(w->rows);
		free(w->p);
		free(w->x);
		free(w->picks);
		free(w->table);
		free(w->work);
	}
	free(b->workers);
	free(b->rankings);
	free(b->group_k);
	free(b->answers);
	free(b);
}
