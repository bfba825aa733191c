/*-------------------------------------------------------------------------
 *
 * serve_recursive.cuh
 *	  A client's recursion: REC_* messages in, answers out.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SERVE_RECURSIVE_CUH
#define GPUCOL_CUDA_SERVE_RECURSIVE_CUH

#include <chrono>
#include <functional>
#include <vector>

#include "cuda/base/cache.cuh"
#include "cuda/recursion/plan_check.h"
#include "cuda/recursion/recursive_engine.h"
#include "service/protocol.h"

class Recursion
{
public:
	/*
	 * From the payload of a REC_START.  `cancelled` is asked and, while a question
	 * is being answered, `tell` gets payloads of REC_STATUS, now and then.  Its memory
	 * is lent by the device, which is the current one; pieces of tables that nobody has
	 * pinned leave for it.
	 */
	Recursion(const char *payload, size_t size, Device &device,
			  std::function<bool()> cancelled,
			  std::function<void(const GpucolWireRecStatus &)> tell);
	Recursion(const Recursion &) = delete;
	~Recursion();

	/* Payload of the REC_STATUS that answers the start. */
	std::vector<char> started() const;

	/* A REC_LOAD. */
	void load(const char *payload, size_t size);

	/* Payloads of the answers to REC_SUMMARISE and REC_NEXT. */
	std::vector<char> summarise(const char *payload, size_t size);
	std::vector<char> next(const char *payload, size_t size);

private:
	GpucolRecPlan plan_ = {};
	std::vector<char> arrays_;
	Device	   &device_;
	std::function<bool()> cancelled_;
	std::function<void(const GpucolWireRecStatus &)> tell_;
	std::chrono::steady_clock::time_point reported_;	/* progress, last */
	bool		answering_ = false;
	GpucolRecRun *run_ = nullptr;
	GpucolStatus status_ = GPUCOL_OK;	/* first failure */

	bool asked();
	GpucolWireRecStatus describe(GpucolStatus status) const;
	uint32_t relation(const char *payload, size_t size) const;
};

#endif							/* GPUCOL_CUDA_SERVE_RECURSIVE_CUH */
