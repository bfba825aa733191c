/*-------------------------------------------------------------------------
 *
 * bitpack.c
 *	  Packed vectors of every width on every instruction set of this machine,
 *	  against a bit-by-bit reading of format.h.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bitpack.h"

#include "check.h"

#define N GPUCOL_VECTOR_VALUES

/* The definition: bit b of value i, straight from the text of format.h. */
static int
defined_bit(int width, const uint32_t *words, int i, int b)
{
	int			k = width <= 32 ? width : b < 32 ? 32 : width - 32;
	int			pos;

	if (width > 32 && b >= 32)
	{
		words += 32 * GPUCOL_ROW_WORDS;
		b -= 32;
	}
	pos = (i / 32) * k + b;
	return words[pos / 32 * GPUCOL_ROW_WORDS + i % 32] >> (pos % 32) & 1;
}

static uint64_t
defined_code(int width, const uint32_t *words, int i)
{
	uint64_t	code = 0;

	for (int b = 0; b < width; b++)
		code |= (uint64_t) defined_bit(width, words, i, b) << b;
	return code;
}

/* Random codes, of every magnitude, with both extremes among them. */
static void
fill(int width, int round, uint64_t *codes)
{
	uint64_t	max = gpucol_bitpack_max(width);

	for (int i = 0; i < N; i++)
	{
		switch (round)
		{
			case 0:
				codes[i] = check_random() & max;
				break;
			case 1:
				codes[i] = max;
				break;
			case 2:
				codes[i] = i % 2 ? max : 0;
				break;
			default:
				codes[i] = (check_random() & max) >> (check_random() % 64);
				break;
		}
	}
}

static void
check_range(int width, const void *words, const uint64_t *codes,
			uint64_t lo, uint64_t hi)
{
	uint32_t	match[GPUCOL_BITMAP_WORDS];
	uint32_t	expected[GPUCOL_BITMAP_WORDS] = {0};
	uint32_t	n = 0;

	for (int i = 0; i < N; i++)
	{
		if (lo <= codes[i] && codes[i] <= hi)
		{
			expected[i / 32] |= UINT32_C(1) << (i % 32);
			n++;
		}
	}
	CHECK(gpucol_bitpack_range(width, words, lo, hi, match) == n,
		  "width %d, %llx .. %llx", width, (unsigned long long) lo,
		  (unsigned long long) hi);
	CHECK(memcmp(match, expected, sizeof(match)) == 0, "width %d", width);
	CHECK(gpucol_bitpack_range_count(width, words, lo, hi) == n,
		  "width %d", width);
}

static void
check_ranges(int width, const void *words, const uint64_t *codes)
{
	uint64_t	max = gpucol_bitpack_max(width);

	check_range(width, words, codes, 0, UINT64_MAX);
	check_range(width, words, codes, 0, 0);
	check_range(width, words, codes, max, max);
	check_range(width, words, codes, max, UINT64_MAX);
	check_range(width, words, codes, 1, 0);
	check_range(width, words, codes, 1, max);
	if (max < UINT64_MAX)
		check_range(width, words, codes, max + 1, UINT64_MAX);
	for (int i = 0; i < 8; i++)
	{
		uint64_t	a = codes[check_random() % N];
		uint64_t	b = codes[check_random() % N];

		check_range(width, words, codes, a, a);
		check_range(width, words, codes, a < b ? a : b, a < b ? b : a);
	}
}

static void
check_reductions(int width, const void *words, const uint64_t *codes,
				 const uint32_t *match)
{
	unsigned __int128 sum = 0;
	uint64_t	min = UINT64_MAX;
	uint64_t	max = 0;
	uint64_t	got_min;
	uint64_t	got_max;

	for (int i = 0; i < N; i++)
	{
		if (match && !(match[i / 32] >> (i % 32) & 1))
			continue;
		sum += codes[i];
		min = codes[i] < min ? codes[i] : min;
		max = codes[i] > max ? codes[i] : max;
	}
	CHECK(gpucol_bitpack_sum(width, words, match) == sum, "width %d", width);
	gpucol_bitpack_minmax(width, words, match, &got_min, &got_max);
	CHECK(got_min == min && got_max == max, "width %d", width);
}

static void
check_width(int width, int round)
{
	static uint64_t codes[N];
	static uint64_t out[N];
	static int64_t values[N];
	static uint32_t out32[N];
	uint32_t	match[GPUCOL_BITMAP_WORDS];
	uint32_t   *words = malloc((size_t) width * GPUCOL_ROW_BYTES + 8);
	uint32_t   *page = words + 1;	/* 4-byte alignment, exact end */
	int64_t		reference = (int64_t) check_random();
	uint32_t	n = (uint32_t) (check_random() % (N + 1));

	words = realloc(words, (size_t) width * GPUCOL_ROW_BYTES + 4);
	page = words + 1;
	fill(width, round, codes);
	gpucol_bitpack_pack_for(width, (const int64_t *) codes, N, 0, page);
	for (int i = 0; i < N; i++)
	{
		CHECK(defined_code(width, page, i) == codes[i], "width %d", width);
		CHECK(gpucol_bitpack_get(width, page, (uint32_t) i) == codes[i],
			  "width %d", width);
	}
	gpucol_bitpack_unpack64(width, page, out);
	CHECK(memcmp(out, codes, sizeof(out)) == 0, "width %d", width);
	if (width <= 32)
	{
		gpucol_bitpack_unpack32(width, page, out32);
		for (int i = 0; i < N; i++)
			CHECK(out32[i] == codes[i], "width %d", width);
		gpucol_bitpack_pack32(width, out32, page);
		gpucol_bitpack_unpack64(width, page, out);
		CHECK(memcmp(out, codes, sizeof(out)) == 0, "width %d", width);
	}
	check_ranges(width, page, codes);
	check_reductions(width, page, codes, NULL);
	for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
		match[i] = (uint32_t) check_random();
	check_reductions(width, page, codes, match);
	gpucol_bitmap_limit(match, n / 8);
	check_reductions(width, page, codes, match);
	memset(match, 0, sizeof(match));
	check_reductions(width, page, codes, match);

	for (int i = 0; i < N; i++)
		values[i] = (int64_t) (codes[i] + (uint64_t) reference);
	gpucol_bitpack_pack_for(width, values, n, reference, page);
	gpucol_bitpack_unpack_for(width, page, reference, (int64_t *) out);
	CHECK(memcmp(out, values, n * 8) == 0, "width %d, n %u", width, n);
	for (uint32_t i = n; i < N; i++)
		CHECK(out[i] == (uint64_t) reference, "width %d, tail %u", width, i);
	free(words);
}

static void
check_bitmap(void)
{
	for (uint32_t n = 0; n <= N; n++)
	{
		uint32_t	match[GPUCOL_BITMAP_WORDS];
		uint32_t	count = 0;

		memset(match, 0xff, sizeof(match));
		gpucol_bitmap_limit(match, n);
		for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
			count += (uint32_t) __builtin_popcount(match[i]);
		CHECK(count == n, "limit %u", n);
	}
	CHECK(gpucol_bitpack_width(0) == 0 && gpucol_bitpack_width(1) == 1 &&
		  gpucol_bitpack_width(UINT64_MAX) == 64, "width of maxima");
}

int
main(void)
{
	static const char *const isas[] = {"base", "avx2", "avx512"};

	check_bitmap();
	for (int a = 0; a < 3; a++)
	{
		if (!gpucol_bitpack_force_isa(isas[a]))
		{
			printf("bitpack: %s not on this machine\n", isas[a]);
			continue;
		}
		for (int width = 0; width <= 64; width++)
			for (int round = 0; round < 4; round++)
				check_width(width, round);
	}
	CHECK(!gpucol_bitpack_force_isa("none"), "unknown name");
	return check_summary("bitpack");
}
