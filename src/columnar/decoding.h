/*-------------------------------------------------------------------------
 *
 * decoding.h
 *	  Logical decoding, which knows of delta rows only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_DECODING_H
#define GPUCOL_COLUMNAR_DECODING_H

#include "postgres.h"

#include "utils/rel.h"

/*
 * Would a logical decoding client miss changes of the table that do not appear as
 * heap tuples in WAL?
 */
extern bool gpucol_decoding_active(Relation table);

/* Raise an error if it would miss a change of a segment row. */
extern void gpucol_decoding_check(Relation table);

#endif							/* GPUCOL_COLUMNAR_DECODING_H */
