/*-------------------------------------------------------------------------
 *
 * expand.c
 *	  Expansions: probes at which rows multiply, or whose residual decides.
 *
 * Where the residual decides, a row is handed on once for each pair that passes (INNER,
 * LEFT, RIGHT, FULL), or when all its pairs are known: SEMI and LEFT, FULL and ANTI look
 * then whether one has passed (`hit`).
 *
 * Pairs come row by row.  Where there are no keys, so that many rows meet the same ones of the table, they
 * are turned: all rows meet the table's first one, then its second, and so on.  Nothing of the rows moves
 * then, and what comes of the table is one value for all.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/join.h"
#include "engine/cpu/select.h"

/* Fewer rows are not turned: a batch has but a pair for each. */
#define TURNED_ROWS	128

/* Does the kind hand its pairs on? */
static bool
hands_pairs_on(const GpucolCpuProbe *probe)
{
	return probe->is_set || probe->kind == GPUCOL_JOIN_INNER || probe->kind == GPUCOL_JOIN_LEFT ||
		probe->kind == GPUCOL_JOIN_RIGHT || probe->kind == GPUCOL_JOIN_FULL;
}

/* Is one pair of a row enough? */
static bool
one_is_enough(const GpucolCpuProbe *probe)
{
	return probe->kind == GPUCOL_JOIN_SEMI || probe->kind == GPUCOL_JOIN_ANTI;
}

/* Bytes of 1,024 values of a register. */
static size_t
values_size(GpucolClass cls)
{
	return GPUCOL_VECTOR_VALUES * (cls == GPUCOL_CLASS_B ? 1 :
								   cls == GPUCOL_CLASS_D || cls == GPUCOL_CLASS_S ? 16 : 8);
}

/* Memory for a saved register. */
static GpucolStatus
init_register(GpucolRun *run, GpucolCpuReg *reg, GpucolClass cls)
{
	reg->cls = cls;
	reg->v.any = gpucol_cpu_alloc(run, values_size(cls));
	reg->null_space = gpucol_cpu_alloc(run, GPUCOL_VECTOR_VALUES);
	if (cls == GPUCOL_CLASS_S)
		reg->codes = gpucol_cpu_alloc(run, sizeof(uint32_t) * GPUCOL_VECTOR_VALUES);
	if (cls == GPUCOL_CLASS_D)
		reg->n = gpucol_cpu_alloc(run, sizeof(int64_t) * GPUCOL_VECTOR_VALUES);
	return reg->v.any == NULL || reg->null_space == NULL ||
		(cls == GPUCOL_CLASS_S && reg->codes == NULL) ||
		(cls == GPUCOL_CLASS_D && reg->n == NULL) ? GPUCOL_OUT_OF_MEMORY : GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_expand_init(GpucolRun *run, const GpucolCpuProbe *probe,
					   GpucolCpuExpansion *expansion)
{
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];
	size_t		n = GPUCOL_VECTOR_VALUES;

	expansion->sel = gpucol_cpu_alloc(run, sizeof(uint16_t) * n);
	expansion->at = gpucol_cpu_alloc(run, sizeof(uint16_t) * n);
	expansion->first = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
	expansion->count = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
	expansion->hit = gpucol_cpu_alloc(run, n);
	expansion->regs = gpucol_cpu_alloc0(run, sizeof(GpucolCpuReg) * ((size_t) live->n + 1));
	expansion->match = gpucol_cpu_alloc0(run, sizeof(uint32_t *) * ((size_t) probe->number + 1));
	if (expansion->sel == NULL || expansion->at == NULL || expansion->first == NULL ||
		expansion->count == NULL || expansion->hit == NULL || expansion->regs == NULL ||
		expansion->match == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (int r = 0; r < live->n; r++)
		if (init_register(run, &expansion->regs[r], run->code.classes[live->regs[r]]) != GPUCOL_OK)
			return GPUCOL_OUT_OF_MEMORY;
	for (int q = 0; q < probe->number; q++)
	{
		expansion->match[q] = gpucol_cpu_alloc(run, sizeof(uint32_t) * n);
		if (expansion->match[q] == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	if (probe->order != NULL)
		return gpucol_cpu_order_init(run, probe, expansion);
	if (probe->band != NULL)
	{
		expansion->limits = gpucol_cpu_alloc(run, sizeof(GpucolCpuLimits));
		if (expansion->limits == NULL)
			return GPUCOL_OUT_OF_MEMORY;
	}
	return probe->is_set ? gpucol_cpu_set_init(run, probe, expansion) : GPUCOL_OK;
}

void
gpucol_cpu_expand_free(GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuExpansion *expansion)
{
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];

	if (expansion->sel == NULL)
		return;
	for (int r = 0; r < live->n; r++)
	{
		gpucol_cpu_free(run, expansion->regs[r].v.any);
		gpucol_cpu_free(run, expansion->regs[r].null_space);
		gpucol_cpu_free(run, expansion->regs[r].codes);
		gpucol_cpu_free(run, expansion->regs[r].n);
	}
	for (int q = 0; q < probe->number; q++)
		gpucol_cpu_free(run, expansion->match[q]);
	gpucol_cpu_set_free(run, expansion);
	gpucol_cpu_order_free(run, expansion);
	gpucol_cpu_free(run, expansion->sel);
	gpucol_cpu_free(run, expansion->at);
	gpucol_cpu_free(run, expansion->first);
	gpucol_cpu_free(run, expansion->count);
	gpucol_cpu_free(run, expansion->hit);
	gpucol_cpu_free(run, expansion->limits);
	gpucol_cpu_free(run, expansion->regs);
	gpucol_cpu_free(run, expansion->match);
	memset(expansion, 0, sizeof(*expansion));
}

/* Copy a register's values. */
static void
copy_register(GpucolCpuReg *to, const GpucolCpuReg *from, uint32_t n)
{
	to->nulls = from->nulls == NULL ? NULL : to->null_space;
	if (from->nulls != NULL)
		memcpy(to->null_space, from->nulls, n);
	to->coded = from->coded;
	to->words = from->words;
	to->items = from->items;
	to->item_nulls = from->item_nulls;
	to->column = from->column;
	to->narrow = from->narrow;
	to->wide = from->wide;
	to->alike = from->alike;
	to->shown = from->shown;
	if (from->cls == GPUCOL_CLASS_D && (from->narrow || from->alike))
		memcpy(to->n, from->n, sizeof(int64_t) * n);
	if (from->cls == GPUCOL_CLASS_D && !from->wide)
		return;
	if (from->cls == GPUCOL_CLASS_S && from->coded)
		memcpy(to->codes, from->codes, sizeof(uint32_t) * n);
	else
		memcpy(to->v.any, from->v.any, values_size(from->cls) / GPUCOL_VECTOR_VALUES * n);
}

/* Is the match of probe q read after the keys of this one? */
static bool
match_is_read(const GpucolRun *run, const GpucolCpuProbe *probe, int q)
{
	return run->join.probes[q].last_load > GPUCOL_STAGE_KEYS(probe->number);
}

/* Drop the rows that are of another part of the table; returns the number of the others. */
static uint32_t
keep_part(GpucolCpuWorker *worker, const GpucolCpuProbe *probe)
{
	uint32_t   *numbers = worker->trail->numbers;
	uint16_t	at[GPUCOL_SELECT_ROOM];
	uint32_t	n = gpucol_cpu_probe_of_part(worker, probe, at, gpucol_select_all(worker->nsel, at));

	if (n == worker->nsel)
		return n;
	for (uint32_t j = 0; j < n; j++)
		numbers[j] = numbers[at[j]];
	gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_KEYS(probe->number), probe->number - 1, at, n);
	return n;
}

/* Find the table's rows of the selected ones, whose number *n becomes. */
static GpucolStatus
find_rows(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe, bool by_codes,
		  uint32_t *n)
{
	GpucolCpuTrail *trail = worker->trail;
	GpucolCpuExpansion *expansion = &trail->expansions[probe->number];
	GpucolStatus status = gpucol_cpu_probe_find(worker, probe, by_codes, trail->numbers);

	if (status != GPUCOL_OK)
		return status;
	if (probe->parted)
		*n = keep_part(worker, probe);
	expansion->banded = gpucol_cpu_band_open(worker, vector, probe) && gpucol_cpu_band_find(worker, vector, probe);
	if (expansion->banded)
		return GPUCOL_OK;
	for (uint32_t j = 0; j < *n; j++)
	{
		bool		there = trail->numbers[j] != GPUCOL_LOOKUP_NONE;

		expansion->first[j] = there ? gpucol_lookup_first(probe->table, trail->numbers[j]) : 0;
		expansion->count[j] = there ? gpucol_lookup_count(probe->table, trail->numbers[j]) : 0;
	}
	return GPUCOL_OK;
}

/* Can n saved rows be turned?  Not where the pairs of a row are compared with each other (top.c). */
static bool
turns(const GpucolRun *run, const GpucolCpuProbe *probe, const GpucolCpuExpansion *expansion, uint32_t n)
{
	if (probe->is_set || probe->order != NULL || probe->probe->nkeys > 0 || probe->parted || expansion->banded)
		return false;
	return n >= TURNED_ROWS && expansion->count[0] > 1 && (run->out.top == NULL || !run->out.top->each);
}

GpucolStatus
gpucol_cpu_expand_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe,
					   bool by_codes)
{
	const GpucolRun *run = worker->run;
	GpucolCpuTrail *trail = worker->trail;
	GpucolCpuExpansion *expansion = &trail->expansions[probe->number];
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];
	uint32_t	n = worker->nsel;
	GpucolStatus status = GPUCOL_OK;

	trail->alike[probe->number] = false;
	if (probe->is_set)
		gpucol_cpu_set_open(worker, probe, expansion->set);
	else
		status = find_rows(worker, vector, probe, by_codes, &n);
	if (status == GPUCOL_OK && probe->order != NULL)
		status = gpucol_cpu_order_choose(worker, vector, probe);
	if (status != GPUCOL_OK)
		return status;
	for (uint32_t j = 0; j < n; j++)
		expansion->sel[j] = worker->full ? (uint16_t) j : worker->sel[j];
	memset(expansion->hit, 0, n);
	for (int r = 0; r < live->n; r++)
		copy_register(&expansion->regs[r], &worker->regs[live->regs[r]], n);
	for (int q = 0; q < probe->number; q++)
		if (match_is_read(run, probe, q))
			memcpy(expansion->match[q], trail->match[q], sizeof(uint32_t) * n);
	expansion->active = true;
	expansion->unpaired = false;
	expansion->nrows = n;
	expansion->row = expansion->offset = 0;
	expansion->full = worker->full;
	expansion->turned = turns(run, probe, expansion, n);
	return GPUCOL_OK;
}

/* Make all saved rows the selected ones. */
static void
restore_all(GpucolCpuWorker *worker, const GpucolCpuProbe *probe)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];
	uint32_t	n = expansion->nrows;

	for (int r = 0; r < live->n; r++)
		copy_register(&worker->regs[live->regs[r]], &expansion->regs[r], n);
	for (int q = 0; q < probe->number; q++)
		if (match_is_read(run, probe, q))
			memcpy(worker->trail->match[q], expansion->match[q], sizeof(uint32_t) * n);
	memcpy(worker->sel, expansion->sel, sizeof(uint16_t) * n);
	worker->full = expansion->full;
	worker->nsel = n;
}

/* Make the saved rows at[] the selected ones. */
static void
restore(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, uint32_t n)
{
	const GpucolRun *run = worker->run;
	const GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	const GpucolCpuLive *live = &run->digest.live[GPUCOL_STAGE_KEYS(probe->number)];
	const uint16_t *at = expansion->at;

	for (int r = 0; r < live->n; r++)
		gpucol_cpu_live_move(&worker->regs[live->regs[r]], &expansion->regs[r], at, n);
	for (int q = 0; q < probe->number; q++)
		if (match_is_read(run, probe, q))
			for (uint32_t j = 0; j < n; j++)
				worker->trail->match[q][j] = expansion->match[q][at[j]];
	for (uint32_t j = 0; j < n; j++)
		worker->sel[j] = expansion->sel[at[j]];
	worker->full = false;
	worker->nsel = n;
}

/* List up to 1,024 pairs: at[] and the probe's match[]. */
static uint32_t
list_pairs(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t *match)
{
	bool		alone = probe->keeps && !probe->residual;
	uint32_t	n = 0;

	while (expansion->row < expansion->nrows && n < GPUCOL_VECTOR_VALUES)
	{
		uint32_t	row = expansion->row;
		uint32_t	first = expansion->first[row] + expansion->offset;
		uint32_t	take = expansion->count[row] - expansion->offset;

		if (one_is_enough(probe) && expansion->hit[row])
			take = 0;
		else if (expansion->count[row] == 0 && alone)
		{
			take = 0;
			expansion->at[n] = (uint16_t) row;
			match[n++] = GPUCOL_LOOKUP_NONE;
		}
		if (take > GPUCOL_VECTOR_VALUES - n)
			take = GPUCOL_VECTOR_VALUES - n;
		if (expansion->banded && take > 0)
			take = gpucol_cpu_band_list(expansion, probe, take, match + n);
		else
			expansion->offset += take;
		for (uint32_t i = 0; i < take; i++)
			expansion->at[n + i] = (uint16_t) row;
		for (uint32_t i = 0; i < take && !expansion->banded; i++)
			match[n + i] = expansion->firsts != NULL ? expansion->firsts->rows[first + i] : first + i;
		n += take;
		if (take == 0 || expansion->offset == expansion->count[row])
		{
			expansion->row++;
			expansion->offset = 0;
		}
	}
	return n;
}

/* Of turned rows list those that look for a pair still; where one is not enough, all. */
static uint32_t
list_seeking(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe)
{
	bool		all = !one_is_enough(probe);
	uint32_t	n = 0;

	if (all && expansion->offset > 0)
		return expansion->nrows;
	for (uint32_t row = 0; row < expansion->nrows; row++)
	{
		expansion->at[n] = (uint16_t) row;
		n += all || !expansion->hit[row];
	}
	return n;
}

/* List their pairs with the table's next row.  When few are left, they go on row by row. */
static uint32_t
list_turned(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t *match)
{
	uint32_t	n = list_seeking(expansion, probe);
	uint32_t	number = expansion->first[0] + expansion->offset;

	for (uint32_t i = 0; i < n; i++)
		match[i] = number;
	expansion->offset++;
	if (n == 0 || expansion->offset == expansion->count[0])
		expansion->row = expansion->nrows;
	else if (n < TURNED_ROWS)
	{
		for (uint32_t row = 0; row < expansion->nrows; row++)
		{
			expansion->first[row] += expansion->offset;
			expansion->count[row] -= expansion->offset;
		}
		expansion->offset = 0;
		expansion->turned = false;
	}
	return n;
}

/* List the rows that are handed on after all their pairs. */
static uint32_t
list_unpaired(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t *match)
{
	uint8_t		wanted = probe->kind == GPUCOL_JOIN_SEMI;
	uint32_t	n = 0;

	for (uint32_t row = 0; row < expansion->nrows; row++)
	{
		expansion->at[n] = (uint16_t) row;
		match[n] = GPUCOL_LOOKUP_NONE;
		n += expansion->hit[row] == wanted;
	}
	return n;
}

/* Evaluate the residual of the pairs selected, and keep those that go on. */
static GpucolStatus
test_pairs(GpucolCpuWorker *worker, const GpucolCpuVector *vector, const GpucolCpuProbe *probe)
{
	GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	uint16_t	at[GPUCOL_SELECT_ROOM];
	GpucolStatus status;
	uint32_t	n;

	if (!probe->residual)
		return GPUCOL_OK;
	status = gpucol_cpu_expr_run(worker, vector, probe->probe->keys_end,
								 probe->probe->residual_end);
	if (status != GPUCOL_OK)
		return status;
	n = gpucol_cpu_expr_true(worker, probe->probe->residual, at);
	for (uint32_t j = 0; j < n; j++)
		expansion->hit[expansion->at[at[j]]] = 1;
	if (n < worker->nsel && probe->is_set)
		gpucol_cpu_set_keep(expansion->set, at, n);
	if (n < worker->nsel)
		gpucol_cpu_probe_keep(worker, GPUCOL_STAGE_RESIDUAL(probe->number), probe->number,
							  at, n);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_cpu_expand_next(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
					   const GpucolCpuProbe *probe)
{
	GpucolCpuExpansion *expansion = &worker->trail->expansions[probe->number];
	uint32_t   *match = worker->trail->match[probe->number];
	GpucolStatus status = GPUCOL_OK;
	uint32_t	n = 0;

	worker->trail->alike[probe->number] = expansion->turned || expansion->unpaired;
	if (expansion->unpaired)
	{
		n = list_unpaired(expansion, probe, match);
		if (probe->is_set)
			expansion->set->lacking = true;
		restore(worker, probe, n);
		expansion->active = false;
		return gpucol_cpu_probe_filter(worker, vector, probe);
	}
	if (probe->is_set)
		status = gpucol_cpu_set_list(expansion, probe, &n);
	else
		n = expansion->turned ? list_turned(expansion, probe, match) : list_pairs(expansion, probe, match);
	if (expansion->banded)
	{
		worker->trail->figures[probe->number].bounded = true;
		worker->trail->figures[probe->number].pairs += n;
	}
	if (status != GPUCOL_OK)
		return status;
	if (worker->trail->alike[probe->number] && n == expansion->nrows)
		restore_all(worker, probe);
	else
		restore(worker, probe, n);
	if (expansion->row == expansion->nrows)
	{
		expansion->unpaired = probe->residual && (probe->keeps || one_is_enough(probe));
		expansion->active = expansion->unpaired;
	}
	if (n == 0)
		return GPUCOL_OK;
	status = test_pairs(worker, vector, probe);
	if (status != GPUCOL_OK)
		return status;
	gpucol_cpu_probe_mark(worker, probe);
	if (!hands_pairs_on(probe))
	{
		worker->nsel = 0;
		return GPUCOL_OK;
	}
	return gpucol_cpu_probe_filter(worker, vector, probe);
}
