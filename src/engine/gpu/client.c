/*-------------------------------------------------------------------------
 *
 * client.c
 *	  The CUDA engine as a server process sees it: it gathers what a scan sees,
 *	  sends the daemon what is not resident, and reads the result.
 *
 * Everything happens in start, since the answer comes as a whole: note the segments
 * (or find them noted, engine/gpu/manifest.c) and read the delta rows, announce the request,
 * send what the daemon asks for, and wait.  Until the
 * first batch is handed out every failure of the device is a status that another
 * engine can still answer.  An error of the user's expression is kept for next.
 *
 * The steps have files of their own (engine/gpu/run.h).  Freestanding C; service/service.h stands
 * between this and the process.
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/engine.h"
#include "engine/gpu/run.h"
#include "service/service.h"

static char reason[200];		/* outlives the run: *why points here */

GpucolStatus
gpucol_gpu_refuse(const char **why, GpucolStatus status, const char *text)
{
	snprintf(reason, sizeof(reason), "%s", text);
	*why = reason;
	return status;
}

GpucolStatus
gpucol_gpu_lost(const char **why)
{
	const char *text;
	GpucolStatus status = gpucol_wire_failure(&text);

	return gpucol_gpu_refuse(why, status, text);
}

/* Memory of who reads rows of a result: it is the run's, whatever interrupts the reading. */
static void *
late_alloc(void *context, size_t size)
{
	return gpucol_owned_alloc(context, size);
}

static void
late_free(void *context, void *memory)
{
	gpucol_owned_free(context, memory);
}

/* Is register r used otherwise than by IS NULL? */
static bool
value_is_used(const GpucolProgram *p, uint16_t r)
{
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);
	const uint16_t *probe_keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, probe_keys);

	for (int i = 0; i < p->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_HOST_TEST && in[i].a == r)
			return true;
	for (int i = 0; i < p->nprobe_keys; i++)
		if (probe_keys[i] == r)
			return true;
	for (int i = 0; i < p->nkeys; i++)
		if (keys[i] == r)
			return true;
	for (int i = 0; i < p->naggs; i++)
		if (aggs[i].arg == r && aggs[i].op != GPUCOL_AGG_COUNT)
			return true;
	return false;
}

/* The slot of what was found so far, -1 for nothing, and of one more. */
static int
same_slot(int found, int slot)
{
	return found == -1 || found == slot ? slot : -2;
}

int
gpucol_gpu_host_slot(const GpucolProgram *p, int id)
{
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	int			slot = -1;

	for (int i = 0; i < p->nranges; i++)
		if (ranges[i].op == GPUCOL_RANGE_HOST && (int) ranges[i].n == id)
			slot = same_slot(slot, ranges[i].column);
	for (int i = 0; i < p->ninstrs; i++)
		if (in[i].op == GPUCOL_OP_HOST_TEST && in[i].aux == id)
			slot = same_slot(slot, gpucol_gpu_bytes_slot(p, in[i].a));
	return slot;
}

GpucolStatus
gpucol_gpu_run_examine(GpucolGpuRun *run, const char **why)
{
	const GpucolProgram *p = run->program;
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns);
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);

	for (int a = 0; a < p->naggs; a++)
	{
		if (aggs[a].op == GPUCOL_AGG_PRODUCTS)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "an aggregate of two arguments");
		if (aggs[a].op == GPUCOL_AGG_BIT_XOR)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "an aggregate of bits");
		if ((aggs[a].op == GPUCOL_AGG_BOOL_AND || aggs[a].op == GPUCOL_AGG_BOOL_OR) &&
			aggs[a].cls != GPUCOL_CLASS_B)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "an aggregate of bits");
	}
	for (int i = 0; i < p->ninstrs; i++)
	{
		if (in[i].op >= GPUCOL_OP_LENGTH_S && in[i].op <= GPUCOL_OP_LT_S)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a function of texts");
		if (in[i].op == GPUCOL_OP_CHECK_I && in[i].aux == GPUCOL_WIDTH_NONE)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a subquery that a row may ask for");
		if (in[i].op >= GPUCOL_OP_MATH_F)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a quotient of numerics, a function of floats or dates, or bits, which the host computes");
	}
	if (run->source->in_parts)
		return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "other processes read parts of the same segments");
	for (int id = 0; id < GPUCOL_WIRE_MAX_HOST; id++)
		if (gpucol_gpu_host_slot(p, id) == -2)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a condition on the values of two columns of bytes");
	run->norders = gpucol_gpu_orders_find(p, run->orders);
	if (run->norders < 0)
		return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a least or greatest value that is no column's");
	if (p->nkeys > GPUCOL_GPU_OUTPUTS)
		return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "more output columns than the device takes");
	for (int c = 0; c < p->ncolumns; c++)
	{
		if (columns[c].kind != GPUCOL_KIND_BYTES)
			continue;
		run->bytes[c] = GPUCOL_BYTES_NULLS;
		for (int i = 0; i < p->ninstrs; i++)
			if (in[i].op == GPUCOL_OP_LOAD_S && in[i].aux == c && value_is_used(p, in[i].dst))
				run->bytes[c] = GPUCOL_BYTES_NUMBERS;
		for (int i = 0; i < p->nranges; i++)
			if (ranges[i].op == GPUCOL_RANGE_HOST && ranges[i].column == c)
				run->bytes[c] = GPUCOL_BYTES_NUMBERS;
		if (run->bytes[c] == GPUCOL_BYTES_NUMBERS && c >= GPUCOL_GPU_BYTES_SLOTS)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "more columns of bytes than the device takes");
	}
	return GPUCOL_OK;
}

bool
gpucol_gpu_run_fits(GpucolGpuRun *run, uint64_t more)
{
	uint64_t	counted = run->memory.used;
	uint64_t	held = more + GPUCOL_GPU_BATCH_ROWS * (8 + sizeof(GpucolBytes) * (uint64_t) run->program->nkeys) +
		run->delta.space * 8 * (uint64_t) (run->program->ncolumns + 1);

	held += run->numbering.numbered_bytes + run->numbering.remap_bytes;
	for (int c = 0; c < run->ncolumns; c++)
		held += run->late.dictionaries[c] == NULL ? 0 : gpucol_gpu_dictionary_bytes(run->late.dictionaries[c]);
	for (int i = 0; i < run->norders; i++)
		held += run->orders[i].numbers == NULL ? 0 : sizeof(uint32_t) * ((uint64_t) run->orders[i].n + 1);
	held += gpucol_gpu_manifest_bytes(run->manifest) - run->manifest->counted;
	if (held > counted)
		return gpucol_budget_reserve(&run->memory, held - counted);
	gpucol_budget_release(&run->memory, counted - held);
	return true;
}

GpucolGpuRun *
gpucol_gpu_run_create(const GpucolProgram *program, GpucolSource *source, const GpucolHost *host)
{
	GpucolGpuRun *run = calloc(1, sizeof(GpucolGpuRun));
	size_t		n = program->ncolumns + 1u;

	if (run == NULL)
		return NULL;
	run->program = program;
	run->ncolumns = program->ncolumns;
	run->source = source;
	run->host = host;
	run->table = -1;
	run->bytes = calloc(n, sizeof(GpucolBytesUse));
	run->late.dictionaries = calloc(n, sizeof(void *));
	gpucol_owned_open(&run->late.blocks, NULL);
	run->late.memory = (GpucolMemory) {late_alloc, late_free, &run->late.blocks};
	run->orders = calloc(program->naggs + 1u, sizeof(GpucolGpuOrder));
	run->delta.codes = calloc(n, sizeof(void *));
	run->delta.nulls = calloc(n, sizeof(void *));
	run->delta.has_nulls = calloc(n, sizeof(bool));
	if (run->bytes == NULL || run->late.dictionaries == NULL || run->orders == NULL || run->delta.codes == NULL ||
		run->delta.nulls == NULL || run->delta.has_nulls == NULL)
	{
		gpucol_gpu_run_free(run);
		return NULL;
	}
	return run;
}

void
gpucol_gpu_run_free(GpucolGpuRun *run)
{
	if (run == NULL)
		return;
	gpucol_gpu_result_free(run);
	gpucol_gpu_lookups_free(run);
	if (run->asking)
		gpucol_wire_drop();
	if (run->table >= 0)
		gpucol_wire_forget_table(run->serial, run->table);
	gpucol_gpu_manifest_release(run->manifest);
	gpucol_gpu_delta_free(run);
	for (int i = 0; i < run->norders; i++)
		free(run->orders[i].numbers);
	free(run->orders);
	for (int c = 0; run->late.dictionaries != NULL && c < run->ncolumns; c++)
		gpucol_gpu_dictionary_free(run->late.dictionaries[c]);
	free(run->late.dictionaries);
	gpucol_owned_free_all(&run->late.blocks);
	free(run->bytes);
	free(run->numbering.remap);
	free(run->numbering.codes);
	free(run->scratch);
	free(run->payload);
	free(run->needed);
	gpucol_budget_close(&run->memory);
	free(run);
}

/* ---- the engine ---- */

static bool
cuda_available(const char **why)
{
	return gpucol_service.available(why);
}

/* The handle is a run of this engine. */
static inline GpucolGpuRun *
own(const GpucolRun *run)
{
	return (GpucolGpuRun *) run;
}

static GpucolStatus
cuda_start(const GpucolProgram *program, GpucolSource *source,
		   const GpucolHost *host, const GpucolRunOptions *options,
		   GpucolRun **handle, const char **why)
{
	GpucolGpuRun *run;
	GpucolStatus status;

	*handle = NULL;
	if (gpucol_gpu_build_obstacle(program) != NULL)
		return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, gpucol_gpu_build_obstacle(program));
	run = gpucol_gpu_run_create(program, source, host);
	if (run == NULL)
		return gpucol_gpu_refuse(why, GPUCOL_OUT_OF_MEMORY, "out of memory");
	*handle = (GpucolRun *) run;
	run->shape = options->shape;
	/* a device groups all rows, and has nothing to divide by where any groups will do */
	run->first = program->kind == GPUCOL_PROGRAM_AGG && options->first != NULL &&
		options->first->nkeys + options->first->ntests > 0 ? options->first : NULL;
	run->jit = options->jit;
	run->in_place = options->in_place && program->kind == GPUCOL_PROGRAM_AGG;
	gpucol_budget_open(&run->memory, options->memory_limit, options->budget);
	status = gpucol_gpu_lookups_open(run, options, why);
	if (status == GPUCOL_OK)
		status = gpucol_gpu_request(run, why);
	if (status != GPUCOL_OK && !GPUCOL_STATUS_IS_FALLBACK(status))
	{
		run->error = status;
		return GPUCOL_OK;
	}
	if (status != GPUCOL_OK)
	{
		gpucol_gpu_run_free(run);
		*handle = NULL;
	}
	return status;
}

static GpucolStatus
cuda_next(GpucolRun *handle, GpucolResult *out)
{
	return gpucol_gpu_result_next(own(handle), out);
}

static void
cuda_finish(GpucolRun *handle)
{
	gpucol_gpu_run_free(own(handle));
}

static void
cuda_stats(const GpucolRun *handle, GpucolRunStats *out)
{
	const GpucolGpuRun *run = own(handle);

	memset(out, 0, sizeof(*out));
	out->segments_read = run->answer.result.nsegments;
	out->segments_skipped = run->answer.result.segments_skipped;
	out->delta_rows = run->delta.nrows;
	out->packed_bytes = run->answer.result.packed_bytes;
	out->device_seconds = run->answer.result.device_seconds;
	out->daemon_seconds = run->answer.result.daemon_seconds;
	out->lookup_seconds = run->answer.result.lookup_seconds;
	out->plan_seconds = run->answer.result.plan_seconds;
	out->work_seconds = run->answer.result.work_seconds;
	out->begin_seconds = run->answer.result.begin_seconds;
	out->end_seconds = run->answer.result.end_seconds;
	out->note_seconds = run->note_seconds;
	out->ask_seconds = run->ask_seconds;
	out->fetch_seconds = run->fetch_seconds;
	out->devices = (int) run->answer.result.ndevices;
	out->batches = (int) run->answer.result.nbatches;
	out->threads = 1;
	memcpy(out->kernel, run->answer.result.kernel, sizeof(out->kernel) - 1);
	memcpy(out->note, run->answer.result.note, sizeof(out->note) - 1);
}

static void
cuda_probe_figures(const GpucolRun *handle, int probe, GpucolProbeFigures *out)
{
	const GpucolGpuRun *run = own(handle);

	memset(out, 0, sizeof(*out));
	out->probed = probe < GPUCOL_WIRE_MAX_PROBES ? run->answer.result.probed[probe] : 0;
	out->found = probe < GPUCOL_WIRE_MAX_PROBES ? run->answer.result.found[probe] : 0;
}

const GpucolEngine gpucol_engine_cuda = {
	.name = "cuda",
	.available = cuda_available,
	.start = cuda_start,
	.next = cuda_next,
	.build = gpucol_gpu_build,
	.lookup_figures = gpucol_gpu_lookup_figures,
	.lookup_view = gpucol_gpu_lookup_view,
	.lookup_free = gpucol_gpu_lookup_free,
	.stats = cuda_stats,
	.probe_figures = cuda_probe_figures,
	.finish = cuda_finish,
};
