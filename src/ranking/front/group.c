/*-------------------------------------------------------------------------
 *
 * group.c
 *	  Collecting the uncertain tuples of one group and putting them into ranking
 *	  order: score descending, probability descending, label ascending, and for
 *	  alternatives of different x-tuples that tie in all three, x-tuple ascending.
 *
 * Scores of the built-in numbers, dates and timestamps are kept as an int64 that
 * sorts like them; any other ordered type (numeric in particular) keeps its
 * datum and its own comparison, so that no precision is lost.
 *
 * Memory.  A group that is collected for U-Topk or PT-k alone, without x-tuples,
 * is cut whenever it has doubled: it is sorted and rows behind the horizon
 * (rank.h) are dropped, and later rows that rank behind the last one kept are
 * not even copied.  All other rankings need every row of the group.  What groups hold is
 * counted in the session's budget of rankings, beyond which they end in an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "kernel/float_order.h"
#include "ranking/front/group.h"
#include "service/memory.h"

/* Rows at which a group is cut for the first time. */
#define FIRST_CUT	1024

/*-------------------------------------------------------------------------
 * Types
 *-------------------------------------------------------------------------
 */

static GpucolKeyKind
key_kind(Oid type)
{
	switch (getBaseType(type))
	{
		case INT2OID:
			return GPUCOL_KEY_INT2;
		case INT4OID:
		case DATEOID:
			return GPUCOL_KEY_INT4;
		case INT8OID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return GPUCOL_KEY_INT8;
		case FLOAT4OID:
			return GPUCOL_KEY_FLOAT4;
		case FLOAT8OID:
			return GPUCOL_KEY_FLOAT8;
		default:
			return GPUCOL_KEY_NONE;
	}
}

static void
ordered_type_init(GpucolOrderedType *ot, Oid type)
{
	ot->type = type;
	if (!OidIsValid(type))
		return;
	get_typlenbyvalalign(type, &ot->typlen, &ot->typbyval, &ot->typalign);
	ot->key = key_kind(type);
	if (ot->key == GPUCOL_KEY_NONE)
	{
		TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_CMP_PROC);

		if (!OidIsValid(entry->cmp_proc))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_FUNCTION),
					 errmsg("could not identify a comparison function for type %s",
							format_type_be(type)),
					 errhint("Labels, scores and x-tuples must be of a type that can be ordered.")));
		fmgr_info(entry->cmp_proc, &ot->cmp);
	}
}

void
gpucol_group_types_init(GpucolGroupTypes *types, Oid label, Oid score, Oid x)
{
	memset(types, 0, sizeof(*types));
	ordered_type_init(&types->label, label);
	ordered_type_init(&types->score, score);
	ordered_type_init(&types->x, x);
	types->width = 2;
	if (OidIsValid(label))
		types->at_label = types->width++;
	if (types->score.key == GPUCOL_KEY_NONE)
		types->at_score = types->width++;
	if (OidIsValid(x))
	{
		types->at_x = types->width;
		types->width += 2;
	}
}

/* The int64 that sorts like a value of a type with a key. */
static int64
key_of(const GpucolOrderedType *ot, Datum value)
{
	switch (ot->key)
	{
		case GPUCOL_KEY_INT2:
			return DatumGetInt16(value);
		case GPUCOL_KEY_INT4:
			return DatumGetInt32(value);
		case GPUCOL_KEY_INT8:
			return DatumGetInt64(value);
		case GPUCOL_KEY_FLOAT4:
			return gpucol_float_order(DatumGetFloat4(value));
		case GPUCOL_KEY_FLOAT8:
			return gpucol_float_order(DatumGetFloat8(value));
		case GPUCOL_KEY_NONE:
			break;
	}
	return 0;
}

static int
ordered_cmp(const GpucolOrderedType *ot, Oid collation, Datum a, Datum b)
{
	int64		x,
				y;

	if (ot->key == GPUCOL_KEY_NONE)
		return DatumGetInt32(FunctionCall2Coll(unconstify(FmgrInfo *, &ot->cmp),
											   collation, a, b));
	x = key_of(ot, a);
	y = key_of(ot, b);
	return (x > y) - (x < y);
}

/* A copy of a value in the group's context, which is current, detoasted. */
static Datum
value_copy(GpucolGroup *group, const GpucolOrderedType *ot, Datum value)
{
	Datum		copy;

	if (ot->typbyval)
		return value;
	copy = ot->typlen == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(value)) :
		datumCopy(value, false, ot->typlen);
	gpucol_group_count(group, GetMemoryChunkSpace(DatumGetPointer(copy)));
	return copy;
}

/*-------------------------------------------------------------------------
 * Memory
 *-------------------------------------------------------------------------
 */

static _Noreturn void
raise_out_of_memory(void)
{
	Size		limit = gpucol_memory_ranking_limit();

	ereport(ERROR,
			(errcode(ERRCODE_OUT_OF_MEMORY),
			 errmsg("a ranking needs more memory than it may use"),
			 errdetail("The limit is %zu MB.", limit / (1024 * 1024)),
			 errhint("Increase %s.",
					 gpucol_memory_setting("gpucol.ranking_memory_limit", limit))));
}

void
gpucol_group_count(GpucolGroup *group, Size bytes)
{
	if (!gpucol_budget_reserve(group->budget, bytes))
		raise_out_of_memory();
}

void
gpucol_group_check_room(const GpucolGroup *group, Size bytes)
{
	if (bytes > gpucol_budget_left(group->budget))
		raise_out_of_memory();
}

/* A budget for a group in `context`, which is closed with that. */
static GpucolBudget *
open_budget(MemoryContext context)
{
	MemoryContext old = MemoryContextSwitchTo(context);
	GpucolBudget *budget = gpucol_memory_open(0, gpucol_memory_rankings());

	MemoryContextSwitchTo(old);
	return budget;
}

/*-------------------------------------------------------------------------
 * Checks
 *-------------------------------------------------------------------------
 */

void
gpucol_group_check_k(int32 k)
{
	if (k < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be at least 1, but is %d", k)));
}

/* A float8 as SQL prints it. */
static char *
float_text(double value)
{
	return DatumGetCString(DirectFunctionCall1(float8out, Float8GetDatum(value)));
}

void
gpucol_group_check_probability(double probability)
{
	if (!(probability >= 0 && probability <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("probability %s is not between 0 and 1",
						float_text(probability))));
}

void
gpucol_group_check_threshold(double threshold)
{
	if (!(threshold > 0 && threshold <= 1))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("threshold %s is not greater than 0 and at most 1",
						float_text(threshold))));
}

void
gpucol_group_check_same(const GpucolGroup *group, int32 k, double threshold)
{
	if (k != group->k)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("k must be the same in all rows of a group"),
				 errdetail("It is %d in one row and %d in another.",
						   Min(group->k, k), Max(group->k, k))));
	if (threshold != group->threshold)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the threshold must be the same in all rows of a group"),
				 errdetail("It is %s in one row and %s in another.",
						   float_text(Min(group->threshold, threshold)),
						   float_text(Max(group->threshold, threshold)))));
}

void
gpucol_group_check_status(GpucolStatus status)
{
	if (status == GPUCOL_OK)
		return;
	CHECK_FOR_INTERRUPTS();
	ereport(ERROR,
			(errcode(ERRCODE_INTERNAL_ERROR),
			 errmsg("could not rank uncertain tuples"),
			 errdetail("The ranking ended with status %d.", (int) status)));
}

/*-------------------------------------------------------------------------
 * Ranking order
 *-------------------------------------------------------------------------
 */

/* Alternatives without x-tuple come last. */
static int
row_x_cmp(const GpucolGroup *group, const uint64 *a, const uint64 *b)
{
	int			at = group->types->at_x;

	if (a[at + 1] || b[at + 1])
		return (int) a[at + 1] - (int) b[at + 1];
	return ordered_cmp(&group->types->x, group->collation, a[at], b[at]);
}

/* Negative if row a ranks before row b. */
static int
row_cmp(const void *left, const void *right, void *arg)
{
	const GpucolGroup *group = (const GpucolGroup *) arg;
	const GpucolGroupTypes *types = group->types;
	const uint64 *a = (const uint64 *) left;
	const uint64 *b = (const uint64 *) right;
	double		p,
				q;
	int			c;

	CHECK_FOR_INTERRUPTS();
	if (a[0] != b[0])
		return (int64) a[0] > (int64) b[0] ? -1 : 1;
	if (types->at_score)
	{
		c = ordered_cmp(&types->score, group->collation, a[types->at_score],
						b[types->at_score]);
		if (c != 0)
			return c > 0 ? -1 : 1;
	}
	p = gpucol_group_probability(a);
	q = gpucol_group_probability(b);
	if (p != q)
		return p > q ? -1 : 1;
	if (types->at_label)
	{
		c = ordered_cmp(&types->label, group->collation, a[types->at_label],
						b[types->at_label]);
		if (c != 0)
			return c;
	}
	return types->at_x ? row_x_cmp(group, a, b) : 0;
}

static void
group_sort(GpucolGroup *group)
{
	if (!group->sorted)
		qsort_arg(group->rows, group->nrows,
				  sizeof(uint64) * group->types->width, row_cmp, group);
	group->sorted = true;
}

/*-------------------------------------------------------------------------
 * Collecting
 *-------------------------------------------------------------------------
 */

GpucolGroup *
gpucol_group_create(MemoryContext context, const GpucolGroupTypes *types,
					Oid collation, int32 k, double threshold,
					GpucolGroupCut cut)
{
	GpucolGroup *group = MemoryContextAllocZero(context, sizeof(GpucolGroup));

	group->context = context;
	group->budget = open_budget(context);
	group->types = types;
	group->collation = collation;
	group->k = k;
	group->threshold = threshold;
	group->cut = types->at_x ? GPUCOL_CUT_NONE : cut;
	group->cut_at = Max(FIRST_CUT, (int32) Min((int64) k * 4, PG_INT32_MAX));
	group->sorted = true;
	return group;
}

void
gpucol_group_reserve(GpucolGroup *group, int64 n)
{
	int64		want = (int64) group->nrows + n;
	size_t		bytes;

	if (want <= group->capacity)
		return;
	if (want > PG_INT32_MAX - 1)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("too many uncertain tuples in one group"),
				 errdetail("A group can have at most %d.", PG_INT32_MAX - 1)));
	want = Min(Max(want, Max(16, 2 * (int64) group->capacity)), PG_INT32_MAX - 1);
	bytes = sizeof(uint64) * group->types->width * (size_t) want;
	gpucol_group_count(group, bytes - sizeof(uint64) * group->types->width * (size_t) group->capacity);
	if (group->rows == NULL)
		group->rows = MemoryContextAllocHuge(group->context, bytes);
	else
		group->rows = repalloc_huge(group->rows, bytes);
	group->capacity = (int32) want;
}

static void
value_free(GpucolGroup *group, const GpucolOrderedType *ot, Datum value)
{
	if (ot->typbyval)
		return;
	gpucol_budget_release(group->budget, GetMemoryChunkSpace(DatumGetPointer(value)));
	pfree(DatumGetPointer(value));
}

static void
row_free(GpucolGroup *group, uint64 *row)
{
	const GpucolGroupTypes *types = group->types;

	if (types->at_label)
		value_free(group, &types->label, row[types->at_label]);
	if (types->at_score)
		value_free(group, &types->score, row[types->at_score]);
}

static bool
cut_interrupts(void *arg pg_attribute_unused())
{
	CHECK_FOR_INTERRUPTS();
	return false;
}

/* Probabilities in row order, in the current context. */
static double *
group_probabilities(const GpucolGroup *group)
{
	size_t		bytes = sizeof(double) * ((size_t) group->nrows + 1);
	double	   *p;

	gpucol_group_check_room(group, bytes);
	p = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	for (int32 i = 0; i < group->nrows; i++)
		p[i] = gpucol_group_probability(gpucol_group_row(group, i));
	return p;
}

/* Scratch memory, beside the probabilities and the numbers of x-tuples. */
static void
work_allocate(const GpucolGroup *group, GpucolRankWork *work, const GpucolRankInput *in)
{
	work->size = gpucol_rank_workspace(in, group->k);
	gpucol_group_check_room(group, work->size + (sizeof(double) + sizeof(int32)) * (size_t) in->n);
	work->memory = MemoryContextAllocHuge(CurrentMemoryContext, work->size);
	work->cancelled = cut_interrupts;
	work->arg = NULL;
}

/* Sort, and drop the rows that cannot matter to the ranking any more. */
static void
group_cut(GpucolGroup *group)
{
	MemoryContext temporary = AllocSetContextCreate(CurrentMemoryContext,
													"gpucol cut",
													ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(temporary);
	GpucolRankInput in = {.n = group->nrows};
	GpucolRankWork work;
	size_t		row_bytes = sizeof(uint64) * group->types->width;
	int32		keep;

	group_sort(group);
	in.p = group_probabilities(group);
	work_allocate(group, &work, &in);
	if (group->cut == GPUCOL_CUT_U_TOPK)
		keep = gpucol_rank_u_topk_horizon(&in, group->k, &work);
	else
		keep = gpucol_rank_pt_k_horizon(&in, group->k, group->threshold, &work);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(temporary);

	if (keep < group->nrows && keep > 0)
	{
		for (int32 i = keep; i < group->nrows; i++)
			row_free(group, gpucol_group_row(group, i));
		group->nrows = keep;
		if (group->last == NULL)
			group->last = MemoryContextAlloc(group->context, row_bytes);
		memcpy(group->last, gpucol_group_row(group, keep - 1), row_bytes);
	}
	group->cut_at = Max(group->cut_at,
						(int32) Min((int64) group->nrows * 2, PG_INT32_MAX));
}

void
gpucol_group_add(GpucolGroup *group, const GpucolGroupRow *row)
{
	const GpucolGroupTypes *types = group->types;
	uint64	   *words;
	MemoryContext old;

	if (group->nrows == group->capacity)
		gpucol_group_reserve(group, 1);
	words = gpucol_group_row(group, group->nrows);
	words[0] = (uint64) key_of(&types->score, row->score);
	memcpy(&words[1], &row->probability, sizeof(double));
	if (types->at_label)
		words[types->at_label] = row->label;
	if (types->at_score)
		words[types->at_score] = row->score;
	if (types->at_x)
	{
		words[types->at_x] = row->x_isnull ? 0 : row->x;
		words[types->at_x + 1] = row->x_isnull;
	}
	if (group->last != NULL && row_cmp(group->last, words, group) < 0)
		return;

	old = MemoryContextSwitchTo(group->context);
	if (types->at_label)
		words[types->at_label] = value_copy(group, &types->label, row->label);
	if (types->at_score)
		words[types->at_score] = value_copy(group, &types->score, row->score);
	if (types->at_x && !row->x_isnull)
		words[types->at_x] = value_copy(group, &types->x, row->x);
	MemoryContextSwitchTo(old);
	group->nrows++;
	group->sorted = false;
	if (group->cut != GPUCOL_CUT_NONE && group->nrows >= group->cut_at)
		group_cut(group);
}

void
gpucol_group_append(GpucolGroup *group, const GpucolGroup *other)
{
	const GpucolGroupTypes *types = group->types;

	gpucol_group_check_same(group, other->k, other->threshold);
	gpucol_group_reserve(group, other->nrows);
	for (int32 i = 0; i < other->nrows; i++)
	{
		const uint64 *words = gpucol_group_row(other, i);
		uint64	   *added = gpucol_group_row(group, group->nrows);
		MemoryContext old = MemoryContextSwitchTo(group->context);

		memcpy(added, words, sizeof(uint64) * types->width);
		if (types->at_label)
			added[types->at_label] = value_copy(group, &types->label, words[types->at_label]);
		if (types->at_score)
			added[types->at_score] = value_copy(group, &types->score, words[types->at_score]);
		if (types->at_x && !words[types->at_x + 1])
			added[types->at_x] = value_copy(group, &types->x, words[types->at_x]);
		MemoryContextSwitchTo(old);
		group->nrows++;
	}
	group->sorted = false;
}

/*-------------------------------------------------------------------------
 * Ranking input
 *-------------------------------------------------------------------------
 */

static int
x_index_cmp(const void *left, const void *right, void *arg)
{
	const GpucolGroup *group = (const GpucolGroup *) arg;

	CHECK_FOR_INTERRUPTS();
	return row_x_cmp(group, gpucol_group_row(group, *(const int32 *) left),
					 gpucol_group_row(group, *(const int32 *) right));
}

/* Number the x-tuples from 0 in their order; a NULL is an x-tuple of its own. */
static void
number_x_tuples(const GpucolGroup *group, GpucolRankInput *in)
{
	size_t		bytes = sizeof(int32) * ((size_t) group->nrows + 1);
	int32	   *index = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	int32	   *x = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	int			at_null = group->types->at_x + 1;
	int32		nx = 0;

	for (int32 i = 0; i < group->nrows; i++)
		index[i] = i;
	qsort_arg(index, group->nrows, sizeof(int32), x_index_cmp,
			  unconstify(GpucolGroup *, group));
	for (int32 i = 0; i < group->nrows; i++)
	{
		if (i > 0 && (gpucol_group_row(group, index[i])[at_null] ||
					  x_index_cmp(&index[i - 1], &index[i],
								  unconstify(GpucolGroup *, group)) != 0))
			nx++;
		x[index[i]] = nx;
	}
	pfree(index);
	in->x = x;
	in->nx = group->nrows > 0 ? nx + 1 : 0;
}

void
gpucol_group_report_mass(const char *x_tuple, double mass)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("probabilities of the alternatives of an x-tuple exceed 1"),
			 errdetail("Those of x-tuple %s sum to %s.", x_tuple,
					   float_text(mass))));
}

/* The same for x-tuple number `bad` of the group. */
static void
report_mass(const GpucolGroup *group, const GpucolRankInput *in, int32 bad,
			double mass)
{
	Oid			output;
	bool		varlena;
	int32		i = 0;

	while (in->x[i] != bad)
		i++;
	getTypeOutputInfo(group->types->x.type, &output, &varlena);
	gpucol_group_report_mass(OidOutputFunctionCall(output,
												   gpucol_group_row(group, i)[group->types->at_x]),
							 mass);
}

void
gpucol_group_rank(GpucolGroup *group, GpucolRankInput *in, GpucolRankWork *work)
{
	int32		bad;
	double		mass;

	group_sort(group);
	memset(in, 0, sizeof(*in));
	in->n = group->nrows;
	in->p = group_probabilities(group);
	if (group->types->at_x)
		number_x_tuples(group, in);
	work_allocate(group, work, in);
	if (!gpucol_rank_mass_ok(in, work, &bad, &mass))
		report_mass(group, in, bad, mass);
}
