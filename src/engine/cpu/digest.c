/*-------------------------------------------------------------------------
 *
 * digest.c
 *	  MD5 (RFC 1321) of strings, several at a time.
 *
 * A step of MD5 waits for the one before, so a processor computes one digest at a fraction of
 * what it could.  Here eight strings are digested side by side, each in a lane of vectors: their
 * words are brought into the lanes block by block.  A lane whose string has ended keeps its state
 * while the others go on.  Strings come in the order of rows; of very different lengths the lanes
 * of short ones are idle, which costs no more than a digest at a time.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/cpu.h"
#include "engine/cpu/digest.h"

#define LANES		8
#define BLOCK		64			/* bytes that are digested at a time */
#define WORDS		(BLOCK / 4)
#define LENGTH_AT	56			/* where the length stands in the last block */

typedef uint32_t Lanes __attribute__((vector_size(4 * LANES)));

/* The strings in the lanes. */
typedef struct Batch
{
	GpucolBytes strings[LANES];
	uint64_t	nblocks[LANES]; /* 0: none in this lane */
	uint64_t	most;
	char		ends[LANES][2 * BLOCK]; /* what is behind the last whole block, padded */
	const char *blocks[LANES];	/* those at hand */
	uint32_t	words[WORDS][LANES] __attribute__((aligned(4 * LANES)));
	uint32_t	active[LANES] __attribute__((aligned(4 * LANES)));	/* all ones, or 0 */
	uint32_t	state[4][LANES] __attribute__((aligned(4 * LANES)));
} Batch;

/* Put a string into a lane. */
static void
begin_lane(Batch *batch, int lane, GpucolBytes string)
{
	uint64_t	whole = string.len / BLOCK;
	uint64_t	rest = string.len % BLOCK;
	uint64_t	last = rest < LENGTH_AT ? 0 : BLOCK;
	uint64_t	bits = (uint64_t) string.len * 8;
	char	   *end = batch->ends[lane];

	batch->strings[lane] = string;
	batch->nblocks[lane] = whole + 1 + last / BLOCK;
	memset(end, 0, last + BLOCK);
	memcpy(end, string.data + whole * BLOCK, rest);
	end[rest] = (char) 0x80;
	memcpy(end + last + LENGTH_AT, &bits, sizeof(bits));
	if (batch->nblocks[lane] > batch->most)
		batch->most = batch->nblocks[lane];
}

/* Bring block number `number` of each string into the lanes. */
static void
load_blocks(Batch *batch, uint64_t number)
{
	for (int lane = 0; lane < LANES; lane++)
	{
		uint64_t	whole = batch->strings[lane].len / BLOCK;
		bool		active = number < batch->nblocks[lane];

		batch->active[lane] = active ? UINT32_MAX : 0;
		batch->blocks[lane] = !active ? batch->ends[lane] :
			number < whole ? batch->strings[lane].data + number * BLOCK : batch->ends[lane] + (number - whole) * BLOCK;
	}
	for (int lane = 0; lane < LANES; lane++)
	{
		const char *from = batch->blocks[lane];

		for (int i = 0; i < WORDS; i++)
			memcpy(&batch->words[i][lane], from + 4 * i, 4);
	}
}

#define ROTATE(x, n)	((x) << (n) | (x) >> (32 - (n)))
#define F(x, y, z)		((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z)		((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z)		((x) ^ (y) ^ (z))
#define I(x, y, z)		((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, word, n, constant) \
	do \
	{ \
		a += f(b, c, d) + w[word] + UINT32_C(constant); \
		a = ROTATE(a, n) + b; \
	} while (0)

#define STEPS(f, w1, w2, w3, w4, n1, n2, n3, n4, k1, k2, k3, k4) \
	do \
	{ \
		STEP(f, a, b, c, d, w1, n1, k1); \
		STEP(f, d, a, b, c, w2, n2, k2); \
		STEP(f, c, d, a, b, w3, n3, k3); \
		STEP(f, b, c, d, a, w4, n4, k4); \
	} while (0)

/* Digest the blocks at hand. */
GPUCOL_CPU_CLONES static void
digest_blocks(Batch *batch)
{
	const Lanes *w = (const Lanes *) batch->words;
	Lanes	   *state = (Lanes *) batch->state;
	Lanes		active = *(const Lanes *) batch->active;
	Lanes		a = state[0];
	Lanes		b = state[1];
	Lanes		c = state[2];
	Lanes		d = state[3];

	STEPS(F, 0, 1, 2, 3, 7, 12, 17, 22, 0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee);
	STEPS(F, 4, 5, 6, 7, 7, 12, 17, 22, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501);
	STEPS(F, 8, 9, 10, 11, 7, 12, 17, 22, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be);
	STEPS(F, 12, 13, 14, 15, 7, 12, 17, 22, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821);

	STEPS(G, 1, 6, 11, 0, 5, 9, 14, 20, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa);
	STEPS(G, 5, 10, 15, 4, 5, 9, 14, 20, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8);
	STEPS(G, 9, 14, 3, 8, 5, 9, 14, 20, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed);
	STEPS(G, 13, 2, 7, 12, 5, 9, 14, 20, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a);

	STEPS(H, 5, 8, 11, 14, 4, 11, 16, 23, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c);
	STEPS(H, 1, 4, 7, 10, 4, 11, 16, 23, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70);
	STEPS(H, 13, 0, 3, 6, 4, 11, 16, 23, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05);
	STEPS(H, 9, 12, 15, 2, 4, 11, 16, 23, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665);

	STEPS(I, 0, 7, 14, 5, 6, 10, 15, 21, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039);
	STEPS(I, 12, 3, 10, 1, 6, 10, 15, 21, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1);
	STEPS(I, 8, 15, 6, 13, 6, 10, 15, 21, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1);
	STEPS(I, 4, 11, 2, 9, 6, 10, 15, 21, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391);

	state[0] += a & active;
	state[1] += b & active;
	state[2] += c & active;
	state[3] += d & active;
}

/* The digits of a lane's state. */
static void
write_digits(const Batch *batch, int lane, char *to)
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < 16; i++)
	{
		uint32_t	byte = batch->state[i / 4][lane] >> (i % 4 * 8) & 0xff;

		to[2 * i] = digits[byte >> 4];
		to[2 * i + 1] = digits[byte & 15];
	}
}

void
gpucol_md5_texts(const GpucolBytes *strings, uint32_t n, char *to)
{
	static const uint32_t first[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
	Batch		batch;

	for (uint32_t from = 0; from < n; from += LANES)
	{
		batch.most = 0;
		for (int lane = 0; lane < LANES; lane++)
		{
			GpucolBytes string = {NULL, 0};

			if (from + lane < n)
				string = strings[from + lane];
			batch.nblocks[lane] = 0;
			batch.strings[lane] = string;
			if (string.data != NULL)
				begin_lane(&batch, lane, string);
			for (int i = 0; i < 4; i++)
				batch.state[i][lane] = first[i];
		}
		for (uint64_t number = 0; number < batch.most; number++)
		{
			load_blocks(&batch, number);
			digest_blocks(&batch);
		}
		for (int lane = 0; lane < LANES; lane++)
			if (batch.strings[lane].data != NULL)
				write_digits(&batch, lane, to + (size_t) GPUCOL_MD5_TEXT * (from + lane));
	}
}
