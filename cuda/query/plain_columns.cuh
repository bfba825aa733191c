/*-------------------------------------------------------------------------
 *
 * plain_columns.cuh
 *	  Registers of a program that are columns as they are, and whether these are offsets
 *	  of 32 bits.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PLAIN_COLUMNS_CUH
#define GPUCOL_CUDA_PLAIN_COLUMNS_CUH

#include "cuda/query/part_context.cuh"
#include "kernel/agg_state.h"

class PlainColumns
{
public:
	explicit PlainColumns(const PartContext &c) : program_(c.program), slots_(c.scan.slots) {}

	/* The column slot of a register, or -1; floats are none, or (value_slot) are. */
	int			slot(uint16_t reg) const;
	int			value_slot(uint16_t reg) const;

	/* A slot as 32-bit offsets, if its values allow. */
	bool		offset(int slot, GpucolOffsetColumn *column) const;

	/* What is known of a slot's values. */
	const SlotFacts &facts(int slot) const { return slots_[slot]; }

	/* Are all aggregates counts, sums and extremes of offsets, unfiltered? */
	bool		aggregates() const;

private:
	bool		aggregate(const GpucolAgg &agg) const;

	const ProgramView program_;
	const std::vector<SlotFacts> &slots_;
};

/* The state of a plain aggregate from counts and offsets from `base`. */
__host__ __device__ static inline GpucolAggState
gpucol_plain_state(int op, int cls, uint64_t rows, uint64_t count, uint64_t sum,
				   uint64_t least, uint64_t greatest, int64_t base)
{
	GpucolAggState s;

	memset(&s, 0, sizeof(s));
	s.count = op == GPUCOL_AGG_COUNT_STAR ? rows : count;
	if (op == GPUCOL_AGG_SUM)
		gpucol_agg_put_value128(&s, (__int128) sum + (__int128) base * (__int128) count);
	else if ((op == GPUCOL_AGG_MIN || op == GPUCOL_AGG_MAX) && count > 0)
	{
		int64_t		x = base + (int64_t) (op == GPUCOL_AGG_MIN ? least : greatest);

		if (cls == GPUCOL_CLASS_D)
			gpucol_agg_put_value128(&s, x);
		else
			s.v.value = x;
	}
	return s;
}

#endif
