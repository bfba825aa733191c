/*-------------------------------------------------------------------------
 *
 * engine.c
 *	  CPU engine for recursion plans: life of a run, strata and rounds,
 *	  delivery of results.
 *
 * A run advances one round at a time, driven by next(): a recursion that would
 * never end can be read as far as its reader likes.  Where a stratum has a
 * shape that a kernel knows, the kernel takes over and produces the rows.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "recursion/cpu/engine.h"

#define LOADED_IDS	2048		/* of rows that are loaded together */

static void finish(GpucolRecRun *run);

/* Intern the constants of the plan. */
static GpucolStatus
intern_constants(GpucolRecRun *run)
{
	uint32_t	i;

	run->constants = gpucol_budget_alloc_zeroed(&run->memory,
												(run->plan->nconstants + 1) *
												sizeof(uint32_t));
	if (run->constants == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < run->plan->nconstants; i++)
		if (!run->plan->constants[i].isnull)
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern(run, run->plan->constants[i].value,
														&run->constants[i]));
	return GPUCOL_OK;
}

/* Buffers that next() hands out. */
static GpucolStatus
allocate_output(GpucolRecRun *run)
{
	int			i;

	run->out_values = gpucol_budget_alloc(&run->memory, sizeof(int64_t) *
										  GPUCOL_REC_VECTOR *
										  GPUCOL_REC_MAX_ARITY);
	run->out_nulls = gpucol_budget_alloc(&run->memory, GPUCOL_REC_VECTOR *
										 GPUCOL_REC_MAX_ARITY);
	run->out_columns = gpucol_budget_alloc(&run->memory, sizeof(int64_t *) *
										   GPUCOL_REC_MAX_ARITY);
	run->out_null_columns = gpucol_budget_alloc(&run->memory, sizeof(uint8_t *) *
												GPUCOL_REC_MAX_ARITY);
	if (!run->out_values || !run->out_nulls || !run->out_columns ||
		!run->out_null_columns)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < GPUCOL_REC_MAX_ARITY; i++)
		run->out_columns[i] = run->out_values + i * GPUCOL_REC_VECTOR;
	return GPUCOL_OK;
}

/* Is a relation derived by rules? */
static bool
is_derived(const GpucolRecPlan *plan, uint32_t relation)
{
	return (plan->relations[relation].flags & GPUCOL_REC_DERIVED) != 0;
}

/* Sort derived relations and rules by stratum, keeping their order. */
static GpucolStatus
sort_strata(GpucolRecRun *run)
{
	const GpucolRecPlan *plan = run->plan;
	uint32_t   *to;
	uint32_t	i;

	run->strata = gpucol_budget_alloc_zeroed(&run->memory, (plan->nstrata + 1) *
											 sizeof(GpucolRecStratum));
	run->sorted = to = gpucol_budget_alloc_zeroed(&run->memory,
												  (plan->nrelations + plan->nrules + 1) *
												  sizeof(uint32_t));
	if (run->strata == NULL || run->sorted == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < plan->nrelations; i++)
		run->strata[plan->relations[i].stratum].nrelations += is_derived(plan, i);
	for (i = 0; i < plan->nrules; i++)
		run->strata[plan->rules[i].stratum].nrules++;
	for (i = 0; i < plan->nstrata; i++)
	{
		GpucolRecStratum *stratum = &run->strata[i];

		stratum->relations = to;
		stratum->rules = to += stratum->nrelations;
		to += stratum->nrules;
		stratum->nrelations = stratum->nrules = 0;
	}
	for (i = 0; i < plan->nrelations; i++)
		if (is_derived(plan, i))
		{
			GpucolRecStratum *stratum = &run->strata[plan->relations[i].stratum];

			run->sorted[stratum->relations - run->sorted + stratum->nrelations++] = i;
		}
	for (i = 0; i < plan->nrules; i++)
	{
		GpucolRecStratum *stratum = &run->strata[plan->rules[i].stratum];

		run->sorted[stratum->rules - run->sorted + stratum->nrules++] = i;
	}
	return GPUCOL_OK;
}

/* Can no rule make a value that is not among the inputs' and constants'? */
static bool
domain_is_fixed(const GpucolRecRun *run)
{
	uint32_t	i;

	for (i = 0; i < run->plan->nsteps; i++)
		if ((run->plan->steps[i].kind == GPUCOL_REC_COMPUTE &&
			 run->plan->steps[i].function != GPUCOL_REC_COPY) ||
			run->plan->steps[i].kind == GPUCOL_REC_AGGREGATE ||
			run->plan->steps[i].kind == GPUCOL_REC_EXPAND)
			return false;
	return true;
}

static GpucolStatus
prepare_run(GpucolRecRun *run)
{
	uint32_t	i;

	run->fixed_domain = domain_is_fixed(run);
	GPUCOL_REC_TRY(sort_strata(run));
	GPUCOL_REC_TRY(gpucol_rec_dictionary_init(&run->dictionary, &run->memory));
	GPUCOL_REC_TRY(intern_constants(run));
	GPUCOL_REC_TRY(allocate_output(run));
	run->tables = gpucol_budget_alloc_zeroed(&run->memory, run->plan->nrelations *
											 sizeof(GpucolRecTable));
	if (run->tables == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < run->plan->nrelations; i++)
		GPUCOL_REC_TRY(gpucol_rec_table_init(run, i));
	return GPUCOL_OK;
}

static GpucolStatus
start(const GpucolRecPlan *plan, const GpucolRecOptions *options,
	  GpucolRecRun **result)
{
	GpucolRecRun *run = calloc(1, sizeof(GpucolRecRun));
	GpucolStatus status;

	if (run == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->plan = plan;
	run->options = *options;
	gpucol_budget_open(&run->memory, options->memory_limit, options->budget);
	run->progress.threads = 1;
	run->progress.method = "none";
	run->progress.engine = "cpu";
	status = prepare_run(run);
	if (status != GPUCOL_OK)
	{
		finish(run);
		return status;
	}
	*result = run;
	return GPUCOL_OK;
}

static void
finish(GpucolRecRun *run)
{
	uint32_t	i;

	if (run == NULL)
		return;
	gpucol_rec_rules_free(run);
	if (run->tables != NULL)
		for (i = 0; i < run->plan->nrelations; i++)
			gpucol_rec_table_free(run, &run->tables[i]);
	gpucol_rec_dictionary_free(&run->dictionary, &run->memory);
	free(run->tables);
	free(run->constants);
	free(run->strata);
	free(run->sorted);
	free(run->out_values);
	free(run->out_nulls);
	free(run->out_columns);
	free(run->out_null_columns);
	free(run);
}

static GpucolStatus
load_rows(GpucolRecRun *run, GpucolRecTable *table, uint32_t nrows,
		  const int64_t *const *columns, const uint8_t *const *nulls)
{
	uint32_t	ids[LOADED_IDS];
	uint32_t	most = LOADED_IDS / (table->arity > 2 ? (uint32_t) table->arity : 2);
	const uint32_t *id_columns[GPUCOL_REC_MAX_ARITY];
	uint32_t	from;
	int			c;

	for (from = 0; from < nrows; from += most)
	{
		uint32_t	n = nrows - from < most ? nrows - from : most;

		for (c = 0; c < table->arity; c++)
		{
			uint32_t   *to = ids + (uint32_t) c * most;

			id_columns[c] = to;
			GPUCOL_REC_TRY(gpucol_rec_dictionary_intern_column(run, n, columns[c] + from,
															   nulls == NULL || nulls[c] == NULL ? NULL :
															   nulls[c] + from, to));
		}
		GPUCOL_REC_TRY(gpucol_rec_table_add(run, table, n, id_columns));
	}
	/* Visible at once; a stratum that derives more starts its delta at 0. */
	table->committed = table->end;
	return GPUCOL_OK;
}

static GpucolStatus
load(GpucolRecRun *run, uint32_t relation, uint32_t nrows,
	 const int64_t *const *columns, const uint8_t *const *nulls)
{
	if (run->failed == GPUCOL_OK)
		run->failed = load_rows(run, &run->tables[relation], nrows, columns,
								nulls);
	return run->failed;
}

/* ---- strata and rounds ---- */

/* The stratum that runs. */
static const GpucolRecStratum *
current_stratum(const GpucolRecRun *run)
{
	return &run->strata[run->stratum];
}

/* Is a rule recursive? */
static bool
is_recursive(const GpucolRecRun *run, uint32_t rule)
{
	return (run->plan->rules[rule].flags & GPUCOL_REC_RECURSIVE) != 0;
}

/* Run the rules of the stratum that are recursive, or those that are not; GPUCOL_END: forms are lost. */
static GpucolStatus
run_rules(GpucolRecRun *run, bool recursive)
{
	const GpucolRecStratum *stratum = current_stratum(run);
	uint32_t	i;

	for (i = 0; i < stratum->nrules; i++)
		if (is_recursive(run, stratum->rules[i]) == recursive)
		{
			run->progress.rule = stratum->rules[i] + 1;
			GPUCOL_REC_TRY(gpucol_rec_rule_run(run, stratum->rules[i]));
		}
	run->progress.rule = 0;
	return run->forms_lost ? GPUCOL_END : GPUCOL_OK;
}

/* A bitmap of this size is cheap whatever its table holds. */
#define SMALL_BITMAP	(16 << 20)

/*
 * Hash or bitmap?  A bitmap if it is small, or as soon as it is smaller than
 * the hash table that it replaces, and, if asked for, wherever it fits.
 */
static GpucolStatus
choose_set(GpucolRecRun *run, GpucolRecTable *table)
{
	uint64_t	domain = (run->dictionary.nvalues + 63) / 64 * 64;
	uint64_t	bytes = domain * domain / 8;
	bool		fits = bytes < gpucol_budget_left(&run->memory);

	if (table->set != GPUCOL_REC_SET_PAIRS || !fits ||
		run->options.strategy == GPUCOL_REC_HISA ||
		run->options.strategy == GPUCOL_REC_SPARSE || !run->fixed_domain)
		return GPUCOL_OK;
	if (run->options.strategy == GPUCOL_REC_BITMAP || bytes <= SMALL_BITMAP ||
		bytes <= table->nslots * sizeof(uint64_t))
		return gpucol_rec_table_to_bits(run, table, domain);
	return GPUCOL_OK;
}

/* Make what the rules emitted the next delta of each relation. */
static GpucolStatus
commit(GpucolRecRun *run)
{
	const GpucolRecStratum *stratum = current_stratum(run);
	uint32_t	i;

	run->progress.delta = 0;
	for (i = 0; i < stratum->nrelations; i++)
	{
		GpucolRecTable *table = &run->tables[stratum->relations[i]];

		if (table->decl->flags & GPUCOL_REC_CHOSEN)
			GPUCOL_REC_TRY(gpucol_rec_choose(run, table));
		gpucol_rec_table_commit(run, table);
		run->progress.delta += table->committed - table->delta;
		GPUCOL_REC_TRY(choose_set(run, table));
	}
	return GPUCOL_OK;
}

bool
gpucol_rec_stratum_lone(const GpucolRecRun *run, uint32_t stratum,
						 uint32_t *relation, uint32_t *rules, uint32_t *nrules)
{
	const GpucolRecStratum *s = &run->strata[stratum];
	const GpucolRecRelation *decl;
	uint32_t	i;

	*nrules = 0;
	if (s->nrelations != 1)
		return false;
	*relation = s->relations[0];
	for (i = 0; i < s->nrules; i++)
		if (is_recursive(run, s->rules[i]))
		{
			if (*nrules == 2)
				return false;
			rules[(*nrules)++] = s->rules[i];
		}
	decl = &run->plan->relations[*relation];
	return *nrules > 0 && decl->arity == 2 &&
		!(decl->flags & (GPUCOL_REC_BAG | GPUCOL_REC_CHOSEN)) && run->tables[*relation].forms == 0 &&
		decl->merge == GPUCOL_REC_MERGE_NONE;
}

/* Does the stratum keep least or greatest values only? */
static bool
is_merging(const GpucolRecRun *run)
{
	const GpucolRecStratum *stratum = current_stratum(run);

	return stratum->nrelations == 1 &&
		run->plan->relations[stratum->relations[0]].merge != GPUCOL_REC_MERGE_NONE;
}

/* Let a kernel take the stratum over, if one knows its shape. */
static GpucolStatus
start_kernel(GpucolRecRun *run)
{
	GpucolRecTable *table = NULL;
	GpucolRecKernel *kernel = NULL;

	if (run->options.strategy == GPUCOL_REC_HISA)
		return GPUCOL_OK;
	if (run->stratum_rounds == 0)
		GPUCOL_REC_TRY(gpucol_rec_closure_start(run, run->stratum, &table,
												&kernel));
	if (run->stratum_rounds == 0 && kernel == NULL && run->progress.delta > 0 &&
		is_merging(run))
	{
		bool		done = false;

		GPUCOL_REC_TRY(gpucol_rec_labels_run(run, run->stratum, &done));
		if (done)
		{
			run->progress.method = "best-first search";
			GPUCOL_REC_TRY(commit(run));
			run->progress.delta = 0;	/* no round is left */
			return GPUCOL_OK;
		}
	}
	if (kernel != NULL)
		run->progress.method = "bit-parallel closure";
	else
		GPUCOL_REC_TRY(gpucol_rec_samegen_start(run, run->stratum, &table,
												&kernel));
	if (kernel != NULL)
		table->kernel = kernel;
	return GPUCOL_OK;
}

static bool
kernel_runs(const GpucolRecRun *run)
{
	const GpucolRecStratum *stratum = current_stratum(run);
	uint32_t	i;

	for (i = 0; i < stratum->nrelations; i++)
		if (run->tables[stratum->relations[i]].kernel != NULL)
			return true;
	return false;
}

/* Rows of an input from which on it is looked for duplicates. */
#define MANY_ROWS	4096

/*
 * Drop what inputs hold twice, where a bitmap of all possible rows is small: joins then
 * multiply no duplicates, which only a bag would keep.
 */
static GpucolStatus
drop_duplicates(GpucolRecRun *run)
{
	const GpucolRecPlan *plan = run->plan;
	uint64_t	domain = run->dictionary.nvalues;
	uint32_t	i;

	for (i = 0; i < plan->nrelations; i++)
		if (is_derived(plan, i) && (plan->relations[i].flags & GPUCOL_REC_BAG))
			return GPUCOL_OK;
	for (i = 0; i < plan->nrelations; i++)
	{
		GpucolRecTable *table = &run->tables[i];

		if (!is_derived(plan, i) && table->bag && table->arity == 2 &&
			table->committed >= MANY_ROWS && domain * domain / 4 <= table->committed)
			GPUCOL_REC_TRY(gpucol_rec_table_distinct(run, table, domain));
	}
	return GPUCOL_OK;
}

static GpucolStatus
begin_stratum(GpucolRecRun *run)
{
	const GpucolRecStratum *stratum = current_stratum(run);
	uint32_t	i;

	if (run->stratum == 0)
		GPUCOL_REC_TRY(drop_duplicates(run));
	run->progress.stratum = run->stratum;
	run->progress.method = "semi-naive";
	run->stratum_rounds = 0;
	for (i = 0; i < stratum->nrelations; i++)
	{
		GpucolRecTable *table = &run->tables[stratum->relations[i]];

		/* Loaded rows belong to the first delta. */
		table->delta = 0;
		table->committed = 0;
		GPUCOL_REC_TRY(choose_set(run, table));
	}
	GPUCOL_REC_TRY(run_rules(run, false));
	GPUCOL_REC_TRY(commit(run));
	run->in_stratum = true;
	return start_kernel(run);
}

/* Put a kernel's rows into its relation, or what strata that read it aggregate of them. */
static GpucolStatus
materialise(GpucolRecRun *run, uint32_t relation)
{
	GpucolRecTable *table = &run->tables[relation];
	uint32_t	pairs[2 * GPUCOL_REC_VECTOR];
	uint32_t	n;
	bool		counted;

	GPUCOL_REC_TRY(gpucol_rec_totals_make(run, relation, &counted));
	while (!counted)
	{
		GPUCOL_REC_TRY(table->kernel->next(run, table->kernel, pairs,
										   GPUCOL_REC_VECTOR, &n));
		if (n == 0)
			break;
		if (gpucol_rec_cancelled(run))
			return GPUCOL_CANCELLED;
		GPUCOL_REC_TRY(gpucol_rec_table_append(run, table, n, pairs));
	}
	gpucol_rec_table_commit(run, table);
	table->kernel->free(run, table->kernel);
	table->kernel = NULL;
	return GPUCOL_OK;
}

static GpucolStatus
end_stratum(GpucolRecRun *run)
{
	const GpucolRecStratum *stratum = current_stratum(run);
	uint32_t	i;

	for (i = 0; i < stratum->nrelations; i++)
	{
		GpucolRecTable *table = &run->tables[stratum->relations[i]];

		if (table->kernel != NULL && (table->decl->flags & GPUCOL_REC_READ))
			GPUCOL_REC_TRY(materialise(run, stratum->relations[i]));
		if (table->decl->merge != GPUCOL_REC_MERGE_NONE && table->slots != NULL)
			GPUCOL_REC_TRY(gpucol_rec_table_compact(run, table));
		gpucol_rec_choices_free(run, table);
		gpucol_rec_table_free_set(run, table);
		table->delta = table->committed;
	}
	for (i = 0; i < stratum->nrules; i++)
		gpucol_rec_rule_free(run, stratum->rules[i]);
	run->in_stratum = false;
	run->stratum++;
	run->done = run->stratum >= run->plan->nstrata;
	return GPUCOL_OK;
}

/* One step forward: the start of a stratum, a round, or its end. */
static GpucolStatus
advance(GpucolRecRun *run)
{
	if (gpucol_rec_cancelled(run))
		return GPUCOL_CANCELLED;
	if (run->stratum >= run->plan->nstrata)
	{
		run->done = true;
		return GPUCOL_OK;
	}
	if (!run->in_stratum)
		return begin_stratum(run);
	if (kernel_runs(run) || run->progress.delta == 0)
		return end_stratum(run);
	if (run->options.max_rounds > 0 &&
		run->stratum_rounds >= run->options.max_rounds)
		return GPUCOL_ROUNDS_EXCEEDED;
	run->stratum_rounds++;
	run->progress.rounds++;
	GPUCOL_REC_TRY(run_rules(run, true));
	GPUCOL_REC_TRY(commit(run));
	return start_kernel(run);
}

/* ---- results ---- */

/*
 * May rows of this relation be handed out before the run is done?  Only if no
 * later round can take them back, and nobody waits for another relation.
 */
static bool
streams(const GpucolRecRun *run, const GpucolRecTable *table)
{
	return run->plan->nstrata == 1 &&
		table->decl->merge == GPUCOL_REC_MERGE_NONE;
}

/* Translate n tuples of ids into the output buffers. */
static void
translate(GpucolRecRun *run, const GpucolRecTable *table,
		  const uint32_t *tuples, uint32_t n, GpucolRecBatch *out)
{
	const int64_t *values = run->dictionary.values;
	uint32_t	i;
	int			c;

	for (c = 0; c < table->arity; c++)
	{
		int64_t    *to = run->out_values + c * GPUCOL_REC_VECTOR;
		uint8_t    *nulls = run->out_nulls + c * GPUCOL_REC_VECTOR;
		bool		any = false;

		for (i = 0; i < n; i++)
		{
			uint32_t	id = tuples[(uint64_t) i * table->arity + c];

			to[i] = values[id];
			nulls[i] = id == GPUCOL_REC_NULL_ID;
			any |= nulls[i] != 0;
		}
		run->out_null_columns[c] = any ? nulls : NULL;
	}
	out->nrows = n;
	out->columns = run->out_columns;
	out->nulls = run->out_null_columns;
}

/* Rows that are there to be delivered now; *n = 0 if there are none. */
static GpucolStatus
deliver(GpucolRecRun *run, GpucolRecTable *table, GpucolRecBatch *out,
		uint32_t *n)
{
	uint32_t	pairs[2 * GPUCOL_REC_VECTOR];
	uint64_t	ready = table->committed - table->emitted;

	*n = ready > GPUCOL_REC_VECTOR ? GPUCOL_REC_VECTOR : (uint32_t) ready;
	if (*n > 0)
	{
		translate(run, table, table->tuples + table->emitted * table->arity, *n,
				  out);
		table->emitted += *n;
		return GPUCOL_OK;
	}
	if (table->kernel == NULL)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(table->kernel->next(run, table->kernel, pairs,
									   GPUCOL_REC_VECTOR, n));
	translate(run, table, pairs, *n, out);
	return GPUCOL_OK;
}

static GpucolStatus
next_rows(GpucolRecRun *run, GpucolRecTable *table, GpucolRecBatch *out)
{
	uint32_t	n;

	for (;;)
	{
		if (run->done || (run->in_stratum && streams(run, table)))
		{
			GPUCOL_REC_TRY(deliver(run, table, out, &n));
			if (n > 0)
				return GPUCOL_OK;
			if (run->done)
				return GPUCOL_END;
		}
		GPUCOL_REC_TRY(advance(run));
	}
}

static GpucolStatus
next(GpucolRecRun *run, uint32_t relation, GpucolRecBatch *out)
{
	GpucolStatus status;

	if (run->failed != GPUCOL_OK)
		return run->failed;
	status = next_rows(run, &run->tables[relation], out);
	if (status != GPUCOL_OK && (status != GPUCOL_END || run->forms_lost))
		run->failed = status;
	return status;
}

static GpucolStatus
summarise_table(GpucolRecRun *run, GpucolRecTable *table, const bool *want,
				uint64_t *nrows, GpucolRecSummary *columns)
{
	*nrows = 0;
	memset(columns, 0, table->arity * sizeof(*columns));
	while (!run->done)
	{
		GPUCOL_REC_TRY(advance(run));
		/* A derived bag forgets its rows; others are read at the end. */
		if (table->bag && run->in_stratum)
		{
			*nrows += table->committed;
			GPUCOL_REC_TRY(gpucol_rec_summarise_rows(run, table, want, columns));
		}
	}
	if (table->bag)
		return GPUCOL_OK;
	*nrows += table->committed;
	GPUCOL_REC_TRY(gpucol_rec_summarise_rows(run, table, want, columns));
	if (table->kernel != NULL)
		return gpucol_rec_summarise_kernel(run, table, want, nrows, columns);
	return GPUCOL_OK;
}

static GpucolStatus
summarise(GpucolRecRun *run, uint32_t relation, const bool *want,
		  uint64_t *nrows, GpucolRecSummary *columns)
{
	if (run->failed == GPUCOL_OK)
		run->failed = summarise_table(run, &run->tables[relation], want, nrows,
									  columns);
	return run->failed;
}

static void
progress(const GpucolRecRun *run, GpucolRecProgress *out)
{
	*out = run->progress;
	out->forms_lost = run->forms_lost;
	out->bytes = run->memory.used;
	out->peak_bytes = run->memory.peak;
}

const GpucolRecursiveEngine gpucol_recursive_cpu = {
	.name = "cpu",
	.start = start,
	.load = load,
	.next = next,
	.summarise = summarise,
	.progress = progress,
	.finish = finish,
};
