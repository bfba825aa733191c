/*-------------------------------------------------------------------------
 *
 * cpu_recursive_rules.c
 *	  Evaluation of one rule: its steps as a pipeline of vectors.
 *
 * A vector (up to GPUCOL_REC_VECTOR rows, one array of ids for each register)
 * flows from step to step.  Tests drop rows in place; an ATOM looks all of its
 * input rows up in an index, fills an output vector, and pushes it on whenever
 * it is full.  So an n-way join materialises one vector for each step and no
 * intermediate relation (the temporarily materialised join of the HISA paper,
 * cut into cache-sized pieces).
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu_recursive.h"

typedef struct Vector
{
	uint32_t	n;
	uint32_t  **registers;		/* by register; NULL = not in this vector */
} Vector;

/* A column of an atom that must equal a register bound by the same atom. */
typedef struct Recheck
{
	uint8_t		column;
	uint8_t		other;
} Recheck;

/* A vector as values, for the host and from it. */
typedef struct HostRows
{
	int64_t   **values;			/* by operand */
	uint8_t   **nulls;
	int64_t    *result;
	uint8_t    *result_nulls;
} HostRows;

typedef struct Stage
{
	const GpucolRecStep *step;
	const GpucolRecOperand *operands;
	uint8_t		kind;			/* GpucolRecStepKind, ATOM possibly demoted to
								 * PRESENT */
	GpucolRecTable *table;
	const uint32_t **inputs;	/* by operand: array of its values, or NULL */
	int			nkeys;
	uint8_t		keys[GPUCOL_REC_MAX_ARITY];
	uint32_t	key_mask;
	GpucolRecIndex *index;
	int			nrechecks;
	Recheck		rechecks[GPUCOL_REC_MAX_ARITY];
	int			ncarried;
	uint16_t   *carried;		/* registers copied from input to output */
	Vector		out;			/* ATOM, body of AGGREGATE */
	uint32_t   *start;			/* ATOM: matches of each input row */
	uint32_t   *count;
	uint64_t   *hash;
	struct Stage *aggregate;	/* COLLECT: where to */
	GpucolRecValue *accumulators;	/* AGGREGATE */
	uint32_t   *target;
	HostRows   *host;			/* COMPUTE, TEST by the host */
} Stage;

typedef struct Block
{
	struct Block *next;
	size_t		size;
} Block;

struct GpucolRecExec
{
	bool		ready;
	Block	   *blocks;			/* everything the exec allocated */
	const GpucolRecRule *rule;
	Stage	   *stages;
	Vector		unit;			/* one row without registers */
};

static GpucolStatus run_steps(GpucolRecRun *run, GpucolRecExec *exec,
							  uint32_t at, Vector *vector);

/* Zeroed memory that lives as long as the exec. */
static void *
exec_alloc(GpucolRecRun *run, GpucolRecExec *exec, size_t size)
{
	Block	   *block = gpucol_rec_alloc_zeroed(&run->memory,
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
	return exec_alloc(run, exec, GPUCOL_REC_VECTOR * sizeof(uint32_t));
}

void
gpucol_rec_rules_free(GpucolRecRun *run)
{
	uint32_t	i;

	if (run->execs == NULL)
		return;
	for (i = 0; i < run->plan->nrules; i++)
		while (run->execs[i].blocks != NULL)
		{
			Block	   *block = run->execs[i].blocks;

			run->execs[i].blocks = block->next;
			gpucol_rec_free(&run->memory, block, block->size);
		}
	gpucol_rec_free(&run->memory, run->execs,
					run->plan->nrules * sizeof(GpucolRecExec));
	run->execs = NULL;
}

/* ---- preparation ---- */

/* Is a register read by steps [from, to) of the rule? */
static bool
is_read(const GpucolRecExec *exec, uint32_t from, uint32_t to, uint32_t reg)
{
	uint32_t	i,
				j;

	for (i = from; i < to; i++)
	{
		const Stage *stage = &exec->stages[i];

		if (stage->step->kind == GPUCOL_REC_COLLECT &&
			stage->step->origin == reg)
			return true;
		for (j = 0; j < stage->step->noperands; j++)
			if (stage->operands[j].kind == GPUCOL_REC_REGISTER &&
				stage->operands[j].index == reg)
				return true;
	}
	return false;
}

/*
 * Start the output vector of the step at `at`: it carries the input's registers
 * that steps (at, to) read.
 */
static GpucolStatus
open_output(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, uint32_t to,
			const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint32_t	nregisters = exec->rule->nregisters;
	uint32_t	reg;

	stage->out.registers = exec_alloc(run, exec,
									  (nregisters + 1) * sizeof(uint32_t *));
	stage->carried = exec_alloc(run, exec, (nregisters + 1) * sizeof(uint16_t));
	if (stage->out.registers == NULL || stage->carried == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (reg = 0; reg < nregisters; reg++)
		if (in->registers[reg] != NULL && is_read(exec, at + 1, to, reg))
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

	stage->inputs = exec_alloc(run, exec, (stage->step->noperands + 1) *
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
			for (j = 0; j < GPUCOL_REC_VECTOR; j++)
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
	if (stage->nkeys > 0)
		GPUCOL_REC_TRY(gpucol_rec_index_get(run, stage->table, stage->key_mask,
											&stage->index));
	stage->start = exec_column(run, exec);
	stage->count = exec_column(run, exec);
	stage->hash = exec_alloc(run, exec, GPUCOL_REC_VECTOR * sizeof(uint64_t));
	if (!stage->start || !stage->count || !stage->hash)
		return GPUCOL_OUT_OF_MEMORY;
	return GPUCOL_OK;
}

static GpucolStatus
prepare_atom(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, uint32_t to,
			 const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint32_t	i;

	GPUCOL_REC_TRY(open_output(run, exec, at, to, in));
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

/* Buffers of a step that the host computes. */
static GpucolStatus
prepare_host(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage)
{
	uint32_t	n = stage->step->noperands;
	HostRows   *host;
	uint32_t	i;

	if (stage->step->function != GPUCOL_REC_HOST)
		return GPUCOL_OK;
	if (run->options.host == NULL)
		return GPUCOL_UNSUPPORTED;
	stage->host = host = exec_alloc(run, exec, sizeof(HostRows));
	if (host == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	host->values = exec_alloc(run, exec, (n + 1) * sizeof(int64_t *));
	host->nulls = exec_alloc(run, exec, (n + 1) * sizeof(uint8_t *));
	host->result = exec_alloc(run, exec, GPUCOL_REC_VECTOR * sizeof(int64_t));
	host->result_nulls = exec_alloc(run, exec, GPUCOL_REC_VECTOR);
	if (!host->values || !host->nulls || !host->result || !host->result_nulls)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < n; i++)
	{
		host->values[i] = exec_alloc(run, exec, GPUCOL_REC_VECTOR *
									 sizeof(int64_t));
		host->nulls[i] = exec_alloc(run, exec, GPUCOL_REC_VECTOR);
		if (host->values[i] == NULL || host->nulls[i] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

/*
 * Prepare steps [from, to), whose input is `in`.  `inside` is the AGGREGATE
 * whose body they are, or NULL.
 */
static GpucolStatus
prepare_steps(GpucolRecRun *run, GpucolRecExec *exec, uint32_t from,
			  uint32_t to, Vector *in, Stage *inside)
{
	uint32_t	at;

	for (at = from; at < to; at++)
	{
		Stage	   *stage = &exec->stages[at];
		const GpucolRecStep *step = stage->step;

		stage->kind = step->kind;
		GPUCOL_REC_TRY(bind_inputs(run, exec, stage, in));
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
					GPUCOL_REC_TRY(prepare_atom(run, exec, at, to, in));
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
				GPUCOL_REC_TRY(open_output(run, exec, at, at + 1 + step->nsteps,
										   in));
				stage->out.registers[step->origin] = exec_column(run, exec);
				stage->accumulators =
					exec_alloc(run, exec, GPUCOL_REC_VECTOR *
							   sizeof(GpucolRecValue));
				stage->target = exec_column(run, exec);
				if (!stage->out.registers[step->origin] ||
					!stage->accumulators || !stage->target)
					return GPUCOL_OUT_OF_MEMORY;
				GPUCOL_REC_TRY(prepare_steps(run, exec, at + 1,
											 at + 1 + step->nsteps,
											 &stage->out, stage));
				in->registers[step->target] = stage->target;
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

static GpucolStatus
prepare(GpucolRecRun *run, GpucolRecExec *exec, const GpucolRecRule *rule)
{
	uint32_t	i;

	exec->rule = rule;
	exec->stages = exec_alloc(run, exec, rule->nsteps * sizeof(Stage));
	exec->unit.registers = exec_alloc(run, exec, (rule->nregisters + 1) *
									  sizeof(uint32_t *));
	if (exec->stages == NULL || exec->unit.registers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < rule->nsteps; i++)
	{
		exec->stages[i].step = &run->plan->steps[rule->steps + i];
		exec->stages[i].operands =
			run->plan->operands + exec->stages[i].step->operands;
	}
	GPUCOL_REC_TRY(prepare_steps(run, exec, 0, rule->nsteps, &exec->unit, NULL));
	exec->ready = true;
	return GPUCOL_OK;
}

/* ---- rows of a relation ---- */

/* Row range of the version that a step reads. */
static void
version_rows(const Stage *stage, uint64_t *first, uint64_t *last)
{
	*first = stage->step->version == GPUCOL_REC_DELTA ? stage->table->delta : 0;
	*last = stage->step->version == GPUCOL_REC_PREVIOUS ?
		stage->table->delta : stage->table->committed;
}

/* Look all rows of a vector up in one level: start[], count[]. */
static void
find_all(const Stage *stage, const GpucolRecLevel *level, uint32_t n)
{
	uint32_t	key[GPUCOL_REC_MAX_ARITY];
	uint32_t	i;
	int			k;

	for (i = 0; i < n; i++)
	{
		if (level->offsets != NULL)
		{
			uint32_t	id = stage->inputs[stage->keys[0]][i];

			__builtin_prefetch(&level->offsets[id < level->noffsets ? id : 0]);
			continue;
		}
		for (k = 0; k < stage->nkeys; k++)
			key[k] = stage->inputs[stage->keys[k]][i];
		stage->hash[i] = gpucol_rec_hash_key(key, stage->nkeys);
		__builtin_prefetch(&level->slots[stage->hash[i] & (level->nslots - 1)]);
	}
	for (i = 0; i < n; i++)
	{
		bool		null_key = false;

		for (k = 0; k < stage->nkeys; k++)
		{
			key[k] = stage->inputs[stage->keys[k]][i];
			null_key |= key[k] == GPUCOL_REC_NULL_ID;
		}
		stage->count[i] = null_key ? 0 :
			gpucol_rec_level_find(stage->index, level, stage->table->arity, key,
								  stage->hash[i], &stage->start[i]);
		if (stage->count[i] > 0)
			__builtin_prefetch(level->tuples +
							   (uint64_t) stage->start[i] *
							   stage->table->arity);
	}
}

/* Does a step read this level of its index? */
static bool
reads_level(const Stage *stage, const GpucolRecLevel *level)
{
	if (stage->step->version == GPUCOL_REC_DELTA)
		return level->first >= stage->table->delta;
	if (stage->step->version == GPUCOL_REC_PREVIOUS)
		return level->last <= stage->table->delta;
	return true;
}

/* Keep the rows out[from .. from+n) whose columns agree; returns how many. */
static uint32_t
recheck_rows(const Stage *stage, Vector *out, const uint32_t *tuples,
			 uint32_t from, uint32_t n)
{
	int			arity = stage->table->arity;
	uint32_t	kept = from;
	uint32_t	i;
	int			c;

	for (i = 0; i < n; i++)
	{
		const uint32_t *tuple = tuples + (uint64_t) i * arity;
		bool		pass = true;

		for (c = 0; c < stage->nrechecks; c++)
			pass &= tuple[stage->rechecks[c].column] ==
				tuple[stage->rechecks[c].other] &&
				tuple[stage->rechecks[c].column] != GPUCOL_REC_NULL_ID;
		if (!pass)
			continue;
		for (c = 0; c < arity; c++)
			if (stage->operands[c].kind == GPUCOL_REC_BIND)
				out->registers[stage->operands[c].index][kept] = tuple[c];
		kept++;
	}
	return kept - from;
}

/*
 * Join input row i with `count` rows from `start`, of a level or (NULL) of the
 * table itself, and push full vectors on.
 */
static GpucolStatus
join_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at,
		  const Vector *in, uint32_t i, const GpucolRecLevel *level,
		  uint64_t start, uint64_t count)
{
	Stage	   *stage = &exec->stages[at];
	Vector	   *out = &stage->out;
	int			arity = stage->table->arity;

	while (count > 0)
	{
		const uint32_t *tuples = (level ? level->tuples : stage->table->tuples) +
			start * arity;
		uint32_t	take = GPUCOL_REC_VECTOR - out->n;
		uint32_t	j;
		int			c;

		if (take > count)
			take = (uint32_t) count;
		for (c = 0; c < stage->ncarried; c++)
		{
			uint32_t	value = in->registers[stage->carried[c]][i];
			uint32_t   *to = out->registers[stage->carried[c]] + out->n;

			for (j = 0; j < take; j++)
				to[j] = value;
		}
		start += take;
		count -= take;
		if (stage->nrechecks > 0)
			take = recheck_rows(stage, out, tuples, out->n, take);
		else
			for (c = 0; c < arity; c++)
				if (stage->operands[c].kind == GPUCOL_REC_BIND)
				{
					uint32_t   *to =
						out->registers[stage->operands[c].index] + out->n;

					for (j = 0; j < take; j++)
						to[j] = tuples[(uint64_t) j * arity + c];
				}
		out->n += take;
		if (out->n == GPUCOL_REC_VECTOR)
		{
			if (gpucol_rec_cancelled(run))
				return GPUCOL_CANCELLED;
			GPUCOL_REC_TRY(run_steps(run, exec, at + 1, out));
			out->n = 0;
		}
	}
	return GPUCOL_OK;
}

/* Join every input row with all rows of a version. */
static GpucolStatus
scan_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at,
		  const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint64_t	first;
	uint64_t	last;
	uint64_t	row;
	uint32_t	i;

	version_rows(stage, &first, &last);
	for (i = 0; i < in->n; i++)
	{
		if (stage->table->decl->merge == GPUCOL_REC_MERGE_NONE)
		{
			GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, NULL, first,
									 last - first));
			continue;
		}
		for (row = first; row < last; row++)
			if (stage->table->slots == NULL ||
				gpucol_rec_table_current(stage->table, row))
				GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, NULL, row, 1));
	}
	return GPUCOL_OK;
}

static GpucolStatus
run_atom(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	int			l;
	uint32_t	i;

	stage->out.n = 0;
	if (stage->nkeys == 0)
		GPUCOL_REC_TRY(scan_rows(run, exec, at, in));
	else
		for (l = 0; l < stage->index->nlevels; l++)
		{
			const GpucolRecLevel *level = &stage->index->levels[l];

			if (!reads_level(stage, level))
				continue;
			find_all(stage, level, in->n);
			for (i = 0; i < in->n; i++)
				GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, level,
										 stage->start[i], stage->count[i]));
		}
	if (stage->out.n == 0)
		return GPUCOL_OK;
	if (gpucol_rec_cancelled(run))
		return GPUCOL_CANCELLED;
	return run_steps(run, exec, at + 1, &stage->out);
}

/* ---- steps that keep or drop rows ---- */

/* Keep the rows with keep[i]; all registers of the vector move along. */
static void
compress(const GpucolRecExec *exec, Vector *vector, const uint8_t *keep)
{
	uint32_t	reg;
	uint32_t	kept = 0;
	uint32_t	i;

	for (i = 0; i < vector->n; i++)
		kept += keep[i];
	if (kept == vector->n)
		return;
	for (reg = 0; reg < exec->rule->nregisters; reg++)
	{
		uint32_t   *ids = vector->registers[reg];
		uint32_t	to = 0;

		if (ids == NULL)
			continue;
		for (i = 0; i < vector->n; i++)
		{
			ids[to] = ids[i];
			to += keep[i];
		}
	}
	vector->n = kept;
}

/* Does some of these rows pass the rechecks of the step? */
static bool
any_passes(const Stage *stage, const uint32_t *tuples, uint64_t n)
{
	uint64_t	i;
	int			c;

	if (stage->nrechecks == 0)
		return n > 0;
	for (i = 0; i < n; i++)
	{
		const uint32_t *tuple = tuples + i * stage->table->arity;
		bool		pass = true;

		for (c = 0; c < stage->nrechecks; c++)
			pass &= tuple[stage->rechecks[c].column] ==
				tuple[stage->rechecks[c].other] &&
				tuple[stage->rechecks[c].column] != GPUCOL_REC_NULL_ID;
		if (pass)
			return true;
	}
	return false;
}

/* PRESENT and ABSENT. */
static void
run_existence(GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint8_t		keep[GPUCOL_REC_VECTOR];
	bool		wanted = stage->kind == GPUCOL_REC_PRESENT;
	uint32_t	i;
	int			l;

	if (stage->nkeys == 0)
	{
		uint64_t	first;
		uint64_t	last;

		version_rows(stage, &first, &last);
		memset(keep, any_passes(stage, stage->table->tuples +
								first * stage->table->arity,
								last - first) == wanted, vector->n);
		compress(exec, vector, keep);
		return;
	}
	memset(keep, !wanted, vector->n);
	for (l = 0; l < stage->index->nlevels; l++)
	{
		const GpucolRecLevel *level = &stage->index->levels[l];

		if (!reads_level(stage, level))
			continue;
		find_all(stage, level, vector->n);
		for (i = 0; i < vector->n; i++)
			if (stage->count[i] > 0 &&
				any_passes(stage, level->tuples + (uint64_t) stage->start[i] *
						   stage->table->arity, stage->count[i]))
				keep[i] = wanted;
	}
	compress(exec, vector, keep);
}

static inline GpucolRecValue
value_of(const GpucolRecRun *run, uint32_t id)
{
	GpucolRecValue value = {run->dictionary.values[id], id == GPUCOL_REC_NULL_ID};

	return value;
}

/* Evaluate the function of a COMPUTE or TEST step on row i. */
static inline GpucolStatus
evaluate_row(const GpucolRecRun *run, const Stage *stage, uint32_t i,
			 GpucolRecValue *result)
{
	GpucolRecValue a = value_of(run, stage->inputs[0][i]);
	GpucolRecValue b = a;

	if (stage->step->noperands > 1)
		b = value_of(run, stage->inputs[1][i]);
	return gpucol_rec_evaluate((GpucolRecFunction) stage->step->function,
							   (GpucolRecType) stage->step->type, a, b, result);
}

/* Have the host compute a COMPUTE or TEST step for the whole vector. */
static void
ask_host(const GpucolRecRun *run, const Stage *stage, uint32_t n)
{
	HostRows   *host = stage->host;
	uint32_t	i;
	int			k;

	if (host == NULL)
		return;
	for (k = 0; k < stage->step->noperands; k++)
		for (i = 0; i < n; i++)
		{
			GpucolRecValue value = value_of(run, stage->inputs[k][i]);

			host->values[k][i] = value.value;
			host->nulls[k][i] = value.isnull;
		}
	run->options.host(run->options.host_context, stage->step->relation, n,
					  (const int64_t *const *) host->values,
					  (const uint8_t *const *) host->nulls, host->result,
					  host->result_nulls);
}

/* The value of row i, which the host may have computed. */
static inline GpucolStatus
result_of_row(const GpucolRecRun *run, const Stage *stage, uint32_t i,
			  GpucolRecValue *result)
{
	if (stage->host == NULL)
		return evaluate_row(run, stage, i, result);
	result->value = stage->host->result[i];
	result->isnull = stage->host->result_nulls[i] != 0;
	return GPUCOL_OK;
}

static GpucolStatus
run_compute(GpucolRecRun *run, Stage *stage, Vector *vector)
{
	uint32_t	i;

	ask_host(run, stage, vector->n);
	for (i = 0; i < vector->n; i++)
	{
		GpucolRecValue result;

		GPUCOL_REC_TRY(result_of_row(run, stage, i, &result));
		if (result.isnull)
			stage->target[i] = GPUCOL_REC_NULL_ID;
		else
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(&run->dictionary,
														&run->memory,
														result.value,
														&stage->target[i]));
	}
	return GPUCOL_OK;
}

static GpucolStatus
run_test(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint8_t		keep[GPUCOL_REC_VECTOR];
	uint32_t	i;

	ask_host(run, stage, vector->n);
	for (i = 0; i < vector->n; i++)
	{
		GpucolRecValue result;

		GPUCOL_REC_TRY(result_of_row(run, stage, i, &result));
		keep[i] = !result.isnull && result.value != 0;
	}
	compress(exec, vector, keep);
	return GPUCOL_OK;
}

/* ---- aggregates ---- */

/* Add a vector of matches to the accumulators of the rows they come from. */
static GpucolStatus
run_collect(GpucolRecRun *run, Stage *stage, Vector *vector)
{
	const GpucolRecStep *step = stage->aggregate->step;
	uint32_t	i;

	for (i = 0; i < vector->n; i++)
	{
		GpucolRecValue *sum = &stage->aggregate->accumulators[stage->start[i]];
		GpucolRecValue value;

		if (step->function == GPUCOL_REC_COUNT)
		{
			sum->value++;
			continue;
		}
		value = value_of(run, stage->inputs[0][i]);
		if (value.isnull)
			continue;
		if (sum->isnull)
			*sum = value;
		else if (step->function == GPUCOL_REC_SUM)
			GPUCOL_REC_TRY(gpucol_rec_evaluate(GPUCOL_REC_ADD,
											   (GpucolRecType) step->type, *sum,
											   value, sum));
		else
			GPUCOL_REC_TRY(gpucol_rec_evaluate(step->function ==
											   GPUCOL_REC_MIN ?
											   GPUCOL_REC_MIN2 : GPUCOL_REC_MAX2,
											   (GpucolRecType) step->type, *sum,
											   value, sum));
	}
	return GPUCOL_OK;
}

static GpucolStatus
run_aggregate(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at,
			  Vector *vector)
{
	Stage	   *stage = &exec->stages[at];
	bool		total = stage->step->function == GPUCOL_REC_COUNT ||
		stage->step->function == GPUCOL_REC_SUM;
	uint8_t		keep[GPUCOL_REC_VECTOR];
	uint32_t	i;
	int			c;

	for (c = 0; c < stage->ncarried; c++)
		memcpy(stage->out.registers[stage->carried[c]],
			   vector->registers[stage->carried[c]],
			   vector->n * sizeof(uint32_t));
	for (i = 0; i < vector->n; i++)
	{
		stage->out.registers[stage->step->origin][i] = i;
		stage->accumulators[i].value = 0;
		stage->accumulators[i].isnull = !total;
	}
	stage->out.n = vector->n;
	GPUCOL_REC_TRY(run_steps(run, exec, at + 1, &stage->out));
	for (i = 0; i < vector->n; i++)
	{
		keep[i] = !stage->accumulators[i].isnull;
		stage->target[i] = GPUCOL_REC_NULL_ID;
		if (keep[i])
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(&run->dictionary,
														&run->memory,
														stage->accumulators[i].value,
														&stage->target[i]));
	}
	compress(exec, vector, keep);
	return GPUCOL_OK;
}

/* ---- the pipeline ---- */

/* Run steps from `at` on a vector, which they may compress. */
static GpucolStatus
run_steps(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, Vector *vector)
{
	for (;; at++)
	{
		Stage	   *stage = &exec->stages[at];

		if (vector->n == 0)
			return GPUCOL_OK;
		switch ((GpucolRecStepKind) stage->kind)
		{
			case GPUCOL_REC_ATOM:
				return run_atom(run, exec, at, vector);
			case GPUCOL_REC_ABSENT:
			case GPUCOL_REC_PRESENT:
				run_existence(exec, stage, vector);
				break;
			case GPUCOL_REC_COMPUTE:
				GPUCOL_REC_TRY(run_compute(run, stage, vector));
				break;
			case GPUCOL_REC_TEST:
				GPUCOL_REC_TRY(run_test(run, exec, stage, vector));
				break;
			case GPUCOL_REC_AGGREGATE:
				GPUCOL_REC_TRY(run_aggregate(run, exec, at, vector));
				at += stage->step->nsteps;
				break;
			case GPUCOL_REC_COLLECT:
				return run_collect(run, stage, vector);
			case GPUCOL_REC_EMIT:
				return gpucol_rec_table_add(run, stage->table, vector->n,
											stage->inputs);
		}
	}
}

/* Is there nothing in the delta that the rule starts from? */
static bool
delta_is_empty(const GpucolRecExec *exec)
{
	uint32_t	i;

	for (i = 0; i < exec->rule->nsteps; i++)
	{
		const Stage *stage = &exec->stages[i];

		if (stage->step->kind == GPUCOL_REC_ATOM &&
			stage->step->version == GPUCOL_REC_DELTA &&
			stage->table->delta == stage->table->committed)
			return true;
	}
	return false;
}

/* Run one rule over the committed rows; what it emits is not yet visible. */
GpucolStatus
gpucol_rec_rule_run(GpucolRecRun *run, uint32_t rule)
{
	GpucolRecExec *exec;
	uint32_t	i;

	if (run->execs == NULL)
	{
		run->execs = gpucol_rec_alloc_zeroed(&run->memory, run->plan->nrules *
											 sizeof(GpucolRecExec));
		if (run->execs == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	exec = &run->execs[rule];
	if (!exec->ready)
		GPUCOL_REC_TRY(prepare(run, exec, &run->plan->rules[rule]));
	if (delta_is_empty(exec))
		return GPUCOL_OK;
	for (i = 0; i < exec->rule->nsteps; i++)
		if (exec->stages[i].index != NULL)
			GPUCOL_REC_TRY(gpucol_rec_index_refresh(run, exec->stages[i].table,
													exec->stages[i].index));
	exec->unit.n = 1;
	return run_steps(run, exec, 0, &exec->unit);
}
