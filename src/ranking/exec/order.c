/*-------------------------------------------------------------------------
 *
 * order.c
 *	  The order of labels and x-tuples of rows that tie in everything before them:
 *	  PostgreSQL's own, where words do not have it.
 *
 * Functions of PostgreSQL are called in one thread only, so ranking stays in one from
 * the first such rows on.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "ranking/exec/state.h"
#include "kernel/float_order.h"

/* Compare labels of class S as PostgreSQL does. */
static int
compare_labels(void *arg, int64_t a, int64_t b)
{
	GpucolRankSet *set = (GpucolRankSet *) arg;
	const GpucolStoredLabel *l = (const GpucolStoredLabel *) (intptr_t) a;
	const GpucolStoredLabel *r = (const GpucolStoredLabel *) (intptr_t) b;
	MemoryContext old;
	Datum		x,
				y;
	int			c;

	MemoryContextReset(set->compare_context);
	old = MemoryContextSwitchTo(set->compare_context);
	x = gpucol_typemap_from_bytes(&set->label.map, (GpucolBytes) {l->data, l->len});
	y = gpucol_typemap_from_bytes(&set->label.map, (GpucolBytes) {r->data, r->len});
	c = DatumGetInt32(FunctionCall2Coll(&set->label_cmp,
										set->ranked->collation, x, y));
	MemoryContextSwitchTo(old);
	return c;
}

/* The x-tuple that x of a row stands for. */
Datum
gpucol_rank_node_x_datum(const GpucolRankSet *set, int64 x)
{
	GpucolOutput output;
	GpucolResultColumn column = {.cls = set->ranked->x_value.cls};
	Node	   *expr = (Node *) set->ranked->x;
	GpucolBytes bytes;
	int64_t		small;
	Datum		value;
	bool		isnull;

	if (!gpucol_collect_x(set->node->collect, x, &bytes, &small))
		column.i = &small;
	else if (column.cls == GPUCOL_CLASS_S)
		column.s = &bytes;
	else
		column.i = (const int64_t *) bytes.data;
	gpucol_output_init(&output, exprType(expr), exprTypmod(expr), exprCollation(expr),
					   &set->ranked->x_value);
	gpucol_output_datums(&output, &column, 1, &value, &isnull);
	return value;
}

/* Compare x-tuples as PostgreSQL does: rows tie in everything else. */
static int
compare_x(void *arg, int64_t a, int64_t b)
{
	GpucolRankSet *set = (GpucolRankSet *) arg;
	MemoryContext old;
	int			c;

	MemoryContextReset(set->compare_context);
	old = MemoryContextSwitchTo(set->compare_context);
	c = DatumGetInt32(FunctionCall2Coll(&set->x_cmp, set->ranked->collation,
										gpucol_rank_node_x_datum(set, a), gpucol_rank_node_x_datum(set, b)));
	MemoryContextSwitchTo(old);
	return c;
}

/* Compare labels of class F: as they are ordered, not as their bits are. */
static int
compare_floats(void *arg pg_attribute_unused(), int64_t a, int64_t b)
{
	double		x,
				y;

	memcpy(&x, &a, sizeof(x));
	memcpy(&y, &b, sizeof(y));
	a = gpucol_float_order(x);
	b = gpucol_float_order(y);
	return (a > b) - (a < b);
}

/* Look up what compare_labels or compare_x calls. */
static void
init_compare(GpucolRankSet *set, Oid type, FmgrInfo *cmp)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);

	if (!OidIsValid(entry->cmp_proc))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify a comparison function for type %s",
						format_type_be(type))));
	fmgr_info_cxt(entry->cmp_proc, cmp, set->node->context);
	if (set->compare_context == NULL)
		set->compare_context = AllocSetContextCreate(set->node->context,
													 "gpucol label comparison",
													 ALLOCSET_SMALL_SIZES);
}

void
gpucol_rank_node_set_order(GpucolRankSet *set, GpucolBatchOptions *options)
{
	options->cmp_arg = set;
	if (set->ranked->label != NULL && set->label.cls == GPUCOL_CLASS_S)
	{
		init_compare(set, set->label_type, &set->label_cmp);
		options->label_cmp = compare_labels;
		options->label_alone = true;
	}
	if (set->ranked->label != NULL && set->label.cls == GPUCOL_CLASS_F)
		options->label_cmp = compare_floats;
	if (set->ranked->x != NULL)
	{
		init_compare(set, exprType((Node *) set->ranked->x), &set->x_cmp);
		options->x_cmp = compare_x;
	}
}
