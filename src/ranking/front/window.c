/*-------------------------------------------------------------------------
 *
 * window.c
 *	  topk_probability(): Pr[row is in the top k of its partition].
 *
 * The first row of a partition ranks the whole partition (frame and ORDER BY of
 * the window do not matter to what is computed; rows that tie in score and
 * probability rank in the window's order) and keeps one float8 a row.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "ranking/front/group.h"

PG_FUNCTION_INFO_V1(gpucol_uncertain_topk_probability);

enum
{
	ARG_SCORE,
	ARG_PROBABILITY,
	ARG_K,
	ARG_X
};

/* Kept for the partition; one entry a row, negative for NULL. */
typedef struct Partition
{
	bool		ranked;
	double		probability[FLEXIBLE_ARRAY_MEMBER];
} Partition;

/* k of row `position`, checked. */
static int32
row_k(WindowObject winobj, int64 position)
{
	bool		isnull;
	bool		isout;
	int32		k = DatumGetInt32(WinGetFuncArgInPartition(winobj, ARG_K,
														   (int) position,
														   WINDOW_SEEK_HEAD,
														   false, &isnull,
														   &isout));

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("k must not be null")));
	gpucol_group_check_k(k);
	return k;
}

/* The x-tuple of row `position`: a copy, since the next argument replaces the row. */
static Datum
row_x(WindowObject winobj, const GpucolOrderedType *type, int64 position, bool *isnull)
{
	bool		isout;
	Datum		x = WinGetFuncArgInPartition(winobj, ARG_X, (int) position,
											 WINDOW_SEEK_HEAD, false, isnull, &isout);

	return *isnull ? (Datum) 0 : datumCopy(x, type->typbyval, type->typlen);
}

/* Add row `position` of the partition to the group, unless it is to be ignored. */
static void
add_row(WindowObject winobj, GpucolGroup *group, int64 position)
{
	GpucolGroupRow row = {.label = Int64GetDatum(position),.x_isnull = true};
	bool		isnull;
	bool		isout;

	gpucol_group_check_same(group, row_k(winobj, position), 0);
	row.probability = DatumGetFloat8(WinGetFuncArgInPartition(winobj,
															  ARG_PROBABILITY,
															  (int) position,
															  WINDOW_SEEK_HEAD,
															  false, &isnull,
															  &isout));
	if (isnull)
		return;
	if (group->types->at_x)
		row.x = row_x(winobj, &group->types->x, position, &row.x_isnull);
	row.score = WinGetFuncArgInPartition(winobj, ARG_SCORE, (int) position,
										 WINDOW_SEEK_HEAD, false, &isnull,
										 &isout);
	if (!isnull)
	{
		gpucol_group_check_probability(row.probability);
		gpucol_group_add(group, &row);
	}
	if (!row.x_isnull && !group->types->x.typbyval)
		pfree(DatumGetPointer(row.x));
}

/* Rank the partition into out[nrows]. */
static void
rank_partition(FunctionCallInfo fcinfo, WindowObject winobj, int64 nrows,
			   double *out)
{
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext,
													"gpucol topk_probability",
													ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temporary);
	GpucolGroupTypes types;
	GpucolGroup *group;
	GpucolRankInput in;
	GpucolRankWork work;
	double	   *probability;

	gpucol_group_types_init(&types, INT8OID,
							get_fn_expr_argtype(fcinfo->flinfo, ARG_SCORE),
							PG_NARGS() > ARG_X ?
							get_fn_expr_argtype(fcinfo->flinfo, ARG_X) : InvalidOid);
	group = gpucol_group_create(temporary, &types, PG_GET_COLLATION(),
								row_k(winobj, 0), 0, GPUCOL_CUT_NONE);
	/* the results, and the probabilities that they are taken from */
	gpucol_group_count(group, 2 * sizeof(double) * (Size) nrows);
	for (int64 i = 0; i < nrows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		out[i] = -1;
		add_row(winobj, group, i);
	}
	gpucol_group_rank(group, &in, &work);
	probability = MemoryContextAllocHuge(temporary,
										 sizeof(double) * ((size_t) in.n + 1));
	gpucol_group_check_status(gpucol_rank_topk_probability(&in, group->k, &work,
														   probability));
	for (int32 i = 0; i < in.n; i++)
		out[DatumGetInt64(gpucol_group_row(group, i)[types.at_label])] = probability[i];
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temporary);
}

/* (score "any", probability float8, k int [, x_tuple "any"]) -> float8 */
Datum
gpucol_uncertain_topk_probability(PG_FUNCTION_ARGS)
{
	WindowObject winobj = PG_WINDOW_OBJECT();
	int64		nrows = WinGetPartitionRowCount(winobj);
	int64		position = WinGetCurrentPosition(winobj);
	Partition  *partition;

	if ((Size) nrows > (MaxAllocSize - sizeof(Partition)) / sizeof(double))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows in one partition for topk_probability"),
				 errdetail("The partition has %lld rows.", (long long) nrows)));
	partition = WinGetPartitionLocalMemory(winobj,
										   offsetof(Partition, probability) +
										   sizeof(double) * (Size) nrows);
	if (!partition->ranked)
	{
		rank_partition(fcinfo, winobj, nrows, partition->probability);
		partition->ranked = true;
	}
	if (partition->probability[position] < 0)
		PG_RETURN_NULL();
	PG_RETURN_FLOAT8(partition->probability[position]);
}
