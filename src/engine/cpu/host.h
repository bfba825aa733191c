/*-------------------------------------------------------------------------
 *
 * host.h
 *	  What the host says of byte strings, and makes of them (host.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_HOST_H
#define GPUCOL_ENGINE_CPU_HOST_H

#include "engine/cpu/cpu.h"

/* Ask the host about NULL where a dictionary's column has some. */
extern void gpucol_cpu_host_ask_null(GpucolRun *run);

/* Ask it about each dictionary entry, unless their order has told already. */
extern GpucolStatus gpucol_cpu_host_ask(GpucolRun *run);

/* Ask it about the raw values of the window's vectors, of the rows in which[]. */
extern GpucolStatus gpucol_cpu_host_ask_window(GpucolRun *run, GpucolCpuHostTest *test,
											   uint32_t first, uint32_t n,
											   uint32_t (*which)[GPUCOL_LANES]);

/* Ask it about the rows of a delta batch. */
extern GpucolStatus gpucol_cpu_host_ask_delta(GpucolRun *run, const GpucolDelta *delta);

/* Ask it about the entries of payload columns, once in a run. */
extern GpucolStatus gpucol_cpu_host_ask_payload(GpucolRun *run);

/* Forget what it said. */
extern void gpucol_cpu_host_forget(GpucolRun *run, GpucolCpuHostTest *test);

#endif							/* GPUCOL_ENGINE_CPU_HOST_H */
