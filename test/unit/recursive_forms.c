/*-------------------------------------------------------------------------
 *
 * recursive_forms.c
 *	  Recursions whose equal values have several forms: of equal rows that of the earliest round
 *	  stays, by one thread and by three; where a round has several, the run says so.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "check.h"
#include "plan_builder.h"
#include "recursion/engine.h"

#define NODES	300
#define VALUES	5
#define FORMS	4				/* of a value v: those from v * FORMS on */
#define MOST	4000

typedef struct Edge
{
	int64_t		from;
	int64_t		to;
	int64_t		value;
} Edge;

static Edge edges[MOST];
static uint32_t nedges;

/* By node and value: 1 + the form of its row, 0 = none. */
static int	known[NODES][VALUES];

static int64_t
form_of(void *context, int column, int64_t value)
{
	(void) context;
	if (column != 1)
		abort();				/* threads call it, which must not count checks */
	return value / FORMS;
}

/* Edges whose form depends on where they lead, so that a round finds one, or on chance. */
static void
make_edges(unsigned seed, bool by_target)
{
	srand(seed);
	nedges = 600 + (uint32_t) rand() % 600;
	for (uint32_t i = 0; i < nedges; i++)
	{
		int64_t		to = rand() % NODES;
		int64_t		value = rand() % VALUES;

		edges[i] = (Edge) {rand() % NODES, to, value * FORMS + (by_target ? to % FORMS : rand() % FORMS)};
	}
}

/* The rows that there must be; false: a round has equal rows of two forms. */
static bool
expect_rows(void)
{
	bool		fresh[NODES][VALUES] = {{0}};
	bool		lost = false;

	memset(known, 0, sizeof(known));
	known[0][0] = 1 + 3;
	fresh[0][0] = true;
	for (bool more = true; more && !lost;)
	{
		int			found[NODES][VALUES] = {{0}};

		more = false;
		for (uint32_t i = 0; i < nedges; i++)
		{
			const Edge *e = &edges[i];
			int			form = 1 + (int) (e->value % FORMS);
			int		   *at = &found[e->to][e->value / FORMS];
			bool		reached = false;

			for (int v = 0; v < VALUES; v++)
				reached |= fresh[e->from][v];
			if (!reached || known[e->to][e->value / FORMS] != 0)
				continue;
			lost |= *at != 0 && *at != form;
			*at = form;
		}
		for (int n = 0; n < NODES; n++)
			for (int v = 0; v < VALUES; v++)
			{
				fresh[n][v] = found[n][v] != 0;
				more |= fresh[n][v];
				if (fresh[n][v])
					known[n][v] = found[n][v];
			}
	}
	return !lost;
}

/* r(to, value) :- delta r(from, _), edge(from, to, value). */
static void
make_plan(Builder *b)
{
	builder_init(b);
	relation(b, 2, IDB, 0);
	relation(b, 3, GPUCOL_REC_INPUT | GPUCOL_REC_BAG, 0);
	rule(b, 0, REC);
	step(b, GPUCOL_REC_ATOM, 0, GPUCOL_REC_DELTA, "0_");
	step(b, GPUCOL_REC_ATOM, 1, GPUCOL_REC_FULL, "012");
	step(b, GPUCOL_REC_EMIT, 0, GPUCOL_REC_FULL, "12");
}

static void
load(GpucolRecRun *run)
{
	static int64_t columns[3][MOST];
	const int64_t *const all[] = {columns[0], columns[1], columns[2]};
	static const int64_t node = 0;
	static const int64_t value = 3;
	const int64_t *const first[] = {&node, &value};

	for (uint32_t i = 0; i < nedges; i++)
	{
		columns[0][i] = edges[i].from;
		columns[1][i] = edges[i].to;
		columns[2][i] = edges[i].value;
	}
	CHECK(gpucol_recursive_cpu.load(run, 0, 1, first, NULL) == GPUCOL_OK, "first row");
	CHECK(gpucol_recursive_cpu.load(run, 1, nedges, all, NULL) == GPUCOL_OK, "edges");
}

static void
check_run(const Builder *b, int threads, bool expected, unsigned seed)
{
	GpucolRecOptions options = {.threads = threads,.share_from = 1,.forms = 2,.form = form_of};
	GpucolRecRun *run;
	GpucolRecBatch batch;
	GpucolRecProgress progress;
	uint64_t	nrows = 0;
	uint64_t	wanted = 0;

	CHECK(gpucol_recursive_cpu.start(&b->plan, &options, &run) == GPUCOL_OK, "start");
	load(run);
	while (gpucol_recursive_cpu.next(run, 0, &batch) == GPUCOL_OK)
	{
		nrows += batch.nrows;
		for (uint32_t i = 0; i < batch.nrows && expected; i++)
		{
			int64_t		value = batch.columns[1][i];

			CHECK(known[batch.columns[0][i]][value / FORMS] == 1 + value % FORMS,
				  "seed %u, %d threads: node %ld has %ld", seed, threads, (long) batch.columns[0][i], (long) value);
		}
	}
	gpucol_recursive_cpu.progress(run, &progress);
	CHECK(progress.forms_lost != expected, "seed %u, %d threads: forms are lost: %d", seed, threads, !expected);
	for (int n = 0; n < NODES; n++)
		for (int v = 0; v < VALUES; v++)
			wanted += known[n][v] != 0;
	CHECK(!expected || nrows == wanted, "seed %u, %d threads: %ld rows, not %ld", seed, threads, (long) nrows,
		  (long) wanted);
	CHECK(gpucol_recursive_cpu.next(run, 0, &batch) == GPUCOL_END, "there are no more");
	gpucol_recursive_cpu.finish(run);
}

int
main(void)
{
	static const int threads[] = {1, 3};
	Builder		b;

	make_plan(&b);
	for (unsigned seed = 0; seed < 20; seed++)
	{
		bool		expected;

		make_edges(seed, seed % 2 == 0);
		expected = expect_rows();
		CHECK(expected == (seed % 2 == 0), "seed %u is of no use", seed);
		for (int t = 0; t < 2; t++)
			check_run(&b, threads[t], expected, seed);
	}
	return check_summary("recursive_forms");
}
