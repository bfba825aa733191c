/*-------------------------------------------------------------------------
 *
 * special.cu
 *	  Strata whose fixpoint closure.cu or same_generation.cu evaluates without a HISA:
 *	  what they look like in a plan, and their results.
 *
 * A stratum is taken over after its first delta (the base) is known, if it
 * derives one binary relation that no later stratum reads, by
 *
 *		  r(x,z) :- r(x,y), e(y,z)		or its mirror image		(closure)
 *		  r(x,z) :- r(x,y), r(y,z)		for each delta			(closure of the base)
 *		  r(x,y) :- e(a,x), r(a,b), f(b,y)						(same generation)
 *
 * in any atom order and with edges written either way round, if there are no
 * NULLs, and if the domain
 * fits the kernels' shared memory and, for same generation, its matrices fit the
 * memory that is free.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>

#include "cuda/recursion/closure.cuh"
#include "cuda/recursion/key.cuh"
#include "cuda/base/launch.cuh"
#include "cuda/recursion/recursive.cuh"
#include "cuda/recursion/same_generation.cuh"

namespace
{

/* Rows that a closure materialises at a time. */
constexpr uint64_t PIECE = 1u << 25;

/* rows[i] = first key whose high column is i or more. */
__global__ void
rows_kernel(const uint64_t *keys, size_t nkeys, int bits, uint32_t n, uint32_t *rows)
{
	GPUCOL_FOR_EACH(i, (size_t) n + 1)
		rows[i] = (uint32_t) lower_bound(keys, nkeys, (uint64_t) i << bits);
}

__global__ void
targets_kernel(const uint64_t *keys, size_t nkeys, int bits, uint32_t *targets)
{
	GPUCOL_FOR_EACH(i, nkeys)
		targets[i] = (uint32_t) (keys[i] & ((1ull << bits) - 1));
}

/* Keys of closure rows: source s has nodes[offsets[s] - base] and on. */
__global__ void
keys_kernel(const uint64_t *offsets, uint32_t first, uint32_t n, uint64_t base,
			const uint32_t *nodes, size_t nrows, int bits, bool swapped,
			uint64_t *keys)
{
	GPUCOL_FOR_EACH(t, nrows)
	{
		uint64_t	source = first - 1 +
			lower_bound(offsets + first, n, base + t + 1);
		uint64_t	node = nodes[t];

		keys[t] = swapped ? node << bits | source : source << bits | node;
	}
}

__global__ void
pairs_to_keys_kernel(uint64_t *pairs, size_t n, int bits)
{
	GPUCOL_FOR_EACH(i, n)
		pairs[i] = (pairs[i] >> 32) << bits | (uint32_t) pairs[i];
}

__global__ void
set_bits_kernel(const uint64_t *keys, size_t n, int bits, uint64_t *pairs)
{
	GPUCOL_FOR_EACH(i, n)
		pairs[i] = (keys[i] >> bits) << 32 | (keys[i] & ((1ull << bits) - 1));
}

/* A binary relation as compressed rows. */
struct Csr
{
	GpucolArray<uint32_t> rows;
	GpucolArray<uint32_t> targets;

	GpucolCsr csr() const { return {rows.data(), targets.data()}; }
};

/* Column `from` to the other, of all rows of a relation. */
Csr
make_csr(GpucolDeviceRun &run, GpucolPairSource &source, uint32_t relation, int from)
{
	GpucolDeviceMemory &memory = run.memory;
	uint32_t	n = (uint32_t) run.codes.size();
	GpucolArray<uint64_t> pairs = source.pairs(relation, from);
	Csr			csr;

	if (pairs.size() > UINT32_MAX)
		throw GpucolFailure{GPUCOL_UNSUPPORTED};
	csr.rows = GpucolArray<uint32_t>(memory, (size_t) n + 1);
	csr.targets = GpucolArray<uint32_t>(memory, pairs.size());
	rows_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, memory.stream>>>
		(pairs.data(), pairs.size(), run.codes.bits(), n, csr.rows.data());
	targets_kernel<<<gpucol_launch_grid(pairs.size()), GPUCOL_THREADS, 0, memory.stream>>>
		(pairs.data(), pairs.size(), run.codes.bits(), csr.targets.data());
	gpucol_check(cudaGetLastError());
	return csr;
}

/* Summaries of both columns from those of each row of a relation. */
uint64_t
summarise_rows(GpucolDeviceRun &run, const GpucolArray<GpucolRowSummary> &rows,
			   GpucolRecSummary *carried, GpucolRecSummary *other)
{
	std::vector<GpucolRowSummary> host(rows.size());
	const std::vector<int64_t> &values = run.codes.host();
	uint64_t	total = 0;

	gpucol_check(cudaMemcpyAsync(host.data(), rows.data(),
								 rows.size() * sizeof(host[0]),
								 cudaMemcpyDeviceToHost, run.memory.stream));
	gpucol_check(cudaStreamSynchronize(run.memory.stream));
	*carried = *other = GpucolRecSummary{};
	for (size_t i = 0; i < host.size(); i++)
	{
		const GpucolRowSummary &h = host[i];

		if (h.count == 0)
			continue;
		if (total == 0 || h.min < other->min)
			other->min = h.min;
		if (total == 0 || h.max > other->max)
			other->max = h.max;
		carried->min = total == 0 ? values[i] : std::min(carried->min, values[i]);
		carried->max = total == 0 ? values[i] : std::max(carried->max, values[i]);
		carried->sum += (__int128) values[i] * (__int128) h.count;
		other->sum += h.sum;
		total += h.count;
	}
	carried->count = other->count = total;
	return total;
}

/* ---- closure ---- */

class ClosureStratum : public GpucolSpecialStratum
{
public:
	ClosureStratum(GpucolDeviceRun &run, GpucolPairSource &source, uint32_t relation,
				 uint32_t edges, int edge_from, int carried)
		: run_(run), carried_(carried), start_(make_csr(run, source, relation, carried)),
		  edge_(make_csr(run, source, edges, edge_from)),
		  rows_(run.memory, run.codes.size())
	{
		uint32_t	n = (uint32_t) run.codes.size();

		closure_ = {n, n, start_.csr(), edge_.csr(), run.codes.device(),
			max_depth(run, relation == edges), run.cancel.flag()};
		scratch_ = GpucolArray<char>(run.memory, gpucol_closure_scratch(&closure_));
		gpucol_check(gpucol_closure_count(&closure_, scratch_.data(), rows_.data(),
										  run.memory.stream));
		run.wait();
		if (closure_.max_depth)
			check_depth();
	}

	uint64_t
	summarise(GpucolRecSummary *columns) override
	{
		return run_.progress.full = summarise_rows(run_, rows_, &columns[carried_],
												   &columns[1 - carried_]);
	}

	bool
	next(GpucolArray<uint64_t> &keys) override
	{
		uint32_t	n = (uint32_t) run_.codes.size(),
					end;
		cudaStream_t stream = run_.memory.stream;

		if (offsets_.empty())
			sum_counts();
		if (at_ == n)
			return false;
		for (end = at_ + 1; end < n && host_[end + 1] - host_[at_] <= PIECE; end++)
			;
		size_t		nrows = host_[end] - host_[at_];
		GpucolArray<uint32_t> nodes(run_.memory, nrows);

		keys = GpucolArray<uint64_t>(run_.memory, nrows);
		if (nrows > 0)
		{
			gpucol_check(gpucol_closure_rows(&closure_, at_, end - at_,
											 offsets_.data(), scratch_.data(),
											 nodes.data(), stream));
			keys_kernel<<<gpucol_launch_grid(nrows), GPUCOL_THREADS, 0, stream>>>
				(offsets_.data(), at_ + 1, end - at_, host_[at_], nodes.data(),
				 nrows, run_.codes.bits(), carried_ == 1, keys.data());
			gpucol_check(cudaGetLastError());
			run_.wait();		/* a cancelled search leaves rows out */
		}
		at_ = end;
		return true;
	}

private:
	/*
	 * First level below the base that the limit on rounds does not allow; 0 =
	 * all are.  A round of r(x,z) :- r(x,y), r(y,z) doubles the paths' length.
	 */
	static uint32_t
	max_depth(const GpucolDeviceRun &run, bool square)
	{
		uint64_t	rounds = (uint64_t) run.options.max_rounds,
					depth = rounds;

		if (square && rounds)
			depth = rounds > 32 ? UINT64_MAX : 1ull << (rounds - 1);
		return depth < run.codes.size() ? (uint32_t) depth : 0;
	}

	/* Did the searches stay above the limit? */
	void
	check_depth()
	{
		GpucolClosureDepth depth;

		gpucol_check(cudaMemcpyAsync(&depth, scratch_.data(), sizeof(depth),
									 cudaMemcpyDeviceToHost, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		run_.progress.rounds += depth.deepest;
		if (depth.too_deep)
			throw GpucolFailure{GPUCOL_ROUNDS_EXCEEDED};
		closure_.max_depth = 0;	/* rows are read without looking again */
	}

	/* Exclusive sums of the counts, here and on the device. */
	void
	sum_counts()
	{
		size_t		n = run_.codes.size();
		std::vector<GpucolRowSummary> rows(n);

		gpucol_check(cudaMemcpyAsync(rows.data(), rows_.data(), n * sizeof(rows[0]),
									 cudaMemcpyDeviceToHost, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		host_.assign(n + 1, 0);
		for (size_t i = 0; i < n; i++)
			host_[i + 1] = host_[i] + rows[i].count;
		offsets_ = GpucolArray<uint64_t>(run_.memory, n + 1);
		gpucol_check(cudaMemcpyAsync(offsets_.data(), host_.data(),
									 (n + 1) * sizeof(uint64_t),
									 cudaMemcpyHostToDevice, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
	}

	GpucolDeviceRun &run_;
	int			carried_;
	Csr			start_,
				edge_;
	GpucolArray<GpucolRowSummary> rows_;
	GpucolArray<char> scratch_;
	GpucolArray<uint64_t> offsets_;
	GpucolClosure closure_;
	std::vector<uint64_t> host_;
	uint32_t	at_ = 0;
};

/* ---- same generation ---- */

/* A zeroed bit matrix. */
struct Matrix
{
	GpucolArray<uint32_t> words;
	GpucolArray<uint8_t> tiles;
	GpucolBitMatrix m;

	Matrix(GpucolDeviceMemory &memory, uint32_t ntiles)
		: words(memory, (size_t) ntiles * ntiles * GPUCOL_TILE * GPUCOL_TILE_WORDS),
		  tiles(memory, (size_t) ntiles * ntiles),
		  m{words.data(), tiles.data(), ntiles}
	{
		gpucol_check(cudaMemsetAsync(words.data(), 0, m.bytes(), memory.stream));
		gpucol_check(cudaMemsetAsync(tiles.data(), 0, tiles.size(), memory.stream));
	}
};

uint32_t
tiles_for(const GpucolDeviceRun &run)
{
	return (uint32_t) ((run.codes.size() + GPUCOL_TILE - 1) / GPUCOL_TILE);
}

class SameGenerationStratum : public GpucolSpecialStratum
{
public:
	/* left and right lead from a to x and from b to y. */
	SameGenerationStratum(GpucolDeviceRun &run, GpucolPairSource &source, uint32_t relation,
				  uint32_t left, int left_from, uint32_t right, int right_from)
		: run_(run), full_(run.memory, tiles_for(run)),
		  rows_(run.memory, run.codes.size())
	{
		uint32_t	n = (uint32_t) run.codes.size();
		cudaStream_t stream = run.memory.stream;
		Csr			left_edges = make_csr(run, source, left, left_from),
					right_edges = make_csr(run, source, right, right_from);
		Matrix		half(run.memory, tiles_for(run)),
					delta(run.memory, tiles_for(run)),
					turned(run.memory, tiles_for(run));
		size_t		capacity = std::max<size_t>((size_t) n * n / 512, 1 << 16);
		GpucolArray<uint64_t> list0(run.memory, capacity),
					list1(run.memory, capacity);
		GpucolArray<unsigned long long> counters(run.memory, 3);
		GpucolSameGeneration plan = {n, left_edges.csr(), right_edges.csr(),
			(double) (left_edges.targets.size() + right_edges.targets.size()) / 2 / n,
			(uint64_t) run.options.max_rounds};
		GpucolSameGenerationSpace space = {full_.m, half.m, delta.m, turned.m,
			{{list0.data(), counters.data(), capacity},
			{list1.data(), counters.data() + 1, capacity}}, counters.data() + 2};
		GpucolArray<uint64_t> base = source.pairs(relation, 0),
					pairs(run.memory, base.size());
		unsigned long long fresh = base.size();

		set_bits_kernel<<<gpucol_launch_grid(base.size()), GPUCOL_THREADS, 0, stream>>>
			(base.data(), base.size(), run.codes.bits(), pairs.data());
		gpucol_check(cudaGetLastError());
		for (auto &m : {full_.m, delta.m})
			gpucol_check(gpucol_bitmatrix_from_list({pairs.data(), nullptr, 0}, base.size(),
													m, stream));
		gpucol_check(gpucol_same_generation_run(&plan, &space, &fresh, run.cancel,
										 [&run](uint64_t, uint64_t delta) {
											 run.progress.full += delta;
											 run.note_rounds(1, delta);
										 }, stream));
		run.check_cancel();
		if (fresh > 0)
			throw GpucolFailure{GPUCOL_ROUNDS_EXCEEDED};
		gpucol_check(gpucol_bitmatrix_summarise(full_.m, n, run.codes.device(),
												rows_.data(), stream));
		gpucol_check(cudaStreamSynchronize(stream));
	}

	uint64_t
	summarise(GpucolRecSummary *columns) override
	{
		return summarise_rows(run_, rows_, &columns[0], &columns[1]);
	}

	/* As many rows of tiles as make a piece, emptying the matrix. */
	bool
	next(GpucolArray<uint64_t> &keys) override
	{
		GpucolArray<unsigned long long> count(run_.memory, 1);
		cudaStream_t stream = run_.memory.stream;
		uint32_t	end = at_;
		uint64_t	n = 0;

		if (tile_rows_.empty())
			count_tile_rows();
		if (at_ == full_.m.ntiles)
			return false;
		do
			n += tile_rows_[end++];
		while (end < full_.m.ntiles && n + tile_rows_[end] <= PIECE);
		keys = GpucolArray<uint64_t>(run_.memory, n);
		gpucol_check(cudaMemsetAsync(count.data(), 0, sizeof(unsigned long long), stream));
		gpucol_check(gpucol_bitmatrix_to_list(full_.m, at_, end - at_,
											  {keys.data(), count.data(), n}, stream));
		pairs_to_keys_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream>>>
			(keys.data(), n, run_.codes.bits());
		gpucol_check(cudaGetLastError());
		at_ = end;
		return true;
	}

private:
	/* Pairs in each row of tiles. */
	void
	count_tile_rows()
	{
		std::vector<GpucolRowSummary> rows(rows_.size());

		gpucol_check(cudaMemcpyAsync(rows.data(), rows_.data(),
									 rows.size() * sizeof(rows[0]),
									 cudaMemcpyDeviceToHost, run_.memory.stream));
		gpucol_check(cudaStreamSynchronize(run_.memory.stream));
		tile_rows_.assign(full_.m.ntiles, 0);
		for (size_t i = 0; i < rows.size(); i++)
			tile_rows_[i / GPUCOL_TILE] += rows[i].count;
	}

	GpucolDeviceRun &run_;
	Matrix		full_;
	GpucolArray<GpucolRowSummary> rows_;
	std::vector<uint64_t> tile_rows_;
	uint32_t	at_ = 0;		/* row of tiles to be read next */
};

/* ---- recognition ---- */

/* A binary atom over two different registers. */
struct Edge
{
	uint32_t	relation;
	uint16_t	column[2];		/* registers */

	/* The column that is register r, or -1. */
	int
	at(uint16_t r) const
	{
		return column[0] == r ? 0 : column[1] == r ? 1 : -1;
	}
};

/* Read a rule as binary atoms and an EMIT (last); false if it is not. */
bool
read_rule(const GpucolRecPlan *plan, uint32_t number, std::vector<Edge> &edges)
{
	const GpucolRecRule &rule = plan->rules[number];

	edges.clear();
	for (uint32_t s = 0; s < rule.nsteps; s++)
	{
		const GpucolRecStep &step = plan->steps[rule.steps + s];
		const GpucolRecOperand *o = plan->operands + step.operands;

		if (step.kind != (s + 1 == rule.nsteps ? GPUCOL_REC_EMIT : GPUCOL_REC_ATOM) ||
			step.noperands != 2)
			return false;
		for (int i = 0; i < 2; i++)
			if (o[i].kind != GPUCOL_REC_BIND && o[i].kind != GPUCOL_REC_REGISTER)
				return false;
		if (o[0].index == o[1].index)
			return false;
		edges.push_back({step.relation, {o[0].index, o[1].index}});
	}
	return true;
}

/* r(x,z) :- r(x,y), e(y,z): which column is carried, where edges leave from. */
bool
read_closure(const std::vector<Edge> &edges, uint32_t relation, uint32_t *other,
			 int *edge_from, int *carried)
{
	if (edges.size() != 3)
		return false;
	const Edge &emit = edges[2];

	for (int r = 0; r < 2; r++)
	{
		const Edge &self = edges[r],
				   &edge = edges[1 - r];

		if (self.relation != relation || edge.relation == relation)
			continue;
		for (int c = 0; c < 2; c++)
			if (self.column[c] == emit.column[c] &&
				edge.at(self.column[1 - c]) >= 0 &&
				edge.column[1 - edge.at(self.column[1 - c])] == emit.column[1 - c])
			{
				*other = edge.relation;
				*edge_from = edge.at(self.column[1 - c]);
				*carried = c;
				return true;
			}
	}
	return false;
}

/* r(x,z) :- r(x,y), r(y,z), in either order of the atoms. */
bool
read_square(const std::vector<Edge> &edges, uint32_t relation)
{
	if (edges.size() != 3 || edges[0].relation != relation ||
		edges[1].relation != relation)
		return false;
	for (int r = 0; r < 2; r++)
		if (edges[r].column[1] == edges[1 - r].column[0] &&
			edges[2].column[0] == edges[r].column[0] &&
			edges[2].column[1] == edges[1 - r].column[1])
			return true;
	return false;
}

/* r(x,y) :- e(a,x), r(a,b), f(b,y). */
bool
read_same_generation(const std::vector<Edge> &edges, uint32_t relation, uint32_t *sides,
			  int *from)
{
	if (edges.size() != 4)
		return false;
	const Edge &emit = edges[3];

	for (int r = 0; r < 3; r++)
	{
		if (edges[r].relation != relation || edges[r].at(emit.column[0]) >= 0 ||
			edges[r].at(emit.column[1]) >= 0)
			continue;
		int			found = 0;

		for (int e = 0; e < 3; e++)
			for (int side = 0; side < 2 && e != r; side++)
			{
				int			at = edges[e].at(edges[r].column[side]);

				if (edges[e].relation != relation && at >= 0 &&
					edges[e].column[1 - at] == emit.column[side])
				{
					sides[side] = edges[e].relation;
					from[side] = at;
					found |= 1 << side;
				}
			}
		return found == 3;
	}
	return false;
}

/* The one binary relation that the stratum derives, if no other reads it. */
bool
lone_relation(const GpucolRecPlan *plan, uint32_t stratum, uint32_t *relation,
			  std::vector<uint32_t> &rules)
{
	bool		any = false;

	for (uint32_t i = 0; i < plan->nrules; i++)
	{
		const GpucolRecRule &rule = plan->rules[i];
		uint32_t	target = plan->steps[rule.steps + rule.nsteps - 1].relation;

		if (rule.stratum != stratum)
			continue;
		if (any && target != *relation)
			return false;
		any = true;
		*relation = target;
		if (rule.flags & GPUCOL_REC_RECURSIVE)
			rules.push_back(i);
	}
	return any && plan->relations[*relation].arity == 2 &&
		plan->relations[*relation].merge == GPUCOL_REC_MERGE_NONE &&
		!(plan->relations[*relation].flags & (GPUCOL_REC_READ | GPUCOL_REC_BAG));
}

}								/* namespace */

std::unique_ptr<GpucolSpecialStratum>
gpucol_special_start(GpucolDeviceRun &run, GpucolPairSource &source, uint32_t stratum,
					uint32_t *relation)
{
	std::vector<uint32_t> rules;
	std::vector<Edge> edges;
	uint32_t	other,
				sides[2];
	int			from[2],
				carried;
	size_t		n = run.codes.size(),
				matrix = (n + GPUCOL_TILE) * (n + GPUCOL_TILE) / 8,
				available = 0,
				total;

	if (run.options.strategy == GPUCOL_REC_HISA || run.codes.has_null() ||
		!lone_relation(run.plan, stratum, relation, rules) ||
		!read_rule(run.plan, rules[0], edges))
		return nullptr;
	if (n <= gpucol_closure_max_nodes())
	{
		if (rules.size() == 1 &&
			read_closure(edges, *relation, &other, &from[0], &carried))
		{
			run.progress.method = "closure";
			return std::unique_ptr<GpucolSpecialStratum>(
				new ClosureStratum(run, source, *relation, other, from[0], carried));
		}
		if (rules.size() == 2 && read_square(edges, *relation) &&
			read_rule(run.plan, rules[1], edges) && read_square(edges, *relation))
		{
			run.progress.method = "closure";
			return std::unique_ptr<GpucolSpecialStratum>(
				new ClosureStratum(run, source, *relation, *relation, 0, 0));
		}
	}
	if (rules.size() != 1 || n > gpucol_bitmatrix_max_nodes() ||
		!read_same_generation(edges, *relation, sides, from))
		return nullptr;
	gpucol_check(cudaMemGetInfo(&available, &total));
	if (run.memory.limit)
		available = std::min(available, run.memory.limit - run.memory.held);
	if (5 * matrix > available)
		return nullptr;
	run.progress.method = "bit matrices";
	return std::unique_ptr<GpucolSpecialStratum>(
		new SameGenerationStratum(run, source, *relation, sides[0], from[0], sides[1], from[1]));
}
