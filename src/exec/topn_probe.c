/*-------------------------------------------------------------------------
 *
 * topn_probe.c
 *	  ORDER BY ... LIMIT k: which rows of a scan can be among the first k.
 *
 * A first scan reads the first sort key alone and keeps the k best values in a
 * heap (exec/topn_best.c).  The k-th best is a condition on the key that the real scan
 * gets besides its own: it skips segments and vectors by zone map, reads the other
 * columns of the few rows that remain, and PostgreSQL sorts those.  Rows that tie with
 * the k-th all remain, so sort keys that are not known here and WITH TIES need no
 * attention.
 *
 * Where many rows tie with the k-th on the first key, another scan reads the second
 * key of these alone: of n rows that tie and m <= k that come before them, only the
 * k - m best by the second key matter.  That is one more condition; and so on with
 * the third key.  Where many tie on all keys, any k - m of them do: they are read
 * apart from those that come before.
 *
 * Where the scan has no conditions of its own and the key is a column, the first
 * scan need not read all of it either: the extreme of a vector's zone map is the
 * value of some row, so the k-th best of these extremes is reached by k rows, and
 * the first scan skips what cannot reach it (exec/topn_zones.c).  Where there are
 * conditions, a value that many times k rows reach is tried likewise: if k of them
 * meet the conditions, no other rows matter.  Else the k-th best of the first rows
 * that meet them is a bound: then the first scan ends and begins anew with it.  So it
 * does for a key of byte strings, which have no zone maps: whether a string reaches the
 * bound is asked once for each entry of a dictionary.
 *
 * A byte string is kept with the TID of its row.  Where the rows of the k best are the
 * first k, and few, they are fetched: no other scan is needed.
 *
 * NULLs that come first take places before all values.  They are counted by the
 * first scan, or by one of their own where that skips by a bound.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "compat.h"
#include "plan/make.h"
#include "plan/plan.h"
#include "exec/result.h"
#include "exec/topn_probe.h"

/*
 * Rows that give a first bound, and how many times k they must be.  Byte strings are
 * unpacked to be compared, so fewer of them are read twice.
 */
#define LOOK_ROWS	65536
#define LOOK_STRINGS	8192
#define LOOK_TIMES	16

/* Rows are fetched one by one where they are one of so many that a scan would read. */
#define FETCH_PART	16384

/*
 * So many times k rows are hoped to hold k that meet the conditions.  In a sorted
 * column that many vectors reach the bound: they are to be a small part of all.
 */
#define ZONE_TIMES	64
#define ZONE_TIMES_LEAST	4
#define ZONE_PART	32

/*
 * Fewer rows that tie with the k-th are delivered without a look at the next key, and
 * fewer than one of so many that were looked at.
 */
#define SPARE_ROWS	1024
#define SPARE_PART	1024

static Node *create_state(CustomScan *cscan);

const CustomScanMethods gpucol_topn_methods = {
	.CustomName = "GpucolTopK",
	.CreateCustomScanState = create_state,
};

/* A scan has a table; rankings have groups. */
static Node *
create_state(CustomScan *cscan)
{
	return cscan->scan.scanrelid > 0 ? gpucol_scan_create_topn(cscan) :
		gpucol_agg_create_ranking(cscan);
}

/* Take in a batch of keys; NULLs are counted. */
static int64
add_batch(GpucolTopnBest *best, const GpucolResult *result)
{
	const GpucolResultColumn *column = &result->columns[0];
	int64		nulls = 0;

	for (uint32 i = 0; i < result->nrows; i++)
	{
		if (column->nulls != NULL && column->nulls[i])
			nulls++;
		else if (column->cls == GPUCOL_CLASS_S)
			gpucol_topn_best_add_bytes(best, &column->s[i], result->tids[i]);
		else
			gpucol_topn_best_add(best, gpucol_topn_order(column, i));
	}
	return nulls;
}

/*-------------------------------------------------------------------------
 * Conditions
 *-------------------------------------------------------------------------
 */

/* A value of a key: its place among int64, or a byte string. */
typedef struct KeyValue
{
	int64		order;
	GpucolBytes bytes;
} KeyValue;

/* The last of the best values. */
static KeyValue
last_value(const GpucolTopnBest *best)
{
	KeyValue	value = {0};

	if (best->order != NULL)
		value.bytes = gpucol_topn_best_last_bytes(best);
	else
		value.order = gpucol_topn_best_last(best);
	return value;
}

/* A value of the key that was delivered, as a constant. */
static Expr *
key_constant(const GpucolTopnProbe *probe, const KeyValue *value)
{
	Node	   *key = (Node *) probe->keys[probe->at].sort.expr;
	Oid			type = exprType(key);
	GpucolOutput output;
	GpucolResultColumn column = {.cls = probe->value.cls};
	int64		order = value->order;
	int64		bits = order < 0 ? order ^ PG_INT64_MAX : order;
	__int128	mantissa = order;
	double		f;
	int16		typlen;
	bool		typbyval;
	Datum		datum;
	bool		isnull;

	memcpy(&f, &bits, sizeof(f));
	if (order == PG_INT64_MAX)
		f = get_float8_nan();
	column.i = (const int64_t *) &order;
	column.d = &mantissa;
	column.f = &f;
	column.s = &value->bytes;
	gpucol_output_init(&output, type, exprTypmod(key), exprCollation(key),
					   &probe->value);
	gpucol_output_datums(&output, &column, 1, &datum, &isnull);
	get_typlenbyval(type, &typlen, &typbyval);
	return (Expr *) makeConst(type, exprTypmod(key), exprCollation(key), typlen,
							  datum, false, typbyval);
}

static Expr *
test_null(const GpucolTopnKey *key, NullTestType type)
{
	return gpucol_make_null_test(copyObject(key->sort.expr), type);
}

/* A comparison of the key that was delivered with a value. */
static Expr *
compare_key(const GpucolTopnProbe *probe, Oid opno, const KeyValue *value)
{
	Expr	   *key = probe->keys[probe->at].sort.expr;
	Expr	   *expr = make_opclause(opno, BOOLOID, false, copyObject(key),
									 key_constant(probe, value), InvalidOid,
									 exprCollation((Node *) key));

	set_opfuncid((OpExpr *) expr);
	return expr;
}

/* The condition that the key is not after this value in the wanted order. */
static Expr *
key_reaches(const GpucolTopnProbe *probe, const KeyValue *value)
{
	return compare_key(probe, probe->keys[probe->at].sort.not_after, value);
}

/* Where the last row that is wanted stands by one key. */
typedef struct Place
{
	enum
	{
		PLACE_ANYWHERE,			/* every row may matter */
		PLACE_VALUE,
		PLACE_NULL
	}			kind;
	KeyValue	value;
	bool		nulls_before;	/* there are NULLs, which come before it */
	int64		left;			/* rows wanted of those that stand there */
	int64		spare;			/* others that stand there; at most PG_INT64_MAX */
} Place;

/*
 * The place of row k, from the k best values (less are kept) and the number of NULLs.
 * Its value is valid as long as the best are.
 */
static Place
find_place(const GpucolTopnKey *key, GpucolTopnBest *best, int64 nulls)
{
	Place		place = {.kind = PLACE_ANYWHERE};
	int64		k = best->k;
	int64		values = best->filled;

	if (key->sort.nulls_first && nulls >= k)
	{
		/* all have not been counted */
		place.kind = PLACE_NULL;
		place.left = k;
		place.spare = PG_INT64_MAX;
		return place;
	}
	if (values + nulls < k)
		return place;
	if (!key->sort.nulls_first && values < k)
	{
		place.kind = PLACE_NULL;
		place.left = k - values;
		place.spare = nulls - place.left;
		return place;
	}
	gpucol_topn_best_keep(best, k - (key->sort.nulls_first ? nulls : 0));
	place.kind = PLACE_VALUE;
	place.value = last_value(best);
	place.nulls_before = key->sort.nulls_first && nulls > 0;
	place.left = gpucol_topn_best_last_ties(best);
	place.spare = best->ties;
	return place;
}

/* The condition on the key alone that a row stands at the place. */
static Expr *
stands_at(const GpucolTopnProbe *probe, const Place *place)
{
	const GpucolTopnKey *key = &probe->keys[probe->at];

	return place->kind == PLACE_NULL ? test_null(key, IS_NULL) :
		compare_key(probe, key->sort.equal, &place->value);
}

/* Conditions on the key of which rows before the place meet one. */
static List *
stands_before(const GpucolTopnProbe *probe, const Place *place)
{
	const GpucolTopnKey *key = &probe->keys[probe->at];
	List	   *any = NIL;

	if (place->kind == PLACE_NULL)
		return key->sort.nulls_first ? NIL : list_make1(test_null(key, IS_NOT_NULL));
	any = list_make1(compare_key(probe, key->sort.before, &place->value));
	return place->nulls_before ? lappend(any, test_null(key, IS_NULL)) : any;
}

/* Conditions on the key of which rows not after the place meet one; NIL: all rows do. */
static List *
stands_by(const GpucolTopnProbe *probe, const Place *place)
{
	const GpucolTopnKey *key = &probe->keys[probe->at];
	List	   *any = NIL;

	if (place->kind == PLACE_NULL)
		return key->sort.nulls_first ? list_make1(test_null(key, IS_NULL)) : NIL;
	any = list_make1(key_reaches(probe, &place->value));
	return place->nulls_before ? lappend(any, test_null(key, IS_NULL)) : any;
}

/*-------------------------------------------------------------------------
 * The first key
 *-------------------------------------------------------------------------
 */

bool
gpucol_topn_keys_are_columns(const GpucolTopnProbe *probe, int n)
{
	for (int i = 0; i < n; i++)
	{
		if (probe->keys[i].attnum == 0)
			return false;
	}
	return true;
}

/* Can the key of some row be NULL, as far as the table's definition says? */
static bool
key_is_nullable(const GpucolTopnProbe *probe, Relation rel)
{
	return !gpucol_compat_never_null(RelationGetDescr(rel), probe->keys[0].attnum - 1);
}

/* A condition that `rows` rows meet, from zone maps; NIL if there is none. */
static List *
zone_condition(GpucolTopnProbe *probe, GpucolExec *scan, int64 rows)
{
	const GpucolTopnKey *key = &probe->keys[0];
	KeyValue	bound = {0};

	if (key->attnum == 0 ||
		!gpucol_topn_zone_bound(scan->rel, scan->node->ss.ps.state->es_snapshot,
								key->attnum, rows, key->sort.descending,
								gpucol_run_budget(scan), &bound.order, &probe->value))
		return NIL;
	return list_make1(key_reaches(probe, &bound));
}

/* Can rows of NULL keys be counted by a scan of their own? */
static bool
nulls_are_apart(const GpucolTopnProbe *probe)
{
	return !probe->keys[0].sort.nulls_first || probe->keys[0].attnum != 0;
}

/*
 * Run the scan to its end, or until it has met `enough` NULLs; GPUCOL_OK where it
 * has met `most` rows and k values before, GPUCOL_OUT_OF_MEMORY where these take too much.
 */
static GpucolStatus
run_scan(GpucolTopnProbe *probe, GpucolExec *scan, GpucolTopnBest *best,
		 int64 *nulls, int64 enough, int64 most)
{
	GpucolResult result;
	GpucolStatus status;

	while ((status = gpucol_run_next(scan, &result)) == GPUCOL_OK)
	{
		CHECK_FOR_INTERRUPTS();
		*nulls += add_batch(best, &result);
		probe->seen += result.nrows;
		if (*nulls >= enough)
		{
			status = GPUCOL_END;
			break;
		}
		if (!gpucol_topn_best_fits(best))
		{
			probe->too_much = true;
			status = GPUCOL_OUT_OF_MEMORY;
			break;
		}
		if (probe->seen >= most && best->filled == best->k)
			break;
	}
	gpucol_run_end(scan);
	return status;
}

/* A condition that many times k rows meet, but few of all; NIL if there is none. */
static List *
hopeful_condition(GpucolTopnProbe *probe, GpucolExec *scan)
{
	double		vectors = scan->rel == NULL ? 0 :
		scan->rel->rd_rel->reltuples / GPUCOL_VECTOR_VALUES;
	double		rows = Min((double) ZONE_TIMES * probe->k, vectors / ZONE_PART);

	return rows < (double) ZONE_TIMES_LEAST * probe->k ? NIL :
		zone_condition(probe, scan, (int64) rows);
}

/*
 * With conditions: find the k best among rows that zone maps say are few, or else a
 * bound.  GPUCOL_END: best has them, or no more rows are there; GPUCOL_OK: *bound.
 */
static GpucolStatus
look_for_bound(GpucolTopnProbe *probe, GpucolExec *scan, GpucolTopnBest *best,
			   int64 *nulls, int64 enough, List **bound)
{
	GpucolStatus status;

	probe->narrow = hopeful_condition(probe, scan);
	if (probe->narrow != NIL)
	{
		status = run_scan(probe, scan, best, nulls, enough, PG_INT64_MAX);
		if (status != GPUCOL_END || best->filled == best->k)
			return status;
		gpucol_topn_best_clear(best);
		probe->narrow = NIL;
	}
	status = run_scan(probe, scan, best, nulls, enough,
					  probe->seen + Max(best->order != NULL ? LOOK_STRINGS : LOOK_ROWS,
										LOOK_TIMES * probe->k));
	if (status == GPUCOL_OK)
	{
		KeyValue	last = last_value(best);

		*bound = list_make1(key_reaches(probe, &last));
		gpucol_topn_best_clear(best);
		*nulls = 0;
	}
	return status;
}

/* Find the k best by the first key; GPUCOL_END: they are found. */
static GpucolStatus
probe_first(GpucolTopnProbe *probe, GpucolExec *scan, bool all_rows, GpucolTopnBest *best,
			int64 *nulls)
{
	const GpucolTopnKey *key = &probe->keys[0];
	GpucolStatus status = GPUCOL_END;
	List	   *bound = NIL;
	int64		enough = key->sort.nulls_first ? probe->k : PG_INT64_MAX;
	bool		done = false;
	bool		nulls_left;

	if (all_rows && key->order == NULL)
		bound = zone_condition(probe, scan, probe->k);
	else if (nulls_are_apart(probe) && !key->alone)
	{
		status = look_for_bound(probe, scan, best, nulls, enough, &bound);
		done = status != GPUCOL_OK;
		if (!done)
			status = GPUCOL_END;
	}
	nulls_left = bound != NIL || probe->narrow != NIL;
	if (status == GPUCOL_END && nulls_left && key->sort.nulls_first &&
		key_is_nullable(probe, scan->rel))
	{
		probe->narrow = list_make1(test_null(key, IS_NULL));
		status = run_scan(probe, scan, best, nulls, probe->k, PG_INT64_MAX);
	}
	probe->narrow = bound;
	if (!done && status == GPUCOL_END && *nulls < enough)
		status = run_scan(probe, scan, best, nulls, enough, PG_INT64_MAX);
	return status;
}

/*-------------------------------------------------------------------------
 * All keys
 *-------------------------------------------------------------------------
 */

/* The condition that one of some is met. */
static Node *
any_of(List *conditions)
{
	return list_length(conditions) == 1 ? linitial(conditions) :
		(Node *) makeBoolExpr(OR_EXPR, conditions, -1);
}

/* One more condition: a row meets one of those in `before`, or its key does. */
static void
add_condition(GpucolTopnProbe *probe, List *before, const Place *place)
{
	List	   *any = stands_by(probe, place);

	probe->condition = lappend(probe->condition, any == NIL ? makeBoolConst(true, false) :
							   any_of(list_concat_copy(before, any)));
}

/*
 * Rows that tie on all keys are too many: only some are wanted.  All conditions but
 * the last are those of rows before them, too.
 */
static void
part_ties(GpucolTopnProbe *probe, List *before, List *at_places, const Place *place)
{
	probe->ties = place->left;
	probe->at_place = at_places;
	if (before != NIL)
		probe->before = lappend(list_truncate(list_copy(probe->condition), probe->at),
								any_of(before));
}

/*
 * Are the rows whose byte strings are kept the first k, whatever others tie with the
 * last?  Then, if they are few, note them: no scan need look for them again.
 */
static void
note_rows(GpucolTopnProbe *probe, const GpucolExec *scan, const GpucolTopnBest *best,
		  const Place *place)
{
	bool		any_ties = probe->nkeys == 1 && !probe->all_ties;

	if (best->order == NULL || probe->at > 0 || place->kind != PLACE_VALUE ||
		place->nulls_before || (place->spare > 0 && !any_ties) ||
		scan->rel->rd_rel->reltuples < (double) (probe->keys[0].alone ? GPUCOL_ORDER_FETCHED_PART : FETCH_PART) *
		best->filled)
		return;
	probe->nrows = best->filled;
	probe->rows = palloc(probe->nrows * sizeof(uint64));
	gpucol_topn_best_rows(best, probe->rows);
}

/*
 * Take what a scan has found by one key into the conditions.  True where so many rows
 * tie that the next key is worth a look at those in *at_places, of which *left are
 * wanted.
 */
static bool
take_place(GpucolTopnProbe *probe, const GpucolExec *scan, GpucolTopnBest *best, int64 nulls,
		   List **before, List **at_places, int64 *left)
{
	Place		place = find_place(&probe->keys[probe->at], best, nulls);

	if (place.kind == PLACE_ANYWHERE)
		return false;
	if (!probe->keys[probe->at].alone)
		add_condition(probe, *before, &place);
	note_rows(probe, scan, best, &place);
	if (probe->rows != NULL || probe->keys[probe->at].alone)
		return false;
	if (place.spare < SPARE_ROWS + probe->seen / SPARE_PART)
		return false;
	*before = list_concat(*before, stands_before(probe, &place));
	*at_places = lappend(*at_places, stands_at(probe, &place));
	*left = place.left;
	if (probe->at + 1 < probe->nkeys)
		return true;
	if (!probe->all_ties)
		part_ties(probe, *before, *at_places, &place);
	return false;
}

/* Prepare for the k best by the key at hand; false: they would take too much. */
static bool
begin_key(GpucolTopnProbe *probe, GpucolExec *scan, int64 k, GpucolTopnBest *best)
{
	const GpucolTopnKey *key = &probe->keys[probe->at];

	if (gpucol_topn_best_init(best, k, key->sort.descending, key->order,
							  gpucol_run_budget(scan)))
		return true;
	probe->too_much = true;
	return false;
}

/* Find the best by the next key among the rows that stand at the places of those before. */
static GpucolStatus
probe_next(GpucolTopnProbe *probe, GpucolExec *scan, List *at_places, int64 k,
		   GpucolTopnBest *best, int64 *nulls)
{
	const GpucolTopnKey *key = &probe->keys[probe->at];

	probe->narrow = at_places;
	*nulls = 0;
	return run_scan(probe, scan, best, nulls, key->sort.nulls_first ? k : PG_INT64_MAX, PG_INT64_MAX);
}

/* The column that an expression is, whatever its type. */
static AttrNumber
column_of(const Expr *expr)
{
	return IsA(expr, Var) ? Max(((const Var *) expr)->varattno, 0) : 0;
}

/* Look up the column that a key is, and the order of byte strings. */
static void
init_key(GpucolTopnKey *key, TupleDesc desc)
{
	const Var  *bytes = gpucol_order_key_bytes(key->sort.expr, desc);
	Form_pg_attribute att;
	GpucolTypeMap map;

	key->attnum = column_of(key->sort.expr);
	key->order = NULL;
	key->alone = false;
	if (gpucol_order_is_made(key->sort.expr))
	{
		gpucol_typemap_init(&map, exprType((Node *) key->sort.expr), -1, exprCollation((Node *) key->sort.expr));
		key->order = gpucol_order_create(&map, key->sort.before, exprCollation((Node *) key->sort.expr));
		key->alone = !gpucol_order_is_made_bytewise(key->sort.expr);
		return;
	}
	if (bytes == NULL)
		return;
	key->attnum = bytes->varattno;
	att = TupleDescAttr(desc, key->attnum - 1);
	gpucol_typemap_init(&map, att->atttypid, att->atttypmod, att->attcollation);
	key->order = gpucol_order_create(&map, key->sort.before, exprCollation((Node *) key->sort.expr));
}

void
gpucol_topn_probe_init(GpucolTopnProbe *probe, TupleDesc desc)
{
	for (int i = 0; i < probe->nkeys; i++)
		init_key(&probe->keys[i], desc);
	probe->context = AllocSetContextCreate(CurrentMemoryContext, "gpucol top rows",
										   ALLOCSET_SMALL_SIZES);
}

void
gpucol_topn_probe_reset(GpucolTopnProbe *probe)
{
	probe->condition = probe->at_place = probe->before = probe->narrow = NIL;
	probe->ties = probe->nrows = 0;
	probe->rows = NULL;
	probe->too_much = false;
	MemoryContextReset(probe->context);
}

void
gpucol_topn_probe_run(GpucolTopnProbe *probe, GpucolExec *scan, bool all_rows)
{
	MemoryContext old = MemoryContextSwitchTo(probe->context);
	GpucolTopnBest best;
	GpucolStatus status;
	List	   *before = NIL;
	List	   *at_places = NIL;
	int64		nulls = 0;
	int64		left;
	bool		more;

	probe->at = 0;
	probe->seen = 0;
	more = begin_key(probe, scan, probe->k, &best);
	status = more ? probe_first(probe, scan, all_rows, &best, &nulls) : GPUCOL_OUT_OF_MEMORY;
	while (more)
	{
		more = status == GPUCOL_END &&
			take_place(probe, scan, &best, nulls, &before, &at_places, &left);
		gpucol_topn_best_release(&best);
		if (!more)
			break;
		probe->at++;
		more = begin_key(probe, scan, left, &best);
		if (more)
			status = probe_next(probe, scan, at_places, left, &best, &nulls);
	}
	probe->narrow = NIL;
	MemoryContextSwitchTo(old);
}
