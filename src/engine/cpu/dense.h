/*-------------------------------------------------------------------------
 *
 * dense.h
 *	  What the files of grouping by slots share (dense.c): the plan of a segment, by
 *	  which channels are laid out (dense_plan.c), filled (dense.c) and emptied into
 *	  groups (dense_flush.c).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_DENSE_H
#define GPUCOL_ENGINE_CPU_DENSE_H

#include "engine/cpu/group.h"

#define GPUCOL_DENSE_MAX_KEYS 8
#define GPUCOL_DENSE_MAX_ARGS 16
#define GPUCOL_DENSE_MAX_SLOTS (1u << 20)
#define GPUCOL_DENSE_PACKED_WIDTH 24			/* widest code that shares a word with a count */
#define GPUCOL_DENSE_SUM_WIDTH 40			/* widest code that a channel sums, */
#define GPUCOL_DENSE_FEW_SUM_WIDTH 48		/* and where slots are few, so that emptying them costs little */
#define GPUCOL_DENSE_FEW_SLOTS 1024
#define GPUCOL_DENSE_LEAST_BIAS (UINT64_C(1) << (GPUCOL_DENSE_SUM_WIDTH + 1))
#define GPUCOL_DENSE_COPY_WORDS 4096			/* words that several copies may take */
#define GPUCOL_DENSE_MAX_CHANNELS (4 * GPUCOL_DENSE_MAX_ARGS + 1)
#define GPUCOL_DENSE_MAX_COPIES 8

typedef struct GpucolDenseKey
{
	GpucolCpuColumn *column;	/* S: of the dictionary; others: NULL where by_value */
	uint16_t	reg;
	bool		by_value;		/* indexes are of the register's values, not of packed codes */
	GpucolClass cls;
	bool		coded;			/* index = dictionary code, else that of
								 * base + index * step */
	bool		nullable;		/* last index is NULL */
	int64_t		base;
	uint64_t	step;
	uint32_t	card;			/* indexes */
	uint32_t	stride;
} GpucolDenseKey;

/* One argument, a column or a number that is computed, and its channels. */
typedef struct GpucolDenseArg
{
	uint16_t	reg;
	GpucolCpuColumn *column;	/* NULL: computed */
	int64_t		reference;		/* channels hold values less this in steps, */
	uint64_t	step;
	uint64_t	delta;			/* which are codes plus this */
	uint8_t		width;			/* of codes; of a column */
	uint8_t		bits;			/* of code + delta */
	bool		nullable;
	bool		summed;
	bool		minimal;
	bool		maximal;
	int			sum;			/* channel, -1 none */
	int			count;			/* channel whose upper bits count, -1: rows */
	int			least;			/* channel of the greatest GPUCOL_DENSE_LEAST_BIAS - code */
	int			greatest;		/* channel of the greatest code + 1 */
} GpucolDenseArg;

/* How the current segment is aggregated; fixed while workers run. */
struct GpucolCpuDense
{
	bool		grouped;		/* slots are in use */
	bool		coded;			/* some key is a dictionary code */
	bool		repeats;		/* several slots may be of one group: entries of a built table
								 * may be equal */
	int			nkeys;
	GpucolDenseKey	keys[GPUCOL_DENSE_MAX_KEYS];
	int			nargs;
	GpucolDenseArg	args[GPUCOL_DENSE_MAX_ARGS];
	int			nchannels;
	int			rows_channel;	/* counts every row */
	bool		rows_alone;		/* and sums nothing */
	int			shift[GPUCOL_DENSE_MAX_CHANNELS];	/* of the count in a channel; 64 none */
	uint32_t	nslots;
	uint32_t	copies;
	uint64_t	flush_rows;		/* rows that channels can take */
	bool		all;			/* no state and no instruction is left to others */
	bool		whole;			/* rows that do not pass may be computed with, too */
	bool		acc[];			/* by state: is it advanced here? */
};

/*
 * The column that a register is loaded from, whose packed codes the rows of a vector have;
 * -1 if it is computed, or rows have gone through probes.
 */
GPUCOL_CPU_INLINE int
column_of(const GpucolRun *run, uint16_t reg)
{
	if (run->join.nprobes > 0)
		return -1;
	for (int i = 0; i < run->program->ninstrs; i++)
		if (run->code.instrs[i].dst == reg)
			return run->code.instrs[i].op <= GPUCOL_OP_LOAD_S ? run->code.instrs[i].aux : -1;
	return -1;
}

/* Distance of the values of consecutive codes. */
GPUCOL_CPU_INLINE uint64_t
step_of(const GpucolChunkDesc *desc)
{
	return desc->coding == GPUCOL_CODING_STEP ? desc->step : 1;
}

/* Are the values of a chunk reference + code * step? */
GPUCOL_CPU_INLINE bool
is_offset(const GpucolChunkDesc *desc)
{
	return !(desc->flags & GPUCOL_CHUNK_ALL_NULL) &&
		(desc->kind == GPUCOL_KIND_INT || desc->kind == GPUCOL_KIND_DECIMAL) &&
		(desc->coding == GPUCOL_CODING_FOR || desc->coding == GPUCOL_CODING_STEP ||
		 desc->coding == GPUCOL_CODING_CONSTANT);
}

GPUCOL_CPU_INLINE bool
has_nulls(const GpucolChunkDesc *desc)
{
	return (desc->flags & GPUCOL_CHUNK_HAS_NULLS) != 0;
}

/* dense_plain.c: is this state one of a column under no key, that packed codes advance?  Advance it. */
extern bool gpucol_cpu_dense_plan_plain(const GpucolRun *run, const GpucolCpuAcc *acc);
extern void gpucol_cpu_dense_update_plain(GpucolCpuWorker *worker, const GpucolCpuAcc *acc,
				 const GpucolCpuVector *vector, uint64_t *words);

/* Put what was found of a column's least and greatest value into a state. */
extern void gpucol_cpu_dense_put_extreme(const GpucolCpuAcc *acc, uint64_t *words, int64_t least, int64_t greatest);

/*
 * dense_plan.c: fill in a plan of slots; *kept says whether the layout of the segment
 * before still holds.  False: hashing is better.
 */
extern bool gpucol_cpu_dense_plan(GpucolRun *run, GpucolCpuDense *plan, bool *kept);

/* dense.c: make a table's arrays fit the plan of the segment; of them that of its slots' groups. */
extern GpucolStatus gpucol_cpu_dense_fit(GpucolRun *run, GpucolCpuGroups *groups);
extern GpucolStatus gpucol_cpu_dense_fit_groups(GpucolRun *run, GpucolCpuGroups *groups);

/* dense_flush.c: the groups of slots; empty a worker's channels into its groups. */
extern GpucolStatus gpucol_cpu_dense_resolve(GpucolCpuWorker *worker, GpucolCpuGroups *groups, const uint32_t *slots,
			  uint32_t n);
extern GpucolStatus gpucol_cpu_dense_flush(GpucolCpuWorker *worker, GpucolCpuGroups *groups);

/* Empty all workers' channels, each worker some of the slots, and note its status; false: that does not pay. */
extern bool gpucol_cpu_dense_flush_slots(GpucolRun *run);

#endif							/* GPUCOL_ENGINE_CPU_DENSE_H */
