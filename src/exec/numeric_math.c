/*-------------------------------------------------------------------------
 *
 * numeric_math.c
 *	  Roots, logarithms and powers of numerics with the results of PostgreSQL's functions.
 *
 * sqrt, ln, exp, log and power of numerics are computed by PostgreSQL digit by digit, in
 * microseconds, with 16 significant digits or more.  A long double of 64 bits has 19.  So the
 * result is computed as one and rounded to as many digits as PostgreSQL gives it; where it lies
 * so near the middle of two results that its error, or PostgreSQL's, could choose the other, or
 * there are more digits than it has, PostgreSQL's function is called.
 *
 * How many digits after the point PostgreSQL gives a result depends on the digits of the
 * arguments and on the powers of ten that arguments and results lie between.  It is learned from
 * PostgreSQL's own result, once for each case.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "executor/execExpr.h"
#include "fmgr.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"

#include "columnar/typemap.h"
#include "compat.h"
#include "exec/numeric_math.h"
#include "kernel/packed_decimal.h"

#if LDBL_MANT_DIG >= 64

/* What a long double computes is wrong by so much at most, as a share of it. */
#define SHARE_LOST		0x1p-62L
/* What an argument is, as a long double. */
#define ARGUMENT_LOST	0x1p-64L

/* Powers of ten that a long double has exactly, and results that it has digits for. */
#define MOST_SCALE		27
#define MOST_UNITS		0x1p61L

/* Powers of ten between which results are told apart, and arguments. */
#define MOST_DECADE		18
#define DECADES			(2 * MOST_DECADE + 1)

/*
 * How far from a power of ten a value must be, as a share, for PostgreSQL's estimate to see it on the same side: of an
 * argument that estimate has five digits, and of a logarithm, 0.14 at least, its error is 1e-4 (estimate_ln_dweight).
 */
#define CLEARANCE		0.0012L

/*
 * The same of a logarithm, which is computed with eight digits more: an error of half the last one at each of up to
 * ten roots, doubled at each that follows, and at each of some twenty terms of a series (ln_var), is 1e-5 at most.
 * Roots are exact before they are rounded.
 */
#define LOGARITHM_LOST	0.0005L
#define ROOT_LOST		0.0L

/*
 * What PostgreSQL's result is wrong by before it is rounded, at most, in units of its last digit: its
 * products drop what lies eight digits behind, some 1e4 of it for each of their terms (mul_var).
 */
#define POSTGRES_LOST	0.01L

#define UNKNOWN			(-1)

static const long double powers_of_ten[MOST_SCALE + 1] = {
	1e0L, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L, 1e10L, 1e11L, 1e12L, 1e13L,
	1e14L, 1e15L, 1e16L, 1e17L, 1e18L, 1e19L, 1e20L, 1e21L, 1e22L, 1e23L, 1e24L, 1e25L, 1e26L, 1e27L
};

/* What is learned of one call: digits after the point, by decade and digits of the argument. */
typedef struct Learned
{
	char		second[sizeof(__int128)];	/* the other argument, the same for all, as a packed decimal */
	bool		has_second;
	int16		scales[DECADES][MOST_SCALE + 1];
} Learned;

/* One call. */
typedef struct Call
{
	FunctionCallInfo fcinfo;
	PGFunction	function;		/* PostgreSQL's */
	__int128	packed[2];
	long double args[2];
	long double result;
	long double lost;			/* by which the result may be wrong */
	long double postgres_lost;	/* by which PostgreSQL's may, in units of its last digit */
	long double seen;			/* the value whose decade decides */
} Call;

/* An argument as a decimal; false where it is none of 35 digits. */
static bool
read_argument(Call *c, int number)
{
	struct varlena *datum = PG_DETOAST_DATUM_PACKED(c->fcinfo->args[number].value);

	if (gpucol_packed_read(VARDATA_ANY(datum), VARSIZE_ANY_EXHDR(datum), &c->packed[number]) != GPUCOL_OK ||
		gpucol_packed_scale(c->packed[number]) > MOST_SCALE)
		return false;
	c->args[number] = (long double) gpucol_packed_mantissa(c->packed[number]) /
		powers_of_ten[gpucol_packed_scale(c->packed[number])];
	return true;
}

/* The power of ten below a value; false where it is too near one, or too far from 1. */
static bool
find_decade(long double value, int *decade)
{
	long double size = fabsl(value);
	long double power;
	int			exponent;

	if (!(size > 1 / powers_of_ten[MOST_DECADE]) || !(size < powers_of_ten[MOST_DECADE]))
		return false;
	/* by its binary exponent, or one more */
	frexpl(size, &exponent);
	*decade = (exponent - 1) * 1233 >> 12;
	power = *decade < 0 ? 1 / powers_of_ten[-*decade] : powers_of_ten[*decade];
	if (size >= 10 * power)
	{
		(*decade)++;
		power *= 10;
	}
	return size > power * (1 + CLEARANCE) && size < power * (10 - 10 * CLEARANCE);
}

/* The place where the digits of such results are noted; NULL where they depend on more. */
static int16 *
find_scale(Call *c, int nargs)
{
	FmgrInfo   *info = c->fcinfo->flinfo;
	Learned    *learned = info->fn_extra;
	int			decade;

	if (!find_decade(c->seen, &decade))
		return NULL;
	if (learned == NULL)
	{
		learned = info->fn_extra = MemoryContextAllocZero(info->fn_mcxt, sizeof(Learned));
		memset(learned->scales, 0xFF, sizeof(learned->scales));
		learned->has_second = nargs > 1;
		if (nargs > 1)
			memcpy(learned->second, &c->packed[1], sizeof(learned->second));
	}
	if (learned->has_second && memcmp(learned->second, &c->packed[1], sizeof(learned->second)) != 0)
		return NULL;
	return &learned->scales[decade + MOST_DECADE][gpucol_packed_scale(c->packed[0])];
}

static Datum
call_postgres(const Call *c)
{
	return c->function(c->fcinfo);
}

/* The result of a call, rounded as PostgreSQL's. */
static Datum
finish(Call *c, int nargs)
{
	int16	   *scale = find_scale(c, nargs);
	long double units;
	long double lost;
	long double whole;

	if (scale == NULL)
		return call_postgres(c);
	if (*scale == UNKNOWN)
	{
		Datum		result = call_postgres(c);
		GpucolNumericDigits counted;

		gpucol_typemap_numeric_digits(result, &counted);
		*scale = (int16) (counted.finite ? counted.shown : MOST_SCALE + 1);
		return result;
	}
	if (*scale > MOST_SCALE)
		return call_postgres(c);
	units = c->result * powers_of_ten[*scale];
	lost = c->lost * powers_of_ten[*scale] + fabsl(units) * ARGUMENT_LOST;
	whole = rintl(units);
	if (!(fabsl(units) < MOST_UNITS) || 0.5L - fabsl(units - whole) <= lost + c->postgres_lost)
		return call_postgres(c);
	return gpucol_typemap_numeric((int64) whole, *scale);
}

static void
start(Call *c, FunctionCallInfo fcinfo, PGFunction function)
{
	c->fcinfo = fcinfo;
	c->function = function;
	c->postgres_lost = POSTGRES_LOST;
}

static Datum
fast_sqrt(PG_FUNCTION_ARGS)
{
	Call		c;

	start(&c, fcinfo, numeric_sqrt);
	if (!read_argument(&c, 0) || !(c.args[0] > 0))
		return call_postgres(&c);
	c.result = sqrtl(c.args[0]);
	c.lost = c.result * 2 * ARGUMENT_LOST;
	c.postgres_lost = ROOT_LOST;
	c.seen = c.args[0];
	return finish(&c, 1);
}

/* A logarithm of what is not near 1, where PostgreSQL estimates it by another way. */
static bool
natural(Call *c)
{
	return c->args[0] > 0 && fabsl(c->args[0] - 1) > 0.15L;
}

static Datum
fast_ln(PG_FUNCTION_ARGS)
{
	Call		c;

	start(&c, fcinfo, numeric_ln);
	if (!read_argument(&c, 0) || !natural(&c))
		return call_postgres(&c);
	c.result = c.seen = logl(c.args[0]);
	c.lost = fabsl(c.result) * SHARE_LOST + ARGUMENT_LOST;
	c.postgres_lost = LOGARITHM_LOST;
	return finish(&c, 1);
}

static Datum
fast_exp(PG_FUNCTION_ARGS)
{
	Call		c;

	start(&c, fcinfo, numeric_exp);
	if (!read_argument(&c, 0))
		return call_postgres(&c);
	c.result = c.seen = expl(c.args[0]);
	c.lost = c.result * (SHARE_LOST + fabsl(c.args[0]) * ARGUMENT_LOST);
	return finish(&c, 1);
}

/* numeric_log(base, value): the base is the other argument */
static Datum
fast_log(PG_FUNCTION_ARGS)
{
	Call		c;
	long double base;
	__int128	packed;

	start(&c, fcinfo, numeric_log);
	if (!read_argument(&c, 0) || !read_argument(&c, 1))
		return call_postgres(&c);
	/* as a function of its second argument */
	base = c.args[0];
	packed = c.packed[0];
	c.args[0] = c.args[1];
	c.packed[0] = c.packed[1];
	c.packed[1] = packed;
	if (!natural(&c) || !(base > 1.5L))
		return call_postgres(&c);
	c.seen = logl(c.args[0]);
	c.result = base == 10 ? log10l(c.args[0]) : c.seen / logl(base);
	c.lost = fabsl(c.result) * 2 * SHARE_LOST + ARGUMENT_LOST;
	return finish(&c, 2);
}

static Datum
fast_power(PG_FUNCTION_ARGS)
{
	Call		c;
	long double inexact;

	start(&c, fcinfo, numeric_power);
	if (!read_argument(&c, 0) || !read_argument(&c, 1) || !(c.args[0] > 0) || fabsl(c.args[1]) > 64 ||
		fabsl(c.args[0] - 1) < 0.15L)
		return call_postgres(&c);
	/* an exponent that is no long double is wrong by a share, and the result by it times its logarithm */
	inexact = c.args[1] * 8 == rintl(c.args[1] * 8) ? 0 : MOST_DECADE * 2.5L;
	c.result = c.seen = powl(c.args[0], c.args[1]);
	c.lost = c.result * (SHARE_LOST + (fabsl(c.args[1]) + inexact) * ARGUMENT_LOST);
	return finish(&c, 2);
}

static const struct
{
	Oid			oid;
	PGFunction	function;
}			functions[] = {
	{F_NUMERIC_SQRT, fast_sqrt},
	{F_SQRT_NUMERIC, fast_sqrt},
	{F_NUMERIC_LN, fast_ln},
	{F_LN_NUMERIC, fast_ln},
	{F_NUMERIC_EXP, fast_exp},
	{F_EXP_NUMERIC, fast_exp},
	{F_NUMERIC_LOG, fast_log},
	{F_LOG_NUMERIC_NUMERIC, fast_log},
	{F_NUMERIC_POWER, fast_power},
	{F_POW_NUMERIC_NUMERIC, fast_power},
	{F_POWER_NUMERIC_NUMERIC, fast_power},
};

void
gpucol_numeric_math_install(ExprState *state)
{
	for (int i = 0; i < state->steps_len; i++)
	{
		ExprEvalStep *step = &state->steps[i];

		if (!gpucol_compat_calls_function(ExecEvalStepOp(state, step)))
			continue;
		for (int f = 0; f < (int) lengthof(functions); f++)
		{
			if (step->d.func.finfo->fn_oid == functions[f].oid)
				step->d.func.fn_addr = functions[f].function;
		}
	}
}

#else							/* no long double to speak of */

void
gpucol_numeric_math_install(ExprState *state pg_attribute_unused())
{
}

#endif

void
gpucol_numeric_math_install_node(PlanState *ps)
{
	if (ps->ps_ProjInfo != NULL)
		gpucol_numeric_math_install(&ps->ps_ProjInfo->pi_state);
	if (ps->qual != NULL)
		gpucol_numeric_math_install(ps->qual);
}
