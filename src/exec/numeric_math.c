/*-------------------------------------------------------------------------
 *
 * numeric_math.c
 *	  Roots, logarithms and powers of numerics that the executor computes, as engines do.
 *
 * Where PostgreSQL's executor evaluates an expression of a node of ours, its calls of sqrt, ln,
 * exp, log and power of numerics go to kernel/numeric_math.c first.  What that leaves open, and
 * all errors, are PostgreSQL's functions' own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execExpr.h"
#include "fmgr.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "columnar/typemap.h"
#include "compat.h"
#include "exec/numeric_math.h"
#include "kernel/numeric_math.h"
#include "kernel/packed_decimal.h"
#include "lower/lower.h"

/* What the session has learned of PostgreSQL's functions, NULL until the first call; and whom it asks. */
static GpucolNumericMath *known = NULL;
static GpucolHost asked;

/* GpucolHost's callback. */
static GpucolStatus
ask_postgres(void *scratch, int function, __int128 x, __int128 y, __int128 *r)
{
	return gpucol_host_numeric(scratch, function, x, y, r);
}

static void
prepare(void)
{
	/* with numbers of 16 bytes, which palloc does not align */
	known = (GpucolNumericMath *)
		TYPEALIGN(16, MemoryContextAllocZero(CacheMemoryContext, gpucol_numeric_math_size + 15));
	asked = (GpucolHost) {
		.context = AllocSetContextCreate(CacheMemoryContext, "gpucol numeric functions", ALLOCSET_SMALL_SIZES),
		.numeric = ask_postgres
	};
}

/* An argument as a packed decimal; false where it is none. */
static bool
read_argument(Datum value, __int128 *packed)
{
	struct varlena *datum = PG_DETOAST_DATUM_PACKED(value);

	return gpucol_packed_read(VARDATA_ANY(datum), VARSIZE_ANY_EXHDR(datum), packed) == GPUCOL_OK;
}

/* The result by kernel/numeric_math.c; false where PostgreSQL's function is to be called. */
static bool
compute(FunctionCallInfo fcinfo, int function, Datum *result)
{
	__int128	args[2] = {0, 0};
	__int128	r;

	for (int i = 0; i < PG_NARGS(); i++)
	{
		if (!read_argument(PG_GETARG_DATUM(i), &args[i]))
			return false;
	}
	if (known == NULL)
		prepare();
	if (gpucol_numeric_math(known, &asked, function, args[0], args[1], &r) != GPUCOL_OK)
		return false;
	*result = gpucol_typemap_numeric(gpucol_packed_mantissa(r), gpucol_packed_scale(r));
	return true;
}

/* PostgreSQL's function for a GpucolNumericFunction. */
static const PGFunction functions[GPUCOL_NUMERIC_FUNCTIONS] = {
	[GPUCOL_NUMERIC_SQRT] = numeric_sqrt,
	[GPUCOL_NUMERIC_LN] = numeric_ln,
	[GPUCOL_NUMERIC_EXP] = numeric_exp,
	[GPUCOL_NUMERIC_LOG] = numeric_log,
	[GPUCOL_NUMERIC_POWER] = numeric_power,
};

static Datum
call_numeric(PG_FUNCTION_ARGS)
{
	int			function = gpucol_numeric_function(fcinfo->flinfo->fn_oid);
	Datum		result;

	return compute(fcinfo, function, &result) ? result : functions[function] (fcinfo);
}

void
gpucol_numeric_math_install(ExprState *state)
{
	for (int i = 0; i < state->steps_len; i++)
	{
		ExprEvalStep *step = &state->steps[i];

		if (gpucol_compat_calls_function(ExecEvalStepOp(state, step)) &&
			gpucol_numeric_function(step->d.func.finfo->fn_oid) >= 0)
			step->d.func.fn_addr = call_numeric;
	}
}

void
gpucol_numeric_math_install_node(PlanState *ps)
{
	if (ps->ps_ProjInfo != NULL)
		gpucol_numeric_math_install(&ps->ps_ProjInfo->pi_state);
	if (ps->qual != NULL)
		gpucol_numeric_math_install(ps->qual);
}
