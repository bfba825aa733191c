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
 * Fill a view from the backend's copy, in the current memory context; false if
 * there is none that holds for the view's snapshot.
 */
extern bool gpucol_view_cache_find(GpucolView *view, GpucolDirectory *dir);

/*
 * Keep what a view has read, if every later snapshot must see the same; the view
 * has a version then.
 */
extern void gpucol_view_cache_store(GpucolView *view, GpucolDirectory *dir);

#endif							/* GPUCOL_COLUMNAR_VIEW_CACHE_H */
