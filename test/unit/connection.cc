/*-------------------------------------------------------------------------
 *
 * connection.cc
 *	  Unit test of a session's messages (cuda/daemon/connection.h): such as arrive in pieces,
 *	  such as leave in pieces, such as are none, and the end of a client.
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "check_cc.h"

/* A client's end of a socket, and the session's. */
struct Pair
{
	int			client;
	int			session;

	Pair()
	{
		int			fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
			abort();
		client = fds[0];
		session = fds[1];
	}
	~Pair() { leave(); }
	void
	leave()
	{
		if (client >= 0)
			close(client);
		client = -1;
	}
	void
	say(const void *bytes, size_t n)
	{
		if (write(client, bytes, n) != (ssize_t) n)
			abort();
	}
};

static std::vector<char>
message(uint16_t type, const std::vector<char> &payload)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, type, (uint32_t) payload.size()};
	std::vector<char> m((char *) &header, (char *) (&header + 1));

	m.insert(m.end(), payload.begin(), payload.end());
	return m;
}

/* Does this end the session? */
template <class Work> static bool
ends(Work work)
{
	try
	{
		work();
	}
	catch (const Goodbye &)
	{
		return true;
	}
	return false;
}

static void
test_pieces()
{
	Pair		pair;
	Connection	session(pair.session);
	std::vector<char> said = message(GPUCOL_WIRE_EVICT, std::vector<char>(16, 'e'));
	GpucolWireHeader header;

	CHECK("nothing was said", !session.speaks() && session.takes());
	std::thread client([&] {
		for (char c : said)
		{
			pair.say(&c, 1);
			std::this_thread::yield();
		}
		pair.say(message(GPUCOL_WIRE_CANCEL, {}).data(), sizeof(GpucolWireHeader));
	});
	header = session.receive();
	CHECK("a message that comes byte by byte", header.type == GPUCOL_WIRE_EVICT &&
		  session.payload() == std::vector<char>(16, 'e'));
	CHECK("as a struct", session.as<GpucolWireEvict>().storage[1] == UINT64_C(0x6565656565656565));
	CHECK("not as another", ends([&] { session.as<GpucolWireStatus>(); }));
	client.join();
	CHECK("there is more", session.speaks());
	CHECK("the next one", session.receive().type == GPUCOL_WIRE_CANCEL && session.payload().empty());
	CHECK("and no more", !session.speaks() && !session.left());
}

static void
test_garbage()
{
	GpucolWireHeader wrong[] = {
		{1, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_RUN, 0},
		{GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION + 1, GPUCOL_WIRE_RUN, 0},
		{GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_RUN, GPUCOL_WIRE_MAX_PAYLOAD + 1},
		{GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, GPUCOL_WIRE_RUN, UINT32_MAX}
	};

	for (const GpucolWireHeader &header : wrong)
	{
		Pair		pair;
		Connection	session(pair.session);

		pair.say(&header, sizeof(header));
		CHECK("no message", ends([&] { session.receive(); }));
		CHECK("no memory is made for it", session.payload().capacity() == 0);
		CHECK("the client is still there", !session.left());
	}
}

static void
test_end()
{
	for (size_t n : {(size_t) 0, (size_t) 5, sizeof(GpucolWireHeader), sizeof(GpucolWireHeader) + 3})
	{
		Pair		pair;
		Connection	session(pair.session);

		pair.say(message(GPUCOL_WIRE_STATUS, std::vector<char>(8)).data(), n);
		pair.leave();
		CHECK("an end can be heard", session.speaks());
		CHECK("it ends the session", ends([&] { session.receive(); }) && session.left());
		CHECK("nobody takes an answer", ends([&] { session.send(GPUCOL_WIRE_DONE, NULL, 0); }));
	}
}

/* Read all that comes until the other end is closed, a little at a time. */
static std::vector<char>
read_all(int fd)
{
	std::vector<char> all;
	char		some[777];
	ssize_t		n;

	while ((n = read(fd, some, sizeof(some))) > 0)
		all.insert(all.end(), some, some + n);
	return all;
}

static void
test_large()
{
	Pair		pair;
	std::vector<char> payload((size_t) 3 << 20);
	std::vector<char> got;
	int			little = 4096;

	setsockopt(pair.session, SOL_SOCKET, SO_SNDBUF, &little, sizeof(little));
	for (size_t i = 0; i < payload.size(); i++)
		payload[i] = (char) (i * 7 + i / 1000);
	std::thread client([&] { got = read_all(pair.client); });
	{
		Connection	session(pair.session);

		session.send(GPUCOL_WIRE_RESULT_PART, payload.data(), payload.size());
		CHECK("more than a message holds",
			  ends([&] { session.send(GPUCOL_WIRE_RESULT_PART, NULL, (size_t) GPUCOL_WIRE_MAX_PAYLOAD + 1); }));
	}
	client.join();
	CHECK("all of it arrives", got == message(GPUCOL_WIRE_RESULT_PART, payload));
}

/* The descriptor that comes with what is read next, or -1. */
static int
read_with(int fd, void *to, size_t n)
{
	char		control[CMSG_SPACE(sizeof(int))];
	struct iovec part = {to, n};
	struct msghdr msg = {};
	int			descriptor = -1;

	msg.msg_iov = &part;
	msg.msg_iovlen = 1;
	msg.msg_control = control;
	msg.msg_controllen = sizeof(control);
	if (recvmsg(fd, &msg, MSG_WAITALL) == (ssize_t) n && CMSG_FIRSTHDR(&msg) != NULL)
		memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	return descriptor;
}

static void
test_descriptor()
{
	Pair		pair;
	Connection	session(pair.session);
	int			ends[2];
	int			got;
	char		buffer[sizeof(GpucolWireHeader) + 8] = {};

	if (pipe(ends) != 0)
		abort();
	session.send(GPUCOL_WIRE_WELCOME, "8 bytes", 8, ends[1]);
	session.send(GPUCOL_WIRE_DONE, NULL, 0);
	close(ends[1]);
	got = read_with(pair.client, buffer, sizeof(buffer));
	CHECK("it comes with the message", got >= 0 && strcmp(buffer + sizeof(GpucolWireHeader), "8 bytes") == 0);
	CHECK("it is the one that was sent", write(got, "x", 1) == 1 && read(ends[0], buffer, 2) == 1);
	close(got);
	CHECK("and not with the next", read_with(pair.client, buffer, sizeof(GpucolWireHeader)) == -1);
	close(ends[0]);
}

/* A client that reads nothing is not waited for where that is asked first. */
static void
test_full()
{
	Pair		pair;
	Connection	session(pair.session);
	int			n = 0;

	for (; session.takes() && n < 100000; n++)
		session.send(GPUCOL_WIRE_REC_STATUS, "a status", 8);
	CHECK("it takes no more", n > 0 && n < 100000 && !session.takes());
}

static void
test_closed()
{
	Pair		pair;
	{
		Connection	session(pair.session);
	}
	CHECK("the socket is closed", fcntl(pair.session, F_GETFD) < 0);
}

int
main()
{
	test_pieces();
	test_garbage();
	test_end();
	test_large();
	test_descriptor();
	test_full();
	test_closed();
	return summary("connection");
}
