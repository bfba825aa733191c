/*-------------------------------------------------------------------------
 *
 * cpu.h
 *	  Inside of the CPU engine: what its files share.
 *
 * A run turns a source into vectors of up to 1,024 rows and a vector into a
 * result in one pass:
 *
 *	  engine/cpu/source.c	the main thread: segments, zone maps, dictionaries, windows
 *	  engine/cpu/window.h	what is mapped of the source at a time, and raw bytes; stream.c what is read as a whole
 *	  engine/cpu/cuts.c	host predicates that the order of a dictionary decides
 *	  engine/cpu/range.c	range conjuncts, translated into the code space of a chunk
 *	  engine/cpu/column.c	values of the surviving rows of a column
 *	  engine/cpu/expr.c	expressions over registers of 1,024 values; expr_ops.c has one function for each opcode,
 *						expr_fold.c what is computed for elements of arrays; few.c texts made of few values
 *	  engine/cpu/bounds.c	what values registers can have, that decimals be computed in 64 bits
 *	  engine/cpu/scan.c	output rows of a SCAN
 *	  engine/cpu/agg.c		aggregation: set-up, delivery; agg_update.c, agg_merge.c and agg_float.c the states
 *	  engine/cpu/strings.c	byte strings of groups, numbered; extreme.c the least and greatest
 *	  engine/cpu/merge.c	the merge of many groups by all threads; twins.c finds those of several tables
 *	  engine/cpu/agg_drain.c	tables of threads that become large, drained into tables by key
 *	  engine/cpu/final.c	groups that are complete when their vector is; first.c which are delivered
 *	  engine/cpu/dense.c	grouping and sums on packed codes, where a segment allows it
 *	  engine/cpu/live.c	which registers are read after a step, and their moving together; select.c lists of rows
 *	  engine/cpu/join.h	probes of built tables: join.c sets them up, probe.c and probe_codes.c look rows up,
 *						expand.c makes pairs of rows, tail.c delivers rows of the tables in the end
 *						turn.c goes over the source again for the next parts of tables, part.c tells parts
 *	  engine/cpu/build.c	rows of a BUILD; lookup_build.c makes the table of them, lookup.c looks it up
 *
 * The main thread alone calls the source and the host, and only while no other
 * thread is at work; both may longjmp, so at those moments the run is complete
 * in itself and holds no window that a later call would have to give back:
 * every window is mapped, worked on and unmapped within one gpucol_cpu_step,
 * and finish never touches the source.
 *
 * struct GpucolRun has a part for each of these matters: code and digest (what is computed),
 * mem, input (what is scanned), window (what is mapped), join, agg (what is reduced), out.
 *
 * Freestanding C: no PostgreSQL header.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_CPU_H
#define GPUCOL_ENGINE_CPU_CPU_H

#include <stdatomic.h>

#include "base/owned.h"
#include "base/pool.h"
#include "base/prefetch.h"
#include "engine/engine.h"
#include "kernel/decode.h"

#define GPUCOL_CPU_MAX_THREADS	64
#define GPUCOL_CPU_WINDOW		1024	/* vectors mapped at a time, at most */
#define GPUCOL_CPU_FIRST_PACE	128	/* vectors of the first window */
#define GPUCOL_CPU_RAW_WINDOW	256	/* the same where raw bytes are kept */
#define GPUCOL_CPU_SCAN_WINDOW	32	/* the same for a SCAN, which keeps outputs */
#define GPUCOL_CPU_JOIN_OUTPUTS	16	/* output buffers of a worker of a SCAN with probes, at most */

/* Functions compiled for several instruction sets, chosen at load time. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
	!defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GPUCOL_CPU_CLONES \
	__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GPUCOL_CPU_CLONES
#endif

#define GPUCOL_CPU_INLINE static inline __attribute__((always_inline))
#define GPUCOL_CPU_UNUSED __attribute__((unused))

/* A 128-bit value of a state: two words, which need not be aligned for it. */
GPUCOL_CPU_INLINE __int128
gpucol_cpu_get128(const uint64_t *words)
{
	return (__int128) ((unsigned __int128) words[1] << 64 | words[0]);
}

/* ... of its halves */
GPUCOL_CPU_INLINE __int128
gpucol_cpu_int128(int64_t high, uint64_t low)
{
	return (__int128) ((unsigned __int128) (uint64_t) high << 64 | low);
}

GPUCOL_CPU_INLINE void
gpucol_cpu_put128(uint64_t *words, __int128 value)
{
	words[0] = (uint64_t) value;
	words[1] = (uint64_t) ((unsigned __int128) value >> 64);
}

typedef struct GpucolCpuGroups GpucolCpuGroups;
typedef struct GpucolCpuStrings GpucolCpuStrings;
typedef struct GpucolCpuDense GpucolCpuDense;
typedef struct GpucolCpuWorker GpucolCpuWorker;
typedef struct GpucolCpuRanks GpucolCpuRanks;
typedef struct GpucolCpuProbe GpucolCpuProbe;
typedef struct GpucolCpuTrail GpucolCpuTrail;
typedef struct GpucolCpuBuilt GpucolCpuBuilt;
typedef struct GpucolCpuFinal GpucolCpuFinal;
typedef struct GpucolCpuRawData GpucolCpuRawData;
typedef struct GpucolCpuRawRows GpucolCpuRawRows;
typedef struct GpucolCpuArrays GpucolCpuArrays;

/* One table column in the current segment.  Written by the main thread between windows, read by all. */
typedef struct GpucolCpuColumn
{
	const GpucolChunkDesc *desc;
	int			slot;
	bool		used;			/* the program reads it, */
	bool		loaded;			/* by a LOAD instruction */
	bool		unread;			/* BYTES: nothing needs this segment's dictionary */
	bool		numbers;		/* BYTES: loads are of numerics that are computed with, no more */
	uint8_t		items;			/* BYTES: of arrays whose elements of so many bytes are asked for (items.h) */

	bool		tested;			/* and tests look at elements of its chunk (arrays.h) */

	/* reads what belongs to the whole chunk, and raw bytes */
	GpucolDecoder decoder;

	/* DICT, CONSTANT BYTES: entries, with room for every code of the width */
	uint32_t	ndict;
	int64_t    *dict;
	GpucolBytes *entries;
	bool		measured;		/* the program asks for their lengths: */
	_Atomic uint32_t *lengths;	/* characters + 1, 0 unknown; NULL: none are kept */
	int64_t    *mantissas;		/* numbers: those of entries that display `shown` digits at most; or NULL */
	uint8_t    *shows;			/* how many each displays; NULL: `shown` */
	int			shown;
	int64_t		least, greatest;	/* of mantissas */

	/* RLE: runs with their 64-bit forms (the decoder's) */
	uint32_t	nruns;
	const uint32_t *run_ends;
	const int64_t *run_values;

	/* current window */
	GpucolRows	codes;
	GpucolRows	nulls;
	bool		codes_mapped;
	bool		nulls_mapped;
	uint32_t	window_row;		/* RAW BYTES: segment row of the window's first; */
	bool		raw_kept;		/* their values last as long as the window: */
	GpucolBytes *raw;			/* they, */
	GpucolCpuRawData *raw_data; /* and what they lie in, by vector, */
	uint32_t	raw_room;		/* of so many vectors */
	GpucolCpuRawRows *raw_rows;	/* NULL: there have been none (engine/cpu/window.h) */
} GpucolCpuColumn;

/*
 * Meaning of a range conjunct in the int64 order of its column's domain (see
 * GpucolZone), fixed for the run.
 */
typedef enum GpucolCpuDomainOp
{
	GPUCOL_CPU_FALSE,			/* no row */
	GPUCOL_CPU_INTERVAL,		/* lo <= x <= hi */
	GPUCOL_CPU_SET,				/* x among set[], ascending */
	GPUCOL_CPU_IS_NULL,
	GPUCOL_CPU_NOT_NULL,
	GPUCOL_CPU_HOST
} GpucolCpuDomainOp;

typedef struct GpucolCpuDomain
{
	GpucolCpuDomainOp op;
	bool		negate;			/* INTERVAL, SET: the complement */
	uint16_t	column;
	int			host;			/* HOST: index into run->digest.hosts */
	int64_t		lo;
	int64_t		hi;
	int64_t    *set;
	uint32_t	nset;
} GpucolCpuDomain;

/* The values that a host function makes, in place of those of a column. */
typedef struct GpucolCpuMapped
{
	GpucolBytes *values;		/* as verdicts[], of which 1 says that there is one */
	GpucolBytes of_null;
	GpucolCpuColumn column;		/* the column with them as its dictionary */
	char	   *space;			/* of their bytes: chunks, each with the address of the one before */
	size_t		left;			/* in the last chunk */
} GpucolCpuMapped;

/* One (host predicate or function, column) pair; verdicts are 0 false, 1 true, 2 NULL. */
typedef struct GpucolCpuHostTest
{
	int			id;
	uint16_t	column;
	uint8_t		null_verdict;
	GpucolCpuMapped *mapped;	/* a function's; NULL: a predicate */
	uint8_t    *verdicts;		/* by dictionary code, or by row of the window */
	size_t		room;			/* of so many rows */
	bool		by_row;
	bool		by_instr;		/* an instruction asks for the verdicts */
	GpucolCpuArrays *arrays;	/* by_row: packed elements decide (arrays.h); NULL: values do */

	/*
	 * the order of the dictionary decides (engine/cpu/cuts.c), no verdicts but for a LOAD; or,
	 * where bytes are raw, whether there are any: then codes are lengths; or that of numerics
	 */
	bool		in_order;
	bool		first;			/* does it hold for code 0? */
	uint32_t	nturns;
	uint64_t   *turns;			/* codes from which on it is otherwise, ascending */
} GpucolCpuHostTest;

/* How the conjunct is tested in the current segment. */
typedef enum GpucolCpuTestKind
{
	GPUCOL_CPU_TEST_ALWAYS,
	GPUCOL_CPU_TEST_NEVER,
	GPUCOL_CPU_TEST_NULLS,		/* IS NULL */
	GPUCOL_CPU_TEST_NOT_NULLS,	/* every non-null row passes */
	GPUCOL_CPU_TEST_CODES,		/* lo <= code <= hi on packed codes */
	GPUCOL_CPU_TEST_MAP,		/* map[code] */
	GPUCOL_CPU_TEST_CODE_SET,	/* code among codes[], ascending */
	GPUCOL_CPU_TEST_RUNS,		/* map[run] */
	GPUCOL_CPU_TEST_ORDER,		/* domain test on decoded values */
	GPUCOL_CPU_TEST_ROWS		/* host verdict for each row of the window */
} GpucolCpuTestKind;

typedef struct GpucolCpuTest
{
	GpucolCpuTestKind kind;
	bool		negate;
	bool		has_nulls;		/* NULL rows need attention: */
	bool		null_passes;	/* they pass (a host predicate says so) or not */
	int			cost;			/* relative, for ordering */
	const GpucolCpuDomain *domain;
	GpucolCpuColumn *column;
	const GpucolCpuHostTest *host;
	uint64_t	lo;
	uint64_t	hi;
	uint8_t    *map;			/* owned; CODE_SET: a bitmap of hashes of codes */
	int			filter_shift;	/* of these: 64 less their bits */
	uint64_t   *codes;			/* owned */
	uint32_t	ncodes;
} GpucolCpuTest;

/* What a worker works on: a vector of the current segment, or a delta batch. */
typedef struct GpucolCpuVector
{
	const GpucolDelta *delta;	/* NULL: packed */
	uint32_t	number;			/* vector of the segment */
	uint32_t	nrows;
	uint64_t	ordinal;		/* number within the scan */
	int			output;			/* SCAN: output buffer */
} GpucolCpuVector;

/* A register: 1,024 values of one class for the selected rows, densely. */
typedef struct GpucolCpuReg
{
	GpucolClass cls;
	bool		constant;		/* all values equal (and filled in) */
	uint8_t    *nulls;			/* NULL or null_space */
	uint8_t    *null_space;
	union
	{
		uint8_t    *b;
		int64_t    *i;
		__int128   *d;
		double	   *f;
		GpucolBytes *s;
		void	   *any;
	}			v;
	uint32_t   *codes;			/* S: dictionary codes, where coded */
	bool		coded;
	bool		words;			/* S: words of a NUMERIC chunk, in v.i */
	char	   *made;			/* S: texts that are made, */
	size_t		made_room;		/* so many bytes */
	const int64_t *items;		/* S: not NULL: v.s has addresses of elements of arrays, and their numbers: */
	const uint8_t *item_nulls;	/* a byte for each of items[]; or NULL */
	const GpucolCpuColumn *column;	/* S: column loaded */

	/* D: the values are in n, or in v.d, or in both */
	int64_t    *n;
	bool		narrow;			/* in n */
	bool		wide;			/* in v.d */
	bool		alike;			/* packed decimals: mantissas in n, which display */
	int			shown;			/* so many digits each (engine/cpu/expr_alike.c) */
} GpucolCpuReg;

/* The least and greatest value, not NULL, that a register of class I, D or B can have in the segment or delta batch. */
typedef struct GpucolCpuBounds
{
	bool		known;			/* they fit int64; always of classes I and B */
	bool		safe;			/* and computing them leaves no type */
	bool		nullable;		/* of every class */
	int64_t		lo;
	int64_t		hi;
} GpucolCpuBounds;

/* Is a condition true for no row, or for all? */
GPUCOL_CPU_INLINE bool
gpucol_cpu_bounds_never(const GpucolCpuBounds *b)
{
	return b->known && b->hi == 0;
}

GPUCOL_CPU_INLINE bool
gpucol_cpu_bounds_always(const GpucolCpuBounds *b)
{
	return b->known && b->lo == 1 && !b->nullable;
}

/* A thread's private state. */
struct GpucolCpuWorker
{
	GpucolRun  *run;
	int			index;
	GpucolStatus status;

	/* selection: bit set = row passes; sel lists them unless full */
	uint32_t	mask[GPUCOL_LANES];
	uint32_t	live;			/* bits set in mask */
	uint16_t	sel[GPUCOL_VECTOR_VALUES];
	uint32_t	nsel;
	bool		full;			/* sel is 0 .. nsel - 1 */

	GpucolCpuReg *regs;

	/* scratch */
	uint32_t   *codes32;		/* 1,024 */
	uint64_t   *codes64;		/* 1,024 */
	void	   *words;			/* 64 word rows */
	uint8_t    *valid;			/* 1,024 */
	uint32_t   *ids;			/* 1,024 group numbers */
	uint32_t	nruns;			/* of equal ones, which the groups' table has; 0 = unknown */
	bool		only;			/* dense.c: all are one */
	uint64_t   *hashes;			/* 1,024 */
	uint64_t   *keys;			/* key words, 1,024 each */
	uint16_t   *moved;			/* AGG of a part: registers that groups are made of */

	/* instructions of branches that are called row by row: rows that there were, and that took them */
	uint64_t	branch_rows;
	uint64_t	branch_taken;

	struct GpucolCpuFew *few;	/* what operations keep, NULL: nothing yet: texts of few values (few.c), */
	struct GpucolCpuQuotients *quotients;	/* quotients (expr_packed.c), */
	struct GpucolNumericMath *numerics;	/* digits of functions of numerics (numeric_math.c), */
	struct GpucolCpuAges *ages; /* ages (expr_time.c) */
	/* its share of the window: vectors that it has taken */
	uint32_t	next;
	uint32_t	end;

	GpucolCpuTrail *trail;		/* probes: see engine/cpu/join.h */
	GpucolCpuBuilt *built;		/* BUILD: see engine/cpu/build.h */
	uint32_t	noutputs;		/* SCAN with probes: output buffers begun */

	GpucolDecoder *decoders;	/* of raw bytes, by column; NULL: there are none */
	GpucolBytes *values;		/* 1,024, of a column whose values are not kept */
	uint64_t	vectors_read;
	uint64_t	grouped;		/* AGG: rows since its table was drained */
	uint16_t	summed;			/* AGG: register that was summed last in the vector, and its sum */
	__int128	sum;
} __attribute__((aligned(128)));

/*
 * A physical aggregate state, shared by all aggregates that need it: words
 * [offset, offset + nwords) of a group's state.
 */
typedef enum GpucolCpuAccOp
{
	GPUCOL_CPU_ACC_COUNT,		/* 1 word; arg may be absent */
	GPUCOL_CPU_ACC_SUM_I,		/* int128 */
	GPUCOL_CPU_ACC_SUM_D,		/* int128 */
	GPUCOL_CPU_ACC_SUM_F,		/* sum, compensation */
	GPUCOL_CPU_ACC_SUMSQ_I,		/* int128 sum of squares */
	GPUCOL_CPU_ACC_SUMSQ_D,
	GPUCOL_CPU_ACC_SUMSQ_F,		/* n, sum, M2 */
	GPUCOL_CPU_ACC_MIN_I,
	GPUCOL_CPU_ACC_MAX_I,
	GPUCOL_CPU_ACC_MIN_D,
	GPUCOL_CPU_ACC_MAX_D,
	GPUCOL_CPU_ACC_MIN_F,		/* order of gpucol_float_order, bits kept */
	GPUCOL_CPU_ACC_MAX_F,
	GPUCOL_CPU_ACC_AND,
	GPUCOL_CPU_ACC_OR,
	GPUCOL_CPU_ACC_XOR,
	GPUCOL_CPU_ACC_DISTINCT,	/* number of entries in its set */
	GPUCOL_CPU_ACC_MIN_S, GPUCOL_CPU_ACC_MAX_S, /* see engine/cpu/extreme.c */
	GPUCOL_CPU_ACC_PRODUCTS,	/* n, two sums, sum of products; `order` is the other register */
	GPUCOL_CPU_ACC_MIN_P, GPUCOL_CPU_ACC_MAX_P	/* see engine/cpu/extreme_packed.c */
} GpucolCpuAccOp;

typedef struct GpucolCpuAcc
{
	GpucolCpuAccOp op;
	uint16_t	arg;
	uint16_t	filter;
	uint32_t	offset;
	uint32_t	distinct;		/* DISTINCT: number of its set */
	uint16_t	order;			/* MIN_S, MAX_S, PRODUCTS: as in GpucolAgg */
	uint32_t	extreme;		/* MIN_S, MAX_S: number among them */
	int32_t		with[2];		/* PRODUCTS: where from its own those of x and x, y and y are; 0: none */
	bool		with_other;		/* it is advanced with such a one */
	int			partition;		/* whose vectors advance it; -1: any (engine/cpu/agg_apart.c) */
	uint32_t	folds_into;		/* word of the state that it is merged into in the end */
} GpucolCpuAcc;

/* Where a program aggregate finds its parts. */
typedef struct GpucolCpuAggMap
{
	uint32_t	count;			/* word */
	uint32_t	v;				/* word, or UINT32_MAX */
	uint32_t	w;
} GpucolCpuAggMap;

/* Outputs of one vector of a SCAN. */
typedef struct GpucolCpuOutput
{
	uint32_t	nrows;
	GpucolStatus error;			/* that the row behind these raises */
	uint64_t   *tids;
	GpucolResultColumn *columns;
	uint8_t   **nulls;
	void	  **values;
	char	  **texts;			/* NULL, or room for those that sets write (set.c) */
	struct GpucolCpuTexts *made;	/* those that instructions have made */
} GpucolCpuOutput;

/* Registers that are read after a stage of the program (engine/cpu/live.c). */
typedef struct GpucolCpuLive
{
	uint16_t   *regs;
	int			n;
} GpucolCpuLive;

/* The arrays of the program. */
typedef struct GpucolCpuCode
{
	const GpucolProgramColumn *columns;
	const GpucolConst *consts;
	const GpucolRange *ranges;
	const GpucolInstr *instrs;
	const uint8_t *classes;
	const uint16_t *keys;
	const GpucolAgg *aggs;
	const GpucolPayload *payloads;
} GpucolCpuCode;

/* A register that is another one and a constant, engine/cpu/shifted.c. */
typedef struct GpucolCpuShifted
{
	bool		can;
	uint16_t	base;
	__int128	plus;
} GpucolCpuShifted;

/* What a FOLD instruction needs computed for elements, engine/cpu/expr_fold.c. */
typedef struct GpucolCpuFold
{
	uint16_t   *instrs;			/* in their order */
	int			ninstrs;
} GpucolCpuFold;

/* What is known of the program, and of its values in a segment. */
typedef struct GpucolCpuDigest
{
	/* by instruction: is it computed for elements, when a fold asks for it; folds; what constants make up */
	bool	   *of_elements;
	GpucolCpuFold *folds;
	const void **blocks;
	GpucolCpuDomain *domains;
	GpucolCpuHostTest *hosts;	/* of columns, then of payload */
	int			nhosts;
	int			npayload_hosts;
	bool		payload_asked;
	GpucolCpuLive *live;		/* by stage */
	bool	   *unread;			/* register need not be computed in this segment */
	uint16_t   *few;			/* by register: its number among those that may be codes of texts (few.c), or 0 */
	int			nfew;
	uint8_t    *alike;			/* register may hold packed decimals as such that are alike */
	GpucolCpuBounds *bounds;	/* by register, of the segment or delta batch */
	GpucolCpuShifted *shifted;	/* by register; NULL where there are groups */
} GpucolCpuDigest;

/* All memory of the run. */
typedef struct GpucolCpuMemory
{
	size_t		window_limit;	/* what a window is to take at most */
	size_t		limit;
	struct GpucolBudget *parent;
	GpucolBudget budget;
	GpucolOwned owned;
} GpucolCpuMemory;

/* What the source gave last: a segment, or a batch of the delta (engine/cpu/source.c). */
typedef struct GpucolCpuInput
{
	bool		look_ahead;		/* it may be gone through before */
	bool		in_segment;
	bool		segments_done;
	GpucolSegment segment;
	uint64_t	segment_serial;
	bool		loaded;			/* cols and tests are those of a segment, */
	uint64_t	loaded_id;
	bool		never;			/* of which a conjunct excludes every row */
	uint32_t	nvectors;
	uint32_t	next_vector;
	uint64_t	ordinal;		/* of the segment's vector 0 */
	GpucolCpuColumn *cols;
	GpucolCpuTest *tests;
	int			ntests;			/* those still to be made in this segment */
	uint8_t    *dead;			/* by vector: excluded by zone maps */
	size_t		dead_size;

	GpucolDelta delta;			/* current batch, */
	GpucolDelta *deltas;		/* or those of a window; NULL: there have been none */
	uint64_t	delta_batches;
	bool		delta_done;
} GpucolCpuInput;

/* Vectors that are mapped now, and how they are dealt to the threads. */
typedef struct GpucolCpuWindow
{
	/* those handed out, on a cache line of its own */
	_Atomic uint32_t dealt __attribute__((aligned(128)));

	GpucolCpuVector *work __attribute__((aligned(128)));
	uint32_t	nwork;
	uint32_t	partitions;		/* by which they are dealt instead, see engine/cpu/agg.c; 0: are not */
	uint32_t	scan;			/* SCAN: vectors in a window, grows to */
	uint32_t	scan_most;
	uint32_t	raw;			/* vectors in a window where raw bytes are kept; 0: there was none */
	_Atomic size_t raw_bytes;	/* that are kept of the last one */
	bool		has_raw;		/* its threads read raw bytes, and start from */
	uint32_t	(*passed)[GPUCOL_LANES];	/* rows that have passed so far, by vector, of which there is room for */
	uint32_t	passed_room;	/* so many: */
	bool		tested;			/* conjuncts that need no raw bytes have been tested, */
	bool		asked;			/* the host has been asked, */
	bool		others;			/* and what it is not asked about is held */
	uint32_t	idle_tests;		/* windows in which conjuncts are not tested ahead */
	bool		lent;			/* whoever reads its pages verifies them */
	_Atomic bool unverified;	/* which has failed for one */
	uint32_t	held_rows;		/* of raw bytes */
	bool		looks_ahead;	/* the main thread begins with the next window, */
	uint32_t	ahead_first;	/* which is ready from this vector on, so many at most; */
	uint32_t	ahead_most;		/* 0: it is not */
	uint32_t	pace;			/* vectors that take a while, see do_window */
	uint32_t	first;			/* its vectors, */
	uint32_t	nvectors;
	bool		suspended;		/* of which some are still to be done, */
	double		slice_end;		/* where probes made so many pairs as to take until then */
} GpucolCpuWindow;

/* Probes of built tables (engine/cpu/join.h), and the table of a BUILD. */
typedef struct GpucolCpuJoin
{
	int			nprobes;
	GpucolCpuProbe *probes;
	int			last_section;	/* first instruction behind the last probe */
	int			tail;			/* probe whose rows are delivered now */
	bool		in_tail;
	_Atomic uint64_t tail_next; /* first of its rows to be dealt */
	GpucolDelta nulls;			/* what flows with them */

	GpucolLookup *const *lookups;	/* the host's, which change with each turn */
	const GpucolTurn *turns;	/* NULL: there is one */
	GpucolNextTurn next_turn;
	void	   *next_turn_arg;
	uint64_t	turn;

	const GpucolTablePart *part;	/* BUILD, AGG: rows that are kept; NULL: all */
	GpucolLookup *lookup;		/* BUILD: made, and not yet handed over */
} GpucolCpuJoin;

/* Groups and their states (engine/cpu/agg.c). */
typedef struct GpucolCpuAggregation
{
	GpucolCpuAcc *accs;
	int			naccs;
	uint32_t	state_words;
	uint64_t   *first_state;	/* a group's state before any row */
	uint32_t	key_words;
	uint32_t	group_words;	/* of its key and its state */
	bool	   *key_is_float;	/* by key word */
	int			ndistinct;
	int			nextremes;
	GpucolCpuRanks *ranks;		/* by extreme */
	bool		has_float;		/* some state depends on the order of rows */
	GpucolCpuAggMap *maps;		/* by aggregate of the program */
	GpucolCpuStrings *strings;	/* of keys and sets, by number */
	GpucolCpuGroups **parts;
	int			nparts;
	GpucolCpuGroups **keyed;	/* by key, what parts were drained into (agg_drain.c); NULL: nothing */
	int			nkeyed;
	bool		appends;		/* rows become groups of parts without a look whether these are there */
	bool		lists;			/* and pairs of sets are listed so */
	bool		disjoint;		/* groups of parts were not drained before, last time */
	uint32_t	room;			/* items of a part that has to be drained; 0: none has */
	GpucolCpuDense *dense;		/* plan for the segment; NULL: by value */
	GpucolCpuDense *plans[2];
	uint64_t	dense_layout;	/* changes with the meaning of slots, */
	uint64_t	dense_meaning;	/* and with that of channels */
	GpucolCpuFinal *final;		/* of groups that are complete when their vector is (final.c); NULL: nothing */
	const GpucolFirst *first;	/* which groups are wanted; NULL: all */
	uint64_t   *settled;		/* bits of hashes that they have, NULL: any; */
	GpucolClass settled_by;		/* of their keys of this class */
	bool		merged;
	int			next_part;		/* to deliver: table, */
	uint32_t	next_group;		/* and group of it */
	GpucolAggState *out_states;
	bool		large_batches;	/* as the host wants them */
	uint32_t	batch;			/* groups delivered at a time */
} GpucolCpuAggregation;

/* Rows of a SCAN on their way out (engine/cpu/scan.c); the arrays serve groups, too. */
typedef struct GpucolCpuDelivery
{
	bool		checked;		/* descriptors were looked at */
	GpucolStatus failed;		/* with probes: behind the outputs that there are */
	GpucolCpuOutput *kept;
	int			nkept;
	uint32_t	join_outputs;	/* with probes: of each worker, at most; 0 = none are kept */
	uint32_t	next;
	const GpucolTopBound *top;	/* rows that may be left out, or NULL; */
	uint16_t   *top_instrs;		/* what computes the output that says so */
	int			ntop_instrs;
	GpucolTakeRows take;		/* or these take them */
	void	   *take_arg;
	GpucolResultColumn *columns;
	void	  **values;
	uint8_t   **nulls;
} GpucolCpuDelivery;

struct GpucolRun
{
	const GpucolProgram *program;
	GpucolSource *source;
	const GpucolHost *host;
	GpucolRunStats stats;
	GpucolStatus ended;			/* sticky: OK while running */
	int			nworkers;
	GpucolCpuWorker *workers;

	GpucolCpuCode code;
	GpucolCpuDigest digest;
	GpucolCpuMemory mem;
	GpucolCpuInput input;
	GpucolCpuWindow window;
	GpucolCpuJoin join;
	GpucolCpuAggregation agg;
	GpucolCpuDelivery out;
};

/*
 * Memory of the run (base/owned.h): 128-byte aligned, uninitialised but for alloc0;
 * NULL beyond the limit.  Safe in every thread.  What is not freed before is freed
 * when the run finishes.
 */
static inline void *
gpucol_cpu_alloc(GpucolRun *run, size_t size)
{
	return gpucol_owned_alloc(&run->mem.owned, size);
}

static inline void *
gpucol_cpu_alloc0(GpucolRun *run, size_t size)
{
	return gpucol_owned_alloc_zeroed(&run->mem.owned, size);
}

static inline void *
gpucol_cpu_realloc(GpucolRun *run, void *memory, size_t size)
{
	return gpucol_owned_realloc(&run->mem.owned, memory, size);
}

static inline void
gpucol_cpu_free(GpucolRun *run, void *memory)
{
	gpucol_owned_free(&run->mem.owned, memory);
}

/* Has the worker room for the outputs of another vector? */
static inline bool
gpucol_cpu_has_room(const GpucolCpuWorker *worker)
{
	return worker->noutputs < worker->run->out.join_outputs || worker->run->out.join_outputs == 0;
}

/* What makes codes of a column's dictionary another's: its segment; for payload, the turn. */
static inline uint64_t
gpucol_cpu_codes_serial(const GpucolRun *run, const GpucolCpuColumn *column)
{
	int			payload = column->slot - run->program->ncolumns;

	return payload >= 0 && payload < run->program->npayloads ? UINT64_MAX - run->join.turn : run->input.segment_serial;
}

/* engine/cpu/source.c: do the next window, or more; GPUCOL_END when all rows, of probed tables too, are done. */
extern GpucolStatus gpucol_cpu_source_step(GpucolRun *run);

/* What happens to the selected rows in the end: see the kinds of programs. */
extern GpucolStatus gpucol_cpu_sink(GpucolCpuWorker *worker, const GpucolCpuVector *vector);

/* Begin a slice of work with all threads: milliseconds of a clock that never goes back. */
extern double gpucol_cpu_now_ms(void);
extern void gpucol_cpu_begin_slice(GpucolRun *run);

/* The status that ended a worker, or GPUCOL_OK. */
extern GpucolStatus gpucol_cpu_workers_status(const GpucolRun *run);

/* Check a chunk against the program's column. */
extern GpucolStatus gpucol_cpu_source_check(const GpucolProgramColumn *column, const GpucolChunkDesc *desc);

/* Deleted bits of a vector of the current segment, NULL if none. */
static inline const uint32_t *
gpucol_cpu_deleted(const GpucolRun *run, uint32_t vector)
{
	return run->input.segment.deleted == NULL ? NULL :
		run->input.segment.deleted + (size_t) vector * GPUCOL_LANES;
}

/* Its rows. */
static inline uint32_t
gpucol_cpu_vector_rows(const GpucolRun *run, uint32_t vector)
{
	uint32_t	left = run->input.segment.nrows - vector * GPUCOL_VECTOR_VALUES;

	return left < GPUCOL_VECTOR_VALUES ? left : GPUCOL_VECTOR_VALUES;
}

/* engine/cpu/stream.c */

/* Map word rows of a stream of the current segment, or have them lent. */
extern GpucolStatus gpucol_cpu_stream_map(GpucolRun *run, int slot, GpucolStreamKind stream, uint32_t row,
										  uint32_t nrows, bool lend, GpucolRows *out);

/* Copy bytes [offset, offset + size) of a stream. */
extern GpucolStatus gpucol_cpu_stream_copy(GpucolRun *run, int slot, GpucolStreamKind stream, uint64_t offset,
										   uint64_t size, void *out);

/* Read dictionaries and runs of every column in use. */
extern GpucolStatus gpucol_cpu_stream_tables(GpucolRun *run);

extern bool gpucol_cpu_stream_is_raw(const GpucolCpuColumn *column);

/* Forget all of that. */
extern void gpucol_cpu_stream_reset(GpucolRun *run);

/* engine/cpu/range.c */

/* Number of bits set in a match bitmap. */
extern uint32_t gpucol_cpu_range_count(const uint32_t *mask);
extern GpucolStatus gpucol_cpu_range_init(GpucolRun *run);
extern int64_t gpucol_cpu_range_order(GpucolKind kind, int64_t value);
extern GpucolStatus gpucol_cpu_range_plan(GpucolRun *run, const GpucolCpuDomain *domain, GpucolCpuTest *test);
extern bool gpucol_cpu_range_excludes(const GpucolCpuDomain *domain, const GpucolZone *zone);
extern void gpucol_cpu_range_apply(GpucolCpuWorker *worker,
								   const GpucolCpuTest *test,
								   const GpucolCpuVector *vector);
extern void gpucol_cpu_range_apply_delta(GpucolCpuWorker *worker,
										 const GpucolCpuDomain *domain,
										 const GpucolCpuVector *vector);

/* engine/cpu/column.c */

/* Packed codes of a vector of the window (in place, or in worker->words). */
extern const void *gpucol_cpu_column_packed(GpucolCpuWorker *worker,
											const GpucolCpuColumn *column,
											uint32_t vector);

/* Null bitmap of a vector of the window; the chunk must have nulls. */
extern const uint32_t *gpucol_cpu_column_nulls(const GpucolCpuColumn *column,
											   uint32_t vector);

/* Codes of the selected rows, of a width up to 32. */
extern void gpucol_cpu_column_codes(GpucolCpuWorker *worker, const GpucolCpuColumn *column,
									uint32_t vector, uint32_t *out);

/* First run that reaches beyond a row of the segment. */
extern uint32_t gpucol_cpu_column_run(const GpucolCpuColumn *column, uint32_t row);

/* The 64-bit forms of all 1,024 codes of a FOR, RAW or SCALED vector. */
extern void gpucol_cpu_column_unpack(const GpucolChunkDesc *desc,
									 const void *words, int64_t *out);

/* Load a column's values of the selected rows into a register. */
extern void gpucol_cpu_column_load(GpucolCpuWorker *worker, int slot,
								   const GpucolCpuVector *vector,
								   GpucolCpuReg *reg);

/* The value that a SCALED code stands for. */
extern double gpucol_cpu_column_scaled(GpucolKind kind, int64_t mantissa, int scale);

/* engine/cpu/expr.c: evaluate instructions [first, last) for the selected rows. */
extern GpucolStatus gpucol_cpu_expr_check(const GpucolProgram *program, const char **why);
extern GpucolStatus gpucol_cpu_expr_init(GpucolRun *run, GpucolCpuWorker *worker);
extern GpucolStatus gpucol_cpu_expr_run(GpucolCpuWorker *worker,
										const GpucolCpuVector *vector,
										int first, int last);
extern GpucolStatus gpucol_cpu_expr_filter(GpucolCpuWorker *worker);
extern void gpucol_cpu_expr_select(GpucolCpuWorker *worker);

/* The first n values of a register of class D as int128, in v.d. */
extern const __int128 *gpucol_cpu_expr_widen(GpucolCpuReg *reg, uint32_t n);

/* engine/cpu/shifted.c: find the registers of which only sums are wanted */
extern GpucolStatus gpucol_cpu_shifted_find(GpucolRun *run);

/* Is a register's sum computed from that of another here?  Its values are not computed then. */
GPUCOL_CPU_INLINE bool
gpucol_cpu_is_shifted(const GpucolRun *run, uint16_t reg)
{
	return run->digest.shifted != NULL && run->digest.shifted[reg].can && run->digest.bounds[reg].safe;
}

/* engine/cpu/bounds.c: bound the registers in the segment at hand (NULL), or in n delta batches. */
extern void gpucol_cpu_bounds_find(GpucolRun *run, const GpucolDelta *deltas, uint32_t n);

/*
 * List the places of the selected rows where a bool register is true, in a list with
 * GPUCOL_SELECT_ROOM places; returns their number.
 */
extern uint32_t gpucol_cpu_expr_true(const GpucolCpuWorker *worker, uint16_t reg, uint16_t *at);

/*
 * engine/cpu/live.c.  A program is a row of stages: 0 the filter; of probe p, 3p + 1 its keys,
 * 3p + 2 its residual, 3p + 3 its filter; then the rest.
 */
extern GpucolStatus gpucol_cpu_live_init(GpucolRun *run);

/* Copy entries at[] of a register to the front of another, or of itself where at ascends. */
extern void gpucol_cpu_live_move(GpucolCpuReg *to, const GpucolCpuReg *from, const uint16_t *at, uint32_t n);

/* Move entries at[] (ascending) of the registers that are read after a stage to their front. */
extern void gpucol_cpu_live_keep(GpucolCpuWorker *worker, int stage, const uint16_t *at, uint32_t n);

/* engine/cpu/top.c: which instructions; drop the selected rows that are not wanted */
extern GpucolStatus gpucol_cpu_top_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_top_drop(GpucolCpuWorker *worker, const GpucolCpuVector *vector);

/* engine/cpu/scan.c */
extern GpucolStatus gpucol_cpu_scan_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_scan_emit(GpucolCpuWorker *worker, const GpucolCpuVector *vector);
extern GpucolStatus gpucol_cpu_scan_next(GpucolRun *run, GpucolResult *out);

/* engine/cpu/agg.c */
extern GpucolStatus gpucol_cpu_agg_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_agg_update(GpucolCpuWorker *worker, const GpucolCpuVector *vector);
extern GpucolStatus gpucol_cpu_agg_next(GpucolRun *run, GpucolResult *out);

/*
 * engine/cpu/extreme.c: advance a MIN_S or MAX_S in the rows' groups (worker->ids); in the
 * main thread, before a segment's windows, after each window or delta batch, and after
 * the segment's windows; add the strings of one group's state to another's, whose
 * memory is that of `groups`; the string of a state.
 */
GPUCOL_CPU_INLINE bool
gpucol_cpu_extreme_is(const GpucolCpuAcc *acc)
{
	return acc->op == GPUCOL_CPU_ACC_MIN_S || acc->op == GPUCOL_CPU_ACC_MAX_S;
}

extern GpucolStatus gpucol_cpu_extreme_init(GpucolRun *run);
extern GpucolStatus gpucol_cpu_extreme_update(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
											  const GpucolCpuAcc *acc, const uint8_t *valid,
											  const GpucolCpuVector *vector);
extern void gpucol_cpu_extreme_open(GpucolRun *run);
extern GpucolStatus gpucol_cpu_extreme_drain(GpucolRun *run, const GpucolDelta *delta);
extern GpucolStatus gpucol_cpu_extreme_close(GpucolRun *run);
extern GpucolStatus gpucol_cpu_extreme_merge(const GpucolRun *run,
											 GpucolCpuGroups *groups, uint64_t *to,
											 const uint64_t *from);
extern GpucolBytes gpucol_cpu_extreme_value(const uint64_t *words);

/* Merge the states of one group into another's. */
extern GpucolStatus gpucol_cpu_agg_merge(const GpucolRun *run, uint64_t *to, const uint64_t *from);

/*
 * engine/cpu/merge.c: would the run's tables of groups better be merged by all threads?  If so,
 * do: the tables become disjoint.
 */
extern bool gpucol_cpu_merge_pays(const GpucolRun *run);
extern GpucolStatus gpucol_cpu_merge_all(GpucolRun *run);

/* engine/cpu/dense.c: around each segment's windows, and after the last segment. */
extern GpucolStatus gpucol_cpu_dense_open(GpucolRun *run);
extern GpucolStatus gpucol_cpu_dense_close(GpucolRun *run);
extern GpucolStatus gpucol_cpu_dense_end(GpucolRun *run);

/* Is state number `acc` advanced by engine/cpu/dense.c in this segment? */
extern bool gpucol_cpu_dense_whole(const GpucolCpuWorker *worker, const GpucolCpuVector *vector);
extern bool gpucol_cpu_dense_has(const GpucolRun *run, int acc);

/* Advance those states of the only group; *done if that was all. */
extern void gpucol_cpu_dense_plain(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
								   const GpucolCpuVector *vector, bool *done);

/* Advance those states of the selected rows' groups; where other states remain, worker->ids becomes the groups. */
extern GpucolStatus gpucol_cpu_dense_group(GpucolCpuWorker *worker, GpucolCpuGroups *groups,
										   const GpucolCpuVector *vector);

#endif							/* GPUCOL_ENGINE_CPU_CPU_H */
