/*-------------------------------------------------------------------------
 *
 * ranges.c
 *	  x = range(from, to, step) in checked clauses: the values from, from + step, ... before
 *	  `to`.
 *
 * Each becomes an atom of a relation of its own, (from, to, step, x), that rules derive: the
 * first value for all bounds that the rest of the clause gives, and from each value the next.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/front/functors.h"
#include "recursion/front/ranges.h"

/* Columns of such a relation. */
enum
{
	RANGE_FROM, RANGE_TO, RANGE_STEP, RANGE_VALUE, RANGE_ARITY
};

typedef struct Expansion
{
	DatalogProgram *program;
	DatalogClause *clause;		/* that is being looked at */
	List	   *added;			/* DatalogClause */
	int			nranges;
} Expansion;

bool
gpucol_datalog_is_range(const DatalogExpr *expr)
{
	return expr->kind == DATALOG_CALL && expr->functor != NULL && expr->functor->compute == NULL;
}

static DatalogExpr *
variable_of(int variable, DatalogType type, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_VARIABLE;
	expr->variable = variable;
	expr->type = type;
	expr->position = position;
	return expr;
}

static DatalogLiteral *
atom_of(DatalogRelation *relation, List *args, int position)
{
	DatalogLiteral *atom = palloc0(sizeof(DatalogLiteral));

	atom->kind = DATALOG_ATOM;
	atom->position = position;
	atom->name = relation->name;
	atom->relation = relation;
	atom->args = args;
	return atom;
}

static DatalogLiteral *
test_of(GpucolRecFunction function, DatalogExpr *left, DatalogExpr *right)
{
	return gpucol_datalog_comparison(function, left, right, left->position);
}

/* A constant of a type, by its bits. */
static DatalogExpr *
constant_of(DatalogType type, int64 bits, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = DATALOG_CONSTANT;
	expr->variable = -1;
	expr->type = type;
	expr->position = position;
	expr->value = bits;
	expr->name = psprintf(INT64_FORMAT, bits);
	return expr;
}

/*
 * Does the step go up (down)?  That of unsigned numbers goes down by 1 only, which is all
 * ones.  The tests, as literals.
 */
static List *
direction_of(DatalogExpr *step, DatalogType type, int position, bool up)
{
	DatalogExpr *zero = constant_of(type, 0, position);

	if (type == DATALOG_UNSIGNED)
		return list_make2(test_of(GPUCOL_REC_NE, step, zero),
						  test_of(up ? GPUCOL_REC_NE : GPUCOL_REC_EQ, step,
								  constant_of(type, -1, position)));
	return list_make1(test_of(up ? GPUCOL_REC_GT : GPUCOL_REC_LT, step, zero));
}

static DatalogRelation *
make_relation(Expansion *expansion, DatalogType type, int position)
{
	static const char *const names[RANGE_ARITY] = {"from", "to", "step", "value"};
	DatalogRelation *relation = palloc0(sizeof(DatalogRelation));

	relation->name = psprintf("range %d", ++expansion->nranges);
	relation->position = position;
	relation->arity = RANGE_ARITY;
	relation->derived = true;
	relation->attributes = palloc0(sizeof(DatalogAttribute) * RANGE_ARITY);
	for (int i = 0; i < RANGE_ARITY; i++)
	{
		relation->attributes[i].name = pstrdup(names[i]);
		relation->attributes[i].type = type;
	}
	expansion->program->relations = lappend(expansion->program->relations, relation);
	return relation;
}

static void
add_clause(Expansion *expansion, DatalogLiteral *head, List *body, const DatalogClause *like)
{
	DatalogClause *clause = palloc(sizeof(DatalogClause));

	*clause = *like;
	clause->head = head;
	clause->body = body;
	expansion->added = lappend(expansion->added, clause);
}

/* The range that a literal equates something with, and this something; else NULL. */
static DatalogExpr *
range_of(const DatalogLiteral *literal, DatalogExpr **value)
{
	if (literal->kind != DATALOG_CONSTRAINT)
		return NULL;
	*value = gpucol_datalog_is_range(literal->right) ? literal->left : literal->right;
	return gpucol_datalog_is_range(literal->right) ? literal->right :
		gpucol_datalog_is_range(literal->left) ? literal->left : NULL;
}

/*
 * What a clause says of the bounds without ranges: literals that are known then.  False
 * where they do not give the bounds of this range values.
 */
static bool
bounding_literals(const Expansion *expansion, const DatalogExpr *range, List *others, List **result)
{
	Bitmapset  *bound;
	Bitmapset  *wanted = gpucol_datalog_expr_variables(NULL, range);
	List	   *plain = NIL;
	ListCell   *lc;
	bool		known;

	*result = NIL;
	foreach(lc, others)
	{
		DatalogExpr *value;

		if (range_of(lfirst(lc), &value) == NULL)
			plain = lappend(plain, lfirst(lc));
	}
	bound = gpucol_datalog_bound_by(expansion->program, expansion->clause, plain);
	foreach(lc, plain)
	{
		DatalogLiteral *literal = lfirst(lc);
		Bitmapset  *needs = literal->kind == DATALOG_REDUCTION ? gpucol_datalog_injected(literal) :
			gpucol_datalog_literal_variables(NULL, literal);

		if (bms_is_subset(needs, bound))
			*result = lappend(*result, literal);
		bms_free(needs);
	}
	known = bms_is_subset(wanted, bound);
	bms_free(wanted);
	bms_free(bound);
	list_free(plain);
	return known;
}

/* The first value, for each pair of bounds: value(from) :- bounds, step > 0, from < to. */
static void
add_first(Expansion *expansion, DatalogRelation *relation, const DatalogExpr *range, List *bounds,
		  bool up)
{
	DatalogExpr *from = range->args[0];
	List	   *args = list_make4(from, range->args[1], range->args[2], from);
	List	   *body = list_copy(bounds);
	GpucolRecFunction before = up ? GPUCOL_REC_LT : GPUCOL_REC_GT;

	body = list_concat(body, direction_of(range->args[2], range->type, range->position, up));
	body = lappend(body, test_of(before, from, range->args[1]));
	add_clause(expansion, atom_of(relation, args, range->position), body, expansion->clause);
}

/* The next value: value(v + step) :- value(v), step > 0, v + step < to. */
static void
add_next(Expansion *expansion, DatalogRelation *relation, DatalogType type, int position, bool up)
{
	DatalogClause like = {.position = position,.nvariables = RANGE_ARITY};
	DatalogExpr *variables[RANGE_ARITY] = {NULL};
	DatalogExpr *next = palloc0(sizeof(DatalogExpr));
	List	   *args = NIL;
	List	   *body;

	like.names = palloc0(sizeof(char *) * RANGE_ARITY);
	like.positions = palloc0(sizeof(int) * RANGE_ARITY);
	like.types = palloc0(sizeof(DatalogType) * RANGE_ARITY);
	for (int i = 0; i < RANGE_ARITY; i++)
	{
		variables[i] = variable_of(i, type, position);
		like.types[i] = type;
		like.positions[i] = position;
		args = lappend(args, variables[i]);
	}
	next->kind = DATALOG_CALL;
	next->position = position;
	next->variable = -1;
	next->type = type;
	next->function = GPUCOL_REC_ADD;
	next->args[0] = variables[RANGE_VALUE];
	next->args[1] = variables[RANGE_STEP];
	if (type == DATALOG_UNSIGNED && !up)
	{
		next->function = GPUCOL_REC_SUB;
		next->args[1] = constant_of(type, 1, position);
	}
	body = lcons(atom_of(relation, args, position),
				 direction_of(variables[RANGE_STEP], type, position, up));
	body = lappend(body, test_of(up ? GPUCOL_REC_LT : GPUCOL_REC_GT, next, variables[RANGE_TO]));
	add_clause(expansion, atom_of(relation, list_make4(variables[0], variables[1], variables[2], next),
								  position), body, &like);
}

/* The atom that stands for value = range(..) where `bounds` give its bounds values. */
static DatalogLiteral *
expand_range(Expansion *expansion, DatalogExpr *range, DatalogExpr *value, List *bounds)
{
	DatalogRelation *relation = make_relation(expansion, range->type, range->position);

	for (int up = 1; up >= 0; up--)
	{
		add_first(expansion, relation, range, bounds, up == 1);
		add_next(expansion, relation, range->type, range->position, up == 1);
	}
	return atom_of(relation, list_make4(range->args[0], range->args[1], range->args[2], value),
				   range->position);
}

/*
 * Expand the ranges of a body whose bounds are known; `outside` are the literals around it,
 * for aggregates.  Returns how many were, and in *left how many were not.
 */
static int
expand_known(Expansion *expansion, List *body, List *outside, int *left)
{
	int			expanded = 0;
	ListCell   *lc;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);
		DatalogExpr *value;
		DatalogExpr *range = range_of(literal, &value);
		List	   *others;
		List	   *bounds;

		if (range == NULL && literal->kind != DATALOG_REDUCTION)
			continue;
		gpucol_datalog_poll(expansion->program);
		others = list_delete_ptr(list_concat_copy(outside, body), literal);
		if (range == NULL)
			expanded += expand_known(expansion, literal->body, others, left);
		else if (!bounding_literals(expansion, range, others, &bounds))
			++*left;
		else
		{
			lfirst(lc) = expand_range(expansion, range, value, bounds);
			expanded++;
		}
		list_free(others);
	}
	return expanded;
}

/* Expand the ranges of a clause: one may give the bounds of another. */
static void
expand_clause(Expansion *expansion)
{
	DatalogClause *clause = expansion->clause;
	int			left;
	int			expanded;

	do
	{
		left = 0;
		expanded = expand_known(expansion, clause->body, NIL, &left);
	} while (left > 0 && expanded > 0);
	if (left > 0)
		gpucol_datalog_error(expansion->program->text, clause->position,
							 ERRCODE_INVALID_COLUMN_REFERENCE, NULL,
							 "the bounds of a range have no values without the range");
}

void
gpucol_datalog_expand_ranges(DatalogProgram *program)
{
	Expansion	expansion = {.program = program};
	ListCell   *lc;

	foreach(lc, program->clauses)
	{
		expansion.clause = lfirst(lc);
		program->at = expansion.clause->position;
		expand_clause(&expansion);
	}
	program->clauses = list_concat(program->clauses, expansion.added);
}
