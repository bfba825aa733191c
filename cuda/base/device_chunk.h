/*-------------------------------------------------------------------------
 *
 * device_chunk.h
 *	  A chunk that lies in device memory, as kernels see it.
 *
 * Pointers are of the device.  Plain data: who made the chunk resident owns it
 * (cache.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DEVICE_CHUNK_H
#define GPUCOL_CUDA_DEVICE_CHUNK_H

#include <cstddef>
#include <cstdint>

#include "kernel/format.h"

/* One chunk in device memory. */
struct GpucolDeviceChunk
{
	const uint32_t *codes;		/* CODES, or NULL for width 0 */
	const uint32_t *nulls;		/* NULLS or NULL */
	const int64_t *dict;		/* DICT of a numeric kind, or NULL */
	const uint32_t *remap;		/* BYTES: global number of each code, or NULL */
	const GpucolZone *zones;	/* ZONES or NULL */
	int64_t		reference;		/* value of code 0 but for DICT */
	uint8_t		width;
	uint8_t		coding;			/* GpucolCoding; RLE never appears */
	uint8_t		kind;			/* GpucolKind */
	int8_t		scale;			/* of the chunk's mantissas */
	uint32_t	all_null;
	uint32_t	last_entry;		/* DICT: number of the last entry */
	uint32_t	unused;
};

#endif
