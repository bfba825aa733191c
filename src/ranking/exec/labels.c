/*-------------------------------------------------------------------------
 *
 * labels.c
 *	  Labels of answers, words as engines deliver them, as datums and arrays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "ranking/exec/state.h"

/* A label of class S, from the word that stands for it. */
static GpucolBytes
label_bytes(int64 word, const GpucolRanked *ranked)
{
	const GpucolStoredLabel *label = (const GpucolStoredLabel *) (intptr_t) word;

	if (ranked == NULL)
		return (GpucolBytes) {label->data, label->len};
	if (ranked->strings == NULL || (uint64) word >= ranked->nstrings)
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("device returned an unknown label")));
	return ranked->strings[word];
}

/* Labels as datums, in the current context; of class S, those of `ranked`. */
void
gpucol_rank_node_label_datums(const GpucolRankSet *set, const int64 *labels, const uint8 *label_nulls,
			 Size n, const GpucolRanked *ranked, Datum *values, bool *nulls)
{
	GpucolResultColumn column = {.cls = set->label.cls,.nulls = label_nulls,.i = labels};
	GpucolBytes *bytes = NULL;
	__int128   *mantissas = NULL;

	if (column.cls == GPUCOL_CLASS_S)
		bytes = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(GpucolBytes) * n);
	if (column.cls == GPUCOL_CLASS_D)
		mantissas = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(__int128) * n);
	for (Size i = 0; i < n && bytes != NULL; i++)
		bytes[i] = label_nulls != NULL && label_nulls[i] ? (GpucolBytes) {NULL, 0} :
			label_bytes(labels[i], ranked);
	for (Size i = 0; i < n && mantissas != NULL; i++)
		mantissas[i] = labels[i];
	column.s = bytes;
	column.d = mantissas;
	column.f = (const double *) labels;
	gpucol_output_datums(&set->label, &column, n, values, nulls);
}

/* Lie the elements of arrays of the label's type side by side, as they are? */
static bool
labels_are_dense(const GpucolRankSet *set)
{
	return set->label_typbyval &&
		att_align_nominal(1, set->label_typalign) == (Size) set->label_typlen;
}

/* n labels as an array; nulls may be NULL. */
Datum
gpucol_rank_node_label_array(const GpucolRankSet *set, Datum *values, bool *nulls, int n)
{
	int			lower = 1;
	Size		size = ARR_OVERHEAD_NONULLS(1) + (Size) n * set->label_typlen;
	ArrayType  *array;
	char	   *to;

	if (n == 0)
		return PointerGetDatum(construct_empty_array(set->label_type));
	if (nulls != NULL || !labels_are_dense(set) || !AllocSizeIsValid(size))
		return PointerGetDatum(construct_md_array(values, nulls, 1, &n, &lower,
												  set->label_type, set->label_typlen,
												  set->label_typbyval,
												  set->label_typalign));
	array = palloc(size);
	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = set->label_type;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = lower;
	to = ARR_DATA_PTR(array);
	for (int i = 0; i < n; i++, to += set->label_typlen)
		store_att_byval(to, values[i], set->label_typlen);
	return PointerGetDatum(array);
}

/* Integers whose words are the elements of their arrays? */
static bool
labels_are_words(const GpucolRankSet *set)
{
	return set->label.cls == GPUCOL_CLASS_I && labels_are_dense(set) &&
		(set->label_typlen == sizeof(int32) || set->label_typlen == sizeof(int64));
}

/* Label i of a batch, an integer. */
static inline int64
label_word(const GpucolRanked *ranked, uint64 i)
{
	return ranked->labels != NULL ? ranked->labels[i] : ranked->base + ranked->offsets[i];
}

/* Make an array of n integers in `size` bytes at `array`. */
static void
fill_array(const GpucolRankSet *set, ArrayType *array, Size size, const GpucolRanked *ranked,
		   uint64 first, int n)
{
	char	   *to;

	SET_VARSIZE(array, size);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = set->label_type;
	ARR_DIMS(array)[0] = n;
	ARR_LBOUND(array)[0] = 1;
	to = ARR_DATA_PTR(array);
	if (set->label_typlen == sizeof(int32))
		for (int i = 0; i < n; i++)
			((int32 *) to)[i] = (int32) label_word(ranked, first + i);
	else
		for (int i = 0; i < n; i++)
			((int64 *) to)[i] = label_word(ranked, first + i);
}

/* Arrays of integers, all in one piece of memory. */
static void
integer_arrays(const GpucolRankSet *set, const GpucolRanked *ranked, uint32 from, uint32 n,
			   Datum *values, bool *isnull)
{
	Size		size = 0;
	char	   *to;

	for (uint32 g = 0; g < n; g++)
		size += MAXALIGN(ARR_OVERHEAD_NONULLS(1) +
						 (Size) Max(ranked->counts[from + g], 0) * set->label_typlen);
	to = MemoryContextAllocHuge(CurrentMemoryContext, size);
	for (uint32 g = 0; g < n; g++)
	{
		int			count = ranked->counts[from + g];
		Size		own = ARR_OVERHEAD_NONULLS(1) + (Size) Max(count, 0) * set->label_typlen;

		isnull[g] = count < 0;
		if (count <= 0)
		{
			values[g] = isnull[g] ? (Datum) 0 :
				PointerGetDatum(construct_empty_array(set->label_type));
			continue;
		}
		if (!AllocSizeIsValid(own))
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("array size exceeds the maximum allowed (%d)",
							(int) MaxAllocSize)));
		fill_array(set, (ArrayType *) to, own, ranked, ranked->first[from + g], count);
		values[g] = PointerGetDatum(to);
		to += MAXALIGN(own);
	}
}

/* Labels of a batch that were delivered as offsets. */
static int64 *
whole_labels(const GpucolRanked *ranked, uint64 first, Size n)
{
	int64	   *labels = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * (n + 1));

	for (Size i = 0; i < n; i++)
		labels[i] = label_word(ranked, first + i);
	return labels;
}

void
gpucol_rank_node_label_arrays(const GpucolRankSet *set, const GpucolRanked *ranked, uint32 from,
						 uint32 n, Datum *values, bool *isnull)
{
	uint32		last = from + n - 1;
	uint64		first = ranked->first[from];
	Size		total = ranked->first[last] + Max(ranked->counts[last], 0) - first;
	const uint8 *label_nulls = ranked->nulls == NULL ||
		memchr(ranked->nulls + first, 1, total) == NULL ? NULL : ranked->nulls + first;
	int64	   *whole = NULL;
	Datum	   *labels;
	bool	   *nulls;

	if (label_nulls == NULL && labels_are_words(set))
	{
		integer_arrays(set, ranked, from, n, values, isnull);
		return;
	}
	labels = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * (total + 1));
	nulls = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(bool) * (total + 1));
	if (ranked->labels == NULL)
		whole = whole_labels(ranked, first, total);
	gpucol_rank_node_label_datums(set, whole != NULL ? whole : ranked->labels + first,
							 label_nulls, total, ranked, labels, nulls);
	for (uint32 g = 0; g < n; g++)
	{
		int			count = ranked->counts[from + g];
		uint64		at = ranked->first[from + g] - first;

		isnull[g] = count < 0;
		values[g] = isnull[g] ? (Datum) 0 :
			gpucol_rank_node_label_array(set, labels + at, label_nulls != NULL ? nulls + at : NULL, count);
	}
	if (whole != NULL)
		pfree(whole);
	pfree(labels);
	pfree(nulls);
}
