/*-------------------------------------------------------------------------
 *
 * threads.c
 *	  How many threads work may use, and the whole server.
 *
 * One number in shared memory counts the threads of all sessions, beside the server
 * processes themselves.  It is made on first use by whoever comes first (without
 * preload it comes out of the spare part of shared memory).  A process counts a thread
 * before it starts it, against gpucol.max_cpu_threads; the thread takes itself off when
 * it ends, and what is left when the process exits, that takes off.  A process that dies
 * without a word takes the cluster down, and the number with it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <unistd.h>

#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "base/pool.h"
#include "base/thread.h"
#include "guc.h"
#include "service/threads.h"

/* Threads that gpucol.max_cpu_threads = 0 allows: for each processor, and at least. */
#define THREADS_PER_PROCESSOR	4
#define LEAST_THREADS			64

static pg_atomic_uint32 *server_threads = NULL;

/* Those of this process that it counts; 0 for good once it exits. */
static pg_atomic_uint32 own_threads;

/* Process exit: threads that still sleep have no time to take themselves off. */
static void
give_all(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	pg_atomic_fetch_sub_u32(server_threads, pg_atomic_exchange_u32(&own_threads, 0));
}

/* Attach to the number, making it if need be. */
static void
attach(void)
{
	pg_atomic_uint32 *shared;
	bool		found;

	if (server_threads != NULL)
		return;
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	shared = ShmemInitStruct("gpucol threads", sizeof(pg_atomic_uint32), &found);
	if (!found)
		pg_atomic_init_u32(shared, 0);
	LWLockRelease(AddinShmemInitLock);
	on_shmem_exit(give_all, (Datum) 0);
	server_threads = shared;
}

/* Threads that the server may have. */
static uint32
most_threads(void)
{
	if (gpucol_max_cpu_threads > 0)
		return gpucol_max_cpu_threads;
	return Max(THREADS_PER_PROCESSOR * gpucol_threads_processors(), LEAST_THREADS);
}

/* GpucolThreadGovernor */
static bool
take_thread(void)
{
	uint32		now;

	if (server_threads == NULL)
		return false;
	now = pg_atomic_read_u32(server_threads);
	do
		if (now >= most_threads())
			return false;
	while (!pg_atomic_compare_exchange_u32(server_threads, &now, now + 1));
	pg_atomic_fetch_add_u32(&own_threads, 1);
	return true;
}

/* GpucolThreadGovernor; called in the thread that ends. */
static void
give_thread(void)
{
	uint32		now = pg_atomic_read_u32(&own_threads);

	do
		if (now == 0)
			return;
	while (!pg_atomic_compare_exchange_u32(&own_threads, &now, now - 1));
	pg_atomic_fetch_sub_u32(server_threads, 1);
}

void
gpucol_threads_init(void)
{
	static const GpucolThreadGovernor governor = {take_thread, give_thread};

	pg_atomic_init_u32(&own_threads, 0);
	gpucol_thread_govern(&governor);
}

int
gpucol_threads_processors(void)
{
	static int	known = 0;		/* asking the system opens a file */

	if (known == 0)
		known = Max((int) sysconf(_SC_NPROCESSORS_ONLN), 1);
	return known;
}

int
gpucol_threads_wanted(int most)
{
	attach();
	if (gpucol_cpu_threads > 0)
		return gpucol_cpu_threads;
	return Min(Min(most, gpucol_threads_processors()), GPUCOL_POOL_MAX_THREADS);
}
