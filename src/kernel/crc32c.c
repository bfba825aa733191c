/*-------------------------------------------------------------------------
 *
 * crc32c.c
 *	  CRC-32C: by table eight bytes at a time, or by SSE4.2's instruction in
 *	  three interleaved parts.
 *
 * The instruction takes three cycles and one can start in each, so long inputs
 * are cut in three parts of equal size whose checksums are computed side by
 * side.  Appending that many zero bytes to a checksum is a linear map of its 32
 * bits; four tables of 256 hold that map bytewise, and join the parts.  (The
 * technique is that of Mark Adler's public crc32c notes; the tables are
 * computed here on first use.)  Parts are a third of a page's word rows, then
 * small for what is left.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/crc32c.h"

#include <string.h>

#ifdef __x86_64__
#include <nmmintrin.h>
#endif

#define POLYNOMIAL UINT32_C(0x82f63b78)	/* reversed */
#define LARGE_PART 2688		/* three are the 63 word rows of a page */
#define SMALL_PART 128

typedef uint32_t (*Crc32c) (uint32_t crc, const unsigned char *p, size_t len);

static uint32_t bytes_table[8][256];	/* checksum of byte b and i zero bytes */

/* A checksum's byte i, a part of zeros later. */
typedef uint32_t ZerosTable[4][256];

static ZerosTable large_table;
static ZerosTable small_table;
static Crc32c chosen;

static uint32_t
crc_table(uint32_t crc, const unsigned char *p, size_t len)
{
	for (; len >= 8; len -= 8, p += 8)
	{
		uint32_t	lo;
		uint32_t	hi;

		memcpy(&lo, p, 4);
		memcpy(&hi, p + 4, 4);
		lo ^= crc;
		crc = 0;
		for (int i = 0; i < 4; i++)
			crc ^= bytes_table[7 - i][lo >> (8 * i) & 0xff] ^
				bytes_table[3 - i][hi >> (8 * i) & 0xff];
	}
	for (; len > 0; len--)
		crc = bytes_table[0][(crc ^ *p++) & 0xff] ^ crc >> 8;
	return crc;
}

#ifdef __x86_64__
static inline uint64_t
load64(const unsigned char *p)
{
	uint64_t	word;

	memcpy(&word, p, sizeof(word));
	return word;
}

static uint32_t
append_zeros(const ZerosTable table, uint32_t crc)
{
	return table[0][crc & 0xff] ^ table[1][crc >> 8 & 0xff] ^
		table[2][crc >> 16 & 0xff] ^ table[3][crc >> 24];
}

/* Three parts side by side. */
__attribute__((target("sse4.2")))
static inline uint64_t
crc_parts(uint64_t a, const unsigned char *p, size_t part, const ZerosTable table)
{
	uint64_t	b = 0;
	uint64_t	c = 0;

	for (size_t i = 0; i < part; i += 8)
	{
		a = _mm_crc32_u64(a, load64(p + i));
		b = _mm_crc32_u64(b, load64(p + part + i));
		c = _mm_crc32_u64(c, load64(p + 2 * part + i));
	}
	a = append_zeros(table, (uint32_t) a) ^ b;
	return append_zeros(table, (uint32_t) a) ^ c;
}

__attribute__((target("sse4.2")))
static uint32_t
crc_sse42(uint32_t crc, const unsigned char *p, size_t len)
{
	uint64_t	a = crc;

	for (; len >= 3 * LARGE_PART; len -= 3 * LARGE_PART, p += 3 * LARGE_PART)
		a = crc_parts(a, p, LARGE_PART, large_table);
	for (; len >= 3 * SMALL_PART; len -= 3 * SMALL_PART, p += 3 * SMALL_PART)
		a = crc_parts(a, p, SMALL_PART, small_table);
	for (; len >= 8; len -= 8, p += 8)
		a = _mm_crc32_u64(a, load64(p));
	for (; len > 0; len--)
		a = _mm_crc32_u8((uint32_t) a, *p++);
	return (uint32_t) a;
}
#endif

/* The map of appending `part` zero bytes, which is linear: the sum of what the bits give. */
static void
fill_zeros(ZerosTable table, size_t part)
{
	static const unsigned char zeros[LARGE_PART];

	for (int i = 0; i < 4; i++)
		for (uint32_t b = 1; b < 256; b++)
			table[i][b] = (b & (b - 1)) == 0 ? crc_table(b << (8 * i), zeros, part) :
				table[i][b & (b - 1)] ^ table[i][b & -b];
}

static void
fill_tables(void)
{
	for (uint32_t b = 0; b < 256; b++)
	{
		uint32_t	crc = b;

		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? POLYNOMIAL : 0);
		bytes_table[0][b] = crc;
	}
	for (int i = 1; i < 8; i++)
		for (uint32_t b = 0; b < 256; b++)
			bytes_table[i][b] = bytes_table[i - 1][b] >> 8 ^
				bytes_table[0][bytes_table[i - 1][b] & 0xff];
	fill_zeros(large_table, LARGE_PART);
	fill_zeros(small_table, SMALL_PART);
}

/* Threads that race here write the same tables and the same choice. */
static Crc32c
choose(void)
{
	Crc32c		function = crc_table;

	fill_tables();
#ifdef __x86_64__
	__builtin_cpu_init();
	if (__builtin_cpu_supports("sse4.2"))
		function = crc_sse42;
#endif
	__atomic_store_n(&chosen, function, __ATOMIC_RELEASE);
	return function;
}

uint32_t
gpucol_crc32c(uint32_t crc, const void *data, size_t len)
{
	Crc32c		function = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);

	if (__builtin_expect(function == NULL, 0))
		function = choose();
	return ~function(~crc, (const unsigned char *) data, len);
}
