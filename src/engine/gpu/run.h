/*-------------------------------------------------------------------------
 *
 * run.h
 *	  A run on the device, as the files behind gpucol_engine_cuda share it.
 *
 *	engine/gpu/client.c	the engine: a run made, started, told about and freed
 *	engine/gpu/note.c		first pass over the source: segments, numbers of byte strings
 *	engine/gpu/raw.c		byte strings without a dictionary
 *	engine/gpu/late.c		byte strings of the rows of a result
 *	engine/gpu/delta.c		delta rows
 *	engine/gpu/order.c		orders of byte strings
 *	engine/gpu/lookup.c	tables that probes look up
 *	engine/gpu/build.c		tables that the device makes
 *	engine/gpu/request.c	the conversation with the daemon
 *	engine/gpu/send.c		what is sent: pieces of segments (second pass), objects
 *	engine/gpu/result.c	the result, and batches of its rows
 *	engine/gpu/prefetch.c	loading columns without computing anything
 *
 * The source and the host's tests may raise errors that unwind past all of this.  So
 * whatever is held is held by the run, which whoever made it frees.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_RUN_H
#define GPUCOL_ENGINE_GPU_RUN_H

#include "base/budget.h"
#include "base/owned.h"
#include "engine/engine.h"
#include "engine/gpu/client.h"
#include "engine/gpu/dictionary.h"
#include "engine/gpu/manifest.h"
#include "engine/gpu/order.h"
#include "engine/gpu/ranks.h"
#include "engine/gpu/wire.h"
#include "kernel/memory.h"

#define GPUCOL_GPU_BYTES_SLOTS	16	/* slots of GpucolWireRun.distinct */
#define GPUCOL_GPU_BATCH_ROWS	4096	/* rows handed out at a time */
#define GPUCOL_GPU_OUTPUTS		64	/* columns of a result, at most */

/* Delta rows as columns of packed 64-bit vectors. */
typedef struct GpucolGpuDelta
{
	uint64_t	nrows;
	uint64_t	space;			/* rows, whole vectors */
	uint64_t   *tids;
	uint32_t  **codes;			/* [ncolumns] */
	uint32_t  **nulls;			/* [ncolumns] */
	bool	   *has_nulls;
} GpucolGpuDelta;

/* A table that probes look up. */
typedef struct GpucolGpuTable
{
	const GpucolLookup *lookup; /* NULL: no probe does */
	const GpucolEngine *engine; /* that made it */
	GpucolLookupView view;
	bool	   *needed;			/* by column: is it read on the device? */
	struct GpucolGpuNumbered *numbered; /* by column: where its entries are numbered anew */
} GpucolGpuTable;

/* A column of byte strings in which equal strings have one number; all NULL: nobody asked. */
typedef struct GpucolGpuNumbered
{
	GpucolGpuDictionary *dictionary;
	void	   *values;			/* as the column's, with reference 0; NULL: its numbers are right */
} GpucolGpuNumbered;

/* A run on the device: what the handle GpucolRun of engine/engine.h is here. */
/* Codes and numbers of byte strings, made while segments are noted and sent. */
typedef struct GpucolGpuNumbering
{
	const GpucolSegment *current;	/* the only one noted; NULL: all are */
	uint32_t	number;			/* of the first segment noted, in the table */
	uint32_t   *remap;			/* numbers of one dictionary's entries */
	uint32_t   *codes;			/* of a chunk's rows, where they are made here */
	uint64_t	remap_bytes;	/* of both */
	uint64_t	numbered_bytes; /* of what is numbered anew */
} GpucolGpuNumbering;

/* Strings that are read of the rows of the result. */
typedef struct GpucolGpuLate
{
	GpucolGpuDictionary **dictionaries; /* [ncolumns]; NULL: none */
	GpucolOwned blocks;			/* of who reads them */
	GpucolMemory memory;
} GpucolGpuLate;

/* The daemon's answer, and how far it has been handed out. */
typedef struct GpucolGpuAnswer
{
	GpucolWireResult result;
	char	   *data;			/* result.bytes */
	size_t		sizeof_data;
	bool		lent;			/* the data lie in the wire's slab */
	uint64_t	at;				/* rows handed out */
	int			noutputs;		/* columns of the result, once its arrays are found */
	GpucolResultColumn *columns;
	const int64_t **values;		/* of each result column, in data */
	const uint8_t **nulls;
	__int128   *wide[GPUCOL_GPU_OUTPUTS];	/* batch buffers of D columns */
	GpucolBytes *strings[GPUCOL_GPU_OUTPUTS];	/* batch buffers of S columns */
	uint64_t   *tids;
	const uint64_t *rows;
	const GpucolAggState *states;
	GpucolGpuRanks *ranks;
} GpucolGpuAnswer;

typedef struct GpucolGpuRun
{
	const GpucolProgram *program;
	int			ncolumns;		/* its; finish may come after it is gone */
	GpucolSource *source;
	const GpucolHost *host;
	const GpucolRowShape *shape;	/* NULL: rows as they are */
	const GpucolFirst *first;	/* groups that are wanted; NULL: all */
	GpucolWire *wire;
	GpucolBytesUse *bytes;		/* [ncolumns] */
	GpucolGpuManifest *manifest;
	GpucolGpuDelta delta;
	void	   *scratch;		/* what a longjmp must not lose */
	void	   *payload;
	void	   *needed;
	GpucolGpuOrder *orders;		/* of least and greatest bytes; [norders] */
	int			norders;
	GpucolGpuTable tables[GPUCOL_WIRE_MAX_PROBES];
	int			ntables;
	const GpucolProbeOrder *firsts; /* by probe: the first rows of an order; NULL: there are none */
	int			table;			/* BUILD: its number, -1 = none or handed over, */
	uint64_t	serial;			/* of this connection */
	GpucolBudget memory;		/* of this process, for what gpucol_gpu_run_fits counts */
	uint64_t	sent;			/* bytes of chunks that were missing */

	bool		asking;			/* the connection is in the middle of this request */
	bool		jit;
	bool		in_place;		/* as in GpucolRunOptions */
	GpucolStatus error;			/* of the user's expression */

	GpucolGpuNumbering numbering;
	GpucolGpuLate late;
	GpucolGpuAnswer answer;
	double		note_seconds;	/* where the time went */
	double		ask_seconds;
	double		fetch_seconds;
} GpucolGpuRun;

/* ---- engine/gpu/client.c ---- */

/* Say why a run ends without an answer; the text is copied.  Returns the status. */
extern GpucolStatus gpucol_gpu_refuse(const char **why, GpucolStatus status, const char *text);

/* The same where the connection was lost, by what the daemon said last. */
extern GpucolStatus gpucol_gpu_lost(const char **why);

/* Make a run; NULL without memory. */
extern GpucolGpuRun *gpucol_gpu_run_create(const GpucolProgram *program, GpucolSource *source,
											const GpucolHost *host);

/* Free it and all that it holds, in any state; NULL is fine. */
extern void gpucol_gpu_run_free(GpucolGpuRun *run);

/*
 * Decide what is needed of each column of bytes; UNSUPPORTED where the device cannot do it,
 * and where the source hands out parts of segments: the device has whole ones.
 */
extern GpucolStatus gpucol_gpu_run_examine(GpucolGpuRun *run, const char **why);

/*
 * Slot of the column that a host test is about; -1: there is no such test; -2: it is
 * about several, whose results the daemon could not tell apart.
 */
extern int	gpucol_gpu_host_slot(const GpucolProgram *program, int id);

/* Count the run's memory with so many bytes more; false: it would exceed its limit, or one above. */
extern bool gpucol_gpu_run_fits(GpucolGpuRun *run, uint64_t more);

/* ---- engine/gpu/note.c ---- */

/*
 * Find the segments noted, or note all that the source shows.  UNSUPPORTED where one has
 * a column of bytes that can have no numbers.
 */
extern GpucolStatus gpucol_gpu_note_segments(GpucolGpuRun *run);

/* Note one segment more in run->noted. */
extern GpucolStatus gpucol_gpu_note_segment(GpucolGpuRun *run, const GpucolSegment *segment);

/*
 * Number the entries of a segment's dictionary, into run->numbering.remap; *n is 0 where the
 * segment has none and needs none.
 */
extern GpucolStatus gpucol_gpu_number_dictionary(GpucolGpuRun *run, const GpucolSegment *segment,
												 int slot, uint32_t *n);

/* Words of a segment's bitmap of deleted rows. */
extern size_t gpucol_gpu_bitmap_words(const GpucolSegment *segment);

/* ---- engine/gpu/raw.c ---- */

/* Is a chunk one of byte strings without a dictionary, of which the device is to have numbers? */
extern bool gpucol_gpu_raw_is(const GpucolGpuRun *run, int slot, const GpucolChunkDesc *desc);

/* Has a segment such a chunk? */
extern bool gpucol_gpu_raw_any(const GpucolGpuRun *run, const GpucolSegment *segment);

/*
 * Look whether all that the source shows of such chunks are few enough strings.  If not,
 * columns whose values are only put out become GPUCOL_BYTES_ROWS, if that helps; else
 * UNSUPPORTED.  The source is at its first segment then.
 */
extern GpucolStatus gpucol_gpu_raw_measure(GpucolGpuRun *run);

/* Make all columns that may be GPUCOL_BYTES_ROWS so; false: there are none. */
extern bool gpucol_gpu_raw_leave(GpucolGpuRun *run);

/* Make the descriptor of such a chunk what the device is told: n distinct strings, by codes. */
extern void gpucol_gpu_raw_describe(GpucolChunkDesc *desc, uint32_t nrows, uint32_t n);

/*
 * Number the strings of such a chunk: run->numbering.remap has the numbers of its *n distinct ones, and
 * run->numbering.codes which of these each row has.
 */
extern GpucolStatus gpucol_gpu_raw_number(GpucolGpuRun *run, const GpucolSegment *segment, int slot, uint32_t *n);

/* Send the codes of such a chunk, as gpucol_gpu_raw_describe says; *offset is where they go in the object. */
extern GpucolStatus gpucol_gpu_raw_send(GpucolGpuRun *run, const GpucolSegment *segment, uint32_t number,
										int slot, uint64_t total, uint64_t *offset);

/* ---- engine/gpu/late.c ---- */

/* Are a column's values only put out, by a scan, so that they may be read of the rows of its result? */
extern bool gpucol_gpu_late_may(const GpucolGpuRun *run, int slot);

/*
 * Read the values of columns of GPUCOL_BYTES_ROWS for a result whose arrays are found;
 * UNSUPPORTED where its rows lie in too many places.
 */
extern GpucolStatus gpucol_gpu_late_read(GpucolGpuRun *run);

/* ---- engine/gpu/delta.c ---- */

/* Read the source's delta rows; OUT_OF_MEMORY as soon as they do not fit the run's limit. */
extern GpucolStatus gpucol_gpu_delta_read(GpucolGpuRun *run);
extern void gpucol_gpu_delta_free(GpucolGpuRun *run);

/* ---- engine/gpu/lookup.c ---- */

/* Find the tables of a program's probes; UNSUPPORTED where the device cannot look them up. */
extern GpucolStatus gpucol_gpu_lookups_open(GpucolGpuRun *run, const GpucolRunOptions *options,
											const char **why);
extern void gpucol_gpu_lookups_free(GpucolGpuRun *run);

/*
 * The byte strings that a slot's numbers stand for: those of a column, or of a payload
 * column behind them.  NULL where they were not asked for.
 */
extern const GpucolBytes *gpucol_gpu_slot_strings(const GpucolGpuRun *run, int slot, uint32_t *n);

/*
 * The dictionary of a slot whose values a BUILD or an aggregation puts out: equal strings have one
 * number.  NULL: there is none.
 */
extern GpucolGpuDictionary *gpucol_gpu_slot_dictionary(const GpucolGpuRun *run, int slot);

/* Objects that gpucol_gpu_send_lookups will send: tables, and numbers of keys. */
extern uint32_t gpucol_gpu_count_lookups(const GpucolGpuRun *run);
extern GpucolStatus gpucol_gpu_send_lookups(GpucolGpuRun *run);

/* ---- engine/gpu/build.c ---- */

/* Why the device does not make the table of a BUILD; NULL if it does. */
extern const char *gpucol_gpu_build_obstacle(const GpucolProgram *program);

/* Read the description that came: GPUCOL_DEVICE_LOST for what no sound daemon sends. */
extern GpucolStatus gpucol_gpu_build_check(const GpucolGpuRun *run);

/* The operations of the engine. */
extern GpucolStatus gpucol_gpu_build(GpucolRun *run, GpucolLookup **lookup);
extern void gpucol_gpu_lookup_figures(const GpucolLookup *lookup, GpucolLookupFigures *out);
extern void gpucol_gpu_lookup_view(const GpucolLookup *lookup, GpucolLookupView *out);
extern void gpucol_gpu_lookup_free(GpucolLookup *lookup);

/* Its number and connection; and the dictionary that a column's values are numbers of, or NULL. */
extern uint32_t gpucol_gpu_lookup_number(const GpucolLookup *lookup, uint64_t *serial);
extern GpucolGpuDictionary *gpucol_gpu_lookup_dictionary(const GpucolLookup *lookup, int column);

/* ---- engine/gpu/send.c ---- */

/* Send what the daemon needs, n pieces in the order of the segments. */
extern GpucolStatus gpucol_gpu_send_missing(GpucolGpuRun *run, const GpucolWireNeed *need, size_t n);

/*
 * Objects that gpucol_gpu_send_objects will send: delta columns, results of host tests,
 * places in orders, tables of probes.
 */
extern uint32_t gpucol_gpu_count_objects(const GpucolGpuRun *run);

/* Evaluates the host's tests and orders, which may raise the user's errors. */
extern GpucolStatus gpucol_gpu_send_objects(GpucolGpuRun *run);

/* ---- engine/gpu/request.c ---- */

/* Do the whole request: from what the program asks to the result's arrays. */
extern GpucolStatus gpucol_gpu_request(GpucolGpuRun *run, const char **why);

/*
 * Announce the noted segments with GPUCOL_WIRE_RUN_* flags, send what the daemon lacks, and receive
 * the result's head into run->answer.result.  The connection is the run's until
 * gpucol_gpu_exchange_end, before which the data of the result are to be read.
 */
extern GpucolStatus gpucol_gpu_exchange(GpucolGpuRun *run, uint32_t flags, const char **why);
extern void gpucol_gpu_exchange_end(GpucolGpuRun *run);

/* Ask what is missing of the noted segments, and take the request back. */
extern GpucolStatus gpucol_gpu_request_missing(GpucolGpuRun *run, GpucolGpuLacking *lacking,
											   const char **why);

/* ---- engine/gpu/result.c ---- */

/* Read the data of a result whose head is in run->answer.result. */
extern GpucolStatus gpucol_gpu_result_read(GpucolGpuRun *run);

/*
 * Find the arrays in the data, and make the buffers of a batch.  GPUCOL_DEVICE_LOST for
 * data that no sound daemon sends.
 */
extern GpucolStatus gpucol_gpu_result_find(GpucolGpuRun *run);

/* The next batch, as GpucolEngine.next. */
extern GpucolStatus gpucol_gpu_result_next(GpucolGpuRun *run, GpucolResult *out);

/* Free the data and the arrays. */
extern void gpucol_gpu_result_free(GpucolGpuRun *run);

#endif							/* GPUCOL_ENGINE_GPU_RUN_H */
