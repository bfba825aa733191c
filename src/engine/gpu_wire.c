/*-------------------------------------------------------------------------
 *
 * gpu_wire.c
 *	  A process's connection to the device daemon.
 *
 * Objects travel through a slab of the daemon's, pinned shared memory:
 * GPUCOL_SLAB_PARTS parts in turn, so that this process fills one while the
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
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "engine/gpu_wire.h"
#include "service/service.h"

#define GPUCOL_SLAB_PARTS	4	/* at most */
#define GPUCOL_THREAD_PARTS	2	/* of a thread's slab */
#define THREAD_WAIT_MS		10	/* then a thread looks whether it is to end */
#define GPUCOL_SLAB_PART	((size_t) 4 << 20)
#define GPUCOL_THREAD_PART	((size_t) 2 << 20)	/* of a thread's slab */
#define GPUCOL_LARGE_RESULT ((uint64_t) 256 << 10)
#define GPUCOL_INLINE_PIECE	((uint64_t) 1 << 20)
#define GREETING_SECONDS	5	/* how long a daemon may take to greet */
#define SHUN_SECONDS		60	/* how long one that took longer is left alone */
#define SPIN_NANOSECONDS	UINT64_C(5000000)	/* how long an answer is awaited without sleep */

struct GpucolWire
{
	int			fd;
	bool		busy;
	GpucolSource *source;		/* whose interrupts are checked */
	bool		(*cancelled) (void *);	/* or what is asked instead */
	void	   *context;
	time_t		deadline;		/* when to give up; 0 = never */
	bool		by_thread;		/* used by a thread, not by the process's own */
	bool		followed;		/* a request has come since the last SOON */
	char	   *slab;			/* nparts parts, or NULL */
	int			nparts;
	bool		no_slab;		/* there is no memory for one: all goes inline */
	int			part;			/* being filled */
	size_t		used;			/* bytes of it */
	int			pending[GPUCOL_SLAB_PARTS]; /* PUTs of a part not yet taken */
	int			order[64];		/* parts of the PUTs in flight, in order */
	int			in_flight;
	GpucolWirePut open;			/* being collected in the slab; length 0 = none */
	uint64_t	lists[GPUCOL_WIRE_LISTS];	/* whose the daemon has; 0 = nobody's */
	int			next_list;
	int			large_results;	/* that came without a slab */
	void		(*move) (void *);	/* who reads the slab; NULL: nobody */
	void	   *reader;
};

static GpucolWire connection = {.fd = -1};
static const GpucolResidency *residency;	/* of the last daemon, or NULL */
static time_t shunned_until;	/* 0 = never was */
static _Thread_local GpucolWireResult failure;	/* status GPUCOL_OK: none was told */

/* Keep a RESULT that came in place of what was awaited. */
static void
keep_failure(int fd)
{
	GpucolWireHeader header;

	while (recv(fd, &header, sizeof(header), MSG_DONTWAIT) == (ssize_t) sizeof(header) &&
		   header.magic == GPUCOL_WIRE_MAGIC && header.length <= sizeof(failure))
	{
		GpucolWireResult result;

		if (header.length > 0 &&
			recv(fd, &result, header.length, MSG_DONTWAIT) != (ssize_t) header.length)
			return;
		if (header.type == GPUCOL_WIRE_RESULT && header.length == sizeof(result))
		{
			failure = result;
			return;
		}
	}
}

GpucolStatus
gpucol_wire_failure(const char **why)
{
	*why = "device daemon was lost";
	if (failure.status == GPUCOL_OK)
		return GPUCOL_DEVICE_LOST;
	failure.reason[sizeof(failure.reason) - 1] = '\0';
	*why = failure.reason;
	return (GpucolStatus) failure.status;
}

/* Have a result that is read in the slab moved elsewhere. */
static void
clear_slab(GpucolWire *wire)
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

/* Close a connection; after close() the slab is not this process's any more. */
static void
disconnect(GpucolWire *wire)
{
	clear_slab(wire);
	if (wire->fd >= 0)
		close(wire->fd);
	if (wire->slab != NULL)
		munmap(wire->slab, slab_size(wire));
	if (wire == &connection && residency != NULL)
	{
		munmap((void *) residency, sizeof(GpucolResidency));
		residency = NULL;
	}
	memset(wire, 0, sizeof(*wire));
	wire->fd = -1;
}

void
gpucol_wire_drop(void)
{
	disconnect(&connection);
}

void
gpucol_wire_abandon(void)
{
	if (connection.busy)
		gpucol_wire_drop();
}

/* Nanoseconds since some time. */
static uint64_t
nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * UINT64_C(1000000000) + (uint64_t) t.tv_nsec;
}

/* Seconds since then. */
static time_t
now(void)
{
	return (time_t) (nanoseconds() / UINT64_C(1000000000));
}

/*
 * Sleep on the socket, then see whether the process is wanted elsewhere; false
 * if the wait is to be given up.
 */
static bool
pause_on(GpucolWire *wire, bool writable)
{
	if (wire->by_thread)
	{
		struct pollfd p = {wire->fd, writable ? POLLOUT : POLLIN, 0};

		poll(&p, 1, THREAD_WAIT_MS);
	}
	else
		gpucol_service.wait(wire->fd, writable);
	if (wire->source != NULL)
		wire->source->ops->check_interrupts(wire->source);
	return (wire->cancelled == NULL || !wire->cancelled(wire->context)) &&
		(wire->deadline == 0 || now() < wire->deadline);
}

/* Do few enough sessions wait, for the processors that there are, that one may be kept busy? */
static bool
may_spin(void)
{
	static long processors = 0;

	if (processors == 0)
		processors = sysconf(_SC_NPROCESSORS_ONLN);
	return residency != NULL &&
		(long) __atomic_load_n(&residency->running, __ATOMIC_RELAXED) * GPUCOL_SPIN_PROCESSORS <= processors;
}

/*
 * Look for an answer for a while without sleeping: being woken takes longer than many
 * an answer.  Not where many wait, nor where somebody has to be asked whether to go on.
 */
static void
spin_on(GpucolWire *wire)
{
	struct pollfd socket = {wire->fd, POLLIN, 0};
	uint64_t	start = nanoseconds();

	if (wire->cancelled != NULL || wire->by_thread)
		return;
	while (may_spin() && poll(&socket, 1, 0) == 0 && nanoseconds() - start < SPIN_NANOSECONDS)
		if (wire->source != NULL)
			wire->source->ops->check_interrupts(wire->source);
}

/* Send all of a vector of buffers. */
static bool
send_all(GpucolWire *wire, struct iovec *iov, int n)
{
	while (n > 0)
	{
		struct msghdr msg;
		ssize_t		sent;

		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = iov;
		msg.msg_iovlen = n;
		sent = sendmsg(wire->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		{
			if (pause_on(wire, true))
				continue;
			disconnect(wire);
			return false;
		}
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
		{
			keep_failure(wire->fd);
			disconnect(wire);
			return false;
		}
		while (n > 0 && (size_t) sent >= iov->iov_len)
		{
			sent -= iov->iov_len;
			iov++;
			n--;
		}
		if (n > 0)
		{
			iov->iov_base = (char *) iov->iov_base + sent;
			iov->iov_len -= sent;
		}
	}
	return true;
}

bool
gpucol_wire_send(GpucolWire *wire, GpucolWireType type,
				 const void *head, size_t head_size,
				 const void *body, size_t body_size)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, type,
	(uint32_t) (head_size + body_size)};
	struct iovec iov[3] = {
		{&header, sizeof(header)},
		{(void *) head, head_size},
		{(void *) body, body_size}
	};

	if (head_size + body_size > GPUCOL_WIRE_MAX_PAYLOAD)
		return false;
	return send_all(wire, iov, 3);
}

/* Read all of n bytes; a descriptor that comes along goes to *descriptor. */
static bool
receive_with(GpucolWire *wire, void *to, size_t n, int *descriptor)
{
	while (n > 0)
	{
		char		control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {to, n};
		struct msghdr msg;
		ssize_t		got;

		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		if (descriptor != NULL)
		{
			msg.msg_control = control;
			msg.msg_controllen = sizeof(control);
		}
		got = recvmsg(wire->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		{
			if (pause_on(wire, false))
				continue;
			disconnect(wire);
			return false;
		}
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
		{
			disconnect(wire);
			return false;
		}
		for (struct cmsghdr *c = descriptor != NULL ? CMSG_FIRSTHDR(&msg) : NULL; c != NULL;
			 c = CMSG_NXTHDR(&msg, c))
			if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
				memcpy(descriptor, CMSG_DATA(c), sizeof(int));
		to = (char *) to + got;
		n -= (size_t) got;
	}
	return true;
}

static bool
receive_bytes(GpucolWire *wire, void *to, size_t n)
{
	return receive_with(wire, to, n, NULL);
}

bool
gpucol_wire_receive(GpucolWire *wire, GpucolWireType type,
					void **payload, size_t *size)
{
	bool		is_other;

	return gpucol_wire_receive_either(wire, type, type, &is_other, payload, size);
}

/*
 * Receive the header of a message of one of two types, of at most `most` bytes; a
 * descriptor that comes along goes to *descriptor, if that is not NULL.
 */
static bool
receive_header(GpucolWire *wire, GpucolWireType type, GpucolWireType other, size_t most,
			   GpucolWireHeader *header, int *descriptor)
{
	if (!receive_with(wire, header, sizeof(*header), descriptor))
		return false;
	if (header->magic == GPUCOL_WIRE_MAGIC && header->version == GPUCOL_WIRE_VERSION &&
		(header->type == type || header->type == other) &&
		header->length <= GPUCOL_WIRE_MAX_PAYLOAD && header->length <= most)
		return true;
	if (header->type == GPUCOL_WIRE_RESULT && header->length == sizeof(failure) &&
		!receive_bytes(wire, &failure, sizeof(failure)))
		memset(&failure, 0, sizeof(failure));
	disconnect(wire);
	return false;
}

bool
gpucol_wire_receive_into(GpucolWire *wire, GpucolWireType type, void *to, size_t room,
						 size_t *size)
{
	GpucolWireHeader header;

	*size = 0;
	if (!receive_header(wire, type, type, room, &header, NULL) ||
		!receive_bytes(wire, to, header.length))
		return false;
	*size = header.length;
	return true;
}

bool
gpucol_wire_receive_either(GpucolWire *wire, GpucolWireType type,
						   GpucolWireType other, bool *is_other,
						   void **payload, size_t *size)
{
	GpucolWireHeader header;

	*payload = NULL;
	*size = 0;
	if (type == GPUCOL_WIRE_RESULT || other == GPUCOL_WIRE_RESULT)
		spin_on(wire);
	if (!receive_header(wire, type, other, SIZE_MAX, &header, NULL))
		return false;
	*is_other = header.type != type;
	*payload = malloc(header.length + 1);
	*size = header.length;
	if (*payload == NULL || !receive_bytes(wire, *payload, header.length))
	{
		free(*payload);
		*payload = NULL;
		disconnect(wire);
		return false;
	}
	return true;
}

/*
 * Map `size` bytes of shared memory that the daemon has sent, and close its descriptor;
 * MAP_FAILED also where there is less, of which the rest would be no memory to touch.
 */
static void *
map_shared(int fd, size_t size, int protection, int flags)
{
	struct stat file;
	void	   *p = MAP_FAILED;

	if (fd < 0)
		return MAP_FAILED;
	if (fstat(fd, &file) == 0 && file.st_size >= (off_t) size)
		p = mmap(NULL, size, protection, MAP_SHARED | flags, fd, 0);
	close(fd);
	return p;
}

/* Map the residency table that came with a WELCOME. */
static void
map_residency(int fd)
{
	void	   *p = map_shared(fd, sizeof(GpucolResidency), PROT_READ, 0);

	if (p == MAP_FAILED)
		return;
	if (residency != NULL)
		munmap((void *) residency, sizeof(GpucolResidency));
	residency = p;
}

/* Sum up one column, without regard to changes meanwhile. */
static void
look_up_resident(const uint64_t storage[2], int attnum, uint64_t *rows, uint64_t *bytes)
{
	uint32_t	slot = gpucol_residency_slot(storage, attnum);

	*rows = *bytes = 0;
	for (uint32_t i = 0; i < GPUCOL_RESIDENCY_PROBES; i++)
	{
		const GpucolResidentColumn *c = &residency->columns[(slot + i) % GPUCOL_RESIDENCY_COLUMNS];

		if (c->storage[0] == 0 && c->storage[1] == 0)
			return;
		if (c->storage[0] != storage[0] || c->storage[1] != storage[1] || c->attnum != attnum)
			continue;
		*rows = c->rows;
		*bytes = c->bytes;
		return;
	}
}

void
gpucol_wire_resident(const uint64_t storage[2], int attnum,
					 uint64_t *rows, uint64_t *bytes)
{
	*rows = *bytes = 0;
	for (int tries = 0; residency != NULL && tries < 10; tries++)
	{
		uint64_t	before = __atomic_load_n(&residency->sequence, __ATOMIC_ACQUIRE);

		look_up_resident(storage, attnum, rows, bytes);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (before % 2 == 0 && before == __atomic_load_n(&residency->sequence, __ATOMIC_ACQUIRE))
			return;
	}
}

uint64_t
gpucol_wire_device_memory(void)
{
	return residency != NULL ? residency->limit : 0;
}

/* Has a daemon lately taken too long to greet? */
static bool
is_shunned(const char **why)
{
	*why = "device daemon does not answer";
	return shunned_until != 0 && now() < shunned_until;
}

/* Greet the daemon at the other end of wire->fd. */
static bool
greet(GpucolWire *wire, const char **why)
{
	GpucolWireHello hello = {(int32_t) getpid(), 0};
	GpucolWireHeader header;
	GpucolWireWelcome welcome;
	time_t		deadline;
	int			fd = -1;
	bool		ok;

	if (wire->fd < 0)
		return false;
	deadline = wire->deadline = now() + GREETING_SECONDS;
	ok = gpucol_wire_send(wire, GPUCOL_WIRE_HELLO, &hello, sizeof(hello), NULL, 0) &&
		receive_with(wire, &header, sizeof(header), &fd);
	if (!ok)
	{
		if (now() >= deadline && !wire->by_thread)
			shunned_until = now() + SHUN_SECONDS;
		*why = "device daemon does not answer";
		return false;
	}
	if (header.magic != GPUCOL_WIRE_MAGIC || header.version != GPUCOL_WIRE_VERSION ||
		header.type != GPUCOL_WIRE_WELCOME || header.length != sizeof(welcome) ||
		!receive_bytes(wire, &welcome, sizeof(welcome)))
	{
		if (fd >= 0)
			close(fd);
		disconnect(wire);
		*why = "device daemon speaks another version";
		return false;
	}
	if (fd >= 0 && wire->by_thread)
		close(fd);
	else if (fd >= 0)
		map_residency(fd);
	wire->deadline = 0;
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
	connection.fd = gpucol_service.try_connect();
	(void) greet(&connection, &why);
}

void
gpucol_wire_soon(void)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_SOON, 0};

	if (connection.fd < 0 || connection.busy || !connection.followed || !may_spin())
		return;
	connection.followed = false;
	if (send(connection.fd, &header, sizeof(header), MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t) sizeof(header))
		gpucol_wire_drop();
}

GpucolWire *
gpucol_wire_acquire(GpucolSource *source, const char **why)
{
	check_connection();
	if (connection.fd < 0)
	{
		if (is_shunned(why))
			return NULL;
		connection.fd = gpucol_service.connect(why);
		connection.busy = true; /* an interrupt may unwind from here on */
		connection.source = source;
		if (!greet(&connection, why))
			return NULL;
	}
	clear_slab(&connection);
	connection.busy = true;
	connection.followed = true;
	connection.source = source;
	connection.cancelled = NULL;
	connection.used = 0;
	memset(&failure, 0, sizeof(failure));
	return &connection;
}

GpucolWire *
gpucol_wire_open(const char **why)
{
	GpucolWire *wire = calloc(1, sizeof(GpucolWire));

	*why = "out of memory";
	if (wire == NULL)
		return NULL;
	wire->busy = true;
	wire->fd = is_shunned(why) ? -1 : gpucol_service.connect(why);
	if (greet(wire, why))
		return wire;
	disconnect(wire);
	free(wire);
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
	wire->fd = fd;
	wire->busy = wire->by_thread = true;
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
	disconnect(wire);
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
	int			fd = -1;
	void	   *p;

	if (!gpucol_wire_send(wire, GPUCOL_WIRE_SLAB, &slab, sizeof(slab), NULL, 0) ||
		!receive_header(wire, GPUCOL_WIRE_DONE, GPUCOL_WIRE_REFUSED, 0, &header, &fd))
	{
		if (fd >= 0)
			close(fd);
		return false;
	}
	wire->no_slab = header.type == GPUCOL_WIRE_REFUSED;
	if (wire->no_slab)
		return true;
	p = map_shared(fd, size, PROT_READ | PROT_WRITE, MAP_POPULATE);
	if (p == MAP_FAILED)
	{
		disconnect(wire);
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
	if (wire->in_flight == (int) (sizeof(wire->order) / sizeof(wire->order[0])) &&
		!take_done(wire))
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

/* Can a result of n bytes lie in the slab?  If not, the daemon is not to be trusted. */
static bool
slab_holds(GpucolWire *wire, uint64_t n)
{
	if (wire->slab != NULL && n <= slab_size(wire))
		return true;
	disconnect(wire);
	return false;
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
