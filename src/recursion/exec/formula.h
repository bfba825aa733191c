/*-------------------------------------------------------------------------
 *
 * formula.h
 *	  Expressions of numbers and texts of a recursion, computed without PostgreSQL's executor.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_EXEC_FORMULA_H
#define GPUCOL_RECURSION_EXEC_FORMULA_H

#include "postgres.h"

#include "nodes/primnodes.h"

#include "recursion/front/symbols.h"

typedef struct GpucolRecursiveFormula GpucolRecursiveFormula;

/* What has been made of a row. */
typedef enum GpucolMadeKind
{
	GPUCOL_MADE_NOT,			/* nothing: it is PostgreSQL's to compute */
	GPUCOL_MADE_NULL,
	GPUCOL_MADE_WORD,			/* a 64-bit value */
	GPUCOL_MADE_BYTES			/* the bytes of a value by reference */
} GpucolMadeKind;

/* Results of the rows of a piece. */
typedef struct GpucolRecursiveMade
{
	uint8		kinds[GPUCOL_SYMBOLS_PIECE];
	int64		words[GPUCOL_SYMBOLS_PIECE];
	GpucolBytes bytes[GPUCOL_SYMBOLS_PIECE];
} GpucolRecursiveMade;

/*
 * The formula of an expression over columns of a tuple (INDEX_VAR), palloc'd; NULL if there is none.  Operand i is the
 * tuple's column at positions[i], from 0.
 */
extern GpucolRecursiveFormula *gpucol_recursive_formula_create(Expr *expr, const int *positions, int noperands);

/*
 * Compute it of n rows (up to GPUCOL_SYMBOLS_PIECE) of 64-bit values from `first`, or of fewer where they are long; how
 * many.  What is an error, or has too many digits, is not made.  Bytes may be of the current memory context.
 */
extern uint32 gpucol_recursive_formula_compute(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols,
											   uint32 first, uint32 n, const int64 *const *values,
											   const uint8 *const *nulls, GpucolRecursiveMade *made);

/* Can it be computed in any thread: are all its values numbers? */
extern bool gpucol_recursive_formula_is_apart(const GpucolRecursiveFormula *formula);

/* Compute it in any thread, of n rows from `first` on; false: not all are made of 64 bits. */
extern bool gpucol_recursive_formula_compute_apart(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols,
												   uint32 first, uint32 n, const int64 *const *values,
												   const uint8 *const *nulls, int64 *result, uint8 *result_nulls);

#endif							/* GPUCOL_RECURSION_EXEC_FORMULA_H */
