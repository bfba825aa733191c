/*-------------------------------------------------------------------------
 *
 * join.h
 *	  Probes: what the files of the joins share.
 *
 * The rows of a vector go from probe to probe as the selection does: worker->sel lists
 * them, and beside it each probe has the row of its table that each of them has met
 * (match[]).  Columns of the source are loaded by the one, payload by the other, in the
 * stage that needs them.
 *
 * A probe at which a row leaves at most once works in place: it drops rows.  Where rows
 * multiply, or all pairs of a row must be known before it is decided, the selection, the
 * registers and the matches are saved (GpucolCpuExpansion), and the rest of the program
 * runs on batches of up to 1,024 pairs until the saved rows are done.  Expansions nest, by
 * number of their probe.  Between two batches a worker may pause, when its time is up or
 * its outputs are full: then its main thread delivers what there is, looks for interrupts,
 * and lets it go on.
 *
 * Pairs are made in the order of the saved rows, so that sel never descends.
 *
 *	  probe.c	keys, matches, probes in place; probe_codes.c keys by packed codes
 *	  expand.c	expansions
 *	  order.c	the first rows of an order, which alone become pairs
 *	  band.c	the rows between bounds, which alone can pass the residual
 *	  set.c		expansions by the elements of arrays and the fields of texts
 *	  tail.c	rows of the tables, when the source has ended
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_JOIN_H
#define GPUCOL_ENGINE_CPU_JOIN_H

#include "engine/cpu/lookup.h"
#include "kernel/set_function.h"

/* Stages of probe p, see engine/cpu/live.c. */
#define GPUCOL_STAGE_KEYS(p)		(3 * (p) + 1)
#define GPUCOL_STAGE_RESIDUAL(p)	(3 * (p) + 2)
#define GPUCOL_STAGE_FILTER(p)		(3 * (p) + 3)

/* A probe of the run; read by all threads. */
struct GpucolCpuProbe
{
	const GpucolProbe *probe;
	GpucolJoinKind kind;
	int			number;
	const GpucolLookup *table;
	const uint16_t *keys;		/* registers */
	int			first;			/* instruction of its stages */
	bool		is_set;			/* of no table, but of a function for each key, */
	GpucolSetFunction functions[GPUCOL_SET_MOST];	/* mostly one */
	bool		residual;
	bool		expands;
	bool		keeps;			/* LEFT, FULL: rows without a match */
	bool		parted;			/* of a table in parts: hands on rows without a match, those
								 * whose key is of the part at hand */
	bool		marks;			/* of the table's rows those that had a match */
	int			last_load;		/* stage in which its payload is read last, or -1 */
	int			codes_slot;		/* the key's column, where codes may do; or -1 */
	bool		codes_read;		/* the key's register is read later */
	uint8_t    *matched;		/* marks: a byte a row of the table */
	bool	   *needed;			/* marks: instructions for rows delivered in the end */
	const GpucolProbeOrder *order;	/* only the first rows of a match; or NULL */
	struct GpucolCpuBand *band; /* the residual bounds values of the table; or NULL */
};

typedef struct GpucolCpuBand GpucolCpuBand;

/* Key strings of one segment's dictionary: number + 2 in the table, 1 = not there. */
typedef struct GpucolCpuKeyMap
{
	uint64_t	serial;
	uint32_t   *numbers;
	size_t		room;
} GpucolCpuKeyMap;

/* How keys are found by the packed codes of a segment (engine/cpu/probe_codes.c). */
typedef enum GpucolCpuCodesWay
{
	GPUCOL_CPU_CODES_VALUES,	/* they are not */
	GPUCOL_CPU_CODES_BITS,
	GPUCOL_CPU_CODES_ALL,
	GPUCOL_CPU_CODES_NONE,
	GPUCOL_CPU_CODES_MAP
} GpucolCpuCodesWay;

typedef struct GpucolCpuKeyCodes
{
	uint64_t	serial;			/* segment */
	GpucolCpuCodesWay way;
	uint32_t	delta;			/* of a code, to its word */
	uint32_t   *numbers;		/* MAP: by code */
	size_t		room;
} GpucolCpuKeyCodes;

/* The values of saved rows that are arrays or texts, and a batch of their elements or fields. */
typedef struct GpucolCpuItems
{
	GpucolBytes *values;		/* by saved row, */
	uint8_t    *absent;			/* and whether it is NULL */
	bool		begun;			/* with the row at hand */
	GpucolSetCursor cursor;
	int64_t		number;			/* of the element before, */
	int64_t		before;			/* to which this is added */
	const int64_t *flat;		/* not NULL: values are unpacked elements (items.h), */
	const uint8_t *flat_nulls;	/* with a byte for each, or NULL; */
	uint32_t	done;			/* so many of the row at hand are listed */
	GpucolBytes *items;			/* batch */
	uint8_t    *nulls;
	int64_t    *numbers;
	char	   *texts;			/* of jsonb: room for those of numbers, else NULL */
	int64_t    *integers;		/* in place of items, where they are unpacked; */
	bool		no_null;		/* none is NULL then */
	bool		numbered;		/* the program loads numbers */
	bool		lacking;		/* the batch is of rows of which no element has passed */
	uint32_t	total;			/* of several functions: rows that the row at hand has, */
	struct GpucolCpuItems *next;	/* and the elements that the next one makes */
} GpucolCpuItems;

/* The first rows of the table for each saved row, by an order, as far as the table was gone through. */
typedef struct GpucolCpuFirsts
{
	uint32_t   *rows;			/* by saved row, order->most places */
	__int128   *values;			/* by place and key: what is less the sooner it comes, */
	int8_t	   *ranks;			/* and -1 before, 1 behind all others: NULL */
	int64_t    *bounds;			/* by saved row: of the first key; what is greater comes too late */
	int64_t    *values_now;		/* by selected row, of the table's row at hand */
} GpucolCpuFirsts;

/* Between which values of a band (engine/cpu/band.c) the rows lie that a saved row can meet. */
typedef struct GpucolCpuLimits
{
	int64_t		least[GPUCOL_VECTOR_VALUES];
	int64_t		greatest[GPUCOL_VECTOR_VALUES];
	int64_t		second[GPUCOL_VECTOR_VALUES];	/* the least of the other value */
	bool		none[GPUCOL_VECTOR_VALUES];
} GpucolCpuLimits;

/* Rows saved at a probe. */
typedef struct GpucolCpuExpansion
{
	bool		active;
	bool		unpaired;		/* pairs are done; rows that only now are decided follow */
	uint32_t	nrows;
	uint32_t	row;			/* next */
	uint32_t	offset;			/* and of its table's rows */
	uint16_t   *sel;
	uint32_t   *first;			/* by row: of its table's rows, */
	uint32_t   *count;			/* their number */
	uint8_t    *hit;			/* a pair has passed the residual */
	GpucolCpuReg *regs;			/* as run->digest.live[] of the stage */
	uint32_t  **match;			/* by probe before it */
	uint16_t   *at;				/* batch: saved row of each pair */
	GpucolCpuItems *set;			/* of a set, else NULL */
	GpucolCpuFirsts *firsts;	/* with an order, else NULL: first[] is the place of its first one */
	bool		banded;			/* first[] is a place among the rows of a band */
	bool		turned;			/* all saved rows with one of the table's at a time, which offset counts */
	bool		full;			/* of the saved rows: as the worker's */
	GpucolCpuLimits *limits;	/* of a band, else NULL */
} GpucolCpuExpansion;

/* A worker's state in the probes. */
struct GpucolCpuTrail
{
	uint32_t  **match;			/* by probe: the table's rows, as sel, */
	bool	   *alike;			/* and whether they are all the same one */
	uint32_t   *numbers;		/* of keys */
	uint32_t   *narrow;			/* words, or numbers, by codes */
	GpucolCpuCodesWay way;		/* how they are found */
	GpucolCpuKeyCodes *codes_of;	/* by probe */
	uint64_t   *words;
	uint64_t  **codes;			/* by key of a probe */
	uint8_t    *valid;
	GpucolCpuKeyMap *maps;		/* by key of the program's probes */
	GpucolCpuExpansion *expansions; /* by probe */
	GpucolProbeFigures *figures;	/* by probe */
	bool		paused;
	GpucolCpuVector vector;		/* in which it paused */
};

/* engine/cpu/join.c: set up the probes of a run and its workers. */
extern GpucolStatus gpucol_cpu_join_init(GpucolRun *run, const GpucolRunOptions *options,
										 const char **why);

/* engine/cpu/engine.c: call init for each worker, in its thread; the first status that is not GPUCOL_OK. */
extern GpucolStatus gpucol_cpu_init_workers(GpucolRun *run,
											GpucolStatus (*init) (GpucolRun *run, GpucolCpuWorker *worker));

/*
 * engine/cpu/turn.c: when the source has ended, begin it again with the tables of the next
 * turn; GPUCOL_END if there is none.
 */
extern GpucolStatus gpucol_cpu_turn(GpucolRun *run);

/* engine/cpu/join.c: the same for the probes; tables up to number `changed` are others. */
extern GpucolStatus gpucol_cpu_join_again(GpucolRun *run, int changed);

/* Do a program's probes make sense? */
extern bool gpucol_cpu_join_check(const GpucolProgram *program);

/* Load a payload column for the selected rows. */
extern void gpucol_cpu_join_load(GpucolCpuWorker *worker, int payload, GpucolCpuReg *reg);

/*
 * Take the selected rows through the probes, from `probe` on, and to the sink.  On a pause
 * trail->paused is set, and resume goes on.
 */
extern GpucolStatus gpucol_cpu_join_rows(GpucolCpuWorker *worker,
										 const GpucolCpuVector *vector, int probe);
extern GpucolStatus gpucol_cpu_join_resume(GpucolCpuWorker *worker);

/* engine/cpu/probe.c */

/* Find the numbers of the selected rows' keys, by codes where gpucol_cpu_codes_open did. */
extern GpucolStatus gpucol_cpu_probe_find(GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
										  bool by_codes, uint32_t *numbers);

/*
 * Make the keys in the registers of the selected rows ready to be found as codes are;
 * *done false where the table is not dense.
 */
extern GpucolStatus gpucol_cpu_probe_narrow(GpucolCpuWorker *worker,
											const GpucolCpuProbe *probe, bool *done);

/* A probe in place, which loads its key when it is done if `load`. */
extern GpucolStatus gpucol_cpu_probe_rows(GpucolCpuWorker *worker,
										  const GpucolCpuVector *vector,
										  const GpucolCpuProbe *probe, bool by_codes,
										  bool load);

/*
 * Keep entries at[] (ascending) of the selected rows, of their registers that are read
 * after a stage, and of their matches: those of probe `of`, if there is one, and those of
 * others that are read then.
 */
extern void gpucol_cpu_probe_keep(GpucolCpuWorker *worker, int stage, int of,
								  const uint16_t *at, uint32_t n);

/* Of n entries at[] of the selected rows leave those whose key is of the table's part. */
extern uint32_t gpucol_cpu_probe_of_part(const GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
										 uint16_t *at, uint32_t n);

/* Mark the rows of the table that the selected rows have met. */
extern void gpucol_cpu_probe_mark(GpucolCpuWorker *worker, const GpucolCpuProbe *probe);

/* Count the rows handed on, and apply the probe's filter. */
extern GpucolStatus gpucol_cpu_probe_filter(GpucolCpuWorker *worker,
											const GpucolCpuVector *vector,
											const GpucolCpuProbe *probe);

/*
 * engine/cpu/probe_codes.c: make the selected rows' keys ready to be found by packed codes;
 * false where their register is needed.  Then list the rows whose key is there or is not,
 * and find the numbers of keys: of n rows at[] that are there, or (NULL) of all.
 */
extern bool gpucol_cpu_codes_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
								  const GpucolCpuProbe *probe);
extern uint32_t gpucol_cpu_codes_select(GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
										bool there, uint16_t *at);
extern void gpucol_cpu_codes_numbers(GpucolCpuWorker *worker, const GpucolCpuProbe *probe,
									 const uint16_t *at, uint32_t n, uint32_t *numbers);

/* engine/cpu/expand.c: save the selected rows; the next batch of the saved ones. */
extern GpucolStatus gpucol_cpu_expand_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
										   const GpucolCpuProbe *probe, bool by_codes);
extern GpucolStatus gpucol_cpu_expand_next(GpucolCpuWorker *worker,
										   const GpucolCpuVector *vector,
										   const GpucolCpuProbe *probe);
extern GpucolStatus gpucol_cpu_expand_init(GpucolRun *run, const GpucolCpuProbe *probe,
										   GpucolCpuExpansion *expansion);
extern void gpucol_cpu_expand_free(GpucolRun *run, const GpucolCpuProbe *probe,
								   GpucolCpuExpansion *expansion);

/*
 * engine/cpu/set.c: is a probe's description of a set right?  Take its functions over, false if they cannot be
 * beside one another; does a column suit a payload, and what bounds its values?
 */
extern bool gpucol_cpu_set_check(const GpucolProgram *program, const GpucolProbe *probe);
extern bool gpucol_cpu_set_read(const GpucolRun *run, GpucolCpuProbe *probe);
extern bool gpucol_cpu_set_suits(const GpucolCpuProbe *probe, const GpucolPayload *payload);
extern void gpucol_cpu_set_bounds(const GpucolCpuProbe *probe, int column, GpucolCpuBounds *b);

/* ... a worker's memory; the values of the selected rows; up to 1,024 of their elements; a column of these. */
extern GpucolStatus gpucol_cpu_set_init(GpucolRun *run, const GpucolCpuProbe *probe, GpucolCpuExpansion *expansion);
extern void gpucol_cpu_set_free(GpucolRun *run, GpucolCpuExpansion *expansion);
extern void gpucol_cpu_set_open(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, GpucolCpuItems *set);
extern GpucolStatus gpucol_cpu_set_list(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe,
										uint32_t *listed);
/* Does a set write texts of its own?  They stay until the next batch: copy values that are such, in `room`. */
extern bool gpucol_cpu_set_writes(const GpucolRun *run);
extern void gpucol_cpu_set_copy(const GpucolCpuWorker *worker, GpucolBytes *values, uint32_t n, char *room);
/* Of the batch elements at[], ascending, are left. */
extern void gpucol_cpu_set_keep(GpucolCpuItems *set, const uint16_t *at, uint32_t n);
extern void gpucol_cpu_set_load(GpucolCpuWorker *worker, const GpucolCpuProbe *probe, int column,
								GpucolCpuReg *reg);

/*
 * engine/cpu/order.c: does a probe's order suit it and its table?  A worker's memory; find the first rows for
 * the selected ones, of the table's first[0] and count[0] - 1 after it; then these are those of firsts->rows.
 */
extern bool gpucol_cpu_order_suits(const GpucolCpuProbe *probe, const GpucolRun *run);
extern GpucolStatus gpucol_cpu_order_init(GpucolRun *run, const GpucolCpuProbe *probe,
										  GpucolCpuExpansion *expansion);
extern void gpucol_cpu_order_free(GpucolRun *run, GpucolCpuExpansion *expansion);
extern GpucolStatus gpucol_cpu_order_choose(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
											const GpucolCpuProbe *probe);

/*
 * engine/cpu/band.c: find out whether the residual bounds values of the table, after what was found before is
 * freed.
 */
extern GpucolStatus gpucol_cpu_band_plan(GpucolRun *run, GpucolCpuProbe *probe);

/*
 * ... sort the table's rows, if no worker has; find the stretch of them for each selected row, first[] and count[].
 * False where all pairs are to be tested.  Then, of the saved row at hand, up to `room` of the table's rows.
 */
extern bool gpucol_cpu_band_open(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
								 const GpucolCpuProbe *probe);
extern bool gpucol_cpu_band_find(GpucolCpuWorker *worker, const GpucolCpuVector *vector,
								 const GpucolCpuProbe *probe);
extern uint32_t gpucol_cpu_band_list(GpucolCpuExpansion *expansion, const GpucolCpuProbe *probe, uint32_t room,
									 uint32_t *match);

/* engine/cpu/tail.c: a slice of the rows of tables; GPUCOL_END when all are done. */
extern GpucolStatus gpucol_cpu_tail_step(GpucolRun *run);

#endif							/* GPUCOL_ENGINE_CPU_JOIN_H */
