/*-------------------------------------------------------------------------
 *
 * order.h
 *	  The order in which the atoms of a rule's body are joined.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_RECURSION_FRONT_ORDER_H
#define GPUCOL_RECURSION_FRONT_ORDER_H

#include "nodes/bitmapset.h"

#include "recursion/front/ast.h"

typedef struct DatalogOrder DatalogOrder;

/*
 * The atoms of a body, none of which is joined.  uses is gpucol_datalog_uses of it, bound
 * has the variables that have values, unknown_rows is assumed of derived relations.
 */
extern DatalogOrder *gpucol_datalog_order_create(List *body, List *const *uses,
												 const Bitmapset *bound,
												 double unknown_rows);

/* A variable that had none has a value. */
extern void gpucol_datalog_order_bind(DatalogOrder *order, int variable);

/* The atom at a position of the body is joined. */
extern void gpucol_datalog_order_take(DatalogOrder *order, int position);

/* Position of the atom to begin with, or -1 if there is none. */
extern int	gpucol_datalog_order_first(DatalogOrder *order);

/*
 * Position of the atom with the fewest expected rows for each row so far, or -1 if all
 * are joined.
 */
extern int	gpucol_datalog_order_next(DatalogOrder *order);

#endif							/* GPUCOL_RECURSION_FRONT_ORDER_H */
