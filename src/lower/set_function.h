/*-------------------------------------------------------------------------
 *
 * set_function.h
 *	  Set-returning functions whose rows engines make.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_SET_FUNCTION_H
#define GPUCOL_LOWER_SET_FUNCTION_H

#include "postgres.h"

#include "kernel/set_function.h"
#include "lower/lower.h"

/* Is a set-returning function one that engines know, whatever its arguments? */
extern bool gpucol_lower_is_set(const FuncExpr *expr);

/* Does it return keys and values, of which engines have the keys alone? */
extern bool gpucol_lower_is_fields(const FuncExpr *expr);

/* What a function makes rows of: its first argument, without casts that keep the bytes. */
extern Expr *gpucol_lower_set_argument(const FuncExpr *expr);

/* Does it return the elements of an array, which may be beside those of others? */
extern bool gpucol_lower_is_elements(const FuncExpr *expr);

/*
 * Lower functions whose rows are beside one another, mostly a single one: `arguments` are their first ones in the
 * terms of what is lowered, whose registers become keys of a probe, which gets the first of the constants that
 * describe the functions.
 */
extern bool gpucol_lower_sets(GpucolLower *l, List *functions, List *arguments, GpucolProbe *probe);

/* pattern.c: read a regular expression as a separator; false if it is none that engines find. */
extern bool gpucol_lower_separator(const char *regexp, int len, Oid collation, GpucolSetFunction *function);

#endif							/* GPUCOL_LOWER_SET_FUNCTION_H */
