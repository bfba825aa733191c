/*-------------------------------------------------------------------------
 *
 * topk_labels.c
 *	  Labels of answers, words as engines deliver them, as datums and arrays.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "utils/array.h"
#include "utils/memutils.h"

#include "exec/topk_state.h"

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
gpucol_topk_label_datums(const GpucolTopkSet *set, const int64 *labels, const uint8 *label_nulls,
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
labels_are_dense(const GpucolTopkSet *set)
{
	return set->label_typbyval &&
		att_align_nominal(1, set->label_typalign) == (Size) set->label_typlen;
}

/* n labels as an array; nulls may be NULL. */
Datum
gpucol_topk_label_array(const GpucolTopkSet *set, Datum *values, bool *nulls, int n)
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
