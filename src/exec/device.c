/*-------------------------------------------------------------------------
 *
 * device.c
 *	  Would the device be sooner than the CPU?
 *
 * Both engines are costed in milliseconds from the table's statistics and the
 * daemon's residency table.  The constants are measured on an H200 and its host
 * (test/bench/results); what matters is their order of magnitude: a request to
 * the device costs what the CPU needs for a few million values, bytes in device
 * memory cost next to nothing, and bytes that must be sent first cost more than
 * scanning them here.  Columns that fit device memory stay there, so a query pays
 * only a share of their loading: otherwise none would ever be loaded.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "engine/gpu/wire.h"
#include "exec/device.h"

#define REQUEST_MS			0.7 /* a request that finds everything resident */
#define SEGMENT_MS			0.0008	/* a segment of it */
#define SCAN_BYTES_MS		2.5e9	/* packed bytes the device reads in 1 ms */
#define LOAD_BYTES_MS		8.0e6	/* packed bytes that are sent in 1 ms */
#define LOADS				8	/* queries that share the cost of loading */
#define GROUP_ROWS_MS		2.0e8	/* rows the device groups in 1 ms */
#define RANKED_ROWS_MS		4.0e6	/* rows the device groups, sorts and ranks in 1 ms */
#define RESULT_ROWS_MS		2.0e4	/* rows that come back in 1 ms */

#define CPU_START_MS		0.1
#define CPU_VALUES_MS		4.0e6	/* values that a thread tests or adds in 1 ms */
#define CPU_GROUP_ROWS_MS	4.0e5	/* rows that a thread groups in 1 ms */

#define CPU_RANKED_ROWS_MS	1.0e4	/* rows that a thread collects, sorts and ranks in 1 ms */

#define ROWS_PER_SEGMENT	1048576.0

double
gpucol_device_resident(Relation rel, Bitmapset *attnums, double rows)
{
	uint64_t	storage[2] = {
		(uint64_t) MyDatabaseId << 32 | gpucol_compat_relation_space(rel),
		gpucol_compat_relation_file(rel)
	};
	double		share = 0;
	int			attnum = -1;

	if (rows <= 0 || bms_is_empty(attnums))
		return 0;
	while ((attnum = bms_next_member(attnums, attnum)) >= 0)
	{
		uint64_t	here;
		uint64_t	size;

		gpucol_wire_resident(storage, attnum, &here, &size);
		share += Min((double) here / rows, 1.0);
	}
	return share / bms_num_members(attnums);
}

void
gpucol_device_count(Relation rel, Bitmapset *attnums, GpucolDeviceEstimate *e)
{
	int			ncolumns = bms_num_members(attnums);
	int			natts = Max(RelationGetNumberOfAttributes(rel), 1);
	double		bytes = (double) RelationGetNumberOfBlocks(rel) * BLCKSZ * Min(ncolumns, natts) / natts;
	double		rows = rel->rd_rel->reltuples;

	if (rows < 0)				/* never analyzed */
		rows = bytes / Max(ncolumns, 1) / 4;
	e->bytes += bytes;
	e->rows += rows;
	e->resident += bytes * gpucol_device_resident(rel, attnums, rows);
}

void
gpucol_device_estimate(GpucolExec *exec, Bitmapset *attnums,
					   GpucolDeviceEstimate *e)
{
	int			ncolumns = bms_num_members(attnums);
	double		memory;
	bool		groups;
	bool		ranks = exec->make_take != NULL;
	double		missing;
	int			threads = gpucol_run_threads(exec);

	gpucol_wire_meet();
	memory = (double) gpucol_wire_device_memory();
	memset(e, 0, sizeof(*e));
	for (int i = 0; i < exec->nparts; i++)
		gpucol_device_count(exec->parts[i].rel, gpucol_run_part_columns(&exec->parts[i], attnums), e);
	if (exec->nparts == 0)
		gpucol_device_count(exec->rel, attnums, e);
	e->out_rows = exec->node->ss.ps.plan->plan_rows;
	groups = exec->kind == GPUCOL_PROGRAM_AGG && e->out_rows > 1;
	missing = e->bytes - e->resident;
	e->fits = memory == 0 || e->bytes < memory * 7 / 8;

	e->device_ms = REQUEST_MS + e->rows / ROWS_PER_SEGMENT * SEGMENT_MS + e->bytes / SCAN_BYTES_MS +
		missing / LOAD_BYTES_MS / (e->fits ? LOADS : 1) +
		(groups ? e->rows / GROUP_ROWS_MS : 0) + (ranks ? e->rows / RANKED_ROWS_MS : 0) +
		e->out_rows / RESULT_ROWS_MS;
	e->cpu_ms = CPU_START_MS + e->rows * Max(ncolumns, 1) / CPU_VALUES_MS / threads +
		(groups ? e->rows / CPU_GROUP_ROWS_MS / threads : 0) +
		(ranks ? e->rows / CPU_RANKED_ROWS_MS / threads : 0);
	e->device = e->device_ms < e->cpu_ms;
}

char *
gpucol_device_explanation(const GpucolDeviceEstimate *e)
{
	return psprintf("%.1f MB of %.1f MB resident%s, estimated %.1f ms on the device and %.1f ms on the CPU",
					e->resident / 1e6, e->bytes / 1e6,
					e->fits ? "" : ", more than device memory holds",
					e->device_ms, e->cpu_ms);
}
