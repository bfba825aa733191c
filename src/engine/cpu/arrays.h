/*-------------------------------------------------------------------------
 *
 * arrays.h
 *	  Host predicates on arrays, decided on packed elements (arrays.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_ARRAYS_H
#define GPUCOL_ENGINE_CPU_ARRAYS_H

#include "engine/cpu/cpu.h"

/* Do sizes and elements of arrays decide a host predicate, wherever a chunk has them apart? */
extern bool gpucol_cpu_arrays_decide(const GpucolRun *run, const GpucolCpuHostTest *test);

/* How many strings does one that they decide look for? */
extern uint64_t gpucol_cpu_arrays_strings(const GpucolRun *run, const GpucolCpuHostTest *test);

/*
 * For the segment at hand, whose dictionaries are read: make test->arrays, or leave it NULL where
 * the chunk's elements do not decide; forget it.
 */
extern GpucolStatus gpucol_cpu_arrays_open(GpucolRun *run, GpucolCpuHostTest *test);
extern void gpucol_cpu_arrays_reset(GpucolRun *run, GpucolCpuHostTest *test);

/* Is it true for no row of the segment, as the chunk lacks what it looks for? */
extern bool gpucol_cpu_arrays_never(const GpucolCpuHostTest *test);

/* Does a test of a column look at elements, not only at sizes? */
extern bool gpucol_cpu_arrays_read_items(const GpucolCpuHostTest *test);

/*
 * Verdicts on the rows of a vector that a decoder reads.  Those with a bit set in `which` are asked about: what
 * others have is undefined.  In any thread.
 */
extern GpucolStatus gpucol_cpu_arrays_ask(const GpucolCpuHostTest *test, const GpucolDecoder *decoder, uint32_t vector,
										  const uint32_t *which, uint8_t verdicts[GPUCOL_VECTOR_VALUES]);

#endif							/* GPUCOL_ENGINE_CPU_ARRAYS_H */
