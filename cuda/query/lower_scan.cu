/*-------------------------------------------------------------------------
 *
 * lower_scan.cu
 *	  The resident segments and the delta rows of a part as a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"
#include "cuda/scan/scan.cuh"

#include <algorithm>

#include "kernel/float_order.h"

/* Rows beyond this could wrap the limbs of a sum. */
static const uint64_t MAX_ROWS = (uint64_t) 1 << 32;

/* Add a resident segment unless its zone maps exclude it. */
void
Lowering::add_segment(uint32_t s)
{
	const GpucolWireSegment &wire = r_.segment(s);
	std::vector<GpucolDeviceRange> ranges;
	GpucolDeviceSegment segment = {NULL, wire.nrows, s};
	Resident   *const *resident = r_.chunks(s);

	for (int i = 0; i < p_->nranges; i++)
	{
		uint16_t	slot = array<GpucolRange>(p_->ranges)[i].column;
		GpucolDeviceRange r = lower_range(domains_[i], slot, *resident[slot], s);
		bool		nulls = resident[slot]->chunk.all_null || resident[slot]->chunk.nulls;

		ranges.push_back(r);
		if ((r.test == GPUCOL_TEST_NONE && !r.invert && !(r.null_passes && nulls)) ||
			(r.test == GPUCOL_TEST_ALL && r.invert && !(r.null_passes && nulls)))
		{
			skipped_++;
			return;
		}
	}
	if (wire.ndeleted > 0)
	{
		segment.deleted = (const uint32_t *) r_.deleted(s)->memory;
		deleted_ = true;
	}
	for (uint32_t c = 0; c < r_.run_.ncolumns; c++)
	{
		GpucolDeviceChunk chunk = resident[c]->chunk;
		const GpucolChunkDesc &d = resident[c]->desc;
		const Resident *remap = d.kind == GPUCOL_KIND_BYTES && !chunk.all_null ? r_.remap(s, c) : NULL;

		if (remap != NULL)
		{
			if (remap->numbers.size() <= chunk.last_entry || (c < 16 && remap->most >= r_.run_.distinct[c]))
				throw Failure{GPUCOL_UNSUPPORTED, "numbers of a dictionary are missing"};
			chunk.remap = (const uint32_t *) remap->memory;
			chunk.coding = GPUCOL_CODING_DICT;
		}
		note_bounds(c, chunk_bounds(*resident[c], chunk, c), chunk.all_null || chunk.nulls, d.scale);
		chunks_.push_back(chunk);
		bytes_ += (uint64_t) GPUCOL_VECTORS(wire.nrows) * chunk.width * GPUCOL_ROW_BYTES;
	}
	segments_.push_back(segment);
	ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
	rows_ += wire.nrows;
}

/* Column c of the delta rows as plain 64-bit values. */
Resident
Lowering::delta_column(uint32_t c)
{
	Incoming   *codes = r_.object(GPUCOL_PUT_DELTA_CODES, 0, c);
	Incoming   *nulls = r_.object(GPUCOL_PUT_DELTA_NULLS, 0, c);
	const GpucolProgramColumn &column = array<GpucolProgramColumn>(p_->columns)[c];
	size_t		nvectors = GPUCOL_VECTORS(r_.run_.delta_rows);
	Resident	made;
	GpucolDeviceChunk &chunk = made.chunk;
	Bounds		bounds = {INT64_MAX, INT64_MIN, !gpucol_kind_is_float(column.kind)};

	if (codes == NULL || codes->total != nvectors * 64 * GPUCOL_ROW_BYTES ||
		(nulls != NULL && nulls->total != nvectors * GPUCOL_ROW_BYTES))
		throw Failure{GPUCOL_UNSUPPORTED, "delta rows are missing"};
	chunk = GpucolDeviceChunk();
	chunk.codes = (const uint32_t *) codes->device[part_.share];
	chunk.nulls = nulls ? (const uint32_t *) nulls->device[part_.share] : NULL;
	chunk.width = 64;
	chunk.kind = column.kind;
	chunk.coding = gpucol_kind_is_float(column.kind) ? GPUCOL_CODING_RAW : GPUCOL_CODING_FOR;
	chunk.scale = column.scale;
	made.desc = GpucolChunkDesc();
	made.desc.kind = chunk.kind;
	made.desc.coding = chunk.coding;
	made.desc.width = 64;
	made.desc.scale = chunk.scale;
	made.zones_useful = false;
	for (uint64_t r = 0; r < r_.run_.delta_rows; r++)
	{
		const uint32_t *v = (const uint32_t *) codes->host.data() + r / 1024 * 2048;
		int64_t		x = (int64_t) ((uint64_t) v[1024 + r % 1024] << 32 | v[r % 1024]);

		bounds.lo = std::min(bounds.lo, x);
		bounds.hi = std::max(bounds.hi, x);
	}
	note_bounds(c, bounds, nulls != NULL, chunk.scale);
	return made;
}

/* A conjunct on the delta rows' 64-bit values. */
GpucolDeviceRange
Lowering::delta_range(const Domain &d, uint16_t slot, const Resident &column)
{
	GpucolDeviceRange r = {};
	int			kind = column.chunk.kind;

	r.slot = slot;
	r.invert = d.invert;
	r.null_passes = d.null_passes;
	if (d.never)
		r.test = GPUCOL_TEST_NONE, r.invert = 0;
	else if (d.null_test)
		r.test = GPUCOL_TEST_ALL;
	else if (d.host >= 0)
		host_bitmap(&r, d, UINT32_MAX, slot, column);
	else if (d.is_list)
	{
		std::vector<uint64_t> codes(d.list.begin(), d.list.end());

		if (gpucol_kind_is_float(kind))
			throw unsupported("a list of values over floats without a dictionary");
		std::sort(codes.begin(), codes.end());
		r.test = GPUCOL_TEST_LIST;
		r.n = codes.size();
		r.data = upload(codes);
	}
	else if (gpucol_kind_is_float(kind))
	{
		/* a delta column holds FLOAT4 patterns in 64 bits */
		r.test = kind == GPUCOL_KIND_FLOAT4 ? GPUCOL_TEST_FLOAT4 : GPUCOL_TEST_FLOAT;
		r.zone_lo = d.lo;
		r.zone_hi = d.hi;
	}
	else
	{
		/* bounds of signed values, as an offset from the least int64 */
		r.test = GPUCOL_TEST_SIGNED;
		r.lo = (uint64_t) d.lo;
		r.hi = (uint64_t) d.hi;
	}
	return r;
}

/* Add the delta rows as a segment. */
void
Lowering::add_delta()
{
	GpucolDeviceSegment segment = {NULL, (uint32_t) r_.run_.delta_rows, r_.run_.nsegments};
	std::vector<Resident> columns;

	if (r_.run_.delta_rows == 0)
		return;
	if (r_.run_.delta_rows > UINT32_MAX - GPUCOL_VECTOR_VALUES)
		throw unsupported("more delta rows than the device takes");
	for (uint32_t c = 0; c < r_.run_.ncolumns; c++)
	{
		columns.push_back(delta_column(c));
		chunks_.push_back(columns[c].chunk);
	}
	for (int i = 0; i < p_->nranges; i++)
	{
		uint16_t	slot = array<GpucolRange>(p_->ranges)[i].column;

		ranges_.push_back(delta_range(domains_[i], slot, columns[slot]));
	}
	segments_.push_back(segment);
	rows_ += r_.run_.delta_rows;
}

/* Of segments that begin at these runs: the logarithm of the runs of every one but the last,
 * which has no more; -1 if these are no power of two or differ. */
static int
runs_shift(const std::vector<uint32_t> &run_start)
{
	size_t		n = run_start.size() - 1;
	uint32_t	first = n > 0 ? run_start[1] : 0;

	for (size_t s = 1; s < n; s++)
	{
		uint32_t	runs = run_start[s + 1] - run_start[s];

		if (s + 1 < n ? runs != first : runs > first)
			return -1;
	}
	return first > 0 && (first & (first - 1)) == 0 ? __builtin_ctz(first) : -1;
}

/*
 * The scan of these segments, cut in runs of vectors, on the device: ncolumns chunks and
 * nranges ranges of each.
 */
GpucolScanPlan
Lowering::lay_out_scan(const std::vector<GpucolDeviceSegment> &segments, const std::vector<GpucolDeviceChunk> &chunks,
					   const std::vector<GpucolDeviceRange> &ranges, uint32_t ncolumns, uint32_t nranges)
{
	std::vector<uint32_t> run_start(1, 0),
				vector_start(1, 0);
	GpucolScanPlan scan = {};

	for (const GpucolDeviceSegment &segment : segments)
	{
		uint32_t	n = GPUCOL_VECTORS(segment.nrows);

		run_start.push_back(run_start.back() + (n + GPUCOL_RUN_VECTORS - 1) / GPUCOL_RUN_VECTORS);
		vector_start.push_back(vector_start.back() + n);
	}
	scan.segments = upload(segments);
	scan.run_start = upload(run_start);
	scan.vector_start = upload(vector_start);
	scan.chunks = upload(chunks);
	scan.ranges = upload(ranges);
	scan.nsegments = segments.size();
	scan.ncolumns = ncolumns;
	scan.nranges = nranges;
	scan.nruns = run_start.back();
	scan.nvectors = vector_start.back();
	scan.run_shift = runs_shift(run_start);
	scan.turn_shift = gpucol_scan_turn_shift(chunks);
	scan.cancel = lane_.cancel_word();
	return scan;
}

void
Lowering::build_scan()
{
	bounds_.assign(r_.run_.ncolumns, {INT64_MAX, INT64_MIN});
	bounded_.assign(r_.run_.ncolumns, true);
	nullable_.assign(r_.run_.ncolumns, false);
	scales_.assign(r_.run_.ncolumns, -2);
	lower_domains();
	for (uint32_t s : part_.segments)
		add_segment(s);
	if (part_.delta)
		add_delta();
	if (rows_ >= MAX_ROWS)
		throw unsupported("more rows than one request takes");
	scan_ = lay_out_scan(segments_, chunks_, ranges_, r_.run_.ncolumns, p_->nranges);
	prepared_->ready = true;
}
