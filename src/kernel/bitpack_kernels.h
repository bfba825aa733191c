/*-------------------------------------------------------------------------
 *
 * bitpack_kernels.h
 *	  The table of packed-vector kernels that each instruction set exports;
 *	  private to src/kernel/bitpack*.c.
 *
 * Per-width entries exist for widths 1..32; wider vectors are two planes, which
 * bitpack.c composes from these.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_BITPACK_KERNELS_H
#define GPUCOL_KERNEL_BITPACK_KERNELS_H

#include "kernel/bitpack.h"

typedef struct GpucolBitpackKernels
{
	const char *name;
	void		(*pack[33]) (const uint32_t *codes, uint32_t *words);

	/* low 32 bits, or bits from 32 up, of 64-bit values minus a reference */
	void		(*pack_low[33]) (const uint64_t *values, uint64_t reference,
								 uint32_t *words);
	void		(*pack_high[33]) (const uint64_t *values, uint64_t reference,
								  uint32_t *words);
	void		(*unpack[33]) (const uint32_t *words, uint32_t *out);

	/*
	 * out = code + reference; for widths over 32, out = (code << 32 | low) +
	 * reference, low being the first plane and `words` the second.
	 */
	void		(*unpack64[33]) (const uint32_t *words, uint64_t reference,
								 uint64_t *out);
	void		(*join[33]) (const uint32_t *low, const uint32_t *words,
							 uint64_t reference, uint64_t *out);

	/* first <= last <= greatest code of the width, not both extremes */
	uint32_t	(*range[33]) (const uint32_t *words, uint32_t first,
							  uint32_t last, uint32_t *match);
	uint64_t	(*sum[33]) (const uint32_t *words);
	uint64_t	(*sum_match[33]) (const uint32_t *words, const uint32_t *match);

	void		(*minmax[33]) (const uint32_t *words, const uint32_t *match,
							   uint32_t *min, uint32_t *max);
	uint32_t	(*count) (const uint32_t *match);

	/* n values */
	void		(*measure) (const int64_t *values, uint32_t n,
							GpucolMeasure *out);
} GpucolBitpackKernels;

extern const GpucolBitpackKernels gpucol_bitpack_base;
#ifdef __x86_64__
extern const GpucolBitpackKernels gpucol_bitpack_avx2;
extern const GpucolBitpackKernels gpucol_bitpack_avx512;
#endif

#endif							/* GPUCOL_KERNEL_BITPACK_KERNELS_H */
