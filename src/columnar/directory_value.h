/*-------------------------------------------------------------------------
 *
 * directory_value.h
 *	  Values of directory rows: what they must be, and their checksums.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DIRECTORY_VALUE_H
#define GPUCOL_COLUMNAR_DIRECTORY_VALUE_H

#include "postgres.h"

#include "storage/bufpage.h"

#include "columnar/directory.h"

/* Every value is followed by the checksum of its table's identity, its key and itself. */
#define GPUCOL_SEAL_BYTES		sizeof(uint32)

/* A kind of directory rows. */
typedef struct GpucolValueKind
{
	Oid			base;			/* chunk_id of the first */
	Oid			span;			/* chunk_ids */
	uint32		size;			/* bytes of the data */
	uint32		unit;			/* rows of the table that a key stands for; 0 = none */
	bool		in_place;		/* may change in place: copy under a lock */
	bool		repeated;		/* one snapshot may see a key more than once */
	const char *name;
} GpucolValueKind;

/* The kind of an id; NULL = none. */
extern const GpucolValueKind *gpucol_value_kind(Oid id);

/*
 * A TOAST tuple of the sealed data of a key, in the current memory context.  `identity`
 * is the table's.
 */
extern HeapTuple gpucol_value_form(Relation toast, uint64 identity, Oid id, int32 seq,
								   const void *data, Size size);

/* Replace the data of a row that has been found good, and seal them. */
extern void gpucol_value_replace(uint64 identity, const GpucolDirectoryTuple *row,
								 const void *data);

/*
 * Find the tuple at a place of a page, whose buffer is locked; false if there is none
 * that lies within the page as a tuple of a TOAST relation must.
 */
extern bool gpucol_value_find(Page page, ItemPointer tid, HeapTuple tuple);

/* Read such a tuple, and take the checksum off its data. */
extern void gpucol_value_read(HeapTuple tuple, Buffer buffer, GpucolDirectoryTuple *row);

/*
 * What is wrong with a row that was read, in the words of an error's detail; NULL if
 * nothing is.  The counter has its own identity; of another version it raises an error.
 */
extern const char *gpucol_value_problem(Relation table, uint64 identity,
										const GpucolDirectoryTuple *row);

/*
 * Find the row at a place of a page whose buffer is locked, which must be there and good
 * and have data of `size` bytes.
 */
extern void gpucol_directory_row_on_page(GpucolDirectory *dir, Page page, ItemPointer tid,
										 Size size, GpucolDirectoryTuple *row);

/*
 * Raise the error of a directory row that is wrong, or note it where the directory was
 * opened to go on.
 */
extern void gpucol_value_damaged(GpucolDirectory *dir, const ItemPointerData *tid, Oid id,
								 int32 seq, const char *problem);

/* The same of a page of an index of the TOAST relation. */
extern void gpucol_value_damaged_index(GpucolDirectory *dir, Relation index,
									   BlockNumber block, const char *problem);

#endif							/* GPUCOL_COLUMNAR_DIRECTORY_VALUE_H */
