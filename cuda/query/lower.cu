/*-------------------------------------------------------------------------
 *
 * lower.cu
 *	  From a program over resident chunks to kernels, and from their output to
 *	  the result.
 *
 * Ranges are translated to the codes of each chunk; segments that their zone
 * maps exclude are left out.  Then the fastest kernel that knows the program is
 * chosen:
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
#include "cuda/query/lowering.cuh"

#include <algorithm>
#include <chrono>

#include "cuda/base/admission.cuh"
#include "cuda/base/stage.cuh"

cudaEvent_t
Lowering::begin()
{
	cudaEvent_t e = lane_.event();

	device_check(cudaEventRecord(e, stream_), "event");
	return e;
}

/* Wait for the launched work; account its time. */
void
Lowering::finish(cudaEvent_t from)
{
	finish(from, begin());
}

/* The same, where something that does not count was launched after event `to`. */
void
Lowering::finish(cudaEvent_t from, cudaEvent_t to)
{
	bool		done;
	float		ms = 0;

	device_wait(stream_);
	done = !r_.cancelled_;
	if (done)
		device_check(cudaEventElapsedTime(&ms, from, to), "event");
	seconds_ += ms / 1e3;
	if (!done)
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
}

void
Lowering::run(Partial *result)
{
	typedef std::chrono::steady_clock Clock;
	auto		since = [] (Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); };
	Clock::time_point start = Clock::now();
	uint64_t	nrows = 1;

	if (!prepared_->ready)
		build_scan();
	result->plan_seconds = since(start);
	if (shape_ != NULL && shape_->kind == GPUCOL_SHAPE_RANKED)
		run_ranked(result, &nrows);
	else if (p_->kind == GPUCOL_PROGRAM_SCAN)
		run_scan(result, &nrows);
	else if (!run_count(&result->data) && !run_reduce(&result->data) && !run_group(result, &nrows))
		run_aggregate(&result->data, &nrows);
	gpucol_stage(stream_, "result fetched");
	result->nrows = nrows;
	result->floats.swap(floats_);
	result->nsegments = segments_.size() - (part_.delta && r_.run_.delta_rows > 0);
	result->packed_bytes = bytes_;
	result->skipped = skipped_;
	result->seconds = seconds_;
	result->kernel = std::string(kernel_) + (!compiled_.empty() ? ", compiled" :
											 jit_allowed() && !jit.note().empty() ? ", no compiler" : "");
	result->note = note_;
	result->work_seconds = since(start);
	result->began = start;
	result->ended = Clock::now();
}

/*
 * Run a part once more with the compiled kernels that nothing has proven yet: do
 * they answer alike?
 */
void
Request::prove(Part &part, Lane &lane, JitTrial &trial, const std::shared_ptr<PreparedScan> &scan)
{
	Lowering	lowering(*this, part, lane, trial, scan, true);
	Settle		settle = {lane.stream()};
	Partial		again;
	bool		same = false;

	try
	{
		lowering.run(&again);
		same = again.nrows == part.result.nrows && again.size() == part.result.size() &&
			memcmp(again.bytes(), part.result.bytes(), again.size()) == 0 &&
			again.floats.size() == part.result.floats.size() &&
			memcmp(again.floats.data(), part.result.floats.data(), again.floats.size() * sizeof(FloatSum)) == 0;
	}
	catch (const Failure &f)
	{
		if (f.status == GPUCOL_CANCELLED)
			throw;
		if (f.status == GPUCOL_OUT_OF_MEMORY)
			return;				/* it says nothing about the kernels */
	}
	if (!same)
		for (const JitHandle &kernel : lowering.compiled())
			kernel->judge(false);
	trial.judge(same);
}

/* May the scan of a part be kept, and found? */
bool
Request::may_prepare(const Part &part) const
{
	const GpucolRange *ranges = GPUCOL_PROGRAM_ARRAY(program(), const GpucolRange, ranges);
	auto		is_host = [] (const GpucolRange &r) { return r.op == GPUCOL_RANGE_HOST; };

	return found_ && (run_.flags & (GPUCOL_WIRE_RUN_KEEP | GPUCOL_WIRE_RUN_LIST)) &&
		(!part.delta || run_.delta_rows == 0) && !std::any_of(ranges, ranges + program()->nranges, is_host);
}

/* What a part's scan is made for. */
PreparedScans::Key
Request::scan_key(const Part &part) const
{
	int			device = shares_[part.share]->lane->device().number;
	PreparedScans::Key key = {device, list_->on[device]->generation(), program_, {}};

	memcpy(key.distinct, run_.distinct, sizeof(key.distinct));
	return key;
}

void
Request::run_part(Part &part)
{
	Lane	   &lane = *shares_[part.share]->lane;
	Admission	admission(lane.device(), false, [this] { return cancelled_.load(); });
	Scratch		scratch(lane.device(), run_.memory_limit);
	JitTrial	trial;
	bool		may_keep = may_prepare(part);
	std::shared_ptr<PreparedScan> scan = may_keep ? list_->prepared.find(scan_key(part)) : NULL;

	if (!admission.given())
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
	if (!scan)
		scan = std::make_shared<PreparedScan>(lane.device(), run_.memory_limit);
	else
		may_keep = false;

	Lowering	lowering(*this, part, lane, trial, scan, false);
	Settle		settle = {lane.stream()};

	part.scratch = &scratch;
	lane.unstage();
	lowering.run(&part.result);
	if (!trial.empty())
		prove(part, lane, trial, scan);
	if (may_keep)
		list_->prepared.keep(scan_key(part), scan, lane.device().pool.limit());
	part.scratch = NULL;
}
