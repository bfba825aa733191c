/*-------------------------------------------------------------------------
 *
 * text_pattern.h
 *	  Patterns and separators of texts, as instructions have them among their constants.
 *
 * A pattern is a regular expression ^ head ( group ) tail $ of a simple form:
 *
 *	  head		pieces of plain bytes, each of which may be optional
 *	  group		characters of a set, any number or at least one
 *	  tail		plain bytes, then perhaps anything
 *
 * Of the ways to match a text as a whole, the longest head counts, then the longest group:
 * what PostgreSQL does where all quantifiers are greedy.  Without ^ the first place counts where
 * there is a match; then, and without $, no piece is optional.  Sets hold all bytes of
 * characters beyond ASCII, or none, so that bytes stand for characters.
 *
 * Bytes of such a value are in the d of consecutive constants of class D, 16 in each.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_KERNEL_TEXT_PATTERN_H
#define GPUCOL_KERNEL_TEXT_PATTERN_H

#include <stdint.h>

#define GPUCOL_PATTERN_PIECES	8
#define GPUCOL_PATTERN_HEAD		48	/* bytes; positions in it are bits of a word */
#define GPUCOL_PATTERN_TAIL		31

typedef struct GpucolTextPattern
{
	uint64_t	set[4];			/* bytes of the group's characters, as bits */
	uint8_t		npieces;
	uint8_t		optional;		/* pieces, as bits */
	uint8_t		least;			/* characters of the group: 0 or 1 */
	uint8_t		rest;			/* after the tail anything may follow */
	uint8_t		ntail;			/* bytes */
	uint8_t		anywhere;		/* the head may begin behind the text's beginning: it is one piece or none */
	uint8_t		unused[2];
	uint8_t		pieces[GPUCOL_PATTERN_PIECES];	/* bytes of each piece */
	uint8_t		head[GPUCOL_PATTERN_HEAD];	/* of all pieces */
	uint8_t		tail[GPUCOL_PATTERN_TAIL + 1];
} GpucolTextPattern;

/* What separates the fields of a text: at least one byte. */
typedef struct GpucolTextSeparator
{
	uint8_t		len;
	uint8_t		bytes[31];
} GpucolTextSeparator;

/* Constants that hold a value of this many bytes. */
#define GPUCOL_TEXT_CONSTS(size)	((int) (((size) + 15) / 16))

#endif							/* GPUCOL_KERNEL_TEXT_PATTERN_H */
