/*-------------------------------------------------------------------------
 *
 * delta_cache.c
 *	  Columns of delta pages that a backend keeps in memory.
 *
 * Values depend on the table's columns too: a column that a rolled back ALTER TABLE added
 * has the number of the next one.  So whatever invalidates the table's entry of the relation
 * cache has the units go, before the table is opened the next time.
 *
 * Memory is the session's (service/memory.h): gpucol.delta_memory_limit bytes at most, and
 * a share of what the session may still hold.  Where that is full, the tables that were not
 * read for the longest time give theirs up.  A unit in use stays until its users let go of
 * it, each by a callback of its memory context, so that errors leave nothing behind.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "columnar/delta_cache.h"
#include "compat.h"
#include "guc.h"
#include "service/memory.h"

/* The share of what the session may still hold that is kept at most. */
#define KEPT_SHARE		8

/* A column with more bytes is read every time. */
#define MAX_COLUMN_BYTES	((Size) 1024 * 1024)

typedef struct CacheKey
{
	Oid			space;
	Oid			file;
} CacheKey;

/* Units of a table's storage. */
struct GpucolDeltaCache
{
	CacheKey	key;			/* must be first */
	Oid			table;
	HTAB	   *units;			/* by first block; NULL if there is none */
	uint64		opened;			/* when it was opened last */
	bool		stale;			/* the table may have changed */
};

typedef struct UnitEntry
{
	BlockNumber start;			/* must be first */
	GpucolDeltaUnit *unit;		/* NULL if there is none */
} UnitEntry;

/* A column of a unit, and behind it its values. */
struct GpucolDeltaKept
{
	GpucolDeltaKept *next;
	Size		size;
	int			attnum;
	Oid			type_oid;
	int			scale;
	int			digits;
	GpucolDeltaColumn column;
};

static HTAB *caches = NULL;
static MemoryContext context;	/* of units and their columns */
static Size kept_bytes = 0;
static uint64 clock_ticks = 0;
static bool any_stale = false;

/* ------------------------------------------------------------------------
 * Units come and go
 * ------------------------------------------------------------------------
 */

static void
give_back(void *block, Size size)
{
	pfree(block);
	kept_bytes -= size;
	gpucol_budget_release(gpucol_memory_session(), size);
}

static void
free_unit(GpucolDeltaUnit *unit)
{
	while (unit->columns != NULL)
	{
		GpucolDeltaKept *kept = unit->columns;

		unit->columns = kept->next;
		give_back(kept, kept->size);
	}
	give_back(unit, unit->size);
}

void
gpucol_delta_cache_hold(GpucolDeltaUnit *unit)
{
	unit->users++;
}

void
gpucol_delta_cache_let_go(GpucolDeltaUnit *unit)
{
	if (--unit->users == 0 && unit->dropped)
		free_unit(unit);
}

void
gpucol_delta_cache_drop(GpucolDeltaUnit *unit)
{
	if (unit->dropped)
		return;
	hash_search(unit->cache->units, &unit->start, HASH_REMOVE, NULL);
	unit->dropped = true;
	gpucol_delta_cache_hold(unit);
	gpucol_delta_cache_let_go(unit);
}

/* Drop all units of a table. */
static void
empty(GpucolDeltaCache *cache)
{
	HASH_SEQ_STATUS all;
	UnitEntry  *entry;

	if (cache->units == NULL)
		return;
	hash_seq_init(&all, cache->units);
	while ((entry = hash_seq_search(&all)) != NULL)
	{
		if (entry->unit != NULL)
			gpucol_delta_cache_drop(entry->unit);
	}
	hash_destroy(cache->units);
	cache->units = NULL;
}

/* Drop what the table least recently opened has, but for one; false if no other has any. */
static bool
evict(const GpucolDeltaCache *but)
{
	HASH_SEQ_STATUS all;
	GpucolDeltaCache *cache;
	GpucolDeltaCache *oldest = NULL;

	hash_seq_init(&all, caches);
	while ((cache = hash_seq_search(&all)) != NULL)
	{
		if (cache != but && cache->units != NULL &&
			(oldest == NULL || cache->opened < oldest->opened))
			oldest = cache;
	}
	if (oldest == NULL)
		return false;
	empty(oldest);
	return true;
}

/* A block of memory that is counted, or NULL. */
static void *
get_room(const GpucolDeltaCache *cache, Size size)
{
	GpucolBudget *session = gpucol_memory_session();
	Size		limit = (Size) gpucol_delta_memory_limit * 1024 * 1024;
	void	   *block;

	while (kept_bytes + size > limit ||
		   kept_bytes + size > gpucol_budget_left(session) / KEPT_SHARE)
		if (!evict(cache))
			return NULL;
	if (!gpucol_budget_reserve(session, size))
		return NULL;
	block = MemoryContextAllocExtended(context, size, MCXT_ALLOC_NO_OOM);
	if (block == NULL)
		gpucol_budget_release(session, size);
	else
		kept_bytes += size;
	return block;
}

/* ------------------------------------------------------------------------
 * Tables
 * ------------------------------------------------------------------------
 */

/* Callback of the relation cache: nothing may be freed here, because it may be in use. */
static void
forget_relation(Datum arg pg_attribute_unused(), Oid table)
{
	HASH_SEQ_STATUS all;
	GpucolDeltaCache *cache;

	hash_seq_init(&all, caches);
	while ((cache = hash_seq_search(&all)) != NULL)
	{
		if (OidIsValid(table) && cache->table != table)
			continue;
		cache->stale = true;
		any_stale = true;
	}
}

static void
make_caches(void)
{
	HASHCTL		ctl = {.keysize = sizeof(CacheKey), .entrysize = sizeof(GpucolDeltaCache)};

	context = AllocSetContextCreate(TopMemoryContext, "gpucol delta columns",
									ALLOCSET_DEFAULT_SIZES);
	caches = hash_create("gpucol deltas", 32, &ctl, HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(forget_relation, (Datum) 0);
}

/* Drop the units of tables that may have changed. */
static void
drop_stale(void)
{
	HASH_SEQ_STATUS all;
	GpucolDeltaCache *cache;

	if (!any_stale)
		return;
	any_stale = false;
	hash_seq_init(&all, caches);
	while ((cache = hash_seq_search(&all)) != NULL)
	{
		if (cache->stale)
			empty(cache);
		cache->stale = false;
	}
}

static CacheKey
key_of(Relation table)
{
	return (CacheKey)
	{
		gpucol_compat_relation_space(table), gpucol_compat_relation_file(table)
	};
}

GpucolDeltaCache *
gpucol_delta_cache_open(Relation table)
{
	CacheKey	key = key_of(table);
	GpucolDeltaCache *cache;
	bool		found;

	if (caches == NULL)
		make_caches();
	drop_stale();
	cache = hash_search(caches, &key, HASH_ENTER, &found);
	if (!found)
	{
		cache->units = NULL;
		cache->stale = false;
	}
	cache->table = RelationGetRelid(table);
	cache->opened = ++clock_ticks;
	return cache;
}

bool
gpucol_delta_cache_has(Relation table)
{
	CacheKey	key = key_of(table);
	GpucolDeltaCache *cache;

	if (caches == NULL)
		return false;
	drop_stale();
	cache = hash_search(caches, &key, HASH_FIND, NULL);
	return cache != NULL && cache->units != NULL;
}

GpucolDeltaUnit *
gpucol_delta_cache_find(GpucolDeltaCache *cache, BlockNumber block)
{
	UnitEntry  *entry = NULL;

	if (cache->units != NULL)
		entry = hash_search(cache->units, &block, HASH_FIND, NULL);
	return entry == NULL ? NULL : entry->unit;
}

GpucolDeltaUnit *
gpucol_delta_cache_add(GpucolDeltaCache *cache, const GpucolDeltaUnit *unit)
{
	Size		size = MAXALIGN(sizeof(GpucolDeltaUnit)) + unit->nrows * sizeof(uint64);
	GpucolDeltaUnit *old = gpucol_delta_cache_find(cache, unit->start);
	GpucolDeltaUnit *copy;
	UnitEntry  *entry;
	bool		found;

	if (old != NULL)
		gpucol_delta_cache_drop(old);
	if (cache->units == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(BlockNumber), .entrysize = sizeof(UnitEntry)};

		cache->units = hash_create("gpucol delta units", 64, &ctl, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(cache->units, &unit->start, HASH_ENTER, &found);
	entry->unit = NULL;
	copy = get_room(cache, size);
	if (copy == NULL)
	{
		hash_search(cache->units, &unit->start, HASH_REMOVE, NULL);
		return NULL;
	}
	*copy = *unit;
	copy->tids = (uint64 *) ((char *) copy + MAXALIGN(sizeof(GpucolDeltaUnit)));
	memcpy(copy->tids, unit->tids, unit->nrows * sizeof(uint64));
	copy->cache = cache;
	copy->users = 0;
	copy->dropped = false;
	copy->columns = NULL;
	copy->size = size;
	entry->unit = copy;
	return copy;
}

/* ------------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------------
 */

/* Is a kept column what a slot of the batch reads? */
static bool
is_column(const GpucolDeltaKept *kept, const GpucolRowBatch *rows, int c)
{
	return kept->attnum == rows->columns[c].attnum &&
		kept->column.kind == rows->columns[c].kind &&
		kept->type_oid == rows->maps[c].type_oid &&
		kept->scale == rows->maps[c].scale && kept->digits == rows->maps[c].digits;
}

bool
gpucol_delta_cache_show(const GpucolDeltaUnit *unit, const GpucolRowBatch *rows, int c,
						GpucolDeltaColumn *out)
{
	for (const GpucolDeltaKept *kept = unit->columns; kept != NULL; kept = kept->next)
	{
		if (!is_column(kept, rows, c))
			continue;
		*out = kept->column;
		return true;
	}
	return false;
}

/* Bytes of a block's part, and the part; NULL stays NULL. */
static void *
copy_part(char **place, const void *data, Size size)
{
	void	   *part = *place;

	if (data == NULL)
		return NULL;
	memcpy(part, data, size);
	*place += MAXALIGN(size);
	return part;
}

void
gpucol_delta_cache_keep(GpucolDeltaUnit *unit, const GpucolRowBatch *rows, int c)
{
	const GpucolDeltaColumn *column = &rows->batch[c];
	uint32		n = unit->nrows;
	Size		words = MAXALIGN(n * sizeof(int64));
	Size		size = MAXALIGN(sizeof(GpucolDeltaKept)) +
		(column->values != NULL ? words : 0) + (column->highs != NULL ? words : 0) +
		(column->nulls != NULL ? MAXALIGN(GPUCOL_ROW_BATCH_ROWS / 8) : 0);
	GpucolDeltaKept *kept;
	char	   *place;

	if (column->bytes != NULL)
	{
		size += MAXALIGN(n * sizeof(GpucolBytes));
		for (uint32 i = 0; i < n; i++)
			size += column->bytes[i].len;
	}
	if (size > MAX_COLUMN_BYTES)
		return;
	kept = get_room(unit->cache, size);
	if (kept == NULL)
		return;
	place = (char *) kept + MAXALIGN(sizeof(GpucolDeltaKept));
	kept->size = size;
	kept->attnum = rows->columns[c].attnum;
	kept->type_oid = rows->maps[c].type_oid;
	kept->scale = rows->maps[c].scale;
	kept->digits = rows->maps[c].digits;
	kept->column.kind = column->kind;
	kept->column.values = copy_part(&place, column->values, n * sizeof(int64));
	kept->column.highs = copy_part(&place, column->highs, n * sizeof(int64));
	kept->column.nulls = copy_part(&place, column->nulls, GPUCOL_ROW_BATCH_ROWS / 8);
	kept->column.bytes = copy_part(&place, column->bytes, n * sizeof(GpucolBytes));
	for (uint32 i = 0; kept->column.bytes != NULL && i < n; i++)
	{
		GpucolBytes *bytes = &kept->column.bytes[i];

		if (bytes->len > 0)
			memcpy(place, bytes->data, bytes->len);
		bytes->data = place;
		place += bytes->len;
	}
	kept->next = unit->columns;
	unit->columns = kept;
}
