/*-------------------------------------------------------------------------
 *
 * strings.h
 *	  Byte strings of the CPU engine's aggregation, numbered, once for all threads.
 *
 * Groups and sets of every thread know strings by the same numbers, so that tables merge
 * without a look at bytes.  Strings are dealt to shards by their hashes.  A shard is searched
 * without a lock: a slot is written after the string that it leads to, strings never move, and
 * slots that were replaced by more stay readable.  Adding one takes the shard's lock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_STRINGS_H
#define GPUCOL_ENGINE_CPU_STRINGS_H

#include "base/hash_table.h"
#include "engine/cpu/cpu.h"

#define GPUCOL_CPU_SHARD_BITS	8	/* of a number: its shard, where there are several threads */
#define GPUCOL_CPU_FIRST_STRINGS 16	/* in a shard's first block; the next has twice as many */
#define GPUCOL_CPU_STRING_BLOCKS 28
#define GPUCOL_CPU_NO_STRING	UINT32_MAX

/* Slots of a shard, as those of a GpucolHashTable. */
typedef struct GpucolCpuStringSlots
{
	uint64_t	nslots;
	uint32_t	shift;
	struct GpucolCpuStringSlots *older; /* those that they replace */
	uint64_t	slots[];
} GpucolCpuStringSlots;

typedef struct GpucolCpuShard
{
	GpucolCpuStringSlots *slots;	/* read by all; NULL: there are none */
	GpucolBytes *blocks[GPUCOL_CPU_STRING_BLOCKS];

	/* what adding a string changes is in one cache line, which goes from thread to thread */
	pthread_mutex_t lock __attribute__((aligned(64)));
	uint32_t	n;
	uint32_t	left;			/* bytes of the last piece */
	char	   *space;			/* which are there */
	size_t		piece;			/* bytes of it */
	uint64_t	bytes;			/* of everything */
} __attribute__((aligned(128))) GpucolCpuShard;

/* String numbers of a column's dictionary codes in one segment; + 1, 0 unknown. */
typedef struct GpucolCpuCodeMap
{
	uint64_t	serial;			/* segment */
	uint32_t   *numbers;
	uint32_t	asked;			/* codes that rows had before these were known, about */
} GpucolCpuCodeMap;

struct GpucolCpuStrings
{
	uint32_t	bits;			/* of a number that are its shard */
	uint32_t	empty;			/* number + 1 of the string of no bytes, 0 unknown */
	pthread_mutex_t lock;		/* of maps, where one is opened */
	GpucolCpuCodeMap *maps;		/* by program column; then those of made texts (few.c) */
	GpucolCpuShard shards[];
};

extern GpucolStatus gpucol_cpu_strings_open(GpucolRun *run);

/* Bytes of all of it. */
extern uint64_t gpucol_cpu_strings_bytes(const GpucolRun *run);

/* The place of string `index` of a shard. */
GPUCOL_CPU_INLINE GpucolBytes *
gpucol_cpu_shard_place(const GpucolCpuShard *shard, uint32_t index)
{
	uint32_t	place = index + GPUCOL_CPU_FIRST_STRINGS;
	int			block = 31 - __builtin_clz(place);

	return shard->blocks[block - __builtin_ctz(GPUCOL_CPU_FIRST_STRINGS)] + (place - (UINT32_C(1) << block));
}

/* The shard of a number or a hash. */
GPUCOL_CPU_INLINE uint32_t
gpucol_cpu_shard_of(const GpucolCpuStrings *strings, uint64_t hash)
{
	return (uint32_t) hash & ((UINT32_C(1) << strings->bits) - 1);
}

/* The string of a number. */
GPUCOL_CPU_INLINE const GpucolBytes *
gpucol_cpu_string(const GpucolRun *run, uint64_t number)
{
	const GpucolCpuStrings *strings = run->agg.strings;

	return gpucol_cpu_shard_place(&strings->shards[gpucol_cpu_shard_of(strings, number)],
								  (uint32_t) number >> strings->bits);
}

/*
 * The numbers of n strings values[rows[]], at most 1,024, as numbers[rows[]]; those that are new
 * are added.  hashes is scratch for n.
 */
extern GpucolStatus gpucol_cpu_strings_find(GpucolRun *run, const GpucolBytes *values, const uint16_t *rows,
											uint32_t n, uint64_t *hashes, uint64_t *numbers);

/* Number of the string of no bytes. */
extern GpucolStatus gpucol_cpu_strings_empty(GpucolRun *run, uint64_t *number);

/*
 * The numbers of n dictionary codes of a column of the current segment; 0 where a byte of `skip`
 * (NULL = none) is set.  Of a vector about `passing` rows ask for theirs.
 */
extern GpucolStatus gpucol_cpu_strings_codes(GpucolRun *run, const GpucolCpuColumn *column, uint32_t passing,
											 const uint32_t *codes, const uint8_t *skip, uint32_t n,
											 uint64_t *numbers);

/* Codes that a chunk may have. */
static inline size_t
gpucol_cpu_code_space(const GpucolCpuColumn *column)
{
	return column->desc->coding == GPUCOL_CODING_CONSTANT ?
		1 : (size_t) 1 << column->desc->width;
}

#endif							/* GPUCOL_ENGINE_CPU_STRINGS_H */
