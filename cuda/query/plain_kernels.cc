/*-------------------------------------------------------------------------
 *
 * plain_kernels.cc
 *	  Aggregates of plain columns without groups: count and reduce.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/plain_kernels.cuh"

#include <algorithm>

#include "cuda/query/plain_columns.cuh"
#include "cuda/scan/scan.cuh"

/* Append a state to a result. */
static void
put_state(Partial *result, const GpucolAggState &s)
{
	const char *bytes = (const char *) &s;

	result->data.insert(result->data.end(), bytes, bytes + sizeof(s));
}

bool
gpucol_plain_count(PartContext &c, Partial *result)
{
	const GpucolProgram &p = c.program.head();
	auto		aggs = c.program.aggs();
	auto		counts_rows =
		[] (const GpucolAgg &agg) { return agg.op == GPUCOL_AGG_COUNT_STAR && agg.filter == GPUCOL_NO_REG; };
	unsigned long long *out;
	const unsigned long long *n;
	cudaEvent_t e;

	if (p.nkeys > 0 || c.program.filters() || p.ninstrs > 0 ||
		!std::all_of(aggs.begin(), aggs.end(), counts_rows))
		return false;
	result->kernel = "count";
	result->nrows = 1;
	out = c.device.scratch().array<unsigned long long>(1, "the result");
	e = c.device.mark();
	device_check(cudaMemsetAsync(out, 0, 8, c.device.stream()), "memset");
	device_check(gpucol_scan_count(c.scan.scan, c.scan.chunks, out, c.device.stream()), "scan");
	n = c.device.fetch(out, 1);
	c.device.finish(e);
	for (size_t i = 0; i < aggs.size(); i++)
		put_state(result, gpucol_plain_state(GPUCOL_AGG_COUNT_STAR, 0, *n, *n, 0, 0, 0, 0));
	return true;
}

/* Words of a column's reduction, as gpucol_scan_reduce leaves them: rows, count, sum, least, greatest. */
static const size_t COLUMN_WORDS = 5;

/* Number of a slot in a list. */
static size_t
place_of(const std::vector<int> &slots, int slot)
{
	return std::find(slots.begin(), slots.end(), slot) - slots.begin();
}

bool
gpucol_plain_reduce(PartContext &c, Partial *result)
{
	PlainColumns columns(c);
	std::vector<int> slots;
	std::vector<bool> extremes; /* of each slot: are they wanted? */
	std::vector<unsigned long long> words;
	unsigned long long *out;
	GpucolOffsetColumn column;
	cudaEvent_t e;

	if (c.program.keys().size() > 0 || c.program.aggs().size() == 0 || !columns.aggregates())
		return false;
	for (const GpucolAgg &agg : c.program.aggs())
	{
		size_t		at;

		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		at = place_of(slots, columns.slot(agg.arg));
		if (at == slots.size())
		{
			slots.push_back(columns.slot(agg.arg));
			extremes.push_back(false);
		}
		extremes[at] = extremes[at] || agg.op == GPUCOL_AGG_MIN || agg.op == GPUCOL_AGG_MAX;
	}
	if (slots.empty())
		return false;
	result->kernel = "reduce";
	result->nrows = 1;
	for (size_t i = 0; i < slots.size(); i++)
		words.insert(words.end(), {0, 0, 0, ~0ull, 0});
	out = c.device.upload(words);
	e = c.device.mark();
	for (size_t i = 0; i < slots.size(); i++)
	{
		columns.offset(slots[i], &column);
		device_check(gpucol_scan_reduce(c.scan.scan, column, extremes[i], out + COLUMN_WORDS * i,
										c.device.stream()), "reduce");
	}
	c.device.finish(e);
	words = c.device.download(out, words.size());
	for (const GpucolAgg &agg : c.program.aggs())
	{
		size_t		at = agg.op == GPUCOL_AGG_COUNT_STAR ? 0 : place_of(slots, columns.slot(agg.arg));
		const unsigned long long *w = words.data() + COLUMN_WORDS * at;

		columns.offset(slots[at], &column);
		put_state(result, gpucol_plain_state(agg.op, agg.cls, w[0], w[1], w[2], w[3], w[4], column.base));
	}
	return true;
}
