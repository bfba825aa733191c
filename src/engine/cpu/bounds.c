/*-------------------------------------------------------------------------
 *
 * bounds.c
 *	  Least and greatest values that registers can have in a segment or delta batch.
 *
 * A declaration says little: the product of four numeric(15,2) may have 60 digits and
 * has 12.  Zones of chunks, and a look at the rows of a delta batch, bound the columns;
 * what is computed of them follows by interval arithmetic.  Of a register of class D
 * whose values fit int64 the values are kept and computed in 64 bits, without looking
 * for overflows: expr_ops.c.  Where they fit 32 bits a product needs no more either.
 *
 * Bounds say nothing of rows where the register is NULL, and 0 is always within those
 * of class I: rows whose error does not count have it.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"

/* An interval; not known: any value of the class. */
typedef struct Interval
{
	bool		known;
	__int128	lo;
	__int128	hi;
} Interval;

static const Interval anything = {false, 0, 0};

static Interval
interval(__int128 lo, __int128 hi)
{
	return lo <= hi ? (Interval) {true, lo, hi} : (Interval) {true, hi, lo};
}

/* Bounds as an interval. */
static Interval
of_bounds(const GpucolCpuBounds *b)
{
	return b->known ? (Interval) {true, b->lo, b->hi} : anything;
}

/* Is it a class of numbers that are bounded? */
static bool
is_number(uint8_t cls)
{
	return cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_D;
}

/* ---- columns ---- */

/* Least and greatest of the values of a delta column that are not NULL. */
GPUCOL_CPU_CLONES static void
delta_extremes(const int64_t *values, uint32_t n, int64_t *lo, int64_t *hi)
{
	int64_t		least = n > 0 ? values[0] : 0;
	int64_t		greatest = least;

	for (uint32_t j = 0; j < n; j++)
	{
		least = values[j] < least ? values[j] : least;
		greatest = values[j] > greatest ? values[j] : greatest;
	}
	*lo = least;
	*hi = greatest;
}

/* Bounds of a column of int64 values: of its chunk, or of the delta batch. */
static void
bound_column(const GpucolRun *run, int c, const GpucolDelta *delta, GpucolCpuBounds *b)
{
	const GpucolChunkDesc *desc = run->cols[c].desc;

	b->known = true;
	b->lo = INT64_MIN;
	b->hi = INT64_MAX;
	if (delta != NULL)
	{
		b->nullable = delta->columns[c].nulls != NULL;
		if (delta->columns[c].values != NULL)
			delta_extremes(delta->columns[c].values, delta->nrows, &b->lo, &b->hi);
		return;
	}
	b->nullable = (desc->flags & (GPUCOL_CHUNK_HAS_NULLS | GPUCOL_CHUNK_ALL_NULL)) != 0;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
		b->lo = b->hi = 0;
	else if (desc->flags & GPUCOL_CHUNK_HAS_ZONE)
	{
		b->lo = desc->zone.min;
		b->hi = desc->zone.max;
	}
}

/* Bounds of a column of a built table. */
static void
bound_payload(const GpucolRun *run, const GpucolInstr *instr, GpucolCpuBounds *b)
{
	const GpucolPayload *payload = &run->payloads[instr->aux - run->program->ncolumns];
	const GpucolLookupColumn *column =
		&run->probes[payload->probe].table->columns[payload->column];

	b->known = is_number(run->classes[instr->dst]);
	b->nullable = true;
	b->lo = column->least;
	b->hi = column->greatest;
}

/* ---- arithmetic ---- */

static Interval
add(Interval a, Interval b)
{
	return interval(a.lo + b.lo, a.hi + b.hi);
}

static Interval
subtract(Interval a, Interval b)
{
	return interval(a.lo - b.hi, a.hi - b.lo);
}

/* Operands lie within int64, so no product leaves int128. */
static Interval
multiply(Interval a, Interval b)
{
	__int128	p[4] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
	Interval	r = {true, p[0], p[0]};

	for (int i = 1; i < 4; i++)
	{
		r.lo = p[i] < r.lo ? p[i] : r.lo;
		r.hi = p[i] > r.hi ? p[i] : r.hi;
	}
	return r;
}

static Interval
absolute(Interval a)
{
	Interval	r = interval(a.lo < 0 ? -a.lo : a.lo, a.hi < 0 ? -a.hi : a.hi);

	if (a.lo <= 0 && a.hi >= 0)
		r.lo = 0;
	return r;
}

/* x * 10^by */
static Interval
scale(Interval a, int by)
{
	while (a.known && by-- > 0)
	{
		a = multiply(a, interval(10, 10));
		a.known = a.lo == (int64_t) a.lo && a.hi == (int64_t) a.hi;
	}
	return a;
}

static Interval
either(Interval a, Interval b)
{
	return (Interval) {true, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* The result of an instruction, of operands that are known. */
static Interval
compute(const GpucolInstr *instr, Interval a, Interval b, Interval c)
{
	switch ((GpucolOpcode) instr->op)
	{
		case GPUCOL_OP_ADD_I:
		case GPUCOL_OP_ADD_D:
			return add(a, b);
		case GPUCOL_OP_SUB_I:
		case GPUCOL_OP_SUB_D:
			return subtract(a, b);
		case GPUCOL_OP_MUL_I:
		case GPUCOL_OP_MUL_D:
			return multiply(a, b);
		case GPUCOL_OP_NEG_I:
		case GPUCOL_OP_NEG_D:
			return subtract(interval(0, 0), a);
		case GPUCOL_OP_ABS_I:
		case GPUCOL_OP_ABS_D:
			return absolute(a);
		case GPUCOL_OP_CHECK_I:
			return a;
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return scale(a, instr->aux);
		case GPUCOL_OP_B_TO_I:
			return interval(0, 1);
		case GPUCOL_OP_CASE_I:
		case GPUCOL_OP_CASE_D:
			return either(b, c);
		default:
			return anything;
	}
}

/* The values of the result's type: of int64, or of an integer of fewer bytes. */
static Interval
type_of(const GpucolInstr *instr, uint8_t cls)
{
	int			bytes = cls == GPUCOL_CLASS_I && (instr->aux == 2 || instr->aux == 4) ? instr->aux : 8;
	__int128	limit = (__int128) 1 << (bytes * 8 - 1);

	return interval(-limit, limit - 1);
}

static Interval
both(Interval a, Interval b)
{
	return (Interval) {true, a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* ---- programs ---- */

/* The bounds of what an instruction reads; numbers that are not known make *known false. */
static Interval
operand(const GpucolRun *run, uint16_t reg, uint8_t cls, bool *known, bool *nullable)
{
	const GpucolCpuBounds *b;

	if (cls == GPUCOL_CLASS_NONE)
		return anything;
	b = &run->bounds[reg];
	*nullable |= b->nullable;
	if (is_number(cls))
		*known &= b->known;
	return of_bounds(b);
}

static void
bound_const(const GpucolConst *value, GpucolCpuBounds *b)
{
	bool		wide = value->cls == GPUCOL_CLASS_D &&
		value->v.d.hi != (int64_t) value->v.d.lo >> 63;

	b->nullable = value->isnull != 0;
	b->known = is_number(value->cls) && !wide;
	b->lo = b->hi = !b->known || value->isnull ? 0 :
		value->cls == GPUCOL_CLASS_D ? (int64_t) value->v.d.lo : value->v.i;
}

/* The register of an instruction. */
static void
bound_instr(const GpucolRun *run, const GpucolInstr *instr, GpucolCpuBounds *out)
{
	const GpucolCpuOp *op = &gpucol_cpu_expr_ops[instr->op];
	bool		known = true;
	bool		nullable = instr->op == GPUCOL_OP_HOST_TEST || instr->op == GPUCOL_OP_IN_I;
	Interval	a = operand(run, instr->a, op->a, &known, &nullable);
	Interval	b = instr->op == GPUCOL_OP_IN_I ? anything :
		operand(run, instr->b, op->b, &known, &nullable);
	Interval	c = instr->op == GPUCOL_OP_IN_I ? anything :
		operand(run, instr->c, op->c, &known, &nullable);
	Interval	type = type_of(instr, op->result);
	Interval	r = known && is_number(op->result) ? compute(instr, a, b, c) : anything;

	out->nullable = nullable;
	out->safe = r.known && r.lo >= type.lo && r.hi <= type.hi;
	out->known = out->safe;
	if (op->result == GPUCOL_CLASS_I)
	{
		/* what leaves the type is an error, or 0 */
		r = r.known ? either(both(r, type), interval(0, 0)) : type;
		out->known = r.lo <= r.hi;
	}
	out->lo = out->known ? (int64_t) r.lo : 0;
	out->hi = out->known ? (int64_t) r.hi : 0;
}

void
gpucol_cpu_bounds_find(GpucolRun *run, const GpucolDelta *delta)
{
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->instrs[i];
		GpucolCpuBounds *b = &run->bounds[instr->dst];

		memset(b, 0, sizeof(*b));
		if (instr->op <= GPUCOL_OP_LOAD_S && instr->aux < run->program->ncolumns)
		{
			bound_column(run, instr->aux, delta, b);
			b->known = is_number(run->classes[instr->dst]);
		}
		else if (instr->op <= GPUCOL_OP_LOAD_S)
			bound_payload(run, instr, b);
		else if (instr->op <= GPUCOL_OP_CONST_B)
			bound_const(&run->consts[instr->aux], b);
		else
			bound_instr(run, instr, b);
	}
}
