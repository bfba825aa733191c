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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "recursion/front/equality.h"
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
	seen_hash  *seen;
	struct first_hash *first;
	MemoryContext scratch;		/* datums that are hashed and compared */

	/* what the functions below work on */
	const GpucolRecColumn *column;
	const GpucolSymbols *symbols;
};

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

int64
gpucol_equality_first(GpucolEquality *equality, const GpucolRecColumn *column,
					  const GpucolSymbols *symbols, int64 value)
{
	bool		found;
	SeenEntry  *entry = seen_insert(equality->seen, value, &found);
	MemoryContext old;

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
