/*-------------------------------------------------------------------------
 *
 * interp_probe.cuh
 *	  Keys looked up in built tables (kernel/lookup.h), and columns of these.
 *
 * What the arrays of a table say was sent by a client, and nobody has looked at it: every
 * number and row is bounded here before it is used.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_PROBE_CUH
#define GPUCOL_CUDA_INTERP_PROBE_CUH

#include "cuda/scan/interp_step.cuh"
#include "kernel/float_order.h"
#include "kernel/lookup.h"

/* Does a probe hand on rows that have met none of its table's? */
__device__ __forceinline__ bool
keeps_rows(const GpucolDeviceProbe &probe)
{
	return probe.kind == GPUCOL_JOIN_LEFT || probe.kind == GPUCOL_JOIN_FULL;
}

/* The first row of a table, of those seen so far, by a probe's order. */
struct FirstRow
{
	int64_t		place[GPUCOL_MAX_FIRST_KEYS];	/* less: sooner */
	int8_t		rank[GPUCOL_MAX_FIRST_KEYS];	/* of NULL -1 or 1 */
	uint32_t	row;

	/* Take a row that comes sooner, or the first one of all. */
	template <int R>
	__device__ __forceinline__ void
	take(const GpucolDeviceProbe &probe, const RowRegisters<R> &values, uint32_t number, bool none)
	{
		bool		sooner = none;
		bool		decided = none;

#pragma unroll
		for (int k = 0; k < GPUCOL_MAX_FIRST_KEYS; k++)
		{
			if (k >= probe.norder)
				break;
			uint16_t	reg = probe.order_reg[k];
			bool		null = values.null(reg);
			int8_t		of_null = probe.order_nulls_first >> k & 1 ? -1 : 1;
			int8_t		its_rank = null ? of_null : 0;
			int64_t		its_place = null ? 0 :
				probe.order_class[k] == GPUCOL_CLASS_F ? gpucol_float_order(values.f(reg)) : values.v(reg);

			its_place = !null && (probe.order_descending >> k & 1) ? ~its_place : its_place;
			if (!decided && (its_rank != rank[k] || its_place != place[k]))
			{
				sooner = its_rank != rank[k] ? its_rank < rank[k] : its_place < place[k];
				decided = true;
				if (!sooner)
					return;
			}
			if (sooner)
			{
				rank[k] = its_rank;
				place[k] = its_place;
			}
		}
		row = sooner ? number : row;
	}
};

/* The code of a value of a key; false where the table has none such. */
template <int R>
__device__ __forceinline__ bool
code_of_key(const GpucolDeviceKey &key, const RowRegisters<R> &row, uint64_t *code)
{
	int64_t		value = row.v(key.reg);

	if (key.cls == GPUCOL_CLASS_S)
	{
		uint32_t	number = __ldg(key.numbers + min((uint64_t) value, (uint64_t) key.nnumbers - 1));

		*code = (uint64_t) number - 1;
		return number != 0;
	}
	if (key.cls == GPUCOL_CLASS_D)
	{
		int128		distance = row.d(key.reg) - key.least;

		*code = (uint64_t) distance;
		return distance >= 0 && (uint128) distance <= key.range;
	}
	if (key.cls == GPUCOL_CLASS_F)
		value = gpucol_lookup_float_code(value);
	*code = (uint64_t) value - (uint64_t) key.least;
	return *code <= key.range;
}

/* Has the row of a table of wide words this code in a key? */
__device__ static inline bool
has_code(const GpucolDeviceKey &key, uint32_t row, uint64_t code)
{
	int64_t		value = (int64_t) (stored_value(key.values, key.width, row) + (uint64_t) key.reference);

	if (key.cls == GPUCOL_CLASS_F)
		value = gpucol_lookup_float_code(value);
	return (uint64_t) value - (uint64_t) key.least == code;
}

/* The first row of a number's, and *n their count; the number is one of the table's. */
__device__ __forceinline__ uint32_t
rows_of_number(const GpucolDeviceProbe &probe, uint32_t number, uint32_t *n)
{
	uint32_t	first;

	*n = 1;
	if (probe.unique)
		return number;
	first = min(__ldg(probe.first + number), probe.nrows - 1);
	*n = min(__ldg(probe.first + number + 1) - first, probe.nrows - first);
	return first;
}

/* Note that `n` rows of a probe's table from `first` on were met. */
__device__ __forceinline__ void
mark_rows(const GpucolDeviceProbe &probe, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n && i < probe.nrows; i++)
	{
		const uint32_t bit = 1u << i % 32;

		if (!(*(volatile uint32_t *) (probe.marks + i / 32) & bit))
			atomicOr(probe.marks + i / 32, bit);
	}
}

/*
 * The same of all rows of a key, which are noted together: where the first is, somebody has noted
 * the others, or is about to.
 */
__device__ __forceinline__ void
mark_key(const GpucolDeviceProbe &probe, uint32_t first, uint32_t n)
{
	if (n > 0 && first < probe.nrows && !(*(volatile uint32_t *) (probe.marks + first / 32) >> first % 32 & 1))
		mark_rows(probe, first, n);
}

/* Lane mask of the rows of a vector of a probe's table that it delivers in the end. */
__device__ __forceinline__ uint32_t
delivered_mask(const GpucolDeviceProbe &probe, uint32_t vector, int lane)
{
	uint32_t	met = lane_mask_of_rows(probe.marks, vector, lane);

	return tail_mask(probe.nrows, vector, lane) & (probe.kind == GPUCOL_JOIN_RIGHT_SEMI ? met : ~met);
}

/* Does a number stand for the keys of a row?  Asked of tables of wide words. */
template <class P, int R>
__device__ __forceinline__ bool
is_key(const GpucolInterpPlan &plan, const GpucolDeviceProbe &probe, const RowRegisters<R> &row, uint32_t number)
{
	uint32_t	n;
	uint32_t	first = rows_of_number(probe, number, &n);

#pragma unroll P::UNROLL
	for (int k = 0; k < probe.nkeys; k++)
	{
		const GpucolDeviceKey key = P::probe_key(plan, probe.first_key + k);
		uint64_t	code = 0;

		if (!code_of_key(key, row, &code) || !has_code(key, first, code))
			return false;
	}
	return true;
}

/* The number of a word among hashed ones. */
template <class P, int R>
__device__ __forceinline__ uint32_t
find_hashed(const GpucolInterpPlan &plan, const GpucolDeviceProbe &probe, const RowRegisters<R> &row, uint64_t word)
{
	uint64_t	hash = gpucol_lookup_hash(word);
	const unsigned long long *bucket = probe.buckets + (hash >> probe.shift);
	unsigned long long first = __ldg(bucket);
	uint32_t	end;

	if ((first & gpucol_lookup_tag(hash)) == 0)
		return GPUCOL_LOOKUP_NONE;
	end = min((uint32_t) (__ldg(bucket + 1) >> 16), probe.ndistinct);
	for (uint32_t at = (uint32_t) (first >> 16); at < end; at++)
		if (__ldg(probe.words + at) == word && (probe.way != GPUCOL_WAY_WIDE || is_key<P>(plan, probe, row, at)))
			return at;
	return GPUCOL_LOOKUP_NONE;
}

/* The number of a word that keys have come to. */
template <class P, int R>
__device__ __forceinline__ uint32_t
find_word(const GpucolInterpPlan &plan, const GpucolDeviceProbe &probe, const RowRegisters<R> &row, uint64_t word)
{
	uint32_t	number = (uint32_t) word;

	if (probe.way == GPUCOL_WAY_HASH || probe.way == GPUCOL_WAY_WIDE)
		return find_hashed<P>(plan, probe, row, word);
	if (word > probe.greatest)
		return GPUCOL_LOOKUP_NONE;
	if (probe.way == GPUCOL_WAY_BITS)
	{
		unsigned long long block = __ldg(probe.bits + (word >> 6));

		if (!(block >> (word & 63) & 1))
			return GPUCOL_LOOKUP_NONE;
		number = __ldg(probe.before + (word >> 6)) + __popcll(block & ((1ull << (word & 63)) - 1));
	}
	return number < probe.ndistinct ? number : GPUCOL_LOOKUP_NONE;
}

/*
 * The number of a row's keys in a probe's table, GPUCOL_LOOKUP_NONE if it is not there;
 * *null: is one of them NULL?
 */
template <class P, int R>
__device__ __forceinline__ uint32_t
find_keys(const GpucolInterpPlan &plan, const GpucolDeviceProbe &probe, const RowRegisters<R> &row, bool *null)
{
	uint64_t	word = 0;
	bool		there = true;

	*null = false;
#pragma unroll P::UNROLL
	for (int k = 0; k < probe.nkeys; k++)
	{
		const GpucolDeviceKey key = P::probe_key(plan, probe.first_key + k);
		uint64_t	code = 0;

		*null |= row.null(key.reg);
		there = code_of_key(key, row, &code) && there;
		word = probe.way == GPUCOL_WAY_WIDE ? gpucol_lookup_add_code(word, code) : word | code << key.shift;
	}
	if (probe.way == GPUCOL_WAY_NOWHERE || *null || !there)
		return GPUCOL_LOOKUP_NONE;
	return probe.way == GPUCOL_WAY_ALL ? 0 : find_word<P>(plan, probe, row, word);
}

#endif
