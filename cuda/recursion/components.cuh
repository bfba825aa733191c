/*-------------------------------------------------------------------------
 *
 * components.cuh
 *	  Labels that recursive rules only hand on (kernel/recursion_labels.h), without
 *	  rounds, where every edge leads both ways.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_COMPONENTS_CUH
#define GPUCOL_CUDA_COMPONENTS_CUH

#include "cuda/recursion/relations.cuh"

/*
 * If the recursive rules of a stratum hand labels on along edges that all lead both ways,
 * add to its relation, whose base has been committed, the row that each node ends
 * with.  False: they do not, or there is no room; nothing was added.  Throws
 * GPUCOL_UNPROFITABLE for edges that lead one way where another engine may take over.
 */
template <class K>
bool gpucol_components_run(GpucolDeviceRun &run, GpucolRelations<K> &relations,
						   uint32_t stratum);

#endif							/* GPUCOL_CUDA_COMPONENTS_CUH */
