/*-------------------------------------------------------------------------
 *
 * hidden.c
 *	  Names in the bodies of datalog's aggregates that mean something else outside.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/hidden.h"

/* Is a name in a list? */
static bool
has_name(List *names, const char *name)
{
	ListCell   *lc;

	foreach(lc, names)
		if (strcmp(lfirst(lc), name) == 0)
			return true;
	return false;
}

static List *
add_name(List *names, char *name)
{
	return has_name(names, name) ? names : lappend(names, name);
}

static List *names_of_body(List *names, List *body, bool deep);

/* Names of an expression; with `deep` those inside of aggregates, too. */
static List *
names_of(List *names, const DatalogExpr *expr, bool deep)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL || (expr->kind == DATALOG_AGGREGATE && !deep))
		return names;
	if (expr->kind == DATALOG_VARIABLE)
		return add_name(names, expr->name);
	if (expr->kind == DATALOG_AGGREGATE)
		names = names_of_body(names, expr->body, deep);
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			names = names_of(names, lfirst(lc), deep);
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		names = names_of(names, expr->args[i], deep);
	return names;
}

static List *
names_of_body(List *names, List *body, bool deep)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		foreach(arg, literal->args)
			names = names_of(names, lfirst(arg), deep);
		names = names_of(names, literal->left, deep);
		names = names_of(names, literal->right, deep);
	}
	return names;
}

/* Is this aggregate a part of an expression? */
static bool
holds_aggregate(const DatalogExpr *expr, int position)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return false;
	if (expr->kind == DATALOG_AGGREGATE)
		return expr->position == position;
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			if (holds_aggregate(lfirst(lc), position))
				return true;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		if (holds_aggregate(expr->args[i], position))
			return true;
	return false;
}

/* The names that one side of an equation gives values to when the other is known. */
static List *
add_equated(List *names, const DatalogExpr *to, const DatalogExpr *from, int but)
{
	ListCell   *lc;

	if ((to->kind != DATALOG_VARIABLE && to->kind != DATALOG_TUPLE) ||
		holds_aggregate(from, but) || from->kind == DATALOG_WILDCARD)
		return names;
	foreach(lc, names_of(NIL, from, false))
		if (!has_name(names, lfirst(lc)))
			return names;
	return names_of(names, to, false);
}

/*
 * Names that a body gives values to, and those of the scopes around it; as if the
 * aggregate at the place `but` had none (-1: all have).
 */
static List *
names_with_values(const DatalogNames *scope, int but)
{
	List	   *names = scope->outer != NULL ? names_with_values(scope->outer, but) : NIL;
	int			before = -1;
	ListCell   *lc;
	ListCell   *arg;

	while (list_length(names) != before)
	{
		before = list_length(names);
		CHECK_FOR_INTERRUPTS();
		foreach(lc, scope->body)
		{
			const DatalogLiteral *literal = lfirst(lc);

			if (literal->kind == DATALOG_ATOM)
				foreach(arg, literal->args)
				{
					const DatalogExpr *expr = lfirst(arg);

					if (expr->kind == DATALOG_VARIABLE || expr->kind == DATALOG_TUPLE)
						names = names_of(names, expr, false);
				}
			if (literal->kind != DATALOG_CONSTRAINT || literal->function != GPUCOL_REC_EQ)
				continue;
			names = add_equated(names, literal->left, literal->right, but);
			names = add_equated(names, literal->right, literal->left, but);
		}
	}
	return names;
}

void
gpucol_datalog_find_hidden(const DatalogNames *scope, const DatalogExpr *aggregate, List **hidden, List **witnesses)
{
	List	   *inside = names_of_body(names_of(NIL, aggregate->args[0], true), aggregate->body, true);
	List	   *without = names_with_values(scope, aggregate->position);
	List	   *with = names_with_values(scope, -1);
	ListCell   *lc;

	*hidden = *witnesses = NIL;
	foreach(lc, inside)
	{
		bool		outside = false;

		for (const DatalogNames *s = scope; s != NULL && !outside; s = s->outer)
			outside = s->names != NULL && hash_search(s->names, &lfirst(lc), HASH_FIND, NULL) != NULL;
		if (!outside || has_name(without, lfirst(lc)))
			continue;
		if (has_name(with, lfirst(lc)))
			*hidden = lappend(*hidden, lfirst(lc));
		else
			*witnesses = lappend(*witnesses, lfirst(lc));
	}
}

bool
gpucol_datalog_gives_values(List *body, const DatalogLiteral *head)
{
	DatalogNames scope = {.body = body};
	List	   *names = names_with_values(&scope, -1);
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, head->args)
		foreach(inner, names_of(NIL, lfirst(lc), false))
			if (!has_name(names, lfirst(inner)))
				return false;
	return true;
}

void
gpucol_datalog_each_aggregate(const DatalogExpr *expr, void (*visit) (List *body))
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return;
	if (expr->kind == DATALOG_AGGREGATE)
		visit(expr->body);
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			gpucol_datalog_each_aggregate(lfirst(lc), visit);
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		gpucol_datalog_each_aggregate(expr->args[i], visit);
}
