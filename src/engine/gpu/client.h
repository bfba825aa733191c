/*-------------------------------------------------------------------------
 *
 * client.h
 *	  What the CUDA engine's client does beside running programs.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_CLIENT_H
#define GPUCOL_ENGINE_GPU_CLIENT_H

#include "engine/engine.h"
#include "engine/gpu/manifest.h"

/* What the processes that load a table together share. */
typedef struct GpucolGpuPrefetch
{
	uint64_t	resident;		/* bytes of the segments that were looked at */
	uint64_t	sent;			/* bytes of them that were not there yet */
	uint32_t	next;			/* gpucol_gpu_load: the next segment that nobody loads */
	uint32_t	left;			/* likewise: chunks that it has left to _prefetch */
	bool		cold;			/* likewise, set before: nothing is resident, so need
								 * not be asked for */
} GpucolGpuPrefetch;

/*
 * Make the columns of a program resident, computing nothing, a segment after the
 * other, until device memory is full.  Adds to *figures, which other processes may
 * do at the same time.  On another status than GPUCOL_OK *why says the reason.
 */
extern GpucolStatus gpucol_gpu_prefetch(const GpucolProgram *program,
										GpucolSource *source,
										GpucolGpuPrefetch *figures, const char **why);

/*
 * An error has ended gpucol_gpu_prefetch or gpucol_gpu_ask: free what they had, and have the
 * daemon drop their request.
 */
extern void gpucol_gpu_prefetch_abandon(void);

/* What the devices lack of a table's columns. */
typedef struct GpucolGpuLacking
{
	GpucolGpuManifest *manifest;		/* the table's segments */
	GpucolWireNeed *need;		/* [n], by segment; malloc'd */
	size_t		n;
} GpucolGpuLacking;

/*
 * Ask what is lacking of the columns of a program (none of bytes), and fits.  *lacking
 * is to be freed in any case; empty (zeroed) before.
 */
extern GpucolStatus gpucol_gpu_ask(const GpucolProgram *program, GpucolSource *source,
								   GpucolGpuLacking *lacking, const char **why);
extern void gpucol_gpu_lacking_free(GpucolGpuLacking *lacking);

/*
 * Note one segment; *noted is to be released.  Adds to figures->resident.
 */
extern GpucolStatus gpucol_gpu_note(const GpucolProgram *program, GpucolSource *source,
									const GpucolSegment *segment,
									GpucolGpuPrefetch *figures, GpucolGpuManifest **manifest);

/* Is device memory full of what was noted? */
extern bool gpucol_gpu_is_full(const GpucolGpuPrefetch *figures);

/* Streams of a chunk that the device has a use for: bit k for stream k. */
extern uint32_t gpucol_gpu_chunk_streams(GpucolBytesUse use, const GpucolChunkDesc *desc);

/*
 * gpucol_gpu_prefetch by so many threads beside this one (engine/gpu/load.c); what waits for
 * them is counted in a budget that lasts as long as the process, or NULL.  Processes that
 * share *figures, which is zero at first, share the work too: each has a source of its
 * own that shows all segments, and all show the same.  Where figures->left is more than
 * 0 after all have ended, gpucol_gpu_prefetch has to load the rest.  Where an error or
 * an exit of the process may unwind, from here or from gpucol_gpu_prefetch,
 * gpucol_gpu_load_abandon must be called before any pin is given back; it calls
 * gpucol_gpu_prefetch_abandon too.
 */
extern GpucolStatus gpucol_gpu_load(const GpucolProgram *program, GpucolSource *source,
									int nthreads, GpucolBudget *budget,
									GpucolGpuPrefetch *figures, const char **why);
extern void gpucol_gpu_load_abandon(void);

#endif							/* GPUCOL_ENGINE_GPU_CLIENT_H */
