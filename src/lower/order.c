/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The order of a BYTES column's values, as PostgreSQL compares them.
 *
 * Where PostgreSQL's order is that of the bytes, they are compared; else its sort
 * support compares two datums, which are made in memory that the next two take over.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/nbtree.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "columnar/collation.h"
#include "compat.h"
#include "lower/order.h"

/* Comparisons between looks for interrupts. */
#define COMPARED_AT_ONCE	1000

/* A value as a datum, in memory that the next one takes over. */
typedef struct Value
{
	char	   *memory;
	Size		size;
} Value;

struct GpucolOrder
{
	GpucolTypeMap map;
	bool		bytewise;		/* PostgreSQL is not asked */
	SortSupportData sort;
	Value		values[2];
	int			ncompared;		/* since scratch was reset */
	MemoryContext scratch;		/* of what a comparison leaves behind */
};

/* Is the order that of the bytes, the shorter of two equal beginnings first? */
static bool
is_bytewise(Oid sortop, Oid collation)
{
	Oid			family;
	Oid			type;
	GpucolCompatOrder order;

	return get_ordering_op_properties(sortop, &family, &type, &order) &&
		gpucol_comparison_is_bytewise(get_opfamily_proc(family, type, type, BTORDER_PROC),
									  collation);
}

GpucolOrder *
gpucol_order_create(const GpucolTypeMap *map, Oid sortop, Oid collation)
{
	GpucolOrder *order = palloc0(sizeof(GpucolOrder));

	order->map = *map;
	order->bytewise = is_bytewise(sortop, collation);
	order->sort.ssup_cxt = CurrentMemoryContext;
	order->sort.ssup_collation = collation;
	PrepareSortSupportFromOrderingOp(sortop, &order->sort);
	order->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpucol order",
										   ALLOCSET_SMALL_SIZES);
	return order;
}

/* The value as a datum. */
static Datum
value_datum(const GpucolOrder *order, Value *value, const GpucolBytes *bytes)
{
	Size		header = order->map.typlen == -1 ? VARHDRSZ : 0;

	if (order->map.typbyval)
		return gpucol_typemap_from_bytes(&order->map, *bytes);
	if (value->size < header + bytes->len)
	{
		value->size = header + bytes->len * 2 + 64;
		value->memory = value->memory == NULL ?
			MemoryContextAllocHuge(order->sort.ssup_cxt, value->size) :
			repalloc_huge(value->memory, value->size);
	}
	if (header > 0)
		SET_VARSIZE(value->memory, header + bytes->len);
	memcpy(value->memory + header, bytes->data, bytes->len);
	return PointerGetDatum(value->memory);
}

/* By PostgreSQL. */
static int
compare_datums(GpucolOrder *order, const GpucolBytes *a, const GpucolBytes *b)
{
	Datum		x = value_datum(order, &order->values[0], a);
	Datum		y = value_datum(order, &order->values[1], b);
	MemoryContext old = MemoryContextSwitchTo(order->scratch);
	int			result = order->sort.comparator(x, y, &order->sort);

	MemoryContextSwitchTo(old);
	if (++order->ncompared >= COMPARED_AT_ONCE)
	{
		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(order->scratch);
		order->ncompared = 0;
	}
	return result;
}

int
gpucol_order_compare(GpucolOrder *order, const GpucolBytes *a, const GpucolBytes *b)
{
	int			result;

	if (!order->bytewise)
		return compare_datums(order, a, b);
	result = memcmp(a->data, b->data, Min(a->len, b->len));
	return result != 0 ? result : (a->len > b->len) - (a->len < b->len);
}

const Var *
gpucol_order_key_bytes(const Expr *expr, TupleDesc desc)
{
	Form_pg_attribute att;
	GpucolTypeMap map;

	while (IsA(expr, RelabelType))
		expr = ((const RelabelType *) expr)->arg;
	if (!IsA(expr, Var) || ((const Var *) expr)->varattno <= 0)
		return NULL;
	att = TupleDescAttr(desc, ((const Var *) expr)->varattno - 1);
	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	return map.kind == GPUCOL_KIND_BYTES ? (const Var *) expr : NULL;
}

bool
gpucol_order_is_made(const Expr *expr)
{
	Oid			type = exprType((const Node *) expr);

	return (type == TEXTOID || type == VARCHAROID) && gpucol_lower_is_made_text((const Node *) expr) &&
		OidIsValid(exprCollation((const Node *) expr));
}

bool
gpucol_order_is_made_bytewise(const Expr *expr)
{
	return gpucol_order_is_made(expr) && gpucol_collation_is_bytewise(exprCollation((const Node *) expr));
}

/* Is the ordinal of the type (class I or B) in the type's own order? */
bool
gpucol_order_is_ordinal(Oid type)
{
	switch (getBaseType(type))
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case OIDOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			return true;
		default:
			return false;
	}
}

bool
gpucol_order_is_int64(const GpucolValue *value, Oid type)
{
	switch (value->cls)
	{
		case GPUCOL_CLASS_B:
		case GPUCOL_CLASS_I:
			return gpucol_order_is_ordinal(type);
		case GPUCOL_CLASS_D:
			return value->digits <= GPUCOL_INT64_DIGITS;
		case GPUCOL_CLASS_F:
			return true;
		default:
			return false;
	}
}

bool
gpucol_order_compares(const Expr *key, int n, const GpucolValue *value, bool *last)
{
	*last = false;
	if (value->packed)
		return false;
	if (gpucol_order_is_int64(value, exprType((const Node *) key)))
		return true;
	*last = true;
	return value->cls == GPUCOL_CLASS_D || (value->cls == GPUCOL_CLASS_S && n == 0 && IsA(key, Var));
}
