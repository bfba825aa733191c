/*-------------------------------------------------------------------------
 *
 * window_rows.c
 *	  The rows that window functions are computed over: columns of values, in memory.
 *
 * Everything lives in one memory context that is counted in the session's budget.  A value by reference is copied
 * once, behind the one before it; short ones that come again and again, such as those of a column of few values,
 * have one copy, so that whoever reads them in another order finds them in the cache.  Numerics that come as
 * mantissas of 64 bits and are read as such stay so: sums, codes and results ask for nothing else.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "utils/expandeddatum.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/window_rows.h"
#include "kernel/hash.h"

/* Values by reference are laid into blocks of this size. */
#define BLOCK_BYTES		(256 * 1024)

/* How many rows there is room for at first. */
#define FIRST_ROWS		1024

/* Values of no more bytes may share a copy. */
#define SHARED_BYTES	64

/* So many copies are looked at, each by the hash of its bytes. */
#define SHARED_COPIES	256

/* After so many values of which not half had a copy, none is looked for. */
#define SHARED_TRIED	4096

struct GpucolWindowShared
{
	uint64		tried,
				found;
	char	   *copies[SHARED_COPIES];	/* each as long as `bytes` says; NULL: none */
	uint8		bytes[SHARED_COPIES];
};

const char	gpucol_window_memory[] = "the rows need more memory than gpucol.memory_limit allows";

void *
gpucol_window_rows_alloc(GpucolWindowRows *rows, Size bytes)
{
	return MemoryContextAllocHuge(rows->context, Max(bytes, 8));
}

static void
allocate(GpucolWindowRows *rows, uint32 nrows)
{
	for (int i = 0; i < rows->ninputs; i++)
	{
		rows->inputs[i].values = gpucol_window_rows_alloc(rows, nrows * sizeof(Datum));
		rows->inputs[i].isnull = gpucol_window_rows_alloc(rows, nrows * sizeof(bool));
		rows->inputs[i].shared = NULL;
	}
	rows->allocated = nrows;
}

void
gpucol_window_rows_open(GpucolWindowRows *rows, MemoryContext parent, bool replaces)
{
	MemoryContext old = MemoryContextSwitchTo(parent);

	if (rows->meter.budget == NULL)
		rows->meter.budget = gpucol_memory_open(0, gpucol_memory_queries());
	rows->context = AllocSetContextCreate(parent, "gpucol window", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	gpucol_meter_open(&rows->meter, rows->context, rows->meter.budget);
	rows->nrows = 0;
	rows->taken = 0;
	rows->left = rows->replaced = 0;
	rows->shares = !replaces;
	for (int i = 0; i < rows->ninputs; i++)
		rows->inputs[i].nulls = false;
	allocate(rows, FIRST_ROWS);
}

bool
gpucol_window_rows_fit(GpucolWindowRows *rows, Size more)
{
	return gpucol_meter_fits(&rows->meter, more);
}

bool
gpucol_window_rows_expect(GpucolWindowRows *rows, uint64 n)
{
	if (n <= rows->allocated)
		return true;
	if (n > GPUCOL_WINDOW_MAX_ROWS ||
		!gpucol_window_rows_fit(rows, (n - rows->allocated) * rows->ninputs * (sizeof(Datum) + sizeof(bool))))
		return false;
	for (int i = 0; i < rows->ninputs; i++)
	{
		rows->inputs[i].values = repalloc_huge(rows->inputs[i].values, n * sizeof(Datum));
		rows->inputs[i].isnull = repalloc_huge(rows->inputs[i].isnull, n * sizeof(bool));
	}
	rows->allocated = (uint32) n;
	return true;
}

void
gpucol_window_rows_mantissas(GpucolWindowInput *input, int scale)
{
	input->mantissas = input->typbyval = true;
	input->typlen = sizeof(int64);
	input->scale = scale;
}

static void
forget_mantissas(GpucolWindowInput *input)
{
	input->mantissas = input->typbyval = false;
	input->typlen = -1;
}

void
gpucol_window_rows_forget_mantissas(GpucolWindowRows *rows)
{
	for (int i = 0; i < rows->ninputs; i++)
	{
		if (rows->inputs[i].mantissas)
			forget_mantissas(&rows->inputs[i]);
	}
}

void
gpucol_window_rows_numerics(GpucolWindowRows *rows)
{
	for (int i = 0; i < rows->ninputs; i++)
	{
		GpucolWindowInput *input = &rows->inputs[i];

		if (!input->mantissas)
			continue;
		for (uint32 row = 0; row < rows->nrows; row++)
		{
			Datum		value;

			if (input->isnull[row])
				continue;
			value = gpucol_window_datum(input, row);
			input->values[row] = gpucol_window_rows_copy(rows, -1, value);
			pfree(DatumGetPointer(value));
		}
		forget_mantissas(input);
	}
}

/* Room for as many rows again; false beyond the limit. */
static bool
grow(GpucolWindowRows *rows)
{
	return gpucol_window_rows_expect(rows, (uint64) rows->allocated * 2);
}

/* Room for a value by reference. */
static inline char *
take_room(GpucolWindowRows *rows, Size bytes)
{
	char	   *got;

	bytes = MAXALIGN(bytes);
	if (bytes > BLOCK_BYTES / 4)
		return gpucol_window_rows_alloc(rows, bytes);
	if (bytes > rows->left)
	{
		rows->room = gpucol_window_rows_alloc(rows, BLOCK_BYTES);
		rows->left = BLOCK_BYTES;
	}
	got = rows->room;
	rows->room += bytes;
	rows->left -= bytes;
	return got;
}

Datum
gpucol_window_rows_copy(GpucolWindowRows *rows, int16 typlen, Datum value)
{
	char	   *from = DatumGetPointer(value);
	Size		bytes;
	char	   *to;

	if (typlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(from))
	{
		ExpandedObjectHeader *object = DatumGetEOHP(value);

		bytes = EOH_get_flat_size(object);
		to = take_room(rows, bytes);
		EOH_flatten_into(object, to, bytes);
		return PointerGetDatum(to);
	}
	bytes = typlen == -1 ? VARSIZE_ANY(from) : (Size) typlen;
	to = take_room(rows, bytes);
	memcpy(to, from, bytes);
	return PointerGetDatum(to);
}

/* The copy of an input's value, which may be that of an equal one. */
static Datum
share_value(GpucolWindowRows *rows, GpucolWindowInput *input, Datum value)
{
	GpucolWindowShared *shared = input->shared;
	char	   *from = DatumGetPointer(value);
	Size		bytes;
	uint32		at;

	if (!rows->shares || (input->typlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(from)))
		return gpucol_window_rows_copy(rows, input->typlen, value);
	bytes = input->typlen == -1 ? VARSIZE_ANY(from) : (Size) input->typlen;
	if (bytes > SHARED_BYTES)
		return gpucol_window_rows_copy(rows, input->typlen, value);
	if (shared == NULL)
	{
		shared = input->shared = gpucol_window_rows_alloc(rows, sizeof(GpucolWindowShared));
		memset(shared, 0, sizeof(GpucolWindowShared));
	}
	if (shared->tried >= SHARED_TRIED && shared->found < shared->tried / 2)
		return gpucol_window_rows_copy(rows, input->typlen, value);
	at = gpucol_hash_bytes(from, bytes) % SHARED_COPIES;
	shared->tried++;
	if (shared->copies[at] != NULL && shared->bytes[at] == bytes && memcmp(shared->copies[at], from, bytes) == 0)
		shared->found++;
	else
	{
		shared->copies[at] = DatumGetPointer(gpucol_window_rows_copy(rows, input->typlen, value));
		shared->bytes[at] = (uint8) bytes;
	}
	return PointerGetDatum(shared->copies[at]);
}

/* Put the value of an input for the row in the slot, which is to be that of this number. */
static inline void
put_value(GpucolWindowRows *rows, GpucolWindowInput *input, uint32 at, TupleTableSlot *slot, ExprContext *econtext)
{
	bool		isnull = true;
	Datum		value = (Datum) 0;

	if (input->filter >= 0 && rows->inputs[input->filter].isnull[at])
		isnull = true;
	else if (input->expr == NULL)
	{
		isnull = slot->tts_isnull[input->column];
		value = slot->tts_values[input->column];
	}
	else
		value = ExecEvalExprSwitchContext(input->expr, econtext, &isnull);
	if (input->if_true && !isnull && !DatumGetBool(value))
		isnull = true;
	if (!isnull && !input->typbyval)
		value = share_value(rows, input, value);
	input->values[at] = isnull ? (Datum) 0 : value;
	input->isnull[at] = isnull;
	input->nulls |= isnull;
}

bool
gpucol_window_rows_add(GpucolWindowRows *rows, TupleTableSlot *slot, ExprContext *econtext)
{
	if (rows->nrows == rows->allocated && !grow(rows))
		return false;
	slot_getallattrs(slot);
	econtext->ecxt_scantuple = slot;
	ResetExprContext(econtext);
	for (int i = 0; i < rows->ninputs; i++)
		put_value(rows, &rows->inputs[i], rows->nrows, slot, econtext);
	rows->nrows++;
	rows->taken++;
	return rows->nrows % FIRST_ROWS != 0 || gpucol_window_rows_fit(rows, 0);
}

/* Put the values of a column. */
static void
put_column(GpucolWindowRows *rows, GpucolWindowInput *input, const Datum *values, const bool *isnull, uint32 n)
{
	Datum	   *to = input->values + rows->nrows;

	memcpy(input->isnull + rows->nrows, isnull, n * sizeof(bool));
	input->nulls = input->nulls || memchr(isnull, true, n) != NULL;
	for (uint32 i = 0; i < n; i++)
		to[i] = isnull[i] ? (Datum) 0 : values[i];
	if (input->typbyval)
		return;
	for (uint32 i = 0; i < n; i++)
	{
		if (!isnull[i])
			to[i] = share_value(rows, input, values[i]);
	}
}

/* Copy a value by reference, over the one that it replaces if it has no more bytes. */
static Datum
replace_value(GpucolWindowRows *rows, int16 typlen, Datum old, Datum value)
{
	Size		bytes;

	if (typlen == -1 && VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(value)))
		return gpucol_window_rows_copy(rows, typlen, value);
	bytes = typlen == -1 ? VARSIZE_ANY(DatumGetPointer(value)) : (Size) typlen;
	if (old != (Datum) 0 && bytes <= (typlen == -1 ? VARSIZE_ANY(DatumGetPointer(old)) : (Size) typlen))
	{
		memcpy(DatumGetPointer(old), DatumGetPointer(value), bytes);
		return old;
	}
	rows->replaced += bytes;
	return gpucol_window_rows_copy(rows, typlen, value);
}

void
gpucol_window_rows_prefetch(const GpucolWindowRows *rows, uint32 row)
{
	for (int k = 0; k < rows->ninputs; k++)
	{
		__builtin_prefetch(&rows->inputs[k].values[row], 1);
		if (rows->inputs[k].nulls)
			__builtin_prefetch(&rows->inputs[k].isnull[row], 1);
	}
}

void
gpucol_window_rows_prefetch_values(const GpucolWindowRows *rows, uint32 row)
{
	for (int k = 0; k < rows->ninputs; k++)
	{
		if (!rows->inputs[k].typbyval)
			__builtin_prefetch(DatumGetPointer(rows->inputs[k].values[row]), 1);
	}
}

void
gpucol_window_rows_replace(GpucolWindowRows *rows, uint32 row, Datum *const *values, bool *const *isnull, uint32 i)
{
	for (int k = 0; k < rows->ninputs; k++)
	{
		GpucolWindowInput *input = &rows->inputs[k];
		Datum		value = values[input->column][i];
		bool		no_value = isnull[input->column][i];

		if (no_value)
			value = (Datum) 0;
		else if (!input->typbyval)
			value = replace_value(rows, input->typlen, input->values[row], value);
		input->values[row] = value;
		/* where nothing is NULL these are not looked at */
		if (no_value || input->nulls)
			input->isnull[row] = no_value;
		input->nulls |= no_value;
	}
}

/* Evaluate the inputs that are expressions, for the row at i of columns. */
static void
put_computed(GpucolWindowRows *rows, Datum *const *values, bool *const *isnull, int ncolumns, uint32 i,
			 TupleTableSlot *slot, ExprContext *econtext)
{
	for (int c = 0; c < ncolumns; c++)
	{
		slot->tts_isnull[c] = values[c] == NULL || isnull[c][i];
		slot->tts_values[c] = slot->tts_isnull[c] ? (Datum) 0 : values[c][i];
	}
	econtext->ecxt_scantuple = slot;
	ResetExprContext(econtext);
	for (int k = 0; k < rows->ninputs; k++)
	{
		if (rows->inputs[k].expr != NULL && rows->inputs[k].computed < 0)
			put_value(rows, &rows->inputs[k], rows->nrows + i, slot, econtext);
	}
}

bool
gpucol_window_rows_add_columns(GpucolWindowRows *rows, Datum *const *values, bool *const *isnull, int ncolumns,
							   uint32 n, TupleTableSlot *slot, ExprContext *econtext)
{
	bool		computes = false;

	while (rows->allocated - rows->nrows < n)
	{
		if (!grow(rows))
			return false;
	}
	for (int i = 0; i < rows->ninputs; i++)
	{
		GpucolWindowInput *input = &rows->inputs[i];
		int			column = input->expr == NULL ? input->column : input->computed;

		computes |= column < 0;
		if (column >= 0)
			put_column(rows, input, values[column], isnull[column], n);
	}
	ExecClearTuple(slot);
	ExecStoreVirtualTuple(slot);
	for (uint32 i = 0; i < n && computes; i++)
		put_computed(rows, values, isnull, ncolumns, i, slot, econtext);
	rows->nrows += n;
	rows->taken += n;
	return gpucol_window_rows_fit(rows, 0);
}

/*
 * What is kept moves to a context of its own, so that the memory of the rest is free.
 */
void
gpucol_window_rows_keep(GpucolWindowRows *rows, const uint32 *kept, uint32 nkept)
{
	MemoryContext old = rows->context;
	uint32		room = Max(FIRST_ROWS, nkept + 1);
	GpucolWindowInput *from = palloc(sizeof(GpucolWindowInput) * Max(rows->ninputs, 1));

	memcpy(from, rows->inputs, sizeof(GpucolWindowInput) * rows->ninputs);
	rows->context = AllocSetContextCreate(MemoryContextGetParent(old), "gpucol window",
										  ALLOCSET_DEFAULT_SIZES);
	rows->left = rows->replaced = 0;
	allocate(rows, room);
	for (int i = 0; i < rows->ninputs; i++)
	{
		GpucolWindowInput *to = &rows->inputs[i];

		for (uint32 j = 0; j < nkept; j++)
		{
			to->isnull[j] = from[i].isnull[kept[j]];
			to->values[j] = from[i].values[kept[j]];
			if (!to->isnull[j] && !to->typbyval)
				to->values[j] = gpucol_window_rows_copy(rows, to->typlen, to->values[j]);
		}
	}
	rows->nrows = nkept;
	MemoryContextDelete(old);
	rows->meter.context = rows->context;
	pfree(from);
}

void
gpucol_window_rows_close(GpucolWindowRows *rows)
{
	if (rows->context == NULL)
		return;
	MemoryContextDelete(rows->context);
	gpucol_budget_release(rows->meter.budget, rows->meter.counted);
	rows->context = NULL;
	rows->nrows = 0;
}
