/*-------------------------------------------------------------------------
 *
 * hash.h
 *	  Hashes of words and byte strings for tables in memory.
 *
 * Multiply and fold, a word at a time.  Hashes are not stored: they may change
 * from one release to the next.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_HASH_H
#define GPUCOL_KERNEL_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A hash and one word more. */
static inline uint64_t
gpucol_hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ (hash >> 32);
}

/* Hash of len bytes; data may be NULL if there are none. */
static inline uint64_t
gpucol_hash_bytes(const char *data, size_t len)
{
	uint64_t	hash = len;
	uint64_t	word = 0;
	uint32_t	half;

	/* the last bytes by reads that overlap: all lengths are in the hash */
	if (len >= 8)
	{
		const char *last = data + len - 8;

		for (; data < last; data += 8)
		{
			memcpy(&word, data, 8);
			hash = gpucol_hash_mix(hash, word);
		}
		memcpy(&word, last, 8);
	}
	else if (len >= 4)
	{
		memcpy(&half, data, 4);
		word = half;
		memcpy(&half, data + len - 4, 4);
		word |= (uint64_t) half << 32;
	}
	else if (len > 0)
		word = (uint64_t) (unsigned char) data[0] | (uint64_t) (unsigned char) data[len / 2] << 8 |
			(uint64_t) (unsigned char) data[len - 1] << 16;
	return gpucol_hash_mix(gpucol_hash_mix(hash, word), 0);
}

#endif							/* GPUCOL_KERNEL_HASH_H */
