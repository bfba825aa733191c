/*-------------------------------------------------------------------------
 *
 * text_part.h
 *	  Parts of texts by numbers of characters, or of bytes: where they begin and end, and how
 *	  many there are.
 *
 * Characters are those of UTF-8, which is valid wherever PostgreSQL stores it: each has one
 * byte that does not continue another.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TEXT_PART_H
#define GPUCOL_KERNEL_TEXT_PART_H

#include <string.h>

#include "kernel/program.h"

/* A part: skip `from` characters and take `count`, or as `aux` (GPUCOL_TEXT_xxx) says. */
typedef struct GpucolTextPart
{
	int			aux;
	int64_t		from;
	int64_t		count;
} GpucolTextPart;

/* Does a byte begin a character? */
static inline bool
gpucol_text_begins(char byte)
{
	return ((unsigned char) byte & 0xc0) != 0x80;
}

/* The number of characters: eight bytes at a time, less those that continue one, which each byte of `sums` counts. */
static inline int64_t
gpucol_text_characters(const char *data, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	int64_t		n = (int64_t) len;

	while (len >= 8)
	{
		uint64_t	sums = 0;

		for (int i = 0; i < 31 && len >= 8; i++, len -= 8, data += 8)
		{
			uint64_t	word;

			memcpy(&word, data, 8);
			sums += word >> 7 & ~word >> 6 & ones;
		}
		/* at most 248 in all */
		n -= (int64_t) (sums * ones >> 56);
	}
	for (size_t i = 0; i < len; i++)
		n -= !gpucol_text_begins(data[i]);
	return n;
}

/* The bytes of the first n characters. */
static inline size_t
gpucol_text_skip(GpucolBytes string, int64_t n)
{
	size_t		at = 0;

	for (; n > 0 && at < string.len; n--)
		do
			at++;
		while (at < string.len && !gpucol_text_begins(string.data[at]));
	return at;
}

/* The bytes before the last n characters. */
static inline size_t
gpucol_text_skip_back(GpucolBytes string, int64_t n)
{
	size_t		at = string.len;

	for (; n > 0 && at > 0; n--)
		do
			at--;
		while (at > 0 && !gpucol_text_begins(string.data[at]));
	return at;
}

/* gpucol_text_skip() where every byte is a character. */
static inline size_t
gpucol_text_skip_bytes(size_t len, int64_t n)
{
	return (uint64_t) n < len ? (size_t) n : len;
}

/* The part of a string: some of its bytes, where they are. */
static inline GpucolBytes
gpucol_text_part(GpucolBytes string, GpucolTextPart part)
{
	bool		bytes = (part.aux & GPUCOL_TEXT_BYTES) != 0;
	size_t		begin = 0;

	if (part.aux & (GPUCOL_TEXT_LAST | GPUCOL_TEXT_ALL_BUT_LAST))
	{
		begin = bytes ? string.len - gpucol_text_skip_bytes(string.len, part.from) :
			gpucol_text_skip_back(string, part.from);
		if (part.aux & GPUCOL_TEXT_ALL_BUT_LAST)
		{
			string.len = begin;
			return string;
		}
	}
	else
		begin = bytes ? gpucol_text_skip_bytes(string.len, part.from) : gpucol_text_skip(string, part.from);
	string.data += begin;
	string.len -= begin;
	string.len = bytes ? gpucol_text_skip_bytes(string.len, part.count) :
		gpucol_text_skip(string, part.count);
	return string;
}

#endif							/* GPUCOL_KERNEL_TEXT_PART_H */
