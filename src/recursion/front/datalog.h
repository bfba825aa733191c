/*-------------------------------------------------------------------------
 *
 * datalog.h
 *	  A relation of a Datalog program as rows, for the node that scans gpucol.datalog.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_DATALOG_H
#define GPUCOL_RECURSION_FRONT_DATALOG_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "recursion/engine.h"

typedef struct GpucolDatalog GpucolDatalog;

/* Only rows with this value in a column (from 0 on) are asked for. */
typedef struct GpucolDatalogCondition
{
	int			column;
	Oid			type;			/* of the value: an integer, or text */
	Datum		value;
} GpucolDatalogCondition;

/*
 * Run a program for one of its relations, whose rows get the form of `desc`; PostgreSQL
 * errors for whatever is wrong.  All lives in a child of the current memory context, which
 * close ends.  Rows that a condition excludes may be among those that are fetched, where
 * gpucol_datalog_all_asked says that the relation could not be asked for it.
 */
extern GpucolDatalog *gpucol_datalog_open(const char *program, const char *output,
										  TupleDesc desc, int nconditions,
										  const GpucolDatalogCondition *conditions);
extern bool gpucol_datalog_all_asked(const GpucolDatalog *datalog);

/* The next row, in the current memory context; none of its values is null.  False: the end. */
extern bool gpucol_datalog_fetch(GpucolDatalog *datalog, Datum *values);

/*
 * In the place of rows: the next batch of them, none of which has a value without place in its
 * column; the value of one of its columns, in the current memory context; and whether it is
 * that of the column's type as it is.
 */
extern bool gpucol_datalog_fetch_batch(GpucolDatalog *datalog, GpucolRecBatch *batch);
extern Datum gpucol_datalog_datum(GpucolDatalog *datalog, int column, int64 value);
extern bool gpucol_datalog_in_place(const GpucolDatalog *datalog, int column);

/*
 * Before any row is fetched: the number of rows, and a summary of each column with want[i],
 * without forming rows; the errors of values that have no place in their column are raised.
 * False: rows have to be formed to know.
 */
extern bool gpucol_datalog_summarise(GpucolDatalog *datalog, const bool *want, uint64 *nrows,
									 GpucolRecSummary *columns);

/* The rules as they join, with their strata, in words (char *), in the current context. */
extern List *gpucol_datalog_rules(const GpucolDatalog *datalog);

extern void gpucol_datalog_progress(const GpucolDatalog *datalog, GpucolRecProgress *progress);
extern void gpucol_datalog_close(GpucolDatalog *datalog);

#endif							/* GPUCOL_RECURSION_FRONT_DATALOG_H */
