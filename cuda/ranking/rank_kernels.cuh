/*-------------------------------------------------------------------------
 *
 * rank_kernels.cuh
 *	  Rankings of many groups of label-confidence rows, and the selection of the
 *	  best rows of a large input.
 *
 * Rows are in device memory as columns: group number, score (int64, greater is
 * better), probability, label (int64), x-tuple.  Answers are those of src/uncertain:
 * order by score, probability, label, x-tuple; ties as rank.h says.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RANK_KERNELS_CUH
#define GPUCOL_CUDA_RANK_KERNELS_CUH

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "cuda/base/launch.cuh"

/* How scores may be spread, which says how rows are sorted soonest. */
enum GpucolDeviceRankSpread
{
	GPUCOL_DEVICE_RANK_INTEGERS,		/* evenly */
	GPUCOL_DEVICE_RANK_DOUBLES,		/* evenly: the doubles whose order (gpucol_float_order) they are */
	GPUCOL_DEVICE_RANK_SKEWED			/* many have equal leading bits */
};

/* Rows, in any order. */
struct GpucolDeviceRankRows
{
	uint32_t	nrows;
	uint32_t	ngroups;
	const uint32_t *group;		/* NULL: one group */
	const int64_t *score;
	const double *probability;
	const int64_t *label;
	const int64_t *x;			/* NULL: of no matter, or without an order */
	const uint8_t *x_nulls;		/* beside x: 1 = none, which comes last */
	GpucolDeviceRankSpread spread;
};

/* Groups in ranking order: rows [starts[g], starts[g + 1]) of p and row. */
struct GpucolDeviceRankGroups
{
	uint32_t	ngroups;
	const uint32_t *starts;		/* [ngroups + 1] */
	const double *p;			/* probabilities in ranking order */
	uint32_t	longest;		/* rows of the longest group, or a bound */
	const volatile uint32_t *cancel;	/* set to 1 by the host: give up, leaving answers
								 * that are wrong but harmless; or NULL */
	const int32_t *k;			/* each group's own k; NULL: the one given.  That one
								 * is no less than any */
	uint32_t	most;			/* rows that are looked at in longer groups, whose
								 * answer may then not be settled; 0 = all */
};

/* Bytes of shared memory for a block's distributions or heaps. */
inline size_t
gpucol_device_rank_shared()
{
	return std::min<size_t>(GPUCOL_DEVICE_RANK_HEAP_SHARED_BYTES, gpucol_launch_shared() / 2);
}

/* Has the host given up? */
__device__ static inline bool
gpucol_device_rank_given_up(const volatile uint32_t *cancel)
{
	return cancel != nullptr && *cancel;
}

/* The same for a whole warp, of which all lanes ask: no lane leaves the others alone. */
__device__ static inline bool
gpucol_device_rank_warp_given_up(const volatile uint32_t *cancel)
{
	return cancel != nullptr && __any_sync(0xffffffffu, *cancel != 0);
}

/* Rows of a group to look at. */
__device__ static inline int32_t
gpucol_device_rank_rows(const GpucolDeviceRankGroups &groups, uint32_t g)
{
	uint32_t	n = groups.starts[g + 1] - groups.starts[g];

	return (int32_t) (groups.most != 0 && n > groups.most ? groups.most : n);
}

/* k of a group. */
__device__ static inline int32_t
gpucol_device_rank_k(const GpucolDeviceRankGroups &groups, uint32_t g, int32_t k)
{
	return groups.k != nullptr && groups.k[g] < k ? groups.k[g] : k;
}

/* The U-Topk set of a group: see GpucolUTopk in ranking/semantics/rank_utopk.h. */
struct GpucolDeviceRankSet
{
	double		probability;
	double		min_p;
	int32_t		min_rank;
	int32_t		last;			/* -1: no world has k tuples */
	int32_t		horizon;		/* -1: the whole group was needed */
	int32_t		unused;
};

/*
 * Sort rows into groups in ranking order.  All pointers are device memory and
 * written by the call: starts[ngroups + 1], p[nrows], row[nrows] (row numbers in
 * ranking order).  `scratch` of at least gpucol_device_rank_sort_scratch() bytes.
 */
extern size_t gpucol_device_rank_sort_scratch(uint32_t nrows);
extern cudaError_t gpucol_device_rank_sort(const GpucolDeviceRankRows &rows, uint32_t *starts,
									double *p, uint32_t *row, void *scratch,
									size_t scratch_bytes, cudaStream_t stream);

/*
 * The same of rows whose groups and scores are those of others, `sorted` being the
 * row[] that these came out with: only ties are put into order.
 */
extern cudaError_t gpucol_device_rank_sort_ties(const GpucolDeviceRankRows &rows, const uint32_t *sorted,
										 uint32_t *starts, double *p, uint32_t *row,
										 void *scratch, size_t scratch_bytes,
										 cudaStream_t stream);

/*
 * U-Topk of every group: the heap with a product tree, a thread a group.
 * `scratch` of gpucol_device_rank_heap_scratch() bytes (0 for small k).
 */
extern size_t gpucol_device_rank_heap_scratch(int32_t k);
extern cudaError_t gpucol_device_rank_heap(const GpucolDeviceRankGroups &groups, int32_t k,
									GpucolDeviceRankSet *sets, void *scratch,
									cudaStream_t stream);

/* The ranks of each heap set, ascending, into ranks[ngroups * k] (-1: none). */
extern cudaError_t gpucol_device_rank_members(const GpucolDeviceRankGroups &groups, int32_t k,
									   const GpucolDeviceRankSet *sets, int32_t *ranks,
									   cudaStream_t stream);

/*
 * What the other rankings choose: ranks within each group, best first as the
 * ranking says.
 */
struct GpucolDeviceRankPicks
{
	int32_t    *counts;			/* [ngroups] */
	int32_t    *ranks;			/* of group g from g * stride on, or from starts[g]
								 * where stride is 0; -1 = none at this rank */
	uint32_t	stride;
	uint8_t    *settled;		/* [ngroups] more rows behind would change nothing */
};

/*
 * U-kRanks (stride at least k) and PT-k (stride 0), a warp a group; rank.h says
 * what they are.  `scratch` of gpucol_device_rank_counts_scratch() bytes.
 */
extern size_t gpucol_device_rank_counts_scratch(int32_t k);
extern cudaError_t gpucol_device_rank_u_kranks(const GpucolDeviceRankGroups &groups, int32_t k,
										const GpucolDeviceRankPicks &picks, void *scratch,
										cudaStream_t stream);
extern cudaError_t gpucol_device_rank_pt_k(const GpucolDeviceRankGroups &groups, int32_t k, double threshold,
									const GpucolDeviceRankPicks &picks, void *scratch,
									cudaStream_t stream);

/*
 * Pr[in the top k] of rows, into figures[nrows]; -infinity for rows that never
 * exist and those that cannot be among the k likeliest.
 */
extern cudaError_t gpucol_device_rank_global(const GpucolDeviceRankGroups &groups, int32_t k,
									  double *figures, uint8_t *settled, void *scratch,
									  cudaStream_t stream);

/*
 * Any ranking of groups with x-tuples (rank_x.cu), a thread a group; counts are
 * -1 where U-Topk has no set, probability[ngroups] is that of U-Topk's set.  *bad is
 * set to 1 where an x-tuple's probabilities exceed 1.  picks.stride is at least
 * min(k, longest), or 0 for PT-k.  `scratch` of gpucol_device_rank_x_scratch() bytes.
 */
struct GpucolDeviceRankXTuples
{
	const int32_t *x;			/* [nrows] in ranking order: number within the group */
	const uint32_t *first;		/* [ngroups + 1] x-tuples of the groups before */
};

struct GpucolDeviceRankRanking
{
	uint32_t	ranking;		/* GpucolRanking */
	int32_t		k;
	double		threshold;
};

extern size_t gpucol_device_rank_x_scratch(const GpucolDeviceRankGroups &groups, int32_t k);
extern cudaError_t gpucol_device_rank_x(const GpucolDeviceRankGroups &groups, const GpucolDeviceRankXTuples &xs,
								 const GpucolDeviceRankRanking &ranking, const GpucolDeviceRankPicks &picks,
								 double *probability, uint32_t *bad, void *scratch, cudaStream_t stream);

/*
 * Long groups (rank_split*.cu): the same rankings of one group by the whole device,
 * for those that the kernels above did not settle within groups.most rows.  All
 * outputs are in device memory and are those of the group; they replace what
 * the kernels above wrote.  k is at most GPUCOL_DEVICE_RANK_SPLIT_MAX_K except for U-Topk, and
 * less than n.  They wait for the stream.  `scratch` of gpucol_device_rank_split_scratch() bytes.
 */
#define GPUCOL_DEVICE_RANK_SPLIT_MAX_K 1024

struct GpucolDeviceRankSplit
{
	const double *p;			/* [n] in ranking order */
	uint32_t	n;
	int32_t		k;
	const volatile uint32_t *cancel;	/* as in GpucolDeviceRankGroups */
};

extern size_t gpucol_device_rank_split_scratch(uint32_t n, int32_t k);

/* ranks[k]; *done (host) is false where too many rows are candidates: nothing is written then. */
extern cudaError_t gpucol_device_rank_split_u_topk(const GpucolDeviceRankSplit &group,
												   GpucolDeviceRankSet *set, int32_t *ranks,
									   bool *done, void *scratch, cudaStream_t stream);
extern cudaError_t gpucol_device_rank_split_u_kranks(const GpucolDeviceRankSplit &group, int32_t *ranks, int32_t *count,
										 uint8_t *settled, void *scratch, cudaStream_t stream);
extern cudaError_t gpucol_device_rank_split_pt_k(const GpucolDeviceRankSplit &group, double threshold, int32_t *ranks,
									 int32_t *count, uint8_t *settled, void *scratch, cudaStream_t stream);
extern cudaError_t gpucol_device_rank_split_global(const GpucolDeviceRankSplit &group, double *figures,
												   uint8_t *settled,
									   void *scratch, cudaStream_t stream);

/*
 * Minus the expected rank of rows, into figures[nrows]; -infinity for rows that
 * never exist.  group[nrows] are the groups in ranking order.  `scratch` of
 * gpucol_device_rank_expected_scratch() bytes.
 */
extern size_t gpucol_device_rank_expected_scratch(uint32_t nrows);
extern cudaError_t gpucol_device_rank_expected(const GpucolDeviceRankGroups &groups, const uint32_t *group,
										uint32_t nrows, double *figures, void *scratch,
										cudaStream_t stream);

/*
 * The k greatest figures of each group of rows sorted by (group, figure
 * descending, rank), where figures that differ by rounding only are tied and go
 * by rank.  chosen.starts are the groups; order[] the rows in sorted order,
 * figure[] and rank[] by row.  order[] is changed.  *too_many, which is 0, is set
 * where more rows are tied than one thread looks through: no answer.
 */
extern cudaError_t gpucol_device_rank_choose(const GpucolDeviceRankGroups &chosen, uint32_t *order,
									  const double *figure, const int64_t *rank,
									  int32_t k, const GpucolDeviceRankPicks &picks,
									  uint32_t *too_many, cudaStream_t stream);

/*
 * Numbers of all rows whose score is at least the `want`-th best (and a few
 * more), unordered, into out[capacity]; *found (device) counts them and may
 * exceed capacity.  A sample guesses the threshold: call again with a larger
 * `want` where *found comes out too small.
 */
extern size_t gpucol_device_rank_select_scratch();
extern cudaError_t gpucol_device_rank_select(const int64_t *score, uint32_t nrows,
									  uint32_t want, uint32_t *out,
									  uint32_t capacity, uint32_t *found,
									  void *scratch, cudaStream_t stream);

#endif
