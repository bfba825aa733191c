/*-------------------------------------------------------------------------
 *
 * service/activity.c
 *	  What server processes of this cluster do for long, and how far they have
 *	  come: the recursions and merges of gpucol.activity.
 *
 * A list of places in shared memory, made on first use by whoever comes first
 * (without preload it comes out of the spare part of shared memory).  A recursion or
 * merge takes a free one and writes its progress there, a recursion whenever its engine
 * asks whether to go on, several times a round.  Where all are taken, it is not listed.
 *
 * A process that dies without a word takes the cluster down, and the list with it;
 * one that exits ends what it does first.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "storage/spin.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "service/activity.h"
#include "compat.h"

#define PLACES			64
#define COLUMNS			10

typedef struct Place
{
	slock_t		lock;			/* protects the others */
	int			pid;			/* 0 = free */
	GpucolActivityKind kind;
	Oid			database;
	TimestampTz started;
	GpucolActivityState state;
} Place;

static Place *places = NULL;

PG_FUNCTION_INFO_V1(gpucol_work_list);

/* Attach to the list, making it if need be. */
static void
attach(void)
{
	bool		found;
	int			i;

	if (places != NULL)
		return;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	places = ShmemInitStruct("gpucol activity", sizeof(Place) * PLACES, &found);
	if (!found)
	{
		memset(places, 0, sizeof(Place) * PLACES);
		for (i = 0; i < PLACES; i++)
			SpinLockInit(&places[i].lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

GpucolActivity
gpucol_activity_begin(GpucolActivityKind kind)
{
	TimestampTz now = GetCurrentTimestamp();
	int			i;

	attach();
	for (i = 0; i < PLACES; i++)
	{
		bool		taken;

		SpinLockAcquire(&places[i].lock);
		taken = places[i].pid != 0;
		if (!taken)
		{
			places[i].pid = MyProcPid;
			places[i].kind = kind;
			places[i].database = MyDatabaseId;
			places[i].started = now;
			memset(&places[i].state, 0, sizeof(places[i].state));
		}
		SpinLockRelease(&places[i].lock);
		if (!taken)
			return i + 1;
	}
	return 0;
}

void
gpucol_activity_update(GpucolActivity activity, const GpucolActivityState *state)
{
	Place	   *place = &places[activity - 1];

	if (activity == 0)
		return;
	SpinLockAcquire(&place->lock);
	place->state = *state;
	SpinLockRelease(&place->lock);
}

void
gpucol_activity_end(GpucolActivity activity)
{
	if (activity == 0)
		return;
	SpinLockAcquire(&places[activity - 1].lock);
	places[activity - 1].pid = 0;
	SpinLockRelease(&places[activity - 1].lock);
}

/* Fill in the columns that only recursions, or only the others, have. */
static void
put_state(const Place *place, Datum *values, bool *nulls)
{
	const GpucolActivityState *state = &place->state;
	bool		recursion = place->kind == GPUCOL_ACTIVITY_RECURSION;

	values[1] = recursion ?
		CStringGetTextDatum(psprintf("recursion on %s: %s",
									 state->engine[0] ? state->engine : "cpu",
									 state->method[0] ? state->method : "loading")) :
		CStringGetTextDatum(place->kind == GPUCOL_ACTIVITY_MERGE ? "merge" : "packing");
	nulls[3] = nulls[4] = !recursion;
	values[3] = Int64GetDatum((int64) state->rounds);
	values[4] = Int64GetDatum((int64) state->delta);
	nulls[8] = nulls[9] = recursion;
	values[8] = ObjectIdGetDatum(state->relation);
	values[9] = Float8GetDatum(state->progress);
}

/*
 * gpucol.work_list() returns setof (pid, state, seconds, round, delta, full_rows,
 * bytes, database, relation, progress)
 */
Datum
gpucol_work_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentTimestamp();
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	attach();
	for (i = 0; i < PLACES; i++)
	{
		Place		place;
		Datum		values[COLUMNS];
		bool		nulls[COLUMNS] = {false};

		SpinLockAcquire(&places[i].lock);
		place = places[i];
		SpinLockRelease(&places[i].lock);
		if (place.pid == 0)
			continue;
		values[0] = Int32GetDatum(place.pid);
		values[2] = Float8GetDatum((double) (now - place.started) / USECS_PER_SEC);
		values[5] = Int64GetDatum((int64) place.state.rows);
		values[6] = Int64GetDatum((int64) place.state.bytes);
		values[7] = ObjectIdGetDatum(place.database);
		put_state(&place, values, nulls);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	return (Datum) 0;
}
