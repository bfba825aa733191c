/*-------------------------------------------------------------------------
 *
 * check.c
 *	  Types and safety of datalog clauses.
 *
 * Types flow from the declarations through atoms and constraints until nothing
 * changes; a variable that only numbers without a type touch is a number.  A
 * clause is safe if every variable gets its value from a positive atom, from
 * an equation whose other side is known, or from an aggregate.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/ast.h"
#include "recursion/front/functors.h"
#include "recursion/front/records.h"
#include "kernel/recursion_values.h"

typedef struct Checker
{
	const DatalogProgram *program;
	DatalogClause *clause;
	bool		changed;
	bool		final;			/* unknown types become number now */
	int			missing;		/* place of a variable without name or value; -1 = none */
} Checker;

/* ---- sets of variables ---- */

Bitmapset *
gpucol_datalog_expr_variables(Bitmapset *set, const DatalogExpr *expr)
{
	check_stack_depth();
	if (expr == NULL)
		return set;
	if (expr->kind == DATALOG_VARIABLE)
		set = bms_add_member(set, expr->variable);
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		set = gpucol_datalog_expr_variables(set, expr->args[i]);
	return set;
}

Bitmapset *
gpucol_datalog_literal_variables(Bitmapset *set, const DatalogLiteral *literal)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, literal->args)
		set = gpucol_datalog_expr_variables(set, lfirst(lc));
	set = gpucol_datalog_expr_variables(set, literal->left);
	set = gpucol_datalog_expr_variables(set, literal->right);
	foreach(lc, literal->body)
		set = gpucol_datalog_literal_variables(set, lfirst(lc));
	if (literal->kind == DATALOG_REDUCTION)
		set = bms_add_member(set, literal->variable);
	return set;
}

List	  **
gpucol_datalog_uses(List *body, int nvariables)
{
	List	  **uses = palloc0(sizeof(List *) * (nvariables + 1));
	ListCell   *lc;

	foreach(lc, body)
	{
		Bitmapset  *variables = gpucol_datalog_literal_variables(NULL, lfirst(lc));
		int			variable = -1;

		while ((variable = bms_next_member(variables, variable)) >= 0)
			uses[variable] = lappend_int(uses[variable], foreach_current_index(lc));
		bms_free(variables);
	}
	return uses;
}

Bitmapset *
gpucol_datalog_injected(const DatalogLiteral *literal)
{
	Bitmapset  *set = gpucol_datalog_expr_variables(NULL, literal->left);
	ListCell   *lc;
	int			i;

	foreach(lc, literal->body)
		set = gpucol_datalog_literal_variables(set, lfirst(lc));
	for (i = literal->local_from; i < literal->local_to; i++)
		set = bms_del_member(set, i);
	return set;
}

/* ---- types ---- */

pg_noreturn static void
mismatch(Checker *checker, const DatalogExpr *expr, DatalogType wanted,
		 const char *found)
{
	gpucol_datalog_error(checker->program->text, expr->position,
						 ERRCODE_DATATYPE_MISMATCH, NULL,
						 "%s is used as %s", found,
						 gpucol_datalog_type_name(wanted));
}

/* Give a constant its type and its value in that type. */
static void
type_constant(Checker *checker, DatalogExpr *expr, DatalogType type)
{
	bool		fits;

	if (expr->is_nil)
		fits = type >= DATALOG_RECORD;
	else if (expr->is_string)
		fits = type == DATALOG_SYMBOL;
	else if (expr->is_real)
		fits = type == DATALOG_FLOAT;
	else if (expr->is_unsigned)
		fits = type == DATALOG_UNSIGNED;
	else
		fits = type == DATALOG_NUMBER || type == DATALOG_FLOAT ||
			(type == DATALOG_UNSIGNED && expr->value >= 0);
	if (!fits)
		mismatch(checker, expr, type, expr->is_nil ? "a record" : expr->is_string ? "a string" :
				 psprintf("the constant %s", expr->name));
	if (expr->type == DATALOG_UNKNOWN && type == DATALOG_FLOAT)
		expr->value = gpucol_rec_bits(expr->real);
	expr->type = type;
}

/* The branch that a call of pack or field is about, or NULL while its type is not known. */
static const DatalogBranch *
branch_of(const Checker *checker, const DatalogExpr *expr, DatalogType type)
{
	if (expr->branch != NULL)
		return expr->branch;
	return type < DATALOG_RECORD ? NULL : gpucol_datalog_only_branch(checker->program, type);
}

/* The type of item i of a record: the first of a named branch is the branch's number. */
static DatalogType
item_type(const DatalogBranch *branch, int64 i)
{
	if (branch->name != NULL)
		i--;
	return i < 0 ? DATALOG_NUMBER : i < branch->nfields ? branch->fields[i].type : DATALOG_UNKNOWN;
}

/* The type of a call of pack or field, as far as it is known. */
static DatalogType
known_record_type(const Checker *checker, const DatalogExpr *expr)
{
	const DatalogExpr *record = expr->args[0];
	const DatalogBranch *branch;

	if (expr->functor->compute == gpucol_datalog_pack)
		return expr->branch != NULL ? expr->branch->type : DATALOG_UNKNOWN;
	branch = branch_of(checker, expr, record->kind == DATALOG_VARIABLE ?
					   checker->clause->types[record->variable] : record->type);
	return branch == NULL ? DATALOG_UNKNOWN : item_type(branch, expr->value);
}

/* The type that an expression is known to have, or UNKNOWN. */
static DatalogType
known_type(Checker *checker, const DatalogExpr *expr)
{
	check_stack_depth();
	switch (expr->kind)
	{
		case DATALOG_VARIABLE:
			return checker->clause->types[expr->variable];
		case DATALOG_CONSTANT:
			if (expr->type != DATALOG_UNKNOWN)
				return expr->type;
			return expr->is_string ? DATALOG_SYMBOL :
				expr->is_real ? DATALOG_FLOAT :
				expr->is_unsigned ? DATALOG_UNSIGNED : DATALOG_UNKNOWN;
		case DATALOG_CALL:
			{
				DatalogType type;

				if (expr->functor != NULL && expr->functor->signature == SIGNATURE_CAST)
					return expr->type;
				if (expr->functor != NULL && expr->functor->signature == SIGNATURE_RECORD)
					return known_record_type(checker, expr);
				if (expr->functor != NULL && expr->functor->result != DATALOG_UNKNOWN)
					return expr->functor->result;
				type = known_type(checker, expr->args[0]);

				if (type == DATALOG_UNKNOWN && expr->args[1] != NULL)
					type = known_type(checker, expr->args[1]);
				return type;
			}
		default:
			return DATALOG_UNKNOWN;
	}
}

static void
expect_variable(Checker *checker, const DatalogExpr *expr, int variable,
				DatalogType type)
{
	DatalogType *known = &checker->clause->types[variable];

	if (*known == DATALOG_UNKNOWN)
	{
		*known = type;
		checker->changed = true;
	}
	else if (*known != type)
		mismatch(checker, expr, type,
				 checker->clause->names[variable] ?
				 psprintf("variable \"%s\" of type %s",
						  checker->clause->names[variable],
						  gpucol_datalog_type_name(*known)) :
				 psprintf("an expression of type %s",
						  gpucol_datalog_type_name(*known)));
}

static void expect_type(Checker *checker, DatalogExpr *expr, DatalogType type);

/* A record that is made must have this type, and its items those of its fields. */
static void
expect_pack_type(Checker *checker, DatalogExpr *expr, DatalogType type)
{
	const DatalogBranch *branch = branch_of(checker, expr, type);
	DatalogType item = branch == NULL || branch->type != type ? DATALOG_UNKNOWN :
		item_type(branch, expr->value);

	if (item == DATALOG_UNKNOWN ||
		(expr->args[1]->is_nil && item_type(branch, expr->value + 1) != DATALOG_UNKNOWN))
		mismatch(checker, expr, type, "a record of other fields");
	expr->type = type;
	expect_type(checker, expr->args[0], item);
	expect_type(checker, expr->args[1], type);
}

/* A field that is taken out must have this type, and the record the branch's. */
static void
expect_field_type(Checker *checker, DatalogExpr *expr, DatalogType type)
{
	DatalogType record = expr->branch != NULL ? expr->branch->type :
		known_type(checker, expr->args[0]);
	const DatalogBranch *branch = branch_of(checker, expr, record);

	if (record == DATALOG_UNKNOWN && !checker->final)
		return;
	if (branch == NULL || item_type(branch, expr->value) != type)
		mismatch(checker, expr, type, "a field of another type");
	expr->type = type;
	expect_type(checker, expr->args[0], record);
	expect_type(checker, expr->args[1], DATALOG_NUMBER);
}

/* A call of a functor must have this type. */
static void
expect_functor_type(Checker *checker, DatalogExpr *expr, DatalogType type)
{
	const DatalogFunctor *functor = expr->functor;

	if (functor->signature == SIGNATURE_RECORD)
	{
		if (functor->compute == gpucol_datalog_pack)
			expect_pack_type(checker, expr, type);
		else
			expect_field_type(checker, expr, type);
		return;
	}
	if (functor->signature == SIGNATURE_CAST ? type != expr->type :
		functor->result != DATALOG_UNKNOWN ? type != functor->result :
		type >= DATALOG_SYMBOL ||
		(type == DATALOG_FLOAT && functor->signature == SIGNATURE_INTEGER))
		mismatch(checker, expr, type,
				 psprintf("the result of \"%s\"", functor->name));
	expr->type = type;
	for (int i = 0; i < functor->nargs; i++)
		expect_type(checker, expr->args[i],
					functor->signature == SIGNATURE_FIXED ? functor->args[i] :
					functor->signature == SIGNATURE_CONVERSION ||
					functor->signature == SIGNATURE_CAST ?
					known_type(checker, expr->args[i]) : type);
}

/* An expression must have this type. */
static void
expect_type(Checker *checker, DatalogExpr *expr, DatalogType type)
{
	check_stack_depth();
	if (type == DATALOG_UNKNOWN)
	{
		if (!checker->final)
			return;
		type = DATALOG_NUMBER;
	}
	switch (expr->kind)
	{
		case DATALOG_VARIABLE:
			expect_variable(checker, expr, expr->variable, type);
			break;
		case DATALOG_CONSTANT:
			type_constant(checker, expr, type);
			break;
		case DATALOG_CALL:
			if (expr->functor != NULL)
			{
				expect_functor_type(checker, expr, type);
				break;
			}
			if (type == DATALOG_SYMBOL && expr->function == GPUCOL_REC_ADD)
			{
				expr->function = GPUCOL_REC_HOST;
				expr->functor = gpucol_datalog_functor("cat");
				expect_functor_type(checker, expr, type);
				break;
			}
			if (type >= DATALOG_SYMBOL)
				mismatch(checker, expr, type, "an arithmetic expression");
			if (expr->function == GPUCOL_REC_NEG && type == DATALOG_UNSIGNED)
				mismatch(checker, expr, type, "a negated expression");
			expr->type = type;
			expect_type(checker, expr->args[0], type);
			if (expr->args[1] != NULL)
				expect_type(checker, expr->args[1], type);
			break;
		default:
			break;
	}
}

static void type_body(Checker *checker, List *body);

static void
type_atom(Checker *checker, DatalogLiteral *atom)
{
	ListCell   *lc;

	foreach(lc, atom->args)
		expect_type(checker, lfirst(lc),
					atom->relation->attributes[foreach_current_index(lc)].type);
}

/* a < b of symbols becomes: the comparison of both < 0. */
static void
order_symbols(DatalogLiteral *literal)
{
	DatalogExpr *call = palloc0(sizeof(DatalogExpr));
	DatalogExpr *zero = palloc0(sizeof(DatalogExpr));

	call->kind = DATALOG_CALL;
	call->position = literal->left->position;
	call->function = GPUCOL_REC_HOST;
	call->functor = gpucol_datalog_functor("<");
	call->args[0] = literal->left;
	call->args[1] = literal->right;
	zero->kind = DATALOG_CONSTANT;
	zero->position = literal->right->position;
	zero->name = "0";
	literal->left = call;
	literal->right = zero;
}

static void
type_constraint(Checker *checker, DatalogLiteral *literal)
{
	DatalogType type = known_type(checker, literal->left);

	if (type == DATALOG_UNKNOWN)
		type = known_type(checker, literal->right);
	if (type == DATALOG_SYMBOL && literal->function != GPUCOL_REC_EQ &&
		literal->function != GPUCOL_REC_NE)
	{
		order_symbols(literal);
		type = DATALOG_NUMBER;
	}
	if (type >= DATALOG_RECORD && literal->function != GPUCOL_REC_EQ &&
		literal->function != GPUCOL_REC_NE)
		mismatch(checker, literal->left, DATALOG_NUMBER, "a record");
	expect_type(checker, literal->left, type);
	expect_type(checker, literal->right, type);
}

static void
type_reduction(Checker *checker, DatalogLiteral *literal)
{
	DatalogExpr result = {.kind = DATALOG_VARIABLE,.position = literal->position,
	.variable = literal->variable};
	DatalogType type = DATALOG_NUMBER;

	type_body(checker, literal->body);
	if (literal->function != GPUCOL_REC_COUNT)
	{
		type = known_type(checker, literal->left);
		if (type == DATALOG_UNKNOWN)
			type = checker->clause->types[literal->variable];
		if (type >= DATALOG_SYMBOL)
			mismatch(checker, literal->left, DATALOG_NUMBER,
					 type == DATALOG_SYMBOL ? "a symbol" : "a record");
		expect_type(checker, literal->left, type);
	}
	expect_type(checker, &result, type);
}

static void
type_body(Checker *checker, List *body)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_CONSTRAINT)
			type_constraint(checker, literal);
		else if (literal->kind == DATALOG_REDUCTION)
			type_reduction(checker, literal);
		else
			type_atom(checker, literal);
	}
}

static void
check_types(Checker *checker)
{
	do
	{
		checker->changed = false;
		type_atom(checker, checker->clause->head);
		type_body(checker, checker->clause->body);
		if (!checker->changed && !checker->final)
		{
			checker->final = true;
			checker->changed = true;
		}
	} while (checker->changed);
}

/* ---- safety ---- */

/* The variables that a literal gives values to where those of `bound` have one. */
static Bitmapset *
given_by(const DatalogLiteral *literal, const Bitmapset *bound)
{
	Bitmapset  *given = NULL;
	Bitmapset  *left;
	Bitmapset  *right;

	if (literal->kind == DATALOG_ATOM)
		return gpucol_datalog_literal_variables(NULL, literal);
	if (literal->kind == DATALOG_REDUCTION &&
		bms_is_subset(gpucol_datalog_injected(literal), bound))
		return bms_make_singleton(literal->variable);
	if (literal->kind != DATALOG_CONSTRAINT || literal->function != GPUCOL_REC_EQ)
		return NULL;
	left = gpucol_datalog_expr_variables(NULL, literal->left);
	right = gpucol_datalog_expr_variables(NULL, literal->right);
	if (literal->left->kind == DATALOG_VARIABLE && bms_is_subset(right, bound))
		given = bms_add_members(given, left);
	if (literal->right->kind == DATALOG_VARIABLE && bms_is_subset(left, bound))
		given = bms_add_members(given, right);
	return given;
}

/*
 * The set of variables that a body gives values to, from those in `bound`.  A literal is
 * looked at again when one of its variables got a value.
 */
static Bitmapset *
bind_body(const DatalogProgram *program, const DatalogClause *clause, List *body, Bitmapset *bound)
{
	List	  **uses = gpucol_datalog_uses(body, clause->nvariables);
	Bitmapset  *todo = NULL;
	int			at = -1;

	for (int i = 0; i < list_length(body); i++)
		todo = bms_add_member(todo, i);
	while ((at = bms_next_member(todo, -1)) >= 0)
	{
		Bitmapset  *given = bms_difference(given_by(list_nth(body, at), bound), bound);
		int			variable = -1;
		ListCell   *lc;

		gpucol_datalog_poll(program);
		todo = bms_del_member(todo, at);
		bound = bms_add_members(bound, given);
		while ((variable = bms_next_member(given, variable)) >= 0)
			foreach(lc, uses[variable])
				if (lfirst_int(lc) != at)
					todo = bms_add_member(todo, lfirst_int(lc));
		bms_free(given);
	}
	return bound;
}

Bitmapset *
gpucol_datalog_bound_by(const DatalogProgram *program, const DatalogClause *clause, List *body)
{
	return bind_body(program, clause, body, NULL);
}

/*
 * Complain about the first variable of `used` that is not in `bound`.  One that
 * normalisation made has no value only if some other has none: it is remembered.
 */
static void
require_bound(Checker *checker, Bitmapset *used, Bitmapset *bound, int position)
{
	Bitmapset  *missing = bms_difference(used, bound);
	int			variable = -1;

	while ((variable = bms_next_member(missing, variable)) >= 0)
		if (checker->clause->names[variable] != NULL)
			gpucol_datalog_error(checker->program->text,
								 checker->clause->positions[variable],
								 ERRCODE_INVALID_COLUMN_REFERENCE,
								 "Each variable must occur in a positive atom of the body, or equal an expression of variables that do.",
								 "variable \"%s\" has no value",
								 checker->clause->names[variable]);
		else if (checker->missing < 0)
			checker->missing = position;
}

static void
check_body_safety(Checker *checker, List *body, Bitmapset *bound)
{
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_REDUCTION)
		{
			Bitmapset  *inner;

			require_bound(checker, gpucol_datalog_injected(literal), bound,
						  literal->position);
			inner = bind_body(checker->program, checker->clause, literal->body, bms_copy(bound));
			require_bound(checker,
						  gpucol_datalog_expr_variables(NULL, literal->left),
						  inner, literal->position);
			check_body_safety(checker, literal->body, inner);
		}
		else
			require_bound(checker,
						  gpucol_datalog_literal_variables(NULL, literal),
						  bound, literal->position);
	}
}

static void
check_safety(Checker *checker)
{
	DatalogClause *clause = checker->clause;
	Bitmapset  *bound = bind_body(checker->program, clause, clause->body, NULL);

	require_bound(checker,
				  gpucol_datalog_literal_variables(NULL, clause->head), bound,
				  clause->position);
	check_body_safety(checker, clause->body, bound);
	if (checker->missing >= 0)
		gpucol_datalog_error(checker->program->text, checker->missing,
							 ERRCODE_INVALID_COLUMN_REFERENCE,
							 "A variable that also occurs outside of an aggregate means the same inside: give what the aggregate goes through a name of its own.",
							 "the value of an aggregate depends on itself");
}

void
gpucol_datalog_check(DatalogProgram *program)
{
	ListCell   *lc;

	foreach(lc, program->clauses)
	{
		Checker		checker = {.program = program,.clause = lfirst(lc),.missing = -1};

		gpucol_datalog_poll(program);
		program->at = checker.clause->position;
		check_types(&checker);
		check_safety(&checker);
	}
}
