/*-------------------------------------------------------------------------
 *
 * kept_words.c
 *	  Bitmaps of deleted rows that a cache of a backend keeps, within what the session may hold.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "columnar/kept_words.h"
#include "service/memory.h"

/* Bytes that a cache keeps at most, */
#define KEPT_BYTES	((Size) 32 * 1024 * 1024)
/* and the share of what the session may still hold. */
#define KEPT_SHARE	8

/* Have the session hold so many bytes more, if they leave enough for queries. */
static bool
reserve(Size kept, Size bytes)
{
	GpucolBudget *session = gpucol_memory_session();

	return kept + bytes <= KEPT_BYTES &&
		kept + bytes <= gpucol_budget_left(session) / KEPT_SHARE &&
		gpucol_budget_reserve(session, bytes);
}

uint32 *
gpucol_kept_words_copy(MemoryContext context, Size *kept, const uint32 *words, uint32 nwords)
{
	Size		bytes = nwords * sizeof(uint32);
	uint32	   *copy;

	if (!reserve(*kept, bytes))
		return NULL;
	copy = MemoryContextAllocExtended(context, bytes, MCXT_ALLOC_NO_OOM);
	if (copy == NULL)
	{
		gpucol_budget_release(gpucol_memory_session(), bytes);
		return NULL;
	}
	*kept += bytes;
	return memcpy(copy, words, bytes);
}

void
gpucol_kept_words_release(Size *kept, Size bytes)
{
	*kept -= bytes;
	gpucol_budget_release(gpucol_memory_session(), bytes);
}
