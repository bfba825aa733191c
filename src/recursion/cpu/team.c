/*-------------------------------------------------------------------------
 *
 * team.c
 *	  Threads that evaluate one rule together.
 *
 * Each member runs the whole pipeline of the rule over pieces of the rows that
 * its first atom scans, and collects what it emits in a buffer of its own.  When
 * every member has a full buffer, or nothing left to do, they meet and bring the
 * buffers into the relation: the hash of a candidate says which member decides
 * whether it is new, so that no two touch the same part of the set; then each
 * copies the rows of its buffer that were kept to their place.
 *
 * They also meet when one has given values as many ids as there was room for.
 *
 * Only the first member, the caller's thread, allocates and asks for cancels.
 *
 *-------------------------------------------------------------------------
 */
#include "recursion/cpu/engine.h"

#define CANDIDATES		(UINT32_C(1) << 20) /* in all buffers together, at most */
#define LEAST_BUFFER	(UINT32_C(1) << 14)
#define MOST_IDS		(UINT32_C(1) << 16) /* that a member gives between two meetings, at most */
#define FAN_OUT			64		/* candidates of a row that buffers have room for */

struct GpucolRecTeam
{
	GpucolRecRun *run;
	GpucolRecTable *table;
	GpucolRecBuffer *buffers;	/* one for each member */
	uint32_t	room;			/* candidates of a buffer */
	uint32_t	ids;			/* that a member may give between two meetings; 0: the rule computes nothing */
	int			nbuffers;
	void		(*work) (void *context, GpucolRecTeam *team, int member);
	void	   *context;

	pthread_mutex_t lock;		/* of what follows */
	pthread_cond_t met;
	int			members;		/* threads that there are */
	int			waiting;
	uint64_t	meeting;		/* counts them */
	int			working;		/* members that have rows left */
	bool		more;			/* was one at the last meeting? */
	bool		quit;			/* the last meeting was to end it all */
	GpucolStatus failed;		/* first failure */
	_Atomic bool stop;

	_Atomic uint64_t next_row;	/* not dealt out yet */
	uint64_t	last_row;
	uint64_t	piece;
};

/* ---- meeting ---- */

void
gpucol_rec_team_fail(GpucolRecTeam *team, GpucolStatus status)
{
	pthread_mutex_lock(&team->lock);
	if (team->failed == GPUCOL_OK)
		team->failed = status;
	pthread_mutex_unlock(&team->lock);
	atomic_store(&team->stop, true);
}

bool
gpucol_rec_team_stopped(GpucolRecTeam *team, int member)
{
	if (member == 0 && gpucol_rec_cancelled(team->run))
		gpucol_rec_team_fail(team, GPUCOL_CANCELLED);
	return atomic_load_explicit(&team->stop, memory_order_relaxed);
}

/* All that wait go on; the lock is held. */
static void
end_meeting(GpucolRecTeam *team)
{
	team->waiting = 0;
	team->meeting++;
	team->more = team->working > 0;
	team->quit = atomic_load(&team->stop);
	pthread_cond_broadcast(&team->met);
}

/* Wait until all members are here. */
static void
meet(GpucolRecTeam *team, int member)
{
	uint64_t	meeting;

	pthread_mutex_lock(&team->lock);
	meeting = team->meeting;
	if (++team->waiting == team->members)
		end_meeting(team);
	while (meeting == team->meeting)
	{
		if (member != 0)
		{
			pthread_cond_wait(&team->met, &team->lock);
			continue;
		}
		gpucol_thread_wait(&team->met, &team->lock, GPUCOL_REC_POLL_MS);
		if (meeting != team->meeting)
			break;
		pthread_mutex_unlock(&team->lock);
		gpucol_rec_team_stopped(team, member);
		pthread_mutex_lock(&team->lock);
	}
	pthread_mutex_unlock(&team->lock);
}

/*
 * Bring all buffers into the relation, together.  False if the work is over:
 * all is done, or it failed.
 */
static bool
flush(GpucolRecTeam *team, int member)
{
	GpucolRecTable *table = team->table;
	GpucolRecBuffer *own = &team->buffers[member];
	bool		more;

	meet(team, member);
	more = team->more;
	if (team->quit)
		return false;
	if (member == 0)
	{
		GpucolStatus status = gpucol_rec_table_open(team->run, table,
													team->buffers,
													team->nbuffers);

		if (status == GPUCOL_OK && team->ids > 0)
			status = gpucol_rec_dictionary_share(team->run, (uint64_t) team->members, team->ids);
		if (status != GPUCOL_OK)
			gpucol_rec_team_fail(team, status);
	}
	meet(team, member);
	if (team->quit)
		return false;
	if (!gpucol_rec_table_decide(team->run, table, team->buffers, team->nbuffers,
								 member, team->members))
		gpucol_rec_team_fail(team, GPUCOL_CANCELLED);
	meet(team, member);
	gpucol_rec_table_count(own);
	meet(team, member);
	gpucol_rec_table_take(table, team->buffers, member);
	meet(team, member);
	if (member == 0)
		gpucol_rec_table_close(team->run, table, team->buffers, team->nbuffers);
	meet(team, member);
	own->n = 0;
	return more;
}

/* ---- members ---- */

GpucolStatus
gpucol_rec_team_emit(GpucolRecTeam *team, int member, uint32_t n,
					 const uint32_t *const *columns)
{
	GpucolRecBuffer *own = &team->buffers[member];

	if (own->n + n > team->room && !flush(team, member))
	{
		own->ended = true;
		return team->failed;
	}
	gpucol_rec_table_offer(team->table, own, n, columns);
	return GPUCOL_OK;
}

GpucolStatus
gpucol_rec_team_ids(GpucolRecTeam *team, int member, GpucolRecOwnIds *ids, uint32_t n)
{
	if (ids->left >= n)
		return GPUCOL_OK;
	/* there is room from the start */
	if (ids->end > 0 && !flush(team, member))
	{
		team->buffers[member].ended = true;
		return team->failed;
	}
	ids->left = team->ids;
	return GPUCOL_OK;
}

bool
gpucol_rec_team_rows(GpucolRecTeam *team, uint64_t *first, uint64_t *last)
{
	*first = atomic_fetch_add(&team->next_row, team->piece);
	*last = *first + team->piece < team->last_row ?
		*first + team->piece : team->last_row;
	return *first < team->last_row &&
		!atomic_load_explicit(&team->stop, memory_order_relaxed);
}

static void
member_main(void *context, int member)
{
	GpucolRecTeam *team = context;

	team->work(team->context, team, member);
	pthread_mutex_lock(&team->lock);
	team->working--;
	pthread_mutex_unlock(&team->lock);
	while (!team->buffers[member].ended && flush(team, member))
		;
}

/* ---- life ---- */

static void
free_buffers(GpucolRecTeam *team)
{
	GpucolBudget *memory = &team->run->memory;
	int			i;

	for (i = 0; i < team->nbuffers; i++)
		gpucol_rec_buffer_free(memory, team->table, &team->buffers[i]);
}

/* Candidates that the buffer of each member has room for, where so many rows are scanned. */
static uint32_t
choose_room(uint64_t rows, int members)
{
	uint64_t	room = rows < CANDIDATES / FAN_OUT ? rows * FAN_OUT : CANDIDATES;

	room /= (uint64_t) members;
	return room > LEAST_BUFFER ? (uint32_t) room : LEAST_BUFFER;
}

/*
 * Buffers for all members, or for fewer of them where all would take more than half of the
 * memory that is left: the relation that they are brought into grows, too.  False: there is
 * not enough for two.
 */
static bool
make_buffers(GpucolRecTeam *team)
{
	GpucolBudget *memory = &team->run->memory;
	size_t		spare = gpucol_budget_left(memory) / 2;
	int			wanted = team->nbuffers;

	for (team->nbuffers = 0; team->nbuffers < wanted; team->nbuffers++)
		if (!gpucol_rec_buffer_init(memory, team->table, &team->buffers[team->nbuffers],
									team->room) ||
			gpucol_budget_left(memory) < spare)
		{
			gpucol_rec_buffer_free(memory, team->table, &team->buffers[team->nbuffers]);
			break;
		}
	if (team->nbuffers > 1)
		return true;
	free_buffers(team);
	return false;
}

GpucolStatus
gpucol_rec_team_run(GpucolRecRun *run, GpucolRecTable *table, uint64_t first,
					uint64_t last, int members, bool computes,
					void (*work) (void *context, GpucolRecTeam *team,
								  int member), void *context)
{
	GpucolRecBuffer buffers[GPUCOL_POOL_MAX_THREADS];
	GpucolRecTeam team;

	memset(&team, 0, sizeof(team));
	memset(buffers, 0, members * sizeof(GpucolRecBuffer));
	team.run = run;
	team.table = table;
	team.buffers = buffers;
	team.nbuffers = members;
	team.room = choose_room(last - first, members);
	team.work = work;
	team.context = context;
	team.next_row = first;
	team.last_row = last;
	team.piece = (last - first) / ((uint64_t) members * 8);
	team.piece = team.piece < 16 ? 16 : team.piece > 4096 ? 4096 : team.piece;
	if (!make_buffers(&team))
		return GPUCOL_END;
	team.ids = !computes ? 0 : team.room < MOST_IDS ? team.room : MOST_IDS;
	if (computes && gpucol_rec_dictionary_share(run, (uint64_t) team.nbuffers, team.ids) != GPUCOL_OK)
	{
		free_buffers(&team);
		return GPUCOL_END;
	}
	pthread_mutex_init(&team.lock, NULL);
	pthread_cond_init(&team.met, NULL);
	team.members = team.working = gpucol_pool_hold(team.nbuffers);
	gpucol_pool_run(team.members, member_main, &team);
	pthread_cond_destroy(&team.met);
	pthread_mutex_destroy(&team.lock);
	free_buffers(&team);
	if (team.members > run->progress.threads)
		run->progress.threads = team.members;
	return team.failed;
}
