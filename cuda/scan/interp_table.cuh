/*-------------------------------------------------------------------------
 *
 * interp_table.cuh
 *	  Accumulators and hashed groups: where the values of rows go.
 *
 * Sums are integers in limbs of 32 bits, added in any order: the result does
 * not depend on the order.  Floats are summed in fixed point, the binary point
 * chosen from the greatest exponent that occurs, with at least 90 bits below
 * it; a pass before the sum finds that exponent.
 *
 * Groups live in a hash table in device memory.  Where a warp's rows meet in
 * few groups it adds them up first, group by group, so that frequent groups do
 * not become a queue.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_TABLE_CUH
#define GPUCOL_CUDA_INTERP_TABLE_CUH

#include "cuda/scan/interp_step.cuh"

/*
 * Number of a key's entry in a table, entering it if need be; ~0 if the table
 * is full.  *is_new tells who entered it.
 */
__device__ __forceinline__ uint32_t
find_entry(const GpucolDeviceTable &table, const unsigned long long *key, bool *is_new)
{
	uint64_t	h = 0x9e3779b97f4a7c15ull;
	uint32_t	tag,
				slot;

	*is_new = false;
	for (uint32_t i = 0; i < table.nwords; i++)
	{
		h = (h ^ key[i]) * 0xbf58476d1ce4e5b9ull;
		h ^= h >> 32;
	}
	tag = (uint32_t) (h >> 32) & ~3u;
	slot = (uint32_t) h & (table.capacity - 1);
	for (uint32_t probe = 0; probe < table.capacity; probe++)
	{
		volatile uint32_t *state = table.state + slot;
		unsigned long long *stored = table.keys + (size_t) slot * table.nwords;
		uint32_t	s = *state;

		if (s == 0)
		{
			if (*(volatile uint32_t *) table.used > table.limit)
				return ~0u;
			s = atomicCAS(table.state + slot, 0, 1);
			if (s == 0)
			{
				for (uint32_t i = 0; i < table.nwords; i++)
					stored[i] = key[i];
				__threadfence();
				*state = tag | 2;
				atomicAdd(table.used, 1);
				*is_new = true;
				return slot;
			}
		}
		while (s == 1)
			s = *state;
		if (s == (tag | 2))
		{
			bool		same = true;

			__threadfence();
			for (uint32_t i = 0; i < table.nwords; i++)
				same &= __ldcg(stored + i) == key[i];
			if (same)
				return slot;
		}
		slot = (slot + 1) & (table.capacity - 1);
	}
	return ~0u;
}

/* Word of a group key or distinct value. */
template <int R>
__device__ __forceinline__ unsigned long long
key_word(const RowRegisters<R> &reg, uint16_t r, int cls)
{
	if (cls == GPUCOL_CLASS_F)
	{
		double		x = reg.f(r);

		return x != x ? 0x7ff8000000000000ull : x == 0 ? 0 : (unsigned long long) reg.v(r);
	}
	return reg.v(r);
}

/* x * 2^scale toward zero, for finite x. */
__device__ __forceinline__ int128
fixed_point(double x, int scale)
{
	int64_t		bits = __double_as_longlong(x);
	int			e = (int) (bits >> 52 & 0x7ff);
	uint128		m = (uint64_t) bits & 0xfffffffffffffull;
	int			shift;

	if (e == 0)
		e = 1;
	else
		m |= 1ull << 52;
	shift = e - 1075 + scale;
	if (shift >= 0)
		m = shift < 127 ? m << shift : 0;
	else
		m = shift > -64 ? m >> -shift : 0;
	return bits < 0 ? -(int128) m : (int128) m;
}

/* Order of a double for MIN and MAX; -0 below 0. */
__device__ __forceinline__ int64_t
strict_order(double x)
{
	int64_t		bits = __double_as_longlong(x);

	if (x != x)
		return INT64_MAX;
	return bits ^ ((bits >> 63) & INT64_MAX);
}

/* The words that one row gives one accumulator; `n` of them of one kind. */
struct Words
{
	unsigned long long w[6];
	int			n;
	int			kind;			/* 0 add, 1 min, 2 max (as int64) */
};

__device__ __forceinline__ void
limbs(int128 x, unsigned long long *w)
{
	w[0] = (uint32_t) x;
	w[1] = (uint32_t) (x >> 32);
	w[2] = (unsigned long long) (int64_t) (x >> 64);
}

/* The words of an accumulator that no row has advanced. */
__device__ __forceinline__ void
neutral_words(const GpucolAcc &acc, Words &out)
{
	out.kind = acc.op == GPUCOL_ACC_MIN ? 1 : acc.op == GPUCOL_ACC_MAX ? 2 : 0;
	out.n = acc.op == GPUCOL_ACC_SUM_F ? 6 : acc.op == GPUCOL_ACC_SUM_I ? 2 :
		acc.op == GPUCOL_ACC_SUM_D || acc.op == GPUCOL_ACC_SQUARE || acc.op == GPUCOL_ACC_SQUARE_F ? 3 : 1;
	for (int i = 0; i < 6; i++)
		out.w[i] = acc.op == GPUCOL_ACC_MIN ? (unsigned long long) INT64_MAX :
			acc.op == GPUCOL_ACC_MAX ? (unsigned long long) INT64_MIN : 0;
}

/* The place of a byte string in the order of an accumulator; beyond all where it has none. */
__device__ __forceinline__ uint32_t
place_of(const GpucolInterpPlan &plan, int accumulator, int64_t number)
{
	return (uint64_t) number < plan.nplaces[accumulator] ? __ldg(plan.places[accumulator] + number) : UINT32_MAX;
}

/*
 * Fill the words of accumulator `acc` for a row that is `on`, else neutral
 * ones.  Returns GPUCOL_UNSUPPORTED for what no limb can hold.
 */
template <int R>
__device__ __forceinline__ int
words_of_row(const GpucolInterpPlan &plan, int number, const GpucolAcc &acc,
			 const RowRegisters<R> &reg, bool on, uint32_t group, Words &out)
{
	int			status = GPUCOL_OK;

	neutral_words(acc, out);
	if (!on || (acc.filter != GPUCOL_NO_REG && !reg.truth(acc.filter)) ||
		(acc.arg != GPUCOL_NO_REG && reg.null(acc.arg)))
		return GPUCOL_OK;
	switch (acc.op)
	{
		case GPUCOL_ACC_COUNT:
			out.w[0] = 1;
			break;
		case GPUCOL_ACC_SUM_I:
			out.w[0] = (uint32_t) reg.v(acc.arg);
			out.w[1] = (unsigned long long) (reg.v(acc.arg) >> 32);
			break;
		case GPUCOL_ACC_SUM_D:
			limbs(reg.d(acc.arg), out.w);
			if ((int64_t) out.w[2] != (int32_t) out.w[2])
				status = GPUCOL_UNSUPPORTED;
			break;
		case GPUCOL_ACC_SQUARE:
			{
				int128		x = acc.cls == GPUCOL_CLASS_D ? reg.d(acc.arg) : (int128) reg.v(acc.arg);
				int128		r;

				if (gpucol_mul128(x, x, &r))
					status = GPUCOL_UNSUPPORTED;
				limbs(r, out.w);
				if ((int64_t) out.w[2] != (int32_t) out.w[2])
					status = GPUCOL_UNSUPPORTED;
				break;
			}
		case GPUCOL_ACC_SUM_F:
			{
				double		x = reg.f(acc.arg);

				if (x != x)
					out.w[0] = 1;
				else if (isinf(x))
					out.w[x > 0 ? 1 : 2] = 1;
				else
					limbs(fixed_point(x, acc.scale), out.w + 3);
				break;
			}
		case GPUCOL_ACC_SQUARE_F:
			{
				double		x = reg.f(acc.arg),
							p = __dmul_rn(x, x),
							e = __fma_rn(x, x, -p);

				if (!isfinite(x))
					break;
				if (!isfinite(p))
					status = GPUCOL_UNSUPPORTED;
				else
					limbs(fixed_point(p, acc.scale) + fixed_point(e, acc.scale), out.w);
				break;
			}
		case GPUCOL_ACC_DISTINCT:
			{
				unsigned long long key[2] = {(unsigned long long) number << 32 | group,
				key_word(reg, acc.arg, acc.cls)};
				bool		is_new;

				if (find_entry(plan.distinct, key, &is_new) == ~0u)
					status = GPUCOL_OUT_OF_MEMORY;
				out.w[0] = is_new;
				break;
			}
		default:				/* MIN, MAX */
			out.w[0] = acc.cls == GPUCOL_CLASS_F ? strict_order(reg.f(acc.arg)) :
				acc.cls == GPUCOL_CLASS_S ? place_of(plan, number, reg.v(acc.arg)) : reg.v(acc.arg);
			if (acc.cls == GPUCOL_CLASS_D && reg.high(acc.arg) != reg.v(acc.arg) >> 63)
				status = GPUCOL_UNSUPPORTED;
	}
	return status;
}

__device__ __forceinline__ unsigned long long
combine(int kind, unsigned long long x, unsigned long long y)
{
	if (kind == 0)
		return x + y;
	return kind == 1 ? ((long long) x < (long long) y ? x : y) : ((long long) x > (long long) y ? x : y);
}

__device__ __forceinline__ void
atomic_combine(int kind, unsigned long long *to, unsigned long long x)
{
	if (kind == 0)
	{
		if (x != 0)
			atomicAdd(to, x);
	}
	else if (kind == 1)
	{
		if ((long long) x < (long long) __ldcg(to))
			atomicMin((long long *) to, (long long) x);
	}
	else if ((long long) x > (long long) __ldcg(to))
		atomicMax((long long *) to, (long long) x);
}

/* Combine over the lanes of the warp. */
__device__ __forceinline__ unsigned long long
warp_combine(int kind, unsigned long long x)
{
	for (int d = 16; d > 0; d >>= 1)
		x = combine(kind, x, __shfl_xor_sync(GPUCOL_ALL_LANES, x, d));
	return x;
}

/* Group of a row's keys. */
template <class P>
__device__ __forceinline__ uint32_t
group_of_row(const GpucolInterpPlan &plan, const RowRegisters<P::ROWS> &reg)
{
	unsigned long long key[GPUCOL_MAX_KEY_WORDS];
	unsigned long long nulls = 0;
	int			n = 1;
	bool		is_new;

#pragma unroll P::UNROLL
	for (int k = 0; k < P::nkeys(plan); k++)
	{
		uint16_t	r = P::key(plan, k);
		int			cls = P::key_class(plan, k);
		bool		null = reg.null(r);

		nulls |= (unsigned long long) null << k;
		key[n++] = null ? 0 : key_word(reg, r, cls);
		if (cls == GPUCOL_CLASS_D)
			key[n++] = null ? 0 : reg.high(r);
	}
	key[0] = nulls;
	return find_entry(plan.groups, key, &is_new);
}

/* Most groups of a warp's rows for which it adds up before it writes. */
constexpr int GPUCOL_WARP_GROUPS = 4;

/* Advance the groups of a warp's rows, all lanes together. */
template <class P>
__device__ __forceinline__ void
advance_groups(const GpucolInterpPlan &plan, const RowRegisters<P::ROWS> &reg, bool on,
			   unsigned long long ordinal)
{
	uint32_t	group = on ? group_of_row<P>(plan, reg) : ~0u;
	uint32_t	active,
				leaders,
				peers;
	bool		few;

	if (on && group == ~0u)
	{
		report(plan, 0, GPUCOL_OUT_OF_MEMORY);
		on = false;
	}
	__syncwarp();
	active = __ballot_sync(GPUCOL_ALL_LANES, on);
	if (active == 0)
		return;
	peers = __match_any_sync(GPUCOL_ALL_LANES, on ? group : ~0u);
	leaders = __ballot_sync(GPUCOL_ALL_LANES, on && (int) (threadIdx.x % 32) == __ffs(peers) - 1);
	few = __popc(leaders) <= GPUCOL_WARP_GROUPS;
#pragma unroll P::UNROLL
	for (int i = 0; i < P::naccs(plan); i++)
	{
		const GpucolAcc acc = P::acc(plan, i);
		Words		words;
		int			status = words_of_row(plan, i, acc, reg, on, group, words);

		if (status != GPUCOL_OK)
			report(plan, status == GPUCOL_OUT_OF_MEMORY ? 0 : ordinal, status);
		__syncwarp();
		if (few)
		{
			for (uint32_t left = leaders; left; left &= left - 1)
			{
				int			leader = __ffs(left) - 1;
				uint32_t	g = __shfl_sync(GPUCOL_ALL_LANES, group, leader);
				unsigned long long neutral = words.kind == 0 ? 0 :
					words.kind == 1 ? (unsigned long long) INT64_MAX : (unsigned long long) INT64_MIN;

				for (int j = 0; j < words.n; j++)
				{
					unsigned long long x = warp_combine(words.kind, on && group == g ? words.w[j] : neutral);

					if ((int) (threadIdx.x % 32) == leader)
						atomic_combine(words.kind, plan.table + (size_t) g * plan.nwords + acc.word + j, x);
				}
			}
		}
		else if (on)
			for (int j = 0; j < words.n; j++)
				atomic_combine(words.kind, plan.table + (size_t) group * plan.nwords + acc.word + j, words.w[j]);
	}
}

#endif
