/*-------------------------------------------------------------------------
 *
 * same_key.h
 *	  Btree entries of new versions of rows whose keys are as they were.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_SAME_KEY_H
#define GPUCOL_COLUMNAR_SAME_KEY_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "utils/rel.h"

/*
 * Enter a row's new version into a btree that has an entry of the old one with the same key, without a
 * look at predicate locks; the caller has looked at those of the old row.  False, and nothing
 * is done, where it does not fit beside the others: then index_insert is to do it.
 */
extern bool gpucol_same_key_insert(Relation index, Relation table, Datum *values, bool *isnull,
								   const ItemPointerData *tid);

#endif							/* GPUCOL_COLUMNAR_SAME_KEY_H */
