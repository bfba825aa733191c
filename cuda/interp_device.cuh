/*-------------------------------------------------------------------------
 *
 * interp_device.cuh
 *	  The kernels that run programs: any program over any chunk.
 *
 * A warp takes vectors as the scan kernels do, tests the ranges on packed codes
 * for the whole vector, and then runs the instructions for 32 rows at a time,
 * one a lane.  All lanes are at one instruction, so dispatch does not diverge.
 *
 * The code is compiled twice.  Ahead of time its program is the one in the plan
 * (InterpretedProgram): instructions are read from memory, registers are an
 * array in local memory, which the L1 cache keeps.  At run time (jit_interp.cu)
 * the program is a class of constants, whereupon every loop over it is unrolled
 * and its registers are registers.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_DEVICE_CUH
#define GPUCOL_CUDA_INTERP_DEVICE_CUH

#include "interp_table.cuh"

/* The program that is in the plan. */
struct InterpretedProgram
{
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

	/* Evaluate instructions from .. to - 1; the row's first error. */
	__device__ static int
	evaluate(const GpucolInterpPlan &plan, const Place<Columns> &place, int from, int to, Registers &reg)
	{
		for (int i = from; i < to; i++)
		{
			int			status = step(plan, place, plan.instrs[i], reg);

			if (status != GPUCOL_OK)
				return status;
		}
		return GPUCOL_OK;
	}

	__device__ static int
	filter(const GpucolInterpPlan &plan, const Place<Columns> &place, Registers &reg)
	{
		return evaluate(plan, place, 0, plan.nfilter_instrs, reg);
	}

	__device__ static int
	rest(const GpucolInterpPlan &plan, const Place<Columns> &place, Registers &reg)
	{
		return evaluate(plan, place, plan.nfilter_instrs, plan.ninstrs, reg);
	}
};

/* A kernel's work: program P over the plan's rows. */
template <int MODE, class P>
__device__ __forceinline__ void
interp_run(const GpucolInterpPlan &plan)
{
	const GpucolScanPlan &scan = plan.scan;
	int			lane = threadIdx.x % 32;
	uint32_t	warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
	uint32_t	warps = gridDim.x * blockDim.x / 32;
	bool		ungrouped = MODE == MODE_EXPONENTS || (MODE == MODE_AGGREGATE && P::nkeys(plan) == 0);
	unsigned long long total[MODE == MODE_AGGREGATE || MODE == MODE_EXPONENTS ? P::MAX_WORDS : 1];
	Registers	reg;

	if (ungrouped)
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
		skip = skipped_by_zones(scan, run, lane);
		for (uint32_t v = 0; v < run.n; v++)
		{
			uint32_t	vector = run.first + v;
			size_t		global = (size_t) base + vector;
			uint32_t	word = 0;
			uint32_t	matches = 0;
			uint32_t	mask;
			unsigned long long out = 0;

			if (MODE == MODE_EMIT)
			{
				word = __ldg(plan.bitmap + global * 32 + lane);
				out = plan.counts[global];
				mask = warp_transpose(word, lane);
			}
			else
				mask = skip >> v & 1 ? 0 : vector_mask(scan, run, vector, lane);
			if (MODE != MODE_SELECT && !__any_sync(GPUCOL_ALL_LANES, mask != 0))
				continue;
			for (int p = 0; p < 32; p++)
			{
				bool		on = mask >> p & 1;
				Place<typename P::Columns> place = {columns, vector, p * 32 + lane};
				unsigned long long ordinal = global * 1024 + place.row;
				int			status = GPUCOL_OK;

				if (!__any_sync(GPUCOL_ALL_LANES, on))
					continue;
				if (on)
				{
					reg.nulls = 0;
					status = P::filter(plan, place, reg);
					if (status == GPUCOL_OK && MODE != MODE_EMIT && P::filter_register(plan) != GPUCOL_NO_REG)
						on = reg.truth(P::filter_register(plan));
					if (status == GPUCOL_OK && on && MODE != MODE_SELECT)
						status = P::rest(plan, place, reg);
					if (status != GPUCOL_OK)
					{
						report(plan, ordinal, status);
						on = false;
					}
				}
				__syncwarp();
				if (MODE == MODE_SELECT)
				{
					uint32_t	w = __ballot_sync(GPUCOL_ALL_LANES, on);

					if (lane == p)
						word = w;
					matches += __popc(w);
				}
				else if (MODE == MODE_EMIT)
				{
					uint32_t	w = __shfl_sync(GPUCOL_ALL_LANES, word, p);

					if (on)
					{
						unsigned long long at = out + __popc(w & ((1u << lane) - 1));

						plan.rows[at] = (unsigned long long) scan.segments[run.segment].number << 32 |
							(vector * GPUCOL_VECTOR_VALUES + place.row);
#pragma unroll P::UNROLL
						for (int i = 0; i < P::noutputs(plan); i++)
						{
							const GpucolInterpOutput o = P::output(plan, i);
							bool		null = reg.null(o.reg);

							if (o.cls == GPUCOL_CLASS_D)
							{
								o.values[2 * at] = null ? 0 : reg.v[o.reg];
								o.values[2 * at + 1] = null ? 0 : reg.high[o.reg];
							}
							else
								o.values[at] = null ? 0 : reg.v[o.reg];
							o.nulls[at] = null;
						}
					}
					out += __popc(w);
				}
				else if (MODE == MODE_EXPONENTS)
				{
#pragma unroll P::UNROLL
					for (int i = 0; i < P::naccs(plan); i++)
					{
						const GpucolAcc acc = P::acc(plan, i);

						if (on && (acc.op == GPUCOL_ACC_SUM_F || acc.op == GPUCOL_ACC_SQUARE_F) &&
							!reg.null(acc.arg))
						{
							unsigned long long e = reg.v[acc.arg] >> 52 & 0x7ff;

							if (e != 0x7ff && e > total[i])
								total[i] = e;
							if (reg.v[acc.arg] << 1 != 0 && 0x7ff - e > total[P::naccs(plan) + i])
								total[P::naccs(plan) + i] = 0x7ff - e;
						}
					}
				}
				else if (ungrouped)
				{
#pragma unroll P::UNROLL
					for (int i = 0; i < P::naccs(plan); i++)
					{
						const GpucolAcc acc = P::acc(plan, i);
						Words		words;

						status = words_of_row(plan, i, acc, reg, on, 0, words);
						if (status != GPUCOL_OK)
							report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : ordinal, status);
						for (int j = 0; j < words.n; j++)
							total[acc.word + j] = combine(words.kind, total[acc.word + j], words.w[j]);
					}
				}
				else
					advance_groups<P>(plan, reg, on, ordinal);
			}
			if (MODE == MODE_SELECT)
			{
				plan.bitmap[global * 32 + lane] = word;
				if (lane == 0)
					plan.counts[global] = matches;
			}
		}
		if (*scan.cancel)
			break;
	}
	__syncwarp();
	if (ungrouped)
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

#endif
