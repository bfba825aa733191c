/*-------------------------------------------------------------------------
 *
 * result.h
 *	  Engine results as datums.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_RESULT_H
#define GPUCOL_EXEC_RESULT_H

#include "catalog/pg_type.h"

#include "engine/engine.h"
#include "exec/moments.h"
#include "lower/agg.h"

/* How one result column becomes datums: integers of type interval are microseconds. */
typedef struct GpucolOutput
{
	GpucolClass cls;
	GpucolTypeMap map;			/* of the datum's type */
	int			scale;			/* D: scale of the mantissas */
	bool		packed;			/* D: not mantissas, but packed decimals, of groups */
	const Datum *labels;		/* I: datums that the values number; NULL: none */
	int			shown;			/* D, of a group: 1 + number of the state that has how many digits are
								 * displayed; 0: as many as the scale */
} GpucolOutput;

/* Describe the output of an expression of this type and value. */
extern void gpucol_output_init(GpucolOutput *output, Oid type, int32 typmod,
							   Oid collation, const GpucolValue *value);

/* Room for values that may be int128, which have to lie as palloc does not promise. */
static inline void *
gpucol_result_room(Size size)
{
	return (void *) TYPEALIGN(sizeof(__int128), palloc(size + sizeof(__int128)));
}

/* A column of a result from a row on. */
extern GpucolResultColumn gpucol_result_column_from(const GpucolResultColumn *column, uint32 row);

/* The rows of a column that are listed, in the current context. */
extern GpucolResultColumn gpucol_result_column_chosen(const GpucolResultColumn *column, const uint32 *rows, uint32 n);

/*
 * Convert `nrows` values.  By-reference datums are allocated in the current
 * context.
 */
extern void gpucol_output_datums(const GpucolOutput *output,
								 const GpucolResultColumn *column,
								 uint32 nrows, Datum *values, bool *isnull);

/*
 * The inverse: datums of the type that output->map is of; the rest of *output is set.  The column, of which
 * values and isnull may become part, is of the current context.
 */
extern void gpucol_result_column_of(const Datum *values, const bool *isnull, uint32 nrows,
									GpucolOutput *output, GpucolResultColumn *column);

/*
 * Convert the first `n` columns of a batch, into arrays allocated in `context`, which
 * is reset before.
 */
extern void gpucol_outputs_load(MemoryContext context, const GpucolOutput *outputs,
								int n, const GpucolResult *result,
								Datum **values, bool **isnull);

/* Integers as datums of a type; v may be values. */
extern void gpucol_output_ints(const GpucolTypeMap *map, const int64 *v, uint32 nrows,
							   Datum *values);

/*
 * result_agg.c: the results of one aggregate for `nrows` groups, of which each has
 * `nstates` states, from the first one's states on
 */
extern void gpucol_final_datums(const GpucolFinal *final, const GpucolAggState *states,
								int nstates, uint32 nrows, Datum *values, bool *isnull);

/*
 * result_agg.c: the same as a column of an engine's result, in the current context; of `output` the map is
 * that of the aggregate's type
 */
extern void gpucol_final_column(const GpucolFinal *final, const GpucolAggState *states, int nstates,
								uint32 nrows, GpucolOutput *output, GpucolResultColumn *column);

/* result_agg.c: what the variance of a group is found of */
extern GpucolMoments gpucol_final_moments(const GpucolFinal *final, const GpucolAggState *state);

/* ... a difference of timestamps in microseconds, days apart, as PostgreSQL shows it; palloc'd */
extern Datum gpucol_span_datum(int64 usecs);

/* result_regression.c: that of an aggregate of pairs for a group */
extern Datum gpucol_final_regression(const GpucolFinal *final, const GpucolAggState *states,
									 bool *isnull);

/* ... of any aggregate for one group */
extern Datum gpucol_final_datum(const GpucolFinal *final,
								const GpucolAggState *states, bool *isnull);

/* A datum of one of the integer types. */
static inline int64
gpucol_integer_of(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		default:
			return DatumGetInt64(value);
	}
}

#endif							/* GPUCOL_EXEC_RESULT_H */
