/*-------------------------------------------------------------------------
 *
 * inline.c
 *	  Relations marked `inline` that cannot be derived by themselves: their rules take the
 *	  place of the atoms that use them.
 *
 * R(x, y) :- y = x + 1. has no rows of its own, but where R(3, z) stands, z = 3 + 1 can.
 * Other relations marked so are derived like any.  What is left, in negations, in
 * aggregates where it would make alternatives, and in itself, is for the check to refuse.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/hidden.h"

/* Rules in rules, and atoms that are replaced in a program. */
#define MOST_LEVELS		50
#define MOST_REPLACED	10000

typedef struct Inlining
{
	DatalogProgram *program;
	int			nreplaced;
} Inlining;

static void inline_body(Inlining *inlining, List *body, bool in_aggregate, int level);

/* ---- which relations ---- */

/* Does a clause leave an argument of a head without a value? */
static bool
is_open(const DatalogClause *clause, const DatalogLiteral *head)
{
	ListCell   *lc;

	foreach(lc, clause->body)
	{
		const DatalogLiteral *literal = lfirst(lc);
		ListCell   *body;

		/* the parser's body is one literal of alternatives */
		foreach(body, literal->alternatives)
			if (!gpucol_datalog_gives_values(lfirst(body), head))
				return true;
	}
	return clause->body == NIL && !gpucol_datalog_gives_values(NIL, head);
}

static void
mark_open(DatalogProgram *program)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (clause->subsumption)
			continue;
		foreach(inner, clause->heads)
		{
			const DatalogLiteral *head = lfirst(inner);

			if (head->relation->marked_inline && !head->relation->output && is_open(clause, head))
				head->relation->open = true;
		}
	}
}

/* ---- copies under names of their own ---- */

static List *copy_body(List *body, const char *suffix);

static DatalogExpr *
copy_expr(const DatalogExpr *expr, const char *suffix)
{
	DatalogExpr *copy;
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return NULL;
	copy = palloc(sizeof(DatalogExpr));
	*copy = *expr;
	if (expr->kind == DATALOG_VARIABLE)
		copy->name = psprintf("%s%s", expr->name, suffix);
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		copy->args[i] = copy_expr(expr->args[i], suffix);
	if (expr->kind == DATALOG_AGGREGATE)
		copy->body = copy_body(expr->body, suffix);
	if (expr->kind == DATALOG_TUPLE)
	{
		copy->body = NIL;
		foreach(lc, expr->body)
			copy->body = lappend(copy->body, copy_expr(lfirst(lc), suffix));
	}
	return copy;
}

static List *
copy_body(List *body, const char *suffix)
{
	List	   *result = NIL;
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);
		DatalogLiteral *copy = palloc(sizeof(DatalogLiteral));

		*copy = *literal;
		copy->args = copy->alternatives = NIL;
		foreach(inner, literal->args)
			copy->args = lappend(copy->args, copy_expr(lfirst(inner), suffix));
		foreach(inner, literal->alternatives)
			copy->alternatives = lappend(copy->alternatives, copy_body(lfirst(inner), suffix));
		copy->left = copy_expr(literal->left, suffix);
		copy->right = copy_expr(literal->right, suffix);
		result = lappend(result, copy);
	}
	return result;
}

/* ---- replacement ---- */

/* The body of a clause, and that the arguments of an atom equal those of its head. */
static List *
body_for(const DatalogClause *clause, const DatalogLiteral *head, const DatalogLiteral *atom,
		 const char *suffix)
{
	List	   *body = copy_body(clause->body, suffix);
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, atom->args, lc2, head->args)
	{
		DatalogLiteral *equal;

		if (((DatalogExpr *) lfirst(lc))->kind == DATALOG_WILDCARD)
			continue;
		equal = palloc0(sizeof(DatalogLiteral));
		equal->kind = DATALOG_CONSTRAINT;
		equal->position = atom->position;
		equal->function = GPUCOL_REC_EQ;
		equal->left = copy_expr(lfirst(lc2), suffix);
		equal->right = lfirst(lc);
		body = lappend(body, equal);
	}
	return body;
}

/* The bodies of the clauses that derive an atom's relation, for this atom. */
static List *
bodies_for(Inlining *inlining, const DatalogLiteral *atom)
{
	List	   *bodies = NIL;
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, inlining->program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (clause->subsumption)
			continue;
		foreach(inner, clause->heads)
			if (((DatalogLiteral *) lfirst(inner))->relation == atom->relation)
				bodies = lappend(bodies, body_for(clause, lfirst(inner), atom,
												  psprintf("%%%d", ++inlining->nreplaced)));
	}
	return bodies;
}

/* Replace the atoms inside of an expression's aggregates. */
static void
inline_expr(Inlining *inlining, DatalogExpr *expr, int level)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		inline_expr(inlining, expr->args[i], level);
	if (expr->kind == DATALOG_AGGREGATE)
		inline_body(inlining, expr->body, true, level);
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			inline_expr(inlining, lfirst(lc), level);
}

/* An atom becomes the alternatives that its relation's clauses are, unless it must stay. */
static void
inline_atom(Inlining *inlining, DatalogLiteral *atom, bool in_aggregate, int level)
{
	List	   *bodies;

	gpucol_datalog_poll(inlining->program);
	if (!atom->relation->open || level > MOST_LEVELS || inlining->nreplaced > MOST_REPLACED)
		return;
	bodies = bodies_for(inlining, atom);
	if (in_aggregate && list_length(bodies) != 1)
		return;
	atom->kind = DATALOG_OR;
	atom->args = NIL;
	atom->alternatives = bodies;
}

static void
inline_body(Inlining *inlining, List *body, bool in_aggregate, int level)
{
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);
		bool		was_atom = literal->kind == DATALOG_ATOM;

		if (was_atom)
			inline_atom(inlining, literal, in_aggregate, level);
		foreach(inner, literal->args)
			inline_expr(inlining, lfirst(inner), level);
		inline_expr(inlining, literal->left, level);
		inline_expr(inlining, literal->right, level);
		foreach(inner, literal->alternatives)
			inline_body(inlining, lfirst(inner), in_aggregate, level + (was_atom ? 1 : 0));
	}
}

/* Note the relations that bodies still name. */
static void
note_named(List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL && literal->kind != DATALOG_OR)
			literal->relation->named = true;
		foreach(inner, literal->args)
			gpucol_datalog_each_aggregate(lfirst(inner), note_named);
		gpucol_datalog_each_aggregate(literal->left, note_named);
		gpucol_datalog_each_aggregate(literal->right, note_named);
		foreach(inner, literal->alternatives)
			note_named(lfirst(inner));
	}
}

/* Leave out the clauses of relations whose every use has been replaced. */
static void
drop_replaced(DatalogProgram *program)
{
	ListCell   *lc;

	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (!((DatalogLiteral *) linitial(clause->heads))->relation->open)
			note_named(clause->body);
	}
	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);
		const DatalogRelation *relation = ((DatalogLiteral *) linitial(clause->heads))->relation;

		if (list_length(clause->heads) == 1 && relation->open && !relation->named)
			program->clauses = foreach_delete_current(program->clauses, lc);
	}
}

void
gpucol_datalog_inline(DatalogProgram *program)
{
	Inlining	inlining = {.program = program};
	ListCell   *lc;
	bool		any = false;

	mark_open(program);
	foreach(lc, program->relations)
		any |= ((DatalogRelation *) lfirst(lc))->open;
	if (!any)
		return;
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		ListCell   *head;
		ListCell   *arg;

		if (clause->subsumption || ((DatalogLiteral *) linitial(clause->heads))->relation->open)
			continue;
		program->at = clause->position;
		inline_body(&inlining, clause->body, false, 0);
		foreach(head, clause->heads)
			foreach(arg, ((DatalogLiteral *) lfirst(head))->args)
				inline_expr(&inlining, lfirst(arg), 0);
	}
	drop_replaced(program);
}
