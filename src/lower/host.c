/*-------------------------------------------------------------------------
 *
 * lower/host_test.c
 *	  Predicates over one BYTES column (text and every other type without a
 *	  fixed-width form) that PostgreSQL itself evaluates, once per distinct
 *	  value of a dictionary.
 *
 * A value is tested although every row that has it may be excluded by another
 * condition, deleted, or invisible.  So a predicate qualifies only if it
 * cannot raise an error for any value: every function in it is on the list
 * below, or is one that lower/func.c knows and cannot raise.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/pg_locale.h"
#include "utils/regproc.h"

#include "compat.h"
#include "lower/lower.h"

/* Functions that raise no error whatever non-null values they get. */
static const Oid safe_functions[] = {
	/* text, varchar */
	F_TEXTEQ, F_TEXTNE, F_TEXT_LT, F_TEXT_LE, F_TEXT_GT, F_TEXT_GE,
	F_TEXT_PATTERN_LT, F_TEXT_PATTERN_LE, F_TEXT_PATTERN_GE, F_TEXT_PATTERN_GT,
	F_TEXTCAT, F_LENGTH_TEXT, F_TEXTLEN, F_CHAR_LENGTH_TEXT,
	F_CHARACTER_LENGTH_TEXT, F_OCTET_LENGTH_TEXT, F_BIT_LENGTH_TEXT,
	F_LOWER_TEXT, F_UPPER_TEXT, F_INITCAP, F_REVERSE, F_LEFT, F_RIGHT,
	F_BTRIM_TEXT, F_BTRIM_TEXT_TEXT, F_LTRIM_TEXT, F_LTRIM_TEXT_TEXT,
	F_RTRIM_TEXT, F_RTRIM_TEXT_TEXT, F_STRPOS, F_POSITION_TEXT_TEXT,
	F_STARTS_WITH, F_REPLACE, F_MD5_TEXT, F_SUBSTR_TEXT_INT4,
	F_SUBSTRING_TEXT_INT4,
	/* char(n), name */
	F_BPCHAREQ, F_BPCHARNE, F_BPCHARLT, F_BPCHARLE, F_BPCHARGT, F_BPCHARGE,
	F_BPCHAR_PATTERN_LT, F_BPCHAR_PATTERN_LE, F_BPCHAR_PATTERN_GE,
	F_BPCHAR_PATTERN_GT, F_TEXT_BPCHAR, F_LENGTH_BPCHAR,
	F_CHAR_LENGTH_BPCHAR, F_CHARACTER_LENGTH_BPCHAR, F_OCTET_LENGTH_BPCHAR,
	F_NAMEEQ, F_NAMENE, F_NAMELT, F_NAMELE, F_NAMEGT, F_NAMEGE,
	F_NAMEEQTEXT, F_NAMENETEXT, F_NAMELTTEXT, F_NAMELETEXT, F_NAMEGTTEXT,
	F_NAMEGETEXT, F_TEXTEQNAME, F_TEXTNENAME, F_TEXTLTNAME, F_TEXTLENAME,
	F_TEXTGTNAME, F_TEXTGENAME, F_TEXT_NAME,
	/* patterns; their pattern argument is checked below */
	F_TEXTLIKE, F_TEXTNLIKE, F_LIKE_TEXT_TEXT, F_NOTLIKE_TEXT_TEXT,
	F_TEXTICLIKE, F_TEXTICNLIKE, F_BPCHARLIKE, F_BPCHARNLIKE,
	F_BPCHARICLIKE, F_BPCHARICNLIKE, F_NAMELIKE, F_NAMENLIKE,
	F_NAMEICLIKE, F_NAMEICNLIKE,
	F_TEXTREGEXEQ, F_TEXTREGEXNE, F_TEXTICREGEXEQ, F_TEXTICREGEXNE,
	F_BPCHARREGEXEQ, F_BPCHARREGEXNE, F_BPCHARICREGEXEQ, F_BPCHARICREGEXNE,
	F_NAMEREGEXEQ, F_NAMEREGEXNE, F_NAMEICREGEXEQ, F_NAMEICREGEXNE,
	/* bytea, uuid, interval, timetz, addresses, bit strings */
	F_BYTEAEQ, F_BYTEANE, F_BYTEALT, F_BYTEALE, F_BYTEAGT, F_BYTEAGE,
	F_LENGTH_BYTEA, F_OCTET_LENGTH_BYTEA, F_MD5_BYTEA,
	F_UUID_EQ, F_UUID_NE, F_UUID_LT, F_UUID_LE, F_UUID_GT, F_UUID_GE,
	F_INTERVAL_EQ, F_INTERVAL_NE, F_INTERVAL_LT, F_INTERVAL_LE,
	F_INTERVAL_GT, F_INTERVAL_GE,
	F_TIMETZ_EQ, F_TIMETZ_NE, F_TIMETZ_LT, F_TIMETZ_LE, F_TIMETZ_GT,
	F_TIMETZ_GE,
	F_MACADDR_EQ, F_MACADDR_NE, F_MACADDR_LT, F_MACADDR_LE, F_MACADDR_GT,
	F_MACADDR_GE,
	F_NETWORK_EQ, F_NETWORK_NE, F_NETWORK_LT, F_NETWORK_LE, F_NETWORK_GT,
	F_NETWORK_GE, F_NETWORK_SUB, F_NETWORK_SUBEQ, F_NETWORK_SUP,
	F_NETWORK_SUPEQ, F_NETWORK_OVERLAP,
	F_BITEQ, F_BITNE, F_BITLT, F_BITLE, F_BITGT, F_BITGE,
	F_VARBITEQ, F_VARBITNE, F_VARBITLT, F_VARBITLE, F_VARBITGT, F_VARBITGE,
	/* jsonb */
	F_JSONB_EQ, F_JSONB_NE, F_JSONB_CONTAINS, F_JSONB_CONTAINED,
	F_JSONB_EXISTS, F_JSONB_EXISTS_ANY, F_JSONB_EXISTS_ALL,
	F_JSONB_OBJECT_FIELD, F_JSONB_OBJECT_FIELD_TEXT,
	F_JSONB_ARRAY_ELEMENT, F_JSONB_ARRAY_ELEMENT_TEXT, F_JSONB_TYPEOF,
};

/* Does a LIKE function come with an escape that its pattern can break? */
static bool
is_like(Oid funcid)
{
	switch (funcid)
	{
		case F_TEXTLIKE:
		case F_TEXTNLIKE:
		case F_LIKE_TEXT_TEXT:
		case F_NOTLIKE_TEXT_TEXT:
		case F_TEXTICLIKE:
		case F_TEXTICNLIKE:
		case F_BPCHARLIKE:
		case F_BPCHARNLIKE:
		case F_BPCHARICLIKE:
		case F_BPCHARICNLIKE:
		case F_NAMELIKE:
		case F_NAMENLIKE:
		case F_NAMEICLIKE:
		case F_NAMEICNLIKE:
			return true;
		default:
			return false;
	}
}

/* Does a function refuse non-deterministic collations? */
static bool
needs_deterministic_collation(Oid funcid)
{
	switch (funcid)
	{
		case F_STRPOS:
		case F_POSITION_TEXT_TEXT:
		case F_STARTS_WITH:
		case F_REPLACE:
		case F_TEXTREGEXEQ:
		case F_TEXTREGEXNE:
		case F_TEXTICREGEXEQ:
		case F_TEXTICREGEXNE:
		case F_BPCHARREGEXEQ:
		case F_BPCHARREGEXNE:
		case F_BPCHARICREGEXEQ:
		case F_BPCHARICREGEXNE:
		case F_NAMEREGEXEQ:
		case F_NAMEREGEXNE:
		case F_NAMEICREGEXEQ:
		case F_NAMEICREGEXNE:
		case F_TEXT_PATTERN_LT:
		case F_TEXT_PATTERN_LE:
		case F_TEXT_PATTERN_GE:
		case F_TEXT_PATTERN_GT:
			return true;
		default:
			return is_like(funcid);
	}
}

/* Can every value be matched against this pattern? */
static bool
check_pattern(GpucolLower *l, Datum pattern)
{
	text	   *chars = DatumGetTextPP(pattern);
	char	   *data = VARDATA_ANY(chars);
	int			len = VARSIZE_ANY_EXHDR(chars);

	for (int i = 0; i < len; i++)
	{
		if (data[i] == '\\' && ++i == len)
			return gpucol_lower_decline(l, "LIKE pattern ends with the escape character");
	}
	return true;
}

/* The same of a LIKE function's pattern, or array of patterns. */
static bool
check_like(GpucolLower *l, Expr *pattern, bool is_array)
{
	Datum		value;
	bool		isnull;
	Datum	   *elements;
	bool	   *nulls;
	int			n;

	if (!gpucol_lower_is_constant(pattern))
		return gpucol_lower_decline(l, "LIKE pattern is not constant");
	if (l->conditional > 0 && !gpucol_lower_is_safe_constant(l, pattern))
		return gpucol_lower_decline(l, "LIKE pattern in a branch that may be left out");
	if (!gpucol_lower_eval(l, pattern, &value, &isnull) || isnull)
		return true;
	if (!is_array)
		return check_pattern(l, value);
	deconstruct_array(DatumGetArrayTypeP(value), TEXTOID, -1, false, TYPALIGN_INT,
					  &elements, &nulls, &n);
	for (int i = 0; i < n; i++)
	{
		if (!nulls[i] && !check_pattern(l, elements[i]))
			return false;
	}
	return true;
}

/* Is this function free of errors, LIKE patterns apart? */
static bool
check_function(GpucolLower *l, Oid funcid, Oid collation)
{
	const GpucolFunction *f = gpucol_lower_function(funcid);
	bool		safe = f != NULL && !gpucol_opcode_may_raise(f->op, f->aux);

	for (int i = 0; i < (int) lengthof(safe_functions) && !safe; i++)
		safe = safe_functions[i] == funcid;
	if (!safe)
		return gpucol_lower_decline(l, "function %s is not known to be free of errors",
									format_procedure(funcid));
	if (OidIsValid(collation) && needs_deterministic_collation(funcid) &&
		!get_collation_isdeterministic(collation))
		return gpucol_lower_decline(l, "function %s needs a deterministic collation",
									format_procedure(funcid));
	return true;
}

/* The same with its arguments; with `over_array` the second is an array of such. */
static bool
check_call(GpucolLower *l, Oid funcid, List *args, Oid collation, bool over_array)
{
	return check_function(l, funcid, collation) &&
		(!is_like(funcid) || check_like(l, lsecond(args), over_array));
}

/*
 * The one BYTES column that an expression refers to, as attribute number, or 0.
 */
static AttrNumber
find_column(GpucolLower *l, Expr *expr)
{
	Bitmapset  *attnos = NULL;
	AttrNumber	attnum;
	Form_pg_attribute att;
	GpucolTypeMap map;

	pull_varattnos((Node *) expr, l->varno, &attnos);
	if (bms_membership(attnos) != BMS_SINGLETON)
		return 0;
	attnum = bms_singleton_member(attnos) + FirstLowInvalidHeapAttributeNumber;
	if (attnum <= 0)
		return 0;
	att = TupleDescAttr(l->desc, attnum - 1);
	if (att->attisdropped)
		return 0;
	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	return map.kind == GPUCOL_KIND_BYTES ? attnum : 0;
}

/*
 * A parameter is evaluated with the test, so before any row is known to need it, unless
 * it is evaluated now.
 */
static bool
check_param(GpucolLower *l, Expr *param)
{
	Datum		value;
	bool		isnull;

	if (!gpucol_lower_is_constant(param))
		return gpucol_lower_decline(l, "it refers to a parameter of another kind");
	if (gpucol_lower_is_safe_constant(l, param))
		return true;
	if (l->conditional > 0)
		return gpucol_lower_decline(l, "it refers to a subquery in a branch that may be left out");
	gpucol_lower_eval(l, param, &value, &isnull);
	return true;
}

/* Is one node of the predicate (not its children) allowed? */
static bool
check_node(GpucolLower *l, Node *node)
{
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varno == (int) l->varno ||
				gpucol_lower_decline(l, "it refers to another table");
		case T_Const:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CaseTestExpr:
		case T_CoalesceExpr:
		case T_RelabelType:
		case T_List:
			return true;
		case T_Param:
			return check_param(l, (Expr *) node);
		case T_NullTest:
			return !((NullTest *) node)->argisrow ||
				gpucol_lower_decline(l, "it tests a row for NULL");
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			return check_call(l, ((OpExpr *) node)->opfuncid, ((OpExpr *) node)->args,
							  ((OpExpr *) node)->inputcollid, false);
		case T_FuncExpr:
			return check_call(l, ((FuncExpr *) node)->funcid, ((FuncExpr *) node)->args,
							  ((FuncExpr *) node)->inputcollid, false);
		case T_ScalarArrayOpExpr:
			return check_call(l, ((ScalarArrayOpExpr *) node)->opfuncid,
							  ((ScalarArrayOpExpr *) node)->args,
							  ((ScalarArrayOpExpr *) node)->inputcollid, true);
		default:
			return gpucol_lower_decline(l, "it contains an expression that is not pushed down");
	}
}

/* Are some arguments of a node evaluated for some values only? */
static bool
has_branches(Node *node)
{
	switch (nodeTag(node))
	{
		case T_BoolExpr:
			return ((BoolExpr *) node)->boolop != NOT_EXPR;
		case T_CaseExpr:
		case T_CoalesceExpr:
			return true;
		default:
			return false;
	}
}

/* Is something in the predicate not allowed? */
static bool
host_walker(Node *node, void *context)
{
	GpucolLower *l = context;
	bool		branches;
	bool		found;

	if (node == NULL)
		return false;
	if (!check_node(l, node))
		return true;
	branches = has_branches(node);
	l->conditional += branches;
	found = expression_tree_walker(node, host_walker, context);
	l->conditional -= branches;
	return found;
}

/* Replace the column by Var (1, 1). */
static Node *
renumber_mutator(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
	{
		Var		   *var = copyObject((Var *) node);

		var->varno = 1;
		var->varattno = 1;
		return (Node *) var;
	}
	return expression_tree_mutator(node, renumber_mutator, context);
}

/*
 * Make a boolean expression a host test: sets the column slot and the number
 * of the test.  *column is -1 where the expression is not over one BYTES
 * column, so that another way of lowering it may be tried.
 */
bool
gpucol_lower_host(GpucolLower *l, Expr *expr, int *column, int *id)
{
	AttrNumber	attnum = find_column(l, expr);

	*column = -1;
	if (attnum == 0 || exprType((Node *) expr) != BOOLOID)
		return gpucol_lower_decline(l, "it is not a condition on one column");
	*column = gpucol_lower_column(l, attnum);
	if (host_walker((Node *) expr, l))
		return false;
	*id = gpucol_lower_add_host(l, *column,
								(Expr *) renumber_mutator((Node *) expr, NULL));
	return true;
}
