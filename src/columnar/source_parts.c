/*-------------------------------------------------------------------------
 *
 * source_parts.c
 *	  Several sources as one: the segments of all, then the delta rows of all.
 *
 * The parts read the same columns, so a program that was made for one is good for
 * all.  Segments of different tables may have the same id, so the whole has no
 * storage identity and nothing of it is kept.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "columnar/source.h"

typedef struct PartsSource
{
	GpucolSource base;
	GpucolSource **parts;
	int			nparts;
	int			segments;		/* part whose segments are delivered */
	int			delta;			/* part whose delta rows are delivered */
} PartsSource;

static GpucolStatus
parts_next_segment(GpucolSource *base, GpucolSegment *out)
{
	PartsSource *source = (PartsSource *) base;
	GpucolStatus status = GPUCOL_END;

	while (source->segments < source->nparts)
	{
		GpucolSource *part = source->parts[source->segments];

		status = part->ops->next_segment(part, out);
		if (status != GPUCOL_END)
			return status;
		source->segments++;
	}
	return status;
}

/* The part that the current segment belongs to. */
static GpucolSource *
current_part(PartsSource *source)
{
	return source->parts[Min(source->segments, source->nparts - 1)];
}

static GpucolStatus
parts_map(GpucolSource *base, const GpucolSegment *segment, int slot,
		  GpucolStreamKind stream, uint32_t row, uint32_t nrows, GpucolRows *out)
{
	GpucolSource *part = current_part((PartsSource *) base);

	return part->ops->map(part, segment, slot, stream, row, nrows, out);
}

static void
parts_unmap(GpucolSource *base, GpucolRows *window)
{
	GpucolSource *part = current_part((PartsSource *) base);

	part->ops->unmap(part, window);
}

static GpucolStatus
parts_next_delta(GpucolSource *base, GpucolDelta *out)
{
	PartsSource *source = (PartsSource *) base;
	GpucolStatus status = GPUCOL_END;

	while (source->delta < source->nparts)
	{
		GpucolSource *part = source->parts[source->delta];

		status = part->ops->next_delta(part, out);
		if (status != GPUCOL_END)
			return status;
		source->delta++;
	}
	return status;
}

static void
parts_rescan(GpucolSource *base)
{
	PartsSource *source = (PartsSource *) base;

	for (int i = 0; i < source->nparts; i++)
		source->parts[i]->ops->rescan(source->parts[i]);
	source->segments = source->delta = 0;
}

static void
parts_check_interrupts(GpucolSource *base)
{
	GpucolSource *part = ((PartsSource *) base)->parts[0];

	part->ops->check_interrupts(part);
}

static void
parts_close(GpucolSource *base)
{
	PartsSource *source = (PartsSource *) base;

	for (int i = 0; i < source->nparts; i++)
		source->parts[i]->ops->close(source->parts[i]);
}

static const GpucolSourceOps parts_ops = {
	.next_segment = parts_next_segment,
	.map = parts_map,
	.unmap = parts_unmap,
	.next_delta = parts_next_delta,
	.rescan = parts_rescan,
	.check_interrupts = parts_check_interrupts,
	.close = parts_close,
};

GpucolSource *
gpucol_source_join(GpucolSource **parts, int nparts)
{
	PartsSource *source = palloc0(sizeof(PartsSource));

	source->base.ops = &parts_ops;
	source->base.ncolumns = parts[0]->ncolumns;
	source->base.max_window_rows = parts[0]->max_window_rows;
	for (int i = 1; i < nparts; i++)
		source->base.max_window_rows = Min(source->base.max_window_rows,
										   parts[i]->max_window_rows);
	source->parts = parts;
	source->nparts = nparts;
	return &source->base;
}
