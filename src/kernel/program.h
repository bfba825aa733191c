/*-------------------------------------------------------------------------
 *
 * program.h
 *	  The kernel description: what a scan or an aggregation asks an engine to do.
 *
 * A program is one block of position-independent bytes: a GpucolProgram
 * followed by its arrays at the stated byte offsets.  The planner builds it
 * (src/lower/lower.c), it travels in the plan, between processes and to the
 * device, and engines only read it.
 *
 * Meaning, for every row that the source delivers:
 *	  1. the row passes iff every GpucolRange holds and the filter register
 *		 (if any) is true;
 *	  2. passing rows go through the probes in order, each of which joins them
 *		 with the rows of a built table;
 *	  3. for the rows behind the last probe the remaining instructions are evaluated;
 *	  4. SCAN emits the output registers; AGG groups by the key registers and
 *		 advances the aggregates; BUILD makes a table of the output registers.
 * The instructions before `nfilter_instrs` compute the filter; they are
 * evaluated for rows that all ranges passed.
 *
 * Registers are single-assignment and typed (GpucolClass); an instruction's
 * error counts for a row only where its mask register is true.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_PROGRAM_H
#define GPUCOL_KERNEL_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "kernel/batch.h"
#include "kernel/format.h"

#define GPUCOL_PROGRAM_MAGIC	0x4750434b
#define GPUCOL_PROGRAM_VERSION	2
#define GPUCOL_NO_REG			0xffff	/* no register, no mask, no constant */

/* Class of a register, constant, key or output. */
typedef enum GpucolClass
{
	GPUCOL_CLASS_NONE = 0,
	GPUCOL_CLASS_B,				/* bool */
	GPUCOL_CLASS_I,				/* int64 */
	GPUCOL_CLASS_D,				/* int128 mantissa, scale known to the planner */
	GPUCOL_CLASS_F,				/* float8; float4 values widened */
	GPUCOL_CLASS_S				/* BYTES value: dictionary code or bytes */
} GpucolClass;

typedef enum GpucolOpcode
{
#define GPUCOL_OPCODE(name, r, a, b, c) GPUCOL_OP_##name,
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
	GPUCOL_OP_COUNT
} GpucolOpcode;

/* Does an opcode make a value of those of a row's elements; has it one for each of them? */
#define GPUCOL_OP_IS_FOLD(op)		((op) >= GPUCOL_OP_FOLD_COUNT && (op) <= GPUCOL_OP_FOLD_MAX_F)
#define GPUCOL_OP_IS_EACH(op)		((op) >= GPUCOL_OP_EACH_I && (op) <= GPUCOL_OP_EACH_NUMBER)
#define GPUCOL_OP_IS_SPREAD(op)		((op) >= GPUCOL_OP_SPREAD_B && (op) <= GPUCOL_OP_SPREAD_S)

/* CHECK_I's width that nothing fits: the engine leaves the query to PostgreSQL. */
#define GPUCOL_WIDTH_NONE			1

/* aux of operations on byte strings */
#define GPUCOL_TEXT_BYTES			0x01	/* of bytes; else of characters of UTF-8 */
#define GPUCOL_TEXT_LAST			0x02	/* PART_S: the last b of them */
#define GPUCOL_TEXT_ALL_BUT_LAST	0x04	/* PART_S: all but these */
#define GPUCOL_TEXT_OR_NULL			0x08	/* MATCH_S: NULL where it does not match */

typedef struct GpucolInstr
{
	uint16_t	op;				/* GpucolOpcode */
	uint16_t	dst;			/* register written */
	uint16_t	a;				/* operand registers */
	uint16_t	b;
	uint16_t	c;
	uint16_t	mask;			/* bool register: rows where errors count, and
								 * where a function (MATH_F, MATH2_F) has a value;
								 * GPUCOL_NO_REG = all rows in play */
	int32_t		aux;
} GpucolInstr;

/* A table column that the program reads; its index is the column slot. */
typedef struct GpucolProgramColumn
{
	int16_t		attnum;
	uint8_t		kind;			/* GpucolKind expected */
	int8_t		scale;			/* DECIMAL: scale of the mantissas */
	uint32_t	type_oid;
} GpucolProgramColumn;

/*
 * A constant.  Values of parameters are filled in (in the executor's copy of
 * the program) before each scan.  Equality and order of float constants follow
 * PostgreSQL.
 */
typedef struct GpucolConst
{
	uint8_t		cls;			/* GpucolClass: B, I, D or F */
	uint8_t		isnull;
	uint8_t		unused[6];
	union
	{
		int64_t		i;			/* I; B as 0 or 1 */
		double		f;			/* F */
		struct
		{
			uint64_t	lo;
			int64_t		hi;
		}			d;			/* D: two's complement int128 */
	}			v;
} GpucolConst;

/* Tests of one column that engines answer on packed codes and zone maps. */
typedef enum GpucolRangeOp
{
	GPUCOL_RANGE_BETWEEN = 1,	/* lo <= value <= hi, either end may be absent */
	GPUCOL_RANGE_NOT_BETWEEN,	/* the complement, NULL still fails */
	GPUCOL_RANGE_IN,			/* value among constants lo .. lo + n - 1, which
								 * are ascending and distinct */
	GPUCOL_RANGE_NOT_IN,
	GPUCOL_RANGE_IS_NULL,
	GPUCOL_RANGE_IS_NOT_NULL,
	GPUCOL_RANGE_HOST			/* BYTES: host predicate number n */
} GpucolRangeOp;

#define GPUCOL_RANGE_LO_OPEN	0x01	/* lo itself fails */
#define GPUCOL_RANGE_HI_OPEN	0x02	/* hi itself fails */

/*
 * A range conjunct.  Constants are of class I for INT, D for DECIMAL (at the
 * column's scale), F for floats.  A NULL constant makes the conjunct false for
 * every row (absent is GPUCOL_NO_REG, not NULL).
 */
typedef struct GpucolRange
{
	uint16_t	column;			/* column slot */
	uint8_t		op;				/* GpucolRangeOp */
	uint8_t		flags;
	uint16_t	lo;				/* constant numbers */
	uint16_t	hi;
	uint32_t	n;
} GpucolRange;

/*
 * Aggregate states.  Each advances over rows whose filter register is true (or
 * absent) and, except COUNT_STAR, whose argument is not NULL.
 */
typedef enum GpucolAggOp
{
	GPUCOL_AGG_COUNT_STAR = 1,
	GPUCOL_AGG_COUNT,
	GPUCOL_AGG_SUM,				/* I, D: exact int128; F: compensated float8 */
	GPUCOL_AGG_MIN,				/* I, D, F, B; S, packed D: the CPU engine */
	GPUCOL_AGG_MAX,
	GPUCOL_AGG_SUMSQ,			/* n, sum and sum of squares: I, D exact int128
								 * (beyond: UNSUPPORTED); F: n, mean, M2 */
	GPUCOL_AGG_BOOL_AND,		/* B; I, bit by bit: the CPU engine */
	GPUCOL_AGG_BOOL_OR,
	GPUCOL_AGG_COUNT_DISTINCT,	/* I, B, F, S */
	GPUCOL_AGG_PRODUCTS,		/* F and F, NULL in the same rows: n, both sums, sum of the
								 * products of deviations; the CPU engine */
	GPUCOL_AGG_BIT_XOR			/* I, bit by bit: the CPU engine */
} GpucolAggOp;

typedef struct GpucolAgg
{
	uint8_t		op;				/* GpucolAggOp */
	uint8_t		cls;			/* class of the argument */
	uint16_t	arg;			/* register, GPUCOL_NO_REG for COUNT_STAR */
	uint16_t	filter;			/* bool register or GPUCOL_NO_REG */
	uint16_t	order;			/* MIN, MAX of S: 0 = of bytes, the shorter of equal
								 * beginnings first; n + 1 = the host's order n; of D:
								 * GPUCOL_ORDER_PACKED or 0;
								 * PRODUCTS: register of the other argument */
} GpucolAgg;

/* MIN, MAX of S: the order of intervals as PostgreSQL stores them. */
#define GPUCOL_ORDER_SPANS	0xfffe

/* MIN, MAX of decimals that carry their scale (kernel/packed_decimal.h): of equal ones the last of the scan. */
#define GPUCOL_ORDER_PACKED	1

/* Is it such a one? */
static inline bool
gpucol_agg_is_packed(const GpucolAgg *agg)
{
	return agg->cls == GPUCOL_CLASS_D && agg->order == GPUCOL_ORDER_PACKED &&
		(agg->op == GPUCOL_AGG_MIN || agg->op == GPUCOL_AGG_MAX);
}

/* One aggregate's state in one group, as engines deliver it. */
typedef struct GpucolAggState
{
	int64_t		count;			/* rows that advanced it */
	union
	{
		struct
		{
			uint64_t	lo;
			int64_t		hi;
		}			i;			/* SUM of I, D: int128 */
		int64_t		value;		/* MIN, MAX of I, B; BOOL_AND, BOOL_OR;
								 * COUNT_DISTINCT */
		double		f;			/* SUM, MIN, MAX of F; SUMSQ of F: sum */
		double		sums[2];	/* PRODUCTS */
		struct
		{
			const char *data;	/* valid as long as the run */
			uint64_t	len;
		}			s;			/* MIN, MAX of S */
	}			v;
	union
	{
		struct
		{
			uint64_t	lo;
			int64_t		hi;
		}			i;			/* SUMSQ of I, D: sum of squares; MIN, MAX of packed D: where in
								 * the scan the value comes from */
		double		f;			/* SUMSQ of F: sum of squared deviations; PRODUCTS: of
								 * their products */
	}			w;
} GpucolAggState;

/*
 * How a probe joins the rows that reach it with those of a built table.  Rows match
 * where all keys are equal, none of them NULL, and the residual condition is true.
 */
typedef enum GpucolJoinKind
{
	GPUCOL_JOIN_INNER = 1,		/* a row for each match */
	GPUCOL_JOIN_LEFT,			/* and, where there is none, the row with a payload of
								 * NULLs */
	GPUCOL_JOIN_SEMI,			/* the row, if there is a match; no payload */
	GPUCOL_JOIN_ANTI,			/* the row, if there is none; no payload */
	GPUCOL_JOIN_NOT_IN,			/* ANTI with one key and no residual, as NOT IN has it: no
								 * row if some key of the table is NULL, and none
								 * whose key is NULL unless the table is empty */
	GPUCOL_JOIN_RIGHT,			/* INNER; when the source has ended, the table's rows
								 * that had no match, all but their payload NULL */
	GPUCOL_JOIN_FULL,			/* LEFT and RIGHT */
	GPUCOL_JOIN_RIGHT_SEMI,		/* nothing; in the end the table's rows that had a match */
	GPUCOL_JOIN_RIGHT_ANTI,		/* nothing; in the end those that had none */
	GPUCOL_JOIN_SET,			/* of no table: a row for each element or field of the key
								 * (kernel/set_function.h); its payload is loaded by the
								 * filter's instructions alone; the CPU engine */
	GPUCOL_JOIN_SET_LEFT		/* and, where there is none for which the residual is true, one with NULLs; the
								 * residual's instructions load the payload, too */
} GpucolJoinKind;

/*
 * A step of a pipeline: the lookup of rows in a built table.  Its instructions follow
 * those of the filter or of the probe before it:
 *	  up to keys_end		its keys, for the rows that reach it;
 *	  up to residual_end	the residual condition, for each pair with equal keys: no
 *							later instruction reads their registers;
 *	  up to filter_end		the filter, for the rows that it hands on.
 * In rows that a table delivers when the source has ended, every column of the source and
 * every payload of other probes is NULL; instructions of earlier steps are evaluated for
 * them with that, ranges, filters and residuals of those steps are not applied.
 */
typedef struct GpucolProbe
{
	uint16_t	table;			/* number among GpucolRunOptions.lookups */
	uint16_t	kind;			/* GpucolJoinKind */
	uint16_t	first_key;		/* in probe_keys[]; classes as those of the table's keys */
	uint16_t	nkeys;			/* 0: every pair of rows matches */
	uint16_t	keys_end;		/* instructions */
	uint16_t	residual_end;
	uint16_t	filter_end;
	uint16_t	residual;		/* bool register or GPUCOL_NO_REG */
	uint16_t	filter;			/* bool register or GPUCOL_NO_REG */
	uint16_t	set;			/* SET: constants from here, a GpucolSetFunction for each key */
} GpucolProbe;

/*
 * A column of a built table that the program reads: LOAD instructions number it
 * behind the columns of the source, ncolumns + its index here.
 */
typedef struct GpucolPayload
{
	uint16_t	probe;			/* number of the probe */
	uint16_t	column;			/* the table's output, keys first */
	uint8_t		kind;			/* GpucolKind: of INT and floats as in a column; DECIMAL:
								 * mantissas of int64 */
	uint8_t		unused[3];
} GpucolPayload;

typedef enum GpucolProgramKind
{
	GPUCOL_PROGRAM_SCAN = 1,
	GPUCOL_PROGRAM_AGG,
	GPUCOL_PROGRAM_BUILD		/* keys[]: the keys of the join, then the payload */
} GpucolProgramKind;

/* flags of a program */
#define GPUCOL_PROGRAM_KEEP_NULL_KEYS	0x01	/* BUILD: rows whose key is NULL stay, for
												 * a RIGHT, FULL or RIGHT_ANTI probe */

typedef struct GpucolProgram
{
	uint32_t	magic;
	uint16_t	version;
	uint16_t	kind;			/* GpucolProgramKind */
	uint32_t	size;			/* of the whole block, bytes */
	uint16_t	ncolumns;
	uint16_t	nconsts;
	uint16_t	nranges;
	uint16_t	ninstrs;
	uint16_t	nfilter_instrs; /* leading instructions that compute the filter */
	uint16_t	nregs;
	uint16_t	filter;			/* register or GPUCOL_NO_REG */
	uint16_t	nkeys;			/* AGG: group key registers; SCAN, BUILD:
								 * outputs */
	uint16_t	naggs;
	uint16_t	nhost;			/* host predicates */
	uint16_t	nprobes;
	uint16_t	npayloads;
	uint16_t	nprobe_keys;
	uint16_t	njoin_keys;		/* BUILD: of the nkeys outputs, the keys of the join */
	uint32_t	flags;
	/* byte offsets from the start of this struct */
	uint32_t	columns;		/* GpucolProgramColumn[ncolumns] */
	uint32_t	consts;			/* GpucolConst[nconsts], 16-byte aligned */
	uint32_t	ranges;			/* GpucolRange[nranges] */
	uint32_t	instrs;			/* GpucolInstr[ninstrs] */
	uint32_t	reg_classes;	/* uint8_t[nregs], GpucolClass */
	uint32_t	keys;			/* uint16_t[nkeys] registers */
	uint32_t	aggs;			/* GpucolAgg[naggs] */
	uint32_t	probes;			/* GpucolProbe[nprobes] */
	uint32_t	payloads;		/* GpucolPayload[npayloads] */
	uint32_t	probe_keys;		/* uint16_t[nprobe_keys] registers */
} GpucolProgram;

/* Address of one of the arrays of a program. */
#define GPUCOL_PROGRAM_ARRAY(program, type, field) \
	((type *) ((char *) (program) + (program)->field))

/*
 * Values of BYTES in their order (memcmp, the shorter first), cut into pieces: the cuts
 * ascend, and a predicate holds for all values of every other piece and is false for
 * those of the rest.
 */
typedef enum GpucolCutPlace
{
	GPUCOL_CUT_BEFORE,			/* before the value, */
	GPUCOL_CUT_BEHIND,			/* behind it, */
	GPUCOL_CUT_BEHIND_PREFIX	/* or behind all that begin with it */
} GpucolCutPlace;

typedef struct GpucolCut
{
	GpucolBytes value;
	GpucolCutPlace place;
} GpucolCut;

typedef struct GpucolCuts
{
	bool		first;			/* does it hold before the first cut? */
	bool		numbers;		/* values are numerics, in whose order the cuts are */
	int			n;
	const GpucolCut *cuts;
} GpucolCuts;

/*
 * Predicates that only the host can evaluate (any immutable function over a BYTES value),
 * functions that make other BYTES values of them, and orders of BYTES values.  Called in the
 * engine's main thread, predicates and functions once per distinct value of a dictionary, or
 * once per row where the chunk has none.
 */
typedef struct GpucolHost
{
	void	   *context;

	/*
	 * Evaluate host predicate `id` on n values; isnull may be NULL.  result[i]
	 * becomes 0 false, 1 true, 2 NULL.
	 */
	void		(*test) (void *context, int id, int n,
						 const GpucolBytes *values, const bool *isnull,
						 uint8_t *result);

	/*
	 * Evaluate host function `id` on n values; isnull may be NULL.  made[i] becomes 1 and
	 * results[i] the value, which is valid until the next call, or made[i] becomes 2: NULL.
	 */
	void		(*map) (void *context, int id, int n,
						const GpucolBytes *values, const bool *isnull,
						GpucolBytes *results, uint8_t *made);

	/*
	 * How the order of values that are not NULL decides host predicate `id`; NULL if it
	 * does not.  No callback: it decides none.
	 */
	const GpucolCuts *(*cuts) (void *context, int id);

	/*
	 * How sizes and elements decide host predicate `id` over a column of arrays
	 * (kernel/array_test.h); NULL if they do not.  No callback: they decide none.
	 */
	const struct GpucolArrayTest *(*array) (void *context, int id);

	/* Compare two values by order `order`: < 0, 0 or > 0.  NULL: there are none. */
	int			(*compare) (void *context, int order, const GpucolBytes *a,
							const GpucolBytes *b);

	/*
	 * May any thread ask `test` for host predicate `id`, several at once?  It does not
	 * longjmp then.  No callback: the main thread alone may.
	 */
	bool		(*any_thread) (void *context, int id);

	/*
	 * A function of packed decimals (GpucolNumericFunction) as PostgreSQL computes it; a unary one reads x.
	 * GPUCOL_UNSUPPORTED where that is an error, or no packed decimal.  The main thread alone may ask, while others
	 * are at work, too: it does not longjmp.  No callback: it computes none.
	 */
	GpucolStatus (*numeric) (void *context, int function, __int128 x, __int128 y, __int128 *r);
} GpucolHost;

#endif							/* GPUCOL_KERNEL_PROGRAM_H */
