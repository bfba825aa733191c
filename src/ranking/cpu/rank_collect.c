/*-------------------------------------------------------------------------
 *
 * rank_collect.c
 *	  The rows that a scan's threads deliver, made into groups of label-confidence
 *	  rows.
 *
 * A thread has tables of its own for group keys and for the names of x-tuples, and
 * a store of rows for each set; nothing is shared until finish merges the tables, but
 * for the groups of a single integer key whose values lie together (rank_values.h).
 * An x-tuple of a small integer is that integer, moved to be positive; others are
 * named by their bytes.  A label of class S is kept once and stands for its place
 * in memory; a float is kept as its bits.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "engine/cpu/cpu.h"
#include "kernel/float_order.h"
#include "kernel/format.h"
#include "ranking/cpu/rank_collect.h"
#include "ranking/semantics/rank_values.h"

/* x-tuples between -X_ORIGIN and X_ORIGIN are their own numbers. */
#define X_ORIGIN	(GPUCOL_BATCH_X_NAME / 2)

/* What one thread has collected. */
typedef struct Thread
{
	GpucolKeys *keys;			/* NULL without keys */
	uint32_t   *numbers;		/* [nnumbers] of its groups, where threads share numbers */
	uint32_t	nnumbers;
	uint32_t	numbers_size;
	GpucolNames *names;			/* of x-tuples */
	GpucolArena labels;
	GpucolCollectError error;
	GpucolStatus status;
	bool	   *used;			/* [nsets] a row passed the filter */

	/* the rows at hand */
	uint32_t	groups[GPUCOL_VECTOR_VALUES];
	uint32_t	chosen[GPUCOL_VECTOR_VALUES];
	uint32_t	selected[GPUCOL_VECTOR_VALUES];
	GpucolBatchRow rows[GPUCOL_VECTOR_VALUES];
} Thread;

struct GpucolCollect
{
	GpucolBudget *memory;
	int			nkeys;
	uint8_t	   *classes;
	int			nsets;
	GpucolCollectSet *sets;
	GpucolRankRows **rows;		/* [nsets] */
	int			nthreads;
	Thread	  **threads;
	GpucolRankValues *values;	/* numbers that threads share; or NULL */

	/* since finish */
	GpucolKeys *keys;			/* of all threads */
	GpucolNames *names;
	uint32_t  **group_maps;		/* [nthreads], or NULL: one thread */
	uint32_t  **x_maps;
};

static Thread *
create_thread(GpucolCollect *c)
{
	Thread	   *t = calloc(1, sizeof(*t));

	if (t == NULL)
		return NULL;
	t->used = calloc((size_t) c->nsets + 1, sizeof(bool));
	t->names = gpucol_names_create(c->memory);
	if (c->nkeys > 0)
		t->keys = gpucol_keys_create(c->memory, c->nkeys, c->classes);
	return t;
}

GpucolCollect *
gpucol_collect_create(GpucolBudget *memory, int threads, int nkeys,
					  const uint8_t *classes, int nsets, const GpucolCollectSet *sets)
{
	GpucolCollect *c = calloc(1, sizeof(*c));
	bool		ok;

	if (c == NULL)
		return NULL;
	c->memory = memory;
	c->nkeys = nkeys;
	c->nsets = nsets;
	c->nthreads = threads < 1 ? 1 : threads > GPUCOL_CPU_MAX_THREADS ? GPUCOL_CPU_MAX_THREADS : threads;
	c->classes = malloc((size_t) nkeys + 1);
	c->sets = malloc(sizeof(GpucolCollectSet) * (size_t) nsets + 1);
	c->rows = calloc((size_t) nsets + 1, sizeof(void *));
	c->threads = calloc((size_t) c->nthreads, sizeof(Thread *));
	ok = c->classes != NULL && c->sets != NULL && c->rows != NULL && c->threads != NULL;
	if (ok)
	{
		memcpy(c->classes, classes, (size_t) nkeys);
		memcpy(c->sets, sets, sizeof(GpucolCollectSet) * (size_t) nsets);
	}
	for (int t = 0; ok && t < c->nthreads; t++)
	{
		c->threads[t] = create_thread(c);
		ok = c->threads[t] != NULL && c->threads[t]->used != NULL &&
			c->threads[t]->names != NULL && (nkeys == 0 || c->threads[t]->keys != NULL);
	}
	for (int s = 0; ok && s < nsets; s++)
	{
		c->rows[s] = gpucol_rank_rows_create(memory, c->nthreads);
		ok = c->rows[s] != NULL;
	}
	if (ok && c->nthreads > 1 && nkeys == 1 && classes[0] == GPUCOL_CLASS_I)
		c->values = gpucol_rank_values_create(memory);
	if (ok)
		return c;
	gpucol_collect_destroy(c);
	return NULL;
}

static void
destroy_thread(Thread *t, GpucolBudget *memory)
{
	if (t == NULL)
		return;
	gpucol_keys_destroy(t->keys);
	gpucol_names_destroy(t->names);
	gpucol_arena_free(&t->labels, memory);
	free(t->numbers);
	free(t->used);
	free(t);
}

/* Free n maps, or the one that all of them are. */
static void
free_maps_of(uint32_t **maps, int n)
{
	for (int i = n - 1; i > 0; i--)
		if (maps[i] != maps[0])
			free(maps[i]);
	free(maps[0]);
}

static void
free_maps(uint32_t **maps, int n)
{
	if (maps != NULL)
		free_maps_of(maps, n);
	free(maps);
}

void
gpucol_collect_destroy(GpucolCollect *c)
{
	if (c == NULL)
		return;
	/* one thread's tables are those of all */
	if (c->nthreads > 1)
	{
		gpucol_keys_destroy(c->keys);
		gpucol_names_destroy(c->names);
	}
	for (int t = 0; c->threads != NULL && t < c->nthreads; t++)
		destroy_thread(c->threads[t], c->memory);
	for (int s = 0; c->rows != NULL && s < c->nsets; s++)
		gpucol_rank_rows_destroy(c->rows[s]);
	gpucol_rank_values_destroy(c->values);
	free_maps(c->group_maps, c->nthreads);
	free_maps(c->x_maps, c->nthreads);
	free(c->threads);
	free(c->rows);
	free(c->sets);
	free(c->classes);
	free(c);
}

/*-------------------------------------------------------------------------
 * Rows
 *-------------------------------------------------------------------------
 */

static inline bool
is_null(const GpucolResultColumn *column, uint32_t i)
{
	return column->nulls != NULL && column->nulls[i];
}

/* Note the fault of a row, unless one has been found. */
static void
note_fault(Thread *t, GpucolCollectFault fault, uint64_t row)
{
	t->error.fault = fault;
	t->error.row = row;
}

/* Drop selected rows that are NULL in a column. */
static uint32_t
drop_nulls(Thread *t, const GpucolResultColumn *column, uint32_t n)
{
	uint32_t	kept = 0;

	if (column->nulls == NULL)
		return n;
	for (uint32_t j = 0; j < n; j++)
	{
		t->selected[kept] = t->selected[j];
		kept += !column->nulls[t->selected[j]];
	}
	return kept;
}

/* Select the rows that the FILTER lets pass. */
static uint32_t
filter_rows(Thread *t, const GpucolCollectSet *set, const GpucolResult *result)
{
	const GpucolResultColumn *filter = set->filter < 0 ? NULL : &result->columns[set->filter];
	uint32_t	n = 0;

	for (uint32_t i = 0; i < result->nrows; i++)
	{
		t->selected[n] = i;
		n += filter == NULL || (!is_null(filter, i) && filter->i[i]);
	}
	return n;
}

/* Check k of the selected rows where it is a group key; false at a fault. */
static bool
check_k(Thread *t, const GpucolCollectSet *set, const GpucolResultColumn *columns,
		uint32_t n, uint64_t first)
{
	for (uint32_t j = 0; set->nk > 0 && j < n; j++)
	{
		uint32_t	i = t->selected[j];

		for (int c = 0; c < set->nk; c++)
		{
			const GpucolResultColumn *k = &columns[set->k_keys[c]];

			if (!is_null(k, i) && k->i[i] >= 1)
				continue;
			note_fault(t, is_null(k, i) ? GPUCOL_COLLECT_K_NULL : GPUCOL_COLLECT_BAD_K, first + i);
			t->error.value.k = is_null(k, i) ? 0 : k->i[i];
			return false;
		}
	}
	return true;
}

/* Scores, as int64 that sort like them. */
static void
make_scores(Thread *t, const GpucolResultColumn *column, uint32_t n)
{
	const uint32_t *selected = t->selected;
	GpucolBatchRow *rows = t->rows;

	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			for (uint32_t j = 0; j < n; j++)
				rows[j].score = (int64_t) column->d[selected[j]];
			break;
		case GPUCOL_CLASS_F:
			for (uint32_t j = 0; j < n; j++)
				rows[j].score = gpucol_float_order(column->f[selected[j]]);
			break;
		default:
			for (uint32_t j = 0; j < n; j++)
				rows[j].score = column->i[selected[j]];
			break;
	}
}

/* Probabilities; false at a fault. */
static bool
make_probabilities(Thread *t, const GpucolCollectSet *set,
				   const GpucolResultColumn *column, uint32_t n, uint64_t first)
{
	bool		decimal = column->cls == GPUCOL_CLASS_D;

	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	i = t->selected[j];
		double		p = decimal ? (double) (int64_t) column->d[i] / set->divisor : column->f[i];

		if (!(p >= 0 && p <= 1))
		{
			note_fault(t, GPUCOL_COLLECT_BAD_P, first + i);
			t->error.value.p = p;
			return false;
		}
		t->rows[j].p = p;
	}
	return true;
}

/* Keep a label of class S; 0 beyond the limit. */
static int64_t
store_label(GpucolCollect *c, Thread *t, GpucolBytes bytes)
{
	GpucolStoredLabel *label = gpucol_arena_take(&t->labels, c->memory,
												 sizeof(GpucolStoredLabel) + bytes.len);

	if (label == NULL)
		return 0;
	label->len = bytes.len;
	if (bytes.len > 0)
		memcpy(label->data, bytes.data, bytes.len);
	return (int64_t) (intptr_t) label;
}

/* The words that stand for labels; false beyond the limit. */
static bool
make_labels(GpucolCollect *c, Thread *t, const GpucolResultColumn *column, uint32_t n)
{
	const uint32_t *selected = t->selected;
	GpucolBatchRow *rows = t->rows;

	switch (column->cls)
	{
		case GPUCOL_CLASS_S:
			for (uint32_t j = 0; j < n; j++)
			{
				rows[j].label = store_label(c, t, column->s[selected[j]]);
				if (rows[j].label == 0)
					return false;
			}
			break;
		case GPUCOL_CLASS_F:
			for (uint32_t j = 0; j < n; j++)
				memcpy(&rows[j].label, &column->f[selected[j]], sizeof(double));
			break;
		case GPUCOL_CLASS_D:
			for (uint32_t j = 0; j < n; j++)
				rows[j].label = (int64_t) column->d[selected[j]];
			break;
		default:
			for (uint32_t j = 0; j < n; j++)
				rows[j].label = column->i[selected[j]];
			break;
	}
	return true;
}

/* What tells the rows' x-tuples apart; false beyond the limit. */
static bool
make_x(Thread *t, const GpucolResultColumn *column, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	i = t->selected[j];
		uint32_t	number;
		GpucolBytes name;

		if (is_null(column, i))
			continue;
		if (column->cls != GPUCOL_CLASS_S && column->i[i] >= -X_ORIGIN && column->i[i] < X_ORIGIN)
		{
			t->rows[j].x = column->i[i] + X_ORIGIN;
			continue;
		}
		name = column->cls == GPUCOL_CLASS_S ? column->s[i] :
			(GpucolBytes) {(const char *) &column->i[i], sizeof(int64_t)};
		if (!gpucol_names_number(t->names, name, &number))
			return false;
		t->rows[j].x = GPUCOL_BATCH_X_NAME + number;
	}
	return true;
}

/* Turn the rows of one set that count into label-confidence rows, a column at a time. */
static GpucolStatus
take_set(GpucolCollect *c, int s, int thread, uint64_t ordinal, const GpucolResult *result)
{
	const GpucolCollectSet *set = &c->sets[s];
	const GpucolResultColumn *columns = result->columns;
	Thread	   *t = c->threads[thread];
	uint64_t	first = ordinal * GPUCOL_VECTOR_VALUES;
	uint32_t	n = filter_rows(t, set, result);

	if (n == 0)
		return GPUCOL_OK;
	t->used[s] = true;
	if (!check_k(t, set, columns, n, first))
		return GPUCOL_OK;
	n = drop_nulls(t, &columns[set->score], n);
	n = drop_nulls(t, &columns[set->probability], n);
	if (set->label >= 0)
		n = drop_nulls(t, &columns[set->label], n);
	make_scores(t, &columns[set->score], n);
	if (!make_probabilities(t, set, &columns[set->probability], n, first))
		return GPUCOL_OK;
	for (uint32_t j = 0; j < n; j++)
	{
		t->rows[j].label = 0;
		t->rows[j].x = -1;
		t->chosen[j] = t->groups[t->selected[j]];
	}
	if ((set->label >= 0 && !make_labels(c, t, &columns[set->label], n)) ||
		(set->x >= 0 && !make_x(t, &columns[set->x], n)))
		return GPUCOL_OUT_OF_MEMORY;
	return gpucol_rank_rows_add(c->rows[s], thread, ordinal, n, t->chosen, t->rows);
}

/* Number the groups of rows [from, from + n), which are not numbered by their values. */
static bool
number_others(GpucolCollect *c, Thread *t, const GpucolResultColumn *key, uint32_t from,
			  uint32_t n, uint64_t first)
{
	GpucolResultColumn column = *key;
	uint32_t   *groups = t->groups + from;

	column.i += from;
	if (column.nulls != NULL)
		column.nulls += from;
	if (!gpucol_keys_lookup(t->keys, &column, n, first + from, groups))
		return false;
	while (t->nnumbers < gpucol_keys_count(t->keys))
	{
		if (t->nnumbers == t->numbers_size)
		{
			uint32_t	size = t->numbers_size == 0 ? 64 : 2 * t->numbers_size;

			if (!gpucol_budget_grow(c->memory, &t->numbers, sizeof(uint32_t) * t->numbers_size,
									sizeof(uint32_t) * size))
				return false;
			t->numbers_size = size;
		}
		t->numbers[t->nnumbers++] = gpucol_rank_values_new(c->values);
	}
	for (uint32_t i = 0; i < n; i++)
		groups[i] = t->numbers[groups[i]];
	return true;
}

/* Number the groups of rows by their values, where these lie together. */
static bool
number_values(GpucolCollect *c, Thread *t, const GpucolResult *rows, uint64_t first)
{
	const GpucolResultColumn *key = &rows->columns[0];
	uint32_t	others = 0;		/* rows before i that are to be numbered otherwise */

	for (uint32_t i = 0; i < rows->nrows; i++)
	{
		if (is_null(key, i) || !gpucol_rank_values_number(c->values, key->i[i], &t->groups[i]))
		{
			others++;
			continue;
		}
		if (others > 0 && !number_others(c, t, key, i - others, others, first))
			return false;
		others = 0;
	}
	return others == 0 || number_others(c, t, key, rows->nrows - others, others, first);
}

/* Number the groups of rows. */
static bool
number_groups(GpucolCollect *c, Thread *t, const GpucolResult *rows, uint64_t first)
{
	if (c->nkeys == 0)
		memset(t->groups, 0, sizeof(uint32_t) * rows->nrows);
	else if (c->values != NULL)
		return number_values(c, t, rows, first);
	else
		return gpucol_keys_lookup(t->keys, rows->columns, rows->nrows, first, t->groups);
	return true;
}

GpucolStatus
gpucol_collect_take(void *arg, int thread, uint64_t ordinal, const GpucolResult *rows)
{
	GpucolCollect *c = (GpucolCollect *) arg;
	Thread	   *t = c->threads[thread];

	/* there will be an error: that of the row that comes first */
	if (t->error.fault != GPUCOL_COLLECT_FINE)
		return GPUCOL_OK;
	if (!number_groups(c, t, rows, ordinal * GPUCOL_VECTOR_VALUES))
		t->status = GPUCOL_OUT_OF_MEMORY;
	for (int s = 0; s < c->nsets && t->status == GPUCOL_OK &&
		 t->error.fault == GPUCOL_COLLECT_FINE; s++)
		t->status = take_set(c, s, thread, ordinal, rows);
	return t->status;
}

GpucolStatus
gpucol_collect_status(const GpucolCollect *c)
{
	for (int t = 0; t < c->nthreads; t++)
		if (c->threads[t]->status != GPUCOL_OK)
			return c->threads[t]->status;
	return GPUCOL_OK;
}

/*-------------------------------------------------------------------------
 * The end
 *-------------------------------------------------------------------------
 */

/* The fault of the row that comes first. */
static GpucolCollectError
first_error(const GpucolCollect *c)
{
	GpucolCollectError best = {.fault = GPUCOL_COLLECT_FINE};

	for (int t = 0; t < c->nthreads; t++)
	{
		const GpucolCollectError *error = &c->threads[t]->error;

		if (error->fault != GPUCOL_COLLECT_FINE &&
			(best.fault == GPUCOL_COLLECT_FINE || error->row < best.row))
			best = *error;
	}
	return best;
}

/* Merge the threads' names of x-tuples. */
static bool
merge_names(GpucolCollect *c)
{
	c->names = gpucol_names_create(c->memory);
	c->x_maps = calloc((size_t) c->nthreads, sizeof(uint32_t *));
	if (c->names == NULL || c->x_maps == NULL)
		return false;
	for (int t = 0; t < c->nthreads; t++)
	{
		c->x_maps[t] = gpucol_names_merge(c->names, c->threads[t]->names);
		if (c->x_maps[t] == NULL)
			return false;
	}
	return true;
}

/*
 * Add the groups that are numbered by their values to the merged ones, in the order of
 * the values; one map for all threads takes the place of theirs.
 */
static GpucolStatus
add_values(GpucolCollect *c)
{
	uint32_t   *map = gpucol_budget_alloc(c->memory, sizeof(uint32_t) *
										  ((size_t) gpucol_rank_values_count(c->values) + 1));

	if (map == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int t = 0; t < c->nthreads; t++)
		for (uint32_t g = 0; g < c->threads[t]->nnumbers; g++)
			map[c->threads[t]->numbers[g]] = c->group_maps[t][g];
	free_maps_of(c->group_maps, c->nthreads);
	for (int t = 0; t < c->nthreads; t++)
		c->group_maps[t] = map;
	for (uint32_t i = 0; i < GPUCOL_RANK_VALUES; i++)
	{
		uint32_t	number = atomic_load_explicit(&c->values->numbers[i], memory_order_relaxed);

		if (number > 0 &&
			!gpucol_keys_append(c->keys, (int64_t) ((uint64_t) c->values->base + i), &map[number - 1]))
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* Merge the threads' group keys. */
static GpucolStatus
merge_keys(GpucolCollect *c, bool (*cancelled) (void *arg), void *arg)
{
	GpucolKeys **from = calloc((size_t) c->nthreads, sizeof(GpucolKeys *));
	GpucolStatus status = GPUCOL_OUT_OF_MEMORY;

	c->keys = gpucol_keys_create(c->memory, c->nkeys, c->classes);
	c->group_maps = calloc((size_t) c->nthreads, sizeof(uint32_t *));
	for (int t = 0; from != NULL && t < c->nthreads; t++)
		from[t] = c->threads[t]->keys;
	if (from != NULL && c->keys != NULL && c->group_maps != NULL)
		status = gpucol_keys_merge(c->keys, from, c->nthreads, cancelled, arg, c->group_maps);
	if (status == GPUCOL_OK && c->values != NULL)
		status = add_values(c);
	free(from);
	return status;
}

/* Has some thread named an x-tuple? */
static bool
has_names(const GpucolCollect *c)
{
	for (int t = 0; t < c->nthreads; t++)
		if (gpucol_names_count(c->threads[t]->names) > 0)
			return true;
	return false;
}

GpucolStatus
gpucol_collect_finish(GpucolCollect *c, bool (*cancelled) (void *arg), void *arg,
					  GpucolCollectError *error)
{
	*error = first_error(c);
	if (error->fault != GPUCOL_COLLECT_FINE)
		return GPUCOL_CORRUPT;
	if (c->nthreads == 1)
	{
		c->keys = c->threads[0]->keys;
		c->names = c->threads[0]->names;
		return GPUCOL_OK;
	}
	if (has_names(c) && !merge_names(c))
		return GPUCOL_OUT_OF_MEMORY;
	return c->nkeys == 0 ? GPUCOL_OK : merge_keys(c, cancelled, arg);
}

uint32_t
gpucol_collect_ngroups(const GpucolCollect *c)
{
	return c->nkeys == 0 ? 1 : gpucol_keys_count(c->keys);
}

const GpucolKeys *
gpucol_collect_keys(const GpucolCollect *c)
{
	return c->keys;
}

bool
gpucol_collect_is_used(const GpucolCollect *c, int set)
{
	for (int t = 0; t < c->nthreads; t++)
		if (c->threads[t]->used[set])
			return true;
	return false;
}

GpucolRankRows *
gpucol_collect_rows(const GpucolCollect *c, int set, uint32_t *const **group_maps,
					uint32_t *const **x_maps)
{
	*group_maps = c->group_maps;
	*x_maps = c->x_maps;
	return c->rows[set];
}

bool
gpucol_collect_x(const GpucolCollect *c, int64_t x, GpucolBytes *name, int64_t *value)
{
	if (x < GPUCOL_BATCH_X_NAME)
	{
		*value = x - X_ORIGIN;
		return false;
	}
	*name = gpucol_names_get(c->names, (uint32_t) (x - GPUCOL_BATCH_X_NAME));
	return true;
}
