/*-------------------------------------------------------------------------
 *
 * feed_first.h
 *	  Arrays of whose elements only the first ones are asked for.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_FIRST_H
#define GPUCOL_EXEC_FEED_FIRST_H

#include "exec/feeder.h"

/* For an aggregate with fed->most, in the current context; it keeps no rows of its own. */
extern GpucolFirsts *gpucol_firsts_create(GpucolFeeder *f);

/* Is an argument one that a batch has to have as datums? */
extern bool gpucol_firsts_loads(const GpucolFirsts *firsts, int arg);

/* Bytes that so many rows more may take beside what their values point to. */
extern Size gpucol_firsts_room(const GpucolFirsts *firsts, uint64 nrows);

/* Keep those of a batch's rows that are among the first ones of their groups. */
extern void gpucol_firsts_rows(GpucolFirsts *firsts, const GpucolFeedRows *rows, const GpucolFeedInput *input);

/* The last row has come: `ngroups` in all. */
extern void gpucol_firsts_reserve(GpucolFirsts *firsts, uint32 ngroups);

/* The array of a group, in the current context. */
extern Datum gpucol_firsts_result(const GpucolFirsts *firsts, uint32 group, bool *isnull);

#endif							/* GPUCOL_EXEC_FEED_FIRST_H */
