/*-------------------------------------------------------------------------
 *
 * expr_time.c
 *	  Sums and differences of dates, timestamps and intervals.
 *
 * Months are added by the calendar, then days, then microseconds, each result being checked,
 * as PostgreSQL does; infinities stay what they are.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_ops.h"
#include "kernel/time_shift.h"
#include "kernel/time_zone.h"

/* One number, r, of each two, x and y; an error where it counts. */
#define OP_TIMES(NAME, CALL) \
GpucolStatus \
gpucol_cpu_op_##NAME(GpucolCpuFrame *f) \
{ \
	const int64_t *xs = f->a->v.i; \
	const int64_t *ys = f->b->v.i; \
	int			aux = f->instr->aux; \
\
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n); \
	for (uint32_t j = 0; j < f->n; j++) \
	{ \
		int64_t		x = xs[j]; \
		int64_t		y = ys[j]; \
		int64_t		r = 0; \
		GpucolStatus status = (CALL); \
\
		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j)) \
			return status; \
		f->dst->v.i[j] = r; \
	} \
	return GPUCOL_OK; \
}

/* A date and a number of days, aux times: 1 or -1. */
OP_TIMES(DATE_ADD_I, gpucol_date_add(x, aux * y, &r))

/* The difference of two dates in days, or in microseconds of two timestamps (aux 8) or finite ones (9). */
OP_TIMES(TIME_DIFF_I, aux == 8 ? gpucol_stamp_difference(x, y, &r) :
		 aux == 9 ? gpucol_finite_difference(x, y, &r) : gpucol_date_difference(x, y, &r))

/*
 * A timestamp or date and an interval (aux: GPUCOL_SHIFT_xxx): b has its microseconds, c its months and
 * days (GPUCOL_MONTHS_AND_DAYS).
 */
GpucolStatus
gpucol_cpu_op_SHIFT_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	const int64_t *usecs = f->b->v.i;
	const int64_t *days = f->c->v.i;
	int			flags = f->instr->aux;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (f->c->nulls != NULL)
		gpucol_cpu_op_nulls(f->dst, f->dst, f->c, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolSpan	span = {GPUCOL_MONTHS_OF(days[j]), GPUCOL_DAYS_OF(days[j]), usecs[j]};
		int64_t		r = xs[j];
		GpucolStatus status = flags & GPUCOL_SHIFT_DATE ? gpucol_date_stamp(xs[j], &r) : GPUCOL_OK;

		if (status == GPUCOL_OK)
			status = gpucol_stamp_move(r, span, flags, &r);
		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/*
 * Timestamps moved by the zone whose table is among the constants.
 */
GpucolStatus
gpucol_cpu_op_ZONE_I(GpucolCpuFrame *f)
{
	const GpucolRun *run = f->worker->run;
	const GpucolTimeZone *zone = run->digest.blocks[f->instr - run->code.instrs];

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		r = 0;
		GpucolStatus status = gpucol_zone_move(zone, f->instr->aux, f->a->v.i[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/*
 * Timestamps moved by the zones whose tables the host has made; of an infinite one it does not matter.
 */
GpucolStatus
gpucol_cpu_op_ZONE_S(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		stamp = f->a->v.i[j];
		int64_t		r = 0;
		const GpucolTimeZone *zone;
		GpucolStatus status = GPUCOL_UNSUPPORTED;

		if (GPUCOL_CPU_NULL_AT(f->dst, j) || stamp == INT64_MIN || stamp == INT64_MAX)
		{
			f->dst->v.i[j] = stamp;
			continue;
		}
		if (gpucol_cpu_op_string(f->b, j).len == sizeof(zone))
		{
			memcpy(&zone, gpucol_cpu_op_string(f->b, j).data, sizeof(zone));
			status = gpucol_zone_move(zone, f->instr->aux, stamp, &r);
		}
		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

/*
 * A part of an interval of a column.
 */
GpucolStatus
gpucol_cpu_op_SPAN_S(GpucolCpuFrame *f)
{
	bool		endless = f->instr->aux & GPUCOL_SPAN_ENDLESS;

	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolSpan	span = {0, 0, 0};

		if (!GPUCOL_CPU_NULL_AT(f->a, j))
		{
			GpucolBytes bytes = gpucol_cpu_op_string(f->a, j);
			GpucolStatus status = gpucol_span_read(bytes.data, bytes.len, endless, &span);

			if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
				return status;
		}
		f->dst->v.i[j] = gpucol_span_part(&span, f->instr->aux & ~GPUCOL_SPAN_ENDLESS);
	}
	return GPUCOL_OK;
}

/* A part of the sum or, with aux negative, of the difference of two intervals. */
OP_TIMES(SPAN_ADD_I, gpucol_span_add(aux < 0 ? -aux : aux, aux < 0 ? -1 : 1, x, y, &r))

/* The ages of a vector's rows, of which instructions that follow each other take the parts. */
typedef struct GpucolCpuAges
{
	const GpucolInstr *last;	/* the one that took the last; NULL: there are none */
	GpucolSpan	spans[GPUCOL_VECTOR_VALUES];
} GpucolCpuAges;

/* Has the instruction before taken another part of the same ages? */
static bool
has_ages(const GpucolCpuAges *ages, const GpucolInstr *instr)
{
	const GpucolInstr *last = ages->last;

	return last != NULL && last + 1 == instr && last->a == instr->a && last->b == instr->b &&
		last->mask == instr->mask;
}

/* A part of age(a, b). */
GpucolStatus
gpucol_cpu_op_AGE_I(GpucolCpuFrame *f)
{
	GpucolCpuWorker *worker = f->worker;
	bool		known;

	if (worker->ages == NULL)
		worker->ages = gpucol_cpu_alloc0(worker->run, sizeof(GpucolCpuAges));
	if (worker->ages == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	known = has_ages(worker->ages, f->instr);
	worker->ages->last = f->instr;
	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n && !known; j++)
	{
		GpucolStatus status = gpucol_stamp_age(f->a->v.i[j], f->b->v.i[j], &worker->ages->spans[j]);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		if (status != GPUCOL_OK)
			worker->ages->spans[j] = (GpucolSpan) {0, 0, 0};
	}
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.i[j] = gpucol_span_part(&worker->ages->spans[j], f->instr->aux);
	return GPUCOL_OK;
}

void
gpucol_cpu_ages_forget(GpucolCpuWorker *worker)
{
	if (worker->ages != NULL)
		worker->ages->last = NULL;
}

/*
 * The lower bound of a range, which may not be above the upper one.
 */
GpucolStatus
gpucol_cpu_op_ORDERED_I(GpucolCpuFrame *f)
{
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		if (f->a->v.i[j] > f->b->v.i[j] && !GPUCOL_CPU_NULL_AT(f->b, j) && gpucol_cpu_op_counts(f, j))
			return GPUCOL_BOUNDS_TURNED;
		f->dst->v.i[j] = f->a->v.i[j];
	}
	return GPUCOL_OK;
}
