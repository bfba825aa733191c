/*-------------------------------------------------------------------------
 *
 * beside.c
 *	  Ordinary aggregates beside rankings in one node.
 *
 * Both runs see the same rows under the same snapshot, so both have the same
 * groups.  The states of the aggregates are kept by group number (topk_keys.c),
 * and a batch of ranked groups looks its numbers up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ranking/exec/beside.h"
#include "ranking/cpu/rank_keys.h"
#include "service/memory.h"

struct GpucolBeside
{
	GpucolExec *exec;
	int			nkeys;
	const GpucolOutput *outputs;
	MemoryContext context;
	GpucolKeys *keys;			/* NULL without keys, and until the first groups */
	GpucolOwned memory;			/* of the keys and the states */
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
	GpucolBeside *b = arg;

	gpucol_keys_destroy(b->keys);
	gpucol_owned_free_all(&b->memory);
}

GpucolBeside *
gpucol_beside_create(GpucolExec *exec, int nkeys, const GpucolOutput *keys)
{
	GpucolBeside *b = palloc0(sizeof(GpucolBeside));
	MemoryContextCallback *callback = palloc0(sizeof(MemoryContextCallback));

	callback->func = release;
	callback->arg = b;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, callback);
	b->exec = exec;
	b->nkeys = nkeys;
	b->outputs = keys;
	b->context = CurrentMemoryContext;
	gpucol_owned_open(&b->memory, gpucol_run_budget(exec));
	return b;
}

/* A table for the keys, whose classes are known now; false: no memory. */
static bool
create_keys(GpucolBeside *b)
{
	uint8	   *classes = palloc(b->nkeys);

	for (int i = 0; i < b->nkeys; i++)
		classes[i] = b->outputs[i].cls;
	b->keys = gpucol_keys_create(&b->memory, b->nkeys, classes);
	pfree(classes);
	return b->keys != NULL;
}

/* Numbers of the groups of a batch; false: no memory. */
static bool
number_batch(GpucolBeside *b, const GpucolResult *batch)
{
	if (batch->nrows > b->numbers_size)
	{
		b->numbers = palloc(sizeof(uint32) * batch->nrows);
		b->numbers_size = batch->nrows;
	}
	if (b->nkeys == 0)
	{
		memset(b->numbers, 0, sizeof(uint32) * batch->nrows);
		return true;
	}
	if (b->keys == NULL && !create_keys(b))
		return false;
	if (!gpucol_keys_lookup(b->keys, batch->columns, batch->nrows, b->looked_up, b->numbers))
		return false;
	b->looked_up += batch->nrows;
	return true;
}

/* Find the groups of a batch, and room for the states of all; false: no memory. */
static bool
find_batch(GpucolBeside *b, const GpucolResult *batch)
{
	Size		groups;

	if (!number_batch(b, batch))
		return false;
	groups = b->nkeys > 0 ? gpucol_keys_count(b->keys) : 1;
	if (groups <= b->groups)
		return true;
	groups = Max(groups, 2 * b->groups);
	if (!gpucol_owned_grow(&b->memory, &b->states, b->state_bytes * groups))
		return false;
	memset(b->states + b->state_bytes * b->groups, 0, b->state_bytes * (groups - b->groups));
	b->groups = groups;
	return true;
}

/* Keep the states of a batch; false: no memory. */
static bool
keep_batch(GpucolBeside *b, const GpucolResult *batch)
{
	b->state_bytes = sizeof(GpucolAggState) * b->exec->program->naggs;
	if (!find_batch(b, batch))
		return false;
	for (uint32 i = 0; i < batch->nrows; i++)
		memcpy(b->states + b->numbers[i] * b->state_bytes,
			   batch->states + (Size) i * b->exec->program->naggs, b->state_bytes);
	return true;
}

GpucolStatus
gpucol_beside_run(GpucolBeside *b)
{
	GpucolResult batch;
	GpucolStatus status;

	while ((status = gpucol_run_next(b->exec, &batch)) == GPUCOL_OK)
	{
		MemoryContext old = MemoryContextSwitchTo(b->context);
		bool		kept;

		CHECK_FOR_INTERRUPTS();
		kept = keep_batch(b, &batch);
		MemoryContextSwitchTo(old);
		if (!kept)
		{
			b->exec->fallback = "groups need more memory than gpucol.memory_limit allows";
			return GPUCOL_OUT_OF_MEMORY;
		}
	}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

void
gpucol_beside_find(GpucolBeside *b, const GpucolResult *groups)
{
	MemoryContext old = MemoryContextSwitchTo(b->context);

	if (!find_batch(b, groups))
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
				 errhint("Increase %s.", gpucol_memory_setting("gpucol.memory_limit",
															   gpucol_memory_query_limit()))));
	MemoryContextSwitchTo(old);
}

const GpucolAggState *
gpucol_beside_states(const GpucolBeside *b, uint32 row)
{
	return (const GpucolAggState *) (b->states + b->numbers[row] * b->state_bytes);
}
