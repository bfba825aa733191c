/*-------------------------------------------------------------------------
 *
 * recursive.c
 *	  The CPU engine for recursion plans against a naive evaluator, on random
 *	  graphs, for every strategy and several thread counts.
 *
 * The reference interprets the same plan as plain nested loops over arrays,
 * ignores deltas, and repeats every rule until nothing changes.
 *
 *-------------------------------------------------------------------------
 */
#include "check.h"

#include <limits.h>
#include <stdatomic.h>
#include <unistd.h>

#include "recursion/cpu/share.h"
#include "recursion/engine.h"

#include "plan_builder.h"

#define MAX_ARITY	12

/* ---- the reference ---- */

typedef struct Rows
{
	int			arity;
	bool		set;
	long		n;
	int64_t    *values;			/* row-major; NULL is INT64_MIN */
	long		allocated;
	long	   *slots;			/* sets: row + 1 by hash of the first nhashed rows; 0 = free */
	long		nslots;
	long		nhashed;
} Rows;

#define NULL_VALUE	INT64_MIN
#define FIRST_ROWS	1024		/* that new rows have room for */

static size_t
row_size(const Rows *rows)
{
	return sizeof(int64_t) * (size_t) rows->arity;
}

static void
free_rows(Rows *rows)
{
	free(rows->values);
	free(rows->slots);
	rows->values = NULL;
	rows->slots = NULL;
}

/* Room for one more row. */
static int64_t *
next_row(Rows *rows)
{
	if (rows->n == rows->allocated)
	{
		rows->allocated *= 2;
		rows->values = realloc(rows->values, row_size(rows) * (size_t) rows->allocated);
	}
	return rows->values + rows->n * rows->arity;
}

/* The slot of a row, or the free one that it would have. */
static long *
find_slot(const Rows *rows, const int64_t *row)
{
	uint64_t	h = 0;
	long		at;

	for (int c = 0; c < rows->arity; c++)
		h = (h ^ (h >> 29) ^ (uint64_t) row[c]) * UINT64_C(0x9E3779B97F4A7C15);
	for (at = (long) (h >> 20) & (rows->nslots - 1); rows->slots[at] != 0;
		 at = (at + 1) & (rows->nslots - 1))
		if (memcmp(rows->values + (rows->slots[at] - 1) * rows->arity, row,
				   row_size(rows)) == 0)
			break;
	return &rows->slots[at];
}

/* Have all rows in slots, at most half of which are taken. */
static void
hash_rows(Rows *rows)
{
	if (rows->nhashed > rows->n || rows->n * 2 >= rows->nslots)
	{
		free(rows->slots);
		while (rows->n * 2 >= rows->nslots)
			rows->nslots = rows->nslots ? rows->nslots * 2 : 64;
		rows->slots = calloc((size_t) rows->nslots, sizeof(long));
		rows->nhashed = 0;
	}
	for (; rows->nhashed < rows->n; rows->nhashed++)
		*find_slot(rows, rows->values + rows->nhashed * rows->arity) = rows->nhashed + 1;
}

static bool
put(Rows *rows, const int64_t *row)
{
	if (rows->set)
	{
		hash_rows(rows);
		if (*find_slot(rows, row) != 0)
			return false;
	}
	memcpy(next_row(rows), row, row_size(rows));
	rows->n++;
	return true;
}

static int64_t
operand_value(const Builder *b, const GpucolRecOperand *o,
			  const int64_t *registers)
{
	return o->kind == GPUCOL_REC_CONSTANT ? b->constants[o->index].value :
		registers[o->index];
}

static bool
compare(GpucolRecFunction f, int64_t x, int64_t y)
{
	if (x == NULL_VALUE || y == NULL_VALUE)
		return false;
	return f == GPUCOL_REC_NE ? x != y : f == GPUCOL_REC_LT ? x < y :
		f == GPUCOL_REC_LE ? x <= y : x == y;
}

/* What a step computes of two values. */
static int64_t
naive_compute(GpucolRecFunction f, int64_t x, int64_t y)
{
	switch (f)
	{
		case GPUCOL_REC_WHEN:
		case GPUCOL_REC_UNLESS:
			return (x != NULL_VALUE && x != 0) == (f == GPUCOL_REC_WHEN) ? y : NULL_VALUE;
		case GPUCOL_REC_EITHER:
			return x == NULL_VALUE ? y : x;
		default:
			if (x == NULL_VALUE || y == NULL_VALUE)
				return NULL_VALUE;
			return f == GPUCOL_REC_LT ? x < y : x + y;
	}
}

static bool naive_steps(const Builder *b, Rows *rows, uint32_t at,
						uint32_t end, int64_t *registers, int64_t *acc);

/* Does a row match the operands?  Binds registers. */
static bool
naive_match(const Builder *b, const GpucolRecStep *s, const int64_t *row,
			int64_t *registers)
{
	uint32_t	i;

	for (i = 0; i < s->noperands; i++)
	{
		const GpucolRecOperand *o = &b->operands[s->operands + i];

		if (o->kind == GPUCOL_REC_BIND)
			registers[o->index] = row[i];
		else if (o->kind != GPUCOL_REC_ANY &&
				 !compare(GPUCOL_REC_EQ, row[i],
						  operand_value(b, o, registers)))
			return false;
	}
	return true;
}

static bool
naive_steps(const Builder *b, Rows *rows, uint32_t at, uint32_t end,
			int64_t *registers, int64_t *acc)
{
	const GpucolRecStep *s = &b->steps[at];
	const GpucolRecOperand *o = &b->operands[s->operands];
	Rows	   *rel = &rows[s->relation];
	int64_t		row[MAX_ARITY];
	bool		found = false;
	bool		changed = false;
	long		i;
	long		n;

	switch ((GpucolRecStepKind) s->kind)
	{
		case GPUCOL_REC_ATOM:
			n = rel->n;
			for (i = 0; i < n; i++)
				if (naive_match(b, s, rel->values + i * rel->arity, registers))
					changed |= naive_steps(b, rows, at + 1, end, registers, acc);
			return changed;
		case GPUCOL_REC_ABSENT:
		case GPUCOL_REC_PRESENT:
			for (i = 0; i < rel->n && !found; i++)
				found = naive_match(b, s, rel->values + i * rel->arity,
									registers);
			if (found != (s->kind == GPUCOL_REC_PRESENT))
				return false;
			break;
		case GPUCOL_REC_TEST:
			if (!compare((GpucolRecFunction) s->function,
						 operand_value(b, &o[0], registers),
						 operand_value(b, &o[1], registers)))
				return false;
			break;
		case GPUCOL_REC_COMPUTE:
			registers[s->target] = naive_compute((GpucolRecFunction) s->function,
												 operand_value(b, &o[0], registers),
												 operand_value(b, &o[1], registers));
			break;
		case GPUCOL_REC_AGGREGATE:
			{
				int64_t		inner[3] = {s->function, 0, 0};

				naive_steps(b, rows, at + 1, end, registers, inner);
				if (s->function != GPUCOL_REC_COUNT &&
					s->function != GPUCOL_REC_SUM && inner[1] == 0)
					return false;
				registers[s->target] = inner[2];
				at += s->nsteps;
				break;
			}
		case GPUCOL_REC_COLLECT:
			{
				int64_t		v = s->noperands ?
					operand_value(b, &o[0], registers) : 1;

				if (acc[0] == GPUCOL_REC_MIN)
					acc[2] = acc[1] == 0 || v < acc[2] ? v : acc[2];
				else if (acc[0] == GPUCOL_REC_MAX)
					acc[2] = acc[1] == 0 || v > acc[2] ? v : acc[2];
				else
					acc[2] += v;
				acc[1]++;
				return false;
			}
		case GPUCOL_REC_EMIT:
			for (i = 0; i < s->noperands; i++)
				row[i] = operand_value(b, &o[i], registers);
			return put(rel, row);
	}
	return naive_steps(b, rows, at + 1, end, registers, acc);
}

static void
naive_run(const Builder *b, Rows *rows)
{
	uint32_t	stratum;
	uint32_t	r;
	bool		changed;

	for (stratum = 0; stratum < b->plan.nstrata; stratum++)
		do
		{
			changed = false;
			for (r = 0; r < b->plan.nrules; r++)
			{
				int64_t		registers[MAX_REGISTERS];

				if (b->rules[r].stratum == stratum)
					changed |= naive_steps(b, rows, b->rules[r].steps, 0,
										   registers, NULL);
			}
		} while (changed);
}

/* ---- comparing ---- */

static int compare_arity;

static int
compare_rows(const void *a, const void *b)
{
	const int64_t *x = a;
	const int64_t *y = b;
	int			i;

	for (i = 0; i < compare_arity; i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

static void
sort_rows(Rows *rows)
{
	compare_arity = rows->arity;
	qsort(rows->values, (size_t) rows->n, row_size(rows), compare_rows);
	rows->nhashed = rows->n + 1;	/* none is where it was */
}

static GpucolStatus
load_rows(GpucolRecRun *run, uint32_t rel, const Rows *rows)
{
	long		from;
	static int64_t values[MAX_ARITY][300];
	uint8_t		nulls[MAX_ARITY][300];
	const int64_t *columns[MAX_ARITY];
	const uint8_t *null_columns[MAX_ARITY];
	int			c;

	for (from = 0; from < rows->n; from += 300)
	{
		long		n = rows->n - from < 300 ? rows->n - from : 300;
		long		i;
		GpucolStatus status;

		for (c = 0; c < rows->arity; c++)
		{
			for (i = 0; i < n; i++)
			{
				values[c][i] = rows->values[(from + i) * rows->arity + c];
				nulls[c][i] = values[c][i] == NULL_VALUE;
			}
			columns[c] = values[c];
			null_columns[c] = nulls[c];
		}
		status = gpucol_recursive_cpu.load(run, rel, (uint32_t) n, columns,
										   null_columns);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

static GpucolRecRun *
start_run(const Builder *b, const Rows *inputs, const GpucolRecOptions *options)
{
	GpucolRecRun *run = NULL;
	uint32_t	i;

	CHECK(gpucol_recursive_cpu.start(&b->plan, options, &run) == GPUCOL_OK,
		  "start");
	for (i = 0; i < b->plan.nrelations; i++)
		if (inputs[i].n > 0)
			CHECK(load_rows(run, i, &inputs[i]) == GPUCOL_OK, "load");
	return run;
}

/* Read a relation of a run; returns the last status. */
static GpucolStatus
read_rows(GpucolRecRun *run, uint32_t rel, Rows *rows)
{
	GpucolRecBatch batch;
	GpucolStatus status;
	uint32_t	i;
	int			c;

	rows->n = 0;
	while ((status = gpucol_recursive_cpu.next(run, rel, &batch)) == GPUCOL_OK)
		for (i = 0; i < batch.nrows; i++, rows->n++)
		{
			int64_t    *row = next_row(rows);

			for (c = 0; c < rows->arity; c++)
				row[c] = batch.nulls[c] != NULL && batch.nulls[c][i] ? NULL_VALUE :
					batch.columns[c][i];
		}
	return status;
}

static Rows
new_rows(int arity, bool set)
{
	Rows		rows = {.arity = arity,.set = set,.allocated = FIRST_ROWS};

	rows.values = malloc(sizeof(int64_t) * (size_t) (arity ? arity : 1) * FIRST_ROWS);
	return rows;
}

/* Check count and column summaries of a relation against its rows. */
static void
check_summary_of(const Builder *b, const Rows *inputs,
				 const GpucolRecOptions *options, uint32_t rel,
				 const Rows *expected, const char *name)
{
	GpucolRecRun *run = start_run(b, inputs, options);
	GpucolRecSummary summary[MAX_ARITY];
	bool		want[MAX_ARITY];
	uint64_t	n = 0;
	int			c;

	memset(want, true, sizeof(want));
	CHECK(gpucol_recursive_cpu.summarise(run, rel, want, &n, summary) ==
		  GPUCOL_OK, "%s", name);
	CHECK(n == (uint64_t) expected->n, "%s: %ld rows, not %ld", name, (long) n,
		  expected->n);
	for (c = 0; c < expected->arity; c++)
	{
		__int128	sum = 0;
		uint64_t	count = 0;
		int64_t		min = INT64_MAX;
		int64_t		max = INT64_MIN;
		long		i;

		for (i = 0; i < expected->n; i++)
		{
			int64_t		v = expected->values[i * expected->arity + c];

			if (v == NULL_VALUE)
				continue;
			sum += v;
			count++;
			min = v < min ? v : min;
			max = v > max ? v : max;
		}
		CHECK(summary[c].count == count && summary[c].sum == sum,
			  "%s: sum of column %d", name, c);
		CHECK(count == 0 || (summary[c].min == min && summary[c].max == max),
			  "%s: extremes of column %d", name, c);
	}
	gpucol_recursive_cpu.finish(run);
}

/* Run a plan by the reference and by the engine in all its ways. */
static void
compare_plan(const Builder *b, const Rows *inputs, const char *name)
{
	static const int threads[] = {1, 3};
	Rows		expected[16];
	uint32_t	i;
	int			strategy;
	int			t;

	for (i = 0; i < b->plan.nrelations; i++)
	{
		expected[i] = new_rows(b->relations[i].arity,
							   !(b->relations[i].flags & GPUCOL_REC_BAG));
		for (long r = 0; r < inputs[i].n; r++)
			put(&expected[i], inputs[i].values + r * inputs[i].arity);
	}
	naive_run(b, expected);
	for (i = 0; i < b->plan.nrelations; i++)
		sort_rows(&expected[i]);
	for (strategy = GPUCOL_REC_AUTO; strategy <= GPUCOL_REC_SPARSE; strategy++)
		for (t = 0; t < 2; t++)
		{
			GpucolRecOptions options = {.threads = threads[t],.strategy =
			(GpucolRecStrategy) strategy,.share_from = 1};
			GpucolRecRun *run = start_run(b, inputs, &options);

			for (i = 0; i < b->plan.nrelations; i++)
			{
				Rows		got;

				if (!(b->relations[i].flags & GPUCOL_REC_OUTPUT))
					continue;
				got = new_rows(b->relations[i].arity, false);
				CHECK(read_rows(run, i, &got) == GPUCOL_END, "%s", name);
				sort_rows(&got);
				CHECK(got.n == expected[i].n,
					  "%s strategy %d: %ld rows, not %ld", name, strategy,
					  got.n, expected[i].n);
				CHECK(got.n == expected[i].n &&
					  memcmp(got.values, expected[i].values, sizeof(int64_t) *
							 (size_t) (got.n * got.arity)) == 0,
					  "%s strategy %d: rows differ", name, strategy);
				free_rows(&got);
				check_summary_of(b, inputs, &options, i, &expected[i], name);
			}
			gpucol_recursive_cpu.finish(run);
		}
	for (i = 0; i < b->plan.nrelations; i++)
		free_rows(&expected[i]);
}

/* The value of a node: small, far apart for the hashed dictionary, or next to its limits. */
static int64_t
node_value(int nodes, uint64_t node)
{
	static const int64_t extremes[] = {INT64_MAX, INT64_MIN + 1, 0, -1, INT64_MAX - 1,
	(1 << 22) - 1, 1 << 22, UINT32_MAX, INT64_C(1) << 32, INT64_MIN + 2};

	if (nodes % 3 == 0 && node < sizeof(extremes) / sizeof(extremes[0]))
		return extremes[node];
	return (int64_t) node * (nodes % 2 ? 1 : INT64_C(10000000007)) - 3;
}

/* Random edges, some of them NULL, duplicates allowed. */
static void
random_edges(Rows *rows, int nodes, int n, bool nulls)
{
	int			i;

	rows->n = 0;
	for (i = 0; i < n; i++)
	{
		int64_t		row[2];
		int			c;

		for (c = 0; c < 2; c++)
		{
			uint64_t	r = check_random();

			row[c] = node_value(nodes, r % (uint64_t) nodes);
			if (nulls && r >> 40 < 1 << 19)
				row[c] = NULL_VALUE;
		}
		put(rows, row);
	}
}

/* ---- programs ---- */

/* Transitive closure in one of its forms. */
static void
build_closure(Builder *b, int form, bool bag_edges)
{
	uint16_t	e,
				tc;

	builder_init(b);
	e = relation(b, 2, EDB | (bag_edges ? GPUCOL_REC_BAG : 0), 0);
	tc = relation(b, 2, IDB, 0);
	rule(b, 0, 0);
	step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
	step(b, GPUCOL_REC_EMIT, tc, 0, form == 4 ? "10" : "01");
	rule(b, 0, REC);
	switch (form)
	{
		case 0:
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "01");
			step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "12");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			break;
		case 1:
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "12");
			step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			break;
		case 2:
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "01");
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_PREVIOUS, "12");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			rule(b, 0, REC);
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "12");
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_FULL, "01");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			break;
		case 3:					/* against the edges */
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "01");
			step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "21");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			break;
		default:				/* seeds differ from the edges */
			step(b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "12");
			step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "10");
			step(b, GPUCOL_REC_EMIT, tc, 0, "02");
			break;
	}
}

static void
test_closure(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			form;
	int			size;

	inputs[0] = new_rows(2, false);
	for (form = 0; form < 5; form++)
		for (size = 0; size < 12; size++)
		{
			char		name[64];

			snprintf(name, sizeof(name), "closure form %d size %d", form, size);
			random_edges(&inputs[0], 1 + size * 6, size * (5 + size % 5),
						 size % 3 == 2);
			build_closure(&b, form, size % 2);
			compare_plan(&b, inputs, name);
		}
	free_rows(&inputs[0]);
}

/* More nodes than one batch of searches, in long paths and cycles. */
static void
test_closure_batches(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			n = 1300;
	int64_t		row[2];
	int			i;
	GpucolRecOptions options = {.threads = 2};
	GpucolRecRun *run;
	GpucolRecSummary summary[2];
	bool		want[2] = {true, true};
	uint64_t	nrows;
	Rows		got = new_rows(2, false);
	int64_t		sum = 0;

	inputs[0] = new_rows(2, false);
	for (i = 0; i < n - 1; i++)
	{
		row[0] = i;
		row[1] = i + 1;
		put(&inputs[0], row);
	}
	build_closure(&b, 0, false);
	run = start_run(&b, inputs, &options);
	CHECK(gpucol_recursive_cpu.summarise(run, 1, want, &nrows, summary) ==
		  GPUCOL_OK, "path");
	CHECK(nrows == (uint64_t) n * (uint64_t) (n - 1) / 2, "path of %d", n);
	for (i = 0; i < n; i++)
		sum += (int64_t) i * (n - 1 - i);
	CHECK(summary[0].sum == sum, "sources of a path");
	gpucol_recursive_cpu.finish(run);
	/* a cycle of 400 with the path hanging off it: all reach all after */
	inputs[0].n = 399;
	row[0] = 399;
	row[1] = 0;
	put(&inputs[0], row);
	run = start_run(&b, inputs, &options);
	CHECK(read_rows(run, 1, &got) == GPUCOL_END, "cycle");
	CHECK(got.n == 400 * 400, "cycle: %ld rows", got.n);
	gpucol_recursive_cpu.finish(run);
	free_rows(&inputs[0]);
	free_rows(&got);
}

/* More pairs than a device may hold: read, summarised, in two column orders. */
static void
test_spilling(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			n = 500;
	int			form;

	inputs[0] = new_rows(2, true);
	for (int i = 0; i < n - 1; i++)
		memcpy(inputs[0].values + 2 * i, ((int64_t[]) {i, i + 1}), 2 * sizeof(int64_t));
	inputs[0].n = n - 1;
	for (form = 0; form < 3; form++)
	{
		GpucolRecOptions options = {.threads = 1,.strategy = GPUCOL_REC_HISA,
		.device_limit = 800000};
		GpucolRecRun *run;
		GpucolRecSummary summary[2];
		bool		want[2] = {true, true};
		uint64_t	nrows;
		Rows		got = new_rows(2, false);
		long		sum = 0;

		build_closure(&b, form, false);
		run = start_run(&b, inputs, &options);
		CHECK(gpucol_recursive_cpu.summarise(run, 1, want, &nrows, summary) ==
			  GPUCOL_OK, "spilling");
		CHECK(nrows == (uint64_t) n * (uint64_t) (n - 1) / 2, "spilling");
		for (int i = 0; i < n; i++)
			sum += (long) i * (n - 1 - i);
		CHECK(summary[0].sum == sum && summary[1].max == n - 1, "spilling");
		gpucol_recursive_cpu.finish(run);
		run = start_run(&b, inputs, &options);
		CHECK(read_rows(run, 1, &got) == GPUCOL_END, "spilling");
		for (long i = 0; i < got.n; i++)
			sum -= got.values[2 * i];
		CHECK(got.n == n * (n - 1) / 2 && sum == 0, "spilling");
		gpucol_recursive_cpu.finish(run);
		free_rows(&got);
	}
	free_rows(&inputs[0]);
}

/* r(x,y) :- e(p,x), f(p,y), x op y.  r(x,y) :- e(a,x), r(a,b), f(b,y): the relation r. */
static uint16_t
build_pairs(Builder *b, bool one_graph, GpucolRecFunction function, bool backwards)
{
	uint16_t	e,
				f,
				sg;

	builder_init(b);
	e = relation(b, 2, EDB, 0);
	f = relation(b, 2, EDB, 0);
	sg = relation(b, 2, IDB, 0);
	if (one_graph)
		f = e;
	rule(b, 0, 0);
	step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
	step(b, GPUCOL_REC_ATOM, f, GPUCOL_REC_FULL, "02");
	step(b, GPUCOL_REC_TEST, 0, 0, "12")->function = (uint8_t) function;
	step(b, GPUCOL_REC_EMIT, sg, 0, "12");
	rule(b, 0, REC);
	step(b, GPUCOL_REC_ATOM, sg, GPUCOL_REC_DELTA, "12");
	step(b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, backwards ? "31" : "13");
	step(b, GPUCOL_REC_ATOM, f, GPUCOL_REC_FULL, "24");
	step(b, GPUCOL_REC_EMIT, sg, 0, "34");
	return sg;
}

/* Same generation, and its kin with two different edge relations and one-sided rows. */
static void
test_pairs(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			size;

	inputs[0] = new_rows(2, true);
	inputs[1] = new_rows(2, true);
	for (size = 1; size < 12; size++)
	{
		random_edges(&inputs[0], 1 + size * 7, size * 12, size % 3 == 2);
		random_edges(&inputs[1], 1 + size * 7, size * 12, size % 3 == 2);
		build_pairs(&b, size % 2 == 1, GPUCOL_REC_NE, size % 4 == 0);
		compare_plan(&b, inputs, "same generation");
		build_pairs(&b, size % 2 == 1, GPUCOL_REC_LT, size % 4 == 0);
		compare_plan(&b, inputs, "younger of a generation");
	}
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

/* Layers whose nodes lead to three of the next one, and so many edges elsewhere. */
static void
layered_edges(Rows *rows, int width, int layers, int elsewhere)
{
	int64_t		row[2];

	rows->n = 0;
	for (int i = 0; i < width * (layers - 1); i++)
		for (int k = 0; k < 3; k++)
		{
			row[0] = i;
			row[1] = (i / width + 1) * width +
				(k == 0 ? i % width : (int64_t) (check_random() % (uint64_t) width));
			put(rows, row);
		}
	for (int i = 0; i < elsewhere; i++)
	{
		row[0] = 1000000 + 2 * i;
		row[1] = row[0] + 1;
		put(rows, row);
	}
}

/* Does the CPU engine run it, and not a device in its place? */
static bool
is_cpu(const GpucolRecProgress *progress)
{
	return progress->engine != NULL && strcmp(progress->engine, "cpu") == 0;
}

/* Sets of more rows than threads share out, which stay or become bitmaps. */
static void
test_many_pairs(void)
{
	static const struct
	{
		GpucolRecStrategy strategy;
		const char *method;
	}			ways[] = {
		{GPUCOL_REC_HISA, "semi-naive"},
		{GPUCOL_REC_AUTO, "bit-parallel pairs"},
		{GPUCOL_REC_SPARSE, "pairs in row sets"}
	};
	Builder		b;
	Rows		inputs[16] = {{0}};

	inputs[0] = new_rows(2, false);
	inputs[1] = new_rows(2, false);
	layered_edges(&inputs[0], 300, 14, 5000);
	layered_edges(&inputs[1], 300, 14, 0);
	for (int form = 0; form < 4; form++)
	{
		uint64_t	expected = 0;
		__int128	sums[2];
		uint16_t	sg = build_pairs(&b, form % 2 == 0,
									 form / 2 ? GPUCOL_REC_LT : GPUCOL_REC_NE, false);

		for (int way = 0; way < 3; way++)
			for (int threads = 1; threads < (way == 0 ? 2 : 4); threads += 2)
			{
				GpucolRecOptions options = {.threads = threads,.strategy = ways[way].strategy};
				GpucolRecRun *run = start_run(&b, inputs, &options);
				GpucolRecSummary summary[2];
				GpucolRecProgress progress;
				bool		want[2] = {true, true};
				uint64_t	n;

				CHECK(gpucol_recursive_cpu.summarise(run, sg, want, &n, summary) == GPUCOL_OK,
					  "many pairs");
				gpucol_recursive_cpu.progress(run, &progress);
				CHECK(!is_cpu(&progress) || strcmp(progress.method, ways[way].method) == 0,
					  "many pairs: %s", progress.method);
				if (expected == 0)
				{
					expected = n;
					sums[0] = summary[0].sum;
					sums[1] = summary[1].sum;
				}
				CHECK(n == expected && summary[0].sum == sums[0] &&
					  summary[1].sum == sums[1], "many pairs, form %d way %d: %ld of %ld",
					  form, way, (long) n, (long) expected);
				gpucol_recursive_cpu.finish(run);
			}
	}
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

/* Graphs of so many nodes, each with DEGREE edges. */
enum
{
	NODES = 1100, DEGREE = 3
};

/*
 * All pairs of r(x,y) :- e(p,x), f(p,y), x != y.  r(x,y) :- e(a,x), r(a,b), f(b,y), one byte
 * each, where e[] and f[] are what each node leads to.
 */
static uint8_t *
reach_pairs(int (*e)[DEGREE], int (*f)[DEGREE])
{
	uint8_t    *known = calloc(NODES * NODES, 1);
	int		   *queue = malloc(sizeof(int) * NODES * NODES);
	long		found = 0;

	for (long at = -NODES; at < found; at++)
	{
		int			a = at < 0 ? (int) at + NODES : queue[at] / NODES;
		int			b = at < 0 ? a : queue[at] % NODES;

		for (int k = 0; k < DEGREE * DEGREE; k++)
		{
			int			x = e[a][k / DEGREE];
			int			y = f[b][k % DEGREE];

			if (known[x * NODES + y] || (at < 0 && x == y))
				continue;
			known[x * NODES + y] = 1;
			queue[found++] = x * NODES + y;
		}
	}
	free(queue);
	return known;
}

/* Rows and column sums of a run, or its rows, are those that are known. */
static void
check_reached(const Builder *b, const Rows *inputs, uint16_t sg, const uint8_t *known,
			  const GpucolRecOptions *options, bool read)
{
	GpucolRecRun *run = start_run(b, inputs, options);
	Rows		got = new_rows(2, false);
	GpucolRecSummary summary[2];
	bool		want[2] = {true, true};
	__int128	sums[2] = {0, 0};
	uint64_t	expected = 0;
	uint64_t	wrong = 0;
	uint64_t	n = 0;

	for (int i = 0; i < NODES * NODES; i++)
		if (known[i])
		{
			expected++;
			sums[0] += i / NODES;
			sums[1] += i % NODES;
		}
	if (read)
	{
		CHECK(read_rows(run, sg, &got) == GPUCOL_END, "dense pairs");
		n = (uint64_t) got.n;
		for (long i = 0; i < got.n; i++)
		{
			const int64_t *row = got.values + 2 * i;

			wrong += !known[row[0] * NODES + row[1]];
			sums[0] -= row[0];
			sums[1] -= row[1];
		}
	}
	else
	{
		CHECK(gpucol_recursive_cpu.summarise(run, sg, want, &n, summary) == GPUCOL_OK,
			  "dense pairs");
		sums[0] -= summary[0].sum;
		sums[1] -= summary[1].sum;
	}
	CHECK(n == expected && wrong == 0 && sums[0] == 0 && sums[1] == 0,
		  "dense pairs, strategy %d, %d threads: %ld of %ld", (int) options->strategy,
		  options->threads, (long) n, (long) expected);
	gpucol_recursive_cpu.finish(run);
	free_rows(&got);
}

/* Most pairs of a graph, so that rows are gathered many together. */
static void
test_dense_pairs(void)
{
	static int e[NODES][DEGREE];
	static int f[NODES][DEGREE];
	Builder		b;
	Rows		inputs[16] = {{0}};

	for (int form = 0; form < 2; form++)
	{
		uint8_t    *known;
		uint16_t	sg = build_pairs(&b, form == 0, GPUCOL_REC_NE, false);

		inputs[0] = new_rows(2, false);
		inputs[1] = new_rows(2, false);
		for (int i = 0; i < NODES * DEGREE; i++)
		{
			/* the last nodes lead to themselves or to few, so that some rows stay short */
			int			from = i / DEGREE;
			int			to = (int) (check_random() % (from < NODES - 40 ? NODES : 7));

			e[from][i % DEGREE] = to;
			put(&inputs[0], (int64_t[]) {from, to});
			to = form == 0 ? to : (int) (check_random() % NODES);
			f[from][i % DEGREE] = to;
			put(&inputs[1], (int64_t[]) {from, to});
		}
		known = reach_pairs(e, f);
		for (int strategy = GPUCOL_REC_AUTO; strategy <= GPUCOL_REC_SPARSE; strategy++)
			for (int threads = 1; threads < 4; threads += 2)
			{
				GpucolRecOptions options = {.threads = threads,.strategy =
				(GpucolRecStrategy) strategy};

				if (strategy != GPUCOL_REC_HISA)
					check_reached(&b, inputs, sg, known, &options,
								  form == 1 && strategy == GPUCOL_REC_BITMAP);
			}
		free(known);
		free_rows(&inputs[0]);
		free_rows(&inputs[1]);
	}
}

static bool
cancel_after(void *context)
{
	return --*(int *) context < 0;
}

/* Out of memory or cancelled anywhere: a status, and nothing leaks. */
static void
test_pairs_limits(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	bool		ended = false;

	inputs[0] = new_rows(2, false);
	layered_edges(&inputs[0], 120, 4, 0);
	for (int budget = 0; budget < 240; budget++)
	{
		int			left = budget;
		GpucolRecOptions options = {.threads = 1 + budget / 2 % 2,
		.strategy = budget / 4 % 2 ? GPUCOL_REC_SPARSE : GPUCOL_REC_BITMAP,
		.memory_limit = (size_t) budget * 16384};
		GpucolRecRun *run = NULL;
		GpucolStatus status;
		uint16_t	sg = build_pairs(&b, true, budget % 4 ? GPUCOL_REC_NE : GPUCOL_REC_LT, false);
		uint64_t	n;

		if (budget % 2)
		{
			options.memory_limit = 0;
			options.cancelled = cancel_after;
			options.context = &left;
		}
		status = gpucol_recursive_cpu.start(&b.plan, &options, &run);
		if (status == GPUCOL_OK)
			status = load_rows(run, 0, &inputs[0]);
		if (status == GPUCOL_OK)
		{
			GpucolRecSummary summary[2];

			status = gpucol_recursive_cpu.summarise(run, sg, NULL, &n, summary);
		}
		CHECK(status == GPUCOL_OK ||
			  status == (budget % 2 ? GPUCOL_CANCELLED : GPUCOL_OUT_OF_MEMORY),
			  "pairs with budget %d: status %d", budget, status);
		ended |= status == GPUCOL_OK;
		gpucol_recursive_cpu.finish(run);
	}
	CHECK(ended, "some budget is enough");
	free_rows(&inputs[0]);
}

/* The alias analysis of figure 12 of the HISA paper. */
static void
build_cspa(Builder *b)
{
	static const char *const rules[][4] = {
		/* body atoms as relation letter and registers; head */
		{"f01", "f12", NULL, "f02"},
		{"f01", "f02", NULL, "v12"},
		{"a01", "m12", NULL, "f02"},
		{"d10", "v12", "d23", "m03"},
		{"f01", "m02", "f23", "v13"},
	};
	uint16_t	rel[128];
	int			r,
				i,
				d;

	builder_init(b);
	rel['a'] = relation(b, 2, EDB, 0);
	rel['d'] = relation(b, 2, EDB, 0);
	rel['f'] = relation(b, 2, IDB, 0);
	rel['v'] = relation(b, 2, IDB, 0);
	rel['m'] = relation(b, 2, IDB, 0);
	for (i = 0; i < 5; i++)
	{
		static const char *const heads[] = {"f01", "f00", "f11", "m00", "m11"};

		rule(b, 0, 0);
		step(b, GPUCOL_REC_ATOM, rel['a'], GPUCOL_REC_FULL, "01");
		step(b, GPUCOL_REC_EMIT, rel[(int) heads[i][0]], 0, heads[i] + 1);
	}
	for (r = 0; r < 5; r++)
		for (d = 0; d < 3 && rules[r][d]; d++)
		{
			if (rules[r][d][0] == 'a' || rules[r][d][0] == 'd')
				continue;
			rule(b, 0, REC);
			step(b, GPUCOL_REC_ATOM, rel[(int) rules[r][d][0]],
				 GPUCOL_REC_DELTA, rules[r][d] + 1);
			for (i = 0; i < 3 && rules[r][i]; i++)
				if (i != d)
					step(b, GPUCOL_REC_ATOM, rel[(int) rules[r][i][0]],
						 rules[r][i][0] == 'a' || rules[r][i][0] == 'd' ||
						 i < d ? GPUCOL_REC_FULL : GPUCOL_REC_PREVIOUS,
						 rules[r][i] + 1);
			step(b, GPUCOL_REC_EMIT, rel[(int) rules[r][3][0]], 0,
				 rules[r][3] + 1);
		}
}

static void
test_mutual(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			size;

	inputs[0] = new_rows(2, true);
	inputs[1] = new_rows(2, true);
	build_cspa(&b);
	for (size = 2; size < 8; size++)
	{
		random_edges(&inputs[0], 1 + size * 3, size * 3, false);
		random_edges(&inputs[1], 1 + size * 3, size * 3, false);
		compare_plan(&b, inputs, "mutual");
	}
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

/* Negation, aggregates, ternary relations, constants, repeated variables. */
static void
test_strata(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			size;

	inputs[0] = new_rows(2, true);
	for (size = 1; size < 10; size++)
	{
		uint16_t	e,
					tc,
					not_tc,
					degree,
					triple,
					loop;
		GpucolRecStep *s;
		int			fn;

		random_edges(&inputs[0], 2 + size * 3, size * 6, false);
		builder_init(&b);
		b.plan.nstrata = 2;
		e = relation(&b, 2, EDB, 0);
		tc = relation(&b, 2, IDB | GPUCOL_REC_READ, 0);
		not_tc = relation(&b, 2, IDB, 1);
		degree = relation(&b, 3, IDB, 1);
		triple = relation(&b, 3, IDB, 1);
		loop = relation(&b, 1, IDB, 1);
		constant(&b, inputs[0].values[0]);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_EMIT, tc, 0, "01");
		rule(&b, 0, REC);
		step(&b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "01");
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "12");
		step(&b, GPUCOL_REC_EMIT, tc, 0, "02");
		rule(&b, 1, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "0_");
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "_1");
		step(&b, GPUCOL_REC_ABSENT, tc, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_EMIT, not_tc, 0, "01");
		for (fn = GPUCOL_REC_COUNT; fn <= GPUCOL_REC_MAX; fn++)
		{
			constant(&b, fn);
			rule(&b, 1, 0);
			step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "_0");
			s = step(&b, GPUCOL_REC_AGGREGATE, 0, 0, "");
			s->function = (uint8_t) fn;
			s->target = 5;
			s->origin = 6;
			s->nsteps = 3;
			step(&b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_FULL, "01");
			s = step(&b, GPUCOL_REC_TEST, 0, 0, "01");
			s->function = GPUCOL_REC_LT;
			s = step(&b, GPUCOL_REC_COLLECT, 0, 0,
					 fn == GPUCOL_REC_COUNT ? "" : "1");
			s->origin = 6;
			step(&b, GPUCOL_REC_EMIT, degree, 0,
				 (char[]) {(char) ('B' + fn - GPUCOL_REC_COUNT), '0', '5', 0});
		}
		rule(&b, 1, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "12");
		step(&b, GPUCOL_REC_PRESENT, tc, GPUCOL_REC_FULL, "A1");
		s = step(&b, GPUCOL_REC_COMPUTE, 0, 0, "02");
		s->function = GPUCOL_REC_ADD;
		s->target = 7;
		step(&b, GPUCOL_REC_EMIT, triple, 0, "071");
		rule(&b, 1, 0);
		step(&b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_FULL, "00");
		step(&b, GPUCOL_REC_EMIT, loop, 0, "0");
		compare_plan(&b, inputs, "strata");
	}
	free_rows(&inputs[0]);
}

static void
compute_step(Builder *b, GpucolRecFunction function, const char *operands, uint16_t target)
{
	GpucolRecStep *s = step(b, GPUCOL_REC_COMPUTE, 0, 0, operands);

	s->function = (uint8_t) function;
	s->target = target;
}

/* r(y, CASE WHEN y < A THEN x ELSE B END) of each r(x, y), and branches with NULLs beside it. */
static void
test_branches(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};

	inputs[0] = new_rows(2, true);
	for (int size = 1; size < 12; size++)
	{
		random_edges(&inputs[0], 2 + size * 3, size * 6, false);
		if (size % 3 == 0)
			put(&inputs[0], (int64_t[]) {inputs[0].values[0], NULL_VALUE});
		builder_init(&b);
		relation(&b, 2, EDB, 0);
		relation(&b, 2, IDB | GPUCOL_REC_READ, 0);
		relation(&b, 3, IDB, 0);
		constant(&b, inputs[0].values[0]);
		constant(&b, 3);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, 0, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_EMIT, 1, 0, "01");
		for (uint16_t to = 1; to < 3; to++)
		{
			rule(&b, 0, REC);
			step(&b, GPUCOL_REC_ATOM, 1, GPUCOL_REC_DELTA, "01");
			compute_step(&b, GPUCOL_REC_LT, "1A", 2);
			compute_step(&b, GPUCOL_REC_WHEN, "20", 3);
			compute_step(&b, GPUCOL_REC_UNLESS, "2B", 4);
			compute_step(&b, GPUCOL_REC_EITHER, "34", 5);
			compute_step(&b, GPUCOL_REC_ADD, "3B", 6);
			step(&b, GPUCOL_REC_EMIT, to, 0, to == 1 ? "15" : "346");
		}
		compare_plan(&b, inputs, "branches");
	}
	free_rows(&inputs[0]);
}

/* Shortest distances by a merging relation, against relaxation. */
static void
test_shortest(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			round;

	inputs[0] = new_rows(3, false);
	for (round = 0; round < 8; round++)
	{
		enum
		{
			N = 40
		};
		int64_t		distance[N];
		uint16_t	e,
					d;
		GpucolRecStep *s;
		GpucolRecOptions options = {.threads = 1};
		GpucolRecRun *run;
		Rows		got = new_rows(2, false);
		long		reached = 0;
		long		i;
		bool		changed = true;

		inputs[0].n = 0;
		for (i = 0; i < 20 * round + 5; i++)
		{
			int64_t		row[3] = {(int64_t) (check_random() % N),
				(int64_t) (check_random() % N),
			(int64_t) (check_random() % 1000)};

			put(&inputs[0], row);
		}
		for (i = 0; i < N; i++)
			distance[i] = i == inputs[0].values[0] ? 0 : INT64_MAX;
		while (changed)
		{
			changed = false;
			for (i = 0; i < inputs[0].n; i++)
			{
				const int64_t *row = inputs[0].values + 3 * i;

				if (distance[row[0]] != INT64_MAX &&
					distance[row[0]] + row[2] < distance[row[1]])
				{
					distance[row[1]] = distance[row[0]] + row[2];
					changed = true;
				}
			}
		}
		builder_init(&b);
		e = relation(&b, 3, EDB, 0);
		d = relation(&b, 2, IDB, 0);
		b.relations[d].merge = GPUCOL_REC_MERGE_MIN;
		b.relations[d].merge_column = 1;
		constant(&b, inputs[0].values[0]);
		constant(&b, 0);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_EMIT, d, 0, "AB");
		rule(&b, 0, REC);
		step(&b, GPUCOL_REC_ATOM, d, GPUCOL_REC_DELTA, "01");
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "023");
		s = step(&b, GPUCOL_REC_COMPUTE, 0, 0, "13");
		s->function = GPUCOL_REC_ADD;
		s->target = 4;
		step(&b, GPUCOL_REC_EMIT, d, 0, "24");
		run = start_run(&b, inputs, &options);
		CHECK(read_rows(run, d, &got) == GPUCOL_END, "shortest");
		for (i = 0; i < N; i++)
			reached += distance[i] != INT64_MAX;
		CHECK(got.n == reached, "%ld reached, not %ld", got.n, reached);
		for (i = 0; i < got.n; i++)
			CHECK(distance[got.values[2 * i]] == got.values[2 * i + 1],
				  "distance of %ld", (long) got.values[2 * i]);
		gpucol_recursive_cpu.finish(run);
		free_rows(&got);
	}
	free_rows(&inputs[0]);
}

/* Windows of walks: sets of up to 12 columns, some of computed values. */
static void
test_wide(void)
{
	static const char names[] = "0123456789ab";
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			arity;

	inputs[0] = new_rows(2, true);
	for (arity = 1; arity <= MAX_ARITY; arity++)
	{
		uint16_t	e,
					w,
					last;
		GpucolRecStep *s;
		char		head[MAX_ARITY + 1] = {0};
		int			i;

		random_edges(&inputs[0], 13, arity < 6 ? 16 : 11, arity % 3 == 0);
		builder_init(&b);
		b.plan.nstrata = 2;
		e = relation(&b, 2, EDB, 0);
		w = relation(&b, arity, IDB | GPUCOL_REC_READ, 0);
		last = relation(&b, 2, IDB, 1);
		constant(&b, 1000);
		/* w(x + 1000, ..., x + 1000, y) :- e(x, y). */
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
		s = step(&b, GPUCOL_REC_TEST, 0, 0, "01");
		s->function = GPUCOL_REC_NE;
		s = step(&b, GPUCOL_REC_COMPUTE, 0, 0, "0A");
		s->function = GPUCOL_REC_ADD;
		s->target = 2;
		for (i = 0; i < arity; i++)
			head[i] = i + 1 < arity ? '2' : '1';
		step(&b, GPUCOL_REC_EMIT, w, 0, head);
		/* w(x2, ..., xn, z) :- w(x1, ..., xn), e(xn, z), no w with z first. */
		rule(&b, 0, REC);
		for (i = 0; i < arity; i++)
			head[i] = names[i];
		step(&b, GPUCOL_REC_ATOM, w, GPUCOL_REC_DELTA, head);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL,
			 (char[]) {names[arity - 1], 'z', 0});
		for (i = 0; i < arity; i++)
			head[i] = i + 1 < arity ? names[i + 1] : 'z';
		step(&b, GPUCOL_REC_EMIT, w, 0, head);
		/* last(first, last) :- w(first, ..., last), where not w(_, z, z, ...). */
		rule(&b, 1, 0);
		for (i = 0; i < arity; i++)
			head[i] = i == 0 ? '0' : i + 1 == arity ? '1' : '_';
		step(&b, GPUCOL_REC_ATOM, w, GPUCOL_REC_FULL, head);
		for (i = 0; i < arity; i++)
			head[i] = i == 0 ? '0' : i < 3 ? 'z' : '_';
		step(&b, GPUCOL_REC_ABSENT, w, GPUCOL_REC_FULL, head);
		step(&b, GPUCOL_REC_EMIT, last, 0, arity > 1 ? "01" : "00");
		compare_plan(&b, inputs, "wide");
	}
	free_rows(&inputs[0]);
}

/* A relation without columns, derived and asked for. */
static void
test_unit(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			loops;

	inputs[0] = new_rows(2, true);
	for (loops = 0; loops < 2; loops++)
	{
		uint16_t	e,
					cyclic,
					nodes;

		random_edges(&inputs[0], 9, 12, false);
		for (long i = 0; i < inputs[0].n; i++)
			if (inputs[0].values[2 * i] == inputs[0].values[2 * i + 1])
				inputs[0].values[2 * i] = loops ? 7 : 77 + i;
		if (loops)
			put(&inputs[0], (int64_t[]) {5, 5});
		builder_init(&b);
		b.plan.nstrata = 2;
		e = relation(&b, 2, EDB, 0);
		cyclic = relation(&b, 0, IDB | GPUCOL_REC_READ, 0);
		nodes = relation(&b, 1, IDB, 1);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "00");
		step(&b, GPUCOL_REC_EMIT, cyclic, 0, "");
		rule(&b, 1, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "0_");
		step(&b, loops ? GPUCOL_REC_PRESENT : GPUCOL_REC_ABSENT, cyclic,
			 GPUCOL_REC_FULL, "");
		step(&b, GPUCOL_REC_EMIT, nodes, 0, "0");
		compare_plan(&b, inputs, "without columns");
	}
	free_rows(&inputs[0]);
}

/*
 * Walks of up to four edges with duplicates, against walks counted by dynamic
 * programming: a bag, read and summarised.
 */
static void
test_bag(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			round;

	inputs[0] = new_rows(2, false);
	for (round = 0; round < 6; round++)
	{
		enum
		{
			N = 12, LENGTH = 4
		};
		long		walks[LENGTH + 1][N];
		int64_t		sum = 0;
		long		total = 0;
		uint16_t	e,
					r;
		GpucolRecStep *s;
		GpucolRecOptions options = {.threads = 1 + round % 2,.share_from = 1};
		GpucolRecRun *run;
		GpucolRecSummary summary[2];
		bool		want[2] = {true, true};
		uint64_t	n;
		Rows		got = new_rows(2, false);

		inputs[0].n = 0;
		for (int i = 0; i < 6 * round; i++)
			put(&inputs[0], (int64_t[]) {(int64_t) (check_random() % N),
				(int64_t) (check_random() % N)});
		memset(walks, 0, sizeof(walks));
		for (long i = 0; i < inputs[0].n; i++)
			walks[1][inputs[0].values[2 * i + 1]]++;
		for (int l = 2; l <= LENGTH; l++)
			for (long i = 0; i < inputs[0].n; i++)
				walks[l][inputs[0].values[2 * i + 1]] +=
					walks[l - 1][inputs[0].values[2 * i]];
		for (int l = 1; l <= LENGTH; l++)
			for (int i = 0; i < N; i++)
			{
				total += walks[l][i];
				sum += walks[l][i] * i;
			}
		builder_init(&b);
		e = relation(&b, 2, EDB | GPUCOL_REC_BAG, 0);
		r = relation(&b, 2, IDB | GPUCOL_REC_BAG, 0);
		constant(&b, 1);
		constant(&b, LENGTH);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "_0");
		step(&b, GPUCOL_REC_EMIT, r, 0, "0A");
		rule(&b, 0, REC);
		step(&b, GPUCOL_REC_ATOM, r, GPUCOL_REC_DELTA, "01");
		s = step(&b, GPUCOL_REC_TEST, 0, 0, "1B");
		s->function = GPUCOL_REC_LT;
		step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "02");
		s = step(&b, GPUCOL_REC_COMPUTE, 0, 0, "1A");
		s->function = GPUCOL_REC_ADD;
		s->target = 3;
		step(&b, GPUCOL_REC_EMIT, r, 0, "23");
		run = start_run(&b, inputs, &options);
		CHECK(read_rows(run, r, &got) == GPUCOL_END, "bag");
		CHECK(got.n == total, "%ld walks, not %ld", got.n, total);
		for (long i = 0; i < got.n; i++)
			walks[got.values[2 * i + 1]][got.values[2 * i]]--;
		for (int l = 1; l <= LENGTH; l++)
			for (int i = 0; i < N; i++)
				CHECK(walks[l][i] == 0, "walks of %d edges to %d", l, i);
		gpucol_recursive_cpu.finish(run);
		run = start_run(&b, inputs, &options);
		CHECK(gpucol_recursive_cpu.summarise(run, r, want, &n, summary) ==
			  GPUCOL_OK && n == (uint64_t) total && summary[0].sum == sum, "bag");
		gpucol_recursive_cpu.finish(run);
		free_rows(&got);
	}
	free_rows(&inputs[0]);
}

/*
 * Least labels of weakly connected components and, by a type, greatest ones, read by
 * a later stratum that counts them; against label propagation.
 */
static void
test_components(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	int			round;

	inputs[0] = new_rows(2, true);
	for (round = 0; round < 12; round++)
	{
		enum
		{
			N = 60
		};
		static const uint8_t types[] = {GPUCOL_REC_INT8, GPUCOL_REC_UINT8,
		GPUCOL_REC_FLOAT8};
		uint8_t		type = types[round % 3];
		bool		greatest = round % 2 != 0;
		int64_t		label[N];
		long		nodes = 0;
		bool		changed = true;
		uint16_t	e,
					c,
					sizes;
		GpucolRecStep *s;
		GpucolRecOptions options = {.threads = 1 + round % 2,.share_from = 1};
		GpucolRecRun *run;
		Rows		got = new_rows(2, false);

		inputs[0].n = 0;
		for (int i = 0; i < 10 + 4 * round; i++)
			put(&inputs[0], (int64_t[]) {(int64_t) (check_random() % N),
				(int64_t) (check_random() % N)});
		for (int i = 0; i < N; i++)
			label[i] = -1;
		for (long i = 0; i < 2 * inputs[0].n; i++)
			label[inputs[0].values[i]] = inputs[0].values[i];
		while (changed)
		{
			changed = false;
			for (long i = 0; i < inputs[0].n; i++)
			{
				int64_t    *x = &label[inputs[0].values[2 * i]];
				int64_t    *y = &label[inputs[0].values[2 * i + 1]];
				int64_t		best = (*x < *y) == greatest ? *y : *x;

				changed |= *x != best || *y != best;
				*x = *y = best;
			}
		}
		builder_init(&b);
		b.plan.nstrata = 2;
		e = relation(&b, 2, EDB, 0);
		/* the merged column first: it has no place of its own */
		c = relation(&b, 2, IDB | GPUCOL_REC_READ, 0);
		b.types[b.relations[c].types] = type;
		b.relations[c].merge = greatest ? GPUCOL_REC_MERGE_MAX : GPUCOL_REC_MERGE_MIN;
		b.relations[c].merge_column = 0;
		sizes = relation(&b, 2, IDB, 1);
		for (int i = 0; i < 2; i++)
		{
			rule(&b, 0, 0);
			step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
			step(&b, GPUCOL_REC_EMIT, c, 0, i ? "00" : "11");
			rule(&b, 0, REC);
			step(&b, GPUCOL_REC_ATOM, c, GPUCOL_REC_DELTA, "01");
			step(&b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, i ? "12" : "21");
			step(&b, GPUCOL_REC_EMIT, c, 0, "02");
		}
		rule(&b, 1, 0);
		step(&b, GPUCOL_REC_ATOM, c, GPUCOL_REC_FULL, "0_");
		s = step(&b, GPUCOL_REC_AGGREGATE, 0, 0, "");
		s->function = GPUCOL_REC_COUNT;
		s->target = 5;
		s->origin = 6;
		s->nsteps = 2;
		step(&b, GPUCOL_REC_ATOM, c, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_COLLECT, 0, 0, "")->origin = 6;
		step(&b, GPUCOL_REC_EMIT, sizes, 0, "05");
		run = start_run(&b, inputs, &options);
		CHECK(read_rows(run, c, &got) == GPUCOL_END, "components");
		for (int i = 0; i < N; i++)
			nodes += label[i] >= 0;
		CHECK(got.n == nodes, "%ld nodes, not %ld", got.n, nodes);
		for (long i = 0; i < got.n; i++)
			CHECK(label[got.values[2 * i + 1]] == got.values[2 * i],
				  "component of %ld", (long) got.values[2 * i + 1]);
		CHECK(read_rows(run, sizes, &got) == GPUCOL_END, "components");
		for (long i = 0; i < got.n; i++)
		{
			long		size = 0;

			for (int v = 0; v < N; v++)
				size += label[v] == got.values[2 * i];
			CHECK(got.values[2 * i + 1] == size, "%ld nodes in component %ld",
				  (long) got.values[2 * i + 1], (long) got.values[2 * i]);
		}
		gpucol_recursive_cpu.finish(run);
		free_rows(&got);
	}
	free_rows(&inputs[0]);
}

/*
 * Is this how labels along such arcs are found?  The CPU engine searches, a device joins
 * arcs that lead both ways by their components, and there are rounds where no more may be.
 */
static bool
labels_method(const GpucolRecProgress *progress, bool usual, bool both_ways)
{
	if (is_cpu(progress))
		return (strcmp(progress->method, "best-first search") == 0) == usual;
	return (strcmp(progress->method, "union-find") == 0) == (usual && both_ways);
}

/*
 * Least and greatest labels that travel along arcs of three columns, from nodes that
 * begin with some, and to NULL, from which nothing leads on: along arcs, both ways by two
 * rules, or both ways by arcs; as a search, by components and in rounds, and in no more
 * rounds than are allowed.
 */
static void
test_labels(void)
{
	enum
	{
		N = 50
	};
	Rows		inputs[16] = {{0}};
	int			round;

	inputs[0] = new_rows(3, false);
	inputs[1] = new_rows(2, false);
	for (round = 0; round < 24; round++)
	{
		bool		greatest = round % 2 != 0;
		bool		nulls = round / 6 % 2 != 0;
		bool		two_rules = round % 3 == 0;
		bool		two_arcs = round % 3 == 1;
		int64_t		label[N + 1];	/* [N]: of NULL */
		bool		known[N + 1] = {false};
		bool		changed = true;
		long		nodes = 0;
		Builder		b;
		uint16_t	arc,
					start,
					c;

		inputs[0].n = inputs[1].n = 0;
		for (int i = 0; i < 10 + 5 * round; i++)
		{
			int64_t		row[3] = {(int64_t) (check_random() % N), i,
			(int64_t) (check_random() % N)};

			if (nulls && (i == 0 || check_random() % 16 == 0))
				row[check_random() % 2 * 2] = NULL_VALUE;
			put(&inputs[0], row);
			if (two_arcs)
				put(&inputs[0], (int64_t[]) {row[2], -i, row[0]});
		}
		for (int i = 0; i < 4 + round / 2; i++)
			put(&inputs[1], (int64_t[]) {(int64_t) (check_random() % N),
				(int64_t) (check_random() % 2000) - 1000});
		for (long i = 0; i < inputs[1].n; i++)
		{
			int64_t		node = inputs[1].values[2 * i];
			int64_t		l = inputs[1].values[2 * i + 1];

			if (!known[node] || (l < label[node]) != greatest)
				label[node] = l;
			known[node] = true;
		}
		while (changed)
		{
			changed = false;
			for (long i = 0; i < inputs[0].n; i++)
				for (int back = 0; back < 1 + two_rules; back++)
				{
					int64_t		x = inputs[0].values[3 * i + 2 * back];
					int64_t		y = inputs[0].values[3 * i + 2 - 2 * back];

					if (x == NULL_VALUE || !known[x])
						continue;
					y = y == NULL_VALUE ? N : y;
					if (known[y] && (label[y] == label[x] || (label[y] < label[x]) != greatest))
						continue;
					known[y] = changed = true;
					label[y] = label[x];
				}
		}
		for (int i = 0; i <= N; i++)
			nodes += known[i];
		builder_init(&b);
		arc = relation(&b, 3, EDB, 0);
		start = relation(&b, 2, EDB, 0);
		c = relation(&b, 2, IDB, 0);
		b.relations[c].merge = greatest ? GPUCOL_REC_MERGE_MAX : GPUCOL_REC_MERGE_MIN;
		b.relations[c].merge_column = 1;
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, start, GPUCOL_REC_FULL, "01");
		step(&b, GPUCOL_REC_EMIT, c, 0, "01");
		for (int back = 0; back < 1 + two_rules; back++)
		{
			rule(&b, 0, REC);
			step(&b, GPUCOL_REC_ATOM, c, GPUCOL_REC_DELTA, "01");
			step(&b, GPUCOL_REC_ATOM, arc, GPUCOL_REC_FULL, back ? "2_0" : "0_2");
			step(&b, GPUCOL_REC_EMIT, c, 0, "21");
		}
		for (int strategy = GPUCOL_REC_AUTO; strategy <= GPUCOL_REC_HISA; strategy++)
			for (int rounds = 0; rounds < 4; rounds++)
			{
				GpucolRecOptions options = {.threads = 1,.strategy =
					(GpucolRecStrategy) strategy,
				.max_rounds = rounds == 0 ? 0 : rounds == 1 ? 10000 : rounds};
				GpucolRecRun *run = start_run(&b, inputs, &options);
				GpucolRecProgress progress;
				Rows		got = new_rows(2, false);
				GpucolStatus status = read_rows(run, c, &got);

				CHECK(status == GPUCOL_END || (rounds >= 2 && status == GPUCOL_ROUNDS_EXCEEDED),
					  "labels: status %d", (int) status);
				gpucol_recursive_cpu.progress(run, &progress);
				CHECK(labels_method(&progress, strategy == GPUCOL_REC_AUTO && rounds < 2,
									!nulls && (two_rules || two_arcs)),
					  "labels: %s", progress.method);
				if (status == GPUCOL_END)
					CHECK(got.n == nodes, "%ld nodes with labels, not %ld", got.n, nodes);
				for (long i = 0; i < got.n && status == GPUCOL_END; i++)
				{
					int64_t		node = got.values[2 * i] == NULL_VALUE ? N : got.values[2 * i];

					CHECK(known[node] && label[node] == got.values[2 * i + 1],
						  "label of %ld", (long) node);
				}
				gpucol_recursive_cpu.finish(run);
				free_rows(&got);
			}
	}
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

/* Errors of arithmetic end a run with their status. */
static void
test_failures(void)
{
	static const struct
	{
		GpucolRecFunction function;
		uint8_t		type;
		int64_t		constant;
		GpucolStatus status;
	}			cases[] = {
		{GPUCOL_REC_DIV, GPUCOL_REC_INT8, 0, GPUCOL_DIVISION_BY_ZERO},
		{GPUCOL_REC_MOD, GPUCOL_REC_UINT8, 0, GPUCOL_DIVISION_BY_ZERO},
		{GPUCOL_REC_MUL, GPUCOL_REC_INT8, INT64_MAX, GPUCOL_INT8_OUT_OF_RANGE},
		{GPUCOL_REC_ADD, GPUCOL_REC_INT2, INT16_MAX, GPUCOL_INT2_OUT_OF_RANGE},
		{GPUCOL_REC_SUB, GPUCOL_REC_UINT8, 1000, GPUCOL_INT8_OUT_OF_RANGE},
		{GPUCOL_REC_SUB, GPUCOL_REC_INT4, INT64_C(-2147483648), GPUCOL_INT4_OUT_OF_RANGE},
		{GPUCOL_REC_DIV, GPUCOL_REC_INT8, -1, GPUCOL_END}
	};
	Builder		b;
	Rows		inputs[16] = {{0}};

	inputs[0] = new_rows(1, true);
	for (int i = 1; i < 9; i++)
		put(&inputs[0], (int64_t[]) {i});
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		GpucolRecOptions options = {.threads = 1};
		GpucolRecRun *run;
		GpucolRecStep *s;
		Rows		got = new_rows(1, false);

		builder_init(&b);
		relation(&b, 1, EDB, 0);
		relation(&b, 1, IDB, 0);
		constant(&b, cases[i].constant);
		rule(&b, 0, 0);
		step(&b, GPUCOL_REC_ATOM, 0, GPUCOL_REC_FULL, "0");
		s = step(&b, GPUCOL_REC_COMPUTE, 0, 0, "0A");
		s->function = (uint8_t) cases[i].function;
		s->type = cases[i].type;
		s->target = 1;
		step(&b, GPUCOL_REC_EMIT, 1, 0, "1");
		run = start_run(&b, inputs, &options);
		CHECK(read_rows(run, 1, &got) == cases[i].status, "failure %d", (int) i);
		gpucol_recursive_cpu.finish(run);
		free_rows(&got);
	}
	free_rows(&inputs[0]);
}

/* r(n + 1) :- r(n): endless as a bag or as a set, read only so far. */
static void
build_endless(Builder *b, bool bag)
{
	uint16_t	r;
	GpucolRecStep *s;

	builder_init(b);
	r = relation(b, 1, IDB | (bag ? GPUCOL_REC_BAG : 0), 0);
	constant(b, 1);
	rule(b, 0, 0);
	step(b, GPUCOL_REC_EMIT, r, 0, "A");
	rule(b, 0, REC);
	step(b, GPUCOL_REC_ATOM, r, GPUCOL_REC_DELTA, "0");
	s = step(b, GPUCOL_REC_COMPUTE, 0, 0, "0A");
	s->function = GPUCOL_REC_ADD;
	s->target = 1;
	step(b, GPUCOL_REC_EMIT, r, 0, "1");
}

static void
test_limits(void)
{
	Builder		b;
	GpucolRecOptions options = {.threads = 1,.max_rounds = 100};
	Rows		none[16] = {{0}};
	Rows		got = new_rows(1, false);
	GpucolRecRun *run;
	GpucolRecBatch batch;
	long		second;
	int			i;
	int			budget;

	for (i = 0; i < 2; i++)
	{
		build_endless(&b, i == 0);
		run = start_run(&b, none, &options);
		CHECK(gpucol_recursive_cpu.next(run, 0, &batch) == GPUCOL_OK &&
			  batch.nrows == 1 && batch.columns[0][0] == 1, "first row");
		/* a device may run many rounds before it answers */
		CHECK(gpucol_recursive_cpu.next(run, 0, &batch) == GPUCOL_OK &&
			  batch.nrows >= 1 && batch.columns[0][0] == 2, "second row");
		second = batch.nrows;
		CHECK(read_rows(run, 0, &got) == GPUCOL_ROUNDS_EXCEEDED, "rounds");
		CHECK(second + got.n == 100, "%ld rows before the limit", second + got.n);
		CHECK(gpucol_recursive_cpu.next(run, 0, &batch) ==
			  GPUCOL_ROUNDS_EXCEEDED, "the status stays");
		gpucol_recursive_cpu.finish(run);
	}
	/* out of memory and cancelled at any point: nothing leaks or crashes */
	options.max_rounds = 0;
	for (budget = 0; budget < 300; budget++)
	{
		Rows		inputs[16] = {{0}};
		GpucolRecRun *starved = NULL;
		GpucolStatus status;
		GpucolRecOptions tight = {.threads = 2,.memory_limit =
		(size_t) budget * 3000};
		int			left = budget;

		inputs[0] = new_rows(2, true);
		random_edges(&inputs[0], 61, 150, true);
		build_closure(&b, budget % 5, budget % 2);
		if (budget % 3 == 0)
		{
			tight.memory_limit = 0;
			tight.cancelled = cancel_after;
			tight.context = &left;
			tight.strategy = GPUCOL_REC_HISA;
		}
		got.arity = 2;
		status = gpucol_recursive_cpu.start(&b.plan, &tight, &starved);
		if (status == GPUCOL_OK)
			status = load_rows(starved, 0, &inputs[0]);
		if (status == GPUCOL_OK)
		{
			Rows		pairs = new_rows(2, false);

			status = read_rows(starved, 1, &pairs);
			free_rows(&pairs);
		}
		CHECK(status == GPUCOL_END || status ==
			  (budget % 3 ? GPUCOL_OUT_OF_MEMORY : GPUCOL_CANCELLED),
			  "budget %d: status %d", budget, status);
		gpucol_recursive_cpu.finish(starved);
		free_rows(&inputs[0]);
	}
	free_rows(&got);
}

/*
 * Rounds are counted by stratum: same generation in the first, read when a walk of more
 * rounds in the second has ended, may have as many as if it were alone, whatever evaluates
 * it.
 */
static void
test_rounds_of_strata(void)
{
	Builder		b;
	Rows		inputs[16] = {{0}};
	uint16_t	sg;
	uint16_t	walk;
	int			allowed = 0;

	inputs[0] = new_rows(2, false);
	inputs[1] = new_rows(2, false);
	layered_edges(&inputs[0], 12, 9, 0);
	sg = build_pairs(&b, true, GPUCOL_REC_NE, false);
	b.plan.nstrata = 2;
	walk = relation(&b, 1, IDB, 1);
	constant(&b, 0);
	rule(&b, 1, 0);
	step(&b, GPUCOL_REC_EMIT, walk, 0, "A");
	rule(&b, 1, REC);
	step(&b, GPUCOL_REC_ATOM, walk, GPUCOL_REC_DELTA, "0");
	step(&b, GPUCOL_REC_ATOM, 1, GPUCOL_REC_FULL, "01");
	step(&b, GPUCOL_REC_EMIT, walk, 0, "1");
	for (int length = 4; length <= 12; length += 4)
		for (int limit = 1; limit < 16; limit++)
		{
			GpucolStatus expected = GPUCOL_OK;

			inputs[1].n = 0;
			for (int i = 0; i < length; i++)
				put(&inputs[1], (int64_t[]) {i, i + 1});
			for (int strategy = GPUCOL_REC_HISA; strategy <= GPUCOL_REC_SPARSE; strategy++)
			{
				GpucolRecOptions options = {.threads = 1,.strategy =
				(GpucolRecStrategy) strategy,.max_rounds = limit};
				GpucolRecRun *run = start_run(&b, inputs, &options);
				GpucolRecProgress progress;
				Rows		got = new_rows(2, false);
				GpucolStatus status = read_rows(run, sg, &got);

				gpucol_recursive_cpu.progress(run, &progress);
				if (strategy == GPUCOL_REC_HISA)
					expected = status;
				CHECK(status == expected || !is_cpu(&progress), "%d rounds beside a walk of %d: status %d, not %d",
					  limit, length, (int) status, (int) expected);
				allowed += status == GPUCOL_END;
				gpucol_recursive_cpu.finish(run);
				free_rows(&got);
			}
		}
	CHECK(allowed > 0, "some limit is enough");
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

static bool
count_looks(void *context)
{
	++*(int *) context;
	return false;
}

/* How often the CPU engine's run, once loaded, asks whether it is cancelled; others: often. */
static int
looks_of(const Builder *b, const Rows *inputs, uint16_t rel)
{
	int			looks = 0;
	GpucolRecProgress progress;
	GpucolRecOptions options = {.threads = 1,.cancelled = count_looks,.context = &looks};
	GpucolRecRun *run = start_run(b, inputs, &options);
	GpucolRecSummary summary[MAX_ARITY];
	uint64_t	n;

	looks = 0;
	CHECK(gpucol_recursive_cpu.summarise(run, rel, NULL, &n, summary) == GPUCOL_OK,
		  "a run that is not cancelled");
	gpucol_recursive_cpu.progress(run, &progress);
	gpucol_recursive_cpu.finish(run);
	return is_cpu(&progress) ? looks : INT_MAX;
}

/* Searches ask by the edges that they follow: here millions from some thousand nodes. */
static void
test_looks_of_searches(void)
{
	enum
	{
		N = 2048, SEEDS = 4096
	};
	Builder		b;
	Rows		inputs[16] = {{0}};
	uint16_t	r;

	inputs[0] = new_rows(2, false);
	inputs[1] = new_rows(2, false);
	for (int i = 0; i < N; i++)
		for (int j = i + 1; j < N; j++)
			put(&inputs[0], (int64_t[]) {i, j});
	for (int i = 0; i < SEEDS; i++)
		put(&inputs[1], (int64_t[]) {N + i, 0});
	builder_init(&b);
	relation(&b, 2, EDB | GPUCOL_REC_BAG, 0);
	relation(&b, 2, EDB, 0);
	r = relation(&b, 2, IDB, 0);
	rule(&b, 0, 0);
	step(&b, GPUCOL_REC_ATOM, 1, GPUCOL_REC_FULL, "01");
	step(&b, GPUCOL_REC_EMIT, r, 0, "01");
	rule(&b, 0, REC);
	step(&b, GPUCOL_REC_ATOM, r, GPUCOL_REC_DELTA, "01");
	step(&b, GPUCOL_REC_ATOM, 0, GPUCOL_REC_FULL, "12");
	step(&b, GPUCOL_REC_EMIT, r, 0, "02");
	CHECK(looks_of(&b, inputs, r) > 64, "searches over %d edges ask too seldom",
		  (int) inputs[0].n);
	free_rows(&inputs[0]);
	free_rows(&inputs[1]);
}

/*
 * Rules ask by the rows that they look at, even where they drop all of them.  So many values
 * that duplicates stay.
 */
static void
test_looks_of_scans(void)
{
	enum
	{
		ROWS = 1200000
	};
	Builder		b;
	Rows		inputs[16] = {{0}};
	uint16_t	r;

	inputs[0] = new_rows(2, false);
	for (int i = 0; i < ROWS; i++)
		put(&inputs[0], (int64_t[]) {i % 2, i % 4000 + 2});
	for (int absent = 0; absent < 2; absent++)
	{
		builder_init(&b);
		relation(&b, 2, EDB | GPUCOL_REC_BAG, 0);
		r = relation(&b, 1, IDB, 0);
		constant(&b, 7);
		rule(&b, 0, 0);
		step(&b, absent ? GPUCOL_REC_ABSENT : GPUCOL_REC_ATOM, 0, GPUCOL_REC_FULL, "00");
		step(&b, GPUCOL_REC_EMIT, r, 0, absent ? "A" : "0");
		CHECK(looks_of(&b, inputs, r) >= 10, "a scan of %d rows asks too seldom", ROWS);
	}
	free_rows(&inputs[0]);
}

/* Two items of a share: one ends at once, the other only when the run is cancelled. */
typedef struct Waiting
{
	GpucolRecShare share;
	_Atomic bool other_began;
	_Atomic bool first_ended;
	bool		cancelled;		/* seen by the other */
} Waiting;

static bool
cancel_waiting(void *context)
{
	return atomic_load(&((Waiting *) context)->first_ended);
}

static void
wait_item(void *context, int worker, uint64_t item)
{
	Waiting    *waiting = context;

	(void) item;
	if (worker != 0)
		atomic_store(&waiting->other_began, true);
	for (int i = 0; i < 10000; i++)
	{
		if (worker == 0 && atomic_load(&waiting->other_began))
			break;
		if (worker != 0 && gpucol_rec_share_stopped(&waiting->share, worker, 1))
		{
			waiting->cancelled = true;
			break;
		}
		usleep(1000);
	}
	if (worker == 0)
		atomic_store(&waiting->first_ended, true);
}

/* A thread that waits for others asks meanwhile. */
static void
test_looks_of_waiting(void)
{
	Waiting		waiting = {0};
	GpucolRecRun run = {.options = {.cancelled = cancel_waiting,.context = &waiting}};

	waiting.share.run = &run;
	CHECK(gpucol_rec_share_run(&waiting.share, 2, 2, 1, wait_item, &waiting) ==
		  GPUCOL_CANCELLED, "a share that is cancelled");
	CHECK(waiting.cancelled, "the thread that was waited for");
}

int
main(void)
{
	test_closure();
	test_closure_batches();
	test_spilling();
	test_pairs();
	test_many_pairs();
	test_dense_pairs();
	test_pairs_limits();
	test_mutual();
	test_strata();
	test_branches();
	test_shortest();
	test_wide();
	test_unit();
	test_bag();
	test_components();
	test_labels();
	test_failures();
	test_limits();
	test_rounds_of_strata();
	test_looks_of_searches();
	test_looks_of_scans();
	test_looks_of_waiting();
	return check_summary("recursive");
}
