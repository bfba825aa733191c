/*-------------------------------------------------------------------------
 *
 * registers.cc
 *	  The registers of a program, in as few as the kernels have.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/registers.cuh"

#include <algorithm>

#include "cuda/query/program_check.h"

static const size_t NONE = SIZE_MAX;

RegisterMap::RegisterMap(const std::vector<uint8_t> &classes)
	: classes_(classes), writer_(classes.size(), NONE), now_(classes.size(), GPUCOL_NO_REG), free_(UINT8_MAX + 1)
{
}

/* A register is read by instruction `at`, or between it and the one before. */
void
RegisterMap::read(uint16_t reg, size_t at)
{
	if (reg != GPUCOL_NO_REG && writer_[reg] != NONE)
		values_[writer_[reg]].read = std::max(values_[writer_[reg]].read, at);
}

/* Until when is the value that each instruction writes read? */
void
RegisterMap::find_values(const std::vector<GpucolInstr> &instrs, size_t nconstants,
						 const std::vector<RegisterRead> &reads, const std::vector<uint16_t> &last)
{
	size_t		next = 0;

	for (size_t i = 0; i <= instrs.size(); i++)
	{
		for (; next < reads.size() && reads[next].at == i; next++)
			read(*reads[next].reg, i);
		if (i == instrs.size())
			break;
		gpucol_for_operands(instrs[i], [&] (uint16_t reg) { read(reg, i); });
		values_.push_back({instrs[i].dst, i < nconstants ? instrs.size() : i});
		writer_[instrs[i].dst] = i;
	}
	for (uint16_t reg : last)
		read(reg, instrs.size());
}

void
RegisterMap::rewrite(uint16_t *reg) const
{
	if (*reg != GPUCOL_NO_REG)
		*reg = now_[*reg];
}

/* Find a place for a new value of a register. */
bool
RegisterMap::place(uint16_t reg, size_t most)
{
	std::vector<uint16_t> &free = free_[classes_[reg]];

	if (!free.empty())
	{
		now_[reg] = free.back();
		free.pop_back();
		return true;
	}
	now_[reg] = (uint16_t) used_.size();
	used_.push_back(classes_[reg]);
	return used_.size() <= most;
}

bool
RegisterMap::narrow(std::vector<GpucolInstr> *instrs, size_t nconstants, const std::vector<RegisterRead> &reads,
					const std::vector<uint16_t> &last, size_t most)
{
	std::vector<std::vector<uint16_t>> ending(instrs->size() + 1);	/* places, by the last instruction that reads */
	size_t		next = 0;

	find_values(*instrs, nconstants, reads, last);
	for (size_t i = 0; i < instrs->size(); i++)
	{
		GpucolInstr &in = (*instrs)[i];

		for (; next < reads.size() && reads[next].at == i; next++)
			rewrite(reads[next].reg);
		if (i > 0)
			for (uint16_t place : ending[i - 1])
				free_[used_[place]].push_back(place);
		gpucol_for_operands(in, [this] (uint16_t &reg) { rewrite(&reg); });
		if (!place(values_[i].reg, most))
			return false;
		in.dst = now_[values_[i].reg];
		ending[values_[i].read].push_back(in.dst);
	}
	for (; next < reads.size(); next++)
		rewrite(reads[next].reg);
	return true;
}
