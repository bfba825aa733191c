/*-------------------------------------------------------------------------
 *
 * wire_message.c
 *	  Messages to the device daemon and from it, and waiting for them.
 *
 * A socket is never waited for in a call of its own: who waits sleeps where an interrupt,
 * or a team that ends, wakes it (pause_on).  Before it sleeps for an answer it looks for
 * it for a while.
 *
 * Interrupts may unwind from any wait: nothing is held there but what the connection
 * holds.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "engine/gpu/connection.h"
#include "service/service.h"

_Static_assert(GPUCOL_OP_LENGTH_S == GPUCOL_WIRE_OPCODES, "other opcodes of devices need another GPUCOL_WIRE_VERSION");

#define THREAD_WAIT_MS		10	/* then a thread looks whether it is to end */
#define SPIN_NANOSECONDS	UINT64_C(5000000)	/* how long an answer is awaited without sleep */

static _Thread_local GpucolWireResult failure;	/* status GPUCOL_OK: none was told */

void
gpucol_wire_forget_failure(void)
{
	memset(&failure, 0, sizeof(failure));
}

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

/* Nanoseconds since some time. */
static uint64_t
nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t) t.tv_sec * UINT64_C(1000000000) + (uint64_t) t.tv_nsec;
}

time_t
gpucol_wire_now(void)
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
		(wire->deadline == 0 || gpucol_wire_now() < wire->deadline);
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
	while (gpucol_wire_may_spin() && poll(&socket, 1, 0) == 0 && nanoseconds() - start < SPIN_NANOSECONDS)
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
		if (sent < 0 && (errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) && pause_on(wire, true))))
			continue;
		if (sent < 0)
		{
			keep_failure(wire->fd);
			gpucol_wire_disconnect(wire);
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

/* Keep the descriptors that came with a message: one of them. */
static void
keep_descriptor(GpucolWire *wire, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		{
			if (wire->descriptor >= 0)
				close(wire->descriptor);
			memcpy(&wire->descriptor, CMSG_DATA(c), sizeof(int));
		}
}

bool
gpucol_wire_receive_bytes(GpucolWire *wire, void *to, size_t n)
{
	while (n > 0)
	{
		_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
		struct iovec iov = {to, n};
		struct msghdr msg;
		ssize_t		got;

		memset(&msg, 0, sizeof(msg));
		msg.msg_iov = &iov;
		msg.msg_iovlen = 1;
		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		got = recvmsg(wire->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
		if (got < 0 && (errno == EINTR || ((errno == EAGAIN || errno == EWOULDBLOCK) && pause_on(wire, false))))
			continue;
		if (got <= 0)
		{
			gpucol_wire_disconnect(wire);
			return false;
		}
		keep_descriptor(wire, &msg);
		to = (char *) to + got;
		n -= (size_t) got;
	}
	return true;
}

bool
gpucol_wire_receive(GpucolWire *wire, GpucolWireType type,
					void **payload, size_t *size)
{
	bool		is_other;

	return gpucol_wire_receive_either(wire, type, type, &is_other, payload, size);
}

bool
gpucol_wire_receive_header(GpucolWire *wire, GpucolWireType type, GpucolWireType other,
						   size_t most, GpucolWireHeader *header)
{
	if (!gpucol_wire_receive_bytes(wire, header, sizeof(*header)))
		return false;
	if (header->magic == GPUCOL_WIRE_MAGIC && header->version == GPUCOL_WIRE_VERSION &&
		(header->type == type || header->type == other) &&
		header->length <= GPUCOL_WIRE_MAX_PAYLOAD && header->length <= most)
		return true;
	if (header->type == GPUCOL_WIRE_RESULT && header->length == sizeof(failure) &&
		!gpucol_wire_receive_bytes(wire, &failure, sizeof(failure)))
		gpucol_wire_forget_failure();
	gpucol_wire_disconnect(wire);
	return false;
}

bool
gpucol_wire_receive_into(GpucolWire *wire, GpucolWireType type, void *to, size_t room,
						 size_t *size)
{
	GpucolWireHeader header;

	*size = 0;
	if (!gpucol_wire_receive_header(wire, type, type, room, &header) ||
		!gpucol_wire_receive_bytes(wire, to, header.length))
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
	if (!gpucol_wire_receive_header(wire, type, other, SIZE_MAX, &header))
		return false;
	*is_other = header.type != type;
	*payload = malloc(header.length + 1);
	*size = header.length;
	if (*payload == NULL || !gpucol_wire_receive_bytes(wire, *payload, header.length))
	{
		free(*payload);
		*payload = NULL;
		gpucol_wire_disconnect(wire);
		return false;
	}
	return true;
}

void *
gpucol_wire_map(GpucolWire *wire, size_t size, int protection, int flags)
{
	int			fd = wire->descriptor;
	struct stat file;
	void	   *p = MAP_FAILED;

	wire->descriptor = -1;
	if (fd < 0)
		return MAP_FAILED;
	if (fstat(fd, &file) == 0 && file.st_size >= (off_t) size)
		p = mmap(NULL, size, protection, MAP_SHARED | flags, fd, 0);
	close(fd);
	return p;
}
