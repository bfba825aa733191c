/*-------------------------------------------------------------------------
 *
 * folded_rows.c
 *	  Rows that bitmaps have, which a backend keeps as long as nothing is folded.
 *
 * A view that nothing has changed is kept as a whole, with all deleted rows (view_cache.c).  Where others write to the
 * table all the time, segments and tombstones are read each time, a few of them.  Bitmaps are many, one for
 * 8,192 rows, and change at a fold only; a row of the directory says so (fold_count.c).
 *
 * A table's are forgotten as soon as there was another fold.  Those of the table that was read
 * least recently make room for another's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "columnar/folded_rows.h"
#include "columnar/kept_words.h"
#include "compat.h"

typedef struct TableKey
{
	Oid			space;
	Oid			file;			/* of the TOAST relation */
} TableKey;

/* What is kept of a table. */
typedef struct Table
{
	TableKey	key;			/* must be first */
	GpucolFoldState state;
	uint64		used;			/* when last */
	MemoryContext context;		/* of the rest; NULL if there is none */
	HTAB	   *segments;
	Size		bytes;
} Table;

typedef struct Segment
{
	uint64		first_row;		/* must be first */
	TransactionId xmin;			/* of its entry */
	uint32		n;				/* bits that are set */
	uint32		nwords;
	uint32	   *words;			/* NULL: no row of it is folded */
} Segment;

static HTAB *tables = NULL;
static Size kept_bytes = 0;
static uint64 uses = 0;

static void
forget(Table *table)
{
	if (table->context == NULL)
		return;
	gpucol_kept_words_release(&kept_bytes, table->bytes);
	MemoryContextDelete(table->context);
	table->context = NULL;
	table->bytes = 0;
}

/* What is kept of a table in a state; NULL if nothing, and none is to be made. */
static Table *
find_table(GpucolDirectory *dir, GpucolFoldState state, bool make)
{
	TableKey	key = {gpucol_compat_relation_space(dir->toast), gpucol_compat_relation_file(dir->toast)};
	Table	   *table;
	bool		found;

	if (tables == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(TableKey), .entrysize = sizeof(Table)};

		tables = hash_create("gpucol folded rows", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	table = hash_search(tables, &key, make ? HASH_ENTER : HASH_FIND, &found);
	if (table == NULL)
		return NULL;
	if (!found)
	{
		table->context = NULL;
		table->bytes = 0;
	}
	else if (table->state.generation != state.generation || table->state.folder != state.folder)
		forget(table);
	table->state = state;
	table->used = ++uses;
	return table;
}

/* Forget the table that was used least recently, but for one; false if there is no other. */
static bool
forget_oldest(const Table *but)
{
	Table	   *oldest = NULL;
	Table	   *table;
	HASH_SEQ_STATUS scan;

	hash_seq_init(&scan, tables);
	while ((table = hash_seq_search(&scan)) != NULL)
	{
		if (table != but && table->context != NULL && (oldest == NULL || table->used < oldest->used))
			oldest = table;
	}
	if (oldest == NULL)
		return false;
	forget(oldest);
	return true;
}

bool
gpucol_folded_rows_find(GpucolDirectory *dir, GpucolFoldState state, const GpucolViewSegment *segment,
						uint32 *rows, uint32 nwords, uint32 *n)
{
	Table	   *table = state.generation == 0 ? NULL : find_table(dir, state, false);
	const Segment *kept;

	if (table == NULL || table->context == NULL)
		return false;
	kept = hash_search(table->segments, &segment->entry.first_row, HASH_FIND, NULL);
	if (kept == NULL || kept->xmin != segment->xmin || kept->nwords != nwords)
		return false;
	if (kept->words != NULL)
		memcpy(rows, kept->words, nwords * sizeof(uint32));
	else
		memset(rows, 0, nwords * sizeof(uint32));
	*n = kept->n;
	return true;
}

/* A copy of a bitmap in a table's context, or NULL if there is no room. */
static uint32 *
copy_words(Table *table, const uint32 *rows, uint32 nwords)
{
	uint32	   *words;

	while ((words = gpucol_kept_words_copy(table->context, &kept_bytes, rows, nwords)) == NULL)
	{
		if (!forget_oldest(table))
			return NULL;
	}
	table->bytes += nwords * sizeof(uint32);
	return words;
}

/* Begin to keep a table's. */
static void
begin(Table *table)
{
	MemoryContext context = AllocSetContextCreate(CacheMemoryContext, "gpucol folded rows", ALLOCSET_SMALL_SIZES);
	HASHCTL		ctl = {.keysize = sizeof(uint64), .entrysize = sizeof(Segment), .hcxt = context};

	table->segments = hash_create("gpucol folded segments", 16, &ctl, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	table->context = context;
}

void
gpucol_folded_rows_keep(GpucolDirectory *dir, GpucolFoldState state, const GpucolViewSegment *segment,
						const uint32 *rows, uint32 nwords, uint32 n)
{
	Table	   *table;
	Segment    *kept;
	uint32	   *words = NULL;

	if (state.generation == 0)
		return;
	table = find_table(dir, state, true);
	if (table->context == NULL)
		begin(table);
	if (n > 0 && (words = copy_words(table, rows, nwords)) == NULL)
		return;
	kept = hash_search(table->segments, &segment->entry.first_row, HASH_ENTER, NULL);
	kept->xmin = segment->xmin;
	kept->n = n;
	kept->nwords = nwords;
	kept->words = words;
}
