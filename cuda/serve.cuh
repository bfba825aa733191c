/*-------------------------------------------------------------------------
 *
 * serve.cuh
 *	  One client's session with the daemon.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SERVE_CUH
#define GPUCOL_CUDA_SERVE_CUH

/* Set by main(): the daemon takes requests that break it, for its tests. */
extern bool serve_test_requests;

/* Serve a client until it leaves or sends what it should not; closes fd. */
extern void serve_client(int fd);

#endif
