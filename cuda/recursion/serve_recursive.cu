/*-------------------------------------------------------------------------
 *
 * serve_recursive.cu
 *	  A client's recursion: the plan is checked in every index before the engine
 *	  sees it, because the engine trusts plans and the socket is not trusted.
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

void
require(bool condition)
{
	if (!condition)
		throw BadRecursion();
}

}								/* namespace */

Recursion::Recursion(const char *payload, size_t size, Device &device,
					 std::function<bool()> cancelled,
					 std::function<void(const GpucolWireRecStatus &)> tell)
	: device_(device), cancelled_(std::move(cancelled)), tell_(std::move(tell))
{
	GpucolWireRecStart start;
	GpucolRecOptions options = {};

	require(size >= sizeof(start));
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
	require(at == end && start.strategy <= GPUCOL_REC_BITMAP);
	if (!check_plan())
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

/* The engine asks whether to end; on this occasion progress is told. */
bool
Recursion::asked()
{
	auto		now = std::chrono::steady_clock::now();

	if (answering_ && now - told_ > std::chrono::milliseconds(100))
	{
		told_ = now;
		tell_(describe(GPUCOL_OK));
	}
	return cancelled_();
}

/* Are there more bodies in bodies, perhaps, than a stack is deep? */
bool
Recursion::is_deep(const GpucolRecRule &rule) const
{
	const GpucolRecStep *steps = plan_.steps + rule.steps;

	return std::count_if(steps, steps + rule.nsteps, [] (const GpucolRecStep &step) {
		return step.kind == GPUCOL_REC_AGGREGATE;
	}) > GPUCOL_REC_DEVICE_LEVELS;
}

/*
 * Every index of the plan must point inside it.  False where the device cannot run it, and
 * not all was looked at.
 */
bool
Recursion::check_plan() const
{
	require(plan_.nstrata <= UINT16_MAX && plan_.nrelations <= UINT16_MAX);
	for (uint32_t i = 0; i < plan_.nrelations; i++)
	{
		const GpucolRecRelation &r = plan_.relations[i];

		require(r.arity <= GPUCOL_REC_MAX_ARITY && r.types <= plan_.ntypes &&
				r.arity <= plan_.ntypes - r.types && r.merge <= GPUCOL_REC_MERGE_MAX &&
				(r.merge == GPUCOL_REC_MERGE_NONE || r.merge_column < r.arity));
	}
	for (uint32_t i = 0; i < plan_.nrules; i++)
	{
		const GpucolRecRule &r = plan_.rules[i];

		require(r.nsteps > 0 && r.steps <= plan_.nsteps &&
				r.nsteps <= plan_.nsteps - r.steps && r.nregisters <= UINT16_MAX);
		if (is_deep(r))
			return false;
		for (uint32_t s = 0; s < r.nsteps; s++)
			check_step(plan_.steps[r.steps + s], r.nregisters);
		require(plan_.steps[r.steps + r.nsteps - 1].kind == GPUCOL_REC_EMIT);
		check_bodies(r, 0, r.nsteps - 1);
		std::vector<bool> bound(r.nregisters);

		check_bound(r, 0, r.nsteps, bound);
	}
	return true;
}

/* Does a step give a register a value? */
bool
Recursion::sets(const GpucolRecStep &step, uint16_t reg) const
{
	const GpucolRecOperand *operands = plan_.operands + step.operands;

	return (step.kind == GPUCOL_REC_COMPUTE && step.target == reg) ||
		(step.kind == GPUCOL_REC_AGGREGATE && (step.target == reg || step.origin == reg)) ||
		std::any_of(operands, operands + step.noperands, [reg] (const GpucolRecOperand &o) {
			return o.kind == GPUCOL_REC_BIND && o.index == reg;
		});
}

/*
 * Steps [from, to) of a rule: the bodies of aggregates must lie inside, and each ends
 * with its COLLECT, which is nowhere else.  A body leaves alone the register that says
 * which accumulator its rows belong to.
 */
void
Recursion::check_bodies(const GpucolRecRule &rule, uint32_t from, uint32_t to) const
{
	const GpucolRecStep *steps = plan_.steps + rule.steps;

	for (uint32_t s = from; s < to; s++)
	{
		require(steps[s].kind != GPUCOL_REC_COLLECT);
		if (steps[s].kind != GPUCOL_REC_AGGREGATE)
			continue;
		require(steps[s].nsteps >= 1 && steps[s].nsteps < to - s &&
				steps[s].target < rule.nregisters && steps[s].origin < rule.nregisters);
		const GpucolRecStep &collect = steps[s + steps[s].nsteps];

		require(collect.kind == GPUCOL_REC_COLLECT && collect.origin == steps[s].origin &&
				(collect.noperands > 0 || steps[s].function == GPUCOL_REC_COUNT));
		for (uint32_t b = s + 1; b < s + steps[s].nsteps; b++)
			require(!sets(steps[b], steps[s].origin));
		check_bodies(rule, s + 1, s + steps[s].nsteps);
		s += steps[s].nsteps;
	}
}

/*
 * Steps [from, to) of a rule read only registers that have a value: bound says which,
 * before and after.  What the body of an aggregate binds is its own.
 */
void
Recursion::check_bound(const GpucolRecRule &rule, uint32_t from, uint32_t to,
					   std::vector<bool> &bound) const
{
	for (uint32_t s = from; s < to; s++)
	{
		const GpucolRecStep &step = plan_.steps[rule.steps + s];
		const GpucolRecOperand *operands = plan_.operands + step.operands;
		bool		looks_up = step.kind == GPUCOL_REC_ATOM ||
			step.kind == GPUCOL_REC_PRESENT || step.kind == GPUCOL_REC_ABSENT;
		std::vector<bool> here = bound;

		for (int i = 0; i < step.noperands && looks_up; i++)
			if (operands[i].kind == GPUCOL_REC_BIND)
				here[operands[i].index] = true;
		for (int i = 0; i < step.noperands && step.kind != GPUCOL_REC_AGGREGATE; i++)
			require(operands[i].kind == GPUCOL_REC_CONSTANT ||
					(operands[i].kind == GPUCOL_REC_REGISTER && here[operands[i].index]) ||
					(looks_up && operands[i].kind != GPUCOL_REC_REGISTER));
		if (step.kind == GPUCOL_REC_ATOM)
			bound = here;
		if (step.kind == GPUCOL_REC_AGGREGATE)
		{
			check_bound(rule, s + 1, s + 1 + step.nsteps, here);
			s += step.nsteps;
		}
		if (step.kind == GPUCOL_REC_COMPUTE || step.kind == GPUCOL_REC_AGGREGATE)
			bound[step.target] = true;
	}
}

void
Recursion::check_step(const GpucolRecStep &step, uint32_t nregisters) const
{
	bool		reads_relation = step.kind == GPUCOL_REC_ATOM ||
		step.kind == GPUCOL_REC_ABSENT || step.kind == GPUCOL_REC_PRESENT ||
		step.kind == GPUCOL_REC_EMIT;

	require(step.kind <= GPUCOL_REC_EMIT && step.version <= GPUCOL_REC_PREVIOUS &&
			step.operands <= plan_.noperands &&
			step.noperands <= plan_.noperands - step.operands);
	if (reads_relation)
		require(step.relation < plan_.nrelations &&
				step.noperands == plan_.relations[step.relation].arity);
	if (step.kind == GPUCOL_REC_COMPUTE)
		require(step.target < nregisters && step.noperands >= 1);
	if (step.kind == GPUCOL_REC_TEST)
		require(step.noperands >= 1 &&
				(step.noperands >= 2 || step.function < GPUCOL_REC_EQ ||
				 step.function > GPUCOL_REC_GE));
	for (int i = 0; i < step.noperands; i++)
	{
		const GpucolRecOperand &o = plan_.operands[step.operands + i];

		require(o.kind <= GPUCOL_REC_CONSTANT);
		if (o.kind == GPUCOL_REC_CONSTANT)
			require(o.index < plan_.nconstants);
		else if (o.kind != GPUCOL_REC_ANY)
			require(o.index < nregisters);
	}
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

	require(size >= sizeof(head));
	memcpy(&head, payload, sizeof(head));
	require(head.relation < plan_.nrelations);

	uint32_t	arity = plan_.relations[head.relation].arity;

	uint64_t	n = (uint64_t) head.nrows * arity;

	require(size - sizeof(head) == n * (sizeof(int64_t) + (head.has_nulls != 0)));
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

	require(size == sizeof(ask));
	memcpy(&ask, payload, sizeof(ask));
	require(ask.relation < plan_.nrelations &&
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
	told_ = std::chrono::steady_clock::now();
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
	told_ = std::chrono::steady_clock::now();
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
