/*-------------------------------------------------------------------------
 *
 * conditions.cc
 *	  Range conjuncts, translated to the codes of each chunk.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/conditions.cuh"

#include <algorithm>

#include "cuda/query/part_context.cuh"
#include "kernel/float_order.h"

typedef __int128 int128;
typedef unsigned __int128 uint128;

/* Codes that a list of values may come to. */
static const uint64_t MOST_CODES = (uint64_t) 1 << 20;

/*
 * A constant in the order of its column; below or above if it lies outside
 * every value of the domain.
 */
static int64_t
order_constant(const GpucolConst &c, int kind, bool *below, bool *above)
{
	*below = *above = false;
	if (gpucol_kind_is_float(kind))
		return gpucol_float_order(c.v.f);
	if (c.cls == GPUCOL_CLASS_D)
	{
		*below = c.v.d.hi < 0 && (c.v.d.hi != -1 || (int64_t) c.v.d.lo >= 0);
		*above = c.v.d.hi > 0 || (c.v.d.hi == 0 && (int64_t) c.v.d.lo < 0);
		return *below ? INT64_MIN : *above ? INT64_MAX : (int64_t) c.v.d.lo;
	}
	return c.v.i;
}

static Conditions::Domain
domain_of(const ProgramView &program, const GpucolRange &range)
{
	ProgramArray<GpucolConst> consts = program.consts();
	int			kind = program.columns()[range.column].kind;
	Conditions::Domain d;
	bool		below,
				above;

	switch (range.op)
	{
		case GPUCOL_RANGE_IS_NULL:
			d.null_test = d.null_passes = d.invert = true;
			return d;
		case GPUCOL_RANGE_IS_NOT_NULL:
			d.null_test = true;
			return d;
		case GPUCOL_RANGE_HOST:
			d.host = range.n;
			return d;
		case GPUCOL_RANGE_NOT_BETWEEN:
			d.invert = true;
			[[fallthrough]];
		case GPUCOL_RANGE_BETWEEN:
			if (range.lo != GPUCOL_NO_REG)
			{
				const GpucolConst &c = consts[range.lo];

				d.never |= c.isnull != 0;
				d.lo = order_constant(c, kind, &below, &above);
				if (above || ((range.flags & GPUCOL_RANGE_LO_OPEN) && !below && d.lo == INT64_MAX))
					d.lo = INT64_MAX, d.hi = INT64_MIN;
				else if ((range.flags & GPUCOL_RANGE_LO_OPEN) && !below)
					d.lo++;
			}
			if (range.hi != GPUCOL_NO_REG)
			{
				const GpucolConst &c = consts[range.hi];
				int64_t		hi = order_constant(c, kind, &below, &above);

				d.never |= c.isnull != 0;
				if (below || ((range.flags & GPUCOL_RANGE_HI_OPEN) && !above && hi == INT64_MIN))
					d.lo = INT64_MAX, d.hi = INT64_MIN;
				else
					d.hi = std::min(d.hi, (range.flags & GPUCOL_RANGE_HI_OPEN) && !above ? hi - 1 : hi);
			}
			return d;
		case GPUCOL_RANGE_NOT_IN:
			d.invert = true;
			[[fallthrough]];
		case GPUCOL_RANGE_IN:
			d.is_list = true;
			for (uint32_t i = 0; i < range.n; i++)
			{
				const GpucolConst &c = consts[range.lo + i];
				int64_t		x = order_constant(c, kind, &below, &above);

				d.never |= c.isnull != 0;
				if (!below && !above)
					d.list.push_back(x);
			}
			std::sort(d.list.begin(), d.list.end());
			return d;
		default:
			throw unsupported("a kind of range that the device does not know");
	}
}

Conditions::Conditions(const PartTask &task, const ProgramView &program, PartDevice &device, Scratch &memory)
	: task_(task), program_(program), device_(device), memory_(memory)
{
	for (const GpucolRange &range : program.ranges())
	{
		domains_.push_back(domain_of(program, range));
		if (program.columns()[range.column].kind == GPUCOL_KIND_BYTES && !domains_.back().null_test &&
			domains_.back().host < 0)
			throw unsupported("a range over bytes");
	}
}

/* Order of a chunk's value: the code's, for codings whose order is the codes'. */
static int64_t
order_of_code(const Resident &chunk, uint64_t code)
{
	const GpucolChunkDesc &d = chunk.desc;
	bool		is_float = gpucol_kind_is_float(d.kind);

	if (d.coding == GPUCOL_CODING_SCALED)
	{
		double		x = (double) (int64_t) (d.reference + code) / gpucol_float_power10(d.scale);

		return gpucol_float_order(d.kind == GPUCOL_KIND_FLOAT4 ? (double) (float) x : x);
	}
	if (d.coding == GPUCOL_CODING_DICT)
		return is_float ? gpucol_float_order(gpucol_float_value((GpucolKind) d.kind, chunk.dict[code])) :
			chunk.dict[code];
	return is_float ? gpucol_float_order(gpucol_float_value((GpucolKind) d.kind,
															(int64_t) (chunk.chunk.reference + code))) :
		(int64_t) (d.reference + code);
}

/* Number of codes below which a chunk's codes lie, as 128 bits. */
static uint128
code_count(const Resident &chunk)
{
	if (chunk.desc.coding == GPUCOL_CODING_DICT)
		return chunk.desc.ndict;
	return (uint128) 1 << chunk.chunk.width;
}

/*
 * First code whose order is >= x (or > x), in a chunk whose codes ascend with
 * the order.  FOR of values near the ends of int64 does not wrap: the writer's
 * reference is the least value.
 */
static uint128
first_code(const Resident &chunk, int64_t x, bool strict)
{
	uint128		a = 0,
				n = code_count(chunk);

	if (chunk.desc.coding != GPUCOL_CODING_DICT && chunk.desc.coding != GPUCOL_CODING_SCALED)
	{
		int128		code = (int128) x - chunk.chunk.reference + (strict ? 1 : 0);

		return code < 0 ? 0 : (uint128) code > n ? n : (uint128) code;
	}
	while (n > 0)
	{
		uint128		half = n / 2;
		int64_t		order = order_of_code(chunk, (uint64_t) (a + half));

		if (strict ? order <= x : order < x)
		{
			a += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return a;
}

/* Codes of an IN list, as a bitmap where codes are few, else as a list. */
void
Conditions::codes_of_list(GpucolDeviceRange *r, const Domain &d, const Resident &chunk)
{
	std::vector<uint64_t> codes;

	for (int64_t x : d.list)
	{
		uint128		a = first_code(chunk, x, false),
					b = first_code(chunk, x, true);

		/* several codes may stand for one order: -0 and 0, or what FLOAT4 rounds alike */
		if (codes.size() + (b - a) > MOST_CODES && a < b)
			throw unsupported("a list of values that many codes stand for");
		for (; a < b; a++)
			codes.push_back((uint64_t) a);
	}
	std::sort(codes.begin(), codes.end());
	codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
	if (codes.empty())
		r->test = GPUCOL_TEST_NONE;
	else if (codes.back() - codes.front() + 1 == codes.size())
	{
		r->test = GPUCOL_TEST_RANGE;
		r->lo = codes.front();
		r->hi = codes.back();
	}
	else if (codes.back() < (1u << 20))
	{
		std::vector<uint32_t> bits(codes.back() / 32 + 1, 0);

		for (uint64_t c : codes)
			bits[c / 32] |= 1u << (c % 32);
		r->test = GPUCOL_TEST_BITMAP;
		r->n = codes.back() + 1;
		r->data = device_.upload(bits, memory_);
	}
	else
	{
		r->test = GPUCOL_TEST_LIST;
		r->n = codes.size();
		r->data = device_.upload(codes, memory_);
	}
}

/* A numeric conjunct on a chunk's codes. */
void
Conditions::translate(GpucolDeviceRange *r, const Domain &d, const Resident &chunk)
{
	const GpucolChunkDesc &desc = chunk.desc;
	bool		is_float = gpucol_kind_is_float(desc.kind);
	uint128		a,
				b;

	if (!d.is_list && d.lo > d.hi)
	{
		r->test = GPUCOL_TEST_NONE;
		return;
	}
	if (desc.coding == GPUCOL_CODING_CONSTANT ||
		(is_float && chunk.chunk.width == 0 && desc.coding != GPUCOL_CODING_DICT))
	{
		int64_t		x = order_of_code(chunk, 0);
		bool		in = d.is_list ? std::binary_search(d.list.begin(), d.list.end(), x) : x >= d.lo && x <= d.hi;

		r->test = in ? GPUCOL_TEST_ALL : GPUCOL_TEST_NONE;
		return;
	}
	if (!d.is_list && (desc.flags & GPUCOL_CHUNK_HAS_ZONE) && desc.zone.min <= desc.zone.max)
	{
		if (desc.zone.min > d.hi || desc.zone.max < d.lo)
		{
			r->test = GPUCOL_TEST_NONE;
			return;
		}
		if (desc.zone.min >= d.lo && desc.zone.max <= d.hi)
		{
			r->test = GPUCOL_TEST_ALL;
			return;
		}
	}
	if (is_float && desc.coding != GPUCOL_CODING_DICT && desc.coding != GPUCOL_CODING_SCALED)
	{
		if (d.is_list || desc.coding != GPUCOL_CODING_RAW)
			throw unsupported("a list of values over floats without a dictionary");
		r->test = GPUCOL_TEST_FLOAT;
		r->zone_lo = d.lo;
		r->zone_hi = d.hi;
		return;
	}
	if (d.is_list)
	{
		codes_of_list(r, d, chunk);
		return;
	}
	a = first_code(chunk, d.lo, false);
	b = first_code(chunk, d.hi, true);
	if (a >= b)
		r->test = GPUCOL_TEST_NONE;
	else if (a == 0 && b >= code_count(chunk))
		r->test = GPUCOL_TEST_ALL;
	else
	{
		r->test = GPUCOL_TEST_RANGE;
		r->lo = (uint64_t) a;
		r->hi = (uint64_t) (b - 1);
	}
}

/* Bits of the numbers, as many as `values` has, whose host test came out true. */
template <class Number> static std::vector<uint32_t>
true_bits(const Object &results, uint32_t values, Number number)
{
	std::vector<uint32_t> bits(values / 32 + 1, 0);
	uint32_t	n = results.bytes() - 1;

	for (uint32_t i = 0; i < values; i++)
		if (number(i) < n && results.host[number(i)] == 1)
			bits[i / 32] |= 1u << (i % 32);
	return bits;
}

/* A host test over a chunk's dictionary, or the delta rows' numbers. */
void
Conditions::host_test(GpucolDeviceRange *r, const Domain &d, const Resident &chunk, const Resident *remap, bool delta)
{
	const Object *results = task_.object(GPUCOL_PUT_HOST, d.host, 0);
	std::vector<uint32_t> bits;

	if (results == NULL)
		throw unsupported("a host test without results");
	r->null_passes = results->host[results->bytes() - 1] == 1;
	if (delta)
	{
		r->n = results->bytes() - 1;
		bits = true_bits(*results, r->n, [] (uint32_t i) { return i; });
	}
	else if (chunk.chunk.all_null)
	{
		r->test = GPUCOL_TEST_NONE;
		return;
	}
	else
	{
		if (remap == NULL || remap->numbers.size() <= chunk.chunk.last_entry)
			throw unsupported("a column of bytes without a dictionary");
		r->n = chunk.chunk.last_entry + 1;
		bits = true_bits(*results, r->n, [remap] (uint32_t i) { return remap->numbers[i]; });
	}
	r->test = GPUCOL_TEST_BITMAP;
	r->data = device_.upload(bits, memory_);
}

/* As far as the condition says it by itself; true where there is nothing to be added. */
bool
Conditions::begin(size_t i, GpucolDeviceRange *r) const
{
	const Domain &d = domains_[i];

	*r = {};
	r->slot = slot(i);
	r->invert = d.invert && !d.never;
	r->null_passes = d.null_passes;
	r->test = d.never ? GPUCOL_TEST_NONE : GPUCOL_TEST_ALL;
	return d.never || d.null_test;	/* of IS NULL the inverse of ALL */
}

GpucolDeviceRange
Conditions::on_chunk(size_t i, uint32_t segment, const Resident &chunk)
{
	const Domain &d = domains_[i];
	GpucolDeviceRange r;

	if (begin(i, &r))
		return r;
	if (d.host >= 0)
	{
		host_test(&r, d, chunk, task_.pieces.remap(segment, r.slot), false);
		return r;
	}
	if (chunk.desc.kind == GPUCOL_KIND_DECIMAL && chunk.desc.scale != program_.columns()[r.slot].scale &&
		!chunk.chunk.all_null)
		throw unsupported("a column whose scale was changed");
	if (chunk.chunk.all_null)
	{
		r.test = GPUCOL_TEST_NONE;
		r.invert = 0;
		return r;
	}
	translate(&r, d, chunk);
	if (r.test != GPUCOL_TEST_ALL && r.test != GPUCOL_TEST_NONE && !r.invert && !d.is_list &&
		chunk.zones_useful && chunk.chunk.zones)
	{
		r.use_zones = 1;
		r.zone_lo = d.lo;
		r.zone_hi = d.hi;
	}
	return r;
}

GpucolDeviceRange
Conditions::on_delta(size_t i, const Resident &column)
{
	const Domain &d = domains_[i];
	GpucolDeviceRange r;
	int			kind = column.chunk.kind;

	if (begin(i, &r))
		return r;
	if (d.host >= 0)
		host_test(&r, d, column, NULL, true);
	else if (d.is_list)
	{
		std::vector<uint64_t> codes(d.list.begin(), d.list.end());

		if (gpucol_kind_is_float(kind))
			throw unsupported("a list of values over floats without a dictionary");
		std::sort(codes.begin(), codes.end());
		r.test = GPUCOL_TEST_LIST;
		r.n = codes.size();
		r.data = device_.upload(codes, memory_);
	}
	else if (gpucol_kind_is_float(kind))
	{
		/* a delta column holds FLOAT4 patterns in 64 bits */
		r.test = kind == GPUCOL_KIND_FLOAT4 ? GPUCOL_TEST_FLOAT4 : GPUCOL_TEST_FLOAT;
		r.zone_lo = d.lo;
		r.zone_hi = d.hi;
	}
	else
	{
		/* bounds of signed values, as an offset from the least int64 */
		r.test = GPUCOL_TEST_SIGNED;
		r.lo = (uint64_t) d.lo;
		r.hi = (uint64_t) d.hi;
	}
	return r;
}
