/*-------------------------------------------------------------------------
 *
 * manifest.h
 *	  What the segments of a table came to for one set of columns: what the
 *	  device daemon is told of them.
 *
 * A table of a billion rows has a thousand segments, and opening each for every
 * query takes longer than the device needs to scan them.  So what one query has
 * noted is kept in the process as long as the source says that nothing has
 * changed (GpucolSource.version), and the daemon is told once (protocol.h, lists).
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_MANIFEST_H
#define GPUCOL_ENGINE_GPU_MANIFEST_H

#include "engine/gpu/dictionary.h"
#include "base/budget.h"
#include "kernel/batch.h"
#include "kernel/program.h"
#include "service/protocol.h"

/* What a program asks of a column of bytes. */
typedef enum GpucolBytesUse
{
	GPUCOL_BYTES_UNUSED,		/* not bytes */
	GPUCOL_BYTES_NULLS,			/* its NULLs only */
	GPUCOL_BYTES_ROWS,			/* the same; its values are read here, of rows of the result */
	GPUCOL_BYTES_NUMBERS		/* its values */
} GpucolBytesUse;

/* Does the device get nothing of a column but its NULLs? */
static inline bool
gpucol_gpu_bytes_are_nulls(GpucolBytesUse use)
{
	return use == GPUCOL_BYTES_NULLS || use == GPUCOL_BYTES_ROWS;
}

typedef struct GpucolGpuManifest
{
	uint64_t	id;				/* unlike any other of the process */
	uint32_t	nsegments;
	GpucolWireSegment *segments;
	GpucolWireColumnChunk *chunks;	/* [nsegments][ncolumns] */
	uint64_t   *first_rows;		/* of the segments */
	GpucolGpuDictionary **dictionaries; /* [ncolumns]; NULL where no numbers are
										 * given.  Delta rows may add to them. */

	/* what it was made for */
	uint64_t	storage[2];
	uint64_t	version;
	int			ncolumns;
	GpucolProgramColumn *columns;
	GpucolBytesUse *uses;		/* [ncolumns] */

	/* private */
	uint32_t	space;			/* segments */
	uint32_t	users;
	uint64_t	used;			/* when last; orders those kept */
	GpucolBudget *budget;		/* that it is counted in while it is kept, or NULL: */
	size_t		counted;		/* so many bytes */
} GpucolGpuManifest;

/*
 * What was noted of a source for these columns and uses, if that still holds; else
 * NULL.  The source is asked for its version.  To be released.
 */
extern GpucolGpuManifest *gpucol_gpu_manifest_find(GpucolSource *source,
											 const GpucolProgramColumn *columns,
											 int ncolumns, const GpucolBytesUse *uses);

/* An empty one, with its dictionaries; NULL without memory.  To be released. */
extern GpucolGpuManifest *gpucol_gpu_manifest_create(const GpucolSource *source,
											   const GpucolProgramColumn *columns,
											   int ncolumns, const GpucolBytesUse *uses);

/*
 * Append a segment; *chunks is where its chunks are to be described.
 * GPUCOL_UNSUPPORTED where there are too many.
 */
extern GpucolStatus gpucol_gpu_manifest_add(GpucolGpuManifest *manifest,
										 const GpucolWireSegment *segment,
										 uint64_t first_row,
										 GpucolWireColumnChunk **chunks);

/*
 * All segments are there: keep it for later queries if they may use it, counted in a
 * budget that lasts as long as the process, or NULL, if that has room.
 */
extern void gpucol_gpu_manifest_keep(GpucolGpuManifest *manifest, GpucolBudget *budget);

/* Memory that it takes. */
extern size_t gpucol_gpu_manifest_bytes(const GpucolGpuManifest *manifest);

/* May the daemon keep it as a list? */
extern bool gpucol_gpu_manifest_listable(const GpucolGpuManifest *manifest);

/* Done with it; NULL is fine. */
extern void gpucol_gpu_manifest_release(GpucolGpuManifest *manifest);

/* Identity of an array of words: never 0, and like another's by accident only. */
extern uint64_t gpucol_gpu_manifest_identity(const uint32_t *words, size_t n);

#endif							/* GPUCOL_ENGINE_GPU_MANIFEST_H */
