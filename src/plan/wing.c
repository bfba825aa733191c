/*-------------------------------------------------------------------------
 *
 * wing.c
 *	  The wings, once they have been handed over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "plan/wing.h"

const GpucolRecursionWing *gpucol_recursion_wing = NULL;
const GpucolRankingWing *gpucol_ranking_wing = NULL;
