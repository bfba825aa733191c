/*-------------------------------------------------------------------------
 *
 * feed_words.h
 *	  Texts as numbers, and these in the order of a collation.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_EXEC_FEED_WORDS_H
#define GPUCOL_EXEC_FEED_WORDS_H

#include "postgres.h"

#include "engine/engine.h"
#include "service/memory.h"

typedef struct GpucolWords GpucolWords;

/* None yet, of a deterministic collation, in the current context, which is theirs. */
extern GpucolWords *gpucol_words_create(Oid type, Oid collation);

/* Bytes that n texts more may take, but for the texts themselves. */
extern Size gpucol_words_room(const GpucolWords *words, uint64 n);

/* Number the texts of a column: those of rows that `wanted` (NULL: all) has and that are not NULL. */
extern void gpucol_words_number(GpucolWords *words, const GpucolResultColumn *column, const bool *wanted,
								uint32 n, int64 *numbers);

/* When all are there, sort them; before that, the bytes it takes.  Then n numbers become places in the order. */
extern Size gpucol_words_sort_room(const GpucolWords *words);
extern void gpucol_words_sort(GpucolWords *words, GpucolMeter *meter);
extern void gpucol_words_rank(const GpucolWords *words, int64 *numbers, uint64 n);

/* The text of a place; it is the words'. */
extern Datum gpucol_words_datum(const GpucolWords *words, int64 rank);

#endif							/* GPUCOL_EXEC_FEED_WORDS_H */
