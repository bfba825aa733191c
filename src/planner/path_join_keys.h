/*-------------------------------------------------------------------------
 *
 * path_join_keys.h
 *	  Equalities of a join as keys of a step.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_PLANNER_PATH_JOIN_KEYS_H
#define GPUCOL_PLANNER_PATH_JOIN_KEYS_H

#include "nodes/pathnodes.h"

#include "lower/pipe.h"

/* The two sides of a join; `computed` grows by what plans pay for keys that they compute. */
typedef struct GpucolJoinSides
{
	PlannerInfo *root;
	GpucolPipe *drive;			/* its rows flow; its source may be changed */
	Relids		drive_relids;
	Relids		build_relids;
	Cost	   *computed;
} GpucolJoinSides;

/*
 * Add a condition to a step, whose table's pipe may be changed, as a key; false, and nothing is
 * changed, if it is no equality of the sides whose forms engines know.
 */
extern bool gpucol_join_add_key(const GpucolJoinSides *sides, GpucolPipeStep *step, RestrictInfo *rinfo);

/* Could PostgreSQL sort or hash both sides by a condition, each of whose operands is of one of them? */
extern bool gpucol_join_is_equality(const GpucolJoinSides *sides, const RestrictInfo *rinfo);

/* Does such an equality compare a text, or the like, that is made of a row? */
extern bool gpucol_join_makes_text(const RestrictInfo *rinfo);

#endif							/* GPUCOL_PLANNER_PATH_JOIN_KEYS_H */
