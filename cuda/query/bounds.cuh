/*-------------------------------------------------------------------------
 *
 * bounds.cuh
 *	  Bounds of columns: what segments say of them, and whether it is so.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_BOUNDS_CUH
#define GPUCOL_CUDA_BOUNDS_CUH

#include <vector>

#include "cuda/query/part_context.cuh"

/* What a chunk's segment says of its values, or their codes allow. */
extern Bounds gpucol_bounds_of_chunk(const GpucolWireRun &head, const Resident &resident,
									 const GpucolDeviceChunk &chunk, uint32_t slot);

/*
 * The values of these slots are within the bounds that their chunks say; throws Failure
 * where they are not.  Numbers of dictionaries were looked at when they came, and delta rows
 * are what their bounds are made of.
 */
extern void gpucol_bounds_prove(PartContext &c, const std::vector<uint32_t> &slots);

#endif
