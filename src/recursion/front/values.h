/*-------------------------------------------------------------------------
 *
 * values.h
 *	  PostgreSQL values as the 64-bit values of recursion plans.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_VALUES_H
#define GPUCOL_RECURSION_FRONT_VALUES_H

#include "postgres.h"

#include "kernel/recursion.h"

#include "recursion/front/equality.h"
#include "recursion/front/symbols.h"

/* How values of one type travel. */
typedef struct GpucolRecColumn
{
	Oid			type;
	GpucolRecType rec_type;		/* what may be computed with them */
	int16		typlen;
	bool		typbyval;
	char		typalign;
	bool		coded;			/* by reference: codes of a dictionary */
	bool		is_unsigned;	/* oid */
	bool		numbers;		/* numeric: coded unless the value is a number itself (number.h) */
	bool		carried;		/* coded, and no code of it is ever compared */
	GpucolEquality *equality;	/* set: equal values are made the same, or keep their forms */
} GpucolRecColumn;

extern void gpucol_rec_column_init(GpucolRecColumn *column, Oid type);

/*
 * Are two values of the type equal, by its default equality, exactly if their
 * 64-bit values are?  Deduplication and joins need it.
 */
extern bool gpucol_rec_type_comparable(Oid type, Oid collation);

/*
 * Can they be made so by giving equal values one code (equality.h)?  The type can
 * be hashed.
 */
extern bool gpucol_rec_type_hashable(Oid type);

/*
 * Does no function tell equal values of the type apart?  (1.0 and 1.00 differ as
 * text; arrays that are equal do not, where their elements do not.)
 */
extern bool gpucol_rec_type_exact(Oid type, Oid collation);

/* Does the order of the 64-bit values agree with the default order? */
extern bool gpucol_rec_type_ordered(Oid type);

/* The word of a value that is none by reference. */
extern int64 gpucol_rec_column_word(const GpucolRecColumn *column, Datum datum);

/* What stands for a word or a code in the engine: the first of its equals, if they are made the same. */
static inline int64
gpucol_rec_column_first(const GpucolRecColumn *column, int64 value, GpucolSymbols *symbols)
{
	return column->equality == NULL ? value : gpucol_equality_first(column->equality, column, symbols, value);
}

/* The bytes of a value by reference, which may be of the current memory context. */
extern GpucolBytes gpucol_rec_column_bytes(const GpucolRecColumn *column, Datum datum);

extern int64 gpucol_rec_column_to_value(const GpucolRecColumn *column,
										Datum datum, GpucolSymbols *symbols);

/* The same of n values, 0 for those that are NULL; of values by reference the bytes suffice. */
extern void gpucol_rec_column_to_values(const GpucolRecColumn *column, uint32 n, const Datum *datums,
										const uint8 *nulls, GpucolSymbols *symbols, int64 *values);

extern void gpucol_rec_strings_to_values(const GpucolRecColumn *column, uint32 n, const GpucolBytes *strings,
										 const uint8 *nulls, GpucolSymbols *symbols, int64 *values);

/* The inverse; a value by reference is the dictionary's, or palloc'd. */
extern Datum gpucol_rec_column_to_datum(const GpucolRecColumn *column,
										int64 value,
										const GpucolSymbols *symbols);

/* The bytes of a value by reference: the dictionary's, or written to `room`, of GPUCOL_NUMERIC_BYTES. */
extern GpucolBytes gpucol_rec_column_string(const GpucolRecColumn *column, int64 value, const GpucolSymbols *symbols,
											char *room);

#endif							/* GPUCOL_RECURSION_FRONT_VALUES_H */
