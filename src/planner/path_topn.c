/*-------------------------------------------------------------------------
 *
 * path_topn.c
 *	  GpucolTopK below Sort and Limit: ORDER BY ... LIMIT k over one gpucol table
 *	  without sorting, or even delivering, all of its rows.  The same for a
 *	  recursion that is pushed down, in its GpucolRecursiveScan.
 *
 * The node is a GpucolScan that delivers only rows that can be among the first k
 * by the first sort keys, as many as sort like integers or are columns of byte
 * strings; PostgreSQL's Sort and Limit above finish the work, with all sort keys, OFFSET and WITH TIES.  So k must
 * be known, and nothing between the scan and the limit may drop rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/extensible.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "plan/plan.h"
#include "guc.h"
#include "kernel/shape.h"
#include "lower/clauses.h"
#include "lower/harmless_query.h"
#include "lower/order.h"
#include "planner/first_rows.h"
#include "planner/path_topn.h"
#include "planner/planner.h"
#include "planner/subquery.h"
#include "plan/reason.h"
#include "plan/wing.h"

/* More rows than this are sorted by PostgreSQL alone. */
#define MAX_LIMIT	1000000

/* Sort keys that the node looks at. */
#define MAX_KEYS	GPUCOL_SHAPE_MAX_KEYS

/* May keys be byte strings? */
typedef enum BytesKeys
{
	NO_BYTES_KEYS,
	BYTES_KEYS,
	BYTES_KEY_ALONE				/* and one that only PostgreSQL compares, whose first rows are fetched */
} BytesKeys;

/* The first sort keys. */
typedef struct SortKeys
{
	int			n;
	GpucolSortKey keys[MAX_KEYS];
} SortKeys;

static Plan *plan_topn(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *tlist, List *clauses, List *custom_plans);

static const CustomPathMethods path_methods = {
	.CustomName = "GpucolTopK",
	.PlanCustomPath = plan_topn,
};

/* custom_private of a path: the keys, then what the plan node carries. */
enum
{
	PATH_PRIVATE_KEYS,
	PATH_PRIVATE_PLAN
};

/*
 * The scan's path among these, or NULL.  Where the target list computes something,
 * a projection stands above it, whose target the scan can compute itself.
 */
static Path *
find_scan_path(List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		Path	   *outer = lfirst(lc);
		Path	   *path = IsA(outer, ProjectionPath) ?
			((ProjectionPath *) outer)->subpath : outer;

		if (IsA(path, CustomPath) && path->param_info == NULL &&
			(strcmp(((CustomPath *) path)->methods->CustomName, "GpucolScan") == 0 ||
			 gpucol_recursion_wing->is_scan((CustomPath *) path)))
			return outer;
	}
	return NULL;
}

/*
 * A copy of the scan's path of the table, or NULL.  Where parallel workers cost
 * nothing, a Gather may have driven it out: then that of the workers' scan.
 */
static CustomPath *
copy_scan_path(RelOptInfo *rel)
{
	Path	   *outer = find_scan_path(rel->pathlist);
	CustomPath *copy = makeNode(CustomPath);

	if (outer == NULL)
		outer = find_scan_path(rel->partial_pathlist);
	if (outer == NULL)
		return NULL;
	memcpy(copy, IsA(outer, ProjectionPath) ? ((ProjectionPath *) outer)->subpath : outer,
		   sizeof(CustomPath));
	copy->path.pathtarget = outer->pathtarget;
	copy->path.startup_cost = outer->startup_cost;
	copy->path.total_cost = outer->total_cost;
	copy->path.parallel_aware = false;
	copy->path.parallel_workers = 0;
	return copy;
}

/* The value of a constant of LIMIT or OFFSET, not too large to be added; -1 if it is none. */
static int64
constant_of_limit(Node *node)
{
	Const	   *constant = (Const *) node;

	if (node == NULL)
		return 0;
	if (!IsA(node, Const))
		return -1;
	return constant->constisnull ? 0 : Min(DatumGetInt64(constant->constvalue), MAX_LIMIT + 1);
}

int
gpucol_topn_limit(const Query *parse)
{
	int64		count = parse->limitCount == NULL ? 0 : constant_of_limit(parse->limitCount);
	int64		offset = constant_of_limit(parse->limitOffset);

	if (count < 1 || offset < 0 || count + offset > MAX_LIMIT ||
		((Const *) parse->limitCount)->constisnull)
		return 0;
	return (int) (count + offset);
}

/* Does PostgreSQL, too, take no more than the limit of the scan's rows? */
static bool
limit_is_known(PlannerInfo *root)
{
	return root->limit_tuples >= 1 && gpucol_topn_limit(root->parse) > 0;
}

/*
 * The clause of a sort key.  A clause before it may be redundant: a column that the
 * conditions make constant, or that was named before, orders nothing.
 */
static SortGroupClause *
find_clause(PlannerInfo *root, const PathKey *wanted)
{
	ListCell   *lc;

	foreach(lc, root->parse->sortClause)
	{
		List	   *pathkeys = make_pathkeys_for_sortclauses(root, list_make1(lfirst(lc)),
															 root->processed_tlist);

		if (pathkeys != NIL && linitial(pathkeys) == wanted)
			return lfirst_node(SortGroupClause, lc);
	}
	return NULL;
}

bool
gpucol_topn_find_key(PlannerInfo *root, const PathKey *wanted, GpucolSortKey *key)
{
	const SortGroupClause *clause = find_clause(root, wanted);

	return clause != NULL && gpucol_topn_clause_key(root, clause, key);
}

bool
gpucol_topn_clause_key(PlannerInfo *root, const SortGroupClause *clause, GpucolSortKey *key)
{
	TypeCacheEntry *type;
	Oid			family;
	Oid			input;

	key->expr = (Expr *) get_sortgroupclause_expr((SortGroupClause *) clause, root->processed_tlist);
	key->nulls_first = clause->nulls_first;
	type = lookup_type_cache(exprType((Node *) key->expr),
							 TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	if (clause->sortop != type->lt_opr && clause->sortop != type->gt_opr)
		return false;
	key->descending = clause->sortop == type->gt_opr;
	family = type->btree_opf;
	input = type->btree_opintype;
	key->not_after = get_opfamily_member(family, input, input,
										 key->descending ? BTGreaterEqualStrategyNumber :
										 BTLessEqualStrategyNumber);
	key->before = get_opfamily_member(family, input, input,
									  key->descending ? BTGreaterStrategyNumber :
									  BTLessStrategyNumber);
	key->equal = get_opfamily_member(family, input, input, BTEqualStrategyNumber);
	return OidIsValid(key->not_after) && OidIsValid(key->before) && OidIsValid(key->equal);
}

/* Find the first sort keys; false where there is none. */
static bool
find_keys(PlannerInfo *root, SortKeys *keys)
{
	ListCell   *lc;

	keys->n = 0;
	foreach(lc, root->sort_pathkeys)
	{
		if (keys->n == MAX_KEYS || !gpucol_topn_find_key(root, lfirst(lc), &keys->keys[keys->n]))
			break;
		keys->n++;
	}
	return keys->n > 0;
}

/* A comparison of the key with a value. */
static Expr *
comparison(const GpucolSortKey *key, Oid opno)
{
	Node	   *expr = (Node *) key->expr;
	Expr	   *test;

	test = make_opclause(opno, BOOLOID, false, copyObject(key->expr),
						 (Expr *) makeNullConst(exprType(expr), exprTypmod(expr),
												exprCollation(expr)),
						 InvalidOid, exprCollation(expr));
	set_opfuncid((OpExpr *) test);
	return test;
}

/*
 * A key of byte strings is a column that PostgreSQL may compare with any value, or made by the engine.  Where
 * only PostgreSQL compares these, it is to be all of the order.
 */
static bool
check_bytes_key(GpucolLower *l, const GpucolSortKey *key, BytesKeys bytes, const char **why)
{
	Oid			operators[] = {key->not_after, key->before, key->equal};
	int			column;
	int			id;

	if (gpucol_order_is_made(key->expr))
	{
		*why = "texts that are made are compared by PostgreSQL";
		return bytes == BYTES_KEY_ALONE || gpucol_order_is_made_bytewise(key->expr);
	}
	if (gpucol_order_key_bytes(key->expr, l->desc) == NULL)
	{
		*why = psprintf("sort key of type %s that is not a column",
						format_type_be(exprType((Node *) key->expr)));
		return false;
	}
	for (int i = 0; i < (int) lengthof(operators); i++)
	{
		if (!gpucol_lower_host(l, comparison(key, operators[i]), &column, &id))
		{
			*why = psprintf("sort key: %s", l->reason);
			return false;
		}
	}
	return true;
}

/*
 * Can the key be lowered, and does it sort as int64 or, if such may be keys too,
 * as byte strings that PostgreSQL compares?  If not, *why not.
 */
static bool
check_key(GpucolLower *l, const GpucolSortKey *key, BytesKeys bytes, const char **why)
{
	GpucolValue value;

	if (bytes != NO_BYTES_KEYS && gpucol_order_is_made(key->expr) ? !gpucol_lower_text_output(l, key->expr, &value) :
		!gpucol_lower_output(l, key->expr, &value))
		*why = psprintf("sort key: %s", l->reason);
	else if (bytes != NO_BYTES_KEYS && value.cls == GPUCOL_CLASS_S)
		return check_bytes_key(l, key, bytes, why);
	else if (!gpucol_order_is_int64(&value, exprType((Node *) key->expr)))
		*why = psprintf("sort key of type %s", format_type_be(exprType((Node *) key->expr)));
	else
		return true;
	return false;
}

/* The same for all keys: leave out the first that cannot, and those after it. */
static bool
check_keys(GpucolLower *l, SortKeys *keys, BytesKeys bytes, const char **why)
{
	int			n = 0;

	while (n < keys->n && check_key(l, &keys->keys[n], bytes, why))
		n++;
	keys->n = n;
	return n > 0;
}

/* Is there one key, ties by which do not matter, and are few of the rows wanted? */
static bool
is_order_of_one(PlannerInfo *root, RelOptInfo *rel)
{
	return list_length(root->sort_pathkeys) == 1 && root->parse->limitOption != LIMIT_OPTION_WITH_TIES &&
		root->limit_tuples * GPUCOL_ORDER_FETCHED_PART <= rel->tuples;
}

/*
 * Can the conditions and the first key be lowered?  Then *pushed are the conditions,
 * and keys those that can.
 */
static bool
check_lowering(PlannerInfo *root, RelOptInfo *rel, Oid relid, SortKeys *keys,
			   List **pushed)
{
	Relation	table = table_open(relid, NoLock);
	GpucolLower *l = gpucol_lower_begin(RelationGetDescr(table), rel->relid, NULL);
	const char *why = "a condition is not pushed down";
	List	   *rest;
	bool		ok;

	gpucol_clauses_split(root, l, rel->baserestrictinfo, "top rows", pushed, &rest, NULL);
	gpucol_lower_end_filter(l);
	ok = rest == NIL && check_keys(l, keys, is_order_of_one(root, rel) ? BYTES_KEY_ALONE : BYTES_KEYS, &why);
	if (!ok)
		gpucol_reason_add(relid, "top rows", "%s", why);
	table_close(table, NoLock);
	return ok;
}

/* The same for a recursion, whose scan has lowered the conditions. */
static bool
check_recursion(RelOptInfo *rel, const CustomPath *scan, SortKeys *keys)
{
	GpucolLower *l = gpucol_lower_begin(gpucol_recursion_wing->scan_columns(scan),
										rel->relid, NULL);
	const char *why = "a condition is not pushed down";
	bool		ok;

	gpucol_lower_end_filter(l);
	ok = gpucol_recursion_wing->scan_pushes_all(scan) && check_keys(l, keys, NO_BYTES_KEYS, &why);
	if (!ok)
		gpucol_reason_add(InvalidOid, "top rows", "%s", why);
	return ok;
}

/* Cost the path: which columns are looked at, which others are delivered? */
static void
cost_path(RelOptInfo *rel, CustomPath *path, const GpucolSortKey *key, List *pushed)
{
	Bitmapset  *looked = NULL;
	Bitmapset  *others = NULL;

	pull_varattnos((Node *) key->expr, rel->relid, &looked);
	pull_varattnos((Node *) pushed, rel->relid, &looked);
	pull_varattnos((Node *) path->path.pathtarget->exprs, rel->relid, &others);
	others = bms_difference(others, looked);
	gpucol_cost_topn(rel, &path->path, bms_num_members(looked),
					 bms_num_members(others), pushed);
}

/* Do all rows that tie with the last one wanted by these keys matter? */
static bool
wants_ties(PlannerInfo *root, const SortKeys *keys)
{
	return list_length(root->sort_pathkeys) > keys->n ||
		root->parse->limitOption == LIMIT_OPTION_WITH_TIES;
}

/* What the plan node carries. */
static List *
topn_private(PlannerInfo *root, const SortKeys *keys)
{
	List	   *descending = NIL;
	List	   *nulls_first = NIL;
	List	   *operators = NIL;

	for (int i = 0; i < keys->n; i++)
	{
		const GpucolSortKey *key = &keys->keys[i];

		descending = lappend_int(descending, key->descending);
		nulls_first = lappend_int(nulls_first, key->nulls_first);
		operators = lappend_oid(operators, key->not_after);
		operators = lappend_oid(operators, key->before);
		operators = lappend_oid(operators, key->equal);
	}
	return list_make5(makeInteger((int) root->limit_tuples),
					  makeInteger(wants_ties(root, keys)),
					  descending, nulls_first, operators);
}

static bool
has_parameter(Node *node, void *context)
{
	return node != NULL && ((IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC) ||
							expression_tree_walker(node, has_parameter, context));
}

/*
 * Is this a correlated subquery whose scan computes something that may be an error?  PostgreSQL computes it of all rows
 * that the subquery finds, before it sorts them, and so do joins that take its place (subquery_within.c).
 */
static bool
raises_for_key(PlannerInfo *root, RelOptInfo *rel, const CustomPath *scan)
{
	ListCell   *lc;

	if (root->query_level < 2 || !has_parameter((Node *) extract_actual_clauses(rel->baserestrictinfo, false), NULL))
		return false;
	foreach(lc, scan->path.pathtarget->exprs)
	{
		if (IsA(lfirst(lc), Var) || gpucol_harmless_expr(root->parse, lfirst(lc)) == NULL)
			continue;
		if (!gpucol_seldom_is(root->parse))
			gpucol_reason_add(planner_rt_fetch(rel->relid, root)->relid, "top rows",
							  "a column of a correlated subquery may be an error for other rows of a key");
		return true;
	}
	return false;
}

/* Make a scan's path one of at most `limit` rows; the conditions are not a recursion's. */
static void
limit_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, const SortKeys *keys,
		   List *pushed)
{
	List	   *plan_private = topn_private(root, keys);
	List	   *exprs = NIL;

	for (int i = 0; i < keys->n; i++)
		exprs = lappend(exprs, keys->keys[i].expr);
	path->path.rows = Min(root->limit_tuples, rel->rows);
	if (gpucol_recursion_wing->is_scan(path))
	{
		gpucol_recursion_wing->scan_limit(path, lcons(exprs, list_truncate(plan_private, 4)));
		return;
	}
	path->methods = &path_methods;
	path->custom_private = list_make2(exprs, plan_private);
	cost_path(rel, path, &keys->keys[0], pushed);
}

/*
 * UPPERREL_ORDERED: the scan's path, cut to the top rows, sorted.
 */
void
gpucol_path_topn_add(PlannerInfo *root, RelOptInfo *input_rel,
					 RelOptInfo *output_rel)
{
	PathTarget *target = root->upper_targets[UPPERREL_ORDERED];
	CustomPath *scan;
	RangeTblEntry *rte;
	SortKeys	keys;
	List	   *pushed = NIL;
	Path	   *path;

	if (IS_UPPER_REL(input_rel))
		gpucol_path_topn_groups(root, input_rel, output_rel);
	else
		gpucol_path_topn_join(root, input_rel, output_rel);
	if (!IS_SIMPLE_REL(input_rel) ||
		(input_rel->rtekind != RTE_RELATION && input_rel->rtekind != RTE_CTE &&
		 input_rel->rtekind != RTE_FUNCTION) ||
		target == NULL || root->parse->sortClause == NIL ||
		root->parse->hasTargetSRFs || root->rowMarks != NIL ||
		root->sort_pathkeys == NIL || !limit_is_known(root) ||
		(input_rel->rtekind == RTE_RELATION &&
		 root->limit_tuples >= input_rel->rows))
		return;
	scan = copy_scan_path(input_rel);
	if (scan == NULL)
		return;
	rte = planner_rt_fetch(input_rel->relid, root);
	if (!gpucol_enable_topk)
	{
		gpucol_reason_add(rte->relid, "top rows", "gpucol.enable_topk is off");
		return;
	}
	if (!find_keys(root, &keys))
	{
		gpucol_reason_add(rte->relid, "top rows", "an order other than the type's own");
		return;
	}
	if (raises_for_key(root, input_rel, scan))
		return;
	if (!(rte->rtekind != RTE_RELATION ? check_recursion(input_rel, scan, &keys) :
		  check_lowering(root, input_rel, rte->relid, &keys, &pushed)))
		return;
	limit_path(root, input_rel, scan, &keys, pushed);
	path = (Path *) create_sort_path(root, output_rel, &scan->path,
									 root->sort_pathkeys, root->limit_tuples);
	if (path->pathtarget != target)
		path = apply_projection_to_path(root, output_rel, path, target);
	/* nobody knows how many rows a recursion has */
	if (rte->rtekind != RTE_RELATION)
		output_rel->pathlist = list_make1(path);
	else
		output_rel->pathlist = lappend(gpucol_first_rows_prune(root, output_rel->pathlist,
															   root->limit_tuples,
															   path->total_cost), path);
}

/* Make the plan node: a scan with the keys and the limit. */
static Plan *
plan_topn(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
		  List *clauses, List *custom_plans)
{
	CustomScan *cscan = (CustomScan *) gpucol_path_scan_plan(root, rel, path, tlist,
															 clauses, custom_plans);

	cscan->methods = &gpucol_topn_methods;
	cscan->custom_exprs = list_concat(cscan->custom_exprs,
									  copyObject(list_nth(path->custom_private, PATH_PRIVATE_KEYS)));
	cscan->custom_private = list_concat(cscan->custom_private,
										list_nth(path->custom_private, PATH_PRIVATE_PLAN));
	return &cscan->scan.plan;
}

/*
 * Register the node's methods, so that parallel workers find them by name.
 */
void
gpucol_path_topn_init(void)
{
	RegisterCustomScanMethods(&gpucol_topn_methods);
}
