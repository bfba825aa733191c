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

/* The product of two words, its halves folded. */
static inline uint64_t
gpucol_hash_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128) a * b;

	return (uint64_t) product ^ (uint64_t) (product >> 64);
}

/* A word of bytes. */
static inline uint64_t
gpucol_hash_word(const char *data)
{
	uint64_t	word;

	memcpy(&word, data, 8);
	return word;
}

/* Where in 8 to 32 bytes the second and third of four words begin that overlap and have all of them. */
#define GPUCOL_HASH_SECOND(len) ((len) < 16 ? (len) - 8 : 8)
#define GPUCOL_HASH_THIRD(len)	((len) < 16 ? 0 : (len) - 16)

/* Hash of up to 7 bytes. */
static inline uint64_t
gpucol_hash_few(const char *data, size_t len)
{
	uint64_t	word = 0;
	uint32_t	half;

	if (len >= 4)
	{
		memcpy(&half, data, 4);
		word = half;
		memcpy(&half, data + len - 4, 4);
		word |= (uint64_t) half << 32;
	}
	else if (len > 0)
		word = (uint64_t) (unsigned char) data[0] | (uint64_t) (unsigned char) data[len / 2] << 8 |
			(uint64_t) (unsigned char) data[len - 1] << 16;
	return gpucol_hash_mix(gpucol_hash_mix(len, word), 0);
}

/*
 * Hash of len bytes; data may be NULL if there are none.  Most texts have 8 to 32 bytes: these
 * take the same way whatever their length, as a processor foretells no lengths.
 */
static inline uint64_t
gpucol_hash_bytes(const char *data, size_t len)
{
	uint64_t	hash = len * UINT64_C(0x9e3779b97f4a7c15);

	if (len < 8)
		return gpucol_hash_few(data, len);
	for (; len > 32; data += 16, len -= 16)
		hash = gpucol_hash_fold(gpucol_hash_word(data) ^ hash,
								gpucol_hash_word(data + 8) ^ UINT64_C(0xc1ace0d9a2729d41));
	hash ^= gpucol_hash_fold(gpucol_hash_word(data) ^ UINT64_C(0x8f8de0e973e1d037),
							 gpucol_hash_word(data + GPUCOL_HASH_SECOND(len)) ^ UINT64_C(0xf11fc8de3eb459c9));
	return gpucol_hash_fold(hash ^ gpucol_hash_word(data + GPUCOL_HASH_THIRD(len)),
							gpucol_hash_word(data + len - 8) ^ UINT64_C(0x856980bb0977e471));
}

/* Are the same number of bytes the same? */
static inline int
gpucol_hash_same(const char *a, const char *b, size_t len)
{
	if (len < 8 || len > 32)
		return len == 0 || memcmp(a, b, len) == 0;
	return ((gpucol_hash_word(a) ^ gpucol_hash_word(b)) |
			(gpucol_hash_word(a + GPUCOL_HASH_SECOND(len)) ^ gpucol_hash_word(b + GPUCOL_HASH_SECOND(len))) |
			(gpucol_hash_word(a + GPUCOL_HASH_THIRD(len)) ^ gpucol_hash_word(b + GPUCOL_HASH_THIRD(len))) |
			(gpucol_hash_word(a + len - 8) ^ gpucol_hash_word(b + len - 8))) == 0;
}

#endif							/* GPUCOL_KERNEL_HASH_H */
