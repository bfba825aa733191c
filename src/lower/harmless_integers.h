/*-------------------------------------------------------------------------
 *
 * harmless_integers.h
 *	  Arithmetic of integers that stay within their types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_INTEGERS_H
#define GPUCOL_LOWER_HARMLESS_INTEGERS_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* Is it such arithmetic over columns and constants which no value of the columns takes out of its types? */
extern bool gpucol_harmless_integers(const Node *node);

/*
 * When such arithmetic leaves its types, as a condition that raises no error itself: an OR of comparisons.
 * NULL: it is no such arithmetic, or never does.
 */
extern Expr *gpucol_harmless_integers_beyond(const Expr *expr);

#endif							/* GPUCOL_LOWER_HARMLESS_INTEGERS_H */
