/*-------------------------------------------------------------------------
 *
 * request.cu
 *	  One request: its program, its chunks, and what the client sends for it.
 *
 * Everything in a message is checked before it is used: a client is trusted
 * with its data (only the server's own user reaches the socket) but not to be
 * free of errors.
 *
 *-------------------------------------------------------------------------
 */
#include "request.cuh"

#include <cstring>

#include "kernel/float_order.h"
#include "load.cuh"

static Failure
malformed(const char *what)
{
	return Failure{GPUCOL_UNSUPPORTED, std::string("malformed request: ") + what};
}

/* Does an array of n elements of `size` bytes at `offset` lie in the program? */
static bool
inside(const GpucolProgram *p, uint32_t offset, uint64_t n, size_t size, size_t align)
{
	return offset % align == 0 && offset <= p->size && n * size <= p->size - offset;
}

Request::Request(const char *payload, size_t length)
{
	const char *p = payload;
	size_t		program_words;
	size_t		nchunks;

	if (length < sizeof(run_))
		throw malformed("too short");
	memcpy(&run_, p, sizeof(run_));
	p += sizeof(run_);
	length -= sizeof(run_);
	program_words = ((size_t) run_.program_size + 7) / 8;
	nchunks = (size_t) run_.nsegments * run_.ncolumns;
	if (run_.nsegments > GPUCOL_WIRE_MAX_SEGMENTS || run_.ncolumns > 1600 ||
		length != program_words * 8 + run_.nsegments * sizeof(GpucolWireSegment) + nchunks * 8)
		throw malformed("lengths do not add up");
	program_.resize(program_words);
	memcpy(program_.data(), p, program_words * 8);
	p += program_words * 8;
	segments_.resize(run_.nsegments);
	memcpy(segments_.data(), p, run_.nsegments * sizeof(GpucolWireSegment));
	p += run_.nsegments * sizeof(GpucolWireSegment);
	identities_.resize(nchunks);
	memcpy(identities_.data(), p, nchunks * 8);
	for (const GpucolWireSegment &s : segments_)
		if (s.nrows == 0 || s.nrows > GPUCOL_MAX_SEGMENT_ROWS || s.ndeleted > s.nrows)
			throw malformed("rows of a segment");
	check_program();
	scratch_.reset(new Scratch(run_.memory_limit));

	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);

	resident_.assign(nchunks, NULL);
	for (uint32_t s = 0; s < run_.nsegments; s++)
		for (uint32_t c = 0; c < run_.ncolumns; c++)
		{
			size_t		i = (size_t) s * run_.ncolumns + c;
			bool		keep = run_.storage[0] != 0 || run_.storage[1] != 0;
			ChunkKey	key = {{run_.storage[0], run_.storage[1]}, segments_[s].id,
			columns[c].attnum, identities_[i]};

			if (keep)
				resident_[i] = column_cache.find(key);
			if (resident_[i] == NULL)
				missing_.push_back({s, c});
		}
}

Request::~Request()
{
	for (Resident *r : resident_)
		if (r != NULL)
			column_cache.unpin(r);
	for (auto &i : incoming_)
		if (i.second.resident != NULL)
		{
			device_pool.release(i.second.resident->memory);
			delete i.second.resident;
		}
}

/* Check every number of the program that later code relies on. */
void
Request::check_program()
{
	const GpucolProgram *p = program();

	if (run_.program_size < sizeof(GpucolProgram) || p->magic != GPUCOL_PROGRAM_MAGIC ||
		p->version != GPUCOL_PROGRAM_VERSION || p->size != run_.program_size ||
		p->ncolumns != run_.ncolumns)
		throw malformed("not a program");
	if (p->kind != GPUCOL_PROGRAM_SCAN && p->kind != GPUCOL_PROGRAM_AGG)
		throw Failure{GPUCOL_UNSUPPORTED, "the kind of program is not known to the device"};
	if (!inside(p, p->columns, p->ncolumns, sizeof(GpucolProgramColumn), 4) ||
		!inside(p, p->consts, p->nconsts, sizeof(GpucolConst), 8) ||
		!inside(p, p->ranges, p->nranges, sizeof(GpucolRange), 4) ||
		!inside(p, p->instrs, p->ninstrs, sizeof(GpucolInstr), 4) ||
		!inside(p, p->reg_classes, p->nregs, 1, 1) ||
		!inside(p, p->keys, p->nkeys, 2, 2) ||
		!inside(p, p->aggs, p->naggs, sizeof(GpucolAgg), 2) ||
		p->nfilter_instrs > p->ninstrs ||
		(p->filter != GPUCOL_NO_REG && p->filter >= p->nregs))
		throw malformed("program arrays");
	if (p->nregs > GPUCOL_MAX_REGS)
		throw Failure{GPUCOL_UNSUPPORTED, "the expressions need more registers than the device has"};

	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	const GpucolRange *range = GPUCOL_PROGRAM_ARRAY(p, const GpucolRange, ranges);
	const GpucolAgg *agg = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);
	const uint16_t *key = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);

	for (int i = 0; i < p->ninstrs; i++)
	{
		int			op = in[i].op;
		static const uint8_t operands[] = {
#define GPUCOL_OPCODE(name, r, a, b, c) \
			(GPUCOL_CLASS_##a != GPUCOL_CLASS_NONE) | (GPUCOL_CLASS_##b != GPUCOL_CLASS_NONE) << 1 | \
			(GPUCOL_CLASS_##c != GPUCOL_CLASS_NONE) << 2,
#include "kernel/opcodes.h"
#undef GPUCOL_OPCODE
		};

		if (op >= GPUCOL_OP_COUNT || in[i].dst >= p->nregs ||
			(in[i].mask != GPUCOL_NO_REG && in[i].mask >= p->nregs) ||
			((operands[op] & 1) && in[i].a >= p->nregs) ||
			((operands[op] & 2) && in[i].b >= p->nregs) ||
			((operands[op] & 4) && in[i].c >= p->nregs))
			throw malformed("register of an instruction");
		if ((op <= GPUCOL_OP_LOAD_S && (in[i].aux < 0 || in[i].aux >= p->ncolumns)) ||
			(op >= GPUCOL_OP_CONST_I && op <= GPUCOL_OP_CONST_B &&
			 (in[i].aux < 0 || in[i].aux >= p->nconsts)) ||
			(op == GPUCOL_OP_IN_I && in[i].b + in[i].c > p->nconsts) ||
			(op == GPUCOL_OP_HOST_TEST && (in[i].aux < 0 || in[i].aux >= GPUCOL_WIRE_MAX_HOST)))
			throw malformed("operand of an instruction");
	}
	for (int i = 0; i < p->nranges; i++)
		if (range[i].column >= p->ncolumns ||
			((range[i].op == GPUCOL_RANGE_BETWEEN || range[i].op == GPUCOL_RANGE_NOT_BETWEEN) &&
			 ((range[i].lo != GPUCOL_NO_REG && range[i].lo >= p->nconsts) ||
			  (range[i].hi != GPUCOL_NO_REG && range[i].hi >= p->nconsts))) ||
			((range[i].op == GPUCOL_RANGE_IN || range[i].op == GPUCOL_RANGE_NOT_IN) && range[i].n > 0 &&
			 (range[i].lo == GPUCOL_NO_REG || (uint64_t) range[i].lo + range[i].n > p->nconsts)) ||
			(range[i].op == GPUCOL_RANGE_HOST && range[i].n >= GPUCOL_WIRE_MAX_HOST))
			throw malformed("range");
	for (int i = 0; i < p->nkeys; i++)
		if (key[i] >= p->nregs)
			throw malformed("key");
	for (int i = 0; i < p->naggs; i++)
		if ((agg[i].arg != GPUCOL_NO_REG && agg[i].arg >= p->nregs) ||
			(agg[i].arg == GPUCOL_NO_REG && agg[i].op != GPUCOL_AGG_COUNT_STAR) ||
			(agg[i].filter != GPUCOL_NO_REG && agg[i].filter >= p->nregs))
			throw malformed("aggregate");
}

Incoming *
Request::object(uint32_t kind, uint32_t a, uint32_t b)
{
	auto		at = incoming_.find({kind, (uint64_t) a << 32 | b});

	return at == incoming_.end() || at->second.received < at->second.total ? NULL : &at->second;
}

/* Word rows that a stream of a checked descriptor must have. */
static uint64_t
stream_rows(const GpucolChunkDesc &d, int stream, uint32_t nrows)
{
	uint64_t	vectors = GPUCOL_VECTORS((uint64_t) nrows);
	uint64_t	coded = d.coding == GPUCOL_CODING_RLE ? GPUCOL_VECTORS((uint64_t) d.nruns) : vectors;

	switch (stream)
	{
		case GPUCOL_STREAM_CODES:
			return coded * d.width;
		case GPUCOL_STREAM_NULLS:
			return vectors;
		case GPUCOL_STREAM_ZONES:
			return (vectors * sizeof(GpucolZone) + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES;
		case GPUCOL_STREAM_DICT:
			return ((uint64_t) d.ndict * 8 + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES;
		case GPUCOL_STREAM_RUN_ENDS:
			return ((uint64_t) d.nruns * 4 + GPUCOL_ROW_BYTES - 1) / GPUCOL_ROW_BYTES;
		default:
			return ~0ull;
	}
}

void
Request::put_chunk(Incoming &in, const GpucolWirePut &put, const char *data, cudaStream_t stream)
{
	uint64_t	offset = put.offset,
				length = put.length;

	if (offset < sizeof(GpucolWireChunk))
	{
		uint64_t	n = sizeof(GpucolWireChunk) - offset < length ? sizeof(GpucolWireChunk) - offset : length;

		memcpy((char *) &in.head + offset, data, n);
		data += n;
		offset += n;
		length -= n;
		if (offset < sizeof(GpucolWireChunk))
			return;

		/* the head is complete: check it against the rest's size */
		const GpucolChunkDesc &d = in.head.desc;
		uint64_t	rows = 0;

		if (d.width > 64 || d.coding < GPUCOL_CODING_CONSTANT || d.coding > GPUCOL_CODING_STEP ||
			d.kind < GPUCOL_KIND_INT || d.kind > GPUCOL_KIND_BYTES)
			throw malformed("chunk descriptor");
		for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
			if (in.head.present >> k & 1)
			{
				if (d.streams[k].nrows != stream_rows(d, k, segments_[put.a].nrows))
					throw malformed("size of a chunk's stream");
				rows += d.streams[k].nrows;
			}
		if (in.total != sizeof(GpucolWireChunk) + rows * GPUCOL_ROW_BYTES)
			throw malformed("size of a chunk");
		in.resident = new Resident();
		in.resident->bytes = rows * GPUCOL_ROW_BYTES;
		in.resident->memory = column_cache.allocate(rows * GPUCOL_ROW_BYTES);
		if (in.resident->memory == NULL)
			throw Failure{GPUCOL_OUT_OF_MEMORY, "device memory does not hold the columns of the query"};
	}
	if (length > 0)
	{
		uint64_t	at = offset - sizeof(GpucolWireChunk);
		uint64_t	start = 0;

		device_check(cudaMemcpyAsync((char *) in.resident->memory + at, data, length,
									 cudaMemcpyHostToDevice, stream), "could not copy to the device");

		/* keep dictionaries and zones on the host as well */
		for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
			if (in.head.present >> k & 1)
			{
				uint64_t	end = start + (uint64_t) in.head.desc.streams[k].nrows * GPUCOL_ROW_BYTES;
				uint64_t	from = start > at ? start : at;
				uint64_t	to = end < at + length ? end : at + length;

				if ((k == GPUCOL_STREAM_DICT || k == GPUCOL_STREAM_ZONES) && from < to)
					in.host.insert(in.host.end(), data + (from - at), data + (to - at));
				start = end;
			}
	}
}

/* Bits of the distances that a chunk's codes of steps stand for. */
static int
step_width(const GpucolChunkDesc &d)
{
	uint64_t	last = d.width == 0 ? 0 : ~0ull >> (64 - d.width);
	int			bits = 0;

	if (d.step < 2 || last > ~0ull / d.step)
		throw malformed("a chunk's step");
	for (last *= d.step; last != 0; last >>= 1)
		bits++;
	return bits;
}

/* Replace a chunk's runs or steps by a plain frame of reference. */
static void
expand_codes(Resident *r, const uint32_t *ends, uint32_t nrows, cudaStream_t stream)
{
	GpucolChunkDesc &d = r->desc;
	uint32_t	nvectors = GPUCOL_VECTORS(nrows);
	bool		runs = d.coding == GPUCOL_CODING_RLE;
	int			width = runs ? d.width : step_width(d);
	size_t		codes = (size_t) nvectors * width * GPUCOL_ROW_BYTES;
	size_t		nulls = r->chunk.nulls ? (size_t) nvectors * GPUCOL_ROW_BYTES : 0;
	size_t		zones = r->chunk.zones ? (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES : 0;
	char	   *memory;

	if (runs && ends == NULL)
		throw malformed("a chunk without its runs");
	memory = (char *) column_cache.allocate(codes + nulls + zones);
	if (memory == NULL)
		throw Failure{GPUCOL_OUT_OF_MEMORY, "device memory does not hold the columns of the query"};
	if (width > 0)
		device_check(runs ? gpucol_load_expand_runs(r->chunk.codes, width, ends, d.nruns, nrows,
													(uint32_t *) memory, stream) :
					 gpucol_load_expand_steps(r->chunk.codes, d.width, d.step, width, nrows,
											  (uint32_t *) memory, stream), "could not expand codes");
	if (nulls)
		device_check(cudaMemcpyAsync(memory + codes, r->chunk.nulls, nulls, cudaMemcpyDeviceToDevice, stream), "copy");
	if (zones)
		device_check(cudaMemcpyAsync(memory + codes + nulls, r->chunk.zones, zones, cudaMemcpyDeviceToDevice, stream), "copy");
	device_check(cudaStreamSynchronize(stream), "could not expand codes");
	device_pool.release(r->memory);
	r->memory = memory;
	r->bytes = codes + nulls + zones;
	r->chunk.codes = (const uint32_t *) memory;
	r->chunk.nulls = nulls ? (const uint32_t *) (memory + codes) : NULL;
	r->chunk.zones = zones ? (const GpucolZone *) (memory + codes + nulls) : NULL;
	r->chunk.width = (uint8_t) width;
	r->chunk.coding = GPUCOL_CODING_FOR;
	if (!runs)
	{
		d.coding = GPUCOL_CODING_FOR;
		d.width = (uint8_t) width;
		d.step = 0;
	}
}

/* All of a chunk is here: make it resident. */
void
Request::finish_chunk(Incoming &in, uint32_t segment, uint32_t slot, cudaStream_t stream)
{
	Resident   *r = in.resident;
	const GpucolChunkDesc &d = in.head.desc;
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(program(), const GpucolProgramColumn, columns);
	size_t		i = (size_t) segment * run_.ncolumns + slot;
	uint32_t	nrows = segments_[segment].nrows;
	uint32_t	nvectors = GPUCOL_VECTORS(nrows);
	char	   *at[GPUCOL_STREAM_COUNT] = {NULL};
	char	   *p = (char *) r->memory;
	const char *host = in.host.data();

	if (resident_[i] != NULL)
		throw malformed("a chunk that is resident already");
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (in.head.present >> k & 1)
		{
			at[k] = p;
			p += (size_t) d.streams[k].nrows * GPUCOL_ROW_BYTES;
		}
	r->key = {{run_.storage[0], run_.storage[1]}, segments_[segment].id, columns[slot].attnum, identities_[i]};
	r->desc = d;
	r->chunk = GpucolDeviceChunk();
	r->chunk.codes = (const uint32_t *) at[GPUCOL_STREAM_CODES];
	r->chunk.nulls = (const uint32_t *) at[GPUCOL_STREAM_NULLS];
	r->chunk.zones = (const GpucolZone *) at[GPUCOL_STREAM_ZONES];
	r->chunk.width = d.width;
	r->chunk.coding = d.coding;
	r->chunk.kind = d.kind;
	r->chunk.scale = d.scale;
	r->chunk.reference = d.coding == GPUCOL_CODING_RAW ? 0 : d.reference;
	r->chunk.all_null = (d.flags & GPUCOL_CHUNK_ALL_NULL) != 0;
	r->chunk.last_entry = d.ndict > 0 ? d.ndict - 1 : 0;
	r->zones_useful = false;
	if ((d.flags & GPUCOL_CHUNK_HAS_NULLS) && !r->chunk.all_null && r->chunk.nulls == NULL)
		throw malformed("a chunk without its NULLs");
	if (d.width > 0 && !r->chunk.all_null && r->chunk.codes == NULL)
		throw malformed("a chunk without its codes");

	/* in.host holds ZONES, then DICT: the order of the streams */
	if (at[GPUCOL_STREAM_ZONES] != NULL)
	{
		const GpucolZone *z = (const GpucolZone *) host;
		double		chunk_span = (double) d.zone.max - (double) d.zone.min,
					span = 0;

		for (uint32_t v = 0; v < nvectors; v++)
			if (z[v].min <= z[v].max)
				span += (double) z[v].max - (double) z[v].min;
		r->zones_useful = chunk_span > 0 && span / nvectors < chunk_span / 2;
		host += (size_t) d.streams[GPUCOL_STREAM_ZONES].nrows * GPUCOL_ROW_BYTES;
	}
	if (at[GPUCOL_STREAM_DICT] != NULL)
	{
		if (d.kind == GPUCOL_KIND_BYTES)
			throw malformed("byte offsets are of no use to the device");
		r->dict.assign((const int64_t *) host, (const int64_t *) host + d.ndict);
		r->chunk.dict = (const int64_t *) at[GPUCOL_STREAM_DICT];
	}
	if (d.coding == GPUCOL_CODING_DICT && d.kind != GPUCOL_KIND_BYTES && !r->chunk.all_null &&
		(r->chunk.dict == NULL || d.ndict == 0))
		throw malformed("a chunk without its dictionary");
	if (!r->chunk.all_null && (d.coding == GPUCOL_CODING_RLE || d.coding == GPUCOL_CODING_STEP))
		expand_codes(r, (const uint32_t *) at[GPUCOL_STREAM_RUN_ENDS], nrows, stream);
	in.resident = NULL;
	in.host.clear();
	if (run_.storage[0] != 0 || run_.storage[1] != 0)
		resident_[i] = column_cache.add(r);
	else
	{
		r->kept = false;
		r->pins = 1;
		resident_[i] = r;
	}
}

void
Request::put(const GpucolWirePut &put, const char *data, cudaStream_t stream)
{
	uint64_t	expected;
	bool		by_segment = put.kind <= GPUCOL_PUT_REMAP;
	bool		by_slot = put.kind == GPUCOL_PUT_CHUNK || put.kind == GPUCOL_PUT_REMAP || put.kind >= GPUCOL_PUT_DELTA_CODES;

	if (put.kind < GPUCOL_PUT_CHUNK || put.kind > GPUCOL_PUT_DELTA_NULLS ||
		(by_segment && put.a >= run_.nsegments) || (by_slot && put.b >= run_.ncolumns) ||
		(put.kind == GPUCOL_PUT_HOST && put.a >= GPUCOL_WIRE_MAX_HOST))
		throw malformed("object of a PUT");

	Incoming   &in = incoming_[{put.kind, (uint64_t) put.a << 32 | (by_slot ? put.b : 0)}];

	if (put.offset == 0)
	{
		if (in.total != 0)
			throw malformed("an object sent twice");
		in.total = put.total;
		expected = put.kind == GPUCOL_PUT_DELETED ? (uint64_t) GPUCOL_VECTORS(segments_[put.a].nrows) * GPUCOL_ROW_BYTES : put.total;
		if (put.total == 0 || put.total != expected || put.total > ((uint64_t) 1 << 40))
			throw malformed("size of a PUT");
		if (put.kind != GPUCOL_PUT_CHUNK)
			in.device = scratch_->array<char>(put.total, "what the query sends along");
	}
	if (put.offset != in.received || put.length > in.total - in.received || put.total != in.total)
		throw malformed("part of a PUT");
	if (put.kind == GPUCOL_PUT_CHUNK)
		put_chunk(in, put, data, stream);
	else
	{
		device_check(cudaMemcpyAsync(in.device + put.offset, data, put.length,
									 cudaMemcpyHostToDevice, stream), "could not copy to the device");
		if (put.kind != GPUCOL_PUT_DELETED && put.kind != GPUCOL_PUT_DELTA_NULLS)
			in.host.insert(in.host.end(), data, data + put.length);
	}
	in.received += put.length;
	device_check(cudaStreamSynchronize(stream), "could not copy to the device");
	if (put.kind == GPUCOL_PUT_CHUNK && in.received == in.total)
		finish_chunk(in, put.a, put.b, stream);
}
