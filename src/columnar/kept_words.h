/*-------------------------------------------------------------------------
 *
 * kept_words.h
 *	  Bitmaps of deleted rows that a cache of a backend keeps, within what the session may hold.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_COLUMNAR_KEPT_WORDS_H
#define GPUCOL_COLUMNAR_KEPT_WORDS_H

#include "postgres.h"

/*
 * A copy of so many words in a context, which is added to the bytes that a cache keeps and to what the session holds;
 * NULL if that would leave too little for queries, or there is no memory.
 */
extern uint32 *gpucol_kept_words_copy(MemoryContext context, Size *kept, const uint32 *words, uint32 nwords);

/* So many bytes of copies are going, with their context. */
extern void gpucol_kept_words_release(Size *kept, Size bytes);

#endif							/* GPUCOL_COLUMNAR_KEPT_WORDS_H */
