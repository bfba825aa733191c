/*-------------------------------------------------------------------------
 *
 * prefetch.c
 *	  Loading a table's columns into device memory by the process's own thread, and asking
 *	  what is lacking of them; nothing is computed.
 *
 * An error of the source unwinds past these functions: what they had is freed by
 * gpucol_gpu_prefetch_abandon.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/client.h"
#include "engine/gpu/run.h"

/* The run at work; the process has one at a time. */
static GpucolGpuRun *loading = NULL;

/* Device memory of the noted segments. */
static uint64_t
manifest_bytes(const GpucolGpuRun *run)
{
	size_t		n = (size_t) run->manifest->nsegments * run->program->ncolumns;
	uint64_t	bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += (uint64_t) run->manifest->chunks[i].nrows * GPUCOL_ROW_BYTES;
	return bytes;
}

void
gpucol_gpu_prefetch_abandon(void)
{
	gpucol_gpu_run_free(loading);
	loading = NULL;
}

/* Begin a run that computes nothing. */
static GpucolStatus
begin_loading(const GpucolProgram *program, GpucolSource *source, const char **why)
{
	gpucol_gpu_prefetch_abandon();
	loading = gpucol_gpu_run_create(program, source, NULL);
	if (loading == NULL)
		return gpucol_gpu_refuse(why, GPUCOL_OUT_OF_MEMORY, "out of memory");
	return gpucol_gpu_run_examine(loading, why);
}

GpucolStatus
gpucol_gpu_ask(const GpucolProgram *program, GpucolSource *source,
			   GpucolGpuLacking *lacking, const char **why)
{
	GpucolStatus status = begin_loading(program, source, why);
	GpucolGpuRun *run = loading;

	if (run == NULL)
		return status;
	if (status == GPUCOL_OK && (status = gpucol_gpu_note_segments(run)) != GPUCOL_OK)
		gpucol_gpu_refuse(why, status, "segments could not be read");
	if (status == GPUCOL_OK)
		status = gpucol_gpu_request_missing(run, lacking, why);
	lacking->manifest = run->manifest;
	run->manifest = NULL;
	gpucol_gpu_prefetch_abandon();
	return status;
}

void
gpucol_gpu_lacking_free(GpucolGpuLacking *lacking)
{
	gpucol_gpu_manifest_release(lacking->manifest);
	free(lacking->need);
	memset(lacking, 0, sizeof(*lacking));
}

/* Note one segment alone. */
static GpucolStatus
note_alone(GpucolGpuRun *run, const GpucolSegment *segment, GpucolGpuPrefetch *figures)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProgramColumn, columns);
	GpucolStatus status;

	run->manifest = gpucol_gpu_manifest_create(run->source, columns, run->program->ncolumns, run->bytes);
	if (run->manifest == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = gpucol_gpu_note_segment(run, segment);
	if (status == GPUCOL_OK)
		__atomic_fetch_add(&figures->resident, manifest_bytes(run), __ATOMIC_RELAXED);
	return status;
}

GpucolStatus
gpucol_gpu_note(const GpucolProgram *program, GpucolSource *source,
				const GpucolSegment *segment, GpucolGpuPrefetch *figures,
				GpucolGpuManifest **manifest)
{
	GpucolGpuRun *run = gpucol_gpu_run_create(program, source, NULL);
	GpucolStatus status;

	*manifest = NULL;
	if (run == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	status = note_alone(run, segment, figures);
	*manifest = run->manifest;
	run->manifest = NULL;
	gpucol_gpu_run_free(run);
	return status;
}

/* Load what is missing of one segment; the daemon computes nothing. */
static GpucolStatus
load_segment(GpucolGpuRun *run, const GpucolSegment *segment, GpucolGpuPrefetch *figures,
			 const char **why)
{
	GpucolStatus status = note_alone(run, segment, figures);

	if (status != GPUCOL_OK)
		return gpucol_gpu_refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ? "out of memory" :
								 "segments could not be read");
	run->numbering.current = segment;
	run->sent = 0;
	status = gpucol_gpu_exchange(run, GPUCOL_WIRE_RUN_PREFETCH, why);
	if (status != GPUCOL_OK)
		return status;
	gpucol_gpu_exchange_end(run);
	__atomic_fetch_add(&figures->sent, run->sent, __ATOMIC_RELAXED);
	gpucol_gpu_manifest_release(run->manifest);
	run->manifest = NULL;
	run->numbering.number++;
	return run->answer.result.status == GPUCOL_OK ? GPUCOL_OK :
		gpucol_gpu_refuse(why, (GpucolStatus) run->answer.result.status, run->answer.result.reason);
}

bool
gpucol_gpu_is_full(const GpucolGpuPrefetch *figures)
{
	uint64_t	memory = gpucol_wire_device_memory();

	return memory > 0 && __atomic_load_n(&figures->resident, __ATOMIC_RELAXED) > memory - memory / 8;
}

GpucolStatus
gpucol_gpu_prefetch(const GpucolProgram *program, GpucolSource *source,
					GpucolGpuPrefetch *figures, const char **why)
{
	GpucolStatus status = begin_loading(program, source, why);
	GpucolGpuRun *run = loading;
	GpucolSegment segment;

	if (run == NULL)
		return status;
	while (status == GPUCOL_OK && !gpucol_gpu_is_full(figures) &&
		   (status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
		status = load_segment(run, &segment, figures, why);
	if (status == GPUCOL_UNSUPPORTED && run->manifest == NULL)
		gpucol_gpu_refuse(why, status, "segments could not be read");
	gpucol_gpu_prefetch_abandon();
	return status == GPUCOL_END ? GPUCOL_OK : status;
}
