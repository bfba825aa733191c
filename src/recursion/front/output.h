/*-------------------------------------------------------------------------
 *
 * output.h
 *	  Values of results of datalog programs as those of PostgreSQL's types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_OUTPUT_H
#define GPUCOL_RECURSION_FRONT_OUTPUT_H

#include "postgres.h"

#include "fmgr.h"

#include "recursion/front/ast.h"
#include "recursion/front/functors.h"

/* How the values of one result column are made. */
typedef struct DatalogOutputColumn
{
	DatalogType type;
	Oid			target;
	int32		typmod;
	FmgrInfo	input;			/* of the target type, where bytes differ */
	Oid			ioparam;
	bool		by_text;
	const char *table;			/* that is made for the relation, or NULL: the caller
								 * has chosen the target */
} DatalogOutputColumn;

/* The type that a table made for a result has. */
extern Oid	gpucol_datalog_base_type(DatalogType type);

extern void gpucol_datalog_open_column(DatalogOutputColumn *column, DatalogType type, Oid target,
									   int32 typmod, const char *table);

/* A value, in the current memory context; an error where it has no place in the type. */
extern Datum gpucol_datalog_datum_of(const DatalogProgram *program, const DatalogStore *store,
									 DatalogOutputColumn *column, int64 value);

#endif							/* GPUCOL_RECURSION_FRONT_OUTPUT_H */
