/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  Loading a table's columns into device memory: gpucol.prefetch(regclass), and
 *	  what a query does that finds little there; gpucol.evict(regclass).  Of a partitioned
 *	  table: those of its partitions, one after the other.
 *
 * One thread verifies and copies pages at a few GB/s, a device takes more than 50; to
 * pin pages, which threads may not do, takes a process 0.2 to 0.4 us a page.  So a
 * large table is loaded by three processes with threads each (engine/gpu/load.c):
 * this one, which begins at once, and parallel workers, which take some 10 ms to start.
 * Where pages must be read first, that is what takes long, and there are as many
 * processes as processors, with a thread each.  The segments are dealt by a counter
 * that they share.
 *
 * The workers are PostgreSQL's, from max_parallel_workers; without any, this process
 * loads with more threads.  Processes and threads are together as many as
 * gpucol.cpu_threads says.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/ipc.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "columnar/rights.h"
#include "columnar/source.h"
#include "columnar/typemap.h"
#include "columnar/writer.h"
#include "compat.h"
#include "engine/gpu/client.h"
#include "engine/gpu/wire.h"
#include "exec/device.h"
#include "exec/prefetch.h"
#include "lower/clauses.h"
#include "service/memory.h"
#include "service/supervisor.h"
#include "service/threads.h"

PG_FUNCTION_INFO_V1(gpucol_prefetch);
PG_FUNCTION_INFO_V1(gpucol_evict);

/* What is missing below this is loaded by the run itself. */
#define WORTH_BYTES		(32.0 * 1024 * 1024)

/* Pages that are worth a worker: to be read, or in shared buffers. */
#define PAGES_PER_READER	4096
#define PAGES_PER_WORKER	65536

/* Processes that load what lies in shared buffers. */
#define MAX_PROCESSES		3

/* The share of columns on the devices above which no worker is started. */
#define LOADED				0.75

/* Pages that are looked for in shared buffers, and how many must be there. */
#define SAMPLE_PAGES		64
#define SAMPLE_BUFFERED		56

/* Parts of the shared memory. */
#define KEY_SHARED		UINT64CONST(0x6770000000000001)
#define KEY_PROGRAM		UINT64CONST(0x6770000000000002)

typedef struct Shared
{
	Oid			relid;
	int			nthreads;		/* of each process, beside its own */
	GpucolGpuPrefetch figures;
	pg_atomic_uint32 failed;	/* a worker has claimed the two below */
	GpucolStatus status;
	char		why[200];
} Shared;

extern PGDLLEXPORT void gpucol_prefetch_worker(dsm_segment *seg, shm_toc *toc);

/* A program that reads columns and does nothing; attnums NULL: all but bytes. */
static GpucolProgram *
make_program(Relation rel, const Bitmapset *attnums)
{
	TupleDesc	desc = RelationGetDescr(rel);
	Size		size = MAXALIGN(sizeof(GpucolProgram)) + desc->natts * sizeof(GpucolProgramColumn);
	GpucolProgram *program = palloc0(size);
	GpucolProgramColumn *columns = (GpucolProgramColumn *)
		((char *) program + MAXALIGN(sizeof(GpucolProgram)));

	program->magic = GPUCOL_PROGRAM_MAGIC;
	program->version = GPUCOL_PROGRAM_VERSION;
	program->kind = GPUCOL_PROGRAM_AGG;
	program->filter = GPUCOL_NO_REG;
	program->columns = (char *) columns - (char *) program;
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		GpucolProgramColumn *column = &columns[program->ncolumns];
		GpucolTypeMap map;

		if (att->attisdropped || (attnums != NULL && !bms_is_member(att->attnum, attnums)))
			continue;
		gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
		if (map.kind == GPUCOL_KIND_BYTES)
			continue;
		column->attnum = att->attnum;
		column->kind = map.kind;
		column->scale = map.scale;
		column->type_oid = att->atttypid;
		program->ncolumns++;
	}
	program->size = program->columns + program->ncolumns * sizeof(GpucolProgramColumn);
	program->consts = program->ranges = program->instrs = program->columns;
	program->reg_classes = program->keys = program->aggs = program->columns;
	return program;
}

/* An error or the end of the process while threads read pinned pages. */
static void
abandon(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	gpucol_gpu_load_abandon();
}

/* One process's part, by so many threads beside its own; 0: as gpucol_gpu_prefetch does. */
static GpucolStatus
load(Relation rel, const GpucolProgram *program, int nthreads,
	 GpucolGpuPrefetch *figures, const char **why)
{
	GpucolSource *source;
	GpucolStatus status;

	source = gpucol_source_open(rel, GetActiveSnapshot(),
								GPUCOL_PROGRAM_ARRAY(program, GpucolProgramColumn, columns),
								program->ncolumns, NULL);
	PG_ENSURE_ERROR_CLEANUP(abandon, (Datum) 0);
	{
		status = nthreads > 0 ?
			gpucol_gpu_load(program, source, Min(nthreads, gpucol_threads_wanted(nthreads)),
							gpucol_memory_session(), figures, why) :
			gpucol_gpu_prefetch(program, source, figures, why);
	}
	PG_END_ENSURE_ERROR_CLEANUP(abandon, (Datum) 0);
	source->ops->close(source);
	return status;
}

/* Main function of a worker. */
void
gpucol_prefetch_worker(dsm_segment *seg pg_attribute_unused(), shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	Relation	rel = table_open(shared->relid, AccessShareLock);
	const char *why = "";
	GpucolStatus status;

	status = load(rel, shm_toc_lookup(toc, KEY_PROGRAM, false), shared->nthreads,
				  &shared->figures, &why);
	table_close(rel, AccessShareLock);
	if (status == GPUCOL_OK || pg_atomic_fetch_add_u32(&shared->failed, 1) > 0)
		return;
	shared->status = status;
	strlcpy(shared->why, why, sizeof(shared->why));
}

/* Put a block of shared memory under a key. */
static void *
allocate(ParallelContext *pcxt, uint64 key, Size size)
{
	void	   *p = shm_toc_allocate(pcxt->toc, size);

	memset(p, 0, size);
	shm_toc_insert(pcxt->toc, key, p);
	return p;
}

/* Load with so many workers, or as many as can be had, with so many threads each. */
static GpucolStatus
load_together(Relation rel, const GpucolProgram *program, int nworkers, int nthreads,
			  GpucolGpuPrefetch *figures, const char **why)
{
	ParallelContext *pcxt;
	Shared	   *shared;
	GpucolStatus status;
	static char reason[200];

	GpucolWire *wire = gpucol_wire_acquire(NULL, why);	/* starts the daemon if need be */

	if (wire == NULL)
		return GPUCOL_DEVICE_LOST;
	gpucol_wire_release(wire);
	EnterParallelMode();
	pcxt = CreateParallelContext("gpucol", "gpucol_prefetch_worker", nworkers);
	shm_toc_estimate_chunk(&pcxt->estimator, sizeof(Shared));
	shm_toc_estimate_chunk(&pcxt->estimator, program->size);
	shm_toc_estimate_keys(&pcxt->estimator, 2);
	InitializeParallelDSM(pcxt);
	shared = allocate(pcxt, KEY_SHARED, sizeof(Shared));
	shared->relid = RelationGetRelid(rel);
	shared->nthreads = nthreads;
	shared->figures = *figures;
	pg_atomic_init_u32(&shared->failed, 0);
	memcpy(allocate(pcxt, KEY_PROGRAM, program->size), program, program->size);
	LaunchParallelWorkers(pcxt);
	ereport(DEBUG1,
			(errmsg_internal("gpucol: %d workers, %d threads each load columns of table \"%s\"",
							 pcxt->nworkers_launched, nthreads, RelationGetRelationName(rel))));
	status = load(rel, program, nthreads, &shared->figures, why);
	WaitForParallelWorkersToFinish(pcxt);
	*figures = shared->figures;
	if (status == GPUCOL_OK && pg_atomic_read_u32(&shared->failed) > 0)
	{
		status = shared->status;
		strlcpy(reason, shared->why, sizeof(reason));
		*why = reason;
	}
	DestroyParallelContext(pcxt);
	ExitParallelMode();
	return status;
}

/* May others help this process with a table? */
static bool
may_share(Relation rel)
{
	return !IsParallelWorker() && !RelationUsesLocalBuffers(rel);
}

/* Does nearly all of a table lie in shared buffers? */
static bool
is_buffered(Relation rel)
{
	uint64		pages = RelationGetNumberOfBlocks(rel);
	int			found = 0;

	for (uint64 i = 0; i < SAMPLE_PAGES && pages > 0; i++)
		found += BufferIsValid(PrefetchBuffer(rel, MAIN_FORKNUM, pages * i / SAMPLE_PAGES).recent_buffer);
	return found >= SAMPLE_BUFFERED;
}

/*
 * The share of the program's columns that is on the devices, as far as is known; *cold:
 * nothing is.
 */
static double
find_resident(Relation rel, const GpucolProgram *program, bool *cold)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program, GpucolProgramColumn, columns);
	Bitmapset  *attnums = NULL;

	for (int i = 0; i < program->ncolumns; i++)
		attnums = bms_add_member(attnums, columns[i].attnum);
	gpucol_wire_meet();
	*cold = gpucol_device_resident(rel, attnums, 1) == 0;
	return gpucol_device_resident(rel, attnums, rel->rd_rel->reltuples);
}

/*
 * Workers that are worth it for the columns of a program, threads beside each process's
 * own, and whether nothing is on the devices.
 */
static void
plan_work(Relation rel, const GpucolProgram *program, int *nworkers, int *nthreads, bool *cold)
{
	BlockNumber pages = RelationGetNumberOfBlocks(rel);
	double		share = (double) program->ncolumns / Max(RelationGetNumberOfAttributes(rel), 1);
	int			processors = gpucol_cost_threads(pages);
	bool		buffered;

	*nworkers = *nthreads = 0;
	*cold = false;
	if (processors < 2 || !may_share(rel))
		return;
	buffered = is_buffered(rel);
	*nworkers = Min(buffered ? Min((int) (pages * share / PAGES_PER_WORKER), MAX_PROCESSES - 1) :
					(int) (pages * share / PAGES_PER_READER),
					Min(max_parallel_workers, buffered ? processors / 2 - 1 : processors - 1));
	if (find_resident(rel, program, cold) > LOADED)
		*nworkers = 0;
	*nthreads = Max((processors - 1) / (*nworkers + 1), 1);
}

/* Load the columns of a program. */
static GpucolStatus
load_columns(Relation rel, const GpucolProgram *program, GpucolGpuPrefetch *figures,
			 const char **why)
{
	GpucolStatus status;
	int			nworkers;
	int			nthreads;

	memset(figures, 0, sizeof(*figures));
	/* rows that this transaction has buffered; parallel mode forbids to write */
	gpucol_writer_flush(rel);
	plan_work(rel, program, &nworkers, &nthreads, &figures->cold);
	if (nworkers > 0)
		status = load_together(rel, program, nworkers, nthreads, figures, why);
	else
	{
		ereport(DEBUG1,
				(errmsg_internal("gpucol: %d threads load columns of table \"%s\"",
								 nthreads, RelationGetRelationName(rel))));
		status = load(rel, program, nthreads, figures, why);
	}
	if (status != GPUCOL_OK || figures->left == 0)
		return status;
	figures->resident = 0;		/* they are counted anew */
	return load(rel, program, 0, figures, why);
}

/* Load columns of a table that a run is going to read, where that is worth it. */
static void
prefetch_columns(Relation rel, Bitmapset *attnums)
{
	GpucolDeviceEstimate estimate = {0};
	GpucolGpuPrefetch figures;
	const char *why;

	gpucol_device_count(rel, attnums, &estimate);
	if (estimate.bytes - estimate.resident >= WORTH_BYTES && may_share(rel))
		(void) load_columns(rel, make_program(rel, attnums), &figures, &why);
}

void
gpucol_prefetch_for(GpucolExec *exec)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(exec->program, GpucolProgramColumn, columns);
	Bitmapset  *attnums = NULL;
	GpucolDeviceEstimate estimate;

	if ((exec->rel == NULL && exec->nparts == 0) || exec->parallel != NULL ||
		exec->source->storage[0] == 0)
		return;
	for (int i = 0; i < exec->program->ncolumns; i++)
		if (columns[i].kind != GPUCOL_KIND_BYTES)
			attnums = bms_add_member(attnums, columns[i].attnum);
	if (attnums == NULL)
		return;
	gpucol_device_estimate(exec, attnums, &estimate);
	if (!estimate.fits)
		return;
	for (int i = 0; i < exec->nparts; i++)
		prefetch_columns(exec->parts[i].rel, gpucol_run_part_columns(&exec->parts[i], attnums));
	if (exec->nparts == 0)
		prefetch_columns(exec->rel, attnums);
}

/* Load a table; the number of bytes that were sent. */
static int64
prefetch_table(Relation rel)
{
	const char *why = NULL;
	GpucolGpuPrefetch figures;
	GpucolStatus status = load_columns(rel, make_program(rel, NULL), &figures, &why);
	if (status != GPUCOL_OK)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("could not load table \"%s\" into device memory", RelationGetRelationName(rel)),
				 errdetail("Reason: %s.", why),
				 errhint("Queries load what they need of it; gpucol.evict(regclass) makes room for it.")));
	return figures.sent;
}

Datum
gpucol_prefetch(PG_FUNCTION_ARGS)
{
	List	   *tables = gpucol_rights_lock_tables(PG_GETARG_OID(0), GPUCOL_RIGHT_SELECT, AccessShareLock);
	const char *why = NULL;
	int64		sent = 0;
	ListCell   *lc;

	if (!gpucol_engine_cuda.available(&why))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("CUDA engine is not available"),
				 errdetail("Reason: %s.", why),
				 errhint("Queries run on the CPU engine, which reads shared buffers: pg_prewarm loads tables there.")));
	foreach(lc, tables)
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		sent += prefetch_table(rel);
		table_close(rel, AccessShareLock);
	}
	PG_RETURN_INT64(sent);
}

/* gpucol.evict(regclass): bytes of device memory given back; NULL: all tables. */
Datum
gpucol_evict(PG_FUNCTION_ARGS)
{
	uint64		storage[2] = {0, 0};
	int64		freed = 0;
	ListCell   *lc;

	if (PG_ARGISNULL(0))
		PG_RETURN_INT64(gpucol_service_evict(storage));
	foreach(lc, gpucol_rights_lock_tables(PG_GETARG_OID(0), GPUCOL_RIGHT_NONE, AccessShareLock))
	{
		Relation	rel = table_open(lfirst_oid(lc), NoLock);

		storage[0] = (uint64) MyDatabaseId << 32 | gpucol_compat_relation_space(rel);
		storage[1] = gpucol_compat_relation_file(rel);
		table_close(rel, AccessShareLock);
		freed += gpucol_service_evict(storage);
	}
	PG_RETURN_INT64(freed);
}
