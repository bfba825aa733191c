/*-------------------------------------------------------------------------
 *
 * jsonb_number.c
 *	  Numbers out of fields of documents, without their text.
 *
 * (document ->> key)::int writes the number that the document has as a numeric as text, and reads the
 * text.  That is two steps of an expression, of which the second one calls two functions:
 *
 *		jsonb_object_field_text()	->	textout(), int4in()
 *
 * All three are replaced.  The first gives, in the stead of a text, the address of what it has found, if
 * that is a number or a boolean; the second hands that address on, and the third knows it and makes its
 * value of the numeric.  Another text than that address, which a branch of a CASE may give them, is for
 * PostgreSQL's functions.  So is what the third cannot tell at sight: it is written as text for them, and
 * the errors are theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/execExpr.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/jsonb.h"
#include "utils/numeric.h"

#include "compat.h"
#include "exec/jsonb_number.h"
#include "kernel/numeric_code.h"

/* Integers that a double has exactly, and powers of ten. */
#define MOST_EXACT		(INT64CONST(1) << 53)
#define MOST_POWER		22

/* What the first step has found, until the second one takes it: nothing is evaluated between them. */
static JsonbValue carried;

/* jsonb_object_field_text() */
static Datum
find_field(PG_FUNCTION_ARGS)
{
	Jsonb	   *document = PG_GETARG_JSONB_P(0);
	text	   *key = PG_GETARG_TEXT_PP(1);
	JsonbValue *found;

	if (!JB_ROOT_IS_OBJECT(document))
		PG_RETURN_NULL();
	found = getKeyJsonValueFromContainer(&document->root, VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key), &carried);
	if (found == NULL || found->type == jbvNull)
		PG_RETURN_NULL();
	if (found->type == jbvString)
		PG_RETURN_TEXT_P(cstring_to_text_with_len(found->val.string.val, found->val.string.len));
	if (found->type != jbvNumeric && found->type != jbvBool)
		return jsonb_object_field_text(fcinfo);
	PG_RETURN_POINTER(&carried);
}

/* textout() */
static Datum
hand_on(PG_FUNCTION_ARGS)
{
	return PG_GETARG_POINTER(0) == (Pointer) &carried ? PG_GETARG_DATUM(0) : textout(fcinfo);
}

/* The number that was found, if one was. */
static bool
is_number(FunctionCallInfo fcinfo)
{
	return PG_GETARG_POINTER(0) == (Pointer) &carried && carried.type == jbvNumeric;
}

/* Let PostgreSQL's function read the text. */
static Datum
read_text(FunctionCallInfo fcinfo, PGFunction function)
{
	if (PG_GETARG_POINTER(0) == (Pointer) &carried)
		fcinfo->args[0].value = carried.type == jbvBool ? CStringGetDatum(carried.val.boolean ? "true" : "false") :
			DirectFunctionCall1(numeric_out, NumericGetDatum(carried.val.numeric));
	return function(fcinfo);
}

/* Digits of the number as they are written, as an integer; false where there are too many. */
static bool
get_digits(int64 *digits, int *scale)
{
	const char *data = VARDATA_ANY(carried.val.numeric);
	size_t		len = VARSIZE_ANY_EXHDR(carried.val.numeric);
	GpucolNumericHead head;

	if (!gpucol_numeric_head(data, len, &head))
		return false;
	*scale = head.scale;
	return gpucol_numeric_read_exact(data, len, head.scale, digits);
}

/* Is it an integer between two? */
static bool
get_integer(FunctionCallInfo fcinfo, int64 least, int64 most, int64 *value)
{
	int			scale;

	return is_number(fcinfo) && get_digits(value, &scale) && scale == 0 && *value >= least && *value <= most;
}

static Datum
read_int2(PG_FUNCTION_ARGS)
{
	int64		value;

	if (get_integer(fcinfo, PG_INT16_MIN, PG_INT16_MAX, &value))
		PG_RETURN_INT16((int16) value);
	return read_text(fcinfo, int2in);
}

static Datum
read_int4(PG_FUNCTION_ARGS)
{
	int64		value;

	if (get_integer(fcinfo, PG_INT32_MIN, PG_INT32_MAX, &value))
		PG_RETURN_INT32((int32) value);
	return read_text(fcinfo, int4in);
}

static Datum
read_int8(PG_FUNCTION_ARGS)
{
	int64		value;

	if (get_integer(fcinfo, PG_INT64_MIN, PG_INT64_MAX, &value))
		PG_RETURN_INT64(value);
	return read_text(fcinfo, int8in);
}

/* One quotient of two doubles is rounded once, as strtod() rounds. */
static Datum
read_float8(PG_FUNCTION_ARGS)
{
	static const double powers[MOST_POWER + 1] = {
		1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
		1e17, 1e18, 1e19, 1e20, 1e21, 1e22
	};
	int64		digits;
	int			scale;

	if (is_number(fcinfo) && get_digits(&digits, &scale) && scale <= MOST_POWER &&
		digits >= -MOST_EXACT && digits <= MOST_EXACT)
		PG_RETURN_FLOAT8((double) digits / powers[scale]);
	return read_text(fcinfo, float8in);
}

/* The numeric stands in the document, which is there as long as a column's value is. */
static Datum
read_numeric(PG_FUNCTION_ARGS)
{
	if (is_number(fcinfo))
		PG_RETURN_NUMERIC(carried.val.numeric);
	return read_text(fcinfo, numeric_in);
}

static Datum
read_bool(PG_FUNCTION_ARGS)
{
	if (PG_GETARG_POINTER(0) == (Pointer) &carried && carried.type == jbvBool)
		PG_RETURN_BOOL(carried.val.boolean);
	return read_text(fcinfo, boolin);
}

static const struct
{
	Oid			oid;
	PGFunction	function;
}			readers[] = {
	{F_INT2IN, read_int2},
	{F_INT4IN, read_int4},
	{F_INT8IN, read_int8},
	{F_FLOAT8IN, read_float8},
	{F_NUMERIC_IN, read_numeric},
	{F_BOOLIN, read_bool},
};

/* Is a step a cast by the text of what the step before it has found in a document? */
static bool
is_cast_field(ExprState *state, const ExprEvalStep *field, const ExprEvalStep *cast)
{
	return gpucol_compat_calls_function(ExecEvalStepOp(state, (ExprEvalStep *) field)) &&
		ExecEvalStepOp(state, (ExprEvalStep *) cast) == EEOP_IOCOERCE &&
		field->resvalue == cast->resvalue &&
		field->d.func.finfo->fn_oid == F_JSONB_OBJECT_FIELD_TEXT &&
		cast->d.iocoerce.finfo_out->fn_oid == F_TEXTOUT;
}

void
gpucol_jsonb_number_install(ExprState *state)
{
	for (int i = 1; state != NULL && i < state->steps_len; i++)
	{
		ExprEvalStep *field = &state->steps[i - 1];
		ExprEvalStep *cast = &state->steps[i];

		if (!is_cast_field(state, field, cast))
			continue;
		for (int f = 0; f < (int) lengthof(readers); f++)
		{
			if (cast->d.iocoerce.finfo_in->fn_oid != readers[f].oid)
				continue;
			field->d.func.fn_addr = find_field;
			cast->d.iocoerce.finfo_out->fn_addr = hand_on;
			cast->d.iocoerce.finfo_in->fn_addr = readers[f].function;
		}
	}
}
