/*-------------------------------------------------------------------------
 *
 * bitpack_isa.h
 *	  The packed-vector kernels, written once over an abstract SIMD vector and
 *	  compiled by bitpack_avx512.c, bitpack_avx2.c and bitpack_base.c.
 *
 * The including file selects the instruction set by pragma and defines
 *
 *	  V				vector of VL unsigned 32-bit lanes (a GCC vector type)
 *	  VL			lanes in V: 4, 8 or 16
 *	  ISA_TABLE		name of the GpucolBitpackKernels it exports
 *	  FUNNEL(h,l,t)	upper 32 bits of (h:l) << t, 0 < t < 32, t literal
 *					(also compiled, not run, for t = 0)
 *	  MATCH(d,s)	VL-bit integer: bit i set where lane i of d <= s, unsigned
 *	  KEEP(v,m)		v where bit i of integer m is set, else 0
 *	  MASKWORD		unsigned type of VL bits, of a byte where VL is 4
 *
 * One mechanism serves every kernel.  STEP walks the 32 positions of a lane
 * with literal shifts and leaves the code of each position in the *upper* bits
 * of a word, with other bits below it.  That costs one instruction also where
 * a code straddles two words, and it is all that a comparison needs: with
 * lo and hi - lo moved up likewise and the span's low bits set, the bits below
 * cannot change the outcome.  A right shift by 32 - K finishes an unpack.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bitpack_kernels.h"

typedef uint32_t VU __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef uint64_t V64 __attribute__((vector_size(VL * 4), may_alias));
typedef uint64_t V64U __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef MASKWORD MaskWord __attribute__((may_alias));

/*
 * Bits of lanes g .. g + VL - 1 of position p of a match bitmap.  Where a
 * vector fills half a byte, results go to a byte each and JOIN_MATCH packs them.
 */
#if VL == 4
#define GET_MATCH(p) (((const MaskWord *) match)[(p) * 4 + g / 8] >> (g & 4))
#define MATCH_OUT uint8_t halves[256]
#define PUT_MATCH(p, m) halves[(p) * 8 + g / 4] = (uint8_t) (m)
#define JOIN_MATCH \
	for (int i = 0; i < 128; i++) \
		((uint8_t *) match)[i] = (uint8_t) (halves[2 * i] | halves[2 * i + 1] << 4);
#else
#define GET_MATCH(p) ((const MaskWord *) match)[(p) * (32 / VL) + g / VL]
#define MATCH_OUT MaskWord *out = (MaskWord *) match
#define PUT_MATCH(p, m) out[(p) * (32 / VL) + g / VL] = (MASKWORD) (m)
#define JOIN_MATCH
#endif

#define SPLAT(x) ((V) {0} + (uint32_t) (x))
#define ROW(p, j) (*(const VU *) ((p) + (j) * GPUCOL_ROW_WORDS + g))
#define ROW_OUT(p, j) (*(VU *) ((p) + (j) * GPUCOL_ROW_WORDS + g))

/* first bit of position P within its word, that word, and its end */
#define BIT(K, P) (((K) * (P)) % 32)
#define WORD(K, P) (((K) * (P)) / 32)
#define END(K, P) (BIT(K, P) + (K))

#define STEP(K, P, SINK) \
	{ \
		V x; \
		if (END(K, P) > 32) \
		{ \
			V next = ROW(words, WORD(K, P) + 1); \
			x = FUNNEL(next, cur, (64 - END(K, P)) & 31); \
			cur = next; \
		} \
		else \
		{ \
			x = cur << ((32 - END(K, P)) & 31); \
			if (END(K, P) == 32 && WORD(K, P) + 1 < (K)) \
				cur = ROW(words, WORD(K, P) + 1); \
		} \
		SINK(K, P) \
	}

#define STEPS8(K, P, SINK) \
	STEP(K, P, SINK) STEP(K, P + 1, SINK) \
	STEP(K, P + 2, SINK) STEP(K, P + 3, SINK) \
	STEP(K, P + 4, SINK) STEP(K, P + 5, SINK) \
	STEP(K, P + 6, SINK) STEP(K, P + 7, SINK)

/* every position of the lanes g .. g + VL - 1 */
#define STEPS(K, SINK) \
	{ \
		V cur = ROW(words, 0); \
		STEPS8(K, 0, SINK) STEPS8(K, 8, SINK) \
		STEPS8(K, 16, SINK) STEPS8(K, 24, SINK) \
	}

#define CODE(K) (x >> (32 - (K)))

#define SINK_UNPACK(K, P) ROW_OUT(out, P) = CODE(K);

#define SINK_RANGE(K, P) PUT_MATCH(P, MATCH(x - lo, span));

/* 32 codes of at most 27 bits fit a 32-bit lane; wider ones are split */
#define ADD_CODE(K, v) \
	if ((K) <= 27) \
		narrow += (v); \
	else \
	{ \
		even += (V64) (v) & UINT32_MAX; \
		odd += (V64) (v) >> 32; \
	}

#define SINK_SUM(K, P) ADD_CODE(K, CODE(K))

#define SINK_SUM_MATCH(K, P) \
	{ \
		V kept = KEEP(CODE(K), GET_MATCH(P)); \
		ADD_CODE(K, kept) \
	}

#define SUM_VARS \
	V narrow = {0}; \
	V64 even = {0}; \
	V64 odd = {0}

#define SUM_RESULT \
	{ \
		uint64_t sum = 0; \
		even += ((V64) narrow & UINT32_MAX) + odd; \
		odd = (V64) narrow >> 32; \
		even += odd; \
		for (int i = 0; i < VL / 2; i++) \
			sum += even[i]; \
		return sum; \
	}

/* Packing is the reverse walk: codes are or'ed into a word until it is full. */
#define PACK_STEP(K, P) \
	{ \
		V code = ROW(codes, P); \
		cur |= code << BIT(K, P); \
		if (END(K, P) >= 32) \
		{ \
			ROW_OUT(words, WORD(K, P)) = cur; \
			cur = SPLAT(0); \
			if (END(K, P) > 32) \
				cur = code >> ((32 - BIT(K, P)) & 31); \
		} \
	}

#define PACK_STEPS8(K, P) \
	PACK_STEP(K, P) PACK_STEP(K, P + 1) PACK_STEP(K, P + 2) \
	PACK_STEP(K, P + 3) PACK_STEP(K, P + 4) PACK_STEP(K, P + 5) \
	PACK_STEP(K, P + 6) PACK_STEP(K, P + 7)

#define FOR_LANES for (int g = 0; g < GPUCOL_LANES; g += VL)

#define WIDTH_KERNELS(K) \
static void \
pack_##K(const uint32_t *restrict codes, uint32_t *restrict words) \
{ \
	FOR_LANES \
	{ \
		V cur = {0}; \
		PACK_STEPS8(K, 0) PACK_STEPS8(K, 8) \
		PACK_STEPS8(K, 16) PACK_STEPS8(K, 24) \
	} \
} \
static void \
unpack_##K(const uint32_t *restrict words, uint32_t *restrict out) \
{ \
	FOR_LANES STEPS(K, SINK_UNPACK) \
} \
static void \
range_##K(const uint32_t *restrict words, uint32_t first, uint32_t last, \
		  uint32_t *restrict match) \
{ \
	const V lo = SPLAT(first << (32 - (K))); \
	const V span = SPLAT((last - first) << (32 - (K)) | \
						 (uint32_t) ((UINT64_C(1) << (32 - (K))) - 1)); \
	MATCH_OUT; \
	FOR_LANES STEPS(K, SINK_RANGE) \
	JOIN_MATCH \
} \
static uint64_t \
sum_##K(const uint32_t *restrict words) \
{ \
	SUM_VARS; \
	FOR_LANES \
	{ \
		STEPS(K, SINK_SUM) \
		SUM_SPILL(K) \
	} \
	SUM_RESULT \
} \
static uint64_t \
sum_match_##K(const uint32_t *restrict words, const uint32_t *restrict match) \
{ \
	SUM_VARS; \
	FOR_LANES \
	{ \
		STEPS(K, SINK_SUM_MATCH) \
		SUM_SPILL(K) \
	} \
	SUM_RESULT \
}

/* after each group of lanes: the 32-bit sums may be full */
#define SUM_SPILL(K) \
	if ((K) <= 27) \
	{ \
		even += (V64) narrow & UINT32_MAX; \
		odd += (V64) narrow >> 32; \
		narrow = SPLAT(0); \
	}

#define EACH_WIDTH(M) \
	M(1) M(2) M(3) M(4) M(5) M(6) M(7) M(8) \
	M(9) M(10) M(11) M(12) M(13) M(14) M(15) M(16) \
	M(17) M(18) M(19) M(20) M(21) M(22) M(23) M(24) \
	M(25) M(26) M(27) M(28) M(29) M(30) M(31) M(32)

EACH_WIDTH(WIDTH_KERNELS)

/* codes[i] + reference, 32 to 64 bits */
static void
widen(const uint32_t *restrict codes, uint64_t reference, uint64_t *restrict out)
{
	for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		out[i] = codes[i] + reference;
}

/* (high << 32 | low) + reference */
static void
join(const uint32_t *restrict low, const uint32_t *restrict high,
	 uint64_t reference, uint64_t *restrict out)
{
	for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		out[i] = ((uint64_t) high[i] << 32 | low[i]) + reference;
}

/* low and high halves of values[i] - reference */
static void
split(const uint64_t *restrict values, uint64_t reference,
	  uint32_t *restrict low, uint32_t *restrict high)
{
	for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
	{
		uint64_t	code = values[i] - reference;

		low[i] = (uint32_t) code;
		high[i] = (uint32_t) (code >> 32);
	}
}

/* low halves only */
static void
narrow_codes(const uint64_t *restrict values, uint64_t reference,
			 uint32_t *restrict low)
{
	for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		low[i] = (uint32_t) (values[i] - reference);
}

/* lane-wise c ? a : b, c being a comparison's result */
#define CHOOSE(c, a, b) (((a) & (V) (c)) | ((b) & ~(V) (c)))

static void
minmax32(const uint32_t *restrict codes, const uint32_t *restrict match,
		 uint32_t *min, uint32_t *max)
{
	V			least = SPLAT(UINT32_MAX);
	V			most = SPLAT(0);

	FOR_LANES
	{
		for (int p = 0; p < 32; p++)
		{
			V			v = ROW(codes, p);
			MASKWORD	m = (MASKWORD) GET_MATCH(p);
			V			up = KEEP(v, m);
			V			down = ~KEEP(~v, m);

			most = CHOOSE(up > most, up, most);
			least = CHOOSE(down < least, down, least);
		}
	}
	*min = UINT32_MAX;
	*max = 0;
	for (int i = 0; i < VL; i++)
	{
		*min = least[i] < *min ? least[i] : *min;
		*max = most[i] > *max ? most[i] : *max;
	}
}

static uint32_t
count(const uint32_t *match)
{
	uint32_t	n = 0;

	for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
		n += (uint32_t) __builtin_popcount(match[i]);
	return n;
}

static void
measure(const int64_t *values, uint32_t n, GpucolMeasure *out)
{
	typedef int64_t VS __attribute__((vector_size(VL * 4), may_alias));
	typedef int64_t VSU __attribute__((vector_size(VL * 4), aligned(8), may_alias));
	enum {LANES = VL / 2};
	VS			least = (VS) {0} + INT64_MAX;
	VS			most = (VS) {0} + INT64_MIN;
	VS			same = {0};
	uint32_t	i = 1;
	uint32_t	changes;

	out->min = n > 0 ? values[0] : INT64_MAX;
	out->max = n > 0 ? values[0] : INT64_MIN;
	for (; i + LANES <= n; i += LANES)
	{
		VS			v = *(const VSU *) (values + i);
		VS			less = v < least;
		VS			more = v > most;

		least = (v & less) | (least & ~less);
		most = (v & more) | (most & ~more);
		same += v == *(const VSU *) (values + i - 1);
	}
	changes = i - 1;
	for (int l = 0; l < LANES; l++)
	{
		changes += (uint32_t) same[l];	/* counts downwards */
		out->min = least[l] < out->min ? least[l] : out->min;
		out->max = most[l] > out->max ? most[l] : out->max;
	}
	for (; i < n; i++)
	{
		changes += values[i] != values[i - 1];
		out->min = values[i] < out->min ? values[i] : out->min;
		out->max = values[i] > out->max ? values[i] : out->max;
	}
	out->changes = n > 0 ? changes : 0;
}

#define ENTRY_PACK(K) pack_##K,
#define ENTRY_UNPACK(K) unpack_##K,
#define ENTRY_RANGE(K) range_##K,
#define ENTRY_SUM(K) sum_##K,
#define ENTRY_SUM_MATCH(K) sum_match_##K,

const GpucolBitpackKernels ISA_TABLE = {
	.name = ISA_NAME,
	.pack = {NULL, EACH_WIDTH(ENTRY_PACK)},
	.unpack = {NULL, EACH_WIDTH(ENTRY_UNPACK)},
	.range = {NULL, EACH_WIDTH(ENTRY_RANGE)},
	.sum = {NULL, EACH_WIDTH(ENTRY_SUM)},
	.sum_match = {NULL, EACH_WIDTH(ENTRY_SUM_MATCH)},
	.widen = widen,
	.join = join,
	.split = split,
	.narrow = narrow_codes,
	.minmax = minmax32,
	.count = count,
	.measure = measure,
};
