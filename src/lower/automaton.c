/*-------------------------------------------------------------------------
 *
 * automaton.c
 *	  Finite automata over bytes, for patterns.
 *
 * Patterns are made of parts with edges that take no byte (Thompson, "Regular expression
 * search algorithm", CACM 11, 1968).  Before the first text the sets of states in which such an
 * automaton can be become the states of a deterministic one (the subset construction), so that
 * each byte of a text costs one lookup.  Bytes that no edge tells apart share a class.
 *
 * Two states end the search: from one nothing is found any more, in the other it is.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"

#include "lower/automaton.h"

#define SET_WORDS	(GPUCOL_NFA_STATES / 64)

/* States of the deterministic automaton. */
#define LOST		0
#define FOUND		1
#define START		2
#define MOST_STATES 256

typedef struct StateSet
{
	uint64		words[SET_WORDS];
} StateSet;

struct GpucolAutomaton
{
	int			n;				/* states */
	int			nclasses;
	uint8		class_of[256];
	bool		at_end[MOST_STATES];	/* found, if the text ends here */
	uint8	   *next;			/* [state * nclasses + class] */
};

/* What is needed to make one. */
typedef struct Maker
{
	const GpucolNfa *nfa;
	int			final;
	GpucolAutomaton *made;
	uint8		sample[256];	/* a byte of each class */
	StateSet	sets[MOST_STATES];
} Maker;

/* ---- parts ---- */

static int
add_state(GpucolNfa *nfa, GpucolNfaKind kind, uint8 least, uint8 most)
{
	int			state = Min(nfa->n, GPUCOL_NFA_STATES - 1);

	/* past the end the last one is overwritten: nobody will use the automaton */
	nfa->n++;
	nfa->states[state] = (GpucolNfaState) {kind, least, most, -1, -1};
	return state;
}

GpucolNfaPart
gpucol_nfa_nothing(GpucolNfa *nfa)
{
	int			state = add_state(nfa, GPUCOL_NFA_EMPTY, 0, 0);

	return (GpucolNfaPart) {state, state};
}

static GpucolNfaPart
add_edge(GpucolNfa *nfa, GpucolNfaKind kind, uint8 least, uint8 most)
{
	int			first = add_state(nfa, kind, least, most);
	int			last = add_state(nfa, GPUCOL_NFA_EMPTY, 0, 0);

	nfa->states[first].next = last;
	return (GpucolNfaPart) {first, last};
}

GpucolNfaPart
gpucol_nfa_bytes(GpucolNfa *nfa, uint8 least, uint8 most)
{
	return add_edge(nfa, GPUCOL_NFA_BYTES, least, most);
}

GpucolNfaPart
gpucol_nfa_assertion(GpucolNfa *nfa, GpucolNfaKind kind)
{
	return add_edge(nfa, kind, 0, 0);
}

GpucolNfaPart
gpucol_nfa_either(GpucolNfa *nfa, GpucolNfaPart a, GpucolNfaPart b)
{
	int			first = add_state(nfa, GPUCOL_NFA_EMPTY, 0, 0);
	int			last = add_state(nfa, GPUCOL_NFA_EMPTY, 0, 0);

	nfa->states[first].next = a.first;
	nfa->states[first].other = b.first;
	nfa->states[a.last].next = nfa->states[b.last].next = last;
	return (GpucolNfaPart) {first, last};
}

GpucolNfaPart
gpucol_nfa_both(GpucolNfa *nfa, GpucolNfaPart a, GpucolNfaPart b)
{
	nfa->states[a.last].next = b.first;
	return (GpucolNfaPart) {a.first, b.last};
}

GpucolNfaPart
gpucol_nfa_any_number(GpucolNfa *nfa, GpucolNfaPart a)
{
	GpucolNfaPart part = gpucol_nfa_at_most_one(nfa, a);

	nfa->states[a.last].next = part.first;
	return part;
}

GpucolNfaPart
gpucol_nfa_at_most_one(GpucolNfa *nfa, GpucolNfaPart a)
{
	return gpucol_nfa_either(nfa, a, gpucol_nfa_nothing(nfa));
}

/* ---- the subset construction ---- */

static bool
has(const StateSet *set, int state)
{
	return (set->words[state / 64] >> (state % 64) & 1) != 0;
}

/* Add a state and those that are reached from it without a byte, at such a place of the text. */
static void
reach(const Maker *maker, StateSet *set, int state, bool beginning, bool end)
{
	int			stack[GPUCOL_NFA_STATES * 2];
	int			n = 0;

	for (;;)
	{
		const GpucolNfaState *s = &maker->nfa->states[state];

		if (!has(set, state))
		{
			bool		passes = s->kind == GPUCOL_NFA_EMPTY || (s->kind == GPUCOL_NFA_BEGINNING && beginning) ||
				(s->kind == GPUCOL_NFA_END && end);

			set->words[state / 64] |= UINT64CONST(1) << (state % 64);
			if (passes && s->next >= 0 && !has(set, s->next))
				stack[n++] = s->next;
			if (passes && s->other >= 0 && !has(set, s->other))
				stack[n++] = s->other;
		}
		if (n == 0)
			break;
		state = stack[--n];
	}
}

/* Is the end of the pattern reached from these states if the text ends here? */
static bool
is_found_at_end(const Maker *maker, const StateSet *set, bool beginning)
{
	StateSet	all = {{0}};

	for (int state = 0; state < maker->nfa->n; state++)
	{
		if (has(set, state))
			reach(maker, &all, state, beginning, true);
	}
	return has(&all, maker->final);
}

/* The number of the state that stands for this set, which is new perhaps; -1: too many. */
static int
number_of(Maker *maker, const StateSet *set, bool beginning)
{
	static const StateSet none;
	GpucolAutomaton *made = maker->made;

	if (has(set, maker->final))
		return FOUND;
	if (memcmp(set, &none, sizeof(none)) == 0)
		return LOST;
	for (int i = START + 1; i < made->n; i++)
	{
		if (memcmp(set, &maker->sets[i], sizeof(*set)) == 0)
			return i;
	}
	if (made->n == MOST_STATES)
		return -1;
	maker->sets[made->n] = *set;
	made->at_end[made->n] = is_found_at_end(maker, set, beginning);
	return made->n++;
}

/* The states that such a byte leads to. */
static StateSet
step(const Maker *maker, const StateSet *from, uint8 byte)
{
	StateSet	to = {{0}};

	for (int state = 0; state < maker->nfa->n; state++)
	{
		const GpucolNfaState *s = &maker->nfa->states[state];

		if (has(from, state) && s->kind == GPUCOL_NFA_BYTES && byte >= s->least && byte <= s->most)
			reach(maker, &to, s->next, false, false);
	}
	return to;
}

/* Classes of bytes that every edge takes or none does. */
static void
make_classes(Maker *maker)
{
	GpucolAutomaton *made = maker->made;
	bool		begins[257] = {true};

	for (int state = 0; state < maker->nfa->n; state++)
	{
		const GpucolNfaState *s = &maker->nfa->states[state];

		if (s->kind == GPUCOL_NFA_BYTES)
			begins[s->least] = begins[s->most + 1] = true;
	}
	for (int byte = 0; byte < 256; byte++)
	{
		if (begins[byte])
			maker->sample[made->nclasses++] = (uint8) byte;
		made->class_of[byte] = (uint8) (made->nclasses - 1);
	}
}

/* Number states until all are known that can be reached; false: too many. */
static bool
make_states(Maker *maker, int first)
{
	GpucolAutomaton *made = maker->made;
	StateSet	start = {{0}};

	reach(maker, &start, first, true, false);
	made->n = START;
	/* where the beginning alone is enough, the first state is left by no byte */
	if (number_of(maker, &start, true) == FOUND)
		made->at_end[made->n++] = true;
	made->at_end[FOUND] = true;
	for (int state = 0; state < made->n; state++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int class = 0; class < made->nclasses; class++)
		{
			StateSet	to;
			int			number = state == LOST ? LOST : FOUND;

			if (state >= START && !(state == START && has(&start, maker->final)))
			{
				to = step(maker, &maker->sets[state], maker->sample[class]);
				number = number_of(maker, &to, false);
			}
			if (number < 0)
				return false;
			made->next[state * made->nclasses + class] = (uint8) number;
		}
	}
	return true;
}

/* Let states from which nothing can be found any more be the one that says so. */
static void
find_lost(GpucolAutomaton *made)
{
	bool		hopeful[MOST_STATES];
	bool		more = true;

	memcpy(hopeful, made->at_end, sizeof(hopeful));
	while (more)
	{
		more = false;
		for (int i = START * made->nclasses; i < made->n * made->nclasses; i++)
		{
			int			state = i / made->nclasses;

			if (!hopeful[state] && hopeful[made->next[i]])
				more = hopeful[state] = true;
		}
	}
	for (int i = 0; i < made->n * made->nclasses; i++)
		if (!hopeful[made->next[i]])
			made->next[i] = LOST;
}

GpucolAutomaton *
gpucol_automaton_create(GpucolNfa *nfa, GpucolNfaPart part)
{
	/* bytes before the part, one by one */
	GpucolNfaPart before = gpucol_nfa_any_number(nfa, gpucol_nfa_bytes(nfa, 0, 255));
	GpucolNfaPart whole = gpucol_nfa_both(nfa, before, part);
	Maker	   *maker = palloc0(sizeof(Maker));
	GpucolAutomaton *made = maker->made = palloc0(sizeof(GpucolAutomaton));
	bool		ok = nfa->n <= GPUCOL_NFA_STATES;

	maker->nfa = nfa;
	maker->final = whole.last;
	if (ok)
	{
		make_classes(maker);
		made->next = palloc0((size_t) MOST_STATES * made->nclasses);
		ok = make_states(maker, whole.first);
	}
	if (ok)
		find_lost(made);
	pfree(maker);
	return ok ? made : NULL;
}

bool
gpucol_automaton_accepts(const GpucolAutomaton *automaton, GpucolBytes bytes)
{
	const uint8 *next = automaton->next;
	uint32		nclasses = automaton->nclasses;
	uint32		state = START;

	for (size_t i = 0; i < bytes.len; i++)
	{
		state = next[state * nclasses + automaton->class_of[(uint8) bytes.data[i]]];
		if (state < START)
			return state == FOUND;
	}
	return automaton->at_end[state];
}
