/*-------------------------------------------------------------------------
 *
 * conditions.cuh
 *	  The range conjuncts of a program (GpucolRange), translated to the codes of each chunk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CONDITIONS_CUH
#define GPUCOL_CUDA_CONDITIONS_CUH

#include <vector>

#include "cuda/query/part_compute.cuh"
#include "cuda/query/part_device.cuh"
#include "cuda/query/program_view.cuh"
#include "cuda/scan/plan.h"

class Conditions
{
public:
	/* What they compare with goes to the device, into `memory`.  Throws Failure. */
	Conditions(const PartTask &task, const ProgramView &program, PartDevice &device, Scratch &memory);

	size_t		size() const { return domains_.size(); }
	uint16_t	slot(size_t i) const { return program_.ranges()[i].column; }

	/* Number i on the chunk that a segment has of its slot, and on the delta rows' 64-bit values. */
	GpucolDeviceRange on_chunk(size_t i, uint32_t segment, const Resident &chunk);
	GpucolDeviceRange on_delta(size_t i, const Resident &column);

	/* A conjunct in the domain of its column's order. */
	struct Domain
	{
		bool		never = false;	/* false for every row, NULL included */
		bool		invert = false;
		bool		null_test = false;	/* IS [NOT] NULL */
		bool		null_passes = false;
		int64_t		lo = INT64_MIN,
					hi = INT64_MAX;
		std::vector<int64_t> list;	/* IN */
		bool		is_list = false;
		int			host = -1;
	};

private:
	bool		begin(size_t i, GpucolDeviceRange *r) const;
	void		translate(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		codes_of_list(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		host_test(GpucolDeviceRange *r, const Domain &d, const Resident &chunk, const Resident *remap,
						  bool delta);

	const PartTask &task_;
	const ProgramView program_;
	PartDevice &device_;
	Scratch    &memory_;
	std::vector<Domain> domains_;
};

#endif
