/*-------------------------------------------------------------------------
 *
 * chunk_form.cc
 *	  A chunk that has been loaded, as kernels see it.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/query/chunk_form.cuh"

#include "cuda/scan/load.cuh"

uint64_t
gpucol_chunk_offset(const GpucolWireChunk &head, int stream)
{
	uint64_t	offset = 0;

	for (int k = 0; k < stream; k++)
		if (head.present >> k & 1)
			offset += (uint64_t) head.desc.streams[k].nrows * GPUCOL_ROW_BYTES;
	return offset;
}

/* Where a stream of a chunk lies in its memory; NULL: there is none. */
template <class T> static const T *
stream_of(const GpucolWireChunk &head, const void *memory, int stream)
{
	return head.present >> stream & 1 ? (const T *) ((const char *) memory + gpucol_chunk_offset(head, stream)) : NULL;
}

GpucolDeviceChunk
gpucol_chunk_describe(const GpucolWireChunk &head, const void *memory)
{
	const GpucolChunkDesc &d = head.desc;
	GpucolDeviceChunk chunk = {};

	chunk.codes = stream_of<uint32_t>(head, memory, GPUCOL_STREAM_CODES);
	chunk.nulls = stream_of<uint32_t>(head, memory, GPUCOL_STREAM_NULLS);
	chunk.zones = stream_of<GpucolZone>(head, memory, GPUCOL_STREAM_ZONES);
	chunk.dict = stream_of<int64_t>(head, memory, GPUCOL_STREAM_DICT);
	chunk.width = d.width;
	chunk.coding = d.coding;
	chunk.kind = d.kind;
	chunk.scale = d.scale;
	chunk.reference = d.coding == GPUCOL_CODING_RAW ? 0 : d.reference;
	chunk.all_null = (d.flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	chunk.last_entry = d.ndict > 0 ? d.ndict - 1 : 0;
	return chunk;
}

bool
gpucol_chunk_zones_useful(const GpucolZone *zones, uint32_t nvectors, const GpucolZone &all)
{
	double		all_span = (double) all.max - (double) all.min;
	double		span = 0;

	for (uint32_t v = 0; v < nvectors; v++)
		if (zones[v].min <= zones[v].max)
			span += (double) zones[v].max - (double) zones[v].min;
	return all_span > 0 && span / nvectors < all_span / 2;
}

/* Bits of the distances that a checked chunk's codes of steps stand for. */
static int
step_width(const GpucolChunkDesc &d)
{
	uint64_t	last = d.width == 0 ? 0 : ~0ull >> (64 - d.width);
	int			bits = 0;

	for (last *= d.step; last != 0; last >>= 1)
		bits++;
	return bits;
}

namespace
{

/* A chunk that is expanded: where its streams are going to lie. */
struct Expanded
{
	int			width;
	size_t		codes;			/* bytes of each */
	size_t		nulls;
	size_t		zones;

	Expanded(const Resident &r, uint32_t nrows)
		: width(r.desc.coding == GPUCOL_CODING_RLE ? r.desc.width : step_width(r.desc)),
		codes((size_t) GPUCOL_VECTORS(nrows) * width * GPUCOL_ROW_BYTES),
		nulls(r.chunk.nulls ? (size_t) GPUCOL_VECTORS(nrows) * GPUCOL_ROW_BYTES : 0),
		zones(r.chunk.zones ? (size_t) r.desc.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES : 0) {}

	size_t		bytes() const { return codes + nulls + zones; }
};

} /* namespace */

bool
gpucol_chunk_is_expanded(const Resident &r)
{
	return !r.chunk.all_null && (r.desc.coding == GPUCOL_CODING_RLE || r.desc.coding == GPUCOL_CODING_STEP);
}

size_t
gpucol_chunk_expanded_bytes(const Resident &r, uint32_t nrows)
{
	return Expanded(r, nrows).bytes();
}

void
gpucol_chunk_expand(Resident *r, const GpucolWireChunk &head, uint32_t nrows, void *to, cudaStream_t stream)
{
	GpucolChunkDesc &d = r->desc;
	Expanded	e(*r, nrows);
	char	   *memory = (char *) to;
	bool		runs = d.coding == GPUCOL_CODING_RLE;

	if (e.width > 0)
		device_check(runs ? gpucol_load_expand_runs(r->chunk.codes, e.width,
													stream_of<uint32_t>(head, r->memory, GPUCOL_STREAM_RUN_ENDS),
													d.nruns, nrows, (uint32_t *) memory, stream) :
					 gpucol_load_expand_steps(r->chunk.codes, d.width, d.step, e.width, nrows,
											  (uint32_t *) memory, stream), "could not expand codes");
	if (e.nulls)
		device_check(cudaMemcpyAsync(memory + e.codes, r->chunk.nulls, e.nulls, cudaMemcpyDeviceToDevice,
									 stream), "copy");
	if (e.zones)
		device_check(cudaMemcpyAsync(memory + e.codes + e.nulls, r->chunk.zones, e.zones,
									 cudaMemcpyDeviceToDevice, stream), "copy");
	device_check(cudaStreamSynchronize(stream), "could not expand codes");
	r->bytes = e.bytes();
	r->chunk.codes = (const uint32_t *) memory;
	r->chunk.nulls = e.nulls ? (const uint32_t *) (memory + e.codes) : NULL;
	r->chunk.zones = e.zones ? (const GpucolZone *) (memory + e.codes + e.nulls) : NULL;
	r->chunk.width = (uint8_t) e.width;
	r->chunk.coding = GPUCOL_CODING_FOR;
	if (!runs)
	{
		d.coding = GPUCOL_CODING_FOR;
		d.width = (uint8_t) e.width;
		d.step = 0;
	}
}
