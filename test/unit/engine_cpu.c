/*-------------------------------------------------------------------------
 *
 * engine_cpu.c
 *	  The CPU engine against a naive interpreter: random tables of every coding,
 *	  random kernel descriptions, every number of threads.
 *
 * The interpreter below goes row by row through uncompressed values and follows
 * program.h and PostgreSQL's definitions literally; it shares no code with the
 * engine.
 *
 * Usage: engine_cpu [rounds [seed [random]]]; with a third argument, whichever it is,
 * only the rounds of random programs.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/engine.h"
#include "kernel/decode.h"
#include "kernel/math_functions.h"

#include "array_source.h"
#include "check.h"
#include "program_builder.h"

#ifdef WHOLE_SEGMENTS
#define CPU_ENGINE_ALONE false	/* another engine reads no lent windows, and none ahead */
#else
#define CPU_ENGINE_ALONE true
#endif

/* ---- the table ---- */

enum
{
	C_KEY, C_INT4, C_INT8, C_DICT, C_RUNS, C_BOOL, C_DEC2, C_DEC4, C_SCALED,
	C_FLOAT8, C_FLOAT4, C_WORD, C_TEXT, C_CONST, C_NULLS, C_SMOOTH, NCOLUMNS
};

static const struct
{
	GpucolKind	kind;
	int8_t		scale;
	int			width;			/* bytes of PostgreSQL's integer type */
}			shapes[NCOLUMNS] = {
	[C_KEY] = {GPUCOL_KIND_INT, 0, 4},
	[C_INT4] = {GPUCOL_KIND_INT, 0, 4},
	[C_INT8] = {GPUCOL_KIND_INT, 0, 8},
	[C_DICT] = {GPUCOL_KIND_INT, 0, 2},
	[C_RUNS] = {GPUCOL_KIND_INT, 0, 4},
	[C_BOOL] = {GPUCOL_KIND_INT, 0, 2},
	[C_DEC2] = {GPUCOL_KIND_DECIMAL, 2, 0},
	[C_DEC4] = {GPUCOL_KIND_DECIMAL, 4, 0},
	[C_SCALED] = {GPUCOL_KIND_FLOAT8, 0, 0},
	[C_FLOAT8] = {GPUCOL_KIND_FLOAT8, 0, 0},
	[C_FLOAT4] = {GPUCOL_KIND_FLOAT4, 0, 0},
	[C_WORD] = {GPUCOL_KIND_BYTES, 0, 0},
	[C_TEXT] = {GPUCOL_KIND_BYTES, 0, 0},
	[C_CONST] = {GPUCOL_KIND_INT, 0, 8},
	[C_NULLS] = {GPUCOL_KIND_INT, 0, 4},
	[C_SMOOTH] = {GPUCOL_KIND_FLOAT8, 0, 0},
};

static int
pick(int n)
{
	return (int) (check_random() % (uint64_t) n);
}

static int64_t
float8_bits(double x)
{
	int64_t		bits;

	memcpy(&bits, &x, 8);
	return bits;
}

static int64_t
float4_bits(float x)
{
	uint32_t	bits;

	memcpy(&bits, &x, 4);
	return bits;
}

static const double odd_floats[] = {0.0, -0.0, NAN, INFINITY, -INFINITY, 1.5, -2.25, 1e300, -1e-300};

static const char *const words[] = {"", "a", "aa", "banana", "apple", "Zebra", "m", "night",
	"longer than eight bytes", "nightly", "\xc3\xa4", "b"};

/* Bits of the codes that C_INT8 shall have; -1 = any. */
static int	code_width = -1;

/* A value of C_INT8 of that width, often the least or the greatest. */
static int64_t
value_of_width(void)
{
	uint64_t	top = code_width == 64 ? UINT64_MAX : (UINT64_C(1) << code_width) - 1;
	uint64_t	least = code_width == 64 ? (uint64_t) INT64_MIN : (uint64_t) -1000;
	int			way = pick(8);

	return (int64_t) (least + (way == 0 ? 0 : way == 1 ? top : check_random() & top));
}

/* A random value of a column; `odd` columns hold specials too. */
static int64_t
random_value(int c, uint32_t row, int style)
{
	switch (c)
	{
		case C_KEY:
			return style == 2 ? pick(5) * 4 : pick(20);
		case C_INT4:
			return style == 1 ? INT32_MIN + pick(3) : style == 2 ? INT32_MAX - pick(70000) :
				pick(2001) - 1000;
		case C_INT8:
			if (code_width >= 0)
				return value_of_width();
			return style == 1 ? (int64_t) check_random() :
				style == 2 ? (pick(3000) - 1000) * INT64_C(3600000000) :
				(int64_t) (check_random() % (UINT64_C(1) << 40)) - (INT64_C(1) << 39);
		case C_DICT:
			return (int64_t[]) {-30000, 5, 77, 29999}[pick(4)];
		case C_RUNS:
			return (int64_t) (row / (uint32_t) (40 + style * 60)) * 1000003 % 5000;
		case C_BOOL:
			return pick(2);
		case C_DEC2:
			return style == 2 ? (pick(1000) - 200) * 100 : pick(100000) - 20000;
		case C_DEC4:
			return (int64_t) (check_random() % UINT64_C(1000000000000000)) - 5;
		case C_SCALED:
			return float8_bits((double) (pick(100000) - 50000) / 100.0);
		case C_FLOAT8:
			if (style == 1)
				return float8_bits(odd_floats[pick(9)]);
			return float8_bits((double) (int64_t) check_random() / 1e12);
		case C_FLOAT4:
			if (style == 1)
				return float4_bits((float) odd_floats[pick(7)]);
			return float4_bits((float) (pick(100000) - 50000) / 7.0f);
		case C_CONST:
			return style * 1000;
		case C_SMOOTH:
			return float8_bits(100.0 + (double) pick(1000000) / 3.0);
		default:
			return pick(100);
	}
}

/* Some bytes that live for ever. */
static GpucolBytes
random_text(int c)
{
	static char pool[65536];
	GpucolBytes value;

	if (pool[1] == 0)
		for (size_t i = 0; i < sizeof(pool); i++)
			pool[i] = (char) ('A' + check_random() % 50);
	if (c == C_WORD)
	{
		value.data = words[pick(12)];
		value.len = strlen(value.data);
		return value;
	}
	value.len = (size_t) pick(pick(10) == 0 ? 200 : 12);
	value.data = pool + pick(60000);
	return value;
}

static void
random_column(ArrayColumn *column, int c, uint32_t nrows)
{
	static const int densities[] = {0, 0, 0, 10, 50, 95, 100};
	uint32_t	space = GPUCOL_VECTORS(nrows) * GPUCOL_VECTOR_VALUES;
	int			density = c == C_NULLS ? 50 : densities[pick(7)];
	int			style = pick(3);

	column->kind = shapes[c].kind;
	column->scale = shapes[c].scale;
	if (column->kind == GPUCOL_KIND_BYTES)
		column->bytes = calloc(space, sizeof(GpucolBytes));
	else
		column->values = calloc(space, sizeof(int64_t));
	if (density > 0)
		column->nulls = calloc(space / 32, sizeof(uint32_t));
	for (uint32_t r = 0; r < nrows; r++)
	{
		bool		isnull = pick(100) < density;

		if (isnull)
			column->nulls[r / 32] |= UINT32_C(1) << (r % 32);
		if (column->kind == GPUCOL_KIND_BYTES)
			column->bytes[r] = isnull ? (GpucolBytes) {"", 0} : random_text(c);
		else
			column->values[r] = isnull ? 0 : random_value(c, r, style);
	}
}

static void
random_table(ArrayTable *table)
{
	uint64_t	row = (uint64_t) pick(3) * 1000;

	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = pick(4);
	for (int s = 0; s < table->nsegments; s++)
	{
		ArraySegment *segment = &table->segments[s];

		segment->nrows = (uint32_t) (1 + pick(pick(3) == 0 ? 30000 : 3000));
		segment->first_row = row;
		row += segment->nrows + (uint32_t) pick(5000);
		for (int c = 0; c < NCOLUMNS; c++)
			random_column(&segment->columns[c], c, segment->nrows);
		if (pick(2))
		{
			segment->deleted = calloc(GPUCOL_VECTORS(segment->nrows) * 32, sizeof(uint32_t));
			for (uint32_t r = 0; r < segment->nrows; r++)
				if (pick(4) == 0)
				{
					segment->deleted[r / 32] |= UINT32_C(1) << (r % 32);
					segment->ndeleted++;
				}
		}
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table->ndelta = (uint32_t) (pick(2) ? pick(2500) : 0);
	table->tids = malloc(sizeof(uint64_t) * (table->ndelta + 1));
	for (uint32_t r = 0; r < table->ndelta; r++)
		table->tids[r] = check_random() >> 20;
	for (int c = 0; c < NCOLUMNS; c++)
		random_column(&table->delta[c], c, table->ndelta);
}

/* ---- host predicates ---- */

/* A predicate is one column's: of C_WORD 0 to 2, of C_TEXT the same again as 3 to 5. */
static int
random_host(int c)
{
	return pick(3) + (c == C_TEXT ? 3 : 0);
}

/* 0: even length; 1: first byte below 'm', NULL for empty; 2: true on NULL or an 'a' */
static uint8_t
host_verdict(int id, GpucolBytes value, bool isnull)
{
	id %= 3;
	if (id == 2)
		return isnull || (value.len > 0 && memchr(value.data, 'a', value.len) != NULL);
	if (isnull)
		return 2;
	if (id == 0)
		return value.len % 2 == 0;
	return value.len == 0 ? 2 : value.data[0] < 'm';
}

static bool
host_any_thread(void *context, int id)
{
	(void) context;
	return id % 2 == 0;
}

static void
host_test(void *context, int id, int n, const GpucolBytes *values,
		  const bool *isnull, uint8_t *result)
{
	(void) context;
	for (int i = 0; i < n; i++)
		result[i] = host_verdict(id, values[i], isnull != NULL && isnull[i]);
}

/* ---- the naive interpreter ---- */

typedef struct Val
{
	bool		null;
	int64_t		i;				/* I, B; mantissas too */
	__int128	d;
	double		f;
	GpucolBytes s;
} Val;

/* An aggregate's state of the interpreter. */
typedef struct State
{
	int64_t		count;
	__int128	sum;
	__int128	sumsq;
	long double fsum;
	long double fabs_sum;
	bool		fspecial;		/* plain sum decides */
	double		fplain;
	double	   *floats;			/* SUMSQ_F */
	Val			extreme;
	int64_t		truth;
	Val		   *seen;			/* DISTINCT */
	int64_t		nseen;
} State;

typedef struct Group
{
	char		key[1024];
	size_t		key_len;
	State	   *states;
	bool		matched;
} Group;

typedef struct Row
{
	uint64_t	tid;
	Val			out[BUILDER_MAX];
} Row;

typedef struct Naive
{
	const ProgramBuilder *b;
	const ArrayTable *table;
	uint64_t	errors;			/* bit per status */
	bool		too_big;		/* int128 overflow of a sum */
	Group	   *groups;
	size_t		ngroups;
	Row		   *rows;
	size_t		nrows;
} Naive;

static Val
column_value(const ArrayColumn *column, uint32_t row)
{
	Val			v = {0};

	v.null = column->nulls != NULL && (column->nulls[row / 32] >> (row % 32) & 1);
	if (v.null)
		return v;
	switch (column->kind)
	{
		case GPUCOL_KIND_INT:
			v.i = column->values[row];
			break;
		case GPUCOL_KIND_DECIMAL:
			v.d = v.i = column->values[row];
			break;
		case GPUCOL_KIND_FLOAT8:
			memcpy(&v.f, &column->values[row], 8);
			break;
		case GPUCOL_KIND_FLOAT4:
			{
				float		f;

				memcpy(&f, &column->values[row], 4);
				v.f = f;
				break;
			}
		default:
			v.s = column->bytes[row];
	}
	return v;
}

static Val
const_value(const GpucolConst *c)
{
	Val			v = {0};

	v.null = c->isnull;
	if (c->cls == GPUCOL_CLASS_F)
		v.f = c->v.f;
	else if (c->cls == GPUCOL_CLASS_D)
		v.d = (__int128) ((unsigned __int128) (uint64_t) c->v.d.hi << 64 | c->v.d.lo);
	else
		v.i = c->v.i;
	return v;
}

static int
float_cmp(double a, double b)
{
	if (isnan(a))
		return isnan(b) ? 0 : 1;
	if (isnan(b))
		return -1;
	return a < b ? -1 : a > b;
}

static int
val_cmp(GpucolClass cls, const Val *a, const Val *b)
{
	if (cls == GPUCOL_CLASS_F)
		return float_cmp(a->f, b->f);
	if (cls == GPUCOL_CLASS_D)
		return a->d < b->d ? -1 : a->d > b->d;
	if (cls == GPUCOL_CLASS_S)
	{
		size_t		n = a->s.len < b->s.len ? a->s.len : b->s.len;
		int			c = n > 0 ? memcmp(a->s.data, b->s.data, n) : 0;

		return c != 0 ? c : a->s.len < b->s.len ? -1 : a->s.len > b->s.len;
	}
	return a->i < b->i ? -1 : a->i > b->i;
}

static GpucolClass
kind_class(GpucolKind kind)
{
	return kind == GPUCOL_KIND_INT ? GPUCOL_CLASS_I :
		kind == GPUCOL_KIND_DECIMAL ? GPUCOL_CLASS_D :
		kind == GPUCOL_KIND_BYTES ? GPUCOL_CLASS_S : GPUCOL_CLASS_F;
}

static bool
naive_range(const ProgramBuilder *b, const GpucolRange *range, const Val *v)
{
	GpucolClass cls = kind_class(shapes[range->column].kind);
	bool		inside = true;

	switch ((GpucolRangeOp) range->op)
	{
		case GPUCOL_RANGE_IS_NULL:
			return v->null;
		case GPUCOL_RANGE_IS_NOT_NULL:
			return !v->null;
		case GPUCOL_RANGE_HOST:
			return host_verdict((int) range->n, v->s, v->null) == 1;
		case GPUCOL_RANGE_IN:
		case GPUCOL_RANGE_NOT_IN:
			inside = false;
			for (uint32_t i = 0; i < range->n; i++)
			{
				Val			c = const_value(&b->consts[range->lo + i]);

				if (c.null)
					return false;
				inside |= val_cmp(cls, v, &c) == 0;
			}
			return !v->null && inside == (range->op == GPUCOL_RANGE_IN);
		default:
			break;
	}
	if (range->lo != GPUCOL_NO_REG)
	{
		Val			c = const_value(&b->consts[range->lo]);
		int			cmp = val_cmp(cls, v, &c);

		if (c.null)
			return false;
		inside &= range->flags & GPUCOL_RANGE_LO_OPEN ? cmp > 0 : cmp >= 0;
	}
	if (range->hi != GPUCOL_NO_REG)
	{
		Val			c = const_value(&b->consts[range->hi]);
		int			cmp = val_cmp(cls, v, &c);

		if (c.null)
			return false;
		inside &= range->flags & GPUCOL_RANGE_HI_OPEN ? cmp < 0 : cmp <= 0;
	}
	return !v->null && inside == (range->op == GPUCOL_RANGE_BETWEEN);
}

static int
out_of_range(int aux)
{
	return aux == 2 ? GPUCOL_INT2_OUT_OF_RANGE : aux == 4 ? GPUCOL_INT4_OUT_OF_RANGE :
		GPUCOL_INT8_OUT_OF_RANGE;
}

/* Integer result of a wide computation, or its error. */
static int
narrow(__int128 wide, int aux, Val *r)
{
	__int128	limit = (__int128) 1 << (aux * 8 - 1);

	r->i = (int64_t) wide;
	return wide < -limit || wide >= limit ? out_of_range(aux) : 0;
}

/* Some of the functions of floats, written down once more. */
static int
math_result(int function, double x, Val *r)
{
	switch (function)
	{
		case GPUCOL_MATH_CEIL:
			r->f = -floor(-x);
			return 0;
		case GPUCOL_MATH_FLOOR:
			r->f = -ceil(-x);
			return 0;
		case GPUCOL_MATH_ROUND:
			r->f = nearbyint(x);
			return 0;
		case GPUCOL_MATH_TRUNC:
			r->f = trunc(x);
			return 0;
		case GPUCOL_MATH_SIGN:
			r->f = (x > 0) - (x < 0);
			return 0;
		default:
			r->f = x < 0 ? 0 : sqrt(x);
			return x < 0 ? GPUCOL_ROOT_OF_NEGATIVE : 0;
	}
}

static int
float_result(double x, double y, double result, bool zero_is_underflow, Val *r)
{
	r->f = result;
	if (isinf(result) && !isinf(x) && !isinf(y))
		return GPUCOL_FLOAT_OVERFLOW;
	return zero_is_underflow && result == 0 ? GPUCOL_FLOAT_UNDERFLOW : 0;
}

/* One instruction on one row; returns an error or 0. */
static int
naive_instr(const Naive *naive, const GpucolInstr *in, const ArrayColumn *columns,
			uint32_t row, const Val *regs, Val *r)
{
	const ProgramBuilder *b = naive->b;
	static const Val none = {.null = true};
	const Val  *x = in->a < b->head.nregs ? &regs[in->a] : &none;
	const Val  *y = in->b < b->head.nregs ? &regs[in->b] : &none;
	const Val  *z = in->c < b->head.nregs ? &regs[in->c] : &none;
	bool		binary = false;
	int			aux = in->aux;

	memset(r, 0, sizeof(*r));
	switch ((GpucolOpcode) in->op)
	{
		case GPUCOL_OP_LOAD_I:
		case GPUCOL_OP_LOAD_D:
		case GPUCOL_OP_LOAD_F:
		case GPUCOL_OP_LOAD_B:
		case GPUCOL_OP_LOAD_S:
			*r = column_value(&columns[aux], row);
			return 0;
		case GPUCOL_OP_CONST_I:
		case GPUCOL_OP_CONST_D:
		case GPUCOL_OP_CONST_F:
		case GPUCOL_OP_CONST_B:
			*r = const_value(&b->consts[aux]);
			return 0;
		case GPUCOL_OP_AND:
			r->null = !((!x->null && !x->i) || (!y->null && !y->i)) && (x->null || y->null);
			r->i = !r->null && x->i && y->i;
			return 0;
		case GPUCOL_OP_OR:
			r->null = !((!x->null && x->i) || (!y->null && y->i)) && (x->null || y->null);
			r->i = !r->null && ((!x->null && x->i) || (!y->null && y->i));
			return 0;
		case GPUCOL_OP_IS_TRUE:
			r->i = !x->null && x->i;
			return 0;
		case GPUCOL_OP_IS_NULL_B:
		case GPUCOL_OP_IS_NULL_I:
		case GPUCOL_OP_IS_NULL_D:
		case GPUCOL_OP_IS_NULL_F:
		case GPUCOL_OP_IS_NULL_S:
			r->i = x->null;
			return 0;
		case GPUCOL_OP_CASE_B:
		case GPUCOL_OP_CASE_I:
		case GPUCOL_OP_CASE_D:
		case GPUCOL_OP_CASE_F:
			*r = !x->null && x->i ? *y : *z;
			return 0;
		case GPUCOL_OP_EQ_S:
		case GPUCOL_OP_LT_S:
			{
				size_t		len = x->s.len < y->s.len ? x->s.len : y->s.len;
				int			order = x->null || y->null ? 0 : memcmp(x->s.data, y->s.data, len);

				if (order == 0 && !x->null && !y->null)
					order = (x->s.len > y->s.len) - (x->s.len < y->s.len);
				r->null = x->null || y->null;
				r->i = !r->null && (in->op == GPUCOL_OP_LT_S ? order < 0 : order == 0);
				return 0;
			}
		case GPUCOL_OP_HOST_TEST:
			{
				uint8_t		verdict = host_verdict(aux, x->s, x->null);

				r->null = verdict == 2;
				r->i = verdict == 1;
				return 0;
			}
		case GPUCOL_OP_IN_I:
			{
				bool		unknown = false;

				for (int k = in->b; k < in->b + in->c; k++)
				{
					unknown |= b->consts[k].isnull;
					r->i |= !b->consts[k].isnull && b->consts[k].v.i == x->i;
				}
				r->null = x->null || (unknown && !r->i);
				return 0;
			}
		case GPUCOL_OP_ADD_I: case GPUCOL_OP_SUB_I: case GPUCOL_OP_MUL_I:
		case GPUCOL_OP_DIV_I: case GPUCOL_OP_MOD_I:
		case GPUCOL_OP_ADD_D: case GPUCOL_OP_SUB_D: case GPUCOL_OP_MUL_D:
		case GPUCOL_OP_ADD_F: case GPUCOL_OP_SUB_F: case GPUCOL_OP_MUL_F:
		case GPUCOL_OP_DIV_F:
		case GPUCOL_OP_EQ_I: case GPUCOL_OP_NE_I: case GPUCOL_OP_LT_I: case GPUCOL_OP_LE_I:
		case GPUCOL_OP_EQ_D: case GPUCOL_OP_NE_D: case GPUCOL_OP_LT_D: case GPUCOL_OP_LE_D:
		case GPUCOL_OP_EQ_F: case GPUCOL_OP_NE_F: case GPUCOL_OP_LT_F: case GPUCOL_OP_LE_F:
		case GPUCOL_OP_MATH2_F:
		case GPUCOL_OP_BIT_AND_I: case GPUCOL_OP_BIT_OR_I: case GPUCOL_OP_BIT_XOR_I:
		case GPUCOL_OP_SHL_I: case GPUCOL_OP_SHR_I:
			binary = true;
			break;
		default:
			break;
	}
	if (x->null || (binary && y->null))
	{
		r->null = true;
		return 0;
	}
	switch ((GpucolOpcode) in->op)
	{
		case GPUCOL_OP_ADD_I:
			return narrow((__int128) x->i + y->i, aux, r);
		case GPUCOL_OP_SUB_I:
			return narrow((__int128) x->i - y->i, aux, r);
		case GPUCOL_OP_MUL_I:
			return narrow((__int128) x->i * y->i, aux, r);
		case GPUCOL_OP_DIV_I:
			return y->i == 0 ? GPUCOL_DIVISION_BY_ZERO : narrow((__int128) x->i / y->i, aux, r);
		case GPUCOL_OP_MOD_I:
			return y->i == 0 ? GPUCOL_DIVISION_BY_ZERO : narrow((__int128) x->i % y->i, 8, r);
		case GPUCOL_OP_NEG_I:
			return narrow(-(__int128) x->i, aux, r);
		case GPUCOL_OP_ABS_I:
			return narrow(x->i < 0 ? -(__int128) x->i : x->i, aux, r);
		case GPUCOL_OP_CHECK_I:
			return narrow(x->i, aux, r);
		case GPUCOL_OP_ADD_D:
			return __builtin_add_overflow(x->d, y->d, &r->d) ? GPUCOL_UNSUPPORTED : 0;
		case GPUCOL_OP_SUB_D:
			return __builtin_sub_overflow(x->d, y->d, &r->d) ? GPUCOL_UNSUPPORTED : 0;
		case GPUCOL_OP_MUL_D:
			return __builtin_mul_overflow(x->d, y->d, &r->d) ? GPUCOL_UNSUPPORTED : 0;
		case GPUCOL_OP_NEG_D:
			return __builtin_sub_overflow((__int128) 0, x->d, &r->d) ? GPUCOL_UNSUPPORTED : 0;
		case GPUCOL_OP_ABS_D:
			r->d = x->d;
			return x->d < 0 && __builtin_sub_overflow((__int128) 0, x->d, &r->d) ?
				GPUCOL_UNSUPPORTED : 0;
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			r->d = in->op == GPUCOL_OP_I_TO_D ? x->i : x->d;
			for (int k = 0; k < aux; k++)
				if (__builtin_mul_overflow(r->d, (__int128) 10, &r->d))
					return GPUCOL_UNSUPPORTED;
			return 0;
		case GPUCOL_OP_ADD_F:
			return float_result(x->f, y->f, aux == 4 ? (float) x->f + (float) y->f : x->f + y->f,
								false, r);
		case GPUCOL_OP_SUB_F:
			return float_result(x->f, y->f, aux == 4 ? (float) x->f - (float) y->f : x->f - y->f,
								false, r);
		case GPUCOL_OP_MUL_F:
			return float_result(x->f, y->f, aux == 4 ? (float) x->f * (float) y->f : x->f * y->f,
								x->f != 0 && y->f != 0, r);
		case GPUCOL_OP_DIV_F:
			if (y->f == 0 && !isnan(x->f))
				return GPUCOL_DIVISION_BY_ZERO;
			r->f = aux == 4 ? (float) x->f / (float) y->f : x->f / y->f;
			if (isinf(r->f) && !isinf(x->f))
				return GPUCOL_FLOAT_OVERFLOW;
			return r->f == 0 && x->f != 0 && !isinf(y->f) ? GPUCOL_FLOAT_UNDERFLOW : 0;
		case GPUCOL_OP_NEG_F:
			r->f = -x->f;
			return 0;
		case GPUCOL_OP_MATH_F:
			return math_result(aux, x->f, r);
		case GPUCOL_OP_MATH2_F:
			r->f = isnan(x->f) || isnan(y->f) ? NAN : atan2(x->f, y->f);
			return 0;
		case GPUCOL_OP_BIT_AND_I:
			r->i = x->i & y->i;
			return 0;
		case GPUCOL_OP_BIT_OR_I:
			r->i = x->i | y->i;
			return 0;
		case GPUCOL_OP_BIT_XOR_I:
			r->i = x->i ^ y->i;
			return 0;
		case GPUCOL_OP_SHL_I:
			r->i = aux == 8 ? (int64_t) ((uint64_t) x->i << (y->i & 63)) :
				aux == 4 ? (int32_t) ((uint32_t) x->i << (y->i & 31)) :
				(int16_t) ((uint32_t) x->i << (y->i & 31));
			return 0;
		case GPUCOL_OP_SHR_I:
			r->i = aux == 8 ? x->i >> (y->i & 63) : (int32_t) x->i >> (y->i & 31);
			if (aux == 2)
				r->i = (int16_t) r->i;
			return 0;
		case GPUCOL_OP_ABS_F:
			r->f = fabs(x->f);
			return 0;
		case GPUCOL_OP_ROUND_F:
			r->f = (float) x->f;
			if (isinf(r->f) && !isinf(x->f))
				return GPUCOL_FLOAT_OVERFLOW;
			return r->f == 0 && x->f != 0 ? GPUCOL_FLOAT_UNDERFLOW : 0;
		case GPUCOL_OP_I_TO_F:
			r->f = aux == 4 ? (double) (float) x->i : (double) x->i;
			return 0;
		case GPUCOL_OP_F_TO_I:
			{
				double		limit = ldexp(1.0, aux * 8 - 1);
				double		rounded = nearbyint(x->f);

				if (isnan(rounded) || rounded < -limit || rounded >= limit)
					return out_of_range(aux);
				r->i = (int64_t) rounded;
				return 0;
			}
		case GPUCOL_OP_EQ_I:
			r->i = x->i == y->i;
			return 0;
		case GPUCOL_OP_NE_I:
			r->i = x->i != y->i;
			return 0;
		case GPUCOL_OP_LT_I:
			r->i = x->i < y->i;
			return 0;
		case GPUCOL_OP_LE_I:
			r->i = x->i <= y->i;
			return 0;
		case GPUCOL_OP_EQ_D:
			r->i = x->d == y->d;
			return 0;
		case GPUCOL_OP_NE_D:
			r->i = x->d != y->d;
			return 0;
		case GPUCOL_OP_LT_D:
			r->i = x->d < y->d;
			return 0;
		case GPUCOL_OP_LE_D:
			r->i = x->d <= y->d;
			return 0;
		case GPUCOL_OP_EQ_F:
			r->i = float_cmp(x->f, y->f) == 0;
			return 0;
		case GPUCOL_OP_NE_F:
			r->i = float_cmp(x->f, y->f) != 0;
			return 0;
		case GPUCOL_OP_LT_F:
			r->i = float_cmp(x->f, y->f) < 0;
			return 0;
		case GPUCOL_OP_LE_F:
			r->i = float_cmp(x->f, y->f) <= 0;
			return 0;
		case GPUCOL_OP_NOT:
			r->i = !x->i;
			return 0;
		case GPUCOL_OP_B_TO_I:
			r->i = x->i;
			return 0;
		default:
			abort();
	}
}

/* Text form of a group's key values, equal exactly for equal keys. */
static size_t
key_text(char *out, GpucolClass cls, bool isnull, int64_t i, __int128 d, double f,
		 GpucolBytes s)
{
	if (isnull)
		return (size_t) sprintf(out, "N;");
	if (cls == GPUCOL_CLASS_F)
		return (size_t) sprintf(out, "%.17g;", isnan(f) ? (double) NAN : f == 0 ? 0.0 : f);
	if (cls == GPUCOL_CLASS_D)
		return (size_t) sprintf(out, "%llx.%llx;", (unsigned long long) (d >> 64),
								(unsigned long long) d);
	if (cls == GPUCOL_CLASS_S)
	{
		int			n = sprintf(out, "%zu:", s.len);

		if (s.len > 0)
			memcpy(out + n, s.data, s.len);
		return (size_t) n + s.len;
	}
	return (size_t) sprintf(out, "%lld;", (long long) i);
}

static Group *
find_group(Naive *naive, const char *key, size_t len, bool add)
{
	Group	   *group;

	for (size_t g = 0; g < naive->ngroups; g++)
		if (naive->groups[g].key_len == len && memcmp(naive->groups[g].key, key, len) == 0)
			return &naive->groups[g];
	if (!add)
		return NULL;
	if (naive->ngroups % 64 == 0)
		naive->groups = realloc(naive->groups, sizeof(Group) * (naive->ngroups + 64));
	group = &naive->groups[naive->ngroups++];
	memcpy(group->key, key, len);
	group->key_len = len;
	group->matched = false;
	group->states = calloc(naive->b->head.naggs + 1u, sizeof(State));
	return group;
}

static void
advance(Naive *naive, const GpucolAgg *agg, State *state, const Val *regs)
{
	const Val  *x = agg->op == GPUCOL_AGG_COUNT_STAR ? NULL : &regs[agg->arg];
	GpucolClass cls = agg->cls;
	__int128	wide;

	if (agg->filter != GPUCOL_NO_REG && (regs[agg->filter].null || !regs[agg->filter].i))
		return;
	if (x != NULL && x->null)
		return;
	state->count++;
	switch ((GpucolAggOp) agg->op)
	{
		case GPUCOL_AGG_COUNT_STAR:
		case GPUCOL_AGG_COUNT:
			break;
		case GPUCOL_AGG_SUM:
		case GPUCOL_AGG_SUMSQ:
			if (cls == GPUCOL_CLASS_F)
			{
				if (state->count % 256 == 1)
					state->floats = realloc(state->floats, sizeof(double) * (size_t) (state->count + 256));
				state->floats[state->count - 1] = x->f;
				state->fspecial |= !isfinite(x->f);
				state->fplain += x->f;
				state->fsum += x->f;
				state->fabs_sum += fabs(x->f);
				break;
			}
			wide = cls == GPUCOL_CLASS_D ? x->d : x->i;
			naive->too_big |= __builtin_add_overflow(state->sum, wide, &state->sum);
			if (agg->op == GPUCOL_AGG_SUMSQ)
				naive->too_big |= __builtin_mul_overflow(wide, wide, &wide) ||
					__builtin_add_overflow(state->sumsq, wide, &state->sumsq);
			break;
		case GPUCOL_AGG_MIN:
			if (state->count == 1 || val_cmp(cls, x, &state->extreme) < 0)
				state->extreme = *x;
			break;
		case GPUCOL_AGG_MAX:
			if (state->count == 1 || val_cmp(cls, x, &state->extreme) > 0)
				state->extreme = *x;
			break;
		case GPUCOL_AGG_BOOL_AND:
			state->truth = state->count == 1 ? x->i : state->truth && x->i;
			break;
		case GPUCOL_AGG_BOOL_OR:
			state->truth |= x->i;
			break;
		case GPUCOL_AGG_BIT_XOR:
			state->extreme.i = state->count == 1 ? x->i : state->extreme.i ^ x->i;
			break;
		case GPUCOL_AGG_COUNT_DISTINCT:
			for (int64_t k = 0; k < state->nseen; k++)
				if (val_cmp(cls, x, &state->seen[k]) == 0)
					return;
			if (state->nseen % 64 == 0)
				state->seen = realloc(state->seen, sizeof(Val) * (size_t) (state->nseen + 64));
			state->seen[state->nseen++] = *x;
			break;
		case GPUCOL_AGG_PRODUCTS:	/* test/sql/agg_pairs.sql */
			break;
	}
}

static void
naive_row(Naive *naive, const ArrayColumn *columns, uint32_t row, uint64_t tid)
{
	const ProgramBuilder *b = naive->b;
	static Val regs[BUILDER_MAX];

	for (int i = 0; i < b->head.nranges; i++)
	{
		Val			v = column_value(&columns[b->ranges[i].column], row);

		if (!naive_range(b, &b->ranges[i], &v))
			return;
	}
	for (int i = 0; i < b->head.ninstrs; i++)
	{
		const GpucolInstr *in = &b->instrs[i];
		int			error;

		if (i == b->head.nfilter_instrs && b->head.filter != GPUCOL_NO_REG &&
			(regs[b->head.filter].null || !regs[b->head.filter].i))
			return;
		error = naive_instr(naive, in, columns, row, regs, &regs[in->dst]);
		if (error != 0)
		{
			if (in->mask == GPUCOL_NO_REG || (!regs[in->mask].null && regs[in->mask].i))
				naive->errors |= UINT64_C(1) << error;
			memset(&regs[in->dst], 0, sizeof(Val));
		}
	}
	if (b->head.nfilter_instrs == b->head.ninstrs && b->head.filter != GPUCOL_NO_REG &&
		(regs[b->head.filter].null || !regs[b->head.filter].i))
		return;
	if (b->head.kind == GPUCOL_PROGRAM_SCAN)
	{
		Row		   *out;

		if (naive->nrows % 1024 == 0)
			naive->rows = realloc(naive->rows, sizeof(Row) * (naive->nrows + 1024));
		out = &naive->rows[naive->nrows++];
		out->tid = tid;
		for (int k = 0; k < b->head.nkeys; k++)
			out->out[k] = regs[b->keys[k]];
	}
	else
	{
		char		key[1024];
		size_t		len = 0;
		Group	   *group;

		for (int k = 0; k < b->head.nkeys; k++)
		{
			const Val  *v = &regs[b->keys[k]];

			len += key_text(key + len, b->classes[b->keys[k]], v->null, v->i, v->d, v->f, v->s);
		}
		group = find_group(naive, key, len, true);
		for (int a = 0; a < b->head.naggs; a++)
			advance(naive, &b->aggs[a], &group->states[a], regs);
	}
}

static void
naive_run(Naive *naive, const ProgramBuilder *b, const ArrayTable *table)
{
	memset(naive, 0, sizeof(*naive));
	naive->b = b;
	naive->table = table;
	if (b->head.kind == GPUCOL_PROGRAM_AGG && b->head.nkeys == 0)
		find_group(naive, "", 0, true);
	for (int s = 0; s < table->nsegments; s++)
	{
		const ArraySegment *segment = &table->segments[s];

		for (uint32_t r = 0; r < segment->nrows; r++)
		{
			uint64_t	row = segment->first_row + r;

			if (segment->deleted == NULL || !(segment->deleted[r / 32] >> (r % 32) & 1))
				naive_row(naive, segment->columns, r,
						  (UINT64_C(0x80000000) + row / 256) << 16 | (1 + row % 256));
		}
	}
	for (uint32_t r = 0; r < table->ndelta; r++)
		naive_row(naive, table->delta, r, table->tids[r]);
}

static void
naive_free(Naive *naive)
{
	for (size_t g = 0; g < naive->ngroups; g++)
	{
		for (int a = 0; a < naive->b->head.naggs; a++)
		{
			free(naive->groups[g].states[a].floats);
			free(naive->groups[g].states[a].seen);
		}
		free(naive->groups[g].states);
	}
	free(naive->groups);
	free(naive->rows);
}

/* ---- random programs ---- */

static const struct
{
	uint8_t		op;
	uint8_t		r;
	uint8_t		in[3];
}			opcodes[] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
	{GPUCOL_OP_##name, GPUCOL_CLASS_##r, {GPUCOL_CLASS_##a, GPUCOL_CLASS_##b, GPUCOL_CLASS_##c}},
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
};

static int	reg_width[BUILDER_MAX];	/* of I registers: bytes */

static int
new_reg(ProgramBuilder *b, GpucolOpcode op, GpucolClass cls, int x, int y, int z, int aux,
		int width)
{
	int			r = builder_instr(b, op, cls, x, y, z, aux);

	reg_width[r] = width;
	return r;
}

/* A fresh register of a class: a column or a constant. */
static int
leaf(ProgramBuilder *b, GpucolClass cls, int width)
{
	static const int ints4[] = {C_KEY, C_INT4, C_RUNS, C_NULLS, C_DICT};
	int			c;
	bool		constant = pick(3) == 0;

	switch (cls)
	{
		case GPUCOL_CLASS_B:
			if (constant)
				return new_reg(b, GPUCOL_OP_CONST_B, cls, 0, 0, 0,
							   builder_const_int(b, cls, pick(2)), 0);
			return new_reg(b, GPUCOL_OP_LOAD_B, cls, 0, 0, 0, C_BOOL, 0);
		case GPUCOL_CLASS_I:
			if (constant)
			{
				int			k = builder_const_int(b, cls, pick(200) - 20);

				b->consts[k].isnull = pick(20) == 0;
				return new_reg(b, GPUCOL_OP_CONST_I, cls, 0, 0, 0, k, 2);
			}
			c = width == 2 ? C_DICT : width == 4 || pick(2) ? ints4[pick(5)] :
				(int[]) {C_INT8, C_CONST, C_DEC2, C_DEC4}[pick(4)];
			return new_reg(b, GPUCOL_OP_LOAD_I, cls, 0, 0, 0, c, shapes[c].width != 0 ? shapes[c].width : 8);
		case GPUCOL_CLASS_D:
			if (constant)
				return new_reg(b, GPUCOL_OP_CONST_D, cls, 0, 0, 0,
							   builder_const_int(b, cls, (__int128) pick(100000) - 500), 0);
			return new_reg(b, GPUCOL_OP_LOAD_D, cls, 0, 0, 0, pick(2) ? C_DEC2 : C_DEC4, 0);
		case GPUCOL_CLASS_F:
			if (constant)
				return new_reg(b, GPUCOL_OP_CONST_F, cls, 0, 0, 0,
							   builder_const_float(b, pick(5) == 0 ? odd_floats[pick(9)] :
												   pick(1000) / 8.0), 0);
			return new_reg(b, GPUCOL_OP_LOAD_F, cls, 0, 0, 0,
						   (int[]) {C_SCALED, C_FLOAT8, C_FLOAT4, C_SMOOTH}[pick(4)], 0);
		default:
			return new_reg(b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0,
						   pick(2) ? C_WORD : C_TEXT, 0);
	}
}

/* A register of a class that fits `width` bytes: an old one or a leaf. */
static int
operand(ProgramBuilder *b, GpucolClass cls, int width)
{
	for (int tries = 0; tries < 6 && b->head.nregs > 0; tries++)
	{
		int			r = pick(b->head.nregs);

		if (b->classes[r] == cls && (cls != GPUCOL_CLASS_I || reg_width[r] <= width))
			return r;
	}
	return leaf(b, cls, width);
}

static void
random_instr(ProgramBuilder *b)
{
	int			k = pick(GPUCOL_OP_COUNT);
	int			in[3] = {0, 0, 0};
	int			aux = 0;
	int			width = (int[]) {2, 4, 4, 8, 8}[pick(5)];
	int			mask = GPUCOL_NO_REG;
	int			r;

	/* functions of byte strings: test/sql/agg_text_parts.sql */
	if (k > GPUCOL_OP_SHR_I)
		k = GPUCOL_OP_CONST_I;	/* dates: test/sql/agg_shift.sql */
	if (k <= GPUCOL_OP_CONST_B || (k >= GPUCOL_OP_LENGTH_S && k <= GPUCOL_OP_FIELD_S))
	{
		leaf(b, (GpucolClass) opcodes[k].r, 8);
		return;
	}
	/* a function has no value where its mask is not true, which only CASE knows how to leave out */
	if (pick(4) == 0 && k != GPUCOL_OP_MATH_F && k != GPUCOL_OP_MATH2_F)
		mask = operand(b, GPUCOL_CLASS_B, 8);
	if (k == GPUCOL_OP_F_TO_I || k == GPUCOL_OP_CHECK_I ||
		(k >= GPUCOL_OP_ADD_I && k <= GPUCOL_OP_ABS_I))
		aux = width;
	else if (k >= GPUCOL_OP_ADD_F && k <= GPUCOL_OP_I_TO_F)
		aux = k == GPUCOL_OP_ROUND_F ? 4 : 8;
	else if (k == GPUCOL_OP_RESCALE_D || k == GPUCOL_OP_I_TO_D)
		aux = pick(5);
	else if (k >= GPUCOL_OP_BIT_AND_I)
		aux = width;
	else if (k == GPUCOL_OP_MATH2_F)
		aux = GPUCOL_MATH_ATAN2;
	else if (k == GPUCOL_OP_MATH_F)
		aux = (int[]) {GPUCOL_MATH_CEIL, GPUCOL_MATH_FLOOR, GPUCOL_MATH_ROUND, GPUCOL_MATH_TRUNC,
		GPUCOL_MATH_SIGN, GPUCOL_MATH_SQRT}[pick(6)];
	for (int o = 0; o < 3; o++)
		if (opcodes[k].in[o] != GPUCOL_CLASS_NONE)
			in[o] = operand(b, (GpucolClass) opcodes[k].in[o], k == GPUCOL_OP_CHECK_I ? 8 :
							aux == 0 || opcodes[k].r != GPUCOL_CLASS_I ? 8 : width);
	if (k == GPUCOL_OP_HOST_TEST)
		aux = random_host(b->instrs[in[0]].aux);
	if (k == GPUCOL_OP_IN_I)
	{
		in[1] = b->head.nconsts;
		in[2] = 1 + pick(12);
		for (int i = 0, v = -20; i < in[2]; i++)
			builder_const_int(b, GPUCOL_CLASS_I, v += 1 + pick(20));
		if (pick(4) == 0)
			b->consts[in[1] + in[2] - 1].isnull = 1;
	}
	if (k == GPUCOL_OP_CASE_I)
		width = reg_width[in[1]] > reg_width[in[2]] ? reg_width[in[1]] : reg_width[in[2]];
	if (k == GPUCOL_OP_B_TO_I)
		width = 2;
	if ((k >= GPUCOL_OP_BIT_AND_I || (k >= GPUCOL_OP_ADD_I && k <= GPUCOL_OP_MOD_I)) &&
		opcodes[k].r == GPUCOL_CLASS_I)
		width = aux;
	r = new_reg(b, (GpucolOpcode) k, (GpucolClass) opcodes[k].r, in[0], in[1], in[2], aux, width);
	b->instrs[b->head.ninstrs - 1].mask = (uint16_t) mask;
	(void) r;
}

/* A constant like the values of a column. */
static int
column_const(ProgramBuilder *b, int c)
{
	int			k;
	int64_t		v = random_value(c, (uint32_t) pick(3000), pick(3));

	if (shapes[c].kind == GPUCOL_KIND_INT)
		k = builder_const_int(b, GPUCOL_CLASS_I, pick(30) == 0 ? INT64_MAX :
							  pick(30) == 0 ? INT64_MIN : v);
	else if (shapes[c].kind == GPUCOL_KIND_DECIMAL)
		k = builder_const_int(b, GPUCOL_CLASS_D, pick(10) == 0 ?
							  (__int128) v * ((__int128) 1 << 64) : v);
	else
	{
		double		f;
		float		f4;

		memcpy(&f, &v, 8);
		memcpy(&f4, &v, 4);
		k = builder_const_float(b, shapes[c].kind == GPUCOL_KIND_FLOAT8 ? f :
								pick(2) ? f4 : f4 * 1.0000000001);
	}
	b->consts[k].isnull = pick(40) == 0;
	return k;
}

static void
random_range(ProgramBuilder *b)
{
	int			c = pick(NCOLUMNS);
	GpucolRange *range;

	if (shapes[c].kind == GPUCOL_KIND_BYTES)
	{
		int			op = pick(4);

		range = builder_range(b, c, op == 0 ? GPUCOL_RANGE_IS_NULL :
							  op == 1 ? GPUCOL_RANGE_IS_NOT_NULL : GPUCOL_RANGE_HOST);
		range->n = (uint32_t) random_host(c);
		return;
	}
	range = builder_range(b, c, (GpucolRangeOp) (1 + pick(6)));
	if (range->op <= GPUCOL_RANGE_NOT_BETWEEN)
	{
		if (pick(4))
			range->lo = (uint16_t) column_const(b, c);
		if (pick(4))
			range->hi = (uint16_t) column_const(b, c);
		range->flags = (uint8_t) pick(4);
	}
	else if (range->op <= GPUCOL_RANGE_NOT_IN)
	{
		range->n = (uint32_t) pick(8);
		range->lo = b->head.nconsts;
		for (uint32_t i = 0; i < range->n; i++)
			column_const(b, c);
	}
}

static void
random_agg(ProgramBuilder *b)
{
	static const struct
	{
		GpucolAggOp op;
		const char *classes;
	}			choices[] = {
		{GPUCOL_AGG_COUNT_STAR, "B"}, {GPUCOL_AGG_COUNT, "BIDFS"}, {GPUCOL_AGG_SUM, "IDF"},
		{GPUCOL_AGG_SUM, "IDF"}, {GPUCOL_AGG_MIN, "BIDF"}, {GPUCOL_AGG_MAX, "BIDF"},
		{GPUCOL_AGG_SUMSQ, "IDF"}, {GPUCOL_AGG_BOOL_AND, "B"}, {GPUCOL_AGG_BOOL_OR, "B"}, {GPUCOL_AGG_BIT_XOR, "I"},
		{GPUCOL_AGG_COUNT_DISTINCT, "BIFS"},
	};
	int			k = pick((int) (sizeof(choices) / sizeof(choices[0])));
	char		letter = choices[k].classes[pick((int) strlen(choices[k].classes))];
	GpucolClass cls = (GpucolClass) (strchr("BIDFS", letter) - "BIDFS" + 1);
	int			arg = choices[k].op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : operand(b, cls, 8);
	int			filter = pick(4) == 0 ? operand(b, GPUCOL_CLASS_B, 8) : GPUCOL_NO_REG;

	builder_agg(b, choices[k].op, arg == GPUCOL_NO_REG ? GPUCOL_CLASS_NONE : cls, arg, filter);
}

static void
random_program(ProgramBuilder *b)
{
	builder_init(b, pick(3) == 0 ? GPUCOL_PROGRAM_SCAN : GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, shapes[c].kind, shapes[c].scale);
	for (int i = pick(4); i > 0; i--)
		random_range(b);
	if (pick(2))
	{
		for (int i = pick(6); i > 0; i--)
			random_instr(b);
		b->head.filter = (uint16_t) operand(b, GPUCOL_CLASS_B, 8);
		b->head.nfilter_instrs = b->head.ninstrs;
	}
	for (int i = pick(6); i > 0; i--)
		random_instr(b);
	for (int k = pick(4); k > 0; k--)
	{
		static const int keys[] = {C_KEY, C_DICT, C_RUNS, C_NULLS};
		int			way = pick(3);
		int			r;

		if (way == 0)
		{
			int			c = keys[pick(4)];

			r = new_reg(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, c, shapes[c].width);
		}
		else if (way == 1)
			r = new_reg(b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_WORD, 0);
		else
			r = operand(b, (GpucolClass) (1 + pick(5)), 8);
		b->keys[b->head.nkeys++] = (uint16_t) r;
	}
	if (b->head.kind == GPUCOL_PROGRAM_AGG)
		for (int a = pick(6); a > 0; a--)
			random_agg(b);
}

/* Groups by plain columns and states of plain columns: what works on codes. */
static void
random_dense_program(ProgramBuilder *b)
{
	static const int keys[] = {C_KEY, C_DICT, C_RUNS, C_NULLS, C_CONST, C_INT4, C_DEC2};
	static const int args[] = {C_INT4, C_NULLS, C_DEC2, C_CONST, C_KEY, C_RUNS, C_INT8};
	static const GpucolAggOp some[] = {GPUCOL_AGG_COUNT, GPUCOL_AGG_SUM, GPUCOL_AGG_SUM,
		GPUCOL_AGG_MIN, GPUCOL_AGG_MAX};

	builder_init(b, GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, shapes[c].kind, shapes[c].scale);
	for (int i = pick(3); i > 0; i--)
		random_range(b);
	for (int k = pick(4); k > 0; k--)
	{
		int			c = keys[pick(7)];
		int			way = pick(5);
		bool		decimal = shapes[c].kind == GPUCOL_KIND_DECIMAL;

		b->keys[b->head.nkeys++] = (uint16_t)
			(way == 0 ? new_reg(b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_WORD, 0) :
			 way == 1 ? new_reg(b, GPUCOL_OP_LOAD_B, GPUCOL_CLASS_B, 0, 0, 0, C_BOOL, 0) :
			 new_reg(b, decimal ? GPUCOL_OP_LOAD_D : GPUCOL_OP_LOAD_I,
					 decimal ? GPUCOL_CLASS_D : GPUCOL_CLASS_I, 0, 0, 0, c, 8));
	}
	for (int a = 1 + pick(6); a > 0; a--)
	{
		int			c = args[pick(7)];
		bool		decimal = shapes[c].kind == GPUCOL_KIND_DECIMAL;
		GpucolClass cls = decimal ? GPUCOL_CLASS_D : GPUCOL_CLASS_I;

		if (pick(4) == 0)
			builder_agg(b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
		else if (pick(8) == 0)
			random_agg(b);
		else
			builder_agg(b, some[pick(5)], cls,
						new_reg(b, decimal ? GPUCOL_OP_LOAD_D : GPUCOL_OP_LOAD_I, cls, 0, 0, 0, c, 8),
						GPUCOL_NO_REG);
	}
}

/* Ranges, groups and aggregates of C_INT8, mostly plain. */
static void
random_width_program(ProgramBuilder *b)
{
	static const GpucolAggOp some[] = {GPUCOL_AGG_COUNT, GPUCOL_AGG_SUM, GPUCOL_AGG_MIN, GPUCOL_AGG_MAX,
		GPUCOL_AGG_SUMSQ, GPUCOL_AGG_COUNT_DISTINCT};
	bool		rows = pick(4) == 0;
	int			most = pick(2) ? 4 : 6;
	int			r;

	builder_init(b, rows ? GPUCOL_PROGRAM_SCAN : GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(b, shapes[c].kind, shapes[c].scale);
	for (int i = pick(3); i > 0; i--)
	{
		GpucolRange *range = builder_range(b, C_INT8, (GpucolRangeOp) (GPUCOL_RANGE_BETWEEN + pick(4)));

		range->lo = b->head.nconsts;
		range->flags = (uint8_t) pick(4);
		column_const(b, C_INT8);
		if (range->op <= GPUCOL_RANGE_NOT_BETWEEN)
		{
			range->hi = (uint16_t) column_const(b, C_INT8);
			if (pick(3) == 0)
				range->lo = GPUCOL_NO_REG;
		}
		else
		{
			range->flags = 0;
			for (range->n = 1; range->n < 6; range->n++)
				column_const(b, C_INT8);
		}
	}
	r = new_reg(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_INT8, 8);
	if (rows || pick(4) == 0)
		b->keys[b->head.nkeys++] = (uint16_t) r;
	else if (pick(2))
		b->keys[b->head.nkeys++] = (uint16_t) new_reg(b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_KEY, 4);
	if (rows)
		return;
	builder_agg(b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	for (int a = pick(4); a > 0; a--)
		builder_agg(b, some[pick(most)], GPUCOL_CLASS_I, r, GPUCOL_NO_REG);
}

/* ---- comparison ---- */

static bool
close_to(double got, long double want, long double scale)
{
	if (isnan(got) || isnan((double) want))
		return isnan(got) && isnan((double) want);
	if (isinf(got) || isinf((double) want))
		return got == (double) want;
	return fabsl(got - want) <= 1e-12L * scale + 1e-290L;
}

static void
compare_squares(const State *want, const GpucolAggState *got)
{
	long double mean = 0;
	long double squares = 0;
	double		biggest = 0;

	if (want->count == 0)
		return;
	for (int64_t i = 0; i < want->count; i++)
	{
		mean += want->floats[i];
		if (!(fabs(want->floats[i]) <= biggest))
			biggest = fabs(want->floats[i]);
	}
	if (!isfinite(biggest))
	{
		CHECK(isnan(got->w.f), "squares of special floats: %g", got->w.f);
		return;
	}
	mean /= want->count;
	for (int64_t i = 0; i < want->count; i++)
		squares += (want->floats[i] - mean) * (want->floats[i] - mean);
	CHECK(close_to(got->w.f, squares, 1e3L * (squares + 1e-3L * mean * mean)),
		  "squares %.17g want %.17Lg", got->w.f, squares);
}

static __int128
state128(uint64_t lo, int64_t hi)
{
	return (__int128) ((unsigned __int128) (uint64_t) hi << 64 | lo);
}

static void
compare_state(const GpucolAgg *agg, const State *want, const GpucolAggState *got)
{
	CHECK(got->count == want->count, "agg op %d class %d: count %lld want %lld", agg->op, agg->cls,
		  (long long) got->count, (long long) want->count);
	switch ((GpucolAggOp) agg->op)
	{
		case GPUCOL_AGG_COUNT_STAR:
		case GPUCOL_AGG_COUNT:
			return;
		case GPUCOL_AGG_SUM:
		case GPUCOL_AGG_SUMSQ:
			if (agg->cls == GPUCOL_CLASS_F)
			{
				CHECK(close_to(got->v.f, want->fspecial ? want->fplain : want->fsum, want->fabs_sum),
					  "float sum %.17g want %.17Lg of %lld", got->v.f, want->fsum,
					  (long long) want->count);
				if (agg->op == GPUCOL_AGG_SUMSQ)
					compare_squares(want, got);
				return;
			}
			CHECK(state128(got->v.i.lo, got->v.i.hi) == want->sum, "sum of class %d", agg->cls);
			if (agg->op == GPUCOL_AGG_SUMSQ)
				CHECK(state128(got->w.i.lo, got->w.i.hi) == want->sumsq, "sum of squares");
			return;
		case GPUCOL_AGG_MIN:
		case GPUCOL_AGG_MAX:
			if (want->count == 0)
				return;
			if (agg->cls == GPUCOL_CLASS_F)
				CHECK(float_cmp(got->v.f, want->extreme.f) == 0, "float extreme");
			else if (agg->cls == GPUCOL_CLASS_D)
				CHECK(state128(got->v.i.lo, got->v.i.hi) == want->extreme.d, "decimal extreme");
			else
				CHECK(got->v.value == want->extreme.i, "extreme %lld want %lld",
					  (long long) got->v.value, (long long) want->extreme.i);
			return;
		case GPUCOL_AGG_BOOL_AND:
		case GPUCOL_AGG_BOOL_OR:
			CHECK(want->count == 0 || got->v.value == want->truth, "bool aggregate");
			return;
		case GPUCOL_AGG_BIT_XOR:
			CHECK(want->count == 0 || got->v.value == want->extreme.i, "exclusive or");
			return;
		case GPUCOL_AGG_COUNT_DISTINCT:
			CHECK(got->v.value == want->nseen, "distinct %lld want %lld", (long long) got->v.value,
				  (long long) want->nseen);
			return;
		case GPUCOL_AGG_PRODUCTS:
			return;
	}
}

static void
compare_groups(Naive *naive, const GpucolResult *out)
{
	const ProgramBuilder *b = naive->b;

	for (uint32_t g = 0; g < out->nrows; g++)
	{
		char		key[1024];
		size_t		len = 0;
		Group	   *group;

		for (int k = 0; k < b->head.nkeys; k++)
		{
			const GpucolResultColumn *c = &out->columns[k];

			len += key_text(key + len, c->cls, c->nulls != NULL && c->nulls[g],
							c->i[c->cls == GPUCOL_CLASS_D || c->cls == GPUCOL_CLASS_S ? 0 : g],
							c->cls == GPUCOL_CLASS_D ? c->d[g] : 0,
							c->cls == GPUCOL_CLASS_F ? c->f[g] : 0,
							c->cls == GPUCOL_CLASS_S ? c->s[g] : (GpucolBytes) {"", 0});
		}
		group = find_group(naive, key, len, false);
		CHECK(group != NULL, "unknown group %.*s", (int) len, key);
		if (group == NULL)
			continue;
		CHECK(!group->matched, "group %.*s twice", (int) len, key);
		group->matched = true;
		for (int a = 0; a < b->head.naggs; a++)
			compare_state(&b->aggs[a], &group->states[a], &out->states[g * b->head.naggs + (uint32_t) a]);
	}
}

static void
compare_rows(const Naive *naive, const GpucolResult *out, size_t *at)
{
	const ProgramBuilder *b = naive->b;

	for (uint32_t j = 0; j < out->nrows; j++, (*at)++)
	{
		const Row  *want = &naive->rows[*at];

		CHECK(*at < naive->nrows, "too many rows");
		if (*at >= naive->nrows)
			return;
		CHECK(out->tids[j] == want->tid, "row %zu: tid", *at);
		for (int k = 0; k < b->head.nkeys; k++)
		{
			const GpucolResultColumn *c = &out->columns[k];
			bool		isnull = c->nulls != NULL && c->nulls[j];
			const Val  *v = &want->out[k];
			bool		same = isnull == v->null;

			if (same && !isnull)
				same = c->cls == GPUCOL_CLASS_F ?
					memcmp(&c->f[j], &v->f, 8) == 0 || (isnan(c->f[j]) && isnan(v->f)) :
					c->cls == GPUCOL_CLASS_D ? c->d[j] == v->d :
					c->cls == GPUCOL_CLASS_S ? c->s[j].len == v->s.len &&
					(v->s.len == 0 || memcmp(c->s[j].data, v->s.data, v->s.len) == 0) :
					c->i[j] == v->i;
			CHECK(same, "row %zu output %d class %d", *at, k, c->cls);
		}
	}
}

static bool
has_float_sum(const ProgramBuilder *b)
{
	for (int a = 0; a < b->head.naggs; a++)
		if (b->aggs[a].cls == GPUCOL_CLASS_F &&
			(b->aggs[a].op == GPUCOL_AGG_SUM || b->aggs[a].op == GPUCOL_AGG_SUMSQ))
			return true;
	return false;
}

/* Run a program and compare. */
static void
run_and_compare(Naive *naive, const GpucolProgram *program, int threads, uint32_t window)
{
	ArraySource source;
	GpucolHost	host = {.test = host_test,.any_thread = host_any_thread};
	GpucolRunOptions options = {.threads = threads,.look_ahead = pick(3) > 0};
	GpucolRun  *run;
	GpucolResult out;
	GpucolRunStats stats;
	const char *why;
	GpucolStatus status;
	size_t		at = 0;

	for (size_t g = 0; g < naive->ngroups; g++)
		naive->groups[g].matched = false;
	array_source_init(&source, naive->table, window, true);
#ifndef WHOLE_SEGMENTS
	source.part = pick(3) ? 0 : 1 + pick(4);
	source.base.in_parts = source.part > 0;
#endif
	status = gpucol_engine_cpu.start(program, &source.base, &host, &options, &run, &why);
	CHECK(status == GPUCOL_OK, "start: %s", why);
	if (status != GPUCOL_OK)
		return;
	while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
	{
		if (naive->errors != 0)
			continue;
		if (program->kind == GPUCOL_PROGRAM_AGG)
			compare_groups(naive, &out);
		else
			compare_rows(naive, &out, &at);
	}
	gpucol_engine_cpu.stats(run, &stats);
	if (naive->errors != 0)
		CHECK(naive->errors >> status & 1, "status %d, errors possible %llx", status,
			  (unsigned long long) naive->errors);
	else if (naive->too_big)
		CHECK(status == GPUCOL_UNSUPPORTED, "status %d of a sum beyond int128", status);
	else if (status == GPUCOL_FLOAT_OVERFLOW)
		CHECK(has_float_sum(naive->b), "overflow from nowhere");
	else
	{
		CHECK(status == GPUCOL_END, "status %d", status);
		for (size_t g = 0; g < naive->ngroups && status == GPUCOL_END; g++)
			CHECK(naive->groups[g].matched, "group %.*s missing", (int) naive->groups[g].key_len,
				  naive->groups[g].key);
		CHECK(program->kind != GPUCOL_PROGRAM_SCAN || at == naive->nrows,
			  "%zu rows want %zu", at, naive->nrows);
		CHECK(stats.delta_rows == naive->table->ndelta, "delta rows");
		CHECK(stats.segments_read + stats.segments_skipped == (uint64_t) naive->table->nsegments,
			  "segments");
	}
	CHECK(source.mapped_rows == 0, "windows left mapped");
	gpucol_engine_cpu.finish(run);
}

/* What a failed round was about. */
static void
describe(const ProgramBuilder *b, const ArrayTable *table)
{
	for (int i = 0; i < b->head.nranges; i++)
	{
		const GpucolRange *range = &b->ranges[i];

		printf("  range: column %d op %d flags %d n %u lo", range->column, range->op,
			   range->flags, range->n);
		for (uint32_t k = 0; k < 12 && range->lo + k < b->head.nconsts; k++)
			printf(" %lld/%g%s", (long long) b->consts[range->lo + k].v.i,
				   b->consts[range->lo + k].v.f, b->consts[range->lo + k].isnull ? "(null)" : "");
		if (range->hi != GPUCOL_NO_REG)
			printf(" hi %lld/%g", (long long) b->consts[range->hi].v.i, b->consts[range->hi].v.f);
		for (int s = 0; s < table->nsegments; s++)
		{
			const GpucolChunkDesc *desc = table->segments[s].chunks[range->column];

			printf("; coding %d width %d reference %lld zone %lld %lld", desc->coding,
				   desc->width, (long long) desc->reference, (long long) desc->zone.min,
				   (long long) desc->zone.max);
		}
		printf("\n");
	}
	for (int i = 0; i < b->head.ninstrs; i++)
		printf("  %d: op %d (%d %d %d) mask %d aux %d\n", b->instrs[i].dst, b->instrs[i].op,
			   b->instrs[i].a, b->instrs[i].b, b->instrs[i].c, b->instrs[i].mask,
			   b->instrs[i].aux);
	for (int s = 0; s < table->nsegments; s++)
		printf("  segment of %u rows\n", table->segments[s].nrows);
	printf("  filter %d of %d, %d keys, %d aggs, %u delta rows\n", b->head.filter,
		   b->head.nfilter_instrs, b->head.nkeys, b->head.naggs, table->ndelta);
}

/* Run programs over a random table, each made by one of the makers in turn. */
static void
run_programs(int n, void (*const *makers) (ProgramBuilder *), int nmakers)
{
	static ProgramBuilder b;
	static ArrayTable table;

	random_table(&table);
	for (int p = 0; p < n; p++)
	{
		GpucolProgram *program;
		Naive		naive;
		long		failed;

		makers[p % nmakers] (&b);
		program = builder_finish(&b);
		naive_run(&naive, &b, &table);
		failed = check_failed;
		run_and_compare(&naive, program, (int[]) {1, 1, 2, 4}[pick(4)],
						pick(4) ? 65536 : 2048);
		if (check_failed > failed && failed < 20)
			describe(&b, &table);
		naive_free(&naive);
		free(program);
	}
	array_table_free(&table);
}

static void
test_random(int rounds)
{
	static void (*const makers[]) (ProgramBuilder *) = {
		random_dense_program, random_program, random_program
	};

	for (int t = 0; t < rounds; t++)
		run_programs(12, makers, 3);
}

/* Codes of every width. */
static void
test_widths(void)
{
	static void (*const makers[]) (ProgramBuilder *) = {random_width_program};

	for (code_width = 0; code_width <= 64; code_width++)
		run_programs(2, makers, 1);
	code_width = -1;
}

/*
 * Leave by longjmp in every call of the source in turn: finish must release
 * everything (the leak checker tells) and stop the threads.  An engine that awaits
 * another process asks for interrupts any number of times: from the hundredth call
 * on, some are passed over.
 */
static void
test_longjmp(void)
{
	static ProgramBuilder b;
	static ArrayTable table;
	GpucolProgram *program;
	int			r;

	do
	{
		array_table_free(&table);
		random_table(&table);
	} while (table.nsegments == 0);
	builder_init(&b, GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, shapes[c].kind, shapes[c].scale);
	builder_range(&b, C_TEXT, GPUCOL_RANGE_HOST)->n = 5;
	r = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_WORD);
	b.keys[b.head.nkeys++] = (uint16_t) r;
	r = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_TEXT);
	builder_agg(&b, GPUCOL_AGG_COUNT_DISTINCT, GPUCOL_CLASS_S, r, GPUCOL_NO_REG);
	r = builder_instr(&b, GPUCOL_OP_LOAD_F, GPUCOL_CLASS_F, 0, 0, 0, C_SMOOTH);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F, r, GPUCOL_NO_REG);
	program = builder_finish(&b);
	for (volatile long at = 1;; at += at < 100 ? 1 : at / 4)
	{
		static ArraySource source;
		GpucolHost	host = {.test = host_test,.any_thread = host_any_thread};
		GpucolRunOptions options = {.threads = 2};
		static GpucolRun *run;
		GpucolResult out;
		const char *why;

		array_source_init(&source, &table, 65536, false);
		source.fail_at = at;
		CHECK(gpucol_engine_cpu.start(program, &source.base, &host, &options, &run,
									  &why) == GPUCOL_OK, "start");
		if (setjmp(source.jump) == 0)
		{
			while (gpucol_engine_cpu.next(run, &out) == GPUCOL_OK)
				;
			gpucol_engine_cpu.finish(run);
			break;
		}
		array_source_abort(&source);
		gpucol_engine_cpu.finish(run);
	}
	free(program);
	array_table_free(&table);
}

/*
 * Every memory limit gives the result or GPUCOL_OUT_OF_MEMORY, never a crash;
 * what sufficed for one engine suffices when it is more (of two engines that
 * take turns, each needs memory of its own).
 */
static void
test_memory_limit(void)
{
	static ProgramBuilder b;
	static ArrayTable table;
	GpucolProgram *program;
	static Naive naive;
	bool		refused = false;
	bool		answered = false;
	int			r;

	random_table(&table);
	builder_init(&b, GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, shapes[c].kind, shapes[c].scale);
	r = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_TEXT);
	b.keys[b.head.nkeys++] = (uint16_t) r;
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	program = builder_finish(&b);
	naive_run(&naive, &b, &table);
	for (size_t limit = 1000; limit < 64 * 1024 * 1024; limit += limit / 4)
	{
		ArraySource source;
		GpucolRunOptions options = {.threads = 1,.memory_limit = limit};
		GpucolRun  *run;
		GpucolResult out;
		const char *why;
		GpucolStatus status;
		size_t		groups = 0;

		array_source_init(&source, &table, 65536, true);
		status = gpucol_engine_cpu.start(program, &source.base, NULL, &options, &run, &why);
		if (status == GPUCOL_OK)
		{
			while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
				groups += out.nrows;
			gpucol_engine_cpu.finish(run);
		}
		CHECK(status == GPUCOL_OUT_OF_MEMORY ||
			  (status == GPUCOL_END && groups == naive.ngroups), "status %d", status);
		CHECK(status != GPUCOL_OUT_OF_MEMORY || !answered || strcmp(gpucol_engine_cpu.name, "cpu") != 0,
			  "less memory sufficed");
		CHECK(source.mapped_rows == 0, "windows left mapped");
		refused |= status == GPUCOL_OUT_OF_MEMORY;
		answered |= status == GPUCOL_END;
	}
	CHECK(refused && answered, "limits tried");
	naive_free(&naive);
	free(program);
	array_table_free(&table);
}

/* Count the strings that a host predicate lets pass, from a source; *count is their number. */
static GpucolStatus
count_texts(const GpucolProgram *program, ArraySource *source, int64_t *count)
{
	GpucolHost	host = {.test = host_test,.any_thread = host_any_thread};
	GpucolRunOptions options = {.threads = 3};
	GpucolStatus status;
	GpucolRun  *run;
	GpucolResult out;
	const char *why;

	*count = -1;
	CHECK(gpucol_engine_cpu.start(program, &source->base, &host, &options, &run, &why) == GPUCOL_OK, "start");
	while ((status = gpucol_engine_cpu.next(run, &out)) == GPUCOL_OK)
		*count = out.states[0].count;
	gpucol_engine_cpu.finish(run);
	CHECK(source->mapped_rows == 0, "windows left mapped");
	return status;
}

/* Has a table a segment of texts as raw bytes, whose windows are lent? */
static bool
lends(const ArrayTable *table)
{
	for (int s = 0; s < table->nsegments; s++)
		if (table->segments[s].chunks[C_TEXT] != NULL && gpucol_decode_has_blocks(table->segments[s].chunks[C_TEXT]))
			return true;
	return false;
}

/*
 * Threads verify the pages that are lent to them: packed ones, and those of raw bytes, whether the host is
 * asked by all threads (even numbers) or by one.  A page that is corrupt ends the run; who may not be lent enough
 * has blocks copied, and the same answer.
 */
static void
test_lent(void)
{
	static ArrayTable table;

	do
	{
		array_table_free(&table);
		random_table(&table);
	} while (!lends(&table));
	for (int id = 3; id < 6; id++)
	{
		static ProgramBuilder b;
		static ArraySource source;
		GpucolProgram *program;
		int64_t		count;
		int64_t		other;
		long		verified;

		builder_init(&b, GPUCOL_PROGRAM_AGG);
		for (int c = 0; c < NCOLUMNS; c++)
			builder_column(&b, shapes[c].kind, shapes[c].scale);
		builder_range(&b, C_TEXT, GPUCOL_RANGE_HOST)->n = id;
		builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
		program = builder_finish(&b);
		array_source_init(&source, &table, 65536, true);
		CHECK(count_texts(program, &source, &count) == GPUCOL_END, "host %d", id);
		verified = source.verified;
		CHECK(source.lent > 0 && verified > 0, "%ld windows lent, %ld pages verified", source.lent, verified);
		array_source_init(&source, &table, 80, true);
		CHECK(count_texts(program, &source, &other) == GPUCOL_END && other == count, "host %d: %ld, not %ld", id,
			  (long) other, (long) count);
		for (long at = 1; at <= verified; at += 1 + verified / 20)
		{
			array_source_init(&source, &table, 65536, true);
			source.corrupt_at = at;
			CHECK(count_texts(program, &source, &other) == GPUCOL_CORRUPT, "host %d, page %ld", id, at);
		}
		free(program);
	}
	array_table_free(&table);
}

/* Windows that are asked for ahead while a random table is summed up; each is lent as it was asked for. */
static long
count_ahead(int threads)
{
	static ArrayTable table;
	static ProgramBuilder b;
	static ArraySource source;
	GpucolRunOptions options = {.threads = threads};
	GpucolProgram *program;
	GpucolRun  *run;
	GpucolResult out;
	const char *why;
	int			r;

	do
	{
		array_table_free(&table);
		random_table(&table);
	} while (table.nsegments == 0 || table.segments[0].nrows < 20000);
	builder_init(&b, GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, shapes[c].kind, shapes[c].scale);
	r = builder_instr(&b, GPUCOL_OP_LOAD_F, GPUCOL_CLASS_F, 0, 0, 0, C_SMOOTH);
	builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F, r, GPUCOL_NO_REG);
	program = builder_finish(&b);
	array_source_init(&source, &table, 600, true);
	gpucol_engine_cpu.start(program, &source.base, NULL, &options, &run, &why);
	CHECK(gpucol_engine_cpu.next(run, &out) == GPUCOL_OK, "result");
	gpucol_engine_cpu.finish(run);
	CHECK(source.foreseen == source.ahead,
		  "%d threads: %ld ahead, %ld foreseen", threads, source.ahead, source.foreseen);
	free(program);
	array_table_free(&table);
	return source.ahead;
}

/* With several threads all windows but the first of a segment are; a column of one value has none. */
static void
test_ahead(void)
{
	long		ahead = 0;

	CHECK(count_ahead(1) == 0, "one thread looks ahead");
	for (int round = 0; round < 20; round++)
		ahead += count_ahead(3);
	CHECK(ahead > 0, "threads do not look ahead");
}

/* Sums of floats have the same bits for every number of threads. */
static void
test_float_threads(void)
{
	static ProgramBuilder b;
	static ArrayTable table;

	for (int grouped = 0; grouped < 2; grouped++)
	{
		GpucolProgram *program;
		double		first[64];
		int			r;

		do
		{
			array_table_free(&table);
			random_table(&table);
		} while (table.nsegments < 2);
		builder_init(&b, GPUCOL_PROGRAM_AGG);
		for (int c = 0; c < NCOLUMNS; c++)
			builder_column(&b, shapes[c].kind, shapes[c].scale);
		if (grouped)
		{
			r = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_KEY);
			b.keys[b.head.nkeys++] = (uint16_t) r;
		}
		r = builder_instr(&b, GPUCOL_OP_LOAD_F, GPUCOL_CLASS_F, 0, 0, 0, C_SMOOTH);
		builder_agg(&b, GPUCOL_AGG_SUM, GPUCOL_CLASS_F, r, GPUCOL_NO_REG);
		builder_agg(&b, GPUCOL_AGG_SUMSQ, GPUCOL_CLASS_F, r, GPUCOL_NO_REG);
		program = builder_finish(&b);
		for (int threads = 1; threads <= 5; threads++)
		{
			ArraySource source;
			GpucolRunOptions options = {.threads = threads};
			GpucolRun  *run;
			GpucolResult out;
			const char *why;

			array_source_init(&source, &table, (uint32_t) (65536 / threads), false);
			gpucol_engine_cpu.start(program, &source.base, NULL, &options, &run, &why);
			CHECK(gpucol_engine_cpu.next(run, &out) == GPUCOL_OK, "result");
			for (uint32_t g = 0; g < out.nrows; g++)
			{
				bool		isnull = grouped && out.columns[0].nulls[g];
				double	   *want = &first[grouped ? isnull ? 40 : out.columns[0].i[g] : 0];

				if (threads == 1)
					want[0] = out.states[2 * g].v.f + out.states[2 * g + 1].w.f;
				CHECK(want[0] == out.states[2 * g].v.f + out.states[2 * g + 1].w.f,
					  "%d threads", threads);
			}
			gpucol_engine_cpu.finish(run);
		}
		free(program);
	}
	array_table_free(&table);
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 1 ? atoi(argv[1]) : 12;

	if (argc > 2)
		check_seed = (uint64_t) atoll(argv[2]);
	test_random(rounds);
	if (argc <= 3)
	{
		test_longjmp();
		test_memory_limit();
		if (CPU_ENGINE_ALONE)
		{
			test_lent();
			test_ahead();
		}
		test_float_threads();
		test_widths();
	}
	return check_summary("engine_cpu");
}
