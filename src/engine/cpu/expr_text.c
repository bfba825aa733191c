/*-------------------------------------------------------------------------
 *
 * expr_text.c
 *	  Operations on byte strings: lengths, comparisons, parts of strings, which are
 *	  where the string is (kernel/text_part.h), what the host has made of them, and what it
 *	  says of strings that are no column's.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "engine/cpu/few.h"
#include "kernel/text_part.h"

#define TESTED	256				/* strings that the host is asked about at a time */

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
		n = (uint32_t) gpucol_text_characters(column->entries[code].data, column->entries[code].len) + 1;
		atomic_store_explicit(known, n, memory_order_relaxed);
	}
	return (int64_t) n - 1;
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

			f->dst->v.i[j] = characters ? gpucol_text_characters(string.data, string.len) : (int64_t) string.len;
		}
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_op_PART_S(GpucolCpuFrame *f)
{
	const GpucolConst *consts = f->worker->run->code.consts;
	GpucolTextPart part = {f->instr->aux, consts[f->instr->b].v.i, consts[f->instr->c].v.i};

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	f->dst->coded = false;
	f->dst->column = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.s[j] = GPUCOL_CPU_NULL_AT(f->a, j) ? (GpucolBytes) {"", 0} :
			gpucol_text_part(gpucol_cpu_op_string(f->a, j), part);
	return GPUCOL_OK;
}

/*
 * The values that the host has made of a column's (host.c): codes stay codes, of the column that
 * has these as its dictionary, unless one of NULL is a value.
 */
GpucolStatus
gpucol_cpu_op_HOST_MAP(GpucolCpuFrame *f)
{
	const GpucolCpuWorker *worker = f->worker;
	const GpucolCpuReg *a = f->a;
	GpucolCpuReg *dst = f->dst;
	const GpucolCpuHostTest *test = worker->run->digest.hosts;
	uint32_t	base = 0;

	while (test->id != f->instr->aux || test->column != a->column->slot)
		test++;
	if (f->vector->delta == NULL && test->by_row)
		base = f->vector->number * GPUCOL_VECTOR_VALUES - a->column->window_row;
	dst->coded = a->coded && (a->nulls == NULL || test->null_verdict == 2);
	dst->words = false;
	dst->column = &test->mapped->column;
	dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		bool		null = a->coded && GPUCOL_CPU_NULL_AT(a, j);
		uint32_t	at = a->coded ? a->codes[j] : base + (worker->full ? j : worker->sel[j]);
		uint8_t		made = null ? test->null_verdict : test->verdicts[at];

		if (dst->coded)
			dst->codes[j] = a->codes[j];
		else
			dst->v.s[j] = made != 1 ? (GpucolBytes) {"", 0} : null ? test->mapped->of_null : test->mapped->values[at];
		dst->null_space[j] = made != 1;
		if (made != 1)
			dst->nulls = dst->null_space;
	}
	return GPUCOL_OK;
}

/* The host's verdicts on the strings of all rows, of elements of arrays too. */
static void
test_all(const GpucolCpuFrame *f, uint8_t *verdicts)
{
	const GpucolHost *host = f->worker->run->host;
	GpucolBytes values[TESTED];
	bool		isnull[TESTED];

	for (uint32_t from = 0; from < f->n; from += TESTED)
	{
		uint32_t	n = f->n - from < TESTED ? f->n - from : TESTED;

		for (uint32_t j = 0; j < n; j++)
		{
			isnull[j] = GPUCOL_CPU_NULL_AT(f->a, from + j);
			values[j] = isnull[j] ? (GpucolBytes) {"", 0} : gpucol_cpu_op_string(f->a, from + j);
		}
		host->test(host->context, f->instr->aux, (int) n, values, isnull, verdicts + from);
	}
}

/* Verdicts as a condition's values. */
static void
take_verdicts(GpucolCpuReg *dst, const uint8_t *verdicts, uint32_t n)
{
	uint8_t    *restrict rs = dst->v.b;
	uint8_t    *restrict nulls = dst->null_space;
	uint8_t		any = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		rs[j] = verdicts[j] == 1;
		nulls[j] = verdicts[j] == 2;
		any |= nulls[j];
	}
	dst->nulls = any ? nulls : NULL;
}

GpucolStatus
gpucol_cpu_op_HOST_EACH(GpucolCpuFrame *f)
{
	const GpucolHost *host = f->worker->run->host;
	static const GpucolBytes nothing = {"", 0};
	static const bool isnull = true;
	uint8_t		verdicts[GPUCOL_VECTOR_VALUES];
	uint8_t		null_verdict;

	if (host == NULL || host->any_thread == NULL || !host->any_thread(host->context, f->instr->aux))
		return GPUCOL_UNSUPPORTED;
	host->test(host->context, f->instr->aux, 1, &nothing, &isnull, &null_verdict);
	if (!gpucol_cpu_few_test(f, null_verdict, verdicts))
		test_all(f, verdicts);
	take_verdicts(f->dst, verdicts, f->n);
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
