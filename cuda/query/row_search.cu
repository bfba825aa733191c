/*-------------------------------------------------------------------------
 *
 * row_search.cu
 *	  The rows of a SCAN that are wanted, as a bitmap.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/row_search.cuh"

#include <algorithm>

#include <cub/device/device_scan.cuh>

#include "cuda/base/stage.cuh"
#include "cuda/scan/rows.cuh"
#include "cuda/scan/scan.cuh"

/* A sort key as one that bounds are found of; false where it is no plain column. */
bool
RowSearch::bound_key(uint32_t number, GpucolTopnKey *key, GpucolTopnTask *task) const
{
	const GpucolShapeKey &wanted = c_.shape->keys[number];
	int			cls = c_.program.key_class(wanted.output);
	int			slot = columns_.value_slot(c_.program.keys()[wanted.output]);
	bool		known;

	if (slot < 0 || cls == GPUCOL_CLASS_S)
		return false;

	const SlotFacts &facts = columns_.facts(slot);

	*key = {};
	key->scan = c_.scan.scan;
	key->slot = slot;
	key->is_float = cls == GPUCOL_CLASS_F;
	key->descending = wanted.descending;
	key->dense = !key->is_float && columns_.offset(slot, &key->offset);
	known = !key->is_float && facts.bounded;
	task->lo = known ? std::min(facts.lo, facts.hi) : INT64_MIN;
	task->hi = known ? std::max(facts.lo, facts.hi) : INT64_MAX;
	task->nulls = wanted.nulls_first;
	return true;
}

/* Match bitmap and counts of the rows that reach the bound by a sort key. */
void
RowSearch::select_bound(uint32_t number, const GpucolTopnKey &key, const GpucolTopnTask &task, int64_t bound,
						uint32_t *bitmap)
{
	bool		any_ties = number + 1 == c_.shape->nkeys && !c_.shape->all_ties;
	uint32_t   *taken = c_.device.scratch().array<uint32_t>(2, "the matches");

	device_check(cudaMemsetAsync(taken, 0, 2 * sizeof(uint32_t), c_.device.stream()), "memset");
	device_check(gpucol_topn_select(key, bound, task.nulls,
									any_ties ? (uint32_t) std::min<int64_t>(task.k, INT32_MAX) : 0, taken,
									 bitmap, program_.plan.counts, c_.device.stream()), "select");
	gpucol_stage(c_.device.stream(), "rows that reach the bound");
}

/* Those of the rows that stand at the bound, as gpucol_topn_ties finds them. */
GpucolTopnNumbers
RowSearch::find_ties(const GpucolTopnKey &key, int64_t bound, bool nulls, const uint32_t *rows, uint32_t *ties)
{
	GpucolTopnNumbers *numbers = c_.device.scratch().array<GpucolTopnNumbers>(1, "the matches");
	const GpucolTopnNumbers *found;

	device_check(gpucol_topn_ties(key, bound, nulls, rows, ties, numbers, c_.device.stream()), "select");
	found = c_.device.fetch(numbers, 1);
	device_wait(c_.device.stream());
	gpucol_stage(c_.device.stream(), "rows that tie");
	return *found;
}

/*
 * The rows found reach the bound by the first sort key: as long as too many of them
 * stand where the last row wanted does, keep of these those that reach one by the
 * next key.  NULLs that come first and are too many push out all values.
 */
void
RowSearch::cut_ties(GpucolTopnKey key, GpucolTopnTask task, int64_t bound)
{
	GpucolInterpPlan &plan = program_.plan;
	size_t		words = (size_t) c_.scan.scan.nvectors * 32;
	uint32_t   *rows = plan.bitmap;	/* that reach the last bound */

	for (uint32_t i = 1; i < c_.shape->nkeys; i++)
	{
		uint32_t   *ties = c_.device.scratch().array<uint32_t>(words, "the matches");
		GpucolTopnNumbers n = find_ties(key, bound, false, rows, ties);
		unsigned long long wanted = task.k;
		bool		nulls = n.nulls >= wanted;
		unsigned long long before = nulls ? 0 : n.beyond + n.nulls;
		GpucolTopnKey next;

		if (before >= wanted || (nulls ? n.nulls : n.equal) <= gpucol_topn_enough(key, task) ||
			!bound_key(i, &next, &task))
			break;
		if (nulls)
			find_ties(key, bound, true, rows, ties);
		device_check(gpucol_topn_merge(rows, nulls ? rows : ties, words, true, c_.device.stream()), "select");
		if (rows != plan.bitmap)
			device_check(gpucol_topn_merge(plan.bitmap, rows, words, false, c_.device.stream()), "select");
		rows = ties;
		key = next;
		key.matches = ties;
		task.k -= before;
		task.all_rows = false;
		if (!gpucol_topn_find(&key, task, &bound))
			break;
		select_bound(i, key, task, bound, ties);
	}
	if (rows == plan.bitmap)
		return;
	device_check(gpucol_topn_merge(plan.bitmap, rows, words, false, c_.device.stream()), "select");
	device_check(gpucol_rows_count(plan.bitmap, c_.scan.scan.nvectors, plan.counts, c_.device.stream()), "select");
}

/* Match bitmap and counts of the rows that can be among the first k. */
void
RowSearch::select_first()
{
	GpucolTopnKey key;
	GpucolTopnTask task = {};
	int64_t		bound;

	if (!bound_key(0, &key, &task))
		throw unsupported("a sort key that is no plain column");
	if (c_.program.filters())
		program_.run(MODE_SELECT);
	gpucol_stage(c_.device.stream(), "filter");
	key.matches = c_.program.filters() ? program_.plan.bitmap : NULL;
	task.k = c_.shape->k;
	task.all_rows = !c_.program.filters() && c_.program.ranges().size() == 0;
	task.scratch = &c_.device.scratch();
	task.pinned = c_.device.lane().stage(GPUCOL_TOPN_PINNED);
	task.stream = c_.device.stream();
	if (gpucol_topn_find(&key, task, &bound))
	{
		select_bound(0, key, task, bound, program_.plan.bitmap);
		cut_ties(key, task, bound);
	}
	else if (!c_.program.filters())
		program_.run(MODE_SELECT);
}

/* Match bitmap and counts of the rows wanted. */
void
RowSearch::select()
{
	if (c_.shape != NULL && c_.shape->kind == GPUCOL_SHAPE_TOP)
		select_first();
	else if (c_.program.filters())
		program_.run(MODE_SELECT);
	else
	{
		device_check(gpucol_scan_bitmap(c_.scan.scan, program_.plan.bitmap, c_.device.stream()), "select");
		device_check(gpucol_rows_count(program_.plan.bitmap, c_.scan.scan.nvectors, program_.plan.counts,
									   c_.device.stream()), "select");
	}
}

uint64_t
RowSearch::run()
{
	PartDevice &device = c_.device;
	cudaStream_t stream = device.stream();
	GpucolInterpPlan &plan = program_.plan;
	uint32_t	nvectors = program_.nvectors();
	const unsigned long long *n,
			   *last,
			   *error;
	unsigned long long *starts;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e = device.mark();

	gpucol_stage(stream, "before the rows are selected");
	if (nvectors == 0)
	{
		device.finish(e);
		return 0;
	}
	plan.bitmap = device.scratch().array<uint32_t>((size_t) nvectors * 32, "the matches");
	plan.counts = device.scratch().array<unsigned long long>(nvectors, "the matches");
	starts = device.scratch().array<unsigned long long>(nvectors, "the matches");
	device_check(cudaMemsetAsync(plan.counts, 0, (size_t) nvectors * 8, stream), "memset");
	device_check(cub::DeviceScan::ExclusiveSum(NULL, bytes, plan.counts, starts, (int) nvectors, stream), "scan");
	temp = device.scratch().allocate(bytes, "the matches");
	select();
	device_check(cub::DeviceScan::ExclusiveSum(temp, bytes, plan.counts, starts, (int) nvectors, stream), "scan");
	last = device.fetch(plan.counts + nvectors - 1, 1);
	n = device.fetch(starts + nvectors - 1, 1);
	error = device.fetch(plan.error, 1);
	device.finish(e);
	gpucol_interp_check(*error);
	gpucol_stage(stream, "rows selected");
	plan.counts = starts;
	return *n + *last;
}
