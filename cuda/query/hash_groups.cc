/*-------------------------------------------------------------------------
 *
 * hash_groups.cc
 *	  Aggregates of any program, groups by hash.
 *
 * Floats are added as integers of one scale, which a first pass over their exponents
 * chooses, so that a sum does not depend on the order of the rows.  Tables of groups and
 * of distinct values grow: where one is too small the program runs again.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/hash_groups.cuh"

#include <algorithm>

/* Groups and distinct values to begin with, and at most. */
static const uint64_t FIRST_GROUPS = (uint64_t) 1 << 16;
static const uint64_t FIRST_DISTINCT = (uint64_t) 1 << 20;
static const uint64_t MOST_GROUPS = (uint64_t) 1 << 30;

/* Bits that the least float of a sum must keep, and bits of its integers. */
static const int FLOAT_BITS = 48;
static const int SUM_BITS = 125;

/* An empty table of so many keys, at most half full. */
static void
make_keys(Scratch *scratch, GpucolDeviceTable *table, uint64_t capacity, int nwords, const char *what,
		  cudaStream_t stream)
{
	table->capacity = capacity;
	table->nwords = nwords;
	table->limit = capacity / 2;
	table->state = scratch->array<uint32_t>(capacity + 1, what);
	table->used = table->state + capacity;
	table->keys = scratch->array<unsigned long long>(capacity * nwords, what);
	device_check(cudaMemsetAsync(table->state, 0, (capacity + 1) * 4, stream), "memset");
}

HashGroups::HashGroups(PartContext &c) : c_(c), program_(c), capacity_(FIRST_GROUPS), distinct_capacity_(FIRST_DISTINCT)
{
	for (const GpucolAgg &agg : c.program.aggs())
		accumulators_.add(agg);
	for (size_t k = 0; k < c.program.keys().size(); k++)
		key_words_ += c.program.key_width(k);
	if (accumulators_.nwords > GPUCOL_MAX_WORDS || 2 * accumulators_.accs.size() > GPUCOL_MAX_WORDS ||
		key_words_ > GPUCOL_MAX_KEY_WORDS || c.program.keys().size() > 64)
		throw unsupported("more aggregates or keys than the device takes");
	program_.set_accumulators(accumulators_.accs, accumulators_.nwords);
	place_strings();
}

/* The places of byte strings, for accumulators of the least and greatest. */
void
HashGroups::place_strings()
{
	const std::vector<GpucolAcc> &accs = accumulators_.accs;
	std::vector<const uint32_t *> places(accs.size(), NULL);
	std::vector<uint32_t> n(accs.size(), 0);

	for (size_t i = 0; i < accs.size(); i++)
	{
		const GpucolInstr *load = c_.program.load_of(accs[i].arg);
		const Object *order;

		if (accs[i].cls != GPUCOL_CLASS_S || (accs[i].op != GPUCOL_ACC_MIN && accs[i].op != GPUCOL_ACC_MAX))
			continue;
		if (load == NULL || load->op != GPUCOL_OP_LOAD_S)
			throw unsupported("an extreme of bytes that are no column's");
		order = c_.task.object(GPUCOL_PUT_ORDER, accs[i].order, load->aux);
		if (order == NULL)
			throw unsupported("an extreme of bytes without their places");
		places[i] = c_.task.on_device<uint32_t>(*order);
		n[i] = order->bytes() / sizeof(uint32_t);
	}
	program_.plan.places = c_.device.upload(places);
	program_.plan.nplaces = c_.device.upload(n);
}

/*
 * Choose the scale of each sum of floats from the exponents that occur, so that no
 * sum overflows; refuse where the bits of small values would be lost.
 */
void
HashGroups::scale_floats()
{
	std::vector<GpucolAcc> &accs = accumulators_.accs;
	std::vector<unsigned long long> e(2 * accs.size(), 0);
	cudaEvent_t t = c_.device.mark();
	uint64_t	rows;
	int			log_rows = 1;

	program_.plan.exponents = c_.device.upload(e);
	program_.run(MODE_EXPONENTS);
	c_.device.finish(t);
	e = c_.device.download(program_.plan.exponents, e.size());
	rows = program_.joined_rows();
	while (rows >> log_rows > 0)
		log_rows++;
	for (size_t i = 0; i < accs.size(); i++)
	{
		GpucolAcc  &acc = accs[i];
		int			top = (int) e[i] - 1022;
		int			bottom = 0x7ff - (int) e[accs.size() + i] - 1022;
		int			times = acc.op == GPUCOL_ACC_SQUARE_F ? 2 : 1;

		if (acc.op != GPUCOL_ACC_SUM_F && acc.op != GPUCOL_ACC_SQUARE_F)
			continue;

		/* a group or filter may leave out the large values: the bits of the
		 * least one must be above the binary point's end too */
		if ((c_.program.keys().size() > 0 || acc.filter != GPUCOL_NO_REG) && e[i] > 0 &&
			SUM_BITS - log_rows - times * (top - bottom) < FLOAT_BITS)
			throw unsupported("floats of too wide a range for exact sums on the device");
		acc.scale = SUM_BITS - log_rows - times * top;
	}
	program_.set_accumulators(accs, accumulators_.nwords);
	program_.clear_error();
}

/* Run the program over tables of the present capacities; what it comes to. */
GpucolStatus
HashGroups::fill(Scratch *tables)
{
	bool		keyed = c_.program.keys().size() > 0;
	uint64_t	cells = keyed ? capacity_ : 1;
	cudaStream_t stream = c_.device.stream();
	GpucolInterpPlan &plan = program_.plan;
	cudaEvent_t t = c_.device.mark();

	if (keyed)
		make_keys(tables, &plan.groups, capacity_, key_words_, "the groups", stream);
	if (accumulators_.distinct)
		make_keys(tables, &plan.distinct, distinct_capacity_, 2, "the distinct values", stream);
	plan.table = tables->array<unsigned long long>(cells * std::max(1, accumulators_.nwords), "the groups");
	device_check(gpucol_interp_init(plan, cells, stream), "init");
	program_.run(MODE_AGGREGATE);
	c_.device.finish(t);
	return program_.status();
}

/* Make the tables that were too small larger. */
void
HashGroups::enlarge()
{
	auto		is_full =
		[this] (const GpucolDeviceTable &table) { return c_.device.download(table.used, 1)[0] > table.limit; };

	if (c_.program.keys().size() > 0 && is_full(program_.plan.groups))
		capacity_ *= 16;
	if (accumulators_.distinct && is_full(program_.plan.distinct))
		distinct_capacity_ *= 16;
	if (capacity_ > MOST_GROUPS || distinct_capacity_ > MOST_GROUPS)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "more groups than device memory holds"};
	program_.clear_error();
}

/* Copy groups and their records from the device. */
void
HashGroups::fetch(Scratch *tables)
{
	const GpucolInterpPlan &plan = program_.plan;
	auto		allocate = [&] (size_t bytes) { return tables->allocate(bytes, "the result"); };
	unsigned long long *k,
			   *w;

	if (c_.program.keys().size() == 0)
	{
		records_ = c_.device.download(plan.table, accumulators_.nwords);
		return;
	}
	ngroups_ = c_.device.download(plan.groups.used, 1)[0];
	if (ngroups_ == 0)
		return;
	device_check(gpucol_interp_gather(plan, ngroups_, allocate, &k, &w, c_.device.stream()), "gather");
	keys_ = c_.device.download(k, (size_t) ngroups_ * key_words_);
	records_ = c_.device.download(w, (size_t) ngroups_ * accumulators_.nwords);
}

/* Room for n more bytes of a result, whose parts begin at words; where they begin. */
static size_t
extend(std::vector<char> *data, size_t n)
{
	size_t		at = data->size();

	data->resize(at + (n + 7) / 8 * 8);
	return at;
}

/* Key columns of the result. */
void
HashGroups::put_keys(std::vector<char> *data) const
{
	for (size_t k = 0, w = 1; k < c_.program.keys().size(); k++)
	{
		size_t		width = c_.program.key_width(k);
		size_t		at = extend(data, (size_t) ngroups_ * 8 * width);
		unsigned long long *values;
		uint8_t    *nulls;

		extend(data, ngroups_);
		values = (unsigned long long *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) ngroups_ * width);
		for (uint32_t g = 0; g < ngroups_; g++)
		{
			nulls[g] = keys_[g] >> k & 1;
			for (size_t j = 0; j < width; j++)
				values[(size_t) g * width + j] = keys_[(size_t) (w + j) * ngroups_ + g];
		}
		w += width;
	}
}

/* States of all groups. */
void
HashGroups::put_states(Partial *result) const
{
	size_t		naggs = c_.program.aggs().size();
	size_t		n = ngroups_ * naggs;
	size_t		at = extend(&result->data, n * sizeof(GpucolAggState));
	GpucolAggState *states = (GpucolAggState *) (result->data.data() + at);
	FloatSum	unused;

	if (accumulators_.floats)
		result->floats.resize(n);
	for (size_t s = 0; s < n; s++)
		accumulators_.put_state(s % naggs, records_.data() + s / naggs * accumulators_.nwords, &states[s],
								accumulators_.floats ? &result->floats[s] : &unused);
}

void
HashGroups::run(Partial *result)
{
	uint64_t	limit = c_.task.run.head().memory_limit;

	result->kernel = "program";
	if (accumulators_.floats)
		scale_floats();

	/* groups and distinct values may outgrow their tables: then again, larger */
	for (;;)
	{
		Scratch		tables(c_.device.lane().device(),
						   limit ? limit - std::min<uint64_t>(limit - 1, c_.device.scratch().held()) : 0);
		Settle		settle = {c_.device.stream()};
		GpucolStatus status = fill(&tables);

		if (status == GPUCOL_OUT_OF_MEMORY)
		{
			enlarge();
			continue;
		}
		if (status != GPUCOL_OK)
			throw Failure{status, status == GPUCOL_UNSUPPORTED ? "a value beyond what the device computes" :
						  "error of an expression"};
		fetch(&tables);
		break;
	}
	result->nrows = ngroups_;
	program_.put_figures(result);
	put_keys(&result->data);
	put_states(result);
}
