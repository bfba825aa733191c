/*-------------------------------------------------------------------------
 *
 * decoding.h
 *	  Whether a logical slot may want a table's changes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DECODING_H
#define GPUCOL_COLUMNAR_DECODING_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Would a logical decoding client miss changes of the table that do not appear as
 * heap's records in WAL?  To be asked by who changes the table: the transaction gets its number.
 */
extern bool gpucol_decoding_active(Relation table);

#endif							/* GPUCOL_COLUMNAR_DECODING_H */
