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

#endif							/* GPUCOL_COLUMNAR_AM_H */
