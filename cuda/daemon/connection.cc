/*-------------------------------------------------------------------------
 *
 * connection.cc
 *	  Messages of a session.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

Connection::~Connection()
{
	close(socket_);
}

/* Read exactly n bytes. */
void
Connection::read_bytes(void *to, size_t n)
{
	while (n > 0)
	{
		ssize_t		got = recv(socket_, to, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		left_ = got == 0 || (got < 0 && errno == ECONNRESET);
		if (got <= 0)
			throw Goodbye();
		to = (char *) to + got;
		n -= got;
	}
}

GpucolWireHeader
Connection::receive()
{
	GpucolWireHeader header;

	read_bytes(&header, sizeof(header));
	if (header.magic != GPUCOL_WIRE_MAGIC || header.version != GPUCOL_WIRE_VERSION ||
		header.length > GPUCOL_WIRE_MAX_PAYLOAD)
		throw Goodbye();
	payload_.resize(header.length);
	read_bytes(payload_.data(), header.length);
	return header;
}

/* Have a descriptor go with a message. */
static void
attach(struct msghdr *msg, char *control, size_t size, int descriptor)
{
	struct cmsghdr *c;

	msg->msg_control = control;
	msg->msg_controllen = size;
	c = CMSG_FIRSTHDR(msg);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &descriptor, sizeof(int));
}

/* Send all of some parts; a descriptor goes with the first byte. */
void
Connection::send_bytes(struct iovec *parts, int n, int descriptor)
{
	while (n > 0)
	{
		alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
		struct msghdr msg = {};
		ssize_t		sent;

		msg.msg_iov = parts;
		msg.msg_iovlen = n;
		if (descriptor >= 0)
			attach(&msg, control, sizeof(control), descriptor);
		sent = sendmsg(socket_, &msg, MSG_NOSIGNAL);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			throw Goodbye();
		descriptor = -1;
		for (; n > 0 && (size_t) sent >= parts->iov_len; parts++, n--)
			sent -= parts->iov_len;
		if (n > 0)
		{
			parts->iov_base = (char *) parts->iov_base + sent;
			parts->iov_len -= sent;
		}
	}
}

void
Connection::send(GpucolWireType type, const void *payload, size_t n, int descriptor)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};
	struct iovec parts[2] = {{&header, sizeof(header)}, {(void *) payload, n}};

	if (n > GPUCOL_WIRE_MAX_PAYLOAD)
		throw Goodbye();		/* no client would take it */
	send_bytes(parts, 2, descriptor);
}

bool
Connection::speaks() const
{
	struct pollfd look = {socket_, POLLIN, 0};

	return poll(&look, 1, 0) > 0;
}

bool
Connection::takes() const
{
	struct pollfd look = {socket_, POLLOUT, 0};

	return poll(&look, 1, 0) > 0 && look.revents == POLLOUT;
}
