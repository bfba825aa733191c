/*-------------------------------------------------------------------------
 *
 * long_values.h
 *	  Values that are too long to be harmless to a condition in which something grows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_LONG_VALUES_H
#define GPUCOL_EXEC_LONG_VALUES_H

#include "postgres.h"

#include "kernel/batch.h"
#include "kernel/program.h"

/*
 * Reads the source to its end.  Is there none among its values of these columns?  Of a
 * dictionary all values together count, which may be more than is needed.
 */
extern bool gpucol_long_values_none(GpucolSource *source, const GpucolProgramColumn *columns,
									int n);

#endif							/* GPUCOL_EXEC_LONG_VALUES_H */
