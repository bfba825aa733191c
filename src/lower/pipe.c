/*-------------------------------------------------------------------------
 *
 * pipe.c
 *	  Lowering of joined relations: layout of a pipe's columns, its conditions;
 *	  pipe_key.c has its keys.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "lower/order.h"
#include "lower/pipe.h"
#include "lower/set_function.h"

/* ------------------------------------------------------------------------
 * Layout
 * ------------------------------------------------------------------------
 */

/*
 * Are these the same column, or the same placeholder, or marks of one (gpucol_pipe_mark)?
 */
bool
gpucol_pipe_is_same(const Node *a, const Node *b)
{
	if (IsA(a, Var) && IsA(b, Var))
		return ((const Var *) a)->varno == ((const Var *) b)->varno &&
			((const Var *) a)->varattno == ((const Var *) b)->varattno &&
			((const Var *) a)->varlevelsup == ((const Var *) b)->varlevelsup;
	if (IsA(a, PlaceHolderVar) && IsA(b, PlaceHolderVar))
		return ((const PlaceHolderVar *) a)->phid == ((const PlaceHolderVar *) b)->phid;
	if (IsA(a, CoerceToDomainValue) && IsA(b, CoerceToDomainValue))
		return ((const CoerceToDomainValue *) a)->location ==
			((const CoerceToDomainValue *) b)->location;
	return equal(a, b);
}

/*
 * The place of an expression in a list, from 0, or -1.
 */
int
gpucol_pipe_place(const List *list, const Node *node)
{
	ListCell   *lc;

	foreach(lc, list)
	{
		if (gpucol_pipe_is_same(lfirst(lc), node))
			return foreach_current_index(lc);
	}
	return -1;
}

static Node *
mark_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, PlaceHolderVar))
	{
		CoerceToDomainValue *mark = makeNode(CoerceToDomainValue);

		mark->typeId = exprType(node);
		mark->typeMod = exprTypmod(node);
		mark->collation = exprCollation(node);
		mark->location = ((PlaceHolderVar *) node)->phid;
		return (Node *) mark;
	}
	return expression_tree_mutator(node, mark_mutator, context);
}

/*
 * Expressions with marks in place of placeholders.  Of those PostgreSQL leaves the
 * expression alone in the finished plan, so that the executor could not tell the column
 * of a plan's rows from what is to be computed of others; it leaves the marks as they
 * are, which nothing else of a pipe looks like.
 */
List *
gpucol_pipe_mark(List *exprs)
{
	return (List *) mark_mutator((Node *) exprs, NULL);
}

/* Collect the marks in an expression. */
static bool
collect_marks(Node *node, List **marks)
{
	if (node == NULL)
		return false;
	if (IsA(node, CoerceToDomainValue))
		*marks = lappend(*marks, node);
	return expression_tree_walker(node, collect_marks, marks);
}

/*
 * Does a pipe have this column or placeholder?
 */
bool
gpucol_pipe_has(const GpucolPipe *pipe, const Node *node)
{
	ListCell   *lc;

	if (IsA(node, Var))
		return bms_is_member(((const Var *) node)->varno, pipe->relids);
	if (gpucol_pipe_place(pipe->outputs, node) >= 0)
		return true;
	foreach(lc, pipe->steps)
	{
		if (gpucol_pipe_has(((GpucolPipeStep *) lfirst(lc))->build, node))
			return true;
	}
	return false;
}

/*
 * The columns of the source of a pipe.
 */
void
gpucol_pipe_source(GpucolPipe *pipe, TupleDesc desc)
{
	pipe->desc = CreateTupleDescCopy(desc);
	pipe->nsource = desc->natts;
	pipe->given = true;
}

/*
 * Rows whose columns are these.
 */
TupleDesc
gpucol_pipe_exprs_desc(const List *exprs)
{
	TupleDesc	desc = CreateTemplateTupleDesc(list_length(exprs));
	ListCell   *lc;

	foreach(lc, exprs)
	{
		AttrNumber	attnum = foreach_current_index(lc) + 1;

		TupleDescInitEntry(desc, attnum, "", exprType(lfirst(lc)), exprTypmod(lfirst(lc)), 0);
		TupleDescInitEntryCollation(desc, attnum, exprCollation(lfirst(lc)));
	}
	return desc;
}

/* Add to a step's payload what expressions need of its table. */
static void
need(GpucolPipeStep *step, List *exprs)
{
	List	   *vars = pull_var_clause((Node *) exprs, PVC_INCLUDE_PLACEHOLDERS |
									   PVC_RECURSE_AGGREGATES | PVC_RECURSE_WINDOWFUNCS);
	ListCell   *lc;

	collect_marks((Node *) exprs, &vars);
	foreach(lc, vars)
	{
		if (gpucol_pipe_has(step->build, lfirst(lc)) && gpucol_pipe_place(step->payload, lfirst(lc)) < 0 &&
			gpucol_pipe_step_twin(step, lfirst(lc)) == NULL)
			step->payload = lappend(step->payload, lfirst(lc));
	}
	list_free(vars);
}

/* The name of a column that a pipe's tables have; a whole row has none. */
static const char *
column_name(const GpucolPipe *pipe, const Node *node)
{
	const Var  *var = (const Var *) node;
	ListCell   *lc;

	if (!IsA(var, Var) || var->varattno <= 0)
		return "";
	if (pipe->rti == (Index) var->varno && pipe->nsource >= var->varattno)
		return NameStr(TupleDescAttr(pipe->desc, var->varattno - 1)->attname);
	foreach(lc, pipe->steps)
	{
		const char *name = column_name(((GpucolPipeStep *) lfirst(lc))->build, node);

		if (name[0] != '\0')
			return name;
	}
	return "";
}

/* The columns of the source and of all payloads. */
static TupleDesc
make_desc(const GpucolPipe *pipe)
{
	TupleDesc	desc;
	int			n = pipe->nsource;
	ListCell   *ls;

	foreach(ls, pipe->steps)
		n += list_length(((GpucolPipeStep *) lfirst(ls))->payload);
	desc = CreateTemplateTupleDesc(n);
	for (int i = 1; i <= pipe->nsource; i++)
		TupleDescCopyEntry(desc, i, pipe->desc, i);
	foreach(ls, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(ls);
		ListCell   *lc;

		foreach(lc, step->payload)
		{
			AttrNumber	attnum = step->first + foreach_current_index(lc);
			Node	   *expr = lfirst(lc);

			TupleDescInitEntry(desc, attnum, step->build == NULL ? "" : column_name(step->build, expr),
							   exprType(expr), exprTypmod(expr), 0);
			TupleDescInitEntryCollation(desc, attnum, exprCollation(expr));
		}
	}
	return desc;
}

/* Number the columns of a pipe and of those below it. */
static void
number_columns(GpucolPipe *pipe, List *above)
{
	List	   *later = list_copy(above);
	AttrNumber	next = pipe->nsource + 1;
	ListCell   *lc;

	for (int i = list_length(pipe->steps) - 1; i >= 0; i--)
	{
		GpucolPipeStep *step = list_nth(pipe->steps, i);

		later = list_concat(later, step->filter);
		later = list_concat(later, step->residual);
		later = list_concat(later, step->order);
		step->payload = NIL;
		need(step, later);
		later = list_concat(later, step->outer_keys);
		number_columns(step->build, list_concat_copy(step->inner_keys, step->payload));
	}
	foreach(lc, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(lc);

		step->first = next;
		next += list_length(step->payload);
	}
	pipe->varno = pipe->rti != 0 ? pipe->rti : (Index) Max(bms_next_member(pipe->relids, -1), 1);
	pipe->desc = make_desc(pipe);
}

/*
 * Lay out a pipe and those below it.
 */
void
gpucol_pipe_layout(GpucolPipe *pipe, List *above, bool computed)
{
	gpucol_pipe_settle_keys(pipe);
	number_columns(pipe, above);
	gpucol_pipe_find_decimals(pipe, above, computed);
}

/* The column of a laid out pipe that an expression is, or 0. */
static AttrNumber
find_column(const GpucolPipe *pipe, const Node *node)
{
	ListCell   *lc;
	int			at = gpucol_pipe_place(pipe->outputs, node);

	if (at >= 0)
		return at + 1;
	foreach(lc, pipe->steps)
	{
		GpucolPipeStep *step = lfirst(lc);

		at = gpucol_pipe_place(step->payload, node);
		if (at >= 0)
			return step->first + at;
	}
	return 0;
}

static Node *
map_mutator(Node *node, void *context)
{
	const GpucolPipe *pipe = context;
	Node	   *twin;

	if (node == NULL)
		return NULL;
	twin = IsA(node, Var) ? gpucol_pipe_twin(pipe, node) : NULL;
	if (twin != NULL)
		return map_mutator(twin, context);
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, CoerceToDomainValue) ||
		pipe->outputs != NIL)
	{
		AttrNumber	attnum = find_column(pipe, node);

		if (attnum != 0)
			return (Node *) makeVar(pipe->varno, attnum, exprType(node), exprTypmod(node),
									exprCollation(node), 0);
	}
	if (IsA(node, PlaceHolderVar))
		return copyObject(node);
	return expression_tree_mutator(node, map_mutator, context);
}

/*
 * Is a column made by a set-returning function?
 */
bool
gpucol_pipe_is_made(const GpucolPipe *pipe, AttrNumber attnum)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (step->build != NULL && step->build->sets != NIL && attnum >= step->first &&
			attnum < step->first + list_length(step->payload))
			return true;
	}
	return bms_is_member(attnum, pipe->made);
}

/* Does such a function make what a node stands for? */
static bool
is_of_set(const GpucolPipe *pipe, const Node *node)
{
	ListCell   *lc;

	if (pipe == NULL)
		return false;
	if (pipe->sets != NIL)
		return gpucol_pipe_place(pipe->outputs, node) >= 0;
	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		if (step->build->sets != NIL && is_of_set(step->build, node))
			return true;
	}
	return false;
}

/*
 * An expression over the columns of the laid out pipe.
 */
Node *
gpucol_pipe_map(const GpucolPipe *pipe, Node *node)
{
	return map_mutator(node, (void *) pipe);
}

/* ------------------------------------------------------------------------
 * Questions
 * ------------------------------------------------------------------------
 */

/* Does the plan whose rows a pipe reads compute an expression as a column? */
static bool
is_computed(const GpucolPipe *pipe, const Expr *expr)
{
	return !IsA(expr, Var) && !IsA(expr, PlaceHolderVar) && gpucol_pipe_place(pipe->outputs, (const Node *) expr) >= 0;
}

/*
 * Of the columns of an expression, those that are numerics without a precision among the
 * rows of a plan in either pipe, as bits; the reason if it is none over columns of tables.
 */
static const char *
find_open(const GpucolPipe *drive, const GpucolPipe *build, const Expr *expr, List **columns,
		  uint64 *open)
{
	List	   *vars = pull_var_clause((Node *) expr, PVC_INCLUDE_PLACEHOLDERS);
	ListCell   *lc;

	*columns = NIL;
	*open = 0;
	if (is_computed(drive, expr))
	{
		*columns = list_make1((Expr *) expr);
		*open = gpucol_pipe_is_open(drive, (const Node *) expr) ? 1 : 0;
		return NULL;
	}
	foreach(lc, vars)
	{
		if (IsA(lfirst(lc), PlaceHolderVar) ?
			!gpucol_pipe_has(drive, lfirst(lc)) && (build == NULL || !gpucol_pipe_has(build, lfirst(lc))) :
			lfirst_node(Var, lc)->varattno <= 0)
			return "it refers to a system column, a whole row, or an expression of an inner query";
		if (gpucol_pipe_place(*columns, lfirst(lc)) >= 0)
			continue;
		*columns = lappend(*columns, lfirst(lc));
		if (gpucol_pipe_is_open(drive, lfirst(lc)) || gpucol_pipe_is_open(build, lfirst(lc)))
			*open |= UINT64CONST(1) << Min(list_length(*columns) - 1, 63);
	}
	return list_length(*columns) > 63 ? "it refers to more than 63 columns" : NULL;
}

/*
 * Start a program over just those columns of two pipes that an expression has, which
 * becomes one over them.
 */
static GpucolLower *
begin_alone(const GpucolPipe *drive, const GpucolPipe *build, List *columns, uint64 open, Expr **expr)
{
	GpucolLower *l;
	GpucolPipe *pipe = palloc0(sizeof(GpucolPipe));
	GpucolPipeStep *step = palloc0(sizeof(GpucolPipeStep));

	step->payload = columns;
	step->first = 1;
	pipe->steps = list_make1(step);
	pipe->outputs = is_computed(drive, *expr) ? columns : NIL;
	pipe->varno = 1;
	pipe->desc = make_desc(pipe);
	pipe->decimals = palloc0(Max(pipe->desc->natts, 1) * sizeof(GpucolPipeDecimal));
	for (int i = 0; i < list_length(columns); i++)
	{
		if (open >> i & 1)
			pipe->decimals[i] = gpucol_pipe_planned_decimal();
		if (is_of_set(drive, list_nth(columns, i)) || is_of_set(build, list_nth(columns, i)))
			pipe->made = bms_add_member(pipe->made, i + 1);
	}
	*expr = (Expr *) gpucol_pipe_map(pipe, (Node *) *expr);
	l = gpucol_lower_begin(pipe->desc, pipe->varno, NULL);
	l->seldom = true;
	gpucol_lower_over(l, pipe);
	return l;
}

/* Lower a sort key by which an engine compares rows exactly. */
static bool
lower_sort_key(GpucolLower *l, Expr *expr, GpucolValue *value)
{
	Oid			type = exprType((Node *) expr);

	if (!gpucol_lower_expr(l, expr, value))
		return false;
	if (!value->packed && (value->cls == GPUCOL_CLASS_D || gpucol_order_is_int64(value, type)))
		return true;
	l->reason = psprintf("first rows by a sort key of type %s", format_type_be(type));
	return false;
}

/*
 * Can an expression be lowered?
 */
GpucolPipeAnswer
gpucol_pipe_ask(const GpucolPipe *drive, const GpucolPipe *build, Expr *expr, GpucolPipeQuestion as)
{
	GpucolPipeAnswer answer = {0};
	GpucolLower *l;
	Expr	   *mapped = expr;
	List	   *columns;
	uint64		open;
	uint16		reg;
	bool		ok;

	answer.reason = find_open(drive, build, expr, &columns, &open);
	if (answer.reason != NULL || (!is_computed(drive, expr) && gpucol_pipe_recall(expr, open, as, &answer)))
		return answer;
	l = begin_alone(drive, build, columns, open, &mapped);
	ok = as == GPUCOL_PIPE_CONDITION ? gpucol_lower_bool(l, mapped, &reg) :
		as == GPUCOL_PIPE_ORDER ? lower_sort_key(l, mapped, &answer.value) :
		gpucol_pipe_lower_key(l, mapped, as, &answer.value);
	answer.reason = ok ? NULL : l->reason;
	if (!is_computed(drive, expr))
		gpucol_pipe_remember(expr, open, as, &answer);
	return answer;
}

/*
 * Can a condition on joined rows be lowered?
 */
const char *
gpucol_pipe_check_condition(const GpucolPipe *drive, const GpucolPipe *build, Expr *condition)
{
	return gpucol_pipe_ask(drive, build, condition, GPUCOL_PIPE_CONDITION).reason;
}

/*
 * Can an engine call a set-returning function for rows of `drive`?
 */
const char *
gpucol_pipe_check_set(const GpucolPipe *drive, FuncExpr *set)
{
	Expr	   *argument = gpucol_lower_set_argument(set);
	GpucolLower *l;
	List	   *columns;
	uint64		open;
	GpucolProbe probe;
	const char *reason = find_open(drive, NULL, argument, &columns, &open);

	if (reason != NULL)
		return reason;
	if (columns == NIL || contain_volatile_functions((Node *) argument))
		return "a set of no column, or of a volatile function";
	l = begin_alone(drive, NULL, columns, open, &argument);
	return gpucol_lower_sets(l, list_make1(set), list_make1(argument), &probe) ? NULL : l->reason;
}

/*
 * Does a step deliver rows of its table once the source has ended?
 */
bool
gpucol_pipe_step_has_tail(const GpucolPipeStep *step)
{
	return step->kind == GPUCOL_JOIN_RIGHT || step->kind == GPUCOL_JOIN_FULL ||
		step->kind == GPUCOL_JOIN_RIGHT_SEMI || step->kind == GPUCOL_JOIN_RIGHT_ANTI;
}

/*
 * Does one of its steps?
 */
bool
gpucol_pipe_has_tail(const GpucolPipe *pipe)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		if (gpucol_pipe_step_has_tail(lfirst(lc)))
			return true;
	}
	return false;
}

/* ------------------------------------------------------------------------
 * Lowering
 * ------------------------------------------------------------------------
 */

/* Lower conditions to one register, each under those before it. */
static bool
lower_all(GpucolLower *l, const GpucolPipe *pipe, List *conditions, uint16 *reg)
{
	ListCell   *lc;

	*reg = GPUCOL_NO_REG;
	foreach(lc, conditions)
	{
		Expr	   *condition = (Expr *) gpucol_pipe_map(pipe, lfirst(lc));
		GpucolMask	mask;
		uint16		next;
		bool		ok;

		if (*reg != GPUCOL_NO_REG)
			gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, *reg);
		ok = gpucol_lower_bool(l, condition, &next);
		if (*reg != GPUCOL_NO_REG)
			gpucol_lower_pop_mask(l);
		if (!ok)
			return false;
		*reg = *reg == GPUCOL_NO_REG ? next :
			gpucol_lower_emit(l, GPUCOL_OP_AND, *reg, next, GPUCOL_NO_REG, 0);
	}
	return true;
}

/* Lower a step that is a set-returning function: what it makes is loaded at once. */
static bool
lower_set(GpucolLower *l, const GpucolPipe *pipe, const GpucolPipeStep *step, GpucolProbe *probe)
{
	List	   *arguments = (List *) gpucol_pipe_map(pipe, (Node *) step->outer_keys);
	ListCell   *lc;

	if (!gpucol_lower_sets(l, step->build->sets, arguments, probe))
		return false;
	probe->keys_end = l->ninstrs;
	if (!lower_all(l, pipe, step->residual, &probe->residual))
		return false;
	probe->residual_end = l->ninstrs;
	gpucol_lower_hide(l, probe->keys_end);
	foreach(lc, step->payload)
	{
		GpucolValue value;

		if (!gpucol_lower_expr(l, (Expr *) gpucol_pipe_map(pipe, lfirst(lc)), &value))
			return false;
	}
	if (!lower_all(l, pipe, step->filter, &probe->filter))
		return false;
	probe->filter_end = l->ninstrs;
	gpucol_lower_add_probe(l, probe);
	return true;
}

/*
 * Load what the conditions and sort keys of pairs need of the rows that flow, once for all pairs, and what is
 * computed of all pairs later; texts are where they are.
 */
static bool
load_flowing(GpucolLower *l, const GpucolPipe *pipe, const GpucolPipeStep *step)
{
	List	   *pairs = (List *) gpucol_pipe_map(pipe, (Node *) list_concat_copy(step->residual, step->order));
	List	   *exprs = step->outer_keys == NIL && pairs == NIL ? l->later : pairs;
	ListCell   *lc;

	foreach(lc, pull_var_clause((Node *) exprs, PVC_RECURSE_AGGREGATES | PVC_RECURSE_PLACEHOLDERS))
	{
		const Var  *var = lfirst_node(Var, lc);
		GpucolTypeMap map;
		GpucolValue value;

		gpucol_typemap_init(&map, var->vartype, var->vartypmod, var->varcollid);
		if (var->varattno < step->first && map.kind != GPUCOL_KIND_BYTES &&
			!gpucol_lower_expr(l, (Expr *) var, &value))
			return false;
	}
	return true;
}

/* Lower the sort keys of a step that takes the first rows of an order, under its condition. */
static bool
lower_order(GpucolLower *l, const GpucolPipe *pipe, GpucolPipeStep *step, uint16 condition)
{
	ListCell   *lc;

	step->order_keys = palloc(list_length(step->order) * sizeof(uint16));
	foreach(lc, step->order)
	{
		GpucolMask	mask;
		GpucolValue value;
		bool		ok;

		if (condition != GPUCOL_NO_REG)
			gpucol_lower_push_mask(l, &mask, GPUCOL_MASK_TRUE, condition);
		ok = lower_sort_key(l, (Expr *) gpucol_pipe_map(pipe, lfirst(lc)), &value);
		if (condition != GPUCOL_NO_REG)
			gpucol_lower_pop_mask(l);
		if (!ok)
			return false;
		step->order_keys[foreach_current_index(lc)] = value.reg;
	}
	return true;
}

/* Lower one step. */
static bool
lower_step(GpucolLower *l, const GpucolPipe *pipe, GpucolPipeStep *step, int number)
{
	GpucolProbe probe = {.table = number,.kind = step->kind,.first_key = l->nprobe_keys};
	ListCell   *lc;

	if (step->build->sets != NIL)
		return lower_set(l, pipe, step, &probe);
	foreach(lc, step->outer_keys)
	{
		uint16		reg;

		if (!gpucol_pipe_lower_step_key(l, pipe, step, foreach_current_index(lc), lfirst(lc), &reg))
			return false;
		gpucol_lower_add_probe_key(l, reg);
	}
	if ((step->most > 0 || step->outer_keys == NIL) && !load_flowing(l, pipe, step))
		return false;
	probe.nkeys = list_length(step->outer_keys);
	probe.keys_end = l->ninstrs;
	if (!lower_all(l, pipe, step->residual, &probe.residual) ||
		(step->most > 0 && !lower_order(l, pipe, step, probe.residual)))
		return false;
	probe.residual_end = l->ninstrs;
	/* what is computed of pairs is not there for the rows that are made of them */
	gpucol_lower_hide(l, probe.keys_end);
	if (!lower_all(l, pipe, step->filter, &probe.filter))
		return false;
	probe.filter_end = l->ninstrs;
	gpucol_lower_add_probe(l, &probe);
	return true;
}

/* Does a row end at this step if it matches none of the table's? */
static bool
drops_unmatched(const GpucolPipeStep *step)
{
	return step->kind == GPUCOL_JOIN_INNER || step->kind == GPUCOL_JOIN_SEMI ||
		step->kind == GPUCOL_JOIN_RIGHT || step->kind == GPUCOL_JOIN_RIGHT_SEMI ||
		step->kind == GPUCOL_JOIN_RIGHT_ANTI;
}

/* Have the source deliver only rows of which one key can be in the built table. */
static void
add_key_range(GpucolLower *l, const GpucolPipe *pipe, const GpucolPipeStep *step, int number)
{
	Var		   *key = (Var *) gpucol_pipe_map(pipe, list_nth(step->outer_keys, number));
	GpucolConst value = {.cls = GPUCOL_CLASS_I};
	GpucolRange *range;
	int			column;

	/* a date as the key of a timestamp is no longer the column's */
	if (!IsA(key, Var) || key->varattno > pipe->nsource ||
		gpucol_pipe_key_is_stamp(step, number, (Node *) key))
		return;
	column = gpucol_lower_column(l, key->varattno);
	if (l->maps[column].kind != GPUCOL_KIND_INT || l->maps[column].type_oid == BOOLOID)
		return;
	range = gpucol_lower_add_range(l, column, GPUCOL_RANGE_BETWEEN);
	value.v.i = step->ranges[number].least;
	range->lo = gpucol_lower_add_const(l, &value);
	value.v.i = step->ranges[number].greatest;
	range->hi = gpucol_lower_add_const(l, &value);
}

/*
 * Do rows get behind a step?  Those that flow, unless it drops them all, and those that it
 * delivers itself.
 */
bool
gpucol_pipe_flows_behind(const GpucolPipeStep *step, bool flows)
{
	if (step->built && step->empty && drops_unmatched(step))
		return false;
	return flows || gpucol_pipe_step_has_tail(step);
}

/* Does any row get through the pipe, as far as built tables tell, if `flows` of its source? */
static bool
gets_through(const GpucolPipe *pipe, bool flows)
{
	ListCell   *lc;

	foreach(lc, pipe->steps)
		flows = gpucol_pipe_flows_behind(lfirst(lc), flows);
	return flows;
}

/*
 * Use what is known of built tables: rows that a step would drop need not be read, unless
 * a step before it counts matches.
 */
static void
use_tables(GpucolLower *l, const GpucolPipe *pipe)
{
	bool		tail = false;
	ListCell   *lc;

	foreach(lc, pipe->steps)
	{
		const GpucolPipeStep *step = lfirst(lc);

		for (int k = 0; k < GPUCOL_KEY_RANGES && step->built && drops_unmatched(step) && !tail; k++)
		{
			if (step->ranges[k].known)
				add_key_range(l, pipe, step, k);
		}
		tail |= gpucol_pipe_step_has_tail(step);
	}
}

/*
 * Start a program over a laid out pipe.
 */
GpucolLower *
gpucol_pipe_begin(const GpucolPipe *pipe, PlanState *planstate)
{
	GpucolLower *l = gpucol_lower_begin(pipe->desc, pipe->varno, planstate);

	gpucol_lower_over(l, pipe);
	return l;
}

/*
 * Lower its conditions and steps.
 */
bool
gpucol_pipe_lower(GpucolLower *l, const GpucolPipe *pipe)
{
	ListCell   *lc;

	/* then nothing that conditions are made of need be known */
	l->never |= !gets_through(pipe, !pipe->dry);
	foreach(lc, pipe->conditions)
	{
		if (!gpucol_lower_qual(l, (Expr *) gpucol_pipe_map(pipe, lfirst(lc)), true))
			return false;
	}
	if (l->never)
	{
		/* conditions know of the source's rows only */
		l->dry = true;
		l->never = !gets_through(pipe, false);
	}
	use_tables(l, pipe);
	gpucol_lower_end_filter(l);
	foreach(lc, pipe->steps)
	{
		if (!lower_step(l, pipe, lfirst(lc), foreach_current_index(lc)))
			return false;
	}
	return true;
}

/*
 * What a step has its table made of.
 */
bool
gpucol_pipe_lower_build(GpucolLower *l, const GpucolPipeStep *step)
{
	ListCell   *lc;

	foreach(lc, step->inner_keys)
	{
		uint16		reg;

		if (!gpucol_pipe_lower_step_key(l, step->build, step, foreach_current_index(lc), lfirst(lc), &reg))
			return false;
		gpucol_lower_add_output(l, reg);
	}
	l->njoin_keys = l->nkeys;
	l->keep_null_keys = gpucol_pipe_step_has_tail(step) && step->kind != GPUCOL_JOIN_RIGHT_SEMI;
	foreach(lc, step->payload)
	{
		GpucolValue value;

		if (!gpucol_lower_output(l, (Expr *) gpucol_pipe_map(step->build, lfirst(lc)), &value))
			return false;
	}
	return true;
}
