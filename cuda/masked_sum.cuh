/*-------------------------------------------------------------------------
 *
 * masked_sum.cuh
 *	  The sum of the codes of a packed vector that a mask selects, and masks in
 *	  the order that this needs.
 *
 * Widths whose codes fill bytes or parts of them work on several codes at once:
 * bits of the mask are spread to the bytes they select by a multiplication, and
 * bytes are added by the dot-product instruction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_MASKED_SUM_CUH
#define GPUCOL_CUDA_MASKED_SUM_CUH

#include "bitunpack.cuh"

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
		uint32_t	x = swap_index_bits<0, 4>(swap_index_bits<0, 3>(swap_index_bits<0, 2>(swap_index_bits<0, 1>(mask))));
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
