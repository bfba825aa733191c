/*-------------------------------------------------------------------------
 *
 * lower_group.cu
 *	  Groups of plain columns whose values span small ranges: a dense table.
 *
 * The keys' offsets are digits of a group's number, NULL the greatest of its digit.
 *
 *-------------------------------------------------------------------------
 */
#include "lowering.cuh"

#include <algorithm>

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "jit_reduce.cuh"
#include "reduce.cuh"

/* Most cells of a dense table of groups, and of one that may be sparse. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
static const uint64_t MAX_SPARSE_GROUPS = 65536;

/* Groups whose result is formed at once. */
static const uint32_t MAX_FORMED_GROUPS = (uint32_t) 1 << 20;

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
	const StateForm *aggs;		/* [naggs] */
	uint32_t	nkeys;
	uint32_t	naggs;
	size_t		states;			/* offset in the result */
	size_t		size;
};

/* Key `key` of group `id` as row i of the result. */
__device__ static void
form_key(const KeyForm &key, uint32_t id, uint32_t i, char *out)
{
	uint32_t	offset = id / key.stride % key.card;
	bool		null = key.nullable && offset == key.card - 1;
	int64_t		x = null ? 0 : key.base + offset;
	int64_t    *value = (int64_t *) (out + key.values) + (size_t) i * key.width;

	out[key.nulls + i] = null;
	value[0] = x;
	if (key.width == 2)
		value[1] = x >> 63;
}

/* State of an aggregate of the group whose words these are. */
__device__ static GpucolAggState
form_state(const StateForm &f, const unsigned long long *w)
{
	return f.ops == 0 ? gpucol_plain_state(f.op, f.cls, w[0], w[0], 0, 0, 0, 0) :
		gpucol_plain_state(f.op, f.cls, w[0], w[f.count],
						   f.ops & GPUCOL_REDUCE_SUM ? w[f.sum] : 0,
						   f.ops & GPUCOL_REDUCE_MIN ? w[f.min] : 0,
						   f.ops & GPUCOL_REDUCE_MAX ? w[f.max] : 0, f.base);
}

/* One thread for each key and each state. */
__global__ void
form_groups_kernel(const unsigned long long *table, uint32_t nwords, const uint32_t *ids,
				   uint32_t n, const GroupForm form, char *out)
{
	size_t		nkeys = (size_t) n * form.nkeys;
	size_t		all = nkeys + (size_t) n * form.naggs;
	GpucolAggState *states = (GpucolAggState *) (out + form.states);

	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < all; i += (size_t) gridDim.x * blockDim.x)
	{
		size_t		s = i - nkeys;

		if (i < nkeys)
			form_key(form.keys[i / n], ids[i % n], i % n, out);
		else
			states[s] = form_state(form.aggs[s % form.naggs], table + (size_t) ids[s / form.naggs] * nwords);
	}
}

/* The groups that have rows, while they are computed. */
struct Lowering::Groups
{
	GpucolReducePlan plan = {};
	uint32_t	n = 0;
	const uint32_t *ids = NULL; /* [n], on the device */
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

/* Run the kernels and find the groups that have rows. */
void
Lowering::compute_groups(Groups *g)
{
	GpucolReducePlan &plan = g->plan;
	const void *compiled = jit_allowed() ? use(gpucol_jit_reduce(plan, chunks_, deleted_)) : NULL;
	uint32_t   *list = part_.scratch->array<uint32_t>(plan.ngroups + 1, "the groups");
	uint32_t   *found = list + plan.ngroups;
	const uint32_t *nfound;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e;

	plan.table = part_.scratch->array<unsigned long long>(plan.ngroups * plan.nwords, "the groups");

	HasRows		has_rows = {plan.table, plan.nwords};
	thrust::counting_iterator<uint32_t> first(0);

	device_check(cub::DeviceSelect::If(NULL, bytes, first, list, found, (int) plan.ngroups, has_rows, stream_), "select");
	temp = part_.scratch->allocate(bytes, "the groups");
	e = begin();
	device_check(gpucol_reduce_init(plan, stream_), "group");
	device_check(compiled ? gpucol_reduce_compiled(compiled, plan, stream_) :
				 gpucol_reduce_groups(plan, stream_), "group");
	device_check(cub::DeviceSelect::If(temp, bytes, first, list, found, (int) plan.ngroups, has_rows, stream_), "select");
	nfound = fetch(found, 1);
	finish(e);
	g->n = *nfound;
	g->ids = list;
}

/* Lay out n groups of a result; the states' forms are the caller's to add. */
GroupForm
Lowering::lay_out(const GpucolReducePlan &plan, uint32_t n) const
{
	GroupForm	form = {};

	form.nkeys = p_->nkeys;
	form.naggs = p_->naggs;
	for (int k = 0; k < p_->nkeys; k++)
	{
		size_t		values = form.states;
		uint32_t	width = key_width(k);
		size_t		nulls = values + (size_t) n * 8 * width;

		form.keys[k] = {plan.strides[k], plan.cards[k], plan.keys[k].nullable, width, plan.keys[k].base, values, nulls};
		form.states = nulls + ((size_t) n + 7) / 8 * 8;
	}
	form.size = form.states + (size_t) n * p_->naggs * sizeof(GpucolAggState);
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

/*
 * The groups as the client wants them: formed on the device, and copied to where the
 * client finds them, if that may be.  Many are formed in pieces.
 */
void
Lowering::form_groups(const Groups &g, Partial *result)
{
	uint32_t	step = std::min(g.n, MAX_FORMED_GROUPS);
	GroupForm	whole = lay_out(g.plan, g.n);
	GroupForm	piece = lay_out(g.plan, step);
	char	   *place = on_trial_ || step < g.n ? NULL : r_.place(whole.size);
	const char *fetched = NULL;
	char	   *out = part_.scratch->array<char>(piece.size, "the result");

	piece.aggs = upload(state_forms(g.plan));
	if (step < g.n)
		result->data.resize(whole.size);
	for (uint32_t first = 0; first < g.n; first += step)
	{
		uint32_t	m = std::min(step, g.n - first);

		device_check(cudaMemsetAsync(out, 0, piece.states, stream_), "result");
		form_groups_kernel<<<512, 256, 0, stream_>>>(g.plan.table, g.plan.nwords, g.ids + first, m, piece, out);
		device_check(cudaGetLastError(), "result");
		if (step < g.n)
			copy_groups(piece, out, whole, result->data.data(), first, m);
		else if (place != NULL)
			device_check(cudaMemcpyAsync(place, out, whole.size, cudaMemcpyDeviceToHost, stream_), "result");
		else
			fetched = fetch(out, whole.size);
	}
	device_wait(stream_);
	if (place != NULL)
	{
		result->placed = place;
		result->nplaced = whole.size;
	}
	else if (fetched != NULL)
		result->data.assign(fetched, fetched + whole.size);
}

/* Group by a dense table if that suits. */
bool
Lowering::run_group(Partial *result, uint64_t *nrows)
{
	Groups		g;

	if (p_->nkeys == 0 || p_->nkeys > GPUCOL_MAX_KEYS || !plain_aggregates() ||
		!plan_keys(&g.plan) || !plan_inputs(&g.plan))
		return false;
	g.plan.scan = scan_;
	gpucol_reduce_layout(&g.plan, chunks_);
	kernel_ = "group";
	compute_groups(&g);
	*nrows = g.n;
	if (g.n > 0)
		form_groups(g, result);
	return true;
}
