/*-------------------------------------------------------------------------
 *
 * few.c
 *	  Texts that are made of few values, once for each of them in a segment.
 *
 * An operand is of few values where the bounds of a register say so (engine/cpu/bounds.c), or
 * where it has codes of a dictionary, or of such texts.  The place among them numbers the text,
 * and of two operands the pair of places does.  So the register has codes, of a column of its own
 * whose dictionary each worker fills as rows ask for texts.  What a code stands for is the same
 * for all workers, so that groups know it by one number (engine/cpu/strings.c).  What the host
 * says of texts is asked once for each, likewise.
 *
 * Only registers that nothing but keys, sets and operations that know codes read are kept so.
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "engine/cpu/expr_ops.h"
#include "engine/cpu/few.h"

#define MOST_TEXTS		65536	/* of a register, NULL of an operand included */
#define ROWS_A_TEXT		4		/* a segment has at least so many rows for each */
#define CHUNK_BYTES		65536

/* The texts of a register that a worker has made in the segment at hand. */
typedef struct GpucolCpuFew
{
	GpucolCpuColumn column;		/* with the texts as its dictionary; there is none yet where data is NULL */
	GpucolChunkDesc desc;
	uint64_t	serial;			/* segment */
	size_t		room;			/* entries */
	char	   *space;			/* chunks of texts, each with the address of the one before */
	size_t		left;			/* bytes in the last one */
	char	   *next;
	uint8_t    *verdicts;		/* of a test of texts: the host's + 1 by code; 0: not asked */
} GpucolCpuFew;

/* An operand: `n` places, of which 0 is that of NULL. */
typedef struct Operand
{
	const GpucolCpuReg *reg;
	uint32_t	n;
	int64_t		first;			/* the value of place 1; of codes 0 */
} Operand;

/* ---- which registers ---- */

static bool
makes_text(uint16_t op)
{
	return op == GPUCOL_OP_FORM_I || op == GPUCOL_OP_FORM_D || op == GPUCOL_OP_CASE_S ||
		op == GPUCOL_OP_BOTH_S || op == GPUCOL_OP_MD5_S;
}

static bool
knows_codes(uint16_t op)
{
	return op == GPUCOL_OP_BOTH_S || op == GPUCOL_OP_MD5_S || op == GPUCOL_OP_CASE_S || op == GPUCOL_OP_LENGTH_S ||
		op == GPUCOL_OP_EQ_S || op == GPUCOL_OP_LT_S || op == GPUCOL_OP_IS_NULL_S || op == GPUCOL_OP_HOST_EACH;
}

/* Do all that read a register know codes?  Keys of groups do. */
static bool
may_be_codes(const GpucolRun *run, uint16_t reg)
{
	const GpucolProgram *program = run->program;
	const uint16_t *probe_keys = GPUCOL_PROGRAM_ARRAY(program, const uint16_t, probe_keys);

	for (int i = 0; i < program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		const GpucolCpuOp *op = &gpucol_cpu_expr_ops[instr->op];

		if (((op->a == GPUCOL_CLASS_S && instr->a == reg) || (op->b == GPUCOL_CLASS_S && instr->b == reg) ||
			 (op->c == GPUCOL_CLASS_S && instr->c == reg)) &&
			(!knows_codes(instr->op) || run->digest.of_elements[i]))
			return false;
		if (instr->dst == reg && run->digest.of_elements[i])
			return false;
	}
	for (int k = 0; k < program->nprobe_keys; k++)
		if (probe_keys[k] == reg)
			return false;
	for (int k = 0; k < program->nkeys && program->kind != GPUCOL_PROGRAM_AGG; k++)
		if (run->code.keys[k] == reg)
			return false;
	for (int a = 0; a < program->naggs; a++)
		if (run->code.aggs[a].arg == reg && run->code.aggs[a].op != GPUCOL_AGG_COUNT &&
			run->code.aggs[a].op != GPUCOL_AGG_COUNT_DISTINCT)
			return false;
	return true;
}

GpucolStatus
gpucol_cpu_few_init(GpucolRun *run)
{
	run->digest.few = gpucol_cpu_alloc0(run, sizeof(uint16_t) * (run->program->nregs + 1u));
	if (run->digest.few == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int i = 0; i < run->program->ninstrs; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if ((makes_text(instr->op) && may_be_codes(run, instr->dst)) ||
			(instr->op == GPUCOL_OP_HOST_EACH && run->digest.few[instr->a] != 0))
			run->digest.few[instr->dst] = (uint16_t) ++run->digest.nfew;
	}
	return GPUCOL_OK;
}

/* ---- texts ---- */

/* The slot of a register's own column: they come behind those of columns and payload. */
static int
slot_of(const GpucolRun *run, int number)
{
	return run->program->ncolumns + run->program->npayloads + number - 1;
}

/* Bytes for one more text; NULL without memory. */
static char *
reserve(GpucolRun *run, GpucolCpuFew *few, size_t size)
{
	if (few->left < size)
	{
		size_t		all = size > CHUNK_BYTES ? size : CHUNK_BYTES;
		char	   *chunk = gpucol_cpu_alloc(run, sizeof(char *) + all);

		if (chunk == NULL)
			return NULL;
		memcpy(chunk, &few->space, sizeof(char *));
		few->space = chunk;
		few->next = chunk + sizeof(char *);
		few->left = all;
	}
	return few->next;
}

static void
forget(GpucolRun *run, GpucolCpuFew *few)
{
	while (few->space != NULL)
	{
		char	   *chunk = few->space;

		memcpy(&few->space, chunk, sizeof(char *));
		gpucol_cpu_free(run, chunk);
	}
	few->left = 0;
}

/* Begin with a segment's texts, of which there may be n. */
static bool
begin_texts(GpucolRun *run, GpucolCpuFew *few, int number, uint32_t n)
{
	forget(run, few);
	if (few->room < n)
	{
		gpucol_cpu_free(run, few->column.entries);
		few->room = 0;
		few->column.entries = gpucol_cpu_alloc(run, sizeof(GpucolBytes) * n);
		if (few->column.entries == NULL)
			return false;
		few->room = n;
	}
	memset(few->column.entries, 0, sizeof(GpucolBytes) * n);
	few->desc.coding = GPUCOL_CODING_DICT;
	few->desc.kind = GPUCOL_KIND_BYTES;
	few->desc.width = 1;
	while (UINT32_C(1) << few->desc.width < n)
		few->desc.width++;
	few->column.desc = &few->desc;
	few->column.slot = slot_of(run, number);
	return true;
}

/* The same of a test of them. */
static bool
begin_verdicts(GpucolRun *run, GpucolCpuFew *few, uint32_t n)
{
	gpucol_cpu_free(run, few->verdicts);
	few->verdicts = gpucol_cpu_alloc0(run, n);
	return few->verdicts != NULL;
}

/* What the result has of n texts, or tests of them; NULL where it better has nothing. */
static GpucolCpuFew *
open_few(GpucolCpuFrame *f, uint64_t n, bool tests)
{
	GpucolCpuWorker *worker = f->worker;
	GpucolRun  *run = worker->run;
	int			number = run->digest.few[f->instr->dst];
	GpucolCpuFew *few;

	if (n > MOST_TEXTS || n > run->input.segment.nrows / ROWS_A_TEXT)
		return NULL;
	if (worker->few == NULL)
		worker->few = gpucol_cpu_alloc0(run, sizeof(GpucolCpuFew) * run->digest.nfew);
	if (worker->few == NULL)
		return NULL;
	few = &worker->few[number - 1];
	if (few->serial == run->input.segment_serial && few->column.ndict == n)
		return few;
	few->serial = 0;
	if (tests ? !begin_verdicts(run, few, (uint32_t) n) : !begin_texts(run, few, number, (uint32_t) n))
		return NULL;
	few->column.ndict = (uint32_t) n;
	few->serial = run->input.segment_serial;
	return few;
}

/* ---- operands ---- */

/* Has a register few values, each with a place? */
static bool
open_operand(const GpucolCpuFrame *f, uint16_t number, const GpucolCpuReg *reg, Operand *operand)
{
	const GpucolRun *run = f->worker->run;
	const GpucolCpuBounds *bounds = gpucol_cpu_op_bounds(f, number);

	operand->reg = reg;
	operand->first = 0;
	operand->n = 2;
	if (reg->cls == GPUCOL_CLASS_S && reg->constant)
		return true;
	if (reg->cls == GPUCOL_CLASS_S)
	{
		if (!reg->coded || reg->column->entries == NULL || reg->column->ndict >= MOST_TEXTS ||
			(reg->column->slot >= run->program->ncolumns && reg->column->slot < slot_of(run, 1)))
			return false;
		operand->n = reg->column->ndict + 1;
		return true;
	}
	if (!bounds->known || (reg->cls == GPUCOL_CLASS_D && !reg->narrow) ||
		(uint64_t) bounds->hi - (uint64_t) bounds->lo >= MOST_TEXTS)
		return false;
	operand->first = bounds->lo;
	operand->n = (uint32_t) ((uint64_t) bounds->hi - (uint64_t) bounds->lo) + 2;
	return true;
}

/* The places of n rows; false if a value has none. */
GPUCOL_CPU_CLONES static bool
find_places(const Operand *operand, uint32_t n, uint32_t *places)
{
	uint64_t	most = operand->n - 1;
	const GpucolCpuReg *reg = operand->reg;
	const int64_t *values = reg->cls == GPUCOL_CLASS_I ? reg->v.i : reg->n;
	uint64_t	first = (uint64_t) operand->first;
	bool		bad = false;

	if (reg->cls == GPUCOL_CLASS_S && reg->constant)
		for (uint32_t j = 0; j < n; j++)
			places[j] = 1;
	else if (reg->cls == GPUCOL_CLASS_S)
		for (uint32_t j = 0; j < n; j++)
			places[j] = reg->codes[j] + 1;
	else if (reg->nulls == NULL)
		for (uint32_t j = 0; j < n; j++)
		{
			bad |= (uint64_t) values[j] - first >= most;
			places[j] = (uint32_t) ((uint64_t) values[j] - first + 1);
		}
	else
		for (uint32_t j = 0; j < n; j++)
		{
			bad |= (uint64_t) values[j] - first >= most && !reg->nulls[j];
			places[j] = (uint32_t) ((uint64_t) values[j] - first + 1);
		}
	if (reg->nulls != NULL)
		for (uint32_t j = 0; j < n; j++)
			places[j] = reg->nulls[j] ? 0 : places[j];
	return !bad;
}

/*
 * The codes of a result of one operand or of two, and what it has of so many texts; NULL where an operand has too many
 * values.
 */
static GpucolCpuFew *
pair_codes(GpucolCpuFrame *f, int noperands, uint32_t *codes)
{
	Operand		a;
	Operand		b = {NULL, 1, 0};
	uint32_t	places[GPUCOL_VECTOR_VALUES];
	GpucolCpuFew *few;

	if (!open_operand(f, f->instr->a, f->a, &a) ||
		(noperands > 1 && (!f->c->constant || !open_operand(f, f->instr->b, f->b, &b))))
		return NULL;
	few = open_few(f, (uint64_t) a.n * b.n, false);
	if (few == NULL || !find_places(&a, f->n, codes) || (b.reg != NULL && !find_places(&b, f->n, places)))
		return NULL;
	if (b.reg != NULL)
		for (uint32_t j = 0; j < f->n; j++)
			codes[j] = codes[j] * b.n + places[j];
	return few;
}

/* The same of a CASE: those of the second branch come behind those of the first. */
static GpucolCpuFew *
chosen_codes(GpucolCpuFrame *f, uint32_t *codes)
{
	uint8_t		space[GPUCOL_VECTOR_VALUES];
	const uint8_t *take = gpucol_cpu_op_true_rows(f->a, f->n, space);
	uint32_t	places[GPUCOL_VECTOR_VALUES];
	Operand		b;
	Operand		c;
	GpucolCpuFew *few;

	if (!open_operand(f, f->instr->b, f->b, &b) || !open_operand(f, f->instr->c, f->c, &c))
		return NULL;
	few = open_few(f, (uint64_t) b.n + c.n, false);
	if (few == NULL || !find_places(&b, f->n, codes) || !find_places(&c, f->n, places))
		return NULL;
	for (uint32_t j = 0; j < f->n; j++)
		codes[j] = take[j] ? codes[j] : b.n + places[j];
	return few;
}

bool
gpucol_cpu_few_make(GpucolCpuFrame *f, const GpucolCpuMaker *maker)
{
	GpucolCpuReg *dst = f->dst;
	GpucolCpuFew *few = NULL;

	if (f->worker->run->digest.few[f->instr->dst] != 0 && f->vector->delta == NULL)
		few = maker->noperands == 3 ? chosen_codes(f, dst->codes) : pair_codes(f, maker->noperands, dst->codes);
	if (few == NULL)
		return false;
	for (uint32_t j = 0; j < f->n; j++)
	{
		GpucolBytes *entry = &few->column.entries[dst->codes[j]];
		char	   *end;

		if (entry->data != NULL || GPUCOL_CPU_NULL_AT(dst, j))
			continue;
		entry->data = reserve(f->worker->run, few, maker->room(f, j) + 1);
		if (entry->data == NULL)
			return false;
		end = maker->make(f, j, few->next);
		entry->len = (uint32_t) (end - few->next);
		few->left -= entry->len;
		few->next = end;
	}
	dst->coded = true;
	dst->words = false;
	dst->column = &few->column;
	return true;
}

/* Ask the host for verdicts on the texts of some codes. */
static void
ask(const GpucolCpuFrame *f, GpucolCpuFew *few, const uint32_t *codes, uint32_t n)
{
	const GpucolHost *host = f->worker->run->host;

	for (uint32_t i = 0; i < n; i++)
	{
		uint8_t		verdict;

		if (few->verdicts[codes[i]] != 0)
			continue;
		host->test(host->context, f->instr->aux, 1, &f->a->column->entries[codes[i]], NULL, &verdict);
		few->verdicts[codes[i]] = verdict + 1;
	}
}

bool
gpucol_cpu_few_test(GpucolCpuFrame *f, uint8_t null_verdict, uint8_t *verdicts)
{
	const GpucolRun *run = f->worker->run;
	uint32_t	unknown[GPUCOL_VECTOR_VALUES + 1];
	const uint32_t *codes = f->a->codes;
	uint32_t	n = 0;
	GpucolCpuFew *few;

	if (run->digest.few[f->instr->dst] == 0 || !f->a->coded || f->a->column->slot < slot_of(run, 1))
		return false;
	few = open_few(f, f->a->column->ndict, true);
	if (few == NULL)
		return false;
	for (uint32_t j = 0; j < f->n; j++)
	{
		unknown[n] = codes[j];
		verdicts[j] = few->verdicts[codes[j]] - 1;
		n += verdicts[j] == UINT8_MAX && !GPUCOL_CPU_NULL_AT(f->a, j);
	}
	ask(f, few, unknown, n);
	for (uint32_t j = 0; j < f->n && n > 0; j++)
		verdicts[j] = few->verdicts[codes[j]] - 1;
	for (uint32_t j = 0; j < f->n && f->a->nulls != NULL; j++)
		verdicts[j] = f->a->nulls[j] ? null_verdict : verdicts[j];
	return true;
}
