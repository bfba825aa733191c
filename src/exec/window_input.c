/*-------------------------------------------------------------------------
 *
 * window_input.c
 *	  What the plan of a GpucolWindow says, as columns to keep and expressions.
 *
 * Of the child's columns those are kept that are keys, arguments or results.  The argument
 * of an aggregate is kept as a column of its own; that of lag and the like, where it is no
 * column, is evaluated later, for those rows that are some row's result.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"

#include "columnar/collation.h"
#include "compat.h"
#include "exec/window.h"
#include "exec/window_fed.h"

/* Another column to keep. */
static int
add_input(GpucolWindowState *state, Oid type, int column, Expr *expr)
{
	GpucolWindowRows *rows = &state->rows;
	GpucolWindowInput *input;

	if (rows->inputs == NULL)
		rows->inputs = palloc(8 * sizeof(GpucolWindowInput));
	else if (rows->ninputs % 8 == 0)
		rows->inputs = repalloc(rows->inputs, (rows->ninputs + 8) * sizeof(GpucolWindowInput));
	input = &rows->inputs[rows->ninputs];
	memset(input, 0, sizeof(*input));
	input->column = column;
	input->filter = -1;
	input->computed = -1;
	input->type = getBaseType(type);
	input->expr = expr == NULL ? NULL : ExecInitExpr(expr, &state->css.ss.ps);
	get_typlenbyval(type, &input->typlen, &input->typbyval);
	return rows->ninputs++;
}

/* The input that keeps a column of the child. */
static int
column_input(GpucolWindowState *state, int column)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;

	for (int i = 0; i < state->rows.ninputs; i++)
	{
		const GpucolWindowInput *input = &state->rows.inputs[i];

		if (input->expr == NULL && input->column == column && input->filter < 0)
			return i;
	}
	return add_input(state, exprType((Node *) list_nth_node(TargetEntry, cscan->custom_scan_tlist,
															column)->expr), column, NULL);
}

/* The column of the child that an expression is; -1 if it is none. */
static int
plain_column(const Expr *expr)
{
	const Var  *var = (const Var *) expr;

	return IsA(expr, Var) && var->varno == INDEX_VAR && var->varattno > 0 ? var->varattno - 1 : -1;
}

/* The input of an aggregate's argument, NULL for rows that do not pass its filter. */
static int
argument_input(GpucolWindowState *state, Expr *argument, Expr *filter)
{
	int			passed = -1;
	int			input;

	if (filter != NULL)
	{
		passed = add_input(state, BOOLOID, 0, filter);
		state->rows.inputs[passed].if_true = true;
	}
	if (argument == NULL)
		return passed;
	if (filter == NULL && plain_column(argument) >= 0)
		return column_input(state, plain_column(argument));
	input = add_input(state, exprType((Node *) argument), 0, argument);
	state->rows.inputs[input].filter = passed;
	return input;
}

/* Does an expression read a row? */
static bool
reads_row(Expr *expr)
{
	Bitmapset  *attnums = NULL;

	pull_varattnos((Node *) expr, INDEX_VAR, &attnums);
	return !bms_is_empty(attnums);
}

/* A number among the arguments. */
static void
init_number(GpucolWindowState *state, GpucolWindowNumber *number, Expr *expr)
{
	number->input = -1;
	number->expr = NULL;
	number->value = Int32GetDatum(1);
	number->isnull = false;
	if (expr == NULL)
		return;
	if (!reads_row(expr))
		number->expr = ExecInitExpr(expr, &state->css.ss.ps);
	else
		number->input = argument_input(state, expr, NULL);
}

/* Arguments of functions whose result is some row's value. */
static void
init_value(GpucolWindowState *state, GpucolWindowFunction *f, List *args, Bitmapset **late)
{
	Expr	   *value = linitial(args);
	int			column = plain_column(value);

	init_number(state, &f->number, list_length(args) > 1 ? lsecond(args) : NULL);
	if (column >= 0)
		f->input = column_input(state, column);
	else
	{
		f->value = ExecInitExpr(value, &state->css.ss.ps);
		pull_varattnos((Node *) value, INDEX_VAR, late);
	}
	if (list_length(args) > 2)
	{
		f->instead = ExecInitExpr(lthird(args), &state->css.ss.ps);
		pull_varattnos(lthird(args), INDEX_VAR, late);
	}
}

/* Arguments of an aggregate that is fed. */
static void
init_fed(GpucolWindowState *state, GpucolWindowFunction *f, List *args, Expr *filter)
{
	int		   *inputs = palloc((list_length(args) + 1) * sizeof(int));
	int			passed = filter == NULL ? -1 : argument_input(state, NULL, filter);
	ListCell   *lc;

	foreach(lc, args)
	{
		Expr	   *arg = lfirst(lc);
		int			column = passed < 0 ? plain_column(arg) : -1;
		int			input = column >= 0 ? column_input(state, column) :
			add_input(state, exprType((Node *) arg), 0, arg);

		if (column < 0)
			state->rows.inputs[input].filter = passed;
		inputs[foreach_current_index(lc)] = input;
	}
	f->fed = gpucol_window_fed_create(f->func, args, inputs, passed, &state->css.ss.ps);
}

/* The function with its arguments: `exprs` are its filter, then these. */
static void
init_function(GpucolWindowState *state, GpucolWindowFunction *f, const WindowFunc *func,
			  List *exprs, Bitmapset **late)
{
	List	   *args = list_copy_tail(exprs, 1);
	const char *why;

	f->func = func;
	f->kind = gpucol_window_kind(func, &why);
	f->input = -1;
	f->number.input = -1;
	f->formed_context = state->formed_context;
	switch (f->kind)
	{
		case GPUCOL_WINDOW_ROW_NUMBER:
		case GPUCOL_WINDOW_RANK:
		case GPUCOL_WINDOW_DENSE_RANK:
		case GPUCOL_WINDOW_PERCENT_RANK:
		case GPUCOL_WINDOW_CUME_DIST:
			break;
		case GPUCOL_WINDOW_NTILE:
			init_number(state, &f->number, linitial(args));
			break;
		case GPUCOL_WINDOW_LAG:
		case GPUCOL_WINDOW_LEAD:
		case GPUCOL_WINDOW_FIRST:
		case GPUCOL_WINDOW_LAST:
		case GPUCOL_WINDOW_NTH:
			init_value(state, f, args, late);
			break;
		case GPUCOL_WINDOW_FED:
			init_fed(state, f, args, linitial(exprs));
			break;
		default:
			f->input = argument_input(state, args == NIL ? NULL : linitial(args),
									  linitial(exprs));
			break;
	}
	gpucol_window_variance(func->winfnoid, &f->sample, &f->root);
	if (gpucol_window_is_formed(f->kind))
		f->formed_context = AllocSetContextCreate(state->css.ss.ps.state->es_query_cxt,
												  "gpucol window result", ALLOCSET_SMALL_SIZES);
}

static void
init_clause(GpucolWindowState *state, GpucolWindowClauseState *clause, List *saved, List *offsets)
{
	List	   *columns = list_nth(saved, GPUCOL_WINDOW_CLAUSE_COLUMNS);
	List	   *options = list_nth(saved, GPUCOL_WINDOW_CLAUSE_OPTIONS);
	List	   *range = list_nth(saved, GPUCOL_WINDOW_CLAUSE_RANGE);
	PlanState  *node = &state->css.ss.ps;

	clause->npartition = linitial_int(options);
	clause->nkeys = list_length(columns);
	clause->keys = palloc0(Max(clause->nkeys, 1) * sizeof(GpucolWindowKey));
	for (int i = 0; i < clause->nkeys; i++)
	{
		clause->keys[i].input = column_input(state, list_nth_int(columns, i));
		clause->keys[i].sortop = list_nth_oid(list_nth(saved, GPUCOL_WINDOW_CLAUSE_OPERATORS), i);
		clause->keys[i].collation = list_nth_oid(list_nth(saved, GPUCOL_WINDOW_CLAUSE_COLLATIONS), i);
		clause->keys[i].nulls_first = list_nth_int(list_nth(saved, GPUCOL_WINDOW_CLAUSE_NULLS_FIRST), i);
	}
	clause->frames.options = lsecond_int(options);
	clause->frames.ordered = clause->nkeys > clause->npartition;
	clause->frames.ascending = lthird_int(options);
	clause->frames.nulls_first = lfourth_int(options);
	clause->frames.input = clause->frames.ordered ? clause->keys[clause->npartition].input : -1;
	if (OidIsValid(linitial_oid(range)))
		fmgr_info(linitial_oid(range), &clause->frames.start_in_range);
	if (OidIsValid(lsecond_oid(range)))
		fmgr_info(lsecond_oid(range), &clause->frames.end_in_range);
	clause->frames.collation = lthird_oid(range);
	clause->start = linitial(offsets) == NULL ? NULL : ExecInitExpr(linitial(offsets), node);
	clause->end = lsecond(offsets) == NULL ? NULL : ExecInitExpr(lsecond(offsets), node);
}

/* The child's columns among attributes, and their inputs. */
static int
list_columns(GpucolWindowState *state, const Bitmapset *attnums, int **columns, int **inputs)
{
	int			n = 0;

	*columns = palloc((state->ncolumns + 1) * sizeof(int));
	*inputs = palloc((state->ncolumns + 1) * sizeof(int));
	for (int i = 0; i < state->ncolumns; i++)
	{
		if (!bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, attnums))
			continue;
		(*columns)[n] = i;
		(*inputs)[n++] = column_input(state, i);
	}
	return n;
}

/* Say which numerics are read as mantissas, too: no keys, and no arguments of PostgreSQL's functions. */
static void
find_mantissas(GpucolWindowState *state)
{
	for (int i = 0; i < state->rows.ninputs; i++)
	{
		GpucolWindowInput *input = &state->rows.inputs[i];

		input->may_be_mantissas = input->type == NUMERICOID;
		for (int c = 0; c < state->nclauses; c++)
		{
			for (int k = 0; k < state->clauses[c].nkeys; k++)
				input->may_be_mantissas &= state->clauses[c].keys[k].input != i;
		}
		for (int k = 0; k < state->nfunctions; k++)
			input->may_be_mantissas &= state->functions[k].fed == NULL && state->functions[k].number.input != i;
	}
}

static void
init_few(GpucolWindowState *state, List *limit, Expr *bound)
{
	if (limit == NIL)
		return;
	state->few.wanted = true;
	state->few.kind = state->functions[linitial_int(limit)].kind;
	state->few.strict = lsecond_int(limit);
	state->few.bound = ExecInitExpr(bound, &state->css.ss.ps);
}

/* Say which clauses need sorts of their own, and which functions' results come as rows do. */
static void
find_leaders(GpucolWindowState *state)
{
	int			leader = 0;

	for (int i = 0; i < state->nclauses; i++)
	{
		const GpucolWindowClauseState *clause = &state->clauses[i];

		if (!gpucol_window_keys_begin(state->clauses[leader].keys, state->clauses[leader].nkeys,
									  clause->keys, clause->nkeys))
			leader = i;
		state->clauses[i].leader = leader;
	}
	for (int i = 0; i < state->nfunctions; i++)
		state->functions[i].by_place = state->clauses[state->functions[i].clause].leader ==
			state->clauses[state->last].leader;
}

/*
 * Which keys only tell partitions apart, of all clauses that a sort serves?  Of the last sort's
 * the order of partitions may be wanted, too.
 */
static void
find_unordered(GpucolWindowState *state)
{
	for (int i = 0; i < state->nclauses; i++)
	{
		const GpucolWindowClauseState *leader = &state->clauses[state->clauses[i].leader];

		for (int k = 0; k < leader->nkeys; k++)
		{
			GpucolWindowKey *key = &leader->keys[k];

			if (state->clauses[i].leader == i)
				key->unordered = gpucol_equal_by_bytes(state->rows.inputs[key->input].type, key->collation) &&
					!(state->ordered && state->clauses[state->last].leader == i);
			if (k >= state->clauses[i].npartition && k < state->clauses[i].nkeys)
				key->unordered = false;
		}
	}
}

void
gpucol_window_inputs_init(GpucolWindowState *state)
{
	CustomScan *cscan = (CustomScan *) state->css.ss.ps.plan;
	List	   *clauses = list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_CLAUSES);
	List	   *numbers = list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_FUNCTIONS);
	List	   *nodes = list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_NODES);
	Bitmapset  *read = NULL;
	Bitmapset  *late = NULL;

	state->ncolumns = intVal(list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_COLUMNS));
	state->last = intVal(list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_LAST));
	state->nclauses = list_length(clauses);
	state->clauses = palloc0(state->nclauses * sizeof(GpucolWindowClauseState));
	for (int i = 0; i < state->nclauses; i++)
		init_clause(state, &state->clauses[i], list_nth(clauses, i),
					list_nth(cscan->custom_exprs, i));
	state->nfunctions = list_length(numbers);
	state->functions = palloc0(state->nfunctions * sizeof(GpucolWindowFunction));
	for (int i = 0; i < state->nfunctions; i++)
	{
		GpucolWindowFunction *f = &state->functions[i];
		init_function(state, f, list_nth_node(WindowFunc, nodes, i),
					  list_nth(cscan->custom_exprs, state->nclauses + i), &late);
		f->clause = list_nth_int(numbers, i);
		state->clauses[f->clause].framed |= gpucol_window_func_framed(f);
	}
	find_leaders(state);
	state->ordered = intVal(list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_ORDERED)) != 0;
	find_unordered(state);
	pull_varattnos((Node *) cscan->scan.plan.targetlist, INDEX_VAR, &read);
	pull_varattnos((Node *) cscan->scan.plan.qual, INDEX_VAR, &read);
	state->noutputs = list_columns(state, read, &state->outputs, &state->output_inputs);
	state->npeeks = list_columns(state, late, &state->peeks, &state->peek_inputs);
	find_mantissas(state);
	init_few(state, list_nth(cscan->custom_private, GPUCOL_WINDOW_PRIVATE_LIMIT),
			 list_length(cscan->custom_exprs) > state->nclauses + state->nfunctions ?
			 llast(cscan->custom_exprs) : NULL);
}
