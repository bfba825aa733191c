/*-------------------------------------------------------------------------
 *
 * match_value.c
 *	  What of a column's value a condition on bytes is about: all of it, or a part.
 *
 * Parts are those that text.c knows by numbers of characters, values of type
 * character without the blanks at their ends, and elements of arrays of texts; parts of parts, too.  All are where the
 * value is: nothing is copied.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"

#include "lower/array_value.h"
#include "lower/match_value.h"

static GpucolMatchStep *
make_step(const GpucolMatchStep *before)
{
	GpucolMatchStep *step = palloc0(sizeof(GpucolMatchStep));

	step->before = before;
	return step;
}

const GpucolMatchStep *
gpucol_match_unpadded(const GpucolMatchStep *before)
{
	GpucolMatchStep *step = make_step(before);

	step->unpadded = true;
	return step;
}

/* One element of a column of arrays of texts. */
static bool
is_item(Node *node, const GpucolMatchStep **steps)
{
	SubscriptingRef *ref = (SubscriptingRef *) node;
	GpucolElement element;
	GpucolMatchStep *step;
	Const	   *subscript;
	Node	   *array;

	if (!gpucol_lower_is_item(node) || !gpucol_lower_element(ref->refcontainertype, &element) ||
		element.cls != GPUCOL_CLASS_S || element.type == NUMERICOID)
		return false;
	array = gpucol_lower_array_itself((Node *) ref->refexpr);
	subscript = linitial(ref->refupperindexpr);
	if (!IsA(array, Var) || !IsA(subscript, Const) || subscript->constisnull)
		return false;
	step = make_step(NULL);
	step->item = true;
	step->subscript = DatumGetInt32(subscript->constvalue);
	*steps = step;
	return true;
}

bool
gpucol_match_is_value(Node *node, const GpucolMatchStep **steps)
{
	FuncExpr   *func;
	GpucolMatchStep *step;
	GpucolTextPart part;

	while (node != NULL && IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	*steps = NULL;
	if (node != NULL && IsA(node, SubscriptingRef))
		return is_item(node, steps);
	if (node == NULL || !IsA(node, FuncExpr))
		return node != NULL && IsA(node, Var);
	func = (FuncExpr *) node;
	if (func->funcid == F_TEXT_BPCHAR)
	{
		if (!gpucol_match_is_value(linitial(func->args), steps))
			return false;
		*steps = gpucol_match_unpadded(*steps);
		return true;
	}
	if (!gpucol_lower_find_part(func, &part) ||
		!gpucol_match_is_value(linitial(func->args), steps))
		return false;
	step = make_step(*steps);
	step->part = part;
	*steps = step;
	return true;
}

bool
gpucol_match_may_be_null(const GpucolMatchStep *steps)
{
	for (; steps != NULL; steps = steps->before)
		if (steps->item)
			return true;
	return false;
}

GpucolBytes
gpucol_match_contents(Datum value)
{
	struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

	return (GpucolBytes) {VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed)};
}

GpucolBytes
gpucol_match_take(const GpucolMatchStep *steps, GpucolBytes value)
{
	GpucolArrayValue array;

	if (steps->before != NULL)
		value = gpucol_match_take(steps->before, value);
	if (steps->item)
		return gpucol_array_open(value, &array) &&
			gpucol_array_item(&array, GPUCOL_ARRAY_VARYING, steps->subscript, &value) ? value : (GpucolBytes) {NULL, 0};
	if (value.data == NULL)
		return value;
	if (!steps->unpadded)
		return gpucol_text_part(value, steps->part);
	while (value.len > 0 && value.data[value.len - 1] == ' ')
		value.len--;
	return value;
}

bool
gpucol_match_is_beginning(const GpucolMatchStep *steps, GpucolBytes item, int64 *characters)
{
	const GpucolTextPart *part = &steps->part;
	GpucolTextPart first;

	if (steps->before != NULL || steps->unpadded || steps->item || part->from != 0 || part->count == PG_INT64_MAX ||
		(part->aux & (GPUCOL_TEXT_LAST | GPUCOL_TEXT_ALL_BUT_LAST)) != 0)
		return false;
	*characters = 0;
	for (first = (GpucolTextPart) {part->aux, 1, PG_INT64_MAX}; item.len > 0; (*characters)++)
		item = gpucol_text_part(item, first);
	return true;
}
