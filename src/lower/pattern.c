/*-------------------------------------------------------------------------
 *
 * pattern.c
 *	  Regular expressions of which engines find the group in parentheses
 *	  (kernel/text_pattern.h), such as '^https?://(?:www\.)?([^/]+)/.*$' and 'q=([^&]+)'.
 *
 * Only what means the same in every collation is taken: plain characters, sets of ASCII
 * characters or all but these, and greedy quantifiers.  Of other expressions PostgreSQL's
 * engine finds the group.  Separators may also be classes, such as \W: PostgreSQL is asked which
 * ASCII characters are in them, and texts that have others are left to it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lower/lower.h"
#include "lower/reader.h"
#include "lower/regex.h"
#include "lower/set_function.h"

/* A plain character's next byte: false at anything else. */
static bool
read_byte(GpucolReadText *r, uint8 *byte)
{
	if (r->at >= r->end || *r->at == '\0' || gpucol_read_sees(r, ".[]()*+?{}|^$"))
		return false;
	if (*r->at == '\\')
	{
		r->at++;
		/* letters and digits behind it have meanings of their own */
		if (r->at >= r->end || IS_HIGHBIT_SET(*r->at) || isalnum((unsigned char) *r->at) || *r->at == '\0')
			return false;
	}
	*byte = (uint8) *r->at++;
	return true;
}

static bool
at_quantifier(const GpucolReadText *r)
{
	return gpucol_read_sees(r, "*+?{");
}

/* Does a group of plain characters come next, such as (www\.)?  If so, pass its parenthesis. */
static bool
pass_plain_group(GpucolReadText *r, GpucolPatternFacts *facts)
{
	GpucolReadText ahead = *r;
	uint8		byte;

	if (gpucol_read_pass(r, "(?:"))
		return true;
	if (!gpucol_read_pass(&ahead, "("))
		return false;
	while (read_byte(&ahead, &byte))
		;
	if (!gpucol_read_pass(&ahead, ")") || !gpucol_read_pass(r, "("))
		return false;
	facts->group++;
	return true;
}

/* Append a character or a group of them to the head; those that must be there are one piece. */
static bool
read_piece(GpucolReadText *r, GpucolTextPattern *p, int *nhead, bool group)
{
	int			n = 0;
	bool		optional;

	do
	{
		if (*nhead + n == GPUCOL_PATTERN_HEAD || !read_byte(r, &p->head[*nhead + n]))
			return false;
		n++;
	} while (group && !gpucol_read_pass(r, ")"));
	/* the quantifier of a character of several bytes would be that of its last */
	optional = (group || !IS_HIGHBIT_SET(p->head[*nhead])) && gpucol_read_pass(r, "?");
	*nhead += n;
	if (at_quantifier(r))
		return false;
	if (!optional && p->npieces > 0 && (p->optional >> (p->npieces - 1) & 1) == 0)
	{
		p->pieces[p->npieces - 1] += n;
		return true;
	}
	if (p->npieces == GPUCOL_PATTERN_PIECES)
		return false;
	p->optional |= optional << p->npieces;
	p->pieces[p->npieces++] = n;
	return true;
}

/* Add an ASCII character to the set. */
static void
add_to_set(GpucolTextPattern *p, uint8 byte)
{
	p->set[byte / 64] |= UINT64CONST(1) << (byte % 64);
}

/* The set between brackets, the first of which is passed. */
static bool
read_set(GpucolReadText *r, GpucolTextPattern *p)
{
	bool		negated = gpucol_read_pass(r, "^");
	int			n = 0;

	for (; r->at < r->end && *r->at != ']'; n++)
	{
		uint8		byte = (uint8) *r->at++;

		if (IS_HIGHBIT_SET(byte) || byte == '[' || byte == '\\' || byte == '\0' ||
			(byte == '-' && (n == 0 || !gpucol_read_sees(r, "]"))))
			return false;
		if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']')
		{
			uint8		last = (uint8) r->at[1];

			if (!isalnum(byte) || IS_HIGHBIT_SET(last) || !isalnum(last) || last < byte)
				return false;
			for (int c = byte; c <= last; c++)
				add_to_set(p, (uint8) c);
			r->at += 2;
			if (gpucol_read_sees(r, "-"))
				return false;
		}
		else
			add_to_set(p, byte);
	}
	if (n == 0 || !gpucol_read_pass(r, "]"))
		return false;
	for (int w = 0; negated && w < 4; w++)
		p->set[w] = ~p->set[w];
	return true;
}

/* The group: one set or plain character, of any number or at least one. */
static bool
read_group(GpucolReadText *r, GpucolTextPattern *p, GpucolPatternFacts *facts)
{
	uint8		byte;

	if (!gpucol_read_pass(r, "("))
		return false;
	if (gpucol_read_pass(r, "."))
		memset(p->set, 0xff, sizeof(p->set));
	else if (gpucol_read_pass(r, "\\d"))
	{
		facts->digits = true;
		for (uint8 c = '0'; c <= '9'; c++)
			add_to_set(p, c);
	}
	else if (gpucol_read_pass(r, "["))
	{
		if (!read_set(r, p))
			return false;
	}
	else if (read_byte(r, &byte) && !IS_HIGHBIT_SET(byte))
		add_to_set(p, byte);
	else
		return false;
	p->least = gpucol_read_sees(r, "+");
	return (gpucol_read_pass(r, "*") || gpucol_read_pass(r, "+")) && gpucol_read_pass(r, ")") && !at_quantifier(r);
}

/*
 * Does a text tell by its next character whether each optional piece is there?  Of several ways
 * to match numbered groups PostgreSQL prefers the first that is there to the longest head.
 */
static bool
is_decided(const GpucolTextPattern *p)
{
	const uint8 *first = p->head;

	for (int i = 0; i < p->npieces; first += p->pieces[i++])
	{
		const uint8 *next = first + p->pieces[i];
		bool		optional = (p->optional >> i & 1) != 0;

		for (int j = i + 1; optional && j < p->npieces; next += p->pieces[j++])
		{
			if (*next == *first)
				return false;
			optional = (p->optional >> j & 1) != 0;
		}
	}
	return true;
}

bool
gpucol_lower_pattern(const char *regexp, int len, GpucolTextPattern *p, GpucolPatternFacts *facts)
{
	GpucolReadText		r = {regexp, regexp + len};
	int			nhead = 0;
	bool		group;
	bool		ends;

	memset(p, 0, sizeof(*p));
	memset(facts, 0, sizeof(*facts));
	facts->group = 1;
	p->anywhere = !gpucol_read_pass(&r, "^");
	while ((group = pass_plain_group(&r, facts)) || (r.at < r.end && *r.at != '('))
	{
		if (!read_piece(&r, p, &nhead, group))
			return false;
	}
	if (!read_group(&r, p, facts))
		return false;
	for (; r.at < r.end && !gpucol_read_sees(&r, ".$"); p->ntail++)
	{
		if (p->ntail == GPUCOL_PATTERN_TAIL || !read_byte(&r, &p->tail[p->ntail]))
			return false;
	}
	p->rest = gpucol_read_pass(&r, ".*");
	ends = gpucol_read_pass(&r, "$");
	facts->whole = ends && !p->anywhere;
	p->rest |= !ends;
	/* of several matches the longest counts, in which an optional piece might not be */
	return r.at == r.end && (facts->whole || p->optional == 0) && (facts->group == 1 || is_decided(p));
}

/* Pass a character of a set, known to be one: itself, or behind a backslash. */
static bool
pass_member(GpucolReadText *r, uint8 *byte)
{
	*byte = r->at < r->end ? (uint8) *r->at : 0;
	if (*byte == '\\')
	{
		r->at++;
		if (r->at >= r->end || !(gpucol_read_sees(r, "tnrfv") || (isascii(*r->at) && ispunct((unsigned char) *r->at))))
			return false;
		*byte = 0;
	}
	else if (*byte < ' ' || *byte > '~' || *byte == '[')
		return false;
	r->at++;
	return true;
}

/* Pass a class of a set. */
static bool
pass_class(GpucolReadText *r)
{
	static const char *const classes[] = {"[:alnum:]", "[:alpha:]", "[:digit:]", "[:lower:]", "[:punct:]", "[:space:]",
	"[:upper:]", "\\s", "\\d", "\\w"};

	for (int i = 0; i < (int) lengthof(classes); i++)
	{
		if (gpucol_read_pass(r, classes[i]))
			return true;
	}
	return false;
}

/* Does a range's sign come next? */
static bool
at_range(const GpucolReadText *r)
{
	return gpucol_read_sees(r, "-") && r->end - r->at >= 2 && r->at[1] != ']';
}

/*
 * Pass a set that PostgreSQL takes for one, without an error: \s and its kin, or in brackets classes,
 * characters, and ranges of letters or digits.
 */
static bool
pass_set(GpucolReadText *r)
{
	bool		first = true;
	uint8		from;
	uint8		to;

	if (gpucol_read_pass(r, "\\"))
		return gpucol_read_sees(r, "sSdDwW") && r->at++ != NULL;
	if (!gpucol_read_pass(r, "["))
		return false;
	(void) gpucol_read_pass(r, "^");
	for (; r->at < r->end && *r->at != ']'; first = false)
	{
		if (!first && at_range(r))
			return false;
		if (pass_class(r))
			continue;
		if (!pass_member(r, &from))
			return false;
		if (!at_range(r))
			continue;
		r->at++;
		if (!pass_member(r, &to) || to < from ||
			!((isdigit(from) && isdigit(to)) || (islower(from) && islower(to)) || (isupper(from) && isupper(to))))
			return false;
	}
	return !first && gpucol_read_pass(r, "]");
}

/* Read a set of which PostgreSQL says, under a collation, what ASCII characters are in it; of others nobody asks. */
static bool
read_classes(GpucolReadText *r, Oid collation, GpucolSetFunction *function)
{
	const char *from = r->at;

	if (!pass_set(r))
		return false;
	gpucol_regex_ascii_set(pnstrdup(from, r->at - from), collation, function->set);
	function->ascii = true;
	return true;
}

/* One or more of the set, or one. */
static bool
end_set(GpucolReadText *r, GpucolSetFunction *function)
{
	function->repeated = gpucol_read_pass(r, "+");
	/* a character of several bytes would be several separators */
	return r->at == r->end && (function->repeated || !function->beyond);
}

bool
gpucol_lower_separator(const char *regexp, int len, Oid collation, GpucolSetFunction *function)
{
	GpucolReadText r = {regexp, regexp + len};
	GpucolReadText ahead = r;
	GpucolTextPattern set;
	uint8		byte;

	memset(&set, 0, sizeof(set));
	function->keeps_empty = true;
	if (gpucol_read_pass(&ahead, "[") && read_set(&ahead, &set))
	{
		function->beyond = (set.set[2] & 1) != 0;
		memcpy(function->set, set.set, sizeof(function->set));
		return end_set(&ahead, function);
	}
	ahead = r;
	if (read_classes(&ahead, collation, function))
		return end_set(&ahead, function);
	memset(&set, 0, sizeof(set));
	while (read_byte(&r, &byte) && function->len < GPUCOL_SET_SEPARATOR)
		function->separator[function->len++] = (char) byte;
	if (function->len != 1 || IS_HIGHBIT_SET(function->separator[0]) || !gpucol_read_sees(&r, "+"))
		return r.at == r.end && function->len > 0;
	add_to_set(&set, (uint8) function->separator[0]);
	memcpy(function->set, set.set, sizeof(function->set));
	function->len = 0;
	return end_set(&r, function);
}
