/*-------------------------------------------------------------------------
 *
 * expr_text.c
 *	  Operations on byte strings: lengths, comparisons, and parts of strings, which are
 *	  where the string is.
 *
 * Characters are those of UTF-8, which is valid wherever PostgreSQL stores it: each has one
 * byte that does not continue another.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"

/* Does a byte begin a character? */
GPUCOL_CPU_INLINE bool
begins(char byte)
{
	return ((unsigned char) byte & 0xc0) != 0x80;
}

/* The number of characters: eight bytes at a time, less those that continue one, which each byte of `sums` counts. */
static int64_t
count_characters(const char *data, size_t len)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	int64_t		n = (int64_t) len;

	while (len >= 8)
	{
		uint64_t	sums = 0;

		for (int i = 0; i < 31 && len >= 8; i++, len -= 8, data += 8)
		{
			uint64_t	word;

			memcpy(&word, data, 8);
			sums += word >> 7 & ~word >> 6 & ones;
		}
		/* at most 248 in all */
		n -= (int64_t) (sums * ones >> 56);
	}
	for (size_t i = 0; i < len; i++)
		n -= !begins(data[i]);
	return n;
}

/*
 * The characters of an entry of a segment's dictionary: counted once, whoever of the threads
 * is first.
 */
GPUCOL_CPU_INLINE int64_t
entry_characters(const GpucolCpuColumn *column, uint32_t code)
{
	_Atomic uint32_t *known = &column->lengths[code];
	uint32_t	n = atomic_load_explicit(known, memory_order_relaxed);

	if (n == 0)
	{
		n = (uint32_t) count_characters(column->entries[code].data, column->entries[code].len) + 1;
		atomic_store_explicit(known, n, memory_order_relaxed);
	}
	return (int64_t) n - 1;
}

/* The bytes of the first n characters. */
static size_t
skip_characters(GpucolBytes string, int64_t n)
{
	size_t		at = 0;

	for (; n > 0 && at < string.len; n--)
		do
			at++;
		while (at < string.len && !begins(string.data[at]));
	return at;
}

/* The bytes before the last n characters. */
static size_t
skip_back(GpucolBytes string, int64_t n)
{
	size_t		at = string.len;

	for (; n > 0 && at > 0; n--)
		do
			at--;
		while (at > 0 && !begins(string.data[at]));
	return at;
}

/* The same where every byte is a character. */
GPUCOL_CPU_INLINE size_t
skip_bytes(size_t len, int64_t n)
{
	return (uint64_t) n < len ? (size_t) n : len;
}

GpucolStatus
gpucol_cpu_op_LENGTH_S(GpucolCpuFrame *f)
{
	bool		characters = (f->instr->aux & GPUCOL_TEXT_BYTES) == 0;

	bool		entries = characters && f->a->coded && f->a->column->lengths != NULL;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		if (GPUCOL_CPU_NULL_AT(f->a, j))
			f->dst->v.i[j] = 0;
		else if (entries)
			f->dst->v.i[j] = entry_characters(f->a->column, f->a->codes[j]);
		else
		{
			GpucolBytes string = gpucol_cpu_op_string(f->a, j);

			f->dst->v.i[j] = characters ? count_characters(string.data, string.len) : (int64_t) string.len;
		}
	}
	return GPUCOL_OK;
}

/* The part of a string that an instruction wants. */
GPUCOL_CPU_INLINE GpucolBytes
part_of(GpucolBytes string, int aux, int64_t from, int64_t count)
{
	bool		bytes = (aux & GPUCOL_TEXT_BYTES) != 0;
	size_t		begin = 0;

	if (aux & (GPUCOL_TEXT_LAST | GPUCOL_TEXT_ALL_BUT_LAST))
	{
		begin = bytes ? string.len - skip_bytes(string.len, from) : skip_back(string, from);
		if (aux & GPUCOL_TEXT_ALL_BUT_LAST)
			return (GpucolBytes) {string.data, begin};
	}
	else
		begin = bytes ? skip_bytes(string.len, from) : skip_characters(string, from);
	string.data += begin;
	string.len -= begin;
	string.len = bytes ? skip_bytes(string.len, count) : skip_characters(string, count);
	return string;
}

GpucolStatus
gpucol_cpu_op_PART_S(GpucolCpuFrame *f)
{
	const GpucolConst *consts = f->worker->run->code.consts;
	int64_t		from = consts[f->instr->b].v.i;
	int64_t		count = consts[f->instr->c].v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	f->dst->coded = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.s[j] = GPUCOL_CPU_NULL_AT(f->a, j) ? (GpucolBytes) {"", 0} :
			part_of(gpucol_cpu_op_string(f->a, j), f->instr->aux, from, count);
	return GPUCOL_OK;
}

/* Are the strings of two registers the same at row j? */
GPUCOL_CPU_INLINE bool
same_at(const GpucolCpuReg *a, const GpucolCpuReg *b, uint32_t j)
{
	GpucolBytes x = gpucol_cpu_op_string(a, j);
	GpucolBytes y = gpucol_cpu_op_string(b, j);

	return x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
}

GPUCOL_CPU_INLINE bool
less_at(const GpucolCpuReg *a, const GpucolCpuReg *b, uint32_t j)
{
	GpucolBytes x = gpucol_cpu_op_string(a, j);
	GpucolBytes y = gpucol_cpu_op_string(b, j);
	int			order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);

	return order < 0 || (order == 0 && x.len < y.len);
}

/* A comparison, of the rows where neither is NULL. */
#define OP_COMPARE_S(NAME, TEST) \
	GpucolStatus \
	gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
	{ \
		gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
		for (uint32_t j = 0; j < f->n; j++) \
			f->dst->v.b[j] = !GPUCOL_CPU_NULL_AT(f->dst, j) && TEST(f->a, f->b, j); \
		return GPUCOL_OK; \
	}

OP_COMPARE_S(EQ_S, same_at)
OP_COMPARE_S(LT_S, less_at)
