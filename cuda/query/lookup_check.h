/*-------------------------------------------------------------------------
 *
 * lookup_check.h
 *	  Does the description of a built table hold together?
 *
 * Its numbers say how large its arrays are, and so where each of them lies: every field is
 * checked when it comes.  What the arrays themselves say is bounded where kernels read it
 * (cuda/scan/interp_probe.cuh).
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_LOOKUP_CHECK_H
#define GPUCOL_CUDA_LOOKUP_CHECK_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cuda/base/failure.h"
#include "kernel/lookup.h"
#include "service/protocol.h"

/* A built table as a client has described it, and where its arrays lie in its data. */
struct LookupTable
{
	struct Column
	{
		GpucolWireLookupColumn wire;
		uint64_t	values;
		uint64_t	nulls;
	};

	GpucolWireLookup head;
	std::vector<GpucolWireLookupKey> keys;
	std::vector<Column> columns;
	uint64_t	arrays[GPUCOL_LOOKUP_ARRAYS];
};

/* Read a description of `size` bytes, whose data take data_size bytes.  Throws Failure. */
extern LookupTable gpucol_lookup_check(const char *description, size_t size, uint64_t data_size);

#endif
