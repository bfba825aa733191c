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
#include "utils/builtins.h"
#include "utils/fmgroids.h"

#include "lower/reader.h"
#include "lower/regex.h"

/* Repetitions that PostgreSQL's engine allows. */
#define MOST_TIMES	255

#define MANY		(-1)

/* Groups in one another that are read: the stack must not end where PostgreSQL needs none of it. */
#define DEEPEST		50

/* A regular expression that is read. */
typedef struct Reader
{
	GpucolReadText text;
	GpucolNfa  *nfa;
	bool		ignores_case;
	bool		has_digits;		/* a class of digits was read */
	int			depth;			/* of the group that is read */
} Reader;

/* Characters. */
typedef struct CharSet
{
	uint64		ascii[2];
	bool		others;			/* all that are not ASCII */
} CharSet;

static bool read_group(Reader *r, GpucolNfaPart *out);

/* ---- what the collation says ---- */

/* Does PostgreSQL's function say that the text matches? */
static bool
matches(Oid function, Oid collation, const char *value, const char *regexp)
{
	return DatumGetBool(OidFunctionCall2Coll(function, collation, CStringGetTextDatum(value),
											 CStringGetTextDatum(regexp)));
}

bool
gpucol_regex_has_ascii_digits(Oid collation)
{
	static const char *const others = "\xd9\xa3\xe0\xa5\xa9\xef\xbc\x93\xe0\xb9\x93";	/* threes of other scripts */

	return pg_database_encoding_max_length() > 1 &&
		!matches(F_TEXTREGEXEQ, collation, others, "\\d") &&
		matches(F_TEXTREGEXEQ, collation, "0123456789", "^\\d{10}$");
}

void
gpucol_regex_ascii_set(const char *set, Oid collation, uint64 bits[2])
{
	const char *regexp = psprintf("^%s$", set);

	bits[0] = bits[1] = 0;
	for (int c = 1; c < 128; c++)
	{
		const char	value[] = {(char) c, '\0'};

		if (matches(F_TEXTREGEXEQ, collation, value, regexp))
			bits[c / 64] |= UINT64CONST(1) << (c % 64);
	}
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
add_digits(Reader *r, CharSet *set)
{
	r->has_digits = true;
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
		return !at_range(r);
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
		return true;
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
		return !gpucol_read_sees(&r->text, "?*") && read_group(r, out);
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

/* What is between parentheses, the first of which is passed. */
static bool
read_group(Reader *r, GpucolNfaPart *out)
{
	bool		ok;

	if (r->depth == DEEPEST)
		return false;
	r->depth++;
	ok = read_alternatives(r, out) && gpucol_read_pass(&r->text, ")");
	r->depth--;
	return ok;
}

GpucolAutomaton *
gpucol_regex_automaton(GpucolBytes regexp, Oid collation, bool ignores_case)
{
	GpucolNfa  *nfa = palloc0(sizeof(GpucolNfa));
	Reader		r = {{regexp.data, regexp.data + regexp.len}, nfa, ignores_case, false, 0};
	GpucolAutomaton *automaton = NULL;
	GpucolNfaPart part;
	bool		ok = !ignores_case || has_ascii_cases(collation);

	if (ok && regexp.len == 0)
		part = gpucol_nfa_nothing(nfa);
	else
		ok = ok && read_alternatives(&r, &part) && r.text.at == r.text.end;
	if (ok && (!r.has_digits || gpucol_regex_has_ascii_digits(collation)))
		automaton = gpucol_automaton_create(nfa, part);
	pfree(nfa);
	return automaton;
}

/* ---- patterns ---- */

/* A pattern that is read. */
typedef struct Pattern
{
	GpucolNfa  *nfa;
	GpucolCase	how;
	bool		wildcards;		/* "%", "_" and "\\" mean something */
	bool		long_i;			/* an i with a dot, or without, is a letter i in the other case, */
	bool		long_k;			/* and a Kelvin sign or a long s is one of k or s */
} Pattern;

/*
 * The letters beyond ASCII that have one of ASCII as their other case, by Unicode, and that;
 * which of them the collation pairs differs.
 */
static const char *const long_i[] = {"\xc4\xb0", "\xc4\xb1"};	/* lower() of the first, upper() of the other */
static const char *const long_k[] = {"\xe2\x84\xaa", "\xc5\xbf"};
static const char short_i[] = "iI";
static const char short_k[] = "kS";

static bool
is_case_of(Oid function, Oid collation, const char *from, const char *to)
{
	return strcmp(TextDatumGetCString(OidFunctionCall1Coll(function, collation, CStringGetTextDatum(from))), to) == 0;
}

/* Does the function leave the letter alone, or (*pairs) make it that of ASCII? */
static bool
is_known_case(Oid function, Oid collation, const char *from, char to, bool *pairs)
{
	char		letter[] = {to, '\0'};

	*pairs = is_case_of(function, collation, from, letter);
	return *pairs || is_case_of(function, collation, from, from);
}

/*
 * Does the collation change case letter by letter, ASCII's as usual?  Those that know more than
 * one character for another do so for the letters that are tried here.
 */
static bool
knows_case(Pattern *p, Oid collation)
{
	static const char *const lower = "abcdefghijklmnopqrstuvwxyz\xc3\x9f";
	static const char *const upper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ\xc3\x9f";
	bool		up = p->how == GPUCOL_CASE_UPPER;
	Oid			function = up ? F_UPPER_TEXT : F_LOWER_TEXT;

	if (p->how == GPUCOL_CASE_KEPT)
		return true;
	return GetDatabaseEncoding() == PG_UTF8 &&
		is_case_of(function, collation, up ? lower : upper, up ? upper : lower) &&
		is_known_case(function, collation, long_i[up], short_i[up], &p->long_i) &&
		is_known_case(function, collation, long_k[up], short_k[up], &p->long_k);
}

/* A letter of ASCII in both cases, as the function makes them one; false if it makes none of that. */
static bool
both_cases(const Pattern *p, uint8 c, GpucolNfaPart *out)
{
	bool		up = p->how == GPUCOL_CASE_UPPER;
	bool		is_upper = c >= 'A' && c <= 'Z';
	const char *beyond = NULL;
	GpucolNfaPart more;

	if (p->how == GPUCOL_CASE_IGNORED)
		c = pg_ascii_tolower(c);
	else if (is_upper != up)
		return false;
	*out = gpucol_nfa_either(p->nfa, gpucol_nfa_bytes(p->nfa, c, c), gpucol_nfa_bytes(p->nfa, c ^ 0x20, c ^ 0x20));
	if (p->long_i && c == short_i[up])
		beyond = long_i[up];
	else if (p->long_k && c == short_k[up])
		beyond = long_k[up];
	if (beyond == NULL)
		return true;
	more = plain_character(p->nfa, &beyond, beyond + strlen(beyond));
	*out = gpucol_nfa_either(p->nfa, *out, more);
	return true;
}

/* The next character of a pattern. */
static bool
read_character(const Pattern *p, const char **at, const char *end, GpucolNfaPart *out)
{
	if (p->wildcards && (**at == '%' || **at == '_'))
	{
		*out = *(*at)++ == '_' ? any_character(p->nfa) :
			gpucol_nfa_any_number(p->nfa, gpucol_nfa_bytes(p->nfa, 0, 255));
		return true;
	}
	if (p->wildcards && **at == '\\' && ++*at == end)
		return false;
	if (p->how == GPUCOL_CASE_KEPT || (!IS_HIGHBIT_SET(**at) && !isalpha((unsigned char) **at)))
	{
		*out = plain_character(p->nfa, at, end);
		return true;
	}
	return !IS_HIGHBIT_SET(**at) && both_cases(p, (uint8) *(*at)++, out);
}

/* All of a pattern. */
static GpucolAutomaton *
read_pattern(Pattern *p, GpucolBytes pattern, Oid collation)
{
	const char *at = pattern.data;
	const char *end = at + pattern.len;
	GpucolNfaPart part;
	GpucolNfaPart next;

	if (!knows_case(p, collation))
		return NULL;
	part = gpucol_nfa_assertion(p->nfa, GPUCOL_NFA_BEGINNING);
	while (at < end && p->nfa->n <= GPUCOL_NFA_STATES)
	{
		if (!read_character(p, &at, end, &next))
			return NULL;
		part = gpucol_nfa_both(p->nfa, part, next);
	}
	if (at < end)
		return NULL;
	return gpucol_automaton_create(p->nfa, gpucol_nfa_both(p->nfa, part,
														   gpucol_nfa_assertion(p->nfa, GPUCOL_NFA_END)));
}

/* The automaton of a pattern, or of a constant. */
static GpucolAutomaton *
make_pattern(GpucolBytes pattern, bool wildcards, Oid collation, GpucolCase how)
{
	Pattern		p = {palloc0(sizeof(GpucolNfa)), how, wildcards, false, false};
	GpucolAutomaton *automaton = read_pattern(&p, pattern, collation);

	pfree(p.nfa);
	return automaton;
}

GpucolAutomaton *
gpucol_like_automaton(GpucolBytes pattern, Oid collation, GpucolCase how)
{
	return make_pattern(pattern, true, collation, how);
}

GpucolAutomaton *
gpucol_equal_automaton(GpucolBytes constant, Oid collation, GpucolCase how)
{
	return make_pattern(constant, false, collation, how);
}

/* Any bytes but a separator. */
static GpucolNfaPart
any_field(GpucolNfa *nfa, uint8 separator)
{
	return gpucol_nfa_any_number(nfa, gpucol_nfa_either(nfa, gpucol_nfa_bytes(nfa, 0, separator - 1),
														gpucol_nfa_bytes(nfa, separator + 1, 255)));
}

GpucolAutomaton *
gpucol_field_automaton(GpucolBytes separator, int n, GpucolBytes constant)
{
	uint8		byte = separator.len == 1 ? (uint8) separator.data[0] : 0;
	GpucolAutomaton *automaton = NULL;
	GpucolNfa  *nfa;
	GpucolNfaPart part;
	GpucolNfaPart end;

	if (byte == 0 || IS_HIGHBIT_SET(byte) || n < 1 || constant.len == 0 || constant.len > GPUCOL_NFA_STATES ||
		n > GPUCOL_NFA_STATES || memchr(constant.data, byte, constant.len) != NULL)
		return NULL;
	nfa = palloc0(sizeof(GpucolNfa));
	part = gpucol_nfa_assertion(nfa, GPUCOL_NFA_BEGINNING);
	for (int i = 1; i < n && nfa->n <= GPUCOL_NFA_STATES; i++)
	{
		part = gpucol_nfa_both(nfa, part, any_field(nfa, byte));
		part = gpucol_nfa_both(nfa, part, gpucol_nfa_bytes(nfa, byte, byte));
	}
	for (size_t i = 0; i < constant.len && nfa->n <= GPUCOL_NFA_STATES; i++)
		part = gpucol_nfa_both(nfa, part, gpucol_nfa_bytes(nfa, (uint8) constant.data[i], (uint8) constant.data[i]));
	end = gpucol_nfa_either(nfa, gpucol_nfa_bytes(nfa, byte, byte), gpucol_nfa_assertion(nfa, GPUCOL_NFA_END));
	if (nfa->n <= GPUCOL_NFA_STATES)
		automaton = gpucol_automaton_create(nfa, gpucol_nfa_both(nfa, part, end));
	pfree(nfa);
	return automaton;
}
