/*-------------------------------------------------------------------------
 *
 * engine.c
 *	  Recursion on the device, as a server process sees it.
 *
 * The plan and the rows travel to the daemon, which runs the same engine table
 * (cuda/recursion/recursive.cu).  Loaded rows are kept here too until the first answer has
 * come: whatever the device cannot do, runs out of, or dies of, the CPU engine
 * then answers from the start, and progress says why.  Where the caller leaves the choice
 * (device_rows), a recursion that may be a small one begins on the CPU engine
 * (recursion/client/trial.h).
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recursion/client/trial.h"
#include "base/owned.h"
#include "engine/gpu/wire.h"
#include "recursion/engine.h"
#include "service/service.h"

/* Rows in one REC_LOAD, at most. */
#define LOAD_ROWS	65536

/* Loaded rows of one relation. */
typedef struct Loaded
{
	int64_t   **columns;
	uint8_t   **nulls;
	uint64_t	nrows;
	uint64_t	room;
} Loaded;

struct GpucolRecRun
{
	const GpucolRecPlan *plan;
	GpucolRecOptions options;
	GpucolWire *wire;			/* a connection of its own, from the first
								 * question on */
	GpucolRecRun *cpu;			/* of the CPU engine, once it has taken over */
	GpucolRecTrial *trial;		/* it may leave it again; NULL = never */
	Loaded	   *loaded;			/* by relation; freed with the first answer */
	GpucolBudget memory;		/* of loaded rows */
	GpucolOwned rows;			/* their blocks */
	bool		any_null;
	bool		begun;			/* the daemon has been asked, if there is one */
	bool		answered;
	GpucolRecProgress progress;
	char	   *payload;		/* rows of the last batch */
	const int64_t *columns[GPUCOL_REC_MAX_ARITY];
	const uint8_t *nulls[GPUCOL_REC_MAX_ARITY];
};

/* Strings that progress hands out, which outlive their run. */
static char last_method[24];
static char last_reason[160];

/* ---- loaded rows ---- */

static int
arity_of(const GpucolRecRun *run, uint32_t relation)
{
	return run->plan->relations[relation].arity;
}

static void
free_loaded(GpucolRecRun *run)
{
	gpucol_owned_free_all(&run->rows);
	free(run->loaded);
	run->loaded = NULL;
}

/* Make room for more rows of a relation, in steps that double it. */
static bool
grow(GpucolRecRun *run, Loaded *loaded, int arity, uint64_t nrows)
{
	if (loaded->columns == NULL)
		loaded->columns = gpucol_owned_alloc_zeroed(&run->rows, ((size_t) arity + 1) * sizeof(int64_t *));
	if (loaded->nulls == NULL)
		loaded->nulls = gpucol_owned_alloc_zeroed(&run->rows, ((size_t) arity + 1) * sizeof(uint8_t *));
	if (loaded->columns == NULL || loaded->nulls == NULL)
		return false;
	if (nrows <= loaded->room)
		return true;
	nrows = nrows * 2 < 4096 ? 4096 : nrows * 2;
	for (int c = 0; c < arity; c++)
	{
		void	   *values = gpucol_owned_realloc(&run->rows, loaded->columns[c], nrows * sizeof(int64_t));
		void	   *nulls = gpucol_owned_realloc(&run->rows, loaded->nulls[c], nrows);

		loaded->columns[c] = values != NULL ? values : loaded->columns[c];
		loaded->nulls[c] = nulls != NULL ? nulls : loaded->nulls[c];
		if (values == NULL || nulls == NULL)
			return false;
	}
	loaded->room = nrows;
	return true;
}

/* Keep rows. */
static GpucolStatus
keep(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
	 const int64_t *const *columns, const uint8_t *const *nulls)
{
	Loaded	   *loaded = &run->loaded[relation];
	int			arity = arity_of(run, relation);

	if (!grow(run, loaded, arity, loaded->nrows + nrows))
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < arity; c++)
	{
		memcpy(loaded->columns[c] + loaded->nrows, columns[c], nrows * sizeof(int64_t));
		if (nulls != NULL && nulls[c] != NULL)
		{
			memcpy(loaded->nulls[c] + loaded->nrows, nulls[c], nrows);
			run->any_null = run->any_null || memchr(nulls[c], 1, nrows) != NULL;
		}
		else
			memset(loaded->nulls[c] + loaded->nrows, 0, nrows);
	}
	loaded->nrows += nrows;
	return GPUCOL_OK;
}

/* ---- falling back ---- */

/* Close the connection, which ends the recursion on the daemon. */
static void
leave_daemon(GpucolRecRun *run)
{
	if (run->wire != NULL)
		gpucol_wire_close(run->wire);
	run->wire = NULL;
}

/* Start the CPU engine with what was loaded so far. */
static GpucolStatus
start_cpu(GpucolRecRun *run, const GpucolRecOptions *options)
{
	GpucolStatus status = gpucol_recursive_cpu.start(run->plan, options, &run->cpu);

	for (uint32_t r = 0; r < run->plan->nrelations && status == GPUCOL_OK; r++)
	{
		Loaded	   *loaded = &run->loaded[r];

		for (uint64_t at = 0; at < loaded->nrows && status == GPUCOL_OK; at += LOAD_ROWS)
		{
			const int64_t *columns[GPUCOL_REC_MAX_ARITY];
			const uint8_t *nulls[GPUCOL_REC_MAX_ARITY];
			uint64_t	n = loaded->nrows - at < LOAD_ROWS ? loaded->nrows - at : LOAD_ROWS;

			for (int c = 0; c < arity_of(run, r); c++)
			{
				columns[c] = loaded->columns[c] + at;
				nulls[c] = loaded->nulls[c] + at;
			}
			status = gpucol_recursive_cpu.load(run->cpu, r, (uint32_t) n, columns, nulls);
		}
	}
	return status;
}

/* Let the CPU engine take over. */
static GpucolStatus
fall_back(GpucolRecRun *run, const char *why)
{
	GpucolStatus status;

	if (why != last_reason)
		snprintf(last_reason, sizeof(last_reason), "%s", why);
	leave_daemon(run);
	status = start_cpu(run, &run->options);
	free_loaded(run);
	return status;
}

/* Why the device gave no answer. */
static const char *
reason_of(GpucolStatus status)
{
	switch (status)
	{
		case GPUCOL_UNSUPPORTED:
			return "the recursion has too many values or columns for the device";
		case GPUCOL_UNPROFITABLE:
			return "the recursion's rounds are too small, or too many, for the device";
		case GPUCOL_OUT_OF_MEMORY:
			return "the recursion does not fit the device's memory";
		default:
			return last_reason[0] != '\0' ? last_reason : "device daemon was lost";
	}
}

/* The connection broke: because of a cancel, or must the CPU take over? */
static GpucolStatus
broken(GpucolRecRun *run)
{
	leave_daemon(run);
	if (run->options.cancelled != NULL && run->options.cancelled(run->options.context))
		return GPUCOL_CANCELLED;
	return GPUCOL_DEVICE_LOST;
}

/* ---- talking to the daemon ---- */

static void
note_status(GpucolRecRun *run, const GpucolWireRecStatus *status)
{
	memcpy(last_method, status->method, sizeof(last_method) - 1);
	run->progress.stratum = status->stratum;
	run->progress.rounds = status->rounds;
	run->progress.small_rounds = status->small_rounds;
	run->progress.delta = status->delta;
	run->progress.full = status->full;
	run->progress.bytes = (size_t) status->bytes;
	run->progress.peak_bytes = (size_t) status->peak_bytes;
	run->progress.method = last_method;
}

/*
 * Receive an answer of at least `head` bytes, which begins with a status, and
 * before it what is told about progress; *payload is the caller's.
 */
static GpucolStatus
receive(GpucolRecRun *run, GpucolWireType type, size_t head, char **payload, size_t *size)
{
	GpucolWireRecStatus status;
	bool		more;

	do
	{
		if (!gpucol_wire_receive_either(run->wire, type, GPUCOL_WIRE_REC_STATUS, &more,
										(void **) payload, size))
			return broken(run);
		if (*size < (more ? sizeof(status) : head))
		{
			free(*payload);
			*payload = NULL;
			leave_daemon(run);
			return GPUCOL_DEVICE_LOST;
		}
		memcpy(&status, *payload, sizeof(status));
		note_status(run, &status);
		if (more)
			free(*payload);
	} while (more);
	return (GpucolStatus) status.status;
}

/* Append an array to a message under construction. */
static void
append(char **at, const void *array, uint64_t n, size_t size)
{
	if (n > 0)
		memcpy(*at, array, n * size);
	*at += GPUCOL_WIRE_PADDED(n, size);
}

static GpucolStatus
send_plan(GpucolRecRun *run)
{
	const GpucolRecPlan *p = run->plan;
	/* a device knows no sparse sets */
	GpucolRecStrategy strategy = run->options.strategy == GPUCOL_REC_SPARSE ?
		GPUCOL_REC_AUTO : run->options.strategy;
	GpucolWireRecStart start = {
		p->nstrata, p->nrelations, p->nrules, p->nsteps, p->noperands,
		p->nconstants, p->ntypes, strategy, run->options.memory_limit,
		run->options.max_rounds, run->options.device_rows
	};
	uint64_t	size = GPUCOL_WIRE_PADDED(p->nrelations, sizeof(*p->relations)) +
		GPUCOL_WIRE_PADDED(p->nrules, sizeof(*p->rules)) +
		GPUCOL_WIRE_PADDED(p->nsteps, sizeof(*p->steps)) +
		GPUCOL_WIRE_PADDED(p->noperands, sizeof(*p->operands)) +
		GPUCOL_WIRE_PADDED(p->nconstants, sizeof(*p->constants)) +
		GPUCOL_WIRE_PADDED(p->ntypes, sizeof(*p->types));
	char	   *body = calloc(1, size + 1);
	char	   *at = body;
	char	   *payload;
	bool		ok;
	GpucolStatus status;

	if (body == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	append(&at, p->relations, p->nrelations, sizeof(*p->relations));
	append(&at, p->rules, p->nrules, sizeof(*p->rules));
	append(&at, p->steps, p->nsteps, sizeof(*p->steps));
	append(&at, p->operands, p->noperands, sizeof(*p->operands));
	append(&at, p->constants, p->nconstants, sizeof(*p->constants));
	append(&at, p->types, p->ntypes, sizeof(*p->types));
	ok = gpucol_wire_send(run->wire, GPUCOL_WIRE_REC_START, &start, sizeof(start),
						  body, size);
	free(body);
	if (!ok)
		return broken(run);
	status = receive(run, GPUCOL_WIRE_REC_STATUS, sizeof(GpucolWireRecStatus),
					 &payload, &size);
	free(payload);
	return status;
}

/* Send rows at .. at + n - 1 of a relation. */
static bool
send_rows(GpucolRecRun *run, uint32_t relation, uint64_t at, uint32_t n)
{
	const Loaded *loaded = &run->loaded[relation];
	GpucolWireRecLoad head = {relation, n, run->any_null, 0};
	size_t		arity = (size_t) arity_of(run, relation);
	size_t		column = n * sizeof(int64_t);
	size_t		size = arity * (column + (run->any_null ? n : 0));
	char	   *body = malloc(size + 1);
	bool		ok;

	if (body == NULL)
		return false;
	for (size_t c = 0; c < arity; c++)
	{
		memcpy(body + column * c, loaded->columns[c] + at, column);
		if (run->any_null)
			memcpy(body + column * arity + n * c, loaded->nulls[c] + at, n);
	}
	ok = gpucol_wire_send(run->wire, GPUCOL_WIRE_REC_LOAD, &head, sizeof(head), body,
						  size);
	free(body);
	return ok;
}

/* Send everything that was loaded. */
static GpucolStatus
send_loaded(GpucolRecRun *run)
{
	for (uint32_t r = 0; r < run->plan->nrelations; r++)
		for (uint64_t at = 0; at < run->loaded[r].nrows; at += LOAD_ROWS)
		{
			uint64_t	n = run->loaded[r].nrows - at;

			if (!send_rows(run, r, at, (uint32_t) (n < LOAD_ROWS ? n : LOAD_ROWS)))
				return broken(run);
		}
	return GPUCOL_OK;
}

/* What a plan does that the device does not, or NULL (gpucol_rules_supported). */
static const char *
plan_beyond_device(const GpucolRecPlan *plan, const GpucolRecOptions *options)
{
	if (options->forms != 0)
		return "tell equal rows that look different apart";
	for (uint32_t i = 0; i < plan->nsteps; i++)
	{
		const GpucolRecStep *step = &plan->steps[i];

		if ((step->kind == GPUCOL_REC_COMPUTE || step->kind == GPUCOL_REC_TEST) &&
			step->function == GPUCOL_REC_HOST)
			return "compute expressions that only PostgreSQL can";
		if (step->kind == GPUCOL_REC_EXPAND)
			return "call functions that return rows";
		if (step->kind == GPUCOL_REC_AGGREGATE && step->function == GPUCOL_REC_SUM &&
			step->type == GPUCOL_REC_FLOAT8)
			return "sum floats";
	}
	if (plan->nchoices > 0)
		return "choose rows";
	return NULL;
}

static bool
connect_daemon(GpucolRecRun *run)
{
	const char *why;

	run->wire = gpucol_wire_open(&why);
	if (run->wire == NULL)
		snprintf(last_reason, sizeof(last_reason), "%s", why);
	else
		gpucol_wire_watch_cancel(run->wire, run->options.cancelled, run->options.context);
	return run->wire != NULL;
}

/* Connect, and send the plan and everything that was loaded. */
static GpucolStatus
begin(GpucolRecRun *run)
{
	const char *why = plan_beyond_device(run->plan, &run->options);
	GpucolStatus status;

	run->begun = true;
	if (why != NULL)
	{
		snprintf(last_reason, sizeof(last_reason),
				 "the device does not run recursions that %s", why);
		return GPUCOL_DEVICE_LOST;
	}
	if (run->wire == NULL && !connect_daemon(run))
		return GPUCOL_DEVICE_LOST;
	status = send_plan(run);
	return status == GPUCOL_OK ? send_loaded(run) : status;
}

/* Ask something about a relation and wait for the answer. */
static GpucolStatus
ask(GpucolRecRun *run, GpucolWireType question, GpucolWireType answer,
	uint32_t relation, size_t head, char **payload, size_t *size)
{
	GpucolWireRecAsk body = {relation, 0};
	GpucolStatus status = GPUCOL_OK;

	*payload = NULL;
	last_reason[0] = '\0';
	if (!run->begun)
		status = begin(run);
	else if (run->wire == NULL)
		status = GPUCOL_DEVICE_LOST;
	if (status != GPUCOL_OK)
		return status;
	if (!gpucol_wire_send(run->wire, question, &body, sizeof(body), NULL, 0))
		return broken(run);
	return receive(run, answer, head, payload, size);
}

/* An answer has come, or the CPU must take over; true in that case. */
static bool
must_fall_back(GpucolRecRun *run, GpucolStatus *status)
{
	if (!GPUCOL_STATUS_IS_FALLBACK(*status))
	{
		run->answered = true;
		free_loaded(run);
		return false;
	}
	if (run->answered)
		return false;
	*status = fall_back(run, reason_of(*status));
	return *status == GPUCOL_OK;
}

/* ---- beginning on the CPU engine ---- */

/* A trial asks whether the device can take the recursion over. */
static bool
device_is_there(void *context)
{
	return connect_daemon(context);
}

static void
end_trial(GpucolRecRun *run)
{
	if (run->trial != NULL)
		gpucol_rec_trial_end(run->trial);
	free(run->trial);
	run->trial = NULL;
}

/* The trial has shown that the device is better, or the only one with the memory for it. */
static void
leave_cpu(GpucolRecRun *run)
{
	if (run->cpu != NULL)
		gpucol_recursive_cpu.finish(run->cpu);
	run->cpu = NULL;
	end_trial(run);
	run->options.device_rows = 0;	/* it keeps it */
}

/*
 * Begin on the CPU engine, if the caller leaves it to us and it is not certain that the
 * device is worth it: few rows were loaded, or rows are read as rounds find them, after
 * the first of which there is no way back from a device whose rounds are too small.
 */
static GpucolStatus
begin_trial(GpucolRecRun *run, bool streams)
{
	GpucolRecOptions options = run->options;
	GpucolStatus status;
	uint64_t	rows = 0;

	for (uint32_t r = 0; r < run->plan->nrelations; r++)
		rows += run->loaded[r].nrows;
	if (options.device_rows == 0 || plan_beyond_device(run->plan, &options) != NULL ||
		(rows >= options.device_rows && !streams))
		return GPUCOL_OK;
	run->trial = malloc(sizeof(GpucolRecTrial));
	if (run->trial == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	snprintf(last_reason, sizeof(last_reason), "the device would not be faster");
	gpucol_rec_trial_begin(run->trial, rows, &options, device_is_there, run);
	/* on the device this may take rounds, as many as there are rows */
	run->trial->over = gpucol_recursive_one_pass(run->plan, &options);
	status = start_cpu(run, &options);
	run->trial->run = run->cpu;
	if (status == GPUCOL_OUT_OF_MEMORY)
	{
		leave_cpu(run);
		status = GPUCOL_OK;
	}
	return status;
}

/* The first question: where to begin? */
static GpucolStatus
choose(GpucolRecRun *run, uint32_t relation, bool rows)
{
	if (run->begun || run->cpu != NULL || run->answered)
		return GPUCOL_OK;
	return begin_trial(run, rows && gpucol_rec_trial_streams(run->plan, relation));
}

/* After a question to the CPU engine on trial: does the recursion begin anew on the device? */
static bool
goes_to_device(GpucolRecRun *run, GpucolStatus status)
{
	if (status != GPUCOL_UNPROFITABLE)
	{
		free_loaded(run);
		return false;
	}
	leave_cpu(run);
	return true;
}

/* ---- the engine table ---- */

static GpucolStatus
cuda_start(const GpucolRecPlan *plan, const GpucolRecOptions *options,
		   GpucolRecRun **out)
{
	GpucolRecRun *run = calloc(1, sizeof(GpucolRecRun));

	if (run == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	*out = run;
	run->plan = plan;
	run->options = *options;
	run->progress.threads = 1;
	gpucol_budget_open(&run->memory, options->memory_limit, options->budget);
	gpucol_owned_open(&run->rows, &run->memory);
	run->loaded = calloc(plan->nrelations + 1, sizeof(Loaded));
	return run->loaded == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

static GpucolStatus
cuda_load(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
		  const int64_t *const *columns, const uint8_t *const *nulls)
{
	if (run->cpu != NULL)
		return gpucol_recursive_cpu.load(run->cpu, relation, nrows, columns, nulls);
	return keep(run, relation, nrows, columns, nulls);
}

static GpucolStatus
cuda_next(GpucolRecRun *run, uint32_t relation, GpucolRecBatch *out)
{
	GpucolStatus status;
	GpucolWireRecRows head;
	size_t		size;
	int			arity = arity_of(run, relation);

	status = choose(run, relation, true);
	if (status != GPUCOL_OK)
		return status;
	if (run->trial != NULL)
	{
		status = gpucol_rec_trial_next(run->trial, run->plan, relation, out);
		if (!goes_to_device(run, status))
			return status;
	}
	if (run->cpu == NULL)
	{
		free(run->payload);
		status = ask(run, GPUCOL_WIRE_REC_NEXT, GPUCOL_WIRE_REC_ROWS, relation,
					 sizeof(head), &run->payload, &size);
		if (!must_fall_back(run, &status))
		{
			if (status != GPUCOL_OK)
				return status;
			memcpy(&head, run->payload, sizeof(head));
			if (head.nrows > UINT32_MAX ||
				size != sizeof(head) + head.nrows * (size_t) arity *
				(sizeof(int64_t) + (head.has_nulls != 0)))
				return GPUCOL_DEVICE_LOST;
			for (int c = 0; c < arity; c++)
			{
				run->columns[c] = (const int64_t *) (run->payload + sizeof(head)) +
					head.nrows * (uint64_t) c;
				run->nulls[c] = head.has_nulls == 0 ? NULL :
					(const uint8_t *) run->payload + sizeof(head) +
					head.nrows * ((size_t) arity * sizeof(int64_t) + (size_t) c);
			}
			out->nrows = (uint32_t) head.nrows;
			out->columns = run->columns;
			out->nulls = run->nulls;
			return GPUCOL_OK;
		}
	}
	return gpucol_recursive_cpu.next(run->cpu, relation, out);
}

static GpucolStatus
cuda_summarise(GpucolRecRun *run, uint32_t relation, const bool *want,
			   uint64_t *nrows, GpucolRecSummary *columns)
{
	GpucolStatus status;
	GpucolWireRecSummary head;
	char	   *payload = NULL;
	size_t		size;
	int			arity = arity_of(run, relation);

	status = choose(run, relation, false);
	if (status != GPUCOL_OK)
		return status;
	if (run->trial != NULL)
	{
		status = gpucol_rec_trial_summarise(run->trial, relation, want, nrows, columns);
		if (!goes_to_device(run, status))
			return status;
	}
	if (run->cpu == NULL)
	{
		status = ask(run, GPUCOL_WIRE_REC_SUMMARISE, GPUCOL_WIRE_REC_SUMMARY, relation,
					 sizeof(head), &payload, &size);
		if (!must_fall_back(run, &status))
		{
			if (status == GPUCOL_OK)
				memcpy(&head, payload, sizeof(head));
			if (status == GPUCOL_OK &&
				size != sizeof(head) + sizeof(GpucolWireRecColumn) * (size_t) arity)
				status = GPUCOL_DEVICE_LOST;
			for (int c = 0; c < arity && status == GPUCOL_OK; c++)
			{
				GpucolWireRecColumn column;

				memcpy(&column, payload + sizeof(head) + sizeof(column) * (size_t) c,
					   sizeof(column));
				columns[c].count = column.count;
				columns[c].sum = (__int128) (((unsigned __int128) (uint64_t) column.sum_hi << 64) |
											 column.sum_lo);
				columns[c].min = column.min;
				columns[c].max = column.max;
			}
			if (status == GPUCOL_OK)
				*nrows = head.nrows;
			free(payload);
			return status;
		}
		free(payload);
	}
	return gpucol_recursive_cpu.summarise(run->cpu, relation, want, nrows, columns);
}

static void
cuda_progress(const GpucolRecRun *run, GpucolRecProgress *out)
{
	if (run->cpu != NULL)
	{
		gpucol_recursive_cpu.progress(run->cpu, out);
		out->fallback = last_reason;
		return;
	}
	*out = run->progress;
	out->engine = "cuda";
}

static void
cuda_finish(GpucolRecRun *run)
{
	leave_daemon(run);
	if (run->cpu != NULL)
		gpucol_recursive_cpu.finish(run->cpu);
	end_trial(run);
	free_loaded(run);
	free(run->payload);
	free(run);
}

bool
gpucol_recursive_cuda_available(const char **why)
{
	return gpucol_service.available(why);
}

const GpucolRecursiveEngine gpucol_recursive_cuda = {
	.name = "cuda",
	.start = cuda_start,
	.load = cuda_load,
	.next = cuda_next,
	.summarise = cuda_summarise,
	.progress = cuda_progress,
	.finish = cuda_finish
};
