/*-------------------------------------------------------------------------
 *
 * group_choice.cu
 *	  Of the groups of a dense table those that are wanted, on the device.
 *
 * The k-th greatest place by the first sort key, found by CUB's radix sort, divides the
 * groups; what ties with it stays.  Places are narrowed to 64 bits, in which those beyond
 * tie.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/group_choice.cuh"

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "cuda/base/launch.cuh"
#include "cuda/query/group_values.cuh"

/* So many groups cost less to deliver than to look at again. */
static const uint32_t FEW_GROUPS = 8192;

/* What a test or a sort key looks at of a group; false if it is NULL. */
__device__ static bool
group_value(const WantedGroups &wanted, int by, int number, uint32_t id, __int128 *value)
{
	if (by == GPUCOL_FIRST_KEY)
	{
		const KeyForm &key = wanted.form.keys[number];
		bool		null;

		*value = key.base + (int64_t) group_key_offset(key, id, &null);
		return !null;
	}

	const StateForm &form = wanted.form.aggs[number];
	GpucolAggState state = group_state(form, wanted.table + (size_t) id * wanted.nwords);

	return gpucol_first_agg_value(by, form.cls, &state, value);
}

/* Groups that have rows and meet the conditions. */
struct Meets
{
	WantedGroups wanted;

	__device__ bool
	operator()(uint32_t id) const
	{
		if (wanted.table[(size_t) id * wanted.nwords] == 0)
			return false;
		for (int t = 0; t < wanted.first.ntests; t++)
		{
			const GpucolFirstTest &test = wanted.first.tests[t];
			__int128	value = 0;
			bool		known = group_value(wanted, test.by, test.number, id, &value);

			if (!gpucol_first_meets(&test, known, value))
				return false;
		}
		return true;
	}
};

/* A place, in 64 bits. */
__device__ static int64_t
narrow_place(__int128 place)
{
	return place > INT64_MAX ? INT64_MAX : place < INT64_MIN ? INT64_MIN : (int64_t) place;
}

__global__ void
places_kernel(const __grid_constant__ WantedGroups wanted, const uint32_t *list, uint32_t n, int64_t *places)
{
	const GpucolFirstKey &key = wanted.first.keys[0];

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
	{
		__int128	value = 0;
		bool		known = group_value(wanted, key.by, key.number, list[i], &value);

		places[i] = narrow_place(gpucol_first_place(&key, known, value));
	}
}

/* Which places are not behind the k-th? */
__global__ void
reach_kernel(const int64_t *places, uint32_t n, const int64_t *kth, int margin, uint8_t *reach)
{
	int64_t		at = *kth;
	int64_t		least = at == INT64_MAX || at == INT64_MIN ? at : narrow_place((__int128) at - margin);

	for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		reach[i] = places[i] >= least;
}

void
gpucol_groups_choose(const WantedGroups &wanted, uint64_t ngroups, uint32_t *list, uint32_t *found, Scratch &scratch,
					 cudaStream_t stream)
{
	thrust::counting_iterator<uint32_t> ids(0);
	Meets		meets = {wanted};
	size_t		bytes = 0;
	void	   *temp;

	device_check(cub::DeviceSelect::If(NULL, bytes, ids, list, found, (int) ngroups, meets, stream), "select");
	temp = scratch.allocate(bytes, "the groups");
	device_check(cub::DeviceSelect::If(temp, bytes, ids, list, found, (int) ngroups, meets, stream), "select");
}

uint32_t *
gpucol_groups_narrow(const WantedGroups &wanted, uint32_t *list, uint32_t n, uint32_t *found, Scratch &scratch,
					 cudaStream_t stream)
{
	uint64_t	k = (uint64_t) wanted.first.k;
	size_t		sort_bytes = 0;
	size_t		select_bytes = 0;
	size_t		words = ((size_t) n + 1) / 2 * 2;
	int			margin = gpucol_first_margin(&wanted.first.keys[0]);
	int64_t    *places = NULL,
			   *sorted = NULL;
	uint8_t    *reach;
	uint32_t   *chosen;
	void	   *temp;

	if (n <= FEW_GROUPS || k > n / 2)
		return list;
	device_check(cub::DeviceRadixSort::SortKeysDescending(NULL, sort_bytes, places, sorted, n, 0, 64, stream), "sort");
	device_check(cub::DeviceSelect::Flagged(NULL, select_bytes, list, (uint8_t *) NULL, (uint32_t *) NULL, found, n,
											stream), "select");
	places = (int64_t *) scratch.spare(words * (2 * sizeof(int64_t) + sizeof(uint32_t) + sizeof(uint8_t)));
	temp = scratch.spare(sort_bytes > select_bytes ? sort_bytes : select_bytes);
	if (places == NULL || temp == NULL)
		return list;
	sorted = places + words;
	chosen = (uint32_t *) (sorted + words);
	reach = (uint8_t *) (chosen + words);
	places_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream>>>(wanted, list, n, places);
	device_check(cudaGetLastError(), "the first groups");
	device_check(cub::DeviceRadixSort::SortKeysDescending(temp, sort_bytes, places, sorted, n, 0, 64, stream), "sort");
	reach_kernel<<<gpucol_launch_grid(n), GPUCOL_THREADS, 0, stream>>>(places, n, sorted + (k - 1), margin, reach);
	device_check(cudaGetLastError(), "the first groups");
	device_check(cub::DeviceSelect::Flagged(temp, select_bytes, list, reach, chosen, found, n, stream), "select");
	return chosen;
}
