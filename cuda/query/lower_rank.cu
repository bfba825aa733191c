/*-------------------------------------------------------------------------
 *
 * lower_rank.cu
 *	  Rows that are ranked where they are.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

#include "cuda/ranking/rank.cuh"
#include "cuda/scan/rows.cuh"
#include "cuda/base/stage.cuh"

/* Load outputs that are plain columns; false if some is not. */
bool
Lowering::load_plain(const GpucolInterpPlan &plan, uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	GpucolRowLoad load = {};

	if (filters() || p_->nkeys > GPUCOL_MAX_ROW_COLUMNS)
		return false;

	/* an expression may fail on some row even if its value is not used */
	for (int i = 0; i < p_->ninstrs; i++)
		if (array<GpucolInstr>(p_->instrs)[i].op > GPUCOL_OP_LOAD_S)
			return false;
	load.scan = scan_;
	load.bitmap = plan.bitmap;
	load.starts = plan.counts;
	load.ncolumns = p_->nkeys;
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolRowColumn &c = load.columns[i];

		if (value_slot(reg) < 0)
			return false;
		c.slot = value_slot(reg);
		c.is_float = array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_F;
		c.values = part_.scratch->array<int64_t>(n, "the rows to be ranked");
		c.nulls = part_.scratch->array<uint8_t>(n, "the rows to be ranked");
		(*columns)[i].values = c.values;
		(*columns)[i].nulls = c.nulls;
	}
	kernel_ = "rank";
	device_check(gpucol_rows_load(load, stream_), "load");
	return true;
}

/* Have the interpreter compute the outputs. */
void
Lowering::load_interpreted(GpucolInterpPlan *plan, uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	std::vector<GpucolInterpOutput> outputs;

	plan->rows = part_.scratch->array<unsigned long long>(n, "the rows to be ranked");
	for (int i = 0; i < p_->nkeys; i++)
	{
		GpucolRankColumn &c = (*columns)[i];
		GpucolInterpOutput o = {array<uint16_t>(p_->keys)[i], (uint16_t) c.cls, 0, NULL, NULL};

		c.stride = c.cls == GPUCOL_CLASS_D ? 2 : 1;
		o.values = part_.scratch->array<unsigned long long>(n * c.stride, "the rows to be ranked");
		o.nulls = part_.scratch->array<uint8_t>(n, "the rows to be ranked");
		c.values = (const int64_t *) o.values;
		c.nulls = o.nulls;
		outputs.push_back(o);
	}
	plan->outputs = upload(outputs);
	plan->noutputs = outputs.size();
	jit_program_.outputs = outputs;
	kernel_ = "program, rank";
	device_check(cudaStreamSynchronize(stream_), "could not copy to the device");
	interpret(MODE_EMIT, *plan);
}

void
Lowering::run_ranked(Partial *result, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	uint64_t	n = find_matches(&plan);
	const Slab *slab = on_trial_ ? NULL : r_.slab();
	GpucolRankTask task = {shape_, n, std::vector<GpucolRankColumn>(p_->nkeys), part_.scratch, stream_, lane_.cancel_word(), nullptr,
						   slab != NULL ? slab->memory : NULL, slab != NULL ? slab->size : 0};
	GpucolStatus status;
	cudaEvent_t e = begin();

	task.wait = [this] {
		device_wait(stream_);
		if (r_.cancelled_)
			throw Failure{GPUCOL_CANCELLED, "cancelled"};
	};
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolOffsetColumn offset;

		task.columns[i].cls = array<uint8_t>(p_->reg_classes)[reg];
		if (!offset_column(plain_slot(reg), &offset))
			continue;
		task.columns[i].base = offset.base;
		task.columns[i].card = std::max<int64_t>(bounds_[offset.slot].second - offset.base, 0) + 1;
	}
	if (n > 0 && !load_plain(plan, n, &task.columns))
		load_interpreted(&plan, n, &task.columns);
	if (shape_->nkeys > 0)
		task.wait();			/* a load that was cut short leaves keys that are none */
	gpucol_stage(stream_, "rows to be ranked loaded");
	*nrows = gpucol_rank_rows(task, &result->data, &result->nplaced);
	if (result->nplaced > 0)
		result->placed = slab->memory;
	if ((status = error_of(plan)) != GPUCOL_OK)
		throw Failure{status, "error of an expression"};
	finish(e);
}
