/*-------------------------------------------------------------------------
 *
 * program_check.cu
 *	  Does a program hold together?
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/program_check.h"

#include "cuda/scan/interp_plan.h"
#include "service/protocol.h"

/* Power of ten beyond which no decimal but 0 fits: kernels multiply one by one. */
static const int MOST_POWER = 64;

/* Is this not the number of one of n things, nor (where that may be) of none? */
static bool
is_beyond(uint16_t number, uint32_t n, bool may_be_none)
{
	return number >= n && !(may_be_none && number == GPUCOL_NO_REG);
}

/* Does an array of n elements of `size` bytes at `offset` lie in the program? */
static bool
inside(const GpucolProgram *p, uint32_t offset, uint64_t n, size_t size, size_t align)
{
	return offset % align == 0 && offset <= p->size && n * size <= p->size - offset;
}

/* Its head, and where its arrays lie. */
static void
check_head(const GpucolProgram *p, size_t size, uint32_t ncolumns)
{
	if (size < sizeof(GpucolProgram) || p->magic != GPUCOL_PROGRAM_MAGIC ||
		p->version != GPUCOL_PROGRAM_VERSION || p->size != size || p->ncolumns != ncolumns)
		throw malformed("not a program");
	if (p->kind != GPUCOL_PROGRAM_SCAN && p->kind != GPUCOL_PROGRAM_AGG)
		throw Failure{GPUCOL_UNSUPPORTED, "the kind of program is not known to the device"};
	if (!inside(p, p->columns, p->ncolumns, sizeof(GpucolProgramColumn), 4) ||
		!inside(p, p->consts, p->nconsts, sizeof(GpucolConst), 8) ||
		!inside(p, p->ranges, p->nranges, sizeof(GpucolRange), 4) ||
		!inside(p, p->instrs, p->ninstrs, sizeof(GpucolInstr), 4) ||
		!inside(p, p->reg_classes, p->nregs, 1, 1) ||
		!inside(p, p->keys, p->nkeys, 2, 2) ||
		!inside(p, p->aggs, p->naggs, sizeof(GpucolAgg), 2) ||
		p->nfilter_instrs > p->ninstrs || is_beyond(p->filter, p->nregs, true))
		throw malformed("program arrays");
	if (p->nregs > GPUCOL_MAX_REGS)
		throw Failure{GPUCOL_UNSUPPORTED, "the expressions need more registers than the device has"};
}

/* What an instruction means by `aux`, and by b and c where these are no registers. */
static bool
operand_fits(const GpucolProgram *p, const GpucolInstr &in)
{
	uint32_t	aux = (uint32_t) in.aux;	/* a negative one is beyond everything */

	if (in.op <= GPUCOL_OP_LOAD_S)
		return aux < p->ncolumns;
	if (in.op >= GPUCOL_OP_CONST_I && in.op <= GPUCOL_OP_CONST_B)
		return aux < p->nconsts;
	switch (in.op)
	{
		case GPUCOL_OP_IN_I:
			return in.b + in.c <= p->nconsts;
		case GPUCOL_OP_RESCALE_D:
		case GPUCOL_OP_I_TO_D:
			return in.aux <= MOST_POWER;
		case GPUCOL_OP_HOST_TEST:
			return aux < GPUCOL_WIRE_MAX_HOST;
		default:
			return true;
	}
}

static void
check_instr(const GpucolProgram *p, const GpucolInstr &in)
{
	int			operands = in.op < GPUCOL_OP_COUNT ? gpucol_operands(in.op) : 0;

	if (in.op >= GPUCOL_OP_COUNT || is_beyond(in.dst, p->nregs, false) || is_beyond(in.mask, p->nregs, true) ||
		((operands & 1) && in.a >= p->nregs) || ((operands & 2) && in.b >= p->nregs) ||
		((operands & 4) && in.c >= p->nregs))
		throw malformed("register of an instruction");
	if (!operand_fits(p, in))
		throw malformed("operand of an instruction");
}

/* Does a range compare with constants that there are? */
static bool
range_fits(const GpucolProgram *p, const GpucolRange &range)
{
	switch (range.op)
	{
		case GPUCOL_RANGE_BETWEEN:
		case GPUCOL_RANGE_NOT_BETWEEN:
			return !is_beyond(range.lo, p->nconsts, true) && !is_beyond(range.hi, p->nconsts, true);
		case GPUCOL_RANGE_IN:
		case GPUCOL_RANGE_NOT_IN:
			return range.n == 0 ||
				(range.lo != GPUCOL_NO_REG && (uint64_t) range.lo + range.n <= p->nconsts);
		case GPUCOL_RANGE_HOST:
			return range.n < GPUCOL_WIRE_MAX_HOST;
		default:
			return true;
	}
}

static void
check_agg(const GpucolProgram *p, const GpucolAgg &agg)
{
	if (is_beyond(agg.arg, p->nregs, agg.op == GPUCOL_AGG_COUNT_STAR) || is_beyond(agg.filter, p->nregs, true))
		throw malformed("aggregate");
}

void
gpucol_program_check(const GpucolProgram *p, size_t size, uint32_t ncolumns)
{
	check_head(p, size, ncolumns);

	const GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);

	for (int i = 0; i < p->ninstrs; i++)
		check_instr(p, instrs[i]);
	for (int i = 0; i < p->nranges; i++)
		if (ranges[i].column >= p->ncolumns || !range_fits(p, ranges[i]))
			throw malformed("range");
	for (int i = 0; i < p->nkeys; i++)
		if (is_beyond(keys[i], p->nregs, false))
			throw malformed("key");
	for (int i = 0; i < p->naggs; i++)
		check_agg(p, aggs[i]);
}
