/*-------------------------------------------------------------------------
 *
 * expr_form.c
 *	  Texts that are made of values: numbers, dates and times as texts, texts joined together, and
 *	  digests.
 *
 * They lie in memory of the register, which grows as texts need, until the instruction runs
 * again.  So groups and sets copy what they keep.  Of few values they are made once (few.c).
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/digest.h"
#include "engine/cpu/expr_ops.h"
#include "engine/cpu/few.h"
#include "kernel/packed_decimal.h"
#include "kernel/text_form.h"
#include "kernel/text_picture.h"

/* Room for the texts of the result, which none has been made of yet; NULL without memory. */
static char *
begin(GpucolCpuFrame *f, size_t size)
{
	GpucolCpuReg *dst = f->dst;
	char	   *space = dst->made;

	dst->coded = false;
	dst->words = false;
	dst->column = NULL;
	if (dst->made_room >= size && space != NULL)
		return space;
	size += size / 2;
	space = gpucol_cpu_realloc(f->worker->run, space, size);
	if (space == NULL)
		return NULL;
	dst->made = space;
	dst->made_room = size;
	return space;
}

/* The text of row j, from `from` to `to`, where the next one begins. */
GPUCOL_CPU_INLINE char *
finish(GpucolCpuFrame *f, uint32_t j, char *from, char *to)
{
	f->dst->v.s[j] = (GpucolBytes) {from, (uint32_t) (to - from)};
	return to;
}

/* Bytes that the text of one value takes at most. */
static size_t
form_room(const GpucolCpuFrame *f, uint32_t j GPUCOL_CPU_UNUSED)
{
	return GPUCOL_FORM_ROOM + (f->instr->op != GPUCOL_OP_FORM_D ? 0 :
							   f->instr->aux < 0 ? GPUCOL_PACKED_SCALE : f->instr->aux);
}

static char *
make_integer(const GpucolCpuFrame *f, uint32_t j, char *to)
{
	return gpucol_form_value(to, f->instr->aux, f->a->v.i[j]);
}

GpucolStatus
gpucol_cpu_op_FORM_I(GpucolCpuFrame *f)
{
	static const GpucolCpuMaker maker = {1, form_room, make_integer};
	int			form = f->instr->aux;
	char	   *to;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (gpucol_cpu_few_make(f, &maker))
		return GPUCOL_OK;
	to = begin(f, (size_t) f->n * GPUCOL_FORM_ROOM);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < f->n; j++)
		to = finish(f, j, to, GPUCOL_CPU_NULL_AT(f->dst, j) ? to : gpucol_form_value(to, form, f->a->v.i[j]));
	return GPUCOL_OK;
}

/* A timestamptz: a, whose local time is b. */
GpucolStatus
gpucol_cpu_op_FORM_TZ(GpucolCpuFrame *f)
{
	char	   *to = begin(f, (size_t) f->n * GPUCOL_FORM_ROOM);

	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		local = f->b->v.i[j];

		to = finish(f, j, to, GPUCOL_CPU_NULL_AT(f->dst, j) ? to :
					gpucol_form_stamp(to, local, true, (local - f->a->v.i[j]) / 1000000));
	}
	return GPUCOL_OK;
}

static char *
make_narrow(const GpucolCpuFrame *f, uint32_t j, char *to)
{
	return gpucol_form_decimal(to, f->a->n[j], f->instr->aux);
}

/* A mantissa at scale aux or, with aux negative, a decimal that carries its scale. */
GpucolStatus
gpucol_cpu_op_FORM_D(GpucolCpuFrame *f)
{
	static const GpucolCpuMaker maker = {1, form_room, make_narrow};
	bool		packed = f->instr->aux < 0;
	const __int128 *values;
	char	   *to;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (!packed && gpucol_cpu_few_make(f, &maker))
		return GPUCOL_OK;
	values = gpucol_cpu_expr_widen(f->a, f->n);
	to = begin(f, (size_t) f->n * form_room(f, 0));
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < f->n; j++)
	{
		__int128	mantissa = packed ? gpucol_packed_mantissa(values[j]) : values[j];
		int			scale = packed ? gpucol_packed_scale(values[j]) : f->instr->aux;

		to = finish(f, j, to, GPUCOL_CPU_NULL_AT(f->dst, j) ? to : gpucol_form_decimal(to, mantissa, scale));
	}
	return GPUCOL_OK;
}

/* A uuid. */
GpucolStatus
gpucol_cpu_op_FORM_S(GpucolCpuFrame *f)
{
	char	   *to = begin(f, (size_t) f->n * GPUCOL_FORM_ROOM);

	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolBytes bytes = {"", 0};

		if (!GPUCOL_CPU_NULL_AT(f->dst, j))
			bytes = gpucol_cpu_op_string(f->a, j);
		to = finish(f, j, to, bytes.len == 16 ? gpucol_form_uuid(to, (const unsigned char *) bytes.data) : to);
	}
	return GPUCOL_OK;
}

static size_t
md5_room(const GpucolCpuFrame *f GPUCOL_CPU_UNUSED, uint32_t j GPUCOL_CPU_UNUSED)
{
	return GPUCOL_MD5_TEXT;
}

static char *
make_md5(const GpucolCpuFrame *f, uint32_t j, char *to)
{
	GpucolBytes bytes = gpucol_cpu_op_string(f->a, j);

	gpucol_md5_texts(&bytes, 1, to);
	return to + GPUCOL_MD5_TEXT;
}

/* The digest of bytes, as digits. */
GpucolStatus
gpucol_cpu_op_MD5_S(GpucolCpuFrame *f)
{
	static const GpucolCpuMaker maker = {1, md5_room, make_md5};
	GpucolBytes *strings = f->dst->v.s;
	char	   *to;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (gpucol_cpu_few_make(f, &maker))
		return GPUCOL_OK;
	to = begin(f, (size_t) f->n * GPUCOL_MD5_TEXT);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < f->n; j++)
		strings[j] = GPUCOL_CPU_NULL_AT(f->dst, j) ? (GpucolBytes) {NULL, 0} : gpucol_cpu_op_string(f->a, j);
	gpucol_md5_texts(strings, f->n, to);
	for (uint32_t j = 0; j < f->n; j++, to += GPUCOL_MD5_TEXT)
		strings[j] = (GpucolBytes) {to, GPUCOL_CPU_NULL_AT(f->dst, j) ? 0 : GPUCOL_MD5_TEXT};
	return GPUCOL_OK;
}

/* A timestamp by a picture; NULL of an infinite one. */
GpucolStatus
gpucol_cpu_op_PICTURE_I(GpucolCpuFrame *f)
{
	const GpucolRun *run = f->worker->run;
	const void *block = run->digest.blocks[f->instr - run->code.instrs];
	GpucolTextPicture picture;
	uint8_t    *nulls = f->dst->null_space;
	bool		any = false;
	char	   *to;

	memcpy(&picture, block, sizeof(picture));
	to = begin(f, (size_t) f->n * picture.nitems * GPUCOL_PICTURE_ITEM + 1);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		stamp = f->a->v.i[j];

		nulls[j] = GPUCOL_CPU_NULL_AT(f->a, j) || stamp == INT64_MIN || stamp == INT64_MAX;
		any |= nulls[j];
		to = finish(f, j, to, nulls[j] ? to : gpucol_picture_stamp(to, &picture, stamp));
	}
	f->dst->nulls = any ? nulls : NULL;
	return GPUCOL_OK;
}

/* A text among the constants. */
GpucolStatus
gpucol_cpu_op_TEXT_S(GpucolCpuFrame *f)
{
	const GpucolRun *run = f->worker->run;
	const char *block = run->digest.blocks[f->instr - run->code.instrs];
	GpucolBytes text = {block + sizeof(uint32_t), 0};

	if (f->dst->constant)
		return GPUCOL_OK;
	memcpy(&text.len, block, sizeof(uint32_t));
	f->dst->constant = true;
	for (uint32_t j = 0; j < GPUCOL_VECTOR_VALUES; j++)
		f->dst->v.s[j] = text;
	return GPUCOL_OK;
}

/* The string that a CASE takes in row j, which is not NULL. */
GPUCOL_CPU_INLINE GpucolBytes
chosen_string(const GpucolCpuFrame *f, uint32_t j)
{
	bool		first = f->a->v.b[j] && !GPUCOL_CPU_NULL_AT(f->a, j);

	return gpucol_cpu_op_string(first ? f->b : f->c, j);
}

static size_t
chosen_room(const GpucolCpuFrame *f, uint32_t j)
{
	return chosen_string(f, j).len;
}

static char *
make_chosen(const GpucolCpuFrame *f, uint32_t j, char *to)
{
	GpucolBytes text = chosen_string(f, j);

	return gpucol_form_copy(to, text.data, text.len);
}

/* The texts of branches, where they lie. */
GpucolStatus
gpucol_cpu_op_CASE_S(GpucolCpuFrame *f)
{
	static const GpucolCpuMaker maker = {3, chosen_room, make_chosen};
	uint8_t		space[GPUCOL_VECTOR_VALUES];

	gpucol_cpu_op_case_nulls(f, gpucol_cpu_op_true_rows(f->a, f->n, space));
	if (gpucol_cpu_few_make(f, &maker))
		return GPUCOL_OK;
	f->dst->coded = false;
	f->dst->words = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.s[j] = GPUCOL_CPU_NULL_AT(f->dst, j) ? (GpucolBytes) {"", 0} : chosen_string(f, j);
	return GPUCOL_OK;
}

/* The NULLs of a and b joined. */
static void
both_nulls(GpucolCpuFrame *f)
{
	if (f->instr->aux == GPUCOL_BOTH_STRICT)
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	else if (f->instr->aux == GPUCOL_BOTH_NEVER || f->a->nulls == NULL || f->b->nulls == NULL)
		f->dst->nulls = NULL;
	else
	{
		for (uint32_t j = 0; j < f->n; j++)
			f->dst->null_space[j] = f->a->nulls[j] && f->b->nulls[j];
		f->dst->nulls = f->dst->null_space;
	}
}

GPUCOL_CPU_INLINE GpucolBytes
string_or_none(const GpucolCpuReg *reg, uint32_t j)
{
	return GPUCOL_CPU_NULL_AT(reg, j) ? (GpucolBytes) {"", 0} : gpucol_cpu_op_string(reg, j);
}

static size_t
both_room(const GpucolCpuFrame *f, uint32_t j)
{
	return (size_t) string_or_none(f->a, j).len + string_or_none(f->b, j).len + string_or_none(f->c, j).len;
}

static char *
make_both(const GpucolCpuFrame *f, uint32_t j, char *to)
{
	GpucolBytes a = string_or_none(f->a, j);
	GpucolBytes b = string_or_none(f->b, j);
	GpucolBytes c = string_or_none(f->c, j);

	to = gpucol_form_copy(to, a.data, a.len);
	if (!GPUCOL_CPU_NULL_AT(f->a, j) && !GPUCOL_CPU_NULL_AT(f->b, j))
		to = gpucol_form_copy(to, c.data, c.len);
	return gpucol_form_copy(to, b.data, b.len);
}

/* a, c and b; c between two only. */
GpucolStatus
gpucol_cpu_op_BOTH_S(GpucolCpuFrame *f)
{
	static const GpucolCpuMaker maker = {2, both_room, make_both};
	size_t		size = 1;
	char	   *to;

	both_nulls(f);
	if (gpucol_cpu_few_make(f, &maker))
		return GPUCOL_OK;
	for (uint32_t j = 0; j < f->n; j++)
		size += both_room(f, j);
	to = begin(f, size);
	if (to == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t j = 0; j < f->n; j++)
		to = finish(f, j, to, GPUCOL_CPU_NULL_AT(f->dst, j) ? to : make_both(f, j, to));
	return GPUCOL_OK;
}
