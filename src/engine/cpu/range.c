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

#include "engine/cpu/range.h"

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
		const GpucolConst *value = &run->code.consts[range->lo];

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
		const GpucolConst *value = &run->code.consts[range->hi];

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
		const GpucolConst *value = &run->code.consts[range->lo + i];

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

/* Index of the (predicate, column) pair among run->digest.hosts, -1 if absent. */
static int
find_host(const GpucolRun *run, int id, uint16_t column)
{
	for (int i = 0; i < run->digest.nhosts; i++)
		if (run->digest.hosts[i].id == id && run->digest.hosts[i].column == column)
			return i;
	return -1;
}

/* Digest the program's ranges into run->digest.domains. */
GpucolStatus
gpucol_cpu_range_init(GpucolRun *run)
{
	int			n = run->program->nranges;

	run->digest.domains = gpucol_cpu_alloc0(run, sizeof(GpucolCpuDomain) * (size_t) (n + 1));
	run->input.tests = gpucol_cpu_alloc0(run, sizeof(GpucolCpuTest) * (size_t) (n + 1));
	if (run->digest.domains == NULL || run->input.tests == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < n; i++)
	{
		const GpucolRange *range = &run->code.ranges[i];
		GpucolCpuDomain *domain = &run->digest.domains[i];
		GpucolKind	kind = run->code.columns[range->column].kind;
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

int
gpucol_cpu_compare_codes(const void *a, const void *b)
{
	uint64_t	x = *(const uint64_t *) a;
	uint64_t	y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}
