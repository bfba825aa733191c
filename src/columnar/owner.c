/*-------------------------------------------------------------------------
 *
 * owner.c
 *	  Running the code of a table's indexes as the table's owner.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/guc.h"

#include "columnar/owner.h"

/* What PostgreSQL 17 and later set for such operations themselves. */
#define SAFE_SEARCH_PATH	"pg_catalog, pg_temp"

void
gpucol_owner_begin(Relation table, GpucolOwner *before)
{
	GetUserIdAndSecContext(&before->user, &before->context);
	SetUserIdAndSecContext(table->rd_rel->relowner,
						   before->context | SECURITY_RESTRICTED_OPERATION);
	before->nest_level = NewGUCNestLevel();
	(void) set_config_option("search_path", SAFE_SEARCH_PATH, PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
}

void
gpucol_owner_end(const GpucolOwner *before)
{
	AtEOXact_GUC(false, before->nest_level);
	SetUserIdAndSecContext(before->user, before->context);
}
