/*-------------------------------------------------------------------------
 *
 * explain_reasons.c
 *	  EXPLAIN (VERBOSE) says what was not pushed down and why.
 *
 * PostgreSQL prints a plan node's extra lines only for custom scans, and here
 * there is none; so the lines follow the plan, as properties of the query.
 * ExplainOnePlan has closed the query's group by then: it is opened again.
 * EXPLAIN EXECUTE does not pass this hook and shows no reasons.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/explain.h"

#include "compat.h"
#include "planner/planner.h"
#include "plan/reason.h"

static ExplainOneQuery_hook_type previous_explain_one_query = NULL;

/*
 * Undo ExplainCloseGroup("Query", NULL, true, es).  The text format and YAML
 * wrote nothing; JSON wrote a line with a brace, XML a line with the tag.
 */
static void
reopen_query_group(ExplainState *es)
{
	static const char xml_tail[] = "</Query>\n";

	switch (es->format)
	{
		case EXPLAIN_FORMAT_TEXT:
			return;
		case EXPLAIN_FORMAT_XML:
			es->str->len -= 2 * es->indent + strlen(xml_tail);
			break;
		case EXPLAIN_FORMAT_JSON:
			es->str->len -= 1 + 2 * es->indent + 1;
			es->grouping_stack = lcons_int(1, es->grouping_stack);
			break;
		case EXPLAIN_FORMAT_YAML:
			es->grouping_stack = lcons_int(1, es->grouping_stack);
			break;
	}
	es->str->data[es->str->len] = '\0';
	es->indent++;
}

/* Print the collected lines into the query's group. */
static void
print_reasons(List *lines, ExplainState *es)
{
	ListCell   *lc;

	if (lines == NIL)
		return;
	reopen_query_group(es);
	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		foreach(lc, lines)
			ExplainPropertyText("Not Pushed Down", lfirst(lc), es);
	}
	else
		ExplainPropertyList("Not Pushed Down", lines, es);
	ExplainCloseGroup("Query", NULL, true, es);
}

/* Plan and explain a query, then list what its planner runs declined. */
static void
gpucol_explain_one_query(Query *query, int cursor_options, IntoClause *into,
						 ExplainState *es, const char *query_string,
						 ParamListInfo params, QueryEnvironment *env)
{
	gpucol_reason_collect(es->verbose);
	if (previous_explain_one_query)
		previous_explain_one_query(query, cursor_options, into, es,
								   query_string, params, env);
	else
		gpucol_compat_explain_one_query(query, cursor_options, into, es,
										query_string, params, env);
	print_reasons(gpucol_reason_collected(), es);
}

/*
 * Install the EXPLAIN hook.
 */
void
gpucol_explain_init(void)
{
	previous_explain_one_query = ExplainOneQuery_hook;
	ExplainOneQuery_hook = gpucol_explain_one_query;
}
