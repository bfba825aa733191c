/*-------------------------------------------------------------------------
 *
 * numeric_math.h
 *	  Roots, logarithms and powers of numerics with the results of PostgreSQL's functions.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_NUMERIC_MATH_H
#define GPUCOL_EXEC_NUMERIC_MATH_H

#include "postgres.h"

#include "nodes/execnodes.h"

/* Have an expression that is ready call the functions here in the stead of PostgreSQL's. */
extern void gpucol_numeric_math_install(ExprState *state);

/* The same of what a node computes of its rows, and tests of them, once it is initialised. */
extern void gpucol_numeric_math_install_node(PlanState *ps);

#endif							/* GPUCOL_EXEC_NUMERIC_MATH_H */
