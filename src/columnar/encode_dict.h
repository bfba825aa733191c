/*-------------------------------------------------------------------------
 *
 * encode_dict.h
 *	  Numbering the distinct values of a column of BYTES while rows arrive.
 *
 * A dictionary gives each distinct value a provisional code, in the order of
 * first appearance, and keeps a copy of the value.  gpucol_dict_add says GPUCOL_END
 * as soon as a dictionary cannot pay: each time the number of values seen has
 * doubled, from some thousands on, less than three quarters of the values since
 * the last look may have been new.
 *
 * A value of up to eight bytes is its own key, so that looking it up compares
 * one word; the table of a longer one holds its hash.
 *
 * Freestanding C: no PostgreSQL.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_ENCODE_DICT_H
#define GPUCOL_COLUMNAR_ENCODE_DICT_H

#include <string.h>

#include "kernel/batch.h"
#include "kernel/memory.h"
#include "kernel/status.h"

/* Place of a value in the hash table. */
typedef struct GpucolDictSlot
{
	uint64_t	key;			/* see gpucol_dict_key */
	uint32_t	len;			/* its length, modulo 2^32 */
	uint32_t	number;			/* code + 1; 0 where free */
} GpucolDictSlot;

typedef struct GpucolDictBlock GpucolDictBlock;

/* Fields are private but for n, bytes and values. */
typedef struct GpucolDict
{
	GpucolMemory memory;
	GpucolBytes *values;		/* by provisional code */
	uint32_t	n;				/* distinct values */
	uint64_t	bytes;			/* of the distinct values */
	uint32_t	room;			/* of values; the table has four times as many slots */
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

/*
 * The rest of gpucol_dict_add: look a value up by its key, and enter it.  `code`
 * is set even where GPUCOL_END is the answer.
 */
extern GpucolStatus gpucol_dict_find(GpucolDict *dict, const char *data, size_t len,
									 uint64_t key, uint32_t *code);

/* Is a dictionary of what was added no larger than the plain bytes? */
extern bool gpucol_dict_pays(const GpucolDict *dict);

/* Hash of a value of more than eight bytes. */
extern uint64_t gpucol_dict_hash(const char *data, size_t len);

/*
 * Key of a value: its bytes as a little-endian number, padded with zeros, up to
 * eight of them; the hash of a longer one.
 */
static inline uint64_t
gpucol_dict_key(const char *data, size_t len)
{
	uint64_t	key;
	uint32_t	low;
	uint32_t	high;

	if (len > 8)
		return gpucol_dict_hash(data, len);
	if (len == 8)
	{
		memcpy(&key, data, 8);
		return key;
	}
	if (len >= 4)				/* reads that overlap */
	{
		memcpy(&low, data, 4);
		memcpy(&high, data + len - 4, 4);
		return low | (uint64_t) high << 8 * (len - 4);
	}
	if (len == 0)
		return 0;
	return (uint64_t) (unsigned char) data[0] |
		(uint64_t) (unsigned char) data[len / 2] << 8 * (len / 2) |
		(uint64_t) (unsigned char) data[len - 1] << 8 * (len - 1);
}

/* Slot where the search for a key begins. */
static inline uint32_t
gpucol_dict_home(const GpucolDict *dict, uint64_t key, uint32_t len)
{
	return (uint32_t) ((key ^ (uint64_t) len << 56) * UINT64_C(0x9e3779b97f4a7c15) >>
					   (64 - dict->bits));
}

/* Provisional code of a value, new or old; GPUCOL_END if a dictionary cannot pay. */
static inline GpucolStatus
gpucol_dict_add(GpucolDict *dict, const char *data, size_t len, uint32_t *code)
{
	dict->plain += len;
	dict->seen++;
	return gpucol_dict_find(dict, data, len, gpucol_dict_key(data, len), code);
}

/* Ask for the memory where the search for a key will begin. */
static inline void
gpucol_dict_prefetch(const GpucolDict *dict, uint64_t key, uint32_t len)
{
	__builtin_prefetch(&dict->table[gpucol_dict_home(dict, key, len)]);
}

/*
 * Look up a value of len <= 8 bytes by its key, where it is found at once; false
 * says nothing.  The caller counts what it found with gpucol_dict_count.
 */
static inline bool
gpucol_dict_knows(const GpucolDict *dict, uint64_t key, uint32_t len, uint32_t *code)
{
	const GpucolDictSlot *slot = &dict->table[gpucol_dict_home(dict, key, len)];

	*code = slot->number - 1;
	return slot->key == key && slot->len == len && slot->number != 0;
}

/* Count n values of `bytes` bytes together that gpucol_dict_knows has found. */
static inline void
gpucol_dict_count(GpucolDict *dict, uint32_t n, uint64_t bytes)
{
	dict->seen += n;
	dict->plain += bytes;
}

#endif							/* GPUCOL_COLUMNAR_ENCODE_DICT_H */
