/*-------------------------------------------------------------------------
 *
 * lexer.c
 *	  Tokens of datalog programs (Souffle's lexical rules), and errors that
 *	  name a place of the program.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "recursion/front/ast.h"
#include "recursion/front/lexer.h"

/* Longest first. */
static const char *const symbols[] = {
	":-", "<=", ">=", "!=", "<:",
	"(", ")", "{", "}", "[", "]", ",", ";", ":", ".", "!", "=", "<", ">",
	"+", "-", "*", "/", "%", "^", "_", "|", "$", "@", "?", NULL
};

int
gpucol_datalog_line(const char *text, int position, int *start)
{
	int			line = 1;

	*start = 0;
	for (int i = 0; i < position; i++)
		if (text[i] == '\n')
		{
			line++;
			*start = i + 1;
		}
	return line;
}

void
gpucol_datalog_error(const char *text, int position, int sqlerrcode,
					 const char *hint, const char *fmt,...)
{
	int			line_start;
	int			line = gpucol_datalog_line(text, position, &line_start);
	char	   *message;
	va_list		args;

	va_start(args, fmt);
	{
		StringInfoData buf;

		initStringInfo(&buf);
		for (;;)
		{
			int			needed = appendStringInfoVA(&buf, fmt, args);

			if (needed == 0)
				break;
			va_end(args);
			enlargeStringInfo(&buf, needed);
			va_start(args, fmt);
		}
		message = buf.data;
	}
	va_end(args);
	ereport(ERROR,
			(errcode(sqlerrcode),
			 errmsg("%s", message),
			 errdetail("Line %d, column %d of the program.", line,
					   pg_mbstrlen_with_len(text + line_start,
											position - line_start) + 1),
			 hint ? errhint("%s", hint) : 0,
			 internalerrquery(text),
			 internalerrposition(pg_mbstrlen_with_len(text, position) + 1)));
}

void
gpucol_datalog_context(void *program)
{
	const DatalogProgram *of = program;
	int			start;

	if (getinternalerrposition() <= 0 &&
		ERRCODE_TO_CATEGORY(geterrcode()) != ERRCODE_OPERATOR_INTERVENTION)
		errcontext("line %d of the program", gpucol_datalog_line(of->text, of->at, &start));
}

/* Skip blanks and comments. */
static void
skip_blanks(DatalogLexer *lexer)
{
	const char *text = lexer->text;

	for (;;)
	{
		while (isspace((unsigned char) text[lexer->at]))
			lexer->at++;
		if (text[lexer->at] == '/' && text[lexer->at + 1] == '/')
			while (text[lexer->at] != '\0' && text[lexer->at] != '\n')
				lexer->at++;
		else if (text[lexer->at] == '/' && text[lexer->at + 1] == '*')
		{
			const char *end = strstr(text + lexer->at + 2, "*/");

			if (end == NULL)
				gpucol_datalog_error(text, lexer->at, ERRCODE_SYNTAX_ERROR,
									 NULL, "unterminated comment");
			lexer->at = end + 2 - text;
		}
		else
			return;
	}
}

static bool
is_name_start(char c)
{
	return isalpha((unsigned char) c) || c == '_' || c == '?' ||
		IS_HIGHBIT_SET(c);
}

static bool
is_name_part(char c)
{
	return is_name_start(c) || isdigit((unsigned char) c);
}

/* The character that a letter behind a backslash stands for; 0 = none. */
static char
escaped(char letter)
{
	static const char letters[] = "\"'\\abfnrtv";
	static const char meanings[] = "\"'\\\a\b\f\n\r\t\v";
	const char *at = letter == '\0' ? NULL : strchr(letters, letter);

	return at != NULL ? meanings[at - letters] : '\0';
}

/* Read a quoted string. */
static char *
lex_string(DatalogLexer *lexer)
{
	const char *text = lexer->text;
	int			start = lexer->at++;
	StringInfoData buf;

	initStringInfo(&buf);
	for (; text[lexer->at] != '"'; lexer->at++)
	{
		char		c = text[lexer->at];

		if (c == '\0')
			gpucol_datalog_error(text, start, ERRCODE_SYNTAX_ERROR, NULL,
								 "unterminated string");
		if (c == '\\')
		{
			c = escaped(text[++lexer->at]);
			if (c == '\0')
				gpucol_datalog_error(text, lexer->at - 1,
									 ERRCODE_INVALID_ESCAPE_SEQUENCE,
									 "Known escapes are \\\", \\', \\\\, \\a, \\b, \\f, \\n, \\r, \\t and \\v.",
									 "unknown escape in string");
		}
		appendStringInfoChar(&buf, c);
	}
	lexer->at++;
	return buf.data;
}

/* Length of the number at `p`. */
static int
number_length(const char *p)
{
	const char *start = p;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'b'))
	{
		p += 2;
		while (isxdigit((unsigned char) *p))
			p++;
	}
	else
	{
		while (isdigit((unsigned char) *p))
			p++;
		if (p[0] == '.' && isdigit((unsigned char) p[1]))
		{
			p++;
			while (isdigit((unsigned char) *p))
				p++;
		}
		if ((p[0] == 'e' || p[0] == 'E') &&
			(isdigit((unsigned char) p[1]) ||
			 ((p[1] == '-' || p[1] == '+') && isdigit((unsigned char) p[2]))))
		{
			p += 2;
			while (isdigit((unsigned char) *p))
				p++;
		}
	}
	if (*p == 'u')
		p++;
	return p - start;
}

/* Length of the directive at `p`, which is a dot; 0 if it is none. */
static int
directive_length(const char *p)
{
	static const char *const words[] = {
		"decl", "type", "input", "output", "printsize", "limitsize", "pragma",
		"functor", "comp", "init", "override", "plan", "number_type",
		"symbol_type", "lattice", NULL
	};
	int			length = 1;
	int			i;

	while (is_name_part(p[length]))
		length++;
	for (i = 0; words[i] != NULL; i++)
		if ((int) strlen(words[i]) == length - 1 &&
			strncmp(p + 1, words[i], length - 1) == 0)
			return length;
	return 0;
}

DatalogToken
gpucol_datalog_lex(DatalogLexer *lexer)
{
	const char *p;
	DatalogToken token = {TOKEN_END, 0, NULL};
	int			length = 0;
	int			i;

	skip_blanks(lexer);
	p = lexer->text + lexer->at;
	token.position = lexer->at;
	if (*p == '\0')
		return token;
	if (*p == '"')
	{
		token.kind = TOKEN_STRING;
		token.text = lex_string(lexer);
		return token;
	}
	if (isdigit((unsigned char) *p))
	{
		token.kind = TOKEN_NUMBER;
		length = number_length(p);
		if (is_name_part(p[length]))
			gpucol_datalog_error(lexer->text, lexer->at, ERRCODE_SYNTAX_ERROR,
								 NULL, "malformed number");
	}
	else if (*p == '.' && directive_length(p) > 0)
	{
		token.kind = TOKEN_DIRECTIVE;
		length = directive_length(p);
	}
	else if (is_name_start(*p) && (*p != '_' || is_name_part(p[1])))
	{
		token.kind = TOKEN_NAME;
		while (is_name_part(p[length]))
			length++;
	}
	else
	{
		token.kind = TOKEN_SYMBOL;
		for (i = 0; symbols[i] != NULL && length == 0; i++)
			if (strncmp(p, symbols[i], strlen(symbols[i])) == 0)
				length = strlen(symbols[i]);
		if (length == 0)
		{
			int			word = *p == '#' ? (int) strspn(p + 1, "abcdefghijklmnopqrstuvwxyz") : 0;

			if (*p != '#')
				gpucol_datalog_error(lexer->text, lexer->at, ERRCODE_SYNTAX_ERROR, NULL,
									 "unexpected character");
			gpucol_datalog_error(lexer->text, lexer->at, ERRCODE_FEATURE_NOT_SUPPORTED,
								 "A program is one text, and the server reads no files for it: run C's preprocessor first (cpp -P).",
								 "the preprocessor's directive \"%.*s\" is not supported by gpucol.datalog",
								 word + 1, p);
		}
	}
	if (token.kind == TOKEN_DIRECTIVE)
		token.text = pnstrdup(p + 1, length - 1);
	else
		token.text = pnstrdup(p, length);
	lexer->at += length;
	return token;
}
