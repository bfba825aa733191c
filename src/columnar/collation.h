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

/* Are values of a type, which is no domain, equal under this collation only if their bytes are the same? */
extern bool gpucol_equal_by_bytes(Oid type, Oid collation);

#endif							/* GPUCOL_COLUMNAR_COLLATION_H */
