/*-------------------------------------------------------------------------
 *
 * harmless_floats.h
 *	  Sums of floats that overflow for large values only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_HARMLESS_FLOATS_H
#define GPUCOL_LOWER_HARMLESS_FLOATS_H

#include "postgres.h"

#include "nodes/primnodes.h"

/* Is it an aggregate that raises an error for large finite floats only? */
extern bool gpucol_harmless_floats(Oid aggfnoid);

/*
 * Such an aggregate over the values that are not large, however many there are: its FILTER
 * leaves out the others.  *beyond is an aggregate that says whether there are any.
 */
extern Aggref *gpucol_harmless_floats_within(const Aggref *agg, Aggref **beyond);

/* Is an aggregate one of those that gpucol_harmless_floats_within() makes? */
extern bool gpucol_harmless_floats_is_within(const Aggref *agg);

#endif							/* GPUCOL_LOWER_HARMLESS_FLOATS_H */
