/*-------------------------------------------------------------------------
 *
 * topn.cuh
 *	  The bound that the first k rows of an order reach, and the rows that reach it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_TOPN_CUH
#define GPUCOL_CUDA_TOPN_CUH

#include "cuda/base/api.cuh"
#include "cuda/base/cache.cuh"
#include "cuda/scan/plan.h"

/*
 * A key as int64 that sort in the wanted order, greatest first: a value's
 * order, or its complement.
 */
struct GpucolTopnKey
{
	GpucolScanPlan scan;
	const uint32_t *matches;	/* bitmap of the rows in question; NULL: those that
								 * pass the scan's ranges */
	uint16_t	slot;
	uint16_t	is_float;
	uint32_t	descending;
	GpucolOffsetColumn offset;	/* if dense */
	uint32_t	dense;			/* 32-bit offsets exist */

	/* found with the bound: vectors that rows which reach it can be in */
	const uint32_t *vectors;	/* [nvectors] in any order; NULL: every stride-th */
	uint32_t	nvectors;
	uint32_t	stride;
	uint32_t	greatest;		/* no key is beyond the bound */
};

struct GpucolTopnTask
{
	int64_t		k;
	bool		all_rows;		/* no row is left out but deleted ones */
	bool		nulls;			/* rows of NULL keys are wanted too */
	int64_t		lo;				/* keys (not directed) lie in lo .. hi */
	int64_t		hi;
	Scratch    *scratch;
	void	   *pinned;			/* GPUCOL_TOPN_PINNED bytes of host memory; NULL: none */
	cudaStream_t stream;
};

/* Copies to other host memory than pinned take several times as long. */
constexpr size_t GPUCOL_TOPN_PINNED = (size_t) 32 << 10;

/*
 * A directed key that at least k rows in question reach, and not many more; false
 * if there are fewer rows.  Sets key->vectors.  Waits for the stream.
 */
extern bool gpucol_topn_find(GpucolTopnKey *key, const GpucolTopnTask &task, int64_t *bound);

/*
 * Bitmap and counts of the rows whose directed key is at least `bound`; NULL keys
 * pass if `nulls`.  Of those that equal it, and of NULL keys, only `most` each do (0:
 * all), counted in taken[0] and taken[1], which are zero.  bitmap may be key.matches.
 */
extern cudaError_t gpucol_topn_select(const GpucolTopnKey &key, int64_t bound, bool nulls,
									   uint32_t most, uint32_t *taken, uint32_t *bitmap, unsigned long long *counts,
									   cudaStream_t stream);

/* How rows that gpucol_topn_select has chosen stand to the bound. */
struct GpucolTopnNumbers
{
	unsigned long long beyond;
	unsigned long long equal;
	unsigned long long nulls;
};

/*
 * Of the rows in `bitmap`, made by gpucol_topn_select with the key and its bound,
 * those whose key equals the bound, or is NULL if `nulls`, as a bitmap; *numbers of
 * all.
 */
extern cudaError_t gpucol_topn_ties(const GpucolTopnKey &key, int64_t bound, bool nulls,
									const uint32_t *bitmap, uint32_t *ties,
									 GpucolTopnNumbers *numbers, cudaStream_t stream);

/* Add the rows in `from` to those in `bitmap`, or remove them; n words each. */
extern cudaError_t gpucol_topn_merge(uint32_t *bitmap, const uint32_t *from, size_t n, bool remove,
									 cudaStream_t stream);

/* So many rows cost less than another look at keys does. */
extern unsigned long long gpucol_topn_enough(const GpucolTopnKey &key, const GpucolTopnTask &task);

#endif
