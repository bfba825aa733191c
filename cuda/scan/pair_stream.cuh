/*-------------------------------------------------------------------------
 *
 * pair_stream.cuh
 *	  Sums of a narrow column under a range on a narrow column: both streamed
 *	  through shared memory.
 *
 * A warp has slots of shared memory, into which the copy engine of its
 * multiprocessor brings some vectors of both columns while others are added up
 * (masked_sum.cuh: Paired).  So what is under way is not bounded by registers, and
 * a warp does not wait for memory between one group of vectors and the next, run
 * after run.  What it must know of a segment is kept while it is in there, and the
 * cache is asked for the next one's a turn of runs before.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PAIR_STREAM_CUH
#define GPUCOL_CUDA_PAIR_STREAM_CUH

#include "cuda/scan/masked_sum.cuh"
#include "cuda/scan/vector_loop.cuh"

constexpr int GPUCOL_STREAM_WARPS = GPUCOL_STREAM_THREADS / 32;

/* The segment that a warp is in, under one range: what its runs need not look for again. */
struct SegmentColumns
{
	uint32_t	segment;
	uint32_t	first_run;		/* its number */
	uint32_t	vectors;		/* of the segment; 0: there was none yet */
	uint32_t	whole;			/* vectors that can be streamed: none where columns are not paired or
								 * not plain */
	uint32_t	tested_slot;
	bool		zoned;			/* vectors may be decided by their zones */
	uint8_t		tested_width;
	uint8_t		width;
	const uint32_t *tested;		/* codes that are tested */
	const uint32_t *codes;		/* codes that are added up */
	uint32_t	lo,
				hi;
	uint32_t	add;			/* offset of code 0 */

	/* The run of a number. */
	__device__ __forceinline__ Run
	run_of(const GpucolScanPlan &scan, const GpucolOffsetColumn &column, uint32_t number)
	{
		Run			run;

		if ((number - first_run) * GPUCOL_RUN_VECTORS >= vectors)
		{
			uint32_t	s = find_run(scan, number).segment;

			__syncwarp();
			enter(scan, column, s);
			__syncwarp();
		}
		run.segment = segment;
		run.first = (number - first_run) * GPUCOL_RUN_VECTORS;
		run.n = min((uint32_t) GPUCOL_RUN_VECTORS, vectors - run.first);
		return run;
	}

	/* Can all of such a run be streamed? */
	__device__ __forceinline__ bool
	streams(const Run &run) const
	{
		return run.n == GPUCOL_RUN_VECTORS && run.first + GPUCOL_RUN_VECTORS <= whole;
	}

	/* Everything is loaded before anything is looked at: each wait is one for memory. */
	__device__ __forceinline__ void
	enter(const GpucolScanPlan &scan, const GpucolOffsetColumn &column, uint32_t s)
	{
		const GpucolDeviceRange r = scan.ranges[s];
		const GpucolDeviceSegment described = scan.segments[s];
		const GpucolDeviceChunk chunk = scan.chunks[s * scan.ncolumns + column.slot];
		const GpucolDeviceChunk other = scan.chunks[s * scan.ncolumns + r.slot];
		bool		suits = (r.test == GPUCOL_TEST_RANGE) & !r.invert & plain(other) & plain(chunk) &
			are_paired(other.width, chunk.width) & (chunk.coding != GPUCOL_CODING_DICT) & !described.deleted;

		segment = s;
		first_run = __ldg(scan.run_start + s);
		vectors = __ldg(scan.vector_start + s + 1) - __ldg(scan.vector_start + s);
		whole = suits ? described.nrows / GPUCOL_VECTOR_VALUES : 0;
		tested_slot = r.slot;
		zoned = r.use_zones;
		tested_width = other.width;
		width = chunk.width;
		tested = other.codes;
		codes = chunk.codes;
		lo = r.lo;
		hi = r.hi;
		add = (uint32_t) (chunk.reference - column.base);
	}

	__device__ __forceinline__ static bool
	plain(const GpucolDeviceChunk &chunk)
	{
		return !chunk.nulls & !chunk.all_null;
	}

	/* Have the L1 cache fetch what enter() will look at for a later run: a lane each of
	 * the sectors that it is in.  What is loaded means nothing. */
	__device__ __forceinline__ uint32_t
	foresee(const GpucolScanPlan &scan, const GpucolOffsetColumn &column, uint32_t number, int lane) const
	{
		uint32_t	s = number >> scan.run_shift;
		const GpucolDeviceChunk *chunks = scan.chunks + s * scan.ncolumns;
		const char *from = (const char *) (lane < 2 ? chunks + column.slot : chunks + tested_slot) + lane % 2 * 32;
		uint32_t	nothing;

		if (lane >= 4)
			from = (const char *) (scan.ranges + s) + lane % 2 * 32;
		if (lane >= 8)
			from = lane < 16 ? (const char *) (scan.segments + s) : lane < 24 ? (const char *) (scan.run_start + s) :
				(const char *) (scan.vector_start + s);
		asm volatile("ld.global.nc.b32 %0, [%1];" : "=r"(nothing) : "l"(from));
		return nothing;
	}
};

/* The slots of a warp in shared memory, filled and used in turn. */
struct PairRing
{
	const uint32_t *words;		/* this lane's word 0 of slot 0 */
	uint32_t	slots;			/* shared address of it */
	uint32_t	barriers;		/* and of what says that a slot is filled, 8 bytes each */
	uint32_t	asked,			/* groups so far */
				taken;

	__device__ __forceinline__ void
	start(int lane) const
	{
		if (lane == 0)
		{
			for (int s = 0; s < GPUCOL_STREAM_SLOTS; s++)
				asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(barriers + s * 8) : "memory");
			asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		}
		__syncwarp();
	}

	__device__ __forceinline__ void
	copy(uint32_t to, const uint32_t *from, uint32_t bytes, uint32_t barrier) const
	{
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
					 :: "r"(to), "l"(from), "r"(bytes), "r"(barrier) : "memory");
	}

	/* Ask for so many bytes of both columns, one after the other in the next slot. */
	__device__ __forceinline__ void
	ask(int lane, const uint32_t *a, uint32_t a_bytes, const uint32_t *b, uint32_t b_bytes)
	{
		if (lane == 0)
		{
			uint32_t	slot = asked % GPUCOL_STREAM_SLOTS,
						barrier = barriers + slot * 8,
						to = slots + slot * GPUCOL_STREAM_WORDS * GPUCOL_ROW_BYTES;

			asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(barrier),
						 "r"(a_bytes + b_bytes) : "memory");
			copy(to, a, a_bytes, barrier);
			copy(to + a_bytes, b, b_bytes, barrier);
		}
		asked++;
	}

	/* This lane's words of the oldest slot, once they are there. */
	__device__ __forceinline__ const uint32_t *
	wait() const
	{
		uint32_t	slot = taken % GPUCOL_STREAM_SLOTS;
		uint32_t	done;

		do
			asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p;}"
						 : "=r"(done) : "r"(barriers + slot * 8), "r"(taken / GPUCOL_STREAM_SLOTS & 1) : "memory");
		while (!done);
		return words + slot * GPUCOL_STREAM_WORDS * GPUCOL_ROW_WORDS;
	}

	/* All lanes have read it. */
	__device__ __forceinline__ void
	release()
	{
		__syncwarp();
		taken++;
	}
};

/* What a warp that streams has beside its slots: where it adds up, and where it asks. */
struct PairPlaces
{
	SegmentColumns here,
				ahead;
	uint64_t	filled[GPUCOL_STREAM_SLOTS];
};

/* Vectors of a run that a slot takes, of columns of so many bits together. */
__host__ __device__ constexpr uint32_t
stream_group(int bits)
{
	return vectors_in(GPUCOL_STREAM_WORDS, bits, GPUCOL_RUN_VECTORS);
}

/* Adds up a slot: dispatched by the width of the column that is tested, then by the other's. */
template <int A = 0>
struct SlotSum
{
	const uint32_t *w;			/* this lane's words */
	int			other;
	uint32_t	lo,
				hi;
	uint32_t   &rows;
	uint32_t   &sum;

	template <int K> __device__ __forceinline__ void
	run()
	{
		if constexpr (A == 0)
		{
			SlotSum<K>	f = {w, 0, lo, hi, rows, sum};

			dispatch_width<GPUCOL_SWAR_COUNT_WIDTH>(other, f);
		}
		else if constexpr (are_paired(A, K))
		{
			constexpr int U = stream_group(A + K);
			constexpr int AT_ONCE = vectors_in(GPUCOL_STREAM_AT_ONCE, A + K, U);
			typename Paired<A, K>::Bounds bounds(lo, hi);
			const uint32_t *summed = w + U * A * GPUCOL_ROW_WORDS;

#pragma unroll AT_ONCE
			for (int u = 0; u < U; u++)
			{
				uint32_t	a[A],
							b[K];

#pragma unroll
				for (int j = 0; j < A; j++)
					a[j] = w[(u * A + j) * GPUCOL_ROW_WORDS];
#pragma unroll
				for (int j = 0; j < K; j++)
					b[j] = summed[(u * K + j) * GPUCOL_ROW_WORDS];
				sum += Paired<A, K>::sum(a, b, bounds, rows);
			}
		}
	}
};

/* skipped_by_zones() out of line: the loop that streams keeps its registers. */
static __device__ __noinline__ uint32_t
skipped_apart(const GpucolScanPlan &scan, uint32_t segment, uint32_t first, uint32_t n, int lane)
{
	return skipped_by_zones(scan, {segment, first, n}, lane);
}

/* What a lane gathers of the column. */
struct Gathered
{
	unsigned long long rows;	/* that pass */
	unsigned long long values;	/* of them not NULL */
	unsigned long long sum;		/* of offsets */
	uint32_t	least,
				greatest;
};

/*
 * Stream from a warp's i-th run on, whose segment is places.here, while runs are of
 * its widths, can be streamed, and have some row that passes (`dense`).  Then i is
 * the first that was not added up.  `nothing` keeps what foresee() loads.
 */
__device__ __forceinline__ void
stream_pairs(const GpucolScanPlan &scan, const GpucolOffsetColumn &column, PairPlaces &places, PairRing &ring, int lane,
			 uint32_t &i, bool &dense, Gathered &g, uint32_t &nothing)
{
	const int	tested_width = places.here.tested_width,
				width = places.here.width;
	const uint32_t group = stream_group(tested_width + width);
	const uint32_t *tested = NULL,
			   *codes = NULL;	/* of the run that is asked for */
	uint32_t	asked_run = i,
				asked_vectors = 0,
				vectors = 0,	/* of run i, added up */
				rows = 0,
				sum = 0,
				lo = 0,
				hi = 0;
	bool		more = true;

	auto begin_run = [&] {
		uint32_t	number = run_number(scan, asked_run);
		SegmentColumns &ahead = places.ahead;
		Run			run;

		more = number < scan.nruns && dense;
		if (!more)
			return;
		run = ahead.run_of(scan, column, number);
		more = ahead.streams(run) && ahead.tested_width == tested_width && ahead.width == width &&
			(!ahead.zoned || !skipped_apart(scan, run.segment, run.first, run.n, lane));
		tested = ahead.tested + run.first * tested_width * GPUCOL_ROW_WORDS;
		codes = ahead.codes + run.first * width * GPUCOL_ROW_WORDS;
		if (more && (asked_run & ((1u << scan.turn_shift) - 1)) == 0 && scan.run_shift >= 0)
		{
			uint32_t	next = run_number(scan, asked_run + (1u << scan.turn_shift));

			nothing = next < scan.nruns ? ahead.foresee(scan, column, next, lane) : 0;
		}
	};
	auto ask = [&] {
		if (more && asked_vectors == 0)
			begin_run();
		if (!more)
			return;
		ring.ask(lane, tested + asked_vectors * tested_width * GPUCOL_ROW_WORDS,
				 group * tested_width * GPUCOL_ROW_BYTES,
				 codes + asked_vectors * width * GPUCOL_ROW_WORDS, group * width * GPUCOL_ROW_BYTES);
		asked_vectors += group;
		if (asked_vectors == GPUCOL_RUN_VECTORS)
		{
			asked_vectors = 0;
			asked_run++;
		}
	};

#pragma unroll 1
	for (int s = 0; s < GPUCOL_STREAM_SLOTS - 1; s++)
		ask();
	for (;;)
	{
		ask();
		if (ring.taken == ring.asked)
			break;
		if (vectors == 0)
		{
			places.here.run_of(scan, column, run_number(scan, i));
			lo = places.here.lo;
			hi = places.here.hi;
		}

		SlotSum<>	f = {ring.wait(), width, lo, hi, rows, sum};

		dispatch_width<GPUCOL_SWAR_COUNT_WIDTH>(tested_width, f);
		ring.release();
		vectors += group;
		if (vectors < GPUCOL_RUN_VECTORS)
			continue;
		dense &= (bool) __any_sync(GPUCOL_ALL_LANES, rows > 0);
		g.rows += rows;
		g.values += rows;
		g.sum += sum + (unsigned long long) places.here.add * rows;
		vectors = rows = sum = 0;
		if (is_cancelled(scan, i))
			dense = false;
		i++;
	}
}

#endif
