/*-------------------------------------------------------------------------
 *
 * result_choice.cc
 *	  Of the groups of a result those that are wanted, on the host.
 *
 * As the CPU engine does it (src/engine/cpu/first.c): the k-th greatest place by a sort
 * key divides the groups, and the next key those that tie with it.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/result_choice.cuh"

#include <algorithm>
#include <functional>

#include "cuda/query/result_layout.cuh"

/* The groups of a result. */
class ResultGroups
{
public:
	ResultGroups(const GpucolProgram *program, const Partial &whole)
		: layout(program, whole.nrows), program_(program), data_(whole.data.data()) {}

	/* Does a group meet all conditions? */
	bool
	meets(const GpucolFirst &first, uint64_t group) const
	{
		return std::all_of(first.tests, first.tests + first.ntests, [&] (const GpucolFirstTest &test) {
			__int128	v = 0;
			bool		known = value(test.by, test.number, group, &v);

			return gpucol_first_meets(&test, known, v);
		});
	}

	__int128
	place(const GpucolFirstKey &key, uint64_t group) const
	{
		__int128	v = 0;
		bool		known = value(key.by, key.number, group, &v);

		return gpucol_first_place(&key, known, v);
	}

	const ResultLayout layout;

private:
	/* What is looked at of a group; false if it is NULL. */
	bool
	value(int by, int number, uint64_t group, __int128 *v) const
	{
		if (by != GPUCOL_FIRST_KEY)
			return gpucol_first_agg_value(by, program_.aggs()[number].cls,
										  (const GpucolAggState *) (data_ + layout.states) +
										  group * program_.aggs().size() + number, v);

		const ResultLayout::Column &column = layout.columns[number];
		const int64_t *words = (const int64_t *) (data_ + column.values) + group * column.width;
		double		f;

		if (program_.key_class(number) == GPUCOL_CLASS_F)
		{
			memcpy(&f, words, sizeof(f));
			*v = gpucol_float_order(f);
		}
		else
			*v = column.width == 2 ? gpucol_int128((uint64_t) words[0], words[1]) : words[0];
		return !data_[column.nulls + group];
	}

	ProgramView program_;
	const char *data_;
};

bool
gpucol_group_key_orders(const GpucolProgram *program, const GpucolFirstKey &key)
{
	return key.by != GPUCOL_FIRST_KEY || ProgramView(program).key_class(key.number) != GPUCOL_CLASS_S;
}

/*
 * Divide groups by a key: those that come before the k-th go to *chosen, those that may tie
 * with it stay.  Returns how many of these are still wanted.
 */
static uint64_t
divide(const ResultGroups &groups, const GpucolFirstKey &key, uint64_t k, std::vector<uint64_t> *left,
	   std::vector<uint64_t> *chosen)
{
	std::vector<__int128> places;
	std::vector<__int128> order;
	std::vector<uint64_t> ties;
	__int128	least;

	for (uint64_t group : *left)
		places.push_back(groups.place(key, group));
	order = places;
	std::nth_element(order.begin(), order.begin() + (k - 1), order.end(), std::greater<__int128>());
	least = gpucol_first_least(order[k - 1], gpucol_first_margin(&key));
	for (size_t i = 0; i < places.size(); i++)
		if (places[i] > least)
			chosen->push_back((*left)[i]);
		else if (places[i] == least)
			ties.push_back((*left)[i]);
	left->swap(ties);
	return k > chosen->size() ? k - chosen->size() : 0;
}

/* The groups that are wanted, in order. */
static std::vector<uint64_t>
choose(const GpucolProgram *program, const GpucolFirst &first, const ResultGroups &groups, uint64_t n)
{
	std::vector<uint64_t> left,
				chosen;
	uint64_t	k = (uint64_t) first.k;
	bool		any = first.k > 0 && !first.all_ties;	/* of those that tie in the end */

	for (uint64_t g = 0; g < n; g++)
		if (groups.meets(first, g))
			left.push_back(g);
	for (int i = 0; i < first.nkeys && k > 0 && left.size() > k; i++)
	{
		std::vector<uint64_t> before;
		bool		orders = gpucol_group_key_orders(program, first.keys[i]);
		bool		exact = gpucol_first_margin(&first.keys[i]) == 0;

		any &= orders && exact;
		if (!orders)
			break;
		k = divide(groups, first.keys[i], k, &left, &before);
		chosen.insert(chosen.end(), before.begin(), before.end());
		if (!exact)
			break;
	}
	if (any && left.size() > k)
		left.resize(k);
	chosen.insert(chosen.end(), left.begin(), left.end());
	std::sort(chosen.begin(), chosen.end());
	return chosen;
}

void
gpucol_result_choose(const GpucolProgram *program, const GpucolFirst &first, Partial *whole)
{
	ResultGroups groups(program, *whole);
	size_t		size = program->naggs * sizeof(GpucolAggState);

	/* what a kernel has placed it has chosen, too */
	if (whole->placed != NULL || program->nkeys == 0)
		return;

	std::vector<uint64_t> chosen = choose(program, first, groups, whole->nrows);

	if (chosen.size() == whole->nrows)
		return;

	ResultLayout layout(program, chosen.size());
	std::vector<char> data(layout.size);

	for (size_t i = 0; i < chosen.size(); i++)
	{
		gpucol_result_copy_row(groups.layout, whole->data.data(), chosen[i], layout, data.data(), i);
		memcpy(data.data() + layout.states + i * size, whole->data.data() + groups.layout.states + chosen[i] * size,
			   size);
	}
	whole->data.swap(data);
	whole->nrows = chosen.size();
}
