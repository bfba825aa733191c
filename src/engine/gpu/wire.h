/*-------------------------------------------------------------------------
 *
 * wire.h
 *	  A process's connection to the device daemon.
 *
 * There is one shared connection a process; it stays open between queries.  A query
 * that ends in the middle of a request (an error that unwinds) has it closed, since
 * the daemon drops a request whose client leaves; where nobody did, the connection is
 * still busy, and the next use replaces it.
 *
 * Freestanding C.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_ENGINE_GPU_WIRE_H
#define GPUCOL_ENGINE_GPU_WIRE_H

#include "kernel/batch.h"
#include "service/protocol.h"

typedef struct GpucolWire GpucolWire;

/*
 * The process's connection, idle; NULL with *why set if there is none.  After
 * this the connection is busy until gpucol_wire_release.  The source's interrupts are
 * checked while waiting; NULL: none are.
 */
extern GpucolWire *gpucol_wire_acquire(GpucolSource *source, const char **why);

/*
 * A connection of its own, for a request that other requests of the process
 * come between; NULL with *why set if there is none.
 */
extern GpucolWire *gpucol_wire_open(const char **why);
extern void gpucol_wire_close(GpucolWire *wire);

/*
 * A connection over a socket to the daemon, for a thread that may call nothing of
 * the server: waits by itself, and every some milliseconds asks cancelled(context),
 * as gpucol_wire_watch_cancel says.  Its slab is half as large.  The thread greets the
 * daemon first.  NULL: out of memory; the socket is closed.
 */
extern GpucolWire *gpucol_wire_adopt(int fd, bool (*cancelled) (void *), void *context);
extern bool gpucol_wire_greet(GpucolWire *wire);

/*
 * Rows and bytes of a table's column that are resident on the devices, as far as
 * the daemon has told; zero if it has not.
 */
extern void gpucol_wire_resident(const uint64_t storage[2], int attnum,
								 uint64_t *rows, uint64_t *bytes);

/* Device memory that the daemon may hold; 0 if there was no connection yet. */
extern uint64_t gpucol_wire_device_memory(void);

/*
 * A request may follow: have the daemon wake up meanwhile, if there is a connection and
 * one followed the last time.  Returns at once.
 */
extern void gpucol_wire_announce(void);

/* Connect to the daemon if it runs, so that the two above know something. */
extern void gpucol_wire_meet(void);

/*
 * The number of the daemon's list (protocol.h) for the client's object `id`;
 * *listed: the daemon has it, else the next RUN must tell it.
 */
extern int	gpucol_wire_list(GpucolWire *wire, uint64_t id, bool *listed);

/* The daemon may not have taken the list of `id`: tell it again. */
extern void gpucol_wire_unlist(GpucolWire *wire, uint64_t id);

/*
 * A number for a table that the daemon is to build; -1: none is free.  With the connection's
 * serial it names the table.
 */
extern int	gpucol_wire_take_table(GpucolWire *wire, uint64_t *serial);

/* Is a table of that connection known at the other end of this one? */
extern bool gpucol_wire_has_table(const GpucolWire *wire, uint64_t serial);

/* Nobody wants the table any more.  At any time, of any connection. */
extern void gpucol_wire_forget_table(uint64_t serial, int number);

/* The request is over and its messages are read. */
extern void gpucol_wire_release(GpucolWire *wire);

/* Close the connection: what comes next on it cannot be trusted. */
extern void gpucol_wire_drop(void);

/*
 * What the daemon said when it ended this thread's request early; GPUCOL_DEVICE_LOST and a
 * general reason if it said nothing.
 */
extern GpucolStatus gpucol_wire_failure(const char **why);

/*
 * While waiting, ask cancelled(context) instead, and give the connection up as
 * lost when it says true.
 */
extern void gpucol_wire_watch_cancel(GpucolWire *wire,
									 bool (*cancelled) (void *), void *context);

/* Send a message of two parts.  False: the connection is lost and dropped. */
extern bool gpucol_wire_send(GpucolWire *wire, GpucolWireType type,
							 const void *head, size_t head_size,
							 const void *body, size_t body_size);

/*
 * Receive the next message, which must be of `type`.  *payload is malloc'd and
 * the caller's.  False: the connection is lost and dropped.
 */
extern bool gpucol_wire_receive(GpucolWire *wire, GpucolWireType type,
								void **payload, size_t *size);

/* The same into memory for `room` bytes; a longer message is an error. */
extern bool gpucol_wire_receive_into(GpucolWire *wire, GpucolWireType type,
									 void *to, size_t room, size_t *size);

/* The same where a message of `other` may come instead; *is_other says so. */
extern bool gpucol_wire_receive_either(GpucolWire *wire, GpucolWireType type,
									   GpucolWireType other, bool *is_other,
									   void **payload, size_t *size);

/*
 * Send an object, or part of it: `length` bytes at `offset` of `total`.
 * Copies; the memory may be reused at once.
 */
extern bool gpucol_wire_put(GpucolWire *wire, GpucolPutKind kind, uint32_t a,
							uint32_t b, uint64_t total, uint64_t offset,
							const void *data, uint64_t length);

/*
 * Send n word rows of a segment from `row` on, which a window shows, at *offset of an
 * object of `total` bytes; moves *offset.
 */
extern bool gpucol_wire_put_rows(GpucolWire *wire, GpucolPutKind kind, uint32_t a,
								 uint32_t b, uint64_t total, uint64_t *offset,
								 const GpucolRows *window, uint32_t row, uint32_t n);

/*
 * Copy a result of n bytes that lies in the slab; false, and the connection dropped,
 * if none can.
 */
extern bool gpucol_wire_take(GpucolWire *wire, void *to, uint64_t n);

/*
 * Where a result of n bytes lies in the slab; NULL, and the connection dropped, if none
 * can.  It lies there after the release too, until it is given back, or until the slab
 * is needed for the next request or lost with the connection: before that
 * move(context) is called, which may copy it.
 */
extern const char *gpucol_wire_lend(GpucolWire *wire, uint64_t n,
									void (*move) (void *), void *context);
extern void gpucol_wire_give_back(GpucolWire *wire);

/*
 * A result of n bytes came without the slab: make one for the next if this is not
 * the first.  False: the connection is lost and dropped.
 */
extern bool gpucol_wire_expect_results(GpucolWire *wire, uint64_t n);

/* Send everything that was put, and wait until the daemon has taken it. */
extern bool gpucol_wire_push(GpucolWire *wire);
extern bool gpucol_wire_flush(GpucolWire *wire);

#endif							/* GPUCOL_ENGINE_GPU_WIRE_H */
