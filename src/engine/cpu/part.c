/*-------------------------------------------------------------------------
 *
 * part.c
 *	  In which part of a table is a row, or a key that is looked up?
 *
 * A bucket is a hash of values that does not depend on what else is there: not of the frame
 * that a table gives its codes, nor of a segment's dictionary.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/build.h"
#include "engine/cpu/lookup.h"
#include "kernel/hash.h"

#define NULL_VALUE UINT64_C(0x5bd1e9955bd1e995)

/* A value of a register as a word. */
static uint64_t
value_word(const GpucolCpuReg *reg, uint32_t j)
{
	GpucolBytes bytes;

	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			return reg->v.b[j];
		case GPUCOL_CLASS_D:
			return reg->narrow ? (uint64_t) reg->n[j] : (uint64_t) reg->v.d[j];
		case GPUCOL_CLASS_F:
			return (uint64_t) gpucol_lookup_float(reg->v.f[j]);
		case GPUCOL_CLASS_S:
			bytes = reg->coded ? reg->column->entries[reg->codes[j]] : reg->v.s[j];
			return gpucol_hash_bytes(bytes.data, bytes.len);
		default:
			return (uint64_t) reg->v.i[j];
	}
}

uint32_t
gpucol_cpu_part_keep(const GpucolCpuWorker *worker, const uint16_t *regs, int nregs,
					 uint32_t first, uint32_t end, uint16_t *at, uint32_t n)
{
	uint64_t	hashes[GPUCOL_VECTOR_VALUES];
	uint32_t	kept = 0;

	if (end - first == GPUCOL_PART_BUCKETS)
		return n;
	memset(hashes, 0, sizeof(uint64_t) * n);
	for (int k = 0; k < nregs; k++)
	{
		const GpucolCpuReg *reg = &worker->regs[regs[k]];

		for (uint32_t i = 0; i < n; i++)
			hashes[i] = gpucol_hash_mix(hashes[i], reg->nulls != NULL && reg->nulls[at[i]] ?
										NULL_VALUE : value_word(reg, at[i]));
	}
	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t	bucket = gpucol_lookup_hash(hashes[i]) % GPUCOL_PART_BUCKETS;

		at[kept] = at[i];
		kept += bucket >= first && bucket < end;
	}
	return kept;
}
