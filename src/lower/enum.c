/*-------------------------------------------------------------------------
 *
 * enum.c
 *	  Orders of enums.
 *
 * PostgreSQL compares labels by their OIDs where both are even; labels that were added amid others
 * may have odd ones, which it looks up.  An enum without odd OIDs is in the order of its OIDs, which
 * are the integers that engines have of it.  Rows hold labels that the statement's snapshot sees, so
 * that asking when it is lowered is soon enough.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "nodes/nodeFuncs.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "lower/lower.h"

static const struct
{
	Oid			of_enums;
	Oid			of_oids;
}			orders[] = {
	{F_ENUM_LT, F_OIDLT},
	{F_ENUM_LE, F_OIDLE},
	{F_ENUM_GT, F_OIDGT},
	{F_ENUM_GE, F_OIDGE},
};

/* Is an enum in the order of its labels' OIDs? */
static bool
is_in_order_of_oids(Oid type)
{
	CatCList   *labels;
	bool		even = true;

	if (!type_is_enum(type))
		return false;
	labels = SearchSysCacheList1(ENUMTYPOIDNAME, ObjectIdGetDatum(type));
	for (int i = 0; i < labels->n_members && even; i++)
		even = ((Form_pg_enum) GETSTRUCT(&labels->members[i]->tuple))->oid % 2 == 0;
	ReleaseSysCacheList(labels);
	return even;
}

Oid
gpucol_lower_enum_function(Oid funcid, const List *args)
{
	for (int i = 0; i < (int) lengthof(orders); i++)
	{
		if (orders[i].of_enums == funcid && args != NIL &&
			is_in_order_of_oids(getBaseType(exprType(linitial(args)))))
			return orders[i].of_oids;
	}
	return funcid;
}
