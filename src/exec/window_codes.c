/*-------------------------------------------------------------------------
 *
 * window_codes.c
 *	  The values of a column as integers in the order of a sort operator.
 *
 * Integers, dates, times and floats in their own order are codes already.  A numeric
 * column whose values fit is its integers at the greatest scale.  Of every other type and
 * order the distinct values, told apart by their bytes, are sorted once by PostgreSQL's own
 * comparison (with its abbreviated keys), or by bytes, where the order is that of bytes, and a
 * value's code is its place there; values of different bytes that compare as equal share one.
 * Where only partitions are to be told apart, and equal values have the same bytes, the order
 * of their first rows will do.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "base/hash_table.h"
#include "base/radix.h"
#include "columnar/collation.h"
#include "columnar/typemap.h"
#include "exec/bytes_order.h"
#include "exec/image.h"
#include "exec/window_codes.h"
#include "port.h"

/* Rows between two looks for a cancel request. */
#define INTERRUPT_ROWS	65536

/* Digits behind the point of numerics that become integers. */
#define MAX_SCALE		18

#define NO_VALUE		PG_UINT32_MAX

/* If so many of the first rows have values of their own, no more equal ones are sought. */
#define SAMPLE_ROWS		16384
#define MOSTLY			0.75

#define FIRST_ENTRIES	512

int
gpucol_window_own_order(Oid type, Oid sortop)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	return sortop == entry->lt_opr ? 1 : sortop == entry->gt_opr ? -1 : 0;
}

/* A float's bits in the order of floats: -0 is 0, and NaN the greatest. */
static inline uint64
float_code(float8 value)
{
	uint64		bits;

	if (isnan(value))
		return PG_UINT64_MAX;
	if (value == 0)
		value = 0;
	memcpy(&bits, &value, sizeof(bits));
	return (bits >> 63) != 0 ? ~bits : bits | (UINT64CONST(1) << 63);
}

#define SIGNED_CODE(value)	((uint64) (int64) (value) ^ (UINT64CONST(1) << 63))

/* Fill codes from each value that is not NULL. */
#define FILL(code) \
	do \
	{ \
		for (uint32 i = 0; i < n; i++) \
		{ \
			Datum		value = values[i]; \
			codes[i] = isnull[i] ? 0 : (code); \
		} \
	} while (0)

bool
gpucol_window_plain_codes(Oid type, const Datum *values, const bool *isnull, uint32 n, uint64 *codes)
{
	switch (type)
	{
		case BOOLOID:
			FILL(DatumGetBool(value));
			return true;
		case CHAROID:
			FILL((uint64) (uint8) DatumGetChar(value));
			return true;
		case INT2OID:
			FILL(SIGNED_CODE(DatumGetInt16(value)));
			return true;
		case INT4OID:
		case DATEOID:
			FILL(SIGNED_CODE(DatumGetInt32(value)));
			return true;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			FILL(SIGNED_CODE(DatumGetInt64(value)));
			return true;
		case OIDOID:
			FILL((uint64) DatumGetObjectId(value));
			return true;
		case FLOAT4OID:
			FILL(float_code(DatumGetFloat4(value)));
			return true;
		case FLOAT8OID:
			FILL(float_code(DatumGetFloat8(value)));
			return true;
		default:
			return false;
	}
}

int
gpucol_window_greatest_scale(const GpucolWindowRows *rows, const GpucolWindowInput *in, bool *varies)
{
	int			least = MAX_SCALE;
	int			greatest = 0;

	for (uint32 i = 0; i < rows->nrows; i++)
	{
		int			scale;

		if (in->isnull[i])
			continue;
		scale = gpucol_window_scale(in->values[i]);
		if (scale < 0 || scale > MAX_SCALE)
			return -1;
		least = Min(least, scale);
		greatest = Max(greatest, scale);
	}
	*varies = least < greatest;
	return greatest;
}

bool
gpucol_window_numeric_code(Datum value, int scale, uint64 *code)
{
	GpucolTypeMap map = {.type_oid = NUMERICOID,.kind = GPUCOL_KIND_DECIMAL,.scale = (int8) scale};
	int64		mantissa;

	if (!gpucol_typemap_to_int64(&map, value, &mantissa))
		return false;
	*code = SIGNED_CODE(mantissa);
	return true;
}

/* The codes of numerics that fit 64 bits at one scale. */
static bool
numeric_codes(GpucolWindowRows *rows, const GpucolWindowInput *in, GpucolWindowCodes *c)
{
	int			scale;
	bool		varies;

	if (in->mantissas)
		return gpucol_window_plain_codes(INT8OID, in->values, in->isnull, rows->nrows, c->codes);
	scale = gpucol_window_greatest_scale(rows, in, &varies);
	if (scale < 0)
		return false;
	for (uint32 i = 0; i < rows->nrows; i++)
	{
		c->codes[i] = 0;
		if (!in->isnull[i] && !gpucol_window_numeric_code(in->values[i], scale, &c->codes[i]))
			return false;
	}
	return true;
}

/* ------------------------------------------------------------------------
 * Values by PostgreSQL's comparison
 * ------------------------------------------------------------------------
 */

typedef struct Distinct
{
	const GpucolWindowInput *in;
	GpucolWindowRows *rows;
	Datum	   *entries;		/* distinct values */
	uint32		nentries;
	uint32		allocated;
	bool		all_differ;		/* mostly: equal values have entries of their own */
	GpucolHashTable table;
	uint32	   *numbers;		/* of entries, by row */
} Distinct;

/* The bytes of a value. */
static inline const char *
bytes_of(const GpucolWindowInput *in, const Datum *value, Size *length)
{
	return gpucol_image_bytes(value, in->typlen, in->typbyval, length);
}

/* Make room in the table for n entries; false where memory does not suffice. */
static bool
grow_table(Distinct *d, uint64 n)
{
	uint64		nslots = gpucol_hash_slots(d->table.nslots, n);
	uint64	   *slots;

	if (nslots == d->table.nslots)
		return true;
	if (!gpucol_window_rows_fit(d->rows, nslots * sizeof(uint64)))
		return false;
	slots = gpucol_window_rows_alloc(d->rows, nslots * sizeof(uint64));
	memset(slots, 0, nslots * sizeof(uint64));
	slots = gpucol_hash_move(&d->table, slots, nslots);
	if (slots != NULL)
		pfree(slots);
	return true;
}

/* Add an entry; false where memory does not suffice. */
static bool
add_entry(Distinct *d, Datum value)
{
	if (d->nentries == d->allocated)
	{
		uint32		wanted = d->allocated * 2;

		if (!gpucol_window_rows_fit(d->rows, d->allocated * sizeof(Datum)) ||
			(!d->all_differ && !grow_table(d, wanted)))
			return false;
		d->entries = repalloc_huge(d->entries, wanted * sizeof(Datum));
		d->allocated = wanted;
	}
	d->entries[d->nentries++] = value;
	return true;
}

/* Find or add a value's entry. */
static inline bool
find_entry(Distinct *d, Datum value, uint32 *number)
{
	Size		length;
	const char *bytes = bytes_of(d->in, &value, &length);
	uint64		hash;
	uint64		at;

	if (d->all_differ)
	{
		*number = d->nentries;
		return add_entry(d, value);
	}
	hash = gpucol_hash_bytes(bytes, length);
	at = gpucol_hash_home(&d->table, hash);
	while (gpucol_hash_next(&d->table, hash, &at, number))
	{
		Size		other_length;
		const char *other = bytes_of(d->in, &d->entries[*number], &other_length);

		if (other_length == length && gpucol_hash_same(other, bytes, length))
			return true;
	}
	*number = d->nentries;
	if (!add_entry(d, value))
		return false;
	gpucol_hash_add(&d->table, hash, *number);
	return true;
}

/* The value as its bytes can be looked at. */
static inline Datum
plain_value(const GpucolWindowInput *in, Datum value)
{
	if (!gpucol_image_is_plain(value, in->typlen, in->typbyval))
		return PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	return value;
}

/* Number the distinct values; if they are not to be ordered, all equal ones by one number. */
static bool
collect(Distinct *d, bool unordered)
{
	MemoryContext old;
	bool		ok = true;

	if (!gpucol_window_rows_fit(d->rows, d->rows->nrows * sizeof(uint32)) ||
		!grow_table(d, FIRST_ENTRIES))
		return false;
	d->allocated = FIRST_ENTRIES;
	d->entries = gpucol_window_rows_alloc(d->rows, FIRST_ENTRIES * sizeof(Datum));
	d->numbers = gpucol_window_rows_alloc(d->rows, d->rows->nrows * sizeof(uint32));
	old = MemoryContextSwitchTo(d->rows->context);
	for (uint32 i = 0; ok && i < d->rows->nrows; i++)
	{
		if (i % INTERRUPT_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (i == SAMPLE_ROWS && !unordered)
			d->all_differ = d->nentries > SAMPLE_ROWS * MOSTLY;
		d->numbers[i] = NO_VALUE;
		if (!d->in->isnull[i])
			ok = find_entry(d, plain_value(d->in, d->in->values[i]), &d->numbers[i]);
	}
	MemoryContextSwitchTo(old);
	return ok;
}

/* What comparisons need. */
typedef struct Sorting
{
	const Datum *entries;
	SortSupport ssup;
} Sorting;

/* Compare two entries whose abbreviated keys are equal. */
static int
compare_values(const void *a, const void *b, void *arg)
{
	const Sorting *sorting = arg;
	Datum		x = sorting->entries[((const GpucolRadixItem *) a)->row];
	Datum		y = sorting->entries[((const GpucolRadixItem *) b)->row];

	return ApplySortAbbrevFullComparator(x, false, y, false, sorting->ssup);
}

/* Compare two entries by their keys: abbreviated ones, or the values themselves. */
static int
compare_keys(const void *a, const void *b, void *arg)
{
	const Sorting *sorting = arg;
	int			order = ApplySortComparator((Datum) ((const GpucolRadixItem *) a)->key, false,
											(Datum) ((const GpucolRadixItem *) b)->key, false,
											sorting->ssup);

	return order != 0 || sorting->ssup->abbrev_converter == NULL ? order :
		compare_values(a, b, arg);
}

/* Sort by keys that compare as unsigned integers, then those whose keys are equal. */
static GpucolRadixItem *
sort_integers(GpucolRadixItem *items, GpucolRadixItem *scratch, uint32 n, Sorting *sorting)
{
	uint32		start = 0;

	if (sorting->ssup->ssup_reverse)
	{
		for (uint32 i = 0; i < n; i++)
			items[i].key = ~items[i].key;
	}
	items = gpucol_radix_sort(items, scratch, n, 64);
	for (uint32 i = 1; i <= n; i++)
	{
		if (i < n && items[i].key == items[start].key)
			continue;
		if (i - start > 1)
			qsort_interruptible(&items[start], i - start, sizeof(GpucolRadixItem),
								compare_values, sorting);
		start = i;
	}
	return items;
}

/* Sort the distinct values and give each row the place of its own. */
static void
rank_entries(Distinct *d, GpucolWindowCodes *c, SortSupport ssup)
{
	Sorting		sorting = {.entries = d->entries,.ssup = ssup};
	uint32		n = d->nentries;
	GpucolRadixItem *first = gpucol_window_rows_alloc(d->rows, n * sizeof(GpucolRadixItem));
	GpucolRadixItem *second = gpucol_window_rows_alloc(d->rows, n * sizeof(GpucolRadixItem));
	GpucolRadixItem *items = first;
	uint32	   *places = gpucol_window_rows_alloc(d->rows, n * sizeof(uint32));
	bool		integers = ssup->abbrev_converter != NULL &&
		ssup->comparator == ssup_datum_unsigned_cmp;
	uint32		place = 0;

	for (uint32 i = 0; i < n; i++)
	{
		first[i].row = i;
		first[i].key = (uint64) (ssup->abbrev_converter == NULL ? d->entries[i] :
								 ssup->abbrev_converter(d->entries[i], ssup));
	}
	if (integers)
		items = sort_integers(first, second, n, &sorting);
	else
		qsort_interruptible(items, n, sizeof(GpucolRadixItem), compare_keys, &sorting);
	for (uint32 i = 0; i < n; i++)
	{
		if (i > 0 && (integers ? items[i].key != items[i - 1].key ||
					  compare_values(&items[i - 1], &items[i], &sorting) != 0 :
					  compare_keys(&items[i - 1], &items[i], &sorting) != 0))
			place++;
		places[items[i].row] = place;
	}
	for (uint32 i = 0; i < d->rows->nrows; i++)
		c->codes[i] = d->numbers[i] == NO_VALUE ? 0 : places[d->numbers[i]];
	pfree(first);
	pfree(second);
	pfree(places);
}

/* The same, by the order that is asked for. */
static void
rank_compared(Distinct *d, GpucolWindowCodes *c)
{
	MemoryContext sorting = AllocSetContextCreate(d->rows->context, "gpucol window sort", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(sorting);
	SortSupportData ssup;

	MemSet(&ssup, 0, sizeof(ssup));
	ssup.ssup_cxt = sorting;
	ssup.ssup_collation = c->collation;
	ssup.abbreviate = true;
	PrepareSortSupportFromOrderingOp(c->sortop, &ssup);
	rank_entries(d, c, &ssup);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(sorting);
}

bool
gpucol_window_orders_by_bytes(Oid type, Oid collation)
{
	return type == BYTEAOID ||
		((type == TEXTOID || type == VARCHAROID) && gpucol_collation_is_bytewise(collation));
}

/* As rank_entries, without comparisons of PostgreSQL's. */
static void
rank_bytes(Distinct *d, GpucolWindowCodes *c)
{
	uint32		n = d->nentries;
	GpucolRadixItem *items = gpucol_window_rows_alloc(d->rows, n * sizeof(GpucolRadixItem));
	GpucolRadixItem *scratch = gpucol_window_rows_alloc(d->rows, n * sizeof(GpucolRadixItem));
	GpucolBytes *values = gpucol_window_rows_alloc(d->rows, n * sizeof(GpucolBytes));
	uint32	   *places = gpucol_window_rows_alloc(d->rows, n * sizeof(uint32));
	uint32		place = 0;

	for (uint32 i = 0; i < n; i++)
	{
		Size		length;

		values[i].data = bytes_of(d->in, &d->entries[i], &length);
		values[i].len = (uint32) length;
		items[i].row = i;
	}
	gpucol_bytes_sort(values, items, scratch, n);
	for (uint32 i = 0; i < n; i++)
	{
		const GpucolBytes *value = &values[items[i].row];
		const GpucolBytes *before = &values[items[Max(i, 1) - 1].row];

		place += i > 0 && (value->len != before->len || memcmp(value->data, before->data, value->len) != 0);
		places[items[i].row] = place;
	}
	for (uint32 i = 0; i < d->rows->nrows; i++)
		c->codes[i] = d->numbers[i] == NO_VALUE ? 0 : places[d->numbers[i]];
	pfree(items);
	pfree(scratch);
	pfree(values);
	pfree(places);
}

static void
close_distinct(Distinct *d)
{
	pfree(d->entries);
	pfree(d->table.slots);
	pfree(d->numbers);
}

/* Codes of distinct values, in the order of their bytes or by comparisons. */
static bool
distinct_codes(GpucolWindowRows *rows, const GpucolWindowInput *in, GpucolWindowCodes *c, bool by_bytes)
{
	Distinct	d = {.in = in,.rows = rows};

	if (!collect(&d, c->unordered) ||
		!gpucol_window_rows_fit(rows, (Size) d.nentries * 7 * sizeof(uint64)))
		return false;
	if (c->unordered)
	{
		for (uint32 i = 0; i < rows->nrows; i++)
			c->codes[i] = d.numbers[i] == NO_VALUE ? 0 : d.numbers[i];
	}
	else if (by_bytes)
		rank_bytes(&d, c);
	else
		rank_compared(&d, c);
	close_distinct(&d);
	return true;
}

/* ------------------------------------------------------------------------ */

/* Have codes begin at 0, and turn a descending order round. */
static void
normalize(GpucolWindowRows *rows, const GpucolWindowInput *in, GpucolWindowCodes *c,
		  bool descending)
{
	uint64		least = PG_UINT64_MAX;
	uint64		greatest = 0;

	c->has_null = false;
	for (uint32 i = 0; i < rows->nrows; i++)
	{
		if (in->isnull[i])
		{
			c->has_null = true;
			continue;
		}
		least = Min(least, c->codes[i]);
		greatest = Max(greatest, c->codes[i]);
	}
	c->greatest = greatest >= least ? greatest - least : 0;
	for (uint32 i = 0; i < rows->nrows; i++)
		c->codes[i] = in->isnull[i] ? 0 : descending ? greatest - c->codes[i] : c->codes[i] - least;
}

bool
gpucol_window_codes_make(GpucolWindowRows *rows, GpucolWindowCodes *codes)
{
	GpucolWindowInput *in = &rows->inputs[codes->input];
	int			own = gpucol_window_own_order(in->type, codes->sortop);
	bool		by_bytes;

	if (!gpucol_window_rows_fit(rows, rows->nrows * sizeof(uint64)))
		return false;
	CHECK_FOR_INTERRUPTS();
	codes->codes = gpucol_window_rows_alloc(rows, rows->nrows * sizeof(uint64));
	if (own != 0 && (gpucol_window_plain_codes(in->type, in->values, in->isnull, rows->nrows, codes->codes) ||
					 (in->type == NUMERICOID && numeric_codes(rows, in, codes))))
	{
		normalize(rows, in, codes, own < 0);
		return true;
	}
	by_bytes = own != 0 && gpucol_window_orders_by_bytes(in->type, codes->collation);
	if (!distinct_codes(rows, in, codes, by_bytes))
		return false;
	normalize(rows, in, codes, by_bytes && own < 0);
	return true;
}
