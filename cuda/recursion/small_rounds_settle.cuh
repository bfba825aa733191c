/*-------------------------------------------------------------------------
 *
 * small_rounds_settle.cuh
 *	  The end of a small round (small_rounds_device.cuh): which candidates are new.
 *
 * Each candidate is looked up in its relation's table by its group: the row itself or,
 * where rows are merged, all its columns but the last.  The first of a group claims a
 * slot and asks the runs.  Of rows that are merged, the candidates of a group then
 * compete, and the best is taken in if it is better than all before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_SETTLE_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_SETTLE_CUH

#include "cuda/recursion/small_rounds_steps.cuh"

#ifdef __CUDACC__

constexpr uint32_t ROUND_CANDIDATE = 0x80000000u;
constexpr uint32_t ROUND_CLAIMED = 0x80000000u;

/* Takes candidates into the tails. */
template <class K> class RoundSettling : protected RoundSteps<K>
{
protected:
	using Steps = RoundSteps<K>;
	using Steps::Steps;
	using Steps::barrier, Steps::cell, Steps::read, Steps::reserve, Steps::chain, Steps::p_,
		Steps::rank_, Steps::size_, Steps::lane_, Steps::parity_;

	/* New rows of all relations, appended to their tails and counted. */
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

	/* Slots that candidates of this round claimed get the groups. */
	__device__ void
	hand_over_slots() const
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
	}

private:
	using Places = typename RoundGrid<K>::Places;

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

	/* Which candidates are better than all before?  Marked in the top bit of group_of. */
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
};

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_SETTLE_CUH */
