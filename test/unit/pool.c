/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The compute threads (engine/cpu/pool.c): every share is done once, whoever
 *	  does it, and a pool that is given back serves the next run.
 *
 *-------------------------------------------------------------------------
 */
#include <unistd.h>

#include "check.h"
#include "engine/cpu/cpu.h"

#define MAX_SHARES 8

typedef struct Work
{
	_Atomic int done[MAX_SHARES];
	int			weight;			/* additions in a share */
	_Atomic uint64_t sum;
} Work;

static void
do_share(void *arg, int index)
{
	Work	   *work = arg;
	uint64_t	sum = 0;

	for (int i = 0; i < work->weight * (index + 1); i++)
		sum += (uint64_t) i ^ (uint64_t) index;
	atomic_fetch_add(&work->sum, sum);
	atomic_fetch_add(&work->done[index], 1);
}

/* Many calls, short and long, some after the threads have gone to sleep. */
static void
test_shares(int nthreads, int calls)
{
	GpucolCpuPool *pool = gpucol_cpu_pool_create(nthreads);

	CHECK(pool != NULL, "%d threads", nthreads);
	for (int call = 0; call < calls; call++)
	{
		Work		work;

		memset(&work, 0, sizeof(work));
		work.weight = (int) (check_random() % 200);
		if (check_random() % 500 == 0)
			usleep(2000);
		gpucol_cpu_pool_run(pool, do_share, &work);
		for (int i = 0; i < MAX_SHARES; i++)
			CHECK(work.done[i] == (i < nthreads), "share %d of %d: %d times", i, nthreads,
				  work.done[i]);
	}
	gpucol_cpu_pool_destroy(pool);
}

/* A pool given back is the next of its size. */
static void
test_kept(void)
{
	GpucolCpuPool *pool = gpucol_cpu_pool_create(3);
	GpucolCpuPool *other;

	gpucol_cpu_pool_destroy(pool);
	CHECK(gpucol_cpu_pool_create(3) == pool, "another pool");
	other = gpucol_cpu_pool_create(3);
	CHECK(other != pool, "a pool in use was given out");
	gpucol_cpu_pool_destroy(other);
	gpucol_cpu_pool_destroy(pool);
}

int
main(void)
{
	for (int nthreads = 2; nthreads <= MAX_SHARES; nthreads += 3)
		test_shares(nthreads, 3000);
	test_kept();
	return check_summary("pool");
}
