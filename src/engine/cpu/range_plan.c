/*-------------------------------------------------------------------------
 *
 * range_plan.c
 *	  A conjunct as a test on the codes of one chunk (GpucolCpuTest).
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>

#include "engine/cpu/arrays.h"
#include "engine/cpu/host.h"
#include "engine/cpu/range.h"
#include "kernel/bitpack.h"

#define FILTER_BITS 16			/* of codes wider than a map's, hashes of those in the list:
								 * bits of a hash, more for a long list, */
#define FILTER_ROOM 16			/* which has so many values for each code */

/* Every non-null row passes, or none does. */
static void
plan_all(GpucolCpuTest *test, bool pass)
{
	if (!pass)
		test->kind = test->null_passes && test->has_nulls ?
			GPUCOL_CPU_TEST_NULLS : GPUCOL_CPU_TEST_NEVER;
	else
		test->kind = test->has_nulls && !test->null_passes ?
			GPUCOL_CPU_TEST_NOT_NULLS : GPUCOL_CPU_TEST_ALWAYS;
}

/*
 * Turn test->map over n codes into the cheapest equal test: an interval where
 * the codes that pass (or those that fail) are contiguous.
 */
static void
plan_map(GpucolCpuTest *test, uint32_t n)
{
	uint32_t	changes = 0;
	uint32_t	first = 0;
	uint32_t	last = n;

	for (uint32_t i = 1; i < n; i++)
	{
		if (test->map[i] != test->map[i - 1])
		{
			if (changes++ == 0)
				first = i;
			last = i;
		}
	}
	if (changes == 0)
		plan_all(test, test->map[0] != 0);
	else if (changes <= 2)
	{
		test->kind = GPUCOL_CPU_TEST_CODES;
		test->negate = changes == 2 && test->map[0];
		if (changes == 2)
		{
			test->lo = first;
			test->hi = last - 1;
		}
		else
		{
			test->lo = test->map[0] ? 0 : first;
			test->hi = test->map[0] ? first - 1 : UINT64_MAX;
		}
	}
	else
		test->kind = GPUCOL_CPU_TEST_MAP;
}

/* A byte for each code of the chunk's width, all false; and as many as match_small_codes() takes. */
static bool
make_map(GpucolRun *run, GpucolCpuTest *test, size_t n)
{
	const size_t small = (size_t) 1 << GPUCOL_CPU_SMALL_WIDTH;

	test->map = gpucol_cpu_alloc0(run, n < small ? small : n + 1);
	return test->map != NULL;
}

/* DICT of fixed-width values: test each entry. */
static GpucolStatus
plan_dict(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolCpuColumn *column = test->column;
	GpucolKind	kind = column->desc->kind;

	if (!make_map(run, test, (size_t) 1 << column->desc->width))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < column->ndict; i++)
		test->map[i] = accepts(test->domain,
							   gpucol_cpu_range_order(kind, column->dict[i]));
	plan_map(test, column->ndict);
	return GPUCOL_OK;
}

/* RLE: test each run. */
static GpucolStatus
plan_runs(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolCpuColumn *column = test->column;
	GpucolKind	kind = column->desc->kind;

	if (!make_map(run, test, column->nruns))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < column->nruns; i++)
		test->map[i] = accepts(test->domain,
							   gpucol_cpu_range_order(kind, column->run_values[i]));
	test->kind = GPUCOL_CPU_TEST_RUNS;
	return GPUCOL_OK;
}

/*
 * Position in the order of a code.  FOR, STEP and SCALED codings grow with the
 * code, which makes every interval of values an interval of codes.
 */
static int64_t
order_of_code(const GpucolChunkDesc *desc, uint64_t code)
{
	uint64_t	step = desc->coding == GPUCOL_CODING_STEP ? desc->step : 1;
	int64_t		value = (int64_t) ((uint64_t) desc->reference + code * step);

	if (desc->coding == GPUCOL_CODING_SCALED)
		return gpucol_float_order(gpucol_cpu_column_scaled(desc->kind, value, desc->scale));
	return value;
}

/* Least code whose position is >= order; max + 1 if there is none. */
static uint64_t
first_code(const GpucolChunkDesc *desc, int64_t order, uint64_t max)
{
	uint64_t	lo = 0;
	uint64_t	hi = max;

	if (desc->coding == GPUCOL_CODING_FOR || desc->coding == GPUCOL_CODING_STEP)
	{
		if (order <= desc->reference)
			return 0;
		lo = (uint64_t) order - (uint64_t) desc->reference;
		if (desc->coding == GPUCOL_CODING_STEP)
			lo = lo / desc->step + (lo % desc->step != 0);
		return lo > max ? max + 1 : lo;
	}
	if (order_of_code(desc, max) < order)
		return max + 1;
	while (lo < hi)
	{
		uint64_t	middle = lo + (hi - lo) / 2;

		if (order_of_code(desc, middle) < order)
			lo = middle + 1;
		else
			hi = middle;
	}
	return lo;
}

/* FOR, STEP, SCALED and an interval. */
static void
plan_codes(GpucolCpuTest *test)
{
	const GpucolChunkDesc *desc = test->column->desc;
	uint64_t	max = gpucol_bitpack_max(desc->width);
	uint64_t	lo = first_code(desc, test->domain->lo, max);
	uint64_t	hi = max;

	if (max < UINT64_MAX && lo > max)
	{
		plan_all(test, test->domain->negate);
		return;
	}
	if (test->domain->hi < INT64_MAX)
	{
		hi = first_code(desc, test->domain->hi + 1, max);
		if (hi == 0 && max == UINT64_MAX &&
			order_of_code(desc, 0) <= test->domain->hi)
			hi = max;
		else if (hi == 0)
		{
			plan_all(test, test->domain->negate);
			return;
		}
		else
			hi--;
	}
	if (lo > hi)
		plan_all(test, test->domain->negate);
	else if (lo == 0 && hi >= max)
		plan_all(test, !test->domain->negate);
	else
	{
		test->kind = GPUCOL_CPU_TEST_CODES;
		test->negate = test->domain->negate;
		test->lo = lo;
		test->hi = hi;
	}
}

/* CODE_SET: a bitmap of hashes, so that few codes are searched for. */
static GpucolStatus
make_filter(GpucolRun *run, GpucolCpuTest *test)
{
	int			bits = FILTER_BITS;

	while ((UINT64_C(1) << bits) / FILTER_ROOM < test->ncodes)
		bits++;
	if (!make_map(run, test, (size_t) 1 << (bits - 3)))
		return GPUCOL_OUT_OF_MEMORY;
	test->filter_shift = 64 - bits;
	for (uint32_t i = 0; i < test->ncodes; i++)
	{
		uint64_t	hash = filter_hash(test, test->codes[i]);

		test->map[hash / 8] |= (uint8_t) (1 << hash % 8);
	}
	return GPUCOL_OK;
}

/* FOR or STEP and a list: the list in code space. */
static GpucolStatus
plan_code_set(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolCpuDomain *domain = test->domain;
	const GpucolChunkDesc *desc = test->column->desc;
	uint64_t	max = gpucol_bitpack_max(desc->width);
	uint64_t	step = desc->coding == GPUCOL_CODING_STEP ? desc->step : 1;

	test->codes = gpucol_cpu_alloc(run, sizeof(uint64_t) * domain->nset);
	if (test->codes == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	test->ncodes = 0;
	for (uint32_t i = 0; i < domain->nset; i++)
	{
		uint64_t	offset = (uint64_t) domain->set[i] - (uint64_t) desc->reference;

		if (domain->set[i] >= desc->reference && offset % step == 0 &&
			offset / step <= max)
			test->codes[test->ncodes++] = offset / step;
	}
	if (test->ncodes == 0)
		plan_all(test, domain->negate);
	else if (desc->width <= GPUCOL_CPU_MAP_BITS)
	{
		if (!make_map(run, test, (size_t) 1 << desc->width))
			return GPUCOL_OUT_OF_MEMORY;
		memset(test->map, domain->negate, (size_t) 1 << desc->width);
		for (uint32_t i = 0; i < test->ncodes; i++)
			test->map[test->codes[i]] = !domain->negate;
		plan_map(test, UINT32_C(1) << desc->width);
	}
	else
	{
		test->kind = GPUCOL_CPU_TEST_CODE_SET;
		test->negate = domain->negate;
		return make_filter(run, test);
	}
	return GPUCOL_OK;
}

/* Host predicate whose turns are known. */
static GpucolStatus
plan_turns(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolCpuHostTest *host = test->host;
	const GpucolChunkDesc *desc = test->column->desc;

	if (host->nturns == 0 || desc->width == 0)
		plan_all(test, host->first);
	else if (host->nturns == 1)
	{
		test->kind = GPUCOL_CPU_TEST_CODES;
		test->lo = host->first ? 0 : host->turns[0];
		test->hi = host->first ? host->turns[0] - 1 : UINT64_MAX;
	}
	else if (host->nturns == 2)
	{
		test->kind = GPUCOL_CPU_TEST_CODES;
		test->negate = host->first;
		test->lo = host->turns[0];
		test->hi = host->turns[1] - 1;
	}
	else
	{
		if (!make_map(run, test, (size_t) 1 << desc->width))
			return GPUCOL_OUT_OF_MEMORY;
		gpucol_cpu_cuts_fill(host, desc->ndict, test->map);
		test->kind = GPUCOL_CPU_TEST_MAP;
	}
	return GPUCOL_OK;
}

/* Host predicate: verdicts by entry or by row were asked for already. */
static GpucolStatus
plan_host(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolCpuColumn *column = test->column;
	const GpucolCpuHostTest *host = &run->digest.hosts[test->domain->host];

	test->host = host;
	test->null_passes = host->null_verdict == 1;
	if (host->by_row)
	{
		test->kind = host->arrays != NULL && gpucol_cpu_arrays_never(host) ? GPUCOL_CPU_TEST_NEVER :
			GPUCOL_CPU_TEST_ROWS;
		test->has_nulls = false;	/* the verdicts know */
		return GPUCOL_OK;
	}
	if (host->in_order)
		return plan_turns(run, test);
	if (column->desc->coding == GPUCOL_CODING_CONSTANT)
	{
		plan_all(test, host->verdicts[0] == 1);
		return GPUCOL_OK;
	}
	if (!make_map(run, test, (size_t) 1 << column->desc->width))
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < column->ndict; i++)
		test->map[i] = host->verdicts[i] == 1;
	plan_map(test, column->ndict);
	return GPUCOL_OK;
}

/* Choose the test by the chunk's coding. */
static GpucolStatus
plan_coding(GpucolRun *run, GpucolCpuTest *test)
{
	const GpucolChunkDesc *desc = test->column->desc;

	switch ((GpucolCoding) desc->coding)
	{
		case GPUCOL_CODING_CONSTANT:
			plan_all(test, accepts(test->domain,
								   gpucol_cpu_range_order(desc->kind,
														  desc->reference)));
			return GPUCOL_OK;
		case GPUCOL_CODING_DICT:
			return plan_dict(run, test);
		case GPUCOL_CODING_RLE:
			return plan_runs(run, test);
		case GPUCOL_CODING_FOR:
		case GPUCOL_CODING_STEP:
			if (test->domain->op == GPUCOL_CPU_SET)
				return plan_code_set(run, test);
			plan_codes(test);
			return GPUCOL_OK;
		case GPUCOL_CODING_SCALED:
			if (test->domain->op == GPUCOL_CPU_SET)
				test->kind = GPUCOL_CPU_TEST_ORDER;
			else
				plan_codes(test);
			return GPUCOL_OK;
		case GPUCOL_CODING_RAW:
			test->kind = GPUCOL_CPU_TEST_ORDER;
			return GPUCOL_OK;
		default:
			return GPUCOL_CORRUPT;
	}
}

/*
 * Translate a conjunct for the current segment, whose dictionaries and host
 * verdicts are there.  The test's map and codes are its own.
 */
GpucolStatus
gpucol_cpu_range_plan(GpucolRun *run, const GpucolCpuDomain *domain,
					  GpucolCpuTest *test)
{
	static const int costs[] = {
		[GPUCOL_CPU_TEST_NULLS] = 1,[GPUCOL_CPU_TEST_NOT_NULLS] = 1,
		[GPUCOL_CPU_TEST_CODES] = 10,[GPUCOL_CPU_TEST_ROWS] = 12,
		[GPUCOL_CPU_TEST_RUNS] = 20,[GPUCOL_CPU_TEST_MAP] = 100,
		[GPUCOL_CPU_TEST_ORDER] = 150,[GPUCOL_CPU_TEST_CODE_SET] = 200,
	};
	GpucolCpuColumn *column = &run->input.cols[domain->column];
	const GpucolChunkDesc *desc = column->desc;
	GpucolStatus status = GPUCOL_OK;

	memset(test, 0, sizeof(*test));
	test->domain = domain;
	test->column = column;
	test->has_nulls = (desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
	if (domain->op == GPUCOL_CPU_FALSE)
		test->kind = GPUCOL_CPU_TEST_NEVER;
	else if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		test->kind = domain->op == GPUCOL_CPU_IS_NULL ||
			(domain->op == GPUCOL_CPU_HOST &&
			 run->digest.hosts[domain->host].null_verdict == 1) ?
			GPUCOL_CPU_TEST_ALWAYS : GPUCOL_CPU_TEST_NEVER;
	else if (domain->op == GPUCOL_CPU_IS_NULL)
		test->kind = test->has_nulls ?
			GPUCOL_CPU_TEST_NULLS : GPUCOL_CPU_TEST_NEVER;
	else if (domain->op == GPUCOL_CPU_NOT_NULL)
		plan_all(test, true);
	else if (domain->op == GPUCOL_CPU_HOST)
		status = plan_host(run, test);
	else if ((desc->flags & GPUCOL_CHUNK_HAS_ZONE) &&
			 (domain->negate ?
			  !touches(domain, desc->zone.min, desc->zone.max) :
			  covers(domain, desc->zone.min, desc->zone.max)))
		plan_all(test, true);
	else
		status = plan_coding(run, test);
	test->cost = costs[test->kind] + desc->width / 4;
	return status;
}
