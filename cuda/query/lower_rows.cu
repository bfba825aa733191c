/*-------------------------------------------------------------------------
 *
 * lower_rows.cu
 *	  Rows that are wanted: found as a bitmap, then delivered.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

#include <cub/device/device_scan.cuh>

#include "cuda/scan/bound.cuh"
#include "cuda/scan/rows.cuh"
#include "cuda/scan/scan.cuh"
#include "cuda/base/stage.cuh"

/* Bytes of rows that go through the lane's pinned memory. */
static const size_t STAGED_ROWS = (size_t) 1 << 20;

/* Is there a condition that ranges do not say? */
bool
Lowering::filters() const
{
	return p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0;
}

/* Column slot that a register loads as it is, floats included, or -1. */
int
Lowering::value_slot(uint16_t reg) const
{
	for (int i = 0; i < p_->ninstrs; i++)
	{
		const GpucolInstr &in = array<GpucolInstr>(p_->instrs)[i];

		if (in.dst == reg && in.op == GPUCOL_OP_LOAD_F)
			return in.aux;
	}
	return plain_slot(reg);
}

/* A sort key as one that bounds are found of; false where it is no plain column. */
bool
Lowering::bound_key(uint32_t number, GpucolBoundKey *key, GpucolBoundTask *task) const
{
	const GpucolShapeKey &wanted = shape_->keys[number];
	uint16_t	reg = array<uint16_t>(p_->keys)[wanted.output];
	int			slot = value_slot(reg);
	bool		known;

	if (slot < 0 || array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_S)
		return false;
	*key = {};
	key->scan = scan_;
	key->slot = slot;
	key->is_float = array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_F;
	key->descending = wanted.descending;
	key->dense = !key->is_float && offset_column(slot, &key->offset);
	known = !key->is_float && bounded_[slot];
	task->lo = known ? std::min(bounds_[slot].first, bounds_[slot].second) : INT64_MIN;
	task->hi = known ? std::max(bounds_[slot].first, bounds_[slot].second) : INT64_MAX;
	task->nulls = wanted.nulls_first;
	return true;
}

/* Match bitmap and counts of the rows that reach the bound by a sort key. */
void
Lowering::select_bound(uint32_t number, const GpucolBoundKey &key, const GpucolBoundTask &task, int64_t bound, uint32_t *bitmap,
					   unsigned long long *counts)
{
	bool		any_ties = number + 1 == shape_->nkeys && !shape_->all_ties;
	uint32_t   *taken = part_.scratch->array<uint32_t>(2, "the matches");

	device_check(cudaMemsetAsync(taken, 0, 2 * sizeof(uint32_t), stream_), "memset");
	device_check(gpucol_bound_select(key, bound, task.nulls, any_ties ? (uint32_t) std::min<int64_t>(task.k, INT32_MAX) : 0, taken,
									 bitmap, counts, stream_), "select");
	gpucol_stage(stream_, "rows that reach the bound");
}

/* Those of the rows that stand at the bound, as gpucol_bound_ties finds them. */
GpucolBoundNumbers
Lowering::find_ties(const GpucolBoundKey &key, int64_t bound, bool nulls, const uint32_t *rows, uint32_t *ties)
{
	GpucolBoundNumbers *numbers = part_.scratch->array<GpucolBoundNumbers>(1, "the matches");
	const GpucolBoundNumbers *found;

	device_check(gpucol_bound_ties(key, bound, nulls, rows, ties, numbers, stream_), "select");
	found = fetch(numbers, 1);
	device_wait(stream_);
	gpucol_stage(stream_, "rows that tie");
	return *found;
}

/*
 * The rows found reach the bound by the first sort key: as long as too many of them
 * stand where the last row wanted does, keep of these those that reach one by the
 * next key.  NULLs that come first and are too many push out all values.
 */
void
Lowering::cut_ties(GpucolBoundKey key, GpucolBoundTask task, int64_t bound, GpucolInterpPlan *plan)
{
	size_t		words = (size_t) scan_.nvectors * 32;
	uint32_t   *rows = plan->bitmap;	/* that reach the last bound */

	for (uint32_t i = 1; i < shape_->nkeys; i++)
	{
		uint32_t   *ties = part_.scratch->array<uint32_t>(words, "the matches");
		GpucolBoundNumbers n = find_ties(key, bound, false, rows, ties);
		unsigned long long wanted = task.k;
		bool		nulls = n.nulls >= wanted;
		unsigned long long before = nulls ? 0 : n.beyond + n.nulls;
		GpucolBoundKey next;

		if (before >= wanted || (nulls ? n.nulls : n.equal) <= gpucol_bound_enough(key, task) || !bound_key(i, &next, &task))
			break;
		if (nulls)
			find_ties(key, bound, true, rows, ties);
		device_check(gpucol_bound_merge(rows, nulls ? rows : ties, words, true, stream_), "select");
		if (rows != plan->bitmap)
			device_check(gpucol_bound_merge(plan->bitmap, rows, words, false, stream_), "select");
		rows = ties;
		key = next;
		key.matches = ties;
		task.k -= before;
		task.all_rows = false;
		if (!gpucol_bound_find(&key, task, &bound))
			break;
		select_bound(i, key, task, bound, ties, plan->counts);
	}
	if (rows == plan->bitmap)
		return;
	device_check(gpucol_bound_merge(plan->bitmap, rows, words, false, stream_), "select");
	device_check(gpucol_rows_count(plan->bitmap, scan_.nvectors, plan->counts, stream_), "select");
}

/* Match bitmap and counts of the rows that can be among the first k. */
void
Lowering::select_top(GpucolInterpPlan *plan)
{
	GpucolBoundKey key;
	GpucolBoundTask task = {};
	int64_t		bound;

	if (!bound_key(0, &key, &task))
		throw unsupported("a sort key that is no plain column");
	if (filters())
		interpret(MODE_SELECT, *plan);
	gpucol_stage(stream_, "filter");
	key.matches = filters() ? plan->bitmap : NULL;
	task.k = shape_->k;
	task.all_rows = !filters() && p_->nranges == 0;
	task.scratch = part_.scratch;
	task.pinned = lane_.stage(GPUCOL_BOUND_PINNED);
	task.stream = stream_;
	if (gpucol_bound_find(&key, task, &bound))
	{
		select_bound(0, key, task, bound, plan->bitmap, plan->counts);
		cut_ties(key, task, bound, plan);
	}
	else if (!filters())
		interpret(MODE_SELECT, *plan);
}

/* Match bitmap and counts of the rows wanted. */
void
Lowering::select(GpucolInterpPlan *plan)
{
	if (shape_ != NULL && shape_->kind == GPUCOL_SHAPE_TOP)
		select_top(plan);
	else if (filters())
		interpret(MODE_SELECT, *plan);
	else
	{
		device_check(gpucol_scan_bitmap(scan_, plan->bitmap, stream_), "select");
		device_check(gpucol_rows_count(plan->bitmap, scan_.nvectors, plan->counts, stream_), "select");
	}
}

/* Find the rows wanted: plan.bitmap, plan.counts as each vector's start. */
uint64_t
Lowering::find_matches(GpucolInterpPlan *plan)
{
	const unsigned long long *n,
			   *last,
			   *error;
	unsigned long long *starts;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e = begin();

	gpucol_stage(stream_, "before the rows are selected");
	kernel_ = "program";
	if (scan_.nvectors == 0)
	{
		finish(e);
		return 0;
	}
	plan->bitmap = part_.scratch->array<uint32_t>((size_t) scan_.nvectors * 32, "the matches");
	plan->counts = part_.scratch->array<unsigned long long>(scan_.nvectors, "the matches");
	starts = part_.scratch->array<unsigned long long>(scan_.nvectors, "the matches");
	device_check(cudaMemsetAsync(plan->counts, 0, (size_t) scan_.nvectors * 8, stream_), "memset");
	device_check(cub::DeviceScan::ExclusiveSum(NULL, bytes, plan->counts, starts, (int) scan_.nvectors, stream_), "scan");
	temp = part_.scratch->allocate(bytes, "the matches");
	select(plan);
	device_check(cub::DeviceScan::ExclusiveSum(temp, bytes, plan->counts, starts, (int) scan_.nvectors, stream_), "scan");
	last = fetch(plan->counts + scan_.nvectors - 1, 1);
	n = fetch(starts + scan_.nvectors - 1, 1);
	error = fetch(plan->error, 1);
	finish(e);
	check_error(*error);
	gpucol_stage(stream_, "rows selected");
	plan->counts = starts;
	return *n + *last;
}

/*
 * Where a result of rows goes: where the client finds it, else to pinned memory, from
 * which it is to be copied into the result's own, else there.
 */
char *
Lowering::place_rows(Partial *result, size_t size)
{
	const Slab *slab = on_trial_ ? NULL : r_.slab();
	char	   *staged = NULL;

	if (slab != NULL && size <= slab->size)
	{
		result->placed = slab->memory;
		result->nplaced = size;
		return slab->memory;
	}
	if (size <= STAGED_ROWS)
		staged = (char *) lane_.stage(size);
	result->data.resize(size);
	return staged != NULL ? staged : result->data.data();
}

/* Copy the rows that were emitted, after which the stream is to be waited for. */
char *
Lowering::fetch_rows(const GpucolInterpPlan &plan, const std::vector<GpucolInterpOutput> &outputs, uint64_t n, Partial *result)
{
	size_t		flags = (n + 7) / 8 * 8;
	size_t		size = n * 8;
	char	   *to = NULL;
	char	   *start;
	auto		copy = [&] (const void *from, size_t bytes) {
		device_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "result");
		to += bytes;
	};

	for (const GpucolInterpOutput &o : outputs)
		size += n * (o.cls == GPUCOL_CLASS_D ? 16 : 8) + flags;
	start = to = place_rows(result, size);
	copy(plan.rows, n * 8);
	for (const GpucolInterpOutput &o : outputs)
	{
		copy(o.values, n * (o.cls == GPUCOL_CLASS_D ? 16 : 8));
		memset(to + n, 0, flags - n);
		copy(o.nulls, n);
		to += flags - n;
	}
	return start;
}

void
Lowering::run_scan(Partial *result, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	const uint8_t *classes = array<uint8_t>(p_->reg_classes);
	std::vector<GpucolInterpOutput> outputs;
	cudaEvent_t begun,
				emitted;
	const unsigned long long *error;
	const char *rows;
	unsigned long long n = find_matches(&plan);

	*nrows = n;
	if (n == 0)
		return;
	if (n * (8 + 17 * (size_t) p_->nkeys) > (r_.run_.result_limit ? r_.run_.result_limit : (uint64_t) 2 << 30))
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the query's memory limit"};
	plan.rows = part_.scratch->array<unsigned long long>(n, "the result");
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolInterpOutput o = {reg, classes[reg], 0, NULL, NULL};

		o.values = part_.scratch->array<unsigned long long>(n * (o.cls == GPUCOL_CLASS_D ? 2 : 1), "the result");
		o.nulls = part_.scratch->array<uint8_t>(n, "the result");
		outputs.push_back(o);
	}
	plan.outputs = upload(outputs);
	plan.noutputs = outputs.size();
	jit_program_.outputs = outputs;
	begun = begin();
	interpret(MODE_EMIT, plan);
	emitted = begin();
	error = fetch(plan.error, 1);
	rows = fetch_rows(plan, outputs, n, result);
	finish(begun, emitted);
	gpucol_stage(stream_, "rows delivered");
	check_error(*error);
	if (result->placed == NULL && rows != result->data.data())
		memcpy(result->data.data(), rows, result->data.size());
}
