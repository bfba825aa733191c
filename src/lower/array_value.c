/*-------------------------------------------------------------------------
 *
 * array_value.c
 *	  Functions of columns of arrays that engines compute on the stored bytes
 *	  (kernel/array_value.h): sizes, elements by subscript, x = ANY (column), array_position().
 *
 * Elements are integers, dates, times, floats, texts and byte strings; of numerics single ones
 * are taken.  Conditions with constants are decided value by value (match_array.c).
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"

#include "lower/array_value.h"

bool
gpucol_lower_set_value(GpucolValue *out, GpucolClass cls, uint16 reg)
{
	*out = (GpucolValue) {.cls = cls,.reg = reg,.scale_reg = GPUCOL_NO_REG};
	return true;
}

bool
gpucol_lower_element(Oid type, GpucolElement *element)
{
	static const GpucolElement known[] = {
		{INT2OID, GPUCOL_CLASS_I, sizeof(int16)},
		{INT4OID, GPUCOL_CLASS_I, sizeof(int32)},
		{INT8OID, GPUCOL_CLASS_I, sizeof(int64)},
		{DATEOID, GPUCOL_CLASS_I, sizeof(int32)},
		{TIMEOID, GPUCOL_CLASS_I, sizeof(int64)},
		{TIMESTAMPOID, GPUCOL_CLASS_I, sizeof(int64)},
		{TIMESTAMPTZOID, GPUCOL_CLASS_I, sizeof(int64)},
		{FLOAT4OID, GPUCOL_CLASS_F, sizeof(float4)},
		{FLOAT8OID, GPUCOL_CLASS_F, sizeof(float8)},
		{TEXTOID, GPUCOL_CLASS_S, GPUCOL_ARRAY_VARYING},
		{VARCHAROID, GPUCOL_CLASS_S, GPUCOL_ARRAY_VARYING},
		{BYTEAOID, GPUCOL_CLASS_S, GPUCOL_ARRAY_VARYING},
		{NUMERICOID, GPUCOL_CLASS_S, GPUCOL_ARRAY_VARYING},
	};

	type = getBaseType(type);
	for (int i = 0; i < (int) lengthof(known); i++)
	{
		*element = known[i];
		if (get_array_type(known[i].type) == type)
			return true;
	}
	return false;
}

bool
gpucol_lower_is_array(Oid type)
{
	type = getBaseType(type);
	return OidIsValid(get_element_type(type)) && get_array_type(get_element_type(type)) == type;
}

Node *
gpucol_lower_array_itself(Node *node)
{
	for (;;)
	{
		const ArrayCoerceExpr *cast = (const ArrayCoerceExpr *) node;

		if (IsA(node, RelabelType))
			node = (Node *) ((RelabelType *) node)->arg;
		else if (IsA(node, ArrayCoerceExpr) && IsA(cast->elemexpr, RelabelType) &&
				 IsA(((RelabelType *) cast->elemexpr)->arg, CaseTestExpr))
			node = (Node *) cast->arg;
		else
			return node;
	}
}

bool
gpucol_lower_array(GpucolLower *l, Expr *expr, GpucolElement *element, uint16 *reg)
{
	GpucolValue array;

	expr = (Expr *) gpucol_lower_array_itself((Node *) expr);
	if (!gpucol_lower_element(exprType((Node *) expr), element))
		return gpucol_lower_decline(l, "its elements are of type %s",
									format_type_be(get_element_type(getBaseType(exprType((Node *) expr)))));
	if (!gpucol_lower_expr(l, expr, &array))
		return false;
	*reg = array.reg;
	return array.cls == GPUCOL_CLASS_S || gpucol_lower_decline(l, "a constant array");
}

bool
gpucol_lower_array_size(Oid funcid, List *args, int *aux)
{
	const Const *dimension = list_length(args) > 1 ? lsecond(args) : NULL;
	int			what;

	switch (funcid)
	{
		case F_CARDINALITY:
			what = GPUCOL_ARRAY_ITEMS;
			break;
		case F_ARRAY_LENGTH:
			what = GPUCOL_ARRAY_LENGTH;
			break;
		case F_ARRAY_LOWER:
			what = GPUCOL_ARRAY_LOWER;
			break;
		case F_ARRAY_UPPER:
			what = GPUCOL_ARRAY_UPPER;
			break;
		case F_ARRAY_NDIMS:
			what = GPUCOL_ARRAY_DIMENSIONS;
			break;
		default:
			return false;
	}
	*aux = what;
	if (dimension == NULL)
		return gpucol_lower_is_array(exprType(linitial(args)));
	if (!IsA(dimension, Const) || dimension->constisnull || DatumGetInt32(dimension->constvalue) < 1 ||
		DatumGetInt32(dimension->constvalue) > GPUCOL_ARRAY_MOST_DIMENSIONS)
		return false;
	*aux = GPUCOL_ARRAY_SIZE_AUX(what, DatumGetInt32(dimension->constvalue));
	return gpucol_lower_is_array(exprType(linitial(args)));
}

/* The instruction for elements of a class, of three. */
static GpucolOpcode
of_class(const GpucolElement *element, GpucolOpcode integers, GpucolOpcode floats, GpucolOpcode strings)
{
	return element->cls == GPUCOL_CLASS_I ? integers : element->cls == GPUCOL_CLASS_F ? floats : strings;
}

/*
 * Lower a value that is sought among elements of an array; false where it is of another class, or equal values
 * differ in their bytes.
 */
static bool
lower_sought(GpucolLower *l, const GpucolElement *element, Expr *expr, Oid collation, uint16 *reg)
{
	GpucolValue value;

	if (element->type == NUMERICOID)
		return gpucol_lower_decline(l, "numerics are compared");
	if (element->cls == GPUCOL_CLASS_S && element->type != BYTEAOID &&
		(!OidIsValid(collation) || !get_collation_isdeterministic(collation)))
		return gpucol_lower_decline(l, "texts under a collation that is not deterministic");
	if (!gpucol_lower_expr(l, expr, &value))
		return false;
	if (value.cls != element->cls || (value.cls == GPUCOL_CLASS_S && !gpucol_lower_check_bytewise(l, expr)))
		return gpucol_lower_decline(l, "elements and the value have different forms");
	*reg = value.reg;
	return true;
}

/* array_position(array, value), of arrays of one dimension: of others it is an error, for PostgreSQL to raise. */
static bool
lower_position(GpucolLower *l, List *args, Oid collation, GpucolValue *out)
{
	GpucolElement element;
	uint16		array;
	uint16		sought;

	if (!l->aggregating)
		return gpucol_lower_decline(l, "array_position() may raise an error");
	if (!gpucol_lower_array(l, linitial(args), &element, &array) ||
		!lower_sought(l, &element, lsecond(args), collation, &sought))
		return false;
	return gpucol_lower_set_value(out, GPUCOL_CLASS_I,
					 gpucol_lower_emit(l, of_class(&element, GPUCOL_OP_ARRAY_PLACE_I, GPUCOL_OP_ARRAY_PLACE_F,
												   GPUCOL_OP_ARRAY_PLACE_S),
									   array, sought, GPUCOL_NO_REG, element.width));
}

bool
gpucol_lower_array_function(GpucolLower *l, Oid funcid, List *args, Oid collation, bool *matched,
							GpucolValue *out)
{
	GpucolValue array;
	int			aux;

	*matched = true;
	if (funcid == F_ARRAY_POSITION_ANYCOMPATIBLEARRAY_ANYCOMPATIBLE)
		return lower_position(l, args, collation, out);
	*matched = gpucol_lower_array_size(funcid, args, &aux);
	if (!*matched || !gpucol_lower_expr(l, linitial(args), &array))
		return false;
	if (array.cls != GPUCOL_CLASS_S)
		return gpucol_lower_decline(l, "a constant array");
	return gpucol_lower_set_value(out, GPUCOL_CLASS_I,
					 gpucol_lower_emit(l, GPUCOL_OP_ARRAY_SIZE_S, array.reg, GPUCOL_NO_REG, GPUCOL_NO_REG, aux));
}

bool
gpucol_lower_is_item(const Node *node)
{
	const SubscriptingRef *ref = (const SubscriptingRef *) node;

	return IsA(node, SubscriptingRef) && ref->refassgnexpr == NULL && ref->reflowerindexpr == NIL &&
		list_length(ref->refupperindexpr) == 1 && gpucol_lower_is_array(ref->refcontainertype);
}

bool
gpucol_lower_item(GpucolLower *l, const SubscriptingRef *ref, GpucolValue *out)
{
	GpucolElement element;
	GpucolValue subscript;
	uint16		array;

	if (!gpucol_lower_is_item((const Node *) ref))
		return gpucol_lower_decline(l, "a subscript of other than an array of one dimension");
	if (!gpucol_lower_array(l, ref->refexpr, &element, &array) ||
		!gpucol_lower_expr(l, linitial(ref->refupperindexpr), &subscript))
		return false;
	if (element.type == NUMERICOID ? !l->aggregating : element.cls == GPUCOL_CLASS_S && !l->parts)
		return gpucol_lower_decline(l, "it computes a text");
	if (subscript.cls != GPUCOL_CLASS_I)
		return gpucol_lower_decline(l, "a subscript that is no integer");
	return gpucol_lower_set_value(out, element.cls,
					 gpucol_lower_emit(l, of_class(&element, GPUCOL_OP_ARRAY_ITEM_I, GPUCOL_OP_ARRAY_ITEM_F,
												   GPUCOL_OP_ARRAY_ITEM_S),
									   array, subscript.reg, GPUCOL_NO_REG, element.width));
}

/* Is a function of = ANY, or (not `any`) of <> ALL, the equality of the elements and something? */
static bool
is_equality(Oid funcid, const GpucolElement *element, bool any)
{
	const GpucolFunction *f = gpucol_lower_function(funcid);

	if (element->cls == GPUCOL_CLASS_S)
		return any ? funcid == F_TEXTEQ || funcid == F_BYTEAEQ : funcid == F_TEXTNE || funcid == F_BYTEANE;
	if (element->cls == GPUCOL_CLASS_F)
		return f != NULL && f->op == (any ? GPUCOL_OP_EQ_F : GPUCOL_OP_NE_F);
	return f != NULL && f->op == (any ? GPUCOL_OP_EQ_I : GPUCOL_OP_NE_I);
}

bool
gpucol_lower_any_item(GpucolLower *l, const ScalarArrayOpExpr *expr, GpucolValue *out)
{
	GpucolElement element;
	uint16		array;
	uint16		sought;

	if (!gpucol_lower_array(l, lsecond(expr->args), &element, &array))
		return false;
	if (!is_equality(expr->opfuncid, &element, expr->useOr))
		return gpucol_lower_decline(l, "compared with the elements of a column by function %s",
									format_procedure(expr->opfuncid));
	if (!lower_sought(l, &element, linitial(expr->args), expr->inputcollid, &sought))
		return false;
	gpucol_lower_set_value(out, GPUCOL_CLASS_B,
			  gpucol_lower_emit(l, of_class(&element, GPUCOL_OP_ARRAY_HAS_I, GPUCOL_OP_ARRAY_HAS_F,
											GPUCOL_OP_ARRAY_HAS_S),
								array, sought, GPUCOL_NO_REG, element.width));
	if (!expr->useOr)
		out->reg = gpucol_lower_emit(l, GPUCOL_OP_NOT, out->reg, GPUCOL_NO_REG, GPUCOL_NO_REG, 0);
	return true;
}
