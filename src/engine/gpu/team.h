/*-------------------------------------------------------------------------
 *
 * team.h
 *	  Threads that copy pinned pages to the device daemon.
 *
 * The process's own thread pins pages and makes jobs of them: each the missing pieces
 * of some segments, or some of one.  A thread takes a job, announces it over a
 * connection of its own, verifies and copies the pages that the daemon asks for into its
 * own slab, and begins the next over its other connection before it waits for the
 * daemon's answer.  The process's thread collects jobs that are done, unpins their
 * pages.
 *
 * A team never outlives what it reads: whoever may leave by longjmp stops it first
 * (gpucol_gpu_team_stop), before any pin is given back.  A thread that stops in the
 * middle of a job closes its connection, so that the daemon drops what had come.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_TEAM_H
#define GPUCOL_ENGINE_GPU_TEAM_H

#include "base/budget.h"
#include "kernel/batch.h"
#include "service/protocol.h"

#define GPUCOL_GPU_TEAM_MAX		64	/* threads */
#define GPUCOL_GPU_TEAM_JOBS	2	/* that a thread has at a time, over as many connections */

/* Word rows of a segment from `row` on, lent by the source. */
typedef struct GpucolGpuRows
{
	GpucolRows	window;
	uint32_t	row;
	uint32_t	nrows;
} GpucolGpuRows;

/* One piece: a chunk, or other bytes. */
typedef struct GpucolGpuPiece
{
	GpucolPutKind kind;
	uint32_t	segment;		/* in the job's RUN */
	uint32_t	slot;			/* in the job's program, and ... */
	uint32_t	column;			/* ... in the caller's */
	GpucolWireChunk head;		/* CHUNK */
	GpucolGpuRows streams[GPUCOL_STREAM_COUNT]; /* CHUNK: those of head.present */
	void	   *data;			/* else: bytes, malloc'd; the job's */
	uint64_t	size;
} GpucolGpuPiece;

/* Pieces that are loaded by one request. */
typedef struct GpucolGpuJob
{
	struct GpucolGpuJob *next;
	void	   *message;		/* the RUN, malloc'd; the job's */
	size_t		message_size;
	uint32_t	npages;			/* pinned for it */
	uint64_t	sent;			/* bytes of chunks, once it is done */
	GpucolStatus status;		/* likewise; CORRUPT: a page is */
	char		why[160];		/* likewise */
	uint32_t	segment;		/* number of the first, for the caller */
	GpucolBudget *budget;		/* of what is malloc'd, or NULL: */
	size_t		counted;		/* bytes */
	uint32_t	npieces;
	GpucolGpuPiece pieces[];
} GpucolGpuJob;

typedef struct GpucolGpuTeam GpucolGpuTeam;

/*
 * Start a team of up to nthreads; NULL if there can be none.  Of the source its threads
 * call what any thread may (batch.h).  A process has one team at a time.
 */
extern GpucolGpuTeam *gpucol_gpu_team_start(int nthreads, const GpucolSourceOps *source);

/* A job with room for so many pieces; NULL: out of memory. */
extern GpucolGpuJob *gpucol_gpu_team_job(uint32_t npieces);

/* Memory for it to own, counted in its budget; zeroed.  NULL: there is none. */
extern void *gpucol_gpu_team_alloc(GpucolGpuJob *job, size_t size);

/* Hand over a job; it is the team's until it comes back. */
extern void gpucol_gpu_team_submit(GpucolGpuTeam *team, GpucolGpuJob *job);

/*
 * A job that is done, now the caller's; NULL if there is none, with `wait` after some
 * milliseconds.
 */
extern GpucolGpuJob *gpucol_gpu_team_collect(GpucolGpuTeam *team, bool wait);

/* Free a job whose windows have been given back. */
extern void gpucol_gpu_team_free_job(GpucolGpuJob *job);

/*
 * Stop the team: no thread runs after this.  Every job that was not collected comes
 * back, done or not, linked by `next`.  Without a team, nothing.
 */
extern GpucolGpuJob *gpucol_gpu_team_stop(void);

#endif							/* GPUCOL_ENGINE_GPU_TEAM_H */
