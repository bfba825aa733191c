/*-------------------------------------------------------------------------
 *
 * row_delivery.cc
 *	  Rows of a SCAN, delivered.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/row_delivery.cuh"

#include "cuda/base/stage.cuh"
#include "cuda/query/row_search.cuh"

/* Bytes of rows that go through the lane's pinned memory. */
static const size_t STAGED_ROWS = (size_t) 1 << 20;

/* Bytes of a result where the client sets no limit. */
static const uint64_t MOST_RESULT_BYTES = (uint64_t) 2 << 30;

/*
 * Where a result of rows goes: where the client finds it, else to pinned memory, from
 * which it is to be copied into the result's own, else there.
 */
char *
RowDelivery::place(Partial *result, size_t size)
{
	const Slab *slab = c_.slab();
	char	   *staged = NULL;

	if (slab != NULL && size <= slab->size)
	{
		result->placed = slab->memory;
		result->nplaced = size;
		return slab->memory;
	}
	if (size <= STAGED_ROWS)
		staged = (char *) c_.device.lane().stage(size);
	result->data.resize(size);
	return staged != NULL ? staged : result->data.data();
}

/* Copy the rows that were emitted, after which the stream is to be waited for. */
char *
RowDelivery::fetch(const std::vector<GpucolInterpOutput> &outputs, uint64_t n, Partial *result)
{
	size_t		flags = (n + 7) / 8 * 8;
	size_t		size = n * 8;
	char	   *to = NULL;
	char	   *start;
	auto		copy = [&] (const void *from, size_t bytes) {
		device_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, c_.device.stream()), "result");
		to += bytes;
	};

	for (const GpucolInterpOutput &o : outputs)
		size += n * (o.cls == GPUCOL_CLASS_D ? 16 : 8) + flags;
	start = to = place(result, size);
	copy(program_.plan.rows, n * 8);
	for (const GpucolInterpOutput &o : outputs)
	{
		copy(o.values, n * (o.cls == GPUCOL_CLASS_D ? 16 : 8));
		memset(to + n, 0, flags - n);
		copy(o.nulls, n);
		to += flags - n;
	}
	return start;
}

void
RowDelivery::run(Partial *result)
{
	uint64_t	limit = c_.task.run.head().result_limit;
	std::vector<GpucolInterpOutput> outputs;
	cudaEvent_t begun,
				emitted;
	const unsigned long long *error;
	const char *rows;
	uint64_t	n;

	result->kernel = "program";
	result->nrows = n = RowSearch(c_, program_).run();
	program_.put_figures(result);
	if (n == 0)
		return;
	if (n * (8 + 17 * c_.program.keys().size()) > (limit > 0 ? limit : MOST_RESULT_BYTES))
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the query's memory limit"};
	outputs = program_.set_outputs(n, "the result");
	begun = c_.device.mark();
	program_.run(MODE_EMIT);
	emitted = c_.device.mark();
	error = c_.device.fetch(program_.plan.error, 1);
	rows = fetch(outputs, n, result);
	c_.device.finish(begun, emitted);
	gpucol_stage(c_.device.stream(), "rows delivered");
	gpucol_interp_check(*error);
	if (result->placed == NULL && rows != result->data.data())
		memcpy(result->data.data(), rows, result->data.size());
}
