/*-------------------------------------------------------------------------
 *
 * progress.c
 *	  How far work on a table's storage has come, in gpucol.activity.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "columnar/progress.h"
#include "service/memory.h"

struct GpucolProgress
{
	GpucolActivity activity;
	GpucolActivityState state;
};

/* Memory context callback. */
static void
end_progress(void *argument)
{
	gpucol_progress_end(argument);
}

GpucolProgress *
gpucol_progress_begin(Relation table, GpucolActivityKind kind)
{
	GpucolProgress *progress = palloc0(sizeof(GpucolProgress));

	gpucol_memory_watch(CurrentMemoryContext, end_progress, progress);
	progress->activity = gpucol_activity_begin(kind);
	progress->state.relation = RelationGetRelid(table);
	gpucol_activity_update(progress->activity, &progress->state);
	return progress;
}

void
gpucol_progress_end(GpucolProgress *progress)
{
	gpucol_activity_end(progress->activity);
	progress->activity = 0;
}

void
gpucol_progress_note(GpucolProgress *progress, uint64 moved, double share)
{
	progress->state.rows = moved;
	progress->state.progress = share;
	gpucol_activity_update(progress->activity, &progress->state);
}
