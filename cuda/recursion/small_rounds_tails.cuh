/*-------------------------------------------------------------------------
 *
 * small_rounds_tails.cuh
 *	  Tails of relations in small rounds (small_rounds_device.cuh): the unsorted rows
 *	  behind the runs, and the chains by hash that lead through them.
 *
 * A chain goes from a row to an older one.  Where many rows agree chains are long, so a
 * thread that follows one looks at the clock, and fails the round when it is late: the
 * host then does that round.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_TAILS_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_TAILS_CUH

#include "cuda/base/cancel.cuh"
#include "cuda/recursion/small_rounds_grid.cuh"

#ifdef __CUDACC__

/* Reads and extends tails. */
template <class K> class RoundTails : protected RoundGrid<K>
{
protected:
	using Grid = RoundGrid<K>;
	using Grid::Grid;
	using Grid::barrier, Grid::cell, Grid::failures, Grid::read, Grid::code, Grid::p_,
		Grid::rank_, Grid::size_, Grid::parity_;

	/* Chain the rows with which the kernel began. */
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

	uint64_t	deadline_ = 0;	/* of the launch */

private:
	/* Links of chains between two looks at the clock. */
	static constexpr uint32_t LINKS_A_LOOK = 1024;

	uint32_t	links_ = 0;		/* followed */
};

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_TAILS_CUH */
