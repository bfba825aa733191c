/*-------------------------------------------------------------------------
 *
 * engine.h
 *	  The table of operations that an engine (CPU, CUDA) implements, and the
 *	  results it delivers.
 *
 * The executor starts a run, pulls result batches until GPUCOL_END, and
 * finishes it.  An engine never raises an error for what a status can say; it
 * never emits a row before it knows that the whole query will succeed on it,
 * except for a SCAN, whose emitted rows are final (a status after the first
 * batch is then an error, not a fallback).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_ENGINE_H
#define GPUCOL_ENGINE_ENGINE_H

#include "kernel/batch.h"
#include "kernel/first.h"
#include "kernel/lookup.h"
#include "kernel/program.h"
#include "kernel/shape.h"

/*
 * One column of a result batch.  Which array is set follows from the class: B
 * and I `i`, D `d`, F `f`, S `s`.
 */
typedef struct GpucolResultColumn
{
	GpucolClass cls;
	const uint8_t *nulls;		/* one byte a row, 1 = NULL; NULL pointer = none */
	const int64_t *i;
	const __int128 *d;
	const double *f;
	const GpucolBytes *s;
} GpucolResultColumn;

/*
 * Answers of one ranking for the groups of a batch: counts[g] labels from
 * labels[first[g]] on, best first; -1 = no answer, which is NULL.  Labels are the
 * words of the label's output: int64 of B and I, mantissas of D, numbers in
 * `strings` of S.
 */
typedef struct GpucolRanked
{
	const int32_t *counts;
	const uint64_t *first;
	const int64_t *labels;		/* or NULL: base + offsets[] */
	const uint32_t *offsets;
	int64_t		base;
	const uint8_t *nulls;		/* beside labels: 1 = no label; NULL pointer = none */
	const double *probabilities;	/* U-Topk: of the set, if wanted */
	const GpucolBytes *strings;
	uint32_t	nstrings;
} GpucolRanked;

/*
 * A batch of results; memory is the run's, valid until the next call.
 * SCAN: columns are the program's keys[] (outputs), tids[] the row identities.
 * AGG: columns are the group keys; states[g * naggs + a] the aggregate states.
 * SCAN of shape RANKED, from an engine that knows it: columns are the group keys,
 * ranked[] the rankings; ranked is NULL from one that delivers rows.
 */
typedef struct GpucolResult
{
	uint32_t	nrows;
	const GpucolResultColumn *columns;
	const uint64_t *tids;		/* SCAN: block << 16 | offset */
	const GpucolAggState *states;
	const GpucolRanked *ranked;
} GpucolResult;

/* What a run did, for EXPLAIN ANALYZE. */
/* The tables into which the threads of an aggregation reduce rows: reduction objects. */
typedef struct GpucolReduction
{
	int			copies;			/* one a thread, or a fixed number where the order of rows counts; 0: unknown */
	bool		grouped;		/* by keys; else one group each */
	bool		by_slots;		/* some segment's groups were dense slots, */
	bool		by_hash;		/* some rows' were looked up by hash, or by order */
	bool		by_all;			/* all threads merged the copies; else one */
	uint32_t	drained;		/* by all, into tables by key: so many times; 0: once they were complete */
	uint64_t	found;			/* groups of all copies, */
	uint64_t	groups;			/* and merged */
	uint64_t	complete;		/* others, that were complete when their vector was, */
	uint64_t	dropped;		/* and of these, that were not wanted */
	uint64_t	bytes;			/* of all copies and tables by key at a time, at most */
} GpucolReduction;

typedef struct GpucolRunStats
{
	uint64_t	segments_read;
	uint64_t	segments_skipped;	/* excluded by chunk zone maps */
	uint64_t	vectors_read;
	uint64_t	vectors_skipped;	/* excluded by vector zone maps */
	uint64_t	delta_rows;
	uint64_t	packed_bytes;	/* word rows read, in bytes */
	double		device_seconds; /* CUDA: time on the devices, summed */
	double		daemon_seconds; /* CUDA: from request to result, of which: */
	double		lookup_seconds; /* finding what is resident */
	double		plan_seconds;	/* planning the kernels, summed over parts */
	double		work_seconds;	/* planning, kernels and their results, likewise */
	double		begin_seconds;	/* loading, and waiting for the device's turn */
	double		end_seconds;	/* putting the answer together */
	double		note_seconds;	/* CUDA: segments and delta rows, in this process */
	double		ask_seconds;	/* CUDA: from telling the daemon to its answer, here */
	double		fetch_seconds;	/* CUDA: copying the result, here */
	double		open_seconds;	/* lowering and the snapshot's view, by the host */
	int			devices;		/* CUDA: that took part */
	int			batches;		/* CUDA: parts computed one after another */
	int			threads;
	uint64_t	branch_rows;	/* CPU: rows of instructions of branches that are called row by row, */
	uint64_t	branch_taken;	/* and those that they were called for */
	GpucolReduction reduction;	/* CPU: of the last run */
	char		kernel[32];		/* CUDA: which kernel answered; "" otherwise */
	char		note[96];		/* CUDA: why not another, or on one device only */
} GpucolRunStats;

/*
 * Takes the rows of one vector of a SCAN, at most 1,024, in the engine's thread that
 * has them: `thread` is below the run's threads, each of which is in one call at a
 * time, and `ordinal` the place of the vector in the scan, ascending within a thread.
 * A status other than GPUCOL_OK ends the run.
 */
typedef GpucolStatus (*GpucolTakeRows) (void *arg, int thread, uint64_t ordinal,
										const GpucolResult *rows);

#define GPUCOL_IN_PLACE_ROWS	256

/*
 * A table that exceeds memory is made in parts, each looked up by all rows before the next is made.
 * A part has the rows whose key has a hash in a range of buckets and, where it does not matter which
 * part has which row, those of them whose outputs have, so that rows of one key may lie in several.
 */
#define GPUCOL_PART_BUCKETS		4096

typedef struct GpucolTablePart
{
	uint32_t	first;			/* buckets of keys [first, end), */
	uint32_t	end;
	uint32_t	first_row;		/* and of rows */
	uint32_t	end_row;
} GpucolTablePart;

/* How far a run is with a table: 0 of 1 where it is whole. */
typedef struct GpucolTurn
{
	uint32_t	part;
	uint32_t	nparts;
} GpucolTurn;

/*
 * Have the tables become those of the next turn of a run: part + 1 of the first table that has
 * one, and part 0 of those before it.  *changed becomes the number of that table; GPUCOL_END
 * if there is none, or a status that ends the run.  Called in the engine's main
 * thread, where it may longjmp; the old tables are gone then.
 */
typedef GpucolStatus (*GpucolNextTurn) (void *arg, int *changed);

/*
 * A table that a BUILD run has made for the probes of later runs.  It owns its memory,
 * counted against the budget of the run that made it, and belongs to whoever asked for
 * it; any number of runs may probe it, one at a time, of the engine that made it or of one
 * that reads it by lookup_view.
 */
typedef struct GpucolLookup GpucolLookup;

/* What it is, for EXPLAIN and for conditions on the keys of who probes it. */
typedef struct GpucolLookupFigures
{
	uint64_t	rows;			/* of the table; without those whose key is NULL */
	uint64_t	bytes;
	bool		dense;			/* an array by key, or a hash table */
	bool		unique;			/* no two rows have equal keys */
	bool		has_null;		/* a row with a NULL key was there */
	GpucolKeyRange ranges[GPUCOL_KEY_RANGES];
} GpucolLookupFigures;

/* What a probe did in a run. */
typedef struct GpucolProbeFigures
{
	uint64_t	probed;			/* rows that reached it */
	uint64_t	found;			/* rows that it handed on, before its filter */
	bool		bounded;		/* only pairs between bounds that its residual sets were made: */
	uint64_t	pairs;
} GpucolProbeFigures;

/*
 * Joined rows that nobody wants: those whose value of an output comes after a bound, which may
 * rise while the run goes on; or (`each`) after the first value of those that were made of the same
 * flowing row.  An engine may leave them out.
 */
typedef struct GpucolTopBound
{
	uint16_t	output;			/* of class B, I, F, or D, whose mantissas are clamped */
	bool		descending;
	bool		each;			/* and there is no bound */
	int64_t		bound;			/* least order of what is wanted, if descending, else of ~order; INT64_MIN:
								 * all are.  Written by the host with __atomic_store_n */
} GpucolTopBound;

/* A mantissa as an int64, or the one next to it. */
static inline int64_t
gpucol_top_clamp(__int128 value)
{
	return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t) value;
}

/*
 * Of the rows of a probe's table that match a flowing row (a probe without keys, INNER or LEFT) only the
 * first `most` by an order.  Its keys are registers of the probe's residual; of equal rows the first stay.
 */
typedef struct GpucolProbeOrder
{
	uint32_t	most;			/* 1 to GPUCOL_MOST_FIRST; 0: all match */
	uint32_t	skipped;		/* fewer: so many of them, the first, are left out */
	int			nkeys;
	const uint16_t *keys;		/* of class B, I, D or F */
	const bool *descending;		/* by key */
	const bool *nulls_first;
} GpucolProbeOrder;

#define GPUCOL_MOST_FIRST		100
#define GPUCOL_FIRST_KEYS		8	/* sort keys of one, at most */
#define GPUCOL_MOST_ORDERED		65536	/* rows of such a table */

typedef struct GpucolRunOptions
{
	int			threads;		/* gpucol.cpu_threads, at least 1 */
	size_t		memory_limit;	/* bytes the run may hold; 0 = no limit */
	size_t		window_limit;	/* CPU: bytes of decoded values and outputs that it aims
								 * at, however long a value is; 0 = no such aim */
	struct GpucolBudget *budget;	/* which they count against too; NULL = none */
	bool		checked;		/* every value of the program's columns is known
								 * to have its column's kind */
	const GpucolRowShape *shape;	/* what becomes of the rows, if the engine knows
								 * how; NULL: nothing */
	bool		jit;			/* CUDA: may run kernels compiled for the program */
	bool		look_ahead;		/* CPU, AGG: the source is this run's alone, so that it may be
								 * gone through before rows are read */
	bool		in_place;		/* AGG: the host is done with a batch before the process
								 * asks any engine for anything else, so that one of up
								 * to GPUCOL_IN_PLACE_ROWS may show results where they
								 * were received */
	bool		large_batches;	/* CPU, AGG: groups are delivered many at a time, by all threads */
	const GpucolFirst *first;	/* AGG: which groups are wanted; NULL: all.  An engine may
								 * deliver others, too */
	const GpucolTopBound *top;	/* SCAN with probes: rows that may be left out, or NULL */
	GpucolTakeRows take;		/* CPU: takes the rows of a SCAN, of which next then
								 * delivers none; or NULL */
	void	   *take_arg;
	GpucolLookup *const *lookups;	/* tables of the program's probes, */
	int			nlookups;
	const struct GpucolEngine *const *lookup_engines;	/* CUDA: which made each of them */
	const GpucolProbeOrder *orders;	/* CPU: by probe; NULL: none has one */
	const GpucolTurn *turns;	/* CPU: by table, kept by next_turn; NULL: all are whole */
	GpucolNextTurn next_turn;
	void	   *next_turn_arg;
	const GpucolTablePart *part;	/* CPU, BUILD and AGG: what to make of the table, or of
									 * the groups by their keys; NULL: all */
} GpucolRunOptions;

typedef struct GpucolRun GpucolRun;

typedef struct GpucolEngine
{
	const char *name;			/* as in gpucol.engine and EXPLAIN */

	/* Can it run now?  If not, *why is a static sentence for the user. */
	bool		(*available) (const char **why);

	/*
	 * Start a run.  program, source and host stay the caller's and must live
	 * until finish.  On a status other than GPUCOL_OK no run exists and *why
	 * says the reason.
	 */
	GpucolStatus (*start) (const GpucolProgram *program, GpucolSource *source,
						   const GpucolHost *host,
						   const GpucolRunOptions *options,
						   GpucolRun **run, const char **why);

	/* Next batch: GPUCOL_OK, GPUCOL_END or the status that ended the run. */
	GpucolStatus (*next) (GpucolRun *run, GpucolResult *out);

	/*
	 * Do a whole BUILD run, instead of next.  On GPUCOL_OK *lookup is the caller's,
	 * also once the run is finished.  NULL in an engine that does not join.
	 */
	GpucolStatus (*build) (GpucolRun *run, GpucolLookup **lookup);
	void		(*lookup_figures) (const GpucolLookup *lookup, GpucolLookupFigures *out);

	/* Its arrays; and the number of a string among the entries of key column k,
	 * GPUCOL_LOOKUP_NONE if it is not there. */
	void		(*lookup_view) (const GpucolLookup *lookup, GpucolLookupView *out);
	uint32_t	(*lookup_string) (const GpucolLookup *lookup, int k, GpucolBytes value);
	void		(*lookup_free) (GpucolLookup *lookup);

	/* Figures so far. */
	void		(*stats) (const GpucolRun *run, GpucolRunStats *out);
	void		(*probe_figures) (const GpucolRun *run, int probe, GpucolProbeFigures *out);

	/*
	 * Release everything; callable in any state, also after the source or the
	 * host left by longjmp.  Never calls the source: an engine gives windows back
	 * before it returns, and those open at a longjmp are the host's to release.
	 */
	void		(*finish) (GpucolRun *run);
} GpucolEngine;

extern const GpucolEngine gpucol_engine_cpu;
extern const GpucolEngine gpucol_engine_cuda;

#endif							/* GPUCOL_ENGINE_ENGINE_H */
