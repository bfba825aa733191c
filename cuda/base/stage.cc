/*-------------------------------------------------------------------------
 *
 * stage.cc
 *	  How long the stages of a request take.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/base/stage.cuh"

#include <chrono>
#include <cstdio>

bool		gpucol_stages = false;

void
gpucol_stage_tell(cudaStream_t stream, const char *name)
{
	typedef std::chrono::steady_clock Clock;
	static thread_local Clock::time_point last = Clock::now();
	Clock::time_point now;

	cudaStreamSynchronize(stream);
	now = Clock::now();
	fprintf(stderr, "gpucol_gpud: %s: %.3f ms\n", name, std::chrono::duration<double, std::milli>(now - last).count());
	last = Clock::now();
}
