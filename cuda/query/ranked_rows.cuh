/*-------------------------------------------------------------------------
 *
 * ranked_rows.cuh
 *	  Rows of a SCAN, ranked where they are.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RANKED_ROWS_CUH
#define GPUCOL_CUDA_RANKED_ROWS_CUH

#include <vector>

#include "cuda/query/interpreter.cuh"
#include "cuda/query/part_context.cuh"
#include "cuda/query/plain_columns.cuh"
#include "cuda/ranking/rank.cuh"

class RankedRows
{
public:
	explicit RankedRows(PartContext &c) : c_(c), program_(c), columns_(c) {}

	/* Find the rows, and rank them.  Throws Failure. */
	void		run(Partial *result);

private:
	bool		load_plain(uint64_t n, std::vector<GpucolRankColumn> *columns);
	void		load_computed(uint64_t n, std::vector<GpucolRankColumn> *columns);

	PartContext &c_;
	Interpreter program_;
	const PlainColumns columns_;
};

#endif
