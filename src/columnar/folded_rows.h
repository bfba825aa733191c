/*-------------------------------------------------------------------------
 *
 * folded_rows.h
 *	  Rows that bitmaps have, which a backend keeps as long as nothing is folded.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FOLDED_ROWS_H
#define GPUCOL_COLUMNAR_FOLDED_ROWS_H

#include "postgres.h"

#include "columnar/view.h"

/*
 * Copy what is kept of a segment's folded rows into a bitmap of so many words; *n: how many there are.  False if
 * nothing is kept of that state (fold_count.h).
 */
extern bool gpucol_folded_rows_find(GpucolDirectory *dir, GpucolFoldState state, const GpucolViewSegment *segment,
									uint32 *rows, uint32 nwords, uint32 *n);

/* Keep a segment's folded rows, all n of them, if the session may hold as much. */
extern void gpucol_folded_rows_keep(GpucolDirectory *dir, GpucolFoldState state, const GpucolViewSegment *segment,
									const uint32 *rows, uint32 nwords, uint32 n);

#endif							/* GPUCOL_COLUMNAR_FOLDED_ROWS_H */
