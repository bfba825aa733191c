/*-------------------------------------------------------------------------
 *
 * host_test.h
 *	  Host tests: what PostgreSQL evaluates for values that an engine hands over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HOST_TEST_H
#define GPUCOL_LOWER_HOST_TEST_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "kernel/batch.h"
#include "lower/lower.h"

/* Make the callbacks by which an engine asks for a program's host tests. */
extern void gpucol_host_init(GpucolHost *host, GpucolLower *l, PlanState *ps);

/* May a test refuse a value, because something grows in it? */
extern bool gpucol_host_may_refuse(const GpucolHost *host);

/*
 * Has a test been asked about a value that is too long to be harmless to it?  It was not
 * evaluated then, and what the engine made of the answer is void.
 */
extern bool gpucol_host_refused(const GpucolHost *host);

#endif							/* GPUCOL_LOWER_HOST_TEST_H */
