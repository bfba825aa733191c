/*-------------------------------------------------------------------------
 *
 * rules.c
 *	  Evaluation of one rule: its steps as a pipeline of vectors.
 *
 * A vector (up to GPUCOL_REC_VECTOR rows, fewer of very long rules; one array of ids for each register)
 * flows from step to step.  Tests drop rows in place; an ATOM looks all of its
 * input rows up in an index, fills an output vector, and pushes it on whenever
 * it is full.  So an n-way join materialises one vector for each step and no
 * intermediate relation (the temporarily materialised join of the HISA paper,
 * cut into cache-sized pieces).  The stack grows with the atoms of the longest rule,
 * and what it cannot hold is refused.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/rules.h"

static GpucolStatus run_steps(GpucolRecRun *run, GpucolRecExec *exec,
							  uint32_t at, Vector *vector);
static GpucolStatus run_existence(const GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, Vector *vector);

/* Is the evaluation to end? */
static bool
is_stopped(const GpucolRecRun *run, const GpucolRecExec *exec)
{
	return exec->team == NULL ? gpucol_rec_cancelled(run) :
		gpucol_rec_team_stopped(exec->team, exec->member);
}

/* Rows that may be looked at and dropped between two questions of that kind. */
#define SCANNED		65536

/* The same, asked after so many rows that may all have been dropped. */
static inline bool
has_scanned(const GpucolRecRun *run, GpucolRecExec *exec, uint64_t rows)
{
	exec->scanned += rows;
	if (exec->scanned < SCANNED)
		return false;
	exec->scanned = 0;
	return is_stopped(run, exec);
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

/* Look all rows of a vector up in a level with offsets by id: start[], count[]. */
static void
find_dense(const Stage *stage, const GpucolRecLevel *level, uint32_t n)
{
	const uint32_t *ids = stage->inputs[stage->keys[0]];
	uint64_t	arity = (uint64_t) stage->table->arity;
	uint32_t	i;

	for (i = 0; i < n; i++)
		__builtin_prefetch(&level->offsets[ids[i] < level->noffsets ? ids[i] : 0]);
	for (i = 0; i < n; i++)
	{
		bool		known = ids[i] != GPUCOL_REC_NULL_ID &&
			ids[i] + (uint64_t) 1 < level->noffsets;

		stage->start[i] = known ? level->offsets[ids[i]] : 0;
		stage->count[i] = known ? level->offsets[ids[i] + 1] - stage->start[i] : 0;
		if (stage->count[i] > 0)
			__builtin_prefetch(level->tuples + stage->start[i] * arity);
	}
}

/* The key of a row, which has nkeys ids; false if one of them is NULL. */
static GPUCOL_REC_INLINE bool
read_key(const Stage *stage, uint32_t row, int nkeys, uint32_t *key)
{
	bool		is_whole = true;
	int			k;

	for (k = 0; k < nkeys; k++)
	{
		key[k] = stage->inputs[stage->keys[k]][row];
		is_whole &= key[k] != GPUCOL_REC_NULL_ID;
	}
	return is_whole;
}

/* Is it the key of a row? */
static GPUCOL_REC_INLINE bool
has_key(const Stage *stage, const uint32_t *tuple, int nkeys, const uint32_t *key)
{
	for (int k = 0; k < nkeys; k++)
		if (tuple[stage->index->columns[k]] != key[k])
			return false;
	return true;
}

/* The slot of a key, or a free one. */
static GPUCOL_REC_INLINE const GpucolRecSlot *
find_slot(const Stage *stage, const GpucolRecLevel *level, int nkeys, const uint32_t *key,
		  uint64_t hash)
{
	uint64_t	arity = (uint64_t) stage->table->arity;
	uint64_t	at;

	GPUCOL_PROBE(at, hash, level->nslots, level->slots[at].count == 0 ||
				 has_key(stage, level->tuples + level->slots[at].start * arity, nkeys, key));
	return &level->slots[at];
}

/* The same in a level with slots. */
static GPUCOL_REC_INLINE void
find_hashed(const Stage *stage, const GpucolRecLevel *level, uint32_t n, int nkeys)
{
	uint64_t	arity = (uint64_t) stage->table->arity;
	uint64_t	mask = level->nslots - 1;
	uint32_t	key[GPUCOL_REC_MAX_ARITY];
	uint32_t	i;

	for (i = 0; i < n; i++)
	{
		read_key(stage, i, nkeys, key);
		stage->hash[i] = gpucol_rec_hash_key(key, nkeys);
		__builtin_prefetch(&level->slots[stage->hash[i] & mask]);
	}
	/* then the tuples that they name, whose columns tell whether it is the key */
	for (i = 0; i < n; i++)
	{
		const GpucolRecSlot *slot = &level->slots[stage->hash[i] & mask];

		if (slot->count > 0)
			__builtin_prefetch(level->tuples + slot->start * arity);
	}
	for (i = 0; i < n; i++)
	{
		const GpucolRecSlot *slot;

		stage->start[i] = stage->count[i] = 0;
		if (!read_key(stage, i, nkeys, key))
			continue;
		slot = find_slot(stage, level, nkeys, key, stage->hash[i]);
		stage->start[i] = slot->start;
		stage->count[i] = slot->count;
	}
}

void
gpucol_rec_find_rows(const Stage *stage, const GpucolRecLevel *level, uint32_t n)
{
	if (level->offsets != NULL)
		find_dense(stage, level, n);
	else if (stage->nkeys == 1)
		find_hashed(stage, level, n, 1);
	else if (stage->nkeys == 2)
		find_hashed(stage, level, n, 2);
	else
		find_hashed(stage, level, n, stage->nkeys);
}

bool
gpucol_rec_reads_level(const Stage *stage, const GpucolRecLevel *level)
{
	if (stage->step->version == GPUCOL_REC_DELTA)
		return level->first >= stage->table->delta;
	if (stage->step->version == GPUCOL_REC_PREVIOUS)
		return level->last <= stage->table->delta;
	return true;
}

/* Do the columns of a row agree that one register stands for? */
static inline bool
passes(const Stage *stage, const uint32_t *tuple)
{
	bool		pass = true;
	int			c;

	for (c = 0; c < stage->nrechecks; c++)
		pass &= tuple[stage->rechecks[c].column] ==
			tuple[stage->rechecks[c].other] &&
			tuple[stage->rechecks[c].column] != GPUCOL_REC_NULL_ID;
	return pass;
}

/* Keep the rows out[from .. from+n) that pass; returns how many. */
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

		if (!passes(stage, tuple))
			continue;
		for (c = 0; c < arity; c++)
			if (stage->operands[c].kind == GPUCOL_REC_BIND)
				out->registers[stage->operands[c].index][kept] = tuple[c];
		kept++;
	}
	return kept - from;
}

GpucolStatus
gpucol_rec_push_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, Stage *test)
{
	Vector	   *out = &exec->stages[at].out;

	if (is_stopped(run, exec))
		return GPUCOL_CANCELLED;
	if (test != NULL)
		GPUCOL_REC_TRY(run_existence(run, exec, test, out));
	GPUCOL_REC_TRY(run_steps(run, exec, at + 1, out));
	out->n = 0;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_join_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Stage *rows, Stage *test,
					 const Vector *in, uint32_t i, const GpucolRecLevel *level, uint64_t start, uint64_t count)
{
	const Stage *stage = &exec->stages[at];
	Vector	   *out = &exec->stages[at].out;
	int			arity = rows->table->arity;

	while (count > 0)
	{
		const uint32_t *tuples = (level ? level->tuples : rows->table->tuples) +
			start * arity;
		uint32_t	take = exec->capacity - out->n;
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
		if (has_scanned(run, exec, take))
			return GPUCOL_CANCELLED;
		if (rows->nrechecks > 0)
			take = recheck_rows(rows, out, tuples, out->n, take);
		else
			for (c = 0; c < arity; c++)
				if (rows->operands[c].kind == GPUCOL_REC_BIND)
				{
					uint32_t   *to =
						out->registers[rows->operands[c].index] + out->n;

					for (j = 0; j < take; j++)
						to[j] = tuples[(uint64_t) j * arity + c];
				}
		out->n += take;
		if (out->n == exec->capacity)
			GPUCOL_REC_TRY(gpucol_rec_push_rows(run, exec, at, test));
	}
	return GPUCOL_OK;
}

/* The same of the step itself. */
static inline GpucolStatus
join_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in, uint32_t i,
		  const GpucolRecLevel *level, uint64_t start, uint64_t count)
{
	return gpucol_rec_join_rows(run, exec, at, &exec->stages[at], NULL, in, i, level, start, count);
}

/* Join every input row with rows [first, last). */
static GpucolStatus
scan_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at,
		  const Vector *in, uint64_t first, uint64_t last)
{
	Stage	   *stage = &exec->stages[at];
	uint64_t	row;
	uint32_t	i;

	for (i = 0; i < in->n; i++)
	{
		if (stage->table->decl->merge == GPUCOL_REC_MERGE_NONE)
		{
			GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, NULL, first,
									 last - first));
			continue;
		}
		for (row = first; row < last; row++)
		{
			if (has_scanned(run, exec, 1))
				return GPUCOL_CANCELLED;
			if (stage->table->slots == NULL ||
				gpucol_rec_table_current(stage->table, row))
				GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, NULL, row, 1));
		}
	}
	return GPUCOL_OK;
}

static GpucolStatus
run_atom(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	uint64_t	first;
	uint64_t	last;
	bool		joined = false;
	int			l;
	uint32_t	i;

	stage->out.n = 0;
	if (is_stopped(run, exec))
		return GPUCOL_CANCELLED;
	if (stage->nkeys == 0)
	{
		version_rows(stage, &first, &last);
		GPUCOL_REC_TRY(scan_rows(run, exec, at, in, first, last));
	}
	if (stage->ndetours > 0)
		GPUCOL_REC_TRY(gpucol_rec_join_detours(run, exec, at, in, &joined));
	if (stage->nkeys > 0 && !joined)
		for (l = 0; l < stage->index->nlevels; l++)
		{
			const GpucolRecLevel *level = &stage->index->levels[l];

			if (!gpucol_rec_reads_level(stage, level))
				continue;
			gpucol_rec_find_rows(stage, level, in->n);
			for (i = 0; i < in->n; i++)
				GPUCOL_REC_TRY(join_rows(run, exec, at, in, i, level,
										 stage->start[i], stage->count[i]));
		}
	if (stage->out.n == 0)
		return GPUCOL_OK;
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

/* Does some of these rows pass? */
static GpucolStatus
any_passes(const GpucolRecRun *run, GpucolRecExec *exec, const Stage *stage,
		   const uint32_t *tuples, uint64_t n, bool *any)
{
	uint64_t	i;

	*any = n > 0 && stage->nrechecks == 0;
	for (i = 0; i < n && !*any; i++)
	{
		if (has_scanned(run, exec, 1))
			return GPUCOL_CANCELLED;
		*any = passes(stage, tuples + i * stage->table->arity);
	}
	return GPUCOL_OK;
}

/*
 * Drop rows that a look-up of all columns cannot find in any level: the set of the
 * table tells by one look what the levels, of which there may be many, tell by one each.
 */
static void
drop_unknown(const GpucolRecExec *exec, const Stage *stage, Vector *vector)
{
	const uint32_t *columns[GPUCOL_REC_MAX_ARITY];
	uint8_t		keep[GPUCOL_REC_VECTOR];
	int			k;

	if (stage->nkeys != stage->table->arity || stage->index->nlevels < 2)
		return;
	for (k = 0; k < stage->nkeys; k++)
		columns[k] = stage->inputs[stage->keys[k]];
	if (gpucol_rec_table_holds(stage->table, vector->n, columns, keep))
		compress(exec, vector, keep);
}

/* PRESENT and ABSENT where the step matches no column: of all rows of the version. */
static GpucolStatus
run_existence_of_any(const GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint64_t	first;
	uint64_t	last;
	bool		any;

	version_rows(stage, &first, &last);
	GPUCOL_REC_TRY(any_passes(run, exec, stage,
							  stage->table->tuples + first * stage->table->arity,
							  last - first, &any));
	if (any != (stage->kind == GPUCOL_REC_PRESENT))
		vector->n = 0;
	return GPUCOL_OK;
}

/* PRESENT and ABSENT. */
static GpucolStatus
run_existence(const GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint8_t		keep[GPUCOL_REC_VECTOR];
	bool		wanted = stage->kind == GPUCOL_REC_PRESENT;
	uint32_t	i;
	int			l;

	if (stage->nkeys == 0)
		return run_existence_of_any(run, exec, stage, vector);
	if (wanted)
		drop_unknown(exec, stage, vector);
	memset(keep, !wanted, vector->n);
	for (l = 0; l < stage->index->nlevels; l++)
	{
		const GpucolRecLevel *level = &stage->index->levels[l];

		if (!gpucol_rec_reads_level(stage, level))
			continue;
		gpucol_rec_find_rows(stage, level, vector->n);
		for (i = 0; i < vector->n; i++)
		{
			bool		any;

			GPUCOL_REC_TRY(any_passes(run, exec, stage, level->tuples +
									  (uint64_t) stage->start[i] * stage->table->arity,
									  stage->count[i], &any));
			if (any)
				keep[i] = wanted;
		}
	}
	compress(exec, vector, keep);
	return GPUCOL_OK;
}

static GpucolStatus
run_test(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint8_t		keep[GPUCOL_REC_VECTOR];

	GPUCOL_REC_TRY(gpucol_rec_stage_test(run, exec, stage, vector->n, keep));
	compress(exec, vector, keep);
	return GPUCOL_OK;
}

/* ---- rows of the host ---- */

static GpucolStatus
run_expand(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	HostRows   *host = stage->host;
	uint32_t	asked = in->n;

	gpucol_rec_host_show(run, stage, stage->ninputs, in->n);
	for (;;)
	{
		uint32_t	n;

		if (is_stopped(run, exec))
			return GPUCOL_CANCELLED;
		n = run->options.expand(run->options.host_context, stage->step->relation, asked,
								(const int64_t *const *) host->values,
								(const uint8_t *const *) host->nulls, exec->capacity,
								host->origins, host->columns, host->column_nulls);
		if (n == 0)
			return GPUCOL_OK;
		GPUCOL_REC_TRY(gpucol_rec_host_take(run, stage, in, n));
		GPUCOL_REC_TRY(run_steps(run, exec, at + 1, &stage->out));
		asked = 0;
	}
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
		value = gpucol_rec_value_of(run, stage->inputs[0][i]);
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

/* An aggregate that totals answer. */
static GpucolStatus
run_total(GpucolRecRun *run, const GpucolRecExec *exec, Stage *stage, Vector *vector)
{
	uint8_t		keep[GPUCOL_REC_VECTOR];
	uint32_t	i;

	for (i = 0; i < vector->n; i++)
	{
		GpucolRecValue value;

		GPUCOL_REC_TRY(gpucol_rec_totals_get(stage->totals, stage->step, &stage->total,
											 stage->key ? stage->key[i] : 0, &value));
		keep[i] = !value.isnull;
		stage->target[i] = GPUCOL_REC_NULL_ID;
		if (keep[i])
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(run, value.value, &stage->target[i]));
	}
	compress(exec, vector, keep);
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
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(run, stage->accumulators[i].value,
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
	if (gpucol_thread_is_deep())
		return GPUCOL_TOO_DEEP;
	for (;; at++)
	{
		Stage	   *stage = &exec->stages[at];

		if (vector->n == 0)
			return GPUCOL_OK;
		if (stage->kind == GPUCOL_REC_EXPAND)
			return run_expand(run, exec, at, vector);
		switch ((GpucolRecStepKind) stage->kind)
		{
			case GPUCOL_REC_ATOM:
				return run_atom(run, exec, at, vector);
			case GPUCOL_REC_ABSENT:
			case GPUCOL_REC_PRESENT:
				GPUCOL_REC_TRY(run_existence(run, exec, stage, vector));
				break;
			case GPUCOL_REC_COMPUTE:
				GPUCOL_REC_TRY(gpucol_rec_stage_compute(run, exec, stage, vector->n));
				break;
			case GPUCOL_REC_TEST:
				GPUCOL_REC_TRY(run_test(run, exec, stage, vector));
				break;
			case GPUCOL_REC_AGGREGATE:
				if (stage->totals != NULL)
					GPUCOL_REC_TRY(run_total(run, exec, stage, vector));
				else
					GPUCOL_REC_TRY(run_aggregate(run, exec, at, vector));
				at += stage->step->nsteps;
				break;
			case GPUCOL_REC_COLLECT:
				return run_collect(run, stage, vector);
			case GPUCOL_REC_EMIT:
				if (exec->team != NULL)
					return gpucol_rec_team_emit(exec->team, exec->member,
												vector->n, stage->inputs);
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

/* ---- threads ---- */

/* Candidates of a run of the rule from which on threads are worth starting. */
#define SHARE_FROM	30000

/* The same of a rule that computes values, which as many ids have room made for. */
#define COMPUTE_FROM	100000

/* Does the rule compute values, for which there may be no ids yet? */
static bool
computes(const GpucolRecExec *exec)
{
	for (uint32_t i = 0; i < exec->rule->nsteps; i++)
	{
		const GpucolRecStep *step = exec->stages[i].step;

		if (step->kind == GPUCOL_REC_COMPUTE && step->function != GPUCOL_REC_COPY)
			return true;
	}
	return false;
}

/* Can threads run the rule together: does no step aggregate, or need the host's own thread? */
static bool
is_shareable(const GpucolRecRun *run, const GpucolRecExec *exec)
{
	uint32_t	i;

	for (i = 0; i < exec->rule->nsteps; i++)
	{
		const Stage *stage = &exec->stages[i];

		if (stage->step->kind == GPUCOL_REC_AGGREGATE || stage->step->kind == GPUCOL_REC_EXPAND ||
			(stage->host != NULL && !gpucol_rec_host_is_apart(run, stage)))
			return false;
	}
	return !exec->alone && exec->stages[0].kind == GPUCOL_REC_ATOM &&
		exec->stages[0].nkeys == 0 &&
		gpucol_rec_table_shareable(exec->stages[exec->rule->nsteps - 1].table);
}

/* Is there enough to do, as far as earlier runs tell? */
static bool
is_worth_sharing(const GpucolRecRun *run, const GpucolRecExec *exec,
				 uint64_t rows)
{
	double		fan_out = exec->rows > 0 ?
		(double) exec->candidates / (double) exec->rows : 4.0;

	if (run->options.share_from > 0)
		return rows >= run->options.share_from;
	return rows >= 256 && rows * (fan_out < 1.0 ? 1.0 : fan_out) >= (computes(exec) ? COMPUTE_FROM : SHARE_FROM);
}

typedef struct MemberContext
{
	GpucolRecRun *run;
	uint32_t	rule;
} MemberContext;

/* What one member does. */
static void
run_member(void *context, GpucolRecTeam *team, int member)
{
	MemberContext *shared = context;
	GpucolRecRun *run = shared->run;
	GpucolRecExec *exec = &run->execs[shared->rule +
									  (uint32_t) member * run->plan->nrules];
	Stage	   *scan = &exec->stages[0];
	GpucolStatus status = GPUCOL_OK;
	uint64_t	first;
	uint64_t	last;

	exec->team = team;
	exec->member = member;
	exec->ids = (GpucolRecOwnIds) {0};
	scan->out.n = 0;
	while (status == GPUCOL_OK && gpucol_rec_team_rows(team, &first, &last))
		status = scan_rows(run, exec, 0, &exec->unit, first, last);
	if (status == GPUCOL_OK && scan->out.n > 0)
		status = run_steps(run, exec, 1, &scan->out);
	if (status != GPUCOL_OK)
		gpucol_rec_team_fail(team, status);
	exec->team = NULL;
}

/*
 * Run a rule in several threads; GPUCOL_END: it was not.  Where one could not compute a row, or it is an error, the
 * rule begins anew in the host's thread, which can, and whose first error is always the same one.  Rows that were
 * added stay in a set, which lets them in once; a bag drops them.
 */
static GpucolStatus
run_shared(GpucolRecRun *run, uint32_t rule, uint64_t first, uint64_t last)
{
	MemberContext context = {run, rule};
	GpucolRecTable *target = run->execs[rule].stages[run->plan->rules[rule].nsteps - 1].table;
	uint64_t	end = target->end;
	uint64_t	candidates = target->candidates;
	bool		makes = computes(&run->execs[rule]);
	int			members = run->options.threads;
	GpucolStatus status;
	int			m;

	if (members > GPUCOL_POOL_MAX_THREADS)
		members = GPUCOL_POOL_MAX_THREADS;
	for (m = 0; m < members; m++)
	{
		GpucolRecExec *exec = &run->execs[rule + (uint32_t) m * run->plan->nrules];

		if (!exec->ready)
			GPUCOL_REC_TRY(gpucol_rec_exec_prepare(run, exec,
											  &run->plan->rules[rule]));
		exec->unit.n = 1;
	}
	status = gpucol_rec_team_run(run, target, first, last, members, makes, run_member, &context);
	if (status == GPUCOL_OK || status == GPUCOL_END || status == GPUCOL_CANCELLED ||
		(status == GPUCOL_OUT_OF_MEMORY && !makes))
		return status;
	run->execs[rule].alone = true;
	target->candidates = candidates;
	if (target->set == GPUCOL_REC_SET_NONE)
		target->end = end;
	return GPUCOL_END;
}

/* Run one rule over the committed rows; what it emits is not yet visible. */
GpucolStatus
gpucol_rec_rule_run(GpucolRecRun *run, uint32_t rule)
{
	GpucolRecExec *exec;
	GpucolRecTable *target;
	GpucolStatus status = GPUCOL_END;
	uint64_t	first = 0;
	uint64_t	last = 0;
	uint64_t	before;
	uint32_t	i;

	if (run->execs == NULL)
	{
		run->execs = gpucol_budget_alloc_zeroed(&run->memory, run->plan->nrules *
												run->options.threads *
												sizeof(GpucolRecExec));
		if (run->execs == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	exec = &run->execs[rule];
	if (!exec->ready)
		GPUCOL_REC_TRY(gpucol_rec_exec_prepare(run, exec,
											  &run->plan->rules[rule]));
	if (delta_is_empty(exec))
		return GPUCOL_OK;
	for (i = 0; i < exec->rule->nsteps; i++)
		if (exec->stages[i].index != NULL)
			GPUCOL_REC_TRY(gpucol_rec_index_refresh(run, exec->stages[i].table,
													exec->stages[i].index));
	GPUCOL_REC_TRY(gpucol_rec_refresh_detours(run, exec));
	target = exec->stages[exec->rule->nsteps - 1].table;
	before = target->candidates;
	if (exec->stages[0].kind == GPUCOL_REC_ATOM)
		version_rows(&exec->stages[0], &first, &last);
	if (run->options.threads > 1 && is_shareable(run, exec) &&
		is_worth_sharing(run, exec, last - first))
		status = run_shared(run, rule, first, last);
	if (status == GPUCOL_END)
	{
		exec->unit.n = 1;
		status = run_steps(run, exec, 0, &exec->unit);
	}
	exec->rows += last - first;
	exec->candidates += target->candidates - before;
	return status;
}
