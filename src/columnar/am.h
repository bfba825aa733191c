/*-------------------------------------------------------------------------
 *
 * am.h
 *	  Identity of gpucol tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_AM_H
#define GPUCOL_COLUMNAR_AM_H

#include "postgres.h"

#include "utils/rel.h"

/* Is this relation's storage a gpucol table's? */
extern bool gpucol_am_is_table(Relation rel);

/* Is this access method gpucol?  Takes no lock. */
extern bool gpucol_am_is_method(Oid am);

/* The same of a relation on which the caller holds a lock. */
extern bool gpucol_am_is_gpucol(Oid relid);

#endif							/* GPUCOL_COLUMNAR_AM_H */
