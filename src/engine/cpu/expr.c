/*-------------------------------------------------------------------------
 *
 * expr.c
 *	  Expressions, a vector at a time: checks, registers, and the rows that pass.
 *
 * A register holds the values of the selected rows densely, so that every
 * instruction is a plain loop over arrays that the compiler vectorises.
 * Constants are registers filled once; the common operations also have a loop
 * with the constant in a scalar.
 *
 * Branches.  What only a branch of CASE, or a later operand of AND and OR, asks for is computed for
 * all rows, by loops without branches of their own.  Functions that are called row by row, which take
 * ten times as long or more, are called for the rows that take the branch: these are listed once for
 * all such calls of it, where they are few enough to pay for the list.
 *
 * The operations and what they do with errors: engine/cpu/expr_ops.c.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/expr_alike.h"
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"
#include "kernel/float_order.h"
#include "kernel/text_pattern.h"

/* Rows are listed where at least one of so many is left out. */
#define LEAST_LEFT_OUT	8

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

static bool
is_written(const uint32_t *written, uint16_t reg)
{
	return (written[reg / 32] >> (reg % 32) & 1) != 0;
}

/* Has register `reg` the class, and was it written before? */
static bool
readable(const GpucolProgram *program, const uint32_t *written, uint16_t reg,
		 uint8_t cls)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);

	if (cls == GPUCOL_CLASS_NONE)
		return true;
	return reg < program->nregs && is_written(written, reg) && classes[reg] == cls;
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

/* Is a load of what a set-returning function makes? */
static bool
loads_item(const GpucolProgram *program, const GpucolInstr *load)
{
	const GpucolPayload *payloads = GPUCOL_PROGRAM_ARRAY(program, const GpucolPayload, payloads);
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(program, const GpucolProbe, probes);

	return load->aux >= program->ncolumns &&
		probes[payloads[load->aux - program->ncolumns].probe].kind >= GPUCOL_JOIN_SET;
}

/* Is a register of byte strings one that an instruction makes of values? */
static bool
makes_string(const GpucolProgram *program, uint16_t reg)
{
	const GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);

	for (int i = 0; i < program->ninstrs; i++)
		if (instrs[i].dst == reg)
			return instrs[i].op >= GPUCOL_OP_FORM_I && instrs[i].op <= GPUCOL_OP_BOTH_S;
	return false;
}

bool
gpucol_cpu_expr_makes_text(const GpucolRun *run, uint16_t reg)
{
	const GpucolInstr *instrs = run->code.instrs;

	for (int i = run->program->ninstrs - 1; i >= 0; i--)
	{
		if (instrs[i].dst != reg)
			continue;
		if (instrs[i].op >= GPUCOL_OP_FORM_I && instrs[i].op <= GPUCOL_OP_BOTH_S)
			return true;
		/* a part of a string is where that is */
		if (instrs[i].op != GPUCOL_OP_PART_S && instrs[i].op != GPUCOL_OP_MATCH_S && instrs[i].op != GPUCOL_OP_FIELD_S)
			return false;
		reg = instrs[i].a;
	}
	return false;
}

/* Is a register of byte strings a column, not part of one; of a table's, unless it is for tests? */
static bool
loads_string(const GpucolProgram *program, uint16_t reg, bool test)
{
	const GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(program, const GpucolInstr, instrs);

	for (int i = 0; i < program->ninstrs; i++)
		if (instrs[i].dst == reg)
			return instrs[i].op == GPUCOL_OP_LOAD_S && (test || !loads_item(program, &instrs[i]));
	return false;
}

/* Are an instruction's numbers within the program? */
static bool
check_instr(const GpucolProgram *program, const uint32_t *written,
			const GpucolInstr *instr)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	const GpucolProgramColumn *columns =
		GPUCOL_PROGRAM_ARRAY(program, const GpucolProgramColumn, columns);
	const GpucolPayload *payloads = GPUCOL_PROGRAM_ARRAY(program, const GpucolPayload, payloads);

	if (instr->op >= GPUCOL_OP_COUNT || instr->dst >= program->nregs ||
		classes[instr->dst] != gpucol_cpu_expr_ops[instr->op].result || is_written(written, instr->dst))
		return false;
	if (is_load(instr->op))
		return instr->aux >= 0 && instr->aux < program->ncolumns + program->npayloads &&
			loadable(instr->op, instr->aux < program->ncolumns ? columns[instr->aux].kind :
					 payloads[instr->aux - program->ncolumns].kind);
	if (is_const(instr->op))
		return instr->aux >= 0 && instr->aux < program->nconsts;
	if (instr->op == GPUCOL_OP_IN_I)
		return readable(program, written, instr->a, GPUCOL_CLASS_I) &&
			instr->b + instr->c <= program->nconsts;
	if (instr->op == GPUCOL_OP_PART_S &&
		(instr->b >= program->nconsts || instr->c >= program->nconsts))
		return false;
	if (instr->op == GPUCOL_OP_MATCH_S &&
		instr->b + GPUCOL_TEXT_CONSTS(sizeof(GpucolTextPattern)) > program->nconsts)
		return false;
	if (GPUCOL_CPU_HAS_BLOCK(instr) && !gpucol_cpu_block_fits(program, instr))
		return false;
	if (instr->op == GPUCOL_OP_FIELD_S &&
		(instr->aux == 0 || instr->b + GPUCOL_TEXT_CONSTS(sizeof(GpucolTextSeparator)) > program->nconsts))
		return false;
	if ((instr->op == GPUCOL_OP_HOST_TEST || instr->op == GPUCOL_OP_HOST_MAP) &&
		!loads_string(program, instr->a, instr->op == GPUCOL_OP_HOST_TEST))
		return false;
	if ((instr->op == GPUCOL_OP_RESCALE_D || instr->op == GPUCOL_OP_I_TO_D) &&
		(instr->aux < 0 || instr->aux > 38))
		return false;
	if (instr->mask != GPUCOL_NO_REG &&
		!readable(program, written, instr->mask, GPUCOL_CLASS_B))
		return false;
	return readable(program, written, instr->a, gpucol_cpu_expr_ops[instr->op].a) &&
		readable(program, written, instr->b, gpucol_cpu_expr_ops[instr->op].b) &&
		readable(program, written, instr->c, gpucol_cpu_expr_ops[instr->op].c);
}

/* Were the registers written by now that probes read before instruction i? */
static bool
check_probes(const GpucolProgram *program, const uint32_t *written, int i)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(program, const uint8_t, reg_classes);
	const GpucolProbe *probes = GPUCOL_PROGRAM_ARRAY(program, const GpucolProbe, probes);
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, probe_keys);

	for (int p = 0; p < program->nprobes; p++)
	{
		const GpucolProbe *probe = &probes[p];

		for (int k = probe->first_key; i == probe->keys_end &&
			 k < probe->first_key + probe->nkeys; k++)
			if (keys[k] >= program->nregs ||
				!readable(program, written, keys[k], classes[keys[k]]))
				return false;
		if (i == probe->residual_end && probe->residual != GPUCOL_NO_REG &&
			!readable(program, written, probe->residual, GPUCOL_CLASS_B))
			return false;
		if (i == probe->filter_end && probe->filter != GPUCOL_NO_REG &&
			!readable(program, written, probe->filter, GPUCOL_CLASS_B))
			return false;
	}
	return true;
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
	uint32_t	written[(UINT16_MAX + 1) / 32] = {0};	/* bits of registers */

	*why = "malformed kernel description";
	if (program->magic != GPUCOL_PROGRAM_MAGIC ||
		program->version != GPUCOL_PROGRAM_VERSION ||
		program->nfilter_instrs > program->ninstrs || !gpucol_cpu_join_check(program))
		return GPUCOL_UNSUPPORTED;
	for (int i = 0; i < program->ninstrs; i++)
	{
		if (i == program->nfilter_instrs && program->filter != GPUCOL_NO_REG &&
			!readable(program, written, program->filter, GPUCOL_CLASS_B))
			return GPUCOL_UNSUPPORTED;
		if (!check_probes(program, written, i))
			return GPUCOL_UNSUPPORTED;
		if (!check_instr(program, written, &instrs[i]))
			return GPUCOL_UNSUPPORTED;
		written[instrs[i].dst / 32] |= UINT32_C(1) << (instrs[i].dst % 32);
	}
	if (program->filter != GPUCOL_NO_REG &&
		!readable(program, written, program->filter, GPUCOL_CLASS_B))
		return GPUCOL_UNSUPPORTED;
	if (!check_probes(program, written, program->ninstrs))
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
		if ((aggs[i].op == GPUCOL_AGG_MIN || aggs[i].op == GPUCOL_AGG_MAX) &&
			aggs[i].cls == GPUCOL_CLASS_S && !loads_string(program, aggs[i].arg, false) &&
			!(aggs[i].order == 0 && makes_string(program, aggs[i].arg)))
			return GPUCOL_UNSUPPORTED;
		if (aggs[i].op == GPUCOL_AGG_PRODUCTS &&
			(aggs[i].cls != GPUCOL_CLASS_F || !readable(program, written, aggs[i].order, GPUCOL_CLASS_F)))
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
		cls == GPUCOL_CLASS_D ? sizeof(__int128) + sizeof(int64_t) :
		cls == GPUCOL_CLASS_S ? sizeof(GpucolBytes) + sizeof(uint32_t) : 8;

	return width * GPUCOL_VECTOR_VALUES;
}

/* Fill a constant register. */
static void
fill_constant(GpucolCpuReg *reg, const GpucolConst *value)
{
	reg->constant = true;
	reg->wide = reg->cls == GPUCOL_CLASS_D;
	reg->narrow = reg->wide && (value->isnull || value->v.d.hi == (int64_t) value->v.d.lo >> 63);
	for (int j = 0; j < GPUCOL_VECTOR_VALUES && reg->narrow; j++)
		reg->n[j] = value->isnull ? 0 : (int64_t) value->v.d.lo;
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
		size += class_size(run->code.classes[r]) + GPUCOL_VECTOR_VALUES;
	worker->regs = gpucol_cpu_alloc0(run, sizeof(GpucolCpuReg) * (program->nregs + 1u));
	memory = gpucol_cpu_alloc0(run, size);
	if (worker->regs == NULL || memory == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int r = 0; r < program->nregs; r++)
	{
		GpucolCpuReg *reg = &worker->regs[r];

		reg->cls = run->code.classes[r];
		reg->v.any = memory;
		if (reg->cls == GPUCOL_CLASS_S)
			reg->codes = (uint32_t *) (memory + sizeof(GpucolBytes) * GPUCOL_VECTOR_VALUES);
		if (reg->cls == GPUCOL_CLASS_D)
			reg->n = (int64_t *) (memory + sizeof(__int128) * GPUCOL_VECTOR_VALUES);
		memory += class_size(reg->cls);
		reg->null_space = (uint8_t *) memory;
		memory += GPUCOL_VECTOR_VALUES;
	}
	for (int i = 0; i < program->ninstrs; i++)
		if (is_const(run->code.instrs[i].op))
			fill_constant(&worker->regs[run->code.instrs[i].dst],
						  &run->code.consts[run->code.instrs[i].aux]);
	return GPUCOL_OK;
}

const __int128 *
gpucol_cpu_expr_widen(GpucolCpuReg *reg, uint32_t n)
{
	if (!reg->wide && reg->alike)
		gpucol_cpu_alike_widen(reg, n);
	else if (!reg->wide)
		for (uint32_t j = 0; j < n; j++)
			reg->v.d[j] = reg->n[j];
	reg->wide = true;
	return reg->v.d;
}

/* The rows that take a branch. */
typedef struct Branch
{
	uint16_t	mask;			/* register, GPUCOL_NO_REG: none is listed */
	uint32_t	n;
	uint16_t	rows[GPUCOL_SELECT_ROOM];
} Branch;

/* Of an instruction that is called row by row, list the rows that need it. */
static void
list_branch(GpucolCpuFrame *f, Branch *branch)
{
	const GpucolInstr *instr = f->instr;

	f->rows = NULL;
	if (instr->mask == GPUCOL_NO_REG || (instr->op != GPUCOL_OP_MATH_F && instr->op != GPUCOL_OP_MATH2_F &&
												instr->op != GPUCOL_OP_MATH_P && instr->op != GPUCOL_OP_MATH2_P))
		return;
	if (branch->mask != instr->mask)
	{
		const GpucolCpuReg *mask = &f->worker->regs[instr->mask];

		branch->mask = instr->mask;
		branch->n = gpucol_select_true(mask->v.b, mask->nulls, f->n, branch->rows);
	}
	f->worker->branch_rows += f->n;
	if (branch->n > f->n - f->n / LEAST_LEFT_OUT)
	{
		f->worker->branch_taken += f->n;
		return;
	}
	f->worker->branch_taken += branch->n;
	f->rows = branch->rows;
	f->nrows = branch->n;
}

GpucolStatus
gpucol_cpu_expr_run(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
					int first, int last)
{
	const GpucolRun *run = worker->run;
	GpucolCpuFrame		f;
	Branch		branch;

	gpucol_cpu_ages_forget(worker);
	branch.mask = GPUCOL_NO_REG;
	f.worker = worker;
	f.vector = vector;
	f.n = worker->nsel;
	for (int i = first; i < last; i++)
	{
		GpucolStatus status;

		f.instr = &run->code.instrs[i];
		if (run->digest.unread[f.instr->dst] || run->digest.of_elements[i])
			continue;
		f.dst = &worker->regs[f.instr->dst];
		f.a = &worker->regs[f.instr->a < run->program->nregs ? f.instr->a : 0];
		f.b = &worker->regs[f.instr->b < run->program->nregs ? f.instr->b : 0];
		f.c = &worker->regs[f.instr->c < run->program->nregs ? f.instr->c : 0];
		list_branch(&f, &branch);
		status = gpucol_cpu_expr_ops[f.instr->op].function(&f);
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

uint32_t
gpucol_cpu_expr_true(const GpucolCpuWorker *worker, uint16_t reg, uint16_t *at)
{
	const GpucolCpuReg *filter = &worker->regs[reg];

	return gpucol_select_true(filter->v.b, filter->nulls, worker->nsel, at);
}

/*
 * Keep the selected rows for which the filter register is true, with the
 * registers that later steps read.
 */
GpucolStatus
gpucol_cpu_expr_filter(GpucolCpuWorker *worker)
{
	uint16_t	at[GPUCOL_SELECT_ROOM];
	uint32_t	n = gpucol_cpu_expr_true(worker, worker->run->program->filter, at);

	if (n == worker->nsel)
		return GPUCOL_OK;
	gpucol_cpu_live_keep(worker, 0, at, n);
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
