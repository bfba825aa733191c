/*-------------------------------------------------------------------------
 *
 * column.c
 *	  Late materialisation: the values of a column at the selected rows.
 *
 * Registers are dense: entry j belongs to the j-th selected row.  When every
 * row is selected a vector is decoded straight into the register; when few
 * are, each is picked out of the packed words; else the vector is unpacked
 * into scratch and gathered.
 *
 *-------------------------------------------------------------------------
 */
#include "engine/cpu/items.h"
#include "engine/cpu/join.h"
#include "engine/cpu/window.h"
#include "kernel/bitpack.h"

#define POINT_ROWS 32			/* up to here, pick rows out of packed words */
#define RUN_STORE 8			/* values that a short run is stored as */

const void *
gpucol_cpu_column_packed(GpucolCpuWorker *worker, const GpucolCpuColumn *column,
						 uint32_t vector)
{
	uint32_t	width = column->desc->width;

	if (width == 0)
		return worker->words;
	return gpucol_rows_at(&column->codes,
						  column->desc->streams[GPUCOL_STREAM_CODES].row +
						  vector * width, width, worker->words);
}

const uint32_t *
gpucol_cpu_column_nulls(const GpucolCpuColumn *column, uint32_t vector)
{
	return gpucol_rows_at(&column->nulls,
						  column->desc->streams[GPUCOL_STREAM_NULLS].row + vector,
						  1, NULL);
}

uint32_t
gpucol_cpu_column_run(const GpucolCpuColumn *column, uint32_t row)
{
	uint32_t	lo = 0;
	uint32_t	n = column->nruns;

	while (n > 0)
	{
		uint32_t	half = n / 2;

		if (column->run_ends[lo + half] <= row)
		{
			lo += half + 1;
			n -= half + 1;
		}
		else
			n = half;
	}
	return lo;
}

double
gpucol_cpu_column_scaled(GpucolKind kind, int64_t mantissa, int scale)
{
	double		value = (double) mantissa / gpucol_float_power10(scale);

	return kind == GPUCOL_KIND_FLOAT4 ? (double) (float) value : value;
}

/* SCALED mantissas into bit patterns, in place. */
GPUCOL_CPU_CLONES static void
scale_values(const GpucolChunkDesc *desc, int64_t *values, uint32_t n)
{
	double		power = gpucol_float_power10(desc->scale);

	if (desc->kind == GPUCOL_KIND_FLOAT4)
	{
		for (uint32_t i = 0; i < n; i++)
		{
			float		value = (float) ((double) values[i] / power);
			uint32_t	bits;

			memcpy(&bits, &value, sizeof(bits));
			values[i] = bits;
		}
		return;
	}
	for (uint32_t i = 0; i < n; i++)
	{
		double		value = (double) values[i] / power;

		memcpy(&values[i], &value, sizeof(value));
	}
}

/* Codes into values of a STEP chunk. */
GPUCOL_CPU_CLONES static void
spread_steps(uint64_t step, uint64_t reference, int64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		values[i] = (int64_t) (reference + (uint64_t) values[i] * step);
}

/* What is added to a code when it is unpacked. */
GPUCOL_CPU_INLINE int64_t
code_reference(const GpucolChunkDesc *desc)
{
	return desc->coding == GPUCOL_CODING_RAW || desc->coding == GPUCOL_CODING_STEP ?
		0 : desc->reference;
}

/* What turns n unpacked codes into values besides. */
static void
finish_values(const GpucolChunkDesc *desc, int64_t *values, uint32_t n)
{
	if (desc->coding == GPUCOL_CODING_SCALED)
		scale_values(desc, values, n);
	else if (desc->coding == GPUCOL_CODING_STEP)
		spread_steps(desc->step, (uint64_t) desc->reference, values, n);
}

void
gpucol_cpu_column_unpack(const GpucolChunkDesc *desc, const void *words,
						 int64_t *out)
{
	gpucol_bitpack_unpack_for(desc->width, words, code_reference(desc), out);
	finish_values(desc, out, GPUCOL_VECTOR_VALUES);
}

/* Gather by selection. */
GPUCOL_CPU_CLONES static void
gather64(const uint16_t *sel, uint32_t n, const int64_t *in, int64_t *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = in[sel[j]];
}

GPUCOL_CPU_CLONES static void
gather32(const uint16_t *sel, uint32_t n, const uint32_t *in, uint32_t *out)
{
	for (uint32_t j = 0; j < n; j++)
		out[j] = in[sel[j]];
}

void
gpucol_cpu_column_codes(GpucolCpuWorker *worker, const GpucolCpuColumn *column,
						uint32_t vector, uint32_t *out)
{
	int			width = column->desc->width;
	const void *words = gpucol_cpu_column_packed(worker, column, vector);

	if (worker->full)
		gpucol_bitpack_unpack32(width, words, out);
	else if (worker->nsel <= POINT_ROWS)
	{
		for (uint32_t j = 0; j < worker->nsel; j++)
			out[j] = gpucol_bitpack_get32(width, words, worker->sel[j]);
	}
	else
	{
		gpucol_bitpack_unpack32(width, words, worker->codes32);
		gather32(worker->sel, worker->nsel, worker->codes32, out);
	}
}

/* Dense values of a FOR, STEP, RAW or SCALED chunk, words of a NUMERIC one. */
static void
load_packed(GpucolCpuWorker *worker, const GpucolCpuColumn *column,
			uint32_t vector, int64_t *out)
{
	const GpucolChunkDesc *desc = column->desc;
	const void *words = gpucol_cpu_column_packed(worker, column, vector);

	if (worker->full)
		gpucol_cpu_column_unpack(desc, words, out);
	else if (worker->nsel <= POINT_ROWS)
	{
		uint64_t	reference = (uint64_t) code_reference(desc);

		for (uint32_t j = 0; j < worker->nsel; j++)
			out[j] = (int64_t) (reference + gpucol_bitpack_get(desc->width, words,
															   worker->sel[j]));
		finish_values(desc, out, worker->nsel);
	}
	else
	{
		gpucol_cpu_column_unpack(desc, words, (int64_t *) worker->codes64);
		gather64(worker->sel, worker->nsel, (int64_t *) worker->codes64, out);
	}
}

/* All values of an RLE vector: those of a short run by one store, which the next ones mend. */
static void
load_all_runs(const GpucolCpuColumn *column, uint32_t row, uint32_t n, int64_t *out)
{
	uint32_t	r = gpucol_cpu_column_run(column, row);
	uint32_t	at = 0;

	for (; at < n && r < column->nruns; r++)
	{
		uint32_t	stop = column->run_ends[r] - row < n ? column->run_ends[r] - row : n;
		int64_t		value = column->run_values[r];

		if (n - at >= RUN_STORE)
			for (uint32_t j = 0; j < RUN_STORE; j++)
				out[at + j] = value;
		else
			for (uint32_t j = at; j < stop; j++)
				out[j] = value;
		for (uint32_t j = at + RUN_STORE; j < stop; j++)
			out[j] = value;
		at = stop;
	}
	for (; at < n; at++)
		out[at] = 0;
}

/* Dense values of an RLE chunk. */
static void
load_runs(GpucolCpuWorker *worker, const GpucolCpuColumn *column,
		  uint32_t vector, int64_t *out)
{
	uint32_t	base = vector * GPUCOL_VECTOR_VALUES;
	uint32_t	r;

	if (worker->full)
	{
		load_all_runs(column, base, worker->nsel, out);
		return;
	}
	r = gpucol_cpu_column_run(column, base);
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	row = base + worker->sel[j];

		while (r < column->nruns && column->run_ends[r] <= row)
			r++;
		out[j] = r < column->nruns ? column->run_values[r] : 0;
	}
}

/* Dense 64-bit forms of the selected rows of any column but BYTES. */
static void
load_values(GpucolCpuWorker *worker, int slot, const GpucolCpuVector *vector,
			int64_t *out)
{
	const GpucolCpuColumn *column = &worker->run->input.cols[slot];

	if (vector->delta != NULL)
	{
		const int64_t *values = vector->delta->columns[slot].values;

		if (worker->full)
			memcpy(out, values, sizeof(int64_t) * worker->nsel);
		else
			gather64(worker->sel, worker->nsel, values, out);
		return;
	}
	switch ((GpucolCoding) column->desc->coding)
	{
		case GPUCOL_CODING_FOR:
		case GPUCOL_CODING_STEP:
		case GPUCOL_CODING_RAW:
		case GPUCOL_CODING_SCALED:
			load_packed(worker, column, vector->number, out);
			break;
		case GPUCOL_CODING_DICT:
			{
				uint32_t	codes[GPUCOL_VECTOR_VALUES];

				gpucol_cpu_column_codes(worker, column, vector->number, codes);
				for (uint32_t j = 0; j < worker->nsel; j++)
					out[j] = column->dict[codes[j]];
				break;
			}
		case GPUCOL_CODING_RLE:
			load_runs(worker, column, vector->number, out);
			break;
		default:
			for (uint32_t j = 0; j < worker->nsel; j++)
				out[j] = column->desc->reference;
	}
}

/* Dense BYTES values: dictionary codes, words of numerics, elements of arrays, or the bytes themselves. */
static void
load_bytes(GpucolCpuWorker *worker, int slot, const GpucolCpuVector *vector,
		   GpucolCpuReg *reg)
{
	const GpucolCpuColumn *column = &worker->run->input.cols[slot];
	const GpucolBytes *values;

	reg->column = column;
	reg->coded = false;
	reg->items = NULL;
	reg->words = vector->delta == NULL && gpucol_cpu_column_has_words(column) &&
		(column->desc->flags & GPUCOL_CHUNK_ALL_NULL) == 0;
	if (reg->words)
	{
		load_packed(worker, column, vector->number, reg->v.i);
		return;
	}
	if (vector->delta != NULL)
		values = vector->delta->columns[slot].bytes;
	else if (gpucol_cpu_stream_is_raw(column))
	{
		uint32_t	first = vector->number * GPUCOL_VECTOR_VALUES - column->window_row;

		values = column->raw + first;
		if (gpucol_cpu_column_has_items(column))
		{
			reg->items = column->raw_data[first / GPUCOL_VECTOR_VALUES].items;
			reg->item_nulls = column->raw_data[first / GPUCOL_VECTOR_VALUES].nulls;
		}
	}
	else
	{
		reg->coded = true;
		if (column->desc->coding == GPUCOL_CODING_DICT)
			gpucol_cpu_column_codes(worker, column, vector->number, reg->codes);
		else
			memset(reg->codes, 0, sizeof(uint32_t) * worker->nsel);
		return;
	}
	if (worker->full)
		memcpy(reg->v.s, values, sizeof(GpucolBytes) * worker->nsel);
	else
		for (uint32_t j = 0; j < worker->nsel; j++)
			reg->v.s[j] = values[worker->sel[j]];
}

/* Dense null bytes; reg->nulls stays NULL where there are none. */
static void
load_nulls(GpucolCpuWorker *worker, int slot, const GpucolCpuVector *vector,
		   GpucolCpuReg *reg)
{
	const GpucolCpuColumn *column = &worker->run->input.cols[slot];
	const uint32_t *bits;

	reg->nulls = NULL;
	if (vector->delta != NULL)
		bits = vector->delta->columns[slot].nulls;
	else if (column->desc->flags & GPUCOL_CHUNK_ALL_NULL)
	{
		memset(reg->null_space, 1, worker->nsel);
		reg->nulls = reg->null_space;
		return;
	}
	else
		bits = column->desc->flags & GPUCOL_CHUNK_HAS_NULLS ?
			gpucol_cpu_column_nulls(column, vector->number) : NULL;
	if (bits == NULL)
		return;
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	row = worker->full ? j : worker->sel[j];

		reg->null_space[j] = bits[row / 32] >> (row % 32) & 1;
	}
	reg->nulls = reg->null_space;
}

/* Bit patterns into doubles, in place (both views of reg->v). */
GPUCOL_CPU_CLONES static void
widen_float4(double *values, uint32_t n)
{
	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t	bits;
		uint32_t	low;
		float		value;

		memcpy(&bits, &values[j], sizeof(bits));
		low = (uint32_t) bits;
		memcpy(&value, &low, sizeof(value));
		values[j] = (double) value;
	}
}

/* Dense mantissas: as int64 where all of the column are. */
static void
load_decimals(GpucolCpuWorker *worker, int slot, const GpucolCpuVector *vector,
			  GpucolCpuReg *reg)
{
	const GpucolDeltaColumn *column = vector->delta == NULL ? NULL : &vector->delta->columns[slot];

	reg->narrow = column == NULL || column->highs == NULL;
	reg->wide = !reg->narrow;
	if (reg->narrow)
	{
		load_values(worker, slot, vector, reg->n);
		return;
	}
	for (uint32_t j = 0; j < worker->nsel; j++)
	{
		uint32_t	row = worker->full ? j : worker->sel[j];

		reg->v.d[j] = gpucol_cpu_int128(column->highs[row], (uint64_t) column->values[row]);
	}
}

/* Widen in the class of the register. */
void
gpucol_cpu_column_load(GpucolCpuWorker *worker, int slot,
					   const GpucolCpuVector *vector, GpucolCpuReg *reg)
{
	if (slot >= worker->run->program->ncolumns)
	{
		gpucol_cpu_join_load(worker, slot - worker->run->program->ncolumns, reg);
		return;
	}
	load_nulls(worker, slot, vector, reg);
	if (reg->cls == GPUCOL_CLASS_S)
		load_bytes(worker, slot, vector, reg);
	else if (reg->cls == GPUCOL_CLASS_I || reg->cls == GPUCOL_CLASS_F)
	{
		load_values(worker, slot, vector, reg->v.i);
		if (reg->cls == GPUCOL_CLASS_F &&
			worker->run->code.columns[slot].kind == GPUCOL_KIND_FLOAT4)
			widen_float4(reg->v.f, worker->nsel);
	}
	else if (reg->cls == GPUCOL_CLASS_D)
		load_decimals(worker, slot, vector, reg);
	else
	{
		int64_t		values[GPUCOL_VECTOR_VALUES];

		load_values(worker, slot, vector, values);
		for (uint32_t j = 0; j < worker->nsel; j++)
			reg->v.b[j] = values[j] != 0;
	}
}
