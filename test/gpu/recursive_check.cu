/*-------------------------------------------------------------------------
 *
 * recursive_check.cu
 *	  Checks and times recursion on the device over real graphs: transitive
 *	  closure (tc) and same generation (sg) against known counts and checksums,
 *	  by the kernels alone, by the engine (loading included), and by the engine
 *	  with HISA only.
 *
 * usage: recursive_check [--device-mb N] TRUTH.tsv GRAPH.tsv.gz ...
 *
 * With --device-mb only the engine with HISA runs, with that much device memory and
 * the rest of its relations in host memory.
 *
 * TRUTH.tsv has a line for each graph: name, rows, edges, nodes, tc count,
 * sum x, sum y, sum x*y, sg count, sum x, sum x*y.  Prints a row for each graph and query:
 * result size, whether count and checksums agree, rounds, milliseconds (median
 * of three, edges resident), device memory.  Exit status 1 on any mismatch.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/recursion/closure.cuh"
#include "plan_builder.h"
#include "cuda/recursion/recursive_engine.h"
#include "cuda/recursion/same_generation.cuh"

#define CHECK(call) \
	do { cudaError_t e_ = (call); if (e_ != cudaSuccess) { \
		fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
		exit(2); } } while (0)

using Clock = std::chrono::steady_clock;
typedef unsigned __int128 u128;

static std::string
text(u128 v)
{
	std::string s;

	do
		s.insert(s.begin(), (char) ('0' + (int) (v % 10)));
	while (v /= 10);
	return s;
}

/* What a query must give. */
struct Answer
{
	std::string count, x, y, xy;
};

struct Truth
{
	Answer		tc, sg;
};

/* A device array that is freed with its scope. */
template <class T> struct Buffer
{
	T		   *p = nullptr;
	size_t		bytes;

	explicit Buffer(size_t n) : bytes(n * sizeof(T))
	{
		CHECK(cudaMalloc(&p, bytes + 64));
	}
	Buffer(const std::vector<T> &v) : Buffer(v.size())
	{
		CHECK(cudaMemcpy(p, v.data(), bytes, cudaMemcpyHostToDevice));
	}
	~Buffer() { cudaFree(p); }
	Buffer(const Buffer &) = delete;
};

/* A graph over dense ids, and its reverse, on the device. */
struct Graph
{
	std::vector<int64_t> values;
	std::vector<std::pair<uint32_t, uint32_t>> edges;

	uint32_t n() const { return (uint32_t) values.size(); }
};

struct DeviceCsr
{
	Buffer<uint32_t> rows, targets;

	DeviceCsr(const std::vector<uint32_t> &r, const std::vector<uint32_t> &t)
		: rows(r), targets(t) {}
	GpucolCsr csr() const { return {rows.p, targets.p}; }
};

static DeviceCsr
make_csr(const Graph &g, bool reverse)
{
	std::vector<uint32_t> rows(g.n() + 1, 0), targets(g.edges.size());

	for (auto &e : g.edges)
		rows[(reverse ? e.second : e.first) + 1]++;
	for (uint32_t i = 0; i < g.n(); i++)
		rows[i + 1] += rows[i];
	std::vector<uint32_t> at(rows.begin(), rows.end() - 1);
	for (auto &e : g.edges)
		targets[at[reverse ? e.second : e.first]++] = reverse ? e.first : e.second;
	return DeviceCsr(rows, targets);
}

static Graph
read_graph(const std::string &path)
{
	Graph		g;
	std::vector<std::pair<int64_t, int64_t>> raw;
	FILE	   *in = popen(("zcat " + path).c_str(), "r");
	long long	a, b;

	while (in && fscanf(in, "%lld %lld", &a, &b) == 2)
	{
		raw.push_back({a, b});
		g.values.push_back(a);
		g.values.push_back(b);
	}
	if (in)
		pclose(in);
	std::sort(g.values.begin(), g.values.end());
	g.values.erase(std::unique(g.values.begin(), g.values.end()), g.values.end());
	for (auto &e : raw)
		g.edges.push_back({
			(uint32_t) (std::lower_bound(g.values.begin(), g.values.end(), e.first) - g.values.begin()),
			(uint32_t) (std::lower_bound(g.values.begin(), g.values.end(), e.second) - g.values.begin())});
	std::sort(g.edges.begin(), g.edges.end());
	g.edges.erase(std::unique(g.edges.begin(), g.edges.end()), g.edges.end());
	return g;
}

/* Sum up per-row aggregates. */
static Answer
total(const Graph &g, const GpucolRowSummary *device)
{
	std::vector<GpucolRowSummary> rows(g.n());
	u128		count = 0, x = 0, y = 0, xy = 0;

	CHECK(cudaMemcpy(rows.data(), device, g.n() * sizeof(rows[0]), cudaMemcpyDeviceToHost));
	for (uint32_t i = 0; i < g.n(); i++)
	{
		count += rows[i].count;
		x += (u128) rows[i].count * (u128) g.values[i];
		y += (u128) rows[i].sum;
		xy += (u128) rows[i].sum * (u128) g.values[i];
	}
	return {text(count), text(x), text(y), text(xy)};
}

static bool
report(const std::string &name, const char *query, const char *how,
	   const Answer &got, const Answer &want, uint64_t rounds,
	   std::vector<double> ms, size_t bytes)
{
	bool		same = got.count == want.count && got.x == want.x &&
		(want.y.empty() || got.y.empty() || got.y == want.y) &&
		(got.xy.empty() || got.xy == want.xy);

	std::sort(ms.begin(), ms.end());
	printf("%-16s %-3s %-7s %14s %-8s %6llu %10.2f %8.2f\n", name.c_str(), query,
		   how, got.count.c_str(),
		   want.count.empty() ? "no truth" : same ? "agrees" : "WRONG",
		   (unsigned long long) rounds, ms[ms.size() / 2], bytes / 1e9);
	fflush(stdout);
	return same || want.count.empty();
}

/* A plan for tc or sg: relation 0 the edges, relation 1 the result. */
static PlanBuilder
make_plan(bool sg)
{
	PlanBuilder b;
	int			edge = b.relation(2, GPUCOL_REC_INPUT),
				r = b.relation(2, GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT);

	b.rule(0);
	b.atom(edge, GPUCOL_REC_FULL, {0, 1});
	if (sg)
	{
		b.atom(edge, GPUCOL_REC_FULL, {0, 2});
		b.differ(1, 2);
		b.emit(r, {1, 2});
	}
	else
		b.emit(r, {0, 1});
	b.rule(GPUCOL_REC_RECURSIVE);
	b.atom(r, GPUCOL_REC_DELTA, {0, 1});
	if (sg)
	{
		b.atom(edge, GPUCOL_REC_FULL, {0, 2});
		b.atom(edge, GPUCOL_REC_FULL, {1, 3});
		b.emit(r, {2, 3});
	}
	else
	{
		b.atom(edge, GPUCOL_REC_FULL, {1, 2});
		b.emit(r, {0, 2});
	}
	return b;
}

/* Through the engine, from values in host memory to a summary. */
static size_t device_limit;		/* bytes; 0 = what there is */

static bool
run_engine(const std::string &name, const Graph &g, const Answer &want, bool sg,
		   GpucolRecStrategy strategy)
{
	const GpucolRecursiveEngine &engine = gpucol_recursive_device;
	PlanBuilder builder = make_plan(sg);
	GpucolRecPlan plan = builder.plan();
	std::vector<int64_t> x,
				y;
	std::vector<double> ms;
	GpucolRecProgress progress = {};
	Answer		got;

	for (auto &e : g.edges)
	{
		x.push_back(g.values[e.first]);
		y.push_back(g.values[e.second]);
	}
	for (int i = 0; i < 2; i++)
	{
		auto		start = Clock::now();
		GpucolRecOptions options = {};
		GpucolRecRun *run = nullptr;
		const int64_t *columns[2] = {x.data(), y.data()};
		GpucolRecSummary summary[2];
		uint64_t	n = 0;

		options.threads = 1;
		options.strategy = strategy;
		options.device_limit = device_limit;
		GpucolStatus status = engine.start(&plan, &options, &run);

		if (status == GPUCOL_OK)
			status = engine.load(run, 0, (uint32_t) x.size(), columns, nullptr);
		if (status == GPUCOL_OK)
			status = engine.summarise(run, 1, nullptr, &n, summary);
		ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
		engine.progress(run, &progress);
		engine.finish(run);
		if (status != GPUCOL_OK)
		{
			printf("%-16s %-3s status %d, %.1f GB\n", name.c_str(), sg ? "sg" : "tc",
				   status, progress.peak_bytes / 1e9);
			return status == GPUCOL_OUT_OF_MEMORY;
		}
		got = {text(n), text((u128) summary[0].sum), text((u128) summary[1].sum), ""};
	}
	return report(name, sg ? "sg" : "tc", device_limit ? "host" : strategy == GPUCOL_REC_HISA ?
				  "HISA" : "engine",
				  got, want, progress.rounds, {ms.back()}, progress.peak_bytes);
}

static bool
run_tc(const std::string &name, const Graph &g, const Answer &want)
{
	DeviceCsr	edge = make_csr(g, false);
	Buffer<int64_t> values(g.values);
	Buffer<GpucolRowSummary> rows(g.n());
	GpucolClosure closure = {g.n(), g.n(), edge.csr(), edge.csr(), values.p, 0, nullptr};
	size_t		need = gpucol_closure_scratch(&closure);
	Buffer<char> scratch(need);
	std::vector<double> ms;

	for (int i = 0; i < 3; i++)
	{
		auto		start = Clock::now();

		CHECK(gpucol_closure_count(&closure, scratch.p, rows.p, 0));
		CHECK(cudaDeviceSynchronize());
		ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
	}
	return report(name, "tc", "kernel", total(g, rows.p), want, 0, ms, need);
}

/* A zeroed matrix. */
struct Matrix
{
	Buffer<uint32_t> words;
	Buffer<uint8_t> tiles;
	GpucolBitMatrix m;

	explicit Matrix(uint32_t ntiles)
		: words((size_t) ntiles * ntiles * GPUCOL_TILE * GPUCOL_TILE_WORDS),
		  tiles((size_t) ntiles * ntiles), m{words.p, tiles.p, ntiles} {}
	void clear()
	{
		CHECK(cudaMemsetAsync(words.p, 0, words.bytes));
		CHECK(cudaMemsetAsync(tiles.p, 0, tiles.bytes));
	}
};

static unsigned long long
fetch(const Buffer<unsigned long long> &b)
{
	unsigned long long v;

	CHECK(cudaMemcpy(&v, b.p, sizeof(v), cudaMemcpyDeviceToHost));
	return v;
}

/* Set bit (i, k) for every edge i -> k of the first n rows. */
__global__ void
load_kernel(GpucolCsr edge, uint32_t n, GpucolBitMatrix out)
{
	uint32_t	i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= n)
		return;
	for (uint32_t e = edge.rows[i]; e < edge.rows[i + 1]; e++)
	{
		uint32_t	k = edge.targets[e];

		out.words[i * out.stride() + k / 32] |= 1u << (k & 31);
		out.tiles[(size_t) (i / GPUCOL_TILE) * out.ntiles + k / GPUCOL_TILE] = 1;
	}
}

static bool
run_sg(const std::string &name, const Graph &g, const Answer &want)
{
	uint32_t	ntiles = (g.n() + GPUCOL_TILE - 1) / GPUCOL_TILE;
	DeviceCsr	edge = make_csr(g, false),
				back = make_csr(g, true);
	Buffer<int64_t> values(g.values);
	Buffer<GpucolRowSummary> rows(g.n());
	Buffer<unsigned long long> fresh(1), counts(2);
	size_t		capacity = std::max<size_t>(1 << 20, (size_t) g.n() * g.n() / 512);
	Buffer<uint64_t> list0(capacity), list1(capacity);
	Matrix		delta(ntiles), turned(ntiles), full(ntiles), half(ntiles);
	std::vector<double> ms;
	uint64_t	rounds = 0;
	GpucolSameGeneration plan = {g.n(), edge.csr(), edge.csr(), (double) g.edges.size() / g.n(), 0};
	GpucolSameGenerationSpace space = {full.m, half.m, delta.m, turned.m,
		{{list0.p, counts.p, capacity}, {list1.p, counts.p + 1, capacity}}, fresh.p};

	for (int i = 0; i < 3; i++)
	{
		auto		start = Clock::now();

		for (Matrix *m : {&delta, &turned, &full, &half})
			m->clear();
		load_kernel<<<(g.n() + 255) / 256, 256>>>(back.csr(), g.n(), turned.m);
		CHECK(gpucol_bitmatrix_step(turned.m, edge.csr(), full.m, delta.m, true, fresh.p, nullptr, 0));
		unsigned long long n = fetch(fresh);

		CHECK(gpucol_same_generation_run(&plan, &space, &n, GpucolCancel(),
								  [&rounds](uint64_t r, uint64_t) { rounds = r; }, 0));
		CHECK(gpucol_bitmatrix_summarise(full.m, g.n(), values.p, rows.p, 0));
		CHECK(cudaDeviceSynchronize());
		ms.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
	}
	return report(name, "sg", "kernel", total(g, rows.p), want, rounds, ms,
				  4 * full.m.bytes() + 16 * capacity);
}

int
main(int argc, char **argv)
{
	std::map<std::string, Truth> truths;
	std::ifstream in(argc > 1 ? argv[1] : "");
	std::string line;
	bool		ok = true;

	if (argc > 2 && strcmp(argv[1], "--device-mb") == 0)
	{
		device_limit = (size_t) atoll(argv[2]) << 20;
		argc -= 2;
		argv += 2;
		in.close();
		in.clear();
		in.open(argv[1]);
	}
	while (std::getline(in, line))
	{
		std::vector<std::string> f;
		std::stringstream s(line);
		std::string cell;

		while (std::getline(s, cell, '\t'))
			f.push_back(cell);
		if (f.size() >= 11)
			truths[f[0]] = {{f[4], f[5], f[6], f[7]}, {f[8], f[9], "", f[10]}};
	}
	printf("%-16s %-3s %-7s %14s %-8s %6s %10s %8s\n", "graph", "", "", "rows", "answer", "rounds", "ms", "GB");
	for (int i = 2; i < argc; i++)
	{
		std::string path = argv[i];
		std::string name = path.substr(path.rfind('/') + 1);

		name = name.substr(0, name.find(".tsv"));
		Graph		g = read_graph(path);

		if (device_limit == 0)
		{
			ok &= run_tc(name, g, truths[name].tc);
			ok &= run_sg(name, g, truths[name].sg);
		}
		for (GpucolRecStrategy strategy : {GPUCOL_REC_AUTO, GPUCOL_REC_HISA})
		{
			if (device_limit && strategy == GPUCOL_REC_AUTO)
				continue;
			ok &= run_engine(name, g, truths[name].tc, false, strategy);
			ok &= run_engine(name, g, truths[name].sg, true, strategy);
		}
	}
	printf("%s\n", ok ? "all answers agree" : "SOME ANSWERS ARE WRONG");
	return ok ? 0 : 1;
}
