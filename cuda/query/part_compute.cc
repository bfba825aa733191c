/*-------------------------------------------------------------------------
 *
 * part_compute.cc
 *	  From a program over resident chunks to kernels, and from their output to
 *	  the result.
 *
 * Conditions are translated to the codes of each chunk; segments that their zone
 * maps exclude are left out (scan_builder.cc).  Then the fastest kernel that knows the
 * program is chosen:
 *
 *	  count		count(*) under ranges
 *	  reduce	count, sum, min, max of plain columns under ranges
 *	  group		the same by plain key columns whose values lie in small ranges
 *	  interpret	everything else
 *
 * "Plain" is a column without an expression, "small" such that offsets from
 * the least value fit 32 bits.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/part_compute.cuh"

#include <algorithm>
#include <chrono>

#include "cuda/base/admission.cuh"
#include "cuda/base/stage.cuh"
#include "cuda/query/dense_groups.cuh"
#include "cuda/query/hash_groups.cuh"
#include "cuda/query/plain_kernels.cuh"
#include "cuda/query/ranked_rows.cuh"
#include "cuda/query/row_delivery.cuh"
#include "cuda/query/scan_builder.cuh"
#include "cuda/query/table_build.cuh"

/* Have the kernels that know the program answer. */
static void
run_kernels(PartContext &c, Partial *result)
{
	if (c.shape != NULL && c.shape->kind == GPUCOL_SHAPE_RANKED)
		RankedRows(c).run(result);
	else if (c.program.head().kind == GPUCOL_PROGRAM_BUILD)
		TableBuild(c).run(result);
	else if (c.program.head().kind == GPUCOL_PROGRAM_SCAN)
		RowDelivery(c).run(result);
	else if (!gpucol_plain_count(c, result) && !gpucol_plain_reduce(c, result) && !DenseGroups(c).run(result))
		HashGroups(c).run(result);
}

/* Run a part once. */
static void
run(PartContext &c, Partial *result)
{
	typedef std::chrono::steady_clock Clock;
	auto		since = [] (Clock::time_point start)
	{
		return std::chrono::duration<double>(Clock::now() - start).count();
	};
	Clock::time_point start = Clock::now();

	if (!c.scan.ready)
		ScanBuilder(c.task, c.program, c.device, c.scan).build();
	result->plan_seconds = since(start);
	run_kernels(c, result);
	gpucol_stage(c.device.stream(), "result fetched");
	result->nsegments = c.scan.segments.size() - (c.task.part.delta && c.task.run.head().delta_rows > 0);
	result->packed_bytes = c.scan.bytes;
	result->skipped = c.scan.skipped;
	result->seconds = c.device.seconds();
	result->kernel += !c.compiled.used().empty() ? ", compiled" : c.jit_allowed() && !jit.note().empty() ?
		", no compiler" : "";
	result->note = c.compiled.note();
	result->work_seconds = since(start);
	result->began = start;
	result->ended = Clock::now();
}

/*
 * Run a part once more with the compiled kernels that nothing has proven yet: do
 * they answer alike?
 */
static void
prove(const PartTask &task, Scratch &scratch, JitTrial &trial, PreparedScan &scan)
{
	PartDevice	device(task.lane(), scratch, task.cancelled);
	CompiledKernels compiled(trial, true);
	PartContext c = {task, ProgramView(task.run.program()), task.run.shape(), device, scan, compiled};
	Settle		settle = {device.stream()};
	const Partial &first = task.part.result;
	Partial		again;
	bool		same = false;

	try
	{
		run(c, &again);
		same = again.nrows == first.nrows && again.size() == first.size() &&
			memcmp(again.bytes(), first.bytes(), again.size()) == 0 &&
			again.floats.size() == first.floats.size() &&
			memcmp(again.floats.data(), first.floats.data(), again.floats.size() * sizeof(FloatSum)) == 0 &&
			again.marks == first.marks;
	}
	catch (const Failure &f)
	{
		if (f.status == GPUCOL_CANCELLED)
			throw;
		if (f.status == GPUCOL_OUT_OF_MEMORY)
			return;				/* it says nothing about the kernels */
	}
	if (!same)
		for (const JitHandle &kernel : compiled.used())
			kernel->judge(false);
	trial.judge(same);
}

/* May the scan of a part be kept, and found? */
static bool
may_prepare(const PartTask &task)
{
	auto		ranges = ProgramView(task.run.program()).ranges();
	auto		is_host = [] (const GpucolRange &r) { return r.op == GPUCOL_RANGE_HOST; };

	return task.deal.found() && task.part.others == NULL &&
		(task.run.has(GPUCOL_WIRE_RUN_KEEP) || task.run.has(GPUCOL_WIRE_RUN_LIST)) &&
		(!task.part.delta || task.run.head().delta_rows == 0) && !std::any_of(ranges.begin(), ranges.end(), is_host);
}

/* What a part's scan is made for. */
static PreparedScans::Key
scan_key(const PartTask &task)
{
	int			device = task.lane().device().number;
	PreparedScans::Key key = {device, task.run.list().found.on[device]->generation(), task.run.program_words(), {}};

	memcpy(key.distinct, task.run.head().distinct, sizeof(key.distinct));
	return key;
}

void
gpucol_part_compute(const PartTask &task)
{
	Lane	   &lane = task.lane();
	uint64_t	limit = task.run.head().memory_limit;
	Admission	admission(lane.device(), false, [&task] { return task.cancelled.load(); });
	Scratch		scratch(lane.device(), limit);
	JitTrial	trial;
	bool		may_keep = may_prepare(task);
	PreparedScans &prepared = task.run.list().prepared;
	std::shared_ptr<PreparedScan> scan = may_keep ? prepared.find(scan_key(task)) : NULL;

	if (!admission.given())
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
	if (!scan)
		scan = std::make_shared<PreparedScan>(lane.device(), limit);
	else
		may_keep = false;

	PartDevice	device(lane, scratch, task.cancelled);
	CompiledKernels compiled(trial, false);
	PartContext c = {task, ProgramView(task.run.program()), task.run.shape(), device, *scan, compiled};
	Settle		settle = {lane.stream()};

	lane.unstage();
	run(c, &task.part.result);
	if (!trial.empty())
		prove(task, scratch, trial, *scan);
	if (may_keep)
		prepared.keep(scan_key(task), scan, lane.device().pool.limit());
}
