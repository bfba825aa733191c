/*-------------------------------------------------------------------------
 *
 * array_value.h
 *	  Columns of arrays: which elements engines know, and what is computed of them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_ARRAY_VALUE_H
#define GPUCOL_LOWER_ARRAY_VALUE_H

#include "postgres.h"

#include "kernel/array_value.h"
#include "lower/lower.h"

/* Elements as engines read them. */
typedef struct GpucolElement
{
	Oid			type;
	GpucolClass cls;
	int			width;			/* bytes, or GPUCOL_ARRAY_VARYING */
} GpucolElement;

/* Values of a register's class, which have no scale; true. */
extern bool gpucol_lower_set_value(GpucolValue *out, GpucolClass cls, uint16 reg);

/* For qsort() and bsearch(): int64. */
extern int	gpucol_lower_compare_int64(const void *a, const void *b);

/* The elements of a type of arrays; false if they are of a type that engines do not read. */
extern bool gpucol_lower_element(Oid type, GpucolElement *element);

/* Is it a type of arrays as PostgreSQL makes them for every type? */
extern bool gpucol_lower_is_array(Oid type);

/* An array without the casts that change nothing but the name of its elements' type. */
extern Node *gpucol_lower_array_itself(Node *node);

/* Lower an expression whose value is an array, of elements that are known. */
extern bool gpucol_lower_array(GpucolLower *l, Expr *expr, GpucolElement *element, uint16 *reg);

/* Is a function one of an array's size?  *aux is what it asks, as ARRAY_SIZE_S has it. */
extern bool gpucol_lower_array_size(Oid funcid, List *args, int *aux);

/* Is it one element of an array of one dimension? */
extern bool gpucol_lower_is_item(const Node *node);

/* Lower functions, single elements, and value = ANY (column) or <> ALL (column). */
extern bool gpucol_lower_array_function(GpucolLower *l, Oid funcid, List *args, Oid collation, bool *matched,
										GpucolValue *out);
extern bool gpucol_lower_item(GpucolLower *l, const SubscriptingRef *ref, GpucolValue *out);
extern bool gpucol_lower_any_item(GpucolLower *l, const ScalarArrayOpExpr *expr, GpucolValue *out);

#endif							/* GPUCOL_LOWER_ARRAY_VALUE_H */
