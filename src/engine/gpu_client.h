/*-------------------------------------------------------------------------
 *
 * gpu_client.h
 *	  What the CUDA engine's client does beside running programs.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_CLIENT_H
#define GPUCOL_ENGINE_GPU_CLIENT_H

#include "engine/engine.h"

/* What the processes that load a table together share. */
typedef struct GpucolGpuPrefetch
{
	uint64_t	resident;		/* bytes of the segments that were looked at */
	uint64_t	sent;			/* bytes of them that were not there yet */
} GpucolGpuPrefetch;

/*
 * Make the columns of a program resident, computing nothing, a segment after the
 * other, until device memory is full.  Adds to *figures, which other processes may
 * do at the same time.  On another status than GPUCOL_OK *why says the reason.
 */
extern GpucolStatus gpucol_gpu_prefetch(const GpucolProgram *program,
										GpucolSource *source,
										GpucolGpuPrefetch *figures, const char **why);

#endif							/* GPUCOL_ENGINE_GPU_CLIENT_H */
