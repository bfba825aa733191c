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
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "commands/seclabel.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "columnar/merge_options.h"
#include "guc.h"

/* Where our labels are found. */
#define PROVIDER	"gpucol"

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

void
gpucol_merge_options_init(void)
{
	register_label_provider(PROVIDER, check_label);
}
