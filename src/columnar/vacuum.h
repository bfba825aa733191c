/*-------------------------------------------------------------------------
 *
 * vacuum.h
 *	  VACUUM: callback of the table access method.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_VACUUM_H
#define GPUCOL_COLUMNAR_VACUUM_H

#include "postgres.h"

#include "commands/vacuum.h"
#include "utils/rel.h"

extern void gpucol_vacuum_rel(Relation rel, struct VacuumParams *params,
							  BufferAccessStrategy strategy);

#endif							/* GPUCOL_COLUMNAR_VACUUM_H */
