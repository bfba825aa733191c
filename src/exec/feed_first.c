/*-------------------------------------------------------------------------
 *
 * feed_first.c
 *	  Arrays of whose elements only the first ones are asked for.
 *
 * Of (array_agg(x ORDER BY y))[1] nobody wants the array.  A group keeps its first rows only, as many as
 * the query asks for, and their array is made of these: the first elements of an array are the same
 * whatever comes behind them.
 *
 * The rows of a group are a list, the last one in front: what a row has to go before.  Sort columns that
 * are numbers are integers here, turned over where they descend, and compared as such; others are compared by their
 * type's functions.  Values are copied when a batch is over, as most rows of a group that were first at some
 * time are so no longer by then.  Of rows that sort as equals the first of the table comes first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/feed_first.h"
#include "kernel/float_order.h"

/* What a row has of a sort column. */
typedef struct FirstKey
{
	int64		value;			/* a number in the order that is asked for, or a Datum; 0 if NULL */
	int32		rank;			/* of a value 1, of NULL 0 or 2 */
} FirstKey;

/* What is known of the sort columns of a batch. */
typedef struct FirstColumn
{
	bool		number;
	bool		descending;		/* a number: turned over */
	FirstKey   *keys;			/* by row of the batch */
} FirstColumn;

/* A row that is kept. */
typedef struct FirstRow
{
	uint32		next;			/* the one before it in the order, + 1 */
	uint32		row;			/* of the batch, + 1; 0: its values have been copied */
	bool		isnull;
	Datum		value;
} FirstRow;

/* The rows of a group. */
typedef struct FirstGroup
{
	uint32		last;			/* + 1 */
	uint32		n;
} FirstGroup;

struct GpucolFirsts
{
	GpucolFeeder *f;
	MemoryContext context;
	uint32		most;			/* rows of a group */
	FirstColumn *columns;		/* by sort column */
	FirstRow   *rows;
	FirstKey   *keys;			/* by row, by sort column */
	uint32		n;
	uint32		room;
	FirstGroup *groups;
	uint32		ngroups;
	uint32		group_room;
	uint32	   *changed;		/* rows that the batch has changed */
	uint32		nchanged;
};

GpucolFirsts *
gpucol_firsts_create(GpucolFeeder *f)
{
	GpucolFirsts *firsts = palloc0(sizeof(GpucolFirsts));

	firsts->f = f;
	firsts->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol first elements", ALLOCSET_DEFAULT_SIZES);
	firsts->most = (uint32) f->fed->most;
	firsts->columns = palloc0(Max(f->nsort, 1) * sizeof(FirstColumn));
	for (int i = 0; i < f->nsort; i++)
	{
		const GpucolFedArg *arg = &f->fed->args[f->sort_args[i]];

		firsts->columns[i].number = gpucol_lower_fed_number(arg, f->sort_ops[i], &firsts->columns[i].descending);
	}
	return firsts;
}

bool
gpucol_firsts_loads(const GpucolFirsts *firsts, int arg)
{
	for (int i = 0; i < firsts->f->nsort; i++)
	{
		if (firsts->f->sort_args[i] == arg && !firsts->columns[i].number)
			return true;
	}
	/* what PostgreSQL evaluates, and constants */
	return firsts->f->fed->args[arg].output < 0;
}

/* Room for so many rows more. */
static uint64
wanted_room(const GpucolFirsts *firsts, uint64 nrows)
{
	uint64		n = firsts->n + nrows;

	return n <= firsts->room ? firsts->room :
		Min(Max(firsts->room * UINT64CONST(2), Max(n, 64)), PG_UINT32_MAX - 1);
}

Size
gpucol_firsts_room(const GpucolFirsts *firsts, uint64 nrows)
{
	uint64		rows = wanted_room(firsts, nrows);

	return (rows - firsts->room) * (sizeof(FirstRow) + firsts->f->nsort * sizeof(FirstKey)) +
		nrows * (sizeof(FirstGroup) * 2 + sizeof(uint32));
}

void
gpucol_firsts_reserve(GpucolFirsts *firsts, uint32 ngroups)
{
	MemoryContext old = MemoryContextSwitchTo(firsts->context);

	if (ngroups > firsts->group_room)
	{
		firsts->group_room = Max(ngroups, Max(firsts->group_room * UINT64CONST(2), 64));
		firsts->groups = gpucol_grow(firsts->groups, firsts->group_room * sizeof(FirstGroup));
	}
	if (ngroups > firsts->ngroups)
		memset(firsts->groups + firsts->ngroups, 0, (ngroups - firsts->ngroups) * sizeof(FirstGroup));
	firsts->ngroups = Max(firsts->ngroups, ngroups);
	MemoryContextSwitchTo(old);
}

/* ---- a batch's rows ---- */

/* The numbers of a sort column in ascending order. */
static void
load_numbers(const GpucolResultColumn *column, GpucolClass cls, bool descending, uint32 nrows, FirstKey *keys)
{
	int64		turned = descending ? -1 : 0;

	for (uint32 row = 0; row < nrows; row++)
	{
		int64		value = cls == GPUCOL_CLASS_D ? (int64) column->d[row] :
			cls == GPUCOL_CLASS_F ? gpucol_float_order(column->f[row]) : column->i[row];

		keys[row].value = value ^ turned;
		keys[row].rank = 1;
	}
}

/* The sort columns of a batch. */
static void
load_keys(GpucolFirsts *firsts, const GpucolResult *result, const GpucolFeedInput *input)
{
	const GpucolFeeder *f = firsts->f;
	uint32		nrows = result->nrows;

	for (int i = 0; i < f->nsort; i++)
	{
		FirstColumn *sort = &firsts->columns[i];
		const GpucolFedArg *arg = &f->fed->args[f->sort_args[i]];
		int32		null_rank = f->sorts[i].ssup_nulls_first ? 0 : 2;
		const GpucolResultColumn *column = arg->output < 0 ? NULL : &result->columns[arg->output];

		sort->keys = palloc(Max(nrows, 1) * sizeof(FirstKey));
		if (sort->number)
			load_numbers(column, arg->value.cls, sort->descending, nrows, sort->keys);
		for (uint32 row = 0; row < nrows && sort->number && column->nulls != NULL; row++)
		{
			if (column->nulls[row])
				sort->keys[row] = (FirstKey) {.rank = null_rank};
		}
		for (uint32 row = 0; row < nrows && !sort->number; row++)
		{
			if (input->pass != NULL && !input->pass[row])
				continue;
			sort->keys[row].rank = input->isnull[f->sort_args[i]][row] ? null_rank : 1;
			sort->keys[row].value = sort->keys[row].rank == 1 ? (int64) input->values[f->sort_args[i]][row] : 0;
		}
	}
}

/* The order of a row of the batch and of one that is kept, from a sort column on. */
static inline int
compare(const GpucolFirsts *firsts, uint32 row, const FirstKey *kept)
{
	int			n = firsts->f->nsort;

	for (int i = 0; i < n; i++)
	{
		const FirstColumn *column = &firsts->columns[i];
		FirstKey	key = column->keys[row];
		int			order = 0;

		if (key.rank != kept[i].rank)
			return key.rank < kept[i].rank ? -1 : 1;
		if (column->number)
			order = key.value < kept[i].value ? -1 : key.value > kept[i].value;
		else if (key.rank == 1)
			order = ApplySortComparator((Datum) key.value, false, (Datum) kept[i].value, false, &firsts->f->sorts[i]);
		if (order != 0)
			return order;
	}
	return 0;
}

/* A row for a group that has too few. */
static uint32
new_row(GpucolFirsts *firsts)
{
	if (firsts->n == firsts->room)
	{
		MemoryContext old = MemoryContextSwitchTo(firsts->context);
		uint64		room = wanted_room(firsts, 1);

		if (room == firsts->room)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("too many rows to be sorted for an aggregate")));
		firsts->rows = gpucol_grow(firsts->rows, room * sizeof(FirstRow));
		firsts->keys = gpucol_grow(firsts->keys, room * Max(firsts->f->nsort, 1) * sizeof(FirstKey));
		firsts->changed = gpucol_grow(firsts->changed, room * sizeof(uint32));
		firsts->room = (uint32) room;
		MemoryContextSwitchTo(old);
	}
	firsts->rows[firsts->n] = (FirstRow) {.isnull = true};
	firsts->changed[firsts->nchanged++] = firsts->n;
	return firsts->n++;
}

/* Let go of what a row points to, unless that is the batch's. */
static void
forget(GpucolFirsts *firsts, uint32 place)
{
	const GpucolFeeder *f = firsts->f;
	FirstRow   *row = &firsts->rows[place];
	FirstKey   *keys = firsts->keys + (Size) place * f->nsort;

	if (row->row != 0)
		return;
	firsts->changed[firsts->nchanged++] = place;
	if (!row->isnull && !f->typbyval[0])
		pfree(DatumGetPointer(row->value));
	for (int i = 0; i < f->nsort; i++)
	{
		if (!firsts->columns[i].number && keys[i].rank == 1 && !f->typbyval[f->sort_args[i]])
			pfree(DatumGetPointer((Datum) keys[i].value));
	}
}

/* Have a row of the batch among a group's rows, before all that it is less than. */
static void
put_row(GpucolFirsts *firsts, FirstGroup *group, uint32 row)
{
	int			n = firsts->f->nsort;
	uint32		place;
	uint32	   *link = &group->last;

	if (group->n < firsts->most)
	{
		place = new_row(firsts);
		group->n++;
	}
	else
	{
		place = group->last - 1;
		group->last = firsts->rows[place].next;
		forget(firsts, place);
	}
	while (*link != 0 && compare(firsts, row, firsts->keys + (Size) (*link - 1) * n) < 0)
		link = &firsts->rows[*link - 1].next;
	firsts->rows[place].next = *link;
	firsts->rows[place].row = row + 1;
	*link = place + 1;
	for (int i = 0; i < n; i++)
		firsts->keys[(Size) place * n + i] = firsts->columns[i].keys[row];
}

/* Does a row come too late to be one of a group's first? */
static inline bool
is_late(const GpucolFirsts *firsts, const FirstGroup *group, uint32 row)
{
	const FirstKey *kept = firsts->keys + (Size) (group->last - 1) * firsts->f->nsort;

	return group->n == firsts->most && compare(firsts, row, kept) >= 0;
}

/* Copy what the changed rows have of the batch. */
static void
copy_values(GpucolFirsts *firsts, const GpucolResult *result, const GpucolFeedInput *input)
{
	const GpucolFeeder *f = firsts->f;
	const GpucolFedArg *arg = &f->fed->args[0];
	uint32		n = firsts->nchanged;
	uint32	   *chosen = palloc(Max(n, 1) * sizeof(uint32));
	Datum	   *values = palloc(Max(n, 1) * sizeof(Datum));
	bool	   *isnull = palloc(Max(n, 1) * sizeof(bool));
	MemoryContext old;

	for (uint32 i = 0; i < n; i++)
		chosen[i] = firsts->rows[firsts->changed[i]].row - 1;
	if (arg->output >= 0)
	{
		GpucolResultColumn column = gpucol_result_column_chosen(&result->columns[arg->output], chosen, n);

		gpucol_output_datums(&f->outputs[0], &column, n, values, isnull);
	}
	for (uint32 i = 0; i < n && arg->output < 0; i++)
	{
		values[i] = input->values[0][chosen[i]];
		isnull[i] = input->isnull[0][chosen[i]];
	}
	old = MemoryContextSwitchTo(firsts->context);
	for (uint32 i = 0; i < n; i++)
	{
		FirstRow   *row = &firsts->rows[firsts->changed[i]];
		FirstKey   *keys = firsts->keys + (Size) firsts->changed[i] * f->nsort;

		row->row = 0;
		row->isnull = isnull[i];
		row->value = isnull[i] ? (Datum) 0 : datumCopy(values[i], f->typbyval[0], f->typlen[0]);
		for (int k = 0; k < f->nsort; k++)
		{
			int			sorted = f->sort_args[k];

			if (!firsts->columns[k].number && keys[k].rank == 1)
				keys[k].value = (int64) datumCopy((Datum) keys[k].value, f->typbyval[sorted], f->typlen[sorted]);
		}
	}
	firsts->nchanged = 0;
	MemoryContextSwitchTo(old);
}

void
gpucol_firsts_rows(GpucolFirsts *firsts, const GpucolFeedRows *rows, const GpucolFeedInput *input)
{
	uint32		nrows = rows->result->nrows;

	load_keys(firsts, rows->result, input);
	gpucol_firsts_reserve(firsts, rows->ngroups);
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		for (uint32 row = 0; row < nrows; row++)
		{
			FirstGroup *group;

			if (input->pass != NULL && !input->pass[row])
				continue;
			group = &firsts->groups[groups[row]];
			if (!is_late(firsts, group, row))
				put_row(firsts, group, row);
		}
	}
	copy_values(firsts, rows->result, input);
}

Datum
gpucol_firsts_result(const GpucolFirsts *firsts, uint32 group, bool *isnull)
{
	const FirstGroup *of = &firsts->groups[group];
	Oid			type = exprType((Node *) firsts->f->fed->args[0].expr);
	int			n = (int) of->n;
	int			lower = 1;
	uint32		next = of->last;
	Datum	   *values;
	bool	   *nulls;
	int16		typlen;
	bool		typbyval;
	char		typalign;

	*isnull = n == 0;
	if (n == 0)
		return (Datum) 0;
	values = palloc(n * sizeof(Datum));
	nulls = palloc(n * sizeof(bool));
	for (int i = n - 1; i >= 0; i--)
	{
		values[i] = firsts->rows[next - 1].value;
		nulls[i] = firsts->rows[next - 1].isnull;
		next = firsts->rows[next - 1].next;
	}
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower, type, typlen, typbyval, typalign));
}
