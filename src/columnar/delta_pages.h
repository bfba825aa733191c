/*-------------------------------------------------------------------------
 *
 * delta_pages.h
 *	  Pages of the delta that are known to hold nothing.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_PAGES_H
#define GPUCOL_COLUMNAR_DELTA_PAGES_H

#include "columnar/view.h"

/*
 * Take those pages out of a view's delta ranges, in the current memory context, on which
 * its snapshot sees no row; some are left where that takes too long to find out.
 */
extern void gpucol_delta_pages_skip(const GpucolView *view, GpucolBlockRange **ranges,
									uint32 *nranges);

#endif							/* GPUCOL_COLUMNAR_DELTA_PAGES_H */
