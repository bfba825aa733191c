/*-------------------------------------------------------------------------
 *
 * subsumption.c
 *	  Clauses R(..) <= R(..) :- body.
 *
 * The least or greatest value of a column (R(k, a) <= R(k, b) :- b < a.) is kept by the
 * engine as rows come, in recursions too: a merge column.  Any other form takes rows back
 * that have been there, which only a relation that is finished allows.  Such a relation is
 * split:
 *
 *		R%all		what R was: its facts and rules
 *		R%worse		rows x of R%all with another row y there and R(x) <= R(y)
 *		R%kept		R%all without R%worse
 *		R%covered	rows x of R%all with another row y of R%kept and R(x) <= R(y)
 *		R%lost		R%worse without R%covered
 *		R			R%kept, an error if there is a row in R%lost
 *
 * If the clauses are an order, the row that a row gives way to need not stay itself: one
 * that is greater does.  A row for which there is none, because rows subsume each other in a
 * circle or some do not subsume what those that they subsume do, is the error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/functors.h"

/* ---- the least or greatest value ---- */

static bool
same_variable(const DatalogExpr *a, const DatalogExpr *b)
{
	return a->kind == DATALOG_VARIABLE && b->kind == DATALOG_VARIABLE &&
		strcmp(a->name, b->name) == 0;
}

/* Is one of the arguments this variable? */
static bool
holds_variable(List *args, const DatalogExpr *variable)
{
	ListCell   *lc;

	foreach(lc, args)
		if (same_variable(lfirst(lc), variable))
			return true;
	return false;
}

/* Is no variable among the arguments twice? */
static bool
all_different(List *args)
{
	for (int i = 1; i < list_length(args); i++)
		for (int j = 0; j < i; j++)
			if (same_variable(list_nth(args, i), list_nth(args, j)))
				return false;
	return true;
}

/* The only comparison that a clause's body is, or NULL. */
static const DatalogLiteral *
only_comparison(const DatalogClause *clause)
{
	const DatalogLiteral *literal = linitial(clause->body);

	while (literal->kind == DATALOG_OR)
	{
		if (list_length(literal->alternatives) != 1 ||
			list_length(linitial(literal->alternatives)) != 1)
			return NULL;
		literal = linitial(linitial(literal->alternatives));
	}
	return literal->kind == DATALOG_CONSTRAINT ? literal : NULL;
}

/* The column in which the two heads differ, or -1: there is not just one. */
static int
merge_column(const DatalogLiteral *worse, const DatalogLiteral *better)
{
	int			column = -1;

	for (int i = 0; i < worse->relation->arity; i++)
	{
		if (same_variable(list_nth(worse->args, i), list_nth(better->args, i)))
			continue;
		if (column >= 0)
			return -1;
		column = i;
	}
	return column;
}

/*
 * R(k, .., a) <= R(k, .., b) :- b < a.   Of rows that agree on k only that with the least
 * (or, with >, greatest) value is kept: *column and *merge.  False: it has another form.
 */
static bool
find_merge(const DatalogClause *clause, int *column, GpucolRecMerge *merge)
{
	const DatalogLiteral *worse = linitial(clause->heads);
	const DatalogLiteral *better = lsecond(clause->heads);
	const DatalogLiteral *test = only_comparison(clause);
	const DatalogExpr *a;
	const DatalogExpr *b;
	bool		less;

	*column = merge_column(worse, better);
	if (*column < 0 || test == NULL || !all_different(worse->args))
		return false;
	a = list_nth(worse->args, *column);
	b = list_nth(better->args, *column);
	if (holds_variable(worse->args, b) || test->function == GPUCOL_REC_EQ ||
		test->function == GPUCOL_REC_NE ||
		!((same_variable(test->left, b) && same_variable(test->right, a)) ||
		  (same_variable(test->left, a) && same_variable(test->right, b))))
		return false;
	less = test->function == GPUCOL_REC_LT || test->function == GPUCOL_REC_LE;
	*merge = less == same_variable(test->left, b) ? GPUCOL_REC_MERGE_MIN : GPUCOL_REC_MERGE_MAX;
	return worse->relation->attributes[*column].type != DATALOG_SYMBOL;
}

/* ---- any order ---- */

/* A relation that is split. */
typedef struct Split
{
	DatalogProgram *program;
	DatalogRelation *relation;
	DatalogRelation *all;
	DatalogRelation *worse;
	DatalogRelation *kept;
	DatalogRelation *covered;
	List	   *clauses;		/* of the program that it becomes */
} Split;

/* Do bodies read a relation, or what is derived from it?  Relations looked at are noted. */
static bool body_reads(const DatalogProgram *program, List *body, const DatalogRelation *wanted,
					   List **seen);

static bool
relation_reads(const DatalogProgram *program, DatalogRelation *relation,
			   const DatalogRelation *wanted, List **seen)
{
	ListCell   *lc;
	ListCell   *head;

	check_stack_depth();
	gpucol_datalog_poll(program);
	if (list_member_ptr(*seen, relation))
		return false;
	*seen = lappend(*seen, relation);
	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (clause->subsumption && relation == wanted)
			continue;
		foreach(head, clause->heads)
			if (((const DatalogLiteral *) lfirst(head))->relation == relation &&
				body_reads(program, clause->body, wanted, seen))
				return true;
	}
	return false;
}

static bool
expr_reads(const DatalogProgram *program, const DatalogExpr *expr, const DatalogRelation *wanted,
		   List **seen)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return false;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		if (expr_reads(program, expr->args[i], wanted, seen))
			return true;
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			if (expr_reads(program, lfirst(lc), wanted, seen))
				return true;
	return expr->kind == DATALOG_AGGREGATE && body_reads(program, expr->body, wanted, seen);
}

static bool
body_reads(const DatalogProgram *program, List *body, const DatalogRelation *wanted, List **seen)
{
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL &&
			(literal->relation == wanted ||
			 relation_reads(program, literal->relation, wanted, seen)))
			return true;
		foreach(inner, literal->args)
			if (expr_reads(program, lfirst(inner), wanted, seen))
				return true;
		foreach(inner, literal->alternatives)
			if (body_reads(program, lfirst(inner), wanted, seen))
				return true;
		if (expr_reads(program, literal->left, wanted, seen) ||
			expr_reads(program, literal->right, wanted, seen))
			return true;
	}
	return false;
}

static DatalogRelation *
add_relation(DatalogProgram *program, DatalogRelation *like, const char *suffix)
{
	DatalogRelation *relation = palloc(sizeof(DatalogRelation));

	*relation = *like;
	relation->name = psprintf("%s%%%s", like->name, suffix);
	relation->output = relation->input = relation->marked_inline = false;
	relation->derived = true;
	program->relations = lappend(program->relations, relation);
	return relation;
}

static DatalogLiteral *
make_atom(DatalogLiteralKind kind, DatalogRelation *relation, List *args, int position)
{
	DatalogLiteral *atom = palloc0(sizeof(DatalogLiteral));

	atom->kind = kind;
	atom->position = position;
	atom->relation = relation;
	atom->name = relation->name;
	atom->args = args;
	return atom;
}

/* A name that no program can write. */
static DatalogExpr *
make_variable(const char *what, int number, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_VARIABLE;
	expr->position = position;
	expr->name = psprintf("%s%%%d", what, number);
	return expr;
}

/* A rule: parser.c makes its body one literal of alternatives. */
static DatalogClause *
make_rule(DatalogLiteral *head, List *body)
{
	DatalogClause *clause = palloc0(sizeof(DatalogClause));
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));

	literal->kind = DATALOG_OR;
	literal->position = head->position;
	literal->alternatives = list_make1(body);
	clause->position = head->position;
	clause->heads = list_make1(head);
	clause->body = list_make1(literal);
	return clause;
}

/* Have the literals of a body, and of what is in it, read R%all in the place of R. */
static void read_all(const Split *split, List *body);

static void
read_all_expr(const Split *split, DatalogExpr *expr)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL)
		return;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		read_all_expr(split, expr->args[i]);
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			read_all_expr(split, lfirst(lc));
	if (expr->kind == DATALOG_AGGREGATE)
		read_all(split, expr->body);
}

static void
read_all(const Split *split, List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->relation == split->relation)
		{
			literal->relation = split->all;
			literal->name = split->all->name;
		}
		foreach(inner, literal->args)
			read_all_expr(split, lfirst(inner));
		foreach(inner, literal->alternatives)
			read_all(split, lfirst(inner));
		read_all_expr(split, literal->left);
		read_all_expr(split, literal->right);
	}
}

/* Arguments of a head, with names in the place of _. */
static List *
named_args(List *args, const char *what)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, args)
	{
		DatalogExpr *arg = lfirst(lc);

		result = lappend(result, arg->kind != DATALOG_WILDCARD ? arg :
						 make_variable(what, foreach_current_index(lc), arg->position));
	}
	return result;
}

/* That two rows differ; NULL: they never do. */
static DatalogLiteral *
make_difference(List *a, List *b, int position)
{
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));
	ListCell   *lc;
	ListCell   *lc2;

	literal->kind = DATALOG_OR;
	literal->position = position;
	forboth(lc, a, lc2, b)
		if (!same_variable(lfirst(lc), lfirst(lc2)))
			literal->alternatives = lappend(literal->alternatives,
											list_make1(gpucol_datalog_comparison(GPUCOL_REC_NE, lfirst(lc),
																				 lfirst(lc2), position)));
	return literal->alternatives == NIL ? NULL : literal;
}

/* to(x) :- R%all(x), from(y), x != y, body. */
static void
add_subsumed(Split *split, const DatalogClause *clause, DatalogRelation *to, DatalogRelation *from)
{
	DatalogLiteral *worse = linitial(clause->heads);
	DatalogLiteral *better = lsecond(clause->heads);
	List	   *rule = gpucol_datalog_copy_body(clause->body, "");
	List	   *a = named_args(worse->args, "worse");
	List	   *b = named_args(better->args, "better");
	DatalogLiteral *difference = make_difference(a, b, better->position);
	List	   *seen = NIL;

	if (difference == NULL)
		return;
	read_all(split, rule);
	if (body_reads(split->program, rule, split->relation, &seen))
		gpucol_datalog_error(split->program->text, clause->position, ERRCODE_INVALID_RECURSION, NULL,
							 "the subsumption of \"%s\" depends on its own result", worse->name);
	rule = list_concat(list_make3(make_atom(DATALOG_ATOM, split->all, a, worse->position),
								  make_atom(DATALOG_ATOM, from, b, better->position),
								  difference), rule);
	split->clauses = lappend(split->clauses,
							 make_rule(make_atom(DATALOG_ATOM, to, a, worse->position), rule));
}

/* to(x) :- from(x), !without(x), or !without() if that has no arguments. */
static void
add_rest(Split *split, DatalogRelation *to, DatalogRelation *from, DatalogRelation *without)
{
	int			position = split->relation->position;
	List	   *args = NIL;

	for (int i = 0; i < to->arity; i++)
		args = lappend(args, make_variable("x", i, position));
	split->clauses =
		lappend(split->clauses,
				make_rule(make_atom(DATALOG_ATOM, to, args, position),
						  list_make2(make_atom(DATALOG_ATOM, from, args, position),
									 make_atom(DATALOG_NEGATION, without,
											   without->arity == 0 ? NIL : args, position))));
}

/* circle() :- lost(x), 0 != "no order"(x): the error. */
static void
add_circle(Split *split, DatalogRelation *circle, DatalogRelation *lost)
{
	int			position = split->relation->position;
	DatalogExpr *call = make_variable("x", 0, position);
	DatalogExpr *zero = make_variable("x", 0, position);
	List	   *args = NIL;

	for (int i = 0; i < lost->arity; i++)
		args = lappend(args, make_variable("x", i, position));
	call->kind = DATALOG_CALL;
	call->function = GPUCOL_REC_HOST;
	call->functor = gpucol_datalog_functor("no order");
	call->args[0] = linitial(args);
	zero->kind = DATALOG_CONSTANT;
	zero->name = "0";
	split->clauses =
		lappend(split->clauses,
				make_rule(make_atom(DATALOG_ATOM, circle, NIL, position),
						  list_make2(make_atom(DATALOG_ATOM, lost, args, position),
									 gpucol_datalog_comparison(GPUCOL_REC_NE, zero, call, position))));
}

static bool
subsumes(const DatalogClause *clause, const DatalogRelation *relation)
{
	return clause->subsumption && ((const DatalogLiteral *) linitial(clause->heads))->relation == relation;
}

/* The relation's own clauses are R%all's. */
static void
move_clauses(Split *split)
{
	ListCell   *lc;
	ListCell   *head;

	foreach(lc, split->program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		if (subsumes(clause, split->relation))
			continue;
		split->clauses = lappend(split->clauses, clause);
		foreach(head, clause->heads)
		{
			DatalogLiteral *literal = lfirst(head);

			if (literal->relation != split->relation || clause->subsumption)
				continue;
			literal->relation = split->all;
			literal->name = split->all->name;
		}
	}
}

/* Split the relation of subsumption clauses, and derive it anew. */
static void
split_relation(DatalogProgram *program, DatalogRelation *relation)
{
	Split		split = {.program = program,.relation = relation};
	DatalogRelation *lost;
	DatalogRelation *circle;
	ListCell   *lc;

	split.all = add_relation(program, relation, "all");
	split.worse = add_relation(program, relation, "worse");
	split.kept = add_relation(program, relation, "kept");
	split.covered = add_relation(program, relation, "covered");
	lost = add_relation(program, relation, "lost");
	circle = add_relation(program, relation, "circle");
	circle->arity = 0;
	move_clauses(&split);
	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (!subsumes(clause, relation))
			continue;
		add_subsumed(&split, clause, split.worse, split.all);
		add_subsumed(&split, clause, split.covered, split.kept);
	}
	add_rest(&split, split.kept, split.all, split.worse);
	add_rest(&split, lost, split.worse, split.covered);
	if (relation->arity > 0)
		add_circle(&split, circle, lost);
	add_rest(&split, relation, split.kept, circle);
	relation->marked_inline = false;
	relation->derived = true;
	program->clauses = split.clauses;
}

/* ---- both ---- */

/* May a relation be split?  An error if not. */
static void
check_split(const DatalogProgram *program, const DatalogClause *clause)
{
	DatalogRelation *relation = ((DatalogLiteral *) linitial(clause->heads))->relation;
	List	   *seen = NIL;

	if (relation->input)
		gpucol_datalog_error(program->text, clause->position, ERRCODE_FEATURE_NOT_SUPPORTED,
							 "Derive another relation from it, and have that one's rows subsumed.",
							 "subsumption of this form in a relation that is read from a table is not supported by gpucol.datalog");
	if (relation_reads(program, relation, relation, &seen))
		gpucol_datalog_error(program->text, clause->position, ERRCODE_FEATURE_NOT_SUPPORTED,
							 "In a recursion there may be one clause R(k, .., a) <= R(k, .., b) :- b < a. (or >) for a relation: of the rows with the same k, the least or greatest value is kept.",
							 "subsumption of this form in a recursive relation is not supported by gpucol.datalog");
}

/* The number of subsumption clauses of a relation. */
static int
count_subsumptions(const DatalogProgram *program, const DatalogRelation *relation)
{
	int			n = 0;
	ListCell   *lc;

	foreach(lc, program->clauses)
		n += subsumes(lfirst(lc), relation);
	return n;
}

/* The position of the first subsumption clause, or -1. */
static int
next_subsumption(const DatalogProgram *program)
{
	ListCell   *lc;

	foreach(lc, program->clauses)
		if (((const DatalogClause *) lfirst(lc))->subsumption)
			return foreach_current_index(lc);
	return -1;
}

void
gpucol_datalog_subsume(DatalogProgram *program)
{
	int			at;

	while ((at = next_subsumption(program)) >= 0)
	{
		DatalogClause *clause = list_nth(program->clauses, at);
		DatalogLiteral *worse = linitial(clause->heads);
		DatalogRelation *relation = worse->relation;
		GpucolRecMerge merge;
		int			column;

		gpucol_datalog_poll(program);
		program->at = clause->position;
		if (((DatalogLiteral *) lsecond(clause->heads))->relation != relation)
			gpucol_datalog_error(program->text, clause->position, ERRCODE_SYNTAX_ERROR, NULL,
								 "a row of \"%s\" cannot be subsumed by one of \"%s\"", worse->name,
								 ((DatalogLiteral *) lsecond(clause->heads))->name);
		if (relation->choices != NIL)
			gpucol_datalog_error(program->text, clause->position, ERRCODE_FEATURE_NOT_SUPPORTED, NULL,
								 "subsumption in a relation with a choice-domain is not supported by gpucol.datalog");
		if (count_subsumptions(program, relation) > 1 || !find_merge(clause, &column, &merge))
		{
			check_split(program, clause);
			split_relation(program, relation);
			continue;
		}
		relation->merge = merge;
		relation->merge_column = column;
		relation->derived = true;
		program->clauses = list_delete_nth_cell(program->clauses, at);
	}
}
