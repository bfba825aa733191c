/*-------------------------------------------------------------------------
 *
 * small_rounds_device.cuh
 *	  The kernel that interprets the program of small rounds
 *	  (small_rounds_program.cuh).
 *
 * A round is its rules (small_rounds_steps.cuh), which leave candidates, and settling
 * (small_rounds_settle.cuh), which makes the new ones of them the next delta in the
 * tails (small_rounds_tails.cuh).  All threads of the grid (small_rounds_grid.cuh) do it
 * together, round after round, until there is nothing more to do, it is time to look
 * after the host, or the next round is better run by more or fewer blocks, or elsewhere.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_DEVICE_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_DEVICE_CUH

#include "cuda/base/cancel.cuh"
#include "cuda/recursion/small_rounds_settle.cuh"

#ifdef __CUDACC__

/* Interprets a program; every thread has one. */
template <class K> class Rounds : private RoundSettling<K>
{
public:
	using Settling = RoundSettling<K>;

	__device__
	Rounds(const RoundProgram<K> *program, RoundWarp *warps) : Settling(program, warps) {}

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

	/* Claimed slots get their groups, cells are cleared, one thread moves the bounds on. */
	__device__ void
	end_round(const RoundLimits &limits, uint64_t rounds, uint64_t start)
	{
		hand_over_slots();
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

	using Settling::begin, Settling::rule, Settling::settle, Settling::hand_over_slots,
		Settling::barrier, Settling::cell, Settling::failures, Settling::read, Settling::p_,
		Settling::rank_, Settling::size_, Settling::parity_, Settling::cluster_,
		Settling::deadline_;
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
