/*-------------------------------------------------------------------------
 *
 * merge_options.c
 *	  When a table is merged by itself: the settings, and what the table's label says.
 *
 * PostgreSQL does not let a table access method have storage parameters of its own.
 * So a table's options are its security label, which PostgreSQL keeps, dumps and drops with the
 * table, and lets only the owner change:
 *
 *	SECURITY LABEL FOR gpucol ON TABLE t IS 'automerge_enabled = off'
 *
 * Names and values are those of the settings, separated by commas.  Where
 * autovacuum_enabled of the table is off, it is left alone as well.
 *
 * A table that leaves for another access method leaves its label behind, too: pg_dump would write
 * it, and a server without gpucol refuses it, and with it pg_upgrade.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/table.h"
#include "catalog/objectaccess.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/seclabel.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "columnar/am.h"
#include "columnar/merge_options.h"
#include "guc.h"

/* Where our labels are found. */
#define PROVIDER	"gpucol"

static object_access_hook_type next_access_hook;

/* Take the blanks off both ends. */
static char *
trim(char *text)
{
	char	   *end;

	while (isspace((unsigned char) *text))
		text++;
	end = text + strlen(text);
	while (end > text && isspace((unsigned char) end[-1]))
		end--;
	*end = '\0';
	return text;
}

/* Set one option; false if there is none of this name, or not with this value. */
static bool
set_option(GpucolMergeOptions *options, const char *name, const char *value)
{
	if (strcmp(name, "automerge_enabled") == 0)
		return parse_bool(value, &options->enabled);
	if (strcmp(name, "automerge_threshold") == 0)
		return parse_int(value, &options->threshold, 0, NULL) && options->threshold >= 0;
	if (strcmp(name, "automerge_scale_factor") == 0)
		return parse_real(value, &options->scale_factor, 0, NULL) &&
			options->scale_factor >= 0 && options->scale_factor <= 100;
	return false;
}

/* Read a label; NULL, or what of it says nothing. */
static const char *
read_label(const char *label, GpucolMergeOptions *options)
{
	char	   *copy = pstrdup(label);

	for (char *part = copy, *next; part != NULL; part = next)
	{
		char	   *value;

		next = strchr(part, ',');
		if (next != NULL)
			*next++ = '\0';
		value = strchr(part, '=');
		if (value == NULL)
			return part;
		*value++ = '\0';
		if (!set_option(options, trim(part), trim(value)))
			return trim(part);
	}
	return NULL;
}

void
gpucol_merge_options(Relation table, GpucolMergeOptions *options)
{
	const StdRdOptions *stored = (const StdRdOptions *) table->rd_options;
	ObjectAddress address;
	char	   *label;

	options->enabled = stored == NULL || stored->autovacuum.enabled;
	options->threshold = gpucol_automerge_threshold;
	options->scale_factor = gpucol_automerge_scale_factor;
	ObjectAddressSet(address, RelationRelationId, RelationGetRelid(table));
	label = GetSecurityLabel(&address, PROVIDER);
	if (label != NULL)
		(void) read_label(label, options);
}

/* Is it something with rows of its own? */
static bool
is_table(const ObjectAddress *object)
{
	char		kind;

	if (object->classId != RelationRelationId || object->objectSubId != 0)
		return false;
	kind = get_rel_relkind(object->objectId);
	return kind == RELKIND_RELATION || kind == RELKIND_MATVIEW;
}

/* May an object have this label? */
static void
check_label(const ObjectAddress *object, const char *label)
{
	GpucolMergeOptions options;
	const char *bad;

	if (label == NULL)
		return;
	if (!is_table(object))
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("only tables and materialized views have labels of provider \"%s\"", PROVIDER)));
	bad = read_label(label, &options);
	if (bad != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid option \"%s\" in a label of provider \"%s\"", bad, PROVIDER),
				 errhint("The options are automerge_enabled, automerge_threshold and automerge_scale_factor, as in 'automerge_enabled = off'.")));
}

/* A relation's access method as this command has set it, which is not yet the cache's. */
static Oid
method_set(Oid relid)
{
	Relation	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Oid			method;

	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(classes, ClassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	method = HeapTupleIsValid(tuple) ? ((Form_pg_class) GETSTRUCT(tuple))->relam : InvalidOid;
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	return method;
}

/* Is a relation that is being altered one of ours, and will it be none? */
static bool
leaves(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			method;

	if (!HeapTupleIsValid(tuple))
		return false;
	method = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);
	return gpucol_am_is_method(method) && method_set(relid) != method;
}

/* Called when an object was altered, before others see it. */
static void
take_label(ObjectAccessType access, Oid class, Oid object, int column, void *arg)
{
	ObjectAddress address;

	if (next_access_hook != NULL)
		next_access_hook(access, class, object, column, arg);
	if (access != OAT_POST_ALTER || class != RelationRelationId || column != 0 || !leaves(object))
		return;
	ObjectAddressSet(address, class, object);
	SetSecurityLabel(&address, PROVIDER, NULL);
}

void
gpucol_merge_options_init(void)
{
	register_label_provider(PROVIDER, check_label);
	next_access_hook = object_access_hook;
	object_access_hook = take_label;
}
