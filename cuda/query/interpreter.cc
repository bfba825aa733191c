/*-------------------------------------------------------------------------
 *
 * interpreter.cc
 *	  A program whose instructions kernels interpret.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/interpreter.cuh"

#include <algorithm>
#include <iterator>

#include "cuda/query/program_check.h"

/* A program's instructions as the kernels take them. */
struct SplitProgram
{
	std::vector<GpucolInstr> filter;
	std::vector<GpucolInstr> rest;	/* with what it needs of the filter's */

	SplitProgram(const ProgramView &p, const std::vector<GpucolInstr> &instrs)
		: filter(instrs.begin(), instrs.begin() + p.head().nfilter_instrs)
	{
		for (uint16_t key : p.keys())
			need(key);
		for (const GpucolAgg &agg : p.aggs())
		{
			need(agg.arg);
			need(agg.filter);
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
	auto		is_constant =
		[] (const GpucolInstr &in) { return in.op >= GPUCOL_OP_CONST_I && in.op <= GPUCOL_OP_CONST_B; };
	std::vector<GpucolInstr> all;

	std::copy_if(instrs.begin(), instrs.end(), std::back_inserter(all), is_constant);
	plan->filter_start = all.size();
	std::remove_copy_if(split.filter.begin(), split.filter.end(), std::back_inserter(all), is_constant);
	plan->filter_end = all.size();
	std::remove_copy_if(split.rest.begin(), split.rest.end(), std::back_inserter(all), is_constant);
	plan->ninstrs = all.size();
	return all;
}

/* Can the chunks of a column be loaded as an instruction does?  Throws Failure if not. */
void
Interpreter::prepare_loads(const GpucolInstr &in) const
{
	const GpucolWireRun &head = c_.task.run.head();
	const GpucolProgramColumn &column = c_.program.columns()[in.aux];
	bool		decimal = in.op == GPUCOL_OP_LOAD_D ||
		(in.op == GPUCOL_OP_LOAD_I && column.kind == GPUCOL_KIND_DECIMAL);

	if (!decimal && in.op != GPUCOL_OP_LOAD_S)
		return;
	for (size_t s = 0; s < c_.scan.segments.size(); s++)
	{
		const GpucolDeviceChunk &chunk = c_.scan.chunks[s * head.ncolumns + in.aux];

		/* mantissas by themselves are those of one scale */
		if (decimal && !chunk.all_null && (chunk.kind != GPUCOL_KIND_DECIMAL || chunk.scale > column.scale ||
										   (in.op == GPUCOL_OP_LOAD_I && chunk.scale != column.scale)))
			throw unsupported("a column whose scale was changed");
		if (in.op == GPUCOL_OP_LOAD_S && !chunk.all_null && chunk.remap == NULL && chunk.width > 0 &&
			c_.scan.segments[s].number < head.nsegments)
			throw unsupported("a column of bytes without a dictionary");
	}
}

/* Results of host tests. */
void
Interpreter::upload_host_tests()
{
	std::vector<const uint8_t *> host(GPUCOL_WIRE_MAX_HOST, NULL);
	std::vector<uint32_t> host_size(GPUCOL_WIRE_MAX_HOST, 0);

	for (const GpucolInstr &in : c_.program.instrs())
		if (in.op == GPUCOL_OP_HOST_TEST)
		{
			const Object *results = c_.task.object(GPUCOL_PUT_HOST, in.aux, 0);

			if (results == NULL)
				throw unsupported("a host test without results");
			host[in.aux] = c_.task.on_device<uint8_t>(*results);
			host_size[in.aux] = results->bytes() - 1;
		}
	plan.host = c_.device.upload(host);
	plan.host_size = c_.device.upload(host_size);
}

Interpreter::Interpreter(PartContext &c) : c_(c)
{
	std::vector<GpucolInstr> instrs = c.program.instrs().copy();
	ProgramArray<GpucolConst> consts = c.program.consts();
	const GpucolProgram &head = c.program.head();

	for (GpucolInstr &in : instrs)
	{
		if (in.op == GPUCOL_OP_IN_I)	/* aux: is some constant NULL? */
			in.aux = std::any_of(consts.begin() + in.b, consts.begin() + in.b + in.c,
								 [] (const GpucolConst &k) { return k.isnull != 0; });
		if (in.op <= GPUCOL_OP_LOAD_S)
			prepare_loads(in);
	}

	SplitProgram split(c.program, instrs);

	program_ = {split.filter, split.rest, head.filter, c.program.keys().copy(), c.program.classes().copy(), {}, {}, 0,
		&c.scan.chunks, c.task.run.head().ncolumns};
	plan.scan = c.scan.scan;
	plan.instrs = c.device.upload(constants_first(instrs, split, &plan));
	plan.consts = c.device.upload(consts.copy());
	plan.columns = c.device.upload(c.program.columns().copy());
	plan.keys = c.device.upload(program_.keys);
	plan.classes = c.device.upload(program_.classes);
	upload_host_tests();
	plan.filter = head.filter;
	plan.nkeys = head.nkeys;
	plan.error = c.device.upload(std::vector<unsigned long long>(1, ~0ull));
}

void
Interpreter::set_accumulators(const std::vector<GpucolAcc> &accs, int nwords)
{
	plan.naccs = accs.size();
	plan.nwords = nwords;
	plan.accs = c_.device.upload(accs);
	program_.accs = accs;
	program_.nwords = nwords;
}

std::vector<GpucolInterpOutput>
Interpreter::set_outputs(uint64_t n, const char *what)
{
	std::vector<GpucolInterpOutput> outputs;
	Scratch    &scratch = c_.device.scratch();

	plan.rows = scratch.array<unsigned long long>(n, what);
	for (size_t k = 0; k < c_.program.keys().size(); k++)
	{
		GpucolInterpOutput o = {c_.program.keys()[k], (uint16_t) c_.program.key_class(k), 0, NULL, NULL};

		o.values = scratch.array<unsigned long long>(n * c_.program.key_width(k), what);
		o.nulls = scratch.array<uint8_t>(n, what);
		outputs.push_back(o);
	}
	plan.outputs = c_.device.upload(outputs);
	plan.noutputs = outputs.size();
	program_.outputs = outputs;
	return outputs;
}

void
Interpreter::run(InterpMode mode)
{
	const void *compiled = c_.jit_allowed() ? c_.compiled.use(gpucol_jit_interp(mode, program_)) : NULL;

	device_check(gpucol_interp_launch(mode, plan, compiled, c_.device.stream()), "program");
}

/* A row's number and its error, or ~0. */
static GpucolStatus
status_of(unsigned long long error)
{
	return error == ~0ull ? GPUCOL_OK : (GpucolStatus) (error & 0xff);
}

GpucolStatus
Interpreter::status()
{
	return status_of(c_.device.download(plan.error, 1)[0]);
}

void
Interpreter::clear_error()
{
	device_check(cudaMemsetAsync(plan.error, 0xff, sizeof(*plan.error), c_.device.stream()), "memset");
}

void
gpucol_interp_check(unsigned long long error)
{
	if (error != ~0ull)
		throw Failure{status_of(error), "error of an expression"};
}
