/*-------------------------------------------------------------------------
 *
 * wire_slab.c
 *	  Objects that are sent to the device daemon, and results that are read, in shared
 *	  memory.
 *
 * Objects travel through a slab of the daemon's, pinned shared memory: a few parts in
 * turn, so that this process fills one while the
 * daemon copies another to the device.  It is asked for when the first object
 * that needs it comes, since most queries find everything resident.  Objects
 * are collected in the current part and sent when it is full or flushed.  A result
 * that came in the slab may be read there until the next request, which has
 * its reader move it elsewhere first.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "engine/gpu/connection.h"

#define GPUCOL_THREAD_PARTS	2	/* of a thread's slab */
#define GPUCOL_SLAB_PART	((size_t) 4 << 20)
#define GPUCOL_THREAD_PART	((size_t) 2 << 20)	/* of a thread's slab */
#define GPUCOL_LARGE_RESULT ((uint64_t) 256 << 10)
#define GPUCOL_INLINE_PIECE	((uint64_t) 1 << 20)

void
gpucol_wire_clear_slab(GpucolWire *wire)
{
	void		(*move) (void *) = wire->move;

	wire->move = NULL;
	if (move != NULL)
		move(wire->reader);
}

/* Bytes of a part of a connection's slab, and of all of it. */
static size_t
part_size(const GpucolWire *wire)
{
	return wire->by_thread ? GPUCOL_THREAD_PART : GPUCOL_SLAB_PART;
}

static size_t
slab_size(const GpucolWire *wire)
{
	return (size_t) wire->nparts * part_size(wire);
}

void
gpucol_wire_unmap_slab(GpucolWire *wire)
{
	if (wire->slab != NULL)
		munmap(wire->slab, slab_size(wire));
	wire->slab = NULL;
}

/* Wait for the daemon to have taken the oldest PUT in flight. */
static bool
take_done(GpucolWire *wire)
{
	void	   *payload;
	size_t		size;

	if (!gpucol_wire_receive(wire, GPUCOL_WIRE_DONE, &payload, &size))
		return false;
	free(payload);
	wire->pending[wire->order[0]]--;
	wire->in_flight--;
	memmove(wire->order, wire->order + 1, sizeof(int) * (size_t) wire->in_flight);
	return true;
}

/*
 * Ask the daemon for the slab; where it has none, wire->no_slab is set.  False: the
 * connection is lost.
 */
static bool
make_slab(GpucolWire *wire)
{
	int			nparts = wire->by_thread ? GPUCOL_THREAD_PARTS : GPUCOL_SLAB_PARTS;
	size_t		size = (size_t) nparts * part_size(wire);
	GpucolWireSlab slab = {size};
	GpucolWireHeader header;
	void	   *p;

	if (!gpucol_wire_send(wire, GPUCOL_WIRE_SLAB, &slab, sizeof(slab), NULL, 0) ||
		!gpucol_wire_receive_header(wire, GPUCOL_WIRE_DONE, GPUCOL_WIRE_REFUSED, 0, &header))
		return false;
	wire->no_slab = header.type == GPUCOL_WIRE_REFUSED;
	if (wire->no_slab)
		return true;
	p = gpucol_wire_map(wire, size, PROT_READ | PROT_WRITE, MAP_POPULATE);
	if (p == MAP_FAILED)
	{
		gpucol_wire_disconnect(wire);
		return false;
	}
	wire->slab = p;
	wire->nparts = nparts;
	return true;
}

/* Send part of an object in messages of its own. */
static bool
put_inline(GpucolWire *wire, GpucolPutKind kind, uint32_t a, uint32_t b,
		   uint64_t total, uint64_t offset, const char *data, uint64_t length)
{
	while (length > 0)
	{
		uint64_t	n = length < GPUCOL_INLINE_PIECE ? length : GPUCOL_INLINE_PIECE;
		GpucolWirePut put = {kind, a, b, 0, total, offset, n, 0};

		if (!gpucol_wire_send(wire, GPUCOL_WIRE_PUT, &put, sizeof(put), data, n))
			return false;
		data += n;
		offset += n;
		length -= n;
	}
	return true;
}

/* Bytes free in the current part, after waiting for it if need be. */
static bool
room(GpucolWire *wire, size_t *n)
{
	if (wire->used == part_size(wire))
	{
		wire->part = (wire->part + 1) % wire->nparts;
		wire->used = 0;
	}
	while (wire->used == 0 && wire->pending[wire->part] > 0)
		if (!take_done(wire))
			return false;
	*n = part_size(wire) - wire->used;
	return true;
}

/*
 * Begin an object: the rest of a part that does not hold it is left where another part
 * holds all of it, since a device takes one copy sooner than two.
 */
static void
begin_object(GpucolWire *wire, uint64_t total)
{
	if (total > part_size(wire) - wire->used && total <= part_size(wire))
		wire->used = part_size(wire);
}

/* Send what has been collected in the slab. */
static bool
send_open(GpucolWire *wire)
{
	GpucolWirePut put = wire->open;

	if (put.length == 0)
		return true;
	wire->open.length = 0;
	if (wire->in_flight == GPUCOL_WIRE_IN_FLIGHT && !take_done(wire))
		return false;
	if (!gpucol_wire_send(wire, GPUCOL_WIRE_PUT, &put, sizeof(put), NULL, 0))
		return false;
	wire->order[wire->in_flight++] = (int) (put.slab_offset / part_size(wire));
	wire->pending[put.slab_offset / part_size(wire)]++;
	return true;
}

bool
gpucol_wire_put(GpucolWire *wire, GpucolPutKind kind, uint32_t a, uint32_t b,
				uint64_t total, uint64_t offset, const void *data,
				uint64_t length)
{
	GpucolWirePut *open = &wire->open;

	if (open->length > 0 &&
		(open->kind != kind || open->a != a || open->b != b || open->offset + open->length != offset) &&
		!send_open(wire))
		return false;
	if (total > GPUCOL_WIRE_INLINE && wire->slab == NULL && !wire->no_slab && !make_slab(wire))
		return false;
	if (total <= GPUCOL_WIRE_INLINE || wire->no_slab)
		return send_open(wire) && put_inline(wire, kind, a, b, total, offset, data, length);
	if (offset == 0)
		begin_object(wire, total);
	while (length > 0)
	{
		size_t		n;

		if (!room(wire, &n))
			return false;
		if (n > length)
			n = length;
		if (open->length == 0)
			*open = (GpucolWirePut)
			{
				kind, a, b, 1, total, offset, 0, (uint64_t) wire->part * part_size(wire) + wire->used
			};
		memcpy(wire->slab + (size_t) wire->part * part_size(wire) + wire->used, data, n);
		wire->used += n;
		open->length += n;
		data = (const char *) data + n;
		offset += n;
		length -= n;
		if (wire->used == part_size(wire) && !send_open(wire))
			return false;
	}
	return true;
}

bool
gpucol_wire_put_rows(GpucolWire *wire, GpucolPutKind kind, uint32_t a, uint32_t b,
					 uint64_t total, uint64_t *offset, const GpucolRows *window,
					 uint32_t row, uint32_t n)
{
	while (n > 0)
	{
		uint32_t	left = GPUCOL_PAGE_ROWS - row % GPUCOL_PAGE_ROWS;
		uint32_t	take = n < left ? n : left;

		if (!gpucol_wire_put(wire, kind, a, b, total, *offset, gpucol_rows_at(window, row, take, NULL),
							 (uint64_t) take * GPUCOL_ROW_BYTES))
			return false;
		*offset += (uint64_t) take * GPUCOL_ROW_BYTES;
		row += take;
		n -= take;
	}
	return true;
}

bool
gpucol_wire_push(GpucolWire *wire)
{
	return send_open(wire);
}

bool
gpucol_wire_flush(GpucolWire *wire)
{
	if (!gpucol_wire_push(wire))
		return false;
	while (wire->in_flight > 0)
		if (!take_done(wire))
			return false;
	wire->used = 0;
	return true;
}

/* ---- results ---- */

/* Can a result of n bytes lie in the slab?  If not, the daemon is not to be trusted. */
static bool
slab_holds(GpucolWire *wire, uint64_t n)
{
	if (wire->slab != NULL && n <= slab_size(wire))
		return true;
	gpucol_wire_disconnect(wire);
	return false;
}

bool
gpucol_wire_take(GpucolWire *wire, void *to, uint64_t n)
{
	if (!slab_holds(wire, n))
		return false;
	memcpy(to, wire->slab, n);
	return true;
}

const char *
gpucol_wire_lend(GpucolWire *wire, uint64_t n, void (*move) (void *), void *context)
{
	if (!slab_holds(wire, n))
		return NULL;
	wire->move = move;
	wire->reader = context;
	return wire->slab;
}

void
gpucol_wire_give_back(GpucolWire *wire)
{
	wire->move = NULL;
}

bool
gpucol_wire_expect_results(GpucolWire *wire, uint64_t n)
{
	if (n < GPUCOL_LARGE_RESULT || n > GPUCOL_SLAB_PARTS * GPUCOL_SLAB_PART ||
		wire->slab != NULL || wire->no_slab || ++wire->large_results < 2)
		return true;
	return make_slab(wire);
}
