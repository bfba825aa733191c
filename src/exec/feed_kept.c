/*-------------------------------------------------------------------------
 *
 * feed_kept.c
 *	  Rows that are kept for an aggregate with DISTINCT or ORDER BY, or for an ordered set.
 *
 * When a group is delivered, the aggregate's functions are called for its rows, sorted, so that
 * only one group's state exists at a time.  The rows of all groups are sorted at once
 * (feed_order.c), or, where memory does not suffice for that, those of each group.  Rows that
 * sort as equals stay in the order of the table.
 *
 * Of rows that DISTINCT compares and whose bytes are the same only the first is kept, as long as
 * many are; where the order is nothing to the aggregate (sums, counts), equal values are found
 * by their hash as they come, and the functions called for new ones at once.  A mode or a
 * percentile is the row at its place.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_aggregate.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "base/prefetch.h"
#include "columnar/collation.h"
#include "exec/feed_order.h"
#include "exec/feeder.h"
#include "exec/image.h"
#include "exec/window_rows.h"

/* Fewer rows are sorted group by group. */
#define ORDERED_ROWS	64

/* So many rows before their turn values are sought in memory, and what leads to them before. */
#define AHEAD	8

/* If so many of the first rows differ, no more repeated ones are sought as rows come. */
#define SAMPLE_ROWS		16384
#define MOSTLY			0.75

/* Aggregates that come out the same in any order of their values. */
static const Oid orderless[] = {
	F_COUNT_ANY, F_SUM_INT2, F_SUM_INT4, F_SUM_INT8, F_SUM_NUMERIC, F_SUM_MONEY,
	F_AVG_INT2, F_AVG_INT4, F_AVG_INT8, F_AVG_NUMERIC, F_BIT_XOR_INT2, F_BIT_XOR_INT4, F_BIT_XOR_INT8
};

/* May repeated values be found by a hash, and the others be left as they come? */
static bool
find_hash(GpucolFeeder *f, const SortGroupClause *clause)
{
	Aggref	   *agg = f->fed->agg;
	Oid			hash;
	Oid			other;
	Oid			type;

	if (list_length(agg->aggdistinct) != 1 || list_length(agg->args) != 1 ||
		!get_op_hash_functions(clause->eqop, &hash, &other))
		return false;
	/* fields of a row may have no hash */
	type = exprType((Node *) linitial_node(TargetEntry, agg->args)->expr);
	if (!OidIsValid(lookup_type_cache(type, TYPECACHE_HASH_PROC)->hash_proc))
		return false;
	for (int i = 0; i < (int) lengthof(orderless); i++)
	{
		if (orderless[i] != agg->aggfnoid)
			continue;
		fmgr_info(hash, &f->hash);
		return true;
	}
	return false;
}

static void
init_values(GpucolFeeder *f)
{
	int			n = Max(f->fed->nargs, 1);

	f->kept.values = palloc0(n * sizeof(Datum *));
	f->kept.isnull = palloc0(n * sizeof(bool *));
	f->kept.context = AllocSetContextCreate(CurrentMemoryContext, "gpucol kept rows",
											ALLOCSET_DEFAULT_SIZES);
}

void
gpucol_kept_init(GpucolFeeder *f)
{
	Aggref	   *agg = f->fed->agg;
	List	   *clauses = agg->aggdistinct != NIL ? agg->aggdistinct : agg->aggorder;
	bool		ordered = AGGKIND_IS_ORDERED_SET(agg->aggkind);
	ListCell   *lc;

	f->keeps = f->call.brief = ordered || clauses != NIL;
	f->counted = agg->aggfnoid == F_MODE || agg->aggfnoid == F_PERCENTILE_DISC_FLOAT8_ANYELEMENT;
	if (f->keeps)
		init_values(f);
	if ((ordered && !f->counted) || clauses == NIL)
		return;
	f->nsort = list_length(clauses);
	f->sort_args = palloc(f->nsort * sizeof(int));
	f->sort_ops = palloc(f->nsort * sizeof(Oid));
	f->sorts = palloc0(f->nsort * sizeof(SortSupportData));
	f->equal = palloc0(f->nsort * sizeof(FmgrInfo));
	foreach(lc, clauses)
	{
		int			i = foreach_current_index(lc);
		SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		TargetEntry *tle = get_sortgroupclause_tle(clause, agg->args);
		SortSupport sort = &f->sorts[i];

		f->sort_args[i] = tle->resno - 1;
		f->sort_ops[i] = clause->sortop;
		sort->ssup_cxt = CurrentMemoryContext;
		sort->ssup_collation = exprCollation((Node *) tle->expr);
		sort->ssup_nulls_first = clause->nulls_first;
		PrepareSortSupportFromOrderingOp(clause->sortop, sort);
		if (agg->aggdistinct != NIL)
			fmgr_info(get_opcode(clause->eqop), &f->equal[i]);
	}
	f->ndistinct = agg->aggdistinct != NIL ? f->nsort : 0;
	f->seeking = f->ndistinct > 0;
	f->hashed = f->ndistinct == 1 && find_hash(f, linitial(clauses));
	f->by_function = f->hashed &&
		!gpucol_equal_by_bytes(exprType((Node *) linitial_node(TargetEntry, agg->args)->expr),
							   f->sorts[0].ssup_collation);
	f->call.brief = !f->hashed;
}

/* ------------------------------------------------------------------------
 * Rows
 * ------------------------------------------------------------------------
 */

/* Room for so many more rows. */
static uint64
wanted_room(const GpucolKept *kept, uint64 nrows)
{
	return kept->n + nrows <= kept->room ? kept->room :
		Max(Max(kept->room + kept->room / 2, kept->n + nrows), 1024);
}

static void
reserve_kept(GpucolFeed *feed, GpucolFeeder *f, uint64 nrows)
{
	GpucolKept	   *kept = &f->kept;
	uint64		room = wanted_room(kept, nrows);
	MemoryContext old;

	if (room == kept->room)
		return;
	if (room > PG_UINT32_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many rows to be sorted for an aggregate")));
	old = MemoryContextSwitchTo(feed->context);
	kept->groups = gpucol_grow(kept->groups, room * sizeof(uint32));
	for (int i = 0; i < f->fed->nargs; i++)
	{
		kept->values[i] = gpucol_grow(kept->values[i], room * sizeof(Datum));
		kept->isnull[i] = gpucol_grow(kept->isnull[i], room * sizeof(bool));
	}
	kept->room = room;
	MemoryContextSwitchTo(old);
}

Size
gpucol_kept_room(const GpucolFeeder *f, uint64 nrows)
{
	uint64		kept = wanted_room(&f->kept, nrows);
	Size		room = 0;

	if (kept != f->kept.room)
		room += kept * (sizeof(uint32) + f->fed->nargs * (sizeof(Datum) + sizeof(bool)));
	if (f->seeking)
		room += gpucol_item_growth(&f->kept.seen, nrows, 0);
	return room;
}

Size
gpucol_kept_finish_room(const GpucolFeeder *f)
{
	return f->kept.n * (sizeof(uint32) + sizeof(uint8));
}

/* Does the strict transition function never see the row? */
static bool
is_of_no_use(const GpucolFeeder *f, const GpucolFeedInput *input, uint32 row)
{
	for (int i = 0; i < f->call.ninputs && f->call.pertrans.transfn.fn_strict; i++)
	{
		if (input->isnull[i][row])
			return true;
	}
	return false;
}

/* Are two kept rows equal to DISTINCT? */
static bool
equal_rows(GpucolFeeder *f, uint32 x, uint32 y)
{
	for (int i = 0; i < f->ndistinct; i++)
	{
		Datum	   *values = f->kept.values[f->sort_args[i]];
		bool	   *isnull = f->kept.isnull[f->sort_args[i]];

		if (isnull[x] != isnull[y] ||
			(!isnull[x] &&
			 !DatumGetBool(FunctionCall2Coll(&f->equal[i], f->sorts[i].ssup_collation,
											 values[x], values[y]))))
			return false;
	}
	return true;
}

/* The hash of the bytes that DISTINCT compares of an offered row; whether those of two kept rows are the same. */
static uint64
hash_image(GpucolFeeder *f, const GpucolFeedInput *input, uint32 row)
{
	uint64		hash = 0;
	int			only = f->sort_args[0];

	if (f->by_function)
		return gpucol_hash_mix(hash, input->isnull[only][row] ? UINT64_MAX :
							   DatumGetUInt32(FunctionCall1Coll(&f->hash, f->sorts[0].ssup_collation,
																input->values[only][row])));
	for (int i = 0; i < f->ndistinct; i++)
	{
		int			arg = f->sort_args[i];

		hash = gpucol_hash_mix(hash, input->isnull[arg][row] ? UINT64_MAX :
							   gpucol_image_hash(input->values[arg][row], f->typlen[arg], f->typbyval[arg]));
	}
	return hash;
}

static bool
same_image(GpucolFeeder *f, uint32 x, uint32 y)
{
	if (f->by_function)
		return equal_rows(f, x, y);
	for (int i = 0; i < f->ndistinct; i++)
	{
		int			arg = f->sort_args[i];
		const Datum *values = f->kept.values[arg];
		const bool *isnull = f->kept.isnull[arg];

		if (isnull[x] != isnull[y] ||
			(!isnull[x] && !gpucol_image_same(values[x], values[y], f->typlen[arg], f->typbyval[arg])))
			return false;
	}
	return true;
}

/* A batch's rows that count, and the hash of each where repeated ones are sought. */
typedef struct Offered
{
	uint32		n;
	uint32	   *rows;
	uint64	   *hashes;
} Offered;

static void
find_offered(GpucolFeeder *f, const GpucolFeedInput *input, uint32 nrows, Offered *offered)
{
	offered->n = 0;
	offered->rows = palloc(Max(nrows, 1) * sizeof(uint32));
	offered->hashes = f->seeking ? palloc(Max(nrows, 1) * sizeof(uint64)) : NULL;
	for (uint32 row = 0; row < nrows; row++)
	{
		if ((input->pass != NULL && !input->pass[row]) || is_of_no_use(f, input, row))
			continue;
		if (f->seeking)
			offered->hashes[offered->n] = hash_image(f, input, row);
		offered->rows[offered->n++] = row;
	}
}

/* The slot where the search for an offered row begins; NULL: there is none. */
static const uint64 *
slot_ahead(const GpucolFeeder *f, const GpucolFeedRows *rows, const Offered *offered, uint32 i, uint32 set,
		   uint64 *hash)
{
	const GpucolHashTable *table = &f->kept.seen.hash;

	if (i >= offered->n)
		return NULL;
	*hash = gpucol_hash_mix(offered->hashes[i], rows->groups[(Size) set * rows->result->nrows + offered->rows[i]]);
	return &table->slots[gpucol_hash_home(table, *hash)];
}

/* The kept row that an offered one is likely to be equal to, by the slot where its search begins. */
static bool
likely_equal(const GpucolFeeder *f, const GpucolFeedRows *rows, const Offered *offered, uint32 i, uint32 set,
			 uint32 *number)
{
	uint64		hash;
	const uint64 *slot = slot_ahead(f, rows, offered, i, set, &hash);

	if (slot == NULL || *slot == 0 || (*slot ^ hash) >> 32 != 0)
		return false;
	*number = (uint32) *slot - 1;
	return true;
}

/* Before an offered row's turn, have sought in memory what those behind it need: slots, numbers there, bytes. */
static void
seek_ahead(const GpucolFeeder *f, const GpucolFeedRows *rows, const Offered *offered, uint32 i)
{
	const GpucolKept *kept = &f->kept;

	for (uint32 set = 0; f->seeking && kept->seen.hash.nslots > 0 && set < rows->nsets; set++)
	{
		uint64		hash;
		uint32		number;
		const uint64 *slot = slot_ahead(f, rows, offered, i + 3 * AHEAD, set, &hash);

		if (slot != NULL)
			GPUCOL_PREFETCH(slot, 1);
		if (likely_equal(f, rows, offered, i + 2 * AHEAD, set, &number))
		{
			GPUCOL_PREFETCH(&kept->groups[number]);
			for (int j = 0; j < f->ndistinct; j++)
				GPUCOL_PREFETCH(&kept->values[f->sort_args[j]][number]);
		}
		if (!likely_equal(f, rows, offered, i + AHEAD, set, &number))
			continue;
		for (int j = 0; j < f->ndistinct; j++)
		{
			if (!f->typbyval[f->sort_args[j]])
				GPUCOL_PREFETCH(DatumGetPointer(kept->values[f->sort_args[j]][number]));
		}
	}
}

/*
 * Is the last kept row, which does not count yet, and whose values have this hash, one that DISTINCT has seen in
 * its group?  Else it is noted.
 */
static bool
is_repeated(GpucolFeeder *f, uint64 image)
{
	GpucolKept	   *kept = &f->kept;
	uint32		row = (uint32) kept->n;
	uint32		group = kept->groups[row];
	uint64		hash = gpucol_hash_mix(image, group);
	uint64		at;
	uint32		number;

	gpucol_item_reserve(&kept->seen);
	at = gpucol_hash_home(&kept->seen.hash, hash);
	while (gpucol_hash_next(&kept->seen.hash, hash, &at, &number))
	{
		if (kept->groups[number] == group && same_image(f, number, row))
			return true;
	}
	gpucol_item_add(&kept->seen, hash, at);
	return false;
}

bool
gpucol_kept_in_vain(const GpucolFeeder *f)
{
	return !f->hashed && f->kept.offered >= SAMPLE_ROWS && f->kept.n >= f->kept.offered * MOSTLY;
}

/* Seek no more repeated rows where few are; the functions of a hashed one have been called already. */
static void
check_seeking(GpucolFeeder *f, uint64 nrows)
{
	GpucolKept	   *kept = &f->kept;

	if (f->seen == NULL)
		kept->offered += nrows;
	if (!f->seeking || !gpucol_kept_in_vain(f))
		return;
	f->seeking = false;
	pfree(kept->seen.hash.slots);
	memset(&kept->seen, 0, sizeof(kept->seen));
}

/* Keep an offered row for a group, unless DISTINCT has seen it; `copied`: its values are copies already. */
static bool
keep_row(GpucolFeeder *f, const GpucolFeedInput *input, const Offered *offered, uint32 number, uint32 group,
		 bool copied)
{
	uint32		row = offered->rows[number];
	GpucolKept	   *kept = &f->kept;
	uint64		at = kept->n;

	kept->groups[at] = group;
	for (int i = 0; i < f->fed->nargs; i++)
	{
		kept->isnull[i][at] = input->isnull[i][row];
		kept->values[i][at] = kept->isnull[i][at] ? (Datum) 0 :
			copied ? kept->values[i][at - 1] : input->values[i][row];
	}
	if (f->seeking && is_repeated(f, offered->hashes[number]))
		return false;
	for (int i = 0; i < f->fed->nargs && !copied; i++)
	{
		if (!kept->isnull[i][at])
			kept->values[i][at] = datumCopy(kept->values[i][at], f->typbyval[i], f->typlen[i]);
	}
	kept->n++;
	return true;
}

void
gpucol_kept_rows(GpucolFeed *feed, GpucolFeeder *f, const GpucolFeedRows *rows, const GpucolFeedInput *input)
{
	uint32		nrows = rows->result->nrows;
	GpucolKept	   *kept = &f->kept;
	Offered		offered;
	MemoryContext old;

	reserve_kept(feed, f, (uint64) nrows * rows->nsets);
	find_offered(f, input, nrows, &offered);
	if (f->hashed)
	{
		gpucol_feed_reserve_states(feed, f, rows->ngroups);
		gpucol_feed_call_enter(feed->aggstate, &f->call, feed->states);
	}
	old = MemoryContextSwitchTo(kept->context);
	for (uint32 i = 0; i < offered.n; i++)
	{
		bool		copied = false;

		seek_ahead(f, rows, &offered, i);
		for (uint32 set = 0; set < rows->nsets; set++)
		{
			uint32		group = rows->groups[(Size) set * nrows + offered.rows[i]];

			if (!keep_row(f, input, &offered, i, group, copied))
				continue;
			copied = true;
			if (!f->hashed)
				continue;
			MemoryContextSwitchTo(old);
			gpucol_feed_pass_arguments(f, kept->values, kept->isnull, kept->n - 1);
			gpucol_feed_call_advance(feed->aggstate, &f->call, &f->states[group]);
			ResetExprContext(feed->econtext);
			MemoryContextSwitchTo(kept->context);
		}
	}
	check_seeking(f, nrows);
	MemoryContextSwitchTo(old);
}

/* ------------------------------------------------------------------------
 * Groups
 * ------------------------------------------------------------------------
 */

/* Where the rows of each group begin, sorted or not. */
static void
find_starts(GpucolKept *kept, uint32 ngroups)
{
	kept->starts = gpucol_grow(NULL, ((Size) ngroups + 1) * sizeof(uint64));
	memset(kept->starts, 0, ((Size) ngroups + 1) * sizeof(uint64));
	for (uint64 i = 0; i < kept->n; i++)
		kept->starts[kept->groups[i] + 1]++;
	for (uint32 g = 0; g < ngroups; g++)
		kept->starts[g + 1] += kept->starts[g];
}

/* Part the rows by group, in their order. */
static void
part_rows(GpucolKept *kept, uint32 ngroups)
{
	for (uint64 i = 0; i < kept->n; i++)
		kept->order[kept->starts[kept->groups[i]]++] = (uint32) i;
	memmove(kept->starts + 1, kept->starts, ngroups * sizeof(uint64));
	kept->starts[0] = 0;
}

/* Sort the rows of all groups; false where they are too few, or memory does not suffice. */
static bool
order_rows(GpucolFeeder *f, uint32 ngroups, GpucolMeter *meter)
{
	GpucolKept	   *kept = &f->kept;
	GpucolFeedSort sort = {(uint32) kept->n, kept->groups, ngroups, f->nsort, NULL};

	if (f->nsort == 0 || kept->n < ORDERED_ROWS || kept->n > GPUCOL_WINDOW_MAX_ROWS)
		return false;
	sort.columns = palloc(f->nsort * sizeof(GpucolFeedColumn));
	for (int i = 0; i < f->nsort; i++)
	{
		int			arg = f->sort_args[i];
		GpucolFeedColumn column = {exprType((Node *) f->fed->args[arg].expr), f->typlen[arg], f->typbyval[arg],
			f->sort_ops[i], f->sorts[i].ssup_collation, f->sorts[i].ssup_nulls_first,
		kept->values[arg], kept->isnull[arg]};

		sort.columns[i] = column;
	}
	kept->differs = gpucol_grow(NULL, kept->n);
	if (gpucol_feed_order(&sort, meter, kept->order, kept->differs))
		return true;
	pfree(kept->differs);
	kept->differs = NULL;
	return false;
}

void
gpucol_kept_finish(GpucolFeeder *f, uint32 ngroups, GpucolMeter *meter)
{
	find_starts(&f->kept, ngroups);
	f->kept.order = gpucol_grow(NULL, Max(f->kept.n, 1) * sizeof(uint32));
	if (!order_rows(f, ngroups, meter))
		part_rows(&f->kept, ngroups);
}

/* Compare two kept rows; of equal ones the earlier comes first. */
static int
compare_rows(const void *a, const void *b, void *arg)
{
	const GpucolFeeder *f = arg;
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	for (int i = 0; i < f->nsort; i++)
	{
		Datum	   *values = f->kept.values[f->sort_args[i]];
		bool	   *isnull = f->kept.isnull[f->sort_args[i]];
		int			order = ApplySortComparator(values[x], isnull[x], values[y], isnull[y],
												&f->sorts[i]);

		if (order != 0)
			return order;
	}
	return x < y ? -1 : x > y;
}

/* Does the aggregate show which of two equal values it has, and are these two not the same? */
static bool
looks_different(const GpucolFeeder *f, uint32 x, uint32 y)
{
	int			arg = f->sort_args[0];

	return !gpucol_image_same(f->kept.values[arg][x], f->kept.values[arg][y], f->typlen[arg], f->typbyval[arg]);
}

/* Where the values that are equal to that at a place end, in a group that ends at `end`. */
static uint64
end_of_peers(const GpucolKept *kept, uint64 place, uint64 end)
{
	for (place++; place < end && !kept->differs[place]; place++)
		continue;
	return place;
}

/* The most frequent value of sorted ones: where the first of them is. */
static uint64
find_mode(const GpucolKept *kept, uint64 start, uint64 end)
{
	uint64		best = start;
	uint64		most = 0;

	while (start < end)
	{
		uint64		next = end_of_peers(kept, start, end);

		if (next - start > most)
		{
			best = start;
			most = next - start;
		}
		start = next;
	}
	return best;
}

/*
 * A mode or percentile from the sorted values of a group; false if PostgreSQL's function is to find
 * it, as where equal values differ in their bytes, of which its sort puts any first.
 */
static bool
aggregate_counted(GpucolFeed *feed, GpucolFeeder *f, uint32 group, Datum *result)
{
	const GpucolKept *kept = &f->kept;
	int			arg = f->sort_args[0];
	uint64		start = kept->starts[group];
	uint64		end = kept->starts[group + 1];
	double		fraction = 0;
	bool		isnull = false;
	uint64		place;

	if (f->call.direct != NIL)
		fraction = DatumGetFloat8(ExecEvalExpr((ExprState *) linitial(f->call.direct), feed->econtext, &isnull));
	while (start < end && kept->isnull[arg][kept->order[end - 1]])
		end--;
	while (start < end && kept->isnull[arg][kept->order[start]])
		start++;
	if (start == end || isnull || !(fraction >= 0 && fraction <= 1))
		return false;
	place = f->call.direct == NIL ? find_mode(kept, start, end) :
		start + (uint64) Max(ceil(fraction * (end - start)), 1) - 1;
	while (!kept->differs[place])
		place--;
	end = end_of_peers(kept, place, end);
	for (uint64 other = place + 1; other < end; other++)
	{
		if (looks_different(f, kept->order[place], kept->order[other]))
			return false;
	}
	*result = datumCopy(kept->values[arg][kept->order[place]], f->typbyval[arg], f->typlen[arg]);
	return true;
}

Datum
gpucol_kept_aggregate(GpucolFeed *feed, GpucolFeeder *f, uint32 group, bool *isnull)
{
	const uint64 *starts = f->kept.starts;
	uint32	   *rows = f->kept.order + starts[group];
	const uint8 *differs = f->kept.differs == NULL ? NULL : f->kept.differs + starts[group];
	uint64		n = starts[group + 1] - starts[group];
	GpucolFeedState state;
	Datum		result;

	if (f->counted && differs != NULL && aggregate_counted(feed, f, group, &result))
	{
		*isnull = false;
		return result;
	}
	if (f->nsort > 0 && n > 1 && differs == NULL && !f->counted)
		qsort_arg(rows, n, sizeof(uint32), compare_rows, f);
	gpucol_feed_call_enter(feed->aggstate, &f->call, feed->group);
	gpucol_feed_call_start(feed->aggstate, &f->call, feed->group, &state);
	for (uint64 i = 0; i < n; i++)
	{
		if (f->ndistinct > 0 && i > 0 &&
			(differs != NULL ? !differs[i] : equal_rows(f, rows[i - 1], rows[i])))
			continue;
		gpucol_feed_pass_arguments(f, f->kept.values, f->kept.isnull, rows[i]);
		gpucol_feed_call_advance(feed->aggstate, &f->call, &state);
		ResetExprContext(feed->econtext);
		CHECK_FOR_INTERRUPTS();
	}
	result = gpucol_feed_call_finish(feed->aggstate, &f->call, &state, isnull);
	ReScanExprContext(feed->group);
	return result;
}
