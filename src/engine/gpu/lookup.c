/*-------------------------------------------------------------------------
 *
 * lookup.c
 *	  The tables that a run's probes look up, as the daemon gets them.
 *
 * Those that the daemon itself has made (build.c) are named to it.  Others were built by
 * another engine in this process (GpucolRunOptions.lookups); their arrays are sent with
 * each request, of their columns only those that the program reads.  The
 * device knows byte strings by number: a payload's are numbered by its table, a key's by
 * its own column, so that for such a key the table's number of each of these goes along.
 * A table may know a payload's string by several numbers: where the device is to tell
 * values apart by them, or to put them out in a table of its own, they are numbered anew.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"

#define WIDE_DECIMALS	"decimals of a joined table that exceed 64 bits"
#define MOST_KEPT		(UINT32_C(1) << 18)	/* strings of a table that are copied for another */

static const GpucolProbe *
probes_of(const GpucolGpuRun *run)
{
	return GPUCOL_PROGRAM_ARRAY(run->program, const GpucolProbe, probes);
}

static const GpucolPayload *
payloads_of(const GpucolGpuRun *run)
{
	return GPUCOL_PROGRAM_ARRAY(run->program, const GpucolPayload, payloads);
}

/* The order by which a probe takes first rows, or NULL. */
static const GpucolProbeOrder *
order_of(const GpucolGpuRun *run, int p)
{
	return run->firsts == NULL || run->firsts[p].most == 0 ? NULL : &run->firsts[p];
}

/* Why the device does not find first rows, or NULL. */
static const char *
order_obstacle(const GpucolGpuRun *run, const GpucolProbeOrder *order, const GpucolLookupView *table)
{
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(run->program, const uint8_t, reg_classes);

	if (order->most != 1 || order->nkeys > GPUCOL_WIRE_FIRST_KEYS || table->nrows > GPUCOL_WIRE_MOST_FIRST)
		return "several first rows of an order, or of many rows";
	for (int k = 0; k < order->nkeys; k++)
		if (classes[order->keys[k]] == GPUCOL_CLASS_D)
			return "the first row by decimals";
	return NULL;
}

/* Why the device does not know a probe; NULL if it does. */
static const char *
obstacle(const GpucolGpuRun *run, int p, const GpucolLookupView *table)
{
	const GpucolProbeOrder *order = order_of(run, p);
	const char *reason = order == NULL ? NULL : order_obstacle(run, order, table);

	if (reason != NULL)
		return reason;
	for (int k = 0; k < table->nkeys; k++)
		if (table->columns[k].highs != NULL)
			return WIDE_DECIMALS;
	return NULL;
}

/* Note which of the tables' columns are read. */
static bool
find_columns(GpucolGpuRun *run)
{
	for (int t = 0; t < run->ntables; t++)
	{
		GpucolGpuTable *table = &run->tables[t];

		table->needed = calloc((size_t) table->view.ncolumns + 1, sizeof(bool));
		table->numbered = calloc((size_t) table->view.ncolumns + 1, sizeof(GpucolGpuNumbered));
		if (table->needed == NULL || table->numbered == NULL)
			return false;
		for (int k = 0; k < table->view.nkeys; k++)
			table->needed[k] = table->view.wide;
	}
	for (int l = 0; l < run->program->npayloads; l++)
		run->tables[probes_of(run)[payloads_of(run)[l].probe].table]
			.needed[payloads_of(run)[l].column] = true;
	return true;
}

/* Does a program put the values of a register out as those of a table, or tell them apart? */
static bool
is_compared(const GpucolProgram *p, uint16_t reg)
{
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const GpucolAgg *aggs = GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs);

	for (int k = 0; k < p->nkeys; k++)
		if (keys[k] == reg)
			return true;
	for (int a = 0; a < p->naggs; a++)
		if (aggs[a].arg == reg && aggs[a].op == GPUCOL_AGG_COUNT_DISTINCT)
			return true;
	return false;
}

/* Write a column's values by new numbers of its entries, of up to 32 bits, none greater than the old. */
static void
renumber_values(const GpucolLookupColumn *column, uint32_t nrows, const uint32_t *numbers, void *to)
{
	for (uint32_t r = 0; r < nrows; r++)
	{
		uint64_t	old = column->width == 1 ? ((const uint8_t *) column->values)[r] :
			column->width == 2 ? ((const uint16_t *) column->values)[r] : ((const uint32_t *) column->values)[r];
		uint32_t	number = numbers[old + (uint64_t) column->reference];

		if (column->width == 1)
			((uint8_t *) to)[r] = (uint8_t) number;
		else if (column->width == 2)
			((uint16_t *) to)[r] = (uint16_t) number;
		else
			((uint32_t *) to)[r] = number;
	}
}

/* Number the entries of a column, and write its values anew unless its own numbers do. */
static GpucolStatus
number_column(GpucolGpuRun *run, GpucolGpuTable *table, int c)
{
	const GpucolLookupColumn *column = &table->view.columns[c];
	GpucolGpuNumbered *numbered = &table->numbered[c];
	uint32_t   *numbers = malloc(sizeof(uint32_t) * ((size_t) column->nentries + 1));
	uint32_t	n = 0;

	run->scratch = numbers;
	numbered->dictionary = gpucol_gpu_dictionary_create();
	if (numbers == NULL || numbered->dictionary == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < column->nentries; i++)
		if (!gpucol_gpu_dictionary_number(numbered->dictionary, column->entries[i].data, column->entries[i].len,
										  &numbers[i]))
			return GPUCOL_OUT_OF_MEMORY;
	(void) gpucol_gpu_dictionary_strings(numbered->dictionary, &n);
	run->numbering.numbered_bytes += gpucol_gpu_dictionary_bytes(numbered->dictionary);
	if (n < column->nentries)
	{
		numbered->values = malloc((size_t) table->view.nrows * (size_t) column->width + 1);
		if (numbered->values == NULL)
			return GPUCOL_OUT_OF_MEMORY;
		renumber_values(column, table->view.nrows, numbers, numbered->values);
		run->numbering.numbered_bytes += (uint64_t) table->view.nrows * (uint64_t) column->width;
	}
	free(numbers);
	run->scratch = NULL;
	return GPUCOL_OK;
}

/* Number the payload of byte strings that an aggregation tells apart, or that a table is to have. */
static GpucolStatus
number_payload(GpucolGpuRun *run, const char **why)
{
	const GpucolProgram *p = run->program;
	const GpucolInstr *in = GPUCOL_PROGRAM_ARRAY(p, const GpucolInstr, instrs);
	GpucolStatus status = GPUCOL_OK;

	for (int i = 0; i < p->ninstrs && status == GPUCOL_OK; i++)
	{
		const GpucolPayload *payload;
		GpucolGpuTable *table;

		if (p->kind == GPUCOL_PROGRAM_SCAN || in[i].op != GPUCOL_OP_LOAD_S || in[i].aux < p->ncolumns ||
			!is_compared(p, in[i].dst))
			continue;
		payload = &payloads_of(run)[in[i].aux - p->ncolumns];
		table = &run->tables[probes_of(run)[payload->probe].table];
		if (table->engine == &gpucol_engine_cuda || table->numbered[payload->column].dictionary != NULL ||
			(p->kind == GPUCOL_PROGRAM_AGG && payload->column < table->view.nkeys))
			continue;
		if (p->kind == GPUCOL_PROGRAM_BUILD && table->view.columns[payload->column].nentries > MOST_KEPT)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a table with many texts of another");
		status = number_column(run, table, payload->column);
	}
	return status == GPUCOL_OK ? status : gpucol_gpu_refuse(why, status, "out of memory");
}

GpucolStatus
gpucol_gpu_lookups_open(GpucolGpuRun *run, const GpucolRunOptions *options, const char **why)
{
	const GpucolProgram *p = run->program;
	const GpucolProbe *probes = probes_of(run);
	const GpucolPayload *payloads = payloads_of(run);

	if (p->nprobes == 0)
		return GPUCOL_OK;
	run->firsts = options->orders;
	if (p->nprobes > GPUCOL_WIRE_MAX_PROBES || p->nprobe_keys > GPUCOL_WIRE_MAX_PROBE_KEYS)
		return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "more joins than the device takes");
	for (int i = 0; i < p->nprobes; i++)
	{
		uint16_t	t = probes[i].table;
		const char *text;

		if (probes[i].kind >= GPUCOL_JOIN_SET)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "elements of arrays or fields of texts as rows");
		if (t >= options->nlookups || t >= GPUCOL_WIRE_MAX_PROBES || options->lookups[t] == NULL)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a join without its table");
		run->tables[t].lookup = options->lookups[t];
		run->tables[t].engine = options->lookup_engines[t];
		run->tables[t].engine->lookup_view(options->lookups[t], &run->tables[t].view);
		run->ntables = t >= run->ntables ? t + 1 : run->ntables;
		text = obstacle(run, i, &run->tables[t].view);
		if (text != NULL)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, text);
	}
	for (int l = 0; l < p->npayloads; l++)
		if (payloads[l].probe >= p->nprobes ||
			payloads[l].column >= run->tables[probes[payloads[l].probe].table].view.ncolumns)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, "a join without its table");
		else if (run->tables[probes[payloads[l].probe].table].view.columns[payloads[l].column].highs != NULL)
			return gpucol_gpu_refuse(why, GPUCOL_UNSUPPORTED, WIDE_DECIMALS);
	return find_columns(run) ? number_payload(run, why) :
		gpucol_gpu_refuse(why, GPUCOL_OUT_OF_MEMORY, "out of memory");
}

void
gpucol_gpu_lookups_free(GpucolGpuRun *run)
{
	for (int t = 0; t < run->ntables; t++)
	{
		GpucolGpuTable *table = &run->tables[t];

		for (int c = 0; table->numbered != NULL && c < table->view.ncolumns; c++)
		{
			gpucol_gpu_dictionary_free(table->numbered[c].dictionary);
			free(table->numbered[c].values);
		}
		free(table->numbered);
		free(table->needed);
	}
}

/* The table of a payload column. */
static const GpucolGpuTable *
table_of(const GpucolGpuRun *run, const GpucolPayload *payload)
{
	return &run->tables[probes_of(run)[payload->probe].table];
}

GpucolGpuDictionary *
gpucol_gpu_slot_dictionary(const GpucolGpuRun *run, int slot)
{
	const GpucolPayload *payload = &payloads_of(run)[slot - run->ncolumns];

	if (slot < run->ncolumns)
		return run->late.dictionaries[slot] != NULL ? run->late.dictionaries[slot] : run->manifest->dictionaries[slot];
	return table_of(run, payload)->engine == &gpucol_engine_cuda ?
		gpucol_gpu_lookup_dictionary(table_of(run, payload)->lookup, payload->column) :
		table_of(run, payload)->numbered[payload->column].dictionary;
}

const GpucolBytes *
gpucol_gpu_slot_strings(const GpucolGpuRun *run, int slot, uint32_t *n)
{
	const GpucolGpuDictionary *dictionary = gpucol_gpu_slot_dictionary(run, slot);
	const GpucolPayload *payload = &payloads_of(run)[slot - run->ncolumns];

	*n = 0;
	if (dictionary != NULL)
		return gpucol_gpu_dictionary_strings(dictionary, n);
	if (slot < run->ncolumns || table_of(run, payload)->engine == &gpucol_engine_cuda)
		return NULL;
	*n = table_of(run, payload)->view.columns[payload->column].nentries;
	return table_of(run, payload)->view.columns[payload->column].entries;
}

/* ---- what is sent ---- */

/* The description of a table's arrays. */
static GpucolWireLookup
describe(const GpucolLookupView *view)
{
	return (GpucolWireLookup) {
		.nrows = view->nrows,.nkeyed = view->nkeyed,.ndistinct = view->ndistinct,
		.ncolumns = (uint16_t) view->ncolumns,.nkeys = (uint16_t) view->nkeys,
		.has_null = view->has_null,.unique = view->unique,.dense = view->dense,
		.wide = view->wide,.gapless = view->gapless,.shift = (uint8_t) view->shift,
		.greatest = view->greatest
	};
}

/* An array, and the place where the next one begins. */
static bool
put_array(GpucolGpuRun *run, uint32_t t, uint64_t total, uint64_t *offset, const void *data,
		  uint64_t size)
{
	static const char padding[8];
	uint64_t	rest = (8 - size % 8) % 8;

	if (size == 0)
		return true;
	if (!gpucol_wire_put(run->wire, GPUCOL_PUT_LOOKUP_DATA, t, 0, total, *offset, data, size))
		return false;
	*offset += size;
	if (rest > 0 &&
		!gpucol_wire_put(run->wire, GPUCOL_PUT_LOOKUP_DATA, t, 0, total, *offset, padding, rest))
		return false;
	*offset += rest;
	return true;
}

/* Bytes of all arrays of a table. */
static uint64_t
data_size(const GpucolGpuTable *table)
{
	GpucolWireLookup head = describe(&table->view);
	uint64_t	sizes[GPUCOL_LOOKUP_ARRAYS];
	uint64_t	total = 0;

	gpucol_wire_lookup_sizes(&head, sizes);
	for (int i = 0; i < GPUCOL_LOOKUP_ARRAYS; i++)
		total += GPUCOL_WIRE_PADDED(sizes[i], 1);
	for (int c = 0; c < table->view.ncolumns; c++)
		if (table->needed[c])
			total += GPUCOL_WIRE_PADDED(table->view.nrows, table->view.columns[c].width) +
				(table->view.columns[c].nulls != NULL ? GPUCOL_WIRE_PADDED(table->view.nrows, 1) : 0);
	return total;
}

/* Send a table's description. */
static GpucolStatus
send_description(GpucolGpuRun *run, uint32_t t)
{
	const GpucolGpuTable *table = &run->tables[t];
	const GpucolLookupView *view = &table->view;
	size_t		size = sizeof(GpucolWireLookup) + sizeof(GpucolWireLookupKey) * (size_t) view->nkeys +
		sizeof(GpucolWireLookupColumn) * (size_t) view->ncolumns;
	char	   *message = calloc(1, size);
	GpucolWireLookupKey *keys = (GpucolWireLookupKey *) (message + sizeof(GpucolWireLookup));
	GpucolWireLookupColumn *columns = (GpucolWireLookupColumn *) (keys + view->nkeys);
	bool		sent;

	if (message == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	run->scratch = message;
	*(GpucolWireLookup *) message = describe(view);
	for (int k = 0; k < view->nkeys; k++)
		keys[k] = (GpucolWireLookupKey) {
			.least = view->keys[k].least,.range = view->keys[k].range,
			.shift = (uint32_t) view->keys[k].shift
		};
	for (int c = 0; c < view->ncolumns; c++)
		columns[c] = (GpucolWireLookupColumn) {
			.cls = (uint8_t) view->columns[c].cls,
			.width = table->needed[c] ? (uint8_t) view->columns[c].width : 0,
			.has_nulls = view->columns[c].nulls != NULL,
			.reference = table->numbered[c].values != NULL ? 0 : view->columns[c].reference
		};
	sent = gpucol_wire_put(run->wire, GPUCOL_PUT_LOOKUP, t, 0, size, 0, message, size);
	free(message);
	run->scratch = NULL;
	return sent ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send a table's arrays. */
static GpucolStatus
send_data(GpucolGpuRun *run, uint32_t t)
{
	const GpucolGpuTable *table = &run->tables[t];
	const GpucolLookupView *view = &table->view;
	GpucolWireLookup head = describe(view);
	const void *arrays[GPUCOL_LOOKUP_ARRAYS] = {view->first, view->bits, view->before, view->buckets,
	view->words};
	uint64_t	sizes[GPUCOL_LOOKUP_ARRAYS];
	uint64_t	total = data_size(table);
	uint64_t	offset = 0;

	gpucol_wire_lookup_sizes(&head, sizes);
	for (int i = 0; i < GPUCOL_LOOKUP_ARRAYS; i++)
		if (!put_array(run, t, total, &offset, arrays[i], sizes[i]))
			return GPUCOL_DEVICE_LOST;
	for (int c = 0; c < view->ncolumns; c++)
	{
		const GpucolLookupColumn *column = &view->columns[c];

		if (!table->needed[c])
			continue;
		if (!put_array(run, t, total, &offset, table->numbered[c].values != NULL ?
					   table->numbered[c].values : column->values,
					   (uint64_t) view->nrows * (uint64_t) column->width) ||
			(column->nulls != NULL && !put_array(run, t, total, &offset, column->nulls, view->nrows)))
			return GPUCOL_DEVICE_LOST;
	}
	return GPUCOL_OK;
}

/* The column of byte strings that a probe's key is; -1: it is none of strings. */
static int
key_slot(const GpucolGpuRun *run, int key)
{
	return gpucol_gpu_bytes_slot(run->program,
								 GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, probe_keys)[key]);
}

/* Send a table's numbers of the strings of a key. */
static GpucolStatus
send_key_numbers(GpucolGpuRun *run, const GpucolProbe *probe, int k)
{
	int			slot = key_slot(run, probe->first_key + k);
	const GpucolBytes *strings;
	uint32_t   *numbers;
	uint32_t	n;
	bool		sent;

	if (slot < 0)
		return GPUCOL_OK;
	strings = gpucol_gpu_slot_strings(run, slot, &n);
	run->scratch = numbers = calloc((size_t) n + 1, sizeof(uint32_t));
	if (numbers == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < n; i++)
		numbers[i] = run->tables[probe->table].engine->
			lookup_string(run->tables[probe->table].lookup, k, strings[i]) + 1;
	sent = gpucol_wire_put(run->wire, GPUCOL_PUT_KEY_NUMBERS, probe->first_key + (uint32_t) k, 0,
						   ((uint64_t) n + 1) * sizeof(uint32_t), 0, numbers, ((uint64_t) n + 1) * sizeof(uint32_t));
	free(numbers);
	run->scratch = NULL;
	return sent ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

uint32_t
gpucol_gpu_count_lookups(const GpucolGpuRun *run)
{
	uint32_t	n = 0;

	for (int t = 0; t < run->ntables; t++)
		if (run->tables[t].engine == &gpucol_engine_cuda)
			n++;
		else if (run->tables[t].lookup != NULL)
			n += 1 + (data_size(&run->tables[t]) > 0);
	for (int k = 0; k < run->program->nprobe_keys; k++)
		n += key_slot(run, k) >= 0;
	for (int p = 0; p < run->program->nprobes; p++)
		n += order_of(run, p) != NULL;
	return n;
}

/* Name a table that the daemon has made; it is gone with the connection. */
static GpucolStatus
send_number(GpucolGpuRun *run, uint32_t t)
{
	uint64_t	serial;
	uint32_t	number = gpucol_gpu_lookup_number(run->tables[t].lookup, &serial);

	if (!gpucol_wire_has_table(run->wire, serial))
		return GPUCOL_UNSUPPORTED;
	return gpucol_wire_put(run->wire, GPUCOL_PUT_TABLE, t, 0, sizeof(number), 0, &number, sizeof(number)) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Send the order by which a probe takes its first row, if it does. */
static GpucolStatus
send_order(GpucolGpuRun *run, int p)
{
	const GpucolProbeOrder *order = order_of(run, p);
	GpucolWireFirstRow first = {0};

	if (order == NULL)
		return GPUCOL_OK;
	first.nkeys = (uint32_t) order->nkeys;
	for (int k = 0; k < order->nkeys; k++)
	{
		first.keys[k] = order->keys[k];
		first.descending[k] = order->descending[k];
		first.nulls_first[k] = order->nulls_first[k];
	}
	return gpucol_wire_put(run->wire, GPUCOL_PUT_FIRST_ROW, (uint32_t) p, 0, sizeof(first), 0, &first, sizeof(first)) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

GpucolStatus
gpucol_gpu_send_lookups(GpucolGpuRun *run)
{
	GpucolStatus status = GPUCOL_OK;

	for (int t = 0; t < run->ntables && status == GPUCOL_OK; t++)
	{
		if (run->tables[t].lookup == NULL)
			continue;
		if (run->tables[t].engine == &gpucol_engine_cuda)
		{
			status = send_number(run, (uint32_t) t);
			continue;
		}
		status = send_description(run, (uint32_t) t);
		if (status == GPUCOL_OK)
			status = send_data(run, (uint32_t) t);
	}
	for (int p = 0; p < run->program->nprobes; p++)
		for (int k = 0; k < probes_of(run)[p].nkeys && status == GPUCOL_OK; k++)
			status = send_key_numbers(run, &probes_of(run)[p], k);
	for (int p = 0; p < run->program->nprobes && status == GPUCOL_OK; p++)
		status = send_order(run, p);
	return status;
}
