/*-------------------------------------------------------------------------
 *
 * accumulators.cc
 *	  Aggregates as accumulators, and back.
 *
 * To add an aggregate: which accumulators it has (add) and its state from them (put_state).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/accumulators.cuh"

#include <cstring>

#include "cuda/query/part_context.cuh"
#include "kernel/agg_state.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

/* The accumulator of an operation over an aggregate's argument. */
int
Accumulators::find(GpucolAccOp op, const GpucolAgg &agg)
{
	static const int words[] = {1, 2, 3, 6, 3, 3, 1, 1, 1};
	uint16_t	arg = agg.op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : agg.arg;
	int32_t		order = op == GPUCOL_ACC_MIN || op == GPUCOL_ACC_MAX ? agg.order : 0;

	for (size_t i = 0; i < accs.size(); i++)
		if (accs[i].op == op && accs[i].arg == arg && accs[i].filter == agg.filter && accs[i].order == order)
			return i;
	accs.push_back({(uint8_t) op, agg.cls, arg, agg.filter, (uint16_t) nwords, 0, order});
	nwords += words[op];
	return accs.size() - 1;
}

/* The accumulators of a sum, perhaps of squares. */
void
Accumulators::find_sum(const GpucolAgg &agg, Map *m)
{
	bool		f = agg.cls == GPUCOL_CLASS_F;
	bool		d = agg.cls == GPUCOL_CLASS_D;

	if (!f && !d && agg.cls != GPUCOL_CLASS_I)
		throw unsupported("a sum of this class");
	m->v = find(f ? GPUCOL_ACC_SUM_F : d ? GPUCOL_ACC_SUM_D : GPUCOL_ACC_SUM_I, agg);
	if (agg.op == GPUCOL_AGG_SUMSQ)
		m->w = find(f ? GPUCOL_ACC_SQUARE_F : GPUCOL_ACC_SQUARE, agg);
	floats |= f;
}

void
Accumulators::add(const GpucolAgg &agg)
{
	Map			m = {agg.cls, find(GPUCOL_ACC_COUNT, agg), -1, -1};

	switch (agg.op)
	{
		case GPUCOL_AGG_COUNT_STAR:
		case GPUCOL_AGG_COUNT:
			break;
		case GPUCOL_AGG_SUM:
		case GPUCOL_AGG_SUMSQ:
			find_sum(agg, &m);
			break;
		case GPUCOL_AGG_MIN:
		case GPUCOL_AGG_BOOL_AND:
			m.v = find(GPUCOL_ACC_MIN, agg);
			break;
		case GPUCOL_AGG_MAX:
		case GPUCOL_AGG_BOOL_OR:
			m.v = find(GPUCOL_ACC_MAX, agg);
			break;
		case GPUCOL_AGG_COUNT_DISTINCT:
			if (agg.cls == GPUCOL_CLASS_D)
				throw unsupported("a count of distinct decimals");
			m.v = find(GPUCOL_ACC_DISTINCT, agg);
			distinct = true;
			break;
		default:
			throw unsupported("an aggregate that the device does not know");
	}
	maps_.push_back(m);
}

static int128
from_limbs(const unsigned long long *w)
{
	return (int128) ((uint128) w[0] + ((uint128) w[1] << 32) + ((uint128) w[2] << 64));
}

/* An extreme, which accumulators keep in the order of int64. */
static void
put_extreme(GpucolAggState *s, int cls, int64_t x)
{
	if (cls == GPUCOL_CLASS_F)
	{
		x ^= (x >> 63) & INT64_MAX;
		memcpy(&s->v.f, &x, 8);
	}
	else if (cls == GPUCOL_CLASS_D)
		gpucol_agg_put_value128(s, x);
	else
		s->v.value = x;
}

void
Accumulators::put_state(size_t i, const unsigned long long *record, GpucolAggState *s, FloatSum *sum) const
{
	const Map  &m = maps_[i];
	const GpucolAcc *square = m.w >= 0 ? &accs[m.w] : NULL;

	memset(s, 0, sizeof(*s));
	s->count = record[accs[m.count].word];
	if (m.v < 0)
		return;

	const GpucolAcc &v = accs[m.v];
	const unsigned long long *x = record + v.word;

	if (v.op == GPUCOL_ACC_SUM_I)
		gpucol_agg_put_value128(s, (int128) x[0] + ((int128) (int64_t) x[1] << 32));
	else if (v.op == GPUCOL_ACC_SUM_D)
		gpucol_agg_put_value128(s, from_limbs(x));
	else if (v.op == GPUCOL_ACC_SUM_F)
		*sum = gpucol_float_sum(x[0], x[1], x[2], from_limbs(x + 3), v.scale,
								square != NULL ? from_limbs(record + square->word) : 0,
								square != NULL ? square->scale : 0);
	else if (v.op == GPUCOL_ACC_DISTINCT)
		s->v.value = x[0];
	else if (s->count > 0)
		put_extreme(s, m.cls, x[0]);
	if (square != NULL && square->op == GPUCOL_ACC_SQUARE)
		gpucol_agg_put_squares128(s, from_limbs(record + square->word));
}
