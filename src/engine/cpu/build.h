/*-------------------------------------------------------------------------
 *
 * build.h
 *	  Rows of a BUILD, as the workers keep them until the table is made.
 *
 * A worker appends the outputs of passing rows to chunks of its own: int64 forms (floats
 * as their bits, strings as numbers of entries that the worker owns), and a byte for NULL.
 * Pieces tell which vector of the scan the rows are of, so that the table's rows can
 * follow the order of the scan, whichever thread had them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_BUILD_H
#define GPUCOL_ENGINE_CPU_BUILD_H

#include "engine/cpu/cpu.h"

typedef struct GpucolCpuChunk
{
	uint32_t	n;
	uint32_t	room;
	int			worker;
	int64_t    *values;			/* output after output, `room` each */
	uint8_t    *nulls;			/* likewise */
	int64_t   **highs;			/* by output: of decimals that are int128 the upper halves;
								 * NULL while there are none */
} GpucolCpuChunk;

typedef struct GpucolCpuPiece
{
	uint64_t	ordinal;		/* of the vector */
	uint64_t	number;			/* among the worker's */
	const GpucolCpuChunk *chunk;
	uint32_t	start;
	uint32_t	n;
} GpucolCpuPiece;

/* What a worker knows of one output. */
typedef struct GpucolCpuBuiltColumn
{
	int64_t		least;			/* of values that are not NULL; least > greatest: none */
	int64_t		greatest;
	bool		has_nulls;
	bool		wide;			/* D: some value is no int64 */

	/* S */
	GpucolBytes *entries;
	uint32_t	nentries;
	uint32_t	entries_room;
	uint64_t	serial;			/* of the codes in map[] */
	uint32_t   *map;			/* entry + 1 of a code; 0 = none yet */
	size_t		map_room;
} GpucolCpuBuiltColumn;

struct GpucolCpuBuilt
{
	GpucolCpuChunk **chunks;
	uint32_t	nchunks;
	uint32_t	chunks_room;
	GpucolCpuPiece *pieces;
	uint64_t	npieces;
	uint64_t	pieces_room;
	uint64_t	nrows;
	bool		has_null;		/* a row with a NULL key was there, */
	bool		has_rows;		/* and any other, kept or not */
	GpucolCpuBuiltColumn *columns;	/* by output */
	char	   *space;			/* of strings: rest of the last block */
	size_t		space_left;
};

/* engine/cpu/build.c: set up; append the selected rows. */
extern GpucolStatus gpucol_cpu_build_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_build_rows(GpucolCpuWorker *worker,
										  const GpucolCpuVector *vector);

/*
 * engine/cpu/part.c: of n entries at[] of the selected rows leave those whose bucket, by some
 * registers, is in [first, end); returns their number.
 */
extern uint32_t gpucol_cpu_part_keep(const GpucolCpuWorker *worker, const uint16_t *regs, int nregs,
									 uint32_t first, uint32_t end, uint16_t *at, uint32_t n);

/* engine/cpu/lookup_build.c: make the table of the rows. */
extern GpucolStatus gpucol_lookup_build(GpucolRun *run);

/* The operation of the engine. */
extern GpucolStatus gpucol_cpu_build(GpucolRun *run, GpucolLookup **lookup);

#endif							/* GPUCOL_ENGINE_CPU_BUILD_H */
