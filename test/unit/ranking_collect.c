/*-------------------------------------------------------------------------
 *
 * ranking_collect.c
 *	  Collections of rows made in several threads against the same rows taken one
 *	  by one: group numbers, rows, x-tuples, the first error, limits on memory.
 *
 *-------------------------------------------------------------------------
 */
#include <math.h>

#include "ranking/cpu/rank_collect.h"

#include "check.h"

#define BATCHES		40
#define BATCH_ROWS	300
#define NROWS		(BATCHES * BATCH_ROWS)
#define NKEYS		4

static int	nkeys = NKEYS;		/* in use; all but the last are no strings */

/* Outputs: keys I, F, D, S, then filter, score, probability, label, x. */
enum
{
	FILTER = NKEYS, SCORE, P, LABEL, X, NOUTPUTS
};

static const uint8_t classes[NOUTPUTS] = {
	GPUCOL_CLASS_I, GPUCOL_CLASS_F, GPUCOL_CLASS_D, GPUCOL_CLASS_S,
	GPUCOL_CLASS_B, GPUCOL_CLASS_F, GPUCOL_CLASS_D, GPUCOL_CLASS_S, GPUCOL_CLASS_I
};

static int64_t ints[NOUTPUTS][NROWS];
static double floats[NOUTPUTS][NROWS];
static __int128 decimals[NOUTPUTS][NROWS];
static GpucolBytes strings[NOUTPUTS][NROWS];
static uint8_t nulls[NOUTPUTS][NROWS];
static char bytes[1000][24];

static uint32_t
draw(uint32_t below)
{
	return (uint32_t) (check_random() % below);
}

/* Values of `kinds` kinds in every key. */
static void
draw_rows(uint32_t kinds)
{
	for (int i = 0; i < 1000; i++)
		snprintf(bytes[i], sizeof(bytes[i]), "%d%s", i, i % 2 ? "" : " and more");
	for (int c = 0; c < NOUTPUTS; c++)
	{
		for (int i = 0; i < NROWS; i++)
		{
			uint32_t	v = draw(c < NKEYS ? kinds : 1000);

			nulls[c][i] = draw(20) == 0;
			ints[c][i] = c == FILTER ? v % 4 > 0 : c == X && v % 3 == 0 ?
				INT64_MIN + v : c < NKEYS && v == 7 ? INT64_MAX : (int64_t) v - 3;
			floats[c][i] = v == 0 ? -0.0 : v == 1 ? 0.0 : v == 2 ? NAN : v / 4.0;
			decimals[c][i] = (__int128) v << (c < NKEYS ? 70 : 0);
			strings[c][i] = (GpucolBytes) {bytes[v], v == 5 ? 0 : strlen(bytes[v])};
		}
	}
}

/* Rows [first, first + n) as an engine delivers them. */
static GpucolResult
deliver(GpucolResultColumn *columns, int first, int n)
{
	for (int c = 0; c < NOUTPUTS; c++)
		columns[c] = (GpucolResultColumn)
	{
		.cls = classes[c],.nulls = nulls[c] + first,.i = ints[c] + first,
			.d = decimals[c] + first,.f = floats[c] + first,.s = strings[c] + first
	};
	return (GpucolResult) {.nrows = (uint32_t) n,.columns = columns};
}

static bool
same_float(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static bool
same_string(GpucolBytes a, GpucolBytes b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Are the keys of two rows equal? */
static bool
same_key(int a, int b)
{
	for (int c = 0; c < nkeys; c++)
	{
		if (nulls[c][a] || nulls[c][b])
		{
			if (nulls[c][a] != nulls[c][b])
				return false;
			continue;
		}
		if (classes[c] == GPUCOL_CLASS_I ? ints[c][a] != ints[c][b] :
			classes[c] == GPUCOL_CLASS_F ? !same_float(floats[c][a], floats[c][b]) :
			classes[c] == GPUCOL_CLASS_D ? decimals[c][a] != decimals[c][b] :
			!same_string(strings[c][a], strings[c][b]))
			return false;
	}
	return true;
}

static bool
counts(int i)
{
	return !nulls[FILTER][i] && ints[FILTER][i] && !nulls[SCORE][i] && !nulls[P][i] && !nulls[LABEL][i];
}

/*
 * Bring the first rows of the groups into the order of their numbers: where there
 * are many, those are in no particular one.
 */
static void
order_firsts(const GpucolCollect *c, int *firsts, uint32_t ngroups)
{
	int		   *found = malloc(sizeof(int) * ngroups);
	int64_t    *ids = malloc(sizeof(int64_t) * ngroups);
	double	   *floats_of = malloc(sizeof(double) * ngroups);
	__int128   *decimals_of = malloc(sizeof(__int128) * ngroups);
	uint8_t    *null[3] = {NULL, NULL, NULL};

	for (int k = 0; k < nkeys; k++)
	{
		null[k] = malloc(ngroups);
		gpucol_keys_column(gpucol_collect_keys(c), k, 0, ngroups, null[k],
						   k == 0 ? (void *) ids : k == 1 ? (void *) floats_of : (void *) decimals_of);
	}
	for (uint32_t g = 0; g < ngroups; g++)
	{
		found[g] = -1;
		for (uint32_t e = 0; e < ngroups && found[g] < 0; e++)
		{
			int			i = firsts[e];
			bool		same = true;

			for (int k = 0; k < nkeys; k++)
				same = same && null[k][g] == nulls[k][i] &&
					(null[k][g] || (k == 0 ? ids[g] == ints[0][i] : k == 1 ? same_float(floats_of[g], floats[1][i]) :
									decimals_of[g] == decimals[2][i]));
			if (same)
				found[g] = i;
		}
		CHECK(found[g] >= 0, "group %u is none", g);
	}
	memcpy(firsts, found, sizeof(int) * ngroups);
	for (int k = 0; k < nkeys; k++)
		free(null[k]);
	free(found);
	free(ids);
	free(floats_of);
	free(decimals_of);
}

/* The key columns of all groups are those of their first rows. */
static void
check_keys(const GpucolCollect *c, const int *firsts, uint32_t ngroups)
{
	const GpucolKeys *keys = gpucol_collect_keys(c);
	uint8_t    *null = malloc(ngroups);
	__int128   *data = malloc(sizeof(__int128) * ngroups);

	for (int k = 0; k < nkeys; k++)
	{
		gpucol_keys_column(keys, k, 0, ngroups, null, data);
		for (uint32_t g = 0; g < ngroups; g++)
		{
			int			i = firsts[g];

			CHECK(null[g] == nulls[k][i], "NULL in key %d of group %u", k, g);
			if (null[g])
				continue;
			CHECK(classes[k] == GPUCOL_CLASS_I ? ((int64_t *) data)[g] == ints[k][i] :
				  classes[k] == GPUCOL_CLASS_F ?
				  same_float(((double *) data)[g], floats[k][i]) &&
				  signbit(((double *) data)[g]) == signbit(floats[k][i]) :
				  classes[k] == GPUCOL_CLASS_D ? data[g] == decimals[k][i] :
				  same_string(((GpucolBytes *) data)[g], strings[k][i]),
				  "key %d of group %u", k, g);
		}
	}
	free(null);
	free(data);
}

/* Do x-tuples come back, and are those of equal values equal? */
static void
check_x(const GpucolCollect *c, int64_t x, int i)
{
	GpucolBytes name;
	int64_t		value;

	if (nulls[X][i])
	{
		CHECK(x < 0, "row %d has x-tuple", i);
		return;
	}
	CHECK(x >= 0, "row %d has no x-tuple", i);
	if (gpucol_collect_x(c, x, &name, &value))
		memcpy(&value, name.data, sizeof(value));
	CHECK(value == ints[X][i], "x-tuple of row %d", i);
}

/* Take all batches by threads that draw them; a whole collection. */
static void
one_collection(int threads, uint32_t kinds)
{
	GpucolBudget memory = {.limit = 0};
	GpucolCollectSet sets[2] = {
		{.filter = FILTER,.score = SCORE,.probability = P,.divisor = 1000,.label = LABEL,.x = X},
		{.filter = -1,.score = SCORE,.probability = P,.divisor = 1000,.label = -1,.x = -1},
	};
	GpucolCollect *c = gpucol_collect_create(&memory, threads, nkeys, classes, 2, sets);
	GpucolRankRows *rows;
	GpucolResultColumn columns[NOUTPUTS];
	GpucolRankOrder how = {0};
	GpucolCollectError error;
	GpucolBatchRow *got = malloc(sizeof(GpucolBatchRow) * NROWS);
	int		   *firsts = malloc(sizeof(int) * NROWS);
	uint32_t	ngroups = 0;

	draw_rows(kinds);
	for (int b = 0; b < BATCHES; b++)
	{
		GpucolResult result = deliver(columns, b * BATCH_ROWS, BATCH_ROWS);

		CHECK(gpucol_collect_take(c, (int) draw((uint32_t) threads), (uint64_t) b, &result) == GPUCOL_OK, "take");
	}
	CHECK(gpucol_collect_status(c) == GPUCOL_OK, "status");
	CHECK(gpucol_collect_finish(c, NULL, NULL, &error) == GPUCOL_OK, "finish");
	CHECK(gpucol_collect_is_used(c, 0) && gpucol_collect_is_used(c, 1), "used");

	/* groups in the order of their first rows */
	for (int i = 0; i < NROWS; i++)
	{
		uint32_t	g = 0;

		while (g < ngroups && !same_key(firsts[g], i))
			g++;
		if (g == ngroups)
			firsts[ngroups++] = i;
	}
	CHECK(gpucol_collect_ngroups(c) == ngroups, "%u groups, not %u", gpucol_collect_ngroups(c), ngroups);
	if (nkeys < NKEYS)
		order_firsts(c, firsts, ngroups);
	check_keys(c, firsts, ngroups);

	rows = gpucol_collect_rows(c, 0, &how.group_maps, &how.x_maps);
	CHECK(gpucol_rank_rows_order(rows, ngroups, &how) == GPUCOL_OK, "order");
	for (uint32_t g = 0; g < ngroups; g++)
	{
		int64_t		n = gpucol_rank_rows_before(rows, g + 1) - gpucol_rank_rows_before(rows, g);
		int64_t		at = 0;

		gpucol_rank_rows_gather(rows, g, got);
		for (int i = firsts[g]; i < NROWS; i++)
		{
			const GpucolStoredLabel *label;

			if (!counts(i) || !same_key(firsts[g], i))
				continue;
			CHECK(at < n, "group %u has too few rows", g);
			if (at >= n)
				break;
			label = (const GpucolStoredLabel *) (intptr_t) got[at].label;
			CHECK(same_string((GpucolBytes) {label->data, label->len}, strings[LABEL][i]), "label of row %d", i);
			CHECK(got[at].p == (double) decimals[P][i] / 1000, "probability of row %d", i);
			check_x(c, got[at].x, i);
			at++;
		}
		CHECK(at == n, "group %u has %d rows", g, (int) n);
	}
	free(got);
	free(firsts);
	gpucol_collect_destroy(c);
}

/* The error is that of the row that comes first, whatever thread had it. */
static void
first_errors(void)
{
	GpucolBudget memory = {.limit = 0};
	int			k_key = 0;
	GpucolCollectSet set = {.filter = -1,.score = SCORE,.probability = P,.divisor = 1000,.label = -1,.x = -1,
	.k_keys = &k_key,.nk = 1};
	GpucolResultColumn columns[NOUTPUTS];
	GpucolCollectError error;

	for (int round = 0; round < 3; round++)
	{
		GpucolCollect *c = gpucol_collect_create(&memory, 3, 1, classes, 1, &set);

		draw_rows(100);
		memset(nulls, 0, sizeof(nulls));
		for (int i = 0; i < NROWS; i++)
			ints[0][i] = 1 + i % 5;
		decimals[P][5000] = 1001;
		decimals[P][9000] = 2000;
		if (round == 1)
			ints[0][4999] = -4;
		if (round == 2)
			nulls[0][4998] = 1;
		for (int b = 0; b < BATCHES; b++)
		{
			GpucolResult result = deliver(columns, b * BATCH_ROWS, BATCH_ROWS);

			CHECK(gpucol_collect_take(c, b % 3, (uint64_t) b, &result) == GPUCOL_OK, "take");
		}
		CHECK(gpucol_collect_finish(c, NULL, NULL, &error) == GPUCOL_CORRUPT, "finish");
		CHECK(round == 0 ? error.fault == GPUCOL_COLLECT_BAD_P && error.value.p == 1.001 :
			  round == 1 ? error.fault == GPUCOL_COLLECT_BAD_K && error.value.k == -4 :
			  error.fault == GPUCOL_COLLECT_K_NULL, "round %d: fault %d", round, (int) error.fault);
		gpucol_collect_destroy(c);
	}
}

static bool
always(void *arg)
{
	(void) arg;
	return true;
}

/* Every limit is kept, wherever it strikes. */
static void
limits(void)
{
	GpucolCollectSet set = {.filter = FILTER,.score = SCORE,.probability = P,.divisor = 1000,.label = LABEL,.x = X};
	GpucolResultColumn columns[NOUTPUTS];
	int			failed = 0;

	draw_rows(900);
	for (size_t limit = 1000; limit < 40000000; limit += limit / 3)
	{
		GpucolBudget memory = {.limit = limit};
		GpucolCollect *c = gpucol_collect_create(&memory, 2, NKEYS, classes, 1, &set);
		GpucolCollectError error;
		GpucolStatus status = GPUCOL_OK;

		for (int b = 0; b < BATCHES && status == GPUCOL_OK; b++)
		{
			GpucolResult result = deliver(columns, b * BATCH_ROWS, BATCH_ROWS);

			status = gpucol_collect_take(c, b % 2, (uint64_t) b, &result);
		}
		CHECK(status == gpucol_collect_status(c), "status");
		if (status == GPUCOL_OK)
			status = gpucol_collect_finish(c, limit % 2 ? always : NULL, NULL, &error);
		CHECK(status == GPUCOL_OK || status == GPUCOL_OUT_OF_MEMORY, "status %d", (int) status);
		CHECK(memory.used <= limit, "%zu of %zu bytes", (size_t) memory.used, limit);
		failed += status != GPUCOL_OK;
		gpucol_collect_destroy(c);
	}
	CHECK(failed > 3, "%d", failed);
}

int
main(void)
{
	for (int threads = 1; threads <= 5; threads += 2)
	{
		one_collection(threads, 3);
		one_collection(threads, 6);
	}
	nkeys = 3;
	one_collection(1, 11);
	one_collection(4, 11);
	one_collection(7, 13);
	/* numbered by their values, but for NULL and those that are far away */
	nkeys = 1;
	one_collection(1, 900);
	one_collection(2, 5);
	one_collection(4, 12);
	one_collection(7, 900);
	nkeys = NKEYS;
	first_errors();
	limits();
	return check_summary("ranking_collect");
}
