/*-------------------------------------------------------------------------
 *
 * am.c
 *	  The table access method: its routine and its handler.
 *
 * A gpucol table is a heap (the delta) with immutable packed segments beside it
 * in the same main fork; src/columnar/README tells the whole design.  The
 * routine therefore starts as a copy of heap's and replaces what has to know
 * about segments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/pg_am.h"
#include "fmgr.h"

#include "columnar/am.h"

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

/* Fill the routine on first use. */
static void
init_routine(void)
{
	gpucol_routine = *GetHeapamTableAmRoutine();

	gpucol_routine.relation_needs_toast_table = am_relation_needs_toast_table;
	gpucol_routine.relation_toast_am = am_relation_toast_am;
}

/* Is this relation's storage a gpucol table's? */
bool
gpucol_am_is_table(Relation rel)
{
	return rel->rd_tableam == &gpucol_routine;
}

Datum
gpucol_tableam_handler(PG_FUNCTION_ARGS pg_attribute_unused())
{
	if (gpucol_routine.type != T_TableAmRoutine)
		init_routine();
	PG_RETURN_POINTER(&gpucol_routine);
}
