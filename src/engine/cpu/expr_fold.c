/*-------------------------------------------------------------------------
 *
 * expr_fold.c
 *	  Folds: one value of those of a row's elements, of one array or of several side by side.
 *
 * A fold goes over the elements of all rows, 1,024 at a time, wherever rows begin among them.  For these the
 * instructions that it depends on are computed, in registers like any others: EACH has the elements, SPREAD what
 * rows have, and the rest are operations on 1,024 values.  Then the values are taken into those of their rows.
 * The instructions are left out where rows are computed.
 *
 * Arrays side by side end with the longest, as PostgreSQL's unnest() of several does: the others have NULLs.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "engine/cpu/items.h"
#include "kernel/array_value.h"
#include "kernel/bytes_order.h"
#include "kernel/float_order.h"

#define N GPUCOL_VECTOR_VALUES

#define MOST_ARRAYS		16		/* of a fold */
#define FEW_KEYS		16		/* are sorted in place */

/* Elements of a row that follow one another. */
typedef struct Part
{
	uint32_t	row;
	uint32_t	first;
	uint32_t	n;
} Part;

/* How far the elements of an array have been read. */
typedef struct Cursor
{
	GpucolArrayValue array;
	GpucolArrayPlace place;
} Cursor;

/* Elements on their way through. */
typedef struct Walk
{
	const GpucolCpuFold *fold;
	uint32_t	row;			/* the next one, */
	uint32_t	first;			/* and its next element */
	uint32_t	n;				/* elements at hand, */
	uint32_t	begins;			/* the first of which is so many behind its row's first one */
	uint16_t	of[N];			/* their rows */
	Cursor		cursors[MOST_ARRAYS];	/* of the EACH instructions, in their order */
} Walk;

/* ---- set-up ---- */

/* The registers that an instruction reads, its mask last; GPUCOL_NO_REG where there is none. */
static void
list_operands(const GpucolInstr *instr, uint16_t *operands)
{
	const GpucolCpuOp *op = &gpucol_cpu_expr_ops[instr->op];

	operands[0] = op->a == GPUCOL_CLASS_NONE ? GPUCOL_NO_REG : instr->a;
	operands[1] = op->b == GPUCOL_CLASS_NONE ? GPUCOL_NO_REG : instr->b;
	operands[2] = op->c == GPUCOL_CLASS_NONE ? GPUCOL_NO_REG : instr->c;
	operands[3] = instr->mask;
}

/*
 * Has an instruction values for elements?  *fits: all that it reads have, or are constants.  `writers` are the
 * instructions of registers, in front of it.
 */
static bool
is_of_elements(const GpucolRun *run, const uint16_t *writers, const GpucolInstr *instr, bool *fits)
{
	uint16_t	operands[4];
	bool		some = false;
	bool		all = true;

	*fits = true;
	if (GPUCOL_OP_IS_EACH(instr->op) || GPUCOL_OP_IS_SPREAD(instr->op))
	{
		*fits = !run->digest.of_elements[writers[instr->a]];
		return true;
	}
	list_operands(instr, operands);
	for (int o = 0; o < 4; o++)
	{
		uint16_t	op;

		if (operands[o] == GPUCOL_NO_REG)
			continue;
		op = run->code.instrs[writers[operands[o]]].op;
		some |= run->digest.of_elements[writers[operands[o]]];
		all &= run->digest.of_elements[writers[operands[o]]] || (op >= GPUCOL_OP_CONST_I && op <= GPUCOL_OP_CONST_B);
	}
	if (GPUCOL_OP_IS_FOLD(instr->op))
	{
		*fits = all && some && (instr->mask == GPUCOL_NO_REG || !run->digest.of_elements[writers[instr->mask]]);
		return false;
	}
	*fits = !some || all;
	return some;
}

/* List what a fold needs computed for elements; false if there are no arrays, or too many. */
static bool
list_instrs(GpucolRun *run, const uint16_t *writers, int number, bool *wanted, GpucolCpuFold *fold)
{
	uint16_t	operands[4];
	int			narrays = 0;

	memset(wanted, 0, run->program->ninstrs);
	wanted[number] = true;
	for (int i = number; i >= 0; i--)
	{
		if (!wanted[i])
			continue;
		list_operands(&run->code.instrs[i], operands);
		for (int o = 0; o < 4; o++)
			if (operands[o] != GPUCOL_NO_REG && run->digest.of_elements[writers[operands[o]]])
				wanted[writers[operands[o]]] = true;
		fold->ninstrs += i != number;
		narrays += GPUCOL_OP_IS_EACH(run->code.instrs[i].op);
	}
	return narrays > 0 && narrays <= MOST_ARRAYS;
}

/* Find what each fold needs. */
static GpucolStatus
find_folds(GpucolRun *run, const uint16_t *writers, bool *wanted)
{
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		GpucolCpuFold *fold = &run->digest.folds[i];
		int			n = 0;

		if (!GPUCOL_OP_IS_FOLD(run->code.instrs[i].op))
			continue;
		if (!list_instrs(run, writers, i, wanted, fold))
			return GPUCOL_UNSUPPORTED;
		fold->instrs = gpucol_cpu_alloc(run, sizeof(uint16_t) * (size_t) fold->ninstrs);
		if (fold->instrs == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		for (int k = 0; k < i; k++)
			if (wanted[k])
				fold->instrs[n++] = (uint16_t) k;
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_fold_init(GpucolRun *run)
{
	size_t		n = run->program->ninstrs + 1u;
	uint16_t   *writers = gpucol_cpu_alloc0(run, sizeof(uint16_t) * (run->program->nregs + 1u));
	bool	   *wanted = gpucol_cpu_alloc(run, n);
	GpucolStatus status;
	bool		fits;

	run->digest.of_elements = gpucol_cpu_alloc0(run, n);
	run->digest.folds = gpucol_cpu_alloc0(run, sizeof(GpucolCpuFold) * n);
	if (writers == NULL || wanted == NULL || run->digest.of_elements == NULL || run->digest.folds == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		run->digest.of_elements[i] = is_of_elements(run, writers, instr, &fits);
		if (!fits)
			return GPUCOL_UNSUPPORTED;
		writers[instr->dst] = (uint16_t) i;
	}
	status = find_folds(run, writers, wanted);
	gpucol_cpu_free(run, writers);
	gpucol_cpu_free(run, wanted);
	return status;
}

/* ---- elements ---- */

/* How many elements has the array of row j? */
static GpucolStatus
count_elements(const GpucolCpuReg *reg, uint32_t j, uint32_t *n)
{
	GpucolArrayValue array;

	*n = 0;
	if (GPUCOL_CPU_NULL_AT(reg, j))
		return GPUCOL_OK;
	if (reg->items != NULL)
	{
		*n = (uint32_t) reg->v.s[j].len;
		return GPUCOL_OK;
	}
	if (!gpucol_array_open(gpucol_cpu_op_string(reg, j), &array))
		return GPUCOL_CORRUPT;
	*n = array.nitems;
	return GPUCOL_OK;
}

/* The same of the longest of a fold's arrays. */
static GpucolStatus
count_longest(const GpucolCpuFrame *f, const Walk *walk, uint32_t j, uint32_t *n)
{
	*n = 0;
	for (int i = 0; i < walk->fold->ninstrs; i++)
	{
		const GpucolInstr *instr = &f->worker->run->code.instrs[walk->fold->instrs[i]];
		GpucolStatus status;
		uint32_t	size;

		if (!GPUCOL_OP_IS_EACH(instr->op))
			continue;
		status = count_elements(&f->worker->regs[instr->a], j, &size);
		if (status != GPUCOL_OK)
			return status;
		*n = size > *n ? size : *n;
	}
	return GPUCOL_OK;
}

/* Put elements of a row at the places from `at` on, as unpacked ones are; those behind the last are NULL. */
static void
put_flat(const GpucolCpuReg *array, const Part *part, const GpucolInstr *instr, GpucolCpuReg *dst, uint32_t at)
{
	GpucolCpuItemRow row = {NULL, NULL, 0};
	uint32_t	n;

	if (!GPUCOL_CPU_NULL_AT(array, part->row))
		row = gpucol_cpu_items_row(array, part->row);
	n = row.n <= part->first ? 0 : row.n - part->first < part->n ? row.n - part->first : part->n;
	if (n > 0 && instr->op == GPUCOL_OP_EACH_I)
		memcpy(dst->v.i + at, row.values + part->first, sizeof(int64_t) * n);
	for (uint32_t i = 0; i < n && instr->op == GPUCOL_OP_EACH_F; i++)
		dst->v.f[at + i] = gpucol_cpu_items_float(row.values[part->first + i], instr->aux);
	if (n > 0 && row.nulls != NULL)
		memcpy(dst->null_space + at, row.nulls + part->first, n);
	for (; n < part->n; n++)
	{
		dst->v.i[at + n] = 0;
		dst->null_space[at + n] = 1;
	}
}

/* Put one element, or NULL. */
GPUCOL_CPU_INLINE void
put_value(uint16_t op, GpucolBytes item, bool isnull, GpucolCpuReg *dst, uint32_t at)
{
	dst->null_space[at] = isnull;
	if (op == GPUCOL_OP_EACH_S)
		dst->v.s[at] = item;
	else if (op == GPUCOL_OP_EACH_F)
		dst->v.f[at] = isnull ? 0 : gpucol_array_float(item);
	else
		dst->v.i[at] = isnull ? 0 : gpucol_array_integer(item);
}

/* The same as put_flat() of arrays as they are stored. */
static GpucolStatus
put_stored(const GpucolCpuReg *array, const Part *part, const GpucolInstr *instr, Cursor *cursor, GpucolCpuReg *dst,
		   uint32_t at)
{
	if (part->first == 0)
	{
		memset(&cursor->array, 0, sizeof(cursor->array));
		if (!GPUCOL_CPU_NULL_AT(array, part->row) &&
			!gpucol_array_open(gpucol_cpu_op_string(array, part->row), &cursor->array))
			return GPUCOL_CORRUPT;
		cursor->place = gpucol_array_begin(&cursor->array);
	}
	for (uint32_t i = 0; i < part->n; i++)
	{
		GpucolBytes item = {"", 0};
		bool		isnull = true;

		if (cursor->place.number < cursor->array.nitems &&
			!gpucol_array_next(&cursor->array, instr->aux, &cursor->place, &item, &isnull))
			return GPUCOL_CORRUPT;
		put_value(instr->op, item, isnull, dst, at + i);
	}
	return GPUCOL_OK;
}

/* Number the elements of a row, whichever array has most. */
static void
put_numbers(const Part *part, GpucolCpuReg *dst, uint32_t at)
{
	for (uint32_t i = 0; i < part->n; i++)
		dst->v.i[at + i] = (int64_t) (part->first + i) + 1;
}

/* The elements at hand from one on that are of one row. */
static Part
next_part(const Walk *walk, uint32_t at)
{
	Part		part = {walk->of[at], at == 0 ? walk->begins : 0, 0};

	while (at + part.n < walk->n && walk->of[at + part.n] == part.row)
		part.n++;
	return part;
}

/* Fill the register of an EACH instruction. */
static GpucolStatus
fill_each(const GpucolCpuFrame *f, const Walk *walk, Cursor *cursor)
{
	const GpucolCpuReg *array = f->a;
	GpucolCpuReg *dst = f->dst;
	GpucolStatus status = GPUCOL_OK;
	uint32_t	at = 0;

	memset(dst->null_space, 0, walk->n);
	dst->nulls = dst->null_space;
	dst->coded = false;
	dst->column = NULL;
	while (at < walk->n && status == GPUCOL_OK)
	{
		Part		part = next_part(walk, at);

		if (f->instr->op == GPUCOL_OP_EACH_NUMBER)
			put_numbers(&part, dst, at);
		else if (array->items != NULL)
			put_flat(array, &part, f->instr, dst, at);
		else
			status = put_stored(array, &part, f->instr, cursor, dst, at);
		at += part.n;
	}
	return status;
}

/* Take the next elements: which they are. */
static GpucolStatus
list_parts(const GpucolCpuFrame *f, Walk *walk)
{
	walk->n = 0;
	walk->begins = walk->first;
	while (walk->row < f->n && walk->n < N)
	{
		uint32_t	size;
		uint32_t	take;
		GpucolStatus status = count_longest(f, walk, walk->row, &size);

		if (status != GPUCOL_OK)
			return status;
		take = size - walk->first < N - walk->n ? size - walk->first : N - walk->n;
		for (uint32_t i = 0; i < take; i++)
			walk->of[walk->n + i] = (uint16_t) walk->row;
		walk->n += take;
		walk->first += take;
		if (walk->first == size)
		{
			walk->row++;
			walk->first = 0;
		}
	}
	return GPUCOL_OK;
}

/* Take the next elements, none behind the last, and compute what the fold needs. */
static GpucolStatus
next_elements(const GpucolCpuFrame *f, Walk *walk)
{
	const GpucolRun *run = f->worker->run;
	GpucolCpuFrame g = *f;
	GpucolStatus status = list_parts(f, walk);
	Cursor	   *cursor = walk->cursors;

	g.n = walk->n;
	g.of = walk->of;
	g.rows = NULL;
	for (int i = 0; i < walk->fold->ninstrs && status == GPUCOL_OK && walk->n > 0; i++)
	{
		g.instr = &run->code.instrs[walk->fold->instrs[i]];
		g.dst = &f->worker->regs[g.instr->dst];
		g.a = &f->worker->regs[g.instr->a < run->program->nregs ? g.instr->a : 0];
		g.b = &f->worker->regs[g.instr->b < run->program->nregs ? g.instr->b : 0];
		g.c = &f->worker->regs[g.instr->c < run->program->nregs ? g.instr->c : 0];
		status = GPUCOL_OP_IS_EACH(g.instr->op) ? fill_each(&g, walk, cursor++) :
			gpucol_cpu_expr_ops[g.instr->op].function(&g);
	}
	return status;
}

/* Begin: no row has a value. */
static void
begin(const GpucolCpuFrame *f, Walk *walk)
{
	walk->fold = &f->worker->run->digest.folds[f->instr - f->worker->run->code.instrs];
	walk->row = walk->first = 0;
	memset(f->dst->null_space, 1, f->n);
	f->dst->nulls = f->dst->null_space;
}

/* ---- operations ---- */

#define SPREAD(NAME, FIELD) \
	GpucolStatus \
	gpucol_cpu_op_SPREAD_##NAME(GpucolCpuFrame *f) \
	{ \
		f->dst->nulls = f->a->nulls == NULL ? NULL : f->dst->null_space; \
		for (uint32_t j = 0; j < f->n && f->a->nulls != NULL; j++) \
			f->dst->null_space[j] = f->a->nulls[f->of[j]]; \
		for (uint32_t j = 0; j < f->n; j++) \
			f->dst->v.FIELD[j] = f->a->v.FIELD[f->of[j]]; \
		return GPUCOL_OK; \
	}

SPREAD(B, b)
SPREAD(I, i)
SPREAD(F, f)

GpucolStatus
gpucol_cpu_op_SPREAD_S(GpucolCpuFrame *f)
{
	f->dst->nulls = f->a->nulls == NULL ? NULL : f->dst->null_space;
	f->dst->coded = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		bool		isnull = GPUCOL_CPU_NULL_AT(f->a, f->of[j]);

		f->dst->null_space[j] = isnull;
		f->dst->v.s[j] = isnull ? (GpucolBytes) {"", 0} : gpucol_cpu_op_string(f->a, f->of[j]);
	}
	return GPUCOL_OK;
}

/*
 * A fold: what a row has BEFORE its elements, and how to TAKE the value of element j, which is not NULL, into that
 * of its `row`.
 */
#define FOLD(NAME, CLS, BEFORE, TAKE) \
	GpucolStatus \
	gpucol_cpu_op_FOLD_##NAME(GpucolCpuFrame *f) \
	{ \
		GpucolStatus status = GPUCOL_OK; \
		uint8_t    *nulls = f->dst->null_space; \
		Walk		walk; \
\
		begin(f, &walk); \
		for (uint32_t j = 0; j < f->n; j++) \
			f->dst->v.CLS[j] = BEFORE; \
		while ((status = next_elements(f, &walk)) == GPUCOL_OK && walk.n > 0) \
			for (uint32_t j = 0; j < walk.n; j++) \
				if (!GPUCOL_CPU_NULL_AT(f->a, j)) \
				{ \
					uint32_t	row = walk.of[j]; \
\
					TAKE; \
					nulls[row] = 0; \
				} \
		return status; \
	}

FOLD(AND, b, 1, f->dst->v.b[row] &= f->a->v.b[j])
FOLD(OR, b, 0, f->dst->v.b[row] |= f->a->v.b[j])
FOLD(SUM_I, i, 0, f->dst->v.i[row] += f->a->v.i[j])
FOLD(MIN_I, i, 0,
	 if (nulls[row] || f->a->v.i[j] < f->dst->v.i[row])
	 f->dst->v.i[row] = f->a->v.i[j])
FOLD(MAX_I, i, 0,
	 if (nulls[row] || f->a->v.i[j] > f->dst->v.i[row])
	 f->dst->v.i[row] = f->a->v.i[j])
FOLD(MIN_F, f, 0,
	 if (nulls[row] || gpucol_float_order(f->dst->v.f[row]) >= gpucol_float_order(f->a->v.f[j]))
	 f->dst->v.f[row] = f->a->v.f[j])
FOLD(MAX_F, f, 0,
	 if (nulls[row] || gpucol_float_order(f->dst->v.f[row]) <= gpucol_float_order(f->a->v.f[j]))
	 f->dst->v.f[row] = f->a->v.f[j])

/* The sum of two floats of a type, as PostgreSQL adds them; *failed: it overflows. */
GPUCOL_CPU_INLINE double
add_floats(double x, double y, int32_t width, bool *failed)
{
	double		sum = width == sizeof(float) ? (double) ((float) x + (float) y) : x + y;

	*failed = isinf(sum) && !isinf(x) && !isinf(y);
	return sum;
}

FOLD(SUM_F, f, 0,
	 bool failed = false;
	 if (nulls[row])
	 f->dst->v.f[row] = f->a->v.f[j];
	 else
	 f->dst->v.f[row] = add_floats(f->dst->v.f[row], f->a->v.f[j], f->instr->aux, &failed);
	 if (failed && gpucol_cpu_op_counts(f, row))
	 return GPUCOL_FLOAT_OVERFLOW)

/* Add up from 0 on, and divide by how many there are. */
GpucolStatus
gpucol_cpu_op_FOLD_AVG_F(GpucolCpuFrame *f)
{
	uint32_t	counts[N] = {0};
	GpucolStatus status;
	bool		failed;
	Walk		walk;

	begin(f, &walk);
	memset(f->dst->v.f, 0, sizeof(double) * f->n);
	while ((status = next_elements(f, &walk)) == GPUCOL_OK && walk.n > 0)
		for (uint32_t j = 0; j < walk.n; j++)
		{
			uint32_t	row = walk.of[j];

			if (GPUCOL_CPU_NULL_AT(f->a, j))
				continue;
			f->dst->null_space[row] = 0;
			counts[row]++;
			f->dst->v.f[row] = add_floats(f->dst->v.f[row], f->a->v.f[j], sizeof(double), &failed);
			if (failed && gpucol_cpu_op_counts(f, row))
				return GPUCOL_FLOAT_OVERFLOW;
		}
	for (uint32_t j = 0; j < f->n; j++)
		if (counts[j] > 0)
			f->dst->v.f[j] /= counts[j];
	return status;
}

GpucolStatus
gpucol_cpu_op_FOLD_SUM_D(GpucolCpuFrame *f)
{
	GpucolStatus status;
	Walk		walk;

	begin(f, &walk);
	f->dst->narrow = f->dst->alike = false;
	f->dst->wide = true;
	memset(f->dst->v.d, 0, sizeof(__int128) * f->n);
	while ((status = next_elements(f, &walk)) == GPUCOL_OK && walk.n > 0)
		for (uint32_t j = 0; j < walk.n; j++)
			if (!GPUCOL_CPU_NULL_AT(f->a, j))
			{
				f->dst->v.d[walk.of[j]] += f->a->v.i[j];
				f->dst->null_space[walk.of[j]] = 0;
			}
	return status;
}

GpucolStatus
gpucol_cpu_op_FOLD_COUNT(GpucolCpuFrame *f)
{
	GpucolStatus status;
	Walk		walk;

	begin(f, &walk);
	f->dst->nulls = NULL;
	memset(f->dst->v.i, 0, sizeof(int64_t) * f->n);
	while ((status = next_elements(f, &walk)) == GPUCOL_OK && walk.n > 0)
		for (uint32_t j = 0; j < walk.n; j++)
			f->dst->v.i[walk.of[j]] += f->a->v.b[j] && !GPUCOL_CPU_NULL_AT(f->a, j);
	return status;
}

/* ---- values that differ ---- */

/* A value that is compared; of strings the bytes. */
typedef union Key
{
	int64_t		number;
	GpucolBytes string;
} Key;

/* The values of a row. */
typedef struct Keys
{
	Key		   *keys;
	uint32_t	n;
	uint32_t	room;
	int			(*compare) (const void *a, const void *b);
} Keys;

static int
compare_numbers(const void *a, const void *b)
{
	int64_t		x = ((const Key *) a)->number;
	int64_t		y = ((const Key *) b)->number;

	return x < y ? -1 : x > y;
}

static int
compare_strings(const void *a, const void *b)
{
	return gpucol_bytes_compare(&((const Key *) a)->string, &((const Key *) b)->string);
}

/* Add a value; false: no memory. */
static bool
add_key(GpucolRun *run, Keys *keys, Key key)
{
	if (keys->n == keys->room)
	{
		uint32_t	room = keys->room == 0 ? N : keys->room * 2;
		Key		   *more = gpucol_cpu_realloc(run, keys->keys, sizeof(Key) * room);

		if (more == NULL)
			return false;
		keys->keys = more;
		keys->room = room;
	}
	keys->keys[keys->n++] = key;
	return true;
}

/* Sort the values, a few by putting each in its place. */
static void
sort_keys(Keys *keys)
{
	if (keys->n > FEW_KEYS)
	{
		qsort(keys->keys, keys->n, sizeof(Key), keys->compare);
		return;
	}
	for (uint32_t i = 1; i < keys->n; i++)
	{
		Key			key = keys->keys[i];
		uint32_t	at = i;

		for (; at > 0 && keys->compare(&keys->keys[at - 1], &key) > 0; at--)
			keys->keys[at] = keys->keys[at - 1];
		keys->keys[at] = key;
	}
}

/* How many differ; there are none then. */
static int64_t
count_keys(Keys *keys)
{
	int64_t		n = keys->n > 0;

	sort_keys(keys);
	for (uint32_t i = 1; i < keys->n; i++)
		n += keys->compare(&keys->keys[i - 1], &keys->keys[i]) != 0;
	keys->n = 0;
	return n;
}

static Key
key_of(const GpucolCpuReg *reg, uint32_t j)
{
	if (reg->cls == GPUCOL_CLASS_S)
		return (Key) {.string = gpucol_cpu_op_string(reg, j)};
	return (Key) {.number = reg->cls == GPUCOL_CLASS_F ? gpucol_float_order(reg->v.f[j]) : reg->v.i[j]};
}

static GpucolStatus
count_distinct(GpucolCpuFrame *f)
{
	Keys		keys = {.compare = f->a->cls == GPUCOL_CLASS_S ? compare_strings : compare_numbers};
	GpucolRun  *run = f->worker->run;
	uint32_t	row = 0;
	GpucolStatus status;
	Walk		walk;

	begin(f, &walk);
	f->dst->nulls = NULL;
	memset(f->dst->v.i, 0, sizeof(int64_t) * f->n);
	while ((status = next_elements(f, &walk)) == GPUCOL_OK && walk.n > 0)
		for (uint32_t j = 0; j < walk.n; j++)
		{
			if (GPUCOL_CPU_NULL_AT(f->a, j) || GPUCOL_CPU_NULL_AT(f->b, j) || !f->b->v.b[j])
				continue;
			if (walk.of[j] != row)
			{
				f->dst->v.i[row] = count_keys(&keys);
				row = walk.of[j];
			}
			if (!add_key(run, &keys, key_of(f->a, j)))
			{
				gpucol_cpu_free(run, keys.keys);
				return GPUCOL_OUT_OF_MEMORY;
			}
		}
	if (keys.n > 0)
		f->dst->v.i[row] = count_keys(&keys);
	gpucol_cpu_free(run, keys.keys);
	return status;
}

GpucolStatus
gpucol_cpu_op_FOLD_DISTINCT_I(GpucolCpuFrame *f)
{
	return count_distinct(f);
}

GpucolStatus
gpucol_cpu_op_FOLD_DISTINCT_F(GpucolCpuFrame *f)
{
	return count_distinct(f);
}

GpucolStatus
gpucol_cpu_op_FOLD_DISTINCT_S(GpucolCpuFrame *f)
{
	return count_distinct(f);
}
