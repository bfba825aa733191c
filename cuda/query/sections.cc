/*-------------------------------------------------------------------------
 *
 * sections.cc
 *	  A program's instructions as kernels run them, stage by stage.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/sections.cuh"

#include "cuda/query/program_check.h"

namespace
{

/* Instructions that are wanted of those before some place. */
class Wanted
{
public:
	explicit Wanted(const Instrs &instrs)
		: instrs_(instrs), regs_(UINT16_MAX + 1, false), here_(instrs.size(), false) {}

	void need(uint16_t reg) { regs_[reg] = true; }

	/*
	 * Instructions from .. to - 1, behind those before them that they and what was needed
	 * read; without those that an earlier call has given since forget().
	 */
	Instrs		take(size_t from, size_t to);
	void		forget() { here_.assign(here_.size(), false); }

private:
	const Instrs &instrs_;
	std::vector<bool> regs_;
	std::vector<bool> here_;	/* have been given */
};

Instrs
Wanted::take(size_t from, size_t to)
{
	std::vector<bool> wanted(instrs_.size(), false);
	Instrs		taken;

	for (size_t i = to; i-- > 0;)
	{
		const GpucolInstr &in = instrs_[i];

		if (here_[i] || (i < from && !regs_[in.dst]))
			continue;
		wanted[i] = true;
		gpucol_for_operands(in, [this] (uint16_t reg) { need(reg); });
	}
	for (size_t i = 0; i < to; i++)
		if (wanted[i])
		{
			taken.push_back(instrs_[i]);
			here_[i] = true;
		}
	regs_.assign(regs_.size(), false);
	return taken;
}

} /* namespace */

Sections::Sections(const ProgramView &p, const Instrs &instrs, const std::vector<bool> &expands)
	: filter(instrs.begin(), instrs.begin() + p.head().nfilter_instrs)
{
	Wanted		wanted(instrs);
	size_t		start = filter.size();

	for (const GpucolProbe &probe : p.probes())
	{
		ProbeSections sections;

		wanted.forget();
		for (int k = 0; k < probe.nkeys; k++)
			wanted.need(p.probe_keys()[probe.first_key + k]);
		sections.keys = wanted.take(start, probe.keys_end);
		if (expands[probes.size()])
			wanted.forget();

		/* the residual is not evaluated where there is no pair: what it computes is not there
		 * for the filter */
		Wanted		pairs = wanted;

		pairs.need(probe.residual);
		sections.residual = pairs.take(probe.keys_end, probe.residual_end);
		if (ProgramView::delivers(probe))
			wanted.forget();	/* rows of the table begin there */
		wanted.need(probe.filter);
		sections.filter = wanted.take(probe.residual_end, probe.filter_end);
		probes.push_back(sections);
		start = probe.filter_end;
	}
	wanted.forget();
	for (uint16_t key : p.keys())
		wanted.need(key);
	for (const GpucolAgg &agg : p.aggs())
	{
		wanted.need(agg.arg);
		wanted.need(agg.filter);
	}
	rest = wanted.take(start, instrs.size());
}
