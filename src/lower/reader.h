/*-------------------------------------------------------------------------
 *
 * reader.h
 *	  A text that is read from its beginning: patterns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_READER_H
#define GPUCOL_LOWER_READER_H

#include "postgres.h"

typedef struct GpucolReadText
{
	const char *at;
	const char *end;
} GpucolReadText;

/* Does this come next?  If so, pass it. */
static inline bool
gpucol_read_pass(GpucolReadText *text, const char *what)
{
	size_t		len = strlen(what);

	if ((size_t) (text->end - text->at) < len || memcmp(text->at, what, len) != 0)
		return false;
	text->at += len;
	return true;
}

/* Does one of these characters come next? */
static inline bool
gpucol_read_sees(const GpucolReadText *text, const char *any)
{
	return text->at < text->end && *text->at != '\0' && strchr(any, *text->at) != NULL;
}

#endif							/* GPUCOL_LOWER_READER_H */
