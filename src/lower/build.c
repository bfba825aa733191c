/*-------------------------------------------------------------------------
 *
 * build.c
 *	  The pieces of a program under construction: columns, constants, ranges,
 *	  instructions with their masks, and the final block of bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"

#include "kernel/math_functions.h"
#include "kernel/packed_decimal.h"
#include "lower/pipe.h"

/* Limit of any numbered thing: register numbers are 16 bits. */
#define MAX_NUMBER	(GPUCOL_NO_REG - 1)

/* Register classes of every opcode: result and operands. */
static const uint8 opcode_classes[][4] = {
#define B GPUCOL_CLASS_B
#define I GPUCOL_CLASS_I
#define D GPUCOL_CLASS_D
#define F GPUCOL_CLASS_F
#define S GPUCOL_CLASS_S
#define NONE GPUCOL_CLASS_NONE
#define GPUCOL_OPCODE(name, r, a, b, c) {r, a, b, c},
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
#undef B
#undef I
#undef D
#undef F
#undef S
#undef NONE
};

/* Class of an opcode's result (operand 0) or operand (1 to 3). */
GpucolClass
gpucol_opcode_class(GpucolOpcode op, int operand)
{
	return (GpucolClass) opcode_classes[op][operand];
}

/*
 * Note why an expression is not lowered; returns false for the caller to pass
 * on.
 */
bool
gpucol_lower_decline(GpucolLower *l, const char *fmt,...)
{
	StringInfoData reason;
	int			needed = 0;

	initStringInfo(&reason);
	do
	{
		va_list		args;

		enlargeStringInfo(&reason, needed);
		va_start(args, fmt);
		needed = appendStringInfoVA(&reason, fmt, args);
		va_end(args);
	} while (needed > 0);
	l->reason = reason.data;
	return false;
}

/* Double an array when it is full. */
#define ENSURE_ROOM(array, n, max) \
	do { \
		if ((n) >= (max)) \
		{ \
			(max) = Max(16, (max) * 2); \
			(array) = (array) ? repalloc(array, (max) * sizeof(*(array))) : \
				palloc((max) * sizeof(*(array))); \
		} \
	} while (0)

/* What a numeric column without a precision is known to be; NULL: nothing. */
const GpucolPipeDecimal *
gpucol_lower_decimal_column(const GpucolLower *l, AttrNumber attnum)
{
	const GpucolPipeDecimal *decimals = l->pipe != NULL ? l->pipe->decimals : l->decimals;

	return decimals != NULL && decimals[attnum - 1].is ? &decimals[attnum - 1] : NULL;
}

/*
 * The program's slot of a table column, which is added if need be.  Those of payload
 * begin behind all columns that the source may have, until the program is finished.
 */
int
gpucol_lower_column(GpucolLower *l, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(l->desc, attnum - 1);
	const GpucolPipeDecimal *decimal;
	GpucolProgramColumn *column;
	GpucolTypeMap *map;
	int			slot;

	for (int i = 0; i < l->ncolumns; i++)
	{
		if (l->columns[i].attnum == attnum)
			return i;
	}
	for (int i = l->nsource; i < l->nsource + l->npayloads; i++)
	{
		if (l->columns[i].attnum == attnum)
			return i;
	}
	slot = l->pipe != NULL && attnum > l->nsource ? l->nsource + l->npayloads++ : l->ncolumns++;
	column = &l->columns[slot];
	map = &l->maps[slot];
	gpucol_typemap_init(map, att->atttypid, att->atttypmod, att->attcollation);
	decimal = gpucol_lower_decimal_column(l, attnum);
	if (decimal != NULL)
	{
		map->kind = GPUCOL_KIND_DECIMAL;
		map->scale = decimal->scale;
		map->digits = decimal->digits;
	}
	memset(column, 0, sizeof(*column));
	column->attnum = attnum;
	column->kind = map->kind;
	column->scale = map->scale;
	column->type_oid = att->atttypid;
	return slot;
}

/* Make the innermost mask a register; GPUCOL_NO_REG if every row is in play. */
static uint16
materialise_mask(GpucolLower *l, GpucolMask *mask)
{
	uint16		outer;
	uint16		condition;

	if (mask == NULL)
		return GPUCOL_NO_REG;
	if (mask->reg != GPUCOL_NO_REG)
		return mask->reg;
	outer = materialise_mask(l, mask->outer);
	condition = mask->condition;
	l->mask = NULL;				/* logic never errs: it needs no mask */
	switch (mask->kind)
	{
		case GPUCOL_MASK_TRUE:
			condition = gpucol_lower_emit(l, GPUCOL_OP_IS_TRUE, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			break;
		case GPUCOL_MASK_NOT_TRUE:
			condition = gpucol_lower_emit(l, GPUCOL_OP_IS_TRUE, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			condition = gpucol_lower_emit(l, GPUCOL_OP_NOT, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			break;
		case GPUCOL_MASK_NOT_FALSE:
			condition = gpucol_lower_emit(l, GPUCOL_OP_NOT, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			condition = gpucol_lower_emit(l, GPUCOL_OP_IS_TRUE, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			condition = gpucol_lower_emit(l, GPUCOL_OP_NOT, condition,
										  GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
			break;
	}
	if (outer != GPUCOL_NO_REG)
		condition = gpucol_lower_emit(l, GPUCOL_OP_AND, outer, condition,
									  GPUCOL_NO_REG, 0);
	mask->reg = condition;
	return condition;
}

/* Enter a sub-expression that is evaluated for some rows only. */
void
gpucol_lower_push_mask(GpucolLower *l, GpucolMask *mask, GpucolMaskKind kind,
					   uint16 condition)
{
	mask->outer = l->mask;
	mask->kind = kind;
	mask->condition = condition;
	mask->reg = GPUCOL_NO_REG;
	l->mask = mask;
}

/* Leave it. */
void
gpucol_lower_pop_mask(GpucolLower *l)
{
	l->mask = l->mask->outer;
}

/* Can an instruction raise an error of the user's expression? */
static bool
may_raise(GpucolOpcode op, int aux)
{
	switch (op)
	{
		case GPUCOL_OP_ADD_I:
		case GPUCOL_OP_SUB_I:
		case GPUCOL_OP_MUL_I:
		case GPUCOL_OP_DIV_I:
		case GPUCOL_OP_MOD_I:
		case GPUCOL_OP_NEG_I:
		case GPUCOL_OP_ABS_I:
		case GPUCOL_OP_CHECK_I:
		case GPUCOL_OP_ADD_F:
		case GPUCOL_OP_SUB_F:
		case GPUCOL_OP_MUL_F:
		case GPUCOL_OP_DIV_F:
		case GPUCOL_OP_F_TO_I:
		case GPUCOL_OP_MATH2_F:
		case GPUCOL_OP_F_TO_P:
		case GPUCOL_OP_MATH_P:
		case GPUCOL_OP_MATH2_P:
		case GPUCOL_OP_DATE_ADD_I:
		case GPUCOL_OP_TIME_DIFF_I:
		case GPUCOL_OP_SHIFT_I:
		case GPUCOL_OP_ZONE_I:
		case GPUCOL_OP_ZONE_S:
		case GPUCOL_OP_D_TO_I:
		case GPUCOL_OP_SPAN_ADD_I:
		case GPUCOL_OP_AGE_I:
		case GPUCOL_OP_ORDERED_I:
		case GPUCOL_OP_F_TO_D:
		case GPUCOL_OP_FOLD_SUM_F:
		case GPUCOL_OP_FOLD_AVG_F:
			return true;
		case GPUCOL_OP_ARITH_P:
			return aux >= GPUCOL_PACKED_DIV;
		case GPUCOL_OP_MATH_F:
			return aux > GPUCOL_MATH_HARMLESS;
		case GPUCOL_OP_ROUND_F:
			return aux == 4;
		default:
			return false;
	}
}

/* Is an instruction called row by row, so that it pays to leave rows out that do not need it? */
static bool
is_dear(GpucolOpcode op, int aux)
{
	return op == GPUCOL_OP_MATH2_F || op == GPUCOL_OP_MATH_P || op == GPUCOL_OP_MATH2_P ||
		(op == GPUCOL_OP_MATH_F && aux != GPUCOL_MATH_CEIL && aux != GPUCOL_MATH_FLOOR && aux != GPUCOL_MATH_ROUND &&
		 aux != GPUCOL_MATH_TRUNC);
}

/* The register of an equal instruction that later ones may read; GPUCOL_NO_REG if there is none. */
static uint16
find_instr(const GpucolLower *l, GpucolInstr instr)
{
	for (int i = 0; i < l->ninstrs; i++)
	{
		instr.dst = l->instrs[i].dst;
		if (memcmp(&instr, &l->instrs[i], sizeof(instr)) == 0 && !gpucol_lower_is_hidden(l, i))
			return instr.dst;
	}
	return GPUCOL_NO_REG;
}

/*
 * Append an instruction under the current mask, or reuse the register of an
 * equal one.  Returns its register.
 */
uint16
gpucol_lower_emit(GpucolLower *l, GpucolOpcode op, uint16 a, uint16 b, uint16 c,
				  int32 aux)
{
	GpucolInstr instr;
	uint16		found;

	memset(&instr, 0, sizeof(instr));
	instr.op = op;
	instr.a = a;
	instr.b = b;
	instr.c = c;
	instr.aux = aux;
	instr.mask = GPUCOL_NO_REG;
	l->may_raise |= may_raise(op, aux);
	if (may_raise(op, aux) || (l->conditional > 0 && is_dear(op, aux) && find_instr(l, instr) == GPUCOL_NO_REG))
	{
		GpucolMask *mask = l->mask;

		instr.mask = materialise_mask(l, mask);
		l->mask = mask;
	}
	found = find_instr(l, instr);
	if (found != GPUCOL_NO_REG)
		return found;
	if (l->nregs >= MAX_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("expression is too large to be pushed down"),
				 errdetail("It needs more than %d registers.", MAX_NUMBER),
				 errhint("Set gpucol.pushdown to forbid for this statement.")));
	ENSURE_ROOM(l->reg_classes, l->nregs, l->maxregs);
	ENSURE_ROOM(l->instrs, l->ninstrs, l->maxinstrs);
	instr.dst = l->nregs;
	l->reg_classes[l->nregs++] = opcode_classes[op][0];
	l->instrs[l->ninstrs++] = instr;
	return instr.dst;
}

/*
 * Append a constant; returns its number.
 */
uint16
gpucol_lower_add_const(GpucolLower *l, const GpucolConst *c)
{
	if (l->nconsts >= MAX_NUMBER)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("expression is too large to be pushed down"),
				 errdetail("It needs more than %d constants.", MAX_NUMBER),
				 errhint("Set gpucol.pushdown to forbid for this statement.")));
	ENSURE_ROOM(l->consts, l->nconsts, l->maxconsts);
	l->consts[l->nconsts] = *c;
	return l->nconsts++;
}

/*
 * The number of a constant that is among the first few, or is appended.
 */
uint16
gpucol_lower_put_const(GpucolLower *l, const GpucolConst *c)
{
	for (int i = 0; i < Min(l->nconsts, 64); i++)
	{
		if (memcmp(&l->consts[i], c, sizeof(*c)) == 0)
			return i;
	}
	return gpucol_lower_add_const(l, c);
}

/*
 * Append a value of so many bytes to the constants; returns the number of the first.
 */
uint16
gpucol_lower_put_bytes(GpucolLower *l, const void *value, size_t size)
{
	uint16		first = l->nconsts;

	for (size_t at = 0; at < size; at += 16)
	{
		GpucolConst c;

		memset(&c, 0, sizeof(c));
		c.cls = GPUCOL_CLASS_D;
		memcpy(&c.v.d, (const char *) value + at, Min(size - at, 16));
		gpucol_lower_add_const(l, &c);
	}
	return first;
}

/*
 * Append a range conjunct without bounds, for the caller to fill.
 */
GpucolRange *
gpucol_lower_add_range(GpucolLower *l, int column, GpucolRangeOp op)
{
	GpucolRange *range;

	if (l->ranges == NULL)
		l->ranges = palloc(sizeof(GpucolRange));
	else
		l->ranges = repalloc(l->ranges, (l->nranges + 1) * sizeof(GpucolRange));
	range = &l->ranges[l->nranges++];
	memset(range, 0, sizeof(*range));
	range->column = column;
	range->op = op;
	range->lo = GPUCOL_NO_REG;
	range->hi = GPUCOL_NO_REG;
	return range;
}

/*
 * Append a host test; returns its number.
 */
int
gpucol_lower_add_host(GpucolLower *l, int column, Expr *expr)
{
	for (int i = 0; i < l->nhosts; i++)
	{
		if (l->hosts[i].column == column && equal(l->hosts[i].expr, expr))
			return i;
	}
	if (l->hosts == NULL)
		l->hosts = palloc(sizeof(GpucolHostTest));
	else
		l->hosts = repalloc(l->hosts, (l->nhosts + 1) * sizeof(GpucolHostTest));
	l->hosts[l->nhosts].column = column;
	l->hosts[l->nhosts].expr = expr;
	return l->nhosts++;
}

/*
 * Append an order of a BYTES column's values, or find an equal one; returns its number.
 */
int
gpucol_lower_add_order(GpucolLower *l, int column, Oid less, Oid collation)
{
	GpucolHostOrder order = {.column = column,.less = less,.collation = collation};

	for (int i = 0; i < l->norders; i++)
	{
		if (l->orders[i].column == column && l->orders[i].less == less &&
			l->orders[i].collation == collation)
			return i;
	}
	if (l->orders == NULL)
		l->orders = palloc(sizeof(GpucolHostOrder));
	else
		l->orders = repalloc(l->orders, (l->norders + 1) * sizeof(GpucolHostOrder));
	l->orders[l->norders] = order;
	return l->norders++;
}

/* Reserve an aligned array in the block under layout; returns its offset. */
static uint32
reserve(uint32 *size, Size bytes)
{
	uint32		offset = TYPEALIGN(16, *size);

	*size = offset + bytes;
	return offset;
}

/* Have loads number payload directly behind the columns that the source has. */
static void
number_payload(GpucolProgram *program, int nsource)
{
	GpucolInstr *instrs = GPUCOL_PROGRAM_ARRAY(program, GpucolInstr, instrs);

	for (int i = 0; i < program->ninstrs; i++)
	{
		if (instrs[i].op <= GPUCOL_OP_LOAD_S && instrs[i].aux >= nsource)
			instrs[i].aux += program->ncolumns - nsource;
	}
}

/*
 * The finished program as one block (palloc'd).
 */
GpucolProgram *
gpucol_lower_finish(GpucolLower *l, GpucolProgramKind kind)
{
	GpucolProgram head;
	GpucolProgram *program;
	uint32		size = sizeof(GpucolProgram);

	memset(&head, 0, sizeof(head));
	head.magic = GPUCOL_PROGRAM_MAGIC;
	head.version = GPUCOL_PROGRAM_VERSION;
	head.kind = kind;
	head.ncolumns = l->ncolumns;
	head.nconsts = l->nconsts;
	head.nranges = l->nranges;
	head.ninstrs = l->ninstrs;
	head.nfilter_instrs = l->nfilter_instrs;
	head.nregs = l->nregs;
	head.filter = l->filter;
	head.nkeys = l->nkeys;
	head.naggs = l->naggs;
	head.nhost = l->nhosts;
	head.nprobes = l->nprobes;
	head.npayloads = l->npayloads;
	head.nprobe_keys = l->nprobe_keys;
	head.njoin_keys = l->njoin_keys;
	head.flags = l->keep_null_keys ? GPUCOL_PROGRAM_KEEP_NULL_KEYS : 0;
	head.columns = reserve(&size, l->ncolumns * sizeof(GpucolProgramColumn));
	head.consts = reserve(&size, l->nconsts * sizeof(GpucolConst));
	head.ranges = reserve(&size, l->nranges * sizeof(GpucolRange));
	head.instrs = reserve(&size, l->ninstrs * sizeof(GpucolInstr));
	head.reg_classes = reserve(&size, l->nregs);
	head.keys = reserve(&size, l->nkeys * sizeof(uint16));
	head.aggs = reserve(&size, l->naggs * sizeof(GpucolAgg));
	head.probes = reserve(&size, l->nprobes * sizeof(GpucolProbe));
	head.payloads = reserve(&size, l->npayloads * sizeof(GpucolPayload));
	head.probe_keys = reserve(&size, l->nprobe_keys * sizeof(uint16));
	head.size = TYPEALIGN(16, size);

	program = palloc0(head.size);
	*program = head;
#define COPY_ARRAY(type, field, source, n) \
	do { \
		if ((n) > 0) \
			memcpy(GPUCOL_PROGRAM_ARRAY(program, type, field), source, \
				   (n) * sizeof(type)); \
	} while (0)
	COPY_ARRAY(GpucolProgramColumn, columns, l->columns, l->ncolumns);
	COPY_ARRAY(GpucolConst, consts, l->consts, l->nconsts);
	COPY_ARRAY(GpucolRange, ranges, l->ranges, l->nranges);
	COPY_ARRAY(GpucolInstr, instrs, l->instrs, l->ninstrs);
	COPY_ARRAY(uint8, reg_classes, l->reg_classes, l->nregs);
	COPY_ARRAY(uint16, keys, l->keys, l->nkeys);
	COPY_ARRAY(GpucolAgg, aggs, l->aggs, l->naggs);
	COPY_ARRAY(GpucolProbe, probes, l->probes, l->nprobes);
	COPY_ARRAY(GpucolPayload, payloads, gpucol_lower_payloads(l), l->npayloads);
	COPY_ARRAY(uint16, probe_keys, l->probe_keys, l->nprobe_keys);
#undef COPY_ARRAY
	if (l->npayloads > 0)
		number_payload(program, l->nsource);
	return program;
}
