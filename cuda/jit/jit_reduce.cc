/*-------------------------------------------------------------------------
 *
 * jit_reduce.cc
 *	  Source of a grouped reduction for the widths that a plan's chunks have.
 *
 * A column's width is the one that most segments have; segments with another
 * take the general way inside the same kernel, which is made for the widths
 * that occur.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/jit/jit_reduce.cuh"

#include <algorithm>
#include <set>
#include <string>

#include "cuda/base/tuning.cuh"

/* The commonest width among a column's chunks, 0 if it does not suit. */
static int
common_width(const std::vector<GpucolDeviceChunk> &chunks, uint32_t ncolumns, uint32_t slot)
{
	std::vector<int> n(65, 0);

	for (size_t i = slot; i < chunks.size(); i += ncolumns)
		n[chunks[i].width]++;

	int			width = std::max_element(n.begin(), n.end()) - n.begin();

	return width <= 32 ? width : 0;
}

/* A function of the column number as C++ source. */
static std::string
table_function(const char *type, const char *name, const std::vector<int> &values)
{
	std::string s = std::string("\tstatic constexpr ") + type + " " + name + "(int c) { return ";

	for (size_t i = 0; i + 1 < values.size(); i++)
		s += "c == " + std::to_string(i) + " ? " + std::to_string(values[i]) + " : ";
	return s + std::to_string(values.back()) + "; }\n";
}

std::string
gpucol_jit_reduce_source(const GpucolReducePlan &plan, const std::vector<GpucolDeviceChunk> &chunks, bool deleted)
{
	std::vector<int> width,
				ops;
	std::set<int> occur;
	std::string source = "#define GPUCOL_WIDTHS(X)";
	int			words = 0;

	if (chunks.empty() || plan.slices > GPUCOL_AGG_MAX_SLICES)
		return "";
	for (uint32_t k = 0; k < plan.nkeys; k++)
	{
		width.push_back(common_width(chunks, plan.scan.ncolumns, plan.keys[k].slot));
		ops.push_back(0);
	}
	for (uint32_t i = 0; i < plan.ninputs; i++)
	{
		width.push_back(common_width(chunks, plan.scan.ncolumns, plan.inputs[i].column.slot));
		ops.push_back(plan.inputs[i].ops);
	}
	for (int w : width)
	{
		words += (w + 1) / 2;
		if (w == 0)
			return "";
	}
	if (words > GPUCOL_JIT_MAX_WORDS)
		return "";
	for (const GpucolDeviceChunk &c : chunks)
	{
		if (c.width >= 1)
			occur.insert(std::min<int>(c.width, 32));
		if (c.width > 32)
			occur.insert(c.width - 32);
	}
	for (int w : occur)
		source += " X(" + std::to_string(w) + ")";
	source += "\n#include \"cuda/scan/reduce_device.cuh\"\n"
		"struct Shape\n{\n"
		"\tstatic constexpr bool DIRECT = true, FEW = false, KNOWN = true;\n"
		"\tstatic constexpr bool MASKED = " + std::string(plan.scan.nranges > 0 || deleted ? "true" : "false") + ";\n"
		"\tstatic constexpr int KEYS = " + std::to_string(plan.nkeys) + ";\n"
		"\tstatic constexpr int COLUMNS = " + std::to_string(width.size()) + ";\n" +
		table_function("int", "width", width) + table_function("uint32_t", "ops", ops) + "};\n"
		"extern \"C\" __global__ void __launch_bounds__(GPUCOL_AGG_THREADS, 1)\n"
		"gpucol_compiled(const __grid_constant__ GpucolReducePlan plan)\n"
		"{\n\treduce_block<Shape>(plan);\n}\n";
	return source;
}
