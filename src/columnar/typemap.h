/*-------------------------------------------------------------------------
 *
 * typemap.h
 *	  PostgreSQL types and the value domains of the packed format.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_TYPEMAP_H
#define GPUCOL_COLUMNAR_TYPEMAP_H

#include "postgres.h"

#include "kernel/program.h"

/* An int64 holds mantissas of so many digits, and an int128 */
#define GPUCOL_INT64_DIGITS	18
#define GPUCOL_INT128_DIGITS	38

/* How values of one type and typmod are stored and computed with. */
typedef struct GpucolTypeMap
{
	Oid			type_oid;
	GpucolKind	kind;
	int8		scale;			/* DECIMAL: digits after the point */
	int8		digits;			/* DECIMAL: digits of its values, at most */
	int16		typlen;
	bool		typbyval;
	char		typalign;
	Oid			item_type;		/* arrays: of their elements, where the format has lengths and elements; */
	uint8		item_bytes;		/* how long one is; 0: it says so itself */
	bool		bytewise_equal; /* BYTES: equal values have equal bytes, and the
								 * default equality is that (text with a
								 * deterministic collation, bytea, uuid, ...) */
} GpucolTypeMap;

/*
 * Fill `map` for a type; domains are looked through.  numeric is DECIMAL only
 * with a typmod of precision <= 18 and 0 <= scale <= precision; all else that
 * has no fixed ordinal is BYTES.
 */
extern void gpucol_typemap_init(GpucolTypeMap *map, Oid type_oid, int32 typmod,
								Oid collation);

/*
 * Convert a non-null datum of an INT, DECIMAL or float kind to its 64-bit form
 * (ordinal, mantissa, bit pattern).  False where the value has none (numeric
 * NaN): the chunk must then be BYTES.
 */
extern bool gpucol_typemap_to_int64(const GpucolTypeMap *map, Datum value,
									int64 *result);

/* The same for a mantissa of up to 38 digits. */
extern bool gpucol_typemap_to_int128(const GpucolTypeMap *map, Datum value, __int128 *result);

/* Are ordinals of an INT kind narrower than 64 bits signed? */
extern bool gpucol_typemap_is_signed(const GpucolTypeMap *map);

/* How many digits a numeric has, or that it is none of them (NaN, infinite). */
typedef struct GpucolNumericDigits
{
	bool		finite;
	int			shown;			/* digits after the point, as it is written, */
	int			fraction;		/* and without zeros at the end */
	int			whole;			/* before the point; 0 of a fraction */
} GpucolNumericDigits;

extern void gpucol_typemap_numeric_digits(Datum value, GpucolNumericDigits *counted);

/* The same of the contents of its datum. */
extern void gpucol_typemap_bytes_digits(GpucolBytes value, GpucolNumericDigits *counted);

/* The most digits after the point that a numeric can have. */
#define GPUCOL_NUMERIC_MAX_SCALE	16383

/* The numeric mantissa / 10^scale; scale is 0 to GPUCOL_NUMERIC_MAX_SCALE.  Palloc'd. */
extern Datum gpucol_typemap_numeric(__int128 mantissa, int scale);

/* The inverse; a by-reference result is palloc'd. */
extern Datum gpucol_typemap_from_int64(const GpucolTypeMap *map, int64 value);

/*
 * Contents of a BYTES datum (detoasted if need be, which may palloc), without
 * any varlena header, and the inverse (palloc'd).
 */
extern GpucolBytes gpucol_typemap_to_bytes(const GpucolTypeMap *map, Datum value);
extern Datum gpucol_typemap_from_bytes(const GpucolTypeMap *map, GpucolBytes bytes);

#endif							/* GPUCOL_COLUMNAR_TYPEMAP_H */
