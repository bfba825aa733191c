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

/*
 * The formula of an expression over columns of a tuple (INDEX_VAR), palloc'd; NULL if there is none.  Operand i is the
 * tuple's column at positions[i], from 0.
 */
extern GpucolRecursiveFormula *gpucol_recursive_formula_create(Expr *expr, const int *positions, int noperands);

/*
 * Compute it of a row's 64-bit values.  False where that is PostgreSQL's to do: an operand is NULL, a number has too
 * many digits, something is an error.  *result may be allocated in the current memory context.
 */
extern bool gpucol_recursive_formula_compute(const GpucolRecursiveFormula *formula, const GpucolSymbols *symbols,
											 uint32 row, const int64 *const *values, const uint8 *const *nulls,
											 Datum *result);

#endif							/* GPUCOL_RECURSION_EXEC_FORMULA_H */
