/*-------------------------------------------------------------------------
 *
 * functors.c
 *	  Functions of datalog programs that the engine of the recursion does not have.
 *
 * They mean what they mean in Souffle with 64-bit numbers, but for what has no good
 * meaning there: overflow, and text that is no number, are errors; strings are
 * measured in characters, not bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"

#include "recursion/front/functors.h"
#include "recursion/front/records.h"
#include "kernel/recursion_values.h"

#define SHIFT_MASK	63

static void
out_of_range(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("bigint out of range")));
}

static const char *
symbol(const DatalogCall *call, int arg, uint32 *len)
{
	return gpucol_symbols_get(call->symbols, call->args[arg], len);
}

/* ---- integers ---- */

static int64
compute_band(const DatalogCall *call)
{
	return call->args[0] & call->args[1];
}

static int64
compute_bor(const DatalogCall *call)
{
	return call->args[0] | call->args[1];
}

static int64
compute_bxor(const DatalogCall *call)
{
	return call->args[0] ^ call->args[1];
}

static int64
compute_bnot(const DatalogCall *call)
{
	return ~call->args[0];
}

static int64
compute_bshl(const DatalogCall *call)
{
	return (int64) ((uint64) call->args[0] << (call->args[1] & SHIFT_MASK));
}

static int64
compute_bshru(const DatalogCall *call)
{
	return (int64) ((uint64) call->args[0] >> (call->args[1] & SHIFT_MASK));
}

static int64
compute_bshr(const DatalogCall *call)
{
	if (call->type == DATALOG_UNSIGNED)
		return compute_bshru(call);
	return call->args[0] >> (call->args[1] & SHIFT_MASK);
}

static int64
compute_land(const DatalogCall *call)
{
	return call->args[0] != 0 && call->args[1] != 0;
}

static int64
compute_lor(const DatalogCall *call)
{
	return call->args[0] != 0 || call->args[1] != 0;
}

static int64
compute_lxor(const DatalogCall *call)
{
	return (call->args[0] != 0) != (call->args[1] != 0);
}

static int64
compute_lnot(const DatalogCall *call)
{
	return call->args[0] == 0;
}

/* a * b with the type's own overflow. */
static int64
multiply(DatalogType type, int64 a, int64 b)
{
	int64		product;
	uint64		wide;

	if (type == DATALOG_UNSIGNED)
	{
		if (pg_mul_u64_overflow((uint64) a, (uint64) b, &wide))
			out_of_range();
		return (int64) wide;
	}
	if (pg_mul_s64_overflow(a, b, &product))
		out_of_range();
	return product;
}

/* Integer powers, by squaring; the fraction of a negative power is dropped. */
static int64
integer_power(const DatalogCall *call)
{
	int64		base = call->args[0];
	uint64		power = (uint64) call->args[1];
	int64		result = 1;

	if (call->type != DATALOG_UNSIGNED && call->args[1] < 0)
	{
		if (base == 0)
			ereport(ERROR,
					(errcode(ERRCODE_DIVISION_BY_ZERO),
					 errmsg("division by zero")));
		return base == 1 ? 1 : base == -1 ? (call->args[1] % 2 == 0 ? 1 : -1) : 0;
	}
	for (; power > 0; power >>= 1)
	{
		if (power & 1)
			result = multiply(call->type, result, base);
		if (power > 1)
			base = multiply(call->type, base, base);
	}
	return result;
}

static int64
compute_power(const DatalogCall *call)
{
	if (call->type == DATALOG_FLOAT)
		return gpucol_rec_bits(DatumGetFloat8(DirectFunctionCall2(dpow,
																  Float8GetDatum(gpucol_rec_double(call->args[0])),
																  Float8GetDatum(gpucol_rec_double(call->args[1])))));
	return integer_power(call);
}

/* ---- symbols ---- */

static int64
compute_cat(const DatalogCall *call)
{
	uint32		left_len;
	uint32		right_len;
	const char *left = symbol(call, 0, &left_len);
	const char *right = symbol(call, 1, &right_len);
	StringInfoData buf;

	initStringInfo(&buf);
	appendBinaryStringInfo(&buf, left, (int) left_len);
	appendBinaryStringInfo(&buf, right, (int) right_len);
	return gpucol_symbols_code(call->symbols, buf.data, (uint32) buf.len);
}

static int64
compute_strlen(const DatalogCall *call)
{
	uint32		len;
	const char *text = symbol(call, 0, &len);

	return pg_mbstrlen_with_len(text, (int) len);
}

/* Nothing where it starts behind the end, or before the beginning. */
static int64
compute_substr(const DatalogCall *call)
{
	uint32		len;
	const char *text = symbol(call, 0, &len);
	int64		characters = pg_mbstrlen_with_len(text, (int) len);
	int64		start = call->args[1];
	int			from;
	int			to;

	if (start < 0 || start > characters || call->args[2] <= 0)
		return gpucol_symbols_code(call->symbols, "", 0);
	from = pg_mbcharcliplen(text, (int) len, (int) start);
	to = pg_mbcharcliplen(text, (int) len,
						  (int) (start + Min(call->args[2], characters - start)));
	return gpucol_symbols_code(call->symbols, text + from, (uint32) (to - from));
}

/* Less than, equal to or greater than 0, by the bytes. */
static int64
compute_compare(const DatalogCall *call)
{
	uint32		left_len;
	uint32		right_len;
	const char *left = symbol(call, 0, &left_len);
	const char *right = symbol(call, 1, &right_len);
	int			order = memcmp(left, right, Min(left_len, right_len));

	return order != 0 ? order : (int64) left_len - (int64) right_len;
}

/* Is the first a part of the second? */
static int64
compute_contains(const DatalogCall *call)
{
	uint32		len;
	const char *part = symbol(call, 0, &len);
	const char *whole = symbol(call, 1, &len);

	return strstr(whole, part) != NULL;
}

/* The end of a regular expression's set of characters, which begins at a "[". */
static const char *
end_of_set(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	p += *p == ']' ? 1 : 0;
	while (*p != '\0' && *p != ']')
	{
		const char *end = NULL;

		if (*p == '[' && p[1] != '\0' && strchr(":.=", p[1]) != NULL)
			end = strstr(p + 2, (char[]) {p[1], ']', '\0'});
		if (*p == '\\' && p[1] != '\0')
			end = p;
		p = end == NULL ? p + 1 : end + 2;
	}
	return p;
}

/* A "{" that begins no count is a character for PostgreSQL, an error for Souffle. */
static void
check_braces(const char *p)
{
	for (; *p != '\0'; p++)
	{
		if (*p == '[')
			p = end_of_set(p);
		else if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '{' && !(p[1] >= '0' && p[1] <= '9'))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_REGULAR_EXPRESSION),
					 errmsg("invalid regular expression: no number follows \"{\""),
					 errhint("A brace as a character is written \\{.")));
		if (*p == '\0')
			break;
	}
}

/* Does the first, a regular expression, describe the whole of the second? */
static int64
compute_match(const DatalogCall *call)
{
	uint32		pattern_len;
	uint32		len;
	const char *pattern = symbol(call, 0, &pattern_len);
	const char *whole = symbol(call, 1, &len);
	Datum		regex = CStringGetTextDatum(psprintf("^(?:%s)$", pattern));

	check_braces(pattern);
	return DatumGetBool(DirectFunctionCall2Coll(textregexeq, C_COLLATION_OID,
												PointerGetDatum(cstring_to_text_with_len(whole, (int) len)),
												regex));
}

/* ---- conversions ---- */

static int64
compute_to_string(const DatalogCall *call)
{
	char	   *text;

	switch (call->from)
	{
		case DATALOG_SYMBOL:
			return call->args[0];
		case DATALOG_FLOAT:
			text = psprintf("%f", gpucol_rec_double(call->args[0]));
			break;
		case DATALOG_UNSIGNED:
			text = psprintf(UINT64_FORMAT, (uint64) call->args[0]);
			break;
		default:
			text = psprintf(INT64_FORMAT, call->args[0]);
			break;
	}
	return gpucol_symbols_code(call->symbols, text, (uint32) strlen(text));
}

static int64
compute_to_float(const DatalogCall *call)
{
	uint32		len;

	switch (call->from)
	{
		case DATALOG_SYMBOL:
			return gpucol_rec_bits(DatumGetFloat8(DirectFunctionCall1(float8in,
																 CStringGetDatum(symbol(call, 0, &len)))));
		case DATALOG_FLOAT:
			return call->args[0];
		case DATALOG_UNSIGNED:
			return gpucol_rec_bits((double) (uint64) call->args[0]);
		default:
			return gpucol_rec_bits((double) call->args[0]);
	}
}

/* Does the truncated float fit 64 bits, from `least` on and below `end`? */
static double
truncated(double value, double least, double end)
{
	value = trunc(value);
	if (isnan(value) || value < least || value >= end)
		out_of_range();
	return value;
}

/* Digits of a number in text, behind 0x or 0b, and their base. */
static const char *
number_digits(const char *text, int *base)
{
	*base = strncmp(text, "0x", 2) == 0 ? 16 : strncmp(text, "0b", 2) == 0 ? 2 : 10;
	return *base == 10 ? text : text + 2;
}

/* An unsigned number in text; `what` for the error. */
static uint64
unsigned_number(const char *text, const char *what)
{
	int			base;
	const char *digits = number_digits(text, &base);
	char	   *end;
	uint64		value;

	errno = 0;
	value = strtoull(digits, &end, base);
	if (!isxdigit((unsigned char) *digits) || *end != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid %s: \"%s\"", what, text)));
	if (errno == ERANGE)
		out_of_range();
	return value;
}

/* The same with a sign. */
static int64
signed_number(const char *text)
{
	bool		negative = text[0] == '-';
	uint64		value = unsigned_number(text + (negative ? 1 : 0), "number");

	if (value > (uint64) PG_INT64_MAX + (negative ? 1 : 0))
		out_of_range();
	return negative ? (int64) (0 - value) : (int64) value;
}

static int64
compute_to_number(const DatalogCall *call)
{
	uint32		len;

	switch (call->from)
	{
		case DATALOG_SYMBOL:
			return signed_number(symbol(call, 0, &len));
		case DATALOG_FLOAT:
			return (int64) truncated(gpucol_rec_double(call->args[0]), -0x1p63, 0x1p63);
		case DATALOG_UNSIGNED:
			if (call->args[0] < 0)
				out_of_range();
			return call->args[0];
		default:
			return call->args[0];
	}
}

static int64
compute_to_unsigned(const DatalogCall *call)
{
	uint32		len;

	switch (call->from)
	{
		case DATALOG_SYMBOL:
			return (int64) unsigned_number(symbol(call, 0, &len), "unsigned number");
		case DATALOG_FLOAT:
			return (int64) (uint64) truncated(gpucol_rec_double(call->args[0]), 0, 0x1p64);
		case DATALOG_UNSIGNED:
			return call->args[0];
		default:
			if (call->args[0] < 0)
				out_of_range();
			return call->args[0];
	}
}

/* ---- floats: PostgreSQL's functions ---- */

/* What a function of the server makes of a float. */
static int64
of_float(const DatalogCall *call, PGFunction function)
{
	return gpucol_rec_bits(DatumGetFloat8(DirectFunctionCall1(function,
															  Float8GetDatum(gpucol_rec_double(call->args[0])))));
}

#define FLOAT_FUNCTION(name, function) \
static int64 \
compute_##name(const DatalogCall *call) \
{ \
	return of_float(call, function); \
}

FLOAT_FUNCTION(sin, dsin)
FLOAT_FUNCTION(cos, dcos)
FLOAT_FUNCTION(tan, dtan)
FLOAT_FUNCTION(asin, dasin)
FLOAT_FUNCTION(acos, dacos)
FLOAT_FUNCTION(atan, datan)
FLOAT_FUNCTION(sinh, dsinh)
FLOAT_FUNCTION(cosh, dcosh)
FLOAT_FUNCTION(tanh, dtanh)
FLOAT_FUNCTION(asinh, dasinh)
FLOAT_FUNCTION(acosh, dacosh)
FLOAT_FUNCTION(atanh, datanh)
FLOAT_FUNCTION(exp, dexp)
FLOAT_FUNCTION(log, dlog1)
FLOAT_FUNCTION(sqrt, dsqrt)

/* ---- others ---- */

/* ord(x), as(x, type): the value itself. */
static int64
compute_same(const DatalogCall *call)
{
	return call->args[0];
}

static int64
compute_autoinc(const DatalogCall *call)
{
	return call->store->counter++;
}

/* range(a, b) goes up by 1, or down where it must. */
static int64
compute_range_step(const DatalogCall *call)
{
	switch (call->from)
	{
		case DATALOG_FLOAT:
			return gpucol_rec_bits(gpucol_rec_double(call->args[0]) <= gpucol_rec_double(call->args[1]) ? 1 : -1);
		case DATALOG_UNSIGNED:
			return (uint64) call->args[0] <= (uint64) call->args[1] ? 1 : -1;
		default:
			return call->args[0] <= call->args[1] ? 1 : -1;
	}
}

/* subsumption.c */
static int64
compute_no_order(const DatalogCall *call)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("the subsumption clauses of a relation are no order"),
			 errdetail("A row is subsumed, but no row that stays subsumes it."),
			 errhint("Rows must not subsume each other, and what a row subsumes, those that subsume it must subsume, too.")));
	return call->args[0];
}

/* ---- the table ---- */

#define INTEGERS(name, nargs) \
	{#name, nargs, SIGNATURE_INTEGER, DATALOG_UNKNOWN, {0}, compute_##name}
#define CONVERSION(name, function, result) \
	{name, 1, SIGNATURE_CONVERSION, result, {0}, function}

#define FLOATS(name) \
	{#name, 1, SIGNATURE_FIXED, DATALOG_FLOAT, {DATALOG_FLOAT}, compute_##name}

static const DatalogFunctor functors[] = {
	INTEGERS(band, 2), INTEGERS(bor, 2), INTEGERS(bxor, 2), INTEGERS(bnot, 1),
	INTEGERS(bshl, 2), INTEGERS(bshr, 2), INTEGERS(bshru, 2),
	INTEGERS(land, 2), INTEGERS(lor, 2), INTEGERS(lxor, 2), INTEGERS(lnot, 1),
	{"^", 2, SIGNATURE_NUMERIC, DATALOG_UNKNOWN, {0}, compute_power},
	{"cat", 2, SIGNATURE_FIXED, DATALOG_SYMBOL, {DATALOG_SYMBOL, DATALOG_SYMBOL}, compute_cat},
	{"strlen", 1, SIGNATURE_FIXED, DATALOG_NUMBER, {DATALOG_SYMBOL}, compute_strlen},
	{"substr", 3, SIGNATURE_FIXED, DATALOG_SYMBOL, {DATALOG_SYMBOL, DATALOG_NUMBER, DATALOG_NUMBER}, compute_substr},
	{"<", 2, SIGNATURE_FIXED, DATALOG_NUMBER, {DATALOG_SYMBOL, DATALOG_SYMBOL}, compute_compare},
	{"contains", 2, SIGNATURE_FIXED, DATALOG_NUMBER, {DATALOG_SYMBOL, DATALOG_SYMBOL}, compute_contains},
	{"match", 2, SIGNATURE_FIXED, DATALOG_NUMBER, {DATALOG_SYMBOL, DATALOG_SYMBOL}, compute_match},
	CONVERSION("to_string", compute_to_string, DATALOG_SYMBOL),
	CONVERSION("to_number", compute_to_number, DATALOG_NUMBER),
	CONVERSION("to_unsigned", compute_to_unsigned, DATALOG_UNSIGNED),
	CONVERSION("to_float", compute_to_float, DATALOG_FLOAT),
	CONVERSION("itof", compute_to_float, DATALOG_FLOAT),
	CONVERSION("utof", compute_to_float, DATALOG_FLOAT),
	CONVERSION("ftoi", compute_to_number, DATALOG_NUMBER),
	CONVERSION("utoi", compute_to_number, DATALOG_NUMBER),
	CONVERSION("ftou", compute_to_unsigned, DATALOG_UNSIGNED),
	CONVERSION("itou", compute_to_unsigned, DATALOG_UNSIGNED),
	CONVERSION("ord", compute_same, DATALOG_NUMBER),
	{"as", 1, SIGNATURE_CAST, DATALOG_UNKNOWN, {0}, compute_same},
	{"autoinc", 0, SIGNATURE_FIXED, DATALOG_NUMBER, {0}, compute_autoinc},
	{"range", 3, SIGNATURE_NUMERIC, DATALOG_UNKNOWN, {0}, NULL},	/* ranges.c */
	{"range step", 2, SIGNATURE_NUMERIC, DATALOG_UNKNOWN, {0}, compute_range_step},
	CONVERSION("no order", compute_no_order, DATALOG_NUMBER),	/* subsumption.c */
	FLOATS(sin), FLOATS(cos), FLOATS(tan), FLOATS(asin), FLOATS(acos), FLOATS(atan),
	FLOATS(sinh), FLOATS(cosh), FLOATS(tanh), FLOATS(asinh), FLOATS(acosh), FLOATS(atanh),
	FLOATS(exp), FLOATS(log), FLOATS(sqrt),
	{"pack", 2, SIGNATURE_RECORD, DATALOG_UNKNOWN, {0}, gpucol_datalog_pack},
	{"field", 2, SIGNATURE_RECORD, DATALOG_UNKNOWN, {0}, gpucol_datalog_field},
};

const DatalogFunctor *
gpucol_datalog_functor(const char *name)
{
	for (int i = 0; i < (int) lengthof(functors); i++)
		if (strcmp(functors[i].name, name) == 0)
			return &functors[i];
	return NULL;
}

void
gpucol_datalog_compute(const DatalogHost *host, DatalogStore *store, uint32 n,
					   const int64 *const *values, int64 *result, uint8 *result_nulls)
{
	DatalogCall call = {.functor = host->functor,.from = host->from,.type = host->type,.symbols = store->symbols,
	.store = store};
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol datalog functor",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	CHECK_FOR_INTERRUPTS();
	memset(result_nulls, 0, n);
	for (uint32 row = 0; row < n; row++)
	{
		for (int i = 0; i < host->functor->nargs; i++)
			call.args[i] = values[i][row];
		result[row] = host->functor->compute(&call);
		if (row % 64 == 63)
			MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}
