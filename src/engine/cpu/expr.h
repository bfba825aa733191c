/*-------------------------------------------------------------------------
 *
 * expr.h
 *	  What the interpreter of expressions and its operations share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_EXPR_H
#define GPUCOL_ENGINE_CPU_EXPR_H

#include "engine/cpu/cpu.h"

/* One instruction at work. */
typedef struct GpucolCpuFrame
{
	GpucolCpuWorker *worker;
	const GpucolCpuVector *vector;
	const GpucolInstr *instr;
	GpucolCpuReg *dst;
	GpucolCpuReg *a;
	GpucolCpuReg *b;
	GpucolCpuReg *c;
	uint32_t	n;
	const uint16_t *rows;		/* of an instruction called row by row, those that its branch takes; */
	uint32_t	nrows;			/* NULL: all n */
	const uint16_t *of;			/* of elements of arrays, the row of each */
} GpucolCpuFrame;

typedef GpucolStatus (*GpucolCpuOpFunction) (GpucolCpuFrame *f);

#define GPUCOL_CPU_NULL_AT(reg, j) ((reg)->nulls != NULL && (reg)->nulls[j])

/* An opcode: its function, and the classes of its result and its operands. */
typedef struct GpucolCpuOp
{
	GpucolCpuOpFunction function;
	uint8_t		result;
	uint8_t		a;
	uint8_t		b;
	uint8_t		c;
} GpucolCpuOp;

/* engine/cpu/expr_fold.c: find what is computed for elements; UNSUPPORTED: they do not fit together */
extern GpucolStatus gpucol_cpu_fold_init(GpucolRun *run);

/* engine/cpu/blocks.c: is a whole block among the constants from b on; put those of the run together */
#define GPUCOL_CPU_HAS_BLOCK(instr) \
	((instr)->op == GPUCOL_OP_ZONE_I || (instr)->op == GPUCOL_OP_TEXT_S || (instr)->op == GPUCOL_OP_PICTURE_I)
extern bool gpucol_cpu_block_fits(const GpucolProgram *program, const GpucolInstr *instr);
extern GpucolStatus gpucol_cpu_blocks_init(GpucolRun *run);

/* engine/cpu/expr_time.c: other rows come */
extern void gpucol_cpu_ages_forget(GpucolCpuWorker *worker);

/*
 * engine/cpu/expr.c: are a register's strings, or what they are parts of, made by an instruction, in memory that it
 * uses again?
 */
extern bool gpucol_cpu_expr_makes_text(const GpucolRun *run, uint16_t reg);

/* engine/cpu/expr_ops.c: by opcode. */
extern const GpucolCpuOp gpucol_cpu_expr_ops[GPUCOL_OP_COUNT];

#endif							/* GPUCOL_ENGINE_CPU_EXPR_H */
