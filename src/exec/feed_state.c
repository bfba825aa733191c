/*-------------------------------------------------------------------------
 *
 * feed_state.c
 *	  Counts, sums, deviations, products and extremes of numbers beside aggregates that are fed rows.
 *
 * What the engine delivers of their arguments advances states such as engines keep, without a
 * function of PostgreSQL and without a datum.  With DISTINCT a value is looked up among those
 * that its group has had (feed_seen.c); so are the rows that count(DISTINCT (a, b)) counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "datatype/timestamp.h"
#include "utils/float.h"

#include "exec/feeder.h"
#include "kernel/agg_state.h"

/* Is it a sum of numerics that display different numbers of digits? */
static bool
has_scales(const GpucolFed *fed)
{
	return fed->nargs == 1 && fed->args[0].scales > 0;
}

/* States of a group. */
static int
states_of(const GpucolFed *fed)
{
	return fed->state.op == GPUCOL_AGG_PRODUCTS || fed->spans ? 3 : has_scales(fed) ? 2 : 1;
}

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

/* Add a pair, y before x, to the products of a group. */
static inline GpucolStatus
add_pair(GpucolAggState *states, double y, double x)
{
	const double pairs[3][2] = {{x, y}, {x, x}, {y, y}};
	double		n = (double) states->count;
	double		scale = gpucol_agg_product_scale(n);
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < 3; i++)
	{
		GpucolAggState *state = &states[i];
		GpucolStatus one = gpucol_agg_add_product(n, scale, state->v.sums, &state->w.f, pairs[i][0], pairs[i][1]);

		state->count++;
		status = one != GPUCOL_OK ? one : status;
	}
	return status;
}

/* Add an integer to a sum; false beyond int128. */
static inline bool
add_integer(GpucolAggState *state, __int128 number)
{
	bool		over = __builtin_add_overflow(gpucol_agg_value128(state), number, &number);

	gpucol_agg_put_value128(state, number);
	state->count++;
	return !over;
}

/* Add a difference of timestamps to sums of microseconds, days and months, of which it has none. */
static inline bool
add_span(GpucolAggState *states, int64 usecs)
{
	return add_integer(&states[0], usecs % USECS_PER_DAY) && add_integer(&states[1], usecs / USECS_PER_DAY) &&
		add_integer(&states[2], 0);
}

/* Advance a group by one row whose arguments are in these columns; false beyond int128. */
static inline bool
advance(GpucolFeeder *f, GpucolAggState *state, const GpucolResultColumn *const *columns, uint32 row)
{
	GpucolAggState add = {.count = 1};
	const GpucolAgg *agg = &f->fed->state;
	GpucolStatus status;

	if (columns[0] == NULL || agg->op == GPUCOL_AGG_COUNT)
	{
		state->count++;
		return true;
	}
	if (f->fed->spans)
		return add_span(state, columns[0]->i[row]);
	if (f->scales != NULL)
		state[1].v.value = Max(state[1].v.value, f->scales->i[row]);
	if (agg->op == GPUCOL_AGG_SUM && agg->cls != GPUCOL_CLASS_F)
		return add_integer(state, agg->cls == GPUCOL_CLASS_D ? columns[0]->d[row] : columns[0]->i[row]);
	if (agg->op == GPUCOL_AGG_PRODUCTS)
		status = add_pair(state, columns[0]->f[row], columns[1]->f[row]);
	else if (agg->op == GPUCOL_AGG_SUMSQ && agg->cls == GPUCOL_CLASS_F)
	{
		status = gpucol_agg_add_deviation((double) state->count, &state->v.f, &state->w.f, columns[0]->f[row]);
		state->count++;
	}
	else
	{
		state_of(f, columns[0], row, &add);
		status = gpucol_agg_merge(agg, state, &add, 0);
	}
	if (status == GPUCOL_FLOAT_OVERFLOW)
		float_overflow_error();
	return status == GPUCOL_OK;
}

Size
gpucol_feed_states_room(const GpucolFeeder *f, uint64 nrows)
{
	return nrows * states_of(f->fed) * sizeof(GpucolAggState) +
		(f->fed->distinct ? gpucol_seen_room(f->seen, nrows) : 0);
}

void
gpucol_feed_states_reserve(GpucolFeed *feed, GpucolFeeder *f, uint32 ngroups)
{
	Size		size = states_of(f->fed) * sizeof(GpucolAggState);

	if (ngroups > f->room)
	{
		MemoryContext old = MemoryContextSwitchTo(feed->context);

		f->room = Max(f->room * 2, Max(ngroups, 64));
		f->numbers = gpucol_grow(f->numbers, f->room * size);
		MemoryContextSwitchTo(old);
	}
	if (ngroups > f->nstates)
		memset((char *) f->numbers + f->nstates * size, 0, (ngroups - f->nstates) * size);
	f->nstates = Max(f->nstates, ngroups);
}

/* Is an argument of the row NULL, so that it is left out? */
static inline bool
has_null(const GpucolFeeder *f, const GpucolResultColumn *const *columns, uint32 row)
{
	for (int i = 0; i < f->fed->nargs && !f->fed->whole; i++)
	{
		if (columns[i]->nulls != NULL && columns[i]->nulls[row])
			return true;
	}
	return false;
}

/* Advance the groups of a batch's rows in one set; false beyond int128. */
static inline bool
advance_groups(GpucolFeeder *f, const GpucolResultColumn *const *columns, const uint32 *groups, uint32 nrows,
			   const bool *pass)
{
	int			nstates = states_of(f->fed);
	bool		distinct = f->fed->distinct;
	bool		ok = true;

	for (uint32 row = 0; row < nrows && ok; row++)
	{
		if ((pass != NULL && !pass[row]) || has_null(f, columns, row) ||
			(distinct && !gpucol_seen_is_new(f->seen, row)))
			continue;
		ok = advance(f, &f->numbers[(Size) groups[row] * nstates], columns, row);
	}
	return ok;
}

/* Is it the plain sum of a column of integers without NULLs? */
static inline bool
is_plain_sum(const GpucolFeeder *f, const GpucolResultColumn *column, const bool *pass)
{
	return f->fed->state.op == GPUCOL_AGG_SUM && f->fed->state.cls == GPUCOL_CLASS_I && !f->fed->distinct &&
		!f->fed->spans && column->nulls == NULL && pass == NULL;
}

/* Its sums of a batch's groups in one set. */
static bool
add_integers(GpucolAggState *states, const int64 *values, const uint32 *groups, uint32 nrows)
{
	bool		ok = true;

	for (uint32 row = 0; row < nrows; row++)
		ok &= add_integer(&states[groups[row]], values[row]);
	return ok;
}

bool
gpucol_feed_states_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows, const bool *pass)
{
	const GpucolResultColumn *columns[GPUCOL_FED_MOST_ARGS] = {NULL};
	uint32		nrows = rows->result->nrows;
	MemoryContext old = MemoryContextSwitchTo(feed->context);
	bool		ok = true;

	for (int i = 0; i < f->fed->nargs; i++)
		columns[i] = f->fed->args[i].output < 0 ? NULL : &rows->result->columns[f->fed->args[i].output];
	f->scales = has_scales(f->fed) ? &rows->result->columns[f->fed->args[0].scales - 1] : NULL;
	gpucol_feed_states_reserve(feed, f, rows->ngroups);
	MemoryContextSwitchTo(old);
	if (f->fed->distinct)
		gpucol_seen_load(f->seen, rows->result, pass);
	for (uint32 set = 0; set < rows->nsets && ok; set++)
	{
		const uint32 *groups = rows->groups + (Size) set * nrows;

		if (f->fed->distinct)
			gpucol_seen_turn(f->seen, groups);
		ok = is_plain_sum(f, columns[0], pass) ? add_integers(f->numbers, columns[0]->i, groups, nrows) :
			advance_groups(f, columns, groups, nrows, pass);
	}
	return ok;
}

Datum
gpucol_feed_states_result(const GpucolFeeder *f, uint32 group, bool *isnull)
{
	return gpucol_final_datum(f->final, &f->numbers[(Size) group * states_of(f->fed)], isnull);
}
