/*-------------------------------------------------------------------------
 *
 * equality.c
 *	  One 64-bit value for all values that a type holds equal.
 *
 * Engines compare 64-bit values.  Where equal values of a type may look different
 * (numeric 1.0 and 1.00, 0 and -0, texts of a nondeterministic collation) each is
 * replaced by the first one seen that equals it, found by the type's own hash and
 * equality functions.  What has been looked up once is remembered, and whether it
 * made any difference: which form a result shows is for PostgreSQL to say then.
 *
 * Or values keep their forms, and only rows are compared by what equal values share.  Of words, which are
 * numerics of few digits (number.h) and floats, that is computed; of codes it is noted when they are first seen.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "recursion/front/equality.h"
#include "recursion/front/number.h"
#include "recursion/front/values.h"

/* A value that was seen, and the first one equal to it. */
typedef struct SeenEntry
{
	int64		value;
	int64		first;
	char		status;
} SeenEntry;

#define SH_PREFIX		seen
#define SH_ELEMENT_TYPE	SeenEntry
#define SH_KEY_TYPE		int64
#define SH_KEY			value
#define SH_HASH_KEY(table, k)	murmurhash32((uint32) (k) ^ (uint32) ((uint64) (k) >> 32))
#define SH_EQUAL(table, a, b)	((a) == (b))
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct FirstEntry
{
	int64		value;
	uint32		hash;
	char		status;
} FirstEntry;

struct GpucolEquality
{
	Oid			collation;
	TypeCacheEntry *type;
	bool		exact;			/* equal values look the same all the same */
	bool		lost;			/* two that look different were equal */
	bool		keeps;			/* each keeps its form */
	Oid			base;			/* type of which it may be a domain */
	int64	   *forms;			/* of codes, if each keeps its own, or NO_FORM; */
	int64		nforms;
	seen_hash  *seen;
	struct first_hash *first;
	MemoryContext scratch;		/* datums that are hashed and compared */

	/* what the functions below work on */
	const GpucolRecColumn *column;
	const GpucolSymbols *symbols;
};

/* No code, and no word. */
#define NO_FORM		PG_INT64_MAX

/* Hash of a value by the type's function. */
static uint32
hash_value(const GpucolEquality *equality, int64 value)
{
	Datum		datum = gpucol_rec_column_to_datum(equality->column, value,
												   equality->symbols);

	return DatumGetUInt32(FunctionCall1Coll(&equality->type->hash_proc_finfo,
											equality->collation, datum));
}

static bool
equal_values(const GpucolEquality *equality, int64 a, int64 b)
{
	return DatumGetBool(FunctionCall2Coll(&equality->type->eq_opr_finfo,
										  equality->collation,
										  gpucol_rec_column_to_datum(equality->column,
																	 a,
																	 equality->symbols),
										  gpucol_rec_column_to_datum(equality->column,
																	 b,
																	 equality->symbols)));
}

#define SH_PREFIX		first
#define SH_ELEMENT_TYPE	FirstEntry
#define SH_KEY_TYPE		int64
#define SH_KEY			value
#define SH_HASH_KEY(table, k)	hash_value((table)->private_data, k)
#define SH_EQUAL(table, a, b)	equal_values((table)->private_data, a, b)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) ((entry)->hash)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

GpucolEquality *
gpucol_equality_create(Oid type, Oid collation)
{
	GpucolEquality *equality = palloc0(sizeof(GpucolEquality));

	equality->collation = collation;
	equality->type = lookup_type_cache(type, TYPECACHE_HASH_PROC_FINFO |
									   TYPECACHE_EQ_OPR_FINFO);
	equality->exact = gpucol_rec_type_exact(type, collation);
	equality->seen = seen_create(CurrentMemoryContext, 256, NULL);
	equality->first = first_create(CurrentMemoryContext, 256, equality);
	equality->scratch = AllocSetContextCreate(CurrentMemoryContext,
											  "gpucol equality",
											  ALLOCSET_SMALL_SIZES);
	return equality;
}

GpucolEquality *
gpucol_equality_create_of_forms(Oid type, Oid collation)
{
	GpucolEquality *equality = gpucol_equality_create(type, collation);

	equality->keeps = true;
	equality->base = getBaseType(type);
	return equality;
}

bool
gpucol_equality_keeps_forms(const GpucolEquality *equality)
{
	return equality->keeps;
}

/* ---- forms ---- */

/* The word that a numeric without zeros behind its last digit is. */
static int64
trim_number(int64 word)
{
	int64		mantissa = gpucol_number_mantissa(word);
	int			scale = gpucol_number_scale(word);

	if (mantissa == 0)
		scale = 0;
	while (scale > 0 && mantissa % 10 == 0)
	{
		mantissa /= 10;
		scale--;
	}
	gpucol_number_make(mantissa, scale, &word);
	return word;
}

/* The bits of a float that stand for those of its equals. */
static int64
plain_float(const GpucolEquality *equality, int64 value)
{
	float8		x = equality->base == FLOAT4OID ? DatumGetFloat4(Int32GetDatum((int32) value)) :
		DatumGetFloat8(Int64GetDatum(value));

	if (isnan(x))
		return NO_FORM;
	return DatumGetInt64(Float8GetDatum(x == 0 ? 0 : x));
}

/* The form of a code of a numeric: that of its value with no zeros behind its last digit. */
static int64
trim_code(const GpucolRecColumn *column, GpucolSymbols *symbols, int64 code)
{
	Datum		trimmed = DirectFunctionCall1(numeric_trim_scale, gpucol_rec_column_to_datum(column, code, symbols));
	GpucolBytes bytes = gpucol_rec_column_bytes(column, trimmed);
	int64		value;

	if (gpucol_number_read(bytes, &value))
		return value;
	return gpucol_symbols_code(symbols, bytes.data, (uint32) bytes.len);
}

/* Note what a code shares with its equals, the first time. */
static void
note_form(GpucolEquality *equality, const GpucolRecColumn *column, GpucolSymbols *symbols, int64 code)
{
	MemoryContext old;
	bool		found;

	if (code >= equality->nforms)
	{
		int64		n = Max(Max(256, equality->nforms * 2), code + 1);

		equality->forms = equality->forms == NULL ?
			MemoryContextAllocHuge(GetMemoryChunkContext(equality), sizeof(int64) * n) :
			repalloc_huge(equality->forms, sizeof(int64) * n);
		while (equality->nforms < n)
			equality->forms[equality->nforms++] = NO_FORM;
	}
	if (equality->forms[code] != NO_FORM)
		return;
	equality->column = column;
	equality->symbols = symbols;
	old = MemoryContextSwitchTo(equality->scratch);
	equality->forms[code] = column->numbers ? trim_code(column, symbols, code) :
		first_insert(equality->first, code, &found)->value;
	MemoryContextSwitchTo(old);
	MemoryContextReset(equality->scratch);
}

int64
gpucol_equality_form(const GpucolEquality *equality, int64 value)
{
	if (equality->base == FLOAT4OID || equality->base == FLOAT8OID)
		return plain_float(equality, value);
	if (equality->base == NUMERICOID && gpucol_number_is(value))
		return trim_number(value);
	return value < equality->nforms && equality->forms[value] != NO_FORM ? equality->forms[value] : value;
}

int64
gpucol_equality_first(GpucolEquality *equality, const GpucolRecColumn *column,
					  GpucolSymbols *symbols, int64 value)
{
	bool		found;
	SeenEntry  *entry;
	MemoryContext old;

	if (equality->keeps)
	{
		if (!column->typbyval && !(column->numbers && gpucol_number_is(value)))
			note_form(equality, column, symbols, value);
		return value;
	}
	entry = seen_insert(equality->seen, value, &found);
	if (found)
		return entry->first;
	equality->column = column;
	equality->symbols = symbols;
	old = MemoryContextSwitchTo(equality->scratch);
	entry->first = first_insert(equality->first, value, &found)->value;
	equality->lost = equality->lost || (found && !equality->exact);
	MemoryContextSwitchTo(old);
	MemoryContextReset(equality->scratch);
	return entry->first;
}

bool
gpucol_equality_lost_forms(const GpucolEquality *equality)
{
	return equality->lost;
}
