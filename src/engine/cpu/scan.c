/*-------------------------------------------------------------------------
 *
 * scan.c
 *	  Output rows of a SCAN.
 *
 * Workers copy the output registers of their vectors into buffers of the run,
 * one for each vector of a window, which next then delivers in order.  Nothing
 * delivered points into a window: bytes live in dictionaries and copies that
 * the run keeps until the next window.  Where the host takes rows in the threads
 * that have them, a worker has one buffer, which it hands on at once.
 *
 * With probes, whose rows come in batches of any number, a worker fills buffers of its
 * own, up to a number at which it pauses.
 *
 * Windows run ahead of the host, which may stop at any row (LIMIT): an error that a
 * row raises is delivered in the row's place, behind all rows before it.
 *
 * Rows once emitted are final, so what this engine must leave to another is
 * found before the first: a first pass over the descriptors of all segments,
 * where the program reads a column whose chunks may differ in kind or scale
 * and the source can be scanned again.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"

#define FIRST_BLOCK UINT64_C(0x80000000)	/* of virtual TIDs */
#define BLOCK_ROWS 256

/* Row identity of a segment row, as the storage layer numbers them. */
static uint64_t
virtual_tid(uint64_t row)
{
	return (FIRST_BLOCK + row / BLOCK_ROWS) << 16 | (1 + row % BLOCK_ROWS);
}

/* Bytes of a value of a register. */
static size_t
value_size(GpucolClass cls)
{
	return cls == GPUCOL_CLASS_D || cls == GPUCOL_CLASS_S ? 16 : 8;
}

/* Texts of outputs that instructions have made, which lie in registers until these run again. */
struct GpucolCpuTexts
{
	struct GpucolCpuTexts *before;
	size_t		room;
	size_t		used;
	char		bytes[];
};

/* Let go of an output's texts, but for the room of the last. */
static void
forget_texts(GpucolRun *run, GpucolCpuOutput *output)
{
	if (output->made == NULL)
		return;
	while (output->made->before != NULL)
	{
		struct GpucolCpuTexts *before = output->made->before;

		output->made->before = before->before;
		gpucol_cpu_free(run, before);
	}
	output->made->used = 0;
}

/* Room for texts; NULL without memory. */
static char *
reserve_texts(GpucolRun *run, GpucolCpuOutput *output, size_t size)
{
	struct GpucolCpuTexts *texts = output->made;

	if (texts == NULL || texts->room - texts->used < size)
	{
		size_t		room = size + size / 2;

		texts = gpucol_cpu_alloc(run, sizeof(*texts) + room);
		if (texts == NULL)
			return NULL;
		texts->before = output->made;
		texts->room = room;
		texts->used = 0;
		output->made = texts;
	}
	texts->used += size;
	return texts->bytes + texts->used - size;
}

/* Have n values that an instruction has made where they stay. */
static GpucolStatus
keep_texts(GpucolRun *run, GpucolCpuOutput *output, const GpucolCpuReg *reg, GpucolBytes *values, uint32_t n)
{
	size_t		size = 1;
	char	   *to;

	for (uint32_t j = 0; j < n; j++)
		size += GPUCOL_CPU_NULL_AT(reg, j) ? 0 : values[j].len;
	to = reserve_texts(run, output, size);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < n; j++)
	{
		if (GPUCOL_CPU_NULL_AT(reg, j))
			continue;
		memcpy(to, values[j].data, values[j].len);
		values[j].data = to;
		to += values[j].len;
	}
	return GPUCOL_OK;
}

/* Buffers of one vector's outputs. */
static GpucolStatus
init_buffer(GpucolRun *run, GpucolCpuOutput *output)
{
	size_t		n = run->program->nkeys;

	output->tids = gpucol_cpu_alloc(run, sizeof(uint64_t) * GPUCOL_VECTOR_VALUES);
	output->columns = gpucol_cpu_alloc0(run, sizeof(GpucolResultColumn) * (n + 1));
	output->values = gpucol_cpu_alloc0(run, sizeof(void *) * (n + 1));
	output->nulls = gpucol_cpu_alloc0(run, sizeof(uint8_t *) * (n + 1));
	output->texts = gpucol_cpu_alloc0(run, sizeof(char *) * (n + 1));
	if (output->tids == NULL || output->columns == NULL ||
		output->values == NULL || output->nulls == NULL || output->texts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (size_t k = 0; k < n; k++)
	{
		GpucolClass cls = run->code.classes[run->code.keys[k]];

		output->values[k] = gpucol_cpu_alloc(run, value_size(cls) * GPUCOL_VECTOR_VALUES);
		output->nulls[k] = gpucol_cpu_alloc(run, GPUCOL_VECTOR_VALUES);
		if (output->values[k] == NULL || output->nulls[k] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		if (cls == GPUCOL_CLASS_S && run->out.take == NULL && gpucol_cpu_set_writes(run))
		{
			output->texts[k] = gpucol_cpu_alloc(run, GPUCOL_JSONB_ROOM * GPUCOL_VECTOR_VALUES);
			if (output->texts[k] == NULL)
				return GPUCOL_OUT_OF_MEMORY;
		}
		output->columns[k].cls = cls;
		output->columns[k].i = output->values[k];
		output->columns[k].d = output->values[k];
		output->columns[k].f = output->values[k];
		output->columns[k].s = output->values[k];
	}
	return GPUCOL_OK;
}

/* Does the program read a column whose chunks may be of another kind? */
static bool
needs_check(const GpucolRun *run)
{
	for (int c = 0; c < run->program->ncolumns; c++)
		if (run->input.cols[c].used && run->code.columns[c].kind == GPUCOL_KIND_DECIMAL)
			return true;
	return false;
}

/* Look at every segment's descriptors, then start again. */
static GpucolStatus
check_segments(GpucolRun *run)
{
	GpucolStatus status;

	while ((status = run->source->ops->next_segment(run->source, &run->input.segment)) == GPUCOL_OK)
	{
		for (int c = 0; c < run->program->ncolumns; c++)
		{
			if (!run->input.cols[c].used)
				continue;
			status = gpucol_cpu_source_check(&run->code.columns[c], run->input.segment.chunks[c]);
			if (status != GPUCOL_OK)
				return status;
		}
		run->source->ops->check_interrupts(run->source);
	}
	if (status != GPUCOL_END)
		return status;
	run->source->ops->rescan(run->source);
	return GPUCOL_OK;
}

/* Vectors whose outputs may be kept at a time. */
static uint32_t
most_outputs(const GpucolRun *run)
{
	size_t		row = sizeof(uint64_t);
	size_t		most;

	for (int k = 0; k < run->program->nkeys; k++)
		row += 1 + value_size(run->code.classes[run->code.keys[k]]);
	most = run->mem.window_limit / 4 / (row * GPUCOL_VECTOR_VALUES);
	return run->mem.window_limit == 0 || most > GPUCOL_CPU_SCAN_WINDOW ? GPUCOL_CPU_SCAN_WINDOW :
		most < 1 ? 1 : (uint32_t) most;
}

/*
 * The buffers of a scan with probes, all of them from the start: rows once delivered are
 * final, so memory for others must not be wanting later.
 */
static GpucolStatus
init_join_outputs(GpucolRun *run)
{
	uint32_t	most = most_outputs(run) / (uint32_t) run->nworkers;

	run->out.join_outputs = most < 1 ? 1 : most > GPUCOL_CPU_JOIN_OUTPUTS ?
		GPUCOL_CPU_JOIN_OUTPUTS : most;
	run->out.nkept = run->nworkers * (int) run->out.join_outputs;
	run->out.kept = gpucol_cpu_alloc0(run, sizeof(GpucolCpuOutput) * (size_t) run->out.nkept);
	if (run->out.kept == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < run->out.nkept; i++)
		if (init_buffer(run, &run->out.kept[i]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_scan_init(GpucolRun *run)
{
	run->window.scan_most = run->join.nprobes > 0 ? GPUCOL_CPU_WINDOW : most_outputs(run);
	if (run->join.nprobes > 0 && run->out.take == NULL)
		return gpucol_cpu_top_init(run) == GPUCOL_OK ? init_join_outputs(run) : GPUCOL_OUT_OF_MEMORY;
	run->out.top = NULL;
	run->out.nkept = run->out.take != NULL ? run->nworkers : GPUCOL_CPU_SCAN_WINDOW;
	run->out.kept = gpucol_cpu_alloc0(run, sizeof(GpucolCpuOutput) * (size_t) run->out.nkept);
	if (run->out.kept == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

/* Copy one output register behind the first `at` values. */
static void
copy_output(GpucolCpuReg *reg, uint32_t n, void *values, uint32_t at)
{
	switch (reg->cls)
	{
		case GPUCOL_CLASS_D:
			memcpy((__int128 *) values + at, gpucol_cpu_expr_widen(reg, n), n * sizeof(__int128));
			break;
		case GPUCOL_CLASS_B:
			for (uint32_t j = 0; j < n; j++)
				((int64_t *) values)[at + j] = reg->v.b[j];
			break;
		case GPUCOL_CLASS_S:
			for (uint32_t j = 0; j < n; j++)
				((GpucolBytes *) values)[at + j] = reg->coded && reg->column->entries != NULL ?
					reg->column->entries[reg->codes[j]] :
					reg->coded ? (GpucolBytes) {"", 0} : reg->v.s[j];
			break;
		default:
			memcpy((int64_t *) values + at, reg->v.any, n * sizeof(int64_t));
	}
}

/* Where the outputs of the selected rows go. */
static GpucolCpuOutput *
choose_output(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolCpuOutput *own = run->out.kept + (size_t) worker->index * run->out.join_outputs;

	if (run->out.take != NULL)
		return &run->out.kept[worker->index];
	if (run->join.nprobes == 0)
		return &run->out.kept[vector->output];
	if (worker->noutputs == 0 ||
		own[worker->noutputs - 1].nrows + worker->nsel > GPUCOL_VECTOR_VALUES)
		worker->noutputs++;
	return &own[worker->noutputs - 1];
}

/* Identities of n rows of a segment: those selected, or all from one on. */
GPUCOL_CPU_CLONES static void
put_virtual_tids(uint64_t first, const uint16_t *sel, uint32_t n, uint64_t *tids)
{
	if (sel == NULL)
		for (uint32_t j = 0; j < n; j++)
			tids[j] = virtual_tid(first + j);
	else
		for (uint32_t j = 0; j < n; j++)
			tids[j] = virtual_tid(first + sel[j]);
}

/* Identities of the selected rows; those of joined rows are 0. */
static void
put_tids(const GpucolCpuWorker *worker, const GpucolCpuVector *vector, uint64_t *tids)
{
	const GpucolRun *run = worker->run;
	const uint16_t *sel = worker->full ? NULL : worker->sel;
	uint32_t	n = worker->nsel;

	if (run->join.nprobes > 0)
		memset(tids, 0, sizeof(uint64_t) * n);
	else if (vector->delta == NULL)
		put_virtual_tids(run->input.segment.first_row + (uint64_t) vector->number * GPUCOL_VECTOR_VALUES, sel, n, tids);
	else
		for (uint32_t j = 0; j < n; j++)
			tids[j] = vector->delta->tids[sel == NULL ? j : sel[j]];
}

/* NULLs of an output behind the first `at` rows. */
static void
put_nulls(const GpucolCpuReg *reg, uint32_t n, GpucolResultColumn *column, uint8_t *nulls,
		  uint32_t at)
{
	if (at == 0)
		column->nulls = NULL;
	if (reg->nulls == NULL && column->nulls == NULL)
		return;
	if (column->nulls == NULL)
		memset(nulls, 0, at);
	if (reg->nulls == NULL)
		memset(nulls + at, 0, n);
	else
		memcpy(nulls + at, reg->nulls, n);
	column->nulls = nulls;
}

/* Evaluate the outputs of the passing rows of a vector and keep them. */
GpucolStatus
gpucol_cpu_scan_emit(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	GpucolRun  *run = worker->run;
	GpucolCpuOutput *output;
	GpucolStatus status;
	uint32_t	at;

	if (run->program->filter == GPUCOL_NO_REG && run->join.nprobes == 0)
		gpucol_cpu_expr_select(worker);
	status = run->out.top != NULL && worker->nsel > 0 ? gpucol_cpu_top_drop(worker, vector) : GPUCOL_OK;
	if (status != GPUCOL_OK || worker->nsel == 0)
		return status;
	status = gpucol_cpu_expr_run(worker, vector, run->join.last_section, run->program->ninstrs);
	if (status != GPUCOL_OK)
		return status;
	output = choose_output(worker, vector);
	if (output->tids == NULL)
		status = init_buffer(run, output);
	if (status != GPUCOL_OK)
		return status;
	at = run->join.nprobes > 0 && run->out.take == NULL ? output->nrows : 0;
	if (at == 0)
		forget_texts(run, output);
	put_tids(worker, vector, output->tids + at);
	for (int k = 0; k < run->program->nkeys; k++)
	{
		GpucolCpuReg *reg = &worker->regs[run->code.keys[k]];

		copy_output(reg, worker->nsel, output->values[k], at);
		put_nulls(reg, worker->nsel, &output->columns[k], output->nulls[k], at);
		if (run->out.take == NULL && gpucol_cpu_expr_makes_text(run, run->code.keys[k]))
			status = keep_texts(run, output, reg, (GpucolBytes *) output->values[k] + at, worker->nsel);
		if (status != GPUCOL_OK)
			return status;
		if (output->texts[k] != NULL)
			gpucol_cpu_set_copy(worker, (GpucolBytes *) output->values[k] + at, worker->nsel,
								output->texts[k] + (size_t) GPUCOL_JSONB_ROOM * at);
	}
	if (run->out.take != NULL)
	{
		GpucolResult rows = {.nrows = worker->nsel,.columns = output->columns,.tids = output->tids};

		return run->out.take(run->out.take_arg, worker->index, vector->ordinal, &rows);
	}
	output->nrows = at + worker->nsel;
	return GPUCOL_OK;
}

/* The next buffer of the window that has rows; false if there is none. */
static bool
deliver_output(GpucolRun *run, GpucolResult *out, GpucolStatus *status)
{
	uint32_t	n = run->join.nprobes > 0 ? (uint32_t) run->out.nkept : run->window.nwork;

	*status = GPUCOL_OK;
	for (; run->out.take == NULL && run->out.next < n; run->out.next++)
	{
		GpucolCpuOutput *output = &run->out.kept[run->out.next];

		if (output->nrows == 0 && output->error == GPUCOL_OK)
			continue;
		*status = output->nrows == 0 ? output->error : GPUCOL_OK;
		out->nrows = output->nrows;
		out->columns = output->columns;
		out->tids = output->tids;
		out->states = NULL;
		output->nrows = 0;
		return true;
	}
	return false;
}

/* Make room for the outputs of the next window. */
static void
clear_outputs(GpucolRun *run)
{
	for (int i = 0; i < run->out.nkept; i++)
		run->out.kept[i].nrows = 0;
	for (int w = 0; w < run->nworkers; w++)
		run->workers[w].noutputs = 0;
	run->out.next = 0;
}

/* Deliver the outputs of the window, buffer by buffer. */
GpucolStatus
gpucol_cpu_scan_next(GpucolRun *run, GpucolResult *out)
{
	GpucolStatus status;

	if (!run->out.checked)
	{
		run->out.checked = true;
		status = needs_check(run) && run->source->ops->rescan != NULL ?
			check_segments(run) : GPUCOL_OK;
		if (status != GPUCOL_OK)
			return status;
	}
	for (;;)
	{
		if (deliver_output(run, out, &status))
			return status;
		if (run->out.failed != GPUCOL_OK)
			return run->out.failed;
		clear_outputs(run);
		status = gpucol_cpu_source_step(run);
		/* rows that were joined before the one that failed are delivered first */
		if (GPUCOL_STATUS_IS_OF_ROW(status) && run->join.nprobes > 0)
			run->out.failed = status;
		else if (status != GPUCOL_OK)
			return status;
	}
}
