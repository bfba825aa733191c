/*-------------------------------------------------------------------------
 *
 * choice.c
 *	  Relations that keep, of the rows that agree on some columns, the first only.
 *
 * Once a round is computed, its rows are looked at one after another, before rules see
 * them.  A row that agrees with one that stays, on the columns of any of the relation's
 * choices, goes: rows behind it move up, and its entry leaves the set.  What stays is never
 * taken back, so that rules of the same stratum may read it.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "recursion/cpu/set.h"

/* The rows that stay, by the columns of one choice. */
struct GpucolRecChosen
{
	uint32_t	columns;		/* as bits */
	uint32_t   *slots;			/* row number + 1; 0 = free */
	uint64_t	nslots;			/* a power of two */
};

#define FIRST_SLOTS		1024

/* ---- the rows that stay ---- */

static uint64_t
hash_columns(const GpucolRecTable *table, const uint32_t *tuple, uint32_t columns)
{
	uint64_t	h = 0;
	int			c;

	for (c = 0; c < table->arity; c++)
		if (columns >> c & 1)
			h = gpucol_rec_mix(h) + tuple[c];
	return gpucol_rec_mix(h);
}

static bool
same_columns(const GpucolRecTable *table, const uint32_t *a, const uint32_t *b, uint32_t columns)
{
	int			c;

	for (c = 0; c < table->arity; c++)
		if ((columns >> c & 1) && a[c] != b[c])
			return false;
	return true;
}

static const uint32_t *
tuple_at(const GpucolRecTable *table, uint64_t row)
{
	return table->tuples + row * table->arity;
}

/* The slot of the row that stays and agrees with a tuple, or the free one for it. */
static uint32_t *
find_slot(const GpucolRecTable *table, const struct GpucolRecChosen *chosen, const uint32_t *tuple)
{
	uint64_t	at;

	GPUCOL_PROBE_REGION(at, hash_columns(table, tuple, chosen->columns) & (chosen->nslots - 1),
						chosen->nslots, chosen->slots[at] == 0 ||
						same_columns(table, tuple_at(table, chosen->slots[at] - 1), tuple,
									 chosen->columns));
	return &chosen->slots[at];
}

/* Make room for n entries in all: each row that stays has one. */
static GpucolStatus
reserve(GpucolRecRun *run, const GpucolRecTable *table, struct GpucolRecChosen *chosen, uint64_t n)
{
	struct GpucolRecChosen larger = *chosen;
	uint64_t	i;

	if (n * 2 <= chosen->nslots)
		return GPUCOL_OK;
	larger.nslots = chosen->nslots ? chosen->nslots : FIRST_SLOTS;
	while (n * 2 > larger.nslots)
		larger.nslots *= 2;
	larger.slots = gpucol_budget_alloc_zeroed(&run->memory, larger.nslots * sizeof(uint32_t));
	if (larger.slots == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (i = 0; i < chosen->nslots; i++)
		if (chosen->slots[i] != 0)
			*find_slot(table, &larger, tuple_at(table, chosen->slots[i] - 1)) = chosen->slots[i];
	gpucol_budget_free(&run->memory, chosen->slots, chosen->nslots * sizeof(uint32_t));
	*chosen = larger;
	return GPUCOL_OK;
}

/* ---- the set of the relation ---- */

/* The slot of SET_ROWS that names a row. */
static uint64_t
slot_of(const GpucolRecTable *table, uint64_t row)
{
	uint64_t	at;

	GPUCOL_REC_SET_PROBE(at, gpucol_rec_set_home(table, gpucol_rec_set_hash(table, tuple_at(table, row))),
						 table, (uint32_t) table->slots[at] == (uint32_t) (row + 1));
	return at;
}

/* Take an entry out of SET_ROWS: those behind it that may come nearer to their homes do. */
static void
remove_slot(GpucolRecTable *table, uint64_t hole)
{
	uint64_t	mask = table->region - 1;
	uint64_t	at = hole;

	for (;;)
	{
		uint64_t	home;

		at = (at & ~mask) | ((at + 1) & mask);
		if (table->slots[at] == 0)
			break;
		home = gpucol_rec_set_home(table, gpucol_rec_set_hash(table,
															  tuple_at(table, (uint32_t) table->slots[at] - 1)));
		if (((at - home) & mask) < ((at - hole) & mask))
			continue;
		table->slots[hole] = table->slots[at];
		hole = at;
	}
	table->slots[hole] = 0;
	table->nused--;
}

/* ---- a round ---- */

/* The choices of a relation, made when they are first asked for. */
static GpucolStatus
open_choices(GpucolRecRun *run, GpucolRecTable *table)
{
	const GpucolRecPlan *plan = run->plan;
	uint32_t	relation = (uint32_t) (table - run->tables);
	uint32_t	i;

	if (table->choices != NULL)
		return GPUCOL_OK;
	for (i = 0; i < plan->nchoices; i++)
		table->nchoices += plan->choices[i].relation == relation;
	table->choices = gpucol_budget_alloc_zeroed(&run->memory,
												table->nchoices * sizeof(struct GpucolRecChosen));
	if (table->choices == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	table->nchoices = 0;
	for (i = 0; i < plan->nchoices; i++)
		if (plan->choices[i].relation == relation)
			table->choices[table->nchoices++].columns = plan->choices[i].columns;
	return GPUCOL_OK;
}

/* May a row stay?  Then it is entered as row number `kept`. */
static bool
choose_row(const GpucolRecTable *table, const uint32_t *tuple, uint64_t kept)
{
	uint32_t	i;

	for (i = 0; i < table->nchoices; i++)
		if (*find_slot(table, &table->choices[i], tuple) != 0)
			return false;
	for (i = 0; i < table->nchoices; i++)
		*find_slot(table, &table->choices[i], tuple) = (uint32_t) (kept + 1);
	return true;
}

GpucolStatus
gpucol_rec_choose(GpucolRecRun *run, GpucolRecTable *table)
{
	bool		rows = table->set == GPUCOL_REC_SET_ROWS;
	uint64_t	kept = table->committed;
	uint64_t	row;
	uint32_t	i;

	GPUCOL_REC_TRY(open_choices(run, table));
	for (i = 0; i < table->nchoices; i++)
		GPUCOL_REC_TRY(reserve(run, table, &table->choices[i], table->end));
	for (row = table->committed; row < table->end; row++)
	{
		const uint32_t *tuple = tuple_at(table, row);
		uint64_t	at = rows ? slot_of(table, row) : 0;

		if (gpucol_rec_poll(run, row))
			return GPUCOL_CANCELLED;
		/* the tuple's new place, where its entries look for it */
		memmove(table->tuples + kept * table->arity, tuple, table->arity * sizeof(uint32_t));
		if (!choose_row(table, tuple_at(table, kept), kept))
		{
			if (rows)
				remove_slot(table, at);
			continue;
		}
		if (rows)
			gpucol_rec_set_point(&table->slots[at], (uint32_t) (kept + 1));
		kept++;
	}
	table->end = kept;
	return GPUCOL_OK;
}

void
gpucol_rec_choices_free(GpucolRecRun *run, GpucolRecTable *table)
{
	uint32_t	i;

	for (i = 0; i < table->nchoices; i++)
		gpucol_budget_free(&run->memory, table->choices[i].slots,
						   table->choices[i].nslots * sizeof(uint32_t));
	gpucol_budget_free(&run->memory, table->choices, table->nchoices * sizeof(struct GpucolRecChosen));
	table->choices = NULL;
	table->nchoices = 0;
}
