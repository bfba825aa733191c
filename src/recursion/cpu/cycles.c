/*-------------------------------------------------------------------------
 *
 * cycles.c
 *	  Detours: of several atoms that bind one register, the one with the fewest rows.
 *
 * Where the atoms of a rule form a cycle, as in t(x, y, z) :- e(x, y), e(y, z), e(x, z), the last register
 * is bound by one of them and tested by others.  A plan has chosen which one, for all rows; where
 * some values have very many rows, no such choice is good: all paths of two edges are many more than
 * there can be triangles.  So the rows of each atom are counted for each row that comes in, and
 * those of the least are walked, the others tested.  With one register after another this is
 * the generic join (Ngo, Re, Rudra: Skew strikes back, 2013), whose time is bounded by the
 * greatest number of rows that the rule can have.
 *
 * A detour is only taken where the rule's relation tells equal rows apart, for the atoms that test
 * count no matches; and the index of each atom has one level, as inputs and relations of
 * earlier strata have.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "recursion/cpu/rules.h"

/* Detours that a step has at most. */
#define MOST_DETOURS	8

/* A detour has to have so many times fewer rows, and so many fewer: each is tested once more. */
#define WORTH_FACTOR	2
#define WORTH_ROWS		8

/* Where rows come to fewer in the mean, no detour is looked for. */
#define LEAST_MEAN		24

/* ---- which there are ---- */

/* Can the rows of a step be looked up, each for itself, all of them before the rule runs? */
static bool
is_settled(const GpucolRecExec *exec, const Stage *stage)
{
	const GpucolRecRelation *decl = stage->table->decl;

	return stage->nkeys > 0 && stage->nrechecks == 0 && decl->merge == GPUCOL_REC_MERGE_NONE &&
		((decl->flags & GPUCOL_REC_DERIVED) == 0 || decl->stratum < exec->rule->stratum);
}

/* The only column of an atom with an operand that is this register or, if it is negative, BIND; or -1. */
static int
column_of(const Stage *stage, int reg)
{
	int			found = -1;

	for (uint32_t i = 0; i < stage->step->noperands; i++)
	{
		const GpucolRecOperand *operand = &stage->operands[i];

		if (reg < 0 ? operand->kind != GPUCOL_REC_BIND :
			operand->kind != GPUCOL_REC_REGISTER || operand->index != reg)
			continue;
		if (found >= 0)
			return -1;
		found = (int) i;
	}
	return found;
}

/* Have a look-up read its keys, all operands with an input, as columns of an index do: in their order. */
static GpucolStatus
set_keys(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage)
{
	stage->nkeys = 0;
	stage->key_mask = 0;
	for (uint32_t i = 0; i < stage->step->noperands; i++)
	{
		if (stage->inputs[i] == NULL)
			continue;
		stage->keys[stage->nkeys++] = (uint8_t) i;
		stage->key_mask |= UINT32_C(1) << i;
	}
	return gpucol_rec_prepare_look_up(run, exec, stage);
}

/*
 * Inputs of a stage that are read from another vector than `stage` reads them, but for column `except`; *known
 * is false if one is not there.
 */
static GpucolStatus
move_inputs(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, const Vector *vector, int except, bool *known)
{
	uint32_t	n = stage->step->noperands;
	const uint32_t **inputs = gpucol_rec_exec_alloc(run, exec, (n + 1) * sizeof(uint32_t *));

	if (inputs == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++)
	{
		const GpucolRecOperand *operand = &stage->operands[i];

		if ((int) i == except || stage->inputs[i] == NULL)
			continue;
		inputs[i] = operand->kind == GPUCOL_REC_REGISTER ? vector->registers[operand->index] : stage->inputs[i];
		*known &= inputs[i] != NULL;
	}
	stage->inputs = inputs;
	return GPUCOL_OK;
}

/* The rows of an atom that tests register `reg`, with it bound; `in` is what the step that it stands in for reads. */
static GpucolStatus
make_rows(GpucolRecRun *run, GpucolRecExec *exec, const Stage *tested, uint16_t reg, const Vector *in, Stage *rows,
		  bool *known)
{
	uint32_t	n = tested->step->noperands;
	int			column = column_of(tested, reg);
	GpucolRecOperand *operands;

	*known = column >= 0;
	if (!*known)
		return GPUCOL_OK;
	*rows = *tested;
	rows->kind = GPUCOL_REC_ATOM;
	GPUCOL_REC_TRY(move_inputs(run, exec, rows, in, column, known));
	operands = gpucol_rec_exec_alloc(run, exec, (n + 1) * sizeof(GpucolRecOperand));
	if (operands == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memcpy(operands, tested->operands, n * sizeof(GpucolRecOperand));
	operands[column].kind = GPUCOL_REC_BIND;
	rows->operands = operands;
	return *known ? set_keys(run, exec, rows) : GPUCOL_OK;
}

/* The step itself as a test of what is in its output; `column` is the one that it binds. */
static GpucolStatus
make_test(GpucolRecRun *run, GpucolRecExec *exec, const Stage *stage, int column, Stage *test, bool *known)
{
	const Vector *out = &stage->out;

	*test = *stage;
	test->kind = GPUCOL_REC_PRESENT;
	GPUCOL_REC_TRY(move_inputs(run, exec, test, out, column, known));
	test->inputs[column] = out->registers[stage->operands[column].index];
	return *known ? set_keys(run, exec, test) : GPUCOL_OK;
}

/* Does the step only keep rows or compute of them, so that those behind it see the same vector? */
static bool
keeps_vector(const Stage *stage)
{
	return stage->kind == GPUCOL_REC_PRESENT || stage->kind == GPUCOL_REC_ABSENT ||
		stage->kind == GPUCOL_REC_TEST || stage->kind == GPUCOL_REC_COMPUTE;
}

/* Detours of the step at `at`, whose input is `in`. */
static GpucolStatus
find_of(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in)
{
	Stage	   *stage = &exec->stages[at];
	int			column = column_of(stage, -1);

	if (column < 0 || !is_settled(exec, stage))
		return GPUCOL_OK;
	for (uint32_t i = at + 1; keeps_vector(&exec->stages[i]) && stage->ndetours < MOST_DETOURS; i++)
	{
		const Stage *tested = &exec->stages[i];
		Detour		detour;
		bool		known = true;

		if (tested->kind != GPUCOL_REC_PRESENT || tested->nkeys < 2 || !is_settled(exec, tested))
			continue;
		GPUCOL_REC_TRY(make_rows(run, exec, tested, stage->operands[column].index, in, &detour.rows, &known));
		if (known)
			GPUCOL_REC_TRY(make_test(run, exec, stage, column, &detour.test, &known));
		if (!known)
			continue;
		if (stage->detours == NULL)
			stage->detours = gpucol_rec_exec_alloc(run, exec, MOST_DETOURS * sizeof(Detour));
		if (stage->detours == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		stage->detours[stage->ndetours++] = detour;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_find_detours(GpucolRecRun *run, GpucolRecExec *exec)
{
	uint32_t	nsteps = exec->rule->nsteps;
	const Vector *in = &exec->unit;

	if (exec->stages[nsteps - 1].kind != GPUCOL_REC_EMIT || exec->stages[nsteps - 1].table->bag)
		return GPUCOL_OK;
	for (uint32_t at = 0; at < nsteps; at++)
	{
		const Stage *stage = &exec->stages[at];

		if (stage->kind == GPUCOL_REC_AGGREGATE)
			at += stage->step->nsteps;
		if (stage->kind == GPUCOL_REC_ATOM)
			GPUCOL_REC_TRY(find_of(run, exec, at, in));
		if (stage->kind == GPUCOL_REC_ATOM || stage->kind == GPUCOL_REC_EXPAND)
			in = &stage->out;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_refresh_detours(GpucolRecRun *run, GpucolRecExec *exec)
{
	for (uint32_t at = 0; at < exec->rule->nsteps; at++)
	{
		const Stage *stage = &exec->stages[at];

		for (int d = 0; d < stage->ndetours; d++)
		{
			const Detour *detour = &stage->detours[d];

			GPUCOL_REC_TRY(gpucol_rec_index_refresh(run, detour->rows.table, detour->rows.index));
			GPUCOL_REC_TRY(gpucol_rec_index_refresh(run, detour->test.table, detour->test.index));
		}
	}
	return GPUCOL_OK;
}

/* ---- the way that rows take ---- */

/* The only level that a look-up reads; NULL: there is none, or *many. */
static const GpucolRecLevel *
only_level(const Stage *stage, bool *many)
{
	const GpucolRecLevel *only = NULL;

	for (int l = 0; l < stage->index->nlevels; l++)
	{
		if (!gpucol_rec_reads_level(stage, &stage->index->levels[l]))
			continue;
		*many |= only != NULL;
		only = &stage->index->levels[l];
	}
	return only;
}

/* Look the rows of a vector up: none are found where there is no level. */
static const GpucolRecLevel *
look_up(const Stage *stage, uint32_t n, bool *many)
{
	const GpucolRecLevel *level = only_level(stage, many);

	if (level != NULL && !*many)
		gpucol_rec_find_rows(stage, level, n);
	else
		memset(stage->count, 0, n * sizeof(uint32_t));
	return level;
}

/* Join the rows of a vector whose way is `way` (0: the step itself), and push on what is left. */
static GpucolStatus
join_way(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in, const uint8_t *ways, uint8_t way,
		 const GpucolRecLevel *level)
{
	Stage	   *stage = &exec->stages[at];
	const Stage *rows = way == 0 ? stage : &stage->detours[way - 1].rows;
	Stage	   *test = way == 0 ? NULL : &stage->detours[way - 1].test;

	for (uint32_t i = 0; i < in->n; i++)
	{
		if (ways[i] == way)
			GPUCOL_REC_TRY(gpucol_rec_join_rows(run, exec, at, rows, test, in, i, level, rows->start[i],
												rows->count[i]));
	}
	return stage->out.n == 0 ? GPUCOL_OK : gpucol_rec_push_rows(run, exec, at, test);
}

GpucolStatus
gpucol_rec_join_detours(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in, bool *joined)
{
	Stage	   *stage = &exec->stages[at];
	const GpucolRecLevel *levels[1 + MOST_DETOURS] = {NULL};
	uint32_t	least[GPUCOL_REC_VECTOR];
	uint8_t		ways[GPUCOL_REC_VECTOR] = {0};
	uint64_t	total = 0;
	bool		many = false;

	levels[0] = look_up(stage, in->n, &many);
	for (uint32_t i = 0; i < in->n; i++)
	{
		least[i] = stage->count[i];
		total += least[i];
	}
	for (int d = 0; d < stage->ndetours && !many && total >= (uint64_t) in->n * LEAST_MEAN; d++)
	{
		const Stage *rows = &stage->detours[d].rows;

		levels[1 + d] = look_up(rows, in->n, &many);
		for (uint32_t i = 0; i < in->n; i++)
		{
			if ((uint64_t) rows->count[i] * WORTH_FACTOR + WORTH_ROWS >= least[i])
				continue;
			least[i] = rows->count[i];
			ways[i] = (uint8_t) (1 + d);
		}
	}
	*joined = !many;
	for (int d = 0; d <= stage->ndetours && !many; d++)
	{
		if (levels[d] != NULL)
			GPUCOL_REC_TRY(join_way(run, exec, at, in, ways, (uint8_t) d, levels[d]));
	}
	return GPUCOL_OK;
}
