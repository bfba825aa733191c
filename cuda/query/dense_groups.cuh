/*-------------------------------------------------------------------------
 *
 * dense_groups.cuh
 *	  Groups of plain columns whose values span small ranges: a dense table.
 *
 * The keys' offsets are digits of a group's number, NULL the greatest of its digit.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_DENSE_GROUPS_CUH
#define GPUCOL_CUDA_DENSE_GROUPS_CUH

#include <vector>

#include "cuda/query/group_form.cuh"
#include "cuda/query/part_context.cuh"
#include "cuda/query/plain_columns.cuh"

class DenseGroups
{
public:
	explicit DenseGroups(PartContext &c) : c_(c), columns_(c) {}

	/* Group by a dense table; false where none suits.  Throws Failure. */
	bool		run(Partial *result);

private:
	/* what is planned once for a prepared scan */
	bool		prepare();
	bool		plan_keys(GpucolReducePlan *plan) const;
	bool		plan_inputs(GpucolReducePlan *plan) const;
	std::vector<StateForm> state_forms() const;

	GroupForm	group_form();
	const void *compiled();
	void	   *spare_partitions(GpucolPartitionPlan *partitions);
	uint32_t   *choose(uint32_t *list, uint32_t *found);
	size_t		find_room(char **device);
	void		compute(Partial *result);
	void		form_in_pieces(Partial *result);
	void		deliver(Partial *result);

	PartContext &c_;
	const PlainColumns columns_;
	GpucolReducePlan plan_ = {};
	GroupForm	form_ = {};
	uint32_t	n_ = 0;			/* groups that are wanted */
	const uint32_t *ids_ = NULL;	/* [n], on the device */
	char	   *formed_ = NULL; /* in pinned memory: the result, if it had room there */
	bool		in_slab_ = false;	/* that is where the client finds it */
};

#endif
