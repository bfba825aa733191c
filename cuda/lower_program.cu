/*-------------------------------------------------------------------------
 *
 * lower_program.cu
 *	  Programs that no special kernel knows: their plan, and aggregates from it.
 *
 *-------------------------------------------------------------------------
 */
#include "lowering.cuh"

#include <algorithm>

/* Interpreted groups and distinct values to begin with. */
static const uint32_t FIRST_CAPACITY = 1 << 16;

/* Bits that the least float of a sum must keep. */
static const int FLOAT_BITS = 48;

GpucolInterpPlan
Lowering::interp_plan()
{
	GpucolInterpPlan plan = {};
	std::vector<GpucolInstr> instrs(array<GpucolInstr>(p_->instrs), array<GpucolInstr>(p_->instrs) + p_->ninstrs);
	std::vector<GpucolConst> consts(array<GpucolConst>(p_->consts), array<GpucolConst>(p_->consts) + p_->nconsts);
	std::vector<const uint8_t *> host(GPUCOL_WIRE_MAX_HOST, NULL);
	std::vector<uint32_t> host_size(GPUCOL_WIRE_MAX_HOST, 0);
	const GpucolProgramColumn *columns = array<GpucolProgramColumn>(p_->columns);
	std::vector<uint64_t> none(1, ~0ull);

	for (GpucolInstr &in : instrs)
	{
		if (in.op == GPUCOL_OP_IN_I)
		{
			in.aux = 0;
			for (int i = 0; i < in.c; i++)
				in.aux |= consts[in.b + i].isnull != 0;
		}
		if (in.op == GPUCOL_OP_HOST_TEST)
		{
			Incoming   *results = r_.object(GPUCOL_PUT_HOST, in.aux, 0);

			if (results == NULL)
				throw unsupported("a host test without results");
			host[in.aux] = (const uint8_t *) results->device[part_.share];
			host_size[in.aux] = results->total - 1;
		}
		if (in.op == GPUCOL_OP_LOAD_D)
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				if (!chunk.all_null && (chunk.kind != GPUCOL_KIND_DECIMAL || chunk.scale > columns[in.aux].scale))
					throw unsupported("a column whose scale was changed");
			}
		if (in.op == GPUCOL_OP_LOAD_S)
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				if (!chunk.all_null && chunk.remap == NULL && chunk.width > 0 && segments_[s].number < r_.run_.nsegments)
					throw unsupported("a column of bytes without a dictionary");
			}
	}
	jit_program_ = {instrs, p_->nfilter_instrs, p_->filter,
		std::vector<uint16_t>(array<uint16_t>(p_->keys), array<uint16_t>(p_->keys) + p_->nkeys),
		std::vector<uint8_t>(array<uint8_t>(p_->reg_classes), array<uint8_t>(p_->reg_classes) + p_->nregs),
		{}, {}, 0, &chunks_, r_.run_.ncolumns};
	plan.scan = scan_;
	plan.instrs = upload(instrs);
	plan.consts = upload(consts);
	plan.columns = upload(std::vector<GpucolProgramColumn>(columns, columns + p_->ncolumns));
	plan.keys = upload(jit_program_.keys);
	plan.classes = upload(jit_program_.classes);
	plan.host = upload(host);
	plan.host_size = upload(host_size);
	plan.ninstrs = p_->ninstrs;
	plan.nfilter_instrs = p_->nfilter_instrs;
	plan.filter = p_->filter;
	plan.nkeys = p_->nkeys;
	plan.error = (unsigned long long *) upload(none);
	device_check(cudaStreamSynchronize(stream_), "could not copy to the device");
	return plan;
}

/* The function of a compiled kernel if it may be used, else NULL. */
const void *
Lowering::use(const JitHandle &kernel)
{
	if (!kernel)
		note_ = gpucol_jit_miss;
	else if (kernel->rejected())
		note_ = "a compiled kernel answered wrongly and is not used";
	if (!kernel || kernel->rejected())
		return NULL;
	if (!kernel->proven() && !on_trial_)
		trial_.claim(kernel);
	if (!kernel->proven() && !(on_trial_ && trial_.has(kernel)))
		return NULL;
	compiled_.push_back(kernel);
	return kernel->function();
}

/* Run the program in one mode, by a kernel of its own if there is one. */
void
Lowering::interpret(InterpMode mode, const GpucolInterpPlan &plan)
{
	const void *compiled = jit_allowed() ? use(gpucol_jit_interp(mode, jit_program_)) : NULL;

	device_check(gpucol_interp_launch(mode, plan, compiled, stream_), "program");
}

/* What the rows' errors come to. */
GpucolStatus
Lowering::error_of(const GpucolInterpPlan &plan)
{
	unsigned long long e = download(plan.error, 1)[0];

	return e == ~0ull ? GPUCOL_OK : (GpucolStatus) (e & 0xff);
}

/* Accumulators of the aggregates, shared where equal. */
struct Accumulators
{
	std::vector<GpucolAcc> accs;
	int			nwords = 0;

	int
	find(GpucolAccOp op, const GpucolAgg &agg)
	{
		static const int words[] = {1, 2, 3, 6, 3, 3, 1, 1, 1};
		uint16_t	arg = agg.op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : agg.arg;

		for (size_t i = 0; i < accs.size(); i++)
			if (accs[i].op == op && accs[i].arg == arg && accs[i].filter == agg.filter)
				return i;
		accs.push_back({(uint8_t) op, agg.cls, arg, agg.filter, (uint16_t) nwords, 0, 0});
		nwords += words[op];
		return accs.size() - 1;
	}
};

static int128
from_limbs(const unsigned long long *w)
{
	return (int128) ((uint128) w[0] + ((uint128) w[1] << 32) + ((uint128) w[2] << 64));
}

void
Lowering::run_aggregate(std::vector<char> *data, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	Accumulators a;
	struct Map
	{
		int			count,
					v,
					w;
	};
	std::vector<Map> maps;
	const uint8_t *classes = array<uint8_t>(p_->reg_classes);
	bool		floats = false,
				distinct = false;
	uint64_t	capacity = FIRST_CAPACITY,
				set_capacity = 1 << 20;
	int			key_words = 1;
	uint32_t	ngroups = 1;
	std::vector<unsigned long long> keys,
				records;

	kernel_ = "program";
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		bool		f = agg.cls == GPUCOL_CLASS_F;
		bool		d = agg.cls == GPUCOL_CLASS_D;
		Map			m = {a.find(GPUCOL_ACC_COUNT, agg), -1, -1};

		switch (agg.op)
		{
			case GPUCOL_AGG_COUNT_STAR:
			case GPUCOL_AGG_COUNT:
				break;
			case GPUCOL_AGG_SUM:
			case GPUCOL_AGG_SUMSQ:
				if (!f && !d && agg.cls != GPUCOL_CLASS_I)
					throw unsupported("a sum of this class");
				m.v = a.find(f ? GPUCOL_ACC_SUM_F : d ? GPUCOL_ACC_SUM_D : GPUCOL_ACC_SUM_I, agg);
				if (agg.op == GPUCOL_AGG_SUMSQ)
					m.w = a.find(f ? GPUCOL_ACC_SQUARE_F : GPUCOL_ACC_SQUARE, agg);
				floats |= f;
				break;
			case GPUCOL_AGG_MIN:
			case GPUCOL_AGG_BOOL_AND:
				if (agg.cls == GPUCOL_CLASS_S)
					throw unsupported("an extreme of bytes");
				m.v = a.find(GPUCOL_ACC_MIN, agg);
				break;
			case GPUCOL_AGG_MAX:
			case GPUCOL_AGG_BOOL_OR:
				if (agg.cls == GPUCOL_CLASS_S)
					throw unsupported("an extreme of bytes");
				m.v = a.find(GPUCOL_ACC_MAX, agg);
				break;
			case GPUCOL_AGG_COUNT_DISTINCT:
				if (d)
					throw unsupported("a count of distinct decimals");
				m.v = a.find(GPUCOL_ACC_DISTINCT, agg);
				distinct = true;
				break;
			default:
				throw unsupported("an aggregate that the device does not know");
		}
		maps.push_back(m);
	}
	for (int k = 0; k < p_->nkeys; k++)
		key_words += classes[array<uint16_t>(p_->keys)[k]] == GPUCOL_CLASS_D ? 2 : 1;
	if (a.nwords > GPUCOL_MAX_WORDS || 2 * a.accs.size() > GPUCOL_MAX_WORDS || key_words > GPUCOL_MAX_KEY_WORDS || p_->nkeys > 64)
		throw unsupported("more aggregates or keys than the device takes");
	plan.naccs = a.accs.size();
	plan.nwords = a.nwords;
	plan.accs = upload(a.accs);
	jit_program_.accs = a.accs;
	jit_program_.nwords = a.nwords;
	if (floats)
	{
		std::vector<unsigned long long> e(2 * a.accs.size(), 0);
		cudaEvent_t t = begin();
		int			log_rows = 1;

		while (((uint64_t) 1 << log_rows) <= rows_)
			log_rows++;
		plan.exponents = upload(e);
		interpret(MODE_EXPONENTS, plan);
		finish(t);
		e = download(plan.exponents, e.size());
		for (size_t i = 0; i < a.accs.size(); i++)
		{
			int			top = (int) e[i] - 1022;
			int			bottom = 0x7ff - (int) e[a.accs.size() + i] - 1022;
			int			times = a.accs[i].op == GPUCOL_ACC_SQUARE_F ? 2 : 1;

			/* a group or filter may leave out the large values: the bits of the
			 * least one must be above the binary point's end too */
			if ((p_->nkeys > 0 || a.accs[i].filter != GPUCOL_NO_REG) && e[i] > 0 &&
				(a.accs[i].op == GPUCOL_ACC_SUM_F || times == 2) &&
				125 - log_rows - times * (top - bottom) < FLOAT_BITS)
				throw unsupported("floats of too wide a range for exact sums on the device");

			if (a.accs[i].op == GPUCOL_ACC_SUM_F)
				a.accs[i].scale = 125 - log_rows - top;
			else if (a.accs[i].op == GPUCOL_ACC_SQUARE_F)
				a.accs[i].scale = 125 - log_rows - 2 * top;
		}
		plan.accs = upload(a.accs);
		device_check(cudaMemsetAsync(plan.error, 0xff, 8, stream_), "memset");
	}

	/* groups and distinct values may outgrow their tables: then again, larger */
	for (;;)
	{
		Scratch		tables(lane_.device(), r_.run_.memory_limit ? r_.run_.memory_limit - std::min<uint64_t>(r_.run_.memory_limit - 1, part_.scratch->held()) : 0);
		cudaEvent_t t = begin();
		GpucolStatus status;

		if (p_->nkeys > 0)
		{
			plan.groups.capacity = capacity;
			plan.groups.nwords = key_words;
			plan.groups.limit = capacity / 2;
			plan.groups.state = tables.array<uint32_t>(capacity + 1, "the groups");
			plan.groups.used = plan.groups.state + capacity;
			plan.groups.keys = tables.array<unsigned long long>(capacity * key_words, "the groups");
			device_check(cudaMemsetAsync(plan.groups.state, 0, (capacity + 1) * 4, stream_), "memset");
		}
		if (distinct)
		{
			plan.distinct.capacity = set_capacity;
			plan.distinct.nwords = 2;
			plan.distinct.limit = set_capacity / 2;
			plan.distinct.state = tables.array<uint32_t>(set_capacity + 1, "the distinct values");
			plan.distinct.used = plan.distinct.state + set_capacity;
			plan.distinct.keys = tables.array<unsigned long long>(set_capacity * 2, "the distinct values");
			device_check(cudaMemsetAsync(plan.distinct.state, 0, (set_capacity + 1) * 4, stream_), "memset");
		}
		plan.table = tables.array<unsigned long long>((p_->nkeys > 0 ? capacity : 1) * std::max(1, a.nwords), "the groups");
		device_check(gpucol_interp_init(plan, p_->nkeys > 0 ? capacity : 1, stream_), "init");
		interpret(MODE_AGGREGATE, plan);
		finish(t);
		status = error_of(plan);
		if (status == GPUCOL_OUT_OF_MEMORY)
		{
			if (p_->nkeys > 0 && download(plan.groups.used, 1)[0] > plan.groups.limit)
				capacity *= 16;
			if (distinct && download(plan.distinct.used, 1)[0] > plan.distinct.limit)
				set_capacity *= 16;
			if (capacity > ((uint64_t) 1 << 30) || set_capacity > ((uint64_t) 1 << 30))
				throw Failure{status, "more groups than device memory holds"};
			device_check(cudaMemsetAsync(plan.error, 0xff, 8, stream_), "memset");
			continue;
		}
		if (status != GPUCOL_OK)
			throw Failure{status, status == GPUCOL_UNSUPPORTED ? "a value beyond what the device computes" : "error of an expression"};
		if (p_->nkeys == 0)
			records = download(plan.table, a.nwords);
		else
		{
			ngroups = download(plan.groups.used, 1)[0];
			if (ngroups > 0)
			{
				auto		allocate = [&] (size_t bytes) { return tables.allocate(bytes, "the result"); };
				unsigned long long *k,
						   *w;

				device_check(gpucol_interp_gather(plan, ngroups, allocate, &k, &w, stream_), "gather");
				keys = download(k, (size_t) ngroups * key_words);
				records = download(w, (size_t) ngroups * a.nwords);
			}
		}
		break;
	}
	*nrows = ngroups;
	for (int k = 0, w = 1; k < p_->nkeys; k++)
	{
		bool		wide = classes[array<uint16_t>(p_->keys)[k]] == GPUCOL_CLASS_D;
		int			width = wide ? 2 : 1;
		size_t		at = data->size();
		unsigned long long *values;
		uint8_t    *nulls;

		extend(data, (size_t) ngroups * 8 * width);
		extend(data, ngroups);
		values = (unsigned long long *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) ngroups * width);
		for (uint32_t g = 0; g < ngroups; g++)
		{
			nulls[g] = keys[g] >> k & 1;
			for (int j = 0; j < width; j++)
				values[(size_t) g * width + j] = keys[(size_t) (w + j) * ngroups + g];
		}
		w += width;
	}

	GpucolAggState *states = (GpucolAggState *) extend(data, (size_t) ngroups * p_->naggs * sizeof(GpucolAggState));

	for (uint32_t g = 0; g < ngroups; g++)
		for (int i = 0; i < p_->naggs; i++)
		{
			const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
			const unsigned long long *w = records.data() + (size_t) g * a.nwords;
			GpucolAggState *s = &states[(size_t) g * p_->naggs + i];
			const Map  &m = maps[i];

			memset(s, 0, sizeof(*s));
			s->count = w[a.accs[m.count].word];
			if (m.v < 0)
				continue;

			const GpucolAcc &v = a.accs[m.v];
			const unsigned long long *x = w + v.word;

			if (v.op == GPUCOL_ACC_SUM_I)
				set128(s, false, (int128) x[0] + ((int128) (int64_t) x[1] << 32));
			else if (v.op == GPUCOL_ACC_SUM_D)
				set128(s, false, from_limbs(x));
			else if (v.op == GPUCOL_ACC_SUM_F)
			{
				floats_.resize((size_t) ngroups * p_->naggs);
				floats_[(size_t) g * p_->naggs + i] =
					gpucol_float_sum(x[0], x[1], x[2], from_limbs(x + 3), v.scale,
									 m.w >= 0 ? from_limbs(w + a.accs[m.w].word) : 0, m.w >= 0 ? a.accs[m.w].scale : 0);
			}
			else if (v.op == GPUCOL_ACC_DISTINCT)
				s->v.value = x[0];
			else if (s->count > 0)
			{
				int64_t		y = x[0];

				if (agg.cls == GPUCOL_CLASS_F)
				{
					y ^= (y >> 63) & INT64_MAX;
					memcpy(&s->v.f, &y, 8);
				}
				else if (agg.cls == GPUCOL_CLASS_D)
					set128(s, false, y);
				else
					s->v.value = y;
			}
			if (m.w >= 0 && a.accs[m.w].op == GPUCOL_ACC_SQUARE)
				set128(s, true, from_limbs(w + a.accs[m.w].word));
		}
}
