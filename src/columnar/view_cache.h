/*-------------------------------------------------------------------------
 *
 * view_cache.h
 *	  A backend's copies of segment directories that no longer change.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VIEW_CACHE_H
#define GPUCOL_COLUMNAR_VIEW_CACHE_H

#include "columnar/view.h"

/*
 * Have a view share the backend's copy until the current memory context is reset;
 * false if there is none that holds for the view's snapshot.
 */
extern bool gpucol_view_cache_find(GpucolView *view, GpucolDirectory *dir);

/*
 * Keep a copy of what a view has read, in the current memory context, if every later
 * snapshot must see the same; the view shares it then, and has a version.
 */
extern void gpucol_view_cache_store(GpucolView *view, GpucolDirectory *dir);

/*
 * The rows of a segment of the view that are deleted, as views of the same copy have found
 * them: whole vectors, not to be written, NULL if there is none; false if nobody has looked.
 */
extern bool gpucol_view_cache_deleted(const GpucolView *view, const GpucolViewSegment *segment,
									  const uint32 **deleted, uint32 *ndeleted);

/* Keep what gpucol_view_cache_deleted did not know: nwords words are copied. */
extern void gpucol_view_cache_keep_deleted(const GpucolView *view,
										   const GpucolViewSegment *segment,
										   const uint32 *deleted, uint32 nwords,
										   uint32 ndeleted);

#endif							/* GPUCOL_COLUMNAR_VIEW_CACHE_H */
