/*-------------------------------------------------------------------------
 *
 * input.h
 *	  Input relations of datalog programs, read from tables and views.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_INPUT_H
#define GPUCOL_RECURSION_FRONT_INPUT_H

#include "postgres.h"

#include "recursion/front/ast.h"
#include "recursion/front/symbols.h"

/* The rows of one relation, as the engine takes them. */
typedef struct GpucolDatalogInput
{
	DatalogRelation *relation;
	int64	  **columns;
	uint64		nrows;
	uint64		allocated;
	bool		wide;			/* holds a value of more than 32 bits */
} GpucolDatalogInput;

/*
 * Read the table or view that the search path finds for a relation, with the
 * privileges of the current user and the active snapshot; sets the relation's
 * rows and distinct.  SPI must be connected; the result is allocated in the
 * given context.
 */
extern GpucolDatalogInput *gpucol_datalog_read(const DatalogProgram *program,
											   DatalogRelation *relation,
											   GpucolSymbols *symbols,
											   MemoryContext context);

#endif							/* GPUCOL_RECURSION_FRONT_INPUT_H */
