/*-------------------------------------------------------------------------
 *
 * team.c
 *	  Threads that copy pinned pages to the device daemon (engine/gpu/team.h).
 *
 * The threads are as many as processors: one copies and verifies at 4 to 6 GB/s, a
 * device takes more than 50.  A thread that waited for the end of each job, for what is
 * in its slab to be copied to the device, would do so for a third of its time: it has two
 * connections, and sends a job over one while the daemon ends the job before.  The
 * threads call their connection (engine/gpu/wire.h), what the source allows any thread and
 * memory functions of C, nothing else.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/thread.h"
#include "engine/gpu/team.h"
#include "engine/gpu/wire.h"
#include "service/service.h"

#define WIRES				GPUCOL_GPU_TEAM_JOBS
#define COLLECT_WAIT_MS		5
#define SYSTEM_PAGE			4096
#define STORED_PAGE			8192	/* distance of pages one behind the other */

typedef struct Member
{
	GpucolGpuTeam *team;
	pthread_t	thread;
	GpucolWire *wires[WIRES];	/* jobs take turns */
	GpucolWire *wire;			/* of the job that is being sent */
	GpucolGpuJob *job;			/* likewise */
	GpucolGpuJob *sent;			/* all is sent, its answer not yet taken */
	GpucolWire *sent_wire;		/* of that */
} Member;

struct GpucolGpuTeam
{
	pthread_mutex_t lock;
	pthread_cond_t wake;		/* there is something to do, or the end has come */
	pthread_cond_t done;		/* there is something to collect */
	GpucolGpuJob *todo;			/* first in, first out */
	GpucolGpuJob **todo_end;
	GpucolGpuJob *finished;
	int			alive;			/* threads that take jobs */
	_Atomic bool stop;
	const GpucolSourceOps *source;
	int			nmembers;
	Member		members[];
};

/* The process's team. */
static GpucolGpuTeam *current = NULL;

/* ---- in the threads ---- */

static bool
is_stopped(void *team)
{
	return ((GpucolGpuTeam *) team)->stop;
}

/* A job cannot be done over this connection. */
static GpucolStatus
lost(GpucolGpuJob *job)
{
	const char *why;
	GpucolStatus status = gpucol_wire_failure(&why);

	snprintf(job->why, sizeof(job->why), "%s", why);
	return status;
}

/*
 * Have the system map pages that this process will look at for the first time: a call
 * for many costs an eighth of a page fault for each (measured: 0.3 us a page, 2.5 by
 * faults).  Pages of a window mostly lie one behind the other.
 */
static void
map_pages(const GpucolRows *window)
{
#ifdef MADV_POPULATE_READ
	for (uint32_t first = 0, n; first < window->npages; first += n)
	{
		uintptr_t	start = (uintptr_t) window->pages[first] & ~(uintptr_t) (SYSTEM_PAGE - 1);

		for (n = 1; first + n < window->npages &&
			 window->pages[first + n] - window->pages[first + n - 1] == STORED_PAGE; n++)
			;
		(void) madvise((void *) start, (size_t) n * STORED_PAGE, MADV_POPULATE_READ);
	}
#else
	(void) window;
#endif
}

/* Send the word rows of one page of a window. */
static GpucolStatus
send_page(Member *member, const GpucolGpuPiece *piece, const GpucolRows *window, uint32_t row,
		  uint32_t take, uint64_t total, uint64_t *offset)
{
	if (!member->team->source->verify(window, row / GPUCOL_PAGE_ROWS - window->first_page))
		return GPUCOL_CORRUPT;
	return gpucol_wire_put_rows(member->wire, piece->kind, piece->segment, piece->slot, total, offset,
								window, row, take) ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send a stream of a chunk, page by page. */
static GpucolStatus
send_rows(Member *member, const GpucolGpuPiece *piece, const GpucolGpuRows *rows,
		  uint64_t total, uint64_t *offset)
{
	GpucolStatus status = GPUCOL_OK;

	map_pages(&rows->window);
	for (uint32_t done = 0; done < rows->nrows && status == GPUCOL_OK;)
	{
		uint32_t	row = rows->row + done;
		uint32_t	left = GPUCOL_PAGE_ROWS - row % GPUCOL_PAGE_ROWS;
		uint32_t	take = rows->nrows - done < left ? rows->nrows - done : left;

		if (member->team->stop)
			return GPUCOL_CANCELLED;
		status = send_page(member, piece, &rows->window, row, take, total, offset);
		done += take;
	}
	member->team->source->forget(&rows->window);
	return status;
}

/* Send a chunk. */
static GpucolStatus
send_chunk(Member *member, GpucolGpuJob *job, const GpucolGpuPiece *piece)
{
	uint64_t	total = sizeof(piece->head);
	uint64_t	offset = sizeof(piece->head);
	GpucolStatus status = GPUCOL_OK;

	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (piece->head.present >> k & 1)
			total += (uint64_t) piece->streams[k].nrows * GPUCOL_ROW_BYTES;
	if (!gpucol_wire_put(member->wire, piece->kind, piece->segment, piece->slot, total, 0,
						 &piece->head, sizeof(piece->head)))
		return GPUCOL_DEVICE_LOST;
	for (int k = 0; k < GPUCOL_STREAM_COUNT && status == GPUCOL_OK; k++)
		if (piece->head.present >> k & 1)
			status = send_rows(member, piece, &piece->streams[k], total, &offset);
	job->sent += total - sizeof(piece->head);
	return status;
}

/* Send what the daemon needs of a job. */
static GpucolStatus
send_needed(Member *member, GpucolGpuJob *job, const GpucolWireNeed *need, size_t n)
{
	GpucolStatus status = GPUCOL_OK;

	for (size_t i = 0; i < n && status == GPUCOL_OK; i++)
	{
		const GpucolGpuPiece *piece = NULL;

		for (uint32_t k = 0; k < job->npieces; k++)
			if (job->pieces[k].kind == need[i].kind && job->pieces[k].slot == need[i].slot &&
				job->pieces[k].segment == need[i].segment)
				piece = &job->pieces[k];
		if (piece == NULL)
			return GPUCOL_DEVICE_LOST;
		if (piece->kind == GPUCOL_PUT_CHUNK)
			status = send_chunk(member, job, piece);
		else if (!gpucol_wire_put(member->wire, piece->kind, piece->segment, piece->slot, piece->size, 0,
								  piece->data, piece->size))
			status = GPUCOL_DEVICE_LOST;
	}
	return status == GPUCOL_OK && !gpucol_wire_push(member->wire) ? GPUCOL_DEVICE_LOST : status;
}

/* Read the result's head; false: the connection is of no more use. */
static bool
take_result(GpucolGpuJob *job, const void *payload, size_t size)
{
	GpucolWireResult result;

	if (size != sizeof(result))
	{
		job->status = lost(job);
		return false;
	}
	memcpy(&result, payload, sizeof(result));
	job->status = (GpucolStatus) result.status;
	snprintf(job->why, sizeof(job->why), "%.*s", (int) sizeof(result.reason), result.reason);
	return !result.closing;
}

/*
 * Announce a job and send what the daemon needs of it; *answered: it needs nothing, and
 * has answered.  False: the connection is of no more use.
 */
static bool
send_job(Member *member, GpucolGpuJob *job, bool *answered)
{
	GpucolWire *wire = member->wire;
	void	   *payload = NULL;
	size_t		size;
	bool		goes_on;

	job->status = GPUCOL_OK;
	*answered = false;
	if (!gpucol_wire_send(wire, GPUCOL_WIRE_RUN, job->message, job->message_size, NULL, 0) ||
		!gpucol_wire_receive_either(wire, GPUCOL_WIRE_NEED, GPUCOL_WIRE_RESULT, answered, &payload, &size))
		job->status = lost(job);
	else if (!*answered)
	{
		job->status = send_needed(member, job, payload, size / sizeof(GpucolWireNeed));
		if (job->status == GPUCOL_DEVICE_LOST)
			job->status = lost(job);
	}
	goes_on = job->status == GPUCOL_OK && (!*answered || take_result(job, payload, size));
	free(payload);
	return goes_on;
}

/* Await the answer to a job of which all was sent; false as above. */
static bool
await_answer(GpucolWire *wire, GpucolGpuJob *job)
{
	void	   *payload = NULL;
	size_t		size;
	bool		goes_on;

	if (!gpucol_wire_flush(wire) || !gpucol_wire_receive(wire, GPUCOL_WIRE_RESULT, &payload, &size))
		job->status = lost(job);
	goes_on = job->status == GPUCOL_OK && take_result(job, payload, size);
	free(payload);
	return goes_on;
}

/* Take the first of the jobs to do, of which there is one.  Locked. */
static GpucolGpuJob *
take_first(GpucolGpuTeam *team)
{
	GpucolGpuJob *job = team->todo;

	team->todo = job->next;
	if (team->todo == NULL)
		team->todo_end = &team->todo;
	return job;
}

/* Take the next job; NULL: there is none yet and the caller will not wait, or the team ends. */
static GpucolGpuJob *
take_job(Member *member, bool wait)
{
	GpucolGpuTeam *team = member->team;

	pthread_mutex_lock(&team->lock);
	while (wait && team->todo == NULL && !team->stop)
		pthread_cond_wait(&team->wake, &team->lock);
	if (team->todo != NULL && !team->stop)
		member->job = take_first(team);
	pthread_mutex_unlock(&team->lock);
	return member->job;
}

/* One of this thread's jobs is done. */
static void
finish_job(Member *member, GpucolGpuJob **job)
{
	GpucolGpuTeam *team = member->team;

	pthread_mutex_lock(&team->lock);
	(*job)->next = team->finished;
	team->finished = *job;
	*job = NULL;
	pthread_cond_signal(&team->done);
	pthread_mutex_unlock(&team->lock);
}

/* Take the answer to the job that was sent before, if there is one; false as above. */
static bool
end_sent(Member *member)
{
	bool		goes_on = true;

	if (member->sent == NULL)
		return true;
	goes_on = await_answer(member->sent_wire, member->sent);
	finish_job(member, &member->sent);
	return goes_on;
}

/*
 * Do jobs until the team ends or a connection is of no more use.  While the daemon copies
 * what was sent of one to the device, and answers, the next is sent over the other
 * connection.
 */
static void
do_jobs(Member *member)
{
	bool		goes_on = true;

	while (goes_on)
	{
		bool		answered;

		member->wire = member->wires[member->sent != NULL && member->sent_wire == member->wires[0]];
		if (take_job(member, member->sent == NULL) == NULL)
		{
			if (member->sent == NULL)
				return;
			goes_on = end_sent(member);
			continue;
		}
		goes_on = send_job(member, member->job, &answered);
		if (!goes_on || answered)
		{
			finish_job(member, &member->job);
			continue;
		}
		goes_on = end_sent(member);
		member->sent = member->job;
		member->sent_wire = member->wire;
		member->job = NULL;
	}
	if (member->sent != NULL)
		(void) end_sent(member);
}

/* Close a thread's connections, those that there are. */
static void
close_wires(Member *member)
{
	for (int i = 0; i < WIRES; i++)
		if (member->wires[i] != NULL)
			gpucol_wire_close(member->wires[i]);
}

static void
thread_main(void *arg)
{
	Member	   *member = arg;
	bool		greeted = true;

	for (int i = 0; i < WIRES && greeted; i++)
		greeted = gpucol_wire_greet(member->wires[i]);
	if (greeted)
		do_jobs(member);
	close_wires(member);		/* giving slabs back takes a while */
	pthread_mutex_lock(&member->team->lock);
	member->team->alive--;
	pthread_cond_signal(&member->team->done);
	pthread_mutex_unlock(&member->team->lock);
}

/* ---- in the process's own thread ---- */

/* Open a thread's connections; false if one cannot be had. */
static bool
open_wires(Member *member)
{
	for (int i = 0; i < WIRES; i++)
	{
		int			fd = gpucol_service.try_connect();

		member->wires[i] = fd < 0 ? NULL : gpucol_wire_adopt(fd, is_stopped, member->team);
		if (member->wires[i] == NULL)
			return false;
	}
	return true;
}

/* Start one more thread; false if that fails. */
static bool
start_member(GpucolGpuTeam *team)
{
	Member	   *member = &team->members[team->nmembers];

	member->team = team;
	team->alive++;
	if (open_wires(member) && gpucol_thread_start(&member->thread, thread_main, member))
	{
		team->nmembers++;
		return true;
	}
	team->alive--;
	close_wires(member);
	return false;
}

GpucolGpuTeam *
gpucol_gpu_team_start(int nthreads, const GpucolSourceOps *source)
{
	GpucolGpuTeam *team;

	nthreads = nthreads < GPUCOL_GPU_TEAM_MAX ? nthreads : GPUCOL_GPU_TEAM_MAX;
	team = calloc(1, sizeof(GpucolGpuTeam) + sizeof(Member) * (size_t) nthreads);
	if (team == NULL)
		return NULL;
	pthread_mutex_init(&team->lock, NULL);
	pthread_cond_init(&team->wake, NULL);
	pthread_cond_init(&team->done, NULL);
	team->todo_end = &team->todo;
	team->source = source;
	current = team;
	pthread_mutex_lock(&team->lock);	/* of `alive` */
	while (team->nmembers < nthreads && start_member(team))
		;
	pthread_mutex_unlock(&team->lock);
	if (team->nmembers > 0)
		return team;
	gpucol_gpu_team_stop();
	return NULL;
}

GpucolGpuJob *
gpucol_gpu_team_job(uint32_t npieces)
{
	return calloc(1, sizeof(GpucolGpuJob) + sizeof(GpucolGpuPiece) * npieces);
}

void *
gpucol_gpu_team_alloc(GpucolGpuJob *job, size_t size)
{
	if (job->budget != NULL && !gpucol_budget_reserve(job->budget, size))
		return NULL;
	if (job->budget != NULL)
		job->counted += size;
	return calloc(1, size);
}

void
gpucol_gpu_team_free_job(GpucolGpuJob *job)
{
	if (job->budget != NULL)
		gpucol_budget_release(job->budget, job->counted);
	for (uint32_t i = 0; i < job->npieces; i++)
		free(job->pieces[i].data);
	free(job->message);
	free(job);
}

void
gpucol_gpu_team_submit(GpucolGpuTeam *team, GpucolGpuJob *job)
{
	job->next = NULL;
	pthread_mutex_lock(&team->lock);
	*team->todo_end = job;
	team->todo_end = &job->next;
	pthread_cond_signal(&team->wake);
	pthread_mutex_unlock(&team->lock);
}

/* Take a job that nobody is left to do.  Locked. */
static GpucolGpuJob *
take_abandoned(GpucolGpuTeam *team)
{
	GpucolGpuJob *job;

	if (team->alive > 0 || team->todo == NULL)
		return NULL;
	job = take_first(team);
	job->status = GPUCOL_DEVICE_LOST;
	snprintf(job->why, sizeof(job->why), "device daemon was lost");
	return job;
}

GpucolGpuJob *
gpucol_gpu_team_collect(GpucolGpuTeam *team, bool wait)
{
	GpucolGpuJob *job;

	pthread_mutex_lock(&team->lock);
	if (wait && team->finished == NULL && team->alive > 0)
		gpucol_thread_wait(&team->done, &team->lock, COLLECT_WAIT_MS);
	job = team->finished;
	if (job != NULL)
		team->finished = job->next;
	else
		job = take_abandoned(team);
	pthread_mutex_unlock(&team->lock);
	return job;
}

/* Put a list before another. */
static GpucolGpuJob *
join_lists(GpucolGpuJob *first, GpucolGpuJob *second)
{
	GpucolGpuJob **end = &first;

	while (*end != NULL)
		end = &(*end)->next;
	*end = second;
	return first;
}

GpucolGpuJob *
gpucol_gpu_team_stop(void)
{
	GpucolGpuTeam *team = current;
	GpucolGpuJob *left = NULL;

	if (team == NULL)
		return NULL;
	pthread_mutex_lock(&team->lock);
	team->stop = true;
	pthread_cond_broadcast(&team->wake);
	pthread_mutex_unlock(&team->lock);
	for (int i = 0; i < team->nmembers; i++)
		pthread_join(team->members[i].thread, NULL);
	left = join_lists(team->finished, team->todo);
	pthread_cond_destroy(&team->done);
	pthread_cond_destroy(&team->wake);
	pthread_mutex_destroy(&team->lock);
	free(team);
	current = NULL;
	return left;
}
