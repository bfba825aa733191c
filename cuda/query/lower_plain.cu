/*-------------------------------------------------------------------------
 *
 * lower_plain.cu
 *	  Aggregates of plain columns without groups: count and reduce.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

#include "cuda/scan/scan.cuh"

/* Column slot that a register loads as it is, or -1. */
int
Lowering::plain_slot(uint16_t reg) const
{
	for (int i = 0; i < p_->ninstrs; i++)
	{
		const GpucolInstr &in = array<GpucolInstr>(p_->instrs)[i];

		if (in.dst != reg)
			continue;
		if (in.op > GPUCOL_OP_LOAD_S || in.op == GPUCOL_OP_LOAD_F)
			return -1;

		const GpucolProgramColumn &column = array<GpucolProgramColumn>(p_->columns)[in.aux];

		return column.kind != GPUCOL_KIND_DECIMAL || scales_[in.aux] == -2 || scales_[in.aux] == column.scale ? in.aux : -1;
	}
	return -1;
}

/* A slot as 32-bit offsets, if its values allow. */
bool
Lowering::offset_column(int slot, GpucolOffsetColumn *column) const
{
	int64_t		lo,
				hi;

	if (slot < 0 || !bounded_[slot])
		return false;
	lo = bounds_[slot].first;
	hi = bounds_[slot].second;
	if (lo > hi)
		lo = hi = 0;
	if ((uint128) ((int128) hi - lo) >= ((uint128) 1 << 32) - 1)
		return false;
	column->slot = slot;
	column->nullable = nullable_[slot];
	column->unused = 0;
	column->base = lo;
	return true;
}

/* Are all aggregates counts, sums and extremes of plain offsets, unfiltered? */
bool
Lowering::plain_aggregates() const
{
	GpucolOffsetColumn column;

	if (p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0)
		return false;

	/* an expression may fail on some row even if no aggregate shows its value */
	for (int i = 0; i < p_->ninstrs; i++)
		if (array<GpucolInstr>(p_->instrs)[i].op > GPUCOL_OP_LOAD_S)
			return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.filter != GPUCOL_NO_REG)
			return false;
		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		if (agg.op != GPUCOL_AGG_COUNT && agg.op != GPUCOL_AGG_SUM &&
			agg.op != GPUCOL_AGG_MIN && agg.op != GPUCOL_AGG_MAX)
			return false;
		if (agg.cls != GPUCOL_CLASS_I && agg.cls != GPUCOL_CLASS_D)
			return false;
		if (!offset_column(plain_slot(agg.arg), &column))
			return false;
	}
	return true;
}

bool
Lowering::run_count(std::vector<char> *data)
{
	unsigned long long *out;
	const unsigned long long *n;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->filter != GPUCOL_NO_REG || p_->ninstrs > 0)
		return false;
	for (int i = 0; i < p_->naggs; i++)
		if (array<GpucolAgg>(p_->aggs)[i].op != GPUCOL_AGG_COUNT_STAR ||
			array<GpucolAgg>(p_->aggs)[i].filter != GPUCOL_NO_REG)
			return false;
	kernel_ = "count";
	out = part_.scratch->array<unsigned long long>(1, "the result");
	e = begin();
	device_check(cudaMemsetAsync(out, 0, 8, stream_), "memset");
	device_check(gpucol_scan_count(scan_, chunks_, out, stream_), "scan");
	n = fetch(out, 1);
	finish(e);
	for (int i = 0; i < p_->naggs; i++)
	{
		GpucolAggState s = gpucol_plain_state(GPUCOL_AGG_COUNT_STAR, 0, *n, *n, 0, 0, 0, 0);

		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}

bool
Lowering::run_reduce(std::vector<char> *data)
{
	std::vector<int> slots;
	std::vector<unsigned long long> words;
	unsigned long long *out;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->naggs == 0 || !plain_aggregates())
		return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.op != GPUCOL_AGG_COUNT_STAR &&
			std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) == slots.end())
			slots.push_back(plain_slot(agg.arg));
	}
	if (slots.empty())
		return false;
	kernel_ = "reduce";
	for (size_t i = 0; i < slots.size(); i++)
		words.insert(words.end(), {0, 0, 0, ~0ull, 0});
	out = upload(words);
	e = begin();
	for (size_t i = 0; i < slots.size(); i++)
	{
		GpucolOffsetColumn column;
		bool		extremes = false;

		offset_column(slots[i], &column);
		for (int a = 0; a < p_->naggs; a++)
		{
			const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[a];

			extremes |= (agg.op == GPUCOL_AGG_MIN || agg.op == GPUCOL_AGG_MAX) && plain_slot(agg.arg) == slots[i];
		}
		device_check(gpucol_scan_reduce(scan_, chunks_, ranges_, column, extremes, out + 5 * i, stream_), "reduce");
	}
	finish(e);
	words = download(out, words.size());
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		size_t		at = 0;
		GpucolOffsetColumn column = {};
		GpucolAggState s;

		if (agg.op != GPUCOL_AGG_COUNT_STAR)
		{
			at = std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) - slots.begin();
			offset_column(slots[at], &column);
		}

		const unsigned long long *w = words.data() + 5 * at;

		s = gpucol_plain_state(agg.op, agg.cls, w[0], w[1], w[2], w[3], w[4], column.base);
		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}
