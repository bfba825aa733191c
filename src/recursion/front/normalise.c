/*-------------------------------------------------------------------------
 *
 * normalise.c
 *	  Datalog clauses in the form that checking and planning work on.
 *
 * A clause with several heads or alternatives becomes several clauses.
 * Variables are numbered.  Arguments of body atoms become variables, constants
 * or wildcards (others move to a constraint "v = expression"), aggregates
 * become literals of their own (REDUCTION), and a variable that is said to
 * equal another variable or a constant is replaced by it.
 *
 * A name that occurs outside of an aggregate means the same variable inside;
 * others are the aggregate's own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "recursion/front/ast.h"
#include "miscadmin.h"
#include "utils/hsearch.h"

#include "recursion/front/functors.h"
#include "recursion/front/hidden.h"
#include "recursion/front/ranges.h"

#define MAX_ALTERNATIVES	1000

typedef struct Rewrite
{
	const DatalogProgram *program;
	int			nvariables;
	List	   *names;			/* char *, by variable; NULL entries possible */
	List	   *positions;
} Rewrite;

static List *rewrite_body(Rewrite *rewrite, DatalogNames *scope, List *body);

/* ---- alternatives ---- */

static List *expand_body(const DatalogProgram *program, List *body);

/* The conjunctions that one literal stands for. */
static List *
expand_literal(const DatalogProgram *program, DatalogLiteral *literal)
{
	List	   *result = NIL;
	ListCell   *lc;

	if (literal->kind == DATALOG_TRUTH)
		return literal->truth ? list_make1(NIL) : NIL;
	if (literal->kind != DATALOG_OR)
		return list_make1(list_make1(literal));
	foreach(lc, literal->alternatives)
		result = list_concat(result, expand_body(program, lfirst(lc)));
	return result;
}

/* The conjunctions that a body stands for: its disjunctive normal form. */
static List *
expand_body(const DatalogProgram *program, List *body)
{
	List	   *result = list_make1(NIL);
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);
		List	   *options = expand_literal(program, literal);
		List	   *product = NIL;
		ListCell   *left;
		ListCell   *right;

		if (list_length(options) == 1)
		{
			/* nothing but longer conjunctions, which are this function's own */
			foreach(left, result)
				lfirst(left) = list_concat(lfirst(left), linitial(options));
			continue;
		}
		if (list_length(result) * list_length(options) > MAX_ALTERNATIVES)
			gpucol_datalog_error(program->text, literal->position,
								 ERRCODE_PROGRAM_LIMIT_EXCEEDED, NULL,
								 "more than %d alternatives in a clause",
								 MAX_ALTERNATIVES);
		foreach(left, result)
			foreach(right, options)
				product = lappend(product,
								  list_concat_copy(lfirst(left),
												   lfirst(right)));
		result = product;
	}
	return result;
}

/* ---- variables ---- */

static uint32
hash_name(const void *key, Size size pg_attribute_unused())
{
	const char *name = *(const char *const *) key;

	return DatumGetUInt32(hash_any((const unsigned char *) name, (int) strlen(name)));
}

static int
compare_names(const void *a, const void *b, Size size pg_attribute_unused())
{
	return strcmp(*(const char *const *) a, *(const char *const *) b);
}

static HTAB *
create_names(void)
{
	HASHCTL		control = {.keysize = sizeof(char *),.entrysize = sizeof(DatalogName),
		.hash = hash_name,.match = compare_names,.hcxt = CurrentMemoryContext};

	return hash_create("gpucol datalog names", 16, &control,
					   HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
}

static void
forget_names(DatalogNames *scope)
{
	if (scope->names != NULL)
		hash_destroy(scope->names);
	scope->names = NULL;
}

static int
new_variable(Rewrite *rewrite, char *name, int position)
{
	rewrite->names = lappend(rewrite->names, name);
	rewrite->positions = lappend_int(rewrite->positions, position);
	return rewrite->nvariables++;
}

/* Number of a name; a name that is new belongs to the innermost scope. */
static int
find_variable(Rewrite *rewrite, DatalogNames *scope, char *name, int position)
{
	DatalogName  *entry;

	for (DatalogNames *s = scope; s != NULL; s = s->outer)
	{
		entry = s->names == NULL ? NULL : hash_search(s->names, &name, HASH_FIND, NULL);
		if (entry != NULL)
			return entry->variable;
	}
	if (scope->names == NULL)
		scope->names = create_names();
	entry = hash_search(scope->names, &name, HASH_ENTER, NULL);
	entry->variable = new_variable(rewrite, name, position);
	return entry->variable;
}

static DatalogExpr *
variable_expr(int variable, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_VARIABLE;
	expr->position = position;
	expr->variable = variable;
	return expr;
}

DatalogLiteral *
gpucol_datalog_comparison(GpucolRecFunction function, DatalogExpr *left, DatalogExpr *right, int position)
{
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));

	literal->kind = DATALOG_CONSTRAINT;
	literal->position = position;
	literal->function = function;
	literal->left = left;
	literal->right = right;
	return literal;
}

/* Enter the names of an expression, aggregates left out, into a scope. */
static void
declare_names(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr)
{
	ListCell   *lc;

	check_stack_depth();
	if (expr == NULL || expr->kind == DATALOG_AGGREGATE)
		return;
	if (expr->kind == DATALOG_VARIABLE)
		find_variable(rewrite, scope, expr->name, expr->position);
	if (expr->kind == DATALOG_TUPLE)
		foreach(lc, expr->body)
			declare_names(rewrite, scope, lfirst(lc));
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		declare_names(rewrite, scope, expr->args[i]);
}

static void
declare_body(Rewrite *rewrite, DatalogNames *scope, List *body)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		foreach(arg, literal->args)
			declare_names(rewrite, scope, lfirst(arg));
		declare_names(rewrite, scope, literal->left);
		declare_names(rewrite, scope, literal->right);
	}
}

/* ---- rewriting, which copies ---- */

static DatalogExpr *rewrite_expr(Rewrite *rewrite, DatalogNames *scope,
								 DatalogExpr *expr, List **extra);
static DatalogExpr *rewrite_arg(Rewrite *rewrite, DatalogNames *scope,
								DatalogExpr *expr, List **extra);

/* A copy of a variable, a constant or "_": what replaces it later replaces one of them. */
static DatalogExpr *
copy_leaf(const DatalogExpr *expr)
{
	DatalogExpr *copy = palloc(sizeof(DatalogExpr));

	*copy = *expr;
	return copy;
}

/* Enter names that are the scope's own, whatever they mean outside. */
static void
declare_own(Rewrite *rewrite, DatalogNames *scope, List *names, int position)
{
	DatalogNames		own = {.names = scope->names};
	ListCell   *lc;

	foreach(lc, names)
		(void) find_variable(rewrite, &own, lfirst(lc), position);
	scope->names = own.names;
}

/*
 * The aggregate's body once more, beside it: a name outside that only the aggregate could
 * give a value to is that of a row with the least or greatest value.
 */
static void
add_witness(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List *body, List *own, int variable,
			List **extra)
{
	DatalogNames		inner = {.outer = scope};
	List	   *additions = NIL;
	DatalogExpr *value;

	if (expr->function != GPUCOL_REC_MIN && expr->function != GPUCOL_REC_MAX)
		return;
	declare_own(rewrite, &inner, own, expr->position);
	declare_body(rewrite, &inner, body);
	inner.body = body;
	*extra = list_concat(*extra, rewrite_body(rewrite, &inner, body));
	value = rewrite_expr(rewrite, &inner, expr->args[0], &additions);
	*extra = list_concat(*extra, additions);
	*extra = lappend(*extra, gpucol_datalog_comparison(GPUCOL_REC_EQ, variable_expr(variable, expr->position), value,
									  expr->position));
	forget_names(&inner);
}

/* Replace an aggregate by a variable and a REDUCTION. */
static DatalogExpr *
reduce(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	DatalogNames		inner = {.outer = scope};
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));
	List	   *alternatives = expand_body(rewrite->program, expr->body);
	List	   *additions = NIL;
	List	   *hidden;			/* names that mean other variables outside */
	List	   *witnesses;		/* names whose values outside are those of a row */

	literal->kind = DATALOG_REDUCTION;
	literal->position = expr->position;
	literal->function = expr->function;
	literal->variable = new_variable(rewrite, NULL, expr->position);
	literal->local_from = rewrite->nvariables;
	if (list_length(alternatives) != 1)
		gpucol_datalog_error(rewrite->program->text, expr->position,
							 ERRCODE_FEATURE_NOT_SUPPORTED,
							 "Name the alternatives as a relation of their own.",
							 "alternatives in the body of an aggregate are not supported by gpucol.datalog");
	gpucol_datalog_find_hidden(scope, expr, &hidden, &witnesses);
	declare_own(rewrite, &inner, hidden, expr->position);
	declare_own(rewrite, &inner, witnesses, expr->position);
	declare_body(rewrite, &inner, linitial(alternatives));
	inner.body = linitial(alternatives);
	literal->body = rewrite_body(rewrite, &inner, linitial(alternatives));
	if (expr->args[0] != NULL)
		literal->left = rewrite_expr(rewrite, &inner, expr->args[0],
									 &additions);
	literal->body = list_concat(literal->body, additions);
	literal->local_to = rewrite->nvariables;
	forget_names(&inner);
	*extra = lappend(*extra, literal);
	if (witnesses != NIL)
		add_witness(rewrite, scope, expr, linitial(alternatives), hidden, literal->variable, extra);
	return variable_expr(literal->variable, expr->position);
}

static DatalogExpr *
call_expr(const char *functor, DatalogExpr *a, DatalogExpr *b, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_CALL;
	expr->position = position;
	expr->variable = -1;
	expr->function = GPUCOL_REC_HOST;
	expr->functor = gpucol_datalog_functor(functor);
	expr->args[0] = a;
	expr->args[1] = b;
	return expr;
}

static DatalogExpr *
integer_expr(int64 value, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_CONSTANT;
	expr->position = position;
	expr->variable = -1;
	expr->value = value;
	expr->real = (double) value;
	expr->name = psprintf(INT64_FORMAT, value);
	return expr;
}

/* A mean is the sum over the count, where that is not 0. */
static DatalogExpr *
rewrite_aggregate(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	DatalogExpr count = *expr;
	DatalogExpr *divided;
	DatalogExpr *by;
	DatalogLiteral *any;

	if (!expr->is_mean)
		return reduce(rewrite, scope, expr, extra);
	count.function = GPUCOL_REC_COUNT;
	count.args[0] = NULL;
	by = reduce(rewrite, scope, &count, extra);
	any = gpucol_datalog_comparison(GPUCOL_REC_EQ, copy_leaf(by), integer_expr(0, expr->position), expr->position);
	any->function = GPUCOL_REC_GT;
	*extra = lappend(*extra, any);
	divided = call_expr("to_float", reduce(rewrite, scope, expr, extra), NULL, expr->position);
	divided = call_expr("to_float", divided, NULL, expr->position);
	divided->functor = NULL;
	divided->function = GPUCOL_REC_DIV;
	divided->args[1] = call_expr("to_float", variable_expr(by->variable, expr->position), NULL,
								 expr->position);
	return divided;
}

/* ---- records ---- */

/* A field, or the number of the branch (item 0 of an algebraic data type), of a record. */
static DatalogExpr *
field_expr(const DatalogExpr *tuple, int variable, int item)
{
	DatalogExpr *expr = call_expr("field", variable_expr(variable, tuple->position),
								  integer_expr(item, tuple->position), tuple->position);

	expr->branch = tuple->branch;
	expr->value = item;
	return expr;
}

/* The record that is made of fields (and the number of a branch). */
static DatalogExpr *
pack_expr(const DatalogExpr *tuple, List *items)
{
	DatalogExpr *rest = palloc0(sizeof(DatalogExpr));

	rest->kind = DATALOG_CONSTANT;
	rest->position = tuple->position;
	rest->variable = -1;
	rest->is_nil = true;
	rest->name = "nil";
	for (int i = list_length(items) - 1; i >= 0; i--)
	{
		rest = call_expr("pack", list_nth(items, i), rest, tuple->position);
		rest->branch = tuple->branch;
		rest->value = i;
	}
	return rest;
}

/*
 * Replace a record by a variable, and what holds between it and the fields: whichever are
 * known give the others their values.
 */
static DatalogExpr *
rewrite_tuple(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	int			variable = new_variable(rewrite, NULL, expr->position);
	List	   *items = NIL;
	bool		whole = true;
	DatalogLiteral *is_one;
	ListCell   *lc;

	if (expr->branch != NULL)
	{
		items = list_make1(integer_expr(expr->branch->number, expr->position));
		is_one = gpucol_datalog_comparison(GPUCOL_REC_EQ, integer_expr(expr->branch->number, expr->position),
						  field_expr(expr, variable, 0), expr->position);
	}
	else
	{
		is_one = gpucol_datalog_comparison(GPUCOL_REC_EQ, variable_expr(variable, expr->position), pack_expr(expr, NIL),
						  expr->position);
		is_one->function = GPUCOL_REC_NE;
	}
	*extra = lappend(*extra, is_one);
	foreach(lc, expr->body)
	{
		DatalogExpr *field = rewrite_arg(rewrite, scope, lfirst(lc), extra);

		items = lappend(items, copy_leaf(field));
		if (field->kind == DATALOG_WILDCARD)
			whole = false;
		else
			*extra = lappend(*extra, gpucol_datalog_comparison(GPUCOL_REC_EQ,
							field, field_expr(expr, variable, list_length(items) - 1),
											  expr->position));
	}
	if (whole)
		*extra = lappend(*extra, gpucol_datalog_comparison(GPUCOL_REC_EQ, variable_expr(variable, expr->position),
										  pack_expr(expr, items), expr->position));
	return variable_expr(variable, expr->position);
}

/* Complain where "_" stands for a value that is needed. */
static void
require_value(const Rewrite *rewrite, const DatalogExpr *expr)
{
	if (expr->kind == DATALOG_WILDCARD)
		gpucol_datalog_error(rewrite->program->text, expr->position,
							 ERRCODE_SYNTAX_ERROR, NULL,
							 "\"_\" has no value here");
}

/* A range becomes a variable that equals it; its bounds are variables or constants. */
static DatalogExpr *
rewrite_range(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	DatalogExpr *copy = copy_leaf(expr);
	int			variable = new_variable(rewrite, NULL, expr->position);

	for (int i = 0; i < 3; i++)
	{
		DatalogExpr *bound = expr->args[i] != NULL ? expr->args[i] :
			call_expr("range step", expr->args[0], expr->args[1], expr->position);

		require_value(rewrite, bound);
		copy->args[i] = rewrite_arg(rewrite, scope, bound, extra);
	}
	*extra = lappend(*extra, gpucol_datalog_comparison(GPUCOL_REC_EQ, variable_expr(variable, expr->position), copy,
									  expr->position));
	return variable_expr(variable, expr->position);
}

/*
 * Copy an expression that has a value, so "_" is none of its parts; literals that it
 * needs are added to *extra.
 */
static DatalogExpr *
rewrite_expr(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	DatalogExpr *copy;

	check_stack_depth();
	if (expr == NULL)
		return NULL;
	require_value(rewrite, expr);
	if (expr->kind == DATALOG_AGGREGATE)
		return rewrite_aggregate(rewrite, scope, expr, extra);
	if (expr->kind == DATALOG_TUPLE)
		return rewrite_tuple(rewrite, scope, expr, extra);
	if (gpucol_datalog_is_range(expr))
		return rewrite_range(rewrite, scope, expr, extra);
	copy = palloc(sizeof(DatalogExpr));
	*copy = *expr;
	if (expr->kind == DATALOG_VARIABLE)
		copy->variable = find_variable(rewrite, scope, expr->name,
									   expr->position);
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		copy->args[i] = rewrite_expr(rewrite, scope, expr->args[i], extra);
	return copy;
}

/* Copy an argument of a body atom: variable, constant or "_". */
static DatalogExpr *
rewrite_arg(Rewrite *rewrite, DatalogNames *scope, DatalogExpr *expr, List **extra)
{
	DatalogExpr *copy;
	int			variable;

	if (expr->kind == DATALOG_WILDCARD)
		return expr;
	copy = rewrite_expr(rewrite, scope, expr, extra);
	if (copy->kind != DATALOG_CALL)
		return copy;
	variable = new_variable(rewrite, NULL, expr->position);
	*extra = lappend(*extra, gpucol_datalog_comparison(GPUCOL_REC_EQ, variable_expr(variable, expr->position),
									  copy, expr->position));
	return variable_expr(variable, expr->position);
}

/* _ = aggregate: says that it has a value. */
static bool
is_anything(const DatalogLiteral *literal)
{
	return literal->kind == DATALOG_CONSTRAINT && literal->function == GPUCOL_REC_EQ &&
		((literal->left->kind == DATALOG_WILDCARD && literal->right->kind == DATALOG_AGGREGATE) ||
		 (literal->right->kind == DATALOG_WILDCARD && literal->left->kind == DATALOG_AGGREGATE));
}

static List *
rewrite_body(Rewrite *rewrite, DatalogNames *scope, List *body)
{
	List	   *result = NIL;
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);
		DatalogLiteral *copy = palloc(sizeof(DatalogLiteral));
		List	   *extra = NIL;

		if (is_anything(literal))
		{
			(void) rewrite_expr(rewrite, scope, literal->left->kind == DATALOG_WILDCARD ?
								literal->right : literal->left, &extra);
			result = list_concat(result, extra);
			continue;
		}
		*copy = *literal;
		copy->args = NIL;
		foreach(arg, literal->args)
			copy->args = lappend(copy->args,
								 rewrite_arg(rewrite, scope, lfirst(arg),
											 &extra));
		copy->left = rewrite_expr(rewrite, scope, literal->left, &extra);
		copy->right = rewrite_expr(rewrite, scope, literal->right, &extra);
		result = list_concat(lappend(result, copy), extra);
	}
	return result;
}

/* ---- substitution of equal variables ---- */

static void
substitute_expr(DatalogExpr *expr, int variable, const DatalogExpr *by)
{
	check_stack_depth();
	if (expr == NULL)
		return;
	if (expr->kind == DATALOG_VARIABLE && expr->variable == variable)
	{
		int			position = expr->position;

		*expr = *by;
		expr->position = position;
		return;
	}
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		substitute_expr(expr->args[i], variable, by);
}

static void
substitute_body(List *body, int variable, const DatalogExpr *by)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		foreach(arg, literal->args)
			substitute_expr(lfirst(arg), variable, by);
		substitute_expr(literal->left, variable, by);
		substitute_expr(literal->right, variable, by);
		substitute_body(literal->body, variable, by);
	}
}

/* Is a variable the result of an aggregate of this body? */
static bool
is_reduced(List *body, int variable)
{
	ListCell   *lc;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_REDUCTION && literal->variable == variable)
			return true;
	}
	return false;
}

/* Use up the constraints "variable = variable" and "variable = constant". */
static void
substitute_equal(DatalogClause *clause)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, clause->body)
	{
		DatalogLiteral *literal = lfirst(lc);
		DatalogExpr *from = literal->left;
		DatalogExpr *by = literal->right;
		DatalogExpr replacement;
		int			variable;

		if (literal->kind != DATALOG_CONSTRAINT ||
			literal->function != GPUCOL_REC_EQ)
			continue;
		if (from->kind != DATALOG_VARIABLE || is_reduced(clause->body,
														 from->variable))
		{
			from = literal->right;
			by = literal->left;
		}
		if (from->kind != DATALOG_VARIABLE ||
			is_reduced(clause->body, from->variable) ||
			(by->kind != DATALOG_VARIABLE && by->kind != DATALOG_CONSTANT))
			continue;
		variable = from->variable;
		replacement = *by;
		clause->body = foreach_delete_current(clause->body, lc);
		if (by->kind == DATALOG_VARIABLE && by->variable == variable)
		{
			/* x = x: says nothing, but x must still be bound */
			clause->body = lappend(clause->body, literal);
			literal->function = GPUCOL_REC_LE;
			continue;
		}
		substitute_body(clause->body, variable, &replacement);
		foreach(arg, clause->head->args)
			substitute_expr(lfirst(arg), variable, &replacement);
	}
}

/* One head with one conjunction. */
static DatalogClause *
make_clause(const DatalogProgram *program, DatalogLiteral *head, List *body)
{
	Rewrite		rewrite = {.program = program};
	DatalogNames		scope = {0};
	DatalogClause *clause = palloc0(sizeof(DatalogClause));
	List	   *extra = NIL;
	ListCell   *lc;
	int			i;

	clause->position = head->position;
	clause->head = palloc(sizeof(DatalogLiteral));
	*clause->head = *head;
	clause->head->args = NIL;
	declare_body(&rewrite, &scope, list_make1(head));
	declare_body(&rewrite, &scope, body);
	scope.body = body;
	gpucol_datalog_poll(program);
	foreach(lc, head->args)
		clause->head->args = lappend(clause->head->args,
									 rewrite_expr(&rewrite, &scope, lfirst(lc),
												  &extra));
	clause->body = list_concat(rewrite_body(&rewrite, &scope, body), extra);
	clause->nvariables = rewrite.nvariables;
	clause->names = palloc(sizeof(char *) * (rewrite.nvariables + 1));
	clause->positions = palloc(sizeof(int) * (rewrite.nvariables + 1));
	clause->types = palloc0(sizeof(DatalogType) * (rewrite.nvariables + 1));
	for (i = 0; i < rewrite.nvariables; i++)
	{
		clause->names[i] = list_nth(rewrite.names, i);
		clause->positions[i] = list_nth_int(rewrite.positions, i);
	}
	forget_names(&scope);
	substitute_equal(clause);
	return clause;
}

void
gpucol_datalog_normalise(DatalogProgram *program)
{
	List	   *clauses = NIL;
	ListCell   *lc;
	ListCell   *head;
	ListCell   *alternative;

	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		gpucol_datalog_poll(program);
		program->at = clause->position;
		foreach(head, clause->heads)
			foreach(alternative, expand_body(program, clause->body))
				clauses = lappend(clauses, make_clause(program, lfirst(head),
													   lfirst(alternative)));
	}
	program->clauses = clauses;
}

bool
gpucol_datalog_is_fact(const DatalogClause *clause)
{
	ListCell   *lc;

	foreach(lc, clause->head->args)
		if (((DatalogExpr *) lfirst(lc))->kind != DATALOG_CONSTANT)
			return false;
	return clause->body == NIL;
}
