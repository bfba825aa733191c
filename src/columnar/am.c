/*-------------------------------------------------------------------------
 *
 * am.c
 *	  The table access method: its routine and its handler.
 *
 * A gpucol table is a heap (the delta) with immutable packed segments beside it
 * in the same main fork; src/columnar/README leads to the whole design.  The
 * routine therefore starts as a copy of heap's and replaces what has to know
 * about segments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/table.h"
#include "access/tableam.h"
#include "catalog/heap.h"
#include "catalog/pg_am.h"
#include "fmgr.h"
#include "utils/syscache.h"

#include "columnar/ahead.h"
#include "columnar/am.h"
#include "columnar/bitmap.h"
#include "columnar/burials.h"
#include "columnar/delta_check.h"
#include "columnar/directory.h"
#include "columnar/fetch.h"
#include "columnar/index_build.h"
#include "columnar/index_dead.h"
#include "columnar/insert.h"
#include "columnar/modify.h"
#include "columnar/rewrite.h"
#include "columnar/sample.h"
#include "columnar/scan.h"
#include "columnar/segment.h"
#include "columnar/slot.h"
#include "columnar/vacuum.h"
#include "columnar/writer.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(gpucol_tableam_handler);

static TableAmRoutine gpucol_routine;

/*
 * The TOAST relation holds large delta values and the segment directory, so
 * every table has one.
 */
static bool
am_relation_needs_toast_table(Relation rel pg_attribute_unused())
{
	return true;
}

/* TOAST relations are plain heap. */
static Oid
am_relation_toast_am(Relation rel pg_attribute_unused())
{
	return HEAP_TABLE_AM_OID;
}

/*
 * TRUNCATE of a table whose storage this transaction made, and the end of a transaction
 * for a temporary table with ON COMMIT DELETE ROWS, empty the storage in place.  The
 * caller empties the TOAST relation last; but it builds the indexes before, which must
 * not find a directory of segments that are gone.
 */
static void
am_relation_nontransactional_truncate(Relation rel)
{
	Relation	toast = table_open(rel->rd_rel->reltoastrelid, AccessExclusiveLock);

	gpucol_writer_forget(rel);
	gpucol_segment_forget(rel);
	GetHeapamTableAmRoutine()->relation_nontransactional_truncate(rel);
	heap_truncate_one_rel(toast);
	table_close(toast, NoLock); /* keep the lock, as the caller does */
}

/* A table is made, or TRUNCATE gives it new storage. */
static void
am_relation_set_new_file(Relation rel, const GpucolCompatFile *file, char persistence,
						 TransactionId *freeze_xid, MultiXactId *min_multi)
{
	gpucol_directory_drop_invalid_indexes(rel);
	GetHeapamTableAmRoutine()->gpucol_compat_relation_set_new_file(rel, file, persistence,
																  freeze_xid, min_multi);
}

/* The storage moves to another tablespace as it is. */
static void
am_relation_copy_data(Relation rel, const GpucolCompatFile *file)
{
	gpucol_writer_flush(rel);
	GetHeapamTableAmRoutine()->relation_copy_data(rel, file);
}

/* VACUUM, once the pages of the delta have been looked at. */
static void
am_relation_vacuum(Relation rel, struct VacuumParams *params, BufferAccessStrategy strategy)
{
	gpucol_delta_check_table(rel, false, strategy);
	gpucol_vacuum_rel(rel, params, strategy);
}

/* Which index entries are dead to everybody?  No row is that a statement in progress has claimed. */
static TransactionId
am_index_delete_tuples(Relation rel, TM_IndexDeleteOp *op)
{
	bool		held = gpucol_burials_hold(true);
	TransactionId latest = gpucol_index_dead_tuples(rel, op);

	(void) gpucol_burials_hold(held);
	return latest;
}

/* Fill the routine on first use. */
static void
init_routine(void)
{
	TableAmRoutine *am = &gpucol_routine;

	*am = *GetHeapamTableAmRoutine();

	am->slot_callbacks = gpucol_slot_callbacks;

	am->scan_begin = gpucol_scan_begin;
	am->scan_end = gpucol_scan_end;
	am->scan_rescan = gpucol_scan_rescan;
	am->scan_getnextslot = gpucol_scan_getnextslot;
	am->scan_set_tidrange = gpucol_scan_set_tidrange;
	am->scan_getnextslot_tidrange = gpucol_scan_getnextslot_tidrange;
	am->parallelscan_estimate = gpucol_scan_parallel_estimate;
	am->parallelscan_initialize = gpucol_scan_parallel_initialize;
	am->parallelscan_reinitialize = gpucol_scan_parallel_reinitialize;

	am->index_fetch_begin = gpucol_index_fetch_begin;
	am->index_fetch_reset = gpucol_index_fetch_reset;
	am->index_fetch_end = gpucol_index_fetch_end;
	am->index_fetch_tuple = gpucol_index_fetch_tuple;

	am->tuple_fetch_row_version = gpucol_fetch_row_version;
	am->tuple_tid_valid = gpucol_fetch_tid_valid;
	am->tuple_get_latest_tid = gpucol_fetch_latest_tid;
	am->tuple_satisfies_snapshot = gpucol_fetch_satisfies_snapshot;
	am->index_delete_tuples = am_index_delete_tuples;

	am->tuple_insert = gpucol_insert_tuple;
	am->multi_insert = gpucol_insert_multi;
	am->finish_bulk_insert = gpucol_insert_finish_bulk;
	am->tuple_delete = gpucol_modify_delete;
	am->tuple_update = gpucol_modify_update;
	am->tuple_lock = gpucol_modify_lock;

	am->index_build_range_scan = gpucol_index_build_range_scan;
	am->index_validate_scan = gpucol_index_validate_scan;

	am->scan_analyze_next_block = gpucol_analyze_next_block;
	am->scan_analyze_next_tuple = gpucol_analyze_next_tuple;
	am->scan_sample_next_block = gpucol_sample_next_block;
	am->scan_sample_next_tuple = gpucol_sample_next_tuple;
#if !GPUCOL_COMPAT_BITMAP_STREAM
	am->scan_bitmap_next_block = gpucol_bitmap_next_block;
#endif
	am->scan_bitmap_next_tuple = gpucol_bitmap_next_tuple;
	am->relation_size = gpucol_sample_relation_size;
	am->relation_estimate_size = gpucol_estimate_rel_size;
	am->relation_vacuum = am_relation_vacuum;
	am->relation_copy_for_cluster = gpucol_rewrite_copy;

	am->gpucol_compat_relation_set_new_file = am_relation_set_new_file;
	am->relation_nontransactional_truncate = am_relation_nontransactional_truncate;
	am->relation_copy_data = am_relation_copy_data;
	am->relation_needs_toast_table = am_relation_needs_toast_table;
	am->relation_toast_am = am_relation_toast_am;

	gpucol_writer_init();
	gpucol_ahead_init();
}

/* Is this relation's storage a gpucol table's? */
bool
gpucol_am_is_table(Relation rel)
{
	return rel->rd_tableam == &gpucol_routine;
}

bool
gpucol_am_is_method(Oid am)
{
	HeapTuple	tuple = SearchSysCache1(AMOID, ObjectIdGetDatum(am));
	bool		result = false;

	if (HeapTupleIsValid(tuple))
	{
		Form_pg_am	method = (Form_pg_am) GETSTRUCT(tuple);

		result = method->amtype == AMTYPE_TABLE &&
			GetTableAmRoutine(method->amhandler) == &gpucol_routine;
		ReleaseSysCache(tuple);
	}
	return result;
}

bool
gpucol_am_is_gpucol(Oid relid)
{
	Relation	rel = table_open(relid, NoLock);
	bool		result = gpucol_am_is_table(rel);

	table_close(rel, NoLock);
	return result;
}

Datum
gpucol_tableam_handler(PG_FUNCTION_ARGS pg_attribute_unused())
{
	if (gpucol_routine.type != T_TableAmRoutine)
		init_routine();
	PG_RETURN_POINTER(&gpucol_routine);
}
