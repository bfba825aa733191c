/*-------------------------------------------------------------------------
 *
 * expr_alike.h
 *	  Packed decimals of which all rows of a register display as many digits.
 *
 * Each operation has computed dst where it returns true, but for its NULLs; else dst is to be
 * computed by the general one.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_CPU_EXPR_ALIKE_H
#define GPUCOL_ENGINE_CPU_EXPR_ALIKE_H

#include "engine/cpu/expr.h"

/* Integers that a double holds, and the powers of ten that are doubles exactly. */
#define GPUCOL_CPU_EXACT_MANTISSA	(INT64_C(1) << 53)
#define GPUCOL_CPU_EXACT_POWER		22

/* Do only operations that take it so read a register, but for keys of probes? */
extern bool gpucol_cpu_alike_is_read_by(const GpucolRun *run, uint16_t reg, bool (*takes) (uint16_t op));

/* Find which registers may be so, and which columns of bytes are read as numbers only. */
extern GpucolStatus gpucol_cpu_alike_init(GpucolRun *run);

/* The mantissas of a dictionary's entries, where these are alike. */
extern GpucolStatus gpucol_cpu_alike_entries(GpucolRun *run, GpucolCpuColumn *column);

/* Fill in the packed decimals of a register. */
extern void gpucol_cpu_alike_widen(GpucolCpuReg *reg, uint32_t n);

/* The words of a NUMERIC chunk as packed decimals, whose NULLs are known. */
extern GpucolStatus gpucol_cpu_alike_words(GpucolCpuFrame *f);

extern bool gpucol_cpu_alike_read(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_pack(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_arith(GpucolCpuFrame *f);

/* Quotients, whose scales differ, of operands that are alike; NULLs are known. */
extern GpucolStatus gpucol_cpu_alike_divide(GpucolCpuFrame *f);

extern bool gpucol_cpu_alike_compare(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_part(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_round(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_scale(GpucolCpuFrame *f);
extern bool gpucol_cpu_alike_float(GpucolCpuFrame *f);

#endif							/* GPUCOL_ENGINE_CPU_EXPR_ALIKE_H */
