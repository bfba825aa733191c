/*-------------------------------------------------------------------------
 *
 * build.c
 *	  Tables of joined rows that the daemon makes of resident columns, and keeps for the
 *	  probes of later runs on the same connection.
 *
 * What this process has of one is its description (kernel/lookup.h), without arrays, and the
 * dictionaries that say what the numbers of byte strings stand for: of the scan's columns,
 * and of columns of tables that the scan looked up, which may be gone by then.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"

/* What a GpucolLookup of this engine is. */
typedef struct GpucolGpuLookup
{
	uint64_t	serial;			/* of the connection */
	int			number;
	uint64_t	bytes;			/* of device memory */
	GpucolLookupView view;		/* with columns and keys of its own, but no arrays */
	GpucolGpuDictionary *dictionaries[GPUCOL_GPU_OUTPUTS];	/* S; else NULL */
	GpucolBudget memory;		/* of the dictionaries */
} GpucolGpuLookup;

static const GpucolGpuLookup *
own(const GpucolLookup *lookup)
{
	return (const GpucolGpuLookup *) lookup;
}

/* The class of an output. */
static int
output_class(const GpucolProgram *p, int k)
{
	return GPUCOL_PROGRAM_ARRAY(p, const uint8_t, reg_classes)[GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys)[k]];
}

/* The slot of byte strings that an output is, -1 if it is none. */
static int
output_slot(const GpucolProgram *p, int k)
{
	return output_class(p, k) != GPUCOL_CLASS_S ? -1 :
		gpucol_gpu_bytes_slot(p, GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys)[k]);
}

const char *
gpucol_gpu_build_obstacle(const GpucolProgram *p)
{
	if (p->kind != GPUCOL_PROGRAM_BUILD)
		return NULL;
	if (p->njoin_keys == 0 || p->nkeys > GPUCOL_GPU_OUTPUTS)
		return "a table without a key, or with many columns";
	for (int k = 0; k < p->nkeys; k++)
	{
		int			cls = output_class(p, k);

		if (k < p->njoin_keys && (cls == GPUCOL_CLASS_S || cls == GPUCOL_CLASS_F))
			return "a table with a key of texts or floats";
		if (cls == GPUCOL_CLASS_S && output_slot(p, k) < 0)
			return "a table with texts that are no column's";
	}
	return NULL;
}

/* Bytes of a description of so many keys and columns. */
static uint64_t
description_size(int nkeys, int ncolumns)
{
	return sizeof(GpucolWireLookup) + sizeof(GpucolWireLookupKey) * (uint64_t) nkeys +
		sizeof(GpucolWireLookupColumn) * (uint64_t) ncolumns;
}

GpucolStatus
gpucol_gpu_build_check(const GpucolGpuRun *run)
{
	const GpucolProgram *p = run->program;
	const GpucolWireLookup *head = (const GpucolWireLookup *) run->answer.data;
	const GpucolWireLookupColumn *columns;
	bool		keeps = p->flags & GPUCOL_PROGRAM_KEEP_NULL_KEYS;

	if (run->answer.result.bytes != description_size(p->njoin_keys, p->nkeys) || head->nkeys != p->njoin_keys ||
		head->ncolumns != p->nkeys || head->nkeyed > head->nrows || (!keeps && head->nkeyed < head->nrows))
		return GPUCOL_DEVICE_LOST;
	columns = (const GpucolWireLookupColumn *) ((const GpucolWireLookupKey *) (head + 1) + head->nkeys);
	for (int c = 0; c < head->ncolumns; c++)
		if (columns[c].cls != output_class(p, c) || columns[c].width > 8)
			return GPUCOL_DEVICE_LOST;
	return GPUCOL_OK;
}

/* Take the description over. */
static bool
fill_view(GpucolGpuLookup *lookup, const GpucolWireLookup *head)
{
	const GpucolWireLookupKey *keys = (const GpucolWireLookupKey *) (head + 1);
	const GpucolWireLookupColumn *columns = (const GpucolWireLookupColumn *) (keys + head->nkeys);
	GpucolLookupColumn *own_columns = calloc(head->ncolumns + 1u, sizeof(GpucolLookupColumn));
	GpucolLookupKey *own_keys = calloc(head->nkeys + 1u, sizeof(GpucolLookupKey));
	uint64_t	sizes[GPUCOL_LOOKUP_ARRAYS];

	lookup->view = (GpucolLookupView) {
		.nrows = head->nrows,.nkeyed = head->nkeyed,.ndistinct = head->ndistinct,
		.ncolumns = head->ncolumns,.nkeys = head->nkeys,.columns = own_columns,.keys = own_keys,
		.has_null = head->has_null,.unique = head->unique,.dense = head->dense,.wide = head->wide,
		.gapless = head->gapless,.greatest = head->greatest,.shift = head->shift
	};
	if (own_columns == NULL || own_keys == NULL)
		return false;
	gpucol_wire_lookup_sizes(head, sizes);
	for (int i = 0; i < GPUCOL_LOOKUP_ARRAYS; i++)
		lookup->bytes += sizes[i];
	for (int k = 0; k < head->nkeys; k++)
		own_keys[k] = (GpucolLookupKey) {
			.least = keys[k].least,.range = keys[k].range,.shift = (int) keys[k].shift
		};
	for (int c = 0; c < head->ncolumns; c++)
	{
		own_columns[c].cls = (GpucolClass) columns[c].cls;
		own_columns[c].width = columns[c].width;
		own_columns[c].reference = columns[c].reference;
		lookup->bytes += (uint64_t) head->nrows * (columns[c].width + (uint64_t) columns[c].has_nulls);
	}
	return true;
}

/*
 * Share the dictionaries of the outputs, counted in the place of the run, which is done; those of a
 * manifest that is kept are counted there.  False: they do not fit.
 */
static bool
take_dictionaries(GpucolGpuLookup *lookup, GpucolGpuRun *run)
{
	size_t		bytes = 0;

	gpucol_budget_release(&run->memory, run->memory.used);
	gpucol_budget_open(&lookup->memory, run->memory.limit, run->memory.parent);
	for (int k = 0; k < run->program->nkeys; k++)
	{
		int			slot = output_slot(run->program, k);

		if (slot < 0)
			continue;
		lookup->dictionaries[k] = gpucol_gpu_dictionary_share(gpucol_gpu_slot_dictionary(run, slot));
		if (lookup->dictionaries[k] != NULL && (slot >= run->ncolumns || run->manifest->counted == 0))
			bytes += gpucol_gpu_dictionary_bytes(lookup->dictionaries[k]);
	}
	return gpucol_budget_reserve(&lookup->memory, bytes);
}

GpucolStatus
gpucol_gpu_build(GpucolRun *handle, GpucolLookup **result)
{
	GpucolGpuRun *run = (GpucolGpuRun *) handle;
	GpucolGpuLookup *lookup;

	*result = NULL;
	if (run->error != GPUCOL_OK)
		return run->error;
	lookup = calloc(1, sizeof(GpucolGpuLookup));
	if (lookup == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	lookup->serial = run->serial;
	lookup->number = run->table;
	run->table = -1;
	*result = (GpucolLookup *) lookup;
	if (take_dictionaries(lookup, run) && fill_view(lookup, (const GpucolWireLookup *) run->answer.data))
		return GPUCOL_OK;
	gpucol_gpu_lookup_free(*result);
	*result = NULL;
	return GPUCOL_OUT_OF_MEMORY;
}

void
gpucol_gpu_lookup_figures(const GpucolLookup *handle, GpucolLookupFigures *out)
{
	const GpucolGpuLookup *lookup = own(handle);
	const GpucolLookupView *view = &lookup->view;

	memset(out, 0, sizeof(*out));
	out->rows = view->nkeyed;
	out->bytes = lookup->bytes;
	out->dense = view->dense;
	out->unique = view->unique;
	out->has_null = view->has_null;
	gpucol_lookup_note_ranges(view, out->ranges);
}

void
gpucol_gpu_lookup_view(const GpucolLookup *lookup, GpucolLookupView *out)
{
	*out = own(lookup)->view;
}

uint32_t
gpucol_gpu_lookup_number(const GpucolLookup *lookup, uint64_t *serial)
{
	*serial = own(lookup)->serial;
	return (uint32_t) own(lookup)->number;
}

GpucolGpuDictionary *
gpucol_gpu_lookup_dictionary(const GpucolLookup *handle, int column)
{
	const GpucolGpuLookup *lookup = own(handle);

	return column < lookup->view.ncolumns ? lookup->dictionaries[column] : NULL;
}

void
gpucol_gpu_lookup_free(GpucolLookup *handle)
{
	GpucolGpuLookup *lookup = (GpucolGpuLookup *) handle;

	if (lookup == NULL)
		return;
	gpucol_wire_forget_table(lookup->serial, lookup->number);
	for (int k = 0; k < GPUCOL_GPU_OUTPUTS; k++)
		gpucol_gpu_dictionary_free(lookup->dictionaries[k]);
	gpucol_budget_close(&lookup->memory);
	free((void *) lookup->view.columns);
	free((void *) lookup->view.keys);
	free(lookup);
}
