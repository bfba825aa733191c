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

#endif							/* GPUCOL_LOWER_HOST_TEST_H */
