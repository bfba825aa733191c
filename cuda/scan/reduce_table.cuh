/*-------------------------------------------------------------------------
 *
 * reduce_table.cuh
 *	  The tables that a grouped reduction accumulates in, and how half a vector
 *	  of rows advances them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_REDUCE_TABLE_CUH
#define GPUCOL_CUDA_REDUCE_TABLE_CUH

#include "cuda/scan/offsets.cuh"

/* Positions of a vector that a warp keeps in registers at a time. */
constexpr int HALF = 16;
constexpr uint32_t HALF_ROWS = (1u << HALF) - 1;

enum WordKind
{
	WORD_SUM = 0,
	WORD_MIN,
	WORD_MAX
};

/* Neutral value of a word; in the table MIN begins at the greatest offset. */
__host__ __device__ static inline uint32_t
neutral32(int kind)
{
	return kind == WORD_MIN ? 0xffffffffu : 0;
}

/* Records of a block that take the rows that do not count: one a lane. */
constexpr uint32_t WASTE = 32;

/*
 * Where a kernel accumulates: 32-bit words in shared memory, or 64-bit words in
 * device memory.  Rows name their group's record by the byte address of its
 * first word, or by the number of the group.
 */
struct SharedTable
{
	static constexpr bool SHARED = true;
	uint32_t	plane;			/* bytes from word w to word w + 1 of a record */
	uint32_t	start;			/* address of record 0's first word, this lane's copy */
	uint32_t	waste;			/* address of this lane's waste record */
	uint32_t	copies;
	uint32_t	nwords;
	unsigned long long *global;

	/* Address of a record from its byte offset in the object's plane. */
	__device__ __forceinline__ uint32_t
	locate(uint32_t offset, uint32_t on) const
	{
		return on ? offset + start : waste;
	}

	/* Number of the record at such an address; copies are a power of two. */
	__device__ __forceinline__ uint32_t
	record_of(uint32_t at) const
	{
		return (at - start) / 4 >> (31 - __clz(copies));
	}

	__device__ __forceinline__ void
	increment(uint32_t word, uint32_t at) const
	{
		asm volatile("red.shared.add.u32 [%0], 1;" :: "r"(at + word * plane) : "memory");
	}

	/* Add; returns the word before. */
	__device__ __forceinline__ uint32_t
	add(uint32_t word, uint32_t at, uint32_t x) const
	{
		uint32_t	old;

		asm volatile("atom.shared.add.u32 %0, [%1], %2;"
					 : "=r"(old) : "r"(at + word * plane), "r"(x) : "memory");
		return old;
	}

	/* A wrapped word: its carry belongs to the table in device memory. */
	__device__ __forceinline__ void
	carry(uint32_t word, uint32_t group) const
	{
		atomicAdd(global + (size_t) group * nwords + word, 1ull << 32);
	}

	__device__ __forceinline__ void
	least(uint32_t word, uint32_t at, uint32_t x) const
	{
		asm volatile("red.shared.min.u32 [%0], %1;" :: "r"(at + word * plane), "r"(x) : "memory");
	}

	__device__ __forceinline__ void
	greatest(uint32_t word, uint32_t at, uint32_t x) const
	{
		asm volatile("red.shared.max.u32 [%0], %1;" :: "r"(at + word * plane), "r"(x) : "memory");
	}
};

/* In device memory operations can be predicated: rows whose `on` is zero change
 * nothing. */
struct GlobalTable
{
	static constexpr bool SHARED = false;
	unsigned long long *words;
	uint32_t	nwords;
	uint32_t	copies;			/* 1 */

	__device__ __forceinline__ uint32_t
	locate(uint32_t offset, uint32_t) const
	{
		return offset / 4;
	}

	__device__ __forceinline__ unsigned long long *
	at(uint32_t word, uint32_t group) const
	{
		return words + (size_t) group * nwords + word;
	}

	__device__ __forceinline__ void
	increment(uint32_t word, uint32_t group, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %1, 0; @p red.global.add.u64 [%0], 1;}"
					 :: "l"(at(word, group)), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	add(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.add.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	least(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.min.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}

	__device__ __forceinline__ void
	greatest(uint32_t word, uint32_t group, uint32_t x, uint32_t on) const
	{
		asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0; @p red.global.max.u64 [%0], %1;}"
					 :: "l"(at(word, group)), "l"((unsigned long long) x), "r"(on) : "memory");
	}
};

/*
 * Advance records in shared memory by one input's values.  Where `some`, the
 * rows that are not `present` get values that change nothing.  Returns the rows
 * whose sum wrapped.
 */
__device__ __forceinline__ uint32_t
advance(const SharedTable &table, const GpucolReduceInput &input, uint32_t ops,
		const uint32_t (&at)[HALF], bool some, uint32_t present, uint32_t (&v)[HALF])
{
	uint32_t	wrapped = 0;

	if (ops & GPUCOL_REDUCE_COUNT)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.add(input.count, at[i], present >> i & 1);
	}
	if (ops & GPUCOL_REDUCE_MIN)
	{
		if (some)
		{
#pragma unroll
			for (int i = 0; i < HALF; i++)
				v[i] = present >> i & 1 ? v[i] : 0xffffffffu;
		}
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.least(input.min, at[i], v[i]);
	}
	if (some)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			v[i] = present >> i & 1 ? v[i] : 0;
	}
	if (ops & GPUCOL_REDUCE_MAX)
	{
#pragma unroll
		for (int i = 0; i < HALF; i++)
			table.greatest(input.max, at[i], v[i]);
	}
	if (ops & GPUCOL_REDUCE_SUM)
	{
		uint32_t	old[HALF];

#pragma unroll
		for (int i = 0; i < HALF; i++)
			old[i] = table.add(input.sum, at[i], v[i]);

		/* short chains of carries, for each link waits for the one before */
#pragma unroll
		for (int q = 0; q < HALF; q += 4)
		{
			uint32_t	part = 0;

#pragma unroll
			for (int i = q + 3; i >= q; i--)
				shift_in_carry(part, old[i], v[i]);
			wrapped |= part << q;
		}
	}
	return wrapped;
}

/* Advance records in device memory by one input's values. */
__device__ __forceinline__ void
advance(const GlobalTable &table, const GpucolReduceInput &input, uint32_t ops,
		const uint32_t (&at)[HALF], uint32_t present, const uint32_t (&v)[HALF])
{
#pragma unroll
	for (int i = 0; i < HALF; i++)
	{
		uint32_t	on = present & (1u << i);

		if (ops & GPUCOL_REDUCE_COUNT)
			table.increment(input.count, at[i], on);
		if (ops & GPUCOL_REDUCE_SUM)
			table.add(input.sum, at[i], v[i], on);
		if (ops & GPUCOL_REDUCE_MIN)
			table.least(input.min, at[i], v[i], on);
		if (ops & GPUCOL_REDUCE_MAX)
			table.greatest(input.max, at[i], v[i], on);
	}
}

/* Carry the sums of input word `word` that wrapped, a rare event; `at` is as above, and
 * the object's first record is group `first`. */
__device__ __forceinline__ void
carry_wrapped(const SharedTable &table, const uint32_t (&at)[HALF], uint32_t first, uint32_t word, uint32_t wrapped)
{
#pragma unroll
	for (int i = 0; i < HALF; i++)
		if (wrapped & (1u << i))
			table.carry(word, first + table.record_of(at[i]));
}

#endif
