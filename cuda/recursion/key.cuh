/*-------------------------------------------------------------------------
 *
 * key.cuh
 *	  A tuple of codes as one key that compares as a number does.
 *
 * A code has `bits` bits; the first column of an order is the highest.  Keys of
 * 32, 64 and 128 bits are plain integers, right-aligned; wider ones are arrays of words,
 * of which each holds as many whole codes as fit.  Everything else works on any of
 * these through the functions here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_KEY_CUH
#define GPUCOL_CUDA_KEY_CUH

#include <cstdint>
#include <type_traits>

#include "cuda/base/api.cuh"
#include "kernel/recursion.h"

typedef unsigned __int128 GpucolKey128;

template <int N> struct GpucolWideKey
{
	static constexpr int WORDS = N;

	uint64_t	w[N];			/* w[0] is the highest */
};

typedef GpucolWideKey<4> GpucolKey256;
typedef GpucolWideKey<16> GpucolKey1024;

/* X(type) for each type of key. */
#define GPUCOL_FOR_KEYS(X) X(uint32_t) X(uint64_t) X(GpucolKey128) X(GpucolKey256) X(GpucolKey1024)

/* How a relation's tuples are packed in one column order. */
struct GpucolKeyOrder
{
	int			arity;
	int			bits;			/* a column; at most 32 */
	uint8_t		columns[GPUCOL_REC_MAX_ARITY];	/* relation column at each place */

	bool
	same(const GpucolKeyOrder &other) const
	{
		for (int i = 0; i < arity; i++)
			if (columns[i] != other.columns[i])
				return false;
		return true;
	}
};

template <class K> struct GpucolIsWide : std::false_type {};
template <int N> struct GpucolIsWide<GpucolWideKey<N>> : std::true_type {};

/* Do tuples of this arity fit the key? */
template <class K>
bool
gpucol_key_fits(int arity, int bits)
{
	if constexpr (GpucolIsWide<K>::value)
		return arity <= K::WORDS * (64 / bits);
	else
		return (size_t) arity * bits <= 8 * sizeof(K);
}

/* ---- wide keys as numbers ---- */

template <int N>
__host__ __device__ __forceinline__ bool
operator==(const GpucolWideKey<N> &a, const GpucolWideKey<N> &b)
{
	for (int i = 0; i < N; i++)
		if (a.w[i] != b.w[i])
			return false;
	return true;
}

template <int N>
__host__ __device__ __forceinline__ bool
operator!=(const GpucolWideKey<N> &a, const GpucolWideKey<N> &b)
{
	return !(a == b);
}

template <int N>
__host__ __device__ __forceinline__ bool
operator<(const GpucolWideKey<N> &a, const GpucolWideKey<N> &b)
{
	for (int i = 0; i < N; i++)
		if (a.w[i] != b.w[i])
			return a.w[i] < b.w[i];
	return false;
}

template <int N>
__host__ __device__ __forceinline__ GpucolWideKey<N>
operator&(GpucolWideKey<N> a, const GpucolWideKey<N> &b)
{
	for (int i = 0; i < N; i++)
		a.w[i] &= b.w[i];
	return a;
}

template <int N>
__host__ __device__ __forceinline__ GpucolWideKey<N>
operator|(GpucolWideKey<N> a, const GpucolWideKey<N> &b)
{
	for (int i = 0; i < N; i++)
		a.w[i] |= b.w[i];
	return a;
}

template <int N>
__host__ __device__ __forceinline__ GpucolWideKey<N>
operator~(GpucolWideKey<N> a)
{
	for (int i = 0; i < N; i++)
		a.w[i] = ~a.w[i];
	return a;
}

/* ---- packing ---- */

/* Bits to the right of a place, in its word if the key is wide. */
template <class K>
__host__ __device__ __forceinline__ int
key_shift(const GpucolKeyOrder &order, int place)
{
	if constexpr (GpucolIsWide<K>::value)
	{
		int			per = 64 / order.bits;

		return order.bits * (per - 1 - place % per);
	}
	else
		return order.bits * (order.arity - 1 - place);
}

/* Put a code into a place that is still zero. */
template <class K>
__host__ __device__ __forceinline__ void
key_put(K &key, const GpucolKeyOrder &order, int place, uint32_t code)
{
	if constexpr (GpucolIsWide<K>::value)
		key.w[place / (64 / order.bits)] |= (uint64_t) code << key_shift<K>(order, place);
	else
		key |= (K) code << key_shift<K>(order, place);
}

/* The code at a place. */
template <class K>
__host__ __device__ __forceinline__ uint32_t
key_code(const K &key, const GpucolKeyOrder &order, int place)
{
	uint64_t	mask = (1ull << order.bits) - 1;

	if constexpr (GpucolIsWide<K>::value)
		return (uint32_t) (key.w[place / (64 / order.bits)] >>
						   key_shift<K>(order, place) & mask);
	else
		return (uint32_t) ((uint64_t) (key >> key_shift<K>(order, place)) & mask);
}

/* Ones at the first `places` places (and at what no column uses above them). */
template <class K>
K
key_mask(const GpucolKeyOrder &order, int places)
{
	K			mask = {};

	if (places == 0)
		return mask;
	if constexpr (GpucolIsWide<K>::value)
	{
		int			per = 64 / order.bits;

		for (int i = 0; i < places / per; i++)
			mask.w[i] = UINT64_MAX;
		if (places % per)
			mask.w[places / per] = UINT64_MAX << key_shift<K>(order, places - 1);
		return mask;
	}
	else
		return ~mask << key_shift<K>(order, places - 1);
}

/* The finaliser of MurmurHash3, public domain. */
__host__ __device__ __forceinline__ uint64_t
key_mix(uint64_t v)
{
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdull;
	v ^= v >> 33;
	v *= 0xc4ceb9fe1a85ec53ull;
	return v ^ v >> 33;
}

template <class K>
__host__ __device__ __forceinline__ uint64_t
key_hash(const K &key)
{
	if constexpr (GpucolIsWide<K>::value)
	{
		uint64_t	h = 0;

		for (int i = 0; i < K::WORDS; i++)
			h = key_mix(h + key.w[i]);
		return h;
	}
	else if constexpr (sizeof(K) > 8)
		return key_mix(key_mix((uint64_t) (key >> 64)) + (uint64_t) key);
	else
		return key_mix(key);
}

#ifdef __CUDACC__

template <class K>
__device__ __forceinline__ K
key_load(const K *key)
{
	if constexpr (sizeof(K) <= 8)
		return __ldg(key);
	else
		return *key;
}

/* First position in sorted keys that is not below `key`. */
template <class K>
__device__ __forceinline__ uint64_t
lower_bound(const K *keys, uint64_t n, const K &key)
{
	uint64_t	lo = 0;

	while (n > 0)
	{
		uint64_t	half = n / 2;

		if (key_load(keys + lo + half) < key)
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

/* First position in sorted keys that is above `key`. */
template <class K>
__device__ __forceinline__ uint64_t
upper_bound(const K *keys, uint64_t n, const K &key)
{
	uint64_t	lo = 0;

	while (n > 0)
	{
		uint64_t	half = n / 2;

		if (!(key < key_load(keys + lo + half)))
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

#endif							/* __CUDACC__ */

#endif							/* GPUCOL_CUDA_KEY_CUH */
