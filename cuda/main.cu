/*-------------------------------------------------------------------------
 *
 * main.cu
 *	  gpucol_gpud: the process that owns the device.
 *
 * Usage: gpucol_gpud [--socket PATH] [--memory MEGABYTES] [--test] [--jit-wait]
 *
 * --jit-wait compiles before it answers, for tests.
 *
 * Started by the supervisor (src/service/supervisor.c) in the data directory.
 * It listens on a Unix socket and gives each client a thread.  It never touches
 * PostgreSQL's memory or files: it may die at any moment and costs its clients
 * one retry.  It ends when its parent does, on SIGTERM, or on a fault of the
 * device.
 *
 *-------------------------------------------------------------------------
 */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "device.cuh"
#include "jit.cuh"
#include "serve.cuh"
#include "service/protocol.h"

static const char *socket_path = GPUCOL_WIRE_SOCKET;

static void
on_terminate(int)
{
	unlink(socket_path);
	_exit(0);
}

/* Choose the device and say how much of its memory is ours. */
static void
open_device(size_t limit)
{
	int			n = 0;
	size_t		free = 0,
				total = 0;
	cudaError_t error = cudaGetDeviceCount(&n);

	if (error != cudaSuccess || n == 0)
	{
		fprintf(stderr, "gpucol_gpud: no CUDA device: %s\n", cudaGetErrorString(error));
		exit(GPUCOL_GPUD_EXIT_NO_DEVICE);
	}
	error = cudaSetDevice(0);
	if (error == cudaSuccess)
		error = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
	if (error == cudaSuccess)
		error = cudaMemGetInfo(&free, &total);
	if (error != cudaSuccess)
	{
		fprintf(stderr, "gpucol_gpud: the CUDA device cannot be used: %s\n", cudaGetErrorString(error));
		exit(GPUCOL_GPUD_EXIT_NO_DEVICE);
	}
	if (limit == 0 || limit > free / 10 * 9)
		limit = free / 10 * 9;
	device_pool.set_limit(limit);
}

static int
open_socket()
{
	int			fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = {};

	address.sun_family = AF_UNIX;
	if (strlen(socket_path) >= sizeof(address.sun_path))
	{
		fprintf(stderr, "gpucol_gpud: socket path is too long: %s\n", socket_path);
		exit(GPUCOL_GPUD_EXIT_USAGE);
	}
	strcpy(address.sun_path, socket_path);
	unlink(socket_path);
	umask(077);
	if (fd < 0 || bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 || listen(fd, 256) != 0)
	{
		fprintf(stderr, "gpucol_gpud: could not listen on %s: %s\n", socket_path, strerror(errno));
		exit(GPUCOL_GPUD_EXIT_USAGE);
	}
	return fd;
}

int
main(int argc, char **argv)
{
	size_t		limit = 0;
	bool		jit_wait = false;
	pid_t		parent = getppid();
	int			listener;

	for (int i = 1; i < argc; i++)
	{
		if (strcmp(argv[i], "--socket") == 0 && i + 1 < argc)
			socket_path = argv[++i];
		else if (strcmp(argv[i], "--memory") == 0 && i + 1 < argc)
			limit = (size_t) atoll(argv[++i]) << 20;
		else if (strcmp(argv[i], "--test") == 0)
			serve_test_requests = true;
		else if (strcmp(argv[i], "--jit-wait") == 0)
			jit_wait = true;
		else
		{
			fprintf(stderr, "usage: gpucol_gpud [--socket PATH] [--memory MEGABYTES] [--test] [--jit-wait]\n");
			return GPUCOL_GPUD_EXIT_USAGE;
		}
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		return 0;
	signal(SIGTERM, on_terminate);
	signal(SIGINT, on_terminate);
	signal(SIGPIPE, SIG_IGN);
	open_device(limit);
	listener = open_socket();
	jit.configure("gpucol_jit", jit_wait);
	for (;;)
	{
		int			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		if (fd >= 0)
			std::thread(serve_client, fd).detach();
		else if (errno != EINTR && errno != ECONNABORTED && errno != EMFILE)
		{
			perror("gpucol_gpud: accept");
			return GPUCOL_GPUD_EXIT_USAGE;
		}
	}
}
