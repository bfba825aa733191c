/*-------------------------------------------------------------------------
 *
 * small_rounds_steps.cuh
 *	  The steps of rules in small rounds (small_rounds_device.cuh): joins, tests,
 *	  computed values, and the candidates that they end in.
 *
 * All threads of the grid walk through the steps of a rule together; between two
 * steps is a barrier.  A step that would make more rows than there is room for is found
 * by its counter, and the round is given up.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_STEPS_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_STEPS_CUH

#include "cuda/recursion/small_rounds_tails.cuh"

#ifdef __CUDACC__

constexpr uint32_t ROUND_PENDING = UINT32_MAX - 1;

/* Runs rules. */
template <class K> class RoundSteps : protected RoundTails<K>
{
protected:
	using Tails = RoundTails<K>;
	using Tails::Tails;
	using Tails::barrier, Tails::cell, Tails::failures, Tails::read, Tails::reserve,
		Tails::column, Tails::other_column, Tails::code, Tails::range, Tails::follow,
		Tails::head, Tails::p_, Tails::rank_, Tails::size_, Tails::lane_, Tails::lanes_,
		Tails::warp_, Tails::bank_;

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

private:
	using Places = typename RoundGrid<K>::Places;

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

	/* The function of TEST or COMPUTE; failures are recorded. */
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
};

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_STEPS_CUH */
