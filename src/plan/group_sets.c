/*-------------------------------------------------------------------------
 *
 * group_sets.c
 *	  Grouping sets in the order in which their groups are made.
 *
 * The groups of a set whose keys are all keys of another set can be made of that one's groups, of which there are
 * fewer than rows: of a ROLLUP only the finest set is made of rows, and each other of the one before it
 * (J. Gray et al., Data Cube, 1997: distributive and algebraic aggregates are computed of the smallest parent).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/bitmapset.h"

#include "plan/group_sets.h"

typedef struct KeySet
{
	Bitmapset  *members;
	int			number;			/* in the query */
	bool		root;
} KeySet;

/* Roots first, and sets of more keys before others. */
static int
compare_sets(const void *a, const void *b)
{
	const KeySet *x = a;
	const KeySet *y = b;
	int			more = bms_num_members(y->members) - bms_num_members(x->members);

	if (x->root != y->root)
		return x->root ? -1 : 1;
	return more != 0 ? more : x->number - y->number;
}

/* Does another set have all keys of a set; of equal ones, one that comes before it? */
static bool
has_parent(const KeySet *sets, int n, int set)
{
	for (int i = 0; i < n; i++)
	{
		if (i != set && bms_is_subset(sets[set].members, sets[i].members) &&
			(i < set || !bms_equal(sets[set].members, sets[i].members)))
			return true;
	}
	return false;
}

/* The last of the sets before a set that has all of its keys. */
static int
find_parent(const KeySet *sets, int set)
{
	int			parent = GPUCOL_GROUP_SETS_ROOT;

	for (int i = 0; i < set; i++)
	{
		if (bms_is_subset(sets[set].members, sets[i].members) &&
			(parent < 0 || bms_num_members(sets[i].members) <= bms_num_members(sets[parent].members)))
			parent = i;
	}
	return parent;
}

/* The sets of a query, numbered, with their members. */
static KeySet *
list_sets(List *sets)
{
	int			n = list_length(sets);
	KeySet	   *listed = palloc0(Max(n, 1) * sizeof(KeySet));

	for (int i = 0; i < n; i++)
	{
		ListCell   *lc;

		listed[i].number = i;
		foreach(lc, (List *) list_nth(sets, i))
			listed[i].members = bms_add_member(listed[i].members, lfirst_int(lc));
	}
	for (int i = 0; i < n; i++)
		listed[i].root = !has_parent(listed, n, i);
	return listed;
}

/* The results of GROUPING() in a set: a bit for each argument that is not its key. */
static void
init_functions(List *functions, const bool *left_out, int32 *results)
{
	ListCell   *lc;

	foreach(lc, functions)
	{
		int32	   *result = &results[foreach_current_index(lc)];
		ListCell   *key;

		foreach(key, (List *) lfirst(lc))
			*result = (int32) ((uint32) *result << 1 | left_out[lfirst_int(key)]);
	}
}

void
gpucol_group_sets_init(List *sets, List *functions, int nkeys, GpucolSetOrder *order)
{
	int			n = list_length(sets);
	int			nfunctions = list_length(functions);
	KeySet	   *ordered = list_sets(sets);

	qsort(ordered, n, sizeof(KeySet), compare_sets);
	order->nsets = Max(n, 1);
	order->nroots = n == 0;
	order->parents = palloc0(order->nsets * sizeof(int));
	order->left_out = palloc0((Size) order->nsets * nkeys + 1);
	order->functions = palloc0(((Size) order->nsets * nfunctions + 1) * sizeof(int32));
	for (int i = 0; i < n; i++)
	{
		bool	   *left_out = order->left_out + (Size) i * nkeys;

		order->nroots += ordered[i].root;
		order->parents[i] = ordered[i].root ? GPUCOL_GROUP_SETS_ROOT : find_parent(ordered, i);
		for (int key = 0; key < nkeys; key++)
			left_out[key] = !bms_is_member(key, ordered[i].members);
		init_functions(functions, left_out, order->functions + (Size) i * nfunctions);
	}
}
