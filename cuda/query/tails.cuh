/*-------------------------------------------------------------------------
 *
 * tails.cuh
 *	  The rows that probes deliver of their tables when the source's have gone through all probes:
 *	  those that were met, or those that were not.
 *
 * Kernels mark the rows met.  Where a request has one part, each such table becomes a scan of its
 * own behind the source's: a segment whose columns are all NULL.  Of several parts each
 * gives its marks away, and a last one without segments gets those of all (parts.cuh).
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_TAILS_CUH
#define GPUCOL_CUDA_TAILS_CUH

#include <vector>

#include "cuda/query/part_context.cuh"
#include "cuda/scan/interp.cuh"

class Tails
{
public:
	explicit Tails(PartContext &c) : c_(c) {}

	/* Have a plan's probes mark rows; their tables are known.  Throws Failure. */
	void		open(GpucolInterpPlan *plan);

	/* Does this part deliver rows?  Vectors of all these tables. */
	bool		empty() const { return tails_.empty(); }
	uint32_t	nvectors() const { return nvectors_; }

	/* Enqueue what is to follow a run of a plan over the source's rows. */
	void		run(InterpMode mode, const GpucolInterpPlan &plan) const;

	/* Give the marks away, if another part delivers the rows. */
	void		put_marks(const GpucolInterpPlan &plan, Partial *result) const;

private:
	struct Tail
	{
		uint8_t		probe;
		uint64_t	start;		/* vectors before it */
		GpucolScanPlan scan;
	};

	uint32_t   *make_marks(size_t probe, uint32_t nrows);
	GpucolScanPlan lay_out(uint32_t nrows);

	PartContext &c_;
	std::vector<Tail> tails_;
	uint32_t	nvectors_ = 0;
};

#endif
