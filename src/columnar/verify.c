/*-------------------------------------------------------------------------
 *
 * verify.c
 *	  gpucol.verify: every page and every value of a table's segments, checked.
 *
 * The directory first (verify_directory.c).  Then for each segment that the caller's snapshot
 * sees: each page's identity and
 * checksum, read anew whatever has been verified before; the header and the
 * descriptors; then each chunk is decoded from its first vector to its last, its
 * NULLs are counted, and its values compared with the zone maps.  If all is well, rows
 * and index entries are compared (verify_index.c).  Problems are
 * returned, not raised, so that one call shows all of them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/table.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "columnar/functions.h"
#include "columnar/page.h"
#include "columnar/segment.h"
#include "columnar/verify.h"
#include "kernel/decode.h"
#include "kernel/float_order.h"

PG_FUNCTION_INFO_V1(gpucol_verify);

void
gpucol_verify_report(GpucolVerify *verify, AttrNumber attnum, const char *format,...)
{
	TupleDesc	desc = RelationGetDescr(verify->table);
	Datum		values[3] = {0};
	bool		isnull[3] = {false};
	char		text[512];
	va_list		args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	isnull[0] = verify->entry == NULL;
	if (!isnull[0])
		values[0] = Int64GetDatum(verify->entry->first_row);
	isnull[1] = attnum < 1 || attnum > desc->natts;
	if (!isnull[1])
		values[1] = NameGetDatum(&TupleDescAttr(desc, attnum - 1)->attname);
	values[2] = CStringGetTextDatum(text);
	tuplestore_putvalues(verify->result->setResult, verify->result->setDesc, values,
						 isnull);
	verify->problems++;
}

/* Check every page of the segment; false if one is damaged. */
static bool
verify_pages(GpucolVerify *verify)
{
	bool		intact = true;

	for (uint32 ordinal = 0; ordinal < verify->entry->npages; ordinal++)
	{
		BlockNumber block = gpucol_page_block(verify->entry, ordinal);
		const char *problem;
		Buffer		buffer;

		CHECK_FOR_INTERRUPTS();
		if (block == InvalidBlockNumber ||
			block >= RelationGetNumberOfBlocks(verify->table))
		{
			gpucol_verify_report(verify, 0, "page %u is beyond the end of the table", ordinal);
			return false;
		}
		buffer = ReadBuffer(verify->table, block);
		problem = gpucol_page_problem(BufferGetPage(buffer), verify->entry, ordinal);
		if (problem != NULL)
		{
			gpucol_verify_report(verify, 0, "page %u (block %u) %s", ordinal, block, problem);
			intact = false;
		}
		ReleaseBuffer(buffer);
	}
	return intact;
}

/*
 * Copy the pages that hold the streams of a chunk, however many, and show them
 * to the decoder: pinning them all could exhaust the buffers.
 */
static void
copy_chunk(GpucolVerify *verify, const GpucolChunkDesc *desc, GpucolDecoder *decoder)
{
	uint32		first = PG_UINT32_MAX;
	uint32		last = 0;
	GpucolRows	rows = {0};
	const char **pages;
	char	   *copy;

	for (int s = 0; s < GPUCOL_STREAM_COUNT; s++)
	{
		const GpucolStream *stream = &desc->streams[s];

		if (stream->nrows == 0)
			continue;
		first = Min(first, stream->row / GPUCOL_PAGE_ROWS);
		last = Max(last, (stream->row + stream->nrows - 1) / GPUCOL_PAGE_ROWS);
	}
	if (first == PG_UINT32_MAX)
		return;
	rows.first_page = first;
	rows.npages = last - first + 1;
	pages = palloc(rows.npages * sizeof(char *));
	copy = MemoryContextAllocHuge(CurrentMemoryContext,
								  (Size) rows.npages * GPUCOL_PAGE_BYTES);
	for (uint32 i = 0; i < rows.npages; i++)
	{
		Buffer		buffer = gpucol_page_pin(verify->table, verify->entry, first + i,
											 desc->attnum);

		pages[i] = copy + (Size) i * GPUCOL_PAGE_BYTES;
		memcpy(copy + (Size) i * GPUCOL_PAGE_BYTES, gpucol_page_rows(buffer),
			   GPUCOL_PAGE_BYTES);
		ReleaseBuffer(buffer);
	}
	rows.pages = pages;
	for (int s = 0; s < GPUCOL_STREAM_COUNT; s++)
	{
		if (desc->streams[s].nrows > 0)
			gpucol_decode_map(decoder, (GpucolStreamKind) s, &rows);
	}
}

/* A value in the order of zone maps. */
static int64
zone_value(const GpucolChunkDesc *desc, int64 value)
{
	if (gpucol_kind_is_float(desc->kind))
		return gpucol_float_order(gpucol_float_value(desc->kind, value));
	return value;
}

/* Are all values of a vector that are not NULL inside a zone? */
static bool
inside_zone(const GpucolChunkDesc *desc, const GpucolZone *zone, const int64_t *values,
			const uint32 *nulls, uint32 n)
{
	for (uint32 i = 0; i < n; i++)
	{
		int64		v;

		if ((nulls[i / 32] >> (i % 32)) & 1)
			continue;
		v = zone_value(desc, values[i]);
		if (v < zone->min || v > zone->max)
			return false;
	}
	return true;
}

/* Decode one vector and check it; counts its NULLs. */
static GpucolStatus
verify_vector(GpucolVerify *verify, GpucolDecoder *decoder, uint32 v, uint64 *nnulls)
{
	static int64_t values[GPUCOL_VECTOR_VALUES];
	static GpucolBytes bytes[GPUCOL_VECTOR_VALUES];
	const GpucolChunkDesc *desc = decoder->desc;
	uint32		nulls[GPUCOL_VECTOR_VALUES / 32];
	uint32		n = Min(GPUCOL_VECTOR_VALUES, decoder->nrows - v * GPUCOL_VECTOR_VALUES);
	GpucolZone	zone;
	GpucolStatus status = gpucol_decode_nulls(decoder, v, nulls);

	if (status != GPUCOL_OK)
		return status;
	if (desc->flags & GPUCOL_CHUNK_ALL_NULL)
	{
		*nnulls += n;
		return GPUCOL_OK;
	}
	*nnulls += pg_popcount((const char *) nulls, sizeof(nulls));
	if (desc->kind == GPUCOL_KIND_BYTES)
		return gpucol_decode_bytes(decoder, v, bytes);
	status = gpucol_decode_ints(decoder, v, values);
	if (status != GPUCOL_OK)
		return status;
	if ((desc->flags & GPUCOL_CHUNK_HAS_ZONE) &&
		!inside_zone(desc, &desc->zone, values, nulls, n))
		gpucol_verify_report(verify, desc->attnum, "a value of vector %u is outside the zone map of the chunk", v);
	status = gpucol_decode_zone(decoder, v, &zone);
	if (status == GPUCOL_OK && !inside_zone(desc, &zone, values, nulls, n))
		gpucol_verify_report(verify, desc->attnum, "a value of vector %u is outside its zone map", v);
	return status == GPUCOL_END ? GPUCOL_OK : status;
}

/* Decode a whole chunk. */
static void
verify_chunk(GpucolVerify *verify, const GpucolSegmentInfo *segment,
			 const GpucolChunkDesc *desc)
{
	GpucolMemory memory = gpucol_segment_memory(CurrentMemoryContext);
	GpucolDecoder decoder;
	GpucolStatus status;
	uint64		nnulls = 0;

	gpucol_decode_init(&decoder, desc, segment->entry.nrows, &memory);
	copy_chunk(verify, desc, &decoder);
	status = gpucol_decode_load(&decoder);
	if (status != GPUCOL_OK)
		gpucol_verify_report(verify, desc->attnum, "the dictionary or the runs cannot be read");
	for (uint32 v = 0; status == GPUCOL_OK && v < GPUCOL_VECTORS(segment->entry.nrows); v++)
	{
		CHECK_FOR_INTERRUPTS();
		status = verify_vector(verify, &decoder, v, &nnulls);
		if (status == GPUCOL_OUT_OF_MEMORY)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY),
					 errmsg("out of memory"),
					 errdetail("Could not decode a vector of column number %d.",
							   desc->attnum)));
		if (status != GPUCOL_OK)
			gpucol_verify_report(verify, desc->attnum, "vector %u cannot be decoded", v);
	}
	if (status == GPUCOL_OK && nnulls != desc->null_count)
		gpucol_verify_report(verify, desc->attnum, UINT64_FORMAT " NULLs where the descriptor says %u",
			   nnulls, desc->null_count);
	gpucol_decode_free(&decoder);
}

/* Read the header and descriptors without raising what is wrong with them. */
static bool
verify_header(GpucolVerify *verify)
{
	Buffer		buffer = ReadBuffer(verify->table, gpucol_page_block(verify->entry, 0));
	GpucolSegmentHeader header;
	bool		good;

	memcpy(&header, gpucol_page_rows(buffer), sizeof(header));
	ReleaseBuffer(buffer);
	good = gpucol_decode_check_header(&header) == GPUCOL_OK &&
		header.first_row == verify->entry->first_row &&
		header.nrows == verify->entry->nrows && header.nwords == verify->entry->nwords;
	if (!good)
		gpucol_verify_report(verify, 0, "the header fails its checks");
	return good;
}

/* Do the row numbers of a segment begin where those of the one before have ended? */
static void
verify_numbers(GpucolVerify *verify, uint32 i)
{
	const GpucolSegmentEntry *before = i > 0 ? &verify->view->segments[i - 1].entry : NULL;

	if (before != NULL && before->first_row + before->nrows > verify->entry->first_row)
		gpucol_verify_report(verify, 0, "row numbers are those of segment " UINT64_FORMAT " too",
							 before->first_row);
}

/* Does an error tell of damage? */
static bool
is_damage(int code)
{
	int			category = ERRCODE_TO_CATEGORY(code);

	return category == ERRCODE_TO_CATEGORY(ERRCODE_INTERNAL_ERROR) ||
		category == ERRCODE_TO_CATEGORY(ERRCODE_IO_ERROR);
}

bool
gpucol_verify_attempt(GpucolVerify *verify, void (*part) (GpucolVerify *verify, void *arg),
					  void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	ErrorData  *volatile error = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		part(verify, arg);
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	if (error == NULL)
		return true;
	if (!is_damage(error->sqlerrcode))
		ReThrowError(error);
	gpucol_verify_report(verify, 0, "%s%s%s", error->message,
						 error->detail != NULL ? ": " : "",
						 error->detail != NULL ? error->detail : "");
	FreeErrorData(error);
	return false;
}

/* Check the segment at hand. */
static void
verify_segment(GpucolVerify *verify, void *arg)
{
	MemoryContext context = arg;
	const GpucolSegmentInfo *segment;
	MemoryContext old;

	if (!verify_pages(verify) || !verify_header(verify))
		return;
	segment = gpucol_segment_open(verify->table, verify->entry);
	old = MemoryContextSwitchTo(context);
	for (int slot = 0; slot < segment->ncolumns; slot++)
	{
		verify_chunk(verify, segment, &segment->descs[slot]);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
}

/* gpucol_verify_indexes as a part of the work. */
static void
verify_indexes(GpucolVerify *verify, void *arg pg_attribute_unused())
{
	gpucol_verify_indexes(verify);
}

/* gpucol.verify(regclass): a row for each problem. */
Datum
gpucol_verify(PG_FUNCTION_ARGS)
{
	GpucolVerify verify = {.result = (ReturnSetInfo *) fcinfo->resultinfo};
	MemoryContext context;

	verify.table = gpucol_functions_open(PG_GETARG_OID(0));
	InitMaterializedSRF(fcinfo, 0);
	context = AllocSetContextCreate(CurrentMemoryContext, "gpucol verify",
									ALLOCSET_DEFAULT_SIZES);
	gpucol_verify_directory(&verify, GetActiveSnapshot());
	for (uint32 i = 0; i < verify.view->nsegments; i++)
	{
		verify.entry = &verify.view->segments[i].entry;
		verify_numbers(&verify, i);
		(void) gpucol_verify_attempt(&verify, verify_segment, context);
	}
	verify.entry = NULL;
	(void) gpucol_verify_attempt(&verify, verify_indexes, NULL);
	table_close(verify.table, AccessShareLock);
	return (Datum) 0;
}
