/*-------------------------------------------------------------------------
 *
 * tails.cc
 *	  The rows that probes deliver of their tables.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/tails.cuh"

#include "cuda/query/scan_builder.cuh"

static const char *const WHAT = "rows that joins have met";

/* Words of the marks of so many rows. */
static size_t
mark_words(uint32_t nrows)
{
	return (size_t) GPUCOL_VECTORS(nrows) * GPUCOL_ROW_WORDS;
}

/* Marks of a probe's table: none, or those of the other parts. */
uint32_t *
Tails::make_marks(size_t probe, uint32_t nrows)
{
	const Marks *others = c_.task.part.others;
	size_t		words = mark_words(nrows);
	uint32_t   *marks;

	if (others != NULL && probe < others->size() && (*others)[probe].size() == words)
		return c_.device.upload((*others)[probe]);
	marks = c_.device.scratch().array<uint32_t>(words + 1, WHAT);
	device_check(cudaMemsetAsync(marks, 0, words * sizeof(*marks), c_.device.stream()), "memset");
	return marks;
}

/* The rows of a table as those of a segment. */
GpucolScanPlan
Tails::lay_out(uint32_t nrows)
{
	uint32_t	ncolumns = c_.task.run.head().ncolumns;
	GpucolDeviceSegment segment = {NULL, nrows, c_.task.run.head().nsegments + 1};
	GpucolDeviceChunk null = {};

	null.all_null = 1;
	return gpucol_scan_lay_out(c_.device, c_.device.scratch(), {segment},
							   std::vector<GpucolDeviceChunk>(ncolumns, null), {}, ncolumns, 0);
}

void
Tails::open(GpucolInterpPlan *plan)
{
	bool		here = c_.task.deal.alone() || c_.task.part.others != NULL;

	for (uint8_t p = 0; p < plan->nprobes; p++)
	{
		GpucolDeviceProbe &probe = plan->probes[p];

		if (!ProgramView::delivers(c_.program.probes()[p]))
			continue;
		probe.marks = make_marks(p, probe.nrows);
		if (!here || probe.nrows == 0)
			continue;
		tails_.push_back({p, (uint64_t) c_.scan.scan.nvectors + nvectors_, lay_out(probe.nrows)});
		nvectors_ += GPUCOL_VECTORS(probe.nrows);
	}
}

void
Tails::run(InterpMode mode, const GpucolInterpPlan &plan) const
{
	for (const Tail &tail : tails_)
	{
		GpucolInterpPlan over = plan;

		over.scan = tail.scan;
		over.tail = tail.probe + 1;
		over.tail_start = tail.start;
		over.prefetched = 0;
		if (over.counts != NULL)
			over.counts += tail.start;
		device_check(gpucol_interp_launch(mode, over, NULL, c_.device.stream()), "rows of a table");
	}
}

void
Tails::put_marks(const GpucolInterpPlan &plan, Partial *result) const
{
	if (c_.task.deal.alone() || c_.task.part.others != NULL || !c_.program.delivers())
		return;
	result->marks.assign(plan.nprobes, {});
	for (size_t p = 0; p < plan.nprobes; p++)
		if (plan.probes[p].marks != NULL)
			result->marks[p] = c_.device.download(plan.probes[p].marks, mark_words(plan.probes[p].nrows));
}
