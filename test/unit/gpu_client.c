/*-------------------------------------------------------------------------
 *
 * gpu_client.c
 *	  The CUDA engine's client against an imitation of the daemon: what it tells
 *	  of a table's segments, when, and what it sends.
 *
 * The imitation (a thread at the other end of a socket) remembers lists and
 * pieces as the daemon does, asks for what it lacks, checks the bytes that come,
 * and answers with a result of its own making.
 *
 *-------------------------------------------------------------------------
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#include "array_source.h"
#include "base/budget.h"
#include "engine/engine.h"
#include "engine/gpu/client.h"
#include "engine/gpu/wire.h"
#include "program_builder.h"
#include "service/service.h"

#define NSEGMENTS	3
#define NROWS		5000
#define MAX_PIECES	256

/* What the imitation has seen of the last request, and what it knows. */
static struct
{
	GpucolWireRun run;
	bool		scan;			/* its program's kind */
	uint32_t	noutputs;		/* of a scan */
	uint32_t	nneeded;		/* pieces it asked for */
	uint32_t	nput;			/* messages with parts of them */
	uint64_t	bytes;			/* in those */
	uint32_t	requests;
	bool		slab_result;	/* the last result went through the slab */
	bool		broken;			/* something that should not come */

	GpucolWireSegment segments[GPUCOL_WIRE_LISTS][NSEGMENTS];
	GpucolWireColumnChunk chunks[GPUCOL_WIRE_LISTS][NSEGMENTS * 4];
	uint64_t	held[MAX_PIECES];	/* identities */
	uint32_t	nheld;
	char	   *slab;
	uint64_t	slab_size;
	uint64_t	result_rows;	/* of the next answer */
	bool		fail;			/* the next request, while its pieces come */
	bool		refuse;			/* the next request, before its list is taken */
	bool		no_slab;		/* there is none to be had */
	bool		senseless;		/* rows, or places of words, that the table does not have */
	bool		extremes;		/* aggregates are least words: those of groups are the first, the second */
	uint64_t	order;			/* bytes of the last order that came, and of which column */
	uint32_t	order_slot;
	bool		silent;			/* RUNs are taken, and not answered */
	uint64_t	endless;		/* bytes that the next result is said to have; 0: as many as it has */
	uint32_t	soon;			/* requests that were announced */
}			stub;

static GpucolWireNeed needed[MAX_PIECES];

/* There is no daemon; there is one, which is not to be started. */
static bool absent;
static bool reachable;

/* Milliseconds that a greeting takes. */
static int	slow;

/* Seconds that it takes to find no daemon. */
static int	search;

/* Sends shared memory of which most is missing. */
static bool cut;

/* Greets nobody; and how often it was called. */
static bool mute;
static int	connections;

/* Clients that have left. */
static _Atomic int departures;

/* Sessions at work, as clients are told in the greeting. */
static uint32_t running;

/* The end of the connection that this thread serves; the one before may still end. */
static __thread int served;

/* The client has left. */
static void
leave(void)
{
	departures++;
	close(served);
	pthread_exit(NULL);
}

static void
read_all(void *to, size_t n)
{
	for (char *p = to; n > 0;)
	{
		ssize_t		got = recv(served, p, n, 0);

		if (got <= 0)
			leave();
		p += got;
		n -= (size_t) got;
	}
}

static void
write_message(GpucolWireType type, const void *payload, size_t n)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};

	if (send(served, &header, sizeof(header), MSG_NOSIGNAL) < 0 ||
		(n > 0 && send(served, payload, n, MSG_NOSIGNAL) < 0))
		leave();
}

/* A message with a descriptor, which is closed. */
static void
write_with(GpucolWireType type, const void *payload, size_t n, int fd)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, (uint16_t) type, (uint32_t) n};
	char		control[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov[2] = {{&header, sizeof(header)}, {(void *) payload, n}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(int));
	if (sendmsg(served, &msg, MSG_NOSIGNAL) < 0)
		leave();
	close(fd);
}

static bool
holds(uint64_t identity)
{
	for (uint32_t i = 0; i < stub.nheld; i++)
		if (stub.held[i] == identity)
			return true;
	return false;
}

/* Ask for a piece that is not held, from now on it is. */
static void
need(uint32_t segment, uint32_t slot, uint32_t kind, uint64_t identity)
{
	if (identity == 0 || holds(identity))
		return;
	stub.held[stub.nheld++] = identity;
	needed[stub.nneeded++] = (GpucolWireNeed) {segment, (uint16_t) slot, (uint16_t) kind};
}

/* A RUN: remember or recall its list; what is lacking goes to needed[]. */
static void
take_run(const char *payload, size_t size)
{
	const GpucolWireRun *run = &stub.run;
	size_t		at = sizeof(stub.run);
	uint32_t	list;

	memcpy(&stub.run, payload, sizeof(stub.run));
	stub.scan = ((const GpucolProgram *) (payload + at))->kind == GPUCOL_PROGRAM_SCAN;
	stub.noutputs = ((const GpucolProgram *) (payload + at))->nkeys;
	list = run->flags & (GPUCOL_WIRE_RUN_KEEP | GPUCOL_WIRE_RUN_LIST) ? run->list : 0;
	at += (run->program_size + 7) / 8 * 8;
	stub.requests++;
	stub.nneeded = stub.nput = 0;
	stub.bytes = 0;
	if (list >= GPUCOL_WIRE_LISTS || run->nsegments > NSEGMENTS || run->ncolumns > 4)
	{
		stub.broken = true;
		return;
	}
	if (!(run->flags & GPUCOL_WIRE_RUN_LIST))
	{
		memcpy(stub.segments[list], payload + at, run->nsegments * sizeof(GpucolWireSegment));
		at += run->nsegments * sizeof(GpucolWireSegment);
		memcpy(stub.chunks[list], payload + at, run->nsegments * run->ncolumns * sizeof(GpucolWireColumnChunk));
		at += run->nsegments * run->ncolumns * sizeof(GpucolWireColumnChunk);
	}
	stub.broken |= at != size;
	for (uint32_t s = 0; s < run->nsegments; s++)
	{
		const GpucolWireColumnChunk *chunks = stub.chunks[list] + s * run->ncolumns;

		for (uint32_t c = 0; c < run->ncolumns; c++)
			need(s, c, GPUCOL_PUT_CHUNK, chunks[c].identity + s * UINT64_C(1000003));
		for (uint32_t c = 0; c < run->ncolumns; c++)
			need(s, c, GPUCOL_PUT_REMAP, chunks[c].remap == 0 ? 0 : chunks[c].remap + s * UINT64_C(1000003));
		need(s, 0, GPUCOL_PUT_DELETED, stub.segments[list][s].deleted);
	}
}

/* A PUT: of the pieces that were asked for, in that order. */
static void
take_put(const char *payload)
{
	static uint32_t at = 0;
	GpucolWirePut put;

	memcpy(&put, payload, sizeof(put));
	if (put.in_slab)
		write_message(GPUCOL_WIRE_DONE, NULL, 0);
	if (put.kind == GPUCOL_PUT_ORDER)
	{
		stub.order = put.total;
		stub.order_slot = put.b;
	}
	if (put.kind > GPUCOL_PUT_REMAP)
		return;
	if (stub.nput++ == 0)
		at = 0;
	stub.broken |= at >= stub.nneeded || needed[at].segment != put.a || needed[at].kind != put.kind ||
		(put.kind != GPUCOL_PUT_DELETED && needed[at].slot != put.b);
	stub.bytes += put.length;
	if (put.offset + put.length == put.total)
		at++;
}

/* Answer SLAB: with a descriptor. */
static void
give_slab(uint64_t size)
{
	int			fd;

	if (stub.no_slab)
	{
		write_message(GPUCOL_WIRE_REFUSED, NULL, 0);
		return;
	}
	fd = memfd_create("stub", 0);
	if (fd < 0 || ftruncate(fd, cut ? 4096 : (off_t) size) != 0)
		leave();
	stub.slab_size = size;
	stub.slab = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	write_with(GPUCOL_WIRE_DONE, NULL, 0, fd);
}

/* Greet, with a table of what is resident in which so many sessions are at work. */
static void
greet(void)
{
	GpucolWireWelcome welcome = {1, 1, 1 << 30};
	GpucolResidency *table;
	int			fd = memfd_create("residency", 0);

	poll(NULL, 0, slow);
	if (fd < 0 || ftruncate(fd, sizeof(*table)) != 0)
		leave();
	table = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	table->running = running;
	munmap(table, sizeof(*table));
	if (cut && ftruncate(fd, 16) != 0)
		leave();
	write_with(GPUCOL_WIRE_WELCOME, &welcome, sizeof(welcome), fd);
}

/* Give up in the middle of a request. */
static void
give_up(void)
{
	GpucolWireResult result = {.status = GPUCOL_UNSUPPORTED, .closing = 1, .reason = "a part has failed"};

	write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
	leave();
}

/* Leave a request to another engine; the session goes on. */
static void
refuse_run(void)
{
	GpucolWireResult result = {.status = GPUCOL_UNSUPPORTED, .reason = "not for the device"};

	stub.refuse = false;
	stub.requests++;
	write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
}

/* The result of a scan: the last row of the table, or one behind its end, and row 5; outputs are 0. */
static void
answer_rows(void)
{
	uint64_t	data[8] = {(uint64_t) (NSEGMENTS - 1) << 32 | (stub.senseless ? NROWS : NROWS - 1), 5};
	GpucolWireResult result = {.status = GPUCOL_OK, .nrows = 2, .bytes = (2 + 3 * stub.noutputs) * sizeof(uint64_t)};

	write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
	write_message(GPUCOL_WIRE_RESULT_PART, data, result.bytes);
}

/* The result: one group column whose rows are their own numbers. */
static void
answer(void)
{
	GpucolWireResult result = {.status = GPUCOL_OK, .nrows = stub.result_rows};
	uint64_t	n = stub.result_rows;
	size_t		states = n * sizeof(GpucolAggState);
	char	   *data;

	if (stub.scan)
	{
		answer_rows();
		return;
	}
	if (stub.run.flags & GPUCOL_WIRE_RUN_PREFETCH)
	{
		result.nrows = 0;
		write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
		return;
	}
	if (stub.endless != 0)
	{
		result.bytes = stub.endless;
		write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
		write_message(GPUCOL_WIRE_RESULT_PART, needed, sizeof(needed));
		return;
	}
	result.bytes = n * 8 + (n + 7) / 8 * 8 + states;
	data = calloc(1, result.bytes + 1);
	for (uint64_t i = 0; i < n; i++)
		((int64_t *) data)[i] = (int64_t) i;
	for (uint64_t i = 0; stub.extremes && i < n; i++)
	{
		GpucolAggState *state = (GpucolAggState *) (data + result.bytes - states) + i;

		state->count = i != 3;
		state->v.value = stub.senseless ? 50 : (int64_t) i;
	}
	result.in_slab = stub.slab != NULL && result.bytes <= stub.slab_size;
	stub.slab_result = result.in_slab;
	if (result.in_slab)
		memcpy(stub.slab, data, result.bytes);
	write_message(GPUCOL_WIRE_RESULT, &result, sizeof(result));
	for (uint64_t at = 0; !result.in_slab && at < result.bytes; at += 100000)
		write_message(GPUCOL_WIRE_RESULT_PART, data + at, result.bytes - at < 100000 ? result.bytes - at : 100000);
	free(data);
}

static void *
imitate(void *arg)
{
	static __thread char payload[1 << 21] __attribute__((aligned(8)));
	uint32_t	left = 0;		/* pieces and objects still to come */

	served = (int) (intptr_t) arg;
	for (;;)
	{
		GpucolWireHeader header;

		read_all(&header, sizeof(header));
		read_all(payload, header.length);
		if (header.type == GPUCOL_WIRE_HELLO && mute)
			continue;
		if (header.type == GPUCOL_WIRE_HELLO)
			greet();
		else if (header.type == GPUCOL_WIRE_ANNOUNCE)
			stub.soon++;
		else if (header.type == GPUCOL_WIRE_SLAB)
		{
			GpucolWireSlab slab;

			memcpy(&slab, payload, sizeof(slab));
			give_slab(slab.size);
		}
		else if (header.type == GPUCOL_WIRE_RUN && stub.refuse)
			refuse_run();
		else if (header.type == GPUCOL_WIRE_RUN && stub.silent)
			stub.requests++;
		else if (header.type == GPUCOL_WIRE_RUN)
		{
			take_run(payload, header.length);
			left = stub.nneeded + stub.run.nobjects;
			if (left > 0)
				write_message(GPUCOL_WIRE_NEED, needed, stub.nneeded * sizeof(needed[0]));
			else
				answer();
			if (stub.fail)
				give_up();
		}
		else if (header.type == GPUCOL_WIRE_PUT)
		{
			GpucolWirePut put;

			memcpy(&put, payload, sizeof(put));
			take_put(payload);
			if (put.offset + put.length == put.total && --left == 0)
				answer();
		}
		else
			stub.broken = true;
	}
	return NULL;
}

/* ---- the service of this process ---- */

static bool
stub_available(const char **why)
{
	*why = NULL;
	return true;
}

static int
stub_connect(const char **why)
{
	int			pair[2];
	pthread_t	thread;

	*why = absent ? "there is no daemon" : NULL;
	if (absent)
	{
		connections++;
		sleep((unsigned) search);
		return -1;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return -1;
	connections++;
	memset(&stub, 0, sizeof(stub));
	stub.result_rows = 10;
	pthread_create(&thread, NULL, imitate, (void *) (intptr_t) pair[1]);
	pthread_detach(thread);
	return pair[0];
}

static int
stub_try_connect(void)
{
	const char *why;

	return reachable ? stub_connect(&why) : -1;
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

/* ---- the table and the program ---- */

enum
{
	C_NUMBER,
	C_TEXT,
	NCOLUMNS
};

/* Numbers that need 20 bits, and 50 words; rows deleted in the second segment. */
static void
make_table(ArrayTable *table)
{
	static char words[50][16];

	memset(table, 0, sizeof(*table));
	table->ncolumns = NCOLUMNS;
	table->nsegments = NSEGMENTS;
	table->tids = calloc(1, sizeof(uint64_t));
	for (int w = 0; w < 50; w++)
		snprintf(words[w], sizeof(words[w]), "word%d", w);
	for (int s = 0; s < NSEGMENTS; s++)
	{
		ArraySegment *segment = &table->segments[s];
		ArrayColumn *number = &segment->columns[C_NUMBER];
		ArrayColumn *text = &segment->columns[C_TEXT];

		segment->nrows = NROWS;
		segment->first_row = (uint64_t) s * NROWS;
		number->kind = GPUCOL_KIND_INT;
		number->values = calloc(GPUCOL_VECTORS(NROWS) * 1024, sizeof(int64_t));
		text->kind = GPUCOL_KIND_BYTES;
		text->bytes = calloc(GPUCOL_VECTORS(NROWS) * 1024, sizeof(GpucolBytes));
		for (int r = 0; r < NROWS; r++)
		{
			number->values[r] = (int64_t) (check_random() >> 44);
			text->bytes[r].data = words[check_random() % 50];
			text->bytes[r].len = strlen(text->bytes[r].data);
		}
		if (s == 1)
		{
			segment->deleted = calloc(GPUCOL_VECTORS(NROWS) * 32, sizeof(uint32_t));
			segment->deleted[3] = 0xff;
			segment->ndeleted = 8;
		}
		CHECK(array_segment_encode(segment, NCOLUMNS) == GPUCOL_OK, "encode");
	}
	table->delta[C_NUMBER].kind = GPUCOL_KIND_INT;
	table->delta[C_TEXT].kind = GPUCOL_KIND_BYTES;
}

/* SELECT number or text, count(*) GROUP BY 1. */
static GpucolProgram *
make_program(bool text)
{
	static ProgramBuilder b;
	int			r;

	builder_init(&b, GPUCOL_PROGRAM_AGG);
	builder_column(&b, GPUCOL_KIND_INT, 0);
	builder_column(&b, GPUCOL_KIND_BYTES, 0);
	r = text ? builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_TEXT) :
		builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_NUMBER);
	b.keys[b.head.nkeys++] = (uint16_t) r;
	builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	return builder_finish(&b);
}

/* A source that knows its version only when it is asked. */
static uint64_t version_if_asked;

static void
identify(GpucolSource *source)
{
	source->version = version_if_asked;
}

/*
 * Run a program over a source of this version, which it says at once or if asked; the
 * groups that came back.
 */
static uint64_t
ask_source(const ArrayTable *table, const GpucolProgram *program, uint64_t version, bool if_asked)
{
	GpucolSourceOps ops = array_source_ops;
	ArraySource source;
	GpucolRunOptions options = {.threads = 1};
	GpucolRun  *run;
	GpucolResult out;
	const char *why = "";
	GpucolStatus status;
	uint64_t	rows = 0;

	array_source_init(&source, table, 65536, true);
	source.base.storage[0] = 7;
	ops.identify = identify;
	version_if_asked = version;
	if (if_asked)
		source.base.ops = &ops;
	else
		source.base.version = version;
	status = gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why);
	CHECK(status == GPUCOL_OK, "start: %s", why);
	if (status != GPUCOL_OK)
		return 0;
	while ((status = gpucol_engine_cuda.next(run, &out)) == GPUCOL_OK)
	{
		if (out.columns[0].cls == GPUCOL_CLASS_I)
			CHECK(out.columns[0].i[0] == (int64_t) rows, "row %ld", (long) out.columns[0].i[0]);
		rows += out.nrows;
	}
	CHECK(status == GPUCOL_END, "status %d", status);
	CHECK(source.mapped_rows == 0, "windows left mapped");
	gpucol_engine_cuda.finish(run);
	CHECK(!stub.broken, "something else than was asked for");
	return rows;
}

static uint64_t
ask(const ArrayTable *table, const GpucolProgram *program, uint64_t version)
{
	return ask_source(table, program, version, false);
}

/* ---- tests ---- */

/* Two tables by turns, whose columns lie elsewhere than the program says; rows counted of each. */
static int32_t elsewhere[2][4] = {{7, 8, 9, 10}, {3, 1, 4, 2}};
static GpucolSource two_tables[2] = {
	{.storage = {70, 1}, .attnums = elsewhere[0]},
	{.storage = {71, 1}, .attnums = elsewhere[1]},
};
static uint64_t rows_of_tables[2];

static const GpucolSource *
table_by_turns(const GpucolSource *source)
{
	return &two_tables[((const ArraySource *) source)->segment % 2];
}

static void
count_by_turns(GpucolSource *source, const uint64_t storage[2], uint64_t nrows)
{
	(void) source;
	rows_of_tables[storage[0] - 70] += nrows;
}

/* Segments of several tables are told with their tables' storages and columns. */
static void
test_tables(const ArrayTable *table)
{
	GpucolSourceOps ops = array_source_ops;
	GpucolRunOptions options = {.threads = 1};
	GpucolProgram *program = make_program(false);
	uint64_t	all = 0;

	ops.table = table_by_turns;
	ops.count_rows = count_by_turns;
	for (int round = 0; round < 2; round++)
	{
		ArraySource source;
		GpucolRun  *run;
		const char *why = "";

		array_source_init(&source, table, 65536, true);
		source.base.ops = &ops;
		source.base.storage[0] = source.base.version = 72;
		CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OK, "%s", why);
		gpucol_engine_cuda.finish(run);
		CHECK(stub.run.flags == (round == 0 ? GPUCOL_WIRE_RUN_KEEP : GPUCOL_WIRE_RUN_LIST), "flags %u", stub.run.flags);
		for (uint32_t s = 0; s < stub.run.nsegments; s++)
		{
			const GpucolWireSegment *segment = &stub.segments[stub.run.list][s];

			CHECK(segment->storage[0] == 70 + (s + 1) % 2, "segment %u: table %d", s, (int) segment->storage[0]);
			for (uint32_t c = 0; c < stub.run.ncolumns; c++)
				CHECK(stub.chunks[stub.run.list][s * stub.run.ncolumns + c].attnum == elsewhere[(s + 1) % 2][c],
					  "segment %u, column %u", s, c);
			all += segment->nrows - segment->ndeleted;
		}
		CHECK(rows_of_tables[0] + rows_of_tables[1] == (round == 0 ? 0 : all / 2) &&
			  (rows_of_tables[1] > 0) == (round == 1), "rows counted");
	}
	free(program);
}

/* Segments are told once for each version, and their pieces sent once. */
static void
test_lists(const ArrayTable *table)
{
	GpucolProgram *numbers = make_program(false);
	GpucolProgram *words = make_program(true);
	uint32_t	list;

	CHECK(ask(table, numbers, 1) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP, "flags %u", stub.run.flags);
	list = stub.run.list;
	CHECK(stub.nneeded == 2 * NSEGMENTS + 1, "%u pieces", stub.nneeded);	/* and the deleted rows */
	CHECK(stub.bytes > NSEGMENTS * NROWS * 20 / 8, "bytes sent");

	CHECK(ask(table, numbers, 1) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_LIST && stub.run.list == list, "flags %u", stub.run.flags);
	CHECK(stub.nneeded == 0 && stub.nput == 0, "sent again");

	/* values of bytes: the codes, where before only NULLs were, and numbers of entries */
	CHECK(ask(table, words, 1) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP && stub.run.list != list, "flags %u", stub.run.flags);
	CHECK(stub.run.distinct[C_TEXT] == 50, "%u words", stub.run.distinct[C_TEXT]);
	CHECK(stub.nneeded == 2 * NSEGMENTS, "%u pieces", stub.nneeded);
	CHECK(ask(table, words, 1) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_LIST && stub.nneeded == 0, "flags %u", stub.run.flags);
	CHECK(stub.run.distinct[C_TEXT] == 50, "%u words", stub.run.distinct[C_TEXT]);

	/* what the daemon has lost is sent again, from a list and a dictionary that are kept */
	stub.nheld = 0;
	CHECK(ask(table, words, 1) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_LIST, "flags %u", stub.run.flags);
	CHECK(stub.nneeded == 3 * NSEGMENTS + 1, "%u pieces", stub.nneeded);

	/* another version, then no version */
	CHECK(ask(table, numbers, 2) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP, "flags %u", stub.run.flags);
	CHECK(ask(table, numbers, 0) == 10, "groups");
	CHECK(ask(table, numbers, 0) == 10, "groups");
	CHECK(stub.run.flags == 0, "flags %u", stub.run.flags);

	/* more versions than lists: a number that is used again is told again */
	for (uint64_t v = 10; v < 10 + 2 * GPUCOL_WIRE_LISTS; v++)
	{
		CHECK(ask(table, numbers, v) == 10, "groups");
		CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP && stub.run.list < GPUCOL_WIRE_LISTS, "flags %u", stub.run.flags);
	}
	CHECK(ask(table, numbers, 10) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP, "flags %u", stub.run.flags);

	/* a source that says its version when it is asked, if it has one */
	CHECK(ask_source(table, numbers, 10, true) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_LIST, "flags %u", stub.run.flags);
	CHECK(ask_source(table, numbers, 100, true) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP, "flags %u", stub.run.flags);
	CHECK(ask_source(table, numbers, 0, true) == 10, "groups");
	CHECK(stub.run.flags == 0, "flags %u", stub.run.flags);

	/* a new daemon knows nothing */
	gpucol_wire_drop();
	CHECK(ask(table, numbers, 10) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP && stub.requests == 1, "flags %u", stub.run.flags);
	CHECK(stub.nneeded == 2 * NSEGMENTS + 1, "%u pieces", stub.nneeded);
	free(numbers);
	free(words);
}

/* A request that fails while its pieces are sent: the reason comes, the next one works. */
static void
test_early_failure(const ArrayTable *table)
{
	GpucolProgram *program = make_program(true);

	for (int round = 0; round < 20; round++)
	{
		ArraySource source;
		GpucolRunOptions options = {.threads = 1};
		GpucolRun  *run;
		const char *why = "";

		gpucol_wire_drop();
		CHECK(ask(table, program, 0) == 10, "groups");
		stub.nheld = 0;
		stub.fail = true;
		array_source_init(&source, table, 65536, true);
		source.base.storage[0] = 7;
		CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_UNSUPPORTED &&
			  strcmp(why, "a part has failed") == 0, "%s", why);
		CHECK(source.mapped_rows == 0, "windows left mapped");
		CHECK(ask(table, program, 0) == 10 && stub.requests == 1, "%u requests", stub.requests);
	}
	free(program);
}

/* Start a program over a source of this version; its status and, if OK, its rows. */
static GpucolStatus
try(const ArrayTable *table, const GpucolProgram *program, uint64_t version,
	uint64_t *rows, const char **why)
{
	ArraySource source;
	GpucolRunOptions options = {.threads = 1};
	GpucolRun  *run;
	GpucolResult out;
	GpucolStatus status;

	*rows = 0;
	array_source_init(&source, table, 65536, true);
	source.base.storage[0] = 7;
	source.base.version = version;
	status = gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, why);
	if (status != GPUCOL_OK)
		return status;
	while (gpucol_engine_cuda.next(run, &out) == GPUCOL_OK)
		*rows += out.nrows;
	gpucol_engine_cuda.finish(run);
	return status;
}

/* A list that came with a refused request is told again. */
static void
test_refused_list(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	const char *why = "";
	uint64_t	rows;

	gpucol_wire_drop();
	CHECK(ask(table, program, 0) == 10, "groups");
	stub.refuse = true;
	CHECK(try(table, program, 50, &rows, &why) == GPUCOL_UNSUPPORTED &&
		  strcmp(why, "not for the device") == 0, "%s", why);
	CHECK(ask(table, program, 50) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_KEEP, "flags %u", stub.run.flags);
	CHECK(ask(table, program, 50) == 10, "groups");
	CHECK(stub.run.flags == GPUCOL_WIRE_RUN_LIST && stub.requests == 4, "flags %u", stub.run.flags);
	free(program);
}

/* Rows that the table does not have are no answer. */
static void
test_senseless(const ArrayTable *table)
{
	static ProgramBuilder b;
	GpucolProgram *program;
	const char *why = "";
	uint64_t	rows;

	builder_init(&b, GPUCOL_PROGRAM_SCAN);
	builder_column(&b, GPUCOL_KIND_INT, 0);
	program = builder_finish(&b);
	gpucol_wire_drop();
	CHECK(try(table, program, 0, &rows, &why) == GPUCOL_OK && rows == 2, "%s", why);
	stub.senseless = true;
	CHECK(try(table, program, 0, &rows, &why) == GPUCOL_DEVICE_LOST &&
		  strcmp(why, "the device's answer makes no sense") == 0, "%s", why);
	CHECK(try(table, program, 0, &rows, &why) == GPUCOL_OK && stub.requests == 1, "%s", why);
	free(program);
}

/* A column of texts that differ all, of which the first is as long as that. */
static void
make_texts(ArrayTable *table, size_t longest)
{
	static char texts[NSEGMENTS][NROWS][16];
	static char first[5000];

	memset(table, 0, sizeof(*table));
	table->ncolumns = 1;
	table->nsegments = NSEGMENTS;
	table->tids = calloc(1, sizeof(uint64_t));
	memset(first, 'x', sizeof(first));
	for (int s = 0; s < NSEGMENTS; s++)
	{
		ArraySegment *segment = &table->segments[s];
		ArrayColumn *text = &segment->columns[0];

		segment->nrows = NROWS;
		segment->first_row = (uint64_t) s * NROWS;
		text->kind = GPUCOL_KIND_BYTES;
		text->bytes = calloc(GPUCOL_VECTORS(NROWS) * 1024, sizeof(GpucolBytes));
		for (int r = 0; r < NROWS; r++)
		{
			snprintf(texts[s][r], sizeof(texts[s][r]), "%x", (unsigned) (s * NROWS + r) * 2654435761u);
			text->bytes[r] = (GpucolBytes) {texts[s][r], strlen(texts[s][r])};
		}
		text->bytes[0] = (GpucolBytes) {first, longest};
		CHECK(array_segment_encode(segment, 1) == GPUCOL_OK, "encode");
		CHECK(segment->chunks[0]->coding == GPUCOL_CODING_RAW, "coding %d", segment->chunks[0]->coding);
	}
	table->delta[0].kind = GPUCOL_KIND_BYTES;
}

/* A scan that puts the texts out, or their groups. */
static GpucolProgram *
texts_program(GpucolProgramKind kind)
{
	static ProgramBuilder b;

	builder_init(&b, kind);
	builder_column(&b, GPUCOL_KIND_BYTES, 0);
	b.keys[b.head.nkeys++] = (uint16_t) builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, 0);
	if (kind == GPUCOL_PROGRAM_AGG)
		builder_agg(&b, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE, GPUCOL_NO_REG, GPUCOL_NO_REG);
	return builder_finish(&b);
}

/* Texts without a dictionary are told as if they had one; longer ones are read of the rows of a result. */
static void
test_texts(void)
{
	static ArrayTable table;
	GpucolRunOptions options = {.threads = 1};
	GpucolProgram *scan = texts_program(GPUCOL_PROGRAM_SCAN);
	GpucolProgram *groups = texts_program(GPUCOL_PROGRAM_AGG);
	ArraySource source;
	GpucolRun  *run;
	GpucolResult out;
	const char *why = "";
	uint64_t	rows;

	make_texts(&table, 3);
	gpucol_wire_drop();
	CHECK(try(&table, groups, 80, &rows, &why) == GPUCOL_OK && rows == 10, "%s", why);
	CHECK(stub.chunks[stub.run.list][0].nentries == NROWS, "%u entries", stub.chunks[stub.run.list][0].nentries);
	CHECK(stub.run.distinct[0] == NSEGMENTS * (NROWS - 1) + 1, "%u numbers", stub.run.distinct[0]);
	CHECK(stub.nneeded == 2 * NSEGMENTS, "%u pieces", stub.nneeded);
	CHECK(stub.bytes > NSEGMENTS * NROWS * sizeof(uint32_t), "%lu bytes", (long) stub.bytes);
	array_table_free(&table);

	make_texts(&table, 5000);
	CHECK(try(&table, groups, 81, &rows, &why) == GPUCOL_UNSUPPORTED, "groups of long texts");
	for (int round = 0; round < 2; round++)
	{
		array_source_init(&source, &table, 65536, true);
		source.base.storage[0] = 8;
		source.base.version = 82;
		CHECK(gpucol_engine_cuda.start(scan, &source.base, NULL, &options, &run, &why) == GPUCOL_OK, "%s", why);
		CHECK(stub.run.distinct[0] == 0 && stub.chunks[stub.run.list][0].nentries == 0, "numbers of long texts");
		CHECK(gpucol_engine_cuda.next(run, &out) == GPUCOL_OK && out.nrows == 2, "rows");
		for (int i = 0; i < 2; i++)
		{
			const ArraySegment *segment = &table.segments[i == 0 ? NSEGMENTS - 1 : 0];
			const GpucolBytes *want = &segment->columns[0].bytes[i == 0 ? NROWS - 1 : 5];
			const GpucolBytes *got = &out.columns[0].s[i];

			CHECK(got->len == want->len && memcmp(got->data, want->data, want->len) == 0, "text %d", i);
		}
		gpucol_engine_cuda.finish(run);
		CHECK(source.mapped_rows == 0, "windows left mapped");
	}
	array_table_free(&table);
	free(scan);
	free(groups);
}

/* The least words come as places in their order. */
static void
test_extremes(const ArrayTable *table)
{
	static const char *const least[] = {"word0", "word1", "word10", NULL, "word12", "word13"};
	static ProgramBuilder b;
	ArraySource source;
	GpucolRunOptions options = {.threads = 1,.in_place = true};
	GpucolProgram *numbers = make_program(false);
	GpucolProgram *program;
	GpucolRun  *run;
	GpucolResult out;
	const char *why = "";
	uint64_t	rows;
	int			r;

	builder_init(&b, GPUCOL_PROGRAM_AGG);
	builder_column(&b, GPUCOL_KIND_INT, 0);
	builder_column(&b, GPUCOL_KIND_BYTES, 0);
	r = builder_instr(&b, GPUCOL_OP_LOAD_I, GPUCOL_CLASS_I, 0, 0, 0, C_NUMBER);
	b.keys[b.head.nkeys++] = (uint16_t) r;
	r = builder_instr(&b, GPUCOL_OP_LOAD_S, GPUCOL_CLASS_S, 0, 0, 0, C_TEXT);
	builder_agg(&b, GPUCOL_AGG_MIN, GPUCOL_CLASS_S, r, GPUCOL_NO_REG);
	program = builder_finish(&b);
	gpucol_wire_drop();
	CHECK(ask(table, numbers, 0) == 10, "groups");
	stub.extremes = true;
	stub.result_rows = 6;
	array_source_init(&source, table, 65536, true);
	source.base.storage[0] = 7;
	CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OK, "%s", why);
	CHECK(stub.order == 51 * sizeof(uint32_t) && stub.order_slot == C_TEXT, "%lu bytes of an order", (long) stub.order);
	for (rows = 0; gpucol_engine_cuda.next(run, &out) == GPUCOL_OK; rows += out.nrows)
		for (uint32_t i = 0; i < out.nrows; i++)
		{
			const GpucolAggState *state = &out.states[i];
			const char *want = least[rows + i];

			CHECK(want == NULL ? state->count == 0 : state->v.s.len == strlen(want) &&
				  memcmp(state->v.s.data, want, state->v.s.len) == 0, "group %u", i);
		}
	CHECK(rows == 6, "%lu groups", (long) rows);
	gpucol_engine_cuda.finish(run);
	stub.senseless = true;
	CHECK(try(table, program, 0, &rows, &why) == GPUCOL_DEVICE_LOST &&
		  strcmp(why, "the device's answer makes no sense") == 0, "%s", why);
	free(program);
	free(numbers);
}

/* A result that is said to have more bytes than there are is not made room for. */
static void
test_endless(const ArrayTable *table)
{
	static const uint64_t sizes[] = {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 100000, UINT64_C(1) << 50};
	GpucolProgram *program = make_program(false);

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		const char *why = "";
		uint64_t	rows;

		gpucol_wire_drop();
		CHECK(ask(table, program, 0) == 10, "groups");
		stub.endless = sizes[i];
		CHECK(try(table, program, 0, &rows, &why) == GPUCOL_DEVICE_LOST &&
			  strcmp(why, "the device's answer makes no sense") == 0, "%s", why);
		CHECK(ask(table, program, 0) == 10 && stub.requests == 1, "%u requests", stub.requests);
	}
	free(program);
}

/* Has one more client left, within a second or two? */
static bool
departed(int before)
{
	for (int ms = 0; ms < 2000 && departures == before; ms++)
		poll(NULL, 0, 1);
	return departures == before + 1;
}

/* An error while the answer is awaited: the daemon notices it though nothing follows. */
static void
test_unwinding(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	static ArraySource source;
	GpucolRunOptions options = {.threads = 1};
	const char *why = "";

	for (volatile int round = 0; round < 2; round++)
	{
		volatile int before;
		GpucolRun  *volatile run = NULL;
		GpucolGpuPrefetch figures = {.sent = 0};

		gpucol_wire_drop();
		CHECK(ask(table, program, 0) == 10, "groups");
		stub.silent = true;
		before = departures;
		array_source_init(&source, table, 65536, false);
		source.base.storage[0] = 7;
		source.fail_at = 100;	/* beyond the calls before the answer is awaited */
		if (setjmp(source.jump) == 0)
		{
			if (round == 0)
				gpucol_engine_cuda.start(program, &source.base, NULL, &options, (GpucolRun **) &run, &why);
			else
				gpucol_gpu_prefetch(program, &source.base, &figures, &why);
			CHECK(false, "nothing was raised");
		}
		if (round == 0)
			gpucol_engine_cuda.finish(run);
		else
			gpucol_gpu_load_abandon();
		array_source_abort(&source);
		CHECK(departed(before) && stub.requests == 2, "the request goes on");
		CHECK(ask(table, program, 0) == 10 && stub.requests == 1, "%u requests", stub.requests);
	}
	free(program);
}

/* A dictionary is mapped where all of it may be at a time (the source watches). */
static void
test_little_windows(const ArrayTable *table)
{
	GpucolProgram *program = make_program(true);
	GpucolRunOptions options = {.threads = 1};
	int			done = 0;

	gpucol_wire_drop();
	CHECK(ask(table, program, 0) == 10, "groups");
	for (uint32_t window = 1; window < 20; window++)
	{
		ArraySource source;
		GpucolRun  *run;
		GpucolStatus status;
		const char *why = "";

		array_source_init(&source, table, window, true);
		source.base.storage[0] = 7;
		status = gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why);
		CHECK(status == GPUCOL_UNSUPPORTED || (status == GPUCOL_OK && window > 2), "%u rows: %s", window, why);
		CHECK(source.mapped_rows == 0, "windows left mapped");
		done += status == GPUCOL_OK;
		if (status == GPUCOL_OK)
			gpucol_engine_cuda.finish(run);
	}
	CHECK(done > 0 && done < 17, "%d windows", done);
	free(program);
}

/* A host test of two columns has results for the values of each, which have numbers of their own. */
static void
test_shared_host_test(const ArrayTable *table)
{
	static ProgramBuilder b;
	GpucolProgram *program;
	const char *why = "";
	uint64_t	rows;

	builder_init(&b, GPUCOL_PROGRAM_SCAN);
	builder_column(&b, GPUCOL_KIND_BYTES, 0);
	builder_column(&b, GPUCOL_KIND_BYTES, 0);
	builder_range(&b, 0, GPUCOL_RANGE_HOST)->n = 1;
	builder_range(&b, 1, GPUCOL_RANGE_HOST)->n = 1;
	program = builder_finish(&b);
	gpucol_wire_drop();
	CHECK(try(table, program, 0, &rows, &why) == GPUCOL_UNSUPPORTED &&
		  strcmp(why, "a condition on the values of two columns of bytes") == 0, "%s", why);
	free(program);
}

/* A source whose segments others read parts of is not for the device. */
static void
test_in_parts(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	GpucolRunOptions options = {.threads = 1};
	ArraySource source;
	GpucolRun  *run;
	const char *why = "";

	gpucol_wire_drop();
	CHECK(ask(table, program, 0) == 10, "groups");
	array_source_init(&source, table, 65536, true);
	source.base.storage[0] = 7;
	source.base.in_parts = true;
	source.part = 1;
	CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_UNSUPPORTED &&
		  strcmp(why, "other processes read parts of the same segments") == 0, "%s", why);
	CHECK(ask(table, program, 0) == 10 && stub.requests == 2, "%u requests", stub.requests);
	free(program);
}

/* Of more delta rows than fit the query's memory not all are read. */
static void
test_many_delta_rows(const ArrayTable *table)
{
	enum
	{
		NDELTA = 2000000
	};
	GpucolProgram *program = make_program(false);
	static ArrayTable grown;
	GpucolBudget above = {.limit = 4 << 20};	/* what binds is above the query's own limit */
	GpucolRunOptions options = {.threads = 1, .memory_limit = 1 << 30, .budget = &above};
	GpucolBytes none = {"", 0};
	ArraySource source;
	GpucolRun  *run;
	const char *why = "";

	grown = *table;
	grown.ndelta = NDELTA;
	grown.tids = calloc(NDELTA, sizeof(uint64_t));
	grown.delta[C_NUMBER].values = calloc(NDELTA, sizeof(int64_t));
	grown.delta[C_TEXT].bytes = calloc(NDELTA, sizeof(GpucolBytes));
	grown.delta[C_TEXT].bytes[0] = none;
	array_source_init(&source, &grown, 65536, true);
	source.base.storage[0] = 7;
	CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OUT_OF_MEMORY &&
		  strcmp(why, "dictionaries and delta rows do not fit the query's memory limit") == 0, "%s", why);
	CHECK(source.delta < NDELTA / 4, "%u rows were read", source.delta);
	CHECK(above.used == 0 && above.peak > 1 << 20, "%zu bytes, at most %zu", (size_t) above.used,
		  (size_t) above.peak);
	free(grown.tids);
	free(grown.delta[C_NUMBER].values);
	free(grown.delta[C_TEXT].bytes);
	CHECK(ask(table, program, 0) == 10, "groups");
	free(program);
}

/* What is kept of a table for later queries counts against the session, and is a small part. */
static void
test_kept_memory(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	GpucolBudget session = {0};
	GpucolRunOptions options = {.threads = 1, .memory_limit = 1 << 30, .budget = &session};
	size_t		limit = 64 << 20;
	ArraySource source;

	for (int i = 0; i < 2; i++)
	{
		GpucolRun  *run;
		const char *why = "";

		/* the second time with room for little more than the query */
		if (i == 1)
			limit = session.peak;
		gpucol_budget_open(&session, limit, NULL);
		array_source_init(&source, table, 65536, true);
		source.base.storage[0] = 4711 + (uint64_t) i;
		source.base.version = 4711 + (uint64_t) i;
		CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OK, "%s", why);
		gpucol_engine_cuda.finish(run);
		CHECK((session.used > 0) == (i == 0) && session.used <= limit / 8, "%zu of %zu bytes are kept",
			  (size_t) session.used, limit);
		/* other manifests take its place before the session's budget is gone */
		for (uint64_t other = 0; other < 16; other++)
		{
			options.budget = NULL;
			array_source_init(&source, table, 65536, true);
			source.base.storage[0] = source.base.version = 9000 + 100 * (uint64_t) i + other;
			CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OK, "%s", why);
			gpucol_engine_cuda.finish(run);
		}
		options.budget = &session;
		CHECK(session.used == 0, "%zu bytes are still counted", (size_t) session.used);
	}
	free(program);
}

/* Large results come in parts, and from the third on through the slab. */
static void
test_results(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	uint64_t	sizes[] = {0, 1, 5000, 20000, 20000, 20000, 300, 60000, 20000};

	gpucol_wire_drop();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		ask(table, program, 0); /* a new connection has another result */
		stub.result_rows = sizes[i];
		CHECK(ask(table, program, 0) == sizes[i], "rows");
	}
	CHECK(stub.slab_result, "the slab was not used");
	free(program);
}

/* Take a batch of groups that are numbered from `first` on; their number. */
static uint64_t
take_groups(GpucolRun *run, uint64_t first)
{
	GpucolResult out;
	GpucolStatus status = gpucol_engine_cuda.next(run, &out);

	CHECK(status == GPUCOL_OK || status == GPUCOL_END, "status %d", status);
	if (status != GPUCOL_OK)
		return 0;
	CHECK(out.nrows <= GPUCOL_IN_PLACE_ROWS, "%u rows", out.nrows);
	for (uint32_t i = 0; i < out.nrows; i++)
		CHECK(out.columns[0].i[i] == (int64_t) (first + i) && !out.columns[0].nulls[i] &&
			  out.states[i].count == 0, "row %ld", (long) out.columns[0].i[i]);
	return out.nrows;
}

/*
 * Results are read in the slab, and moved when it is needed by another request, or
 * lost with the connection.
 */
static void
test_in_place(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);

	for (int round = 0; round < 4; round++)
	{
		GpucolRunOptions options = {.threads = 1, .in_place = true};
		ArraySource source;
		GpucolRun  *run;
		const char *why = "";
		uint64_t	rows;
		uint64_t	n;

		gpucol_wire_drop();
		for (int i = 0; i < 4; i++)
		{
			ask(table, program, 0);
			stub.result_rows = 20000;
		}
		CHECK(stub.slab_result, "the slab was not used");
		array_source_init(&source, table, 65536, true);
		source.base.storage[0] = 7;
		CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_OK &&
			  stub.slab_result, "%s", why);
		rows = take_groups(run, 0);
		rows += take_groups(run, rows);
		if (round == 1)
		{
			CHECK(ask(table, program, 0) == 20000, "rows");
			memset(stub.slab, 0xff, stub.slab_size);
		}
		else if (round == 2)
			gpucol_wire_drop();
		else if (round == 3)
		{
			stub.result_rows = 60000;
			CHECK(ask(table, program, 0) == 60000, "rows");
			gpucol_wire_drop();
		}
		while ((n = take_groups(run, rows)) > 0)
			rows += n;
		CHECK(rows == 20000, "%lu rows", (unsigned long) rows);
		gpucol_engine_cuda.finish(run);
		CHECK(ask(table, program, 0) > 0, "rows");
	}
	free(program);
}

/*
 * A request is announced once, if one followed the last time, unless many sessions
 * are at work.
 */
static void
test_soon(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);

	for (int round = 0; round < 2; round++)
	{
		gpucol_wire_drop();
		running = round == 0 ? 0 : 100000;
		stub.soon = 0;
		gpucol_wire_announce();		/* there is no connection */
		ask(table, program, 0);
		gpucol_wire_announce();
		gpucol_wire_announce();
		ask(table, program, 0);
		CHECK(stub.soon == (round == 0 ? 1u : 0u), "%u announced", stub.soon);
		gpucol_wire_announce();
		ask(table, program, 0);
		CHECK(stub.soon == (round == 0 ? 2u : 0u), "%u announced", stub.soon);
		CHECK(!stub.broken, "a message that should not come");
	}
	running = 0;
	free(program);
}

/* Without a slab everything comes inline. */
static void
test_no_slab(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);

	gpucol_wire_drop();
	ask(table, program, 0);		/* a new connection */
	for (int round = 0; round < 4; round++)
	{
		stub.no_slab = true;
		stub.nheld = 0;
		stub.result_rows = 20000;
		CHECK(ask(table, program, 0) == 20000 && !stub.slab_result, "rows");
	}
	CHECK(stub.slab == NULL, "a slab");
	free(program);
}

/* Shared memory that is shorter than it should be is not touched. */
static void
test_cut_memory(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	const char *why = "";
	int			refused = 0;
	uint64_t	rows;

	gpucol_wire_drop();
	cut = true;
	for (int round = 0; round < 4; round++)
	{
		refused += GPUCOL_STATUS_IS_FALLBACK(try(table, program, 0, &rows, &why));
		stub.result_rows = 20000;	/* worth a slab */
	}
	CHECK(refused > 0 && stub.slab_result == 0, "%d refused", refused);
	cut = false;
	gpucol_wire_drop();
	CHECK(ask(table, program, 0) == 10, "rows");
	free(program);
}

/* A prefetch names one segment at a time and asks for nothing twice. */
static void
test_prefetch(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	GpucolGpuPrefetch figures = {.sent = 0};
	ArraySource source;
	const char *why = "";

	gpucol_wire_drop();
	for (int round = 0; round < 2; round++)
	{
		uint64_t	sent = figures.sent;

		array_source_init(&source, table, 65536, true);
		source.base.storage[0] = 7;
		source.base.version = 3;
		CHECK(gpucol_gpu_prefetch(program, &source.base, &figures, &why) == GPUCOL_OK, "%s", why);
		CHECK(stub.run.nsegments == 1 && (stub.run.flags & GPUCOL_WIRE_RUN_PREFETCH), "flags %u", stub.run.flags);
		CHECK(stub.run.turn == NSEGMENTS - 1, "turn %u", stub.run.turn);
		CHECK(source.mapped_rows == 0 && !stub.broken, "windows");
		CHECK((figures.sent > sent) == (round == 0), "sent %lu", (unsigned long) figures.sent);
	}
	CHECK(stub.requests == 2 * NSEGMENTS, "%u requests", stub.requests);
	CHECK(figures.resident >= 2 * figures.sent, "resident %lu", (unsigned long) figures.resident);
	free(program);
}

/* Calls of a source that is gone. */
static int	late_calls;

static void
count_late(GpucolSource *source)
{
	(void) source;
	late_calls++;
}

/* Where there was no daemon for a query, nothing of that query is kept for the next connection. */
static void
test_absent(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	GpucolSourceOps ops = array_source_ops;
	GpucolRunOptions options = {.threads = 1};
	ArraySource source;
	GpucolRun  *run;
	const char *why = "";

	gpucol_wire_drop();
	ops.check_interrupts = count_late;
	array_source_init(&source, table, 65536, true);
	source.base.ops = &ops;
	source.base.storage[0] = 7;
	absent = true;
	CHECK(gpucol_engine_cuda.start(program, &source.base, NULL, &options, &run, &why) == GPUCOL_DEVICE_LOST &&
		  strcmp(why, "there is no daemon") == 0, "%s", why);
	absent = false;
	reachable = true;
	slow = 50;
	late_calls = 0;
	gpucol_wire_meet();
	slow = 0;
	reachable = false;
	CHECK(late_calls == 0, "%d calls", late_calls);
	connections = 0;
	CHECK(ask(table, program, 0) == 10 && connections == 0, "%d connections more", connections);
	free(program);
}

/* A test in a process of its own, since the daemon is shunned after it. */
static pid_t
begin_apart(void (*test) (const ArrayTable *), const ArrayTable *table)
{
	pid_t		pid;

	gpucol_wire_drop();			/* its thread would not be in the other */
	fflush(stdout);
	pid = fork();
	if (pid != 0)
		return pid;
	check_failed = 0;
	test(table);
	fflush(stdout);
	_exit(check_failed > 0);
}

static void
end_apart(pid_t pid, const char *name)
{
	int			status = -1;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s: status %d", name, status);
}

/* Queries do not wait again for a daemon that did not come for long. */
static void
test_search(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	uint64_t	rows;

	absent = true;
	search = 5;
	connections = 0;
	for (int round = 0; round < 3; round++)
	{
		const char *why = "";

		CHECK(try(table, program, 0, &rows, &why) == GPUCOL_DEVICE_LOST, "%s", why);
		CHECK(connections == 1, "%d searches", connections);
	}
	free(program);
}

/* That a thread was not greeted is its own affair. */
static void
test_mute_thread(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	GpucolWire *wire;
	int			pair[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0, "socketpair");
	wire = gpucol_wire_adopt(pair[0], NULL, NULL);
	CHECK(wire != NULL && !gpucol_wire_greet(wire), "greeted");
	CHECK(!gpucol_wire_greet(wire), "greeted, though closed");
	gpucol_wire_close(wire);
	close(pair[1]);
	CHECK(ask(table, program, 0) == 10, "groups");
	free(program);
}

/* A daemon that does not greet is given up, and left alone by the next queries. */
static void
test_mute(const ArrayTable *table)
{
	GpucolProgram *program = make_program(false);
	uint64_t	rows;

	gpucol_wire_drop();
	mute = true;
	connections = 0;
	for (int round = 0; round < 3; round++)
	{
		const char *why = "";

		CHECK(try(table, program, 0, &rows, &why) == GPUCOL_DEVICE_LOST &&
			  strcmp(why, "device daemon does not answer") == 0, "%s", why);
		CHECK(connections == 1, "%d connections", connections);
	}
	free(program);
}

int
main(void)
{
	static ArrayTable table;
	pid_t		search_test;
	pid_t		mute_thread_test;
	pid_t		mute_test;

	make_table(&table);
	test_lists(&table);
	test_tables(&table);
	test_early_failure(&table);
	test_refused_list(&table);
	test_senseless(&table);
	test_texts();
	test_extremes(&table);
	test_endless(&table);
	test_little_windows(&table);
	test_shared_host_test(&table);
	test_in_parts(&table);
	test_many_delta_rows(&table);
	test_kept_memory(&table);
	test_unwinding(&table);
	test_results(&table);
	test_in_place(&table);
	test_soon(&table);
	test_no_slab(&table);
	test_cut_memory(&table);
	test_prefetch(&table);
	test_absent(&table);
	search_test = begin_apart(test_search, &table);
	mute_thread_test = begin_apart(test_mute_thread, &table);
	mute_test = begin_apart(test_mute, &table);
	end_apart(search_test, "search");
	end_apart(mute_thread_test, "mute_thread");
	end_apart(mute_test, "mute");
	gpucol_wire_drop();
	array_table_free(&table);
	return check_summary("gpu_client");
}
