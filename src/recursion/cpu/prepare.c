/*-------------------------------------------------------------------------
 *
 * prepare.c
 *	  Making a rule ready for evaluation: which registers each vector carries,
 *	  where operands are read from, which index serves an atom.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/rules.h"

/*
 * Bytes of all vectors of a rule, from which on vectors get shorter; and their least
 * rows.  Where thousands of registers stay live over thousands of atoms, vectors of full
 * length would take gigabytes, for a handful of rows.
 */
#define VECTOR_BYTES	((uint64_t) 16 << 20)
#define LEAST_CAPACITY	16

/* Columns of a look-up: the start and the number of what was found, and twice as wide hashes. */
#define LOOK_UP_COLUMNS	4

void *
gpucol_rec_exec_alloc(GpucolRecRun *run, GpucolRecExec *exec, size_t size)
{
	Block	   *block = gpucol_budget_alloc_zeroed(&run->memory,
												   sizeof(Block) + size);

	if (block == NULL)
		return NULL;
	block->size = sizeof(Block) + size;
	block->next = exec->blocks;
	exec->blocks = block;
	return block + 1;
}

/* One array of ids for a vector. */
static uint32_t *
exec_column(GpucolRecRun *run, GpucolRecExec *exec)
{
	return gpucol_rec_exec_alloc(run, exec, exec->capacity * sizeof(uint32_t));
}

void
gpucol_rec_rule_free(GpucolRecRun *run, uint32_t rule)
{
	if (run->execs == NULL)
		return;
	for (int m = 0; m < run->options.threads; m++)
	{
		GpucolRecExec *exec = &run->execs[rule + (uint32_t) m * run->plan->nrules];

		while (exec->blocks != NULL)
		{
			Block	   *block = exec->blocks;

			exec->blocks = block->next;
			gpucol_budget_free(&run->memory, block, block->size);
		}
		memset(exec, 0, sizeof(*exec));
	}
}

void
gpucol_rec_rules_free(GpucolRecRun *run)
{
	if (run->execs == NULL)
		return;
	for (uint32_t rule = 0; rule < run->plan->nrules; rule++)
		gpucol_rec_rule_free(run, rule);
	gpucol_budget_free(&run->memory, run->execs,
					   run->plan->nrules * run->options.threads *
					   sizeof(GpucolRecExec));
	run->execs = NULL;
}

/* By register: 1 + the last of steps [from, to) that reads it, 0 = none.  NULL: no memory. */
static const uint32_t *
last_reads(GpucolRecRun *run, GpucolRecExec *exec, uint32_t from, uint32_t to)
{
	uint32_t   *last = gpucol_rec_exec_alloc(run, exec, (exec->rule->nregisters + 1) * sizeof(uint32_t));
	uint32_t	i,
				j;

	if (last == NULL)
		return NULL;
	for (i = from; i < to; i++)
	{
		const Stage *stage = &exec->stages[i];

		if (stage->step->kind == GPUCOL_REC_COLLECT)
			last[stage->step->origin] = i + 1;
		for (j = 0; j < stage->step->noperands; j++)
			if (stage->operands[j].kind == GPUCOL_REC_REGISTER)
				last[stage->operands[j].index] = i + 1;
	}
	return last;
}

/*
 * Start the output vector of the step at `at`: it carries the input's registers
 * that later steps read.
 */
static GpucolStatus
open_output(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const uint32_t *last,
			const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint32_t	nregisters = exec->rule->nregisters;
	uint32_t	reg;

	stage->out.registers = gpucol_rec_exec_alloc(run, exec,
									  (nregisters + 1) * sizeof(uint32_t *));
	stage->carried = gpucol_rec_exec_alloc(run, exec, (nregisters + 1) * sizeof(uint16_t));
	if (stage->out.registers == NULL || stage->carried == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (reg = 0; reg < nregisters; reg++)
		if (in->registers[reg] != NULL && last[reg] > at + 1)
		{
			stage->carried[stage->ncarried++] = (uint16_t) reg;
			stage->out.registers[reg] = exec_column(run, exec);
			if (stage->out.registers[reg] == NULL)
				return GPUCOL_OUT_OF_MEMORY;
		}
	return GPUCOL_OK;
}

/* Arrays that the operands of a step are read from. */
static GpucolStatus
bind_inputs(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage,
			const Vector *in)
{
	uint32_t	i,
				j;

	stage->inputs = gpucol_rec_exec_alloc(run, exec, (stage->step->noperands + 1) *
							   sizeof(uint32_t *));
	if (stage->inputs == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < stage->step->noperands; i++)
	{
		const GpucolRecOperand *operand = &stage->operands[i];

		if (operand->kind == GPUCOL_REC_REGISTER)
			stage->inputs[i] = in->registers[operand->index];
		else if (operand->kind == GPUCOL_REC_CONSTANT)
		{
			uint32_t   *column = exec_column(run, exec);

			if (column == NULL)
				return GPUCOL_OUT_OF_MEMORY;
			for (j = 0; j < exec->capacity; j++)
				column[j] = run->constants[operand->index];
			stage->inputs[i] = column;
		}
	}
	return GPUCOL_OK;
}

/* Columns that are matched, and how. */
static GpucolStatus
prepare_match(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage)
{
	uint32_t	i,
				j;
	bool		binds = false;

	for (i = 0; i < stage->step->noperands; i++)
	{
		const GpucolRecOperand *operand = &stage->operands[i];

		if (operand->kind == GPUCOL_REC_BIND)
			binds = true;
		else if (stage->inputs[i] != NULL)
		{
			stage->keys[stage->nkeys++] = (uint8_t) i;
			stage->key_mask |= UINT32_C(1) << i;
		}
		else if (operand->kind == GPUCOL_REC_REGISTER)
		{
			for (j = 0; stage->operands[j].kind != GPUCOL_REC_BIND ||
				 stage->operands[j].index != operand->index; j++)
				;
			stage->rechecks[stage->nrechecks].column = (uint8_t) i;
			stage->rechecks[stage->nrechecks++].other = (uint8_t) j;
		}
	}
	/* Which of several equal rows matches does not matter to a set. */
	if (stage->kind == GPUCOL_REC_ATOM && !binds &&
		!run->tables[exec->stages[exec->rule->nsteps - 1].step->relation].bag)
		stage->kind = GPUCOL_REC_PRESENT;
	return gpucol_rec_prepare_look_up(run, exec, stage);
}

GpucolStatus
gpucol_rec_prepare_look_up(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage)
{
	if (stage->nkeys > 0)
		GPUCOL_REC_TRY(gpucol_rec_index_get(run, stage->table, stage->key_mask,
											&stage->index));
	stage->start = exec_column(run, exec);
	stage->count = exec_column(run, exec);
	stage->hash = gpucol_rec_exec_alloc(run, exec, exec->capacity * sizeof(uint64_t));
	if (!stage->start || !stage->count || !stage->hash)
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

/* The output of an ATOM or an EXPAND. */
static GpucolStatus
prepare_output(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const uint32_t *last,
			 const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint32_t	i;

	GPUCOL_REC_TRY(open_output(run, exec, at, last, in));
	for (i = 0; i < stage->step->noperands; i++)
		if (stage->operands[i].kind == GPUCOL_REC_BIND)
		{
			uint32_t	reg = stage->operands[i].index;

			stage->out.registers[reg] = exec_column(run, exec);
			if (stage->out.registers[reg] == NULL)
				return GPUCOL_OUT_OF_MEMORY;
		}
	return GPUCOL_OK;
}

/* Buffers of the operands that the host sees. */
static GpucolStatus
prepare_operands(GpucolRecRun *run, GpucolRecExec *exec, HostRows *host, uint32_t n)
{
	host->values = gpucol_rec_exec_alloc(run, exec, (n + 1) * sizeof(int64_t *));
	host->nulls = gpucol_rec_exec_alloc(run, exec, (n + 1) * sizeof(uint8_t *));
	if (!host->values || !host->nulls)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++)
	{
		host->values[i] = gpucol_rec_exec_alloc(run, exec, exec->capacity * sizeof(int64_t));
		host->nulls[i] = gpucol_rec_exec_alloc(run, exec, exec->capacity);
		if (host->values[i] == NULL || host->nulls[i] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/* A step whose rows the host makes: buffers of operands and of what it binds. */
static GpucolStatus
prepare_expand(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const uint32_t *last,
			   const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint32_t	n = stage->step->noperands;
	HostRows   *host = gpucol_rec_exec_alloc(run, exec, sizeof(HostRows));

	if (run->options.expand == NULL)
		return GPUCOL_UNSUPPORTED;
	stage->host = host;
	if (host == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	while (stage->ninputs < (int) n && stage->operands[stage->ninputs].kind != GPUCOL_REC_BIND)
		stage->ninputs++;
	GPUCOL_REC_TRY(prepare_operands(run, exec, host, n));
	/* one set of buffers: first those of operands, then those of columns */
	host->columns = host->values + stage->ninputs;
	host->column_nulls = host->nulls + stage->ninputs;
	host->origins = exec_column(run, exec);
	if (host->origins == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	return prepare_output(run, exec, at, last, in);
}

/* Buffers of a step that the host computes. */
static GpucolStatus
prepare_host(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage)
{
	HostRows   *host;

	if (stage->step->function != GPUCOL_REC_HOST)
		return GPUCOL_OK;
	if (run->options.host == NULL)
		return GPUCOL_UNSUPPORTED;
	stage->host = host = gpucol_rec_exec_alloc(run, exec, sizeof(HostRows));
	if (host == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	host->result = gpucol_rec_exec_alloc(run, exec, exec->capacity * sizeof(int64_t));
	host->result_nulls = gpucol_rec_exec_alloc(run, exec, exec->capacity);
	if (!host->result || !host->result_nulls)
		return GPUCOL_OUT_OF_MEMORY;
	return prepare_operands(run, exec, host, stage->step->noperands);
}

static GpucolStatus prepare_steps(GpucolRecRun *run, GpucolRecExec *exec, uint32_t from,
								  uint32_t to, Vector *in, Stage *inside,
								  const uint32_t *last);

/* An aggregate that the totals of its relation answer: its body is not run. */
static GpucolStatus
prepare_total(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, const Vector *in)
{
	const GpucolRecOperand *key = &stage->total.operand;
	uint32_t   *column;

	stage->totals = run->tables[stage->total.relation].totals;
	if (stage->total.key < 0)
		return GPUCOL_OK;
	if (key->kind == GPUCOL_REC_REGISTER)
	{
		stage->key = in->registers[key->index];
		return GPUCOL_OK;
	}
	stage->key = column = exec_column(run, exec);
	if (column == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < exec->capacity; i++)
		column[i] = run->constants[key->index];
	return GPUCOL_OK;
}

static GpucolStatus
prepare_aggregate(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	const GpucolRecStep *step = stage->step;
	uint32_t	end = at + 1 + step->nsteps;
	const uint32_t *last;

	stage->target = exec_column(run, exec);
	if (stage->target == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (gpucol_rec_total_of(run->plan, exec->rule->steps + at, &stage->total) &&
		run->tables[stage->total.relation].totals != NULL)
		GPUCOL_REC_TRY(prepare_total(run, exec, stage, in));
	else
	{
		last = last_reads(run, exec, at + 1, end);
		if (last == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		GPUCOL_REC_TRY(open_output(run, exec, at, last, in));
		stage->out.registers[step->origin] = exec_column(run, exec);
		stage->accumulators = gpucol_rec_exec_alloc(run, exec, exec->capacity *
										 sizeof(GpucolRecValue));
		if (!stage->out.registers[step->origin] || !stage->accumulators)
			return GPUCOL_OUT_OF_MEMORY;
		GPUCOL_REC_TRY(prepare_steps(run, exec, at + 1, end, &stage->out, stage, last));
	}
	in->registers[step->target] = stage->target;
	return GPUCOL_OK;
}

/*
 * Prepare steps [from, to), whose input is `in`.  `inside` is the AGGREGATE
 * whose body they are, or NULL, `last` what last_reads says of them.
 */
static GpucolStatus
prepare_steps(GpucolRecRun *run, GpucolRecExec *exec, uint32_t from,
			  uint32_t to, Vector *in, Stage *inside, const uint32_t *last)
{
	uint32_t	at;

	if (gpucol_thread_is_deep())
		return GPUCOL_TOO_DEEP;
	for (at = from; at < to; at++)
	{
		Stage	   *stage = &exec->stages[at];
		const GpucolRecStep *step = stage->step;

		stage->kind = step->kind;
		GPUCOL_REC_TRY(bind_inputs(run, exec, stage, in));
		if (step->kind == GPUCOL_REC_EXPAND)
		{
			GPUCOL_REC_TRY(prepare_expand(run, exec, at, last, in));
			in = &stage->out;
			continue;
		}
		switch ((GpucolRecStepKind) step->kind)
		{
			case GPUCOL_REC_ATOM:
			case GPUCOL_REC_ABSENT:
			case GPUCOL_REC_PRESENT:
				stage->table = &run->tables[step->relation];
				GPUCOL_REC_TRY(prepare_match(run, exec, stage));
				if (inside != NULL && step->kind == GPUCOL_REC_ATOM)
					stage->kind = GPUCOL_REC_ATOM;	/* matches are counted */
				if (stage->kind == GPUCOL_REC_ATOM)
				{
					GPUCOL_REC_TRY(prepare_output(run, exec, at, last, in));
					in = &stage->out;
				}
				break;
			case GPUCOL_REC_COMPUTE:
				GPUCOL_REC_TRY(prepare_host(run, exec, stage));
				stage->target = exec_column(run, exec);
				if (stage->target == NULL)
					return GPUCOL_OUT_OF_MEMORY;
				in->registers[step->target] = stage->target;
				break;
			case GPUCOL_REC_AGGREGATE:
				GPUCOL_REC_TRY(prepare_aggregate(run, exec, at, in));
				at += step->nsteps;
				break;
			case GPUCOL_REC_COLLECT:
				stage->aggregate = inside;
				stage->start = in->registers[step->origin];
				break;
			case GPUCOL_REC_EMIT:
				stage->table = &run->tables[step->relation];
				break;
			case GPUCOL_REC_TEST:
				GPUCOL_REC_TRY(prepare_host(run, exec, stage));
				break;
		}
	}
	return GPUCOL_OK;
}

/* Does a step look its rows up in a relation? */
static bool
looks_up(const GpucolRecStep *step)
{
	return step->kind == GPUCOL_REC_ATOM || step->kind == GPUCOL_REC_ABSENT ||
		step->kind == GPUCOL_REC_PRESENT;
}

/*
 * Rows of the vectors of a rule.  Each atom carries all registers that were bound before it
 * and are read after it; every look-up has columns of its own besides.
 */
static uint32_t
choose_capacity(const GpucolRecExec *exec, const uint32_t *last)
{
	uint32_t	capacity = GPUCOL_REC_VECTOR;
	uint64_t	columns = 0;
	int64_t		live = 0;
	uint32_t	i,
				j;

	for (i = 0; i < exec->rule->nsteps; i++)
	{
		const Stage *stage = &exec->stages[i];

		for (j = 0; j < stage->step->noperands; j++)
		{
			uint16_t	kind = stage->operands[j].kind;

			if (kind == GPUCOL_REC_BIND || kind == GPUCOL_REC_REGISTER)
				live += (kind == GPUCOL_REC_BIND) -
					(last[stage->operands[j].index] == i + 1);
		}
		if (stage->step->kind == GPUCOL_REC_COMPUTE)
			live++;
		if (looks_up(stage->step))
			columns += LOOK_UP_COLUMNS;
		if ((stage->step->kind == GPUCOL_REC_ATOM || stage->step->kind == GPUCOL_REC_EXPAND) &&
			live > 0)
			columns += (uint64_t) live;
	}
	while (capacity > LEAST_CAPACITY &&
		   columns * capacity * sizeof(uint32_t) > VECTOR_BYTES)
		capacity /= 2;
	return capacity;
}

GpucolStatus
gpucol_rec_exec_prepare(GpucolRecRun *run, GpucolRecExec *exec,
						const GpucolRecRule *rule)
{
	const uint32_t *last;
	uint32_t	i;

	exec->rule = rule;
	exec->stages = gpucol_rec_exec_alloc(run, exec, rule->nsteps * sizeof(Stage));
	exec->unit.registers = gpucol_rec_exec_alloc(run, exec, (rule->nregisters + 1) *
									  sizeof(uint32_t *));
	if (exec->stages == NULL || exec->unit.registers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < rule->nsteps; i++)
	{
		exec->stages[i].step = &run->plan->steps[rule->steps + i];
		exec->stages[i].operands =
			run->plan->operands + exec->stages[i].step->operands;
	}
	last = last_reads(run, exec, 0, rule->nsteps);
	if (last == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	exec->capacity = choose_capacity(exec, last);
	GPUCOL_REC_TRY(prepare_steps(run, exec, 0, rule->nsteps, &exec->unit, NULL, last));
	GPUCOL_REC_TRY(gpucol_rec_find_detours(run, exec));
	exec->ready = true;
	return GPUCOL_OK;
}
