/*-------------------------------------------------------------------------
 *
 * group_rows.c
 *	  Groups of an engine's batch as datums, a column of some hundred groups at a
 *	  time.
 *
 * What a column is, and how its datums are formed, is asked once for each column of
 * some hundred groups rather than for each value, and what they refer to is freed
 * together.  Few enough groups are formed at a time that they stay in the processor's
 * cache, and that little is in vain where a LIMIT above wants no more.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "exec/group_rows.h"

void
gpucol_group_rows_init(GpucolGroupRows *rows, int nkeys, int naggs,
					   GpucolFormResults form, void *form_arg)
{
	int			n = nkeys + naggs;

	memset(rows, 0, sizeof(*rows));
	rows->nkeys = nkeys;
	rows->naggs = naggs;
	rows->form = form;
	rows->form_arg = form_arg;
	rows->values = palloc(Max(n, 1) * sizeof(Datum *));
	rows->isnull = palloc(Max(n, 1) * sizeof(bool *));
	for (int i = 0; i < n; i++)
	{
		rows->values[i] = palloc0(GPUCOL_IN_PLACE_ROWS * sizeof(Datum));
		rows->isnull[i] = palloc0(GPUCOL_IN_PLACE_ROWS * sizeof(bool));
	}
	rows->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol groups",
										  ALLOCSET_DEFAULT_SIZES);
	rows->chosen = AllocSetContextCreate(CurrentMemoryContext, "gpucol chosen groups",
										 ALLOCSET_DEFAULT_SIZES);
}

void
gpucol_group_rows_load(GpucolGroupRows *rows, const GpucolResult *batch,
					   const GpucolOutput *keys, const GpucolFinal *finals, int nstates)
{
	rows->batch = *batch;
	rows->keys = keys;
	rows->finals = finals;
	rows->nstates = nstates;
	rows->first = rows->nrows = 0;
}

/* The groups that are listed become the batch. */
static void
choose(GpucolGroupRows *rows, const uint32 *chosen, uint32 n)
{
	GpucolResult *batch = &rows->batch;
	GpucolResultColumn *columns = palloc(Max(rows->nkeys, 1) * sizeof(GpucolResultColumn));
	GpucolAggState *states = palloc(Max((Size) n * rows->nstates, 1) * sizeof(GpucolAggState));

	for (int i = 0; i < rows->nkeys; i++)
		columns[i] = gpucol_result_column_chosen(&batch->columns[i], chosen, n);
	for (uint32 i = 0; i < n; i++)
		memcpy(states + (Size) i * rows->nstates, batch->states + (Size) chosen[i] * rows->nstates,
			   rows->nstates * sizeof(GpucolAggState));
	batch->columns = columns;
	batch->states = states;
	batch->nrows = n;
}

uint32
gpucol_group_rows_keep(GpucolGroupRows *rows, GpucolGroupWanted wanted, void *arg)
{
	uint32		nrows = rows->batch.nrows;
	uint32		n = 0;
	uint32	   *chosen;
	MemoryContext old;

	MemoryContextReset(rows->chosen);
	old = MemoryContextSwitchTo(rows->chosen);
	chosen = palloc(Max(nrows, 1) * sizeof(uint32));
	for (uint32 g = 0; g < nrows; g++)
	{
		chosen[n] = g;
		n += wanted(arg, rows, g);
	}
	if (n < nrows)
		choose(rows, chosen, n);
	MemoryContextSwitchTo(old);
	return nrows - n;
}

/* The datums of a key of n groups, of which these are the states. */
static void
form_key(const GpucolGroupRows *rows, int key, const GpucolResultColumn *column, const GpucolAggState *states, uint32 n,
		 Datum *values, bool *isnull)
{
	const GpucolOutput *output = &rows->keys[key];

	gpucol_output_datums(output, column, n, values, isnull);
	for (uint32 i = 0; i < n && output->shown > 0; i++)
	{
		int			shown = (int) states[(Size) i * rows->nstates + output->shown - 1].v.value;

		/* what is cut off are zeros */
		if (!isnull[i] && (output->packed || shown != output->scale))
			values[i] = DirectFunctionCall2(numeric_round, values[i], Int32GetDatum(shown));
	}
}

void
gpucol_group_rows_one(const GpucolGroupRows *rows, uint32 group, Datum *values, bool *isnull)
{
	for (int i = 0; i < rows->nkeys; i++)
	{
		GpucolResultColumn column = gpucol_result_column_from(&rows->batch.columns[i], group);

		form_key(rows, i, &column, rows->batch.states + (Size) group * rows->nstates, 1, &values[i], &isnull[i]);
	}
	for (int i = 0; i < rows->naggs; i++)
		gpucol_final_datums(&rows->finals[i], rows->batch.states + (Size) group * rows->nstates, rows->nstates, 1,
							&values[rows->nkeys + i], &isnull[rows->nkeys + i]);
}

bool
gpucol_group_rows_form(GpucolGroupRows *rows)
{
	uint32		first = rows->first + rows->nrows;
	uint32		n = Min(rows->batch.nrows - first, GPUCOL_IN_PLACE_ROWS);
	const GpucolAggState *states;
	MemoryContext old;

	rows->first = first;
	rows->nrows = n;
	if (n == 0)
		return false;
	MemoryContextReset(rows->context);
	old = MemoryContextSwitchTo(rows->context);
	for (int i = 0; i < rows->nkeys; i++)
	{
		GpucolResultColumn column = gpucol_result_column_from(&rows->batch.columns[i], first);

		form_key(rows, i, &column, rows->batch.states + (Size) first * rows->nstates, n, rows->values[i],
				 rows->isnull[i]);
	}
	if (rows->form != NULL)
		rows->form(rows->form_arg, first, n, rows->values + rows->nkeys,
				   rows->isnull + rows->nkeys);
	states = rows->batch.states + (Size) first * rows->nstates;
	for (int i = 0; rows->form == NULL && i < rows->naggs; i++)
		gpucol_final_datums(&rows->finals[i], states, rows->nstates, n,
							rows->values[rows->nkeys + i], rows->isnull[rows->nkeys + i]);
	MemoryContextSwitchTo(old);
	return true;
}

void
gpucol_group_rows_reset(GpucolGroupRows *rows)
{
	rows->batch.nrows = 0;
	rows->first = rows->nrows = 0;
}

/* An output as it was described. */
static void
key_column(const GpucolGroupRows *rows, int key, GpucolOutput *output, GpucolResultColumn *column)
{
	uint32		n = rows->batch.nrows;
	Datum	   *values;
	bool	   *isnull;

	*output = rows->keys[key];
	*column = rows->batch.columns[key];
	if (output->labels == NULL && output->shown == 0)
		return;
	values = palloc(n * sizeof(Datum));
	isnull = palloc(n * sizeof(bool));
	form_key(rows, key, &rows->batch.columns[key], rows->batch.states, n, values, isnull);
	gpucol_result_column_of(values, isnull, n, output, column);
	output->labels = NULL;
	output->shown = 0;
}

void
gpucol_group_rows_columns(GpucolGroupRows *rows, const int *places, const List *targetlist, const GpucolTypeMap *maps,
						  bool copy, GpucolBatch *batch)
{
	MemoryContext old;

	MemoryContextReset(rows->context);
	old = MemoryContextSwitchTo(rows->context);
	batch->nrows = rows->batch.nrows;
	for (int i = 0; i < batch->ncolumns; i++)
	{
		int			agg = places[i] - rows->nkeys;

		batch->outputs[i].map = maps[i];
		if (places[i] == GPUCOL_GROUP_ROWS_CONSTANT)
			gpucol_batch_constant((const Const *) list_nth_node(TargetEntry, targetlist, i)->expr, batch->nrows,
								  &batch->outputs[i], &batch->columns[i]);
		else if (agg < 0)
			key_column(rows, places[i], &batch->outputs[i], &batch->columns[i]);
		else
			gpucol_final_column(&rows->finals[agg], rows->batch.states, rows->nstates, batch->nrows,
								&batch->outputs[i], &batch->columns[i]);
	}
	if (copy)
		gpucol_batch_copy(batch);
	MemoryContextSwitchTo(old);
	rows->first = rows->batch.nrows;
	rows->nrows = 0;
}
