/*-------------------------------------------------------------------------
 *
 * group_form.cuh
 *	  Groups of a dense table as a result: keys and states, formed on the device.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_GROUP_FORM_CUH
#define GPUCOL_CUDA_GROUP_FORM_CUH

#include <cstddef>
#include <cstdint>

#include "cuda/base/api.cuh"
#include "cuda/scan/plan.h"
#include "kernel/program.h"

/* A key of a group, out of its number, and where it goes in the result. */
struct KeyForm
{
	uint32_t	stride;
	uint32_t	card;
	uint32_t	nullable;
	uint32_t	width;			/* words of 8 bytes */
	int64_t		base;
	size_t		values;			/* offsets in the result */
	size_t		nulls;
};

/* The state of an aggregate, out of a group's words. */
struct StateForm
{
	int			op;
	int			cls;
	uint32_t	ops;			/* of its input; 0: it has none */
	uint8_t		count;			/* words, as in GpucolReduceInput */
	uint8_t		sum;
	uint8_t		min;
	uint8_t		max;
	int64_t		base;
};

/* What the groups' part of a result looks like. */
struct GroupForm
{
	KeyForm		keys[GPUCOL_MAX_KEYS];
	const StateForm *aggs;		/* [naggs], on the device */
	uint32_t	nkeys;
	uint32_t	naggs;
	size_t		states;			/* offset in the result */
	size_t		size;
};

/* Groups of a table, and the result to be made of them. */
struct FormTask
{
	const unsigned long long *table;
	uint32_t	nwords;
	const uint32_t *ids;		/* [n] */
	uint32_t	n;
	const uint32_t *found;		/* n, where the host does not know it; else NULL */
	uint32_t   *counted;		/* in pinned memory: where the host finds it; or NULL */
	GroupForm	form;
	char	   *out;
	size_t		room;			/* bytes; a result that is larger is not made */
};

/* Where the parts of a result of n groups lie. */
extern __host__ __device__ void gpucol_groups_lay_out(GroupForm *form, uint32_t n);

/* Form the result; nothing where there is no room for it. */
extern cudaError_t gpucol_groups_form(const FormTask &task, cudaStream_t stream);

#endif
