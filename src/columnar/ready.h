/*-------------------------------------------------------------------------
 *
 * ready.h
 *	  Windows of a source that are made ready while threads read others, and such that
 *	  are let go meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_READY_H
#define GPUCOL_COLUMNAR_READY_H

#include "columnar/segment.h"

/* A stream's word rows, from one on. */
typedef struct GpucolReadyWindow
{
	GpucolWindow *window;
	int			slot;
	GpucolStreamKind stream;
	uint32		row;
	uint32		nrows;
} GpucolReadyWindow;

typedef struct GpucolReady
{
	int			room;
	int			nready;
	GpucolReadyWindow *ready;
	int			nspent;
	GpucolWindow **spent;		/* that are done with, still pinned */
	bool		lazy;			/* windows are kept there until the next is made ready */
} GpucolReady;

/* For a source of so many columns, in the current memory context. */
extern void gpucol_ready_init(GpucolReady *ready, int ncolumns);

/* Make a window ready, which is then not the caller's any more; false if it cannot be. */
extern bool gpucol_ready_make(GpucolReady *ready, const GpucolReadyWindow *wanted, Relation table,
							  const GpucolSegmentInfo *segment, const GpucolChunkDesc *desc);

/* A window that is ready, from a row on and with so many rows at least; or NULL. */
extern GpucolWindow *gpucol_ready_take(GpucolReady *ready, int slot, GpucolStreamKind stream, uint32 row,
									   uint32 nrows);

/* Keep a window that is done with until later, if that may be. */
extern bool gpucol_ready_keep(GpucolReady *ready, GpucolWindow *window);

/* One that was kept, or was ready and is not asked for (the segment ends), unpinned; NULL: there is none. */
extern GpucolWindow *gpucol_ready_drop(GpucolReady *ready, bool ends);

#endif							/* GPUCOL_COLUMNAR_READY_H */
