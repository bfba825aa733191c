/*-------------------------------------------------------------------------
 *
 * path_window.c
 *	  GpucolWindow: the window functions of a query over rows of our nodes.
 *
 * One node stands for all of PostgreSQL's WindowAggs and the sorts between them.  Its
 * child delivers the input of the lowest of them in any order; the node keeps columns of
 * it, orders rows by codes and computes functions a column at a time (exec/window.c).
 * What is to be computed is read off PostgreSQL's own path, which the node falls back to.
 *
 * All or nothing: where one function or argument is PostgreSQL's, the query's windows are.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "columnar/am.h"
#include "columnar/collation.h"
#include "compat.h"
#include "guc.h"
#include "lower/clauses.h"
#include "lower/harmless.h"
#include "plan/plan.h"
#include "plan/reason.h"
#include "plan/twice.h"
#include "plan/walk.h"
#include "plan/window.h"
#include "planner/path_join_first.h"
#include "planner/path_topn.h"
#include "planner/planner.h"

/* The windows of a query. */
typedef struct Windows
{
	PlannerInfo *root;
	Path	   *child;
	Oid			relid;			/* a table of ours below, to name in reasons */
	WindowAggPath *top;
	List	   *clauses;		/* of WindowClause, the lowest first */
	List	   *conditions;		/* that rows must fulfil */
	List	   *pathkeys;		/* of PostgreSQL's last sort, */
	int			last;			/* and the clause that it is for */
	List	   *functions;		/* of WindowFunc */
} Windows;

static Plan *plan_window(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
						 List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolWindow",
	.PlanCustomPath = plan_window,
};

/* custom_private of a path */
enum
{
	PATH_PRIVATE_CHILD,			/* List: the target of the child */
	PATH_PRIVATE_FUNCTIONS,		/* List of WindowFunc */
	PATH_PRIVATE_CONDITIONS,	/* List of Expr */
	PATH_PRIVATE_EXPRS,			/* custom_exprs of the plan, */
	PATH_PRIVATE_PLAN			/* and its custom_private */
};

/* Note why; returns false. */
static bool
decline(const Windows *w, const char *reason)
{
	gpucol_reason_add(w->relid, "window functions", "%s", reason);
	return false;
}

/* ------------------------------------------------------------------------
 * What is to be computed
 * ------------------------------------------------------------------------
 */

/* Are the rows of a WITH query those of a node of ours? */
static bool
is_with_of_ours(const PlannerInfo *root, const Path *path)
{
	const Plan *plan = path->pathtype != T_CteScan ? NULL :
		gpucol_join_with_plan(root, planner_rt_fetch(path->parent->relid, root));

	return plan != NULL && gpucol_plan_is_ours(plan);
}

/* Is one of our nodes among the paths that a path is made of?  Through the usual ones. */
static bool
is_ours(const PlannerInfo *root, Path *path)
{
	check_stack_depth();
	switch (nodeTag(path))
	{
		case T_CustomPath:
			return strncmp(((CustomPath *) path)->methods->CustomName, "Gpucol", 6) == 0;
		case T_SubqueryScanPath:
			return is_ours(path->parent->subroot, ((SubqueryScanPath *) path)->subpath);
		case T_ProjectionPath:
			return is_ours(root, ((ProjectionPath *) path)->subpath);
		case T_SortPath:
		case T_IncrementalSortPath:
			return is_ours(root, ((SortPath *) path)->subpath);
		case T_MaterialPath:
			return is_ours(root, ((MaterialPath *) path)->subpath);
		case T_AggPath:
			return is_ours(root, ((AggPath *) path)->subpath);
		case T_GroupingSetsPath:
			return is_ours(root, ((GroupingSetsPath *) path)->subpath);
		case T_UpperUniquePath:
			return is_ours(root, ((UpperUniquePath *) path)->subpath);
		case T_ProjectSetPath:
			return is_ours(root, ((ProjectSetPath *) path)->subpath);
		case T_WindowAggPath:
			return is_ours(root, ((WindowAggPath *) path)->subpath);
		case T_MemoizePath:
			return is_ours(root, ((MemoizePath *) path)->subpath);
		case T_GroupPath:
			return is_ours(root, ((GroupPath *) path)->subpath);
		case T_LimitPath:
			return is_ours(root, ((LimitPath *) path)->subpath);
		case T_GatherPath:
			return is_ours(root, ((GatherPath *) path)->subpath);
		case T_GatherMergePath:
			return is_ours(root, ((GatherMergePath *) path)->subpath);
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return is_ours(root, ((JoinPath *) path)->outerjoinpath) ||
				is_ours(root, ((JoinPath *) path)->innerjoinpath);
		case T_AppendPath:
		case T_MergeAppendPath:
			{
				List	   *paths = IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths :
					((MergeAppendPath *) path)->subpaths;
				ListCell   *lc;

				foreach(lc, paths)
				{
					if (is_ours(root, lfirst(lc)))
						return true;
				}
				return false;
			}
		case T_Path:
			return is_with_of_ours(root, path);
		default:
			return false;
	}
}

/* The first table of ours in the query, to name in reasons. */
static Oid
find_table(PlannerInfo *root)
{
	ListCell   *lc;

	foreach(lc, root->parse->rtable)
	{
		RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_RELATION && gpucol_am_is_gpucol(rte->relid))
			return rte->relid;
	}
	return InvalidOid;
}

/* Take apart PostgreSQL's path, down to one of the input's. */
static bool
find_clauses(Windows *w, const RelOptInfo *input_rel, Path *path)
{
	int			above = 0;		/* clauses from the top on */
	int			sorted = 0;		/* above the last sort, that of its own included */

	if (!IsA(path, WindowAggPath))
		return false;
	w->top = (WindowAggPath *) path;
	while (!list_member_ptr(input_rel->pathlist, path))
	{
		if (IsA(path, WindowAggPath))
		{
			WindowAggPath *window = (WindowAggPath *) path;

			w->clauses = lcons(window->winclause, w->clauses);
			w->conditions = list_concat_copy(gpucol_compat_run_condition(window), w->conditions);
			above++;
			path = window->subpath;
		}
		else if (IsA(path, SortPath) || IsA(path, IncrementalSortPath))
		{
			if (sorted == 0)
			{
				sorted = above;
				w->pathkeys = path->pathkeys;
			}
			path = ((SortPath *) path)->subpath;
		}
		else
			return false;
	}
	w->last = above - Max(sorted, 1);
	return true;
}

static bool
functions_walker(Node *node, void *context)
{
	List	  **functions = context;

	if (node == NULL)
		return false;
	if (IsA(node, WindowFunc))
	{
		*functions = list_append_unique(*functions, node);
		return false;
	}
	return expression_tree_walker(node, functions_walker, context);
}

/* The clause of a function. */
static WindowClause *
clause_of(const Windows *w, const WindowFunc *func, int *number)
{
	ListCell   *lc;

	foreach(lc, w->clauses)
	{
		*number = foreach_current_index(lc);
		if (lfirst_node(WindowClause, lc)->winref == func->winref)
			return lfirst(lc);
	}
	return NULL;
}

/* Does each frame of the clause contain its own row? */
static bool
has_own_row(const WindowClause *clause)
{
	return (clause->frameOptions & FRAMEOPTION_EXCLUSION) == 0 &&
		(clause->frameOptions & (FRAMEOPTION_START_OFFSET_FOLLOWING |
								 FRAMEOPTION_END_OFFSET_PRECEDING)) == 0;
}

/* May an expression raise an error, or run somebody's code, for some row? */
static bool
is_harmful(Node *node, void *context)
{
	List	   *columns = context;

	if (node == NULL || list_member(columns, node))
		return false;
	return !gpucol_harmless_node(node) || expression_tree_walker(node, is_harmful, context);
}

/*
 * The node evaluates an aggregate's argument for every row, before it delivers the
 * first.  So does PostgreSQL in the end, unless frames leave rows out or not all rows are
 * wanted; then the argument must raise no error.
 */
static bool
check_argument(const Windows *w, const WindowFunc *func, const WindowClause *clause)
{
	List	   *exprs = lappend(list_copy(func->args), func->aggfilter);

	const char *why;

	if (gpucol_window_kind(func, &why) == GPUCOL_WINDOW_FED)
	{
		/* whose transition function may raise errors of its own */
		if (!has_own_row(clause) || w->root->tuple_fraction != 0)
			return decline(w, psprintf("window function %s over a part of the rows",
									   get_func_name(func->winfnoid)));
		if (gpucol_window_has_inverse(func) &&
			(clause->frameOptions & FRAMEOPTION_START_UNBOUNDED_PRECEDING) == 0)
			return decline(w, psprintf("window function %s, which PostgreSQL takes rows back from",
									   get_func_name(func->winfnoid)));
	}
	if (has_own_row(clause) && w->root->tuple_fraction == 0)
		return true;
	return !is_harmful((Node *) exprs, w->child->pathtarget->exprs) ||
		decline(w, "an argument that may raise an error for a row that nobody asks for");
}

/* Can all functions be computed? */
static bool
check_functions(Windows *w)
{
	ListCell   *lc;

	functions_walker((Node *) w->top->path.pathtarget->exprs, &w->functions);
	functions_walker((Node *) w->conditions, &w->functions);
	foreach(lc, w->functions)
	{
		WindowFunc *func = lfirst(lc);
		int			number;
		WindowClause *clause = clause_of(w, func, &number);
		const char *why = "a window function without a window";

		if (clause == NULL || gpucol_window_kind(func, &why) == GPUCOL_WINDOW_NONE)
			return decline(w, why);
		if (func->winagg && !check_argument(w, func, clause))
			return false;
	}
	return w->functions != NIL;
}

/* ------------------------------------------------------------------------
 * What the plan carries
 * ------------------------------------------------------------------------
 */

/* The child's column that a clause is about; -1 if it has none. */
static int
find_column(const Windows *w, const SortGroupClause *sort)
{
	PathTarget *target = w->child->pathtarget;
	Node	   *expr;

	for (int i = 0; i < list_length(target->exprs); i++)
	{
		if (get_pathtarget_sortgroupref(target, i) == sort->tleSortGroupRef)
			return i;
	}
	expr = get_sortgroupclause_expr((SortGroupClause *) sort, w->root->processed_tlist);
	for (int i = 0; i < list_length(target->exprs); i++)
	{
		if (equal(expr, list_nth(target->exprs, i)))
			return i;
	}
	return -1;
}

/* One window clause for the plan; NIL if it cannot be. */
static List *
save_clause(const Windows *w, const WindowClause *clause)
{
	List	   *columns = NIL;
	List	   *operators = NIL;
	List	   *collations = NIL;
	List	   *nulls_first = NIL;
	List	   *sorts = list_concat_copy(clause->partitionClause, clause->orderClause);
	ListCell   *lc;

	foreach(lc, sorts)
	{
		SortGroupClause *sort = lfirst_node(SortGroupClause, lc);
		int			column = find_column(w, sort);
		Node	   *expr;

		if (column < 0 || !OidIsValid(sort->sortop))
			return NIL;
		expr = list_nth(w->child->pathtarget->exprs, column);
		if (get_typlen(exprType(expr)) == -2)
			return NIL;
		columns = lappend_int(columns, column);
		operators = lappend_oid(operators, sort->sortop);
		collations = lappend_oid(collations, exprCollation(expr));
		nulls_first = lappend_int(nulls_first, sort->nulls_first);
	}
	return list_make2(list_make5(columns, operators, collations, nulls_first,
								 list_make4_int(list_length(clause->partitionClause),
												clause->frameOptions, clause->inRangeAsc,
												clause->inRangeNullsFirst)),
					  list_make3_oid(clause->startInRangeFunc, clause->endInRangeFunc,
									 clause->inRangeColl));
}

/*
 * The function of which so few rows of each partition matter that the others need not be
 * kept, with *bound; NIL if there is none.
 */
static List *
find_limit(const Windows *w, Expr **bound)
{
	ListCell   *lc;

	if (list_length(w->clauses) != 1)
		return NIL;
	foreach(lc, w->functions)
	{
		if (!gpucol_window_looks_back(lfirst(lc), linitial_node(WindowClause, w->clauses)->frameOptions))
			return NIL;
	}
	foreach(lc, w->conditions)
	{
		GpucolWindowLimit limit;
		const char *why;

		if (!gpucol_window_bound(lfirst(lc), &limit))
			continue;
		switch (gpucol_window_kind(limit.func, &why))
		{
			case GPUCOL_WINDOW_ROW_NUMBER:
			case GPUCOL_WINDOW_RANK:
			case GPUCOL_WINDOW_DENSE_RANK:
				*bound = limit.bound;
				for (int i = 0; i < list_length(w->functions); i++)
				{
					if (equal(list_nth(w->functions, i), limit.func))
						return list_make2_int(i, limit.strict);
				}
				break;
			default:
				break;
		}
	}
	return NIL;
}

/*
 * Fill what the plan carries: custom_exprs are, for each clause, start and end of its
 * frames, for each function its filter and its arguments, then the limit's bound.
 */
static bool
save(const Windows *w, List **exprs, List **saved)
{
	List	   *clauses = NIL;
	List	   *numbers = NIL;
	List	   *limit;
	Expr	   *bound = NULL;
	ListCell   *lc;

	foreach(lc, w->clauses)
	{
		WindowClause *clause = lfirst(lc);
		List	   *parts = save_clause(w, clause);

		if (parts == NIL)
			return decline(w, "a window's key that is no column of its input");
		clauses = lappend(clauses, lappend(linitial(parts), lsecond(parts)));
		*exprs = lappend(*exprs, list_make2(clause->startOffset, clause->endOffset));
	}
	foreach(lc, w->functions)
	{
		WindowFunc *func = lfirst(lc);
		int			number = 0;

		(void) clause_of(w, func, &number);
		numbers = lappend_int(numbers, number);
		*exprs = lappend(*exprs, lcons(func->aggfilter, list_copy(func->args)));
	}
	limit = find_limit(w, &bound);
	if (limit != NIL)
		*exprs = lappend(*exprs, bound);
	*saved = list_make5(clauses, numbers,
						makeInteger(list_length(w->child->pathtarget->exprs)),
						makeInteger(w->last), limit);
	*saved = lappend(*saved, makeInteger(true));
	return true;
}

/* ------------------------------------------------------------------------
 * Path and plan
 * ------------------------------------------------------------------------
 */

/* How many sorts the clauses need, at most. */
static int
count_sorts(const Windows *w)
{
	ListCell   *lc;
	int			n = 0;

	foreach(lc, w->clauses)
	{
		WindowClause *clause = lfirst(lc);

		n += clause->partitionClause != NIL || clause->orderClause != NIL;
	}
	return n;
}

/* How many rows of each partition matter, at least 1; 0: all may. */
static double
rows_of_each(const Windows *w)
{
	Expr	   *bound = NULL;
	List	   *limit = find_limit(w, &bound);
	const Const *rows = (const Const *) bound;
	int64		most;

	if (limit == NIL || !IsA(bound, Const) || rows->constisnull)
		return 0;
	most = rows->consttype == INT2OID ? DatumGetInt16(rows->constvalue) :
		rows->consttype == INT4OID ? DatumGetInt32(rows->constvalue) : DatumGetInt64(rows->constvalue);
	return Max((double) most - lsecond_int(limit), 1);
}

/* The rows that conditions leave, where few of each partition matter. */
static double
count_rows(const Windows *w)
{
	double		rows = w->top->path.rows;
	double		most = rows_of_each(w);
	WindowClause *clause = linitial(w->clauses);
	double		partitions;

	if (most == 0)
		return rows;
	partitions = clause->partitionClause == NIL ? 1 :
		estimate_num_groups(w->root, get_sortgrouplist_exprs(clause->partitionClause, w->root->processed_tlist),
							w->child->rows, NULL, NULL);
	return clamp_row_est(Min(rows, partitions * most));
}

/*
 * The child, or a join that leaves out rows of which the limit wants none: all but the first of those that
 * are made of one row of the table that partitions are made of.
 */
static Path *
choose_child(const Windows *w, const RelOptInfo *input_rel)
{
	const WindowClause *clause = linitial(w->clauses);
	Path	   *first;

	if (clause->orderClause == NIL || rows_of_each(w) != 1)
		return w->child;
	first = gpucol_path_topn_first(w->root, input_rel->pathlist, linitial(clause->orderClause),
								   get_sortgrouplist_exprs(clause->partitionClause, w->root->processed_tlist));
	return first != NULL && first->total_cost <= w->child->total_cost &&
		equal(first->pathtarget->exprs, w->child->pathtarget->exprs) ? first : w->child;
}

/* Can partitions be told apart by keys that need not be ordered for that? */
static bool
has_unordered_keys(const Windows *w)
{
	ListCell   *lc;

	foreach(lc, w->clauses)
	{
		List	   *keys = get_sortgrouplist_exprs(lfirst_node(WindowClause, lc)->partitionClause,
												   w->root->processed_tlist);
		ListCell   *key;

		foreach(key, keys)
		{
			Oid			type = exprType(lfirst(key));

			if (!get_typbyval(type) && gpucol_equal_by_bytes(type, exprCollation(lfirst(key))))
				return true;
		}
	}
	return false;
}

/* A copy of the path whose partitions come in no order. */
static CustomPath *
unordered_path(const Windows *w, const CustomPath *path, List *saved)
{
	CustomPath *copy = makeNode(CustomPath);

	memcpy(copy, path, sizeof(CustomPath));
	saved = list_copy(saved);
	lfirst(list_nth_cell(saved, GPUCOL_WINDOW_PRIVATE_ORDERED)) = makeInteger(false);
	copy->custom_private = list_copy(path->custom_private);
	lfirst(list_nth_cell(copy->custom_private, PATH_PRIVATE_PLAN)) = saved;
	copy->path.pathkeys = NIL;
	gpucol_cost_window(&copy->path, w->child, count_sorts(w) - 0.5, list_length(w->functions));
	return copy;
}

static void
add_window_path(const Windows *w, RelOptInfo *output_rel, List *exprs, List *saved)
{
	Path	   *fallback = gpucol_fallback_path(w->root, output_rel);
	CustomPath *path;
	List	   *paths;
	ListCell   *lc;

	if (fallback == NULL)
		return;
	gpucol_plan_twice(w->root, NULL, w->child->rows);
	path = makeNode(CustomPath);
	path->path.pathtype = T_CustomScan;
	path->path.parent = output_rel;
	path->path.pathtarget = w->top->path.pathtarget;
	path->path.rows = count_rows(w);
	path->path.pathkeys = w->pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION | GPUCOL_PATH_FALLS_BACK;
	path->methods = &path_methods;
	path->custom_paths = gpucol_plan_apart(w->root, list_make1(fallback), list_make1(w->child));
	path->custom_private = list_make5(w->child->pathtarget->exprs, w->functions, w->conditions,
									  exprs, saved);
	gpucol_cost_window(&path->path, w->child, count_sorts(w), list_length(w->functions));
	paths = list_make1(path);
	if (has_unordered_keys(w))
		paths = lappend(paths, unordered_path(w, path, saved));
	if (gpucol_pushdown == GPUCOL_PUSHDOWN_REQUIRE)
		output_rel->pathlist = NIL;
	foreach(lc, paths)
		add_path(output_rel, lfirst(lc));
}

/*
 * UPPERREL_WINDOW
 */
void
gpucol_path_window_add(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel)
{
	Windows		w = {.root = root,.child = input_rel->cheapest_total_path};
	List	   *exprs = NIL;
	List	   *saved = NIL;

	if (gpucol_planner_disabled() != NULL || root->rowMarks != NIL || w.child == NULL ||
		w.child->param_info != NULL || output_rel->pathlist == NIL || !is_ours(root, w.child))
		return;
	w.relid = find_table(root);
	if (!gpucol_enable_window)
	{
		(void) decline(&w, "gpucol.enable_window is off");
		return;
	}
	if (contain_volatile_functions((Node *) root->parse))
	{
		(void) decline(&w, "a volatile function in the query");
		return;
	}
	if (!find_clauses(&w, input_rel, linitial(output_rel->pathlist)) ||
		!check_functions(&w) || !save(&w, &exprs, &saved))
		return;
	w.child = choose_child(&w, input_rel);
	add_window_path(&w, output_rel, exprs, saved);
}

/* Append columns to the scan tuple. */
static List *
add_columns(List *tlist, List *exprs)
{
	ListCell   *lc;

	foreach(lc, exprs)
		tlist = lappend(tlist, makeTargetEntry(copyObject(lfirst(lc)), list_length(tlist) + 1,
											   NULL, false));
	return tlist;
}

/* Make the plan node. */
static Plan *
plan_window(PlannerInfo *root pg_attribute_unused(), RelOptInfo *rel pg_attribute_unused(),
			CustomPath *path, List *tlist, List *clauses pg_attribute_unused(),
			List *custom_plans)
{
	CustomScan *cscan = makeNode(CustomScan);

	cscan->custom_scan_tlist = add_columns(NIL, list_nth(path->custom_private, PATH_PRIVATE_CHILD));
	cscan->custom_scan_tlist = add_columns(cscan->custom_scan_tlist,
										   list_nth(path->custom_private, PATH_PRIVATE_FUNCTIONS));
	cscan->scan.plan.targetlist = tlist;
	cscan->scan.plan.qual = copyObject(list_nth(path->custom_private, PATH_PRIVATE_CONDITIONS));
	cscan->custom_exprs = copyObject(list_nth(path->custom_private, PATH_PRIVATE_EXPRS));
	cscan->custom_private = lappend(list_copy(list_nth(path->custom_private, PATH_PRIVATE_PLAN)),
									copyObject(list_nth(path->custom_private, PATH_PRIVATE_FUNCTIONS)));
	cscan->custom_plans = gpucol_plan_together(custom_plans);
	cscan->flags = path->flags;
	cscan->methods = &gpucol_window_methods;
	return &cscan->scan.plan;
}

/* Have a node's scan tuple say its functions as calls. */
static void
name_functions(Plan *plan, void *context)
{
	CustomScan *cscan = (CustomScan *) plan;
	ListCell   *lc;

	if (IsA(plan, CustomScan) && cscan->methods == &gpucol_window_methods)
	{
		foreach(lc, cscan->custom_scan_tlist)
		{
			TargetEntry *entry = lfirst(lc);
			WindowFunc *func = (WindowFunc *) entry->expr;

			if (IsA(func, WindowFunc))
				entry->expr = (Expr *) makeFuncExpr(func->winfnoid, func->wintype, func->args,
													func->wincollid, func->inputcollid,
													COERCE_EXPLICIT_CALL);
		}
	}
	gpucol_plan_walk(plan, name_functions, context);
}

/*
 * Have EXPLAIN write window functions without their windows, which PostgreSQL 18 looks
 * for in a WindowAgg, and fails where there is none.
 */
void
gpucol_window_name_functions(PlannedStmt *stmt)
{
	ListCell   *lc;

	if (stmt->planTree != NULL)
		name_functions(stmt->planTree, NULL);
	foreach(lc, stmt->subplans)
	{
		if (lfirst(lc) != NULL)
			name_functions(lfirst(lc), NULL);
	}
}

/*
 * Register the node's methods, so that plans are read by name.
 */
void
gpucol_path_window_init(void)
{
	RegisterCustomScanMethods(&gpucol_window_methods);
}
