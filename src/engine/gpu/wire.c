/*-------------------------------------------------------------------------
 *
 * wire.c
 *	  Connections to the device daemon: the process's own, which stays open between
 *	  queries, and others for a request or a thread.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "engine/gpu/connection.h"
#include "service/service.h"

#define GREETING_SECONDS	5	/* how long a daemon may take to greet */
#define SHUN_SECONDS		60	/* how long one that took longer is left alone */

static GpucolWire connection = {.fd = -1, .descriptor = -1};
static time_t shunned_until;	/* 0 = never was */
static uint64_t last_serial;

/* Nothing is known of a connection but who uses it. */
static void
forget(GpucolWire *wire)
{
	bool		by_thread = wire->by_thread;

	memset(wire, 0, sizeof(*wire));
	wire->fd = wire->descriptor = -1;
	wire->by_thread = by_thread;
}

void
gpucol_wire_disconnect(GpucolWire *wire)
{
	gpucol_wire_clear_slab(wire);
	if (wire->fd >= 0)
		close(wire->fd);
	if (wire->descriptor >= 0)
		close(wire->descriptor);
	gpucol_wire_unmap_slab(wire);
	if (wire == &connection)
		gpucol_wire_unmap_residency();
	forget(wire);
}

void
gpucol_wire_drop(void)
{
	gpucol_wire_disconnect(&connection);
}

/* Has a daemon lately taken too long to be there, or to greet? */
static bool
is_shunned(const char **why)
{
	*why = "device daemon does not answer";
	return shunned_until != 0 && gpucol_wire_now() < shunned_until;
}

/* Queries do not wait for a daemon that has taken so long. */
static void
shun(void)
{
	shunned_until = gpucol_wire_now() + SHUN_SECONDS;
}

/* A socket to the daemon, which may have to be started; -1: there is none. */
static int
reach(const char **why)
{
	time_t		start = gpucol_wire_now();
	int			fd = gpucol_service.connect(why);

	if (fd < 0 && gpucol_wire_now() - start >= GREETING_SECONDS)
		shun();
	return fd;
}

/* Greet the daemon at the other end of wire->fd, if there is one. */
static bool
greet(GpucolWire *wire, const char **why)
{
	GpucolWireHello hello = {(int32_t) getpid(), 0};
	GpucolWireHeader header;
	GpucolWireWelcome welcome;
	time_t		deadline = gpucol_wire_now() + GREETING_SECONDS;

	if (wire->fd < 0)
		return false;
	wire->deadline = deadline;
	if (!gpucol_wire_send(wire, GPUCOL_WIRE_HELLO, &hello, sizeof(hello), NULL, 0) ||
		!gpucol_wire_receive_bytes(wire, &header, sizeof(header)))
	{
		if (gpucol_wire_now() >= deadline && !wire->by_thread)
			shun();
		*why = "device daemon does not answer";
		return false;
	}
	if (header.magic != GPUCOL_WIRE_MAGIC || header.version != GPUCOL_WIRE_VERSION ||
		header.type != GPUCOL_WIRE_WELCOME || header.length != sizeof(welcome) ||
		!gpucol_wire_receive_bytes(wire, &welcome, sizeof(welcome)))
	{
		gpucol_wire_disconnect(wire);
		*why = "device daemon speaks another version";
		return false;
	}
	if (!wire->by_thread)
		gpucol_wire_map_residency(wire);
	wire->deadline = 0;
	if (!wire->by_thread)
		wire->serial = ++last_serial;
	return true;
}

/* Drop a connection whose daemon has died, or said what nobody waited for. */
static void
check_connection(void)
{
	char		byte;

	if (connection.fd >= 0 &&
		(connection.busy || recv(connection.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) >= 0 ||
		 (errno != EAGAIN && errno != EWOULDBLOCK)))
		gpucol_wire_drop();
}

void
gpucol_wire_meet(void)
{
	const char *why;

	check_connection();
	if (connection.fd >= 0 || is_shunned(&why))
		return;
	forget(&connection);
	connection.fd = gpucol_service.try_connect();
	(void) greet(&connection, &why);
}

void
gpucol_wire_announce(void)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_ANNOUNCE, 0};

	if (connection.fd < 0 || connection.busy || !connection.followed || !gpucol_wire_may_spin())
		return;
	connection.followed = false;
	if (send(connection.fd, &header, sizeof(header), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t) sizeof(header))
		gpucol_wire_drop();
}

/* Make the process's connection; an interrupt may unwind, which leaves it busy. */
static bool
connect_process(GpucolSource *source, const char **why)
{
	forget(&connection);
	connection.fd = reach(why);
	if (connection.fd < 0)
		return false;
	connection.busy = true;
	connection.source = source;
	return greet(&connection, why);
}

GpucolWire *
gpucol_wire_acquire(GpucolSource *source, const char **why)
{
	check_connection();
	if (connection.fd < 0 && (is_shunned(why) || !connect_process(source, why)))
		return NULL;
	gpucol_wire_clear_slab(&connection);
	connection.busy = true;
	connection.followed = true;
	connection.source = source;
	connection.cancelled = NULL;
	connection.used = 0;
	gpucol_wire_forget_failure();
	return &connection;
}

GpucolWire *
gpucol_wire_open(const char **why)
{
	int			fd = is_shunned(why) ? -1 : reach(why);	/* may raise an interrupt */
	GpucolWire *wire = fd < 0 ? NULL : calloc(1, sizeof(GpucolWire));

	if (wire == NULL && fd >= 0)
	{
		*why = "out of memory";
		close(fd);
	}
	if (wire == NULL)
		return NULL;
	forget(wire);
	wire->busy = true;
	wire->fd = fd;
	if (greet(wire, why))
		return wire;
	gpucol_wire_close(wire);
	return NULL;
}

GpucolWire *
gpucol_wire_adopt(int fd, bool (*cancelled) (void *), void *context)
{
	GpucolWire *wire = calloc(1, sizeof(GpucolWire));

	if (wire == NULL)
	{
		close(fd);
		return NULL;
	}
	wire->by_thread = true;
	forget(wire);
	wire->fd = fd;
	wire->busy = true;
	gpucol_wire_watch_cancel(wire, cancelled, context);
	return wire;
}

bool
gpucol_wire_greet(GpucolWire *wire)
{
	const char *why;

	return greet(wire, &why);
}

void
gpucol_wire_close(GpucolWire *wire)
{
	gpucol_wire_disconnect(wire);
	free(wire);
}

int
gpucol_wire_list(GpucolWire *wire, uint64_t id, bool *listed)
{
	int			list;

	for (list = 0; list < GPUCOL_WIRE_LISTS; list++)
		if (wire->lists[list] == id)
		{
			*listed = true;
			return list;
		}
	*listed = false;
	list = wire->next_list;
	wire->next_list = (list + 1) % GPUCOL_WIRE_LISTS;
	wire->lists[list] = id;
	return list;
}

void
gpucol_wire_unlist(GpucolWire *wire, uint64_t id)
{
	for (int list = 0; list < GPUCOL_WIRE_LISTS; list++)
		if (wire->lists[list] == id)
			wire->lists[list] = 0;
}

int
gpucol_wire_take_table(GpucolWire *wire, uint64_t *serial)
{
	for (int number = 0; number < GPUCOL_WIRE_TABLES; number++)
		if (!(wire->tables >> number & 1))
		{
			wire->tables |= UINT64_C(1) << number;
			*serial = wire->serial;
			return number;
		}
	return -1;
}

bool
gpucol_wire_has_table(const GpucolWire *wire, uint64_t serial)
{
	return wire->serial == serial;
}

/* Where a request is under way the number stays taken: it ends, or the connection does. */
void
gpucol_wire_forget_table(uint64_t serial, int number)
{
	struct
	{
		GpucolWireHeader header;
		uint32_t	number;
	}			message = {{GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_FORGET, sizeof(uint32_t)},
		(uint32_t) number};

	if (connection.fd < 0 || connection.serial != serial || connection.busy)
		return;
	connection.tables &= ~(UINT64_C(1) << number);
	if (send(connection.fd, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t) sizeof(message))
		gpucol_wire_drop();
}

void
gpucol_wire_release(GpucolWire *wire)
{
	wire->busy = false;
	wire->source = NULL;
	wire->cancelled = NULL;
}

void
gpucol_wire_watch_cancel(GpucolWire *wire, bool (*cancelled) (void *), void *context)
{
	wire->cancelled = cancelled;
	wire->context = context;
}
