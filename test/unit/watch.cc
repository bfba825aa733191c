/*-------------------------------------------------------------------------
 *
 * watch.cc
 *	  Unit test of noticing what clients say while sessions compute (cuda/daemon/watch.h).
 *
 *-------------------------------------------------------------------------
 */
#include "cuda/daemon/watch.h"

#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "cuda/base/failure.h"
#include "service/protocol.h"

#include "check_cc.h"

/* A client's and a session's end. */
struct Pair
{
	int			fds[2];

	Pair()
	{
		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0)
			abort();
	}
	~Pair()
	{
		leave();
		close(fds[1]);
	}
	void		say() { (void) !write(fds[0], "x", 1); }
	void
	leave()
	{
		if (fds[0] >= 0)
			close(fds[0]);
		fds[0] = -1;
	}
	int			session() const { return fds[1]; }
};

/* Does this come true soon? */
template <class Condition> static bool
soon(Condition condition)
{
	for (int i = 0; i < 2000; i++)
	{
		if (condition())
			return true;
		std::this_thread::sleep_for(std::chrono::milliseconds(1));
	}
	return false;
}

static void
test_heard()
{
	Pair		talks,
				leaves,
				silent;
	std::atomic<int> talked{0},
				left{0},
				never{0};
	Watch		a(talks.session(), [&] { talked++; });
	Watch		b(leaves.session(), [&] { left++; });
	Watch		c(silent.session(), [&] { never++; });

	CHECK("nobody is heard before he speaks", !a.heard() && !b.heard());
	talks.say();
	leaves.leave();
	CHECK("what a client says is heard", soon([&] { return talked == 1 && a.heard(); }));
	CHECK("that a client leaves is heard", soon([&] { return left == 1 && b.heard(); }));
	talks.say();
	usleep(20000);
	CHECK("once", talked == 1);
	CHECK("others are not called", never == 0 && !c.heard());
}

/* A socket is watched again and again, also when something waits there already. */
static void
test_again()
{
	Pair		pair;
	std::atomic<int> calls{0};

	pair.say();
	for (int i = 1; i <= 3; i++)
	{
		Watch		watch(pair.session(), [&] { calls++; });

		CHECK("each watch hears", soon([&] { return calls == i; }));
	}
}

/* One call that does not return holds nobody up but its own session. */
static void
test_stuck()
{
	Pair		stuck,
				other;
	std::promise<void> free;
	std::shared_future<void> freed = free.get_future().share();
	std::atomic<bool> begun{false},
				returned{false};
	std::atomic<int> calls{0};
	std::thread session([&] {
		Watch		watch(stuck.session(), [&] {
			begun = true;
			freed.wait();
			returned = true;
		});

		soon([&] { return begun == true; });
	});

	stuck.say();
	CHECK("a call begins", soon([&] { return begun == true; }));
	for (int i = 0; i < 3; i++)
	{
		Watch		watch(other.session(), [&] { calls++; });

		other.say();
		CHECK("others are called meanwhile", soon([&] { return calls == i + 1; }));
	}
	CHECK("the call is still stuck", !returned);
	free.set_value();
	session.join();
	CHECK("its watch ended when it had returned", returned);
}

/* No call comes when its watch has ended: what it would use is gone. */
static void
test_ends()
{
	std::atomic<int> calls{0};
	std::vector<std::thread> sessions;

	for (int t = 0; t < 4; t++)
		sessions.emplace_back([&calls, t] {
			for (int i = 0; i < 500; i++)
			{
				Pair		pair;
				auto		request = std::make_unique<std::atomic<int>>(0);
				{
					Watch		watch(pair.session(), [&] { ++*request; });

					if (i % 2)
						pair.say();
					else
						pair.leave();
					if (i % 3 == t % 3)
						std::this_thread::yield();
					else if (i % 7 == 0)
						usleep(200);
				}
				calls += *request;
			}
		});
	for (std::thread &t : sessions)
		t.join();
	CHECK("some were called before their watches ended", calls > 0 && calls <= 2000);
}

/* Send a message of so many bytes. */
static void
send_message(int fd, GpucolWireType type, size_t length)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) length};
	std::vector<char> payload(length);

	(void) !write(fd, &header, sizeof(header));
	(void) !write(fd, payload.data(), length);
}

/* A session whose request waits sees that it is called off, behind what it has still to receive. */
static void
test_called_off()
{
	Pair		pair;
	char		first[4];
	int			client = pair.fds[0];

	CHECK("nothing was said", !watch_called_off(pair.session()));
	send_message(client, GPUCOL_WIRE_PUT, 56);
	CHECK("more of the request", !watch_called_off(pair.session()));
	send_message(client, GPUCOL_WIRE_PUT, 32 << 10);
	CHECK("and more", !watch_called_off(pair.session()));
	(void) !write(client, "GPG", 3);
	CHECK("the beginning of a message", !watch_called_off(pair.session()));

	Pair		other;

	for (int i = 0; i < 4; i++)
		send_message(other.fds[0], GPUCOL_WIRE_PUT, 30000);
	send_message(other.fds[0], GPUCOL_WIRE_CANCEL, 0);
	CHECK("CANCEL behind other messages", watch_called_off(other.session()));
	CHECK("which can be received still", read(other.session(), first, 4) == 4 && memcmp(first, "GPGD", 4) == 0);
	CHECK("noise", !watch_called_off(other.session()));

	Pair		gone;

	send_message(gone.fds[0], GPUCOL_WIRE_PUT, 100);
	gone.leave();
	CHECK("a client that left", watch_called_off(gone.session()));
}

static void
test_refused()
{
	bool		refused = false;

	try
	{
		Watch		watch(-1, [] {});
	}
	catch (const Failure &f)
	{
		refused = f.status == GPUCOL_OUT_OF_MEMORY;
	}
	CHECK("a socket that cannot be watched is a failure of the request", refused);
}

static void
hangs(int)
{
	static const char text[] = "watch: a test hangs\nwatch: 0 passed, 1 failed\n";

	(void) !write(STDOUT_FILENO, text, strlen(text));
	_exit(1);
}

int
main()
{
	signal(SIGALRM, hangs);
	alarm(60);
	CHECK("the watching thread starts", Watch::open());
	test_heard();
	test_again();
	test_stuck();
	test_ends();
	test_called_off();
	test_refused();
	return summary("watch");
}
