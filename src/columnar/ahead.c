/*-------------------------------------------------------------------------
 *
 * ahead.c
 *	  INSERT ... SELECT reads ahead to see whether it is a load.
 *
 * Few rows go to the delta, a load to segments (insert.c).  A row's place is final once it
 * is inserted: index entries and triggers know it.  So before its first row is inserted,
 * an INSERT into a gpucol table, or a partitioned table that has one, fetches up to
 * GPUCOL_BULK_ROWS rows of its source and keeps them.  If there are so many, or they take
 * as much memory as AHEAD_BYTES, the command is announced as a load.
 *
 * Nobody may notice that the source is ahead of the table.  It reads the table under the
 * statement's snapshot, which sees none of the new rows; but a function that is not
 * PostgreSQL's may look at them, and so may a source that waits for what triggers of the
 * table have done before each row.  Such statements insert row by row as they did.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "executor/executor.h"
#include "partitioning/partdesc.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "columnar/ahead.h"
#include "columnar/am.h"
#include "columnar/insert.h"
#include "columnar/writer.h"
#include "service/memory.h"

/* Bytes of rows that are kept at most; a few wide rows are a load, too. */
#define AHEAD_BYTES		((Size) 4 * 1024 * 1024)

/* The source of one INSERT. */
typedef struct Ahead
{
	struct Ahead *next;
	PlanState  *source;
	ExecProcNodeMtd fetch;		/* the source's own */
	EState	   *estate;
	MemoryContext context;		/* of the rows */
	TupleTableSlot *slot;		/* which they are given in */
	MinimalTuple *rows;
	int			nrows;
	int			given;
	bool		begun;
	bool		ended;			/* the source has no more */
} Ahead;

static Ahead *all = NULL;
static ExecutorStart_hook_type previous_start = NULL;

/* Memory context callback: the statement ends. */
static void
forget(void *arg)
{
	for (Ahead **at = &all; *at != NULL; at = &(*at)->next)
	{
		if (*at == arg)
		{
			*at = (*at)->next;
			return;
		}
	}
}

/* Call the source's own function, which may replace itself. */
static TupleTableSlot *
fetch(Ahead *ahead)
{
	PlanState  *source = ahead->source;
	ExecProcNodeMtd ours = source->ExecProcNode;
	TupleTableSlot *slot;

	source->ExecProcNode = ahead->fetch;
	slot = ExecProcNode(source);
	ahead->fetch = source->ExecProcNode;
	source->ExecProcNode = ours;
	if (TupIsNull(slot))
		ahead->ended = true;
	return slot;
}

/* Keep the first rows; announce a load. */
static void
read_ahead(Ahead *ahead)
{
	int			most = Max(GPUCOL_BULK_ROWS, 1);
	Size		bytes = 0;

	ahead->begun = true;
	ahead->rows = MemoryContextAlloc(ahead->context, most * sizeof(MinimalTuple));
	while (ahead->nrows < most && bytes < AHEAD_BYTES)
	{
		TupleTableSlot *slot = fetch(ahead);
		MemoryContext old;

		if (TupIsNull(slot))
			return;
		old = MemoryContextSwitchTo(ahead->context);
		ahead->rows[ahead->nrows] = ExecCopySlotMinimalTuple(slot);
		MemoryContextSwitchTo(old);
		bytes += ahead->rows[ahead->nrows++]->t_len;
	}
	gpucol_insert_announce(ahead->estate->es_output_cid);
}

/* The source's next row. */
static TupleTableSlot *
next_row(PlanState *source)
{
	Ahead	   *ahead = all;

	while (ahead != NULL && ahead->source != source)
		ahead = ahead->next;
	if (ahead == NULL)
		elog(ERROR, "a source is read ahead that is not known");
	if (!ahead->begun)
		read_ahead(ahead);
	if (ahead->given < ahead->nrows)
	{
		ExecForceStoreMinimalTuple(ahead->rows[ahead->given++], ahead->slot, false);
		return ahead->slot;
	}
	if (ahead->ended)
		return NULL;
	MemoryContextReset(ahead->context);
	source->ExecProcNode = ahead->fetch;
	return ExecProcNode(source);
}

/* Is a table, which is locked or a partition of one that is, of the access method? */
static bool
is_gpucol(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			am = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		am = ((Form_pg_class) GETSTRUCT(tuple))->relam;
		ReleaseSysCache(tuple);
	}
	return OidIsValid(am) && gpucol_am_is_method(am);
}

/* Is it a gpucol table, or has a partition that is one? */
static bool
takes_segments(Relation table)
{
	PartitionDesc parts;

	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return gpucol_am_is_table(table);
	parts = RelationGetPartitionDesc(table, true);
	for (int i = 0; i < parts->nparts; i++)
	{
		if (!parts->is_leaf[i] || is_gpucol(parts->oids[i]))
			return true;
	}
	return false;
}

/* Could somebody notice that the source is ahead of the table? */
static bool
is_noticed(const PlannedStmt *statement, const ResultRelInfo *target)
{
	const TriggerDesc *triggers = target->ri_TrigDesc;

	/* invalItems has the functions and domains that are not PostgreSQL's */
	return statement->invalItems != NIL ||
		(triggers != NULL &&
		 (triggers->trig_insert_before_row || triggers->trig_insert_instead_row));
}

/* Can a source give more than one row? */
static bool
gives_rows(const PlanState *source)
{
	return source != NULL && !(IsA(source, ResultState) && outerPlanState(source) == NULL);
}

/* The INSERT of a statement that changes nothing else, also one in WITH; or NULL. */
static ModifyTableState *
find_insert(const QueryDesc *query)
{
	List	   *others = query->estate->es_auxmodifytables;
	PlanState  *change = query->planstate;

	if (!IsA(change, ModifyTableState) && list_length(others) == 1)
		change = linitial(others);
	else if (others != NIL)
		return NULL;
	return IsA(change, ModifyTableState) &&
		((ModifyTableState *) change)->operation == CMD_INSERT ? (ModifyTableState *) change : NULL;
}

/* Read ahead of an INSERT that begins, where it may. */
static void
prepare(const QueryDesc *query, ModifyTableState *insert)
{
	PlanState  *source = outerPlanState(insert);
	EState	   *estate = query->estate;
	MemoryContext old;
	const TupleTableSlotOps *ops;
	Ahead	   *ahead;

	if (!gives_rows(source) || is_noticed(query->plannedstmt, insert->resultRelInfo) ||
		!takes_segments(insert->resultRelInfo->ri_RelationDesc) ||
		((ModifyTable *) insert->ps.plan)->onConflictAction != ONCONFLICT_NONE)
		return;
	old = MemoryContextSwitchTo(estate->es_query_cxt);
	ops = ExecGetResultSlotOps(source, NULL);
	ahead = palloc0(sizeof(Ahead));
	ahead->source = source;
	ahead->fetch = source->ExecProcNode;
	ahead->estate = estate;
	ahead->context = AllocSetContextCreate(estate->es_query_cxt, "gpucol rows ahead",
										   ALLOCSET_DEFAULT_SIZES);
	ahead->slot = ExecInitExtraTupleSlot(estate, ExecGetResultType(source), ops);
	gpucol_memory_watch(estate->es_query_cxt, forget, ahead);
	ahead->next = all;
	all = ahead;
	source->ExecProcNode = next_row;
	MemoryContextSwitchTo(old);
}

static void
start_query(QueryDesc *query, int eflags)
{
	if (previous_start)
		previous_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && find_insert(query) != NULL)
		prepare(query, find_insert(query));
}

void
gpucol_ahead_init(void)
{
	previous_start = ExecutorStart_hook;
	ExecutorStart_hook = start_query;
}
