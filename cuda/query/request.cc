/*-------------------------------------------------------------------------
 *
 * request.cc
 *	  One request.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/request.cuh"

#include <algorithm>
#include <cstdio>

#include "cuda/query/part_compute.cuh"
#include "cuda/query/result_choice.cuh"

Request::Request(const char *payload, size_t length, SegmentLists &lists, const Client &client)
	: run_(payload, length, lists),
	catalog_(run_),
	pieces_(run_, catalog_),
	deal_(run_, catalog_, pieces_, client.lane),
	objects_(run_.head().nobjects, run_.head().memory_limit, dealt(client.look).shares()),
	parts_(run_, deal_, {
		[this] (Part &part) { compute(part); },
		[this] (Part &part) { pieces_.unpin(deal_.share_of(part).device(), part.segments); },
		client.changed, client.called_off
	}),
	loader_(run_, catalog_, pieces_, deal_, parts_, claim_),
	tables_(client.tables)
{
}

Request::~Request()
{
	parts_.end();
	pieces_.unpin_all();
}

/* Deal the segments, with memory for what is missing; until there is, wait. */
Deal &
Request::dealt(const std::function<void()> &look)
{
	deal_.make();
	if (deal_.missing().empty())
		return deal_;
	while (!claim_.take(deal_.needs()))
	{
		deal_.forget();
		claim_.await(look);
		deal_.make();
	}
	return deal_;
}

void
Request::submit()
{
	if (objects_.complete())
		parts_.submit();
}

void
Request::compute(Part &part)
{
	/* a kernel may write the result of one that is alone for the client to find */
	const Slab *slab = alone() && slab_ != NULL && slab_->device != NULL ? slab_ : NULL;

	gpucol_part_compute({run_, pieces_, objects_, deal_, part, parts_.cancelled(), tables_, slab});
}

void
Request::put(const GpucolWirePut &put, const char *data)
{
	const PutKind &kind = put_kind(put, run_.head().nsegments, run_.head().ncolumns);

	if (kind.owner == PutKind::SEGMENT)
		loader_.put(kind, put, data);
	else
		objects_.put(kind, put, data);
	submit();
}

double
Request::progress()
{
	size_t		all = missing().size(),
				done = loader_.loaded();

	if (alone() ? done == all : prefetch() && all == 0)
		return -1;
	if (!alone() && !prefetch())
	{
		all += deal_.parts().size();
		done += parts_.computed();
	}
	return (double) done / (double) all;
}

void
Request::answer(GpucolWireResult *result, std::vector<char> *data)
{
	Partial    &whole = parts_.whole();
	size_t		nshares = deal_.shares().size();

	parts_.check();
	result->status = GPUCOL_OK;
	if (prefetch())
		return;
	gpucol_partial_finish(run_.program(), &whole);
	if (run_.first() != NULL)
		gpucol_result_choose(run_.program(), *run_.first(), &whole);
	if (run_.head().result_limit > 0 && whole.size() > run_.head().result_limit)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the query's memory limit"};
	result->nsegments = whole.nsegments;
	result->nrows = whole.nrows;
	result->bytes = whole.size();
	result->in_slab = whole.placed != NULL;
	result->packed_bytes = whole.packed_bytes;
	result->segments_skipped = whole.skipped;
	result->device_seconds = whole.seconds;
	result->plan_seconds = whole.plan_seconds;
	result->work_seconds = whole.work_seconds;
	result->ndevices = nshares;
	result->nbatches = (deal_.parts().size() + nshares - 1) / nshares;
	snprintf(result->kernel, sizeof(result->kernel), "%s", whole.kernel.c_str());
	if (devices.size() > 1 && run_.obstacle() != NULL)
		whole.note += std::string(whole.note.empty() ? "" : "; ") +
			(run_.shape() != NULL ? "a ranking is computed on one device" :
			 run_.program()->kind == GPUCOL_PROGRAM_BUILD ? "a table is built on one device" :
			 "count(DISTINCT) is computed on one device");
	snprintf(result->note, sizeof(result->note), "%s", whole.note.c_str());
	std::copy(whole.probed.begin(), whole.probed.end(), result->probed);
	std::copy(whole.found.begin(), whole.found.end(), result->found);
	data->swap(whole.data);
}
