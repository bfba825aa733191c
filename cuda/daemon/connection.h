/*-------------------------------------------------------------------------
 *
 * connection.h
 *	  A session's end of a client's socket: whole messages in, whole messages out.
 *
 * A message is taken only as far as its header makes sense: what is no message of this
 * protocol, or longer than any, ends the session before memory is made for it.
 *
 * Nothing here knows CUDA.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_CUDA_CONNECTION_H
#define GPUCOL_CUDA_CONNECTION_H

#include <sys/uio.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "service/protocol.h"

/* Thrown to end a session: the client left or broke the protocol. */
struct Goodbye
{
};

class Connection
{
public:
	/* Of a socket, which is closed in the end. */
	explicit Connection(int socket) : socket_(socket) {}
	~Connection();
	Connection(const Connection &) = delete;

	int			socket() const { return socket_; }

	/* Wait for the next message and return its header; its payload is good until the next. */
	GpucolWireHeader receive();
	const std::vector<char> &payload() const { return payload_; }

	/* The payload as a struct of exactly its size. */
	template <class T> T
	as() const
	{
		T			t;

		if (payload_.size() != sizeof(T))
			throw Goodbye();
		memcpy(&t, payload_.data(), sizeof(T));
		return t;
	}

	/* Send a message, whole, and with it a descriptor, if that is not negative. */
	void		send(GpucolWireType type, const void *payload, size_t n, int descriptor = -1);

	/* Has the client said something that was not received yet, or left?  At once. */
	bool		speaks() const;

	/* Can something short be sent without waiting? */
	bool		takes() const;

	/* Has the client closed its end?  As far as receive() has seen. */
	bool		left() const { return left_; }

private:
	void		read_bytes(void *to, size_t n);
	void		send_bytes(struct iovec *parts, int n, int descriptor);

	int			socket_;
	bool		left_ = false;
	std::vector<char> payload_;
};

#endif
