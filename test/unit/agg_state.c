/*-------------------------------------------------------------------------
 *
 * agg_state.c
 *	  Unit test of merging states of aggregates (kernel/agg_state.h), and of what opcodes
 *	  give at the ends of their types (kernel/scalar.h), written out or by builtins.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>
#include <string.h>

#include "check.h"
#include "kernel/agg_state.h"
#include "kernel/scalar.h"

#define RIGHT(condition) CHECK(condition, "wrong")
#define INT128_MAX	((__int128) (~(unsigned __int128) 0 >> 1))
#define INT128_MIN	(-INT128_MAX - 1)

static GpucolAgg
agg_of(GpucolAggOp op, GpucolClass cls)
{
	GpucolAgg	agg = {0};

	agg.op = (uint8_t) op;
	agg.cls = (uint8_t) cls;
	return agg;
}

static GpucolAggState
state128(int64_t count, __int128 value, __int128 squares)
{
	GpucolAggState state = {0};

	state.count = count;
	gpucol_agg_put_value128(&state, value);
	gpucol_agg_put_squares128(&state, squares);
	return state;
}

static GpucolAggState
state_f(int64_t count, double value, double squares)
{
	GpucolAggState state = {0};

	state.count = count;
	state.v.f = value;
	state.w.f = squares;
	return state;
}

static GpucolAggState
state_i(int64_t count, int64_t value)
{
	GpucolAggState state = {0};

	state.count = count;
	state.v.value = value;
	return state;
}

static void
test_sums(void)
{
	GpucolAgg	sum = agg_of(GPUCOL_AGG_SUM, GPUCOL_CLASS_I);
	GpucolAgg	squares = agg_of(GPUCOL_AGG_SUMSQ, GPUCOL_CLASS_D);
	GpucolAggState a = state128(2, -((__int128) 5 << 70), 0);
	GpucolAggState b = state128(3, ((__int128) 7 << 70) + 1, 0);

	RIGHT(gpucol_agg_merge(&sum, &a, &b, 0) == GPUCOL_OK && a.count == 5 &&
		  gpucol_agg_value128(&a) == ((__int128) 2 << 70) + 1);
	b = state128(0, 99, 99);
	RIGHT(gpucol_agg_merge(&sum, &a, &b, 0) == GPUCOL_OK && a.count == 5 &&
		  gpucol_agg_value128(&a) == ((__int128) 2 << 70) + 1);
	b = state128(1, INT128_MAX, 0);
	RIGHT(gpucol_agg_merge(&sum, &a, &b, 0) == GPUCOL_UNSUPPORTED);
	a = state128(1, 3, 9);
	b = state128(1, 4, 16);
	RIGHT(gpucol_agg_merge(&squares, &a, &b, 0) == GPUCOL_OK &&
		  gpucol_agg_value128(&a) == 7 && gpucol_agg_squares128(&a) == 25);
	b = state128(1, 4, INT128_MAX);
	RIGHT(gpucol_agg_merge(&squares, &a, &b, 0) == GPUCOL_UNSUPPORTED);
}

static void
test_floats(void)
{
	GpucolAgg	sum = agg_of(GPUCOL_AGG_SUM, GPUCOL_CLASS_F);
	GpucolAgg	squares = agg_of(GPUCOL_AGG_SUMSQ, GPUCOL_CLASS_F);
	GpucolAggState a = state_f(1, 1e308, 0);
	GpucolAggState b = state_f(1, 1e308, 0);

	RIGHT(gpucol_agg_merge(&sum, &a, &b, 0) == GPUCOL_FLOAT_OVERFLOW);
	a = state_f(1, INFINITY, 0);
	RIGHT(gpucol_agg_merge(&sum, &a, &b, 0) == GPUCOL_OK && isinf(a.v.f));

	/* 1, 2, 3 and 5, 7: their squared deviations from 2, 6 and 3.6 */
	a = state_f(3, 6, 2);
	b = state_f(2, 12, 2);
	RIGHT(gpucol_agg_merge(&squares, &a, &b, 0) == GPUCOL_OK && a.count == 5 && a.v.f == 18 &&
		  fabs(a.w.f - 23.2) < 1e-12);
	a = state_f(1, 1e200, 0);
	b = state_f(1, -1e200, 0);
	RIGHT(gpucol_agg_merge(&squares, &a, &b, 0) == GPUCOL_FLOAT_OVERFLOW);
}

static void
test_extremes(void)
{
	GpucolAgg	min = agg_of(GPUCOL_AGG_MIN, GPUCOL_CLASS_F);
	GpucolAgg	max = agg_of(GPUCOL_AGG_MAX, GPUCOL_CLASS_F);
	GpucolAggState a = state_f(1, NAN, 0);
	GpucolAggState b = state_f(1, INFINITY, 0);

	RIGHT(gpucol_agg_merge(&max, &a, &b, 0) == GPUCOL_OK && isnan(a.v.f) && a.count == 2);
	RIGHT(gpucol_agg_merge(&min, &a, &b, 0) == GPUCOL_OK && isinf(a.v.f));
	min.cls = GPUCOL_CLASS_D;
	a = state128(1, 1, 0);
	b = state128(1, INT128_MIN, 0);
	RIGHT(gpucol_agg_merge(&min, &a, &b, 0) == GPUCOL_OK && gpucol_agg_value128(&a) == INT128_MIN);
	max.cls = GPUCOL_CLASS_I;
	a = state_i(1, -3);
	b = state_i(0, 5);
	RIGHT(gpucol_agg_merge(&max, &a, &b, 0) == GPUCOL_OK && a.v.value == -3);
	b.count = 2;
	RIGHT(gpucol_agg_merge(&max, &a, &b, 0) == GPUCOL_OK && a.v.value == 5 && a.count == 3);
	a = state_i(0, 5);
	b = state_i(2, 1);
	RIGHT(gpucol_agg_merge(&max, &a, &b, 0) == GPUCOL_OK && a.v.value == 1 && a.count == 2);

	/* of byte strings the caller knows the order */
	max.cls = GPUCOL_CLASS_S;
	a.v.s.data = "a";
	b.v.s.data = "b";
	RIGHT(gpucol_agg_merge(&max, &a, &b, -1) == GPUCOL_OK && a.v.s.data[0] == 'a');
	RIGHT(gpucol_agg_merge(&max, &a, &b, 1) == GPUCOL_OK && a.v.s.data[0] == 'b');
}

static void
test_bools(void)
{
	GpucolAgg	and = agg_of(GPUCOL_AGG_BOOL_AND, GPUCOL_CLASS_B);
	GpucolAgg	or = agg_of(GPUCOL_AGG_BOOL_OR, GPUCOL_CLASS_B);
	GpucolAggState a = state_i(1, 1);
	GpucolAggState b = state_i(1, 0);

	RIGHT(gpucol_agg_merge(&or, &a, &b, 0) == GPUCOL_OK && a.v.value == 1);
	RIGHT(gpucol_agg_merge(&and, &a, &b, 0) == GPUCOL_OK && a.v.value == 0);
}

static void
test_integers(void)
{
	int64_t		r;

	RIGHT(gpucol_scalar_ADD_I(4, INT32_MAX, 1, &r) == GPUCOL_INT4_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_SUB_I(2, INT16_MIN, 1, &r) == GPUCOL_INT2_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_ADD_I(8, INT64_MAX, 1, &r) == GPUCOL_INT8_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_MUL_I(8, INT64_MIN, -1, &r) == GPUCOL_INT8_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_MUL_I(4, INT32_MIN, INT32_MIN, &r) == GPUCOL_INT4_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_DIV_I(4, INT32_MIN, -1, &r) == GPUCOL_INT4_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_DIV_I(8, INT64_MIN, -1, &r) == GPUCOL_INT8_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_DIV_I(4, -7, 2, &r) == GPUCOL_OK && r == -3);
	RIGHT(gpucol_scalar_DIV_I(8, 7, 0, &r) == GPUCOL_DIVISION_BY_ZERO);
	RIGHT(gpucol_scalar_MOD_I(8, INT64_MIN, -1, &r) == GPUCOL_OK && r == 0);
	RIGHT(gpucol_scalar_MOD_I(4, -7, 4, &r) == GPUCOL_OK && r == -3);
	RIGHT(gpucol_scalar_ABS_I(2, INT16_MIN, &r) == GPUCOL_INT2_OUT_OF_RANGE);

	/* operands of rows that do not count may be anything */
	gpucol_scalar_DIV_I(4, INT64_MIN, INT64_C(1) << 32, &r);
	gpucol_scalar_MOD_I(4, INT64_MIN, INT64_C(0x1ffffffff), &r);
	gpucol_scalar_MUL_I(4, INT64_MAX, INT64_MAX, &r);
}

static void
test_decimals(void)
{
	__int128	r;

	RIGHT(gpucol_scalar_ADD_D(0, INT128_MAX, 1, &r) == GPUCOL_UNSUPPORTED);
	RIGHT(gpucol_scalar_SUB_D(0, -1, INT128_MIN, &r) == GPUCOL_OK && r == INT128_MAX);
	RIGHT(gpucol_scalar_SUB_D(0, 0, INT128_MIN, &r) == GPUCOL_UNSUPPORTED);
	RIGHT(gpucol_scalar_NEG_D(0, INT128_MIN, &r) == GPUCOL_UNSUPPORTED);
	RIGHT(gpucol_scalar_MUL_D(0, (__int128) 1 << 126, -2, &r) == GPUCOL_OK && r == INT128_MIN);
	RIGHT(gpucol_scalar_MUL_D(0, (__int128) 1 << 126, 2, &r) == GPUCOL_UNSUPPORTED);
	RIGHT(gpucol_scalar_RESCALE_D(38, 2, &r) == GPUCOL_UNSUPPORTED);
	RIGHT(gpucol_scalar_I_TO_D(2, -7, &r) == GPUCOL_OK && r == -700);
}

static void
test_scalar_floats(void)
{
	double		r;
	int64_t		i;

	RIGHT(gpucol_scalar_ADD_F(4, 3e38, 3e38, &r) == GPUCOL_FLOAT_OVERFLOW);
	RIGHT(gpucol_scalar_ADD_F(8, INFINITY, 1, &r) == GPUCOL_OK);
	RIGHT(gpucol_scalar_MUL_F(8, 1e-200, 1e-200, &r) == GPUCOL_FLOAT_UNDERFLOW);
	RIGHT(gpucol_scalar_DIV_F(8, NAN, 0, &r) == GPUCOL_OK && isnan(r));
	RIGHT(gpucol_scalar_DIV_F(8, 1, 0, &r) == GPUCOL_DIVISION_BY_ZERO);
	RIGHT(gpucol_scalar_DIV_F(8, 1, INFINITY, &r) == GPUCOL_OK && r == 0);
	RIGHT(gpucol_scalar_ROUND_F(4, 1e300, &r) == GPUCOL_FLOAT_OVERFLOW);
	RIGHT(gpucol_scalar_F_TO_I(4, 2147483647.5, &i) == GPUCOL_INT4_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_F_TO_I(4, 2.5, &i) == GPUCOL_OK && i == 2);
	RIGHT(gpucol_scalar_F_TO_I(8, NAN, &i) == GPUCOL_INT8_OUT_OF_RANGE);
	RIGHT(gpucol_scalar_EQ_F(NAN, NAN) && !gpucol_scalar_NE_F(NAN, NAN));
	RIGHT(gpucol_scalar_LT_F(INFINITY, NAN) && !gpucol_scalar_LT_F(NAN, NAN) && !gpucol_scalar_LT_F(NAN, 1));
	RIGHT(gpucol_scalar_LE_F(NAN, NAN) && gpucol_scalar_LE_F(1, NAN) && !gpucol_scalar_LE_F(NAN, 1));
}

static void
test_lists(void)
{
	GpucolConst list[3] = {{0}};
	bool		null;

	for (int i = 0; i < 3; i++)
		list[i].v.i = 10 * i;
	RIGHT(gpucol_scalar_in(list, 3, false, 20, &null) && !null);
	RIGHT(!gpucol_scalar_in(list, 3, false, 21, &null) && !null);
	RIGHT(!gpucol_scalar_in(list, 3, false, 5, &null) && !null);
	RIGHT(!gpucol_scalar_in(list, 0, false, 5, &null) && !null);
	list[1].isnull = 1;
	RIGHT(!gpucol_scalar_in(list, 3, true, 10, &null) && null);
	RIGHT(gpucol_scalar_in(list, 3, true, 0, &null) && !null);
}

int
main(void)
{
	test_sums();
	test_floats();
	test_extremes();
	test_bools();
	test_integers();
	test_decimals();
	test_scalar_floats();
	test_lists();
	return check_summary("agg_state");
}
