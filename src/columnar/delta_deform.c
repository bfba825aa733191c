/*-------------------------------------------------------------------------
 *
 * delta_deform.c
 *	  Values of heap tuples, put straight into the columns of a batch.
 *
 * A tuple without NULLs has its leading attributes of fixed length at the same places as
 * every other one: those that are wanted are loaded from there, the others not looked at.
 * Behind them, and in tuples with NULLs, attributes are walked up to the last one that
 * is wanted.  Attributes that a tuple is too old to have take their missing value.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "access/tupmacs.h"

#include "columnar/delta_check.h"
#include "columnar/delta_deform.h"
#include "compat.h"

/* How a value's 64 bits are made of its bytes. */
typedef enum DeformLoad
{
	LOAD_DATUM,					/* by the batch, as a datum */
	LOAD_UINT8,
	LOAD_INT16,
	LOAD_INT32,
	LOAD_UINT32,
	LOAD_INT64
} DeformLoad;

/* One attribute. */
typedef struct DeformStep
{
	int16		attlen;
	char		attalign;
	bool		attbyval;
	DeformLoad	load;
	int			slot;			/* first column slot that wants it, or -1 */
	uint32		offset;			/* in tuples without NULLs; of the first `nfixed` */
} DeformStep;

struct GpucolDeform
{
	Relation	table;
	GpucolRowBatch *rows;
	bool	   *wanted;			/* by slot */
	int		   *next_slot;		/* by slot: another one of the same attribute, or -1 */
	int			natts;			/* up to the last that is wanted */
	int			nfixed;			/* leading attributes of fixed length */
	uint32		fixed_end;		/* and where they end */
	DeformStep *steps;
};

/* How the values of a column are loaded. */
static DeformLoad
load_of(const GpucolTypeMap *map)
{
	if (map->kind == GPUCOL_KIND_FLOAT4)
		return LOAD_UINT32;
	if (map->kind == GPUCOL_KIND_FLOAT8)
		return LOAD_INT64;
	if (map->kind != GPUCOL_KIND_INT || !map->typbyval)
		return LOAD_DATUM;
	switch (map->typlen)
	{
		case 1:
			return LOAD_UINT8;
		case 2:
			return LOAD_INT16;
		case 4:
			return gpucol_typemap_is_signed(map) ? LOAD_INT32 : LOAD_UINT32;
		default:
			return LOAD_INT64;
	}
}

/* Which attributes are wanted, and where the first ones lie. */
static void
plan_steps(GpucolDeform *deform)
{
	TupleDesc	desc = RelationGetDescr(deform->table);
	const GpucolRowBatch *rows = deform->rows;
	uint32		offset = 0;

	deform->natts = 0;
	for (int a = 0; a < desc->natts; a++)
		deform->steps[a].slot = -1;
	for (int c = 0; c < rows->ncolumns; c++)
	{
		int			attnum = rows->columns[c].attnum;
		DeformStep *step = &deform->steps[attnum - 1];

		if (!deform->wanted[c])
			continue;
		deform->next_slot[c] = step->slot;
		step->slot = c;
		deform->natts = Max(deform->natts, attnum);
	}
	deform->nfixed = 0;
	for (int a = 0; a < deform->natts; a++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, a);
		DeformStep *step = &deform->steps[a];

		step->attlen = att->attlen;
		step->attalign = att->attalign;
		step->attbyval = att->attbyval;
		if (step->slot >= 0)
			step->load = load_of(&rows->maps[step->slot]);
		if (deform->nfixed < a || att->attlen <= 0)
			continue;
		step->offset = att_align_nominal(offset, att->attalign);
		offset = step->offset + att->attlen;
		deform->nfixed = a + 1;
	}
	deform->fixed_end = offset;
}

GpucolDeform *
gpucol_deform_open(Relation table, GpucolRowBatch *rows)
{
	GpucolDeform *deform = palloc0(sizeof(GpucolDeform));
	int			n = Max(rows->ncolumns, 1);

	deform->table = table;
	deform->rows = rows;
	deform->wanted = palloc(n * sizeof(bool));
	deform->next_slot = palloc(n * sizeof(int));
	deform->steps = palloc0(Max(RelationGetDescr(table)->natts, 1) * sizeof(DeformStep));
	memset(deform->wanted, true, n * sizeof(bool));
	plan_steps(deform);
	return deform;
}

void
gpucol_deform_choose(GpucolDeform *deform, const bool *wanted)
{
	Size		size = deform->rows->ncolumns * sizeof(bool);

	if (memcmp(deform->wanted, wanted, size) == 0)
		return;
	memcpy(deform->wanted, wanted, size);
	plan_steps(deform);
}

/* One value for all slots that want it. */
static bool
put_datum(GpucolDeform *deform, int slot, uint32 row, Datum value)
{
	for (; slot >= 0; slot = deform->next_slot[slot])
		if (!gpucol_row_batch_put_copy(deform->rows, slot, row, value))
			return false;
	return true;
}

static void
put_null(GpucolDeform *deform, int slot, uint32 row)
{
	for (; slot >= 0; slot = deform->next_slot[slot])
		gpucol_row_batch_put_null(deform->rows, slot, row);
}

/* A value of fixed length that stands for itself; it need not be aligned. */
static inline int64
load_value(DeformLoad load, const char *data)
{
	int64		wide;
	int32		number;
	int16		small;

	switch (load)
	{
		case LOAD_UINT8:
			return (uint8) *data;
		case LOAD_INT16:
			memcpy(&small, data, sizeof(small));
			return small;
		case LOAD_INT32:
			memcpy(&number, data, sizeof(number));
			return number;
		case LOAD_UINT32:
			memcpy(&number, data, sizeof(number));
			return (uint32) number;
		default:
			memcpy(&wide, data, sizeof(wide));
			return wide;
	}
}

/* A value of an attribute that some slot wants. */
static inline bool
put_value(GpucolDeform *deform, const DeformStep *step, uint32 row, const char *data)
{
	int64		value;

	if (step->load == LOAD_DATUM)
		return put_datum(deform, step->slot, row,
						 fetch_att(data, step->attbyval, step->attlen));
	value = load_value(step->load, data);
	for (int c = step->slot; c >= 0; c = deform->next_slot[c])
		deform->rows->batch[c].values[row] = value;
	return true;
}

/* The tuple's values do not end where it does. */
pg_noreturn static void
raise_corrupt(const GpucolDeform *deform, HeapTuple tuple)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("table \"%s\" has a corrupt page", RelationGetRelationName(deform->table)),
			 errdetail("Tuple %u of block %u has values behind its end.",
					   ItemPointerGetOffsetNumber(&tuple->t_self),
					   ItemPointerGetBlockNumber(&tuple->t_self))));
}

/* Walk attributes from `first`, which lies behind `offset`, to before `last`. */
static bool
walk(GpucolDeform *deform, HeapTuple tuple, int first, int last, uint32 offset, uint32 row)
{
	HeapTupleHeader header = tuple->t_data;
	const char *data = (const char *) header + header->t_hoff;
	uint32		end = tuple->t_len - header->t_hoff;
	bool		nulls = (header->t_infomask & HEAP_HASNULL) != 0;

	for (int a = first; a < last; a++)
	{
		const DeformStep *step = &deform->steps[a];

		if (nulls && att_isnull(a, header->t_bits))
		{
			put_null(deform, step->slot, row);
			continue;
		}
		if (step->attlen > 0)
			offset = att_align_nominal(offset, step->attalign);
		else if (offset < end)
			offset = att_align_pointer(offset, step->attalign, step->attlen, data + offset);
		if (step->attlen > 0 ? offset + step->attlen > end :
			!gpucol_delta_value_fits(step->attlen, data, offset, end))
			raise_corrupt(deform, tuple);
		if (step->slot >= 0 && !put_value(deform, step, row, data + offset))
			return false;
		offset = att_addlength_pointer(offset, step->attlen, data + offset);
	}
	return true;
}

/* Missing values of attributes from `first`. */
static bool
put_missing(GpucolDeform *deform, int first, uint32 row)
{
	for (int a = first; a < deform->natts; a++)
	{
		int			slot = deform->steps[a].slot;
		bool		isnull;
		Datum		value;

		if (slot < 0)
			continue;
		value = getmissingattr(RelationGetDescr(deform->table), a + 1, &isnull);
		if (isnull)
			put_null(deform, slot, row);
		else if (!put_datum(deform, slot, row, value))
			return false;
	}
	return true;
}

bool
gpucol_deform_tuple(GpucolDeform *deform, HeapTuple tuple, uint32 row)
{
	HeapTupleHeader header = tuple->t_data;
	const char *data = (const char *) header + header->t_hoff;
	int			natts = Min((int) HeapTupleHeaderGetNatts(header), deform->natts);
	int			first = 0;
	uint32		offset = 0;

	if ((header->t_infomask & HEAP_HASNULL) == 0 && natts >= deform->nfixed)
	{
		first = deform->nfixed;
		offset = deform->fixed_end;
		if (header->t_hoff + offset > tuple->t_len)
			raise_corrupt(deform, tuple);
		for (int a = 0; a < first; a++)
			if (deform->steps[a].slot >= 0 &&
				!put_value(deform, &deform->steps[a], row, data + deform->steps[a].offset))
				return false;
	}
	else if ((header->t_infomask & HEAP_HASNULL) != 0 &&
			 header->t_hoff < SizeofHeapTupleHeader + BITMAPLEN(HeapTupleHeaderGetNatts(header)))
		raise_corrupt(deform, tuple);
	return walk(deform, tuple, first, natts, offset, row) &&
		put_missing(deform, natts, row);
}
