/*-------------------------------------------------------------------------
 *
 * leaf_entry.h
 *	  An entry on a leaf page of a btree, put there without nbtree's insertion.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_LEAF_ENTRY_H
#define GPUCOL_COLUMNAR_LEAF_ENTRY_H

#include "postgres.h"

#include "access/itup.h"
#include "storage/buf.h"
#include "utils/rel.h"

/*
 * Put an entry at an offset of a leaf page, which is locked exclusively, has been split completely, and has
 * room for it (PageGetFreeSpace); the caller knows that it belongs there.  Without `log` it logs the page before it
 * ends the critical section that it has begun.
 */
extern void gpucol_leaf_entry_put(Relation index, Buffer buffer, IndexTuple entry, OffsetNumber offset, bool log);

#endif							/* GPUCOL_COLUMNAR_LEAF_ENTRY_H */
