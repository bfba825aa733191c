/*-------------------------------------------------------------------------
 *
 * lower_program.cu
 *	  Programs that no special kernel knows: their plan.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>
#include <iterator>

#include "cuda/query/program_check.h"

/* A program's instructions as the kernels take them. */
struct SplitProgram
{
	std::vector<GpucolInstr> filter;
	std::vector<GpucolInstr> rest;	/* with what it needs of the filter's */

	SplitProgram(const GpucolProgram *p, const std::vector<GpucolInstr> &instrs)
		: filter(instrs.begin(), instrs.begin() + p->nfilter_instrs)
	{
		const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
		const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);

		for (int i = 0; i < p->nkeys; i++)
			need(keys[i]);
		for (int i = 0; i < p->naggs; i++)
		{
			need(aggs[i].arg);
			need(aggs[i].filter);
		}
		for (size_t i = instrs.size(); i-- > 0;)
			if (i >= filter.size() || needed_[instrs[i].dst])
			{
				int			operands = gpucol_operands(instrs[i].op);

				need(operands & 1 ? instrs[i].a : GPUCOL_NO_REG);
				need(operands & 2 ? instrs[i].b : GPUCOL_NO_REG);
				need(operands & 4 ? instrs[i].c : GPUCOL_NO_REG);
				need(instrs[i].mask);
				rest.push_back(instrs[i]);
			}
		std::reverse(rest.begin(), rest.end());
	}

private:
	bool		needed_[GPUCOL_MAX_REGS] = {};

	void
	need(uint16_t reg)
	{
		if (reg < GPUCOL_MAX_REGS)
			needed_[reg] = true;
	}
};

/* Move the constants to the front; the others follow in order. */
static std::vector<GpucolInstr>
constants_first(const std::vector<GpucolInstr> &instrs, const SplitProgram &split, GpucolInterpPlan *plan)
{
	auto		is_constant = [] (const GpucolInstr &in) { return in.op >= GPUCOL_OP_CONST_I && in.op <= GPUCOL_OP_CONST_B; };
	std::vector<GpucolInstr> all;

	std::copy_if(instrs.begin(), instrs.end(), std::back_inserter(all), is_constant);
	plan->filter_start = all.size();
	std::remove_copy_if(split.filter.begin(), split.filter.end(), std::back_inserter(all), is_constant);
	plan->filter_end = all.size();
	std::remove_copy_if(split.rest.begin(), split.rest.end(), std::back_inserter(all), is_constant);
	plan->ninstrs = all.size();
	return all;
}

GpucolInterpPlan
Lowering::interp_plan()
{
	GpucolInterpPlan plan = {};
	std::vector<GpucolInstr> instrs(array<GpucolInstr>(p_->instrs), array<GpucolInstr>(p_->instrs) + p_->ninstrs);
	std::vector<GpucolConst> consts(array<GpucolConst>(p_->consts), array<GpucolConst>(p_->consts) + p_->nconsts);
	std::vector<const uint8_t *> host(GPUCOL_WIRE_MAX_HOST, NULL);
	std::vector<uint32_t> host_size(GPUCOL_WIRE_MAX_HOST, 0);
	const GpucolProgramColumn *columns = array<GpucolProgramColumn>(p_->columns);
	std::vector<uint64_t> none(1, ~0ull);

	for (GpucolInstr &in : instrs)
	{
		if (in.op == GPUCOL_OP_IN_I)
		{
			in.aux = 0;
			for (int i = 0; i < in.c; i++)
				in.aux |= consts[in.b + i].isnull != 0;
		}
		if (in.op == GPUCOL_OP_HOST_TEST)
		{
			Incoming   *results = r_.object(GPUCOL_PUT_HOST, in.aux, 0);

			if (results == NULL)
				throw unsupported("a host test without results");
			host[in.aux] = (const uint8_t *) results->device[part_.share];
			host_size[in.aux] = results->total - 1;
		}
		if (in.op == GPUCOL_OP_LOAD_D || (in.op == GPUCOL_OP_LOAD_I && columns[in.aux].kind == GPUCOL_KIND_DECIMAL))
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				/* mantissas by themselves are those of one scale */
				if (!chunk.all_null && (chunk.kind != GPUCOL_KIND_DECIMAL || chunk.scale > columns[in.aux].scale ||
										(in.op == GPUCOL_OP_LOAD_I && chunk.scale != columns[in.aux].scale)))
					throw unsupported("a column whose scale was changed");
			}
		if (in.op == GPUCOL_OP_LOAD_S)
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				if (!chunk.all_null && chunk.remap == NULL && chunk.width > 0 && segments_[s].number < r_.run_.nsegments)
					throw unsupported("a column of bytes without a dictionary");
			}
	}

	SplitProgram split(p_, instrs);

	jit_program_ = {split.filter, split.rest, p_->filter,
		std::vector<uint16_t>(array<uint16_t>(p_->keys), array<uint16_t>(p_->keys) + p_->nkeys),
		std::vector<uint8_t>(array<uint8_t>(p_->reg_classes), array<uint8_t>(p_->reg_classes) + p_->nregs),
		{}, {}, 0, &chunks_, r_.run_.ncolumns};
	plan.scan = scan_;
	plan.instrs = upload(constants_first(instrs, split, &plan));
	plan.consts = upload(consts);
	plan.columns = upload(std::vector<GpucolProgramColumn>(columns, columns + p_->ncolumns));
	plan.keys = upload(jit_program_.keys);
	plan.classes = upload(jit_program_.classes);
	plan.host = upload(host);
	plan.host_size = upload(host_size);
	plan.filter = p_->filter;
	plan.nkeys = p_->nkeys;
	plan.error = (unsigned long long *) upload(none);
	return plan;
}

/* The function of a compiled kernel if it may be used, else NULL. */
const void *
Lowering::use(const JitHandle &kernel)
{
	if (!kernel)
		note_ = gpucol_jit_miss;
	else if (kernel->rejected())
		note_ = "a compiled kernel answered wrongly and is not used";
	if (!kernel || kernel->rejected())
		return NULL;
	if (!kernel->proven() && !on_trial_)
		trial_.claim(kernel);
	if (!kernel->proven() && !(on_trial_ && trial_.has(kernel)))
		return NULL;
	compiled_.push_back(kernel);
	return kernel->function();
}

/* Run the program in one mode, by a kernel of its own if there is one. */
void
Lowering::interpret(InterpMode mode, const GpucolInterpPlan &plan)
{
	const void *compiled = jit_allowed() ? use(gpucol_jit_interp(mode, jit_program_)) : NULL;

	device_check(gpucol_interp_launch(mode, plan, compiled, stream_), "program");
}

/* What rows' errors come to: a row's number and its error, or ~0. */
static GpucolStatus
status_of(unsigned long long error)
{
	return error == ~0ull ? GPUCOL_OK : (GpucolStatus) (error & 0xff);
}

GpucolStatus
Lowering::error_of(const GpucolInterpPlan &plan)
{
	return status_of(download(plan.error, 1)[0]);
}

/* The request fails where some row did. */
void
Lowering::check_error(unsigned long long error) const
{
	if (error != ~0ull)
		throw Failure{status_of(error), "error of an expression"};
}
