/*-------------------------------------------------------------------------
 *
 * probes.cc
 *	  The probes of a program, over the tables that came along.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/probes.cuh"

#include <algorithm>
#include <cstring>

static_assert(GPUCOL_MAX_PROBES == GPUCOL_WIRE_MAX_PROBES, "probes of a plan are those of a program");
static_assert(GPUCOL_MAX_PROBE_KEYS == GPUCOL_WIRE_MAX_PROBE_KEYS, "and so are their keys");
static_assert(GPUCOL_MAX_FIRST_KEYS == GPUCOL_WIRE_FIRST_KEYS, "and those of first rows");

/* A part of a table's data as an array; NULL where it is not there. */
template <class T> static const T *
array_at(const char *data, uint64_t offset)
{
	return data == NULL ? NULL : (const T *) (data + offset);
}

void
Probes::load_table(uint16_t number)
{
	const Object *description = c_.task.object(GPUCOL_PUT_LOOKUP, number, 0);
	const Object *data = c_.task.object(GPUCOL_PUT_LOOKUP_DATA, number, 0);

	if (tables_.size() <= number)
		tables_.resize(number + 1u);
	if (load_built(number))
		return;
	if (description == NULL)
		throw unsupported("a join without its table");
	tables_[number] = {gpucol_lookup_check(description->host.data(), description->bytes(),
										   data == NULL ? 0 : data->bytes()),
		data == NULL ? NULL : c_.task.on_device<char>(*data), NULL};
}

/* Take a table that the session has built, if the client named one. */
bool
Probes::load_built(uint16_t number)
{
	const Object *named = c_.task.object(GPUCOL_PUT_TABLE, number, 0);
	std::shared_ptr<const BuiltTable> built;
	uint32_t	of_session;

	if (named == NULL)
		return false;
	if (named->bytes() != sizeof(of_session))
		throw malformed("number of a table");
	memcpy(&of_session, named->host.data(), sizeof(of_session));
	built = c_.task.tables.find(of_session);
	if (built == NULL || &built->device != &c_.device.lane().device())
		throw unsupported("a table that is not there any more");
	tables_[number] = {gpucol_lookup_check(built->description.data(), built->description.size(), built->bytes),
		built->data, built};
	return true;
}

/* Has a value of this class one word that orders it? */
static bool
has_place(int cls)
{
	return cls == GPUCOL_CLASS_B || cls == GPUCOL_CLASS_I || cls == GPUCOL_CLASS_F;
}

/* Does an instruction before one write a register? */
bool
Probes::is_written(uint16_t reg, uint16_t end) const
{
	auto		instrs = c_.program.instrs();

	return std::any_of(instrs.begin(), instrs.begin() + end, [reg] (const GpucolInstr &in) { return in.dst == reg; });
}

/* The order by which a probe takes the first row that is met; NULL: it takes all. */
const GpucolWireFirstRow *
Probes::first_row(size_t number) const
{
	const Object *sent = c_.task.object(GPUCOL_PUT_FIRST_ROW, number, 0);

	if (sent != NULL && sent->bytes() != sizeof(GpucolWireFirstRow))
		throw malformed("the order of a probe's rows");
	return sent == NULL ? NULL : (const GpucolWireFirstRow *) sent->host.data();
}

/* Does a table have the keys that a probe looks for? */
void
Probes::check_probe(size_t number) const
{
	const GpucolProbe &probe = c_.program.probes()[number];
	const LookupTable &table = table_of(probe).described;
	const GpucolWireFirstRow *first = first_row(number);

	if (table.head.nkeys != probe.nkeys)
		throw malformed("keys of a built table");
	for (int k = 0; k < probe.nkeys; k++)
	{
		int			cls = c_.program.classes()[c_.program.probe_keys()[probe.first_key + k]];
		const Object *numbers = c_.task.object(GPUCOL_PUT_KEY_NUMBERS, probe.first_key + k, 0);

		if (table.columns[k].wire.cls != cls ||
			(cls == GPUCOL_CLASS_S && (numbers == NULL || numbers->bytes() < sizeof(uint32_t))))
			throw malformed("keys of a built table");
	}
	if (first == NULL)
		return;
	if (first->nkeys < 1 || first->nkeys > GPUCOL_WIRE_FIRST_KEYS || probe.nkeys != 0 ||
		(probe.kind != GPUCOL_JOIN_INNER && probe.kind != GPUCOL_JOIN_LEFT))
		throw malformed("the order of a probe's rows");
	for (uint32_t k = 0; k < first->nkeys; k++)
		if (first->keys[k] >= c_.program.classes().size() || !has_place(c_.program.classes()[first->keys[k]]) ||
			!is_written(first->keys[k], probe.residual_end))
			throw malformed("a sort key of a probe's rows");
	if (table.head.nrows > GPUCOL_WIRE_MOST_FIRST)
		throw unsupported("the first of many rows");
}

void
Probes::check_payload(const GpucolPayload &payload) const
{
	const LookupTable &table = table_of(c_.program.probes()[payload.probe]).described;

	if (payload.column >= table.columns.size() || table.columns[payload.column].wire.width == 0 ||
		!gpucol_lookup_suits(table.columns[payload.column].wire.cls, payload.kind))
		throw malformed("columns of a built table");
}

Probes::Probes(const PartContext &c) : c_(c)
{
	for (size_t p = 0; p < c.program.probes().size(); p++)
	{
		const GpucolProbe &probe = c.program.probes()[p];
		bool		pairs = probe.kind == GPUCOL_JOIN_INNER || probe.kind == GPUCOL_JOIN_LEFT ||
			probe.kind == GPUCOL_JOIN_RIGHT || probe.kind == GPUCOL_JOIN_FULL;

		load_table(probe.table);
		check_probe(p);
		expands_.push_back(pairs && first_row(p) == NULL && !table_of(probe).described.head.unique);
	}
	for (const GpucolPayload &payload : c.program.payloads())
		check_payload(payload);
}

/* Key k of a probe. */
GpucolDeviceKey
Probes::key(const GpucolProbe &probe, int k) const
{
	const Table &table = table_of(probe);
	const GpucolWireLookupKey &wire = table.described.keys[k];
	const LookupTable::Column &column = table.described.columns[k];
	const Object *numbers = c_.task.object(GPUCOL_PUT_KEY_NUMBERS, probe.first_key + k, 0);
	GpucolDeviceKey key = {};

	key.least = wire.least;
	key.range = wire.range;
	key.shift = wire.shift;
	key.reg = c_.program.probe_keys()[probe.first_key + k];
	key.cls = column.wire.cls;
	key.width = column.wire.width;
	key.values = array_at<char>(table.data, column.values);
	key.reference = column.wire.reference;
	if (key.cls == GPUCOL_CLASS_S)
	{
		key.numbers = c_.task.on_device<uint32_t>(*numbers);
		key.nnumbers = numbers->bytes() / sizeof(uint32_t);
	}
	return key;
}

GpucolDevicePayload
Probes::payload(const GpucolPayload &of) const
{
	const Table &table = table_of(c_.program.probes()[of.probe]);
	const LookupTable::Column &column = table.described.columns[of.column];
	GpucolDevicePayload payload = {};

	payload.values = array_at<char>(table.data, column.values);
	payload.nulls = column.wire.has_nulls ? array_at<uint8_t>(table.data, column.nulls) : NULL;
	payload.reference = column.wire.reference;
	payload.nrows = table.described.head.nrows;
	payload.width = column.wire.width;
	payload.probe = of.probe;
	payload.slot = -1;
	return payload;
}

/* How numbers are found in a table. */
static GpucolLookupWay
way_of(const GpucolWireLookup &head)
{
	if (head.nkeyed == 0)
		return GPUCOL_WAY_NOWHERE;
	if (head.nkeys == 0)
		return GPUCOL_WAY_ALL;
	if (head.dense)
		return head.gapless ? GPUCOL_WAY_WORD : GPUCOL_WAY_BITS;
	return head.wide ? GPUCOL_WAY_WIDE : GPUCOL_WAY_HASH;
}

/* Have a probe take the first row. */
void
Probes::add_order(const GpucolWireFirstRow &first, GpucolDeviceProbe *probe) const
{
	probe->norder = first.nkeys;
	for (uint32_t k = 0; k < first.nkeys; k++)
	{
		probe->order_reg[k] = first.keys[k];
		probe->order_class[k] = c_.program.classes()[first.keys[k]];
		probe->order_descending |= (first.descending[k] != 0) << k;
		probe->order_nulls_first |= (first.nulls_first[k] != 0) << k;
	}
}

/* A probe, but for its instructions and what is kept of it. */
GpucolDeviceProbe
Probes::probe(size_t number) const
{
	const GpucolProbe &of = c_.program.probes()[number];
	const GpucolWireFirstRow *first = first_row(number);
	const Table &table = table_of(of);
	const GpucolWireLookup &head = table.described.head;
	const uint64_t *arrays = table.described.arrays;
	GpucolDeviceProbe probe = {};

	probe.kind = of.kind;
	probe.way = way_of(head);
	probe.nkeys = of.nkeys;
	probe.first_key = of.first_key;
	probe.unique = head.unique;
	probe.has_null = head.has_null;
	probe.shift = head.shift;
	probe.residual = of.residual;
	probe.filter = of.filter;
	probe.nrows = head.nrows;
	probe.ndistinct = head.ndistinct;
	probe.greatest = head.greatest;
	probe.first = array_at<uint32_t>(table.data, arrays[GPUCOL_LOOKUP_FIRST]);
	probe.bits = array_at<unsigned long long>(table.data, arrays[GPUCOL_LOOKUP_BITS]);
	probe.before = array_at<uint32_t>(table.data, arrays[GPUCOL_LOOKUP_BEFORE]);
	probe.buckets = array_at<unsigned long long>(table.data, arrays[GPUCOL_LOOKUP_BUCKETS]);
	probe.words = array_at<unsigned long long>(table.data, arrays[GPUCOL_LOOKUP_WORDS]);
	if (first != NULL)
		add_order(*first, &probe);
	return probe;
}

/* Is a match, or a column of its row, asked for where it is not at hand any more? */
bool
Probes::is_read(size_t number, const Sections &sections) const
{
	const GpucolProbe &probe = c_.program.probes()[number];
	auto		reads = [&] (const Instrs &instrs) {
		return std::any_of(instrs.begin(), instrs.end(), [&] (const GpucolInstr &in) {
			return in.op <= GPUCOL_OP_LOAD_S && in.aux < 0 && c_.program.payloads()[-1 - in.aux].probe == number;
		});
	};

	/* by the condition of pairs, which marks rows, or leaves alone those that have met none */
	if (expands_[number] && probe.residual != GPUCOL_NO_REG && probe.kind != GPUCOL_JOIN_INNER)
		return true;
	for (size_t p = 0; p < sections.probes.size(); p++)
		if ((p != number || expands_[p]) && (reads(sections.probes[p].keys) || reads(sections.probes[p].residual) ||
											 reads(sections.probes[p].filter)))
			return true;
	return reads(sections.rest);
}

/* What a warp keeps of each probe, and where. */
void
Probes::lay_out_memory(const Sections &sections, GpucolInterpPlan *plan) const
{
	uint8_t		nslots = 0;
	uint32_t	size;

	for (size_t p = 0; p < plan->nprobes; p++)
	{
		plan->probes[p].slot = is_read(p, sections) ? nslots++ : -1;
		plan->probes[p].nslots = nslots;
	}
	size = nslots * GPUCOL_VECTOR_VALUES * sizeof(uint32_t);
	for (size_t p = 0; p < plan->nprobes; p++)
	{
		plan->probes[p].expands = expands_[p];
		plan->expands |= expands_[p];
		if (!expands_[p])
			continue;
		plan->probes[p].saved = size;
		size += GPUCOL_SAVED_BYTES + plan->probes[p].nslots * GPUCOL_VECTOR_VALUES * sizeof(uint32_t);
	}
	plan->memory_size = size;
	for (size_t l = 0; l < c_.program.payloads().size(); l++)
		plan->payloads[l].slot = plan->probes[plan->payloads[l].probe].slot;
}

void
Probes::describe(const Sections &sections, GpucolInterpPlan *plan) const
{
	auto		probes = c_.program.probes();

	plan->nprobes = probes.size();
	for (size_t p = 0; p < probes.size(); p++)
	{
		plan->probes[p] = probe(p);
		for (int k = 0; k < probes[p].nkeys; k++)
			plan->probe_keys[probes[p].first_key + k] = key(probes[p], k);
	}
	for (size_t l = 0; l < c_.program.payloads().size(); l++)
		plan->payloads[l] = payload(c_.program.payloads()[l]);
	lay_out_memory(sections, plan);
}
