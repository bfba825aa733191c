/*-------------------------------------------------------------------------
 *
 * compat.h
 *	  The only place that tests PG_VERSION_NUM: differences between PostgreSQL
 *	  15, 16, 17 and 18 are bridged here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COMPAT_H
#define GPUCOL_COMPAT_H

#if PG_VERSION_NUM < 150000 || PG_VERSION_NUM >= 190000
#error "gpucol supports PostgreSQL 15 to 18"
#endif

#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "commands/explain.h"
#include "executor/instrument.h"
#include "tcop/tcopprot.h"
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#endif

/*
 * What EXPLAIN does for one query when no ExplainOneQuery_hook is set
 * (standard_ExplainOneQuery from 17 on).
 */
static inline void
gpucol_compat_explain_one_query(Query *query, int cursor_options,
								IntoClause *into, ExplainState *es,
								const char *query_string, ParamListInfo params,
								QueryEnvironment *env)
{
#if PG_VERSION_NUM >= 170000
	standard_ExplainOneQuery(query, cursor_options, into, es, query_string,
							 params, env);
#else
	BufferUsage before = pgBufferUsage;
	BufferUsage used;
	PlannedStmt *plan;
	instr_time	start;
	instr_time	duration;

	INSTR_TIME_SET_CURRENT(start);
	plan = pg_plan_query(query, query_string, cursor_options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, start);
	memset(&used, 0, sizeof(used));
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, query_string, params, env, &duration,
				   es->buffers ? &used : NULL);
#endif
}

#endif							/* GPUCOL_COMPAT_H */
