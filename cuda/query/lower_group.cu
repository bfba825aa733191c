/*-------------------------------------------------------------------------
 *
 * lower_group.cu
 *	  Groups of plain columns whose values span small ranges: a dense table.
 *
 * The keys' offsets are digits of a group's number, NULL the greatest of its digit.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "cuda/jit/jit_reduce.cuh"
#include "cuda/scan/reduce.cuh"
#include "cuda/scan/reduce_partition.cuh"

/* Most cells of a dense table of groups, and of one that may be sparse. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
static const uint64_t MAX_SPARSE_GROUPS = 65536;

/* Groups whose result is formed at once on the device; bytes of one that is formed in the
 * lane's pinned memory. */
static const uint32_t MAX_FORMED_GROUPS = (uint32_t) 1 << 20;
static const size_t FORMED_BYTES = (size_t) 3 << 19;

/* Launch of the kernel that forms it. */
static const int FORM_BLOCKS = 264;
static const int FORM_THREADS = 512;

/* Most words of a group. */
static const int MAX_GROUP_WORDS = 16;

/* Groups of a dense table that have rows. */
struct HasRows
{
	const unsigned long long *table;
	uint32_t	nwords;

	__device__ bool
	operator()(uint32_t group) const
	{
		return table[(size_t) group * nwords] != 0;
	}
};

/* A key of a group, out of its number, and where it goes in the result. */
struct KeyForm
{
	uint32_t	stride;
	uint32_t	card;
	uint32_t	nullable;
	uint32_t	width;			/* words of 8 bytes */
	int64_t		base;
	size_t		values;			/* offsets in the result */
	size_t		nulls;
};

/* The state of an aggregate, out of a group's words. */
struct StateForm
{
	int			op;
	int			cls;
	uint32_t	ops;			/* of its input; 0: it has none */
	uint8_t		count;			/* words, as in GpucolReduceInput */
	uint8_t		sum;
	uint8_t		min;
	uint8_t		max;
	int64_t		base;
};

/* What the groups' part of a result looks like. */
struct GroupForm
{
	KeyForm		keys[GPUCOL_MAX_KEYS];
	const StateForm *aggs;		/* [naggs], on the device */
	uint32_t	nkeys;
	uint32_t	naggs;
	size_t		states;			/* offset in the result */
	size_t		size;
};

/* Groups of a table, and the result to be made of them. */
struct FormTask
{
	const unsigned long long *table;
	uint32_t	nwords;
	const uint32_t *ids;		/* [n] */
	uint32_t	n;
	const uint32_t *found;		/* n, where the host does not know it; else NULL */
	uint32_t   *told;			/* in pinned memory: where the host finds it; or NULL */
	GroupForm	form;
	char	   *out;
	size_t		room;			/* bytes; a result that is larger is not made */
};

constexpr uint32_t STATE_WORDS = sizeof(GpucolAggState) / sizeof(uint64_t);

/* Where the parts of a result of n groups lie. */
__host__ __device__ static void
lay_out(GroupForm *form, uint32_t n)
{
	form->states = 0;
	for (uint32_t k = 0; k < form->nkeys; k++)
	{
		form->keys[k].values = form->states;
		form->keys[k].nulls = form->states + (size_t) n * 8 * form->keys[k].width;
		form->states = form->keys[k].nulls + ((size_t) n + 7) / 8 * 8;
	}
	form->size = form->states + (size_t) n * form->naggs * sizeof(GpucolAggState);
}

/* The offset of a key in its group's number, and whether that is NULL's. */
__device__ static uint32_t
key_offset(const KeyForm &key, uint32_t id, bool *null)
{
	uint32_t	offset = id / key.stride % key.card;

	*null = key.nullable && offset == key.card - 1;
	return offset;
}

/* Word i of a key's values. */
__device__ static uint64_t
value_word(const KeyForm &key, const uint32_t *ids, size_t i)
{
	bool		null;
	uint32_t	offset = key_offset(key, ids[i / key.width], &null);
	int64_t		x = null ? 0 : key.base + offset;

	return (uint64_t) (i % key.width == 0 ? x : x >> 63);
}

/* Eight of a key's NULL flags, from group i on. */
__device__ static uint64_t
null_word(const KeyForm &key, const uint32_t *ids, size_t i, uint32_t n)
{
	uint64_t	word = 0;

	for (uint32_t j = 0; key.nullable && j < 8 && i + j < n; j++)
	{
		bool		null;

		key_offset(key, ids[i + j], &null);
		word |= (uint64_t) null << (8 * j);
	}
	return word;
}

/* Word w of the state of an aggregate of the group whose words these are. */
__device__ static uint64_t
state_word(const StateForm &f, const unsigned long long *words, uint32_t w)
{
	union
	{
		GpucolAggState state;
		uint64_t	words[STATE_WORDS];
	}			u;
	uint64_t	x = 0;

	u.state = f.ops == 0 ? gpucol_plain_state(f.op, f.cls, words[0], words[0], 0, 0, 0, 0) :
		gpucol_plain_state(f.op, f.cls, words[0], words[f.count],
						   f.ops & GPUCOL_REDUCE_SUM ? words[f.sum] : 0,
						   f.ops & GPUCOL_REDUCE_MIN ? words[f.min] : 0,
						   f.ops & GPUCOL_REDUCE_MAX ? words[f.max] : 0, f.base);
#pragma unroll
	for (uint32_t i = 0; i < STATE_WORDS; i++)
		x = w == i ? u.words[i] : x;
	return x;
}

/* The word at byte `at` of a result of n groups. */
__device__ static uint64_t
result_word(const FormTask &task, const GroupForm &form, uint32_t n, size_t at)
{
	if (at >= form.states)
	{
		size_t		i = (at - form.states) / 8,
					state = i / STATE_WORDS;

		return state_word(form.aggs[state % form.naggs],
						  task.table + (size_t) task.ids[state / form.naggs] * task.nwords, i % STATE_WORDS);
	}
	for (uint32_t k = form.nkeys; k-- > 0;)
		if (at >= form.keys[k].nulls)
			return null_word(form.keys[k], task.ids, at - form.keys[k].nulls, n);
		else if (at >= form.keys[k].values)
			return value_word(form.keys[k], task.ids, (at - form.keys[k].values) / 8);
	return 0;
}

/*
 * One thread for each word of the result, which may lie in the host's memory: there
 * only whole lines are written at the speed of the bus.
 */
__global__ void
form_groups_kernel(const __grid_constant__ FormTask task)
{
	__shared__ GroupForm form;
	uint32_t	n = task.found != NULL ? *task.found : task.n;

	if (threadIdx.x == 0)
	{
		form = task.form;
		lay_out(&form, n);
		if (blockIdx.x == 0 && task.told != NULL)
			*task.told = n;
	}
	__syncthreads();
	if (form.size > task.room)
		return;
	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < form.size / 8; i += (size_t) gridDim.x * blockDim.x)
		((uint64_t *) task.out)[i] = result_word(task, form, n, i * 8);
}

/* The groups that have rows, while they are computed. */
struct Lowering::Groups
{
	GpucolReducePlan plan = {};
	GroupForm	form = {};
	uint32_t	n = 0;
	const uint32_t *ids = NULL; /* [n], on the device */
	char	   *formed = NULL;	/* in pinned memory: the result, if it had room there */
	bool		in_slab = false;	/* that is where the client finds it */
};

/* The keys' digits; false where no dense table suits. */
bool
Lowering::plan_keys(GpucolReducePlan *plan) const
{
	uint64_t	groups = 1;

	for (int k = 0; k < p_->nkeys; k++)
	{
		int			slot = plain_slot(array<uint16_t>(p_->keys)[k]);
		uint64_t	card;

		if (!offset_column(slot, &plan->keys[k]))
			return false;
		card = bounds_[slot].first <= bounds_[slot].second ?
			(uint64_t) (bounds_[slot].second - bounds_[slot].first) + 1 : 1;
		card += nullable_[slot];
		plan->strides[k] = groups;
		plan->cards[k] = card;
		groups *= card;
		if (groups > MAX_DENSE_GROUPS)
			return false;
	}
	plan->nkeys = p_->nkeys;
	plan->ngroups = groups;
	return groups <= MAX_SPARSE_GROUPS || groups <= 2 * rows_;
}

/* The columns that are aggregated; false if there are too many. */
bool
Lowering::plan_inputs(GpucolReducePlan *plan) const
{
	int			nwords = 1;

	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		int			slot;
		uint32_t	at = 0;

		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		slot = plain_slot(agg.arg);
		while (at < plan->ninputs && plan->inputs[at].column.slot != slot)
			at++;
		if (at == plan->ninputs)
		{
			if (at == GPUCOL_MAX_INPUTS)
				return false;
			offset_column(slot, &plan->inputs[at].column);
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
Lowering::find_room(Groups *g, char **device)
{
	const Slab *slab = on_trial_ ? NULL : r_.slab();

	g->in_slab = slab != NULL;
	g->formed = slab != NULL ? slab->memory : (char *) lane_.stage(FORMED_BYTES);
	*device = slab != NULL ? slab->device : g->formed;
	return slab != NULL ? slab->size : g->formed != NULL ? FORMED_BYTES : 0;
}

/*
 * Scratch memory for a partitioned reduction, of fewer runs at a time where there is
 * less; NULL where that would be so few that the groups have hardly a row each.
 */
void *
Lowering::spare_partitions(GpucolPartitionPlan *partitions)
{
	for (;; partitions->runs /= 2)
	{
		uint64_t	rows = (uint64_t) partitions->runs * GPUCOL_RUN_VECTORS * GPUCOL_VECTOR_VALUES;
		void	   *scratch;

		if (partitions->runs == 0 || (partitions->runs < scan_.nruns && rows < prepared_->groups.ngroups))
			return NULL;
		scratch = part_.scratch->spare(gpucol_partition_bytes(*partitions));
		if (scratch != NULL)
			return scratch;
	}
}

/*
 * Run the kernels and find the groups that have rows.  Where there is pinned memory for
 * it the result is formed there at once: nobody has to be told how many groups there
 * are before.
 */
void
Lowering::compute_groups(Groups *g)
{
	GpucolReducePlan &plan = g->plan;
	GpucolPartitionPlan partitions = prepared_->partitions;
	const void *compiled = compiled_groups(plan);
	uint32_t   *list = part_.scratch->array<uint32_t>(plan.ngroups + 1, "the groups");
	uint32_t   *found = list + plan.ngroups;
	uint32_t   *told = (uint32_t *) lane_.stage(sizeof(uint32_t));
	FormTask	task = {};
	size_t		bytes = 0;
	void	   *temp,
			   *scratch = NULL;
	cudaEvent_t begun,
				grouped;

	plan.table = part_.scratch->array<unsigned long long>(plan.ngroups * plan.nwords, "the groups");

	HasRows		has_rows = {plan.table, plan.nwords};
	thrust::counting_iterator<uint32_t> first(0);

	device_check(cub::DeviceSelect::If(NULL, bytes, first, list, found, (int) plan.ngroups, has_rows, stream_), "select");
	temp = part_.scratch->allocate(bytes, "the groups");
	g->form = group_form(plan);
	g->ids = list;
	task.room = find_room(g, &task.out);
	if (told != NULL)
		*told = 0;
	else
		task.room = 0;
	if (!compiled && prepared_->partitioned)
		scratch = spare_partitions(&partitions);
	if (scratch != NULL)
		kernel_ = "group, partitioned";
	begun = begin();
	device_check(gpucol_reduce_init(plan, stream_), "group");
	device_check(compiled ? gpucol_reduce_compiled(compiled, plan, stream_) :
				 scratch ? gpucol_reduce_partitioned(plan, partitions, scratch, stream_) :
				 gpucol_reduce_groups(plan, stream_), "group");
	device_check(cub::DeviceSelect::If(temp, bytes, first, list, found, (int) plan.ngroups, has_rows, stream_), "select");
	grouped = begin();
	if (task.room > 0)
	{
		task.table = plan.table;
		task.nwords = plan.nwords;
		task.ids = list;
		task.found = found;
		task.told = told;
		task.form = g->form;
		form_groups_kernel<<<FORM_BLOCKS, FORM_THREADS, 0, stream_>>>(task);
		device_check(cudaGetLastError(), "result");
		finish(begun, grouped);
		g->n = *told;
	}
	else
	{
		finish(begun, grouped);
		g->n = download(found, 1)[0];
	}
	lay_out(&g->form, g->n);
	if (g->form.size > task.room)
		g->formed = NULL;
}

/* What a result looks like, but for where its parts lie. */
GroupForm
Lowering::group_form(const GpucolReducePlan &plan)
{
	GroupForm	form = {};

	form.nkeys = p_->nkeys;
	form.naggs = p_->naggs;
	for (int k = 0; k < p_->nkeys; k++)
		form.keys[k] = {plan.strides[k], plan.cards[k], plan.keys[k].nullable, (uint32_t) key_width(k), plan.keys[k].base, 0, 0};
	if (prepared_->forms == NULL)
		prepared_->forms = upload(state_forms(plan), &prepared_->memory);
	form.aggs = prepared_->forms;
	return form;
}

/* The forms of the aggregates' states. */
std::vector<StateForm>
Lowering::state_forms(const GpucolReducePlan &plan) const
{
	std::vector<StateForm> forms(p_->naggs);

	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		forms[i].op = agg.op;
		forms[i].cls = agg.cls;
		for (uint32_t j = 0; agg.op != GPUCOL_AGG_COUNT_STAR && j < plan.ninputs; j++)
		{
			const GpucolReduceInput &in = plan.inputs[j];

			if (in.column.slot == plain_slot(agg.arg))
				forms[i] = {agg.op, agg.cls, in.ops, in.count, in.sum, in.min, in.max, in.column.base};
		}
	}
	return forms;
}

/* Copy m groups, laid out by `from`, into a result laid out by `to`, as those from `first` on. */
void
Lowering::copy_groups(const GroupForm &from, const char *out, const GroupForm &to, char *data,
					  size_t first, size_t m)
{
	auto		copy = [&] (size_t at, size_t source, size_t size) {
		device_check(cudaMemcpyAsync(data + at, out + source, size, cudaMemcpyDeviceToHost, stream_), "result");
	};
	size_t		row = p_->naggs * sizeof(GpucolAggState);

	for (uint32_t k = 0; k < to.nkeys; k++)
	{
		copy(to.keys[k].values + first * 8 * to.keys[k].width, from.keys[k].values, m * 8 * to.keys[k].width);
		copy(to.keys[k].nulls + first, from.keys[k].nulls, m);
	}
	copy(to.states + first * row, from.states, m * row);
}

/* A result that pinned memory had no room for: formed on the device in pieces, and copied. */
void
Lowering::form_groups(const Groups &g, Partial *result)
{
	uint32_t	step = std::min(g.n, MAX_FORMED_GROUPS);
	FormTask	task = {g.plan.table, g.plan.nwords, NULL, 0, NULL, NULL, g.form, NULL, 0};

	lay_out(&task.form, step);
	task.room = task.form.size;
	task.out = part_.scratch->array<char>(task.room, "the result");
	result->data.resize(g.form.size);
	for (uint32_t first = 0; first < g.n; first += step)
	{
		task.ids = g.ids + first;
		task.n = std::min(step, g.n - first);
		form_groups_kernel<<<FORM_BLOCKS, FORM_THREADS, 0, stream_>>>(task);
		device_check(cudaGetLastError(), "result");
		lay_out(&task.form, task.n);
		copy_groups(task.form, task.out, g.form, result->data.data(), first, task.n);
	}
	device_wait(stream_);
}

/* The groups as the client wants them. */
void
Lowering::deliver_groups(const Groups &g, Partial *result)
{
	if (g.formed == NULL)
		form_groups(g, result);
	else if (g.in_slab)
	{
		result->placed = g.formed;
		result->nplaced = g.form.size;
	}
	else
		result->data.assign(g.formed, g.formed + g.form.size);
}

/* Does a dense table suit?  If so, its plan is in the prepared scan. */
bool
Lowering::plan_groups()
{
	GpucolReducePlan &plan = prepared_->groups;
	std::vector<uint32_t> slots;

	if (prepared_->grouping_known)
		return prepared_->grouped;
	plan = GpucolReducePlan();
	prepared_->grouped = p_->nkeys > 0 && p_->nkeys <= GPUCOL_MAX_KEYS && plain_aggregates() &&
		plan_keys(&plan) && plan_inputs(&plan);
	if (prepared_->grouped)
	{
		/* the offset of a key from its bound is a digit of its cell's number */
		for (uint32_t k = 0; k < plan.nkeys; k++)
			slots.push_back(plan.keys[k].slot);
		prove_bounds(slots);
		plan.scan = scan_;
		gpucol_reduce_layout(&plan, chunks_);
		prepared_->partitioned = plan.slices > GPUCOL_AGG_MAX_SLICES && gpucol_partition_pays(plan) &&
			gpucol_partition_layout(plan, chunks_, &prepared_->partitions);
	}
	prepared_->grouping_known = true;
	return prepared_->grouped;
}

/* The kernel of its own that the plan has, or NULL. */
const void *
Lowering::compiled_groups(const GpucolReducePlan &plan)
{
	if (!jit_allowed())
		return NULL;
	if (!prepared_->has_source)
		prepared_->source = gpucol_jit_reduce_source(plan, chunks_, deleted_);
	prepared_->has_source = true;
	return use(prepared_->source.empty() ? NULL : jit.find(prepared_->source));
}

/* Group by a dense table if that suits. */
bool
Lowering::run_group(Partial *result, uint64_t *nrows)
{
	Groups		g;

	if (!plan_groups())
		return false;
	g.plan = prepared_->groups;
	kernel_ = "group";
	compute_groups(&g);
	*nrows = g.n;
	if (g.n > 0)
		deliver_groups(g, result);
	return true;
}
