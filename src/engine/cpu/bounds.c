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
 * of class I that are computed: rows whose error does not count have it.  Conditions are
 * numbers from 0 to 1, so that a CASE whose condition the bounds decide is one branch.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"
#include "kernel/numeric_code.h"
#include "kernel/time_shift.h"

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

/* Is it a class of which there are bounds? */
static bool
is_bounded(uint8_t cls)
{
	return cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_D || cls == GPUCOL_CLASS_B;
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

/* Bounds of a column in n delta batches. */
static void
bound_deltas(const GpucolDelta *deltas, uint32_t n, int c, GpucolCpuBounds *b)
{
	for (uint32_t i = 0; i < n; i++)
	{
		const GpucolDeltaColumn *column = &deltas[i].columns[c];
		int64_t		lo;
		int64_t		hi;

		b->nullable |= column->nulls != NULL;
		b->known &= column->highs == NULL;
		if (column->values == NULL)
			continue;
		delta_extremes(column->values, deltas[i].nrows, &lo, &hi);
		b->lo = i == 0 || lo < b->lo ? lo : b->lo;
		b->hi = i == 0 || hi > b->hi ? hi : b->hi;
	}
}

/* Bounds of a column of int64 values: of its chunk, or of delta batches. */
static void
bound_column(const GpucolRun *run, int c, const GpucolDelta *deltas, uint32_t n, GpucolCpuBounds *b)
{
	const GpucolChunkDesc *desc = run->input.cols[c].desc;

	b->known = true;
	b->lo = INT64_MIN;
	b->hi = INT64_MAX;
	if (deltas != NULL)
	{
		bound_deltas(deltas, n, c, b);
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
	const GpucolPayload *payload = &run->code.payloads[instr->aux - run->program->ncolumns];
	const GpucolCpuProbe *probe = &run->join.probes[payload->probe];
	const GpucolLookupColumn *column;

	b->known = is_bounded(run->code.classes[instr->dst]);
	if (probe->is_set)
	{
		gpucol_cpu_set_bounds(probe, payload->column, b);
		return;
	}
	column = &probe->table->columns[payload->column];
	b->known = is_bounded(run->code.classes[instr->dst]) && column->highs == NULL;
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

/* Integral quotient and remainder by a positive constant; others are not bounded. */
static Interval
quotient(Interval a, Interval b)
{
	return b.lo == b.hi && b.lo > 0 ? interval(a.lo / b.lo, a.hi / b.lo) : anything;
}

static Interval
remainder_of(Interval a, Interval b)
{
	if (b.lo != b.hi || b.lo <= 0)
		return anything;
	/* all have one quotient */
	if (a.lo / b.lo == a.hi / b.lo)
		return subtract(a, interval(a.lo / b.lo * b.lo, a.lo / b.lo * b.lo));
	return interval(a.lo < 0 ? 1 - b.lo : 0, a.hi > 0 ? b.lo - 1 : 0);
}

/* A condition that holds for all rows, or for none, or for some. */
static Interval
condition(bool always, bool never)
{
	return interval(always, !never);
}

static Interval
equal(Interval a, Interval b)
{
	return condition(a.lo == a.hi && b.lo == b.hi && a.lo == b.lo, a.hi < b.lo || b.hi < a.lo);
}

static Interval
negated(Interval a)
{
	return interval(1 - a.hi, 1 - a.lo);
}

static Interval
either(Interval a, Interval b)
{
	return (Interval) {true, a.lo < b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi};
}

/* The result of an instruction, of operands that are known. */
static Interval
compute(const GpucolInstr *instr, Interval a, Interval b)
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
		case GPUCOL_OP_DIV_I:
			return quotient(a, b);
		case GPUCOL_OP_MOD_I:
			return remainder_of(a, b);
		case GPUCOL_OP_EQ_I:
		case GPUCOL_OP_EQ_D:
			return equal(a, b);
		case GPUCOL_OP_NE_I:
		case GPUCOL_OP_NE_D:
			return negated(equal(a, b));
		case GPUCOL_OP_LT_I:
		case GPUCOL_OP_LT_D:
			return condition(a.hi < b.lo, a.lo >= b.hi);
		case GPUCOL_OP_LE_I:
		case GPUCOL_OP_LE_D:
			return condition(a.hi <= b.lo, a.lo > b.hi);
		case GPUCOL_OP_AND:
			return interval(a.lo & b.lo, a.hi & b.hi);
		case GPUCOL_OP_OR:
			return interval(a.lo | b.lo, a.hi | b.hi);
		case GPUCOL_OP_NOT:
			return negated(a);
		case GPUCOL_OP_IS_TRUE:
			return a;
		case GPUCOL_OP_NEG_I:
		case GPUCOL_OP_NEG_D:
			return subtract(interval(0, 0), a);
		case GPUCOL_OP_ABS_I:
		case GPUCOL_OP_ABS_D:
			return absolute(a);
		case GPUCOL_OP_CHECK_I:
		case GPUCOL_OP_B_TO_I:
			return a;
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return scale(a, instr->aux);
		default:
			return anything;
	}
}

/* The values of the result's type: of int64, of an integer of fewer bytes, or of bool. */
static Interval
type_of(const GpucolInstr *instr, uint8_t cls)
{
	bool		narrow = cls == GPUCOL_CLASS_I && instr->op != GPUCOL_OP_ARRAY_PLACE_I &&
		instr->op != GPUCOL_OP_EACH_NUMBER && instr->op != GPUCOL_OP_SCALE_S && (instr->aux == 2 || instr->aux == 4);
	bool		months_or_days = (instr->op == GPUCOL_OP_SPAN_S || instr->op == GPUCOL_OP_AGE_I) &&
		(instr->aux & GPUCOL_SPAN_USECS) == 0;
	int			bytes = months_or_days ? 4 : narrow ? instr->aux : 8;
	__int128	limit = (__int128) 1 << (bytes * 8 - 1);

	if (cls == GPUCOL_CLASS_B)
		return interval(0, 1);
	return interval(-limit, limit - 1);
}

static Interval
both(Interval a, Interval b)
{
	return (Interval) {true, a.lo > b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi};
}

/* ---- programs ---- */

static void
bound_const(const GpucolConst *value, GpucolCpuBounds *b)
{
	bool		wide = value->cls == GPUCOL_CLASS_D &&
		value->v.d.hi != (int64_t) value->v.d.lo >> 63;

	b->nullable = value->isnull != 0;
	b->known = is_bounded(value->cls) && !wide;
	b->lo = b->hi = !b->known || value->isnull ? 0 :
		value->cls == GPUCOL_CLASS_D ? (int64_t) value->v.d.lo :
		value->cls == GPUCOL_CLASS_B ? value->v.i != 0 : value->v.i;
}

/* a ? b : c, of which the bounds of a may leave one; NULL takes c */
static Interval
bound_case(const GpucolCpuBounds *a, const GpucolCpuBounds *b, const GpucolCpuBounds *c)
{
	if (gpucol_cpu_bounds_never(a))
		return of_bounds(c);
	if (gpucol_cpu_bounds_always(a))
		return of_bounds(b);
	return b->known && c->known ? either(of_bounds(b), of_bounds(c)) : anything;
}

/* May a result be NULL? */
static bool
may_be_null(const GpucolInstr *instr, const GpucolCpuBounds *a, const GpucolCpuBounds *b,
			const GpucolCpuBounds *c)
{
	switch ((GpucolOpcode) instr->op)
	{
		case GPUCOL_OP_IS_TRUE:
		case GPUCOL_OP_IS_NULL_B:
		case GPUCOL_OP_IS_NULL_I:
		case GPUCOL_OP_IS_NULL_D:
		case GPUCOL_OP_IS_NULL_F:
		case GPUCOL_OP_IS_NULL_S:
			return false;
		case GPUCOL_OP_HOST_TEST:
		case GPUCOL_OP_HOST_EACH:
		case GPUCOL_OP_HOST_MAP:
		case GPUCOL_OP_IN_I:
		case GPUCOL_OP_ARRAY_SIZE_S:
		case GPUCOL_OP_ARRAY_ITEM_I:
		case GPUCOL_OP_ARRAY_ITEM_F:
		case GPUCOL_OP_ARRAY_ITEM_S:
		case GPUCOL_OP_ARRAY_HAS_I:
		case GPUCOL_OP_ARRAY_HAS_F:
		case GPUCOL_OP_ARRAY_HAS_S:
		case GPUCOL_OP_ARRAY_PLACE_I:
		case GPUCOL_OP_ARRAY_PLACE_F:
		case GPUCOL_OP_ARRAY_PLACE_S:
		case GPUCOL_OP_PICTURE_I:
			return true;
		case GPUCOL_OP_NUMERIC_D:
			return a->nullable || (instr->aux & (GPUCOL_NUMERIC_EXACTLY | GPUCOL_NUMERIC_SHOWN_SO)) == 0;
		case GPUCOL_OP_CASE_B:
		case GPUCOL_OP_CASE_I:
		case GPUCOL_OP_CASE_D:
		case GPUCOL_OP_CASE_F:
		case GPUCOL_OP_CASE_S:
			return b->nullable || c->nullable;
		default:
			return GPUCOL_OP_IS_EACH(instr->op) || GPUCOL_OP_IS_FOLD(instr->op) ||
				a->nullable || b->nullable || c->nullable;
	}
}

/* The column that a register is loaded from, or NULL. */
static const GpucolCpuColumn *
column_of(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *load = &run->code.instrs[i];

		if (load->op == GPUCOL_OP_LOAD_S && load->dst == reg && load->aux < run->program->ncolumns)
			return &run->input.cols[load->aux];
	}
	return NULL;
}

/*
 * The mantissas of a column of numerics, each of which has one: those of its chunk, or of a dictionary's entries, if
 * they are known, and 0.
 */
static Interval
bound_numerics(const GpucolRun *run, const GpucolInstr *instr, bool delta)
{
	const GpucolCpuColumn *column = delta ? NULL : column_of(run, instr->a);
	int			to = GPUCOL_NUMERIC_AUX_SCALE(instr->aux);
	const GpucolChunkDesc *desc = column == NULL ? NULL : column->desc;
	int64_t		last;

	if (desc != NULL && desc->coding == GPUCOL_CODING_NUMERIC && desc->scale <= to)
	{
		last = (int64_t) ((uint64_t) desc->reference + ((UINT64_C(1) << desc->width) - 1));
		return either(scale(interval(gpucol_numeric_mantissa(desc, desc->reference),
									 gpucol_numeric_mantissa(desc, last)), to - desc->scale), interval(0, 0));
	}
	if (desc != NULL && column->mantissas != NULL && column->shown <= to)
		return scale(interval(column->least, column->greatest), to - column->shown);
	return interval(-GPUCOL_NUMERIC_MANTISSAS, GPUCOL_NUMERIC_MANTISSAS);
}

/* The register of an instruction. */
static void
bound_instr(const GpucolRun *run, const GpucolInstr *instr, bool delta, GpucolCpuBounds *out)
{
	static const GpucolCpuBounds absent = {.known = true};
	const GpucolCpuOp *op = &gpucol_cpu_expr_ops[instr->op];
	bool		list = instr->op == GPUCOL_OP_IN_I;
	const GpucolCpuBounds *a = op->a == GPUCOL_CLASS_NONE ? &absent : &run->digest.bounds[instr->a];
	const GpucolCpuBounds *all = run->digest.bounds;
	const GpucolCpuBounds *b = op->b == GPUCOL_CLASS_NONE || list ? &absent : &all[instr->b];
	const GpucolCpuBounds *c = op->c == GPUCOL_CLASS_NONE || list ? &absent : &all[instr->c];
	Interval	type = type_of(instr, op->result);
	Interval	r = anything;

	if (instr->op == GPUCOL_OP_NUMERIC_D && (instr->aux & (GPUCOL_NUMERIC_EXACTLY | GPUCOL_NUMERIC_SHOWN_SO)))
		r = bound_numerics(run, instr, delta);
	else if (instr->op == GPUCOL_OP_SCALE_S)
		r = interval(0, instr->aux);
	else if (op->c == GPUCOL_CLASS_NONE)
		r = a->known && b->known ? compute(instr, of_bounds(a), of_bounds(b)) : anything;
	else if (is_bounded(op->result) && instr->op != GPUCOL_OP_SHIFT_I)
		r = bound_case(a, b, c);
	if (instr->op == GPUCOL_OP_IS_TRUE && a->nullable)
		r.lo = 0;
	out->nullable = may_be_null(instr, a, b, c);
	out->safe = r.known && r.lo >= type.lo && r.hi <= type.hi;
	out->known = out->safe;
	if (op->result == GPUCOL_CLASS_I || op->result == GPUCOL_CLASS_B)
	{
		/* what leaves the type is an error, or 0 */
		r = r.known ? both(r, type) : type;
		if (r.lo > r.hi)
			r = type;
		if (op->result == GPUCOL_CLASS_I && !out->safe)
			r = either(r, interval(0, 0));
		out->known = true;
	}
	out->lo = out->known ? (int64_t) r.lo : 0;
	out->hi = out->known ? (int64_t) r.hi : 0;
}

void
gpucol_cpu_bounds_find(GpucolRun *run, const GpucolDelta *deltas, uint32_t n)
{
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		GpucolCpuBounds *b = &run->digest.bounds[instr->dst];

		memset(b, 0, sizeof(*b));
		if (instr->op <= GPUCOL_OP_LOAD_S && instr->aux < run->program->ncolumns)
		{
			bound_column(run, instr->aux, deltas, n, b);
			b->known = is_bounded(run->code.classes[instr->dst]);
			if (run->code.classes[instr->dst] == GPUCOL_CLASS_B)
			{
				b->lo = b->lo == 1 && b->hi == 1;
				b->hi = 1;
			}
		}
		else if (instr->op <= GPUCOL_OP_LOAD_S)
			bound_payload(run, instr, b);
		else if (instr->op <= GPUCOL_OP_CONST_B)
			bound_const(&run->code.consts[instr->aux], b);
		else
			bound_instr(run, instr, deltas != NULL, b);
	}
}
