/*-------------------------------------------------------------------------
 *
 * rules.h
 *	  A rule made ready for evaluation: shared by recursion/cpu/prepare.c, which
 *	  makes it, and recursion/cpu/rules.c, which runs it, with hosts.c and cycles.c.
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
	uint32_t   *origins;		/* EXPAND: input row of each row, */
	int64_t   **columns;		/* by operand that it binds */
	uint8_t   **column_nulls;
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
	struct Detour *detours;		/* ATOM: where else its rows may be had */
	int			ndetours;
	HostRows   *host;			/* COMPUTE, TEST by the host, EXPAND */
	int			ninputs;		/* EXPAND: operands before those that it binds */
} Stage;

/* Another atom that binds what an ATOM binds, and the ATOM as a test of what that finds. */
typedef struct Detour
{
	Stage		rows;
	Stage		test;
} Detour;

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
	GpucolRecOwnIds ids;			/* that the member gives */
	bool		alone;			/* threads have failed to compute it together */
};

static inline GpucolRecValue
gpucol_rec_value_of(const GpucolRecRun *run, uint32_t id)
{
	GpucolRecValue value = {run->dictionary.values[id], id == GPUCOL_REC_NULL_ID};

	return value;
}

/* ---- recursion/cpu/rules.c ---- */

/* Look all n rows of a vector up in one level: start[], count[] of the stage. */
extern void gpucol_rec_find_rows(const Stage *stage, const GpucolRecLevel *level, uint32_t n);

/* Does a step read this level of its index? */
extern bool gpucol_rec_reads_level(const Stage *stage, const GpucolRecLevel *level);

/*
 * Join input row i of step `at` with `count` rows from `start`, of a level or (NULL) of the table itself, which
 * bind what `rows` says (the step itself, or a detour's), and push full vectors on: those rows that pass the
 * test, if there is one.
 */
extern GpucolStatus gpucol_rec_join_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Stage *rows,
										 Stage *test, const Vector *in, uint32_t i, const GpucolRecLevel *level,
										 uint64_t start, uint64_t count);

/* Push the output of step `at` on, and empty it. */
extern GpucolStatus gpucol_rec_push_rows(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, Stage *test);

/* ---- recursion/cpu/compute.c ---- */

/* Run a COMPUTE step on n rows; or a TEST step: which of them pass? */
extern GpucolStatus gpucol_rec_stage_compute(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage, uint32_t n);
extern GpucolStatus gpucol_rec_stage_test(const GpucolRecRun *run, const GpucolRecExec *exec, const Stage *stage,
										  uint32_t n, uint8_t *keep);

/* ---- recursion/cpu/cycles.c ---- */

/* Find the detours of a rule that is otherwise prepared. */
extern GpucolStatus gpucol_rec_find_detours(GpucolRecRun *run, GpucolRecExec *exec);

/* Bring their indexes up to date. */
extern GpucolStatus gpucol_rec_refresh_detours(GpucolRecRun *run, GpucolRecExec *exec);

/* Run an ATOM with detours, and push all on; not *joined: its indexes have several levels, nothing was done. */
extern GpucolStatus gpucol_rec_join_detours(GpucolRecRun *run, GpucolRecExec *exec, uint32_t at, const Vector *in,
											bool *joined);

/* ---- recursion/cpu/hosts.c ---- */

/* Show the host the first operands of a vector of n rows. */
extern void gpucol_rec_host_show(const GpucolRecRun *run, const Stage *stage,
								 int noperands, uint32_t n);

/*
 * Have it compute a COMPUTE or TEST step for all rows, if it is the host's; `apart`, in one of several threads, which
 * may be GPUCOL_UNSUPPORTED.
 */
extern GpucolStatus gpucol_rec_host_compute(const GpucolRecRun *run, const Stage *stage, uint32_t n, bool apart);

/* Can it compute the step in any thread? */
extern bool gpucol_rec_host_is_apart(const GpucolRecRun *run, const Stage *stage);

/* Take n rows that it has made of an EXPAND step into the output vector. */
extern GpucolStatus gpucol_rec_host_take(GpucolRecRun *run, Stage *stage, const Vector *in,
										 uint32_t n);

/* ---- recursion/cpu/prepare.c ---- */

/* Zeroed memory that lives as long as the exec; NULL: there is none. */
extern void *gpucol_rec_exec_alloc(GpucolRecRun *run, GpucolRecExec *exec, size_t size);

/* Columns of a look-up, and the index that serves its keys. */
extern GpucolStatus gpucol_rec_prepare_look_up(GpucolRecRun *run, GpucolRecExec *exec, Stage *stage);

/* Make a zeroed exec ready to run the rule. */
extern GpucolStatus gpucol_rec_exec_prepare(GpucolRecRun *run,
											GpucolRecExec *exec,
											const GpucolRecRule *rule);

#endif							/* GPUCOL_RECURSION_CPU_RULES_H */
