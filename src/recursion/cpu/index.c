/*-------------------------------------------------------------------------
 *
 * index.c
 *	  Hash-indexed sorted arrays (HISA; Sun et al., "Modern Datalog on the
 *	  GPU", 2024) in levels.
 *
 * A level holds a range of a table's rows, copied so that the rows of one key
 * are neighbours, and finds a key's first row by open addressing (load factor
 * 0.8 at most, as in the paper) or, for a key of one column over few ids, by an
 * array of offsets.  Where the paper merges each delta into the full relation,
 * here the delta becomes a level of its own, and older levels are rebuilt into
 * one when they have come near each other in size: a row is moved a logarithmic
 * number of times.  Levels never straddle the first row of the delta, so an
 * atom that reads the delta or what was before it reads whole levels.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>

#include "recursion/cpu/engine.h"

/* Rows of a table, as the builder of a level reads them. */
static const uint32_t *
level_source(const GpucolRecTable *table, const GpucolRecLevel *level)
{
	return table->tuples + level->first * table->arity;
}

static void
free_level(GpucolRecRun *run, const GpucolRecTable *table,
		   GpucolRecLevel *level)
{
	gpucol_budget_free(&run->memory, level->tuples,
					   (level->last - level->first) * table->arity *
					   sizeof(uint32_t));
	gpucol_budget_free(&run->memory, level->offsets,
					   level->noffsets * sizeof(uint32_t));
	gpucol_budget_free(&run->memory, level->slots,
					   level->nslots * sizeof(GpucolRecSlot));
	memset(level, 0, sizeof(*level));
}

void
gpucol_rec_index_free(GpucolRecRun *run, GpucolRecTable *table,
					  GpucolRecIndex *index)
{
	GpucolRecIndex **link = &table->indexes;

	while (*link != index)
		link = &(*link)->next;
	*link = index->next;
	while (index->nlevels > 0)
		free_level(run, table, &index->levels[--index->nlevels]);
	gpucol_budget_free(&run->memory, index, sizeof(*index));
}

GpucolStatus
gpucol_rec_index_get(GpucolRecRun *run, GpucolRecTable *table, uint32_t mask,
					 GpucolRecIndex **index)
{
	int			c;

	for (*index = table->indexes; *index != NULL; *index = (*index)->next)
		if ((*index)->mask == mask)
			return GPUCOL_OK;
	*index = gpucol_budget_alloc_zeroed(&run->memory, sizeof(**index));
	if (*index == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	(*index)->mask = mask;
	for (c = 0; c < table->arity; c++)
		if (mask & (UINT32_C(1) << c))
			(*index)->columns[(*index)->ncolumns++] = (uint8_t) c;
	(*index)->next = table->indexes;
	table->indexes = *index;
	return GPUCOL_OK;
}

/* Sort rows by the id of one column (counting sort). */
static GpucolStatus
build_dense(GpucolRecRun *run, const GpucolRecTable *table,
			const GpucolRecIndex *index, GpucolRecLevel *level)
{
	const uint32_t *source = level_source(table, level);
	uint64_t	n = level->last - level->first;
	int			arity = table->arity;
	int			key = index->columns[0];
	uint64_t	i;

	level->noffsets = run->dictionary.nvalues + 2;
	level->offsets = gpucol_budget_alloc_zeroed(&run->memory, level->noffsets *
												sizeof(uint32_t));
	if (level->offsets == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	/* Counted two places up, so that the scatter leaves the offsets right. */
	for (i = 0; i < n; i++)
	{
		if (gpucol_rec_poll(run, i))
			return GPUCOL_CANCELLED;
		level->offsets[source[i * arity + key] + 2]++;
	}
	for (i = 2; i < level->noffsets; i++)
		level->offsets[i] += level->offsets[i - 1];
	for (i = 0; i < n; i++)
	{
		if (gpucol_rec_poll(run, i))
			return GPUCOL_CANCELLED;
		memcpy(level->tuples + (uint64_t)
			   level->offsets[source[i * arity + key] + 1]++ * arity,
			   source + i * arity, arity * sizeof(uint32_t));
	}
	return GPUCOL_OK;
}

/* Is it the key of a row? */
static inline bool
has_key(const GpucolRecIndex *index, const uint32_t *tuple, const uint32_t *key)
{
	for (int c = 0; c < index->ncolumns; c++)
		if (tuple[index->columns[c]] != key[c])
			return false;
	return true;
}

/* Slot of the key of row i of the source, or the free slot for it. */
static uint64_t
source_slot(const GpucolRecTable *table, const GpucolRecIndex *index,
			const GpucolRecLevel *level, const uint32_t *source, uint64_t i)
{
	const uint32_t *tuple = source + i * table->arity;
	uint32_t	key[GPUCOL_REC_MAX_ARITY];
	uint64_t	at;
	int			c;

	key[0] = tuple[index->columns[0]];
	for (c = 1; c < index->ncolumns; c++)
		key[c] = tuple[index->columns[c]];
	GPUCOL_PROBE(at, gpucol_rec_hash_key(key, index->ncolumns), level->nslots,
				 level->slots[at].count == 0 ||
				 has_key(index, source + (uint64_t) level->slots[at].start * table->arity, key));
	return at;
}

/* Group rows by key: count by slot, assign ranges, scatter. */
static GpucolStatus
build_hashed(GpucolRecRun *run, const GpucolRecTable *table,
			 const GpucolRecIndex *index, GpucolRecLevel *level)
{
	const uint32_t *source = level_source(table, level);
	uint64_t	n = level->last - level->first;
	uint32_t   *slot_of;
	uint32_t	start = 0;
	bool		cancelled = false;
	uint64_t	i;

	level->nslots = 16;
	while (level->nslots * 4 < n * 5)
		level->nslots *= 2;
	if (level->nslots > UINT64_C(1) << 32)
		return GPUCOL_OUT_OF_MEMORY;	/* slot_of could not name them */
	level->slots = gpucol_budget_alloc_zeroed(&run->memory, level->nslots *
											  sizeof(GpucolRecSlot));
	slot_of = gpucol_budget_alloc(&run->memory, n * sizeof(uint32_t));
	if (level->slots == NULL || slot_of == NULL)
	{
		gpucol_budget_free(&run->memory, slot_of, n * sizeof(uint32_t));
		return GPUCOL_OUT_OF_MEMORY;
	}
	for (i = 0; i < n && !cancelled; i++)
	{
		uint64_t	at = source_slot(table, index, level, source, i);

		if (level->slots[at].count++ == 0)
			level->slots[at].start = (uint32_t) i;
		slot_of[i] = (uint32_t) at;
		cancelled = gpucol_rec_poll(run, i);
	}
	/* start + count after the scatter is where each range ends. */
	for (i = 0; i < level->nslots && !cancelled; i++)
	{
		cancelled = gpucol_rec_poll(run, i);
		level->slots[i].start = start;
		start += level->slots[i].count;
		level->slots[i].count = 0;
	}
	for (i = 0; i < n && !cancelled; i++)
	{
		GpucolRecSlot *slot = &level->slots[slot_of[i]];

		cancelled = gpucol_rec_poll(run, i);
		memcpy(level->tuples + (uint64_t) (slot->start + slot->count++) *
			   table->arity, source + i * table->arity,
			   table->arity * sizeof(uint32_t));
	}
	gpucol_budget_free(&run->memory, slot_of, n * sizeof(uint32_t));
	return cancelled ? GPUCOL_CANCELLED : GPUCOL_OK;
}

/* Build a level for rows [first, last). */
static GpucolStatus
build_level(GpucolRecRun *run, const GpucolRecTable *table,
			const GpucolRecIndex *index, uint64_t first, uint64_t last,
			GpucolRecLevel *level)
{
	GpucolStatus status;

	memset(level, 0, sizeof(*level));
	level->first = first;
	level->last = last;
	level->tuples = gpucol_budget_alloc(&run->memory, (last - first) *
										table->arity * sizeof(uint32_t));
	if (level->tuples == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (gpucol_rec_cancelled(run))
		status = GPUCOL_CANCELLED;
	else if (index->ncolumns == 1 &&
			 run->dictionary.nvalues <= (last - first) * 2 + 64)
		status = build_dense(run, table, index, level);
	else
		status = build_hashed(run, table, index, level);
	if (status != GPUCOL_OK)
		free_level(run, table, level);
	return status;
}

/* Replace the last `drop` levels by one that ends at the delta. */
static GpucolStatus
rebuild_levels(GpucolRecRun *run, const GpucolRecTable *table,
			   GpucolRecIndex *index, int drop)
{
	uint64_t	from = drop ? index->levels[index->nlevels - drop].first : 0;
	GpucolRecLevel merged;

	GPUCOL_REC_TRY(build_level(run, table, index, from, table->delta, &merged));
	while (drop-- > 0)
		free_level(run, table, &index->levels[--index->nlevels]);
	index->levels[index->nlevels++] = merged;
	return GPUCOL_OK;
}

/* Cover rows before the delta that came while nobody read the index. */
static GpucolStatus
extend_to_delta(GpucolRecRun *run, const GpucolRecTable *table,
				GpucolRecIndex *index)
{
	return rebuild_levels(run, table, index, index->nlevels > 0 ? 1 : 0);
}

/* Merge the levels before the delta while their sizes are near. */
static GpucolStatus
merge_levels(GpucolRecRun *run, const GpucolRecTable *table,
			 GpucolRecIndex *index)
{
	while (index->nlevels > 1)
	{
		const GpucolRecLevel *last = &index->levels[index->nlevels - 1];

		if (last[-1].last - last[-1].first > 2 * (last->last - last->first) &&
			index->nlevels < GPUCOL_REC_MAX_LEVELS - 1)
			break;
		GPUCOL_REC_TRY(rebuild_levels(run, table, index, 2));
	}
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_index_refresh(GpucolRecRun *run, GpucolRecTable *table,
						 GpucolRecIndex *index)
{
	uint64_t	covered;

	/* A derived bag renumbers its rows every round. */
	if (table->bag && (table->decl->flags & GPUCOL_REC_DERIVED))
		while (index->nlevels > 0)
			free_level(run, table, &index->levels[--index->nlevels]);

	covered = index->nlevels ? index->levels[index->nlevels - 1].last : 0;
	if (covered < table->delta)
		GPUCOL_REC_TRY(extend_to_delta(run, table, index));
	if (covered == table->committed)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(merge_levels(run, table, index));
	if (table->delta == table->committed)
		return GPUCOL_OK;
	GPUCOL_REC_TRY(build_level(run, table, index, table->delta,
							   table->committed,
							   &index->levels[index->nlevels]));
	index->nlevels++;
	return GPUCOL_OK;
}
