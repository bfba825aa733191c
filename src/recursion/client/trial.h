/*-------------------------------------------------------------------------
 *
 * trial.h
 *	  A recursion that begins on the CPU engine and is left to the device once that
 *	  would have come further.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CLIENT_TRIAL_H
#define GPUCOL_RECURSION_CLIENT_TRIAL_H

#include "base/budget.h"
#include "recursion/engine.h"

typedef struct GpucolRecHeld GpucolRecHeld;

typedef struct GpucolRecTrial
{
	GpucolRecRun *run;			/* of the CPU engine, the caller's; NULL = none yet */
	bool		over;			/* it stays there */
	bool		left;			/* it is to go to the device */

	/* Can the device take it over now?  Asked at most once; false: it stays. */
	bool		(*device) (void *context);
	void	   *device_context;

	bool		(*cancelled) (void *context);	/* the caller's own */
	void	   *context;
	uint64_t	rows;			/* loaded */
	double		started;		/* milliseconds */

	/* rows that must not be seen while the recursion may begin anew */
	GpucolRecHeld *held;
	GpucolRecHeld **last;		/* where the next one goes */
	GpucolRecHeld *shown;		/* that the reader has */
	size_t		held_bytes;
	GpucolBudget memory;		/* what they take of the caller's budget */
	size_t		most_bytes;
	uint32_t	held_relation;
	GpucolStatus held_end;		/* what comes after them; GPUCOL_OK = more rows */
	const int64_t *columns[GPUCOL_REC_MAX_ARITY];
	const uint8_t *nulls[GPUCOL_REC_MAX_ARITY];
} GpucolRecTrial;

/*
 * Begin the trial of a recursion over so many rows.  *options become those with which the
 * caller starts the CPU engine, to set trial->run; `trial` must live as long as that.
 */
extern void gpucol_rec_trial_begin(GpucolRecTrial *trial, uint64_t rows,
								   GpucolRecOptions *options,
								   bool (*device) (void *), void *device_context);

/* Can rows of a relation be read before the run is done? */
extern bool gpucol_rec_trial_streams(const GpucolRecPlan *plan, uint32_t relation);

/*
 * As the CPU engine's next and summarise; GPUCOL_UNPROFITABLE: the recursion is to begin
 * anew on the device, no row of it has been handed out.
 */
extern GpucolStatus gpucol_rec_trial_next(GpucolRecTrial *trial, const GpucolRecPlan *plan,
										  uint32_t relation, GpucolRecBatch *out);
extern GpucolStatus gpucol_rec_trial_summarise(GpucolRecTrial *trial, uint32_t relation,
											   const bool *want, uint64_t *nrows,
											   GpucolRecSummary *columns);

/* Free what it holds; not the run. */
extern void gpucol_rec_trial_end(GpucolRecTrial *trial);

#endif							/* GPUCOL_RECURSION_CLIENT_TRIAL_H */
