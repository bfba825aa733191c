/*-------------------------------------------------------------------------
 *
 * rank.cuh
 *	  Rankings of the rows of a scan: from columns of words in device memory to
 *	  the data of a RANKED result (service/protocol.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RANK_CUH
#define GPUCOL_CUDA_RANK_CUH

#include <functional>
#include <vector>

#include "cuda/base/cache.cuh"
#include "kernel/program.h"
#include "kernel/shape.h"

/* One output of the scan; those that the shape does not name are left empty. */
struct GpucolRankColumn
{
	const int64_t *values = NULL;	/* [nrows * stride] */
	const uint8_t *nulls = NULL;	/* [nrows] */
	uint32_t	stride = 1;		/* words a value: 2 for int128 */
	int			cls = GPUCOL_CLASS_NONE;

	/* keys: values lie in [base, base + card) where card is not 0 */
	int64_t		base = 0;
	uint64_t	card = 0;
};

struct GpucolRankTask
{
	const GpucolRowShape *shape;
	uint64_t	nrows;
	std::vector<GpucolRankColumn> columns;	/* by output */
	Scratch    *scratch;
	cudaStream_t stream;
	const volatile uint32_t *cancel;
	std::function<void()> wait; /* for the stream; throws when cancelled */
	char	   *place;			/* pinned memory for the result, or NULL */
	size_t		place_bytes;
};

/*
 * Rank.  The result is put in task.place, *placed bytes of it, or where that has no
 * room (*placed is 0) into data.  Returns the number of groups; throws Failure.
 */
extern uint64_t gpucol_rank_rows(const GpucolRankTask &task, std::vector<char> *data, size_t *placed);

#endif
