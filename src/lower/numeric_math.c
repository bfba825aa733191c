/*-------------------------------------------------------------------------
 *
 * numeric_math.c
 *	  Roots, logarithms and powers of numerics: for engines, and PostgreSQL's answers to them.
 *
 * Their results carry their scale (packed.c).  An engine computes most itself, and asks
 * PostgreSQL for some (GpucolHost).  What is no packed decimal hands an aggregation back, so a
 * scan, whose rows may have left, has none of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "base/pool.h"
#include "columnar/typemap.h"
#include "kernel/math_functions.h"
#include "kernel/packed_decimal.h"
#include "lower/lower.h"

/* Digits behind the point of what PostgreSQL is asked for, at most. */
#define PLAIN_DIGITS		38

/* Results that are far from PostgreSQL's limits, and beyond those of packed decimals. */
#define GREATEST_EXPONENT	2000.0
#define GREATEST_POWER		1e9
#define NEAR_ONE			1e-12

static const struct
{
	Oid			funcid;
	GpucolNumericFunction function;
}			functions[] = {
	{F_NUMERIC_SQRT, GPUCOL_NUMERIC_SQRT},
	{F_SQRT_NUMERIC, GPUCOL_NUMERIC_SQRT},
	{F_NUMERIC_LN, GPUCOL_NUMERIC_LN},
	{F_LN_NUMERIC, GPUCOL_NUMERIC_LN},
	{F_NUMERIC_EXP, GPUCOL_NUMERIC_EXP},
	{F_EXP_NUMERIC, GPUCOL_NUMERIC_EXP},
	{F_NUMERIC_LOG, GPUCOL_NUMERIC_LOG},
	{F_LOG_NUMERIC_NUMERIC, GPUCOL_NUMERIC_LOG},
	{F_NUMERIC_POWER, GPUCOL_NUMERIC_POWER},
	{F_POW_NUMERIC_NUMERIC, GPUCOL_NUMERIC_POWER},
	{F_POWER_NUMERIC_NUMERIC, GPUCOL_NUMERIC_POWER},
};

int
gpucol_numeric_function(Oid funcid)
{
	for (int f = 0; f < (int) lengthof(functions); f++)
	{
		if (functions[f].funcid == funcid)
			return functions[f].function;
	}
	return -1;
}

/*
 * Lower a root, logarithm or power of numerics.  *matched says whether it is one.
 */
bool
gpucol_lower_numeric_math(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	GpucolValue values[2];
	int			function = gpucol_numeric_function(funcid);
	bool		pair = function > GPUCOL_NUMERIC_UNARY;

	*matched = function >= 0;
	if (!*matched)
		return false;
	if (!l->aggregating)
		return gpucol_lower_decline(l, "a function of numerics, outside of an aggregation");
	for (int i = 0; i <= (int) pair; i++)
	{
		if (!gpucol_lower_number(l, list_nth(args, i), &values[i]))
			return false;
		if (values[i].cls != GPUCOL_CLASS_D)
			return gpucol_lower_decline(l, "its argument has no fixed-width form");
		if (!gpucol_lower_pack(l, &values[i]))
			return false;
	}
	*out = (GpucolValue) {.cls = GPUCOL_CLASS_D,.scale = GPUCOL_PACKED_SCALE,.digits = GPUCOL_PACKED_DIGITS,
		.scale_reg = GPUCOL_NO_REG,.packed = true,.whole = GPUCOL_PACKED_DIGITS};
	out->reg = gpucol_lower_emit(l, pair ? GPUCOL_OP_MATH2_P : GPUCOL_OP_MATH_P, values[0].reg,
								 pair ? values[1].reg : GPUCOL_NO_REG, GPUCOL_NO_REG, function);
	return true;
}

static Datum
call(int function, Datum x, Datum y)
{
	switch ((GpucolNumericFunction) function)
	{
		case GPUCOL_NUMERIC_SQRT:
			return DirectFunctionCall1(numeric_sqrt, x);
		case GPUCOL_NUMERIC_LN:
			return DirectFunctionCall1(numeric_ln, x);
		case GPUCOL_NUMERIC_EXP:
			return DirectFunctionCall1(numeric_exp, x);
		case GPUCOL_NUMERIC_LOG:
			return DirectFunctionCall2(numeric_log, x, y);
		default:
			return DirectFunctionCall2(numeric_power, x, y);
	}
}

static Datum
to_numeric(__int128 x)
{
	return gpucol_typemap_numeric(gpucol_packed_mantissa(x), gpucol_packed_scale(x));
}

static double
to_double(__int128 x)
{
	return (double) gpucol_packed_mantissa(x) / (double) gpucol_power10(Min(gpucol_packed_scale(x), PLAIN_DIGITS));
}

/* May PostgreSQL raise an error for these arguments, or have a result that is no packed decimal anyway? */
static bool
may_raise(int function, __int128 x, __int128 y)
{
	double		a = to_double(x);
	double		b = to_double(y);

	if (gpucol_packed_scale(x) > PLAIN_DIGITS || gpucol_packed_scale(y) > PLAIN_DIGITS)
		return true;
	switch ((GpucolNumericFunction) function)
	{
		case GPUCOL_NUMERIC_SQRT:
			return a < 0;
		case GPUCOL_NUMERIC_LN:
			return a <= 0;
		case GPUCOL_NUMERIC_EXP:
			return fabs(a) > GREATEST_EXPONENT;
		case GPUCOL_NUMERIC_LOG:
			/* a base of 1 is a division by zero */
			return a <= 0 || b <= 0 || fabs(a - 1) < NEAR_ONE;
		default:
			if (a == 0)
				return b < 0;
			return (a < 0 && b != rint(b)) || fabs(b) > GREATEST_POWER || fabs(b * log(fabs(a))) > GREATEST_EXPONENT;
	}
}

static void
abandon_pool(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	gpucol_pool_abandon();
}

/*
 * GpucolHost's callback; `scratch` is a memory context for what PostgreSQL allocates.  Interrupts wait, as other
 * threads may be at work, and so does the one error that is left, memory that is wanting.
 */
GpucolStatus
gpucol_host_numeric(MemoryContext scratch, int function, __int128 x, __int128 y, __int128 *r)
{
	MemoryContext old;
	GpucolStatus status = GPUCOL_UNSUPPORTED;

	if (may_raise(function, x, y))
		return GPUCOL_UNSUPPORTED;
	old = MemoryContextSwitchTo(scratch);
	HOLD_INTERRUPTS();
	PG_ENSURE_ERROR_CLEANUP(abandon_pool, (Datum) 0);
	{
		struct varlena *result = (struct varlena *) DatumGetPointer(call(function, to_numeric(x), to_numeric(y)));

		status = gpucol_packed_read(VARDATA_ANY(result), VARSIZE_ANY_EXHDR(result), r);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon_pool, (Datum) 0);
	RESUME_INTERRUPTS();
	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
	return status;
}
