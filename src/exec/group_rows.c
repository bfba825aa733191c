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

/* A column of the batch from a row on. */
static GpucolResultColumn
column_from(const GpucolResultColumn *column, uint32 row)
{
	GpucolResultColumn rest = *column;

	if (rest.nulls != NULL)
		rest.nulls += row;
	switch (rest.cls)
	{
		case GPUCOL_CLASS_D:
			rest.d += row;
			break;
		case GPUCOL_CLASS_F:
			rest.f += row;
			break;
		case GPUCOL_CLASS_S:
			rest.s += row;
			break;
		default:
			rest.i += row;
			break;
	}
	return rest;
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
		GpucolResultColumn column = column_from(&rows->batch.columns[i], first);

		gpucol_output_datums(&rows->keys[i], &column, n, rows->values[i], rows->isnull[i]);
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
