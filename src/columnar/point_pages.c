/*-------------------------------------------------------------------------
 *
 * point_pages.c
 *	  Pages of a segment that single rows are read from, which stay pinned for the next rows.
 *
 * A row lies on as many pages as it has columns, and on more where lengths, offsets, dictionaries or NULLs
 * are pages of their own.  To pin a page and to give it back costs as much as to read a value.
 * So pages are pinned when a value is looked for on them, and kept for the next rows, which an index
 * scan finds on the same pages.
 *
 * The pages that one backend keeps so are a part of its fair share of the buffers.  When a row
 * begins and they are too many, its reader gives all of its own back.  A single value may need more, as
 * a long one does: then the last pages alone stay pinned.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "columnar/page.h"
#include "columnar/point_pages.h"

/* Room for pages at first: a row of few columns. */
#define FIRST_ROOM	32

/* Pages that all readers of this backend keep. */
static uint32 nkept = 0;

/* How many they may be. */
static uint32
limit(Relation table)
{
	return gpucol_window_limit(table) / 2;
}

void
gpucol_point_pages_init(GpucolPointPages *pages, Relation table, const GpucolSegmentInfo *segment,
						MemoryContext context)
{
	memset(pages, 0, sizeof(*pages));
	pages->table = table;
	pages->segment = segment;
	pages->context = context;
}

/* Where a page is, or would be. */
static inline GpucolPointPage *
place_of(const GpucolPointPages *pages, uint32 page)
{
	uint32		i = (page * UINT32_C(0x9E3779B9)) >> 7;

	while (pages->pages[i & pages->mask].buffer != InvalidBuffer &&
		   pages->pages[i & pages->mask].page != page)
		i++;
	return &pages->pages[i & pages->mask];
}

/* Make room for another page: a third of the places stays free. */
static void
make_room(GpucolPointPages *pages)
{
	GpucolPointPage *old = pages->pages;
	uint32		room = old == NULL ? 0 : pages->mask + 1;

	if (old != NULL && pages->npages + 1 <= room - room / 3)
		return;
	pages->pages = MemoryContextAllocZero(pages->context, Max(2 * room, FIRST_ROOM) * sizeof(GpucolPointPage));
	pages->mask = Max(2 * room, FIRST_ROOM) - 1;
	for (uint32 i = 0; i < room; i++)
	{
		if (old[i].buffer != InvalidBuffer)
			*place_of(pages, old[i].page) = old[i];
	}
	if (old != NULL)
		pfree(old);
}

/* Keep a page until the next eight pass by. */
static void
let_pass(GpucolPointPages *pages, Buffer buffer)
{
	Buffer	   *place = &pages->passing[pages->npassed++ % GPUCOL_PASSING_PAGES];
	Buffer		old = *place;

	*place = buffer;
	if (old != InvalidBuffer)
		ReleaseBuffer(old);
}

/* Pin a page that is not kept. */
static const char *
pin_page(GpucolPointPages *pages, uint32 page)
{
	GpucolPointPage *place;
	Buffer		buffer;

	make_room(pages);
	if (page >= pages->segment->entry.npages)
		return NULL;
	buffer = gpucol_page_pin_recent(pages->table, &pages->segment->entry, page, pages->attnum,
									&pages->segment->recent[page]);
	if (nkept >= limit(pages->table))
	{
		let_pass(pages, buffer);
		return gpucol_page_rows(buffer);
	}
	place = place_of(pages, page);
	place->buffer = buffer;
	place->page = page;
	place->rows = gpucol_page_rows(buffer);
	pages->npages++;
	nkept++;
	return place->rows;
}

const char *
gpucol_point_pages_find(void *arg, uint32_t page)
{
	GpucolPointPages *pages = arg;

	if (pages->pages != NULL)
	{
		GpucolPointPage *place = place_of(pages, page);

		if (place->buffer != InvalidBuffer)
			return place->rows;
	}
	return pin_page(pages, page);
}

bool
gpucol_point_pages_are_many(Relation table)
{
	return nkept >= limit(table);
}

void
gpucol_point_pages_abandon(GpucolPointPages *pages)
{
	nkept -= pages->npages;
	pages->npages = 0;
}

void
gpucol_point_pages_release(GpucolPointPages *pages)
{
	for (uint32 i = 0; pages->npages > 0 && i <= pages->mask; i++)
	{
		Buffer		buffer = pages->pages[i].buffer;

		pages->pages[i].buffer = InvalidBuffer;
		if (buffer != InvalidBuffer)
			ReleaseBuffer(buffer);
	}
	for (uint32 i = 0; i < Min(pages->npassed, GPUCOL_PASSING_PAGES); i++)
	{
		Buffer		buffer = pages->passing[i];

		pages->passing[i] = InvalidBuffer;
		if (buffer != InvalidBuffer)
			ReleaseBuffer(buffer);
	}
	pages->npassed = 0;
	gpucol_point_pages_abandon(pages);
}
