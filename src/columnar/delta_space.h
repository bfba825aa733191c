/*-------------------------------------------------------------------------
 *
 * delta_space.h
 *	  Room on pages of the delta whose rows a merge has moved.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_SPACE_H
#define GPUCOL_COLUMNAR_DELTA_SPACE_H

#include "postgres.h"

#include "columnar/view.h"

/* Prune the pages of the delta, and enter those with much room in the free space map; returns how many. */
extern BlockNumber gpucol_delta_space_list(const GpucolView *view);

#endif							/* GPUCOL_COLUMNAR_DELTA_SPACE_H */
