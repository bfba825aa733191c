/*-------------------------------------------------------------------------
 *
 * carried.c
 *	  Values of a recursion that are carried along and never compared.
 *
 * The path to a row, as a text or an array, is made anew in each round, and only shown: nothing looks for a
 * row by it, and UNION ALL does not ask which rows are equal.  Such values need no code that equal
 * ones share, so nobody looks for equal ones.
 *
 * A register is compared where a step matches, tests or aggregates it, or emits it into a column that is;
 * a column is where a step matches it, or binds it to a register that is, and where its relation tells
 * equal rows apart.  Expressions of the host see values, not codes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/exec/state.h"

/* Which hosts look for matches of codes. */
typedef struct Carried
{
	const GpucolRecPlan *plan;
	const bool *matches;		/* by host */
	bool	   *columns;		/* by relation and column: nothing has compared it yet */
	bool	   *hosts;			/* the same of results */
	bool		changed;
} Carried;

static bool *
column_of(const Carried *carried, uint32 relation, uint32 column)
{
	return &carried->columns[relation * GPUCOL_REC_MAX_ARITY + column];
}

/* Something of a column, or a result, is compared. */
static void
compare(Carried *carried, bool *flag)
{
	carried->changed |= *flag;
	*flag = false;
}

static const GpucolRecOperand *
operand_of(const Carried *carried, const GpucolRecStep *step, uint32 i)
{
	return &carried->plan->operands[step->operands + i];
}

/* Does the step see values of its operands, rather than codes? */
static bool
sees_values(const Carried *carried, const GpucolRecStep *step)
{
	if (step->kind == GPUCOL_REC_EXPAND)
		return true;
	return (step->kind == GPUCOL_REC_COMPUTE || step->kind == GPUCOL_REC_TEST) &&
		step->function == GPUCOL_REC_HOST && !carried->matches[step->relation];
}

static bool
is_atom(const GpucolRecStep *step)
{
	return step->kind == GPUCOL_REC_ATOM || step->kind == GPUCOL_REC_ABSENT || step->kind == GPUCOL_REC_PRESENT;
}

/* Note what a step compares of its registers, and of the columns that it matches. */
static void
note_step(Carried *carried, const GpucolRecStep *step, bool *compared)
{
	if (sees_values(carried, step))
		return;
	for (uint32 i = 0; i < step->noperands; i++)
	{
		const GpucolRecOperand *operand = operand_of(carried, step, i);
		bool		matched = operand->kind == GPUCOL_REC_REGISTER || operand->kind == GPUCOL_REC_CONSTANT;

		if (is_atom(step) && matched)
			compare(carried, column_of(carried, step->relation, i));
		if (operand->kind == GPUCOL_REC_REGISTER &&
			(step->kind != GPUCOL_REC_EMIT || !*column_of(carried, step->relation, i)))
			compared[operand->index] = true;
	}
}

/* Columns that are bound to a register that is compared, and results that are put into one. */
static void
note_origins(Carried *carried, const GpucolRecStep *step, const bool *compared)
{
	if (step->kind == GPUCOL_REC_COMPUTE && step->function == GPUCOL_REC_HOST && compared[step->target])
		compare(carried, &carried->hosts[step->relation]);
	for (uint32 i = 0; is_atom(step) && i < step->noperands; i++)
	{
		const GpucolRecOperand *operand = operand_of(carried, step, i);

		if (operand->kind == GPUCOL_REC_BIND && compared[operand->index])
			compare(carried, column_of(carried, step->relation, i));
	}
}

static void
note_rule(Carried *carried, const GpucolRecRule *rule)
{
	bool	   *compared = palloc0(sizeof(bool) * (rule->nregisters + 1));

	for (uint32 i = 0; i < rule->nsteps; i++)
		note_step(carried, &carried->plan->steps[rule->steps + i], compared);
	for (uint32 i = 0; i < rule->nsteps; i++)
		note_origins(carried, &carried->plan->steps[rule->steps + i], compared);
	pfree(compared);
}

/* Relations that keep duplicates tell no equal rows apart. */
static void
begin_columns(Carried *carried, const bool *matched)
{
	for (uint32 r = 0; r < carried->plan->nrelations; r++)
	{
		const GpucolRecRelation *relation = &carried->plan->relations[r];
		bool		keeps = (relation->flags & GPUCOL_REC_BAG) != 0 && (relation->flags & GPUCOL_REC_CHOSEN) == 0 &&
			relation->merge == GPUCOL_REC_MERGE_NONE && !matched[r];

		memset(column_of(carried, r, 0), keeps, sizeof(bool) * relation->arity);
	}
}

void
gpucol_recursive_find_carried(const GpucolRecPlan *plan, int nhosts, const bool *matches, const bool *matched,
							  bool **columns, bool **hosts)
{
	Carried		carried = {.plan = plan,.matches = matches,.changed = true};

	carried.columns = palloc0(sizeof(bool) * plan->nrelations * GPUCOL_REC_MAX_ARITY);
	carried.hosts = palloc(sizeof(bool) * (nhosts + 1));
	memset(carried.hosts, true, sizeof(bool) * nhosts);
	begin_columns(&carried, matched);
	while (carried.changed)
	{
		carried.changed = false;
		for (uint32 i = 0; i < plan->nrules; i++)
			note_rule(&carried, &plan->rules[i]);
	}
	*columns = carried.columns;
	*hosts = carried.hosts;
}
