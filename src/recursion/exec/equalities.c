/*-------------------------------------------------------------------------
 *
 * equalities.c
 *	  What makes equal values of a recursion the same, or tells rows of equal ones, by type and collation.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/exec/state.h"

struct GpucolRecursiveEqualities
{
	List	   *pairs;			/* OidList (type, collation, and the type where values keep their forms) */
	List	   *equalities;		/* GpucolEquality of each */
};

GpucolRecursiveEqualities *
gpucol_recursive_equalities_create(List *pairs)
{
	GpucolRecursiveEqualities *all = palloc(sizeof(GpucolRecursiveEqualities));
	ListCell   *lc;

	all->pairs = pairs;
	all->equalities = NIL;
	foreach(lc, pairs)
	{
		const List *pair = lfirst(lc);
		Oid			type = linitial_oid(pair);
		Oid			collation = lsecond_oid(pair);

		all->equalities = lappend(all->equalities, OidIsValid(lthird_oid(pair)) ?
								  gpucol_equality_create_of_forms(type, collation) :
								  gpucol_equality_create(type, collation));
	}
	return all;
}

void
gpucol_recursive_equalities_set(const GpucolRecursiveEqualities *all, GpucolRecColumn *column, Oid collation)
{
	ListCell   *lc;
	ListCell   *lc2;

	column->equality = NULL;
	forboth(lc, all->pairs, lc2, all->equalities)
		if (linitial_oid(lfirst(lc)) == column->type && lsecond_oid(lfirst(lc)) == collation)
			column->equality = lfirst(lc2);
}

bool
gpucol_recursive_equalities_lost(const GpucolRecursiveEqualities *all)
{
	ListCell   *lc;

	foreach(lc, all->equalities)
		if (gpucol_equality_lost_forms(lfirst(lc)))
			return true;
	return false;
}

uint32
gpucol_recursive_equalities_forms(const GpucolRecColumn *columns, int ncolumns)
{
	uint32		forms = 0;

	for (int c = 0; c < ncolumns; c++)
	{
		if (columns[c].equality != NULL && gpucol_equality_keeps_forms(columns[c].equality))
			forms |= UINT32_C(1) << c;
	}
	return forms;
}
