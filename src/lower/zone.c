/*-------------------------------------------------------------------------
 *
 * zone.c
 *	  AT TIME ZONE: timestamps moved by a zone's offsets, which engines take from tables of
 *	  its transitions.
 *
 * The table of a constant zone, and of the session's, is among the constants of the program.
 * Where the zone comes from a column, the host makes a table for each of its distinct
 * values.  Rows whose zone has none (unknown ones, which are an error, and abbreviations whose
 * meaning has changed) make the statement fall back, which only aggregations can.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/timestamp.h"

#include "lower/calendar.h"
#include "lower/lower.h"
#include "lower/zone_table.h"

/* Are the constants from `first` on those of a table? */
static bool
is_table(const GpucolLower *l, int first, const GpucolTimeZone *zone)
{
	int			n = (int) (zone->size / 16);

	for (int i = 0; i < n; i++)
	{
		const GpucolConst *c = &l->consts[first + i];

		if (first + i >= l->nconsts || c->cls != GPUCOL_CLASS_D ||
			memcmp(&c->v.d, (const char *) zone + i * 16, 16) != 0)
			return false;
	}
	return true;
}

/* The number of a table's first constant, the one that is there if it is. */
static uint16
put_table(GpucolLower *l, const GpucolTimeZone *zone)
{
	for (int i = 0; i < l->ninstrs; i++)
	{
		if (l->instrs[i].op == GPUCOL_OP_ZONE_I && is_table(l, l->instrs[i].b, zone))
			return l->instrs[i].b;
	}
	return gpucol_lower_put_bytes(l, zone, zone->size);
}

/* Move a register by a table. */
static bool
move_by(GpucolLower *l, const GpucolTimeZone *zone, int aux, uint16 *reg)
{
	if (zone == NULL)
		return gpucol_lower_decline(l, "a time zone without a table of transitions");
	*reg = gpucol_lower_emit(l, GPUCOL_OP_ZONE_I, *reg, put_table(l, zone), GPUCOL_NO_REG, aux);
	return true;
}

bool
gpucol_lower_session_zone(GpucolLower *l, int aux, uint16 *reg)
{
	return gpucol_calendar_session_is_utc() || move_by(l, gpucol_zone_of(session_timezone), aux, reg);
}

/* The table of a constant zone, a text or an interval; NULL if there is none. */
static const GpucolTimeZone *
constant_table(const Const *zone)
{
	if (zone->consttype == INTERVALOID)
	{
		const Interval *interval = DatumGetIntervalP(zone->constvalue);

		return interval->month != 0 || interval->day != 0 || interval->time % USECS_PER_SEC != 0 ||
			interval->time < -USECS_PER_DAY || interval->time > USECS_PER_DAY ? NULL :
			gpucol_zone_fixed((int32) (interval->time / USECS_PER_SEC));
	}
	return gpucol_zone_by_name(VARDATA_ANY(DatumGetTextPP(zone->constvalue)),
							   VARSIZE_ANY_EXHDR(DatumGetTextPP(zone->constvalue)));
}

/* Move a register by the zones that an expression over a column tells. */
static bool
move_by_column(GpucolLower *l, Expr *zone, int aux, uint16 *reg)
{
	GpucolValue table;

	if (!l->aggregating)
		return gpucol_lower_decline(l, "a time zone that may be unknown, outside of an aggregation");
	if (exprType((Node *) zone) != TEXTOID)
		return gpucol_lower_decline(l, "a time zone that is no text");
	if (!gpucol_lower_host_zones(l, zone, &table))
		return false;
	*reg = gpucol_lower_emit(l, GPUCOL_OP_ZONE_S, *reg, table.reg, GPUCOL_NO_REG, aux);
	return true;
}

/*
 * Lower timezone(zone, timestamp); *matched tells whether it is that.
 */
bool
gpucol_lower_zone(GpucolLower *l, Oid funcid, List *args, bool *matched, GpucolValue *out)
{
	int			aux = funcid == F_TIMEZONE_TEXT_TIMESTAMP || funcid == F_TIMEZONE_INTERVAL_TIMESTAMP ?
		GPUCOL_ZONE_TO_STAMP : 0;
	Expr	   *zone;

	*matched = aux != 0 || funcid == F_TIMEZONE_TEXT_TIMESTAMPTZ || funcid == F_TIMEZONE_INTERVAL_TIMESTAMPTZ;
	if (!*matched)
		return false;
	zone = linitial(args);
	if (!gpucol_lower_expr(l, lsecond(args), out))
		return false;
	if (out->cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "a timestamp of this kind");
	if (!IsA(zone, Const))
		return move_by_column(l, zone, aux, &out->reg);
	if (((Const *) zone)->constisnull)
		return gpucol_lower_decline(l, "a time zone that is NULL");
	return move_by(l, constant_table((Const *) zone), aux, &out->reg);
}
