/*-------------------------------------------------------------------------
 *
 * refused_engine.c
 *	  The CPU engine where memory or threads are refused.
 *
 *-------------------------------------------------------------------------
 */
#include "refuse.h"

#include "engine/engine.h"

#include "array_source.h"
#include "program_builder.h"

#define ROWS	5000			/* of a segment */
#define DELTA	700

enum
{
	C_KEY, C_WIDE, C_DICT, C_NULLS, C_DECIMAL, C_FLOAT, C_WORD, C_TEXT, NCOLUMNS
};

static const GpucolKind kinds[NCOLUMNS] = {
	GPUCOL_KIND_INT, GPUCOL_KIND_INT, GPUCOL_KIND_INT, GPUCOL_KIND_INT, GPUCOL_KIND_DECIMAL,
	GPUCOL_KIND_FLOAT8, GPUCOL_KIND_BYTES, GPUCOL_KIND_BYTES
};

static ArrayTable table;
static char texts[4000][32];

static void
fill_column(ArrayColumn *column, int c, uint32_t nrows)
{
	uint32_t	space = GPUCOL_VECTORS(nrows) * GPUCOL_VECTOR_VALUES;

	column->kind = kinds[c];
	column->scale = c == C_DECIMAL ? 2 : 0;
	if (column->kind == GPUCOL_KIND_BYTES)
		column->bytes = calloc(space, sizeof(GpucolBytes));
	else
		column->values = calloc(space, sizeof(int64_t));
	if (c == C_NULLS)
		column->nulls = calloc(space / 32, sizeof(uint32_t));
	for (uint32_t r = 0; r < nrows; r++)
	{
		uint64_t	x = check_random();
		double		f = (double) (x % 1000) / 8;

		if (column->kind == GPUCOL_KIND_BYTES)
		{
			const char *text = texts[x % (c == C_WORD ? 12 : 4000)];

			column->bytes[r] = (GpucolBytes) {text, strlen(text)};
		}
		else if (c == C_FLOAT)
			memcpy(&column->values[r], &f, sizeof(f));
		else
			column->values[r] = c == C_KEY ? (int64_t) (x % 20) : c == C_WIDE ? (int64_t) x >> 4 :
				c == C_DICT ? (int64_t) (x % 5) * 1000003 : (int64_t) (x % 100000);
		if (column->nulls != NULL && x % 3 == 0)
			column->nulls[r / 32] |= UINT32_C(1) << (r % 32);
	}
}

static void
fill_table(void)
{
	for (int i = 0; i < 4000; i++)
		snprintf(texts[i], sizeof(texts[i]), "%d some text %d", i * 7919 % 4001, i);
	table.ncolumns = NCOLUMNS;
	table.nsegments = 3;
	for (int s = 0; s < table.nsegments; s++)
	{
		ArraySegment *segment = &table.segments[s];

		segment->nrows = ROWS;
		segment->first_row = (uint64_t) s * ROWS;
		for (int c = 0; c < NCOLUMNS; c++)
			fill_column(&segment->columns[c], c, ROWS);
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table.ndelta = DELTA;
	table.tids = calloc(DELTA, sizeof(uint64_t));
	for (int c = 0; c < NCOLUMNS; c++)
		fill_column(&table.delta[c], c, DELTA);
}

/* ---- a run ---- */

typedef struct Query
{
	GpucolProgram *program;
	GpucolProgram *build;		/* of the table that it probes, or NULL */
	const GpucolRowShape *shape;
	int			threads;
} Query;

/* Texts whose length is even. */
static void
host_test(void *context, int id, int n, const GpucolBytes *values, const bool *isnull,
		  uint8_t *result)
{
	(void) context;
	(void) id;
	for (int i = 0; i < n; i++)
		result[i] = isnull != NULL && isnull[i] ? 2 : values[i].len % 2 == 0;
}

/* It calls nothing. */
static bool
host_any_thread(void *context, int id)
{
	(void) context;
	(void) id;
	return true;
}

static uint64_t
mix(uint64_t hash, const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ ((const uint8_t *) data)[i]) * UINT64_C(0x100000001b3);
	return hash;
}

/* One row or group as a number; of a shape, only that there is one. */
static uint64_t
row_number(const Query *query, const GpucolResult *out, uint32_t row)
{
	uint64_t	hash = 1;

	for (int k = 0; query->shape == NULL && k < query->program->nkeys; k++)
	{
		const GpucolResultColumn *column = &out->columns[k];

		if (column->nulls != NULL && column->nulls[row])
			hash = mix(hash, "null", 4);
		else if (column->cls == GPUCOL_CLASS_S)
			hash = mix(hash, column->s[row].data, column->s[row].len);
		else if (column->cls == GPUCOL_CLASS_F)
			hash = mix(hash, &column->f[row], sizeof(double));
		else if (column->cls == GPUCOL_CLASS_D)
			hash = mix(hash, &column->d[row], sizeof(__int128));
		else
			hash = mix(hash, &column->i[row], sizeof(int64_t));
	}
	for (int a = 0; out->states != NULL && a < query->program->naggs; a++)
		hash = mix(hash, &out->states[row * query->program->naggs + (uint32_t) a].count,
				   sizeof(int64_t));
	return hash;
}

/* Start a program over the table. */
static GpucolStatus
start_program(const Query *query, GpucolProgram *program, GpucolLookup *const *lookup,
			  ArraySource *source, const GpucolHost *host, GpucolRun **run)
{
	GpucolRunOptions options = {.threads = query->threads,.shape = query->shape,.lookups = lookup,
	.nlookups = *lookup != NULL};
	const char *why;

	array_source_init(source, &table, 65536, false);
	return gpucol_engine_cpu.start(program, &source->base, host, &options, run, &why);
}

/* The table that it probes, if it does. */
static GpucolStatus
build_lookup(const Query *query, GpucolLookup **lookup)
{
	GpucolLookup *none = NULL;
	ArraySource source;
	GpucolRun  *run = NULL;
	GpucolStatus status;

	if (query->build == NULL)
		return GPUCOL_OK;
	status = start_program(query, query->build, &none, &source, NULL, &run);
	if (status != GPUCOL_OK)
		return status;
	status = gpucol_engine_cpu.build(run, lookup);
	gpucol_engine_cpu.finish(run);
	CHECK(source.mapped_rows == 0, "windows are left");
	return status;
}

static GpucolStatus
run_query(void *arg, uint64_t *answer)
{
	const Query *query = arg;
	GpucolLookup *lookup = NULL;
	ArraySource source;
	GpucolHost	host = {.test = host_test,.any_thread = host_any_thread};
	GpucolRun  *run = NULL;
	GpucolResult out;
	GpucolStatus status = build_lookup(query, &lookup);

	*answer = 0;
	if (status == GPUCOL_OK)
		status = start_program(query, query->program, &lookup, &source, &host, &run);
	if (status == GPUCOL_OK)
	{
		while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
			for (uint32_t r = 0; query->shape == NULL && r < out.nrows; r++)
				*answer += row_number(query, &out, r);
		gpucol_engine_cpu.finish(run);
		CHECK(source.mapped_rows == 0, "windows are left");
	}
	if (lookup != NULL)
		gpucol_engine_cpu.lookup_free(lookup);
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

/* ---- queries ---- */

static uint16_t
load(ProgramBuilder *b, int c)
{
	static const GpucolOpcode ops[] = {
		[GPUCOL_KIND_INT] = GPUCOL_OP_LOAD_I,[GPUCOL_KIND_DECIMAL] = GPUCOL_OP_LOAD_D,
		[GPUCOL_KIND_FLOAT8] = GPUCOL_OP_LOAD_F,[GPUCOL_KIND_BYTES] = GPUCOL_OP_LOAD_S
	};
	static const GpucolClass classes[] = {
		[GPUCOL_KIND_INT] = GPUCOL_CLASS_I,[GPUCOL_KIND_DECIMAL] = GPUCOL_CLASS_D,
		[GPUCOL_KIND_FLOAT8] = GPUCOL_CLASS_F,[GPUCOL_KIND_BYTES] = GPUCOL_CLASS_S
	};

	return builder_instr(b, ops[kinds[c]], classes[kinds[c]], 0, 0, 0, c);
}

static void
begin(ProgramBuilder *b, GpucolProgramKind kind)
{
	builder_init(b, kind);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, kinds[c], c == C_DECIMAL ? 2 : 0);
}

static void
refuse_programs(const char *name, const ProgramBuilder *b, const ProgramBuilder *build,
				const GpucolRowShape *shape)
{
	for (int threads = 1; threads <= 3; threads += 2)
	{
		Query		query = {.program = builder_finish(b),.shape = shape,.threads = threads};

		if (build != NULL)
			query.build = builder_finish(build);
		refuse_each(name, run_query, &query);
		free(query.program);
		free(query.build);
	}
}

static void
refuse_query(const char *name, const ProgramBuilder *b, const GpucolRowShape *shape)
{
	refuse_programs(name, b, NULL, shape);
}

/* All columns of rows that a range and the host let pass. */
static void
refuse_scan(const GpucolRowShape *shape)
{
	static ProgramBuilder b;
	GpucolRange *range;

	begin(&b, GPUCOL_PROGRAM_SCAN);
	range = builder_range(&b, C_KEY, GPUCOL_RANGE_BETWEEN);
	range->lo = builder_const_int(&b, GPUCOL_CLASS_I, 2);
	range->hi = builder_const_int(&b, GPUCOL_CLASS_I, 15);
	builder_range(&b, C_TEXT, GPUCOL_RANGE_HOST)->n = 0;
	builder_range(&b, C_WORD, GPUCOL_RANGE_HOST)->n = 1;
	for (int c = 0; c < NCOLUMNS; c++)
	{
		uint16_t	r = load(&b, c);

		b.keys[b.head.nkeys++] = r;
	}
	refuse_query(shape == NULL ? "scan" : "first rows", &b, shape);
}

/* Aggregates of all kinds by some columns. */
static void
refuse_groups(const char *name, int nkeys, const int *keys, bool distinct)
{
	static ProgramBuilder b;

	begin(&b, GPUCOL_PROGRAM_AGG);
	for (int k = 0; k < nkeys; k++)
	{
		uint16_t	r = load(&b, keys[k]);

		b.keys[b.head.nkeys++] = r;
	}
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, load(&b, C_NULLS), GPUCOL_NO_REG);
	if (!distinct)
	{
		refuse_query(name, &b, NULL);
		return;
	}
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_D, load(&b, C_DECIMAL), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_SUMSQ, GPUCOL_CLASS_F, load(&b, C_FLOAT), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_MIN, GPUCOL_CLASS_S, load(&b, C_TEXT), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_MAX, GPUCOL_CLASS_S, load(&b, C_WORD), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_S, load(&b, C_TEXT), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_I, load(&b, C_WIDE), GPUCOL_NO_REG);
	refuse_query(name, &b, NULL);
}

/* Sets of many values, and of strings, by a column; threads find twins in each other's. */
static void
refuse_sets(const char *name, int nkeys, int key)
{
	static ProgramBuilder b;

	begin(&b, GPUCOL_PROGRAM_AGG);
	if (nkeys > 0)
		b.keys[b.head.nkeys++] = load(&b, key);
	builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_S, load(&b, C_TEXT), GPUCOL_NO_REG);
	builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_I, load(&b, C_WIDE), GPUCOL_NO_REG);
	refuse_query(name, &b, NULL);
}

/* The table joined with itself by a column: words and texts, or texts by word. */
static void
refuse_join(const char *name, int key, GpucolJoinKind kind, bool grouped)
{
	static ProgramBuilder build;
	static ProgramBuilder b;
	int			text;

	begin(&build, GPUCOL_PROGRAM_BUILD);
	build.head.njoin_keys = 1;
	for (int i = 0; i < 3; i++)
	{
		uint16_t	r = load(&build, i == 0 ? key : i == 1 ? C_TEXT : C_DECIMAL);

		build.keys[build.head.nkeys++] = r;
	}
	begin(&b, grouped ? GPUCOL_PROGRAM_AGG : GPUCOL_PROGRAM_SCAN);
	builder_probe(&b, 0, kind);
	builder_probe_key(&b, load(&b, key));
	text = builder_payload(&b, 0, 1, GPUCOL_KIND_BYTES);	/* behind the key */
	b.keys[b.head.nkeys++] = load(&b, C_WORD);
	if (grouped)
		builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_S,
					builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, NCOLUMNS + text),
					GPUCOL_NO_REG);
	else
		b.keys[b.head.nkeys++] = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0,
											   NCOLUMNS + text);
	refuse_programs(name, &b, &build, NULL);
}

/* No thread is to be had: the caller does the work of all. */
static void
refuse_threads(void)
{
	static ProgramBuilder b;
	Query		query = {.threads = 4};
	uint64_t	alone;
	uint64_t	refused;

	begin(&b, GPUCOL_PROGRAM_AGG);
	b.keys[b.head.nkeys++] = load(&b, C_KEY);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_I, load(&b, C_WIDE), GPUCOL_NO_REG);
	query.program = builder_finish(&b);
	refuse.threads = true;
	CHECK(refuse_once(run_query, &query, 0, false, &refused) == GPUCOL_OK, "without threads");
	refuse.threads = false;
	query.threads = 1;
	CHECK(refuse_once(run_query, &query, 0, false, &alone) == GPUCOL_OK && alone == refused, "alone");
	free(query.program);
}

int
main(void)
{
	GpucolRowShape top = {.kind = GPUCOL_SHAPE_TOP,.nkeys = 1,.k = 20,
	.keys = {{.output = C_WIDE,.descending = 1}}};

	fill_table();
	refuse_threads();
	refuse_scan(NULL);
	refuse_scan(&top);
	refuse_groups("one group", 0, NULL, true);
	refuse_groups("small numbers", 1, (int[]) {C_KEY}, false);
	refuse_groups("words", 2, (int[]) {C_WORD, C_DICT}, true);
	refuse_groups("texts", 1, (int[]) {C_TEXT}, false);
	refuse_groups("large numbers", 2, (int[]) {C_WIDE, C_NULLS}, false);
	refuse_groups("decimals and floats", 2, (int[]) {C_DECIMAL, C_FLOAT}, false);
	refuse_sets("sets", 0, 0);
	refuse_sets("sets of numbers", 1, C_KEY);
	refuse_sets("sets of texts", 1, C_TEXT);
	refuse_join("inner join", C_WIDE, GPUCOL_JOIN_INNER, false);
	refuse_join("full join", C_NULLS, GPUCOL_JOIN_FULL, false);
	refuse_join("groups of a join", C_WIDE, GPUCOL_JOIN_LEFT, true);
	array_table_free(&table);
	return check_summary("refused_engine");
}
