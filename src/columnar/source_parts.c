/*-------------------------------------------------------------------------
 *
 * source_parts.c
 *	  Several sources as one: the segments of all, then the delta rows of all.
 *
 * The parts read the same columns, so a program that was made for one is good for
 * all.  Segments of different tables may have the same id: what is kept of a segment is
 * kept under its table's storage.  The whole has an identity and a version of its own, made
 * of the parts', for what is kept of all of them together.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "lib/stringinfo.h"

#include "columnar/source.h"

typedef struct PartsSource
{
	GpucolSource base;
	GpucolSourceOps ops;
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
current_part(const PartsSource *source)
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

static GpucolStatus
parts_lend(GpucolSource *base, const GpucolSegment *segment, int slot,
		   GpucolStreamKind stream, uint32_t row, uint32_t nrows, GpucolRows *out)
{
	GpucolSource *part = current_part((PartsSource *) base);

	return part->ops->lend(part, segment, slot, stream, row, nrows, out);
}

static void
parts_ahead(GpucolSource *base, const GpucolSegment *segment, int slot, GpucolStreamKind stream,
			uint32_t row, uint32_t nrows)
{
	GpucolSource *part = current_part((PartsSource *) base);

	part->ops->ahead(part, segment, slot, stream, row, nrows);
}

/* A window may be given back to any part: it knows whose pages it pins. */
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
parts_count_rows(GpucolSource *base, const uint64_t storage[2], uint64_t nrows)
{
	PartsSource *source = (PartsSource *) base;

	for (int i = 0; i < source->nparts; i++)
	{
		GpucolSource *part = source->parts[i];

		if (part->storage[0] != storage[0] || part->storage[1] != storage[1])
			continue;
		part->ops->count_rows(part, storage, nrows);
		return;
	}
}

static const GpucolSource *
parts_table(const GpucolSource *base)
{
	return current_part((const PartsSource *) base);
}

/* The parts' versions as one; 0 where a part has none. */
static uint64
version_of_all(const PartsSource *source)
{
	uint64		version = 0;

	for (int i = 0; i < source->nparts; i++)
	{
		if (source->parts[i]->version == 0)
			return 0;
		version = hash_combine64(version, source->parts[i]->version);
	}
	return version | 1;
}

static void
parts_identify(GpucolSource *base)
{
	PartsSource *source = (PartsSource *) base;

	if (base->storage[0] == 0)
		return;
	for (int i = 0; i < source->nparts; i++)
	{
		GpucolSource *part = source->parts[i];

		if (part->version == 0 && part->ops->identify != NULL)
			part->ops->identify(part);
	}
	base->version = version_of_all(source);
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
	.lend = parts_lend,
	.ahead = parts_ahead,
	.next_delta = parts_next_delta,
	.rescan = parts_rescan,
	.check_interrupts = parts_check_interrupts,
	.count_rows = parts_count_rows,
	.identify = parts_identify,
	.table = parts_table,
	.close = parts_close,
};

/*
 * The identity of the parts' storages and of the columns that are read there; none where a
 * part has none.
 */
static void
set_storage(PartsSource *source)
{
	StringInfoData all;

	initStringInfo(&all);
	for (int i = 0; i < source->nparts; i++)
	{
		const GpucolSource *part = source->parts[i];

		if (part->storage[0] == 0)
			return;
		appendBinaryStringInfo(&all, (const char *) part->storage, sizeof(part->storage));
		appendBinaryStringInfo(&all, (const char *) part->attnums, part->ncolumns * sizeof(*part->attnums));
	}
	for (int i = 0; i < 2; i++)
		source->base.storage[i] = hash_bytes_extended((const unsigned char *) all.data, all.len, i) | 1;
	pfree(all.data);
}

GpucolSource *
gpucol_source_join(GpucolSource **parts, int nparts)
{
	PartsSource *source = palloc0(sizeof(PartsSource));

	/* who looks at a lent window does not ask whose it is: the parts are sources of one kind */
	source->ops = parts_ops;
	source->ops.verify = parts[0]->ops->verify;
	source->ops.forget = parts[0]->ops->forget;
	source->base.ops = &source->ops;
	source->base.ncolumns = parts[0]->ncolumns;
	source->base.max_window_rows = parts[0]->max_window_rows;
	for (int i = 1; i < nparts; i++)
	{
		Assert(parts[i]->ops == parts[0]->ops);
		source->base.max_window_rows = Min(source->base.max_window_rows, parts[i]->max_window_rows);
	}
	source->parts = parts;
	source->nparts = nparts;
	set_storage(source);
	source->base.version = source->base.storage[0] == 0 ? 0 : version_of_all(source);
	return &source->base;
}
