/*-------------------------------------------------------------------------
 *
 * ordinary.c
 *	  Ordinary aggregates beside rankings in one node.
 *
 * Both runs see the same rows under the same snapshot, so both have the same
 * groups.  The states of the aggregates are kept by group number (rank_keys.c),
 * and a batch of ranked groups looks its numbers up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ranking/exec/ordinary.h"
#include "ranking/cpu/rank_keys.h"
#include "service/memory.h"

struct GpucolOrdinaryAggs
{
	GpucolExec *exec;
	int			nkeys;
	const GpucolOutput *outputs;
	MemoryContext context;
	GpucolKeys *keys;			/* NULL without keys, and until the first groups */
	GpucolBudget memory;		/* of the keys */
	uint64		looked_up;		/* rows so far */
	Size		state_bytes;	/* of one group */
	char	   *states;			/* [groups] */
	Size		groups;			/* that there is room for */
	uint32	   *numbers;		/* of the batch at hand */
	uint32		numbers_size;
};

/* Context callback: let go of the keys. */
static void
release(void *arg)
{
	gpucol_keys_destroy(((GpucolOrdinaryAggs *) arg)->keys);
}

GpucolOrdinaryAggs *
gpucol_ordinary_create(GpucolExec *exec, int nkeys, const GpucolOutput *keys)
{
	GpucolOrdinaryAggs *b = palloc0(sizeof(GpucolOrdinaryAggs));

	gpucol_memory_watch(CurrentMemoryContext, release, b);
	b->exec = exec;
	b->nkeys = nkeys;
	b->outputs = keys;
	b->context = CurrentMemoryContext;
	return b;
}

static void
report_no_memory(void)
{
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
}

/* A table for the keys, whose classes are known now. */
static void
create_keys(GpucolOrdinaryAggs *b)
{
	uint8	   *classes = palloc(b->nkeys);

	for (int i = 0; i < b->nkeys; i++)
		classes[i] = b->outputs[i].cls;
	b->keys = gpucol_keys_create(&b->memory, b->nkeys, classes);
	if (b->keys == NULL)
		report_no_memory();
	pfree(classes);
}

/* Numbers of the groups of a batch. */
static void
number_batch(GpucolOrdinaryAggs *b, const GpucolResult *batch)
{
	if (batch->nrows > b->numbers_size)
	{
		b->numbers = palloc(sizeof(uint32) * batch->nrows);
		b->numbers_size = batch->nrows;
	}
	if (b->nkeys == 0)
	{
		memset(b->numbers, 0, sizeof(uint32) * batch->nrows);
		return;
	}
	if (b->keys == NULL)
		create_keys(b);
	if (!gpucol_keys_lookup(b->keys, batch->columns, batch->nrows, b->looked_up, b->numbers))
		report_no_memory();
	b->looked_up += batch->nrows;
}

/* Room for the states of so many groups. */
static void
reserve(GpucolOrdinaryAggs *b, Size groups)
{
	if (groups <= b->groups)
		return;
	groups = Max(groups, 2 * b->groups);
	b->states = b->states == NULL ?
		MemoryContextAllocHuge(b->context, b->state_bytes * groups) :
		repalloc_huge(b->states, b->state_bytes * groups);
	memset(b->states + b->state_bytes * b->groups, 0, b->state_bytes * (groups - b->groups));
	b->groups = groups;
}

/* Keep the states of a batch. */
static void
keep_batch(GpucolOrdinaryAggs *b, const GpucolResult *batch)
{
	b->state_bytes = sizeof(GpucolAggState) * b->exec->program->naggs;
	number_batch(b, batch);
	reserve(b, b->nkeys > 0 ? gpucol_keys_count(b->keys) : 1);
	for (uint32 i = 0; i < batch->nrows; i++)
		memcpy(b->states + b->numbers[i] * b->state_bytes,
			   batch->states + (Size) i * b->exec->program->naggs, b->state_bytes);
}

GpucolStatus
gpucol_ordinary_run(GpucolOrdinaryAggs *b)
{
	GpucolResult batch;
	GpucolStatus status;

	while ((status = gpucol_run_next(b->exec, &batch)) == GPUCOL_OK)
	{
		MemoryContext old = MemoryContextSwitchTo(b->context);

		CHECK_FOR_INTERRUPTS();
		keep_batch(b, &batch);
		MemoryContextSwitchTo(old);
	}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

void
gpucol_ordinary_find(GpucolOrdinaryAggs *b, const GpucolResult *groups)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);

	number_batch(b, groups);
	reserve(b, b->nkeys > 0 ? gpucol_keys_count(b->keys) : 1);
	MemoryContextSwitchTo(old);
}

const GpucolAggState *
gpucol_ordinary_states(const GpucolOrdinaryAggs *b, uint32 row)
{
	return (const GpucolAggState *) (b->states + b->numbers[row] * b->state_bytes);
}
