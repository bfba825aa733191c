/*-------------------------------------------------------------------------
 *
 * window_file.c
 *	  A temporary file of rows that window functions are computed over.
 *
 * A block is some rows, of which each column lies by itself:
 *
 *		uint32		rows
 *		of each column: what is NULL, a byte a row; then the values, or where they are by reference
 *			uint64		bytes of them all
 *			their bytes, each value beginning at a multiple of MAXIMUM_ALIGNOF
 *
 * so that a block is read into the columns of rows in memory as it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "exec/window_file.h"
#include "service/temp_file.h"

void
gpucol_window_file_create(GpucolWindowFile *file)
{
	file->file = BufFileCreateTemp(false);
	file->nrows = file->left = 0;
}

void
gpucol_window_file_close(GpucolWindowFile *file)
{
	BufFileClose(file->file);
}

void
gpucol_window_file_rewind(GpucolWindowFile *file)
{
	gpucol_temp_file_seek(file->file, 0, 0);
	file->left = file->nrows;
}

/* The bytes that a value by reference takes, of rows in memory and of a block. */
static inline Size
value_bytes(const GpucolWindowInput *in, Datum value)
{
	return MAXALIGN(in->typlen == -1 ? VARSIZE_ANY(DatumGetPointer(value)) : (Size) in->typlen);
}

static void
write_values(BufFile *file, const GpucolWindowInput *in, const uint32 *numbers, uint32 n)
{
	uint64		bytes = 0;

	for (uint32 i = 0; i < n; i++)
	{
		if (!in->isnull[numbers[i]])
			bytes += value_bytes(in, in->values[numbers[i]]);
	}
	BufFileWrite(file, &bytes, sizeof(bytes));
	for (uint32 i = 0; i < n; i++)
	{
		if (!in->isnull[numbers[i]])
			BufFileWrite(file, DatumGetPointer(in->values[numbers[i]]), value_bytes(in, in->values[numbers[i]]));
	}
}

void
gpucol_window_file_write(GpucolWindowFile *file, const GpucolWindowRows *rows, const uint32 *numbers, uint32 n)
{
	bool	   *isnull = palloc(n * sizeof(bool));
	Datum	   *values = palloc(n * sizeof(Datum));

	BufFileWrite(file->file, &n, sizeof(n));
	for (int i = 0; i < rows->ninputs; i++)
	{
		const GpucolWindowInput *in = &rows->inputs[i];

		for (uint32 k = 0; k < n; k++)
			isnull[k] = in->isnull[numbers[k]];
		BufFileWrite(file->file, isnull, n * sizeof(bool));
		if (!in->typbyval)
		{
			write_values(file->file, in, numbers, n);
			continue;
		}
		for (uint32 k = 0; k < n; k++)
			values[k] = in->values[numbers[k]];
		BufFileWrite(file->file, values, n * sizeof(Datum));
	}
	pfree(isnull);
	pfree(values);
	file->nrows += n;
}

/* Read the values of n rows by reference; false where memory does not suffice. */
static bool
read_values(BufFile *file, GpucolWindowRows *rows, GpucolWindowInput *in, uint32 n)
{
	const bool *isnull = in->isnull + rows->nrows;
	Datum	   *values = in->values + rows->nrows;
	uint64		bytes;
	char	   *at;

	gpucol_temp_file_read(file, &bytes, sizeof(bytes));
	if (!gpucol_window_rows_fit(rows, bytes))
		return false;
	at = gpucol_window_rows_alloc(rows, bytes);
	gpucol_temp_file_read(file, at, bytes);
	for (uint32 i = 0; i < n; i++)
	{
		values[i] = isnull[i] ? (Datum) 0 : PointerGetDatum(at);
		if (!isnull[i])
			at += value_bytes(in, values[i]);
	}
	return true;
}

bool
gpucol_window_file_read(GpucolWindowFile *file, GpucolWindowRows *rows, uint32 *n)
{
	*n = 0;
	if (file->left == 0)
		return true;
	gpucol_temp_file_read(file->file, n, sizeof(*n));
	file->left -= *n;
	if (!gpucol_window_rows_expect(rows, (uint64) rows->nrows + *n))
		return false;
	for (int i = 0; i < rows->ninputs; i++)
	{
		GpucolWindowInput *in = &rows->inputs[i];

		gpucol_temp_file_read(file->file, in->isnull + rows->nrows, *n * sizeof(bool));
		in->nulls = in->nulls || memchr(in->isnull + rows->nrows, true, *n) != NULL;
		if (in->typbyval)
			gpucol_temp_file_read(file->file, in->values + rows->nrows, *n * sizeof(Datum));
		else if (!read_values(file->file, rows, in, *n))
			return false;
	}
	rows->nrows += *n;
	return true;
}
