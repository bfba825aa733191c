/*-------------------------------------------------------------------------
 *
 * interp_program.cuh
 *	  The program in a plan, as interp_device.cuh takes one: its instructions are read
 *	  from memory.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_PROGRAM_CUH
#define GPUCOL_CUDA_INTERP_PROGRAM_CUH

#include "cuda/base/tuning.cuh"
#include "cuda/scan/interp_step.cuh"

/* The program that is in the plan; one without PROBES needs fewer registers. */
template <bool WITH_PROBES>
struct InterpretedProgram
{
	static constexpr bool PROBES = WITH_PROBES;
	static constexpr bool TAILS = WITH_PROBES;
	static constexpr int ROWS = GPUCOL_INTERP_ROWS;
	static constexpr int UNROLL = 1;
	static constexpr int MAX_WORDS = GPUCOL_MAX_WORDS;

	/* A segment's chunks by slot. */
	struct Columns
	{
		const GpucolDeviceChunk *chunks;

		__device__ explicit Columns(const GpucolDeviceChunk *c) : chunks(c) {}
		__device__ const GpucolDeviceChunk &operator[](int slot) const { return chunks[slot]; }
		__device__ static const GpucolDevicePayload &payload(const GpucolInterpPlan &plan,
															 int i) { return plan.payloads[i]; }
	};

	__device__ static int nkeys(const GpucolInterpPlan &plan) { return plan.nkeys; }
	__device__ static uint16_t key(const GpucolInterpPlan &plan, int k) { return plan.keys[k]; }
	__device__ static int key_class(const GpucolInterpPlan &plan, int k) { return plan.classes[plan.keys[k]]; }
	__device__ static int naccs(const GpucolInterpPlan &plan) { return plan.naccs; }
	__device__ static const GpucolAcc &acc(const GpucolInterpPlan &plan, int i) { return plan.accs[i]; }
	__device__ static int noutputs(const GpucolInterpPlan &plan) { return plan.noutputs; }
	__device__ static const GpucolInterpOutput &output(const GpucolInterpPlan &plan, int i) { return plan.outputs[i]; }
	__device__ static int nprobes(const GpucolInterpPlan &plan) { return PROBES ? plan.nprobes : 0; }
	__device__ static bool expands(const GpucolInterpPlan &plan) { return plan.expands; }
	__device__ static const GpucolDeviceProbe &probe(const GpucolInterpPlan &plan, int p) { return plan.probes[p]; }
	__device__ static const GpucolDeviceKey &probe_key(const GpucolInterpPlan &plan,
													   int k) { return plan.probe_keys[k]; }
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

	/* The stages of probe p. */
	__device__ __forceinline__ static uint32_t
	keys_of(const GpucolInterpPlan &plan, int p, const Place<ROWS, Columns> &place, Registers<ROWS> &reg, uint32_t on)
	{
		return evaluate(plan, place, plan.probes[p].start, plan.probes[p].keys_end, reg, on);
	}

	__device__ __forceinline__ static uint32_t
	residual_of(const GpucolInterpPlan &plan, int p, const Place<ROWS, Columns> &place, Registers<ROWS> &reg,
				uint32_t on)
	{
		return evaluate(plan, place, plan.probes[p].keys_end, plan.probes[p].residual_end, reg, on);
	}

	__device__ __forceinline__ static uint32_t
	filter_of(const GpucolInterpPlan &plan, int p, const Place<ROWS, Columns> &place, Registers<ROWS> &reg,
			  uint32_t on)
	{
		return evaluate(plan, place, plan.probes[p].residual_end, plan.probes[p].filter_end, reg, on);
	}

	__device__ __forceinline__ static uint32_t
	rest(const GpucolInterpPlan &plan, const Place<ROWS, Columns> &place, Registers<ROWS> &reg, uint32_t on)
	{
		return evaluate(plan, place, plan.rest_start, plan.ninstrs, reg, on);
	}
};

#endif
