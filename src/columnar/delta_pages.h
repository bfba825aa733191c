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
 * Take those pages out of some ascending ranges, in the current memory context, on
 * which the snapshot sees no row; some are left where that takes too long to find out.
 */
extern void gpucol_delta_pages_skip(Relation rel, Snapshot snapshot,
									GpucolBlockRange **ranges, uint32 *nranges);

#endif							/* GPUCOL_COLUMNAR_DELTA_PAGES_H */
