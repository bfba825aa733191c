/*-------------------------------------------------------------------------
 *
 * result_choice.cc
 *	  Unit test of which groups of a result the device daemon leaves out
 *	  (cuda/query/result_choice.cuh): random groups and wishes, against a full sort.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/result_choice.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <string>

#include "cuda/query/result_layout.cuh"
#include "test/unit/check.h"

static std::mt19937 draw(20);

/* Groups by an integer, a decimal, a double and a byte string; their number, a sum of each class and an extreme. */
struct Program
{
	GpucolProgram head;
	uint8_t		classes[4];
	uint16_t	keys[4];
	GpucolAgg	aggs[5];

	Program()
	{
		memset((void *) this, 0, sizeof(*this));
		head.kind = GPUCOL_PROGRAM_AGG;
		head.nregs = head.nkeys = 4;
		head.naggs = 5;
		head.reg_classes = offsetof(Program, classes);
		head.keys = offsetof(Program, keys);
		head.aggs = offsetof(Program, aggs);
		for (int i = 0; i < 4; i++)
		{
			static const uint8_t of[] = {GPUCOL_CLASS_I, GPUCOL_CLASS_D, GPUCOL_CLASS_F, GPUCOL_CLASS_S};

			classes[i] = of[i];
			keys[i] = (uint16_t) i;
		}
		aggs[0] = {GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, 0, GPUCOL_NO_REG, 0};
		aggs[1] = {GPUCOL_AGG_SUM, GPUCOL_CLASS_I, 0, GPUCOL_NO_REG, 0};
		aggs[2] = {GPUCOL_AGG_SUM, GPUCOL_CLASS_D, 1, GPUCOL_NO_REG, 0};
		aggs[3] = {GPUCOL_AGG_SUM, GPUCOL_CLASS_F, 2, GPUCOL_NO_REG, 0};
		aggs[4] = {GPUCOL_AGG_MAX, GPUCOL_CLASS_F, 2, GPUCOL_NO_REG, 0};
	}
};

/* A double, now and then one of the odd ones. */
static double
some_double()
{
	static const double odd[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0};

	return draw() % 8 == 0 ? odd[draw() % 5] : (int) (draw() % 41 - 20) / 4.0;
}

/* A result of n random groups. */
static Partial
some_groups(const GpucolProgram *p, uint64_t n)
{
	ResultLayout layout(p, n);
	Partial		whole;

	whole.nrows = n;
	whole.data.resize(layout.size);
	for (uint64_t g = 0; g < n; g++)
	{
		GpucolAggState *states = (GpucolAggState *) (whole.data.data() + layout.states) + g * p->naggs;
		double		f = some_double();

		for (const ResultLayout::Column &c : layout.columns)
		{
			int64_t    *words = (int64_t *) (whole.data.data() + c.values) + g * c.width;

			words[0] = (int64_t) (draw() % 9) - 4;
			if (c.width == 2)
				words[1] = words[0] < 0 ? -1 : 0;
			whole.data[c.nulls + g] = draw() % 7 == 0;
		}
		memcpy(whole.data.data() + layout.columns[2].values + g * 8, &f, 8);
		for (int a = 0; a < p->naggs; a++)
			states[a].count = draw() % 5;
		gpucol_agg_put_value128(&states[1], (__int128) (draw() % 50) - 25);
		gpucol_agg_put_value128(&states[2], ((__int128) (draw() % 50) - 25) * ((__int128) 1 << 70));
		states[3].v.f = some_double();
		states[4].v.f = some_double();
	}
	return whole;
}

/* What may be asked for of the program. */
static GpucolFirstKey
some_key()
{
	static const GpucolFirstKey all[] = {
		{GPUCOL_FIRST_KEY, 0, false, false}, {GPUCOL_FIRST_KEY, 1, false, false}, {GPUCOL_FIRST_KEY, 2, false, false},
		{GPUCOL_FIRST_KEY, 3, false, false}, {GPUCOL_FIRST_COUNT, 0, false, false}, {GPUCOL_FIRST_SUM, 1, false, false},
		{GPUCOL_FIRST_SUM, 2, false, false}, {GPUCOL_FIRST_SUM, 3, false, false}, {GPUCOL_FIRST_VALUE, 4, false, false},
		{GPUCOL_FIRST_AVERAGE, 1, false, false}, {GPUCOL_FIRST_AVERAGE, 2, false, false},
	};
	GpucolFirstKey key = all[draw() % (sizeof(all) / sizeof(all[0]))];

	key.descending = draw() % 2;
	key.nulls_first = draw() % 2;
	return key;
}

static GpucolFirst
some_wish()
{
	GpucolFirst first;

	memset((void *) &first, 0, sizeof(first));
	for (first.ntests = draw() % 3 == 0 ? draw() % 3 : 0; first.tests[0].by == 0 && first.ntests > 0;)
		for (int t = 0; t < first.ntests; t++)
		{
			GpucolFirstKey key = draw() % 2 ? GpucolFirstKey{GPUCOL_FIRST_COUNT, 0, false, false} :
				GpucolFirstKey{GPUCOL_FIRST_SUM, 1, false, false};

			first.tests[t] = {key.by, key.number, draw() % 3 ? (int64_t) (draw() % 6) - 3 : INT64_MIN,
				draw() % 3 ? (int64_t) (draw() % 9) : INT64_MAX};
		}
	first.k = draw() % 3 == 0 ? 0 : 1 + draw() % 20;
	first.nkeys = first.k == 0 ? 0 : draw() % 4;
	for (int k = 0; k < first.nkeys; k++)
		first.keys[k] = some_key();
	first.all_ties = draw() % 2;
	return first;
}

/* The value of a group, written once more in the plainest way. */
static bool
plain_value(const GpucolProgram *p, const Partial &whole, const ResultLayout &l, int by, int number, uint64_t g,
			long double *v)
{
	const GpucolAggState *s = (const GpucolAggState *) (whole.data.data() + l.states) + g * p->naggs + number;
	const char *at;
	int64_t		word;
	double		f;

	if (by == GPUCOL_FIRST_KEY)
	{
		at = whole.data.data() + l.columns[number].values + g * 8 * l.columns[number].width;
		memcpy(&word, at, 8);
		memcpy(&f, at, 8);
		*v = number == 2 ? (long double) f : (long double) word;
		return !whole.data[l.columns[number].nulls + g];
	}
	*v = by == GPUCOL_FIRST_COUNT ? (long double) s->count : number >= 3 ? (long double) s->v.f :
		(long double) gpucol_agg_value128(s);
	if (by == GPUCOL_FIRST_AVERAGE)
		*v /= (long double) s->count;
	return by == GPUCOL_FIRST_COUNT || s->count > 0;
}

/* -1, 0, 1: how two values are ordered as PostgreSQL orders them, NaN last. */
static int
compare(long double a, long double b)
{
	bool		x = a != a,
				y = b != b;

	return x || y ? x - y : (a > b) - (a < b);
}

/* Does group a come before b by a key? */
static int
compare_by(const GpucolProgram *p, const Partial &whole, const ResultLayout &l, const GpucolFirstKey &key, uint64_t a,
		   uint64_t b)
{
	long double x,
				y;
	bool		known_x = plain_value(p, whole, l, key.by, key.number, a, &x),
				known_y = plain_value(p, whole, l, key.by, key.number, b, &y);

	if (!known_x || !known_y)
		return known_x == known_y ? 0 : known_x == key.nulls_first ? 1 : -1;
	return key.descending ? -compare(x, y) : compare(x, y);
}

static bool
plain_meets(const GpucolProgram *p, const Partial &whole, const ResultLayout &l, const GpucolFirst &first, uint64_t g)
{
	for (int t = 0; t < first.ntests; t++)
	{
		const GpucolFirstTest &test = first.tests[t];
		long double v;

		if (!plain_value(p, whole, l, test.by, test.number, g, &v) || (test.lo != INT64_MIN && v < test.lo) ||
			(test.hi != INT64_MAX && v > test.hi))
			return false;
	}
	return true;
}

/* The bytes of a group. */
static std::string
bytes_of(const GpucolProgram *p, const Partial &whole, const ResultLayout &l, uint64_t g)
{
	std::string bytes;

	for (const ResultLayout::Column &c : l.columns)
	{
		bytes.append(whole.data.data() + c.values + g * 8 * c.width, 8 * c.width);
		bytes.append(1, whole.data[c.nulls + g]);
	}
	return bytes.append(whole.data.data() + l.states + g * p->naggs * sizeof(GpucolAggState),
						p->naggs * sizeof(GpucolAggState));
}

/* Groups that have to be delivered: of which fewer than k come before, or tie, where any of those will do. */
static std::multiset<std::string>
needed(const GpucolProgram *p, const Partial &whole, const ResultLayout &l, const GpucolFirst &first, uint64_t *meeting)
{
	std::vector<uint64_t> groups;
	std::multiset<std::string> all;

	for (uint64_t g = 0; g < whole.nrows; g++)
		if (plain_meets(p, whole, l, first, g))
			groups.push_back(g);
	*meeting = groups.size();
	for (uint64_t g : groups)
	{
		int64_t		before = 0;

		for (uint64_t other : groups)
		{
			int			order = 0;

			for (int k = 0; k < first.nkeys && order == 0; k++)
				order = compare_by(p, whole, l, first.keys[k], other, g);
			before += order < 0 || (order == 0 && other != g && !first.all_ties);
		}
		if (first.k == 0 || (first.nkeys > 0 && before < first.k))
			all.insert(bytes_of(p, whole, l, g));
	}
	return all;
}

static void
test_one()
{
	Program		program;
	const GpucolProgram *p = &program.head;
	GpucolFirst first = some_wish();
	Partial		before = some_groups(p, draw() % 60);
	Partial		after = before;
	uint64_t	meeting;
	std::multiset<std::string> must = needed(p, before, ResultLayout(p, before.nrows), first, &meeting);
	std::multiset<std::string> got;
	bool		by_bytes = false;

	gpucol_result_choose(p, first, &after);

	ResultLayout layout(p, after.nrows);

	CHECK(after.data.size() == layout.size, "size");
	for (uint64_t g = 0; g < after.nrows; g++)
	{
		CHECK(plain_meets(p, after, layout, first, g), "meets the conditions");
		got.insert(bytes_of(p, after, layout, g));
	}

	/* of an order by bytes the daemon knows nothing: all are delivered from there on */
	for (int k = 0; k < first.nkeys; k++)
		by_bytes |= !gpucol_group_key_orders(p, first.keys[k]);
	if (!by_bytes)
		CHECK(std::includes(got.begin(), got.end(), must.begin(), must.end()), "what is wanted is there");
	CHECK(first.k == 0 ? after.nrows == meeting :
		  after.nrows >= std::min((uint64_t) first.k, meeting), "as many as are wanted");
	if (first.k > 0 && first.nkeys == 0 && !first.all_ties)
		CHECK(after.nrows == std::min((uint64_t) first.k, meeting), "any k");
}

int
main(void)
{
	for (int i = 0; i < 4000; i++)
		test_one();
	return check_summary("result_choice");
}
