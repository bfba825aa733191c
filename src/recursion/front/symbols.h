/*-------------------------------------------------------------------------
 *
 * symbols.h
 *	  Codes for byte strings, so that engines see numbers only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_SYMBOLS_H
#define GPUCOL_RECURSION_FRONT_SYMBOLS_H

#include "postgres.h"

#include "kernel/batch.h"
#include "recursion/front/run.h"

typedef struct GpucolSymbols GpucolSymbols;

/*
 * An empty dictionary that lives in a memory context, which is counted in `memory` (or
 * NULL, nowhere).
 */
extern GpucolSymbols *gpucol_symbols_create(MemoryContext context,
											GpucolRecursionMemory *memory);

/*
 * Code of a string, from 0; the bytes are copied when it is new.  May raise the error of
 * the recursion's limit.
 */
extern int64 gpucol_symbols_code(GpucolSymbols *symbols, const char *data,
								 uint32 len);

/* A new code for a string, which the others do not find: nobody compares it. */
extern int64 gpucol_symbols_add(GpucolSymbols *symbols, const char *data, uint32 len);

/* The codes of n strings, at most so many. */
#define GPUCOL_SYMBOLS_PIECE	64

extern void gpucol_symbols_codes(GpucolSymbols *symbols, uint32 n, const GpucolBytes *strings, int64 *codes);

/*
 * The string of a code, with a terminating zero byte that is not counted; VARHDRSZ bytes before it, aligned
 * for any type, begins a varlena of it.  It stays where it is as long as the dictionary.
 */
extern const char *gpucol_symbols_get(const GpucolSymbols *symbols, int64 code,
									  uint32 *len);

/* Those of n codes, which are asked for together, and empty ones where nulls[i]. */
extern void gpucol_symbols_get_many(const GpucolSymbols *symbols, uint32 n, const int64 *codes, const uint8 *nulls,
									GpucolBytes *strings);

#endif							/* GPUCOL_RECURSION_FRONT_SYMBOLS_H */
