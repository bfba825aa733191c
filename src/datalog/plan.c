/*-------------------------------------------------------------------------
 *
 * plan.c
 *	  From checked, stratified datalog clauses to a recursion plan.
 *
 * Each clause becomes one rule, or, if its head is recursive, one rule for
 * each body atom of the same stratum, that atom reading the delta (semi-naive
 * evaluation).  The atoms of a rule are put in order greedily: the delta
 * first, then always the atom with the fewest expected rows for each row so
 * far, from the sizes and distinct values of its relation.  Tests, negations
 * and aggregates run as soon as their variables have values.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "datalog/ast.h"
#include "datalog/builder.h"
#include "datalog/functors.h"

typedef struct Planner
{
	DatalogProgram *program;
	GpucolRecBuilder builder;
	int64		(*symbol) (void *context, const char *text);
	void	   *context;
	double		unknown_rows;	/* assumed of derived relations */
	List	   *hosts;			/* DatalogHost */
} Planner;

/* A rule, or the body of an aggregate, while its steps are being chosen. */
typedef struct RulePlan
{
	Planner    *planner;
	DatalogClause *clause;
	List	   *body;
	bool	   *done;			/* by position in body */
	DatalogLiteral *delta;		/* atom that reads the delta, or NULL */
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
		value = planner->symbol(planner->context, expr->name);
	return gpucol_rec_builder_constant(&planner->builder, value, false);
}

static GpucolRecOperand plan_expr(RulePlan *rule, const DatalogExpr *expr);

/* A step that has a functor computed. */
static GpucolRecOperand
plan_functor(RulePlan *rule, const DatalogExpr *expr)
{
	Planner    *planner = rule->planner;
	GpucolRecOperand operands[DATALOG_MAX_ARGS];
	DatalogHost *host = palloc(sizeof(DatalogHost));
	GpucolRecStep *step;
	uint32		at;
	uint16		target;

	for (int i = 0; i < expr->functor->nargs; i++)
		operands[i] = plan_expr(rule, expr->args[i]);
	host->functor = expr->functor;
	host->from = expr_type(rule, expr->args[0]);
	host->type = expr->type;
	target = gpucol_rec_builder_register(&planner->builder);
	at = gpucol_rec_builder_step(&planner->builder, GPUCOL_REC_COMPUTE,
								 list_length(planner->hosts), expr->functor->nargs,
								 operands);
	step = gpucol_rec_builder_step_at(&planner->builder, at);
	step->function = GPUCOL_REC_HOST;
	step->type = engine_type(expr->type);
	step->target = target;
	planner->hosts = lappend(planner->hosts, host);
	return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER, target);
}

/* Operand that holds the value of an expression whose variables are bound. */
static GpucolRecOperand
plan_expr(RulePlan *rule, const DatalogExpr *expr)
{
	GpucolRecOperand a;
	GpucolRecOperand b;

	if (expr->kind == DATALOG_CONSTANT)
		return constant_operand(rule, expr);
	if (expr->kind == DATALOG_VARIABLE)
		return gpucol_rec_builder_operand(GPUCOL_REC_REGISTER,
										  rule->registers[expr->variable]);
	if (expr->functor != NULL)
		return plan_functor(rule, expr);
	a = plan_expr(rule, expr->args[0]);
	if (expr->args[1] != NULL)
		b = plan_expr(rule, expr->args[1]);
	return gpucol_rec_builder_compute(&rule->planner->builder, expr->function,
									  engine_type(expr->type), a,
									  expr->args[1] ? &b : NULL);
}

/* A variable gets its value from a register. */
static void
bind_variable(RulePlan *rule, int variable, uint16 reg)
{
	rule->registers[variable] = reg;
	rule->bound = bms_add_member(rule->bound, variable);
}

static bool
is_bound(const RulePlan *rule, const DatalogExpr *expr)
{
	return bms_is_subset(gpucol_datalog_expr_variables(NULL, expr), rule->bound);
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
	if (uses > 1)
		return true;
	foreach(lc, rule->body)
		if (lfirst(lc) != atom &&
			bms_is_member(variable,
						  gpucol_datalog_literal_variables(NULL, lfirst(lc))))
			return true;
	return false;
}

/* Is the relation derived in the stratum of the rule? */
static bool
is_recursive(const RulePlan *rule, const DatalogRelation *relation)
{
	return relation->derived &&
		relation->component == rule->clause->head->relation->component;
}

/* Which rows of its relation an atom reads. */
static GpucolRecVersion
atom_version(const RulePlan *rule, const DatalogLiteral *atom)
{
	ListCell   *lc;

	if (rule->delta == NULL || !is_recursive(rule, atom->relation))
		return GPUCOL_REC_FULL;
	if (atom == rule->delta)
		return GPUCOL_REC_DELTA;
	foreach(lc, rule->body)
	{
		if (lfirst(lc) == atom)
			return GPUCOL_REC_FULL;
		if (lfirst(lc) == rule->delta)
			return GPUCOL_REC_PREVIOUS;
	}
	return GPUCOL_REC_FULL;
}

static void
plan_atom(RulePlan *rule, const DatalogLiteral *atom)
{
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
		atom_version(rule, atom);
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
	RulePlan	inner = *rule;
	GpucolRecOperand operand;
	GpucolRecStep *step;
	uint32		end;

	inner.body = literal->body;
	inner.done = palloc0(sizeof(bool) * (list_length(inner.body) + 1));
	inner.delta = NULL;
	inner.bound = bms_copy(rule->bound);
	inner.registers = palloc(sizeof(int) * (rule->clause->nvariables + 1));
	memcpy(inner.registers, rule->registers,
		   sizeof(int) * rule->clause->nvariables);
	inner.used_later = gpucol_datalog_expr_variables(NULL, literal->left);
	plan_body(&inner);
	if (literal->left != NULL)
		operand = plan_expr(&inner, literal->left);
	end = gpucol_rec_builder_step(builder, GPUCOL_REC_COLLECT, 0,
								  literal->left != NULL ? 1 : 0, &operand);
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

/* Plan every literal but atoms that can be planned now. */
static void
plan_ready(RulePlan *rule)
{
	bool		progress = true;
	ListCell   *lc;

	while (progress)
	{
		progress = false;
		foreach(lc, rule->body)
		{
			int			i = foreach_current_index(lc);
			DatalogLiteral *literal = lfirst(lc);

			if (rule->done[i] || literal->kind == DATALOG_ATOM)
				continue;
			if (literal->kind == DATALOG_CONSTRAINT)
				rule->done[i] = plan_constraint(rule, literal);
			else if (literal->kind == DATALOG_NEGATION &&
					 bms_is_subset(gpucol_datalog_literal_variables(NULL,
																	literal),
								   rule->bound))
			{
				plan_atom(rule, literal);
				rule->done[i] = true;
			}
			else if (literal->kind == DATALOG_REDUCTION &&
					 bms_is_subset(gpucol_datalog_injected(literal),
								   rule->bound))
			{
				plan_reduction(rule, literal);
				rule->done[i] = true;
			}
			progress |= rule->done[i];
		}
	}
}

/* ---- join order ---- */

/* Rows of an atom's relation that match one row so far. */
static double
expected_matches(const RulePlan *rule, const DatalogLiteral *atom,
				 const Bitmapset *bound)
{
	const DatalogRelation *relation = atom->relation;
	double		rows = relation->input && !relation->derived ?
		relation->rows : rule->planner->unknown_rows;
	double		keys = 1;
	bool		all = true;
	ListCell   *lc;

	foreach(lc, atom->args)
	{
		const DatalogExpr *arg = lfirst(lc);
		int			column = foreach_current_index(lc);

		if (arg->kind == DATALOG_CONSTANT ||
			(arg->kind == DATALOG_VARIABLE &&
			 bms_is_member(arg->variable, bound)))
			keys *= relation->distinct != NULL && !relation->derived ?
				relation->distinct[column] : pow(rows, 0.75);
		else
			all = false;
	}
	if (all)
		return 0.5;				/* a lookup, which drops rows */
	return Max(rows, 1) / Max(1, Min(keys, Max(rows, 1)));
}

/* The undone atom with the fewest matches, or -1. */
static int
best_atom(const RulePlan *rule, const bool *done, const Bitmapset *bound,
		  double *matches)
{
	int			best = -1;
	ListCell   *lc;

	foreach(lc, rule->body)
	{
		int			i = foreach_current_index(lc);
		DatalogLiteral *literal = lfirst(lc);
		double		expected;

		if (done[i] || literal->kind != DATALOG_ATOM)
			continue;
		expected = expected_matches(rule, literal, bound);
		if (best < 0 || expected < *matches)
		{
			best = i;
			*matches = expected;
		}
	}
	return best;
}

/* Cost of the greedy order that starts with an atom: sum of all row counts. */
static double
order_cost(const RulePlan *rule, int first)
{
	int			n = list_length(rule->body);
	bool	   *done = palloc0(sizeof(bool) * (n + 1));
	Bitmapset  *bound = bms_copy(rule->bound);
	double		rows = 1;
	double		cost = 0;
	int			at = first;
	double		matches = expected_matches(rule, list_nth(rule->body, first),
										   bound);

	memcpy(done, rule->done, sizeof(bool) * n);
	while (at >= 0)
	{
		rows *= matches;
		cost += rows;
		done[at] = true;
		bound = gpucol_datalog_literal_variables(bound,
												 list_nth(rule->body, at));
		at = best_atom(rule, done, bound, &matches);
	}
	return cost;
}

/* The atom to start with, or -1 if there is none. */
static int
first_atom(const RulePlan *rule)
{
	int			best = -1;
	double		best_cost = 0;
	ListCell   *lc;

	foreach(lc, rule->body)
	{
		int			i = foreach_current_index(lc);
		DatalogLiteral *literal = lfirst(lc);
		double		cost;

		if (literal == rule->delta)
			return i;
		if (rule->done[i] || literal->kind != DATALOG_ATOM)
			continue;
		CHECK_FOR_INTERRUPTS();
		cost = order_cost(rule, i);
		if (best < 0 || cost < best_cost)
		{
			best = i;
			best_cost = cost;
		}
	}
	return best;
}

/* All steps of a body; every literal is done at the end. */
static void
plan_body(RulePlan *rule)
{
	double		matches;
	int			at;

	plan_ready(rule);
	for (at = first_atom(rule); at >= 0;
		 at = best_atom(rule, rule->done, rule->bound, &matches))
	{
		plan_atom(rule, list_nth(rule->body, at));
		rule->done[at] = true;
		plan_ready(rule);
	}
}

/* ---- rules ---- */

/* One rule; delta is the atom that reads the delta, or NULL. */
static void
plan_rule(Planner *planner, DatalogClause *clause, DatalogLiteral *delta,
		  bool recursive)
{
	RulePlan	rule = {.planner = planner,.clause = clause,.body = clause->body,
	.delta = delta};
	GpucolRecOperand operands[GPUCOL_REC_MAX_ARITY];
	ListCell   *lc;
	int			i;

	gpucol_rec_builder_rule(&planner->builder,
							clause->head->relation->component,
							recursive ? GPUCOL_REC_RECURSIVE : 0);
	rule.done = palloc0(sizeof(bool) * (list_length(clause->body) + 1));
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
}

static void
plan_clause(Planner *planner, DatalogClause *clause)
{
	RulePlan	rule = {.planner = planner,.clause = clause};
	bool		recursive = false;
	ListCell   *lc;

	foreach(lc, clause->body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_ATOM &&
			is_recursive(&rule, literal->relation))
		{
			plan_rule(planner, clause, literal, true);
			recursive = true;
		}
	}
	if (!recursive)
		plan_rule(planner, clause, NULL, false);
}

/* Does a clause of another stratum read the relation? */
static bool
is_read_later(const DatalogProgram *program, const DatalogRelation *relation,
			  List *body)
{
	ListCell   *lc;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->relation == relation ||
			is_read_later(program, relation, literal->body))
			return true;
	}
	return false;
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
	if (relation->output)
		flags |= GPUCOL_REC_OUTPUT;
	if (relation->derived)
		flags |= GPUCOL_REC_DERIVED;
	foreach(lc, planner->program->clauses)
	{
		DatalogClause *clause = lfirst(lc);

		if (clause->head->relation->needed &&
			clause->head->relation->component != relation->component &&
			is_read_later(planner->program, relation, clause->body))
			flags |= GPUCOL_REC_READ;
	}
	relation->number = gpucol_rec_builder_relation(&planner->builder,
												   relation->arity, types,
												   flags,
												   Max(relation->component, 0));
	decl = gpucol_rec_builder_get(&planner->builder, relation->number);
	decl->merge = relation->merge;
	decl->merge_column = relation->merge_column;
}

GpucolRecPlan *
gpucol_datalog_plan(DatalogProgram *program,
					int64 (*symbol) (void *context, const char *text),
					void *context, List **hosts)
{
	GpucolRecPlan *plan;
	Planner		planner = {.program = program,.symbol = symbol,
	.context = context};
	ListCell   *lc;
	int			stratum;

	gpucol_rec_builder_init(&planner.builder);
	planner.unknown_rows = 1000;
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
	for (stratum = 0; stratum < program->nstrata; stratum++)
		foreach(lc, program->clauses)
		{
			DatalogClause *clause = lfirst(lc);

			if (clause->head->relation->needed &&
				clause->head->relation->component == stratum &&
				!gpucol_datalog_is_fact(clause))
				plan_clause(&planner, clause);
		}
	plan = gpucol_rec_builder_finish(&planner.builder, program->nstrata);
	*hosts = planner.hosts;
	return plan;
}
