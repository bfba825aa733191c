/*-------------------------------------------------------------------------
 *
 * group.c
 *	  A grouping, shared out between an engine and the executor.
 *
 * What an engine computes is a key or an aggregate of its own.  A key that no
 * engine computes (a function of text, a date_trunc in a time zone) or whose equal
 * values may differ in their bytes is evaluated by PostgreSQL: the engine groups
 * by the columns in it, the *base columns*, and the executor evaluates the key
 * once for each group that comes out and joins the groups of equal keys
 * (exec/regroup.c).  Arguments of aggregates likewise.  So none of them may tell -0
 * from 0 (lower/zero.c).  Of timestamps the engine groups by hours, days or another unit
 * where that does for all of these expressions (lower/coarse.c).
 *
 * A CASE that chooses among constants of a type that engines do not compute with
 * (names of classes) is a CASE among their numbers to the engine; the constants, the
 * key's *labels*, take the numbers' place in what comes out.
 *
 * Of grouping sets the engine computes the groups by all keys, and the executor joins
 * them to the groups of each set.
 *
 * An aggregate that neither of them has (percentiles, string_agg, a user's) is fed rows:
 * then the program is a scan that delivers what keys and arguments are made of, and the
 * executor advances every aggregate of the node row by row (exec/feed.c).
 *
 * A condition that no engine computes, or only with errors that an order of conditions would
 * hide, PostgreSQL tests likewise: once for each of the engine's groups, or on the rows that
 * are fed.  What the engine computes of those that it leaves out must raise no error: the
 * planner sees to it that it is harmless, or that rows are fed, of which the engine delivers
 * columns only.
 *
 * Counting distinct values is the one thing that groups joined later cannot add
 * up; where the engine's groups are finer than the keys, that is the executor's
 * too.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "lower/agg.h"
#include "lower/coarse.h"
#include "lower/harmless_query.h"

/* Something that only the expression's Vars and parameters determine? */
static bool
unfit_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varno != (int) *(Index *) context ||
				((Var *) node)->varattno <= 0 || ((Var *) node)->varlevelsup != 0;
		case T_PlaceHolderVar:
		case T_SubLink:
		case T_SubPlan:
		case T_AlternativeSubPlan:
		case T_Aggref:
		case T_GroupingFunc:
		case T_WindowFunc:
		case T_CurrentOfExpr:
		case T_NextValueExpr:
			return true;
		default:
			return expression_tree_walker(node, unfit_walker, context);
	}
}

/* Can PostgreSQL evaluate the expression on the engine's groups? */
static bool
check_host(GpucolLower *l, Expr *expr)
{
	if (unfit_walker((Node *) expr, &l->varno) ||
		contain_volatile_functions((Node *) expr) ||
		expression_returns_set((Node *) expr))
		return gpucol_lower_decline(l, "it contains a subquery, a volatile or a set-returning function");
	return true;
}

/* The engine's output of a column that is a key already, or -1. */
static int
find_output(const GpucolGroupPlan *plan, AttrNumber attnum)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		Var		   *var = (Var *) plan->keys[i].expr;

		if (plan->keys[i].output >= 0 && IsA(var, Var) && var->varattno == attnum)
			return i;
	}
	return -1;
}

/* Have the engine group by a column. */
static bool
add_base(GpucolLower *l, GpucolGroupPlan *plan, AttrNumber attnum)
{
	Form_pg_attribute att = TupleDescAttr(l->desc, attnum - 1);
	Var			var = {
		.xpr.type = T_Var,
		.varno = l->varno,
		.varattno = attnum,
		.vartype = att->atttypid,
		.vartypmod = att->atttypmod,
		.varcollid = att->attcollation
	};
	GpucolBaseColumn *base;
	int			key;

	for (int i = 0; i < plan->nbase; i++)
	{
		plan->again |= plan->base[i].attnum == attnum &&
			plan->base[i].unit > plan->units[attnum - 1];
		if (plan->base[i].attnum == attnum)
			return true;
	}
	base = &plan->base[plan->nbase];
	base->attnum = attnum;
	base->unit = 0;
	base->output = l->nkeys;
	key = find_output(plan, attnum);
	if (key >= 0)
	{
		base->output = plan->keys[key].output;
		base->value = plan->keys[key].value;
	}
	else if (plan->units[attnum - 1] == 0)
	{
		if (!gpucol_lower_output(l, (Expr *) &var, &base->value))
			return false;
	}
	else
	{
		base->unit = plan->units[attnum - 1];
		if (!gpucol_lower_expr(l, (Expr *) &var, &base->value))
			return false;
		gpucol_coarse_lower(l, base->unit, &base->value);
		gpucol_lower_add_output(l, base->value.reg);
	}
	plan->nbase++;
	return true;
}

/* Note how fine a column has to be for one more expression. */
static void
note_unit(GpucolLower *l, GpucolGroupPlan *plan, Expr *expr, AttrNumber attnum)
{
	int64	   *unit = &plan->units[attnum - 1];
	int64		needed = gpucol_coarse_unit(l->desc, expr, attnum);

	*unit = *unit < 0 ? needed : gpucol_coarse_both(*unit, needed);
}

/* Have the engine group by the columns of an expression. */
static bool
add_bases(GpucolLower *l, GpucolGroupPlan *plan, Expr *expr)
{
	Bitmapset  *attnos = NULL;
	int			member = -1;

	if (!check_host(l, expr) || !gpucol_lower_check_zero(l, expr))
		return false;
	pull_varattnos((Node *) expr, l->varno, &attnos);
	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		note_unit(l, plan, expr, attnum);
		if (!add_base(l, plan, attnum))
			return false;
	}
	plan->regroup = true;
	return true;
}

/*
 * Have the engine deliver the columns of an expression that is evaluated row by row.
 */
bool
gpucol_lower_bases(GpucolLower *l, GpucolGroupPlan *plan, Expr *expr)
{
	Bitmapset  *attnos = NULL;
	int			member = -1;

	if (!check_host(l, expr))
		return false;
	pull_varattnos((Node *) expr, l->varno, &attnos);
	while ((member = bms_next_member(attnos, member)) >= 0)
	{
		AttrNumber	attnum = member + FirstLowInvalidHeapAttributeNumber;

		plan->units[attnum - 1] = 0;
		if (!add_base(l, plan, attnum))
			return false;
	}
	return true;
}

/* Can groups be looked up by values of this type? */
static bool
check_hashable(GpucolLower *l, Expr *expr)
{
	Oid			type = exprType((Node *) expr);

	if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc))
		return gpucol_lower_decline(l, "type %s cannot be hashed", format_type_be(type));
	return true;
}

/* The number of a label among *n, added if it is new. */
static int
number_label(const Const *label, Datum *labels, int *n)
{
	for (int i = 0; i < *n; i++)
	{
		if (datum_image_eq(labels[i], label->constvalue, label->constbyval, label->constlen))
			return i;
	}
	labels[*n] = label->constvalue;
	return (*n)++;
}

/* A label's number, or NULL; NULL if it is no constant. */
static Expr *
numbered(Expr *result, Datum *labels, int *n)
{
	Const	   *label = (Const *) result;

	if (!IsA(label, Const))
		return NULL;
	return (Expr *) makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
							  Int32GetDatum(label->constisnull ? 0 : number_label(label, labels, n)),
							  label->constisnull, true);
}

/* A CASE among constants as one among their numbers; NULL if it is none. */
static Expr *
number_case(CaseExpr *from, Datum *labels)
{
	CaseExpr   *to = makeNode(CaseExpr);
	int			n = 0;
	ListCell   *lc;

	*to = *from;
	to->casetype = INT4OID;
	to->casecollid = InvalidOid;
	to->args = NIL;
	foreach(lc, from->args)
	{
		CaseWhen   *when = makeNode(CaseWhen);

		*when = *lfirst_node(CaseWhen, lc);
		when->result = numbered(when->result, labels, &n);
		if (when->result == NULL)
			return NULL;
		to->args = lappend(to->args, when);
	}
	if (from->defresult != NULL)
		to->defresult = numbered(from->defresult, labels, &n);
	return from->defresult != NULL && to->defresult == NULL ? NULL : (Expr *) to;
}

/* Lower a key by the numbers of its labels, equal ones of which are equal in bytes. */
static bool
lower_labels(GpucolLower *l, GpucolGroupKey *key)
{
	CaseExpr   *expr = (CaseExpr *) key->expr;
	GpucolTypeMap map;
	Datum	   *labels;
	Expr	   *numbers;

	if (!IsA(expr, CaseExpr))
		return false;
	gpucol_typemap_init(&map, expr->casetype, -1, expr->casecollid);
	if (map.kind != GPUCOL_KIND_BYTES || !map.bytewise_equal)
		return false;
	labels = palloc((list_length(expr->args) + 1) * sizeof(Datum));
	numbers = number_case(expr, labels);
	if (numbers == NULL || !gpucol_lower_output(l, numbers, &key->value) ||
		key->value.cls != GPUCOL_CLASS_I)
		return false;
	key->labels = labels;
	return true;
}

/* Lower a numeric key whose equal values may display different numbers of digits, beside the state of these. */
static bool
lower_shown(GpucolLower *l, const GpucolGroupPlan *plan, GpucolGroupKey *key)
{
	GpucolValue *value = &key->value;

	if (plan->regroup || plan->feeding || l->no_extremes || getBaseType(exprType((Node *) key->expr)) != NUMERICOID ||
		!gpucol_lower_number(l, key->expr, value) || value->cls != GPUCOL_CLASS_D ||
		(value->packed && IsA(key->expr, Var) && !gpucol_lower_formed(l, key->expr, value)) ||
		(!value->packed && value->scale_reg == GPUCOL_NO_REG))
		return false;
	if (value->packed)
	{
		value->scale_reg = gpucol_lower_packed_scale(l, value);
		value->reg = gpucol_lower_trimmed(l, value);
	}
	gpucol_lower_add_output(l, value->reg);
	key->shown_state = gpucol_lower_agg(l, GPUCOL_AGG_MAX, GPUCOL_CLASS_I, value->scale_reg, GPUCOL_NO_REG);
	return true;
}

/* Lower a key for the engine. */
static bool
lower_key(GpucolLower *l, const GpucolGroupPlan *plan, bool may_regroup, GpucolGroupKey *key)
{
	GpucolLower mark = *l;

	key->shown_state = -1;
	key->output = -1;
	key->labels = NULL;
	if (plan->tests != NIL && plan->feeding && !IsA(key->expr, Var))
		return false;
	key->output = l->nkeys;
	/* numbers come before texts */
	if (lower_labels(l, key))
		return true;
	gpucol_lower_restore(l, &mark);
	if (gpucol_lower_number_output(l, key->expr, &key->value) &&
		(key->value.cls != GPUCOL_CLASS_S || gpucol_lower_check_bytewise(l, key->expr)))
		return true;
	mark.reason = l->reason;
	gpucol_lower_restore(l, &mark);
	if (may_regroup && lower_shown(l, plan, key))
		return true;
	gpucol_lower_restore(l, &mark);
	l->reason = mark.reason;
	key->output = -1;
	return false;
}

/* Can the groups of a plan be looked up by all of their keys, the engine's too? */
static bool
check_keys_hashable(GpucolLower *l, const GpucolGroupPlan *plan)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (!check_hashable(l, plan->keys[i].expr))
			return gpucol_lower_decline(l, "group key: %s", l->reason);
	}
	return true;
}

/* Lower keys; those that the engine does not compute are left for later. */
static bool
lower_keys(GpucolLower *l, bool may_regroup, GpucolGroupPlan *plan)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (!lower_key(l, plan, may_regroup, &plan->keys[i]) &&
			(!may_regroup || !check_host(l, plan->keys[i].expr)))
			return gpucol_lower_decline(l, "group key: %s", l->reason);
	}
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (plan->keys[i].output < 0 && !add_bases(l, plan, plan->keys[i].expr))
			return false;
	}
	return true;
}

/* Have the engine deliver what conditions that PostgreSQL tests are about. */
static bool
lower_tests(GpucolLower *l, GpucolGroupPlan *plan)
{
	ListCell   *lc;

	foreach(lc, plan->tests)
	{
		if (!contain_var_clause(lfirst(lc)))
			return gpucol_lower_decline(l, "condition: it is about no column");
		if (!add_bases(l, plan, lfirst(lc)))
			return gpucol_lower_decline(l, "condition: %s", l->reason);
	}
	return true;
}

/* Lower an aggregate for the executor: its columns and the state of its rows. */
static bool
lower_host_agg(GpucolLower *l, Aggref *agg, GpucolGroupPlan *plan, GpucolFinal *final)
{
	uint16		filter = GPUCOL_NO_REG;

	if (!gpucol_lower_host_agg(l, agg, final) ||
		(agg->aggfilter != NULL && !gpucol_lower_bool(l, agg->aggfilter, &filter)) ||
		!add_bases(l, plan, final->arg))
		return false;
	final->rows = gpucol_lower_agg(l, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE,
								   GPUCOL_NO_REG, filter);
	plan->nhost++;
	return true;
}

/* Lower aggregates that are fed rows. */
static bool
lower_fed_aggs(GpucolLower *l, List *aggs, GpucolGroupPlan *plan)
{
	ListCell   *lc;

	plan->regroup = true;
	foreach(lc, aggs)
	{
		if (!gpucol_lower_fed(l, lfirst(lc), plan, &plan->finals[foreach_current_index(lc)]))
			return false;
	}
	return true;
}

/*
 * Lower aggregates.  One that neither the engine computes nor the executor for its groups
 * has all of them fed rows.
 */
static bool
lower_aggs(GpucolLower *l, List *aggs, bool may_regroup, GpucolGroupPlan *plan)
{
	bool		distinct = false;
	ListCell   *lc;

	if (plan->feeding)
		return lower_fed_aggs(l, aggs, plan);

	foreach(lc, aggs)
	{
		GpucolFinal *final = &plan->finals[foreach_current_index(lc)];
		GpucolLower mark = *l;
		const char *reason;

		if (gpucol_lower_aggref(l, lfirst(lc), final) &&
			!(plan->regroup && final->kind == GPUCOL_FINAL_DISTINCT))
		{
			distinct |= final->kind == GPUCOL_FINAL_DISTINCT;
			continue;
		}
		reason = l->reason;
		gpucol_lower_restore(l, &mark);
		if (!may_regroup)
			return gpucol_lower_decline(l, "%s", reason ? reason : l->reason);
		if (!lower_host_agg(l, lfirst(lc), plan, final))
		{
			plan->feeding = plan->again = true;
			return true;
		}
	}
	plan->again |= distinct && plan->regroup;
	return true;
}

/*
 * Without keys of its own the engine delivers one group even of no rows, which must
 * not become a group of keys.
 */
static void
count_rows(GpucolLower *l, GpucolGroupPlan *plan)
{
	plan->rows = -1;
	if (plan->nkeys > 0 && l->nkeys == 0 && !plan->feeding)
		plan->rows = gpucol_lower_agg(l, GPUCOL_AGG_COUNT_STAR, GPUCOL_CLASS_NONE,
									  GPUCOL_NO_REG, GPUCOL_NO_REG);
}

/* Number the states of the executor after the engine's. */
static void
number_states(GpucolLower *l, GpucolGroupPlan *plan)
{
	int			next = l->naggs;

	for (int i = 0; i < plan->naggs; i++)
	{
		if (plan->finals[i].host != GPUCOL_HOST_NONE && !plan->feeding)
			plan->finals[i].state = next++;
	}
}

/* Is there a key that displays what a state says?  Only groups of the engine's have that. */
static bool
any_shown(const GpucolGroupPlan *plan)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (plan->keys[i].shown_state >= 0)
			return true;
	}
	return false;
}

/*
 * Lower keys and aggregates.
 */
bool
gpucol_lower_grouping(GpucolLower *l, List *keys, List *aggs, List *tests,
					  const GpucolGroupSets *sets, GpucolGroupShare share, GpucolGroupPlan *plan)
{
	bool		may_regroup = share != GPUCOL_GROUP_NOTHING;
	GpucolLower start = *l;
	ListCell   *lc;

	memset(plan, 0, sizeof(*plan));
	plan->sets = *sets;
	plan->tests = tests;
	plan->feeding = share == GPUCOL_GROUP_FEED;
	plan->regroup = sets->sets != NIL || tests != NIL;
	if (plan->regroup && !may_regroup)
		return gpucol_lower_decline(l, tests != NIL ? "conditions that PostgreSQL tests" : "grouping sets");
	plan->nkeys = list_length(keys);
	plan->naggs = list_length(aggs);
	plan->keys = palloc0(Max(plan->nkeys, 1) * sizeof(GpucolGroupKey));
	plan->finals = palloc0(Max(plan->naggs, 1) * sizeof(GpucolFinal));
	plan->base = palloc0(Max(l->desc->natts, 1) * sizeof(GpucolBaseColumn));
	plan->units = palloc(Max(l->desc->natts, 1) * sizeof(int64));
	for (int i = 0; i < l->desc->natts; i++)
		plan->units[i] = -1;
	foreach(lc, keys)
		plan->keys[foreach_current_index(lc)].expr = lfirst(lc);
	do
	{
		/* perhaps once more, now that how fine the groups are is known */
		gpucol_lower_restore(l, &start);
		memset(plan->finals, 0, sizeof(GpucolFinal) * Max(plan->naggs, 1));
		plan->nbase = plan->nhost = 0;
		plan->again = false;
		l->parts = !l->no_extremes;
		l->texts = l->parts && !plan->feeding;
		if (!lower_keys(l, may_regroup, plan))
			return false;
		l->texts = l->parts;
		l->text_rows = plan->feeding;
		if (!lower_tests(l, plan) || !lower_aggs(l, aggs, may_regroup, plan))
			return false;
		plan->again |= (plan->regroup || plan->feeding) && any_shown(plan);
		l->parts = l->texts = l->text_rows = false;
	} while (plan->again);
	if (plan->regroup && !check_keys_hashable(l, plan))
		return false;
	count_rows(l, plan);
	number_states(l, plan);
	return true;
}

/* May an expression be computed for any row? */
static bool
is_harmless(Query *query, Expr *expr)
{
	return expr == NULL || IsA(expr, Var) || gpucol_harmless_expr(query, expr) == NULL;
}

/* May the engine compute what it does of an aggregate? */
static bool
is_harmless_aggregate(Query *query, const GpucolFinal *final, const Aggref *agg)
{
	bool		counts;
	ListCell   *lc;

	if (!is_harmless(query, agg->aggfilter))
		return false;
	if (final->host != GPUCOL_HOST_NONE)
		return true;
	foreach(lc, agg->args)
	{
		if (!is_harmless(query, lfirst_node(TargetEntry, lc)->expr))
			return false;
	}
	return gpucol_harmless_aggregate(agg->aggfnoid, &counts);
}

bool
gpucol_lower_grouping_harmless(Query *query, const GpucolGroupPlan *plan, List *aggs)
{
	for (int i = 0; i < plan->nkeys; i++)
	{
		if (plan->keys[i].output >= 0 && !is_harmless(query, plan->keys[i].expr))
			return false;
	}
	for (int i = 0; i < plan->naggs; i++)
	{
		if (!is_harmless_aggregate(query, &plan->finals[i], list_nth_node(Aggref, aggs, i)))
			return false;
	}
	return true;
}
