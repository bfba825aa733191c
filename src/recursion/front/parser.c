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

#include "common/hashfn.h"
#include "miscadmin.h"

#include "recursion/front/functors.h"
#include "recursion/front/parser.h"

typedef struct RelationName
{
	const char *name;
	DatalogRelation *relation;
	uint32		hash;
	char		status;
} RelationName;

#define SH_PREFIX		relationnames
#define SH_ELEMENT_TYPE	RelationName
#define SH_KEY_TYPE		const char *
#define SH_KEY			name
#define SH_HASH_KEY(table, key) \
	hash_bytes((const unsigned char *) (key), (int) strlen(key))
#define SH_EQUAL(table, a, b) (strcmp(a, b) == 0)
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) ((entry)->hash)
#define SH_SCOPE		static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

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

/* .input R, .output R: applied when all declarations are known. */
typedef struct Mark
{
	char	   *name;
	int			position;
	bool		input;
} Mark;

/* ---- tokens ---- */

void
gpucol_datalog_fail(DatalogParser *parser, int position, const char *hint, const char *message)
{
	gpucol_datalog_error(parser->program->text, position, ERRCODE_SYNTAX_ERROR,
						 hint, "%s", message);
}

void
gpucol_datalog_unsupported(DatalogParser *parser, int position, const char *what)
{
	gpucol_datalog_error(parser->program->text, position,
						 ERRCODE_FEATURE_NOT_SUPPORTED, NULL,
						 "%s not supported by gpucol.datalog", what);
}

void
gpucol_datalog_advance(DatalogParser *parser)
{
	parser->token = gpucol_datalog_lex(&parser->lexer);
}

bool
gpucol_datalog_at_symbol(DatalogParser *parser, const char *symbol)
{
	return parser->token.kind == TOKEN_SYMBOL &&
		strcmp(parser->token.text, symbol) == 0;
}

bool
gpucol_datalog_accept(DatalogParser *parser, const char *symbol)
{
	if (!gpucol_datalog_at_symbol(parser, symbol))
		return false;
	gpucol_datalog_advance(parser);
	return true;
}

/* Complain about the next token. */
void
gpucol_datalog_unexpected(DatalogParser *parser, const char *wanted)
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

void
gpucol_datalog_expect(DatalogParser *parser, const char *symbol)
{
	if (!gpucol_datalog_accept(parser, symbol))
		gpucol_datalog_unexpected(parser, psprintf("\"%s\"", symbol));
}

void
gpucol_datalog_expect_more(DatalogParser *parser)
{
	if (!gpucol_datalog_at_symbol(parser, ")") && !gpucol_datalog_accept(parser, ","))
		gpucol_datalog_unexpected(parser, "\",\" or \")\"");
}

char *
gpucol_datalog_expect_name(DatalogParser *parser, const char *what)
{
	char	   *name = parser->token.text;

	if (parser->token.kind != TOKEN_NAME)
		gpucol_datalog_unexpected(parser, what);
	gpucol_datalog_advance(parser);
	return name;
}

bool
gpucol_datalog_at_name(DatalogParser *parser, const char *name)
{
	return parser->token.kind == TOKEN_NAME &&
		strcmp(parser->token.text, name) == 0;
}

/* Is the next token followed by this symbol? */
bool
gpucol_datalog_followed_by(DatalogParser *parser, const char *symbol)
{
	DatalogLexer ahead = parser->lexer;
	DatalogToken token = gpucol_datalog_lex(&ahead);

	return token.kind == TOKEN_SYMBOL && strcmp(token.text, symbol) == 0;
}

/* ---- groups: what is in parentheses, and behind them ---- */

/* Is the parser at what follows an operand? */
static bool
follows_operand(DatalogParser *parser)
{
	static const char *const others[] = {
		"=", "!=", "<", "<=", ">", ">=", "^"
	};

	for (int i = 0; i < (int) lengthof(others); i++)
		if (gpucol_datalog_at_symbol(parser, others[i]))
			return true;
	return gpucol_datalog_at_operator(parser, -1) >= 0;
}

/* Note the group that opens at a position; its number. */
static int
open_group(DatalogParser *parser, int position)
{
	DatalogGroup group = {.position = position};

	/* room doubles whenever the number is a power of two */
	if (parser->groups == NULL)
		parser->groups = palloc(sizeof(DatalogGroup));
	else if ((parser->ngroups & (parser->ngroups - 1)) == 0)
		parser->groups = repalloc_huge(parser->groups,
									   sizeof(DatalogGroup) * 2 * parser->ngroups);
	parser->groups[parser->ngroups] = group;
	return parser->ngroups++;
}

/* Read ahead from an opening parenthesis to what follows the one that closes it. */
static void
read_group(DatalogParser *parser, int position)
{
	DatalogParser ahead = *parser;
	List	   *open = NIL;		/* numbers of groups that have not ended */
	int			closed = -1;	/* the group that ended last, if just now */

	ahead.lexer.at = position;
	do
	{
		CHECK_FOR_INTERRUPTS();
		gpucol_datalog_advance(&ahead);
		if (closed >= 0)
			ahead.groups[closed].is_operand = follows_operand(&ahead);
		closed = -1;
		if (gpucol_datalog_at_symbol(&ahead, "(") || gpucol_datalog_at_symbol(&ahead, "{"))
			open = lappend_int(open, open_group(&ahead, ahead.token.position));
		else if (open == NIL)
			break;
		else if (gpucol_datalog_at_symbol(&ahead, ","))
			ahead.groups[llast_int(open)].is_list = true;
		else if (gpucol_datalog_at_symbol(&ahead, ")") || gpucol_datalog_at_symbol(&ahead, "}"))
		{
			closed = llast_int(open);
			open = list_delete_last(open);
		}
		if (ahead.token.text != NULL)
			pfree(ahead.token.text);
	} while (ahead.token.kind != TOKEN_END && (open != NIL || closed >= 0));
	list_free(open);
	parser->groups = ahead.groups;
	parser->ngroups = ahead.ngroups;
}

/* For bsearch. */
static int
compare_position(const void *key, const void *group)
{
	return *(const int *) key - ((const DatalogGroup *) group)->position;
}

const DatalogGroup *
gpucol_datalog_group(DatalogParser *parser, int position)
{
	if (parser->ngroups == 0 || parser->groups[parser->ngroups - 1].position < position)
		read_group(parser, position);
	return bsearch(&position, parser->groups, parser->ngroups, sizeof(DatalogGroup),
				   compare_position);
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
find_alias(const DatalogParser *parser, const char *name)
{
	ListCell   *lc;

	foreach(lc, parser->aliases)
		if (strcmp(((TypeAlias *) lfirst(lc))->name, name) == 0)
			return lfirst(lc);
	return NULL;
}

/* The primitive type that a name stands for in the end. */
static DatalogType
resolve_type(DatalogParser *parser, const NamedType *name)
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
resolve_types(DatalogParser *parser)
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
parse_type(DatalogParser *parser)
{
	NamedType   *type = palloc(sizeof(NamedType));

	type->position = parser->token.position;
	if (gpucol_datalog_at_symbol(parser, "["))
		gpucol_datalog_unsupported(parser, type->position, "record types are");
	type->name = gpucol_datalog_expect_name(parser, "a type");
	return type;
}

/* .type A = B | C, .type A <: B; .number_type A and the like: of one primitive type */
static void
parse_type_alias(DatalogParser *parser, const char *primitive)
{
	TypeAlias  *alias = palloc0(sizeof(TypeAlias));
	int			position = parser->token.position;

	alias->name = gpucol_datalog_expect_name(parser, "the name of the type");
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
	if (!gpucol_datalog_accept(parser, "<:"))
		gpucol_datalog_expect(parser, "=");
	do
	{
		alias->members = lappend(alias->members, parse_type(parser));
		if (gpucol_datalog_at_symbol(parser, "{"))
			gpucol_datalog_unsupported(parser, position, "algebraic data types are");
	} while (gpucol_datalog_accept(parser, "|"));
}

DatalogRelation *
gpucol_datalog_find(const DatalogProgram *program, const char *name)
{
	RelationName *entry = relationnames_lookup(program->names, name);

	return entry == NULL ? NULL : entry->relation;
}

/* A qualifier that stands for a directive: input, output, printsize. */
static bool
mark_relations(DatalogParser *parser, List *relations)
{
	bool		input = gpucol_datalog_at_name(parser, "input");
	ListCell   *lc;

	/* not the head of a clause */
	if ((!input && !gpucol_datalog_at_name(parser, "output") &&
		 !gpucol_datalog_at_name(parser, "printsize")) ||
		gpucol_datalog_followed_by(parser, "("))
		return false;
	foreach(lc, relations)
	{
		DatalogRelation *relation = lfirst(lc);

		relation->input |= input;
		relation->output |= !input;
	}
	gpucol_datalog_advance(parser);
	return true;
}

/* Words after a declaration: representation hints are ignored. */
static void
parse_qualifiers(DatalogParser *parser, List *relations)
{
	static const char *const ignored[] = {
		"brie", "btree", "inline", "no_inline", "magic", "no_magic", NULL
	};
	int			i;

	while (parser->token.kind == TOKEN_NAME)
	{
		for (i = 0; ignored[i] != NULL; i++)
			if (gpucol_datalog_at_name(parser, ignored[i]))
				break;
		if (gpucol_datalog_at_name(parser, "eqrel") ||
			gpucol_datalog_at_name(parser, "btree_delete") ||
			gpucol_datalog_at_name(parser, "overridable") ||
			strcmp(parser->token.text, "choice") == 0)
			gpucol_datalog_unsupported(parser, parser->token.position,
									   psprintf("the qualifier \"%s\" is",
												parser->token.text));
		if (mark_relations(parser, relations))
			continue;
		/* not a qualifier: the next clause begins */
		if (ignored[i] == NULL)
			return;
		gpucol_datalog_advance(parser);
	}
}

/* A relation's name in its declaration. */
static DatalogRelation *
parse_relation_name(DatalogParser *parser)
{
	DatalogRelation *relation = palloc0(sizeof(DatalogRelation));
	bool		found;

	relation->position = parser->token.position;
	relation->name = gpucol_datalog_expect_name(parser, "the name of a relation");
	relationnames_insert(parser->program->names, relation->name, &found)->relation = relation;
	if (found)
		gpucol_datalog_error(parser->program->text, relation->position,
							 ERRCODE_DUPLICATE_OBJECT, NULL,
							 "relation \"%s\" is declared twice",
							 relation->name);
	parser->program->relations = lappend(parser->program->relations, relation);
	return relation;
}

/* Give a relation its attributes; their types follow when all are known. */
static void
set_attributes(DatalogParser *parser, DatalogRelation *relation, List *names,
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

/* An attribute's name, which none of those before it has. */
static char *
parse_attribute_name(DatalogParser *parser, List *names)
{
	int			position = parser->token.position;
	char	   *name = gpucol_datalog_expect_name(parser, "the name of an attribute");
	ListCell   *lc;

	if (list_length(names) > GPUCOL_REC_MAX_ARITY)
		return name;			/* more than a relation may have: an error by and by */
	foreach(lc, names)
	{
		if (strcmp(lfirst(lc), name) == 0)
			gpucol_datalog_error(parser->program->text, position,
								 ERRCODE_DUPLICATE_COLUMN, NULL,
								 "attribute \"%s\" is declared twice", name);
	}
	return name;
}

/* .decl R, S, ...(a: type, ...) */
static void
parse_declaration(DatalogParser *parser)
{
	List	   *relations = NIL;
	List	   *names = NIL;
	List	   *types = NIL;
	ListCell   *lc;

	do
		relations = lappend(relations, parse_relation_name(parser));
	while (gpucol_datalog_accept(parser, ","));
	gpucol_datalog_expect(parser, "(");
	while (!gpucol_datalog_at_symbol(parser, ")"))
	{
		names = lappend(names, parse_attribute_name(parser, names));
		gpucol_datalog_expect(parser, ":");
		types = lappend(types, parse_type(parser));
		gpucol_datalog_expect_more(parser);
	}
	gpucol_datalog_advance(parser);
	foreach(lc, relations)
		set_attributes(parser, lfirst(lc), names, types);
	parse_qualifiers(parser, relations);
}

/* (key=value, ...) after .input and the like: where Souffle keeps files. */
static void
skip_parameters(DatalogParser *parser)
{
	if (!gpucol_datalog_accept(parser, "("))
		return;
	while (!gpucol_datalog_accept(parser, ")"))
	{
		if (parser->token.kind == TOKEN_END)
			gpucol_datalog_unexpected(parser, "\")\"");
		gpucol_datalog_advance(parser);
	}
}

/* .input R, S and .output R, S */
static void
parse_mark(DatalogParser *parser, bool input)
{
	do
	{
		Mark	   *mark = palloc(sizeof(Mark));

		mark->input = input;
		mark->position = parser->token.position;
		mark->name = gpucol_datalog_expect_name(parser, "the name of a relation");
		parser->marks = lappend(parser->marks, mark);
	} while (gpucol_datalog_accept(parser, ","));
	skip_parameters(parser);
}

static void
parse_directive(DatalogParser *parser)
{
	DatalogToken directive = parser->token;

	gpucol_datalog_advance(parser);
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
			gpucol_datalog_advance(parser);
	else
		gpucol_datalog_unsupported(parser, directive.position,
								   psprintf("the directive \".%s\" is",
											directive.text));
}

/* ---- names ---- */

static void resolve_body(DatalogParser *parser, List *body);

/* Point an atom at its relation and check its arguments' aggregates. */
static void
resolve_atom(DatalogParser *parser, DatalogLiteral *atom)
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
							 "wrong number of arguments of relation \"%s\": %d instead of %d",
							 atom->name, list_length(atom->args),
							 atom->relation->arity);
}

static void
resolve_expr(DatalogParser *parser, DatalogExpr *expr)
{
	check_stack_depth();
	if (expr == NULL)
		return;
	for (int i = 0; i < DATALOG_MAX_ARGS; i++)
		resolve_expr(parser, expr->args[i]);
	if (expr->kind == DATALOG_AGGREGATE)
		resolve_body(parser, expr->body);
}

static void
resolve_body(DatalogParser *parser, List *body)
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
resolve(DatalogParser *parser)
{
	ListCell   *lc;

	resolve_types(parser);
	foreach(lc, parser->program->clauses)
	{
		DatalogClause *clause = lfirst(lc);
		ListCell   *inner;

		parser->program->at = clause->position;
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

void
gpucol_datalog_poll(const DatalogProgram *program)
{
	CHECK_FOR_INTERRUPTS();
	gpucol_recursion_count(program->memory, 0);
}

DatalogProgram *
gpucol_datalog_parse(const char *text, GpucolRecursionMemory *memory)
{
	DatalogParser parser = {0};
	ErrorContextCallback callback = {.previous = error_context_stack,
	.callback = gpucol_datalog_context};

	parser.program = palloc0(sizeof(DatalogProgram));
	parser.program->text = text;
	parser.program->memory = memory;
	parser.program->names = relationnames_create(CurrentMemoryContext, 64, NULL);
	parser.lexer.text = text;
	callback.arg = parser.program;
	error_context_stack = &callback;
	gpucol_datalog_advance(&parser);
	while (parser.token.kind != TOKEN_END)
	{
		gpucol_datalog_poll(parser.program);
		parser.program->at = parser.token.position;
		if (parser.token.kind == TOKEN_DIRECTIVE)
			parse_directive(&parser);
		else
			gpucol_datalog_parse_clause(&parser);
	}
	resolve(&parser);
	error_context_stack = callback.previous;
	return parser.program;
}
