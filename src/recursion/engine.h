/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  The table of operations of an engine that runs recursion plans, and the
 *	  results it delivers.
 *
 * A run is started for a plan, gets the rows of its inputs, and is read
 * relation by relation or summarised.  Like engine.h, no function raises an
 * error: statuses say what happened.
 *
 * Freestanding C: may be included by C and C++.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_ENGINE_H
#define GPUCOL_RECURSION_ENGINE_H

#include "kernel/recursion.h"
#include "kernel/status.h"

/*
 * Computes functions GPUCOL_REC_HOST: expression `id` over n rows.  values[i] and
 * nulls[i] (1 = NULL; never NULL pointers) are its operands; result and
 * result_nulls are to be filled.  Called in the thread that called the engine; may
 * leave by longjmp, and then only finish is called.
 */
typedef void (*GpucolRecHost) (void *context, uint32_t id, uint32_t n,
							   const int64_t *const *values,
							   const uint8_t *const *nulls, int64_t *result,
							   uint8_t *result_nulls);

/*
 * The same called in any thread, beside others, where n = 0 has said that it can.  False: not all rows could be
 * computed so, and nothing counts.
 */
typedef bool (*GpucolRecHostApart) (void *context, uint32_t id, uint32_t n,
									const int64_t *const *values,
									const uint8_t *const *nulls, int64_t *result,
									uint8_t *result_nulls);

/*
 * Makes the rows of steps GPUCOL_REC_EXPAND: n > 0 says that those of n rows of operands,
 * which stay as they are, are asked for from now on.  Fills columns of up to `capacity` rows
 * and the numbers of the rows that they are of; returns how many, 0 at the end.
 */
typedef uint32_t (*GpucolRecExpand) (void *context, uint32_t id, uint32_t n,
									 const int64_t *const *values,
									 const uint8_t *const *nulls, uint32_t capacity,
									 uint32_t *origins, int64_t *const *columns,
									 uint8_t *const *column_nulls);

/* The value that stands for all that equal a value, not NULL, of a column of relation 0. */
typedef int64_t (*GpucolRecForm) (void *context, int column, int64_t value);

/* gpucol.recursive_strategy */
typedef enum GpucolRecStrategy
{
	GPUCOL_REC_AUTO,			/* by cost */
	GPUCOL_REC_HISA,			/* hash-indexed sorted arrays only */
	GPUCOL_REC_BITMAP,			/* bitmaps wherever they can be used */
	GPUCOL_REC_SPARSE			/* sets of ids instead, where a kernel knows both */
} GpucolRecStrategy;

typedef struct GpucolRecOptions
{
	int			threads;		/* at least 1 */
	size_t		memory_limit;	/* bytes the run may hold; 0 = no limit */
	struct GpucolBudget *budget;	/* which they count against too; NULL = none */
	size_t		device_limit;	/* of them on a device, the others in host
								 * memory; 0 = all */

	/*
	 * Where set, a device engine asks before it holds so many bytes more there, and
	 * repays all of them when it has finished; called in its main thread.
	 */
	bool		(*lend) (void *context, size_t bytes);
	void		(*repay) (void *context, size_t bytes);
	int64_t		max_rounds;		/* of one stratum, then
								 * GPUCOL_ROUNDS_EXCEEDED; 0 = no limit */
	GpucolRecStrategy strategy;
	uint64_t	device_rows;	/* loaded rows from which on a device begins, and
								 * may leave the recursion to the CPU engine;
								 * with fewer, this begins and may leave it to
								 * the device.  0 = the device keeps it */
	uint32_t	small_rounds_after; /* small rounds after which a device runs
									 * rounds without the host; 0 = as it pays */
	uint64_t	share_from;		/* rows that a rule starts from, from which on
								 * threads evaluate it together; 0 = as it pays */

	/*
	 * Called in the engine's main thread at least every 50 ms; true ends the
	 * run with GPUCOL_CANCELLED.  Must return (other threads may be at work).
	 */
	bool		(*cancelled) (void *context);
	void	   *context;

	GpucolRecHost host;			/* NULL: the plan has no GPUCOL_REC_HOST */
	GpucolRecHostApart apart;	/* NULL: it computes in one thread only */
	GpucolRecExpand expand;		/* NULL: no GPUCOL_REC_EXPAND */

	/*
	 * Columns of relation 0, a set, as bits, whose equal values may differ; `form` gives of a value the one that
	 * stands for its equals, in any thread.  No atom matches such values.  Of equal rows the one of the earliest
	 * round stays as it is; where a round has several of them, all ends with progress.forms_lost.
	 */
	uint32_t	forms;
	GpucolRecForm form;
	void	   *host_context;
} GpucolRecOptions;

/* How far a run has come; for gpucol.activity and EXPLAIN ANALYZE. */
typedef struct GpucolRecProgress
{
	uint32_t	stratum;
	uint64_t	rounds;			/* of all strata so far */
	uint64_t	small_rounds;	/* of them, on a device without the host */
	uint64_t	delta;			/* rows of the last delta */
	uint64_t	full;			/* rows derived so far */
	size_t		bytes;			/* held now */
	size_t		peak_bytes;
	bool		forms_lost;		/* the run has ended since it cannot tell which of equal rows is the first */
	uint32_t	rule;			/* of the plan, which the CPU engine evaluates or has
								 * failed in: its number + 1; 0 = none, or unknown */
	int			threads;		/* used at most */
	const char *method;			/* how the last stratum was evaluated */
	const char *engine;			/* that runs it: "cpu" or "cuda" */
	const char *fallback;		/* why it is not the one that began, or NULL */
} GpucolRecProgress;

/* Rows of a result; memory is the run's, valid until the next call. */
typedef struct GpucolRecBatch
{
	uint32_t	nrows;
	const int64_t *const *columns;
	const uint8_t *const *nulls;	/* 1 = NULL; nulls[i] may be NULL: none */
} GpucolRecBatch;

/* Aggregates of one column over all rows of a result. */
typedef struct GpucolRecSummary
{
	uint64_t	count;			/* values that are not NULL */
	__int128	sum;			/* as signed integers */
	int64_t		min;			/* as signed integers; undefined if count = 0 */
	int64_t		max;
} GpucolRecSummary;

typedef struct GpucolRecRun GpucolRecRun;

typedef struct GpucolRecursiveEngine
{
	const char *name;

	/* Start a run; the plan stays the caller's and must live until finish. */
	GpucolStatus (*start) (const GpucolRecPlan *plan,
						   const GpucolRecOptions *options,
						   GpucolRecRun **run);

	/*
	 * Add rows to an input relation, before the first call of next or
	 * summarise.  nulls and each nulls[i] may be NULL.
	 */
	GpucolStatus (*load) (GpucolRecRun *run, uint32_t relation,
						  uint32_t nrows, const int64_t *const *columns,
						  const uint8_t *const *nulls);

	/*
	 * Next rows of an output relation: GPUCOL_OK, GPUCOL_END or the status
	 * that ended the run.  Where one relation is all that the plan derives,
	 * rows are delivered as the rounds find them; each relation can be read
	 * once.
	 */
	GpucolStatus (*next) (GpucolRecRun *run, uint32_t relation,
						  GpucolRecBatch *out);

	/*
	 * Run to the end (GPUCOL_END: forms are lost) and aggregate an output relation instead of reading it:
	 * its row count, and a summary of each column with want[i] (want may be
	 * NULL: none).
	 */
	GpucolStatus (*summarise) (GpucolRecRun *run, uint32_t relation,
							   const bool *want, uint64_t *nrows,
							   GpucolRecSummary *columns);

	void		(*progress) (const GpucolRecRun *run, GpucolRecProgress *out);

	/* Release everything; callable in any state. */
	void		(*finish) (GpucolRecRun *run);
} GpucolRecursiveEngine;

extern const GpucolRecursiveEngine gpucol_recursive_cpu;

/*
 * Does the CPU engine answer all recursion of the plan by looking at each row of its
 * inputs once (recursion/cpu/labels.c)?
 */
extern bool gpucol_recursive_one_pass(const GpucolRecPlan *plan,
									  const GpucolRecOptions *options);

/*
 * Runs on the device, and on the CPU engine where the device cannot or should not
 * (device_rows): the rows that were loaded are kept until the first answer.
 */
extern const GpucolRecursiveEngine gpucol_recursive_cuda;

/* Can there be a device here?  *why says what is missing. */
extern bool gpucol_recursive_cuda_available(const char **why);

#endif							/* GPUCOL_RECURSION_ENGINE_H */
