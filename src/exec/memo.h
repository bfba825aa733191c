/*-------------------------------------------------------------------------
 *
 * memo.h
 *	  Expressions that PostgreSQL evaluates, once for each value of their column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_MEMO_H
#define GPUCOL_EXEC_MEMO_H

#include "postgres.h"

#include "executor/executor.h"

typedef struct GpucolMemo GpucolMemo;

/*
 * Prepare an expression without volatile functions over the columns of `desc`, in the current
 * memory context, which also holds what is remembered: up to so many bytes.
 */
extern GpucolMemo *gpucol_memo_create(Expr *expr, PlanState *parent, TupleDesc desc, Size most);

/*
 * Its value for the row in the scan slot of `econtext`, in the current memory context or longer;
 * nobody may change what it points to.
 */
extern Datum gpucol_memo_eval(GpucolMemo *memo, ExprContext *econtext, bool *isnull);

#endif							/* GPUCOL_EXEC_MEMO_H */
