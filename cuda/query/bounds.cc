/*-------------------------------------------------------------------------
 *
 * bounds.cc
 *	  Bounds of columns: what segments say of them, and whether it is so.
 *
 * A segment says the least and the greatest value of each of its chunks.  That they
 * are so is a matter of right answers, like the rows themselves, until a kernel uses a
 * value less the least one as the number of a cell: then one beyond the greatest would
 * be stored where another's memory is.  So before that the codes of a chunk are looked
 * at once, by a scan for those that are outside (1.75 GB of codes: about a millisecond),
 * and the chunk remembers it as long as it is resident.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/bounds.cuh"

#include <algorithm>

#include "cuda/query/scan_builder.cuh"
#include "cuda/scan/scan.cuh"

typedef __int128 int128;
typedef unsigned __int128 uint128;

Bounds
gpucol_bounds_of_chunk(const GpucolWireRun &head, const Resident &resident, const GpucolDeviceChunk &chunk,
					   uint32_t slot)
{
	const GpucolChunkDesc &d = resident.desc;

	if (chunk.all_null)
		return {0, -1, true};
	if (d.kind == GPUCOL_KIND_BYTES)
	{
		uint32_t	distinct = slot < 16 ? head.distinct[slot] : 0;

		return {0, distinct > 0 ? (int64_t) distinct - 1 : 0, chunk.remap != NULL && distinct > 0};
	}
	if (d.flags & GPUCOL_CHUNK_HAS_ZONE)
		return {d.zone.min, d.zone.max, true};
	if (d.coding == GPUCOL_CODING_DICT)
		return {resident.dict.front(), resident.dict.back(), true};
	if (d.coding != GPUCOL_CODING_CONSTANT)
	{
		uint64_t	most = d.width <= 40 ? ((uint64_t) 1 << d.width) - 1 : UINT64_MAX;

		if (most > (uint64_t) INT64_MAX - (uint64_t) d.reference)
			return {d.reference, d.reference, false};
		return {d.reference, d.reference + (int64_t) most, true};
	}
	return {d.reference, d.reference, true};
}

static Failure
out_of_bounds()
{
	return unsupported("a column has values beyond what its segment tells");
}

/*
 * Is it to be seen from a chunk's codes only that its values are within bounds?  Then
 * *outside becomes the test that those fail which are.  Throws where they are not.
 */
static bool
must_look(const GpucolDeviceChunk &chunk, const std::vector<int64_t> &dict, const Bounds &bounds,
		  GpucolDeviceRange *outside)
{
	uint128		most = ((uint128) 1 << chunk.width) - 1;
	int128		first = std::max<int128>((int128) bounds.lo - chunk.reference, 0),
				last = std::min<int128>((int128) bounds.hi - chunk.reference, (int128) most);

	if (chunk.dict != NULL)
	{
		for (int64_t x : dict)
			if (x < bounds.lo || x > bounds.hi)
				throw out_of_bounds();
		return false;
	}
	if (first > last)
		throw out_of_bounds();
	*outside = GpucolDeviceRange();
	outside->test = GPUCOL_TEST_RANGE;
	outside->invert = 1;
	outside->lo = (uint64_t) first;
	outside->hi = (uint64_t) last;
	return first > 0 || last < (int128) most;
}

void
gpucol_bounds_prove(PartContext &c, const std::vector<uint32_t> &slots)
{
	const GpucolWireRun &head = c.task.run.head();
	PartDevice &device = c.device;
	std::vector<Resident *> proven;
	std::vector<GpucolDeviceSegment> segments;
	std::vector<GpucolDeviceChunk> chunks;
	std::vector<GpucolDeviceRange> ranges;
	GpucolDeviceRange range;

	for (size_t i = 0; i < c.scan.segments.size(); i++)
		for (uint32_t slot : slots)
		{
			const GpucolDeviceSegment &segment = c.scan.segments[i];
			const GpucolDeviceChunk &chunk = c.scan.chunks[i * head.ncolumns + slot];
			Resident   *resident = segment.number < head.nsegments ? c.task.pieces.chunks(segment.number)[slot] : NULL;

			if (resident == NULL || chunk.all_null || chunk.remap != NULL || resident->is_proven())
				continue;
			proven.push_back(resident);
			if (!must_look(chunk, resident->dict, gpucol_bounds_of_chunk(head, *resident, chunk, slot), &range))
				continue;
			segments.push_back({NULL, segment.nrows, 0});
			chunks.push_back(chunk);
			ranges.push_back(range);
		}
	if (!segments.empty())
	{
		unsigned long long *found = device.scratch().array<unsigned long long>(1, "the bounds");
		GpucolScanPlan scan = gpucol_scan_lay_out(device, device.scratch(), segments, chunks, ranges, 1, 1);
		cudaEvent_t e = device.mark();
		const unsigned long long *n;

		device_check(cudaMemsetAsync(found, 0, sizeof(*found), device.stream()), "memset");
		device_check(gpucol_scan_count(scan, chunks, found, device.stream()), "bounds");
		n = device.fetch(found, 1);
		device.finish(e);		/* throws where it was cut short */
		if (*n > 0)
			throw out_of_bounds();
	}
	for (Resident *resident : proven)
		resident->prove();
}
