/*-------------------------------------------------------------------------
 *
 * pattern.c
 *	  Regular expressions of which engines find the group in parentheses
 *	  (kernel/text_pattern.h), such as '^https?://(?:www\.)?([^/]+)/.*$'.
 *
 * Only what means the same in every collation is taken: plain characters, sets of ASCII
 * characters or all but these, and greedy quantifiers.  Of other expressions PostgreSQL's
 * engine finds the group.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lower/lower.h"

/* A regular expression that is read. */
typedef struct Reader
{
	const char *at;
	const char *end;
} Reader;

/* Does this come next?  If so, pass it. */
static bool
pass(Reader *r, const char *what)
{
	size_t		len = strlen(what);

	if ((size_t) (r->end - r->at) < len || memcmp(r->at, what, len) != 0)
		return false;
	r->at += len;
	return true;
}

static bool
sees(const Reader *r, const char *any)
{
	return r->at < r->end && strchr(any, *r->at) != NULL;
}

/* A plain character's next byte: false at anything else. */
static bool
read_byte(Reader *r, uint8 *byte)
{
	if (r->at >= r->end || *r->at == '\0' || sees(r, ".[]()*+?{}|^$"))
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
at_quantifier(const Reader *r)
{
	return sees(r, "*+?{");
}

/* Append a character or a group without a number to the head; those that must be there are one piece. */
static bool
read_piece(Reader *r, GpucolTextPattern *p, int *nhead)
{
	bool		group = pass(r, "(?:");
	int			n = 0;
	bool		optional;

	do
	{
		if (*nhead + n == GPUCOL_PATTERN_HEAD || !read_byte(r, &p->head[*nhead + n]))
			return false;
		n++;
	} while (group && !pass(r, ")"));
	/* the quantifier of a character of several bytes would be that of its last */
	optional = (group || !IS_HIGHBIT_SET(p->head[*nhead])) && pass(r, "?");
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
read_set(Reader *r, GpucolTextPattern *p)
{
	bool		negated = pass(r, "^");
	int			n = 0;

	for (; r->at < r->end && *r->at != ']'; n++)
	{
		uint8		byte = (uint8) *r->at++;

		if (IS_HIGHBIT_SET(byte) || byte == '[' || byte == '\\' || byte == '\0' ||
			(byte == '-' && (n == 0 || !sees(r, "]"))))
			return false;
		if (r->end - r->at >= 2 && r->at[0] == '-' && r->at[1] != ']')
		{
			uint8		last = (uint8) r->at[1];

			if (!isalnum(byte) || IS_HIGHBIT_SET(last) || !isalnum(last) || last < byte)
				return false;
			for (int c = byte; c <= last; c++)
				add_to_set(p, (uint8) c);
			r->at += 2;
			if (sees(r, "-"))
				return false;
		}
		else
			add_to_set(p, byte);
	}
	if (n == 0 || !pass(r, "]"))
		return false;
	for (int w = 0; negated && w < 4; w++)
		p->set[w] = ~p->set[w];
	return true;
}

/* The group: one set or plain character, of any number or at least one. */
static bool
read_group(Reader *r, GpucolTextPattern *p)
{
	uint8		byte;

	if (!pass(r, "("))
		return false;
	if (pass(r, "."))
		memset(p->set, 0xff, sizeof(p->set));
	else if (pass(r, "["))
	{
		if (!read_set(r, p))
			return false;
	}
	else if (read_byte(r, &byte) && !IS_HIGHBIT_SET(byte))
		add_to_set(p, byte);
	else
		return false;
	p->least = sees(r, "+");
	return (pass(r, "*") || pass(r, "+")) && pass(r, ")") && !at_quantifier(r);
}

bool
gpucol_lower_pattern(const char *regexp, int len, GpucolTextPattern *p)
{
	Reader		r = {regexp, regexp + len};
	int			nhead = 0;

	memset(p, 0, sizeof(*p));
	if (!pass(&r, "^"))
		return false;
	while (r.at < r.end && (*r.at != '(' || (r.end - r.at > 1 && r.at[1] == '?')))
	{
		if (!read_piece(&r, p, &nhead))
			return false;
	}
	if (!read_group(&r, p))
		return false;
	for (; r.at < r.end && !sees(&r, ".$"); p->ntail++)
	{
		if (p->ntail == GPUCOL_PATTERN_TAIL || !read_byte(&r, &p->tail[p->ntail]))
			return false;
	}
	p->rest = pass(&r, ".*");
	return pass(&r, "$") && r.at == r.end;
}
