/*-------------------------------------------------------------------------
 *
 * window_batch.c
 *	  The rows of a GpucolWindow as batches of columns (exec/batches.h).
 *
 * Conditions come first, those of the node above included, and only rows that pass them are
 * fetched further.  A column of the target list that is one of the scan tuple's is shown as it
 * was fetched, an exact sum as its mantissas.  Columns that nobody asks for are neither fetched nor evaluated.
 *
 * Where the target list has expressions, columns of the scan tuple are shown so, and those of the list computed of
 * them (batch_compute.c); conditions on these are left to the node above.  Some expressions that cannot be had so
 * are evaluated on scan tuples.
 *
 * Results of expressions are of the memory of a tuple, which lasts for a batch here; one with
 * many bytes ends early.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "exec/window_chunk.h"

/* Rows of a batch, whose values are to stay in the processor's cache. */
#define BATCH_ROWS	1024

/* A batch whose values have so many bytes ends. */
#define BATCH_BYTES	((Size) 4 * 1024 * 1024)

/* What may be computed twice for a row, in cpu_operator_cost. */
#define TWICE_OPERATORS	10

/* A column of the target list. */
typedef struct BatchColumn
{
	GpucolTypeMap map;
	bool		wanted;
	GpucolWindowChunkColumn *fetched;	/* it is this one, */
	GpucolWindowFunction *late; /* or the result of this, */
	ExprState  *expr;			/* or evaluated; */
	Bitmapset  *reads;			/* of the scan tuple, as pull_varattnos has them */
	bool		copied;			/* it may be a numeric that is formed, whose place the next one takes */
	uint64		nformed;		/* the last one that was copied, */
	Datum		copy;			/* or 0 */
	Datum	   *values;			/* unless it is fetched */
	bool	   *isnull;
} BatchColumn;

typedef struct GpucolWindowBatches
{
	int			ncolumns;
	BatchColumn *columns;
	bool		evaluates;		/* some that are wanted are evaluated */
	bool		has_bytes;		/* or may be long */
	bool		tests;			/* what conditions read is known, */
	PlanState  *above;			/* those of this node's rows included, or NULL */
	GpucolBatchCompute *compute;	/* of the target list; then `columns` are those of the scan tuple, */
	GpucolBatch raw;			/* a batch of which is of this memory */
	MemoryContext context;
} GpucolWindowBatches;

/* Is a column of the scan tuple a member of what pull_varattnos has found? */
static bool
is_read(const Bitmapset *reads, int column)
{
	return bms_is_member(column + 1 - FirstLowInvalidHeapAttributeNumber, reads);
}

/* Are the results of a function shown as mantissas?  Their scale may be another in each part. */
static bool
shows_sums(const GpucolWindowState *state, const BatchColumn *column)
{
	return state->parts == NULL && column->late != NULL && column->late->kind == GPUCOL_WINDOW_SUM_NUMERIC &&
		column->late->shown_scale == NULL;
}

/* Are they values of some row that are mantissas? */
static bool
shows_source(const GpucolWindowState *state, const BatchColumn *column)
{
	return column->late != NULL && gpucol_window_chunk_late_mantissas(state, column->late);
}

/* ------------------------------------------------------------------------
 * Preparation
 * ------------------------------------------------------------------------
 */

/* Look for a column of the scan tuple among those that are fetched, and the functions. */
static bool
find_column(const GpucolWindowState *state, int number, BatchColumn *column)
{
	GpucolWindowChunk *chunk = state->chunk;
	int			at = gpucol_window_chunk_find(state, number);

	if (at >= chunk->ncolumns)
		column->late = chunk->late[at - chunk->ncolumns].f;
	else if (at >= 0)
		column->fetched = &chunk->columns[at];
	return at >= 0;
}

/* Where a column of the target list comes from. */
static void
init_column(GpucolWindowState *state, BatchColumn *column, Expr *expr)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const Var  *var = (const Var *) expr;

	gpucol_typemap_init(&column->map, exprType((Node *) expr), exprTypmod((Node *) expr),
						exprCollation((Node *) expr));
	if (!IsA(expr, Var) || var->varno != INDEX_VAR || var->varattno <= 0 ||
		!find_column(state, var->varattno - 1, column))
	{
		column->expr = ExecInitExpr(expr, &state->css.ss.ps);
		pull_varattnos((Node *) expr, INDEX_VAR, &column->reads);
		for (int l = 0; l < chunk->nlate && !column->map.typbyval; l++)
			column->copied |= gpucol_window_is_formed(chunk->late[l].f->kind) &&
				is_read(column->reads, gpucol_window_function_column(state, chunk->late[l].f));
	}
	if (column->fetched == NULL)
	{
		column->values = palloc(BATCH_ROWS * sizeof(Datum));
		column->isnull = palloc(BATCH_ROWS * sizeof(bool));
	}
}

/* Conditions on the columns of the target list, as conditions on the scan tuple. */
static Node *
replace_columns(Node *node, void *tlist)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var) && ((Var *) node)->varno == OUTER_VAR)
		return copyObject((Node *) list_nth_node(TargetEntry, tlist, ((Var *) node)->varattno - 1)->expr);
	return expression_tree_mutator(node, replace_columns, tlist);
}

/* What is computed anew for a column of the target list; NULL: it is kept. */
static Node *
computed(const GpucolWindowState *state, Expr *expr)
{
	BatchColumn column = {0};

	if (!IsA(expr, Var))
		return (Node *) expr;
	if (find_column(state, ((Var *) expr)->varattno - 1, &column) && column.late != NULL)
		return (Node *) column.late->func->args;
	return NULL;
}

/* Are the columns cheap that conditions read, and which are computed anew for a batch? */
static bool
are_cheap(const GpucolWindowState *state, List *conditions)
{
	Bitmapset  *reads = NULL;
	QualCost	cost = {0};
	ListCell   *lc;

	pull_varattnos((Node *) conditions, OUTER_VAR, &reads);
	foreach(lc, state->css.ss.ps.plan->targetlist)
	{
		Node	   *node = computed(state, lfirst_node(TargetEntry, lc)->expr);
		QualCost	one;

		if (node == NULL || !is_read(reads, foreach_current_index(lc)))
			continue;
		cost_qual_eval_node(&one, node, NULL);
		cost.startup += one.startup;
		cost.per_tuple += one.per_tuple;
	}
	bms_free(reads);
	return cost.startup == 0 && cost.per_tuple <= TWICE_OPERATORS * cpu_operator_cost;
}

/* Say what conditions read. */
static void
find_tested(GpucolWindowState *state, List *conditions)
{
	GpucolWindowChunk *chunk = state->chunk;
	Bitmapset  *reads = NULL;

	pull_varattnos((Node *) state->css.ss.ps.plan->qual, INDEX_VAR, &reads);
	pull_varattnos((Node *) conditions, INDEX_VAR, &reads);
	for (int c = 0; c < chunk->ncolumns; c++)
		chunk->columns[c].tested = is_read(reads, chunk->columns[c].column);
	for (int l = 0; l < chunk->nlate; l++)
		chunk->late[l].tested = is_read(reads, gpucol_window_function_column(state, chunk->late[l].f));
}

/* Does a target list have more than columns? */
static bool
has_expressions(const List *tlist)
{
	ListCell   *lc;

	foreach(lc, tlist)
	{
		if (!IsA(lfirst_node(TargetEntry, lc)->expr, Var))
			return true;
	}
	return false;
}

/* The columns of the scan tuple as a target list. */
static List *
scan_columns(TupleDesc desc)
{
	List	   *tlist = NIL;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Var		   *var = makeVar(INDEX_VAR, i + 1, att->atttypid, att->atttypmod, att->attcollation, 0);

		tlist = lappend(tlist, makeTargetEntry((Expr *) var, i + 1, NULL, false));
	}
	return tlist;
}

/* Prepare for batches, in the query's memory. */
static GpucolWindowBatches *
create_batches(GpucolWindowState *state)
{
	List	   *tlist = state->css.ss.ps.plan->targetlist;
	TupleDesc	desc = state->css.ss.ss_ScanTupleSlot->tts_tupleDescriptor;
	GpucolWindowBatches *batches = palloc0(sizeof(GpucolWindowBatches));
	ListCell   *lc;

	if (has_expressions(tlist) && gpucol_batch_compute_possible(tlist, NULL, desc->natts))
	{
		batches->compute = gpucol_batch_compute_create(&state->css.ss.ps, tlist, NULL, desc->natts, desc);
		gpucol_batch_init(&batches->raw, desc->natts);
		batches->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol window batch",
												 ALLOCSET_DEFAULT_SIZES);
		tlist = scan_columns(desc);
	}
	gpucol_window_chunk_room(state->chunk, BATCH_ROWS);
	batches->ncolumns = list_length(tlist);
	batches->columns = palloc0(Max(batches->ncolumns, 1) * sizeof(BatchColumn));
	foreach(lc, tlist)
		init_column(state, &batches->columns[foreach_current_index(lc)], lfirst_node(TargetEntry, lc)->expr);
	return batches;
}

/* What batches are made with. */
static GpucolWindowBatches *
batches_of(GpucolWindowState *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);

	if (state->chunk->batches == NULL)
		state->chunk->batches = create_batches(state);
	MemoryContextSwitchTo(old);
	return state->chunk->batches;
}

bool
gpucol_window_leaves(GpucolWindowState *state, List *conditions)
{
	const List *tlist = state->css.ss.ps.plan->targetlist;
	Bitmapset  *reads = NULL;
	bool		computed = false;
	ListCell   *lc;

	pull_varattnos((Node *) conditions, OUTER_VAR, &reads);
	foreach(lc, tlist)
		computed |= is_read(reads, foreach_current_index(lc)) && !IsA(lfirst_node(TargetEntry, lc)->expr, Var);
	bms_free(reads);
	return computed && batches_of(state)->compute != NULL;
}

bool
gpucol_window_offer(GpucolWindowState *state, PlanState *above, List *conditions)
{
	Plan	   *plan = state->css.ss.ps.plan;
	GpucolWindowChunk *chunk = state->chunk;
	MemoryContext old;

	if (state->fallback != NULL || contain_subplans((Node *) plan->targetlist) ||
		contain_volatile_functions((Node *) plan->targetlist) || contain_subplans((Node *) plan->qual) ||
		!are_cheap(state, conditions))
		return false;
	if (batches_of(state)->compute != NULL)
		gpucol_batch_compute_reset(chunk->batches->compute);
	old = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	if (!chunk->batches->tests || chunk->batches->above != above)
	{
		chunk->batches->tests = true;
		conditions = (List *) replace_columns((Node *) conditions, plan->targetlist);
		chunk->batches->above = above;
		gpucol_window_tests_make(state, conditions);
		find_tested(state, conditions);
	}
	chunk->tests.removed = 0;
	MemoryContextSwitchTo(old);
	gpucol_window_want(state, NULL);
	return true;
}

/* Which columns of the scan tuple are read for those of the target list?  What is computed is so in any case. */
static bool *
wanted_columns(const GpucolWindowState *state, const bool *wanted)
{
	List	   *tlist = state->css.ss.ps.plan->targetlist;
	int			n = state->chunk->batches->ncolumns;
	bool	   *read = palloc0(Max(n, 1) * sizeof(bool));
	Bitmapset  *reads = NULL;
	ListCell   *lc;

	foreach(lc, tlist)
	{
		Node	   *expr = (Node *) lfirst_node(TargetEntry, lc)->expr;

		if (wanted == NULL || wanted[foreach_current_index(lc)] || !IsA(expr, Var))
			pull_varattnos(expr, INDEX_VAR, &reads);
	}
	for (int i = 0; i < n; i++)
		read[i] = is_read(reads, i);
	bms_free(reads);
	return read;
}

/* Say which columns of batches are to be made; NULL: all. */
static void
want_columns(GpucolWindowState *state, const bool *wanted)
{
	GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;

	batches->evaluates = batches->has_bytes = false;
	for (int c = 0; c < chunk->ncolumns; c++)
		chunk->columns[c].read = chunk->columns[c].shown = false;
	for (int l = 0; l < chunk->nlate; l++)
		chunk->late[l].read = false;
	for (int i = 0; i < batches->ncolumns; i++)
	{
		BatchColumn *column = &batches->columns[i];

		column->wanted = wanted == NULL || wanted[i];
		if (!column->wanted)
			continue;
		batches->has_bytes |= column->map.typlen == -1;
		batches->evaluates |= column->fetched == NULL;
		if (column->fetched != NULL)
			column->fetched->shown = true;
		for (int c = 0; c < chunk->ncolumns && column->expr != NULL; c++)
			chunk->columns[c].read |= is_read(column->reads, chunk->columns[c].column);
		for (int l = 0; l < chunk->nlate && column->expr != NULL; l++)
			chunk->late[l].read |= is_read(column->reads, gpucol_window_function_column(state, chunk->late[l].f));
	}
}

void
gpucol_window_want(GpucolWindowState *state, const bool *wanted)
{
	bool	   *read;

	if (state->chunk->batches->compute == NULL)
	{
		want_columns(state, wanted);
		return;
	}
	read = wanted_columns(state, wanted);
	want_columns(state, read);
	pfree(read);
}

/* ------------------------------------------------------------------------
 * Conditions
 * ------------------------------------------------------------------------
 */

/* Have rows at hand; false if there are none. */
static bool
have_rows(GpucolWindowState *state)
{
	GpucolWindowChunk *chunk = state->chunk;
	bool		tests = state->css.ss.ps.qual != NULL || chunk->tests.above != NULL;

	if (state->next == 0)
		chunk->next = chunk->nrows = 0;
	if (chunk->next < chunk->nrows)
		return true;
	chunk->for_batch = true;
	do
	{
		CHECK_FOR_INTERRUPTS();
		while (state->next == state->rows.nrows)
		{
			if (!gpucol_window_parts_next(state))
				return false;
		}
		gpucol_window_chunk_turn(state);
		for (int c = 0; c < chunk->ncolumns; c++)
		{
			if (chunk->columns[c].tested)
				gpucol_window_chunk_fetch(state, &chunk->columns[c]);
		}
		if (tests)
			gpucol_window_tests_run(state);
	} while (chunk->nrows == 0);
	for (int c = 0; c < chunk->ncolumns; c++)
	{
		GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->tested && (column->shown || column->read))
			gpucol_window_chunk_fetch(state, column);
	}
	return true;
}

/* ------------------------------------------------------------------------
 * Values
 * ------------------------------------------------------------------------
 */

/* A numeric that stays where it is when the next is formed. */
static Datum
copy_formed(BatchColumn *column, Datum value)
{
	if (column->copy == (Datum) 0 || column->nformed != column->late->nformed)
	{
		column->copy = datumCopy(value, false, -1);
		column->nformed = column->late->nformed;
	}
	return column->copy;
}

/* Evaluate what is wanted of a row. */
static void
evaluate_row(GpucolWindowState *state, uint32 i)
{
	GpucolWindowChunk *chunk = state->chunk;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;

	for (int c = 0; c < chunk->ncolumns; c++)
	{
		const GpucolWindowChunkColumn *column = &chunk->columns[c];

		if (!column->read)
			continue;
		slot->tts_values[column->column] = column->values[i];
		slot->tts_isnull[column->column] = column->isnull[i];
	}
	for (int l = 0; l < chunk->nlate; l++)
	{
		if (chunk->late[l].read)
			gpucol_window_chunk_put_late(state, chunk->late[l].f, i, slot);
	}
	for (int c = 0; c < chunk->batches->ncolumns; c++)
	{
		BatchColumn *column = &chunk->batches->columns[c];

		if (!column->wanted || column->fetched != NULL || shows_sums(state, column) || shows_source(state, column))
			continue;
		if (column->late != NULL)
			column->values[i] = gpucol_window_chunk_late(state, column->late, i, &column->isnull[i]);
		else
		{
			econtext->ecxt_scantuple = slot;
			column->values[i] = ExecEvalExprSwitchContext(column->expr, econtext, &column->isnull[i]);
		}
		if (column->isnull[i])
			continue;
		if (column->late != NULL && gpucol_window_is_formed(column->late->kind))
			column->values[i] = copy_formed(column, column->values[i]);
		else if (column->copied || (chunk->batches->compute != NULL && !column->map.typbyval))
			column->values[i] = datumCopy(column->values[i], false, column->map.typlen);
	}
}

/* The bytes that a row's values have once they are read: those of others lie where they are kept. */
static Size
bytes_of_row(const GpucolWindowBatches *batches, uint32 i)
{
	Size		bytes = 0;

	for (int c = 0; c < batches->ncolumns; c++)
	{
		const BatchColumn *column = &batches->columns[c];
		const GpucolWindowChunkColumn *fetched = column->fetched;
		Pointer		value;

		if (!column->wanted || fetched == NULL || fetched->mantissas || column->map.typlen != -1 || fetched->isnull[i])
			continue;
		value = DatumGetPointer(fetched->values[i]);
		if (VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
			bytes += toast_raw_datum_size(PointerGetDatum(value));
	}
	return bytes;
}

/* Evaluate rows at hand; how many are a batch. */
static uint32
evaluate_rows(GpucolWindowState *state)
{
	const GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;
	MemoryContext context = CurrentMemoryContext;
	Size		bytes = 0;
	uint32		i = chunk->next;

	if (!batches->evaluates && !batches->has_bytes)
		return chunk->nrows - chunk->next;
	for (int c = 0; c < batches->ncolumns; c++)
		batches->columns[c].copy = (Datum) 0;
	for (; i < chunk->nrows && bytes < BATCH_BYTES; i++)
	{
		if (batches->evaluates)
			evaluate_row(state, i);
		if (batches->has_bytes)
			bytes += bytes_of_row(batches, i);
		if (batches->evaluates && MemoryContextMemAllocated(context, false) >= BATCH_BYTES)
			bytes = BATCH_BYTES;
	}
	return i - chunk->next;
}

/* Sums as mantissas. */
static void
put_sums(const GpucolWindowChunk *chunk, const GpucolWindowFunction *f, uint32 n, GpucolOutput *output,
		 GpucolResultColumn *column)
{
	const uint32 *at = (f->by_place ? chunk->places : chunk->rows) + chunk->next;
	__int128   *sums = gpucol_result_room(n * sizeof(__int128));
	uint8	   *nulls = palloc(n);
	bool		any = false;

	for (uint32 i = 0; i < n; i++)
	{
		nulls[i] = f->counts[at[i]] == 0;
		sums[i] = nulls[i] ? 0 : f->sums[at[i]];
		any |= nulls[i];
	}
	output->cls = GPUCOL_CLASS_D;
	output->scale = f->scale;
	*column = (GpucolResultColumn) {.cls = GPUCOL_CLASS_D,.d = sums,.nulls = any ? nulls : NULL};
}

/* Values of an input as they are kept. */
static void
put_mantissas(const GpucolWindowChunk *chunk, const GpucolWindowChunkColumn *fetched, uint32 n, GpucolOutput *output,
			  GpucolResultColumn *column)
{
	const bool *isnull = fetched->isnull + chunk->next;
	__int128   *mantissas = gpucol_result_room(n * sizeof(__int128));

	for (uint32 i = 0; i < n; i++)
		mantissas[i] = (int64) fetched->values[chunk->next + i];
	output->cls = GPUCOL_CLASS_D;
	output->scale = fetched->in->scale;
	*column = (GpucolResultColumn) {.cls = GPUCOL_CLASS_D,.d = mantissas};
	if (memchr(isnull, true, n) != NULL)
		column->nulls = (const uint8_t *) isnull;
}

/* A default as a mantissa of an input's scale; false where it is none. */
static bool
default_mantissa(const GpucolWindowInput *in, Datum value, int64 *mantissa)
{
	GpucolTypeMap map = {.type_oid = NUMERICOID,.kind = GPUCOL_KIND_DECIMAL,.scale = (int8) in->scale};

	return gpucol_window_scale(value) == in->scale && gpucol_typemap_to_int64(&map, value, mantissa);
}

/* The results of a function, which are values of some rows or defaults, as mantissas; false where a default is none. */
static bool
put_source(GpucolWindowState *state, GpucolWindowFunction *f, uint32 n, GpucolOutput *output,
		   GpucolResultColumn *column)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowInput *in = &state->rows.inputs[f->input];
	const uint32 *at = (f->by_place ? chunk->places : chunk->rows) + chunk->next;
	__int128   *mantissas = gpucol_result_room(n * sizeof(__int128));
	bool	   *nulls = palloc(n);
	bool		ok = true;

	for (uint32 i = 0; i < n && ok; i++)
	{
		uint32		source = f->source[at[i]];
		int64		mantissa = 0;

		if (source == GPUCOL_WINDOW_DEFAULT_ROW)
		{
			Datum		value = gpucol_window_chunk_late(state, f, chunk->next + i, &nulls[i]);

			ok = nulls[i] || default_mantissa(in, value, &mantissa);
		}
		else
		{
			nulls[i] = source == GPUCOL_WINDOW_NO_ROW || in->isnull[source];
			mantissa = nulls[i] ? 0 : (int64) in->values[source];
		}
		mantissas[i] = mantissa;
	}
	output->cls = GPUCOL_CLASS_D;
	output->scale = in->scale;
	*column = (GpucolResultColumn) {.cls = GPUCOL_CLASS_D,.d = mantissas,.nulls = (const uint8_t *) nulls};
	return ok;
}

/* The same as numerics. */
static void
put_numerics(GpucolWindowState *state, GpucolWindowFunction *f, uint32 n, GpucolOutput *output,
			 GpucolResultColumn *column)
{
	Datum	   *values = palloc(n * sizeof(Datum));
	bool	   *isnull = palloc(n * sizeof(bool));

	for (uint32 i = 0; i < n; i++)
	{
		values[i] = gpucol_window_chunk_late(state, f, state->chunk->next + i, &isnull[i]);
		if (!isnull[i])
			values[i] = datumCopy(values[i], false, -1);
	}
	gpucol_result_column_of(values, isnull, n, output, column);
}

/* Put n rows of a column. */
static void
put_column(GpucolWindowState *state, const BatchColumn *column, uint32 n, GpucolOutput *output,
		   GpucolResultColumn *to)
{
	const GpucolWindowChunk *chunk = state->chunk;
	const GpucolWindowChunkColumn *fetched = column->fetched;

	if (shows_sums(state, column))
		put_sums(chunk, column->late, n, output, to);
	else if (fetched != NULL && fetched->mantissas)
		put_mantissas(chunk, fetched, n, output, to);
	else if (!shows_source(state, column))
		gpucol_result_column_of((fetched != NULL ? fetched->values : column->values) + chunk->next,
								(fetched != NULL ? fetched->isnull : column->isnull) + chunk->next, n, output, to);
	else if (!put_source(state, column->late, n, output, to))
		put_numerics(state, column->late, n, output, to);
}

/* The next rows, with the columns of the target list, or, where these are computed, with those of the scan tuple. */
static bool
make_batch(GpucolWindowState *state, GpucolBatch *batch)
{
	GpucolWindowChunk *chunk = state->chunk;
	GpucolWindowBatches *batches = chunk->batches;
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	TupleTableSlot *slot = state->css.ss.ss_ScanTupleSlot;
	MemoryContext old;
	bool		found;

	ResetExprContext(econtext);
	ExecClearTuple(slot);
	ExecStoreVirtualTuple(slot);
	found = have_rows(state);
	batch->removed = chunk->tests.removed;
	chunk->tests.removed = 0;
	if (!found)
		return false;
	ResetExprContext(econtext);
	if (batches->context != NULL)
		MemoryContextReset(batches->context);
	old = MemoryContextSwitchTo(batches->context != NULL ? batches->context : econtext->ecxt_per_tuple_memory);
	batch->nrows = evaluate_rows(state);
	batch->ncolumns = batches->ncolumns;
	for (int c = 0; c < batches->ncolumns; c++)
	{
		const BatchColumn *column = &batches->columns[c];

		batch->outputs[c] = (GpucolOutput) {.map = column->map};
		batch->columns[c] = (GpucolResultColumn) {0};
		if (column->wanted)
			put_column(state, column, batch->nrows, &batch->outputs[c], &batch->columns[c]);
	}
	chunk->next += batch->nrows;
	MemoryContextSwitchTo(old);
	return true;
}

bool
gpucol_window_batch(GpucolWindowState *state, GpucolBatch *batch)
{
	GpucolWindowBatches *batches = state->chunk->batches;
	GpucolBatch *raw = &batches->raw;
	uint32		removed = 0;
	bool		found = true;

	if (batches->compute == NULL)
		return make_batch(state, batch);
	while (found && !gpucol_batch_compute_next(batches->compute, batch))
	{
		found = make_batch(state, raw);
		removed += raw->removed;
		if (found)
			gpucol_batch_compute_take(batches->compute, raw->nrows, raw->outputs, raw->columns, false);
	}
	batch->removed = removed;
	return found;
}

void
gpucol_window_batch_explain(const GpucolWindowState *state, List *ancestors, ExplainState *es)
{
	if (state->chunk->batches != NULL)
		gpucol_batch_compute_explain(state->chunk->batches->compute, ancestors, es);
}
