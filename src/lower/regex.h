/*-------------------------------------------------------------------------
 *
 * regex.h
 *	  Regular expressions and LIKE patterns as automata.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_REGEX_H
#define GPUCOL_LOWER_REGEX_H

#include "postgres.h"

#include "lower/automaton.h"

/* Are ASCII's digits all that \d means under a collation, as far as is known here? */
extern bool gpucol_regex_has_ascii_digits(Oid collation);

/* The bits of the ASCII characters that a valid set, such as \W or [[:space:],], means under a collation. */
extern void gpucol_regex_ascii_set(const char *set, Oid collation, uint64 bits[2]);

/*
 * The automaton, in the current memory context, that accepts what such a regular expression
 * matches under the collation, with or without regard to case; NULL if there is none, or one
 * with too many states.  The database's encoding is UTF-8 or has one byte a character.
 */
extern GpucolAutomaton *gpucol_regex_automaton(GpucolBytes regexp, Oid collation, bool ignores_case);

/* What of a text is compared with a LIKE pattern or a constant. */
typedef enum GpucolCase
{
	GPUCOL_CASE_KEPT,			/* the text itself */
	GPUCOL_CASE_IGNORED,		/* lower() of both: ILIKE */
	GPUCOL_CASE_LOWER,			/* lower() of it */
	GPUCOL_CASE_UPPER			/* upper() of it */
} GpucolCase;

/*
 * The same of a LIKE pattern, under a deterministic collation, whose idea of upper and lower
 * case counts unless the text is compared as it is; NULL also where the pattern is not valid.
 */
extern GpucolAutomaton *gpucol_like_automaton(GpucolBytes pattern, Oid collation, GpucolCase how);

/* The same of texts that equal a constant. */
extern GpucolAutomaton *gpucol_equal_automaton(GpucolBytes constant, Oid collation, GpucolCase how);

/*
 * The automaton of texts whose n-th field, from 1, is a constant; NULL where the separator is not one
 * character of ASCII, or the constant empty or no field.
 */
extern GpucolAutomaton *gpucol_field_automaton(GpucolBytes separator, int n, GpucolBytes constant);

#endif							/* GPUCOL_LOWER_REGEX_H */
