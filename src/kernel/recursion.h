/*-------------------------------------------------------------------------
 *
 * recursion.h
 *	  The recursion plan: a stratified, fully planned relational program over
 *	  64-bit values.
 *
 * Front ends (gpucol.datalog, WITH RECURSIVE) lower to a plan; engines only
 * read it.  A plan is six arrays of plain structs that refer to each other by
 * index, so it can be copied, sent to another process or to a device as it is.
 *
 * Meaning.  Strata are run in order.  In a stratum, every rule without
 * GPUCOL_REC_RECURSIVE runs once; its results, with the rows that were loaded
 * into relations of the stratum, are the first delta.  Then rounds follow: in
 * each, every recursive rule runs, and the rows it emits that the relation does
 * not hold yet become the next delta.  The stratum ends with an empty delta.
 * (Semi-naive evaluation: a front end makes one recursive rule for each atom
 * whose relation belongs to the same stratum, that atom reading DELTA, those
 * before it FULL, those after it PREVIOUS.)
 *
 * A rule is a sequence of steps over single-assignment registers, run as
 * nested loops from left to right: the join order is the front end's.  An ATOM
 * binds or matches the columns of each row of a relation; engines choose the
 * index that serves the matched columns.
 *
 * Values are int64: integers, IEEE bits of float8 (-0 stored as 0 and one
 * NaN), or codes of a dictionary that the front end keeps.  NULL is a value
 * of its own: it equals itself when rows are deduplicated, and it never
 * matches in an atom or a comparison.
 *
 * Freestanding C: may be included by C, C++ and CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_RECURSION_H
#define GPUCOL_KERNEL_RECURSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GPUCOL_REC_MAX_ARITY	32

/* Type that arithmetic and order comparisons work in. */
typedef enum GpucolRecType
{
	GPUCOL_REC_CODE,			/* equality only */
	GPUCOL_REC_INT2,
	GPUCOL_REC_INT4,
	GPUCOL_REC_INT8,
	GPUCOL_REC_UINT8,			/* unsigned 64 bit */
	GPUCOL_REC_FLOAT8
} GpucolRecType;

/* Relation flags. */
#define GPUCOL_REC_INPUT	0x01	/* rows are loaded before the first result */
#define GPUCOL_REC_OUTPUT	0x02	/* rows may be asked for */
#define GPUCOL_REC_BAG		0x04	/* keeps duplicates.  A derived bag keeps only
									 * its delta, which is all that rules may
									 * read of it */
#define GPUCOL_REC_READ		0x08	/* a rule of a later stratum reads it */
#define GPUCOL_REC_DERIVED	0x10	/* rows are added in its stratum: by rules,
									 * or from those that were loaded */
#define GPUCOL_REC_CHOSEN	0x20	/* the plan has choices of it, no merge */

/* Rows that agree on all columns but one are merged by that column. */
typedef enum GpucolRecMerge
{
	GPUCOL_REC_MERGE_NONE,
	GPUCOL_REC_MERGE_MIN,
	GPUCOL_REC_MERGE_MAX
} GpucolRecMerge;

typedef struct GpucolRecRelation
{
	uint16_t	arity;			/* 0 to GPUCOL_REC_MAX_ARITY */
	uint8_t		flags;
	uint8_t		merge;			/* GpucolRecMerge */
	uint16_t	merge_column;
	uint16_t	stratum;		/* stratum whose rules define it */
	uint32_t	types;			/* first of arity GpucolRecType in types[] */
} GpucolRecRelation;

/* Of the rows of a derived relation that agree on these columns only the first stays. */
typedef struct GpucolRecChoice
{
	uint32_t	relation;
	uint32_t	columns;		/* as bits */
} GpucolRecChoice;

typedef enum GpucolRecOperandKind
{
	GPUCOL_REC_ANY,				/* atoms: the column does not matter */
	GPUCOL_REC_BIND,			/* atoms: the column's value goes to a register */
	GPUCOL_REC_REGISTER,
	GPUCOL_REC_CONSTANT
} GpucolRecOperandKind;

typedef struct GpucolRecOperand
{
	uint16_t	kind;			/* GpucolRecOperandKind */
	uint16_t	index;			/* register or constant */
} GpucolRecOperand;

typedef struct GpucolRecConstant
{
	int64_t		value;
	bool		isnull;
} GpucolRecConstant;

typedef enum GpucolRecStepKind
{
	GPUCOL_REC_ATOM,			/* for each row of relation that matches */
	GPUCOL_REC_ABSENT,			/* only if no row of relation matches */
	GPUCOL_REC_PRESENT,			/* only if some row of relation matches */
	GPUCOL_REC_COMPUTE,			/* target := function(operands) */
	GPUCOL_REC_TEST,			/* only if function(operands) is true */
	GPUCOL_REC_AGGREGATE,		/* target := function over the matches of the
								 * next nsteps steps, the last a COLLECT */
	GPUCOL_REC_COLLECT,			/* end of an aggregate's body; its operand, if
								 * any, is the aggregated value */
	GPUCOL_REC_EMIT				/* the rule's last step: add a row to relation */
} GpucolRecStepKind;

/*
 * One more kind of step, of which devices know nothing: for each row that expression
 * `relation` of the host makes of the operands that are REGISTER, which come first; those
 * behind them, BIND, take its columns.
 */
#define GPUCOL_REC_EXPAND	8

/* Which rows of its relation an atom sees. */
typedef enum GpucolRecVersion
{
	GPUCOL_REC_FULL,			/* all, the delta included */
	GPUCOL_REC_DELTA,			/* found in the last round */
	GPUCOL_REC_PREVIOUS			/* all but the delta */
} GpucolRecVersion;

/*
 * Functions of COMPUTE, TEST and AGGREGATE.  NULL operands give NULL but for
 * those that say otherwise; integer overflow and division by zero end the run
 * with their status.  Booleans are 0 and 1.
 */
typedef enum GpucolRecFunction
{
	GPUCOL_REC_COPY,
	GPUCOL_REC_ADD,
	GPUCOL_REC_SUB,
	GPUCOL_REC_MUL,
	GPUCOL_REC_DIV,				/* integers: truncates towards zero */
	GPUCOL_REC_MOD,
	GPUCOL_REC_NEG,
	GPUCOL_REC_MIN2,			/* the lesser of two */
	GPUCOL_REC_MAX2,
	GPUCOL_REC_EQ,
	GPUCOL_REC_NE,
	GPUCOL_REC_LT,
	GPUCOL_REC_LE,
	GPUCOL_REC_GT,
	GPUCOL_REC_GE,
	GPUCOL_REC_AND,				/* three-valued */
	GPUCOL_REC_OR,				/* three-valued */
	GPUCOL_REC_NOT,
	GPUCOL_REC_ISNULL,			/* never NULL */
	GPUCOL_REC_ISNOTNULL,		/* never NULL */
	GPUCOL_REC_WHEN,			/* the second operand where the first is true, else NULL */
	GPUCOL_REC_UNLESS,			/* the second where the first is false or NULL, else NULL */
	GPUCOL_REC_EITHER,			/* the first unless it is NULL, else the second */
	GPUCOL_REC_COUNT,			/* aggregates: */
	GPUCOL_REC_SUM,				/* 0 over nothing */
	GPUCOL_REC_MIN,				/* no match over nothing */
	GPUCOL_REC_MAX,				/* no match over nothing */
	GPUCOL_REC_HOST				/* COMPUTE, TEST: expression number `relation`
								 * of the host over any number of operands */
} GpucolRecFunction;

typedef struct GpucolRecStep
{
	uint8_t		kind;			/* GpucolRecStepKind */
	uint8_t		function;		/* GpucolRecFunction */
	uint8_t		type;			/* GpucolRecType of the operands */
	uint8_t		version;		/* GpucolRecVersion */
	uint16_t	relation;		/* HOST: number of the expression */
	uint16_t	target;			/* register */
	uint16_t	origin;			/* AGGREGATE: a register for the engine's use;
								 * COLLECT: the same */
	uint16_t	noperands;		/* atoms, EMIT: the relation's arity */
	uint32_t	operands;		/* first in operands[] */
	uint32_t	nsteps;			/* AGGREGATE: steps of its body */
} GpucolRecStep;

/* Rule flags. */
#define GPUCOL_REC_RECURSIVE	0x01

typedef struct GpucolRecRule
{
	uint16_t	stratum;
	uint16_t	flags;
	uint32_t	steps;			/* first in steps[] */
	uint32_t	nsteps;
	uint32_t	nregisters;
} GpucolRecRule;

typedef struct GpucolRecPlan
{
	uint32_t	nstrata;
	uint32_t	nrelations;
	uint32_t	nrules;
	uint32_t	nsteps;
	uint32_t	noperands;
	uint32_t	nconstants;
	uint32_t	ntypes;
	const GpucolRecRelation *relations;
	const GpucolRecRule *rules; /* in the order of their strata */
	const GpucolRecStep *steps;
	const GpucolRecOperand *operands;
	const GpucolRecConstant *constants;
	const uint8_t *types;		/* GpucolRecType */
	const GpucolRecChoice *choices;	/* a daemon is not asked for plans that have any */
	uint32_t	nchoices;
} GpucolRecPlan;

#endif							/* GPUCOL_KERNEL_RECURSION_H */
