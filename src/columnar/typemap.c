/*-------------------------------------------------------------------------
 *
 * typemap.c
 *	  PostgreSQL types and the value domains of the packed format.
 *
 * Ordinals keep the type's order where it has one: dates and timestamps are
 * their internal counts, bool is 0 or 1, oid and enum are the unsigned OID.
 *
 * A numeric(p,s) with p <= 18 is its mantissa at scale s.  The conversion reads
 * and writes the on-disk representation of numeric (numeric.c: base 10000
 * digits behind a short or long header), which is the same in all supported
 * releases because pg_upgrade keeps it; it is some ten times faster than going
 * through numeric's SQL functions.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "columnar/typemap.h"
#include "common/int.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"

#include "compat.h"

/* Header bits of an on-disk numeric. */
#define NUMERIC_FLAG_MASK		0xC000
#define NUMERIC_FLAG_NEG		0x4000
#define NUMERIC_FLAG_SHORT		0x8000
#define NUMERIC_FLAG_SPECIAL	0xC000
#define SHORT_SIGN_BIT			0x2000
#define SHORT_DSCALE_SHIFT		7
#define SHORT_DSCALE_MASK		0x1F80
#define SHORT_WEIGHT_SIGN		0x0040
#define SHORT_WEIGHT_MASK		0x003F

#define NUMERIC_BASE			10000
#define NUMERIC_BASE_DIGITS		4

/* Largest precision whose mantissa always fits an int64. */
#define DECIMAL_MAX_PRECISION	18

static const int64 powers_of_ten[] = {
	INT64CONST(1),
	INT64CONST(10),
	INT64CONST(100),
	INT64CONST(1000),
	INT64CONST(10000),
	INT64CONST(100000),
	INT64CONST(1000000),
	INT64CONST(10000000),
	INT64CONST(100000000),
	INT64CONST(1000000000),
	INT64CONST(10000000000),
	INT64CONST(100000000000),
	INT64CONST(1000000000000),
	INT64CONST(10000000000000),
	INT64CONST(100000000000000),
	INT64CONST(1000000000000000),
	INT64CONST(10000000000000000),
	INT64CONST(100000000000000000),
	INT64CONST(1000000000000000000)
};

/* Is numeric's typmod one that DECIMAL can hold?  Sets scale and digits if so. */
static bool
numeric_typmod_is_decimal(GpucolTypeMap *map, int32 typmod)
{
	int			precision;
	int			digits;

	if (typmod < (int32) VARHDRSZ)
		return false;
	typmod -= VARHDRSZ;
	precision = (typmod >> 16) & 0xffff;
	digits = ((typmod & 0x7ff) ^ 1024) - 1024;
	if (precision > DECIMAL_MAX_PRECISION || digits < 0 || digits > precision)
		return false;
	map->scale = (int8) digits;
	map->digits = (int8) precision;
	return true;
}

/* The value domain of a base type, which is the map's; scale and digits if it is DECIMAL. */
static GpucolKind
kind_of_type(GpucolTypeMap *map, int32 typmod)
{
	Oid			type_oid = map->type_oid;

	switch (type_oid)
	{
		case BOOLOID:
		case CHAROID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			return GPUCOL_KIND_INT;
		case FLOAT4OID:
			return GPUCOL_KIND_FLOAT4;
		case FLOAT8OID:
			return GPUCOL_KIND_FLOAT8;
		case NUMERICOID:
			return numeric_typmod_is_decimal(map, typmod) ?
				GPUCOL_KIND_DECIMAL : GPUCOL_KIND_BYTES;
		default:
			return get_typtype(type_oid) == TYPTYPE_ENUM ?
				GPUCOL_KIND_INT : GPUCOL_KIND_BYTES;
	}
}

/* Do equal values of a BYTES type always have equal bytes? */
static bool
type_is_bytewise_equal(Oid type_oid, int32 typmod, Oid collation)
{
	switch (type_oid)
	{
		case BPCHAROID:
			/* char(n) is stored padded to n characters */
			return typmod >= (int32) VARHDRSZ && OidIsValid(collation) &&
				get_collation_isdeterministic(collation);
		case TEXTOID:
		case VARCHAROID:
		case NAMEOID:
			return OidIsValid(collation) &&
				get_collation_isdeterministic(collation);
		case BYTEAOID:
		case UUIDOID:
		case MACADDROID:
		case MACADDR8OID:
		case TIDOID:
		case LSNOID:
			return true;
		default:
			return false;
	}
}

/* Elements of an array type that lie on multiples of their width, or of four bytes with a header. */
static void
find_items(GpucolTypeMap *map)
{
	Oid			item_type = get_element_type(map->type_oid);
	int16		len;
	bool		byval;
	char		align;

	if (!OidIsValid(item_type))
		return;
	get_typlenbyvalalign(item_type, &len, &byval, &align);
	if (len == -1 ? align != TYPALIGN_INT : len != 1 && len != 2 && len != 4 && len != 8)
		return;
	map->item_type = item_type;
	map->item_bytes = len > 0 ? (uint8) len : 0;
}

void
gpucol_typemap_init(GpucolTypeMap *map, Oid type_oid, int32 typmod,
					Oid collation)
{
	memset(map, 0, sizeof(GpucolTypeMap));
	map->type_oid = getBaseTypeAndTypmod(type_oid, &typmod);
	get_typlenbyvalalign(map->type_oid, &map->typlen, &map->typbyval,
						 &map->typalign);
	map->kind = kind_of_type(map, typmod);
	if (map->kind != GPUCOL_KIND_BYTES)
		return;
	map->bytewise_equal = type_is_bytewise_equal(map->type_oid, typmod, collation);
	find_items(map);
}

/*
 * Mantissa at `scale` of an on-disk numeric.  False for NaN, infinities, a
 * value with more fractional digits than the scale, and overflow.
 */
static bool
numeric_to_mantissa(const char *data, Size len, int scale, int64 *result)
{
	uint16		header;
	int			weight;
	bool		negative;
	const char *digits;
	int			ndigits;
	int64		mantissa = 0;
	int			exponent;		/* power of ten of the last digit's unit */

	memcpy(&header, data, sizeof(header));
	if ((header & NUMERIC_FLAG_MASK) == NUMERIC_FLAG_SPECIAL)
		return false;
	if (header & NUMERIC_FLAG_SHORT)
	{
		negative = (header & SHORT_SIGN_BIT) != 0;
		weight = (header & SHORT_WEIGHT_MASK) |
			((header & SHORT_WEIGHT_SIGN) ? ~SHORT_WEIGHT_MASK : 0);
		digits = data + sizeof(uint16);
	}
	else
	{
		int16		w;

		negative = (header & NUMERIC_FLAG_MASK) == NUMERIC_FLAG_NEG;
		memcpy(&w, data + sizeof(uint16), sizeof(w));
		weight = w;
		digits = data + sizeof(uint16) + sizeof(int16);
	}
	ndigits = (data + len - digits) / sizeof(int16);

	for (int i = 0; i < ndigits; i++)
	{
		int16		digit;

		memcpy(&digit, digits + i * sizeof(int16), sizeof(digit));
		/* the last digit may reach below the scale: only with zeros */
		exponent = (weight - i) * NUMERIC_BASE_DIGITS + scale;
		if (exponent >= 0)
		{
			if (pg_mul_s64_overflow(mantissa, NUMERIC_BASE, &mantissa) ||
				pg_add_s64_overflow(mantissa, digit, &mantissa))
				return false;
		}
		else
		{
			int			drop = -exponent;
			int64		unit;

			if (i != ndigits - 1 || drop >= NUMERIC_BASE_DIGITS)
				return false;
			unit = powers_of_ten[drop];
			if (digit % unit != 0)
				return false;
			if (pg_mul_s64_overflow(mantissa, NUMERIC_BASE / unit, &mantissa) ||
				pg_add_s64_overflow(mantissa, digit / unit, &mantissa))
				return false;
		}
	}
	exponent = (weight - ndigits + 1) * NUMERIC_BASE_DIGITS + scale;
	if (exponent > 0 && mantissa != 0)
	{
		if (exponent > DECIMAL_MAX_PRECISION ||
			pg_mul_s64_overflow(mantissa, powers_of_ten[exponent], &mantissa))
			return false;
	}
	*result = negative ? -mantissa : mantissa;
	return true;
}

/* Times 10^by and plus a digit, of a mantissa that is not negative. */
static bool
append_digit(__int128 *mantissa, int64 by, int64 digit)
{
	return !__builtin_mul_overflow(*mantissa, by, mantissa) &&
		!__builtin_add_overflow(*mantissa, digit, mantissa);
}

/*
 * A mantissa of any finite numeric that fits, by way of its decimal digits.
 */
bool
gpucol_typemap_to_int128(const GpucolTypeMap *map, Datum value, __int128 *result)
{
	char	   *text = DatumGetCString(DirectFunctionCall1(numeric_out, value));
	__int128	mantissa = 0;
	int			missing = map->scale;
	bool		point = false;
	bool		ok = true;

	for (const char *c = text; *c != '\0' && ok; c++)
	{
		if (*c == '.')
			point = true;
		else if (*c >= '0' && *c <= '9' && (!point || missing > 0))
		{
			ok = append_digit(&mantissa, 10, *c - '0');
			missing -= point;
		}
		else
			ok = *c == '0' || *c == '-';
	}
	for (; missing > 0 && ok; missing--)
		ok = append_digit(&mantissa, 10, 0);
	*result = text[0] == '-' ? -mantissa : mantissa;
	pfree(text);
	return ok;
}

/* Decimal digits of a base-10000 digit before its zeros at the end. */
static int
significant_digits(int16 digit)
{
	int			n = NUMERIC_BASE_DIGITS;

	while (n > 0 && digit % 10 == 0)
	{
		digit /= 10;
		n--;
	}
	return n;
}

/*
 * How many digits a numeric has.
 */
void
gpucol_typemap_bytes_digits(GpucolBytes value, GpucolNumericDigits *counted)
{
	const char *data = value.data;
	uint16		header;
	int16		long_weight = 0;
	int			weight;
	int			ndigits;
	Size		header_size;
	bool		is_short;
	int16		digit;

	memset(counted, 0, sizeof(*counted));
	memcpy(&header, data, sizeof(header));
	counted->finite = (header & NUMERIC_FLAG_MASK) != NUMERIC_FLAG_SPECIAL;
	is_short = (header & NUMERIC_FLAG_SHORT) != 0;
	header_size = is_short ? sizeof(uint16) : 2 * sizeof(uint16);
	if (!is_short)
		memcpy(&long_weight, data + sizeof(uint16), sizeof(long_weight));
	weight = !is_short ? long_weight : (header & SHORT_WEIGHT_MASK) |
		((header & SHORT_WEIGHT_SIGN) ? ~SHORT_WEIGHT_MASK : 0);
	counted->shown = is_short ? (header & SHORT_DSCALE_MASK) >> SHORT_DSCALE_SHIFT :
		header & ~NUMERIC_FLAG_MASK;
	ndigits = (value.len - header_size) / sizeof(int16);
	if (counted->finite && ndigits > 0)
	{
		counted->whole = Max(weight + 1, 0) * NUMERIC_BASE_DIGITS;
		memcpy(&digit, data + header_size + (ndigits - 1) * sizeof(int16), sizeof(digit));
		counted->fraction = Max((ndigits - 2 - weight) * NUMERIC_BASE_DIGITS + significant_digits(digit), 0);
	}
}

void
gpucol_typemap_numeric_digits(Datum value, GpucolNumericDigits *counted)
{
	struct varlena *datum = PG_DETOAST_DATUM_PACKED(value);

	gpucol_typemap_bytes_digits((GpucolBytes) {VARDATA_ANY(datum), VARSIZE_ANY_EXHDR(datum)}, counted);
	if ((Pointer) datum != DatumGetPointer(value))
		pfree(datum);
}

/* Base-10000 digits of an int128, moved by up to 3 decimal digits. */
#define INT128_NUMERIC_DIGITS	11

/*
 * Base-10000 digits of |mantissa| times 10^pad, pad being less than 4, to the end of an
 * array of INT128_NUMERIC_DIGITS; the index of the first.
 */
static int
split_mantissa(__int128 mantissa, int pad, int16 *digits)
{
	unsigned __int128 rest = mantissa < 0 ? -(unsigned __int128) mantissa :
		(unsigned __int128) mantissa;
	uint64		low;
	int			first = INT128_NUMERIC_DIGITS;

	if (rest != 0 && pad > 0)
	{
		uint64		unit = NUMERIC_BASE / powers_of_ten[pad];

		digits[--first] = (int16) ((uint64) (rest % unit) * powers_of_ten[pad]);
		rest /= unit;
	}
	for (; (rest >> 64) != 0; rest /= NUMERIC_BASE)
		digits[--first] = (int16) (rest % NUMERIC_BASE);
	for (low = (uint64) rest; low != 0; low /= NUMERIC_BASE)
		digits[--first] = (int16) (low % NUMERIC_BASE);
	return first;
}

/* A numeric of digits without zeros at either end; none is the value 0. */
static Datum
make_numeric(bool negative, int weight, int scale, const int16 *digits, int ndigits)
{
	bool		is_short = scale <= SHORT_DSCALE_MASK >> SHORT_DSCALE_SHIFT &&
		weight >= -(SHORT_WEIGHT_MASK + 1) && weight <= SHORT_WEIGHT_MASK;
	uint16		header[2];
	Size		header_size = is_short ? sizeof(uint16) : 2 * sizeof(uint16);
	Size		size = VARHDRSZ + header_size + ndigits * sizeof(int16);
	char	   *result = palloc(size);

	if (is_short)
		header[0] = NUMERIC_FLAG_SHORT | (negative ? SHORT_SIGN_BIT : 0) |
			(uint16) (scale << SHORT_DSCALE_SHIFT) |
			(weight < 0 ? SHORT_WEIGHT_SIGN : 0) |
			(uint16) (weight & SHORT_WEIGHT_MASK);
	else
	{
		header[0] = (negative ? NUMERIC_FLAG_NEG : 0) | (uint16) scale;
		header[1] = (uint16) weight;
	}
	SET_VARSIZE(result, size);
	memcpy(VARDATA(result), header, header_size);
	memcpy(VARDATA(result) + header_size, digits, ndigits * sizeof(int16));
	return PointerGetDatum(result);
}

Datum
gpucol_typemap_numeric(__int128 mantissa, int scale)
{
	int16		digits[INT128_NUMERIC_DIGITS];
	int			fraction = (scale + NUMERIC_BASE_DIGITS - 1) / NUMERIC_BASE_DIGITS;
	int			first = split_mantissa(mantissa, fraction * NUMERIC_BASE_DIGITS - scale, digits);
	int			last = INT128_NUMERIC_DIGITS;
	int			weight = (last - first) - fraction - 1;

	Assert(scale >= 0 && scale <= GPUCOL_NUMERIC_MAX_SCALE);
	while (first < last && digits[last - 1] == 0)
		last--;
	while (first < last && digits[first] == 0)
	{
		first++;
		weight--;
	}
	if (first == last)
		weight = 0;
	return make_numeric(mantissa < 0, weight, scale, &digits[first], last - first);
}

bool
gpucol_typemap_is_signed(const GpucolTypeMap *map)
{
	return map->type_oid == INT2OID || map->type_oid == INT4OID ||
		map->type_oid == DATEOID;
}

/* Ordinal of a pass-by-value datum by width and signedness. */
static int64
ordinal_from_datum(const GpucolTypeMap *map, Datum value)
{
	switch (map->typlen)
	{
		case 1:
			/* bool is 0 or 1; "char" orders as unsigned */
			return DatumGetUInt8(value);
		case 2:
			return DatumGetInt16(value);
		case 4:
			if (gpucol_typemap_is_signed(map))
				return DatumGetInt32(value);
			return DatumGetUInt32(value);	/* oid, enum */
		default:
			return DatumGetInt64(value);
	}
}

bool
gpucol_typemap_to_int64(const GpucolTypeMap *map, Datum value, int64 *result)
{
	switch (map->kind)
	{
		case GPUCOL_KIND_INT:
			*result = ordinal_from_datum(map, value);
			return true;
		case GPUCOL_KIND_FLOAT4:
			*result = (int64) DatumGetUInt32(value);
			return true;
		case GPUCOL_KIND_FLOAT8:
			*result = DatumGetInt64(value);
			return true;
		case GPUCOL_KIND_DECIMAL:
			{
				struct varlena *datum = PG_DETOAST_DATUM_PACKED(value);
				bool		ok;

				ok = numeric_to_mantissa(VARDATA_ANY(datum),
										 VARSIZE_ANY_EXHDR(datum),
										 map->scale, result);
				if ((Pointer) datum != DatumGetPointer(value))
					pfree(datum);
				return ok;
			}
		default:
			return false;
	}
}

Datum
gpucol_typemap_from_int64(const GpucolTypeMap *map, int64 value)
{
	if (map->kind == GPUCOL_KIND_DECIMAL)
		return gpucol_typemap_numeric(value, map->scale);
	switch (map->typlen)
	{
		case 1:
			return map->type_oid == BOOLOID ? BoolGetDatum(value != 0) :
				CharGetDatum((char) value);
		case 2:
			return Int16GetDatum((int16) value);
		case 4:
			/* sign-extended for every type, as fetch_att() does */
			return Int32GetDatum((int32) value);
		default:
			return Int64GetDatum(value);
	}
}

GpucolBytes
gpucol_typemap_to_bytes(const GpucolTypeMap *map, Datum value)
{
	GpucolBytes bytes;

	if (map->typlen == -1)
	{
		struct varlena *datum = PG_DETOAST_DATUM_PACKED(value);

		bytes.data = VARDATA_ANY(datum);
		bytes.len = VARSIZE_ANY_EXHDR(datum);
	}
	else if (map->typlen == -2)
	{
		bytes.data = DatumGetCString(value);
		bytes.len = strlen(bytes.data) + 1;
	}
	else if (map->typbyval)
	{
		char	   *copy = palloc(sizeof(Datum));

		store_att_byval(copy, value, map->typlen);
		bytes.data = copy;
		bytes.len = map->typlen;
	}
	else
	{
		bytes.data = DatumGetPointer(value);
		bytes.len = map->typlen;
	}
	return bytes;
}

Datum
gpucol_typemap_from_bytes(const GpucolTypeMap *map, GpucolBytes bytes)
{
	char	   *copy;

	if (map->typlen == -1)
	{
		copy = palloc(VARHDRSZ + bytes.len);
		SET_VARSIZE(copy, VARHDRSZ + bytes.len);
		memcpy(VARDATA(copy), bytes.data, bytes.len);
		return PointerGetDatum(copy);
	}
	if (map->typbyval)
	{
		Datum		aligned = 0;

		memcpy(&aligned, bytes.data, Min(bytes.len, sizeof(Datum)));
		return fetch_att(&aligned, true, map->typlen);
	}
	copy = palloc(Max(bytes.len, 1));
	memcpy(copy, bytes.data, bytes.len);
	return PointerGetDatum(copy);
}
