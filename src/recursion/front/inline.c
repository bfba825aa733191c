/*-------------------------------------------------------------------------
 *
 * inline.c
 *	  Relations marked `inline`: their rules take the place of the atoms that use them.
 *
 * Those that cannot be derived by themselves are replaced wherever that is possible: R(x, y)
 * :- y = x + 1. has no rows of its own, but where R(3, z) stands, z = 3 + 1 can.  What is
 * left, in negations, in aggregates where it would make alternatives, and in itself, is for
 * the check to refuse.
 *
 * Of the others those are folded that have one rule of one conjunction, whose positive
 * atoms give the arguments their values and so their types, and that do not use
 * themselves: pair(x, y) :- a(x), a(y). need not be multiplied out for pair(x, x).  They are
 * replaced outside of negations and aggregates, and derived for what is left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/functors.h"
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

			if (head->relation->marked_inline && !head->relation->output &&
				head->relation->choices == NIL && is_open(clause, head))
				head->relation->open = true;
		}
	}
}

/* ---- which are folded ---- */

static bool is_foldable_body(List *body);

/* May an expression stand elsewhere, with what its aggregates read? */
static bool
is_foldable_expr(const DatalogExpr *expr)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return true;
	if (expr->functor != NULL && expr->functor->nargs == 0)
		return false;			/* autoinc() */
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		if (!is_foldable_expr(expr->args[i]))
			return false;
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			if (!is_foldable_expr(lfirst(lc)))
				return false;
	return expr->kind != DATALOG_AGGREGATE || is_foldable_body(expr->body);
}

/* Does a body read no relation that is marked and not known to be folded? */
static bool
is_foldable_body(List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL && literal->relation->marked_inline &&
			!literal->relation->folded)
			return false;
		foreach(inner, literal->args)
			if (!is_foldable_expr(lfirst(inner)))
				return false;
		foreach(inner, literal->alternatives)
			if (!is_foldable_body(lfirst(inner)))
				return false;
		if (!is_foldable_expr(literal->left) || !is_foldable_expr(literal->right))
			return false;
	}
	return true;
}

/* Is an argument of a head a variable that is an argument of an atom of the body? */
static bool
is_bound_by_atom(const DatalogExpr *arg, List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	if (arg->kind != DATALOG_VARIABLE)
		return false;
	foreach(lc, body)
		foreach(inner, ((const DatalogLiteral *) lfirst(lc))->args)
		{
			const DatalogExpr *other = lfirst(inner);

			if (((const DatalogLiteral *) lfirst(lc))->kind == DATALOG_ATOM &&
				other->kind == DATALOG_VARIABLE && strcmp(other->name, arg->name) == 0)
				return true;
		}
	return false;
}

/* Could the clause, the only one of its relation, take the place of atoms? */
static bool
is_foldable(const DatalogClause *clause)
{
	const DatalogLiteral *head = linitial(clause->heads);
	const DatalogRelation *relation = head->relation;
	List	   *alternatives = clause->body == NIL ? NIL :
		((const DatalogLiteral *) linitial(clause->body))->alternatives;
	ListCell   *lc;

	if (!relation->marked_inline || relation->open || relation->output || relation->input ||
		relation->choices != NIL ||
		relation->folded || list_length(clause->heads) != 1 || list_length(alternatives) != 1)
		return false;
	foreach(lc, head->args)
		if (!is_bound_by_atom(lfirst(lc), linitial(alternatives)))
			return false;
	return is_foldable_body(clause->body);
}

/* Has the relation this clause only, and no subsumption? */
static bool
is_only_clause(const DatalogProgram *program, const DatalogClause *clause)
{
	const DatalogRelation *relation = ((const DatalogLiteral *) linitial(clause->heads))->relation;
	ListCell   *lc;
	ListCell   *head;

	foreach(lc, program->clauses)
		foreach(head, ((const DatalogClause *) lfirst(lc))->heads)
			if (((const DatalogLiteral *) lfirst(head))->relation == relation &&
				lfirst(lc) != clause)
				return false;
	return !clause->subsumption;
}

/* Mark what is folded: first what reads no marked relation, then what reads these only. */
static void
mark_folded(DatalogProgram *program)
{
	ListCell   *lc;
	bool		again = true;

	while (again)
	{
		again = false;
		foreach(lc, program->clauses)
		{
			const DatalogClause *clause = lfirst(lc);

			gpucol_datalog_poll(program);
			if (!is_foldable(clause) || !is_only_clause(program, clause))
				continue;
			((DatalogLiteral *) linitial(clause->heads))->relation->folded = again = true;
		}
	}
}

/* ---- copies under names of their own ---- */

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
		copy->body = gpucol_datalog_copy_body(expr->body, suffix);
	if (expr->kind == DATALOG_TUPLE)
	{
		copy->body = NIL;
		foreach(lc, expr->body)
			copy->body = lappend(copy->body, copy_expr(lfirst(lc), suffix));
	}
	return copy;
}

List *
gpucol_datalog_copy_body(List *body, const char *suffix)
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
			copy->alternatives = lappend(copy->alternatives, gpucol_datalog_copy_body(lfirst(inner), suffix));
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
	List	   *body = gpucol_datalog_copy_body(clause->body, suffix);
	ListCell   *lc;
	ListCell   *lc2;

	forboth(lc, atom->args, lc2, head->args)
	{
		if (((DatalogExpr *) lfirst(lc))->kind == DATALOG_WILDCARD)
			continue;
		body = lappend(body, gpucol_datalog_comparison(GPUCOL_REC_EQ, copy_expr(lfirst(lc2), suffix),
													   lfirst(lc), atom->position));
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
	if (!(atom->relation->open || (atom->relation->folded && !in_aggregate)) ||
		level > MOST_LEVELS || inlining->nreplaced > MOST_REPLACED)
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
	mark_folded(program);
	foreach(lc, program->relations)
		any |= ((DatalogRelation *) lfirst(lc))->open || ((DatalogRelation *) lfirst(lc))->folded;
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
