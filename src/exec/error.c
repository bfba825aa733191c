/*-------------------------------------------------------------------------
 *
 * error.c
 *	  The status that ended a scan as a PostgreSQL error that names the table.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/rel.h"

#include "engine/backend.h"
#include "exec/run.h"

/*
 * Raise the error that a status stands for.
 */
void
gpucol_status_raise(GpucolStatus status, Relation rel)
{
	gpucol_engine_raise(status);
	if (rel == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OUT_OF_MEMORY),
				 errmsg("out of memory while reading a recursion")));
	switch (status)
	{
		case GPUCOL_CORRUPT:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("segment of table \"%s\" is corrupt",
							RelationGetRelationName(rel)),
					 errhint("gpucol.verify(regclass) names the segment and the column.")));
			break;
		case GPUCOL_OUT_OF_MEMORY:
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory while scanning table \"%s\"",
							RelationGetRelationName(rel))));
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_SYSTEM_ERROR),
					 errmsg("engine lost while scanning table \"%s\"",
							RelationGetRelationName(rel)),
					 errdetail("Rows had been returned already, so that the scan could not start again elsewhere."),
					 errhint("Run the statement again.")));
			break;
	}
	pg_unreachable();
}
