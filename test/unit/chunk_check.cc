/*-------------------------------------------------------------------------
 *
 * chunk_check.cc
 *	  Unit test of what the device daemon believes of a chunk (cuda/query/chunk_check.h): heads
 *	  that are right in every coding, and each figure of them wrong.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/chunk_check.h"

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "check_cc.h"

static const uint32_t NROWS = 2500; /* three vectors, the last not full */
static const uint32_t NVECTORS = 3;

/* A head as a client sends it, and what it says is to follow. */
struct Head
{
	GpucolWireChunk wire = {};
	uint64_t	total = sizeof(GpucolWireChunk);

	Head(GpucolKind kind, GpucolCoding coding, int width)
	{
		wire.desc.kind = kind;
		wire.desc.coding = coding;
		wire.desc.width = (uint8_t) width;
	}

	Head &
	add(GpucolStreamKind stream, uint32_t rows)
	{
		wire.present |= 1u << stream;
		wire.desc.streams[stream].nrows = rows;
		total += (uint64_t) rows * GPUCOL_ROW_BYTES;
		return *this;
	}

	Head &
	codes(uint32_t vectors = NVECTORS)
	{
		return wire.desc.width > 0 ? add(GPUCOL_STREAM_CODES, vectors * wire.desc.width) : *this;
	}

	Head &
	nulls()
	{
		wire.desc.flags |= GPUCOL_CHUNK_HAS_NULLS;
		wire.desc.null_count = 7;
		return add(GPUCOL_STREAM_NULLS, NVECTORS);
	}

	Head &
	zone(int64_t min, int64_t max)
	{
		wire.desc.flags |= GPUCOL_CHUNK_HAS_ZONE;
		wire.desc.zone = {min, max};
		return *this;
	}

	Head &zones() { return add(GPUCOL_STREAM_ZONES, 1); }

	const char *check() const { return gpucol_chunk_check_head(wire, NROWS, total); }
};

static Head
dictionary(GpucolKind kind, uint32_t entries, int width)
{
	Head		h(kind, GPUCOL_CODING_DICT, width);

	h.wire.desc.ndict = entries;
	h.codes();
	return kind == GPUCOL_KIND_BYTES ? h : h.add(GPUCOL_STREAM_DICT, (entries * 8 + 127) / 128);
}

static Head
runs(uint32_t n, int width)
{
	Head		h(GPUCOL_KIND_INT, GPUCOL_CODING_RLE, width);

	h.wire.desc.nruns = n;
	return h.codes((n + 1023) / 1024).add(GPUCOL_STREAM_RUN_ENDS, (n * 4 + 127) / 128);
}

static Head
steps(int width, int64_t reference, uint64_t step)
{
	Head		h(GPUCOL_KIND_INT, GPUCOL_CODING_STEP, width);

	h.wire.desc.reference = reference;
	h.wire.desc.step = step;
	return h.codes();
}

static Head
all_null(GpucolKind kind)
{
	Head		h(kind, GPUCOL_CODING_CONSTANT, 0);

	h.wire.desc.flags = GPUCOL_CHUNK_ALL_NULL;
	h.wire.desc.null_count = NROWS;
	return h;
}

static Head
scaled(int width, int scale)
{
	Head		h(GPUCOL_KIND_FLOAT8, GPUCOL_CODING_SCALED, width);

	h.wire.desc.scale = (int8_t) scale;
	return h.codes();
}

/* A constant of bytes, and one of which only the NULLs are wanted. */
static Head
constant_bytes()
{
	Head		h(GPUCOL_KIND_BYTES, GPUCOL_CODING_CONSTANT, 0);

	h.wire.desc.ndict = 1;
	return h;
}

static void
test_right()
{
	std::vector<Head> right = {
		Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 14).codes().zone(0, 9999),
		Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 64).codes().nulls().zone(INT64_MIN, INT64_MAX).zones(),
		Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 0),
		Head(GPUCOL_KIND_DECIMAL, GPUCOL_CODING_CONSTANT, 0).nulls().zone(5, 5),
		Head(GPUCOL_KIND_FLOAT4, GPUCOL_CODING_RAW, 32).codes(),
		Head(GPUCOL_KIND_FLOAT8, GPUCOL_CODING_RAW, 64).codes().zone(-3, 3).zones(),
		Head(GPUCOL_KIND_BYTES, GPUCOL_CODING_RAW, 9).codes(),
		dictionary(GPUCOL_KIND_INT, 17, 5), dictionary(GPUCOL_KIND_FLOAT8, 1, 0),
		dictionary(GPUCOL_KIND_BYTES, 2000, 11).nulls(),
		runs(1, 0), runs(300, 20), runs(NROWS, 1), steps(10, -50, 1000), steps(0, INT64_MAX, 2),
		all_null(GPUCOL_KIND_INT), all_null(GPUCOL_KIND_BYTES), scaled(20, 22), constant_bytes(),
		constant_bytes().nulls()
	};

	for (size_t i = 0; i < right.size(); i++)
		CHECK("a right head, number " + std::to_string(i) + ": " + (right[i].check() ? right[i].check() : ""),
			  right[i].check() == NULL);
}

/* A head is refused once something of it is changed. */
static void
wrong(const char *what, Head h, const std::function<void(Head &)> &change)
{
	CHECK(std::string("right before: ") + what, h.check() == NULL);
	change(h);
	CHECK(what, h.check() != NULL);
}

static void
test_wrong()
{
	Head		plain = Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 14).codes().zone(0, 9999);
	Head		zoned = Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 14).codes().zone(0, 9999).zones();
	Head		nulls = Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 14).codes().nulls();

	wrong("an unknown kind", plain, [] (Head &h) { h.wire.desc.kind = 77; });
	wrong("no kind", plain, [] (Head &h) { h.wire.desc.kind = 0; });
	wrong("an unknown coding", plain, [] (Head &h) { h.wire.desc.coding = 8; });
	wrong("an unknown flag", plain, [] (Head &h) { h.wire.desc.flags |= 0x4000; });
	wrong("a width beyond 64", plain, [] (Head &h) { h.wire.desc.width = 65; });
	wrong("a width that the codes do not have", plain, [] (Head &h) { h.wire.desc.width = 15; });
	wrong("codes of a width", plain, [] (Head &h) { h.wire.desc.coding = GPUCOL_CODING_CONSTANT; });
	wrong("elements of arrays", Head(GPUCOL_KIND_BYTES, GPUCOL_CODING_RAW, 9).codes(), [] (Head &h) {
		h.wire.desc.coding = GPUCOL_CODING_ARRAY;
		h.wire.desc.item_type = 23;
		h.wire.desc.item_bytes = 4;
	});
	wrong("raw integers", plain, [] (Head &h) { h.wire.desc.coding = GPUCOL_CODING_RAW; });
	wrong("scaled integers", plain, [] (Head &h) { h.wire.desc.coding = GPUCOL_CODING_SCALED; });
	wrong("a step where there is none", plain, [] (Head &h) { h.wire.desc.step = 3; });
	wrong("runs where there are none", plain, [] (Head &h) { h.wire.desc.nruns = 3; });
	wrong("entries where there are none", plain, [] (Head &h) { h.wire.desc.ndict = 3; });
	wrong("codes that are missing", plain, [] (Head &h) {
		h.wire.present = 0;
		h.total = sizeof(GpucolWireChunk);
	});
	wrong("less than the streams", plain, [] (Head &h) { h.total -= GPUCOL_ROW_BYTES; });
	wrong("more than the streams", plain, [] (Head &h) { h.total++; });
	wrong("a stream of another size", plain, [] (Head &h) {
		h.wire.desc.streams[GPUCOL_STREAM_CODES].nrows--;
		h.total -= GPUCOL_ROW_BYTES;
	});
	wrong("a stream that no kernel reads", plain, [] (Head &h) { h.wire.present |= 1u << GPUCOL_STREAM_DATA; });
	wrong("a stream that does not exist", plain, [] (Head &h) { h.wire.present |= 1u << 31; });
	wrong("an empty dictionary of other codes", plain, [] (Head &h) { h.add(GPUCOL_STREAM_DICT, 0); });
	wrong("no ends of no runs", plain, [] (Head &h) { h.add(GPUCOL_STREAM_RUN_ENDS, 0); });
	wrong("NULLs that are not counted", plain, [] (Head &h) { h.add(GPUCOL_STREAM_NULLS, NVECTORS); });
	wrong("codes of no width", Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 0),
		  [] (Head &h) { h.add(GPUCOL_STREAM_CODES, 0); });
	wrong("an empty zone", plain, [] (Head &h) { h.wire.desc.zone = {1, 0}; });
	wrong("zones without a zone", zoned, [] (Head &h) { h.wire.desc.flags &= ~GPUCOL_CHUNK_HAS_ZONE; });
	wrong("NULLs that are missing", nulls, [] (Head &h) {
		h.wire.present &= ~(1u << GPUCOL_STREAM_NULLS);
		h.total -= NVECTORS * GPUCOL_ROW_BYTES;
	});
	wrong("NULLs without a count", nulls, [] (Head &h) { h.wire.desc.null_count = 0; });
	wrong("more NULLs than rows", nulls, [] (Head &h) { h.wire.desc.null_count = NROWS + 1; });
	wrong("all NULL, and codes", nulls, [] (Head &h) { h.wire.desc.flags |= GPUCOL_CHUNK_ALL_NULL; });
	wrong("all NULL, and a zone map", all_null(GPUCOL_KIND_INT), [] (Head &h) { h.zone(1, 2).zones(); });
	wrong("fewer entries than codes", dictionary(GPUCOL_KIND_INT, 17, 5), [] (Head &h) { h.wire.desc.ndict = 16; });
	wrong("more entries than codes", dictionary(GPUCOL_KIND_INT, 17, 5), [] (Head &h) { h.wire.desc.ndict = 33; });
	wrong("no entries", dictionary(GPUCOL_KIND_INT, 1, 0), [] (Head &h) { h.wire.desc.ndict = 0; });
	wrong("entries that are missing", dictionary(GPUCOL_KIND_INT, 17, 5), [] (Head &h) {
		h.wire.present &= ~(1u << GPUCOL_STREAM_DICT);
		h.total -= 2 * GPUCOL_ROW_BYTES;
	});
	wrong("offsets of bytes", dictionary(GPUCOL_KIND_BYTES, 17, 5), [] (Head &h) { h.add(GPUCOL_STREAM_DICT, 2); });
	wrong("no runs", runs(300, 20), [] (Head &h) { h.wire.desc.nruns = 0; });
	wrong("more runs than rows", runs(300, 20), [] (Head &h) { h.wire.desc.nruns = NROWS + 1; });
	wrong("ends of runs that are missing", runs(300, 20), [] (Head &h) {
		h.wire.present &= ~(1u << GPUCOL_STREAM_RUN_ENDS);
		h.total -= 10 * GPUCOL_ROW_BYTES;
	});
	wrong("no step", steps(10, 0, 1000), [] (Head &h) { h.wire.desc.step = 0; });
	wrong("steps beyond int64", steps(10, 0, 1000), [] (Head &h) { h.wire.desc.step = (uint64_t) INT64_MAX / 1000; });
	wrong("steps from a reference beyond int64", steps(10, 0, 1000),
		  [] (Head &h) { h.wire.desc.reference = INT64_MAX - 5; });
	wrong("a negative power of ten", scaled(20, 3), [] (Head &h) { h.wire.desc.scale = -1; });
	wrong("a power of ten beyond doubles", scaled(20, 3), [] (Head &h) { h.wire.desc.scale = 100; });
}

static void
test_zones()
{
	Head		h = Head(GPUCOL_KIND_INT, GPUCOL_CODING_FOR, 14).codes().zone(-5, 100).zones();
	std::vector<GpucolZone> zones = {{-5, 0}, {INT64_MAX, INT64_MIN}, {100, 100}};

	auto		is_right = [&] { return gpucol_chunk_check_zones(h.wire.desc, zones.data(), NVECTORS) == NULL; };

	CHECK("zones of vectors, one of them empty", is_right());
	zones[0].min = -6;
	CHECK("one that begins before the chunk's", !is_right());
	zones[0] = {0, 101};
	CHECK("one that ends after the chunk's", !is_right());
	zones[0] = {INT64_MIN, INT64_MAX};
	CHECK("one of everything", !is_right());
}

static void
test_dictionaries()
{
	Head		ints = dictionary(GPUCOL_KIND_INT, 4, 2).zone(-7, 90);
	std::vector<int64_t> entries = {-7, 0, 5, 90};
	auto		is_right = [&] (const Head &h) { return gpucol_chunk_check_dict(h.wire.desc, entries.data()) == NULL; };

	CHECK("integers", is_right(ints));
	entries[3] = 91;
	CHECK("one beyond the zone", !is_right(ints));
	entries[3] = 3;
	CHECK("one out of order", !is_right(ints));
	entries = {-8, 0, 5, 90};
	CHECK("one before the zone", !is_right(ints));
	CHECK("the same without a zone", is_right(dictionary(GPUCOL_KIND_INT, 4, 2)));

	double		floats[] = {-1.5, -0.0, 0.0, 2.5};

	memcpy(entries.data(), floats, sizeof(floats));
	CHECK("floats, both zeros", is_right(dictionary(GPUCOL_KIND_FLOAT8, 4, 2)));
	std::swap(entries[0], entries[3]);
	CHECK("floats out of order", !is_right(dictionary(GPUCOL_KIND_FLOAT8, 4, 2)));
}

int
main()
{
	test_right();
	test_wrong();
	test_zones();
	test_dictionaries();
	return summary("chunk_check");
}
