/*-------------------------------------------------------------------------
 *
 * wing.c
 *	  Recursion as the main building sees it (plan/wing.h).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "plan/wing.h"
#include "recursion/exec/state.h"
#include "recursion/exec/wing.h"
#include "recursion/plan/use.h"

/* Is this path a GpucolRecursiveScan? */
static bool
is_scan(const CustomPath *path)
{
	return path->methods == &gpucol_recursive_scan_path_methods;
}

static const GpucolRecursionWing wing = {
	.find = gpucol_recursive_find_rows,
	.child = gpucol_datalog_batches,
	.conditions = gpucol_recursive_conditions,
	.add_agg = gpucol_recursive_add_agg,
	.is_scan = is_scan,
	.scan_columns = gpucol_recursive_scan_columns,
	.scan_pushes_all = gpucol_recursive_scan_pushes_all,
	.scan_limit = gpucol_recursive_scan_limit,
	.is_scan_state = gpucol_recursive_scan_is_state,
	.open_rows = gpucol_recursive_source_open_all,
};

void
gpucol_recursion_init(void)
{
	gpucol_recursion_wing = &wing;
	gpucol_recursive_register();
	gpucol_recursive_install_hooks();
}
