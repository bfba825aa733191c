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
#include "request.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "bound.cuh"
#include "jit_interp.cuh"
#include "jit_reduce.cuh"
#include "kernel/float_order.h"
#include "rank.cuh"
#include "reduce.cuh"
#include "rows.cuh"
#include "scan.cuh"
#include "serve.cuh"
#include "stage.cuh"
#include "tuning.cuh"

typedef __int128 int128;
typedef unsigned __int128 uint128;

/* Rows beyond this could wrap the limbs of a sum. */
static const uint64_t MAX_ROWS = (uint64_t) 1 << 32;

/* Interpreted groups and distinct values to begin with. */
static const uint32_t FIRST_CAPACITY = 1 << 16;

/* Bits that the least float of a sum must keep. */
static const int FLOAT_BITS = 48;

/* Most cells of a dense table of groups. */
static const uint64_t MAX_DENSE_GROUPS = (uint64_t) 1 << 28;

static Failure
unsupported(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, what};
}

/* A range conjunct in the domain of its column's order. */
struct Domain
{
	bool		never = false;	/* false for every row, NULL included */
	bool		invert = false;
	bool		null_test = false;	/* IS [NOT] NULL */
	bool		null_passes = false;
	int64_t		lo = INT64_MIN,
				hi = INT64_MAX;
	std::vector<int64_t> list;	/* IN */
	bool		is_list = false;
	int			host = -1;
};

class Lowering
{
public:
	/*
	 * Compiled kernels that nothing has proven are claimed for `trial`; `on_trial`,
	 * those that it has answer.
	 */
	Lowering(Request &request, Part &part, Lane &lane, JitTrial &trial, bool on_trial)
		: r_(request), part_(part), lane_(lane), p_(request.program()), shape_(request.shape()), stream_(lane.stream()),
		trial_(trial), on_trial_(on_trial) {}

	void		run(Partial *result);

	/* The compiled kernels that were used. */
	const std::vector<JitHandle> &compiled() const { return compiled_; }

private:
	Request    &r_;
	Part	   &part_;
	Lane	   &lane_;
	const GpucolProgram *p_;
	const GpucolRowShape *shape_;	/* what becomes of rows; or NULL */
	cudaStream_t stream_;

	std::vector<Domain> domains_;
	std::vector<GpucolDeviceSegment> segments_;
	std::vector<GpucolDeviceChunk> chunks_;
	std::vector<GpucolDeviceRange> ranges_;
	std::vector<uint32_t> run_start_,
				vector_start_;
	std::vector<std::pair<int64_t, int64_t>> bounds_;	/* of each slot's values */
	std::vector<bool> bounded_,
				nullable_;
	std::vector<int> scales_;	/* of each slot's chunks; -1 = they differ */
	GpucolScanPlan scan_ = {};
	uint64_t	rows_ = 0;
	uint64_t	bytes_ = 0;
	uint64_t	skipped_ = 0;
	bool		deleted_ = false;	/* some segment has deleted rows */
	double		seconds_ = 0;
	std::vector<FloatSum> floats_;	/* of the result's states */
	const char *kernel_ = "";
	JitProgram	jit_program_;	/* of what interp_plan() gave */
	std::vector<JitHandle> compiled_;	/* kernels in use */
	JitTrial   &trial_;
	const bool	on_trial_;

	bool		jit_allowed() const
	{
		return (r_.run_.flags & GPUCOL_WIRE_RUN_JIT) && (rows_ >= GPUCOL_JIT_MIN_ROWS || jit.waits());
	}

	template <class T> const T *array(uint32_t offset) const
	{
		return (const T *) ((const char *) p_ + offset);
	}
	template <class T> T *upload(const std::vector<T> &v);
	template <class T> std::vector<T> download(const T *p, size_t n);
	void		finish(cudaEvent_t begin);
	cudaEvent_t begin();

	void		lower_domains();
	Domain		lower_domain(const GpucolRange &range);
	int64_t		order_constant(const GpucolConst &c, int kind, bool *below, bool *above) const;
	GpucolDeviceRange lower_range(const Domain &d, uint16_t slot, const Resident &chunk, uint32_t segment);
	void		translate(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		codes_of_list(GpucolDeviceRange *r, const Domain &d, const Resident &chunk);
	void		host_bitmap(GpucolDeviceRange *r, const Domain &d, uint32_t segment, uint16_t slot, const Resident &chunk);
	void		note_bounds(uint32_t slot, int64_t lo, int64_t hi, bool null, bool known, int scale);
	void		add_segment(uint32_t segment);
	void		add_delta();
	void		build_scan();

	int			plain_slot(uint16_t reg) const;
	bool		offset_column(int slot, GpucolOffsetColumn *column) const;
	bool		plain_aggregates() const;
	bool		run_count(std::vector<char> *data);
	bool		run_reduce(std::vector<char> *data);
	bool		run_group(std::vector<char> *data, uint64_t *nrows);
	void		run_aggregate(std::vector<char> *data, uint64_t *nrows);
	void		run_scan(std::vector<char> *data, uint64_t *nrows);
	void		check_shape() const;
	bool		filters() const;
	int			value_slot(uint16_t reg) const;
	uint64_t	find_matches(GpucolInterpPlan *plan);
	void		select_top(GpucolInterpPlan *plan);
	void		select(GpucolInterpPlan *plan);
	bool		load_plain(const GpucolInterpPlan &plan, uint64_t n, std::vector<GpucolRankColumn> *columns);
	void		load_interpreted(GpucolInterpPlan *plan, uint64_t n, std::vector<GpucolRankColumn> *columns);
	void		run_ranked(std::vector<char> *data, uint64_t *nrows);
	GpucolInterpPlan interp_plan();
	void		interpret(InterpMode mode, const GpucolInterpPlan &plan);
	const void *use(const JitHandle &kernel);
	GpucolStatus error_of(const GpucolInterpPlan &plan);
};

static char *
extend(std::vector<char> *data, size_t n)
{
	size_t		at = data->size();

	data->resize(at + (n + 7) / 8 * 8);
	return data->data() + at;
}

static void
set128(GpucolAggState *s, bool second, int128 x)
{
	uint64_t	lo = (uint64_t) x;
	int64_t		hi = (int64_t) (x >> 64);

	if (second)
	{
		s->w.i.lo = lo;
		s->w.i.hi = hi;
	}
	else
	{
		s->v.i.lo = lo;
		s->v.i.hi = hi;
	}
}

template <class T> T *
Lowering::upload(const std::vector<T> &v)
{
	T		   *p = part_.scratch->array<T>(v.size() + 1, "the plan of the query");

	device_check(cudaMemcpyAsync(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice, stream_),
				 "could not copy to the device");
	return p;
}

template <class T> std::vector<T>
Lowering::download(const T *p, size_t n)
{
	std::vector<T> v(n);

	device_check(cudaMemcpyAsync(v.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost, stream_),
				 "could not copy from the device");
	device_wait(stream_);
	return v;
}

cudaEvent_t
Lowering::begin()
{
	cudaEvent_t e;

	device_check(cudaEventCreateWithFlags(&e, cudaEventDefault), "event");
	device_check(cudaEventRecord(e, stream_), "event");
	return e;
}

/* Wait for the launched work; account its time. */
void
Lowering::finish(cudaEvent_t from)
{
	cudaEvent_t to = begin();
	bool		done;
	float		ms = 0;

	device_wait(stream_);
	done = !r_.cancelled_;
	if (done)
		device_check(cudaEventElapsedTime(&ms, from, to), "event");
	seconds_ += ms / 1e3;
	cudaEventDestroy(from);
	cudaEventDestroy(to);
	if (!done)
		throw Failure{GPUCOL_CANCELLED, "cancelled"};
}

/* ---- ranges ---- */

/*
 * A constant in the order of its column; below or above if it lies outside
 * every value of the domain.
 */
int64_t
Lowering::order_constant(const GpucolConst &c, int kind, bool *below, bool *above) const
{
	*below = *above = false;
	if (kind == GPUCOL_KIND_FLOAT4 || kind == GPUCOL_KIND_FLOAT8)
		return gpucol_float_order(c.v.f);
	if (c.cls == GPUCOL_CLASS_D)
	{
		*below = c.v.d.hi < 0 && (c.v.d.hi != -1 || (int64_t) c.v.d.lo >= 0);
		*above = c.v.d.hi > 0 || (c.v.d.hi == 0 && (int64_t) c.v.d.lo < 0);
		return *below ? INT64_MIN : *above ? INT64_MAX : (int64_t) c.v.d.lo;
	}
	return c.v.i;
}

Domain
Lowering::lower_domain(const GpucolRange &range)
{
	const GpucolConst *consts = array<GpucolConst>(p_->consts);
	int			kind = array<GpucolProgramColumn>(p_->columns)[range.column].kind;
	Domain		d;
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

void
Lowering::lower_domains()
{
	for (int i = 0; i < p_->nranges; i++)
	{
		const GpucolRange &range = array<GpucolRange>(p_->ranges)[i];

		domains_.push_back(lower_domain(range));
		if (array<GpucolProgramColumn>(p_->columns)[range.column].kind == GPUCOL_KIND_BYTES &&
			!domains_.back().null_test && domains_.back().host < 0)
			throw unsupported("a range over bytes");
	}
}

/* Order of a chunk's value: the code's, for codings whose order is the codes'. */
static int64_t
order_of_code(const Resident &chunk, uint64_t code)
{
	const GpucolChunkDesc &d = chunk.desc;
	bool		is_float = d.kind == GPUCOL_KIND_FLOAT4 || d.kind == GPUCOL_KIND_FLOAT8;

	if (d.coding == GPUCOL_CODING_SCALED)
	{
		double		x = (double) (int64_t) (d.reference + code) / gpucol_float_power10(d.scale);

		return gpucol_float_order(d.kind == GPUCOL_KIND_FLOAT4 ? (double) (float) x : x);
	}
	if (d.coding == GPUCOL_CODING_DICT)
		return is_float ? gpucol_float_order(gpucol_float_value((GpucolKind) d.kind, chunk.dict[code])) : chunk.dict[code];
	return is_float ? gpucol_float_order(gpucol_float_value((GpucolKind) d.kind, (int64_t) (chunk.chunk.reference + code))) :
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
Lowering::codes_of_list(GpucolDeviceRange *r, const Domain &d, const Resident &chunk)
{
	std::vector<uint64_t> codes;

	for (int64_t x : d.list)
	{
		uint128		a = first_code(chunk, x, false),
					b = first_code(chunk, x, true);

		/* several codes may stand for one order: -0 and 0 */
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
		r->data = upload(bits);
	}
	else
	{
		r->test = GPUCOL_TEST_LIST;
		r->n = codes.size();
		r->data = upload(codes);
	}
}

/* A numeric conjunct on a chunk's codes. */
void
Lowering::translate(GpucolDeviceRange *r, const Domain &d, const Resident &chunk)
{
	const GpucolChunkDesc &desc = chunk.desc;
	bool		is_float = desc.kind == GPUCOL_KIND_FLOAT4 || desc.kind == GPUCOL_KIND_FLOAT8;
	uint128		a,
				b;

	if (!d.is_list && d.lo > d.hi)
	{
		r->test = GPUCOL_TEST_NONE;
		return;
	}
	if (desc.coding == GPUCOL_CODING_CONSTANT || (is_float && chunk.chunk.width == 0 && desc.coding != GPUCOL_CODING_DICT))
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

/* A host test over a chunk's dictionary. */
void
Lowering::host_bitmap(GpucolDeviceRange *r, const Domain &d, uint32_t segment,
					  uint16_t slot, const Resident &chunk)
{
	Incoming   *results = r_.object(GPUCOL_PUT_HOST, d.host, 0);
	uint32_t	n;
	std::vector<uint32_t> bits;

	if (results == NULL)
		throw unsupported("a host test without results");
	n = results->total - 1;
	r->null_passes = results->host[n] == 1;
	if (segment == UINT32_MAX)	/* delta: codes are numbers */
	{
		bits.resize(n / 32 + 1, 0);
		for (uint32_t i = 0; i < n; i++)
			if (results->host[i] == 1)
				bits[i / 32] |= 1u << (i % 32);
		r->n = n;
	}
	else
	{
		const Resident *remap = r_.remap(segment, slot);

		if (chunk.chunk.all_null)
		{
			r->test = GPUCOL_TEST_NONE;
			return;
		}
		if (remap == NULL || remap->numbers.size() <= chunk.chunk.last_entry)
			throw unsupported("a column of bytes without a dictionary");

		const std::vector<uint32_t> &numbers = remap->numbers;

		bits.resize(chunk.chunk.last_entry / 32 + 1, 0);
		for (uint32_t i = 0; i <= chunk.chunk.last_entry; i++)
			if (numbers[i] < n && results->host[numbers[i]] == 1)
				bits[i / 32] |= 1u << (i % 32);
		r->n = chunk.chunk.last_entry + 1;
	}
	r->test = GPUCOL_TEST_BITMAP;
	r->data = upload(bits);
}

GpucolDeviceRange
Lowering::lower_range(const Domain &d, uint16_t slot, const Resident &chunk, uint32_t segment)
{
	GpucolDeviceRange r = {};

	r.slot = slot;
	r.invert = d.invert;
	r.null_passes = d.null_passes;
	if (d.never)
	{
		r.test = GPUCOL_TEST_NONE;
		r.invert = 0;
		return r;
	}
	if (d.null_test)
		return r;				/* ALL, inverted for IS NULL */
	if (d.host >= 0)
	{
		host_bitmap(&r, d, segment, slot, chunk);
		return r;
	}
	if (chunk.desc.kind == GPUCOL_KIND_DECIMAL &&
		chunk.desc.scale != array<GpucolProgramColumn>(p_->columns)[slot].scale && !chunk.chunk.all_null)
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

/* ---- the scan ---- */

/* Widen what is known of a slot's values. */
void
Lowering::note_bounds(uint32_t slot, int64_t lo, int64_t hi, bool null, bool known, int scale)
{
	if (null)
		nullable_[slot] = true;
	if (lo <= hi)
	{
		bounds_[slot].first = std::min(bounds_[slot].first, lo);
		bounds_[slot].second = std::max(bounds_[slot].second, hi);
	}
	if (!known)
		bounded_[slot] = false;
	if (scales_[slot] == -2)
		scales_[slot] = scale;
	else if (scales_[slot] != scale)
		scales_[slot] = -1;
}

/* Add a resident segment unless its zone maps exclude it. */
void
Lowering::add_segment(uint32_t s)
{
	const GpucolWireSegment &wire = r_.segment(s);
	std::vector<GpucolDeviceRange> ranges;
	GpucolDeviceSegment segment = {NULL, wire.nrows, s};
	Resident   *const *resident = r_.chunks(s);

	for (int i = 0; i < p_->nranges; i++)
	{
		uint16_t	slot = array<GpucolRange>(p_->ranges)[i].column;
		GpucolDeviceRange r = lower_range(domains_[i], slot, *resident[slot], s);
		bool		nulls = resident[slot]->chunk.all_null || resident[slot]->chunk.nulls;

		ranges.push_back(r);
		if ((r.test == GPUCOL_TEST_NONE && !r.invert && !(r.null_passes && nulls)) ||
			(r.test == GPUCOL_TEST_ALL && r.invert && !(r.null_passes && nulls)))
		{
			skipped_++;
			return;
		}
	}
	if (wire.ndeleted > 0)
	{
		segment.deleted = (const uint32_t *) r_.deleted(s)->memory;
		deleted_ = true;
	}
	for (uint32_t c = 0; c < r_.run_.ncolumns; c++)
	{
		GpucolDeviceChunk chunk = resident[c]->chunk;
		const GpucolChunkDesc &d = resident[c]->desc;
		int64_t		lo = d.reference,
					hi = d.reference;
		bool		known = true;

		if (d.kind == GPUCOL_KIND_BYTES && !chunk.all_null)
		{
			const Resident *remap = r_.remap(s, c);

			if (remap != NULL)
			{
				if (remap->numbers.size() <= chunk.last_entry || (c < 16 && remap->most >= r_.run_.distinct[c]))
					throw Failure{GPUCOL_UNSUPPORTED, "numbers of a dictionary are missing"};
				chunk.remap = (const uint32_t *) remap->memory;
				chunk.coding = GPUCOL_CODING_DICT;
			}
			lo = 0;
			hi = c < 16 && r_.run_.distinct[c] > 0 ? (int64_t) r_.run_.distinct[c] - 1 : 0;
			known = remap != NULL && c < 16 && r_.run_.distinct[c] > 0;
		}
		else if (chunk.all_null)
			lo = 0, hi = -1;
		else if (d.flags & GPUCOL_CHUNK_HAS_ZONE)
			lo = d.zone.min, hi = d.zone.max;
		else if (d.coding == GPUCOL_CODING_DICT)
			lo = resident[c]->dict.front(), hi = resident[c]->dict.back();
		else if (d.coding != GPUCOL_CODING_CONSTANT)
		{
			known = d.width <= 40;
			hi = known ? lo + (int64_t) (((uint64_t) 1 << d.width) - 1) : lo;
			known = known && hi >= lo;
		}
		note_bounds(c, lo, hi, chunk.all_null || chunk.nulls, known, d.scale);
		chunks_.push_back(chunk);
		bytes_ += (uint64_t) GPUCOL_VECTORS(wire.nrows) * chunk.width * GPUCOL_ROW_BYTES;
	}
	segments_.push_back(segment);
	ranges_.insert(ranges_.end(), ranges.begin(), ranges.end());
	rows_ += wire.nrows;
}

/* Add the delta rows as a segment of plain 64-bit values. */
void
Lowering::add_delta()
{
	GpucolDeviceSegment segment = {NULL, (uint32_t) r_.run_.delta_rows, r_.run_.nsegments};
	const GpucolProgramColumn *columns = array<GpucolProgramColumn>(p_->columns);
	std::vector<Resident> made(r_.run_.ncolumns);

	if (r_.run_.delta_rows == 0)
		return;
	if (r_.run_.delta_rows > UINT32_MAX - GPUCOL_VECTOR_VALUES)
		throw unsupported("more delta rows than the device takes");

	size_t		nvectors = GPUCOL_VECTORS(r_.run_.delta_rows);

	for (uint32_t c = 0; c < r_.run_.ncolumns; c++)
	{
		Incoming   *codes = r_.object(GPUCOL_PUT_DELTA_CODES, 0, c);
		Incoming   *nulls = r_.object(GPUCOL_PUT_DELTA_NULLS, 0, c);
		GpucolDeviceChunk &chunk = made[c].chunk;
		int64_t		lo = INT64_MAX,
					hi = INT64_MIN;
		bool		is_float = columns[c].kind == GPUCOL_KIND_FLOAT4 || columns[c].kind == GPUCOL_KIND_FLOAT8;

		if (codes == NULL || codes->total != nvectors * 64 * GPUCOL_ROW_BYTES ||
			(nulls != NULL && nulls->total != nvectors * GPUCOL_ROW_BYTES))
			throw Failure{GPUCOL_UNSUPPORTED, "delta rows are missing"};
		chunk = GpucolDeviceChunk();
		chunk.codes = (const uint32_t *) codes->device[part_.share];
		chunk.nulls = nulls ? (const uint32_t *) nulls->device[part_.share] : NULL;
		chunk.width = 64;
		chunk.kind = columns[c].kind;
		chunk.coding = is_float ? GPUCOL_CODING_RAW : GPUCOL_CODING_FOR;
		chunk.scale = columns[c].scale;
		made[c].desc = GpucolChunkDesc();
		made[c].desc.kind = chunk.kind;
		made[c].desc.coding = chunk.coding;
		made[c].desc.width = 64;
		made[c].desc.scale = chunk.scale;
		made[c].zones_useful = false;
		for (uint64_t r = 0; r < r_.run_.delta_rows; r++)
		{
			const uint32_t *v = (const uint32_t *) codes->host.data() + r / 1024 * 2048;
			int64_t		x = (int64_t) ((uint64_t) v[1024 + r % 1024] << 32 | v[r % 1024]);

			lo = std::min(lo, x);
			hi = std::max(hi, x);
		}
		note_bounds(c, lo, hi, nulls != NULL, !is_float, chunk.scale);
		chunks_.push_back(chunk);
	}
	for (int i = 0; i < p_->nranges; i++)
	{
		uint16_t	slot = array<GpucolRange>(p_->ranges)[i].column;
		Domain	   &d = domains_[i];
		GpucolDeviceRange r = {};

		r.slot = slot;
		r.invert = d.invert;
		r.null_passes = d.null_passes;
		if (d.never)
			r.test = GPUCOL_TEST_NONE, r.invert = 0;
		else if (d.null_test)
			r.test = GPUCOL_TEST_ALL;
		else if (d.host >= 0)
			host_bitmap(&r, d, UINT32_MAX, slot, made[slot]);
		else if (d.is_list || columns[slot].kind == GPUCOL_KIND_FLOAT4 || columns[slot].kind == GPUCOL_KIND_FLOAT8)
		{
			bool		is_float = columns[slot].kind == GPUCOL_KIND_FLOAT4 || columns[slot].kind == GPUCOL_KIND_FLOAT8;

			if (d.is_list)
			{
				std::vector<uint64_t> codes(d.list.begin(), d.list.end());

				if (is_float)
					throw unsupported("a list of values over floats without a dictionary");
				std::sort(codes.begin(), codes.end());
				r.test = GPUCOL_TEST_LIST;
				r.n = codes.size();
				r.data = upload(codes);
			}
			else
			{
				/* a delta column holds FLOAT4 patterns in 64 bits */
				r.test = GPUCOL_TEST_FLOAT;
				r.zone_lo = d.lo;
				r.zone_hi = d.hi;
				if (columns[slot].kind == GPUCOL_KIND_FLOAT4)
					r.test = GPUCOL_TEST_FLOAT4;
			}
		}
		else
		{
			/* bounds of signed values, as an offset from the least int64 */
			r.test = GPUCOL_TEST_SIGNED;
			r.lo = (uint64_t) d.lo;
			r.hi = (uint64_t) d.hi;
		}
		ranges_.push_back(r);
	}
	segments_.push_back(segment);
	rows_ += r_.run_.delta_rows;
}

void
Lowering::build_scan()
{
	uint32_t	runs = 0,
				vectors = 0;
	uint32_t	first_runs = 0;
	bool		alike = true;

	bounds_.assign(r_.run_.ncolumns, {INT64_MAX, INT64_MIN});
	bounded_.assign(r_.run_.ncolumns, true);
	nullable_.assign(r_.run_.ncolumns, false);
	scales_.assign(r_.run_.ncolumns, -2);
	lower_domains();
	for (uint32_t s : part_.segments)
		add_segment(s);
	if (part_.delta)
		add_delta();
	if (rows_ >= MAX_ROWS)
		throw unsupported("more rows than one request takes");
	for (size_t s = 0; s < segments_.size(); s++)
	{
		uint32_t	n = GPUCOL_VECTORS(segments_[s].nrows),
					r = (n + GPUCOL_RUN_VECTORS - 1) / GPUCOL_RUN_VECTORS;

		run_start_.push_back(runs);
		vector_start_.push_back(vectors);
		if (s == 0)
			first_runs = r;
		else if (s + 1 < segments_.size())
			alike = alike && r == first_runs;
		else
			alike = alike && r <= first_runs;
		runs += r;
		vectors += n;
	}
	run_start_.push_back(runs);
	vector_start_.push_back(vectors);
	scan_.segments = upload(segments_);
	scan_.run_start = upload(run_start_);
	scan_.vector_start = upload(vector_start_);
	scan_.chunks = upload(chunks_);
	scan_.ranges = upload(ranges_);
	scan_.nsegments = segments_.size();
	scan_.ncolumns = r_.run_.ncolumns;
	scan_.nranges = p_->nranges;
	scan_.nruns = runs;
	scan_.nvectors = vectors;
	scan_.run_shift = alike && first_runs > 0 && (first_runs & (first_runs - 1)) == 0 ? __builtin_ctz(first_runs) : -1;
	scan_.cancel = lane_.cancel_word();
}

/* ---- plain columns ---- */

/* Column slot that a register loads as it is, or -1. */
int
Lowering::plain_slot(uint16_t reg) const
{
	for (int i = 0; i < p_->ninstrs; i++)
	{
		const GpucolInstr &in = array<GpucolInstr>(p_->instrs)[i];

		if (in.dst != reg)
			continue;
		if (in.op == GPUCOL_OP_LOAD_I || in.op == GPUCOL_OP_LOAD_B || in.op == GPUCOL_OP_LOAD_S)
			return in.aux;
		if (in.op == GPUCOL_OP_LOAD_D &&
			(scales_[in.aux] == -2 || scales_[in.aux] == array<GpucolProgramColumn>(p_->columns)[in.aux].scale))
			return in.aux;
		return -1;
	}
	return -1;
}

/* A slot as 32-bit offsets, if its values allow. */
bool
Lowering::offset_column(int slot, GpucolOffsetColumn *column) const
{
	int64_t		lo,
				hi;

	if (slot < 0 || !bounded_[slot])
		return false;
	lo = bounds_[slot].first;
	hi = bounds_[slot].second;
	if (lo > hi)
		lo = hi = 0;
	if ((uint128) ((int128) hi - lo) >= ((uint128) 1 << 32) - 1)
		return false;
	column->slot = slot;
	column->nullable = nullable_[slot];
	column->unused = 0;
	column->base = lo;
	return true;
}

/* Are all aggregates counts, sums and extremes of plain offsets, unfiltered? */
bool
Lowering::plain_aggregates() const
{
	GpucolOffsetColumn column;

	if (p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0)
		return false;

	/* an expression may fail on some row even if no aggregate shows its value */
	for (int i = 0; i < p_->ninstrs; i++)
		if (array<GpucolInstr>(p_->instrs)[i].op > GPUCOL_OP_LOAD_S)
			return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.filter != GPUCOL_NO_REG)
			return false;
		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		if (agg.op != GPUCOL_AGG_COUNT && agg.op != GPUCOL_AGG_SUM &&
			agg.op != GPUCOL_AGG_MIN && agg.op != GPUCOL_AGG_MAX)
			return false;
		if (agg.cls != GPUCOL_CLASS_I && agg.cls != GPUCOL_CLASS_D)
			return false;
		if (!offset_column(plain_slot(agg.arg), &column))
			return false;
	}
	return true;
}

/* A state of a plain aggregate from counts and offsets. */
static GpucolAggState
plain_state(int op, int cls, uint64_t rows, uint64_t count, uint64_t sum,
			uint64_t least, uint64_t greatest, int64_t base)
{
	GpucolAggState s;

	memset(&s, 0, sizeof(s));
	s.count = op == GPUCOL_AGG_COUNT_STAR ? rows : count;
	if (op == GPUCOL_AGG_SUM)
		set128(&s, false, (int128) sum + (int128) base * (int128) count);
	else if ((op == GPUCOL_AGG_MIN || op == GPUCOL_AGG_MAX) && count > 0)
	{
		int64_t		x = base + (int64_t) (op == GPUCOL_AGG_MIN ? least : greatest);

		if (cls == GPUCOL_CLASS_D)
			set128(&s, false, x);
		else
			s.v.value = x;
	}
	return s;
}

bool
Lowering::run_count(std::vector<char> *data)
{
	unsigned long long *out;
	unsigned long long n;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->filter != GPUCOL_NO_REG || p_->ninstrs > 0)
		return false;
	for (int i = 0; i < p_->naggs; i++)
		if (array<GpucolAgg>(p_->aggs)[i].op != GPUCOL_AGG_COUNT_STAR ||
			array<GpucolAgg>(p_->aggs)[i].filter != GPUCOL_NO_REG)
			return false;
	kernel_ = "count";
	out = part_.scratch->array<unsigned long long>(1, "the result");
	e = begin();
	device_check(cudaMemsetAsync(out, 0, 8, stream_), "memset");
	device_check(gpucol_scan_count(scan_, out, stream_), "scan");
	device_check(cudaMemcpyAsync(&n, out, 8, cudaMemcpyDeviceToHost, stream_), "result");
	finish(e);
	for (int i = 0; i < p_->naggs; i++)
	{
		GpucolAggState s = plain_state(GPUCOL_AGG_COUNT_STAR, 0, n, n, 0, 0, 0, 0);

		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}

bool
Lowering::run_reduce(std::vector<char> *data)
{
	std::vector<int> slots;
	std::vector<unsigned long long> words;
	unsigned long long *out;
	cudaEvent_t e;

	if (p_->nkeys > 0 || p_->naggs == 0 || !plain_aggregates())
		return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];

		if (agg.op != GPUCOL_AGG_COUNT_STAR &&
			std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) == slots.end())
			slots.push_back(plain_slot(agg.arg));
	}
	if (slots.empty())
		return false;
	kernel_ = "reduce";
	for (size_t i = 0; i < slots.size(); i++)
		words.insert(words.end(), {0, 0, 0, ~0ull, 0});
	out = upload(words);
	e = begin();
	for (size_t i = 0; i < slots.size(); i++)
	{
		GpucolOffsetColumn column;
		bool		extremes = false;

		offset_column(slots[i], &column);
		for (int a = 0; a < p_->naggs; a++)
		{
			const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[a];

			extremes |= (agg.op == GPUCOL_AGG_MIN || agg.op == GPUCOL_AGG_MAX) && plain_slot(agg.arg) == slots[i];
		}
		device_check(gpucol_scan_reduce(scan_, column, extremes, out + 5 * i, stream_), "reduce");
	}
	finish(e);
	words = download(out, words.size());
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		size_t		at = 0;
		GpucolOffsetColumn column = {};
		GpucolAggState s;

		if (agg.op != GPUCOL_AGG_COUNT_STAR)
		{
			at = std::find(slots.begin(), slots.end(), plain_slot(agg.arg)) - slots.begin();
			offset_column(slots[at], &column);
		}

		const unsigned long long *w = words.data() + 5 * at;

		s = plain_state(agg.op, agg.cls, w[0], w[1], w[2], w[3], w[4], column.base);
		memcpy(extend(data, sizeof(s)), &s, sizeof(s));
	}
	return true;
}

/* Groups of a dense table that have rows. */
struct HasRows
{
	const unsigned long long *table;
	uint32_t	nwords;

	__device__ bool
	operator()(uint32_t group) const
	{
		return table[(size_t) group * nwords] != 0;
	}
};

__global__ void
gather_groups_kernel(const unsigned long long *table, uint32_t nwords,
					 const uint32_t *groups, uint32_t n, unsigned long long *out)
{
	size_t		step = (size_t) gridDim.x * blockDim.x;

	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < (size_t) n * nwords; i += step)
		out[i] = table[(size_t) groups[i / nwords] * nwords + i % nwords];
}

bool
Lowering::run_group(std::vector<char> *data, uint64_t *nrows)
{
	GpucolReducePlan plan = {};
	uint64_t	groups = 1;
	std::vector<uint32_t> ids;
	std::vector<unsigned long long> words;
	uint32_t   *list,
			   *found;
	uint32_t	n;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e;
	int			nwords = 1;
	const void *compiled = NULL;

	if (p_->nkeys == 0 || p_->nkeys > GPUCOL_MAX_KEYS || !plain_aggregates())
		return false;
	for (int k = 0; k < p_->nkeys; k++)
	{
		int			slot = plain_slot(array<uint16_t>(p_->keys)[k]);
		uint64_t	card;

		if (!offset_column(slot, &plan.keys[k]))
			return false;
		card = bounds_[slot].first <= bounds_[slot].second ?
			(uint64_t) (bounds_[slot].second - bounds_[slot].first) + 1 : 1;
		card += nullable_[slot];
		plan.strides[k] = groups;
		plan.cards[k] = card;
		groups *= card;
		if (groups > MAX_DENSE_GROUPS)
			return false;
	}
	if (groups > 65536 && groups > 2 * rows_)
		return false;
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		int			slot;
		uint32_t	at = 0;

		if (agg.op == GPUCOL_AGG_COUNT_STAR)
			continue;
		slot = plain_slot(agg.arg);
		while (at < plan.ninputs && plan.inputs[at].column.slot != slot)
			at++;
		if (at == plan.ninputs)
		{
			if (at == GPUCOL_MAX_INPUTS)
				return false;
			offset_column(slot, &plan.inputs[at].column);
			plan.ninputs++;
		}
		plan.inputs[at].ops |= GPUCOL_REDUCE_COUNT |
			(agg.op == GPUCOL_AGG_SUM ? GPUCOL_REDUCE_SUM : 0) |
			(agg.op == GPUCOL_AGG_MIN ? GPUCOL_REDUCE_MIN : 0) |
			(agg.op == GPUCOL_AGG_MAX ? GPUCOL_REDUCE_MAX : 0);
	}
	for (uint32_t i = 0; i < plan.ninputs; i++)
		nwords += __builtin_popcount(plan.inputs[i].ops);
	if (nwords > 16)
		return false;
	plan.scan = scan_;
	plan.nkeys = p_->nkeys;
	plan.ngroups = groups;
	gpucol_reduce_layout(&plan);
	if (jit_allowed())
		compiled = use(gpucol_jit_reduce(plan, chunks_, deleted_));
	kernel_ = "group";
	plan.table = part_.scratch->array<unsigned long long>(groups * plan.nwords, "the groups");
	list = part_.scratch->array<uint32_t>(groups + 1, "the groups");
	found = list + groups;

	HasRows		has_rows = {plan.table, plan.nwords};
	thrust::counting_iterator<uint32_t> first(0);

	device_check(cub::DeviceSelect::If(NULL, bytes, first, list, found, (int) groups, has_rows, stream_), "select");
	temp = part_.scratch->allocate(bytes, "the groups");
	e = begin();
	device_check(gpucol_reduce_init(plan, stream_), "group");
	device_check(compiled ? gpucol_reduce_compiled(compiled, plan, stream_) :
				 gpucol_reduce_groups(plan, stream_), "group");
	device_check(cub::DeviceSelect::If(temp, bytes, first, list, found, (int) groups, has_rows, stream_), "select");
	device_check(cudaMemcpyAsync(&n, found, 4, cudaMemcpyDeviceToHost, stream_), "result");
	finish(e);
	if (n > 0)
	{
		unsigned long long *out = part_.scratch->array<unsigned long long>((size_t) n * plan.nwords, "the result");

		gather_groups_kernel<<<512, 256, 0, stream_>>>(plan.table, plan.nwords, list, n, out);
		device_check(cudaGetLastError(), "result");
		ids = download(list, n);
		words = download(out, (size_t) n * plan.nwords);
	}
	*nrows = n;
	for (int k = 0; k < p_->nkeys; k++)
	{
		int			cls = array<uint8_t>(p_->reg_classes)[array<uint16_t>(p_->keys)[k]];
		int			width = cls == GPUCOL_CLASS_D ? 2 : 1;
		size_t		at = data->size();
		int64_t    *values;
		uint8_t    *nulls;

		extend(data, (size_t) n * 8 * width);
		extend(data, n);
		values = (int64_t *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) n * width);
		for (uint32_t g = 0; g < n; g++)
		{
			uint32_t	offset = ids[g] / plan.strides[k] % plan.cards[k];
			bool		null = plan.keys[k].nullable && offset == plan.cards[k] - 1;
			int64_t		x = null ? 0 : plan.keys[k].base + offset;

			nulls[g] = null;
			values[(size_t) g * width] = x;
			if (width == 2)
				values[2 * (size_t) g + 1] = x >> 63;
		}
	}

	GpucolAggState *states = (GpucolAggState *) extend(data, (size_t) n * p_->naggs * sizeof(GpucolAggState));

	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		const GpucolReduceInput *in = NULL;

		for (uint32_t j = 0; agg.op != GPUCOL_AGG_COUNT_STAR && j < plan.ninputs; j++)
			if (plan.inputs[j].column.slot == plain_slot(agg.arg))
				in = &plan.inputs[j];
		for (uint32_t g = 0; g < n; g++)
		{
			const unsigned long long *w = words.data() + (size_t) g * plan.nwords;

			states[(size_t) g * p_->naggs + i] = in == NULL ?
				plain_state(agg.op, agg.cls, w[0], w[0], 0, 0, 0, 0) :
				plain_state(agg.op, agg.cls, w[0], w[in->count],
							in->ops & GPUCOL_REDUCE_SUM ? w[in->sum] : 0,
							in->ops & GPUCOL_REDUCE_MIN ? w[in->min] : 0,
							in->ops & GPUCOL_REDUCE_MAX ? w[in->max] : 0, in->column.base);
		}
	}
	return true;
}

/* ---- interpreted ---- */

GpucolInterpPlan
Lowering::interp_plan()
{
	GpucolInterpPlan plan = {};
	std::vector<GpucolInstr> instrs(array<GpucolInstr>(p_->instrs), array<GpucolInstr>(p_->instrs) + p_->ninstrs);
	std::vector<GpucolConst> consts(array<GpucolConst>(p_->consts), array<GpucolConst>(p_->consts) + p_->nconsts);
	std::vector<const uint8_t *> host(GPUCOL_WIRE_MAX_HOST, NULL);
	std::vector<uint32_t> host_size(GPUCOL_WIRE_MAX_HOST, 0);
	const GpucolProgramColumn *columns = array<GpucolProgramColumn>(p_->columns);
	std::vector<uint64_t> none(1, ~0ull);

	for (GpucolInstr &in : instrs)
	{
		if (in.op == GPUCOL_OP_IN_I)
		{
			in.aux = 0;
			for (int i = 0; i < in.c; i++)
				in.aux |= consts[in.b + i].isnull != 0;
		}
		if (in.op == GPUCOL_OP_HOST_TEST)
		{
			Incoming   *results = r_.object(GPUCOL_PUT_HOST, in.aux, 0);

			if (results == NULL)
				throw unsupported("a host test without results");
			host[in.aux] = (const uint8_t *) results->device[part_.share];
			host_size[in.aux] = results->total - 1;
		}
		if (in.op == GPUCOL_OP_LOAD_D)
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				if (!chunk.all_null && (chunk.kind != GPUCOL_KIND_DECIMAL || chunk.scale > columns[in.aux].scale))
					throw unsupported("a column whose scale was changed");
			}
		if (in.op == GPUCOL_OP_LOAD_S)
			for (size_t s = 0; s < segments_.size(); s++)
			{
				const GpucolDeviceChunk &chunk = chunks_[s * r_.run_.ncolumns + in.aux];

				if (!chunk.all_null && chunk.remap == NULL && chunk.width > 0 && segments_[s].number < r_.run_.nsegments)
					throw unsupported("a column of bytes without a dictionary");
			}
	}
	jit_program_ = {instrs, p_->nfilter_instrs, p_->filter,
		std::vector<uint16_t>(array<uint16_t>(p_->keys), array<uint16_t>(p_->keys) + p_->nkeys),
		std::vector<uint8_t>(array<uint8_t>(p_->reg_classes), array<uint8_t>(p_->reg_classes) + p_->nregs),
		{}, {}, 0, &chunks_, r_.run_.ncolumns};
	plan.scan = scan_;
	plan.instrs = upload(instrs);
	plan.consts = upload(consts);
	plan.columns = upload(std::vector<GpucolProgramColumn>(columns, columns + p_->ncolumns));
	plan.keys = upload(jit_program_.keys);
	plan.classes = upload(jit_program_.classes);
	plan.host = upload(host);
	plan.host_size = upload(host_size);
	plan.ninstrs = p_->ninstrs;
	plan.nfilter_instrs = p_->nfilter_instrs;
	plan.filter = p_->filter;
	plan.nkeys = p_->nkeys;
	plan.error = (unsigned long long *) upload(none);
	device_check(cudaStreamSynchronize(stream_), "could not copy to the device");
	return plan;
}

/* The function of a compiled kernel if it may be used, else NULL. */
const void *
Lowering::use(const JitHandle &kernel)
{
	if (!kernel || kernel->rejected())
		return NULL;
	if (!kernel->proven() && !on_trial_)
		trial_.claim(kernel);
	if (!kernel->proven() && !(on_trial_ && trial_.has(kernel)))
		return NULL;
	compiled_.push_back(kernel);
	return kernel->function();
}

/* Run the program in one mode, by a kernel of its own if there is one. */
void
Lowering::interpret(InterpMode mode, const GpucolInterpPlan &plan)
{
	const void *compiled = jit_allowed() ? use(gpucol_jit_interp(mode, jit_program_)) : NULL;

	device_check(gpucol_interp_launch(mode, plan, compiled, stream_), "program");
}

/* What the rows' errors come to. */
GpucolStatus
Lowering::error_of(const GpucolInterpPlan &plan)
{
	unsigned long long e = download(plan.error, 1)[0];

	return e == ~0ull ? GPUCOL_OK : (GpucolStatus) (e & 0xff);
}

/* Accumulators of the aggregates, shared where equal. */
struct Accumulators
{
	std::vector<GpucolAcc> accs;
	int			nwords = 0;

	int
	find(GpucolAccOp op, const GpucolAgg &agg)
	{
		static const int words[] = {1, 2, 3, 6, 3, 3, 1, 1, 1};
		uint16_t	arg = agg.op == GPUCOL_AGG_COUNT_STAR ? GPUCOL_NO_REG : agg.arg;

		for (size_t i = 0; i < accs.size(); i++)
			if (accs[i].op == op && accs[i].arg == arg && accs[i].filter == agg.filter)
				return i;
		accs.push_back({(uint8_t) op, agg.cls, arg, agg.filter, (uint16_t) nwords, 0, 0});
		nwords += words[op];
		return accs.size() - 1;
	}
};

static int128
from_limbs(const unsigned long long *w)
{
	return (int128) ((uint128) w[0] + ((uint128) w[1] << 32) + ((uint128) w[2] << 64));
}

void
Lowering::run_aggregate(std::vector<char> *data, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	Accumulators a;
	struct Map
	{
		int			count,
					v,
					w;
	};
	std::vector<Map> maps;
	const uint8_t *classes = array<uint8_t>(p_->reg_classes);
	bool		floats = false,
				distinct = false;
	uint64_t	capacity = FIRST_CAPACITY,
				set_capacity = 1 << 20;
	int			key_words = 1;
	uint32_t	ngroups = 1;
	std::vector<unsigned long long> keys,
				records;

	kernel_ = "program";
	for (int i = 0; i < p_->naggs; i++)
	{
		const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
		bool		f = agg.cls == GPUCOL_CLASS_F;
		bool		d = agg.cls == GPUCOL_CLASS_D;
		Map			m = {a.find(GPUCOL_ACC_COUNT, agg), -1, -1};

		switch (agg.op)
		{
			case GPUCOL_AGG_COUNT_STAR:
			case GPUCOL_AGG_COUNT:
				break;
			case GPUCOL_AGG_SUM:
			case GPUCOL_AGG_SUMSQ:
				if (!f && !d && agg.cls != GPUCOL_CLASS_I)
					throw unsupported("a sum of this class");
				m.v = a.find(f ? GPUCOL_ACC_SUM_F : d ? GPUCOL_ACC_SUM_D : GPUCOL_ACC_SUM_I, agg);
				if (agg.op == GPUCOL_AGG_SUMSQ)
					m.w = a.find(f ? GPUCOL_ACC_SQUARE_F : GPUCOL_ACC_SQUARE, agg);
				floats |= f;
				break;
			case GPUCOL_AGG_MIN:
			case GPUCOL_AGG_BOOL_AND:
				if (agg.cls == GPUCOL_CLASS_S)
					throw unsupported("an extreme of bytes");
				m.v = a.find(GPUCOL_ACC_MIN, agg);
				break;
			case GPUCOL_AGG_MAX:
			case GPUCOL_AGG_BOOL_OR:
				if (agg.cls == GPUCOL_CLASS_S)
					throw unsupported("an extreme of bytes");
				m.v = a.find(GPUCOL_ACC_MAX, agg);
				break;
			case GPUCOL_AGG_COUNT_DISTINCT:
				if (d)
					throw unsupported("a count of distinct decimals");
				m.v = a.find(GPUCOL_ACC_DISTINCT, agg);
				distinct = true;
				break;
			default:
				throw unsupported("an aggregate that the device does not know");
		}
		maps.push_back(m);
	}
	for (int k = 0; k < p_->nkeys; k++)
		key_words += classes[array<uint16_t>(p_->keys)[k]] == GPUCOL_CLASS_D ? 2 : 1;
	if (a.nwords > GPUCOL_MAX_WORDS || 2 * a.accs.size() > GPUCOL_MAX_WORDS || key_words > GPUCOL_MAX_KEY_WORDS || p_->nkeys > 64)
		throw unsupported("more aggregates or keys than the device takes");
	plan.naccs = a.accs.size();
	plan.nwords = a.nwords;
	plan.accs = upload(a.accs);
	jit_program_.accs = a.accs;
	jit_program_.nwords = a.nwords;
	if (floats)
	{
		std::vector<unsigned long long> e(2 * a.accs.size(), 0);
		cudaEvent_t t = begin();
		int			log_rows = 1;

		while (((uint64_t) 1 << log_rows) <= rows_)
			log_rows++;
		plan.exponents = upload(e);
		interpret(MODE_EXPONENTS, plan);
		finish(t);
		e = download(plan.exponents, e.size());
		for (size_t i = 0; i < a.accs.size(); i++)
		{
			int			top = (int) e[i] - 1022;
			int			bottom = 0x7ff - (int) e[a.accs.size() + i] - 1022;
			int			times = a.accs[i].op == GPUCOL_ACC_SQUARE_F ? 2 : 1;

			/* a group or filter may leave out the large values: the bits of the
			 * least one must be above the binary point's end too */
			if ((p_->nkeys > 0 || a.accs[i].filter != GPUCOL_NO_REG) && e[i] > 0 &&
				(a.accs[i].op == GPUCOL_ACC_SUM_F || times == 2) &&
				125 - log_rows - times * (top - bottom) < FLOAT_BITS)
				throw unsupported("floats of too wide a range for exact sums on the device");

			if (a.accs[i].op == GPUCOL_ACC_SUM_F)
				a.accs[i].scale = 125 - log_rows - top;
			else if (a.accs[i].op == GPUCOL_ACC_SQUARE_F)
				a.accs[i].scale = 125 - log_rows - 2 * top;
		}
		plan.accs = upload(a.accs);
		device_check(cudaMemsetAsync(plan.error, 0xff, 8, stream_), "memset");
	}

	/* groups and distinct values may outgrow their tables: then again, larger */
	for (;;)
	{
		Scratch		tables(lane_.device(), r_.run_.memory_limit ? r_.run_.memory_limit - std::min<uint64_t>(r_.run_.memory_limit - 1, part_.scratch->held()) : 0);
		cudaEvent_t t = begin();
		GpucolStatus status;

		if (p_->nkeys > 0)
		{
			plan.groups.capacity = capacity;
			plan.groups.nwords = key_words;
			plan.groups.limit = capacity / 2;
			plan.groups.state = tables.array<uint32_t>(capacity + 1, "the groups");
			plan.groups.used = plan.groups.state + capacity;
			plan.groups.keys = tables.array<unsigned long long>(capacity * key_words, "the groups");
			device_check(cudaMemsetAsync(plan.groups.state, 0, (capacity + 1) * 4, stream_), "memset");
		}
		if (distinct)
		{
			plan.distinct.capacity = set_capacity;
			plan.distinct.nwords = 2;
			plan.distinct.limit = set_capacity / 2;
			plan.distinct.state = tables.array<uint32_t>(set_capacity + 1, "the distinct values");
			plan.distinct.used = plan.distinct.state + set_capacity;
			plan.distinct.keys = tables.array<unsigned long long>(set_capacity * 2, "the distinct values");
			device_check(cudaMemsetAsync(plan.distinct.state, 0, (set_capacity + 1) * 4, stream_), "memset");
		}
		plan.table = tables.array<unsigned long long>((p_->nkeys > 0 ? capacity : 1) * std::max(1, a.nwords), "the groups");
		device_check(gpucol_interp_init(plan, p_->nkeys > 0 ? capacity : 1, stream_), "init");
		interpret(MODE_AGGREGATE, plan);
		finish(t);
		status = error_of(plan);
		if (status == GPUCOL_OUT_OF_MEMORY)
		{
			if (p_->nkeys > 0 && download(plan.groups.used, 1)[0] > plan.groups.limit)
				capacity *= 16;
			if (distinct && download(plan.distinct.used, 1)[0] > plan.distinct.limit)
				set_capacity *= 16;
			if (capacity > ((uint64_t) 1 << 30) || set_capacity > ((uint64_t) 1 << 30))
				throw Failure{status, "more groups than device memory holds"};
			device_check(cudaMemsetAsync(plan.error, 0xff, 8, stream_), "memset");
			continue;
		}
		if (status != GPUCOL_OK)
			throw Failure{status, status == GPUCOL_UNSUPPORTED ? "a value beyond what the device computes" : "error of an expression"};
		if (p_->nkeys == 0)
			records = download(plan.table, a.nwords);
		else
		{
			ngroups = download(plan.groups.used, 1)[0];
			if (ngroups > 0)
			{
				auto		allocate = [&] (size_t bytes) { return tables.allocate(bytes, "the result"); };
				unsigned long long *k,
						   *w;

				device_check(gpucol_interp_gather(plan, ngroups, allocate, &k, &w, stream_), "gather");
				keys = download(k, (size_t) ngroups * key_words);
				records = download(w, (size_t) ngroups * a.nwords);
			}
		}
		break;
	}
	*nrows = ngroups;
	for (int k = 0, w = 1; k < p_->nkeys; k++)
	{
		bool		wide = classes[array<uint16_t>(p_->keys)[k]] == GPUCOL_CLASS_D;
		int			width = wide ? 2 : 1;
		size_t		at = data->size();
		unsigned long long *values;
		uint8_t    *nulls;

		extend(data, (size_t) ngroups * 8 * width);
		extend(data, ngroups);
		values = (unsigned long long *) (data->data() + at);
		nulls = (uint8_t *) (values + (size_t) ngroups * width);
		for (uint32_t g = 0; g < ngroups; g++)
		{
			nulls[g] = keys[g] >> k & 1;
			for (int j = 0; j < width; j++)
				values[(size_t) g * width + j] = keys[(size_t) (w + j) * ngroups + g];
		}
		w += width;
	}

	GpucolAggState *states = (GpucolAggState *) extend(data, (size_t) ngroups * p_->naggs * sizeof(GpucolAggState));

	for (uint32_t g = 0; g < ngroups; g++)
		for (int i = 0; i < p_->naggs; i++)
		{
			const GpucolAgg &agg = array<GpucolAgg>(p_->aggs)[i];
			const unsigned long long *w = records.data() + (size_t) g * a.nwords;
			GpucolAggState *s = &states[(size_t) g * p_->naggs + i];
			const Map  &m = maps[i];

			memset(s, 0, sizeof(*s));
			s->count = w[a.accs[m.count].word];
			if (m.v < 0)
				continue;

			const GpucolAcc &v = a.accs[m.v];
			const unsigned long long *x = w + v.word;

			if (v.op == GPUCOL_ACC_SUM_I)
				set128(s, false, (int128) x[0] + ((int128) (int64_t) x[1] << 32));
			else if (v.op == GPUCOL_ACC_SUM_D)
				set128(s, false, from_limbs(x));
			else if (v.op == GPUCOL_ACC_SUM_F)
			{
				floats_.resize((size_t) ngroups * p_->naggs);
				floats_[(size_t) g * p_->naggs + i] =
					gpucol_float_sum(x[0], x[1], x[2], from_limbs(x + 3), v.scale,
									 m.w >= 0 ? from_limbs(w + a.accs[m.w].word) : 0, m.w >= 0 ? a.accs[m.w].scale : 0);
			}
			else if (v.op == GPUCOL_ACC_DISTINCT)
				s->v.value = x[0];
			else if (s->count > 0)
			{
				int64_t		y = x[0];

				if (agg.cls == GPUCOL_CLASS_F)
				{
					y ^= (y >> 63) & INT64_MAX;
					memcpy(&s->v.f, &y, 8);
				}
				else if (agg.cls == GPUCOL_CLASS_D)
					set128(s, false, y);
				else
					s->v.value = y;
			}
			if (m.w >= 0 && a.accs[m.w].op == GPUCOL_ACC_SQUARE)
				set128(s, true, from_limbs(w + a.accs[m.w].word));
		}
}

/* ---- rows ---- */

/* Is there a condition that ranges do not say? */
bool
Lowering::filters() const
{
	return p_->filter != GPUCOL_NO_REG || p_->nfilter_instrs > 0;
}

/* Column slot that a register loads as it is, floats included, or -1. */
int
Lowering::value_slot(uint16_t reg) const
{
	for (int i = 0; i < p_->ninstrs; i++)
	{
		const GpucolInstr &in = array<GpucolInstr>(p_->instrs)[i];

		if (in.dst == reg && in.op == GPUCOL_OP_LOAD_F)
			return in.aux;
	}
	return plain_slot(reg);
}

/* Match bitmap and counts of the rows that reach the bound of the first k. */
void
Lowering::select_top(GpucolInterpPlan *plan)
{
	GpucolBoundKey key = {};
	GpucolBoundTask task = {};
	uint16_t	reg = array<uint16_t>(p_->keys)[shape_->key];
	int			slot = value_slot(reg);
	int64_t		bound;

	if (slot < 0 || array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_S)
		throw unsupported("a sort key that is no plain column");
	if (filters())
		interpret(MODE_SELECT, *plan);
	gpucol_stage(stream_, "filter");
	key.scan = scan_;
	key.matches = filters() ? plan->bitmap : NULL;
	key.slot = slot;
	key.is_float = array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_F;
	key.descending = shape_->descending;
	key.dense = !key.is_float && offset_column(slot, &key.offset);
	task.k = shape_->k;
	task.all_rows = !filters() && p_->nranges == 0;
	task.lo = key.is_float || !bounded_[slot] ? INT64_MIN : std::min(bounds_[slot].first, bounds_[slot].second);
	task.hi = key.is_float || !bounded_[slot] ? INT64_MAX : std::max(bounds_[slot].first, bounds_[slot].second);
	task.scratch = part_.scratch;
	task.stream = stream_;
	if (gpucol_bound_find(key, task, &bound))
	{
		uint32_t   *taken = part_.scratch->array<uint32_t>(1, "the matches");

		device_check(cudaMemsetAsync(taken, 0, sizeof(uint32_t), stream_), "memset");
		device_check(gpucol_bound_select(key, bound, shape_->nulls_first, shape_->all_ties ? 0 : (uint32_t) std::min<int64_t>(shape_->k, INT32_MAX),
										 taken, plan->bitmap, plan->counts, stream_), "select");
		gpucol_stage(stream_, "rows that reach the bound");
	}
	else if (!filters())
		interpret(MODE_SELECT, *plan);
}

/* Match bitmap and counts of the rows wanted. */
void
Lowering::select(GpucolInterpPlan *plan)
{
	if (shape_ != NULL && shape_->kind == GPUCOL_SHAPE_TOP)
		select_top(plan);
	else if (filters())
		interpret(MODE_SELECT, *plan);
	else
	{
		device_check(gpucol_scan_bitmap(scan_, plan->bitmap, stream_), "select");
		device_check(gpucol_rows_count(plan->bitmap, scan_.nvectors, plan->counts, stream_), "select");
	}
}

/* Find the rows wanted: plan.bitmap, plan.counts as each vector's start. */
uint64_t
Lowering::find_matches(GpucolInterpPlan *plan)
{
	unsigned long long n = 0,
				last = 0;
	unsigned long long *starts;
	size_t		bytes = 0;
	void	   *temp;
	cudaEvent_t e = begin();
	GpucolStatus status;

	gpucol_stage(stream_, "before the rows are selected");
	kernel_ = "program";
	if (scan_.nvectors == 0)
	{
		finish(e);
		return 0;
	}
	plan->bitmap = part_.scratch->array<uint32_t>((size_t) scan_.nvectors * 32, "the matches");
	plan->counts = part_.scratch->array<unsigned long long>(scan_.nvectors, "the matches");
	starts = part_.scratch->array<unsigned long long>(scan_.nvectors, "the matches");
	device_check(cudaMemsetAsync(plan->counts, 0, (size_t) scan_.nvectors * 8, stream_), "memset");
	device_check(cub::DeviceScan::ExclusiveSum(NULL, bytes, plan->counts, starts, (int) scan_.nvectors, stream_), "scan");
	temp = part_.scratch->allocate(bytes, "the matches");
	select(plan);
	device_check(cub::DeviceScan::ExclusiveSum(temp, bytes, plan->counts, starts, (int) scan_.nvectors, stream_), "scan");
	device_check(cudaMemcpyAsync(&last, plan->counts + scan_.nvectors - 1, 8, cudaMemcpyDeviceToHost, stream_), "result");
	device_check(cudaMemcpyAsync(&n, starts + scan_.nvectors - 1, 8, cudaMemcpyDeviceToHost, stream_), "result");
	finish(e);
	if ((status = error_of(*plan)) != GPUCOL_OK)
		throw Failure{status, "error of an expression"};
	gpucol_stage(stream_, "rows selected");
	plan->counts = starts;
	return n + last;
}

void
Lowering::run_scan(std::vector<char> *data, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	const uint8_t *classes = array<uint8_t>(p_->reg_classes);
	std::vector<GpucolInterpOutput> outputs;
	GpucolStatus status;
	cudaEvent_t e;
	unsigned long long n = find_matches(&plan);

	*nrows = n;
	if (n == 0)
		return;
	if (n * (8 + 17 * (size_t) p_->nkeys) > (r_.run_.result_limit ? r_.run_.result_limit : (uint64_t) 2 << 30))
		throw Failure{GPUCOL_OUT_OF_MEMORY, "the result is larger than the query's memory limit"};
	plan.rows = part_.scratch->array<unsigned long long>(n, "the result");
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolInterpOutput o = {reg, classes[reg], 0, NULL, NULL};

		o.values = part_.scratch->array<unsigned long long>(n * (o.cls == GPUCOL_CLASS_D ? 2 : 1), "the result");
		o.nulls = part_.scratch->array<uint8_t>(n, "the result");
		outputs.push_back(o);
	}
	plan.outputs = upload(outputs);
	plan.noutputs = outputs.size();
	jit_program_.outputs = outputs;
	e = begin();
	interpret(MODE_EMIT, plan);
	finish(e);
	gpucol_stage(stream_, "rows delivered");
	if ((status = error_of(plan)) != GPUCOL_OK)
		throw Failure{status, "error of an expression"};

	auto		fetch = [&] (const void *from, size_t size)
	{
		char	   *to = extend(data, size);

		device_check(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToHost, stream_), "result");
		device_check(cudaStreamSynchronize(stream_), "result");
	};

	fetch(plan.rows, n * 8);
	for (const GpucolInterpOutput &o : outputs)
	{
		fetch(o.values, n * (o.cls == GPUCOL_CLASS_D ? 16 : 8));
		fetch(o.nulls, n);
	}
}

/* ---- rankings ---- */

/* Every output number of the shape must be one. */
void
Lowering::check_shape() const
{
	auto		is_output = [this] (int32_t output, int32_t least) { return output >= least && output < p_->nkeys; };

	if (p_->kind != GPUCOL_PROGRAM_SCAN ||
		(shape_->kind == GPUCOL_SHAPE_TOP && (!is_output(shape_->key, 0) || shape_->k < 1)) ||
		(shape_->kind == GPUCOL_SHAPE_RANKED &&
		 (shape_->nkeys > p_->nkeys || shape_->nrankings > GPUCOL_SHAPE_MAX_RANKINGS || !is_output(shape_->filter, -1) ||
		  !is_output(shape_->score, 0) || !is_output(shape_->probability, 0) || !is_output(shape_->label, -1))) ||
		shape_->kind > GPUCOL_SHAPE_RANKED)
		throw unsupported("malformed request: shape of the rows");
	for (uint32_t i = 0; shape_->kind == GPUCOL_SHAPE_RANKED && i < shape_->nrankings; i++)
		if ((shape_->rankings[i].k_key < 0 ? shape_->rankings[i].k < 1 : shape_->rankings[i].k_key >= (int32_t) shape_->nkeys) ||
			shape_->rankings[i].ranking < GPUCOL_RANK_U_TOPK ||
			shape_->rankings[i].ranking > GPUCOL_RANK_EXPECTED)
			throw unsupported("malformed request: ranking");
}

/* Load outputs that are plain columns; false if some is not. */
bool
Lowering::load_plain(const GpucolInterpPlan &plan, uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	GpucolRowLoad load = {};

	if (filters() || p_->nkeys > GPUCOL_MAX_ROW_COLUMNS)
		return false;

	/* an expression may fail on some row even if its value is not used */
	for (int i = 0; i < p_->ninstrs; i++)
		if (array<GpucolInstr>(p_->instrs)[i].op > GPUCOL_OP_LOAD_S)
			return false;
	load.scan = scan_;
	load.bitmap = plan.bitmap;
	load.starts = plan.counts;
	load.ncolumns = p_->nkeys;
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolRowColumn &c = load.columns[i];

		if (value_slot(reg) < 0)
			return false;
		c.slot = value_slot(reg);
		c.is_float = array<uint8_t>(p_->reg_classes)[reg] == GPUCOL_CLASS_F;
		c.values = part_.scratch->array<int64_t>(n, "the rows to be ranked");
		c.nulls = part_.scratch->array<uint8_t>(n, "the rows to be ranked");
		(*columns)[i].values = c.values;
		(*columns)[i].nulls = c.nulls;
	}
	kernel_ = "rank";
	device_check(gpucol_rows_load(load, stream_), "load");
	return true;
}

/* Have the interpreter compute the outputs. */
void
Lowering::load_interpreted(GpucolInterpPlan *plan, uint64_t n, std::vector<GpucolRankColumn> *columns)
{
	std::vector<GpucolInterpOutput> outputs;

	plan->rows = part_.scratch->array<unsigned long long>(n, "the rows to be ranked");
	for (int i = 0; i < p_->nkeys; i++)
	{
		GpucolRankColumn &c = (*columns)[i];
		GpucolInterpOutput o = {array<uint16_t>(p_->keys)[i], (uint16_t) c.cls, 0, NULL, NULL};

		c.stride = c.cls == GPUCOL_CLASS_D ? 2 : 1;
		o.values = part_.scratch->array<unsigned long long>(n * c.stride, "the rows to be ranked");
		o.nulls = part_.scratch->array<uint8_t>(n, "the rows to be ranked");
		c.values = (const int64_t *) o.values;
		c.nulls = o.nulls;
		outputs.push_back(o);
	}
	plan->outputs = upload(outputs);
	plan->noutputs = outputs.size();
	jit_program_.outputs = outputs;
	kernel_ = "program, rank";
	device_check(cudaStreamSynchronize(stream_), "could not copy to the device");
	interpret(MODE_EMIT, *plan);
}

void
Lowering::run_ranked(std::vector<char> *data, uint64_t *nrows)
{
	GpucolInterpPlan plan = interp_plan();
	uint64_t	n = find_matches(&plan);
	GpucolRankTask task = {shape_, n, std::vector<GpucolRankColumn>(p_->nkeys), part_.scratch, stream_, lane_.cancel_word(), nullptr};
	GpucolStatus status;
	cudaEvent_t e = begin();

	task.wait = [this] {
		device_wait(stream_);
		if (r_.cancelled_)
			throw Failure{GPUCOL_CANCELLED, "cancelled"};
	};
	for (int i = 0; i < p_->nkeys; i++)
	{
		uint16_t	reg = array<uint16_t>(p_->keys)[i];
		GpucolOffsetColumn offset;

		task.columns[i].cls = array<uint8_t>(p_->reg_classes)[reg];
		if (!offset_column(plain_slot(reg), &offset))
			continue;
		task.columns[i].base = offset.base;
		task.columns[i].card = std::max<int64_t>(bounds_[offset.slot].second - offset.base, 0) + 1;
	}
	if (n > 0 && !load_plain(plan, n, &task.columns))
		load_interpreted(&plan, n, &task.columns);
	gpucol_stage(stream_, "rows to be ranked loaded");
	*nrows = gpucol_rank_rows(task, data);
	if ((status = error_of(plan)) != GPUCOL_OK)
		throw Failure{status, "error of an expression"};
	finish(e);
}

void
Lowering::run(Partial *result)
{
	uint64_t	nrows = 1;

	build_scan();
	if (shape_ != NULL)
		check_shape();
	if (shape_ != NULL && shape_->kind == GPUCOL_SHAPE_RANKED)
		run_ranked(&result->data, &nrows);
	else if (p_->kind == GPUCOL_PROGRAM_SCAN)
		run_scan(&result->data, &nrows);
	else if (!run_count(&result->data) && !run_reduce(&result->data) && !run_group(&result->data, &nrows))
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
}

/* Waits for a stream in the end: nothing is freed or unloaded that the device
 * still works with, whatever is thrown. */
struct Settle
{
	cudaStream_t stream;

	~Settle() { device_wait(stream); }
};

/*
 * Run a part once more with the compiled kernels that nothing has proven yet: do
 * they answer alike?
 */
void
Request::prove(Part &part, Lane &lane, JitTrial &trial)
{
	Lowering	lowering(*this, part, lane, trial, true);
	Settle		settle = {lane.stream()};
	Partial		again;
	bool		same = false;

	try
	{
		lowering.run(&again);
		same = again.nrows == part.result.nrows && again.data == part.result.data &&
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

void
Request::run_part(Part &part)
{
	Lane	   &lane = *shares_[part.share]->lane;
	Admission	admission(lane.device());
	Scratch		scratch(lane.device(), run_.memory_limit);
	JitTrial	trial;
	Lowering	lowering(*this, part, lane, trial, false);
	Settle		settle = {lane.stream()};

	part.scratch = &scratch;
	lowering.run(&part.result);
	if (!trial.empty())
		prove(part, lane, trial);
	part.scratch = NULL;
}
