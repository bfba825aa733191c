/*-------------------------------------------------------------------------
 *
 * protocol.h
 *	  What a server process and gpucol_gpud say to each other.
 *
 * A Unix stream socket in the data directory carries messages: a header and a
 * payload of `length` bytes, integers in the host's order (both ends are one
 * host).  Both sides check magic, version, type, length and every count inside
 * before use; the daemon answers garbage by closing the connection.
 *
 * A session begins with HELLO, answered by WELCOME, with which comes a memfd of
 * GpucolResidency: which columns are resident, for the clients' choice of engine.
 * A request runs as
 *
 *	  client				daemon
 *	  RUN				->
 *						<-	NEED	pieces that are not resident, by segment
 *	  PUT ...			->			first the objects that RUN announces: host test
 *									results, delta columns; then the pieces in
 *									the order of NEED
 *						<-	DONE	one for each PUT from the slab: its part of
 *									the slab may be written again
 *						<-	RESULT	status and figures, then RESULT_PART ...
 *
 * Pieces are what belongs to a segment: its chunks, the bitmap of its deleted rows,
 * and the numbers of its dictionaries' entries.  Where nothing is to be sent RESULT
 * comes in place of NEED.  A piece that the
 * request no longer needs, and that the cache does not keep, leaves device memory
 * while others still come: a request may be larger than the device.  What RUN
 * found resident is pinned until then.  A client that closes its socket, or sends
 * CANCEL in place of anything, ends the request; after CANCEL the daemon answers
 * RESULT with GPUCOL_CANCELLED.  Where a part of a request fails while others are
 * still being sent, RESULT comes early, and the daemon closes the connection.
 *
 * Lists.  With RUN_KEEP the daemon remembers the segments and chunks of a RUN for the
 * rest of the session, under one of GPUCOL_WIRE_LISTS numbers that the client
 * chooses, and later RUNs of the same columns name the list instead: a table of a
 * billion rows has a thousand segments, which take longer to tell than to scan.
 *
 * Tables.  A RUN of a BUILD has the device make a table of joined rows, which the session keeps
 * under the RUN's number until FORGET, or until another gets the number; the result is its
 * description, as PUT_LOOKUP has it.  Probes of later RUNs name it by PUT_TABLE.
 *
 * A session that sleeps takes long to wake.  So a client may say SOON when it begins to
 * look at its own side of a request: the daemon's session then waits awake for a moment.
 *
 * A recursion runs as REC_START (answered by REC_STATUS), any number of REC_LOAD
 * (not answered), then REC_SUMMARISE (REC_SUMMARY) or REC_NEXT (REC_ROWS), each
 * after any number of REC_STATUS that tell how far it has come, and
 * REC_END (not answered).  Anything that the client sends while the device works
 * ends the recursion.
 *
 * The slab is shared memory that the daemon has pinned for copies to and from the
 * device: it answers SLAB by DONE with a memfd, or by REFUSED, once a session.  PUTs of up to
 * GPUCOL_WIRE_INLINE bytes, and all without a slab, travel in the message instead.
 * It may have been an earlier session's and hold what that left, and is a later one's
 * once the client has closed its socket.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_SERVICE_PROTOCOL_H
#define GPUCOL_SERVICE_PROTOCOL_H

#include <stdint.h>

#include "kernel/first.h"
#include "kernel/program.h"
#include "kernel/recursion.h"
#include "kernel/shape.h"

#define GPUCOL_WIRE_MAGIC		0x44475047	/* "GPGD" */
#define GPUCOL_WIRE_VERSION		20
#define GPUCOL_WIRE_OPCODES		61	/* those that devices have, from the first; with others, another version */
#define GPUCOL_WIRE_SOCKET		"gpucol_gpud.sock"	/* in the data directory */
#define GPUCOL_WIRE_MAX_PAYLOAD (64u << 20)
#define GPUCOL_WIRE_INLINE		(32u << 10)
#define GPUCOL_WIRE_PART		(4u << 20)	/* payload of a RESULT_PART, at most */
#define GPUCOL_WIRE_MAX_SLAB	(64u << 20)
#define GPUCOL_WIRE_MAX_SEGMENTS (1u << 20)
#define GPUCOL_WIRE_MAX_HOST	64	/* host tests of a program */
#define GPUCOL_WIRE_MAX_PROBES	16	/* of a program, and tables that they look up */
#define GPUCOL_WIRE_MAX_PROBE_KEYS 32	/* of all of them */
#define GPUCOL_WIRE_TABLES		64	/* built by the device, that a session has at a time */
#define GPUCOL_WIRE_LISTS		16	/* that a session has at a time */
#define GPUCOL_WIRE_LIST_CHUNKS (1u << 18)	/* of a list, at most */

/* Exit codes of gpucol_gpud, for the supervisor. */
#define GPUCOL_GPUD_EXIT_USAGE	2
#define GPUCOL_GPUD_EXIT_FAULT	3	/* the device's context is lost: restart */
#define GPUCOL_GPUD_EXIT_NO_DEVICE 4	/* nothing to run on, standard output has the reason: look again later */

typedef enum GpucolWireType
{
	/* client to daemon */
	GPUCOL_WIRE_HELLO = 1,
	GPUCOL_WIRE_SLAB,
	GPUCOL_WIRE_RUN,
	GPUCOL_WIRE_PUT,
	GPUCOL_WIRE_CANCEL,
	GPUCOL_WIRE_STATUS,
	GPUCOL_WIRE_EVICT,
	GPUCOL_WIRE_FAULT,			/* only where the daemon runs with --test */
	GPUCOL_WIRE_REC_START,
	GPUCOL_WIRE_REC_LOAD,
	GPUCOL_WIRE_REC_SUMMARISE,
	GPUCOL_WIRE_REC_NEXT,
	GPUCOL_WIRE_REC_END,
	GPUCOL_WIRE_ANNOUNCE,			/* not answered: a RUN will come within a millisecond or so */
	GPUCOL_WIRE_FORGET,			/* not answered: uint32, a table that no RUN will name any more */

	/* daemon to client */
	GPUCOL_WIRE_WELCOME = 64,
	GPUCOL_WIRE_NEED,
	GPUCOL_WIRE_DONE,
	GPUCOL_WIRE_REFUSED,		/* there is no slab to be had: PUTs go inline */
	GPUCOL_WIRE_RESULT,
	GPUCOL_WIRE_RESULT_PART,
	GPUCOL_WIRE_STATUS_ROWS,
	GPUCOL_WIRE_EVICTED,
	GPUCOL_WIRE_REC_STATUS,
	GPUCOL_WIRE_REC_SUMMARY,
	GPUCOL_WIRE_REC_ROWS
} GpucolWireType;

typedef struct GpucolWireHeader
{
	uint32_t	magic;
	uint16_t	version;
	uint16_t	type;			/* GpucolWireType */
	uint32_t	length;			/* of the payload */
} GpucolWireHeader;

typedef struct GpucolWireHello
{
	int32_t		pid;			/* of the client */
	uint32_t	unused;
} GpucolWireHello;

typedef struct GpucolWireWelcome
{
	int32_t		pid;			/* of the daemon */
	int32_t		ndevices;
	uint64_t	memory;			/* device memory it may use, bytes */
} GpucolWireWelcome;

typedef struct GpucolWireSlab
{
	uint64_t	size;			/* that is wanted */
} GpucolWireSlab;

/*
 * Followed by the program (padded to 8 bytes), a GpucolRowShape where the flag says
 * that rows do not leave as they are, a GpucolFirst where the flag says that not all groups
 * are wanted (the daemon may leave out others), and, unless a list is named,
 * GpucolWireSegment[nsegments] and GpucolWireColumnChunk[nsegments][ncolumns].
 */
typedef struct GpucolWireRun
{
	uint64_t	memory_limit;	/* device bytes the request may hold beside
								 * chunks; 0 = no limit */
	uint64_t	result_limit;	/* bytes of result the client takes; 0 = no limit */
	uint64_t	delta_rows;
	uint32_t	program_size;
	uint32_t	nsegments;
	uint32_t	ncolumns;
	uint32_t	nobjects;		/* that come before the pieces */
	uint32_t	flags;
	uint32_t	list;			/* with RUN_KEEP and RUN_LIST: its number */
	uint32_t	turn;			/* number of the first segment in its source: what is
								 * nowhere yet is dealt to the devices by number */
	uint32_t	table;			/* BUILD: the number that the session's table gets */
	uint32_t	distinct[16];	/* numbers given for slot i of BYTES, i < 16 */
} GpucolWireRun;

/*
 * What must be equal, beside storage and segment, for a resident chunk to
 * be the one meant, and the word rows it takes in device memory; the same of the
 * numbers of its dictionary's entries, where the values of bytes are asked for.
 */
typedef struct GpucolWireColumnChunk
{
	uint64_t	identity;
	uint64_t	remap;			/* identity of the numbers; 0 = there are none */
	uint32_t	nrows;
	uint32_t	nentries;		/* numbers */
	int32_t		attnum;			/* the column in the segment's table */
	uint32_t	unused;
} GpucolWireColumnChunk;

#define GPUCOL_WIRE_RUN_PREFETCH	1	/* make chunks resident, compute nothing */
#define GPUCOL_WIRE_RUN_JIT			2	/* compiled kernels may answer */
#define GPUCOL_WIRE_RUN_SHAPE		4	/* a GpucolRowShape follows the program */
#define GPUCOL_WIRE_RUN_KEEP		8	/* remember the segments as a list */
#define GPUCOL_WIRE_RUN_LIST		16	/* the segments are those of a list */
#define GPUCOL_WIRE_RUN_FIRST		32	/* a GpucolFirst follows program and shape */
#define GPUCOL_WIRE_RUN_FLAGS		63	/* all of them */

typedef struct GpucolWireSegment
{
	uint64_t	storage[2];		/* identity of its table's storage; 0, 0 = it is not kept */
	uint64_t	id;
	uint64_t	deleted;		/* identity of the bitmap; 0 = there is none */
	uint32_t	nrows;
	uint32_t	ndeleted;
} GpucolWireSegment;

typedef struct GpucolWireNeed
{
	uint32_t	segment;		/* number in RUN */
	uint16_t	slot;
	uint16_t	kind;			/* GpucolPutKind: CHUNK, DELETED or REMAP */
} GpucolWireNeed;

typedef enum GpucolPutKind
{
	GPUCOL_PUT_CHUNK = 1,		/* a, b = segment, slot: descriptor and streams */
	GPUCOL_PUT_DELETED,			/* a = segment: bitmap of whole vectors */
	GPUCOL_PUT_REMAP,			/* a, b = segment, slot: uint32 number of each
								 * dictionary entry among all of the column */
	GPUCOL_PUT_HOST,			/* a = host test: one byte for each number of the
								 * column, then one for NULL: 0, 1, 2 = NULL */
	GPUCOL_PUT_DELTA_CODES,		/* b = slot: vectors of width 64 */
	GPUCOL_PUT_DELTA_NULLS,		/* b = slot: bitmap of whole vectors */
	GPUCOL_PUT_ORDER,			/* a, b = order of a GpucolAgg, slot: uint32 place of
								 * each number of the column in that order, and one
								 * more that means nothing */
	GPUCOL_PUT_LOOKUP,			/* a = table of a probe: GpucolWireLookup, its keys
								 * and columns */
	GPUCOL_PUT_LOOKUP_DATA,		/* a = table: its arrays, in that order */
	GPUCOL_PUT_KEY_NUMBERS,		/* a = number of a probe's key of class S: uint32, for
								 * each number of its values, the table's number + 1, or
								 * 0 = none; and one more that means nothing */
	GPUCOL_PUT_TABLE,			/* a = table of a probe, in place of the two above: uint32
								 * number of one that a BUILD of this session has made */
	GPUCOL_PUT_FIRST_ROW		/* a = probe: GpucolWireFirstRow */
} GpucolPutKind;

#define GPUCOL_WIRE_FIRST_KEYS	4	/* sort keys of such a row, at most */
#define GPUCOL_WIRE_MOST_FIRST	4096	/* rows of such a table, at most */

/* A GpucolProbeOrder of one row: of the rows that a flowing row meets the first goes on. */
typedef struct GpucolWireFirstRow
{
	uint32_t	nkeys;
	uint16_t	keys[GPUCOL_WIRE_FIRST_KEYS];	/* registers of class B, I or F */
	uint8_t		descending[GPUCOL_WIRE_FIRST_KEYS];
	uint8_t		nulls_first[GPUCOL_WIRE_FIRST_KEYS];
} GpucolWireFirstRow;

/*
 * Part of an object.  PUT_CHUNK: total bytes are a GpucolWireChunk and the
 * streams it lists.  Parts of an object come in order.
 */
typedef struct GpucolWirePut
{
	uint32_t	kind;			/* GpucolPutKind */
	uint32_t	a;
	uint32_t	b;
	uint32_t	in_slab;		/* else the bytes follow in the message */
	uint64_t	total;			/* of the object */
	uint64_t	offset;			/* of this part in it */
	uint64_t	length;			/* of this part */
	uint64_t	slab_offset;
} GpucolWirePut;

/*
 * Head of a PUT_CHUNK: the descriptor, whose streams[] give the word rows of
 * each stream that follows, in order of their kinds.  Streams the device has no
 * use for are left out: bit k of `present` is set for those that follow.
 */
typedef struct GpucolWireChunk
{
	GpucolChunkDesc desc;
	uint32_t	present;
	uint32_t	unused[31];
} GpucolWireChunk;

/*
 * A built table (kernel/lookup.h) for probes: followed by its keys, and its columns, of
 * which those that no kernel reads have width 0.  Arrays lie in LOOKUP_DATA one behind the
 * other, each padded to 8 bytes, in the order of the fields below: first, bits, before,
 * buckets and words, as far as the table has them (gpucol_wire_lookup_sizes), then values and
 * nulls of each column that is there.  What they say is not trusted: kernels bound it.
 */
typedef struct GpucolWireLookup
{
	uint32_t	nrows;
	uint32_t	nkeyed;
	uint32_t	ndistinct;
	uint16_t	ncolumns;
	uint16_t	nkeys;
	uint8_t		has_null;
	uint8_t		unique;
	uint8_t		dense;
	uint8_t		wide;
	uint8_t		gapless;
	uint8_t		shift;
	uint8_t		unused[6];
	uint64_t	greatest;
} GpucolWireLookup;

typedef struct GpucolWireLookupKey
{
	int64_t		least;
	uint64_t	range;
	uint32_t	shift;
	uint32_t	unused;
} GpucolWireLookupKey;

typedef struct GpucolWireLookupColumn
{
	uint8_t		cls;			/* GpucolClass */
	uint8_t		width;
	uint8_t		has_nulls;
	uint8_t		unused[5];
	int64_t		reference;
} GpucolWireLookupColumn;

typedef enum GpucolWireLookupArray
{
	GPUCOL_LOOKUP_FIRST,
	GPUCOL_LOOKUP_BITS,
	GPUCOL_LOOKUP_BEFORE,
	GPUCOL_LOOKUP_BUCKETS,
	GPUCOL_LOOKUP_WORDS,
	GPUCOL_LOOKUP_ARRAYS
} GpucolWireLookupArray;

/* Bytes of each of a table's arrays but its columns, without padding. */
static inline void
gpucol_wire_lookup_sizes(const GpucolWireLookup *lookup, uint64_t sizes[GPUCOL_LOOKUP_ARRAYS])
{
	bool		found = lookup->nkeyed > 0 && lookup->nkeys > 0;
	uint64_t	blocks = found && lookup->dense && !lookup->gapless ? lookup->greatest / 64 + 1 : 0;
	bool		hashed = found && !lookup->dense;

	sizes[GPUCOL_LOOKUP_FIRST] = lookup->unique ? 0 : ((uint64_t) lookup->ndistinct + 1) * 4;
	sizes[GPUCOL_LOOKUP_BITS] = blocks * 8;
	sizes[GPUCOL_LOOKUP_BEFORE] = blocks * 4;
	sizes[GPUCOL_LOOKUP_BUCKETS] = hashed ? ((UINT64_C(1) << (64 - lookup->shift)) + 1) * 8 : 0;
	sizes[GPUCOL_LOOKUP_WORDS] = hashed ? (uint64_t) lookup->ndistinct * 8 : 0;
}

/*
 * Then `bytes` of data in RESULT_PARTs, or in the slab, which no PUT is using then:
 * AGG: for each key its values (int64 or double; D: 16 bytes) [nrows] and
 * uint8 nulls[nrows] padded to 8 bytes; then GpucolAggState[nrows][naggs].
 * SCAN: uint64 row[nrows] (segment << 32 | row, segment = nsegments for delta
 * rows, nsegments + 1 for those that a probe delivers of its table), then each output as a key above.
 * RANKED: the keys of groups as above, then for each ranking: int32
 * counts[nrows] padded to 8 bytes; double probability[nrows], if wanted; if labels
 * are wanted, a GpucolWireLabels, the labels padded to 8 bytes, and for U-kRanks
 * uint8 null[] padded to 8 bytes; of these as many as the positive counts sum to.
 */
typedef struct GpucolWireLabels
{
	int64_t		base;
	uint32_t	width;			/* 8: int64 labels; 4: uint32, to be added to base */
	uint32_t	unused;
} GpucolWireLabels;

typedef struct GpucolWireResult
{
	uint32_t	status;			/* GpucolStatus */
	uint32_t	nsegments;		/* read */
	uint64_t	nrows;
	uint64_t	bytes;
	uint64_t	packed_bytes;
	uint64_t	segments_skipped;
	double		device_seconds; /* kernels, summed over devices */
	double		daemon_seconds; /* from RUN to RESULT, of which: */
	double		lookup_seconds; /* to what is resident, and to NEED if that is sent */
	double		plan_seconds;	/* planning the kernels, summed over parts */
	double		work_seconds;	/* planning, kernels and fetching, likewise */
	double		begin_seconds;	/* from there to the first part's planning: loading,
								 * and waiting for the device's turn */
	double		end_seconds;	/* from the last part's result to RESULT */
	uint32_t	ndevices;		/* that took part */
	uint32_t	nbatches;		/* parts that were computed one after another */
	uint32_t	in_slab;		/* the data lie at the slab's start, not in parts */
	uint32_t	closing;		/* the daemon ends the session: not all that it asked
								 * for has come */
	char		reason[160];
	char		kernel[32];		/* which kernel answered */
	char		note[96];		/* why not another, or on one device only */
	uint64_t	probed[GPUCOL_WIRE_MAX_PROBES]; /* rows that reached each probe, */
	uint64_t	found[GPUCOL_WIRE_MAX_PROBES];	/* and that it handed on, before its filter */
} GpucolWireResult;

/*
 * Bytes and rows resident of one column of one table, over all devices; an entry
 * of which storage is 0, 0 was never used and ends a probe.  An entry's place is
 * the first that is free from gpucol_residency_slot on, wrapping.
 */
typedef struct GpucolResidentColumn
{
	uint64_t	storage[2];
	int32_t		attnum;
	uint32_t	chunks;
	uint64_t	rows;
	uint64_t	bytes;
} GpucolResidentColumn;

/* Processors for each session that is being answered, for either end to wait awake. */
#define GPUCOL_SPIN_PROCESSORS		4

#define GPUCOL_RESIDENCY_COLUMNS	8192
#define GPUCOL_RESIDENCY_PROBES		64

/*
 * The memfd that comes with WELCOME, written by the daemon alone.  `sequence` is
 * odd while the columns change and differs after.
 */
typedef struct GpucolResidency
{
	uint64_t	sequence;
	uint64_t	limit;			/* device memory gpucol may hold, all devices */
	uint32_t	running;		/* sessions whose request is being answered */
	uint32_t	unused;
	GpucolResidentColumn columns[GPUCOL_RESIDENCY_COLUMNS];
} GpucolResidency;

static inline uint32_t
gpucol_residency_slot(const uint64_t storage[2], int32_t attnum)
{
	uint64_t	h = (storage[0] ^ storage[1] << 20 ^ (uint64_t) attnum << 52) *
		UINT64_C(0x9e3779b97f4a7c15);

	return (uint32_t) (h >> 40) % GPUCOL_RESIDENCY_COLUMNS;
}

typedef enum GpucolStatusKind
{
	GPUCOL_STATUS_DEVICES = 1,
	GPUCOL_STATUS_CACHE,
	GPUCOL_STATUS_ACTIVITY
} GpucolStatusKind;

typedef struct GpucolWireStatus
{
	uint32_t	kind;
	uint32_t	unused;
} GpucolWireStatus;

typedef struct GpucolWireDevice
{
	char		name[64];
	int32_t		number;			/* negative: it is not used, see unused_because */
	int32_t		multiprocessors;
	uint64_t	memory;			/* total */
	uint64_t	limit;			/* that gpucol may hold */
	uint64_t	held;			/* that gpucol holds */
	uint64_t	cached;			/* of that, resident chunks */
	uint64_t	hits;
	uint64_t	misses;
	uint64_t	evictions;
	uint64_t	requests;

	/* run-time compilation, which all devices share */
	uint32_t	compiled;		/* kernels */
	uint32_t	compiling;		/* waiting or at work */
	uint32_t	refused;		/* not compiled, or not used for a wrong answer */
	uint32_t	unused;
	char		compiler[96];	/* why there is none, or "" */

	char		architecture[16];	/* compute capability: "9.0" */
	char		code[16];		/* the daemon's that runs there: "sm_90", "PTX 7.5" */
	char		unused_because[128];	/* "": it is used */
} GpucolWireDevice;

typedef struct GpucolWireCacheRow
{
	uint64_t	storage[2];
	uint64_t	segment;
	int32_t		attnum;
	uint32_t	pins;
	uint64_t	bytes;
	uint64_t	uses;
	int32_t		device;
	uint32_t	kind;			/* GpucolPutKind: CHUNK, DELETED or REMAP */
} GpucolWireCacheRow;

typedef struct GpucolWireActivityRow
{
	int32_t		pid;
	char		state[28];
	uint64_t	bytes;			/* device memory of the request */
	double		seconds;		/* since it began */
	double		progress;		/* share that has been loaded, or computed in parts;
								 * negative: unknown */
} GpucolWireActivityRow;

typedef struct GpucolWireEvict
{
	uint64_t	storage[2];		/* 0, 0: everything */
} GpucolWireEvict;

typedef struct GpucolWireEvicted
{
	uint64_t	chunks;
	uint64_t	bytes;
} GpucolWireEvicted;

/*
 * A recursion plan (kernel/recursion.h): followed by its arrays in the order of
 * the struct's pointers, each padded to 8 bytes.
 */
typedef struct GpucolWireRecStart
{
	uint32_t	nstrata;
	uint32_t	nrelations;
	uint32_t	nrules;
	uint32_t	nsteps;
	uint32_t	noperands;
	uint32_t	nconstants;
	uint32_t	ntypes;
	uint32_t	strategy;		/* GpucolRecStrategy */
	uint64_t	memory_limit;	/* bytes the recursion may hold; 0 = no limit */
	int64_t		max_rounds;
	uint64_t	device_rows;	/* as in GpucolRecOptions */
} GpucolWireRecStart;

/* Bytes of an array of n elements in a REC_START. */
#define GPUCOL_WIRE_PADDED(n, size) ((((uint64_t) (n) * (size)) + 7) / 8 * 8)

/*
 * Followed by the columns, nrows int64 each, and where has_nulls by a byte for
 * each value, column by column too: 1 = NULL.
 */
typedef struct GpucolWireRecLoad
{
	uint32_t	relation;
	uint32_t	nrows;
	uint32_t	has_nulls;
	uint32_t	unused;
} GpucolWireRecLoad;

typedef struct GpucolWireRecAsk
{
	uint32_t	relation;
	uint32_t	unused;
} GpucolWireRecAsk;

/* What every answer begins with. */
typedef struct GpucolWireRecStatus
{
	uint32_t	status;			/* GpucolStatus */
	uint32_t	stratum;
	uint64_t	rounds;
	uint64_t	delta;
	uint64_t	full;
	uint64_t	bytes;
	uint64_t	peak_bytes;
	uint64_t	small_rounds;
	char		method[24];
} GpucolWireRecStatus;

/* Followed by a GpucolWireRecColumn for each column of the relation. */
typedef struct GpucolWireRecSummary
{
	GpucolWireRecStatus status;
	uint64_t	nrows;
} GpucolWireRecSummary;

typedef struct GpucolWireRecColumn
{
	uint64_t	count;
	uint64_t	sum_lo;			/* two's complement int128 */
	int64_t		sum_hi;
	int64_t		min;
	int64_t		max;
} GpucolWireRecColumn;

/* Followed by rows as a REC_LOAD is; GPUCOL_END has none. */
typedef struct GpucolWireRecRows
{
	GpucolWireRecStatus status;
	uint64_t	nrows;
	uint64_t	has_nulls;
} GpucolWireRecRows;

#endif							/* GPUCOL_SERVICE_PROTOCOL_H */
