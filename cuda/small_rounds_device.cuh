/*-------------------------------------------------------------------------
 *
 * small_rounds_device.cuh
 *	  The kernel that interprets the program of small rounds
 *	  (small_rounds_program.cuh).
 *
 * All threads of the grid walk through the steps together; between two steps is a
 * barrier.  The bindings of a rule are columns of codes in one of two banks: a step that
 * changes the rows reads one bank and writes the other.  Rows are appended in no
 * particular order: the lanes of a warp sum up what they have and take so many places
 * from a counter, the cell of the step.
 *
 * A round ends in settling what was emitted.  Each new row is looked up in the
 * relation's table by its group: the row itself or, where rows are merged, all its
 * columns but the last.  The first of a group claims a slot and asks the runs.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_DEVICE_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_DEVICE_CUH

#include <cooperative_groups.h>

#include "cancel.cuh"
#include "small_rounds_program.cuh"

#ifdef __CUDACC__

constexpr uint32_t ROUND_CANDIDATE = 0x80000000u;
constexpr uint32_t ROUND_CLAIMED = 0x80000000u;
constexpr uint32_t ROUND_PENDING = UINT32_MAX - 1;

/* What the lanes of a warp share. */
struct RoundWarp
{
	uint32_t	ends[32];
	uint64_t	starts[32];
};

/* Interprets a program; every thread has one. */
template <class K> class Rounds
{
public:
	__device__
	Rounds(const RoundProgram<K> *program, RoundWarp *warps)
		: p_(*program), rank_(blockIdx.x * blockDim.x + threadIdx.x),
		  size_(gridDim.x * blockDim.x), lane_(threadIdx.x % 32),
		  lanes_(min(blockDim.x, 32u)), warp_(warps + threadIdx.x / 32),
		  parity_(p_.result->parity) {}

	__device__ void
	run(const RoundLimits &limits)
	{
		uint64_t	start = CancelPoll::nanoseconds();
		uint64_t	rounds = 0;

		cluster_ = limits.cluster;
		deadline_ = start + LATE * limits.nanoseconds;
		if (limits.first)
			begin();
		for (;;)
		{
			bool		done = true;

			for (uint32_t r = 0; r < p_.nrules && done; r++)
				done = rule(p_.rules[r]);
			for (uint32_t r = 0; r < p_.nrelations; r++)
				done = done && read(cell(p_.relations[r].cells)) <= p_.width;
			if (!done || read(failures()) != 0)
				break;
			settle();
			rounds++;
			end_round(limits, rounds, start);
			barrier();
			parity_ ^= 1;
			if (*(volatile int *) &p_.result->stop != ROUND_GOES_ON)
				return;
		}
		barrier();
		if (rank_ == 0)
		{
			p_.result->stop = ROUND_REDO;
			p_.result->parity = parity_;
		}
	}

private:
	/* A launch that takes so many times as long as it may gives up its round. */
	static constexpr uint64_t LATE = 4;

	/* Links of chains between two looks at the clock. */
	static constexpr uint32_t LINKS_A_LOOK = 1024;

	__device__ __forceinline__ void
	barrier() const
	{
		if (gridDim.x == 1)
			__syncthreads();
		else if (cluster_)
			cluster_barrier();
		else
			cooperative_groups::this_grid().sync();
	}

	/* A barrier in hardware, a tenth of the time of one across a grid. */
	static __device__ __forceinline__ void
	cluster_barrier()
	{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
		asm volatile("barrier.cluster.arrive.release;\n\t"
					 "barrier.cluster.wait.acquire;" ::: "memory");
#endif
	}

	/* ---- counters ---- */

	__device__ __forceinline__ unsigned long long *
	cell(uint32_t number) const
	{
		return p_.cells + parity_ * p_.ncells + number;
	}

	/* Not 0: a round that went wrong is to be done again.  Looked at after all rules. */
	__device__ __forceinline__ unsigned long long *
	failures() const
	{
		return cell(p_.ncells - 1);
	}

	static __device__ __forceinline__ unsigned long long
	read(const unsigned long long *cell)
	{
		return *(const volatile unsigned long long *) cell;
	}

	/* Places in an output for all lanes of a warp. */
	struct Places
	{
		unsigned long long first;
		uint32_t	total;
		uint32_t	before;		/* this lane's begin behind so many */
	};

	__device__ Places
	reserve(unsigned long long *counter, uint32_t n) const
	{
		constexpr unsigned all = 0xffffffffu;
		uint32_t	sum = n;

		for (uint32_t d = 1; d < lanes_; d *= 2)
		{
			uint32_t	lower = __shfl_up_sync(all, sum, d);

			if (lane_ >= d)
				sum += lower;
		}
		Places		places = {0, __shfl_sync(all, sum, lanes_ - 1), sum - n};

		if (places.total > 0)
		{
			if (lane_ == 0)
				places.first = atomicAdd(counter, (unsigned long long) places.total);
			places.first = __shfl_sync(all, places.first, 0);
		}
		return places;
	}

	/* ---- bindings ---- */

	__device__ __forceinline__ uint32_t *
	column(uint32_t reg) const
	{
		return p_.columns + ((size_t) bank_ * p_.nregisters + reg) * p_.width;
	}

	__device__ __forceinline__ uint32_t *
	other_column(uint32_t reg) const
	{
		return p_.columns + ((size_t) (bank_ ^ 1) * p_.nregisters + reg) * p_.width;
	}

	__device__ __forceinline__ uint32_t
	code(const RoundOperand &o, uint32_t row) const
	{
		return o.reg == RoundOperand::CONSTANT ? o.code : column(o.reg)[row];
	}

	/* Write row `to` of the other bank: what stays of a row, and columns of a key. */
	__device__ __forceinline__ void
	put(const RoundStep<K> &step, uint32_t row, size_t to, const K &key,
		const GpucolKeyOrder &order, const uint8_t *places) const
	{
		for (int i = 0; i < step.ncarried; i++)
			other_column(step.carried[i])[to] = column(step.carried[i])[row];
		for (int i = 0; i < step.nbound; i++)
			other_column(step.bound[i])[to] = key_code(key, order, places[i]);
	}

	/*
	 * The part of a key that a step fixes; false if one of its codes is NULL, which
	 * matches nothing.
	 */
	__device__ __forceinline__ bool
	prefix(const RoundStep<K> &step, uint32_t row, K &key) const
	{
		bool		matches = true;

		for (int i = 0; i < step.nparts; i++)
		{
			uint32_t	c = code(step.parts[i], row);

			matches = matches && (p_.null_code == UINT32_MAX || c != p_.null_code);
			key_put(key, step.order, i, c);
		}
		return matches;
	}

	/* ---- tails ---- */

	/* Rows of a relation's tail that a version has. */
	__device__ __forceinline__ void
	range(const RoundStep<K> &step, uint32_t &begin, uint32_t &end) const
	{
		const RoundBounds &bounds = p_.result->bounds[parity_][step.relation];

		begin = step.version == GPUCOL_REC_DELTA ? bounds.begin : 0;
		end = step.version == GPUCOL_REC_PREVIOUS ? bounds.begin : bounds.end;
	}

	__device__ __forceinline__ void
	chain(const RoundRelation<K> &relation, uint32_t row, const K &key) const
	{
		for (int c = 0; c < relation.nchains; c++)
		{
			const RoundChain &chain = relation.chains[c];
			uint64_t	hash = 0;

			for (int i = 0; i < chain.n; i++)
				hash = key_mix(hash + 1 + key_code(key, relation.order, chain.places[i]));
			chain.next[row] = atomicExch(chain.heads + (hash & p_.head_mask), row + 1);
		}
	}

	/*
	 * The next row of a chain from a link on that a step finds, as a link; 0 = none.
	 * Where many rows agree, chains are long: they end with a failure when it is late.
	 */
	__device__ __forceinline__ uint32_t
	follow(const RoundStep<K> &step, uint32_t row, uint32_t link, uint32_t begin,
		   uint32_t end)
	{
		const RoundRelation<K> &relation = p_.relations[step.relation];
		const RoundChain &chain = relation.chains[step.chain];

		for (; link != 0; link = chain.next[link - 1])
		{
			bool		same = link - 1 >= begin && link - 1 < end;

			for (int i = 0; i < chain.n && same; i++)
				same = key_code(relation.tail[link - 1], relation.order,
								chain.places[i]) == code(step.parts[i], row);
			if (same)
				break;
			if (++links_ % LINKS_A_LOOK == 0 && CancelPoll::nanoseconds() > deadline_)
			{
				*failures() = 1;
				return 0;
			}
		}
		return link;
	}

	__device__ __forceinline__ uint32_t
	head(const RoundStep<K> &step, uint32_t row) const
	{
		const RoundChain &chain = p_.relations[step.relation].chains[step.chain];
		uint64_t	hash = 0;

		for (int i = 0; i < chain.n; i++)
			hash = key_mix(hash + 1 + code(step.parts[i], row));
		return chain.heads[hash & p_.head_mask];
	}

	__device__ void
	begin()
	{
		for (uint32_t r = 0; r < p_.nrelations; r++)
		{
			const RoundRelation<K> &relation = p_.relations[r];
			uint32_t	n = p_.result->bounds[parity_][r].end;

			for (uint32_t i = rank_; i < n; i += size_)
				chain(relation, i, relation.tail[i]);
		}
		barrier();
	}

	/* ---- steps ---- */

	/* One rule; false: it is too much. */
	__device__ bool
	rule(const RoundRule &rule)
	{
		uint64_t	n = 1;

		bank_ = 0;
		for (uint32_t s = rule.step; s < rule.step + rule.nsteps && n > 0; s++)
		{
			const RoundStep<K> &step = p_.steps[s];

			switch ((GpucolRecStepKind) step.kind)
			{
				case GPUCOL_REC_EMIT:
					emit(step, (uint32_t) n);
					break;
				case GPUCOL_REC_COMPUTE:
					compute(step, (uint32_t) n);
					break;
				case GPUCOL_REC_ATOM:
					join(step, (uint32_t) n);
					break;
				default:
					filter(step, (uint32_t) n);
					break;
			}
			barrier();
			if (step.kind == GPUCOL_REC_EMIT || step.kind == GPUCOL_REC_COMPUTE)
				continue;
			n = read(cell(step.cell));
			if (n > p_.width)
				return false;
			bank_ ^= 1;
		}
		return true;
	}

	/* Each lane has n rows of a run, from `start` on: write them all. */
	__device__ void
	spread(const RoundStep<K> &step, uint32_t first, uint64_t n, uint64_t start,
		   const K *keys) const
	{
		Places		to = reserve(cell(step.cell), (uint32_t) min(n, (uint64_t) p_.width + 1));

		if (to.total == 0 || to.first + to.total > p_.width)
			return;
		warp_->ends[lane_] = to.before + (uint32_t) n;
		warp_->starts[lane_] = start;
		__syncwarp();
		for (uint32_t i = lane_; i < to.total; i += lanes_)
		{
			uint32_t	owner = 0;

			for (uint32_t d = lanes_ / 2; d > 0; d /= 2)
				if (warp_->ends[owner + d - 1] <= i)
					owner += d;
			put(step, first + owner, to.first + i,
				key_load(keys + warp_->starts[owner] + i -
						 (owner ? warp_->ends[owner - 1] : 0)), step.order, step.places);
		}
		__syncwarp();
	}

	/* Nothing is fixed: each of n rows with each row of the relation. */
	__device__ void
	cross(const RoundStep<K> &step, uint32_t n)
	{
		uint64_t	total = 0;

		for (uint32_t v = 0; v < step.nviews; v++)
		{
			const GpucolRunView<K> &view = p_.views[step.view + v];

			total += cross_rows(step, n, total, view.nkeys, step.order, step.places,
								[&](uint64_t at) { return key_load(view.keys + at); });
		}
		if (step.relation >= 0)
		{
			const RoundRelation<K> &relation = p_.relations[step.relation];
			uint32_t	begin,
						end;

			range(step, begin, end);
			total += cross_rows(step, n, total, end - begin, relation.order, step.declared,
								[&](uint64_t at) { return relation.tail[begin + at]; });
		}
		if (rank_ == 0)
			*cell(step.cell) = total;
	}

	/* The same with m rows, written from `first` on if there is room; how many. */
	template <class Key>
	__device__ uint64_t
	cross_rows(const RoundStep<K> &step, uint32_t n, uint64_t first, uint64_t m,
			   const GpucolKeyOrder &order, const uint8_t *places, Key key) const
	{
		uint64_t	total = n * m;

		if (first + total <= p_.width)
			for (uint32_t i = rank_; i < total; i += size_)
				put(step, i / (uint32_t) m, first + i, key(i % (uint32_t) m), order, places);
		return total;
	}

	__device__ void
	join(const RoundStep<K> &step, uint32_t n)
	{
		if (step.nparts == 0)
			return cross(step, n);
		for (uint32_t first = rank_ - lane_; first < n; first += size_)
		{
			uint32_t	row = first + lane_;
			K			fixed = {};
			bool		matches = row < n && prefix(step, row, fixed);

			for (uint32_t v = 0; v < step.nviews; v++)
			{
				const GpucolRunView<K> &view = p_.views[step.view + v];
				uint64_t	start = 0,
							found = matches ? run_find(view, fixed, &start) : 0;

				spread(step, first, found, start, view.keys);
			}
			if (step.relation >= 0)
				join_tail(step, first, matches);
		}
	}

	__device__ void
	join_tail(const RoundStep<K> &step, uint32_t first, bool matches)
	{
		const RoundRelation<K> &relation = p_.relations[step.relation];
		uint32_t	row = first + lane_,
					begin,
					end,
					found = 0;

		range(step, begin, end);
		uint32_t	link = matches ? follow(step, row, head(step, row), begin, end) : 0;

		for (uint32_t l = link; l != 0 && found <= p_.width; found++)
			l = follow(step, row, relation.chains[step.chain].next[l - 1], begin, end);
		Places		to = reserve(cell(step.cell), found);

		if (to.first + to.total > p_.width)
			return;
		for (uint32_t i = 0; i < found; i++)
		{
			put(step, row, to.first + to.before + i, relation.tail[link - 1], relation.order,
				step.declared);
			uint32_t	next = follow(step, row, relation.chains[step.chain].next[link - 1],
									  begin, end);

			/* where it got late between the two walks, rows are wrong, but valid */
			link = next ? next : link;
		}
	}

	/* Does a row match one of the relation? */
	__device__ bool
	present(const RoundStep<K> &step, uint32_t row)
	{
		K			fixed = {};
		uint64_t	start;
		uint32_t	begin,
					end;

		if (!prefix(step, row, fixed))
			return false;
		for (uint32_t v = 0; v < step.nviews; v++)
			if (run_find(p_.views[step.view + v], fixed, &start) > 0)
				return true;
		if (step.relation < 0)
			return false;
		range(step, begin, end);
		return step.chain < 0 ? end > begin :
			follow(step, row, head(step, row), begin, end) != 0;
	}

	__device__ __forceinline__ GpucolRecValue
	value(const RoundOperand &o, uint32_t row) const
	{
		uint32_t	c = code(o, row);
		bool		isnull = c == p_.null_code;

		return {isnull ? 0 : p_.values[c], isnull};
	}

	/* The function of TEST or COMPUTE; failures are noted. */
	__device__ GpucolRecValue
	evaluate(const RoundStep<K> &step, uint32_t row) const
	{
		GpucolRecValue a = value(step.parts[0], row),
					b = step.nparts > 1 ? value(step.parts[1], row) : a,
					result = {0, true};

		if (gpucol_rec_evaluate((GpucolRecFunction) step.function, (GpucolRecType) step.type,
								a, b, &result) != GPUCOL_OK)
			*failures() = 1;
		return result;
	}

	__device__ bool
	passes(const RoundStep<K> &step, uint32_t row)
	{
		if (step.kind != GPUCOL_REC_TEST)
			return present(step, row) == (step.kind == GPUCOL_REC_PRESENT);
		if (step.function != GPUCOL_REC_EQ && step.function != GPUCOL_REC_NE)
		{
			GpucolRecValue r = evaluate(step, row);

			return !r.isnull && r.value != 0;
		}
		uint32_t	a = code(step.parts[0], row),
					b = code(step.parts[step.nparts > 1], row);

		return (a == b) == (step.function == GPUCOL_REC_EQ) && a != p_.null_code &&
			b != p_.null_code;
	}

	__device__ void
	filter(const RoundStep<K> &step, uint32_t n)
	{
		for (uint32_t first = rank_ - lane_; first < n; first += size_)
		{
			bool		keep = first + lane_ < n && passes(step, first + lane_);
			Places		to = reserve(cell(step.cell), keep);

			if (keep)
				put(step, first + lane_, to.first + to.before, K{}, step.order, step.places);
		}
	}

	__device__ void
	compute(const RoundStep<K> &step, uint32_t n)
	{
		uint32_t   *out = column(step.target);

		if (step.function == GPUCOL_REC_COPY)
		{
			for (uint32_t row = rank_; row < n; row += size_)
				out[row] = code(step.parts[0], row);
			return;
		}
		for (uint32_t row = rank_; row < n; row += size_)
		{
			GpucolRecValue r = evaluate(step, row);

			bool		known = !r.isnull && p_.codes.add(r.value);

			if (!r.isnull && !known)
				*failures() = 1;
			p_.computed[row] = r.value;
			out[row] = known ? ROUND_PENDING : p_.null_code;
		}
		barrier();
		for (uint32_t row = rank_; row < n; row += size_)
			if (out[row] == ROUND_PENDING)
				out[row] = p_.codes.code(p_.computed[row]);
	}

	__device__ void
	emit(const RoundStep<K> &step, uint32_t n)
	{
		const RoundRelation<K> &relation = p_.relations[step.relation];

		for (uint32_t first = rank_ - lane_; first < n; first += size_)
		{
			uint32_t	row = first + lane_;
			Places		to = reserve(cell(relation.cells), row < n);
			K			key = {};

			if (row >= n || to.first + to.before >= p_.width)
				continue;
			for (int i = 0; i < step.nparts; i++)
				key_put(key, step.order, i, code(step.parts[i], row));
			relation.candidates[to.first + to.before] = key;
		}
	}

	/* ---- the end of a round ---- */

	/*
	 * The slot of a candidate's group; *mine: no one else has claimed it.  Where rows
	 * are merged, the slot then gets the best rank of the runs.
	 */
	__device__ uint32_t
	claim(const RoundRelation<K> &relation, uint32_t candidate, const K &group, bool *mine) const
	{
		uint32_t	at = (uint32_t) key_hash(group) & p_.slot_mask;

		for (;; at = (at + 1) & p_.slot_mask)
		{
			uint32_t	held = *(volatile uint32_t *) (relation.slots + at);

			if (held == 0)
				held = atomicCAS(relation.slots + at, 0u, ROUND_CANDIDATE | candidate);
			*mine = held == 0;
			if (*mine)
				return at;
			K			other = held & ROUND_CANDIDATE ?
				relation.candidates[held & ~ROUND_CANDIDATE] & relation.mask :
				relation.known[held - 1];

			if (other == group)
				return at;
		}
	}

	/* Do the runs have this row? */
	__device__ bool
	in_runs(const RoundRelation<K> &relation, const K &key) const
	{
		uint64_t	start;

		for (uint32_t v = 0; v < relation.nviews; v++)
			if (run_find(p_.views[relation.view + v], key, &start) > 0)
				return true;
		return false;
	}

	/* The best rank that the runs have in a group. */
	__device__ uint64_t
	best_of_runs(const RoundRelation<K> &relation, const K &group) const
	{
		uint64_t	best = UINT64_MAX;

		for (uint32_t v = 0; v < relation.nviews; v++)
		{
			const GpucolRunView<K> &view = p_.views[relation.view + v];
			uint64_t	start = 0,
						n = run_find(view, group, &start);

			for (uint64_t i = start; i < start + n; i++)
				best = min(best, relation.best_by.rank(key_load(view.keys + i), relation.order));
		}
		return best;
	}

	/* Append a row for each lane that has one to the tail. */
	__device__ void
	append(uint32_t r, bool has, const K &key) const
	{
		const RoundRelation<K> &relation = p_.relations[r];
		Places		to = reserve(cell(relation.cells + 1), has);
		uint32_t	row = p_.result->bounds[parity_][r].end + (uint32_t) to.first + to.before;

		if (!has)
			return;
		relation.tail[row] = key;
		chain(relation, row, key);
	}

	/* Find the groups of candidates, and take in the first ones of new groups. */
	__device__ void
	group(uint32_t r, uint32_t n) const
	{
		const RoundRelation<K> &relation = p_.relations[r];

		for (uint32_t first = rank_ - lane_; first < n; first += size_)
		{
			uint32_t	i = first + lane_,
						at = 0;
			bool		mine = false;
			K			key = {};

			if (i < n)
				key = relation.candidates[i];
			if (i < n && !relation.bag)
				at = claim(relation, i, key & relation.mask, &mine);
			Places		to = reserve(cell(relation.cells + 2), mine);

			if (mine)
			{
				uint32_t	number = p_.result->bounds[parity_][r].known +
					(uint32_t) to.first + to.before;

				relation.known[number] = key & relation.mask;
				relation.group_of[i] = number;
				if (relation.merges)
					relation.best[at] = best_of_runs(relation, key & relation.mask);
			}
			if (i < n && !relation.bag)
				relation.slot_of[i] = mine ? ROUND_CLAIMED | at : at;
			if (!relation.merges)
				append(r, i < n && (relation.bag || (mine && !in_runs(relation, key))), key);
		}
	}

	/* Which candidates are better than all before?  Noted in the top bit of group_of. */
	__device__ void
	compete(const RoundRelation<K> &relation, uint32_t n) const
	{
		for (uint32_t i = rank_; i < n; i += size_)
		{
			uint32_t	at = relation.slot_of[i] & ~ROUND_CLAIMED;
			uint64_t	rank = relation.best_by.rank(relation.candidates[i], relation.order);
			bool		better = atomicMin(relation.best + at, (unsigned long long) rank) > rank;

			relation.group_of[i] = (relation.slot_of[i] & ROUND_CLAIMED ?
									relation.group_of[i] : 0) | (better ? ROUND_CANDIDATE : 0);
		}
	}

	/* Take in the best of each group. */
	__device__ void
	take_best(uint32_t r, uint32_t n) const
	{
		const RoundRelation<K> &relation = p_.relations[r];

		for (uint32_t first = rank_ - lane_; first < n; first += size_)
		{
			uint32_t	i = first + lane_;
			K			key = {};
			bool		best = false;

			if (i < n && relation.group_of[i] & ROUND_CANDIDATE)
			{
				key = relation.candidates[i];
				best = relation.best_by.rank(key, relation.order) ==
					read(relation.best + (relation.slot_of[i] & ~ROUND_CLAIMED));
			}
			append(r, best, key);
		}
	}

	__device__ void
	settle()
	{
		bool		merges = false;

		for (uint32_t r = 0; r < p_.nrelations; r++)
		{
			merges = merges || p_.relations[r].merges;
			group(r, (uint32_t) read(cell(p_.relations[r].cells)));
		}
		barrier();
		if (!merges)
			return;
		for (uint32_t r = 0; r < p_.nrelations; r++)
			if (p_.relations[r].merges)
				compete(p_.relations[r], (uint32_t) read(cell(p_.relations[r].cells)));
		barrier();
		for (uint32_t r = 0; r < p_.nrelations; r++)
			if (p_.relations[r].merges)
				take_best(r, (uint32_t) read(cell(p_.relations[r].cells)));
		barrier();
	}

	/* Claimed slots get their groups, cells are cleared, one thread moves the bounds on. */
	__device__ void
	end_round(const RoundLimits &limits, uint64_t rounds, uint64_t start)
	{
		for (uint32_t r = 0; r < p_.nrelations; r++)
		{
			const RoundRelation<K> &relation = p_.relations[r];
			uint32_t	n = relation.bag ? 0 : (uint32_t) read(cell(relation.cells));

			for (uint32_t i = rank_; i < n; i += size_)
				if (relation.slot_of[i] & ROUND_CLAIMED)
					relation.slots[relation.slot_of[i] & ~ROUND_CLAIMED] =
						(relation.group_of[i] & ~ROUND_CANDIDATE) + 1;
		}
		for (uint32_t i = rank_; i < p_.ncells; i += size_)
			p_.cells[(parity_ ^ 1) * p_.ncells + i] = 0;
		if (rank_ == 0)
			move_on(limits, rounds, start);
	}

	__device__ void
	move_on(const RoundLimits &limits, uint64_t rounds, uint64_t start)
	{
		RoundResult &result = *p_.result;
		uint64_t	delta = 0;
		bool		full = false;

		for (uint32_t r = 0; r < p_.nrelations; r++)
		{
			const RoundBounds &old = result.bounds[parity_][r];
			uint32_t	fresh = (uint32_t) read(cell(p_.relations[r].cells + 1));
			RoundBounds now = {old.end, old.end + fresh,
				old.known + (uint32_t) read(cell(p_.relations[r].cells + 2))};

			result.bounds[parity_ ^ 1][r] = now;
			delta += fresh;
			full = full || now.end + p_.width > p_.height || now.known + p_.width > p_.height;
		}
		result.parity = parity_ ^ 1;
		result.rounds++;
		result.derived += delta;
		result.delta = delta;
		result.stop = delta == 0 ? ROUND_FIXPOINT : rounds >= limits.rounds ||
			CancelPoll::nanoseconds() - start > limits.nanoseconds ? ROUND_ENOUGH :
			full ? ROUND_FULL : delta > limits.most ? ROUND_GREW :
			delta < limits.least ? ROUND_SHRANK : ROUND_GOES_ON;
	}

	const RoundProgram<K> &p_;
	const uint32_t rank_;
	const uint32_t size_;
	const uint32_t lane_;
	const uint32_t lanes_;
	bool		cluster_ = false;
	RoundWarp  *warp_;
	uint32_t	parity_;
	uint32_t	bank_ = 0;
	uint32_t	links_ = 0;		/* followed */
	uint64_t	deadline_ = 0;
};

template <class K>
__global__ void __launch_bounds__(ROUND_THREADS)
rounds_kernel(const RoundProgram<K> *program, RoundLimits limits)
{
	__shared__ RoundWarp warps[ROUND_THREADS / 32];

	Rounds<K>(program, warps).run(limits);
}

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_DEVICE_CUH */
