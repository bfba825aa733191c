/*-------------------------------------------------------------------------
 *
 * engine_final.c
 *	  Groups that are complete when their vector is (engine/cpu/final.c), against groups
 *	  counted one by one: keys that rise, fall, rise in shuffled stretches or but for a few vectors, or lie in no order,
 *	  with NULLs, with rows that are deleted or in delta, strings beside the key, and rows that
 *	  a join drops or multiplies; with tests of the groups, and the first of an order.
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>

#include "array_source.h"
#include "check.h"
#include "engine/engine.h"
#include "program_builder.h"

#define SEGMENTS	3
#define SEGMENT		12000
#define DELTA		300
#define ROWS		(SEGMENTS * SEGMENT + DELTA)
#define NTEXTS		7
#define LEAST_SUM	600
#define JOINED_KEYS	2000		/* of which the built table has every third twice */

enum
{
	C_KEY,
	C_TEXT,
	C_VALUE,
	NCOLUMNS
};

enum
{
	RISES,
	FALLS,
	STRETCHES,
	MEETING,
	SCATTERED,
	NORDERS
};

typedef struct Row
{
	bool		null;
	bool		deleted;
	int64_t		key;
	int			text;
	int64_t		value;
} Row;

typedef struct Group
{
	bool		null;
	int64_t		key;
	int			text;			/* -1 = groups are not by it */
	int64_t		count;
	int64_t		sum;
} Group;

static const char *const texts[NTEXTS] = {"", "a", "of eight", "one that is longer than that", "b", "bb", "text"};
static Row	rows[ROWS];
static Group expected[ROWS];
static int	nexpected;
static Group got[ROWS];
static int	ngot;

/* What a query asks for. */
typedef struct Query
{
	bool		by_text;
	bool		text_first;
	bool		joined;
	bool		tested;			/* the sum is at least LEAST_SUM */
	int64_t		k;				/* first ones by sum, descending */
} Query;

static int64_t
key_of(int order, int64_t row)
{
	switch (order)
	{
		case RISES:
			return row / 2 * 1000003 - 5000000;
		case FALLS:
			return -(row / 2) * 3;
		case STRETCHES:
			return (row / SEGMENT * 2 + 1) % SEGMENTS * 100000 + row % SEGMENT / 2;
		case MEETING:
			/* one vector of each segment has rows from everywhere */
			if (row % SEGMENT / GPUCOL_VECTOR_VALUES == 6 && row % 5 == 0)
				row = row * 137 % (SEGMENTS * SEGMENT);
			return row / 2 * 1000003 - 5000000;
		default:
			return row * 7919 % 6007;
	}
}

/* Rows of segments, and of delta, a third of which have keys of packed ones. */
static void
make_rows(int order, bool deleted)
{
	for (int64_t r = 0; r < ROWS; r++)
	{
		int64_t		like = r < SEGMENTS * SEGMENT || r % 3 > 0 ? r : r * 137 % (SEGMENTS * SEGMENT);

		rows[r] = (Row) {
			.null = r % 1511 == 5, .deleted = deleted && r < SEGMENTS * SEGMENT && (r % 29 == 0 || r / 1500 % 7 == 3),
			.key = key_of(order, like), .text = (int) (r / 9 % NTEXTS), .value = r * 31 % 1009 - 100
		};
	}
}

static void
fill_columns(ArrayColumn *columns, int first, int n)
{
	uint32_t	space = GPUCOL_VECTORS((uint32_t) n) * GPUCOL_VECTOR_VALUES;

	columns[C_KEY] = (ArrayColumn) {
		.kind = GPUCOL_KIND_INT, .values = calloc(space, sizeof(int64_t)), .nulls = calloc(space / 32, sizeof(uint32_t))
	};
	columns[C_TEXT] = (ArrayColumn) {.kind = GPUCOL_KIND_BYTES,.bytes = calloc(space, sizeof(GpucolBytes))};
	columns[C_VALUE] = (ArrayColumn) {.kind = GPUCOL_KIND_INT,.values = calloc(space, sizeof(int64_t))};
	for (int r = 0; r < n; r++)
	{
		const Row  *row = &rows[first + r];

		if (row->null)
			columns[C_KEY].nulls[r / 32] |= UINT32_C(1) << r % 32;
		columns[C_KEY].values[r] = row->null ? 0 : row->key;
		columns[C_TEXT].bytes[r] = (GpucolBytes) {texts[row->text], strlen(texts[row->text])};
		columns[C_VALUE].values[r] = row->value;
	}
}

static void
make_table(ArrayTable *table)
{
	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = SEGMENTS;
	for (int s = 0; s < SEGMENTS; s++)
	{
		ArraySegment *segment = &table->segments[s];

		segment->nrows = SEGMENT;
		segment->first_row = (uint64_t) s * SEGMENT;
		fill_columns(segment->columns, s * SEGMENT, SEGMENT);
		segment->deleted = calloc(GPUCOL_VECTORS(SEGMENT) * 32, sizeof(uint32_t));
		for (int r = 0; r < SEGMENT; r++)
			if (rows[s * SEGMENT + r].deleted)
			{
				segment->deleted[r / 32] |= UINT32_C(1) << r % 32;
				segment->ndeleted++;
			}
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table->ndelta = DELTA;
	table->tids = calloc(DELTA, sizeof(uint64_t));
	fill_columns(table->delta, SEGMENTS * SEGMENT, DELTA);
}

/* ---- groups one by one ---- */

static int
compare_groups(const void *a, const void *b)
{
	const Group *x = a;
	const Group *y = b;

	if (x->null != y->null)
		return x->null ? 1 : -1;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->text - y->text;
}

/* How many rows of the built table a row meets, by its value. */
static int
matches(const Query *query, const Row *row)
{
	int64_t		key = row->value % JOINED_KEYS;

	return !query->joined ? 1 : key < 0 || key % 3 == 1 ? 0 : key % 3 == 0 ? 2 : 1;
}

static void
count_groups(const Query *query)
{
	int			n = 0;

	for (int r = 0; r < ROWS; r++)
	{
		const Row  *row = &rows[r];
		int			times = matches(query, row);

		if (!row->deleted && times > 0)
			expected[n++] = (Group) {row->null, row->null ? 0 : row->key, query->by_text ? row->text : -1,
				times, times * row->value};
	}
	qsort(expected, (size_t) n, sizeof(Group), compare_groups);
	nexpected = 0;
	for (int i = 0; i < n; i++)
	{
		if (nexpected > 0 && compare_groups(&expected[nexpected - 1], &expected[i]) == 0)
		{
			expected[nexpected - 1].count += expected[i].count;
			expected[nexpected - 1].sum += expected[i].sum;
		}
		else
			expected[nexpected++] = expected[i];
	}
	n = 0;
	for (int i = 0; i < nexpected; i++)
		if (!query->tested || expected[i].sum >= LEAST_SUM)
			expected[n++] = expected[i];
	nexpected = n;
}

/* ---- the engine's ---- */

static void
begin_program(ProgramBuilder *b, GpucolProgramKind kind)
{
	builder_init(b, kind);
	builder_column(b, GPUCOL_KIND_INT, 0);
	builder_column(b, GPUCOL_KIND_BYTES, 0);
	builder_column(b, GPUCOL_KIND_INT, 0);
}

/* A table of the numbers below JOINED_KEYS, but for every third, and every third twice. */
static GpucolLookup *
build_joined(void)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static int64_t values[JOINED_KEYS * 2];
	GpucolProgram *program;
	GpucolRunOptions options = {.threads = 1};
	GpucolHost	host = {0};
	GpucolLookup *lookup = NULL;
	ArraySource source;
	GpucolRun  *run;
	const char *why;
	uint32_t	n = 0;

	for (int64_t i = 0; i < JOINED_KEYS; i++)
		for (int t = 0; t < (i % 3 == 0 ? 2 : i % 3 == 1 ? 0 : 1); t++)
			values[n++] = i;
	table.ncolumns = 1;
	table.ndelta = n;
	table.tids = calloc(n, sizeof(uint64_t));
	table.delta[0] = (ArrayColumn) {.kind = GPUCOL_KIND_INT,.values = calloc(n, sizeof(int64_t))};
	memcpy(table.delta[0].values, values, sizeof(int64_t) * n);
	builder_init(&b, GPUCOL_PROGRAM_BUILD);
	builder_column(&b, GPUCOL_KIND_INT, 0);
	b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, 0);
	b.head.njoin_keys = 1;
	program = builder_finish(&b);
	array_source_init(&source, &table, 4096, false);
	CHECK(gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why) == GPUCOL_OK, "start");
	CHECK(gpucol_engine_cpu.build(run, &lookup) == GPUCOL_OK, "build");
	gpucol_engine_cpu.finish(run);
	free(program);
	array_table_free(&table);
	return lookup;
}

static GpucolProgram *
make_program(const Query *query)
{
	static ProgramBuilder b;
	uint16_t	key;
	uint16_t	text;
	uint16_t	value;

	begin_program(&b, GPUCOL_PROGRAM_AGG);
	if (query->joined)
	{
		builder_probe(&b, 0, GPUCOL_JOIN_INNER);
		builder_probe_key(&b, builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_VALUE));
	}
	key = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_KEY);
	text = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_TEXT);
	value = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_VALUE);
	if (query->by_text && query->text_first)
		b.keys[b.head.nkeys++] = text;
	b.keys[b.head.nkeys++] = key;
	if (query->by_text && !query->text_first)
		b.keys[b.head.nkeys++] = text;
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, value, GPUCOL_NO_REG);
	return builder_finish(&b);
}

static int
number_of_text(GpucolBytes value)
{
	for (int t = 0; t < NTEXTS; t++)
		if (value.len == strlen(texts[t]) && (value.len == 0 || memcmp(value.data, texts[t], value.len) == 0))
			return t;
	return NTEXTS;
}

static void
take_groups(const Query *query, const GpucolResult *out)
{
	const GpucolResultColumn *key = &out->columns[query->by_text && query->text_first ? 1 : 0];
	const GpucolResultColumn *text = &out->columns[query->text_first ? 0 : 1];

	for (uint32_t g = 0; g < out->nrows && ngot < ROWS; g++)
	{
		bool		null = key->nulls != NULL && key->nulls[g];

		got[ngot++] = (Group) {null, null ? 0 : key->i[g], query->by_text ? number_of_text(text->s[g]) : -1,
			out->states[2 * g].count, out->states[2 * g + 1].v.value};
	}
}

static int
compare_sums(const void *a, const void *b)
{
	int64_t		x = ((const Group *) a)->sum;
	int64_t		y = ((const Group *) b)->sum;

	return (x < y) - (x > y);
}

/* Groups as they are expected, or of these the first: as many, with the same sums, each of them right. */
static void
compare(const Query *query, const char *what)
{
	int			wrong = 0;
	int			n = query->k > 0 && query->k < nexpected ? (int) query->k : nexpected;

	CHECK(ngot == n, "%s: %d groups, not %d", what, ngot, n);
	for (int g = 0; g < ngot; g++)
	{
		const Group *group = bsearch(&got[g], expected, (size_t) nexpected, sizeof(Group), compare_groups);

		wrong += group == NULL || group->count != got[g].count || group->sum != got[g].sum;
	}
	qsort(got, (size_t) ngot, sizeof(Group), compare_groups);
	for (int g = 1; g < ngot; g++)
		wrong += compare_groups(&got[g - 1], &got[g]) == 0;
	if (query->k > 0)
	{
		qsort(got, (size_t) ngot, sizeof(Group), compare_sums);
		qsort(expected, (size_t) nexpected, sizeof(Group), compare_sums);
		for (int g = 0; g < ngot && g < n; g++)
			wrong += got[g].sum != expected[g].sum;
		qsort(expected, (size_t) nexpected, sizeof(Group), compare_groups);
	}
	CHECK(wrong == 0, "%s: %d groups wrong", what, wrong);
}

static void
ask(const ArrayTable *table, int order, const Query *query, GpucolLookup *lookup, int threads, bool look_ahead)
{
	GpucolFirst first = {.ntests = query->tested,.tests = {{GPUCOL_FIRST_SUM, 1, LEAST_SUM, INT64_MAX}},.k = query->k,
	.nkeys = query->k > 0,.keys = {{.by = GPUCOL_FIRST_SUM,.number = 1,.descending = true}}};
	GpucolRunOptions options = {.threads = threads,.look_ahead = look_ahead,.lookups = &lookup,
	.nlookups = query->joined};
	GpucolProgram *program = make_program(query);
	GpucolHost	host = {0};
	GpucolRunStats stats;
	ArraySource source;
	GpucolResult out;
	GpucolRun  *run;
	const char *why;
	char		what[200];
	GpucolStatus status;

	snprintf(what, sizeof(what), "order %d, by text %d, joined %d, tested %d, first %d, %d threads", order,
			 query->by_text + query->text_first, query->joined, query->tested, (int) query->k, threads);
	if (query->tested || query->k > 0)
		options.first = &first;
	array_source_init(&source, table, threads == 2 ? 1 << 20 : 4096, false);
	CHECK(gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why) == GPUCOL_OK, "%s", what);
	ngot = 0;
	while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
		take_groups(query, &out);
	CHECK(status == GPUCOL_END, "%s: status %d", what, status);
	gpucol_engine_cpu.stats(run, &stats);
	CHECK((stats.reduction.complete > 5000) == (look_ahead && order != SCATTERED), "%s: %" PRIu64 " complete", what,
		  stats.reduction.complete);
	CHECK((stats.reduction.dropped > 1000) == (stats.reduction.complete > 0 && (query->tested || query->k > 0)),
		  "%s: %" PRIu64 " dropped", what, stats.reduction.dropped);
	gpucol_engine_cpu.finish(run);
	compare(query, what);
	free(program);
}

static void
ask_all(const ArrayTable *table, int order, GpucolLookup *lookup)
{
	for (int kind = 0; kind < 24; kind++)
	{
		Query		query = {.by_text = kind % 3 > 0,.text_first = kind % 3 == 2,.joined = kind / 3 % 2,
		.tested = kind / 6 % 2,.k = kind / 12 * 50};

		count_groups(&query);
		ask(table, order, &query, lookup, 1, true);
		ask(table, order, &query, lookup, 2, true);
		ask(table, order, &query, lookup, 5, true);
		ask(table, order, &query, lookup, 3, false);
	}
}

int
main(void)
{
	static ArrayTable table;
	GpucolLookup *lookup = build_joined();

	for (int order = 0; order < NORDERS; order++)
		for (int deleted = 0; deleted < 2; deleted++)
		{
			make_rows(order, deleted);
			make_table(&table);
			ask_all(&table, order, lookup);
			array_table_free(&table);
		}
	gpucol_engine_cpu.lookup_free(lookup);
	return check_summary("engine_final");
}
