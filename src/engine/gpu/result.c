/*-------------------------------------------------------------------------
 *
 * result.c
 *	  The result of a run on the device: its data, checked, and batches of its rows.
 *
 * It comes as a whole, in messages or in memory that the daemon shares.  There it may be
 * read until another request needs the memory, and is moved then.
 *
 *-------------------------------------------------------------------------
 */
#include <stdlib.h>
#include <string.h>

#include "engine/gpu/run.h"

#define BATCH_ROWS		GPUCOL_GPU_BATCH_ROWS
#define MAX_RESULT_ROWS ((uint64_t) 1 << 40)	/* so that no size overflows */
#define SPARE_BYTES		((size_t) 4 << 20)	/* of a result's memory kept for the next */

/* The memory of a large result, for the next one. */
static char *spare = NULL;
static size_t sizeof_spare = 0;

/* The data are of no more use. */
static void
give_back(GpucolGpuRun *run)
{
	GpucolGpuAnswer *answer = &run->answer;

	if (answer->lent)
		gpucol_wire_give_back(run->wire);
	else if (answer->data != NULL && answer->sizeof_data > sizeof_spare && answer->sizeof_data <= SPARE_BYTES)
	{
		free(spare);
		spare = answer->data;
		sizeof_spare = answer->sizeof_data;
	}
	else
		free(answer->data);
}

/*
 * Copy the data out of the slab: somebody else needs it.  That may be when the program is
 * gone.
 */
static void
move_data(void *arg)
{
	GpucolGpuRun *run = arg;
	const char *from = run->answer.data;

	run->answer.lent = false;
	run->answer.data = malloc(run->answer.result.bytes + 1);
	run->answer.sizeof_data = run->answer.result.bytes;
	if (run->answer.data == NULL)
	{
		run->error = GPUCOL_OUT_OF_MEMORY;
		return;
	}
	memcpy(run->answer.data, from, run->answer.result.bytes);
	for (int k = 0; k < run->answer.noutputs; k++)
	{
		run->answer.values[k] = (const int64_t *) (run->answer.data + ((const char *) run->answer.values[k] - from));
		run->answer.nulls[k] = (const uint8_t *) (run->answer.data + ((const char *) run->answer.nulls[k] - from));
	}
	if (run->answer.states != NULL)
		run->answer.states = (const GpucolAggState *) (run->answer.data + ((const char *) run->answer.states - from));
}

GpucolStatus
gpucol_gpu_result_read(GpucolGpuRun *run)
{
	uint64_t	at = 0;

	run->in_place = run->in_place && run->norders == 0;
	if (run->answer.result.in_slab && run->in_place)
	{
		run->answer.data = (char *) gpucol_wire_lend(run->wire, run->answer.result.bytes, move_data, run);
		run->answer.lent = run->answer.data != NULL;
		return run->answer.lent ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
	}
	if (run->answer.result.bytes > GPUCOL_WIRE_INLINE && run->answer.result.bytes <= sizeof_spare)
	{
		run->answer.data = spare;
		spare = NULL;
		run->answer.sizeof_data = sizeof_spare;
		sizeof_spare = 0;
	}
	else
	{
		run->answer.data = malloc(run->answer.result.bytes + 1);
		run->answer.sizeof_data = run->answer.result.bytes;
	}
	if (run->answer.data == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (run->answer.result.in_slab)
		return gpucol_wire_take(run->wire, run->answer.data, run->answer.result.bytes) ?
			GPUCOL_OK : GPUCOL_DEVICE_LOST;
	while (at < run->answer.result.bytes)
	{
		size_t		size;

		if (!gpucol_wire_receive_into(run->wire, GPUCOL_WIRE_RESULT_PART, run->answer.data + at,
									  run->answer.result.bytes - at, &size) || size == 0)
			return GPUCOL_DEVICE_LOST;
		at += size;
	}
	return gpucol_wire_expect_results(run->wire, run->answer.result.bytes) ? GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* Are groups with rankings what comes back? */
static bool
is_ranked(const GpucolGpuRun *run)
{
	return run->shape != NULL && run->shape->kind == GPUCOL_SHAPE_RANKED;
}

/* Columns of the result. */
static int
result_columns(const GpucolGpuRun *run)
{
	return is_ranked(run) ? (int) run->shape->nkeys : run->program->nkeys;
}

/* Is every row that a scan found one of the table, or of one that a probe delivers? */
static bool
rows_exist(const GpucolGpuRun *run)
{
	uint32_t	nsegments = run->manifest->nsegments;

	for (uint64_t i = 0; i < run->answer.result.nrows; i++)
	{
		uint32_t	segment = (uint32_t) (run->answer.rows[i] >> 32);
		uint32_t	row = (uint32_t) run->answer.rows[i];

		if (segment < nsegments ? row >= run->manifest->segments[segment].nrows :
			segment == nsegments ? row >= run->delta.nrows :
			segment > nsegments + 1 || run->program->nprobes == 0)
			return false;
	}
	return true;
}

/* Virtual TID of a segment row, as src/columnar/rownum.h defines it. */
static uint64_t
virtual_tid(uint64_t row)
{
	return (UINT64_C(0x80000000) + row / 256) << 16 | (1 + row % 256);
}

/* The identity of a row that a scan found; those of joined tables have none. */
static uint64_t
row_tid(const GpucolGpuRun *run, uint64_t found)
{
	uint32_t	segment = (uint32_t) (found >> 32);
	uint32_t	row = (uint32_t) found;

	if (segment > run->manifest->nsegments)
		return 0;
	return segment == run->manifest->nsegments ? run->delta.tids[row] :
		virtual_tid(run->manifest->first_rows[segment] + row);
}

/* Put the strings in the states of least and greatest bytes, which hold places. */
static bool
find_extremes(GpucolGpuRun *run, GpucolAggState *states)
{
	const GpucolProgram *p = run->program;

	for (int a = 0; a < p->naggs; a++)
	{
		const GpucolGpuOrder *order = gpucol_gpu_order_of(p, &GPUCOL_PROGRAM_ARRAY(p, const GpucolAgg, aggs)[a],
														  run->orders, run->norders);
		const GpucolBytes *strings;
		uint32_t	nstrings;

		if (order == NULL)
			continue;
		strings = gpucol_gpu_dictionary_strings(run->manifest->dictionaries[order->slot], &nstrings);
		for (uint64_t i = 0; i < run->answer.result.nrows; i++)
		{
			GpucolAggState *state = &states[i * p->naggs + a];
			uint64_t	place = (uint64_t) state->v.value;

			if (state->count == 0)
				continue;
			if (place >= order->n)
				return false;
			state->v.s.data = strings[order->numbers[place]].data;
			state->v.s.len = strings[order->numbers[place]].len;
		}
	}
	return true;
}

GpucolStatus
gpucol_gpu_result_find(GpucolGpuRun *run)
{
	const GpucolProgram *p = run->program;
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(p, const uint16_t, keys);
	const uint8_t *classes = GPUCOL_PROGRAM_ARRAY(p, const uint8_t, reg_classes);
	uint64_t	n = run->answer.result.nrows;
	uint64_t	at = 0;

	run->answer.columns = calloc(p->nkeys + 1u, sizeof(GpucolResultColumn));
	run->answer.values = calloc(p->nkeys + 1u, sizeof(int64_t *));
	run->answer.nulls = calloc(p->nkeys + 1u, sizeof(uint8_t *));
	run->answer.tids = malloc(sizeof(uint64_t) * BATCH_ROWS);
	if (run->answer.columns == NULL || run->answer.values == NULL || run->answer.nulls == NULL ||
		run->answer.tids == NULL)
		return GPUCOL_OUT_OF_MEMORY;
	if (n == 0)
		return GPUCOL_OK;
	run->answer.noutputs = result_columns(run);
	if (n > MAX_RESULT_ROWS)
		return GPUCOL_DEVICE_LOST;
	if (p->kind == GPUCOL_PROGRAM_SCAN && !is_ranked(run))
	{
		run->answer.rows = (const uint64_t *) run->answer.data;
		at += n * 8;
	}
	for (int k = 0; k < run->answer.noutputs; k++)
	{
		GpucolClass cls = classes[keys[k]];

		run->answer.columns[k].cls = cls;
		run->answer.values[k] = (const int64_t *) (run->answer.data + at);
		at += n * (cls == GPUCOL_CLASS_D ? 16 : 8);
		run->answer.nulls[k] = (const uint8_t *) (run->answer.data + at);
		at += (n + 7) / 8 * 8;
		if (cls == GPUCOL_CLASS_D)
			run->answer.wide[k] = aligned_alloc(16, sizeof(__int128) * BATCH_ROWS);
		if (cls == GPUCOL_CLASS_S)
			run->answer.strings[k] = malloc(sizeof(GpucolBytes) * BATCH_ROWS);
		if ((cls == GPUCOL_CLASS_D && run->answer.wide[k] == NULL) ||
			(cls == GPUCOL_CLASS_S && run->answer.strings[k] == NULL))
			return GPUCOL_OUT_OF_MEMORY;
	}
	if (p->kind == GPUCOL_PROGRAM_AGG)
	{
		run->answer.states = (const GpucolAggState *) (run->answer.data + at);
		at += n * p->naggs * sizeof(GpucolAggState);
	}
	if (is_ranked(run))
		return at > run->answer.result.bytes ? GPUCOL_DEVICE_LOST :
			gpucol_gpu_ranks_find(run->shape, n, run->answer.data + at,
								  run->answer.result.bytes - at, &run->answer.ranks);
	return at == run->answer.result.bytes && (run->answer.rows == NULL || rows_exist(run)) &&
		(run->norders == 0 || find_extremes(run, (GpucolAggState *) run->answer.states)) ?
		GPUCOL_OK : GPUCOL_DEVICE_LOST;
}

/* ---- batches ---- */

/* The byte strings whose numbers output k holds; NULL if it holds none. */
static const GpucolBytes *
output_strings(const GpucolGpuRun *run, int k, uint32_t *n)
{
	const uint16_t *keys = GPUCOL_PROGRAM_ARRAY(run->program, const uint16_t, keys);
	int			slot = gpucol_gpu_bytes_slot(run->program, keys[k]);

	*n = 0;
	return slot < 0 ? NULL : gpucol_gpu_slot_strings(run, slot, n);
}

/* Fill one column of a batch of n rows from row `at`. */
static void
fill_column(GpucolGpuRun *run, int k, uint64_t at, uint32_t n)
{
	GpucolResultColumn *column = &run->answer.columns[k];
	const GpucolBytes *strings;
	uint32_t	nstrings;

	column->nulls = run->answer.nulls[k] + at;
	column->i = run->answer.values[k] + at;
	switch (column->cls)
	{
		case GPUCOL_CLASS_D:
			memcpy(run->answer.wide[k], run->answer.values[k] + 2 * at, sizeof(__int128) * n);
			column->d = run->answer.wide[k];
			break;
		case GPUCOL_CLASS_F:
			column->f = (const double *) run->answer.values[k] + at;
			break;
		case GPUCOL_CLASS_S:
			strings = output_strings(run, k, &nstrings);
			for (uint32_t i = 0; i < n; i++)
			{
				uint64_t	number = (uint64_t) run->answer.values[k][at + i];

				run->answer.strings[k][i] = !column->nulls[i] && number < nstrings ?
					strings[number] : (GpucolBytes) {"", 0};
			}
			column->s = run->answer.strings[k];
			break;
		default:
			break;
	}
}

/* Tell what byte strings the labels of rankings are numbers of. */
static void
set_label_strings(GpucolGpuRun *run)
{
	const GpucolRowShape *shape = run->shape;

	for (uint32_t r = 0; r < shape->nrankings; r++)
	{
		int32_t		label = shape->sets[shape->rankings[r].set].label;
		uint32_t	n = 0;
		const GpucolBytes *strings = label < 0 ? NULL : output_strings(run, label, &n);

		gpucol_gpu_ranks_set_strings(run->answer.ranks, r, strings, n);
	}
}

GpucolStatus
gpucol_gpu_result_next(GpucolGpuRun *run, GpucolResult *out)
{
	const GpucolProgram *p = run->program;
	uint64_t	left = run->answer.result.nrows - run->answer.at;
	uint32_t	most = run->in_place ? GPUCOL_IN_PLACE_ROWS : BATCH_ROWS;
	uint32_t	n = left < most ? (uint32_t) left : most;

	if (run->error != GPUCOL_OK)
		return run->error;
	if (n == 0)
		return GPUCOL_END;
	memset(out, 0, sizeof(*out));
	out->nrows = n;
	out->columns = run->answer.columns;
	for (int k = 0; k < run->answer.noutputs; k++)
		fill_column(run, k, run->answer.at, n);
	if (run->answer.ranks != NULL)
	{
		set_label_strings(run);
		out->ranked = gpucol_gpu_ranks_at(run->answer.ranks, run->answer.at);
	}
	else if (run->answer.rows != NULL)
	{
		for (uint32_t i = 0; i < n; i++)
			run->answer.tids[i] = row_tid(run, run->answer.rows[run->answer.at + i]);
		out->tids = run->answer.tids;
	}
	else
		out->states = run->answer.states + run->answer.at * p->naggs;
	run->answer.at += n;
	return GPUCOL_OK;
}

void
gpucol_gpu_result_free(GpucolGpuRun *run)
{
	give_back(run);
	for (int k = 0; k < GPUCOL_GPU_OUTPUTS; k++)
	{
		free(run->answer.wide[k]);
		free(run->answer.strings[k]);
	}
	free(run->answer.columns);
	free(run->answer.values);
	free(run->answer.nulls);
	free(run->answer.tids);
	gpucol_gpu_ranks_free(run->answer.ranks);
}
