/*-------------------------------------------------------------------------
 *
 * lower_bounds.cu
 *	  Bounds of columns: what is told of them, and whether it is so.
 *
 * A segment tells the least and the greatest value of each of its chunks.  That they
 * are so is a matter of right answers, like the rows themselves, until a kernel uses a
 * value less the least one as the number of a cell: then one beyond the greatest would
 * be stored where another's memory is.  So before that the codes of a chunk are looked
 * at once, by a scan for those that are outside (1.75 GB of codes: about a millisecond),
 * and the chunk remembers it as long as it is resident.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

#include "cuda/scan/scan.cuh"

/* What a chunk's segment tells of its values, or their codes allow. */
Bounds
Lowering::chunk_bounds(const Resident &resident, const GpucolDeviceChunk &chunk, uint32_t slot) const
{
	const GpucolChunkDesc &d = resident.desc;

	if (chunk.all_null)
		return {0, -1, true};
	if (d.kind == GPUCOL_KIND_BYTES)
	{
		uint32_t	distinct = slot < 16 ? r_.run_.distinct[slot] : 0;

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

/* Widen what is known of a slot's values. */
void
Lowering::note_bounds(uint32_t slot, const Bounds &bounds, bool null, int scale)
{
	if (null)
		nullable_[slot] = true;
	if (bounds.lo <= bounds.hi)
	{
		bounds_[slot].first = std::min(bounds_[slot].first, bounds.lo);
		bounds_[slot].second = std::max(bounds_[slot].second, bounds.hi);
	}
	if (!bounds.known)
		bounded_[slot] = false;
	if (scales_[slot] == -2)
		scales_[slot] = scale;
	else if (scales_[slot] != scale)
		scales_[slot] = -1;
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
must_look(const GpucolDeviceChunk &chunk, const std::vector<int64_t> &dict, const Bounds &bounds, GpucolDeviceRange *outside)
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

/*
 * The values of these slots are within the bounds that their chunks tell; throws where
 * they are not.  Numbers of dictionaries were looked at when they came, and delta rows are
 * what their bounds are made of.
 */
void
Lowering::prove_bounds(const std::vector<uint32_t> &slots)
{
	std::vector<Resident *> proven;
	std::vector<GpucolDeviceSegment> segments;
	std::vector<GpucolDeviceChunk> chunks;
	std::vector<GpucolDeviceRange> ranges;
	GpucolDeviceRange range;

	for (size_t i = 0; i < segments_.size(); i++)
		for (uint32_t slot : slots)
		{
			const GpucolDeviceChunk &chunk = chunks_[i * r_.run_.ncolumns + slot];
			Resident   *resident = segments_[i].number < r_.run_.nsegments ? r_.chunks(segments_[i].number)[slot] : NULL;

			if (resident == NULL || chunk.all_null || chunk.remap != NULL || resident->is_proven())
				continue;
			proven.push_back(resident);
			if (!must_look(chunk, resident->dict, chunk_bounds(*resident, chunk, slot), &range))
				continue;
			segments.push_back({NULL, segments_[i].nrows, 0});
			chunks.push_back(chunk);
			ranges.push_back(range);
		}
	if (!segments.empty())
	{
		unsigned long long *found = part_.scratch->array<unsigned long long>(1, "the bounds");
		GpucolScanPlan scan = lay_out_scan(segments, chunks, ranges, 1, 1);
		const unsigned long long *n;
		cudaEvent_t e;

		e = begin();
		device_check(cudaMemsetAsync(found, 0, sizeof(*found), stream_), "memset");
		device_check(gpucol_scan_count(scan, chunks, found, stream_), "bounds");
		n = fetch(found, 1);
		finish(e);				/* throws where it was cut short */
		if (*n > 0)
			throw out_of_bounds();
	}
	for (Resident *resident : proven)
		resident->prove();
}
