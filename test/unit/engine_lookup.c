/*-------------------------------------------------------------------------
 *
 * engine_lookup.c
 *	  Tables that a BUILD makes of many rows, by one thread and by several: each row is
 *	  there once, rows of a key lie beside each other in the order of the scan, no key has
 *	  two numbers, probes find all of them; and where no key is a string, all threads
 *	  together make the very table that one makes.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>

#include "array_source.h"
#include "check.h"
#include "engine/engine.h"
#include "kernel/lookup.h"
#include "program_builder.h"

#define ROWS	60000
#define DELTA	500
#define GOLDEN	UINT64_C(0x9e3779b97f4a7c15)
#define NTEXTS	3001

enum
{
	C_ID,						/* ascends */
	C_FIVES,					/* ascends, each value five times */
	C_MIXED,					/* in no order, some thirty times */
	C_SPARSE,					/* few words of many */
	C_REPEATED,					/* the same of values that repeat */
	C_HOT,						/* nine of ten rows have one value */
	C_HOLES,					/* C_MIXED, or NULL */
	C_TEXT,
	NCOLUMNS
};

typedef struct Shape
{
	const char *name;
	int			nkeys;
	int			keys[3];
	bool		keeps_nulls;
	int			dense;			/* or not; -1 = see */
} Shape;

static const Shape shapes[] = {
	{"no key", 0, {0}, false, 1},
	{"ascending", 1, {C_ID}, false, 1},
	{"ascending fives", 1, {C_FIVES}, false, 1},
	{"mixed", 1, {C_MIXED}, false, 1},
	{"sparse", 1, {C_SPARSE}, false, 0},
	{"repeated", 1, {C_REPEATED}, false, 0},
	{"hot", 1, {C_HOT}, false, -1},
	{"NULLs left out", 1, {C_HOLES}, false, 1},
	{"NULLs kept", 1, {C_HOLES}, true, 1},
	{"two keys", 2, {C_MIXED, C_ID}, false, -1},
	{"two keys of few", 2, {C_MIXED, C_HOLES}, true, -1},
	{"wide", 2, {C_REPEATED, C_ID}, false, 0},
	{"wide and repeated", 3, {C_REPEATED, C_MIXED, C_HOLES}, true, 0},
	{"text", 1, {C_TEXT}, false, 1},
	{"text and number", 2, {C_TEXT, C_REPEATED}, false, -1},
};

static ArrayTable table;
static char texts[NTEXTS][24];

static bool
is_null(int c, int64_t id)
{
	return c == C_HOLES && id % 11 == 3;
}

/* Values, of C_TEXT the number of the text. */
static int64_t
value_of(int c, int64_t id)
{
	int64_t		mixed = id * 7919 % 2003;

	switch (c)
	{
		case C_ID:
			return id;
		case C_FIVES:
			return id / 5;
		case C_SPARSE:
			return (int64_t) ((uint64_t) id * GOLDEN);
		case C_REPEATED:
			return (int64_t) ((uint64_t) mixed * GOLDEN);
		case C_HOT:
			return id % 10 == 0 ? id : 7;
		case C_TEXT:
			return id * 31 % NTEXTS;
		default:
			return mixed;
	}
}

static void
fill_column(ArrayColumn *column, int c, uint32_t first, uint32_t n)
{
	uint32_t	space = GPUCOL_VECTORS(n) * GPUCOL_VECTOR_VALUES;

	column->kind = c == C_TEXT ? GPUCOL_KIND_BYTES : GPUCOL_KIND_INT;
	column->nulls = c == C_HOLES ? calloc(space / 32 + 1, sizeof(uint32_t)) : NULL;
	if (c == C_TEXT)
		column->bytes = calloc(space + 1, sizeof(GpucolBytes));
	else
		column->values = calloc(space + 1, sizeof(int64_t));
	for (uint32_t r = 0; r < n; r++)
	{
		int64_t		value = value_of(c, first + r);

		if (is_null(c, first + r))
			column->nulls[r / 32] |= UINT32_C(1) << r % 32;
		else if (c == C_TEXT)
			column->bytes[r] = (GpucolBytes) {texts[value], strlen(texts[value])};
		else
			column->values[r] = value;
	}
}

/* Two segments and delta. */
static void
make_table(void)
{
	uint32_t	first = 0;

	for (int i = 0; i < NTEXTS; i++)
		snprintf(texts[i], sizeof(texts[i]), "%.*s%d", i % 12, "text number ", i);
	table.ncolumns = NCOLUMNS;
	table.nsegments = 2;
	for (int s = 0; s < 2; s++)
	{
		table.segments[s].nrows = s == 0 ? ROWS / 3 : ROWS - ROWS / 3;
		table.segments[s].first_row = first;
		for (int c = 0; c < NCOLUMNS; c++)
			fill_column(&table.segments[s].columns[c], c, first, table.segments[s].nrows);
		first += table.segments[s].nrows;
		CHECK(array_segment_encode(&table.segments[s], NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table.ndelta = DELTA;
	table.tids = calloc(DELTA, sizeof(uint64_t));
	for (int c = 0; c < NCOLUMNS; c++)
		fill_column(&table.delta[c], c, first, DELTA);
}

/* A program that reads all columns of the table. */
static void
begin_program(ProgramBuilder *b, GpucolProgramKind kind)
{
	builder_init(b, kind);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, c == C_TEXT ? GPUCOL_KIND_BYTES : GPUCOL_KIND_INT, 0);
}

static uint16_t
load(ProgramBuilder *b, int c)
{
	return c == C_TEXT ? builder_instr(b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, c) :
		builder_instr(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, c);
}

/* Build a table of a shape's keys and C_ID. */
static GpucolStatus
build(const Shape *shape, int threads, size_t limit, GpucolLookup **lookup)
{
	static ProgramBuilder b;
	GpucolProgram *program;
	GpucolRunOptions options = {.threads = threads,.memory_limit = limit};
	GpucolHost	host = {0};
	ArraySource source;
	GpucolRun  *run;
	const char *why;
	GpucolStatus status;

	begin_program(&b, GPUCOL_PROGRAM_BUILD);
	for (int k = 0; k < shape->nkeys; k++)
		b.keys[b.head.nkeys++] = load(&b, shape->keys[k]);
	b.keys[b.head.nkeys++] = load(&b, C_ID);
	b.head.njoin_keys = (uint16_t) shape->nkeys;
	b.head.flags = shape->keeps_nulls ? GPUCOL_PROGRAM_KEEP_NULL_KEYS : 0;
	program = builder_finish(&b);
	*lookup = NULL;
	array_source_init(&source, &table, 4096, false);
	status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
	if (status == GPUCOL_OK)
	{
		status = gpucol_engine_cpu.build(run, lookup);
		gpucol_engine_cpu.finish(run);
	}
	free(program);
	return status;
}

/* Count the pairs of the table's rows and the built one's with the same key. */
static int64_t
count_pairs(const Shape *shape, int threads, GpucolLookup *lookup)
{
	static ProgramBuilder b;
	GpucolProgram *program;
	GpucolRunOptions options = {.threads = threads,.lookups = &lookup,.nlookups = 1};
	GpucolHost	host = {0};
	ArraySource source;
	GpucolResult out;
	GpucolRun  *run;
	const char *why;
	int64_t		n = -1;

	begin_program(&b, GPUCOL_PROGRAM_AGG);
	builder_probe(&b, 0, GPUCOL_JOIN_INNER);
	for (int k = 0; k < shape->nkeys; k++)
		builder_probe_key(&b, load(&b, shape->keys[k]));
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	program = builder_finish(&b);
	array_source_init(&source, &table, 4096, false);
	if (gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why) == GPUCOL_OK)
	{
		while (gpucol_engine_cpu.next(run, &out) == GPUCOL_OK)
			n = out.states[0].count;
		gpucol_engine_cpu.finish(run);
	}
	free(program);
	return n;
}

/* Does the row of an id have no key, or another id the same? */
static bool
keyless(const Shape *shape, int64_t id)
{
	for (int k = 0; k < shape->nkeys; k++)
		if (is_null(shape->keys[k], id))
			return true;
	return false;
}

static bool
same_key(const Shape *shape, int64_t a, int64_t b)
{
	for (int k = 0; k < shape->nkeys; k++)
		if (value_of(shape->keys[k], a) != value_of(shape->keys[k], b))
			return false;
	return true;
}

static const Shape *sorted;

static int
compare_ids(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	for (int k = 0; k < sorted->nkeys; k++)
	{
		int64_t		p = value_of(sorted->keys[k], x);
		int64_t		q = value_of(sorted->keys[k], y);

		if (p != q)
			return p < q ? -1 : 1;
	}
	return (x > y) - (x < y);
}

/* How many keys there are, rows with one, and pairs of these with the same. */
static void
count_keys(const Shape *shape, int64_t *nkeys, int64_t *nrows, int64_t *npairs)
{
	static int64_t ids[ROWS + DELTA];
	int64_t		same = 0;

	*nkeys = *nrows = *npairs = 0;
	for (int64_t id = 0; id < ROWS + DELTA; id++)
		if (!keyless(shape, id))
			ids[(*nrows)++] = id;
	sorted = shape;
	qsort(ids, (size_t) *nrows, sizeof(int64_t), compare_ids);
	for (int64_t i = 0; i < *nrows; i++)
	{
		bool		another = i == 0 || !same_key(shape, ids[i - 1], ids[i]);

		same = another ? 1 : same + 1;
		*nkeys += another;
		*npairs += 2 * same - 1;
	}
}

static int64_t
column_value(const GpucolLookupColumn *column, uint32_t row)
{
	uint64_t	value = 0;

	memcpy(&value, (const char *) column->values + (size_t) row * column->width, (size_t) column->width);
	return (int64_t) (value + (uint64_t) column->reference);
}

/* Is a row of the built table that of an id? */
static bool
is_row(const Shape *shape, const GpucolLookupView *view, uint32_t row, int64_t id)
{
	for (int k = 0; k < shape->nkeys; k++)
	{
		const GpucolLookupColumn *column = &view->columns[k];
		int64_t		value = column_value(column, row);
		bool		null = column->nulls != NULL && column->nulls[row];

		if (null != is_null(shape->keys[k], id))
			return false;
		if (null)
			continue;
		if (shape->keys[k] == C_TEXT)
		{
			const char *text = texts[value_of(C_TEXT, id)];

			if (value >= column->nentries || column->entries[value].len != strlen(text) ||
				memcmp(column->entries[value].data, text, strlen(text)) != 0)
				return false;
		}
		else if (value != value_of(shape->keys[k], id))
			return false;
	}
	return true;
}

/* Look at all rows of a built table; ids[] become theirs. */
static void
look_through(const Shape *shape, const GpucolLookupView *view, int threads, int64_t *ids)
{
	static uint8_t seen[ROWS + DELTA];
	uint32_t	wrong = 0;
	uint32_t	twice = 0;
	uint32_t	apart = 0;
	uint32_t	disordered = 0;

	memset(seen, 0, sizeof(seen));
	for (uint32_t r = 0; r < view->nrows; r++)
	{
		int64_t		id = ids[r] = column_value(&view->columns[shape->nkeys], r);

		if (id < 0 || id >= ROWS + DELTA || !is_row(shape, view, r, id) || keyless(shape, id) != (r >= view->nkeyed))
		{
			wrong++;
			ids[r] = 0;
			continue;
		}
		twice += seen[id];
		seen[id] = 1;
	}
	for (uint32_t d = 0; d < view->ndistinct; d++)
	{
		uint32_t	first = view->first == NULL ? d : view->first[d];
		uint32_t	end = view->first == NULL ? d + 1 : view->first[d + 1];

		apart += end <= first || (d == 0 && first != 0) || (d + 1 == view->ndistinct && end != view->nkeyed);
		for (uint32_t r = first + 1; r < end; r++)
		{
			apart += !same_key(shape, ids[first], ids[r]);
			disordered += ids[r] <= ids[r - 1];
		}
	}
	for (uint32_t r = view->nkeyed + 1; r < view->nrows; r++)
		disordered += ids[r] <= ids[r - 1];
	CHECK(wrong == 0 && twice == 0 && apart == 0 && disordered == 0,
		  "%s, %d threads: %u wrong, %u twice, %u apart, %u in disorder", shape->name, threads, wrong, twice, apart,
		  disordered);
}

static void
compare_with_one(const Shape *shape)
{
	static int64_t ids[2][ROWS + DELTA];
	static const int threads[] = {1, 2, 7, 16};
	int64_t		nkeys;
	int64_t		nrows;
	int64_t		npairs;
	bool		has_text = false;

	for (int k = 0; k < shape->nkeys; k++)
		has_text |= shape->keys[k] == C_TEXT;
	count_keys(shape, &nkeys, &nrows, &npairs);
	for (int t = 0; t < 4; t++)
	{
		GpucolLookup *lookup;
		GpucolLookupView view;

		CHECK(build(shape, threads[t], 0, &lookup) == GPUCOL_OK, "%s: build", shape->name);
		if (lookup == NULL)
			return;
		gpucol_engine_cpu.lookup_view(lookup, &view);
		CHECK(view.nkeyed == nrows && view.nrows == (shape->keeps_nulls ? ROWS + DELTA : nrows) &&
			  view.ndistinct == nkeys && view.unique == (nkeys == nrows),
			  "%s, %d threads: %u keys of %u rows, not %" PRId64 " of %" PRId64, shape->name, threads[t],
			  view.ndistinct, view.nkeyed, nkeys, nrows);
		CHECK(shape->dense < 0 || view.dense == shape->dense, "%s: dense %d", shape->name, view.dense);
		look_through(shape, &view, threads[t], ids[t > 0]);
		CHECK(has_text || memcmp(ids[0], ids[t > 0], sizeof(int64_t) * view.nrows) == 0,
			  "%s: %d threads make another table", shape->name, threads[t]);
		if (shape->nkeys > 0 && npairs < 10000000)
		{
			int64_t		pairs = count_pairs(shape, 2, lookup);

			CHECK(pairs == npairs, "%s, %d threads: %" PRId64 " pairs, not %" PRId64, shape->name, threads[t],
				  pairs, npairs);
		}
		gpucol_engine_cpu.lookup_free(lookup);
	}
}

/* Whatever memory there is, a table is right or refused. */
static void
refuse_memory(const Shape *shape)
{
	bool		refused = false;
	bool		made = false;
	int64_t		nkeys;
	int64_t		nrows;
	int64_t		npairs;

	count_keys(shape, &nkeys, &nrows, &npairs);
	for (size_t limit = 256 * 1024; limit <= 64 << 20; limit += limit / 4)
	{
		GpucolLookup *lookup;
		GpucolStatus status = build(shape, 7, limit, &lookup);

		CHECK(status == (lookup == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK), "%s: status %d", shape->name, status);
		refused |= lookup == NULL;
		made |= lookup != NULL;
		if (lookup != NULL)
		{
			static int64_t ids[ROWS + DELTA];
			GpucolLookupView view;

			gpucol_engine_cpu.lookup_view(lookup, &view);
			CHECK(view.ndistinct == nkeys, "%s: keys", shape->name);
			look_through(shape, &view, 7, ids);
		}
		gpucol_engine_cpu.lookup_free(lookup);
	}
	CHECK(refused && made, "%s: refused %d, made %d", shape->name, refused, made);
}

int
main(void)
{
	make_table();
	for (size_t s = 0; s < sizeof(shapes) / sizeof(shapes[0]); s++)
	{
		compare_with_one(&shapes[s]);
		refuse_memory(&shapes[s]);
	}
	array_table_free(&table);
	return check_summary("engine_lookup");
}
