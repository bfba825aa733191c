/*-------------------------------------------------------------------------
 *
 * scan_builder.cuh
 *	  The resident segments and the delta rows of a part as a scan (cuda/scan/plan.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_SCAN_BUILDER_CUH
#define GPUCOL_CUDA_SCAN_BUILDER_CUH

#include <vector>

#include "cuda/query/conditions.cuh"
#include "cuda/query/prepared.cuh"

class ScanBuilder
{
public:
	ScanBuilder(const PartTask &task, const ProgramView &program, PartDevice &device, PreparedScan &scan);

	/* Lay the scan out; what it points to is in its memory.  Throws Failure. */
	void		build();

private:
	void		add_segment(uint32_t segment);
	void		add_delta();
	Resident	delta_column(uint32_t slot);

	const PartTask &task_;
	const GpucolWireRun &head_;
	const ProgramView program_;
	PartDevice &device_;
	PreparedScan &scan_;
	Conditions	conditions_;
};

/*
 * A scan of these segments, cut in runs of vectors, on the device: ncolumns chunks and
 * nranges ranges of each.
 */
extern GpucolScanPlan gpucol_scan_lay_out(PartDevice &device, Scratch &memory,
										  const std::vector<GpucolDeviceSegment> &segments,
										  const std::vector<GpucolDeviceChunk> &chunks,
										  const std::vector<GpucolDeviceRange> &ranges,
										  uint32_t ncolumns, uint32_t nranges);

#endif
