/*-------------------------------------------------------------------------
 *
 * expr_pattern.c
 *	  Parts of strings that patterns and separators find (kernel/text_pattern.h).
 *
 * A text is looked at once, but for the group, which is tried behind each possible end
 * of the head: there are few.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "kernel/text_pattern.h"
#include "kernel/text_search.h"

/* Copy a value of so many bytes out of an instruction's constants. */
static void
read_consts(const GpucolCpuFrame *f, void *value, size_t size)
{
	const GpucolConst *consts = &f->worker->run->code.consts[f->instr->b];
	char	   *to = value;

	for (size_t at = 0; at < size; at += 16)
		memcpy(to + at, &consts[at / 16].v.d, size - at < 16 ? size - at : 16);
}

/* The offsets at which the head may end, as bits. */
static uint64_t
head_ends(const GpucolTextPattern *pattern, GpucolBytes string)
{
	uint64_t	ends = 1;
	const uint8_t *piece = pattern->head;

	for (int i = 0; i < pattern->npieces && ends != 0; piece += pattern->pieces[i++])
	{
		size_t		len = pattern->pieces[i];
		uint64_t	next = pattern->optional >> i & 1 ? ends : 0;

		for (uint64_t left = ends; left != 0; left &= left - 1)
		{
			size_t		at = (size_t) __builtin_ctzll(left);

			if (string.len - at >= len && memcmp(string.data + at, piece, len) == 0)
				next |= UINT64_C(1) << (at + len);
		}
		ends = next;
	}
	return ends;
}

GPUCOL_CPU_INLINE bool
in_set(const uint64_t *set, char c)
{
	return (set[(unsigned char) c / 64] >> ((unsigned char) c % 64) & 1) != 0;
}

/*
 * The longest group that begins here and is followed by the tail: its end, or SIZE_MAX.  *run is
 * where the characters of the set end.
 */
static size_t
group_end(const GpucolTextPattern *pattern, GpucolBytes string, size_t begin, size_t *run)
{
	size_t		ntail = pattern->ntail;
	size_t		least = begin + pattern->least;
	size_t		end = begin;

	while (end < string.len && in_set(pattern->set, string.data[end]))
		end++;
	*run = end;
	if (string.len < ntail)
		return SIZE_MAX;
	if (end > string.len - ntail)
		end = string.len - ntail;
	if (!pattern->rest)
	{
		if (end < string.len - ntail)
			return SIZE_MAX;
		least = least > end ? least : end;
	}
	for (; end >= least; end--)
	{
		if (memcmp(string.data + end, pattern->tail, ntail) == 0)
			return end;
		if (end == 0)
			break;
	}
	return SIZE_MAX;
}

/*
 * The group of the first match within a text.  Where there is none behind a head, there is none
 * behind another before the end of the same run: what might follow its group was tried.
 */
static bool
find_anywhere(const GpucolTextPattern *pattern, GpucolBytes string, GpucolBytes *group)
{
	size_t		nhead = pattern->npieces > 0 ? pattern->pieces[0] : 0;
	size_t		begin = nhead;

	for (; begin <= string.len;)
	{
		size_t		run;
		size_t		end;

		if (nhead > 0)
		{
			const char *from = string.data + (begin - nhead);
			const char *found = gpucol_text_search(from, string.len - (begin - nhead),
												   (const char *) pattern->head, nhead);

			if (found == NULL)
				return false;
			begin = (size_t) (found - string.data) + nhead;
		}
		end = group_end(pattern, string, begin, &run);
		if (end != SIZE_MAX)
		{
			*group = (GpucolBytes) {string.data + begin, end - begin};
			return true;
		}
		begin = run + 1;
	}
	return false;
}

/* The group of a text that matches. */
static bool
find_group(const GpucolTextPattern *pattern, GpucolBytes string, GpucolBytes *group)
{
	size_t		run;

	if (pattern->anywhere)
		return find_anywhere(pattern, string, group);
	for (uint64_t ends = head_ends(pattern, string); ends != 0;)
	{
		int			begin = 63 - __builtin_clzll(ends);
		size_t		end = group_end(pattern, string, (size_t) begin, &run);

		if (end != SIZE_MAX)
		{
			*group = (GpucolBytes) {string.data + begin, end - (size_t) begin};
			return true;
		}
		ends &= ~(UINT64_C(1) << begin);
	}
	return false;
}

GpucolStatus
gpucol_cpu_op_MATCH_S(GpucolCpuFrame *f)
{
	bool		or_null = (f->instr->aux & GPUCOL_TEXT_OR_NULL) != 0;
	GpucolTextPattern pattern;

	read_consts(f, &pattern, sizeof(pattern));
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	if (or_null && f->dst->nulls == NULL)
	{
		memset(f->dst->null_space, 0, f->n);
		f->dst->nulls = f->dst->null_space;
	}
	f->dst->coded = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolBytes *part = &f->dst->v.s[j];

		*part = (GpucolBytes) {"", 0};
		if (GPUCOL_CPU_NULL_AT(f->a, j))
			continue;
		*part = gpucol_cpu_op_string(f->a, j);
		if (!find_group(&pattern, *part, part) && or_null)
			f->dst->null_space[j] = 1;
	}
	return GPUCOL_OK;
}

/* Where the next separator is at or after `from`, or NULL. */
GPUCOL_CPU_INLINE const char *
next_separator(const GpucolTextSeparator *separator, const char *from, const char *end)
{
	while ((size_t) (end - from) >= separator->len &&
		   (from = memchr(from, separator->bytes[0], (size_t) (end - from) - separator->len + 1u)) != NULL)
	{
		if (memcmp(from, separator->bytes, separator->len) == 0)
			return from;
		from++;
	}
	return NULL;
}

/* Field number n of a text, from 1, or from -1 for the last. */
static GpucolBytes
find_field(const GpucolTextSeparator *separator, GpucolBytes string, int64_t n)
{
	const char *end = string.data + string.len;
	const char *from = string.data;
	const char *found;

	if (n < 0)
	{
		n++;
		for (const char *at = from; (at = next_separator(separator, at, end)) != NULL; at += separator->len)
			n++;
		n++;
	}
	while ((found = next_separator(separator, from, end)) != NULL && n > 1)
	{
		from = found + separator->len;
		n--;
	}
	if (n != 1)
		return (GpucolBytes) {"", 0};
	return (GpucolBytes) {from, (size_t) ((found != NULL ? found : end) - from)};
}

GpucolStatus
gpucol_cpu_op_FIELD_S(GpucolCpuFrame *f)
{
	GpucolTextSeparator separator;

	read_consts(f, &separator, sizeof(separator));
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	f->dst->coded = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.s[j] = GPUCOL_CPU_NULL_AT(f->a, j) ? (GpucolBytes) {"", 0} :
			find_field(&separator, gpucol_cpu_op_string(f->a, j), f->instr->aux);
	return GPUCOL_OK;
}
