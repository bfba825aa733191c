/*-------------------------------------------------------------------------
 *
 * load.c
 *	  The rows of an input, or of a non-recursive term, as columns of 64-bit values.
 *
 * Where the plan is a node of ours that has its rows in batches, they are taken a column at a
 * time, and no tuple is formed.  A text that a segment numbers is looked up once a batch.
 *
 * Strings of other tuples are copied and looked up a piece at a time, so that they come from memory together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/memutils.h"

#include "exec/batches.h"
#include "recursion/exec/state.h"

#define LOAD_ROWS	1024

/* Where rows go, and room for the next ones. */
typedef struct Load
{
	const GpucolRecColumn *columns;
	int			ncolumns;
	GpucolSymbols *symbols;
	GpucolRecursiveTake take;
	void	   *context;
	MemoryContext piece;		/* what a piece of rows needs */
	int64	  **values;			/* by column, of LOAD_ROWS rows */
	uint8	  **nulls;

	GpucolBytes **strings;		/* by column, of tuples that have not been looked up, */
	uint32		held;			/* so many */
	Size		bytes;			/* that they take */
} Load;

/* Strings that take more are not held beside one another. */
#define HELD_BYTES	((Size) 256 << 10)

static void
begin_load(Load *load)
{
	load->piece = AllocSetContextCreate(CurrentMemoryContext, "gpucol recursion load", ALLOCSET_DEFAULT_SIZES);
	load->values = palloc(sizeof(int64 *) * (load->ncolumns + 1));
	load->nulls = palloc(sizeof(uint8 *) * (load->ncolumns + 1));
	load->strings = palloc(sizeof(GpucolBytes *) * (load->ncolumns + 1));
	for (int c = 0; c < load->ncolumns; c++)
	{
		load->strings[c] = palloc(sizeof(GpucolBytes) * GPUCOL_SYMBOLS_PIECE);
		load->values[c] = palloc(sizeof(int64) * LOAD_ROWS);
		load->nulls[c] = palloc(LOAD_ROWS);
	}
}

static void
end_load(Load *load)
{
	for (int c = 0; c < load->ncolumns; c++)
	{
		pfree(load->values[c]);
		pfree(load->nulls[c]);
		pfree(load->strings[c]);
	}
	pfree(load->values);
	pfree(load->nulls);
	pfree(load->strings);
	MemoryContextDelete(load->piece);
}

static void settle(Load *load, uint32 n);

static void
give(Load *load, uint32 n)
{
	if (load->held > 0)
		settle(load, n);
	load->take(load->context, n, (const int64 *const *) load->values, (const uint8 *const *) load->nulls);
}

/* ---- columns ---- */

/* Datums that labels number, each looked up the first time that it comes. */
static void
take_labels(Load *load, int c, const GpucolOutput *output, const GpucolResultColumn *from, uint32 n)
{
	const uint8 *nulls = load->nulls[c];
	int64	   *values = load->values[c];
	int64		most = -1;
	int64	   *codes;
	bool	   *known;

	for (uint32 i = 0; i < n; i++)
	{
		if (!nulls[i])
			most = Max(most, from->i[i]);
	}
	codes = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * (most + 1));
	known = MemoryContextAllocExtended(CurrentMemoryContext, most + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (uint32 i = 0; i < n; i++)
	{
		int64		label = from->i[i];

		values[i] = 0;
		if (nulls[i])
			continue;
		if (!known[label])
			codes[label] = gpucol_rec_column_to_value(&load->columns[c], output->labels[label], load->symbols);
		known[label] = true;
		values[i] = codes[label];
	}
}

/* Any column, by way of its datums. */
static void
take_datums(Load *load, int c, const GpucolOutput *output, const GpucolResultColumn *from, uint32 n)
{
	Datum	   *datums = palloc(sizeof(Datum) * n);
	bool	   *isnull = palloc(sizeof(bool) * n);

	gpucol_output_datums(output, from, n, datums, isnull);
	gpucol_rec_column_to_values(&load->columns[c], n, datums, load->nulls[c], load->symbols, load->values[c]);
}

/* Are the bytes that an engine has those of the values? */
static bool
is_bytes(const GpucolRecColumn *column, const GpucolOutput *output, const GpucolResultColumn *from, const uint8 *nulls,
		 uint32 n)
{
	if (output->cls != GPUCOL_CLASS_S || column->typbyval)
		return false;
	for (uint32 i = 0; i < n && column->typlen != -1; i++)
	{
		if (!nulls[i] && (int64) from->s[i].len != column->typlen)
			return false;
	}
	return true;
}

/* Do integers travel as an engine has them? */
static bool
is_plain(const GpucolRecColumn *column, const GpucolOutput *output)
{
	return output->cls == GPUCOL_CLASS_I && output->labels == NULL && column->equality == NULL &&
		column->rec_type != GPUCOL_REC_CODE;
}

/* A column of n rows of a batch. */
static void
take_column(Load *load, int c, const GpucolBatch *batch, uint32 first, uint32 n)
{
	const GpucolOutput *output = &batch->outputs[c];
	GpucolResultColumn from = gpucol_result_column_from(&batch->columns[c], first);
	uint8	   *nulls = load->nulls[c];

	if (from.nulls == NULL)
		memset(nulls, 0, n);
	for (uint32 i = 0; from.nulls != NULL && i < n; i++)
		nulls[i] = from.nulls[i] != 0;
	if (output->cls == GPUCOL_CLASS_I && output->labels != NULL)
		take_labels(load, c, output, &from, n);
	else if (is_plain(&load->columns[c], output))
	{
		for (uint32 i = 0; i < n; i++)
			load->values[c][i] = nulls[i] ? 0 : (int64) from.i[i];
	}
	else if (is_bytes(&load->columns[c], output, &from, nulls, n))
		gpucol_rec_strings_to_values(&load->columns[c], n, from.s, nulls, load->symbols, load->values[c]);
	else
		take_datums(load, c, output, &from, n);
}

static void
take_batch(Load *load, const GpucolBatch *batch)
{
	for (uint32 first = 0; first < batch->nrows; first += LOAD_ROWS)
	{
		uint32		n = Min(batch->nrows - first, LOAD_ROWS);
		MemoryContext old = MemoryContextSwitchTo(load->piece);

		for (int c = 0; c < load->ncolumns; c++)
			take_column(load, c, batch, first, n);
		MemoryContextSwitchTo(old);
		MemoryContextReset(load->piece);
		give(load, n);
	}
}

/* ---- rows ---- */

/* Look up the strings of the last tuples, which are n with those before. */
static void
settle(Load *load, uint32 n)
{
	uint32		first = n - load->held;
	MemoryContext old = MemoryContextSwitchTo(load->piece);

	for (int c = 0; c < load->ncolumns; c++)
	{
		if (!load->columns[c].typbyval)
			gpucol_rec_strings_to_values(&load->columns[c], load->held, load->strings[c], load->nulls[c] + first,
										 load->symbols, load->values[c] + first);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(load->piece);
	load->held = 0;
	load->bytes = 0;
}

/* A copy of a string, which lasts until it is looked up. */
static GpucolBytes
hold(Load *load, GpucolBytes bytes)
{
	char	   *copy = palloc(bytes.len + 1);

	memcpy(copy, bytes.data, bytes.len);
	load->bytes += bytes.len;
	return (GpucolBytes) {copy, bytes.len};
}

/* Take a tuple as row n; its columns are fetched. */
static void
take_tuple(Load *load, TupleTableSlot *slot, uint32 n)
{
	MemoryContext old = MemoryContextSwitchTo(load->piece);

	for (int c = 0; c < load->ncolumns; c++)
	{
		const GpucolRecColumn *column = &load->columns[c];
		bool		isnull = slot->tts_isnull[c];

		load->nulls[c][n] = isnull;
		if (column->typbyval)
			load->values[c][n] = isnull ? 0 : gpucol_rec_column_to_value(column, slot->tts_values[c], load->symbols);
		else
			load->strings[c][load->held] = isnull ? (GpucolBytes) {0} :
				hold(load, gpucol_rec_column_bytes(column, slot->tts_values[c]));
	}
	load->held++;
	MemoryContextSwitchTo(old);
	if (load->held == GPUCOL_SYMBOLS_PIECE || load->bytes > HELD_BYTES)
		settle(load, n + 1);
}

/* A plan that has batches, or had them until it ran. */
static void
load_batches(Load *load, PlanState *plan)
{
	GpucolPlanReader *reader = gpucol_plan_reader_open(plan);
	const GpucolBatch *batch;
	TupleTableSlot *slot;
	uint32		n = 0;

	while (gpucol_plan_reader_next(reader, &batch, &slot))
	{
		if (n > 0 && (slot == NULL || n == LOAD_ROWS))
		{
			give(load, n);
			n = 0;
		}
		if (slot == NULL)
		{
			take_batch(load, batch);
			continue;
		}
		slot_getsomeattrs(slot, load->ncolumns);
		take_tuple(load, slot, n++);
	}
	give(load, n);
}

/* A plan's tuples, of those that pass the filter. */
static void
load_tuples(Load *load, PlanState *plan, ExprState *filter, ExprContext *econtext)
{
	uint32		n = 0;

	for (;;)
	{
		/* What the plan allocates now and then must outlive the run. */
		MemoryContext old = MemoryContextSwitchTo(plan->state->es_query_cxt);
		TupleTableSlot *slot = ExecProcNode(plan);

		MemoryContextSwitchTo(old);
		if (TupIsNull(slot))
			break;
		if (n == LOAD_ROWS)
		{
			give(load, n);
			n = 0;
		}
		slot_getsomeattrs(slot, load->ncolumns);
		ResetExprContext(econtext);
		econtext->ecxt_scantuple = slot;
		if (filter == NULL || ExecQual(filter, econtext))
			take_tuple(load, slot, n++);
	}
	give(load, n);
}

void
gpucol_recursive_load(PlanState *plan, const GpucolRecColumn *columns, int ncolumns, GpucolSymbols *symbols,
					  ExprState *filter, ExprContext *econtext, GpucolRecursiveTake take, void *context)
{
	Load		load = {.columns = columns,.ncolumns = ncolumns,.symbols = symbols,.take = take,.context = context};

	begin_load(&load);
	if (filter == NULL && gpucol_plan_reader_has_batches(plan))
		load_batches(&load, plan);
	else
		load_tuples(&load, plan, filter, econtext);
	end_load(&load);
}
