/*-------------------------------------------------------------------------
 *
 * ranking.c
 *	  Every ranking of src/uncertain against brute force: all possible worlds
 *	  of thousands of small random groups are enumerated and the definitions
 *	  applied to them word by word; then the two U-Topk algorithms against each
 *	  other on large groups, and numerical edge cases.
 *
 * Usage: ranking [rounds].  The first input on which something differs is
 * printed.
 *
 *-------------------------------------------------------------------------
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rank_reference.h"

#include "check.h"

#define MAX_N 14
#define TIE 1e-12L

static uint32_t
draw(uint32_t below)
{
	return (uint32_t) (check_random() % below);
}

/*-------------------------------------------------------------------------
 * Possible worlds
 *-------------------------------------------------------------------------
 */

typedef struct Worlds
{
	long double set[1 << MAX_N];	/* Pr[these tuples are the top k] */
	long double in_top[MAX_N];
	long double at_rank[MAX_N][MAX_N];	/* [rank][tuple] */
	long double expected[MAX_N];
	int			max_size;		/* of any world of positive probability */
} Worlds;

static Worlds worlds;

/* The possible world of tuples `mask`, of probability pr. */
static void
one_world(int n, int k, int mask, long double pr)
{
	int			size = __builtin_popcount(mask);
	int			rank = 0;
	int			top = 0;

	if (pr <= 0)
		return;
	if (size > worlds.max_size)
		worlds.max_size = size;
	for (int i = 0; i < n; i++)
	{
		if (!(mask >> i & 1))
		{
			worlds.expected[i] += pr * size;
			continue;
		}
		worlds.expected[i] += pr * rank;
		worlds.at_rank[rank][i] += pr;
		if (rank < k)
		{
			worlds.in_top[i] += pr;
			top |= 1 << i;
		}
		rank++;
	}
	if (size >= k)
		worlds.set[top] += pr;
}

/* Enumerate: every x-tuple takes one of its alternatives or none. */
static void
enumerate(const GpucolRankInput *in, int k, int xtuple, int mask, long double pr)
{
	long double absent = 1;
	int			alternatives = 0;

	if (pr <= 0)
		return;
	if (xtuple == in->nx)
	{
		one_world(in->n, k, mask, pr);
		return;
	}
	for (int i = 0; i < in->n; i++)
		if (in->x[i] == xtuple && in->p[i] > 0)
		{
			absent -= (long double) in->p[i];
			alternatives++;
			enumerate(in, k, xtuple + 1, mask | 1 << i, pr * in->p[i]);
		}
	if (alternatives > 1 && absent < 1e-15L)
		absent = 0;
	enumerate(in, k, xtuple + 1, mask, pr * absent);
}

/*-------------------------------------------------------------------------
 * The definitions, applied to the worlds
 *-------------------------------------------------------------------------
 */

/* Is a, as a sequence of ranks, before b? */
static bool
lexically_before(int a, int b)
{
	int			differ = a ^ b;

	return (a & (differ & -differ)) != 0;
}

/* The U-Topk set as a mask, 0 if none, and its probability. */
static int
brute_u_topk(int n, long double *probability)
{
	int			best = 0;

	*probability = 0;
	for (int last = 0; last < n; last++)
	{
		int			here = 0;

		for (int mask = 1 << last; mask < 2 << last; mask++)
		{
			long double v = worlds.set[mask];

			if (v <= 0)
				continue;
			if (here == 0 || v > worlds.set[here] * (1 + TIE) ||
				(v >= worlds.set[here] * (1 - TIE) && lexically_before(mask, here)))
				here = mask;
		}
		if (here != 0 && worlds.set[here] > *probability * (1 + TIE))
		{
			best = here;
			*probability = worlds.set[here];
		}
	}
	return best;
}

/* First k by value descending, near-equal values by rank; tuples with p > 0. */
static int
brute_choose(const GpucolRankInput *in, int k, const long double *value,
			 int32_t *out)
{
	bool		used[MAX_N] = {false};
	int			count = 0;

	while (count < k)
	{
		int			best = -1;

		for (int i = 0; i < in->n; i++)
			if (!used[i] && in->p[i] > 0 &&
				(best < 0 || value[i] > value[best] + TIE * fabsl(value[best])))
				best = i;
		if (best < 0)
			break;
		used[best] = true;
		out[count++] = best;
	}
	return count;
}

/*-------------------------------------------------------------------------
 * Comparison
 *-------------------------------------------------------------------------
 */

static const char *failing;		/* what differs */

static void
check(bool ok, const char *what)
{
	if (!ok && failing == NULL)
		failing = what;
	CHECK(ok, "%s", what);
}

/*
 * Within 1e-12, and relatively so too; but what remains of an x-tuple when most
 * of its alternatives are seen is a difference from 1, exact to 1e-31 at best.
 */
static long double floor_error;

static bool
close_to(double got, long double want)
{
	long double error = fabsl((long double) got - want);

	return error <= 1e-12L && error <= 1e-11L * want + floor_error;
}

static void
check_u_topk(const GpucolRankInput *in, int k, GpucolRankWork *work,
			 bool independent)
{
	int32_t		set[MAX_N];
	double		probability;
	bool		found;
	long double want;
	int			mask = brute_u_topk(in->n, &want);
	GpucolRankInput as_independent = *in;

	for (int algorithm = 0; algorithm < (independent ? 3 : 1); algorithm++)
	{
		GpucolStatus status;
		int			got = 0;

		as_independent.x = NULL;
		if (algorithm == 0)
			status = gpucol_rank_u_topk(in, k, work, set, &probability, &found);
		else if (algorithm == 1)
			status = gpucol_rank_u_topk(&as_independent, k, work, set,
										&probability, &found);
		else
			status = gpucol_rank_u_topk_dp(&as_independent, k, work, set,
										   &probability, &found);
		check(status == GPUCOL_OK, "u_topk status");
		check(found == (mask != 0), "u_topk found");
		if (!found)
			continue;
		for (int j = 0; j < k; j++)
		{
			got |= 1 << set[j];
			check(j == 0 || set[j] > set[j - 1], "u_topk order");
		}
		check(got == mask, algorithm == 2 ? "u_topk set, dp" : "u_topk set");
		check(close_to(probability, want), "u_topk probability");
	}
}

static void
check_u_kranks(const GpucolRankInput *in, int k, GpucolRankWork *work)
{
	int32_t		ranks[MAX_N];
	double		probability[MAX_N];
	int32_t		count;
	int			reach = worlds.max_size < k ? worlds.max_size : k;

	check(gpucol_rank_u_kranks(in, k, work, ranks, probability,
							   &count) == GPUCOL_OK, "u_kranks status");
	check(count >= reach, "u_kranks count");
	for (int j = 0; j < count; j++)
	{
		int			best = -1;

		for (int i = 0; i < in->n; i++)
			if (worlds.at_rank[j][i] > 0 &&
				(best < 0 || worlds.at_rank[j][i] > worlds.at_rank[j][best] * (1 + TIE)))
				best = i;
		check(ranks[j] == best, "u_kranks tuple");
		check(best < 0 || close_to(probability[j], worlds.at_rank[j][best]),
			  "u_kranks probability");
	}
}

static void
check_top(const GpucolRankInput *in, int k, GpucolRankWork *work)
{
	double		probability[MAX_N];
	double		threshold = (1 + draw(10)) / 10.0;
	int32_t		out[MAX_N];
	int32_t		want[MAX_N];
	int32_t		count;
	int			n = 0;

	check(gpucol_rank_topk_probability(in, k, work, probability) == GPUCOL_OK,
		  "topk_probability status");
	for (int i = 0; i < in->n; i++)
		check(close_to(probability[i], worlds.in_top[i]), "topk_probability");

	check(gpucol_rank_pt_k(in, k, threshold, work, out, &count) == GPUCOL_OK,
		  "pt_k status");
	for (int i = 0; i < in->n; i++)
		if (worlds.in_top[i] >= threshold * (1 - TIE))
			want[n++] = i;
	check(count == n && memcmp(out, want, sizeof(int32_t) * n) == 0, "pt_k");

	check(gpucol_rank_global_topk(in, k, work, out, &count) == GPUCOL_OK,
		  "global_topk status");
	n = brute_choose(in, k, worlds.in_top, want);
	check(count == n && memcmp(out, want, sizeof(int32_t) * n) == 0,
		  "global_topk");
}

static void
check_expected(const GpucolRankInput *in, int k, GpucolRankWork *work)
{
	double		expected[MAX_N];
	long double value[MAX_N];
	int32_t		out[MAX_N];
	int32_t		want[MAX_N];
	int32_t		count;
	int			n;

	gpucol_rank_expected(in, work, expected);
	for (int i = 0; i < in->n; i++)
	{
		check(fabsl(expected[i] - worlds.expected[i]) <= 1e-12L, "expected rank");
		value[i] = -worlds.expected[i];
	}
	check(gpucol_rank_expected_topk(in, k, work, out, &count) == GPUCOL_OK,
		  "expected_topk status");
	n = brute_choose(in, k, value, want);
	check(count == n && memcmp(out, want, sizeof(int32_t) * n) == 0,
		  "expected_topk");
}

/*-------------------------------------------------------------------------
 * Random inputs
 *-------------------------------------------------------------------------
 */

static double
draw_probability(int style)
{
	switch (style)
	{
		case 0:
			return draw(1001) / 1000.0;
		case 1:					/* many ties, zeros and ones */
			return draw(5) / 4.0;
		case 2:
			return draw(11) / 10.0;
		case 3:
			return (draw(1u << 30) + 1) / (double) (1u << 30);
		case 4:					/* extremes */
			{
				static const double extreme[] = {0, 1, 0.5, 1e-9, 1 - 1e-9, 1e-30,
				DBL_EPSILON, 1 - DBL_EPSILON};

				return extreme[draw(8)];
			}
		default:
			return draw(200) / 1000.0;
	}
}

/*
 * Fill a group; x-tuples of up to `width` alternatives, each made to sum to at
 * most 1 (sometimes to 1 exactly but for rounding).
 */
static void
draw_group(GpucolRankInput *in, double *p, int32_t *x, int width)
{
	int			style = (int) draw(6);
	double		mass[MAX_N] = {0};

	in->n = 1 + (int) draw(MAX_N);
	in->nx = 0;
	for (int i = 0; i < in->n; i++)
	{
		p[i] = draw_probability(style);
		x[i] = width > 1 && in->nx > 0 && draw((uint32_t) width) > 0 ?
			(int32_t) draw((uint32_t) in->nx) : in->nx++;
		if (mass[x[i]] + p[i] > 1)
			p[i] = draw(2) ? 1 - mass[x[i]] : 0;
		mass[x[i]] += p[i];
	}
	in->p = p;
	in->x = x;
}

static void
report(const GpucolRankInput *in, int k)
{
	printf("%s; k = %d, n = %d\n", failing, k, in->n);
	for (int i = 0; i < in->n; i++)
		printf("  tuple %2d  p %.17g  x-tuple %d\n", i, in->p[i],
			   in->x == NULL ? i : in->x[i]);
}

static void
brute_force(int rounds)
{
	double		p[MAX_N];
	int32_t		x[MAX_N];
	GpucolRankInput in;
	GpucolRankWork work = {0};

	for (int round = 0; round < rounds && failing == NULL; round++)
	{
		int			width = (int) draw(4);
		int			k;

		draw_group(&in, p, x, width);
		k = 1 + (int) draw((uint32_t) in.n);
		work.size = gpucol_rank_workspace(&in, k);
		if (work.size < gpucol_rank_dp_workspace(&in, k))
			work.size = gpucol_rank_dp_workspace(&in, k);
		work.memory = malloc(work.size);	/* exact, so that sanitizers see */

		memset(&worlds, 0, sizeof(worlds));
		floor_error = in.nx < in.n ? 1e-25L : 1e-280L;
		enumerate(&in, k, 0, 0, 1);
		check_u_topk(&in, k, &work, in.nx == in.n);
		check_u_kranks(&in, k, &work);
		check_top(&in, k, &work);
		check_expected(&in, k, &work);
		free(work.memory);
		if (failing != NULL)
			report(&in, k);
	}
}

/*-------------------------------------------------------------------------
 * Large groups
 *-------------------------------------------------------------------------
 */

static void
large_group(int n, int k, double scale)
{
	double	   *p = malloc(sizeof(double) * (size_t) n);
	int32_t    *x = malloc(sizeof(int32_t) * (size_t) n);
	int32_t    *set = malloc(sizeof(int32_t) * (size_t) k * 3);
	GpucolRankInput in = {.n = n,.p = p,.x = NULL,.nx = n};
	GpucolRankWork work = {0};
	double		probability[3];
	bool		found[3];

	for (int i = 0; i < n; i++)
	{
		p[i] = scale * draw(1001) / 1000.0;
		x[i] = i;
	}

	/* one pair of alternatives, of probability 0: still takes the x-tuple path */
	p[n - 1] = p[n - 2] = 0;
	x[n - 1] = x[n - 2];
	in.nx = n - 1;
	in.x = x;
	work.size = gpucol_rank_workspace(&in, k);
	in.x = NULL;
	if (work.size < gpucol_rank_dp_workspace(&in, k))
		work.size = gpucol_rank_dp_workspace(&in, k);
	work.memory = malloc(work.size);
	gpucol_rank_u_topk(&in, k, &work, set, &probability[0], &found[0]);
	gpucol_rank_u_topk_dp(&in, k, &work, set + k, &probability[1], &found[1]);

	in.x = x;
	gpucol_rank_u_topk(&in, k, &work, set + 2 * k, &probability[2], &found[2]);
	for (int other = 1; other < 3; other++)
	{
		const char *name = other == 1 ? "dynamic programming" : "x-tuples";

		CHECK(found[0] == found[other], "n = %d, k = %d, p up to %g: %s", n, k,
			  scale, name);
		CHECK(!found[0] ||
			  memcmp(set, set + other * k, sizeof(int32_t) * (size_t) k) == 0,
			  "n = %d, k = %d, p up to %g: %s", n, k, scale, name);
		CHECK(fabs(probability[0] - probability[other]) <= 1e-12 * probability[0],
			  "n = %d, k = %d, p up to %g: heap %.17g, %s %.17g", n, k, scale,
			  probability[0], name, probability[other]);
	}
	free(p);
	free(x);
	free(set);
	free(work.memory);
}

/*
 * n tuples of one probability: Pr[in the top k] is a binomial tail, summed here
 * in logarithms.
 */
static void
binomial(int n, int k, double p)
{
	double	   *all = malloc(sizeof(double) * (size_t) n);
	double	   *got = malloc(sizeof(double) * (size_t) n);
	GpucolRankInput in = {.n = n,.p = all};
	GpucolRankWork work = {0};
	double		worst = 0;

	for (int i = 0; i < n; i++)
		all[i] = p;
	work.size = gpucol_rank_workspace(&in, k);
	work.memory = malloc(work.size);
	gpucol_rank_topk_probability(&in, k, &work, got);
	for (int i = 0; i < n; i += 97)
	{
		long double tail = 0;

		for (int c = 0; c < k && c <= i; c++)
			tail += expl(lgammal(i + 1.0L) - lgammal(c + 1.0L) -
						 lgammal(i - c + 1.0L) + c * logl(p) +
						 (i - c) * log1pl(-(long double) p));
		if (fabs(got[i] - (double) (p * tail)) > worst)
			worst = fabs(got[i] - (double) (p * tail));
	}
	free(all);
	free(got);
	free(work.memory);
	CHECK(worst <= 1e-12, "n = %d, k = %d, p = %g: error %g", n, k, p, worst);
}

/* Tuples behind a horizon must not matter, even when others are added. */
static void
horizons(int rounds)
{
	double		p[64];
	double		rest[128];
	static char memory[65536] __attribute__((aligned(16)));
	GpucolRankWork work = {.memory = memory,.size = sizeof(memory)};

	for (int round = 0; round < rounds; round++)
	{
		GpucolRankInput in = {.n = 64,.p = p};
		GpucolRankInput all = {.p = rest};
		int			k = 1 + (int) draw(6);
		int			style = (int) draw(6);
		int32_t		cut,
					set[2][6];
		double		probability[2];
		bool		found[2];
		int			m = 0;

		for (int i = 0; i < in.n; i++)
			p[i] = draw_probability(style);
		cut = gpucol_rank_u_topk_horizon(&in, k, &work);

		/* the whole group, then the group cut, both with the same additions */
		for (int keep = 0; keep < 2; keep++)
		{
			uint64_t	again = check_seed;

			m = 0;
			for (int i = 0; i < in.n; i++)
			{
				if (draw(4) == 0)
					rest[m++] = draw_probability(style);
				if (keep == 0 || i < cut)
					rest[m++] = p[i];
			}
			if (keep == 0)
				check_seed = again;
			all.n = m;
			gpucol_rank_u_topk(&all, k, &work, set[keep], &probability[keep],
							   &found[keep]);
		}
		CHECK(found[0] == found[1] &&
			  (!found[0] ||
			   (probability[0] == probability[1] &&
				memcmp(set[0], set[1], sizeof(int32_t) * (size_t) k) == 0)),
			  "round %d, k = %d", round, k);
	}
}

int
main(int argc, char **argv)
{
	int			rounds = argc > 1 ? atoi(argv[1]) : 6000;

	brute_force(rounds);
	for (int i = 0; i < 40; i++)
		large_group(100 + (int) draw(3000), 1 + (int) draw(90),
					i % 3 == 0 ? 1 : i % 3 == 1 ? 0.3 : 0.01);
	large_group(3000, 1500, 1);
	large_group(20000, 10, 0.001);
	binomial(5000, 100, 0.02);
	binomial(5000, 1000, 0.3);
	binomial(3000, 1, 0.001);
	binomial(4000, 4000, 0.999);
	horizons(rounds);
	return check_summary("ranking");
}
