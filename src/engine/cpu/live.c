/*-------------------------------------------------------------------------
 *
 * live.c
 *	  Which registers are read after a step that drops rows, and their moving together.
 *
 * Registers hold the values of the selected rows densely.  A step that drops rows moves
 * the registers that are there already and are read later; constants need no moving.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/cpu.h"

/* Where a register is written, and where it is read last. */
typedef struct Span
{
	int			written;
	int			read;
} Span;

static int
nstages(const GpucolRun *run)
{
	return 3 * run->join.nprobes + 2;
}

/* The stage that instruction i belongs to. */
static int
stage_of(const GpucolRun *run, int i)
{
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProbe, probes);

	if (i < run->program->nfilter_instrs)
		return 0;
	for (int p = 0; p < run->join.nprobes; p++)
	{
		if (i < probes[p].keys_end)
			return 3 * p + 1;
		if (i < probes[p].residual_end)
			return 3 * p + 2;
		if (i < probes[p].filter_end)
			return 3 * p + 3;
	}
	return nstages(run) - 1;
}

static void
note_read(const GpucolRun *run, Span *spans, uint16_t reg, int stage)
{
	if (reg < run->program->nregs && spans[reg].read < stage)
		spans[reg].read = stage;
}

/* What a fold reads of rows: the operands of what has values for their elements. */
static void
read_by_fold(const GpucolRun *run, Span *spans, int fold, int stage)
{
	for (int i = 0; i < run->digest.folds[fold].ninstrs; i++)
		note_read(run, spans, run->code.instrs[run->digest.folds[fold].instrs[i]].a, stage);
}

/* What the steps of the probes read. */
static void
read_by_probes(const GpucolRun *run, Span *spans)
{
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProbe, probes);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, probe_keys);

	for (int p = 0; p < run->join.nprobes; p++)
	{
		for (int k = 0; k < probes[p].nkeys; k++)
			note_read(run, spans, keys[probes[p].first_key + k], 3 * p + 1);
		note_read(run, spans, probes[p].residual, 3 * p + 2);
		note_read(run, spans, probes[p].filter, 3 * p + 3);
	}
}

static void
find_spans(const GpucolRun *run, Span *spans)
{
	const GpucolProgram *program = run->program;
	int			last = nstages(run) - 1;

	for (int r = 0; r < program->nregs; r++)
		spans[r].written = spans[r].read = -1;
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		int			stage = stage_of(run, i);

		if ((instr->op <= GPUCOL_OP_LOAD_S || instr->op > GPUCOL_OP_CONST_B) && !run->digest.of_elements[i])
			spans[instr->dst].written = stage;
		else
			spans[instr->dst].written = last + 1;
		note_read(run, spans, instr->a, stage);
		note_read(run, spans, instr->b, stage);
		note_read(run, spans, instr->c, stage);
		note_read(run, spans, instr->mask, stage);
		read_by_fold(run, spans, i, stage);
	}
	read_by_probes(run, spans);
	for (int k = 0; k < program->nkeys; k++)
		note_read(run, spans, run->code.keys[k], last);
	for (int a = 0; a < program->naggs; a++)
	{
		note_read(run, spans, run->code.aggs[a].arg, last);
		note_read(run, spans, run->code.aggs[a].filter, last);
		if (run->code.aggs[a].op == GPUCOL_AGG_PRODUCTS)
			note_read(run, spans, run->code.aggs[a].order, last);
	}
}

GpucolStatus
gpucol_cpu_live_init(GpucolRun *run)
{
	uint16_t	nregs = run->program->nregs;
	Span	   *spans = gpucol_cpu_alloc(run, sizeof(Span) * (nregs + 1u));
	uint16_t   *regs = gpucol_cpu_alloc(run, sizeof(uint16_t) * (nregs + 1u) *
										(size_t) nstages(run));

	run->digest.live = gpucol_cpu_alloc0(run, sizeof(GpucolCpuLive) * (size_t) nstages(run));
	run->digest.unread = gpucol_cpu_alloc0(run, nregs + 1u);
	run->digest.bounds = gpucol_cpu_alloc0(run, sizeof(GpucolCpuBounds) * (nregs + 1u));
	if (spans == NULL || regs == NULL || run->digest.live == NULL || run->digest.unread == NULL ||
		run->digest.bounds == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	find_spans(run, spans);
	for (int stage = 0; stage < nstages(run); stage++)
	{
		run->digest.live[stage].regs = regs;
		for (uint16_t r = 0; r < nregs; r++)
			if (spans[r].written >= 0 && spans[r].written <= stage && spans[r].read > stage)
				*regs++ = r;
		run->digest.live[stage].n = (int) (regs - run->digest.live[stage].regs);
	}
	gpucol_cpu_free(run, spans);
	return GPUCOL_OK;
}

#define MOVE(FIELD) \
	for (uint32_t j = 0; j < n; j++) \
		to->FIELD[j] = from->FIELD[at[j]]

void
gpucol_cpu_live_move(GpucolCpuReg *to, const GpucolCpuReg *from, const uint16_t *at, uint32_t n)
{
	if (from->nulls != NULL)
		for (uint32_t j = 0; j < n; j++)
			to->null_space[j] = from->nulls[at[j]];
	to->nulls = from->nulls != NULL ? to->null_space : NULL;
	to->coded = from->coded;
	to->words = from->words;
	to->items = from->items;
	to->item_nulls = from->item_nulls;
	to->column = from->column;
	switch (from->cls)
	{
		case GPUCOL_CLASS_B:
			MOVE(v.b);
			break;
		case GPUCOL_CLASS_D:
			to->narrow = from->narrow;
			to->wide = from->wide;
			to->alike = from->alike;
			to->shown = from->shown;
			if (from->narrow || from->alike)
				MOVE(n);
			if (from->wide)
				MOVE(v.d);
			break;
		case GPUCOL_CLASS_S:
			if (from->coded)
				MOVE(codes);
			else if (from->words)
				MOVE(v.i);
			else
				MOVE(v.s);
			break;
		default:
			MOVE(v.i);
	}
}

void
gpucol_cpu_live_keep(GpucolCpuWorker *worker, int stage, const uint16_t *at, uint32_t n)
{
	const GpucolCpuLive *live = &worker->run->digest.live[stage];

	for (int r = 0; r < live->n; r++)
		gpucol_cpu_live_move(&worker->regs[live->regs[r]], &worker->regs[live->regs[r]], at, n);
}
