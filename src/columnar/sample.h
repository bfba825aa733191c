/*-------------------------------------------------------------------------
 *
 * sample.h
 *	  ANALYZE, TABLESAMPLE and size estimates: callbacks of the table access
 *	  method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SAMPLE_H
#define GPUCOL_COLUMNAR_SAMPLE_H

#include "postgres.h"

#include "access/tableam.h"

#include "compat.h"

/* The routine's callbacks, as documented in access/tableam.h. */
extern bool gpucol_analyze_next_block(TableScanDesc sscan,
									  GPUCOL_COMPAT_ANALYZE_BLOCK);
extern bool gpucol_analyze_next_tuple(TableScanDesc sscan, TransactionId oldest_xmin,
									  double *liverows, double *deadrows,
									  TupleTableSlot *slot);
extern bool gpucol_sample_next_block(TableScanDesc sscan,
									 struct SampleScanState *state);
extern bool gpucol_sample_next_tuple(TableScanDesc sscan,
									 struct SampleScanState *state,
									 TupleTableSlot *slot);
extern uint64 gpucol_sample_relation_size(Relation rel, ForkNumber fork);
extern void gpucol_estimate_rel_size(Relation rel, int32 *attr_widths,
									 BlockNumber *pages, double *tuples,
									 double *allvisfrac);

#endif							/* GPUCOL_COLUMNAR_SAMPLE_H */
