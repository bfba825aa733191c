/*-------------------------------------------------------------------------
 *
 * few.h
 *	  Texts that are made of few values, once for each of them: engine/cpu/few.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_FEW_H
#define GPUCOL_ENGINE_CPU_FEW_H

#include "engine/cpu/expr.h"

/* How an instruction makes the text of row j, which is not NULL. */
typedef struct GpucolCpuMaker
{
	int			noperands;		/* 1: a; 2: a and b, c being a constant; 3: b where a is true, else c */
	size_t		(*room) (const GpucolCpuFrame *f, uint32_t j);	/* bytes that it takes at most */
	char	   *(*make) (const GpucolCpuFrame *f, uint32_t j, char *to);	/* writes it; returns its end */
} GpucolCpuMaker;

/* Which registers may be codes of texts; after folds and hosts are known. */
extern GpucolStatus gpucol_cpu_few_init(GpucolRun *run);

/*
 * Have the result, whose NULLs are set, be codes of texts; false where it may not, or its operands have too many
 * values: then nothing is changed.
 */
extern bool gpucol_cpu_few_make(GpucolCpuFrame *f, const GpucolCpuMaker *maker);

/*
 * The host's verdicts (0 false, 1 true, 2 NULL) on the texts of an operand that has such codes, by row; false where it
 * has none.
 */
extern bool gpucol_cpu_few_test(GpucolCpuFrame *f, uint8_t null_verdict, uint8_t *verdicts);

#endif							/* GPUCOL_ENGINE_CPU_FEW_H */
