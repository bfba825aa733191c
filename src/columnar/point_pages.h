/*-------------------------------------------------------------------------
 *
 * point_pages.h
 *	  Pages of a segment that single rows are read from, which stay pinned for the next rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_POINT_PAGES_H
#define GPUCOL_COLUMNAR_POINT_PAGES_H

#include "postgres.h"

#include "utils/rel.h"

#include "columnar/segment.h"

/* Pages, beyond those that may be kept, which the value at hand may lie on. */
#define GPUCOL_PASSING_PAGES	8

typedef struct GpucolPointPage
{
	Buffer		buffer;			/* invalid = unused */
	uint32		page;			/* of the segment */
	const char *rows;
} GpucolPointPage;

typedef struct GpucolPointPages
{
	Relation	table;
	const GpucolSegmentInfo *segment;
	AttrNumber	attnum;			/* for messages: column that is being read */
	MemoryContext context;
	GpucolPointPage *pages;		/* by hash of the page's number, a power of two of them; NULL at first */
	uint32		mask;
	uint32		npages;
	Buffer		passing[GPUCOL_PASSING_PAGES];
	uint32		npassed;
} GpucolPointPages;

extern void gpucol_point_pages_init(GpucolPointPages *pages, Relation table,
									const GpucolSegmentInfo *segment, MemoryContext context);

/* A decoder's GpucolFindPage: pins the page if it is not. */
extern const char *gpucol_point_pages_find(void *arg, uint32_t page);

/* Has the backend pinned so many that they are to be given back before another row is read? */
extern bool gpucol_point_pages_are_many(Relation table);

/* Give all back. */
extern void gpucol_point_pages_release(GpucolPointPages *pages);

/* The same where the resource owner has done so or will: count them no more. */
extern void gpucol_point_pages_abandon(GpucolPointPages *pages);

#endif							/* GPUCOL_COLUMNAR_POINT_PAGES_H */
