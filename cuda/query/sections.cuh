/*-------------------------------------------------------------------------
 *
 * sections.cuh
 *	  A program's instructions as kernels run them, stage by stage.
 *
 * Registers do not outlast a stage, since rows move up in the lists between two of them:
 * each stage computes again what it needs of the instructions before it.  The stages are
 * the filter, each probe, and the rest; what of a probe's is for its residual or its filter
 * alone is computed there.  Where rows multiply at a probe, its residual and its filter are
 * a stage of their own; and so is the filter of one that delivers rows of its table in the end.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SECTIONS_CUH
#define GPUCOL_CUDA_SECTIONS_CUH

#include <vector>

#include "cuda/query/program_view.cuh"

typedef std::vector<GpucolInstr> Instrs;

struct ProbeSections
{
	Instrs		keys;
	Instrs		residual;
	Instrs		filter;
};

struct Sections
{
	Instrs		filter;
	std::vector<ProbeSections> probes;
	Instrs		rest;

	/* Of a program, with its instructions as the kernels take them; at which probes do rows multiply? */
	Sections(const ProgramView &p, const Instrs &instrs, const std::vector<bool> &expands);
};

#endif
