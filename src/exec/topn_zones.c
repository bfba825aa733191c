/*-------------------------------------------------------------------------
 *
 * topn_zones.c
 *	  ORDER BY ... LIMIT k without conditions: a bound on the k-th row from zone
 *	  maps alone.
 *
 * The minimum and the maximum in a vector's zone map are values of rows of it.
 * Of vectors without deleted rows the better extreme is therefore that of a row
 * that the scan sees, and the k-th best of all these extremes is reached by at
 * least k rows.  Likewise the worse extreme of a vector is reached by all of its
 * rows, which is the better bound for sorted columns.  16 bytes are read for 1,024
 * rows.  Rows of the delta can only add to those k.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/rel.h"

#include "columnar/source.h"
#include "columnar/typemap.h"
#include "exec/topn_probe.h"

/* Zone maps in a word row. */
#define ROW_ZONES	((int) (GPUCOL_ROW_BYTES / sizeof(GpucolZone)))

/* Word rows of zone maps looked at together. */
#define WINDOW_ROWS 32

/* Does the scan see every row of the vector? */
static bool
vector_is_whole(const GpucolSegment *segment, uint32 vector)
{
	uint32		any = 0;

	if (segment->deleted == NULL)
		return true;
	for (int i = 0; i < GPUCOL_LANES; i++)
		any |= segment->deleted[vector * GPUCOL_LANES + i];
	return any == 0;
}

/* What zone maps say: values of some rows, and one that many rows reach. */
typedef struct Bounds
{
	GpucolTopnBest best;
	bool		found;
	int64		reached;		/* directed; by at least k rows */
} Bounds;

/* Add a zone map of `nvalues` or more values; empty ones have min > max. */
static void
add_zone(Bounds *b, const GpucolZone *zone, int64 nvalues)
{
	bool		descending = b->best.descending;
	int64		worse = gpucol_topn_directed(&b->best,
											 descending ? zone->min : zone->max);

	if (zone->min > zone->max)
		return;
	gpucol_topn_best_add(&b->best, descending ? zone->max : zone->min);
	if (nvalues >= b->best.k && (!b->found || worse > b->reached))
	{
		b->found = true;
		b->reached = worse;
	}
}

/* Values of a vector for certain; 0 is always true. */
static int64
vector_values(const GpucolSegment *segment, uint32 vector)
{
	if (segment->chunks[0]->flags & GPUCOL_CHUNK_HAS_NULLS)
		return 0;
	return Min(segment->nrows - vector * GPUCOL_VECTOR_VALUES, GPUCOL_VECTOR_VALUES);
}

/* Add the zone maps of word rows [row, row + n) of the stream. */
static GpucolStatus
add_rows(GpucolSource *source, const GpucolSegment *segment,
		 const GpucolStream *stream, uint32 row, uint32 n, Bounds *bounds)
{
	uint32		nvectors = GPUCOL_VECTORS(segment->nrows);
	GpucolRows	window;
	GpucolStatus status;

	status = source->ops->map(source, segment, 0, GPUCOL_STREAM_ZONES, row, n, &window);
	if (status != GPUCOL_OK)
		return status;
	for (uint32 r = row; r < row + n; r++)
	{
		GpucolZone	scratch[GPUCOL_ROW_BYTES / sizeof(GpucolZone)];
		const GpucolZone *zones = gpucol_rows_at(&window, stream->row + r, 1, scratch);

		for (int i = 0; i < ROW_ZONES && r * ROW_ZONES + i < nvectors; i++)
		{
			uint32		vector = r * ROW_ZONES + i;

			if (vector_is_whole(segment, vector))
				add_zone(bounds, &zones[i], vector_values(segment, vector));
		}
	}
	source->ops->unmap(source, &window);
	return GPUCOL_OK;
}

/* Add the zone maps of a segment. */
static GpucolStatus
add_segment(GpucolSource *source, const GpucolSegment *segment,
			const GpucolProgramColumn *column, Bounds *bounds)
{
	const GpucolChunkDesc *chunk = segment->chunks[0];
	const GpucolStream *stream = &chunk->streams[GPUCOL_STREAM_ZONES];
	uint32		most = Min(WINDOW_ROWS, source->max_window_rows);
	GpucolStatus status = GPUCOL_OK;

	if (chunk->flags & GPUCOL_CHUNK_ALL_NULL || chunk->kind != column->kind ||
		(chunk->kind == GPUCOL_KIND_DECIMAL && chunk->scale != column->scale))
		return GPUCOL_OK;
	if (stream->nrows == 0)
	{
		if (segment->ndeleted == 0 && chunk->flags & GPUCOL_CHUNK_HAS_ZONE)
			add_zone(bounds, &chunk->zone,
					 chunk->flags & GPUCOL_CHUNK_HAS_NULLS ? 0 : segment->nrows);
		return GPUCOL_OK;
	}
	for (uint32 row = 0; row < stream->nrows && status == GPUCOL_OK; row += most)
		status = add_rows(source, segment, stream, row,
						  Min(most, stream->nrows - row), bounds);
	return status;
}

/* The class that values of a column have in an engine. */
static void
value_of_column(const GpucolTypeMap *map, GpucolValue *value)
{
	memset(value, 0, sizeof(*value));
	value->scale = map->scale;
	value->scale_reg = GPUCOL_NO_REG;
	value->packed = false;
	value->cls = map->kind == GPUCOL_KIND_DECIMAL ? GPUCOL_CLASS_D :
		map->kind == GPUCOL_KIND_INT ? GPUCOL_CLASS_I : GPUCOL_CLASS_F;
}

bool
gpucol_topn_zone_bound(Relation rel, Snapshot snapshot, AttrNumber attnum,
					   int64 k, bool descending, GpucolBudget *budget, int64 *bound,
					   GpucolValue *value)
{
	Form_pg_attribute att = TupleDescAttr(RelationGetDescr(rel), attnum - 1);
	GpucolTypeMap map;
	GpucolProgramColumn column = {.attnum = attnum,.type_oid = att->atttypid};
	Bounds		bounds = {.found = false};
	GpucolTopnBest *best = &bounds.best;
	GpucolSource *source;
	GpucolSegment segment;
	GpucolStatus status = GPUCOL_OK;

	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	if (map.kind == GPUCOL_KIND_BYTES)
		return false;
	column.kind = map.kind;
	column.scale = map.scale;
	value_of_column(&map, value);
	if (!gpucol_topn_best_init(best, k, descending, NULL, budget))
		return false;
	source = gpucol_source_open(rel, snapshot, &column, 1, NULL);
	while (status == GPUCOL_OK &&
		   (status = source->ops->next_segment(source, &segment)) == GPUCOL_OK)
	{
		CHECK_FOR_INTERRUPTS();
		status = add_segment(source, &segment, &column, &bounds);
	}
	source->ops->close(source);
	if (best->filled == k && (!bounds.found || best->heap[0] > bounds.reached))
	{
		bounds.found = true;
		bounds.reached = best->heap[0];
	}
	*bound = gpucol_topn_directed(best, bounds.reached);
	gpucol_topn_best_release(best);
	return status == GPUCOL_END && bounds.found;
}
