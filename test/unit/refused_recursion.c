/*-------------------------------------------------------------------------
 *
 * refused_recursion.c
 *	  Recursions where memory or threads are refused: plans of every method by every
 *	  strategy of the CPU engine, and what the device's client does without a daemon.
 *
 *-------------------------------------------------------------------------
 */
#include "refuse.h"

#include "base/budget.h"
#include "recursion/engine.h"
#include "service/service.h"

#include "plan_builder.h"

#define EDGES	600
#define NODES	150

static int64_t edges[3][EDGES];	/* from, to, length */

/* A plan, which is given the edges as each of its inputs. */
typedef struct Recursion
{
	Builder		b;
	GpucolRecOptions options;
	const GpucolRecursiveEngine *engine;
	bool		summarised;
} Recursion;

/* ---- a host without a daemon ---- */

static bool
no_daemon(const char **why)
{
	*why = "there is none";
	return false;
}

static int
no_connection(const char **why)
{
	*why = "there is none";
	return -1;
}

static int
no_connection_yet(void)
{
	return -1;
}

static void
no_wait(int fd, bool writable)
{
	(void) fd;
	(void) writable;
}

const GpucolService gpucol_service = {no_daemon, no_connection, no_wait, no_connection_yet};

/* ---- runs ---- */

static GpucolStatus
load_inputs(const Recursion *r, GpucolRecRun *run)
{
	const int64_t *columns[] = {edges[0], edges[1], edges[2]};

	for (uint32_t i = 0; i < r->b.plan.nrelations; i++)
	{
		GpucolStatus status = GPUCOL_OK;

		if (r->b.relations[i].flags & GPUCOL_REC_INPUT)
			status = r->engine->load(run, i, EDGES, columns, NULL);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* All rows of an output as one number, whatever their order. */
static GpucolStatus
read_output(const Recursion *r, GpucolRecRun *run, uint32_t relation, uint64_t *answer)
{
	GpucolRecBatch batch;
	GpucolStatus status;

	while ((status = r->engine->next(run, relation, &batch)) == GPUCOL_OK)
		for (uint32_t i = 0; i < batch.nrows; i++)
		{
			uint64_t	row = relation + 1;

			for (int c = 0; c < r->b.relations[relation].arity; c++)
				row = (row ^ (uint64_t) batch.columns[c][i]) * UINT64_C(0x9E3779B97F4A7C15);
			*answer += row;
		}
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

static GpucolStatus
summarise_output(const Recursion *r, GpucolRecRun *run, uint32_t relation, uint64_t *answer)
{
	GpucolRecSummary columns[8];
	bool		want[8];
	uint64_t	n;
	GpucolStatus status;

	memset(want, true, sizeof(want));
	status = r->engine->summarise(run, relation, want, &n, columns);
	for (int c = 0; status == GPUCOL_OK && c < r->b.relations[relation].arity; c++)
		*answer = *answer * 31 + (uint64_t) columns[c].sum + n;
	return status;
}

static GpucolStatus
run_recursion(void *arg, uint64_t *answer)
{
	Recursion  *r = arg;
	GpucolRecRun *run = NULL;
	GpucolStatus status = r->engine->start(&r->b.plan, &r->options, &run);

	*answer = 0;
	if (status == GPUCOL_OK)
		status = load_inputs(r, run);
	for (uint32_t i = 0; i < r->b.plan.nrelations && status == GPUCOL_OK; i++)
		if (r->b.relations[i].flags & GPUCOL_REC_OUTPUT)
			status = r->summarised ? summarise_output(r, run, i, answer) :
				read_output(r, run, i, answer);
	if (run != NULL)
		r->engine->finish(run);
	return status;
}

/* The device's client, which keeps what is loaded, and leaves the recursion to the CPU engine. */
static void
refuse_client(const char *name, Recursion *r)
{
	r->engine = &gpucol_recursive_cuda;
	for (int tried = 0; tried < 2; tried++)
	{
		r->options = (GpucolRecOptions) {.threads = 1,.device_rows = tried ? UINT64_MAX : 0};
		refuse_each(name, run_recursion, r);
	}
}

static void
refuse_plan(const char *name, Recursion *r)
{
	r->engine = &gpucol_recursive_cpu;
	for (int strategy = GPUCOL_REC_AUTO; strategy <= GPUCOL_REC_SPARSE; strategy++)
		for (int threads = 1; threads <= (strategy == GPUCOL_REC_AUTO ? 3 : 1); threads += 2)
		{
			r->options = (GpucolRecOptions) {.threads = threads,.strategy = (GpucolRecStrategy) strategy,
			.share_from = 1};
			r->summarised = threads > 1;
			refuse_each(name, run_recursion, r);
		}
}

/* What the client keeps counts against its limit, and is given back. */
static void
limit_client(const Recursion *r)
{
	GpucolBudget session = {.limit = 0};
	GpucolRecOptions options = {.threads = 1,.memory_limit = 1 << 20,.budget = &session};
	GpucolRecRun *run = NULL;
	GpucolStatus status = gpucol_recursive_cuda.start(&r->b.plan, &options, &run);
	int			loads = 0;

	for (; status == GPUCOL_OK && loads < 1000; loads++)
		status = load_inputs(r, run);
	CHECK(status == GPUCOL_OUT_OF_MEMORY && loads > 10, "status %d, %d loads", status, loads);
	CHECK(session.used > 1 << 19 && session.peak <= 1 << 20, "%zu bytes, at most %zu",
		  (size_t) session.used, (size_t) session.peak);
	gpucol_recursive_cuda.finish(run);
	CHECK(session.used == 0, "%zu bytes", (size_t) session.used);
}

/* ---- plans ---- */

/* r(x, y) :- e(x, y).  r(x, z) :- r(x, y), e(y, z), or by r itself. */
static void
closure(bool twice)
{
	static Recursion r;
	uint16_t	e;
	uint16_t	tc;

	builder_init(&r.b);
	e = relation(&r.b, 2, EDB, 0);
	tc = relation(&r.b, 2, IDB, 0);
	rule(&r.b, 0, 0);
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
	step(&r.b, GPUCOL_REC_EMIT, tc, 0, "01");
	rule(&r.b, 0, REC);
	step(&r.b, GPUCOL_REC_ATOM, tc, GPUCOL_REC_DELTA, "01");
	step(&r.b, GPUCOL_REC_ATOM, twice ? tc : e, twice ? GPUCOL_REC_PREVIOUS : GPUCOL_REC_FULL, "12");
	step(&r.b, GPUCOL_REC_EMIT, tc, 0, "02");
	refuse_plan("closure", &r);
	refuse_client("client", &r);
	limit_client(&r);
}

/* Same generation. */
static void
pairs(void)
{
	static Recursion r;
	uint16_t	e;
	uint16_t	sg;

	builder_init(&r.b);
	e = relation(&r.b, 2, EDB, 0);
	sg = relation(&r.b, 2, IDB, 0);
	rule(&r.b, 0, 0);
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "02");
	step(&r.b, GPUCOL_REC_TEST, 0, 0, "12")->function = GPUCOL_REC_NE;
	step(&r.b, GPUCOL_REC_EMIT, sg, 0, "12");
	rule(&r.b, 0, REC);
	step(&r.b, GPUCOL_REC_ATOM, sg, GPUCOL_REC_DELTA, "12");
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "13");
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "24");
	step(&r.b, GPUCOL_REC_EMIT, sg, 0, "34");
	refuse_plan("pairs", &r);
}

/* Least labels of components, and how many nodes have each. */
static void
components(void)
{
	static Recursion r;
	uint16_t	e;
	uint16_t	c;
	uint16_t	sizes;
	GpucolRecStep *s;

	builder_init(&r.b);
	r.b.plan.nstrata = 2;
	e = relation(&r.b, 2, EDB, 0);
	c = relation(&r.b, 2, IDB | GPUCOL_REC_READ, 0);
	r.b.relations[c].merge = GPUCOL_REC_MERGE_MIN;
	r.b.relations[c].merge_column = 1;
	sizes = relation(&r.b, 2, IDB, 1);
	for (int i = 0; i < 2; i++)
	{
		rule(&r.b, 0, 0);
		step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "01");
		step(&r.b, GPUCOL_REC_EMIT, c, 0, i ? "00" : "11");
		rule(&r.b, 0, REC);
		step(&r.b, GPUCOL_REC_ATOM, c, GPUCOL_REC_DELTA, "10");
		step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, i ? "12" : "21");
		step(&r.b, GPUCOL_REC_EMIT, c, 0, "20");
	}
	rule(&r.b, 1, 0);
	step(&r.b, GPUCOL_REC_ATOM, c, GPUCOL_REC_FULL, "_0");
	s = step(&r.b, GPUCOL_REC_AGGREGATE, 0, 0, "");
	s->function = GPUCOL_REC_COUNT;
	s->target = 5;
	s->origin = 6;
	s->nsteps = 2;
	step(&r.b, GPUCOL_REC_ATOM, c, GPUCOL_REC_FULL, "10");
	step(&r.b, GPUCOL_REC_COLLECT, 0, 0, "")->origin = 6;
	step(&r.b, GPUCOL_REC_EMIT, sizes, 0, "05");
	refuse_plan("components", &r);
}

/* Shortest paths, and the pairs of edges that are no such path. */
static void
distances(void)
{
	static Recursion r;
	uint16_t	e;
	uint16_t	d;
	uint16_t	others;
	GpucolRecStep *s;

	builder_init(&r.b);
	r.b.plan.nstrata = 2;
	e = relation(&r.b, 3, EDB, 0);
	d = relation(&r.b, 2, IDB | GPUCOL_REC_READ, 0);
	others = relation(&r.b, 3, IDB, 1);
	r.b.relations[d].merge = GPUCOL_REC_MERGE_MIN;
	r.b.relations[d].merge_column = 1;
	constant(&r.b, edges[0][0]);
	constant(&r.b, 0);
	rule(&r.b, 0, 0);
	step(&r.b, GPUCOL_REC_EMIT, d, 0, "AB");
	rule(&r.b, 0, REC);
	step(&r.b, GPUCOL_REC_ATOM, d, GPUCOL_REC_DELTA, "01");
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "023");
	s = step(&r.b, GPUCOL_REC_COMPUTE, 0, 0, "13");
	s->function = GPUCOL_REC_ADD;
	s->target = 4;
	step(&r.b, GPUCOL_REC_EMIT, d, 0, "24");
	rule(&r.b, 1, 0);
	step(&r.b, GPUCOL_REC_ATOM, e, GPUCOL_REC_FULL, "012");
	step(&r.b, GPUCOL_REC_ABSENT, d, GPUCOL_REC_FULL, "12");
	step(&r.b, GPUCOL_REC_EMIT, others, 0, "012");
	refuse_plan("distances", &r);
}

int
main(void)
{
	for (int i = 0; i < EDGES; i++)
	{
		edges[0][i] = (int64_t) (check_random() % NODES) * 1000003;
		edges[1][i] = (int64_t) (check_random() % NODES) * 1000003;
		edges[2][i] = (int64_t) (check_random() % 1000);
	}
	refuse.threads = true;
	pairs();
	refuse.threads = false;
	closure(false);
	closure(true);
	pairs();
	components();
	distances();
	return check_summary("refused_recursion");
}
