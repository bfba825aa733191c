/*-------------------------------------------------------------------------
 *
 * interp_plan.h
 *	  What a program's run looks like to the kernels.  Plain data; pointers are
 *	  of the device.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_INTERP_PLAN_H
#define GPUCOL_CUDA_INTERP_PLAN_H

#include "kernel/program.h"
#include "cuda/scan/plan.h"

/* What a pass over the rows is for. */
enum InterpMode
{
	MODE_AGGREGATE,				/* into plan.table (record 0 where there are no keys) */
	MODE_EXPONENTS,				/* greatest exponents of the float arguments of sums,
								 * into plan.exponents */
	MODE_SELECT,				/* match bitmap and matches of each vector */
	MODE_EMIT					/* the selected rows' outputs; plan.counts holds each
								 * vector's start */
};

constexpr int GPUCOL_MAX_REGS = 64;
constexpr int GPUCOL_MAX_WORDS = 128;	/* accumulator words a group */
constexpr int GPUCOL_MAX_KEY_WORDS = 17;
constexpr int GPUCOL_MAX_PROBES = 16;
constexpr int GPUCOL_MAX_PROBE_KEYS = 32;
constexpr int GPUCOL_MAX_FIRST_KEYS = 4;	/* of a probe that takes the first row by an order */
constexpr int GPUCOL_MAX_PAYLOADS = 64;

/* Physical accumulators; several aggregates may share one. */
enum GpucolAccOp : uint8_t
{
	GPUCOL_ACC_COUNT = 0,		/* 1 word */
	GPUCOL_ACC_SUM_I,			/* 2: sums of the low and the high 32 bits */
	GPUCOL_ACC_SUM_D,			/* 3: low, middle 32 bits, high 64 */
	GPUCOL_ACC_SUM_F,			/* 6: NaN, inf, -inf; fixed point as SUM_D */
	GPUCOL_ACC_SQUARE,			/* 3: squares of I or D, as SUM_D */
	GPUCOL_ACC_SQUARE_F,		/* 3: squares in fixed point */
	GPUCOL_ACC_MIN,				/* 1: I, B, D within int64, F by its order, S
								 * by place */
	GPUCOL_ACC_MAX,
	GPUCOL_ACC_DISTINCT			/* 1: new entries of the set */
};

struct GpucolAcc
{
	uint8_t		op;				/* GpucolAccOp */
	uint8_t		cls;			/* GpucolClass of the argument */
	uint16_t	arg;			/* register or GPUCOL_NO_REG */
	uint16_t	filter;
	uint16_t	word;			/* first word in a group's record */
	int32_t		scale;			/* F: fixed point is value * 2^scale */
	int32_t		order;			/* S: of the least and greatest, as GpucolAgg.order */
};

/* Open-addressing set of keys of nwords 64-bit words. */
struct GpucolDeviceTable
{
	uint32_t   *state;			/* 0 empty, 1 being written, else tag | 2 */
	unsigned long long *keys;	/* [capacity][nwords] */
	uint32_t	capacity;		/* power of two */
	uint32_t	nwords;
	uint32_t   *used;			/* entries; beyond `limit` the table is too small */
	uint32_t	limit;
};

/* How the number of a key is found in a built table (kernel/lookup.h). */
enum GpucolLookupWay : uint8_t
{
	GPUCOL_WAY_NOWHERE = 0,		/* no row has a key */
	GPUCOL_WAY_ALL,				/* there are no keys: every row has number 0 */
	GPUCOL_WAY_WORD,			/* the word is the number */
	GPUCOL_WAY_BITS,
	GPUCOL_WAY_HASH,
	GPUCOL_WAY_WIDE				/* HASH of words that are hashes themselves */
};

/* A key of a probe. */
struct GpucolDeviceKey
{
	int64_t		least;
	uint64_t	range;
	const uint32_t *numbers;	/* S: the table's number + 1 of each, 0 = none */
	const void *values;			/* WIDE: the table's column */
	int64_t		reference;
	uint32_t	nnumbers;
	uint16_t	reg;
	uint8_t		cls;			/* GpucolClass */
	uint8_t		shift;
	uint8_t		width;			/* WIDE: of the column's values, bytes */
};

/* A column of a built table; LOAD instructions name it by -1 - its index. */
struct GpucolDevicePayload
{
	const void *values;
	const uint8_t *nulls;		/* or NULL */
	int64_t		reference;
	uint32_t	nrows;
	uint8_t		width;			/* bytes */
	uint8_t		probe;
	int8_t		slot;			/* of the probe's matches */
};

/*
 * A probe.  What its table's arrays say is bounded by the kernels.  A warp keeps matches,
 * the rows of built tables that its listed rows have met, by slot and place in the list; a
 * probe at which rows multiply saves the list, from which batches of pairs are made.
 */
struct GpucolDeviceProbe
{
	uint8_t		kind;			/* GpucolJoinKind, up to RIGHT_ANTI */
	uint8_t		way;			/* GpucolLookupWay */
	uint8_t		nkeys;
	uint8_t		first_key;
	bool		unique;
	bool		expands;		/* rows multiply */
	bool		has_null;		/* as GpucolLookupView */
	uint8_t		norder;			/* > 0: of the rows met the first by so many sort keys, */
	uint8_t		order_class[GPUCOL_MAX_FIRST_KEYS];	/* GpucolClass, */
	uint8_t		order_descending;	/* bits by key */
	uint8_t		order_nulls_first;
	uint16_t	order_reg[GPUCOL_MAX_FIRST_KEYS];	/* registers of the residual's instructions */
	uint8_t		shift;
	int8_t		slot;			/* where later stages find its matches, or -1 */
	uint8_t		nslots;			/* of this probe and those before it */
	uint16_t	residual;		/* register or GPUCOL_NO_REG */
	uint16_t	filter;
	uint16_t	start;			/* instructions of the keys, and their end */
	uint16_t	keys_end;
	uint16_t	residual_end;
	uint16_t	filter_end;
	uint32_t	nrows;
	uint32_t	ndistinct;
	uint32_t	saved;			/* expands: where its list is in a warp's memory, bytes */
	uint64_t	greatest;
	const uint32_t *first;
	const unsigned long long *bits;
	const uint32_t *before;
	const unsigned long long *buckets;
	const unsigned long long *words;
	uint32_t   *marks;			/* a bit for each of the table's rows, in whole vectors, set where
								 * it was met; NULL: the table delivers none */
};

/* Bytes that such a probe saves beside matches (SavedRows). */
constexpr uint32_t GPUCOL_SAVED_BYTES = 32 + 1024 * (8 + 4 + 4);

/* One output column of a SCAN. */
struct GpucolInterpOutput
{
	uint16_t	reg;
	uint16_t	cls;
	uint32_t	unused;
	unsigned long long *values; /* D: two words a row */
	uint8_t    *nulls;
};

struct GpucolInterpPlan
{
	GpucolScanPlan scan;
	const GpucolInstr *instrs;	/* constants; the filter; the rest, with what it needs
								 * of the filter */
	const GpucolConst *consts;
	const GpucolProgramColumn *columns;
	const uint16_t *keys;
	const uint8_t *classes;
	const GpucolAcc *accs;
	const uint8_t *const *host;	/* host test results */
	const uint32_t *host_size;	/* numbers of each; NULL's result follows */
	const uint32_t *const *places;	/* [naccs]: of MIN and MAX of S the place of each number */
	const uint32_t *nplaces;	/* [naccs]: numbers that have one */
	uint16_t	filter_start;	/* ends of the constants, of the filter, and of all; probes'
								 * lie behind the filter's */
	uint16_t	filter_end;
	uint16_t	ninstrs;
	uint16_t	filter;
	uint16_t	nkeys;
	uint16_t	naccs;
	uint16_t	nwords;
	uint16_t	nprobes;
	uint16_t	rest_start;		/* instructions behind the probes, to ninstrs */
	bool		expands;		/* rows multiply at some probe */
	uint8_t		tail;			/* 1 + a probe, whose table's rows `scan` is of; 0: the source's */
	uint64_t	tail_start;		/* vectors before these rows' */
	GpucolDeviceTable groups;		/* nkeys > 0 */
	GpucolDeviceTable distinct;	/* key: accumulator and group, value */
	unsigned long long *table;	/* [capacity or 1][nwords] */
	unsigned long long *exponents;	/* [naccs]: greatest biased exponent, then
									 * [naccs]: 0x7ff - the least */
	uint64_t	prefetched;		/* slots of columns that are asked for ahead */
	char	   *memory;			/* of the warps that probe, memory_size each */
	size_t		memory_size;
	unsigned long long *figures;	/* [nprobes][2]: rows that reached a probe, and found */
	unsigned long long *error;	/* least (row << 8 | status), ~0 = none */

	/* SCAN */
	uint32_t   *bitmap;			/* 32 words a vector */
	unsigned long long *counts; /* matches a vector, then their start */
	unsigned long long *rows;	/* out: segment << 32 | row */
	const GpucolInterpOutput *outputs;
	uint32_t	noutputs;

	GpucolDeviceProbe probes[GPUCOL_MAX_PROBES];
	GpucolDeviceKey probe_keys[GPUCOL_MAX_PROBE_KEYS];
	GpucolDevicePayload payloads[GPUCOL_MAX_PAYLOADS];
};

#endif
