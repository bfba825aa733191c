/*-------------------------------------------------------------------------
 *
 * parallel.c
 *	  Figures of a parallel scan: what the workers did, for EXPLAIN ANALYZE.
 *
 * A worker adds its figures to shared memory when its node ends.  PostgreSQL lets
 * go of that memory, after all workers have ended, before EXPLAIN asks; so the
 * leader copies the sums when it detaches.  The copy lives as long as the
 * transaction, since an error may free the node before it detaches.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "storage/dsm.h"
#include "utils/memutils.h"

#include "exec/run.h"

/* Add the figures of one participant to others. */
static void
add_stats(GpucolRunStats *to, const GpucolRunStats *from)
{
	to->segments_read += from->segments_read;
	to->segments_skipped += from->segments_skipped;
	to->vectors_read += from->vectors_read;
	to->vectors_skipped += from->vectors_skipped;
	to->delta_rows += from->delta_rows;
	to->packed_bytes += from->packed_bytes;
	to->device_seconds += from->device_seconds;
	to->threads += from->threads;
}

/* The leader detaches: all workers have ended. */
static void
copy_figures(dsm_segment *segment pg_attribute_unused(), Datum arg)
{
	GpucolGathered *gathered = (GpucolGathered *) DatumGetPointer(arg);

	gathered->figures = gathered->shared->figures;
	gathered->shared = NULL;
}

/*
 * Prepare the shared state of a scan, in the leader.
 */
void
gpucol_parallel_init(GpucolExec *exec, GpucolParallel *parallel, ParallelContext *pcxt)
{
	exec->parallel = parallel;
	SpinLockInit(&parallel->lock);
	parallel->nparticipants = pcxt->nworkers + 1;
	memset(&parallel->figures, 0, sizeof(parallel->figures));
	if (pcxt->seg == NULL)
		return;					/* no worker can be started */
	exec->gathered = MemoryContextAllocZero(TopTransactionContext,
											sizeof(GpucolGathered));
	exec->gathered->shared = parallel;
	on_dsm_detach(pcxt->seg, copy_figures, PointerGetDatum(exec->gathered));
}

/*
 * Add a worker's figures at its end.
 */
void
gpucol_parallel_report(GpucolExec *exec)
{
	GpucolParallel *parallel = exec->parallel;

	if (!IsParallelWorker() || parallel == NULL)
		return;
	SpinLockAcquire(&parallel->lock);
	add_stats(&parallel->figures.stats, &exec->stats);
	if (exec->engine_name != NULL)
		strlcpy(parallel->figures.engine, exec->engine_name,
				sizeof(parallel->figures.engine));
	if (exec->fallback != NULL)
		strlcpy(parallel->figures.fallback, exec->fallback,
				sizeof(parallel->figures.fallback));
	SpinLockRelease(&parallel->lock);
	exec->parallel = NULL;
}

/*
 * Add what the workers did to the leader's own figures.
 */
void
gpucol_parallel_gather(GpucolExec *exec)
{
	GpucolGathered *gathered = exec->gathered;

	if (gathered == NULL || gathered->shared != NULL)
		return;
	exec->gathered = NULL;
	add_stats(&exec->stats, &gathered->figures.stats);
	if (exec->engine_name == NULL && gathered->figures.engine[0] != '\0')
		exec->engine_name = gathered->figures.engine;
	if (exec->fallback == NULL && gathered->figures.fallback[0] != '\0')
		exec->fallback = gathered->figures.fallback;
}
