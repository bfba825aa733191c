/*-------------------------------------------------------------------------
 *
 * bitpack.c
 *	  Packed-vector kernels by width and instruction set, in G values/s, beside
 *	  the memory bandwidth of the same run.
 *
 * In cache: 16 vectors, gone through again and again.  From memory: a buffer of
 * MEMORY_BYTES.  Words lie 24 bytes off a page's start, as in a segment page.
 *
 *	  bitpack [isa [width ...]]
 *
 *-------------------------------------------------------------------------
 */
#include "kernel/bitpack.h"

#include "bench.h"

#define N GPUCOL_VECTOR_VALUES
#define CACHED 16
#define MEMORY_BYTES (256l * 1024 * 1024)

static char *memory;
static uint32_t out32[N] __attribute__((aligned(64)));
static int64_t out64[N] __attribute__((aligned(64)));
static uint32_t match[GPUCOL_BITMAP_WORDS] __attribute__((aligned(64)));
static volatile uint64_t sink;

typedef void (*Kernel) (int width, const char *words);

static void
run_range(int width, const char *words)
{
	uint64_t	max = gpucol_bitpack_max(width);

	sink = gpucol_bitpack_range(width, words, max / 4, max / 2, match);
}

static void
run_unpack32(int width, const char *words)
{
	if (width <= 32)
		gpucol_bitpack_unpack32(width, words, out32);
}

static void
run_unpack_for(int width, const char *words)
{
	gpucol_bitpack_unpack_for(width, words, 77, out64);
}

static void
run_sum(int width, const char *words)
{
	sink = (uint64_t) gpucol_bitpack_sum(width, words, NULL);
}

static void
run_sum_match(int width, const char *words)
{
	static const uint32_t half[GPUCOL_BITMAP_WORDS] = {
		0x5a5a5a5a, 0x33333333, 0x77770000, 0x12345678, 0xf0f0f0f0, 0x00ff00ff
	};

	sink = (uint64_t) gpucol_bitpack_sum(width, words, half);
}

static void
run_minmax(int width, const char *words)
{
	uint64_t	min;
	uint64_t	max;

	gpucol_bitpack_minmax(width, words, NULL, &min, &max);
	sink = min + max;
}

static void
run_pack(int width, const char *words)
{
	gpucol_bitpack_pack_for(width, out64, N, 0, (char *) words);
}

static double
rate(Kernel kernel, int width, long vectors, long loops)
{
	size_t		size = (size_t) width * GPUCOL_ROW_BYTES;
	double		seconds;

	BENCH(seconds, loops,
		  for (long v = 0; v < vectors; v++)
			  kernel(width, memory + 24 + (size_t) v * size));
	return (double) vectors * N / seconds / 1e9;
}

/* Read-only bandwidth of one core, GB/s. */
static double
bandwidth(void)
{
	typedef uint64_t V __attribute__((vector_size(32)));
	const V    *from = (const V *) memory;
	double		seconds;
	V			sum[4];

	BENCH(seconds, 1,
		  memset(sum, 0, sizeof(sum));
		  for (long i = 0; i < MEMORY_BYTES / 32; i += 4)
			  for (int j = 0; j < 4; j++)
				  sum[j] += from[i + j];
		  sink = (sum[0] + sum[1] + sum[2] + sum[3])[0]);
	return MEMORY_BYTES / seconds / 1e9;
}

/* Nanoseconds of one random point access in cache. */
static double
point(int width)
{
	double		seconds;
	uint64_t	sum = 0;
	static uint32_t rows[1024];

	for (int i = 0; i < 1024; i++)
		rows[i] = (uint32_t) (bench_random() % N);
	BENCH(seconds, 500,
		  for (int i = 0; i < 1024; i++)
			  sum += gpucol_bitpack_get(width, memory + 24, rows[i]));
	sink = sum;
	return seconds / 1024 * 1e9;
}

static void
bench_width(int width, double gbps)
{
	long		vectors = (MEMORY_BYTES - 4096) / (width * GPUCOL_ROW_BYTES);
	double		floor = gbps * 8 / width;
	double		from_memory = rate(run_range, width, vectors, 1);

	printf("%5d %6.1f (%3.0f %%) %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f %8.1f\n",
		   width, from_memory, from_memory / floor * 100,
		   rate(run_range, width, CACHED, 2000),
		   width <= 32 ? rate(run_unpack32, width, CACHED, 2000) : 0.0,
		   rate(run_unpack_for, width, CACHED, 2000),
		   rate(run_sum, width, CACHED, 2000),
		   rate(run_sum_match, width, CACHED, 2000),
		   rate(run_minmax, width, CACHED, 2000),
		   point(width),
		   rate(run_pack, width, CACHED, 2000));
}

int
main(int argc, char **argv)
{
	static const int widths[] = {1, 2, 3, 4, 5, 7, 8, 10, 12, 15, 16, 20, 24, 27, 32, 33, 40, 48, 64};
	static const char *const isas[] = {"avx512", "avx2", "base"};

	memory = aligned_alloc(8192, MEMORY_BYTES);
	for (long i = 0; i < MEMORY_BYTES / 8; i++)
		((uint64_t *) memory)[i] = bench_random();
	for (int a = 0; a < 3; a++)
	{
		double		gbps = bandwidth();

		if ((argc > 1 && strcmp(argv[1], isas[a]) != 0) ||
			!gpucol_bitpack_force_isa(isas[a]))
			continue;
		printf("%s; read bandwidth of one core %.1f GB/s; G values/s, point access in ns\n"
			   "width  range from memory (of floor)  range    unpack unpack64      sum sum_match  minmax  point     pack\n",
			   isas[a], gbps);
		if (argc > 2)
			for (int i = 2; i < argc; i++)
				bench_width(atoi(argv[i]), gbps);
		else
			for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
				bench_width(widths[i], gbps);
	}
	return 0;
}
