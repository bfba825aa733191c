/*-------------------------------------------------------------------------
 *
 * serve.cuh
 *	  Serving a client.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SERVE_CUH
#define GPUCOL_CUDA_SERVE_CUH

/* Set by main(): the daemon takes requests that break it, for its tests. */
extern bool serve_test_requests;

/* Serve a client until it leaves or sends what it should not; closes the socket. */
extern void serve_client(int socket);

#endif
