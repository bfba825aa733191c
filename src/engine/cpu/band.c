/*-------------------------------------------------------------------------
 *
 * band.c
 *	  Probes whose residual bounds a value of the table by values of the row.
 *
 *		e.t >= b.lo AND e.t < b.hi		b.x BETWEEN e.x - 7 AND e.x		b.x <= e.x
 *
 * Of such a condition's comparisons each is a term: on one side what is computed of the table's row
 * alone, its own value, on the other what is computed of the flowing row alone.  The table's rows are
 * sorted once by one own value, that with most terms, of both directions if there is one; then the terms
 * of a flowing row leave a stretch of these, which two searches find.  Another own value with a term, the
 * end of intervals that are sorted by their begin, shortens it: the greatest such value so far tells where
 * the first row can lie, and the greatest of each block which blocks to leave out.
 *
 * Where there are keys with many rows each, the rows of each key, which lie next to each other, are sorted
 * so among themselves.
 *
 * What is found so is tested by the residual as any pair: terms only leave out pairs that would fail.
 * Rows whose own value is NULL meet nobody; where IS NULL is a way out, NULL lies beyond all others, and a flowing
 * row whose value is NULL is not bound by the term.  Of another way out (b.x <= e.x OR b.x > 1000) that a row of the
 * table has, all pairs are left to the residual.  Values
 * are compared as int64 of their order: decimals of the table that do not fit leave all pairs to the residual,
 * as does a value that cannot be computed: the error is one only if no operand of AND before it says that
 * nobody asks.  Sides are computed without that question.
 *
 * The first worker that comes sorts, as then registers have their bounds; the others wait.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>

#include "base/radix.h"
#include "engine/cpu/expr.h"
#include "engine/cpu/join.h"
#include "kernel/float_order.h"

#define MOST_TERMS	8
#define BLOCK		64
/* With fewer rows a key, to test all of them is as good. */
#define ROWS_OF_KEY	16
#define OWN			1			/* computed of the table's row, */
#define OTHER		2			/* of the flowing row */

/* A comparison of the residual. */
typedef struct Term
{
	uint16_t	own;			/* register */
	uint16_t	other;
	bool		above;			/* own is not less than other, else not greater */
	bool		strict;			/* nor equal */
	bool		nulls;			/* or own is NULL */
	bool		unbound;		/* or other is NULL */
} Term;

typedef enum BandState
{
	UNSORTED, SORTED, USELESS
} BandState;

struct GpucolCpuBand
{
	int			nterms;
	Term		terms[MOST_TERMS];
	int			nfirst;			/* terms of the value that rows are sorted by; others are of the second */
	bool		nulls[2];		/* can a row be met whose value sorted by, or second one, is NULL? */
	int			nways;			/* ways out of terms, booleans of the table's row alone: where one has one, no */
	uint16_t	ways[MOST_TERMS];	/* rows are left out */
	bool		high;			/* NULL lies above all other values sorted by, else below */
	uint8_t    *of;				/* by instruction: OWN, OTHER or both: what it is computed of */
	uint8_t    *needed;			/* by instruction: OWN, OTHER or both: of which side of terms */
	bool	   *unmasked;		/* by instruction: its mask is of the other side, too */
	pthread_mutex_t lock;
	_Atomic int state;
	bool		keyed;			/* rows are sorted for each key */
	uint32_t	n;
	uint32_t   *rows;			/* sorted */
	int64_t    *firsts;			/* their values */
	int64_t    *seconds;		/* NULL: none; turned so that they have to be not less than a bound */
	int64_t    *reached;		/* the greatest of them so far, */
	int64_t    *blocks;			/* and of each BLOCK */
};

/* ---- terms ---- */

/* The instruction that writes a register. */
static int
writer_of(const GpucolRun *run, uint16_t reg)
{
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].dst == reg)
			return i;
	return -1;
}

/* The column of a table that an instruction loads, or NULL. */
static const GpucolPayload *
payload_of(const GpucolRun *run, const GpucolInstr *instr)
{
	int			number = instr->aux - run->program->ncolumns;

	return instr->op <= GPUCOL_OP_LOAD_S && number >= 0 ? &run->code.payloads[number] : NULL;
}

/* Call visit for each register that an instruction computes its value of. */
static void
visit_operands(const GpucolInstr *instr, void (*visit) (void *arg, uint16_t reg), void *arg)
{
	const GpucolCpuOp *op = &gpucol_cpu_expr_ops[instr->op];

	if (instr->op <= GPUCOL_OP_CONST_B)
		return;
	if (op->a != GPUCOL_CLASS_NONE)
		visit(arg, instr->a);
	if (op->b != GPUCOL_CLASS_NONE)
		visit(arg, instr->b);
	if (op->c != GPUCOL_CLASS_NONE)
		visit(arg, instr->c);
}

typedef struct Walk
{
	const GpucolRun *run;
	GpucolCpuBand *band;
	uint8_t		value;
} Walk;

static void
add_source(void *arg, uint16_t reg)
{
	Walk	   *walk = arg;

	walk->value |= walk->band->of[writer_of(walk->run, reg)];
}

/*
 * Of what else is an instruction computed that has a mask?  Masks that are made of pairs are left out.
 */
static uint8_t
source_of_mask(const GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuBand *band, int i, uint8_t value)
{
	uint16_t	mask = run->code.instrs[i].mask;
	int			writer = mask == GPUCOL_NO_REG ? -1 : writer_of(run, mask);

	if (writer < 0)
		return 0;
	band->unmasked[i] = writer >= probe->probe->keys_end && (band->of[writer] & ~value) != 0;
	return band->unmasked[i] ? 0 : band->of[writer];
}

/* Find out what each instruction up to the end of the residual is computed of. */
static void
find_sources(const GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuBand *band)
{
	for (int i = 0; i < probe->probe->residual_end; i++)
	{
		const GpucolInstr *instr = &run->code.instrs[i];
		Walk		walk = {run, band, 0};

		if (instr->op <= GPUCOL_OP_LOAD_S)
		{
			const GpucolPayload *payload = payload_of(run, instr);

			walk.value = payload != NULL && payload->probe == probe->number ? OWN : OTHER;
		}
		visit_operands(instr, add_source, &walk);
		band->of[i] = walk.value | source_of_mask(run, probe, band, i, walk.value);
	}
}

static void
need_writer(void *arg, uint16_t reg)
{
	Walk	   *walk = arg;

	walk->band->needed[writer_of(walk->run, reg)] |= walk->value;
}

/* Mark what has to be computed for a side of a term. */
static void
need(const GpucolRun *run, GpucolCpuBand *band, uint16_t reg, uint8_t side)
{
	Walk		walk = {run, band, side};

	need_writer(&walk, reg);
	for (int i = writer_of(run, reg); i >= 0; i--)
	{
		const GpucolInstr *instr = &run->code.instrs[i];

		if ((band->needed[i] & side) == 0)
			continue;
		visit_operands(instr, need_writer, &walk);
		if (instr->mask != GPUCOL_NO_REG && !band->unmasked[i])
			need_writer(&walk, instr->mask);
	}
}

/* Do two registers hold the same of the table's row? */
static bool
same_own(const GpucolRun *run, uint16_t a, uint16_t b)
{
	const GpucolInstr *x = &run->code.instrs[writer_of(run, a)];
	const GpucolInstr *y = &run->code.instrs[writer_of(run, b)];
	const GpucolPayload *p = payload_of(run, x);
	const GpucolPayload *q = payload_of(run, y);

	return a == b || (p != NULL && q != NULL && x->op == y->op && p->probe == q->probe && p->column == q->column);
}

/* Add a comparison, a < b or a <= b, if it is a term. */
static void
add_term(const GpucolRun *run, GpucolCpuBand *band, uint16_t a, uint16_t b, bool strict)
{
	uint8_t		left = band->of[writer_of(run, a)];
	uint8_t		right = band->of[writer_of(run, b)];

	if (band->nterms == MOST_TERMS || left + right != OWN + OTHER || (left != OWN && left != OTHER))
		return;
	band->terms[band->nterms++] = left == OWN ? (Term) {.own = a,.other = b,.strict = strict} :
		(Term) {.own = b,.other = a,.above = true,.strict = strict};
}

/* Is it IS NULL of a value? */
static bool
is_null_of(const GpucolRun *run, uint16_t reg, uint16_t value)
{
	const GpucolInstr *instr = &run->code.instrs[writer_of(run, reg)];

	return (instr->op == GPUCOL_OP_IS_NULL_I || instr->op == GPUCOL_OP_IS_NULL_D || instr->op == GPUCOL_OP_IS_NULL_F) &&
		same_own(run, instr->a, value);
}

static void find_terms(const GpucolRun *run, GpucolCpuBand *band, uint16_t reg, bool turned);

/* Note a way out of a term that is computed of the table's row alone; false if it is none. */
static bool
add_way(const GpucolRun *run, GpucolCpuBand *band, uint16_t reg)
{
	if (band->nways == MOST_TERMS || band->of[writer_of(run, reg)] != OWN)
		return false;
	band->ways[band->nways++] = reg;
	return true;
}

/* OR of two operands: a comparison, and IS NULL of what is compared, or what is asked of the table's row alone? */
static void
find_term_or_null(const GpucolRun *run, GpucolCpuBand *band, const GpucolInstr *instr)
{
	for (int i = 0; i < 2; i++)
	{
		int			before = band->nterms;
		uint16_t	null = i == 0 ? instr->b : instr->a;
		Term	   *term = &band->terms[before];

		find_terms(run, band, i == 0 ? instr->a : instr->b, false);
		if (band->nterms == before + 1 && is_null_of(run, null, term->own))
			term->nulls = true;
		else if (band->nterms == before + 1 && is_null_of(run, null, term->other))
			term->unbound = true;
		else if (band->nterms != before + 1 || !add_way(run, band, null))
			band->nterms = before;
	}
}

/* Go through the operands of AND; `turned` below NOT. */
static void
find_terms(const GpucolRun *run, GpucolCpuBand *band, uint16_t reg, bool turned)
{
	const GpucolInstr *instr = &run->code.instrs[writer_of(run, reg)];

	switch (instr->op)
	{
		case GPUCOL_OP_AND:
			if (turned)
				break;
			find_terms(run, band, instr->a, false);
			find_terms(run, band, instr->b, false);
			break;
		case GPUCOL_OP_OR:
			if (!turned)
				find_term_or_null(run, band, instr);
			break;
		case GPUCOL_OP_NOT:
			find_terms(run, band, instr->a, !turned);
			break;
		case GPUCOL_OP_LT_I:
		case GPUCOL_OP_LT_D:
		case GPUCOL_OP_LT_F:
			add_term(run, band, turned ? instr->b : instr->a, turned ? instr->a : instr->b, !turned);
			break;
		case GPUCOL_OP_LE_I:
		case GPUCOL_OP_LE_D:
		case GPUCOL_OP_LE_F:
			add_term(run, band, turned ? instr->b : instr->a, turned ? instr->a : instr->b, turned);
			break;
		default:
			break;
	}
}

/* How good is it to sort by the own value of a term?  By a lower and an upper bound is best. */
static int
rate(const GpucolRun *run, const GpucolCpuBand *band, const Term *by)
{
	bool		above = false;
	bool		below = false;

	for (int t = 0; t < band->nterms; t++)
		if (same_own(run, band->terms[t].own, by->own))
		{
			above |= band->terms[t].above;
			below |= !band->terms[t].above;
		}
	return 2 * (above && below) + below;
}

/* Can a row be met whose own value of the terms from `from` on is NULL? */
static bool
can_be_null(const GpucolCpuBand *band, int from)
{
	for (int t = from; t < band->nterms; t++)
		if (!band->terms[t].nulls && !band->terms[t].unbound)
			return false;
	return true;
}

/*
 * Find out on which side NULL lies among values sorted by: terms that it passes, and which bound the other side, are
 * left to the residual.
 */
static void
place_nulls(GpucolCpuBand *band)
{
	int			n = band->nterms;
	bool		placed = false;

	band->nulls[0] = can_be_null(band, 0);
	band->high = band->terms[0].above;
	band->nterms = 0;
	for (int t = 0; t < n; t++)
	{
		Term		term = band->terms[t];

		if (term.nulls && !placed)
			band->high = term.above;
		placed |= term.nulls;
		if (!term.nulls || term.above == band->high)
			band->terms[band->nterms++] = term;
	}
}

/* Put the terms of the value to sort by first, then those of one direction of another; drop the rest. */
static void
choose_terms(const GpucolRun *run, GpucolCpuBand *band)
{
	Term		all[MOST_TERMS];
	const Term *by = &all[0];
	const Term *second = NULL;
	int			n = band->nterms;

	memcpy(all, band->terms, sizeof(all));
	for (int t = 1; t < n; t++)
		if (rate(run, band, &all[t]) > rate(run, band, by))
			by = &all[t];
	band->nterms = 0;
	for (int t = 0; t < n; t++)
		if (same_own(run, all[t].own, by->own))
			band->terms[band->nterms++] = all[t];
	place_nulls(band);
	band->nfirst = band->nterms;
	for (int t = 0; t < n; t++)
	{
		if (same_own(run, all[t].own, by->own))
			continue;
		if (second == NULL)
			second = &all[t];
		if (same_own(run, all[t].own, second->own) && all[t].above == second->above)
			band->terms[band->nterms++] = all[t];
	}
	band->nulls[1] = can_be_null(band, band->nfirst);
}

/* Free what was sorted. */
static void
free_sorted(GpucolRun *run, GpucolCpuBand *band)
{
	gpucol_cpu_free(run, band->rows);
	gpucol_cpu_free(run, band->firsts);
	gpucol_cpu_free(run, band->seconds);
	gpucol_cpu_free(run, band->reached);
	gpucol_cpu_free(run, band->blocks);
	band->rows = NULL;
	band->firsts = band->seconds = band->reached = band->blocks = NULL;
}

/* Free a probe's band. */
static void
free_band(GpucolRun *run, GpucolCpuProbe *probe)
{
	GpucolCpuBand *band = probe->band;

	if (band == NULL)
		return;
	free_sorted(run, band);
	gpucol_cpu_free(run, band->of);
	gpucol_cpu_free(run, band->needed);
	gpucol_cpu_free(run, band->unmasked);
	gpucol_cpu_free(run, band);
	probe->band = NULL;
}

/* Are rows of the table worth to be sorted: all of them, or the many of a key? */
static bool
is_worth(const GpucolCpuProbe *probe)
{
	const GpucolLookup *table = probe->table;

	return probe->probe->nkeys == 0 || (table->first != NULL && table->nkeyed / ROWS_OF_KEY >= table->ndistinct);
}

GpucolStatus
gpucol_cpu_band_plan(GpucolRun *run, GpucolCpuProbe *probe)
{
	GpucolCpuBand *band;

	free_band(run, probe);
	if (!probe->expands || !probe->residual || probe->is_set || probe->parted || !is_worth(probe))
		return GPUCOL_OK;
	band = probe->band = gpucol_cpu_alloc0(run, sizeof(GpucolCpuBand));
	if (band == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	band->keyed = probe->probe->nkeys > 0;
	pthread_mutex_init(&band->lock, NULL);
	band->of = gpucol_cpu_alloc0(run, run->program->ninstrs + 1u);
	band->needed = gpucol_cpu_alloc0(run, run->program->ninstrs + 1u);
	band->unmasked = gpucol_cpu_alloc0(run, sizeof(bool) * (run->program->ninstrs + 1u));
	if (band->of == NULL || band->needed == NULL || band->unmasked == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	find_sources(run, probe, band);
	find_terms(run, band, probe->probe->residual, false);
	if (band->nterms == 0)
	{
		free_band(run, probe);
		return GPUCOL_OK;
	}
	choose_terms(run, band);
	for (int t = 0; t < band->nterms; t++)
	{
		need(run, band, band->terms[t].own, OWN);
		need(run, band, band->terms[t].other, OTHER);
	}
	for (int w = 0; w < band->nways; w++)
		need(run, band, band->ways[w], OWN);
	return GPUCOL_OK;
}

/* ---- values ---- */

/* Compute one side of the terms for the selected rows. */
static GpucolStatus
compute(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe, uint8_t side)
{
	GpucolStatus status = GPUCOL_OK;

	for (int i = probe->probe->keys_end; i < probe->probe->residual_end && status == GPUCOL_OK; i++)
	{
		if ((probe->band->needed[i] & side) == 0)
			continue;
		if (probe->band->unmasked[i])
		{
			GpucolCpuReg *mask = &worker->regs[worker->run->code.instrs[i].mask];

			memset(mask->v.b, 1, worker->nsel);
			mask->nulls = NULL;
		}
		status = gpucol_cpu_expr_run(worker, vector, i, i + 1);
	}
	return status;
}

/* The place of a value in its order. */
GPUCOL_CPU_INLINE __int128
place_of(const GpucolCpuReg *reg, uint32_t j)
{
	if (reg->cls == GPUCOL_CLASS_F)
		return gpucol_float_order(reg->v.f[j]);
	if (reg->cls == GPUCOL_CLASS_D)
		return reg->narrow ? reg->n[j] : reg->v.d[j];
	return reg->v.i[j];
}

/* The register of a term, with values that place_of reads. */
static GpucolCpuReg *
open_reg(GpucolCpuWorker *worker, uint16_t number)
{
	GpucolCpuReg *reg = &worker->regs[number];

	if (reg->cls == GPUCOL_CLASS_D && !reg->narrow)
		(void) gpucol_cpu_expr_widen(reg, worker->nsel);
	return reg;
}

/* ---- sorting ---- */

/* An own value; NULL lies beyond all others.  False if it does not fit. */
static bool
own_value(const GpucolCpuReg *reg, uint32_t j, bool above, int64_t *result)
{
	__int128	value = GPUCOL_CPU_NULL_AT(reg, j) ? (above ? INT64_MAX : INT64_MIN) : place_of(reg, j);

	*result = (int64_t) value;
	return value == *result;
}

/* Has a row of the table a way out of terms? */
static bool
has_way(const GpucolCpuWorker *worker, const GpucolCpuBand *band, uint32_t j)
{
	for (int w = 0; w < band->nways; w++)
	{
		const GpucolCpuReg *reg = &worker->regs[band->ways[w]];

		if (!GPUCOL_CPU_NULL_AT(reg, j) && reg->v.b[j])
			return true;
	}
	return false;
}

/* Own values of up to 1,024 rows of the table that lie in match[]; false if one does not fit, or has a way out. */
static bool
take_values(GpucolCpuWorker *worker, const GpucolCpuBand *band, const uint32_t *match, GpucolRadixItem *items,
			uint32_t *nitems, int64_t *seconds)
{
	bool		two = band->nterms > band->nfirst;
	const GpucolCpuReg *first = open_reg(worker, band->terms[0].own);
	const GpucolCpuReg *second = two ? open_reg(worker, band->terms[band->nfirst].own) : NULL;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		int64_t		values[2] = {0};

		if (has_way(worker, band, j) || !own_value(first, j, band->high, &values[0]) ||
			(two && !own_value(second, j, band->terms[band->nfirst].above, &values[1])))
			return false;
		if (!band->keyed && ((GPUCOL_CPU_NULL_AT(first, j) && !band->nulls[0]) ||
							 (two && GPUCOL_CPU_NULL_AT(second, j) && !band->nulls[1])))
			continue;
		items[*nitems].key = (uint64_t) values[0] ^ (UINT64_C(1) << 63);
		items[(*nitems)++].row = match[j];
		if (two)
			seconds[match[j]] = band->terms[band->nfirst].above ? values[1] : ~values[1];
	}
	return true;
}

/* Compute the own values of all rows of the table that can be found. */
static bool
collect(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe,
		GpucolRadixItem *items, uint32_t *nitems, int64_t *seconds)
{
	uint32_t   *match = worker->trail->match[probe->number];
	uint32_t	nsel = worker->nsel;
	uint32_t	nrows = probe->band->keyed ? probe->table->nkeyed : probe->table->nrows;
	bool		ok = true;

	for (uint32_t row = 0; row < nrows && ok; row += worker->nsel)
	{
		uint32_t	left = nrows - row;

		worker->nsel = left < GPUCOL_VECTOR_VALUES ? left : GPUCOL_VECTOR_VALUES;
		for (uint32_t j = 0; j < worker->nsel; j++)
			match[j] = row + j;
		ok = compute(worker, vector, probe, OWN) == GPUCOL_OK &&
			take_values(worker, probe->band, match, items, nitems, seconds);
	}
	worker->nsel = nsel;
	return ok;
}

/* Put sorted rows in their places; `next` has the place of the next row of a key, by key_of[row], or of all. */
static void
place_rows(GpucolCpuBand *band, const GpucolRadixItem *sorted, const uint32_t *key_of, uint32_t *next)
{
	for (uint32_t i = 0; i < band->n; i++)
	{
		uint32_t	at = next[key_of == NULL ? 0 : key_of[sorted[i].row]]++;

		band->rows[at] = sorted[i].row;
		band->firsts[at] = (int64_t) (sorted[i].key ^ (UINT64_C(1) << 63));
	}
}

/* The same for each key; false without memory. */
static bool
place_by_key(GpucolRun *run, const GpucolCpuProbe *probe, const GpucolRadixItem *sorted)
{
	const GpucolLookup *table = probe->table;
	uint32_t   *key_of = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) table->nkeyed + 1));
	uint32_t   *next = gpucol_cpu_alloc(run, sizeof(uint32_t) * ((size_t) table->ndistinct + 1));
	bool		ok = key_of != NULL && next != NULL;

	for (uint32_t k = 0; k < table->ndistinct && ok; k++)
	{
		next[k] = table->first[k];
		for (uint32_t row = table->first[k]; row < table->first[k + 1]; row++)
			key_of[row] = k;
	}
	if (ok)
		place_rows(probe->band, sorted, key_of, next);
	gpucol_cpu_free(run, key_of);
	gpucol_cpu_free(run, next);
	return ok;
}

/* The greatest second values so far of a stretch of rows that are met together, and of blocks. */
static void
reach(GpucolCpuBand *band, const int64_t *seconds, uint32_t begin, uint32_t end)
{
	int64_t		reached = INT64_MIN;

	for (uint32_t i = begin; i < end; i++)
	{
		int64_t		value = seconds[band->rows[i]];
		int64_t    *block = &band->blocks[i / BLOCK];

		band->seconds[i] = value;
		*block = i % BLOCK == 0 || value > *block ? value : *block;
		reached = value > reached ? value : reached;
		band->reached[i] = reached;
	}
}

/* Have the band's rows in order, with what they reach; false without memory. */
static bool
order_rows(GpucolRun *run, const GpucolCpuProbe *probe, const GpucolRadixItem *sorted, const int64_t *seconds)
{
	GpucolCpuBand *band = probe->band;
	uint32_t	next = 0;

	if (!band->keyed)
		place_rows(band, sorted, NULL, &next);
	else if (!place_by_key(run, probe, sorted))
		return false;
	if (seconds != NULL && !band->keyed)
		reach(band, seconds, 0, band->n);
	for (uint32_t k = 0; seconds != NULL && band->keyed && k < probe->table->ndistinct; k++)
		reach(band, seconds, probe->table->first[k], probe->table->first[k + 1]);
	return true;
}

/* Sort the table's rows; false without memory, or where a value is none to sort by. */
static bool
sort_rows(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe)
{
	GpucolRun  *run = worker->run;
	GpucolCpuBand *band = probe->band;
	size_t		nrows = probe->table->nrows + (size_t) 1;
	bool		two = band->nterms > band->nfirst;
	GpucolRadixItem *items = gpucol_cpu_alloc(run, sizeof(GpucolRadixItem) * nrows);
	GpucolRadixItem *scratch = gpucol_cpu_alloc(run, sizeof(GpucolRadixItem) * nrows);
	int64_t    *seconds = gpucol_cpu_alloc(run, two ? sizeof(int64_t) * nrows : 1);
	bool		ok = items != NULL && scratch != NULL && seconds != NULL;

	band->rows = gpucol_cpu_alloc(run, sizeof(uint32_t) * nrows);
	band->firsts = gpucol_cpu_alloc(run, sizeof(int64_t) * nrows);
	ok = ok && band->rows != NULL && band->firsts != NULL;
	if (two)
	{
		band->seconds = gpucol_cpu_alloc(run, sizeof(int64_t) * nrows);
		band->reached = gpucol_cpu_alloc(run, sizeof(int64_t) * nrows);
		band->blocks = gpucol_cpu_alloc(run, sizeof(int64_t) * (nrows / BLOCK + 1));
		ok = ok && band->seconds != NULL && band->reached != NULL && band->blocks != NULL;
	}
	band->n = 0;
	ok = ok && collect(worker, vector, probe, items, &band->n, seconds) &&
		order_rows(run, probe, gpucol_radix_sort(items, scratch, band->n, 64), two ? seconds : NULL);
	gpucol_cpu_free(run, items);
	gpucol_cpu_free(run, scratch);
	gpucol_cpu_free(run, seconds);
	if (!ok)
		free_sorted(run, band);
	return ok;
}

bool
gpucol_cpu_band_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe)
{
	GpucolCpuBand *band = probe->band;

	if (band == NULL || probe->table->nrows == 0)
		return false;
	if (atomic_load(&band->state) == UNSORTED)
	{
		pthread_mutex_lock(&band->lock);
		if (atomic_load(&band->state) == UNSORTED)
			atomic_store(&band->state, sort_rows(worker, vector, probe) ? SORTED : USELESS);
		pthread_mutex_unlock(&band->lock);
	}
	return atomic_load(&band->state) == SORTED;
}

/* ---- searching ---- */

/* Narrow the limits of the selected rows by a term. */
static void
narrow(GpucolCpuWorker *worker, const Term *term, bool second, GpucolCpuLimits *limits)
{
	const GpucolCpuReg *other = open_reg(worker, term->other);
	int64_t    *least = second ? limits->second : limits->least;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		bool		absent = GPUCOL_CPU_NULL_AT(other, j);
		__int128	bound = absent ? (term->above ? INT64_MAX : INT64_MIN) :
			place_of(other, j) + (!term->strict ? 0 : term->above ? 1 : -1);

		if (absent && term->unbound)
			continue;
		if (!term->nulls && (absent || (term->above ? bound > INT64_MAX : bound < INT64_MIN)))
		{
			limits->none[j] = true;
			continue;
		}
		bound = bound > INT64_MAX ? INT64_MAX : bound < INT64_MIN ? INT64_MIN : bound;
		if (second && !term->above)
			bound = ~bound;
		if (!second && !term->above)
			limits->greatest[j] = bound < limits->greatest[j] ? (int64_t) bound : limits->greatest[j];
		else
			least[j] = bound > least[j] ? (int64_t) bound : least[j];
	}
}

/* The first of n ascending values that is not less than `value`: at `near`, or nearby, if possible. */
static uint32_t
seek(const int64_t *values, uint32_t n, int64_t value, uint32_t near)
{
	const int64_t *base = values;
	uint32_t	left = n;

	for (uint32_t at = near; at <= near + 1 && at <= n; at++)
		if ((at == 0 || values[at - 1] < value) && (at == n || values[at] >= value))
			return at;
	while (left > 1)
	{
		uint32_t	half = left / 2;

		base = base[half - 1] < value ? base + half : base;
		left -= half;
	}
	return (uint32_t) (base - values) + (n > 0 && *base < value);
}

/* Rows that are sorted together, and where the last one sought began, ended and was reached. */
typedef struct Stretch
{
	uint32_t	base;
	uint32_t	n;
	uint32_t	first;
	uint32_t	end;
	uint32_t	reached;
} Stretch;

/* Find the part of a stretch that lies within the limits of row j. */
static void
find_stretch(const GpucolCpuBand *band, const GpucolCpuLimits *limits, uint32_t j, Stretch *stretch,
			 GpucolCpuExpansion *expansion)
{
	const int64_t *firsts = band->firsts + stretch->base;
	uint32_t	first;

	stretch->first = seek(firsts, stretch->n, limits->least[j], stretch->first);
	stretch->end = limits->greatest[j] == INT64_MAX ? stretch->n :
		seek(firsts, stretch->n, limits->greatest[j] + 1, stretch->end);
	if (band->seconds != NULL)
		stretch->reached = seek(band->reached + stretch->base, stretch->n, limits->second[j], stretch->reached);
	first = stretch->first > stretch->reached ? stretch->first : stretch->reached;
	expansion->first[j] = stretch->base + first;
	expansion->count[j] = stretch->end > first ? stretch->end - first : 0;
}

bool
gpucol_cpu_band_find(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe)
{
	const GpucolCpuBand *band = probe->band;
	GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	GpucolCpuLimits *limits = expansion->limits;
	Stretch		stretch = {.n = band->n};

	if (compute(worker, vector, probe, OTHER) != GPUCOL_OK)
		return false;

	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		limits->least[j] = limits->second[j] = INT64_MIN;
		limits->greatest[j] = INT64_MAX;
		limits->none[j] = false;
	}
	for (int t = 0; t < band->nterms; t++)
		narrow(worker, &band->terms[t], t >= band->nfirst, limits);
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	number = band->keyed ? worker->trail->numbers[j] : 0;

		expansion->first[j] = expansion->count[j] = 0;
		if (limits->none[j] || number == GPUCOL_LOOKUP_NONE)
			continue;
		if (band->keyed)
			stretch = (Stretch) {
				.base = gpucol_lookup_first(probe->table, number),.n = gpucol_lookup_count(probe->table, number)
			};
		find_stretch(band, limits, j, &stretch, expansion);
	}
	return true;
}

uint32_t
gpucol_cpu_band_list(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t room,
					 uint32_t *match)
{
	const GpucolCpuBand *band = probe->band;
	uint32_t	row = expansion->row;
	uint32_t	at = expansion->first[row] + expansion->offset;
	uint32_t	end = expansion->first[row] + expansion->count[row];
	int64_t		least = expansion->limits->second[row];
	uint32_t	n = 0;

	while (at < end && n < room)
		if (band->seconds != NULL && at % BLOCK == 0 && band->blocks[at / BLOCK] < least)
			at += end - at < BLOCK ? end - at : BLOCK;
		else
		{
			match[n] = band->rows[at];
			n += band->seconds == NULL || band->seconds[at] >= least;
			at++;
		}
	expansion->offset = at - expansion->first[row];
	return n;
}
