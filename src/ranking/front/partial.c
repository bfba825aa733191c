/*-------------------------------------------------------------------------
 *
 * partial.c
 *	  Groups collected by parallel workers: combine, serialize, deserialize.
 *
 * Ranking order is total, so the answer does not depend on which worker saw
 * which row; and a group that a worker cut (group.c) lacks only rows that no
 * further row makes matter.
 *
 * Serialized form, valid within one server: a PartialHeader, then for every row
 * its score's key, its probability, and its other columns as datumSerialize
 * writes them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "compat.h"
#include "ranking/front/group.h"

PG_FUNCTION_INFO_V1(gpucol_uncertain_combine);
PG_FUNCTION_INFO_V1(gpucol_uncertain_serialize);
PG_FUNCTION_INFO_V1(gpucol_uncertain_deserialize);

typedef struct PartialHeader
{
	Oid			label;
	Oid			score;
	Oid			x;
	Oid			collation;
	int32		k;
	int32		nrows;
	double		threshold;
	GpucolGroupCut cut;
} PartialHeader;

/* (internal, internal) -> internal */
Datum
gpucol_uncertain_combine(PG_FUNCTION_ARGS)
{
	GpucolGroup *group = PG_ARGISNULL(0) ? NULL : (GpucolGroup *) PG_GETARG_POINTER(0);
	GpucolGroup *other = PG_ARGISNULL(1) ? NULL : (GpucolGroup *) PG_GETARG_POINTER(1);
	MemoryContext context;

	if (!AggCheckCallContext(fcinfo, &context))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate function called in non-aggregate context")));
	if (other == NULL)
	{
		if (group == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(group);
	}
	if (group == NULL)
		group = gpucol_group_create(context, other->types, other->collation,
									other->k, other->threshold, other->cut);
	gpucol_group_append(group, other);
	PG_RETURN_POINTER(group);
}

/* The columns of one row in serialized order. */
static int
row_columns(const GpucolGroupTypes *types, const GpucolOrderedType **type, int *at)
{
	int			n = 0;

	if (types->at_label)
	{
		type[n] = &types->label;
		at[n++] = types->at_label;
	}
	if (types->at_score)
	{
		type[n] = &types->score;
		at[n++] = types->at_score;
	}
	if (types->at_x)
	{
		type[n] = &types->x;
		at[n++] = types->at_x;
	}
	return n;
}

static bool
column_isnull(const GpucolGroupTypes *types, const uint64 *row, int at)
{
	return at == types->at_x && row[at + 1] != 0;
}

static Size
serialized_size(const GpucolGroup *group)
{
	const GpucolOrderedType *type[3];
	int			at[3];
	int			ncolumns = row_columns(group->types, type, at);
	Size		size = VARHDRSZ + sizeof(PartialHeader) +
		2 * sizeof(uint64) * (Size) group->nrows;

	for (int32 i = 0; i < group->nrows; i++)
		for (int c = 0; c < ncolumns; c++)
		{
			const uint64 *row = gpucol_group_row(group, i);

			size += datumEstimateSpace(row[at[c]],
									   column_isnull(group->types, row, at[c]),
									   type[c]->typbyval, type[c]->typlen);
		}
	return size;
}

/* internal -> bytea */
Datum
gpucol_uncertain_serialize(PG_FUNCTION_ARGS)
{
	GpucolGroup *group = (GpucolGroup *) PG_GETARG_POINTER(0);
	const GpucolGroupTypes *types = group->types;
	const GpucolOrderedType *type[3];
	int			at[3];
	int			ncolumns = row_columns(types, type, at);
	Size		size = serialized_size(group);
	bytea	   *result;
	char	   *out;
	PartialHeader header = {
		.label = types->label.type,.score = types->score.type,
		.x = types->x.type,.collation = group->collation,.k = group->k,
		.nrows = group->nrows,.threshold = group->threshold,.cut = group->cut
	};

	if (!AllocSizeIsValid(size))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many uncertain tuples in one group for a parallel worker"),
				 errdetail("The %d tuples that it has collected take %zu bytes.",
						   group->nrows, size),
				 errhint("Set max_parallel_workers_per_gather to 0 for this statement.")));
	gpucol_group_check_room(group, size);
	result = palloc(size);
	out = VARDATA(result);
	SET_VARSIZE(result, size);
	memcpy(out, &header, sizeof(header));
	out += sizeof(header);
	for (int32 i = 0; i < group->nrows; i++)
	{
		const uint64 *row = gpucol_group_row(group, i);

		memcpy(out, row, 2 * sizeof(uint64));
		out += 2 * sizeof(uint64);
		for (int c = 0; c < ncolumns; c++)
			datumSerialize(row[at[c]], column_isnull(types, row, at[c]),
						   type[c]->typbyval, type[c]->typlen, &out);
	}
	PG_RETURN_BYTEA_P(result);
}

/* Types of the serialized groups of this call, looked up once a query. */
static const GpucolGroupTypes *
header_types(FunctionCallInfo fcinfo, const PartialHeader *header)
{
	FmgrInfo   *flinfo = fcinfo->flinfo;

	if (flinfo->fn_extra == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(flinfo->fn_mcxt);
		GpucolGroupTypes *types = palloc(sizeof(GpucolGroupTypes));

		gpucol_group_types_init(types, header->label, header->score, header->x);
		MemoryContextSwitchTo(old);
		flinfo->fn_extra = types;
	}
	return flinfo->fn_extra;
}

/* (bytea, internal) -> internal */
Datum
gpucol_uncertain_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	char	   *in = VARDATA_ANY(bytes);
	PartialHeader header;
	const GpucolGroupTypes *types;
	const GpucolOrderedType *type[3];
	int			at[3];
	int			ncolumns;
	GpucolGroup *group;

	if (!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("aggregate function called in non-aggregate context")));
	memcpy(&header, in, sizeof(header));
	in += sizeof(header);
	types = header_types(fcinfo, &header);
	ncolumns = row_columns(types, type, at);
	group = gpucol_group_create(CurrentMemoryContext, types, header.collation,
								header.k, header.threshold, header.cut);
	gpucol_group_count(group, VARSIZE_ANY_EXHDR(bytes));
	gpucol_group_reserve(group, header.nrows);
	for (int32 i = 0; i < header.nrows; i++)
	{
		uint64	   *row = gpucol_group_row(group, i);

		memcpy(row, in, 2 * sizeof(uint64));
		in += 2 * sizeof(uint64);
		for (int c = 0; c < ncolumns; c++)
		{
			bool		isnull;

			row[at[c]] = datumRestore(&in, &isnull);
			if (at[c] == types->at_x)
				row[at[c] + 1] = isnull;
		}
	}
	group->nrows = header.nrows;
	group->sorted = false;
	PG_RETURN_POINTER(group);
}
