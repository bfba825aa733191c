/*-------------------------------------------------------------------------
 *
 * values.c
 *	  PostgreSQL values as the 64-bit values of recursion plans.
 *
 * Values by reference become codes of a dictionary of their bytes.  Whether
 * bytes decide equality is what btree calls "equal image" (numeric 1.0 and
 * 1.00 are equal, and are not the same bytes); types and collations without
 * it may be carried along and not compared.  Numerics of few digits are values
 * themselves (number.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "catalog/pg_type.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "recursion/front/number.h"
#include "recursion/front/values.h"

void
gpucol_rec_column_init(GpucolRecColumn *column, Oid type)
{
	column->type = type;
	column->equality = NULL;
	column->carried = false;
	get_typlenbyvalalign(type, &column->typlen, &column->typbyval, &column->typalign);
	column->coded = !column->typbyval;
	column->is_unsigned = getBaseType(type) == OIDOID;
	column->numbers = getBaseType(type) == NUMERICOID;
	switch (getBaseType(type))
	{
		case INT2OID:
			column->rec_type = GPUCOL_REC_INT2;
			break;
		case INT4OID:
			column->rec_type = GPUCOL_REC_INT4;
			break;
		case INT8OID:
			column->rec_type = GPUCOL_REC_INT8;
			break;
		default:
			column->rec_type = GPUCOL_REC_CODE;
			break;
	}
}

bool
gpucol_rec_type_comparable(Oid type, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY |
											  TYPECACHE_EQ_OPR);
	Oid			proc;

	/* character(n) ignores trailing blanks. */
	if (getBaseType(type) == BPCHAROID)
		return false;
	if (!OidIsValid(entry->btree_opf) || !OidIsValid(entry->eq_opr))
		return false;
	proc = get_opfamily_proc(entry->btree_opf, entry->btree_opintype,
							 entry->btree_opintype, BTEQUALIMAGE_PROC);
	return OidIsValid(proc) &&
		DatumGetBool(OidFunctionCall1Coll(proc, collation,
										  ObjectIdGetDatum(entry->btree_opintype)));
}

bool
gpucol_rec_type_hashable(Oid type)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_HASH_PROC |
											  TYPECACHE_EQ_OPR);

	return OidIsValid(entry->hash_proc) && OidIsValid(entry->eq_opr);
}

bool
gpucol_rec_type_exact(Oid type, Oid collation)
{
	Oid			element = get_base_element_type(type);
	TupleDesc	desc;
	bool		exact = true;
	int			i;

	if (OidIsValid(element))
		return gpucol_rec_type_exact(element, collation);
	if (get_typtype(type) != TYPTYPE_COMPOSITE)
		return gpucol_rec_type_comparable(type, collation);
	desc = lookup_rowtype_tupdesc(type, -1);
	for (i = 0; i < desc->natts && exact; i++)
		exact = TupleDescAttr(desc, i)->attisdropped ||
			gpucol_rec_type_exact(TupleDescAttr(desc, i)->atttypid,
								  TupleDescAttr(desc, i)->attcollation);
	ReleaseTupleDesc(desc);
	return exact;
}

bool
gpucol_rec_type_ordered(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return false;
	}
}

int64
gpucol_rec_column_word(const GpucolRecColumn *column, Datum datum)
{
	switch (column->typlen)
	{
		case 1:
			return (int64) DatumGetUInt8(datum);
		case 2:
			return (int64) DatumGetInt16(datum);
		case 4:
			return column->is_unsigned ? (int64) DatumGetUInt32(datum) :
				(int64) DatumGetInt32(datum);
		default:
			return DatumGetInt64(datum);
	}
}

GpucolBytes
gpucol_rec_column_bytes(const GpucolRecColumn *column, Datum datum)
{
	const char *bytes = DatumGetPointer(datum);
	struct varlena *varlena;

	if (column->typlen > 0)
		return (GpucolBytes) {bytes, column->typlen};
	if (column->typlen == -2)
		return (GpucolBytes) {bytes, strlen(bytes)};
	varlena = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(datum));
	return (GpucolBytes) {VARDATA_ANY(varlena), VARSIZE_ANY_EXHDR(varlena)};
}

int64
gpucol_rec_column_to_value(const GpucolRecColumn *column, Datum datum,
						   GpucolSymbols *symbols)
{
	GpucolBytes bytes;
	int64		value;

	if (column->typbyval)
		value = gpucol_rec_column_word(column, datum);
	else
	{
		bytes = gpucol_rec_column_bytes(column, datum);
		if (!column->numbers || !gpucol_number_read(bytes, &value))
			value = gpucol_symbols_code(symbols, bytes.data, (uint32) bytes.len);
	}
	return gpucol_rec_column_first(column, value, symbols);
}

/* Codes of strings that equal ones need not share. */
static void
add_strings(uint32 n, const GpucolBytes *strings, GpucolSymbols *symbols, int64 *codes)
{
	for (uint32 i = 0; i < n; i++)
		codes[i] = gpucol_symbols_add(symbols, strings[i].data, (uint32) strings[i].len);
}

/* The values of up to GPUCOL_SYMBOLS_PIECE strings. */
static void
piece_to_values(const GpucolRecColumn *column, uint32 n, const GpucolBytes *strings, const uint8 *nulls,
				GpucolSymbols *symbols, int64 *values)
{
	GpucolBytes some[GPUCOL_SYMBOLS_PIECE];
	int64		codes[GPUCOL_SYMBOLS_PIECE];
	uint8		at[GPUCOL_SYMBOLS_PIECE];
	uint32		nsome = 0;

	for (uint32 i = 0; i < n; i++)
	{
		values[i] = 0;
		if (nulls[i] || (column->numbers && gpucol_number_read(strings[i], &values[i])))
			continue;
		at[nsome] = (uint8) i;
		some[nsome++] = strings[i];
	}
	if (nsome > 0 && column->carried && column->equality == NULL)
		add_strings(nsome, some, symbols, codes);
	else if (nsome > 0)
		gpucol_symbols_codes(symbols, nsome, some, codes);
	for (uint32 i = 0; i < nsome; i++)
		values[at[i]] = codes[i];
	for (uint32 i = 0; i < n && column->equality != NULL; i++)
	{
		if (!nulls[i])
			values[i] = gpucol_equality_first(column->equality, column, symbols, values[i]);
	}
}

void
gpucol_rec_strings_to_values(const GpucolRecColumn *column, uint32 n, const GpucolBytes *strings, const uint8 *nulls,
							 GpucolSymbols *symbols, int64 *values)
{
	for (uint32 i = 0; i < n; i += GPUCOL_SYMBOLS_PIECE)
		piece_to_values(column, Min(n - i, GPUCOL_SYMBOLS_PIECE), &strings[i], &nulls[i], symbols, &values[i]);
}

void
gpucol_rec_column_to_values(const GpucolRecColumn *column, uint32 n, const Datum *datums, const uint8 *nulls,
							GpucolSymbols *symbols, int64 *values)
{
	GpucolBytes strings[GPUCOL_SYMBOLS_PIECE];

	for (uint32 i = 0; i < n; i++)
	{
		uint32		at = i % GPUCOL_SYMBOLS_PIECE;

		if (column->typbyval)
			values[i] = nulls[i] ? 0 : gpucol_rec_column_to_value(column, datums[i], symbols);
		else
			strings[at] = nulls[i] ? (GpucolBytes) {0} : gpucol_rec_column_bytes(column, datums[i]);
		if (!column->typbyval && (at == GPUCOL_SYMBOLS_PIECE - 1 || i == n - 1))
			piece_to_values(column, at + 1, strings, &nulls[i - at], symbols, &values[i - at]);
	}
}

GpucolBytes
gpucol_rec_column_string(const GpucolRecColumn *column, int64 value, const GpucolSymbols *symbols, char *room)
{
	const char *bytes;
	uint32		len;

	if (column->numbers && gpucol_number_is(value))
		return (GpucolBytes) {room, gpucol_number_write(value, room)};
	bytes = gpucol_symbols_get(symbols, value, &len);
	return (GpucolBytes) {bytes, len};
}

/* The numeric that a word is. */
static Datum
number_datum(int64 word)
{
	struct varlena *made = palloc(VARHDRSZ + GPUCOL_NUMERIC_BYTES);

	SET_VARSIZE(made, VARHDRSZ + gpucol_number_write(word, VARDATA(made)));
	return PointerGetDatum(made);
}

Datum
gpucol_rec_column_to_datum(const GpucolRecColumn *column, int64 value,
						   const GpucolSymbols *symbols)
{
	const char *bytes;
	uint32		len;

	if (column->typbyval)
		switch (column->typlen)
		{
			case 1:
				return UInt8GetDatum((uint8) value);
			case 2:
				return Int16GetDatum((int16) value);
			case 4:
				return column->is_unsigned ? UInt32GetDatum((uint32) value) :
					Int32GetDatum((int32) value);
			default:
				return Int64GetDatum(value);
		}
	if (column->numbers && gpucol_number_is(value))
		return number_datum(value);
	bytes = gpucol_symbols_get(symbols, value, &len);
	if (column->typlen == -1)
		return PointerGetDatum(bytes - VARHDRSZ);
	return PointerGetDatum(column->typalign == TYPALIGN_DOUBLE ? memcpy(palloc(len), bytes, len) : bytes);
}
