/*-------------------------------------------------------------------------
 *
 * harmless_values.h
 *	  Quotients by columns, arithmetic of floats, and texts as numbers, of values that raise no error.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_VALUES_H
#define GPUCOL_LOWER_HARMLESS_VALUES_H

#include "postgres.h"

#include "nodes/primnodes.h"

/*
 * When such an expression may be an error, as a condition that raises none itself, at least where its texts do not.
 * NULL: it is no such expression.  Nothing of `expr` is used for it.
 */
extern Expr *gpucol_harmless_values_beyond(const Expr *expr);

/* Is it arithmetic of floats that never leaves their type, of whatever columns? */
extern bool gpucol_harmless_floats_stay(Node *node);

#endif							/* GPUCOL_LOWER_HARMLESS_VALUES_H */
