/*-------------------------------------------------------------------------
 *
 * interp_device.cuh
 *	  The kernels that run programs: any program over any chunk.
 *
 * A warp takes vectors as the scan kernels do and tests the ranges on packed
 * codes for the whole vector.  Then it runs the instructions of the filter for
 * the rows that are left, P::ROWS of them a lane at a time, and lists those that
 * pass, so that the other instructions find 32 rows a warp however few pass.
 * What these need of the filter's registers they compute again.  All lanes are at
 * one instruction, so dispatch does not diverge.
 *
 * The code is compiled twice.  Ahead of time its program is the one in the plan
 * (InterpretedProgram): instructions are read from memory, registers are an
 * array in local memory, which the L1 cache keeps; several rows of a lane share
 * the cost of an instruction, and constants are loaded once a kernel.  At run time
 * (jit_interp.cc) the program is a class of constants, whereupon every loop over it
 * is unrolled and its registers are registers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_DEVICE_CUH
#define GPUCOL_CUDA_INTERP_DEVICE_CUH

#include "cuda/scan/interp_table.cuh"
#include "cuda/scan/offsets.cuh"

/* The program that is in the plan. */
struct InterpretedProgram
{
	static constexpr int ROWS = GPUCOL_INTERP_ROWS;
	static constexpr int UNROLL = 1;
	static constexpr int MAX_WORDS = GPUCOL_MAX_WORDS;

	/* A segment's chunks by slot. */
	struct Columns
	{
		const GpucolDeviceChunk *chunks;

		__device__ explicit Columns(const GpucolDeviceChunk *c) : chunks(c) {}
		__device__ const GpucolDeviceChunk &operator[](int slot) const { return chunks[slot]; }
	};

	__device__ static int nkeys(const GpucolInterpPlan &plan) { return plan.nkeys; }
	__device__ static uint16_t key(const GpucolInterpPlan &plan, int k) { return plan.keys[k]; }
	__device__ static int key_class(const GpucolInterpPlan &plan, int k) { return plan.classes[plan.keys[k]]; }
	__device__ static int naccs(const GpucolInterpPlan &plan) { return plan.naccs; }
	__device__ static const GpucolAcc &acc(const GpucolInterpPlan &plan, int i) { return plan.accs[i]; }
	__device__ static int noutputs(const GpucolInterpPlan &plan) { return plan.noutputs; }
	__device__ static const GpucolInterpOutput &output(const GpucolInterpPlan &plan, int i) { return plan.outputs[i]; }
	__device__ static uint16_t filter_register(const GpucolInterpPlan &plan) { return plan.filter; }
	__device__ static bool
	filters(const GpucolInterpPlan &plan)
	{
		return plan.filter != GPUCOL_NO_REG || plan.filter_end > plan.filter_start;
	}

	/* Evaluate instructions from .. to - 1; the rows of `on` without an error.  Once
	 * in the code: every opcode is in it. */
	__device__ __noinline__ static uint32_t
	evaluate(const GpucolInterpPlan &plan, const Place<ROWS, Columns> &place, int from, int to,
			 Registers<ROWS> &reg, uint32_t on)
	{
		for (int i = from; i < to; i++)
		{
			const uint4 words = __ldg((const uint4 *) plan.instrs + i);
			GpucolInstr in;

			memcpy(&in, &words, sizeof(in));
			on = step(plan, place, in, reg, on);
		}
		return on;
	}

	/* Constants, which stay in their registers. */
	__device__ __forceinline__ static void
	start(const GpucolInterpPlan &plan, Registers<ROWS> &reg)
	{
		for (int i = 0; i < plan.filter_start; i++)
			load_constant(plan, plan.instrs[i], reg);
	}

	__device__ __forceinline__ static uint32_t
	filter(const GpucolInterpPlan &plan, const Place<ROWS, Columns> &place, Registers<ROWS> &reg, uint32_t on)
	{
		return evaluate(plan, place, plan.filter_start, plan.filter_end, reg, on);
	}

	__device__ __forceinline__ static uint32_t
	rest(const GpucolInterpPlan &plan, const Place<ROWS, Columns> &place, Registers<ROWS> &reg, uint32_t on)
	{
		return evaluate(plan, place, plan.filter_end, plan.ninstrs, reg, on);
	}
};

/* Rows of a vector, ascending: in a warp's shared memory, or all. */
struct RowList
{
	uint16_t   *rows;			/* [GPUCOL_VECTOR_VALUES] */
	uint32_t	n;
	bool		all;

	/* The i-th row; any where there are fewer. */
	__device__ __forceinline__ int
	at(uint32_t i) const
	{
		return all ? i : i < n ? rows[i] : 0;
	}

	/* Append the warp's rows that are `on`; they must come after those listed. */
	__device__ __forceinline__ void
	append(bool on, int row)
	{
		uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on);

		if (on)
			rows[n + __popc(w & ((1u << threadIdx.x % 32) - 1))] = row;
		n += __popc(w);
	}

	/* List the rows of a lane mask. */
	__device__ __forceinline__ void
	set(uint32_t mask, int lane)
	{
		all = __all_sync(GPUCOL_ALL_LANES, mask == 0xffffffffu);
		n = all ? GPUCOL_VECTOR_VALUES : 0;
		if (all || !__any_sync(GPUCOL_ALL_LANES, mask != 0))
			return;
		for (int p = 0; p < 32; p++)
			append(mask >> p & 1, p * 32 + lane);
		__syncwarp();
	}
};

/* One warp's run of program P in one mode. */
template <int MODE, class P>
struct ProgramWarp
{
	static constexpr int R = P::ROWS;
	typedef typename P::Columns Columns;

	const GpucolInterpPlan &plan;
	const int	lane;
	const bool	ungrouped;
	RowList		list;
	Registers<R> reg;
	unsigned long long total[MODE == MODE_AGGREGATE || MODE == MODE_EXPONENTS ? P::MAX_WORDS : 1];

	__device__ __forceinline__
	ProgramWarp(const GpucolInterpPlan &p, uint16_t *rows)
		: plan(p), lane(threadIdx.x % 32),
			ungrouped(MODE == MODE_EXPONENTS || (MODE == MODE_AGGREGATE && P::nkeys(p) == 0)),
		list{rows, 0, false} {}

	/* Totals that no row has advanced. */
	__device__ __forceinline__ void
	clear_totals()
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);

			if (MODE == MODE_EXPONENTS)
				total[i] = total[P::naccs(plan) + i] = 0;
			else
			{
				Words		words;

				neutral_words(acc, words);
				for (int j = 0; j < words.n; j++)
					total[acc.word + j] = words.w[j];
			}
		}
	}

	/* Rows of `on` that have no error and pass the filter. */
	__device__ __forceinline__ uint32_t
	filter(const Place<R, Columns> &place, uint32_t on)
	{
		on = P::filter(plan, place, reg, on);
		return P::filter_register(plan) == GPUCOL_NO_REG ? on : on & reg.truths(P::filter_register(plan));
	}

	/* Rows i .. of the list; those that exist are the result. */
	__device__ __forceinline__ uint32_t
	take_rows(uint32_t i, Place<R, Columns> &place) const
	{
		uint32_t	on = 0;

#pragma unroll
		for (int r = 0; r < R; r++)
		{
			place.row[r] = list.at(i + r * 32 + lane);
			on |= (uint32_t) (i + r * 32 + lane < list.n) << r;
		}
		return on;
	}

	/* Leave the rows in the list that pass the filter. */
	__device__ __forceinline__ void
	filter_list(Place<R, Columns> &place)
	{
		RowList		passed = {list.rows, 0, false};

		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = filter(place, take_rows(i, place));

			__syncwarp();
#pragma unroll
			for (int r = 0; r < R; r++)
				passed.append(on >> r & 1, place.row[r]);
			__syncwarp();
		}
		list = passed;
	}

	/* Match bitmap of a vector, and the number of its matches. */
	__device__ __forceinline__ void
	select(Place<R, Columns> &place, uint32_t mask, size_t number)
	{
		uint32_t	word = 0,
					matches = 0;

#pragma unroll 1
		for (int p = 0; p < 32; p += R)
		{
			uint32_t	on = mask >> p & Registers<R>::ALL;

			if (!__any_sync(GPUCOL_ALL_LANES, on != 0))
				continue;
#pragma unroll
			for (int r = 0; r < R; r++)
				place.row[r] = (p + r) * 32 + lane;
			on = filter(place, on);
#pragma unroll
			for (int r = 0; r < R; r++)
			{
				uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on >> r & 1);

				if (lane == p + r)
					word = w;
				matches += __popc(w);
			}
		}
		plan.bitmap[number * 32 + lane] = word;
		if (lane == 0)
			plan.counts[number] = matches;
	}

	/* Deliver one row as number `at` of the result. */
	__device__ __forceinline__ void
	emit(const RowRegisters<R> &row, unsigned long long at, unsigned long long number)
	{
		plan.rows[at] = number;
#pragma unroll P::UNROLL
		for (int i = 0; i < P::noutputs(plan); i++)
		{
			const GpucolInterpOutput o = P::output(plan, i);
			bool		null = row.null(o.reg);

			if (o.cls == GPUCOL_CLASS_D)
			{
				o.values[2 * at] = null ? 0 : row.v(o.reg);
				o.values[2 * at + 1] = null ? 0 : row.high(o.reg);
			}
			else
				o.values[at] = null ? 0 : row.v(o.reg);
			o.nulls[at] = null;
		}
	}

	/* Greatest and least exponents of what sums of floats add up. */
	__device__ __forceinline__ void
	advance_exponents(uint32_t on)
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);

			if (acc.op != GPUCOL_ACC_SUM_F && acc.op != GPUCOL_ACC_SQUARE_F)
				continue;
#pragma unroll
			for (int r = 0; r < R; r++)
				if (on & ~reg.nulls[acc.arg] & 1u << r)
				{
					unsigned long long e = reg.v[acc.arg][r] >> 52 & 0x7ff;

					if (e != 0x7ff && e > total[i])
						total[i] = e;
					if (reg.v[acc.arg][r] << 1 != 0 && 0x7ff - e > total[P::naccs(plan) + i])
						total[P::naccs(plan) + i] = 0x7ff - e;
				}
		}
	}

	/* Totals of the lane's rows; counts and sums of integers add them up first. */
	__device__ __forceinline__ void
	advance_totals(const Place<R, Columns> &place, uint32_t on)
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);
			uint32_t	rows = on;

			if (acc.filter != GPUCOL_NO_REG)
				rows &= reg.truths(acc.filter);
			if (acc.arg != GPUCOL_NO_REG)
				rows &= ~reg.nulls[acc.arg];
			if (acc.op == GPUCOL_ACC_COUNT)
				total[acc.word] += __popc(rows);
			else if (acc.op == GPUCOL_ACC_SUM_I)
			{
				unsigned long long low = 0;
				long long	high = 0;

#pragma unroll
				for (int r = 0; r < R; r++)
				{
					int64_t		x = rows >> r & 1 ? reg.v[acc.arg][r] : 0;

					low += (uint32_t) x;
					high += x >> 32;
				}
				total[acc.word] += low;
				total[acc.word + 1] += (unsigned long long) high;
			}
			else
#pragma unroll 1
				for (int r = 0; r < R; r++)
				{
					Words		words;
					int			status = words_of_row(plan, i, acc, RowRegisters<R>{reg, r}, rows >> r & 1, 0, words);

					if (status != GPUCOL_OK)
						report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : place.first + place.row[r], status);
					for (int j = 0; j < words.n; j++)
						total[acc.word + j] = combine(words.kind, total[acc.word + j], words.w[j]);
				}
		}
	}

	/* Run the instructions after the filter for the list, and use what they give;
	 * `out` is the result's number of the first row. */
	__device__ __forceinline__ void
	run_list(Place<R, Columns> &place, unsigned long long out, unsigned long long number)
	{
		for (uint32_t i = 0; i < list.n; i += 32 * R)
		{
			uint32_t	on = P::rest(plan, place, reg, take_rows(i, place));

			if (MODE == MODE_EXPONENTS)
				advance_exponents(on);
			else if (MODE == MODE_AGGREGATE && ungrouped)
				advance_totals(place, on);
			else
#pragma unroll 1
				for (int r = 0; r < R; r++)
					if (MODE == MODE_AGGREGATE)
						advance_groups<P>(plan, RowRegisters<R>{reg, r}, on >> r & 1, place.first + place.row[r]);
					else if (on >> r & 1)
						emit(RowRegisters<R>{reg, r}, out + i + r * 32 + lane, number + place.row[r]);
			__syncwarp();
		}
	}

	/* Ask for the codes of the next vector of a run, lest its first instructions wait. */
	__device__ __forceinline__ void
	prefetch(const Run &run, uint32_t vector) const
	{
		const GpucolDeviceChunk *chunks = plan.scan.chunks + (size_t) run.segment * plan.scan.ncolumns;

		for (uint32_t c = 0; c < plan.scan.ncolumns; c++)
			prefetch_vector(chunks[c], vector, lane);
	}

	/* One vector, `number` of the scan. */
	__device__ __forceinline__ void
	run_vector(const Run &run, const Columns &columns, uint32_t vector, size_t number, bool skip)
	{
		const GpucolScanPlan &scan = plan.scan;
		Place<R, Columns> place = {columns, vector, number * GPUCOL_VECTOR_VALUES, {}};
		unsigned long long out = 0;
		uint32_t	mask;

		if (MODE == MODE_EMIT)
		{
			mask = warp_transpose(__ldg(plan.bitmap + number * 32 + lane), lane);
			out = plan.counts[number];
		}
		else
			mask = skip ? 0 : vector_mask(scan, run, vector, lane);
		if (MODE == MODE_SELECT)
		{
			select(place, mask, number);
			return;
		}
		list.set(mask, lane);
		if (MODE != MODE_EMIT && P::filters(plan))
			filter_list(place);
		run_list(place, out, (unsigned long long) scan.segments[run.segment].number << 32 | vector *
				 GPUCOL_VECTOR_VALUES);
	}

	/* Add the warp's totals to the table's. */
	__device__ __forceinline__ void
	deliver_totals()
	{
#pragma unroll P::UNROLL
		for (int i = 0; i < P::naccs(plan); i++)
		{
			const GpucolAcc acc = P::acc(plan, i);
			Words		words;

			if (MODE == MODE_EXPONENTS)
			{
				for (int j = i; j < 2 * P::naccs(plan); j += P::naccs(plan))
				{
					unsigned long long x = warp_combine(2, total[j]);

					if (lane == 0)
						atomicMax(plan.exponents + j, x);
				}
				continue;
			}
			neutral_words(acc, words);
			for (int j = 0; j < words.n; j++)
			{
				unsigned long long x = warp_combine(words.kind, total[acc.word + j]);

				if (lane == 0)
					atomic_combine(words.kind, plan.table + acc.word + j, x);
			}
		}
	}
};

/* A kernel's work: program P over the plan's rows. */
template <int MODE, class P>
__device__ __forceinline__ void
interp_run(const GpucolInterpPlan &plan)
{
	__shared__ uint16_t rows[MODE == MODE_SELECT ? 1 : GPUCOL_INTERP_THREADS / 32][GPUCOL_VECTOR_VALUES];
	const GpucolScanPlan &scan = plan.scan;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	ProgramWarp<MODE, P> work(plan, rows[MODE == MODE_SELECT ? 0 : threadIdx.x / 32]);

	if (work.ungrouped)
		work.clear_totals();
	P::start(plan, work.reg);
	for (uint32_t number = warp; number < scan.nruns; number += warps)
	{
		Run			run = find_run(scan, number);
		uint32_t	base = scan.vector_start[run.segment];
		typename P::Columns columns(scan.chunks + (size_t) run.segment * scan.ncolumns);
		uint32_t	skip;

		/* most runs have no rows where few are wanted */
		if (MODE == MODE_EMIT && (size_t) base + run.first + run.n < scan.nvectors &&
			plan.counts[(size_t) base + run.first] == plan.counts[(size_t) base + run.first + run.n])
			continue;
		skip = skipped_by_zones(scan, run, work.lane);
		for (uint32_t v = 0; v < run.n; v++)
		{
			if (MODE != MODE_EMIT && v + 1 < run.n && !(skip >> (v + 1) & 1))
				work.prefetch(run, run.first + v + 1);
			work.run_vector(run, columns, run.first + v, (size_t) base + run.first + v, skip >> v & 1);
		}
		if (is_cancelled(scan))
			break;
	}
	__syncwarp();
	if (work.ungrouped)
		work.deliver_totals();
}

#endif
