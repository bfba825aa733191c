/*-------------------------------------------------------------------------
 *
 * gpucol.c
 *	  Entry point of the library: _PG_init only.
 *
 * The library may be loaded by shared_preload_libraries,
 * session_preload_libraries, or lazily by the table access method's handler in
 * the middle of a session; nothing here may depend on which.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"

#include "columnar/burials.h"
#include "columnar/bitmap.h"
#include "columnar/merge_options.h"
#include "columnar/plan_columns.h"
#include "exec/into.h"
#include "exec/send.h"
#include "guc.h"
#include "kernel/crc32c.h"
#include "planner/planner.h"
#include "ranking/exec/wing.h"
#include "recursion/exec/wing.h"
#include "service/launcher.h"
#include "service/supervisor.h"
#include "service/threads.h"

PG_MODULE_MAGIC;

PGDLLEXPORT void _PG_init(void);

/* Define the settings, install every hook, start the supervisor if preloaded. */
void
_PG_init(void)
{
	gpucol_guc_init();
	gpucol_bitmap_init();
	gpucol_plan_columns_init();
	gpucol_burials_init();
	gpucol_planner_init();
	gpucol_ranking_init();
	gpucol_recursion_init();
	gpucol_into_init();
	gpucol_send_init();
	gpucol_merge_options_init();
	gpucol_service_init();
	gpucol_launcher_init();
	gpucol_threads_init();
	/* sessions inherit the tables of checksums from the postmaster, instead of each making its own */
	if (process_shared_preload_libraries_in_progress)
		(void) gpucol_crc32c(0, "", 0);
}
