/*-------------------------------------------------------------------------
 *
 * range.c
 *	  Range conjuncts on packed codes.
 *
 * A conjunct is understood twice.  Once for the run, as a set of values in the
 * int64 order of the column's domain (GpucolCpuDomain): every kind and every
 * form of BETWEEN and IN becomes an interval or an ascending list.  Once for
 * each segment, as a test on the chunk's codes (GpucolCpuTest): frame of
 * reference and scaled floats by moving the interval's ends into code space,
 * dictionaries and runs by testing each entry once.  What remains for a vector
 * is a comparison of packed codes with two bounds (gpucol_bitpack_range) or a
 * look-up in a byte map, whatever the type was.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <stdlib.h>

#include "engine/cpu/cpu.h"
#include "kernel/bitpack.h"
#include "kernel/float_order.h"

#define POINT_ROWS 24			/* up to here, look rows up one by one */
#define MAP_BITS 16				/* widest code that an IN list maps by byte */
#define FILTER_BITS 16			/* of wider codes, hashes of those in the list: bits of a
								 * hash, more for a long list, */
#define FILTER_ROOM 16			/* which has so many values for each code */

/* Position of a float's 64-bit form in PostgreSQL's order. */
GPUCOL_CPU_INLINE int64_t
order_of_float(GpucolKind kind, int64_t bits)
{
	return gpucol_float_order(gpucol_float_value(kind, bits));
}

/* Position of a 64-bit form of any kind in its domain's order. */
int64_t
gpucol_cpu_range_order(GpucolKind kind, int64_t value)
{
	return gpucol_kind_is_float(kind) ? order_of_float(kind, value) : value;
}

/*
 * Position of a constant.  Decimals beyond int64 return false and the end
 * where they lie in *order.
 */
static bool
order_of_const(GpucolKind kind, const GpucolConst *value, int64_t *order)
{
	if (gpucol_kind_is_float(kind))
		*order = gpucol_float_order(value->v.f);
	else if (kind == GPUCOL_KIND_DECIMAL && value->cls == GPUCOL_CLASS_D)
	{
		if (value->v.d.hi != ((int64_t) value->v.d.lo >> 63))
		{
			*order = value->v.d.hi < 0 ? INT64_MIN : INT64_MAX;
			return false;
		}
		*order = (int64_t) value->v.d.lo;
	}
	else
		*order = value->v.i;
	return true;
}

static int
compare_int64(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

static int
compare_uint64(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

/* Fill an INTERVAL from the range's two constants. */
static void
init_interval(GpucolRun *run, const GpucolRange *range, GpucolKind kind,
			  GpucolCpuDomain *domain)
{
	bool		empty = false;

	domain->op = GPUCOL_CPU_INTERVAL;
	domain->lo = INT64_MIN;
	domain->hi = INT64_MAX;
	if (range->lo != GPUCOL_NO_REG)
	{
		const GpucolConst *value = &run->consts[range->lo];

		if (value->isnull)
			domain->op = GPUCOL_CPU_FALSE;
		else if (!order_of_const(kind, value, &domain->lo))
			empty |= domain->lo == INT64_MAX;
		else if (range->flags & GPUCOL_RANGE_LO_OPEN)
		{
			empty |= domain->lo == INT64_MAX;
			domain->lo += !empty;
		}
	}
	if (range->hi != GPUCOL_NO_REG)
	{
		const GpucolConst *value = &run->consts[range->hi];

		if (value->isnull)
			domain->op = GPUCOL_CPU_FALSE;
		else if (!order_of_const(kind, value, &domain->hi))
			empty |= domain->hi == INT64_MIN;
		else if (range->flags & GPUCOL_RANGE_HI_OPEN)
		{
			empty |= domain->hi == INT64_MIN;
			domain->hi -= domain->hi != INT64_MIN;
		}
	}
	if (domain->op == GPUCOL_CPU_FALSE)
		return;
	if (empty || domain->lo > domain->hi)
		domain->op = domain->negate ? GPUCOL_CPU_NOT_NULL : GPUCOL_CPU_FALSE;
	else if (domain->lo == INT64_MIN && domain->hi == INT64_MAX)
		domain->op = domain->negate ? GPUCOL_CPU_FALSE : GPUCOL_CPU_NOT_NULL;
}

/* Fill a SET from the range's list of constants. */
static GpucolStatus
init_set(GpucolRun *run, const GpucolRange *range, GpucolKind kind,
		 GpucolCpuDomain *domain)
{
	domain->op = GPUCOL_CPU_SET;
	domain->set = gpucol_cpu_alloc(run, sizeof(int64_t) * (range->n + 1));
	if (domain->set == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < range->n; i++)
	{
		const GpucolConst *value = &run->consts[range->lo + i];

		if (value->isnull)
		{
			domain->op = GPUCOL_CPU_FALSE;
			return GPUCOL_OK;
		}
		if (order_of_const(kind, value, &domain->set[domain->nset]))
			domain->nset++;
	}
	qsort(domain->set, domain->nset, sizeof(int64_t), compare_int64);
	if (domain->nset == 0)
		domain->op = domain->negate ? GPUCOL_CPU_NOT_NULL : GPUCOL_CPU_FALSE;
	else
	{
		domain->lo = domain->set[0];
		domain->hi = domain->set[domain->nset - 1];
	}
	return GPUCOL_OK;
}

/* Index of the (predicate, column) pair among run->hosts, -1 if absent. */
static int
find_host(const GpucolRun *run, int id, uint16_t column)
{
	for (int i = 0; i < run->nhosts; i++)
		if (run->hosts[i].id == id && run->hosts[i].column == column)
			return i;
	return -1;
}

/* Digest the program's ranges into run->domains. */
GpucolStatus
gpucol_cpu_range_init(GpucolRun *run)
{
	int			n = run->program->nranges;

	run->domains = gpucol_cpu_alloc0(run, sizeof(GpucolCpuDomain) * (size_t) (n + 1));
	run->tests = gpucol_cpu_alloc0(run, sizeof(GpucolCpuTest) * (size_t) (n + 1));
	if (run->domains == NULL || run->tests == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < n; i++)
	{
		const GpucolRange *range = &run->ranges[i];
		GpucolCpuDomain *domain = &run->domains[i];
		GpucolKind	kind = run->columns[range->column].kind;
		GpucolStatus status = GPUCOL_OK;

		domain->column = range->column;
		domain->negate = range->op == GPUCOL_RANGE_NOT_BETWEEN ||
			range->op == GPUCOL_RANGE_NOT_IN;
		switch ((GpucolRangeOp) range->op)
		{
			case GPUCOL_RANGE_BETWEEN:
			case GPUCOL_RANGE_NOT_BETWEEN:
				init_interval(run, range, kind, domain);
				break;
			case GPUCOL_RANGE_IN:
			case GPUCOL_RANGE_NOT_IN:
				status = init_set(run, range, kind, domain);
				break;
			case GPUCOL_RANGE_IS_NULL:
				domain->op = GPUCOL_CPU_IS_NULL;
				break;
			case GPUCOL_RANGE_IS_NOT_NULL:
				domain->op = GPUCOL_CPU_NOT_NULL;
				break;
			case GPUCOL_RANGE_HOST:
				domain->op = GPUCOL_CPU_HOST;
				domain->host = find_host(run, (int) range->n, range->column);
				break;
			default:
				return GPUCOL_UNSUPPORTED;
		}
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* Index of the first of n ascending values that is >= x. */
static uint32_t
lower_bound(const int64_t *values, uint32_t n, int64_t x)
{
	uint32_t	lo = 0;

	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (values[lo + half] < x)
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

/* Does the domain accept a non-null value at this position of the order? */
static bool
accepts(const GpucolCpuDomain *domain, int64_t order)
{
	bool		inside = order >= domain->lo && order <= domain->hi;

	if (inside && domain->op == GPUCOL_CPU_SET)
	{
		uint32_t	at = lower_bound(domain->set, domain->nset, order);

		inside = at < domain->nset && domain->set[at] == order;
	}
	return inside != domain->negate;
}

/* Does some value of the domain lie within [lo, hi] of the order? */
static bool
touches(const GpucolCpuDomain *domain, int64_t lo, int64_t hi)
{
	if (domain->lo > hi || domain->hi < lo)
		return false;
	if (domain->op == GPUCOL_CPU_SET)
	{
		uint32_t	at = lower_bound(domain->set, domain->nset, lo);

		return at < domain->nset && domain->set[at] <= hi;
	}
	return true;
}

/* Does the domain (before negation) hold all of [lo, hi]? */
static bool
covers(const GpucolCpuDomain *domain, int64_t lo, int64_t hi)
{
	if (domain->op == GPUCOL_CPU_SET)
		return lo == hi && touches(domain, lo, hi);
	return domain->lo <= lo && domain->hi >= hi;
}

/*
 * Does a zone map exclude every row?  An empty zone (no non-null value) does
 * for all but IS NULL.
 */
bool
gpucol_cpu_range_excludes(const GpucolCpuDomain *domain, const GpucolZone *zone)
{
	if (domain->op == GPUCOL_CPU_FALSE)
		return true;
	if (domain->op != GPUCOL_CPU_INTERVAL && domain->op != GPUCOL_CPU_SET)
		return false;
	if (zone->min > zone->max)
		return true;
	if (domain->negate)
		return covers(domain, zone->min, zone->max);
	return !touches(domain, zone->min, zone->max);
}

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

/* A byte for each code of the chunk's width, all false. */
static bool
make_map(GpucolRun *run, GpucolCpuTest *test, size_t n)
{
	test->map = gpucol_cpu_alloc0(run, n + 1);
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

/* The hash of a code among those of a list. */
GPUCOL_CPU_INLINE uint64_t
filter_hash(const GpucolCpuTest *test, uint64_t code)
{
	return code * UINT64_C(0x9e3779b97f4a7c15) >> test->filter_shift;
}

/* May the code be in the list? */
GPUCOL_CPU_INLINE bool
filter_passes(const GpucolCpuTest *test, uint64_t code)
{
	uint64_t	hash = filter_hash(test, code);

	return (test->map[hash / 8] >> (hash % 8) & 1) != 0;
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
	else if (desc->width <= MAP_BITS)
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

	if (host->nturns == 0)
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
	const GpucolCpuHostTest *host = &run->hosts[test->domain->host];

	test->host = host;
	test->null_passes = host->null_verdict == 1;
	if (host->by_row)
	{
		test->kind = GPUCOL_CPU_TEST_ROWS;
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
	GpucolCpuColumn *column = &run->cols[domain->column];
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
			 run->hosts[domain->host].null_verdict == 1) ?
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
					compare_uint64) != NULL) != test->negate;
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

/* MAP: unpack and look each code up. */
static void
match_map(GpucolCpuWorker *worker, const GpucolCpuTest *test,
		  const void *words, uint32_t *match)
{
	uint8_t		bytes[GPUCOL_VECTOR_VALUES];

	gpucol_bitpack_unpack32(test->column->desc->width, words, worker->codes32);
	for (uint32_t i = 0; i < GPUCOL_VECTOR_VALUES; i++)
		bytes[i] = test->map[worker->codes32[i]];
	match_bytes(bytes, match);
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
			pass = run->hosts[domain->host].verdicts[i] == 1;
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
