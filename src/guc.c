/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  Definition of all settings, in name order.
 *
 * No PGC_POSTMASTER: the library may be loaded lazily, in the middle of a
 * session, and then defining such a one would fail.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "recursion/engine.h"
#include "guc.h"
#include "kernel/format.h"

bool		gpucol_automerge;
double		gpucol_automerge_cost_delay;
int			gpucol_automerge_cost_limit;
int			gpucol_automerge_max_workers;
int			gpucol_automerge_naptime;
double		gpucol_automerge_scale_factor;
int			gpucol_automerge_threshold;
int			gpucol_automerge_timeout;
int			gpucol_cpu_threads;
int			gpucol_delta_memory_limit;
bool		gpucol_enable_agg;
bool		gpucol_enable_into;
bool		gpucol_enable_join;
bool		gpucol_enable_recursive;
bool		gpucol_enable_scan;
bool		gpucol_enable_topk;
bool		gpucol_enable_window;
bool		gpucol_enabled;
int			gpucol_engine_choice;
int			gpucol_gpu_memory_limit;
bool		gpucol_jit;
int			gpucol_max_cpu_threads;
int			gpucol_max_memory;
int			gpucol_max_recursion_rounds;
int			gpucol_memory_limit;
int			gpucol_pushdown;
int			gpucol_ranking_memory_limit;
int			gpucol_recursive_memory_limit;
int			gpucol_recursive_strategy;
int			gpucol_segment_rows;

static const struct config_enum_entry engine_options[] = {
	{"auto", GPUCOL_ENGINE_AUTO, false},
	{"cpu", GPUCOL_ENGINE_CPU, false},
	{"cuda", GPUCOL_ENGINE_CUDA, false},
	{NULL, 0, false}
};

static const struct config_enum_entry pushdown_options[] = {
	{"allow", GPUCOL_PUSHDOWN_ALLOW, false},
	{"forbid", GPUCOL_PUSHDOWN_FORBID, false},
	{"require", GPUCOL_PUSHDOWN_REQUIRE, false},
	{NULL, 0, false}
};

static const struct config_enum_entry recursive_strategy_options[] = {
	{"auto", GPUCOL_REC_AUTO, false},
	{"bitmap", GPUCOL_REC_BITMAP, false},
	{"hisa", GPUCOL_REC_HISA, false},
	{"sparse", GPUCOL_REC_SPARSE, false},
	{NULL, 0, false}
};

/* A boolean setting that any user may change. */
static void
define_bool(const char *name, const char *description, bool *variable,
			bool boot_value)
{
	DefineCustomBoolVariable(name, description, NULL, variable, boot_value,
							 PGC_USERSET, 0, NULL, NULL, NULL);
}

/* An integer setting that any user may change. */
static void
define_int(const char *name, const char *description, const char *detail,
		   int *variable, int boot_value, int min, int max, int flags)
{
	DefineCustomIntVariable(name, description, detail, variable, boot_value,
							min, max, PGC_USERSET, flags, NULL, NULL, NULL);
}

/* An integer setting that protects the server: only superusers may change it. */
static void
define_protection(const char *name, const char *description, const char *detail,
				  int *variable, int max, int flags)
{
	DefineCustomIntVariable(name, description, detail, variable, 0, 0, max,
							PGC_SUSET, flags, NULL, NULL, NULL);
}

/* Settings of merges that nobody asked for, which the server's configuration has. */
static void
define_automerge(void)
{
	DefineCustomBoolVariable("gpucol.automerge",
							 "Merges tables whose delta has grown, in the background.",
							 "Where the library is in shared_preload_libraries.",
							 &gpucol_automerge, true, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("gpucol.automerge_cost_delay",
							 "How long an automatic merge sleeps when it has spent its cost limit.",
							 "0 has it never sleep.",
							 &gpucol_automerge_cost_delay, 2, 0, 100,
							 PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("gpucol.automerge_cost_limit",
							"Cost of pages after which an automatic merge sleeps.",
							"-1 takes vacuum_cost_limit.",
							&gpucol_automerge_cost_limit, -1, -1, 10000,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpucol.automerge_max_workers",
							"Databases in which tables are merged automatically at a time.",
							NULL,
							&gpucol_automerge_max_workers, 1, 1, GPUCOL_AUTOMERGE_WORKERS,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpucol.automerge_naptime",
							"Time between looks for tables to merge automatically.",
							"Rows that are younger than that are left alone.",
							&gpucol_automerge_naptime, 10, 1, INT_MAX / 1000,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
	DefineCustomRealVariable("gpucol.automerge_scale_factor",
							 "Share of a table's rows that is added to gpucol.automerge_threshold.",
							 NULL,
							 &gpucol_automerge_scale_factor, 0.001, 0, 100,
							 PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpucol.automerge_threshold",
							"Rows in a table's delta from which on it is merged automatically.",
							NULL,
							&gpucol_automerge_threshold, 1000, 0, INT_MAX,
							PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpucol.automerge_timeout",
							"Time after which automatic merges turn to the next table.",
							"What has been merged until then stays; a table's indexes that let the worker wait as long again end it.",
							&gpucol_automerge_timeout, 60, 1, INT_MAX / 1000 / 100,
							PGC_SIGHUP, GUC_UNIT_S, NULL, NULL, NULL);
}

/*
 * Define every setting and reserve the prefix.  Called once, from _PG_init.
 */
void
gpucol_guc_init(void)
{
	define_automerge();
	define_int("gpucol.cpu_threads",
			   "Threads that the CPU engine, and loading into device memory, may use for one query.",
			   "0 uses one for each processor.",
			   &gpucol_cpu_threads, 0, 0, 256, 0);
	define_int("gpucol.delta_memory_limit",
			   "Memory in which a session keeps columns of rows that are not packed yet.",
			   "0 keeps none; never more than an eighth of what gpucol.max_memory leaves.",
			   &gpucol_delta_memory_limit, 64, 0, INT_MAX, GUC_UNIT_MB);
	define_bool("gpucol.enable_agg",
				"Enables pushing aggregation down to an engine.",
				&gpucol_enable_agg, true);
	define_bool("gpucol.enable_into",
				"Enables filling tables with batches of an engine, not row by row.",
				&gpucol_enable_into, true);
	define_bool("gpucol.enable_join",
				"Enables joins by an engine, and making joins of correlated subqueries.",
				&gpucol_enable_join, true);
	define_bool("gpucol.enable_recursive",
				"Enables pushing WITH RECURSIVE down to an engine.",
				&gpucol_enable_recursive, true);
	define_bool("gpucol.enable_scan",
				"Enables pushing scans and filters down to an engine.",
				&gpucol_enable_scan, true);
	define_bool("gpucol.enable_topk",
				"Enables pushing rankings and top-k queries down to an engine.",
				&gpucol_enable_topk, true);
	define_bool("gpucol.enable_window",
				"Enables computing window functions over rows of gpucol nodes.",
				&gpucol_enable_window, true);
	define_bool("gpucol.enabled",
				"Enables every pushdown of gpucol.",
				&gpucol_enabled, true);
	DefineCustomEnumVariable("gpucol.engine",
							 "Engine that pushed-down work runs on.",
							 "auto chooses by cost; cuda is an error where there is no device.",
							 &gpucol_engine_choice, GPUCOL_ENGINE_AUTO,
							 engine_options, PGC_USERSET, 0, NULL, NULL, NULL);
	define_int("gpucol.gpu_memory_limit",
			   "Device memory that gpucol may hold.",
			   "0 leaves the choice to the daemon.",
			   &gpucol_gpu_memory_limit, 0, 0, INT_MAX, GUC_UNIT_MB);
	define_bool("gpucol.jit",
				"Compiles kernels for the device in the background, for queries to come.",
				&gpucol_jit, true);
	define_protection("gpucol.max_cpu_threads",
					  "Threads that all sessions of the server may have, beside their processes.",
					  "0 allows four for each processor, and 64 at least.",
					  &gpucol_max_cpu_threads, INT_MAX, 0);
	define_protection("gpucol.max_memory",
					  "Memory that the work of one session may hold, whatever its own limits are.",
					  "0 allows half of the machine's memory.",
					  &gpucol_max_memory, INT_MAX, GUC_UNIT_MB);
	define_int("gpucol.max_recursion_rounds",
			   "Rounds after which a pushed-down recursion is ended with an error.",
			   "0 sets no limit.",
			   &gpucol_max_recursion_rounds, 0, 0, INT_MAX, 0);
	define_int("gpucol.memory_limit",
			   "Memory that the queries of one session may hold in groups, sort keys and dictionaries.",
			   "0 allows work_mem times hash_mem_multiplier, and 256 MB at least.",
			   &gpucol_memory_limit, 0, 0, INT_MAX, GUC_UNIT_MB);
	DefineCustomEnumVariable("gpucol.pushdown",
							 "Whether queries over gpucol tables may be pushed down.",
							 "require raises an error with the reason when a query is not.",
							 &gpucol_pushdown, GPUCOL_PUSHDOWN_ALLOW,
							 pushdown_options, PGC_USERSET, 0, NULL, NULL, NULL);
	define_int("gpucol.ranking_memory_limit",
			   "Memory that the rankings of one query may use.",
			   "0 allows half of the machine's memory.",
			   &gpucol_ranking_memory_limit, 0, 0, INT_MAX, GUC_UNIT_MB);
	define_int("gpucol.recursive_memory_limit",
			   "Memory that one recursion may use.",
			   "0 allows half of the machine's memory.",
			   &gpucol_recursive_memory_limit, 0, 0, INT_MAX, GUC_UNIT_MB);
	DefineCustomEnumVariable("gpucol.recursive_strategy",
							 "How recursions keep the rows that they derive.",
							 "auto chooses by cost; hisa uses hash-indexed sorted arrays only, bitmap bitmaps wherever they fit, sparse sets of values in their place.",
							 &gpucol_recursive_strategy, GPUCOL_REC_AUTO,
							 recursive_strategy_options, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	define_int("gpucol.segment_rows",
			   "Rows that a newly written segment holds at most.",
			   NULL,
			   &gpucol_segment_rows, GPUCOL_DEFAULT_SEGMENT_ROWS,
			   GPUCOL_VECTOR_VALUES, GPUCOL_MAX_SEGMENT_ROWS, 0);
	MarkGUCPrefixReserved("gpucol");
}
