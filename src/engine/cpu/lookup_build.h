/*-------------------------------------------------------------------------
 *
 * lookup_build.h
 *	  A table in the making: what the files that make it share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_LOOKUP_BUILD_H
#define GPUCOL_ENGINE_CPU_LOOKUP_BUILD_H

#include "engine/cpu/build.h"
#include "engine/cpu/lookup.h"

#define GPUCOL_LOOKUP_FEW_PIECES 8	/* are done by one thread */

typedef struct GpucolMaking
{
	GpucolRun  *run;
	GpucolLookup *lookup;
	GpucolCpuPiece *pieces;
	uint32_t   *starts;			/* first row of each piece */
	uint64_t	npieces;
	uint32_t	nrows;
	uint32_t  **numbers;		/* [worker * columns + column]: entries of S columns */
	uint64_t   *words;			/* by row; freed when keys are numbered */
	uint64_t  **codes;			/* by key and row, of a wide table */
	uint8_t    *null_keys;		/* by row; NULL = none */
	uint32_t   *places;			/* by row: its row in the table */
} GpucolMaking;

/* Call task for each number below n, in any order, by all threads; or for each piece. */
extern void gpucol_lookup_share(const GpucolMaking *making, uint64_t n,
								void (*task) (void *arg, uint64_t i), void *arg);
extern void gpucol_lookup_share_pieces(const GpucolMaking *making, void (*task) (void *arg, uint64_t piece),
									   void *arg);

/* Is a column one of the key? */
GPUCOL_CPU_INLINE bool
gpucol_lookup_is_key(const GpucolMaking *making, int column)
{
	return column < making->lookup->nkeys;
}

/* Where share i of n begins, of so many. */
GPUCOL_CPU_INLINE uint64_t
gpucol_lookup_share_start(uint64_t all, uint64_t i, uint64_t n)
{
	return all / n * i + (i < all % n ? i : all % n);
}

/* engine/cpu/lookup_strings.c: number the strings of all workers, of column c. */
extern GpucolStatus gpucol_lookup_number_strings(GpucolMaking *making, int c);

/* engine/cpu/lookup_place.c: number the words, and give each row its place. */
extern GpucolStatus gpucol_lookup_place(GpucolMaking *making);

#endif							/* GPUCOL_ENGINE_CPU_LOOKUP_BUILD_H */
