/*-------------------------------------------------------------------------
 *
 * view_version.h
 *	  Versions of views: what shows the same has the same number.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VIEW_VERSION_H
#define GPUCOL_COLUMNAR_VIEW_VERSION_H

#include "postgres.h"

#include "columnar/view.h"

/* A version that no view of the backend has had. */
extern uint64 gpucol_view_version_new(void);

/*
 * Give a view that has no version the one of an earlier view that showed the same, or a
 * new one; none if it shows nothing, or more than is kept.  Reads what is deleted.
 */
extern void gpucol_view_version_find(GpucolView *view);

#endif							/* GPUCOL_COLUMNAR_VIEW_VERSION_H */
