/*-------------------------------------------------------------------------
 *
 * join.c
 *	  What the CPU engine makes of joins over packed columns in memory, against a floor.
 *
 *	  build/bench/join [million rows] [threads] [rounds]
 *
 * A fact table of `date` (2,556 values), `cust` (30,000), `part` (200,000), `ord`
 * (1,500,000, ascending), `any` (1,500,000, at random), `far` (the same spread over 64 bits)
 * and `price` (20 bits); tables with a key of each and attributes.  The floor is the
 * unpacking of the key columns that a query reads.  Process time, medians of `rounds`.
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
	DATE, CUST, PART, ORD, ANY, FAR, PRICE, NFACT
};

/* columns of the others */
enum
{
	KEY, ATTRIBUTE, BIG, NDIM
};

static const int64_t ranges[NFACT] = {2556, 30000, 200000, 1500000, 1500000, 1500000, 1000000};
static ArrayTable fact;
static ArrayTable dims[NFACT];
static GpucolLookup *lookups[8];
static int	nlookups;
static int	threads = 1;
static int	rounds = 7;
static double million = 6;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

static double
wall(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
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

static int64_t
far_key(int64_t n)
{
	return (int64_t) ((uint64_t) n * UINT64_C(0x9e3779b97f4a7c15));
}

/* The value of a column of the fact table (dim < 0), or of another. */
static int64_t
value_of(int dim, int c, uint64_t row, uint64_t nrows)
{
	if (dim >= 0)
		return c == ATTRIBUTE ? (int64_t) (next_random() % 1000) : c == BIG ? (int64_t) row * 3 :
			dim == FAR ? far_key((int64_t) row) : (int64_t) row;
	if (c == ORD)
		return (int64_t) (row * (uint64_t) ranges[ORD] / nrows);
	if (c == FAR)
		return far_key((int64_t) (next_random() % (uint64_t) ranges[FAR]));
	return (int64_t) (next_random() % (uint64_t) ranges[c]);
}

static void
make_table(ArrayTable *table, int dim, uint64_t nrows)
{
	table->ncolumns = dim < 0 ? NFACT : NDIM;
	for (uint64_t row = 0; row < nrows; row += GPUCOL_DEFAULT_SEGMENT_ROWS)
	{
		ArraySegment *segment = &table->segments[table->nsegments++];

		segment->first_row = row;
		segment->nrows = (uint32_t) (nrows - row < GPUCOL_DEFAULT_SEGMENT_ROWS ?
									 nrows - row : GPUCOL_DEFAULT_SEGMENT_ROWS);
		for (int c = 0; c < table->ncolumns; c++)
		{
			ArrayColumn *column = &segment->columns[c];

			column->kind = GPUCOL_KIND_INT;
			column->values = malloc(sizeof(int64_t) * GPUCOL_DEFAULT_SEGMENT_ROWS);
			for (uint32_t r = 0; r < segment->nrows; r++)
				column->values[r] = value_of(dim, c, row + r, nrows);
		}
		if (array_segment_encode(segment, table->ncolumns) != GPUCOL_OK)
			abort();
		for (int c = 0; c < table->ncolumns; c++)
		{
			free(segment->columns[c].values);
			segment->columns[c].values = NULL;
		}
	}
}

static GpucolRun *
start(const ProgramBuilder *b, const ArrayTable *table, ArraySource *source,
	  GpucolProgram **program)
{
	GpucolRunOptions options = {.threads = threads,.lookups = lookups,.nlookups = nlookups};
	GpucolRun  *run;
	const char *why;

	*program = builder_finish(b);
	array_source_init(source, table, 1 << 20, false);
	if (gpucol_engine_cpu.start(*program, &source->base, NULL, &options, &run, &why) != GPUCOL_OK)
	{
		printf("%s\n", why);
		abort();
	}
	return run;
}

/* Build a table on KEY of a dimension, of the rows whose attribute is below `below`. */
static GpucolLookup *
build(int dim, int below, bool payload, double *ms)
{
	ProgramBuilder b;
	ArraySource source;
	GpucolProgram *program;
	GpucolRun  *run;
	GpucolLookup *lookup;
	double		from;

	builder_init(&b, GPUCOL_PROGRAM_BUILD);
	for (int c = 0; c < NDIM; c++)
		builder_column(&b, GPUCOL_KIND_INT, 0);
	if (below < 1000)
	{
		uint16_t	hi = builder_const_int(&b, GPUCOL_CLASS_I, below - 1);

		builder_range(&b, ATTRIBUTE, GPUCOL_RANGE_BETWEEN)->hi = hi;
	}
	b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, KEY);
	if (payload)
		b.keys[b.head.nkeys++] =
			builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, ATTRIBUTE);
	b.head.njoin_keys = 1;
	from = now();
	run = start(&b, &dims[dim], &source, &program);
	if (gpucol_engine_cpu.build(run, &lookup) != GPUCOL_OK)
		abort();
	gpucol_engine_cpu.finish(run);
	*ms = now() - from;
	free(program);
	return lookup;
}

static int
compare(const void *a, const void *b)
{
	double		x = *(const double *) a;
	double		y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
bench_build(const char *what, int dim, int below, bool payload)
{
	double		times[64];

	for (int r = 0; r < rounds; r++)
		gpucol_engine_cpu.lookup_free(build(dim, below, payload, &times[r]));
	qsort(times, (size_t) rounds, sizeof(double), compare);
	printf("%-52s %8.2f ms\n", what, times[rounds / 2]);
}

/* One query: keys of the fact table, the rows that their tables have, grouped or not. */
typedef struct Query
{
	const char *what;
	int			nprobes;
	int			keys[4];
	int			below[4];
	bool		payload[4];		/* group by the attribute */
	GpucolJoinKind kind;
} Query;

/* Milliseconds to unpack the keys of the query. */
static double
floor_of(const Query *q)
{
	static uint64_t out[GPUCOL_VECTOR_VALUES];
	double		from = now();

	for (int s = 0; s < fact.nsegments; s++)
		for (int p = 0; p < q->nprobes; p++)
		{
			const GpucolChunkDesc *desc = fact.segments[s].chunks[q->keys[p]];
			uint32_t	nvectors = GPUCOL_VECTORS(fact.segments[s].nrows);

			for (uint32_t v = 0; v < nvectors && desc->width > 0; v++)
			{
				GpucolRows	rows = {0};
				uint32_t	row = desc->streams[GPUCOL_STREAM_CODES].row + v * desc->width;
				const char *page = fact.segments[s].pages +
					(size_t) (row / GPUCOL_PAGE_ROWS) * PAGE_BYTES + PAGE_HEADER +
					(size_t) (row % GPUCOL_PAGE_ROWS) * GPUCOL_ROW_BYTES;

				(void) rows;
				if (row % GPUCOL_PAGE_ROWS + desc->width > GPUCOL_PAGE_ROWS)
					continue;
				if (desc->width <= 32)
					gpucol_bitpack_unpack32(desc->width, page, (uint32_t *) out);
				else
					gpucol_bitpack_unpack64(desc->width, page, out);
			}
		}
	return now() - from;
}

static void
bench_query(const Query *q)
{
	ProgramBuilder b;
	double		times[64];
	double		walls[64];
	double		least;
	double		ms;
	int			nkeys = 0;
	uint16_t	price;
	int64_t		count = 0;

	builder_init(&b, GPUCOL_PROGRAM_AGG);
	nlookups = 0;
	for (int c = 0; c < NFACT; c++)
		builder_column(&b, GPUCOL_KIND_INT, 0);
	for (int p = 0; p < q->nprobes; p++)
	{
		lookups[nlookups++] = build(q->keys[p], q->below[p], q->payload[p], &ms);
		builder_probe(&b, p, q->kind);
		builder_probe_key(&b, builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0,
											q->keys[p]));
	}
	for (int p = 0; p < q->nprobes; p++)
		if (q->payload[p])
		{
			int			payload = builder_payload(&b, p, 1, GPUCOL_KIND_INT);

			b.keys[nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0,
											NFACT + payload);
		}
	b.head.nkeys = (uint16_t) nkeys;
	price = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, PRICE);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, price, GPUCOL_NO_REG);
	for (int r = 0; r < rounds; r++)
	{
		ArraySource source;
		GpucolProgram *program;
		GpucolResult out;
		double		from = now();
		double		from_wall = wall();
		GpucolRun  *run = start(&b, &fact, &source, &program);

		count = 0;
		while (gpucol_engine_cpu.next(run, &out) == GPUCOL_OK)
			for (uint32_t g = 0; g < out.nrows; g++)
				count += out.states[g].count;
		gpucol_engine_cpu.finish(run);
		times[r] = now() - from;
		walls[r] = wall() - from_wall;
		free(program);
	}
	for (int p = 0; p < nlookups; p++)
		gpucol_engine_cpu.lookup_free(lookups[p]);
	nlookups = 0;
	qsort(times, (size_t) rounds, sizeof(double), compare);
	qsort(walls, (size_t) rounds, sizeof(double), compare);
	least = floor_of(q);
	printf("%-52s %8.2f %8.2f %8.2f %8.2f %5.0f %%  %ld\n", q->what, times[rounds / 2],
		   walls[rounds / 2], times[rounds / 2] / million, least, 100 * least / times[rounds / 2],
		   (long) count);
}

int
main(int argc, char **argv)
{
	static const Query queries[] = {
		{"semi date (1/7)", 1, {DATE}, {143}, {false}, GPUCOL_JOIN_SEMI},
		{"date (1/7)", 1, {DATE}, {143}, {false}, GPUCOL_JOIN_INNER},
		{"date (all), group by it", 1, {DATE}, {1000}, {true}, GPUCOL_JOIN_INNER},
		{"cust (1/5)", 1, {CUST}, {200}, {false}, GPUCOL_JOIN_INNER},
		{"part (1/25)", 1, {PART}, {40}, {false}, GPUCOL_JOIN_INNER},
		{"part (all), group by it", 1, {PART}, {1000}, {true}, GPUCOL_JOIN_INNER},
		{"part (1/25), cust (1/5), date (all), group by", 3, {PART, CUST, DATE}, {40, 200, 1000},
		{true, false, true}, GPUCOL_JOIN_INNER},
		{"ascending orders (1/10)", 1, {ORD}, {100}, {false}, GPUCOL_JOIN_INNER},
		{"orders at random (1/2), group by", 1, {ANY}, {500}, {true}, GPUCOL_JOIN_INNER},
		{"hash, orders at random (1/2)", 1, {FAR}, {500}, {false}, GPUCOL_JOIN_INNER},
		{"hash, orders at random (all), group by", 1, {FAR}, {1000}, {true}, GPUCOL_JOIN_INNER},
	};

	if (argc > 1)
		million = atof(argv[1]);
	if (argc > 2)
		threads = atoi(argv[2]);
	if (argc > 3)
		rounds = atoi(argv[3]);
	for (int d = 0; d < NFACT - 1; d++)
		make_table(&dims[d], d, (uint64_t) ranges[d]);
	make_table(&fact, -1, (uint64_t) (million * 1e6));
	bench_build("build date", DATE, 1000, true);
	bench_build("build part", PART, 1000, true);
	bench_build("build 1.5 M orders, dense", ORD, 1000, true);
	bench_build("build 150,000 of them", ORD, 100, true);
	bench_build("build 1.5 M orders, hash", FAR, 1000, true);
	printf("%-52s %8s %8s %8s %8s\n", "", "cpu ms", "ms", "ns/row", "floor ms");
	for (size_t i = 0; i < sizeof(queries) / sizeof(queries[0]); i++)
		bench_query(&queries[i]);
	return 0;
}
