/*-------------------------------------------------------------------------
 *
 * top.c
 *	  Joined rows of a SCAN that come after those that are wanted (GpucolTopBound): dropped
 *	  before their outputs are made.  A bound says so, or another row made of the same flowing one.
 *
 * The instructions that compute the sort key run for all rows behind the last probe, the
 * others for those that remain.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"
#include "kernel/float_order.h"

/* Mark what an instruction reads; operands that are numbers of constants mark too much. */
static void
mark_operands(const GpucolRun *run, const GpucolInstr *instr, uint8_t *wanted)
{
	const uint16_t operands[] = {instr->a, instr->b, instr->c, instr->mask};

	for (int i = 0; i < 4; i++)
		if (operands[i] < run->program->nregs)
			wanted[operands[i]] = 1;
}

GpucolStatus
gpucol_cpu_top_init(GpucolRun *run)
{
	const GpucolProgram *program = run->program;
	uint8_t    *wanted;
	uint16_t	reg;

	if (run->out.top == NULL)
		return GPUCOL_OK;
	reg = run->code.keys[run->out.top->output];
	if (run->join.nprobes == 0 || run->code.classes[reg] == GPUCOL_CLASS_S)
	{
		run->out.top = NULL;
		return GPUCOL_OK;
	}
	wanted = gpucol_cpu_alloc0(run, program->nregs + 1u);
	run->out.top_instrs = gpucol_cpu_alloc(run, sizeof(uint16_t) * (program->ninstrs + 1u));
	if (wanted == NULL || run->out.top_instrs == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	wanted[reg] = 1;
	for (int i = program->ninstrs - 1; i >= run->join.last_section; i--)
		if (wanted[run->code.instrs[i].dst])
			mark_operands(run, &run->code.instrs[i], wanted);
	for (int i = run->join.last_section; i < program->ninstrs; i++)
		if (wanted[run->code.instrs[i].dst])
			run->out.top_instrs[run->out.ntop_instrs++] = (uint16_t) i;
	gpucol_cpu_free(run, wanted);
	return GPUCOL_OK;
}

/* The place of a value in the order of its class, which is not S. */
GPUCOL_CPU_INLINE int64_t
order_of(const GpucolCpuReg *reg, uint32_t j)
{
	switch (reg->cls)
	{
		case GPUCOL_CLASS_B:
			return reg->v.b[j];
		case GPUCOL_CLASS_D:
			return reg->narrow ? reg->n[j] : gpucol_top_clamp(reg->v.d[j]);
		case GPUCOL_CLASS_F:
			return gpucol_float_order(reg->v.f[j]);
		default:
			return reg->v.i[j];
	}
}

/* What is greater the sooner the value comes. */
GPUCOL_CPU_INLINE int64_t
place_of(const GpucolTopBound *top, const GpucolCpuReg *reg, uint32_t j)
{
	int64_t		order = order_of(reg, j);

	return top->descending ? order : ~order;
}

/*
 * List the rows that come first among the selected ones of their flowing row, which lie side by
 * side, and those that tie with them or are NULL.
 */
static uint32_t
first_of_each(const GpucolCpuWorker *worker, const GpucolTopBound *top, const GpucolCpuReg *reg, uint16_t *at)
{
	uint32_t	n = 0;

	for (uint32_t j = 0, end; j < worker->nsel; j = end)
	{
		int64_t		best = INT64_MIN;

		for (end = j; end < worker->nsel && (end == j || (!worker->full && worker->sel[end] == worker->sel[j])); end++)
			if (!GPUCOL_CPU_NULL_AT(reg, end) && place_of(top, reg, end) > best)
				best = place_of(top, reg, end);
		for (uint32_t i = j; i < end; i++)
		{
			at[n] = (uint16_t) i;
			n += GPUCOL_CPU_NULL_AT(reg, i) || place_of(top, reg, i) == best;
		}
	}
	return n;
}

GpucolStatus
gpucol_cpu_top_drop(GpucolCpuWorker *worker, const GpucolCpuVector *vector)
{
	const GpucolRun *run = worker->run;
	const GpucolTopBound *top = run->out.top;
	int			last = run->join.nprobes - 1;
	int64_t		bound = __atomic_load_n(&top->bound, __ATOMIC_RELAXED);
	const GpucolCpuReg *reg = &worker->regs[run->code.keys[top->output]];
	uint16_t	at[GPUCOL_SELECT_ROOM];
	uint32_t	n = 0;

	if (bound == INT64_MIN && !top->each)
		return GPUCOL_OK;
	for (int i = 0; i < run->out.ntop_instrs; i++)
	{
		GpucolStatus status = gpucol_cpu_expr_run(worker, vector, run->out.top_instrs[i],
												  run->out.top_instrs[i] + 1);

		if (status != GPUCOL_OK)
			return status;
	}
	if (top->each)
		n = first_of_each(worker, top, reg, at);
	else
		for (uint32_t j = 0; j < worker->nsel; j++)
		{
			at[n] = (uint16_t) j;
			n += GPUCOL_CPU_NULL_AT(reg, j) || place_of(top, reg, j) >= bound;
		}
	if (n < worker->nsel)
		gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_FILTER(last), last, at, n);
	return GPUCOL_OK;
}
