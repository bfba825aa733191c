/*-------------------------------------------------------------------------
 *
 * jit_interp.cc
 *	  Source of a program's kernel.
 *
 * The text is a class of constants for interp_device.cuh: the instructions, keys
 * and accumulators in order, and of the columns what is the same in every chunk.
 * Constants of the program, and whatever depends on the data, stay in the plan,
 * so that queries which differ in their constants share a kernel.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/jit/jit_interp.cuh"

#include <algorithm>
#include <set>
#include <string>

static std::string
number(long long x)
{
	return std::to_string(x);
}

/* Calls that run instructions. */
static std::string
steps(const std::vector<GpucolInstr> &instrs)
{
	std::string s;

	for (const GpucolInstr &in : instrs)
		s += "\t\ton = step(plan, place, GpucolInstr{" + number(in.op) + ", " + number(in.dst) + ", " +
			number(in.a) + ", " +
			number(in.b) + ", " + number(in.c) + ", " + number(in.mask) + ", " + number(in.aux) + "}, reg, on);\n";
	return s;
}

static std::string
function(const char *name, const char *argument, const std::string &body)
{
	return std::string("\t__device__ __forceinline__ static uint32_t ") + name + "(const GpucolInterpPlan &plan, " +
		argument + "const Place<ROWS, Columns> &place, Registers<ROWS> &reg, uint32_t on)\n\t{\n" + body +
		"\t\treturn on;\n\t}\n";
}

/* A function that runs instructions. */
static std::string
evaluation(const char *name, const std::vector<GpucolInstr> &instrs)
{
	return function(name, "", steps(instrs));
}

/* A function that runs one stage of a probe, by number. */
static std::string
probe_evaluation(const char *name, const std::vector<JitProbe> &probes, std::vector<GpucolInstr> JitProbe::*stage)
{
	std::string s;

	for (size_t p = 0; p < probes.size(); p++)
		s += "\t\tif (p == " + number(p) + ")\n\t\t{\n" + steps(probes[p].*stage) + "\t\t}\n";
	return function(name, "int p, ", s);
}

/* A function of a number that chooses among expressions. */
static std::string
choice(const char *type, const char *name, const std::vector<std::string> &cases)
{
	std::string s = std::string("\t__device__ static ") + type + " " + name +
		"(const GpucolInterpPlan &plan, int i)\n\t{\n\t\tswitch (i)\n\t\t{\n";

	for (size_t i = 0; i < cases.size(); i++)
		s += "\t\t\tcase " + number(i) + ": return " + cases[i] + ";\n";
	return s + "\t\t\tdefault: return " + type + "{};\n\t\t}\n\t}\n";
}

static std::string
constant(const char *name, int value)
{
	return std::string("\t__device__ static constexpr int ") + name + "(const GpucolInterpPlan &) { return " +
		number(value) + "; }\n";
}

/* What is the same in all chunks of a slot, as assignments to its copy `c`. */
static std::string
facts(const JitProgram &program, uint32_t slot, const std::string &c)
{
	const std::vector<GpucolDeviceChunk> &chunks = *program.chunks;
	const GpucolDeviceChunk &first = chunks[slot];
	bool		width = true,
				coding = true,
				kind = true,
				scale = true,
				no_nulls = true,
				no_dict = true,
				no_remap = true;
	std::string s;

	for (size_t i = slot; i < chunks.size(); i += program.ncolumns)
	{
		width = width && chunks[i].width == first.width;
		coding = coding && chunks[i].coding == first.coding;
		kind = kind && chunks[i].kind == first.kind;
		scale = scale && chunks[i].scale == first.scale;
		no_nulls = no_nulls && chunks[i].nulls == NULL && !chunks[i].all_null;
		no_dict = no_dict && chunks[i].dict == NULL;
		no_remap = no_remap && chunks[i].remap == NULL;
	}
	s += width ? c + ".width = " + number(first.width) + "; " : "";
	s += coding ? c + ".coding = " + number(first.coding) + "; " : "";
	s += kind ? c + ".kind = " + number(first.kind) + "; " : "";
	s += scale ? c + ".scale = " + number(first.scale) + "; " : "";
	s += no_nulls ? c + ".nulls = NULL; " + c + ".all_null = 0; " : "";
	s += no_dict ? c + ".dict = NULL; " : "";
	s += no_remap ? c + ".remap = NULL; " : "";
	return s;
}

/* A function that tells a payload column, and what of it is the same whenever the program runs. */
static std::string
payloads(const JitProgram &program)
{
	std::string s = "\t\t__device__ static GpucolDevicePayload payload(const GpucolInterpPlan &plan, int i)\n\t\t{\n"
		"\t\t\tGpucolDevicePayload x = plan.payloads[i];\n";
	std::set<int> loaded;
	auto		add = [&loaded] (const std::vector<GpucolInstr> &instrs) {
		for (const GpucolInstr &in : instrs)
			if (in.op <= GPUCOL_OP_LOAD_S && in.aux < 0)
				loaded.insert(-1 - in.aux);
	};

	add(program.rest_instrs);
	for (const JitProbe &probe : program.probe_instrs)
	{
		add(probe.keys);
		add(probe.residual);
		add(probe.filter);
	}
	for (int l : loaded)
	{
		const GpucolDevicePayload &payload = program.plan->payloads[l];

		s += "\t\t\tif (i == " + number(l) + ")\n\t\t\t{\n\t\t\t\tx.width = " + number(payload.width) +
			"; x.probe = " + number(payload.probe) + "; x.slot = " + number(payload.slot) + "; " +
			(payload.nulls == NULL ? "x.nulls = NULL; " : "") + "\n\t\t\t}\n";
	}
	return s + "\t\t\treturn x;\n\t\t}\n";
}

/* The columns that instructions load, copied to registers once a run. */
static std::string
columns(const JitProgram &program)
{
	std::set<int> slots;
	std::string members,
				init,
				body,
				select = "none";

	auto		add = [&slots] (const std::vector<GpucolInstr> &instrs) {
		for (const GpucolInstr &in : instrs)
			if (in.op <= GPUCOL_OP_LOAD_S && in.aux >= 0)
				slots.insert(in.aux);
	};

	add(program.filter_instrs);
	add(program.rest_instrs);
	for (const JitProbe &probe : program.probe_instrs)
	{
		add(probe.keys);
		add(probe.residual);
		add(probe.filter);
	}
	for (int slot : slots)
	{
		std::string c = "c" + number(slot);

		members += "\t\tGpucolDeviceChunk " + c + ";\n";
		init += "\t\t\t" + c + " = chunks[" + number(slot) + "]; " + facts(program, slot, c) + "\n";
		select = "slot == " + number(slot) + " ? " + c + " : " + select;
	}
	return "\tstruct Columns\n\t{\n" + members + "\t\tGpucolDeviceChunk none;\n"
		"\t\t__device__ explicit Columns(const GpucolDeviceChunk *chunks)\n\t\t{\n" + init + "\t\t}\n"
		"\t\t__device__ const GpucolDeviceChunk &operator[](int slot) const { return " + select + "; }\n" +
		payloads(program) + "\t};\n";
}

/* What of a probe, and of the table that it looks up, is the same whenever the program runs. */
static std::string
probes(const JitProgram &program)
{
	const GpucolInterpPlan &plan = *program.plan;
	std::vector<std::string> cases;
	std::string s,
				copies;

	for (int p = 0; p < plan.nprobes; p++)
	{
		const GpucolDeviceProbe &probe = plan.probes[p];
		std::string name = "probe" + number(p);
		std::string order = " x.norder = " + number(probe.norder) + "; x.order_descending = " +
			number(probe.order_descending) + "; x.order_nulls_first = " + number(probe.order_nulls_first) + ";";

		for (int k = 0; k < probe.norder; k++)
			order += " x.order_reg[" + number(k) + "] = " + number(probe.order_reg[k]) + "; x.order_class[" +
				number(k) + "] = " + number(probe.order_class[k]) + ";";
		s += "\t__device__ static GpucolDeviceProbe " + name + "(const GpucolInterpPlan &plan)\n\t{\n"
			"\t\tGpucolDeviceProbe x = plan.probes[" + number(p) + "];\n\t\tx.kind = " + number(probe.kind) +
			"; x.way = (GpucolLookupWay) " + number(probe.way) + "; x.nkeys = " + number(probe.nkeys) +
			"; x.first_key = " + number(probe.first_key) + "; x.unique = " + number(probe.unique) +
			"; x.expands = " + number(probe.expands) + "; x.slot = " + number(probe.slot) +
			"; x.nslots = " + number(probe.nslots) + "; x.residual = " + number(probe.residual) +
			"; x.filter = " + number(probe.filter) + "; x.keys_end = 0; x.residual_end = " +
			number(!program.probe_instrs[p].residual.empty()) + "; x.filter_end = " +
			number(!program.probe_instrs[p].residual.empty() + !program.probe_instrs[p].filter.empty()) +
			"; " + (probe.marks == NULL ? "x.marks = NULL;" : "") + order + "\n\t\treturn x;\n\t}\n";
		cases.push_back(name + "(plan)");
		for (int k = probe.first_key; k < probe.first_key + probe.nkeys; k++)
			copies += "\t\tif (i == " + number(k) + ")\n\t\t{\n\t\t\tx.reg = " + number(plan.probe_keys[k].reg) +
				"; x.cls = " + number(plan.probe_keys[k].cls) + "; x.shift = " + number(plan.probe_keys[k].shift) +
				"; x.width = " + number(plan.probe_keys[k].width) + ";\n\t\t}\n";
	}
	return s + choice("GpucolDeviceProbe", "probe", cases) +
		"\t__device__ static GpucolDeviceKey probe_key(const GpucolInterpPlan &plan, int i)\n\t{\n"
		"\t\tGpucolDeviceKey x = plan.probe_keys[i];\n" + copies + "\t\treturn x;\n\t}\n";
}

JitHandle
gpucol_jit_interp(InterpMode mode, const JitProgram &program)
{
	static const char *const modes[] = {"MODE_AGGREGATE", "MODE_EXPONENTS", "MODE_SELECT", "MODE_EMIT"};
	std::vector<std::string> keys,
				classes,
				accs,
				outputs;
	std::set<int> widths;
	bool		joins = program.plan->nprobes > 0;
	std::string source = "#define GPUCOL_WIDTHS(X)";

	if (program.chunks->empty())
		return NULL;
	for (const GpucolDeviceChunk &c : *program.chunks)
	{
		if (c.width >= 1)
			widths.insert(std::min<int>(c.width, 32));
		if (c.width > 32)
			widths.insert(c.width - 32);
	}
	for (int w : widths)
		source += " X(" + number(w) + ")";
	for (uint16_t k : program.keys)
	{
		keys.push_back(number(k));
		classes.push_back(number(program.classes[k]));
	}
	for (size_t i = 0; i < program.accs.size(); i++)
	{
		const GpucolAcc &a = program.accs[i];
		bool		fixed_point = a.op == GPUCOL_ACC_SUM_F || a.op == GPUCOL_ACC_SQUARE_F;

		accs.push_back("GpucolAcc{" + number(a.op) + ", " + number(a.cls) + ", " + number(a.arg) + ", " +
					   number(a.filter) + ", " + number(a.word) + ", " +
					   (fixed_point ? "plan.accs[" + number(i) + "].scale" : "0") + ", 0}");
	}
	for (size_t i = 0; i < program.outputs.size(); i++)
		outputs.push_back("GpucolInterpOutput{" + number(program.outputs[i].reg) + ", " +
						  number(program.outputs[i].cls) + ", 0, plan.outputs[" + number(i) +
						  "].values, plan.outputs[" + number(i) + "].nulls}");
	source += "\n#include \"cuda/scan/interp_device.cuh\"\nstruct Program\n{\n"
		"\tstatic constexpr int ROWS = 1;\n"
		"\tstatic constexpr bool PROBES = " + number(joins) + ";\n"
		"\tstatic constexpr bool TAILS = 0;\n"
		"\tstatic constexpr int UNROLL = " + number(GPUCOL_MAX_WORDS) + ";\n"
		"\tstatic constexpr int MAX_WORDS = " +
		number(std::max<int>(1, std::max<int>(program.nwords, 2 * program.accs.size()))) + ";\n" +
		columns(program) +
		constant("nkeys", keys.size()) + constant("naccs", accs.size()) + constant("noutputs", outputs.size()) +
		constant("nprobes", program.plan->nprobes) + constant("expands", program.plan->expands) + probes(program) +
		constant("filter_register", program.filter) +
		choice("uint16_t", "key", keys) + choice("int", "key_class", classes) +
		choice("GpucolAcc", "acc", accs) + choice("GpucolInterpOutput", "output", outputs) +
		constant("filters", program.filter != GPUCOL_NO_REG || !program.filter_instrs.empty()) +
		"\t__device__ static void start(const GpucolInterpPlan &, Registers<ROWS> &) {}\n" +
		evaluation("filter", program.filter_instrs) + evaluation("rest", program.rest_instrs) +
		probe_evaluation("keys_of", program.probe_instrs, &JitProbe::keys) +
		probe_evaluation("residual_of", program.probe_instrs, &JitProbe::residual) +
		probe_evaluation("filter_of", program.probe_instrs, &JitProbe::filter) + "};\n"
		"extern \"C\" __global__ void __launch_bounds__(GPUCOL_INTERP_THREADS)\n"
		"gpucol_compiled(const __grid_constant__ GpucolInterpPlan plan)\n"
		"{\n\tinterp_run<" + modes[mode] + ", Program>(plan);\n}\n";
	return jit.find(source);
}
