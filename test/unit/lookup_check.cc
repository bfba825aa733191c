/*-------------------------------------------------------------------------
 *
 * lookup_check.cc
 *	  Unit test of what the device daemon believes of a built table (cuda/query/lookup_check.h):
 *	  tables of each kind, and what is wrong with them.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lookup_check.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <random>
#include <string>

#include "check_cc.h"

/* A table of two keys and a column with NULLs, 100 rows of 80 keys. */
struct Description
{
	GpucolWireLookup head;
	GpucolWireLookupKey keys[2];
	GpucolWireLookupColumn columns[3];

	Description()
	{
		memset((void *) this, 0, sizeof(*this));
		head.nrows = 100;
		head.nkeyed = 95;
		head.ndistinct = 80;
		head.ncolumns = 3;
		head.nkeys = 2;
		head.has_null = 1;
		head.dense = 1;
		head.greatest = 640;
		for (int c = 0; c < 3; c++)
			columns[c].cls = GPUCOL_CLASS_I;
		columns[1].width = 2;
		columns[2].width = 8;
		columns[2].has_nulls = 1;
	}
};

/* first; bits and counts of 11 blocks; a column of 2 bytes; one of 8 with NULLs */
static const uint64_t DENSE_BYTES = 328 + 88 + 48 + 200 + 800 + 104;

/* Why a description is not believed; "" where it is. */
static std::string
reason(const Description &d, uint64_t data, size_t size = sizeof(Description))
{
	std::vector<char> bytes((const char *) &d, (const char *) &d + std::min(size, sizeof(d)));

	bytes.resize(size);
	try
	{
		LookupTable table = gpucol_lookup_check(bytes.data(), size, data);

		for (const LookupTable::Column &c : table.columns)
			CHECK("columns lie in the data", c.values <= data && c.nulls <= data);
		for (uint64_t at : table.arrays)
			CHECK("arrays lie in the data", at <= data && at % 8 == 0);
	}
	catch (const Failure &f)
	{
		return f.reason;
	}
	return "";
}

static void
wrong(const char *why, const std::function<void(Description &)> &change)
{
	Description d;
	std::string got;

	change(d);
	got = reason(d, DENSE_BYTES);
	CHECK(std::string(why) + ", not \"" + got + "\"", got.find(why) != std::string::npos);
}

static void
test_right()
{
	Description d;

	CHECK("dense: " + reason(d, DENSE_BYTES), reason(d, DENSE_BYTES).empty());
	d.head.gapless = 1;
	CHECK("without gaps", reason(d, DENSE_BYTES - 88 - 48).empty());
	d.head.unique = 1;
	d.head.ndistinct = 95;
	CHECK("unique", reason(d, DENSE_BYTES - 88 - 48 - 328).empty());
	d.head.gapless = d.head.dense = 0;
	d.head.shift = 60;
	CHECK("hashed", reason(d, DENSE_BYTES - 88 - 48 - 328 + 17 * 8 + 95 * 8).empty());
	d.head.wide = 1;
	CHECK("of wide words, without a key's values", !reason(d, DENSE_BYTES - 464 + 17 * 8 + 95 * 8).empty());
	d.columns[0].width = 1;
	CHECK("of wide words", reason(d, DENSE_BYTES - 464 + 17 * 8 + 95 * 8 + 104).empty());
	d = Description();
	d.head.nkeyed = d.head.ndistinct = 0;
	d.head.unique = 1;
	CHECK("without keyed rows", reason(d, 200 + 800 + 104).empty());
}

static void
test_wrong()
{
	Description d;

	for (size_t size = 0; size < sizeof(d); size += 8)
		CHECK("a part of it", !reason(d, DENSE_BYTES, size).empty());
	CHECK("more of it", !reason(d, DENSE_BYTES, sizeof(d) + 8).empty());
	for (uint64_t n : {(uint64_t) 0, DENSE_BYTES - 8, DENSE_BYTES + 8, UINT64_MAX})
		CHECK("other data", reason(d, n) == "malformed request: the size of a built table");
	wrong("a built table", [] (Description &w) { w.head.nkeyed = 101; });
	wrong("a built table", [] (Description &w) { w.head.nrows = UINT32_MAX; });
	wrong("a built table", [] (Description &w) { w.head.ndistinct = 96; });
	wrong("a built table", [] (Description &w) { w.head.ndistinct = 0; });
	wrong("a built table", [] (Description &w) { w.head.unique = 1; });
	wrong("a built table", [] (Description &w) { w.head.unique = 2; });
	wrong("a built table", [] (Description &w) { w.head.dense = 3; });
	wrong("a built table", [] (Description &w) { w.head.wide = 1; });
	wrong("a built table", [] (Description &w) { w.head.nkeys = 4; });
	wrong("a built table", [] (Description &w) { w.head.ncolumns = 4; });
	wrong("a built table", [] (Description &w) { w.head.dense = 0; });	/* no shift */
	wrong("a built table", [] (Description &w) { w.head.dense = 0; w.head.shift = 64; });
	wrong("the size", [] (Description &w) { w.head.dense = 0; w.head.shift = 33; });
	wrong("the size", [] (Description &w) { w.head.greatest = UINT64_MAX; });
	wrong("the size", [] (Description &w) { w.head.greatest = UINT64_MAX / 2; });
	wrong("the size", [] (Description &w) { w.columns[2].width = 4; });
	wrong("the size", [] (Description &w) { w.columns[0].width = 1; });
	wrong("a key", [] (Description &w) { w.keys[1].shift = 64; });
	wrong("a column", [] (Description &w) { w.columns[1].width = 3; });
	wrong("a column", [] (Description &w) { w.columns[1].cls = 0; });
	wrong("a column", [] (Description &w) { w.columns[1].cls = 99; });
	wrong("a column", [] (Description &w) { w.columns[1].has_nulls = 2; });
}

/* Whatever is changed, nothing outside of the description is looked at (the sanitizer watches). */
static void
test_any()
{
	std::mt19937 random(7);

	for (int i = 0; i < 50000; i++)
	{
		Description d;

		for (int n = 1 + random() % 3; n > 0; n--)
			((char *) &d)[random() % sizeof(d)] = (char) random();
		reason(d, DENSE_BYTES);
	}
}

int
main()
{
	test_right();
	test_wrong();
	test_any();
	return summary("lookup_check");
}
