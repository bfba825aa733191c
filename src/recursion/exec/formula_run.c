/*-------------------------------------------------------------------------
 *
 * formula_run.c
 *	  Expressions of numbers and texts of a recursion, computed without PostgreSQL's executor: running the steps.
 *
 * Each step takes lanes from a stack, values of the rows of a piece, and leaves one.  A row's value is good, NULL, or
 * bad: not PostgreSQL's result, so that the row is left to the executor if that value counts.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "columnar/typemap.h"
#include "kernel/array_value.h"
#include "kernel/scalar.h"
#include "kernel/text_part.h"
#include "kernel/text_search.h"
#include "recursion/exec/formula_steps.h"
#include "recursion/front/number.h"

/* Elements of an array that is appended to */
#define MOST_ELEMENTS	100000

/* Strings of the rows of a piece, but for one. */
#define PIECE_BYTES		((uint64) 256 << 10)

typedef GpucolFormulaStep Step;
typedef GpucolFormulaValue Value;
typedef GpucolFormulaLane Lane;

/* In this order: of two operands that are no good the worse counts. */
enum
{
	STATE_GOOD,
	STATE_NULL,
	STATE_BAD
};

/* A call on one row's operands; its result takes the place of the first. */
typedef GpucolStatus (*Call) (const Step *step, Value *x, const Value *y);

/* ---- numbers ---- */

static inline pg_attribute_always_inline void
each(const Step *step, Lane *a, const Lane *b, uint32 n, Call call)
{
	for (uint32 i = 0; i < n; i++)
	{
		uint8		state = Max(a->states[i], b->states[i]);

		if (state == STATE_GOOD && call(step, &a->values[i], &b->values[i]) != GPUCOL_OK)
			state = STATE_BAD;
		a->states[i] = state;
	}
}

#define CALL(name, expr) \
	static inline GpucolStatus \
	call_##name(const Step *step pg_attribute_unused(), Value *x, const Value *y pg_attribute_unused()) \
	{ \
		return expr; \
	}

/* Of what gives no status. */
#define SET(name, member, expr) \
	static inline GpucolStatus \
	call_##name(const Step *step pg_attribute_unused(), Value *x, const Value *y pg_attribute_unused()) \
	{ \
		x->member = expr; \
		return GPUCOL_OK; \
	}

CALL(ADD_I, gpucol_scalar_ADD_I(step->aux, x->i, y->i, &x->i))
CALL(SUB_I, gpucol_scalar_SUB_I(step->aux, x->i, y->i, &x->i))
CALL(MUL_I, gpucol_scalar_MUL_I(step->aux, x->i, y->i, &x->i))
CALL(DIV_I, gpucol_scalar_DIV_I(step->aux, x->i, y->i, &x->i))
CALL(MOD_I, gpucol_scalar_MOD_I(step->aux, x->i, y->i, &x->i))
CALL(CHECK_I, gpucol_scalar_CHECK_I(step->aux, x->i, &x->i))
SET(EQ_I, i, x->i == y->i)
SET(NE_I, i, x->i != y->i)
SET(LT_I, i, x->i < y->i)
SET(LE_I, i, x->i <= y->i)
SET(I_TO_F, f, gpucol_scalar_I_TO_F(step->aux, x->i))
CALL(ADD_F, gpucol_scalar_ADD_F(step->aux, x->f, y->f, &x->f))
CALL(SUB_F, gpucol_scalar_SUB_F(step->aux, x->f, y->f, &x->f))
CALL(MUL_F, gpucol_scalar_MUL_F(step->aux, x->f, y->f, &x->f))
CALL(DIV_F, gpucol_scalar_DIV_F(step->aux, x->f, y->f, &x->f))
SET(NEG_F, f, -x->f)
SET(ABS_F, f, fabs(x->f))
SET(EQ_F, i, gpucol_scalar_EQ_F(x->f, y->f))
SET(NE_F, i, gpucol_scalar_NE_F(x->f, y->f))
SET(LT_F, i, gpucol_scalar_LT_F(x->f, y->f))
SET(LE_F, i, gpucol_scalar_LE_F(x->f, y->f))
SET(COMPARE_P, i, gpucol_packed_compare(step->aux, x->d, y->d))

/* A packed decimal computed of x and y, or of x alone. */
static inline GpucolStatus
call_ARITH_P(const Step *step, Value *x, const Value *y)
{
	__int128	r = 0;
	GpucolStatus status = gpucol_scalar_ARITH_P(step->aux, x->d, y->d, &r);

	x->d = r;
	return status;
}

static inline GpucolStatus
call_PART_P(const Step *step, Value *x, const Value *y pg_attribute_unused())
{
	__int128	r = 0;
	GpucolStatus status = gpucol_scalar_PART_P(step->aux, x->d, &r);

	x->d = r;
	return status;
}

/* Sums of numbers that display as many digits, as nearly always, need not be brought to one scale. */
static inline GpucolStatus
call_ADD_P(const Step *step, Value *x, const Value *y)
{
	int64		mantissa;

	if (gpucol_packed_scale(x->d) != gpucol_packed_scale(y->d) || x->d != (int64) x->d || y->d != (int64) y->d ||
		__builtin_add_overflow((int64) x->d, (int64) (y->d - gpucol_packed_scale(y->d)), &mantissa))
		return call_ARITH_P(step, x, y);
	x->d = mantissa;
	return GPUCOL_OK;
}

static bool
takes_two(const Step *step)
{
	switch ((GpucolOpcode) step->op)
	{
		case GPUCOL_OP_CHECK_I:
		case GPUCOL_OP_I_TO_F:
		case GPUCOL_OP_NEG_F:
		case GPUCOL_OP_ABS_F:
		case GPUCOL_OP_PART_P:
			return false;
		default:
			return true;
	}
}

#define CASE(name) \
	case GPUCOL_OP_##name: \
		each(step, a, b, n, call_##name); \
		break

static void
run_function(const Step *step, Lane *a, const Lane *b, uint32 n)
{
	switch ((GpucolOpcode) step->op)
	{
			CASE(ADD_I);
			CASE(SUB_I);
			CASE(MUL_I);
			CASE(DIV_I);
			CASE(MOD_I);
			CASE(CHECK_I);
			CASE(EQ_I);
			CASE(NE_I);
			CASE(LT_I);
			CASE(LE_I);
			CASE(I_TO_F);
			CASE(ADD_F);
			CASE(SUB_F);
			CASE(MUL_F);
			CASE(DIV_F);
			CASE(NEG_F);
			CASE(ABS_F);
			CASE(EQ_F);
			CASE(NE_F);
			CASE(LT_F);
			CASE(LE_F);
			CASE(COMPARE_P);
			CASE(PART_P);
		default:
			if (step->aux == GPUCOL_PACKED_ADD)
				each(step, a, b, n, call_ADD_P);
			else
				each(step, a, b, n, call_ARITH_P);
			break;
	}
}

/* A mantissa as a packed decimal. */
static GpucolStatus
make_number(__int128 mantissa, int scale, Value *x)
{
	__int128	packed = 0;
	GpucolStatus status = gpucol_packed_make(mantissa, scale, &packed);

	x->d = packed;
	return status;
}

CALL(number, make_number(x->i, 0, x))

/* A packed decimal rounded, with as many digits behind the point as it is rounded to. */
static GpucolStatus
call_round(const Step *step, Value *x, const Value *y pg_attribute_unused())
{
	__int128	mantissa;
	GpucolStatus status = gpucol_scalar_ROUND_P(step->aux, x->d, &mantissa);

	if (status == GPUCOL_OK && step->digits > 0 && gpucol_magnitude(mantissa) >= gpucol_power10(step->digits))
		return GPUCOL_UNSUPPORTED;
	return status != GPUCOL_OK ? status : make_number(mantissa, GPUCOL_PACKED_ROUND_SCALE(step->aux), x);
}

/* Powers of ten of up to so many zeros are floats; so is an integer of up to so many bits. */
#define REAL_SCALE		18
#define REAL_BITS		53

/* The float nearest to a packed decimal: a quotient of two floats that are what they stand for. */
static GpucolStatus
call_real(const Step *step pg_attribute_unused(), Value *x, const Value *y pg_attribute_unused())
{
	__int128	mantissa = gpucol_packed_mantissa(x->d);
	int			scale = gpucol_packed_scale(x->d);

	if (gpucol_magnitude(mantissa) > UINT64CONST(1) << REAL_BITS || scale > REAL_SCALE)
		return GPUCOL_UNSUPPORTED;
	x->f = (double) (int64) mantissa / (double) gpucol_power10(scale);
	return GPUCOL_OK;
}

/* Is x less than y, as PostgreSQL orders them? */
static inline bool
is_less(GpucolFormulaKind kind, const Value *x, const Value *y)
{
	switch (kind)
	{
		case KIND_INT:
			return x->i < y->i;
		case KIND_FLOAT:
			return gpucol_scalar_LT_F(x->f, y->f);
		default:
			return gpucol_packed_compare(GPUCOL_PACKED_LT, x->d, y->d);
	}
}

/* GREATEST and LEAST: of equal values the first. */
static void
run_extreme(const Step *step, Lane *a, const Lane *b, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		bool		better = b->states[i] == STATE_GOOD && a->states[i] != STATE_BAD &&
			(a->states[i] == STATE_NULL || (step->aux ? is_less(step->of, &b->values[i], &a->values[i]) :
											is_less(step->of, &a->values[i], &b->values[i])));

		if (better)
			a->values[i] = b->values[i];
		if (better || b->states[i] == STATE_BAD)
			a->states[i] = b->states[i];
	}
}

/* ---- logic ---- */

/* AND (decides: false) and OR (true): the second counts unless the first decides. */
static void
run_logic(Lane *a, const Lane *b, uint32 n, bool decides)
{
	for (uint32 i = 0; i < n; i++)
	{
		bool		decided = a->states[i] == STATE_GOOD && (a->values[i].i != 0) == decides;

		if (decided || a->states[i] == STATE_BAD)
			continue;
		if (b->states[i] == STATE_GOOD && (a->states[i] == STATE_GOOD || (b->values[i].i != 0) == decides))
		{
			a->values[i].i = b->values[i].i;
			a->states[i] = STATE_GOOD;
		}
		else
			a->states[i] = b->states[i] == STATE_BAD ? STATE_BAD : STATE_NULL;
	}
}

static void
run_is_null(Lane *a, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		a->values[i].i = a->states[i] == STATE_NULL;
		a->states[i] = a->states[i] == STATE_BAD ? STATE_BAD : STATE_GOOD;
	}
}

static void
run_either(Lane *a, const Lane *b, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		if (a->states[i] != STATE_NULL)
			continue;
		a->values[i] = b->values[i];
		a->states[i] = b->states[i];
	}
}

/* The lane behind the condition's where that holds, else the one behind it. */
static void
run_select(Lane *a, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		const Lane *from = a->states[i] == STATE_GOOD && a->values[i].i != 0 ? &a[1] : &a[2];

		if (a->states[i] == STATE_BAD)
			continue;
		a->values[i] = from->values[i];
		a->states[i] = from->states[i];
	}
}

/* ---- texts and arrays ---- */

/* n texts as one, of a row. */
static bool
concat(Lane *parts, int n, uint32 row)
{
	Size		len = 0;
	char	   *data;
	char	   *at;

	for (int i = 0; i < n; i++)
		len += parts[i].values[row].s.len;
	if (len > MaxAllocSize - VARHDRSZ)
		return false;
	data = at = palloc(len + 1);
	for (int i = 0; i < n; i++)
	{
		memcpy(at, parts[i].values[row].s.data, parts[i].values[row].s.len);
		at += parts[i].values[row].s.len;
	}
	parts[0].values[row].s = (GpucolBytes) {data, len};
	return true;
}

static void
run_concat(const Step *step, Lane *parts, uint32 n)
{
	for (uint32 row = 0; row < n; row++)
	{
		uint8		state = STATE_GOOD;

		for (int i = 0; i < step->aux; i++)
			state = Max(state, parts[i].states[row]);
		/* concat() leaves NULLs out */
		if ((state == STATE_NULL && !step->op) || (state == STATE_GOOD && !concat(parts, step->aux, row)))
			state = STATE_BAD;
		parts[0].states[row] = state;
	}
}

/* The part of a text; false where PostgreSQL would complain. */
static bool
take_part(const GpucolRecursiveFormula *formula, int which, GpucolBytes *text, int64 from, int64 count)
{
	GpucolTextPart part = {.aux = formula->is_bytes ? GPUCOL_TEXT_BYTES : 0,.count = PG_INT64_MAX};

	if (count < 0 || from == PG_INT32_MIN)
		return false;
	switch (which)
	{
		case PART_FROM_FOR:
			part.count = Max(from + count, 1) - Max(from, 1);
			part.from = Max(from, 1) - 1;
			break;
		case PART_FROM:
			part.from = Max(from, 1) - 1;
			break;
		case PART_LEFT:
			part.count = from >= 0 ? from : part.count;
			part.from = from >= 0 ? 0 : -from;
			part.aux |= from >= 0 ? 0 : GPUCOL_TEXT_ALL_BUT_LAST;
			break;
		default:
			part.from = from >= 0 ? from : -from;
			part.aux |= from >= 0 ? GPUCOL_TEXT_LAST : 0;
			break;
	}
	*text = gpucol_text_part(*text, part);
	return true;
}

static void
run_part(const GpucolRecursiveFormula *formula, const Step *step, Lane *a, uint32 n)
{
	bool		three = step->aux == PART_FROM_FOR;

	for (uint32 i = 0; i < n; i++)
	{
		uint8		state = Max(a->states[i], a[1].states[i]);

		state = three ? Max(state, a[2].states[i]) : state;
		if (state == STATE_GOOD && !take_part(formula, step->aux, &a->values[i].s, a[1].values[i].i,
											  three ? a[2].values[i].i : 0))
			state = STATE_BAD;
		a->states[i] = state;
	}
}

static int64
characters(const GpucolRecursiveFormula *formula, const char *data, size_t len)
{
	return formula->is_bytes ? (int64) len : gpucol_text_characters(data, len);
}

static void
run_length(const GpucolRecursiveFormula *formula, Lane *a, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
		if (a->states[i] == STATE_GOOD)
			a->values[i].i = characters(formula, a->values[i].s.data, a->values[i].s.len);
}

static void
run_search(const GpucolRecursiveFormula *formula, Lane *a, const Lane *b, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		GpucolBytes text = a->values[i].s;
		GpucolBytes piece = b->values[i].s;
		const char *at;

		a->states[i] = Max(a->states[i], b->states[i]);
		if (a->states[i] != STATE_GOOD)
			continue;
		at = piece.len == 0 ? text.data : piece.len > text.len ? NULL :
			gpucol_text_search(text.data, text.len, piece.data, piece.len);
		a->values[i].i = at == NULL ? 0 : 1 + characters(formula, text.data, at - text.data);
	}
}

SET(alike, i, x->s.len == y->s.len && memcmp(x->s.data, y->s.data, x->s.len) == 0)

/* An array with one more element, behind room for the head of a varlena; of what is not plain it is PostgreSQL's. */
static GpucolStatus
call_append(const Step *step, Value *array, const Value *y)
{
	int			width = step->aux;
	int32		narrow = (int32) y->i;
	GpucolArrayValue old;
	ArrayType  *made;
	Size		size;

	if (!gpucol_array_open(array->s, &old) || old.ndim > 1 || old.present != NULL || old.nitems >= MOST_ELEMENTS ||
		(old.ndim == 1 && gpucol_array_lower(&old, 0) > PG_INT32_MAX - 2 * MOST_ELEMENTS))
		return GPUCOL_UNSUPPORTED;
	size = ARR_OVERHEAD_NONULLS(1) + (Size) (old.nitems + 1) * width;
	made = palloc(size);
	made->ndim = 1;
	made->dataoffset = 0;
	made->elemtype = width == 4 ? INT4OID : INT8OID;
	ARR_DIMS(made)[0] = (int) old.nitems + 1;
	ARR_LBOUND(made)[0] = old.ndim == 1 ? gpucol_array_lower(&old, 0) : 1;
	if (old.nitems > 0)
		memcpy(ARR_DATA_PTR(made), old.base + old.first, (Size) old.nitems * width);
	memcpy(ARR_DATA_PTR(made) + (Size) old.nitems * width, width == 4 ? (const void *) &narrow : (const void *) &y->i,
		   width);
	array->s = (GpucolBytes) {(char *) made + VARHDRSZ, size - VARHDRSZ};
	return GPUCOL_OK;
}

/* `array || element` is not strict. */
static void
run_append(const Step *step, Lane *a, const Lane *b, uint32 n)
{
	each(step, a, b, n, call_append);
	for (uint32 i = 0; i < n; i++)
		a->states[i] = a->states[i] == STATE_GOOD ? STATE_GOOD : STATE_BAD;
}

/* Is an integer an element of an array?  With NULLs among these it is PostgreSQL's to say. */
static GpucolStatus
call_find(const Step *step, Value *x, const Value *y)
{
	int			width = step->aux;
	GpucolArrayValue array;
	const char *data;
	bool		found = false;

	if (!gpucol_array_open(y->s, &array) || array.present != NULL)
		return GPUCOL_UNSUPPORTED;
	data = array.nitems > 0 ? array.base + array.first : NULL;
	for (uint32 i = 0; i < array.nitems && !found; i++)
		found = gpucol_array_integer((GpucolBytes) {data + (Size) i * width, width}) == x->i;
	x->i = found;
	return GPUCOL_OK;
}

/* Nothing is not an element of no array at all. */
static void
run_find(const Step *step, Lane *a, const Lane *b, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		uint8		state = a->states[i] == STATE_GOOD ? b->states[i] : STATE_BAD;

		if (state == STATE_GOOD && call_find(step, &a->values[i], &b->values[i]) != GPUCOL_OK)
			state = STATE_BAD;
		a->states[i] = state;
	}
}

/* An integer as text. */
static GpucolStatus
call_write(const Step *step pg_attribute_unused(), Value *x, const Value *y pg_attribute_unused())
{
	char	   *text = palloc(MAXINT8LEN + 1);
	int			len = pg_lltoa(x->i, text);

	x->s = (GpucolBytes) {text, len};
	return GPUCOL_OK;
}

/* ---- the stack ---- */

/* Values by reference of an operand. */
static void
load_strings(const GpucolSymbols *symbols, const int64 *values, const uint8 *nulls, uint32 n, Lane *out)
{
	GpucolBytes strings[GPUCOL_SYMBOLS_PIECE];

	gpucol_symbols_get_many(symbols, n, values, nulls, strings);
	for (uint32 i = 0; i < n; i++)
		out->values[i].s = strings[i];
}

/* Numerics; those that are no words are read. */
static void
load_numbers(const GpucolSymbols *symbols, const int64 *values, uint32 n, Lane *out)
{
	for (uint32 i = 0; i < n; i++)
	{
		GpucolBytes bytes;
		uint32		len;

		out->values[i].d = 0;
		if (out->states[i] == STATE_NULL)
			continue;
		if (gpucol_number_is(values[i]))
		{
			out->values[i].d = gpucol_number_packed(values[i]);
			continue;
		}
		bytes.data = gpucol_symbols_get(symbols, values[i], &len);
		bytes.len = len;
		if (!gpucol_formula_read_number(bytes, &out->values[i]))
			out->states[i] = STATE_BAD;
	}
}

/* The values of an operand. */
static void
load_operand(const Step *step, const GpucolSymbols *symbols, const int64 *values, const uint8 *nulls, uint32 n,
			 Lane *out)
{
	for (uint32 i = 0; i < n; i++)
		out->states[i] = nulls[i] ? STATE_NULL : STATE_GOOD;
	switch (step->of)
	{
		case KIND_NUMERIC:
			load_numbers(symbols, values, n, out);
			break;
		case KIND_INT:
		case KIND_BOOL:
		case KIND_FLOAT:
			for (uint32 i = 0; i < n; i++)
				out->values[i].i = values[i];	/* a float's bits */
			break;
		default:
			load_strings(symbols, values, nulls, n, out);
			break;
	}
}

static void
load_constant(const Step *step, uint32 n, Lane *out)
{
	memset(out->states, step->kind == STEP_NULL ? STATE_NULL : STATE_GOOD, n);
	for (uint32 i = 0; i < n; i++)
		out->values[i] = step->value;
}

int
gpucol_formula_step_takes(const Step *step)
{
	switch (step->kind)
	{
		case STEP_OPERAND:
		case STEP_CONSTANT:
		case STEP_NULL:
			return 0;
		case STEP_NUMBER:
		case STEP_REAL:
		case STEP_ROUND:
		case STEP_WRITE:
		case STEP_LENGTH:
		case STEP_NOT:
		case STEP_IS_NULL:
			return 1;
		case STEP_FUNCTION:
			return takes_two(step) ? 2 : 1;
		case STEP_CONCAT:
			return step->aux;
		case STEP_PART:
			return step->aux == PART_FROM_FOR ? 3 : 2;
		case STEP_SELECT:
			return 3;
		default:
			return 2;
	}
}

SET(NOT, i, x->i == 0)

/* A step whose operands are the lanes from a on, which its result replaces. */
static void
run_step(const GpucolRecursiveFormula *formula, const Step *step, Lane *a, uint32 n)
{
	/* of one operand the other is the same */
	const Lane *b = &a[gpucol_formula_step_takes(step) > 1];

	switch (step->kind)
	{
		case STEP_FUNCTION:
			run_function(step, a, b, n);
			break;
		case STEP_NUMBER:
			each(step, a, b, n, call_number);
			break;
		case STEP_REAL:
			each(step, a, b, n, call_real);
			break;
		case STEP_ROUND:
			each(step, a, b, n, call_round);
			break;
		case STEP_WRITE:
			each(step, a, b, n, call_write);
			break;
		case STEP_CONCAT:
			run_concat(step, a, n);
			break;
		case STEP_PART:
			run_part(formula, step, a, n);
			break;
		case STEP_LENGTH:
			run_length(formula, a, n);
			break;
		case STEP_SEARCH:
			run_search(formula, a, b, n);
			break;
		case STEP_ALIKE:
			each(step, a, b, n, call_alike);
			break;
		case STEP_APPEND:
			run_append(step, a, b, n);
			break;
		case STEP_FIND:
			run_find(step, a, b, n);
			break;
		case STEP_NOT:
			each(step, a, b, n, call_NOT);
			break;
		case STEP_AND:
		case STEP_OR:
			run_logic(a, b, n, step->kind == STEP_OR);
			break;
		case STEP_IS_NULL:
			run_is_null(a, n);
			break;
		case STEP_EITHER:
			run_either(a, b, n);
			break;
		case STEP_EXTREME:
			run_extreme(step, a, b, n);
			break;
		default:
			run_select(a, n);
			break;
	}
}

/* ---- results ---- */

/* A packed decimal as a word, or as bytes. */
static GpucolMadeKind
take_number(__int128 packed, int64 *word, GpucolBytes *bytes)
{
	__int128	mantissa = gpucol_packed_mantissa(packed);
	struct varlena *made;

	if (gpucol_number_make(mantissa, gpucol_packed_scale(packed), word))
		return GPUCOL_MADE_WORD;
	made = (struct varlena *) DatumGetPointer(gpucol_typemap_numeric(mantissa, gpucol_packed_scale(packed)));
	*bytes = (GpucolBytes) {VARDATA_ANY(made), VARSIZE_ANY_EXHDR(made)};
	return GPUCOL_MADE_BYTES;
}

static void
take_results(const GpucolRecursiveFormula *formula, const Lane *lane, uint32 n, GpucolRecursiveMade *made)
{
	for (uint32 i = 0; i < n; i++)
	{
		const Value *value = &lane->values[i];

		if (lane->states[i] != STATE_GOOD)
			made->kinds[i] = lane->states[i] == STATE_NULL ? GPUCOL_MADE_NULL : GPUCOL_MADE_NOT;
		else if (formula->result == KIND_NUMERIC)
			made->kinds[i] = take_number(value->d, &made->words[i], &made->bytes[i]);
		else if (formula->result == KIND_INT || formula->result == KIND_FLOAT || formula->result == KIND_BOOL)
		{
			made->kinds[i] = GPUCOL_MADE_WORD;
			made->words[i] = value->i;
		}
		else
		{
			made->kinds[i] = GPUCOL_MADE_BYTES;
			made->bytes[i] = value->s;
		}
	}
}

/* Rows whose strings are not too long to be beside one another. */
static uint32
choose_rows(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols, uint32 first, uint32 n,
			const int64 *const *values, const uint8 *const *nulls)
{
	GpucolBytes strings[GPUCOL_SYMBOLS_PIECE];
	uint64		sizes[GPUCOL_SYMBOLS_PIECE] = {0};
	uint64		size = 0;

	for (int s = 0; s < formula->nsteps; s++)
	{
		const Step *step = &formula->steps[s];

		if (step->kind != STEP_OPERAND || step->of < KIND_TEXT || step->of == KIND_BOOL)
			continue;
		gpucol_symbols_get_many(symbols, n, values[step->aux] + first, nulls[step->aux] + first, strings);
		for (uint32 i = 0; i < n; i++)
			sizes[i] += strings[i].len;
	}
	for (uint32 i = 0; i < n; i++)
	{
		size += sizes[i];
		if (size >= PIECE_BYTES)
			return i + 1;
	}
	return n;
}

/* Run all steps on lanes, the first of which has the results then. */
static void
run_steps(const GpucolRecursiveFormula *formula, Lane *lanes, const GpucolSymbols *symbols, uint32 first, uint32 n,
		  const int64 *const *values, const uint8 *const *nulls)
{
	Lane	   *top = lanes;

	for (int s = 0; s < formula->nsteps; s++)
	{
		const Step *step = &formula->steps[s];

		if (step->kind == STEP_OPERAND)
			load_operand(step, symbols, values[step->aux] + first, nulls[step->aux] + first, n, top);
		else if (step->kind == STEP_CONSTANT || step->kind == STEP_NULL)
			load_constant(step, n, top);
		else
		{
			top -= gpucol_formula_step_takes(step);
			run_step(formula, step, top, n);
		}
		top++;
	}
}

uint32
gpucol_recursive_formula_compute(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols, uint32 first,
								 uint32 n, const int64 *const *values, const uint8 *const *nulls,
								 GpucolRecursiveMade *made)
{
	if (formula->has_strings)
		n = choose_rows(formula, symbols, first, n, values, nulls);
	run_steps(formula, formula->lanes, symbols, first, n, values, nulls);
	take_results(formula, formula->lanes, n, made);
	return n;
}

bool
gpucol_recursive_formula_compute_apart(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols,
									   uint32 first, uint32 n, const int64 *const *values, const uint8 *const *nulls,
									   int64 *result, uint8 *result_nulls)
{
	Lane		lanes[GPUCOL_FORMULA_APART];
	bool		made = true;

	run_steps(formula, lanes, symbols, first, n, values, nulls);
	for (uint32 i = 0; i < n && made; i++)
	{
		Value	   *value = &lanes->values[i];

		made = lanes->states[i] != STATE_BAD;
		result_nulls[first + i] = lanes->states[i] == STATE_NULL;
		if (lanes->states[i] == STATE_GOOD && formula->result == KIND_NUMERIC)
			made = gpucol_number_make(gpucol_packed_mantissa(value->d), gpucol_packed_scale(value->d), &value->i);
		result[first + i] = lanes->states[i] == STATE_GOOD ? value->i : 0;
	}
	return made;
}
