/*-------------------------------------------------------------------------
 *
 * encode_dict.h
 *	  Numbering the distinct values of a column of BYTES while rows arrive.
 *
 * A dictionary gives each distinct value a provisional code, in the order of
 * first appearance, and keeps a copy of the value.  gpucol_dict_add says GPUCOL_END
 * as soon as a dictionary cannot pay: each time the number of values seen has
 * doubled, from some thousands on, a share of the values since the last look must
 * have been known, which grows from 1/256 to a quarter: so values that are drawn at
 * random from some 2^18 or 2^19 stay, and those that hardly repeat are given up soon.
 *
 * The table holds values of up to eight bytes, so that looking one up compares one
 * word, and says of longer ones where their copies lie, behind their lengths.  Values
 * are looked up some at a time: what one needs of memory, its slot and then the copy, is
 * asked for before the one before is done.
 *
 * Freestanding C: no PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ENCODE_DICT_H
#define GPUCOL_COLUMNAR_ENCODE_DICT_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/batch.h"
#include "kernel/memory.h"
#include "kernel/status.h"

/* Place of a value in the hash table. */
typedef struct GpucolDictSlot
{
	union
	{
		uint64_t	word;		/* of up to eight bytes: these */
		const char *copy;		/* or where a copy of them lies, behind its length */
	}			at;
	uint32_t	tag;			/* of its hash and length */
	uint32_t	number;			/* code + 1; 0 where free */
} GpucolDictSlot;

typedef struct GpucolDictBlock GpucolDictBlock;

/* Fields are private but for n, bytes, values and seen. */
typedef struct GpucolDict
{
	GpucolMemory memory;
	GpucolBytes *values;		/* by provisional code */
	uint32_t	n;				/* distinct values */
	uint64_t	bytes;			/* of the distinct values */
	uint32_t	room;			/* of values */
	int			bits;			/* log2 of the slots */
	GpucolDictSlot *table;
	GpucolDictBlock *blocks;	/* where the copies lie */
	uint64_t	seen;			/* values added */
	uint64_t	plain;			/* and their bytes */
	uint64_t	look;			/* when to look whether it pays, */
	uint64_t	looked;			/* did last, */
	uint32_t	known;			/* distinct values then */
} GpucolDict;

/* Start an empty dictionary; it is to be freed also after an error. */
extern GpucolStatus gpucol_dict_begin(GpucolDict *dict, const GpucolMemory *memory);

extern void gpucol_dict_free(GpucolDict *dict);

/* From here on do not give up, however few of the values were known. */
extern void gpucol_dict_persist(GpucolDict *dict);

/* Values that are looked up side by side. */
#define GPUCOL_DICT_AHEAD 32

/*
 * Number n values, new or old: codes[i] becomes the provisional code of values[i],
 * which need not outlive the call, for the first *done of them: n, or fewer where
 * GPUCOL_END says that a dictionary cannot pay, or there is no memory.
 */
extern GpucolStatus gpucol_dict_add(GpucolDict *dict, const GpucolBytes *values, uint32_t n,
									uint32_t *codes, uint32_t *done);

/*
 * Is a dictionary of what was added no larger than the plain bytes?  Of few and short
 * values, of which some came again, it may be twice as large: they are the beginning or
 * the end of a load whose other segments have one, and a device reads a column of texts
 * where every segment has.
 */
extern bool gpucol_dict_pays(const GpucolDict *dict);

#endif							/* GPUCOL_COLUMNAR_ENCODE_DICT_H */
