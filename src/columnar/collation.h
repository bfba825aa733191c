/*-------------------------------------------------------------------------
 *
 * collation.h
 *	  What engines need to know of a collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_COLLATION_H
#define GPUCOL_COLUMNAR_COLLATION_H

#include "postgres.h"

/*
 * Does PostgreSQL order text under this collation as memcmp does, the shorter of two
 * equal beginnings first?  False where that is not known.
 */
extern bool gpucol_collation_is_bytewise(Oid collation);

/* The same of a btree's comparison function. */
extern bool gpucol_comparison_is_bytewise(Oid function, Oid collation);

#endif							/* GPUCOL_COLUMNAR_COLLATION_H */
