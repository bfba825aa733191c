/*-------------------------------------------------------------------------
 *
 * rules.cu
 *	  One rule over HISA relations: a pipeline of joins, each temporarily
 *	  materialised.
 *
 * The bindings of a rule are columns of codes, one a register that a later step
 * still reads.  A join looks up the range of each binding in each run of the
 * atom's relation, sums the range sizes, and writes exactly that many new
 * bindings (two passes, no atomics), in pieces, each of which goes through the
 * rest of the rule before the next is made: memory stays bounded whatever the
 * fan-out.  Where a piece must hold many equal bindings, because there are fewer
 * different ones than it has rows, they are deduplicated first, unless their
 * number matters.
 *
 *-------------------------------------------------------------------------
 */
#include <cub/device/device_scan.cuh>

#include "kernel/recursion_values.h"
#include "cuda/base/launch.cuh"
#include "cuda/recursion/recursive_engine.h"
#include "cuda/recursion/relations.cuh"
#include "cuda/recursion/rule_columns.cuh"

namespace
{

/* Columns that a join carries along, at most. */
constexpr int MAX_CARRIED = 64;

/* Bindings that are materialised at once, at most. */
constexpr size_t PIECE = 1u << 26;

/* Codes that make up a key or its first places. */
struct Pack
{
	int			n;
	GpucolKeyOrder order;
	GpucolCodeSource parts[GPUCOL_REC_MAX_ARITY];	/* by place */

	template <class K>
	__device__ __forceinline__ K
	at(size_t i) const
	{
		K			key = {};

		for (int p = 0; p < n; p++)
			key_put(key, order, p, parts[p].at(i));
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
	const uint32_t *carried_in[MAX_CARRIED];
	uint32_t   *carried_out[MAX_CARRIED];
	int			places[GPUCOL_REC_MAX_ARITY];	/* of the bound columns in the key */
	uint32_t   *bound_out[GPUCOL_REC_MAX_ARITY];
};

template <class K>
__global__ void
find_kernel(Pack prefix, size_t n, GpucolRunView<K> run, uint32_t null_code,
			uint64_t *starts, uint64_t *counts)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start = 0;

		counts[i] = prefix.has(i, null_code) ? 0 :
			run_find(run, prefix.at<K>(i), &start);
		starts[i] = start;
	}
}

/* Rows first .. first + m - 1 of the join; ends[] are inclusive sums. */
template <class K>
__global__ void
join_kernel(uint64_t first, size_t m, size_t n, const uint64_t *starts,
			const uint64_t *ends, GpucolRunView<K> run, GpucolKeyOrder order,
			Output out)
{
	GPUCOL_FOR_EACH(t, m)
	{
		uint64_t	want = first + t;
		uint64_t	i = upper_bound(ends, n, want);
		uint64_t	before = i ? __ldg(ends + i - 1) : 0;
		K			key = key_load(run.keys + starts[i] + (want - before));

		for (int c = 0; c < out.ncarried; c++)
			out.carried_out[c][t] = out.carried_in[c][i];
		for (int c = 0; c < out.nbound; c++)
			out.bound_out[c][t] = key_code(key, order, out.places[c]);
	}
}

template <class K>
__global__ void
exists_kernel(Pack prefix, size_t n, GpucolRunView<K> run, uint32_t null_code,
			  uint8_t *found)
{
	GPUCOL_FOR_EACH(i, n)
	{
		uint64_t	start;

		if (!found[i] && !prefix.has(i, null_code) &&
			run_find(run, prefix.at<K>(i), &start) > 0)
			found[i] = 1;
	}
}

__global__ void
mark_kernel(const uint32_t *rows, size_t n, uint8_t *flags)
{
	GPUCOL_FOR_EACH(i, n)
		flags[rows[i]] = 1;
}

__global__ void
invert_kernel(uint8_t *flags, size_t n)
{
	GPUCOL_FOR_EACH(i, n)
		flags[i] = !flags[i];
}

template <class K>
__global__ void
pack_kernel(Pack pack, size_t n, K *keys)
{
	GPUCOL_FOR_EACH(i, n)
		keys[i] = pack.at<K>(i);
}

template <class K>
__global__ void
unpack_kernel(const K *keys, size_t n, GpucolKeyOrder order, int place, uint32_t *out)
{
	GPUCOL_FOR_EACH(i, n)
		out[i] = key_code(keys[i], order, place);
}

/* Executes the steps of one rule. */
template <class K>
class Rule : private GpucolRuleColumns
{
public:
	Rule(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t number)
		: GpucolRuleColumns(run, number), relations_(relations)
	{
		const GpucolRecStep &head = step(rule_.nsteps - 1);

		duplicates_matter_ = (plan_.relations[head.relation].flags & GPUCOL_REC_BAG) != 0;
	}

	void
	execute()
	{
		GpucolBindings start(rule_.nregisters);

		relations_.relieve();
		from(0, start);
	}

private:
	/* Run step s and all after it over the bindings. */
	void
	from(uint32_t s, GpucolBindings &bindings)
	{
		for (;; s++)
		{
			run_.check_cancel();
			if (bindings.n == 0)
				return;
			switch ((GpucolRecStepKind) step(s).kind)
			{
				case GPUCOL_REC_ATOM:
					join(s, bindings);
					return;
				case GPUCOL_REC_PRESENT:
				case GPUCOL_REC_ABSENT:
					probe(s, bindings);
					break;
				case GPUCOL_REC_TEST:
					test(s, bindings);
					break;
				case GPUCOL_REC_COMPUTE:
					compute(s, bindings);
					break;
				case GPUCOL_REC_AGGREGATE:
					aggregate(s, bindings);
					s += step(s).nsteps;
					break;
				case GPUCOL_REC_COLLECT:
					collect(step(s), bindings, *accumulators_);
					return;
				case GPUCOL_REC_EMIT:
					emit(s, bindings);
					return;
			}
		}
	}

	/* ---- joins ---- */

	/*
	 * Column order in which the columns that the bindings fix come first, and
	 * the prefix that they make.
	 */
	Pack
	fixed_first(const GpucolRecStep &s, const GpucolBindings &bindings) const
	{
		Pack		prefix = {};

		prefix.n = order_of(s, bindings.bound, prefix.order);
		for (int p = 0; p < prefix.n; p++)
			prefix.parts[p] = source(operand(s, prefix.order.columns[p]), bindings);
		return prefix;
	}

	/* Pass a view of each piece of the runs that a step reads. */
	template <class Body>
	void
	each_view(const GpucolRecStep &atom, const Pack &prefix, size_t lookups, Body body)
	{
		for (auto &run : relations_[atom.relation].runs(prefix.order,
														(GpucolRecVersion) atom.version))
			gpucol_hisa_pieces(run_.memory, run, [&](const GpucolRunPtr<K> &piece) {
				run_.check_cancel();
				body(piece->view(run_.memory, prefix.order, prefix.n, lookups));
			});
	}

	void
	join(uint32_t s, GpucolBindings &bindings)
	{
		Pack		prefix = fixed_first(step(s), bindings);

		each_view(step(s), prefix, bindings.n, [&](const GpucolRunView<K> &view) {
			matches(s, bindings, prefix, view, [&](GpucolBindings &next) {
				deduplicate(s, next);
				from(s + 1, next);
			});
		});
	}

	/* Pass all matches of the bindings in a run, piece by piece. */
	template <class Body>
	void
	matches(uint32_t s, const GpucolBindings &bindings, const Pack &prefix,
			const GpucolRunView<K> &view, Body body)
	{
		GpucolArray<uint64_t> starts(run_.memory, bindings.n),
					ends(run_.memory, bindings.n);
		cudaStream_t stream = run_.memory.stream;

		find_kernel<<<gpucol_launch_grid(bindings.n), GPUCOL_THREADS, 0, stream>>>
			(prefix, bindings.n, view, run_.codes.null_code(), starts.data(), ends.data());
		gpucol_check(cudaGetLastError());
		gpucol_with_scratch(run_.memory, [&](void *scratch, size_t &bytes) {
			return cub::DeviceScan::InclusiveSum(scratch, bytes, ends.data(), ends.data(),
												 (int64_t) bindings.n, stream);
		});
		uint64_t	total = ends.at(bindings.n - 1);
		size_t		bytes = 64 + 8 * rule_.nregisters;

		for (uint64_t first = 0, m; first < total; first += m)
		{
			GpucolBindings next(rule_.nregisters);

			m = std::min<uint64_t>(total - first, run_.memory.piece(bytes, PIECE));
			next.n = m;
			same_columns(s, materialise(s, bindings, prefix.order, view, starts, ends,
										first, next), next);
			if (next.n > 0)
				body(next);
		}
	}

	/*
	 * Second pass of a join: write the bindings.  Where the atom names a register
	 * twice, the second column goes to a register of its own beyond the rule's.
	 */
	GpucolRepeats
	materialise(uint32_t s, const GpucolBindings &in, const GpucolKeyOrder &order,
				const GpucolRunView<K> &view, const GpucolArray<uint64_t> &starts,
				const GpucolArray<uint64_t> &ends, uint64_t first, GpucolBindings &out)
	{
		const GpucolRecStep &atom = step(s);
		Output		columns = {};
		GpucolRepeats repeats;

		for (uint32_t r = 0; r <= origin(); r++)
			if (in.bound[r] && (read_after(s, r) || r == origin()))
			{
				if (columns.ncarried == MAX_CARRIED)
					throw GpucolFailure{GPUCOL_UNSUPPORTED};
				out.set(r, GpucolArray<uint32_t>(run_.memory, out.n));
				columns.carried_in[columns.ncarried] = in.columns[r].data();
				columns.carried_out[columns.ncarried++] = out.columns[r].data();
			}
		for (int pass = 0; pass < 2; pass++)
			for (int place = 0; place < order.arity; place++)
			{
				const GpucolRecOperand &o = operand(atom, order.columns[place]);
				uint32_t	reg = o.index;

				if (o.kind != (pass == 0 ? GPUCOL_REC_BIND : GPUCOL_REC_REGISTER) ||
					(pass == 1 && in.bound[reg]))
					continue;
				if (pass == 1)
				{
					reg = rule_.nregisters + place;
					repeats.emplace_back(o.index, reg);
				}
				out.set(reg, GpucolArray<uint32_t>(run_.memory, out.n));
				columns.places[columns.nbound] = place;
				columns.bound_out[columns.nbound++] = out.columns[reg].data();
			}
		join_kernel<<<gpucol_launch_grid(out.n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(first, out.n, in.n, starts.data(), ends.data(), view, order, columns);
		gpucol_check(cudaGetLastError());
		return repeats;
	}

	/* Drop equal bindings where they must be many and another join follows. */
	void
	deduplicate(uint32_t s, GpucolBindings &bindings)
	{
		std::vector<uint32_t> live;
		Pack		pack = {};
		double		different = 1;

		if (duplicates_matter_ || accumulators_ || step(s + 1).kind != GPUCOL_REC_ATOM)
			return;
		for (uint32_t r = 0; r < rule_.nregisters; r++)
			if (bindings.bound[r] && read_after(s, r))
				live.push_back(r);
		for (size_t i = 0; i < live.size(); i++)
			different *= (double) run_.codes.size();
		pack.order.arity = (int) live.size();
		pack.order.bits = run_.codes.bits();
		if (live.empty() || live.size() > GPUCOL_REC_MAX_ARITY ||
			!gpucol_key_fits<K>(pack.order.arity, pack.order.bits) ||
			bindings.n < 2 * different)
			return;
		for (uint32_t r : live)
			pack.parts[pack.n++] = {bindings.columns[r].data(), 0};
		GpucolArray<K> keys = packed(pack, bindings.n);

		gpucol_hisa_unique(run_.memory, keys, pack.n * pack.order.bits);
		bindings = GpucolBindings(rule_.nregisters);
		bindings.n = keys.size();
		for (int i = 0; i < pack.n; i++)
		{
			GpucolArray<uint32_t> out(run_.memory, keys.size());

			unpack_kernel<<<gpucol_launch_grid(keys.size()), GPUCOL_THREADS, 0,
				run_.memory.stream>>> (keys.data(), keys.size(), pack.order, i, out.data());
			gpucol_check(cudaGetLastError());
			bindings.set(live[i], std::move(out));
		}
	}

	GpucolArray<K>
	packed(const Pack &pack, size_t n)
	{
		GpucolArray<K> keys(run_.memory, n);

		pack_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, run_.memory.stream>>>
			(pack, n, keys.data());
		gpucol_check(cudaGetLastError());
		return keys;
	}

	/* ---- PRESENT and ABSENT ---- */

	/* Does the step name a register twice that nothing has bound before? */
	bool
	repeats_inside(const GpucolRecStep &atom, const GpucolBindings &bindings) const
	{
		for (int c = 0; c < atom.noperands; c++)
			if (operand(atom, c).kind == GPUCOL_REC_REGISTER &&
				!bindings.bound[operand(atom, c).index])
				return true;
		return false;
	}

	void
	probe(uint32_t s, GpucolBindings &bindings)
	{
		const GpucolRecStep &atom = step(s);
		Pack		prefix = fixed_first(atom, bindings);
		bool		inside = repeats_inside(atom, bindings);
		unsigned	grid = gpucol_launch_grid(bindings.n);
		GpucolArray<uint8_t> flags(run_.memory, bindings.n);

		gpucol_check(cudaMemsetAsync(flags.data(), 0, bindings.n, run_.memory.stream));
		if (inside)
			number_rows(bindings, origin());
		each_view(atom, prefix, bindings.n, [&](const GpucolRunView<K> &view) {
			if (inside)
			{
				matches(s, bindings, prefix, view, [&](GpucolBindings &found) {
					mark_kernel<<<gpucol_launch_grid(found.n), GPUCOL_THREADS, 0,
						run_.memory.stream>>>
						(found.columns[origin()].data(), found.n, flags.data());
				});
				return;
			}
			exists_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>>
				(prefix, bindings.n, view, run_.codes.null_code(), flags.data());
		});
		if (inside)
			bindings.drop(origin());
		if (atom.kind == GPUCOL_REC_ABSENT)
			invert_kernel<<<grid, GPUCOL_THREADS, 0, run_.memory.stream>>>
				(flags.data(), bindings.n);
		gpucol_check(cudaGetLastError());
		filter(s, bindings, flags);
	}

	/* ---- the rest ---- */

	void
	aggregate(uint32_t s, GpucolBindings &bindings)
	{
		GpucolAccumulators accumulators = open(step(s), bindings.n);
		GpucolAccumulators *outer = accumulators_;
		GpucolBindings body = copy(s, bindings);

		number_rows(body, step(s).origin);
		accumulators_ = &accumulators;
		from(s + 1, body);
		accumulators_ = outer;
		close(s + step(s).nsteps, accumulators, bindings);
	}

	void
	emit(uint32_t s, GpucolBindings &bindings)
	{
		const GpucolRecStep &out = step(s);
		GpucolRelation<K> &relation = relations_[out.relation];
		Pack		pack = {};

		pack.order = relation.order();
		pack.n = out.noperands;
		for (int p = 0; p < pack.n; p++)
			pack.parts[p] = source(operand(out, pack.order.columns[p]), bindings);
		relation.add(packed(pack, bindings.n));
	}

	GpucolRelations<K> &relations_;
	bool		duplicates_matter_;
	GpucolAccumulators *accumulators_ = nullptr;	/* of the aggregate around */
};

bool
step_supported(const GpucolRecStep &step)
{
	switch ((GpucolRecStepKind) step.kind)
	{
		case GPUCOL_REC_COMPUTE:
		case GPUCOL_REC_TEST:
			return step.function < GPUCOL_REC_COUNT;
		case GPUCOL_REC_AGGREGATE:
			return step.function >= GPUCOL_REC_COUNT && step.function <= GPUCOL_REC_MAX &&
				(step.function != GPUCOL_REC_SUM || step.type != GPUCOL_REC_FLOAT8);
		default:
			return true;
	}
}

/* Is the stack deep enough for a rule's joins and aggregates? */
bool
rule_supported(const GpucolRecPlan *plan, const GpucolRecRule &rule)
{
	const GpucolRecStep *steps = plan->steps + rule.steps;

	return std::count_if(steps, steps + rule.nsteps, [] (const GpucolRecStep &step) {
		return step.kind == GPUCOL_REC_ATOM || step.kind == GPUCOL_REC_AGGREGATE;
	}) <= GPUCOL_REC_DEVICE_LEVELS;
}

}								/* namespace */

bool
gpucol_rules_supported(const GpucolRecPlan *plan)
{
	for (uint32_t i = 0; i < plan->nsteps; i++)
		if (!step_supported(plan->steps[i]))
			return false;
	for (uint32_t i = 0; i < plan->nrules; i++)
		if (!rule_supported(plan, plan->rules[i]))
			return false;
	return true;
}

template <class K>
void
gpucol_rules_run(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t rule)
{
	Rule<K>(run, relations, rule).execute();
}

#define INSTANTIATE(K) \
	template void gpucol_rules_run(GpucolDeviceRun &, GpucolRelations<K> &, uint32_t);

GPUCOL_FOR_KEYS(INSTANTIATE)
