/*-------------------------------------------------------------------------
 *
 * ranks.h
 *	  Rankings in the daemon's result, as the executor reads them.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_RANKS_H
#define GPUCOL_ENGINE_GPU_RANKS_H

#include "engine/engine.h"

typedef struct GpucolGpuRanks GpucolGpuRanks;

/*
 * Find the rankings of `ngroups` groups in `bytes` of data, which must be
 * exactly theirs and outlive the object; *ranks is the caller's.
 * GPUCOL_DEVICE_LOST for data that no daemon of ours sends.
 */
extern GpucolStatus gpucol_gpu_ranks_find(const GpucolRowShape *shape, uint64_t ngroups,
										  const char *data, uint64_t bytes,
										  GpucolGpuRanks **ranks);
extern void gpucol_gpu_ranks_free(GpucolGpuRanks *ranks);

/* Labels of ranking `r` are numbers in `strings`. */
extern void gpucol_gpu_ranks_set_strings(GpucolGpuRanks *ranks, uint32_t r,
										 const GpucolBytes *strings, uint32_t nstrings);

/* The rankings from group `from` on. */
extern const GpucolRanked *gpucol_gpu_ranks_at(GpucolGpuRanks *ranks, uint64_t from);

#endif							/* GPUCOL_ENGINE_GPU_RANKS_H */
