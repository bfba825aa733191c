/*-------------------------------------------------------------------------
 *
 * engine.c
 *	  The CPU engine's table of operations: starting and finishing a run.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/build.h"
#include "engine/cpu/expr.h"
#include "engine/cpu/expr_alike.h"
#include "engine/cpu/few.h"
#include "engine/cpu/items.h"
#include "engine/cpu/join.h"

static bool
cpu_available(const char **why)
{
	*why = NULL;
	return true;
}

/* Point at the program's arrays. */
static void
open_program(GpucolRun *run, const GpucolProgram *program)
{
	run->program = program;
	run->code.columns = GPUCOL_PROGRAM_ARRAY(program, const GpucolProgramColumn, columns);
	run->code.consts = GPUCOL_PROGRAM_ARRAY(program, const GpucolConst, consts);
	run->code.ranges = GPUCOL_PROGRAM_ARRAY(program, const GpucolRange, ranges);
	run->code.instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);
	run->code.classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	run->code.keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, keys);
	run->code.aggs = GPUCOL_PROGRAM_ARRAY(program, const GpucolAgg, aggs);
	run->code.payloads = GPUCOL_PROGRAM_ARRAY(program, const GpucolPayload, payloads);
	run->join.nprobes = program->nprobes;
	run->join.last_section = program->nfilter_instrs;
}

/* Register a (host predicate or function, column) pair; those of payload follow all others. */
static GpucolStatus
add_host(GpucolRun *run, int id, uint16_t column, bool by_instr, bool maps)
{
	int			n = run->digest.nhosts + run->digest.npayload_hosts;

	for (int i = 0; i < n; i++)
		if (run->digest.hosts[i].id == id && run->digest.hosts[i].column == column)
		{
			run->digest.hosts[i].by_instr |= by_instr;
			return GPUCOL_OK;
		}
	if (maps)
	{
		run->digest.hosts[n].mapped = gpucol_cpu_alloc0(run, sizeof(GpucolCpuMapped));
		if (run->digest.hosts[n].mapped == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	run->digest.hosts[n].by_instr = by_instr;
	run->digest.hosts[n].id = id;
	run->digest.hosts[n].column = column;
	if (column < run->program->ncolumns)
		run->digest.nhosts++;
	else
		run->digest.npayload_hosts++;
	return GPUCOL_OK;
}

/* Does an instruction make a part of a string? */
static bool
takes_part(const GpucolInstr *instr)
{
	return (instr->op >= GPUCOL_OP_PART_S && instr->op <= GPUCOL_OP_FIELD_S) || instr->op == GPUCOL_OP_ARRAY_ITEM_S;
}

/* Column that a register was loaded from, or is a part of. */
static uint16_t
loaded_column(const GpucolRun *run, uint16_t reg)
{
	for (int i = run->program->ninstrs - 1; i >= 0; i--)
		if (run->code.instrs[i].dst == reg && takes_part(&run->code.instrs[i]))
			reg = run->code.instrs[i].a;
		else if (run->code.instrs[i].dst == reg)
			return run->code.instrs[i].op == GPUCOL_OP_LOAD_S ? (uint16_t) run->code.instrs[i].aux : UINT16_MAX;
	return UINT16_MAX;
}

/* Register the host predicates and functions on columns of the source, or on payload. */
static GpucolStatus
add_hosts(GpucolRun *run, bool payload)
{
	const GpucolProgram *program = run->program;
	GpucolStatus status = GPUCOL_OK;

	for (int r = 0; r < program->nranges && !payload && status == GPUCOL_OK; r++)
		if (run->code.ranges[r].op == GPUCOL_RANGE_HOST)
			status = add_host(run, (int) run->code.ranges[r].n, run->code.ranges[r].column, false, false);
	for (int i = 0; i < program->ninstrs && status == GPUCOL_OK; i++)
		if (run->code.instrs[i].op == GPUCOL_OP_HOST_TEST || run->code.instrs[i].op == GPUCOL_OP_HOST_MAP)
		{
			uint16_t	column = loaded_column(run, run->code.instrs[i].a);

			if ((column >= program->ncolumns) == payload)
				status = add_host(run, run->code.instrs[i].aux, column, true,
								  run->code.instrs[i].op == GPUCOL_OP_HOST_MAP);
		}
	return status;
}

/* Which columns and host predicates does the program use? */
static GpucolStatus
find_uses(GpucolRun *run)
{
	const GpucolProgram *program = run->program;
	GpucolStatus status;

	run->input.cols = gpucol_cpu_alloc0(run, sizeof(GpucolCpuColumn) *
										(program->ncolumns + program->npayloads + 1u));
	run->digest.hosts = gpucol_cpu_alloc0(run, sizeof(GpucolCpuHostTest) *
										  (program->nranges + program->ninstrs + 1u));
	if (run->input.cols == NULL || run->digest.hosts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < program->ncolumns; c++)
		run->input.cols[c].slot = c;
	for (int r = 0; r < program->nranges; r++)
		run->input.cols[run->code.ranges[r].column].used = true;
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->op <= GPUCOL_OP_LOAD_S && instr->aux < program->ncolumns)
			run->input.cols[instr->aux].used = run->input.cols[instr->aux].loaded = true;
	}
	for (int i = 0; i < program->ninstrs; i++)
		if (run->code.instrs[i].op == GPUCOL_OP_LENGTH_S &&
			(run->code.instrs[i].aux & GPUCOL_TEXT_BYTES) == 0 &&
			loaded_column(run, run->code.instrs[i].a) != UINT16_MAX)
			run->input.cols[loaded_column(run, run->code.instrs[i].a)].measured = true;
	status = add_hosts(run, false);
	if (status == GPUCOL_OK)
		status = add_hosts(run, true);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_blocks_init(run);
	return status == GPUCOL_OK ? gpucol_cpu_alike_init(run) : status;
}

typedef struct Setup
{
	GpucolRun  *run;
	GpucolStatus (*init) (GpucolRun *run, GpucolCpuWorker *worker);
} Setup;

static void
init_share(void *arg, int index)
{
	const Setup *setup = arg;
	GpucolCpuWorker *worker = &setup->run->workers[index];

	worker->status = setup->init(setup->run, worker);
}

GpucolStatus
gpucol_cpu_init_workers(GpucolRun *run, GpucolStatus (*init) (GpucolRun *run, GpucolCpuWorker *worker))
{
	Setup		setup = {run, init};

	gpucol_pool_run(run->nworkers, init_share, &setup);
	return gpucol_cpu_workers_status(run);
}

/* Scratch of one worker. */
static GpucolStatus
init_worker(GpucolRun *run, GpucolCpuWorker *worker)
{
	size_t		n = GPUCOL_VECTOR_VALUES;

	worker->run = run;
	worker->index = (int) (worker - run->workers);
	worker->codes32 = gpucol_cpu_alloc0(run, sizeof(uint32_t) * n);
	worker->codes64 = gpucol_cpu_alloc0(run, sizeof(uint64_t) * n);
	worker->words = gpucol_cpu_alloc0(run, GPUCOL_ROW_BYTES * 64);
	worker->valid = gpucol_cpu_alloc0(run, n);
	worker->ids = gpucol_cpu_alloc0(run, sizeof(uint32_t) * n);
	worker->hashes = gpucol_cpu_alloc0(run, sizeof(uint64_t) * n);
	if (worker->codes32 == NULL || worker->codes64 == NULL || worker->words == NULL ||
		worker->valid == NULL || worker->ids == NULL || worker->hashes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	return gpucol_cpu_expr_init(run, worker);
}

/* Workers and, for more than one, their threads. */
static GpucolStatus
init_workers(GpucolRun *run, int threads)
{
	if (threads > GPUCOL_CPU_MAX_THREADS)
		threads = GPUCOL_CPU_MAX_THREADS;
	run->nworkers = gpucol_pool_ready(threads);
	run->stats.threads = run->nworkers;
	run->workers = gpucol_cpu_alloc0(run, sizeof(GpucolCpuWorker) * (size_t) run->nworkers);
	if (run->workers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	return gpucol_cpu_init_workers(run, init_worker);
}

static void
cpu_finish(GpucolRun *run)
{
	if (run == NULL)
		return;
	gpucol_lookup_free(run->join.lookup);
	gpucol_owned_free_all(&run->mem.owned);
	free(run);
}

static GpucolStatus
cpu_start(const GpucolProgram *program, GpucolSource *source, const GpucolHost *host,
		  const GpucolRunOptions *options, GpucolRun **result, const char **why)
{
	GpucolRun  *run;
	GpucolStatus status;

	*result = NULL;
	*why = NULL;
	status = gpucol_cpu_expr_check(program, why);
	if (status != GPUCOL_OK)
		return status;
	run = aligned_alloc(_Alignof(GpucolRun), sizeof(GpucolRun));
	if (run == NULL)
	{
		*why = "out of memory";
		return GPUCOL_OUT_OF_MEMORY;
	}
	memset(run, 0, sizeof(*run));
	gpucol_budget_open(&run->mem.budget, options->memory_limit, options->budget);
	gpucol_owned_open(&run->mem.owned, &run->mem.budget);
	run->source = source;
	run->host = host;
	run->mem.window_limit = options->window_limit;
	run->window.scan = 1;
	run->window.pace = GPUCOL_CPU_FIRST_PACE;
	run->out.checked = options->checked;
	run->input.look_ahead = options->look_ahead;
	run->agg.first = options->first;
	run->agg.large_batches = options->large_batches;
	run->out.top = options->top;
	run->out.take = options->take;
	run->out.take_arg = options->take_arg;
	run->mem.limit = options->memory_limit;
	run->mem.parent = options->budget;
	run->join.part = options->part;
	run->join.lookups = options->lookups;
	run->join.turns = options->turns;
	run->join.next_turn = options->next_turn;
	run->join.next_turn_arg = options->next_turn_arg;
	open_program(run, program);
	status = find_uses(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_fold_init(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_few_init(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_live_init(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_range_init(run);
	if (status == GPUCOL_OK)
		status = init_workers(run, options->threads);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_join_init(run, options, why);
	if (status == GPUCOL_OK)
	{
		gpucol_cpu_items_init(run);
		run->window.work = gpucol_cpu_alloc0(run, sizeof(GpucolCpuVector) * GPUCOL_CPU_WINDOW);
		status = run->window.work == NULL ? GPUCOL_OUT_OF_MEMORY :
			program->kind == GPUCOL_PROGRAM_AGG ? gpucol_cpu_agg_init(run) :
			program->kind == GPUCOL_PROGRAM_BUILD ? gpucol_cpu_build_init(run) :
			gpucol_cpu_scan_init(run);
	}
	if (status != GPUCOL_OK)
	{
		if (status != GPUCOL_UNSUPPORTED)
			*why = "out of memory";
		else if (*why == NULL)
			*why = "an aggregate or range that the CPU engine does not do";
		cpu_finish(run);
		return status;
	}
	*why = NULL;
	*result = run;
	return GPUCOL_OK;
}

static GpucolStatus
cpu_next(GpucolRun *run, GpucolResult *out)
{
	if (run->ended == GPUCOL_OK)
		run->ended = run->program->kind == GPUCOL_PROGRAM_AGG ? gpucol_cpu_agg_next(run, out) :
			run->program->kind == GPUCOL_PROGRAM_SCAN ? gpucol_cpu_scan_next(run, out) :
			GPUCOL_UNSUPPORTED;
	return run->ended;
}

static void
cpu_stats(const GpucolRun *run, GpucolRunStats *out)
{
	*out = run->stats;
	for (int w = 0; w < run->nworkers; w++)
	{
		out->vectors_read += run->workers[w].vectors_read;
		out->branch_rows += run->workers[w].branch_rows;
		out->branch_taken += run->workers[w].branch_taken;
	}
	out->vectors_read -= run->input.delta_batches;
}

static void
cpu_probe_figures(const GpucolRun *run, int probe, GpucolProbeFigures *out)
{
	memset(out, 0, sizeof(*out));
	for (int w = 0; w < run->nworkers && probe < run->join.nprobes; w++)
	{
		out->probed += run->workers[w].trail->figures[probe].probed;
		out->found += run->workers[w].trail->figures[probe].found;
		out->bounded |= run->workers[w].trail->figures[probe].bounded;
		out->pairs += run->workers[w].trail->figures[probe].pairs;
	}
}

const GpucolEngine gpucol_engine_cpu = {
	.name = "cpu",
	.available = cpu_available,
	.start = cpu_start,
	.next = cpu_next,
	.build = gpucol_cpu_build,
	.lookup_figures = gpucol_lookup_figures,
	.lookup_view = gpucol_lookup_view,
	.lookup_string = gpucol_lookup_string,
	.lookup_free = gpucol_lookup_free,
	.stats = cpu_stats,
	.probe_figures = cpu_probe_figures,
	.finish = cpu_finish,
};
