/*-------------------------------------------------------------------------
 *
 * group_values.cuh
 *	  Keys and states of a group of a dense table, on the device.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_GROUP_VALUES_CUH
#define GPUCOL_CUDA_GROUP_VALUES_CUH

#include "cuda/query/group_form.cuh"
#include "cuda/query/plain_columns.cuh"

/* The offset of a key in its group's number, and whether that is NULL's. */
__device__ static inline uint32_t
group_key_offset(const KeyForm &key, uint32_t id, bool *null)
{
	uint32_t	offset = id / key.stride % key.card;

	*null = key.nullable && offset == key.card - 1;
	return offset;
}

/* The state of an aggregate of the group whose words these are. */
__device__ static inline GpucolAggState
group_state(const StateForm &f, const unsigned long long *words)
{
	return f.ops == 0 ? gpucol_plain_state(f.op, f.cls, words[0], words[0], 0, 0, 0, 0) :
		gpucol_plain_state(f.op, f.cls, words[0], words[f.count],
						   f.ops & GPUCOL_REDUCE_SUM ? words[f.sum] : 0,
						   f.ops & GPUCOL_REDUCE_MIN ? words[f.min] : 0,
						   f.ops & GPUCOL_REDUCE_MAX ? words[f.max] : 0, f.base);
}

#endif
