/*-------------------------------------------------------------------------
 *
 * lookup_check.cc
 *	  Does the description of a built table hold together?
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lookup_check.h"

#include <cstring>

/* Do the flags and numbers of a table agree with each other? */
static bool
head_fits(const GpucolWireLookup &t)
{
	bool		flags = t.has_null <= 1 && t.unique <= 1 && t.dense <= 1 && t.wide <= 1 && t.gapless <= 1;
	bool		found = t.nkeyed > 0 && t.nkeys > 0;

	return flags && t.nkeys <= t.ncolumns && t.nkeys <= GPUCOL_WIRE_MAX_PROBE_KEYS && t.nkeyed <= t.nrows &&
		t.nrows < GPUCOL_LOOKUP_NONE && t.ndistinct <= t.nkeyed && (!t.unique || t.ndistinct == t.nkeyed) &&
		(!found || (t.ndistinct > 0 && (t.dense ? !t.wide : !t.gapless && t.shift > 32 && t.shift < 64)));
}

static bool
column_fits(const GpucolWireLookupColumn &c)
{
	return c.cls >= GPUCOL_CLASS_B && c.cls <= GPUCOL_CLASS_S && c.has_nulls <= 1 &&
		(c.width == 0 || c.width == 1 || c.width == 2 || c.width == 4 || c.width == 8);
}

/* Where n more bytes of data go; *end is where they end. */
static uint64_t
lay(uint64_t *end, uint64_t n)
{
	uint64_t	at = *end;

	*end += (n + 7) / 8 * 8;
	return at;
}

/* Lay the arrays out; the bytes of all of them. */
static uint64_t
lay_out(LookupTable *table)
{
	uint64_t	sizes[GPUCOL_LOOKUP_ARRAYS];
	uint64_t	end = 0;

	gpucol_wire_lookup_sizes(&table->head, sizes);
	for (int i = 0; i < GPUCOL_LOOKUP_ARRAYS; i++)
		table->arrays[i] = lay(&end, sizes[i]);
	for (LookupTable::Column &column : table->columns)
	{
		uint64_t	n = column.wire.width > 0 ? table->head.nrows : 0;

		column.values = lay(&end, n * column.wire.width);
		column.nulls = lay(&end, column.wire.has_nulls ? n : 0);
	}
	return end;
}

LookupTable
gpucol_lookup_check(const char *description, size_t size, uint64_t data_size)
{
	LookupTable table;

	if (size < sizeof(table.head))
		throw malformed("a built table");
	memcpy(&table.head, description, sizeof(table.head));
	description += sizeof(table.head);
	if (!head_fits(table.head) || size != sizeof(table.head) + table.head.nkeys * sizeof(GpucolWireLookupKey) +
		table.head.ncolumns * sizeof(GpucolWireLookupColumn))
		throw malformed("a built table");
	table.keys.resize(table.head.nkeys);
	for (GpucolWireLookupKey &key : table.keys)
	{
		memcpy(&key, description, sizeof(key));
		description += sizeof(key);
		if (key.shift > 63)
			throw malformed("a key of a built table");
	}
	table.columns.resize(table.head.ncolumns);
	for (size_t c = 0; c < table.columns.size(); c++)
	{
		GpucolWireLookupColumn &column = table.columns[c].wire;

		memcpy(&column, description, sizeof(column));
		description += sizeof(column);
		if (!column_fits(column) || (table.head.wide && c < table.head.nkeys && column.width == 0))
			throw malformed("a column of a built table");
	}
	if (lay_out(&table) != data_size)
		throw malformed("the size of a built table");
	return table;
}
