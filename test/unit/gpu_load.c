/*-------------------------------------------------------------------------
 *
 * gpu_load.c
 *	  Loading by threads, against an imitation of the daemon that serves many
 *	  connections: what arrives, byte for byte, whatever fails meanwhile.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#include "array_source.h"
#include "engine/engine.h"
#include "engine/gpu/client.h"
#include "engine/gpu/team.h"
#include "engine/gpu/wire.h"
#include "program_builder.h"
#include "service/service.h"

#define NSEGMENTS	12
#define NROWS		100000
#define NCOLUMNS	3
#define NTHREADS	4
#define NPARTED		9			/* objects of test_parts */

/* What the imitation has: pieces by segment and column (attnum; 0: deleted rows). */
static struct
{
	pthread_mutex_t lock;
	char	   *pieces[NSEGMENTS][NCOLUMNS + 1];
	uint64_t	sizes[NSEGMENTS][NCOLUMNS + 1];
	uint32_t	turns[NSEGMENTS];
	uint32_t	nput;
	uint32_t	ntwice;			/* pieces that came though they were here */
	uint32_t	nsplit;			/* that came out of a slab in several messages */
	uint32_t	sessions;
	uint32_t	nruns;
	_Atomic bool broken;		/* something came that should not */
	_Atomic int no_slab;
	_Atomic int fail_at;		/* end the session at this PUT; 0 = never */
	_Atomic int reason;			/* and say why first */
}			stub = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* One session of the imitation. */
typedef struct Session
{
	int			fd;
	char	   *slab;
	size_t		slab_size;
	GpucolWireRun run;
	GpucolWireSegment segments[NSEGMENTS];
	int32_t		attnums[NCOLUMNS];
	GpucolWireNeed need[NSEGMENTS * (NCOLUMNS + 1)];
	uint32_t	nneed;
	uint32_t	at;				/* the next to come */
	char	   *incoming;
	uint64_t	received;
	char		payload[1 << 20] __attribute__((aligned(8)));
} Session;

static void
leave(Session *s)
{
	close(s->fd);
	if (s->slab != NULL)
		munmap(s->slab, s->slab_size);
	free(s->incoming);
	free(s);
	pthread_exit(NULL);
}

static void
read_all(Session *s, void *to, size_t n)
{
	for (char *p = to; n > 0;)
	{
		ssize_t		got = recv(s->fd, p, n, 0);

		if (got <= 0)
			leave(s);
		p += got;
		n -= (size_t) got;
	}
}

/* Send a message, with a descriptor if that is not negative. */
static void
write_message(Session *s, GpucolWireType type, const void *payload, size_t n, int descriptor)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};
	char		control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov[2] = {{&header, sizeof(header)}, {(void *) payload, n}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};

	if (descriptor >= 0)
	{
		struct cmsghdr *c;

		msg.msg_control = control;
		msg.msg_controllen = sizeof(control);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &descriptor, sizeof(int));
	}
	if (sendmsg(s->fd, &msg, MSG_NOSIGNAL) < 0)
		leave(s);
}

static void
answer(Session *s, GpucolStatus status, const char *reason, bool closing)
{
	GpucolWireResult result = {.status = status, .closing = closing};

	snprintf(result.reason, sizeof(result.reason), "%s", reason);
	write_message(s, GPUCOL_WIRE_RESULT, &result, sizeof(result), -1);
}

/* A RUN: say what is lacking. */
static void
take_run(Session *s, size_t size)
{
	const GpucolProgram *p = (const GpucolProgram *) (s->payload + sizeof(s->run));
	size_t		at = sizeof(s->run);

	memcpy(&s->run, s->payload, sizeof(s->run));
	__atomic_fetch_add(&stub.nruns, 1, __ATOMIC_RELAXED);
	at += (s->run.program_size + 7) / 8 * 8;
	if (s->run.nsegments > NSEGMENTS || s->run.ncolumns > NCOLUMNS || s->run.ncolumns != p->ncolumns ||
		p->size != s->run.program_size || !(s->run.flags & GPUCOL_WIRE_RUN_PREFETCH) ||
		size != at + s->run.nsegments * (sizeof(GpucolWireSegment) + s->run.ncolumns * sizeof(GpucolWireColumnChunk)))
	{
		stub.broken = true;
		leave(s);
	}
	for (uint32_t c = 0; c < s->run.ncolumns; c++)
		s->attnums[c] = GPUCOL_PROGRAM_ARRAY(p, const GpucolProgramColumn, columns)[c].attnum;
	memcpy(s->segments, s->payload + at, s->run.nsegments * sizeof(GpucolWireSegment));
	s->nneed = s->at = 0;
	pthread_mutex_lock(&stub.lock);
	for (uint32_t i = 0; i < s->run.nsegments; i++)
	{
		uint64_t	id = s->segments[i].id;

		stub.turns[id] = s->run.turn + i;
		for (uint32_t c = 0; c < s->run.ncolumns; c++)
			if (stub.pieces[id][s->attnums[c]] == NULL)
				s->need[s->nneed++] = (GpucolWireNeed) {i, (uint16_t) c, GPUCOL_PUT_CHUNK};
		if (s->segments[i].deleted != 0 && stub.pieces[id][0] == NULL)
			s->need[s->nneed++] = (GpucolWireNeed) {i, 0, GPUCOL_PUT_DELETED};
	}
	pthread_mutex_unlock(&stub.lock);
	if (s->nneed > 0)
		write_message(s, GPUCOL_WIRE_NEED, s->need, s->nneed * sizeof(s->need[0]), -1);
	else
		answer(s, GPUCOL_OK, "", false);
}

/* All of a piece is here. */
static void
keep_piece(Session *s, const GpucolWirePut *put)
{
	uint64_t	id = s->segments[put->a].id;
	int			column = put->kind == GPUCOL_PUT_DELETED ? 0 : s->attnums[put->b];

	pthread_mutex_lock(&stub.lock);
	if (stub.pieces[id][column] != NULL)
	{
		stub.ntwice++;
		free(stub.pieces[id][column]);
	}
	stub.pieces[id][column] = s->incoming;
	stub.sizes[id][column] = put->total;
	pthread_mutex_unlock(&stub.lock);
	s->incoming = NULL;
	s->received = 0;
	if (++s->at == s->nneed)
		answer(s, GPUCOL_OK, "", false);
}

/* Part of what was asked for, in that order. */
static void
take_put(Session *s, size_t size)
{
	GpucolWirePut put;
	const GpucolWireNeed *need = &s->need[s->at];
	const char *data = s->payload + sizeof(put);
	uint32_t	nput;

	memcpy(&put, s->payload, sizeof(put));
	pthread_mutex_lock(&stub.lock);
	nput = ++stub.nput;
	stub.nsplit += put.in_slab && put.offset == 0 && put.length < put.total;
	pthread_mutex_unlock(&stub.lock);
	if ((int) nput == stub.fail_at)
	{
		if (stub.reason)
			answer(s, GPUCOL_OUT_OF_MEMORY, "no room", true);
		leave(s);
	}
	if (s->at >= s->nneed || need->segment != put.a || need->kind != put.kind || need->slot != put.b ||
		put.offset != s->received || put.offset + put.length > put.total ||
		(put.in_slab ? put.slab_offset + put.length > s->slab_size : size != sizeof(put) + put.length))
	{
		stub.broken = true;
		leave(s);
	}
	if (s->incoming == NULL)
		s->incoming = malloc(put.total);
	if (put.in_slab)
		data = s->slab + put.slab_offset;
	memcpy(s->incoming + put.offset, data, put.length);
	s->received += put.length;
	if (put.in_slab)
		write_message(s, GPUCOL_WIRE_DONE, NULL, 0, -1);
	if (s->received == put.total)
		keep_piece(s, &put);
}

static void
give_slab(Session *s)
{
	GpucolWireSlab wire;
	int			fd;

	memcpy(&wire, s->payload, sizeof(wire));
	if (stub.no_slab)
	{
		write_message(s, GPUCOL_WIRE_REFUSED, NULL, 0, -1);
		return;
	}
	fd = memfd_create("stub", 0);
	s->slab_size = wire.size;
	if (fd < 0 || ftruncate(fd, (off_t) wire.size) != 0)
		leave(s);
	s->slab = mmap(NULL, wire.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	write_message(s, GPUCOL_WIRE_DONE, NULL, 0, fd);
	close(fd);
}

static void *
imitate(void *arg)
{
	Session    *s = calloc(1, sizeof(Session));

	s->fd = (int) (intptr_t) arg;
	for (;;)
	{
		GpucolWireWelcome welcome = {1, 1, 1 << 30};
		GpucolWireHeader header;

		read_all(s, &header, sizeof(header));
		if (header.length > sizeof(s->payload))
		{
			stub.broken = true;
			leave(s);
		}
		read_all(s, s->payload, header.length);
		if (header.type == GPUCOL_WIRE_HELLO)
			write_message(s, GPUCOL_WIRE_WELCOME, &welcome, sizeof(welcome), -1);
		else if (header.type == GPUCOL_WIRE_SLAB)
			give_slab(s);
		else if (header.type == GPUCOL_WIRE_RUN)
			take_run(s, header.length);
		else if (header.type == GPUCOL_WIRE_PUT)
			take_put(s, header.length);
		else if (header.type == GPUCOL_WIRE_CANCEL)
			answer(s, GPUCOL_CANCELLED, "cancelled", false);
		else
			stub.broken = true;
	}
	return NULL;
}

/* ---- the service of this process ---- */

static int	refused;			/* connections that are refused from now on */

static bool
stub_available(const char **why)
{
	*why = NULL;
	return true;
}

static int
stub_try_connect(void)
{
	int			pair[2];
	pthread_t	thread;

	if (refused || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -1;
	stub.sessions++;
	pthread_create(&thread, NULL, imitate, (void *) (intptr_t) pair[1]);
	pthread_detach(thread);
	return pair[0];
}

static int
stub_connect(const char **why)
{
	int			was = refused;
	int			fd;

	*why = "";
	refused = 0;
	fd = stub_try_connect();
	refused = was;
	return fd;
}

static void
stub_wait(int fd, bool writable)
{
	struct pollfd p = {fd, writable ? POLLOUT : POLLIN, 0};

	poll(&p, 1, 1000);
}

const GpucolService gpucol_service = {
	.available = stub_available, .connect = stub_connect,
	.wait = stub_wait, .try_connect = stub_try_connect
};

/* ---- the table ---- */

/* Random numbers of 20 bits, with NULLs; few numbers (a dictionary); runs. */
static void
make_table(ArrayTable *table)
{
	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = NSEGMENTS;
	table->tids = calloc(1, sizeof(uint64_t));
	for (int s = 0; s < NSEGMENTS; s++)
	{
		ArraySegment *segment = &table->segments[s];
		size_t		n = GPUCOL_VECTORS(NROWS) * 1024;

		segment->nrows = NROWS;
		segment->first_row = (uint64_t) s * NROWS;
		for (int c = 0; c < NCOLUMNS; c++)
		{
			segment->columns[c].kind = GPUCOL_KIND_INT;
			segment->columns[c].values = calloc(n, sizeof(int64_t));
		}
		segment->columns[0].nulls = calloc(n / 32, sizeof(uint32_t));
		for (int r = 0; r < NROWS; r++)
		{
			segment->columns[0].values[r] = (int64_t) (check_random() >> 44);
			segment->columns[1].values[r] = (int64_t) (check_random() % 7) * INT64_C(1000000007);
			segment->columns[2].values[r] = r / 1000 * (s + 1);
		}
		for (int r = 5; r < NROWS; r += 97)
		{
			segment->columns[0].values[r] = 0;
			segment->columns[0].nulls[r / 32] |= UINT32_C(1) << r % 32;
		}
		if (s % 5 == 1)
		{
			segment->deleted = calloc(n / 32, sizeof(uint32_t));
			segment->deleted[3] = 0xff;
			segment->ndeleted = 8;
		}
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	for (int c = 0; c < NCOLUMNS; c++)
		table->delta[c].kind = GPUCOL_KIND_INT;
}

/* A program that reads all columns and does nothing, as a prefetch's. */
static GpucolProgram *
make_program(void)
{
	static ProgramBuilder b;

	builder_init(&b, GPUCOL_PROGRAM_AGG);
	for (int c = 0; c < NCOLUMNS; c++)
		builder_column(&b, GPUCOL_KIND_INT, 0);
	return builder_finish(&b);
}

/* Forget all pieces (of segments from `from` on). */
static void
forget(int from)
{
	pthread_mutex_lock(&stub.lock);
	for (int s = from; s < NSEGMENTS; s++)
		for (int c = 0; c <= NCOLUMNS; c++)
		{
			free(stub.pieces[s][c]);
			stub.pieces[s][c] = NULL;
		}
	stub.nput = stub.ntwice = stub.nsplit = 0;
	pthread_mutex_unlock(&stub.lock);
}

/* Is what has arrived of a chunk what the table has? */
static bool
chunk_is_right(const ArraySegment *segment, int c, const char *piece, uint64_t size)
{
	GpucolWireChunk head;
	uint64_t	at = sizeof(head);

	memcpy(&head, piece, sizeof(head));
	if (memcmp(&head.desc, segment->chunks[c], sizeof(head.desc)) != 0 || head.present == 0)
		return false;
	for (int k = 0; k < GPUCOL_STREAM_COUNT; k++)
	{
		const GpucolStream *stream = &head.desc.streams[k];
		size_t		bytes = (size_t) stream->nrows * GPUCOL_ROW_BYTES;
		char	   *rows;

		if (!(head.present >> k & 1))
			continue;
		rows = malloc(bytes);
		gpucol_image_copy(&segment->image, stream->row, stream->nrows, rows);
		if (at + bytes > size || memcmp(rows, piece + at, bytes) != 0)
		{
			free(rows);
			return false;
		}
		free(rows);
		at += bytes;
	}
	return at == size;
}

/* Check every piece that is here; their number. */
static int
check_pieces(const ArrayTable *table)
{
	int			n = 0;

	pthread_mutex_lock(&stub.lock);
	for (int s = 0; s < NSEGMENTS; s++)
	{
		const ArraySegment *segment = &table->segments[s];

		for (int c = 1; c <= NCOLUMNS; c++)
			if (stub.pieces[s][c] != NULL)
			{
				n++;
				CHECK(chunk_is_right(segment, c - 1, stub.pieces[s][c], stub.sizes[s][c]),
					  "segment %d column %d", s, c);
			}
		if (stub.pieces[s][0] != NULL)
		{
			n++;
			CHECK(segment->deleted != NULL &&
				  stub.sizes[s][0] == GPUCOL_VECTORS(NROWS) * GPUCOL_ROW_BYTES &&
				  memcmp(stub.pieces[s][0], segment->deleted, stub.sizes[s][0]) == 0, "deleted rows of segment %d", s);
		}
	}
	pthread_mutex_unlock(&stub.lock);
	return n;
}

#define ALL_PIECES (NSEGMENTS * NCOLUMNS + (NSEGMENTS + 3) / 5)

/* Is the loader told that nothing is there? */
static bool known_cold;

/* Load over a new source of this many word rows; what was sent. */
static GpucolStatus
load(ArraySource *source, const ArrayTable *table, const GpucolProgram *program,
	 uint32_t window_rows, uint64_t *sent, const char **why)
{
	GpucolGpuPrefetch figures = {.cold = known_cold};
	GpucolStatus status;

	array_source_init(source, table, window_rows, true);
	source->base.storage[0] = 7;
	status = gpucol_gpu_load(program, &source->base, NTHREADS, NULL, &figures, why);
	if (status == GPUCOL_OK && figures.left > 0)
	{
		source->base.ops->rescan(&source->base);
		status = gpucol_gpu_prefetch(program, &source->base, &figures, why);
	}
	CHECK(source->mapped_rows == 0, "windows left mapped");
	*sent = figures.sent;
	return status;
}

/* ---- tests ---- */

/* Everything comes once, and what is there does not come again. */
static void
test_all(const ArrayTable *table, const GpucolProgram *program)
{
	ArraySource source;
	const char *why = "";
	uint64_t	all;
	uint64_t	sent;

	CHECK(load(&source, table, program, 1 << 20, &all, &why) == GPUCOL_OK, "%s", why);
	CHECK(check_pieces(table) == ALL_PIECES && stub.ntwice == 0, "%u twice", stub.ntwice);
	CHECK(all > (uint64_t) NSEGMENTS * NROWS * 23 / 8 && source.verified > 100, "sent %lu", (unsigned long) all);
	CHECK(source.lent > NSEGMENTS * NCOLUMNS && source.forgotten == source.lent, "%ld of %ld",
		  (long) source.forgotten, source.lent);
	CHECK(stub.nruns > 3 && stub.nruns < 1 + NSEGMENTS, "%u requests for %d segments", stub.nruns, NSEGMENTS);
	CHECK(stub.sessions == 1 + GPUCOL_GPU_TEAM_JOBS * NTHREADS, "%u sessions", stub.sessions);
	for (uint32_t s = 0; s < NSEGMENTS; s++)
		CHECK(stub.turns[s] == s, "turn %u of segment %u", stub.turns[s], s);
	CHECK(load(&source, table, program, 65536, &sent, &why) == GPUCOL_OK && sent == 0, "%s", why);
	CHECK(source.verified == 0, "pages read");

	forget(NSEGMENTS / 2);
	CHECK(load(&source, table, program, 65536, &sent, &why) == GPUCOL_OK, "%s", why);
	CHECK(sent > all / 3 && sent < all * 2 / 3 && check_pieces(table) == ALL_PIECES, "sent %lu", (unsigned long) sent);
}

/* Few pins: some chunks, or all, are left to this thread. */
static void
test_few_pins(const ArrayTable *table, const GpucolProgram *program)
{
	for (uint32_t rows = 70; rows < 2000; rows *= 2)
	{
		ArraySource source;
		const char *why = "";
		uint64_t	sent;

		forget(0);
		CHECK(load(&source, table, program, rows, &sent, &why) == GPUCOL_OK, "%s", why);
		CHECK(check_pieces(table) == ALL_PIECES && stub.ntwice == 0, "%u twice", stub.ntwice);
	}
}

/* No slab, or no connections beside the first. */
static void
test_without(const ArrayTable *table, const GpucolProgram *program)
{
	ArraySource source;
	const char *why = "";
	uint64_t	sent;

	forget(0);
	stub.no_slab = 1;
	CHECK(load(&source, table, program, 65536, &sent, &why) == GPUCOL_OK, "%s", why);
	CHECK(check_pieces(table) == ALL_PIECES, "pieces");
	stub.no_slab = 0;
	forget(0);
	refused = 1;
	CHECK(load(&source, table, program, 65536, &sent, &why) == GPUCOL_OK, "%s", why);
	CHECK(check_pieces(table) == ALL_PIECES, "pieces");
	refused = 0;
}

/* A page that fails its checksum: its chunk never becomes whole. */
static void
test_corrupt(const ArrayTable *table, const GpucolProgram *program)
{
	for (long at = 1; at < 200; at += 13)
	{
		ArraySource source;
		GpucolGpuPrefetch figures = {.cold = known_cold};
		const char *why = "";

		forget(0);
		array_source_init(&source, table, 65536, true);
		source.base.storage[0] = 7;
		source.corrupt_at = at;
		CHECK(gpucol_gpu_load(program, &source.base, NTHREADS, NULL, &figures, &why) == GPUCOL_CORRUPT &&
			  strcmp(why, "a page fails its checksum") == 0, "page %ld: %s", at, why);
		CHECK(source.mapped_rows == 0, "windows left mapped");
		CHECK(check_pieces(table) < ALL_PIECES, "all pieces");
	}
}

/* The daemon ends a session, with a reason or without. */
static void
test_failures(const ArrayTable *table, const GpucolProgram *program)
{
	for (int at = 1; at < 40; at += 3)
	{
		ArraySource source;
		const char *why = "";
		uint64_t	sent;
		GpucolStatus status;

		forget(0);
		stub.fail_at = at;
		stub.reason = at % 2;
		status = load(&source, table, program, 65536, &sent, &why);
		CHECK(status == (at % 2 ? GPUCOL_OUT_OF_MEMORY : GPUCOL_DEVICE_LOST) &&
			  strcmp(why, at % 2 ? "no room" : "device daemon was lost") == 0, "status %d: %s", status, why);
		stub.fail_at = 0;
		CHECK(load(&source, table, program, 65536, &sent, &why) == GPUCOL_OK, "%s", why);
		CHECK(check_pieces(table) == ALL_PIECES, "pieces");
	}
}

/* An error in any call of the source unwinds: nobody reads its pages after that. */
static void
test_unwinding(const ArrayTable *table, const GpucolProgram *program)
{
	volatile bool more = true;

	for (volatile long at = 1; more; at += at < 60 ? 1 : 17)
	{
		static ArraySource source;
		GpucolGpuPrefetch figures = {.cold = known_cold};
		const char *why = "";

		forget(0);
		array_source_init(&source, table, 65536, false);
		source.base.storage[0] = 7;
		source.fail_at = at;
		if (setjmp(source.jump) == 0)
		{
			CHECK(gpucol_gpu_load(program, &source.base, NTHREADS, NULL, &figures, &why) == GPUCOL_OK, "%s", why);
			more = false;
		}
		else
		{
			gpucol_gpu_load_abandon();
			array_source_abort(&source);
		}
		check_pieces(table);
	}
	CHECK(check_pieces(table) == ALL_PIECES, "pieces");
}

/* Begin a load of one segment over a connection. */
static void
begin_run(GpucolWire *wire, const GpucolProgram *program, uint64_t id)
{
	char		message[4096] = {0};
	GpucolWireRun *run = (GpucolWireRun *) message;
	size_t		at = sizeof(*run) + (program->size + 7) / 8 * 8;
	void	   *need;
	size_t		size;

	run->program_size = program->size;
	run->nsegments = 1;
	run->ncolumns = NCOLUMNS;
	run->flags = GPUCOL_WIRE_RUN_PREFETCH;
	memcpy(run + 1, program, program->size);
	((GpucolWireSegment *) (message + at))->id = id;
	at += sizeof(GpucolWireSegment) + NCOLUMNS * sizeof(GpucolWireColumnChunk);
	CHECK(gpucol_wire_send(wire, GPUCOL_WIRE_RUN, message, at, NULL, 0), "sent");
	CHECK(gpucol_wire_receive(wire, GPUCOL_WIRE_NEED, &need, &size) &&
		  size == NCOLUMNS * sizeof(GpucolWireNeed), "asked");
	free(need);
}

/* Objects that a part of the slab holds are not split, wherever in a part they begin. */
static void
test_parts(const GpucolProgram *program)
{
	static const uint64_t totals[NPARTED] = {1200000, 900000, 1900000, 2097152, 100000, 2000000, 5000000,
											 700000, 300000};
	static char data[5000000];
	GpucolWire *wire = gpucol_wire_adopt(stub_try_connect(), NULL, NULL);
	void	   *result;
	size_t		size;

	forget(0);
	CHECK(wire != NULL && gpucol_wire_greet(wire), "greeted");
	for (uint64_t id = 0; id < NPARTED / NCOLUMNS; id++)
	{
		begin_run(wire, program, id);
		for (uint32_t c = 0; c < NCOLUMNS; c++)
		{
			uint64_t	total = totals[id * NCOLUMNS + c];

			memset(data, (int) (id * NCOLUMNS + c), total);
			CHECK(gpucol_wire_put(wire, GPUCOL_PUT_CHUNK, 0, c, total, 0, data, total), "put");
		}
		CHECK(gpucol_wire_flush(wire) && gpucol_wire_receive(wire, GPUCOL_WIRE_RESULT, &result, &size), "answered");
		free(result);
	}
	gpucol_wire_close(wire);
	CHECK(stub.nsplit == 1, "%u split", stub.nsplit);
	for (size_t i = 0; i < NPARTED; i++)
	{
		const char *piece = stub.pieces[i / NCOLUMNS][1 + i % NCOLUMNS];

		CHECK(stub.sizes[i / NCOLUMNS][1 + i % NCOLUMNS] == totals[i] && piece[0] == (char) i &&
			  memcmp(piece, piece + 1, totals[i] - 1) == 0, "object %zu", i);
	}
	forget(0);
}

/* Two loads that share the work, one after the other: each segment is loaded by one. */
static void
test_two(const ArrayTable *table, const GpucolProgram *program)
{
	for (int round = 0; round < 2; round++)
	{
		GpucolGpuPrefetch figures = {.cold = round == 1, .next = 5};
		ArraySource source;
		const char *why = "";

		forget(0);
		for (int part = 0; part < 2; part++)
		{
			array_source_init(&source, table, 65536, true);
			source.base.storage[0] = 7;
			CHECK(gpucol_gpu_load(program, &source.base, NTHREADS, NULL, &figures, &why) == GPUCOL_OK, "%s", why);
			CHECK(check_pieces(table) == (NSEGMENTS - 5) * NCOLUMNS + 2 + (part == 1 ? 5 * NCOLUMNS + 1 : 0),
				  "%d pieces", check_pieces(table));
			figures.next = 0;
		}
		CHECK(stub.ntwice == 0, "%u twice", stub.ntwice);
	}
}

int
main(void)
{
	static ArrayTable table;
	GpucolProgram *program = make_program();

	make_table(&table);
	test_all(&table, program);
	for (int round = 0; round < 2; round++)
	{
		known_cold = round == 1;
		test_few_pins(&table, program);
		test_without(&table, program);
		test_corrupt(&table, program);
		test_failures(&table, program);
		test_unwinding(&table, program);
	}
	test_two(&table, program);
	test_parts(program);
	CHECK(!stub.broken, "something else than was asked for");
	gpucol_wire_drop();
	forget(0);
	free(program);
	array_table_free(&table);
	return check_summary("gpu_load");
}
