/*-------------------------------------------------------------------------
 *
 * select.h
 *	  Lists of the places in an array at which a condition holds, without branches.
 *
 * Lists ascend.  They are written 16 places at a time where the processor has AVX-512, so
 * that they need GPUCOL_SELECT_ROOM places for 1,024 rows.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_SELECT_H
#define GPUCOL_ENGINE_CPU_SELECT_H

#include "engine/cpu/cpu.h"

#define GPUCOL_SELECT_ROOM (GPUCOL_VECTOR_VALUES + 16)

/* All of n places. */
static inline uint32_t
gpucol_select_all(uint32_t n, uint16_t *at)
{
	for (uint32_t j = 0; j < n; j++)
		at[j] = (uint16_t) j;
	return n;
}

/* Places whose number is not UINT32_MAX, or where it is. */
extern uint32_t gpucol_select_numbers(const uint32_t *numbers, uint32_t n, bool there,
									  uint16_t *at);

/*
 * Places whose word, up to `greatest` (which is below 2^31), has its bit set, or where it
 * has not.
 */
extern uint32_t gpucol_select_bits(const uint32_t *words, uint32_t n, const uint64_t *bits,
								   uint32_t greatest, bool there, uint16_t *at);

/* Places whose byte of `values` is not 0, and of `nulls` (NULL = none) is. */
extern uint32_t gpucol_select_true(const uint8_t *values, const uint8_t *nulls, uint32_t n,
								   uint16_t *at);

#endif							/* GPUCOL_ENGINE_CPU_SELECT_H */
