/*-------------------------------------------------------------------------
 *
 * feed_state.c
 *	  Counts, sums and extremes of numbers beside aggregates that are fed rows.
 *
 * What the engine delivers of their arguments advances states such as engines keep, without a
 * function of PostgreSQL and without a datum.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/float.h"

#include "exec/feeder.h"
#include "kernel/agg_state.h"

/* A value of the engine's column, as in a state of one row. */
static inline void
state_of(const GpucolFeeder *f, const GpucolResultColumn *column, uint32 row, GpucolAggState *state)
{
	__int128	number;

	if (f->fed->state.cls == GPUCOL_CLASS_F)
	{
		state->v.f = column->f[row];
		return;
	}
	number = f->fed->state.cls == GPUCOL_CLASS_D ? column->d[row] : column->i[row];
	gpucol_agg_put_value128(state, number);
	if (f->fed->state.op == GPUCOL_AGG_SUMSQ)
		gpucol_agg_put_squares128(state, number * number);
}

/* Advance a group by one row; false beyond int128. */
static inline bool
advance(GpucolFeeder *f, GpucolAggState *state, const GpucolResultColumn *column, uint32 row)
{
	GpucolAggState add = {.count = 1};
	GpucolStatus status;

	if (column == NULL || f->fed->state.op == GPUCOL_AGG_COUNT)
	{
		state->count++;
		return true;
	}
	state_of(f, column, row, &add);
	status = gpucol_agg_merge(&f->fed->state, state, &add, 0);
	if (status == GPUCOL_FLOAT_OVERFLOW)
		float_overflow_error();
	return status == GPUCOL_OK;
}

void
gpucol_feed_states_reserve(GpucolFeed *feed, GpucolFeeder *f, uint32 ngroups)
{
	if (ngroups > f->room)
	{
		MemoryContext old = MemoryContextSwitchTo(feed->context);

		f->room = Max(f->room * 2, Max(ngroups, 64));
		f->numbers = gpucol_grow(f->numbers, f->room * sizeof(GpucolAggState));
		MemoryContextSwitchTo(old);
	}
	if (ngroups > f->nstates)
		memset(f->numbers + f->nstates, 0, (ngroups - f->nstates) * sizeof(GpucolAggState));
	f->nstates = Max(f->nstates, ngroups);
}

bool
gpucol_feed_states_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows, const bool *pass)
{
	const GpucolResultColumn *column = f->fed->nargs == 0 ? NULL :
		&rows->result->columns[f->fed->args[0].output];
	const uint8 *nulls = column == NULL ? NULL : column->nulls;
	uint32		nrows = rows->result->nrows;

	gpucol_feed_states_reserve(feed, f, rows->ngroups);
	for (uint32 set = 0; set < rows->nsets; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		for (uint32 row = 0; row < nrows; row++)
		{
			if ((pass == NULL || pass[row]) && (nulls == NULL || !nulls[row]) &&
				!advance(f, &f->numbers[groups[row]], column, row))
				return false;
		}
	}
	return true;
}

Datum
gpucol_feed_states_result(const GpucolFeeder *f, uint32 group, bool *isnull)
{
	return gpucol_final_datum(f->final, &f->numbers[group], isnull);
}
