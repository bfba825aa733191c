/*-------------------------------------------------------------------------
 *
 * parser_expr.c
 *	  Expressions of datalog programs: numbers, operators, functors, aggregates.
 *
 * Operators bind as in Souffle's grammar: lor, lxor, land, bor, bxor, band, shifts,
 * + and -, then *, / and %, then - of one operand, bnot and lnot, then ^ from right
 * to left.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <math.h>

#include "miscadmin.h"

#include "recursion/front/functors.h"
#include "recursion/front/parser.h"

/* Expressions are walked recursively: bounds how deep they can be. */
#define MAX_OPERATORS	5000

DatalogExpr *
gpucol_datalog_make_expr(DatalogExprKind kind, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = kind;
	expr->position = position;
	expr->variable = -1;
	return expr;
}

static DatalogExpr *
make_call(DatalogParser *parser, GpucolRecFunction function, int position,
		  DatalogExpr *left, DatalogExpr *right)
{
	DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_CALL, position);

	if (++parser->noperators > MAX_OPERATORS)
		gpucol_datalog_error(parser->program->text, position,
							 ERRCODE_STATEMENT_TOO_COMPLEX, NULL,
							 "more than %d operators in a clause",
							 MAX_OPERATORS);
	expr->function = function;
	expr->args[0] = left;
	expr->args[1] = right;
	return expr;
}

/* Read a number: decimal, 0x, 0b, with a suffix u, or with a fraction. */
static DatalogExpr *
parse_number(DatalogParser *parser)
{
	DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_CONSTANT, parser->token.position);
	char	   *text = pstrdup(parser->token.text);
	size_t		length = strlen(text);
	int			base = strncmp(text, "0x", 2) == 0 ? 16 : strncmp(text, "0b", 2) == 0 ? 2 : 10;
	const char *digits = text + (base == 10 ? 0 : 2);
	char	   *end;
	uint64		value;

	expr->name = parser->token.text;
	gpucol_datalog_advance(parser);
	if (text[length - 1] == 'u')
	{
		expr->is_unsigned = true;
		text[--length] = '\0';
	}
	errno = 0;
	if (base == 10 && strpbrk(text, ".eE") != NULL)
	{
		expr->is_real = true;
		expr->real = strtod(text, &end);
		if (*end != '\0' || isinf(expr->real))
			gpucol_datalog_fail(parser, expr->position, NULL, "number out of range");
		return expr;
	}
	value = strtoull(digits, &end, base);
	if (*end != '\0' || end == digits || !isxdigit((unsigned char) *digits) || errno == ERANGE ||
		(value > PG_INT64_MAX && !expr->is_unsigned))
		gpucol_datalog_error(parser->program->text, expr->position,
							 ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							 "Numbers have 64 bits, signed; unsigned ones are written with the suffix u.",
							 "number out of range");
	expr->value = (int64) value;
	expr->real = (double) value;
	return expr;
}

/*
 * Does the name of an aggregate stand for itself, with its expression or ":" behind it?
 * In parentheses there are either the arguments of a functor or one expression.
 */
static bool
begins_aggregate(DatalogParser *parser)
{
	DatalogLexer ahead = parser->lexer;
	DatalogToken token = gpucol_datalog_lex(&ahead);

	if (token.kind != TOKEN_SYMBOL)
		return true;
	if (strcmp(token.text, "(") == 0)
		return !gpucol_datalog_group(parser, token.position)->is_list;
	return strcmp(token.text, ")") != 0 && strcmp(token.text, ",") != 0;
}

/* Does an aggregate start here?  Its function, then; that of a mean is the sum. */
static bool
at_aggregate(DatalogParser *parser, GpucolRecFunction *function)
{
	static const struct
	{
		const char *name;
		GpucolRecFunction function;
	}			known[] = {
		{"count", GPUCOL_REC_COUNT}, {"sum", GPUCOL_REC_SUM},
		{"min", GPUCOL_REC_MIN}, {"max", GPUCOL_REC_MAX}, {"mean", GPUCOL_REC_SUM}
	};
	int			i;

	for (i = 0; i < (int) lengthof(known); i++)
		if (gpucol_datalog_at_name(parser, known[i].name) && begins_aggregate(parser))
		{
			*function = known[i].function;
			return true;
		}
	return false;
}

/* count : body, sum expr : body; a body is { ... } or one literal */
static DatalogExpr *
parse_aggregate(DatalogParser *parser, GpucolRecFunction function)
{
	DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_AGGREGATE, parser->token.position);

	expr->function = function;
	expr->is_mean = gpucol_datalog_at_name(parser, "mean");
	gpucol_datalog_advance(parser);
	if (function != GPUCOL_REC_COUNT)
		expr->args[0] = gpucol_datalog_parse_expr(parser);
	gpucol_datalog_expect(parser, ":");
	if (gpucol_datalog_accept(parser, "{"))
	{
		expr->body = gpucol_datalog_parse_body(parser);
		if (gpucol_datalog_at_symbol(parser, ";"))
			gpucol_datalog_unsupported(parser, parser->token.position,
									   "\";\" in the body of an aggregate is");
		gpucol_datalog_expect(parser, "}");
	}
	else
		expr->body = list_make1(gpucol_datalog_parse_atom(parser, DATALOG_ATOM));
	return expr;
}

/* A call of a functor. */
static DatalogExpr *
make_functor(DatalogParser *parser, const DatalogFunctor *functor, int position,
			 DatalogExpr *left, DatalogExpr *right)
{
	DatalogExpr *expr = make_call(parser, GPUCOL_REC_HOST, position, left, right);

	expr->functor = functor;
	parser->program->numbers |= functor != NULL && functor->nargs == 0;
	return expr;
}

/* min(a, b, ...), max(a, b, ...) and cat(a, b, ...) */
static DatalogExpr *
parse_chain(DatalogParser *parser, GpucolRecFunction function, const DatalogFunctor *functor)
{
	int			position = parser->token.position;
	DatalogExpr *expr;

	gpucol_datalog_advance(parser);
	gpucol_datalog_expect(parser, "(");
	expr = gpucol_datalog_parse_expr(parser);
	do
	{
		gpucol_datalog_expect(parser, ",");
		expr = make_call(parser, function, position, expr, gpucol_datalog_parse_expr(parser));
		expr->functor = functor;
	} while (gpucol_datalog_at_symbol(parser, ","));
	gpucol_datalog_expect(parser, ")");
	return expr;
}

/* name(expr, ...) */
DatalogExpr *
gpucol_datalog_parse_call(DatalogParser *parser)
{
	int			position = parser->token.position;
	char	   *name = parser->token.text;
	const DatalogFunctor *functor = gpucol_datalog_functor(name);
	DatalogExpr *expr;

	if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
		return parse_chain(parser, name[1] == 'i' ? GPUCOL_REC_MIN2 :
						   GPUCOL_REC_MAX2, NULL);
	if (functor == NULL)
		gpucol_datalog_unsupported(parser, position, psprintf("the functor \"%s\" is", name));
	if (strcmp(name, "cat") == 0)
		return parse_chain(parser, GPUCOL_REC_HOST, functor);
	gpucol_datalog_advance(parser);
	gpucol_datalog_expect(parser, "(");
	expr = make_functor(parser, functor, position, NULL, NULL);
	for (int i = 0; i < functor->nargs; i++)
	{
		/* the step of a range may be left out */
		if (i == 2 && functor->compute == NULL && gpucol_datalog_at_symbol(parser, ")"))
			break;
		if (i > 0)
			gpucol_datalog_expect(parser, ",");
		expr->args[i] = gpucol_datalog_parse_expr(parser);
	}
	if (functor->signature == SIGNATURE_CAST)
	{
		gpucol_datalog_expect(parser, ",");
		expr->cast = gpucol_datalog_parse_type(parser);
	}
	gpucol_datalog_expect(parser, ")");
	return expr;
}

/* @name(expr, ...), behind the "@": which functor that is, is known when all are declared. */
static DatalogExpr *
parse_user_call(DatalogParser *parser, int position)
{
	DatalogExpr *expr = make_functor(parser, NULL, position, NULL, NULL);
	int			nargs = 0;

	expr->name = gpucol_datalog_expect_name(parser, "the name of a functor");
	gpucol_datalog_expect(parser, "(");
	while (!gpucol_datalog_accept(parser, ")"))
	{
		if (nargs == DATALOG_MAX_ARGS)
			gpucol_datalog_unsupported(parser, parser->token.position,
									   psprintf("a functor of more than %d arguments is",
												DATALOG_MAX_ARGS));
		expr->args[nargs++] = gpucol_datalog_parse_expr(parser);
		gpucol_datalog_expect_more(parser);
	}
	return expr;
}

/* [fields] or $branch(fields): behind the "[" or "(", up to `end`. */
static DatalogExpr *
parse_tuple(DatalogParser *parser, int position, char *branch, const char *end)
{
	DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_TUPLE, position);

	expr->name = branch;
	expr->scope = parser->scope;
	while (!gpucol_datalog_accept(parser, end))
	{
		/* counts against what one clause may have */
		DatalogExpr *call = make_call(parser, GPUCOL_REC_HOST, position, NULL, NULL);

		pfree(call);
		expr->body = lappend(expr->body, gpucol_datalog_parse_expr(parser));
		if (!gpucol_datalog_at_symbol(parser, end) && !gpucol_datalog_accept(parser, ","))
			gpucol_datalog_unexpected(parser, psprintf("\",\" or \"%s\"", end));
	}
	return expr;
}

/* $branch, with its fields if it has any; $ alone counts. */
static DatalogExpr *
parse_dollar(DatalogParser *parser, int position)
{
	char	   *branch;

	if (parser->token.kind != TOKEN_NAME)
		return make_functor(parser, gpucol_datalog_functor("autoinc"), position, NULL, NULL);
	branch = gpucol_datalog_expect_name(parser, "the name of a branch");
	if (!gpucol_datalog_accept(parser, "("))
	{
		DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_TUPLE, position);

		expr->name = branch;
		return expr;
	}
	return parse_tuple(parser, position, branch, ")");
}

/* The record without fields. */
static DatalogExpr *
parse_nil(DatalogParser *parser)
{
	DatalogExpr *expr = gpucol_datalog_make_expr(DATALOG_CONSTANT, parser->token.position);

	expr->name = "nil";
	expr->is_nil = true;
	gpucol_datalog_advance(parser);
	return expr;
}

static DatalogExpr *parse_power(DatalogParser *parser);

/* -x, bnot x, lnot x: they bind weaker than "^" only. */
static DatalogExpr *
parse_negation(DatalogParser *parser)
{
	int			position = parser->token.position;
	const char *word = parser->token.text;
	DatalogExpr *expr;

	check_stack_depth();
	if (gpucol_datalog_at_name(parser, "bnot") || gpucol_datalog_at_name(parser, "lnot"))
	{
		gpucol_datalog_advance(parser);
		return make_functor(parser, gpucol_datalog_functor(word), position,
							parse_negation(parser), NULL);
	}
	if (!gpucol_datalog_accept(parser, "-"))
		return parse_power(parser);
	/* "-9223372036854775808" is one number */
	if (parser->token.kind == TOKEN_NUMBER &&
		strcmp(parser->token.text, "9223372036854775808") == 0)
	{
		expr = gpucol_datalog_make_expr(DATALOG_CONSTANT, position);
		expr->name = "-9223372036854775808";
		expr->value = PG_INT64_MIN;
		expr->real = (double) PG_INT64_MIN;
		gpucol_datalog_advance(parser);
		return expr;
	}
	expr = parse_negation(parser);
	if (expr->kind == DATALOG_CONSTANT && !expr->is_string && !expr->is_unsigned &&
		expr->value != PG_INT64_MIN)
	{
		expr->value = -expr->value;
		expr->real = -expr->real;
		expr->name = psprintf("-%s", expr->name);
		return expr;
	}
	return make_call(parser, GPUCOL_REC_NEG, position, expr, NULL);
}

static DatalogExpr *
parse_primary(DatalogParser *parser)
{
	int			position = parser->token.position;
	GpucolRecFunction function;
	DatalogExpr *expr;

	check_stack_depth();
	if (parser->token.kind == TOKEN_NUMBER)
		return parse_number(parser);
	if (parser->token.kind == TOKEN_STRING)
	{
		expr = gpucol_datalog_make_expr(DATALOG_CONSTANT, position);
		expr->name = parser->token.text;
		expr->is_string = true;
		gpucol_datalog_advance(parser);
		return expr;
	}
	if (gpucol_datalog_accept(parser, "_"))
		return gpucol_datalog_make_expr(DATALOG_WILDCARD, position);
	if (gpucol_datalog_accept(parser, "("))
	{
		expr = gpucol_datalog_parse_expr(parser);
		gpucol_datalog_expect(parser, ")");
		return expr;
	}
	if (at_aggregate(parser, &function))
		return parse_aggregate(parser, function);
	if (gpucol_datalog_accept(parser, "["))
		return parse_tuple(parser, position, NULL, "]");
	if (gpucol_datalog_accept(parser, "$"))
		return parse_dollar(parser, position);
	if (gpucol_datalog_accept(parser, "@"))
		return parse_user_call(parser, position);
	if (parser->token.kind != TOKEN_NAME)
		gpucol_datalog_unexpected(parser, "an expression");
	if (gpucol_datalog_followed_by(parser, "("))
		return gpucol_datalog_parse_call(parser);
	if (gpucol_datalog_at_name(parser, "nil"))
		return parse_nil(parser);
	expr = gpucol_datalog_make_expr(DATALOG_VARIABLE, position);
	expr->name = parser->token.text;
	gpucol_datalog_advance(parser);
	return expr;
}

/* x ^ y, from right to left. */
static DatalogExpr *
parse_power(DatalogParser *parser)
{
	DatalogExpr *expr = parse_primary(parser);
	int			position = parser->token.position;

	if (!gpucol_datalog_accept(parser, "^"))
		return expr;
	return make_functor(parser, gpucol_datalog_functor("^"), position, expr,
						parse_negation(parser));
}

/* Operators of two operands, by how weakly they bind; from left to right. */
static const struct
{
	const char *text;
	int			level;
	GpucolRecFunction function; /* HOST: the functor of this name */
}			operators[] = {
	{"lor", 0, GPUCOL_REC_HOST},
	{"lxor", 1, GPUCOL_REC_HOST},
	{"land", 2, GPUCOL_REC_HOST},
	{"bor", 3, GPUCOL_REC_HOST},
	{"bxor", 4, GPUCOL_REC_HOST},
	{"band", 5, GPUCOL_REC_HOST},
	{"bshl", 6, GPUCOL_REC_HOST},
	{"bshr", 6, GPUCOL_REC_HOST},
	{"bshru", 6, GPUCOL_REC_HOST},
	{"+", 7, GPUCOL_REC_ADD},
	{"-", 7, GPUCOL_REC_SUB},
	{"*", 8, GPUCOL_REC_MUL},
	{"/", 8, GPUCOL_REC_DIV},
	{"%", 8, GPUCOL_REC_MOD},
};

/* The operator of a level, or of any if it is -1, at which the parser is; or -1. */
int
gpucol_datalog_at_operator(DatalogParser *parser, int level)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
		if ((level < 0 || operators[i].level == level) &&
			(gpucol_datalog_at_symbol(parser, operators[i].text) ||
			 gpucol_datalog_at_name(parser, operators[i].text)))
			return i;
	return -1;
}

static DatalogExpr *
parse_level(DatalogParser *parser, int level)
{
	DatalogExpr *expr;
	int			i;

	if (level > operators[lengthof(operators) - 1].level)
		return parse_negation(parser);
	expr = parse_level(parser, level + 1);
	while ((i = gpucol_datalog_at_operator(parser, level)) >= 0)
	{
		int			position = parser->token.position;

		gpucol_datalog_advance(parser);
		expr = make_call(parser, operators[i].function, position, expr,
						 parse_level(parser, level + 1));
		if (operators[i].function == GPUCOL_REC_HOST)
			expr->functor = gpucol_datalog_functor(operators[i].text);
	}
	return expr;
}

DatalogExpr *
gpucol_datalog_parse_expr(DatalogParser *parser)
{
	return parse_level(parser, 0);
}
