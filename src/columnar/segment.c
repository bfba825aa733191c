/*-------------------------------------------------------------------------
 *
 * segment.c
 *	  Open segments: checked descriptors and windows of pinned or copied pages.
 *
 * Descriptors are copied out of the pages once per backend and kept in a cache
 * keyed by the relation's storage and the segment's first row, which are never
 * used twice together; an entry that differs in any byte from the directory's is
 * replaced all the same.  The cache only shrinks between transactions, so that a
 * pointer into it is good to the end of the transaction.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/mman.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/buf_internals.h"
#include "storage/bufmgr.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "columnar/page.h"
#include "columnar/rownum.h"
#include "columnar/segment.h"
#include "compat.h"

/* Descriptor bytes above which the cache is emptied after a transaction. */
#define CACHE_LIMIT		((Size) 64 * 1024 * 1024)

/* Pages by which fetching what a pin looks at runs ahead of pinning. */
#define AHEAD			4

/* Buffers guessed wrongly in a row after which a window guesses no more. */
#define MAX_MISSES		4

typedef struct SegmentKey
{
	Oid			space;
	Oid			file;
	uint64		first_row;
} SegmentKey;

typedef struct CachedSegment
{
	SegmentKey	key;
	GpucolSegmentInfo *info;
} CachedSegment;

static HTAB *segment_cache = NULL;
static MemoryContext cache_context = NULL;

/* Report a corrupt segment (never returns); attnum 0 = no particular column. */
static void
report_corrupt(Relation table, const GpucolSegmentEntry *entry,
			   AttrNumber attnum, const char *detail)
{
	if (attnum > 0 && attnum <= RelationGetNumberOfAttributes(table))
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("segment " UINT64_FORMAT " of table \"%s\" is corrupt",
						entry->first_row, RelationGetRelationName(table)),
				 errdetail("Column \"%s\": %s.",
						   NameStr(TupleDescAttr(RelationGetDescr(table), attnum - 1)->attname),
						   detail)));
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("segment " UINT64_FORMAT " of table \"%s\" is corrupt",
					entry->first_row, RelationGetRelationName(table)),
			 errdetail("%s.", detail)));
}

void
gpucol_segment_refused(Relation table, const GpucolSegmentEntry *entry, AttrNumber attnum, GpucolStatus status)
{
	if (status == GPUCOL_OUT_OF_MEMORY)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory"),
				 errdetail("Failed while decoding column \"%s\" of table \"%s\".",
						   NameStr(TupleDescAttr(RelationGetDescr(table), attnum - 1)->attname),
						   RelationGetRelationName(table))));
	report_corrupt(table, entry, attnum, "a chunk fails its checks");
}

/* The domains of a descriptor's columns. */
static void
describe_types(TupleDesc desc, GpucolTypeMap *types)
{
	memset(types, 0, desc->natts * sizeof(GpucolTypeMap));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped)
			gpucol_typemap_init(&types[i], att->atttypid, att->atttypmod, att->attcollation);
	}
}

/*
 * The domains of a table's columns, which take several catalog lookups a column:
 * kept with the table's cache entry.
 */
static const GpucolTypeMap *
table_types(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);
	GpucolTypeMap *types;

	if (table->rd_amcache != NULL)
		return table->rd_amcache;
	types = palloc(Max(desc->natts, 1) * sizeof(GpucolTypeMap));
	describe_types(desc, types);
	table->rd_amcache = MemoryContextAlloc(CacheMemoryContext,
										   Max(desc->natts, 1) * sizeof(GpucolTypeMap));
	memcpy(table->rd_amcache, types, desc->natts * sizeof(GpucolTypeMap));
	pfree(types);
	return table->rd_amcache;
}

void
gpucol_segment_types(Relation table, TupleDesc desc, GpucolTypeMap *types)
{
	if (desc == RelationGetDescr(table))
		memcpy(types, table_types(table), desc->natts * sizeof(GpucolTypeMap));
	else
		describe_types(desc, types);
}

HeapTuple
gpucol_segment_tuple(Relation table, TupleDesc desc, const GpucolSegmentInfo *segment, uint32 row,
					 TransactionId xmin, Datum *values, bool *isnull)
{
	HeapTuple	tuple = heap_form_tuple(desc, values, isnull);

	gpucol_tid_set(&tuple->t_self, segment->entry.first_row + row);
	tuple->t_tableOid = RelationGetRelid(table);
	tuple->t_data->t_ctid = tuple->t_self;
	HeapTupleHeaderSetXmin(tuple->t_data, xmin);
	HeapTupleHeaderSetXmax(tuple->t_data, InvalidTransactionId);
	HeapTupleHeaderSetCmin(tuple->t_data, FirstCommandId);
	tuple->t_data->t_infomask |= HEAP_XMIN_COMMITTED | HEAP_XMAX_INVALID;
	return tuple;
}

/* Allocation callbacks of the decoder. */
static void *
memory_alloc(void *context, size_t size)
{
	return MemoryContextAllocExtended((MemoryContext) context, Max(size, 1),
									  MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
}

static void
memory_free(void *context pg_attribute_unused(), void *ptr)
{
	if (ptr != NULL)
		pfree(ptr);
}

GpucolMemory
gpucol_segment_memory(MemoryContext context)
{
	GpucolMemory memory = {memory_alloc, memory_free, context};

	return memory;
}

/* Empty an overgrown cache between transactions. */
static void
trim_cache(XactEvent event, void *arg pg_attribute_unused())
{
	if (event != XACT_EVENT_COMMIT && event != XACT_EVENT_ABORT &&
		event != XACT_EVENT_PREPARE)
		return;
	if (cache_context != NULL &&
		MemoryContextMemAllocated(cache_context, true) > CACHE_LIMIT)
	{
		MemoryContextDelete(cache_context);
		cache_context = NULL;
		segment_cache = NULL;
	}
}

static void
create_cache(void)
{
	static bool registered = false;
	HASHCTL		ctl = {
		.keysize = sizeof(SegmentKey),
		.entrysize = sizeof(CachedSegment)
	};

	if (!registered)
		RegisterXactCallback(trim_cache, NULL);
	registered = true;
	cache_context = AllocSetContextCreate(CacheMemoryContext,
										  "gpucol segment descriptors",
										  ALLOCSET_DEFAULT_SIZES);
	ctl.hcxt = cache_context;
	segment_cache = hash_create("gpucol segments", 256, &ctl,
								HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

/* Copy word rows from the start of a segment. */
static void
read_rows(Relation table, const GpucolSegmentEntry *entry, uint32 row, uint32 n,
		  char *out)
{
	while (n > 0)
	{
		uint32		slot = row % GPUCOL_PAGE_ROWS;
		uint32		take = Min(n, GPUCOL_PAGE_ROWS - slot);
		Buffer		buffer = gpucol_page_pin(table, entry, row / GPUCOL_PAGE_ROWS, 0);

		memcpy(out, gpucol_page_rows(buffer) + slot * GPUCOL_ROW_BYTES,
			   take * GPUCOL_ROW_BYTES);
		ReleaseBuffer(buffer);
		out += take * GPUCOL_ROW_BYTES;
		row += take;
		n -= take;
	}
}

/* Check a segment's header, or say that another version has written it. */
static void
check_header(Relation table, const GpucolSegmentEntry *entry, const GpucolSegmentHeader *header)
{
	GpucolStatus status = gpucol_decode_check_header(header);

	if (status == GPUCOL_UNSUPPORTED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was packed by another version of gpucol",
						RelationGetRelationName(table)),
				 errdetail("A segment has version %u; this library reads up to version %u.",
						   header->version, GPUCOL_FORMAT_NEWEST)));
	if (status != GPUCOL_OK || header->first_row != entry->first_row ||
		header->nrows != entry->nrows || header->nwords != entry->nwords)
		report_corrupt(table, entry, 0, "the header fails its checks");
}

/* Read and check header and descriptors into `context`. */
static GpucolSegmentInfo *
load_segment(Relation table, const GpucolSegmentEntry *entry, MemoryContext context)
{
	GpucolSegmentInfo *info = MemoryContextAllocZero(context, sizeof(*info));
	GpucolSegmentHeader *header = &info->header;

	info->entry = *entry;
	read_rows(table, entry, 0, 1, (char *) header);
	check_header(table, entry, header);

	info->ncolumns = header->ncolumns;
	info->descs = MemoryContextAlloc(context,
									 Max(info->ncolumns, 1) * sizeof(GpucolChunkDesc));
	read_rows(table, entry, 1, 2 * info->ncolumns, (char *) info->descs);
	for (int slot = 0; slot < info->ncolumns; slot++)
	{
		const GpucolChunkDesc *desc = &info->descs[slot];

		if (gpucol_decode_check_desc(header, desc) != GPUCOL_OK || desc->attnum <= 0)
			report_corrupt(table, entry, desc->attnum,
						   "the chunk descriptor fails its checks");
		info->max_attnum = Max(info->max_attnum, desc->attnum);
	}
	info->slots = MemoryContextAlloc(context, Max(info->max_attnum, 1) * sizeof(int16));
	for (int i = 0; i < info->max_attnum; i++)
		info->slots[i] = -1;
	for (int slot = 0; slot < info->ncolumns; slot++)
		info->slots[info->descs[slot].attnum - 1] = slot;
	info->recent = MemoryContextAllocZero(context, Max(entry->npages, 1) * sizeof(Buffer));
	return info;
}

const GpucolSegmentInfo *
gpucol_segment_open(Relation table, const GpucolSegmentEntry *entry)
{
	SegmentKey	key;
	CachedSegment *cached;
	GpucolSegmentInfo *info;

	memset(&key, 0, sizeof(key));
	key.space = gpucol_compat_relation_space(table);
	key.file = gpucol_compat_relation_file(table);
	key.first_row = entry->first_row;

	if (segment_cache == NULL)
		create_cache();
	cached = hash_search(segment_cache, &key, HASH_FIND, NULL);
	if (cached != NULL &&
		memcmp(&cached->info->entry, entry, sizeof(*entry)) == 0)
		return cached->info;
	info = load_segment(table, entry, cache_context);
	cached = hash_search(segment_cache, &key, HASH_ENTER, NULL);
	cached->info = info;
	return info;
}

void
gpucol_segment_forget(Relation table)
{
	HASH_SEQ_STATUS status;
	CachedSegment *cached;

	if (segment_cache == NULL)
		return;
	hash_seq_init(&status, segment_cache);
	while ((cached = hash_seq_search(&status)) != NULL)
	{
		if (cached->key.file == gpucol_compat_relation_file(table) &&
			cached->key.space == gpucol_compat_relation_space(table))
			hash_search(segment_cache, &cached->key, HASH_REMOVE, NULL);
	}
}

const GpucolChunkDesc *
gpucol_segment_desc(const GpucolSegmentInfo *segment, AttrNumber attnum)
{
	int16		slot;

	if (attnum < 1 || attnum > segment->max_attnum)
		return NULL;
	slot = segment->slots[attnum - 1];
	return slot < 0 ? NULL : &segment->descs[slot];
}

/* Make room for n pages. */
static void
reserve_pages(GpucolWindow *window, uint32 n)
{
	if (n <= window->capacity)
		return;
	n = Max(n, 8);
	if (window->pages == NULL)
	{
		window->pages = palloc(n * sizeof(char *));
		window->buffers = palloc(n * sizeof(Buffer));
		window->is_new = palloc(n * sizeof(bool));
	}
	else
	{
		window->pages = repalloc(window->pages, n * sizeof(char *));
		window->buffers = repalloc(window->buffers, n * sizeof(Buffer));
		window->is_new = repalloc(window->is_new, n * sizeof(bool));
	}
	window->capacity = n;
}

/*
 * Have the processor fetch what pinning a page will look at: its buffer's
 * descriptor and its trailer.
 */
static inline void
touch_page(Buffer buffer)
{
	if (buffer <= 0 || buffer > NBuffers)	/* not seen yet, or a local buffer */
		return;
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	__builtin_prefetch(&GPUCOL_PAGE_TRAILER(BufferGetPage(buffer))->verified);
}

/*
 * Pages that were written or read one after the other mostly lie in buffers one
 * after the other.  So where a page has not been seen yet, guess that it is in the
 * buffer behind its predecessor's: looking there takes a third of a look-up.  After
 * some misses in a row the window's other pages are not guessed.
 */
static inline void
guess_buffer(const GpucolSegmentInfo *segment, uint32 page, int misses)
{
	Buffer		last = page > 0 ? segment->recent[page - 1] : InvalidBuffer;

	if (segment->recent[page] != InvalidBuffer || misses == MAX_MISSES ||
		last <= 0 || last >= NBuffers)
		return;
	segment->recent[page] = last + 1;
	touch_page(last + 1 + AHEAD);
}

uint32
gpucol_window_limit(Relation table)
{
	if (RelationUsesLocalBuffers(table))
		return Max(num_temp_buffers / 8, 8);
	return Max(16, Min(NBuffers / 16, 4 * (NBuffers / Max(MaxBackends, 1))));
}

/* Pages that all windows of one owner may pin: each of them has a part of one at both ends. */
static uint32
pin_limit(Relation table)
{
	uint32		limit = 2 * gpucol_window_limit(table);

	return RelationUsesLocalBuffers(table) ? limit : Min(limit, (uint32) NBuffers / 4);
}

/* Copy pages that are too many to be pinned at a time. */
static void
copy_window(GpucolWindow *window, Relation table, const GpucolSegmentInfo *segment,
			const GpucolChunkDesc *desc, uint32 first, uint32 last)
{
	window->copy = MemoryContextAllocHuge(GetMemoryChunkContext(window->pages),
										  (Size) (last - first + 1) * BLCKSZ);
	for (uint32 page = first; page <= last; page++)
	{
		char	   *copy = window->copy + (Size) (page - first) * BLCKSZ;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = gpucol_page_pin_recent(table, &segment->entry, page, desc->attnum,
										&segment->recent[page]);
		memcpy(copy, BufferGetPage(buffer), BLCKSZ);
		window->buffers[page - first] = InvalidBuffer;
		window->pages[page - first] = copy +
			(gpucol_page_rows(buffer) - (const char *) BufferGetPage(buffer));
		ReleaseBuffer(buffer);
	}
	window->rows.npages = last - first + 1;
}

/* Begin a window of pages first .. last; false where they are too many to be pinned. */
static bool
begin_window(GpucolWindow *window, Relation table, uint32 first, uint32 last)
{
	reserve_pages(window, last - first + 1);
	window->rows.pages = window->pages;
	window->rows.first_page = first;
	/* one more where it starts within a page */
	return last - first <= gpucol_window_limit(table) && *window->pinned + (last - first) + 1 <= pin_limit(table);
}

/* Add a pinned page to a window. */
static inline void
add_page(GpucolWindow *window, Buffer buffer, bool is_new)
{
	window->buffers[window->rows.npages] = buffer;
	window->is_new[window->rows.npages] = is_new;
	window->pages[window->rows.npages] = gpucol_page_rows(buffer);
	window->rows.npages++;
	(*window->pinned)++;
}

bool
gpucol_window_lend_at_hand(GpucolWindow *window, Relation table, const GpucolSegmentInfo *segment,
						   const GpucolChunkDesc *desc, GpucolStreamKind stream, uint32 row, uint32 nrows)
{
	const GpucolStream *place = &desc->streams[stream];
	uint32		first = (place->row + row) / GPUCOL_PAGE_ROWS;
	uint32		last = (place->row + row + nrows - 1) / GPUCOL_PAGE_ROWS;
	int			misses = 0;

	gpucol_window_unmap(window);
	window->entry = &segment->entry;
	if (nrows == 0 || row > place->nrows || nrows > place->nrows - row || !begin_window(window, table, first, last))
		return false;
	for (uint32 page = first; page <= last; page++)
	{
		if (page + AHEAD <= last)
			touch_page(segment->recent[page + AHEAD]);
		guess_buffer(segment, page, misses);
		if (!gpucol_page_pin_at_hand(table, gpucol_page_block(&segment->entry, page), segment->recent[page]))
		{
			gpucol_window_unmap(window);
			return false;
		}
		add_page(window, segment->recent[page], false);
		gpucol_page_use(table, gpucol_page_block(&segment->entry, page));
	}
	return true;
}

/* Map, or lend. */
static void
map_window(GpucolWindow *window, Relation table, const GpucolSegmentInfo *segment,
		   const GpucolChunkDesc *desc, GpucolStreamKind stream, uint32 row,
		   uint32 nrows, bool lend)
{
	const GpucolStream *place = &desc->streams[stream];
	uint32		first;
	uint32		last;
	int			misses = 0;

	gpucol_window_unmap(window);
	window->entry = &segment->entry;
	if (nrows == 0)
		return;
	if (row > place->nrows || nrows > place->nrows - row)
		report_corrupt(table, &segment->entry, desc->attnum,
					   "a stream ends too early");
	first = (place->row + row) / GPUCOL_PAGE_ROWS;
	last = (place->row + row + nrows - 1) / GPUCOL_PAGE_ROWS;
	if (!begin_window(window, table, first, last))
	{
		copy_window(window, table, segment, desc, first, last);
		return;
	}
	for (uint32 page = first; page <= last; page++)
	{
		Buffer	   *recent = &segment->recent[page];
		bool		is_new = false;
		Buffer		buffer;
		Buffer		guess;

		if (page + AHEAD <= last)
			touch_page(segment->recent[page + AHEAD]);
		guess_buffer(segment, page, misses);
		guess = *recent;
		buffer = lend ?
			gpucol_page_lend(table, &segment->entry, page, desc->attnum, recent, &is_new) :
			gpucol_page_pin_recent(table, &segment->entry, page, desc->attnum, recent);
		misses = guess == buffer ? 0 : Min(misses + 1, MAX_MISSES);
		add_page(window, buffer, is_new);
	}
}

void
gpucol_window_map(GpucolWindow *window, Relation table,
				  const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc,
				  GpucolStreamKind stream, uint32 row, uint32 nrows)
{
	map_window(window, table, segment, desc, stream, row, nrows, false);
}

void
gpucol_window_lend(GpucolWindow *window, Relation table,
				   const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc,
				   GpucolStreamKind stream, uint32 row, uint32 nrows)
{
	map_window(window, table, segment, desc, stream, row, nrows, true);
}

bool
gpucol_window_verify(const GpucolWindow *window, uint32 page)
{
	return window->copy != NULL ||	/* verified before */
		gpucol_page_verify(window->buffers[page], window->entry,
						   window->rows.first_page + page, window->is_new[page]);
}

void
gpucol_window_forget(const GpucolWindow *window)
{
#ifdef __linux__				/* elsewhere the advice may cost what has been written */
	long		system_page = sysconf(_SC_PAGESIZE);

	if (window->copy != NULL)
		return;
	for (uint32 first = 0, n; first < window->rows.npages; first += n)
	{
		Buffer		buffer = window->buffers[first];
		char	   *start;

		if (BufferIsLocal(buffer))	/* memory that no one else has */
			return;
		start = (char *) TYPEALIGN_DOWN(system_page, BufferGetBlock(buffer));
		for (n = 1; first + n < window->rows.npages && window->buffers[first + n] == buffer + (int) n; n++)
			;
		/* shared memory keeps what it holds; in huge pages this may be refused */
		(void) madvise(start, (Size) n * BLCKSZ, MADV_DONTNEED);
	}
#else
	(void) window;
#endif
}

void
gpucol_window_unmap(GpucolWindow *window)
{
	if (window->copy != NULL)
	{
		pfree(window->copy);
		window->copy = NULL;
		window->rows.npages = 0;
	}
	while (window->rows.npages > 0)
	{
		ReleaseBuffer(window->buffers[--window->rows.npages]);
		(*window->pinned)--;
	}
}
