/*-------------------------------------------------------------------------
 *
 * delta_check.h
 *	  Heap pages of the delta, looked at before heap's code relies on them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DELTA_CHECK_H
#define GPUCOL_COLUMNAR_DELTA_CHECK_H

#include "postgres.h"

#include "access/htup.h"
#include "storage/buf.h"
#include "storage/off.h"
#include "utils/rel.h"

/* Does a value of variable length at `offset` have its header, and all, before `end`? */
extern bool gpucol_delta_value_fits(int16 attlen, const char *data, uint32 offset, uint32 end);

/*
 * What is wrong with an item of a page whose buffer is locked, its tuple and the ends of that one's
 * values?  NULL = nothing.
 */
extern const char *gpucol_delta_item_problem(TupleDesc desc, Page page, OffsetNumber offset);

/*
 * Look at the line pointers of a page, which is pinned and not locked, before its rows are looked up
 * or pruned; an error if one leads out of it.
 */
extern void gpucol_delta_check_lines(Relation table, Buffer buffer);

/* Look at a tuple that a line pointer has led to, and at the ends of its values. */
extern void gpucol_delta_check_tuple(Relation table, HeapTuple tuple);

/*
 * Look at all items of blocks, and at the ends of their values, before they are scanned.  Where ALTER TABLE reads
 * the rows anew the table is described as it will be, and its rows are not.
 */
extern void gpucol_delta_check_blocks(Relation table, TupleDesc desc, BlockNumber start, BlockNumber nblocks,
									  BufferAccessStrategy strategy);

/* The same for all blocks of a table, or for those that are not all frozen, which VACUUM may read. */
extern void gpucol_delta_check_table(Relation table, bool all, BufferAccessStrategy strategy);

#endif							/* GPUCOL_COLUMNAR_DELTA_CHECK_H */
