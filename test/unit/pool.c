/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The compute threads (base/pool.h): every share is done once, whoever does it,
 *	  shares that wait for each other run at once, the main thread answers who asks it, idle
 *	  threads end, and fewer are had where more are refused.
 *
 *-------------------------------------------------------------------------
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/thread.h"
#include "check.h"

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
test_shares(int nshares, int calls)
{
	for (int call = 0; call < calls; call++)
	{
		Work		work;

		memset(&work, 0, sizeof(work));
		work.weight = (int) (check_random() % 200);
		if (check_random() % 500 == 0)
			usleep(2000);
		gpucol_pool_run(nshares, do_share, &work);
		for (int i = 0; i < MAX_SHARES; i++)
			CHECK(work.done[i] == (i < nshares), "share %d of %d: %d times", i, nshares,
				  work.done[i]);
	}
}

/* Shares that all wait until all have begun. */
typedef struct Meeting
{
	_Atomic int here;
	int			all;
} Meeting;

static void
meet(void *arg, int index)
{
	Meeting    *meeting = arg;

	(void) index;
	atomic_fetch_add(&meeting->here, 1);
	while (meeting->here < meeting->all)
		usleep(10);
}

static void
test_together(int wanted, int calls)
{
	for (int call = 0; call < calls; call++)
	{
		Meeting		meeting = {.all = gpucol_pool_hold(wanted)};

		CHECK(meeting.all == wanted, "%d of %d", meeting.all, wanted);
		if (check_random() % 50 == 0)
			usleep(2000);
		gpucol_pool_run(meeting.all, meet, &meeting);
		CHECK(meeting.here == meeting.all, "%d of %d met", meeting.here, meeting.all);
	}
}

/* A share that has work of its own for the threads, which are busy. */
static void
do_nested(void *arg, int index)
{
	if (index == 0)
	{
		CHECK(gpucol_pool_ready(4) == 1, "threads for a call within a call");
		gpucol_pool_run(4, do_share, arg);
	}
}

static void
test_nested(void)
{
	Work		work;

	memset(&work, 0, sizeof(work));
	gpucol_pool_run(4, do_nested, &work);
	for (int i = 0; i < 4; i++)
		CHECK(work.done[i] == 1, "share %d: %d times", i, work.done[i]);
}

/* A share that its caller leaves by longjmp, while others work. */
static jmp_buf away;
static _Atomic int working;

static void
leave(void *arg, int index)
{
	Work	   *work = arg;

	if (index > 0)
	{
		atomic_fetch_add(&working, 1);
		do_share(work, index);
		atomic_fetch_sub(&working, 1);
		return;
	}
	if (check_random() % 2 == 0)
		usleep(100);
	gpucol_pool_abandon();
	longjmp(away, 1);
}

static void
test_abandoned(int calls)
{
	static Work work;

	for (volatile int call = 0; call < calls; call++)
	{
		memset(&work, 0, sizeof(work));
		work.weight = 2000;
		if (setjmp(away) == 0)
			gpucol_pool_run(MAX_SHARES, leave, &work);
		CHECK(working == 0, "%d threads are still at work", working);
		for (int i = 1; i < MAX_SHARES; i++)
			CHECK(work.done[i] <= 1, "share %d: %d times", i, work.done[i]);
		test_shares(4, 1);
	}
	gpucol_pool_abandon();
	test_shares(4, 1);
}

/* Threads that the process had at its start: an emulator has one of its own. */
static int	extra;

/* Threads of this process: itself and the pool's. */
static int
count_threads(void)
{
	DIR		   *dir = opendir("/proc/self/task");
	int			n = 0;

	while (dir != NULL && readdir(dir) != NULL)
		n++;
	if (dir != NULL)
		closedir(dir);
	return n - 2 - extra;
}

/* Shares that have the main thread count for them, each time that it answers or waits. */
typedef struct Asking
{
	pthread_t	main;
	int			answers;		/* counted by the main thread alone */
	_Atomic int asked;
	_Atomic int refused;
	int			leaves_at;		/* the main thread leaves by longjmp at so many answers; 0: it does not */
} Asking;

static void
count_answer(void *arg)
{
	Asking	   *asking = arg;

	CHECK(pthread_equal(pthread_self(), asking->main), "answered by another thread");
	if (asking->leaves_at > 0 && asking->answers == asking->leaves_at)
	{
		gpucol_pool_abandon();
		longjmp(away, 1);
	}
	asking->answers++;
}

static void
ask(void *arg, int index)
{
	Asking	   *asking = arg;

	for (int i = 0; i < 20; i++)
	{
		if (gpucol_pool_ask(count_answer, asking))
			atomic_fetch_add(&asking->asked, 1);
		else
			atomic_fetch_add(&asking->refused, 1);
		if (index == 0)
			gpucol_pool_answer();
	}
}

static void
test_asking(int calls)
{
	static Asking asking;

	for (volatile int call = 0; call < calls; call++)
	{
		bool		leaves = call % 3 == 2;

		memset(&asking, 0, sizeof(asking));
		asking.main = pthread_self();
		asking.leaves_at = leaves ? 1 + (int) (check_random() % (MAX_SHARES * 20 - 1)) : 0;
		if (setjmp(away) == 0)
			gpucol_pool_run(MAX_SHARES, ask, &asking);
		CHECK(asking.answers == asking.asked, "%d answers, %d were asked for", asking.answers, asking.asked);
		CHECK(leaves || asking.answers == MAX_SHARES * 20, "%d answers", asking.answers);
		CHECK(leaves || asking.refused == 0, "%d refused", asking.refused);
	}
}

/* So many threads, which may take a while to end, or to be listed no more. */
static bool
become_threads(int n)
{
	for (int i = 0; i < 400 && count_threads() != n; i++)
		usleep(GPUCOL_POOL_IDLE_MS * 25);
	return count_threads() == n;
}

/* One who allows two threads. */
static _Atomic int taken;

static bool
take(void)
{
	if (atomic_fetch_add(&taken, 1) < 2)
		return true;
	atomic_fetch_sub(&taken, 1);
	return false;
}

static void
give(void)
{
	atomic_fetch_sub(&taken, 1);
}

static void
test_governed(void)
{
	GpucolThreadGovernor governor = {take, give};
	int			idle = count_threads();

	CHECK(become_threads(1), "%d threads, %d before", count_threads(), idle);
	gpucol_thread_govern(&governor);
	CHECK(gpucol_pool_ready(8) == 3, "two threads and the caller");
	test_shares(8, 100);
	test_together(3, 100);
	CHECK(become_threads(1) && taken == 0, "%d threads, %d taken", count_threads(), taken);
}

int
main(void)
{
	extra = count_threads() - 1;
	CHECK(gpucol_pool_ready(1) == 1 && count_threads() == 1, "no threads before they are wanted");
	for (int nshares = 1; nshares <= MAX_SHARES; nshares += 3)
		test_shares(nshares, 3000);
	for (int nshares = 2; nshares <= MAX_SHARES; nshares += 3)
		test_together(nshares, 300);
	test_nested();
	test_abandoned(300);
	test_asking(600);
	test_governed();
	return check_summary("pool");
}
