/*-------------------------------------------------------------------------
 *
 * gpu_client.h
 *	  What the CUDA engine's client does beside running programs.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_CLIENT_H
#define GPUCOL_ENGINE_GPU_CLIENT_H

#include "engine/engine.h"

/*
 * Make the columns of a program resident, computing nothing.  *bytes is what
 * had to be sent.  On another status than GPUCOL_OK *why says the reason.
 */
extern GpucolStatus gpucol_gpu_prefetch(const GpucolProgram *program,
										GpucolSource *source,
										uint64_t *bytes, const char **why);

#endif							/* GPUCOL_ENGINE_GPU_CLIENT_H */
