/*-------------------------------------------------------------------------
 *
 * stages.cu
 *	  What the stages of a cold load can do on this host, and what the steps of a
 *	  request cost: the floors of gpucol.prefetch and of a short query.
 *
 * Usage: stages (make -C cuda stages-bin)
 *
 * Pages lie in shared memory as PostgreSQL's buffers do, and are copied without
 * their headers to a slab that is registered with CUDA, as the client does.
 *
 *-------------------------------------------------------------------------
 */
#include <cuda_runtime.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

extern "C" {
#include "kernel/crc32c.h"
}

typedef std::chrono::steady_clock Clock;

static const size_t PAGE = 8192;
static const size_t ROWS = 8064;		/* word rows of a page */
static const size_t PAGES = 384 * 1024;
static const size_t SLAB = (size_t) 128 << 20;

static char *pages;
static char *slab;
static char *device_memory;
static cudaStream_t stream;
static volatile uint32_t sink;

static void
check(cudaError_t error, const char *what)
{
	if (error == cudaSuccess)
		return;
	fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
	exit(1);
}

static double
seconds()
{
	return std::chrono::duration<double>(Clock::now().time_since_epoch()).count();
}

/* Median microseconds of f. */
static double
median(const std::function<void()> &f, int n = 201)
{
	std::vector<double> t;

	for (int i = 0; i < n; i++)
	{
		double		start = seconds();

		f();
		t.push_back((seconds() - start) * 1e6);
	}
	std::sort(t.begin(), t.end());
	return t[n / 2];
}

static void
spin()
{
	while (cudaStreamQuery(stream) == cudaErrorNotReady)
		;
}

/* GB/s of so many threads that checksum pages, copy them to the slab, or both. */
static double
read_pages(int nthreads, bool checksum, bool copy)
{
	std::vector<std::thread> threads;
	double		start = seconds();

	for (int i = 0; i < nthreads; i++)
		threads.emplace_back([=] {
			size_t		span = SLAB / nthreads / ROWS * ROWS;
			size_t		at = 0;
			uint32_t	crc = 0;

			for (size_t p = PAGES * i / nthreads; p < PAGES * (i + 1) / nthreads; p++)
			{
				const char *rows = pages + p * PAGE + 24;

				if (checksum)
					crc ^= gpucol_crc32c(0, rows, ROWS);
				if (copy)
					memcpy(slab + i * span + at, rows, ROWS);
				at = at + 2 * ROWS > span ? 0 : at + ROWS;
			}
			sink = crc;
		});
	for (std::thread &t : threads)
		t.join();
	return PAGES * ROWS / 1e9 / (seconds() - start);
}

/* Queue copies of the whole slab until told to stop; bytes copied. */
static size_t
feed_device(const std::atomic<bool> &stop)
{
	size_t		bytes = 0;
	cudaStream_t s;

	check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
	while (!stop)
	{
		for (size_t at = 0; at < SLAB; at += 4 << 20)
			check(cudaMemcpyAsync(device_memory + at, slab + at, 4 << 20, cudaMemcpyHostToDevice, s), "copy");
		check(cudaStreamSynchronize(s), "copy");
		bytes += SLAB;
	}
	return bytes;
}

/*
 * GB/s of so many threads that each copy pages to one half of a slab of two parts while
 * the other is on its way to the device: a load without PostgreSQL and without messages.
 */
static double
load_pages(int nthreads, size_t part)
{
	std::vector<std::thread> threads;
	std::atomic<size_t> sent{0};
	double		start = seconds();

	for (int i = 0; i < nthreads; i++)
		threads.emplace_back([&, i] {
			char	   *to = slab + SLAB / nthreads / 4096 * 4096 * i;
			cudaStream_t s;
			cudaEvent_t taken[2];
			int			half = 0;

			check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking), "stream");
			for (cudaEvent_t &e : taken)
				check(cudaEventCreateWithFlags(&e, cudaEventDisableTiming | cudaEventBlockingSync), "event");
			for (size_t p = PAGES * i / nthreads; p + part / ROWS <= PAGES * (i + 1) / nthreads; half = 1 - half)
			{
				char	   *at = to + half * part;

				check(cudaEventSynchronize(taken[half]), "event");
				for (size_t n = 0; n < part / ROWS; n++)
					memcpy(at + n * ROWS, pages + p++ * PAGE + 24, ROWS);
				check(cudaMemcpyAsync(device_memory + (at - slab), at, part, cudaMemcpyHostToDevice, s), "copy");
				check(cudaEventRecord(taken[half], s), "event");
				sent += part / ROWS * ROWS;
			}
			check(cudaStreamSynchronize(s), "copy");
		});
	for (std::thread &t : threads)
		t.join();
	return sent / 1e9 / (seconds() - start);
}

static void
measure_bus()
{
	for (size_t piece = (size_t) 512 << 10; piece <= (size_t) 16 << 20; piece *= 2)
	{
		size_t		n = ((size_t) 2 << 30) / piece;
		double		queued = 0;
		double		start;

		for (int round = 0; round < 2; round++)
		{
			start = seconds();
			for (size_t i = 0; i < n; i++)
				check(cudaMemcpyAsync(device_memory + i * piece, slab + i % (SLAB / piece) * piece, piece,
									  cudaMemcpyHostToDevice, stream), "copy");
			check(cudaStreamSynchronize(stream), "copy");
			queued = n * piece / 1e9 / (seconds() - start);
		}
		start = seconds();
		for (size_t i = 0; i < n; i++)
		{
			check(cudaMemcpyAsync(device_memory + i * piece, slab + i % (SLAB / piece) * piece, piece,
								  cudaMemcpyHostToDevice, stream), "copy");
			check(cudaStreamSynchronize(stream), "copy");
		}
		printf("host to device, pieces of %zu kB: %.1f GB/s queued, %.1f one at a time\n",
			   piece >> 10, queued, n * piece / 1e9 / (seconds() - start));
	}
}

static void
measure_pages()
{
	for (int n : {1, 2, 4, 8, 12, 16})
		printf("pages by %d threads: checksum %.1f, copy %.1f, both %.1f GB/s\n", n,
			   read_pages(n, true, false), read_pages(n, false, true), read_pages(n, true, true));
	for (int n : {4, 8, 14})
		printf("copied and sent by %d threads, 2 parts each: of 4 MB %.1f, of 2 MB %.1f, of 1 MB %.1f GB/s\n", n,
			   load_pages(n, (size_t) 4 << 20), load_pages(n, (size_t) 2 << 20), load_pages(n, (size_t) 1 << 20));
	for (int n : {4, 8, 12, 16})
	{
		std::atomic<bool> stop{false};
		size_t		fed = 0;
		double		start = seconds();
		std::thread feeder([&] { fed = feed_device(stop); });
		double		rate = read_pages(n, true, true);

		stop = true;
		feeder.join();
		printf("checksum and copy by %d threads %.1f GB/s while the bus takes %.1f\n", n, rate,
			   fed / 1e9 / (seconds() - start));
	}
}

__global__ void
empty_kernel()
{
}

__global__ void
flag_kernel(volatile uint32_t *flag, uint32_t value)
{
	*flag = value;
	__threadfence_system();
}

/* Microseconds between two threads, there and back. */
static void
measure_wakes()
{
	int			pair[2];
	char		c = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return;
	std::thread echo([&] {
		char		x;

		while (read(pair[1], &x, 1) == 1 && x != 0 && write(pair[1], &x, 1) == 1)
			;
	});

	printf("socket, there and back, asleep: %.1f us\n", median([&] {
		if (write(pair[0], &c, 1) != 1 || read(pair[0], &c, 1) != 1)
			exit(1);
	}));
	c = 0;
	if (write(pair[0], &c, 1) != 1)
		exit(1);
	echo.join();
}

static void
measure_calls()
{
	std::vector<char> plain(1 << 20);
	char	   *pinned;
	uint32_t	value = 0;

	check(cudaHostAlloc(&pinned, 1 << 20, cudaHostAllocPortable | cudaHostAllocMapped), "pinned memory");
	volatile uint32_t *flag = (volatile uint32_t *) pinned;

	printf("launch, and wait asleep: %.1f us\n",
		   median([] { empty_kernel<<<1, 1, 0, stream>>>(); cudaStreamSynchronize(stream); }));
	printf("launch, and ask until done: %.1f us\n", median([] { empty_kernel<<<1, 1, 0, stream>>>(); spin(); }));
	printf("launch, and look at a word in pinned memory: %.1f us\n", median([&] {
		flag_kernel<<<1, 1, 0, stream>>>(flag, ++value);
		while (*flag != value)
			;
	}));
	for (size_t n : {(size_t) 8, (size_t) 64 << 10, (size_t) 1 << 20})
		for (bool to_device : {true, false})
		{
			auto		copy = [&] (char *host) {
				cudaMemcpyAsync(to_device ? device_memory : host, to_device ? host : device_memory, n,
								to_device ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost, stream);
				spin();
			};

			printf("%zu bytes %s device: %.1f us plain memory, %.1f pinned\n", n, to_device ? "to" : "from",
				   median([&] { copy(plain.data()); }), median([&] { copy(pinned); }));
		}
	printf("two events recorded and asked: %.1f us\n", [] {
		cudaEvent_t a,
					b;
		float		ms;

		check(cudaEventCreate(&a), "event");
		check(cudaEventCreate(&b), "event");
		return median([&] {
			cudaEventRecord(a, stream);
			cudaEventRecord(b, stream);
			spin();
			cudaEventElapsedTime(&ms, a, b);
		});
	}());
}

int
main()
{
	int			fd = memfd_create("slab", 0);

	check(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync), "device");
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
	check(cudaMalloc(&device_memory, (size_t) 2 << 30), "device memory");
	pages = (char *) mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (pages == MAP_FAILED || fd < 0 || ftruncate(fd, SLAB) != 0)
		return 1;
	memset(pages, 1, PAGES * PAGE);
	slab = (char *) mmap(NULL, SLAB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (slab == MAP_FAILED)
		return 1;
	check(cudaHostRegister(slab, SLAB, cudaHostRegisterPortable), "register");
	measure_bus();
	measure_pages();
	measure_wakes();
	measure_calls();
	return 0;
}
