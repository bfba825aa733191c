/*-------------------------------------------------------------------------
 *
 * new_entries.c
 *	  Index entries of rows that are packed in another place: by a merge, or with others.
 *
 * What indexes call is what the table's owner has made of them, so the caller runs it as
 * the owner (owner.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "utils/relcache.h"

#include "columnar/block_ranges.h"
#include "columnar/new_entries.h"

void
gpucol_new_entries_begin(GpucolNewEntries *all, Relation table)
{
	List	   *oids = RelationGetIndexList(table);
	ListCell   *lc;

	all->n = 0;
	all->indexes = palloc(Max(list_length(oids), 1) * sizeof(Relation));
	all->infos = palloc(Max(list_length(oids), 1) * sizeof(IndexInfo *));
	all->predicates = palloc(Max(list_length(oids), 1) * sizeof(ExprState *));
	all->estate = CreateExecutorState();
	all->econtext = GetPerTupleExprContext(all->estate);
	foreach(lc, oids)
	{
		Relation	index = index_open(lfirst_oid(lc), RowExclusiveLock);
		IndexInfo  *info;

		/* the rows of a complete segment are covered in those that summarise blocks */
		if (!index->rd_index->indisready || gpucol_block_ranges_has(index))
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

void
gpucol_new_entries_add(GpucolNewEntries *all, Relation table, TupleTableSlot *slot)
{
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];

	all->econtext->ecxt_scantuple = slot;
	for (int i = 0; i < all->n; i++)
	{
		if (all->predicates[i] != NULL &&
			!ExecQual(all->predicates[i], all->econtext))
			continue;
		FormIndexDatum(all->infos[i], slot, all->estate, values, isnull);
		index_insert(all->indexes[i], values, isnull, &slot->tts_tid, table,
					 UNIQUE_CHECK_NO, false, all->infos[i]);
	}
	ResetExprContext(all->econtext);
}
