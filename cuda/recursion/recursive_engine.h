/*-------------------------------------------------------------------------
 *
 * recursive_engine.h
 *	  The device engine for recursion plans, as the daemon uses it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_RECURSIVE_ENGINE_H
#define GPUCOL_CUDA_RECURSIVE_ENGINE_H

#include "recursion/engine.h"

/*
 * Atoms and aggregates of a rule, at most: each is a call within that of the one before, of some
 * kilobytes, and a session's stack has a few MB.
 */
#define GPUCOL_REC_DEVICE_LEVELS	128

/*
 * Runs on the calling thread's current device, on a stream of its own.  A status
 * of GPUCOL_DEVICE_LOST means that the context is unusable.
 */
extern const GpucolRecursiveEngine gpucol_recursive_device;

#endif							/* GPUCOL_CUDA_RECURSIVE_ENGINE_H */
