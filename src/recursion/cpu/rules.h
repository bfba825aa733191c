/*-------------------------------------------------------------------------
 *
 * rules.h
 *	  A rule made ready for evaluation: shared by recursion/cpu/prepare.c, which
 *	  makes it, and recursion/cpu/rules.c, which runs it.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_CPU_RULES_H
#define GPUCOL_RECURSION_CPU_RULES_H

#include "recursion/cpu/engine.h"

typedef struct Vector
{
	uint32_t	n;
	uint32_t  **registers;		/* by register; NULL = not in this vector */
} Vector;

/* A column of an atom that must equal a register bound by the same atom. */
typedef struct Recheck
{
	uint8_t		column;
	uint8_t		other;
} Recheck;

/* A vector as values, for the host and from it. */
typedef struct HostRows
{
	int64_t   **values;			/* by operand */
	uint8_t   **nulls;
	int64_t    *result;
	uint8_t    *result_nulls;
} HostRows;

typedef struct Stage
{
	const GpucolRecStep *step;
	const GpucolRecOperand *operands;
	uint8_t		kind;			/* GpucolRecStepKind, ATOM possibly demoted to
								 * PRESENT */
	GpucolRecTable *table;
	const uint32_t **inputs;	/* by operand: array of its values, or NULL */
	int			nkeys;
	uint8_t		keys[GPUCOL_REC_MAX_ARITY];
	uint32_t	key_mask;
	GpucolRecIndex *index;
	int			nrechecks;
	Recheck		rechecks[GPUCOL_REC_MAX_ARITY];
	int			ncarried;
	uint16_t   *carried;		/* registers copied from input to output */
	Vector		out;			/* ATOM, body of AGGREGATE */
	uint32_t   *start;			/* ATOM: matches of each input row */
	uint32_t   *count;
	uint64_t   *hash;
	struct Stage *aggregate;	/* COLLECT: where to */
	GpucolRecValue *accumulators;	/* AGGREGATE */
	const GpucolRecTotals *totals;	/* AGGREGATE: that answer it, or NULL */
	GpucolRecTotal total;		/* by what, */
	const uint32_t *key;		/* for which ids, or NULL */
	uint32_t   *target;
	HostRows   *host;			/* COMPUTE, TEST by the host */
} Stage;

typedef struct Block
{
	struct Block *next;
	size_t		size;
} Block;

struct GpucolRecExec
{
	bool		ready;
	Block	   *blocks;			/* everything the exec allocated */
	const GpucolRecRule *rule;
	uint32_t	capacity;		/* rows of a vector, at most GPUCOL_REC_VECTOR */
	Stage	   *stages;
	Vector		unit;			/* one row without registers */
	uint64_t	rows;			/* that the first atom has scanned so far */
	uint64_t	candidates;		/* that came of them */
	uint64_t	scanned;		/* rows since it was asked whether to end */
	GpucolRecTeam *team;		/* threads that run the rule together, or NULL */
	int			member;
};

/* Make a zeroed exec ready to run the rule. */
extern GpucolStatus gpucol_rec_exec_prepare(GpucolRecRun *run,
											GpucolRecExec *exec,
											const GpucolRecRule *rule);

#endif							/* GPUCOL_RECURSION_CPU_RULES_H */
