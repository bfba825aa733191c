/*-------------------------------------------------------------------------
 *
 * row_compare.h
 *	  Comparisons of rows, spelt out in comparisons of their columns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_ROW_COMPARE_H
#define GPUCOL_LOWER_ROW_COMPARE_H

#include "postgres.h"

#include "lower/lower.h"

/* The same condition without a row, or NULL, with l->reason, where an operator family has no such operators. */
extern Expr *gpucol_row_compare_spelt(GpucolLower *l, const RowCompareExpr *row);

/* Lower it. */
extern bool gpucol_lower_row_compare(GpucolLower *l, const RowCompareExpr *row, GpucolValue *out);

/* What is true of the first columns wherever it is true, or NULL. */
extern Expr *gpucol_row_compare_first(const RowCompareExpr *row);

#endif							/* GPUCOL_LOWER_ROW_COMPARE_H */
