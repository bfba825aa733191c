/*-------------------------------------------------------------------------
 *
 * devices.c
 *	  SQL functions about the device daemon: behind the views gpucol.devices,
 *	  gpucol.cache and gpucol.activity, and what gpucol.evict asks of it.
 *
 * They use a connection of their own for each call, so that they show a daemon
 * at work on this session's other statements too.  They never start a daemon:
 * without one the views are empty, but for why there is none.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/socket.h>
#include <unistd.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "compat.h"
#include "service/protocol.h"
#include "service/service.h"
#include "service/supervisor.h"

PG_FUNCTION_INFO_V1(gpucol_devices);
PG_FUNCTION_INFO_V1(gpucol_cache);
PG_FUNCTION_INFO_V1(gpucol_activity);

/* Read or write all of n bytes, waiting interruptibly; false on loss. */
static bool
transfer(int fd, void *data, size_t n, bool out)
{
	while (n > 0)
	{
		ssize_t		done = out ? send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT) :
			recv(fd, data, n, MSG_DONTWAIT);

		if (done > 0)
		{
			data = (char *) data + done;
			n -= done;
		}
		else if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
		{
			gpucol_service.wait(fd, out);
			CHECK_FOR_INTERRUPTS();
		}
		else
			return false;
	}
	return true;
}

static bool
send_message(int fd, GpucolWireType type, const void *payload, size_t n)
{
	GpucolWireHeader header = {GPUCOL_WIRE_MAGIC, GPUCOL_WIRE_VERSION, type, n};

	return transfer(fd, &header, sizeof(header), true) &&
		transfer(fd, unconstify(void *, payload), n, true);
}

/* Receive a message of a type; its payload is palloc'd. */
static void *
receive_message(int fd, GpucolWireType type, size_t *n)
{
	GpucolWireHeader header;
	void	   *payload;

	if (!transfer(fd, &header, sizeof(header), false) ||
		header.magic != GPUCOL_WIRE_MAGIC || header.version != GPUCOL_WIRE_VERSION ||
		header.type != type || header.length > GPUCOL_WIRE_MAX_PAYLOAD)
		return NULL;
	payload = palloc(Max(header.length, 1));
	*n = header.length;
	return transfer(fd, payload, header.length, false) ? payload : NULL;
}

/*
 * Ask the daemon that runs, if one does; NULL if none does or answers.
 */
static void *
ask(GpucolWireType type, const void *question, size_t size,
	GpucolWireType answer_type, size_t *n)
{
	GpucolWireHello hello = {MyProcPid, 0};
	volatile int fd = gpucol_service_try_connect();
	void	   *volatile answer = NULL;

	*n = 0;
	if (fd < 0)
		return NULL;
	PG_TRY();
	{
		if (send_message(fd, GPUCOL_WIRE_HELLO, &hello, sizeof(hello)) &&
			receive_message(fd, GPUCOL_WIRE_WELCOME, n) != NULL &&
			send_message(fd, type, question, size))
			answer = receive_message(fd, answer_type, n);
	}
	PG_FINALLY();
	{
		close(fd);
	}
	PG_END_TRY();
	return answer;
}

/* Rows of a status, each `size` bytes. */
static char *
ask_status(GpucolStatusKind kind, size_t size, int *nrows)
{
	GpucolWireStatus question = {kind, 0};
	size_t		n;
	char	   *rows = ask(GPUCOL_WIRE_STATUS, &question, sizeof(question),
						   GPUCOL_WIRE_STATUS_ROWS, &n);

	*nrows = rows != NULL ? n / size : 0;
	return rows;
}

/* Text of a message, which ends in its place whatever it says. */
static Datum
text_of(char *text, size_t size)
{
	text[size - 1] = '\0';
	return CStringGetTextDatum(text);
}

/* Add a row; columns whose bits are set in `null` are NULL. */
static void
put_row(ReturnSetInfo *rsinfo, Datum *values, uint32 null)
{
	bool		nulls[32];

	for (int i = 0; i < (int) lengthof(nulls); i++)
		nulls[i] = (null >> i & 1) != 0;
	tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
}

/*
 * Columns of gpucol.device_list(), which has those from ARCHITECTURE on since 0.2: name,
 * multiprocessors, memory, architecture and the reason are all that an unused device has.
 */
#define ARCHITECTURE	15
#define UNUSED_BECAUSE	17
#define SHOWN_OF_UNUSED (1u << 1 | 1u << 2 | 1u << 3 | 1u << ARCHITECTURE | 1u << UNUSED_BECAUSE)

/* The row of a server without a daemon, or with one that does not answer: nothing but why. */
static void
put_why_none(ReturnSetInfo *rsinfo)
{
	Datum		values[UNUSED_BECAUSE + 1] = {0};
	const char *why;

	if (gpucol_service.available(&why))
		why = "gpucol_gpud does not run, or does not answer; a query for the device starts it";
	values[UNUSED_BECAUSE] = CStringGetTextDatum(why);
	put_row(rsinfo, values, ~(1u << UNUSED_BECAUSE));
}

Datum
gpucol_devices(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	GpucolWireDevice *d;

	InitMaterializedSRF(fcinfo, 0);
	d = (GpucolWireDevice *) ask_status(GPUCOL_STATUS_DEVICES, sizeof(*d), &n);
	if (d == NULL)
		put_why_none(rsinfo);
	for (int i = 0; i < n; i++)
	{
		Datum		values[] = {
			Int32GetDatum(d[i].number), text_of(d[i].name, sizeof(d[i].name)),
			Int32GetDatum(d[i].multiprocessors), Int64GetDatum(d[i].memory),
			Int64GetDatum(d[i].limit), Int64GetDatum(d[i].held), Int64GetDatum(d[i].cached),
			Int64GetDatum(d[i].hits), Int64GetDatum(d[i].misses),
			Int64GetDatum(d[i].evictions), Int64GetDatum(d[i].requests),
			Int32GetDatum(d[i].compiled), Int32GetDatum(d[i].compiling),
			Int32GetDatum(d[i].refused),
			d[i].compiler[0] == '\0' ? CStringGetTextDatum("ready") :
			text_of(d[i].compiler, sizeof(d[i].compiler)),
			text_of(d[i].architecture, sizeof(d[i].architecture)), text_of(d[i].code, sizeof(d[i].code)),
			text_of(d[i].unused_because, sizeof(d[i].unused_because))
		};

		put_row(rsinfo, values, d[i].number < 0 ? ~SHOWN_OF_UNUSED : 1u << UNUSED_BECAUSE);
	}
	return (Datum) 0;
}

/* What a resident piece is. */
static const char *
piece_name(uint32 kind)
{
	return kind == GPUCOL_PUT_CHUNK ? "column" :
		kind == GPUCOL_PUT_DELETED ? "deleted rows" : "dictionary";
}

Datum
gpucol_cache(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	GpucolWireCacheRow *c;

	InitMaterializedSRF(fcinfo, 0);
	c = (GpucolWireCacheRow *) ask_status(GPUCOL_STATUS_CACHE, sizeof(*c), &n);
	for (int i = 0; i < n; i++)
	{
		Datum		values[] = {
			ObjectIdGetDatum((Oid) (c[i].storage[0] >> 32)),
			ObjectIdGetDatum((Oid) c[i].storage[0]),
			ObjectIdGetDatum((Oid) c[i].storage[1]),
			Int64GetDatum(c[i].segment), Int16GetDatum(c[i].attnum),
			Int64GetDatum(c[i].bytes), Int64GetDatum(c[i].uses),
			Int32GetDatum(c[i].pins), Int32GetDatum(c[i].device),
			CStringGetTextDatum(piece_name(c[i].kind))
		};

		put_row(rsinfo, values, 0);
	}
	return (Datum) 0;
}

Datum
gpucol_activity(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	int			n;
	GpucolWireActivityRow *a;

	InitMaterializedSRF(fcinfo, 0);
	a = (GpucolWireActivityRow *) ask_status(GPUCOL_STATUS_ACTIVITY, sizeof(*a), &n);
	for (int i = 0; i < n; i++)
	{
		Datum		values[] = {
			Int32GetDatum(a[i].pid), text_of(a[i].state, sizeof(a[i].state)),
			Float8GetDatum(a[i].seconds), Int64GetDatum(a[i].bytes),
			Float8GetDatum(a[i].progress)
		};

		if (a[i].pid != MyProcPid || strcmp(a[i].state, "idle") != 0)
			put_row(rsinfo, values, a[i].progress < 0 ? 1u << 4 : 0);
	}
	return (Datum) 0;
}

int64
gpucol_service_evict(const uint64 storage[2])
{
	GpucolWireEvict question = {{storage[0], storage[1]}};
	size_t		n;
	GpucolWireEvicted *evicted = ask(GPUCOL_WIRE_EVICT, &question, sizeof(question),
									 GPUCOL_WIRE_EVICTED, &n);

	return evicted != NULL && n == sizeof(*evicted) ? (int64) evicted->bytes : 0;
}
