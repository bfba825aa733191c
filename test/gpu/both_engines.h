/*-------------------------------------------------------------------------
 *
 * both_engines.h
 *	  An engine for the engines' unit tests that runs on the device what that takes, and on
 *	  the CPU engine the rest, as a server does; and the service of a process without a server.
 *
 * A test includes this behind its text, with gpucol_engine_cpu renamed to both_engines and
 * main to unit_main there, and calls both_main.  A table is built
 * by both, where the device does that, which then looks up its own.  The counts at
 * the end show how much the device answered itself and why it refused the rest.
 * Every fourth source says that it does not change, and is read twice: the second
 * time from what the first has left.
 *
 * A daemon that does not listen within ten seconds at first, or within three later on,
 * when it may have been started again, is not waited for any more: the program ends, and
 * fails.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_TEST_BOTH_ENGINES_H
#define GPUCOL_TEST_BOTH_ENGINES_H

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "engine/engine.h"
#include "service/service.h"

extern const GpucolEngine gpucol_engine_cpu;

#define MAX_REASONS 64

static const char *socket_path;
static int	answered;
static int	built;
static int	errors;
static struct
{
	char		text[200];
	int			n;
}			refusals[MAX_REASONS];

#define MAX_LOOKUPS	16

/* A table as each of the engines has made it; the device's may be missing. */
struct BothLookup
{
	GpucolLookup *cpu;
	GpucolLookup *cuda;
};

/* A run of either engine; it begins at the first call for a result. */
struct Both
{
	const GpucolEngine *engine;
	GpucolRun  *run;
	const GpucolProgram *program;
	GpucolSource *source;
	const GpucolHost *host;
	GpucolRunOptions given;
	GpucolRunOptions options;	/* with the tables of one engine */
	GpucolLookup *lookups[MAX_LOOKUPS];
	const GpucolEngine *engines[MAX_LOOKUPS];
	bool		started;
};

static bool
both_available(const char **why)
{
	*why = NULL;
	return true;
}

static void
count_refusal(const char *why)
{
	for (int i = 0; i < MAX_REASONS; i++)
	{
		if (refusals[i].n == 0)
			snprintf(refusals[i].text, sizeof(refusals[i].text), "%s", why);
		if (strcmp(refusals[i].text, why) == 0)
		{
			refusals[i].n++;
			return;
		}
	}
}

static GpucolStatus
both_start(const GpucolProgram *program, GpucolSource *source, const GpucolHost *host,
		   const GpucolRunOptions *options, GpucolRun **run, const char **why)
{
	static uint64_t number = 0;
	struct Both *both = calloc(1, sizeof(struct Both));

	source->storage[0] = (uint64_t) getpid();
	source->storage[1] = ++number;
	source->version = number % 4 == 0 ? number : 0;
	*both = (struct Both) {.engine = &gpucol_engine_cuda, .program = program, .source = source,
	.host = host, .given = *options, .options = *options};
	both->options.jit = true;
	*why = NULL;
	*run = (GpucolRun *) both;
	return GPUCOL_OK;
}

/* Take the tables of one engine, or where it has none the CPU engine's. */
static void
take_lookups(struct Both *both, bool device)
{
	for (int t = 0; t < both->given.nlookups && t < MAX_LOOKUPS; t++)
	{
		const struct BothLookup *lookup = (const struct BothLookup *) both->given.lookups[t];
		bool		own = device && lookup != NULL && lookup->cuda != NULL;

		both->lookups[t] = lookup == NULL ? NULL : own ? lookup->cuda : lookup->cpu;
		both->engines[t] = own ? &gpucol_engine_cuda : &gpucol_engine_cpu;
	}
	both->options.lookups = both->lookups;
	both->options.lookup_engines = both->engines;
}

/*
 * Have the device answer once for nothing, so that the next time it finds the
 * segments noted and everything resident.
 */
static void
warm_up(struct Both *both)
{
	const char *why;

	if (gpucol_engine_cuda.start(both->program, both->source, both->host, &both->options, &both->run,
								 &why) == GPUCOL_OK)
		gpucol_engine_cuda.finish(both->run);
	both->run = NULL;
	both->source->ops->rescan(both->source);
}

/*
 * Start on the device; what it refuses, on the CPU.  A source that has a version
 * is read twice.
 */
static GpucolStatus
begin(struct Both *both)
{
	const char *why;
	GpucolStatus status;

	both->started = true;
	take_lookups(both, true);
	if (both->source->version != 0)
		warm_up(both);
	status = gpucol_engine_cuda.start(both->program, both->source, both->host, &both->options, &both->run, &why);
	if (!GPUCOL_STATUS_IS_FALLBACK(status))
	{
		answered++;
		return status;
	}
	count_refusal(why);
	both->engine = &gpucol_engine_cpu;
	both->source->ops->rescan(both->source);
	take_lookups(both, false);
	return gpucol_engine_cpu.start(both->program, both->source, both->host, &both->options, &both->run, &why);
}

static GpucolStatus
both_next(GpucolRun *run, GpucolResult *out)
{
	struct Both *both = (struct Both *) run;
	GpucolStatus status = both->started ? GPUCOL_OK : begin(both);

	if (status == GPUCOL_OK)
		status = both->engine->next(both->run, out);
	if (status != GPUCOL_OK && status != GPUCOL_END)
		errors++;
	return status;
}

static void
both_stats(const GpucolRun *run, GpucolRunStats *out)
{
	const struct Both *both = (const struct Both *) run;

	memset(out, 0, sizeof(*out));
	if (both->run != NULL)
		both->engine->stats(both->run, out);
}

static void
both_finish(GpucolRun *run)
{
	struct Both *both = (struct Both *) run;

	if (both == NULL)
		return;
	if (both->run != NULL)
		both->engine->finish(both->run);
	free(both);
}

/* Build a table on the device; what it refuses is not there. */
static GpucolStatus
build_on_device(struct Both *both, GpucolLookup **lookup)
{
	const char *why;
	GpucolRun  *run;
	GpucolStatus status;

	*lookup = NULL;
	take_lookups(both, true);
	status = gpucol_engine_cuda.start(both->program, both->source, both->host, &both->options, &run, &why);
	if (status == GPUCOL_OK)
	{
		status = gpucol_engine_cuda.build(run, lookup);
		gpucol_engine_cuda.finish(run);
	}
	else
		count_refusal(why);
	built += *lookup != NULL;
	both->source->ops->rescan(both->source);
	return status;
}

static void
free_lookups(struct BothLookup *lookup)
{
	if (lookup == NULL)
		return;
	if (lookup->cuda != NULL)
		gpucol_engine_cuda.lookup_free(lookup->cuda);
	if (lookup->cpu != NULL)
		gpucol_engine_cpu.lookup_free(lookup->cpu);
	free(lookup);
}

/*
 * What keys of the device's table are is in the CPU engine's range, which counts rows with another key
 * that is NULL, too.
 */
static bool
ranges_alike(const GpucolKeyRange *cpu, const GpucolKeyRange *cuda, bool has_null)
{
	if (cpu->known != cuda->known)
		return false;
	if (has_null)
		return cpu->least <= cuda->least && cpu->greatest >= cuda->greatest;
	return cpu->least == cuda->least && cpu->greatest == cuda->greatest;
}

/* What both have made says the same of itself, or the test ends. */
static void
compare_figures(const struct BothLookup *lookup)
{
	GpucolLookupFigures a;
	GpucolLookupFigures b;

	gpucol_engine_cpu.lookup_figures(lookup->cpu, &a);
	gpucol_engine_cuda.lookup_figures(lookup->cuda, &b);
	bool		alike = a.rows == b.rows && a.unique == b.unique && a.has_null == b.has_null;

	for (int k = 0; k < GPUCOL_KEY_RANGES && alike; k++)
		alike = ranges_alike(&a.ranges[k], &b.ranges[k], a.has_null);
	if (alike)
		return;
	printf("FAILED: the engines' tables differ: %d and %d rows, unique %d and %d, with NULL %d and %d\n",
		   (int) a.rows, (int) b.rows, a.unique, b.unique, a.has_null, b.has_null);
	for (int k = 0; k < GPUCOL_KEY_RANGES; k++)
		printf("  key %d: known %d and %d, %lld to %lld and %lld to %lld\n", k, a.ranges[k].known, b.ranges[k].known,
			   (long long) a.ranges[k].least, (long long) a.ranges[k].greatest,
			   (long long) b.ranges[k].least, (long long) b.ranges[k].greatest);
	exit(1);
}

/* Tables are built by the device and by the CPU engine. */
static GpucolStatus
both_build(GpucolRun *run, GpucolLookup **result)
{
	struct Both *both = (struct Both *) run;
	struct BothLookup *lookup = calloc(1, sizeof(struct BothLookup));
	const char *why;
	GpucolStatus device;
	GpucolStatus status;

	*result = NULL;
	if (lookup == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	device = build_on_device(both, &lookup->cuda);
	take_lookups(both, false);
	both->engine = &gpucol_engine_cpu;
	status = gpucol_engine_cpu.start(both->program, both->source, both->host, &both->options, &both->run, &why);
	if (status == GPUCOL_OK)
		status = gpucol_engine_cpu.build(both->run, &lookup->cpu);
	if (device != status && !GPUCOL_STATUS_IS_FALLBACK(device) && !GPUCOL_STATUS_IS_FALLBACK(status))
		printf("FAILED: the device builds with status %d, the CPU engine with %d\n", (int) device, (int) status);
	if (status != GPUCOL_OK)
	{
		free_lookups(lookup);
		return status;
	}
	if (lookup->cuda != NULL)
		compare_figures(lookup);
	*result = (GpucolLookup *) lookup;
	return GPUCOL_OK;
}

static void
both_lookup_figures(const GpucolLookup *lookup, GpucolLookupFigures *out)
{
	gpucol_engine_cpu.lookup_figures(((const struct BothLookup *) lookup)->cpu, out);
}

static void
both_lookup_free(GpucolLookup *lookup)
{
	free_lookups((struct BothLookup *) lookup);
}

static void
both_probe_figures(const GpucolRun *run, int probe, GpucolProbeFigures *out)
{
	const struct Both *both = (const struct Both *) run;

	memset(out, 0, sizeof(*out));
	if (both->run != NULL)
		both->engine->probe_figures(both->run, probe, out);
}

const GpucolEngine both_engines = {
	.name = "both", .available = both_available, .start = both_start,
	.next = both_next, .build = both_build, .lookup_figures = both_lookup_figures,
	.lookup_free = both_lookup_free, .stats = both_stats,
	.probe_figures = both_probe_figures, .finish = both_finish
};

/* ---- the service of a process without a server ---- */

static int
plain_connect(const char **why)
{
	static bool reached = false;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int			tries = (reached ? 3 : 10) * 50;
	int			fd = socket(AF_UNIX, SOCK_STREAM, 0);

	*why = NULL;
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	while (connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0)
	{
		if (tries-- == 0)
		{
			printf("FAILED: no daemon listens on %s%s: %s; given up after %d answers of the device\n",
				   socket_path, reached ? " any more" : "", strerror(errno), answered);
			exit(1);
		}
		usleep(20000);
	}
	reached = true;
	return fd;
}

static void
plain_wait(int fd, bool writable)
{
	struct pollfd p = {fd, writable ? POLLOUT : POLLIN, 0};

	poll(&p, 1, 1000);
}

static int
no_connect(void)
{
	return -1;
}

const GpucolService gpucol_service = {
	.available = both_available, .connect = plain_connect,
	.wait = plain_wait, .try_connect = no_connect
};

/* Usage: PROGRAM SOCKET [arguments of the unit test]. */
static int
both_main(int argc, char **argv, int (*unit) (int, char **))
{
	int			result;

	setvbuf(stdout, NULL, _IOLBF, 0);
	socket_path = argc > 1 ? argv[1] : "gpucol_gpud.sock";
	result = unit(argc - 1, argv + 1);
	printf("device answered %d, of them errors of the user %d; built %d tables\n", answered, errors, built);
	for (int i = 0; i < MAX_REASONS && refusals[i].n > 0; i++)
	{
		bool		malformed = strstr(refusals[i].text, "malformed") != NULL;

		printf("refused %d: %s%s\n", refusals[i].n, refusals[i].text, malformed ? ": FAILED" : "");
		if (malformed)
			result = 1;
	}
	return result;
}

#endif							/* GPUCOL_TEST_BOTH_ENGINES_H */
