/*-------------------------------------------------------------------------
 *
 * engine_cpu.c
 *	  What the CPU engine makes of packed columns in memory, against floors.
 *
 *	  build/bench/engine_cpu [million rows] [threads] [rounds]
 *
 * Columns: a int of 30,000 values (15 bits), b of 1,000 (10), g of 10 (4), h of
 * 100,000 (17), w bigint of 1,000,000 (20), f double with two decimals (17),
 * uniformly random, segments of 1,048,576 rows, in place in pages as in shared
 * buffers.  The floors are the packed-vector kernels alone over the same bytes: a
 * range test of `a`, and a sum of the codes of the columns that a query reads.
 * Medians of `rounds`; cpu is the process's time, which other work on the machine
 * disturbs less.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <time.h>

#include "engine/engine.h"
#include "kernel/bitpack.h"

#include "array_source.h"
#include "program_builder.h"

enum
{
	A, B, G, H, W, F, NCOLUMNS
};

static const uint64_t ranges[NCOLUMNS] = {30000, 1000, 10, 100000, 1000000, 100000};
static ArrayTable table;

static double
now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static uint64_t
next_random(void)
{
	static uint64_t seed = 1;
	uint64_t	z = (seed += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static void
make_table(uint64_t nrows)
{
	table.ncolumns = NCOLUMNS;
	for (uint64_t row = 0; row < nrows; row += GPUCOL_DEFAULT_SEGMENT_ROWS)
	{
		ArraySegment *segment = &table.segments[table.nsegments++];

		segment->first_row = row;
		segment->nrows = (uint32_t) (nrows - row < GPUCOL_DEFAULT_SEGMENT_ROWS ?
									 nrows - row : GPUCOL_DEFAULT_SEGMENT_ROWS);
		for (int c = 0; c < NCOLUMNS; c++)
		{
			ArrayColumn *column = &segment->columns[c];

			column->kind = c == F ? GPUCOL_KIND_FLOAT8 : GPUCOL_KIND_INT;
			column->values = malloc(sizeof(int64_t) * GPUCOL_DEFAULT_SEGMENT_ROWS);
			for (uint32_t r = 0; r < segment->nrows; r++)
			{
				column->values[r] = (int64_t) (next_random() % ranges[c]);
				if (c == F)
				{
					double		value = (double) column->values[r] / 100;

					memcpy(&column->values[r], &value, sizeof(value));
				}
			}
		}
		if (array_segment_encode(segment, NCOLUMNS) != GPUCOL_OK)
			abort();
		for (int c = 0; c < NCOLUMNS; c++)
		{
			free(segment->columns[c].values);
			segment->columns[c].values = NULL;
		}
	}
}

static int
compare_double(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static double
median(double *times, int n)
{
	qsort(times, (size_t) n, sizeof(double), compare_double);
	return times[n / 2];
}

/* Run the kernel alone over every vector of some columns. */
static double
floor_time(const int *columns, int ncolumns, bool range, int rounds)
{
	double		times[64];
	char		scratch[64 * GPUCOL_ROW_BYTES];
	uint32_t	match[GPUCOL_BITMAP_WORDS];
	volatile uint64_t sink = 0;

	for (int t = 0; t < rounds; t++)
	{
		double		start = now(CLOCK_PROCESS_CPUTIME_ID);

		for (int s = 0; s < table.nsegments; s++)
		{
			const ArraySegment *segment = &table.segments[s];
			const char *pages[4096];
			GpucolRows	rows = {pages, 0, 0, NULL};

			rows.npages = (segment->image.nwords + GPUCOL_PAGE_ROWS - 1) / GPUCOL_PAGE_ROWS;
			for (uint32_t p = 0; p < rows.npages; p++)
				pages[p] = segment->pages + (size_t) p * PAGE_BYTES + PAGE_HEADER;
			for (uint32_t v = 0; v < GPUCOL_VECTORS(segment->nrows); v++)
				for (int c = 0; c < ncolumns; c++)
				{
					const GpucolChunkDesc *desc = segment->chunks[columns[c]];
					const void *words = gpucol_rows_at(&rows, desc->streams[0].row + v * desc->width,
													   desc->width, scratch);

					if (range)
						sink += gpucol_bitpack_range(desc->width, words, 100, 5000, match);
					else
						sink += (uint64_t) gpucol_bitpack_sum(desc->width, words, NULL);
				}
		}
		times[t] = now(CLOCK_PROCESS_CPUTIME_ID) - start;
	}
	return median(times, rounds);
}

/* Run a program; prints its median time beside a floor. */
static void
measure(const char *name, const ProgramBuilder *b, int threads, int rounds, double floor_ms)
{
	GpucolProgram *program = builder_finish(b);
	double		times[64];
	double		cpu[64];
	uint64_t	rows = 0;
	uint64_t	sum = 0;
	double		nrows = 0;

	for (int s = 0; s < table.nsegments; s++)
		nrows += table.segments[s].nrows;
	for (int t = 0; t < rounds; t++)
	{
		ArraySource source;
		GpucolRunOptions options = {.threads = threads};
		GpucolRun  *run;
		GpucolResult out;
		const char *why;
		double		start;
		double		cpu_start;

		array_source_init(&source, &table, 65536, false);
		start = now(CLOCK_MONOTONIC);
		cpu_start = now(CLOCK_PROCESS_CPUTIME_ID);
		if (gpucol_engine_cpu.start(program, &source.base, NULL, &options, &run, &why) != GPUCOL_OK)
			abort();
		rows = sum = 0;
		while (gpucol_engine_cpu.next(run, &out) == GPUCOL_OK)
		{
			rows += out.nrows;
			if (out.states != NULL)
				sum += (uint64_t) out.states[0].count;
		}
		gpucol_engine_cpu.finish(run);
		times[t] = now(CLOCK_MONOTONIC) - start;
		cpu[t] = now(CLOCK_PROCESS_CPUTIME_ID) - cpu_start;
	}
	printf("%-36s %7.1f ms, cpu %7.1f ms = %5.2f ns/row, floor %6.1f ms (%llu rows, %llu)\n",
		   name, median(times, rounds), median(cpu, rounds), median(cpu, rounds) * 1e6 / nrows,
		   floor_ms, (unsigned long long) rows, (unsigned long long) sum);
	fflush(stdout);
	free(program);
}

static void
begin(ProgramBuilder *b, GpucolProgramKind kind)
{
	builder_init(b, kind);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, c == F ? GPUCOL_KIND_FLOAT8 : GPUCOL_KIND_INT, 0);
}

static void
between(ProgramBuilder *b, int column, int64_t lo, int64_t hi)
{
	GpucolRange *range = builder_range(b, column, GPUCOL_RANGE_BETWEEN);

	range->lo = builder_const_int(b, GPUCOL_CLASS_I, lo);
	range->hi = builder_const_int(b, GPUCOL_CLASS_I, hi);
}

static uint16_t
load(ProgramBuilder *b, int column)
{
	return builder_instr(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, column);
}

static void
key(ProgramBuilder *b, int column)
{
	uint16_t	r = load(b, column);

	b->keys[b->head.nkeys++] = r;
}

static void
count_and_sum(ProgramBuilder *b, int column)
{
	builder_agg(b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	builder_agg(b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, load(b, column), GPUCOL_NO_REG);
}

int
main(int argc, char **argv)
{
	uint64_t	millions = argc > 1 ? (uint64_t) atoi(argv[1]) : 30;
	int			threads = argc > 2 ? atoi(argv[2]) : 1;
	int			rounds = argc > 3 ? atoi(argv[3]) : 5;
	static ProgramBuilder b;

	make_table(millions * 1000000);
	printf("%llu million rows, %d thread(s)\n", (unsigned long long) millions, threads);

	begin(&b, GPUCOL_PROGRAM_AGG);
	between(&b, A, 100, 5000);
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	measure("filter a, count(*)", &b, threads, rounds, floor_time((int[]) {A}, 1, true, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	between(&b, A, 100, 5000);
	count_and_sum(&b, W);
	measure("filter a, sum(w)", &b, threads, rounds, floor_time((int[]) {A, W}, 2, true, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	key(&b, G);
	count_and_sum(&b, B);
	measure("10 groups: count, sum(b), avg(b)", &b, threads, rounds,
			floor_time((int[]) {G, B}, 2, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	key(&b, G);
	count_and_sum(&b, B);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, load(&b, W), GPUCOL_NO_REG);
	measure("10 groups: count, sum(b), sum(w)", &b, threads, rounds,
			floor_time((int[]) {G, B, W}, 3, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	key(&b, H);
	count_and_sum(&b, B);
	measure("100,000 groups: count, sum(b)", &b, threads, rounds,
			floor_time((int[]) {H, B}, 2, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	between(&b, A, 100, 5000);
	key(&b, G);
	count_and_sum(&b, B);
	measure("filter a, 10 groups: count, sum(b)", &b, threads, rounds,
			floor_time((int[]) {A, G, B}, 3, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	key(&b, G);
	builder_agg(&b, GPUCOL_AGG_MIN, GPUCOL_CLASS_I, load(&b, W), GPUCOL_NO_REG);
	measure("10 groups: min(w)", &b, threads, rounds,
			floor_time((int[]) {G, W}, 2, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I,
				builder_instr(&b, GPUCOL_OP_MUL_I, GPUCOL_CLASS_I, load(&b, B), load(&b, G), 0, 4),
				GPUCOL_NO_REG);
	measure("sum(b * g)", &b, threads, rounds, floor_time((int[]) {B, G}, 2, false, rounds));

	begin(&b, GPUCOL_PROGRAM_AGG);
	{
		uint16_t	r = builder_instr(&b, GPUCOL_OP_MUL_I, GPUCOL_CLASS_I, load(&b, H),
									  load(&b, B), 0, 4);

		b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_MOD_I, GPUCOL_CLASS_I, r,
											   builder_instr(&b, GPUCOL_OP_CONST_I, GPUCOL_CLASS_I, 0, 0, 0,
															 builder_const_int(&b, GPUCOL_CLASS_I, 1000)), 0, 4);
	}
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	measure("hashed key (h * b) % 1000, count(*)", &b, threads, rounds,
			floor_time((int[]) {H, B}, 2, false, rounds));

	for (int grouped = 0; grouped < 2; grouped++)
	{
		begin(&b, GPUCOL_PROGRAM_AGG);
		if (grouped)
			key(&b, G);
		builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F,
					builder_instr(&b, GPUCOL_OP_LOAD_F, GPUCOL_CLASS_F, 0, 0, 0, F), GPUCOL_NO_REG);
		measure(grouped ? "10 groups: sum(f)" : "sum(f)", &b, threads, rounds,
				floor_time((int[]) {F, G}, 1 + grouped, false, rounds));
	}

	begin(&b, GPUCOL_PROGRAM_SCAN);
	between(&b, A, 100, 400);
	key(&b, W);
	key(&b, H);
	measure("scan: filter a (1 %), w, h", &b, threads, rounds,
			floor_time((int[]) {A}, 1, true, rounds));
	array_table_free(&table);
	return 0;
}
