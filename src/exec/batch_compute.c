/*-------------------------------------------------------------------------
 *
 * batch_compute.c
 *	  The columns of a target list, of batches of the rows that a plan node reads.
 *
 * Columns that are only chosen are shown where they are.  What an engine can compute, the CPU engine computes: one
 * run goes on for all batches, and its source shows it a vector's worth of rows at a time.  All else PostgreSQL
 * evaluates for these rows, remembering what repeats (memo.c).
 *
 * Where a row raises an error, or the engine cannot have its value, the engine's answer for the vector is void:
 * PostgreSQL evaluates all columns of these rows, one row after the other, so that an error is its own, and that of
 * the first row which has one.  After a few such vectors the engine is not asked again, and for few rows it is not
 * begun: a node may be scanned again for each row of another.  What does not depend on that row stays prepared.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/ruleutils.h"

#include "exec/batch_compute.h"
#include "exec/memo.h"
#include "lower/harmless.h"
#include "lower/host_test.h"
#include "lower/pipe.h"
#include "service/memory.h"

/* In expressions here, the columns of a batch. */
#define COLUMNS_VARNO		1

/* For fewer rows the engine is not begun. */
#define LEAST_ROWS			128

/* Vectors for which the engine may have had no answer. */
#define MOST_FAILURES		8

/* What is remembered of one expression. */
#define REMEMBERED_BYTES	((Size) 1024 * 1024)

/* When evaluating has taken so much memory, the rows so far are shown. */
#define EVALUATED_BYTES		((Size) 4 * 1024 * 1024)

/* A column of the target list. */
typedef struct Column
{
	Expr	   *expr;			/* over the batch's columns */
	int			place;			/* it is this one of them, or -1: a constant, or computed: */
	int			number;			/* by the engine, as this output; or -1: by PostgreSQL, */
	GpucolMemo *memo;			/* with this; NULL: it never was yet */
	GpucolOutput output;		/* of what is computed; its map is always set */
	bool		by_engine;		/* has it ever been? */
	bool		by_postgres;
} Column;

/* Shows the engine a vector's worth of rows. */
typedef struct Source
{
	GpucolSource base;
	const GpucolBatch *batch;
	uint32		first;
	uint32		nrows;
	GpucolRowBatch rows;
} Source;

struct GpucolBatchCompute
{
	PlanState  *node;
	List	   *tlist;
	TupleDesc	desc;			/* of the batch's columns */
	int			ncolumns;
	Column	   *columns;
	int			ncomputed;		/* of them */
	bool		varies;			/* with parameters that may change from scan to scan */
	GpucolBatch from;			/* the rows that were taken; */
	uint32		first;			/* those from here on have not been shown */
	MemoryContext taken;		/* of copies */
	MemoryContext shown;		/* of the values that are */

	/* for the parameters of a scan, in `prepared` */
	MemoryContext prepared;
	bool		ready;
	TupleTableSlot *slot;
	Datum	  **values;			/* of a vector, by column of the batch; NULL: PostgreSQL does not read it */
	bool	  **isnull;
	bool		lowered;		/* for the engine, */
	GpucolProgram *program;		/* or NULL: it computes nothing */
	GpucolLower *lower;
	GpucolPipeDecimal *decimals;	/* as which it was lowered, by column of the batch */
	GpucolHost	host;
	Source		source;
	GpucolRun  *run;
	int			failures;
};

/* ------------------------------------------------------------------------
 * What is computed
 * ------------------------------------------------------------------------
 */

/* Which columns a batch has. */
typedef struct Places
{
	const AttrNumber *attnums;
	int			n;
	bool		fits;
} Places;

/* Replace the columns that a node reads by those of its batches. */
static Node *
replace_columns(Node *node, void *arg)
{
	Places	   *places = arg;
	const Var  *var = (const Var *) node;
	int			at = 0;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, replace_columns, arg);
	while (at < places->n && (places->attnums == NULL ? at + 1 : places->attnums[at]) != var->varattno)
		at++;
	places->fits &= at < places->n && var->varattno > 0;
	return (Node *) makeVar(COLUMNS_VARNO, at + 1, var->vartype, var->vartypmod, var->varcollid, 0);
}

bool
gpucol_batch_compute_possible(List *tlist, const AttrNumber *attnums, int n)
{
	Places		places = {.attnums = attnums,.n = n,.fits = true};
	Node	   *exprs = (Node *) tlist;

	if (contain_subplans(exprs) || contain_volatile_functions(exprs) ||
		expression_returns_set(exprs))
		return false;
	(void) replace_columns(exprs, &places);
	return places.fits;
}

bool
gpucol_batch_reads_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, gpucol_batch_reads_param, context);
}

static void
init_column(Column *column, Expr *expr, Places *places)
{
	expr = (Expr *) replace_columns((Node *) expr, places);
	column->expr = expr;
	column->place = IsA(expr, Var) ? ((Var *) expr)->varattno - 1 : -1;
	column->number = -1;
	gpucol_typemap_init(&column->output.map, exprType((Node *) expr), exprTypmod((Node *) expr),
						exprCollation((Node *) expr));
}

/* Is a column neither one of the batch's nor a constant? */
static bool
is_computed(const Column *column)
{
	return column->place < 0 && !IsA(column->expr, Const);
}

/* Describe the columns of the batch. */
static TupleDesc
describe_columns(const AttrNumber *attnums, int n, TupleDesc from)
{
	TupleDesc	desc = CreateTemplateTupleDesc(n);

	for (int i = 0; i < n; i++)
		TupleDescCopyEntry(desc, i + 1, from, attnums == NULL ? i + 1 : attnums[i]);
	return desc;
}

/* Context callback: let go of the engine whatever ends the scan. */
static void
end_run(void *arg)
{
	GpucolBatchCompute *compute = arg;

	if (compute->run != NULL)
		gpucol_engine_cpu.finish(compute->run);
	compute->run = NULL;
}

GpucolBatchCompute *
gpucol_batch_compute_create(PlanState *node, List *tlist, const AttrNumber *attnums, int n, TupleDesc desc)
{
	GpucolBatchCompute *compute = palloc0(sizeof(GpucolBatchCompute));
	Places		places = {.attnums = attnums,.n = n,.fits = true};
	ListCell   *lc;

	compute->node = node;
	compute->tlist = tlist;
	compute->desc = describe_columns(attnums, n, desc);
	compute->varies = gpucol_batch_reads_param((Node *) tlist, NULL);
	compute->ncolumns = list_length(tlist);
	compute->columns = palloc0(Max(compute->ncolumns, 1) * sizeof(Column));
	foreach(lc, tlist)
	{
		Column	   *column = &compute->columns[foreach_current_index(lc)];

		init_column(column, lfirst_node(TargetEntry, lc)->expr, &places);
		compute->ncomputed += is_computed(column);
	}
	gpucol_batch_init(&compute->from, n);
	compute->taken = AllocSetContextCreate(CurrentMemoryContext, "gpucol batch taken", ALLOCSET_DEFAULT_SIZES);
	compute->shown = AllocSetContextCreate(CurrentMemoryContext, "gpucol batch shown", ALLOCSET_DEFAULT_SIZES);
	compute->prepared = AllocSetContextCreate(CurrentMemoryContext, "gpucol batch computing", ALLOCSET_DEFAULT_SIZES);
	return compute;
}

void
gpucol_batch_compute_reset(GpucolBatchCompute *compute)
{
	compute->from.nrows = compute->first = 0;
	if (!compute->varies)
		return;
	compute->ready = compute->lowered = false;
	compute->program = NULL;
	MemoryContextReset(compute->prepared);
}

bool
gpucol_batch_compute_offer(GpucolBatchCompute **compute, PlanState *node, const AttrNumber *attnums, int n,
						   TupleDesc desc)
{
	List	   *tlist = node->plan->targetlist;

	if (*compute == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(node->state->es_query_cxt);

		if (gpucol_batch_compute_possible(tlist, attnums, n))
			*compute = gpucol_batch_compute_create(node, tlist, attnums, n, desc);
		MemoryContextSwitchTo(old);
	}
	else
		gpucol_batch_compute_reset(*compute);
	return *compute != NULL;
}

/* ------------------------------------------------------------------------
 * By the engine
 * ------------------------------------------------------------------------
 */

/* Next rows of the source. */
static GpucolStatus
next_rows(GpucolSource *base, GpucolDelta *out)
{
	Source	   *source = (Source *) base;
	GpucolRowBatch *rows = &source->rows;
	MemoryContext old;
	bool		fits = true;

	gpucol_row_batch_reset(rows);
	old = MemoryContextSwitchTo(rows->context);
	for (int c = 0; c < rows->ncolumns && fits; c++)
		fits = gpucol_batch_put(source->batch, rows->columns[c].attnum - 1, source->first, source->nrows, rows, c);
	MemoryContextSwitchTo(old);
	rows->nrows = source->nrows;
	return gpucol_row_batch_show(rows, fits, out);
}

static const GpucolSourceOps source_ops = {
	.next_segment = gpucol_row_batch_no_segment,
	.map = gpucol_row_batch_map_nothing,
	.unmap = gpucol_row_batch_unmap_nothing,
	.next_delta = next_rows,
	.check_interrupts = gpucol_row_batch_check_interrupts,
	.close = gpucol_row_batch_hold_nothing,
};

/* Has a value the class that values of a type have in batches? */
static bool
has_class(const GpucolValue *value, const GpucolTypeMap *map)
{
	switch (value->cls)
	{
		case GPUCOL_CLASS_B:
			return map->type_oid == BOOLOID;
		case GPUCOL_CLASS_I:
			return map->kind == GPUCOL_KIND_INT && map->type_oid != BOOLOID;
		case GPUCOL_CLASS_D:
			return map->type_oid == NUMERICOID;
		case GPUCOL_CLASS_F:
			return map->kind == GPUCOL_KIND_FLOAT4 || map->kind == GPUCOL_KIND_FLOAT8;
		default:
			return map->kind == GPUCOL_KIND_BYTES;
	}
}

/* Lower a column for the engine, if it can compute it. */
static void
lower_column(GpucolLower *l, Column *column)
{
	GpucolLower mark = *l;
	GpucolValue value;
	int			number = l->nkeys;

	column->number = -1;
	if (!is_computed(column))
		return;
	if (!gpucol_lower_output(l, column->expr, &value) || !has_class(&value, &column->output.map))
	{
		gpucol_lower_restore(l, &mark);
		return;
	}
	column->number = number;
	column->output.cls = value.cls;
	column->output.scale = value.scale;
}

/* Is a column of the batch at hand of decimals, though its type does not say so? */
static bool
is_open_decimal(const GpucolBatchCompute *compute, int c)
{
	const GpucolOutput *output = &compute->from.outputs[c];

	return output->cls == GPUCOL_CLASS_D && output->map.type_oid == NUMERICOID &&
		output->map.kind != GPUCOL_KIND_DECIMAL && output->scale <= GPUCOL_INT128_DIGITS;
}

/* Note as what the columns of the first batch are lowered. */
static void
find_decimals(GpucolBatchCompute *compute)
{
	compute->decimals = palloc0(Max(compute->desc->natts, 1) * sizeof(GpucolPipeDecimal));
	for (int c = 0; c < compute->desc->natts; c++)
	{
		GpucolPipeDecimal *decimal = &compute->decimals[c];

		decimal->is = is_open_decimal(compute, c);
		decimal->scale = decimal->is ? compute->from.outputs[c].scale : 0;
		decimal->digits = GPUCOL_INT128_DIGITS;
	}
}

/* Are those of the batch at hand the same? */
static bool
fits_decimals(const GpucolBatchCompute *compute)
{
	for (int c = 0; c < compute->desc->natts; c++)
	{
		if (compute->decimals[c].is &&
			!(is_open_decimal(compute, c) && compute->from.outputs[c].scale == compute->decimals[c].scale))
			return false;
	}
	return true;
}

/* Make the program of what the engine can compute; false if that is nothing. */
static bool
make_program(GpucolBatchCompute *compute)
{
	GpucolLower *l = gpucol_lower_begin(compute->desc, COLUMNS_VARNO, compute->node);

	/* an engine's answer can be done without */
	l->aggregating = l->parts = true;
	find_decimals(compute);
	l->decimals = compute->decimals;
	gpucol_lower_end_filter(l);
	for (int i = 0; i < compute->ncolumns; i++)
		lower_column(l, &compute->columns[i]);
	if (l->nkeys == 0 || l->failed || l->never || (l->nhosts + l->norders > 0 && !gpucol_harmless_stack()))
		return false;
	compute->lower = l;
	compute->program = gpucol_lower_finish(l, GPUCOL_PROGRAM_SCAN);
	return true;
}

/* Prepare for the engine. */
static void
prepare_engine(GpucolBatchCompute *compute)
{
	Source	   *source = &compute->source;

	compute->lowered = true;
	compute->failures = 0;
	if (!make_program(compute))
		return;
	gpucol_memory_watch(compute->prepared, end_run, compute);
	*source = (Source) {.base.ops = &source_ops,.base.ncolumns = compute->program->ncolumns,
	.base.max_window_rows = GPUCOL_PAGE_ROWS,.batch = &compute->from};
	gpucol_row_batch_init(&source->rows, compute->desc,
						  GPUCOL_PROGRAM_ARRAY(compute->program, GpucolProgramColumn, columns),
						  compute->program->ncolumns, "gpucol batch computed");
}

/* Start the engine, unless it runs. */
static GpucolStatus
start_engine(GpucolBatchCompute *compute)
{
	GpucolRunOptions options = {.threads = 1,.window_limit = gpucol_memory_query_limit(),
	.budget = gpucol_memory_session(),.checked = true};
	MemoryContext old;
	const char *why;

	if (compute->run != NULL)
		return GPUCOL_OK;
	old = MemoryContextSwitchTo(compute->prepared);
	gpucol_host_init(&compute->host, compute->lower, compute->node);
	MemoryContextSwitchTo(old);
	return gpucol_engine_cpu.start(compute->program, &compute->source.base, &compute->host, &options, &compute->run,
								   &why);
}

/* Have the engine compute its columns for n rows; false where it has no answer. */
static bool
ask_engine(GpucolBatchCompute *compute, uint32 n, GpucolResult *result)
{
	GpucolStatus status;

	if (!compute->lowered && n >= LEAST_ROWS)
	{
		MemoryContext old = MemoryContextSwitchTo(compute->prepared);

		prepare_engine(compute);
		MemoryContextSwitchTo(old);
	}
	if (compute->program == NULL || compute->failures == MOST_FAILURES || !fits_decimals(compute))
		return false;
	compute->source.first = compute->first;
	compute->source.nrows = n;
	memset(result, 0, sizeof(*result));
	status = start_engine(compute);
	if (status == GPUCOL_OK)
		status = gpucol_engine_cpu.next(compute->run, result);
	if (status == GPUCOL_OK && result->nrows == n && !gpucol_host_refused(&compute->host))
		return true;
	end_run(compute);
	compute->failures++;
	return false;
}

/* ------------------------------------------------------------------------
 * By PostgreSQL
 * ------------------------------------------------------------------------
 */

/* Have what evaluates a column. */
static GpucolMemo *
memo_of(GpucolBatchCompute *compute, Column *column)
{
	Bitmapset  *reads = NULL;
	int			member = -1;
	MemoryContext old;

	if (column->memo != NULL)
		return column->memo;
	old = MemoryContextSwitchTo(compute->prepared);
	column->memo = gpucol_memo_create(column->expr, NULL, compute->desc, REMEMBERED_BYTES);
	pull_varattnos((Node *) column->expr, COLUMNS_VARNO, &reads);
	while ((member = bms_next_member(reads, member)) >= 0)
	{
		int			c = member + FirstLowInvalidHeapAttributeNumber - 1;

		if (compute->values[c] != NULL)
			continue;
		compute->values[c] = palloc(GPUCOL_VECTOR_VALUES * sizeof(Datum));
		compute->isnull[c] = palloc(GPUCOL_VECTOR_VALUES * sizeof(bool));
	}
	MemoryContextSwitchTo(old);
	return column->memo;
}

/* Form the datums that are read of n rows. */
static void
form_datums(GpucolBatchCompute *compute, uint32 n)
{
	for (int c = 0; c < compute->desc->natts; c++)
	{
		GpucolResultColumn column;

		if (compute->values[c] == NULL)
			continue;
		column = gpucol_result_column_from(&compute->from.columns[c], compute->first);
		gpucol_output_datums(&compute->from.outputs[c], &column, n, compute->values[c], compute->isnull[c]);
	}
}

/* Evaluate columns for one row. */
static void
evaluate_row(GpucolBatchCompute *compute, const int *evaluated, int nevaluated, uint32 row, Datum **values,
			 bool **isnull)
{
	ExprContext *econtext = compute->node->ps_ExprContext;

	for (int c = 0; c < compute->desc->natts; c++)
	{
		if (compute->values[c] == NULL)
			continue;
		compute->slot->tts_values[c] = compute->values[c][row];
		compute->slot->tts_isnull[c] = compute->isnull[c][row];
	}
	for (int i = 0; i < nevaluated; i++)
		values[i][row] = gpucol_memo_eval(compute->columns[evaluated[i]].memo, econtext, &isnull[i][row]);
}

/*
 * Have PostgreSQL evaluate what the engine does not compute, or, where it has no answer, all columns for up to n rows;
 * for how many is returned.
 */
static uint32
evaluate(GpucolBatchCompute *compute, bool all, uint32 n, GpucolBatch *batch)
{
	int		   *evaluated = palloc(compute->ncolumns * sizeof(int));
	Datum	  **values = palloc(compute->ncolumns * sizeof(Datum *));
	bool	  **isnull = palloc(compute->ncolumns * sizeof(bool *));
	Size		most;
	uint32		row = 0;
	int			k = 0;

	for (int i = 0; i < compute->ncolumns; i++)
	{
		Column	   *column = &compute->columns[i];

		if (!is_computed(column) || (column->number >= 0 && !all))
			continue;
		(void) memo_of(compute, column);
		column->by_postgres = true;
		evaluated[k] = i;
		values[k] = palloc(n * sizeof(Datum));
		isnull[k++] = palloc(n * sizeof(bool));
	}
	if (k == 0)
		return n;
	form_datums(compute, n);
	ResetExprContext(compute->node->ps_ExprContext);
	compute->node->ps_ExprContext->ecxt_scantuple = compute->slot;
	most = MemoryContextMemAllocated(CurrentMemoryContext, false) + EVALUATED_BYTES;
	do
		evaluate_row(compute, evaluated, k, row++, values, isnull);
	while (row < n && MemoryContextMemAllocated(CurrentMemoryContext, false) < most);
	for (int i = 0; i < k; i++)
	{
		GpucolOutput *output = &batch->outputs[evaluated[i]];

		*output = compute->columns[evaluated[i]].output;
		gpucol_result_column_of(values[i], isnull[i], row, output, &batch->columns[evaluated[i]]);
	}
	return row;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Prepare for the parameters of a scan, when it has a row. */
static void
prepare(GpucolBatchCompute *compute)
{
	int			n = compute->desc->natts;
	MemoryContext old;

	if (compute->ready || compute->ncomputed == 0)
		return;
	compute->ready = true;
	old = MemoryContextSwitchTo(compute->prepared);
	compute->slot = MakeSingleTupleTableSlot(compute->desc, &TTSOpsVirtual);
	memset(compute->slot->tts_isnull, true, n * sizeof(bool));
	ExecStoreVirtualTuple(compute->slot);
	compute->values = palloc0(Max(n, 1) * sizeof(Datum *));
	compute->isnull = palloc0(Max(n, 1) * sizeof(bool *));
	for (int i = 0; i < compute->ncolumns; i++)
	{
		compute->columns[i].memo = NULL;
		compute->columns[i].number = -1;
	}
	MemoryContextSwitchTo(old);
}

void
gpucol_batch_compute_take(GpucolBatchCompute *compute, uint32 nrows, const GpucolOutput *outputs,
						  const GpucolResultColumn *columns, bool copy)
{
	GpucolBatch *from = &compute->from;

	from->nrows = nrows;
	memcpy(from->outputs, outputs, from->ncolumns * sizeof(GpucolOutput));
	memcpy(from->columns, columns, from->ncolumns * sizeof(GpucolResultColumn));
	compute->first = 0;
	if (copy)
	{
		MemoryContext old;

		MemoryContextReset(compute->taken);
		old = MemoryContextSwitchTo(compute->taken);
		gpucol_batch_copy(from);
		MemoryContextSwitchTo(old);
	}
}

/* Show a column that is not evaluated. */
static void
show_column(GpucolBatchCompute *compute, Column *column, const GpucolResult *result, uint32 n, GpucolOutput *output,
			GpucolResultColumn *values)
{
	if (column->place >= 0)
	{
		*output = compute->from.outputs[column->place];
		*values = gpucol_result_column_from(&compute->from.columns[column->place], compute->first);
	}
	else if (!is_computed(column))
		gpucol_batch_constant((const Const *) column->expr, n, output, values);
	else if (result != NULL && column->number >= 0)
	{
		column->by_engine = true;
		*output = column->output;
		*values = result->columns[column->number];
	}
}

bool
gpucol_batch_compute_next(GpucolBatchCompute *compute, GpucolBatch *batch)
{
	uint32		n = compute->from.nrows - compute->first;
	GpucolResult result;
	bool		asked = false;
	MemoryContext old;

	if (n == 0)
		return false;
	prepare(compute);
	MemoryContextReset(compute->shown);
	old = MemoryContextSwitchTo(compute->shown);
	if (compute->ncomputed > 0)
	{
		n = Min(n, GPUCOL_VECTOR_VALUES);
		asked = ask_engine(compute, n, &result);
		n = evaluate(compute, !asked, n, batch);
	}
	for (int i = 0; i < compute->ncolumns; i++)
		show_column(compute, &compute->columns[i], asked ? &result : NULL, n, &batch->outputs[i], &batch->columns[i]);
	batch->nrows = n;
	batch->ncolumns = compute->ncolumns;
	compute->first += n;
	MemoryContextSwitchTo(old);
	return true;
}

/* The columns that were computed, by the engine or not. */
static void
explain_columns(const GpucolBatchCompute *compute, bool by_engine, const char *name, List *context, bool prefix,
				ExplainState *es)
{
	List	   *exprs = NIL;
	ListCell   *lc;

	foreach(lc, compute->tlist)
	{
		const Column *column = &compute->columns[foreach_current_index(lc)];

		if (by_engine ? column->by_engine : column->by_postgres)
			exprs = lappend(exprs, deparse_expression((Node *) lfirst_node(TargetEntry, lc)->expr, context, prefix,
													  true));
	}
	if (exprs != NIL)
		ExplainPropertyList(name, exprs, es);
}

void
gpucol_batch_compute_explain(const GpucolBatchCompute *compute, List *ancestors, ExplainState *es)
{
	List	   *context;
	bool		prefix = es->verbose || gpucol_compat_rtable_size(es) > 1;

	if (compute == NULL || !es->analyze)
		return;
	context = set_deparse_context_plan(es->deparse_cxt, compute->node->plan, ancestors);
	explain_columns(compute, true, "Computed In Batches", context, prefix, es);
	explain_columns(compute, false, "Evaluated By PostgreSQL", context, prefix, es);
}
