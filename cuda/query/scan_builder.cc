/*-------------------------------------------------------------------------
 *
 * scan_builder.cc
 *	  The resident segments and the delta rows of a part as a scan.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/scan_builder.cuh"

#include <algorithm>

#include "cuda/query/bounds.cuh"
#include "cuda/query/part_context.cuh"
#include "cuda/scan/scan.cuh"
#include "kernel/float_order.h"

/* Rows beyond this could wrap the limbs of a sum. */
static const uint64_t MAX_ROWS = (uint64_t) 1 << 32;

ScanBuilder::ScanBuilder(const PartTask &task, const ProgramView &program, PartDevice &device, PreparedScan &scan)
	: task_(task), head_(task.run.head()), program_(program), device_(device), scan_(scan),
		conditions_(task, program, device, scan.memory)
{
}

/* Add a resident segment unless its zone maps exclude it. */
void
ScanBuilder::add_segment(uint32_t s)
{
	const GpucolWireSegment &wire = task_.run.segment(s);
	std::vector<GpucolDeviceRange> ranges;
	GpucolDeviceSegment segment = {NULL, wire.nrows, s};
	Resident   *const *resident = task_.pieces.chunks(s);

	for (size_t i = 0; i < conditions_.size(); i++)
	{
		uint16_t	slot = conditions_.slot(i);
		GpucolDeviceRange r = conditions_.on_chunk(i, s, *resident[slot]);
		bool		nulls = resident[slot]->chunk.all_null || resident[slot]->chunk.nulls;

		ranges.push_back(r);
		if ((r.test == GPUCOL_TEST_NONE && !r.invert && !(r.null_passes && nulls)) ||
			(r.test == GPUCOL_TEST_ALL && r.invert && !(r.null_passes && nulls)))
		{
			scan_.skipped++;
			return;
		}
	}
	if (wire.ndeleted > 0)
	{
		segment.deleted = (const uint32_t *) task_.pieces.deleted(s)->memory;
		scan_.deleted = true;
	}
	for (uint32_t c = 0; c < head_.ncolumns; c++)
	{
		GpucolDeviceChunk chunk = resident[c]->chunk;
		const GpucolChunkDesc &d = resident[c]->desc;
		const Resident *remap = d.kind == GPUCOL_KIND_BYTES && !chunk.all_null ? task_.pieces.remap(s, c) : NULL;

		if (remap != NULL)
		{
			if (remap->numbers.size() <= chunk.last_entry || (c < 16 && remap->most >= head_.distinct[c]))
				throw Failure{GPUCOL_UNSUPPORTED, "numbers of a dictionary are missing"};
			chunk.remap = (const uint32_t *) remap->memory;
			chunk.coding = GPUCOL_CODING_DICT;
		}
		scan_.slots[c].widen(gpucol_bounds_of_chunk(head_, *resident[c], chunk, c), chunk.all_null ||
							 chunk.nulls, d.scale);
		scan_.chunks.push_back(chunk);
		scan_.bytes += (uint64_t) GPUCOL_VECTORS(wire.nrows) * chunk.width * GPUCOL_ROW_BYTES;
	}
	scan_.segments.push_back(segment);
	scan_.ranges.insert(scan_.ranges.end(), ranges.begin(), ranges.end());
	scan_.rows += wire.nrows;
}

/* Column c of the delta rows as plain 64-bit values. */
Resident
ScanBuilder::delta_column(uint32_t c)
{
	const Object *codes = task_.object(GPUCOL_PUT_DELTA_CODES, 0, c);
	const Object *nulls = task_.object(GPUCOL_PUT_DELTA_NULLS, 0, c);
	const GpucolProgramColumn &column = program_.columns()[c];
	size_t		nvectors = GPUCOL_VECTORS(head_.delta_rows);
	Resident	made;
	GpucolDeviceChunk &chunk = made.chunk;
	Bounds		bounds = {INT64_MAX, INT64_MIN, !gpucol_kind_is_float(column.kind)};

	if (codes == NULL || codes->bytes() != nvectors * 64 * GPUCOL_ROW_BYTES ||
		(nulls != NULL && nulls->bytes() != nvectors * GPUCOL_ROW_BYTES))
		throw Failure{GPUCOL_UNSUPPORTED, "delta rows are missing"};
	chunk = GpucolDeviceChunk();
	chunk.codes = task_.on_device<uint32_t>(*codes);
	chunk.nulls = nulls ? task_.on_device<uint32_t>(*nulls) : NULL;
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
	for (uint64_t r = 0; r < head_.delta_rows; r++)
	{
		const uint32_t *v = (const uint32_t *) codes->host.data() + r / 1024 * 2048;
		int64_t		x = (int64_t) ((uint64_t) v[1024 + r % 1024] << 32 | v[r % 1024]);

		bounds.lo = std::min(bounds.lo, x);
		bounds.hi = std::max(bounds.hi, x);
	}
	scan_.slots[c].widen(bounds, nulls != NULL, chunk.scale);
	return made;
}

/* Add the delta rows as a segment. */
void
ScanBuilder::add_delta()
{
	GpucolDeviceSegment segment = {NULL, (uint32_t) head_.delta_rows, head_.nsegments};
	std::vector<Resident> columns;

	if (head_.delta_rows == 0)
		return;
	if (head_.delta_rows > UINT32_MAX - GPUCOL_VECTOR_VALUES)
		throw unsupported("more delta rows than the device takes");
	for (uint32_t c = 0; c < head_.ncolumns; c++)
	{
		columns.push_back(delta_column(c));
		scan_.chunks.push_back(columns[c].chunk);
	}
	for (size_t i = 0; i < conditions_.size(); i++)
		scan_.ranges.push_back(conditions_.on_delta(i, columns[conditions_.slot(i)]));
	scan_.segments.push_back(segment);
	scan_.rows += head_.delta_rows;
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

GpucolScanPlan
gpucol_scan_lay_out(PartDevice &device, Scratch &memory, const std::vector<GpucolDeviceSegment> &segments,
					const std::vector<GpucolDeviceChunk> &chunks, const std::vector<GpucolDeviceRange> &ranges,
					uint32_t ncolumns, uint32_t nranges)
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
	scan.segments = device.upload(segments, memory);
	scan.run_start = device.upload(run_start, memory);
	scan.vector_start = device.upload(vector_start, memory);
	scan.chunks = device.upload(chunks, memory);
	scan.ranges = device.upload(ranges, memory);
	scan.nsegments = segments.size();
	scan.ncolumns = ncolumns;
	scan.nranges = nranges;
	scan.nruns = run_start.back();
	scan.nvectors = vector_start.back();
	scan.run_shift = runs_shift(run_start);
	scan.turn_shift = gpucol_scan_turn_shift(chunks);
	scan.cancel = device.lane().cancel_word();
	return scan;
}

void
ScanBuilder::build()
{
	scan_.slots.assign(head_.ncolumns, SlotFacts());
	for (uint32_t s : task_.part.segments)
		add_segment(s);
	if (task_.part.delta)
		add_delta();
	if (scan_.rows >= MAX_ROWS)
		throw unsupported("more rows than one request takes");
	scan_.scan = gpucol_scan_lay_out(device_, scan_.memory, scan_.segments, scan_.chunks, scan_.ranges,
									 head_.ncolumns, conditions_.size());
	scan_.ready = true;
}
