/*-------------------------------------------------------------------------
 *
 * new_entries.h
 *	  Index entries of rows that are packed in another place, or updated without a new key.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_NEW_ENTRIES_H
#define GPUCOL_COLUMNAR_NEW_ENTRIES_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "utils/rel.h"

/* The table's indexes, and what forming their entries needs. */
typedef struct GpucolNewEntries
{
	int			n;
	Relation   *indexes;
	IndexInfo **infos;
	ExprState **predicates;
	EState	   *estate;
	ExprContext *econtext;
	bool		ranges;			/* others summarise blocks, and are left out */
	bool		deferrable;		/* uniqueness may be checked at the end of the transaction */
} GpucolNewEntries;

/* Open every index that new rows must enter; their locks last as long as the transaction. */
extern void gpucol_new_entries_begin(GpucolNewEntries *all, Relation table);
extern void gpucol_new_entries_end(GpucolNewEntries *all);

/*
 * Enter a row into every index under the TID that its slot has.  Uniqueness is not
 * checked: the row was in the index under its old TID.
 */
extern void gpucol_new_entries_add(GpucolNewEntries *all, Relation table, TupleTableSlot *slot);

/*
 * Enter an update's new version that has the old one's keys into every index; no btree in which it
 * fits looks at predicate locks (same_key.h).  False, and nothing is done, where an index
 * summarises blocks, or a unique constraint is deferrable: the executor is to note the new version for the
 * check at the end, which does not follow the old one to it.
 */
extern bool gpucol_new_entries_same_keys(Relation table, TupleTableSlot *slot);

#endif							/* GPUCOL_COLUMNAR_NEW_ENTRIES_H */
