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

/*
 * A date and a number of days, aux times: 1 or -1.
 */
GpucolStatus
gpucol_cpu_op_DATE_ADD_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	const int64_t *ys = f->b->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		r = 0;
		GpucolStatus status = gpucol_date_add(xs[j], f->instr->aux * ys[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = r;
	}
	return GPUCOL_OK;
}

/*
 * The difference of two dates in days, or of two timestamps in microseconds (aux 8).
 */
GpucolStatus
gpucol_cpu_op_TIME_DIFF_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	const int64_t *ys = f->b->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		r = 0;
		GpucolStatus status = f->instr->aux == 8 ? gpucol_stamp_difference(xs[j], ys[j], &r) :
			gpucol_date_difference(xs[j], ys[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = r;
	}
	return GPUCOL_OK;
}

/*
 * A timestamp, or a date (aux 1), and an interval: b has its microseconds, c its months and
 * days (GPUCOL_MONTHS_AND_DAYS).
 */
GpucolStatus
gpucol_cpu_op_SHIFT_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;

	const int64_t *usecs = f->b->v.i;
	const int64_t *days = f->c->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	if (f->c->nulls != NULL)
		gpucol_cpu_op_nulls(f->dst, f->dst, f->c, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		r = xs[j];
		GpucolStatus status = f->instr->aux == 1 ? gpucol_date_stamp(xs[j], &r) : GPUCOL_OK;

		if (status == GPUCOL_OK)
			status = gpucol_stamp_shift(r, GPUCOL_MONTHS_OF(days[j]), GPUCOL_DAYS_OF(days[j]), usecs[j], &r);
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
	gpucol_cpu_op_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolSpan	span = {0, 0, 0};

		if (!GPUCOL_CPU_NULL_AT(f->a, j))
		{
			GpucolBytes bytes = gpucol_cpu_op_string(f->a, j);
			GpucolStatus status = gpucol_span_read(bytes.data, bytes.len, &span);

			if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
				return status;
		}
		f->dst->v.i[j] = gpucol_span_part(&span, f->instr->aux);
	}
	return GPUCOL_OK;
}

/*
 * A part of the sum or, with aux negative, of the difference of two intervals.
 */
GpucolStatus
gpucol_cpu_op_SPAN_ADD_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	const int64_t *ys = f->b->v.i;
	int			sign = f->instr->aux < 0 ? -1 : 1;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		r = 0;
		GpucolStatus status = gpucol_span_add(sign * f->instr->aux, sign, xs[j], ys[j], &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = r;
	}
	return GPUCOL_OK;
}

/*
 * A part of age(a, b).
 */
GpucolStatus
gpucol_cpu_op_AGE_I(GpucolCpuFrame *f)
{
	const int64_t *xs = f->a->v.i;
	const int64_t *ys = f->b->v.i;

	gpucol_cpu_op_nulls(f->dst, f->a, f->b, f->n);
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolSpan	span = {0, 0, 0};
		GpucolStatus status = gpucol_stamp_age(xs[j], ys[j], &span);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.i[j] = gpucol_span_part(&span, f->instr->aux);
	}
	return GPUCOL_OK;
}
