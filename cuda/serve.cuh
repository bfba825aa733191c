/*-------------------------------------------------------------------------
 *
 * serve.cuh
 *	  One client's session with the daemon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SERVE_CUH
#define GPUCOL_CUDA_SERVE_CUH

#include <functional>

#include "cache.cuh"

/* Set by main(): the daemon takes requests that break it, for its tests. */
extern bool serve_test_requests;

/*
 * The right to compute on a device, which at most a few have at a time: so many parts of
 * requests, and so many recursions, which may take long and hold no request up.
 */
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

/* Serve a client until it leaves or sends what it should not; closes fd. */
extern void serve_client(int fd);

#endif
