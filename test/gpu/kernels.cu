/*-------------------------------------------------------------------------
 *
 * kernels.cu
 *	  Checks the scan and grouping kernels against plain loops on the CPU, and
 *	  measures them against the device's own read bandwidth.
 *
 * Usage: kernels check | few | bench [rows in millions [width]...], which measures
 * scans of these widths only | groups [rows in millions], which measures GROUP BY
 *
 * The packing here follows src/kernel/format.h word for word and shares no code
 * with the library.  Exit status 1 if any answer differs.
 *
 *-------------------------------------------------------------------------
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "cuda/jit/jit_reduce.cuh"
#include "kernel/float_order.h"
#include "cuda/scan/bitunpack.cuh"
#include "cuda/scan/plan.h"
#include "cuda/scan/reduce.cuh"
#include "cuda/scan/reduce_partition.cuh"
#include "cuda/scan/scan.cuh"
#include "cuda/base/tuning.cuh"

static int	failures = 0;

#define CHECK(call) \
	do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
		printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(e_)); \
		exit(2); } } while (0)

template <class T>
static T *
upload(const std::vector<T> &v)
{
	T		   *p = NULL;

	CHECK(cudaMalloc(&p, std::max<size_t>(1, v.size()) * sizeof(T)));
	CHECK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

__host__ __device__ static inline uint64_t
mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

__host__ __device__ static inline uint64_t
low_bits(uint64_t x, int width)
{
	return width == 64 ? x : x & ((1ull << width) - 1);
}

/*
 * Code of a row of a test column; `limit` > 0 makes codes below it.  They are
 * random, but with a seed below 0 every -seed vectors' rows share one.
 */
__host__ __device__ static inline uint64_t
make_code(uint64_t row, int seed, int width, uint64_t limit)
{
	uint64_t	h = seed < 0 ? row / (-seed * 1024ull) : mix(row * 31 + seed);

	return limit ? h % limit : low_bits(h, width);
}

/* Pack a column on the device in `packed` bits a code: one warp a vector, by the
 * format's text. */
__global__ void
pack_kernel(uint32_t *out, uint64_t first_row, uint32_t nvectors, int seed, int width, uint64_t limit, int packed)
{
	int			lane = threadIdx.x % 32;
	uint32_t	v = (blockIdx.x * blockDim.x + threadIdx.x) / 32;

	if (v >= nvectors)
		return;
	for (int plane = 0; plane < (packed > 32 ? 2 : 1); plane++)
	{
		int			k = packed <= 32 ? packed : plane == 0 ? 32 : packed - 32;
		uint32_t   *to = out + ((size_t) v * packed + (plane ? 32 : 0)) * 32;
		uint64_t	buffer = 0;
		int			bits = 0,
					j = 0;

		for (int p = 0; p < 32; p++)
		{
			uint64_t	code = make_code(first_row + v * 1024ull + p * 32 + lane, seed, width, limit);

			code = low_bits(code >> (plane ? 32 : 0), k);
			buffer |= code << bits;
			bits += k;
			if (bits >= 32)
			{
				to[j++ * 32 + lane] = (uint32_t) buffer;
				buffer >>= 32;
				bits -= 32;
			}
		}
	}
}

struct Column
{
	int			seed;
	int			width;
	uint64_t	limit;			/* codes below, 0 = any */
	int64_t		reference;
	bool		nulls;
	int			wider = 0;		/* bits by which odd segments are packed wider */
	bool		dict = false;	/* value = reference + entry_of(code) */
};

/* Entry of a test dictionary, which neither ascends nor descends. */
static uint32_t
entry_of(uint64_t code)
{
	return (uint32_t) (mix(code + 77) % 1000);
}

/* Row r of a nullable test column is NULL. */
static bool
is_null(const Column &c, uint64_t row)
{
	return c.nulls && mix(row * 7 + c.seed) % 5 == 0;
}

static bool
is_deleted(uint64_t row)
{
	return mix(row * 13 + 5) % 7 == 0;
}

/* A table in device memory, and everything it allocated. */
struct Table
{
	std::vector<uint32_t> nrows;
	std::vector<Column> columns;
	std::vector<GpucolDeviceSegment> segments;
	std::vector<GpucolDeviceChunk> chunks;
	std::vector<GpucolDeviceRange> ranges;
	std::vector<uint32_t> run_start,
				vector_start;
	std::vector<void *> owned;
	size_t		packed_bytes = 0;	/* of column 0 */
	GpucolScanPlan plan = {};

	template <class T> T *
	own(T *p)
	{
		owned.push_back((void *) p);
		return p;
	}

	Table(std::vector<uint32_t> sizes, std::vector<Column> cols, bool deleted)
	{
		uint64_t	row = 0;
		uint32_t	runs = 0,
					vectors = 0;

		nrows = sizes;
		columns = cols;
		for (size_t s = 0; s < sizes.size(); s++)
		{
			uint32_t	n = GPUCOL_VECTORS(sizes[s]);
			GpucolDeviceSegment segment = {NULL, sizes[s], (uint32_t) s};

			for (const Column &c : cols)
			{
				GpucolDeviceChunk chunk = {};
				uint32_t   *codes = NULL;
				int			packed = std::min(64, c.width + (s & 1 ? c.wider : 0));

				if (packed > 0)
				{
					CHECK(cudaMalloc(&codes, (size_t) n * packed * GPUCOL_ROW_BYTES));
					own(codes);
					pack_kernel<<<(n + 7) / 8, 256>>>(codes, row, n, c.seed, c.width, c.limit, packed);
				}
				chunk.codes = codes;
				chunk.width = packed;
				chunk.reference = c.reference + (int64_t) (s % 3);
				chunk.coding = GPUCOL_CODING_FOR;
				chunk.kind = GPUCOL_KIND_INT;
				if (c.dict)
				{
					std::vector<int64_t> entries(c.limit);

					for (uint64_t i = 0; i < c.limit; i++)
						entries[i] = c.reference + entry_of(i);
					chunk.coding = GPUCOL_CODING_DICT;
					chunk.dict = own(upload(entries));
					chunk.last_entry = c.limit - 1;
				}
				if (c.nulls)
					chunk.nulls = own(upload(bitmap(sizes[s], [&] (uint64_t r) { return is_null(c, row + r); })));
				chunks.push_back(chunk);
			}
			if (deleted)
				segment.deleted = own(upload(bitmap(sizes[s], [&] (uint64_t r) { return is_deleted(row + r); })));
			segments.push_back(segment);
			run_start.push_back(runs);
			vector_start.push_back(vectors);
			packed_bytes += (size_t) n * cols[0].width * GPUCOL_ROW_BYTES;
			runs += (n + GPUCOL_RUN_VECTORS - 1) / GPUCOL_RUN_VECTORS;
			vectors += n;
			row += sizes[s];
		}
		run_start.push_back(runs);
		vector_start.push_back(vectors);
		plan.segments = own(upload(segments));
		plan.chunks = own(upload(chunks));
		plan.run_start = own(upload(run_start));
		plan.vector_start = own(upload(vector_start));
		plan.nsegments = sizes.size();
		plan.ncolumns = cols.size();
		plan.nruns = runs;
		plan.nvectors = vectors;
		plan.run_shift = -1;
		if (sizes[0] == GPUCOL_DEFAULT_SEGMENT_ROWS)
			plan.run_shift = __builtin_ctz(run_start[1]);
		plan.turn_shift = gpucol_scan_turn_shift(chunks);
		plan.cancel = own(upload(std::vector<uint32_t>(1, 0)));
	}

	static std::vector<uint32_t>
	bitmap(uint32_t n, std::function<bool(uint64_t)> f)
	{
		std::vector<uint32_t> b(GPUCOL_VECTORS(n) * 32, 0);

		for (uint32_t r = 0; r < n; r++)
			if (f(r))
				b[r / 32] |= 1u << (r % 32);
		return b;
	}

	/* One conjunct per entry: on codes, the same in every segment. */
	void
	set_ranges(std::vector<GpucolDeviceRange> r)
	{
		ranges.clear();
		for (size_t s = 0; s < nrows.size(); s++)
			ranges.insert(ranges.end(), r.begin(), r.end());
		plan.ranges = own(upload(ranges));
		plan.nranges = r.size();
	}

	~Table()
	{
		for (void *p : owned)
			cudaFree(p);
	}
};

static GpucolDeviceRange
between(int slot, uint64_t lo, uint64_t hi, bool invert = false)
{
	GpucolDeviceRange r = {};

	r.slot = slot;
	r.test = GPUCOL_TEST_RANGE;
	r.lo = lo;
	r.hi = hi;
	r.invert = invert;
	return r;
}

static bool
passes(const Table &t, const GpucolDeviceRange &r, uint64_t row)
{
	const Column &c = t.columns[r.slot];
	uint64_t	code = make_code(row, c.seed, c.width, c.limit);
	bool		in = code >= r.lo && code <= r.hi;

	return !is_null(c, row) && in != (bool) r.invert;
}

static void
expect(const char *what, int width, uint64_t got, uint64_t want)
{
	if (got != want)
	{
		printf("WRONG %s width %d: got %llu, want %llu\n", what, width,
			   (unsigned long long) got, (unsigned long long) want);
		failures++;
	}
}

/*
 * Every scan under the table's one range, which `pass` says of a row; column 1 is
 * the one that is added up.
 */
static void
check_scan(Table &t, const char *what, int width, bool deleted, bool extremes, std::function<bool(uint64_t)> pass)
{
	const Column &b = t.columns[1];
	unsigned long long *out = t.own(upload(std::vector<unsigned long long>(5, 0)));
	uint32_t   *bitmap = t.own(upload(std::vector<uint32_t>(t.plan.nvectors * 32, 0)));
	std::vector<uint32_t> want(t.plan.nvectors * 32, 0),
				got(want.size());
	const unsigned long long none[5] = {0, 0, 0, ~0ull, 0};
	unsigned long long sums[5] = {0, 0, 0, 0xffffffffu, 0},
				r[5];
	uint64_t	row = 0;

	for (size_t s = 0; s < t.nrows.size(); row += t.nrows[s++])
		for (uint32_t i = 0; i < t.nrows[s]; i++)
		{
			unsigned long long x;

			if ((deleted && is_deleted(row + i)) || !pass(row + i))
				continue;
			sums[0]++;
			want[t.vector_start[s] * 32 + i / 32] |= 1u << (i % 32);
			if (is_null(b, row + i))
				continue;
			x = make_code(row + i, b.seed, b.width, 0) + s % 3;
			sums[1]++;
			sums[2] += x;
			sums[3] = std::min(sums[3], x);
			sums[4] = std::max(sums[4], x);
		}
	CHECK(cudaMemcpy(out, none, sizeof(none), cudaMemcpyHostToDevice));
	CHECK(gpucol_scan_count(t.plan, t.chunks, out, 0));
	CHECK(cudaMemcpy(r, out, sizeof(r), cudaMemcpyDeviceToHost));
	expect(what, width, r[0], sums[0]);
	CHECK(cudaMemset(bitmap, 0xa5, got.size() * 4));
	CHECK(gpucol_scan_bitmap(t.plan, bitmap, 0));
	CHECK(cudaMemcpy(got.data(), bitmap, got.size() * 4, cudaMemcpyDeviceToHost));
	expect("bitmap", width, got == want, 1);
	CHECK(cudaMemcpy(out, none, sizeof(none), cudaMemcpyHostToDevice));
	CHECK(gpucol_scan_reduce(t.plan, {1, b.nulls, 0, b.reference}, extremes, out, 0));
	CHECK(cudaMemcpy(r, out, sizeof(r), cudaMemcpyDeviceToHost));
	expect("reduce rows", width, r[0], sums[0]);
	expect("reduce values", width, r[1], sums[1]);
	expect("reduce sum", width, r[2], sums[2]);
	if (extremes && sums[0] > 0)
	{
		expect("reduce least", width, r[3], sums[3]);
		expect("reduce greatest", width, r[4], sums[4]);
	}
}

/* Ranges over codes of a width, inner, outer and empty; sums of another width. */
static void
check_scans(int width, int summed, bool nulls, bool deleted, bool invert)
{
	Column		a = {1, width, 0, 100, nulls};
	Column		b = {2, summed, 0, -5, nulls && summed % 3 != 0};
	Table		t({65536, 20001, 1, 1023, 1024}, {a, b}, deleted);
	uint64_t	top = low_bits(~0ull, width ? width : 1);
	uint64_t	bounds[][2] = {{top / 4, top / 2}, {0, 0}, {top, top}, {0, top}, {0, top / 3}, {top / 2, top}};

	if (width == 0)
		bounds[0][1] = bounds[3][1] = 0;
	for (auto &bound : bounds)
	{
		t.set_ranges({between(0, bound[0], bound[1], invert)});
		check_scan(t, "count", width, deleted, bound[0] == 0,
				   [&] (uint64_t row) { return passes(t, t.ranges[0], row); });
	}
}

/*
 * More runs than warps, of which some have no row that passes: a warp that read
 * both columns together at first then reads them one after the other.
 */
static void
check_clusters()
{
	for (int width : {3, 8})
	{
		Table		t(std::vector<uint32_t>(40, GPUCOL_DEFAULT_SEGMENT_ROWS),
					  {{-1500, width, 0, 100, false}, {2, width, 0, -5, false}}, false);

		for (uint64_t hi : {0, 2})
		{
			t.set_ranges({between(0, hi / 2, hi)});
			check_scan(t, "clusters", width, false, false, [&] (uint64_t row) { return passes(t, t.ranges[0], row); });
		}
	}
}

/*
 * Zones that decide vectors, where they are used: every fifth of a full vector says that
 * no row passes, so rows that are missing prove that it was asked.  Segments but the
 * last have full vectors alone.
 */
static void
check_zones(std::vector<uint32_t> sizes, int width, bool used)
{
	Table		t(sizes, {{-3, width, 0, 0, false}, {2, 13, 0, -5, false}}, false);
	GpucolDeviceRange r = between(0, 1, 3);
	uint64_t	full = t.plan.nvectors - (sizes.back() % 1024 != 0);
	auto		lies = [&] (uint64_t vector) { return used && vector % 5 == 4 && vector < full; };
	auto		code_of = [&] (uint64_t row) { return make_code(row, -3, width, 0); };

	for (size_t s = 0; s < sizes.size(); s++)
	{
		std::vector<GpucolZone> zones;

		for (uint64_t v = t.vector_start[s]; v < t.vector_start[s + 1]; v++)
		{
			int64_t		zone = lies(v) ? 99 : (int64_t) code_of(v * 1024);

			zones.push_back({zone, zone});
		}
		t.chunks[2 * s].zones = t.own(upload(zones));
	}
	t.plan.chunks = t.own(upload(t.chunks));
	r.use_zones = used;
	r.zone_lo = 1;
	r.zone_hi = 3;
	t.set_ranges({r});
	check_scan(t, "zones", width, false, false,
			   [&] (uint64_t row) { return code_of(row) >= 1 && code_of(row) <= 3 && !lies(row / 1024); });
}

/* The tests of codes that are no ranges: bitmap, list, signed numbers, floats. */
static void
check_tests(int width)
{
	Column		a = {1, width, 0, 0, width % 2 == 1};
	Column		b = {2, 13, 0, 0, false};
	bool		deleted = width & 2;
	Table		t({20001, 65536, 1}, {a, b}, deleted);
	auto		code_of = [&] (uint64_t row) { return make_code(row, a.seed, width, 0); };

	auto		check_test = [&] (const char *what, GpucolDeviceRange r, std::function<bool(uint64_t)> test)
	{
		for (int way = 0; way < 4; way++)
		{
			r.invert = way & 1;
			r.null_passes = way >> 1;
			t.set_ranges({r});
			check_scan(t, what, width, deleted, true, [&] (uint64_t row) {
				return is_null(a, row) ? r.null_passes != 0 : test(code_of(row)) != (r.invert != 0);
			});
		}
	};

	GpucolDeviceRange r = {};

	if (width <= 20)
	{
		std::vector<uint32_t> bits(((1u << width) + 31) / 32);

		for (uint32_t &w : bits)
			w = (uint32_t) mix((uint64_t) (&w - bits.data()));
		r.test = GPUCOL_TEST_BITMAP;
		r.n = width ? (1u << width) - (1u << width) / 5 : 1;	/* codes beyond fail */
		r.data = t.own(upload(bits));
		check_test("bitmap of codes", r,
				   [&] (uint64_t code) { return code < r.n && (bits[code / 32] >> (code % 32) & 1); });
	}

	std::vector<uint64_t> list = {0, low_bits(~0ull, width)};

	for (uint64_t row = 0; row < 30; row++)
		list.push_back(code_of(row * 701));
	std::sort(list.begin(), list.end());
	list.erase(std::unique(list.begin(), list.end()), list.end());
	r.test = GPUCOL_TEST_LIST;
	r.n = list.size();
	r.data = t.own(upload(list));
	check_test("list of codes", r, [&] (uint64_t code) { return std::binary_search(list.begin(), list.end(), code); });

	r.zone_lo = gpucol_float_order(-1e10);
	r.zone_hi = gpucol_float_order(3.5e20);
	if (width == 32 || width == 64)
	{
		auto		ordered = [&] (double x) { int64_t o = gpucol_float_order(x); return o >= r.zone_lo &&
											  o <= r.zone_hi; };
		auto		float4_of = [] (uint64_t code) { float f; uint32_t bits = (uint32_t) code;
													memcpy(&f, &bits, 4); return (double) f; };
		auto		float8_of = [] (uint64_t code) { double f; memcpy(&f, &code, 8); return f; };

		r.test = GPUCOL_TEST_FLOAT;
		check_test("floats", r,
				   [&] (uint64_t code) { return ordered(width == 32 ? float4_of(code) : float8_of(code)); });
		r.test = GPUCOL_TEST_FLOAT4;
		check_test("short floats", r, [&] (uint64_t code) { return ordered(float4_of(code)); });
	}
	if (width == 64)
	{
		r.test = GPUCOL_TEST_SIGNED;
		r.lo = (uint64_t) -(INT64_C(1) << 62);
		r.hi = UINT64_C(1) << 61;
		check_test("signed numbers", r,
				   [&] (uint64_t code)
				{
					return (int64_t) code >= (int64_t) r.lo && (int64_t) code <= (int64_t) r.hi;
				});
	}
}

/* A plan that groups by column 0 and reduces column 1 by `ops`. */
static GpucolReducePlan
group_plan(Table &t, uint32_t domain, uint32_t ops)
{
	GpucolReducePlan p = {};

	p.scan = t.plan;
	p.nkeys = 1;
	p.keys[0] = {0, t.columns[0].nulls, 0, t.columns[0].reference};
	p.strides[0] = 1;
	p.cards[0] = domain;
	p.ngroups = domain;
	p.ninputs = ops ? 1 : 0;
	p.inputs[0].column = {1, t.columns[1].nulls, 0, t.columns[1].reference};
	p.inputs[0].ops = ops;
	gpucol_reduce_layout(&p, t.chunks);
	CHECK(cudaMalloc(&p.table, (size_t) p.ngroups * p.nwords * 8));
	t.own(p.table);
	return p;
}

/* Does a tool watch, under which a block's atomic operations take seconds? */
static bool watched = false;

/*
 * The same reduction with its rows partitioned first, from a table of neutral values:
 * of all runs at a time, and of `runs`.  False where the plan does not suit.
 */
static bool
reduce_partitioned(const GpucolReducePlan &p, const Table &t, uint32_t runs)
{
	GpucolPartitionPlan parts;
	void	   *scratch;

	if (!gpucol_partition_layout(p, t.chunks, &parts))
		return false;
	if (runs > 0)
		parts.runs = std::min(parts.runs, runs);
	CHECK(cudaMalloc(&scratch, gpucol_partition_bytes(parts)));
	CHECK(cudaMemset(scratch, 0xa5, gpucol_partition_bytes(parts)));
	CHECK(gpucol_reduce_init(p, 0));
	CHECK(gpucol_reduce_partitioned(p, parts, scratch, 0));
	CHECK(cudaDeviceSynchronize());
	CHECK(cudaFree(scratch));
	return true;
}

/* Compare it with the words that are wanted; of few groups not where a tool watches. */
static void
check_partitioned(const char *what, const GpucolReducePlan &p, const Table &t,
				  const std::vector<unsigned long long> &want)
{
	std::vector<unsigned long long> got(want.size());

	if (watched && p.ngroups < 100000)
		return;
	for (uint32_t runs : {0u, 1u, 3u})
	{
		if (!reduce_partitioned(p, t, runs))
		{
			expect("partitioned where groups have one copy", p.ngroups, p.copies,
				   p.copies == 1 && gpucol_partition_fits() ? 0 : p.copies);
			return;
		}
		CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
		expect(what, p.ngroups, got == want, 1);
	}
}

/* The compiled kernel for a plan, or NULL if there is none (yet). */
static JitHandle
jit_reduce(const GpucolReducePlan &plan, const std::vector<GpucolDeviceChunk> &chunks, bool deleted)
{
	std::string source = gpucol_jit_reduce_source(plan, chunks, deleted);

	return source.empty() ? NULL : jit.find(source);
}

static void
check_groups(uint32_t groups, bool nulls, bool deleted, bool compiled)
{
	int			width = 32 - __builtin_clz(groups > 1 ? groups - 1 : 1);
	Column		a = {1, width, groups, 1000, nulls};
	Column		b = {2, 32, 0, 7, nulls};
	Table		t({3 * 1024 * 1024 / 8, 70001, 1}, {a, b}, deleted);
	uint32_t	domain = groups + 2 + (nulls ? 1 : 0);	/* references differ by up to 2 */
	GpucolReducePlan p;
	std::vector<unsigned long long> got,
				want;
	uint64_t	row = 0;

	for (size_t i = 0; i < t.chunks.size(); i += 2)
		t.chunks[i + 1].reference = b.reference;	/* keep offsets in 32 bits */
	t.plan.chunks = t.own(upload(t.chunks));
	t.set_ranges({});
	p = group_plan(t, domain, GPUCOL_REDUCE_COUNT | GPUCOL_REDUCE_SUM | GPUCOL_REDUCE_MIN | GPUCOL_REDUCE_MAX);
	got.resize((size_t) p.ngroups * p.nwords);
	CHECK(gpucol_reduce_init(p, 0));
	CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
	want = got;
	for (size_t s = 0; s < t.nrows.size(); row += t.nrows[s++])
		for (uint32_t i = 0; i < t.nrows[s]; i++)
		{
			uint64_t	r = row + i,
						x = make_code(r, b.seed, b.width, 0);
			unsigned long long *w;

			if (deleted && is_deleted(r))
				continue;
			w = want.data() + p.nwords * (is_null(a, r) ? domain - 1 : make_code(r, a.seed, a.width, a.limit) + s % 3);
			w[0]++;
			if (is_null(b, r))
				continue;
			if (p.inputs[0].count)
				w[p.inputs[0].count]++;
			w[p.inputs[0].sum] += x;
			w[p.inputs[0].min] = std::min<unsigned long long>(w[p.inputs[0].min], x);
			w[p.inputs[0].max] = std::max<unsigned long long>(w[p.inputs[0].max], x);
		}
	CHECK(gpucol_reduce_groups(p, 0));
	CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
	expect("groups", groups, got == want, 1);
	check_partitioned("partitioned groups", p, t, want);
	if (compiled && p.slices <= GPUCOL_AGG_MAX_SLICES)
	{
		JitHandle	kernel = jit_reduce(p, t.chunks, deleted);

		expect("compiled kernel", groups, kernel != NULL, 1);
		if (!kernel)
			return;
		CHECK(gpucol_reduce_init(p, 0));
		CHECK(gpucol_reduce_compiled(kernel->function(), p, 0));
		CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
		expect("compiled groups", groups, got == want, 1);
	}
}

/* Offset of a row's value from the column's base; segment s. */
static uint64_t
offset_of(const Column &c, uint64_t row, size_t s)
{
	uint64_t	code = make_code(row, c.seed, c.width, c.limit);

	return c.dict ? entry_of(code) : code + s % 3;
}

/*
 * A reduction of several keys and inputs over segments of different widths, by
 * every kernel that takes it.  Columns: keys, then inputs; inputs are summed, and
 * every second one has its extremes too.
 */
static void
check_shape(const char *what, std::vector<Column> columns, uint32_t nkeys, bool deleted, bool ranged)
{
	Table		t({70001, 65536, 16384, 1, 40000}, columns, deleted);
	GpucolReducePlan p = {};
	std::vector<unsigned long long> got,
				want;
	uint64_t	row = 0;
	uint32_t	groups = 1;

	if (ranged)
	{
		uint64_t	top = columns[0].limit ? columns[0].limit - 1 : low_bits(~0ull, columns[0].width);

		t.set_ranges({between(0, top / 4, top)});
	}
	else
		t.set_ranges({});
	p.scan = t.plan;
	p.nkeys = nkeys;
	p.ninputs = columns.size() - nkeys;
	for (size_t c = 0; c < columns.size(); c++)
	{
		GpucolOffsetColumn column = {(uint16_t) c, columns[c].nulls, 0, columns[c].reference};

		if (c < nkeys)
		{
			p.keys[c] = column;
			p.strides[c] = groups;
			p.cards[c] = (columns[c].dict ? 1000 : columns[c].limit + 2) + columns[c].nulls;
			groups *= p.cards[c];
		}
		else
		{
			p.inputs[c - nkeys].column = column;
			p.inputs[c - nkeys].ops = GPUCOL_REDUCE_COUNT | GPUCOL_REDUCE_SUM |
				(c % 2 ? GPUCOL_REDUCE_MIN | GPUCOL_REDUCE_MAX : 0);
		}
	}
	p.ngroups = groups;
	gpucol_reduce_layout(&p, t.chunks);
	CHECK(cudaMalloc(&p.table, (size_t) groups * p.nwords * 8));
	t.own(p.table);
	got.resize((size_t) groups * p.nwords);
	CHECK(gpucol_reduce_init(p, 0));
	CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
	want = got;
	for (size_t s = 0; s < t.nrows.size(); row += t.nrows[s++])
		for (uint32_t i = 0; i < t.nrows[s]; i++)
		{
			uint64_t	r = row + i;
			uint32_t	group = 0;
			unsigned long long *w;

			if ((deleted && is_deleted(r)) || (ranged && !passes(t, t.ranges[0], r)))
				continue;
			for (uint32_t k = 0; k < nkeys; k++)
				group += p.strides[k] * (is_null(columns[k], r) ? p.cards[k] - 1 : offset_of(columns[k], r, s));
			w = want.data() + (size_t) group * p.nwords;
			w[0]++;
			for (uint32_t j = 0; j < p.ninputs; j++)
			{
				const GpucolReduceInput &in = p.inputs[j];
				uint64_t	x = offset_of(columns[nkeys + j], r, s);

				if (is_null(columns[nkeys + j], r))
					continue;
				if (in.ops & GPUCOL_REDUCE_COUNT)
					w[in.count]++;
				w[in.sum] += x;
				if (in.ops & GPUCOL_REDUCE_MIN)
				{
					w[in.min] = std::min<unsigned long long>(w[in.min], x);
					w[in.max] = std::max<unsigned long long>(w[in.max], x);
				}
			}
		}
	for (bool few : {true, false})
	{
		GpucolReducePlan q = p;

		if (!few)
			q.few = 0;
		CHECK(gpucol_reduce_init(q, 0));
		CHECK(gpucol_reduce_groups(q, 0));
		CHECK(cudaMemcpy(got.data(), p.table, got.size() * 8, cudaMemcpyDeviceToHost));
		expect(what, q.few, got == want, 1);
	}
	check_partitioned(what, p, t, want);
}

/* Many groups, by partitions: rows of several words, skewed, few, and none that passes. */
static void
check_partitions()
{
	for (bool nulls : {false, true})
		for (bool ranged : {false, true})
		{
			Column		key = {1, 17, 100000, 5, nulls},
						wide = {1, 21, 1500000, 5, nulls, 2},
						few = {2, 3, 6, 0, nulls},
						skewed = {-1000, 20, 900000, 0, nulls},
						x = {3, 13, 0, 1, nulls},
						y = {4, 31, 0, 1, nulls, 1},
						d = {5, 6, 50, -9, false, 0, true},
						z = {6, 0, 0, 4, false};

			check_shape("partitions 1+0", {key}, 1, true, ranged);
			check_shape("partitions 1+1", {wide, x}, 1, ranged, ranged);
			check_shape("partitions 1+2", {key, x, y}, 1, !ranged, ranged);
			check_shape("partitions 1+4", {key, y, x, d, z}, 1, true, ranged);
			check_shape("partitions 1+5", {key, y, x, d, z, y}, 1, true, ranged);
			check_shape("partitions 2+1", {few, key, x}, 2, false, ranged);
			check_shape("partitions, one group", {skewed, y}, 1, true, ranged);
			check_shape("partitions, one group and a key", {skewed, few, y}, 2, false, ranged);
		}
	check_shape("partitions in slices", {{1, 20, 550000, 5, true}, {2, 3, 6, 0, true}, {3, 13, 0, 1, true},
										 {4, 31, 0, 1, true}, {5, 13, 0, 1, true},
				{6, 20, 0, 1, true}, {7, 7, 0, 1, false}}, 2, true, false);
}

/* Keys and inputs of every width, mixed over segments, coded and not, NULL and not. */
static void
check_shapes()
{
	for (int width = 1; width <= 31; width++)
	{
		uint64_t	limit = std::min<uint64_t>(1ull << width, 200);
		bool		odd = width % 2;

		check_shape("shape 1+1", {{1, width, limit, 10, false}, {2, width, 0, -3, false}}, 1, odd, false);
		check_shape("shape 1+1 ranged, wider", {{1, width, limit, 10, false, 1}, {2, width, 0, -3, odd, 1}},
					1, false, true);
	}
	for (bool nulls : {false, true})
		for (int wider : {0, 3, 30})
		{
			Column		a = {1, 7, 100, 5, nulls, wider},
						b = {2, 3, 5, 0, false, wider},
						x = {3, 13, 0, 1, false, wider},
						y = {4, 16, 0, 1, nulls, wider},
						d = {5, 6, 50, -9, false, wider, true},
						z = {6, 0, 0, 4, false, wider};

			check_shape("shape 1+0", {a}, 1, true, false);
			check_shape("shape 1+2", {a, x, y}, 1, false, true);
			check_shape("shape 1+3", {a, x, y, d}, 1, true, true);
			check_shape("shape 2+0", {a, b}, 2, false, false);
			check_shape("shape 2+1", {b, a, x}, 2, true, true);
			check_shape("shape 2+2", {a, b, y, x}, 2, false, false);
			check_shape("shape 3+1", {b, b, a, x}, 3, false, true);
			check_shape("shape by dictionary", {d, x}, 1, false, false);
			check_shape("shape of a dictionary", {a, d}, 1, true, false);
			check_shape("shape of a constant", {a, z}, 1, false, false);
		}
}

static int
check()
{
	check_shapes();
	check_partitions();
	for (int width = 0; width <= 64; width++)
	{
		for (int variant = 0; variant < 8; variant++)
			check_scans(width, (width * 7 + 13) % 32, variant & 1, variant & 2, variant & 4);
		check_tests(width);
	}
	for (int width = 1; width <= GPUCOL_SWAR_COUNT_WIDTH; width++)
		for (int summed = 1; summed <= GPUCOL_SWAR_COUNT_WIDTH + 1; summed++)
			for (bool plain : {true, false})
				check_scans(width, summed, !plain, !plain, false);
	check_clusters();
	for (int width : {2, 5, 9, 12, 20, 40})
		check_zones({65536, 4096, 20001}, width, true);
	for (int full : {13, 51})
	{
		/* so many runs that blocks take two of them each, and one for each warp */
		std::vector<uint32_t> sizes(full, GPUCOL_DEFAULT_SEGMENT_ROWS);

		sizes.push_back(20001);
		check_zones(sizes, 12, full == 13);
	}
	for (uint32_t groups : {1u, 2u, 7u, 30u, 300u, 5000u, 20000u, 100000u, 500000u, 3000000u})
		for (int variant = 0; variant < 4; variant++)
			check_groups(groups, variant & 1, variant & 2, groups == 7 || groups == 5000 || groups == 100000);
	printf("kernels check: %s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}

/* What the tools that watch every access can do in a minute. */
static int
check_few()
{
	watched = true;
	for (uint32_t groups : {2u, 300u, 5000u, 60000u, 500000u})
		check_groups(groups, groups == 300, groups == 5000, false);
	check_shape("1+1", {{1, 9, 300, 10, false, 1}, {2, 12, 0, -3, false}}, 1, true, true);
	check_shape("1+1 wide", {{1, 20, 5000, 10, true, 3}, {2, 30, 0, -3, false}}, 1, false, false);
	check_shape("1+2 partitioned", {{1, 17, 100000, 5, true}, {3, 13, 0, 1, false}, {4, 31, 0, 1, true, 1}},
				1, true, true);
	check_shape("2+1", {{1, 4, 16, 0, false}, {2, 5, 30, 0, false}, {3, 14, 0, 1, true}}, 2, false, true);
	for (int width : {0, 1, 4, 7, 8, 13, 32, 40})
		check_scans(width, (width * 7 + 13) % 32, true, true, false);
	for (int width : {1, 3, 5, 7})
		check_scans(width, width, false, false, false);
	printf("kernels few: %s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}

/* Median milliseconds of f over n runs after two warm-ups. */
static double
time_ms(std::function<void()> f, int n = 9)
{
	std::vector<float> ms;
	cudaEvent_t a,
				b;

	CHECK(cudaEventCreate(&a));
	CHECK(cudaEventCreate(&b));
	for (int i = -2; i < n; i++)
	{
		float		t;

		CHECK(cudaEventRecord(a));
		f();
		CHECK(cudaEventRecord(b));
		CHECK(cudaEventSynchronize(b));
		CHECK(cudaEventElapsedTime(&t, a, b));
		if (i >= 0)
			ms.push_back(t);
	}
	std::sort(ms.begin(), ms.end());
	CHECK(cudaGetLastError());
	return ms[ms.size() / 2];
}

/* Read everything, U words of 16 bytes a thread under way. */
template <int U>
__global__ void
read_kernel(const uint4 *data, size_t n, unsigned *out)
{
	unsigned	x = 0;
	size_t		step = (size_t) gridDim.x * blockDim.x;

#pragma unroll U
	for (size_t i = (size_t) blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
	{
		uint4		v = __ldcs(data + i);

		x += v.x ^ v.y ^ v.z ^ v.w;
	}
	if (x == 12345)
		*out = x;
}

/* What the device needs to read so many bytes and do nothing with them: the ceiling
 * of a scan, of large ones and of one of that size. */
class Reader
{
	static constexpr size_t BYTES = 8ull << 30;
	uint4	   *p_;
	unsigned   *out_;

public:
	Reader()
	{
		CHECK(cudaMalloc(&p_, BYTES));
		CHECK(cudaMalloc(&out_, 4));
		pack_kernel<<<(BYTES / 4096 + 7) / 8, 256>>>((uint32_t *) p_, 0, BYTES / 4096, 3, 32, 0, 32);
	}
	~Reader()
	{
		cudaFree(p_);
		cudaFree(out_);
	}

	/* Milliseconds: by blocks that stay, or by as many as there is work for.  Above BYTES
	 * as long as BYTES for each of them. */
	double
	ms(size_t bytes)
	{
		size_t		n = std::min(bytes, BYTES) / 16;
		double		stay = time_ms([&] { read_kernel<4><<<132 * 8, 256>>>(p_, n, out_); });
		double		come = time_ms([&] { read_kernel<2><<<n / 512 + 1, 256>>>(p_, n, out_); });

		return std::min(stay, come) * bytes / (n * 16);
	}

	/* GB/s */
	double
	ceiling()
	{
		return BYTES / ms(BYTES) / 1e6;
	}
};

static std::vector<uint32_t>
segments_of(uint64_t rows)
{
	std::vector<uint32_t> s;

	for (; rows > 0; rows -= std::min<uint64_t>(rows, GPUCOL_DEFAULT_SEGMENT_ROWS))
		s.push_back(std::min<uint64_t>(rows, GPUCOL_DEFAULT_SEGMENT_ROWS));
	return s;
}

/* Let offsets be codes in every segment. */
static void
forget_references(Table &t)
{
	for (auto &c : t.chunks)
		c.reference = 0;
	t.plan.chunks = t.own(upload(t.chunks));
}

/* A range on one column, sum of another: milliseconds, share of the ceiling, and of
 * what reading that many bytes takes. */
static void
bench_sum(Table &t, uint64_t rows, Reader &reader, double ceiling)
{
	unsigned long long *out = t.own(upload(std::vector<unsigned long long>(8, 0)));
	double		bytes = rows / 8.0 * (t.columns[0].width + t.columns[1].width);
	double		ms = time_ms([&] { CHECK(gpucol_scan_reduce(t.plan, {1, 0, 0, 0}, false, out, 0)); });

	printf(" %10.3f %8.1f %8.1f\n", ms, bytes / ms / 1e4 / ceiling, 100 * reader.ms((size_t) bytes) / ms);
}

static void
bench_ranges(uint64_t rows, const std::vector<int> &widths, Reader &reader, double ceiling)
{
	printf("range predicate; filter and sum: share of the ceiling, and of a read of as many bytes\n"
		   "%6s %10s %8s %8s %8s %10s %8s %10s %8s %8s\n", "width", "count ms", "Tval/s", "ceil%", "read%",
		   "bitmap ms", "ceil% rw", "filt+sum", "ceil%", "read%");
	for (int width : widths)
	{
		uint64_t	n = width > 32 ? rows / 2 : rows;
		Column		a = {1, width, 0, 0, false};
		Column		b = {2, std::min(width, 32), 0, 0, false};
		Table		t(segments_of(n), {a, b}, false);
		uint64_t	top = low_bits(~0ull, width);
		unsigned long long *out = t.own(upload(std::vector<unsigned long long>(8, 0)));
		uint32_t   *bitmap;
		double		count,
					bits;

		CHECK(cudaMalloc(&bitmap, (size_t) t.plan.nvectors * 128));
		t.own(bitmap);
		t.set_ranges({between(0, top / 4, top / 2)});
		count = time_ms([&] { CHECK(gpucol_scan_count(t.plan, t.chunks, out, 0)); });
		bits = time_ms([&] { CHECK(gpucol_scan_bitmap(t.plan, bitmap, 0)); });
		printf("%6d %10.3f %8.2f %8.1f %8.1f %10.3f %8.1f", width, count, n / count / 1e9,
			   t.packed_bytes / count / 1e4 / ceiling,
			   100 * reader.ms(t.packed_bytes) / count, bits,
			   (t.packed_bytes + n / 8.0) / bits / 1e4 / ceiling);
		forget_references(t);
		bench_sum(t, n, reader, ceiling);
	}
}

static void
bench_pairs(uint64_t rows, Reader &reader, double ceiling)
{
	printf("filter and sum of another width\n%6s %6s %10s %8s %8s\n", "width", "summed", "filt+sum", "ceil%", "read%");
	for (auto pair : std::vector<std::pair<int, int>>{{1, 2}, {2, 1}, {1, 8}, {8, 1}, {2, 3}, {3, 2}, {2, 7},
													  {7, 2}, {3, 5}, {5, 3}, {4, 8}, {8, 4}, {3, 16}, {16, 3}})
	{
		Column		a = {1, pair.first, 0, 0, false};
		Column		b = {2, pair.second, 0, 0, false};
		Table		t(segments_of(rows), {a, b}, false);
		uint64_t	top = low_bits(~0ull, pair.first);

		t.set_ranges({between(0, top / 4, top / 2)});
		forget_references(t);
		printf("%6d %6d", pair.first, pair.second);
		bench_sum(t, rows, reader, ceiling);
	}
}

/* Milliseconds of a reduction whose rows are partitioned first; 0 where that cannot be. */
static double
bench_partitioned(const GpucolReducePlan &p, const Table &t)
{
	GpucolPartitionPlan parts;
	void	   *scratch;
	double		ms;

	if (!gpucol_partition_layout(p, t.chunks, &parts))
		return 0;
	CHECK(cudaMalloc(&scratch, gpucol_partition_bytes(parts)));
	ms = time_ms([&] { CHECK(gpucol_reduce_init(p, 0)); CHECK(gpucol_reduce_partitioned(p, parts, scratch, 0)); }, 5);
	CHECK(cudaFree(scratch));
	return ms;
}

static void
bench_groups(uint64_t rows)
{
	printf("group by, 16-bit values, count + sum + min; any plan, then compiled for the widths, or partitioned\n"
		   "%10s %6s %6s %6s %10s %10s %8s %10s %10s %8s\n", "groups", "key", "copies", "slices",
		   "ms", "Grows/s", "GB/s", "ms", "Grows/s", "GB/s");
	for (uint64_t groups : {1ull, 2ull, 10ull, 30ull, 100ull, 1000ull, 10000ull, 30000ull, 100000ull,
							200000ull, 500000ull, 1000000ull, 3000000ull, 10000000ull, 100000000ull})
	{
		int			width = groups > 1 << 24 ? 27 : groups > 65536 ? 24 : 16;
		Column		a = {1, width, groups, 0, false};
		Column		b = {2, 16, 0, 0, false};
		Table		t(segments_of(rows), {a, b}, false);
		GpucolReducePlan p;
		double		ms;

		forget_references(t);
		t.set_ranges({});
		p = group_plan(t, groups, GPUCOL_REDUCE_SUM | GPUCOL_REDUCE_MIN);
		ms = time_ms([&] { CHECK(gpucol_reduce_init(p, 0)); CHECK(gpucol_reduce_groups(p, 0)); }, 5);
		printf("%10llu %6d %6u %6u %10.3f %10.1f %8.0f", (unsigned long long) groups, width, p.copies, p.slices,
			   ms, rows / ms / 1e6, rows / 8.0 * (width + 16) / ms / 1e6);
		if (JitHandle kernel = jit_reduce(p, t.chunks, false))
		{
			ms = time_ms([&] { CHECK(gpucol_reduce_init(p, 0));
							  CHECK(gpucol_reduce_compiled(kernel->function(), p, 0)); }, 5);
			printf(" %10.3f %10.1f %8.0f", ms, rows / ms / 1e6, rows / 8.0 * (width + 16) / ms / 1e6);
		}
		else if (double partitioned = bench_partitioned(p, t))
			printf(" %10.3f %10.1f %8.0f", partitioned, rows / partitioned / 1e6,
				   rows / 8.0 * (width + 16) / partitioned / 1e6);
		printf("\n");
	}
}

static void
bench(uint64_t rows, std::vector<int> widths)
{
	bool		all = widths.empty();
	Reader		reader;
	double		ceiling = reader.ceiling();

	printf("read ceiling %.0f GB/s; %.0f M rows; scan blocks a multiprocessor %d\n", ceiling, rows / 1e6, GPUCOL_SCAN_BLOCKS);
	if (all)
		for (int width = 1; width <= 64; width += width < 32 ? 1 : 8)
			widths.push_back(width);
	bench_ranges(rows, widths, reader, ceiling);
	if (!all)
		return;
	bench_pairs(rows, reader, ceiling);
	bench_groups(rows);
}

int
main(int argc, char **argv)
{
	jit.configure("", true);
	if (argc > 1 && strcmp(argv[1], "bench") == 0)
	{
		std::vector<int> widths;

		for (int i = 3; i < argc; i++)
			widths.push_back(atoi(argv[i]));
		bench((argc > 2 ? atoll(argv[2]) : 1000) * 1000000ull, widths);
		return 0;
	}
	if (argc > 1 && strcmp(argv[1], "groups") == 0)
	{
		bench_groups((argc > 2 ? atoll(argv[2]) : 1000) * 1000000ull);
		return 0;
	}
	return argc > 1 && strcmp(argv[1], "few") == 0 ? check_few() : check();
}
