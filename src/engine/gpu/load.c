/*-------------------------------------------------------------------------
 *
 * load.c
 *	  Loading a table's columns into device memory by threads.
 *
 * The daemon is asked once what it lacks of the whole table, unless it is known to have
 * nothing (asking takes as long as opening all segments).  Then this thread goes
 * through the segments, pins the pages of what is lacking and hands them to a team
 * (engine/gpu/team.h) in jobs of some MB, of one segment or of several, while it collects and
 * unpins those that are done.  It pins as many pages at a time as the source allows.
 *
 * The floor is the bus: 53 GB/s from pinned memory, which 8 threads that do nothing
 * but copy and send parts of 4 MB reach nearly (test/gpu/stages.cu).  Of
 * this thread's time a page (8,064 bytes) takes 0.2 to 0.35 us to pin and unpin where
 * it lies in shared buffers (0.4 to 0.6 where its buffer has to be looked up), which
 * bounds one process at 25 to 40 GB/s.  A thread of the team copies 4 to 8 GB/s, less at the
 * first look of a session at a page, which the system has to map (2.5 us a page by
 * faults, 0.3 in one call, unless shared buffers lie in huge pages): so this thread
 * looks at none.
 * Pages that are not in shared buffers are read by this thread, which is slower: there
 * more parallel workers are better (exec/prefetch.c).
 *
 * A chunk that has more pages than may be pinned is left to gpucol_gpu_prefetch, which
 * maps a piece of it after the other.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/client.h"
#include "engine/gpu/team.h"

/* After which a job takes no more: an eighth of what each thread was dealt, within limits. */
#define LEAST_JOB		((uint64_t) 1 << 20)
#define MOST_JOB		((uint64_t) 4 << 20)
#define SHARE_OF_DEALT	8
#define JOB_PIECES		64
#define JOBS_AHEAD		2		/* that wait for a thread: more pins make each dearer */

/* A job that more segments may come to. */
typedef struct Making
{
	GpucolGpuJob *job;			/* NULL: there is none */
	uint64_t	bytes;
	uint32_t	nsegments;		/* one behind the other */
	uint32_t	ncolumns;		/* that each has in the job */
	GpucolWireSegment segments[JOB_PIECES];
	GpucolWireColumnChunk chunks[JOB_PIECES];	/* by segment and column */
} Making;

typedef struct Load
{
	const GpucolProgram *program;	/* reads columns, computes nothing */
	GpucolSource *source;
	GpucolGpuLacking lacking;	/* of the whole table, or of the segment at hand */
	GpucolGpuTeam *team;
	GpucolBudget *budget;		/* of jobs, or NULL */
	uint32_t	page_limit;		/* pinned at a time */
	uint32_t	npages;			/* pinned now */
	Making		making;
	uint64_t	dealt;			/* bytes, to so many threads: */
	uint32_t	nthreads;
	uint32_t	njobs;			/* not collected */
	uint32_t	most_jobs;
	GpucolGpuPrefetch *figures; /* shared */
	const char **why;
} Load;

/* A job that is made, and one that is looked at: what a longjmp must not lose. */
static GpucolGpuJob *made = NULL;
static GpucolGpuJob *at_hand = NULL;

/* What a piece takes. */
typedef struct Size
{
	uint32_t	npages;			/* that are pinned for it, at most */
	uint64_t	bytes;			/* that are copied */
} Size;

/* What a chunk's streams take. */
static Size
chunk_size(const GpucolChunkDesc *desc)
{
	uint32_t	present = gpucol_gpu_chunk_streams(GPUCOL_BYTES_UNUSED, desc);
	Size		size = {0};

	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (present >> k & 1)
		{
			size.npages += desc->streams[k].nrows / GPUCOL_PAGE_ROWS + 2;
			size.bytes += (uint64_t) desc->streams[k].nrows * GPUCOL_ROW_BYTES;
		}
	return size;
}

/* Unpin a job's pages and free it. */
static void
release_job(Load *load, GpucolGpuJob *job)
{
	for (uint32_t i = 0; i < job->npieces; i++)
		for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
			if (job->pieces[i].streams[k].window.npages > 0)
				load->source->ops->unmap(load->source, &job->pieces[i].streams[k].window);
	load->npages -= job->npages;
	if (job == at_hand)
		at_hand = NULL;
	if (job == made)
		made = load->making.job = NULL;
	gpucol_gpu_team_free_job(job);
}

/* Go to the segment of this number. */
static GpucolStatus
find_segment(Load *load, uint32_t number, GpucolSegment *segment)
{
	GpucolStatus status = GPUCOL_OK;

	load->source->ops->rescan(load->source);
	for (uint32_t i = 0; i <= number && status == GPUCOL_OK; i++)
		status = load->source->ops->next_segment(load->source, segment);
	return status;
}

/* Map a piece of a job in the ordinary way. */
static void
map_piece(Load *load, const GpucolSegment *segment, const GpucolGpuPiece *piece)
{
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
	{
		const GpucolGpuRows *rows = &piece->streams[k];
		GpucolRows	window;

		if (rows->window.npages > 0 &&
			load->source->ops->map(load->source, segment, (int) piece->column, k, 0,
								   rows->nrows, &window) == GPUCOL_OK)
			load->source->ops->unmap(load->source, &window);
	}
}

/*
 * A page fails its checksum: map the job's pages in the ordinary way, which raises the
 * error that says which.
 */
static void
raise_corrupt(Load *load, const GpucolGpuJob *job)
{
	GpucolSegment segment;

	for (uint32_t i = 0; i < job->npieces; i++)
		if (job->pieces[i].kind == GPUCOL_PUT_CHUNK &&
			find_segment(load, job->segment + job->pieces[i].segment, &segment) == GPUCOL_OK)
			map_piece(load, &segment, &job->pieces[i]);
}

/* What became of a job; frees it. */
static GpucolStatus
end_job(Load *load, GpucolGpuJob *job)
{
	static char reason[sizeof(job->why)];
	GpucolStatus status = job->status;

	at_hand = job;
	load->njobs--;
	__atomic_fetch_add(&load->figures->sent, job->sent, __ATOMIC_RELAXED);
	if (status != GPUCOL_OK)
	{
		memcpy(reason, job->why, sizeof(reason));
		*load->why = reason;
	}
	if (status == GPUCOL_CORRUPT)
	{
		*load->why = "a page fails its checksum";
		raise_corrupt(load, job);
	}
	release_job(load, job);
	return status;
}

/* Collect what is done, and wait until there is room for a job of so many pages. */
static GpucolStatus
make_room(Load *load, uint32_t npages)
{
	GpucolStatus status = GPUCOL_OK;

	while (status == GPUCOL_OK)
	{
		bool		full = load->njobs >= load->most_jobs ||
			(load->njobs > 0 && load->npages + npages > load->page_limit);
		GpucolGpuJob *job = gpucol_gpu_team_collect(load->team, full);

		if (job != NULL)
			status = end_job(load, job);
		else if (!full)
			break;
		load->source->ops->check_interrupts(load->source);
	}
	return status;
}

/* Make one more piece of the job that is made, and have its pages lent. */
static GpucolStatus
make_piece(Load *load, const GpucolSegment *segment, const GpucolWireNeed *need, uint32_t slot)
{
	GpucolGpuJob *job = load->making.job;
	GpucolGpuPiece *piece = &job->pieces[job->npieces++];
	GpucolStatus status = GPUCOL_OK;

	piece->kind = need->kind;
	piece->segment = load->making.nsegments;
	piece->slot = need->kind == GPUCOL_PUT_CHUNK ? slot : 0;
	piece->column = need->slot;
	if (need->kind == GPUCOL_PUT_DELETED)
	{
		piece->size = (uint64_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_BYTES;
		piece->data = gpucol_gpu_team_alloc(job, piece->size);
		if (piece->data == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		memcpy(piece->data, segment->deleted, piece->size);
		return GPUCOL_OK;
	}
	piece->head.desc = *segment->chunks[need->slot];
	piece->head.present = gpucol_gpu_chunk_streams(GPUCOL_BYTES_UNUSED, &piece->head.desc);
	for (int k = 0; k < GPUCOL_STREAM_COUNT && status == GPUCOL_OK; k++)
	{
		const GpucolStream *stream = &piece->head.desc.streams[k];
		GpucolGpuRows *rows = &piece->streams[k];

		if (!(piece->head.present >> k & 1))
			continue;
		rows->row = stream->row;
		rows->nrows = stream->nrows;
		status = load->source->ops->lend(load->source, segment, need->slot, k, 0, stream->nrows,
										 &rows->window);
	}
	return status;
}

/* Write the RUN of the job that is made. */
static GpucolStatus
make_message(Load *load)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(load->program, const GpucolProgramColumn, columns);
	const Making *making = &load->making;
	GpucolGpuJob *job = making->job;
	uint32_t	program_size = load->program->columns + making->ncolumns * sizeof(GpucolProgramColumn);
	size_t		at = sizeof(GpucolWireRun) + (program_size + 7) / 8 * 8;
	size_t		segments_size = making->nsegments * sizeof(GpucolWireSegment);
	size_t		chunks_size = making->nsegments * making->ncolumns * sizeof(GpucolWireColumnChunk);
	GpucolWireRun *head;
	GpucolProgram *program;

	job->message_size = at + segments_size + chunks_size;
	job->message = head = gpucol_gpu_team_alloc(job, job->message_size);
	if (head == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	head->program_size = program_size;
	head->nsegments = making->nsegments;
	head->ncolumns = making->ncolumns;
	head->flags = GPUCOL_WIRE_RUN_PREFETCH;
	head->turn = job->segment;
	program = (GpucolProgram *) (head + 1);
	memcpy(program, load->program, load->program->columns);
	program->ncolumns = (uint16_t) making->ncolumns;
	program->size = program_size;
	for (uint32_t i = 0; i < making->ncolumns; i++)
		((GpucolProgramColumn *) ((char *) program + program->columns))[i] = columns[job->pieces[i].column];
	memcpy((char *) head + at, making->segments, segments_size);
	memcpy((char *) head + at + segments_size, making->chunks, chunks_size);
	return GPUCOL_OK;
}

/* Hand over the job that is made, if there is one. */
static GpucolStatus
submit(Load *load)
{
	GpucolGpuJob *job = load->making.job;
	GpucolStatus status = job == NULL ? GPUCOL_OK : make_message(load);

	if (job == NULL || status != GPUCOL_OK)
		return status;
	made = load->making.job = NULL;
	gpucol_gpu_team_submit(load->team, job);
	load->njobs++;
	return GPUCOL_OK;
}

/* Begin a job with segment `number`. */
static GpucolStatus
begin_job(Load *load, uint32_t number)
{
	memset(&load->making, 0, offsetof(Making, segments));
	made = load->making.job = gpucol_gpu_team_job(JOB_PIECES);
	if (made == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	made->segment = number;
	made->budget = load->budget;
	return GPUCOL_OK;
}

/* Some chunks are left to gpucol_gpu_prefetch. */
static void
leave(Load *load)
{
	__atomic_fetch_add(&load->figures->left, 1, __ATOMIC_RELAXED);
}

/* Draw the next segment. */
static uint32_t
draw(Load *load)
{
	return __atomic_fetch_add(&load->figures->next, 1, __ATOMIC_RELAXED);
}

/* May a piece be loaded by the team?  *size is what it takes, if so. */
static bool
is_for_team(const Load *load, const GpucolSegment *segment, const GpucolWireNeed *need, Size *size)
{
	if (need->kind == GPUCOL_PUT_DELETED)
	{
		*size = (Size) {0, (uint64_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_BYTES};
		return segment->deleted != NULL;
	}
	if (need->kind != GPUCOL_PUT_CHUNK || need->slot >= load->program->ncolumns)
		return false;
	*size = chunk_size(segment->chunks[need->slot]);
	return size->npages <= load->page_limit;
}

/*
 * Bytes after which a job takes no more.  The first are small, so that all threads have
 * something to do soon, and the last not so large that others are done long before.
 */
static uint64_t
job_limit(const Load *load)
{
	uint64_t	limit = load->dealt / load->nthreads / SHARE_OF_DEALT;

	return limit < LEAST_JOB ? LEAST_JOB : limit > MOST_JOB ? MOST_JOB : limit;
}

/* The first of n pieces that one segment lacks which one job may have. */
typedef struct Share
{
	uint32_t	count;			/* pieces; 0: not even the first is for the team */
	uint32_t	ncolumns;		/* of which are chunks */
	uint32_t	npages;			/* that are pinned for it, at most */
	uint64_t	bytes;
} Share;

static Share
find_share(const Load *load, const GpucolSegment *segment, const GpucolWireNeed *need, size_t n)
{
	Share		share = {0};
	Size		size;

	while (share.count < n && share.count < JOB_PIECES && is_for_team(load, segment, &need[share.count], &size) &&
		   (share.count == 0 || share.bytes + size.bytes <= job_limit(load)))
	{
		share.bytes += size.bytes;
		share.npages += size.npages;
		share.ncolumns += need[share.count++].kind == GPUCOL_PUT_CHUNK;
	}
	return share;
}

/*
 * May it come to the job that is made?  Only segments of which everything is lacking are
 * together, since a RUN has the same columns of all, and only if they follow each other,
 * since the daemon deals them to devices by number.
 */
static bool
may_join(const Load *load, const Share *share, uint32_t number)
{
	const Making *making = &load->making;

	return making->job != NULL && making->ncolumns == load->program->ncolumns &&
		share->ncolumns == making->ncolumns && number == making->job->segment + making->nsegments &&
		making->bytes + share->bytes <= job_limit(load) && making->job->npieces + share->count <= JOB_PIECES &&
		making->job->npages + share->npages <= load->page_limit / (load->most_jobs + 1);
}

/* Add a share of a segment to the job that is made. */
static GpucolStatus
add_share(Load *load, const Share *share, const GpucolSegment *segment, const GpucolWireNeed *need)
{
	const GpucolGpuManifest *manifest = load->lacking.manifest;
	Making	   *making = &load->making;
	GpucolWireSegment *sent = &making->segments[making->nsegments];
	uint32_t	s = need[0].segment;
	GpucolStatus status = GPUCOL_OK;

	making->ncolumns = share->ncolumns;
	making->bytes += share->bytes;
	load->dealt += share->bytes;
	making->job->npages += share->npages;
	load->npages += share->npages;
	for (uint32_t i = 0; i < share->count && status == GPUCOL_OK; i++)
		status = make_piece(load, segment, &need[i], i);
	*sent = manifest->segments[s];
	if (share->count == share->ncolumns)	/* another job brings its deleted rows, or none */
		sent->deleted = sent->ndeleted = 0;
	for (uint32_t i = 0; i < share->ncolumns; i++)
		making->chunks[making->nsegments * share->ncolumns + i] =
			manifest->chunks[(size_t) s * load->program->ncolumns + need[i].slot];
	making->nsegments++;
	return status;
}

/*
 * Hand over the first of n pieces that one segment lacks, as many as make a job; *taken
 * is their number.
 */
static GpucolStatus
deal(Load *load, const GpucolSegment *segment, uint32_t number,
	 const GpucolWireNeed *need, size_t n, size_t *taken)
{
	Share		share = find_share(load, segment, need, n);
	GpucolStatus status = GPUCOL_OK;

	*taken = share.count > 0 ? share.count : 1;
	if (share.count == 0)
	{
		leave(load);
		return GPUCOL_OK;
	}
	if (!may_join(load, &share, number))
		status = submit(load);
	if (status == GPUCOL_OK)
		status = make_room(load, share.npages);
	if (status == GPUCOL_OK && load->making.job == NULL)
		status = begin_job(load, number);
	return status == GPUCOL_OK ? add_share(load, &share, segment, need) : status;
}

/* A segment that the daemon has nothing of lacks everything. */
static GpucolStatus
list_all(Load *load, const GpucolSegment *segment)
{
	int			ncolumns = load->program->ncolumns;
	GpucolStatus status;

	gpucol_gpu_lacking_free(&load->lacking);
	load->lacking.need = calloc((size_t) ncolumns + 1, sizeof(GpucolWireNeed));
	status = gpucol_gpu_note(load->program, load->source, segment, load->figures, &load->lacking.manifest);
	if (status != GPUCOL_OK || load->lacking.need == NULL)
		return status != GPUCOL_OK ? status : GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < ncolumns; c++)
		load->lacking.need[load->lacking.n++] = (GpucolWireNeed)
	{
		0, (uint16_t) c, GPUCOL_PUT_CHUNK
	};
	if (load->lacking.manifest->segments[0].deleted != 0)
		load->lacking.need[load->lacking.n++] = (GpucolWireNeed)
	{
		0, 0, GPUCOL_PUT_DELETED
	};
	return GPUCOL_OK;
}

/* Deal all that a segment lacks, from lacking.need[*at] on; moves *at behind it. */
static GpucolStatus
deal_segment(Load *load, const GpucolSegment *segment, uint32_t number, size_t *at)
{
	const GpucolWireNeed *need = load->lacking.need + *at;
	size_t		n = 0;
	size_t		taken;
	GpucolStatus status = GPUCOL_OK;

	while (*at + n < load->lacking.n && need[n].segment == need[0].segment)
		n++;
	*at += n;
	for (; n > 0 && status == GPUCOL_OK; n -= taken, need += taken)
		status = deal(load, segment, number, need, n, &taken);
	return status;
}

/* What a segment lacks, which others may have drawn. */
static GpucolStatus
look_at(Load *load, const GpucolSegment *segment, uint32_t number, bool is_mine, size_t *at)
{
	if (load->figures->cold)
	{
		GpucolStatus status = is_mine ? list_all(load, segment) : GPUCOL_OK;

		*at = 0;
		return is_mine && status == GPUCOL_OK ? deal_segment(load, segment, number, at) : status;
	}
	if (number >= load->lacking.manifest->nsegments)
		return GPUCOL_UNSUPPORTED;
	if (is_mine && *at < load->lacking.n && load->lacking.need[*at].segment == number)
		return deal_segment(load, segment, number, at);
	while (*at < load->lacking.n && load->lacking.need[*at].segment <= number)
		(*at)++;
	return GPUCOL_OK;
}

/* Go through the segments, and deal what those lack that are drawn. */
static GpucolStatus
deal_all(Load *load)
{
	GpucolSegment segment;
	GpucolStatus status;
	uint32_t	drawn = draw(load);
	size_t		at = 0;

	load->source->ops->rescan(load->source);
	for (uint32_t number = 0; !load->figures->cold || !gpucol_gpu_is_full(load->figures); number++)
	{
		status = load->source->ops->next_segment(load->source, &segment);
		if (status == GPUCOL_OK)
			status = look_at(load, &segment, number, number == drawn, &at);
		if (status != GPUCOL_OK && status != GPUCOL_END)
			return status;
		if (status == GPUCOL_END || (!load->figures->cold && at == load->lacking.n))
			break;
		if (number == drawn)
			drawn = draw(load);
	}
	status = submit(load);
	load->page_limit = 0;
	load->most_jobs = 1;
	return status == GPUCOL_OK ? make_room(load, 0) : status;
}

/* Let the team load what is lacking. */
static GpucolStatus
load_by_team(Load *load, int nthreads)
{
	GpucolGpuJob *job;
	GpucolStatus status;

	load->team = gpucol_gpu_team_start(nthreads, load->source->ops);
	if (load->team == NULL)
	{
		leave(load);
		return GPUCOL_OK;
	}
	load->nthreads = (uint32_t) nthreads;
	load->most_jobs = load->nthreads * GPUCOL_GPU_TEAM_JOBS + JOBS_AHEAD;
	load->page_limit = load->source->max_window_rows / GPUCOL_PAGE_ROWS;
	status = deal_all(load);
	if (made != NULL)
		release_job(load, made);
	for (job = gpucol_gpu_team_stop(); job != NULL;)
	{
		GpucolGpuJob *next = job->next;

		release_job(load, job);
		job = next;
	}
	return status;
}

void
gpucol_gpu_load_abandon(void)
{
	if (made != NULL)
		gpucol_gpu_team_free_job(made);
	if (at_hand != NULL)
		gpucol_gpu_team_free_job(at_hand);
	made = at_hand = NULL;
	for (GpucolGpuJob *job = gpucol_gpu_team_stop(); job != NULL;)
	{
		GpucolGpuJob *next = job->next;

		gpucol_gpu_team_free_job(job);
		job = next;
	}
	gpucol_gpu_prefetch_abandon();
}

GpucolStatus
gpucol_gpu_load(const GpucolProgram *program, GpucolSource *source, int nthreads,
				GpucolBudget *budget, GpucolGpuPrefetch *figures, const char **why)
{
	static Load load;			/* of a call that an error ended, too */
	GpucolStatus status;

	gpucol_gpu_lacking_free(&load.lacking);
	memset(&load, 0, sizeof(load));
	load.program = program;
	load.source = source;
	load.budget = budget;
	load.figures = figures;
	load.why = why;
	*why = "the table could not be read for the device";
	if (source->ops->lend == NULL || source->storage[0] == 0)
	{
		leave(&load);
		return GPUCOL_OK;
	}
	status = figures->cold ? GPUCOL_OK : gpucol_gpu_ask(program, source, &load.lacking, why);
	if (status == GPUCOL_OK && (figures->cold || load.lacking.n > 0))
		status = load_by_team(&load, nthreads);
	gpucol_gpu_lacking_free(&load.lacking);
	return status;
}
