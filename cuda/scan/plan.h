/*-------------------------------------------------------------------------
 *
 * plan.h
 *	  What a scan looks like to the kernels: the resident chunks of its
 *	  segments, and its ranges translated to the codes of each chunk.
 *
 * The daemon builds these on the host for each request (cuda/query/scan_builder.cc) and uploads
 * them in one copy.  All pointers are device pointers.  Plain data: no
 * constructors, no ownership.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PLAN_H
#define GPUCOL_CUDA_PLAN_H

#include <cstddef>
#include <cstdint>

#include "cuda/base/device_chunk.h"
#include "kernel/format.h"

/* How a range conjunct is tested on one chunk. */
enum GpucolTest : uint8_t
{
	GPUCOL_TEST_ALL = 0,		/* every non-null code passes */
	GPUCOL_TEST_NONE,
	GPUCOL_TEST_RANGE,			/* lo <= code <= hi, both below 2^width */
	GPUCOL_TEST_BITMAP,			/* bit `code` of data */
	GPUCOL_TEST_LIST,			/* code among the n ascending uint64 of data */
	GPUCOL_TEST_FLOAT,			/* RAW floats: order of the value in zone_lo..zone_hi */
	GPUCOL_TEST_FLOAT4,			/* the same, FLOAT4 patterns in wider codes */
	GPUCOL_TEST_SIGNED			/* lo <= code <= hi as signed numbers */
};

struct GpucolDeviceRange
{
	uint64_t	lo;
	uint64_t	hi;
	const void *data;
	uint32_t	n;
	uint16_t	slot;			/* column slot */
	uint8_t		test;			/* GpucolTest */
	uint8_t		invert;			/* complement among the non-null codes */
	uint8_t		null_passes;	/* NULLs pass */
	uint8_t		use_zones;		/* vectors may be decided by their zones */
	uint8_t		unused[2];
	int64_t		zone_lo;		/* bounds in the zones' domain */
	int64_t		zone_hi;
};

struct GpucolDeviceSegment
{
	const uint32_t *deleted;	/* bit set = row invisible, or NULL */
	uint32_t	nrows;
	uint32_t	number;			/* of the segment within the request */
};

/* A scan: segments in order, cut in runs of GPUCOL_RUN_VECTORS vectors. */
struct GpucolScanPlan
{
	const GpucolDeviceSegment *segments;
	const uint32_t *run_start;	/* [nsegments + 1]: first run of each segment */
	const uint32_t *vector_start;	/* [nsegments + 1]: first vector of each */
	const GpucolDeviceChunk *chunks;	/* [nsegments][ncolumns] */
	const GpucolDeviceRange *ranges;	/* [nsegments][nranges] */
	uint32_t	nsegments;
	uint32_t	ncolumns;
	uint32_t	nranges;
	uint32_t	nruns;
	uint32_t	nvectors;
	int32_t		run_shift;		/* every segment but the last has 2^run_shift runs;
								 * -1 if not so */
	uint32_t	turn_shift;		/* a warp takes 2^turn_shift neighbouring runs in turn */
	const volatile uint32_t *cancel;	/* set to 1 by the host: give up */
};

/*
 * A column read as 32-bit offsets from one base over all segments.  Possible
 * where max - min < 2^32 over the table.
 */
struct GpucolOffsetColumn
{
	uint16_t	slot;
	uint8_t		nullable;		/* some chunk or delta has NULLs */
	uint8_t		unused;
	int64_t		base;			/* value of offset 0 */
};

#ifdef __CUDACC__
#define GPUCOL_REDUCE_INLINE __host__ __device__ static inline
#else
#define GPUCOL_REDUCE_INLINE static inline
#endif

#define GPUCOL_MAX_KEYS		8
#define GPUCOL_MAX_INPUTS	16

/* What a grouped reduction does with one input column. */
struct GpucolReduceInput
{
	GpucolOffsetColumn column;
	uint32_t	ops;			/* GPUCOL_REDUCE_* */
	/* word index of each in a group's record of 64-bit words in device memory,
	 * and of 32-bit words in shared memory; unused ones are undefined */
	uint8_t		count;
	uint8_t		sum;
	uint8_t		min;
	uint8_t		max;
};

#define GPUCOL_REDUCE_COUNT 1	/* non-null values */
#define GPUCOL_REDUCE_SUM	2	/* of offsets */
#define GPUCOL_REDUCE_MIN	4	/* of offsets */
#define GPUCOL_REDUCE_MAX	8

/* Grouping over a dense domain: group = sum of key offset * stride. */
struct GpucolReducePlan
{
	GpucolScanPlan scan;
	uint32_t	nkeys;
	uint32_t	ninputs;
	uint32_t	ngroups;
	uint32_t	nwords;			/* words a group; word 0 counts its rows */
	GpucolOffsetColumn keys[GPUCOL_MAX_KEYS];
	uint32_t	strides[GPUCOL_MAX_KEYS];
	uint32_t	cards[GPUCOL_MAX_KEYS]; /* offset cards - 1 is NULL if nullable */
	GpucolReduceInput inputs[GPUCOL_MAX_INPUTS];
	unsigned long long *table;	/* [ngroups][nwords], initialised */
	uint32_t	copies;			/* in shared memory, power of two */
	uint32_t	slices;			/* of the key domain */
	uint32_t	word_kinds;		/* 2 bits a word: 0 sum, 1 min, 2 max */
	uint32_t	few;			/* widest codes that the kernel for this number of
								 * columns takes; 0: there is none */
	uint32_t	rest;			/* runs that it does not take */
};

/* Does a reduction whose kernel takes codes up to `widest` read a chunk directly? */
GPUCOL_REDUCE_INLINE bool
gpucol_reduce_fits(const GpucolDeviceChunk &chunk, uint32_t widest)
{
	return chunk.nulls == NULL && !chunk.all_null && chunk.width >= 1 && chunk.width <= widest;
}

#endif
