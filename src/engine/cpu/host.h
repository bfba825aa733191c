/*-------------------------------------------------------------------------
 *
 * host.h
 *	  What the host says of byte strings, and makes of them (host.c); what their order decides (cuts.c).
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

/*
 * Ask it about n rows, or about those with bit set in `which`: the verdict of
 * another row is false.  Row `first` of test->verdicts is the first of them; make room for the rows of
 * a window.  In any thread if the host may be asked there and test->mapped is NULL.
 */
extern GpucolStatus gpucol_cpu_host_ask_rows(GpucolRun *run, GpucolCpuHostTest *test, const GpucolBytes *values,
											 const uint32_t *nulls, const uint32_t *which, uint32_t n, size_t first);
extern GpucolStatus gpucol_cpu_host_make_room(GpucolRun *run, GpucolCpuHostTest *test, size_t n);

/* Ask it about the rows of a delta batch. */
extern GpucolStatus gpucol_cpu_host_ask_delta(GpucolRun *run, const GpucolDelta *delta);

/* Ask it about the entries of payload columns, once in a run. */
extern GpucolStatus gpucol_cpu_host_ask_payload(GpucolRun *run);

/* Forget what it said. */
extern void gpucol_cpu_host_forget(GpucolRun *run, GpucolCpuHostTest *test);

/* ---- cuts.c ---- */

/*
 * Find which host predicates the order of the current segment's dictionaries decides, and
 * for which codes they hold; and which dictionaries need not be read.
 */
extern GpucolStatus gpucol_cpu_cuts_open(GpucolRun *run);

/* The code of an entry in a dictionary that is not read, if it is there; else where it would be. */
extern GpucolStatus gpucol_cpu_cuts_find_entry(GpucolRun *run, const GpucolCpuColumn *column, GpucolBytes value,
											   uint32_t *code, bool *found);

/* Does such a predicate exclude the segment? */
extern bool gpucol_cpu_cuts_exclude(const GpucolRun *run);

/* A byte for each code: does it hold? */
extern void gpucol_cpu_cuts_fill(const GpucolCpuHostTest *test, uint32_t ndict, uint8_t *verdicts);

/* Forget what was found. */
extern void gpucol_cpu_cuts_reset(GpucolRun *run);

#endif							/* GPUCOL_ENGINE_CPU_HOST_H */
