/*-------------------------------------------------------------------------
 *
 * small_rounds_program.cuh
 *	  The program of small rounds (small_rounds.cuh), as the host makes it and the
 *	  kernel interprets it.
 *
 * Rules are steps as in kernel/recursion.h, with registers as columns of codes.  Each
 * relation of the stratum has a tail of unsorted rows, older ones first, then the
 * delta; chains by hash lead through it for each set of columns that a step fixes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SMALL_ROUNDS_PROGRAM_CUH
#define GPUCOL_CUDA_SMALL_ROUNDS_PROGRAM_CUH

#include "cuda/recursion/relations.cuh"

constexpr int ROUND_THREADS = 512;
constexpr int ROUND_RELATIONS = 16;
constexpr int ROUND_REGISTERS = 64;
constexpr int ROUND_CHAINS = 4;

/* Why the kernel ended. */
enum RoundStop
{
	ROUND_GOES_ON,
	ROUND_FIXPOINT,				/* no new rows */
	ROUND_ENOUGH,				/* rounds or time */
	ROUND_GREW,					/* the delta is too large for so few blocks */
	ROUND_SHRANK,				/* it is small enough for one block */
	ROUND_FULL,					/* the buffers of a relation may not take another */
	ROUND_REDO					/* the next round is more than this can do */
};

/* A code: a register's, or a constant. */
struct RoundOperand
{
	static constexpr uint32_t CONSTANT = UINT32_MAX;

	uint32_t	reg;
	uint32_t	code;
};

/* A step of a rule; see GpucolRecStep. */
template <class K> struct RoundStep
{
	uint8_t		kind;
	uint8_t		function;
	uint8_t		type;
	uint8_t		version;
	int8_t		relation;		/* of the stratum; -1: another's */
	int8_t		chain;			/* of the relation; -1: nothing is fixed */
	uint8_t		nparts;			/* fixed columns; COMPUTE, TEST: operands */
	uint8_t		ncarried;
	uint8_t		nbound;
	uint16_t	target;
	uint32_t	view;			/* the first of the runs to look into */
	uint32_t	nviews;
	uint32_t	cell;
	GpucolKeyOrder order;		/* the fixed columns first; EMIT: as declared */
	RoundOperand parts[GPUCOL_REC_MAX_ARITY];
	uint8_t		carried[ROUND_REGISTERS];	/* registers that stay */
	uint8_t		bound[GPUCOL_REC_MAX_ARITY];	/* registers that an atom binds ... */
	uint8_t		places[GPUCOL_REC_MAX_ARITY];	/* to these places of the order */
	uint8_t		declared[GPUCOL_REC_MAX_ARITY]; /* which in the tail are these */
};

struct RoundRule
{
	uint32_t	step;			/* the first */
	uint32_t	nsteps;
};

/* Rows of a tail by some of their columns. */
struct RoundChain
{
	int			n;				/* columns */
	uint8_t		places[GPUCOL_REC_MAX_ARITY];	/* in the declared order */
	uint32_t   *heads;			/* 1 + row, 0 = none */
	uint32_t   *next;			/* likewise, by row */
};

/* A relation of the stratum. */
template <class K> struct RoundRelation
{
	GpucolKeyOrder order;
	K			mask;			/* of its groups */
	bool		bag;			/* no groups: every row is new */
	bool		merges;
	GpucolBest	best_by;
	K		   *tail;			/* first the delta with which the kernel began */
	K		   *known;			/* groups met */
	uint32_t   *slots;			/* 0 = free, 1 + group, or CANDIDATE | row */
	unsigned long long *best;	/* by slot: the best rank of its group */
	K		   *candidates;		/* what the round emits */
	uint32_t   *slot_of;		/* by candidate: its slot, with CLAIMED */
	uint32_t   *group_of;		/* by candidate that claimed: the group; else whether it
								 * was better than any before */
	uint32_t	view;			/* runs that hold its older rows and that delta */
	uint32_t	nviews;
	int			nchains;
	RoundChain	chains[ROUND_CHAINS];
	uint32_t	cells;			/* of candidates, new rows, new groups */
};

/* Rows of a tail: older ones, delta, and groups. */
struct RoundBounds
{
	uint32_t	begin;			/* of the delta */
	uint32_t	end;
	uint32_t	known;
};

struct RoundResult
{
	int			stop;
	uint32_t	parity;			/* of cells and bounds */
	uint64_t	rounds;
	uint64_t	derived;
	uint64_t	delta;
	RoundBounds bounds[2][ROUND_RELATIONS];
};

template <class K> struct RoundProgram
{
	GpucolCodeSlots codes;
	const int64_t *values;		/* by code */
	uint32_t	null_code;
	uint32_t	nregisters;
	uint32_t	nrules;
	uint32_t	nrelations;
	uint32_t	ncells;			/* the last tells of failures */
	uint32_t	width;			/* rows of bindings, and candidates of a relation */
	uint32_t	height;			/* rows of a tail, and groups */
	uint32_t	slot_mask;
	uint32_t	head_mask;
	const RoundRule *rules;
	const RoundStep<K> *steps;
	const GpucolRunView<K> *views;
	uint32_t   *columns;		/* by bank, register and row */
	int64_t    *computed;		/* values, by row */
	unsigned long long *cells;	/* by parity */
	RoundResult *result;
	RoundRelation<K> relations[ROUND_RELATIONS];
};

/* How far one launch may go. */
struct RoundLimits
{
	uint64_t	rounds;
	uint64_t	nanoseconds;
	uint64_t	least;			/* rows of a delta */
	uint64_t	most;
	bool		cluster;		/* the grid is one cluster */
	bool		first;			/* launch since the tail was filled */
};

#endif							/* GPUCOL_CUDA_SMALL_ROUNDS_PROGRAM_CUH */
