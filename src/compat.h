/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only place that tests PG_VERSION_NUM: differences between PostgreSQL
 *	  15, 16, 17 and 18 are bridged here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COMPAT_H
#define GPUCOL_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "gpucol supports PostgreSQL 15 to 18"
#endif

#include "utils/rel.h"

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/*
 * Let a heap scan that has come to its end start again under new scan limits.
 */
#if PG_VERSION_NUM >= 170000
#include "storage/read_stream.h"
#define gpucol_compat_heap_restart(scan) \
	do { \
		if (((HeapScanDesc) (scan))->rs_read_stream) \
			read_stream_reset(((HeapScanDesc) (scan))->rs_read_stream); \
		((HeapScanDesc) (scan))->rs_prefetch_block = InvalidBlockNumber; \
	} while (0)
#else
#define gpucol_compat_heap_restart(scan)	((void) (scan))
#endif

/*
 * Does a bitmap scan go through the bitmap itself (18), or does the executor call
 * it for each block?
 */
#define GPUCOL_COMPAT_BITMAP_STREAM		(PG_VERSION_NUM >= 180000)

/* The number of this backend's transaction, which has one from its beginning. */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_local_xid()	(MyProc->vxid.lxid)
#else
#define gpucol_compat_local_xid()	(MyProc->lxid)
#endif

/* tuplesort_getdatum, forward and with a copy where there is a choice. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_tuplesort_getdatum(sort, value, isnull) \
	tuplesort_getdatum(sort, true, false, value, isnull, NULL)
#else
#define gpucol_compat_tuplesort_getdatum(sort, value, isnull) \
	tuplesort_getdatum(sort, true, value, isnull, NULL)
#endif

/* Which comparison a RowCompareExpr is, as a strategy of btree. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_row_strategy(row)	((int) (row)->cmptype)
#else
#define gpucol_compat_row_strategy(row)	((int) (row)->rctype)
#endif

/*
 * Expressions over the groups of a query as they are over its rows: from 18 on grouping sets mark
 * what they may set to NULL.
 */
#if PG_VERSION_NUM >= 180000
#include "rewrite/rewriteManip.h"
#define gpucol_compat_of_rows(root, exprs) \
	((root)->group_rtindex == 0 ? (exprs) : \
	 (List *) remove_nulling_relids((Node *) (exprs), bms_make_singleton((root)->group_rtindex), NULL))
#else
#define gpucol_compat_of_rows(root, exprs)	((void) (root), (exprs))
#endif

/* Intervals may be infinite, and subtracting one from a timestamp fails where its negative is out of range. */
#define GPUCOL_COMPAT_ENDLESS_SPANS	(PG_VERSION_NUM >= 170000)

/* Call a function for each TID of a bitmap that has no lossy page. */
#include "access/htup_details.h"
#include "nodes/tidbitmap.h"
static inline void
gpucol_compat_bitmap_each(TIDBitmap *bitmap, void (*each) (ItemPointer, void *), void *state)
{
	ItemPointerData tid;
#if PG_VERSION_NUM >= 180000
	TBMPrivateIterator *iterator = tbm_begin_private_iterate(bitmap);
	OffsetNumber offsets[MaxHeapTuplesPerPage];
	TBMIterateResult page;

	while (tbm_private_iterate(iterator, &page))
	{
		int			n = tbm_extract_page_tuple(&page, offsets, MaxHeapTuplesPerPage);

		for (int i = 0; i < n; i++)
		{
			ItemPointerSet(&tid, page.blockno, offsets[i]);
			each(&tid, state);
		}
	}
	tbm_end_private_iterate(iterator);
#else
	TBMIterator *iterator = tbm_begin_iterate(bitmap);
	TBMIterateResult *page;

	while ((page = tbm_iterate(iterator)) != NULL)
	{
		for (int i = 0; i < page->ntuples; i++)
		{
			ItemPointerSet(&tid, page->blockno, page->offsets[i]);
			each(&tid, state);
		}
	}
	tbm_end_iterate(iterator);
#endif
}

/*
 * scan_analyze_next_block: its parameters behind the scan, how the next block
 * number is got, heap's own step to that block, and passing the block by.
 */
#if PG_VERSION_NUM >= 170000
#define GPUCOL_COMPAT_ANALYZE_BLOCK	struct ReadStream *stream
#define GPUCOL_COMPAT_ANALYZE_NEXT(delta, block) \
	(GetHeapamTableAmRoutine()->scan_analyze_next_block(delta, stream) && \
	 (*(block) = ((HeapScanDesc) (delta))->rs_cblock, true))
#define GPUCOL_COMPAT_ANALYZE_HEAP(delta, block)	((void) (block), true)
#define GPUCOL_COMPAT_ANALYZE_SKIP(delta) \
	(UnlockReleaseBuffer(((HeapScanDesc) (delta))->rs_cbuf), \
	 ((HeapScanDesc) (delta))->rs_cbuf = InvalidBuffer)
#else
#define GPUCOL_COMPAT_ANALYZE_BLOCK \
	BlockNumber analyze_block, BufferAccessStrategy strategy
#define GPUCOL_COMPAT_ANALYZE_NEXT(delta, block)	(*(block) = analyze_block, true)
#define GPUCOL_COMPAT_ANALYZE_HEAP(delta, block) \
	GetHeapamTableAmRoutine()->scan_analyze_next_block(delta, block, strategy)
#define GPUCOL_COMPAT_ANALYZE_SKIP(delta)			((void) (delta))
#endif

/* What rows must fulfil above a WindowAggPath. */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_run_condition(path)	((path)->runCondition)
#else
#define gpucol_compat_run_condition(path)	((path)->winclause->runCondition)
#endif

/* Count an update whose new version is on another page. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_count_update(rel)	pgstat_count_heap_update(rel, false, true)
#else
#define gpucol_compat_count_update(rel)	pgstat_count_heap_update(rel, false)
#endif

/* BRIN's map of ranges; an index_insert that keeps state for the next */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_revmap_open(index, range)	brinRevmapInitialize(index, range)
#define gpucol_compat_revmap_get(map, block, buffer, offset) \
	brinGetTupleForHeapBlock(map, block, buffer, offset, NULL, BUFFER_LOCK_SHARE)
#define gpucol_compat_insert_cleanup(index, info)	index_insert_cleanup(index, info)
#else
#define gpucol_compat_revmap_open(index, range)	brinRevmapInitialize(index, range, NULL)
#define gpucol_compat_revmap_get(map, block, buffer, offset) \
	brinGetTupleForHeapBlock(map, block, buffer, offset, NULL, BUFFER_LOCK_SHARE, NULL)
#define gpucol_compat_insert_cleanup(index, info)	((void) 0)
#endif

/* Go to a block of a sample scan of the heap. */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_heap_getpage(scan, block) \
	do { \
		HeapScanDesc hscan_ = (HeapScanDesc) (scan); \
		if (BufferIsValid(hscan_->rs_cbuf)) \
			ReleaseBuffer(hscan_->rs_cbuf); \
		hscan_->rs_cblock = (block); \
		hscan_->rs_cbuf = ReadBufferExtended((scan)->rs_rd, MAIN_FORKNUM, (block), \
											 RBM_NORMAL, hscan_->rs_strategy); \
		if ((scan)->rs_flags & SO_ALLOW_PAGEMODE) \
			heap_prepare_pagescan(scan); \
	} while (0)
#else
#define gpucol_compat_heap_getpage(scan, block)	heapgetpage(scan, block)
#endif

/* vac_update_relstats for sizes only, in VACUUM's own transaction. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_update_relstats(rel, pages, rows, visible, frozen) \
	vac_update_relstats(rel, pages, rows, visible, frozen, \
						(rel)->rd_rel->relhasindex, InvalidTransactionId, \
						InvalidMultiXactId, NULL, NULL, false)
#else
#define gpucol_compat_update_relstats(rel, pages, rows, visible, frozen) \
	((void) (frozen), \
	 vac_update_relstats(rel, pages, rows, visible, (rel)->rd_rel->relhasindex, \
						 InvalidTransactionId, InvalidMultiXactId, NULL, NULL, \
						 false))
#endif

/* May rows go that an old snapshot sees, which then raises an error when it reads their page? */
#if PG_VERSION_NUM < 170000
#include "utils/snapmgr.h"
#define gpucol_compat_snapshots_expire()	OldSnapshotThresholdActive()
#else
#define gpucol_compat_snapshots_expire()	false
#endif

/* An index's VACUUM is told of the table from 16 on. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_set_heaprel(info, rel)	((info).heaprel = (rel))
#else
#define gpucol_compat_set_heaprel(info, rel)	((void) 0)
#endif

/* Live and dead rows in a table's cumulative statistics. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_live_rows(stats)	((stats)->live_tuples)
#define gpucol_compat_dead_rows(stats)	((stats)->dead_tuples)
#else
#define gpucol_compat_live_rows(stats)	((stats)->n_live_tuples)
#define gpucol_compat_dead_rows(stats)	((stats)->n_dead_tuples)
#endif

/* index_beginscan counts for EXPLAIN from 18 on. */
#if PG_VERSION_NUM >= 180000
#define GPUCOL_COMPAT_NO_INSTRUMENT		NULL,
#else
#define GPUCOL_COMPAT_NO_INSTRUMENT
#endif

/* Is a logical slot copied to standbys (17)? */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_slot_failover(slot)	((slot)->data.failover)
#else
#define gpucol_compat_slot_failover(slot)	false
#endif

/* Did this transaction give the relation new storage? */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_new_storage(rel) \
	((rel)->rd_newRelfilelocatorSubid != InvalidSubTransactionId)
#else
#define gpucol_compat_new_storage(rel) \
	((rel)->rd_newRelfilenodeSubid != InvalidSubTransactionId)
#endif

/* Slots tell whether their row is the current transaction's; 18: minimal copies have room. */
#define GPUCOL_COMPAT_SLOT_KNOWS_OWN	(PG_VERSION_NUM >= 170000)
#if PG_VERSION_NUM >= 180000
#define GPUCOL_COMPAT_SLOT_EXTRA_ARG	, Size extra
#define GPUCOL_COMPAT_SLOT_EXTRA		, extra
#else
#define GPUCOL_COMPAT_SLOT_EXTRA_ARG
#define GPUCOL_COMPAT_SLOT_EXTRA
#endif

/* What tuple_update says about indexes. */
#if PG_VERSION_NUM >= 160000
#define GpucolCompatUpdateIndexes			TU_UpdateIndexes
#define GPUCOL_COMPAT_UPDATE_NO_INDEXES		TU_None
#define GPUCOL_COMPAT_UPDATE_ALL_INDEXES	TU_All
#else
#define GpucolCompatUpdateIndexes			bool
#define GPUCOL_COMPAT_UPDATE_NO_INDEXES		false
#define GPUCOL_COMPAT_UPDATE_ALL_INDEXES	true
#endif

/* Columns whose change keeps heap from an update that leaves the indexes alone. */
#if PG_VERSION_NUM >= 160000
#define GPUCOL_COMPAT_INDEXED_COLUMNS		INDEX_ATTR_BITMAP_HOT_BLOCKING
#else
#define GPUCOL_COMPAT_INDEXED_COLUMNS		INDEX_ATTR_BITMAP_ALL
#endif

/* Find, and lock, the leaf page of a btree that an entry belongs on. */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_bt_search(index, table, key, buffer) \
	_bt_search(index, table, key, buffer, BT_WRITE)
#elif PG_VERSION_NUM >= 160000
#define gpucol_compat_bt_search(index, table, key, buffer) \
	_bt_search(index, table, key, buffer, BT_WRITE, NULL)
#else
#define gpucol_compat_bt_search(index, table, key, buffer) \
	((void) (table), _bt_search(index, key, buffer, BT_WRITE, NULL))
#endif

/* Conditional waits, without logging failures where there is a choice. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_conditional_xact_wait(xid) \
	ConditionalXactLockTableWait(xid, false)
#define gpucol_compat_conditional_lock_tuple(rel, tid, mode) \
	ConditionalLockTuple(rel, tid, mode, false)
#else
#define gpucol_compat_conditional_xact_wait(xid) \
	ConditionalXactLockTableWait(xid)
#define gpucol_compat_conditional_lock_tuple(rel, tid, mode) \
	ConditionalLockTuple(rel, tid, mode)
#endif

/* The limits of a TID range scan. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_mintid(scan)	((scan)->st.tidrange.rs_mintid)
#define gpucol_compat_maxtid(scan)	((scan)->st.tidrange.rs_maxtid)
#else
#define gpucol_compat_mintid(scan)	((scan)->rs_mintid)
#define gpucol_compat_maxtid(scan)	((scan)->rs_maxtid)
#endif

/* What names a relation's storage. */
#if PG_VERSION_NUM >= 160000
#define GpucolCompatFile	RelFileLocator
#else
#define GpucolCompatFile	RelFileNode
#endif

/* The callback of a table access method that gives a table new storage. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_relation_set_new_file	relation_set_new_filelocator
#else
#define gpucol_compat_relation_set_new_file	relation_set_new_filenode
#endif

/* A relation's storage, its tablespace and its file number. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_relation_locator(rel)	((rel)->rd_locator)
#define gpucol_compat_relation_space(rel)	((rel)->rd_locator.spcOid)
#define gpucol_compat_relation_file(rel)	((rel)->rd_locator.relNumber)
#else
#define gpucol_compat_relation_locator(rel)	((rel)->rd_node)
#define gpucol_compat_relation_space(rel)	((rel)->rd_node.spcNode)
#define gpucol_compat_relation_file(rel)	((rel)->rd_node.relNode)
#endif

/* 18 spells it as a specifier */
#ifndef pg_noreturn
#define pg_noreturn pg_attribute_noreturn()
#endif

#include "commands/explain.h"
#include "executor/instrument.h"
#include "tcop/tcopprot.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/* Tables of a plan; 18 does not count the range table entry of GROUP BY. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_rtable_size(es)	((es)->rtable_size)
#else
#define gpucol_compat_rtable_size(es)	list_length((es)->rtable)
#endif

/*
 * What EXPLAIN does for one query when no ExplainOneQuery_hook is set
 * (standard_ExplainOneQuery from 17 on).
 */
static inline void
gpucol_compat_explain_one_query(Query *query, int cursor_options,
								IntoClause *into, ExplainState *es,
								const char *query_string, ParamListInfo params,
								QueryEnvironment *env)
{
#if PG_VERSION_NUM >= 170000
	standard_ExplainOneQuery(query, cursor_options, into, es, query_string,
							 params, env);
#else
	BufferUsage before = pgBufferUsage;
	BufferUsage used;
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, query_string, cursor_options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	memset(&used, 0, sizeof(used));
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, query_string, params, env, &duration,
				   es->buffers ? &used : NULL);
#endif
}

/* reverse(bytea) joined reverse(text) in 18 */
#if PG_VERSION_NUM >= 180000
#define F_REVERSE F_REVERSE_TEXT
#endif

/* The order of a sort operator, as get_ordering_op_properties gives it. */
#if PG_VERSION_NUM >= 180000
#include "access/cmptype.h"
#define GpucolCompatOrder			CompareType
#define GPUCOL_COMPAT_ORDER_GREATER	COMPARE_GT
#else
#include "access/stratnum.h"
#define GpucolCompatOrder			int16
#define GPUCOL_COMPAT_ORDER_GREATER	BTGreaterStrategyNumber
#endif

/* Does the current user own a relation? */
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "utils/acl.h"
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_is_owner(relid) \
	object_ownercheck(RelationRelationId, relid, GetUserId())
#else
#define gpucol_compat_is_owner(relid)	pg_class_ownercheck(relid, GetUserId())
#endif

/* May a user call a function? */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_proc.h"
#define gpucol_compat_function_right(function, user) \
	object_aclcheck(ProcedureRelationId, function, user, ACL_EXECUTE)
#else
#define gpucol_compat_function_right(function, user) \
	pg_proc_aclcheck(function, user, ACL_EXECUTE)
#endif

/* Is a relation dropped from its query?  16 and later leave none behind. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_is_dead_rel(rel)	((rel) == NULL)
#else
#define gpucol_compat_is_dead_rel(rel) \
	((rel) == NULL || (rel)->reloptkind == RELOPT_DEADREL)
#endif

/* The condition by which MERGE matches rows, and what its actions act on, which from 17 on has three kinds. */
#if PG_VERSION_NUM >= 170000
#define gpucol_compat_merge_condition(query)	(&(query)->mergeJoinCondition)
#define gpucol_compat_is_matched(action)		((action)->matchKind == MERGE_WHEN_MATCHED)
#define gpucol_compat_not_matched_by_source(action) \
	((action)->matchKind == MERGE_WHEN_NOT_MATCHED_BY_SOURCE)
#else
#define gpucol_compat_merge_condition(query)	(&(query)->jointree->quals)
#define gpucol_compat_is_matched(action)		((action)->matched)
#define gpucol_compat_not_matched_by_source(action)	((void) (action), false)
#endif

/* ExecutorRun_hook tells whether the plan runs only once, up to 17. */
#if PG_VERSION_NUM >= 180000
#define GPUCOL_COMPAT_RUN_ONCE
#define GPUCOL_COMPAT_RUN_ONCE_ARG
#else
#define GPUCOL_COMPAT_RUN_ONCE		, bool execute_once
#define GPUCOL_COMPAT_RUN_ONCE_ARG	, execute_once
#endif

#include "executor/executor.h"

/* Run a statement by the next ExecutorRun hook, or PostgreSQL's own function where there is none. */
static inline void
gpucol_compat_run_next(ExecutorRun_hook_type next, QueryDesc *query, ScanDirection direction,
					   uint64 count GPUCOL_COMPAT_RUN_ONCE)
{
	if (next != NULL)
		next(query, direction, count GPUCOL_COMPAT_RUN_ONCE_ARG);
	else
		standard_ExecutorRun(query, direction, count GPUCOL_COMPAT_RUN_ONCE_ARG);
}

/*
 * Freeze rows of a page that is locked exclusively, and log it as VACUUM does; no snapshot of a
 * standby conflicts.  15 takes the oldest transaction whose snapshots do not.
 */
#include "access/heapam_xlog.h"
#if PG_VERSION_NUM >= 160000
#include "access/heapam.h"
#define GpucolCompatFreeze	HeapTupleFreeze
#else
#include "access/transam.h"
#include "storage/bufmgr.h"
#define GpucolCompatFreeze	xl_heap_freeze_tuple
#endif
static inline void
gpucol_compat_freeze(Relation rel, Buffer buffer, GpucolCompatFreeze *rows, int nrows)
{
#if PG_VERSION_NUM >= 170000
	START_CRIT_SECTION();
	heap_freeze_prepared_tuples(buffer, rows, nrows);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(rel))
		log_heap_prune_and_freeze(rel, buffer, InvalidTransactionId, false, PRUNE_VACUUM_SCAN, rows, nrows,
								  NULL, 0, NULL, 0, NULL, 0);
	END_CRIT_SECTION();
#elif PG_VERSION_NUM >= 160000
	heap_freeze_execute_prepared(rel, buffer, InvalidTransactionId, rows, nrows);
#else
	Page		page = BufferGetPage(buffer);

	START_CRIT_SECTION();
	for (int i = 0; i < nrows; i++)
		heap_execute_freeze_tuple((HeapTupleHeader) PageGetItem(page, PageGetItemId(page, rows[i].offset)), &rows[i]);
	MarkBufferDirty(buffer);
	if (RelationNeedsWAL(rel))
		PageSetLSN(page, log_heap_freeze(rel, buffer, ShmemVariableCache->oldestXid, rows, nrows));
	END_CRIT_SECTION();
#endif
}

/* Index entries of a new row; rechecks are left to constraint triggers. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_insert_index_tuples(info, slot, estate) \
	ExecInsertIndexTuples(info, slot, estate, false, false, NULL, NIL, false)
#else
#define gpucol_compat_insert_index_tuples(info, slot, estate) \
	ExecInsertIndexTuples(info, slot, estate, false, false, NULL, NIL)
#endif

/* Has the relation generated columns? */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_has_generated(constr) \
	((constr)->has_generated_stored || (constr)->has_generated_virtual)
#else
#define gpucol_compat_has_generated(constr)	((constr)->has_generated_stored)
#endif

/*
 * Does a constraint keep every row of a table from having NULL in column i?  From 18
 * on there are some that are not valid yet, of which older rows know nothing.
 */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_never_null(desc, i) \
	(TupleDescCompactAttr(desc, i)->attnullability == ATTNULLABLE_VALID)
#else
#define gpucol_compat_never_null(desc, i)	(TupleDescAttr(desc, i)->attnotnull)
#endif

/*
 * The receiver of CREATE TABLE AS (DR_intorel of commands/createas.c, which no
 * header tells; the same from 15 to 18).  Check what it names before use.
 */
#include "catalog/objectaddress.h"
#include "nodes/primnodes.h"
#include "tcop/dest.h"

typedef struct GpucolCompatIntoReceiver
{
	DestReceiver pub;
	IntoClause *into;
	Relation	rel;			/* NULL until it has started */
	ObjectAddress address;
	CommandId	cid;
	int			options;
	struct BulkInsertStateData *bistate;
} GpucolCompatIntoReceiver;

/* Is a locale one of PostgreSQL's own? */
#if PG_VERSION_NUM >= 170000
#define GPUCOL_COMPAT_IS_BUILTIN_PROVIDER(provider)	((provider) == COLLPROVIDER_BUILTIN)
#else
#define GPUCOL_COMPAT_IS_BUILTIN_PROVIDER(provider)	((void) (provider), false)
#endif

/* The range table entry that stands for grouping expressions, from 18 on. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_rte_is_group(rte)		((rte)->rtekind == RTE_GROUP)
#define gpucol_compat_rte_group_exprs(rte)	((rte)->groupexprs)
#define gpucol_compat_no_group_rte(query)	((query)->hasGroupRTE = false)
#define gpucol_compat_write_groups(query, node) \
	((query)->hasGroupRTE ? flatten_group_exprs(NULL, query, node) : (Node *) (node))
#else
#define gpucol_compat_rte_is_group(rte)		((void) (rte), false)
#define gpucol_compat_rte_group_exprs(rte)	((void) (rte), NIL)
#define gpucol_compat_no_group_rte(query)	((void) (query))
#define gpucol_compat_write_groups(query, node)	((void) (query), (Node *) (node))
#endif

/* A column above an outer join that may make it NULL says so from 16 on. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_set_nulled(var, join) \
	((var)->varnullingrels = bms_make_singleton(join))
#define gpucol_compat_is_nulled(var)	(!bms_is_empty((var)->varnullingrels))
#define gpucol_compat_set_not_nulled(var)	((var)->varnullingrels = NULL)
#define gpucol_compat_unnull(query, join) \
	(*(query) = *(Query *) remove_nulling_relids((Node *) (query), bms_make_singleton(join), NULL))
#else
#define gpucol_compat_set_nulled(var, join)	((void) (var), (void) (join))
#define gpucol_compat_is_nulled(var)	((void) (var), false)
#define gpucol_compat_set_not_nulled(var)	((void) (var))
#define gpucol_compat_unnull(query, join)	((void) (query), (void) (join))
#endif

/*
 * In 16 and 17, where a query behind an outer join is merged with the one around, columns of this
 * in its list are marked, too, which only plans of joins of PostgreSQL's own put up with.
 */
#define gpucol_compat_marks_lateral (PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 180000)

/* Has the path of a set operation both sides below it, not one path of all rows? */
#define gpucol_compat_setop_of_two (PG_VERSION_NUM >= 180000)

/* A query has no tables any more: neither what groups them, nor entries for their rights. */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_no_tables(query) \
	(gpucol_compat_no_group_rte(query), (void) ((query)->rteperminfos = NIL))
#else
#define gpucol_compat_no_tables(query)		gpucol_compat_no_group_rte(query)
#endif

/* The operators, and their number, by which a SetOp finds rows equal; from 18 on a sorted one orders them. */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_setop_operators(setop)	((setop)->cmpOperators)
#define gpucol_compat_setop_noperators(setop)	((setop)->strategy == SETOP_HASHED ? (setop)->numCols : 0)
#else
#define gpucol_compat_setop_operators(setop)	((setop)->dupOperators)
#define gpucol_compat_setop_noperators(setop)	((setop)->numCols)
#endif

/*
 * Have no more rights checked for a copy in `to` of a query's range table entry, which is read
 * as the same user.  From 16 on every table has an entry of its own for them, which may
 * not ask for nothing: the copy asks for what is asked for where it stands.
 */
#include "nodes/parsenodes.h"
#include "parser/parse_relation.h"
static inline void
gpucol_compat_no_permissions(Query *from, Query *to, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	RTEPermissionInfo *original;
	RTEPermissionInfo *copy;

	if (rte->perminfoindex == 0)
		return;
	original = getRTEPermissionInfo(from->rteperminfos, rte);
	rte->perminfoindex = 0;
	copy = addRTEPermissionInfo(&to->rteperminfos, rte);
	copy->checkAsUser = original->checkAsUser;
	copy->requiredPerms = original->requiredPerms & ACL_SELECT;
	copy->selectedCols = bms_copy(original->selectedCols);
#else
	(void) from;
	(void) to;
	rte->requiredPerms = 0;
#endif
}

/* The rights that a table of `from` asks for are asked for in `to`, which has it in its stead. */
static inline void
gpucol_compat_move_permissions(Query *from, Query *to, RangeTblEntry *rte)
{
#if PG_VERSION_NUM >= 160000
	gpucol_compat_no_permissions(from, to, rte);
#else
	(void) from;				/* they are the entry's own */
	(void) to;
	(void) rte;
#endif
}

/*
 * VACUUM of relations, each by transactions of its own, with what is allocated in a context that outlasts them.
 */
#if PG_VERSION_NUM >= 160000
#define gpucol_compat_vacuum(relations, params, context) \
	((params)->options |= VACOPT_PROCESS_MAIN | VACOPT_SKIP_DATABASE_STATS, \
	 vacuum(relations, params, NULL, context, true))
#else
#define gpucol_compat_vacuum(relations, params, context)	vacuum(relations, params, NULL, true)
#endif

/*
 * Does a step of an expression call a function (execExpr.h), statistics apart?  18 has steps of their
 * own for strict functions of one argument and of two.
 */
#if PG_VERSION_NUM >= 180000
#define gpucol_compat_calls_function(op) \
	((op) == EEOP_FUNCEXPR || (op) == EEOP_FUNCEXPR_STRICT || (op) == EEOP_FUNCEXPR_STRICT_1 || \
	 (op) == EEOP_FUNCEXPR_STRICT_2)
#else
#define gpucol_compat_calls_function(op)	((op) == EEOP_FUNCEXPR || (op) == EEOP_FUNCEXPR_STRICT)
#endif

/*
 * Look a time zone's abbreviation, in lower case, up: its type (UNKNOWN_FIELD: it is none), offset and zone.  False
 * if the configuration has an error.
 */
#include "utils/datetime.h"
static inline bool
gpucol_compat_decode_abbreviation(char *lower, int *type, int *offset, pg_tz **zone)
{
#if PG_VERSION_NUM >= 160000
	DateTimeErrorExtra extra;

	return DecodeTimezoneAbbrev(0, lower, type, offset, zone, &extra) == 0;
#else
	*type = DecodeTimezoneAbbrev(0, lower, offset, zone);
	return true;
#endif
}

#endif							/* GPUCOL_COMPAT_H */
