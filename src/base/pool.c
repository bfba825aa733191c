/*-------------------------------------------------------------------------
 *
 * pool.c
 *	  The compute threads of a process: fork and join.
 *
 * A call's work is a number of shares.  Threads claim shares; the caller takes
 * the first and then whatever nobody has claimed yet, so it never waits for a
 * thread that has still to wake up, only for one that is at work.  A thread that
 * has found nothing to claim looks on for some microseconds before it sleeps,
 * because waking it costs more than most gaps between windows.
 *
 * Starting threads costs as much as a short query: they stay, asleep, for the next
 * one, and end when none has come for a while.  Threads hold the lock when they decide
 * that, so a call that is begun under it finds those that it has counted.
 *
 *-------------------------------------------------------------------------
 */
#include "base/pool.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/owned.h"
#include "base/thread.h"

/* A call: its number, how many shares it has, and the next of them to claim. */
#define CLAIM_SHARES(claim)		((int) ((claim) >> 16 & 0xffff))
#define CLAIM_NEXT(claim)		((int) ((claim) & 0xffff))

#define SPINS 4000				/* some tens of microseconds */

/* What a thread would have the main one do; it lies on the stack of who waits for it. */
typedef struct Question
{
	void		(*call) (void *arg);
	void	   *arg;
	bool		answered;		/* protected by the pool's lock */
	struct Question *before;
} Question;

static struct
{
	_Atomic uint64_t claim __attribute__((aligned(128)));
	void		(*task) (void *arg, int index);
	void	   *arg;
	_Atomic int finished __attribute__((aligned(128)));	/* shares */
	_Atomic bool waiting;		/* the caller sleeps until all are */

	_Atomic int sleeping __attribute__((aligned(128)));	/* threads */
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_cond_t done;
	int			alive;			/* threads; protected by lock */
	bool		held;			/* they stay until the next call; protected by lock */
	bool		busy;			/* the main thread is in a call */

	_Atomic(Question *) question;	/* the last of those that are not answered; changed under lock */
	pthread_cond_t answered;
	bool		mute;			/* none is answered until the next call; protected by lock */
} pool =
{
	.lock = PTHREAD_MUTEX_INITIALIZER,
	.wake = PTHREAD_COND_INITIALIZER,
	.done = PTHREAD_COND_INITIALIZER,
	.answered = PTHREAD_COND_INITIALIZER
};

/* Is this one of the pool's threads, not the main one? */
static __thread bool of_pool;

static inline void
relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* Is there a share to claim? */
static inline bool
has_share(void)
{
	uint64_t	claim = pool.claim;

	return CLAIM_NEXT(claim) < CLAIM_SHARES(claim);
}

/* Claim the next share of the current call; -1 if there is none. */
static int
claim_share(int *shares)
{
	uint64_t	claim = pool.claim;

	while (CLAIM_NEXT(claim) < CLAIM_SHARES(claim))
		if (atomic_compare_exchange_weak(&pool.claim, &claim, claim + 1))
		{
			*shares = CLAIM_SHARES(claim);
			return CLAIM_NEXT(claim);
		}
	return -1;
}

/* Do this share, of a call of so many, and then others until there are none to claim. */
static void
do_shares(int share, int shares)
{
	for (; share >= 0; share = claim_share(&shares))
	{
		pool.task(pool.arg, share);
		if (atomic_fetch_add(&pool.finished, 1) + 1 == shares && pool.waiting)
		{
			pthread_mutex_lock(&pool.lock);
			pthread_cond_signal(&pool.done);
			pthread_mutex_unlock(&pool.lock);
		}
	}
}

/* Sleep until there is work; false: none has come, and the thread is counted off. */
static bool
sleep_until_work(void)
{
	bool		stays = true;

	pthread_mutex_lock(&pool.lock);
	pool.sleeping++;
	while (stays && !has_share())
		stays = gpucol_thread_wait(&pool.wake, &pool.lock, GPUCOL_POOL_IDLE_MS) ||
			pool.held || has_share();
	pool.sleeping--;
	if (!stays)
		pool.alive--;
	pthread_mutex_unlock(&pool.lock);
	return stays;
}

/* Claim a share, or look on for a moment whether there will be one; -1: there is none. */
static int
await_share(int *shares)
{
	int			share = claim_share(shares);

	for (int i = 0; share < 0 && i < SPINS; i++)
	{
		relax();
		if (has_share())
			share = claim_share(shares);
	}
	return share;
}

/* Work, look on, sleep, repeat. */
static void
thread_main(void *arg)
{
	int			shares;
	int			share;

	(void) arg;
	of_pool = true;
	do
		while ((share = await_share(&shares)) >= 0)
			do_shares(share, shares);
	while (sleep_until_work());
}

/* Start threads until there are n beside the caller, or one is refused; locked. */
static int
grow(int n)
{
	int			before = pool.alive;

	while (pool.alive < n && gpucol_thread_start(NULL, thread_main, NULL))
		pool.alive++;
	if (pool.alive > before)
		gpucol_owned_keep(pool.alive + 1);
	return pool.alive < n ? pool.alive : n;
}

/* Have threads for n shares, and perhaps hold them. */
static int
prepare(int n, bool hold)
{
	if (n <= 1 || pool.busy)
		return 1;
	n = n < GPUCOL_POOL_MAX_THREADS ? n : GPUCOL_POOL_MAX_THREADS;
	pthread_mutex_lock(&pool.lock);
	n = grow(n - 1) + 1;
	pool.held = hold;
	pthread_mutex_unlock(&pool.lock);
	return n;
}

int
gpucol_pool_ready(int n)
{
	return prepare(n, false);
}

int
gpucol_pool_hold(int n)
{
	return prepare(n, true);
}

/* Let the threads have n shares, but for the caller's. */
static void
begin_call(int n, void (*task) (void *arg, int index), void *arg)
{
	pool.busy = true;
	pool.task = task;
	pool.arg = arg;
	pool.finished = 0;
	pool.waiting = false;
	pool.mute = false;
	pool.claim = ((pool.claim >> 32) + 1) << 32 | (uint64_t) n << 16 | 1;
	if (pool.sleeping > 0)
	{
		pthread_mutex_lock(&pool.lock);
		pthread_cond_broadcast(&pool.wake);
		pthread_mutex_unlock(&pool.lock);
	}
}

/* Answer who asks; locked, but for the calls. */
static void
answer_all(void)
{
	while (pool.question != NULL)
	{
		Question   *question = pool.question;

		pool.question = question->before;
		pthread_mutex_unlock(&pool.lock);
		question->call(question->arg);
		pthread_mutex_lock(&pool.lock);
		question->answered = true;
		pthread_cond_broadcast(&pool.answered);
	}
}

void
gpucol_pool_answer(void)
{
	if (pool.question == NULL || of_pool)
		return;
	pthread_mutex_lock(&pool.lock);
	answer_all();
	pthread_mutex_unlock(&pool.lock);
}

bool
gpucol_pool_ask(void (*call) (void *arg), void *arg)
{
	Question	question = {.call = call,.arg = arg};

	if (!of_pool)
	{
		call(arg);
		return true;
	}
	pthread_mutex_lock(&pool.lock);
	if (!pool.mute)
	{
		question.before = pool.question;
		pool.question = &question;
		pthread_cond_signal(&pool.done);
	}
	while (!question.answered && !pool.mute)
		pthread_cond_wait(&pool.answered, &pool.lock);
	pthread_mutex_unlock(&pool.lock);
	return question.answered;
}

/* Wait until all n shares are done. */
static void
end_call(int n)
{
	for (int i = 0; i < SPINS && pool.finished < n && pool.question == NULL; i++)
		relax();
	if (pool.finished < n || pool.held)
	{
		pthread_mutex_lock(&pool.lock);
		pool.waiting = true;
		for (answer_all(); pool.finished < n; answer_all())
			pthread_cond_wait(&pool.done, &pool.lock);
		pool.held = false;
		pthread_mutex_unlock(&pool.lock);
	}
	pool.busy = false;
}

void
gpucol_pool_run(int n, void (*task) (void *arg, int index), void *arg)
{
	if (n <= 1 || pool.busy)
	{
		for (int i = 0; i < n; i++)
			task(arg, i);
		return;
	}
	begin_call(n, task, arg);
	do_shares(0, n);
	end_call(n);
}

void
gpucol_pool_abandon(void)
{
	uint64_t	claim = pool.claim;
	uint64_t	all;

	if (!pool.busy)
		return;
	do
		all = claim + (uint64_t) (CLAIM_SHARES(claim) - CLAIM_NEXT(claim));
	while (!atomic_compare_exchange_weak(&pool.claim, &claim, all));
	pthread_mutex_lock(&pool.lock);
	pool.mute = true;
	pool.question = NULL;
	pthread_cond_broadcast(&pool.answered);
	pthread_mutex_unlock(&pool.lock);
	/* the caller's own share does not return; while it waits for the others it has none */
	while (pool.finished < CLAIM_NEXT(claim) - (pool.waiting ? 0 : 1))
		sched_yield();
	pthread_mutex_lock(&pool.lock);
	pool.held = false;
	pthread_mutex_unlock(&pool.lock);
	pool.busy = false;
}
