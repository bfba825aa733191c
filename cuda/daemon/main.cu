/*-------------------------------------------------------------------------
 *
 * main.cu
 *	  gpucol_gpud: the process that owns the device.
 *
 * Usage: gpucol_gpud [--socket PATH] [--memory MEGABYTES] [--again] [--test] [--jit-wait]
 *		[--copies N] [--window BYTES] [--slabs BYTES] [--stages]
 *
 * --again says nothing where there is no device: an earlier one has said so.
 * --jit-wait compiles before it answers, for tests.
 *
 * Started by the supervisor (src/service/supervisor.c) in the data directory.
 * It listens on a Unix socket and gives each client a thread.  It never touches
 * PostgreSQL's memory or files: it may die at any moment and costs its clients
 * one retry.  --test takes requests that break it; --copies makes each device
 * stand for N, so that what several devices do can be tested on one; --window
 * lets requests have no more than so many bytes of chunks, so that small tables
 * are read in parts; --slabs limits the shared memory that is pinned; --stages
 * writes how long the stages of a request took.  It ends when its parent does, on
 * SIGTERM, or on a fault of the device.
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include "cuda/base/cache.cuh"
#include "cuda/jit/jit.cuh"
#include "cuda/daemon/listener.h"
#include "cuda/daemon/open_devices.cuh"
#include "cuda/query/request.cuh"
#include "cuda/daemon/serve.cuh"
#include "cuda/base/slab.cuh"
#include "cuda/base/stage.cuh"
#include "cuda/daemon/watch.h"
#include "service/protocol.h"

static void
on_terminate(int)
{
	listener_remove();
	_exit(0);
}

/*
 * Open the devices and what clients see of all of them.  Where there are none the process ends, and
 * its standard output tells the supervisor why.
 */
static void
begin(size_t limit, int copies, bool again)
{
	uint64_t	all = 0;
	std::string why;

	if (!open_devices(limit, copies, again, &why))
	{
		puts(why.c_str());
		exit(GPUCOL_GPUD_EXIT_NO_DEVICE);
	}
	for (Device *d : devices)
		all += d->pool.limit();
	if (!residency_create(all))
	{
		perror("gpucol_gpud: residency table");
		exit(GPUCOL_GPUD_EXIT_USAGE);
	}
}

/* As many descriptors as the process may have: a session needs two or three. */
static void
raise_descriptors()
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* Give a client a thread; where there is none to be had, it is sent away. */
static void
admit(int fd)
{
	try
	{
		std::thread(serve_client, fd).detach();
	}
	catch (const std::exception &e)
	{
		/* no thread, or no memory for one */
		fprintf(stderr, "gpucol_gpud: a client was sent away: %s\n", e.what());
		close(fd);
	}
}

int
main(int argc, char **argv)
{
	size_t		limit = 0;
	bool		jit_wait = false,
				again = false;
	int			copies = 1;
	const char *socket_path = GPUCOL_WIRE_SOCKET;
	pid_t		parent = getppid();
	int			listener;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
			socket_path = argv[++i];
		else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
			limit = (size_t) atoll(argv[++i]) << 20;
		else if (strcmp(argv[i], "--again") == 0)
			again = true;
		else if (strcmp(argv[i], "--test") == 0)
			serve_test_requests = true;
		else if (strcmp(argv[i], "--window") == 0 && i + 1 < argc)
			request_window = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--slabs") == 0 && i + 1 < argc)
			slab_limit = strtoull(argv[++i], NULL, 10);
		else if (strcmp(argv[i], "--copies") == 0 && i + 1 < argc && atoi(argv[i + 1]) > 0)
			copies = atoi(argv[++i]);
		else if (strcmp(argv[i], "--stages") == 0)
			gpucol_stages = true;
		else if (strcmp(argv[i], "--jit-wait") == 0)
			jit_wait = true;
		else
		{
			fprintf(stderr, "usage: gpucol_gpud [--socket PATH] [--memory MEGABYTES] [--again] [--test] [--jit-wait] [--copies N] [--window BYTES] [--slabs BYTES] [--stages]\n");
			return GPUCOL_GPUD_EXIT_USAGE;
		}
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return 0;
	signal(SIGTERM, on_terminate);
	signal(SIGINT, on_terminate);
	signal(SIGPIPE, SIG_IGN);
	raise_descriptors();
	begin(limit, copies, again);
	if (!Watch::open())
	{
		perror("gpucol_gpud: watching clients");
		return GPUCOL_GPUD_EXIT_USAGE;
	}
	umask(077);
	listener = listener_open(socket_path);
	if (listener < 0)
	{
		fprintf(stderr, "gpucol_gpud: could not listen on %s: %s\n", socket_path, strerror(errno));
		return GPUCOL_GPUD_EXIT_USAGE;
	}
	jit.configure("gpucol_jit", jit_wait);
	for (;;)
	{
		int			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			admit(fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
			usleep(10000);		/* until some session ends */
		else if (errno != EINTR && errno != ECONNABORTED)
		{
			perror("gpucol_gpud: accept");
			_exit(GPUCOL_GPUD_EXIT_FAULT);	/* sessions are at work */
		}
	}
}
