/*-------------------------------------------------------------------------
 *
 * feed_order.c
 *	  Rows of aggregates, sorted by group and by the aggregate's own order.
 *
 * The values of each column become integers in its order, as those of window functions do
 * (window_codes.c), and all rows are sorted by their group and these at once, without a
 * comparison of two rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "exec/feed_order.h"
#include "exec/window_order.h"

/* The numbers of groups are codes as they are. */
static void
group_codes(GpucolWindowRows *rows, const GpucolFeedSort *sort, GpucolWindowCodes *codes)
{
	codes->codes = gpucol_window_rows_alloc(rows, sort->n * sizeof(uint64));
	codes->greatest = sort->ngroups - 1;
	for (uint32 i = 0; i < sort->n; i++)
		codes->codes[i] = sort->groups[i];
}

/* Make a key of a column; false where memory does not suffice. */
static bool
add_key(GpucolWindowRows *rows, const GpucolFeedColumn *column, int number, GpucolWindowCodes *codes,
		GpucolWindowKey *key)
{
	GpucolWindowInput *input = &rows->inputs[number];

	input->type = column->type;
	input->typlen = column->typlen;
	input->typbyval = column->typbyval;
	input->values = column->values;
	input->isnull = column->isnull;
	codes->input = key->input = number;
	codes->sortop = key->sortop = column->sortop;
	codes->collation = key->collation = column->collation;
	key->nulls_first = column->nulls_first;
	key->codes = codes;
	return column->typlen != -2 && gpucol_window_codes_make(rows, codes);
}

bool
gpucol_feed_order(const GpucolFeedSort *sort, GpucolMeter *meter, uint32 *order, uint8 *differs)
{
	int			nkeys = sort->ncolumns + 1;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol order of fed rows",
												  ALLOCSET_DEFAULT_SIZES);
	GpucolWindowRows rows = {.context = context,.meter = *meter,.ninputs = nkeys,.nrows = sort->n};
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolWindowCodes *codes = palloc0(nkeys * sizeof(GpucolWindowCodes));
	GpucolWindowOrder sorted = {.nkeys = nkeys,.keys = palloc0(nkeys * sizeof(GpucolWindowKey))};
	bool		ok = gpucol_window_rows_fit(&rows, sort->n * sizeof(uint64));

	rows.inputs = palloc0(nkeys * sizeof(GpucolWindowInput));
	sorted.keys[0].codes = codes;
	if (ok)
		group_codes(&rows, sort, codes);
	for (int i = 1; i < nkeys && ok; i++)
		ok = add_key(&rows, &sort->columns[i - 1], i, &codes[i], &sorted.keys[i]);
	ok = ok && gpucol_window_order_sort(&rows, &sorted);
	if (ok)
	{
		gpucol_window_order_mark(&rows, &sorted, 1, nkeys, differs);
		for (uint32 i = 0; i < sort->n; i++)
			order[i] = sorted.items[i].row;
	}
	MemoryContextSwitchTo(old);
	*meter = rows.meter;
	MemoryContextDelete(context);
	gpucol_meter_fits(meter, 0);
	return ok;
}
