/*-------------------------------------------------------------------------
 *
 * rounds_bench.cu
 *	  What a round of a recursion costs by the rows that it brings: the device in the
 *	  usual way, the device in small rounds (cuda/recursion/small_rounds.cuh), and the CPU engine.
 *
 * usage: rounds_bench [ROUNDS [small]]
 *
 * With "small" the usual way, which is slow, is left out.
 *
 * The graph is w disjoint chains of ROUNDS edges (default 500, fewer if they were more
 * than 1 M edges); recursions walk all of them at once, so that each round brings w rows:
 * nodes reached; nodes with the sum of weights so far; least sums over chains with arcs
 * both ways; and components of such chains by their least node, of which a round brings
 * many rows at first and few at last.  Prints rounds, rows, how many rounds ran in small
 * ones where they may, and microseconds a round
 * beyond those of a run that ends after the first round, which loads and numbers the
 * edges; exit status 1 if engines differ.
 *
 *-------------------------------------------------------------------------
 */
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "recursion/engine.h"
#include "plan_builder.h"
#include "cuda/recursion/recursive_engine.h"

enum Kind
{
	REACH, SUMS, PATHS, COMPONENTS
};

static const char *const names[] = {"nodes reached", "with sums", "least sums", "components"};

/* Rows of the inputs: arc(a, b, w), start(a, zero). */
struct Input
{
	std::vector<int64_t> arc[3];
	std::vector<int64_t> start[2];
};

static Input
make_input(Kind kind, int chains, int length)
{
	Input		in;
	auto		add = [&](int64_t a, int64_t b, int64_t w) {
		in.arc[0].push_back(a);
		in.arc[1].push_back(b);
		in.arc[2].push_back(w);
	};

	for (int64_t c = 0; c < chains; c++)
	{
		int64_t		first = c * (length + 1);

		for (int64_t i = first; i < first + length; i++)
		{
			add(i, i + 1, i % 7 + 1);
			if (kind >= PATHS)
				add(i + 1, i, i % 5 + 1);
		}
		for (int64_t i = first; i <= (kind == COMPONENTS ? first + length : first); i++)
		{
			in.start[0].push_back(i);
			in.start[1].push_back(kind == COMPONENTS ? i : 0);
		}
	}
	return in;
}

/* Relations 0 and 1 are the inputs, 2 the result. */
static PlanBuilder
make_plan(Kind kind)
{
	PlanBuilder b;
	int			arity = kind == REACH ? 1 : 2,
				arc = b.relation(3, GPUCOL_REC_INPUT),
				start = b.relation(2, GPUCOL_REC_INPUT),
				r = b.relation(arity, GPUCOL_REC_DERIVED | GPUCOL_REC_OUTPUT,
							   kind >= PATHS ? GPUCOL_REC_MERGE_MIN : GPUCOL_REC_MERGE_NONE);

	b.rule(0);
	b.atom(start, GPUCOL_REC_FULL, {0, 1});
	if (kind == REACH)
		b.emit(r, {0});
	else
		b.emit(r, {0, 1});
	b.rule(GPUCOL_REC_RECURSIVE);
	if (kind == REACH)
		b.atom(r, GPUCOL_REC_DELTA, {0});
	else
		b.atom(r, GPUCOL_REC_DELTA, {0, 1});
	b.atom(arc, GPUCOL_REC_FULL, {0, 2, 3});
	if (kind == SUMS || kind == PATHS)
		b.add(4, 1, 3);
	if (kind == REACH)
		b.emit(r, {2});
	else
		b.emit(r, {2, kind == COMPONENTS ? 1 : 4});
	return b;
}

struct Outcome
{
	GpucolStatus status;
	uint64_t	rows;
	std::string sums;
	uint64_t	rounds;
	uint64_t	in_small;		/* of them in small rounds */
	double		us;
};

/* A run of up to `most` rounds (0: all); us is the time of all of it. */
static Outcome
run(const GpucolRecursiveEngine &engine, Kind kind, const Input &in, uint32_t small_after,
	int64_t most)
{
	PlanBuilder builder = make_plan(kind);
	GpucolRecPlan plan = builder.plan();
	GpucolRecOptions options = {};
	GpucolRecRun *run = nullptr;
	GpucolRecSummary summary[2] = {};
	GpucolRecProgress progress = {};
	const int64_t *arc[] = {in.arc[0].data(), in.arc[1].data(), in.arc[2].data()};
	const int64_t *start[] = {in.start[0].data(), in.start[1].data()};
	bool		want[] = {true, true};
	Outcome		out = {};

	options.threads = 1;
	options.strategy = GPUCOL_REC_HISA;
	options.small_rounds_after = small_after;
	options.max_rounds = most;
	auto		begin = std::chrono::steady_clock::now();

	out.status = engine.start(&plan, &options, &run);
	if (out.status == GPUCOL_OK)
		out.status = engine.load(run, 0, (uint32_t) in.arc[0].size(), arc, nullptr);
	if (out.status == GPUCOL_OK)
		out.status = engine.load(run, 1, (uint32_t) in.start[0].size(), start, nullptr);
	if (out.status == GPUCOL_OK)
		out.status = engine.summarise(run, 2, want, &out.rows, summary);
	out.us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
	engine.progress(run, &progress);
	engine.finish(run);
	out.rounds = progress.rounds;
	out.in_small = progress.small_rounds;
	for (int c = 0; c < (kind == REACH ? 1 : 2); c++)
		out.sums += std::to_string((long long) summary[c].sum) + " ";
	return out;
}

/* The same to its end, with the time of a round. */
static Outcome
measure(const GpucolRecursiveEngine &engine, Kind kind, const Input &in, uint32_t small_after)
{
	double		start = std::min(run(engine, kind, in, small_after, 1).us,
								 run(engine, kind, in, small_after, 1).us);
	Outcome		out = run(engine, kind, in, small_after, 0);

	out.us = (out.us - start) / (double) std::max<uint64_t>(1, out.rounds);
	return out;
}

int
main(int argc, char **argv)
{
	int			length = argc > 1 ? atoi(argv[1]) : 500;
	bool		ok = true,
				skip = argc > 2;

	run(gpucol_recursive_device, REACH, make_input(REACH, 1, 10), 0, 0);	/* wake the device */
	printf("%-14s %7s %9s %9s %9s %11s %11s %11s  us a round\n", "", "chains", "rounds",
		   "rows", "in small", "usual", "small", "CPU");
	for (Kind kind : {REACH, SUMS, PATHS, COMPONENTS})
		for (int chains : {1, 10, 100, 300, 1000, 3000, 10000, 30000, 100000})
		{
			int			n = kind == COMPONENTS ? std::max(10, length / 5) :
				std::min(length, 1000000 / chains);
			Input		in = make_input(kind, chains, n);

			if (kind == COMPONENTS && chains > 3000)
				continue;
			Outcome		small = measure(gpucol_recursive_device, kind, in, 0),
						usual = skip ? small : measure(gpucol_recursive_device, kind, in,
													   UINT32_MAX),
						cpu = measure(gpucol_recursive_cpu, kind, in, 0);
			bool		same = usual.status == GPUCOL_OK && small.status == GPUCOL_OK &&
				cpu.status == GPUCOL_OK && usual.rows == cpu.rows &&
				small.rows == cpu.rows && usual.sums == cpu.sums && small.sums == cpu.sums &&
				small.rounds == usual.rounds;

			printf("%-14s %7d %9llu %9llu %9llu %11.1f %11.2f %11.2f  %s\n", names[kind], chains,
				   (unsigned long long) small.rounds, (unsigned long long) small.rows,
				   (unsigned long long) small.in_small, skip ? 0 : usual.us, small.us, cpu.us,
				   same ? "" : "DIFFERENT");
			fflush(stdout);
			ok &= same;
		}
	printf("%s\n", ok ? "all answers agree" : "SOME ANSWERS ARE WRONG");
	return ok ? 0 : 1;
}
