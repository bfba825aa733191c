/*-------------------------------------------------------------------------
 *
 * new_entries.c
 *	  Index entries of rows that are packed in another place, by a merge or with others, or
 *	  updated without a new key.
 *
 * What indexes call is what the table's owner has made of them, so who packs runs it as
 * the owner (owner.h).  Who updates runs it as himself, as in the executor.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "executor/executor.h"
#include "utils/memutils.h"
#include "utils/relcache.h"

#include "columnar/block_ranges.h"
#include "columnar/new_entries.h"
#include "columnar/same_key.h"

void
gpucol_new_entries_begin(GpucolNewEntries *all, Relation table)
{
	List	   *oids = RelationGetIndexList(table);
	ListCell   *lc;

	all->n = 0;
	all->ranges = all->deferrable = false;
	all->indexes = palloc(Max(list_length(oids), 1) * sizeof(Relation));
	all->infos = palloc(Max(list_length(oids), 1) * sizeof(IndexInfo *));
	all->predicates = palloc(Max(list_length(oids), 1) * sizeof(ExprState *));
	all->estate = CreateExecutorState();
	all->econtext = GetPerTupleExprContext(all->estate);
	foreach(lc, oids)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);
		IndexInfo  *info;
		bool		ranges = gpucol_block_ranges_has(index);

		/* the rows of a complete segment are covered in those that summarise blocks */
		all->ranges |= ranges;
		all->deferrable |= index->rd_index->indisunique && !index->rd_index->indimmediate;
		if (!index->rd_index->indisready || ranges)
		{
			index_close(index, RowExclusiveLock);
			continue;
		}
		info = BuildIndexInfo(index);
		all->indexes[all->n] = index;
		all->infos[all->n] = info;
		all->predicates[all->n] = info->ii_Predicate == NIL ? NULL :
			ExecPrepareQual(info->ii_Predicate, all->estate);
		all->n++;
	}
	list_free(oids);
}

void
gpucol_new_entries_end(GpucolNewEntries *all)
{
	for (int i = 0; i < all->n; i++)
		index_close(all->indexes[i], NoLock);
	FreeExecutorState(all->estate);
}

/* Enter a row into every index.  same_keys: it has the keys of its old version. */
static void
enter_row(GpucolNewEntries *all, Relation table, TupleTableSlot *slot, bool same_keys)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	all->econtext->ecxt_scantuple = slot;
	for (int i = 0; i < all->n; i++)
	{
		Relation	index = all->indexes[i];

		if (all->predicates[i] != NULL &&
			!ExecQual(all->predicates[i], all->econtext))
			continue;
		FormIndexDatum(all->infos[i], slot, all->estate, values, isnull);
		if (same_keys && index->rd_rel->relam == BTREE_AM_OID &&
			gpucol_same_key_insert(index, table, values, isnull, &slot->tts_tid))
			continue;
		/* beside the entry of the row's old place: it may be time that an older one went (index_dead.c) */
		index_insert(index, values, isnull, &slot->tts_tid, table, UNIQUE_CHECK_NO, true, all->infos[i]);
	}
	ResetExprContext(all->econtext);
}

void
gpucol_new_entries_add(GpucolNewEntries *all, Relation table, TupleTableSlot *slot)
{
	enter_row(all, table, slot, false);
}

bool
gpucol_new_entries_same_keys(Relation table, TupleTableSlot *slot)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpucol entries",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolNewEntries all;
	bool		here;

	gpucol_new_entries_begin(&all, table);
	here = !all.ranges && !all.deferrable;
	if (here)
		enter_row(&all, table, slot, true);
	gpucol_new_entries_end(&all);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return here;
}
