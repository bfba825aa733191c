/*-------------------------------------------------------------------------
 *
 * lower_plain.cu
 *	  Aggregates of plain columns: count, reduce, and group by small ranges.
 *
 *-------------------------------------------------------------------------
 */
#include "lowering.cuh"

#include <algorithm>

#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "jit_reduce.cuh"
#include "reduce.cuh"
#include "scan.cuh"

/* Most cells of a dense table of groups. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;

/* Column slot that a register loads as it is, or -1. */
int
Lowering::plain_slot(uint16_t reg) const
{
	for (int i = 0; i < p_->ninstrs; i++)
	{
		const GpucolInstr &in = array<GpucolInstr>(p_->instrs)[i];

		if (in.dst != reg)
			continue;
		if (in.op == GPUCOL_OP_LOAD_I || in.op == GPUCOL_OP_LOAD_B || in.op == GPUCOL_OP_LOAD_S)
			return in.aux;
		if (in.op == GPUCOL_OP_LOAD_D &&
			(scales_[in.aux] == -2 || scales_[in.aux] == array<GpucolProgramColumn>(p_->columns)[in.aux].scale))
			return in.aux;
		return -1;
	}
	return -1;
}

/* A slot as 32-bit offsets, if its values allow. */
bool
Lowering::offset_column(int slot, GpucolOffsetColumn *column) const
{
	int64_t		lo,
				hi;

	if (slot < 0 || !bounded_[slot])
		return false;
	lo = bounds_[slot].first;
	hi = bounds_[slot].second;
	if (lo > hi)
		lo = hi = 0;
	if ((uint128) ((int128) hi - lo) >= ((uint128) 1 << 32) - 1)
		return false;
	column->slot = slot;
	column->nullable = nullable_[slot];
	column->unused = 0;
	column->base = lo;
	return true;
}

/* Are all aggregates counts, sums and extremes of plain offsets, unfiltered? */
bool
Lowering::plain_aggregates() const
{
	GpucolOffsetColumn column;

	if (p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0)
		return false;

	/* an expression may fail on some row even if no aggregate shows its value */
	for (int i = 0; i < p_->ninstrs; i++)
		if (array<GpucolInstr>(p_->instrs)[i].op > GPUCOL_OP_LOAD_S)
			return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.filter != GPUCOL_NO_REG)
			return false;
		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		if (agg.op != GPUCOL_AGG_COUNT && agg.op != GPUCOL_AGG_SUM &&
			agg.op != GPUCOL_AGG_MIN && agg.op != GPUCOL_AGG_MAX)
			return false;
		if (agg.cls != GPUCOL_CLASS_I && agg.cls != GPUCOL_CLASS_D)
			return false;
		if (!offset_column(plain_slot(agg.arg), &column))
			return false;
	}
	return true;
}

/* A state of a plain aggregate from counts and offsets. */
static GpucolAggState
plain_state(int op, int cls, uint64_t rows, uint64_t count, uint64_t sum,
			uint64_t least, uint64_t greatest, int64_t base)
{
	GpucolAggState s;

	memset(&s, 0, sizeof(s));
	s.count = op == GPUCOL_AGG_COUNT_STAR ? rows : count;
	if (op == GPUCOL_AGG_SUM)
		set128(&s, false, (int128) sum + (int128) base * (int128) count);
	else if ((op == GPUCOL_AGG_MIN || op == GPUCOL_AGG_MAX) && count > 0)
	{
		int64_t		x = base + (int64_t) (op == GPUCOL_AGG_MIN ? least : greatest);

		if (cls == GPUCOL_CLASS_D)
			set128(&s, false, x);
		else
			s.v.value = x;
	}
	return s;
}

bool
Lowering::run_count(std::vector<char> *data)
{
	unsigned long long *out;
	const unsigned long long *n;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->filter != GPUCOL_NO_REG || p_->ninstrs > 0)
		return false;
	for (int i = 0; i < p_->naggs; i++)
		if (array<GpucolAgg>(p_->aggs)[i].op != GPUCOL_AGG_COUNT_STAR ||
			array<GpucolAgg>(p_->aggs)[i].filter != GPUCOL_NO_REG)
			return false;
	kernel_ = "count";
	out = part_.scratch->array<unsigned long long>(1, "the result");
	e = begin();
	device_check(cudaMemsetAsync(out, 0, 8, stream_), "memset");
	device_check(gpucol_scan_count(scan_, out, stream_), "scan");
	n = fetch(out, 1);
	finish(e);
	for (int i = 0; i < p_->naggs; i++)
	{
		GpucolAggState s = plain_state(GPUCOL_AGG_COUNT_STAR, 0, *n, *n, 0, 0, 0, 0);

		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}

bool
Lowering::run_reduce(std::vector<char> *data)
{
	std::vector<int> slots;
	std::vector<unsigned long long> words;
	unsigned long long *out;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->naggs == 0 || !plain_aggregates())
		return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.op != GPUCOL_AGG_COUNT_STAR &&
			std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) == slots.end())
			slots.push_back(plain_slot(agg.arg));
	}
	if (slots.empty())
		return false;
	kernel_ = "reduce";
	for (size_t i = 0; i < slots.size(); i++)
		words.insert(words.end(), {0, 0, 0, ~0ull, 0});
	out = upload(words);
	e = begin();
	for (size_t i = 0; i < slots.size(); i++)
	{
		GpucolOffsetColumn column;
		bool		extremes = false;

		offset_column(slots[i], &column);
		for (int a = 0; a < p_->naggs; a++)
		{
			const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[a];

			extremes |= (agg.op == GPUCOL_AGG_MIN || agg.op == GPUCOL_AGG_MAX) && plain_slot(agg.arg) == slots[i];
		}
		device_check(gpucol_scan_reduce(scan_, column, extremes, out + 5 * i, stream_), "reduce");
	}
	finish(e);
	words = download(out, words.size());
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		size_t		at = 0;
		GpucolOffsetColumn column = {};
		GpucolAggState s;

		if (agg.op != GPUCOL_AGG_COUNT_STAR)
		{
			at = std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) - slots.begin();
			offset_column(slots[at], &column);
		}

		const unsigned long long *w = words.data() + 5 * at;

		s = plain_state(agg.op, agg.cls, w[0], w[1], w[2], w[3], w[4], column.base);
		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}

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

bool
Lowering::run_group(std::vector<char> *data, uint64_t *nrows)
{
	GpucolReducePlan plan = {};
	uint64_t	groups = 1;
	const uint32_t *ids = NULL;
	const unsigned long long *words = NULL;
	uint32_t   *list,
			   *found;
	const uint32_t *nfound;
	uint32_t	n;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e;
	int			nwords = 1;
	const void *compiled = NULL;

	if (p_->nkeys == 0 || p_->nkeys > GPUCOL_MAX_KEYS || !plain_aggregates())
		return false;
	for (int k = 0; k < p_->nkeys; k++)
	{
		int			slot = plain_slot(array<uint16_t>(p_->keys)[k]);
		uint64_t	card;

		if (!offset_column(slot, &plan.keys[k]))
			return false;
		card = bounds_[slot].first <= bounds_[slot].second ?
			(uint64_t) (bounds_[slot].second - bounds_[slot].first) + 1 : 1;
		card += nullable_[slot];
		plan.strides[k] = groups;
		plan.cards[k] = card;
		groups *= card;
		if (groups > MAX_DENSE_GROUPS)
			return false;
	}
	if (groups > 65536 && groups > 2 * rows_)
		return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		int			slot;
		uint32_t	at = 0;

		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		slot = plain_slot(agg.arg);
		while (at < plan.ninputs && plan.inputs[at].column.slot != slot)
			at++;
		if (at == plan.ninputs)
		{
			if (at == GPUCOL_MAX_INPUTS)
				return false;
			offset_column(slot, &plan.inputs[at].column);
			plan.ninputs++;
		}
		plan.inputs[at].ops |= GPUCOL_REDUCE_COUNT |
			(agg.op == GPUCOL_AGG_SUM ? GPUCOL_REDUCE_SUM : 0) |
			(agg.op == GPUCOL_AGG_MIN ? GPUCOL_REDUCE_MIN : 0) |
			(agg.op == GPUCOL_AGG_MAX ? GPUCOL_REDUCE_MAX : 0);
	}
	for (uint32_t i = 0; i < plan.ninputs; i++)
		nwords += __builtin_popcount(plan.inputs[i].ops);
	if (nwords > 16)
		return false;
	plan.scan = scan_;
	plan.nkeys = p_->nkeys;
	plan.ngroups = groups;
	gpucol_reduce_layout(&plan, chunks_);
	if (jit_allowed())
		compiled = use(gpucol_jit_reduce(plan, chunks_, deleted_));
	kernel_ = "group";
	plan.table = part_.scratch->array<unsigned long long>(groups * plan.nwords, "the groups");
	list = part_.scratch->array<uint32_t>(groups + 1, "the groups");
	found = list + groups;

	HasRows		has_rows = {plan.table, plan.nwords};
	thrust::counting_iterator<uint32_t> first(0);

	device_check(cub::DeviceSelect::If(NULL, bytes, first, list, found, (int) groups, has_rows, stream_), "select");
	temp = part_.scratch->allocate(bytes, "the groups");
	e = begin();
	device_check(gpucol_reduce_init(plan, stream_), "group");
	device_check(compiled ? gpucol_reduce_compiled(compiled, plan, stream_) :
				 gpucol_reduce_groups(plan, stream_), "group");
	device_check(cub::DeviceSelect::If(temp, bytes, first, list, found, (int) groups, has_rows, stream_), "select");
	nfound = fetch(found, 1);
	finish(e);
	n = *nfound;
	if (n > 0)
	{
		unsigned long long *out = part_.scratch->array<unsigned long long>((size_t) n * plan.nwords, "the result");

		gather_groups_kernel<<<512, 256, 0, stream_>>>(plan.table, plan.nwords, list, n, out);
		device_check(cudaGetLastError(), "result");
		ids = fetch(list, n);
		words = fetch(out, (size_t) n * plan.nwords);
		device_wait(stream_);
	}
	*nrows = n;
	for (int k = 0; k < p_->nkeys; k++)
	{
		int			cls = array<uint8_t>(p_->reg_classes)[array<uint16_t>(p_->keys)[k]];
		int			width = cls == GPUCOL_CLASS_D ? 2 : 1;
		size_t		at = data->size();
		int64_t    *values;
		uint8_t    *nulls;

		extend(data, (size_t) n * 8 * width);
		extend(data, n);
		values = (int64_t *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) n * width);
		for (uint32_t g = 0; g < n; g++)
		{
			uint32_t	offset = ids[g] / plan.strides[k] % plan.cards[k];
			bool		null = plan.keys[k].nullable && offset == plan.cards[k] - 1;
			int64_t		x = null ? 0 : plan.keys[k].base + offset;

			nulls[g] = null;
			values[(size_t) g * width] = x;
			if (width == 2)
				values[2 * (size_t) g + 1] = x >> 63;
		}
	}

	GpucolAggState *states = (GpucolAggState *) extend(data, (size_t) n * p_->naggs * sizeof(GpucolAggState));

	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		const GpucolReduceInput *in = NULL;

		for (uint32_t j = 0; agg.op != GPUCOL_AGG_COUNT_STAR && j < plan.ninputs; j++)
			if (plan.inputs[j].column.slot == plain_slot(agg.arg))
				in = &plan.inputs[j];
		for (uint32_t g = 0; g < n; g++)
		{
			const unsigned long long *w = words + (size_t) g * plan.nwords;

			states[(size_t) g * p_->naggs + i] = in == NULL ?
				plain_state(agg.op, agg.cls, w[0], w[0], 0, 0, 0, 0) :
				plain_state(agg.op, agg.cls, w[0], w[in->count],
							in->ops & GPUCOL_REDUCE_SUM ? w[in->sum] : 0,
							in->ops & GPUCOL_REDUCE_MIN ? w[in->min] : 0,
							in->ops & GPUCOL_REDUCE_MAX ? w[in->max] : 0, in->column.base);
		}
	}
	return true;
}
