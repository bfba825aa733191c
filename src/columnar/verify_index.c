/*-------------------------------------------------------------------------
 *
 * verify_index.c
 *	  gpucol.verify: rows and index entries, compared both ways.
 *
 * The TIDs of all entries of an index are read and sorted.  Then the rows that the
 * caller's snapshot sees are held against them: each must have its entry, or with a
 * predicate, which is evaluated as the table's owner, exactly those inside.  And each
 * entry must point to something that VACUUM has not removed.
 *
 * Others may load, change and VACUUM the table meanwhile.  The snapshot was taken before
 * entries are read; so each row that it sees had its entry by then and keeps it, and VACUUM
 * had deleted the entries of each row that it sees folded, unless some are counted as folded
 * before (early_fold.h).  The same holds for lost row
 * numbers, if VACUUM had noted before that indexes have none (vacuum.c).  A line pointer
 * of the delta may be removed, together with its entry, after that has been read, and become
 * another row's: a second reading tells.
 *
 * Of btree and hash indexes keys are compared too, by a Bloom filter of TIDs and keys: a
 * wrong key goes unseen once in fifty times.
 *
 * How entries are read depends on the index's access method: by a scan of the whole index
 * (btree, GiST, SP-GiST), as a bitmap (GIN), or page by page (hash, which can only be
 * searched; a split may move an entry from page to page meanwhile, so what seems to be missing
 * is searched for).  Indexes of other access methods are passed over with a notice.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/hash.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/pg_am.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "lib/bloomfilter.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplesort.h"

#include "columnar/deadrows.h"
#include "columnar/fold_count.h"
#include "columnar/index_build.h"
#include "columnar/item.h"
#include "columnar/owner.h"
#include "columnar/verify.h"
#include "compat.h"

/* Rows or entries of one index that follow each other and share a problem. */
typedef struct Run
{
	const char *problem;		/* NULL = none */
	ItemPointerData first;
	ItemPointerData last;
	uint64		next;			/* place in the order of rows or entries behind the last */
	uint64		n;
} Run;

/* Entries of the delta that may be wrong, to be looked at again. */
typedef struct Suspect
{
	int64		tid;
	uint64		place;
	bool		repeated;		/* there are several; else they point to nothing */
} Suspect;

/* The comparison of one index. */
typedef struct IndexVerify
{
	GpucolVerify *verify;
	GpucolCoverage *coverage;	/* before entries were read; NULL = no segments */
	bool		lost_cleaned;	/* VACUUM had deleted the entries of its lost numbers */
	bool		folded_cleaned; /* ... and none of folded ones */
	uint64		bound;			/* row numbers after entries were read */
	Relation	index;
	IndexInfo  *info;
	Tuplesortstate *tids;		/* of the entries */
	bloom_filter *keys;			/* ... with hashes of their keys, or NULL */
	uint64		place;			/* of the row or entry at hand */
	Run			run;

	/* the segment that the entry at hand points to */
	MemoryContext context;
	const GpucolViewSegment *segment;
	uint32	   *folded;

	uint32		nsuspects;
	uint32		capacity;
	Suspect    *suspects;		/* ascending */
} IndexVerify;

/* ------------------------------------------------------------------------
 * Problems
 * ------------------------------------------------------------------------
 */

/* The segment of a virtual TID that the snapshot sees, or NULL. */
static const GpucolViewSegment *
segment_of(const IndexVerify *v, ItemPointer tid)
{
	const GpucolView *view = v->verify->view;
	uint32		low = 0;
	uint32		high = view->nsegments;
	uint64		row;

	if (!gpucol_tid_is_virtual(tid))
		return NULL;
	row = gpucol_tid_row(tid);
	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;
		const GpucolSegmentEntry *entry = &view->segments[middle].entry;

		if (row < entry->first_row)
			high = middle;
		else if (row - entry->first_row < Max(entry->reserved, entry->nrows))
			return &view->segments[middle];
		else
			low = middle + 1;
	}
	return NULL;
}

/* Report a run and begin anew. */
static void
end_run(IndexVerify *v)
{
	Run		   *run = &v->run;
	const GpucolViewSegment *segment;

	if (run->problem == NULL)
		return;
	segment = segment_of(v, &run->first);
	v->verify->entry = segment != NULL ? &segment->entry : NULL;
	if (run->n == 1)
		gpucol_verify_report(v->verify, 0, "index \"%s\" %s: ctid (%u,%u)",
							 RelationGetRelationName(v->index), run->problem,
							 ItemPointerGetBlockNumberNoCheck(&run->first),
							 ItemPointerGetOffsetNumberNoCheck(&run->first));
	else
		gpucol_verify_report(v->verify, 0,
							 "index \"%s\" %s: " UINT64_FORMAT " times, ctid (%u,%u) to (%u,%u)",
							 RelationGetRelationName(v->index), run->problem, run->n,
							 ItemPointerGetBlockNumberNoCheck(&run->first),
							 ItemPointerGetOffsetNumberNoCheck(&run->first),
							 ItemPointerGetBlockNumberNoCheck(&run->last),
							 ItemPointerGetOffsetNumberNoCheck(&run->last));
	v->verify->entry = NULL;
	run->problem = NULL;
}

/* Note a problem of the row or entry at hand. */
static void
note(IndexVerify *v, ItemPointer tid, const char *problem)
{
	Run		   *run = &v->run;

	if (run->problem != problem || run->next != v->place ||
		segment_of(v, &run->first) != segment_of(v, tid))
	{
		end_run(v);
		run->problem = problem;
		run->first = *tid;
		run->n = 0;
	}
	run->last = *tid;
	run->next = v->place + 1;
	run->n++;
}

/* ------------------------------------------------------------------------
 * Keys
 * ------------------------------------------------------------------------
 */

/* An entry, or what a row's should be, in the Bloom filter. */
typedef struct EntryHash
{
	int64		tid;
	uint64		key;
} EntryHash;

/* Hash the values of an entry of a btree, those of INCLUDE among them. */
static uint64
hash_values(Relation index, const Datum *values, const bool *isnull)
{
	TupleDesc	desc = RelationGetDescr(index);
	uint64		hash = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		uint64		value = isnull[i] ? PG_UINT64_MAX :
			datum_image_hash(values[i], att->attbyval, att->attlen);

		hash = hash_bytes_extended((const unsigned char *) &value, sizeof(value), hash);
	}
	return hash;
}

/* The same of a row. */
static uint64
hash_row(IndexVerify *v, const Datum *values, const bool *isnull)
{
	if (v->index->rd_rel->relam == HASH_AM_OID)
		return _hash_datum2hashkey(v->index, values[0]);
	return hash_values(v->index, values, isnull);
}

/* Begin to collect the keys of entries, if keys are compared. */
static void
begin_keys(IndexVerify *v)
{
	Oid			am = v->index->rd_rel->relam;
	int64		n = Max((int64) RelationGetNumberOfBlocks(v->index) * (MaxTIDsPerBTreePage / 3),
						(int64) v->index->rd_rel->reltuples);

	v->keys = am == BTREE_AM_OID || am == HASH_AM_OID ?
		bloom_create(n, maintenance_work_mem, 0) : NULL;
}

static void
add_key(IndexVerify *v, ItemPointer tid, uint64 key)
{
	EntryHash	entry = {itemptr_encode(tid), key};

	if (v->keys != NULL)
		bloom_add_element(v->keys, (unsigned char *) &entry, sizeof(entry));
}

/* Is it certain that a row's entries have other keys? */
static bool
lacks_key(IndexVerify *v, ItemPointer tid, const Datum *values, const bool *isnull)
{
	EntryHash	entry = {itemptr_encode(tid), hash_row(v, values, isnull)};

	return bloom_lacks_element(v->keys, (unsigned char *) &entry, sizeof(entry));
}

/* ------------------------------------------------------------------------
 * Reading entries
 * ------------------------------------------------------------------------
 */

/* Can the entries of the index be read? */
static bool
can_read(Relation index)
{
	switch (index->rd_rel->relam)
	{
		case BTREE_AM_OID:
		case GIST_AM_OID:
		case SPGIST_AM_OID:
		case GIN_AM_OID:
		case HASH_AM_OID:
			return true;
		default:
			return false;
	}
}

/* Add a TID to a sort. */
static void
put_tid(ItemPointer tid, void *sort)
{
	tuplesort_putdatum(sort, Int64GetDatum(itemptr_encode(tid)), false);
}

static void
read_by_scan(IndexVerify *v, Tuplesortstate *sort)
{
	IndexScanDesc scan = index_beginscan(v->verify->table, v->index, SnapshotAny,
										 GPUCOL_COMPAT_NO_INSTRUMENT 0, 0);
	Datum		values[INDEX_MAX_KEYS];
	bool		isnull[INDEX_MAX_KEYS];
	ItemPointer tid;

	scan->xs_want_itup = v->keys != NULL;
	index_rescan(scan, NULL, 0, NULL, 0);
	while ((tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		put_tid(tid, sort);
		if (v->keys == NULL)
			continue;
		index_deform_tuple(scan->xs_itup, scan->xs_itupdesc, values, isnull);
		add_key(v, tid, hash_values(v->index, values, isnull));
	}
	index_endscan(scan);
}

/* Room for any bitmap: a page that has become lossy does not tell its TIDs. */
#define BITMAP_BYTES	((Size) 1 << 40)

static void
read_by_bitmap(IndexVerify *v, Tuplesortstate *sort)
{
	TIDBitmap  *bitmap = tbm_create(BITMAP_BYTES, NULL);
	IndexScanDesc scan = index_beginscan_bitmap(v->index, SnapshotAny,
												GPUCOL_COMPAT_NO_INSTRUMENT 0);

	index_rescan(scan, NULL, 0, NULL, 0);
	index_getbitmap(scan, bitmap);
	index_endscan(scan);
	gpucol_compat_bitmap_each(bitmap, put_tid, sort);
	tbm_free(bitmap);
}

/* Read the entries of a page of a hash index. */
static void
read_hash_page(IndexVerify *v, Page page, Tuplesortstate *sort)
{
	OffsetNumber last;

	if (PageIsNew(page) || PageGetSpecialSize(page) != MAXALIGN(sizeof(HashPageOpaqueData)))
		return;
	if ((((HashPageOpaque) PageGetSpecialPointer(page))->hasho_flag &
		 (LH_BUCKET_PAGE | LH_OVERFLOW_PAGE)) == 0)
		return;
	last = PageGetMaxOffsetNumber(page);
	for (OffsetNumber i = FirstOffsetNumber; i <= last; i++)
	{
		ItemId		item = PageGetItemId(page, i);
		IndexTuple	entry = (IndexTuple) PageGetItem(page, item);

		if (ItemIdIsDead(item))
			continue;
		put_tid(&entry->t_tid, sort);
		add_key(v, &entry->t_tid, _hash_get_indextuple_hashkey(entry));
	}
}

static void
read_by_pages(IndexVerify *v, Tuplesortstate *sort)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber nblocks = RelationGetNumberOfBlocks(v->index);

	for (BlockNumber block = HASH_METAPAGE + 1; block < nblocks; block++)
	{
		Buffer		buffer = ReadBufferExtended(v->index, MAIN_FORKNUM, block, RBM_NORMAL,
												strategy);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		read_hash_page(v, BufferGetPage(buffer), sort);
		UnlockReleaseBuffer(buffer);
	}
	FreeAccessStrategy(strategy);
}

/* The TIDs of all entries, sorted. */
static Tuplesortstate *
read_entries(IndexVerify *v)
{
	Tuplesortstate *sort = tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid,
												 false, maintenance_work_mem, NULL,
												 TUPLESORT_RANDOMACCESS);

	switch (v->index->rd_rel->relam)
	{
		case GIN_AM_OID:
			read_by_bitmap(v, sort);
			break;
		case HASH_AM_OID:
			read_by_pages(v, sort);
			break;
		default:
			read_by_scan(v, sort);
			break;
	}
	tuplesort_performsort(sort);
	return sort;
}

/* ------------------------------------------------------------------------
 * Rows to entries
 * ------------------------------------------------------------------------
 */

/* Does a search of a hash index for a key find a row? */
static bool
hash_finds(IndexVerify *v, Datum key, ItemPointer tid)
{
	Oid			type = v->index->rd_opcintype[0];
	Oid			equal = get_opfamily_member(v->index->rd_opfamily[0], type, type,
											HTEqualStrategyNumber);
	IndexScanDesc scan;
	ItemPointer found;
	ScanKeyData scankey;

	ScanKeyEntryInitialize(&scankey, 0, 1, HTEqualStrategyNumber, type,
						   v->index->rd_indcollation[0], get_opcode(equal), key);
	scan = index_beginscan(v->verify->table, v->index, SnapshotAny,
						   GPUCOL_COMPAT_NO_INSTRUMENT 1, 0);
	index_rescan(scan, &scankey, 1, NULL, 0);
	while ((found = index_getnext_tid(scan, ForwardScanDirection)) != NULL &&
		   !ItemPointerEquals(found, tid))
		CHECK_FOR_INTERRUPTS();
	index_endscan(scan);
	return found != NULL;
}

/* gpucol_index_compare shows a row. */
static void
check_row(GpucolIndexBuild *build, ItemPointer tid, bool has_entry, void *state)
{
	IndexVerify *v = state;
	bool		is_hash = v->index->rd_rel->relam == HASH_AM_OID;
	bool		inside = true;
	Datum	   *values;
	bool	   *isnull;

	if (v->info->ii_Predicate != NIL || v->keys != NULL || is_hash)
		inside = gpucol_index_form(build, &values, &isnull);
	/* a hash index takes no NULL */
	if (is_hash && inside)
		inside = !isnull[0];
	if (is_hash && inside && !has_entry)
		has_entry = hash_finds(v, values[0], tid);
	else if (inside && has_entry && v->keys != NULL && lacks_key(v, tid, values, isnull))
		note(v, tid, "has an entry of another key for a row");
	if (inside && !has_entry)
		note(v, tid, "lacks a row");
	else if (!inside && has_entry)
		note(v, tid, "has an entry of a row outside its predicate");
	if (inside || has_entry)
		v->place++;
}

/* ------------------------------------------------------------------------
 * Entries to rows
 * ------------------------------------------------------------------------
 */

/* Is there a row, dead or alive, that an entry may point to at a place in the delta? */
static bool
is_in_delta(Relation table, ItemPointer tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	bool		found = false;
	Buffer		buffer;
	Page		page;

	if (!ItemPointerIsValid(tid) ||
		ItemPointerGetBlockNumber(tid) >= RelationGetNumberOfBlocks(table))
		return false;
	buffer = ReadBuffer(table, ItemPointerGetBlockNumber(tid));
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	page = BufferGetPage(buffer);
	if (!PageIsNew(page) && offset <= PageGetMaxOffsetNumber(page))
	{
		ItemId		item = PageGetItemId(page, offset);
		HeapTupleData tuple;

		/* entries point to the beginnings of HOT chains */
		found = ItemIdIsNormal(item) ?
			gpucol_item_find(page, offset, &tuple) && !HeapTupleHeaderIsHeapOnly(tuple.t_data) :
			ItemIdIsUsed(item);
	}
	UnlockReleaseBuffer(buffer);
	return found;
}

/* Look at an entry of the delta again later. */
static void
suspect(IndexVerify *v, int64 tid, bool repeated)
{
	if (v->nsuspects == v->capacity)
	{
		v->capacity = Max(v->capacity * 2, 64);
		v->suspects = v->suspects == NULL ? palloc(v->capacity * sizeof(Suspect)) :
			repalloc_huge(v->suspects, v->capacity * sizeof(Suspect));
	}
	v->suspects[v->nsuspects++] = (Suspect)
	{
		tid, v->place, repeated
	};
}

/* Read which rows of a segment are folded. */
static void
enter_segment(IndexVerify *v, const GpucolViewSegment *segment)
{
	MemoryContext old;

	if (v->segment == segment)
		return;
	MemoryContextReset(v->context);
	old = MemoryContextSwitchTo(v->context);
	v->folded = gpucol_view_folded(v->verify->view, segment, v->verify->view->snapshot);
	MemoryContextSwitchTo(old);
	v->segment = segment;
}

/* What is wrong with an entry of a segment row?  NULL = nothing. */
static const char *
segment_entry_problem(IndexVerify *v, ItemPointer tid)
{
	const GpucolViewSegment *segment = segment_of(v, tid);
	uint64		number = gpucol_tid_row(tid);
	uint64		row;

	if (number >= v->bound || ItemPointerGetOffsetNumberNoCheck(tid) < 1 ||
		ItemPointerGetOffsetNumberNoCheck(tid) > GPUCOL_BLOCK_TIDS)
		return "has an entry of a row number that was never given";
	if (segment == NULL)
		return v->lost_cleaned && !gpucol_coverage_has_row(v->coverage, number) ?
			"has an entry of a row whose segment is gone" : NULL;
	row = number - segment->entry.first_row;
	if (row >= segment->entry.nrows)
		return "has an entry behind the rows of a segment";
	enter_segment(v, segment);
	return v->folded_cleaned && v->folded != NULL && ((v->folded[row / 32] >> (row % 32)) & 1) != 0 ?
		"has an entry of a row that VACUUM has removed" : NULL;
}

/* The problem of several entries with one TID. */
#define SEVERAL_ENTRIES		"has several entries of a row"

/* Check every entry; those of the delta that may be wrong become suspects. */
static void
check_entries(IndexVerify *v)
{
	/* a page of a hash index that is being split shows entries twice; a bitmap none */
	bool		may_repeat = v->index->rd_rel->relam == HASH_AM_OID;
	int64		previous = -1;
	Datum		value;
	bool		isnull;

	while (gpucol_compat_tuplesort_getdatum(v->tids, &value, &isnull))
	{
		int64		encoded = DatumGetInt64(value);
		bool		repeated = encoded == previous;
		const char *problem = NULL;
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		itemptr_decode(&tid, encoded);
		if (gpucol_tid_is_virtual(&tid))
			problem = !repeated ? segment_entry_problem(v, &tid) :
				may_repeat ? NULL : SEVERAL_ENTRIES;
		else if (repeated ? !may_repeat : !is_in_delta(v->verify->table, &tid))
			suspect(v, encoded, repeated);
		if (problem != NULL)
			note(v, &tid, problem);
		previous = encoded;
		v->place++;
	}
	end_run(v);
}

/*
 * The number of entries with a TID, in a sorted list that has been read up to *ahead (-1
 * at first, -2 at the end).
 */
static uint32
count_entries(Tuplesortstate *sort, int64 tid, int64 *ahead)
{
	uint32		n = 0;
	Datum		value;
	bool		isnull;

	while (*ahead != -2 && *ahead <= tid)
	{
		n += *ahead == tid;
		*ahead = gpucol_compat_tuplesort_getdatum(sort, &value, &isnull) ?
			DatumGetInt64(value) : -2;
	}
	return n;
}

/* Read the entries again, and report the suspects that are as they were. */
static void
check_suspects(IndexVerify *v)
{
	int64		ahead = -1;
	uint32		n = 0;

	if (v->nsuspects == 0)
		return;
	tuplesort_end(v->tids);
	v->tids = read_entries(v);
	for (uint32 i = 0; i < v->nsuspects; i++)
	{
		const Suspect *entry = &v->suspects[i];
		ItemPointerData tid;

		if (i == 0 || entry->tid != entry[-1].tid)
			n = count_entries(v->tids, entry->tid, &ahead);
		itemptr_decode(&tid, entry->tid);
		v->place = entry->place;
		if (entry->repeated && n > 1)
			note(v, &tid, SEVERAL_ENTRIES);
		else if (!entry->repeated && n > 0 && !is_in_delta(v->verify->table, &tid))
			note(v, &tid, "has an entry of a row that is not there");
	}
	end_run(v);
}

/* ------------------------------------------------------------------------
 * Indexes
 * ------------------------------------------------------------------------
 */

/* Is a broken HOT chain newer than the snapshot, so that the index may lack its rows? */
static bool
is_too_new(Relation index)
{
	return index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
							   TransactionXmin);
}

/* Row numbers that were ever given. */
static uint64
read_bound(Relation table)
{
	GpucolDirectory dir;
	uint64		bound;

	if (!gpucol_directory_open(&dir, table, AccessShareLock))
		return 0;
	bound = gpucol_directory_next_row(&dir);
	gpucol_directory_close(&dir);
	return bound;
}

/* What is known of lost numbers before any entry is read. */
static void
read_coverage(IndexVerify *v)
{
	GpucolDirectory dir;
	GpucolUpkeep upkeep;
	ItemPointerData tid;
	TransactionId newest;

	if (!gpucol_directory_open(&dir, v->verify->table, AccessShareLock))
		return;
	v->coverage = gpucol_coverage_read(&dir);
	v->folded_cleaned = gpucol_fold_count_early(&dir, &newest) == 0;
	v->lost_cleaned = gpucol_directory_find(&dir, GPUCOL_ID_UPKEEP, &upkeep,
											sizeof(upkeep), &tid) &&
		upkeep.cleaned == v->coverage->lost;
	gpucol_directory_close(&dir);
}

static void
verify_index(IndexVerify *v, Relation index)
{
	v->index = index;
	v->info = BuildIndexInfo(index);
	v->place = 0;
	v->nsuspects = 0;
	v->segment = NULL;
	begin_keys(v);
	v->tids = read_entries(v);
	v->bound = read_bound(v->verify->table);
	gpucol_index_compare(v->verify->table, index, v->info, v->verify->view->snapshot,
						 v->tids, check_row, v);
	end_run(v);
	if (v->keys != NULL)
		bloom_free(v->keys);
	v->keys = NULL;
	tuplesort_rescan(v->tids);
	check_entries(v);
	check_suspects(v);
	tuplesort_end(v->tids);
}

/* Verify an index, or say why not. */
static void
visit_index(IndexVerify *v, Relation index)
{
	if (!index->rd_index->indisvalid || !index->rd_index->indisready)
		return;
	if (can_read(index) && !is_too_new(index))
	{
		verify_index(v, index);
		return;
	}
	ereport(NOTICE,
			(errmsg("index \"%s\" is not compared with its table's rows",
					RelationGetRelationName(index)),
			 can_read(index) ? errdetail("It may lack rows that the transaction's snapshot sees.") :
			 errdetail("The entries of an index of access method \"%s\" cannot be listed.",
					   get_am_name(index->rd_rel->relam))));
}

void
gpucol_verify_indexes(GpucolVerify *verify)
{
	IndexVerify v = {.verify = verify};
	List	   *indexes = RelationGetIndexList(verify->table);
	GpucolOwner before;
	ListCell   *lc;

	if (indexes == NIL)
		return;
	if (verify->problems > 0)
	{
		ereport(NOTICE,
				(errmsg("indexes of table \"%s\" are not compared with its rows",
						RelationGetRelationName(verify->table)),
				 errdetail("Its segments are damaged.")));
		return;
	}
	v.context = AllocSetContextCreate(CurrentMemoryContext, "gpucol verify index",
									  ALLOCSET_DEFAULT_SIZES);
	read_coverage(&v);
	gpucol_owner_begin(verify->table, &before);
	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		visit_index(&v, index);
		index_close(index, AccessShareLock);
	}
	gpucol_owner_end(&before);
	MemoryContextDelete(v.context);
	list_free(indexes);
}
