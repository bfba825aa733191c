/*-------------------------------------------------------------------------
 *
 * parser.c
 *	  Recursive-descent parser of datalog programs in Souffle's syntax.
 *
 * What Souffle has and gpucol.datalog has not is refused by name, so that a
 * program either means here what it means there or is an error.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "datalog/ast.h"
#include "datalog/functors.h"
#include "datalog/lexer.h"
#include "miscadmin.h"

/* A type as the program names it: resolved when all of them are known. */
typedef struct NamedType
{
	char	   *name;
	int			position;
} NamedType;

typedef struct TypeAlias
{
	char	   *name;
	List	   *members;		/* NamedType */
	DatalogType type;			/* UNKNOWN until resolved */
	bool		resolving;
} TypeAlias;

/* An attribute's type, until it is resolved. */
typedef struct AttributeType
{
	DatalogAttribute *attribute;
	NamedType   *type;
} AttributeType;

typedef struct Parser
{
	DatalogLexer lexer;
	DatalogToken token;			/* the next one */
	DatalogProgram *program;
	List	   *aliases;		/* TypeAlias */
	List	   *attribute_types;	/* AttributeType */
	List	   *marks;			/* Mark */
	int			noperators;		/* of the clause so far */
} Parser;

/* Expressions are walked recursively: bounds how deep they can be. */
#define MAX_OPERATORS	5000

/* .input R, .output R: applied when all declarations are known. */
typedef struct Mark
{
	char	   *name;
	int			position;
	bool		input;
} Mark;

static DatalogExpr *parse_expr(Parser *parser);
static List *parse_body(Parser *parser);

/* ---- tokens ---- */

pg_noreturn static void
fail(Parser *parser, int position, const char *hint, const char *message)
{
	gpucol_datalog_error(parser->program->text, position, ERRCODE_SYNTAX_ERROR,
						 hint, "%s", message);
}

pg_noreturn static void
unsupported(Parser *parser, int position, const char *what)
{
	gpucol_datalog_error(parser->program->text, position,
						 ERRCODE_FEATURE_NOT_SUPPORTED, NULL,
						 "%s not supported by gpucol.datalog", what);
}

static void
advance(Parser *parser)
{
	parser->token = gpucol_datalog_lex(&parser->lexer);
}

static bool
at_symbol(Parser *parser, const char *symbol)
{
	return parser->token.kind == TOKEN_SYMBOL &&
		strcmp(parser->token.text, symbol) == 0;
}

static bool
accept_symbol(Parser *parser, const char *symbol)
{
	if (!at_symbol(parser, symbol))
		return false;
	advance(parser);
	return true;
}

/* Complain about the next token. */
pg_noreturn static void
unexpected(Parser *parser, const char *wanted)
{
	if (parser->token.kind == TOKEN_END)
		gpucol_datalog_error(parser->program->text, parser->token.position,
							 ERRCODE_SYNTAX_ERROR, NULL,
							 "syntax error at the end of the program: expected %s",
							 wanted);
	gpucol_datalog_error(parser->program->text, parser->token.position,
						 ERRCODE_SYNTAX_ERROR, NULL,
						 "syntax error at \"%s%s\": expected %s",
						 parser->token.kind == TOKEN_DIRECTIVE ? "." : "",
						 parser->token.text, wanted);
}

static void
expect_symbol(Parser *parser, const char *symbol)
{
	if (!accept_symbol(parser, symbol))
		unexpected(parser, psprintf("\"%s\"", symbol));
}

static char *
expect_name(Parser *parser, const char *what)
{
	char	   *name = parser->token.text;

	if (parser->token.kind != TOKEN_NAME)
		unexpected(parser, what);
	advance(parser);
	return name;
}

static bool
at_name(Parser *parser, const char *name)
{
	return parser->token.kind == TOKEN_NAME &&
		strcmp(parser->token.text, name) == 0;
}

/* Is the next token followed by this symbol? */
static bool
followed_by(Parser *parser, const char *symbol)
{
	DatalogLexer ahead = parser->lexer;
	DatalogToken token = gpucol_datalog_lex(&ahead);

	return token.kind == TOKEN_SYMBOL && strcmp(token.text, symbol) == 0;
}

/* ---- types and declarations ---- */

const char *
gpucol_datalog_type_name(DatalogType type)
{
	switch (type)
	{
		case DATALOG_NUMBER:
			return "number";
		case DATALOG_UNSIGNED:
			return "unsigned";
		case DATALOG_FLOAT:
			return "float";
		case DATALOG_SYMBOL:
			return "symbol";
		case DATALOG_UNKNOWN:
			break;
	}
	return "unknown";
}

/* A primitive type by its name, else UNKNOWN. */
static DatalogType
find_primitive(const char *name)
{
	static const DatalogType types[] = {
		DATALOG_NUMBER, DATALOG_UNSIGNED, DATALOG_FLOAT, DATALOG_SYMBOL
	};
	int			i;

	for (i = 0; i < (int) lengthof(types); i++)
		if (strcmp(name, gpucol_datalog_type_name(types[i])) == 0)
			return types[i];
	return DATALOG_UNKNOWN;
}

static TypeAlias *
find_alias(const Parser *parser, const char *name)
{
	ListCell   *lc;

	foreach(lc, parser->aliases)
		if (strcmp(((TypeAlias *) lfirst(lc))->name, name) == 0)
			return lfirst(lc);
	return NULL;
}

/* The primitive type that a name stands for in the end. */
static DatalogType
resolve_type(Parser *parser, const NamedType *name)
{
	DatalogType type = find_primitive(name->name);
	TypeAlias  *alias;
	ListCell   *lc;

	if (type != DATALOG_UNKNOWN)
		return type;
	check_stack_depth();
	alias = find_alias(parser, name->name);
	if (alias == NULL)
		gpucol_datalog_error(parser->program->text, name->position,
							 ERRCODE_UNDEFINED_OBJECT,
							 "Types are number, unsigned, float, symbol and those that .type names.",
							 "type \"%s\" is not defined", name->name);
	if (alias->type != DATALOG_UNKNOWN && !alias->resolving)
		return alias->type;
	if (alias->resolving)
		gpucol_datalog_error(parser->program->text, name->position,
							 ERRCODE_INVALID_OBJECT_DEFINITION, NULL,
							 "type \"%s\" is defined by itself", name->name);
	alias->resolving = true;
	foreach(lc, alias->members)
	{
		const NamedType *member = lfirst(lc);

		type = resolve_type(parser, member);
		if (alias->type == DATALOG_UNKNOWN)
			alias->type = type;
		else if (type != alias->type)
			gpucol_datalog_error(parser->program->text, member->position,
								 ERRCODE_DATATYPE_MISMATCH, NULL,
								 "union of different primitive types");
	}
	alias->resolving = false;
	return alias->type;
}

/* Types of all attributes; every alias is looked at, used or not. */
static void
resolve_types(Parser *parser)
{
	ListCell   *lc;

	foreach(lc, parser->aliases)
	{
		TypeAlias  *alias = lfirst(lc);
		NamedType   *first = linitial(alias->members);
		NamedType	name = {alias->name, first->position};

		(void) resolve_type(parser, &name);
	}
	foreach(lc, parser->attribute_types)
	{
		AttributeType *reference = lfirst(lc);

		reference->attribute->type = resolve_type(parser, reference->type);
	}
}

/* The name of a type. */
static NamedType *
parse_type(Parser *parser)
{
	NamedType   *type = palloc(sizeof(NamedType));

	type->position = parser->token.position;
	if (at_symbol(parser, "["))
		unsupported(parser, type->position, "record types are");
	type->name = expect_name(parser, "a type");
	return type;
}

/* .type A = B | C, .type A <: B; .number_type A and the like: of one primitive type */
static void
parse_type_alias(Parser *parser, const char *primitive)
{
	TypeAlias  *alias = palloc0(sizeof(TypeAlias));
	int			position = parser->token.position;

	alias->name = expect_name(parser, "the name of the type");
	if (find_primitive(alias->name) != DATALOG_UNKNOWN ||
		find_alias(parser, alias->name) != NULL)
		gpucol_datalog_error(parser->program->text, position,
							 ERRCODE_DUPLICATE_OBJECT, NULL,
							 "type \"%s\" is defined twice", alias->name);
	parser->aliases = lappend(parser->aliases, alias);
	if (primitive != NULL)
	{
		NamedType  *type = palloc(sizeof(NamedType));

		type->name = pstrdup(primitive);
		type->position = position;
		alias->members = list_make1(type);
		return;
	}
	if (!accept_symbol(parser, "<:"))
		expect_symbol(parser, "=");
	do
	{
		alias->members = lappend(alias->members, parse_type(parser));
		if (at_symbol(parser, "{"))
			unsupported(parser, position, "algebraic data types are");
	} while (accept_symbol(parser, "|"));
}

DatalogRelation *
gpucol_datalog_find(const DatalogProgram *program, const char *name)
{
	ListCell   *lc;

	foreach(lc, program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		if (strcmp(relation->name, name) == 0)
			return relation;
	}
	return NULL;
}

/* A qualifier that stands for a directive: input, output, printsize. */
static bool
mark_relations(Parser *parser, List *relations)
{
	bool		input = at_name(parser, "input");
	ListCell   *lc;

	/* not the head of a clause */
	if ((!input && !at_name(parser, "output") && !at_name(parser, "printsize")) ||
		followed_by(parser, "("))
		return false;
	foreach(lc, relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->input |= input;
		relation->output |= !input;
	}
	advance(parser);
	return true;
}

/* Words after a declaration: representation hints are ignored. */
static void
parse_qualifiers(Parser *parser, List *relations)
{
	static const char *const ignored[] = {
		"brie", "btree", "inline", "no_inline", "magic", "no_magic", NULL
	};
	int			i;

	while (parser->token.kind == TOKEN_NAME)
	{
		for (i = 0; ignored[i] != NULL; i++)
			if (at_name(parser, ignored[i]))
				break;
		if (at_name(parser, "eqrel") || at_name(parser, "btree_delete") ||
			at_name(parser, "overridable") || strcmp(parser->token.text, "choice") == 0)
			unsupported(parser, parser->token.position,
						psprintf("the qualifier \"%s\" is", parser->token.text));
		if (mark_relations(parser, relations))
			continue;
		/* not a qualifier: the next clause begins */
		if (ignored[i] == NULL)
			return;
		advance(parser);
	}
}

/* A relation's name in its declaration. */
static DatalogRelation *
parse_relation_name(Parser *parser)
{
	DatalogRelation *relation = palloc0(sizeof(DatalogRelation));

	relation->position = parser->token.position;
	relation->name = expect_name(parser, "the name of a relation");
	if (gpucol_datalog_find(parser->program, relation->name) != NULL)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_DUPLICATE_OBJECT, NULL,
							 "relation \"%s\" is declared twice",
							 relation->name);
	parser->program->relations = lappend(parser->program->relations, relation);
	return relation;
}

/* Give a relation its attributes; their types follow when all are known. */
static void
set_attributes(Parser *parser, DatalogRelation *relation, List *names,
			   List *types)
{
	ListCell   *lc;
	ListCell   *lc2;

	relation->arity = list_length(names);
	if (relation->arity > GPUCOL_REC_MAX_ARITY)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_TOO_MANY_COLUMNS, NULL,
							 "relation \"%s\" has more than %d attributes",
							 relation->name, GPUCOL_REC_MAX_ARITY);
	relation->attributes = palloc0(sizeof(DatalogAttribute) *
								   Max(relation->arity, 1));
	forboth(lc, names, lc2, types)
	{
		AttributeType *reference = palloc(sizeof(AttributeType));

		reference->attribute = &relation->attributes[foreach_current_index(lc)];
		reference->attribute->name = lfirst(lc);
		reference->type = lfirst(lc2);
		parser->attribute_types = lappend(parser->attribute_types, reference);
	}
}

/* .decl R, S, ...(a: type, ...) */
static void
parse_declaration(Parser *parser)
{
	List	   *relations = NIL;
	List	   *names = NIL;
	List	   *types = NIL;
	ListCell   *lc;

	do
		relations = lappend(relations, parse_relation_name(parser));
	while (accept_symbol(parser, ","));
	expect_symbol(parser, "(");
	while (!at_symbol(parser, ")"))
	{
		names = lappend(names, expect_name(parser, "the name of an attribute"));
		expect_symbol(parser, ":");
		types = lappend(types, parse_type(parser));
		if (!at_symbol(parser, ")"))
			expect_symbol(parser, ",");
	}
	advance(parser);
	foreach(lc, relations)
		set_attributes(parser, lfirst(lc), names, types);
	parse_qualifiers(parser, relations);
}

/* (key=value, ...) after .input and the like: where Souffle keeps files. */
static void
skip_parameters(Parser *parser)
{
	if (!accept_symbol(parser, "("))
		return;
	while (!accept_symbol(parser, ")"))
	{
		if (parser->token.kind == TOKEN_END)
			unexpected(parser, "\")\"");
		advance(parser);
	}
}

/* .input R, S and .output R, S */
static void
parse_mark(Parser *parser, bool input)
{
	do
	{
		Mark	   *mark = palloc(sizeof(Mark));

		mark->input = input;
		mark->position = parser->token.position;
		mark->name = expect_name(parser, "the name of a relation");
		parser->marks = lappend(parser->marks, mark);
	} while (accept_symbol(parser, ","));
	skip_parameters(parser);
}

static void
parse_directive(Parser *parser)
{
	DatalogToken directive = parser->token;

	advance(parser);
	if (strcmp(directive.text, "decl") == 0)
		parse_declaration(parser);
	else if (strcmp(directive.text, "type") == 0)
		parse_type_alias(parser, NULL);
	else if (strcmp(directive.text, "number_type") == 0)
		parse_type_alias(parser, "number");
	else if (strcmp(directive.text, "symbol_type") == 0)
		parse_type_alias(parser, "symbol");
	else if (strcmp(directive.text, "input") == 0)
		parse_mark(parser, true);
	else if (strcmp(directive.text, "output") == 0 ||
			 strcmp(directive.text, "printsize") == 0)
		parse_mark(parser, false);
	else if (strcmp(directive.text, "pragma") == 0)
		while (parser->token.kind == TOKEN_STRING)
			advance(parser);
	else
		unsupported(parser, directive.position,
					psprintf("the directive \".%s\" is", directive.text));
}

/* ---- expressions ---- */

static DatalogExpr *
make_expr(DatalogExprKind kind, int position)
{
	DatalogExpr *expr = palloc0(sizeof(DatalogExpr));

	expr->kind = kind;
	expr->position = position;
	expr->variable = -1;
	return expr;
}

static DatalogExpr *
make_call(Parser *parser, GpucolRecFunction function, int position,
		  DatalogExpr *left, DatalogExpr *right)
{
	DatalogExpr *expr = make_expr(DATALOG_CALL, position);

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
parse_number(Parser *parser)
{
	DatalogExpr *expr = make_expr(DATALOG_CONSTANT, parser->token.position);
	char	   *text = pstrdup(parser->token.text);
	size_t		length = strlen(text);
	char	   *end;
	uint64		value;

	expr->name = parser->token.text;
	advance(parser);
	if (text[length - 1] == 'u')
	{
		expr->is_unsigned = true;
		text[--length] = '\0';
	}
	errno = 0;
	if (strncmp(text, "0x", 2) != 0 && strncmp(text, "0b", 2) != 0 &&
		strpbrk(text, ".eE") != NULL)
	{
		expr->is_real = true;
		expr->real = strtod(text, &end);
		if (*end != '\0' || isinf(expr->real))
			fail(parser, expr->position, NULL, "number out of range");
		return expr;
	}
	if (strncmp(text, "0b", 2) == 0)
		value = strtoull(text + 2, &end, 2);
	else
		value = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
	if (*end != '\0' || end == text || errno == ERANGE ||
		(value > PG_INT64_MAX && !expr->is_unsigned))
		gpucol_datalog_error(parser->program->text, expr->position,
							 ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE,
							 "Numbers have 64 bits, signed; unsigned ones are written with the suffix u.",
							 "number out of range");
	expr->value = (int64) value;
	expr->real = (double) value;
	return expr;
}

/* Does an aggregate start here?  Its function, then. */
static bool
at_aggregate(Parser *parser, GpucolRecFunction *function)
{
	static const struct
	{
		const char *name;
		GpucolRecFunction function;
	}			known[] = {
		{"count", GPUCOL_REC_COUNT}, {"sum", GPUCOL_REC_SUM},
		{"min", GPUCOL_REC_MIN}, {"max", GPUCOL_REC_MAX}
	};
	int			i;

	for (i = 0; i < (int) lengthof(known); i++)
		if (at_name(parser, known[i].name) && !followed_by(parser, "(") &&
			!followed_by(parser, ")") && !followed_by(parser, ","))
		{
			*function = known[i].function;
			return true;
		}
	if (at_name(parser, "mean") && !followed_by(parser, "("))
		unsupported(parser, parser->token.position, "the aggregate \"mean\" is");
	return false;
}

/* count : body, sum expr : body; a body is { ... } or one literal */
static DatalogExpr *
parse_aggregate(Parser *parser, GpucolRecFunction function)
{
	DatalogExpr *expr = make_expr(DATALOG_AGGREGATE, parser->token.position);

	expr->function = function;
	advance(parser);
	if (function != GPUCOL_REC_COUNT)
		expr->args[0] = parse_expr(parser);
	expect_symbol(parser, ":");
	if (accept_symbol(parser, "{"))
	{
		expr->body = parse_body(parser);
		if (at_symbol(parser, ";"))
			unsupported(parser, parser->token.position,
						"\";\" in the body of an aggregate is");
		expect_symbol(parser, "}");
	}
	else
	{
		DatalogLiteral *atom = palloc0(sizeof(DatalogLiteral));

		atom->kind = DATALOG_ATOM;
		atom->position = parser->token.position;
		atom->name = expect_name(parser, "an atom or \"{\"");
		expect_symbol(parser, "(");
		while (!at_symbol(parser, ")"))
		{
			atom->args = lappend(atom->args, parse_expr(parser));
			if (!at_symbol(parser, ")"))
				expect_symbol(parser, ",");
		}
		advance(parser);
		expr->body = list_make1(atom);
	}
	return expr;
}

/* A call of a functor. */
static DatalogExpr *
make_functor(Parser *parser, const DatalogFunctor *functor, int position,
			 DatalogExpr *left, DatalogExpr *right)
{
	DatalogExpr *expr = make_call(parser, GPUCOL_REC_HOST, position, left, right);

	expr->functor = functor;
	return expr;
}

/* min(a, b, ...), max(a, b, ...) and cat(a, b, ...) */
static DatalogExpr *
parse_chain(Parser *parser, GpucolRecFunction function, const DatalogFunctor *functor)
{
	int			position = parser->token.position;
	DatalogExpr *expr;

	advance(parser);
	expect_symbol(parser, "(");
	expr = parse_expr(parser);
	do
	{
		expect_symbol(parser, ",");
		expr = make_call(parser, function, position, expr, parse_expr(parser));
		expr->functor = functor;
	} while (at_symbol(parser, ","));
	expect_symbol(parser, ")");
	return expr;
}

/* name(expr, ...) */
static DatalogExpr *
parse_functor(Parser *parser)
{
	int			position = parser->token.position;
	char	   *name = parser->token.text;
	const DatalogFunctor *functor = gpucol_datalog_functor(name);
	DatalogExpr *expr;

	if (strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
		return parse_chain(parser, name[1] == 'i' ? GPUCOL_REC_MIN2 :
						   GPUCOL_REC_MAX2, NULL);
	if (functor == NULL)
		unsupported(parser, position, psprintf("the functor \"%s\" is", name));
	if (strcmp(name, "cat") == 0)
		return parse_chain(parser, GPUCOL_REC_HOST, functor);
	advance(parser);
	expect_symbol(parser, "(");
	expr = make_functor(parser, functor, position, NULL, NULL);
	for (int i = 0; i < functor->nargs; i++)
	{
		if (i > 0)
			expect_symbol(parser, ",");
		expr->args[i] = parse_expr(parser);
	}
	expect_symbol(parser, ")");
	return expr;
}

static DatalogExpr *parse_power(Parser *parser);

/* -x, bnot x, lnot x: they bind weaker than "^" only. */
static DatalogExpr *
parse_negation(Parser *parser)
{
	int			position = parser->token.position;
	const char *word = parser->token.text;
	DatalogExpr *expr;

	check_stack_depth();
	if (at_name(parser, "bnot") || at_name(parser, "lnot"))
	{
		advance(parser);
		return make_functor(parser, gpucol_datalog_functor(word), position,
							parse_negation(parser), NULL);
	}
	if (!accept_symbol(parser, "-"))
		return parse_power(parser);
	/* "-9223372036854775808" is one number */
	if (parser->token.kind == TOKEN_NUMBER &&
		strcmp(parser->token.text, "9223372036854775808") == 0)
	{
		expr = make_expr(DATALOG_CONSTANT, position);
		expr->name = "-9223372036854775808";
		expr->value = PG_INT64_MIN;
		expr->real = (double) PG_INT64_MIN;
		advance(parser);
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
parse_primary(Parser *parser)
{
	int			position = parser->token.position;
	GpucolRecFunction function;
	DatalogExpr *expr;

	check_stack_depth();
	if (parser->token.kind == TOKEN_NUMBER)
		return parse_number(parser);
	if (parser->token.kind == TOKEN_STRING)
	{
		expr = make_expr(DATALOG_CONSTANT, position);
		expr->name = parser->token.text;
		expr->is_string = true;
		advance(parser);
		return expr;
	}
	if (accept_symbol(parser, "_"))
		return make_expr(DATALOG_WILDCARD, position);
	if (accept_symbol(parser, "("))
	{
		expr = parse_expr(parser);
		expect_symbol(parser, ")");
		return expr;
	}
	if (at_aggregate(parser, &function))
		return parse_aggregate(parser, function);
	if (at_symbol(parser, "["))
		unsupported(parser, position, "records are");
	if (at_symbol(parser, "$"))
		unsupported(parser, position, "\"$\" is");
	if (at_symbol(parser, "@"))
		unsupported(parser, position, "user-defined functors are");
	if (parser->token.kind != TOKEN_NAME)
		unexpected(parser, "an expression");
	if (followed_by(parser, "("))
		return parse_functor(parser);
	if (at_name(parser, "nil"))
		unsupported(parser, position, "records are");
	expr = make_expr(DATALOG_VARIABLE, position);
	expr->name = parser->token.text;
	advance(parser);
	return expr;
}

/* x ^ y, from right to left. */
static DatalogExpr *
parse_power(Parser *parser)
{
	DatalogExpr *expr = parse_primary(parser);
	int			position = parser->token.position;

	if (!accept_symbol(parser, "^"))
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
static int
at_operator(Parser *parser, int level)
{
	for (int i = 0; i < (int) lengthof(operators); i++)
		if ((level < 0 || operators[i].level == level) &&
			(at_symbol(parser, operators[i].text) || at_name(parser, operators[i].text)))
			return i;
	return -1;
}

static DatalogExpr *
parse_level(Parser *parser, int level)
{
	DatalogExpr *expr;
	int			i;

	if (level > operators[lengthof(operators) - 1].level)
		return parse_negation(parser);
	expr = parse_level(parser, level + 1);
	while ((i = at_operator(parser, level)) >= 0)
	{
		int			position = parser->token.position;

		advance(parser);
		expr = make_call(parser, operators[i].function, position, expr,
						 parse_level(parser, level + 1));
		if (operators[i].function == GPUCOL_REC_HOST)
			expr->functor = gpucol_datalog_functor(operators[i].text);
	}
	return expr;
}

static DatalogExpr *
parse_expr(Parser *parser)
{
	return parse_level(parser, 0);
}

/* ---- literals and clauses ---- */

static DatalogLiteral *
make_literal(DatalogLiteralKind kind, int position)
{
	DatalogLiteral *literal = palloc0(sizeof(DatalogLiteral));

	literal->kind = kind;
	literal->position = position;
	return literal;
}

/* R(expr, ...) */
static DatalogLiteral *
parse_atom(Parser *parser, DatalogLiteralKind kind)
{
	DatalogLiteral *literal = make_literal(kind, parser->token.position);

	literal->name = expect_name(parser, "an atom");
	expect_symbol(parser, "(");
	while (!at_symbol(parser, ")"))
	{
		literal->args = lappend(literal->args, parse_expr(parser));
		if (!at_symbol(parser, ")"))
			expect_symbol(parser, ",");
	}
	advance(parser);
	return literal;
}

static DatalogLiteral *
parse_constraint(Parser *parser)
{
	static const struct
	{
		const char *symbol;
		GpucolRecFunction function;
	}			known[] = {
		{"=", GPUCOL_REC_EQ}, {"!=", GPUCOL_REC_NE}, {"<=", GPUCOL_REC_LE},
		{">=", GPUCOL_REC_GE}, {"<", GPUCOL_REC_LT}, {">", GPUCOL_REC_GT}
	};
	DatalogLiteral *literal = make_literal(DATALOG_CONSTRAINT,
										   parser->token.position);
	int			i;

	literal->left = parse_expr(parser);
	for (i = 0; i < (int) lengthof(known); i++)
		if (at_symbol(parser, known[i].symbol))
			break;
	if (i == (int) lengthof(known))
		unexpected(parser, "a comparison");
	literal->function = known[i].function;
	literal->position = parser->token.position;
	advance(parser);
	literal->right = parse_expr(parser);
	return literal;
}

/* Does "(" open an expression, rather than a group of literals? */
static bool
opens_expression(Parser *parser)
{
	static const char *const comparisons[] = {
		"=", "!=", "<", "<=", ">", ">=", "^"
	};
	Parser		ahead = *parser;
	int			depth = 1;

	while (depth > 0)
	{
		advance(&ahead);
		if (ahead.token.kind == TOKEN_END)
			return false;
		if (at_symbol(&ahead, "("))
			depth++;
		if (at_symbol(&ahead, ")"))
			depth--;
	}
	advance(&ahead);
	for (int i = 0; i < (int) lengthof(comparisons); i++)
		if (at_symbol(&ahead, comparisons[i]))
			return true;
	return at_operator(&ahead, -1) >= 0;
}

/* Conjunctions separated by ";". */
static List *
parse_alternatives(Parser *parser)
{
	List	   *alternatives = list_make1(parse_body(parser));

	while (accept_symbol(parser, ";"))
		alternatives = lappend(alternatives, parse_body(parser));
	return alternatives;
}

/* Does match(..) or contains(..) begin here? */
static bool
at_test(Parser *parser)
{
	return (at_name(parser, "match") || at_name(parser, "contains")) &&
		followed_by(parser, "(");
}

/* match(..) and contains(..): a functor's result that is not 0. */
static DatalogLiteral *
parse_test(Parser *parser)
{
	DatalogLiteral *literal = make_literal(DATALOG_CONSTRAINT, parser->token.position);

	literal->function = GPUCOL_REC_NE;
	literal->left = parse_functor(parser);
	literal->right = make_expr(DATALOG_CONSTANT, literal->position);
	literal->right->name = "0";
	return literal;
}

/* The comparison that holds when one does not. */
static GpucolRecFunction
opposite(GpucolRecFunction comparison)
{
	switch (comparison)
	{
		case GPUCOL_REC_EQ:
			return GPUCOL_REC_NE;
		case GPUCOL_REC_NE:
			return GPUCOL_REC_EQ;
		case GPUCOL_REC_LT:
			return GPUCOL_REC_GE;
		case GPUCOL_REC_LE:
			return GPUCOL_REC_GT;
		case GPUCOL_REC_GT:
			return GPUCOL_REC_LE;
		default:
			return GPUCOL_REC_LT;
	}
}

/* What holds when a literal does not; the literal is used up. */
static DatalogLiteral *
negate(DatalogLiteral *literal)
{
	List	   *body = NIL;
	ListCell   *lc;
	ListCell   *inner;

	switch (literal->kind)
	{
		case DATALOG_ATOM:
			literal->kind = DATALOG_NEGATION;
			break;
		case DATALOG_NEGATION:
			literal->kind = DATALOG_ATOM;
			break;
		case DATALOG_CONSTRAINT:
			literal->function = opposite(literal->function);
			break;
		case DATALOG_TRUTH:
			literal->truth = !literal->truth;
			break;
		default:
			/* not (a, b; c): one of not a, not b, and not c */
			foreach(lc, literal->alternatives)
			{
				DatalogLiteral *any = make_literal(DATALOG_OR, literal->position);

				foreach(inner, (List *) lfirst(lc))
					any->alternatives = lappend(any->alternatives,
												list_make1(negate(lfirst(inner))));
				body = lappend(body, any);
			}
			literal->alternatives = list_make1(body);
			break;
	}
	return literal;
}

static DatalogLiteral *
parse_literal(Parser *parser)
{
	int			position = parser->token.position;
	DatalogLiteral *literal;

	check_stack_depth();
	if (accept_symbol(parser, "!"))
		return negate(parse_literal(parser));
	if (at_symbol(parser, "(") && !opens_expression(parser))
	{
		advance(parser);
		literal = make_literal(DATALOG_OR, position);
		literal->alternatives = parse_alternatives(parser);
		expect_symbol(parser, ")");
		return literal;
	}
	if (at_name(parser, "true") || at_name(parser, "false"))
	{
		literal = make_literal(DATALOG_TRUTH, position);
		literal->truth = at_name(parser, "true");
		advance(parser);
		return literal;
	}
	if (at_test(parser))
		return parse_test(parser);
	if (parser->token.kind == TOKEN_NAME && followed_by(parser, "(") &&
		!at_name(parser, "min") && !at_name(parser, "max") &&
		gpucol_datalog_functor(parser->token.text) == NULL)
		return parse_atom(parser, DATALOG_ATOM);
	return parse_constraint(parser);
}

/* Literals separated by ",". */
static List *
parse_body(Parser *parser)
{
	List	   *body = list_make1(parse_literal(parser));

	while (accept_symbol(parser, ","))
		body = lappend(body, parse_literal(parser));
	return body;
}

/* head, ... :- body.  R(..) <= R(..) :- body. */
static void
parse_clause(Parser *parser)
{
	DatalogClause *clause = palloc0(sizeof(DatalogClause));
	DatalogLiteral *literal;

	parser->noperators = 0;
	clause->position = parser->token.position;
	clause->heads = list_make1(parse_atom(parser, DATALOG_ATOM));
	if (accept_symbol(parser, "<="))
	{
		clause->subsumption = true;
		clause->heads = lappend(clause->heads,
								parse_atom(parser, DATALOG_ATOM));
		if (!at_symbol(parser, ":-"))
			unexpected(parser, "\":-\"");
	}
	else
		while (accept_symbol(parser, ","))
			clause->heads = lappend(clause->heads,
									parse_atom(parser, DATALOG_ATOM));
	if (accept_symbol(parser, ":-"))
	{
		literal = make_literal(DATALOG_OR, parser->token.position);
		literal->alternatives = parse_alternatives(parser);
		clause->body = list_make1(literal);
	}
	expect_symbol(parser, ".");
	/* Join orders are the planner's; Souffle's .plan is read over. */
	if (parser->token.kind == TOKEN_DIRECTIVE &&
		strcmp(parser->token.text, "plan") == 0)
	{
		advance(parser);
		while (parser->token.kind == TOKEN_NUMBER ||
			   at_symbol(parser, ":") || at_symbol(parser, "(") ||
			   at_symbol(parser, ")") || at_symbol(parser, ","))
			advance(parser);
	}
	parser->program->clauses = lappend(parser->program->clauses, clause);
}

/* ---- names ---- */

static void resolve_body(Parser *parser, List *body);

/* Point an atom at its relation and check its arguments' aggregates. */
static void
resolve_atom(Parser *parser, DatalogLiteral *atom)
{
	atom->relation = gpucol_datalog_find(parser->program, atom->name);
	if (atom->relation == NULL)
		gpucol_datalog_error(parser->program->text, atom->position,
							 ERRCODE_UNDEFINED_TABLE,
							 "Declare it with .decl; .input makes a declared relation read the table or view of that name.",
							 "relation \"%s\" is not declared", atom->name);
	if (atom->relation->arity != list_length(atom->args))
		gpucol_datalog_error(parser->program->text, atom->position,
							 ERRCODE_SYNTAX_ERROR, NULL,
							 "relation \"%s\" has %d attributes, not %d",
							 atom->name, atom->relation->arity,
							 list_length(atom->args));
}

static void
resolve_expr(Parser *parser, DatalogExpr *expr)
{
	if (expr == NULL)
		return;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		resolve_expr(parser, expr->args[i]);
	if (expr->kind == DATALOG_AGGREGATE)
		resolve_body(parser, expr->body);
}

static void
resolve_body(Parser *parser, List *body)
{
	ListCell   *lc;
	ListCell   *inner;

	foreach(lc, body)
	{
		DatalogLiteral *literal = lfirst(lc);

		if (literal->kind == DATALOG_ATOM || literal->kind == DATALOG_NEGATION)
			resolve_atom(parser, literal);
		foreach(inner, literal->args)
			resolve_expr(parser, lfirst(inner));
		foreach(inner, literal->alternatives)
			resolve_body(parser, lfirst(inner));
		resolve_expr(parser, literal->left);
		resolve_expr(parser, literal->right);
	}
}

static void
resolve(Parser *parser)
{
	ListCell   *lc;

	resolve_types(parser);
	foreach(lc, parser->program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		ListCell   *inner;

		resolve_body(parser, clause->heads);
		resolve_body(parser, clause->body);
		if (!clause->subsumption)
			foreach(inner, clause->heads)
				((DatalogLiteral *) lfirst(inner))->relation->derived = true;
	}
	foreach(lc, parser->marks)
	{
		Mark	   *mark = lfirst(lc);
		DatalogRelation *relation = gpucol_datalog_find(parser->program,
														mark->name);

		if (relation == NULL)
			gpucol_datalog_error(parser->program->text, mark->position,
								 ERRCODE_UNDEFINED_TABLE, NULL,
								 "relation \"%s\" is not declared", mark->name);
		if (mark->input)
			relation->input = true;
		else
			relation->output = true;
	}
	/* Without rules or facts, rows can only come from outside. */
	foreach(lc, parser->program->relations)
	{
		DatalogRelation *relation = lfirst(lc);

		if (!relation->derived)
			relation->input = true;
	}
}

DatalogProgram *
gpucol_datalog_parse(const char *text)
{
	Parser		parser = {0};

	parser.program = palloc0(sizeof(DatalogProgram));
	parser.program->text = text;
	parser.lexer.text = text;
	advance(&parser);
	while (parser.token.kind != TOKEN_END)
	{
		CHECK_FOR_INTERRUPTS();
		if (parser.token.kind == TOKEN_DIRECTIVE)
			parse_directive(&parser);
		else
			parse_clause(&parser);
	}
	resolve(&parser);
	return parser.program;
}
