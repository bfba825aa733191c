/*-------------------------------------------------------------------------
 *
 * activity.c
 *	  Which recursions run in this cluster, and how far they have come: the
 *	  recursions of gpucol.activity.
 *
 * A list of places in shared memory, made on first use by whoever comes first
 * (without preload it comes out of the spare part of shared memory).  A run takes a
 * free one and writes its progress there whenever its engine asks whether to go on,
 * several times a round.  Where all are taken, a run is not listed.
 *
 * A process that dies without a word takes the cluster down, and the list with it;
 * one that exits ends its runs first.
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

#include "compat.h"
#include "datalog/activity.h"

#define PLACES			64
#define NAME_LENGTH		32

typedef struct Place
{
	slock_t		lock;			/* protects the others */
	int			pid;			/* 0 = free */
	TimestampTz started;
	uint64		rounds;
	uint64		delta;
	uint64		full;
	uint64		bytes;
	char		engine[NAME_LENGTH];
	char		method[NAME_LENGTH];
} Place;

static Place *places = NULL;

PG_FUNCTION_INFO_V1(gpucol_recursion_list);

/* Attach to the list, making it if need be. */
static void
attach(void)
{
	bool		found;
	int			i;

	if (places != NULL)
		return;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	places = ShmemInitStruct("gpucol recursions", sizeof(Place) * PLACES, &found);
	if (!found)
	{
		memset(places, 0, sizeof(Place) * PLACES);
		for (i = 0; i < PLACES; i++)
			SpinLockInit(&places[i].lock);
	}
	LWLockRelease(AddinShmemInitLock);
}

GpucolActivity
gpucol_activity_begin(void)
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
			places[i].started = now;
			places[i].rounds = places[i].delta = places[i].full = 0;
			places[i].bytes = 0;
			places[i].engine[0] = places[i].method[0] = '\0';
		}
		SpinLockRelease(&places[i].lock);
		if (!taken)
			return i + 1;
	}
	return 0;
}

void
gpucol_activity_update(GpucolActivity activity, const GpucolRecProgress *progress)
{
	Place	   *place = &places[activity - 1];

	if (activity == 0)
		return;
	SpinLockAcquire(&place->lock);
	place->rounds = progress->rounds;
	place->delta = progress->delta;
	place->full = progress->full;
	place->bytes = progress->bytes;
	strlcpy(place->engine, progress->engine ? progress->engine : "", NAME_LENGTH);
	strlcpy(place->method, progress->method ? progress->method : "", NAME_LENGTH);
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

/*
 * gpucol.recursion_list() returns setof (pid, state, seconds, round, delta,
 * full_rows, bytes)
 */
Datum
gpucol_recursion_list(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	TimestampTz now = GetCurrentTimestamp();
	int			i;

	InitMaterializedSRF(fcinfo, 0);
	attach();
	for (i = 0; i < PLACES; i++)
	{
		Place		place;
		Datum		values[7];
		bool		nulls[7] = {false};

		SpinLockAcquire(&places[i].lock);
		place = places[i];
		SpinLockRelease(&places[i].lock);
		if (place.pid == 0)
			continue;
		values[0] = Int32GetDatum(place.pid);
		values[1] = CStringGetTextDatum(psprintf("recursion on %s: %s",
												 place.engine[0] ? place.engine : "cpu",
												 place.method[0] ? place.method : "loading"));
		values[2] = Float8GetDatum((double) (now - place.started) / USECS_PER_SEC);
		values[3] = Int64GetDatum((int64) place.rounds);
		values[4] = Int64GetDatum((int64) place.delta);
		values[5] = Int64GetDatum((int64) place.full);
		values[6] = Int64GetDatum((int64) place.bytes);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	return (Datum) 0;
}
