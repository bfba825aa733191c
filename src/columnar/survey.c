/*-------------------------------------------------------------------------
 *
 * survey.c
 *	  Where the pages of a table lie in shared buffers, and pins of threads.
 *
 * To look a page up and to pin it by PostgreSQL's functions takes 0.2 to 0.5 us, and
 * only a process's own thread may: nearly all of that is the table of buffers, the
 * process's own count of its pins and the resource owner's.  What reads much of a table by
 * threads does without the three.  The descriptors of all buffers are read once, one
 * after the other, by all threads together (7 ns each for one thread); what they say
 * tells where a block was, no more.  Then whoever reads a page pins it in its buffer's
 * state, as PinBuffer does, and looks whether the block is (still) there.  The state
 * word has the same meaning as ever: while it counts a pin the buffer is given to no other block.
 *
 * The rules of buf_internals.h: the state is changed by compare-and-swap while nobody
 * has the header locked; a tag does not change while there is a pin, and before only
 * under the header's lock; a pin that is given back wakes who waits for the others to go.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sched.h>

#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "storage/proc.h"

#include "columnar/survey.h"
#include "compat.h"

/* Descriptors that one thread reads while a page is looked up and pinned. */
#define DESCRIPTORS_A_PIN	64

/* Looks at a locked header before the processor is left to others. */
#define LOOKS				1000

struct GpucolSurvey
{
	GpucolCompatFile file;
	BlockNumber nblocks;
	Buffer		buffers[FLEXIBLE_ARRAY_MEMBER]; /* by block */
};

GpucolSurvey *
gpucol_survey_create(Relation table, int nthreads)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(table);
	GpucolSurvey *survey;

	if (RelationUsesLocalBuffers(table) || nblocks > (BlockNumber) NBuffers ||
		nblocks < (BlockNumber) (NBuffers / (DESCRIPTORS_A_PIN * Max(nthreads, 1))))
		return NULL;
	survey = MemoryContextAllocExtended(CurrentMemoryContext,
										offsetof(GpucolSurvey, buffers) + nblocks * sizeof(Buffer),
										MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	survey->file = gpucol_compat_relation_locator(table);
	survey->nblocks = nblocks;
	return survey;
}

void
gpucol_survey_take(GpucolSurvey *survey, int part, int nparts)
{
	int			first = (int) ((int64) NBuffers * part / nparts);
	int			end = (int) ((int64) NBuffers * (part + 1) / nparts);

	for (int i = first; i < end; i++)
	{
		const BufferDesc *desc = GetBufferDescriptor(i);
		BlockNumber block = desc->tag.blockNum;

		if (block < survey->nblocks && gpucol_compat_tag_is(&desc->tag, survey->file, block))
			survey->buffers[block] = i + 1;
	}
}

Buffer
gpucol_survey_find(const GpucolSurvey *survey, BlockNumber block)
{
	return block < survey->nblocks ? survey->buffers[block] : InvalidBuffer;
}

/* A buffer's state while its header is not locked. */
static uint32
read_state(BufferDesc *desc)
{
	uint32		state = pg_atomic_read_u32(&desc->state);

	for (int i = 1; state & BM_LOCKED; i++)
	{
		if (i % LOOKS == 0)
			sched_yield();
		state = pg_atomic_read_u32(&desc->state);
	}
	return state;
}

bool
gpucol_survey_hold(const GpucolSurvey *survey, Buffer buffer, BlockNumber block)
{
	BufferDesc *desc = GetBufferDescriptor(buffer - 1);
	uint32		state;
	uint32		pinned;

	if (!gpucol_compat_tag_is(&desc->tag, survey->file, block))
		return false;
	do
	{
		state = read_state(desc);
		if (!(state & BM_VALID))
			return false;
		pinned = state + BUF_REFCOUNT_ONE;
		if (BUF_STATE_GET_USAGECOUNT(state) < BM_MAX_USAGE_COUNT)
			pinned += BUF_USAGECOUNT_ONE;
	} while (!pg_atomic_compare_exchange_u32(&desc->state, &state, pinned));
	if (likely(gpucol_compat_tag_is(&desc->tag, survey->file, block)))
		return true;
	gpucol_survey_let_go(buffer);
	return false;
}

/* Somebody waits to be the only one that has a buffer pinned: is it? */
static void
wake_waiter(BufferDesc *desc)
{
	uint32		state;
	int			waiter = -1;

	do
		state = read_state(desc);
	while (!pg_atomic_compare_exchange_u32(&desc->state, &state, state | BM_LOCKED));
	if ((state & BM_PIN_COUNT_WAITER) && BUF_STATE_GET_REFCOUNT(state) == 1)
	{
		waiter = desc->wait_backend_pgprocno;
		state &= ~BM_PIN_COUNT_WAITER;
	}
	pg_write_barrier();
	pg_atomic_write_u32(&desc->state, state);
	if (waiter >= 0)
		ProcSendSignal(waiter);
}

void
gpucol_survey_let_go(Buffer buffer)
{
	BufferDesc *desc = GetBufferDescriptor(buffer - 1);
	uint32		state;

	do
		state = read_state(desc);
	while (!pg_atomic_compare_exchange_u32(&desc->state, &state, state - BUF_REFCOUNT_ONE));
	if (unlikely(state & BM_PIN_COUNT_WAITER))
		wake_waiter(desc);
}
