/*-------------------------------------------------------------------------
 *
 * verify.h
 *	  What the parts of gpucol.verify share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VERIFY_H
#define GPUCOL_COLUMNAR_VERIFY_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "columnar/view.h"

/* One call. */
typedef struct GpucolVerify
{
	Relation	table;
	GpucolView *view;			/* of the caller's snapshot */
	ReturnSetInfo *result;
	uint64		problems;		/* reported so far */
	const GpucolSegmentEntry *entry;	/* at hand, or NULL */
} GpucolVerify;

/* Report a problem of the segment at hand, or of none; attnum 0 = no column in particular. */
extern void gpucol_verify_report(GpucolVerify *verify, AttrNumber attnum,
								 const char *format,...) pg_attribute_printf(3, 4);

/*
 * Do a part of the work in a subtransaction.  False if an error has ended it that tells of
 * damage, which is reported then; other errors are raised.
 */
extern bool gpucol_verify_attempt(GpucolVerify *verify,
								  void (*part) (GpucolVerify *verify, void *arg), void *arg);

/*
 * Check the directory, and set the view to the segments whose entries are good and
 * visible to the snapshot.
 */
extern void gpucol_verify_directory(GpucolVerify *verify, Snapshot snapshot);

/*
 * Compare the rows that the snapshot sees with the entries of every index, and the entries
 * with what they may point to; not if there are problems already.
 */
extern void gpucol_verify_indexes(GpucolVerify *verify);

#endif							/* GPUCOL_COLUMNAR_VERIFY_H */
