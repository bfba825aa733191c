/*-------------------------------------------------------------------------
 *
 * program_view.cuh
 *	  A program (src/kernel/program.h) that was checked, to be read.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PROGRAM_VIEW_CUH
#define GPUCOL_CUDA_PROGRAM_VIEW_CUH

#include <algorithm>
#include <cstddef>
#include <vector>

#include "kernel/program.h"

/* An array of a program. */
template <class T> struct ProgramArray
{
	const T    *first;
	size_t		n;

	const T    *begin() const { return first; }
	const T    *end() const { return first + n; }
	size_t		size() const { return n; }
	const T    &operator[] (size_t i) const { return first[i]; }
	std::vector<T> copy() const { return std::vector<T>(begin(), end()); }
};

class ProgramView
{
public:
	explicit ProgramView(const GpucolProgram *program) : p_(program) {}

	const GpucolProgram &head() const { return *p_; }
	ProgramArray<GpucolProgramColumn> columns() const { return array<GpucolProgramColumn>(p_->columns, p_->ncolumns); }
	ProgramArray<GpucolConst> consts() const { return array<GpucolConst>(p_->consts, p_->nconsts); }
	ProgramArray<GpucolRange> ranges() const { return array<GpucolRange>(p_->ranges, p_->nranges); }
	ProgramArray<GpucolInstr> instrs() const { return array<GpucolInstr>(p_->instrs, p_->ninstrs); }
	ProgramArray<uint8_t> classes() const { return array<uint8_t>(p_->reg_classes, p_->nregs); }
	ProgramArray<uint16_t> keys() const { return array<uint16_t>(p_->keys, p_->nkeys); }
	ProgramArray<GpucolAgg> aggs() const { return array<GpucolAgg>(p_->aggs, p_->naggs); }
	ProgramArray<GpucolProbe> probes() const { return array<GpucolProbe>(p_->probes, p_->nprobes); }
	ProgramArray<GpucolPayload> payloads() const { return array<GpucolPayload>(p_->payloads, p_->npayloads); }
	ProgramArray<uint16_t> probe_keys() const { return array<uint16_t>(p_->probe_keys, p_->nprobe_keys); }

	/* Class of key or output k, and words of its value. */
	int			key_class(size_t k) const { return classes()[keys()[k]]; }
	int			key_width(size_t k) const { return key_class(k) == GPUCOL_CLASS_D ? 2 : 1; }

	/* Is there a condition, or a join, that ranges do not say? */
	bool
	filters() const
	{
		return p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0 || p_->nprobes > 0;
	}

	/* Does a probe deliver rows of its table when the source has ended?  Does any? */
	static bool
	delivers(const GpucolProbe &probe)
	{
		return probe.kind >= GPUCOL_JOIN_RIGHT && probe.kind <= GPUCOL_JOIN_RIGHT_ANTI;
	}
	bool		delivers() const
	{
		return std::any_of(probes().begin(), probes().end(), [] (const GpucolProbe &p) { return delivers(p); });
	}

	/* Does an instruction load from a built table? */
	bool
	loads_payload(const GpucolInstr &in) const
	{
		return in.op <= GPUCOL_OP_LOAD_S && in.aux >= p_->ncolumns;
	}

	/* Are there no expressions?  One may fail on some row even if nothing shows its value. */
	bool
	only_loads() const
	{
		return std::all_of(instrs().begin(), instrs().end(),
						   [] (const GpucolInstr &in) { return in.op <= GPUCOL_OP_LOAD_S; });
	}

	/* The instruction that loads a register from a column of the source; NULL: there is none. */
	const GpucolInstr *
	load_of(uint16_t reg) const
	{
		const GpucolInstr *in = std::find_if(instrs().begin(), instrs().end(),
											 [reg] (const GpucolInstr &i) { return i.dst == reg; });

		return in != instrs().end() && in->op <= GPUCOL_OP_LOAD_S && !loads_payload(*in) ? in : NULL;
	}

private:
	template <class T> ProgramArray<T>
	array(uint32_t offset, size_t n) const
	{
		return {(const T *) ((const char *) p_ + offset), n};
	}

	const GpucolProgram *p_;
};

#endif
