/*-------------------------------------------------------------------------
 *
 * directory_index.h
 *	  Pages of a TOAST relation's index, looked at before they are relied upon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DIRECTORY_INDEX_H
#define GPUCOL_COLUMNAR_DIRECTORY_INDEX_H

#include "postgres.h"

#include "columnar/directory.h"

/*
 * Look at the pages of an index that lead to the rows keyed from .. to, and at those that
 * have their entries; false, or an error, if one is damaged.  With `ahead` it is only the
 * first of them; it says how far that was.
 */
extern bool gpucol_index_check(GpucolDirectory *dir, Relation index, GpucolRowKey from,
							   GpucolRowKey to, GpucolIndexAhead *ahead);

/* A scan in ascending order has come to a key: look at some pages more if need be. */
extern bool gpucol_index_check_ahead(GpucolDirectory *dir, Relation index, GpucolRowKey at,
									 GpucolIndexAhead *ahead);

#endif							/* GPUCOL_COLUMNAR_DIRECTORY_INDEX_H */
