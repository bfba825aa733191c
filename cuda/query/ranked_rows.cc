/*-------------------------------------------------------------------------
 *
 * ranked_rows.cc
 *	  Rows of a SCAN, ranked where they are.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/ranked_rows.cuh"

#include <algorithm>

#include "cuda/base/stage.cuh"
#include "cuda/query/row_search.cuh"
#include "cuda/scan/rows.cuh"

/* Load outputs that are plain columns; false if some is not. */
bool
RankedRows::load_plain(uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	auto		keys = c_.program.keys();
	GpucolRowLoad load = {};

	if (c_.program.filters() || keys.size() > GPUCOL_MAX_ROW_COLUMNS || !c_.program.only_loads())
		return false;
	load.scan = c_.scan.scan;
	load.bitmap = program_.plan.bitmap;
	load.starts = program_.plan.counts;
	load.ncolumns = keys.size();
	for (size_t i = 0; i < keys.size(); i++)
	{
		GpucolRowColumn &c = load.columns[i];

		if (columns_.value_slot(keys[i]) < 0)
			return false;
		c.slot = columns_.value_slot(keys[i]);
		c.is_float = c_.program.key_class(i) == GPUCOL_CLASS_F;
		c.values = c_.device.scratch().array<int64_t>(n, "the rows to be ranked");
		c.nulls = c_.device.scratch().array<uint8_t>(n, "the rows to be ranked");
		(*columns)[i].values = c.values;
		(*columns)[i].nulls = c.nulls;
	}
	device_check(gpucol_rows_load(load, c_.device.stream()), "load");
	return true;
}

/* Have the program compute the outputs. */
void
RankedRows::load_computed(uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	std::vector<GpucolInterpOutput> outputs = program_.set_outputs(n, "the rows to be ranked");

	for (size_t i = 0; i < outputs.size(); i++)
	{
		(*columns)[i].stride = c_.program.key_width(i);
		(*columns)[i].values = (const int64_t *) outputs[i].values;
		(*columns)[i].nulls = outputs[i].nulls;
	}
	program_.run(MODE_EMIT);
}

void
RankedRows::run(Partial *result)
{
	const Slab *slab = c_.slab();
	uint64_t	n = RowSearch(c_, program_).run();
	size_t		noutputs = c_.program.keys().size();
	GpucolRankTask task = {c_.shape, n, std::vector<GpucolRankColumn>(noutputs), &c_.device.scratch(),
						   c_.device.stream(),
						   c_.device.lane().cancel_word(), [this] { c_.device.wait(); },
						   slab != NULL ? slab->memory : NULL, slab != NULL ? slab->size : 0};
	GpucolStatus status;
	cudaEvent_t e = c_.device.mark();

	for (size_t i = 0; i < noutputs; i++)
	{
		GpucolOffsetColumn offset;

		task.columns[i].cls = c_.program.key_class(i);
		if (!columns_.offset(columns_.slot(c_.program.keys()[i]), &offset))
			continue;
		task.columns[i].base = offset.base;
		task.columns[i].card = std::max<int64_t>(columns_.facts(offset.slot).hi - offset.base, 0) + 1;
	}
	result->kernel = "program";
	if (n > 0)
	{
		bool		plain = load_plain(n, &task.columns);

		if (!plain)
			load_computed(n, &task.columns);
		result->kernel = plain ? "rank" : "program, rank";
	}
	if (c_.shape->nkeys > 0)
		task.wait();			/* a load that was cut short leaves keys that are none */
	gpucol_stage(c_.device.stream(), "rows to be ranked loaded");
	result->nrows = gpucol_rank_rows(task, &result->data, &result->nplaced);
	if (result->nplaced > 0)
		result->placed = slab->memory;
	if ((status = program_.status()) != GPUCOL_OK)
		throw Failure{status, "error of an expression"};
	c_.device.finish(e);
}
