/*-------------------------------------------------------------------------
 *
 * failure.h
 *	  How a request of the daemon ends without an answer.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_FAILURE_H
#define GPUCOL_CUDA_FAILURE_H

#include <string>

#include "kernel/status.h"

/* Why a request ends without an answer. */
struct Failure
{
	GpucolStatus status;
	std::string reason;
};

/* A message that does not hold together. */
inline Failure
malformed(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, std::string("malformed request: ") + what};
}

#endif
