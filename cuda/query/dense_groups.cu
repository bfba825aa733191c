/*-------------------------------------------------------------------------
 *
 * dense_groups.cu
 *	  Groups of plain columns whose values span small ranges: a dense table.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/dense_groups.cuh"

#include <algorithm>

#include "cuda/jit/jit_reduce.cuh"
#include "cuda/query/bounds.cuh"
#include "cuda/query/group_choice.cuh"
#include "cuda/query/result_choice.cuh"
#include "cuda/scan/reduce.cuh"
#include "cuda/scan/reduce_partition.cuh"

/* Most cells of a dense table of groups, and of one that may be sparse. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
static const uint64_t MAX_SPARSE_GROUPS = 65536;

/* Groups whose result is formed at once on the device; bytes of one that is formed in the
 * lane's pinned memory. */
static const uint32_t MAX_FORMED_GROUPS = (uint32_t) 1 << 20;
static const size_t FORMED_BYTES = (size_t) 3 << 19;

/* Most words of a group. */
static const int MAX_GROUP_WORDS = 16;

/* The keys' digits; false where no dense table suits. */
bool
DenseGroups::plan_keys(GpucolReducePlan *plan) const
{
	uint64_t	groups = 1;

	for (size_t k = 0; k < c_.program.keys().size(); k++)
	{
		int			slot = columns_.slot(c_.program.keys()[k]);
		uint64_t	card;

		if (!columns_.offset(slot, &plan->keys[k]))
			return false;

		const SlotFacts &facts = columns_.facts(slot);

		card = (facts.lo <= facts.hi ? (uint64_t) (facts.hi - facts.lo) + 1 : 1) + facts.nullable;
		plan->strides[k] = groups;
		plan->cards[k] = card;
		groups *= card;
		if (groups > MAX_DENSE_GROUPS)
			return false;
	}
	plan->nkeys = c_.program.keys().size();
	plan->ngroups = groups;
	return groups <= MAX_SPARSE_GROUPS || groups <= 2 * c_.scan.rows;
}

/* The columns that are aggregated; false if there are too many. */
bool
DenseGroups::plan_inputs(GpucolReducePlan *plan) const
{
	int			nwords = 1;

	for (const GpucolAgg &agg : c_.program.aggs())
	{
		int			slot;
		uint32_t	at = 0;

		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		slot = columns_.slot(agg.arg);
		while (at < plan->ninputs && plan->inputs[at].column.slot != slot)
			at++;
		if (at == plan->ninputs)
		{
			if (at == GPUCOL_MAX_INPUTS)
				return false;
			columns_.offset(slot, &plan->inputs[at].column);
			plan->ninputs++;
		}
		plan->inputs[at].ops |= GPUCOL_REDUCE_COUNT |
			(agg.op == GPUCOL_AGG_SUM ? GPUCOL_REDUCE_SUM : 0) |
			(agg.op == GPUCOL_AGG_MIN ? GPUCOL_REDUCE_MIN : 0) |
			(agg.op == GPUCOL_AGG_MAX ? GPUCOL_REDUCE_MAX : 0);
	}
	for (uint32_t i = 0; i < plan->ninputs; i++)
		nwords += __builtin_popcount(plan->inputs[i].ops);
	return nwords <= MAX_GROUP_WORDS;
}

/* Find pinned memory for the result; its bytes, and where kernels find it. */
size_t
DenseGroups::find_room(char **device)
{
	const Slab *slab = c_.slab();

	in_slab_ = slab != NULL;
	formed_ = slab != NULL ? slab->memory : (char *) c_.device.lane().stage(FORMED_BYTES);
	*device = slab != NULL ? slab->device : formed_;
	return slab != NULL ? slab->size : formed_ != NULL ? FORMED_BYTES : 0;
}

/*
 * Scratch memory for a partitioned reduction, of fewer runs at a time where there is
 * less; NULL where that would be so few that the groups have hardly a row each.
 */
void *
DenseGroups::spare_partitions(GpucolPartitionPlan *partitions)
{
	for (;; partitions->runs /= 2)
	{
		uint64_t	rows = (uint64_t) partitions->runs * GPUCOL_RUN_VECTORS * GPUCOL_VECTOR_VALUES;
		void	   *scratch;

		if (partitions->runs == 0 || (partitions->runs < c_.scan.scan.nruns && rows < c_.scan.groups.ngroups))
			return NULL;
		scratch = c_.device.scratch().spare(gpucol_partition_bytes(*partitions));
		if (scratch != NULL)
			return scratch;
	}
}

/*
 * The numbers of the groups that are wanted; *found on the device is how many.  Parts of a
 * request deliver all that they have: what a group comes to is known in the end.
 */
uint32_t *
DenseGroups::choose(uint32_t *list, uint32_t *found)
{
	const GpucolFirst *first = c_.task.deal.alone() ? c_.task.run.first() : NULL;
	WantedGroups wanted = {plan_.table, plan_.nwords, form_, {}};
	Scratch    &scratch = c_.device.scratch();
	cudaStream_t stream = c_.device.stream();

	if (first != NULL)
		wanted.first = *first;
	gpucol_groups_choose(wanted, plan_.ngroups, list, found, scratch, stream);

	/* whether memory suffices for more is chance, and answers of two kernels are compared */
	if (first == NULL || first->k == 0 || first->nkeys == 0 || c_.compiled.compared() ||
		!gpucol_group_key_orders(c_.task.run.program(), first->keys[0]))
		return list;
	return gpucol_groups_narrow(wanted, list, c_.device.download(found, 1)[0], found, scratch, stream);
}

/*
 * Run the kernels and find the groups that are wanted.  Where there is pinned memory for
 * it the result is formed there at once: the host need not know how many groups there
 * are before.
 */
void
DenseGroups::compute(Partial *result)
{
	PartDevice &device = c_.device;
	cudaStream_t stream = device.stream();
	GpucolPartitionPlan partitions = c_.scan.partitions;
	const void *kernel = compiled();
	uint32_t   *list = device.scratch().array<uint32_t>(plan_.ngroups + 1, "the groups");
	uint32_t   *found = list + plan_.ngroups;
	uint32_t   *counted = (uint32_t *) device.lane().stage(sizeof(uint32_t));
	FormTask	task = {};
	void	   *scratch = NULL;
	cudaEvent_t begun,
				grouped;

	plan_.table = device.scratch().array<unsigned long long>(plan_.ngroups * plan_.nwords, "the groups");
	form_ = group_form();
	task.room = find_room(&task.out);
	if (counted != NULL)
		*counted = 0;
	else
		task.room = 0;
	if (!kernel && c_.scan.partitioned)
		scratch = spare_partitions(&partitions);
	if (scratch != NULL)
		result->kernel = "group, partitioned";
	begun = device.mark();
	device_check(gpucol_reduce_init(plan_, stream), "group");
	device_check(kernel ? gpucol_reduce_compiled(kernel, plan_, stream) :
				 scratch ? gpucol_reduce_partitioned(plan_, partitions, scratch, stream) :
				 gpucol_reduce_groups(plan_, stream), "group");
	ids_ = list = choose(list, found);
	grouped = device.mark();
	if (task.room > 0)
	{
		task = {plan_.table, plan_.nwords, list, 0, found, counted, form_, task.out, task.room};
		device_check(gpucol_groups_form(task, stream), "result");
		device.finish(begun, grouped);
		n_ = *counted;
	}
	else
	{
		device.finish(begun, grouped);
		n_ = device.download(found, 1)[0];
	}
	gpucol_groups_lay_out(&form_, n_);
	if (form_.size > task.room)
		formed_ = NULL;
}

/* What a result looks like, but for where its parts lie. */
GroupForm
DenseGroups::group_form()
{
	GroupForm	form = {};

	form.nkeys = c_.program.keys().size();
	form.naggs = c_.program.aggs().size();
	for (uint32_t k = 0; k < form.nkeys; k++)
		form.keys[k] = {plan_.strides[k], plan_.cards[k], plan_.keys[k].nullable,
						(uint32_t) c_.program.key_width(k), plan_.keys[k].base, 0, 0};
	if (c_.scan.forms == NULL)
		c_.scan.forms = c_.device.upload(state_forms(), c_.scan.memory);
	form.aggs = c_.scan.forms;
	return form;
}

/* The forms of the aggregates' states. */
std::vector<StateForm>
DenseGroups::state_forms() const
{
	std::vector<StateForm> forms;

	for (const GpucolAgg &agg : c_.program.aggs())
	{
		StateForm	form = {agg.op, agg.cls, 0, 0, 0, 0, 0, 0};

		for (uint32_t j = 0; agg.op != GPUCOL_AGG_COUNT_STAR && j < plan_.ninputs; j++)
		{
			const GpucolReduceInput &in = plan_.inputs[j];

			if (in.column.slot == columns_.slot(agg.arg))
				form = {agg.op, agg.cls, in.ops, in.count, in.sum, in.min, in.max, in.column.base};
		}
		forms.push_back(form);
	}
	return forms;
}

/* Copy m groups, laid out by `from`, into a result laid out by `to`, as those from `first` on. */
static void
copy_groups(const GroupForm &from, const char *out, const GroupForm &to, char *data, size_t first, size_t m,
			cudaStream_t stream)
{
	auto		copy = [&] (size_t at, size_t source, size_t size) {
		device_check(cudaMemcpyAsync(data + at, out + source, size, cudaMemcpyDeviceToHost, stream), "result");
	};
	size_t		row = to.naggs * sizeof(GpucolAggState);

	for (uint32_t k = 0; k < to.nkeys; k++)
	{
		copy(to.keys[k].values + first * 8 * to.keys[k].width, from.keys[k].values, m * 8 * to.keys[k].width);
		copy(to.keys[k].nulls + first, from.keys[k].nulls, m);
	}
	copy(to.states + first * row, from.states, m * row);
}

/* A result that pinned memory had no room for: formed on the device in pieces, and copied. */
void
DenseGroups::form_in_pieces(Partial *result)
{
	uint32_t	step = std::min(n_, MAX_FORMED_GROUPS);
	FormTask	task = {plan_.table, plan_.nwords, NULL, 0, NULL, NULL, form_, NULL, 0};

	gpucol_groups_lay_out(&task.form, step);
	task.room = task.form.size;
	task.out = c_.device.scratch().array<char>(task.room, "the result");
	result->data.resize(form_.size);
	for (uint32_t first = 0; first < n_; first += step)
	{
		task.ids = ids_ + first;
		task.n = std::min(step, n_ - first);
		device_check(gpucol_groups_form(task, c_.device.stream()), "result");
		gpucol_groups_lay_out(&task.form, task.n);
		copy_groups(task.form, task.out, form_, result->data.data(), first, task.n, c_.device.stream());
	}
	device_wait(c_.device.stream());
}

/* The groups as the client wants them. */
void
DenseGroups::deliver(Partial *result)
{
	if (formed_ == NULL)
		form_in_pieces(result);
	else if (in_slab_)
	{
		result->placed = formed_;
		result->nplaced = form_.size;
	}
	else
		result->data.assign(formed_, formed_ + form_.size);
}

/* Does a dense table suit?  If so, its plan is in the prepared scan. */
bool
DenseGroups::prepare()
{
	PreparedScan &scan = c_.scan;
	GpucolReducePlan &plan = scan.groups;
	size_t		nkeys = c_.program.keys().size();
	std::vector<uint32_t> slots;

	if (scan.grouping_known)
		return scan.grouped;
	plan = GpucolReducePlan();
	scan.grouped = nkeys > 0 && nkeys <= GPUCOL_MAX_KEYS && columns_.aggregates() && plan_keys(&plan) &&
		plan_inputs(&plan);
	if (scan.grouped)
	{
		/* the offset of a key from its bound is a digit of its cell's number */
		for (uint32_t k = 0; k < plan.nkeys; k++)
			slots.push_back(plan.keys[k].slot);
		gpucol_bounds_prove(c_, slots);
		plan.scan = scan.scan;
		gpucol_reduce_layout(&plan, scan.chunks);
		scan.partitioned = plan.slices > GPUCOL_AGG_MAX_SLICES && gpucol_partition_pays(plan) &&
			gpucol_partition_layout(plan, scan.chunks, &scan.partitions);
	}
	scan.grouping_known = true;
	return scan.grouped;
}

/* The kernel of its own that the plan has, or NULL. */
const void *
DenseGroups::compiled()
{
	PreparedScan &scan = c_.scan;

	if (!c_.jit_allowed())
		return NULL;
	if (!scan.has_source)
		scan.source = gpucol_jit_reduce_source(plan_, scan.chunks, scan.deleted);
	scan.has_source = true;
	return c_.compiled.use(scan.source.empty() ? NULL : jit.find(scan.source));
}

bool
DenseGroups::run(Partial *result)
{
	if (!prepare())
		return false;
	plan_ = c_.scan.groups;
	result->kernel = "group";
	compute(result);
	result->nrows = n_;
	if (n_ > 0)
		deliver(result);
	return true;
}
