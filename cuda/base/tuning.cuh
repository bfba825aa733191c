/*-------------------------------------------------------------------------
 *
 * tuning.cuh
 *	  Constants of the kernels that were chosen by measurement, with the
 *	  measurement.  Nothing else in cuda/ holds a bare launch parameter.
 *
 * Measured with test/gpu/kernels on one NVIDIA H200; see test/bench/results
 * for the tables.  Other architectures take the same, within what they have: shared memory
 * is what the device gives (gpucol_launch_shared()), and blocks are bounded so that the least
 * device, 7.5, holds them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_TUNING_CUH
#define GPUCOL_CUDA_TUNING_CUH

#include <cstdint>

/* Threads a block of element-wise kernels, and most of their blocks: 64 for each multiprocessor
 * of the device of these measurements. */
constexpr int GPUCOL_THREADS = 256;
constexpr int GPUCOL_MOST_BLOCKS = 64 * 132;

/* Vectors of one segment that a warp takes at a time.  Larger runs cost
 * balance at the end of a scan, smaller ones more segment look-ups. */
#ifndef GPUCOL_RUN_VECTORS
#define GPUCOL_RUN_VECTORS 16
#endif

/* Neighbouring runs that a warp takes in turn where columns have less than so many
 * bits: with 1, the sum of a column of 1 bit takes 94 us, with 4, 76.  Of wider ones a
 * warp takes one: with 4, counting at 16 bits reaches 92 % of the read ceiling, with 1,
 * 96.  Runs after which it looks whether to give up. */
constexpr uint32_t GPUCOL_TURN_SHIFT = 2;
constexpr uint32_t GPUCOL_TURN_WIDTH = 8;
constexpr uint32_t GPUCOL_CANCEL_RUNS = 8;

/* Range scans: threads a block, least blocks a multiprocessor. */
#ifndef GPUCOL_SCAN_BLOCKS
#define GPUCOL_SCAN_BLOCKS 3
#endif
constexpr int GPUCOL_SCAN_THREADS = 256;

/* Least blocks a multiprocessor of scans that add up a column: with 3, registers
 * spill, and 16 bits reach 82 % of the read ceiling where 2 reach 94 %. */
#ifndef GPUCOL_REDUCE_BLOCKS
#define GPUCOL_REDUCE_BLOCKS 2
#endif

/* Words of packed vectors that a lane of such a scan has under way at a time: 9 and 9
 * bits reach 85 % of the read ceiling with 18 words, 90 with 36; with 64, registers
 * spill. */
#ifndef GPUCOL_REDUCE_WORDS
#define GPUCOL_REDUCE_WORDS 40
#endif

/* Grouping in shared memory: one block a multiprocessor, as many threads as
 * 128 registers each allow. */
#ifndef GPUCOL_AGG_THREADS
#define GPUCOL_AGG_THREADS 512
#endif
constexpr int GPUCOL_AGG_GLOBAL_THREADS = 256;

/* Interpreter: rows that a thread carries through one instruction, threads a block,
 * and least blocks a multiprocessor.  A filter and a sum of expressions over a
 * billion rows take 26 ms with 1 row and 6 blocks, 19 with 2 and 4, 21 with 4 and 3,
 * whose registers take more of the device's memory. */
#ifndef GPUCOL_INTERP_ROWS
#define GPUCOL_INTERP_ROWS 2
#endif
#ifndef GPUCOL_INTERP_BLOCKS
#define GPUCOL_INTERP_BLOCKS 4
#endif
constexpr int GPUCOL_INTERP_THREADS = 256;

/* Shared memory that a block takes at most, what 9.0 and 10.0 have (8.0: 163 KB, other 8.x
 * and 12.0: 99, 7.5: 64), and what a reduction object leaves of it to the kernel's own. */
constexpr int GPUCOL_MOST_SHARED = 227 * 1024;
constexpr int GPUCOL_AGG_OWN_SHARED = 7 * 1024;

/* Groups up to which a reduction object has one copy a lane, and up to which
 * it has eight: below, lanes of a warp meet in one group too often. */
constexpr int GPUCOL_AGG_LANE_COPIES_GROUPS = 32;
constexpr int GPUCOL_AGG_EIGHT_COPIES_GROUPS = 256;

/* Slices of the key domain that neighbouring blocks share one pass over; more
 * groups than slices hold go to the table in device memory: 34 G rows/s, where 6
 * slices do 51 (compiled 138) and 11 slices, of the kernel for any plan, 28. */
#ifndef GPUCOL_AGG_MAX_SLICES
#define GPUCOL_AGG_MAX_SLICES 6
#endif

/*
 * More groups than slices hold, partitioned first: most partitions (a multiple of a
 * scattering block's threads), most slices of one, threads of the blocks that count
 * rows, and the scratch memory that rows may take at a time.  Then the rows from which
 * on that is done, and the most groups for each of them: with a key and a value of 16
 * bits, of 200,000 to 3 M groups, it is faster than the table in device memory from 1 M
 * rows on (2.1 to 1.4 times; 8 times at 1 G), and slower where groups are many more
 * than rows (100 M groups of 4 M rows 0.9).
 */
#ifndef GPUCOL_PARTITIONS
#define GPUCOL_PARTITIONS 2048
#endif
constexpr uint32_t GPUCOL_PARTITION_MAX_SLICES = 8;
constexpr int GPUCOL_PARTITION_COUNT_THREADS = 256;
constexpr uint64_t GPUCOL_PARTITION_BYTES = (uint64_t) 2 << 30;
constexpr uint64_t GPUCOL_PARTITION_MIN_ROWS = (uint64_t) 1 << 20;
constexpr uint64_t GPUCOL_PARTITION_MAX_GROUPS = 4;

/* Rows from which on a program is worth compiling: seconds of a CPU for later
 * queries' milliseconds. */
constexpr uint64_t GPUCOL_JIT_MIN_ROWS = 1 << 20;

/* Registers that the packed words of half a vector of all columns may take in a
 * compiled reduction. */
constexpr int GPUCOL_JIT_MAX_WORDS = 40;

/* Rankings: elementwise kernels; threads whose heaps share a block's memory and
 * how much of it they take at most, so that two blocks are resident. */
constexpr int GPUCOL_DEVICE_RANK_THREADS = 256;
constexpr int GPUCOL_DEVICE_RANK_HEAP_THREADS = 128;
constexpr int GPUCOL_DEVICE_RANK_HEAP_SHARED_BYTES = 110 * 1024;

/* Threads of a multiprocessor of 7.5. */
constexpr int GPUCOL_LEAST_RESIDENT = 1024;
static_assert(GPUCOL_SCAN_BLOCKS * GPUCOL_SCAN_THREADS <= GPUCOL_LEAST_RESIDENT &&
			  GPUCOL_REDUCE_BLOCKS * GPUCOL_SCAN_THREADS <= GPUCOL_LEAST_RESIDENT &&
			  GPUCOL_INTERP_BLOCKS * GPUCOL_INTERP_THREADS <= GPUCOL_LEAST_RESIDENT &&
			  GPUCOL_AGG_THREADS <= GPUCOL_LEAST_RESIDENT, "every architecture holds these blocks");

#endif
