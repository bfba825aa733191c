/*-------------------------------------------------------------------------
 *
 * partial.cc
 *	  What one part of a request gave, and the union of several.
 *
 * Host code.  Groups are found by an open-addressing table over the group number
 * of the whole; equality and hash read the key arrays in place.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/partial.cuh"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cuda/base/device.cuh"
#include "cuda/query/result_layout.cuh"
#include "kernel/agg_state.h"

/* 113 bits of mantissa: what long double is where there is no type of that name (ARM). */
#ifdef __SIZEOF_FLOAT128__
typedef __float128 Quad;
#else
typedef long double Quad;
#endif

static Quad
get_float(const uint64_t x[2])
{
	Quad	f;

	memcpy(&f, x, sizeof(f));
	return f;
}

static void
set_float(uint64_t x[2], Quad f)
{
	memcpy(x, &f, sizeof(f));
}

/* x / 2^scale, exactly. */
static Quad
scaled(__int128 x, int scale)
{
	Quad	f = (Quad) x;

	for (; scale > 1000; scale -= 1000)
		f *= ldexp(1.0, -1000);
	for (; scale < -1000; scale += 1000)
		f *= ldexp(1.0, 1000);
	return f * ldexp(1.0, -scale);
}

FloatSum
gpucol_float_sum(uint64_t nans, uint64_t infinities, uint64_t minus_infinities,
				 __int128 sum, int scale, __int128 squares, int square_scale)
{
	FloatSum	f = {nans, infinities, minus_infinities, {0, 0}, {0, 0}};

	set_float(f.sum, scaled(sum, scale));
	set_float(f.squares, scaled(squares, square_scale));
	return f;
}

static bool
sums_floats(const GpucolAgg &agg)
{
	return agg.cls == GPUCOL_CLASS_F && (agg.op == GPUCOL_AGG_SUM || agg.op == GPUCOL_AGG_SUMSQ);
}

const char *
gpucol_partial_obstacle(const GpucolProgram *p)
{
	if (p->kind == GPUCOL_PROGRAM_BUILD)
		return "a table of more than device memory holds at once";
	for (const GpucolAgg &agg : ProgramView(p).aggs())
		if (agg.op == GPUCOL_AGG_COUNT_DISTINCT)
			return "count(DISTINCT) over more than device memory holds at once";
	return NULL;
}

/* Copy row `from` of a SCAN's result to row `to` of another. */
static void
copy_scan_row(const ResultLayout &lf, const char *from, uint64_t i, const ResultLayout &lt, char *to, uint64_t j)
{
	memcpy(to + lt.rows + j * 8, from + lf.rows + i * 8, 8);
	gpucol_result_copy_row(lf, from, i, lt, to, j);
}

/* Rows of both, in the order of the table. */
static void
merge_rows(const GpucolProgram *p, Partial *whole, Partial *part)
{
	uint64_t	n = whole->nrows + part->nrows;
	ResultLayout a(p, whole->nrows),
				b(p, part->nrows),
				c(p, n);
	std::vector<char> data(c.size);
	const uint64_t *x = (const uint64_t *) (whole->data.data() + a.rows);
	const uint64_t *y = (const uint64_t *) (part->data.data() + b.rows);
	uint64_t	i = 0,
				j = 0;

	while (i + j < n)
	{
		bool		first = j == part->nrows || (i < whole->nrows && x[i] < y[j]);

		if (first)
			copy_scan_row(a, whole->data.data(), i, c, data.data(), i + j);
		else
			copy_scan_row(b, part->data.data(), j, c, data.data(), i + j);
		first ? i++ : j++;
	}
	whole->data.swap(data);
	whole->nrows = n;
}

/* Merge a group's state of one aggregate into the whole's; sums of floats are in Partial::floats. */
static void
merge_state(const GpucolAgg &agg, GpucolAggState *to, const GpucolAggState *from)
{
	/* of byte strings it is their places in an order that are the least and greatest */
	int			order = (from->v.value > to->v.value) - (from->v.value < to->v.value);
	GpucolStatus status = gpucol_agg_merge(&agg, to, from, order);

	if (status != GPUCOL_OK)
		throw Failure{status, "a sum beyond what the device computes"};
}

static void
add_floats(FloatSum *a, const FloatSum &b)
{
	a->nans += b.nans;
	a->infinities += b.infinities;
	a->minus_infinities += b.minus_infinities;
	set_float(a->sum, get_float(a->sum) + get_float(b.sum));
	set_float(a->squares, get_float(a->squares) + get_float(b.squares));
}

/* Numbers of the groups of a result, by key. */
class GroupIndex
{
public:
	explicit GroupIndex(uint64_t n)
	{
		size_t		size = 16;

		while (size < 2 * n)
			size *= 2;
		slots_.assign(size, 0);
	}

	static uint64_t
	hash(const ResultLayout &l, const char *data, uint64_t row)
	{
		uint64_t	h = 0x9e3779b97f4a7c15ull;

		for (const ResultLayout::Column &c : l.columns)
			if (data[c.nulls + row])
				h = (h ^ 1) * 0xbf58476d1ce4e5b9ull;
			else
				for (int w = 0; w < c.width; w++)
				{
					uint64_t	x;

					memcpy(&x, data + c.values + (row * c.width + w) * 8, 8);
					h = (h ^ x) * 0xbf58476d1ce4e5b9ull;
					h ^= h >> 29;
				}
		return h ^ h >> 32;
	}

	/* The place of the group that row i of `from` is in, or a free one. */
	uint64_t *
	find(const ResultLayout &l, const char *data, const ResultLayout &lf, const char *from, uint64_t i)
	{
		for (uint64_t at = hash(lf, from, i);; at++)
		{
			uint64_t   *slot = &slots_[at & (slots_.size() - 1)];

			if (*slot == 0 || equal(l, data, *slot - 1, lf, from, i))
				return slot;
		}
	}

private:
	std::vector<uint64_t> slots_;	/* number + 1 */

	static bool
	equal(const ResultLayout &l, const char *data, uint64_t j, const ResultLayout &lf, const char *from, uint64_t i)
	{
		for (size_t k = 0; k < l.columns.size(); k++)
		{
			const ResultLayout::Column &a = l.columns[k],
					   &b = lf.columns[k];
			size_t		w = 8 * a.width;

			if (data[a.nulls + j] != from[b.nulls + i] ||
				(!data[a.nulls + j] && memcmp(data + a.values + j * w, from + b.values + i * w, w) != 0))
				return false;
		}
		return true;
	}
};

/* Groups of both. */
static void
merge_groups(const GpucolProgram *p, Partial *whole, Partial *part)
{
	uint64_t	space = whole->nrows + part->nrows;
	uint64_t	n = whole->nrows;
	ResultLayout a(p, whole->nrows),
				b(p, part->nrows),
				room(p, space);
	ProgramArray<GpucolAgg> aggs = ProgramView(p).aggs();
	std::vector<char> keys(room.states);
	std::vector<GpucolAggState> states(space * p->naggs + 1);
	const GpucolAggState *from = (const GpucolAggState *) (part->data.data() + b.states);
	GroupIndex	index(space);

	for (uint64_t i = 0; i < n; i++)
	{
		gpucol_result_copy_row(a, whole->data.data(), i, room, keys.data(), i);
		*index.find(room, keys.data(), a, whole->data.data(), i) = i + 1;
	}
	memcpy(states.data(), whole->data.data() + a.states, n * p->naggs * sizeof(GpucolAggState));
	for (uint64_t i = 0; i < part->nrows; i++)
	{
		uint64_t   *slot = index.find(room, keys.data(), b, part->data.data(), i);
		bool		old = *slot != 0;
		uint64_t	g = old ? *slot - 1 : n++;

		if (!old)
		{
			*slot = g + 1;
			gpucol_result_copy_row(b, part->data.data(), i, room, keys.data(), g);
			memset(&states[g * p->naggs], 0, p->naggs * sizeof(GpucolAggState));
		}
		for (int k = 0; k < p->naggs; k++)
			merge_state(aggs[k], &states[g * p->naggs + k], &from[i * p->naggs + k]);
		if (!part->floats.empty())
		{
			whole->floats.resize(n * p->naggs, FloatSum());
			for (int k = 0; k < p->naggs; k++)
				add_floats(&whole->floats[g * p->naggs + k], part->floats[i * p->naggs + k]);
		}
	}

	/* close the gaps that groups in both left */
	ResultLayout c(p, n);
	std::vector<char> data(c.size);

	for (size_t k = 0; k < c.columns.size(); k++)
	{
		memcpy(data.data() + c.columns[k].values, keys.data() + room.columns[k].values, n * 8 * c.columns[k].width);
		memcpy(data.data() + c.columns[k].nulls, keys.data() + room.columns[k].nulls, n);
	}
	memcpy(data.data() + c.states, states.data(), n * p->naggs * sizeof(GpucolAggState));
	whole->data.swap(data);
	whole->nrows = n;
}

/* Add up figures by probe. */
static void
add_figures(std::vector<uint64_t> *sums, const std::vector<uint64_t> &figures)
{
	sums->resize(std::max(sums->size(), figures.size()), 0);
	for (size_t i = 0; i < figures.size(); i++)
		(*sums)[i] += figures[i];
}

/* What either has met. */
static void
add_marks(Marks *sums, const Marks &marks)
{
	sums->resize(std::max(sums->size(), marks.size()));
	for (size_t p = 0; p < marks.size(); p++)
	{
		(*sums)[p].resize(std::max((*sums)[p].size(), marks[p].size()), 0);
		for (size_t i = 0; i < marks[p].size(); i++)
			(*sums)[p][i] |= marks[p][i];
	}
}

void
gpucol_partial_merge(const GpucolProgram *p, Partial *whole, Partial *part)
{
	add_figures(&whole->probed, part->probed);
	add_figures(&whole->found, part->found);
	add_marks(&whole->marks, part->marks);
	whole->nsegments += part->nsegments;
	whole->skipped += part->skipped;
	whole->packed_bytes += part->packed_bytes;
	whole->seconds += part->seconds;
	whole->plan_seconds += part->plan_seconds;
	whole->work_seconds += part->work_seconds;
	whole->began = std::min(whole->began, part->began);
	whole->ended = std::max(whole->ended, part->ended);
	if (!part->kernel.empty())
		whole->kernel = part->kernel;
	if (!part->note.empty())
		whole->note = part->note;
	if (part->nrows == 0)
		return;
	if (whole->nrows == 0)
	{
		whole->nrows = part->nrows;
		whole->data.swap(part->data);
		whole->placed = part->placed;
		whole->nplaced = part->nplaced;
		whole->floats.swap(part->floats);
	}
	else if (p->kind == GPUCOL_PROGRAM_SCAN)
		merge_rows(p, whole, part);
	else
		merge_groups(p, whole, part);
}

void
gpucol_partial_finish(const GpucolProgram *p, Partial *whole)
{
	ProgramArray<GpucolAgg> aggs = ProgramView(p).aggs();
	ResultLayout l(p, whole->nrows);

	if (whole->floats.empty())
		return;
	for (uint64_t g = 0; g < whole->nrows; g++)
		for (int k = 0; k < p->naggs; k++)
		{
			GpucolAggState *s = (GpucolAggState *) (whole->data.data() + l.states) + g * p->naggs + k;
			const FloatSum &f = whole->floats[g * p->naggs + k];
			bool		special = f.nans + f.infinities + f.minus_infinities > 0;

			if (!sums_floats(aggs[k]) || s->count == 0)
				continue;
			if (f.nans > 0 || (f.infinities > 0 && f.minus_infinities > 0))
				s->v.f = NAN;
			else if (special)
				s->v.f = f.infinities > 0 ? INFINITY : -INFINITY;
			else
				s->v.f = (double) get_float(f.sum);
			if (aggs[k].op == GPUCOL_AGG_SUM && std::isinf(s->v.f) && !special)
				throw Failure{GPUCOL_FLOAT_OVERFLOW, "error of a sum"};
			if (aggs[k].op != GPUCOL_AGG_SUMSQ)
				continue;

			Quad	deviations = get_float(f.squares) - get_float(f.sum) * get_float(f.sum) / s->count;

			s->w.f = special ? NAN : deviations > 0 ? (double) deviations : 0;
		}
}
