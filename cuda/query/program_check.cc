/*-------------------------------------------------------------------------
 *
 * program_check.cc
 *	  Does a program hold together?
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/program_check.h"

#include "cuda/scan/interp_plan.h"
#include "service/protocol.h"

/* Power of ten beyond which no decimal but 0 fits: kernels multiply one by one. */
static const int MOST_POWER = 64;

/* Digits after the point that a column of mantissas can have. */
static const int MOST_SCALE = 18;

/* Registers of a program; of these the device has GPUCOL_MAX_REGS at a time (registers.cuh). */
static const int MOST_REGS = 1024;

/* Columns of a table that is built. */
static const int MOST_BUILT = 64;

namespace
{

class Checker
{
public:
	explicit Checker(const GpucolProgram *program) : p(program) {}

	void		check_columns() const;
	void		check_consts() const;
	void		check_ranges() const;
	void		check_instrs();
	void		check_probes() const;
	void		check_results() const;

private:
	const GpucolProgram *p;
	bool		written_[MOST_REGS] = {};	/* so far */
	int			at_[MOST_REGS] = {};	/* by which instruction */

	template <class T> const T *array(uint32_t offset) const
	{
		return (const T *) ((const char *) p + offset);
	}
	int class_of(uint16_t reg) const { return array<uint8_t>(p->reg_classes)[reg]; }
	const GpucolProgramColumn &column(uint32_t slot) const { return array<GpucolProgramColumn>(p->columns)[slot]; }
	const GpucolProbe &probe(uint32_t number) const { return array<GpucolProbe>(p->probes)[number]; }
	const GpucolConst &constant(uint32_t number) const { return array<GpucolConst>(p->consts)[number]; }

	bool		holds(uint16_t reg, int cls) const;
	bool		constants_fit(uint32_t first, uint32_t n, int cls) const;
	bool		bound_fits(uint16_t number, int cls) const;
	bool		range_fits(const GpucolRange &range) const;
	bool		list_fits(const GpucolInstr &in) const;
	bool		payload_fits(const GpucolInstr &in, uint32_t number, int at) const;
	bool		load_fits(const GpucolInstr &in, int at) const;
	bool		operand_fits(const GpucolInstr &in, int at) const;
	void		check_instr(const GpucolInstr &in, int at);
	bool		written_before(uint16_t reg, int cls, int end) const;
	void		check_probe(const GpucolProbe &probe) const;
	bool		agg_fits(const GpucolAgg &agg) const;
};

}								/* namespace */

/* Does an array of n elements of `size` bytes at `offset` lie in the program? */
static bool
inside(const GpucolProgram *p, uint32_t offset, uint64_t n, size_t size, size_t align)
{
	return offset % align == 0 && offset <= p->size && n * size <= p->size - offset;
}

/* Has it no flags but those of its kind? */
static bool
flags_fit(const GpucolProgram *p)
{
	return (p->flags & ~(p->kind == GPUCOL_PROGRAM_BUILD ? GPUCOL_PROGRAM_KEEP_NULL_KEYS : 0)) == 0;
}

/* Its head, and where its arrays lie. */
static void
check_head(const GpucolProgram *p, size_t size, uint32_t ncolumns)
{
	if (size < sizeof(GpucolProgram) || p->magic != GPUCOL_PROGRAM_MAGIC ||
		p->version != GPUCOL_PROGRAM_VERSION || p->size != size || p->ncolumns != ncolumns ||
		!flags_fit(p) || p->nhost > GPUCOL_WIRE_MAX_HOST)
		throw malformed("not a program");
	if (p->kind < GPUCOL_PROGRAM_SCAN || p->kind > GPUCOL_PROGRAM_BUILD)
		throw Failure{GPUCOL_UNSUPPORTED, "the kind of program is not known to the device"};
	if (p->nprobes > GPUCOL_WIRE_MAX_PROBES || p->nprobe_keys > GPUCOL_MAX_PROBE_KEYS ||
		p->npayloads > GPUCOL_MAX_PAYLOADS)
		throw Failure{GPUCOL_UNSUPPORTED, "more joins, or columns of joined tables, than the device takes"};
	if (p->nregs > MOST_REGS)
		throw Failure{GPUCOL_UNSUPPORTED, "the expressions need more registers than the device has"};
	if (!inside(p, p->columns, p->ncolumns, sizeof(GpucolProgramColumn), 4) ||
		!inside(p, p->consts, p->nconsts, sizeof(GpucolConst), 8) ||
		!inside(p, p->ranges, p->nranges, sizeof(GpucolRange), 4) ||
		!inside(p, p->instrs, p->ninstrs, sizeof(GpucolInstr), 4) ||
		!inside(p, p->reg_classes, p->nregs, 1, 1) ||
		!inside(p, p->keys, p->nkeys, 2, 2) ||
		!inside(p, p->aggs, p->naggs, sizeof(GpucolAgg), 2) ||
		!inside(p, p->probes, p->nprobes, sizeof(GpucolProbe), 2) ||
		!inside(p, p->payloads, p->npayloads, sizeof(GpucolPayload), 2) ||
		!inside(p, p->probe_keys, p->nprobe_keys, 2, 2) ||
		p->nfilter_instrs > p->ninstrs || (p->filter >= p->nregs && p->filter != GPUCOL_NO_REG))
		throw malformed("program arrays");
	if (p->kind != GPUCOL_PROGRAM_BUILD ? p->njoin_keys != 0 : p->naggs != 0 || p->njoin_keys == 0 ||
		p->njoin_keys > p->nkeys || p->njoin_keys > GPUCOL_MAX_PROBE_KEYS)
		throw malformed("keys of a table to be built");
	if (p->kind == GPUCOL_PROGRAM_BUILD && p->nkeys > MOST_BUILT)
		throw Failure{GPUCOL_UNSUPPORTED, "a table of more columns than the device takes"};
}

void
Checker::check_columns() const
{
	for (uint32_t i = 0; i < p->ncolumns; i++)
	{
		const GpucolProgramColumn &c = column(i);

		if (c.attnum < 1 || c.kind < GPUCOL_KIND_INT || c.kind > GPUCOL_KIND_BYTES ||
			c.scale < 0 || c.scale > (c.kind == GPUCOL_KIND_DECIMAL ? MOST_SCALE : 0))
			throw malformed("column");
	}
}

void
Checker::check_consts() const
{
	for (uint32_t i = 0; i < p->nconsts; i++)
		if (constant(i).cls < GPUCOL_CLASS_B || constant(i).cls > GPUCOL_CLASS_F || constant(i).isnull > 1)
			throw malformed("constant");
}

/* ---- ranges ---- */

/* Are there n constants of a class, NULLs aside, from a number on? */
bool
Checker::constants_fit(uint32_t first, uint32_t n, int cls) const
{
	if (n > p->nconsts || first > p->nconsts - n)
		return false;
	for (uint32_t i = first; i < first + n; i++)
		if (constant(i).cls != cls && !constant(i).isnull)
			return false;
	return true;
}

/* Is this the number of a constant of a class, or of none? */
bool
Checker::bound_fits(uint16_t number, int cls) const
{
	return number == GPUCOL_NO_REG || constants_fit(number, 1, cls);
}

/* The class of constants that a column's values are compared with; NONE: they are not. */
static int
class_of_kind(int kind)
{
	return kind == GPUCOL_KIND_INT ? GPUCOL_CLASS_I : kind == GPUCOL_KIND_DECIMAL ? GPUCOL_CLASS_D :
		kind == GPUCOL_KIND_BYTES ? GPUCOL_CLASS_NONE : GPUCOL_CLASS_F;
}

/* Is a range one of those that there are, of constants that there are? */
bool
Checker::range_fits(const GpucolRange &range) const
{
	int			cls;

	if (range.column >= p->ncolumns || (range.flags & ~(GPUCOL_RANGE_LO_OPEN | GPUCOL_RANGE_HI_OPEN)))
		return false;
	cls = class_of_kind(column(range.column).kind);
	switch (range.op)
	{
		case GPUCOL_RANGE_BETWEEN:
		case GPUCOL_RANGE_NOT_BETWEEN:
			return cls != GPUCOL_CLASS_NONE && bound_fits(range.lo, cls) && bound_fits(range.hi, cls);
		case GPUCOL_RANGE_IN:
		case GPUCOL_RANGE_NOT_IN:
			return cls != GPUCOL_CLASS_NONE &&
				(range.n == 0 || (range.lo != GPUCOL_NO_REG && constants_fit(range.lo, range.n, cls)));
		case GPUCOL_RANGE_IS_NULL:
		case GPUCOL_RANGE_IS_NOT_NULL:
			return true;
		case GPUCOL_RANGE_HOST:
			return cls == GPUCOL_CLASS_NONE && range.n < p->nhost;
		default:
			return false;
	}
}

void
Checker::check_ranges() const
{
	for (int i = 0; i < p->nranges; i++)
		if (!range_fits(array<GpucolRange>(p->ranges)[i]))
			throw malformed("range");
}

/* ---- instructions ---- */

/* Has a register been written, with a value of this class? */
bool
Checker::holds(uint16_t reg, int cls) const
{
	return reg < p->nregs && written_[reg] && class_of(reg) == cls;
}

/* Constants of an IN: integers, ascending. */
bool
Checker::list_fits(const GpucolInstr &in) const
{
	if (!constants_fit(in.b, in.c, GPUCOL_CLASS_I))
		return false;
	for (uint32_t i = 1; i < in.c; i++)
		if (constant(in.b + i - 1).v.i >= constant(in.b + i).v.i)
			return false;
	return true;
}

/* Bytes of a type of integers or floats. */
static bool
is_width(int32_t bytes, int least)
{
	return (bytes == 2 || bytes == 4 || bytes == 8) && bytes >= least;
}

/* May an instruction load a column of this kind? */
static bool
can_load(int op, int kind)
{
	switch (op)
	{
		case GPUCOL_OP_LOAD_I:
			return kind == GPUCOL_KIND_INT || kind == GPUCOL_KIND_DECIMAL;
		case GPUCOL_OP_LOAD_D:
			return kind == GPUCOL_KIND_DECIMAL;
		case GPUCOL_OP_LOAD_F:
			return kind == GPUCOL_KIND_FLOAT4 || kind == GPUCOL_KIND_FLOAT8;
		case GPUCOL_OP_LOAD_B:
			return kind == GPUCOL_KIND_INT;
		default:
			return kind == GPUCOL_KIND_BYTES;
	}
}

/* May an instruction read a payload column there? */
bool
Checker::payload_fits(const GpucolInstr &in, uint32_t number, int at) const
{
	const GpucolPayload &payload = array<GpucolPayload>(p->payloads)[number];

	if (payload.probe >= p->nprobes || payload.kind < GPUCOL_KIND_INT || payload.kind > GPUCOL_KIND_BYTES)
		return false;

	const GpucolProbe &of = probe(payload.probe);
	bool		kept = of.kind != GPUCOL_JOIN_SEMI && of.kind != GPUCOL_JOIN_ANTI && of.kind != GPUCOL_JOIN_NOT_IN;

	return can_load(in.op, payload.kind) && at >= of.keys_end && (kept || at < of.residual_end);
}

/* Does a load read a column, or a payload column, of its class? */
bool
Checker::load_fits(const GpucolInstr &in, int at) const
{
	uint32_t	aux = (uint32_t) in.aux;	/* a negative one is beyond everything */

	if (aux < p->ncolumns)
		return can_load(in.op, column(aux).kind);
	return aux - p->ncolumns < p->npayloads && payload_fits(in, aux - p->ncolumns, at);
}

/* What an instruction means by `aux`, and by b and c where these are no registers. */
bool
Checker::operand_fits(const GpucolInstr &in, int at) const
{
	uint32_t	aux = (uint32_t) in.aux;

	if (in.op <= GPUCOL_OP_LOAD_S)
		return load_fits(in, at);
	if (in.op <= GPUCOL_OP_CONST_B)
		return aux < p->nconsts && constant(aux).cls == gpucol_operand_class(in.op, 0);
	if (in.op <= GPUCOL_OP_CHECK_I || in.op == GPUCOL_OP_F_TO_I)
		return is_width(in.aux, 2);
	switch (in.op)
	{
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return aux <= (uint32_t) MOST_POWER;
		case GPUCOL_OP_ADD_F:
		case GPUCOL_OP_SUB_F:
		case GPUCOL_OP_MUL_F:
		case GPUCOL_OP_DIV_F:
		case GPUCOL_OP_ROUND_F:
		case GPUCOL_OP_I_TO_F:
			return is_width(in.aux, 4);
		case GPUCOL_OP_IN_I:
			return list_fits(in);
		case GPUCOL_OP_HOST_TEST:
			return aux < p->nhost;
		case GPUCOL_OP_LENGTH_S:	/* the device has none of these */
		case GPUCOL_OP_PART_S:
		case GPUCOL_OP_MATCH_S:
		case GPUCOL_OP_FIELD_S:
		case GPUCOL_OP_EQ_S:
		case GPUCOL_OP_LT_S:
		case GPUCOL_OP_MATH_F:
		case GPUCOL_OP_MATH2_F:
		case GPUCOL_OP_BIT_AND_I:
		case GPUCOL_OP_BIT_OR_I:
		case GPUCOL_OP_BIT_XOR_I:
		case GPUCOL_OP_SHL_I:
		case GPUCOL_OP_SHR_I:
		case GPUCOL_OP_DATE_ADD_I:
		case GPUCOL_OP_TIME_DIFF_I:
		case GPUCOL_OP_SHIFT_I:
		case GPUCOL_OP_PACK_D:
		case GPUCOL_OP_NUMERIC_P:
		case GPUCOL_OP_ARITH_P:
		case GPUCOL_OP_COMPARE_P:
		case GPUCOL_OP_PART_P:
		case GPUCOL_OP_ROUND_P:
		case GPUCOL_OP_SCALE_P:
		case GPUCOL_OP_P_TO_F:
		case GPUCOL_OP_D_TO_I:
			return false;
		default:
			return true;
	}
}

void
Checker::check_instr(const GpucolInstr &in, int at)
{
	const uint16_t operands[] = {in.a, in.b, in.c};
	bool		good = in.op < GPUCOL_OP_COUNT && in.dst < p->nregs && !written_[in.dst] &&
		class_of(in.dst) == gpucol_operand_class(in.op, 0) &&
		(in.mask == GPUCOL_NO_REG || holds(in.mask, GPUCOL_CLASS_B));

	for (int i = 0; i < 3 && good; i++)
		if (gpucol_operand_class(in.op, i + 1) != GPUCOL_CLASS_NONE)
			good = holds(operands[i], gpucol_operand_class(in.op, i + 1));
	if (!good)
		throw malformed("register of an instruction");
	if (!operand_fits(in, at))
		throw malformed("operand of an instruction");
	written_[in.dst] = true;
	at_[in.dst] = at;
}

/* Constants are loaded before everything else; the filter is made by the first instructions. */
void
Checker::check_instrs()
{
	const GpucolInstr *instrs = array<GpucolInstr>(p->instrs);
	bool		filter = p->filter == GPUCOL_NO_REG;

	for (int i = 0; i < p->ninstrs; i++)
	{
		check_instr(instrs[i], i);
		filter |= instrs[i].dst == p->filter && class_of(p->filter) == GPUCOL_CLASS_B &&
			(i < p->nfilter_instrs || instrs[i].op == GPUCOL_OP_CONST_B);
	}
	if (!filter)
		throw malformed("filter");
}

/* ---- probes ---- */

/* Does an instruction before `end` write a register of this class? */
bool
Checker::written_before(uint16_t reg, int cls, int end) const
{
	return holds(reg, cls) && at_[reg] < end;
}

/* Is a probe of a kind that the device knows, of registers that are there in time? */
void
Checker::check_probe(const GpucolProbe &probe) const
{
	const uint16_t *keys = array<uint16_t>(p->probe_keys);

	if (probe.kind < GPUCOL_JOIN_INNER || probe.kind > GPUCOL_JOIN_RIGHT_ANTI ||
		(probe.kind == GPUCOL_JOIN_NOT_IN && (probe.nkeys != 1 || probe.residual != GPUCOL_NO_REG)) ||
		probe.table >= GPUCOL_WIRE_MAX_PROBES || probe.first_key > p->nprobe_keys ||
		probe.nkeys > p->nprobe_keys - probe.first_key)
		throw malformed("probe");
	for (int k = 0; k < probe.nkeys; k++)
		if (keys[probe.first_key + k] >= p->nregs ||
			!written_before(keys[probe.first_key + k], class_of(keys[probe.first_key + k]), probe.keys_end))
			throw malformed("key of a probe");
	if ((probe.residual != GPUCOL_NO_REG && !written_before(probe.residual, GPUCOL_CLASS_B, probe.residual_end)) ||
		(probe.filter != GPUCOL_NO_REG && !written_before(probe.filter, GPUCOL_CLASS_B, probe.filter_end)))
		throw malformed("condition of a probe");
}

void
Checker::check_probes() const
{
	int			start = p->nfilter_instrs;

	for (int i = 0; i < p->nprobes; i++)
	{
		const GpucolProbe &one = probe(i);

		if (one.keys_end < start || one.residual_end < one.keys_end || one.filter_end < one.residual_end ||
			one.filter_end > p->ninstrs)
			throw malformed("steps of a probe");
		check_probe(one);
		start = one.filter_end;
	}
}

/* ---- results ---- */

/* Is an aggregate one of those that there are, of a register of its class? */
bool
Checker::agg_fits(const GpucolAgg &agg) const
{
	bool		extreme = agg.op == GPUCOL_AGG_MIN || agg.op == GPUCOL_AGG_MAX;

	if ((agg.filter != GPUCOL_NO_REG && !holds(agg.filter, GPUCOL_CLASS_B)) ||
		(agg.order != 0 && !(extreme && agg.cls == GPUCOL_CLASS_S)))
		return false;
	if (agg.op == GPUCOL_AGG_COUNT_STAR)
		return true;
	if (!holds(agg.arg, agg.cls))
		return false;
	switch (agg.op)
	{
		case GPUCOL_AGG_COUNT:
		case GPUCOL_AGG_MIN:
		case GPUCOL_AGG_MAX:
		case GPUCOL_AGG_COUNT_DISTINCT:
			return true;
		case GPUCOL_AGG_SUM:
		case GPUCOL_AGG_SUMSQ:
			return agg.cls == GPUCOL_CLASS_I || agg.cls == GPUCOL_CLASS_D || agg.cls == GPUCOL_CLASS_F;
		case GPUCOL_AGG_BOOL_AND:
		case GPUCOL_AGG_BOOL_OR:
			return agg.cls == GPUCOL_CLASS_B;
		default:
			return false;
	}
}

void
Checker::check_results() const
{
	const uint16_t *keys = array<uint16_t>(p->keys);

	for (int i = 0; i < p->nkeys; i++)
		if (keys[i] >= p->nregs || !written_[keys[i]])
			throw malformed("key");
	for (int i = 0; p->kind == GPUCOL_PROGRAM_BUILD && i < p->njoin_keys; i++)
		if (class_of(keys[i]) == GPUCOL_CLASS_S || class_of(keys[i]) == GPUCOL_CLASS_F)
			throw Failure{GPUCOL_UNSUPPORTED, "a table with a key of texts or floats"};
	for (int i = 0; i < p->naggs; i++)
		if (!agg_fits(array<GpucolAgg>(p->aggs)[i]))
			throw malformed("aggregate");
}

void
gpucol_program_check(const GpucolProgram *p, size_t size, uint32_t ncolumns)
{
	check_head(p, size, ncolumns);

	Checker		checker(p);

	checker.check_columns();
	checker.check_consts();
	checker.check_ranges();
	checker.check_instrs();
	checker.check_probes();
	checker.check_results();
}

/* ---- what becomes of rows ---- */

/* The class of an output of a program, NONE where there is no such output. */
static int
output_class(const GpucolProgram *p, int32_t output)
{
	if (output < 0 || output >= p->nkeys)
		return GPUCOL_CLASS_NONE;
	return GPUCOL_PROGRAM_ARRAY(p, const uint8_t, reg_classes)[GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys)[output]];
}

/* Is this an output, or -1? */
static bool
is_output_or_none(const GpucolProgram *p, int32_t output)
{
	return output == -1 || output_class(p, output) != GPUCOL_CLASS_NONE;
}

static bool
set_fits(const GpucolProgram *p, const GpucolShapeSet &set)
{
	int			probability = output_class(p, set.probability);
	int			score = output_class(p, set.score);

	return (set.filter == -1 || output_class(p, set.filter) == GPUCOL_CLASS_B) &&
		score != GPUCOL_CLASS_NONE && score != GPUCOL_CLASS_S &&
		(probability == GPUCOL_CLASS_F || (probability == GPUCOL_CLASS_D && set.divisor > 0)) &&
		is_output_or_none(p, set.label) && is_output_or_none(p, set.x);
}

/* The i-th ranking; those of one set follow each other. */
static bool
ranking_fits(const GpucolProgram *p, const GpucolRowShape *shape, uint32_t i)
{
	const GpucolShapeRanking &r = shape->rankings[i];

	return (r.k_key < 0 ? r.k >= 1 :
			r.k_key < (int32_t) shape->nkeys && output_class(p, r.k_key) == GPUCOL_CLASS_I) &&
		r.set < shape->nsets && (i == 0 || r.set >= shape->rankings[i - 1].set) &&
		r.ranking >= GPUCOL_RANK_U_TOPK && r.ranking <= GPUCOL_RANK_EXPECTED &&
		(r.wanted & ~(GPUCOL_WANTED_LABELS | GPUCOL_WANTED_PROBABILITY)) == 0 &&
		!((r.wanted & GPUCOL_WANTED_LABELS) && shape->sets[r.set].label < 0) &&
		!((r.wanted & GPUCOL_WANTED_PROBABILITY) && r.ranking != GPUCOL_RANK_U_TOPK);
}

void
gpucol_shape_check(const GpucolProgram *p, const GpucolRowShape *shape)
{
	bool		top = shape->kind == GPUCOL_SHAPE_TOP;
	bool		ranked = shape->kind == GPUCOL_SHAPE_RANKED;

	if (p->nprobes > 0)
		throw Failure{GPUCOL_UNSUPPORTED, "first rows of a join"};
	if (p->kind != GPUCOL_PROGRAM_SCAN || shape->kind > GPUCOL_SHAPE_RANKED ||
		(top && (shape->nkeys < 1 || shape->nkeys > GPUCOL_SHAPE_MAX_KEYS || shape->k < 1)) ||
		(ranked && (shape->nkeys > p->nkeys || shape->nrankings > GPUCOL_SHAPE_MAX_RANKINGS ||
					shape->nsets > GPUCOL_SHAPE_MAX_SETS)))
		throw malformed("shape of the rows");
	for (uint32_t i = 0; top && i < shape->nkeys; i++)
		if (output_class(p, shape->keys[i].output) == GPUCOL_CLASS_NONE)
			throw malformed("sort key");
	for (uint32_t i = 0; ranked && i < shape->nsets; i++)
		if (!set_fits(p, shape->sets[i]))
			throw malformed("rows to be ranked");
	for (uint32_t i = 0; ranked && i < shape->nrankings; i++)
		if (!ranking_fits(p, shape, i))
			throw malformed("ranking");
}

/* Is there something of a group to be looked at by these numbers? */
static bool
first_fits(const GpucolProgram *p, int by, int number)
{
	const GpucolAgg *agg = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs) + number;

	if (by == GPUCOL_FIRST_KEY)
		return number < p->nkeys;
	if (number >= p->naggs)
		return false;
	switch (by)
	{
		case GPUCOL_FIRST_COUNT:
			return true;
		case GPUCOL_FIRST_DISTINCT:
			return agg->op == GPUCOL_AGG_COUNT_DISTINCT;
		case GPUCOL_FIRST_VALUE:
			return agg->cls != GPUCOL_CLASS_S && (agg->op == GPUCOL_AGG_MIN || agg->op == GPUCOL_AGG_MAX ||
												  agg->op == GPUCOL_AGG_BOOL_AND || agg->op == GPUCOL_AGG_BOOL_OR ||
												  agg->op == GPUCOL_AGG_BIT_XOR);
		case GPUCOL_FIRST_SUM:
		case GPUCOL_FIRST_AVERAGE:
			return agg->op == GPUCOL_AGG_SUM || agg->op == GPUCOL_AGG_SUMSQ;
		default:
			return false;
	}
}

/* Is a byte from the wire true or false? */
static bool
is_bool(const bool *b)
{
	return *(const uint8_t *) b <= 1;
}

void
gpucol_first_check(const GpucolProgram *p, const GpucolFirst *first)
{
	if (p->kind != GPUCOL_PROGRAM_AGG || first->ntests < 0 || first->ntests > GPUCOL_FIRST_MAX_TESTS ||
		first->nkeys < 0 || first->nkeys > GPUCOL_FIRST_MAX_KEYS || first->k < 0 || !is_bool(&first->all_ties))
		throw malformed("which groups are wanted");
	for (int t = 0; t < first->ntests; t++)
		if (!first_fits(p, first->tests[t].by, first->tests[t].number))
			throw malformed("condition on groups");
	for (int k = 0; k < first->nkeys; k++)
		if (!first_fits(p, first->keys[k].by, first->keys[k].number) ||
			!is_bool(&first->keys[k].descending) || !is_bool(&first->keys[k].nulls_first))
			throw malformed("order of groups");
}
