/*-------------------------------------------------------------------------
 *
 * share.c
 *	  Work of the recursion kernels that threads share out among themselves.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/share.h"

/* A share while threads work on it. */
typedef struct Sharing
{
	GpucolRecShare *share;
	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t left;		/* one of the others has */
	int			others;			/* threads at work beside the caller's */
} Sharing;

void
gpucol_rec_share_fail(GpucolRecShare *share, GpucolStatus status)
{
	int			before = GPUCOL_OK;

	atomic_compare_exchange_strong(&share->status, &before, (int) status);
}

void
gpucol_rec_share_poll(GpucolRecShare *share)
{
	share->unpolled = 0;
	if (gpucol_rec_cancelled(share->run))
		gpucol_rec_share_fail(share, GPUCOL_CANCELLED);
}

/* Take items until there are no more. */
static void
take_items(GpucolRecShare *share, int worker)
{
	for (;;)
	{
		uint64_t	item = atomic_fetch_add(&share->next, share->piece);
		uint64_t	end = item + share->piece < share->nitems ?
			item + share->piece : share->nitems;

		if (item >= share->nitems)
			return;
		for (; item < end; item++)
		{
			if (gpucol_rec_share_stopped(share, worker, 1))
				return;
			share->work(share->context, worker, item);
		}
	}
}

/* A thread is done. */
static void
leave(Sharing *sharing)
{
	pthread_mutex_lock(&sharing->lock);
	sharing->others--;
	pthread_cond_signal(&sharing->left);
	pthread_mutex_unlock(&sharing->lock);
}

/* Wait for the other threads, and look for a cancel meanwhile. */
static void
wait_for_others(Sharing *sharing)
{
	pthread_mutex_lock(&sharing->lock);
	while (sharing->others > 0)
	{
		if (gpucol_thread_wait(&sharing->left, &sharing->lock, GPUCOL_REC_POLL_MS))
			continue;
		pthread_mutex_unlock(&sharing->lock);
		gpucol_rec_share_poll(sharing->share);
		pthread_mutex_lock(&sharing->lock);
	}
	pthread_mutex_unlock(&sharing->lock);
}

static void
worker_main(void *context, int worker)
{
	Sharing    *sharing = context;

	take_items(sharing->share, worker);
	if (worker == 0)
		wait_for_others(sharing);
	else
		leave(sharing);
}

GpucolStatus
gpucol_rec_share_run(GpucolRecShare *share, int threads, uint64_t nitems, uint64_t piece,
					 void (*work) (void *context, int worker, uint64_t item),
					 void *context)
{
	Sharing		sharing = {.share = share};

	share->work = work;
	share->context = context;
	share->nitems = nitems;
	share->piece = piece;
	atomic_store(&share->next, 0);
	pthread_mutex_init(&sharing.lock, NULL);
	pthread_cond_init(&sharing.left, NULL);
	threads = gpucol_pool_hold(threads);
	sharing.others = threads - 1;
	gpucol_pool_run(threads, worker_main, &sharing);
	pthread_cond_destroy(&sharing.left);
	pthread_mutex_destroy(&sharing.lock);
	if (threads > share->run->progress.threads)
		share->run->progress.threads = threads;
	return gpucol_rec_share_status(share);
}
