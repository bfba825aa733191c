/*-------------------------------------------------------------------------
 *
 * share.h
 *	  Work of the recursion kernels that threads share out among themselves.
 *
 * The work is so many items.  Each thread takes the next few of them until there are
 * none left; no two get the same item, and which thread gets which is not known.  The
 * caller's thread, worker 0, alone may ask whether the run is cancelled: it does so
 * after so many steps of its own (a step is what the work says it is: a candidate, an
 * edge, a word of a bitmap, some nanoseconds), and while it waits for the others to
 * finish what they have begun.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_SHARE_H
#define GPUCOL_RECURSION_CPU_SHARE_H

#include "recursion/cpu/engine.h"

/* Steps between two looks for a cancel: some milliseconds. */
#define GPUCOL_REC_POLL_STEPS	(UINT64_C(1) << 18)

typedef struct GpucolRecShare
{
	GpucolRecRun *run;
	_Atomic int status;			/* GpucolStatus of the first that ended the work */
	uint64_t	unpolled;		/* steps of worker 0 since it looked for a cancel */

	/* what is being shared out */
	void		(*work) (void *context, int worker, uint64_t item);
	void	   *context;
	uint64_t	nitems;
	uint64_t	piece;			/* items taken at a time */
	_Atomic uint64_t next;		/* the first that nobody has taken */
} GpucolRecShare;

/*
 * Call work(context, worker, item) for each item below nitems in up to `threads`
 * threads, worker being less than that.  Returns when all have returned: GPUCOL_OK if
 * every item was done, else what ended the work.  The share is zeroed but for `run` at
 * its first use, and stays ended once it is.
 */
extern GpucolStatus gpucol_rec_share_run(GpucolRecShare *share, int threads,
										 uint64_t nitems, uint64_t piece,
										 void (*work) (void *context, int worker,
													   uint64_t item),
										 void *context);

/* End the work with a status; the first one stays. */
extern void gpucol_rec_share_fail(GpucolRecShare *share, GpucolStatus status);

/* What has ended the work, or GPUCOL_OK. */
static inline GpucolStatus
gpucol_rec_share_status(const GpucolRecShare *share)
{
	return (GpucolStatus) atomic_load_explicit(&share->status, memory_order_relaxed);
}

/* Look for a cancel; worker 0 only. */
extern void gpucol_rec_share_poll(GpucolRecShare *share);

/*
 * Is the work to end?  Asked by a worker before so many steps; by the main thread, as
 * worker 0, outside of gpucol_rec_share_run too.
 */
static inline bool
gpucol_rec_share_stopped(GpucolRecShare *share, int worker, uint64_t steps)
{
	if (worker == 0 && (share->unpolled += steps) >= GPUCOL_REC_POLL_STEPS)
		gpucol_rec_share_poll(share);
	return gpucol_rec_share_status(share) != GPUCOL_OK;
}

#endif							/* GPUCOL_RECURSION_CPU_SHARE_H */
