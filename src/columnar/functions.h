/*-------------------------------------------------------------------------
 *
 * functions.h
 *	  What the SQL functions over stored tables share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_FUNCTIONS_H
#define GPUCOL_COLUMNAR_FUNCTIONS_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Open a gpucol table of which the caller may read all rows, under AccessShareLock; an
 * error otherwise.
 */
extern Relation gpucol_functions_open(Oid relid);

#endif							/* GPUCOL_COLUMNAR_FUNCTIONS_H */
