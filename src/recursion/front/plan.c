/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  From checked, stratified datalog clauses to a recursion plan.
 *
 * Each clause becomes one rule, or, if its head is recursive, one rule for
 * each body atom of the same stratum (MOST_DELTAS), that atom reading the delta
 * (semi-naive evaluation).  The atoms of a rule are joined in the order of order.c, the delta
 * first.  Tests, negations and aggregates run as soon as their variables have
 * values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "recursion/front/ast.h"
#include "recursion/front/builder.h"
#include "recursion/front/functors.h"
#include "recursion/front/order.h"

typedef struct Planner
{
	DatalogProgram *program;
	GpucolRecBuilder builder;
	int64		(*symbol) (void *context, const char *text);
	void	   *symbol_context;
	double		unknown_rows;	/* assumed of derived relations */
	MemoryContext context;		/* of what outlives a rule's planning: */
	List	   *hosts;			/* DatalogHost */
	List	   *clauses;		/* by rule: the DatalogClause */
} Planner;

/*
 * Recursive atoms of a clause that each have a rule that reads its delta, at most: a clause
 * with more is one rule, evaluated anew in each round, or else the plan of a clause would
 * grow with the square of its length.
 */
#define MOST_DELTAS		32

/* A rule, or the body of an aggregate, while its steps are being chosen. */
typedef struct RulePlan
{
	Planner    *planner;
	DatalogClause *clause;
	List	   *body;
	List	  **uses;			/* by variable: positions in body */
	DatalogOrder *order;		/* of the atoms */
	Bitmapset  *tests;			/* other literals that may have become ready and */
	Bitmapset  *ready;			/* compute nothing; those that do */
	bool	   *done;			/* by position in body */
	bool		recursive;		/* is the clause? */
	int			delta;			/* atom that reads the delta, or -1 */
	int		   *registers;		/* by variable; -1 = no value yet */
	Bitmapset  *bound;
	Bitmapset  *used_later;		/* variables that the head or others need */
} RulePlan;

static void plan_body(RulePlan *rule);

static GpucolRecType
engine_type(DatalogType type)
{
	switch (type)
	{
		case DATALOG_UNSIGNED:
			return GPUCOL_REC_UINT8;
		case DATALOG_FLOAT:
			return GPUCOL_REC_FLOAT8;
		case DATALOG_SYMBOL:
			return GPUCOL_REC_CODE;
		default:
			return GPUCOL_REC_INT8;
	}
}

static DatalogType
expr_type(const RulePlan *rule, const DatalogExpr *expr)
{
	return expr->kind == DATALOG_VARIABLE ?
		rule->clause->types[expr->variable] : expr->type;
}

/* ---- expressions ---- */

static GpucolRecOperand
constant_operand(RulePlan *rule, const DatalogExpr *expr)
{
	Planner    *planner = rule->planner;
	int64		value = expr->value;

	if (expr->type == DATALOG_SYMBOL)
		value = planner->symbol(planner->symbol_context, expr->name);
	return gpucol_rec_builder_constant(&planner->builder, value, false);
}

static GpucolRecOperand plan_expr(RulePlan *rule, const DatalogExpr *expr);

/* A step that has a functor computed. */
static GpucolRecOperand
plan_functor(RulePlan *rule, const DatalogExpr *expr)
{
	Planner    *planner = rule->planner;
	GpucolRecOperand operands[DATALOG_MAX_ARGS];
	MemoryContext old;
	DatalogHost *host = MemoryContextAlloc(planner->context, sizeof(DatalogHost));
	GpucolRecStep *step;
	uint32		at;
	uint16		target;

	if (expr->functor->nargs == 0 && rule->recursive)
		gpucol_datalog_error(planner->program->text, expr->position, ERRCODE_FEATURE_NOT_SUPPORTED,
							 NULL, "\"%s\" in a recursive rule is not supported by gpucol.datalog: it would not end",
							 expr->functor->name);
	for (int i = 0; i < expr->functor->nargs; i++)
		operands[i] = plan_expr(rule, expr->args[i]);
	host->functor = expr->functor;
	host->from = expr->args[0] == NULL ? DATALOG_UNKNOWN : expr_type(rule, expr->args[0]);
	host->type = expr->type;
	target = gpucol_rec_builder_register(&planner->builder);
	at = gpucol_rec_builder_step(&planner->builder, GPUCOL_REC_COMPUTE,
								 list_length(planner->hosts), expr->functor->nargs,
								 operands);
	step = gpucol_rec_builder_step_at(&planner->builder, at);
	step->function = GPUCOL_REC_HOST;
	step->type = engine_type(expr->type);
	step->target = target;
	old = MemoryContextSwitchTo(planner->context);
	planner->hosts = lappend(planner->hosts, host);
	MemoryContextSwitchTo(old);
	return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER, target);
}

/* Operand that holds the value of an expression whose variables are bound. */
static GpucolRecOperand
plan_expr(RulePlan *rule, const DatalogExpr *expr)
{
	GpucolRecOperand a;
	GpucolRecOperand b;

	check_stack_depth();
	if (expr->kind == DATALOG_CONSTANT)
		return constant_operand(rule, expr);
	if (expr->kind == DATALOG_VARIABLE && rule->registers[expr->variable] >= 0)
		return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
										  rule->registers[expr->variable]);
	if (expr->kind != DATALOG_CALL)
		gpucol_datalog_error(rule->planner->program->text, expr->position,
							 ERRCODE_INTERNAL_ERROR, NULL, "expression has no value");
	if (expr->functor != NULL)
		return plan_functor(rule, expr);
	a = plan_expr(rule, expr->args[0]);
	if (expr->args[1] != NULL)
		b = plan_expr(rule, expr->args[1]);
	return gpucol_rec_builder_compute(&rule->planner->builder, expr->function,
									  engine_type(expr->type), a,
									  expr->args[1] ? &b : NULL);
}

/* Does a literal look at values that are there, and compute none? */
static bool
computes_nothing(const DatalogLiteral *literal)
{
	return literal->kind == DATALOG_NEGATION ||
		(literal->kind == DATALOG_CONSTRAINT &&
		 literal->left->kind != DATALOG_CALL && literal->right->kind != DATALOG_CALL);
}

/* The literal at a position of the body may have become ready, unless it is an atom. */
static void
add_ready(RulePlan *rule, int position)
{
	const DatalogLiteral *literal = list_nth(rule->body, position);

	if (literal->kind == DATALOG_ATOM)
		return;
	if (computes_nothing(literal))
		rule->tests = bms_add_member(rule->tests, position);
	else
		rule->ready = bms_add_member(rule->ready, position);
}

/* A variable gets its value from a register. */
static void
bind_variable(RulePlan *rule, int variable, uint16 reg)
{
	ListCell   *lc;

	rule->registers[variable] = reg;
	rule->bound = bms_add_member(rule->bound, variable);
	gpucol_datalog_order_bind(rule->order, variable);
	foreach(lc, rule->uses[variable])
		add_ready(rule, lfirst_int(lc));
}

/* Have all of these variables values?  The set is used up. */
static bool
all_bound(const RulePlan *rule, Bitmapset *variables)
{
	bool		result = bms_is_subset(variables, rule->bound);

	bms_free(variables);
	return result;
}

static bool
is_bound(const RulePlan *rule, const DatalogExpr *expr)
{
	return all_bound(rule, gpucol_datalog_expr_variables(NULL, expr));
}

/* ---- literals ---- */

/* Is a variable needed by anything but this argument? */
static bool
is_needed(const RulePlan *rule, const DatalogLiteral *atom, int variable)
{
	int			uses = 0;
	ListCell   *lc;

	if (bms_is_member(variable, rule->used_later))
		return true;
	foreach(lc, atom->args)
		if (((DatalogExpr *) lfirst(lc))->kind == DATALOG_VARIABLE &&
			((DatalogExpr *) lfirst(lc))->variable == variable)
			uses++;
	return uses > 1 || list_length(rule->uses[variable]) > 1;
}

/* Is the relation derived in the stratum of the rule? */
static bool
is_recursive(const RulePlan *rule, const DatalogRelation *relation)
{
	return relation->derived &&
		relation->component == rule->clause->head->relation->component;
}

/* Which rows of its relation the atom at a position of the body reads. */
static GpucolRecVersion
atom_version(const RulePlan *rule, const DatalogLiteral *atom, int position)
{
	if (rule->delta < 0 || !is_recursive(rule, atom->relation) || position < rule->delta)
		return GPUCOL_REC_FULL;
	return position == rule->delta ? GPUCOL_REC_DELTA : GPUCOL_REC_PREVIOUS;
}

static void
plan_atom(RulePlan *rule, int position)
{
	const DatalogLiteral *atom = list_nth(rule->body, position);
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	GpucolRecStepKind kind = atom->kind == DATALOG_NEGATION ?
		GPUCOL_REC_ABSENT : GPUCOL_REC_ATOM;
	GpucolRecBuilder *builder = &rule->planner->builder;
	uint32		step;
	ListCell   *lc;

	foreach(lc, atom->args)
	{
		const DatalogExpr *arg = lfirst(lc);
		GpucolRecOperand *operand = &operands[foreach_current_index(lc)];

		if (arg->kind == DATALOG_WILDCARD ||
			(arg->kind == DATALOG_VARIABLE && kind == GPUCOL_REC_ATOM &&
			 rule->registers[arg->variable] < 0 &&
			 !is_needed(rule, atom, arg->variable)))
			*operand = gpucol_rec_builder_operand(GPUCOL_REC_ANY, 0);
		else if (arg->kind == DATALOG_VARIABLE &&
				 rule->registers[arg->variable] < 0)
		{
			uint16		reg = gpucol_rec_builder_register(builder);

			bind_variable(rule, arg->variable, reg);
			*operand = gpucol_rec_builder_operand(GPUCOL_REC_BIND, reg);
		}
		else
			*operand = plan_expr(rule, arg);
	}
	step = gpucol_rec_builder_step(builder, kind, atom->relation->number,
								   atom->relation->arity, operands);
	gpucol_rec_builder_step_at(builder, step)->version =
		atom_version(rule, atom, position);
}

/* Plan a constraint if enough is known; true if it was. */
static bool
plan_constraint(RulePlan *rule, const DatalogLiteral *literal)
{
	const DatalogExpr *from = literal->right;
	const DatalogExpr *to = literal->left;
	GpucolRecOperand a;
	GpucolRecOperand b;

	if (is_bound(rule, literal->left) && is_bound(rule, literal->right))
	{
		a = plan_expr(rule, literal->left);
		b = plan_expr(rule, literal->right);
		gpucol_rec_builder_test(&rule->planner->builder, literal->function,
								engine_type(expr_type(rule, literal->left)), a,
								&b);
		return true;
	}
	if (literal->function != GPUCOL_REC_EQ)
		return false;
	if (is_bound(rule, to))
	{
		from = literal->left;
		to = literal->right;
	}
	if (!is_bound(rule, from) || to->kind != DATALOG_VARIABLE)
		return false;
	a = plan_expr(rule, from);
	if (a.kind != GPUCOL_REC_REGISTER)
		a = gpucol_rec_builder_compute(&rule->planner->builder, GPUCOL_REC_COPY,
									   engine_type(expr_type(rule, from)), a,
									   NULL);
	bind_variable(rule, to->variable, a.index);
	return true;
}

/* The steps of an aggregate's body; its COLLECT, the last of them. */
static uint32
plan_reduction_body(const RulePlan *rule, const DatalogLiteral *literal)
{
	MemoryContext scratch = AllocSetContextCreate(CurrentMemoryContext,
												  "gpucol datalog aggregate",
												  ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(scratch);
	RulePlan	inner = *rule;
	GpucolRecOperand operand;
	uint32		end;

	inner.body = literal->body;
	inner.delta = -1;
	inner.bound = bms_copy(rule->bound);
	inner.registers = palloc(sizeof(int) * (rule->clause->nvariables + 1));
	memcpy(inner.registers, rule->registers,
		   sizeof(int) * rule->clause->nvariables);
	inner.used_later = gpucol_datalog_expr_variables(NULL, literal->left);
	plan_body(&inner);
	if (literal->left != NULL)
		operand = plan_expr(&inner, literal->left);
	end = gpucol_rec_builder_step(&rule->planner->builder, GPUCOL_REC_COLLECT, 0,
								  literal->left != NULL ? 1 : 0, &operand);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
	return end;
}

/* An aggregate whose injected variables are bound. */
static void
plan_reduction(RulePlan *rule, const DatalogLiteral *literal)
{
	GpucolRecBuilder *builder = &rule->planner->builder;
	uint16		origin = gpucol_rec_builder_register(builder);
	uint16		target = gpucol_rec_builder_register(builder);
	uint32		begin = gpucol_rec_builder_step(builder, GPUCOL_REC_AGGREGATE, 0,
												0, NULL);
	DatalogType type = rule->clause->types[literal->variable];
	GpucolRecOperand operand;
	GpucolRecStep *step;
	uint32		end = plan_reduction_body(rule, literal);

	gpucol_rec_builder_step_at(builder, end)->origin = origin;
	step = gpucol_rec_builder_step_at(builder, begin);
	step->function = literal->function;
	step->type = engine_type(type);
	step->target = target;
	step->origin = origin;
	step->nsteps = end - begin;
	if (rule->registers[literal->variable] < 0)
		bind_variable(rule, literal->variable, target);
	else
	{
		GpucolRecOperand known =
			gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
									   rule->registers[literal->variable]);

		operand = gpucol_rec_builder_operand(GPUCOL_REC_REGISTER, target);
		gpucol_rec_builder_test(builder, GPUCOL_REC_EQ, engine_type(type),
								operand, &known);
	}
}

/* Plan a literal other than an atom if enough is known; true if it was. */
static bool
plan_literal(RulePlan *rule, int position)
{
	DatalogLiteral *literal = list_nth(rule->body, position);

	if (literal->kind == DATALOG_CONSTRAINT)
		return plan_constraint(rule, literal);
	if (!all_bound(rule, literal->kind == DATALOG_NEGATION ?
				   gpucol_datalog_literal_variables(NULL, literal) :
				   gpucol_datalog_injected(literal)))
		return false;
	if (literal->kind == DATALOG_NEGATION)
		plan_atom(rule, position);
	else
		plan_reduction(rule, literal);
	return true;
}

/* Plan the literals of one of the sets that can be planned now. */
static void
plan_set(RulePlan *rule, Bitmapset **set)
{
	while (!bms_is_empty(*set))
	{
		int			at = -1;

		/* planning one may make others ready: those behind it are met in this pass */
		while ((at = bms_next_member(*set, at)) >= 0)
		{
			*set = bms_del_member(*set, at);
			rule->done[at] = rule->done[at] || plan_literal(rule, at);
			if (set != &rule->tests)
				plan_set(rule, &rule->tests);
		}
	}
}

/*
 * Plan every literal but atoms that can be planned now; those that compute nothing come
 * first, since they drop rows of which others would raise errors.
 */
static void
plan_ready(RulePlan *rule)
{
	gpucol_datalog_poll(rule->planner->program);
	plan_set(rule, &rule->tests);
	plan_set(rule, &rule->ready);
}

/* No literal but an atom may be left out. */
static void
require_done(const RulePlan *rule)
{
	ListCell   *lc;

	foreach(lc, rule->body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->kind != DATALOG_ATOM && !rule->done[foreach_current_index(lc)])
			gpucol_datalog_error(rule->planner->program->text, literal->position,
								 ERRCODE_INTERNAL_ERROR, NULL, "literal has no place in the plan");
	}
}

/* All steps of a body; every literal is done at the end. */
static void
plan_body(RulePlan *rule)
{
	int			at;

	rule->done = palloc0(sizeof(bool) * (list_length(rule->body) + 1));
	rule->uses = gpucol_datalog_uses(rule->body, rule->clause->nvariables);
	rule->order = gpucol_datalog_order_create(rule->body, rule->uses, rule->bound,
											  rule->planner->unknown_rows);
	rule->tests = rule->ready = NULL;
	for (at = 0; at < list_length(rule->body); at++)
		add_ready(rule, at);
	plan_ready(rule);
	for (at = rule->delta >= 0 ? rule->delta : gpucol_datalog_order_first(rule->order);
		 at >= 0; at = gpucol_datalog_order_next(rule->order))
	{
		gpucol_datalog_order_take(rule->order, at);
		plan_atom(rule, at);
		plan_ready(rule);
	}
	require_done(rule);
}

/* ---- rules ---- */

/* One rule; delta is the position of the atom that reads the delta, or -1. */
static void
plan_rule(Planner *planner, DatalogClause *clause, bool recursive, int delta)
{
	MemoryContext scratch;
	MemoryContext old;
	RulePlan	rule = {.planner = planner,.clause = clause,.body = clause->body,
	.recursive = recursive,.delta = delta};
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	ListCell   *lc;
	int			i;

	gpucol_rec_builder_rule(&planner->builder,
							clause->head->relation->component,
							recursive ? GPUCOL_REC_RECURSIVE : 0);
	planner->clauses = lappend(planner->clauses, clause);
	scratch = AllocSetContextCreate(CurrentMemoryContext, "gpucol datalog rule",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(scratch);
	rule.registers = palloc(sizeof(int) * (clause->nvariables + 1));
	for (i = 0; i < clause->nvariables; i++)
		rule.registers[i] = -1;
	rule.used_later = gpucol_datalog_literal_variables(NULL, clause->head);
	plan_body(&rule);
	foreach(lc, clause->head->args)
		operands[foreach_current_index(lc)] = plan_expr(&rule, lfirst(lc));
	gpucol_rec_builder_step(&planner->builder, GPUCOL_REC_EMIT,
							clause->head->relation->number,
							clause->head->relation->arity, operands);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(scratch);
}

static void
plan_clause(Planner *planner, DatalogClause *clause)
{
	RulePlan	rule = {.planner = planner,.clause = clause};
	List	   *recursive = NIL;	/* positions of recursive atoms */
	ListCell   *lc;

	planner->program->at = clause->position;
	foreach(lc, clause->body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_ATOM &&
			is_recursive(&rule, literal->relation))
			recursive = lappend_int(recursive, foreach_current_index(lc));
	}
	if (recursive == NIL || list_length(recursive) > MOST_DELTAS)
		plan_rule(planner, clause, recursive != NIL, -1);
	else
		foreach(lc, recursive)
			plan_rule(planner, clause, true, lfirst_int(lc));
	list_free(recursive);
}

/* Note the relations that aggregates of a body read. */
static void
note_aggregated(const List *body, bool inside)
{
	ListCell   *lc;

	foreach(lc, body)
	{
		const DatalogLiteral *literal = lfirst(lc);

		if (literal->relation != NULL)
			literal->relation->aggregated |= inside;
		note_aggregated(literal->body, true);
	}
}

static void
plan_relation(Planner *planner, DatalogRelation *relation)
{
	uint8		types[GPUCOL_REC_MAX_ARITY];
	int			flags = 0;
	GpucolRecRelation *decl;
	ListCell   *lc;
	int			i;

	for (i = 0; i < relation->arity; i++)
		types[i] = engine_type(relation->attributes[i].type);
	if (relation->input)
		flags |= GPUCOL_REC_INPUT;
	/* what rules derive of it is a set anyway */
	if (relation->input && !planner->program->numbers && !relation->output &&
		!relation->derived && !relation->aggregated && !relation->repeats &&
		relation->choices == NIL && relation->merge == GPUCOL_REC_MERGE_NONE)
		flags |= GPUCOL_REC_BAG;
	if (relation->output)
		flags |= GPUCOL_REC_OUTPUT;
	if (relation->derived)
		flags |= GPUCOL_REC_DERIVED;
	if (relation->read)
		flags |= GPUCOL_REC_READ;
	relation->number = gpucol_rec_builder_relation(&planner->builder,
												   relation->arity, types,
												   flags,
												   Max(relation->component, 0));
	decl = gpucol_rec_builder_get(&planner->builder, relation->number);
	decl->merge = relation->merge;
	decl->merge_column = relation->merge_column;
	foreach(lc, relation->choices)
		gpucol_rec_builder_choice(&planner->builder, relation->number,
								  (uint32) lfirst_int(lc));
}

GpucolRecPlan *
gpucol_datalog_plan(DatalogProgram *program,
					int64 (*symbol) (void *context, const char *text),
					void *context, List **hosts, List **clauses)
{
	GpucolRecPlan *plan;
	Planner		planner = {.program = program,.symbol = symbol,
	.symbol_context = context,.context = CurrentMemoryContext};
	List	  **strata;			/* the clauses of each */
	ListCell   *lc;
	int			stratum;

	gpucol_rec_builder_init(&planner.builder);
	planner.unknown_rows = 1000;
	foreach(lc, program->clauses)
		note_aggregated(((const DatalogClause *) lfirst(lc))->body, false);
	foreach(lc, program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		if (!relation->needed)
			continue;
		plan_relation(&planner, relation);
		if (relation->input)
			planner.unknown_rows = Max(planner.unknown_rows,
									   relation->rows * 10);
	}
	strata = palloc0(sizeof(List *) * (program->nstrata + 1));
	foreach(lc, program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		stratum = clause->head->relation->component;
		if (clause->head->relation->needed && stratum >= 0 &&
			!gpucol_datalog_is_fact(clause))
			strata[stratum] = lappend(strata[stratum], clause);
	}
	for (stratum = 0; stratum < program->nstrata; stratum++)
		foreach(lc, strata[stratum])
			plan_clause(&planner, lfirst(lc));
	plan = gpucol_rec_builder_finish(&planner.builder, program->nstrata);
	*hosts = planner.hosts;
	*clauses = planner.clauses;
	return plan;
}
