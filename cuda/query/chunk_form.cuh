/*-------------------------------------------------------------------------
 *
 * chunk_form.cuh
 *	  A chunk that has been loaded, as kernels see it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CHUNK_FORM_CUH
#define GPUCOL_CUDA_CHUNK_FORM_CUH

#include "cuda/base/cache.cuh"
#include "service/protocol.h"

/* Bytes of a chunk's streams before this one: they lie one behind the other. */
extern uint64_t gpucol_chunk_offset(const GpucolWireChunk &head, int stream);

/* The chunk whose streams lie in `memory`, which is the device's. */
extern GpucolDeviceChunk gpucol_chunk_describe(const GpucolWireChunk &head, const void *memory);

/* Do vectors differ in their zones, so that looking at these is worth it? */
extern bool gpucol_chunk_zones_useful(const GpucolZone *zones, uint32_t nvectors, const GpucolZone &all);

/*
 * Chunks of runs or of steps are expanded to a plain frame of reference (cuda/scan/load.cuh):
 * is this one such, how many bytes does it take, and do it, into memory of so many.  Waits
 * for the stream; the old memory is then the caller's to release.
 */
extern bool gpucol_chunk_is_expanded(const Resident &r);
extern size_t gpucol_chunk_expanded_bytes(const Resident &r, uint32_t nrows);
extern void gpucol_chunk_expand(Resident *r, const GpucolWireChunk &head, uint32_t nrows, void *memory,
								cudaStream_t stream);

#endif
