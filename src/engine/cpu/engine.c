/*-------------------------------------------------------------------------
 *
 * engine.c
 *	  The CPU engine's table of operations: starting and finishing a run.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/cpu.h"

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
	run->columns = GPUCOL_PROGRAM_ARRAY(program, const GpucolProgramColumn, columns);
	run->consts = GPUCOL_PROGRAM_ARRAY(program, const GpucolConst, consts);
	run->ranges = GPUCOL_PROGRAM_ARRAY(program, const GpucolRange, ranges);
	run->instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);
	run->classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	run->keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, keys);
	run->aggs = GPUCOL_PROGRAM_ARRAY(program, const GpucolAgg, aggs);
}

/* Register a (host predicate, column) pair. */
static void
add_host(GpucolRun *run, int id, uint16_t column)
{
	for (int i = 0; i < run->nhosts; i++)
		if (run->hosts[i].id == id && run->hosts[i].column == column)
			return;
	run->hosts[run->nhosts].id = id;
	run->hosts[run->nhosts].column = column;
	run->nhosts++;
}

/* Column that a register was loaded from. */
static uint16_t
loaded_column(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->instrs[i].dst == reg)
			return (uint16_t) run->instrs[i].aux;
	return 0;
}

/* Which columns and host predicates does the program use? */
static GpucolStatus
find_uses(GpucolRun *run)
{
	const GpucolProgram *program = run->program;

	run->cols = gpucol_cpu_alloc0(run, sizeof(GpucolCpuColumn) * (program->ncolumns + 1u));
	run->hosts = gpucol_cpu_alloc0(run, sizeof(GpucolCpuHostTest) *
								   (program->nranges + program->ninstrs + 1u));
	if (run->cols == NULL || run->hosts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < program->ncolumns; c++)
		run->cols[c].slot = c;
	for (int r = 0; r < program->nranges; r++)
	{
		run->cols[run->ranges[r].column].used = true;
		if (run->ranges[r].op == GPUCOL_RANGE_HOST)
			add_host(run, (int) run->ranges[r].n, run->ranges[r].column);
	}
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->instrs[i];

		if (instr->op <= GPUCOL_OP_LOAD_S)
			run->cols[instr->aux].used = run->cols[instr->aux].loaded = true;
		else if (instr->op == GPUCOL_OP_HOST_TEST)
			add_host(run, instr->aux, loaded_column(run, instr->a));
	}
	return GPUCOL_OK;
}

/* Note that register `reg` is read after the filter. */
static void
keep_reg(GpucolRun *run, uint16_t reg)
{
	if (reg < run->program->nregs)
		run->keep[reg] = true;
}

/* Which registers of the filter are read after it? */
static GpucolStatus
find_kept(GpucolRun *run)
{
	const GpucolProgram *program = run->program;

	run->keep = gpucol_cpu_alloc0(run, program->nregs + 1u);
	run->unread = gpucol_cpu_alloc0(run, program->nregs + 1u);
	run->bounds = gpucol_cpu_alloc0(run, sizeof(GpucolCpuBounds) * (program->nregs + 1u));
	if (run->keep == NULL || run->unread == NULL || run->bounds == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = program->nfilter_instrs; i < program->ninstrs; i++)
	{
		keep_reg(run, run->instrs[i].a);
		keep_reg(run, run->instrs[i].b);
		keep_reg(run, run->instrs[i].c);
		keep_reg(run, run->instrs[i].mask);
	}
	for (int k = 0; k < program->nkeys; k++)
		keep_reg(run, run->keys[k]);
	for (int a = 0; a < program->naggs; a++)
	{
		keep_reg(run, run->aggs[a].arg);
		keep_reg(run, run->aggs[a].filter);
	}
	/* constants need no moving, and later registers are not there yet */
	for (int i = 0; i < program->ninstrs; i++)
		if (i >= program->nfilter_instrs ||
			(run->instrs[i].op >= GPUCOL_OP_CONST_I &&
			 run->instrs[i].op <= GPUCOL_OP_CONST_B))
			run->keep[run->instrs[i].dst] = false;
	return GPUCOL_OK;
}

/* Scratch of one worker. */
static GpucolStatus
init_worker(GpucolRun *run, int index)
{
	GpucolCpuWorker *worker = &run->workers[index];
	size_t		n = GPUCOL_VECTOR_VALUES;

	worker->run = run;
	worker->index = index;
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
	GpucolStatus status = GPUCOL_OK;

	if (threads > GPUCOL_CPU_MAX_THREADS)
		threads = GPUCOL_CPU_MAX_THREADS;
	run->nworkers = gpucol_pool_ready(threads);
	run->stats.threads = run->nworkers;
	run->workers = gpucol_cpu_alloc0(run, sizeof(GpucolCpuWorker) * (size_t) run->nworkers);
	if (run->workers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int w = 0; w < run->nworkers && status == GPUCOL_OK; w++)
		status = init_worker(run, w);
	return status;
}

static void
cpu_finish(GpucolRun *run)
{
	if (run == NULL)
		return;
	gpucol_owned_free_all(&run->memory);
	free(run);
}

static GpucolStatus
cpu_start(const GpucolProgram *program, GpucolSource *source, const GpucolHost *host,
		  const GpucolRunOptions *options, GpucolRun **result, const char **why)
{
	GpucolRun  *run;
	GpucolStatus status;

	*result = NULL;
	status = gpucol_cpu_expr_check(program, why);
	if (status != GPUCOL_OK)
		return status;
	*why = "out of memory";
	run = aligned_alloc(_Alignof(GpucolRun), sizeof(GpucolRun));
	if (run == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memset(run, 0, sizeof(*run));
	gpucol_budget_open(&run->budget, options->memory_limit, options->budget);
	gpucol_owned_open(&run->memory, &run->budget);
	run->source = source;
	run->host = host;
	run->window_limit = options->window_limit;
	run->scan_window = run->raw_window = 1;
	run->pace = GPUCOL_CPU_FIRST_PACE;
	run->checked = options->checked;
	run->take = options->take;
	run->take_arg = options->take_arg;
	open_program(run, program);
	status = find_uses(run);
	if (status == GPUCOL_OK)
		status = find_kept(run);
	if (status == GPUCOL_OK)
		status = gpucol_cpu_range_init(run);
	if (status == GPUCOL_OK)
		status = init_workers(run, options->threads);
	if (status == GPUCOL_OK)
	{
		run->work = gpucol_cpu_alloc0(run, sizeof(GpucolCpuVector) * GPUCOL_CPU_WINDOW);
		status = run->work == NULL ? GPUCOL_OUT_OF_MEMORY :
			program->kind == GPUCOL_PROGRAM_AGG ? gpucol_cpu_agg_init(run) :
			gpucol_cpu_scan_init(run);
	}
	if (status != GPUCOL_OK)
	{
		*why = status == GPUCOL_UNSUPPORTED ?
			"an aggregate or range that the CPU engine does not do" :
			"out of memory";
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
		run->ended = run->program->kind == GPUCOL_PROGRAM_AGG ?
			gpucol_cpu_agg_next(run, out) : gpucol_cpu_scan_next(run, out);
	return run->ended;
}

static void
cpu_stats(const GpucolRun *run, GpucolRunStats *out)
{
	*out = run->stats;
	for (int w = 0; w < run->nworkers; w++)
		out->vectors_read += run->workers[w].vectors_read;
	out->vectors_read -= run->delta_batches;
}

const GpucolEngine gpucol_engine_cpu = {
	.name = "cpu",
	.available = cpu_available,
	.start = cpu_start,
	.next = cpu_next,
	.stats = cpu_stats,
	.finish = cpu_finish,
};
