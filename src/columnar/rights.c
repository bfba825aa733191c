/*-------------------------------------------------------------------------
 *
 * rights.c
 *	  Tables that SQL functions are called with.
 *
 * A lock is a power: who waits for one makes others wait behind, and cancels an
 * autovacuum.  So a caller's rights are checked first, from the catalogs, by the OID
 * that it gave.  While it waits for the lock the table may be dropped, or its owner or
 * its access method change; all is checked again under the lock.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/syscache.h"

#include "columnar/am.h"
#include "columnar/patience.h"
#include "columnar/rights.h"
#include "compat.h"

/* The row of pg_class, as a copy; false if there is none. */
static bool
find_class(Oid relid, FormData_pg_class *class)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));

	if (!HeapTupleIsValid(tuple))
		return false;
	memcpy(class, GETSTRUCT(tuple), CLASS_TUPLE_SIZE);
	ReleaseSysCache(tuple);
	return true;
}

/* Is it stored by our access method? */
static bool
is_ours(const FormData_pg_class *class)
{
	return (class->relkind == RELKIND_RELATION || class->relkind == RELKIND_MATVIEW) &&
		gpucol_am_is_method(class->relam);
}

bool
gpucol_rights_is_table(Oid relid)
{
	FormData_pg_class class;

	return find_class(relid, &class) && is_ours(&class);
}

/* Raise the error where the caller lacks a right. */
static void
check_right(Oid relid, const FormData_pg_class *class, GpucolRight right)
{
	ObjectType	kind = get_relkind_objtype(class->relkind);
	AclResult	acl;

	if (right == GPUCOL_RIGHT_NONE)
		return;
	if (right == GPUCOL_RIGHT_OWNER)
		acl = gpucol_compat_is_owner(relid) ? ACLCHECK_OK : ACLCHECK_NOT_OWNER;
	else
		acl = pg_class_aclcheck(relid, GetUserId(), ACL_SELECT);
	if (acl != ACLCHECK_OK)
		aclcheck_error(acl, kind, NameStr(class->relname));
	if (right == GPUCOL_RIGHT_ALL_ROWS && check_enable_rls(relid, InvalidOid, true) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("row-level security applies to you in table \"%s\"",
						NameStr(class->relname)),
				 errdetail("Segments tell of rows that it may hide."),
				 errhint("The table's owner, and roles with BYPASSRLS, may look at them.")));
}

/* The row of pg_class of what must be there. */
static void
get_class(Oid relid, FormData_pg_class *class)
{
	if (!find_class(relid, class))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", relid)));
}

void
gpucol_rights_check(Oid relid, GpucolRight right)
{
	FormData_pg_class class;

	get_class(relid, &class);
	check_right(relid, &class, right);
}

/* Raise the error of what only another session may look at. */
static void
check_session(const FormData_pg_class *class)
{
	if (class->relpersistence == RELPERSISTENCE_TEMP && isOtherTempNamespace(class->relnamespace))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot access temporary tables of other sessions")));
}

/* Raise the error of a table that may not be opened. */
static void
check_table(Oid relid, const FormData_pg_class *class, GpucolRight right)
{
	check_right(relid, class, right);
	if (!is_ours(class))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a table with access method gpucol",
						NameStr(class->relname))));
	check_session(class);
}

/* Open a table that has passed the check; NULL if it is gone by then. */
static Relation
open_checked(Oid relid, GpucolRight right, LOCKMODE lock)
{
	Relation	table = try_relation_open(relid, lock);

	if (table != NULL)
		check_table(relid, table->rd_rel, right);
	return table;
}

Relation
gpucol_rights_open(Oid relid, GpucolRight right, LOCKMODE lock)
{
	FormData_pg_class class;
	Relation	table;

	get_class(relid, &class);
	check_table(relid, &class, right);
	table = open_checked(relid, right, lock);
	if (table == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation \"%s\" does not exist", NameStr(class.relname))));
	return table;
}

List *
gpucol_rights_lock_tables(Oid relid, GpucolRight right, LOCKMODE lock)
{
	FormData_pg_class class;
	List	   *tables = NIL;
	ListCell   *lc;

	get_class(relid, &class);
	if (class.relkind != RELKIND_PARTITIONED_TABLE)
	{
		relation_close(gpucol_rights_open(relid, right, lock), NoLock);
		return list_make1_oid(relid);
	}
	check_right(relid, &class, right);
	check_session(&class);
	foreach(lc, find_all_inheritors(relid, lock, NULL))
	{
		if (gpucol_rights_is_table(lfirst_oid(lc)))
			tables = lappend_oid(tables, lfirst_oid(lc));
	}
	return tables;
}

GpucolOpened
gpucol_rights_open_patiently(Oid relid, GpucolRight right, LOCKMODE lock, Relation *table)
{
	FormData_pg_class class;

	if (!find_class(relid, &class))
		return GPUCOL_OPENED_NONE;
	check_table(relid, &class, right);
	if (!gpucol_patience_lock(relid, lock))
		return GPUCOL_OPENED_WAITED_FOR;
	*table = open_checked(relid, right, NoLock);
	return *table == NULL ? GPUCOL_OPENED_NONE : GPUCOL_OPENED_TABLE;
}
