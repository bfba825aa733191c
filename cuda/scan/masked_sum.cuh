/*-------------------------------------------------------------------------
 *
 * masked_sum.cuh
 *	  The sum of the codes of a packed vector that a mask selects, and masks in
 *	  the order that this needs.
 *
 * Widths up to 8 work on several codes at once.  Where codes fill bytes or parts
 * of them, bits of the mask are spread to the bytes they select by a
 * multiplication, and bytes are added by the dot-product instruction.  Other
 * widths go by windows of whole fields (bitunpack.cuh: Swar): the bits are spread
 * to the fields, and fields are added in fields twice as wide.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_MASKED_SUM_CUH
#define GPUCOL_CUDA_MASKED_SUM_CUH

#include "cuda/scan/bitunpack.cuh"

/* Bits whose number has bit i set and bit j clear. */
__host__ __device__ constexpr uint32_t
index_bits(int i, int j)
{
	uint32_t	m = 0;

	for (int b = 0; b < 32; b++)
		if ((b >> i & 1) && !(b >> j & 1))
			m |= 1u << b;
	return m;
}

/* Move bit b of x to the number that b has with its bits I and J > I exchanged. */
template <int I, int J>
__device__ __forceinline__ uint32_t
swap_index_bits(uint32_t x)
{
	constexpr int d = (1 << J) - (1 << I);
	uint32_t	t = (x ^ x >> d) & index_bits(I, J);

	return x ^ t ^ t << d;
}

/*
 * The mask for widths 5 to 7: the top bits of a window's fields are gathered in
 * the top bits of a word by one multiplication.  At most K fields, else the
 * products of other fields would meet them.
 */
template <int K>
__device__ __forceinline__ uint32_t
gathered_mask(const uint32_t (&w)[K], uint32_t lo, uint32_t hi)
{
	constexpr int n = 32 / K < K ? 32 / K : K;	/* codes a window */
	constexpr int rest = 32 % n;	/* codes of the last one */
	constexpr uint32_t fields = K == 5 ? 0x01084210u : Swar<K>::H;
	constexpr uint32_t factor = K == 5 ? 0x00888880u : K == 6 ? 0x00421084u : 0x00410410u;
	typename Swar<K>::Bounds bounds(lo, hi);
	uint32_t	mask = 0;

#pragma unroll
	for (int p = (31 / n) * n; p >= 0; p -= n)
	{
		uint32_t	x = (Swar<K>::test(Swar<K>::window(w, p), bounds) & fields) * factor;

		if (p + n > 32)
			mask = x >> (32 - n) & ((1u << rest) - 1);
		else
			mask = __funnelshift_l(x, mask, n);
	}
	return mask;
}

/*
 * The mask for width 3: the top bits of a window's ten fields move together in
 * four steps, each of which doubles the length of what is gathered.
 */
__device__ __forceinline__ uint32_t
compressed_mask(const uint32_t (&w)[3], uint32_t lo, uint32_t hi)
{
	Swar<3>::Bounds bounds(lo, hi);
	uint32_t	mask = 0;

#pragma unroll
	for (int p = 0; p < 32; p += 10)
	{
		uint32_t	x = Swar<3>::test(Swar<3>::window(w, p), bounds) >> 2;

		x = (x | x >> 2) & 0x030c30c3u;
		x = (x | x >> 4) & 0x0300f00fu;
		x = (x | x >> 8) & 0x030000ffu;
		mask |= ((x | x >> 16) & 0x3ff) << p;
	}
	return mask;
}

/* Mask of the positions whose code lies in [lo, hi]; bit p is position p. */
template <int K>
__device__ __forceinline__ uint32_t
ordered_mask(const uint32_t (&w)[K], uint32_t lo, uint32_t hi)
{
	if constexpr (K == 1)
		return Swar<K>::mask(w, lo, hi);
	else if constexpr (K == 2 || K == 4 || K == 8)
	{
		/* bit b of Swar's mask is position b % K * (32 / K) + b / K: the bits of b
		 * are rotated, which is one cycle of all five */
		constexpr int shift = K == 2 ? 4 : K == 4 ? 3 : 2;
		uint32_t	x = Swar<K>::mask(w, lo, hi);

		x = swap_index_bits<0, shift>(x);
		x = swap_index_bits<0, 2 * shift % 5>(x);
		x = swap_index_bits<0, 3 * shift % 5>(x);
		return swap_index_bits<0, 4 * shift % 5>(x);
	}
	else if constexpr (K == 3)
		return compressed_mask(w, lo, hi);
	else if constexpr (K >= 5 && K <= 7)
		return gathered_mask<K>(w, lo, hi);
	else
		return range_mask<K>(w, lo, hi);
}

/* Bytes of ones where x's bytes have their top bit set. */
__device__ __forceinline__ uint32_t
byte_masks(uint32_t x)
{
	uint32_t	r;

	asm("prmt.b32 %0, %1, 0, 0xba98;" : "=r"(r) : "r"(x));
	return r;
}

/* Sum of the fields of 2K bits that field_sum() makes, K < 8. */
template <int K>
__device__ __forceinline__ uint32_t
double_field_sum(uint32_t x)
{
	if constexpr (K == 2)
		return __dp4a((x & 0x0f0f0f0fu) + (x >> 4 & 0x0f0f0f0fu), 0x01010101u, 0u);
	else if constexpr (K == 3)
		return ((x & 0xff03f03fu) + (x >> 6 & 0x0003f03fu)) * 0x01001001u >> 24;
	else if constexpr (K == 4)
		return __dp4a(x, 0x01010101u, 0u);
	else if constexpr (K == 5)
		return x * 0x00100401u >> 20 & 0x3ff;
	else if constexpr (K == 6)
		return (x & 0xfff) + (x >> 12 & 0xfff) + (x >> 24);
	else
		return (x & 0x3fff) + (x >> 14);
}

/*
 * Sum of the fields of up to W windows of one vector, K = 2..8; what is not
 * selected, and what is no field, is 0.  Fields of 2K bits get the sum of two:
 * x less 2^K - 1 times the upper one is that.
 */
template <int K, int W>
__device__ __forceinline__ uint32_t
field_sum(const uint32_t (&x)[W])
{
	/* of each pair of fields the lower one */
	constexpr uint32_t lower = K == 2 ? 0x33333333u : K == 3 ? 0x071c71c7u : K == 4 ? 0x0f0f0f0fu :
		K == 5 ? 0x01f07c1fu : K == 6 ? 0x3f03f03fu : 0x001fc07fu;
	/* windows until a field might overflow: with 6 bits the highest has but 8 */
	constexpr int most = K == 6 ? 4 : 8;
	uint32_t	pairs = 0,
				sum = 0;

#pragma unroll
	for (int j = 0; j < W; j++)
		if constexpr (K == 8)
			sum = __dp4a(x[j], 0x01010101u, sum);
		else
		{
			pairs += x[j] - (x[j] >> K & lower) * ((1u << K) - 1);
			if (j % most == most - 1 || j == W - 1)
			{
				sum += double_field_sum<K>(pairs);
				pairs = 0;
			}
		}
	return sum;
}

/* Bits 0.. of a mask at the bottoms of the fields of a window, `n` of them. */
template <int K>
struct SpreadBits
{
	static constexpr int n = K == 3 ? 8 : K == 6 ? 5 : 4;

	__device__ static __forceinline__ uint32_t
	spread(uint32_t bits)
	{
		if constexpr (K == 3)
		{
			bits = (bits & 0xff) * 0x101 & 0x00f00f;
			bits = bits * 0x11 & 0x0c30c3;
			return bits * 5 & 0x249249;
		}
		else if constexpr (K == 5)
			return (bits & 15) * 0x1111 & 0x8421;
		else if constexpr (K == 6)
			return (bits & 31) * 0x108421 & 0x1041041;
		else
			return (bits & 15) * 0x41041 & 0x204081;
	}
};

/* Sum of the codes at the positions of `mask`. */
template <int K>
__device__ __forceinline__ unsigned long long
masked_sum(const uint32_t (&w)[K], uint32_t mask)
{
	uint32_t	low = 0,
				high = 0;

	if constexpr (K == 1)
		return __popc(w[0] & mask);
	else if constexpr (K == 2)
	{
		/* positions 0..15 to the even bits, 16..31 to the odd ones */
		uint32_t	x =
			swap_index_bits<0, 4>(swap_index_bits<0, 3>(swap_index_bits<0, 2>(swap_index_bits<0, 1>(mask))));
		uint32_t	a = x & 0x55555555u,
					b = x >> 1 & 0x55555555u;

		return __popc(w[0] & a) + __popc(w[1] & b) + 2 * (__popc(w[0] >> 1 & a) + __popc(w[1] >> 1 & b));
	}
	else if constexpr (K == 4)
	{
#pragma unroll
		for (int j = 0; j < K; j++)
		{
			uint32_t	bits = mask >> 8 * j;
			uint32_t	even = byte_masks((bits & 0x55) * 0x02082080u),
						odd = byte_masks((bits & 0xaa) * 0x01041040u);

			low = __dp4a(w[j] & even & 0x0f0f0f0fu, 0x01010101u, low);
			low = __dp4a(w[j] >> 4 & odd & 0x0f0f0f0fu, 0x01010101u, low);
		}
		return low;
	}
	else if constexpr (K == 8)
	{
#pragma unroll
		for (int j = 0; j < K; j++)
			low = __dp4a(w[j] & byte_masks((mask >> 4 * j & 15) * 0x10204080u), 0x01010101u, low);
		return low;
	}
	else if constexpr (K < 8)
	{
		constexpr int n = SpreadBits<K>::n,
					windows = (31 + n) / n;
		uint32_t	x[windows];

#pragma unroll
		for (int j = 0; j < windows; j++)
			x[j] = Swar<K>::window(w, j * n) & SpreadBits<K>::spread(mask >> (j * n)) * ((1u << K) - 1);
		return field_sum<K>(x);
	}
	else
	{
#pragma unroll
		for (int p = 0; p < 32; p++)
			if (mask >> p & 1)
			{
				if constexpr (K <= 27)
					low += code_at<K>(w, p);
				else
				{
					low += code_at<K>(w, p) & 0xffff;
					high += code_at<K>(w, p) >> 16;
				}
			}
		return low + ((unsigned long long) high << 16);
	}
}

#endif
