/*-------------------------------------------------------------------------
 *
 * small_rounds.cuh
 *	  Many rounds of a fixpoint in one kernel, while their deltas are small.
 *
 * A round of rules.cu is dozens of launches and waits, some tenths of a
 * millisecond whatever it has to do.  Here the stratum's recursive rules are lowered to
 * a small program that one kernel interprets round after round without the host:
 * as one block while the delta is tiny, as a cluster of blocks while it is small, and as
 * many blocks with a barrier across the grid while it is larger.
 *
 * Measured (test/gpu/rounds_bench.cu, an H200): 500 rounds of 1,000 rows with a sum take 34
 * microseconds each for 246 in launches and 122 on the CPU engine; of 100 rows 16 for 241
 * and 11; least sums of 1,000 rows 42 for 356 and 217.
 *
 * New rows go to an unsorted tail behind the relation's sorted runs.  A row that
 * a rule emits is looked for in a hash table of all rows met since the kernel began, and
 * only the first of its kind in the runs.  Atoms on relations of the stratum look into
 * the runs and, by hash chains, into the tail; row numbers tell delta from older rows.
 * Buffers have fixed sizes: a round that needs more is given up before it has
 * changed anything, and is the host's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_CUH

#include "cuda/recursion/relations.cuh"

/* What rounds brought. */
struct GpucolRoundsDone
{
	uint64_t	rounds;
	uint64_t	derived;		/* rows in all of them */
	uint64_t	delta;			/* rows of the last */
};

template <class K> class GpucolSmallRoundsState;

/* Small rounds of one stratum. */
template <class K> class GpucolSmallRounds
{
public:
	GpucolSmallRounds(GpucolDeviceRun &run, GpucolRelations<K> &relations, uint32_t stratum);
	~GpucolSmallRounds();

	/* A round in the usual way brought so many rows. */
	void note(uint64_t delta);

	/*
	 * Would the next rounds rather be run here?  Never of rules that this cannot
	 * express, or with rows in host memory.
	 */
	bool wanted(uint64_t delta);

	/*
	 * Run up to `most` rounds (0: any number) from a delta of so many rows and make what
	 * they brought the relations' own; returns after some milliseconds.  No round at all
	 * may be possible.
	 */
	GpucolRoundsDone run(uint64_t most, uint64_t delta);

private:
	std::unique_ptr<GpucolSmallRoundsState<K>> state_;
};

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_CUH */
