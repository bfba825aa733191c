/*-------------------------------------------------------------------------
 *
 * trial.c
 *	  Which engine is the faster one for a recursion, found out by running it.
 *
 * How many rounds a recursion will have, and how many rows they will bring, nobody knows
 * before.  The CPU engine begins at once and takes next to nothing for a round of few
 * rows; the device begins later and has the better of long rounds.  So the CPU engine
 * begins, and from time to time, while it looks for cancels, its time is compared
 * with what the device would have needed for the same rounds and rows.  Once that is half
 * as much, the device begins the recursion anew: until it has caught up, half of the time
 * spent is lost, and from there on it is ahead.
 *
 * Until then no row may be seen by the reader, since the device may find them in
 * another order: rows of a recursion that is read as its rounds find them are held back for
 * some time, after which the CPU engine keeps it.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "recursion/client/trial.h"

/*
 * What the device takes: milliseconds to begin, nanoseconds for a row that is loaded, for a
 * round, and for a row that rounds bring.  (On a H200 0.8 to 1.2 ms, 25 ns, 11 to 20 us and 2 to
 * 5 ns; the rest is for the way to the daemon.)
 */
#define DEVICE_MS		3.0
#define DEVICE_LOAD_NS	40.0
#define DEVICE_ROUND_NS	15000.0
#define DEVICE_ROW_NS	5.0

/* How much faster the device must be to be worth beginning anew. */
#define WORTH			2.0

/* Rows are held back for so many milliseconds, or until they have so many bytes. */
#define HOLD_MS			40.0
#define HOLD_BYTES		((size_t) 64 << 20)

/* A batch that is held back, followed by its columns. */
struct GpucolRecHeld
{
	GpucolRecHeld *next;
	uint32_t	nrows;
	bool		has_nulls;
	size_t		counted;		/* in the budget */
	int64_t		values[];		/* by column, then a byte a value if there are NULLs */
};

/* ---- the clock ---- */

/* Coarse: asked in every round, good to some milliseconds. */
static double
milliseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Milliseconds in which the device would have come as far. */
static double
device_time(const GpucolRecTrial *trial)
{
	GpucolRecProgress progress;

	gpucol_recursive_cpu.progress(trial->run, &progress);
	return DEVICE_MS + ((double) trial->rows * DEVICE_LOAD_NS +
						(double) progress.rounds * DEVICE_ROUND_NS +
						(double) progress.full * DEVICE_ROW_NS) / 1e6;
}

/* Decide, if it is time to; true: it goes to the device. */
static bool
decide(GpucolRecTrial *trial)
{
	if (trial->over || trial->left || trial->run == NULL)
		return trial->left;
	if (milliseconds() - trial->started < WORTH * device_time(trial))
		return false;
	trial->left = trial->device(trial->device_context);
	trial->over = !trial->left;
	return trial->left;
}

/* The CPU engine's look for a cancel. */
static bool
cancelled(void *context)
{
	GpucolRecTrial *trial = context;

	return (trial->cancelled != NULL && trial->cancelled(trial->context)) || decide(trial);
}

/* A status of the CPU engine, as the caller is to see it. */
static GpucolStatus
verdict(GpucolRecTrial *trial, GpucolStatus status)
{
	if (status == GPUCOL_OUT_OF_MEMORY && !trial->over)
		trial->left = trial->left || trial->device(trial->device_context);
	else if (status != GPUCOL_CANCELLED)
		trial->left = false;	/* it was done before it looked */
	return trial->left ? GPUCOL_UNPROFITABLE : status;
}

/* ---- rows held back ---- */

/* Free one; NULL is fine. */
static void
free_held(GpucolRecTrial *trial, GpucolRecHeld *held)
{
	if (held != NULL)
		gpucol_budget_release(&trial->memory, held->counted);
	free(held);
}

/*
 * Keep a copy of a batch; false: there is no memory.  One that the budget has no room for
 * is the last.
 */
static bool
hold(GpucolRecTrial *trial, int arity, const GpucolRecBatch *batch)
{
	size_t		column = batch->nrows * sizeof(int64_t);
	bool		has_nulls = false;
	size_t		size;
	GpucolRecHeld *held;
	uint8_t    *nulls;

	for (int c = 0; c < arity; c++)
		has_nulls |= batch->nulls != NULL && batch->nulls[c] != NULL;
	size = sizeof(*held) + (size_t) arity * (column + (has_nulls ? batch->nrows : 0));
	held = malloc(size);
	if (held == NULL)
		return false;
	held->next = NULL;
	held->nrows = batch->nrows;
	held->has_nulls = has_nulls;
	held->counted = gpucol_budget_reserve(&trial->memory, size) ? size : 0;
	trial->over |= held->counted == 0;
	nulls = (uint8_t *) held->values + (size_t) arity * column;
	for (int c = 0; c < arity; c++)
	{
		memcpy((char *) held->values + (size_t) c * column, batch->columns[c], column);
		if (!has_nulls)
			continue;
		if (batch->nulls[c] != NULL)
			memcpy(nulls + (size_t) c * batch->nrows, batch->nulls[c], batch->nrows);
		else
			memset(nulls + (size_t) c * batch->nrows, 0, batch->nrows);
	}
	trial->held_bytes += size;
	*trial->last = held;
	trial->last = &held->next;
	return true;
}

/* Hand out the first batch, in place of the one before; false: there is none. */
static bool
show(GpucolRecTrial *trial, int arity, GpucolRecBatch *out)
{
	GpucolRecHeld *held = trial->held;
	const uint8_t *nulls;

	free_held(trial, trial->shown);
	trial->shown = held;
	if (held == NULL)
		return false;
	trial->held = held->next;
	nulls = (const uint8_t *) (held->values + (size_t) arity * held->nrows);
	for (int c = 0; c < arity; c++)
	{
		trial->columns[c] = held->values + (size_t) c * held->nrows;
		trial->nulls[c] = held->has_nulls ? nulls + (size_t) c * held->nrows : NULL;
	}
	out->nrows = held->nrows;
	out->columns = trial->columns;
	out->nulls = trial->nulls;
	return true;
}

/*
 * Let the recursion run, holding its rows back, until it is clear where it runs; what
 * the engine says then comes after them.
 */
static GpucolStatus
hold_rows(GpucolRecTrial *trial, int arity, uint32_t relation)
{
	GpucolStatus status = GPUCOL_OK;
	GpucolRecBatch batch;

	trial->held_relation = relation;
	while (status == GPUCOL_OK && !trial->over)
	{
		status = gpucol_recursive_cpu.next(trial->run, relation, &batch);
		if (status == GPUCOL_OK && !hold(trial, arity, &batch))
			status = GPUCOL_OUT_OF_MEMORY;
		if (status == GPUCOL_OK && decide(trial))
			return GPUCOL_UNPROFITABLE;
		trial->over |= trial->held_bytes > trial->most_bytes ||
			milliseconds() - trial->started > HOLD_MS;
	}
	status = verdict(trial, status);
	if (status == GPUCOL_UNPROFITABLE || status == GPUCOL_CANCELLED)
		return status;
	trial->over = true;
	trial->held_end = status;
	return GPUCOL_OK;
}

/* ---- the trial ---- */

void
gpucol_rec_trial_begin(GpucolRecTrial *trial, uint64_t rows, GpucolRecOptions *options,
					   bool (*device) (void *), void *device_context)
{
	memset(trial, 0, sizeof(*trial));
	gpucol_budget_open(&trial->memory, 0, options->budget);
	trial->last = &trial->held;
	trial->started = milliseconds();
	trial->rows = rows;
	trial->device = device;
	trial->device_context = device_context;
	trial->cancelled = options->cancelled;
	trial->context = options->context;
	trial->most_bytes = HOLD_BYTES;
	if (options->memory_limit > 0 && options->memory_limit / 8 < HOLD_BYTES)
		trial->most_bytes = options->memory_limit / 8;
	options->cancelled = cancelled;
	options->context = trial;
}

bool
gpucol_rec_trial_streams(const GpucolRecPlan *plan, uint32_t relation)
{
	return plan->nstrata == 1 && plan->relations[relation].merge == GPUCOL_REC_MERGE_NONE;
}

GpucolStatus
gpucol_rec_trial_next(GpucolRecTrial *trial, const GpucolRecPlan *plan, uint32_t relation,
					  GpucolRecBatch *out)
{
	int			arity = plan->relations[relation].arity;
	GpucolStatus status = GPUCOL_OK;

	if (!trial->over && gpucol_rec_trial_streams(plan, relation))
		status = hold_rows(trial, arity, relation);
	if (status != GPUCOL_OK)
		return status;
	if (relation == trial->held_relation)
	{
		if (show(trial, arity, out))
			return GPUCOL_OK;
		if (trial->held_end != GPUCOL_OK)
			return trial->held_end;
	}
	status = verdict(trial, gpucol_recursive_cpu.next(trial->run, relation, out));
	trial->over |= status == GPUCOL_OK || status == GPUCOL_END;
	return status;
}

GpucolStatus
gpucol_rec_trial_summarise(GpucolRecTrial *trial, uint32_t relation, const bool *want,
						   uint64_t *nrows, GpucolRecSummary *columns)
{
	GpucolStatus status = verdict(trial, gpucol_recursive_cpu.summarise(trial->run, relation,
																		want, nrows, columns));

	trial->over |= status == GPUCOL_OK;
	return status;
}

void
gpucol_rec_trial_end(GpucolRecTrial *trial)
{
	free_held(trial, trial->shown);
	for (GpucolRecHeld *held = trial->held, *next; held != NULL; held = next)
	{
		next = held->next;
		free_held(trial, held);
	}
	trial->shown = trial->held = NULL;
}
