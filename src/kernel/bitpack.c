/*-------------------------------------------------------------------------
 *
 * bitpack.c
 *	  Packed vectors of any width: choice of the instruction set, and the two
 *	  planes of widths over 32 composed from the per-width kernels.
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bitpack_kernels.h"

#define PLANE_WORDS (GPUCOL_ROW_WORDS * 32)

static const uint32_t all_rows[GPUCOL_BITMAP_WORDS] = {
	UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX,
	UINT32_MAX, UINT32_MAX
};

/* Chosen on first use; any thread computes the same answer. */
static const GpucolBitpackKernels *chosen;

static int
available(const GpucolBitpackKernels *kernels)
{
#ifdef __x86_64__
	__builtin_cpu_init();
	if (kernels == &gpucol_bitpack_avx512)
		return __builtin_cpu_supports("avx512vbmi2") &&
			__builtin_cpu_supports("avx512vbmi") &&
			__builtin_cpu_supports("avx512bw") &&
			__builtin_cpu_supports("avx512dq") &&
			__builtin_cpu_supports("avx512vl") &&
			__builtin_cpu_supports("avx512vpopcntdq") &&
			__builtin_cpu_supports("gfni") &&
			__builtin_cpu_supports("bmi2");
	if (kernels == &gpucol_bitpack_avx2)
		return __builtin_cpu_supports("avx2") &&
			__builtin_cpu_supports("bmi2") &&
			__builtin_cpu_supports("popcnt");
#endif
	return kernels == &gpucol_bitpack_base;
}

static const GpucolBitpackKernels *const candidates[] = {
#ifdef __x86_64__
	&gpucol_bitpack_avx512,
	&gpucol_bitpack_avx2,
#endif
	&gpucol_bitpack_base
};

#define NCANDIDATES (sizeof(candidates) / sizeof(candidates[0]))

int
gpucol_bitpack_force_isa(const char *name)
{
	for (size_t i = 0; i < NCANDIDATES; i++)
	{
		if ((name == NULL || strcmp(name, candidates[i]->name) == 0) &&
			available(candidates[i]))
		{
			__atomic_store_n(&chosen, candidates[i], __ATOMIC_RELAXED);
			return 1;
		}
	}
	return 0;
}

static inline const GpucolBitpackKernels *
kernels(void)
{
	const GpucolBitpackKernels *k = __atomic_load_n(&chosen, __ATOMIC_RELAXED);

	if (__builtin_expect(k == NULL, 0))
	{
		gpucol_bitpack_force_isa(NULL);
		k = __atomic_load_n(&chosen, __ATOMIC_RELAXED);
	}
	return k;
}

void
gpucol_bitpack_pack32(int width, const uint32_t *codes, void *words)
{
	if (width > 0)
		kernels()->pack[width] (codes, words);
}

/* Pack 1,024 values minus a reference. */
static void
pack_whole(int width, const uint64_t *values, uint64_t reference, uint32_t *words)
{
	const GpucolBitpackKernels *k = kernels();

	if (width == 0)
		return;
	if (width <= 32)
	{
		k->pack_low[width] (values, reference, words);
		return;
	}
	k->pack_low[32] (values, reference, words);
	k->pack_high[width - 32] (values, reference, words + PLANE_WORDS);
}

void
gpucol_bitpack_pack_for(int width, const int64_t *values, uint32_t n,
						int64_t reference, void *words)
{
	uint64_t	tail[GPUCOL_VECTOR_VALUES];

	if (n == GPUCOL_VECTOR_VALUES)
	{
		pack_whole(width, (const uint64_t *) values, (uint64_t) reference, words);
		return;
	}
	memcpy(tail, values, n * sizeof(uint64_t));
	for (uint32_t i = n; i < GPUCOL_VECTOR_VALUES; i++)
		tail[i] = (uint64_t) reference;
	pack_whole(width, tail, (uint64_t) reference, words);
}

void
gpucol_bitpack_measure(const int64_t *values, uint32_t n, GpucolMeasure *out)
{
	kernels()->measure(values, n, out);
}

void
gpucol_bitpack_unpack32(int width, const void *words, uint32_t *out)
{
	if (width == 0)
		memset(out, 0, GPUCOL_VECTOR_VALUES * sizeof(uint32_t));
	else
		kernels()->unpack[width] (words, out);
}

void
gpucol_bitpack_unpack_for(int width, const void *words, int64_t reference,
						  int64_t *out)
{
	const GpucolBitpackKernels *k = kernels();

	if (width == 0)
		for (int i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			out[i] = reference;
	else if (width <= 32)
		k->unpack64[width] (words, (uint64_t) reference, (uint64_t *) out);
	else
		k->join[width - 32] (words, (const uint32_t *) words + PLANE_WORDS,
							 (uint64_t) reference, (uint64_t *) out);
}

void
gpucol_bitpack_unpack64(int width, const void *words, uint64_t *out)
{
	gpucol_bitpack_unpack_for(width, words, 0, (int64_t *) out);
}

/* Range of a plane of 1..32 bits, lo <= hi. */
static uint32_t
range_plane(int width, const uint32_t *words, uint32_t lo, uint32_t hi,
			uint32_t *match)
{
	if (lo == 0 && hi == gpucol_bitpack_max(width))
	{
		memset(match, 0xff, GPUCOL_BITMAP_WORDS * 4);
		return GPUCOL_VECTOR_VALUES;
	}
	return kernels()->range[width] (words, lo, hi, match);
}

/*
 * Clear the match of rows whose high half equals `high` and whose low half lies
 * in lo..hi.
 */
static void
range_edge(int width, const uint32_t *words, uint32_t high, uint32_t lo,
		   uint32_t hi, uint32_t *match)
{
	uint32_t	a[GPUCOL_BITMAP_WORDS];
	uint32_t	b[GPUCOL_BITMAP_WORDS];

	if (range_plane(width - 32, words + PLANE_WORDS, high, high, a) == 0)
		return;
	range_plane(32, words, lo, hi, b);
	for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
		match[i] &= ~(a[i] & b[i]);
}

/*
 * Start loading the vector behind this one: two planes read in turn defeat the
 * processor's own prefetching (twice the speed from memory).
 */
static inline void
prefetch_next(int width, const uint32_t *words)
{
	const char *next = (const char *) words + width * GPUCOL_ROW_BYTES;

	for (int i = 0; i < width * GPUCOL_ROW_BYTES; i += 64)
		__builtin_prefetch(next + i);
}

/*
 * Widths over 32: the high plane decides all rows but those that meet a bound's
 * high half; only for them is the low plane read, and not for a bound whose low
 * half excludes nothing, as that of a one-sided range does.
 */
static uint32_t
range_planes(int width, const uint32_t *words, uint64_t lo, uint64_t hi,
			 uint32_t *match)
{
	uint32_t	lo_high = (uint32_t) (lo >> 32);
	uint32_t	hi_high = (uint32_t) (hi >> 32);
	uint32_t	lo_low = (uint32_t) lo;
	uint32_t	hi_low = (uint32_t) hi;

	if (range_plane(width - 32, words + PLANE_WORDS, lo_high, hi_high, match) == 0)
		return 0;
	if (lo_high == hi_high)
	{
		uint32_t	low[GPUCOL_BITMAP_WORDS];

		prefetch_next(width, words);
		range_plane(32, words, lo_low, hi_low, low);
		for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
			match[i] &= low[i];
	}
	else
	{
		prefetch_next(width, words);
		if (lo_low > 0)
			range_edge(width, words, lo_high, 0, lo_low - 1, match);
		if (hi_low < UINT32_MAX)
			range_edge(width, words, hi_high, hi_low + 1, UINT32_MAX, match);
	}
	return kernels()->count(match);
}

uint32_t
gpucol_bitpack_range(int width, const void *words, uint64_t lo, uint64_t hi,
					 uint32_t *match)
{
	uint64_t	max = gpucol_bitpack_max(width);

	if (hi > max)
		hi = max;
	if (lo > hi)
	{
		memset(match, 0, GPUCOL_BITMAP_WORDS * 4);
		return 0;
	}
	if (lo == 0 && hi == max)
	{
		memset(match, 0xff, GPUCOL_BITMAP_WORDS * 4);
		return GPUCOL_VECTOR_VALUES;
	}
	if (width > 32)
		return range_planes(width, words, lo, hi, match);
	return kernels()->range[width] (words, (uint32_t) lo, (uint32_t) hi, match);
}

uint32_t
gpucol_bitpack_range_count(int width, const void *words, uint64_t lo, uint64_t hi)
{
	uint32_t	match[GPUCOL_BITMAP_WORDS];

	return gpucol_bitpack_range(width, words, lo, hi, match);
}

static uint64_t
sum_plane(int width, const uint32_t *words, const uint32_t *match)
{
	const GpucolBitpackKernels *k = kernels();

	if (match == NULL)
		return k->sum[width] (words);
	return k->sum_match[width] (words, match);
}

unsigned __int128
gpucol_bitpack_sum(int width, const void *words, const uint32_t *match)
{
	if (width == 0)
		return 0;
	if (width <= 32)
		return sum_plane(width, words, match);
	return sum_plane(32, words, match) +
		((unsigned __int128) sum_plane(width - 32, (const uint32_t *) words +
									   PLANE_WORDS, match) << 32);
}

/*
 * Widths over 32: the extreme high half decides, then the low halves of the rows
 * that have it.
 */
static void
minmax_planes(int width, const uint32_t *words, const uint32_t *match,
			  uint64_t *min, uint64_t *max)
{
	const GpucolBitpackKernels *k = kernels();
	uint32_t	rows[GPUCOL_BITMAP_WORDS];
	uint32_t	high[2];
	uint32_t	low[2][2];

	k->minmax[width - 32] (words + PLANE_WORDS, match, &high[0], &high[1]);
	for (int side = 0; side < 2; side++)
	{
		range_plane(width - 32, words + PLANE_WORDS, high[side], high[side], rows);
		for (int i = 0; i < GPUCOL_BITMAP_WORDS; i++)
			rows[i] &= match[i];
		k->minmax[32] (words, rows, &low[side][0], &low[side][1]);
	}
	*min = (uint64_t) high[0] << 32 | low[0][0];
	*max = (uint64_t) high[1] << 32 | low[1][1];
}

void
gpucol_bitpack_minmax(int width, const void *words, const uint32_t *match,
					  uint64_t *min, uint64_t *max)
{
	const GpucolBitpackKernels *k = kernels();
	uint32_t	least = 0;
	uint32_t	most = 0;

	if (match == NULL)
		match = all_rows;
	*min = UINT64_MAX;
	*max = 0;
	if (k->count(match) == 0)
		return;
	if (width > 32)
	{
		minmax_planes(width, words, match, min, max);
		return;
	}
	if (width > 0)
		k->minmax[width] (words, match, &least, &most);
	*min = least;
	*max = most;
}
