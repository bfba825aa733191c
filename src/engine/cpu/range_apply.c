/*-------------------------------------------------------------------------
 *
 * range_apply.c
 *	  Tests of range conjuncts, applied to the rows of a vector or of a delta batch.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "engine/cpu/range.h"
#include "kernel/bitpack.h"

#define POINT_ROWS 24			/* up to here, look rows up one by one */

/* One code against a test of kind CODES, MAP or CODE_SET. */
GPUCOL_CPU_INLINE bool
code_passes(const GpucolCpuTest *test, uint64_t code)
{
	if (test->kind == GPUCOL_CPU_TEST_CODES)
		return (code >= test->lo && code <= test->hi) != test->negate;
	if (test->kind == GPUCOL_CPU_TEST_MAP)
		return test->map[code] != 0;
	return (filter_passes(test, code) &&
			bsearch(&code, test->codes, test->ncodes, sizeof(uint64_t),
					gpucol_cpu_compare_codes) != NULL) != test->negate;
}

/* Few rows left: look their codes up one by one. */
static void
match_points(GpucolCpuWorker *worker, const GpucolCpuTest *test,
			 const void *words, uint32_t *match)
{
	int			width = test->column->desc->width;

	memset(match, 0, sizeof(worker->mask));
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
	{
		for (uint32_t bits = worker->mask[w]; bits != 0; bits &= bits - 1)
		{
			uint32_t	bit = (uint32_t) __builtin_ctz(bits);
			uint64_t	code = gpucol_bitpack_get(width, words, w * 32 + bit);

			match[w] |= (uint32_t) code_passes(test, code) << bit;
		}
	}
}

/* Gather 1,024 bytes of 0 or 1 into a bitmap. */
GPUCOL_CPU_CLONES static void
match_bytes(const uint8_t *bytes, uint32_t *match)
{
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
	{
		uint32_t	bits = 0;

		for (uint32_t i = 0; i < 32; i++)
			bits |= (uint32_t) bytes[w * 32 + i] << i;
		match[w] = bits;
	}
}

/* Codes below 32, by the bits of their verdicts: registers hold both. */
GPUCOL_CPU_CLONES static void
match_small_codes(uint32_t verdicts, const uint32_t *codes, uint32_t *match)
{
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
	{
		uint32_t	bits = 0;

		for (uint32_t i = 0; i < 32; i++)
			bits |= (verdicts >> codes[w * 32 + i] & 1) << i;
		match[w] = bits;
	}
}

/* Any codes, by a map, four at a time. */
static void
match_codes(const uint8_t *map, const uint32_t *codes, uint32_t *match)
{
	for (uint32_t w = 0; w < GPUCOL_LANES; w++, codes += 32)
	{
		uint32_t	bits = 0;

		for (uint32_t i = 0; i < 32; i += 4)
			bits |= (uint32_t) (map[codes[i]] | map[codes[i + 1]] << 1 | map[codes[i + 2]] << 2 |
								map[codes[i + 3]] << 3) << i;
		match[w] = bits;
	}
}

/* MAP: unpack and look each code up. */
static void
match_map(GpucolCpuWorker *worker, const GpucolCpuTest *test,
		  const void *words, uint32_t *match)
{
	int			width = test->column->desc->width;

	gpucol_bitpack_unpack32(width, words, worker->codes32);
	if (width <= GPUCOL_CPU_SMALL_WIDTH)
	{
		uint32_t	verdicts = 0;

		for (int i = 0; i < 1 << GPUCOL_CPU_SMALL_WIDTH; i++)
			verdicts |= (uint32_t) test->map[i] << i;
		match_small_codes(verdicts, worker->codes32, match);
	}
	else
		match_codes(test->map, worker->codes32, match);
}

/* CODE_SET: unpack, and search where the hash is in the list. */
static void
match_code_set(GpucolCpuWorker *worker, const GpucolCpuTest *test,
			   const void *words, uint32_t *match)
{
	uint8_t		bytes[GPUCOL_VECTOR_VALUES];

	gpucol_bitpack_unpack64(test->column->desc->width, words, worker->codes64);
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		bytes[i] = code_passes(test, worker->codes64[i]);
	match_bytes(bytes, match);
}

/* RUNS: paint the rows of each run. */
static void
match_runs(const GpucolCpuTest *test, uint32_t vector, uint32_t nrows,
		   uint32_t *match)
{
	const GpucolCpuColumn *column = test->column;
	uint32_t	row = vector * GPUCOL_VECTOR_VALUES;
	uint32_t	end = row + nrows;
	uint8_t		bytes[GPUCOL_VECTOR_VALUES] = {0};
	uint32_t	r = gpucol_cpu_column_run(column, row);
	uint32_t	at = 0;

	for (; row < end && r < column->nruns; r++)
	{
		uint32_t	stop = column->run_ends[r] < end ? column->run_ends[r] : end;

		memset(bytes + at, test->map[r], stop - row);
		at += stop - row;
		row = stop;
	}
	match_bytes(bytes, match);
}

/* ORDER: floats, decoded and placed in the order. */
GPUCOL_CPU_CLONES static void
match_order(const GpucolCpuDomain *domain, GpucolKind kind,
			const uint64_t *codes, uint32_t *match)
{
	uint8_t		bytes[GPUCOL_VECTOR_VALUES];

	if (domain->op == GPUCOL_CPU_SET)
	{
		for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
			bytes[i] = accepts(domain,
							   gpucol_cpu_range_order(kind, (int64_t) codes[i]));
	}
	else
	{
		int64_t		lo = domain->lo;
		int64_t		hi = domain->hi;
		bool		negate = domain->negate;

		for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		{
			int64_t		order = order_of_float(kind, (int64_t) codes[i]);

			bytes[i] = (uint8_t) ((order >= lo) & (order <= hi)) ^ negate;
		}
	}
	match_bytes(bytes, match);
}

/* ROWS: verdicts of the window. */
static void
match_rows(const GpucolCpuTest *test, uint32_t vector, uint32_t nrows,
		   uint32_t *match)
{
	const uint8_t *verdicts = test->host->verdicts +
		(vector * GPUCOL_VECTOR_VALUES - test->column->window_row);
	uint8_t		bytes[GPUCOL_VECTOR_VALUES] = {0};

	for (uint32_t i = 0; i < nrows; i++)
		bytes[i] = verdicts[i] == 1;
	match_bytes(bytes, match);
}

GPUCOL_CPU_CLONES uint32_t
gpucol_cpu_range_count(const uint32_t *mask)
{
	uint32_t	count = 0;

	for (int w = 0; w < GPUCOL_LANES; w += 2)
	{
		uint64_t	word;

		memcpy(&word, mask + w, sizeof(word));
		count += (uint32_t) __builtin_popcountll(word);
	}
	return count;
}

/* Keep the rows of the mask that match; `nulls` (if any) pass or fail apart. */
static void
keep_matches(GpucolCpuWorker *worker, const uint32_t *match, const uint32_t *nulls,
			 bool null_passes)
{
	uint32_t   *mask = worker->mask;

	if (nulls == NULL)
		for (int w = 0; w < GPUCOL_LANES; w++)
			mask[w] &= match[w];
	else if (null_passes)
		for (int w = 0; w < GPUCOL_LANES; w++)
			mask[w] &= match[w] | nulls[w];
	else
		for (int w = 0; w < GPUCOL_LANES; w++)
			mask[w] &= match[w] & ~nulls[w];
	worker->live = gpucol_cpu_range_count(mask);
}

/* CODES: the kernel, straight into the mask while every row is still in it. */
static void
apply_codes(GpucolCpuWorker *worker, const GpucolCpuTest *test, const void *words,
			const uint32_t *nulls)
{
	uint32_t	match[GPUCOL_LANES];
	int			width = test->column->desc->width;

	if (worker->live <= POINT_ROWS)
		match_points(worker, test, words, match);
	else if (worker->live == GPUCOL_VECTOR_VALUES && nulls == NULL && !test->negate)
	{
		worker->live = gpucol_bitpack_range(width, words, test->lo, test->hi,
											worker->mask);
		return;
	}
	else
	{
		gpucol_bitpack_range(width, words, test->lo, test->hi, match);
		for (int w = 0; w < GPUCOL_LANES && test->negate; w++)
			match[w] = ~match[w];
	}
	keep_matches(worker, match, nulls, test->null_passes);
}

/* Take the rows of a packed vector that fail the test out of worker->mask. */
void
gpucol_cpu_range_apply(GpucolCpuWorker *worker, const GpucolCpuTest *test,
					   const GpucolCpuVector *vector)
{
	const GpucolCpuColumn *column = test->column;
	uint32_t	match[GPUCOL_LANES];
	uint32_t	all[GPUCOL_LANES];
	const uint32_t *nulls = NULL;
	const void *words = NULL;

	if (test->has_nulls)
		nulls = gpucol_cpu_column_nulls(column, vector->number);
	if (test->kind == GPUCOL_CPU_TEST_CODES ||
		test->kind == GPUCOL_CPU_TEST_MAP ||
		test->kind == GPUCOL_CPU_TEST_CODE_SET ||
		test->kind == GPUCOL_CPU_TEST_ORDER)
		words = gpucol_cpu_column_packed(worker, column, vector->number);

	switch (test->kind)
	{
		case GPUCOL_CPU_TEST_ALWAYS:
			return;
		case GPUCOL_CPU_TEST_NEVER:
			memset(match, 0, sizeof(match));
			nulls = NULL;
			break;
		case GPUCOL_CPU_TEST_NULLS:
			keep_matches(worker, nulls, NULL, false);
			return;
		case GPUCOL_CPU_TEST_NOT_NULLS:
			memset(all, 0xff, sizeof(all));
			keep_matches(worker, all, nulls, false);
			return;
		case GPUCOL_CPU_TEST_CODES:
			apply_codes(worker, test, words, nulls);
			return;
		case GPUCOL_CPU_TEST_MAP:
			if (worker->live <= POINT_ROWS)
				match_points(worker, test, words, match);
			else
				match_map(worker, test, words, match);
			break;
		case GPUCOL_CPU_TEST_CODE_SET:
			if (worker->live <= 4 * POINT_ROWS)
				match_points(worker, test, words, match);
			else
				match_code_set(worker, test, words, match);
			break;
		case GPUCOL_CPU_TEST_RUNS:
			match_runs(test, vector->number, vector->nrows, match);
			break;
		case GPUCOL_CPU_TEST_ORDER:
			gpucol_cpu_column_unpack(column->desc, words,
									 (int64_t *) worker->codes64);
			match_order(test->domain, column->desc->kind, worker->codes64, match);
			break;
		case GPUCOL_CPU_TEST_ROWS:
			match_rows(test, vector->number, vector->nrows, match);
			break;
	}
	keep_matches(worker, match, nulls, test->null_passes);
}

/* The same for a delta batch. */
void
gpucol_cpu_range_apply_delta(GpucolCpuWorker *worker,
							 const GpucolCpuDomain *domain,
							 const GpucolCpuVector *vector)
{
	const GpucolDeltaColumn *column = &vector->delta->columns[domain->column];
	const GpucolRun *run = worker->run;

	for (uint32_t i = 0; i < vector->nrows; i++)
	{
		bool		isnull = column->nulls != NULL &&
			(column->nulls[i / 32] >> (i % 32) & 1);
		bool		pass = false;

		if (domain->op == GPUCOL_CPU_IS_NULL)
			pass = isnull;
		else if (domain->op == GPUCOL_CPU_HOST)
			pass = run->digest.hosts[domain->host].verdicts[i] == 1;
		else if (!isnull && domain->op == GPUCOL_CPU_NOT_NULL)
			pass = true;
		else if (!isnull && domain->op != GPUCOL_CPU_FALSE)
			pass = accepts(domain, gpucol_cpu_range_order(column->kind,
														  column->values[i]));
		if (!pass)
			worker->mask[i / 32] &= ~(UINT32_C(1) << (i % 32));
	}
	worker->live = gpucol_cpu_range_count(worker->mask);
}
