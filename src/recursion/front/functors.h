/*-------------------------------------------------------------------------
 *
 * functors.h
 *	  Functions of datalog programs that the engine of the recursion does not have:
 *	  they are computed here, for a vector of rows at a time (GPUCOL_REC_HOST).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_FUNCTORS_H
#define GPUCOL_RECURSION_FRONT_FUNCTORS_H

#include "postgres.h"

#include "recursion/front/ast.h"
#include "recursion/front/symbols.h"

/* How the types of a call go together. */
typedef enum DatalogSignature
{
	SIGNATURE_FIXED,			/* argument and result types are the functor's */
	SIGNATURE_INTEGER,			/* one type throughout: number or unsigned */
	SIGNATURE_NUMERIC,			/* one type throughout, float too */
	SIGNATURE_CONVERSION,		/* any argument, the functor's result */
	SIGNATURE_CAST,				/* any argument, the result that the program names */
	SIGNATURE_RECORD			/* records.h */
} DatalogSignature;

/* What the values of a running program stand for. */
typedef struct DatalogStore
{
	GpucolSymbols *symbols;
	GpucolSymbols *records;		/* records.h; the values are one greater than the codes */
	int64		counter;		/* autoinc() */
} DatalogStore;

/* A call for one row; values as the engine has them, types as they were checked. */
typedef struct DatalogCall
{
	const struct DatalogFunctor *functor;
	DatalogType from;			/* of the first argument */
	DatalogType type;			/* of the result */
	GpucolSymbols *symbols;
	DatalogStore *store;
	int64		args[DATALOG_MAX_ARGS];
} DatalogCall;

typedef struct DatalogFunctor
{
	const char *name;
	int			nargs;
	DatalogSignature signature;
	DatalogType result;			/* FIXED, CONVERSION */
	DatalogType args[DATALOG_MAX_ARGS]; /* FIXED */
	int64		(*compute) (const DatalogCall *call);	/* NULL: ranges.h */
} DatalogFunctor;

/* A functor by its name, or NULL. */
extern const DatalogFunctor *gpucol_datalog_functor(const char *name);

/* A functor as it is called in a plan: expression number i of its host. */
typedef struct DatalogHost
{
	const DatalogFunctor *functor;
	DatalogType from;
	DatalogType type;
} DatalogHost;

/* Compute it for n rows, as GpucolRecHost does. */
extern void gpucol_datalog_compute(const DatalogHost *host, DatalogStore *store,
								   uint32 n, const int64 *const *values,
								   int64 *result, uint8 *result_nulls);

#endif							/* GPUCOL_RECURSION_FRONT_FUNCTORS_H */
