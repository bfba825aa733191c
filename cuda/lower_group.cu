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

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "jit_reduce.cuh"
#include "reduce.cuh"

/* Most cells of a dense table of groups, and of one that may be sparse. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;
static const uint64_t MAX_SPARSE_GROUPS = 65536;

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

__global__ void
gather_groups_kernel(const unsigned long long *table, uint32_t nwords,
					 const uint32_t *groups, uint32_t n, unsigned long long *out)
{
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < (size_t) n * nwords; i += step)
		out[i] = table[(size_t) groups[i / nwords] * nwords + i % nwords];
}

/* The groups that have rows, while they are computed. */
struct Lowering::Groups
{
	GpucolReducePlan plan = {};
	uint32_t	n = 0;
	const uint32_t *ids = NULL; /* [n] */
	const unsigned long long *words = NULL; /* [n][plan.nwords] */
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

/* Run the kernels and fetch the groups that have rows. */
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
	if (g->n == 0)
		return;

	unsigned long long *out = part_.scratch->array<unsigned long long>((size_t) g->n * plan.nwords, "the result");

	gather_groups_kernel<<<512, 256, 0, stream_>>>(plan.table, plan.nwords, list, g->n, out);
	device_check(cudaGetLastError(), "result");
	g->ids = fetch(list, g->n);
	g->words = fetch(out, (size_t) g->n * plan.nwords);
	device_wait(stream_);
}

/* Key column k of the result. */
void
Lowering::put_group_keys(const Groups &g, int k, std::vector<char> *data)
{
	const GpucolReducePlan &plan = g.plan;
	int			width = key_width(k);
	size_t		at = data->size();
	int64_t    *values;
	uint8_t    *nulls;

	extend(data, (size_t) g.n * 8 * width);
	extend(data, g.n);
	values = (int64_t *) (data->data() + at);
	nulls = (uint8_t *) (values + (size_t) g.n * width);
	for (uint32_t i = 0; i < g.n; i++)
	{
		uint32_t	offset = g.ids[i] / plan.strides[k] % plan.cards[k];
		bool		null = plan.keys[k].nullable && offset == plan.cards[k] - 1;
		int64_t		x = null ? 0 : plan.keys[k].base + offset;

		nulls[i] = null;
		values[(size_t) i * width] = x;
		if (width == 2)
			values[2 * (size_t) i + 1] = x >> 63;
	}
}

/* States of aggregate a, every naggs-th. */
void
Lowering::put_group_states(const Groups &g, int a, GpucolAggState *states)
{
	const GpucolReducePlan &plan = g.plan;
	const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[a];
	const GpucolReduceInput *in = NULL;

	for (uint32_t j = 0; agg.op != GPUCOL_AGG_COUNT_STAR && j < plan.ninputs; j++)
		if (plan.inputs[j].column.slot == plain_slot(agg.arg))
			in = &plan.inputs[j];
	for (uint32_t i = 0; i < g.n; i++)
	{
		const unsigned long long *w = g.words + (size_t) i * plan.nwords;

		states[(size_t) i * p_->naggs + a] = in == NULL ?
			plain_state(agg.op, agg.cls, w[0], w[0], 0, 0, 0, 0) :
			plain_state(agg.op, agg.cls, w[0], w[in->count],
						in->ops & GPUCOL_REDUCE_SUM ? w[in->sum] : 0,
						in->ops & GPUCOL_REDUCE_MIN ? w[in->min] : 0,
						in->ops & GPUCOL_REDUCE_MAX ? w[in->max] : 0, in->column.base);
	}
}

/* Group by a dense table if that suits. */
bool
Lowering::run_group(std::vector<char> *data, uint64_t *nrows)
{
	Groups		g;
	GpucolAggState *states;

	if (p_->nkeys == 0 || p_->nkeys > GPUCOL_MAX_KEYS || !plain_aggregates() ||
		!plan_keys(&g.plan) || !plan_inputs(&g.plan))
		return false;
	g.plan.scan = scan_;
	gpucol_reduce_layout(&g.plan, chunks_);
	kernel_ = "group";
	compute_groups(&g);
	*nrows = g.n;
	for (int k = 0; k < p_->nkeys; k++)
		put_group_keys(g, k, data);
	states = (GpucolAggState *) extend(data, (size_t) g.n * p_->naggs * sizeof(GpucolAggState));
	for (int a = 0; a < p_->naggs; a++)
		put_group_states(g, a, states);
	return true;
}
