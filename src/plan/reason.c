/*-------------------------------------------------------------------------
 *
 * reason.c
 *	  The list of reasons of the planner run in progress.
 *
 * Reasons live in the memory context of the planner run, as static state of
 * the session: a planner run that ends by an error leaves a dangling list,
 * which gpucol_reason_begin of the next outermost run forgets.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/lsyscache.h"

#include "guc.h"
#include "plan/reason.h"

static List *reasons = NIL;		/* of the planner run in progress */
static int	depth = 0;			/* planner runs in progress */
static List *collected = NIL;	/* lines of a finished run, for EXPLAIN */
static bool collecting = false;

/* Start an empty list; returns the outer planner run's. */
List *
gpucol_reason_begin(void)
{
	List	   *outer = depth == 0 ? NIL : reasons;

	reasons = NIL;
	depth++;
	return outer;
}

/* "scan of flights: text" */
static char *
format_reason(const GpucolReason *reason)
{
	const char *name = get_rel_name(reason->relid);

	if (name == NULL)
		return psprintf("%s: %s", reason->what, reason->text);
	return psprintf("%s of %s: %s", reason->what, name, reason->text);
}

/* Return to the outer run's list. */
void
gpucol_reason_end(List *outer)
{
	ListCell   *lc;

	depth--;
	if (collecting && depth == 0)
	{
		foreach(lc, reasons)
			collected = lappend(collected, format_reason(lfirst(lc)));
		collecting = false;
	}
	reasons = outer;
}

List *
gpucol_reason_swap(List *other)
{
	List	   *mine = reasons;

	reasons = other;
	return mine;
}

/* Does anyone ask for the reasons of this planner run? */
bool
gpucol_reason_is_wanted(void)
{
	return collecting || gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE;
}

/* Note why `what` over table `relid` is not pushed down. */
void
gpucol_reason_add(Oid relid, const char *what, const char *fmt,...)
{
	GpucolReason *reason;
	ListCell   *lc;
	va_list		args;
	StringInfoData text;

	if (!gpucol_reason_is_wanted())
		return;
	reason = palloc(sizeof(GpucolReason));
	initStringInfo(&text);
	for (;;)
	{
		int			needed;

		va_start(args, fmt);
		needed = appendStringInfoVA(&text, fmt, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&text, needed);
	}
	foreach(lc, reasons)
	{
		GpucolReason *old = lfirst(lc);

		if (old->relid == relid && strcmp(old->what, what) == 0 &&
			strcmp(old->text, text.data) == 0)
			return;
	}
	reason->relid = relid;
	reason->what = what;
	reason->text = text.data;
	reasons = lappend(reasons, reason);
}

/* The first reason noted for a table in this planner run, or NULL. */
const char *
gpucol_reason_find(Oid relid)
{
	ListCell   *lc;
	const char *found = NULL;

	foreach(lc, reasons)
	{
		GpucolReason *reason = lfirst(lc);

		if (reason->relid != relid)
			continue;
		if (strcmp(reason->what, "scan") == 0)
			return reason->text;
		if (found == NULL)
			found = reason->text;
	}
	return found;
}

/* Forget kept lines; if `on`, keep those of the next outermost planner run. */
void
gpucol_reason_collect(bool on)
{
	collecting = on;
	collected = NIL;
}

/* Lines kept since collection started, which ends here. */
List *
gpucol_reason_collected(void)
{
	collecting = false;
	return collected;
}
