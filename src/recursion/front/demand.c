/*-------------------------------------------------------------------------
 *
 * demand.c
 *	  What nobody asks for is not derived.
 *
 * out(y) :- path(1, y). needs the paths that begin in 1.  A relation of which every clause
 * that is needed reads rows with constants only gets a variant for each choice of them, and
 * is not derived itself.  The clauses of a variant are those of the relation with the
 * constants put in, and may ask for variants in turn; those of a recursion take one of the
 * forms of demand_forms.c.
 *
 * A relation stays as it is where all of it is needed by some clause, where too many
 * variants are, where rows replace each other (subsumption) or are loaded, and where a rule
 * numbers its rows (autoinc).  Negations and aggregates ask for variants like atoms: a
 * variant depends on what its relation depends on, so strata remain strata.
 *
 * It is done twice: first to find what is needed in full, however late it turns out.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "recursion/front/demand.h"
#include "recursion/front/functors.h"

/* Variants of one relation, and of all. */
#define MOST_OF_ONE		8
#define MOST_VARIANTS	200

/* ---- what is asked for ---- */

/* May a column of the type be asked for by constants?  Equal floats may have several bits. */
static bool
may_ask(DatalogType type)
{
	return type == DATALOG_NUMBER || type == DATALOG_UNSIGNED || type == DATALOG_SYMBOL;
}

static bool
same_constant(const DatalogExpr *a, const DatalogExpr *b)
{
	if (a->type != b->type)
		return false;
	return a->type == DATALOG_SYMBOL ? strcmp(a->name, b->name) == 0 : a->value == b->value;
}

/* By variable, the constant that a clause says it equals, or NULL. */
static DatalogExpr **
known_variables(const DatalogClause *clause)
{
	DatalogExpr **known = palloc0(sizeof(DatalogExpr *) * (clause->nvariables + 1));
	ListCell   *lc;

	foreach(lc, clause->body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->kind != DATALOG_CONSTRAINT || literal->function != GPUCOL_REC_EQ)
			continue;
		if (literal->left->kind == DATALOG_VARIABLE && literal->right->kind == DATALOG_CONSTANT)
			known[literal->left->variable] = literal->right;
		if (literal->right->kind == DATALOG_VARIABLE && literal->left->kind == DATALOG_CONSTANT)
			known[literal->right->variable] = literal->left;
	}
	return known;
}

/* The columns of a literal that equal constants, and these by column. */
static Bitmapset *
asked_columns(const DatalogLiteral *literal, DatalogExpr *const *known, DatalogExpr **values)
{
	Bitmapset  *columns = NULL;
	ListCell   *lc;

	foreach(lc, literal->args)
	{
		DatalogExpr *arg = lfirst(lc);
		int			c = foreach_current_index(lc);
		DatalogExpr *value = arg->kind == DATALOG_CONSTANT ? arg :
			arg->kind == DATALOG_VARIABLE ? known[arg->variable] : NULL;

		if (value == NULL || value->type != literal->relation->attributes[c].type ||
			!may_ask(value->type))
			continue;
		values[c] = value;
		columns = bms_add_member(columns, c);
	}
	return columns;
}

List *
gpucol_datalog_demand_clauses(const DatalogDemand *demand, const DatalogRelation *relation)
{
	return demand->clauses_of[relation->vertex];
}

bool
gpucol_datalog_demand_together(const DatalogRelation *a, const DatalogRelation *b)
{
	return a->derived && b->derived && a->component >= 0 && a->component == b->component;
}

bool
gpucol_datalog_demand_is_recursive(const DatalogClause *clause)
{
	ListCell   *lc;

	foreach(lc, clause->body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_ATOM &&
			gpucol_datalog_demand_together(literal->relation, clause->head->relation))
			return true;
	}
	return false;
}

/* Note that all of a relation is needed. */
static void
need_whole(DatalogDemand *demand, DatalogRelation *relation)
{
	if (bms_is_member(relation->vertex, demand->whole))
		return;
	demand->whole = bms_add_member(demand->whole, relation->vertex);
	demand->waiting = lappend(demand->waiting, relation);
}

/* ---- making relations and clauses ---- */

DatalogRelation *
gpucol_datalog_demand_relation(const DatalogRelation *like, char *name, const Bitmapset *columns)
{
	DatalogRelation *relation = palloc0(sizeof(DatalogRelation));
	int			c = -1;

	relation->name = name;
	relation->position = like->position;
	relation->derived = true;
	relation->component = -1;
	relation->attributes = palloc0(sizeof(DatalogAttribute) * (like->arity + 1));
	while ((c = columns ? bms_next_member(columns, c) : c + 1) >= 0 && c < like->arity)
		relation->attributes[relation->arity++] = like->attributes[c];
	return relation;
}

DatalogLiteral *
gpucol_datalog_demand_atom(const DatalogLiteral *like, DatalogRelation *relation, List *args)
{
	DatalogLiteral *atom = palloc(sizeof(DatalogLiteral));

	*atom = *like;
	atom->kind = DATALOG_ATOM;
	atom->relation = relation;
	atom->args = args;
	return atom;
}

DatalogClause *
gpucol_datalog_demand_clause(const DatalogClause *like, DatalogRelation *relation, List *args,
							 List *body)
{
	DatalogClause *clause = palloc(sizeof(DatalogClause));

	*clause = *like;
	clause->head = gpucol_datalog_demand_atom(like->head, relation, args);
	clause->body = body;
	return clause;
}

DatalogClause *
gpucol_datalog_demand_restrict(DatalogDemand *demand, const DatalogVariant *variant,
							   const DatalogClause *clause, const Bitmapset *columns)
{
	DatalogClause *result = gpucol_datalog_demand_clause(clause, variant->relation,
														 clause->head->args, NIL);
	int			c = -1;

	while ((c = bms_next_member(columns, c)) >= 0)
	{
		DatalogExpr *arg = list_nth(clause->head->args, c);

		if (arg->kind != DATALOG_CONSTANT)
			result->body = lappend(result->body,
								   gpucol_datalog_comparison(GPUCOL_REC_EQ, arg, variant->values[c],
															 arg->position));
		else if (!same_constant(arg, variant->values[c]))
			return NULL;
	}
	result->body = list_concat(result->body, clause->body);
	/* its own relation is still the one that tells what is recursive */
	result->head->relation = clause->head->relation;
	result->body = gpucol_datalog_demand_body(demand, result);
	result->head->relation = variant->relation;
	return result;
}

/* ---- variants ---- */

/* What a variant is called: path(1, _). */
static char *
variant_name(const DatalogVariant *variant)
{
	StringInfoData name;

	initStringInfo(&name);
	appendStringInfo(&name, "%s(", variant->of->name);
	for (int c = 0; c < variant->of->arity; c++)
	{
		const DatalogExpr *value = variant->values[c];

		appendStringInfoString(&name, c > 0 ? ", " : "");
		if (value == NULL)
			appendStringInfoChar(&name, '_');
		else if (value->type == DATALOG_SYMBOL)
			appendStringInfo(&name, "\"%s\"", value->name);
		else if (value->type == DATALOG_UNSIGNED)
			appendStringInfo(&name, UINT64_FORMAT, (uint64) value->value);
		else
			appendStringInfo(&name, INT64_FORMAT, value->value);
	}
	appendStringInfoChar(&name, ')');
	return name.data;
}

/* The variant with these constants, if it has been looked for; *n counts the others. */
static DatalogVariant *
find_variant(const DatalogDemand *demand, const DatalogRelation *of, const Bitmapset *columns,
			 DatalogExpr *const *values, int *n)
{
	ListCell   *lc;

	*n = 0;
	foreach(lc, demand->variants)
	{
		DatalogVariant *variant = lfirst(lc);
		bool		same = variant->of == of && bms_equal(variant->columns, columns);

		for (int c = 0; same && c < of->arity; c++)
			same = values[c] == NULL || same_constant(values[c], variant->values[c]);
		if (same)
			return variant;
		*n += variant->of == of;
	}
	return NULL;
}

/* The clauses of a variant; false: it cannot be. */
static bool
derive(DatalogDemand *demand, DatalogVariant *variant)
{
	List	   *clauses = gpucol_datalog_demand_clauses(demand, variant->of);
	ListCell   *lc;

	foreach(lc, clauses)
		if (gpucol_datalog_demand_is_recursive(lfirst(lc)))
			return gpucol_datalog_demand_recursive(demand, variant);
	foreach(lc, clauses)
	{
		DatalogClause *clause = gpucol_datalog_demand_restrict(demand, variant, lfirst(lc),
															   variant->columns);

		if (clause != NULL)
			demand->clauses = lappend(demand->clauses, clause);
	}
	variant->exact = true;
	return true;
}

/* Is there anything to derive, and do all rows stay that are derived? */
static bool
may_vary(const DatalogDemand *demand, const DatalogRelation *relation)
{
	ListCell   *lc;

	if (!relation->derived || relation->input || relation->optional || relation->component < 0 ||
		relation->merge != GPUCOL_REC_MERGE_NONE || relation->choices != NIL)
		return false;
	foreach(lc, gpucol_datalog_demand_clauses(demand, relation))
		if (((const DatalogClause *) lfirst(lc))->body != NIL)
			return true;
	return false;
}

/* The variant of a literal's relation for its constants, or NULL. */
static DatalogVariant *
ask(DatalogDemand *demand, const DatalogLiteral *literal, DatalogExpr *const *known)
{
	DatalogExpr **values = palloc0(sizeof(DatalogExpr *) * (literal->relation->arity + 1));
	Bitmapset  *columns = asked_columns(literal, known, values);
	DatalogVariant *variant;
	int			others;

	if (columns == NULL || !may_vary(demand, literal->relation))
		return NULL;
	variant = find_variant(demand, literal->relation, columns, values, &others);
	if (variant != NULL)
		return variant->relation != NULL ? variant : NULL;
	if (others >= MOST_OF_ONE || list_length(demand->variants) >= MOST_VARIANTS)
		return NULL;
	variant = palloc0(sizeof(DatalogVariant));
	variant->of = literal->relation;
	variant->columns = columns;
	variant->values = values;
	variant->relation = gpucol_datalog_demand_relation(variant->of, variant_name(variant), NULL);
	demand->variants = lappend(demand->variants, variant);
	if (derive(demand, variant))
		demand->relations = lappend(demand->relations, variant->relation);
	else
		variant->relation = NULL;
	return variant->relation != NULL ? variant : NULL;
}

/* ---- bodies ---- */

static List *
rewrite_body(DatalogDemand *demand, const DatalogRelation *head, List *body,
			 DatalogExpr *const *known)
{
	List	   *result = NIL;
	ListCell   *lc;

	check_stack_depth();
	foreach(lc, body)
	{
		DatalogLiteral *literal = palloc(sizeof(DatalogLiteral));
		DatalogVariant *variant;

		*literal = *(const DatalogLiteral *) lfirst(lc);
		result = lappend(result, literal);
		literal->body = rewrite_body(demand, head, literal->body, known);
		if (literal->relation == NULL || gpucol_datalog_demand_together(literal->relation, head))
			continue;
		variant = bms_is_member(literal->relation->vertex, demand->whole) ? NULL :
			ask(demand, literal, known);
		if (variant != NULL)
			literal->relation = variant->relation;
		else
			need_whole(demand, literal->relation);
	}
	return result;
}

List *
gpucol_datalog_demand_body(DatalogDemand *demand, const DatalogClause *clause)
{
	gpucol_datalog_poll(demand->program);
	return rewrite_body(demand, clause->head->relation, clause->body, known_variables(clause));
}

/* Take over the clauses of what is needed in full. */
static void
take_whole(DatalogDemand *demand)
{
	while (demand->waiting != NIL)
	{
		DatalogRelation *relation = linitial(demand->waiting);
		ListCell   *lc;

		demand->waiting = list_delete_first(demand->waiting);
		foreach(lc, gpucol_datalog_demand_clauses(demand, relation))
		{
			const DatalogClause *clause = lfirst(lc);

			/* whose own recursion reads all of it, and of what it is derived with */
			for (ListCell *at = list_head(clause->body); at != NULL;
				 at = lnext(clause->body, at))
			{
				DatalogLiteral *literal = lfirst(at);

				if (literal->relation != NULL &&
					gpucol_datalog_demand_together(literal->relation, relation))
					need_whole(demand, literal->relation);
			}
			demand->clauses = lappend(demand->clauses,
									  gpucol_datalog_demand_clause(clause, relation,
																   clause->head->args,
																   gpucol_datalog_demand_body(demand, clause)));
		}
	}
}

/* Rewrite the program, of which this is needed in full; false: there is no variant. */
static bool
rewrite(DatalogDemand *demand, DatalogProgram *program, Bitmapset *whole)
{
	ListCell   *lc;
	int			vertex = -1;

	memset(demand, 0, sizeof(*demand));
	demand->program = program;
	demand->clauses_of = palloc0(sizeof(List *) * (list_length(program->relations) + 1));
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		List	  **clauses = &demand->clauses_of[clause->head->relation->vertex];

		*clauses = lappend(*clauses, clause);
	}
	foreach(lc, program->relations)
		if (((DatalogRelation *) lfirst(lc))->output)
			need_whole(demand, lfirst(lc));
	while ((vertex = bms_next_member(whole, vertex)) >= 0)
		need_whole(demand, list_nth(program->relations, vertex));
	take_whole(demand);
	return demand->relations != NIL;
}

/* ---- what must stay as it is ---- */

static bool
expr_numbers(const DatalogExpr *expr)
{
	check_stack_depth();
	if (expr == NULL || expr->kind != DATALOG_CALL)
		return false;
	if (expr->functor != NULL && strcmp(expr->functor->name, "autoinc") == 0)
		return true;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		if (expr_numbers(expr->args[i]))
			return true;
	return false;
}

static bool
body_numbers(List *body)
{
	ListCell   *lc;

	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (expr_numbers(literal->left) || expr_numbers(literal->right) ||
			body_numbers(literal->body))
			return true;
	}
	return false;
}

/* Does some rule number its rows? */
static bool
has_numbers(const DatalogProgram *program)
{
	ListCell   *lc;
	ListCell   *arg;

	foreach(lc, program->clauses)
	{
		const DatalogClause *clause = lfirst(lc);

		if (body_numbers(clause->body))
			return true;
		foreach(arg, clause->head->args)
			if (expr_numbers(lfirst(arg)))
				return true;
	}
	return false;
}

/* If the answer is nothing but a variant, read that. */
static void
find_answer(const DatalogDemand *demand)
{
	DatalogProgram *program = demand->program;
	const DatalogLiteral *atom = NULL;
	ListCell   *lc;

	foreach(lc, demand->clauses)
		if (((DatalogClause *) lfirst(lc))->head->relation == program->answer)
			atom = linitial(((DatalogClause *) lfirst(lc))->body);
	foreach(lc, demand->variants)
	{
		DatalogVariant *variant = lfirst(lc);

		if (atom == NULL || variant->relation != atom->relation || !variant->exact)
			continue;
		program->answer->output = false;
		program->answer = variant->relation;
		program->answer->output = true;
	}
}

void
gpucol_datalog_ask(DatalogProgram *program, DatalogRelation *relation, DatalogExpr **values)
{
	DatalogClause *clause = palloc0(sizeof(DatalogClause));
	DatalogLiteral *atom = palloc0(sizeof(DatalogLiteral));
	int			arity = relation->arity;

	atom->kind = DATALOG_ATOM;
	atom->position = clause->position = relation->position;
	atom->name = relation->name;
	atom->relation = relation;
	clause->nvariables = arity;
	clause->names = palloc0(sizeof(char *) * (arity + 1));
	clause->positions = palloc0(sizeof(int) * (arity + 1));
	clause->types = palloc0(sizeof(DatalogType) * (arity + 1));
	for (int c = 0; c < arity; c++)
	{
		DatalogExpr *variable = palloc0(sizeof(DatalogExpr));

		variable->kind = DATALOG_VARIABLE;
		variable->variable = c;
		variable->type = clause->types[c] = relation->attributes[c].type;
		atom->args = lappend(atom->args, values[c] != NULL ? values[c] : variable);
	}
	relation->needed = relation->output = false;
	program->answer = gpucol_datalog_demand_relation(relation, relation->name, NULL);
	program->answer->needed = program->answer->output = true;
	clause->head = gpucol_datalog_demand_atom(atom, program->answer, atom->args);
	clause->body = list_make1(atom);
	program->relations = lappend(program->relations, program->answer);
	program->clauses = lappend(program->clauses, clause);
}

void
gpucol_datalog_demand(DatalogProgram *program)
{
	DatalogDemand first;
	DatalogDemand demand;
	ListCell   *lc;

	if (has_numbers(program) || !rewrite(&first, program, NULL) ||
		!rewrite(&demand, program, first.whole))
		return;
	if (program->answer != NULL)
		find_answer(&demand);
	program->relations = list_concat(program->relations, demand.relations);
	program->clauses = demand.clauses;
	foreach(lc, program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->needed = relation->output;
		relation->read = false;
	}
	gpucol_datalog_stratify(program);
}
