/*-------------------------------------------------------------------------
 *
 * error.c
 *	  Engine status codes as PostgreSQL errors, with the text and the code that
 *	  the function called by the user would have raised.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"
#include "utils/rel.h"

#include "exec/run.h"

static void
raise_out_of_range(const char *type)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("%s out of range", type)));
}

/*
 * Raise the error that a status stands for.
 */
void
gpucol_status_raise(GpucolStatus status, Relation rel)
{
	switch (status)
	{
		case GPUCOL_INT2_OUT_OF_RANGE:
			raise_out_of_range("smallint");
			break;
		case GPUCOL_INT4_OUT_OF_RANGE:
			raise_out_of_range("integer");
			break;
		case GPUCOL_INT8_OUT_OF_RANGE:
			raise_out_of_range("bigint");
			break;
		case GPUCOL_FLOAT_OVERFLOW:
			float_overflow_error();
			break;
		case GPUCOL_FLOAT_UNDERFLOW:
			float_underflow_error();
			break;
		case GPUCOL_DIVISION_BY_ZERO:
			ereport(ERROR,
					(errcode(ERRCODE_DIVISION_BY_ZERO),
					 errmsg("division by zero")));
			break;
		case GPUCOL_CORRUPT:
			ereport(ERROR,
					(errcode(ERRCODE_DATA_CORRUPTED),
					 errmsg("segment of table \"%s\" is corrupt",
							RelationGetRelationName(rel)),
					 errhint("gpucol.verify(regclass) names the segment and the column.")));
			break;
		case GPUCOL_CANCELLED:
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR,
					(errcode(ERRCODE_QUERY_CANCELED),
					 errmsg("canceling statement due to user request")));
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
