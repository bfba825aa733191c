/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  A connection to the device daemon, as the files behind engine/gpu/wire.h share it.
 *
 *	engine/gpu/wire.c				connections: made, greeted, taken and given back
 *	engine/gpu/wire_message.c		messages, and waiting for them
 *	engine/gpu/wire_slab.c			objects sent and results read in shared memory
 *	engine/gpu/wire_resident.c		what the daemon tells all of what is resident
 *
 * A connection that fails is closed at once, and its memory unmapped: fd is -1 from then
 * on, and every call on it fails.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_CONNECTION_H
#define GPUCOL_ENGINE_GPU_CONNECTION_H

#include <time.h>

#include "engine/gpu/wire.h"

#define GPUCOL_SLAB_PARTS	4	/* at most */
#define GPUCOL_WIRE_IN_FLIGHT	64	/* PUTs that the daemon may not have taken yet */

struct GpucolWire
{
	int			fd;
	int			descriptor;		/* that came with a message and is nobody's yet; -1: none */
	bool		busy;
	GpucolSource *source;		/* whose interrupts are checked */
	bool		(*cancelled) (void *);	/* or what is asked instead */
	void	   *context;
	time_t		deadline;		/* when to give up; 0 = never */
	bool		by_thread;		/* used by a thread, not by the process's own; for good */
	bool		followed;		/* a request has come since the last SOON */
	char	   *slab;			/* nparts parts, or NULL */
	int			nparts;
	bool		no_slab;		/* there is no memory for one: all goes inline */
	int			part;			/* being filled */
	size_t		used;			/* bytes of it */
	int			pending[GPUCOL_SLAB_PARTS]; /* PUTs of a part not yet taken */
	int			order[GPUCOL_WIRE_IN_FLIGHT];	/* parts of the PUTs in flight, in order */
	int			in_flight;
	GpucolWirePut open;			/* being collected in the slab; length 0 = none */
	uint64_t	lists[GPUCOL_WIRE_LISTS];	/* whose the daemon has; 0 = nobody's */
	int			next_list;
	uint64_t	serial;			/* unlike any other of the process */
	uint64_t	tables;			/* bit by number: those of the daemon that somebody has */
	int			large_results;	/* that came without a slab */
	void		(*move) (void *);	/* who reads the slab; NULL: nobody */
	void	   *reader;
};

/* ---- engine/gpu/wire.c ---- */

/* Close a connection; after close() the slab is not this process's any more. */
extern void gpucol_wire_disconnect(GpucolWire *wire);

/* ---- engine/gpu/wire_message.c ---- */

/* Seconds since some time. */
extern time_t gpucol_wire_now(void);

/* What was told of an earlier request's failure is no longer of interest. */
extern void gpucol_wire_forget_failure(void);

/*
 * Read all of n bytes.  A descriptor that comes along is wire->descriptor from then on.
 * False: the connection is lost and dropped.
 */
extern bool gpucol_wire_receive_bytes(GpucolWire *wire, void *to, size_t n);

/*
 * Receive the header of a message of one of two types, of at most `most` bytes; its
 * payload is still to be received.  False as above.
 */
extern bool gpucol_wire_receive_header(GpucolWire *wire, GpucolWireType type,
									   GpucolWireType other, size_t most,
									   GpucolWireHeader *header);

/*
 * Map `size` bytes of the shared memory whose descriptor has come, and close that; MAP_FAILED
 * where none has, and where there is less, of which the rest would be no memory to touch.
 */
extern void *gpucol_wire_map(GpucolWire *wire, size_t size, int protection, int flags);

/* ---- engine/gpu/wire_slab.c ---- */

/* Have a result that is read in the slab moved elsewhere. */
extern void gpucol_wire_clear_slab(GpucolWire *wire);

/* Let go of the slab's memory, if there is one. */
extern void gpucol_wire_unmap_slab(GpucolWire *wire);

/* ---- engine/gpu/wire_resident.c ---- */

/* Take the residency table whose descriptor has come with WELCOME, if it has. */
extern void gpucol_wire_map_residency(GpucolWire *wire);

/* The process's connection is closed: what was told holds no longer. */
extern void gpucol_wire_unmap_residency(void);

/*
 * Do few enough sessions wait, for the processors that there are, that one may be kept
 * busy?
 */
extern bool gpucol_wire_may_spin(void);

#endif							/* GPUCOL_ENGINE_GPU_CONNECTION_H */
