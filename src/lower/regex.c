/*-------------------------------------------------------------------------
 *
 * regex.c
 *	  Regular expressions and LIKE patterns as automata.
 *
 * Taken is what means the same to PostgreSQL's engine under the collation: plain characters, ".",
 * sets of ASCII characters or all but these, groups, alternatives, quantifiers, "^" and "$" at
 * the ends of the whole text (PostgreSQL's default), digits where the collation has no others
 * than ASCII's, and letters in both cases where it pairs ASCII's as usual.  Whether a quantifier
 * is greedy does not matter for what is matched.  Back references, constraints such as \m, embedded
 * options and classes that depend on the collation are left to PostgreSQL.
 *
 * Texts are taken for valid in the database's encoding, as PostgreSQL does.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "lower/reader.h"
#include "lower/regex.h"

/* Repetitions that PostgreSQL's engine allows. */
#define MOST_TIMES	255

#define MANY		(-1)

/* A regular expression that is read. */
typedef struct Reader
{
	GpucolReadText text;
	GpucolNfa  *nfa;
	Oid			collation;
	bool		ignores_case;
} Reader;

/* Characters. */
typedef struct CharSet
{
	uint64		ascii[2];
	bool		others;			/* all that are not ASCII */
} CharSet;

static bool read_alternatives(Reader *r, GpucolNfaPart *out);

/* ---- what the collation says ---- */

/* Does PostgreSQL's function say that the text matches? */
static bool
matches(Oid function, Oid collation, const char *value, const char *regexp)
{
	return DatumGetBool(OidFunctionCall2Coll(function, collation, CStringGetTextDatum(value),
											 CStringGetTextDatum(regexp)));
}

/* Are ASCII's digits all that there are? */
static bool
has_ascii_digits(Oid collation)
{
	static const char *const others = "\xd9\xa3\xe0\xa5\xa9\xef\xbc\x93\xe0\xb9\x93";	/* threes of other scripts */

	return pg_database_encoding_max_length() > 1 &&
		!matches(F_TEXTREGEXEQ, collation, others, "\\d") &&
		matches(F_TEXTREGEXEQ, collation, "0123456789", "^\\d{10}$");
}

/* Has every ASCII letter the usual other case, and no further one? */
static bool
has_ascii_cases(Oid collation)
{
	static const char *const both = "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ";

	return matches(F_TEXTICREGEXEQ, collation, both, "^aabbccddeeffgghhiijjkkllmmnnooppqqrrssttuuvvwwxxyyzz$") &&
		matches(F_TEXTICREGEXEQ, collation, both, "^AABBCCDDEEFFGGHHIIJJKKLLMMNNOOPPQQRRSSTTUUVVWWXXYYZZ$");
}

/* ---- characters ---- */

static void
add_character(const Reader *r, CharSet *set, uint8 c)
{
	set->ascii[c / 64] |= UINT64CONST(1) << (c % 64);
	if (r->ignores_case && isalpha(c))
		set->ascii[(c ^ 0x20) / 64] |= UINT64CONST(1) << ((c ^ 0x20) % 64);
}

static void
add_digits(const Reader *r, CharSet *set)
{
	for (uint8 c = '0'; c <= '9'; c++)
		add_character(r, set, c);
}

static void
negate(CharSet *set)
{
	set->ascii[0] = ~set->ascii[0];
	set->ascii[1] = ~set->ascii[1];
	set->others = !set->others;
}

/* Characters of so many bytes that begin with one of a range. */
static GpucolNfaPart
long_characters(GpucolNfa *nfa, uint8 least, uint8 most, int len)
{
	GpucolNfaPart part = gpucol_nfa_bytes(nfa, least, most);

	while (--len > 0)
		part = gpucol_nfa_both(nfa, part, gpucol_nfa_bytes(nfa, 0x80, 0xbf));
	return part;
}

/* All characters that are not ASCII. */
static GpucolNfaPart
other_characters(GpucolNfa *nfa)
{
	GpucolNfaPart part;

	if (pg_database_encoding_max_length() == 1)
		return gpucol_nfa_bytes(nfa, 0x80, 0xff);
	part = gpucol_nfa_either(nfa, long_characters(nfa, 0xc0, 0xdf, 2), long_characters(nfa, 0xe0, 0xef, 3));
	return gpucol_nfa_either(nfa, part, long_characters(nfa, 0xf0, 0xf7, 4));
}

/* One character of a set that is not empty. */
static GpucolNfaPart
one_of(GpucolNfa *nfa, const CharSet *set)
{
	GpucolNfaPart part = {-1, -1};

	for (int c = 0; c < 128; c++)
	{
		int			last = c;
		GpucolNfaPart range;

		if ((set->ascii[c / 64] >> (c % 64) & 1) == 0)
			continue;
		while (last < 127 && (set->ascii[(last + 1) / 64] >> ((last + 1) % 64) & 1) != 0)
			last++;
		range = gpucol_nfa_bytes(nfa, (uint8) c, (uint8) last);
		part = part.first < 0 ? range : gpucol_nfa_either(nfa, part, range);
		c = last;
	}
	if (!set->others)
		return part;
	return part.first < 0 ? other_characters(nfa) : gpucol_nfa_either(nfa, part, other_characters(nfa));
}

static GpucolNfaPart
any_character(GpucolNfa *nfa)
{
	CharSet		set = {{0, 0}, false};

	negate(&set);
	return one_of(nfa, &set);
}

/* The character itself, of several bytes perhaps, which is passed. */
static GpucolNfaPart
plain_character(GpucolNfa *nfa, const char **at, const char *end)
{
	int			len = Min(pg_mblen(*at), end - *at);
	GpucolNfaPart part = gpucol_nfa_bytes(nfa, (uint8) **at, (uint8) **at);

	for (int i = 1; i < len; i++)
		part = gpucol_nfa_both(nfa, part, gpucol_nfa_bytes(nfa, (uint8) (*at)[i], (uint8) (*at)[i]));
	*at += len;
	return part;
}

/* ---- regular expressions ---- */

/* Does an ASCII character come next? */
static bool
at_ascii(const Reader *r)
{
	return r->text.at < r->text.end && !IS_HIGHBIT_SET(*r->text.at) && *r->text.at != '\0';
}

/* Does the rest of a range come next, which is between brackets? */
static bool
at_range(const Reader *r)
{
	return gpucol_read_sees(&r->text, "-") && r->text.end - r->text.at > 1 && r->text.at[1] != ']';
}

/* A class between brackets, or a plain ASCII character that may begin a range. */
static bool
read_set_item(Reader *r, CharSet *set)
{
	uint8		first;
	uint8		last;

	if (gpucol_read_pass(&r->text, "[:digit:]") || gpucol_read_pass(&r->text, "\\d"))
	{
		add_digits(r, set);
		return has_ascii_digits(r->collation) && !at_range(r);
	}
	if (!at_ascii(r) || gpucol_read_sees(&r->text, "[\\]"))
		return false;
	first = last = (uint8) *r->text.at++;
	if (first == '-' && !gpucol_read_sees(&r->text, "]"))
		return false;
	if (at_range(r))
	{
		last = (uint8) r->text.at[1];
		if (IS_HIGHBIT_SET(last) || last < first || last == '[' || last == '\\')
			return false;
		r->text.at += 2;
	}
	for (int c = first; c <= last; c++)
		add_character(r, set, (uint8) c);
	return true;
}

/* The set between brackets, the first of which is passed. */
static bool
read_set(Reader *r, GpucolNfaPart *out)
{
	CharSet		set = {{0, 0}, false};
	bool		negated = gpucol_read_pass(&r->text, "^");

	do
	{
		if (!read_set_item(r, &set))
			return false;
	} while (!gpucol_read_sees(&r->text, "]"));
	r->text.at++;
	if (negated)
		negate(&set);
	*out = one_of(r->nfa, &set);
	return out->first >= 0;
}

/* What follows a backslash. */
static bool
read_escape(Reader *r, GpucolNfaPart *out)
{
	CharSet		set = {{0, 0}, false};

	if (gpucol_read_sees(&r->text, "dD"))
	{
		add_digits(r, &set);
		if (*r->text.at++ == 'D')
			negate(&set);
		*out = one_of(r->nfa, &set);
		return has_ascii_digits(r->collation);
	}
	/* other letters and digits have meanings of their own */
	if (!at_ascii(r) || isalnum((unsigned char) *r->text.at))
		return false;
	*out = plain_character(r->nfa, &r->text.at, r->text.end);
	return true;
}

/* What a quantifier is about. */
static bool
read_atom(Reader *r, GpucolNfaPart *out)
{
	CharSet		set = {{0, 0}, false};

	if (gpucol_read_pass(&r->text, "(?:") || gpucol_read_pass(&r->text, "("))
		return !gpucol_read_sees(&r->text, "?*") && read_alternatives(r, out) && gpucol_read_pass(&r->text, ")");
	if (gpucol_read_pass(&r->text, "["))
		return read_set(r, out);
	if (gpucol_read_pass(&r->text, "\\"))
		return read_escape(r, out);
	if (r->text.at >= r->text.end || gpucol_read_sees(&r->text, "()]*+?{}|^$") || *r->text.at == '\0')
		return false;
	if (gpucol_read_pass(&r->text, "."))
		*out = any_character(r->nfa);
	else if (!IS_HIGHBIT_SET(*r->text.at))
	{
		add_character(r, &set, (uint8) *r->text.at++);
		*out = one_of(r->nfa, &set);
	}
	else if (r->ignores_case)
		return false;
	else
		*out = plain_character(r->nfa, &r->text.at, r->text.end);
	return true;
}

/* A number of repetitions. */
static bool
read_times(Reader *r, int *times)
{
	int			digits = 0;

	*times = 0;
	for (; gpucol_read_sees(&r->text, "0123456789") && digits < 4; digits++)
		*times = *times * 10 + (*r->text.at++ - '0');
	return digits > 0 && *times <= MOST_TIMES;
}

/* The quantifier that follows, if any does; another one may not follow that. */
static bool
read_quantifier(Reader *r, int *least, int *most)
{
	*least = *most = 1;
	if (!gpucol_read_sees(&r->text, "*+?{"))
		return true;
	if (gpucol_read_sees(&r->text, "*?"))
		*least = 0;
	if (gpucol_read_sees(&r->text, "*+"))
		*most = MANY;
	if (*r->text.at++ == '{')
	{
		if (!read_times(r, least))
			return false;
		*most = *least;
		if (gpucol_read_pass(&r->text, ",}"))
			*most = MANY;
		else if ((gpucol_read_pass(&r->text, ",") && !read_times(r, most)) || !gpucol_read_pass(&r->text, "}"))
			return false;
		if (*most != MANY && *most < *least)
			return false;
	}
	(void) gpucol_read_pass(&r->text, "?");
	return !gpucol_read_sees(&r->text, "*+?{");
}

/* An assertion, or an atom as often as its quantifier says: it is read as often as it is needed. */
static bool
read_piece(Reader *r, GpucolNfaPart *out)
{
	const char *begin = r->text.at;
	const char *end;
	GpucolNfaPart atom;
	int			least;
	int			most;

	if (gpucol_read_sees(&r->text, "^$"))
	{
		*out = gpucol_nfa_assertion(r->nfa, *r->text.at++ == '^' ? GPUCOL_NFA_BEGINNING : GPUCOL_NFA_END);
		return !gpucol_read_sees(&r->text, "*+?{");
	}
	if (!read_atom(r, &atom) || !read_quantifier(r, &least, &most))
		return false;
	end = r->text.at;
	*out = gpucol_nfa_nothing(r->nfa);
	for (int i = 0; i < Max(least, most == MANY ? least + 1 : most); i++)
	{
		if (r->nfa->n > GPUCOL_NFA_STATES)
			return false;
		r->text.at = begin;
		if (i > 0 && !read_atom(r, &atom))
			return false;
		if (i >= least)
			atom = most == MANY ? gpucol_nfa_any_number(r->nfa, atom) : gpucol_nfa_at_most_one(r->nfa, atom);
		*out = gpucol_nfa_both(r->nfa, *out, atom);
	}
	r->text.at = end;
	return true;
}

/* Pieces that follow each other: one at least. */
static bool
read_branch(Reader *r, GpucolNfaPart *out)
{
	GpucolNfaPart piece;

	if (!read_piece(r, out))
		return false;
	while (r->text.at < r->text.end && !gpucol_read_sees(&r->text, "|)"))
	{
		if (r->nfa->n > GPUCOL_NFA_STATES || !read_piece(r, &piece))
			return false;
		*out = gpucol_nfa_both(r->nfa, *out, piece);
	}
	return true;
}

static bool
read_alternatives(Reader *r, GpucolNfaPart *out)
{
	GpucolNfaPart branch;

	check_stack_depth();
	if (!read_branch(r, out))
		return false;
	while (gpucol_read_pass(&r->text, "|"))
	{
		if (!read_branch(r, &branch))
			return false;
		*out = gpucol_nfa_either(r->nfa, *out, branch);
	}
	return true;
}

GpucolAutomaton *
gpucol_regex_automaton(GpucolBytes regexp, Oid collation, bool ignores_case)
{
	GpucolNfa  *nfa = palloc0(sizeof(GpucolNfa));
	Reader		r = {{regexp.data, regexp.data + regexp.len}, nfa, collation, ignores_case};
	GpucolAutomaton *automaton = NULL;
	GpucolNfaPart part;
	bool		ok = !ignores_case || has_ascii_cases(collation);

	if (ok && regexp.len == 0)
		part = gpucol_nfa_nothing(nfa);
	else
		ok = ok && read_alternatives(&r, &part) && r.text.at == r.text.end;
	if (ok)
		automaton = gpucol_automaton_create(nfa, part);
	pfree(nfa);
	return automaton;
}

GpucolAutomaton *
gpucol_like_automaton(GpucolBytes pattern)
{
	GpucolNfa  *nfa = palloc0(sizeof(GpucolNfa));
	const char *at = pattern.data;
	const char *end = at + pattern.len;
	GpucolAutomaton *automaton = NULL;
	GpucolNfaPart part = gpucol_nfa_assertion(nfa, GPUCOL_NFA_BEGINNING);

	while (at < end && nfa->n <= GPUCOL_NFA_STATES)
	{
		GpucolNfaPart next;

		if (*at == '%' || *at == '_')
			next = *at++ == '_' ? any_character(nfa) : gpucol_nfa_any_number(nfa, gpucol_nfa_bytes(nfa, 0, 255));
		else
		{
			if (*at == '\\' && ++at == end)
				break;
			next = plain_character(nfa, &at, end);
		}
		part = gpucol_nfa_both(nfa, part, next);
	}
	if (at == end)
		automaton = gpucol_automaton_create(nfa, gpucol_nfa_both(nfa, part, gpucol_nfa_assertion(nfa, GPUCOL_NFA_END)));
	pfree(nfa);
	return automaton;
}
