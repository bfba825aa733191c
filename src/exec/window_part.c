/*-------------------------------------------------------------------------
 *
 * window_part.c
 *	  Windows over rows that exceed memory, in parts.
 *
 * Where the rows do not fit in gpucol.memory_limit, they are divided by the keys that all
 * windows partition by, so that every partition is in one part, and each part is kept in a file.
 * Parts are ranges of these keys, in the order that rows are delivered in: one part's rows
 * after another's are in order, too.  The ranges come of a sample; a part that is too large
 * still is divided again.
 *
 * Every part is computed twice.  A part may be beyond what the node can compute, in memory or
 * else, and once a row is delivered nothing can be left to PostgreSQL's own plan.  So the first
 * time nothing is delivered; what it took of memory at most is reserved until the node ends.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "port.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "exec/window.h"
#include "exec/window_agg.h"
#include "exec/window_file.h"

/* Parts of one node. */
#define MOST_PARTS		128

/* The share of memory that files may take at first. */
#define FILE_SHARE		16

/* What a part may need beyond its rows, as a multiple of these. */
#define WORK_FACTOR		4

/* Parts that one is divided into. */
#define DIVIDED			4

/* Rows that tell where ranges are to begin. */
#define SAMPLE_ROWS		2048

/* How often all parts are looked at. */
#define MOST_CHECKS		3

/* Rows that are distributed at once. */
#define STAGED_ROWS		8192

/* The keys of a row. */
typedef struct PartKeys
{
	Datum	   *values;
	bool	   *isnull;
} PartKeys;

/* Where parts begin, but for the first. */
typedef struct PartCuts
{
	int			n;
	PartKeys	keys[MOST_PARTS];
} PartCuts;

typedef struct GpucolWindowParts
{
	MemoryContext context;		/* of all of it */
	MemoryContext work;			/* of comparisons */
	GpucolBudget *budget;		/* what files and the largest part hold, of what queries may */
	GpucolBudget *common;		/* of the rows, before that is reserved */
	GpucolBudget own;			/* and then: nothing can be too much */
	bool		reserved;
	Size		peak;			/* bytes of the largest part */
	int			nkeys;
	int		   *inputs;			/* of the keys */
	SortSupport sorts;
	PartKeys	keys;			/* room for one row's */
	PartCuts	cuts;			/* of the rows that are taken */
	int			n;
	GpucolWindowFile parts[MOST_PARTS];
	int			at;				/* whose rows are in memory */
	uint64		partitions;		/* of all parts */
} GpucolWindowParts;

/* ------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------
 */

/* Does every window partition by an input? */
static bool
all_partition_by(const GpucolWindowState *state, int input)
{
	for (int i = 0; i < state->nclauses; i++)
	{
		const GpucolWindowClauseState *clause = &state->clauses[i];
		bool		found = false;

		for (int k = 0; k < clause->npartition; k++)
			found |= clause->keys[k].input == input;
		if (!found)
			return false;
	}
	return true;
}

/*
 * The keys that rows are divided by: of those that they are delivered in the order of, the
 * first ones that every window partitions by; or all that do, if the order does not matter.
 */
static void
find_keys(const GpucolWindowState *state, GpucolWindowParts *parts)
{
	const GpucolWindowClauseState *last = &state->clauses[state->clauses[state->last].leader];

	parts->inputs = palloc(Max(last->nkeys, 1) * sizeof(int));
	parts->sorts = palloc0(Max(last->nkeys, 1) * sizeof(SortSupportData));
	for (int k = 0; k < last->nkeys; k++)
	{
		const GpucolWindowKey *key = &last->keys[k];
		SortSupport sort = &parts->sorts[parts->nkeys];

		if (!all_partition_by(state, key->input))
		{
			if (state->ordered)
				break;
			continue;
		}
		sort->ssup_cxt = CurrentMemoryContext;
		sort->ssup_collation = key->collation;
		sort->ssup_nulls_first = key->nulls_first;
		PrepareSortSupportFromOrderingOp(key->sortop, sort);
		parts->inputs[parts->nkeys++] = key->input;
	}
}

static int
compare_keys(const void *a, const void *b, void *arg)
{
	const GpucolWindowParts *parts = arg;
	const PartKeys *x = a;
	const PartKeys *y = b;
	int			order = 0;

	for (int k = 0; k < parts->nkeys && order == 0; k++)
		order = ApplySortComparator(x->values[k], x->isnull[k], y->values[k], y->isnull[k],
									&parts->sorts[k]);
	return order;
}

/* Room for keys. */
static PartKeys
make_keys(const GpucolWindowParts *parts)
{
	return (PartKeys)
	{
		palloc(Max(parts->nkeys, 1) * sizeof(Datum)), palloc(Max(parts->nkeys, 1) * sizeof(bool))
	};
}

/* The keys of a row in memory, which are not copied. */
static void
read_keys(const GpucolWindowParts *parts, const GpucolWindowRows *rows, uint32 row, PartKeys *keys)
{
	for (int k = 0; k < parts->nkeys; k++)
	{
		keys->values[k] = rows->inputs[parts->inputs[k]].values[row];
		keys->isnull[k] = rows->inputs[parts->inputs[k]].isnull[row];
	}
}

/* A copy of them. */
static PartKeys
copy_keys(const GpucolWindowParts *parts, const GpucolWindowRows *rows, uint32 row)
{
	PartKeys	keys = make_keys(parts);

	read_keys(parts, rows, row, &keys);
	for (int k = 0; k < parts->nkeys; k++)
	{
		const GpucolWindowInput *in = &rows->inputs[parts->inputs[k]];

		if (!keys.isnull[k])
			keys.values[k] = datumCopy(keys.values[k], in->typbyval, in->typlen);
	}
	return keys;
}

/*
 * Where `wanted` parts are to begin by a sample of n rows' keys, which is sorted; there are fewer
 * where the rows have few keys.  No part begins with the least of them, so that two have rows.
 */
static void
choose_cuts(GpucolWindowParts *parts, PartKeys *sample, int n, int wanted, PartCuts *cuts)
{
	cuts->n = 0;
	qsort_arg(sample, n, sizeof(PartKeys), compare_keys, parts);
	for (int i = 1; i < n && cuts->n < wanted - 1; i++)
	{
		const PartKeys *before = cuts->n > 0 ? &cuts->keys[cuts->n - 1] : &sample[0];

		if ((int64) i * wanted >= (int64) (cuts->n + 1) * n && compare_keys(before, &sample[i], parts) != 0)
			cuts->keys[cuts->n++] = sample[i];
	}
}

/* The part of a row: how many begin with its keys or with lesser ones. */
static int
part_of(GpucolWindowParts *parts, const PartKeys *keys, const PartCuts *cuts)
{
	int			low = 0;
	int			high = cuts->n;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (compare_keys(&cuts->keys[middle], keys, parts) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* ------------------------------------------------------------------------
 * Files
 * ------------------------------------------------------------------------
 */

/* Have n more parts from `at` on; false if there are too many. */
static bool
add_parts(GpucolWindowParts *parts, int at, int n)
{
	MemoryContext old;

	if (parts->n + n > MOST_PARTS)
		return false;
	memmove(&parts->parts[at + n], &parts->parts[at], (parts->n - at) * sizeof(GpucolWindowFile));
	parts->n += n;
	old = MemoryContextSwitchTo(parts->context);
	for (int i = at; i < at + n; i++)
		gpucol_window_file_create(&parts->parts[i]);
	MemoryContextSwitchTo(old);
	return true;
}

/* Let a part go, whose rows are others' now. */
static void
remove_part(GpucolWindowParts *parts, int at)
{
	gpucol_window_file_close(&parts->parts[at]);
	parts->n--;
	memmove(&parts->parts[at], &parts->parts[at + 1], (parts->n - at) * sizeof(GpucolWindowFile));
	gpucol_budget_release(parts->budget, GPUCOL_WINDOW_FILE_BYTES);
}

/* Put n rows in memory, from one on, into the files of the parts from `first` on. */
static void
distribute_some(GpucolWindowState *state, uint32 from, uint32 n, int first, const PartCuts *cuts)
{
	GpucolWindowParts *parts = state->parts;
	uint8	   *part = palloc(n);
	uint32	   *numbers = palloc(n * sizeof(uint32));
	uint32		ends[MOST_PARTS + 1] = {0};

	for (uint32 i = 0; i < n; i++)
	{
		read_keys(parts, &state->rows, from + i, &parts->keys);
		part[i] = (uint8) part_of(parts, &parts->keys, cuts);
		ends[part[i] + 1]++;
	}
	for (int p = 0; p < cuts->n; p++)
		ends[p + 1] += ends[p];
	for (uint32 i = 0; i < n; i++)
		numbers[ends[part[i]]++] = from + i;
	for (int p = 0; p <= cuts->n; p++)
	{
		uint32		start = p == 0 ? 0 : ends[p - 1];

		if (start < ends[p])
			gpucol_window_file_write(&parts->parts[first + p], &state->rows, numbers + start, ends[p] - start);
	}
}

/* Put the rows in memory into files. */
static void
distribute(GpucolWindowState *state, int first, const PartCuts *cuts)
{
	MemoryContext old = MemoryContextSwitchTo(state->parts->work);

	for (uint32 from = 0; from < state->rows.nrows; from += STAGED_ROWS)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(state->parts->work);
		distribute_some(state, from, Min(state->rows.nrows - from, STAGED_ROWS), first, cuts);
	}
	MemoryContextSwitchTo(old);
	gpucol_window_rows_keep(&state->rows, NULL, 0);
}

/* Read a part's rows into memory; false where that does not suffice. */
static bool
read_rows(GpucolWindowState *state, GpucolWindowFile *part)
{
	uint32		n;

	if (!gpucol_window_rows_expect(&state->rows, part->nrows))
		return false;
	gpucol_window_file_rewind(part);
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (!gpucol_window_file_read(part, &state->rows, &n))
			return false;
	} while (n > 0);
	return true;
}

/* Read a part's next rows in place of those in memory; false after the last, or where memory does not suffice. */
static bool
read_some(GpucolWindowState *state, GpucolWindowFile *part)
{
	uint32		n;

	gpucol_window_rows_keep(&state->rows, NULL, 0);
	return gpucol_window_file_read(part, &state->rows, &n) && n > 0;
}

/* ------------------------------------------------------------------------
 * Dividing
 * ------------------------------------------------------------------------
 */

/* Add keys of the rows in memory to a sample of n, one for so many rows; its size. */
static int
sample_rows(const GpucolWindowState *state, uint64 each, PartKeys *sample, int n)
{
	MemoryContext old = MemoryContextSwitchTo(state->parts->context);

	for (uint64 row = 0; row < state->rows.nrows && n < SAMPLE_ROWS; row += each)
		sample[n++] = copy_keys(state->parts, &state->rows, (uint32) row);
	MemoryContextSwitchTo(old);
	return n;
}

/* Prepare for parts, in their memory. */
static GpucolWindowParts *
create_parts(GpucolWindowState *state)
{
	GpucolWindowParts *parts = palloc0(sizeof(GpucolWindowParts));

	parts->context = CurrentMemoryContext;
	parts->work = AllocSetContextCreate(CurrentMemoryContext, "gpucol window keys", ALLOCSET_DEFAULT_SIZES);
	parts->budget = gpucol_memory_open(0, gpucol_memory_queries());
	parts->common = state->rows.meter.budget;
	find_keys(state, parts);
	parts->keys = make_keys(parts);
	return parts;
}

/* Into how many parts are rows divided, some of which are in memory? */
static int
count_parts(const GpucolWindowState *state)
{
	double		rows = state->rows.nrows;
	double		expected = ((PlanState *) linitial(state->children))->plan->plan_rows;
	double		most = gpucol_memory_query_limit() / FILE_SHARE / GPUCOL_WINDOW_FILE_BYTES;

	return (int) Max(2, Min(Min(WORK_FACTOR * Max(expected / rows, 2), most), MOST_PARTS / 4));
}

/* Divide the rows taken so far; false where that cannot be. */
static bool
begin_parts(GpucolWindowState *state)
{
	MemoryContext context;
	MemoryContext old;
	PartKeys   *sample;
	GpucolWindowParts *parts;
	int			n;

	if (state->rows.nrows == 0)
		return false;
	context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt, "gpucol window parts",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	parts = state->parts = create_parts(state);
	sample = palloc(SAMPLE_ROWS * sizeof(PartKeys));
	MemoryContextSwitchTo(old);
	if (parts->nkeys == 0)
	{
		state->parts = NULL;
		MemoryContextDelete(context);
		return false;
	}
	n = sample_rows(state, state->rows.nrows / SAMPLE_ROWS + 1, sample, 0);
	choose_cuts(parts, sample, n, count_parts(state), &parts->cuts);
	add_parts(parts, 0, parts->cuts.n + 1);
	distribute(state, 0, &parts->cuts);
	state->few.next = PG_UINT32_MAX;
	/* of what the rows held until now */
	if (gpucol_window_rows_fit(&state->rows, 0) &&
		gpucol_budget_reserve(parts->budget, parts->n * GPUCOL_WINDOW_FILE_BYTES))
		return true;
	gpucol_window_parts_end(state);
	return false;
}

bool
gpucol_window_parts_put(GpucolWindowState *state)
{
	if (state->parts == NULL)
		return begin_parts(state);
	distribute(state, 0, &state->parts->cuts);
	return true;
}

/* A sample of a part's keys; its size. */
static int
sample_part(GpucolWindowState *state, GpucolWindowFile *part, PartKeys *sample)
{
	uint64		each = part->nrows / SAMPLE_ROWS + 1;
	int			n = 0;

	gpucol_window_file_rewind(part);
	while (read_some(state, part))
		n = sample_rows(state, each, sample, n);
	return n;
}

/*
 * Divide a part, whose rows are not in memory; how many take its place.  0: it has one key alone, there are
 * too many parts, or memory does not suffice.
 */
static int
divide_part(GpucolWindowState *state, int number)
{
	GpucolWindowParts *parts = state->parts;
	GpucolWindowFile *part = &parts->parts[number];
	PartKeys   *sample = MemoryContextAlloc(parts->context, SAMPLE_ROWS * sizeof(PartKeys));
	PartCuts   *cuts = MemoryContextAlloc(parts->context, sizeof(PartCuts));

	choose_cuts(parts, sample, sample_part(state, part, sample), DIVIDED, cuts);
	if (cuts->n == 0 || part->left > 0 ||
		!gpucol_budget_reserve(parts->budget, (cuts->n + 1) * GPUCOL_WINDOW_FILE_BYTES))
		return 0;
	if (!add_parts(parts, number + 1, cuts->n + 1))
		return 0;
	gpucol_window_file_rewind(part);
	while (read_some(state, part))
		distribute(state, number + 1, cuts);
	if (part->left > 0)
		return 0;
	remove_part(parts, number);
	return cuts->n + 1;
}

/* ------------------------------------------------------------------------
 * Computing
 * ------------------------------------------------------------------------
 */

/* Have a part's rows in memory and compute them; NULL, or why that cannot be. */
static const char *
compute_part(GpucolWindowState *state, int number)
{
	GpucolWindowParts *parts = state->parts;
	GpucolWindowRows *rows = &state->rows;
	const char *why = GPUCOL_WINDOW_MEMORY;
	uint64		taken = rows->taken;

	gpucol_window_rows_close(rows);
	rows->meter.budget->peak = 0;
	gpucol_window_rows_open(rows, state->css.ss.ps.state->es_query_cxt, false);
	rows->taken = taken;
	parts->at = number;
	state->next = 0;
	if (read_rows(state, &parts->parts[number]))
		why = gpucol_window_run(state);
	if (!parts->reserved)
		parts->peak = Max(parts->peak, rows->meter.budget->peak);
	state->peak = parts->peak;
	return why;
}

/* Reserve the memory of the largest part, of which those have theirs from here on. */
static bool
reserve_largest(GpucolWindowState *state)
{
	GpucolWindowParts *parts = state->parts;
	GpucolMeter *meter = &state->rows.meter;

	gpucol_budget_release(meter->budget, meter->counted);
	if (!gpucol_budget_reserve(parts->budget, parts->peak))
	{
		meter->counted = 0;
		return false;
	}
	meter->budget = &parts->own;
	gpucol_budget_reserve(meter->budget, meter->counted);
	parts->reserved = true;
	return true;
}

/* Compute every part once, and divide those that are too large; NULL, or why one cannot be computed. */
static const char *
compute_parts(GpucolWindowState *state)
{
	GpucolWindowParts *parts = state->parts;

	parts->peak = 0;
	parts->partitions = 0;
	for (int p = parts->n - 1; p >= 0; p--)
	{
		const char *why = compute_part(state, p);
		int			n = why == GPUCOL_WINDOW_MEMORY ? divide_part(state, p) : 0;

		if (why != NULL && n == 0)
			return why;
		if (why != NULL)
			p += n;				/* the last of these is next */
		else
			parts->partitions += gpucol_window_partitions(state);
	}
	return NULL;
}

const char *
gpucol_window_parts_check(GpucolWindowState *state)
{
	const char *why = NULL;

	distribute(state, 0, &state->parts->cuts);
	/* the files of parts that were divided later may leave less memory for one that was not */
	for (int i = 0; i < MOST_CHECKS && why == NULL; i++)
	{
		why = compute_parts(state);
		if (why == NULL && reserve_largest(state))
			return NULL;
	}
	return why != NULL ? why : GPUCOL_WINDOW_MEMORY;
}

/* Have a part that has been computed before. */
static void
show_part(GpucolWindowState *state, int number)
{
	const char *why = compute_part(state, number);

	if (why != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("window functions cannot be computed a second time"),
				 errdetail("Reason: %s.", why)));
}

bool
gpucol_window_parts_next(GpucolWindowState *state)
{
	GpucolWindowParts *parts = state->parts;

	if (parts == NULL || parts->at == parts->n - 1)
		return false;
	show_part(state, parts->at + 1);
	return true;
}

void
gpucol_window_parts_first(GpucolWindowState *state)
{
	if (state->parts != NULL && state->parts->at != 0)
		show_part(state, 0);
}

int
gpucol_window_parts_count(const GpucolWindowState *state, uint64 *partitions)
{
	if (state->parts == NULL)
		return 1;
	*partitions = state->parts->partitions;
	return state->parts->n;
}

void
gpucol_window_parts_end(GpucolWindowState *state)
{
	GpucolWindowParts *parts = state->parts;

	if (parts == NULL)
		return;
	for (int i = 0; i < parts->n; i++)
		gpucol_window_file_close(&parts->parts[i]);
	state->rows.meter.budget = parts->common;
	state->parts = NULL;
	MemoryContextDelete(parts->context);
}
