/*-------------------------------------------------------------------------
 *
 * bitunpack.cuh
 *	  Packed vectors in registers: loading, extraction, and range tests on
 *	  codes.
 *
 * One warp holds one vector of 1,024 codes (kernel/format.h): lane l loads the
 * K words j*32 + l, each load of the warp being one 128-byte word row, and owns
 * the codes of rows p*32 + l for the positions p = 0..31.  Every shift is a
 * compile-time constant because K and p are.
 *
 * Tests avoid the mask of an extraction: the code is shifted to the top of its
 * word, so that the bits below it cannot reach the comparison (range bounds
 * are shifted alike, the upper one filled with ones).  Widths up to 8 go
 * further and compare all the codes of a 32-bit window at once.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_BITUNPACK_CUH
#define GPUCOL_CUDA_BITUNPACK_CUH

#include <cstdint>

/* Largest width whose codes are compared several to a word, for masks and where they
 * are but counted. */
constexpr int GPUCOL_SWAR_WIDTH = 8;
constexpr int GPUCOL_SWAR_COUNT_WIDTH = 10;

/* Load this lane's words of a packed vector; each word is read once, so the L1 cache
 * keeps none (1 % faster than streaming loads that go through it).  One address and
 * constant offsets: a load then is one instruction. */
template <int K>
__device__ __forceinline__ void
load_words(const uint32_t *__restrict__ vector, int lane, uint32_t (&w)[K])
{
	const uint32_t *own = vector + (uint32_t) lane;

#pragma unroll
	for (int j = 0; j < K; j++)
		asm("ld.global.nc.L1::no_allocate.b32 %0, [%1];" : "=r"(w[j]) : "l"(own + j * 32));
}

/* Code of position p; N >= K words. */
template <int K, int N>
__device__ __forceinline__ uint32_t
code_at(const uint32_t (&w)[N], int p)
{
	int			bit = p * K,
				j = bit / 32,
				s = bit % 32;
	constexpr uint32_t mask = K == 32 ? 0xffffffffu : (1u << (K & 31)) - 1;

	if (s + K < 32)
		return (w[j] >> s) & mask;
	if (s + K == 32)
		return w[j] >> s;
	return __funnelshift_r(w[j], w[j + 1 < K ? j + 1 : j], s) & mask;
}

/* Code of position p in the top K bits; bits below are undefined. */
template <int K>
__device__ __forceinline__ uint32_t
top_at(const uint32_t (&w)[K], int p)
{
	int			bit = p * K,
				j = bit / 32,
				end = bit % 32 + K;

	if (end <= 32)
		return w[j] << (32 - end);
	return __funnelshift_l(w[j], w[j + 1 < K ? j + 1 : j], 64 - end);
}

/* mask = 2 * mask + (a >= b), by the carry of a - b. */
__device__ __forceinline__ void
shift_in_ge(uint32_t &mask, uint32_t a, uint32_t b)
{
	asm("{.reg .u32 t;\n\t"
		"sub.cc.u32 t, %1, %2;\n\t"
		"addc.u32 %0, %0, %0;}" : "+r"(mask) : "r"(a), "r"(b));
}

/* mask = 2 * mask + (a + b wraps). */
__device__ __forceinline__ void
shift_in_carry(uint32_t &mask, uint32_t a, uint32_t b)
{
	asm("{.reg .u32 t;\n\t"
		"add.cc.u32 t, %1, %2;\n\t"
		"addc.u32 %0, %0, %0;}" : "+r"(mask) : "r"(a), "r"(b));
}

/*
 * Mask of the positions whose code lies in [lo, hi]; bit p is position p.
 */
template <int K>
__device__ __forceinline__ uint32_t
range_mask(const uint32_t (&w)[K], uint32_t lo, uint32_t hi)
{
	uint32_t	low = lo << ((32 - K) & 31);
	uint32_t	high = ((hi - lo) << ((32 - K) & 31)) | (K == 32 ? 0u : (0xffffffffu >> (K & 31)));
	uint32_t	mask = 0;

#pragma unroll
	for (int p = 31; p >= 0; p--)
		shift_in_ge(mask, high, top_at<K>(w, p) - low);
	return mask;
}

/* mask = 2 * mask + (a >= b) for 64-bit a, b given by halves. */
__device__ __forceinline__ void
shift_in_ge(uint32_t &mask, uint32_t alow, uint32_t ahigh, uint32_t blow, uint32_t bhigh)
{
	asm("{.reg .u32 t;\n\t"
		"sub.cc.u32 t, %1, %3;\n\t"
		"subc.cc.u32 t, %2, %4;\n\t"
		"addc.u32 %0, %0, %0;}" : "+r"(mask) : "r"(alow), "r"(ahigh), "r"(blow), "r"(bhigh));
}

/*
 * Mask of the positions whose code of width 32 + K lies in [lo, hi].  The low
 * plane's words are the low halves of the codes, one a position.
 */
template <int K>
__device__ __forceinline__ uint32_t
range_mask_wide(const uint32_t *__restrict__ vector, int lane, uint64_t lo, uint64_t hi)
{
	const uint32_t *own = vector + (uint32_t) lane;
	uint32_t	w[K];
	uint32_t	ge = 0,
				le = 0;

	load_words<K>(vector + 32 * 32, lane, w);
#pragma unroll
	for (int p = 31; p >= 0; p--)
	{
		uint32_t	low = __ldcs(own + p * 32);
		uint32_t	high = code_at<K>(w, p);

		shift_in_ge(ge, low, high, (uint32_t) lo, (uint32_t) (lo >> 32));
		shift_in_ge(le, (uint32_t) hi, (uint32_t) (hi >> 32), low, high);
	}
	return ge & le;
}

/* Ones at bit `at` of each of n fields that are S bits apart. */
__host__ __device__ constexpr uint32_t
bit_of_fields(int n, int S, int at)
{
	uint32_t	r = 0;

	for (int f = 0; f < n; f++)
		r |= 1u << (f * S + at);
	return r;
}

/*
 * Comparison of all codes of a 32-bit window at once, K <= 10.
 *
 * A window holds N = 32 / K whole codes.  With H the top bit of each field,
 * x >= c in a field iff bit H of (x & ~c) | (~(x ^ c) & ((x | H) - (c & ~H))), and
 * x <= c iff bit H of (c & ~x) | (~(x ^ c) & ((c | H) - (x & ~H))), where the
 * difference is (c | H) + H - (x | H).
 * For a mask, K <= 8, result bits of window j are moved down by K - 1 - j, so that
 * K windows fill one word without meeting; bit f*K + j then belongs to position j*N + f.  The
 * positions left over when K windows are done go to the bits from FULL*N on.
 */
template <int K>
struct Swar
{
	static constexpr int N = 32 / K;	/* codes a window */
	static constexpr int FULL = 32 / N < K ? 32 / N : K;	/* windows of the pattern */
	static constexpr int REST = 32 - FULL * N;	/* positions after them */

	static constexpr uint32_t ONES = bit_of_fields(N, K, 0);
	static constexpr uint32_t H = bit_of_fields(N, K, K - 1);

	/* Position that bit b of a mask belongs to.  FULL * N bits are patterned. */
	__host__ __device__ static constexpr int
	position(int b)
	{
		return b < FULL * N ? b % K * N + b / K : b;
	}

	/* 32 bits of the lane's stream from position p. */
	__device__ static __forceinline__ uint32_t
	window(const uint32_t (&w)[K], int p)
	{
		int			bit = p * K,
					j = bit / 32,
					s = bit % 32;

		if (s == 0)
			return w[j];
		if (j + 1 >= K)
			return w[j] >> s;
		return __funnelshift_r(w[j], w[j + 1], s);
	}

	/* The bounds of a range in every field, and the constants of the differences. */
	struct Bounds
	{
		uint32_t	lo,
					hi,
					above,		/* of x - lo */
					below;		/* of hi - x */

		__device__ __forceinline__
		Bounds(uint32_t l, uint32_t h)
			: lo(l * ONES), hi(h * ONES), above(lo & ~H), below((hi | H) + H) {}
	};

	/*
	 * (x & ~c) | (~(x ^ c) & difference), one instruction: left to itself, the
	 * compiler takes H into each operand, and three.
	 */
	__device__ static __forceinline__ uint32_t
	greater_or_equal(uint32_t x, uint32_t c, uint32_t difference)
	{
		uint32_t	r;

		asm("lop3.b32 %0, %1, %2, %3, 0xb2;" : "=r"(r) : "r"(x), "r"(c), "r"(difference));
		return r;
	}

	/* H bits of the fields in range. */
	__device__ static __forceinline__ uint32_t
	test(uint32_t x, const Bounds &b)
	{
		uint32_t	a = x | H;

		return greater_or_equal(x, b.lo, a - b.above) & greater_or_equal(b.hi, x, b.below - a) & H;
	}

	/* The mask in permuted order: bit b is position(b).  lo <= hi. */
	__device__ static __forceinline__ uint32_t
	mask(const uint32_t (&w)[K], uint32_t lo, uint32_t hi)
	{
		Bounds		bounds(lo, hi);
		uint32_t	r = 0;

#pragma unroll
		for (int j = 0; j < FULL; j++)
			r |= test(window(w, j * N), bounds) >> (K - 1 - j);
		if (REST > 0)
		{
			uint32_t	t = test(window(w, FULL * N), bounds);

#pragma unroll
			for (int i = 0; i < REST; i++)
			{
				int			from = i * K + K - 1,
							to = FULL * N + i;

				r |= (from < to ? t << ((to - from) & 31) : t >> ((from - to) & 31)) & (1u << to);
			}
		}
		return r;
	}
};

/*
 * Number of the positions whose code lies in [lo, hi].  From 7 bits on, result bits of
 * K windows do not meet in a word, each moved down by one for each window after it;
 * narrower codes leave enough to do that waits for nothing else (1 bit: 44 us a billion
 * rows by the mask, 48 so).
 */
template <int K>
__device__ __forceinline__ uint32_t
range_count(const uint32_t (&w)[K], uint32_t lo, uint32_t hi)
{
	uint32_t	n = 0;

	if constexpr (K <= 6)
		return __popc(Swar<K>::mask(w, lo, hi));
	else if constexpr (K <= GPUCOL_SWAR_COUNT_WIDTH)
	{
		constexpr int N = Swar<K>::N,
					windows = (31 + N) / N;
		typename Swar<K>::Bounds bounds(lo, hi);
		uint32_t	passed = 0;

#pragma unroll
		for (int j = 0; j < windows; j++)
		{
			uint32_t	x = Swar<K>::test(Swar<K>::window(w, j * N), bounds);

			if (j == windows - 1)
				x &= bit_of_fields(32 - j * N, K, K - 1);
			if (j > 0 && j % K == 0)
			{
				n += __popc(passed);
				passed = x;
			}
			else
				passed = (passed >> 1) + x;
		}
		return n + __popc(passed);
	}
	else
	{
		uint32_t	low = lo << ((32 - K) & 31);
		uint32_t	high = ((hi - lo) << ((32 - K) & 31)) | (K == 32 ? 0u : (0xffffffffu >> (K & 31)));

#pragma unroll
		for (int p = 0; p < 32; p++)
			n += (top_at<K>(w, p) - low) <= high;
		return n;
	}
}

/*
 * Transpose a 32 x 32 bit matrix across the warp: lane l gives row l, and gets
 * the word whose bit i is bit l of lane i's word.
 */
__device__ __forceinline__ uint32_t
warp_transpose(uint32_t x, int lane)
{
	uint32_t	m = 0x0000ffffu;

#pragma unroll
	for (int d = 16; d > 0; d >>= 1, m ^= m << d)
	{
		uint32_t	y = __shfl_xor_sync(0xffffffffu, x, d);

		if (lane & d)
			x = (x & ~m) | ((y & ~m) >> d);
		else
			x = (x & m) | ((y & m) << d);
	}
	return x;
}

/*
 * Codes of R rows of a vector of run-time width: one or two loads each that the
 * warp coalesces, all under way at once.  For code that reads single rows; scans
 * use load_words().
 */
template <int R>
__device__ __forceinline__ void
codes_of_rows(const uint32_t *__restrict__ vector, int width, const int (&row)[R], uint64_t (&code)[R])
{
	uint32_t	low[R],
				a[R],
				b[R];
	bool		wide = width >= 32;
	int			high = wide ? width - 32 : width;

#pragma unroll
	for (int r = 0; r < R; r++)
		low[r] = wide ? __ldg(vector + row[r]) : 0;
	if (wide)
		vector += 32 * 32;
#pragma unroll
	for (int r = 0; r < R; r++)
	{
		int			bit = (row[r] >> 5) * high;
		const uint32_t *word = vector + ((bit & ~31) | (row[r] & 31));

		a[r] = high > 0 ? __ldg(word) : 0;
		b[r] = (bit & 31) + high > 32 ? __ldg(word + 32) : 0;
	}
#pragma unroll
	for (int r = 0; r < R; r++)
	{
		uint32_t	x = __funnelshift_r(a[r], b[r], (row[r] >> 5) * high);

		if (high < 32)
			x &= (1u << high) - 1;
		code[r] = wide ? low[r] | (uint64_t) x << 32 : x;
	}
}

/* Code of one row. */
__device__ __forceinline__ uint64_t
code_of_row(const uint32_t *__restrict__ vector, int width, int row)
{
	int			rows[1] = {row};
	uint64_t	code[1];

	codes_of_rows(vector, width, rows, code);
	return code[0];
}

/* The widths that code is made for: all, unless run-time compilation knows the
 * ones that occur. */
#ifndef GPUCOL_WIDTHS
#define GPUCOL_WIDTHS(X) \
	X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16) \
	X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) X(32)
#endif

/*
 * Call f.template run<K>() for the run-time width k in 1..MOST: the one place
 * that turns a width into code.
 */
template <int MOST = 32, class F>
__device__ __forceinline__ void
dispatch_width(int k, F &&f)
{
	switch (k)
	{
#define GPUCOL_WIDTH(K) case K: if constexpr (K <= MOST) f.template run<K>(); break;
		GPUCOL_WIDTHS(GPUCOL_WIDTH)
#undef GPUCOL_WIDTH
		default:
			break;
	}
}

#endif
