/*-------------------------------------------------------------------------
 *
 * order.h
 *	  The order of a BYTES column's values, as PostgreSQL compares them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_ORDER_H
#define GPUCOL_LOWER_ORDER_H

#include "postgres.h"

#include "access/tupdesc.h"
#include "nodes/primnodes.h"

#include "columnar/typemap.h"
#include "lower/lower.h"

typedef struct GpucolOrder GpucolOrder;

/*
 * The order that a btree's operator < or > sorts by, always from the least; in the
 * current memory context.
 */
extern GpucolOrder *gpucol_order_create(const GpucolTypeMap *map, Oid sortop, Oid collation);

/* < 0, 0 or > 0; looks for interrupts now and then. */
extern int	gpucol_order_compare(GpucolOrder *order, const GpucolBytes *a,
								 const GpucolBytes *b);

/* The column of BYTES that a sort key is, perhaps by another name of its type, or NULL. */
extern const Var *gpucol_order_key_bytes(const Expr *expr, TupleDesc desc);

/* Do the ordinals that engines keep of a type sort as its values do? */
extern bool gpucol_order_is_ordinal(Oid type);

/* Does a value of this type sort by an int64 that the executor makes of it? */
extern bool gpucol_order_is_int64(const GpucolValue *value, Oid type);

/* Rows by the order of such a text that no engine compares are fetched where they are one of so many, or less. */
#define GPUCOL_ORDER_FETCHED_PART	64

/* Is it a text that an engine makes of values, if it does; and is its order that of its bytes? */
extern bool gpucol_order_is_made(const Expr *expr);
extern bool gpucol_order_is_made_bytewise(const Expr *expr);

/*
 * Can rows that come once be compared by the n-th sort key, which has this value: as int64, or,
 * and then no key after it is looked at (*last), as mantissas that are cut to int64, or as a
 * column of byte strings that is the first key?
 */
extern bool gpucol_order_compares(const Expr *key, int n, const GpucolValue *value, bool *last);

#endif							/* GPUCOL_LOWER_ORDER_H */
