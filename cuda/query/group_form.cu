/*-------------------------------------------------------------------------
 *
 * group_form.cu
 *	  Groups of a dense table as a result.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/group_values.cuh"

/* Launch of the kernel that forms it. */
static const int FORM_BLOCKS = 264;
static const int FORM_THREADS = 512;

constexpr uint32_t STATE_WORDS = sizeof(GpucolAggState) / sizeof(uint64_t);

__host__ __device__ void
gpucol_groups_lay_out(GroupForm *form, uint32_t n)
{
	form->states = 0;
	for (uint32_t k = 0; k < form->nkeys; k++)
	{
		form->keys[k].values = form->states;
		form->keys[k].nulls = form->states + (size_t) n * 8 * form->keys[k].width;
		form->states = form->keys[k].nulls + ((size_t) n + 7) / 8 * 8;
	}
	form->size = form->states + (size_t) n * form->naggs * sizeof(GpucolAggState);
}

/* Word i of a key's values. */
__device__ static uint64_t
value_word(const KeyForm &key, const uint32_t *ids, size_t i)
{
	bool		null;
	uint32_t	offset = group_key_offset(key, ids[i / key.width], &null);
	int64_t		x = null ? 0 : key.base + offset;

	return (uint64_t) (i % key.width == 0 ? x : x >> 63);
}

/* Eight of a key's NULL flags, from group i on. */
__device__ static uint64_t
null_word(const KeyForm &key, const uint32_t *ids, size_t i, uint32_t n)
{
	uint64_t	word = 0;

	for (uint32_t j = 0; key.nullable && j < 8 && i + j < n; j++)
	{
		bool		null;

		group_key_offset(key, ids[i + j], &null);
		word |= (uint64_t) null << (8 * j);
	}
	return word;
}

/* Word w of the state of an aggregate of the group whose words these are. */
__device__ static uint64_t
state_word(const StateForm &f, const unsigned long long *words, uint32_t w)
{
	union
	{
		GpucolAggState state;
		uint64_t	words[STATE_WORDS];
	}			u;
	uint64_t	x = 0;

	u.state = group_state(f, words);
#pragma unroll
	for (uint32_t i = 0; i < STATE_WORDS; i++)
		x = w == i ? u.words[i] : x;
	return x;
}

/* The word at byte `at` of a result of n groups. */
__device__ static uint64_t
result_word(const FormTask &task, const GroupForm &form, uint32_t n, size_t at)
{
	if (at >= form.states)
	{
		size_t		i = (at - form.states) / 8,
					state = i / STATE_WORDS;

		return state_word(form.aggs[state % form.naggs],
						  task.table + (size_t) task.ids[state / form.naggs] * task.nwords, i % STATE_WORDS);
	}
	for (uint32_t k = form.nkeys; k-- > 0;)
		if (at >= form.keys[k].nulls)
			return null_word(form.keys[k], task.ids, at - form.keys[k].nulls, n);
		else if (at >= form.keys[k].values)
			return value_word(form.keys[k], task.ids, (at - form.keys[k].values) / 8);
	return 0;
}

/*
 * One thread for each word of the result, which may lie in the host's memory: there
 * only whole lines are written at the speed of the bus.
 */
__global__ void
form_groups_kernel(const __grid_constant__ FormTask task)
{
	__shared__ GroupForm form;
	uint32_t	n = task.found != NULL ? *task.found : task.n;

	if (threadIdx.x == 0)
	{
		form = task.form;
		gpucol_groups_lay_out(&form, n);
		if (blockIdx.x == 0 && task.counted != NULL)
			*task.counted = n;
	}
	__syncthreads();
	if (form.size > task.room)
		return;
	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < form.size / 8;
		 i += (size_t) gridDim.x * blockDim.x)
		((uint64_t *) task.out)[i] = result_word(task, form, n, i * 8);
}

cudaError_t
gpucol_groups_form(const FormTask &task, cudaStream_t stream)
{
	form_groups_kernel<<<FORM_BLOCKS, FORM_THREADS, 0, stream>>>(task);
	return cudaGetLastError();
}
