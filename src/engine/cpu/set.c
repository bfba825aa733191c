/*-------------------------------------------------------------------------
 *
 * set.c
 *	  Probes of no table: rows multiply as an array of theirs has elements, or a text fields; of several
 *	  arrays, whose elements are beside one another, as the longest has.
 *
 * They are expansions (expand.c): the values of the saved rows are gone through from the first
 * to the last, and a batch has up to 1,024 elements of theirs.  The program loads these in the
 * stage of the probe's filter, at once, so that they are kept for one batch only.
 * The condition of a SET_LEFT is the residual of its pairs: elements that do not pass are dropped from the batch.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_ops.h"
#include "engine/cpu/items.h"
#include "engine/cpu/join.h"

bool
gpucol_cpu_set_check(const GpucolProgram *program, const GpucolProbe *probe)
{
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, probe_keys);
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);

	if (probe->nkeys < 1 || probe->nkeys > GPUCOL_SET_MOST)
		return false;
	for (int k = 0; k < probe->nkeys; k++)
		if (keys[probe->first_key + k] >= program->nregs ||
			classes[keys[probe->first_key + k]] != GPUCOL_CLASS_S)
			return false;
	return (probe->kind == GPUCOL_JOIN_SET_LEFT ||
			(probe->residual == GPUCOL_NO_REG && probe->residual_end == probe->keys_end)) &&
		probe->set + GPUCOL_SET_CONSTS * probe->nkeys <= program->nconsts;
}

/* Which function makes a column that is no number. */
static int
maker_of(int column)
{
	return column < GPUCOL_SET_MORE ? 0 : column - GPUCOL_SET_MORE + 1;
}

/* Does a column of the rows made suit what the program loads? */
bool
gpucol_cpu_set_suits(const GpucolCpuProbe *probe, const GpucolPayload *payload)
{
	const GpucolSetFunction *function = &probe->functions[0];

	if (payload->column == GPUCOL_SET_NUMBER || function->subscripts)
		return payload->kind == GPUCOL_KIND_INT && payload->column <= GPUCOL_SET_NUMBER;
	if (maker_of(payload->column) >= probe->probe->nkeys)
		return false;
	function += maker_of(payload->column);
	if (function->fields || function->width == GPUCOL_ARRAY_VARYING)
		return payload->kind == GPUCOL_KIND_BYTES;
	return (payload->kind == GPUCOL_KIND_INT || gpucol_kind_is_float(payload->kind)) &&
		(function->width == 2 || function->width == 4 || function->width == 8);
}

/* May the functions of a probe be beside one another? */
static bool
are_elements(const GpucolCpuProbe *probe)
{
	for (int k = 0; k < probe->probe->nkeys && probe->probe->nkeys > 1; k++)
	{
		const GpucolSetFunction *function = &probe->functions[k];

		if (function->fields || function->subscripts || function->jsonb != 0 || function->sliced)
			return false;
	}
	return true;
}

bool
gpucol_cpu_set_read(const GpucolRun *run, GpucolCpuProbe *probe)
{
	for (int k = 0; k < probe->probe->nkeys; k++)
	{
		const GpucolConst *consts = &run->code.consts[probe->probe->set + GPUCOL_SET_CONSTS * k];
		char	   *to = (char *) &probe->functions[k];

		for (size_t at = 0; at < sizeof(GpucolSetFunction); at += 16)
			memcpy(to + at, &consts[at / 16].v.d,
				   sizeof(GpucolSetFunction) - at < 16 ? sizeof(GpucolSetFunction) - at : 16);
	}
	return are_elements(probe);
}

void
gpucol_cpu_set_bounds(const GpucolCpuProbe *probe, int column, GpucolCpuBounds *b)
{
	int			width = column == GPUCOL_SET_NUMBER || probe->functions[0].subscripts ? 4 :
		probe->functions[maker_of(column)].width;

	b->nullable = true;
	b->lo = width == 2 ? INT16_MIN : width == 4 ? INT32_MIN : INT64_MIN;
	b->hi = width == 2 ? INT16_MAX : width == 4 ? INT32_MAX : INT64_MAX;
}

/* Does the program load the numbers of a probe's elements? */
static bool
loads_numbers(const GpucolRun *run, const GpucolCpuProbe *probe)
{
	const GpucolPayload *payloads = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolPayload, payloads);

	for (int i = 0; i < run->program->npayloads; i++)
		if (payloads[i].probe == probe->number && payloads[i].column == GPUCOL_SET_NUMBER)
			return true;
	return false;
}

/* Room for the elements that one function makes, behind those of others. */
static GpucolStatus
init_items(GpucolRun *run, const GpucolSetFunction *function, GpucolCpuItems **items)
{
	size_t		n = GPUCOL_VECTOR_VALUES;
	GpucolCpuItems *set = gpucol_cpu_alloc0(run, sizeof(GpucolCpuItems));

	*items = set;
	if (set == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	set->values = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n);
	set->items = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n);
	set->absent = gpucol_cpu_alloc(run, n);
	set->nulls = gpucol_cpu_alloc(run, n);
	set->numbers = gpucol_cpu_alloc(run, sizeof(int64_t) * n);
	set->integers = gpucol_cpu_alloc(run, sizeof(int64_t) * n);
	if (function->jsonb != 0)
		set->texts = gpucol_cpu_alloc(run, GPUCOL_JSONB_ROOM * n);
	if (function->jsonb != 0 && set->texts == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	return set->values == NULL || set->items == NULL || set->absent == NULL || set->nulls == NULL ||
		set->numbers == NULL || set->integers == NULL ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_set_init(GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuExpansion *expansion)
{
	GpucolCpuItems **items = &expansion->set;

	for (int k = 0; k < probe->probe->nkeys; k++)
	{
		if (init_items(run, &probe->functions[k], items) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
		items = &(*items)->next;
	}
	expansion->set->numbered = probe->functions[0].subscripts || loads_numbers(run, probe);
	return GPUCOL_OK;
}

void
gpucol_cpu_set_free(GpucolRun *run, GpucolCpuExpansion *expansion)
{
	GpucolCpuItems *set = expansion->set;

	while (set != NULL)
	{
		GpucolCpuItems *next = set->next;

		gpucol_cpu_free(run, set->values);
		gpucol_cpu_free(run, set->items);
		gpucol_cpu_free(run, set->absent);
		gpucol_cpu_free(run, set->nulls);
		gpucol_cpu_free(run, set->numbers);
		gpucol_cpu_free(run, set->integers);
		gpucol_cpu_free(run, set->texts);
		gpucol_cpu_free(run, set);
		set = next;
	}
}

/* Of the unpacked elements of a row those of a slice. */
static void
slice_items(const GpucolSetFunction *function, GpucolBytes *row)
{
	uint32_t	end;
	uint32_t	first = gpucol_set_slice(function, (uint32_t) row->len, 1, &end);

	row->data += sizeof(int64_t) * first;
	row->len = end - first;
}

void
gpucol_cpu_set_open(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, GpucolCpuItems *set)
{
	for (int k = 0; set != NULL; k++, set = set->next)
	{
		const GpucolCpuReg *reg = &worker->regs[probe->keys[k]];
		const GpucolSetFunction *function = &probe->functions[k];

		for (uint32_t j = 0; j < worker->nsel; j++)
		{
			set->absent[j] = GPUCOL_CPU_NULL_AT(reg, j);
			set->values[j] = set->absent[j] ? (GpucolBytes) {"", 0} : gpucol_cpu_op_string(reg, j);
			if (reg->items != NULL && function->sliced)
				slice_items(function, &set->values[j]);
		}
		set->begun = set->lacking = false;
		set->flat = reg->items;
		set->flat_nulls = function->subscripts ? NULL : reg->item_nulls;
		set->done = 0;
	}
}

/* Add an element to the batch, or what a row without any is handed on with. */
static void
add_item(GpucolCpuExpansion *expansion, uint32_t n, GpucolBytes item, bool isnull)
{
	GpucolCpuItems *set = expansion->set;

	expansion->at[n] = (uint16_t) expansion->row;
	set->items[n] = item;
	set->nulls[n] = isnull;
	set->numbers[n] = ++set->number + set->before;
}

/* Where the text of a number is written, the n-th of the batch. */
static char *
text_room(const GpucolCpuItems *set, uint32_t n)
{
	return set->texts != NULL ? set->texts + (size_t) GPUCOL_JSONB_ROOM * n : NULL;
}

/* Add elements of a fixed width that lie one behind the other to the batch, as many as it takes; the batch's length. */
static uint32_t
add_run(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t n)
{
	GpucolCpuItems *set = expansion->set;
	size_t		width = (size_t) probe->functions[0].width;
	const char *data = NULL;
	uint32_t	taken = gpucol_set_run(&probe->functions[0], &set->cursor, GPUCOL_VECTOR_VALUES - n, &data);

	for (uint32_t i = 0; i < taken; i++)
	{
		expansion->at[n + i] = (uint16_t) expansion->row;
		set->items[n + i] = (GpucolBytes) {data + i * width, width};
		set->numbers[n + i] = set->number + 1 + (int64_t) i;
	}
	if (taken > 0)
		memset(set->nulls + n, 0, taken);
	set->number += taken;
	return n + taken;
}

/* Copy unpacked elements that lie one behind the other, if there are some, to places from .. n - 1 of the batch. */
static void
copy_flat(GpucolCpuItems *set, const int64_t *items, uint32_t from, uint32_t n)
{
	if (items == NULL)
		return;
	memcpy(set->integers + from, items, sizeof(int64_t) * (n - from));
	if (set->flat_nulls != NULL)
		memcpy(set->nulls + from, set->flat_nulls + (items - set->flat), n - from);
	else
		memset(set->nulls + from, 0, n - from);
}

/* List `take` elements of a row from place n of the batch on. */
static void
list_row(GpucolCpuExpansion *expansion, uint32_t n, uint32_t take)
{
	GpucolCpuItems *set = expansion->set;
	uint16_t	row = (uint16_t) expansion->row;
	uint16_t   *at = expansion->at + n;
	int64_t    *numbers = set->numbers + n;
	int64_t		done = set->done;

	for (uint32_t i = 0; i < take; i++)
		at[i] = row;
	if (set->numbered)
		for (uint32_t i = 0; i < take; i++)
			numbers[i] = done + (int64_t) i + 1;
}

/* Is a row without elements listed at once?  With a condition those are, in the end, of which none has passed. */
static bool
pads(const GpucolCpuProbe *probe)
{
	return probe->keeps && !probe->residual;
}

/* List elements that were unpacked without their arrays, those of rows side by side together; how many there are. */
static uint32_t
list_flat(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe)
{
	GpucolCpuItems *set = expansion->set;
	const int64_t *run = NULL;	/* of elements that are listed and not copied yet, */
	uint32_t	from = 0;		/* which go to places from here on */
	uint32_t	n = 0;

	set->no_null = set->flat_nulls == NULL;
	while (expansion->row < expansion->nrows && n < GPUCOL_VECTOR_VALUES)
	{
		GpucolBytes value = set->values[expansion->row];
		const int64_t *items = (const int64_t *) value.data + set->done;
		uint32_t	left = (uint32_t) value.len - set->done;
		uint32_t	take = left < GPUCOL_VECTOR_VALUES - n ? left : GPUCOL_VECTOR_VALUES - n;

		if (take > 0 && (run == NULL || items != run + (n - from)))
		{
			copy_flat(set, run, from, n);
			run = items;
			from = n;
		}
		list_row(expansion, n, take);
		n += take;
		set->done += take;
		if (take < left)
			break;
		if (set->done == 0 && pads(probe))
		{
			copy_flat(set, run, from, n);
			run = NULL;
			expansion->at[n] = (uint16_t) expansion->row;
			set->integers[n] = set->numbers[n] = 0;
			set->nulls[n++] = 1;
			from = n;
			set->no_null = false;
		}
		expansion->row++;
		set->done = 0;
	}
	copy_flat(set, run, from, n);
	return n;
}

/* Begin with the elements of a row; how many there are. */
static GpucolStatus
begin_items(const GpucolSetFunction *function, GpucolCpuItems *set, uint32_t row, uint32_t *nitems)
{
	GpucolStatus status;

	*nitems = 0;
	if (set->absent[row])
		return GPUCOL_OK;
	if (set->flat != NULL)
	{
		*nitems = (uint32_t) set->values[row].len;
		return GPUCOL_OK;
	}
	status = gpucol_set_begin(function, set->values[row], &set->cursor);
	if (status == GPUCOL_OK)
		*nitems = set->cursor.array.nitems;
	return status;
}

/* Begin with a row of several arrays: it has as many rows as the longest has elements. */
static GpucolStatus
begin_row(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe)
{
	int			k = 0;

	expansion->set->total = expansion->set->done = 0;
	for (GpucolCpuItems *set = expansion->set; set != NULL; set = set->next)
	{
		uint32_t	nitems;
		GpucolStatus status = begin_items(&probe->functions[k++], set, expansion->row, &nitems);

		if (status != GPUCOL_OK)
			return status;
		if (nitems > expansion->set->total)
			expansion->set->total = nitems;
	}
	return GPUCOL_OK;
}

/* Elements of an array from the one behind `done` for places from n on; NULL behind its last one, and where it is. */
static void
take_items(const GpucolSetFunction *function, GpucolCpuItems *set, uint32_t row, uint32_t done, uint32_t n,
		   uint32_t take)
{
	const int64_t *flat = (const int64_t *) set->values[row].data;
	bool		absent = set->absent[row] != 0;

	for (uint32_t i = 0; i < take; i++)
	{
		bool		isnull = true;

		set->items[n + i] = (GpucolBytes) {"", 0};
		set->integers[n + i] = 0;
		if (absent)
			isnull = true;
		else if (set->flat == NULL)
			isnull = !gpucol_array_next(&set->cursor.array, function->width, &set->cursor.place,
										&set->items[n + i], &isnull) || isnull;
		else if (done + i < set->values[row].len)
		{
			set->integers[n + i] = flat[done + i];
			isnull = set->flat_nulls != NULL && set->flat_nulls[flat - set->flat + done + i] != 0;
		}
		set->nulls[n + i] = isnull;
	}
}

/* List the elements of several arrays beside one another. */
static GpucolStatus
list_several(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t *listed)
{
	GpucolCpuItems *first = expansion->set;
	uint32_t	n = 0;

	while (expansion->row < expansion->nrows && n < GPUCOL_VECTOR_VALUES)
	{
		GpucolStatus status = first->begun ? GPUCOL_OK : begin_row(expansion, probe);
		uint32_t	most = GPUCOL_VECTOR_VALUES - n;
		uint32_t	take;
		bool		empty;
		int			k = 0;

		if (status != GPUCOL_OK)
			return status;
		first->begun = true;
		empty = first->total == 0 && pads(probe);
		take = empty ? 1 : first->total - first->done;
		take = take < most ? take : most;
		for (GpucolCpuItems *set = first; set != NULL; set = set->next)
			take_items(&probe->functions[k++], set, expansion->row, first->done, n, take);
		for (uint32_t i = 0; i < take; i++)
		{
			expansion->at[n + i] = (uint16_t) expansion->row;
			first->numbers[n + i] = empty ? 0 : first->done + (int64_t) i + 1;
		}
		n += take;
		first->done += take;
		if (first->done < first->total)
			break;
		expansion->row++;
		first->begun = false;
	}
	for (GpucolCpuItems *set = first; set != NULL; set = set->next)
		set->no_null = false;
	*listed = n;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_set_list(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t *listed)
{
	GpucolCpuItems *set = expansion->set;
	uint32_t	n = 0;

	if (set->next != NULL)
		return list_several(expansion, probe, listed);
	if (set->flat != NULL)
	{
		*listed = list_flat(expansion, probe);
		return GPUCOL_OK;
	}
	while (expansion->row < expansion->nrows && n < GPUCOL_VECTOR_VALUES)
	{
		bool		absent = set->absent[expansion->row] != 0;
		GpucolBytes item;
		bool		isnull;

		if (!set->begun)
		{
			GpucolStatus status = absent ? GPUCOL_OK :
				gpucol_set_begin(&probe->functions[0], set->values[expansion->row], &set->cursor);

			if (status != GPUCOL_OK)
				return status;
			set->begun = true;
			set->number = 0;
			set->before = absent ? 0 : gpucol_set_before(&probe->functions[0], &set->cursor);
		}
		if (!absent)
			n = add_run(expansion, probe, n);
		while (!absent && n < GPUCOL_VECTOR_VALUES &&
			   gpucol_set_next(&probe->functions[0], &set->cursor, text_room(set, n), &item, &isnull))
			add_item(expansion, n++, item, isnull);
		if (n == GPUCOL_VECTOR_VALUES)
			break;
		if (set->number == 0 && pads(probe))
		{
			set->number = -1;	/* as 0, which stands for NULL */
			add_item(expansion, n++, (GpucolBytes) {"", 0}, true);
		}
		expansion->row++;
		set->begun = false;
	}
	*listed = n;
	return GPUCOL_OK;
}

bool
gpucol_cpu_set_writes(const GpucolRun *run)
{
	for (int p = 0; p < run->join.nprobes; p++)
		if (run->join.probes[p].is_set && run->join.probes[p].functions[0].jsonb != 0)
			return true;
	return false;
}

void
gpucol_cpu_set_copy(const GpucolCpuWorker *worker, GpucolBytes *values, uint32_t n, char *room)
{
	for (int p = 0; p < worker->run->join.nprobes; p++)
	{
		const GpucolCpuItems *set = worker->trail->expansions[p].set;
		const char *texts = set != NULL ? set->texts : NULL;

		for (uint32_t j = 0; j < n && texts != NULL; j++)
		{
			if ((uintptr_t) values[j].data - (uintptr_t) texts >= (size_t) GPUCOL_JSONB_ROOM * GPUCOL_VECTOR_VALUES)
				continue;
			memcpy(room + (size_t) GPUCOL_JSONB_ROOM * j, values[j].data, values[j].len);
			values[j].data = room + (size_t) GPUCOL_JSONB_ROOM * j;
		}
	}
}

void
gpucol_cpu_set_keep(GpucolCpuItems *set, const uint16_t *at, uint32_t n)
{
	for (; set != NULL; set = set->next)
		for (uint32_t j = 0; j < n; j++)
		{
			set->items[j] = set->items[at[j]];
			set->nulls[j] = set->nulls[at[j]];
			set->numbers[j] = set->numbers[at[j]];
			set->integers[j] = set->integers[at[j]];
		}
}

/* Nothing, for rows of which no element has passed. */
static void
load_nothing(uint32_t n, GpucolCpuReg *reg)
{
	memset(reg->null_space, 1, n);
	reg->coded = false;
	reg->column = NULL;
	for (uint32_t j = 0; j < n; j++)
		if (reg->cls == GPUCOL_CLASS_S)
			reg->v.s[j] = (GpucolBytes) {"", 0};
		else
			reg->v.i[j] = 0;
}

/* Elements of integers; of what is NULL 0. */
static void
load_integers(const GpucolCpuItems *set, int width, uint32_t n, int64_t *out)
{
	bool		nulls = memchr(set->nulls, 1, n) != NULL;
	int32_t		value;

	if (width == sizeof(value) && !nulls)
		for (uint32_t j = 0; j < n; j++)
		{
			memcpy(&value, set->items[j].data, sizeof(value));
			out[j] = value;
		}
	else
		for (uint32_t j = 0; j < n; j++)
			out[j] = set->nulls[j] ? 0 : gpucol_array_integer(set->items[j]);
}

/* Elements that were unpacked without their arrays; of what is NULL 0. */
static void
load_flat(const GpucolCpuItems *set, int width, uint32_t n, GpucolCpuReg *reg)
{
	if (reg->cls == GPUCOL_CLASS_I && set->no_null)
		memcpy(reg->v.i, set->integers, sizeof(int64_t) * n);
	else if (reg->cls == GPUCOL_CLASS_I)
		for (uint32_t j = 0; j < n; j++)
			reg->v.i[j] = set->nulls[j] != 0 ? 0 : set->integers[j];
	else
		for (uint32_t j = 0; j < n; j++)
			reg->v.f[j] = set->nulls[j] != 0 ? 0 : gpucol_cpu_items_float(set->integers[j], width);
}

void
gpucol_cpu_set_load(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, int column, GpucolCpuReg *reg)
{
	const GpucolCpuItems *set = worker->trail->expansions[probe->number].set;
	const GpucolSetFunction *function = &probe->functions[maker_of(column)];
	uint32_t	n = worker->nsel;

	reg->nulls = reg->null_space;
	if (set->lacking)
	{
		load_nothing(n, reg);
		return;
	}
	if (column == GPUCOL_SET_NUMBER)
	{
		memcpy(reg->v.i, set->numbers, sizeof(int64_t) * n);
		for (uint32_t j = 0; j < n; j++)
			reg->null_space[j] = set->numbers[j] == 0;
		return;
	}
	for (int k = maker_of(column); k > 0; k--)
		set = set->next;
	memcpy(reg->null_space, set->nulls, n);
	if (function->subscripts)
	{
		memcpy(reg->v.i, set->numbers, sizeof(int64_t) * n);
		if (set->flat != NULL && set->no_null)
			reg->nulls = NULL;
		return;
	}
	if (set->flat != NULL)
	{
		if (set->no_null)
			reg->nulls = NULL;
		load_flat(set, function->width, n, reg);
		return;
	}
	switch (reg->cls)
	{
		case GPUCOL_CLASS_I:
			load_integers(set, function->width, n, reg->v.i);
			break;
		case GPUCOL_CLASS_F:
			for (uint32_t j = 0; j < n; j++)
				reg->v.f[j] = set->nulls[j] ? 0 : gpucol_array_float(set->items[j]);
			break;
		default:
			reg->coded = false;
			reg->column = NULL;
			memcpy(reg->v.s, set->items, sizeof(GpucolBytes) * n);
	}
}
