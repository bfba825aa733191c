/*-------------------------------------------------------------------------
 *
 * admission.cuh
 *	  The right to compute on a device, which at most a few have at a time: so many
 *	  parts of requests, and so many recursions, which may take long and hold no request up.
 *
 * A scan fills a device by itself: more at a time would only divide its memory.  Room
 * for what a request loads is another matter (claim.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_ADMISSION_CUH
#define GPUCOL_CUDA_ADMISSION_CUH

#include <functional>

#include "cuda/base/cache.cuh"

class Admission
{
public:
	/* Wait for it, or until `given_up` says true, which is asked now and then. */
	Admission(Device &device, bool recursion, const std::function<bool()> &given_up);
	~Admission();
	Admission(const Admission &) = delete;

	/* Was it given? */
	bool		given() const { return given_; }

private:
	Device	   &device_;
	bool		recursion_;
	bool		given_ = false;
};

#endif
