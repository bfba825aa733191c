/*-------------------------------------------------------------------------
 *
 * device.h
 *	  Would the device be sooner than the CPU?
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_DEVICE_H
#define GPUCOL_EXEC_DEVICE_H

#include "exec/run.h"

/*
 * What gpucol.engine = auto goes by: packed bytes of the columns that a run reads
 * and how much of them is resident, rows in and out, and what both engines are
 * estimated to need.
 */
typedef struct GpucolDeviceEstimate
{
	double		rows;			/* of the tables */
	double		out_rows;		/* of the result */
	double		bytes;			/* packed, of the columns */
	double		resident;		/* of that, in device memory */
	double		device_ms;		/* with a share of the cost of loading the rest */
	double		cpu_ms;
	bool		fits;			/* the columns fit device memory */
	bool		device;			/* the choice */
} GpucolDeviceEstimate;

/* Add the rows of some columns of a table, and their bytes, to an estimate. */
extern void gpucol_device_count(Relation rel, Bitmapset *attnums, GpucolDeviceEstimate *estimate);

/*
 * Estimate a run of a node over some columns of its table, or of its tables.  Asks the daemon's
 * residency table; starts no daemon.
 */
extern void gpucol_device_estimate(GpucolExec *exec, Bitmapset *attnums,
								   GpucolDeviceEstimate *estimate);

/*
 * The share of some columns of a table of so many rows that is in device memory, as far
 * as the daemon has told this process.
 */
extern double gpucol_device_resident(Relation rel, Bitmapset *attnums, double rows);

/* An estimate in words, for EXPLAIN; palloc'd. */
extern char *gpucol_device_explanation(const GpucolDeviceEstimate *estimate);

#endif							/* GPUCOL_EXEC_DEVICE_H */
