/*-------------------------------------------------------------------------
 *
 * window_file.h
 *	  A temporary file of rows that window functions are computed over.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_WINDOW_FILE_H
#define GPUCOL_EXEC_WINDOW_FILE_H

#include "postgres.h"

#include "storage/buffile.h"

#include "exec/window_rows.h"

typedef struct GpucolWindowFile
{
	BufFile    *file;
	uint64		nrows;
	uint64		left;			/* to be read */
} GpucolWindowFile;

/* Memory that a file takes. */
#define GPUCOL_WINDOW_FILE_BYTES	((Size) 10 * 1024)

/* In the current memory context, until the end of its owner's. */
extern void gpucol_window_file_create(GpucolWindowFile *file);
extern void gpucol_window_file_close(GpucolWindowFile *file);

/* Write n of the rows as a block; they are read as they were written. */
extern void gpucol_window_file_write(GpucolWindowFile *file, const GpucolWindowRows *rows, const uint32 *numbers,
									 uint32 n);

/* Begin to read, again. */
extern void gpucol_window_file_rewind(GpucolWindowFile *file);

/* Add the next block's rows to others; false where memory does not suffice, *n 0 after the last one. */
extern bool gpucol_window_file_read(GpucolWindowFile *file, GpucolWindowRows *rows, uint32 *n);

#endif							/* GPUCOL_EXEC_WINDOW_FILE_H */
