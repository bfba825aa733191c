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
 *	  ISA_TABLE		name of the GpucolBitpackKernels it exports, ISA_NAME its text
 *	  FUNNEL(h,l,t)	upper 32 bits of (h:l) << t, 0 < t < 32, t literal
 *					(also compiled, not run, for t = 0)
 *	  KEEP(v,m)		v where bit i of integer m is set, else 0
 *	  MIN(a,b), MAX(a,b)	lane-wise, unsigned
 *	  UNITS(M,K,P)	M(K,P,0) M(K,P,1) ... for the vectors of a block: the
 *					lanes whose matches are stored together
 *	  BLOCKWORD		unsigned type with a bit for each lane of a block
 *	  MATCHES(s)	BLOCKWORD: bit i set where lane i of d0, d1 ... <= s, unsigned
 *	  POPCOUNT(x)	set bits of a BLOCKWORD, which add up to n;
 *	  MATCH_COUNT(n)	the number of matches then
 *	  KEEP_ELSE_ONES(v,m)	v where bit i of m is set, else all ones
 *	  WIDE_LOW(v), WIDE_HIGH(v)	first and last VL / 2 lanes of v as 64-bit lanes
 *	  JOIN_LOW(a,b), JOIN_HIGH(a,b)	the same lanes of a below those of b
 *	  LOWS(a,b), HIGHS(a,b)	low (high) halves of the 64-bit lanes of a, then b
 *	  COUNT_WORD(x)	set bits of 32
 *	  RANGE(K)		range kernel of a width (range_K unless there is a better)
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

/* unrolled steps declare their vectors one after another */
#pragma GCC diagnostic ignored "-Wdeclaration-after-statement"

typedef uint32_t VU __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef uint64_t V64 __attribute__((vector_size(VL * 4), may_alias));
typedef uint64_t V64U __attribute__((vector_size(VL * 4), aligned(8), may_alias));
typedef BLOCKWORD BlockWord __attribute__((may_alias));

#define SPLAT(x) ((V) {0} + (uint32_t) (x))
#define ROW_UNIT(p, j, u) (*(const VU *) ((p) + (j) * GPUCOL_ROW_WORDS + g + (u) * VL))
#define ROW(p, j) ROW_UNIT(p, j, 0)
#define ROW_OUT(p, j) (*(VU *) ((p) + (j) * GPUCOL_ROW_WORDS + g))

/* bits of lanes g .. g + VL - 1 of position p of a match bitmap, with others above */
#define GET_MATCH(p) \
	(((const BlockWord *) match)[((p) * 32 + g) / BLOCK] >> (g % BLOCK))

#define FOR_LANES for (int g = 0; g < GPUCOL_LANES; g += VL)
#define FOR_BLOCKS for (int g = 0; g < GPUCOL_LANES; g += BLOCK)
#define BLOCK ((int) sizeof(BLOCKWORD) * 8)
#define ONE_UNIT(M, K, P) M(K, P, 0)

/* first bit of position P within its word, that word, and its end */
#define BIT(K, P) (((K) * (P)) % 32)
#define WORD(K, P) (((K) * (P)) / 32)
#define END(K, P) (BIT(K, P) + (K))

#define START_UNIT(K, P, u) V cur##u = ROW_UNIT(words, 0, u);

#define STEP_UNIT(K, P, u) \
	V x##u; \
	if (END(K, P) > 32) \
	{ \
		V next = ROW_UNIT(words, WORD(K, P) + 1, u); \
		x##u = FUNNEL(next, cur##u, (64 - END(K, P)) & 31); \
		cur##u = next; \
	} \
	else \
	{ \
		x##u = cur##u << ((32 - END(K, P)) & 31); \
		if (END(K, P) == 32 && WORD(K, P) + 1 < (K)) \
			cur##u = ROW_UNIT(words, WORD(K, P) + 1, u); \
	}

#define STEP(K, P, VECTORS, SINK) { VECTORS(STEP_UNIT, K, P) SINK(K, P) }

#define STEPS8(K, P, VECTORS, SINK) \
	STEP(K, P, VECTORS, SINK) STEP(K, P + 1, VECTORS, SINK) \
	STEP(K, P + 2, VECTORS, SINK) STEP(K, P + 3, VECTORS, SINK) \
	STEP(K, P + 4, VECTORS, SINK) STEP(K, P + 5, VECTORS, SINK) \
	STEP(K, P + 6, VECTORS, SINK) STEP(K, P + 7, VECTORS, SINK)

/* every position of the lanes of one vector (ONE_UNIT) or block (UNITS) from g */
#define STEPS(K, VECTORS, SINK) \
	{ \
		VECTORS(START_UNIT, K, 0) \
		STEPS8(K, 0, VECTORS, SINK) STEPS8(K, 8, VECTORS, SINK) \
		STEPS8(K, 16, VECTORS, SINK) STEPS8(K, 24, VECTORS, SINK) \
	}

#define CODE(K) (x0 >> (32 - (K)))

#define SINK_UNPACK(K, P) ROW_OUT(out, P) = CODE(K);

/* where 64-bit values of position P, lanes g + h .. go */
#define WIDE_AT(p, P, h) (*(V64U *) ((p) + (P) * GPUCOL_LANES + g + (h)))

#define SINK_UNPACK64(K, P) \
	{ \
		V code = CODE(K); \
		WIDE_AT(out, P, 0) = WIDE_LOW(code) + reference; \
		WIDE_AT(out, P, VL / 2) = WIDE_HIGH(code) + reference; \
	}

/* a width over 32: this is the second plane, whose codes join those of `low` */
#define SINK_JOIN(K, P) \
	{ \
		V code = CODE(K); \
		V under = ROW(low, P); \
		WIDE_AT(out, P, 0) = (V64) JOIN_LOW(under, code) + reference; \
		WIDE_AT(out, P, VL / 2) = (V64) JOIN_HIGH(under, code) + reference; \
	}

/* bits below the code do not change which code is least or greatest */
#define SINK_MINMAX(K, P) \
	{ \
		BLOCKWORD bits = GET_MATCH(P); \
		most = MAX(most, KEEP(x0, bits)); \
		least = MIN(least, KEEP_ELSE_ONES(x0, bits)); \
	}

#define SUBTRACT_UNIT(K, P, u) V d##u = x##u - lo;

#define SINK_RANGE(K, P) \
	{ \
		BLOCKWORD bits; \
		UNITS(SUBTRACT_UNIT, K, P) \
		bits = (BLOCKWORD) MATCHES(span); \
		((BlockWord *) match)[((P) * 32 + g) / BLOCK] = bits; \
		n += POPCOUNT(bits); \
	}

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

/*
 * Packing is the reverse walk: codes are or'ed into a word until it is full.
 * CODES gives those of position P.
 */
#define PACK_STEP(K, P, CODES) \
	{ \
		V code = CODES(P); \
		cur |= code << BIT(K, P); \
		if (END(K, P) >= 32) \
		{ \
			ROW_OUT(words, WORD(K, P)) = cur; \
			cur = SPLAT(0); \
			if (END(K, P) > 32) \
				cur = code >> ((32 - BIT(K, P)) & 31); \
		} \
	}

#define PACK_STEPS8(K, P, CODES) \
	PACK_STEP(K, P, CODES) PACK_STEP(K, P + 1, CODES) \
	PACK_STEP(K, P + 2, CODES) PACK_STEP(K, P + 3, CODES) \
	PACK_STEP(K, P + 4, CODES) PACK_STEP(K, P + 5, CODES) \
	PACK_STEP(K, P + 6, CODES) PACK_STEP(K, P + 7, CODES)

#define PACK_STEPS(K, CODES) \
	{ \
		V cur = {0}; \
		PACK_STEPS8(K, 0, CODES) PACK_STEPS8(K, 8, CODES) \
		PACK_STEPS8(K, 16, CODES) PACK_STEPS8(K, 24, CODES) \
	}

#define CODES32(P) ROW(codes, P)
#define VALUES(P, h) \
	(*(const V64U *) (values + (P) * GPUCOL_LANES + g + (h)))
#define CODES_LOW(P) \
	(LOWS(VALUES(P, 0), VALUES(P, VL / 2)) - (uint32_t) reference)
#define CODES_HIGH(P) \
	HIGHS(VALUES(P, 0) - reference, VALUES(P, VL / 2) - reference)

static uint32_t
count(const uint32_t *match)
{
	uint32_t	n = 0;

	for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
		n += COUNT_WORD(match[i]);
	return n;
}

#define WIDTH_KERNELS(K) \
static void \
pack_##K(const uint32_t *restrict codes, uint32_t *restrict words) \
{ \
	FOR_LANES PACK_STEPS(K, CODES32) \
} \
static void \
pack_low_##K(const uint64_t *restrict values, uint64_t reference, \
			 uint32_t *restrict words) \
{ \
	FOR_LANES PACK_STEPS(K, CODES_LOW) \
} \
static void \
pack_high_##K(const uint64_t *restrict values, uint64_t reference, \
			  uint32_t *restrict words) \
{ \
	FOR_LANES PACK_STEPS(K, CODES_HIGH) \
} \
static void \
unpack_##K(const uint32_t *restrict words, uint32_t *restrict out) \
{ \
	FOR_LANES STEPS(K, ONE_UNIT, SINK_UNPACK) \
} \
static void \
unpack64_##K(const uint32_t *restrict words, uint64_t reference, \
			 uint64_t *restrict out) \
{ \
	FOR_LANES STEPS(K, ONE_UNIT, SINK_UNPACK64) \
} \
static void \
join_##K(const uint32_t *restrict low, const uint32_t *restrict words, \
		 uint64_t reference, uint64_t *restrict out) \
{ \
	FOR_LANES STEPS(K, ONE_UNIT, SINK_JOIN) \
} \
static void \
minmax_##K(const uint32_t *restrict words, const uint32_t *restrict match, \
		   uint32_t *restrict min, uint32_t *restrict max) \
{ \
	V least = SPLAT(UINT32_MAX); \
	V most = SPLAT(0); \
	FOR_LANES STEPS(K, ONE_UNIT, SINK_MINMAX) \
	extremes(least >> (32 - (K)), most >> (32 - (K)), min, max); \
} \
static uint32_t \
range_##K(const uint32_t *restrict words, uint32_t first, uint32_t last, \
		  uint32_t *restrict match) \
{ \
	const V lo = SPLAT(first << (32 - (K))); \
	const V span = SPLAT((last - first) << (32 - (K)) | \
						 (uint32_t) ((UINT64_C(1) << (32 - (K))) - 1)); \
	uint32_t	n = 0; \
	FOR_BLOCKS STEPS(K, UNITS, SINK_RANGE) \
	return MATCH_COUNT(n); \
} \
static uint64_t \
sum_##K(const uint32_t *restrict words) \
{ \
	SUM_VARS; \
	FOR_LANES \
	{ \
		STEPS(K, ONE_UNIT, SINK_SUM) \
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
		STEPS(K, ONE_UNIT, SINK_SUM_MATCH) \
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

#define extremes(low, high, min, max) \
	{ \
		V low_ = (low); \
		V high_ = (high); \
		*(min) = low_[0]; \
		*(max) = high_[0]; \
		for (int i = 1; i < VL; i++) \
		{ \
			*(min) = low_[i] < *(min) ? low_[i] : *(min); \
			*(max) = high_[i] > *(max) ? high_[i] : *(max); \
		} \
	}

EACH_WIDTH(WIDTH_KERNELS)

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
#define ENTRY_PACK_LOW(K) pack_low_##K,
#define ENTRY_PACK_HIGH(K) pack_high_##K,
#define ENTRY_UNPACK(K) unpack_##K,
#define ENTRY_UNPACK64(K) unpack64_##K,
#define ENTRY_JOIN(K) join_##K,
#define ENTRY_RANGE(K) RANGE(K),
#define ENTRY_SUM(K) sum_##K,
#define ENTRY_SUM_MATCH(K) sum_match_##K,
#define ENTRY_MINMAX(K) minmax_##K,

const GpucolBitpackKernels ISA_TABLE = {
	.name = ISA_NAME,
	.pack = {NULL, EACH_WIDTH(ENTRY_PACK)},
	.pack_low = {NULL, EACH_WIDTH(ENTRY_PACK_LOW)},
	.pack_high = {NULL, EACH_WIDTH(ENTRY_PACK_HIGH)},
	.unpack = {NULL, EACH_WIDTH(ENTRY_UNPACK)},
	.unpack64 = {NULL, EACH_WIDTH(ENTRY_UNPACK64)},
	.join = {NULL, EACH_WIDTH(ENTRY_JOIN)},
	.range = {NULL, EACH_WIDTH(ENTRY_RANGE)},
	.sum = {NULL, EACH_WIDTH(ENTRY_SUM)},
	.sum_match = {NULL, EACH_WIDTH(ENTRY_SUM_MATCH)},
	.minmax = {NULL, EACH_WIDTH(ENTRY_MINMAX)},
	.count = count,
	.measure = measure,
};
