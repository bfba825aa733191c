/*-------------------------------------------------------------------------
 *
 * automaton.h
 *	  Finite automata over bytes, for patterns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef GPUCOL_LOWER_AUTOMATON_H
#define GPUCOL_LOWER_AUTOMATON_H

#include "postgres.h"

#include "kernel/batch.h"

/* States that a nondeterministic automaton may have. */
#define GPUCOL_NFA_STATES	512

typedef enum GpucolNfaKind
{
	GPUCOL_NFA_EMPTY,			/* to the next state, and to the other, if any, without a byte */
	GPUCOL_NFA_BYTES,			/* to the next state by a byte of a range */
	GPUCOL_NFA_BEGINNING,		/* to the next state, at the text's beginning only */
	GPUCOL_NFA_END				/* the same at its end */
} GpucolNfaKind;

typedef struct GpucolNfaState
{
	GpucolNfaKind kind;
	uint8		least;
	uint8		most;
	int			next;			/* -1: none yet */
	int			other;
} GpucolNfaState;

/* A nondeterministic automaton that is being made. */
typedef struct GpucolNfa
{
	int			n;				/* states; more than GPUCOL_NFA_STATES: there were too many */
	GpucolNfaState states[GPUCOL_NFA_STATES];
} GpucolNfa;

/* A part of one: where it begins, and an empty state without a next where it ends. */
typedef struct GpucolNfaPart
{
	int			first;
	int			last;
} GpucolNfaPart;

typedef struct GpucolAutomaton GpucolAutomaton;

/* Parts: nothing, a range of bytes, an assertion (kind), one or the other, both, any number, at most one. */
extern GpucolNfaPart gpucol_nfa_nothing(GpucolNfa *nfa);
extern GpucolNfaPart gpucol_nfa_bytes(GpucolNfa *nfa, uint8 least, uint8 most);
extern GpucolNfaPart gpucol_nfa_assertion(GpucolNfa *nfa, GpucolNfaKind kind);
extern GpucolNfaPart gpucol_nfa_either(GpucolNfa *nfa, GpucolNfaPart a, GpucolNfaPart b);
extern GpucolNfaPart gpucol_nfa_both(GpucolNfa *nfa, GpucolNfaPart a, GpucolNfaPart b);
extern GpucolNfaPart gpucol_nfa_any_number(GpucolNfa *nfa, GpucolNfaPart a);
extern GpucolNfaPart gpucol_nfa_at_most_one(GpucolNfa *nfa, GpucolNfaPart a);

/*
 * The deterministic automaton, in the current memory context, that accepts texts in which the part
 * is found somewhere; NULL if either has too many states.
 */
extern GpucolAutomaton *gpucol_automaton_create(GpucolNfa *nfa, GpucolNfaPart part);

/* Does it accept these bytes?  Calls nothing of PostgreSQL's. */
extern bool gpucol_automaton_accepts(const GpucolAutomaton *automaton, GpucolBytes bytes);

#endif							/* GPUCOL_LOWER_AUTOMATON_H */
