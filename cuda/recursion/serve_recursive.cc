/*-------------------------------------------------------------------------
 *
 * serve_recursive.cc
 *	  A client's recursion.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/recursion/serve_recursive.cuh"

#include <algorithm>
#include <cstring>

namespace
{

/* Take an array of n elements out of a message. */
template <class T> const T *
take(const char *&at, const char *end, uint64_t n)
{
	uint64_t	size = GPUCOL_WIRE_PADDED(n, sizeof(T));
	const char *from = at;

	if (n > GPUCOL_WIRE_MAX_PAYLOAD || size > (uint64_t) (end - at))
		throw BadRecursion();
	at += size;
	return (const T *) from;
}

}								/* namespace */

Recursion::Recursion(const char *payload, size_t size, Device &device,
					 std::function<bool()> cancelled,
					 std::function<void(const GpucolWireRecStatus &)> tell)
	: device_(device), cancelled_(std::move(cancelled)), tell_(std::move(tell))
{
	GpucolWireRecStart start;
	GpucolRecOptions options = {};

	gpucol_require(size >= sizeof(start));
	memcpy(&start, payload, sizeof(start));
	arrays_.assign(payload + sizeof(start), payload + size);

	const char *at = arrays_.data();
	const char *end = at + arrays_.size();

	plan_.nstrata = start.nstrata;
	plan_.nrelations = start.nrelations;
	plan_.nrules = start.nrules;
	plan_.nsteps = start.nsteps;
	plan_.noperands = start.noperands;
	plan_.nconstants = start.nconstants;
	plan_.ntypes = start.ntypes;
	plan_.relations = take<GpucolRecRelation>(at, end, start.nrelations);
	plan_.rules = take<GpucolRecRule>(at, end, start.nrules);
	plan_.steps = take<GpucolRecStep>(at, end, start.nsteps);
	plan_.operands = take<GpucolRecOperand>(at, end, start.noperands);
	plan_.constants = take<GpucolRecConstant>(at, end, start.nconstants);
	plan_.types = take<uint8_t>(at, end, start.ntypes);
	gpucol_require(at == end && start.strategy <= GPUCOL_REC_BITMAP);
	if (!gpucol_rec_plan_check(&plan_, GPUCOL_REC_DEVICE_LEVELS))
	{
		status_ = GPUCOL_UNSUPPORTED;
		return;
	}

	options.threads = 1;
	options.memory_limit = start.memory_limit;
	options.device_limit = std::max<size_t>(device.available(), 1);
	options.lend = [](void *self, size_t bytes) { return ((Recursion *) self)->device_.lend(bytes); };
	options.repay = [](void *self, size_t bytes) { ((Recursion *) self)->device_.pool.repay(bytes); };
	options.max_rounds = start.max_rounds;
	options.device_rows = start.device_rows;
	options.strategy = (GpucolRecStrategy) start.strategy;
	options.cancelled = [](void *self) { return ((Recursion *) self)->asked(); };
	options.context = this;
	status_ = gpucol_recursive_device.start(&plan_, &options, &run_);
}

Recursion::~Recursion()
{
	if (run_)
		gpucol_recursive_device.finish(run_);
}

/* The engine asks whether to end; on this occasion progress is reported. */
bool
Recursion::asked()
{
	auto		now = std::chrono::steady_clock::now();

	if (answering_ && now - reported_ > std::chrono::milliseconds(100))
	{
		reported_ = now;
		tell_(describe(GPUCOL_OK));
	}
	return cancelled_();
}

GpucolWireRecStatus
Recursion::describe(GpucolStatus status) const
{
	GpucolRecProgress progress = {};
	GpucolWireRecStatus wire = {};

	if (run_)
		gpucol_recursive_device.progress(run_, &progress);
	wire.status = status;
	wire.stratum = progress.stratum;
	wire.rounds = progress.rounds;
	wire.small_rounds = progress.small_rounds;
	wire.delta = progress.delta;
	wire.full = progress.full;
	wire.bytes = progress.bytes;
	wire.peak_bytes = progress.peak_bytes;
	if (progress.method)
		strncpy(wire.method, progress.method, sizeof(wire.method) - 1);
	return wire;
}

std::vector<char>
Recursion::started() const
{
	GpucolWireRecStatus status = describe(status_);

	return std::vector<char>((char *) &status, (char *) (&status + 1));
}

void
Recursion::load(const char *payload, size_t size)
{
	GpucolWireRecLoad head;
	const int64_t *columns[GPUCOL_REC_MAX_ARITY];
	const uint8_t *nulls[GPUCOL_REC_MAX_ARITY];
	std::vector<int64_t> values;

	gpucol_require(size >= sizeof(head));
	memcpy(&head, payload, sizeof(head));
	gpucol_require(head.relation < plan_.nrelations);

	uint32_t	arity = plan_.relations[head.relation].arity;

	uint64_t	n = (uint64_t) head.nrows * arity;

	gpucol_require(size - sizeof(head) == n * (sizeof(int64_t) + (head.has_nulls != 0)));
	values.resize(n);
	memcpy(values.data(), payload + sizeof(head), n * sizeof(int64_t));
	for (uint32_t c = 0; c < arity; c++)
	{
		columns[c] = values.data() + (size_t) c * head.nrows;
		nulls[c] = (const uint8_t *) payload + sizeof(head) + n * sizeof(int64_t) +
			(size_t) c * head.nrows;
	}
	if (status_ == GPUCOL_OK)
		status_ = gpucol_recursive_device.load(run_, head.relation, head.nrows,
											   columns, head.has_nulls ? nulls : nullptr);
}

/* The relation that a question is about. */
uint32_t
Recursion::relation(const char *payload, size_t size) const
{
	GpucolWireRecAsk ask;

	gpucol_require(size == sizeof(ask));
	memcpy(&ask, payload, sizeof(ask));
	gpucol_require(ask.relation < plan_.nrelations &&
			(plan_.relations[ask.relation].flags & GPUCOL_REC_OUTPUT));
	return ask.relation;
}

std::vector<char>
Recursion::summarise(const char *payload, size_t size)
{
	uint32_t	rel = relation(payload, size);
	uint32_t	arity = plan_.relations[rel].arity;
	std::vector<GpucolRecSummary> columns(GPUCOL_REC_MAX_ARITY);
	std::vector<GpucolWireRecColumn> wire(arity);
	GpucolWireRecSummary head = {};
	std::vector<char> message;
	uint64_t	nrows = 0;

	answering_ = true;
	reported_ = std::chrono::steady_clock::now();
	if (status_ == GPUCOL_OK)
		status_ = gpucol_recursive_device.summarise(run_, rel, nullptr, &nrows,
													columns.data());
	answering_ = false;
	head.status = describe(status_);
	head.nrows = nrows;
	for (uint32_t c = 0; c < arity; c++)
		wire[c] = {columns[c].count, (uint64_t) columns[c].sum,
			(int64_t) (columns[c].sum >> 64), columns[c].min, columns[c].max};
	message.assign((char *) &head, (char *) (&head + 1));
	message.insert(message.end(), (char *) wire.data(), (char *) (wire.data() + arity));
	return message;
}

std::vector<char>
Recursion::next(const char *payload, size_t size)
{
	uint32_t	rel = relation(payload, size);
	GpucolRecBatch batch = {};
	GpucolWireRecRows head = {};
	std::vector<char> message;
	GpucolStatus status = status_;

	answering_ = true;
	reported_ = std::chrono::steady_clock::now();
	if (status == GPUCOL_OK)
		status = gpucol_recursive_device.next(run_, rel, &batch);
	answering_ = false;
	if (status != GPUCOL_OK && status != GPUCOL_END)
		status_ = status;
	head.status = describe(status);
	head.nrows = status == GPUCOL_OK ? batch.nrows : 0;
	uint32_t	arity = head.nrows > 0 ? plan_.relations[rel].arity : 0;

	for (uint32_t c = 0; c < arity; c++)
		head.has_nulls |= batch.nulls[c] != nullptr;
	message.assign((char *) &head, (char *) (&head + 1));
	for (uint32_t c = 0; c < arity; c++)
		message.insert(message.end(), (const char *) batch.columns[c],
					   (const char *) (batch.columns[c] + batch.nrows));
	for (uint32_t c = 0; c < arity && head.has_nulls; c++)
		message.insert(message.end(), (const char *) batch.nulls[c],
					   (const char *) (batch.nulls[c] + batch.nrows));
	return message;
}
