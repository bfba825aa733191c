/*-------------------------------------------------------------------------
 *
 * shifted.c
 *	  Sums of x + k and x - k over all rows: the sum of x and k for each row.
 *
 * Where nothing but sums and counts reads such a register, and the bounds of a segment
 * tell that no row leaves the type, only its NULLs are computed (expr_ops.c).
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/cpu.h"

/* The instruction that writes a register. */
static const GpucolInstr *
writer(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].dst == reg)
			return &run->code.instrs[i];
	return NULL;
}

/* Is a register an integer constant, not NULL? */
static bool
is_number(const GpucolRun *run, uint16_t reg, int64_t *value)
{
	const GpucolInstr *instr = writer(run, reg);

	if (instr == NULL || instr->op != GPUCOL_OP_CONST_I || run->code.consts[instr->aux].isnull)
		return false;
	*value = run->code.consts[instr->aux].v.i;
	return true;
}

/* Mark the registers that are read by more than sums and counts. */
static void
mark_read(const GpucolRun *run, bool *is_read)
{
	const GpucolProgram *program = run->program;

	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		const uint16_t reads[] = {instr->a, instr->b, instr->c, instr->mask};

		for (int o = 0; o < 4; o++)
			if (reads[o] < program->nregs)
				is_read[reads[o]] = true;
	}
	if (program->filter < program->nregs)
		is_read[program->filter] = true;
	for (int a = 0; a < run->agg.naccs; a++)
	{
		const GpucolCpuAcc *acc = &run->agg.accs[a];

		if (acc->filter < program->nregs)
			is_read[acc->filter] = true;
		if (acc->arg < program->nregs && acc->op != GPUCOL_CPU_ACC_SUM_I && acc->op != GPUCOL_CPU_ACC_COUNT)
			is_read[acc->arg] = true;
	}
}

GpucolStatus
gpucol_cpu_shifted_find(GpucolRun *run)
{
	const GpucolProgram *program = run->program;
	bool	   *is_read;

	if (program->nkeys > 0 || program->nprobes > 0)
		return GPUCOL_OK;
	run->digest.shifted = gpucol_cpu_alloc0(run, sizeof(GpucolCpuShifted) * (program->nregs + 1u));
	is_read = gpucol_cpu_alloc0(run, program->nregs + 1u);
	if (run->digest.shifted == NULL || is_read == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	mark_read(run, is_read);
	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		GpucolCpuShifted *shifted = &run->digest.shifted[instr->dst];
		int64_t		k;

		if ((instr->op != GPUCOL_OP_ADD_I && instr->op != GPUCOL_OP_SUB_I) || is_read[instr->dst])
			continue;
		shifted->base = instr->a;
		if (is_number(run, instr->b, &k))
			shifted->plus = instr->op == GPUCOL_OP_ADD_I ? k : -(__int128) k;
		else if (instr->op == GPUCOL_OP_ADD_I && is_number(run, instr->a, &k))
		{
			shifted->base = instr->b;
			shifted->plus = k;
		}
		else
			continue;
		shifted->can = true;
	}
	gpucol_cpu_free(run, is_read);
	return GPUCOL_OK;
}
