/*-------------------------------------------------------------------------
 *
 * held_rows.c
 *	  Rows that arrive one by one, held back until there are enough to be taken over
 *	  column by column.
 *
 * Taking one row over means to ask of each column what it is, for one value; and a
 * dictionary looks values up side by side, so that they do not wait for memory one
 * after another.  INSERT ... SELECT, merges and clustering bring one row at a time, in
 * a slot that the next row takes: its values are copied here, column by column.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "columnar/held_rows.h"
#include "compat.h"

/* Bytes of all values that are passed by reference. */
#define HELD_BYTES	16384

GpucolHeldRows *
gpucol_held_create(TupleDesc desc)
{
	GpucolHeldRows *held = palloc0(sizeof(GpucolHeldRows));

	held->desc = CreateTupleDescCopy(desc);
	held->values = palloc0(desc->natts * sizeof(Datum *));
	held->isnull = palloc0(desc->natts * sizeof(bool *));
	for (int i = 0; i < desc->natts; i++)
	{
		if (TupleDescAttr(desc, i)->attisdropped)
			continue;
		held->values[i] = palloc(GPUCOL_HELD_ROWS * sizeof(Datum));
		held->isnull[i] = palloc(GPUCOL_HELD_ROWS * sizeof(bool));
	}
	held->memory = palloc(HELD_BYTES);
	return held;
}

/* Bytes of a value that is passed by reference; more than there is room for if it is
 * not plain. */
static inline Size
size_of(const FormData_pg_attribute *att, const char *value)
{
	if (att->attlen > 0)
		return att->attlen;
	if (att->attlen != -1 || VARATT_IS_EXTERNAL(value) || VARATT_IS_COMPRESSED(value))
		return HELD_BYTES + 1;
	return VARSIZE_ANY(value);
}

/* Copy one value to row n; false if there is no room. */
static inline bool
copy_value(GpucolHeldRows *held, int att, Datum value, Size *used)
{
	FormData_pg_attribute *form = TupleDescAttr(held->desc, att);
	char	   *copy;
	Size		size;

	if (!form->attbyval)
	{
		size = size_of(form, DatumGetPointer(value));
		*used = MAXALIGN(*used);
		if (size > HELD_BYTES - *used)
			return false;
		copy = held->memory + *used;
		memcpy(copy, DatumGetPointer(value), size);
		value = PointerGetDatum(copy);
		*used += size;
	}
	held->values[att][held->n] = value;
	return true;
}

bool
gpucol_held_add(GpucolHeldRows *held, TupleTableSlot *slot)
{
	Size		used = held->used;

	if (held->n == GPUCOL_HELD_ROWS)
		return false;
	slot_getallattrs(slot);
	for (int i = 0; i < held->desc->natts; i++)
	{
		if (held->values[i] == NULL)
			continue;
		held->isnull[i][held->n] = slot->tts_isnull[i];
		if (!slot->tts_isnull[i] && !copy_value(held, i, slot->tts_values[i], &used))
			return false;
	}
	held->used = used;
	held->n++;
	return true;
}

void
gpucol_held_reset(GpucolHeldRows *held)
{
	held->n = 0;
	held->used = 0;
}
