/*-------------------------------------------------------------------------
 *
 * install.c
 *	  What CREATE EXTENSION may find: the schema, if it is there already.
 *
 * Who owns the schema of an extension, or may create objects in it, can put functions
 * there that are called instead of the extension's: gpucol.merge(text) would take every
 * call with a literal.  So a schema that was made before must be a superuser's, nobody else
 * may write to it, and it must be empty.  (pg_dump makes it so before it creates the
 * extension.)
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_namespace.h"
#include "commands/extension.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "compat.h"

PG_FUNCTION_INFO_V1(gpucol_check_schema);

pg_noreturn static void
refuse(Oid schema, const char *why)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("schema \"%s\" exists and cannot be the extension's", get_namespace_name(schema)),
			 errdetail_internal("%s", why),
			 errhint("Drop or rename the schema. CREATE EXTENSION makes it.")));
}

/* Is a role, or PUBLIC, no superuser? */
static bool
is_ordinary(Oid role)
{
	return role == ACL_ID_PUBLIC || !superuser_arg(role);
}

/* The schema is a superuser's, and nobody else may create objects in it. */
static void
check_rights(Oid schema)
{
	HeapTuple	tuple = SearchSysCache1(NAMESPACEOID, ObjectIdGetDatum(schema));
	Oid			owner;
	Datum		datum;
	bool		isnull;
	Acl		   *acl;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for namespace %u", schema);
	owner = ((Form_pg_namespace) GETSTRUCT(tuple))->nspowner;
	datum = SysCacheGetAttr(NAMESPACEOID, tuple, Anum_pg_namespace_nspacl, &isnull);
	acl = isnull ? NULL : DatumGetAclPCopy(datum);
	ReleaseSysCache(tuple);
	if (is_ordinary(owner))
		refuse(schema, psprintf("It belongs to role \"%s\", which is no superuser.",
								GetUserNameFromId(owner, false)));
	for (int i = 0; acl != NULL && i < ACL_NUM(acl); i++)
	{
		const AclItem *item = &ACL_DAT(acl)[i];

		if ((ACLITEM_GET_PRIVS(*item) & ACL_CREATE) && is_ordinary(item->ai_grantee))
			refuse(schema, item->ai_grantee == ACL_ID_PUBLIC ? "Everybody may create objects in it." :
				   psprintf("Role \"%s\" may create objects in it.",
							GetUserNameFromId(item->ai_grantee, false)));
	}
}

/* Nothing is in the schema but what the extension has put there. */
static void
check_empty(Oid schema)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData keys[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&keys[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(NamespaceRelationId));
	ScanKeyInit(&keys[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(schema));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, keys);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend row = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress object = {.classId = row->classid,.objectId = row->objid};

		if ((row->classid == ExtensionRelationId && row->objid == CurrentExtensionObject) ||
			getExtensionOfObject(row->classid, row->objid) == CurrentExtensionObject)
			continue;
		refuse(schema, psprintf("It has objects already, such as %s.",
								getObjectDescription(&object, false)));
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
}

/* gpucol.check_schema(): for the install script, which drops it. */
Datum
gpucol_check_schema(PG_FUNCTION_ARGS)
{
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);

	if (!creating_extension)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("only CREATE EXTENSION calls this function")));
	check_rights(schema);
	check_empty(schema);
	PG_RETURN_VOID();
}
