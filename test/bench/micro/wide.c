/*-------------------------------------------------------------------------
 *
 * wide.c
 *	  Widths over 32: two planes of 32-bit lanes (the format) against 16 lanes of
 *	  64-bit words (the alternative), AVX-512, in cache and from memory.
 *
 * The alternative is written with the same technique as the kernels (a code at
 * the top of its word, literal shifts, funnel shift where it straddles).  The
 * range is drawn two ways: "high" bounds differ in their high halves, so that
 * the low plane matters only at the edges; "low" bounds share the high half.
 *
 *-------------------------------------------------------------------------
 */
#include <immintrin.h>

#include "kernel/bitpack.h"

#include "bench.h"

#define N GPUCOL_VECTOR_VALUES
#define CACHED 8
#define MEMORY_BYTES (256l * 1024 * 1024)

#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"

static char *memory;
static uint64_t out[N] __attribute__((aligned(64)));
static uint32_t match[GPUCOL_BITMAP_WORDS] __attribute__((aligned(64)));
static volatile uint64_t sink;

#define BIT(K, P) (((K) * (P)) % 64)
#define WORD(K, P) (((K) * (P)) / 64)
#define END(K, P) (BIT(K, P) + (K))
#define LOAD(j, h) _mm512_loadu_si512(words + (j) * 16 + (h) * 8)

#define UNIT(K, P, h) \
	__m512i x##h; \
	if (END(K, P) > 64) \
	{ \
		__m512i next = LOAD(WORD(K, P) + 1, h); \
		x##h = _mm512_shldi_epi64(next, cur##h, (128 - END(K, P)) & 63); \
		cur##h = next; \
	} \
	else \
	{ \
		x##h = _mm512_slli_epi64(cur##h, (64 - END(K, P)) & 63); \
		if (END(K, P) == 64 && WORD(K, P) + 1 < (K)) \
			cur##h = LOAD(WORD(K, P) + 1, h); \
	}

#define STEP(K, P, SINK) { UNIT(K, P, 0) UNIT(K, P, 1) SINK(K, P) }
#define STEPS4(K, P, S) STEP(K, P, S) STEP(K, P + 1, S) STEP(K, P + 2, S) STEP(K, P + 3, S)
#define STEPS16(K, P, S) STEPS4(K, P, S) STEPS4(K, P + 4, S) STEPS4(K, P + 8, S) STEPS4(K, P + 12, S)
#define STEPS(K, S) \
	{ \
		__m512i cur0 = LOAD(0, 0); \
		__m512i cur1 = LOAD(0, 1); \
		STEPS16(K, 0, S) STEPS16(K, 16, S) STEPS16(K, 32, S) STEPS16(K, 48, S) \
	}

#define SINK_RANGE(K, P) \
	{ \
		uint32_t bits = (uint32_t) _mm512_cmple_epu64_mask(_mm512_sub_epi64(x0, l), span) | \
			(uint32_t) _mm512_cmple_epu64_mask(_mm512_sub_epi64(x1, l), span) << 8; \
		((uint16_t *) match)[P] = (uint16_t) bits; \
		n += (uint32_t) __builtin_popcount(bits); \
	}
#define SINK_UNPACK(K, P) \
	_mm512_storeu_si512(out + (P) * 16, _mm512_srli_epi64(x0, 64 - (K))); \
	_mm512_storeu_si512(out + (P) * 16 + 8, _mm512_srli_epi64(x1, 64 - (K)));

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,popcnt")))

#define KERNELS(K) \
TARGET static uint32_t \
range_##K(const uint64_t *words, uint64_t lo, uint64_t hi) \
{ \
	__m512i l = _mm512_set1_epi64((long long) (lo << (64 - (K)))); \
	__m512i span = _mm512_set1_epi64((long long) ((hi - lo) << (64 - (K)) | \
												  (((UINT64_C(1) << (63 - (K))) << 1) - 1))); \
	uint32_t n = 0; \
	STEPS(K, SINK_RANGE) \
	return n; \
} \
TARGET static void \
unpack_##K(const uint64_t *words) \
{ \
	STEPS(K, SINK_UNPACK) \
}

KERNELS(40)
KERNELS(48)
KERNELS(56)

typedef struct Lanes64
{
	int			width;
	uint32_t	(*range) (const uint64_t *words, uint64_t lo, uint64_t hi);
	void		(*unpack) (const uint64_t *words);
} Lanes64;

static const Lanes64 widths[] = {
	{40, range_40, unpack_40}, {48, range_48, unpack_48}, {56, range_56, unpack_56}
};

/* G values/s of a statement over vectors of `width`, by memory or cache. */
#define RATE(result, width, vectors, loops, statement) \
	do { \
		double		seconds; \
		BENCH(seconds, loops, \
			  for (long v = 0; v < (vectors); v++) \
			  { \
				  const char *at = memory + (size_t) v * (width) * GPUCOL_ROW_BYTES; \
				  statement; \
			  }); \
		(result) = (double) (vectors) * N / seconds / 1e9; \
	} while (0)

static void
bench_width(const Lanes64 *l)
{
	int			w = l->width;
	uint64_t	max = gpucol_bitpack_max(w);
	uint64_t	lo = max / 4;
	uint64_t	hi[2] = {max / 2, max / 4 + 100000};
	long		all = MEMORY_BYTES / (w * GPUCOL_ROW_BYTES);
	double		r[4];
	double		u[2];

	for (int i = 0; i < 2; i++)
	{
		RATE(r[0], w, CACHED, 500, sink = gpucol_bitpack_range(w, at, lo, hi[i], match));
		RATE(r[1], w, CACHED, 500, sink = l->range((const uint64_t *) at, lo, hi[i]));
		RATE(r[2], w, all, 1, sink = gpucol_bitpack_range(w, at, lo, hi[i], match));
		RATE(r[3], w, all, 1, sink = l->range((const uint64_t *) at, lo, hi[i]));
		printf("%5d %-5s %10.1f %10.1f %12.1f %12.1f\n", w, i ? "low" : "high",
			   r[0], r[1], r[2], r[3]);
	}
	RATE(u[0], w, CACHED, 500, gpucol_bitpack_unpack64(w, at, out));
	RATE(u[1], w, CACHED, 500, l->unpack((const uint64_t *) at));
	printf("%5d %-5s %10.1f %10.1f\n", w, "unpack", u[0], u[1]);
}

int
main(void)
{
	memory = aligned_alloc(8192, MEMORY_BYTES);
	for (long i = 0; i < MEMORY_BYTES / 8; i++)
		((uint64_t *) memory)[i] = bench_random();
	if (!gpucol_bitpack_force_isa("avx512"))
		return 0;
	printf("G values/s\nwidth range  planes cached, lanes64, planes from memory, lanes64\n");
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		bench_width(&widths[i]);
	return 0;
}
