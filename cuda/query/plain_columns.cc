/*-------------------------------------------------------------------------
 *
 * plain_columns.cc
 *	  Registers of a program that are columns as they are.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/plain_columns.cuh"

#include <algorithm>

int
PlainColumns::value_slot(uint16_t reg) const
{
	const GpucolInstr *load = program_.load_of(reg);

	return load != NULL && load->op == GPUCOL_OP_LOAD_F ? load->aux : slot(reg);
}

int
PlainColumns::slot(uint16_t reg) const
{
	const GpucolInstr *load = program_.load_of(reg);

	if (load == NULL || load->op == GPUCOL_OP_LOAD_F)
		return -1;

	const GpucolProgramColumn &column = program_.columns()[load->aux];
	int			scale = slots_[load->aux].scale;

	return column.kind != GPUCOL_KIND_DECIMAL || scale == SlotFacts::NO_SCALE || scale == column.scale ? load->aux : -1;
}

bool
PlainColumns::offset(int slot, GpucolOffsetColumn *column) const
{
	int64_t		lo,
				hi;

	if (slot < 0 || !slots_[slot].bounded)
		return false;
	lo = slots_[slot].lo;
	hi = slots_[slot].hi;
	if (lo > hi)
		lo = hi = 0;
	if ((unsigned __int128) ((__int128) hi - lo) >= ((unsigned __int128) 1 << 32) - 1)
		return false;
	column->slot = slot;
	column->nullable = slots_[slot].nullable;
	column->unused = 0;
	column->base = lo;
	return true;
}

/* Is an aggregate a count, a sum or an extreme of offsets, unfiltered? */
bool
PlainColumns::aggregate(const GpucolAgg &agg) const
{
	GpucolOffsetColumn column;

	if (agg.filter != GPUCOL_NO_REG)
		return false;
	if (agg.op == GPUCOL_AGG_COUNT_STAR)
		return true;
	return (agg.op == GPUCOL_AGG_COUNT || agg.op == GPUCOL_AGG_SUM || agg.op == GPUCOL_AGG_MIN ||
			agg.op == GPUCOL_AGG_MAX) &&
		(agg.cls == GPUCOL_CLASS_I || agg.cls == GPUCOL_CLASS_D) && offset(slot(agg.arg), &column);
}

bool
PlainColumns::aggregates() const
{
	auto		aggs = program_.aggs();

	return !program_.filters() && program_.only_loads() &&
		std::all_of(aggs.begin(), aggs.end(), [this] (const GpucolAgg &agg) { return aggregate(agg); });
}
