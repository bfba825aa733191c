/*-------------------------------------------------------------------------
 *
 * expr_alike.c
 *	  Packed decimals that are alike: all rows of a register display as many digits.
 *
 * Decimals that carry their own scale (kernel/packed_decimal.h) take an int128 each, and a
 * look at two scales for each row.  Those of a column are mostly displayed alike, and so is
 * what is computed from them.  Then the register has int64 mantissas, and one scale for all.
 * What does not fit is left to expr_packed.c, for which the register is widened.
 *
 * Only registers that nothing but these operations read are kept so (find_alike).
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_alike.h"
#include "engine/cpu/expr_ops.h"
#include "kernel/numeric_code.h"

#define MOST_DIGITS	18			/* powers of ten that an int64 holds */

/* ---- which registers, and which columns ---- */

static bool
takes_alike(uint16_t op)
{
	return op == GPUCOL_OP_ARITH_P || op == GPUCOL_OP_COMPARE_P || op == GPUCOL_OP_PART_P ||
		op == GPUCOL_OP_ROUND_P || op == GPUCOL_OP_SCALE_P || op == GPUCOL_OP_P_TO_F ||
		op == GPUCOL_OP_TRIM_P || op == GPUCOL_OP_MATH_P || op == GPUCOL_OP_MATH2_P ||
		op == GPUCOL_OP_IS_NULL_D;
}

static bool
takes_words(uint16_t op)
{
	return op == GPUCOL_OP_NUMERIC_P || op == GPUCOL_OP_NUMERIC_D || op == GPUCOL_OP_SCALE_S ||
		op == GPUCOL_OP_IS_NULL_S;
}

bool
gpucol_cpu_alike_is_read_by(const GpucolRun *run, uint16_t reg, bool (*takes) (uint16_t op))
{
	const GpucolProgram *program = run->program;

	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->op > GPUCOL_OP_CONST_B && !takes(instr->op) &&
			(instr->a == reg || instr->b == reg || instr->c == reg))
			return false;
	}
	for (int k = 0; k < program->nkeys; k++)
		if (run->code.keys[k] == reg)
			return false;
	for (int a = 0; a < program->naggs; a++)
		if (run->code.aggs[a].arg == reg && run->code.aggs[a].op != GPUCOL_AGG_COUNT &&
			!gpucol_agg_is_packed(&run->code.aggs[a]))
			return false;
	return true;
}

/* Is it, and no probe's key? */
static bool
is_read_by(const GpucolRun *run, uint16_t reg, bool (*takes) (uint16_t op))
{
	const uint16_t *probe_keys = GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, probe_keys);

	for (int k = 0; k < run->program->nprobe_keys; k++)
		if (probe_keys[k] == reg)
			return false;
	return gpucol_cpu_alike_is_read_by(run, reg, takes);
}

GpucolStatus
gpucol_cpu_alike_init(GpucolRun *run)
{
	run->digest.alike = gpucol_cpu_alloc0(run, run->program->nregs + 1u);
	if (run->digest.alike == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < run->program->ncolumns; c++)
		run->input.cols[c].numbers = run->input.cols[c].loaded;
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if (instr->op == GPUCOL_OP_LOAD_S && instr->aux < run->program->ncolumns)
			run->input.cols[instr->aux].numbers &= is_read_by(run, instr->dst, takes_words);
		else if (instr->op == GPUCOL_OP_NUMERIC_P || instr->op == GPUCOL_OP_PACK_D ||
				 instr->op == GPUCOL_OP_ARITH_P || instr->op == GPUCOL_OP_PART_P)
			run->digest.alike[instr->dst] = is_read_by(run, instr->dst, takes_alike);
	}
	return GPUCOL_OK;
}

/* ---- results ---- */

static bool
may_be_alike(const GpucolCpuFrame *f)
{
	return f->worker->run->digest.alike[f->instr->dst] != 0;
}

/* The mantissas of a result whose rows display `scale` digits. */
static int64_t *
to_alike(GpucolCpuReg *reg, int scale)
{
	reg->alike = true;
	reg->shown = scale;
	reg->narrow = reg->wide = false;
	return reg->n;
}

/* Those of one that is a plain mantissa. */
static int64_t *
to_plain(GpucolCpuReg *reg)
{
	reg->alike = reg->wide = false;
	reg->narrow = true;
	return reg->n;
}

void
gpucol_cpu_alike_widen(GpucolCpuReg *reg, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
		reg->v.d[j] = (__int128) ((GpucolMagnitude) (__int128) reg->n[j] << 8 | (GpucolMagnitude) reg->shown);
}

/* Mantissas with `more` zeros behind; `space` has room for them.  NULL if one leaves int64. */
static const int64_t *
append_digits(const int64_t *xs, uint32_t n, int more, int64_t *space)
{
	int64_t		power;
	bool		bad = false;

	if (more == 0)
		return xs;
	if (more > MOST_DIGITS)
		return NULL;
	power = (int64_t) gpucol_power10(more);
	for (uint32_t j = 0; j < n; j++)
		bad |= __builtin_mul_overflow(xs[j], power, &space[j]);
	return bad ? NULL : space;
}

/* ---- numerics of a chunk ---- */

GpucolStatus
gpucol_cpu_alike_words(GpucolCpuFrame *f)
{
	const GpucolChunkDesc *desc = f->a->column->desc;
	const int64_t *words = f->a->v.i;
	int			more = (int) desc->shown - desc->scale;

	f->dst->alike = false;
	if (desc->hidden == 0 && more >= 0 && may_be_alike(f) &&
		append_digits(words, f->n, more, f->dst->n) != NULL)
	{
		if (more == 0)
			memcpy(f->dst->n, words, sizeof(int64_t) * f->n);
		to_alike(f->dst, desc->shown);
		return GPUCOL_OK;
	}
	f->dst->narrow = false;
	f->dst->wide = true;
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolStatus status = gpucol_numeric_packed(desc, words[j], &f->dst->v.d[j]);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
	}
	return GPUCOL_OK;
}

/* The mantissa of an entry and how many digits it displays; false if it has none of int64. */
static bool
read_entry(GpucolBytes entry, int64_t *mantissa, int *shown)
{
	__int128	packed = 0;
	__int128	wide;

	if (gpucol_packed_read(entry.data, entry.len, &packed) != GPUCOL_OK)
		return false;
	wide = gpucol_packed_mantissa(packed);
	*mantissa = (int64_t) wide;
	*shown = gpucol_packed_scale(packed);
	return wide == *mantissa;
}

/* The mantissas of rows whose bytes are at hand, where all are numbers that are alike. */
static bool
read_rows(GpucolCpuFrame *f)
{
	int			scale = -1;

	for (uint32_t j = 0; j < f->n; j++)
	{
		int			shown;

		f->dst->n[j] = 0;
		if (GPUCOL_CPU_NULL_AT(f->a, j))
			continue;
		if (!read_entry(f->a->v.s[j], &f->dst->n[j], &shown) || (scale >= 0 && scale != shown))
			return false;
		scale = shown;
	}
	to_alike(f->dst, scale < 0 ? 0 : scale);
	return true;
}

bool
gpucol_cpu_alike_read(GpucolCpuFrame *f)
{
	const GpucolCpuColumn *column = f->a->column;

	f->dst->alike = false;
	if (!may_be_alike(f))
		return false;
	if (!f->a->coded)
		return read_rows(f);
	if (column->mantissas == NULL || column->shows != NULL)
		return false;
	to_alike(f->dst, column->shown);
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->n[j] = column->mantissas[f->a->codes[j]];
	return true;
}

/* Bring the mantissas of entries to one scale; false where one leaves int64. */
static bool
align_entries(GpucolCpuColumn *column)
{
	bool		bad = false;

	column->least = column->greatest = 0;
	for (uint32_t i = 0; i < column->ndict; i++)
	{
		int			more = column->shown - column->shows[i];
		int64_t		x = column->mantissas[i];

		bad |= more > MOST_DIGITS || __builtin_mul_overflow(x, (int64_t) gpucol_power10(more), &x);
		column->mantissas[i] = x;
		column->least = x < column->least ? x : column->least;
		column->greatest = x > column->greatest ? x : column->greatest;
	}
	return !bad;
}

/* Find the mantissas of entries, all of which have one; false if they have none. */
static bool
read_entries(GpucolCpuColumn *column)
{
	column->shown = 0;
	for (uint32_t i = 0; i < column->ndict; i++)
	{
		int			shown;

		if (!read_entry(column->entries[i], &column->mantissas[i], &shown))
			return false;
		column->shows[i] = (uint8_t) shown;
		column->shown = shown > column->shown ? shown : column->shown;
	}
	return align_entries(column);
}

GpucolStatus
gpucol_cpu_alike_entries(GpucolRun *run, GpucolCpuColumn *column)
{
	size_t		space = (size_t) 1 << column->desc->width;
	bool		alike = true;

	column->mantissas = NULL;
	column->shows = NULL;
	if (!column->numbers || column->ndict == 0 || column->entries == NULL)
		return GPUCOL_OK;
	column->mantissas = gpucol_cpu_alloc0(run, sizeof(int64_t) * space);
	column->shows = gpucol_cpu_alloc0(run, space);
	if (column->mantissas == NULL || column->shows == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (!read_entries(column))
	{
		gpucol_cpu_free(run, column->mantissas);
		column->mantissas = NULL;
	}
	for (uint32_t i = 0; i < column->ndict; i++)
		alike &= column->shows[i] == column->shown;
	if (column->mantissas == NULL || alike)
	{
		gpucol_cpu_free(run, column->shows);
		column->shows = NULL;
	}
	return GPUCOL_OK;
}

/* ---- operations ---- */

/* Operands at one scale. */
typedef struct Pair
{
	const int64_t *a;
	const int64_t *b;
	int			scale;
	int64_t		space[GPUCOL_VECTOR_VALUES];
} Pair;

static bool
align(const GpucolCpuFrame *f, Pair *pair)
{
	int			xs = f->a->shown;
	int			ys = f->b->shown;

	pair->scale = xs > ys ? xs : ys;
	pair->a = append_digits(f->a->n, f->n, pair->scale - xs, pair->space);
	pair->b = append_digits(f->b->n, f->n, pair->scale - ys, pair->space);
	return pair->a != NULL && pair->b != NULL;
}

static bool
add_pairs(GpucolCpuFrame *f, bool subtract)
{
	Pair		pair;
	int64_t    *rs;
	bool		bad = false;

	if (!align(f, &pair))
		return false;
	rs = f->dst->n;
	if (subtract)
		for (uint32_t j = 0; j < f->n; j++)
			bad |= __builtin_sub_overflow(pair.a[j], pair.b[j], &rs[j]);
	else
		for (uint32_t j = 0; j < f->n; j++)
			bad |= __builtin_add_overflow(pair.a[j], pair.b[j], &rs[j]);
	if (!bad)
		to_alike(f->dst, pair.scale);
	return !bad;
}

static bool
multiply_pairs(GpucolCpuFrame *f)
{
	bool		bad = f->a->shown + f->b->shown > GPUCOL_PACKED_SCALE;

	for (uint32_t j = 0; j < f->n && !bad; j++)
		bad |= __builtin_mul_overflow(f->a->n[j], f->b->n[j], &f->dst->n[j]);
	if (!bad)
		to_alike(f->dst, f->a->shown + f->b->shown);
	return !bad;
}

bool
gpucol_cpu_alike_arith(GpucolCpuFrame *f)
{
	f->dst->alike = false;
	if (!f->a->alike || !f->b->alike || !may_be_alike(f))
		return false;
	switch (f->instr->aux)
	{
		case GPUCOL_PACKED_ADD:
		case GPUCOL_PACKED_SUB:
			return add_pairs(f, f->instr->aux == GPUCOL_PACKED_SUB);
		case GPUCOL_PACKED_MUL:
			return multiply_pairs(f);
		default:
			return false;
	}
}

GpucolStatus
gpucol_cpu_alike_divide(GpucolCpuFrame *f)
{
	GpucolLead	xleads[GPUCOL_WORD_DIGITS + 1];
	GpucolLead	yleads[GPUCOL_WORD_DIGITS + 1];
	const int64_t *xs = f->a->n;
	const int64_t *ys = f->b->n;

	f->dst->narrow = false;
	f->dst->wide = true;
	gpucol_packed_leads(f->a->shown, xleads);
	gpucol_packed_leads(f->b->shown, yleads);
	for (uint32_t j = 0; j < f->n; j++)
	{
		__int128	r = 0;
		GpucolStatus status = gpucol_packed_divide_words(xs[j], xleads, f->a->shown, ys[j], yleads, f->b->shown, &r);

		if (status != GPUCOL_OK && gpucol_cpu_op_counts(f, j))
			return status;
		f->dst->v.d[j] = status == GPUCOL_OK ? r : 0;
	}
	return GPUCOL_OK;
}

#define COMPARE_ROWS(OPERATOR) \
	for (uint32_t j = 0; j < n; j++) \
		rs[j] = as[j] OPERATOR bs[j]

bool
gpucol_cpu_alike_compare(GpucolCpuFrame *f)
{
	Pair		pair;
	const int64_t *as;
	const int64_t *bs;
	uint8_t    *rs = f->dst->v.b;	/* a store of a byte might change where it is, for all that a compiler knows */
	uint32_t	n = f->n;

	if (!f->a->alike || !f->b->alike || !align(f, &pair))
		return false;
	as = pair.a;
	bs = pair.b;
	switch (f->instr->aux)
	{
		case GPUCOL_PACKED_EQ:
			COMPARE_ROWS(==);
			break;
		case GPUCOL_PACKED_NE:
			COMPARE_ROWS(!=);
			break;
		case GPUCOL_PACKED_LT:
			COMPARE_ROWS(<);
			break;
		default:
			COMPARE_ROWS(<=);
	}
	return true;
}

/* The part of a sum that has GPUCOL_PACKED_HIGH digits: all of a value that displays no more. */
static void
sum_high(GpucolCpuFrame *f)
{
	int			more = GPUCOL_PACKED_HIGH - f->a->shown;
	int64_t		power = (int64_t) gpucol_power10(more);

	if (append_digits(f->a->n, f->n, more, f->dst->n) != NULL)
	{
		int64_t    *rs = to_plain(f->dst);

		if (more == 0)
			memcpy(rs, f->a->n, sizeof(int64_t) * f->n);
		return;
	}
	f->dst->alike = f->dst->narrow = false;
	f->dst->wide = true;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.d[j] = (__int128) f->a->n[j] * power;
}

/* Of a number and its negation the one that is wanted. */
static bool
change_signs(GpucolCpuFrame *f, bool negate)
{
	const int64_t *xs = f->a->n;
	bool		bad = false;

	for (uint32_t j = 0; j < f->n; j++)
	{
		bad |= xs[j] == INT64_MIN;
		f->dst->n[j] = negate || xs[j] < 0 ? (int64_t) (0 - (uint64_t) xs[j]) : xs[j];
	}
	if (!bad)
		to_alike(f->dst, f->a->shown);
	return !bad;
}

bool
gpucol_cpu_alike_part(GpucolCpuFrame *f)
{
	f->dst->alike = false;
	if (!f->a->alike)
		return false;
	switch (f->instr->aux)
	{
		case GPUCOL_PACKED_SUM_HIGH:
			if (f->a->shown > GPUCOL_PACKED_HIGH)
				return false;
			sum_high(f);
			return true;
		case GPUCOL_PACKED_SUM_LOW:
			if (f->a->shown > GPUCOL_PACKED_HIGH)
				return false;
			memset(to_plain(f->dst), 0, sizeof(int64_t) * f->n);
			return true;
		default:
			return may_be_alike(f) && change_signs(f, f->instr->aux == GPUCOL_PACKED_NEG);
	}
}

/* A quotient without its remainder. */
static inline __attribute__((always_inline)) int64_t
divide(int64_t x, int64_t power, GpucolPackedRounding how)
{
	int64_t		whole = x / power;
	int64_t		rest = x - whole * power;

	switch (how)
	{
		case GPUCOL_PACKED_HALF:
			return whole + (rest >= power / 2) - (rest <= -(power / 2));
		case GPUCOL_PACKED_DOWN:
			return whole - (rest < 0);
		case GPUCOL_PACKED_UP:
			return whole + (rest > 0);
		default:
			return whole;
	}
}

static inline __attribute__((always_inline)) void
divide_all(GpucolCpuFrame *f, int64_t power, GpucolPackedRounding how)
{
	int64_t    *rs = to_plain(f->dst);

	for (uint32_t j = 0; j < f->n; j++)
		rs[j] = divide(f->a->n[j], power, how);
}

bool
gpucol_cpu_alike_round(GpucolCpuFrame *f)
{
	GpucolPackedRounding how = GPUCOL_PACKED_ROUND_HOW(f->instr->aux);
	int			scale = GPUCOL_PACKED_ROUND_SCALE(f->instr->aux);
	int			drop = f->a->shown - scale;

	if (!f->a->alike || how == GPUCOL_PACKED_SIGN || scale < 0 || drop > MOST_DIGITS)
		return false;
	if (drop <= 0)
	{
		if (append_digits(f->a->n, f->n, -drop, f->dst->n) == NULL)
			return false;
		if (drop == 0)
			memcpy(f->dst->n, f->a->n, sizeof(int64_t) * f->n);
		to_plain(f->dst);
	}
	else if (how == GPUCOL_PACKED_HALF)
		divide_all(f, (int64_t) gpucol_power10(drop), GPUCOL_PACKED_HALF);
	else
		divide_all(f, (int64_t) gpucol_power10(drop), how);
	return true;
}

bool
gpucol_cpu_alike_scale(GpucolCpuFrame *f)
{
	if (!f->a->alike)
		return false;
	for (uint32_t j = 0; j < f->n; j++)
		f->dst->v.i[j] = f->a->shown;
	return true;
}

bool
gpucol_cpu_alike_float(GpucolCpuFrame *f)
{
	double		power;
	bool		bad = false;

	if (!f->a->alike || f->a->shown > GPUCOL_CPU_EXACT_POWER)
		return false;
	power = (double) gpucol_power10(f->a->shown);
	for (uint32_t j = 0; j < f->n; j++)
	{
		int64_t		x = f->a->n[j];

		bad |= x > GPUCOL_CPU_EXACT_MANTISSA || x < -GPUCOL_CPU_EXACT_MANTISSA;
		f->dst->v.f[j] = (double) x / power;
	}
	return !bad;
}

bool
gpucol_cpu_alike_pack(GpucolCpuFrame *f)
{
	int64_t		drop = f->b->constant ? f->instr->aux - f->b->v.i[0] : -1;
	int64_t		power;
	int64_t    *rs;

	f->dst->alike = false;
	if (!f->a->narrow || !may_be_alike(f) || !f->b->constant || f->b->nulls != NULL ||
		f->b->v.i[0] < 0 || f->b->v.i[0] > GPUCOL_PACKED_SCALE || drop < 0 || drop > MOST_DIGITS)
		return false;
	power = (int64_t) gpucol_power10((int) drop);
	rs = to_alike(f->dst, (int) f->b->v.i[0]);
	for (uint32_t j = 0; j < f->n; j++)
		rs[j] = drop == 0 ? f->a->n[j] : f->a->n[j] / power;
	return true;
}
