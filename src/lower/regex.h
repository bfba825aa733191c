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

/*
 * The automaton, in the current memory context, that accepts what such a regular expression
 * matches under the collation, with or without regard to case; NULL if there is none, or one
 * with too many states.  The database's encoding is UTF-8 or has one byte a character.
 */
extern GpucolAutomaton *gpucol_regex_automaton(GpucolBytes regexp, Oid collation, bool ignores_case);

/* The same of a LIKE pattern, under any deterministic collation; NULL also where it is not valid. */
extern GpucolAutomaton *gpucol_like_automaton(GpucolBytes pattern);

#endif							/* GPUCOL_LOWER_REGEX_H */
