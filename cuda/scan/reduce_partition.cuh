/*-------------------------------------------------------------------------
 *
 * reduce_partition.cuh
 *	  GROUP BY over a dense domain of more groups than shared memory holds: rows
 *	  are partitioned by the upper bits of their group's number first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_PARTITION_CUH
#define GPUCOL_CUDA_REDUCE_PARTITION_CUH

#include <vector>

#include "cuda/base/api.cuh"
#include "cuda/scan/plan.h"

/* Where an input lies in the words of a partitioned row. */
struct GpucolPartitionField
{
	uint8_t		word;
	uint8_t		shift;
	uint8_t		bits;			/* 0: nothing of its values is kept, they are offset 0 */
	uint8_t		nullable;		/* whether it is NULL is kept */
	uint8_t		null_word;
	uint8_t		null_shift;
};

/* How a reduction is partitioned. */
struct GpucolPartitionPlan
{
	uint32_t	shift;			/* a partition has 2^shift neighbouring groups */
	uint32_t	npartitions;
	uint32_t	slices;			/* of a partition, each of which fits shared memory */
	uint32_t	nwords;			/* words of a row; its group is in the low bits of word 0 */
	uint32_t	runs;			/* of the scan, whose rows are partitioned at a time */
	GpucolPartitionField fields[GPUCOL_MAX_INPUTS];
	/* set by gpucol_reduce_partitioned() */
	uint32_t   *rows;			/* [nwords][capacity], partitions in order */
	size_t		capacity;
	uint32_t   *starts;			/* [npartitions + 1]: first row of each */
	uint32_t   *cursors;		/* [npartitions]: its rows, then the next one to be written */
};

/* Has a block of the current device shared memory enough to scatter rows in? */
extern bool gpucol_partition_fits();

/*
 * How to partition a reduction that gpucol_reduce_layout() has laid out; false where
 * that cannot be done, for the groups are too many or it does not fit.  `chunks` as there.
 */
extern bool gpucol_partition_layout(const GpucolReducePlan &plan, const std::vector<GpucolDeviceChunk> &chunks,
									GpucolPartitionPlan *partitions);

/* Is it likely to be faster than the table in device memory? */
extern bool gpucol_partition_pays(const GpucolReducePlan &plan);

/* Bytes of scratch memory on the device that it takes; fewer where `runs` is made less. */
extern size_t gpucol_partition_bytes(const GpucolPartitionPlan &partitions);

/*
 * Advance plan.table over the matching rows, as gpucol_reduce_groups() does, with the
 * same words.  `scratch`: gpucol_partition_bytes(partitions), aligned to 4.
 */
extern cudaError_t gpucol_reduce_partitioned(const GpucolReducePlan &plan, GpucolPartitionPlan partitions,
											 void *scratch, cudaStream_t stream);

#endif
