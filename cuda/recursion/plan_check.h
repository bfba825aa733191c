/*-------------------------------------------------------------------------
 *
 * plan_check.h
 *	  Does a recursion plan hold together?
 *
 * The engine trusts plans and the socket is not trusted: so every field is checked before
 * the engine sees it.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_PLAN_CHECK_H
#define GPUCOL_CUDA_PLAN_CHECK_H

#include "kernel/recursion.h"

/* Thrown for a message that no client of ours sends. */
struct BadRecursion
{
};

/* Throw unless it is so. */
inline void
gpucol_require(bool condition)
{
	if (!condition)
		throw BadRecursion();
}

/*
 * Check a plan whose arrays have as many elements as it says; throws BadRecursion where
 * something is wrong with it.  False where there are more bodies in bodies, perhaps, than
 * `levels`, of which not all was looked at.
 */
extern bool gpucol_rec_plan_check(const GpucolRecPlan *plan, int levels);

#endif
