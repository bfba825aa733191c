/*-------------------------------------------------------------------------
 *
 * row_search.cuh
 *	  The rows of a SCAN that are wanted: all that its conditions pass, or those that can be
 *	  among the first k of an order.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_ROW_SEARCH_CUH
#define GPUCOL_CUDA_ROW_SEARCH_CUH

#include "cuda/query/interpreter.cuh"
#include "cuda/query/part_context.cuh"
#include "cuda/query/plain_columns.cuh"
#include "cuda/scan/topn.cuh"

class RowSearch
{
public:
	/* Finds them for `program`, whose filter it may have interpreted. */
	RowSearch(PartContext &c, Interpreter &program) : c_(c), program_(program), columns_(c) {}

	/* How many they are; plan.bitmap has them, plan.counts where each vector's begin.  Throws Failure. */
	uint64_t	run();

private:
	void		select();
	void		select_first();
	bool		bound_key(uint32_t number, GpucolTopnKey *key, GpucolTopnTask *task) const;
	void		select_bound(uint32_t number, const GpucolTopnKey &key, const GpucolTopnTask &task,
							 int64_t bound, uint32_t *bitmap);
	GpucolTopnNumbers find_ties(const GpucolTopnKey &key, int64_t bound, bool nulls, const uint32_t *rows,
								uint32_t *ties);
	void		cut_ties(GpucolTopnKey key, GpucolTopnTask task, int64_t bound);

	PartContext &c_;
	Interpreter &program_;
	const PlainColumns columns_;
};

#endif
