/*-------------------------------------------------------------------------
 *
 * gpu_load.c
 *	  Loading a table's columns into device memory by threads.
 *
 * The daemon is asked once what it lacks of the whole table, unless it is known to have
 * nothing (asking takes as long as opening all segments).  Then this thread goes
 * through the segments, pins the pages of what is lacking and hands them to a team
 * (gpu_team.h) in jobs of a few MB, while it collects and unpins those that are done.
 * It pins as many pages at a time as the source allows.
 *
 * The floor is the bus: 53 GB/s from pinned memory, which 8 threads that do nothing
 * but copy and send parts of 4 MB reach nearly (test/gpu/stages.cu).  Of
 * this thread's time a page (8,064 bytes) takes 0.15 to 0.35 us to pin and unpin where
 * it lies in shared buffers (0.4 to 0.6 where its buffer has to be looked up), which
 * bounds one process at 25 to 50 GB/s.  A thread of the team copies 4 to 8 GB/s, less at the
 * first look of a session at a page, which the system has to map (2.5 us a page by
 * faults, 0.3 in one call, unless shared buffers lie in huge pages): so this thread
 * looks at none.
 * Pages that are not in shared buffers are read by this thread, which is slower: there
 * parallel workers are better (exec/prefetch.c).
 *
 * A chunk that has more pages than may be pinned is left to gpucol_gpu_prefetch, which
 * maps a piece of it after the other.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu_client.h"
#include "engine/gpu_team.h"

#define JOB_BYTES		((uint64_t) 4 << 20)	/* after which a job takes no more */
#define JOB_PIECES		16
#define JOBS_AHEAD		2		/* that wait for a thread: more pins make each dearer */

typedef struct Load
{
	const GpucolProgram *program;	/* reads columns, computes nothing */
	GpucolSource *source;
	GpucolGpuLacking lacking;	/* of the whole table, or of the segment at hand */
	GpucolGpuTeam *team;
	uint32_t	page_limit;		/* pinned at a time */
	uint32_t	npages;			/* pinned now */
	uint32_t	njobs;			/* not collected */
	uint32_t	most_jobs;
	GpucolGpuPrefetch *figures; /* shared */
	const char **why;
} Load;

/* A job that is made or looked at: what a longjmp must not lose. */
static GpucolGpuJob *at_hand = NULL;

/* Pages that a chunk's streams lie in, at most. */
static uint32_t
chunk_pages(const GpucolChunkDesc *desc, uint32_t present)
{
	uint32_t	n = 0;

	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		if (present >> k & 1)
			n += desc->streams[k].nrows / GPUCOL_PAGE_ROWS + 2;
	return n;
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
	gpucol_gpu_team_free_job(job);
	if (job == at_hand)
		at_hand = NULL;
}

/*
 * A page fails its checksum: map the job's pages in the ordinary way, which raises the
 * error that says which.
 */
static void
raise_corrupt(Load *load, const GpucolSegment *segment, const GpucolGpuJob *job)
{
	for (uint32_t i = 0; i < job->npieces; i++)
		for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
		{
			const GpucolGpuRows *rows = &job->pieces[i].streams[k];
			GpucolRows	window;

			if (rows->window.npages > 0 &&
				load->source->ops->map(load->source, segment, (int) job->pieces[i].column, k, 0,
									   rows->nrows, &window) == GPUCOL_OK)
				load->source->ops->unmap(load->source, &window);
		}
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

/* What became of a job; frees it. */
static GpucolStatus
end_job(Load *load, GpucolGpuJob *job)
{
	static char reason[sizeof(job->why)];
	GpucolStatus status = job->status;
	GpucolSegment segment;

	at_hand = job;
	load->njobs--;
	__atomic_fetch_add(&load->figures->sent, job->sent, __ATOMIC_RELAXED);
	if (status != GPUCOL_OK)
	{
		memcpy(reason, job->why, sizeof(reason));
		*load->why = reason;
	}
	if (status == GPUCOL_CORRUPT && find_segment(load, job->segment, &segment) == GPUCOL_OK)
	{
		*load->why = "a page fails its checksum";
		raise_corrupt(load, &segment, job);
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

/* Make one piece of a job, and pin its pages. */
static GpucolStatus
make_piece(Load *load, GpucolGpuJob *job, const GpucolSegment *segment,
		   const GpucolWireNeed *need, uint32_t slot)
{
	GpucolGpuPiece *piece = &job->pieces[job->npieces++];
	GpucolStatus status = GPUCOL_OK;

	piece->kind = need->kind;
	piece->slot = need->kind == GPUCOL_PUT_CHUNK ? slot : 0;
	piece->column = need->slot;
	if (need->kind == GPUCOL_PUT_DELETED)
	{
		piece->size = (uint64_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_BYTES;
		piece->data = malloc(piece->size);
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
		job->npages += rows->window.npages;
	}
	return status;
}

/*
 * Write the RUN of a job: its columns of the table's segment of this number, which is
 * need[].segment of those noted.
 */
static GpucolStatus
make_message(Load *load, GpucolGpuJob *job, uint32_t number, const GpucolWireNeed *need)
{
	const GpucolProgramColumn *columns = GPUCOL_PROGRAM_ARRAY(load->program, const GpucolProgramColumn, columns);
	const GpucolGpuNoted *noted = load->lacking.noted;
	uint32_t	ncolumns = job->npieces - (job->pieces[job->npieces - 1].kind == GPUCOL_PUT_DELETED);
	uint32_t	program_size = load->program->columns + ncolumns * sizeof(GpucolProgramColumn);
	size_t		at = sizeof(GpucolWireRun) + (program_size + 7) / 8 * 8;
	uint32_t	s = need[0].segment;
	GpucolWireSegment segment = noted->segments[s];
	GpucolWireRun *head;
	GpucolProgram *program;
	GpucolWireColumnChunk *chunks;

	job->message_size = at + sizeof(segment) + ncolumns * sizeof(GpucolWireColumnChunk);
	job->message = head = calloc(1, job->message_size);
	if (head == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	memcpy(head->storage, load->source->storage, sizeof(head->storage));
	head->program_size = program_size;
	head->nsegments = 1;
	head->ncolumns = ncolumns;
	head->flags = GPUCOL_WIRE_RUN_PREFETCH;
	head->turn = number;
	program = (GpucolProgram *) (head + 1);
	memcpy(program, load->program, load->program->columns);
	program->ncolumns = (uint16_t) ncolumns;
	program->size = program_size;
	if (ncolumns == job->npieces)	/* another job brings its deleted rows */
		segment.deleted = segment.ndeleted = 0;
	memcpy((char *) head + at, &segment, sizeof(segment));
	chunks = (GpucolWireColumnChunk *) ((char *) head + at + sizeof(segment));
	for (uint32_t i = 0; i < ncolumns; i++)
	{
		((GpucolProgramColumn *) ((char *) program + program->columns))[i] = columns[need[i].slot];
		chunks[i] = noted->chunks[(size_t) s * load->program->ncolumns + need[i].slot];
	}
	return GPUCOL_OK;
}

/* May a piece be loaded by the team? */
static bool
is_for_team(const Load *load, const GpucolSegment *segment, const GpucolWireNeed *need)
{
	const GpucolChunkDesc *desc;

	if (need->kind == GPUCOL_PUT_DELETED)
		return segment->deleted != NULL;
	if (need->kind != GPUCOL_PUT_CHUNK || need->slot >= load->program->ncolumns)
		return false;
	desc = segment->chunks[need->slot];
	return chunk_pages(desc, gpucol_gpu_chunk_streams(GPUCOL_BYTES_UNUSED, desc)) <= load->page_limit;
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

/* Bytes of a piece that are copied. */
static uint64_t
piece_bytes(const GpucolSegment *segment, const GpucolWireNeed *need)
{
	if (need->kind == GPUCOL_PUT_DELETED)
		return (uint64_t) GPUCOL_VECTORS(segment->nrows) * GPUCOL_ROW_BYTES;
	return (uint64_t) GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES *
		chunk_pages(segment->chunks[need->slot], gpucol_gpu_chunk_streams(GPUCOL_BYTES_UNUSED, segment->chunks[need->slot]));
}

/*
 * Hand over the first of n pieces that one segment lacks, as many as make a job; *taken
 * is their number.
 */
static GpucolStatus
deal(Load *load, const GpucolSegment *segment, uint32_t number,
	 const GpucolWireNeed *need, size_t n, size_t *taken)
{
	uint32_t	count = 0;
	uint64_t	bytes = 0;
	GpucolGpuJob *job;
	GpucolStatus status;

	while (count < n && count < JOB_PIECES && is_for_team(load, segment, &need[count]) &&
		   (count == 0 || bytes + piece_bytes(segment, &need[count]) <= JOB_BYTES))
		bytes += piece_bytes(segment, &need[count++]);
	*taken = count > 0 ? count : 1;
	if (count == 0)
	{
		leave(load);
		return GPUCOL_OK;
	}
	status = make_room(load, (uint32_t) (bytes / (GPUCOL_PAGE_ROWS * GPUCOL_ROW_BYTES)));
	if (status != GPUCOL_OK)
		return status;
	at_hand = job = gpucol_gpu_team_job(count);
	if (job == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	job->segment = number;
	for (uint32_t i = 0; i < count && status == GPUCOL_OK; i++)
		status = make_piece(load, job, segment, &need[i], i);
	if (status == GPUCOL_OK)
		status = make_message(load, job, number, need);
	load->npages += job->npages;
	if (status != GPUCOL_OK)
	{
		release_job(load, job);
		return status;
	}
	at_hand = NULL;
	gpucol_gpu_team_submit(load->team, job);
	load->njobs++;
	return GPUCOL_OK;
}

/* A segment that the daemon has nothing of lacks everything. */
static GpucolStatus
list_all(Load *load, const GpucolSegment *segment)
{
	int			ncolumns = load->program->ncolumns;
	GpucolStatus status;

	gpucol_gpu_lacking_free(&load->lacking);
	load->lacking.need = calloc((size_t) ncolumns + 1, sizeof(GpucolWireNeed));
	status = gpucol_gpu_note(load->program, load->source, segment, load->figures, &load->lacking.noted);
	if (status != GPUCOL_OK || load->lacking.need == NULL)
		return status != GPUCOL_OK ? status : GPUCOL_OUT_OF_MEMORY;
	for (int c = 0; c < ncolumns; c++)
		load->lacking.need[load->lacking.n++] = (GpucolWireNeed)
	{
		0, (uint16_t) c, GPUCOL_PUT_CHUNK
	};
	if (load->lacking.noted->segments[0].deleted != 0)
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
	if (number >= load->lacking.noted->nsegments)
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
	load->page_limit = 0;
	load->most_jobs = 1;
	return make_room(load, 0);
}

/* Let the team load what is lacking. */
static GpucolStatus
load_by_team(Load *load, int nthreads)
{
	GpucolGpuJob *job;
	GpucolStatus status;

	load->team = gpucol_gpu_team_start(nthreads, load->source->ops->verify);
	if (load->team == NULL)
	{
		leave(load);
		return GPUCOL_OK;
	}
	load->most_jobs = (uint32_t) nthreads + JOBS_AHEAD;
	load->page_limit = load->source->max_window_rows / GPUCOL_PAGE_ROWS;
	status = deal_all(load);
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
	if (at_hand != NULL)
		gpucol_gpu_team_free_job(at_hand);
	at_hand = NULL;
	for (GpucolGpuJob *job = gpucol_gpu_team_stop(); job != NULL;)
	{
		GpucolGpuJob *next = job->next;

		gpucol_gpu_team_free_job(job);
		job = next;
	}
}

GpucolStatus
gpucol_gpu_load(const GpucolProgram *program, GpucolSource *source, int nthreads,
				GpucolGpuPrefetch *figures, const char **why)
{
	static Load load;			/* of a call that an error ended, too */
	GpucolStatus status;

	gpucol_gpu_lacking_free(&load.lacking);
	memset(&load, 0, sizeof(load));
	load.program = program;
	load.source = source;
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
