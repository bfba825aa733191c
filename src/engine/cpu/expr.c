/*-------------------------------------------------------------------------
 *
 * expr.c
 *	  Expressions, a vector at a time.
 *
 * A register holds the values of the selected rows densely, so that every
 * instruction is a plain loop over arrays that the compiler vectorises.
 * Constants are registers filled once; the common operations also have a loop
 * with the constant in a scalar.
 *
 * Errors.  An instruction that can fail is defined by a scalar function
 * (kernel/scalar.h) that gives PostgreSQL's result or its error.  The vector loop
 * computes all rows without branches and gathers only whether any row looked
 * wrong; then, and only then, the rows are done again by the scalar function,
 * and the first failing row that counts (mask true, no NULL operand) ends the
 * run.  Rows that do not count yield zero.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "engine/cpu/cpu.h"
#include "kernel/bitpack.h"
#include "kernel/float_order.h"
#include "kernel/scalar.h"

/* One instruction at work. */
typedef struct Frame
{
	GpucolCpuWorker *worker;
	const GpucolCpuVector *vector;
	const GpucolInstr *instr;
	GpucolCpuReg *dst;
	const GpucolCpuReg *a;
	const GpucolCpuReg *b;
	const GpucolCpuReg *c;
	uint32_t	n;
} Frame;

typedef GpucolStatus (*OpFunction) (Frame *f);

#define ANY_NULL(reg, j) ((reg)->nulls != NULL && (reg)->nulls[j])

/* dst is NULL where a, or b if given, is. */
GPUCOL_CPU_CLONES static void
strict_nulls(GpucolCpuReg *dst, const GpucolCpuReg *a, const GpucolCpuReg *b,
			 uint32_t n)
{
	const uint8_t *x = a->nulls;
	const uint8_t *y = b != NULL ? b->nulls : NULL;

	if (x == NULL && y == NULL)
	{
		dst->nulls = NULL;
		return;
	}
	dst->nulls = dst->null_space;
	if (x != NULL && y != NULL)
		for (uint32_t j = 0; j < n; j++)
			dst->null_space[j] = x[j] | y[j];
	else
		memcpy(dst->null_space, x != NULL ? x : y, n);
}

/* Does an error of row j count? */
static bool
counts(const Frame *f, uint32_t j)
{
	const GpucolCpuReg *mask;

	if (ANY_NULL(f->dst, j))
		return false;
	if (f->instr->mask == GPUCOL_NO_REG)
		return true;
	mask = &f->worker->regs[f->instr->mask];
	return mask->v.b[j] && !ANY_NULL(mask, j);
}

/* ---- the slow pass ---- */

#define SLOW_BINARY(NAME, R, RT, A, B) \
	static GpucolStatus \
	slow_##NAME(Frame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], f->b->v.B[j], &r); \
\
			if (status != GPUCOL_OK && counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

#define SLOW_UNARY(NAME, R, RT, A) \
	static GpucolStatus \
	slow_##NAME(Frame *f) \
	{ \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			RT			r = 0; \
			GpucolStatus status = gpucol_scalar_##NAME(f->instr->aux, \
													   f->a->v.A[j], &r); \
\
			if (status != GPUCOL_OK && counts(f, j)) \
				return status; \
			f->dst->v.R[j] = status == GPUCOL_OK ? r : 0; \
		} \
		return GPUCOL_OK; \
	}

SLOW_BINARY(ADD_I, i, int64_t, i, i)
SLOW_BINARY(SUB_I, i, int64_t, i, i)
SLOW_BINARY(MUL_I, i, int64_t, i, i)
SLOW_BINARY(DIV_I, i, int64_t, i, i)
SLOW_BINARY(MOD_I, i, int64_t, i, i)
SLOW_UNARY(NEG_I, i, int64_t, i)
SLOW_UNARY(ABS_I, i, int64_t, i)
SLOW_UNARY(CHECK_I, i, int64_t, i)
SLOW_BINARY(ADD_D, d, __int128, d, d)
SLOW_BINARY(SUB_D, d, __int128, d, d)
SLOW_BINARY(MUL_D, d, __int128, d, d)
SLOW_UNARY(NEG_D, d, __int128, d)
SLOW_UNARY(ABS_D, d, __int128, d)
SLOW_UNARY(RESCALE_D, d, __int128, d)
SLOW_UNARY(I_TO_D, d, __int128, i)
SLOW_BINARY(ADD_F, f, double, f, f)
SLOW_BINARY(SUB_F, f, double, f, f)
SLOW_BINARY(MUL_F, f, double, f, f)
SLOW_BINARY(DIV_F, f, double, f, f)
SLOW_UNARY(ROUND_F, f, double, f)
SLOW_UNARY(F_TO_I, i, int64_t, f)

/* ---- vector loops ---- */

/*
 * A loop over two operands of type T: LOOP(j, x, y) in three forms, so that a
 * constant operand stays in a register.
 */
#define LOOP_BINARY(T, A, B, BODY) \
	do \
	{ \
		const T    *xs = f->a->v.A; \
		const T    *ys = f->b->v.B; \
		uint32_t	n = f->n; \
\
		if (f->b->constant) \
		{ \
			T			y = ys[0]; \
\
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			x = xs[j]; \
\
				BODY; \
			} \
		} \
		else if (f->a->constant) \
		{ \
			T			x = xs[0]; \
\
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			y = ys[j]; \
\
				BODY; \
			} \
		} \
		else \
		{ \
			for (uint32_t j = 0; j < n; j++) \
			{ \
				T			x = xs[j]; \
				T			y = ys[j]; \
\
				BODY; \
			} \
		} \
	} while (0)

/* Nonzero where an int64 does not fit aux bytes, for aux 2 and 4. */
#define MISFIT(r) (((uint64_t) (r) + half) & outside)
#define MISFIT_VARS \
	uint64_t	half = UINT64_C(1) << (f->instr->aux * 8 - 1); \
	uint64_t	outside = ~(2 * half - 1); \
	uint64_t	bad = 0; \
	int64_t    *rs = f->dst->v.i

GPUCOL_CPU_CLONES static GpucolStatus
op_ADD_I(Frame *f)
{
	MISFIT_VARS;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x + (uint64_t) y);
						bad |= (uint64_t) ((x ^ r) & (y ^ r)) >> 63;
						rs[j] = r;
					});
	else
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x + (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_ADD_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_SUB_I(Frame *f)
{
	MISFIT_VARS;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x - (uint64_t) y);
						bad |= (uint64_t) ((x ^ y) & (x ^ r)) >> 63;
						rs[j] = r;
					});
	else
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x - (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_SUB_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_MUL_I(Frame *f)
{
	MISFIT_VARS;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		LOOP_BINARY(int64_t, i, i,
					{
						bad |= ((uint64_t) x + 0x80000000) >> 32;
						bad |= ((uint64_t) y + 0x80000000) >> 32;
						rs[j] = (int64_t) ((uint64_t) x * (uint64_t) y);
					});
	else
		LOOP_BINARY(int64_t, i, i,
					{
						int64_t r = (int64_t) ((uint64_t) x * (uint64_t) y);
						bad |= MISFIT(r);
						rs[j] = r;
					});
	return bad ? slow_MUL_I(f) : GPUCOL_OK;
}

/*
 * Division of 32-bit operands through doubles, which hold every quotient's
 * integral part exactly.
 */
GPUCOL_CPU_CLONES static GpucolStatus
op_DIV_I(Frame *f)
{
	uint64_t	bad = 0;
	int64_t    *rs = f->dst->v.i;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		return slow_DIV_I(f);
	LOOP_BINARY(int64_t, i, i,
				{
					bad |= (uint64_t) (y == 0) | (uint64_t) (y == -1);
					rs[j] = (int32_t) ((double) (int32_t) x /
									   (double) (int32_t) (y == 0 ? 1 : y));
				});
	return bad ? slow_DIV_I(f) : GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_MOD_I(Frame *f)
{
	uint64_t	bad = 0;
	int64_t    *rs = f->dst->v.i;

	strict_nulls(f->dst, f->a, f->b, f->n);
	if (f->instr->aux == 8)
		return slow_MOD_I(f);
	LOOP_BINARY(int64_t, i, i,
				{
					int32_t q = (int32_t) ((double) (int32_t) x /
										   (double) (int32_t) (y == 0 ? 1 : y));
					bad |= (uint64_t) (y == 0) | (uint64_t) (y == -1);
					rs[j] = x - q * y;
				});
	return bad ? slow_MOD_I(f) : GPUCOL_OK;
}

/* An operation whose only loop is the scalar one. */
#define OP_SLOW_BINARY(NAME) \
	static GpucolStatus \
	op_##NAME(Frame *f) \
	{ \
		strict_nulls(f->dst, f->a, f->b, f->n); \
		return slow_##NAME(f); \
	}
#define OP_SLOW_UNARY(NAME) \
	static GpucolStatus \
	op_##NAME(Frame *f) \
	{ \
		strict_nulls(f->dst, f->a, NULL, f->n); \
		return slow_##NAME(f); \
	}

OP_SLOW_UNARY(NEG_I)
OP_SLOW_UNARY(ABS_I)
OP_SLOW_UNARY(CHECK_I)
OP_SLOW_BINARY(ADD_D)
OP_SLOW_BINARY(SUB_D)
OP_SLOW_BINARY(MUL_D)
OP_SLOW_UNARY(NEG_D)
OP_SLOW_UNARY(ABS_D)
OP_SLOW_UNARY(RESCALE_D)
OP_SLOW_UNARY(I_TO_D)
OP_SLOW_UNARY(ROUND_F)
OP_SLOW_UNARY(F_TO_I)

/* Float arithmetic: suspicious is any non-finite result, zero where it may be
 * an underflow, and a zero divisor. */
#define OP_FLOAT(NAME, EXPR4, EXPR8, SUSPECT) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(Frame *f) \
	{ \
		uint64_t	bad = 0; \
		double	   *rs = f->dst->v.f; \
\
		strict_nulls(f->dst, f->a, f->b, f->n); \
		if (f->instr->aux == 4) \
			LOOP_BINARY(double, f, f, \
						{ \
							double r = (double) (EXPR4); \
							bad |= (uint64_t) !(fabs(r) <= 1.7976931348623157e308) | \
								(uint64_t) (SUSPECT); \
							rs[j] = r; \
						}); \
		else \
			LOOP_BINARY(double, f, f, \
						{ \
							double r = EXPR8; \
							bad |= (uint64_t) !(fabs(r) <= 1.7976931348623157e308) | \
								(uint64_t) (SUSPECT); \
							rs[j] = r; \
						}); \
		return bad ? slow_##NAME(f) : GPUCOL_OK; \
	}

OP_FLOAT(ADD_F, (float) x + (float) y, x + y, 0)
OP_FLOAT(SUB_F, (float) x - (float) y, x - y, 0)
OP_FLOAT(MUL_F, (float) x * (float) y, x * y, r == 0)
OP_FLOAT(DIV_F, (float) x / (float) y, x / y, r == 0)

GPUCOL_CPU_CLONES static GpucolStatus
op_NEG_F(Frame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.f[j] = -f->a->v.f[j];
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_ABS_F(Frame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.f[j] = fabs(f->a->v.f[j]);
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_I_TO_F(Frame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	if (f->instr->aux == 4)
		for (uint32_t j = 0; j < f->n; j++)
			f->dst->v.f[j] = gpucol_scalar_I_TO_F(4, f->a->v.i[j]);
	else
		for (uint32_t j = 0; j < f->n; j++)
			f->dst->v.f[j] = gpucol_scalar_I_TO_F(8, f->a->v.i[j]);
	return GPUCOL_OK;
}

#define OP_COMPARE(NAME, T, FIELD, EXPR) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(Frame *f) \
	{ \
		uint8_t    *rs = f->dst->v.b; \
\
		strict_nulls(f->dst, f->a, f->b, f->n); \
		LOOP_BINARY(T, FIELD, FIELD, rs[j] = (uint8_t) (EXPR)); \
		return GPUCOL_OK; \
	}

OP_COMPARE(EQ_I, int64_t, i, x == y)
OP_COMPARE(NE_I, int64_t, i, x != y)
OP_COMPARE(LT_I, int64_t, i, x < y)
OP_COMPARE(LE_I, int64_t, i, x <= y)
OP_COMPARE(EQ_D, __int128, d, x == y)
OP_COMPARE(NE_D, __int128, d, x != y)
OP_COMPARE(LT_D, __int128, d, x < y)
OP_COMPARE(LE_D, __int128, d, x <= y)
OP_COMPARE(EQ_F, double, f, gpucol_scalar_EQ_F(x, y))
OP_COMPARE(NE_F, double, f, gpucol_scalar_NE_F(x, y))
OP_COMPARE(LT_F, double, f, gpucol_scalar_LT_F(x, y))
OP_COMPARE(LE_F, double, f, gpucol_scalar_LE_F(x, y))

/* Constants that a loop without branches looks through sooner than a search does. */
#define FEW_CONSTANTS 8

/* Constants b .. b + c - 1 ascend; a NULL among them makes a miss NULL. */
static GpucolStatus
op_IN_I(Frame *f)
{
	const GpucolConst *list = &f->worker->run->consts[f->instr->b];
	uint32_t	n = f->instr->c;
	bool		has_null = false;

	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t k = 0; k < n; k++)
		has_null |= list[k].isnull != 0;
	if (has_null && f->dst->nulls == NULL)
	{
		memset(f->dst->null_space, 0, f->n);
		f->dst->nulls = f->dst->null_space;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		x = f->a->v.i[j];
		bool		found = false;
		bool		null = false;

		if (!has_null && n <= FEW_CONSTANTS)
			for (uint32_t k = 0; k < n; k++)
				found |= list[k].v.i == x;
		else
			found = gpucol_scalar_in(list, n, has_null, x, &null);
		f->dst->v.b[j] = found;
		if (null)
			f->dst->null_space[j] = 1;
	}
	return GPUCOL_OK;
}

/* Look up the verdicts that the main thread fetched. */
static GpucolStatus
op_HOST_TEST(Frame *f)
{
	const GpucolCpuWorker *worker = f->worker;
	const GpucolRun *run = worker->run;
	const GpucolCpuReg *a = f->a;
	const GpucolCpuHostTest *test = run->hosts;
	uint32_t	base = 0;

	while (test->id != f->instr->aux || test->column != a->column->slot)
		test++;
	if (f->vector->delta == NULL && test->by_row)
		base = f->vector->number * GPUCOL_VECTOR_VALUES - a->column->window_row;
	f->dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		verdict;

		if (!a->coded)
			verdict = test->verdicts[base + (worker->full ? j : worker->sel[j])];
		else if (ANY_NULL(a, j))
			verdict = test->null_verdict;
		else
			verdict = test->verdicts[a->codes[j]];
		f->dst->v.b[j] = verdict == 1;
		f->dst->null_space[j] = verdict == 2;
		if (verdict == 2)
			f->dst->nulls = f->dst->null_space;
	}
	return GPUCOL_OK;
}

/* Three-valued logic on (value, null) bytes; NULL rows hold value 0. */
#define TRUTH(reg, j) ((uint8_t) ((reg)->v.b[j] & !ANY_NULL(reg, j)))

GPUCOL_CPU_CLONES static GpucolStatus
op_AND(Frame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		LOOP_BINARY(uint8_t, b, b, f->dst->v.b[j] = x & y);
		return GPUCOL_OK;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		xn = ANY_NULL(f->a, j);
		uint8_t		yn = ANY_NULL(f->b, j);
		uint8_t		x = f->a->v.b[j] & !xn;
		uint8_t		y = f->b->v.b[j] & !yn;

		f->dst->v.b[j] = x & y;
		f->dst->null_space[j] = (uint8_t) gpucol_scalar_and_null(x, xn, y, yn);
	}
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_OR(Frame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls == NULL && f->b->nulls == NULL)
	{
		LOOP_BINARY(uint8_t, b, b, f->dst->v.b[j] = x | y);
		return GPUCOL_OK;
	}
	for (uint32_t j = 0; j < f->n; j++)
	{
		uint8_t		xn = ANY_NULL(f->a, j);
		uint8_t		yn = ANY_NULL(f->b, j);
		uint8_t		x = f->a->v.b[j] & !xn;
		uint8_t		y = f->b->v.b[j] & !yn;

		f->dst->v.b[j] = x | y;
		f->dst->null_space[j] = (uint8_t) gpucol_scalar_or_null(x, xn, y, yn);
	}
	f->dst->nulls = f->dst->null_space;
	return GPUCOL_OK;
}

GPUCOL_CPU_CLONES static GpucolStatus
op_NOT(Frame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.b[j] = !f->a->v.b[j];
	return GPUCOL_OK;
}

static GpucolStatus
op_IS_TRUE(Frame *f)
{
	f->dst->nulls = NULL;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.b[j] = TRUTH(f->a, j);
	return GPUCOL_OK;
}

static GpucolStatus
op_IS_NULL_B(Frame *f)
{
	f->dst->nulls = NULL;
	if (f->a->nulls != NULL)
		memcpy(f->dst->v.b, f->a->nulls, f->n);
	else
		memset(f->dst->v.b, 0, f->n);
	return GPUCOL_OK;
}

#define op_IS_NULL_I op_IS_NULL_B
#define op_IS_NULL_D op_IS_NULL_B
#define op_IS_NULL_F op_IS_NULL_B
#define op_IS_NULL_S op_IS_NULL_B

GPUCOL_CPU_CLONES static GpucolStatus
op_B_TO_I(Frame *f)
{
	strict_nulls(f->dst, f->a, NULL, f->n);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.i[j] = f->a->v.b[j];
	return GPUCOL_OK;
}

#define OP_CASE(NAME, FIELD) \
	GPUCOL_CPU_CLONES static GpucolStatus \
	op_##NAME(Frame *f) \
	{ \
		const GpucolCpuReg *b = f->b; \
		const GpucolCpuReg *c = f->c; \
\
		f->dst->nulls = b->nulls != NULL || c->nulls != NULL ? \
			f->dst->null_space : NULL; \
		for (uint32_t j = 0; j < f->n; j++) \
		{ \
			bool		yes = TRUTH(f->a, j); \
\
			f->dst->v.FIELD[j] = yes ? b->v.FIELD[j] : c->v.FIELD[j]; \
			f->dst->null_space[j] = yes ? ANY_NULL(b, j) : ANY_NULL(c, j); \
		} \
		return GPUCOL_OK; \
	}

OP_CASE(CASE_B, b)
OP_CASE(CASE_I, i)
OP_CASE(CASE_D, d)
OP_CASE(CASE_F, f)

static GpucolStatus
op_load(Frame *f)
{
	gpucol_cpu_column_load(f->worker, f->instr->aux, f->vector, f->dst);
	return GPUCOL_OK;
}

/* Constants were filled in by init. */
static GpucolStatus
op_const(Frame *f GPUCOL_CPU_UNUSED)
{
	return GPUCOL_OK;
}

#define op_LOAD_I op_load
#define op_LOAD_D op_load
#define op_LOAD_F op_load
#define op_LOAD_B op_load
#define op_LOAD_S op_load
#define op_CONST_I op_const
#define op_CONST_D op_const
#define op_CONST_F op_const
#define op_CONST_B op_const

static const struct
{
	OpFunction	function;
	uint8_t		result;
	uint8_t		a;
	uint8_t		b;
	uint8_t		c;
}			ops[] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
	{op_##name, GPUCOL_CLASS_##r, GPUCOL_CLASS_##a, GPUCOL_CLASS_##b, GPUCOL_CLASS_##c},
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
};

static bool
is_const(uint16_t op)
{
	return op >= GPUCOL_OP_CONST_I && op <= GPUCOL_OP_CONST_B;
}

static bool
is_load(uint16_t op)
{
	return op <= GPUCOL_OP_LOAD_S;
}

/* ---- checks and set-up ---- */

/* Has register `reg` the class, and was it written before? */
static bool
readable(const GpucolProgram *program, const uint8_t *written, uint16_t reg,
		 uint8_t cls)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);

	if (cls == GPUCOL_CLASS_NONE)
		return true;
	return reg < program->nregs && written[reg] && classes[reg] == cls;
}

/* Does a load's class suit the column's kind? */
static bool
loadable(uint16_t op, uint8_t kind)
{
	switch (op)
	{
		case GPUCOL_OP_LOAD_I:
			return kind == GPUCOL_KIND_INT || kind == GPUCOL_KIND_DECIMAL;
		case GPUCOL_OP_LOAD_B:
			return kind == GPUCOL_KIND_INT;
		case GPUCOL_OP_LOAD_D:
			return kind == GPUCOL_KIND_DECIMAL;
		case GPUCOL_OP_LOAD_F:
			return gpucol_kind_is_float(kind);
		default:
			return kind == GPUCOL_KIND_BYTES;
	}
}

/* Are an instruction's numbers within the program? */
static bool
check_instr(const GpucolProgram *program, const uint8_t *written,
			const GpucolInstr *instr)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	const GpucolProgramColumn *columns =
		GPUCOL_PROGRAM_ARRAY(program, const GpucolProgramColumn, columns);

	if (instr->op >= GPUCOL_OP_COUNT || instr->dst >= program->nregs ||
		classes[instr->dst] != ops[instr->op].result || written[instr->dst])
		return false;
	if (is_load(instr->op))
		return instr->aux >= 0 && instr->aux < program->ncolumns &&
			loadable(instr->op, columns[instr->aux].kind);
	if (is_const(instr->op))
		return instr->aux >= 0 && instr->aux < program->nconsts;
	if (instr->op == GPUCOL_OP_IN_I)
		return readable(program, written, instr->a, GPUCOL_CLASS_I) &&
			instr->b + instr->c <= program->nconsts;
	if ((instr->op == GPUCOL_OP_RESCALE_D || instr->op == GPUCOL_OP_I_TO_D) &&
		(instr->aux < 0 || instr->aux > 38))
		return false;
	if (instr->mask != GPUCOL_NO_REG &&
		!readable(program, written, instr->mask, GPUCOL_CLASS_B))
		return false;
	return readable(program, written, instr->a, ops[instr->op].a) &&
		readable(program, written, instr->b, ops[instr->op].b) &&
		readable(program, written, instr->c, ops[instr->op].c);
}

/* Refuse a program that this interpreter cannot run safely. */
GpucolStatus
gpucol_cpu_expr_check(const GpucolProgram *program, const char **why)
{
	const GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, keys);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(program, const GpucolAgg, aggs);
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(program, const GpucolRange, ranges);
	uint8_t		written[UINT16_MAX + 1] = {0};

	*why = "malformed kernel description";
	if (program->magic != GPUCOL_PROGRAM_MAGIC ||
		program->version != GPUCOL_PROGRAM_VERSION ||
		program->nfilter_instrs > program->ninstrs)
		return GPUCOL_UNSUPPORTED;
	for (int i = 0; i < program->ninstrs; i++)
	{
		if (i == program->nfilter_instrs && program->filter != GPUCOL_NO_REG &&
			!readable(program, written, program->filter, GPUCOL_CLASS_B))
			return GPUCOL_UNSUPPORTED;
		if (!check_instr(program, written, &instrs[i]))
			return GPUCOL_UNSUPPORTED;
		written[instrs[i].dst] = 1;
	}
	if (program->filter != GPUCOL_NO_REG &&
		!readable(program, written, program->filter, GPUCOL_CLASS_B))
		return GPUCOL_UNSUPPORTED;
	for (int i = 0; i < program->nkeys; i++)
		if (keys[i] >= program->nregs ||
			!readable(program, written, keys[i], classes[keys[i]]))
			return GPUCOL_UNSUPPORTED;
	for (int i = 0; i < program->naggs; i++)
	{
		if (aggs[i].op != GPUCOL_AGG_COUNT_STAR &&
			!readable(program, written, aggs[i].arg, aggs[i].cls))
			return GPUCOL_UNSUPPORTED;
		if (aggs[i].filter != GPUCOL_NO_REG &&
			!readable(program, written, aggs[i].filter, GPUCOL_CLASS_B))
			return GPUCOL_UNSUPPORTED;
	}
	for (int i = 0; i < program->nranges; i++)
	{
		const GpucolRange *range = &ranges[i];
		bool		list = range->op == GPUCOL_RANGE_IN || range->op == GPUCOL_RANGE_NOT_IN;

		if (range->column >= program->ncolumns ||
			(list && (uint64_t) range->lo + range->n > program->nconsts))
			return GPUCOL_UNSUPPORTED;
		if (range->op <= GPUCOL_RANGE_NOT_BETWEEN &&
			((range->lo != GPUCOL_NO_REG && range->lo >= program->nconsts) ||
			 (range->hi != GPUCOL_NO_REG && range->hi >= program->nconsts)))
			return GPUCOL_UNSUPPORTED;
	}
	*why = NULL;
	return GPUCOL_OK;
}

/* Bytes of 1,024 values of a class. */
static size_t
class_size(GpucolClass cls)
{
	size_t		width = cls == GPUCOL_CLASS_B ? 1 :
		cls == GPUCOL_CLASS_D ? sizeof(__int128) :
		cls == GPUCOL_CLASS_S ? sizeof(GpucolBytes) + sizeof(uint32_t) : 8;

	return width * GPUCOL_VECTOR_VALUES;
}

/* Fill a constant register. */
static void
fill_constant(GpucolCpuReg *reg, const GpucolConst *value)
{
	reg->constant = true;
	if (value->isnull)
	{
		memset(reg->null_space, 1, GPUCOL_VECTOR_VALUES);
		reg->nulls = reg->null_space;
	}
	for (int j = 0; j < GPUCOL_VECTOR_VALUES; j++)
	{
		if (reg->cls == GPUCOL_CLASS_B)
			reg->v.b[j] = !value->isnull && value->v.i != 0;
		else if (reg->cls == GPUCOL_CLASS_I)
			reg->v.i[j] = value->isnull ? 0 : value->v.i;
		else if (reg->cls == GPUCOL_CLASS_F)
			reg->v.f[j] = value->isnull ? 0 : value->v.f;
		else if (value->isnull)
			reg->v.d[j] = 0;
		else
			reg->v.d[j] = (__int128) (((unsigned __int128) (uint64_t) value->v.d.hi << 64) |
									  value->v.d.lo);
	}
}

/* Give a worker its registers. */
GpucolStatus
gpucol_cpu_expr_init(GpucolRun *run, GpucolCpuWorker *worker)
{
	const GpucolProgram *program = run->program;
	size_t		size = 64;
	char	   *memory;

	for (int r = 0; r < program->nregs; r++)
		size += class_size(run->classes[r]) + GPUCOL_VECTOR_VALUES;
	worker->regs = gpucol_cpu_alloc0(run, sizeof(GpucolCpuReg) * (program->nregs + 1u));
	worker->reg_memory = memory = gpucol_cpu_alloc0(run, size);
	if (worker->regs == NULL || memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int r = 0; r < program->nregs; r++)
	{
		GpucolCpuReg *reg = &worker->regs[r];

		reg->cls = run->classes[r];
		reg->v.any = memory;
		if (reg->cls == GPUCOL_CLASS_S)
			reg->codes = (uint32_t *) (memory + sizeof(GpucolBytes) * GPUCOL_VECTOR_VALUES);
		memory += class_size(reg->cls);
		reg->null_space = (uint8_t *) memory;
		memory += GPUCOL_VECTOR_VALUES;
	}
	for (int i = 0; i < program->ninstrs; i++)
		if (is_const(run->instrs[i].op))
			fill_constant(&worker->regs[run->instrs[i].dst],
						  &run->consts[run->instrs[i].aux]);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_expr_run(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
					int first, int last)
{
	const GpucolRun *run = worker->run;
	Frame		f;

	f.worker = worker;
	f.vector = vector;
	f.n = worker->nsel;
	for (int i = first; i < last; i++)
	{
		GpucolStatus status;

		f.instr = &run->instrs[i];
		if (run->unread[f.instr->dst])
			continue;
		f.dst = &worker->regs[f.instr->dst];
		f.a = &worker->regs[f.instr->a < run->program->nregs ? f.instr->a : 0];
		f.b = &worker->regs[f.instr->b < run->program->nregs ? f.instr->b : 0];
		f.c = &worker->regs[f.instr->c < run->program->nregs ? f.instr->c : 0];
		status = ops[f.instr->op].function(&f);
		if (status != GPUCOL_OK)
			return status;
	}
	return GPUCOL_OK;
}

/* ---- selection ---- */

/* List the rows of worker->mask in worker->sel. */
void
gpucol_cpu_expr_select(GpucolCpuWorker *worker)
{
	uint32_t	n = worker->live;

	worker->nsel = n;
	worker->full = n % 32 == 0 ||
		worker->mask[n / 32] == (UINT32_C(1) << (n % 32)) - 1;
	for (uint32_t w = 0; w < n / 32 && worker->full; w++)
		worker->full = worker->mask[w] == UINT32_MAX;
	if (worker->full)
		return;
	n = 0;
	for (uint32_t w = 0; w < GPUCOL_LANES; w++)
		for (uint32_t bits = worker->mask[w]; bits != 0; bits &= bits - 1)
			worker->sel[n++] = (uint16_t) (w * 32 + (uint32_t) __builtin_ctz(bits));
}

/* Move the entries listed in `at` to the front of a register. */
static void
compact(GpucolCpuReg *reg, const uint16_t *at, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint32_t	i = at[j];

		if (reg->nulls != NULL)
			reg->null_space[j] = reg->nulls[i];
		switch (reg->cls)
		{
			case GPUCOL_CLASS_B:
				reg->v.b[j] = reg->v.b[i];
				break;
			case GPUCOL_CLASS_D:
				reg->v.d[j] = reg->v.d[i];
				break;
			case GPUCOL_CLASS_S:
				if (reg->coded)
					reg->codes[j] = reg->codes[i];
				else
					reg->v.s[j] = reg->v.s[i];
				break;
			default:
				reg->v.i[j] = reg->v.i[i];
		}
	}
}

/*
 * Keep the selected rows for which the filter register is true, with the
 * registers that later steps read.
 */
GpucolStatus
gpucol_cpu_expr_filter(GpucolCpuWorker *worker)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuReg *filter = &worker->regs[run->program->filter];
	uint16_t	at[GPUCOL_VECTOR_VALUES];
	uint32_t	n = 0;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		at[n] = (uint16_t) j;
		n += TRUTH(filter, j);
	}
	if (n == worker->nsel)
		return GPUCOL_OK;
	for (int r = 0; r < run->program->nregs; r++)
		if (run->keep[r])
			compact(&worker->regs[r], at, n);
	memset(worker->mask, 0, sizeof(worker->mask));
	for (uint32_t j = 0; j < n; j++)
	{
		uint16_t	row = worker->full ? at[j] : worker->sel[at[j]];

		worker->sel[j] = row;
		worker->mask[row / 32] |= UINT32_C(1) << (row % 32);
	}
	worker->live = worker->nsel = n;
	worker->full = n == 0 || worker->sel[n - 1] == n - 1;
	return GPUCOL_OK;
}
