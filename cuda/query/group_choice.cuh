/*-------------------------------------------------------------------------
 *
 * group_choice.cuh
 *	  Of the groups of a dense table those that are wanted (kernel/first.h), on the device.
 *
 * By the conditions and the first sort key: more may be delivered, since the client looks at
 * what comes once more.  Groups of other kernels, and of several parts, are chosen in the
 * result (result_choice.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_GROUP_CHOICE_CUH
#define GPUCOL_CUDA_GROUP_CHOICE_CUH

#include "cuda/base/cache.cuh"
#include "cuda/query/group_form.cuh"
#include "kernel/first.h"

/* Which groups of a dense table are wanted: all that have rows where there is no `first`. */
struct WantedGroups
{
	const unsigned long long *table;
	uint32_t	nwords;
	GroupForm	form;
	GpucolFirst first;			/* nothing in it: all */
};

/*
 * The numbers of the groups of ngroups cells that have rows and meet the conditions, in
 * order, and how many they are: list and found on the device.
 */
extern void gpucol_groups_choose(const WantedGroups &wanted, uint64_t ngroups, uint32_t *list, uint32_t *found,
								 Scratch &scratch, cudaStream_t stream);

/*
 * Of n groups in a list those that can be among the first k by the first sort key, likewise; *found on the
 * device is their number.  Returns their list, or the same where they are few or memory is short.
 */
extern uint32_t *gpucol_groups_narrow(const WantedGroups &wanted, uint32_t *list, uint32_t n, uint32_t *found,
									  Scratch &scratch, cudaStream_t stream);

#endif
