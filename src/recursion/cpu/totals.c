/*-------------------------------------------------------------------------
 *
 * totals.c
 *	  Aggregates over all rows of a relation, counted by the kernel that would produce
 *	  the rows.
 *
 * Two ask for them: a query that reads aggregates alone (summarise of recursion/engine.h),
 * and rules.  n = count : { path(x, y) }, d = count : { path(7, y) } for many values in the
 * place of 7, and sums, least and greatest values of a column, need no row of path: where
 * all that later strata read of a relation is of that kind, its rows are not made.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/engine.h"

/* Add `times` occurrences of an id to a summary. */
static inline void
summarise_id(const GpucolRecRun *run, GpucolRecSummary *summary, uint32_t id,
			 uint64_t times)
{
	int64_t		value = run->dictionary.values[id];

	if (id == GPUCOL_REC_NULL_ID || times == 0)
		return;
	if (summary->count == 0 || value < summary->min)
		summary->min = value;
	if (summary->count == 0 || value > summary->max)
		summary->max = value;
	summary->count += times;
	summary->sum += (__int128) value * times;
}

GpucolStatus
gpucol_rec_summarise_rows(const GpucolRecRun *run, const GpucolRecTable *table,
						  const bool *want, GpucolRecSummary *columns)
{
	uint64_t	row;
	int			c;

	for (c = 0; c < table->arity; c++)
		if (want != NULL && want[c])
			for (row = 0; row < table->committed; row++)
			{
				if (gpucol_rec_poll(run, row))
					return GPUCOL_CANCELLED;
				summarise_id(run, &columns[c],
							 table->tuples[row * table->arity + c], 1);
			}
	return GPUCOL_OK;
}

/* Room for a counter of each id, for the columns that are wanted. */
static GpucolStatus
open_counts(GpucolRecRun *run, const bool *want, uint64_t *counts[2])
{
	for (int c = 0; c < 2; c++)
	{
		counts[c] = NULL;
		if (want == NULL || !want[c])
			continue;
		counts[c] = gpucol_budget_alloc_zeroed(&run->memory, run->dictionary.nvalues *
											   sizeof(uint64_t));
		if (counts[c] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return GPUCOL_OK;
}

static void
free_counts(GpucolRecRun *run, uint64_t nids, uint64_t *counts[2])
{
	for (int c = 0; c < 2; c++)
		gpucol_budget_free(&run->memory, counts[c], nids * sizeof(uint64_t));
}

/* Summaries of what has been counted by id. */
static void
summarise_counts(const GpucolRecRun *run, uint64_t *const counts[2],
				 GpucolRecSummary *columns)
{
	for (int c = 0; c < 2; c++)
		for (uint64_t id = 0; id < run->dictionary.nvalues && counts[c] != NULL; id++)
			summarise_id(run, &columns[c], (uint32_t) id, counts[c][id]);
}

GpucolStatus
gpucol_rec_summarise_kernel(GpucolRecRun *run, GpucolRecTable *table, const bool *want,
							uint64_t *nrows, GpucolRecSummary *columns)
{
	uint64_t   *counts[2] = {NULL, NULL};
	uint64_t	produced = 0;
	GpucolStatus status = open_counts(run, want, counts);

	if (status == GPUCOL_OK)
		status = table->kernel->count(run, table->kernel, &produced, counts[0],
									  counts[1]);
	*nrows += produced;
	if (status == GPUCOL_OK)
		summarise_counts(run, counts, columns);
	free_counts(run, run->dictionary.nvalues, counts);
	return status;
}

/* ---- aggregates of rules ---- */

/* The column of a relation of two that an atom binds to a register, or -1. */
static int
bound_column(const GpucolRecOperand *operands, uint16_t reg)
{
	for (int c = 0; c < 2; c++)
		if (operands[c].kind == GPUCOL_REC_BIND && operands[c].index == reg)
			return c;
	return -1;
}

/* The one column that is matched, and by a value from outside the atom; -2: others are. */
static int
matched_column(const GpucolRecOperand *operands)
{
	int			key = -1;

	for (int c = 0; c < 2; c++)
	{
		if (operands[c].kind != GPUCOL_REC_REGISTER && operands[c].kind != GPUCOL_REC_CONSTANT)
			continue;
		if (key >= 0 || (operands[c].kind == GPUCOL_REC_REGISTER &&
						 bound_column(operands, operands[c].index) >= 0))
			return -2;
		key = c;
	}
	return key;
}

bool
gpucol_rec_total_of(const GpucolRecPlan *plan, uint32_t at, GpucolRecTotal *total)
{
	const GpucolRecStep *step = &plan->steps[at];
	const GpucolRecStep *atom = step + 1;
	const GpucolRecStep *end = step + 2;
	const GpucolRecOperand *operands;

	if (step->kind != GPUCOL_REC_AGGREGATE || step->nsteps != 2 ||
		atom->kind != GPUCOL_REC_ATOM || atom->version != GPUCOL_REC_FULL ||
		atom->noperands != 2)
		return false;
	operands = plan->operands + atom->operands;
	total->relation = atom->relation;
	total->key = matched_column(operands);
	total->value = -1;
	if (total->key == -2)
		return false;
	if (total->key >= 0)
		total->operand = operands[total->key];
	if (step->function == GPUCOL_REC_COUNT)
		return end->noperands == 0;
	if (total->key >= 0 || end->noperands != 1 || step->type != GPUCOL_REC_INT8 ||
		plan->operands[end->operands].kind != GPUCOL_REC_REGISTER)
		return false;
	total->value = bound_column(operands, plan->operands[end->operands].index);
	return total->value >= 0;
}

/*
 * Is all that later strata read of a relation totals?  Then, of which columns they need
 * the values or the rows of each value.
 */
static bool
read_for_totals(const GpucolRecRun *run, uint32_t relation, bool *want)
{
	const GpucolRecPlan *plan = run->plan;
	uint16_t	stratum = plan->relations[relation].stratum;

	for (uint32_t r = 0; r < plan->nrules; r++)
	{
		const GpucolRecRule *rule = &plan->rules[r];

		for (uint32_t i = 0; i < rule->nsteps && rule->stratum != stratum; i++)
		{
			const GpucolRecStep *step = &plan->steps[rule->steps + i];
			GpucolRecTotal total;

			if (gpucol_rec_total_of(plan, rule->steps + i, &total) &&
				total.relation == relation)
			{
				if (total.key >= 0 || total.value >= 0)
					want[total.key >= 0 ? total.key : total.value] = true;
				i += step->nsteps;
			}
			else if (step->relation == relation &&
					 (step->kind == GPUCOL_REC_ATOM || step->kind == GPUCOL_REC_ABSENT ||
					  step->kind == GPUCOL_REC_PRESENT))
				return false;
		}
	}
	return true;
}

/* Count the rows that the table has beside those of its kernel, by id. */
static GpucolStatus
count_rows(const GpucolRecRun *run, const GpucolRecTable *table, uint64_t *counts[2])
{
	for (int c = 0; c < 2; c++)
		for (uint64_t row = 0; row < table->committed && counts[c] != NULL; row++)
		{
			if (gpucol_rec_poll(run, row))
				return GPUCOL_CANCELLED;
			counts[c][table->tuples[row * 2 + c]]++;
		}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_totals_make(GpucolRecRun *run, uint32_t relation, bool *made)
{
	GpucolRecTable *table = &run->tables[relation];
	bool		want[2] = {false, false};
	GpucolRecTotals *totals;

	*made = false;
	if ((table->decl->flags & GPUCOL_REC_OUTPUT) || table->arity != 2 ||
		!read_for_totals(run, relation, want))
		return GPUCOL_OK;
	table->totals = totals = gpucol_budget_alloc_zeroed(&run->memory, sizeof(*totals));
	if (totals == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	totals->nids = run->dictionary.nvalues;
	GPUCOL_REC_TRY(open_counts(run, want, totals->counts));
	GPUCOL_REC_TRY(table->kernel->count(run, table->kernel, &totals->nrows,
										totals->counts[0], totals->counts[1]));
	GPUCOL_REC_TRY(count_rows(run, table, totals->counts));
	totals->nrows += table->committed;
	summarise_counts(run, totals->counts, totals->columns);
	*made = true;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_totals_get(const GpucolRecTotals *totals, const GpucolRecStep *step,
					  const GpucolRecTotal *total, uint32_t key, GpucolRecValue *result)
{
	const GpucolRecSummary *column = &totals->columns[total->value < 0 ? 0 : total->value];

	result->isnull = false;
	switch ((GpucolRecFunction) step->function)
	{
		case GPUCOL_REC_COUNT:
			if (total->key < 0)
				result->value = (int64_t) totals->nrows;
			else
				result->value = key == GPUCOL_REC_NULL_ID || key >= totals->nids ? 0 :
					(int64_t) totals->counts[total->key][key];
			return GPUCOL_OK;
		case GPUCOL_REC_SUM:
			if (column->sum < INT64_MIN || column->sum > INT64_MAX)
				return GPUCOL_INT8_OUT_OF_RANGE;
			result->value = (int64_t) column->sum;
			return GPUCOL_OK;
		default:
			result->isnull = column->count == 0;
			result->value = step->function == GPUCOL_REC_MIN ? column->min : column->max;
			return GPUCOL_OK;
	}
}

void
gpucol_rec_totals_free(GpucolRecRun *run, GpucolRecTable *table)
{
	GpucolRecTotals *totals = table->totals;

	if (totals == NULL)
		return;
	free_counts(run, totals->nids, totals->counts);
	gpucol_budget_free(&run->memory, totals, sizeof(*totals));
	table->totals = NULL;
}
