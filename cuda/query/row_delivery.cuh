/*-------------------------------------------------------------------------
 *
 * row_delivery.cuh
 *	  Rows of a SCAN, delivered.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_ROW_DELIVERY_CUH
#define GPUCOL_CUDA_ROW_DELIVERY_CUH

#include <vector>

#include "cuda/query/interpreter.cuh"
#include "cuda/query/part_context.cuh"

class RowDelivery
{
public:
	explicit RowDelivery(PartContext &c) : c_(c), program_(c) {}

	/* Find the rows that are wanted, and deliver their outputs.  Throws Failure. */
	void		run(Partial *result);

private:
	char	   *place(Partial *result, size_t size);
	char	   *fetch(const std::vector<GpucolInterpOutput> &outputs, uint64_t n, Partial *result);

	PartContext &c_;
	Interpreter program_;
};

#endif
