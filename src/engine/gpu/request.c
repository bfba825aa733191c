/*-------------------------------------------------------------------------
 *
 * request.c
 *	  A run's conversation with the daemon: RUN, what it lacks, and the result's head.
 *
 * Interrupts are checked while waiting and may unwind: what is held is the run's
 * (engine/gpu/run.h).  Where that happens in the middle of a request gpucol_gpu_run_free closes
 * the connection, so that the daemon drops the request at once, and gives back what it
 * holds, however long this session is going to be idle.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "engine/gpu/run.h"

#define MAX_RESULT_BYTES ((uint64_t) 1 << 46)	/* so that no size overflows */
#define SENSELESS		"the device's answer makes no sense"
#define LATE			"texts without a dictionary"

/* Bytes of the program, the shape and the first groups in a RUN. */
static size_t
program_size(const GpucolGpuRun *run)
{
	return (run->program->size + 7u) / 8 * 8 + (run->shape != NULL ? sizeof(GpucolRowShape) : 0) +
		(run->first != NULL ? sizeof(GpucolFirst) : 0);
}

/*
 * Write the body of a RUN: program, shape, first groups and, unless the daemon has them,
 * the segments.  NULL without memory.
 */
static char *
make_body(GpucolGpuRun *run, bool listed, size_t *size)
{
	const GpucolProgram *p = run->program;
	const GpucolGpuManifest *manifest = run->manifest;
	size_t		segments = listed ? 0 : manifest->nsegments * sizeof(GpucolWireSegment);
	size_t		chunks = listed ? 0 : sizeof(GpucolWireColumnChunk) * manifest->nsegments * p->ncolumns;
	size_t		at = program_size(run);
	char	   *body = malloc(at + segments + chunks + 1);

	if (body == NULL)
		return NULL;
	memset(body, 0, at);
	memcpy(body, p, p->size);
	if (run->shape != NULL)
		memcpy(body + (p->size + 7u) / 8 * 8, run->shape, sizeof(GpucolRowShape));
	if (run->first != NULL)
		memcpy(body + at - sizeof(GpucolFirst), run->first, sizeof(GpucolFirst));
	if (segments > 0)
		memcpy(body + at, manifest->segments, segments);
	if (chunks > 0)
		memcpy(body + at + segments, manifest->chunks, chunks);
	*size = at + segments + chunks;
	return body;
}

/*
 * Announce the request.  What came back is in run->payload: NEED, what the daemon
 * lacks, or, if *answered, the RESULT.
 */
static bool
announce(GpucolGpuRun *run, uint32_t flags, bool *answered, size_t *size)
{
	const GpucolProgram *p = run->program;
	bool		listed = false;
	int			list = gpucol_gpu_manifest_listable(run->manifest) ?
		gpucol_wire_list(run->wire, run->manifest->id, &listed) : -1;
	GpucolWireRun head = {.result_limit = run->memory.limit, .delta_rows = run->delta.nrows, .program_size = p->size,
		.nsegments = run->manifest->nsegments, .ncolumns = p->ncolumns, .flags = flags,
		.turn = run->numbering.number,.table = run->table < 0 ? 0 : (uint32_t) run->table};
	char	   *body = make_body(run, listed, size);
	bool		ok;

	run->scratch = body;
	if (body == NULL)
		return false;
	if (list >= 0)
	{
		head.flags |= listed ? GPUCOL_WIRE_RUN_LIST : GPUCOL_WIRE_RUN_KEEP;
		head.list = (uint32_t) list;
	}
	head.nobjects = flags & GPUCOL_WIRE_RUN_PREFETCH ? 0 : gpucol_gpu_count_objects(run);
	for (int c = 0; c < p->ncolumns && c < GPUCOL_GPU_BYTES_SLOTS; c++)
		if (run->manifest->dictionaries[c] != NULL)
			gpucol_gpu_dictionary_strings(run->manifest->dictionaries[c], &head.distinct[c]);
	ok = gpucol_wire_send(run->wire, GPUCOL_WIRE_RUN, &head, sizeof(head), body, *size) &&
		gpucol_wire_receive_either(run->wire, GPUCOL_WIRE_NEED, GPUCOL_WIRE_RESULT, answered,
								   &run->payload, size);
	free(body);
	run->scratch = NULL;
	return ok;
}

/* Send what the daemon asked for, and receive the result's head. */
static GpucolStatus
send_needed(GpucolGpuRun *run, bool prefetch, size_t *size, const char **why)
{
	size_t		nneed = *size / sizeof(GpucolWireNeed);
	void	   *need = run->payload;
	GpucolStatus status = GPUCOL_OK;

	run->needed = need;			/* a longjmp must not lose it */
	run->payload = NULL;
	if (!prefetch)
		status = gpucol_gpu_send_objects(run);
	if (status == GPUCOL_OK)
		status = gpucol_gpu_send_missing(run, need, nneed);
	free(need);
	run->needed = NULL;
	if (status == GPUCOL_DEVICE_LOST || (status == GPUCOL_OK && !gpucol_wire_flush(run->wire)))
		return gpucol_gpu_lost(why);
	if (status != GPUCOL_OK)
		return gpucol_gpu_refuse(why, status, "the table could not be read for the device");
	return gpucol_wire_receive(run->wire, GPUCOL_WIRE_RESULT, &run->payload, size) ?
		GPUCOL_OK : gpucol_gpu_lost(why);
}

/* Take the process's connection, and announce the run; as announce(). */
static GpucolStatus
acquire_and_announce(GpucolGpuRun *run, uint32_t flags, bool *answered, size_t *size,
					 const char **why)
{
	run->asking = true;			/* an interrupt may unwind from here on */
	run->wire = gpucol_wire_acquire(run->source, why);
	if (run->wire == NULL)
	{
		run->asking = false;
		return gpucol_gpu_refuse(why, GPUCOL_DEVICE_LOST, *why);
	}
	if (run->program->kind == GPUCOL_PROGRAM_BUILD && !(flags & GPUCOL_WIRE_RUN_PREFETCH))
	{
		run->table = gpucol_wire_take_table(run->wire, &run->serial);
		if (run->table < 0)
		{
			gpucol_gpu_exchange_end(run);
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "more tables than a session has on the device");
		}
	}
	return announce(run, flags, answered, size) ? GPUCOL_OK : gpucol_gpu_lost(why);
}

/* Take the result's head out of the message that came. */
static GpucolStatus
take_result(GpucolGpuRun *run, size_t size, const char **why)
{
	if (size != sizeof(run->answer.result))
		return gpucol_gpu_lost(why);
	memcpy(&run->answer.result, run->payload, size);
	run->answer.result.reason[sizeof(run->answer.result.reason) - 1] = '\0';
	free(run->payload);
	run->payload = NULL;
	return GPUCOL_OK;
}

GpucolStatus
gpucol_gpu_exchange(GpucolGpuRun *run, uint32_t flags, const char **why)
{
	bool		prefetch = (flags & GPUCOL_WIRE_RUN_PREFETCH) != 0;
	bool		answered;
	GpucolStatus status;
	size_t		size;

	status = acquire_and_announce(run, flags, &answered, &size, why);
	if (status == GPUCOL_OK && !answered)
		status = send_needed(run, prefetch, &size, why);
	return status == GPUCOL_OK ? take_result(run, size, why) : status;
}

void
gpucol_gpu_exchange_end(GpucolGpuRun *run)
{
	run->asking = false;
	if (run->answer.result.closing)
	{
		gpucol_wire_drop();
		return;
	}
	if (run->answer.result.status != GPUCOL_OK)
		gpucol_wire_unlist(run->wire, run->manifest->id);
	gpucol_wire_release(run->wire);
}

/* Seconds since some time. */
static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double) now.tv_sec + (double) now.tv_nsec / 1e9;
}

/* Gather what the program asks, the segments and the delta rows. */
static GpucolStatus
gather(GpucolGpuRun *run, const char **why)
{
	GpucolStatus status = gpucol_gpu_run_examine(run, why);

	if (status != GPUCOL_OK)
		return status;
	status = gpucol_gpu_note_segments(run);
	if (status == GPUCOL_OUT_OF_MEMORY)
		return gpucol_gpu_refuse(why, status, "dictionaries do not fit the query's memory limit");
	if (status != GPUCOL_OK)
		return gpucol_gpu_refuse(why, status, status == GPUCOL_UNSUPPORTED ?
								 "a column of bytes has no dictionary in some segment" :
								 "segments could not be read");
	status = gpucol_gpu_delta_read(run);
	if (status == GPUCOL_OK && !gpucol_gpu_run_fits(run, 0))
		status = GPUCOL_OUT_OF_MEMORY;
	return status == GPUCOL_OK ? GPUCOL_OK :
		gpucol_gpu_refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ?
						  "dictionaries and delta rows do not fit the query's memory limit" :
						  "the table could not be read for the device");
}

/* Read the data of the result that was announced, which ends the exchange. */
static GpucolStatus
fetch(GpucolGpuRun *run, const char **why)
{
	GpucolStatus status = (GpucolStatus) run->answer.result.status;

	if (status != GPUCOL_OK)
	{
		gpucol_gpu_exchange_end(run);
		return gpucol_gpu_refuse(why, status, run->answer.result.reason);
	}
	if (run->answer.result.bytes > MAX_RESULT_BYTES)
		return gpucol_gpu_refuse(why, GPUCOL_DEVICE_LOST, SENSELESS);
	if (!gpucol_gpu_run_fits(run, run->answer.result.bytes))
		return gpucol_gpu_refuse(why, GPUCOL_OUT_OF_MEMORY, "the result does not fit the query's memory limit");
	status = gpucol_gpu_result_read(run);
	if (status == GPUCOL_DEVICE_LOST)
		return gpucol_gpu_lost(why);
	if (status != GPUCOL_OK)
		return gpucol_gpu_refuse(why, status, "out of memory");
	gpucol_gpu_exchange_end(run);
	return GPUCOL_OK;
}

/* Find the result's arrays; a daemon that sends such as there cannot be is left. */
static GpucolStatus
understand(GpucolGpuRun *run, const char **why)
{
	GpucolStatus status = run->program->kind == GPUCOL_PROGRAM_BUILD ? gpucol_gpu_build_check(run) :
		gpucol_gpu_result_find(run);

	if (status == GPUCOL_OK)
		return GPUCOL_OK;
	gpucol_wire_drop();
	return gpucol_gpu_refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ? "out of memory" : SENSELESS);
}

GpucolStatus
gpucol_gpu_request(GpucolGpuRun *run, const char **why)
{
	uint32_t	flags = (run->jit ? GPUCOL_WIRE_RUN_JIT : 0) | (run->shape != NULL ? GPUCOL_WIRE_RUN_SHAPE : 0) |
		(run->first != NULL ? GPUCOL_WIRE_RUN_FIRST : 0);
	double		start = seconds();
	double		listed_at;
	double		asked;
	GpucolStatus status = gather(run, why);

	if (status != GPUCOL_OK)
		return status;
	listed_at = seconds();
	run->note_seconds = listed_at - start;
	status = gpucol_gpu_exchange(run, flags, why);
	asked = seconds();
	run->ask_seconds = asked - listed_at;
	if (status == GPUCOL_OK)
		status = fetch(run, why);
	run->fetch_seconds = seconds() - asked;
	if (status == GPUCOL_OK)
		status = understand(run, why);
	if (status != GPUCOL_OK || run->answer.rows == NULL)
		return status;
	status = gpucol_gpu_late_read(run);
	return status == GPUCOL_OK ? GPUCOL_OK :
		gpucol_gpu_refuse(why, status, status == GPUCOL_OUT_OF_MEMORY ?
						  LATE " do not fit the query's memory limit" : "many rows with " LATE);
}

GpucolStatus
gpucol_gpu_request_missing(GpucolGpuRun *run, GpucolGpuLacking *lacking, const char **why)
{
	bool		answered;
	GpucolStatus status;
	size_t		size;

	status = acquire_and_announce(run, GPUCOL_WIRE_RUN_PREFETCH, &answered, &size, why);
	if (status != GPUCOL_OK)
		return status;
	if (!answered)
	{
		lacking->need = run->payload;
		lacking->n = size / sizeof(GpucolWireNeed);
		run->payload = NULL;
		if (!gpucol_wire_send(run->wire, GPUCOL_WIRE_CANCEL, NULL, 0, NULL, 0) ||
			!gpucol_wire_receive(run->wire, GPUCOL_WIRE_RESULT, &run->payload, &size))
			return gpucol_gpu_lost(why);
	}
	status = take_result(run, size, why);
	if (status != GPUCOL_OK)
		return status;
	if (!answered)
		run->answer.result.status = GPUCOL_OK;
	gpucol_gpu_exchange_end(run);
	return run->answer.result.status == GPUCOL_OK ? GPUCOL_OK :
		gpucol_gpu_refuse(why, (GpucolStatus) run->answer.result.status, run->answer.result.reason);
}
