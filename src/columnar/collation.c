/*-------------------------------------------------------------------------
 *
 * collation.c
 *	  Which collations order text by its bytes.
 *
 * "C" and "POSIX" do, and so do the locales of PostgreSQL's builtin provider, which
 * order by code point.  Of the others in the C library those do that have no rules
 * of collation (C.UTF-8): strcoll is strcmp then, which orders by code point too,
 * and there is no character 0 in text.  Each locale is asked for its number of
 * rules; nothing is inferred from its name.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <langinfo.h>
#include <locale.h>

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "columnar/collation.h"
#include "compat.h"

/* Has a locale of the C library no rules of collation? */
static bool
locale_has_no_rules(const char *name)
{
	if (strcmp(name, "C") == 0 || strcmp(name, "POSIX") == 0)
		return true;
#ifdef __GLIBC__
	{
		locale_t	locale = newlocale(LC_COLLATE_MASK, name, (locale_t) 0);
		uint32		nrules = 1;

		if (locale == (locale_t) 0)
			return false;
		/* a number in place of a string; its upper half is not set */
		nrules = (uint32) (uintptr_t) nl_langinfo_l(_NL_COLLATE_NRULES, locale);
		freelocale(locale);
		return nrules == 0;
	}
#else
	return false;
#endif
}

/* Does a locale of this provider, named in this attribute, order by bytes? */
static bool
check_locale(char provider, int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool		isnull;
	Datum		name;

	if (GPUCOL_COMPAT_IS_BUILTIN_PROVIDER(provider))
		return true;
	if (provider != COLLPROVIDER_LIBC)
		return false;
	name = SysCacheGetAttr(cache, tuple, attribute, &isnull);
	return !isnull && locale_has_no_rules(TextDatumGetCString(name));
}

bool
gpucol_collation_is_bytewise(Oid collation)
{
	bool		of_database = collation == DEFAULT_COLLATION_OID;
	HeapTuple	tuple;
	bool		result = false;

	if (!OidIsValid(collation))
		return false;
	if (collation == C_COLLATION_OID)
		return true;
	tuple = of_database ? SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId)) :
		SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		return false;
	if (of_database)
		result = check_locale(((Form_pg_database) GETSTRUCT(tuple))->datlocprovider,
							  DATABASEOID, tuple, Anum_pg_database_datcollate);
	else if (((Form_pg_collation) GETSTRUCT(tuple))->collisdeterministic)
		result = check_locale(((Form_pg_collation) GETSTRUCT(tuple))->collprovider,
							  COLLOID, tuple, Anum_pg_collation_collcollate);
	ReleaseSysCache(tuple);
	return result;
}

bool
gpucol_comparison_is_bytewise(Oid function, Oid collation)
{
	return function == F_BYTEACMP ||
		(function == F_BTTEXTCMP && gpucol_collation_is_bytewise(collation));
}

bool
gpucol_equal_by_bytes(Oid type, Oid collation)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case CHAROID:
		case BYTEAOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return true;
		case TEXTOID:
		case VARCHAROID:
			return OidIsValid(collation) && get_collation_isdeterministic(collation);
		default:
			return false;
	}
}
