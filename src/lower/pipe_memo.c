/*-------------------------------------------------------------------------
 *
 * pipe_memo.c
 *	  What the search of joins has found out of keys and conditions.
 *
 * The search asks for each pair of relations, in both directions, whether the same few
 * expressions can be lowered.  The answer depends on the expression, and on which of its
 * columns are numerics without a precision among the rows of a plan; it is kept until the
 * statement is planned.  Expressions are found by their address and compared, since the
 * genetic search gives memory back while it goes on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "lower/pipe.h"

typedef struct MemoKey
{
	const Expr *expr;
	uint64		open;			/* bit i: column i is such a numeric */
	uint64		as;				/* GpucolPipeQuestion */
} MemoKey;

typedef struct MemoEntry
{
	MemoKey		key;
	Expr	   *copy;
	GpucolPipeAnswer answer;
} MemoEntry;

struct GpucolPipeMemo
{
	MemoryContext context;
	HTAB	   *entries;
};

static GpucolPipeMemo *memo = NULL;

/*
 * A statement is planned from here on.  Returns what to hand to the end: planning may call
 * functions that plan.
 */
GpucolPipeMemo *
gpucol_pipe_memo_begin(void)
{
	GpucolPipeMemo *outer = memo;

	memo = palloc0(sizeof(GpucolPipeMemo));
	return outer;
}

/*
 * The statement is planned, or is not going to be.
 */
void
gpucol_pipe_memo_end(GpucolPipeMemo *outer)
{
	if (memo != NULL && memo->context != NULL)
		MemoryContextDelete(memo->context);
	memo = outer;
}

static void
make_entries(void)
{
	HASHCTL		info = {.keysize = sizeof(MemoKey),.entrysize = sizeof(MemoEntry)};

	memo->context = AllocSetContextCreate(GetMemoryChunkContext(memo), "gpucol join conditions",
										  ALLOCSET_SMALL_SIZES);
	info.hcxt = memo->context;
	memo->entries = hash_create("gpucol join conditions", 64, &info,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/*
 * What is known of an expression; false if nothing is.
 */
bool
gpucol_pipe_recall(const Expr *expr, uint64 open, GpucolPipeQuestion as, GpucolPipeAnswer *answer)
{
	MemoKey		key = {expr, open, as};
	MemoEntry  *entry = memo == NULL || memo->entries == NULL ? NULL :
		hash_search(memo->entries, &key, HASH_FIND, NULL);

	if (entry == NULL || !equal(entry->copy, expr))
		return false;
	*answer = entry->answer;
	return true;
}

/*
 * Keep what was found out of it.
 */
void
gpucol_pipe_remember(const Expr *expr, uint64 open, GpucolPipeQuestion as, const GpucolPipeAnswer *answer)
{
	MemoKey		key = {expr, open, as};
	MemoryContext old;
	MemoEntry  *entry;
	Expr	   *copy;
	char	   *reason;

	if (memo == NULL)
		return;
	if (memo->entries == NULL)
		make_entries();
	old = MemoryContextSwitchTo(memo->context);
	copy = copyObject((Expr *) expr);
	reason = answer->reason == NULL ? NULL : pstrdup(answer->reason);
	entry = hash_search(memo->entries, &key, HASH_ENTER, NULL);
	entry->copy = copy;
	entry->answer = *answer;
	entry->answer.reason = reason;
	MemoryContextSwitchTo(old);
}
