/*-------------------------------------------------------------------------
 *
 * raise.c
 *	  A status that a value or a cancel request caused, as the error that the
 *	  function called by the user would have raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"

#include "engine/backend.h"

static void
raise_out_of_range(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", type)));
}

/* The error of an argument that a function has no value for. */
static void
raise_function(int code, const char *message)
{
	ereport(ERROR, (errcode(code), errmsg("%s", message)));
}

/*
 * Raise the error of a status that does not depend on what ran; return for the
 * others, which the caller words with what it knows (table, limits).
 */
void
gpucol_engine_raise(GpucolStatus status)
{
	switch (status)
	{
		case GPUCOL_INT2_OUT_OF_RANGE:
			raise_out_of_range("smallint");
			break;
		case GPUCOL_INT4_OUT_OF_RANGE:
			raise_out_of_range("integer");
			break;
		case GPUCOL_INT8_OUT_OF_RANGE:
			raise_out_of_range("bigint");
			break;
		case GPUCOL_FLOAT_OVERFLOW:
			float_overflow_error();
			break;
		case GPUCOL_FLOAT_UNDERFLOW:
			float_underflow_error();
			break;
		case GPUCOL_DIVISION_BY_ZERO:
			ereport(ERROR,
					(errcode(ERRCODE_DIVISION_BY_ZERO),
					 errmsg("division by zero")));
			break;
		case GPUCOL_ROOT_OF_NEGATIVE:
			raise_function(ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
						   "cannot take square root of a negative number");
			break;
		case GPUCOL_LOG_OF_ZERO:
			raise_function(ERRCODE_INVALID_ARGUMENT_FOR_LOG, "cannot take logarithm of zero");
			break;
		case GPUCOL_LOG_OF_NEGATIVE:
			raise_function(ERRCODE_INVALID_ARGUMENT_FOR_LOG,
						   "cannot take logarithm of a negative number");
			break;
		case GPUCOL_ZERO_TO_NEGATIVE:
			raise_function(ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
						   "zero raised to a negative power is undefined");
			break;
		case GPUCOL_COMPLEX_POWER:
			raise_function(ERRCODE_INVALID_ARGUMENT_FOR_POWER_FUNCTION,
						   "a negative number raised to a non-integer power yields a complex result");
			break;
		case GPUCOL_INPUT_OUT_OF_RANGE:
			raise_function(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE, "input is out of range");
			break;
		case GPUCOL_DATE_OUT_OF_RANGE:
			raise_function(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "date out of range");
			break;
		case GPUCOL_DATE_NO_STAMP:
			raise_function(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "date out of range for timestamp");
			break;
		case GPUCOL_STAMP_OUT_OF_RANGE:
			raise_function(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "timestamp out of range");
			break;
		case GPUCOL_INFINITE_DATES:
			raise_function(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "cannot subtract infinite dates");
			break;
		case GPUCOL_SPAN_OUT_OF_RANGE:
			raise_function(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE, "interval out of range");
			break;
		case GPUCOL_BOUNDS_TURNED:
			raise_function(ERRCODE_DATA_EXCEPTION,
						   "range lower bound must be less than or equal to range upper bound");
			break;
		case GPUCOL_CANCELLED:
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("canceling statement due to user request")));
			break;
		default:
			break;
	}
}
