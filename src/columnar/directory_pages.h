/*-------------------------------------------------------------------------
 *
 * directory_pages.h
 *	  Pages of a TOAST relation, looked at before VACUUM relies upon them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DIRECTORY_PAGES_H
#define GPUCOL_COLUMNAR_DIRECTORY_PAGES_H

#include "postgres.h"

#include "columnar/deadrows.h"

/*
 * Look at the TOAST relation's pages that heap's VACUUM will read, or at all of them; an
 * error if an item is no TOAST row, or a directory row is not what it must be, or
 * a segment's entry is not in the coverage, which was read by the index.
 */
extern void gpucol_directory_check_pages(GpucolDirectory *dir,
										 const GpucolCoverage *coverage, bool all);

#endif							/* GPUCOL_COLUMNAR_DIRECTORY_PAGES_H */
