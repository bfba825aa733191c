/*-------------------------------------------------------------------------
 *
 * partial.cuh
 *	  What one part of a request gave, and the union of several.
 *
 * A request whose segments lie on several devices, or that is larger than a
 * device, is computed in parts; their results are merged on the host: rows of a
 * SCAN are put in the table's order, groups of an AGG are combined state by state, as parallel
 * aggregation does.  Counts, sums of integers and extremes stay exact.  Sums of
 * floats are kept as exact fixed-point sums of each part, added in 113 bits and
 * rounded once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PARTIAL_CUH
#define GPUCOL_CUDA_PARTIAL_CUH

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "kernel/program.h"

/* A sum of floats before it is rounded. */
struct FloatSum
{
	uint64_t	nans;
	uint64_t	infinities;
	uint64_t	minus_infinities;
	uint64_t	sum[2];			/* a float of 128 bits */
	uint64_t	squares[2];		/* likewise: sum of squares, for SUMSQ */
};

/* From fixed point: sum / 2^scale, squares / 2^square_scale. */
extern FloatSum gpucol_float_sum(uint64_t nans, uint64_t infinities, uint64_t minus_infinities,
								 __int128 sum, int scale, __int128 squares, int square_scale);

/* Rows of joined tables that were met, by probe: a bit for each in whole vectors, or nothing. */
typedef std::vector<std::vector<uint32_t>> Marks;

struct Partial
{
	uint64_t	nrows = 0;
	std::vector<char> data;		/* as GpucolWireResult describes it */
	const char *placed = NULL;	/* or there, where the client finds it */
	size_t		nplaced = 0;	/* bytes */
	std::vector<FloatSum> floats;	/* [nrows][naggs]; empty: no such sums */

	Marks		marks;			/* of parts after which another delivers rows of tables */

	/* figures */
	uint64_t	nsegments = 0;
	uint64_t	skipped = 0;
	uint64_t	packed_bytes = 0;
	double		seconds = 0;	/* on the device */
	double		plan_seconds = 0;	/* planning */
	double		work_seconds = 0;	/* from planning to the result */
	std::chrono::steady_clock::time_point began = std::chrono::steady_clock::time_point::max();	/* planning */
	std::chrono::steady_clock::time_point ended = std::chrono::steady_clock::time_point::min();	/* with the result */
	std::vector<uint64_t> probed;	/* by probe: rows that reached it, */
	std::vector<uint64_t> found;	/* and that it has handed on, before its filter */
	std::string kernel;			/* which kernel answered */
	std::string note;			/* why not another */

	const char *bytes() const { return placed != NULL ? placed : data.data(); }
	size_t		size() const { return placed != NULL ? nplaced : data.size(); }
};

/* Can parts of this program's result be merged?  If not, why. */
extern const char *gpucol_partial_obstacle(const GpucolProgram *program);

/*
 * Add `part` to `whole`, of which no other is part if it was placed.  Throws Failure
 * where device results do not fit host memory.
 */
extern void gpucol_partial_merge(const GpucolProgram *program, Partial *whole, Partial *part);

/* Round the sums of floats into the states; throws Failure on overflow. */
extern void gpucol_partial_finish(const GpucolProgram *program, Partial *whole);

#endif
