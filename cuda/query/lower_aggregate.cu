/*-------------------------------------------------------------------------
 *
 * lower_aggregate.cu
 *	  Aggregates of a program: accumulators, tables that grow, groups and states.
 *
 * Each aggregate becomes one to three accumulators, shared where equal: how many
 * values, their sum, their squares' sum.  Floats are added as integers of one
 * scale, which a first pass over their exponents chooses, so that a sum does not
 * depend on the order of the rows.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/lowering.cuh"

#include <algorithm>

/* Groups and distinct values to begin with, and at most. */
static const uint64_t FIRST_GROUPS = (uint64_t) 1 << 16;
static const uint64_t FIRST_DISTINCT = (uint64_t) 1 << 20;
static const uint64_t MOST_GROUPS = (uint64_t) 1 << 30;

/* Bits that the least float of a sum must keep, and bits of its integers. */
static const int FLOAT_BITS = 48;
static const int SUM_BITS = 125;

/* The aggregates of one program while they are computed. */
struct Lowering::Aggregation
{
	/* Numbers of an aggregate's accumulators, or -1. */
	struct Map
	{
		int			count,
					v,
					w;
	};

	GpucolInterpPlan plan;
	std::vector<GpucolAcc> accs;
	int			nwords = 0;		/* of all of them */
	std::vector<Map> maps;		/* by aggregate */
	bool		floats = false; /* some sum is one of floats */
	bool		distinct = false;
	int			key_words = 1;	/* NULL bits, then the keys */
	uint64_t	capacity = FIRST_GROUPS;
	uint64_t	distinct_capacity = FIRST_DISTINCT;

	/* the result */
	uint32_t	ngroups = 1;
	std::vector<unsigned long long> keys;	/* [key_words][ngroups] */
	std::vector<unsigned long long> records;	/* [ngroups][nwords] */

	/* The accumulator of an operation over an aggregate's argument. */
	int
	find(GpucolAccOp op, const GpucolAgg &agg)
	{
		static const int words[] = {1, 2, 3, 6, 3, 3, 1, 1, 1};
		uint16_t	arg = agg.op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : agg.arg;
		int32_t		order = op == GPUCOL_ACC_MIN || op == GPUCOL_ACC_MAX ? agg.order : 0;

		for (size_t i = 0; i < accs.size(); i++)
			if (accs[i].op == op && accs[i].arg == arg && accs[i].filter == agg.filter && accs[i].order == order)
				return i;
		accs.push_back({(uint8_t) op, agg.cls, arg, agg.filter, (uint16_t) nwords, 0, order});
		nwords += words[op];
		return accs.size() - 1;
	}

	/* The accumulators of a sum, perhaps of squares. */
	void
	find_sum(const GpucolAgg &agg, Map *m)
	{
		bool		f = agg.cls == GPUCOL_CLASS_F;
		bool		d = agg.cls == GPUCOL_CLASS_D;

		if (!f && !d && agg.cls != GPUCOL_CLASS_I)
			throw unsupported("a sum of this class");
		m->v = find(f ? GPUCOL_ACC_SUM_F : d ? GPUCOL_ACC_SUM_D : GPUCOL_ACC_SUM_I, agg);
		if (agg.op == GPUCOL_AGG_SUMSQ)
			m->w = find(f ? GPUCOL_ACC_SQUARE_F : GPUCOL_ACC_SQUARE, agg);
		floats |= f;
	}

	/* The accumulators of an aggregate. */
	void
	add(const GpucolAgg &agg)
	{
		Map			m = {find(GPUCOL_ACC_COUNT, agg), -1, -1};

		switch (agg.op)
		{
			case GPUCOL_AGG_COUNT_STAR:
			case GPUCOL_AGG_COUNT:
				break;
			case GPUCOL_AGG_SUM:
			case GPUCOL_AGG_SUMSQ:
				find_sum(agg, &m);
				break;
			case GPUCOL_AGG_MIN:
			case GPUCOL_AGG_BOOL_AND:
				m.v = find(GPUCOL_ACC_MIN, agg);
				break;
			case GPUCOL_AGG_MAX:
			case GPUCOL_AGG_BOOL_OR:
				m.v = find(GPUCOL_ACC_MAX, agg);
				break;
			case GPUCOL_AGG_COUNT_DISTINCT:
				if (agg.cls == GPUCOL_CLASS_D)
					throw unsupported("a count of distinct decimals");
				m.v = find(GPUCOL_ACC_DISTINCT, agg);
				distinct = true;
				break;
			default:
				throw unsupported("an aggregate that the device does not know");
		}
		maps.push_back(m);
	}
};

static int128
from_limbs(const unsigned long long *w)
{
	return (int128) ((uint128) w[0] + ((uint128) w[1] << 32) + ((uint128) w[2] << 64));
}

/* The places of byte strings, for accumulators of the least and greatest. */
void
Lowering::plan_places(Aggregation *a)
{
	const GpucolInstr *instrs = array<GpucolInstr>(p_->instrs);
	std::vector<const uint32_t *> places(a->accs.size(), NULL);
	std::vector<uint32_t> n(a->accs.size(), 0);

	for (size_t i = 0; i < a->accs.size(); i++)
	{
		const GpucolAcc &acc = a->accs[i];
		Incoming   *order;

		if (acc.cls != GPUCOL_CLASS_S || (acc.op != GPUCOL_ACC_MIN && acc.op != GPUCOL_ACC_MAX))
			continue;

		const GpucolInstr *load = std::find_if(instrs, instrs + p_->ninstrs, [&] (const GpucolInstr &in) { return in.dst == acc.arg; });

		if (load == instrs + p_->ninstrs || load->op != GPUCOL_OP_LOAD_S)
			throw unsupported("an extreme of bytes that are no column's");
		order = r_.object(GPUCOL_PUT_ORDER, acc.order, load->aux);
		if (order == NULL)
			throw unsupported("an extreme of bytes without their places");
		places[i] = (const uint32_t *) order->device[part_.share];
		n[i] = order->total / sizeof(uint32_t);
	}
	a->plan.places = upload(places);
	a->plan.nplaces = upload(n);
}

/* The accumulators and key words of the program, in the plan too. */
void
Lowering::plan_aggregates(Aggregation *a)
{
	a->plan = interp_plan();
	for (int i = 0; i < p_->naggs; i++)
		a->add(array<GpucolAgg>(p_->aggs)[i]);
	for (int k = 0; k < p_->nkeys; k++)
		a->key_words += key_width(k);
	if (a->nwords > GPUCOL_MAX_WORDS || 2 * a->accs.size() > GPUCOL_MAX_WORDS || a->key_words > GPUCOL_MAX_KEY_WORDS || p_->nkeys > 64)
		throw unsupported("more aggregates or keys than the device takes");
	a->plan.naccs = a->accs.size();
	a->plan.nwords = a->nwords;
	a->plan.accs = upload(a->accs);
	plan_places(a);
	jit_program_.accs = a->accs;
	jit_program_.nwords = a->nwords;
}

/* Words of a key's value. */
int
Lowering::key_width(int k) const
{
	return array<uint8_t>(p_->reg_classes)[array<uint16_t>(p_->keys)[k]] == GPUCOL_CLASS_D ? 2 : 1;
}

/*
 * Choose the scale of each sum of floats from the exponents that occur, so that no
 * sum overflows; refuse where the bits of small values would be lost.
 */
void
Lowering::scale_floats(Aggregation *a)
{
	std::vector<unsigned long long> e(2 * a->accs.size(), 0);
	cudaEvent_t t = begin();
	int			log_rows = 1;

	while (((uint64_t) 1 << log_rows) <= rows_)
		log_rows++;
	a->plan.exponents = upload(e);
	interpret(MODE_EXPONENTS, a->plan);
	finish(t);
	e = download(a->plan.exponents, e.size());
	for (size_t i = 0; i < a->accs.size(); i++)
	{
		GpucolAcc  &acc = a->accs[i];
		int			top = (int) e[i] - 1022;
		int			bottom = 0x7ff - (int) e[a->accs.size() + i] - 1022;
		int			times = acc.op == GPUCOL_ACC_SQUARE_F ? 2 : 1;

		if (acc.op != GPUCOL_ACC_SUM_F && acc.op != GPUCOL_ACC_SQUARE_F)
			continue;

		/* a group or filter may leave out the large values: the bits of the
		 * least one must be above the binary point's end too */
		if ((p_->nkeys > 0 || acc.filter != GPUCOL_NO_REG) && e[i] > 0 &&
			SUM_BITS - log_rows - times * (top - bottom) < FLOAT_BITS)
			throw unsupported("floats of too wide a range for exact sums on the device");
		acc.scale = SUM_BITS - log_rows - times * top;
	}
	a->plan.accs = upload(a->accs);
	device_check(cudaMemsetAsync(a->plan.error, 0xff, 8, stream_), "memset");
}

/* An empty table of so many keys, at most half full. */
static void
make_keys(Scratch *scratch, GpucolHashTable *table, uint64_t capacity, int nwords, const char *what, cudaStream_t stream)
{
	table->capacity = capacity;
	table->nwords = nwords;
	table->limit = capacity / 2;
	table->state = scratch->array<uint32_t>(capacity + 1, what);
	table->used = table->state + capacity;
	table->keys = scratch->array<unsigned long long>(capacity * nwords, what);
	device_check(cudaMemsetAsync(table->state, 0, (capacity + 1) * 4, stream), "memset");
}

/* Run the program over tables of the present capacities; what it comes to. */
GpucolStatus
Lowering::fill_tables(Aggregation *a, Scratch *tables)
{
	uint64_t	cells = p_->nkeys > 0 ? a->capacity : 1;
	cudaEvent_t t = begin();

	if (p_->nkeys > 0)
		make_keys(tables, &a->plan.groups, a->capacity, a->key_words, "the groups", stream_);
	if (a->distinct)
		make_keys(tables, &a->plan.distinct, a->distinct_capacity, 2, "the distinct values", stream_);
	a->plan.table = tables->array<unsigned long long>(cells * std::max(1, a->nwords), "the groups");
	device_check(gpucol_interp_init(a->plan, cells, stream_), "init");
	interpret(MODE_AGGREGATE, a->plan);
	finish(t);
	return error_of(a->plan);
}

/* Make the tables that were too small larger. */
void
Lowering::enlarge_tables(Aggregation *a)
{
	if (p_->nkeys > 0 && download(a->plan.groups.used, 1)[0] > a->plan.groups.limit)
		a->capacity *= 16;
	if (a->distinct && download(a->plan.distinct.used, 1)[0] > a->plan.distinct.limit)
		a->distinct_capacity *= 16;
	if (a->capacity > MOST_GROUPS || a->distinct_capacity > MOST_GROUPS)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "more groups than device memory holds"};
	device_check(cudaMemsetAsync(a->plan.error, 0xff, 8, stream_), "memset");
}

/* Copy groups and their records from the device. */
void
Lowering::fetch_groups(Aggregation *a, Scratch *tables)
{
	auto		allocate = [&] (size_t bytes) { return tables->allocate(bytes, "the result"); };
	unsigned long long *k,
			   *w;

	if (p_->nkeys == 0)
	{
		a->records = download(a->plan.table, a->nwords);
		return;
	}
	a->ngroups = download(a->plan.groups.used, 1)[0];
	if (a->ngroups == 0)
		return;
	device_check(gpucol_interp_gather(a->plan, a->ngroups, allocate, &k, &w, stream_), "gather");
	a->keys = download(k, (size_t) a->ngroups * a->key_words);
	a->records = download(w, (size_t) a->ngroups * a->nwords);
}

/* Key columns of the result. */
void
Lowering::put_keys(const Aggregation &a, std::vector<char> *data)
{
	for (int k = 0, w = 1; k < p_->nkeys; k++)
	{
		int			width = key_width(k);
		size_t		at = data->size();
		unsigned long long *values;
		uint8_t    *nulls;

		extend(data, (size_t) a.ngroups * 8 * width);
		extend(data, a.ngroups);
		values = (unsigned long long *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) a.ngroups * width);
		for (uint32_t g = 0; g < a.ngroups; g++)
		{
			nulls[g] = a.keys[g] >> k & 1;
			for (int j = 0; j < width; j++)
				values[(size_t) g * width + j] = a.keys[(size_t) (w + j) * a.ngroups + g];
		}
		w += width;
	}
}

/* An extreme, which accumulators keep in the order of int64. */
static void
put_extreme(GpucolAggState *s, int cls, int64_t x)
{
	if (cls == GPUCOL_CLASS_F)
	{
		x ^= (x >> 63) & INT64_MAX;
		memcpy(&s->v.f, &x, 8);
	}
	else if (cls == GPUCOL_CLASS_D)
		set128(s, false, x);
	else
		s->v.value = x;
}

/* The state of aggregate i from a group's record; the sum of floats if it has one. */
void
Lowering::put_state(const Aggregation &a, int i, const unsigned long long *record, GpucolAggState *s, FloatSum *sum)
{
	const Aggregation::Map &m = a.maps[i];
	const GpucolAcc *square = m.w >= 0 ? &a.accs[m.w] : NULL;

	memset(s, 0, sizeof(*s));
	s->count = record[a.accs[m.count].word];
	if (m.v < 0)
		return;

	const GpucolAcc &v = a.accs[m.v];
	const unsigned long long *x = record + v.word;

	if (v.op == GPUCOL_ACC_SUM_I)
		set128(s, false, (int128) x[0] + ((int128) (int64_t) x[1] << 32));
	else if (v.op == GPUCOL_ACC_SUM_D)
		set128(s, false, from_limbs(x));
	else if (v.op == GPUCOL_ACC_SUM_F)
		*sum = gpucol_float_sum(x[0], x[1], x[2], from_limbs(x + 3), v.scale,
								square != NULL ? from_limbs(record + square->word) : 0, square != NULL ? square->scale : 0);
	else if (v.op == GPUCOL_ACC_DISTINCT)
		s->v.value = x[0];
	else if (s->count > 0)
		put_extreme(s, array<GpucolAgg>(p_->aggs)[i].cls, x[0]);
	if (square != NULL && square->op == GPUCOL_ACC_SQUARE)
		set128(s, true, from_limbs(record + square->word));
}

/* States of all groups. */
void
Lowering::put_states(const Aggregation &a, std::vector<char> *data)
{
	size_t		n = (size_t) a.ngroups * p_->naggs;
	GpucolAggState *states = (GpucolAggState *) extend(data, n * sizeof(GpucolAggState));
	FloatSum	unused;

	if (a.floats)
		floats_.resize(n);
	for (size_t s = 0; s < n; s++)
		put_state(a, s % p_->naggs, a.records.data() + s / p_->naggs * a.nwords, &states[s], a.floats ? &floats_[s] : &unused);
}

void
Lowering::run_aggregate(std::vector<char> *data, uint64_t *nrows)
{
	Aggregation a;

	kernel_ = "program";
	plan_aggregates(&a);
	if (a.floats)
		scale_floats(&a);

	/* groups and distinct values may outgrow their tables: then again, larger */
	for (;;)
	{
		uint64_t	limit = r_.run_.memory_limit;
		Scratch		tables(lane_.device(), limit ? limit - std::min<uint64_t>(limit - 1, part_.scratch->held()) : 0);
		Settle		settle = {stream_};
		GpucolStatus status = fill_tables(&a, &tables);

		if (status == GPUCOL_OUT_OF_MEMORY)
		{
			enlarge_tables(&a);
			continue;
		}
		if (status != GPUCOL_OK)
			throw Failure{status, status == GPUCOL_UNSUPPORTED ? "a value beyond what the device computes" : "error of an expression"};
		fetch_groups(&a, &tables);
		break;
	}
	*nrows = a.ngroups;
	put_keys(a, data);
	put_states(a, data);
}
