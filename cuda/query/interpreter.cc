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

static bool
is_constant(const GpucolInstr &in)
{
	return in.op >= GPUCOL_OP_CONST_I && in.op <= GPUCOL_OP_CONST_B;
}

/* Append a stage's instructions but for constants; where they end. */
static uint16_t
append(const Instrs &stage, Instrs *all)
{
	std::remove_copy_if(stage.begin(), stage.end(), std::back_inserter(*all), is_constant);
	return all->size();
}

/* The instructions as the interpreter runs them: constants, then stage by stage. */
static Instrs
lay_out(const Instrs &instrs, const Sections &sections, GpucolInterpPlan *plan)
{
	Instrs		all;

	std::copy_if(instrs.begin(), instrs.end(), std::back_inserter(all), is_constant);
	plan->filter_start = all.size();
	plan->filter_end = append(sections.filter, &all);
	for (size_t p = 0; p < sections.probes.size(); p++)
	{
		GpucolDeviceProbe &probe = plan->probes[p];

		probe.start = all.size();
		probe.keys_end = append(sections.probes[p].keys, &all);
		probe.residual_end = append(sections.probes[p].residual, &all);
		probe.filter_end = append(sections.probes[p].filter, &all);
	}
	plan->rest_start = all.size();
	plan->ninstrs = append(sections.rest, &all);
	if (all.size() > UINT16_MAX)
		throw unsupported("more instructions than the device takes");
	return all;
}

/* Columns whose codes are read of most rows: those of the first stages. */
static uint64_t
read_of_most(const Sections &sections, uint32_t ncolumns)
{
	uint64_t	slots = 0;
	auto		add = [&] (const Instrs &instrs) {
		for (const GpucolInstr &in : instrs)
			if (in.op <= GPUCOL_OP_LOAD_S && in.aux >= 0 && in.aux < 64)
				slots |= (uint64_t) 1 << in.aux;
	};

	if (sections.probes.empty())
		return ncolumns < 64 ? ((uint64_t) 1 << ncolumns) - 1 : UINT64_MAX;
	add(sections.filter);
	if (sections.filter.empty())
		add(sections.probes[0].keys);
	return slots;
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

/*
 * A program of more registers than kernels have: others for the plan, which compiled kernels
 * do not know.
 */
void
Interpreter::narrow(Instrs *all)
{
	std::vector<RegisterRead> reads = {{plan.filter_end, &plan.filter}};
	std::vector<uint16_t> last = program_.keys;

	for (const GpucolAgg &agg : c_.program.aggs())
	{
		last.push_back(agg.arg);
		last.push_back(agg.filter);
	}
	for (uint32_t p = 0; p < plan.nprobes; p++)
	{
		GpucolDeviceProbe &probe = plan.probes[p];

		for (int k = 0; k < probe.nkeys; k++)
			reads.push_back({probe.keys_end, &plan.probe_keys[probe.first_key + k].reg});
		reads.push_back({probe.residual_end, &probe.residual});
		for (int k = 0; k < probe.norder; k++)
			reads.push_back({probe.residual_end, &probe.order_reg[k]});
		reads.push_back({probe.filter_end, &probe.filter});
	}
	if (!registers_.narrow(all, plan.filter_start, reads, last, GPUCOL_MAX_REGS))
		throw unsupported("the expressions need more registers than the device has");
	narrowed_ = true;
}

Interpreter::Interpreter(PartContext &c) : c_(c), probes_(c), tails_(c), registers_(c.program.classes().copy())
{
	std::vector<GpucolInstr> instrs = c.program.instrs().copy();
	ProgramArray<GpucolConst> consts = c.program.consts();
	const GpucolProgram &head = c.program.head();
	std::vector<uint16_t> keys;
	Instrs		all;

	for (GpucolInstr &in : instrs)
	{
		if (in.op == GPUCOL_OP_IN_I)	/* aux: is some constant NULL? */
			in.aux = std::any_of(consts.begin() + in.b, consts.begin() + in.b + in.c,
								 [] (const GpucolConst &k) { return k.isnull != 0; });
		if (c.program.loads_payload(in))
			in.aux = -1 - (in.aux - head.ncolumns);
		else if (in.op <= GPUCOL_OP_LOAD_S)
			prepare_loads(in);
	}

	Sections	sections(c.program, instrs, probes_.expands());

	program_ = {sections.filter, {}, sections.rest, head.filter, c.program.keys().copy(), c.program.classes().copy(),
		{}, {}, 0, &c.scan.chunks, c.task.run.head().ncolumns, &plan};
	for (const ProbeSections &probe : sections.probes)
		program_.probe_instrs.push_back({probe.keys, probe.residual, probe.filter});
	plan.scan = c.scan.scan;
	plan.prefetched = read_of_most(sections, head.ncolumns);
	probes_.describe(sections, &plan);
	tails_.open(&plan);
	plan.filter = head.filter;
	plan.nkeys = head.nkeys;
	all = lay_out(instrs, sections, &plan);
	if (head.nregs > GPUCOL_MAX_REGS)
		narrow(&all);
	keys = program_.keys;
	for (uint16_t &key : keys)
		key = kernel_reg(key);
	plan.instrs = c.device.upload(all);
	plan.consts = c.device.upload(consts.copy());
	plan.columns = c.device.upload(c.program.columns().copy());
	plan.keys = c.device.upload(keys);
	plan.classes = c.device.upload(narrowed_ ? registers_.classes() : program_.classes);
	upload_host_tests();
	plan.error = c.device.upload(std::vector<unsigned long long>(1, ~0ull));
}

void
Interpreter::set_accumulators(std::vector<GpucolAcc> accs, int nwords)
{
	plan.naccs = accs.size();
	plan.nwords = nwords;
	program_.accs = accs;
	for (GpucolAcc &acc : accs)
	{
		acc.arg = kernel_reg(acc.arg);
		acc.filter = kernel_reg(acc.filter);
	}
	plan.accs = c_.device.upload(accs);
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
		GpucolInterpOutput o = {kernel_reg(c_.program.keys()[k]), (uint16_t) c_.program.key_class(k), 0, NULL, NULL};

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
	const void *compiled = c_.jit_allowed() && !narrowed_ ? c_.compiled.use(gpucol_jit_interp(mode, program_)) : NULL;

	if (plan.nprobes > 0)
		make_room(std::max(gpucol_interp_warps(mode, plan, compiled),
						   tails_.empty() ? 0 : gpucol_interp_warps(mode, plan, NULL)));
	device_check(gpucol_interp_launch(mode, plan, compiled, c_.device.stream()), "program");
	tails_.run(mode, plan);
}

/* Memory for so many warps that probe, and figures of a new run. */
void
Interpreter::make_room(size_t warps)
{
	size_t		size = 2 * plan.nprobes * sizeof(*plan.figures);

	if (warps > warps_)
		plan.memory = c_.device.scratch().array<char>(warps * plan.memory_size, "what joins find");
	warps_ = std::max(warps, warps_);
	if (plan.figures == NULL)
		plan.figures = c_.device.scratch().array<unsigned long long>(2 * plan.nprobes, "what joins find");
	device_check(cudaMemsetAsync(plan.figures, 0, size, c_.device.stream()), "memset");
}

void
Interpreter::put_figures(Partial *result)
{
	std::vector<unsigned long long> figures;

	if (plan.figures == NULL)
		return;
	figures = c_.device.download(plan.figures, 2 * plan.nprobes);
	for (size_t p = 0; p < plan.nprobes; p++)
	{
		result->probed.push_back(figures[2 * p]);
		result->found.push_back(figures[2 * p + 1]);
	}
	tails_.put_marks(plan, result);
}

uint64_t
Interpreter::joined_rows()
{
	return plan.nprobes == 0 ? c_.scan.rows : c_.device.download(plan.figures + 2 * plan.nprobes - 1, 1)[0];
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
