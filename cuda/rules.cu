/*-------------------------------------------------------------------------
 *
 * rules.cu
 *	  One rule over HISA relations: a pipeline of joins, each temporarily
 *	  materialised.
 *
 * The bindings of a rule are columns of codes, one a register that a later step
 * still reads.  A join looks up the range of each binding in each run of the
 * atom's relation, sums the range sizes, and writes exactly that many new
 * bindings (two passes, no atomics), in pieces of at most PIECE rows, each of
 * which goes through the rest of the rule before the next is made: memory stays
 * bounded whatever the fan-out.  Where a piece must hold many equal bindings,
 * because there are fewer different ones than it has rows, they are
 * deduplicated first.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include "recursive.cuh"
#include "launch.cuh"

namespace
{

constexpr int MAX_REGISTERS = 64;

/* Bindings that are materialised at once. */
constexpr uint64_t PIECE = 1u << 26;

/* Emitted keys that are kept before they are deduplicated. */
constexpr size_t FRESH_LIMIT = (size_t) 1 << 28;

/* Where a code comes from: a register's column, or a constant. */
struct Source
{
	const uint32_t *column;		/* NULL = constant */
	uint32_t	constant;

	__device__ __forceinline__ uint32_t
	at(size_t i) const
	{
		return column ? column[i] : constant;
	}
};

/* Codes that make up a key or a prefix, highest first. */
struct Pack
{
	int			n;
	int			bits;
	Source		parts[32];

	__device__ __forceinline__ uint64_t
	at(size_t i) const
	{
		uint64_t	key = 0;

		for (int p = 0; p < n; p++)
			key = key << bits | parts[p].at(i);
		return key;
	}

	/* Is a part the code of NULL, which matches nothing? */
	__device__ __forceinline__ bool
	has(size_t i, uint32_t null_code) const
	{
		bool		any = false;

		if (null_code == UINT32_MAX)
			return false;
		for (int p = 0; p < n; p++)
			any |= parts[p].at(i) == null_code;
		return any;
	}
};

/* Columns of a join's output. */
struct Output
{
	int			ncarried;
	int			nbound;
	const uint32_t *carried_in[MAX_REGISTERS];
	uint32_t   *carried_out[MAX_REGISTERS];
	int			places[32];		/* of the bound columns in the key */
	uint32_t   *bound_out[32];
};

__global__ void
find_kernel(Pack prefix, size_t n, GpucolRunView run, uint32_t null_code,
			uint64_t *starts, uint64_t *counts)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start = 0;

		counts[i] = prefix.has(i, null_code) ? 0 : run_find(run, prefix.at(i), &start);
		starts[i] = start;
	}
}

/* Rows first .. first + m - 1 of the join; ends[] are inclusive sums. */
__global__ void
join_kernel(uint64_t first, size_t m, size_t n, const uint64_t *starts,
			const uint64_t *ends, GpucolRunView run, GpucolKeyOrder order,
			Output out)
{
	GPUCOL_FOR_EACH(t, m)
	{
		uint64_t	want = first + t;
		uint64_t	i = lower_bound(ends, n, want + 1);
		uint64_t	before = i ? __ldg(ends + i - 1) : 0;
		uint64_t	key = __ldg(run.keys + starts[i] + (want - before));

		for (int c = 0; c < out.ncarried; c++)
			out.carried_out[c][t] = out.carried_in[c][i];
		for (int c = 0; c < out.nbound; c++)
			out.bound_out[c][t] = order.code(key, out.places[c]);
	}
}

__global__ void
exists_kernel(Pack prefix, size_t n, GpucolRunView run, uint32_t null_code,
			  uint8_t *found)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start;

		if (!found[i] && !prefix.has(i, null_code) && run_find(run, prefix.at(i), &start) > 0)
			found[i] = 1;
	}
}

__global__ void
invert_kernel(uint8_t *flags, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		flags[i] = !flags[i];
}

__global__ void
test_kernel(int function, Source a, Source b, size_t n, uint32_t null_code,
			uint8_t *keep)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint32_t	x = a.at(i),
					y = b.at(i);
		bool		ok = false;

		switch (function)
		{
			case GPUCOL_REC_EQ:
				ok = x == y;
				break;
			case GPUCOL_REC_NE:
				ok = x != y;
				break;
			case GPUCOL_REC_LT:
				ok = x < y;
				break;
			case GPUCOL_REC_LE:
				ok = x <= y;
				break;
			case GPUCOL_REC_GT:
				ok = x > y;
				break;
			case GPUCOL_REC_GE:
				ok = x >= y;
				break;
		}
		keep[i] = ok && x != null_code && y != null_code;
	}
}

__global__ void
iota_kernel(uint32_t *out, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = (uint32_t) i;
}

__global__ void
gather_kernel(const uint32_t *in, const uint32_t *rows, size_t n, uint32_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = in[rows[i]];
}

__global__ void
fill_kernel(uint32_t *out, size_t n, uint32_t value)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = value;
}

__global__ void
pack_kernel(Pack pack, size_t n, uint64_t *keys)
{
	GPUCOL_FOR_EACH(i, n)
		keys[i] = pack.at(i);
}

__global__ void
unpack_kernel(const uint64_t *keys, size_t n, int shift, uint32_t mask, uint32_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = (uint32_t) (keys[i] >> shift) & mask;
}

/* Per block: count, sum, min, max of the values at one place of the keys. */
__global__ void
summarise_kernel(const uint64_t *keys, size_t n, GpucolKeyOrder order, int place,
				 const int64_t *values, uint32_t null_code, GpucolRowSummary *out)
{
	__shared__ GpucolRowSummary warps[GPUCOL_THREADS / 32];
	GpucolRowSummary own = summary_empty();

	GPUCOL_FOR_EACH(i, n)
		if (order.code(keys[i], place) != null_code)
			summary_add(own, __ldg(values + order.code(keys[i], place)));
	summary_reduce(own);
	if (threadIdx.x % 32 == 0)
		warps[threadIdx.x / 32] = own;
	__syncthreads();
	if (threadIdx.x == 0)
	{
		for (int w = 1; w < GPUCOL_THREADS / 32; w++)
		{
			own.count += warps[w].count;
			own.sum += warps[w].sum;
			own.min = min(own.min, warps[w].min);
			own.max = max(own.max, warps[w].max);
		}
		out[blockIdx.x] = own;
	}
}

/* Columns of codes, by register; n rows. */
struct Bindings
{
	size_t		n = 1;
	std::vector<GpucolArray<uint32_t>> columns;
	std::vector<bool> bound;

	explicit Bindings(uint32_t nregisters)
		: columns(nregisters + 32), bound(nregisters + 32) {}
};

/* Pairs of registers that must agree. */
typedef std::vector<std::pair<uint32_t, uint32_t>> Repeats;

/* Executes the steps of one rule. */
class Rule
{
public:
	Rule(GpucolDeviceRun &run, uint32_t number)
		: run_(run), plan_(*run.plan), rule_(plan_.rules[number]) {}

	void
	execute()
	{
		Bindings	start(rule_.nregisters);

		from(0, start);
	}

private:
	const GpucolRecStep &step(uint32_t s) const { return plan_.steps[rule_.steps + s]; }
	const GpucolRecOperand &
	operand(const GpucolRecStep &s, int i) const
	{
		return plan_.operands[s.operands + i];
	}

	/* Run step s and all after it over the bindings. */
	void
	from(uint32_t s, Bindings &bindings)
	{
		run_.check_cancel();
		if (bindings.n == 0)
			return;
		switch (step(s).kind)
		{
			case GPUCOL_REC_ATOM:
				join(s, bindings);
				break;
			case GPUCOL_REC_PRESENT:
			case GPUCOL_REC_ABSENT:
				probe(s, bindings);
				break;
			case GPUCOL_REC_TEST:
				test(s, bindings);
				break;
			case GPUCOL_REC_COMPUTE:
				copy(s, bindings);
				break;
			case GPUCOL_REC_EMIT:
				emit(s, bindings);
				break;
		}
	}

	Source
	source(const GpucolRecOperand &o, const Bindings &bindings) const
	{
		if (o.kind == GPUCOL_REC_CONSTANT)
			return {nullptr, plan_.constants[o.index].isnull ? run_.null_code() :
				run_.code(plan_.constants[o.index].value)};
		return {bindings.columns[o.index].data(), 0};
	}

	/* Is the register read by a step after s? */
	bool
	read_after(uint32_t s, uint16_t reg) const
	{
		for (uint32_t t = s + 1; t < rule_.nsteps; t++)
			for (int i = 0; i < step(t).noperands; i++)
				if (operand(step(t), i).kind == GPUCOL_REC_REGISTER &&
					operand(step(t), i).index == reg)
					return true;
		return false;
	}

	/*
	 * Column order in which the columns that the bindings fix come first, and
	 * the prefix that they make; returns how many.
	 */
	int
	fixed_first(const GpucolRecStep &s, const Bindings &bindings,
				GpucolKeyOrder &order, Pack &prefix) const
	{
		int			places = 0;

		order.arity = s.noperands;
		order.bits = run_.bits;
		prefix.bits = run_.bits;
		for (int pass = 0, at = 0; pass < 2; pass++)
			for (int c = 0; c < s.noperands; c++)
			{
				const GpucolRecOperand &o = operand(s, c);
				bool		fixed = o.kind == GPUCOL_REC_CONSTANT ||
					(o.kind == GPUCOL_REC_REGISTER && bindings.bound[o.index]);

				if (fixed != (pass == 0))
					continue;
				if (fixed)
					prefix.parts[places++] = source(o, bindings);
				order.columns[at++] = (uint8_t) c;
			}
		prefix.n = places;
		return places;
	}

	void
	join(uint32_t s, Bindings &bindings)
	{
		const GpucolRecStep &atom = step(s);
		GpucolKeyOrder order;
		Pack		prefix;
		int			places = fixed_first(atom, bindings, order, prefix);

		for (auto &r : run_.runs(atom.relation, order, (GpucolRecVersion) atom.version))
			join_run(s, bindings, order, prefix,
					 r->view(run_.memory, order, places, bindings.n));
	}

	void
	join_run(uint32_t s, Bindings &bindings, const GpucolKeyOrder &order,
			 const Pack &prefix, const GpucolRunView &view)
	{
		GpucolArray<uint64_t> starts(run_.memory, bindings.n),
					ends(run_.memory, bindings.n);
		cudaStream_t stream = run_.memory.stream;

		find_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, stream>>>
			(prefix, bindings.n, view, run_.null_code(), starts.data(), ends.data());
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(run_.memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceScan::InclusiveSum(scratch, bytes, ends.data(), ends.data(),
												 (int64_t) bindings.n, stream);
		});
		uint64_t	total = ends.at(bindings.n - 1);

		for (uint64_t first = 0; first < total; first += PIECE)
		{
			size_t		m = total - first < PIECE ? total - first : PIECE;
			Bindings	next(rule_.nregisters);

			next.n = m;
			same_columns(s, materialise(s, bindings, order, view, starts, ends,
										first, next), next);
			deduplicate(s, next);
			from(s + 1, next);
		}
	}

	/*
	 * Second pass of a join: write the bindings.  Where the atom names a register
	 * twice, the second column goes to a register of its own beyond the rule's.
	 */
	Repeats
	materialise(uint32_t s, const Bindings &in, const GpucolKeyOrder &order,
				const GpucolRunView &view, const GpucolArray<uint64_t> &starts,
				const GpucolArray<uint64_t> &ends, uint64_t first, Bindings &out)
	{
		const GpucolRecStep &atom = step(s);
		Output		columns = {};
		Repeats		repeats;

		for (uint32_t r = 0; r < rule_.nregisters; r++)
			if (in.bound[r] && read_after(s, (uint16_t) r))
			{
				out.columns[r] = GpucolArray<uint32_t>(run_.memory, out.n);
				out.bound[r] = true;
				columns.carried_in[columns.ncarried] = in.columns[r].data();
				columns.carried_out[columns.ncarried++] = out.columns[r].data();
			}
		for (int place = 0; place < order.arity; place++)
		{
			const GpucolRecOperand &o = operand(atom, order.columns[place]);

			if (o.kind != GPUCOL_REC_BIND)
				continue;
			out.columns[o.index] = GpucolArray<uint32_t>(run_.memory, out.n);
			out.bound[o.index] = true;
			columns.places[columns.nbound] = place;
			columns.bound_out[columns.nbound++] = out.columns[o.index].data();
		}
		for (int place = 0; place < order.arity; place++)
		{
			const GpucolRecOperand &o = operand(atom, order.columns[place]);
			uint32_t	extra = rule_.nregisters + place;

			if (o.kind != GPUCOL_REC_REGISTER || in.bound[o.index])
				continue;
			out.columns[extra] = GpucolArray<uint32_t>(run_.memory, out.n);
			out.bound[extra] = true;
			columns.places[columns.nbound] = place;
			columns.bound_out[columns.nbound++] = out.columns[extra].data();
			repeats.emplace_back(o.index, extra);
		}
		join_kernel<<<gpucol_launch_grid(out.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(first, out.n, in.n, starts.data(), ends.data(), view, order, columns);
		gpucol_check(cudaGetLastError());
		return repeats;
	}

	/* Drop equal bindings where they must be many and another join follows. */
	void
	deduplicate(uint32_t s, Bindings &bindings)
	{
		std::vector<uint32_t> live;
		Pack		pack = {};
		double		different = 1;

		for (uint32_t r = 0; r < rule_.nregisters; r++)
			if (bindings.bound[r] && read_after(s, (uint16_t) r))
				live.push_back(r);
		for (size_t i = 0; i < live.size(); i++)
			different *= (double) run_.values.size();
		if (step(s + 1).kind != GPUCOL_REC_ATOM || live.empty() ||
			live.size() * run_.bits > 64 || bindings.n < 2 * different)
			return;
		pack.bits = run_.bits;
		for (uint32_t r : live)
			pack.parts[pack.n++] = Source{bindings.columns[r].data(), 0};
		GpucolKeys	keys(run_.memory, bindings.n);

		pack_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0,
			run_.memory.stream>>> (pack, bindings.n, keys.data());
		gpucol_check(cudaGetLastError());
		gpucol_hisa_unique(run_.memory, keys, pack.n * run_.bits);
		bindings = Bindings(rule_.nregisters);
		bindings.n = keys.size();
		for (size_t i = 0; i < live.size(); i++)
		{
			GpucolArray<uint32_t> out(run_.memory, keys.size());

			unpack_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0,
				run_.memory.stream>>>
				(keys.data(), keys.size(), run_.bits * (int) (live.size() - 1 - i),
				 (uint32_t) ((1ull << run_.bits) - 1), out.data());
			gpucol_check(cudaGetLastError());
			bindings.columns[live[i]] = std::move(out);
			bindings.bound[live[i]] = true;
		}
	}

	/* Keep the rows in which columns of one register agree. */
	void
	same_columns(uint32_t s, const Repeats &repeats, Bindings &bindings)
	{
		for (const auto &pair : repeats)
		{
			GpucolArray<uint8_t> keep(run_.memory, bindings.n);

			if (bindings.n == 0)
				return;
			test_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
				(GPUCOL_REC_EQ, Source{bindings.columns[pair.first].data(), 0},
				 Source{bindings.columns[pair.second].data(), 0}, bindings.n,
				 run_.null_code(), keep.data());
			gpucol_check(cudaGetLastError());
			filter(s, bindings, keep, true);
		}
	}

	/* Keep the rows with a flag; columns no later step reads are dropped. */
	void
	filter(uint32_t s, Bindings &bindings, const GpucolArray<uint8_t> &keep,
		   bool all = false)
	{
		size_t		n = bindings.n;
		GpucolArray<uint32_t> every(run_.memory, n),
					rows(run_.memory, n);
		GpucolArray<unsigned long long> count(run_.memory, 1);

		iota_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, run_.memory.stream>>> (every.data(), n);
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(run_.memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceSelect::Flagged(scratch, bytes, every.data(), keep.data(),
											  rows.data(), count.data(), (int64_t) n,
											  run_.memory.stream);
		});
		bindings.n = count.at(0);
		if (bindings.n == n)
			return;
		for (size_t r = 0; r < bindings.columns.size(); r++)
		{
			if (!bindings.bound[r])
				continue;
			if (!all && !read_after(s, (uint16_t) r))
			{
				bindings.columns[r] = GpucolArray<uint32_t>();
				bindings.bound[r] = false;
				continue;
			}
			GpucolArray<uint32_t> out(run_.memory, bindings.n);

			if (bindings.n > 0)
			{
				gather_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
					(bindings.columns[r].data(), rows.data(), bindings.n, out.data());
				gpucol_check(cudaGetLastError());
			}
			bindings.columns[r] = std::move(out);
		}
	}

	void
	probe(uint32_t s, Bindings &bindings)
	{
		const GpucolRecStep &atom = step(s);
		GpucolKeyOrder order;
		Pack		prefix;
		int			places = fixed_first(atom, bindings, order, prefix);
		GpucolArray<uint8_t> flags(run_.memory, bindings.n);

		gpucol_check(cudaMemsetAsync(flags.data(), 0, bindings.n, run_.memory.stream));
		for (auto &r : run_.runs(atom.relation, order, (GpucolRecVersion) atom.version))
		{
			exists_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
				(prefix, bindings.n, r->view(run_.memory, order, places, bindings.n),
				 run_.null_code(), flags.data());
			gpucol_check(cudaGetLastError());
		}
		if (atom.kind == GPUCOL_REC_ABSENT)
		{
			invert_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
				(flags.data(), bindings.n);
			gpucol_check(cudaGetLastError());
		}
		filter(s, bindings, flags);
		from(s + 1, bindings);
	}

	void
	test(uint32_t s, Bindings &bindings)
	{
		GpucolArray<uint8_t> keep(run_.memory, bindings.n);

		test_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(step(s).function, source(operand(step(s), 0), bindings),
			 source(operand(step(s), 1), bindings), bindings.n, run_.null_code(),
			 keep.data());
		gpucol_check(cudaGetLastError());
		filter(s, bindings, keep);
		from(s + 1, bindings);
	}

	/* COMPUTE is only COPY here. */
	void
	copy(uint32_t s, Bindings &bindings)
	{
		Source		from_source = source(operand(step(s), 0), bindings);
		GpucolArray<uint32_t> out(run_.memory, bindings.n);

		if (from_source.column)
			gpucol_check(cudaMemcpyAsync(out.data(), from_source.column,
										 bindings.n * sizeof(uint32_t),
										 cudaMemcpyDeviceToDevice,
										 run_.memory.stream));
		else
		{
			fill_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
				(out.data(), bindings.n, from_source.constant);
			gpucol_check(cudaGetLastError());
		}
		bindings.columns[step(s).target] = std::move(out);
		bindings.bound[step(s).target] = true;
		from(s + 1, bindings);
	}

	void
	emit(uint32_t s, Bindings &bindings)
	{
		const GpucolRecStep &out = step(s);
		GpucolDeviceRelation &relation = run_.relations[out.relation];
		GpucolKeys	keys(run_.memory, bindings.n);
		Pack		pack;

		pack.n = out.noperands;
		pack.bits = run_.bits;
		for (int c = 0; c < out.noperands; c++)
			pack.parts[c] = source(operand(out, c), bindings);
		pack_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(pack, bindings.n, keys.data());
		gpucol_check(cudaGetLastError());
		relation.nfresh += keys.size();
		relation.fresh.push_back(std::move(keys));
		if (relation.nfresh > FRESH_LIMIT)
			run_.settle_fresh(out.relation);
	}

	GpucolDeviceRun &run_;
	const GpucolRecPlan &plan_;
	const GpucolRecRule &rule_;
};

/* Do all columns of the plan compare as signed integers do? */
bool
all_integers(const GpucolRecPlan *plan)
{
	for (uint32_t i = 0; i < plan->ntypes; i++)
		if (plan->types[i] != GPUCOL_REC_INT2 && plan->types[i] != GPUCOL_REC_INT4 &&
			plan->types[i] != GPUCOL_REC_INT8)
			return false;
	return true;
}

bool
step_supported(const GpucolRecPlan *plan, const GpucolRecStep &step)
{
	switch (step.kind)
	{
		case GPUCOL_REC_ATOM:
		case GPUCOL_REC_EMIT:
			return true;
		case GPUCOL_REC_PRESENT:
		case GPUCOL_REC_ABSENT:
			for (int i = 0; i < step.noperands; i++)
				if (plan->operands[step.operands + i].kind == GPUCOL_REC_BIND)
					return false;
			return true;
		case GPUCOL_REC_COMPUTE:
			return step.function == GPUCOL_REC_COPY;
		case GPUCOL_REC_TEST:
			if (step.function == GPUCOL_REC_EQ || step.function == GPUCOL_REC_NE)
				return true;
			return step.function >= GPUCOL_REC_LT && step.function <= GPUCOL_REC_GE &&
				all_integers(plan);
		default:
			return false;
	}
}

}								/* namespace */

bool
gpucol_rules_supported(const GpucolRecPlan *plan)
{
	for (uint32_t i = 0; i < plan->nrelations; i++)
		if (plan->relations[i].arity == 0 || plan->relations[i].arity > 32 ||
			((plan->relations[i].flags & GPUCOL_REC_BAG) &&
			 (plan->relations[i].flags & (GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT))) ||
			plan->relations[i].merge != GPUCOL_REC_MERGE_NONE)
			return false;
	for (uint32_t i = 0; i < plan->nrules; i++)
		if (plan->rules[i].nregisters > MAX_REGISTERS)
			return false;
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (!step_supported(plan, plan->steps[i]))
			return false;
	return true;
}

void
gpucol_rules_run(GpucolDeviceRun &run, uint32_t rule)
{
	Rule(run, rule).execute();
}

void
gpucol_rules_summarise(GpucolDeviceRun &run, const GpucolKeys &keys,
					   const GpucolKeyOrder &order, GpucolRecSummary *columns)
{
	unsigned	blocks = gpucol_launch_grid(keys.size());
	GpucolArray<GpucolRowSummary> partial(run.memory, blocks);
	std::vector<GpucolRowSummary> host(blocks);

	for (int place = 0; place < order.arity && keys.size() > 0; place++)
	{
		GpucolRecSummary &column = columns[order.columns[place]];

		summarise_kernel<<<blocks, GPUCOL_THREADS, 0, run.memory.stream>>>
			(keys.data(), keys.size(), order, place, run.device_values.data(),
			 run.null_code(), partial.data());
		gpucol_check(cudaGetLastError());
		gpucol_check(cudaMemcpyAsync(host.data(), partial.data(),
									 blocks * sizeof(host[0]),
									 cudaMemcpyDeviceToHost, run.memory.stream));
		gpucol_check(cudaStreamSynchronize(run.memory.stream));
		for (const auto &h : host)
		{
			if (h.count == 0)
				continue;
			if (column.count == 0 || h.min < column.min)
				column.min = h.min;
			if (column.count == 0 || h.max > column.max)
				column.max = h.max;
			column.count += h.count;
			column.sum += h.sum;
		}
	}
}
